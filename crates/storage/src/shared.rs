//! The state that a fragment's owner and its readers share, and the steps that keep rows, versions and index entries
//! together.
//!
//! Index entries follow versions: an entry (key, row) is made before the first version with that key is published and
//! removed when the last such version was unlinked. So a reader that comes through an index finds every visible row,
//! and sorts out entries whose version it does not see.
//!
//! Invariants: only the one `Fragment` reaches `owner`. Everything that readers reach is changed by publishing with one
//! store and retired after it was unlinked. A step that is refused for lack of memory leaves nothing behind.
#![expect(unsafe_code, reason = "owner's state beside what readers see; each block states why it is sound")]

use crate::arena::{Arena, Purpose};
use crate::definition::{FragmentDefinition, IndexShape};
use crate::hash_index::HashIndex;
use crate::ordered_index::{self, Tree};
use crate::row::{Entry, Keyed, Row};
use crate::slab::Slab;
use crate::version::{Version, VersionState};
use memory::{RegionFull, Urgency};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use types::{Epoch, IndexId, TransactionId};

/// A secondary ordered index.
pub(crate) struct Index {
    pub(crate) shape: IndexShape,
    pub(crate) tree: Tree,
    /// False while it is being filled: then it may lack entries of older versions. The owner's.
    pub(crate) is_complete: AtomicBool,
}

impl Index {
    pub(crate) fn new(shape: &IndexShape, is_complete: bool) -> Self {
        Self { shape: shape.clone(), tree: Tree::new(), is_complete: AtomicBool::new(is_complete) }
    }

    /// Appends the index's part of an entry's key.
    #[inline]
    pub(crate) fn encode(&self, row: &[u8], key: &mut Vec<u8>) {
        self.shape.encoder.encode_row(&self.shape.layout, row, key);
    }

    /// True if the rows agree in all columns of the index, so that they have the same key; cheaper than two keys, above
    /// all of strings.
    fn is_same(&self, left: &[u8], right: &[u8]) -> bool {
        let layout = &self.shape.layout;
        self.shape
            .parts
            .iter()
            .all(|part| layout.column(left, part.column) == layout.column(right, part.column))
    }
}

/// The secondary indexes of a fragment, replaced as a whole by DDL.
#[derive(Default)]
pub(crate) struct IndexSet {
    pub(crate) indexes: Vec<Arc<Index>>,
}

impl IndexSet {
    /// The index with this id.
    pub(crate) fn find(&self, id: IndexId) -> Option<&Index> {
        self.indexes.iter().map(AsRef::as_ref).find(|index: &&Index| index.shape.id == id)
    }
}

/// The part that only the owner uses.
pub(crate) struct Owner {
    pub(crate) definition: Arc<FragmentDefinition>,
    pub(crate) arena: Arena,
    pub(crate) slab: Slab,
    /// Versions in chains.
    pub(crate) versions: u64,
    /// No snapshot is or will be older.
    pub(crate) lowest_snapshot: Epoch,
    /// Rows with versions that only snapshots below the epoch need, by key (the row may be gone by then).
    pub(crate) history: VecDeque<(Epoch, Box<[u8]>)>,
    /// Key bytes in the making.
    pub(crate) scratch: [Vec<u8>; 2],
}

/// The shared part of a fragment.
pub(crate) struct Core {
    pub(crate) hash: HashIndex,
    pub(crate) primary: Tree,
    pub(crate) primary_id: IndexId,
    indexes: AtomicPtr<IndexSet>,
    owner: UnsafeCell<Owner>,
}

// SAFETY: everything but `owner` consists of atomics and of memory that is published and retired as the modules state.
// `owner` is reached only through `Core::owner` and `Core::owner_mut`, whose callers promise to be the one `Fragment`,
// and on drop; nothing in it is bound to a thread.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl Core {
    pub(crate) fn new(definition: Arc<FragmentDefinition>, arena: Arena) -> Self {
        let indexes = definition.secondary().iter().map(|shape| Arc::new(Index::new(shape, true))).collect();
        Self {
            hash: HashIndex::new(),
            primary: Tree::new(),
            primary_id: definition.primary_id(),
            indexes: AtomicPtr::new(Box::into_raw(Box::new(IndexSet { indexes }))),
            owner: UnsafeCell::new(Owner {
                definition,
                arena,
                slab: Slab::default(),
                versions: 0,
                lowest_snapshot: Epoch(u64::MAX),
                history: VecDeque::new(),
                scratch: [Vec::new(), Vec::new()],
            }),
        }
    }

    /// # Safety
    /// The caller is the fragment, on its thread, and no `owner_mut` is in use.
    pub(crate) unsafe fn owner(&self) -> &Owner {
        // SAFETY: the caller's promise.
        unsafe { &*self.owner.get() }
    }

    /// # Safety
    /// The caller is the fragment and has exclusive access to it for the result's lifetime.
    #[expect(clippy::mut_from_ref, reason = "exclusive by the caller's promise")]
    pub(crate) unsafe fn owner_mut(&self) -> &mut Owner {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.owner.get() }
    }

    /// The secondary indexes.
    ///
    /// # Safety
    /// A guard is held for the result's lifetime, or the caller is the owner and does not reclaim during it.
    #[inline]
    pub(crate) unsafe fn index_set(&self) -> &IndexSet {
        // SAFETY: there always is a set; it is retired after it was replaced.
        unsafe { &*self.indexes.load(Ordering::Acquire) }
    }

    /// Publishes other indexes and retires what they replace.
    pub(crate) fn replace_indexes(&self, owner: &mut Owner, set: IndexSet) {
        let old = self.indexes.swap(Box::into_raw(Box::new(set)), Ordering::AcqRel);
        // SAFETY: sets come from `Box::into_raw`; it is unlinked, and the box is dropped when no reader can see it.
        let old = unsafe { Box::from_raw(old) };
        // SAFETY: the owner does not reclaim here.
        let new = unsafe { self.index_set() };
        for index in &old.indexes {
            if !new.indexes.iter().any(|kept| Arc::ptr_eq(kept, index)) {
                // SAFETY: the tree is reached through the old set only.
                unsafe { owner.arena.retire_tree(index.tree.root()) };
            }
        }
        owner.arena.retire_object(old);
    }

    /// Adds a row without versions.
    pub(crate) fn add_row<'a>(
        &'a self,
        owner: &mut Owner,
        key: &[u8],
        urgency: Urgency,
    ) -> Result<Row<'a>, RegionFull> {
        let arena = &mut owner.arena;
        let row = Row::allocate(arena, key, urgency)?;
        let free = |arena: &mut Arena| {
            let (piece, bytes) = row.piece();
            // SAFETY: no index has it: nobody has seen it.
            unsafe { arena.free(Purpose::Data, piece, bytes) };
        };
        if let Err(full) = self.primary.insert(arena, key, urgency, |_| Ok(row.keyed()), |_, _| {}) {
            free(arena);
            return Err(full);
        }
        if let Err(full) = self.hash.insert(arena, row, urgency) {
            self.primary.remove(arena, key);
            // A reader may have come across it, without versions.
            let (piece, bytes) = row.piece();
            // SAFETY: it is unlinked.
            unsafe { arena.retire(Purpose::Data, piece, bytes) };
            return Err(full);
        }
        Ok(row)
    }

    /// Takes a row that shows nothing out of the primary indexes. Its newest version, a delete or none, stays linked to
    /// it for readers that hold it.
    pub(crate) fn remove_row(&self, owner: &mut Owner, row: Row<'_>) {
        self.hash.remove(&mut owner.arena, row);
        self.primary.remove(&mut owner.arena, row.key());
        owner.slab.remove(row.keyed().as_ptr());
        let (piece, bytes) = row.piece();
        // SAFETY: it is in no index any more: entries went with their versions.
        unsafe { owner.arena.retire(Purpose::Data, piece, bytes) };
    }

    /// Makes the index entries of a version that will be published on top of `row`, but for those of the indexes in
    /// `later`.
    pub(crate) fn add_entries<'a>(
        &'a self,
        owner: &mut Owner,
        row: Row<'a>,
        bytes: &[u8],
        (urgency, later): (Urgency, &[IndexId]),
    ) -> Result<(), RegionFull> {
        // SAFETY: the owner does not reclaim here.
        let set = unsafe { self.index_set() };
        if set.indexes.is_empty() {
            return Ok(());
        }
        let newest = row.newest().and_then(Version::row);
        for (count, index) in set.indexes.iter().enumerate() {
            let has_entry = index.is_complete.load(Ordering::Relaxed)
                && newest.is_some_and(|newest| index.is_same(newest, bytes));
            if has_entry || later.contains(&index.shape.id) {
                continue;
            }
            if let Err(full) = add_entry(owner, index, row, bytes, urgency) {
                self.remove_entries(owner, row, bytes, count);
                return Err(full);
            }
        }
        Ok(())
    }

    /// Removes the entries of a version that was unlinked from `row` or never linked, in the first `count` indexes,
    /// unless another version of the row has the same key.
    pub(crate) fn remove_entries(&self, owner: &mut Owner, row: Row<'_>, bytes: &[u8], count: usize) {
        // SAFETY: the owner does not reclaim here.
        let set = unsafe { self.index_set() };
        for index in set.indexes.iter().take(count) {
            let mut others = row.versions().filter_map(Version::row);
            if others.any(|other| index.is_same(other, bytes)) {
                continue;
            }
            let [mut key, mut other_key] = std::mem::take(&mut owner.scratch);
            key.clear();
            index.encode(bytes, &mut key);
            // Different columns may still be one key: prefixes, strings that are equal under the collation.
            let is_kept = row.versions().filter_map(Version::row).any(|other| {
                other_key.clear();
                index.encode(other, &mut other_key);
                other_key == key
            });
            if !is_kept {
                key.extend_from_slice(row.key());
                if let Some(entry) = index.tree.remove(&mut owner.arena, &key) {
                    // SAFETY: secondary indexes hold entries; it is unlinked.
                    unsafe {
                        let (piece, bytes) = Entry::of(entry).piece();
                        owner.arena.retire(Purpose::Index, piece, bytes);
                    }
                }
            }
            owner.scratch = [key, other_key];
        }
    }

    /// Unlinks and retires the versions below `above` (all if `None`) for which `is_gone` says so.
    pub(crate) fn unlink_where<'a>(
        &'a self,
        owner: &mut Owner,
        row: Row<'a>,
        above: Option<Version<'a>>,
        is_gone: impl Fn(Version<'a>) -> bool,
    ) {
        let mut above = above;
        loop {
            let next = above.map_or_else(|| row.newest(), Version::previous);
            let Some(version) = next else { return };
            if is_gone(version) {
                self.unlink(owner, row, above, version);
            } else {
                above = Some(version);
            }
        }
    }

    /// Unlinks and retires a version that is directly below `above`, or the newest if that is `None`.
    pub(crate) fn unlink<'a>(
        &'a self,
        owner: &mut Owner,
        row: Row<'a>,
        above: Option<Version<'a>>,
        version: Version<'a>,
    ) {
        let previous = version.previous();
        match above {
            Some(above) => above.set_previous(previous),
            None => row.set_newest(previous),
        }
        retire_version(owner, version);
        if let Some(bytes) = version.row() {
            self.remove_entries(owner, row, bytes, usize::MAX);
        }
    }

    /// Drops committed versions that no snapshot needs, and notes the row if some stay.
    pub(crate) fn trim<'a>(&'a self, owner: &mut Owner, row: Row<'a>) {
        if row.newest().is_none_or(|newest| newest.previous().is_none()) {
            return;
        }
        let epoch_of = |version: Version<'_>| match version.state() {
            VersionState::Committed(epoch) => Some(epoch),
            VersionState::Staged(_) | VersionState::Prepared(_) => None,
        };
        let lowest = owner.lowest_snapshot;
        let floor = row.versions().find(|version| epoch_of(*version).is_some_and(|epoch| epoch <= lowest));
        if let Some(floor) = floor {
            self.unlink_where(owner, row, Some(floor), |version| epoch_of(version).is_some());
        }
        let mut committed = row.versions().filter_map(epoch_of);
        if let (Some(newest), Some(_)) = (committed.next(), committed.next()) {
            owner.history.push_back((newest, row.key().into()));
        }
    }

    /// Removes a row that shows nothing to anyone; forgets the handle of one without open transactions.
    pub(crate) fn drop_if_empty<'a>(&'a self, owner: &mut Owner, row: Row<'a>) {
        let newest = row.newest();
        let is_committed = |version: Version<'_>| matches!(version.state(), VersionState::Committed(_));
        let is_gone = newest
            .is_none_or(|newest| newest.is_deleted() && is_committed(newest) && newest.previous().is_none());
        if is_gone {
            if let Some(delete) = newest {
                retire_version(owner, delete);
            }
            self.remove_row(owner, row);
        } else if row.versions().all(is_committed) {
            owner.slab.remove(row.keyed().as_ptr());
        }
    }

    /// Trims rows whose old versions no snapshot needs any more; true if some such rows are left.
    pub(crate) fn trim_history(&self, owner: &mut Owner, limit: u32) -> bool {
        for _ in 0..limit {
            let lowest = owner.lowest_snapshot;
            let Some((_, key)) = owner.history.pop_front_if(|(epoch, _)| *epoch <= lowest) else {
                return false;
            };
            // SAFETY: the owner does not reclaim here.
            if let Some(row) = unsafe { self.hash.find(crate::hash_index::hash_of(&key), &key) } {
                self.trim(owner, row);
                self.drop_if_empty(owner, row);
            }
        }
        owner.history.front().is_some_and(|(epoch, _)| *epoch <= owner.lowest_snapshot)
    }
}

/// The newest version of a transaction on a row, and the version above it.
pub(crate) fn version_of<'a>(
    row: Row<'a>,
    transaction: TransactionId,
) -> Option<(Option<Version<'a>>, Version<'a>)> {
    let mut above = None;
    for version in row.versions() {
        if version.state().transaction() == Some(transaction) {
            return Some((above, version));
        }
        above = Some(version);
    }
    None
}

/// Makes the entry of one index for a version, if there is none yet.
pub(crate) fn add_entry(
    owner: &mut Owner,
    index: &Index,
    row: Row<'_>,
    bytes: &[u8],
    urgency: Urgency,
) -> Result<(), RegionFull> {
    let mut key = std::mem::take(&mut owner.scratch[0]);
    key.clear();
    index.encode(bytes, &mut key);
    let parts = key.len();
    key.extend_from_slice(row.key());
    let added = insert_entry(owner, index, row, (&key, parts), urgency);
    owner.scratch[0] = key;
    added
}

/// The same with the entry's key, which begins with that of the index: so many bytes.
pub(crate) fn insert_entry<'a>(
    owner: &mut Owner,
    index: &'a Index,
    row: Row<'_>,
    (key, parts): (&[u8], usize),
    urgency: Urgency,
) -> Result<(), RegionFull> {
    let make = |arena: &mut Arena| Entry::allocate(arena, row, &key[..parts], urgency).map(Entry::keyed);
    let unmake = |arena: &mut Arena, keyed: Keyed<'a>| {
        // SAFETY: it is the entry that was made, and nobody has seen it.
        unsafe {
            let (piece, bytes) = Entry::of(keyed).piece();
            arena.free(Purpose::Index, piece, bytes);
        }
    };
    index.tree.insert(&mut owner.arena, key, urgency, make, unmake).map(|_| ())
}

/// Frees a version that was never linked.
pub(crate) fn free_unseen(owner: &mut Owner, version: Version<'_>) {
    let (piece, bytes) = version.piece();
    // SAFETY: no row has it: nobody has seen it.
    unsafe { owner.arena.free(Purpose::Data, piece, bytes) };
}

pub(crate) fn retire_version(owner: &mut Owner, version: Version<'_>) {
    owner.versions -= 1;
    let (piece, bytes) = version.piece();
    // SAFETY: the caller unlinked it, or unlinks its row in the same call.
    unsafe { owner.arena.retire(Purpose::Data, piece, bytes) };
}

impl Drop for Core {
    fn drop(&mut self) {
        let Self { hash, primary, indexes, owner, .. } = self;
        let arena = &mut owner.get_mut().arena;
        // SAFETY: fragment and readers are gone, and what they gave out was bound to their lifetimes: nobody sees
        // anything of this any more. Every row is in the hash index, every version in its row's chain, every entry in
        // its index: each is freed once.
        unsafe {
            for row in hash.rows() {
                let mut next = row.newest();
                while let Some(version) = next {
                    next = version.previous();
                    let (piece, bytes) = version.piece();
                    arena.free(Purpose::Data, piece, bytes);
                }
                let (piece, bytes) = row.piece();
                arena.free(Purpose::Data, piece, bytes);
            }
            hash.free(arena);
            ordered_index::free_nodes(primary.root(), arena);
            let set = Box::from_raw(*indexes.get_mut());
            for index in &set.indexes {
                let mut left = vec![index.tree.root()];
                while let Some(node) = left.pop() {
                    ordered_index::demolish(node, arena, &mut left);
                }
            }
        }
    }
}
