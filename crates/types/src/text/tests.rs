use super::*;
use crate::{Collation, Date, DateTime, Decimal, Time};
use proptest::prelude::*;
use std::sync::Arc;

fn shown(value: ValueRef<'_>, sql_type: &SqlType) -> String {
    let mut text = Vec::new();
    format_text(value, sql_type, &mut text);
    String::from_utf8(text).unwrap()
}

fn double(number: f64) -> String {
    shown(ValueRef::Double(number), &SqlType::Double)
}

#[test]
fn doubles_print_as_mysql_prints_them() {
    for (number, text) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (100_000.0, "100000"),
        (1e14, "100000000000000"),
        (1e15, "1e15"),
        (1.5e15, "1.5e15"),
        (1_500_000_000_000_000.5, "1500000000000000.5"),
        (999_999_999_999_999.0, "999999999999999"),
        (-1_234_567_890_123_456.8, "-1234567890123456.8"),
        (12_345_678_901_234_567.0, "1.2345678901234568e16"),
        (1e20, "1e20"),
        (1e23, "1e23"),
        (1e-15, "0.000000000000001"),
        (1e-16, "1e-16"),
        (1.234_567_890_123e-15, "0.000000000000001234567890123"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1.0 / 3.0, "0.3333333333333333"),
    ] {
        assert_eq!(double(number), text);
    }
}

#[test]
fn floats_print_six_digits() {
    for (number, text) in [
        (std::f64::consts::PI, "3.14159"),
        (16_777_217.0, "16777200"),
        (0.1, "0.1"),
        (1e15, "1e15"),
        (1_234_567_890_123_456.0, "1.23457e15"),
        (123_456_789_012_345.0, "123457000000000"),
        (1e38, "1e38"),
        (999_999.9, "1000000"),
        (-0.000_123_456_7, "-0.000123457"),
        (1.5e-15, "0.0000000000000015"),
    ] {
        assert_eq!(shown(ValueRef::Double(number), &SqlType::Float), text);
    }
}

#[test]
fn every_type_has_its_text() {
    let members = Arc::new(vec!["small".to_owned(), "big".to_owned(), "huge".to_owned()]);
    let collation = Collation::Utf8mb40900AiCi;
    let enumeration = SqlType::Enum { members: Arc::clone(&members), collation };
    let set = SqlType::Set { members, collation };
    let decimal = Decimal::parse(b"-1.50").unwrap().0;
    let time = Time::parse(b"-12:30:45.678").unwrap().value;
    let datetime = DateTime::parse(b"2024-01-02 03:04:05.678").unwrap().value;
    for (value, sql_type, text) in [
        (ValueRef::Null, SqlType::Null, ""),
        (ValueRef::Int(i64::MIN), SqlType::Double, "-9223372036854775808"),
        (ValueRef::Int(0), SqlType::Null, "0"),
        (ValueRef::UInt(u64::MAX), SqlType::Null, "18446744073709551615"),
        (ValueRef::UInt(2), enumeration.clone(), "big"),
        (ValueRef::UInt(0), enumeration.clone(), ""),
        (ValueRef::UInt(99), enumeration, ""),
        (ValueRef::UInt(5), set.clone(), "small,huge"),
        (ValueRef::UInt(0), set, ""),
        (ValueRef::UInt(0x4142), SqlType::Bit { length: 10 }, "AB"),
        (ValueRef::UInt(0x41), SqlType::Bit { length: 17 }, "\0\0A"),
        (ValueRef::UInt(2024), SqlType::Year, "2024"),
        (ValueRef::UInt(0), SqlType::Year, "0000"),
        (ValueRef::Decimal(decimal.as_decimal_ref()), SqlType::Null, "-1.50"),
        (ValueRef::Bytes(b"abc"), SqlType::Null, "abc"),
        (ValueRef::Date(Date::new(2024, 1, 2).unwrap()), SqlType::Date, "2024-01-02"),
        (ValueRef::Time(time), SqlType::Time { fraction: 0 }, "-12:30:45"),
        (ValueRef::Time(time), SqlType::Time { fraction: 2 }, "-12:30:45.67"),
        (ValueRef::DateTime(datetime), SqlType::DateTime { fraction: 6 }, "2024-01-02 03:04:05.678000"),
        (ValueRef::DateTime(datetime), SqlType::Null, "2024-01-02 03:04:05.678000"),
    ] {
        assert_eq!(shown(value, &sql_type), text);
    }
}

proptest! {
    #[test]
    fn doubles_read_back(number in any::<f64>().prop_filter("finite", |number| number.is_finite())) {
        prop_assert_eq!(double(number).parse::<f64>().unwrap().to_bits(), number.to_bits());
    }

    #[test]
    fn floats_are_near(number in any::<f32>().prop_filter("normal", |number| number.is_normal())) {
        let read = shown(ValueRef::Double(f64::from(number)), &SqlType::Float).parse::<f64>().unwrap();
        prop_assert!((read / f64::from(number) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn integers_read_back(number in any::<i64>(), unsigned in any::<u64>()) {
        prop_assert_eq!(shown(ValueRef::Int(number), &SqlType::Null), number.to_string());
        prop_assert_eq!(shown(ValueRef::UInt(unsigned), &SqlType::Null), unsigned.to_string());
    }
}
