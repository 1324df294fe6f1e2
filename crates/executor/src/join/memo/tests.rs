use super::{Memo, ROWS_MAX, SIZE_MAX};
use crate::join::RightRows;
use expression::Context;
use types::{Decimal, Value, ValueRef};

fn rows_of(numbers: &[i64]) -> RightRows {
    let mut rows = RightRows::default();
    numbers.iter().for_each(|number| rows.push(&[ValueRef::Int(*number)], None));
    rows
}

fn answer(memo: &Memo, values: &[Value]) -> Option<Vec<i64>> {
    let mut right = rows_of(&[-1]);
    let is_there = memo.answer(values, &mut right, &[], &Context::default()).unwrap();
    let mut numbers = Vec::new();
    let mut at = right.rows.next(None);
    while let Some(row) = at {
        let ValueRef::Int(number) = right.rows.value(row, 0) else { panic!("a number") };
        numbers.push(number);
        at = right.rows.behind(row);
    }
    is_there.then_some(numbers)
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
        memo.keep(values, &rows_of(numbers));
    }
    for (values, numbers) in cases {
        assert_eq!(answer(&memo, &values), Some(numbers), "{values:?}");
    }
}

#[test]
fn memory_is_bounded() {
    let mut memo = Memo::default();
    let many: Vec<i64> = (0..).take(ROWS_MAX + 1).collect();
    memo.keep(&[Value::Int(-1)], &rows_of(&many));
    assert_eq!(answer(&memo, &[Value::Int(-1)]), None);
    for number in 0..200_000 {
        memo.keep(&[Value::Int(number)], &rows_of(&[number]));
    }
    assert!(memo.size() < SIZE_MAX + (1 << 18), "{}", memo.size());
    assert_eq!(answer(&memo, &[Value::Int(5)]), Some(vec![5]));
    assert_eq!(answer(&memo, &[Value::Int(199_999)]), None);
}
