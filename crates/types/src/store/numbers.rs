//! Values into integers, floating point, DECIMAL, BIT and YEAR.

use super::{Converted, IncorrectKind, Loss, StoreError, is_consumed};
use crate::form::{Form, narrow_double};
use crate::{DateTime, Decimal, IntegerWidth, NumberFormat, SqlType, Time, Value, ValueRef, parse_double};

/// A number that may lie far outside any column: what integer columns clamp.
struct Number {
    value: i128,
    loss: Loss,
}

fn exact(value: i128) -> Number {
    Number { value, loss: Loss::Nothing }
}

/// Rounded as MySQL's `rint`: doubles go to the even neighbour, decimals away from zero.
fn of_double(number: f64) -> i128 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates, and NaN is 0: both are then out of range or zero"
    )]
    let integer = number.round_ties_even() as i128;
    integer
}

fn of_decimal(decimal: &Decimal) -> i128 {
    let beyond = if decimal.is_negative() { i128::MIN } else { i128::MAX };
    match (decimal.to_i64(), decimal.to_u64()) {
        (Some(number), _) => i128::from(number),
        (None, Some(number)) => i128::from(number),
        (None, None) => beyond,
    }
}

fn of_datetime(datetime: DateTime) -> i128 {
    i128::from(datetime.round(0).unwrap_or(datetime).to_number())
}

fn of_time(time: Time) -> i128 {
    i128::from(time.round(0).to_number())
}

/// Text that starts with no number counts as 0, garbage behind a number is cut.
fn of_text(text: &[u8]) -> Number {
    let Some((decimal, consumed)) = Decimal::parse(text) else {
        return Number { value: 0, loss: Loss::Error(StoreError::Incorrect(IncorrectKind::Integer)) };
    };
    let loss = if is_consumed(text, consumed) { Loss::Nothing } else { Loss::Error(StoreError::Truncated) };
    Number { value: of_decimal(&decimal), loss }
}

fn number(value: &Value) -> Number {
    match value {
        Value::Null => exact(0),
        Value::Int(number) => exact(i128::from(*number)),
        Value::UInt(number) => exact(i128::from(*number)),
        Value::Double(number) => exact(of_double(*number)),
        Value::Decimal(decimal) => exact(of_decimal(decimal)),
        Value::Bytes(text) => of_text(text),
        Value::Date(date) => exact(i128::from(date.to_number())),
        Value::Time(time) => exact(of_time(*time)),
        Value::DateTime(datetime) => exact(of_datetime(*datetime)),
    }
}

pub(super) fn to_integer(value: &Value, width: IntegerWidth, unsigned: bool) -> Converted {
    if let (Value::Int(number), false) = (value, unsigned)
        && Form::Signed(width.bytes()).accepts(ValueRef::Int(*number))
    {
        return (Value::Int(*number), Loss::Nothing);
    }
    let is_negative_decimal = matches!(value, Value::Decimal(decimal) if decimal.is_negative());
    let Number { value, loss } = number(value);
    let bits = 8 * u32::from(width.bytes());
    let (low, high) =
        if unsigned { (0, (1_i128 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) };
    let clamped = value.clamp(low, high);
    // As in MySQL, -0.4 is out of an unsigned column's range as a DECIMAL, but rounds to 0 as a DOUBLE or as text.
    let is_in_range = clamped == value && !(unsigned && is_negative_decimal);
    let loss = if is_in_range { loss } else { Loss::Error(StoreError::OutOfRange) };
    let stored = if unsigned {
        Value::UInt(u64::try_from(clamped).unwrap_or(0))
    } else {
        Value::Int(i64::try_from(clamped).unwrap_or(0))
    };
    (stored, loss)
}

/// The number as a double, and what was lost reading it.
fn double(value: &Value) -> (f64, Loss) {
    let of_parts = |number: i64, microsecond: u32| {
        #[expect(
            clippy::cast_precision_loss,
            reason = "at most 17 digits: MySQL rounds these to the nearest double too"
        )]
        let whole = number as f64;
        whole + f64::from(microsecond) / 1e6
    };
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what DOUBLE holds")]
    let number = match value {
        Value::Null => 0.0,
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Double(number) => *number,
        Value::Decimal(decimal) => decimal.to_f64(),
        Value::Date(date) => f64::from(date.to_number()),
        Value::DateTime(datetime) => of_parts(datetime.to_number().cast_signed(), datetime.microsecond()),
        Value::Time(time) => {
            let size = of_parts(time.to_number().abs(), time.microsecond());
            if time.is_negative() { -size } else { size }
        }
        Value::Bytes(text) => {
            return match parse_double(text) {
                Some((number, consumed)) if is_consumed(text, consumed) => (number, Loss::Nothing),
                Some((number, _)) => (number, Loss::Error(StoreError::Truncated)),
                None => (0.0, Loss::Error(StoreError::Truncated)),
            };
        }
    };
    (number, Loss::Nothing)
}

/// Brings infinities (text like '1e999') and what is beyond `limit` to the limit; NaN to 0.
fn bounded(number: f64, limit: f64, loss: Loss) -> (f64, Loss) {
    if number.is_nan() {
        (0.0, Loss::Error(StoreError::OutOfRange))
    } else if number.abs() > limit {
        (limit.copysign(number), Loss::Error(StoreError::OutOfRange))
    } else {
        (number, loss)
    }
}

pub(super) fn to_double(value: &Value) -> Converted {
    let (number, loss) = double(value);
    let (number, loss) = bounded(number, f64::MAX, loss);
    (Value::Double(number), loss)
}

pub(super) fn to_float(value: &Value) -> Converted {
    let (number, loss) = double(value);
    let (number, loss) = bounded(number, f64::from(f32::MAX), loss);
    (Value::Double(f64::from(narrow_double(number))), loss)
}

/// A FLOAT or DOUBLE as a column with this format keeps it, and whether it is in the column's range.
pub(super) fn limited(number: f64, to: &SqlType, format: &NumberFormat) -> (f64, bool) {
    let narrow = |number: f64| if *to == SqlType::Float { f64::from(narrow_double(number)) } else { number };
    if format.unsigned && number < 0.0 {
        return (0.0, false);
    }
    let (Some(width), Some(scale)) = (format.width, format.scale) else { return (number, true) };
    let unit = 10_f64.powi(i32::from(scale));
    let largest = 10_f64.powi(i32::from(width) - i32::from(scale)) - 1.0 / unit;
    // The whole part apart, so that a large number keeps its digits.
    let whole = number.floor();
    let rounded = whole + ((number - whole) * unit).round_ties_even() / unit;
    if rounded.abs() > largest {
        return (narrow(largest.copysign(rounded)), false);
    }
    (narrow(rounded), true)
}

/// The number as a decimal, and what was lost reading it.
fn decimal(value: &Value) -> (Decimal, Loss) {
    let beyond = |negative: bool| {
        let largest = Decimal::largest(Decimal::PRECISION_MAX, 0);
        if negative { largest.neg() } else { largest }
    };
    let with_fraction = |number: i64, microsecond: u32| {
        let sign = if number < 0 { -1 } else { 1 };
        let parts = i128::from(number) * 1_000_000 + sign * i128::from(microsecond);
        if microsecond == 0 {
            Decimal::from(number)
        } else {
            Decimal::from_parts(parts, 6).unwrap_or(Decimal::ZERO)
        }
    };
    let decimal = match value {
        Value::Null => Decimal::ZERO,
        Value::Int(number) => Decimal::from(*number),
        Value::UInt(number) => Decimal::from(*number),
        Value::Double(number) => Decimal::from_f64(*number).unwrap_or_else(|| beyond(*number < 0.0)),
        Value::Decimal(decimal) => **decimal,
        Value::Date(date) => Decimal::from(i64::from(date.to_number())),
        Value::DateTime(datetime) => {
            with_fraction(datetime.to_number().cast_signed(), datetime.microsecond())
        }
        Value::Time(time) => {
            let size = with_fraction(time.to_number().abs(), time.microsecond());
            if time.is_negative() { size.neg() } else { size }
        }
        Value::Bytes(text) => {
            return match Decimal::parse(text) {
                Some((decimal, consumed)) if is_consumed(text, consumed) => (decimal, Loss::Nothing),
                Some((decimal, _)) => (decimal, Loss::Error(StoreError::Truncated)),
                None => (Decimal::ZERO, Loss::Error(StoreError::Incorrect(IncorrectKind::Decimal))),
            };
        }
    };
    (decimal, Loss::Nothing)
}

pub(super) fn to_decimal(value: &Value, precision: u8, scale: u8, unsigned: bool) -> Converted {
    let (number, loss) = decimal(value);
    // Garbage behind the number is told first.
    let out_of_range = if let Loss::Error(_) = loss { loss } else { Loss::Error(StoreError::OutOfRange) };
    let (stored, loss) = match number.rescale(precision, scale) {
        Ok(stored) if unsigned && stored.is_negative() => {
            (Decimal::ZERO.rescale(precision, scale).unwrap_or_default(), out_of_range)
        }
        Ok(stored) if loss == Loss::Nothing && stored != number => {
            (stored, Loss::Note(StoreError::Truncated))
        }
        Ok(stored) => (stored, loss),
        Err(_) if unsigned && number.is_negative() => {
            (Decimal::ZERO.rescale(precision, scale).unwrap_or_default(), out_of_range)
        }
        Err(_) => {
            let largest = Decimal::largest(precision, scale);
            (if number.is_negative() { largest.neg() } else { largest }, out_of_range)
        }
    };
    (Value::Decimal(Box::new(stored)), loss)
}

/// BIT and YEAR cut doubles instead of rounding them.
fn cut_double(value: &Value) -> Number {
    if let Value::Double(double) = value { exact(of_double(double.trunc())) } else { number(value) }
}

/// BIT takes strings as bytes, most significant first, and negative integers as their 64 bits.
pub(super) fn to_bit(value: &Value, length: u8) -> Converted {
    let length = u32::from(length.clamp(1, 64));
    let all_ones = u64::MAX >> (64 - length);
    if matches!(value, Value::Decimal(decimal) if decimal.is_negative()) {
        return (Value::UInt(0), Loss::Error(StoreError::OutOfRange));
    }
    let bits = if let Value::Bytes(bytes) = value {
        let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
        let significant = &bytes[start..];
        let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        (significant.len() <= 8).then(|| significant.iter().fold(0, join))
    } else {
        match cut_double(value).value {
            negative @ ..0 => i64::try_from(negative).ok().map(i64::cast_unsigned),
            positive => u64::try_from(positive).ok(),
        }
    };
    match bits.filter(|bits| *bits <= all_ones) {
        Some(bits) => (Value::UInt(bits), Loss::Nothing),
        None => (Value::UInt(all_ones), Loss::Error(StoreError::TooLong)),
    }
}

pub(super) fn to_year(value: &Value) -> Converted {
    let Number { value: number, loss } = if let Value::Date(date) = value {
        exact(i128::from(date.year()))
    } else if let Value::DateTime(datetime) = value {
        exact(i128::from(datetime.date().year()))
    } else {
        cut_double(value)
    };
    // '0' and '00' are 2000; the number 0 and '0000' are the zero year.
    let is_short_text = matches!(value, Value::Bytes(text) if text.len() != 4);
    let year = match number {
        _ if matches!(value, Value::Decimal(decimal) if decimal.is_negative()) => None,
        0 if !is_short_text || loss != Loss::Nothing => Some(0),
        0..=69 => Some(number + 2_000),
        70..=99 => Some(number + 1_900),
        1_901..=2_155 => Some(number),
        _ => None,
    };
    match year.and_then(|year| u64::try_from(year).ok()) {
        Some(year) => (Value::UInt(year), loss),
        None => (Value::UInt(0), Loss::Error(StoreError::OutOfRange)),
    }
}
