//! Rows in the making: entries of a log become fragments, and fragments get the tables and indexes of the catalogue
//! that is among them.
//!
//! Which tables there are is known when all entries are here, because their definitions are rows themselves. So the
//! fragments of user tables begin bare: without columns and secondary indexes. At the end those that belong to no table
//! go, and the others get their definitions and the entries of their indexes.
//!
//! Invariant: of two entries of a row the one with the higher epoch counts, and of two with the same epoch the later
//! one. Nothing is remembered of a deleted row: the log has its entries in their order (`transaction::ldm::redo`).
//!
//! Deliberately not here: reading the log (`durability`), and who owns the fragments afterwards.

use crate::main_module::{CatalogueScan, Scanned};
use catalogue::system::SCHEMA_VERSION;
use catalogue::{SchemaBuilder, SystemTables};
use durability::Entry;
use memory::{Guard, MemoryManager, RegionFull};
use query::RestoredFragment;
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::{BackfillProgress, Fragment, FragmentDefinition, Reader};
use types::{IndexId, Schema, SlotId, TableDefinition, TableId, TransactionId};

/// Nobody's: it puts rows where they belong.
const LOADER: TransactionId = TransactionId(0);
/// Rows that get their index entries in one step.
const BUILT_AT_ONCE: u32 = 2_000;
/// Things that are freed after an entry that replaced another one, at most.
const FREED_AT_ONCE: u32 = 4;

/// Entries become fragments.
pub(super) struct Loader {
    memory: Arc<MemoryManager>,
    system: SystemTables,
    /// Those of the system tables, all of which are there, and those that entries named.
    fragments: BTreeMap<(TableId, SlotId), Fragment>,
    /// How many entries were taken.
    pub(super) entries: u64,
}

/// Fragments get their tables and indexes.
pub(super) struct Builder {
    schema: Arc<Schema>,
    /// Not begun; the last one is next.
    left: Vec<RestoredFragment>,
    /// Its indexes that lack entries, and behind which row.
    indexes: Vec<IndexId>,
    after: Option<Box<[u8]>>,
    done: Vec<RestoredFragment>,
}

/// A catalogue, and the rows of its tables.
pub(super) struct Restored {
    pub(super) schema: Arc<Schema>,
    pub(super) fragments: Vec<RestoredFragment>,
}

impl Loader {
    pub(super) fn new(memory: Arc<MemoryManager>) -> Self {
        let system = SystemTables::new();
        let empty = |definition: &Arc<TableDefinition>| {
            Fragment::new(Arc::new(FragmentDefinition::new(definition)), Arc::clone(&memory))
        };
        let place = |table: &Arc<TableDefinition>| ((table.id, SlotId(0)), empty(table));
        let fragments = system.iter().map(|table| place(&table.definition)).collect();
        Self { memory, system, fragments, entries: 0 }
    }

    /// Takes the next entry.
    pub(super) fn take(&mut self, entry: &Entry<'_>) -> Result<(), RegionFull> {
        self.entries += 1;
        let place = (entry.table, entry.slot);
        let memory = &self.memory;
        let fragment = self.fragments.entry(place).or_insert_with(|| {
            Fragment::new(Arc::new(FragmentDefinition::bare(entry.table)), Arc::clone(memory))
        });
        let there = fragment.committed(entry.key).map(|(epoch, _)| epoch);
        if there.is_some_and(|there| there > entry.epoch) {
            return Ok(());
        }
        let handle = match entry.row {
            Some(row) => fragment.stage_copied(entry.key, LOADER, row, &[])?,
            None if there.is_none() => return Ok(()),
            None => fragment.stage(entry.key, LOADER, None)?,
        };
        fragment.commit(handle, LOADER, entry.epoch);
        if there.is_some() {
            fragment.reclaim(FREED_AT_ONCE);
        }
        Ok(())
    }

    /// All entries are here: reads the catalogue.
    pub(super) fn finish(self) -> Result<Builder, String> {
        let schema = self.read_catalogue()?;
        let with_table = |((table, slot), mut fragment): ((TableId, SlotId), Fragment)| {
            let definition = schema.tables().get(table)?;
            fragment.set_definition(Arc::new(FragmentDefinition::new(definition)));
            Some(RestoredFragment { table, slot, fragment })
        };
        let left: Vec<RestoredFragment> = self.fragments.into_iter().filter_map(with_table).collect();
        let mut builder =
            Builder { schema: Arc::new(schema), left, indexes: Vec::new(), after: None, done: Vec::new() };
        builder.begin();
        Ok(builder)
    }

    /// The catalogue among the rows.
    fn read_catalogue(&self) -> Result<Schema, String> {
        let system = &self.system;
        let of = |table: TableId| self.fragments.get(&(table, SlotId(0)));
        let row = of(SCHEMA_VERSION).and_then(|rows| rows.committed(&system.schema_version_key())?.1);
        let version = row.and_then(|row| system.schema_version(row).ok());
        let version = version.ok_or("the system tables lack their version")?;
        let reader = |table: TableId| Some((table, of(table)?.reader()));
        let readers: BTreeMap<TableId, Reader> =
            SchemaBuilder::TABLES.into_iter().filter_map(reader).collect();
        let scan = CatalogueScan::new(system, version);
        match scan.step(system, &Guard::enter(), |table| readers.get(&table), usize::MAX) {
            Scanned::All(builder) => builder.finish(version).map_err(|error| error.to_string()),
            Scanned::More(_) | Scanned::Refused => Err("the system tables are not whole".to_owned()),
        }
    }
}

impl Builder {
    /// Looks at the next fragment.
    fn begin(&mut self) {
        if let Some(next) = self.left.last() {
            self.indexes = next.fragment.definition().secondary_indexes().collect();
        }
    }

    /// Adds some index entries; true when nothing is left to do.
    pub(super) fn step(&mut self) -> Result<bool, RegionFull> {
        let Some(next) = self.left.last_mut() else { return Ok(true) };
        let Some(index) = self.indexes.last() else {
            self.done.extend(self.left.pop());
            self.begin();
            return Ok(self.left.is_empty());
        };
        match next.fragment.backfill(*index, self.after.as_deref(), BUILT_AT_ONCE)? {
            BackfillProgress::More(after) => self.after = Some(after),
            BackfillProgress::End => {
                self.after = None;
                self.indexes.pop();
            }
        }
        Ok(false)
    }

    /// Everything is built.
    pub(super) fn finish(self) -> Restored {
        stdx::require!(self.left.is_empty(), "a fragment lacks entries of its indexes");
        Restored { schema: self.schema, fragments: self.done }
    }
}

#[cfg(test)]
mod tests;
