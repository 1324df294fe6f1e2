//! [`Readers`]: how the fragments of a node are read. A copy shares what it is made of, and a change copies what it
//! touches.
//!
//! Invariant: `slots` holds every slot that a reader was put in for.

use crate::PublishedReader;
use std::collections::BTreeSet;
use std::sync::Arc;
use storage::Reader;
use types::{SlotId, TableChunks, TableId};

/// Readers by table and slot.
#[derive(Clone, Default)]
pub struct Readers {
    tables: TableChunks<Arc<OfTable>>,
    slots: BTreeSet<SlotId>,
}

/// The readers of one table's fragments on this node, whose slots lie close together.
#[derive(Clone)]
struct OfTable {
    /// The slot of the first one.
    first: u32,
    readers: Vec<Option<Reader>>,
}

impl Readers {
    /// The reader of a fragment.
    #[must_use]
    #[inline]
    pub fn get(&self, table: TableId, slot: SlotId) -> Option<&Reader> {
        let of_table = self.tables.get(table)?;
        of_table.readers.get(slot.0.wrapping_sub(of_table.first) as usize)?.as_ref()
    }

    /// Puts a reader in.
    pub fn insert(&mut self, published: PublishedReader) {
        let PublishedReader { table, slot, reader } = published;
        self.slots.insert(slot);
        let mut of_table = self.tables.get(table).map_or_else(
            || OfTable { first: slot.0, readers: Vec::new() },
            |of_table| OfTable::clone(of_table),
        );
        of_table.insert(slot.0, reader);
        self.tables.insert(table, Arc::new(of_table));
    }

    /// Takes the readers of a table out.
    pub fn remove_table(&mut self, table: TableId) {
        self.tables.remove(table);
    }

    /// Those in slots that `is_kept` says: all of them as they are, if it says all.
    #[must_use]
    pub fn only(&self, is_kept: impl Fn(SlotId) -> bool) -> Self {
        if self.slots.iter().all(|slot| is_kept(*slot)) {
            return self.clone();
        }
        let mut kept = Self::default();
        for (table, of_table) in self.tables.iter() {
            for (slot, reader) in (of_table.first..).map(SlotId).zip(&of_table.readers) {
                if let Some(reader) = reader.clone().filter(|_| is_kept(slot)) {
                    kept.insert(PublishedReader { table, slot, reader });
                }
            }
        }
        kept
    }
}

impl OfTable {
    fn insert(&mut self, slot: u32, reader: Reader) {
        if slot < self.first {
            let missing = (self.first - slot) as usize;
            self.readers.splice(..0, (0..missing).map(|_| None));
            self.first = slot;
        }
        let position = (slot - self.first) as usize;
        if self.readers.len() <= position {
            self.readers.resize_with(position + 1, || None);
        }
        self.readers[position] = Some(reader);
    }
}

#[cfg(test)]
mod tests;
