use super::super::tests::{commit_row, definition, entry_of, key, memory, reclaim_all, row};
use crate::*;
use memory::{Guard, MemoryManager, Region};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::Prng;
use types::*;

const PRIMARY: IndexId = IndexId(0);
const BY_K: IndexId = IndexId(1);

fn bare(memory: &Arc<MemoryManager>) -> Fragment {
    Fragment::new(Arc::new(FragmentDefinition::bare(TableId(1))), Arc::clone(memory))
}

/// Gives the fragment the definition with an index, and fills that; how many calls it took.
fn index_all(fragment: &mut Fragment, rows: u32) -> usize {
    fragment.set_definition(definition(true));
    let mut after: Option<Box<[u8]>> = None;
    for calls in 1.. {
        match fragment.load_index(BY_K, after.as_deref(), rows).expect("there is memory") {
            BackfillProgress::End => return calls,
            BackfillProgress::More(last) => after = Some(last),
        }
    }
    unreachable!("it ends")
}

fn entries(fragment: &Fragment, index: IndexId, visibility: Visibility) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let reader = fragment.reader();
    let guard = Guard::enter();
    let scan = reader.scan(&guard, index, KeyBounds::ALL, Direction::Forward, visibility);
    scan.expect("the index is there").map(entry_of).collect()
}

/// Rows and deletes in any order of epochs: what stays is the last one of the highest epoch, and it looks like a
/// fragment that transactions have written.
#[test]
fn the_highest_epoch_stays_and_among_equal_ones_the_last() {
    for seed in 0..20 {
        let mut random = Prng::new(seed);
        let memory = memory(64);
        let mut loaded = bare(&memory);
        let mut model: BTreeMap<i64, (u64, Vec<u8>)> = BTreeMap::new();
        for _ in 0..random.below(3_000) {
            let id = i64::try_from(random.below(300)).unwrap();
            let epoch = 10 + random.below(5);
            let bytes = random.chance(3, 4).then(|| {
                let k = i64::try_from(random.below(50)).unwrap();
                row(id, k, &vec![b'x'; random.index(200)])
            });
            loaded.load(&key(id), Epoch(epoch), bytes.as_deref()).expect("there is memory");
            if model.get(&id).is_none_or(|(known, _)| *known <= epoch) {
                match bytes {
                    Some(bytes) => model.insert(id, (epoch, bytes)),
                    None => model.remove(&id),
                };
            }
        }
        let calls = index_all(&mut loaded, 100);
        assert_eq!(calls, model.len() / 100 + 1);

        let mut written = Fragment::new(definition(true), Arc::clone(&memory));
        for (id, (epoch, bytes)) in &model {
            commit_row(&mut written, *id, Some(bytes), *epoch);
            assert_eq!(loaded.committed(&key(*id)), Some((Epoch(*epoch), Some(&bytes[..]))), "seed {seed}");
        }
        for index in [PRIMARY, BY_K] {
            for visibility in [Visibility::Committed, Visibility::Snapshot(Epoch(12))] {
                let expected = entries(&written, index, visibility);
                assert_eq!(entries(&loaded, index, visibility), expected, "seed {seed}");
            }
        }
        let statistics = loaded.statistics();
        assert_eq!((statistics.rows, statistics.versions), (model.len() as u64, model.len() as u64));
        assert_eq!(statistics.data_bytes, written.statistics().data_bytes);
    }
}

#[test]
fn a_loaded_fragment_is_written_as_any_other() {
    let memory = memory(64);
    let mut fragment = bare(&memory);
    for id in 0..100 {
        fragment.load(&key(id), Epoch(10), Some(&row(id, id % 7, b"old"))).expect("there is memory");
    }
    index_all(&mut fragment, 30);
    commit_row(&mut fragment, 5, Some(&row(5, 99, b"new")), 11);
    commit_row(&mut fragment, 6, None, 11);
    commit_row(&mut fragment, 100, Some(&row(100, 1, b"new")), 11);
    let rows = entries(&fragment, BY_K, Visibility::Committed);
    assert_eq!(rows.len(), 100);
    assert_eq!(rows.last().map(|(_, row)| row.clone()), Some(Some(row(5, 99, b"new"))));
    assert_eq!(rows.len(), entries(&fragment, PRIMARY, Visibility::Committed).len());
}

#[test]
fn loading_may_use_the_last_of_the_memory_and_a_refusal_changes_nothing() {
    let memory = self::memory(4);
    let mut fragment = bare(&memory);
    let pad = [b'x'; 1_000];
    let mut count = 0;
    let full = loop {
        match fragment.load(&key(count), Epoch(10), Some(&row(count, 1, &pad))) {
            Ok(()) => count += 1,
            Err(full) => break full,
        }
    };
    assert_eq!(full.region, Region::DataMemory);
    let mut written = Fragment::new(definition(false), self::memory(4));
    let staged =
        (0..).find(|id| written.stage(&key(*id), TransactionId(1), Some(&row(*id, 1, &pad))).is_err());
    assert!(staged.is_some_and(|staged| staged < count * 99 / 100), "{staged:?} {count}");
    assert_eq!(entries(&fragment, PRIMARY, Visibility::Committed).len() as i64, count);
    assert_eq!(fragment.committed(&key(count)), None);
    // Deletes need no memory, and what they free is used again.
    for id in 0..count / 2 {
        fragment.load(&key(id), Epoch(11), None).expect("a delete");
    }
    reclaim_all(&mut fragment);
    assert!(fragment.load(&key(count), Epoch(10), Some(&row(count, 1, &pad))).is_ok());
}

#[test]
fn long_keys_count_for_several_rows() {
    let memory = memory(64);
    let mut fragment = bare(&memory);
    for id in 0..100 {
        let long = [&key(id)[..], &[b'x'; 10 * 64]].concat();
        fragment.load(&long, Epoch(10), Some(&row(id, id % 7, b""))).expect("there is memory");
    }
    assert_eq!(index_all(&mut fragment, 110), 11);
    assert_eq!(entries(&fragment, BY_K, Visibility::Committed).len(), 100);
}
