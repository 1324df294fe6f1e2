//! Values as the MySQL text protocol, CONCAT and CAST … AS CHAR show them.
//!
//! Doubles print their shortest digits that read back as the same double, floats six significant digits (as MySQL does:
//! a FLOAT of 16777217 shows 16777200). Both have a point where the first digit lies between the 15th place before and
//! the 14th behind it, or where digits behind the point remain. Else they have an exponent: 1e15, 1.5e-16.
//!
//! Deliberately not here: NULL has no text; the caller knows how its protocol says NULL.

use crate::{NumberFormat, SqlType, ValueRef};
use std::io::Write;

/// Where a number changes to the form with exponent: MySQL's DBL_DIG.
const POINT_MAX: i32 = 15;

/// Appends `value` of type `sql_type` as the MySQL text protocol shows it; nothing for NULL.
///
/// The value decides, the type only refines it (FLOAT's digits, members, BIT's bytes, fraction digits): a value of
/// another type than `sql_type` prints as what it is.
pub fn format_text(value: ValueRef<'_>, sql_type: &SqlType, text: &mut Vec<u8>) {
    match value {
        ValueRef::Null => {}
        ValueRef::Int(number) => {
            if number < 0 {
                text.push(b'-');
            }
            format_unsigned(number.unsigned_abs(), text);
        }
        ValueRef::UInt(number) => format_by_type(number, sql_type, text),
        ValueRef::Double(number) if *sql_type == SqlType::Float => {
            format_float(crate::form::narrow_double(number), text)
        }
        ValueRef::Double(number) => format_double(number, text),
        ValueRef::Decimal(decimal) => decimal.to_decimal().write(text),
        ValueRef::Bytes(bytes) => text.extend_from_slice(bytes),
        ValueRef::Date(date) => date.write(text),
        ValueRef::Time(time) => time.write(fraction_digits(sql_type, time.microsecond()), text),
        ValueRef::DateTime(datetime) => {
            datetime.write(fraction_digits(sql_type, datetime.microsecond()), text)
        }
    }
}

/// As [`format_text`], as a column with this format shows its numbers: with all digits of `FLOAT(M,D)`, and the zeros
/// of ZEROFILL.
pub fn format_number(value: ValueRef<'_>, sql_type: &SqlType, format: &NumberFormat, text: &mut Vec<u8>) {
    let start = text.len();
    match (value, format.scale) {
        (ValueRef::Double(number), Some(scale)) if number.is_finite() => {
            text.extend_from_slice(format!("{number:.0$}", usize::from(scale)).as_bytes());
        }
        _ => format_text(value, sql_type, text),
    }
    if format.zerofill && !value.is_null() {
        let width = usize::from(format.display_width(sql_type));
        let missing = width.saturating_sub(text.len() - start);
        text.splice(start..start, std::iter::repeat_n(b'0', missing));
    }
}

/// The type's fraction digits; for other types as many as the value needs.
fn fraction_digits(sql_type: &SqlType, microsecond: u32) -> u8 {
    if let SqlType::Time { fraction } | SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } =
        sql_type
    {
        *fraction
    } else if microsecond == 0 {
        0
    } else {
        6
    }
}

fn format_by_type(number: u64, sql_type: &SqlType, text: &mut Vec<u8>) {
    match sql_type {
        SqlType::Enum { members, .. } => {
            let position = usize::try_from(number).unwrap_or(usize::MAX).checked_sub(1);
            if let Some(member) = position.and_then(|position| members.get(position)) {
                text.extend_from_slice(member.as_bytes());
            }
        }
        SqlType::Set { members, .. } => {
            let chosen = members.iter().take(64).enumerate().filter(|(bit, _)| number >> bit & 1 != 0);
            for (count, (_, member)) in chosen.enumerate() {
                if count > 0 {
                    text.push(b',');
                }
                text.extend_from_slice(member.as_bytes());
            }
        }
        SqlType::Bit { length } => {
            let width = usize::from(length.div_ceil(8).clamp(1, 8));
            text.extend_from_slice(&number.to_be_bytes()[8 - width..]);
        }
        SqlType::Year => {
            for _ in [10, 100, 1_000].into_iter().filter(|limit| number < *limit) {
                text.push(b'0');
            }
            format_unsigned(number, text);
        }
        SqlType::Null
        | SqlType::Integer { .. }
        | SqlType::Float
        | SqlType::Double
        | SqlType::Decimal { .. }
        | SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Text { .. }
        | SqlType::Blob { .. }
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime { .. }
        | SqlType::Timestamp { .. }
        | SqlType::Json => format_unsigned(number, text),
    }
}

fn format_unsigned(number: u64, text: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut start, mut rest) = (digits.len(), number);
    loop {
        start -= 1;
        digits[start] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[start..]);
}

/// Appends a DOUBLE as MySQL prints it.
pub fn format_double(number: f64, text: &mut Vec<u8>) {
    if !number.is_finite() {
        // No SQL expression yields one.
        text.extend_from_slice(if number.is_nan() {
            b"nan"
        } else if number > 0.0 {
            b"inf"
        } else {
            b"-inf"
        });
        return;
    }
    let mut scratch = [0; 32];
    let length = written(&mut scratch, |mut rest| write!(rest, "{number:e}").map(|()| rest.len()));
    format_scientific(&scratch[..length], text);
}

/// Appends a FLOAT as MySQL prints it.
pub fn format_float(number: f32, text: &mut Vec<u8>) {
    if !number.is_finite() {
        return format_double(f64::from(number), text);
    }
    let mut scratch = [0; 32];
    let length = written(&mut scratch, |mut rest| write!(rest, "{number:.5e}").map(|()| rest.len()));
    format_scientific(&scratch[..length], text);
}

/// Runs a write into `scratch` that tells how much room it left; gives the length written.
fn written(scratch: &mut [u8; 32], write: impl FnOnce(&mut [u8]) -> std::io::Result<usize>) -> usize {
    let room = write(&mut scratch[..]);
    stdx::require!(room.is_ok(), "a double's digits take at most 25 bytes");
    32 - room.unwrap_or(32)
}

/// Reads the longest number (leading white space, sign, digits, point, exponent) at the start of `text` and says how
/// many bytes it took. A number too large for a double is an infinity.
#[must_use]
pub fn parse_double(text: &[u8]) -> Option<(f64, usize)> {
    let (start, end) = crate::decimal::literal_bounds(text)?;
    let literal = std::str::from_utf8(&text[start..end]).ok()?;
    literal.parse().ok().map(|number| (number, end))
}

/// Appends '-1.2345e-7' the way MySQL chooses.
fn format_scientific(scientific: &[u8], text: &mut Vec<u8>) {
    let (negative, rest) = match scientific {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let position = rest.iter().position(|byte| *byte == b'e').unwrap_or(rest.len());
    let exponent: i32 = std::str::from_utf8(rest.get(position + 1..).unwrap_or_default())
        .ok()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0);
    let mut digits = [b'0'; 32];
    let mut count = 0;
    for digit in rest[..position].iter().filter(|byte| byte.is_ascii_digit()) {
        digits[count] = *digit;
        count += 1;
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    if negative {
        text.push(b'-');
    }
    format_digits(&digits[..count], exponent + 1, text);
}

/// Appends 0.digits × 10^point.
fn format_digits(digits: &[u8], point: i32, text: &mut Vec<u8>) {
    let count = i32::try_from(digits.len()).unwrap_or(0);
    let has_point_form = (1 - POINT_MAX..=POINT_MAX).contains(&point) || (point > POINT_MAX && point < count);
    if !has_point_form {
        let (first, rest) = digits.split_at(1);
        text.extend_from_slice(first);
        if !rest.is_empty() {
            text.push(b'.');
            text.extend_from_slice(rest);
        }
        text.push(b'e');
        if point < 1 {
            text.push(b'-');
        }
        return format_unsigned(u64::from((point - 1).unsigned_abs()), text);
    }
    match usize::try_from(point) {
        Ok(point) if point >= digits.len() => {
            text.extend_from_slice(digits);
            text.resize(text.len() + point - digits.len(), b'0');
        }
        Ok(point) if point > 0 => {
            text.extend_from_slice(&digits[..point]);
            text.push(b'.');
            text.extend_from_slice(&digits[point..]);
        }
        _ => {
            text.extend_from_slice(b"0.");
            text.resize(text.len() + point.unsigned_abs() as usize, b'0');
            text.extend_from_slice(digits);
        }
    }
}

#[cfg(test)]
mod tests;
