//! A fragment as its owner sees it: the operations of transactions on rows.
//!
//! A row's versions form a chain, newest first. On a primary, the row lock lets one transaction at a time have versions
//! that are not committed. It may have several, one per statement, so that statements and savepoints can be undone. On
//! a backup a transaction may come prepared before the commit of the one before it is known. So versions of several
//! transactions may be stacked, and each is found by its transaction.
//!
//! | operation | effect on the chain |
//! | --- | --- |
//! | stage | a staged version on top |
//! | unstage | the transaction's topmost staged version goes |
//! | prepare | the transaction's versions become one, prepared |
//! | commit | the transaction's versions become one, committed; committed versions below that no snapshot needs go |
//! | abort | the transaction's versions go |
//!
//! Invariants: a refused `stage` changed nothing. Commit, abort, unstage and prepare never need memory that can be
//! refused. A row in the indexes shows something to someone or belongs to an open transaction.
//!
//! Deliberately not here: locks, order of commits, replication (`transaction`).
#![expect(
    unsafe_code,
    reason = "the fragment is the one that may reach the owner's state; each block says why"
)]

use crate::arena::{Arena, Reclaimed};
use crate::hash_index::hash_of;
use crate::ordered_index::{LeafView, Target};
use crate::row::{Keyed, Row};
use crate::shared::{Core, Index, IndexSet, Owner, add_entry, free_unseen, version_of};
use crate::version::{Version, VersionState};
use crate::{FragmentDefinition, Reader, RowHandle};
use memory::{HeapKind, MemoryManager, PAGE_BYTES, RegionFull, Urgency};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{Epoch, IndexId, TableKind, TransactionId};

mod load;

/// The newest version of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Newest<'a> {
    /// Its state; `None` if there is no version.
    pub state: Option<VersionState>,
    /// Its bytes; `None` if it is a delete or there is none.
    pub row: Option<&'a [u8]>,
}

/// The version that a transaction is about to publish on a row.
#[derive(Clone, Copy)]
pub struct Decided<'a> {
    row: Row<'a>,
    version: Version<'a>,
}

impl<'a> Decided<'a> {
    /// The row's primary key.
    #[must_use]
    pub fn key(&self) -> &'a [u8] {
        self.row.key()
    }

    /// The bytes; `None` for a delete.
    #[must_use]
    pub fn row(&self) -> Option<&'a [u8]> {
        self.version.row()
    }

    /// The epoch of the newest committed version, if this one is the row's newest.
    #[must_use]
    pub fn overwritten(&self) -> Option<Epoch> {
        let newest = self.row.newest()?;
        if newest.state() != self.version.state() {
            return None;
        }
        self.row.versions().find_map(|version| match version.state() {
            VersionState::Committed(epoch) => Some(epoch),
            VersionState::Staged(_) | VersionState::Prepared(_) => None,
        })
    }

    /// The other transactions whose outcome is open and that have a version below this one.
    pub fn open_below(&self) -> impl Iterator<Item = TransactionId> + use<'a> {
        let own = self.version.state().transaction();
        let below = std::iter::successors(self.version.previous(), |version| version.previous());
        below.filter_map(|version| version.state().transaction()).filter(move |other| Some(*other) != own)
    }
}

/// How far a backfill came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BackfillProgress {
    /// The index is complete.
    End,
    /// Go on behind this primary key.
    More(Box<[u8]>),
}

/// The contents of a fragment, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FragmentStatistics {
    /// Rows, those that are not committed or deleted but needed included.
    pub rows: u64,
    /// Versions of all rows.
    pub versions: u64,
    /// Bytes of row heads and versions, as allocated.
    pub data_bytes: u64,
    /// Bytes of hash index, ordered indexes and their entries, as allocated.
    pub index_bytes: u64,
    /// Bytes that wait until no reader can see them.
    pub retired_bytes: u64,
    /// All of it in pages of 32 KiB, rounded up.
    pub pages: u64,
}

/// Requests for row locks in one mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LockTally {
    /// Requests, each counted once, however long it waited.
    pub requests: u64,
    /// Waits that ended with the lock, and how long they lasted together.
    pub granted: u64,
    /// In milliseconds.
    pub granted_ms: u64,
    /// Waits that ended without it, and how long they lasted together.
    pub refused: u64,
    /// In milliseconds.
    pub refused_ms: u64,
}

/// The counts of a fragment's owner since the fragment was made, for people. Storage counts only `commits`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Rows inserted.
    pub inserts: u64,
    /// Rows changed.
    pub updates: u64,
    /// Rows written whatever was there.
    pub writes: u64,
    /// Rows deleted.
    pub deletes: u64,
    /// Rows published.
    pub commits: u64,
    /// Exclusive locks.
    pub exclusive: LockTally,
    /// Shared locks.
    pub shared: LockTally,
}

/// The rows of one table in one slot, for their owner. May be sent to another thread, not shared; [`Fragment::reader`]
/// is for that.
pub struct Fragment {
    core: Arc<Core>,
    /// Plain numbers of the one owner: no reader sees them.
    pub tally: Tally,
    _not_shared: PhantomData<Cell<()>>,
}

impl std::fmt::Debug for Fragment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Fragment").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}

/// The open versions that a new one may be put on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Below {
    /// Its transaction's.
    Own,
    /// Anybody's.
    Any,
}

impl Fragment {
    /// An empty fragment; takes no DataMemory. It shares pages with the other fragments that the calling thread makes.
    #[must_use]
    pub fn new(definition: Arc<FragmentDefinition>, memory: Arc<MemoryManager>) -> Self {
        Self::of_kind(HeapKind::Stored, definition, memory)
    }

    /// The same for a table of one session, whose rows take QueryMemory.
    #[must_use]
    pub fn temporary(definition: Arc<FragmentDefinition>, memory: Arc<MemoryManager>) -> Self {
        Self::of_kind(HeapKind::Temporary, definition, memory)
    }

    fn of_kind(kind: HeapKind, definition: Arc<FragmentDefinition>, memory: Arc<MemoryManager>) -> Self {
        let core = Arc::new(Core::new(definition, Arena::new(memory, kind)));
        Self { core, tally: Tally::default(), _not_shared: PhantomData }
    }

    /// A reader of it.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.core))
    }

    fn owner(&self) -> &Owner {
        // SAFETY: this is the fragment, which is not Sync; `&self` excludes `parts`.
        unsafe { self.core.owner() }
    }

    fn parts(&mut self) -> (&Core, &mut Owner) {
        // SAFETY: this is the one fragment of this core (it is not Clone), and `&mut self` is exclusive.
        let owner = unsafe { self.core.owner_mut() };
        (&self.core, owner)
    }

    /// The table as this fragment knows it.
    #[must_use]
    pub fn definition(&self) -> &Arc<FragmentDefinition> {
        &self.owner().definition
    }

    /// Takes a new definition of the same table. New indexes start empty and are kept from now on;
    /// [`Fragment::backfill`] adds the rows that are there already. Indexes that are gone are dropped.
    pub fn set_definition(&mut self, definition: Arc<FragmentDefinition>) {
        let (core, owner) = self.parts();
        stdx::require!(definition.table().id == owner.definition.table().id);
        // SAFETY: the owner does not reclaim here.
        let old = unsafe { core.index_set() };
        let is_empty = core.hash.len() == 0;
        let indexes = definition
            .secondary()
            .iter()
            .map(|shape| match old.indexes.iter().find(|index| index.shape.id == shape.id) {
                Some(index) => Arc::clone(index),
                None => Arc::new(Index::new(shape, is_empty)),
            })
            .collect();
        core.replace_indexes(owner, IndexSet { indexes });
        owner.definition = definition;
    }

    /// Adds the entries of up to `rows` rows behind `after_key` to an index. Writes may come between the calls.
    pub fn backfill(
        &mut self,
        index: IndexId,
        after_key: Option<&[u8]>,
        rows: u32,
    ) -> Result<BackfillProgress, RegionFull> {
        let (core, owner) = self.parts();
        // SAFETY: the owner does not reclaim here.
        let Some(index) = (unsafe { core.index_set() }).find(index) else { return Ok(BackfillProgress::End) };
        let progress = walk(core, after_key, rows, |row| {
            let mut versions = row.versions().filter_map(Version::row);
            versions.try_for_each(|bytes| add_entry(owner, index, row, bytes, Urgency::Normal))?;
            Ok(1)
        })?;
        if progress == BackfillProgress::End {
            index.is_complete.store(true, Ordering::Relaxed);
        }
        Ok(progress)
    }

    /// The newest version of a key, whatever its state.
    #[must_use]
    pub fn newest(&self, key: &[u8]) -> Newest<'_> {
        // SAFETY: this is the owner; reclaiming needs `&mut self`.
        let row = unsafe { self.core.hash.find(hash_of(key), key) };
        match row.and_then(Row::newest) {
            Some(version) => Newest { state: Some(version.state()), row: version.row() },
            None => Newest { state: None, row: None },
        }
    }

    /// The newest committed version of a key: its epoch, and its bytes if it is no delete.
    #[must_use]
    pub fn committed(&self, key: &[u8]) -> Option<(Epoch, Option<&[u8]>)> {
        // SAFETY: this is the owner; reclaiming needs `&mut self`.
        let row = unsafe { self.core.hash.find(hash_of(key), key) }?;
        row.versions().find_map(|version| match version.state() {
            VersionState::Committed(epoch) => Some((epoch, version.row())),
            VersionState::Staged(_) | VersionState::Prepared(_) => None,
        })
    }

    /// Puts a version of `transaction` on top of a key's others; `None` deletes. The caller holds the row's lock: no
    /// other transaction has an open version there. The handle is good until the transaction has no version on the row
    /// any more.
    pub fn stage(
        &mut self,
        key: &[u8],
        transaction: TransactionId,
        row: Option<&[u8]>,
    ) -> Result<RowHandle, RegionFull> {
        let urgency = self.urgency_of(row, Urgency::Normal);
        self.put(key, transaction, Below::Own, row, (urgency, &[]))
    }

    /// Takes a row that is copied to this member while it joins. Its entries in the indexes `later` come by
    /// [`Fragment::add_copied_entry`], in the order of their keys, so that those indexes are filled densely. May use
    /// as much of DataMemory as a restart.
    pub fn stage_copied(
        &mut self,
        key: &[u8],
        transaction: TransactionId,
        row: &[u8],
        later: &[IndexId],
    ) -> Result<RowHandle, RegionFull> {
        self.put(key, transaction, Below::Own, Some(row), (Urgency::Restart, later))
    }

    /// Makes the entries that a row still lacks in an index, for all its versions. Nothing if there is no such row or
    /// index.
    pub fn add_copied_entry(&mut self, index: IndexId, key: &[u8]) -> Result<(), RegionFull> {
        let (core, owner) = self.parts();
        // SAFETY: the owner does not reclaim here.
        let (row, set) = unsafe { (core.hash.find(hash_of(key), key), core.index_set()) };
        let index = set.find(index);
        let (Some(row), Some(index)) = (row, index) else { return Ok(()) };
        let mut versions = row.versions().filter_map(Version::row);
        let added = versions.try_for_each(|bytes| add_entry(owner, index, row, bytes, Urgency::Restart));
        owner.arena.tidy();
        added
    }

    /// Deletes and the catalogue's rows may use as much of DataMemory as a restart, so that rows and tables can be
    /// removed when memory is full. Other rows have this urgency.
    fn urgency_of(&self, row: Option<&[u8]>, others: Urgency) -> Urgency {
        let is_system = self.owner().definition.table().kind == TableKind::System;
        if row.is_none() || is_system { Urgency::Restart } else { others }
    }

    /// Takes a row of a prepare at a backup: stages and prepares it at once. May use the last 5 % of DataMemory, and as
    /// much as a restart for deletes and the catalogue's rows.
    pub fn apply_prepared(
        &mut self,
        key: &[u8],
        transaction: TransactionId,
        row: Option<&[u8]>,
    ) -> Result<RowHandle, RegionFull> {
        let urgency = self.urgency_of(row, Urgency::Replica);
        let handle = self.put(key, transaction, Below::Any, row, (urgency, &[]))?;
        self.prepare(handle, transaction);
        Ok(handle)
    }

    fn put(
        &mut self,
        key: &[u8],
        transaction: TransactionId,
        below: Below,
        bytes: Option<&[u8]>,
        (urgency, later): (Urgency, &[IndexId]),
    ) -> Result<RowHandle, RegionFull> {
        let (core, owner) = self.parts();
        // SAFETY: the owner does not reclaim here.
        let found = unsafe { core.hash.find(hash_of(key), key) };
        let previous = found.and_then(Row::newest);
        if below == Below::Own
            && let Some(VersionState::Staged(other) | VersionState::Prepared(other)) =
                previous.map(Version::state)
        {
            stdx::require!(other == transaction, "{transaction} stages on a row that {other} has locked");
        }
        let state = VersionState::Staged(transaction);
        let version = Version::allocate(&mut owner.arena, state, bytes, previous, urgency)?;
        let row = match found {
            Some(row) => Ok(row),
            None => core.add_row(owner, key, urgency),
        };
        let row = row.and_then(|row| match bytes {
            None => Ok(row),
            Some(bytes) => {
                let added = core.add_entries(owner, row, bytes, (urgency, later));
                added.map(|()| row).inspect_err(|_| {
                    if found.is_none() {
                        core.remove_row(owner, row);
                    }
                })
            }
        });
        match row {
            Ok(row) => {
                row.set_newest(Some(version));
                owner.versions += 1;
                Ok(owner.slab.insert(row.keyed().as_ptr()))
            }
            Err(full) => {
                free_unseen(owner, version);
                Err(full)
            }
        }
    }

    /// Takes back the topmost staged version of `transaction` on a row: undoes one `stage`.
    pub fn unstage(&mut self, handle: RowHandle, transaction: TransactionId) {
        let (core, owner) = self.parts();
        let Some(row) = row_of(core, owner, handle) else { return };
        let Some((above, version)) = version_of(row, transaction) else { return };
        stdx::require!(
            matches!(version.state(), VersionState::Staged(_)),
            "a prepared version is not unstaged"
        );
        core.unlink(owner, row, above, version);
        core.drop_if_empty(owner, row);
        owner.arena.tidy();
    }

    /// Makes the versions of `transaction` on a row one, and prepared.
    pub fn prepare(&mut self, handle: RowHandle, transaction: TransactionId) {
        let (core, owner) = self.parts();
        let Some(row) = row_of(core, owner, handle) else { return };
        let Some((_, version)) = version_of(row, transaction) else { return };
        collapse(core, owner, row, version, transaction);
        version.set_state(VersionState::Prepared(transaction));
    }

    /// Publishes the row of `transaction`.
    pub fn commit(&mut self, handle: RowHandle, transaction: TransactionId, epoch: Epoch) {
        self.tally.commits += 1;
        let (core, owner) = self.parts();
        let Some(row) = row_of(core, owner, handle) else { return };
        let Some((_, version)) = version_of(row, transaction) else { return };
        collapse(core, owner, row, version, transaction);
        version.set_state(VersionState::Committed(epoch));
        core.trim(owner, row);
        core.drop_if_empty(owner, row);
        owner.arena.tidy();
    }

    /// Removes all versions of `transaction` on a row.
    pub fn abort(&mut self, handle: RowHandle, transaction: TransactionId) {
        let (core, owner) = self.parts();
        let Some(row) = row_of(core, owner, handle) else { return };
        core.unlink_where(owner, row, None, |version| version.state().transaction() == Some(transaction));
        core.drop_if_empty(owner, row);
        owner.arena.tidy();
    }

    /// No snapshot is or will be below `epoch`: older versions that only those would need may go. `Epoch(u64::MAX)`,
    /// the initial value, means that there are no snapshots.
    pub fn set_lowest_snapshot(&mut self, epoch: Epoch) {
        self.parts().1.lowest_snapshot = epoch;
    }

    /// The version that `transaction` has on a row: its newest version's bytes (`None` in it for a delete), or `None`
    /// if it has no version there.
    #[must_use]
    pub fn staged_row(&self, handle: RowHandle, transaction: TransactionId) -> Option<Option<&[u8]>> {
        let (_, version) = version_of(row_of(&self.core, self.owner(), handle)?, transaction)?;
        Some(version.row())
    }

    /// The version that `transaction` is about to publish on a row: its newest there, if it has one.
    #[must_use]
    #[inline]
    pub fn decided(&self, handle: RowHandle, transaction: TransactionId) -> Option<Decided<'_>> {
        let row = row_of(&self.core, self.owner(), handle)?;
        let (_, version) = version_of(row, transaction)?;
        Some(Decided { row, version })
    }

    /// The versions that `transaction` staged on a row, the newest first (None: it deleted it).
    pub fn staged_versions(
        &self,
        handle: RowHandle,
        transaction: TransactionId,
    ) -> impl Iterator<Item = Option<&[u8]>> {
        let versions = row_of(&self.core, self.owner(), handle).into_iter().flat_map(Row::versions);
        let own = versions.filter(move |version| version.state().transaction() == Some(transaction));
        own.map(Version::row)
    }

    /// The primary key of a row on which some transaction has a version.
    #[must_use]
    pub fn key_of(&self, handle: RowHandle) -> &[u8] {
        let row = row_of(&self.core, self.owner(), handle);
        stdx::require!(row.is_some(), "the key of a row that nobody has a version on");
        row.map(Row::key).unwrap_or_default()
    }

    /// Frees up to `limit` things that no reader can see any more; true if something is left for later. Commits and
    /// aborts do so by themselves when much has come together. The owner calls this when it has nothing else to do, and
    /// after DDL and changes of the lowest snapshot, until it is false.
    pub fn reclaim(&mut self, limit: u32) -> bool {
        self.reclaim_slice(limit).is_left
    }

    /// The same, and says how much it freed.
    pub fn reclaim_slice(&mut self, limit: u32) -> Reclaimed {
        let (core, owner) = self.parts();
        let has_history = core.trim_history(owner, limit);
        let reclaimed = owner.arena.reclaim(limit);
        Reclaimed { is_left: reclaimed.is_left || has_history, ..reclaimed }
    }

    /// Its table is dropped: tells the memory manager that all of it will be freed. [`Fragment::clear`] is next.
    pub fn condemn(&mut self) {
        self.parts().1.arena.condemn();
    }

    /// Removes up to `rows` rows with all their versions, whatever their state; true if rows are left. For a table that
    /// is dropped and not used any more. A large fragment is cleared in steps and dropped when it is empty, because
    /// dropping frees what is left at once.
    pub fn clear(&mut self, rows: u32) -> bool {
        let (core, owner) = self.parts();
        for _ in 0..rows {
            let Some(leaf) = first_rows(core) else { break };
            // SAFETY: the primary index holds rows.
            let row = unsafe { Row::of(leaf.get(0)) };
            core.unlink_where(owner, row, None, |_| true);
            core.drop_if_empty(owner, row);
            owner.arena.tidy();
        }
        core.hash.len() > 0
    }

    /// The contents in numbers.
    #[must_use]
    pub fn statistics(&self) -> FragmentStatistics {
        let owner = self.owner();
        let (data_bytes, index_bytes) = (owner.arena.data_bytes(), owner.arena.index_bytes());
        let retired_bytes = owner.arena.retired_bytes();
        FragmentStatistics {
            rows: self.core.hash.len() as u64,
            versions: owner.versions,
            data_bytes,
            index_bytes,
            retired_bytes,
            pages: (data_bytes + index_bytes + retired_bytes).div_ceil(PAGE_BYTES as u64),
        }
    }
}

/// Up to `rows` rows behind a primary key, in order, for the owner, who does not reclaim meanwhile. `each` says for how
/// many rows a row counts.
fn walk<'a>(
    core: &'a Core,
    after_key: Option<&[u8]>,
    rows: u32,
    mut each: impl FnMut(Row<'a>) -> Result<u32, RegionFull>,
) -> Result<BackfillProgress, RegionFull> {
    let target = after_key.map_or(Target::First, Target::At);
    // SAFETY: the owner does not reclaim here.
    let mut leaf = unsafe { core.primary.leaf(target) };
    let mut start = match (&leaf, after_key) {
        (Some(leaf), Some(key)) => {
            let (position, is_there) = leaf.search(key);
            position + usize::from(is_there)
        }
        _ => 0,
    };
    let mut left = rows.max(1);
    while let Some(view) = leaf {
        for position in start..view.len() {
            // SAFETY: the primary index holds rows.
            let row = unsafe { Row::of(view.get(position)) };
            left = left.saturating_sub(each(row)?);
            if left == 0 {
                return Ok(BackfillProgress::More(row.key().into()));
            }
        }
        start = 0;
        // SAFETY: the owner does not reclaim here.
        leaf = view.high.and_then(|high| unsafe { core.primary.leaf(Target::At(high)) });
    }
    Ok(BackfillProgress::End)
}

/// The first leaf of the primary index that has rows, for the owner, who does not reclaim while it looks at it. A leaf
/// stays where it has run empty if both its neighbours are inner nodes, or memory for merging it was refused.
fn first_rows(core: &Core) -> Option<LeafView<'_>> {
    // SAFETY: the owner does not reclaim here.
    let mut leaf = unsafe { core.primary.leaf(Target::First) }?;
    while leaf.len() == 0 {
        // SAFETY: as above.
        leaf = unsafe { core.primary.leaf(Target::At(leaf.high?)) }?;
    }
    Some(leaf)
}

/// The row of a handle. It is alive until the owner reclaims, for which the fragment is borrowed exclusively, or ends:
/// that is while the core is borrowed.
fn row_of<'a>(_core: &'a Core, owner: &Owner, handle: RowHandle) -> Option<Row<'a>> {
    let pointer = owner.slab.get(handle)?;
    // SAFETY: the slab holds rows that have a version which is not committed; such rows are linked.
    Some(unsafe { Row::of(Keyed::from_ptr(pointer)) })
}

/// Leaves only the newest version of a transaction on a row.
fn collapse<'a>(
    core: &'a Core,
    owner: &mut Owner,
    row: Row<'a>,
    newest: Version<'a>,
    transaction: TransactionId,
) {
    core.unlink_where(owner, row, Some(newest), |version| version.state().transaction() == Some(transaction));
}

#[cfg(test)]
pub(crate) mod tests;
