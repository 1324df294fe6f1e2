//! The reading of a fragment for its checkpoint: its committed rows with their epochs, in slices, piece by piece.
//!
//! The scan goes from the module `disk` to a `query` module, and comes back with each piece. So nothing is kept where
//! it was read, and `disk` says how fast it goes. Between two slices it holds no reference into storage: it goes on
//! behind the last key.
//!
//! Invariant: every row that was committed when the scan began, and was not touched since, is given once, in the order
//! of keys. A row that is touched meanwhile is given in the newest version that was committed when the scan passed it.
//!
//! Deliberately not here: what the log adds (`durability`), and where pieces are written (`node`).

use durability::{Codec, PieceBuilder, PieceRow, SealedPiece};
use memory::Guard;
use protocol::Budget;
use storage::Reader;
use types::{SlotId, TableId};

/// The scan of a fragment.
#[derive(Debug)]
pub struct PieceScan {
    reader: Reader,
    builder: PieceBuilder,
    /// The last row that was read.
    after: Option<Box<[u8]>>,
    rows: u64,
    is_done: bool,
}

/// Why a slice ended.
#[derive(Debug)]
pub enum PieceStep {
    /// The budget is spent.
    Spent,
    /// A piece is full.
    Sealed(SealedPiece),
    /// All rows are read; the last piece, if there are rows that no other one has.
    End(Option<SealedPiece>),
}

impl PieceScan {
    /// The scan of a fragment from its first row on.
    #[must_use]
    pub fn new(table: TableId, slot: SlotId, reader: Reader, codec: Codec) -> Self {
        let builder = PieceBuilder::new(slot, table, codec);
        Self { reader, builder, after: None, rows: 0, is_done: false }
    }

    /// Reads rows until the budget is spent or a piece is full.
    pub fn step(&mut self, budget: &mut Budget) -> PieceStep {
        let Self { reader, builder, after, rows, is_done } = self;
        let guard = Guard::enter();
        let begun = after.take();
        for row in reader.committed_rows(&guard, begun.as_deref()) {
            *rows += 1;
            let sealed = builder.add(&PieceRow { key: row.key, epoch: row.epoch, row: row.row });
            let is_spent = !budget.spend(1);
            if let Some(sealed) = sealed {
                *after = Some(row.key.into());
                return PieceStep::Sealed(sealed);
            }
            if is_spent {
                *after = Some(row.key.into());
                return PieceStep::Spent;
            }
        }
        *is_done = true;
        PieceStep::End(builder.seal())
    }

    /// All rows were read.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// How many rows were read.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many pieces were sealed.
    #[must_use]
    pub fn pieces(&self) -> u32 {
        self.builder.pieces()
    }
}

#[cfg(test)]
mod tests;
