//! The contents of data nodes when nothing runs any more: replicas are equal, indexes lead to their rows, unique
//! entries are as many as keys.

use crate::world::World;
use protocol::signal::{ChecksumRequest, RequestId};
use std::collections::{BTreeMap, BTreeSet};
use types::{Epoch, IndexId, IndexState, SlotId, TableId, TableKind};

/// Rows compared of one fragment; workloads make far fewer.
const ROWS_MAX: u32 = 4_000;

/// Primary keys and hashes of the rows of a fragment.
pub type Digest = Vec<(Box<[u8]>, u64)>;

/// Primary keys and epochs of the rows of a fragment.
pub type Stamps = Vec<(Box<[u8]>, Epoch)>;

/// Everything that all data nodes hold, by what it is a replica of.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Digests of each fragment's replicas.
    pub replicas: BTreeMap<(TableId, SlotId), Vec<Digest>>,
    /// Epochs of the rows of each fragment's replicas.
    pub epochs: BTreeMap<(TableId, SlotId), Vec<Stamps>>,
    /// Rows without an entry.
    pub index_errors: Vec<String>,
    /// Tables of unique entries.
    pub unique_tables: BTreeMap<TableId, (TableId, IndexId)>,
}

impl Contents {
    /// Everything that is in the world's data nodes.
    #[must_use]
    pub fn of(world: &World) -> Self {
        Self::of_ldms(world.ldms())
    }

    /// Everything that these ldms have.
    pub fn of_ldms<'a>(ldms: impl Iterator<Item = &'a transaction::Ldm>) -> Self {
        let mut contents = Self::default();
        for ldm in ldms {
            for (table, slot) in ldm.fragments() {
                let request = ChecksumRequest {
                    request: RequestId(0),
                    slot,
                    table: table.id,
                    after: None,
                    limit: ROWS_MAX,
                };
                let done = ldm.checksum(&request);
                stdx::require!(done.end, "more rows than the checker compares");
                let epochs = ldm.committed_epochs(table.id, slot);
                contents.epochs.entry((table.id, slot)).or_default().push(epochs);
                contents.index_errors.extend(done.index_errors);
                contents.replicas.entry((table.id, slot)).or_default().push(done.rows);
                if let TableKind::UniqueIndex { base, index } = table.kind {
                    contents.unique_tables.insert(table.id, (base, index));
                }
            }
        }
        contents
    }
}

/// Compares what is in the world's data nodes.
pub fn check(world: &World) -> Result<(), String> {
    differing(&Contents::of(world)).map_or(Ok(()), Err)
}

/// An index or a table that a DDL job has begun and nobody has ended.
#[must_use]
pub fn unfinished(world: &World) -> Option<String> {
    let mut tables = world.ldms().flat_map(transaction::Ldm::fragments).map(|(table, _)| table);
    let table = tables.find(|table| {
        let is_unnamed = matches!(table.kind, TableKind::Copy { .. } | TableKind::New);
        is_unnamed || table.indexes.iter().any(|index| index.state != IndexState::Public)
    })?;
    Some(format!("table {}, or an index of it, is neither there nor gone", table.name))
}

/// The fault of the contents, if there is one.
#[must_use]
pub fn differing(contents: &Contents) -> Option<String> {
    if let Some(error) = contents.index_errors.first() {
        return Some(error.clone());
    }
    for ((table, slot), digests) in &contents.replicas {
        if digests.iter().any(|digest| *digest != digests[0]) {
            let counts: Vec<usize> = digests.iter().map(Vec::len).collect();
            return Some(format!("replicas of table {table} slot {slot} differ, with {counts:?} rows"));
        }
        let epochs = contents.epochs.get(&(*table, *slot)).into_iter().flatten();
        if epochs.clone().zip(epochs.skip(1)).any(|(left, right)| left != right) {
            return Some(format!("replicas of table {table} slot {slot} have rows of other epochs"));
        }
        // An undecided row has no hash: nothing is being committed any more.
        if digests[0].iter().any(|(_, hash)| *hash == 0) {
            return Some(format!("table {table} slot {slot} has a row that is not decided"));
        }
    }
    None
}

type Rows = [Vec<Option<String>>];

/// The fault of a table `(id, u, v)` with a unique `u`, read in whole and by every `u`.
#[must_use]
pub fn uniques(
    rows: &Rows,
    by_key: &Rows,
    written: &BTreeSet<u64>,
    refused: &BTreeSet<u64>,
) -> Option<String> {
    let mut keys = BTreeSet::new();
    for row in rows {
        let (u, v) = (row.get(1).cloned().flatten(), row.get(2).cloned().flatten());
        let value: u64 = v.and_then(|v| v.parse().ok()).unwrap_or(0);
        if refused.contains(&value) || !written.contains(&value) {
            return Some(format!("a row has a value that was not committed: {row:?}"));
        }
        let Some(u) = u else { continue };
        if !keys.insert(u.clone()) {
            return Some(format!("unique key {u} is there twice: {rows:?}"));
        }
        if !by_key.contains(row) {
            return Some(format!("row {row:?} is not found by its unique key: {by_key:?}"));
        }
    }
    (by_key.len() != keys.len())
        .then(|| format!("unique entries lead to {by_key:?}, the table's rows are {rows:?}"))
}

#[cfg(test)]
mod tests;
