//! Filling a fragment from disk: committed rows with their epochs, then the secondary indexes.
//!
//! There is one rule, for checkpoints and for the log: a row or a delete takes the place of a row of a lower or of the
//! same epoch. So a row may come several times. Rows of a checkpoint and entries of the log need no order among each
//! other, but entries come in the order in which the log has them.
//!
//! Invariants: nobody has staged anything in the fragment yet. It keeps one version of each row, and no deletes: a
//! delete that is followed by an older row of the log is in the log again behind it. Replaced versions are freed at
//! once as long as the fragment has no reader: memory may be nearly full of rows.
//!
//! Deliberately not here: which entries count (`durability`), and when the fragment is shown to readers.
#![expect(
    unsafe_code,
    reason = "the fragment is the one that may reach the owner's state; each block says why"
)]

use super::{BackfillProgress, Fragment, walk};
use crate::hash_index::hash_of;
use crate::row::Row;
use crate::shared::{Index, free_unseen, insert_entry, retire_version};
use crate::version::{Version, VersionState};
use memory::{RegionFull, Urgency};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use types::{Epoch, IndexId};

impl Fragment {
    /// Puts a committed row in the place of one of at most the same epoch, or deletes that; does nothing if there is
    /// one of a higher epoch. Secondary indexes get no entries: the fragment was made without any. May use as
    /// much of DataMemory as a restart.
    pub fn load(&mut self, key: &[u8], epoch: Epoch, row: Option<&[u8]>) -> Result<(), RegionFull> {
        let is_unread = self.is_unread();
        let (core, owner) = self.parts();
        // SAFETY: the owner does not reclaim before its last use of these.
        let (found, set) = unsafe { (core.hash.find(hash_of(key), key), core.index_set()) };
        stdx::require!(set.indexes.is_empty(), "rows are loaded before there are indexes");
        let newest = found.and_then(Row::newest);
        if let Some(newest) = newest {
            let VersionState::Committed(known) = newest.state() else {
                stdx::require!(false, "a row is loaded below an open transaction");
                return Ok(());
            };
            if known > epoch {
                return Ok(());
            }
        }
        match (row, found) {
            (None, None) => {}
            (None, Some(found)) => {
                core.unlink_where(owner, found, None, |_| true);
                core.drop_if_empty(owner, found);
            }
            (Some(bytes), found) => {
                let state = VersionState::Committed(epoch);
                let version =
                    Version::allocate(&mut owner.arena, state, Some(bytes), None, Urgency::Restart)?;
                let row = match found {
                    Some(row) => row,
                    None => core
                        .add_row(owner, key, Urgency::Restart)
                        .inspect_err(|_| free_unseen(owner, version))?,
                };
                row.set_newest(Some(version));
                owner.versions += 1;
                if let Some(newest) = newest {
                    retire_version(owner, newest);
                }
            }
        }
        if is_unread {
            // SAFETY: no reader, and nothing that was found above is used any more.
            unsafe { owner.arena.reclaim_unread() };
        } else {
            owner.arena.tidy();
        }
        Ok(())
    }

    /// True if nobody else can see anything of the fragment: what a reader gives is borrowed from it.
    fn is_unread(&self) -> bool {
        let is_unread = Arc::strong_count(&self.core) == 1;
        // The reads of the last reader happened before what is freed now.
        fence(Ordering::Acquire);
        is_unread
    }

    /// As [`Fragment::backfill`], but it adds the entries in the order of their keys, so that neighbours come one after
    /// the other. A row counts for one more with each [`KEY_UNIT`] of its key. May use as much of DataMemory as a
    /// restart.
    pub fn load_index(
        &mut self,
        index: IndexId,
        after_key: Option<&[u8]>,
        rows: u32,
    ) -> Result<BackfillProgress, RegionFull> {
        let is_unread = self.is_unread();
        let (core, owner) = self.parts();
        // SAFETY: what is reclaimed below is not the set of indexes, which does not change here.
        let Some(index) = (unsafe { core.index_set() }).find(index) else { return Ok(BackfillProgress::End) };
        let mut entries = Entries::default();
        let progress = walk(core, after_key, rows, |row| {
            let key = row.newest().and_then(Version::row).map_or(0, |bytes| entries.add(index, row, bytes));
            Ok(1 + u32::try_from(key / KEY_UNIT).unwrap_or(u32::MAX - 1))
        })?;
        entries.sort();
        for (row, key, parts) in entries.iter() {
            insert_entry(owner, index, row, (key, parts), Urgency::Restart)?;
            if is_unread {
                // SAFETY: no reader. Only nodes of this index were replaced; the rows are linked.
                unsafe { owner.arena.reclaim_unread() };
            } else {
                owner.arena.tidy();
            }
        }
        if progress == BackfillProgress::End {
            index.is_complete.store(true, Ordering::Relaxed);
        }
        Ok(progress)
    }
}

/// So many bytes of a key count as a row: keys are copied to be sorted, in memory that no region counts.
const KEY_UNIT: usize = 64;

/// Entries of an index that are about to be made.
#[derive(Default)]
struct Entries<'a> {
    rows: Vec<Row<'a>>,
    /// Their keys behind each other: of the index, then of the row. Where each begins, and the second part of it.
    keys: Vec<u8>,
    places: Vec<(usize, usize)>,
    /// The first bytes of each key, and the position of its row. Most comparisons need no more.
    order: Vec<(u128, u32)>,
}

impl<'a> Entries<'a> {
    /// Gives the size of the key.
    fn add(&mut self, index: &Index, row: Row<'a>, bytes: &[u8]) -> usize {
        let start = self.keys.len();
        index.encode(bytes, &mut self.keys);
        self.places.push((start, self.keys.len() - start));
        self.keys.extend_from_slice(row.key());
        let key = &self.keys[start..];
        let mut first = [0; size_of::<u128>()];
        let length = key.len().min(first.len());
        first[..length].copy_from_slice(&key[..length]);
        let position = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        self.order.push((u128::from_be_bytes(first), position));
        self.rows.push(row);
        self.keys.len() - start
    }

    /// The key of a row, and how long its first part is.
    fn key(&self, position: u32) -> (&[u8], usize) {
        let at = position as usize;
        let (start, parts) = self.places[at];
        let end = self.places.get(at + 1).map_or(self.keys.len(), |(start, _)| *start);
        (&self.keys[start..end], parts)
    }

    fn sort(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.sort_unstable();
        for alike in order.chunk_by_mut(|left, right| left.0 == right.0).filter(|alike| alike.len() > 1) {
            alike.sort_unstable_by(|left, right| self.key(left.1).0.cmp(self.key(right.1).0));
        }
        self.order = order;
    }

    fn iter(&self) -> impl Iterator<Item = (Row<'a>, &[u8], usize)> {
        self.order.iter().map(|(_, position)| {
            let (key, parts) = self.key(*position);
            (self.rows[*position as usize], key, parts)
        })
    }
}

#[cfg(test)]
mod tests;
