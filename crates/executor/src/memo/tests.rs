use super::{Memo, ROWS_MAX, SIZE_MAX};
use crate::row_buffer::RowBuffer;
use types::{Decimal, Value, ValueRef};

fn rows_of(numbers: &[i64]) -> RowBuffer {
    let mut rows = RowBuffer::default();
    for number in numbers {
        rows.push([ValueRef::Int(*number)]);
    }
    rows
}

fn answer(memo: &Memo, values: &[Value]) -> Option<Vec<i64>> {
    let number = |row: Vec<ValueRef<'_>>| {
        let [ValueRef::Int(number)] = row[..] else { panic!("a number") };
        number
    };
    memo.find(values).map(|answer| memo.rows(answer).map(number).collect())
}

#[test]
fn answers_are_found_by_identical_values() {
    let mut memo = Memo::default();
    let decimal = |text: &str| Value::Decimal(Box::new(Decimal::parse(text.as_bytes()).unwrap().0));
    let cases: Vec<(Vec<Value>, Vec<i64>)> = vec![
        (vec![Value::Int(1), Value::Null], vec![7, 8, 9]),
        (vec![Value::Null, Value::Int(1)], vec![]),
        (vec![Value::text("a"), Value::Int(1)], vec![1]),
        (vec![Value::text("A"), Value::Int(1)], vec![2]),
        (vec![decimal("1.0"), Value::Double(0.0)], vec![3]),
        (vec![decimal("1.00"), Value::Double(0.0)], vec![4]),
        (vec![decimal("1.0"), Value::Double(-0.0)], vec![5]),
    ];
    for (values, numbers) in &cases {
        assert_eq!(answer(&memo, values), None);
        memo.keep(values, &rows_of(numbers), false);
    }
    for (values, numbers) in cases {
        assert_eq!(answer(&memo, &values), Some(numbers), "{values:?}");
    }
    memo.keep(&[Value::Int(9), Value::Int(9)], &rows_of(&[]), true);
    assert_eq!(memo.find(&[Value::Int(9), Value::Int(9)]).map(|answer| answer.has_null), Some(true));
}

#[test]
fn memory_is_bounded() {
    let mut memo = Memo::default();
    let many: Vec<i64> = (0..).take(ROWS_MAX + 1).collect();
    memo.keep(&[Value::Int(-1)], &rows_of(&many), false);
    assert_eq!(answer(&memo, &[Value::Int(-1)]), None);
    for number in 0..200_000 {
        memo.keep(&[Value::Int(number)], &rows_of(&[number]), false);
    }
    assert!(memo.size() < SIZE_MAX + (1 << 18), "{}", memo.size());
    assert_eq!(answer(&memo, &[Value::Int(5)]), Some(vec![5]));
    assert_eq!(answer(&memo, &[Value::Int(199_999)]), None);
}
