//! One writer and two readers on real threads, for a bounded number of rounds.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rows that are always there: readers must find every one in every scan and lookup, while others come and go around
/// them.
const LASTING: i64 = if cfg!(miri) { 12 } else { 200 };
const ROUNDS: u64 = if cfg!(miri) { 60 } else { 48_000 };

/// So many rounds other rows come, then they go; enough for a second segment of the hash index.
const WAVE: u64 = if cfg!(miri) { 20 } else { 8_000 };

/// A row whose bytes tell whether they were torn.
fn checked_row(id: i64, k: i64, epoch: u64) -> Vec<u8> {
    let length = 8 + usize::try_from(epoch % 50).unwrap();
    let mut pad = epoch.to_le_bytes().to_vec();
    pad.resize(length, u8::try_from(epoch % 251).unwrap());
    row(id, k, &pad)
}

fn epoch_of(layout: &RowLayout, bytes: &[u8]) -> u64 {
    let ValueRef::Bytes(pad) = layout.column(bytes, ColumnIndex(2)) else { panic!() };
    let epoch = u64::from_le_bytes(pad[..8].try_into().unwrap());
    assert_eq!(pad.len(), 8 + usize::try_from(epoch % 50).unwrap());
    assert!(pad[8..].iter().all(|byte| u64::from(*byte) == epoch % 251));
    epoch
}

/// Odd ids last.
const fn lasting(number: i64) -> i64 {
    number * 2 + 1
}

/// Lasting rows among others that come and go, in one call: none is missed, and none is older than it was before.
fn read_many(reader: &Reader, guard: &Guard, newest: &[AtomicU64], prng: &mut Prng) {
    let definition = definition(true);
    let ids: Vec<i64> = (0..MANY_MAX)
        .map(|_| {
            let lasts = prng.chance(2, 3);
            let number =
                i64::try_from(prng.below(if lasts { LASTING.unsigned_abs() } else { WAVE })).unwrap();
            if lasts { lasting(number) } else { number * 2 }
        })
        .collect();
    let at_least = |id: i64| match usize::try_from(id).unwrap() {
        id if id % 2 == 1 => newest[id / 2].load(Ordering::Acquire),
        _ => 0,
    };
    let at_least: Vec<u64> = ids.iter().map(|id| at_least(*id)).collect();
    let keys: Vec<Vec<u8>> = ids.iter().map(|id| key(*id)).collect();
    let wanted: Vec<_> = keys.iter().map(|key| wanted(reader, key)).collect();
    let mut found = [Lookup::Undecided; MANY_MAX];
    get_many(guard, &wanted, Visibility::Committed, &mut found);
    for ((found, id), at_least) in found.iter().zip(ids).zip(at_least) {
        match found {
            Lookup::Found(bytes) => {
                assert_eq!(definition.layout().column(bytes, ColumnIndex(0)), ValueRef::Int(id));
                assert!(epoch_of(definition.layout(), bytes) >= at_least, "a read went back in time");
            }
            Lookup::Absent => assert!(id % 2 == 0, "row {id} lasts"),
            Lookup::Undecided => panic!("nothing is prepared"),
        }
    }
}

fn read(reader: &Reader, newest: &[AtomicU64], is_done: &AtomicBool, seed: u64, is_registered: bool) {
    let slot = is_registered.then(memory::quiescence::register_thread);
    let definition = definition(true);
    let mut prng = Prng::new(seed);
    let mut rounds = 0_u64;
    while !is_done.load(Ordering::Relaxed) || rounds < 3 {
        rounds += 1;
        let guard = Guard::enter();
        for _ in 0..50 {
            let number = prng.below(LASTING.unsigned_abs());
            let id = lasting(i64::try_from(number).unwrap());
            let at_least = newest[usize::try_from(number).unwrap()].load(Ordering::Acquire);
            let Lookup::Found(bytes) = reader.get(&guard, &key(id), Visibility::Committed) else {
                panic!("row {id} lasts");
            };
            assert!(epoch_of(definition.layout(), bytes) >= at_least, "a read went back in time");
        }
        for _ in 0..10 {
            read_many(reader, &guard, newest, &mut prng);
        }
        for index in [PRIMARY, BY_K] {
            let direction = if prng.chance(1, 2) { Direction::Forward } else { Direction::Backward };
            let mut cursor =
                reader.scan(&guard, index, KeyBounds::ALL, direction, Visibility::Committed).unwrap();
            let mut previous: Option<&[u8]> = None;
            let mut found = 0;
            let in_batches = prng.chance(1, 2);
            let mut batch = ScanBatch::default();
            let mut items = Vec::new();
            loop {
                items.clear();
                if in_batches {
                    let end = cursor.next_batch(1 + prng.index(300), &mut batch);
                    assert!(!matches!(end, BatchEnd::Undecided { .. }), "nothing is prepared");
                    items.extend(batch.rows().iter().map(|row| (row.index_key(), row.key(), row.bytes())));
                } else {
                    items.extend(cursor.by_ref().take(100).map(|item| match item {
                        ScanItem::Row { index_key, key, row } => (index_key, key, row),
                        ScanItem::Undecided { .. } => panic!("nothing is prepared"),
                    }));
                }
                if items.is_empty() {
                    break;
                }
                for (index_key, key, row) in &items {
                    if let Some(previous) = previous {
                        assert_eq!(previous < *index_key, direction == Direction::Forward);
                    }
                    previous = Some(index_key);
                    epoch_of(definition.layout(), row);
                    found += i64::from(key[3] % 2 == 1);
                }
            }
            // An update that moves a row in the index may be met before and after, or not at all.
            assert!(index == BY_K || found == LASTING, "{found} of {LASTING}");
        }
        drop(guard);
        if let Some(slot) = &slot {
            slot.announce();
        }
    }
}

#[test]
fn one_writer_two_readers() {
    let memory = memory(64);
    let mut fragment = Fragment::new(definition(true), memory);
    let newest: Vec<AtomicU64> = (0..LASTING).map(|_| AtomicU64::new(1)).collect();
    for number in 0..LASTING {
        commit_row(&mut fragment, lasting(number), Some(&checked_row(lasting(number), 1, 1)), 1);
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (reader, newest, is_done) = (fragment.reader(), &newest, &is_done);
            scope.spawn(move || read(&reader, newest, is_done, seed, seed == 0));
        }
        let mut prng = Prng::new(99);
        let mut present = BTreeSet::new();
        for epoch in 2..ROUNDS {
            let number = prng.below(LASTING.unsigned_abs());
            let id = lasting(i64::try_from(number).unwrap());
            let k = i64::try_from(prng.below(5)).unwrap();
            let transaction = TransactionId(epoch);
            let handle = fragment.stage(&key(id), transaction, Some(&checked_row(id, k, epoch))).unwrap();
            if prng.chance(1, 4) {
                fragment.abort(handle, transaction);
            } else {
                fragment.commit(handle, transaction, Epoch(epoch));
                newest[usize::try_from(number).unwrap()].store(epoch, Ordering::Release);
            }
            // Waves of other rows, so that all indexes grow, split, merge and shrink.
            let grows = (epoch / WAVE).is_multiple_of(2);
            let other = i64::try_from(prng.below(WAVE)).unwrap() * 2;
            if grows {
                commit_row(&mut fragment, other, Some(&checked_row(other, k, epoch)), epoch);
                present.insert(other);
            } else if let Some(other) = present.pop_first() {
                commit_row(&mut fragment, other, None, epoch);
            }
            fragment.reclaim(16);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    reclaim_all(&mut fragment);
    assert_eq!(fragment.statistics().retired_bytes, 0);
}
