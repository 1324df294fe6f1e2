//! Reading a fragment: lookups by primary key and scans of ordered indexes, from any thread, without locks.
//!
//! A reader walks a row's versions from the newest. It passes over what other transactions have staged. It stops at
//! what another transaction has prepared (`Undecided`: never an older version). It takes the first committed version
//! that is not above its snapshot. A version that it passes over may be committed at that very moment, and the version
//! below it unlinked. So after taking the link the state is read again, and the version looked at anew if it changed.
//!
//! References are bound to the guard (nothing is freed while it is held) and to the reader (the fragment lives as long
//! as a reader).
//!
//! Invariants: a scan gives keys in strictly ascending or descending order. Through a secondary index, a row is given
//! only by the entry whose key the version has that is given.
//!
//! Deliberately not here: locks, filters, limits (`query`, `transaction`).
#![expect(unsafe_code, reason = "a guard is what the shared structures ask for; each block names it")]

use crate::hash_index::hash_of;
use crate::ordered_index::{LeafView, Target, Tree};
use crate::row::{Entry, Keyed, Row};
use crate::shared::{Core, Index};
use crate::version::VersionState;
use memory::Guard;
use std::ops::{Bound, Range};
use std::sync::Arc;
use types::{Epoch, IndexId, TransactionId};

pub(crate) mod batch;
mod committed;
mod many;

pub use batch::{BatchEnd, SCAN_BATCH_FIRST, SCAN_BATCH_MAX, ScanBatch, ScanRow};

pub use many::{MANY_MAX, Wanted, get_many};

pub use committed::{CommittedRow, CommittedRows};

/// The reader's right to see versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visibility {
    /// Committed versions.
    Committed,
    /// Committed versions, and those that this transaction has staged or prepared.
    Transaction(TransactionId),
    /// Versions that were committed in this epoch or before.
    Snapshot(Epoch),
    /// The newest committed version, though a newer one may be decided already: prepared ones are passed over.
    Stale,
}

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Upwards.
    Forward,
    /// Downwards.
    Backward,
}

/// A range of index keys; a bound may be a prefix of keys (it compares as its bytes do).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyBounds<'a> {
    /// Where it starts.
    pub lower: Bound<&'a [u8]>,
    /// Where it ends.
    pub upper: Bound<&'a [u8]>,
}

impl KeyBounds<'_> {
    /// All keys.
    pub const ALL: KeyBounds<'static> = KeyBounds { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// True if it ends before it starts.
    fn is_inverted(&self) -> bool {
        match (self.lower, self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower > upper,
        }
    }
}

/// The result of a lookup by key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup<'g> {
    /// No row.
    Absent,
    /// Its bytes.
    Found(&'g [u8]),
    /// Its newest relevant version is prepared by another transaction: ask the primary, or wait; never take an older
    /// one.
    Undecided,
}

/// The item that a scan visits.
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
    /// As [`Lookup::Undecided`]. A row may be met so at each of its entries.
    Undecided {
        /// The index entry's key.
        index_key: &'g [u8],
        /// The primary key.
        key: &'g [u8],
    },
}

/// The fragment does not keep this index: it was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSuchIndex;

/// Reads a fragment from any thread; keeps it alive.
#[derive(Clone)]
pub struct Reader {
    core: Arc<Core>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("rows", &self.core.hash.len()).finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// The row of a primary key.
    #[must_use]
    #[inline]
    pub fn get<'g>(&'g self, _guard: &'g Guard, key: &[u8], visibility: Visibility) -> Lookup<'g> {
        // SAFETY: the guard is held for 'g.
        let row = unsafe { self.core.hash.find(hash_of(key), key) };
        row.map_or(Lookup::Absent, |row| visible(row, visibility))
    }

    /// The row of a primary key that is locked at the slot's primary: its newest version. `Undecided` if that is not
    /// committed, whatever lies below it.
    #[must_use]
    #[inline]
    pub fn get_locked<'g>(&'g self, _guard: &'g Guard, key: &[u8]) -> Lookup<'g> {
        // SAFETY: the guard is held for 'g.
        let row = unsafe { self.core.hash.find(hash_of(key), key) };
        let Some(version) = row.and_then(Row::newest) else { return Lookup::Absent };
        match version.state() {
            VersionState::Committed(_) => version.row().map_or(Lookup::Absent, Lookup::Found),
            VersionState::Staged(_) | VersionState::Prepared(_) => Lookup::Undecided,
        }
    }

    /// About how many rows there are, those that are not committed included.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.core.hash.len() as u64
    }

    /// A sample of all rows: the first ones by the hashes of their keys, without those that are not committed.
    pub fn sample<'g>(&'g self, _guard: &'g Guard, count_max: usize) -> impl Iterator<Item = &'g [u8]> {
        // SAFETY: the guard is held for 'g.
        let rows = unsafe { self.core.hash.sample() };
        rows.take(count_max).filter_map(|row| match visible(row, Visibility::Stale) {
            Lookup::Found(bytes) => Some(bytes),
            Lookup::Absent | Lookup::Undecided => None,
        })
    }

    /// True if the fragment keeps this index, complete or not.
    #[must_use]
    pub fn has_index(&self, index: IndexId) -> bool {
        let guard = Guard::enter();
        self.source(&guard, index).is_ok()
    }

    fn source<'g>(&'g self, _guard: &'g Guard, id: IndexId) -> Result<Source<'g>, NoSuchIndex> {
        if id == self.core.primary_id {
            return Ok(Source::Primary);
        }
        // SAFETY: the guard is held for 'g.
        let set = unsafe { self.core.index_set() };
        let index = set.indexes.iter().find(|index| index.shape.id == id);
        index.map(|index| Source::Secondary(index)).ok_or(NoSuchIndex)
    }

    fn tree<'g>(&'g self, guard: &'g Guard, index: IndexId) -> Result<&'g Tree, NoSuchIndex> {
        Ok(self.tree_of(self.source(guard, index)?))
    }

    fn tree_of<'g>(&'g self, source: Source<'g>) -> &'g Tree {
        match source {
            Source::Primary => &self.core.primary,
            Source::Secondary(index) => &index.tree,
        }
    }

    /// About which share of an index's entries lies within bounds: two ways down the tree. Right within a factor of two
    /// or so for keys that came in any order. Where they came in ascending order the last ones count for too many.
    pub fn share_within(
        &self,
        guard: &Guard,
        index: IndexId,
        bounds: KeyBounds<'_>,
    ) -> Result<f64, NoSuchIndex> {
        let tree = self.tree(guard, index)?;
        let below = |bound: Bound<&[u8]>, unbounded: f64| match bound {
            // SAFETY: a guard is held.
            Bound::Included(key) | Bound::Excluded(key) => unsafe { tree.share_below(key) },
            Bound::Unbounded => unbounded,
        };
        Ok((below(bounds.upper, 1.0) - below(bounds.lower, 0.0)).max(0.0))
    }

    /// Keys that part an index into about so many runs of much the same length, ascending.
    pub fn separators<'g>(
        &'g self,
        guard: &'g Guard,
        index: IndexId,
        runs: usize,
    ) -> Result<Vec<&'g [u8]>, NoSuchIndex> {
        // SAFETY: the guard is held for 'g.
        Ok(unsafe { self.tree(guard, index)?.separators(runs) })
    }

    /// How many entries of an index lie within bounds, or `count_max` if there are more. Rows are not looked at.
    pub fn count_within<'g>(
        &'g self,
        guard: &'g Guard,
        index: IndexId,
        bounds: KeyBounds<'g>,
        count_max: usize,
    ) -> Result<usize, NoSuchIndex> {
        let mut cursor = self.scan(guard, index, bounds, Direction::Forward, Visibility::Stale)?;
        let mut count = cursor.left.len();
        while count < count_max && cursor.enter_next() {
            count += cursor.left.len();
        }
        Ok(count.min(count_max))
    }

    /// The rows of an index whose keys lie within bounds. Restart a scan by excluding the last key visited.
    pub fn scan<'g>(
        &'g self,
        guard: &'g Guard,
        index: IndexId,
        bounds: KeyBounds<'g>,
        direction: Direction,
        visibility: Visibility,
    ) -> Result<Cursor<'g>, NoSuchIndex> {
        let mut cursor = self.cursor(guard, index, direction, visibility)?;
        cursor.seek(bounds);
        cursor.prefetch_leaf();
        Ok(cursor)
    }

    /// A scan that is not anywhere yet: [`Cursor::seek`] says which range.
    pub fn cursor<'g>(
        &'g self,
        guard: &'g Guard,
        index: IndexId,
        direction: Direction,
        visibility: Visibility,
    ) -> Result<Cursor<'g>, NoSuchIndex> {
        Ok(self.cursor_in(self.source(guard, index)?, direction, visibility))
    }

    fn cursor_in<'g>(
        &'g self,
        source: Source<'g>,
        direction: Direction,
        visibility: Visibility,
    ) -> Cursor<'g> {
        Cursor {
            source,
            tree: self.tree_of(source),
            visibility,
            direction,
            stop: Bound::Unbounded,
            leaf: None,
            left: 0..0,
            is_last: true,
            scratch: Vec::new(),
        }
    }
}

/// The version that a row shows.
#[inline]
fn visible(row: Row<'_>, visibility: Visibility) -> Lookup<'_> {
    let mut next = row.newest();
    while let Some(version) = next {
        next = loop {
            let state = version.state();
            let is_taken = match (state, visibility) {
                (VersionState::Committed(epoch), Visibility::Snapshot(snapshot)) => epoch <= snapshot,
                (
                    VersionState::Committed(_),
                    Visibility::Committed | Visibility::Transaction(_) | Visibility::Stale,
                ) => true,
                (
                    VersionState::Staged(transaction) | VersionState::Prepared(transaction),
                    Visibility::Transaction(own),
                ) if transaction == own => true,
                (VersionState::Prepared(_), Visibility::Stale) | (VersionState::Staged(_), _) => false,
                (VersionState::Prepared(_), _) => return Lookup::Undecided,
            };
            if is_taken {
                return version.row().map_or(Lookup::Absent, Lookup::Found);
            }
            let previous = version.previous();
            if version.state() == state {
                break previous;
            }
        };
    }
    Lookup::Absent
}

#[derive(Clone, Copy)]
enum Source<'g> {
    Primary,
    Secondary(&'g Index),
}

/// A scan in progress.
///
/// Bounds are compared with the separators of a leaf once, not with each key in it. The next entries' targets are
/// fetched into the CPU's caches ahead of their use.
pub struct Cursor<'g> {
    source: Source<'g>,
    tree: &'g Tree,
    visibility: Visibility,
    direction: Direction,
    /// The far end of the range.
    stop: Bound<&'g [u8]>,
    /// The leaf it is in. It stays there at the end of a range: the next range may begin in the same leaf.
    leaf: Option<LeafView<'g>>,
    /// The positions in the leaf that are within the range and not visited.
    left: Range<usize>,
    /// The range ends in this leaf.
    is_last: bool,
    /// A row's index key, to compare with its entry's.
    scratch: Vec<u8>,
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cursor").field("direction", &self.direction).finish_non_exhaustive()
    }
}

/// How many entries ahead a row is fetched.
const LOOK_AHEAD: usize = 6;

impl<'g> Cursor<'g> {
    /// Goes to another range, or to the first one. Cheapest if ranges come in the direction of the scan.
    pub fn seek(&mut self, bounds: KeyBounds<'g>) {
        let (near, far) = match self.direction {
            Direction::Forward => (bounds.lower, bounds.upper),
            Direction::Backward => (bounds.upper, bounds.lower),
        };
        self.stop = far;
        self.left = 0..0;
        self.is_last = true;
        if bounds.is_inverted() {
            return;
        }
        let target = match (self.direction, near) {
            (Direction::Forward, Bound::Unbounded) => Target::First,
            (Direction::Backward, Bound::Unbounded) => Target::Last,
            (Direction::Backward, Bound::Excluded(key)) => Target::Below(key),
            (_, Bound::Included(key) | Bound::Excluded(key)) => Target::At(key),
        };
        self.enter(target, near);
    }

    /// Enters the leaf of `target` and finds the part of the range in it that starts at `near`.
    fn enter(&mut self, target: Target<'_>, near: Bound<&[u8]>) {
        if !self.leaf.as_ref().is_some_and(|leaf| leaf.covers(target)) {
            // SAFETY: a cursor is made under a guard that is held for 'g.
            self.leaf = unsafe { self.tree.leaf(target) };
        }
        self.cut_out(near);
    }

    /// Finds the part of the range in the present leaf that starts at `near`.
    fn cut_out(&mut self, near: Bound<&[u8]>) {
        let Some(leaf) = &self.leaf else {
            self.is_last = true;
            return;
        };
        match self.direction {
            Direction::Forward => {
                self.is_last = leaf.high.is_none_or(|high| match self.stop {
                    Bound::Unbounded => false,
                    Bound::Included(end) => end < high,
                    Bound::Excluded(end) => end <= high,
                });
                let end = if self.is_last { leaf.end_of(self.stop) } else { leaf.len() };
                self.left = leaf.start_of(near)..end;
            }
            Direction::Backward => {
                self.is_last = leaf.low.is_none_or(|low| match self.stop {
                    Bound::Unbounded => false,
                    Bound::Included(end) | Bound::Excluded(end) => end >= low,
                });
                let start = if self.is_last { leaf.start_of(self.stop) } else { 0 };
                self.left = start..leaf.end_of(near);
            }
        }
    }

    /// Fetches the entries of a leaf, and the rows of its first ones: nobody has come by ahead of them.
    #[inline]
    fn prefetch_leaf(&self) {
        let Some(leaf) = &self.leaf else { return };
        let left = self.left.clone();
        leaf.entries(left.clone()).for_each(Keyed::prefetch);
        match self.direction {
            Direction::Forward => left.take(LOOK_AHEAD).for_each(|at| leaf.get(at).prefetch_target()),
            Direction::Backward => left.rev().take(LOOK_AHEAD).for_each(|at| leaf.get(at).prefetch_target()),
        }
    }

    /// The next entry within the range.
    #[inline(always)]
    fn advance(&mut self) -> Option<Keyed<'g>> {
        loop {
            let position = match self.direction {
                Direction::Forward => self.left.next(),
                Direction::Backward => self.left.next_back(),
            };
            let leaf = self.leaf.as_ref()?;
            if let Some(position) = position {
                self.prefetch_ahead(leaf);
                return Some(leaf.get(position));
            }
            if !self.enter_next() {
                return None;
            }
            self.prefetch_leaf();
        }
    }

    /// Enters the next leaf; false if the range ends before it.
    #[inline(never)]
    fn enter_next(&mut self) -> bool {
        let Some(leaf) = self.leaf.as_ref().filter(|_| !self.is_last) else { return false };
        // SAFETY: a cursor is made under a guard that is held for 'g.
        let (separator, next) = unsafe {
            match self.direction {
                Direction::Forward => (leaf.high, self.tree.leaf_above(leaf)),
                Direction::Backward => (leaf.low, self.tree.leaf_below(leaf)),
            }
        };
        let (Some(separator), Some(next)) = (separator, next) else { return false };
        // All of the leaf is behind the separator if it lies there, too.
        let near_end = match self.direction {
            Direction::Forward => next.low,
            Direction::Backward => next.high,
        };
        let is_whole = near_end.is_some_and(|end| std::ptr::eq(end, separator));
        let near = match self.direction {
            _ if is_whole => Bound::Unbounded,
            Direction::Forward => Bound::Included(separator),
            Direction::Backward => Bound::Excluded(separator),
        };
        self.leaf = Some(next);
        self.cut_out(near);
        true
    }

    /// Fetches the row of the entry that comes `LOOK_AHEAD` entries later.
    #[inline]
    fn prefetch_ahead(&self, leaf: &LeafView<'g>) {
        let ahead = match self.direction {
            Direction::Forward => self.left.start + LOOK_AHEAD,
            Direction::Backward => self.left.end.wrapping_sub(1 + LOOK_AHEAD),
        };
        if self.left.contains(&ahead) {
            leaf.get(ahead).prefetch_target();
        }
    }

    /// The item that an entry shows, if any.
    #[inline]
    fn show(&mut self, item: Keyed<'g>) -> Option<ScanItem<'g>> {
        let (index_key, row) = (item.key(), self.row_of(item));
        let key = row.key();
        let bytes = match visible(row, self.visibility) {
            Lookup::Absent => return None,
            Lookup::Undecided => return Some(ScanItem::Undecided { index_key, key }),
            Lookup::Found(bytes) => bytes,
        };
        self.is_shown_by(item, row, bytes).then_some(ScanItem::Row { index_key, key, row: bytes })
    }

    #[inline]
    fn row_of(&self, entry: Keyed<'g>) -> Row<'g> {
        match self.source {
            // SAFETY: the primary index holds rows.
            Source::Primary => unsafe { Row::of(entry) },
            // SAFETY: secondary indexes hold entries.
            Source::Secondary(_) => unsafe { Entry::of(entry) }.row(),
        }
    }

    /// True if a version of a row has the key of the entry by which it was found.
    #[inline]
    fn is_shown_by(&mut self, entry: Keyed<'g>, row: Row<'g>, bytes: &[u8]) -> bool {
        let Source::Secondary(index) = self.source else { return true };
        self.scratch.clear();
        index.encode(bytes, &mut self.scratch);
        // The entry's key is the version's key and the primary key.
        let key = entry.key();
        key.len() == self.scratch.len() + row.key().len() && key.starts_with(&self.scratch)
    }
}

impl<'g> Iterator for Cursor<'g> {
    type Item = ScanItem<'g>;

    #[inline]
    fn next(&mut self) -> Option<ScanItem<'g>> {
        loop {
            let item = self.advance()?;
            if let Some(shown) = self.show(item) {
                return Some(shown);
            }
        }
    }
}
