//! Values into DATE, TIME, DATETIME and TIMESTAMP.

use super::{Converted, Loss, StoreError, TemporalKind};
use crate::{DateTime, Decimal, Parsed, Time, Value};

fn incorrect(kind: TemporalKind) -> Loss {
    Loss::Error(StoreError::IncorrectTemporal(kind))
}

/// The whole number and the microseconds of a DOUBLE or DECIMAL, for the forms like 20240102030405.5.
fn split_decimal(decimal: &Decimal) -> Option<(i64, u32)> {
    let rounded = decimal.round(6).ok()?;
    let whole = rounded.truncate(0);
    let fraction = rounded.sub(&whole).ok()?.abs().mul(&Decimal::from(1_000_000_u64)).ok()?;
    Some((whole.to_i64()?, u32::try_from(fraction.to_u64()?).ok()?))
}

/// A date and time from a value that has one; `None` if it has none.
fn datetime(value: &Value) -> Option<Parsed<DateTime>> {
    let of_number = |number: i64, microsecond: u32| {
        let parsed = DateTime::from_number(u64::try_from(number).ok()?)?;
        let (date, time) = (parsed.value.date(), parsed.value);
        let value = DateTime::new(date, time.hour(), time.minute(), time.second(), microsecond)?;
        Some(parsed.with(value))
    };
    match value {
        Value::Int(number) => of_number(*number, 0),
        Value::UInt(number) => DateTime::from_number(*number),
        Value::Double(number) => {
            let (whole, microsecond) = split_decimal(&Decimal::from_f64(*number)?)?;
            of_number(whole, microsecond)
        }
        Value::Decimal(decimal) => {
            let (whole, microsecond) = split_decimal(decimal)?;
            of_number(whole, microsecond)
        }
        Value::Bytes(text) => DateTime::parse(text).filter(|parsed| parsed.offset_minutes.is_none()),
        Value::Date(date) => {
            Some(Parsed { has_time: false, ..DateTime::from_number(0)?.with(date.at_midnight()) })
        }
        Value::DateTime(datetime) => {
            Some(Parsed { has_time: true, ..DateTime::from_number(0)?.with(*datetime) })
        }
        // The day that a TIME belongs to is today, which the caller knows.
        Value::Null | Value::Time(_) => None,
    }
}

/// A datetime in a column that has no zero dates, and what is wrong with it.
fn checked(value: &Value, kind: TemporalKind) -> (DateTime, Loss) {
    match datetime(value) {
        None => (DateTime::ZERO, incorrect(kind)),
        Some(parsed) if parsed.value.date().has_zero_part() => (DateTime::ZERO, incorrect(kind)),
        Some(parsed) if parsed.truncated => (parsed.value, incorrect(kind)),
        Some(parsed) => (parsed.value, Loss::Nothing),
    }
}

pub(super) fn to_date(value: &Value) -> Converted {
    let (datetime, loss) = checked(value, TemporalKind::Date);
    let has_time = datetime.time() != Time::ZERO;
    let loss = if loss == Loss::Nothing && has_time { Loss::Note(StoreError::Truncated) } else { loss };
    (Value::Date(datetime.date()), loss)
}

pub(super) fn to_datetime(value: &Value, fraction: u8) -> Converted {
    let (datetime, loss) = checked(value, TemporalKind::DateTime);
    match datetime.round(fraction) {
        Some(rounded) => (Value::DateTime(rounded), loss),
        None => (Value::DateTime(datetime.truncate(fraction)), incorrect(TemporalKind::DateTime)),
    }
}

pub(super) fn to_time(value: &Value, fraction: u8) -> Converted {
    let (parsed, loss) = time(value);
    let loss = match parsed {
        None => incorrect(TemporalKind::Time),
        Some(parsed) if parsed.truncated || parsed.clamped => incorrect(TemporalKind::Time),
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
    let with_fraction = |number: i64, microsecond: u32| {
        let parsed = Time::from_number(number)?;
        let sign = if number < 0 { -1 } else { 1 };
        Some(
            parsed
                .with(Time::from_microseconds(parsed.value.microseconds() + sign * i64::from(microsecond))?),
        )
    };
    let of_decimal = |decimal: &Decimal| {
        let (whole, microsecond) = split_decimal(decimal)?;
        with_fraction(whole, microsecond)
    };
    let plain = |time: Time| Time::from_number(0).map(|parsed| parsed.with(time));
    match value {
        Value::Null => (None, Loss::Nothing),
        Value::Int(number) => (Time::from_number(*number), Loss::Nothing),
        Value::UInt(number) => (i64::try_from(*number).ok().and_then(Time::from_number), Loss::Nothing),
        Value::Double(number) => (Decimal::from_f64(*number).as_ref().and_then(of_decimal), Loss::Nothing),
        Value::Decimal(decimal) => (of_decimal(decimal), Loss::Nothing),
        Value::Bytes(text) => (Time::parse(text), Loss::Nothing),
        Value::Time(time) => (plain(*time), Loss::Nothing),
        Value::Date(_) => (plain(Time::ZERO), note),
        Value::DateTime(datetime) => (plain(datetime.time()), note),
    }
}
