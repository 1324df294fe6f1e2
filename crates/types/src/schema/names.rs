//! [`TableNames`]: tables in order of database and name, in shared chunks. A copy shares all chunks; a change copies
//! the one it touches.
//!
//! Invariants: no chunk is empty; tables stand in the order of their names, and no two have one name.

use crate::TableDefinition;
use std::sync::Arc;

/// A chunk that grows beyond this is split.
const CHUNK_MAX: usize = 128;
/// A chunk and the one behind it that have together no more than this are joined.
const JOINED_MAX: usize = CHUNK_MAX / 2;

/// Named tables.
#[derive(Clone, Default, Debug)]
pub(super) struct TableNames {
    chunks: Vec<Arc<Vec<Arc<TableDefinition>>>>,
}

/// Where a table stands.
#[derive(Clone, Copy)]
struct Place {
    chunk: usize,
    position: usize,
}

fn name_of(table: &Arc<TableDefinition>) -> (&str, &str) {
    (&table.database, &table.name)
}

impl TableNames {
    /// Where the table of this name is, or would be.
    fn find(&self, name: (&str, &str)) -> Result<Place, Place> {
        let is_behind = |chunk: &Arc<Vec<Arc<TableDefinition>>>| {
            chunk.first().is_some_and(|first| name_of(first) <= name)
        };
        let chunk = self.chunks.partition_point(is_behind).saturating_sub(1);
        let tables = self.chunks.get(chunk).map_or(&[][..], |chunk| chunk.as_slice());
        let place = |position| Place { chunk, position };
        tables.binary_search_by(|table| name_of(table).cmp(&name)).map(place).map_err(place)
    }

    pub(super) fn get(&self, database: &str, name: &str) -> Option<&Arc<TableDefinition>> {
        let Place { chunk, position } = self.find((database, name)).ok()?;
        self.chunks.get(chunk)?.get(position)
    }

    /// Puts a table in place of the one that has its name, which it gives.
    pub(super) fn insert(&mut self, table: Arc<TableDefinition>) -> Option<Arc<TableDefinition>> {
        let Place { chunk, position } = match self.find(name_of(&table)) {
            Ok(Place { chunk, position }) => {
                let tables = Arc::make_mut(&mut self.chunks[chunk]);
                return Some(std::mem::replace(&mut tables[position], table));
            }
            Err(place) => place,
        };
        let Some(tables) = self.chunks.get_mut(chunk) else {
            self.chunks.push(Arc::new(vec![table]));
            return None;
        };
        let tables = Arc::make_mut(tables);
        tables.insert(position, table);
        if tables.len() > CHUNK_MAX {
            let behind = tables.split_off(tables.len() / 2);
            self.chunks.insert(chunk + 1, Arc::new(behind));
        }
        None
    }

    /// Takes the table out, if it is the one that has its name.
    pub(super) fn remove(&mut self, table: &Arc<TableDefinition>) {
        let Ok(Place { chunk, position }) = self.find(name_of(table)) else { return };
        if self.chunks[chunk][position].id != table.id {
            return;
        }
        let tables = Arc::make_mut(&mut self.chunks[chunk]);
        tables.remove(position);
        let left = tables.len();
        if left == 0 {
            self.chunks.remove(chunk);
        } else if let Some(behind) = self.chunks.get(chunk + 1).filter(|next| left + next.len() <= JOINED_MAX)
        {
            let behind = Arc::clone(behind);
            Arc::make_mut(&mut self.chunks[chunk]).extend(behind.iter().cloned());
            self.chunks.remove(chunk + 1);
        }
    }

    /// All tables from this name on.
    pub(super) fn from(&self, database: &str) -> impl Iterator<Item = &Arc<TableDefinition>> {
        let (Ok(Place { chunk, position }) | Err(Place { chunk, position })) = self.find((database, ""));
        let first = self.chunks.get(chunk).and_then(|chunk| chunk.get(position..)).unwrap_or_default();
        let others = self.chunks.get(chunk + 1..).unwrap_or_default();
        first.iter().chain(others.iter().flat_map(|chunk| chunk.iter()))
    }

    /// All tables, in order of database and name.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<TableDefinition>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// How many of these chunks the other has not.
    #[cfg(test)]
    pub(super) fn unshared_with(&self, other: &Self) -> usize {
        let is_shared = |chunk| other.chunks.iter().any(|theirs| Arc::ptr_eq(chunk, theirs));
        self.chunks.iter().filter(|chunk| !is_shared(chunk)).count()
    }
}
