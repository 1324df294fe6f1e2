//! Reading the whole catalogue from the system tables, slice by slice, so that no call takes long.
//!
//! Table after table is scanned in the order of its keys; a slice goes on behind the last row of the one before. Rows
//! that are committed between two slices need not fit those that were read: the version tells in the end
//! ([`SchemaBuilder::finish`]).
//!
//! Invariant: a slice reads at most its size and one row more.
//!
//! Deliberately not here: which version is wanted, and when the next slice is read.

use catalogue::{SchemaBuilder, SystemTables};
use memory::Guard;
use std::ops::Bound;
use storage::{Direction, KeyBounds, Reader, ScanItem, Visibility};
use types::{IndexId, SchemaVersion, TableId};

/// Bytes of rows that one call reads.
pub(super) const SLICE_SIZE: usize = 64 * 1024;

/// A scan that is under way.
pub(crate) struct CatalogueScan {
    version: SchemaVersion,
    builder: SchemaBuilder,
    /// The table that it has come to, of [`SchemaBuilder::TABLES`].
    table: usize,
    /// The last key that was read of it.
    behind: Option<Vec<u8>>,
}

/// The end of a slice.
pub(crate) enum Scanned {
    /// There is more to read.
    More(CatalogueScan),
    /// All rows are read.
    All(SchemaBuilder),
    /// A commit is under way, or the tables are not here.
    Refused,
}

impl CatalogueScan {
    /// A scan of the version that the version row tells now.
    pub(crate) fn new(system: &SystemTables, version: SchemaVersion) -> Self {
        Self { version, builder: SchemaBuilder::new(system, version), table: 0, behind: None }
    }

    pub(super) fn version(&self) -> SchemaVersion {
        self.version
    }

    /// Reads a slice.
    pub(crate) fn step<'a>(
        mut self,
        system: &SystemTables,
        guard: &Guard,
        reader: impl Fn(TableId) -> Option<&'a Reader>,
        slice_size: usize,
    ) -> Scanned {
        let mut size = 0;
        while let Some(table) = SchemaBuilder::TABLES.get(self.table).copied() {
            let lower = self.behind.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let bounds = KeyBounds { lower, upper: Bound::Unbounded };
            let scan = |reader: &'a Reader| {
                reader.scan(guard, IndexId(0), bounds, Direction::Forward, Visibility::Committed).ok()
            };
            let Some(cursor) = reader(table).and_then(scan) else { return Scanned::Refused };
            for item in cursor {
                let ScanItem::Row { key, row, .. } = item else { return Scanned::Refused };
                let added = self.builder.add(system, table, row);
                stdx::require!(added.is_ok(), "a row of system table {table} is damaged");
                size += row.len();
                if size >= slice_size {
                    self.behind = Some(key.to_vec());
                    return Scanned::More(self);
                }
            }
            (self.table, self.behind) = (self.table + 1, None);
        }
        Scanned::All(self.builder)
    }
}

#[cfg(test)]
mod tests;
