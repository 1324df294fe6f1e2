//! Counts of rows by the fragments of this node: what the planner orders joins by.
//!
//! Entries that are equal in the first columns of an index are counted in a sample: so many entries at the index's end,
//! where no NULLs are. A node without a replica of any of a table's partitions knows nothing of it.

#[cfg(test)]
mod tests;

use executor::Client;
use executor::temporary::{OWN, TemporaryTables};
use memory::Guard;
use planner::Statistics;
use query::NodeMap;
use storage::{Direction, KeyBounds, Reader, ScanItem, Visibility};
use types::{IndexId, KeyEncoder, KeyPart, RowLayout, TableDefinition};

/// Entries that are looked at.
const SAMPLE_ENTRIES: usize = 100;
/// In a sample of one value: the share of all rows that is thought to have it.
const ONE_VALUE_SHARE: f64 = 0.25;

/// The counts that a map can tell, and a session of its temporary tables.
#[derive(Clone, Copy)]
pub(crate) struct LocalCounts<'a> {
    map: &'a NodeMap,
    own: Option<&'a TemporaryTables>,
}

impl<'a> LocalCounts<'a> {
    pub(crate) fn new(map: &'a NodeMap, client: &'a Client) -> Self {
        Self { map, own: client.transaction.own() }
    }
}

impl Statistics for LocalCounts<'_> {
    fn row_count(&self, table: &TableDefinition) -> Option<u64> {
        if table.id.is_temporary() {
            return self.own?.row_count(table.id);
        }
        estimated_row_count(self.map, table)
    }

    fn entries_per_key(&self, table: &TableDefinition, index: IndexId, parts: usize) -> Option<f64> {
        let parts = table.index(index)?.parts.get(..parts)?;
        let encoder = KeyEncoder::new(table, parts);
        if table.id.is_temporary() {
            let (info, reader) = (self.own?.info(table.id)?, self.own?.reader(table.id)?);
            return sampled((reader, OWN), index, &encoder, parts, &info.layout);
        }
        let layout = &self.map.table(table.id)?.layout;
        let slots = self.map.slots_of(table.id);
        let readers = slots.iter().filter_map(|slot| self.map.reader(table.id, *slot));
        let reader = readers.max_by_key(|reader| reader.row_count())?;
        let here = sampled((reader, Visibility::Stale), index, &encoder, parts, layout)?;
        // A value that is there once is there once in all; others lie in all partitions.
        Some(1.0 + (here - 1.0) * count_of(slots.len()))
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn count_of(count: usize) -> f64 {
    count as f64
}

/// Entries for each value in the sample of a fragment; None: it has none.
fn sampled(
    (reader, visibility): (&Reader, Visibility),
    index: IndexId,
    encoder: &KeyEncoder,
    parts: &[KeyPart],
    layout: &RowLayout,
) -> Option<f64> {
    let guard = Guard::enter();
    let is_backward = parts.first().is_some_and(|part| !part.descending);
    let direction = if is_backward { Direction::Backward } else { Direction::Forward };
    let cursor = reader.scan(&guard, index, KeyBounds::ALL, direction, visibility).ok()?;
    let (mut entries, mut values) = (0, 0);
    let (mut last, mut key) = (Vec::new(), Vec::new());
    for item in cursor.take(SAMPLE_ENTRIES) {
        let ScanItem::Row { row, .. } = item else { continue };
        if encoder.row_has_null(layout, row) {
            continue;
        }
        key.clear();
        encoder.encode_row(layout, row, &mut key);
        entries += 1;
        if values == 0 || key != last {
            values += 1;
            std::mem::swap(&mut key, &mut last);
        }
    }
    match values {
        0 => None,
        1 if entries >= SAMPLE_ENTRIES => {
            let rows = usize::try_from(reader.row_count()).unwrap_or(usize::MAX);
            Some(count_of(entries).max(count_of(rows) * ONE_VALUE_SHARE))
        }
        values => Some(count_of(entries) / count_of(values)),
    }
}

/// About how many rows a table has: those on this node, and as many again for each partition that is not here.
pub(crate) fn estimated_row_count(map: &NodeMap, table: &TableDefinition) -> Option<u64> {
    let slots = map.slots_of(table.id);
    let partition_count = slots.len() as u64;
    let local = slots.iter().filter_map(|slot| map.reader(table.id, *slot));
    let (count, rows) =
        local.fold((0, 0), |(count, rows): (u64, u64), reader| (count + 1, rows + reader.row_count()));
    (rows * partition_count).checked_div(count)
}
