//! Rows that are kept for a while: to be sorted, to be told apart, to be merged with the rows of other slots.
//!
//! A row is a run of cells of fixed size. Its strings lie behind each other in one piece of bytes, so that keeping a
//! row allocates nothing of its own. Cells and bytes are in pieces of bounded size: a buffer grows without moving what
//! it has.
//!
//! Invariants: all rows between two `clear`s have the same number of values; a `RowAt` is good until the next `clear`.
//!
//! Deliberately not here: who pays for the memory. `size` says how much it is; the operator charges it.

#[cfg(test)]
mod tests;

use query::RowSink;
use stdx::disposal::{free_later, free_some};
use types::{Date, DateTime, Decimal, Time, ValueRef};

/// A piece that has so many bytes takes no more rows.
const PIECE_BYTES: usize = 64 * 1024;
/// The size of a new piece: enough for a usual statement.
const FIRST_BYTES: usize = 8 * 1024;
const FIRST_CELLS: usize = 128;
/// Values of a row that are borrowed without allocating.
const INLINE: usize = 8;

/// A value; strings are in the piece's bytes.
#[derive(Clone, Copy, Debug)]
enum Cell {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    /// Position among the piece's decimals.
    Decimal(usize),
    Bytes {
        start: usize,
        length: u32,
    },
    Date(Date),
    Time(Time),
    DateTime(DateTime),
}

#[derive(Debug)]
struct Piece {
    cells: Vec<Cell>,
    bytes: Vec<u8>,
    decimals: Vec<Decimal>,
}

impl Piece {
    fn new() -> Self {
        Self {
            cells: Vec::with_capacity(FIRST_CELLS),
            bytes: Vec::with_capacity(FIRST_BYTES),
            decimals: Vec::new(),
        }
    }

    /// The memory it holds.
    #[inline]
    fn size(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
            + self.bytes.capacity()
            + self.decimals.capacity() * size_of::<Decimal>()
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= PIECE_BYTES || self.cells.len() * size_of::<Cell>() >= PIECE_BYTES
    }

    #[inline]
    fn push(&mut self, value: ValueRef<'_>) {
        let cell = match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Int(number) => Cell::Int(number),
            ValueRef::UInt(number) => Cell::UInt(number),
            ValueRef::Double(number) => Cell::Double(number),
            ValueRef::Decimal(decimal) => {
                self.decimals.push(decimal.to_decimal());
                Cell::Decimal(self.decimals.len() - 1)
            }
            ValueRef::Bytes(bytes) => {
                stdx::require!(u32::try_from(bytes.len()).is_ok(), "a string is below 4 GiB");
                let start = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                Cell::Bytes { start, length: u32::try_from(bytes.len()).unwrap_or(u32::MAX) }
            }
            ValueRef::Date(date) => Cell::Date(date),
            ValueRef::Time(time) => Cell::Time(time),
            ValueRef::DateTime(moment) => Cell::DateTime(moment),
        };
        self.cells.push(cell);
    }

    #[inline]
    fn value(&self, cell: Cell) -> ValueRef<'_> {
        match cell {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Int(number),
            Cell::UInt(number) => ValueRef::UInt(number),
            Cell::Double(number) => ValueRef::Double(number),
            Cell::Decimal(position) => ValueRef::Decimal(self.decimals[position].as_decimal_ref()),
            Cell::Bytes { start, length } => ValueRef::Bytes(&self.bytes[start..start + length as usize]),
            Cell::Date(date) => ValueRef::Date(date),
            Cell::Time(time) => ValueRef::Time(time),
            Cell::DateTime(moment) => ValueRef::DateTime(moment),
        }
    }
}

/// Where a row is in its buffer; in the order in which rows came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct RowAt {
    piece: u32,
    /// Its first cell.
    cell: u32,
}

/// The buffer.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    pieces: Vec<Piece>,
    width: usize,
    count: usize,
    /// The size of all pieces but the last.
    full_size: usize,
}

impl RowBuffer {
    /// How many rows.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The memory it holds.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.full_size + self.pieces.last().map_or(0, Piece::size)
    }

    /// Forgets all rows, and keeps the memory of one piece.
    pub(crate) fn clear(&mut self) {
        free_later(self.pieces.split_off(self.pieces.len().min(1)));
        if let Some(piece) = self.pieces.first_mut() {
            piece.cells.clear();
            piece.bytes.clear();
            piece.decimals.clear();
        }
        self.count = 0;
        self.full_size = 0;
    }

    /// Keeps a row.
    pub(crate) fn push<'v>(&mut self, values: impl IntoIterator<Item = ValueRef<'v>>) -> RowAt {
        if self.pieces.last().is_none_or(Piece::is_full) {
            if !self.pieces.is_empty() {
                free_some(1);
            }
            self.full_size = self.size();
            self.pieces.push(Piece::new());
        }
        let last = self.pieces.len() - 1;
        let piece = &mut self.pieces[last];
        let first = piece.cells.len();
        for value in values {
            piece.push(value);
        }
        let width = piece.cells.len() - first;
        stdx::require!(self.count == 0 || width == self.width, "rows of one buffer are equally wide");
        self.width = width;
        self.count += 1;
        let narrow = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        RowAt { piece: narrow(last), cell: narrow(first) }
    }

    /// The row behind one; without one, the first.
    pub(crate) fn next(&self, at: Option<RowAt>) -> Option<RowAt> {
        match at {
            Some(at) => self.behind(at),
            None => (self.count > 0).then(RowAt::default),
        }
    }

    /// The row behind one.
    pub(crate) fn behind(&self, at: RowAt) -> Option<RowAt> {
        let next = at.cell as usize + self.width;
        if next < self.pieces.get(at.piece as usize)?.cells.len() {
            return Some(RowAt { cell: u32::try_from(next).unwrap_or(u32::MAX), ..at });
        }
        let piece = at.piece + 1;
        self.pieces.get(piece as usize).map(|_| RowAt { piece, cell: 0 })
    }

    /// A value of a row; NULL if the row has no such position.
    #[inline]
    pub(crate) fn value(&self, at: RowAt, position: usize) -> ValueRef<'_> {
        if position >= self.width {
            return ValueRef::Null;
        }
        let piece = &self.pieces[at.piece as usize];
        piece.value(piece.cells[at.cell as usize + position])
    }

    /// The values of a row.
    #[inline]
    pub(crate) fn values(&self, at: RowAt) -> impl Iterator<Item = ValueRef<'_>> + Clone {
        let piece = &self.pieces[at.piece as usize];
        let first = at.cell as usize;
        piece.cells[first..first + self.width].iter().map(|cell| piece.value(*cell))
    }

    /// Lends a row as it goes into sinks.
    #[inline]
    pub(crate) fn lend(&self, at: RowAt, take: impl FnOnce(&[ValueRef<'_>])) {
        if self.width <= INLINE {
            let mut values = [ValueRef::Null; INLINE];
            for (place, value) in values.iter_mut().zip(self.values(at)) {
                *place = value;
            }
            take(&values[..self.width]);
        } else {
            let values: Vec<ValueRef<'_>> = self.values(at).collect();
            take(&values);
        }
    }
}

impl Drop for RowBuffer {
    fn drop(&mut self) {
        free_later(std::mem::take(&mut self.pieces));
    }
}

/// Keeps rows until they have to be paid for.
pub(crate) struct KeepSink<'a> {
    pub(crate) rows: &'a mut RowBuffer,
    /// The size from which on no more are taken.
    pub(crate) size_max: usize,
}

impl RowSink for KeepSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        self.rows.push(values.iter().copied());
    }

    fn is_full(&self) -> bool {
        self.rows.size() > self.size_max
    }
}
