//! Rows in memory: a [`Fragment`] is one table's rows in one slot on one node, with their versions and indexes.
//!
//! One thread owns a fragment and is its only writer; any thread of the node reads it through a [`Reader`], without
//! locks, under a `memory::Guard`.
//!
//! | file | what |
//! | --- | --- |
//! | `fragment` | the owner's operations: stage, prepare, commit, abort |
//! | `fragment/load` | rows and indexes from disk |
//! | `shared` | what owner and readers share; how index entries follow the versions |
//! | `reader` | lookups and scans, what is visible to whom |
//! | `reader/committed` | committed rows with their epochs |
//! | `reader/many` | lookups of several keys, in stages |
//! | `version`, `row` | bytes of a version, of a row head and of an index entry |
//! | `hash_index` | primary key to row: linear hashing, buckets of a cache line |
//! | `ordered_index` | B+tree over key bytes |
//! | `arena` | memory of a fragment, and what waits until no reader can see it |
//! | `slab` | rows that a transaction has versions on, by handle |
//!
//! Invariants are at the head of each file. The ones that hold across them:
//! - a row is in the hash index and in the primary ordered index from before its first version is published until after
//!   its last is gone;
//! - an index has an entry (key, row) from before the first version with that key is published until the last such
//!   version is unlinked. An index that is being filled may lack entries of versions older than itself;
//! - memory that a reader may see is freed only when every thread has announced that it holds nothing.
//!
//! Deliberately not here: locks, who may write when, epochs and views (`transaction`); types and key encodings
//! (`types`).

mod arena;
mod definition;
mod fragment;
mod hash_index;
mod ordered_index;
mod reader;
mod row;
mod shared;
mod slab;
mod version;

pub use arena::Reclaimed;
pub use definition::FragmentDefinition;
pub use fragment::{BackfillProgress, Decided, Fragment, FragmentStatistics, LockTally, Newest, Tally};
pub use reader::{
    BatchEnd, CommittedRow, CommittedRows, Cursor, Direction, KeyBounds, Lookup, MANY_MAX, NoSuchIndex,
    Reader, SCAN_BATCH_FIRST, SCAN_BATCH_MAX, ScanBatch, ScanItem, ScanRow, Visibility, Wanted, get_many,
};
pub use slab::RowHandle;
pub use version::{ROW_BYTES_MAX, VersionState};
