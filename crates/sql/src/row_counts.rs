//! Counts of rows by the fragments of this node: by them the planner orders joins and chooses between indexes.
//!
//! *Conditions* are evaluated on a sample: the first rows of a partition in the order of their keys' hashes. Keys are
//! spread over partitions by another hash, so one partition stands for all. *Ranges* of an index are walked, up to so
//! many entries; of what is longer the sample tells the share. Entries that are equal in the first columns of an index
//! are counted at the index's end, where no NULLs are; if they are many, in the sample.
//!
//! A node without a replica of any of a table's partitions knows nothing of it.
//!
//! Deliberately not here: keeping any of it. A plan is made once for many executions, and asks for what it needs.

#[cfg(test)]
mod tests;

use executor::Client;
use executor::access::ranges_of;
use executor::temporary::{OWN, TemporaryTables};
use expression::{Context, Expression, StoredRow};
use memory::Guard;
use planner::Statistics;
use planner::plan::RangeTemplate;
use protocol::program::KeyRange;
use query::{NodeMap, TableAccessInfo, sampled_share};
use std::ops::Bound;
use stdx::hash64;
use storage::{Direction, KeyBounds, Reader, ScanItem, Visibility};
use types::{IndexId, KeyEncoder, KeyPart, TableDefinition, Value};

/// Entries that are looked at.
const SAMPLE_ENTRIES: usize = 100;
/// Rows that conditions are evaluated on.
const SAMPLE_ROWS: usize = 256;
/// Entries of ranges that are counted.
const WALKED_ENTRIES: usize = 128;
/// If no more rows of a sample than these pass all conditions, each condition is looked at alone.
const FEW_ROWS: usize = 3;
/// With so many entries for each value at its end, an index's end shows too few values.
const LONG_RUN: f64 = 10.0;
/// With so many values that are not their first ones, a sample tells how many values there are.
const REPEATS_MIN: usize = 8;

/// The counts that a map can tell, and a session of its temporary tables.
#[derive(Clone, Copy)]
pub(crate) struct LocalCounts<'a> {
    map: &'a NodeMap,
    own: Option<&'a TemporaryTables>,
    /// Values of the statement's first parameters.
    parameters: &'a [Value],
}

/// A fragment that stands for its table.
struct Part<'a> {
    info: &'a TableAccessInfo,
    reader: &'a Reader,
    visibility: Visibility,
    /// Partitions of the table.
    part_count: usize,
}

impl<'a> LocalCounts<'a> {
    pub(crate) fn new(map: &'a NodeMap, client: &'a Client) -> Self {
        Self { map, own: client.transaction.own(), parameters: &[] }
    }

    /// The same for a statement with these parameters.
    pub(crate) fn with_parameters(self, parameters: &'a [Value]) -> Self {
        Self { parameters, ..self }
    }

    fn part(&self, table: &TableDefinition) -> Option<Part<'a>> {
        if table.id.is_temporary() {
            let (info, reader) = (self.own?.info(table.id)?, self.own?.reader(table.id)?);
            return Some(Part { info, reader, visibility: OWN, part_count: 1 });
        }
        let info = self.map.table(table.id)?;
        let slots = self.map.slots_of(table.id);
        let readers = slots.iter().filter_map(|slot| self.map.reader(table.id, *slot));
        let reader = readers.max_by_key(|reader| reader.row_count())?;
        Some(Part { info, reader, visibility: Visibility::Stale, part_count: slots.len() })
    }

    fn context(&self) -> Context<'a> {
        Context { parameters: self.parameters, ..Context::default() }
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
        let part = self.part(table)?;
        let here = part.entries_per_value(index, &encoder, parts)?;
        // A value that is there once is there once in all; others lie in all partitions.
        Some(1.0 + (here - 1.0) * count_of(part.part_count))
    }

    fn entries_in(&self, table: &TableDefinition, index: IndexId, ranges: &[RangeTemplate]) -> Option<f64> {
        let part = self.part(table)?;
        let ranges = ranges_of(ranges, part.info, index, &self.context()).ok()?;
        Some(part.entries(index, &ranges)? * count_of(part.part_count))
    }

    fn share_of(&self, table: &TableDefinition, conditions: &[Expression]) -> Option<f64> {
        self.part(table)?.share_of(conditions, &self.context())
    }

    fn has_value(&self, parameter: u16) -> bool {
        usize::from(parameter) < self.parameters.len()
    }
}

impl Part<'_> {
    /// About how many entries of an index lie in these ranges; None: the index is not there.
    fn entries(&self, index: IndexId, ranges: &[KeyRange]) -> Option<f64> {
        self.walked(index, ranges)?.or_else(|| self.sampled_entries(index, ranges))
    }

    /// Entries in these ranges, if the index is there; the inner None: there are many.
    fn walked(&self, index: IndexId, ranges: &[KeyRange]) -> Option<Option<f64>> {
        let guard = Guard::enter();
        let mut cursor = self.reader.cursor(&guard, index, Direction::Forward, self.visibility).ok()?;
        let mut count = 0;
        for (number, range) in ranges.iter().enumerate() {
            cursor.seek(KeyBounds { lower: by_ref(&range.lower), upper: by_ref(&range.upper) });
            count += cursor.by_ref().take(WALKED_ENTRIES - count).count();
            if count + number >= WALKED_ENTRIES {
                return Some(None);
            }
        }
        Some(Some(count_of(count)))
    }

    /// Entries in these ranges, which are ascending and disjoint, by the rows of the sample that have one.
    fn sampled_entries(&self, index: IndexId, ranges: &[KeyRange]) -> Option<f64> {
        let share = sampled_share(self.info, self.reader, index, ranges)?;
        // There are more than were walked.
        let all = count_of(usize::try_from(self.reader.row_count()).unwrap_or(usize::MAX));
        Some((share * all).max(count_of(WALKED_ENTRIES)))
    }

    /// The share of the sample's rows that pass all of these conditions. If these are very few, conditions are thought
    /// to have nothing to do with each other.
    fn share_of(&self, conditions: &[Expression], context: &Context<'_>) -> Option<f64> {
        let guard = Guard::enter();
        let (mut rows, mut all) = (0, 0);
        let mut passed = vec![0_usize; conditions.len()];
        for bytes in self.reader.sample(&guard, SAMPLE_ROWS) {
            let row = StoredRow::new(&self.info.layout, bytes);
            let mut passes_all = true;
            for (condition, passed) in conditions.iter().zip(&mut passed) {
                let is_true = condition.is_true(&row, context).unwrap_or(true);
                *passed += usize::from(is_true);
                passes_all &= is_true;
            }
            rows += 1;
            all += usize::from(passes_all);
            if context.warnings.is_much_text() {
                break;
            }
        }
        if rows == 0 {
            return None;
        }
        // None of so many: a half of one.
        let share = |count: usize| if count == 0 { 0.5 } else { count_of(count) } / count_of(rows);
        if all >= FEW_ROWS {
            return Some(share(all));
        }
        Some(passed.into_iter().map(share).product::<f64>().min(share(all.max(1))))
    }
}

fn by_ref(bound: &Bound<Box<[u8]>>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &**key)
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn count_of(count: usize) -> f64 {
    count as f64
}

impl Part<'_> {
    /// About how many entries of an index are equal in its first columns, without NULLs. None: there are none.
    fn entries_per_value(&self, index: IndexId, encoder: &KeyEncoder, parts: &[KeyPart]) -> Option<f64> {
        let at_end = self.entries_at_end(index, encoder, parts)?;
        let Some((sampled, repeats)) = self.sampled_entries_per_value(encoder) else { return at_end };
        // The values at the end may be the rare ones. Where hardly a value comes twice, a sample only says that there
        // are many.
        match at_end {
            Some(entries) if entries <= LONG_RUN && repeats < REPEATS_MIN => at_end,
            _ => at_end.into_iter().chain([sampled]).reduce(f64::max),
        }
    }

    /// By the last entries of the index; the outer None: it is not there.
    fn entries_at_end(&self, index: IndexId, encoder: &KeyEncoder, parts: &[KeyPart]) -> Option<Option<f64>> {
        let guard = Guard::enter();
        let is_backward = parts.first().is_some_and(|part| !part.descending);
        let direction = if is_backward { Direction::Backward } else { Direction::Forward };
        let cursor = self.reader.scan(&guard, index, KeyBounds::ALL, direction, self.visibility).ok()?;
        let (mut entries, mut values) = (0, 0);
        let (mut last, mut key) = (Vec::new(), Vec::new());
        for item in cursor.take(SAMPLE_ENTRIES) {
            let ScanItem::Row { row, .. } = item else { continue };
            if encoder.row_has_null(&self.info.layout, row) {
                continue;
            }
            key.clear();
            encoder.encode_row(&self.info.layout, row, &mut key);
            entries += 1;
            if values == 0 || key != last {
                values += 1;
                std::mem::swap(&mut key, &mut last);
            }
        }
        Some((values > 0).then(|| count_of(entries) / count_of(values)))
    }

    /// By the sample of rows. How many values there are beyond those of the sample follows from how many are there once
    /// and twice (Chao 1984). And how many values of the sample are repeated ones.
    fn sampled_entries_per_value(&self, encoder: &KeyEncoder) -> Option<(f64, usize)> {
        let guard = Guard::enter();
        let mut hashes: Vec<u64> = Vec::with_capacity(SAMPLE_ROWS);
        let mut rows = 0;
        let mut key = Vec::new();
        for row in self.reader.sample(&guard, SAMPLE_ROWS) {
            rows += 1;
            if !encoder.row_has_null(&self.info.layout, row) {
                key.clear();
                encoder.encode_row(&self.info.layout, row, &mut key);
                hashes.push(hash64(&key));
            }
        }
        if hashes.is_empty() {
            return None;
        }
        hashes.sort_unstable();
        let (mut seen, mut once, mut twice) = (0, 0, 0);
        for run in hashes.chunk_by(|one, other| one == other) {
            seen += 1;
            once += usize::from(run.len() == 1);
            twice += usize::from(run.len() == 2);
        }
        let unseen = count_of(once * once.saturating_sub(1)) / count_of(2 * (twice + 1));
        let all = count_of(usize::try_from(self.reader.row_count()).unwrap_or(usize::MAX));
        let entries = all * count_of(hashes.len()) / count_of(rows);
        Some(((entries / (count_of(seen) + unseen)).max(1.0), hashes.len() - seen))
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
