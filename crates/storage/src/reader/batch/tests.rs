use super::{BatchEnd, SCAN_BATCH_MAX, ScanBatch};
use crate::fragment::tests::{commit_row, definition, entry_of, key, memory, reclaim_all, row};
use crate::*;
use memory::Guard;
use std::ops::Bound;
use stdx::Prng;
use types::*;

/// A quick look under Miri, a long one otherwise.
const ROUNDS: u64 = if cfg!(miri) { 2 } else { 60 };
/// Enough for inner nodes above inner nodes.
const IDS: u64 = if cfg!(miri) { 60 } else { 6_000 };

/// The items of a scan in batches of random sizes, as [`entry_of`] tells it.
pub(crate) fn in_batches(mut cursor: Cursor<'_>, prng: &mut Prng) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut batch = ScanBatch::default();
    let mut found = Vec::new();
    loop {
        let rows_max = match prng.below(3) {
            0 => prng.index(4),
            1 => prng.index(40),
            _ => prng.index(2 * SCAN_BATCH_MAX),
        };
        let end = cursor.next_batch(rows_max, &mut batch);
        assert!(batch.rows().len() <= rows_max.clamp(1, SCAN_BATCH_MAX));
        for row in batch.rows() {
            found.push(entry_of(ScanItem::Row {
                index_key: row.index_key(),
                key: row.key(),
                row: row.bytes(),
            }));
        }
        match end {
            BatchEnd::More => assert!(!batch.rows().is_empty()),
            BatchEnd::End => return found,
            BatchEnd::Undecided { index_key, key } => {
                found.push(entry_of(ScanItem::Undecided { index_key, key }));
            }
        }
    }
}

fn change(fragment: &mut Fragment, epoch: u64, prng: &mut Prng) {
    // Runs of ids, so that leaves empty and fill, and nodes are split and merged.
    let first = prng.below(IDS);
    let is_removed = prng.chance(1, 3);
    for id in first..(first + prng.below(200)).min(IDS) {
        let id = i64::try_from(id).unwrap();
        let k = i64::try_from(prng.below(50)).unwrap();
        let bytes = row(id, k, &vec![1; prng.index(30)]);
        commit_row(fragment, id, (!is_removed).then_some(bytes.as_slice()), epoch);
    }
}

/// Some rows are staged by others, some by the reader, some are prepared. Gives what undoes that.
fn open_some(fragment: &mut Fragment, prng: &mut Prng) -> Vec<(RowHandle, TransactionId)> {
    let mut open = Vec::new();
    for id in (0..IDS).filter(|_| prng.chance(1, 40)).collect::<Vec<_>>() {
        let id = i64::try_from(id).unwrap();
        let transaction = TransactionId(1 + prng.below(2));
        let bytes = row(id, i64::try_from(prng.below(50)).unwrap(), b"open");
        let bytes = prng.chance(2, 3).then_some(bytes.as_slice());
        let handle = fragment.stage(&key(id), transaction, bytes).unwrap();
        if prng.chance(1, 3) {
            fragment.prepare(handle, transaction);
        }
        open.push((handle, transaction));
    }
    open
}

#[test]
fn batches_give_what_the_cursor_gives_one_by_one() {
    let mut prng = Prng::new(11);
    let mut fragment = Fragment::new(definition(true), memory(64));
    for round in 0..ROUNDS {
        let epoch = 10 + round;
        for _ in 0..1 + prng.below(12) {
            change(&mut fragment, epoch, &mut prng);
        }
        let open = open_some(&mut fragment, &mut prng);
        {
            let reader = fragment.reader();
            let guard = Guard::enter();
            for visibility in [
                Visibility::Committed,
                Visibility::Transaction(TransactionId(1)),
                Visibility::Snapshot(Epoch(epoch)),
                Visibility::Stale,
            ] {
                for index in [IndexId(0), IndexId(1)] {
                    let mut bound = || {
                        let value = i64::try_from(prng.below(if index.0 == 0 { IDS } else { 50 })).unwrap();
                        (prng.below(3), key(value))
                    };
                    let (lower, upper) = (bound(), bound());
                    let as_bound = |(kind, key)| match kind {
                        0 => Bound::Unbounded,
                        1 => Bound::Included(key),
                        _ => Bound::Excluded(key),
                    };
                    let bounds = KeyBounds {
                        lower: as_bound((lower.0, lower.1.as_slice())),
                        upper: as_bound((upper.0, upper.1.as_slice())),
                    };
                    for direction in [Direction::Forward, Direction::Backward] {
                        let scan = || reader.scan(&guard, index, bounds, direction, visibility).unwrap();
                        let one_by_one: Vec<_> = scan().map(entry_of).collect();
                        assert_eq!(
                            in_batches(scan(), &mut prng),
                            one_by_one,
                            "round {round} {visibility:?} {index:?} {direction:?} {bounds:?}"
                        );
                    }
                }
            }
        }
        for (handle, transaction) in open {
            fragment.abort(handle, transaction);
        }
        if prng.chance(1, 2) {
            reclaim_all(&mut fragment);
        }
    }
}

#[test]
fn a_scan_under_a_guard_goes_on_through_nodes_that_were_replaced() {
    let mut fragment = Fragment::new(definition(false), memory(64));
    let lasting = |number: i64| number * 10;
    let count = i64::try_from(IDS / 10).unwrap();
    for number in 0..count {
        commit_row(&mut fragment, lasting(number), Some(&row(lasting(number), 0, b"lasts")), 1);
    }
    let mut prng = Prng::new(12);
    for direction in [Direction::Forward, Direction::Backward] {
        let reader = fragment.reader();
        let guard = Guard::enter();
        let mut cursor =
            reader.scan(&guard, IndexId(0), KeyBounds::ALL, direction, Visibility::Committed).unwrap();
        let mut batch = ScanBatch::default();
        let mut found = Vec::new();
        let mut epoch = 2;
        while cursor.next_batch(1 + prng.index(20), &mut batch) != BatchEnd::End || !batch.rows().is_empty() {
            found.extend(batch.rows().iter().map(|row| row.key().to_vec()));
            // The nodes ahead are split, then merged again.
            for _ in 0..20 {
                let id = i64::try_from(prng.below(IDS)).unwrap();
                if id % 10 != 0 {
                    let bytes = row(id, 0, b"comes and goes");
                    commit_row(&mut fragment, id, prng.chance(1, 2).then_some(bytes.as_slice()), epoch);
                    epoch += 1;
                }
            }
            fragment.reclaim(50);
        }
        let is_in_order = |pair: &[Vec<u8>]| (pair[0] < pair[1]) == (direction == Direction::Forward);
        assert!(found.windows(2).all(is_in_order), "{direction:?}");
        for number in 0..count {
            assert!(found.contains(&key(lasting(number))), "{direction:?} misses {number}");
        }
    }
}
