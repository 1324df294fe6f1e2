//! One SQL value, owned or borrowed from a row. Its meaning (collation, ENUM members, fraction digits) is in its
//! `SqlType`.

use crate::{Date, DateTime, Decimal, Time};
use wire_derive::Wire;

/// An owned value.
///
/// ENUM, SET, BIT and YEAR are `UInt`; FLOAT is `Double`; all strings and binary strings are `Bytes`.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// FLOAT or DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Box<Decimal>),
    /// A character or binary string.
    Bytes(#[wire(bytes)] Vec<u8>),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME, or TIMESTAMP (then in UTC while stored).
    DateTime(DateTime),
}

/// A value that borrows its bytes from a row or a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ValueRef<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// FLOAT or DOUBLE.
    Double(f64),
    /// DECIMAL in its row encoding (`Decimal::from_row_bytes`).
    Decimal(crate::DecimalRef<'a>),
    /// A character or binary string.
    Bytes(&'a [u8]),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME or TIMESTAMP.
    DateTime(DateTime),
}

const _: () = assert!(size_of::<Value>() <= 32);
const _: () = assert!(size_of::<ValueRef<'_>>() <= 24);

impl Value {
    /// Borrows the value.
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Int(*number),
            Value::UInt(number) => ValueRef::UInt(*number),
            Value::Double(number) => ValueRef::Double(*number),
            Value::Decimal(decimal) => ValueRef::Decimal(decimal.as_decimal_ref()),
            Value::Bytes(bytes) => ValueRef::Bytes(bytes),
            Value::Date(date) => ValueRef::Date(*date),
            Value::Time(time) => ValueRef::Time(*time),
            Value::DateTime(datetime) => ValueRef::DateTime(*datetime),
        }
    }

    /// True for NULL.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// A string.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Value::Bytes(text.as_bytes().to_vec())
    }
}

impl ValueRef<'_> {
    /// An owned copy.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(number) => Value::Int(number),
            ValueRef::UInt(number) => Value::UInt(number),
            ValueRef::Double(number) => Value::Double(number),
            ValueRef::Decimal(decimal) => Value::Decimal(Box::new(decimal.to_decimal())),
            ValueRef::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            ValueRef::Date(date) => Value::Date(date),
            ValueRef::Time(time) => Value::Time(time),
            ValueRef::DateTime(datetime) => Value::DateTime(datetime),
        }
    }

    /// True for NULL.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }
}

#[cfg(test)]
mod tests;
