//! An entry of the redo log: a row that was published, or a delete, in one replica.
//!
//! ```text
//! kind    1 byte: 1 a row, 2 a delete; the others are free
//! slot    varint
//! table   varint
//! epoch   varint: the difference to the base of the block, zigzag (0, -1, 1, -2, ..)
//! key     varint: how many bytes
//! row     varint: how many bytes; only of a row
//! bytes   of the key, then of the row as storage has it
//! ```
//! A varint has seven bits of the number in each byte, the low ones first; the top bit says that another byte follows.
//! So an entry of a small table is 6 or 7 bytes longer than its key and row.
//!
//! Invariants: decoding is total and allocates nothing. Entries of a block stand in the order in which their replica
//! published them.
//!
//! Deliberately not here: which of two entries of a row counts. That is the one with the higher epoch, and among equal
//! epochs the later one (`recovery`).

use types::{Epoch, SlotId, TableId};

const PUT: u8 = 1;
const DELETE: u8 = 2;
/// The longest head of an entry: kind, two u32, two lengths, an epoch.
const HEAD_BYTES_MAX: usize = 1 + 4 * VARINT32_BYTES_MAX + VARINT64_BYTES_MAX;
const VARINT32_BYTES_MAX: usize = 5;
const VARINT64_BYTES_MAX: usize = 10;

/// A row or a delete in one replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// The slot.
    pub slot: SlotId,
    /// The table.
    pub table: TableId,
    /// The epoch of the commit.
    pub epoch: Epoch,
    /// The primary key, as encoded for storage.
    pub key: &'a [u8],
    /// The bytes of the row as storage has them; `None` deletes.
    pub row: Option<&'a [u8]>,
}

/// Bytes that are no entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordError {
    /// The block ends within the entry.
    Truncated,
    /// A kind that this version does not know.
    UnknownKind(u8),
    /// A number that is too large for what it stands for.
    OutOfRange,
}

impl Entry<'_> {
    /// At most so many bytes are added by [`Entry::encode`].
    #[must_use]
    #[inline]
    pub fn size_max(&self) -> usize {
        HEAD_BYTES_MAX + self.key.len() + self.row.map_or(0, <[u8]>::len)
    }

    /// Appends the entry to those of a block with this base.
    #[inline]
    pub(crate) fn encode(&self, base: Epoch, bytes: &mut Vec<u8>) {
        let mut head = Head::new();
        head.push(if self.row.is_some() { PUT } else { DELETE });
        head.varint(u64::from(self.slot.0));
        head.varint(u64::from(self.table.0));
        head.varint(zigzag(self.epoch.0.wrapping_sub(base.0).cast_signed()));
        head.varint(self.key.len() as u64);
        if let Some(row) = self.row {
            head.varint(row.len() as u64);
        }
        bytes.extend_from_slice(head.bytes());
        bytes.extend_from_slice(self.key);
        bytes.extend_from_slice(self.row.unwrap_or_default());
    }
}

impl<'a> Entry<'a> {
    /// Reads the first entry of `bytes`, and says what is behind it.
    pub(crate) fn decode(bytes: &'a [u8], base: Epoch) -> Result<(Self, &'a [u8]), RecordError> {
        let mut rest = bytes;
        let kind = byte(&mut rest)?;
        if kind != PUT && kind != DELETE {
            return Err(RecordError::UnknownKind(kind));
        }
        let slot = SlotId(narrow(varint(&mut rest)?)?);
        let table = TableId(narrow(varint(&mut rest)?)?);
        let difference = unzigzag(varint(&mut rest)?);
        let epoch = base.0.checked_add_signed(difference).filter(|epoch| *epoch < Epoch::LIMIT);
        let epoch = Epoch(epoch.ok_or(RecordError::OutOfRange)?);
        let key_size = narrow(varint(&mut rest)?)? as usize;
        let row_size = if kind == PUT { Some(narrow(varint(&mut rest)?)? as usize) } else { None };
        let key = take_bytes(&mut rest, key_size)?;
        let row = take_bytes(&mut rest, row_size.unwrap_or(0))?;
        Ok((Self { slot, table, epoch, key, row: row_size.map(|_| row) }, rest))
    }
}

/// The numbers in front of a key and a row: put into a block or a piece at once.
pub(crate) struct Head {
    bytes: [u8; HEAD_BYTES_MAX],
    length: usize,
}

impl Head {
    /// As many bytes as the longest head has.
    pub(crate) const SIZE_MAX: usize = HEAD_BYTES_MAX;

    #[inline]
    pub(crate) fn new() -> Self {
        Self { bytes: [0; HEAD_BYTES_MAX], length: 0 }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    #[inline]
    pub(crate) fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(low_byte(number) | 0x80);
            number >>= 7;
        }
        self.push(low_byte(number));
    }
}

#[inline]
fn low_byte(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn byte(rest: &mut &[u8]) -> Result<u8, RecordError> {
    let (first, behind) = rest.split_first().ok_or(RecordError::Truncated)?;
    *rest = behind;
    Ok(*first)
}

/// The next so many bytes.
pub(crate) fn take_bytes<'a>(rest: &mut &'a [u8], size: usize) -> Result<&'a [u8], RecordError> {
    let (taken, behind) = rest.split_at_checked(size).ok_or(RecordError::Truncated)?;
    *rest = behind;
    Ok(taken)
}

pub(crate) fn varint(rest: &mut &[u8]) -> Result<u64, RecordError> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(rest)?;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(RecordError::OutOfRange);
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(RecordError::OutOfRange)
}

pub(crate) fn narrow(number: u64) -> Result<u32, RecordError> {
    u32::try_from(number).map_err(|_| RecordError::OutOfRange)
}

#[cfg(test)]
mod tests;
