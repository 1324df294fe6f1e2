//! Values into DATE, TIME, DATETIME and TIMESTAMP.

use super::{Converted, Loss, StoreError, TemporalKind};
use crate::{DateMode, DateTime, Decimal, Parsed, Time, Value};

fn incorrect(kind: TemporalKind) -> Loss {
    Loss::Error(StoreError::IncorrectTemporal(kind))
}

/// A DOUBLE or DECIMAL in the forms like 20240102030405.5, without its sign.
struct Split {
    negative: bool,
    whole: u64,
    microsecond: u32,
}

fn split(decimal: &Decimal) -> Option<Split> {
    let rounded = decimal.round(6).ok()?.abs();
    let whole = rounded.truncate(0);
    let fraction = rounded.sub(&whole).ok()?.mul(&Decimal::from(1_000_000_u64)).ok()?;
    let microsecond = u32::try_from(fraction.to_u64()?).ok()?;
    Some(Split { negative: decimal.is_negative(), whole: whole.to_u64()?, microsecond })
}

fn split_number(value: &Value) -> Option<Split> {
    let whole = |number: i64| Split { negative: number < 0, whole: number.unsigned_abs(), microsecond: 0 };
    match value {
        Value::Int(number) => Some(whole(*number)),
        Value::UInt(number) => Some(Split { negative: false, whole: *number, microsecond: 0 }),
        Value::Double(number) => split(&Decimal::from_f64(*number)?),
        Value::Decimal(decimal) => split(decimal),
        Value::Null | Value::Bytes(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_) => None,
    }
}

/// A date and time from a value that has one; `None` if it has none.
fn datetime(value: &Value) -> Option<Parsed<DateTime>> {
    match value {
        Value::Bytes(text) => DateTime::parse_written(text).filter(|parsed| parsed.offset_minutes.is_none()),
        Value::Date(date) => Some(Parsed::exact(date.at_midnight(), false)),
        Value::DateTime(datetime) => Some(Parsed::exact(*datetime, true)),
        // The day that a TIME belongs to is today, which the caller knows.
        Value::Null | Value::Time(_) => None,
        Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
            let Split { negative, whole, microsecond } = split_number(value)?;
            let parsed = DateTime::written_as_number(whole).filter(|_| !negative)?;
            let at = parsed.value;
            if !parsed.has_time {
                // A date has no place for a fraction.
                return Some(Parsed { truncated: microsecond != 0, ..parsed });
            }
            Some(parsed.with(DateTime::new(at.date(), at.hour(), at.minute(), at.second(), microsecond)?))
        }
    }
}

/// A datetime that the mode lets in, and what is wrong with it.
fn checked(value: &Value, kind: TemporalKind, mode: DateMode) -> (DateTime, Loss) {
    match datetime(value) {
        None => (DateTime::ZERO, incorrect(kind)),
        Some(parsed) if !mode.admits(parsed.value) => {
            // A number that is no day is none at all; a text or a date is one out of range.
            let is_date = matches!(value, Value::Bytes(_) | Value::Date(_) | Value::DateTime(_));
            let loss = if is_date || parsed.value == DateTime::ZERO {
                Loss::Error(StoreError::TemporalOutOfRange(kind))
            } else {
                incorrect(kind)
            };
            (DateTime::ZERO, loss)
        }
        Some(parsed) if parsed.truncated => (parsed.value, incorrect(kind)),
        Some(parsed) => (parsed.value, Loss::Nothing),
    }
}

pub(super) fn to_date(value: &Value, mode: DateMode) -> Converted {
    let (datetime, loss) = checked(value, TemporalKind::Date, mode);
    let has_time = datetime.time() != Time::ZERO;
    let loss = if loss == Loss::Nothing && has_time { Loss::Note(StoreError::Truncated) } else { loss };
    (Value::Date(datetime.date()), loss)
}

pub(super) fn to_datetime(value: &Value, fraction: u8, mode: DateMode) -> Converted {
    let (datetime, loss) = checked(value, TemporalKind::DateTime, mode);
    match datetime.round(fraction) {
        Some(rounded) => (Value::DateTime(rounded), loss),
        None => (Value::DateTime(datetime.truncate(fraction)), incorrect(TemporalKind::DateTime)),
    }
}

pub(super) fn to_time(value: &Value, fraction: u8) -> Converted {
    let (parsed, loss) = time(value);
    let loss = match parsed {
        None => incorrect(TemporalKind::Time),
        Some(parsed) if parsed.truncated || parsed.offset_minutes.is_some() => incorrect(TemporalKind::Time),
        Some(parsed) if parsed.clamped => Loss::Error(StoreError::TemporalOutOfRange(TemporalKind::Time)),
        Some(_) => loss,
    };
    let limit = Time::MAX.truncate(0);
    let rounded = parsed.map_or(Time::ZERO, |parsed| parsed.value.round(fraction));
    let clamped = Time::from_microseconds_clamped(
        rounded.microseconds().clamp(-limit.microseconds(), limit.microseconds()),
    );
    (Value::Time(clamped), loss)
}

fn time(value: &Value) -> (Option<Parsed<Time>>, Loss) {
    let note = Loss::Note(StoreError::Truncated);
    match value {
        Value::Null => (None, Loss::Nothing),
        Value::Bytes(text) => {
            let has_date =
                text.contains(&b'-') && DateTime::parse(text).is_some_and(|parsed| parsed.has_time);
            (Time::parse(text), if has_date { note } else { Loss::Nothing })
        }
        Value::Time(time) => (Some(Parsed::exact(*time, true)), Loss::Nothing),
        Value::Date(_) => (Some(Parsed::exact(Time::ZERO, true)), note),
        Value::DateTime(datetime) => (Some(Parsed::exact(datetime.time(), true)), note),
        Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
            (split_number(value).and_then(|split| time_of_number(&split)), Loss::Nothing)
        }
    }
}

fn time_of_number(split: &Split) -> Option<Parsed<Time>> {
    let whole = i64::try_from(split.whole).unwrap_or(i64::MAX);
    let parsed = Time::from_number(if split.negative { -whole } else { whole })?;
    let fraction = i64::from(split.microsecond);
    let microseconds = parsed.value.microseconds() + if split.negative { -fraction } else { fraction };
    Some(parsed.with(Time::from_microseconds_clamped(microseconds)))
}
