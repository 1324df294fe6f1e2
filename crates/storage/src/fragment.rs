//! fragment
use crate::{FragmentDefinition, Reader, RowHandle, VersionState};
use memory::{MemoryManager, RegionFull};
use std::sync::Arc;
use types::{Epoch, IndexId, TransactionId};

/// The longest row.
pub const ROW_BYTES_MAX: usize = (1 << 30) - 1;

/// The newest version of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Newest<'a> {
    /// Its state; `None` if there is no version.
    pub state: Option<VersionState>,
    /// Its bytes; `None` if it is a delete or there is none.
    pub row: Option<&'a [u8]>,
}

/// How far a backfill came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BackfillProgress {
    /// The index is complete.
    End,
    /// Go on behind this primary key.
    More(Box<[u8]>),
}

/// What a fragment holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FragmentStatistics {
    /// Row heads, rows whose newest version is a delete included.
    pub rows: u64,
    /// Versions.
    pub versions: u64,
    /// Bytes of row heads and versions, as allocated.
    pub data_bytes: u64,
    /// Bytes of hash index, ordered indexes and their entries, as allocated.
    pub index_bytes: u64,
    /// Bytes that wait until no reader can see them.
    pub retired_bytes: u64,
    /// All of it in pages, rounded up.
    pub pages: u64,
}

/// The rows of one table in one partition.
#[derive(Debug)]
pub struct Fragment {
    _core: Reader,
}

#[expect(unused_variables, clippy::needless_pass_by_value, clippy::needless_pass_by_ref_mut, missing_docs, reason = "signatures for others to compile against; bodies follow")]
impl Fragment {
    pub fn new(definition: Arc<FragmentDefinition>, memory: Arc<MemoryManager>) -> Self { std::process::abort() }
    pub fn reader(&self) -> Reader { std::process::abort() }
    pub fn definition(&self) -> &Arc<FragmentDefinition> { std::process::abort() }
    pub fn set_definition(&mut self, definition: Arc<FragmentDefinition>) { std::process::abort() }
    pub fn backfill(&mut self, index: IndexId, after_key: Option<&[u8]>, rows: u32) -> Result<BackfillProgress, RegionFull> { std::process::abort() }
    pub fn newest(&self, key: &[u8]) -> Newest<'_> { std::process::abort() }
    pub fn stage(&mut self, key: &[u8], transaction: TransactionId, row: Option<&[u8]>) -> Result<RowHandle, RegionFull> { std::process::abort() }
    pub fn unstage(&mut self, handle: RowHandle, transaction: TransactionId) { std::process::abort() }
    pub fn prepare(&mut self, handle: RowHandle, transaction: TransactionId) { std::process::abort() }
    pub fn apply_prepared(&mut self, key: &[u8], transaction: TransactionId, row: Option<&[u8]>) -> Result<RowHandle, RegionFull> { std::process::abort() }
    pub fn commit(&mut self, handle: RowHandle, transaction: TransactionId, epoch: Epoch) { std::process::abort() }
    pub fn abort(&mut self, handle: RowHandle, transaction: TransactionId) { std::process::abort() }
    pub fn set_lowest_snapshot(&mut self, epoch: Epoch) { std::process::abort() }
    pub fn staged_row(&self, handle: RowHandle, transaction: TransactionId) -> Option<Option<&[u8]>> { std::process::abort() }
    pub fn key_of(&self, handle: RowHandle) -> &[u8] { std::process::abort() }
    pub fn reclaim(&mut self, limit: u32) -> bool { std::process::abort() }
    pub fn statistics(&self) -> FragmentStatistics { std::process::abort() }
}
