//! A row as bytes of a piece of scratch.
//!
//! ```text
//! length u32 | values, each: tag u8, then
//!   Int, UInt, Double, Time, DateTime 8 bytes; Date 4 bytes; Decimal length u8 and bytes; Bytes length u32 and bytes
//! ```
//! Numbers are little-endian. A value of another row is told apart by its type as exactly as in memory.
//!
//! Invariant: any bytes can be read. Those that are no row end early; the checksum of the piece has excluded them.

use types::{Date, DateTime, DecimalRef, Time, ValueRef};

/// The size of the length.
const HEAD: usize = 4;
/// Values of a row that are lent without allocating.
const INLINE: usize = 8;

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const DOUBLE: u8 = 3;
const DECIMAL: u8 = 4;
const BYTES: u8 = 5;
const DATE: u8 = 6;
const TIME: u8 = 7;
const DATE_TIME: u8 = 8;

/// Appends a row. False if it has 4 GiB or more, as a join may make them: then nothing is appended.
#[must_use]
pub(super) fn append<'v>(values: impl IntoIterator<Item = ValueRef<'v>>, bytes: &mut Vec<u8>) -> bool {
    let head = bytes.len();
    bytes.extend_from_slice(&[0; HEAD]);
    for value in values {
        append_value(value, bytes);
    }
    let Ok(length) = u32::try_from(bytes.len() - head - HEAD) else {
        bytes.truncate(head);
        return false;
    };
    bytes[head..head + HEAD].copy_from_slice(&length.to_le_bytes());
    true
}

fn append_value(value: ValueRef<'_>, bytes: &mut Vec<u8>) {
    let mut fixed = |tag: u8, number: u64| {
        bytes.push(tag);
        bytes.extend_from_slice(&number.to_le_bytes());
    };
    match value {
        ValueRef::Null => bytes.push(NULL),
        ValueRef::Int(number) => fixed(INT, number.cast_unsigned()),
        ValueRef::UInt(number) => fixed(UINT, number),
        ValueRef::Double(number) => fixed(DOUBLE, number.to_bits()),
        ValueRef::Time(time) => fixed(TIME, time.microseconds().cast_unsigned()),
        ValueRef::DateTime(moment) => fixed(DATE_TIME, moment.packed()),
        ValueRef::Date(date) => {
            bytes.push(DATE);
            bytes.extend_from_slice(&date.packed().to_le_bytes());
        }
        ValueRef::Decimal(decimal) => {
            bytes.extend_from_slice(&[DECIMAL, 0]);
            let start = bytes.len();
            decimal.write_row_bytes(bytes);
            bytes[start - 1] = u8::try_from(bytes.len() - start).unwrap_or(u8::MAX);
        }
        ValueRef::Bytes(text) => {
            bytes.push(BYTES);
            bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(text);
        }
    }
}

/// The row that begins here, and the place behind it; None if it is not whole.
pub(super) fn find(bytes: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let head = bytes.get(at..)?.first_chunk::<HEAD>()?;
    let start = at + HEAD;
    let end = start.checked_add(u32::from_le_bytes(*head) as usize)?;
    (end <= bytes.len()).then_some(start..end)
}

/// A row; its values are borrowed from the bytes.
#[derive(Clone, Copy)]
pub(crate) struct PackedRow<'a>(pub(super) &'a [u8]);

impl<'a> PackedRow<'a> {
    /// A row that was kept as bytes.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// A value; NULL if the row has no such position.
    #[inline]
    pub(crate) fn value(self, position: usize) -> ValueRef<'a> {
        self.values().nth(position).unwrap_or(ValueRef::Null)
    }

    /// All of them.
    pub(crate) fn values(self) -> PackedValues<'a> {
        PackedValues(self.0)
    }

    /// Lends the row as it goes into sinks.
    pub(crate) fn lend(self, take: impl FnOnce(&[ValueRef<'a>])) {
        let mut few = [ValueRef::Null; INLINE];
        let mut count = 0;
        let mut values = self.values();
        for (place, value) in few.iter_mut().zip(values.by_ref()) {
            *place = value;
            count += 1;
        }
        if values.0.is_empty() {
            take(&few[..count]);
        } else {
            take(&self.values().collect::<Vec<_>>());
        }
    }
}

/// The values of a row, in order.
#[derive(Clone)]
pub(crate) struct PackedValues<'a>(&'a [u8]);

impl<'a> PackedValues<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn fixed(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn short(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }
}

impl<'a> Iterator for PackedValues<'a> {
    type Item = ValueRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<ValueRef<'a>> {
        let (tag, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(match *tag {
            NULL => ValueRef::Null,
            INT => ValueRef::Int(self.fixed()?.cast_signed()),
            UINT => ValueRef::UInt(self.fixed()?),
            DOUBLE => ValueRef::Double(f64::from_bits(self.fixed()?)),
            TIME => ValueRef::Time(Time::from_microseconds(self.fixed()?.cast_signed())?),
            DATE_TIME => ValueRef::DateTime(DateTime::from_packed(self.fixed()?)?),
            DATE => ValueRef::Date(Date::from_packed(self.short()?)?),
            DECIMAL => {
                let length = self.take(1)?[0];
                ValueRef::Decimal(DecimalRef::from_row_bytes(self.take(length.into())?))
            }
            BYTES => {
                let length = self.short()?;
                ValueRef::Bytes(self.take(length as usize)?)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
