//! Values of one kind as values of another, with MySQL's rules and warnings. Here are the scanners of numbers in text,
//! the temporal readings of numbers and text, values as text, and CAST.
//!
//! Invariants: NULL converts to NULL. Text that is no number counts as its longest numeric prefix, or 0, with warning
//! 1292. Text or a number that is no date counts as NULL with a warning. Every function is total: any kind of value may
//! come in.

use crate::context::{
    Context, ER_INVALID_CHARACTER_STRING, ER_WARN_DATA_OUT_OF_RANGE, ER_WRONG_VALUE, EvaluationError, shown,
};
use crate::evaluation::Evaluated;
use crate::node::CastPurpose;
use crate::typing::is_temporal;
use std::borrow::Cow;
use types::{
    CharacterSet, Collation, Date, DateTime, Decimal, Interval, Parsed, SqlType, Time, Value, ValueRef,
};

/// A number of any kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
}

impl Number {
    pub(crate) fn to_double(self) -> f64 {
        match self {
            Self::Int(number) => int_to_double(number),
            Self::UInt(number) => uint_to_double(number),
            Self::Double(number) => number,
            Self::Decimal(decimal) => decimal.to_f64(),
        }
    }

    /// `None` only for doubles of more than 65 digits.
    pub(crate) fn to_decimal(self) -> Option<Decimal> {
        match self {
            Self::Int(number) => Some(Decimal::from(number)),
            Self::UInt(number) => Some(Decimal::from(number)),
            Self::Double(number) => Decimal::from_f64(number),
            Self::Decimal(decimal) => Some(decimal),
        }
    }

    /// Rounded (doubles half to even, decimals half away from zero) and clamped to what 64 bits hold, signed or not.
    pub(crate) fn to_integer(self) -> i128 {
        match self {
            Self::Int(number) => i128::from(number),
            Self::UInt(number) => i128::from(number),
            Self::Double(number) => double_to_integer(number),
            Self::Decimal(decimal) => decimal_to_integer(&decimal),
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        match self {
            Self::Int(number) => number == 0,
            Self::UInt(number) => number == 0,
            Self::Double(number) => number == 0.0,
            Self::Decimal(decimal) => decimal.is_zero(),
        }
    }

    pub(crate) fn into_evaluated<'a>(self) -> Evaluated<'a> {
        match self {
            Self::Int(number) => Evaluated::Borrowed(ValueRef::Int(number)),
            Self::UInt(number) => Evaluated::Borrowed(ValueRef::UInt(number)),
            Self::Double(number) => Evaluated::Borrowed(ValueRef::Double(number)),
            Self::Decimal(decimal) => Evaluated::Owned(Value::Decimal(Box::new(decimal))),
        }
    }
}

/// The nearest double.
#[expect(clippy::cast_precision_loss, reason = "the nearest double is what MySQL computes with")]
pub(crate) fn int_to_double(number: i64) -> f64 {
    number as f64
}

/// The nearest double.
#[expect(clippy::cast_precision_loss, reason = "the nearest double is what MySQL computes with")]
pub(crate) fn uint_to_double(number: u64) -> f64 {
    number as f64
}

/// Rounded half to even, clamped to `i64::MIN..=u64::MAX`; NaN is 0.
#[expect(
    clippy::cast_possible_truncation,
    reason = "`as` saturates, and i128 holds the range it is clamped to"
)]
pub(crate) fn double_to_integer(number: f64) -> i128 {
    (number.round_ties_even() as i128).clamp(i128::from(i64::MIN), i128::from(u64::MAX))
}

fn decimal_to_integer(decimal: &Decimal) -> i128 {
    if let Some(number) = decimal.to_i64() {
        return i128::from(number);
    }
    if decimal.is_negative() {
        return i128::from(i64::MIN);
    }
    decimal.to_u64().map_or(i128::from(u64::MAX), i128::from)
}

/// The number that a scanner found at the start of a text.
struct Scanned<'a> {
    /// The longest prefix that is a number, white space in front of it removed; empty if there is none.
    number: &'a [u8],
    /// Nothing but white space is behind it.
    complete: bool,
}

fn skip_spaces(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(text.len());
    &text[start..]
}

fn digits_at(text: &[u8], start: usize) -> usize {
    text.get(start..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The end of the number at the start of `text`, sign, point and exponent included.
fn scan_number(text: &[u8]) -> Scanned<'_> {
    let text = skip_spaces(text);
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let whole = digits_at(text, sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = digits_at(text, end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return Scanned { number: &[], complete: text.is_empty() };
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let exponent_sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits_at(text, end + 1 + exponent_sign);
        if exponent > 0 {
            end += 1 + exponent_sign + exponent;
        }
    }
    Scanned { number: &text[..end], complete: skip_spaces(&text[end..]).is_empty() }
}

fn as_str(ascii: &[u8]) -> &str {
    std::str::from_utf8(ascii).unwrap_or_default()
}

/// Text as a double: the longest numeric prefix.
pub(crate) fn text_to_double(text: &[u8], context: &Context<'_>) -> Result<f64, EvaluationError> {
    let scanned = scan_number(text);
    let number: f64 = as_str(scanned.number).parse().unwrap_or(0.0);
    if !scanned.complete || number.is_infinite() {
        context.truncated("DOUBLE", text)?;
    }
    Ok(number.clamp(-f64::MAX, f64::MAX))
}

/// Text as a decimal: the longest numeric prefix.
pub(crate) fn text_to_decimal(text: &[u8], context: &Context<'_>) -> Result<Decimal, EvaluationError> {
    let scanned = scan_number(text);
    if !scanned.complete || scanned.number.is_empty() {
        context.truncated("DECIMAL", text)?;
    }
    Ok(Decimal::parse(scanned.number).map_or(Decimal::ZERO, |(decimal, _)| decimal))
}

/// Text as an integer: the digits at its start ('1.9' is 1), clamped to what 64 bits hold.
pub(crate) fn text_to_integer(text: &[u8], context: &Context<'_>) -> Result<i128, EvaluationError> {
    let trimmed = skip_spaces(text);
    let sign = usize::from(matches!(trimmed.first(), Some(b'+' | b'-')));
    let end = sign + digits_at(trimmed, sign);
    let digits = &trimmed[sign..end];
    let mut complete = !digits.is_empty() && skip_spaces(&trimmed[end..]).is_empty();
    let mut number: i128 = 0;
    for digit in digits {
        number = (number * 10 + i128::from(digit - b'0')).min(i128::from(u64::MAX) + 1);
    }
    if trimmed.first() == Some(&b'-') {
        number = -number;
    }
    let clamped = number.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
    complete &= clamped == number;
    if !complete {
        context.truncated("INTEGER", text)?;
    }
    Ok(clamped)
}

/// Text that is wholly an integer of 64 bits.
fn exact_integer(text: &[u8]) -> Option<Number> {
    let text = as_str(text);
    if let Ok(number) = text.parse::<i64>() {
        return Some(Number::Int(number));
    }
    text.parse::<u64>().ok().map(Number::UInt)
}

fn time_number(number: i64, microsecond: u32) -> Number {
    with_microseconds(Decimal::from(number.unsigned_abs()), microsecond, number < 0)
        .map_or(Number::Int(number), Number::Decimal)
}

/// The decimal of whole seconds and a fraction; `None` without fraction.
fn with_microseconds(whole: Decimal, microsecond: u32, negative: bool) -> Option<Decimal> {
    if microsecond == 0 {
        return None;
    }
    let fraction = Decimal::from(u64::from(microsecond))
        .div_with_scale(&Decimal::from(1_000_000_u64), 6)
        .unwrap_or(Decimal::ZERO);
    let sum = whole.add(&fraction).unwrap_or(whole);
    Some(if negative { sum.neg() } else { sum })
}

/// Any value as a number; text as a double.
pub(crate) fn number_of(
    value: ValueRef<'_>,
    context: &Context<'_>,
) -> Result<Option<Number>, EvaluationError> {
    Ok(Some(match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Int(number) => Number::Int(number),
        ValueRef::UInt(number) => Number::UInt(number),
        ValueRef::Double(number) => Number::Double(number),
        ValueRef::Decimal(decimal) => Number::Decimal(decimal.to_decimal()),
        ValueRef::Bytes(text) => Number::Double(text_to_double(text, context)?),
        ValueRef::Date(date) => Number::Int(i64::from(date.to_number())),
        ValueRef::Time(time) => {
            let whole = time.to_number();
            if whole == 0 && time.is_negative() {
                let fraction = with_microseconds(Decimal::ZERO, time.microsecond(), true);
                fraction.map_or(Number::Int(0), Number::Decimal)
            } else {
                time_number(whole, time.microsecond())
            }
        }
        ValueRef::DateTime(datetime) => {
            time_number(i64::try_from(datetime.to_number()).unwrap_or(i64::MAX), datetime.microsecond())
        }
    }))
}

/// Any value as a double.
pub(crate) fn double_of(value: ValueRef<'_>, context: &Context<'_>) -> Result<Option<f64>, EvaluationError> {
    Ok(number_of(value, context)?.map(Number::to_double))
}

/// Any value as a decimal; text by its decimal prefix.
pub(crate) fn decimal_of(
    value: ValueRef<'_>,
    context: &Context<'_>,
) -> Result<Option<Decimal>, EvaluationError> {
    if let ValueRef::Bytes(text) = value {
        return text_to_decimal(text, context).map(Some);
    }
    let Some(number) = number_of(value, context)? else { return Ok(None) };
    if let Some(decimal) = number.to_decimal() {
        return Ok(Some(decimal));
    }
    context.truncated("DECIMAL", number.to_double().to_string().as_bytes())?;
    let largest = Decimal::largest(Decimal::PRECISION_MAX, 0);
    Ok(Some(if number.to_double() < 0.0 { largest.neg() } else { largest }))
}

/// Any value as an integer between `i64::MIN` and `u64::MAX`.
pub(crate) fn integer_of(
    value: ValueRef<'_>,
    context: &Context<'_>,
) -> Result<Option<i128>, EvaluationError> {
    if let ValueRef::Bytes(text) = value {
        return text_to_integer(text, context).map(Some);
    }
    Ok(number_of(value, context)?.map(Number::to_integer))
}

/// Any value as a signed integer; what exceeds it is clamped.
pub(crate) fn i64_of(value: ValueRef<'_>, context: &Context<'_>) -> Result<Option<i64>, EvaluationError> {
    Ok(integer_of(value, context)?.map(clamp_i64))
}

/// The nearest i64.
pub(crate) fn clamp_i64(number: i128) -> i64 {
    let fallback = if number < 0 { i64::MIN } else { i64::MAX };
    i64::try_from(number).unwrap_or(fallback)
}

/// The low 64 bits: how signed and unsigned integers turn into each other.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "two's complement is the meaning"
)]
pub(crate) fn low_bits(number: i128) -> u64 {
    number as u64
}

/// Big-endian bytes without leading zero bytes, at least one.
pub(crate) fn bits_to_bytes(bits: u64) -> Vec<u8> {
    let bytes = bits.to_be_bytes();
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
    bytes[start..].to_vec()
}

/// The same 64 bits, signed.
pub(crate) fn as_signed(bits: u64) -> i64 {
    i64::from_ne_bytes(bits.to_ne_bytes())
}

/// Appends a value as text, as the client would see it; nothing for NULL.
pub(crate) fn write_text(value: ValueRef<'_>, sql_type: &SqlType, text: &mut Vec<u8>) {
    if let (ValueRef::Decimal(decimal), SqlType::Decimal { scale, .. }) = (value, sql_type) {
        let decimal = decimal.to_decimal();
        if decimal.scale() > *scale {
            return decimal.round(i32::from(*scale)).unwrap_or(decimal).write(text);
        }
    }
    types::format_text(value, sql_type, text);
}

/// A value as text; strings are not copied.
pub(crate) fn text_of<'a>(value: ValueRef<'a>, sql_type: &SqlType) -> Cow<'a, [u8]> {
    if let ValueRef::Bytes(bytes) = value {
        return Cow::Borrowed(bytes);
    }
    let mut text = Vec::new();
    write_text(value, sql_type, &mut text);
    Cow::Owned(text)
}

/// Text as a date or an instant, days that no month has with ALLOW_INVALID_DATES only.
fn dated_text(text: &[u8], context: &Context<'_>) -> Option<Parsed<DateTime>> {
    if context.sql_mode.allow_invalid_dates { DateTime::parse_written(text) } else { DateTime::parse(text) }
}

/// Text as an instant in the session's time zone.
fn text_to_datetime(text: &[u8], context: &Context<'_>) -> Result<Option<DateTime>, EvaluationError> {
    let Some(parsed) = dated_text(text, context) else { return Ok(None) };
    if context.sql_mode.no_zero_date && parsed.value == DateTime::ZERO {
        return Ok(None);
    }
    if parsed.truncated {
        context.truncated("datetime", text)?;
    }
    let Some(offset_minutes) = parsed.offset_minutes else { return Ok(Some(parsed.value)) };
    let shift = i64::from(context.time_zone_offset_seconds) - i64::from(offset_minutes) * 60;
    Ok(shifted(parsed.value, shift))
}

/// A value moved by seconds; zero dates stay.
pub(crate) fn shifted(datetime: DateTime, seconds: i64) -> Option<DateTime> {
    if seconds == 0 || datetime.date().has_zero_part() {
        return Some(datetime);
    }
    datetime.add_interval(Interval { microseconds: seconds * 1_000_000, ..Interval::default() })
}

/// Whole and fractional part of a non-negative number, the fraction in microseconds.
fn split_number(number: Number) -> Option<(u64, u32)> {
    let decimal = match number {
        Number::Int(number) => return u64::try_from(number).ok().map(|number| (number, 0)),
        Number::UInt(number) => return Some((number, 0)),
        Number::Double(number) => Decimal::from_f64(number)?,
        Number::Decimal(decimal) => decimal,
    };
    if decimal.is_negative() {
        return None;
    }
    let whole = decimal.truncate(0);
    let fraction = decimal.sub(&whole).ok()?.mul(&Decimal::from(1_000_000_u64)).ok()?;
    let microsecond = u32::try_from(fraction.to_u64()?).ok()?;
    Some((whole.to_u64()?, microsecond))
}

fn number_to_datetime(number: Number) -> Option<DateTime> {
    let (whole, microsecond) = split_number(number)?;
    let value = DateTime::from_number(whole)?.value;
    value
        .add_interval(Interval { microseconds: i64::from(microsecond), ..Interval::default() })
        .or(Some(value))
}

/// Any value as an instant; `None` for NULL and, with a warning, for what is none.
pub(crate) fn datetime_of(
    value: ValueRef<'_>,
    context: &Context<'_>,
) -> Result<Option<DateTime>, EvaluationError> {
    let converted = match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Date(date) => return Ok(Some(date.at_midnight())),
        ValueRef::DateTime(datetime) => return Ok(Some(datetime)),
        ValueRef::Time(time) => {
            return Ok(DateTime::from_date_and_duration(context.local_now().date(), time));
        }
        ValueRef::Bytes(text) => text_to_datetime(text, context)?,
        ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Double(_) | ValueRef::Decimal(_) => {
            number_of(value, context)?.and_then(number_to_datetime)
        }
    };
    if converted.is_none() {
        context.incorrect("datetime", &text_of(value, &SqlType::Null))?;
    }
    Ok(converted)
}

/// Any value as a day; a time of day is cut off.
pub(crate) fn date_of(value: ValueRef<'_>, context: &Context<'_>) -> Result<Option<Date>, EvaluationError> {
    if let ValueRef::Date(date) = value {
        return Ok(Some(date));
    }
    Ok(datetime_of(value, context)?.map(DateTime::date))
}

/// The duration, and whether it is beyond the range and was clamped.
fn number_to_time(number: Number) -> Option<(Time, bool)> {
    let negative = number.to_double() < 0.0;
    let magnitude = match number {
        Number::Int(number) => Number::UInt(number.unsigned_abs()),
        Number::UInt(_) => number,
        Number::Double(double) => Number::Double(double.abs()),
        Number::Decimal(decimal) => Number::Decimal(decimal.abs()),
    };
    let (whole, microsecond) = split_number(magnitude)?;
    let parsed = Time::from_number(i64::try_from(whole).ok()?)?;
    let microseconds = parsed.value.microseconds() + i64::from(microsecond);
    let time = Time::from_microseconds_clamped(if negative { -microseconds } else { microseconds });
    Some((time, parsed.clamped))
}

/// Any value as a duration; `None` for NULL and, with a warning, for what is none.
pub(crate) fn time_of(value: ValueRef<'_>, context: &Context<'_>) -> Result<Option<Time>, EvaluationError> {
    let converted = match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Time(time) => return Ok(Some(time)),
        ValueRef::DateTime(datetime) => return Ok(Some(datetime.time())),
        ValueRef::Date(_) => return Ok(Some(Time::ZERO)),
        ValueRef::Bytes(text) => {
            let parsed = Time::parse(text);
            if parsed.is_some_and(|parsed| parsed.truncated || parsed.clamped) {
                context.truncated("time", text)?;
            }
            parsed.map(|parsed| parsed.value)
        }
        ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Double(_) | ValueRef::Decimal(_) => {
            number_of(value, context)?.and_then(number_to_time).map(|(time, _)| time)
        }
    };
    if converted.is_none() {
        context.truncated("time", &text_of(value, &SqlType::Null))?;
    }
    Ok(converted)
}

/// Any value as TRUE, FALSE or unknown.
pub(crate) fn truth_of(value: ValueRef<'_>, context: &Context<'_>) -> Result<Option<bool>, EvaluationError> {
    match value {
        ValueRef::Int(number) => Ok(Some(number != 0)),
        ValueRef::Null => Ok(None),
        ValueRef::UInt(_)
        | ValueRef::Double(_)
        | ValueRef::Decimal(_)
        | ValueRef::Bytes(_)
        | ValueRef::Date(_)
        | ValueRef::Time(_)
        | ValueRef::DateTime(_) => Ok(number_of(value, context)?.map(|number| !number.is_zero())),
    }
}

fn check_date_text(kind: &str, text: &[u8], context: &Context<'_>) -> Result<(), EvaluationError> {
    let dates = context.sql_mode.dates();
    if dated_text(text, context).is_some_and(|parsed| dates.admits(parsed.value)) {
        return Ok(());
    }
    Err(EvaluationError::new(ER_WRONG_VALUE, format!("Incorrect {kind} value: '{}'", shown(text))))
}

fn exact_or_double(text: &[u8], context: &Context<'_>) -> Result<Number, EvaluationError> {
    match exact_integer(text) {
        Some(number) => Ok(number),
        None => text_to_double(text, context).map(Number::Double),
    }
}

/// Two-digit numbers beside a YEAR are years of this or the last century.
fn full_year(number: Number) -> Number {
    match number {
        Number::Int(year @ 1..=69) => Number::Int(year + 2_000),
        Number::Int(year @ 70..=99) => Number::Int(year + 1_900),
        number => number,
    }
}

/// A conversion that CAST or a constructor asks for.
pub(crate) struct Cast<'a> {
    pub(crate) from: &'a SqlType,
    pub(crate) to: &'a SqlType,
    pub(crate) purpose: CastPurpose,
}

impl Cast<'_> {
    /// The value in the new type.
    pub(crate) fn apply<'v>(
        &self,
        value: ValueRef<'v>,
        context: &Context<'_>,
    ) -> Result<Evaluated<'v>, EvaluationError> {
        if value.is_null() {
            return Ok(Evaluated::Borrowed(ValueRef::Null));
        }
        if self.purpose == CastPurpose::Comparison {
            return self.apply_for_comparison(value, context);
        }
        if matches!(self.from, SqlType::Enum { .. } | SqlType::Set { .. }) && is_temporal(self.to) {
            let text = text_of(value, self.from);
            let from = SqlType::Text { size: types::BlobSize::Long, collation: types::Collation::Binary };
            let cast = Cast { from: &from, to: self.to, purpose: self.purpose };
            return Ok(Evaluated::Owned(cast.apply(ValueRef::Bytes(&text), context)?.into_value()));
        }
        let value = self.localised(value, context);
        let result = match self.to {
            SqlType::Null | SqlType::Json => return Ok(Evaluated::Borrowed(value)),
            SqlType::Integer { unsigned, .. } => self.to_integer(value, *unsigned, context)?,
            SqlType::Year => self.to_integer(value, true, context)?,
            SqlType::Bit { .. } | SqlType::Enum { .. } | SqlType::Set { .. } => {
                self.to_integer(value, true, context)?
            }
            SqlType::Double => double_of(value, context)?.map_or(ValueRef::Null, ValueRef::Double),
            SqlType::Float => double_of(value, context)?.map_or(ValueRef::Null, |number| {
                #[expect(clippy::cast_possible_truncation, reason = "FLOAT is an f32, carried as a double")]
                ValueRef::Double(f64::from(number as f32))
            }),
            SqlType::Decimal { precision, scale, .. } => {
                return self.to_decimal(value, *precision, *scale, context);
            }
            SqlType::Char { length, .. } | SqlType::VarChar { length, .. } => {
                return self.to_text(value, *length, context);
            }
            SqlType::Binary { length } => return self.to_binary(value, *length, true, context),
            SqlType::VarBinary { length } => return self.to_binary(value, *length, false, context),
            SqlType::Text { .. } | SqlType::Blob { .. } => {
                return Ok(match self.recoded(value, context) {
                    Some(text) => Evaluated::from_cow(text),
                    None => Evaluated::Borrowed(ValueRef::Null),
                });
            }
            SqlType::Date => self.to_date(value, context)?,
            SqlType::Time { fraction } => {
                let time = time_of(value, context)?;
                time.map_or(ValueRef::Null, |time| ValueRef::Time(time.round(*fraction)))
            }
            SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
                self.to_datetime(value, *fraction, context)?
            }
        };
        Ok(Evaluated::Borrowed(result))
    }

    /// A TIMESTAMP that becomes something else is seen in the session's time zone.
    fn localised<'v>(&self, value: ValueRef<'v>, context: &Context<'_>) -> ValueRef<'v> {
        match (value, self.from, self.to) {
            (ValueRef::DateTime(_), SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => value,
            (ValueRef::DateTime(utc), SqlType::Timestamp { .. }, _) => {
                let offset = i64::from(context.time_zone_offset_seconds);
                shifted(utc, offset).map_or(ValueRef::Null, ValueRef::DateTime)
            }
            _ => value,
        }
    }

    /// A constant beside a column: it comes as close to the column's kind as it can without losing anything, so that an
    /// index can be asked for it. Numbers in text stay exact; a midnight beside a DATE is a day; a date must be one
    /// (1525).
    fn apply_for_comparison<'v>(
        &self,
        value: ValueRef<'v>,
        context: &Context<'_>,
    ) -> Result<Evaluated<'v>, EvaluationError> {
        let implicit = Cast { from: self.from, to: self.to, purpose: CastPurpose::Implicit };
        match (self.to, value) {
            (
                SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. },
                ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Double(_) | ValueRef::Decimal(_),
            ) if !self.is_readable_number(value, context)? => Ok(Evaluated::Borrowed(value)),
            (SqlType::Date, _) => self.to_day_or_instant(value, context),
            (SqlType::DateTime { .. } | SqlType::Timestamp { .. }, ValueRef::Bytes(text)) => {
                check_date_text("DATETIME", text, context)?;
                implicit.apply(value, context)
            }
            (SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. }, _) => {
                implicit.apply(value, context)
            }
            (SqlType::Enum { members, collation }, ValueRef::Bytes(text)) => {
                let position = members.iter().position(|member| collation.equal(member.as_bytes(), text));
                Ok(Evaluated::Borrowed(ValueRef::UInt(match position {
                    Some(index) => u64::try_from(index + 1).unwrap_or(u64::MAX),
                    None if text.is_empty() => 0,
                    // No member: equal to none.
                    None => u64::MAX,
                })))
            }
            (SqlType::Decimal { .. }, ValueRef::Bytes(text)) => {
                let scanned = scan_number(text);
                let exact = scanned.complete.then(|| Decimal::parse(scanned.number)).flatten();
                if let Some((decimal, _)) = exact {
                    return Ok(Evaluated::from_decimal(decimal));
                }
                Ok(Evaluated::Borrowed(ValueRef::Double(text_to_double(text, context)?)))
            }
            (SqlType::Year, ValueRef::Bytes(text)) => {
                Ok(full_year(exact_or_double(text, context)?).into_evaluated())
            }
            (_, ValueRef::Bytes(text)) => Ok(exact_or_double(text, context)?.into_evaluated()),
            (SqlType::Year, ValueRef::Int(number)) => Ok(full_year(Number::Int(number)).into_evaluated()),
            // 2e0 is the year that 2 is.
            (SqlType::Year, ValueRef::Double(number))
                if (0.0..100.0).contains(&number) && number.fract() == 0.0 =>
            {
                let number = integer_of(value, context)?.map_or(0, clamp_i64);
                Ok(full_year(Number::Int(number)).into_evaluated())
            }
            (
                SqlType::Integer { .. }
                | SqlType::Decimal { .. }
                | SqlType::Double
                | SqlType::Year
                | SqlType::Bit { .. }
                | SqlType::Enum { .. },
                ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Double(_) | ValueRef::Decimal(_),
            ) => Ok(Evaluated::Borrowed(value)),
            _ => implicit.apply(value, context),
        }
    }

    /// Whether a number is an instant or duration as the type has it. Others are compared with it as numbers.
    fn is_readable_number(
        &self,
        value: ValueRef<'_>,
        context: &Context<'_>,
    ) -> Result<bool, EvaluationError> {
        let Some(number) = number_of(value, context)? else { return Ok(true) };
        Ok(match self.to {
            SqlType::Time { .. } => number_to_time(number).is_some_and(|(_, clamped)| !clamped),
            _ => number_to_datetime(number).is_some(),
        })
    }

    fn to_day_or_instant<'v>(
        &self,
        value: ValueRef<'v>,
        context: &Context<'_>,
    ) -> Result<Evaluated<'v>, EvaluationError> {
        if let ValueRef::Bytes(text) = value {
            check_date_text("DATE", text, context)?;
        }
        let to = &SqlType::DateTime { fraction: 6 };
        let instant =
            Cast { from: self.from, to, purpose: CastPurpose::Implicit }.to_datetime(value, 6, context)?;
        Ok(Evaluated::Borrowed(match instant {
            ValueRef::DateTime(datetime) if datetime.time() == Time::ZERO => ValueRef::Date(datetime.date()),
            instant => instant,
        }))
    }

    fn to_integer<'v>(
        &self,
        value: ValueRef<'_>,
        unsigned: bool,
        context: &Context<'_>,
    ) -> Result<ValueRef<'v>, EvaluationError> {
        let Some(number) = integer_of(value, context)? else { return Ok(ValueRef::Null) };
        if let ValueRef::Decimal(decimal) = value
            && decimal.to_decimal().to_i64().is_none()
            && (!unsigned || decimal.to_decimal().to_u64().is_none())
        {
            context.truncated("DECIMAL", decimal.to_decimal().to_string().as_bytes())?;
        }
        // Text and integers keep their 64 bits; other numbers are clamped to the type, but negative ones wrap.
        let clamps = matches!(value, ValueRef::Double(_) | ValueRef::Decimal(_));
        Ok(if unsigned {
            ValueRef::UInt(low_bits(number))
        } else if clamps {
            ValueRef::Int(clamp_i64(number))
        } else {
            ValueRef::Int(as_signed(low_bits(number)))
        })
    }

    fn to_decimal<'v>(
        &self,
        value: ValueRef<'_>,
        precision: u8,
        scale: u8,
        context: &Context<'_>,
    ) -> Result<Evaluated<'v>, EvaluationError> {
        let Some(decimal) = decimal_of(value, context)? else {
            return Ok(Evaluated::Borrowed(ValueRef::Null));
        };
        // A type that a peer sent may have more digits than there are.
        let precision = precision.clamp(1, Decimal::PRECISION_MAX);
        let scale = scale.min(Decimal::SCALE_MAX).min(precision);
        let fitted = match decimal.rescale(precision, scale) {
            Ok(fitted) => fitted,
            Err(types::OutOfRange) => {
                let message = || "Out of range value for column 'cast' at row 1".to_owned();
                if context.sql_mode.strict {
                    return Err(EvaluationError::new(ER_WARN_DATA_OUT_OF_RANGE, message()));
                }
                context.warnings.push(ER_WARN_DATA_OUT_OF_RANGE, message);
                let largest = Decimal::largest(precision, scale);
                if decimal.is_negative() { largest.neg() } else { largest }
            }
        };
        Ok(Evaluated::Owned(Value::Decimal(Box::new(fitted))))
    }

    /// The value's text in the new type's character set; None, with a warning, for bytes that are no text in it.
    fn recoded<'v>(&self, value: ValueRef<'v>, context: &Context<'_>) -> Option<Cow<'v, [u8]>> {
        let text = text_of(value, self.from);
        let set = self.to.character_collation().and_then(Collation::narrow_set);
        let text = match types::recoded(text, self.from, self.to) {
            Ok(text) => text,
            Err(malformed) => {
                let name = set.map_or("binary", CharacterSet::name);
                let text = text_of(value, self.from);
                let wrong =
                    text.get(malformed.0..).and_then(|rest| rest.first()).copied().unwrap_or_default();
                let message = || format!("Invalid {name} character string: '{wrong:02X}'");
                context.warnings.push(ER_INVALID_CHARACTER_STRING, message);
                return None;
            }
        };
        match (set, std::str::from_utf8(&text)) {
            (Some(set), Ok(valid)) if set.first_foreign(valid).is_some() => {
                Some(Cow::Owned(set.with_question_marks(valid).into_bytes()))
            }
            _ => Some(text),
        }
    }

    fn to_text<'v>(
        &self,
        value: ValueRef<'v>,
        length: u32,
        context: &Context<'_>,
    ) -> Result<Evaluated<'v>, EvaluationError> {
        let Some(text) = self.recoded(value, context) else { return Ok(Evaluated::Borrowed(ValueRef::Null)) };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if self.purpose != CastPurpose::Explicit || text.len() <= length {
            return Ok(Evaluated::from_cow(text));
        }
        let end = crate::text_functions::byte_index(&text, length);
        if end < text.len() {
            context.truncated(&format!("CHAR({length})"), &text)?;
        }
        Ok(Evaluated::from_cow(cut(text, end)))
    }

    fn to_binary<'v>(
        &self,
        value: ValueRef<'v>,
        length: u32,
        padded: bool,
        context: &Context<'_>,
    ) -> Result<Evaluated<'v>, EvaluationError> {
        let Some(text) = self.recoded(value, context) else { return Ok(Evaluated::Borrowed(ValueRef::Null)) };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if self.purpose != CastPurpose::Explicit || (text.len() <= length && !padded) {
            return Ok(Evaluated::from_cow(text));
        }
        if text.len() > length {
            context.truncated(&format!("BINARY({length})"), &text)?;
            return Ok(Evaluated::from_cow(cut(text, length)));
        }
        let mut bytes = text.into_owned();
        bytes.resize(length.min(crate::context::RESULT_SIZE_MAX), 0);
        Ok(Evaluated::Owned(Value::Bytes(bytes)))
    }

    fn to_date<'v>(
        &self,
        value: ValueRef<'_>,
        context: &Context<'_>,
    ) -> Result<ValueRef<'v>, EvaluationError> {
        let Some(date) = date_of(value, context)? else { return Ok(ValueRef::Null) };
        if self.refuses_zero_date(value, date, context) {
            context.incorrect("date", &text_of(value, self.from))?;
            return Ok(ValueRef::Null);
        }
        Ok(ValueRef::Date(date))
    }

    fn to_datetime<'v>(
        &self,
        value: ValueRef<'_>,
        fraction: u8,
        context: &Context<'_>,
    ) -> Result<ValueRef<'v>, EvaluationError> {
        let Some(datetime) = datetime_of(value, context)? else { return Ok(ValueRef::Null) };
        if self.refuses_zero_date(value, datetime.date(), context) {
            context.incorrect("datetime", &text_of(value, self.from))?;
            return Ok(ValueRef::Null);
        }
        let mut rounded = datetime.round(fraction).unwrap_or(datetime);
        let from_timestamp = matches!(self.from, SqlType::Timestamp { .. });
        if matches!(self.to, SqlType::Timestamp { .. }) && !from_timestamp {
            let offset = i64::from(context.time_zone_offset_seconds);
            rounded = shifted(rounded, -offset).unwrap_or(rounded);
        }
        Ok(ValueRef::DateTime(rounded))
    }

    /// NO_ZERO_DATE and NO_ZERO_IN_DATE hold for dates that CAST reads from text and numbers, not for those that exist.
    fn refuses_zero_date(&self, value: ValueRef<'_>, date: Date, context: &Context<'_>) -> bool {
        let is_temporal = matches!(value, ValueRef::Date(_) | ValueRef::DateTime(_) | ValueRef::Time(_));
        if is_temporal || self.purpose != CastPurpose::Explicit {
            return false;
        }
        if date.is_zero() {
            context.sql_mode.no_zero_date
        } else {
            date.has_zero_part() && context.sql_mode.no_zero_in_date
        }
    }
}

/// The first `end` bytes.
pub(crate) fn cut(text: Cow<'_, [u8]>, end: usize) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..end).unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}
