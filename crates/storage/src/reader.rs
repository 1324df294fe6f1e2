//! Reading a fragment: lookups by primary key and scans of ordered indexes, from any thread, without locks.
//!
//! What a reader sees of a row is decided by walking its versions from the newest: it passes over what other transactions have staged, it stops at what another
//! transaction has prepared (`Undecided`: never an older version), it takes the first committed version that is not above its snapshot.
//! A version that it passes over may be committed at that very moment, and what is below it unlinked; so after taking the link the state is read
//! again, and the version looked at anew if it changed.
//!
//! References are bound to the guard (nothing is freed while it is held) and to the reader (the fragment lives as long as a reader).
//!
//! Invariants: a scan gives keys in strictly ascending or descending order; through a secondary index, a row is given only by the entry whose
//! key the version has that is given.
//!
//! Deliberately not here: locks, filters, limits (`query`, `transaction`).
#![expect(unsafe_code, reason = "a guard is what the shared structures ask for; each block names it")]

use crate::hash_index::hash_of;
use crate::ordered_index::{LeafView, Target, Tree};
use crate::row::{Entry, Keyed, Row};
use crate::shared::{Core, Index};
use crate::version::VersionState;
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

    /// About how many rows there are, those that are not committed included.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.core.hash.len() as u64
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

    /// The rows of an index whose keys lie within bounds. Restart a scan by excluding the last key visited.
    pub fn scan<'g>(
        &'g self,
        guard: &'g Guard,
        index: IndexId,
        bounds: KeyBounds<'g>,
        direction: Direction,
        visibility: Visibility,
    ) -> Result<Cursor<'g>, NoSuchIndex> {
        let source = self.source(guard, index)?;
        let tree = match source {
            Source::Primary => &self.core.primary,
            Source::Secondary(index) => &index.tree,
        };
        let mut cursor = Cursor {
            source,
            tree,
            visibility,
            direction,
            stop: match direction {
                Direction::Forward => bounds.upper,
                Direction::Backward => bounds.lower,
            },
            leaf: None,
            position: 0,
            scratch: Vec::new(),
        };
        cursor.start(match direction {
            Direction::Forward => bounds.lower,
            Direction::Backward => bounds.upper,
        });
        Ok(cursor)
    }
}

/// What a row shows.
#[inline]
fn visible(row: Row<'_>, visibility: Visibility) -> Lookup<'_> {
    let mut next = row.newest();
    while let Some(version) = next {
        next = loop {
            let state = version.state();
            let is_taken = match (state, visibility) {
                (VersionState::Committed(epoch), Visibility::Snapshot(snapshot)) => epoch <= snapshot,
                (VersionState::Committed(_), Visibility::Committed | Visibility::Transaction(_)) => true,
                (
                    VersionState::Staged(transaction) | VersionState::Prepared(transaction),
                    Visibility::Transaction(own),
                ) if transaction == own => true,
                (VersionState::Prepared(_), _) => return Lookup::Undecided,
                (VersionState::Staged(_), _) => false,
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
pub struct Cursor<'g> {
    source: Source<'g>,
    tree: &'g Tree,
    visibility: Visibility,
    direction: Direction,
    /// The far end of the range.
    stop: Bound<&'g [u8]>,
    /// The leaf it is in; `None` at the end.
    leaf: Option<LeafView<'g>>,
    /// Forward: the next position in the leaf; backward: how many positions are left in it.
    position: usize,
    /// A row's index key, to compare with its entry's.
    scratch: Vec<u8>,
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cursor").field("direction", &self.direction).finish_non_exhaustive()
    }
}

impl<'g> Cursor<'g> {
    fn go_to(&mut self, target: Target<'_>, position: impl Fn(&LeafView<'g>) -> usize) {
        // SAFETY: a cursor is made under a guard that is held for 'g.
        self.leaf = unsafe { self.tree.leaf(target) };
        self.position = self.leaf.as_ref().map_or(0, position);
    }

    fn start(&mut self, from: Bound<&[u8]>) {
        match (self.direction, from) {
            (Direction::Forward, Bound::Unbounded) => self.go_to(Target::First, |_| 0),
            (Direction::Backward, Bound::Unbounded) => self.go_to(Target::Last, LeafView::len),
            (Direction::Forward, Bound::Included(key)) | (Direction::Backward, Bound::Excluded(key)) => {
                let target = match self.direction {
                    Direction::Forward => Target::At(key),
                    Direction::Backward => Target::Below(key),
                };
                self.go_to(target, |leaf| leaf.search(key).0);
            }
            (Direction::Forward, Bound::Excluded(key)) | (Direction::Backward, Bound::Included(key)) => {
                self.go_to(Target::At(key), |leaf| {
                    let (position, is_there) = leaf.search(key);
                    position + usize::from(is_there)
                });
            }
        }
    }

    /// The next entry within the range.
    #[inline]
    fn advance(&mut self) -> Option<Keyed<'g>> {
        loop {
            let leaf = self.leaf.as_ref()?;
            let item = match self.direction {
                Direction::Forward if self.position < leaf.len() => {
                    self.position += 1;
                    leaf.get(self.position - 1)
                }
                Direction::Backward if self.position > 0 => {
                    self.position -= 1;
                    leaf.get(self.position)
                }
                Direction::Forward => {
                    let Some(separator) = leaf.high else { break };
                    self.go_to(Target::At(separator), |leaf| leaf.search(separator).0);
                    continue;
                }
                Direction::Backward => {
                    let Some(separator) = leaf.low else { break };
                    self.go_to(Target::Below(separator), |leaf| leaf.search(separator).0);
                    continue;
                }
            };
            let is_within = match (self.direction, self.stop) {
                (_, Bound::Unbounded) => true,
                (Direction::Forward, Bound::Included(end)) => item.key() <= end,
                (Direction::Forward, Bound::Excluded(end)) => item.key() < end,
                (Direction::Backward, Bound::Included(end)) => item.key() >= end,
                (Direction::Backward, Bound::Excluded(end)) => item.key() > end,
            };
            if is_within {
                return Some(item);
            }
            break;
        }
        self.leaf = None;
        None
    }

    /// What an entry shows; `None` if nothing.
    #[inline]
    fn show(&mut self, item: Keyed<'g>) -> Option<ScanItem<'g>> {
        let index_key = item.key();
        let row = match self.source {
            // SAFETY: the primary index holds rows.
            Source::Primary => unsafe { Row::of(item) },
            // SAFETY: secondary indexes hold entries.
            Source::Secondary(_) => unsafe { Entry::of(item) }.row(),
        };
        let key = row.key();
        let bytes = match visible(row, self.visibility) {
            Lookup::Absent => return None,
            Lookup::Undecided => return Some(ScanItem::Undecided { index_key, key }),
            Lookup::Found(bytes) => bytes,
        };
        if let Source::Secondary(index) = self.source {
            self.scratch.clear();
            index.encode(bytes, &mut self.scratch);
            // The entry's key is the version's key and the primary key.
            if index_key.len() != self.scratch.len() + key.len() || !index_key.starts_with(&self.scratch) {
                return None;
            }
        }
        Some(ScanItem::Row { index_key, key, row: bytes })
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
