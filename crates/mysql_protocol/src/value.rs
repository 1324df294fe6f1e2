//! One value of the binary protocol: a parameter of an execute, or a cell of a binary row.
//!
//! Values carry what their bytes say. Nothing checks that a month is at most 12 or that DECIMAL text is a number.

use crate::constants::ColumnType;
use crate::encoding::{Malformed, Reader, append_lenenc_bytes};
use crate::parameters::ParameterType;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Date {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// A span of time, as TIME holds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Time {
    pub negative: bool,
    pub days: u32,
    pub hours: u8,
    pub minutes: u8,
    pub seconds: u8,
    pub microseconds: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterValue<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    /// Strings, BLOBs, DECIMAL text, JSON, ENUM, SET, BIT: the [`ParameterType`] tells which.
    Bytes(&'a [u8]),
    Date(Date),
    DateTime(DateTime),
    Time(Time),
}

impl<'a> ParameterValue<'a> {
    /// The next value of this type. NULL bits are elsewhere: the caller has looked at them.
    pub fn read(reader: &mut Reader<'a>, parameter_type: ParameterType) -> Result<Self, Malformed> {
        let unsigned = parameter_type.unsigned;
        match parameter_type.column_type {
            ColumnType::Null => Ok(Self::Null),
            ColumnType::Tiny | ColumnType::Bool => {
                reader.u8().map(|value| integer(value.into(), 8, unsigned))
            }
            ColumnType::Short | ColumnType::Year => {
                reader.u16().map(|value| integer(value.into(), 16, unsigned))
            }
            ColumnType::Long | ColumnType::Int24 => {
                reader.u32().map(|value| integer(value.into(), 32, unsigned))
            }
            ColumnType::LongLong => reader.u64().map(|value| integer(value, 64, unsigned)),
            ColumnType::Float => reader.array().map(|bytes| Self::Float(f32::from_le_bytes(bytes))),
            ColumnType::Double => reader.array().map(|bytes| Self::Double(f64::from_le_bytes(bytes))),
            ColumnType::Date => {
                let DateTime { year, month, day, .. } = read_date_time(reader)?;
                Ok(Self::Date(Date { year, month, day }))
            }
            ColumnType::DateTime | ColumnType::Timestamp => read_date_time(reader).map(Self::DateTime),
            ColumnType::Time => read_time(reader).map(Self::Time),
            ColumnType::Decimal
            | ColumnType::NewDecimal
            | ColumnType::VarChar
            | ColumnType::VarString
            | ColumnType::String
            | ColumnType::Bit
            | ColumnType::Vector
            | ColumnType::Json
            | ColumnType::Enum
            | ColumnType::Set
            | ColumnType::TinyBlob
            | ColumnType::MediumBlob
            | ColumnType::LongBlob
            | ColumnType::Blob
            | ColumnType::Geometry => reader.lenenc_bytes().map(Self::Bytes),
            // Storage formats of columns; never sent.
            ColumnType::NewDate | ColumnType::Timestamp2 | ColumnType::DateTime2 | ColumnType::Time2 => {
                Err(Malformed)
            }
        }
    }

    /// The type under which [`Self::append`] writes this value.
    #[must_use]
    pub fn parameter_type(&self) -> ParameterType {
        let (column_type, unsigned) = match self {
            Self::Null => (ColumnType::Null, false),
            Self::Int(_) => (ColumnType::LongLong, false),
            Self::UInt(_) => (ColumnType::LongLong, true),
            Self::Float(_) => (ColumnType::Float, false),
            Self::Double(_) => (ColumnType::Double, false),
            Self::Bytes(_) => (ColumnType::VarString, false),
            Self::Date(_) => (ColumnType::Date, false),
            Self::DateTime(_) => (ColumnType::DateTime, false),
            Self::Time(_) => (ColumnType::Time, false),
        };
        ParameterType { column_type, unsigned }
    }

    /// Appends the bytes of the value; none for NULL.
    pub fn append(&self, buffer: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(value) => buffer.extend_from_slice(&value.to_le_bytes()),
            Self::UInt(value) => buffer.extend_from_slice(&value.to_le_bytes()),
            Self::Float(value) => buffer.extend_from_slice(&value.to_le_bytes()),
            Self::Double(value) => buffer.extend_from_slice(&value.to_le_bytes()),
            Self::Bytes(bytes) => append_lenenc_bytes(buffer, bytes),
            Self::Date(date) => buffer.extend_from_slice(DateEncoding::of_date(*date).as_bytes()),
            Self::DateTime(value) => buffer.extend_from_slice(DateEncoding::of_date_time(*value).as_bytes()),
            Self::Time(time) => buffer.extend_from_slice(DateEncoding::of_time(*time).as_bytes()),
        }
    }
}

/// `value` was read from `bits` bits, zero-extended.
#[inline]
fn integer<'a>(value: u64, bits: u32, unsigned: bool) -> ParameterValue<'a> {
    if unsigned {
        ParameterValue::UInt(value)
    } else {
        let unused = 64 - bits;
        ParameterValue::Int((value << unused).cast_signed() >> unused)
    }
}

fn read_date_time(reader: &mut Reader<'_>) -> Result<DateTime, Malformed> {
    let mut value = DateTime::default();
    let size = reader.u8()?;
    if !matches!(size, 0 | 4 | 7 | 11) {
        return Err(Malformed);
    }
    if size >= 4 {
        value.year = reader.u16()?;
        [value.month, value.day] = reader.array()?;
    }
    if size >= 7 {
        [value.hour, value.minute, value.second] = reader.array()?;
    }
    if size == 11 {
        value.microsecond = reader.u32()?;
    }
    Ok(value)
}

fn read_time(reader: &mut Reader<'_>) -> Result<Time, Malformed> {
    let mut time = Time::default();
    let size = reader.u8()?;
    if !matches!(size, 0 | 8 | 12) {
        return Err(Malformed);
    }
    if size >= 8 {
        time.negative = reader.u8()? != 0;
        time.days = reader.u32()?;
        [time.hours, time.minutes, time.seconds] = reader.array()?;
    }
    if size == 12 {
        time.microseconds = reader.u32()?;
    }
    Ok(time)
}

/// The bytes of a date or time, size byte first: trailing parts that are zero are omitted.
pub(crate) struct DateEncoding {
    bytes: [u8; 13],
}

impl DateEncoding {
    pub(crate) fn of_date(date: Date) -> Self {
        let Date { year, month, day } = date;
        Self::of_date_time(DateTime { year, month, day, ..DateTime::default() })
    }

    pub(crate) fn of_date_time(value: DateTime) -> Self {
        let size = if value.microsecond != 0 {
            11
        } else if (value.hour, value.minute, value.second) != (0, 0, 0) {
            7
        } else if (value.year, value.month, value.day) != (0, 0, 0) {
            4
        } else {
            0
        };
        let mut bytes = [0; 13];
        bytes[0] = size;
        bytes[1..3].copy_from_slice(&value.year.to_le_bytes());
        bytes[3..8].copy_from_slice(&[value.month, value.day, value.hour, value.minute, value.second]);
        bytes[8..12].copy_from_slice(&value.microsecond.to_le_bytes());
        Self { bytes }
    }

    pub(crate) fn of_time(time: Time) -> Self {
        let size = if time.microseconds != 0 {
            12
        } else if (time.days, time.hours, time.minutes, time.seconds) != (0, 0, 0, 0) {
            8
        } else {
            0
        };
        let mut bytes = [0; 13];
        bytes[0] = size;
        bytes[1] = time.negative.into();
        bytes[2..6].copy_from_slice(&time.days.to_le_bytes());
        bytes[6..9].copy_from_slice(&[time.hours, time.minutes, time.seconds]);
        bytes[9..13].copy_from_slice(&time.microseconds.to_le_bytes());
        Self { bytes }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..=usize::from(self.bytes[0])]
    }
}

#[cfg(test)]
mod tests;
