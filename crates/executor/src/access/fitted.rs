//! A constant as a column holds it, so that an index can be asked for it.
//!
//! Invariant: between the value and the constant lies no value that the column can hold, in the order in which the two
//! are compared. So a bound may move to the value, and whoever moves it learns on which side it is.
#![expect(clippy::wildcard_enum_match_arm, reason = "few types hold only some numbers or moments")]

use expression::{compare_numbers, compare_values};
use std::cmp::Ordering;
use types::{
    ColumnDefinition, Date, DateMode, DateTime, IntegerWidth, Interval, SqlType, StoreMode, Time, Value,
};

/// A constant expression's value as a column of this type holds it, and how it compares to what the expression gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    pub value: Value,
    /// The order of the column's value against the original.
    pub order: Ordering,
}

impl Fitted {
    fn exact(value: Value) -> Self {
        Self { value, order: Ordering::Equal }
    }

    /// A value that is compared with the original as a number.
    fn beside(value: Value, original: &Value) -> Self {
        let order = compare_numbers(value.as_ref(), original.as_ref());
        Self { value, order }
    }
}

/// Brings a non-NULL value of an expression's type into a column's type.
///
/// Strings and moments keep all that they have. One that is too long or too fine for the column is the key of no row.
/// It has its place between the keys of others.
pub fn fit(value: Value, from: &SqlType, column: &ColumnDefinition, time_zone: i32) -> Fitted {
    let to = &column.sql_type;
    match (value, to) {
        (Value::Int(number), SqlType::Integer { width, unsigned }) => {
            fit_integer(i128::from(number), *width, *unsigned)
        }
        (Value::UInt(number), SqlType::Integer { width, unsigned }) => {
            fit_integer(i128::from(number), *width, *unsigned)
        }
        (text @ Value::Bytes(_), _) if to.is_string() => Fitted::exact(text),
        (day @ Value::Date(_), SqlType::Date) | (day @ Value::Time(_), SqlType::Time { .. }) => {
            Fitted::exact(day)
        }
        (Value::DateTime(moment), SqlType::Date) => {
            let order = if moment.time() == Time::ZERO { Ordering::Equal } else { Ordering::Less };
            Fitted { value: Value::Date(moment.date()), order }
        }
        (Value::Date(day), SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            Fitted::exact(to_utc(Value::DateTime(day.at_midnight()), from, to, time_zone))
        }
        (moment @ Value::DateTime(_), SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            Fitted::exact(to_utc(moment, from, to, time_zone))
        }
        (value, _) if is_number(&value) => match nearest(&value, to) {
            Some(nearest) => Fitted::beside(nearest, &value),
            None => converted(value, from, to, time_zone),
        },
        (value, _) => converted(value, from, to, time_zone),
    }
}

/// The largest and smallest values of an integer column.
fn integer_range(width: IntegerWidth, unsigned: bool) -> (i128, i128) {
    let bits = match width {
        IntegerWidth::Tiny => 8,
        IntegerWidth::Small => 16,
        IntegerWidth::Medium => 24,
        IntegerWidth::Normal => 32,
        IntegerWidth::Big => 64,
    };
    if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

/// An integer in an integer column without asking `store`: the usual key.
#[inline]
fn fit_integer(number: i128, width: IntegerWidth, unsigned: bool) -> Fitted {
    let (lowest, highest) = integer_range(width, unsigned);
    let fitted = number.clamp(lowest, highest);
    let value = if unsigned {
        Value::UInt(u64::try_from(fitted).unwrap_or(0))
    } else {
        Value::Int(i64::try_from(fitted).unwrap_or(0))
    };
    Fitted { value, order: fitted.cmp(&number) }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_))
}

/// The value nearest to a number, from below if there is one, of a column that holds only some numbers or none. A
/// number comes beside moments only if it is none: then their numbers are compared.
fn nearest(number: &Value, to: &SqlType) -> Option<Value> {
    let highest = match to {
        SqlType::Year => {
            let year = match floor(number) {
                year @ 1_901..=2_155 => year,
                2_156.. => 2_155,
                _ => 0,
            };
            return Some(Value::UInt(u64::try_from(year).unwrap_or(0)));
        }
        SqlType::Date => return Some(Value::Date(nearest_date(number))),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => {
            return Some(Value::DateTime(nearest_datetime(number)));
        }
        SqlType::Time { .. } => return Some(Value::Time(nearest_time(number))),
        SqlType::Bit { length } => u64::MAX >> (64 - u32::from((*length).clamp(1, 64))),
        SqlType::Enum { members, .. } => members.len() as u64,
        SqlType::Set { members, .. } => {
            let count = u32::try_from(members.len()).unwrap_or(64).min(64);
            u64::MAX.checked_shr(64 - count).unwrap_or(0)
        }
        _ => return None,
    };
    let fitted = floor(number).clamp(0, i128::from(highest));
    Some(Value::UInt(u64::try_from(fitted).unwrap_or(0)))
}

/// The largest integer that is not above a number.
fn floor(number: &Value) -> i128 {
    match number {
        Value::Int(number) => i128::from(*number),
        Value::UInt(number) => i128::from(*number),
        Value::Decimal(decimal) => match decimal.floor() {
            Ok(floor) => {
                let unsigned = floor.to_u64().map(i128::from);
                let end = if decimal.is_negative() { i128::MIN } else { i128::MAX };
                unsigned.or(floor.to_i64().map(i128::from)).unwrap_or(end)
            }
            Err(_) => i128::MIN,
        },
        #[expect(clippy::cast_possible_truncation, reason = "beyond the ends it is the end")]
        Value::Double(number) => number.floor() as i128,
        _ => 0,
    }
}

/// The digits of a number before its point, without its sign, and its microseconds.
fn digits_and_microseconds(number: &Value) -> (u128, u128) {
    let magnitude = |double: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and clamped"
        )]
        let parts = (double.abs().trunc() as u128, (double.abs().fract() * 1e6) as u128);
        parts
    };
    match number {
        Value::Double(number) => magnitude(*number),
        Value::Decimal(decimal) => magnitude(decimal.to_f64()),
        number => (floor(number).unsigned_abs(), 0),
    }
}

/// Cuts fields to their maxima: behind one that is above its own, all are as high as they may be.
fn cut<const FIELDS: usize>(fields: [(u128, u32); FIELDS]) -> [u32; FIELDS] {
    let mut is_above = false;
    fields.map(|(field, highest)| {
        is_above |= field > u128::from(highest);
        if is_above { highest } else { u32::try_from(field).unwrap_or(highest) }
    })
}

fn is_negative(number: &Value) -> bool {
    floor(number) < 0
}

fn nearest_date(number: &Value) -> Date {
    if is_negative(number) {
        return Date::default();
    }
    let (digits, _) = digits_and_microseconds(number);
    let [year, month, day] = cut([(digits / 10_000, 9_999), (digits / 100 % 100, 12), (digits % 100, 31)]);
    Date::written(year, month, day).unwrap_or_default()
}

fn nearest_datetime(number: &Value) -> DateTime {
    if is_negative(number) {
        return DateTime::default();
    }
    let (digits, microseconds) = digits_and_microseconds(number);
    let [year, month, day, hour, minute, second, microsecond] = cut([
        (digits / 10_000_000_000, 9_999),
        (digits / 100_000_000 % 100, 12),
        (digits / 1_000_000 % 100, 31),
        (digits / 10_000 % 100, 23),
        (digits / 100 % 100, 59),
        (digits % 100, 59),
        (microseconds, 999_999),
    ]);
    let date = Date::written(year, month, day).unwrap_or_default();
    DateTime::new(date, hour, minute, second, microsecond).unwrap_or_default()
}

fn nearest_time(number: &Value) -> Time {
    let (digits, microseconds) = digits_and_microseconds(number);
    let [hours, minute, second, microsecond] =
        cut([(digits / 10_000, 838), (digits / 100 % 100, 59), (digits % 100, 59), (microseconds, 999_999)]);
    Time::new(is_negative(number), hours, minute, second, microsecond).unwrap_or_default()
}

/// As the column would store it.
fn converted(original: Value, from: &SqlType, to: &SqlType, time_zone: i32) -> Fitted {
    // The mode had its say where the value was made a date.
    let Ok(stored) = types::store_with_warning(original.clone(), to, StoreMode::Lenient, DateMode::ANY)
    else {
        return Fitted { value: original, order: Ordering::Less };
    };
    let order = match (&stored.value, &original) {
        // Text that became something else: whether it is that exactly, only the conversion knows.
        (_, Value::Bytes(_)) | (Value::Bytes(_), _) if stored.warning.is_some() => Ordering::Less,
        (_, Value::Bytes(_)) | (Value::Bytes(_), _) => Ordering::Equal,
        // As `=` compares: the order of values in sorts puts the exact 10 below the double 10, which would find
        // nothing.
        (stored, original) if is_number(stored) && is_number(original) => {
            compare_numbers(stored.as_ref(), original.as_ref())
        }
        (stored, original) => compare_values(&stored.as_ref(), &original.as_ref(), to),
    };
    Fitted { value: to_utc(stored.value, from, to, time_zone), order }
}

/// A moment that was computed in the session's time zone, as a TIMESTAMP column stores it.
pub(crate) fn to_utc(value: Value, from: &SqlType, to: &SqlType, time_zone: i32) -> Value {
    match value {
        Value::DateTime(moment)
            if matches!(to, SqlType::Timestamp { .. }) && !matches!(from, SqlType::Timestamp { .. }) =>
        {
            let back = Interval { microseconds: -i64::from(time_zone) * 1_000_000, ..Interval::default() };
            let is_zero = time_zone == 0 || moment.date().has_zero_part();
            Value::DateTime(if is_zero { moment } else { moment.add_interval(back).unwrap_or(moment) })
        }
        value => value,
    }
}
