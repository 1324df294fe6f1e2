use super::{PackedRow, append, find};
use stdx::Prng;
use types::{Date, DateTime, Decimal, Time, Value};

fn rows() -> Vec<Vec<Value>> {
    let decimal = |text: &str| Value::Decimal(Box::new(Decimal::parse(text.as_bytes()).unwrap().0));
    let date = Date::new(2024, 2, 29).unwrap();
    vec![
        vec![],
        vec![Value::Null, Value::Int(i64::MIN), Value::UInt(u64::MAX), Value::text("")],
        vec![Value::Double(-0.0), Value::Double(f64::MAX), decimal("-12.50"), decimal("0"), Value::text("é")],
        vec![
            Value::Date(date),
            Value::Date(Date::ZERO),
            Value::Time(Time::new(true, 838, 59, 59, 999_999).unwrap()),
            Value::DateTime(DateTime::new(date, 23, 59, 59, 1).unwrap()),
            Value::Bytes(vec![7; 70_000]),
        ],
    ]
}

#[test]
fn rows_come_back_as_they_were() {
    let mut bytes = Vec::new();
    for row in rows() {
        assert!(append(crate::row::borrowed(&row), &mut bytes));
    }
    let mut at = 0;
    for row in rows() {
        let place = find(&bytes, at).unwrap();
        at = place.end;
        let packed = PackedRow::of(&bytes[place]);
        let values: Vec<Value> = packed.values().map(|value| value.to_value()).collect();
        assert_eq!(format!("{values:?}"), format!("{row:?}"));
        for (position, value) in row.iter().enumerate() {
            assert_eq!(format!("{:?}", packed.value(position).to_value()), format!("{value:?}"));
        }
        assert!(packed.value(row.len()).is_null());
    }
    assert_eq!(at, bytes.len());
}

#[test]
fn any_bytes_can_be_read() {
    let mut prng = Prng::new(3);
    for _ in 0..20_000 {
        let mut bytes = vec![0; prng.index(40)];
        prng.fill(&mut bytes);
        if let Some(first) = bytes.first_mut() {
            *first %= 10;
        }
        let _ = find(&bytes, 0);
        assert!(PackedRow::of(&bytes).values().count() <= bytes.len());
    }
}
