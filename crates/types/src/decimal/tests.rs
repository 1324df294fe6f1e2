use super::*;
use proptest::prelude::*;

fn decimal(text: &str) -> Decimal {
    let (value, consumed) = Decimal::parse(text.as_bytes()).unwrap();
    assert_eq!(consumed, text.len());
    value
}

fn hash(value: &Decimal) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = stdx::FixedHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn text_is_read_and_written() {
    for (text, shown) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.00", "0.00"),
        ("1.50", "1.50"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("+00012.3400", "12.3400"),
        ("1e3", "1000"),
        ("1.5e3", "1500"),
        ("1.5E-3", "0.0015"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345",
            "12345678901234567890123456789012345678901234567890123456789012345",
        ),
        ("0.0000000000000000000000000000015", "0.000000000000000000000000000002"),
        ("0.00000000000000000000000000000004", "0.000000000000000000000000000000"),
        ("1e66", "99999999999999999999999999999999999999999999999999999999999999999"),
        ("-1e900000000000000000000", "-99999999999999999999999999999999999999999999999999999999999999999"),
        ("1e-900", "0.000000000000000000000000000000"),
        ("0e900", "0"),
        (
            "99999999999999999999999999999999999999999999999999999999999999999.9",
            "99999999999999999999999999999999999999999999999999999999999999999",
        ),
        (
            "1234567890123456789012345678901234567890123456789012345678901234.56",
            "1234567890123456789012345678901234567890123456789012345678901234.6",
        ),
        ("9999999999999999999.99999999999999999999", "9999999999999999999.99999999999999999999"),
        ("10000000000000000000", "10000000000000000000"),
        ("100000000000000000000000000000000000000", "100000000000000000000000000000000000000"),
    ] {
        assert_eq!(decimal(text).to_string(), shown, "{text}");
    }
    for (text, consumed) in [("12abc", 2), ("1e", 1), ("1e+", 1), (" \t7 ", 3), ("1.2.3", 3), ("-1-", 2)] {
        assert_eq!(Decimal::parse(text.as_bytes()).unwrap().1, consumed, "{text}");
    }
    for text in ["", "abc", "-", ".", "+.e5", " "] {
        assert!(Decimal::parse(text.as_bytes()).is_none(), "{text}");
    }
}

#[test]
fn arithmetic_follows_mysql_scales() {
    assert_eq!(decimal("1.5").add(&decimal("2.25")).unwrap().to_string(), "3.75");
    assert_eq!(decimal("1.5").sub(&decimal("2.25")).unwrap().to_string(), "-0.75");
    assert_eq!(decimal("1.50").mul(&decimal("-2.0")).unwrap().to_string(), "-3.000");
    assert_eq!(decimal("1").div_with_scale(&decimal("3"), 4).unwrap().to_string(), "0.3333");
    assert_eq!(decimal("2").div_with_scale(&decimal("3"), 4).unwrap().to_string(), "0.6667");
    assert_eq!(decimal("-2.00").div_with_scale(&decimal("3"), 6).unwrap().to_string(), "-0.666667");
    assert_eq!(decimal("1").div_with_scale(&decimal("0.00"), 4), Err(DecimalError::DivisionByZero));
    assert_eq!(decimal("-7.5").rem(&decimal("2")).unwrap().to_string(), "-1.5");
    let largest = Decimal::largest(65, 0);
    assert_eq!(largest.add(&decimal("1")), Err(OutOfRange));
    assert_eq!(largest.mul(&largest), Err(OutOfRange));
    assert_eq!(largest.mul(&decimal("0.1")).unwrap().precision(), 65);
    assert_eq!(largest.div_with_scale(&largest, 4).unwrap().to_string(), "1.0000");
    let small = Decimal::largest(65, 30);
    assert_eq!(
        largest.div_with_scale(&small, 30).unwrap().to_string(),
        "1000000000000000000000000000000.000000000000000000000000000000"
    );
}

#[test]
fn rounding_is_half_away_from_zero() {
    for (text, digits, rounded, truncated) in [
        ("2.5", 0, "3", "2"),
        ("-2.5", 0, "-3", "-2"),
        ("1.2345", 3, "1.235", "1.234"),
        ("1.2345", 6, "1.2345", "1.2345"),
        ("155", -1, "160", "150"),
        ("155", -2, "200", "100"),
        ("155", -3, "0", "0"),
        ("555", -3, "1000", "0"),
        ("-0.4", 0, "0", "0"),
        ("1.5", -200, "0", "0"),
        ("1.5", i32::MIN, "0", "0"),
        ("1.5", i32::MAX, "1.5", "1.5"),
    ] {
        assert_eq!(decimal(text).round(digits).unwrap().to_string(), rounded, "{text} {digits}");
        assert_eq!(decimal(text).truncate(digits).to_string(), truncated, "{text} {digits}");
    }
    for (text, floor, ceil) in
        [("1.1", "1", "2"), ("-1.1", "-2", "-1"), ("2.0", "2", "2"), ("-0.5", "-1", "0")]
    {
        assert_eq!(decimal(text).floor().unwrap().to_string(), floor);
        assert_eq!(decimal(text).ceil().unwrap().to_string(), ceil);
    }
    assert_eq!(decimal("9.995").rescale(4, 2).unwrap().to_string(), "10.00");
    assert_eq!(decimal("9.995").rescale(3, 2), Err(OutOfRange));
    assert_eq!(decimal("99.995").rescale(4, 2), Err(OutOfRange));
    assert_eq!(decimal("-0.001").rescale(3, 2).unwrap().to_string(), "0.00");
    assert_eq!(Decimal::largest(5, 2).to_string(), "999.99");
}

#[test]
fn conversions() {
    assert_eq!(decimal("-9223372036854775808.4").to_i64(), Some(i64::MIN));
    assert_eq!(decimal("-9223372036854775808.5").to_i64(), None);
    assert_eq!(decimal("18446744073709551615").to_u64(), Some(u64::MAX));
    assert_eq!(decimal("18446744073709551615.5").to_u64(), None);
    assert_eq!(decimal("-0.4").to_u64(), Some(0));
    assert_eq!(decimal("-1").to_u64(), None);
    assert_eq!(Decimal::from_f64(0.1).unwrap().to_string(), "0.1");
    assert_eq!(Decimal::from_f64(-1.5e20).unwrap().to_string(), "-150000000000000000000");
    assert_eq!(Decimal::from_f64(f64::NAN), None);
    assert_eq!(Decimal::from_f64(1e65), None);
    assert_eq!(decimal("1234567890123456789012345.678").to_f64(), 1_234_567_890_123_456_789_012_345.678);
    assert_eq!(Decimal::from(i64::MIN).to_string(), "-9223372036854775808");
    assert_eq!(Decimal::from(u64::MAX).to_string(), "18446744073709551615");
    assert_eq!(Decimal::from_parts(-12_345, 2).unwrap().to_string(), "-123.45");
    assert_eq!(decimal("12345.67").precision(), 7);
    assert_eq!(decimal("0.05").precision(), 2);
    assert_eq!(Decimal::largest(65, 30).precision(), 65);
    assert_eq!(decimal("10000000000000000000").precision(), 20);
}

#[test]
fn row_bytes_are_checked() {
    let mut row = Vec::new();
    decimal("12345.67").write_row_bytes(&mut row);
    assert_eq!(row.len(), 4);
    for bad in [&[][..], &[31], &[0, 0], &[0x80], &[0; 40], &[0xff; 28]] {
        assert!(Decimal::from_row_bytes(bad).is_none());
    }
    assert_eq!(size_of::<DecimalRef<'_>>(), 16);
}

prop_compose! {
    fn parts()(coefficient in prop_oneof![any::<i64>().prop_map(i128::from), -1_000_i128..1_000, -(10_i128.pow(37))..10_i128.pow(37)], scale in 0_u8..=6)
        -> (i128, u8) { (coefficient, scale) }
}

/// A decimal of any length as text.
fn any_text() -> impl Strategy<Value = String> {
    "-?[0-9]{1,35}(\\.[0-9]{1,30})?"
}

proptest! {
    #[test]
    fn sums_and_differences_agree_with_integers(left in -(10_i128.pow(30))..10_i128.pow(30), right in -(10_i128.pow(30))..10_i128.pow(30), scale in 0_u8..=30) {
        let (a, b) = (Decimal::from_parts(left, scale).unwrap(), Decimal::from_parts(right, scale).unwrap());
        prop_assert_eq!(a.add(&b).unwrap(), Decimal::from_parts(left + right, scale).unwrap());
        prop_assert_eq!(a.sub(&b).unwrap(), Decimal::from_parts(left - right, scale).unwrap());
        prop_assert_eq!(a.cmp(&b), left.cmp(&right));
    }

    #[test]
    fn products_and_quotients_agree_with_integers(left in any::<i64>(), right in any::<i64>(), scale in 0_u8..=13) {
        let (a, b) = (Decimal::from_parts(left.into(), scale).unwrap(), Decimal::from_parts(right.into(), scale).unwrap());
        let (left, right) = (i128::from(left), i128::from(right));
        prop_assert_eq!(a.mul(&b).unwrap(), Decimal::from_parts(left * right, scale * 2).unwrap());
        if right != 0 {
            let twice = left.abs() * 10_i128.pow(u32::from(scale) + 4) * 2 / right.abs();
            let rounded = (twice + 1) / 2 * left.signum() * right.signum();
            prop_assert_eq!(a.div_with_scale(&b, scale + 4).unwrap(), Decimal::from_parts(rounded, scale + 4).unwrap());
            prop_assert_eq!(a.rem(&b).unwrap(), Decimal::from_parts(left % right, scale).unwrap());
        }
    }

    #[test]
    fn wide_division_undoes_multiplication(left in any_text(), right in any_text()) {
        let (left, right) = (decimal(&left).wide(), decimal(&right).wide());
        prop_assume!(!right.is_zero());
        let product = left.mul(&right);
        prop_assert_eq!(product.div_rem(&right), (left, Wide::from_u64(0)));
        let shifted = product.add(&right.sub(&Wide::from_u64(1)));
        prop_assert_eq!(shifted.div_rem(&right), (left, right.sub(&Wide::from_u64(1))));
    }

    #[test]
    fn text_row_and_wire_round_trip(text in any_text()) {
        let value = decimal(&text);
        prop_assert_eq!(decimal(&value.to_string()), value);
        let mut row = Vec::new();
        value.write_row_bytes(&mut row);
        let read = Decimal::from_row_bytes(&row).unwrap();
        prop_assert_eq!((read, read.scale()), (value, value.scale()));
        prop_assert_eq!(DecimalRef::from_row_bytes(&row), value.as_decimal_ref());
        prop_assert_eq!(stdx::wire::from_bytes::<Decimal>(&stdx::wire::to_bytes(&value)), Ok(value));
        prop_assert_eq!(value.to_f64(), text.parse::<f64>().unwrap());
        prop_assert_eq!(value.sub(&value).unwrap(), Decimal::ZERO);
    }

    #[test]
    fn equal_numbers_hash_equal((coefficient, scale) in parts(), zeros in 0_u8..=20) {
        let value = Decimal::from_parts(coefficient, scale).unwrap();
        if let Ok(wider) = value.rescale(65, scale + zeros) {
            prop_assert_eq!(wider, value);
            prop_assert_eq!(hash(&wider), hash(&value));
        }
    }

    #[test]
    fn doubles_round_trip(number in -1e20..1e20, exponent in -20_i32..40) {
        let number = number * 10_f64.powi(exponent);
        prop_assert_eq!(Decimal::from_f64(number).unwrap().to_f64(), number);
    }

    #[test]
    fn any_bytes_are_a_decimal_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = Decimal::parse(&bytes);
        if let Some(value) = Decimal::from_row_bytes(&bytes) {
            let mut row = Vec::new();
            value.write_row_bytes(&mut row);
            prop_assert_eq!(row, bytes);
        }
    }
}
