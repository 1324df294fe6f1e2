//! Several rows of a scan at once, in passes, so that their cache misses overlap.
//!
//! A row of a scan misses the CPU's caches at the leaf's entry, at the row's head and at its newest version. The first
//! pass walks leaves and asks for the entries. The second loads what they link to and asks for the first lines of the
//! versions. The last one reads their states. Nothing waits for one miss alone (group prefetching: Chen, Ailamaki,
//! Gibbons, Mowry 2004).
//!
//! Invariants: the entries of all batches of a range, and the undecided ones between them, are those that the cursor
//! gives one by one. Each is what its row showed at some moment of the call. So a row whose index key changes meanwhile
//! may be met at both places or at none: its new entry may come behind the leaves that were walked. The last pass loads
//! each link again, so it may find a newer version than the one that was fetched.
#![expect(unsafe_code, reason = "places of a batch are written before they are read, and never cleared")]

use super::{Cursor, Direction, KeyBounds, Lookup, Source, visible};
use crate::row::{Keyed, Row};
use std::mem::MaybeUninit;
use std::ops::Bound;

/// Rows of the first batch of a scan, whose caller may want no more. Each further one is twice as large.
pub const SCAN_BATCH_FIRST: usize = 16;
/// Rows of a batch at most.
pub const SCAN_BATCH_MAX: usize = 256;

/// A row of a batch.
#[derive(Clone, Copy)]
pub struct ScanRow<'g> {
    entry: Keyed<'g>,
    head: Row<'g>,
    bytes: &'g [u8],
}

impl<'g> ScanRow<'g> {
    /// The index entry's key; the primary key itself in the primary index.
    #[must_use]
    #[inline]
    pub fn index_key(&self) -> &'g [u8] {
        self.entry.key()
    }

    /// The primary key.
    #[must_use]
    #[inline]
    pub fn key(&self) -> &'g [u8] {
        self.head.key()
    }

    /// The row's bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &'g [u8] {
        self.bytes
    }
}

/// The end of a batch: what comes behind its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchEnd<'g> {
    /// Perhaps another batch.
    More,
    /// Nothing: the range ends here.
    End,
    /// As [`Lookup::Undecided`]. The next batch begins behind this row.
    Undecided {
        /// The index entry's key.
        index_key: &'g [u8],
        /// The primary key.
        key: &'g [u8],
    },
}

/// The rows of a batch. It is large, and made where it stays.
pub struct ScanBatch<'g> {
    entries: Places<Keyed<'g>>,
    rows: Places<ScanRow<'g>>,
}

impl Default for ScanBatch<'_> {
    #[inline]
    fn default() -> Self {
        Self { entries: Places::new(), rows: Places::new() }
    }
}

impl std::fmt::Debug for ScanBatch<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScanBatch").field("rows", &self.rows.count).finish_non_exhaustive()
    }
}

impl<'g> ScanBatch<'g> {
    /// The rows, in the order of the scan.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> &[ScanRow<'g>] {
        self.rows.as_slice()
    }
}

/// Places of which the first `count` are in use.
struct Places<T: Copy> {
    places: [MaybeUninit<T>; SCAN_BATCH_MAX],
    count: usize,
}

impl<T: Copy> Places<T> {
    #[inline]
    const fn new() -> Self {
        Self { places: [const { MaybeUninit::uninit() }; SCAN_BATCH_MAX], count: 0 }
    }

    /// Takes the next place; there is one.
    #[inline]
    fn push(&mut self, item: T) {
        self.places[self.count].write(item);
        self.count += 1;
    }

    #[inline]
    fn as_slice(&self) -> &[T] {
        let used = &self.places[..self.count];
        // SAFETY: `push` alone raises `count`, right after it has written the place. A written place stays written, and
        // `MaybeUninit<T>` lies in memory as `T` does.
        unsafe { &*(std::ptr::from_ref(used) as *const [T]) }
    }
}

impl<'g> Cursor<'g> {
    /// The next rows of the range: those of so many entries at most, of one at least unless the range ends. Versions
    /// that others have staged are passed over.
    #[inline]
    pub fn next_batch(&mut self, rows_max: usize, batch: &mut ScanBatch<'g>) -> BatchEnd<'g> {
        let count = rows_max.clamp(1, SCAN_BATCH_MAX);
        batch.rows.count = 0;
        loop {
            batch.entries.count = 0;
            self.collect(count, &mut batch.entries);
            let entries = batch.entries.as_slice();
            self.prefetch_versions(entries);
            if let Some(undecided) = self.show_all(entries, &mut batch.rows) {
                return undecided;
            }
            if entries.len() < count {
                return BatchEnd::End;
            }
            if batch.rows.count > 0 {
                return BatchEnd::More;
            }
        }
    }

    /// The next entries within the range, fewer than `count` at its end.
    fn collect(&mut self, count: usize, entries: &mut Places<Keyed<'g>>) {
        let keep = |entries: &mut Places<Keyed<'g>>, entry: Keyed<'g>| {
            entry.prefetch();
            entries.push(entry);
        };
        loop {
            let Some(leaf) = &self.leaf else { return };
            let taken = self.left.len().min(count - entries.count);
            match self.direction {
                Direction::Forward => {
                    let end = self.left.start + taken;
                    leaf.entries(self.left.start..end).for_each(|entry| keep(entries, entry));
                    self.left.start = end;
                }
                Direction::Backward => {
                    let start = self.left.end - taken;
                    leaf.entries(start..self.left.end).rev().for_each(|entry| keep(entries, entry));
                    self.left.end = start;
                }
            }
            if entries.count == count || !self.enter_next() {
                return;
            }
        }
    }

    /// Fetches the newest versions of entries' rows.
    #[inline]
    fn prefetch_versions(&self, entries: &[Keyed<'g>]) {
        if let Source::Secondary(_) = self.source {
            entries.iter().for_each(|entry| self.row_of(*entry).keyed().prefetch());
        }
        entries.iter().for_each(|entry| self.row_of(*entry).keyed().prefetch_target());
    }

    /// Keeps the rows that entries show, up to one that is undecided: the cursor goes back there.
    #[inline]
    fn show_all(&mut self, entries: &[Keyed<'g>], rows: &mut Places<ScanRow<'g>>) -> Option<BatchEnd<'g>> {
        let visibility = self.visibility;
        for entry in entries {
            let head = self.row_of(*entry);
            match visible(head, visibility) {
                Lookup::Absent => {}
                Lookup::Found(bytes) => {
                    if self.is_shown_by(*entry, head, bytes) {
                        rows.push(ScanRow { entry: *entry, head, bytes });
                    }
                }
                Lookup::Undecided => {
                    let (index_key, key) = (entry.key(), head.key());
                    self.seek_behind(index_key);
                    return Some(BatchEnd::Undecided { index_key, key });
                }
            }
        }
        None
    }

    /// Goes on behind a key of the range.
    fn seek_behind(&mut self, key: &'g [u8]) {
        let (near, far) = (Bound::Excluded(key), self.stop);
        self.seek(match self.direction {
            Direction::Forward => KeyBounds { lower: near, upper: far },
            Direction::Backward => KeyBounds { lower: far, upper: near },
        });
    }
}

#[cfg(test)]
pub(crate) mod tests;
