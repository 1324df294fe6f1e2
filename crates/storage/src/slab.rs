//! The rows that some transaction has a version on, by handle.
//!
//! A handle is an index and a generation, not a pointer. A row is in the slab exactly while it has a version that is
//! not committed, and a row with such a version is never removed. So a handle leads to a row that is alive or, when all
//! is decided, to nothing. A stale or foreign handle can at worst name another living row, where the transaction has no
//! version.
//!
//! The memory of a large transaction is given back when no row is left. The entries that are made then have generations
//! that no handle has.
//!
//! Invariant: `by_row` and the occupied entries are inverse to each other.

use std::ptr::NonNull;
use stdx::FixedMap;

/// A row on which a transaction has a version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowHandle {
    index: u32,
    generation: u32,
}

#[derive(Clone, Copy)]
struct Entry {
    row: Option<NonNull<u8>>,
    generation: u32,
}

/// Rows by handle.
#[derive(Default)]
pub(crate) struct Slab {
    entries: Vec<Entry>,
    free: Vec<u32>,
    by_row: FixedMap<usize, u32>,
    /// The generation of new entries.
    generation: u32,
}

/// Entries that are kept when no row is left.
const ENTRIES_KEPT: usize = 4_096;

impl Slab {
    /// The handle of a row; the row gets an entry if it has none.
    pub(crate) fn insert(&mut self, row: NonNull<u8>) -> RowHandle {
        let Self { entries, free, by_row, generation } = self;
        let index = *by_row.entry(row.addr().get()).or_insert_with(|| {
            let index = free.pop().unwrap_or_else(|| {
                entries.push(Entry { row: None, generation: *generation });
                u32::try_from(entries.len() - 1).unwrap_or(u32::MAX)
            });
            entries[index as usize].row = Some(row);
            index
        });
        RowHandle { index, generation: entries[index as usize].generation }
    }

    /// The row of a handle.
    #[inline]
    pub(crate) fn get(&self, handle: RowHandle) -> Option<NonNull<u8>> {
        let entry = self.entries.get(handle.index as usize)?;
        if entry.generation == handle.generation { entry.row } else { None }
    }

    /// Forgets a row, if it is there.
    pub(crate) fn remove(&mut self, row: NonNull<u8>) {
        if let Some(index) = self.by_row.remove(&row.addr().get()) {
            let entry = &mut self.entries[index as usize];
            entry.row = None;
            entry.generation = entry.generation.wrapping_add(1);
            self.free.push(index);
            if self.entries.len() > ENTRIES_KEPT && self.by_row.is_empty() {
                self.begin_again();
            }
        }
    }

    #[cold]
    fn begin_again(&mut self) {
        let highest = self.entries.iter().map(|entry| entry.generation).max();
        let generation = highest.map_or(self.generation, |highest| highest.wrapping_add(1));
        *self = Self { generation, ..Self::default() };
    }
}
