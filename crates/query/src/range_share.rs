//! Which share of a fragment's rows ranges of an index hold, and whether reading them by the index is worth it.
//!
//! A row that is found by another index than the primary key lies elsewhere, and its key is compared with the entry's.
//! So from some share of the table on a scan is cheaper. `or_scan` in the executor's `select.rs` asks for that when a
//! statement runs.
//!
//! Deliberately not here: which index is the best (`planner`).

use crate::TableAccessInfo;
use crate::read::bounds_of;
use memory::Guard;
use protocol::program::KeyRange;
use std::ops::{Bound, RangeBounds};
use storage::{NoSuchIndex, Reader};
use types::IndexId;

/// A row by another index than the primary key costs as much as so many rows of a scan.
const FETCH_COST: u32 = 6;
/// Few rows are read in no time, whichever way.
const ROWS_MIN: u64 = 1_000;
/// More ranges than these are hardly wide, and take time to look at.
const RANGES_MAX: usize = 2;
/// Rows that are looked at before a scan.
const SAMPLE_ROWS: usize = 256;
/// Entries that are counted before: the last ones of a tree that grew at its end seem to be many.
const COUNT_MAX: usize = 512;

/// Whether a scan of the fragment is cheaper than these ranges of another index than the primary key. Two ways down the
/// tree tell, then the first entries, then a sample of rows. Narrow ranges are asked for no more than they cost.
#[must_use]
pub fn are_wide(info: &TableAccessInfo, reader: &Reader, index: IndexId, ranges: &[KeyRange]) -> bool {
    let may_be = index != IndexId(0) && ranges.len() <= RANGES_MAX && reader.row_count() >= ROWS_MIN;
    may_be
        && seem_wide(reader, index, ranges).unwrap_or(false)
        && sampled_share(info, reader, index, ranges).is_some_and(is_much)
}

/// A scan is cheaper than this share of a table by an index.
fn is_much(share: f64) -> bool {
    share * f64::from(FETCH_COST) > 1.0
}

fn seem_wide(reader: &Reader, index: IndexId, ranges: &[KeyRange]) -> Result<bool, NoSuchIndex> {
    let guard = Guard::enter();
    let shares = ranges.iter().map(|range| reader.share_within(&guard, index, bounds_of(range)));
    if !is_much(shares.sum::<Result<f64, _>>()?) {
        return Ok(false);
    }
    let count = |range| reader.count_within(&guard, index, bounds_of(range), COUNT_MAX);
    let counted: usize = ranges.iter().map(count).sum::<Result<_, _>>()?;
    Ok(counted >= COUNT_MAX || counted as u64 * u64::from(FETCH_COST) > reader.row_count())
}

/// The share of a sample's rows that have an entry in these ranges. None: there are no rows, or the index is not there.
/// Ranges are ascending and disjoint.
#[must_use]
pub fn sampled_share(
    info: &TableAccessInfo,
    reader: &Reader,
    index: IndexId,
    ranges: &[KeyRange],
) -> Option<f64> {
    let encoder = info.index(index)?;
    let guard = Guard::enter();
    let (mut rows, mut found) = (0_u32, 0_u32);
    let mut key = Vec::new();
    for row in reader.sample(&guard, SAMPLE_ROWS) {
        key.clear();
        encoder.encode_row(&info.layout, row, &mut key);
        rows += 1;
        // The last one that begins before the key has it, or none has.
        let begins = |range: &KeyRange| (by_ref(&range.lower), Bound::Unbounded).contains(&*key);
        let last = ranges[..ranges.partition_point(begins)].last();
        let is_before_end = |range: &KeyRange| (Bound::Unbounded, by_ref(&range.upper)).contains(&*key);
        found += u32::from(last.is_some_and(is_before_end));
    }
    (rows > 0).then(|| f64::from(found) / f64::from(rows))
}

fn by_ref(bound: &Bound<Box<[u8]>>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &**key)
}
