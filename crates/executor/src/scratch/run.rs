//! Runs: rows that were written to scratch one behind the other, and are read in the same order.
//!
//! A piece holds whole rows. A row that is longer than a piece is cut into several, which have nothing else.
//!
//! Invariant: a writer has one piece that it fills, and those that came full since it was last ready; a reader has one,
//! or those of a long row.

use super::packed_row::{PackedRow, append, find};
use super::{Hold, Piece, Reading};
use crate::cx::Cx;
use protocol::SqlError;
use std::collections::VecDeque;
use std::ops::Range;
use types::ValueRef;

/// Rows in scratch.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pieces: VecDeque<Piece>,
}

/// Writes a run.
#[derive(Debug)]
pub(crate) struct RunWriter {
    piece_size: usize,
    /// Rows of the next piece.
    bytes: Vec<u8>,
    /// Pieces that are to be written; one that is too long is still to be cut.
    full: VecDeque<Vec<u8>>,
    /// The part of the first of them that is written.
    cut: usize,
    /// A row was too long to be put.
    has_refused: bool,
    run: Run,
}

impl Run {
    /// There are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Nobody will read it.
    pub(crate) fn give_up(self, hold: &Hold, cx: &mut Cx<'_>) {
        for piece in self.pieces {
            cx.client.scratch.give_up(hold, piece);
        }
    }
}

impl RunWriter {
    /// An empty run, in pieces of this size.
    pub(crate) fn new(piece_size: u64) -> Self {
        let piece_size = usize::try_from(piece_size).unwrap_or(usize::MAX);
        let (bytes, full, run) = (Vec::new(), VecDeque::new(), Run::default());
        Self { piece_size, bytes, full, cut: 0, has_refused: false, run }
    }

    /// Whether a row may be put. If not, an answer of the disk comes.
    pub(crate) fn is_ready(&mut self, hold: &Hold, cx: &mut Cx<'_>) -> Result<bool, SqlError> {
        if self.has_refused {
            return Err(SqlError::packet_too_large());
        }
        while self.is_full() {
            if !cx.client.scratch.may_write()? {
                return Ok(false);
            }
            if let Some(bytes) = self.next_piece() {
                self.run.pieces.push_back(cx.client.scratch.write(hold, bytes, &mut cx.env)?);
            }
        }
        Ok(true)
    }

    /// The next piece that is to be written.
    fn next_piece(&mut self) -> Option<Vec<u8>> {
        let first = self.full.front()?;
        if first.len() <= self.piece_size {
            return self.full.pop_front();
        }
        let end = first.len().min(self.cut + self.piece_size);
        let piece = first[self.cut..end].to_vec();
        self.cut = end;
        if end == first.len() {
            self.full.pop_front();
            self.cut = 0;
        }
        Some(piece)
    }

    /// A piece is to be written before it is ready again.
    pub(crate) fn is_full(&self) -> bool {
        !self.full.is_empty() || self.has_refused
    }

    /// Puts a row. A writer that is not ready has to keep more than a piece then.
    pub(crate) fn put<'v>(&mut self, values: impl IntoIterator<Item = ValueRef<'v>>) {
        let before = self.bytes.len();
        self.has_refused |= !append(values, &mut self.bytes);
        if before > 0 && self.bytes.len() > self.piece_size {
            let next = self.bytes.split_off(before);
            self.full.push_back(std::mem::replace(&mut self.bytes, next));
        }
    }

    /// Writes what is left; the run if that is done, else an answer of the disk comes.
    pub(crate) fn finish(&mut self, hold: &Hold, cx: &mut Cx<'_>) -> Result<Option<Run>, SqlError> {
        loop {
            if !self.is_ready(hold, cx)? {
                return Ok(None);
            }
            if self.bytes.is_empty() {
                return Ok(Some(std::mem::take(&mut self.run)));
            }
            self.full.push_back(std::mem::take(&mut self.bytes));
        }
    }
}

/// The result of a step of a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advance {
    /// It stands at a row.
    Row,
    /// An answer of the disk comes.
    Wait,
    /// There are no more rows.
    End,
}

/// Reads a run.
#[derive(Debug)]
pub(crate) struct RunReader {
    run: Run,
    bytes: Vec<u8>,
    /// Where the row is that it stands at.
    row: Range<usize>,
    /// The piece that was asked for.
    reading: Option<(Reading, Piece)>,
}

impl RunReader {
    /// It stands before the first row.
    pub(crate) fn new(run: Run) -> Self {
        Self { run, bytes: Vec::new(), row: 0..0, reading: None }
    }

    /// Goes to the next row.
    pub(crate) fn advance(&mut self, hold: &Hold, cx: &mut Cx<'_>) -> Result<Advance, SqlError> {
        loop {
            if let Some((reading, piece)) = self.reading {
                let Some(bytes) = cx.client.scratch.take(hold, reading, piece, &mut cx.env)? else {
                    return Ok(Advance::Wait);
                };
                self.reading = None;
                if self.bytes.is_empty() { self.bytes = bytes } else { self.bytes.extend_from_slice(&bytes) }
            }
            if let Some(row) = find(&self.bytes, self.row.end) {
                self.row = row;
                return Ok(Advance::Row);
            }
            if self.row.end == self.bytes.len() {
                (self.bytes, self.row) = (Vec::new(), 0..0);
            }
            // The next rows, or more of a long one.
            let Some(piece) = self.run.pieces.pop_front() else {
                return if self.bytes.is_empty() {
                    Ok(Advance::End)
                } else {
                    Err(cx.client.scratch.damage())
                };
            };
            self.reading = Some((cx.client.scratch.read(hold, piece, &mut cx.env), piece));
        }
    }

    /// The row that it stands at.
    pub(crate) fn row(&self) -> PackedRow<'_> {
        PackedRow(&self.bytes[self.row.clone()])
    }
}
