//! Copying the rows of a slot to a member that joins.

use crate::program::OperationResult;
use types::{Epoch, SlotId, TransactionId};
use wire_derive::Wire;

/// The newest committed version of a row.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct CopiedRow {
    /// The table.
    pub table: types::TableId,
    /// Its primary key.
    pub key: Box<[u8]>,
    /// Its bytes.
    pub row: Box<[u8]>,
    /// The epoch of its commit.
    pub epoch: Epoch,
}

/// Rows by an index, in the order of its keys: they have entries there.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct CopiedEntries {
    /// The table.
    pub table: types::TableId,
    /// Its index.
    pub index: types::IndexId,
    /// Primary keys.
    pub keys: Vec<Box<[u8]>>,
}

/// The outcome of a transaction whose session does not know it yet.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CopiedOutcome {
    /// Which one.
    pub transaction: TransactionId,
    /// The epoch of its commit, if it committed.
    pub outcome: Option<Epoch>,
    /// The results of a write that carried its commit.
    pub results: Vec<OperationResult>,
}

/// Rows of a slot for a member that joins, and behind a table's rows the entries of its indexes.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CopyPiece {
    /// Which slot.
    pub slot: SlotId,
    /// The rows.
    pub rows: Vec<CopiedRow>,
    /// The outcomes of transactions that ended before it joined.
    pub outcomes: Vec<CopiedOutcome>,
    /// There are no more.
    pub is_last: bool,
    /// For tables with rows here: indexes whose entries come behind all of the table's rows.
    #[wire(since = 5)]
    pub later: Vec<(types::TableId, Vec<types::IndexId>)>,
    /// The entries.
    #[wire(since = 5)]
    pub entries: Vec<CopiedEntries>,
    /// The sender sends entries.
    #[wire(since = 5)]
    pub with_entries: bool,
}
