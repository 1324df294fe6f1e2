//! Bringing a value of any kind into a column's type, by MySQL 8's rules: what INSERT, UPDATE, LOAD DATA and CAST to a
//! column do.
//!
//! Every conversion yields the nearest value of the type and, where something was lost, what. Strict mode (MySQL 8's
//! default sql_mode) makes losses errors; lenient mode (INSERT IGNORE) keeps the value and reports the loss as a
//! warning. Which dates a column takes is apart from that: a [`DateMode`] says it; what it does not let in is a loss,
//! and becomes the zero date. Some losses are only notes in both modes: digits rounded away from a decimal, trailing
//! spaces over a column's length, the time of day of what becomes a date.
//!
//! Invariants: the value that comes out is NULL or of the column's type, so that `RowLayout` and `KeyEncoder` accept
//! it. A value that already is of the type comes out unchanged, but for dates that the mode does not let in.
//!
//! Deliberately not here: the message (its writer knows column and row), NOT NULL (1048), and conversions that the
//! caller makes first. These are the shift of TIMESTAMP between time zones and its range afterwards
//! ([`crate::DateTime::is_timestamp`]), TIME to DATETIME (which needs today's date), and text with a time-zone offset.
//! Here such values are incorrect.

mod numbers;
mod strings;
mod temporals;

use wire_derive::Wire;

use crate::form::Form;
use crate::{Collation, Date, DateMode, DateTime, Decimal, NumberFormat, SqlType, Time, Value, ValueRef};

/// The type that an incorrect value was meant to have: the `%s` of "Incorrect %s value".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IncorrectKind {
    /// integer
    Integer,
    /// decimal
    Decimal,
    /// double
    Double,
    /// string
    String,
}

/// The `%s` of "Incorrect %s value" for temporal types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TemporalKind {
    /// date
    Date,
    /// time
    Time,
    /// datetime
    DateTime,
}

/// Why a value cannot be stored as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// 1264 Out of range value for column
    OutOfRange,
    /// 1406 Data too long for column
    TooLong,
    /// 1265 Data truncated for column
    Truncated,
    /// 1366 Incorrect … value for column
    Incorrect(IncorrectKind),
    /// 1292 Incorrect … value for column
    IncorrectTemporal(TemporalKind),
    /// 1292 Incorrect … value for column: it is one, but not one that the type has
    TemporalOutOfRange(TemporalKind),
}

impl StoreError {
    /// MySQL's error number.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            StoreError::OutOfRange => 1264,
            StoreError::TooLong => 1406,
            StoreError::Truncated => 1265,
            StoreError::Incorrect(_) => 1366,
            StoreError::IncorrectTemporal(_) | StoreError::TemporalOutOfRange(_) => 1292,
        }
    }

    /// Its number as a warning, where the value is stored all the same: what is cut is 1265, as is a date that is none.
    #[must_use]
    pub fn warning_code(self) -> u16 {
        match self {
            StoreError::TooLong | StoreError::IncorrectTemporal(_) => StoreError::Truncated.code(),
            StoreError::TemporalOutOfRange(_) => StoreError::OutOfRange.code(),
            StoreError::OutOfRange | StoreError::Truncated | StoreError::Incorrect(_) => self.code(),
        }
    }

    /// The type's name in "Incorrect %s value: '…' for column …"; `None` for errors whose message does not show the
    /// value.
    #[must_use]
    pub fn incorrect_type(self) -> Option<&'static str> {
        match self {
            StoreError::OutOfRange | StoreError::TooLong | StoreError::Truncated => None,
            StoreError::Incorrect(IncorrectKind::Integer) => Some("integer"),
            StoreError::Incorrect(IncorrectKind::Decimal) => Some("decimal"),
            StoreError::Incorrect(IncorrectKind::Double) => Some("double"),
            StoreError::Incorrect(IncorrectKind::String) => Some("string"),
            StoreError::IncorrectTemporal(kind) | StoreError::TemporalOutOfRange(kind) => Some(match kind {
                TemporalKind::Date => "date",
                TemporalKind::Time => "time",
                TemporalKind::DateTime => "datetime",
            }),
        }
    }
}

/// Whether what does not fit is an error or is adjusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreMode {
    /// MySQL 8's default sql_mode: an error.
    Strict,
    /// INSERT IGNORE and the like: the nearest value, with a warning.
    Lenient,
}

/// A value of the column's type, and what was lost on the way.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    /// The value as the column holds it.
    pub value: Value,
    /// In lenient mode what strict mode refuses; in both modes a note (a cut trailing space, a rounded decimal).
    pub warning: Option<(Severity, StoreError)>,
}

/// How much a loss matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Severity {
    /// Told in both modes.
    Note,
    /// Strict mode refuses it.
    Warning,
}

/// The loss of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    Nothing,
    /// Told, never refused.
    Note(StoreError),
    /// Refused in strict mode.
    Error(StoreError),
}

/// The nearest value of the type and what was lost.
type Converted = (Value, Loss);

/// Whether one look tells that [`store`] would give back this very value: true for most integers and strings.
/// False tells nothing.
#[must_use]
pub fn is_stored_unchanged(value: &Value, to: &SqlType) -> bool {
    let is_text = |text: &[u8], length: u32, collation: Collation| {
        text.len() <= length as usize && collation.narrow_set().is_none() && std::str::from_utf8(text).is_ok()
    };
    match (value, to) {
        (Value::Int(number), SqlType::Integer { width, unsigned: false }) => {
            Form::Signed(width.bytes()).accepts(ValueRef::Int(*number))
        }
        (Value::Bytes(text), SqlType::Char { length, collation }) => {
            is_text(text, *length, *collation) && text.last() != Some(&b' ')
        }
        (Value::Bytes(text), SqlType::VarChar { length, collation }) => is_text(text, *length, *collation),
        _ => false,
    }
}

/// Brings `value` into the type `to`.
pub fn store(value: Value, to: &SqlType, mode: StoreMode, dates: DateMode) -> Result<Value, StoreError> {
    store_with_warning(value, to, mode, dates).map(|stored| stored.value)
}

/// As [`store`], with the warning.
pub fn store_with_warning(
    value: Value,
    to: &SqlType,
    mode: StoreMode,
    dates: DateMode,
) -> Result<Stored, StoreError> {
    let (value, loss) = convert(value, to, dates);
    match loss {
        Loss::Nothing => Ok(Stored { value, warning: None }),
        Loss::Error(error) if mode == StoreMode::Strict => Err(error),
        Loss::Error(error) => {
            // Too many bits are too large a number where they are let in.
            let is_bit = matches!(to, SqlType::Bit { .. }) && error == StoreError::TooLong;
            let error = if is_bit { StoreError::OutOfRange } else { error };
            Ok(Stored { value, warning: Some((Severity::Warning, error)) })
        }
        Loss::Note(error) => Ok(Stored { value, warning: Some((Severity::Note, error)) }),
    }
}

/// As [`store_with_warning`], into a column that rounds its numbers, or takes none below zero.
pub fn store_in_column(
    value: Value,
    to: &SqlType,
    format: &NumberFormat,
    mode: StoreMode,
    dates: DateMode,
) -> Result<Stored, StoreError> {
    let stored = store_with_warning(value, to, mode, dates)?;
    let Value::Double(number) = stored.value else { return Ok(stored) };
    let (kept, is_in_range) = numbers::limited(number, to, format);
    let value = Value::Double(kept);
    if is_in_range {
        return Ok(Stored { value, ..stored });
    }
    match mode {
        StoreMode::Strict => Err(StoreError::OutOfRange),
        StoreMode::Lenient => {
            Ok(Stored { value, warning: Some((Severity::Warning, StoreError::OutOfRange)) })
        }
    }
}

fn convert(value: Value, to: &SqlType, dates: DateMode) -> Converted {
    if value.is_null() {
        return (Value::Null, Loss::Nothing);
    }
    match to {
        SqlType::Null => (Value::Null, Loss::Nothing),
        SqlType::Integer { width, unsigned } => numbers::to_integer(&value, *width, *unsigned),
        SqlType::Float => numbers::to_float(&value),
        SqlType::Double => numbers::to_double(&value),
        SqlType::Decimal { precision, scale, unsigned } => {
            numbers::to_decimal(&value, *precision, *scale, *unsigned)
        }
        SqlType::Bit { length } => numbers::to_bit(&value, *length),
        SqlType::Year => numbers::to_year(&value),
        SqlType::Char { length, collation } => strings::to_char(value, *length, *collation),
        SqlType::VarChar { length, collation } => strings::to_varchar(value, *length, *collation),
        SqlType::Text { size, collation } => strings::to_text(value, size.bytes_max(), *collation),
        SqlType::Json => strings::to_text(value, crate::BlobSize::Long.bytes_max(), Collation::Utf8mb4Bin),
        SqlType::Binary { length } => strings::to_binary(value, *length),
        SqlType::VarBinary { length } => strings::to_varbinary(value, u64::from(*length)),
        SqlType::Blob { size } => strings::to_varbinary(value, size.bytes_max()),
        SqlType::Enum { members, collation } => strings::to_enum(&value, members, *collation),
        SqlType::Set { members, collation } => strings::to_set(&value, members, *collation),
        SqlType::Date => temporals::to_date(&value, dates),
        SqlType::Time { fraction } => temporals::to_time(&value, *fraction),
        SqlType::DateTime { fraction } => temporals::to_datetime(&value, *fraction, dates),
        SqlType::Timestamp { fraction } => temporals::to_datetime(&value, *fraction, dates.of_timestamp()),
    }
}

/// The value of a NOT NULL column without DEFAULT where MySQL fills it in (lenient INSERT, ADD COLUMN): 0, '', the zero
/// date, the first member.
#[must_use]
pub fn implicit_default(sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Null => Value::Null,
        SqlType::Integer { unsigned: false, .. } => Value::Int(0),
        SqlType::Integer { unsigned: true, .. }
        | SqlType::Bit { .. }
        | SqlType::Set { .. }
        | SqlType::Year => Value::UInt(0),
        SqlType::Enum { .. } => Value::UInt(1),
        SqlType::Float | SqlType::Double => Value::Double(0.0),
        SqlType::Decimal { precision, scale, .. } => {
            Value::Decimal(Box::new(Decimal::ZERO.rescale(*precision, *scale).unwrap_or(Decimal::ZERO)))
        }
        SqlType::Binary { length } => Value::Bytes(vec![0; *length as usize]),
        SqlType::Json => Value::text("null"),
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Text { .. }
        | SqlType::Blob { .. } => Value::Bytes(Vec::new()),
        SqlType::Date => Value::Date(Date::ZERO),
        SqlType::Time { .. } => Value::Time(Time::ZERO),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Value::DateTime(DateTime::ZERO),
    }
}

/// True if nothing but spaces is behind the first `consumed` bytes.
fn is_consumed(text: &[u8], consumed: usize) -> bool {
    text.get(consumed..).is_none_or(|rest| rest.iter().all(u8::is_ascii_whitespace))
}

#[cfg(test)]
mod tests;
