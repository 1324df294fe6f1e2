//! The forms of values in a row's bytes: how a column's value lies there, and which [`ValueRef`] it is.
//!
//! Deliberately not here: where in the row it lies (`row`), and which values a column takes (`store`).

use crate::{Date, DateTime, IntegerWidth, SqlType, Time, ValueRef};

/// How a column's value lies in a row, and which `ValueRef` it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Always NULL.
    Nothing,
    /// `Int` in so many bytes.
    Signed(u8),
    /// `UInt` in so many bytes.
    Unsigned(u8),
    /// `Double` as an f32.
    Float,
    /// `Double`.
    Double,
    /// `Date` in 3 bytes.
    Date,
    /// `Time` in 6 bytes.
    Time,
    /// `DateTime` in 8 bytes.
    DateTime,
    /// `Decimal` of any length.
    Decimal,
    /// `Bytes` of any length.
    Bytes,
}

impl IntegerWidth {
    /// Bytes on disk.
    #[must_use]
    pub const fn bytes(self) -> u8 {
        match self {
            IntegerWidth::Tiny => 1,
            IntegerWidth::Small => 2,
            IntegerWidth::Medium => 3,
            IntegerWidth::Normal => 4,
            IntegerWidth::Big => 8,
        }
    }
}

impl Form {
    pub(crate) fn of(sql_type: &SqlType) -> Form {
        match sql_type {
            SqlType::Null => Form::Nothing,
            SqlType::Integer { width, unsigned: false } => Form::Signed(width.bytes()),
            SqlType::Integer { width, unsigned: true } => Form::Unsigned(width.bytes()),
            SqlType::Float => Form::Float,
            SqlType::Double => Form::Double,
            SqlType::Decimal { .. } => Form::Decimal,
            SqlType::Bit { length } => Form::Unsigned(length.div_ceil(8).clamp(1, 8)),
            SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Text { .. }
            | SqlType::Blob { .. }
            | SqlType::Json => Form::Bytes,
            // Full width whatever the number of members: ALTER TABLE may add some.
            SqlType::Enum { .. } | SqlType::Year => Form::Unsigned(2),
            SqlType::Set { .. } => Form::Unsigned(8),
            SqlType::Date => Form::Date,
            SqlType::Time { .. } => Form::Time,
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Form::DateTime,
        }
    }

    /// Bytes in the fixed part; `None` for variable columns.
    pub(crate) fn fixed_width(self) -> Option<u32> {
        match self {
            Form::Nothing => Some(0),
            Form::Signed(width) | Form::Unsigned(width) => Some(u32::from(width)),
            Form::Float => Some(4),
            Form::Date => Some(3),
            Form::Time => Some(6),
            Form::Double | Form::DateTime => Some(8),
            Form::Decimal | Form::Bytes => None,
        }
    }

    /// True if `value` is NULL or of this form and in its range.
    pub(crate) fn accepts(self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (_, ValueRef::Null)
            | (Form::Float | Form::Double, ValueRef::Double(_))
            | (Form::Date, ValueRef::Date(_))
            | (Form::Time, ValueRef::Time(_))
            | (Form::DateTime, ValueRef::DateTime(_))
            | (Form::Decimal, ValueRef::Decimal(_))
            | (Form::Bytes, ValueRef::Bytes(_)) => true,
            (Form::Signed(width), ValueRef::Int(number)) => {
                let unused = 64 - 8 * u32::from(width);
                number << unused >> unused == number
            }
            (Form::Unsigned(width), ValueRef::UInt(number)) => {
                width == 8 || number >> (8 * u32::from(width)) == 0
            }
            _ => false,
        }
    }

    /// Appends a value of this form to the fixed part; zeros for NULL.
    pub(crate) fn write_fixed(self, value: ValueRef<'_>, row: &mut Vec<u8>) {
        let (bits, width) = match (self, value) {
            (Form::Signed(width), ValueRef::Int(number)) => (number.cast_unsigned(), width),
            (Form::Unsigned(width), ValueRef::UInt(number)) => (number, width),
            (Form::Float, ValueRef::Double(number)) => (u64::from(narrow_double(number).to_bits()), 4),
            (Form::Double, ValueRef::Double(number)) => (number.to_bits(), 8),
            (Form::Date, ValueRef::Date(date)) => (u64::from(date.packed()), 3),
            (Form::Time, ValueRef::Time(time)) => (time.microseconds().cast_unsigned(), 6),
            (Form::DateTime, ValueRef::DateTime(datetime)) => (datetime.packed(), 8),
            _ => (0, u8::try_from(self.fixed_width().unwrap_or(0)).unwrap_or(0)),
        };
        row.extend_from_slice(&bits.to_le_bytes()[..usize::from(width)]);
    }

    /// The value of this form at `start`; `None` if there is none.
    #[inline]
    pub(crate) fn read_fixed(self, row: &[u8], start: usize, width: u32) -> Option<ValueRef<'static>> {
        let bits = if let Some(Ok(window)) = row.get(start..start + 8).map(<[u8; 8]>::try_from) {
            // One load and a mask: quicker than copying a few bytes.
            u64::from_le_bytes(window) & u64::MAX.unbounded_shr(64 - 8 * width)
        } else {
            let bytes = row.get(start..start + width as usize)?;
            bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
        };
        let sign_extended = |width: u8| {
            let unused = 64 - 8 * u32::from(width);
            bits.cast_signed() << unused >> unused
        };
        match self {
            Form::Nothing | Form::Decimal | Form::Bytes => None,
            Form::Signed(width) => Some(ValueRef::Int(sign_extended(width))),
            Form::Unsigned(_) => Some(ValueRef::UInt(bits)),
            Form::Float => Some(ValueRef::Double(f64::from(f32::from_bits(u32::try_from(bits).ok()?)))),
            Form::Double => Some(ValueRef::Double(f64::from_bits(bits))),
            Form::Date => Date::from_packed(u32::try_from(bits).ok()?).map(ValueRef::Date),
            Form::Time => Time::from_microseconds(sign_extended(6)).map(ValueRef::Time),
            Form::DateTime => DateTime::from_packed(bits).map(ValueRef::DateTime),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a FLOAT column holds the nearest f32")]
pub(crate) fn narrow_double(number: f64) -> f32 {
    number as f32
}
