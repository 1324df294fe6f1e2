//! One SQL value, owned or borrowed from a row. What it means (collation, ENUM members, fraction digits) is in its `SqlType`.

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
    Bytes(Vec<u8>),
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
