//! Copying the rows of a slot to a member that joins.

use crate::program::Results;
use types::{Epoch, IndexId, SlotId, TableId, TransactionId};
use wire_derive::Wire;

/// The newest committed version of a row.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct CopiedRow {
    /// The table.
    pub table: TableId,
    /// Its primary key.
    pub key: Box<[u8]>,
    /// Its bytes.
    pub row: Box<[u8]>,
    /// The epoch of its commit.
    pub epoch: Epoch,
}

/// Rows of a table, in the order of their primary keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Wire)]
pub struct CopyBounds {
    /// The table.
    pub table: TableId,
    /// They begin behind this key; None: with the first one.
    pub after: Option<Box<[u8]>>,
    /// They end with this key; None: with the last one.
    pub to: Option<Box<[u8]>>,
}

/// How far a copy of a slot is: behind a row, or behind an entry of an index.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct CopyPosition {
    /// The table.
    pub table: TableId,
    /// None: its primary key.
    pub index: Option<IndexId>,
    /// The key there.
    pub key: Box<[u8]>,
}

/// Rows that a member has, and the number of those that the primary does not send.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct CopiedRange {
    /// Which rows.
    pub bounds: CopyBounds,
    /// How many of them are not sent, because the member should have them.
    pub count: u32,
    /// The sum of the hashes of those.
    pub hash: u64,
    /// All of them are sent, as the member has asked.
    pub is_exact: bool,
}

/// Rows by an index, in the order of its keys: they have entries there.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct CopiedEntries {
    /// The table.
    pub table: TableId,
    /// Its index.
    pub index: IndexId,
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
    pub results: Results,
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
    pub later: Vec<(TableId, Vec<IndexId>)>,
    /// The entries.
    #[wire(since = 5)]
    pub entries: Vec<CopiedEntries>,
    /// The sender sends entries.
    #[wire(since = 5)]
    pub with_entries: bool,
    /// The parts of the slot that the rows are of, for a member that came back with rows.
    pub ranges: Vec<CopiedRange>,
    /// The next piece begins behind this. None: there is none, or this one is of a range that was asked for.
    #[wire(since = 9)]
    pub until: Option<CopyPosition>,
}
