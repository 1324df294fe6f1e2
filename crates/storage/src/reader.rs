//! reader
use memory::Guard;
use std::ops::Bound;
use std::sync::Arc;
use types::{Epoch, IndexId, TransactionId};

/// Who reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visibility {
    /// What is committed.
    Committed,
    /// What is committed, and what this transaction has staged or prepared.
    Transaction(TransactionId),
    /// What was committed in this epoch or before.
    Snapshot(Epoch),
}

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Upwards.
    Forward,
    /// Downwards.
    Backward,
}

/// A range of index keys; a bound may be a prefix of keys (then it compares as the bytes do).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyBounds<'a> {
    /// Where it starts.
    pub lower: Bound<&'a [u8]>,
    /// Where it ends.
    pub upper: Bound<&'a [u8]>,
}

/// What a key shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup<'g> {
    /// No row.
    Absent,
    /// Its bytes.
    Found(&'g [u8]),
    /// Its newest relevant version is prepared by another transaction: ask the primary, or wait; never take an older one.
    Undecided,
}

/// What a scan visits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanItem<'g> {
    /// A row.
    Row {
        /// The index entry's key; the primary key itself in the primary index.
        index_key: &'g [u8],
        /// The primary key.
        key: &'g [u8],
        /// The row's bytes.
        row: &'g [u8],
    },
    /// As [`Lookup::Undecided`].
    Undecided {
        /// The index entry's key.
        index_key: &'g [u8],
        /// The primary key.
        key: &'g [u8],
    },
}

/// The fragment does not keep this index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSuchIndex;

/// Reads a fragment from any thread.
#[derive(Clone, Debug)]
pub struct Reader {
    _core: Arc<u64>,
}

/// A scan in progress; an iterator.
#[derive(Debug)]
pub struct Cursor<'g> {
    _core: &'g u64,
}

impl<'g> Iterator for Cursor<'g> {
    type Item = ScanItem<'g>;
    fn next(&mut self) -> Option<ScanItem<'g>> {
        std::process::abort()
    }
}

#[expect(unused_variables, missing_docs, reason = "signatures for others to compile against; bodies follow")]
impl Reader {
    pub fn get<'g>(&'g self, guard: &'g Guard, key: &[u8], visibility: Visibility) -> Lookup<'g> { std::process::abort() }
    pub fn has_index(&self, index: IndexId) -> bool { std::process::abort() }
    pub fn scan<'g>(&'g self, guard: &'g Guard, index: IndexId, bounds: KeyBounds<'g>, direction: Direction, visibility: Visibility) -> Result<Cursor<'g>, NoSuchIndex> { std::process::abort() }
}
