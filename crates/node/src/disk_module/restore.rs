//! Rows in the making: checkpoints and entries of a log become fragments, and fragments get the tables and indexes of
//! the catalogue that is among them.
//!
//! Which tables there are is known when all rows are here, because their definitions are rows themselves. So fragments
//! begin bare: without columns and secondary indexes. At the end those that belong to no table go, and the others get
//! their definitions and the entries of their indexes.
//!
//! Rows are put where they belong without being staged ([`Fragment::load`]). An entry of the log that lies before the
//! position of its fragment's checkpoint is in the checkpoint, or something newer is.
//!
//! Invariant: of two entries of a row the one with the higher epoch counts, and of two with the same epoch the later
//! one. Nothing is remembered of a deleted row: the log has its entries in their order (`transaction::ldm::redo`).
//!
//! Deliberately not here: reading the files (`durability`), and who owns the fragments afterwards.

use crate::main_module::{CatalogueScan, Scanned};
use catalogue::system::SCHEMA_VERSION;
use catalogue::{SchemaBuilder, SystemTables};
use durability::{Entry, Manifests, PieceRow, Position};
use memory::{Guard, MemoryManager, RegionFull};
use query::RestoredFragment;
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::{BackfillProgress, Fragment, FragmentDefinition, Reader};
use types::{IndexId, Schema, SlotId, TableId};

/// Rows that get their index entries in one step.
const BUILT_AT_ONCE: u32 = 2_000;

/// Rows become fragments.
pub(super) struct Loader {
    memory: Arc<MemoryManager>,
    system: SystemTables,
    /// Those of the system tables, all of which are there, and those that checkpoints and entries named.
    fragments: BTreeMap<(TableId, SlotId), Loaded>,
}

/// A fragment in the making.
struct Loaded {
    fragment: Fragment,
    /// Its checkpoint has everything that was logged before this block.
    from: Position,
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
    pub(super) fn new(memory: Arc<MemoryManager>, manifests: &Manifests) -> Self {
        let mut loader = Self { memory, system: SystemTables::new(), fragments: BTreeMap::new() };
        let tables: Vec<TableId> = loader.system.iter().map(|table| table.definition.id).collect();
        for table in tables {
            loader.fragment((table, SlotId(0)));
        }
        for (slot, checkpoint) in manifests.fragments() {
            loader.fragment((checkpoint.table, slot)).from = Position(checkpoint.position);
        }
        loader
    }

    fn fragment(&mut self, place: (TableId, SlotId)) -> &mut Loaded {
        let memory = &self.memory;
        self.fragments.entry(place).or_insert_with(|| {
            let definition = Arc::new(FragmentDefinition::bare(place.0));
            Loaded { fragment: Fragment::new(definition, Arc::clone(memory)), from: Position(0) }
        })
    }

    /// Takes the next row of a checkpoint.
    pub(super) fn load(
        &mut self,
        slot: SlotId,
        table: TableId,
        row: &PieceRow<'_>,
    ) -> Result<(), RegionFull> {
        self.fragment((table, slot)).fragment.load(row.key, row.epoch, Some(row.row))
    }

    /// Takes the next entry of the log, of the block at a position.
    pub(super) fn take(&mut self, position: Position, entry: &Entry<'_>) -> Result<(), RegionFull> {
        let loaded = self.fragment((entry.table, entry.slot));
        if position < loaded.from {
            return Ok(());
        }
        loaded.fragment.load(entry.key, entry.epoch, entry.row)
    }

    /// All rows are here: reads the catalogue.
    pub(super) fn finish(self) -> Result<Builder, String> {
        let schema = self.read_catalogue()?;
        let with_table = |((table, slot), Loaded { mut fragment, .. }): ((TableId, SlotId), Loaded)| {
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
        let of = |table: TableId| Some(&self.fragments.get(&(table, SlotId(0)))?.fragment);
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
        match next.fragment.load_index(*index, self.after.as_deref(), BUILT_AT_ONCE)? {
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
pub(super) mod tests;
