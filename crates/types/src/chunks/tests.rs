use super::*;
use std::collections::BTreeMap;
use stdx::Prng;

fn of(ids: impl IntoIterator<Item = u32>) -> TableChunks<u32> {
    let mut chunks = TableChunks::default();
    for id in ids {
        chunks.insert(TableId(id), id);
    }
    chunks
}

#[test]
fn it_is_a_map_in_order_of_the_ids() {
    let mut prng = Prng::new(7);
    let (mut chunks, mut model) = (TableChunks::default(), BTreeMap::new());
    for step in 0..4_000_u32 {
        // (Ids far apart leave chunks out, so that a chunk's number is not its position.)
        let id = TableId(u32::try_from(prng.below(200)).expect("small") * (1 + step / 1_000 * 7));
        if prng.below(3) == 0 {
            assert_eq!(chunks.remove(id), model.remove(&id));
        } else {
            assert_eq!(chunks.insert(id, step), model.insert(id, step));
        }
        assert_eq!(chunks.get(id), model.get(&id));
        assert_eq!(chunks.len(), model.len());
    }
    assert!(chunks.iter().eq(model.iter().map(|(id, value)| (*id, value))));
    assert!(chunks.keys().rev().eq(model.keys().rev().copied()));
    for id in (0..6_000).map(TableId) {
        assert_eq!(chunks.get(id), model.get(&id));
    }
    for id in model.keys() {
        assert!(chunks.remove(*id).is_some());
    }
    assert_eq!(chunks, TableChunks::default(), "empty chunks go");
}

#[test]
fn a_change_copies_the_chunk_that_it_touches() {
    let before = of(0..20_000);
    let mut after = before.clone();
    after.insert(TableId(10_000), 1);
    after.remove(TableId(10_001));
    after.insert(TableId(20_030), 2);
    let differences = before.differences(&after);
    // Two of 313 chunks: that of 10 000, and the last one, which has 32 ids and gets another.
    assert_eq!(differences.len(), 64 + 32 + 1);
    let changed: Vec<_> = differences.into_iter().filter(|(_, before, after)| before != after).collect();
    let expected: [Difference<'_, u32>; 3] = [
        (TableId(10_000), Some(&10_000), Some(&1)),
        (TableId(10_001), Some(&10_001), None),
        (TableId(20_030), None, Some(&2)),
    ];
    assert_eq!(changed, expected);
}

#[test]
fn differences_hold_what_only_one_side_has() {
    let (some, none) = (of([5, 700]), TableChunks::default());
    let ids = |differences: Vec<Difference<'_, u32>>| -> Vec<(u32, bool, bool)> {
        differences.into_iter().map(|(id, old, new)| (id.0, old.is_some(), new.is_some())).collect()
    };
    assert_eq!(ids(some.differences(&none)), [(5, true, false), (700, true, false)]);
    assert_eq!(ids(none.differences(&some)), [(5, false, true), (700, false, true)]);
    assert_eq!(ids(some.differences(&some.clone())), []);
    assert_eq!(ids(some.differences(&of([300]))), [(5, true, false), (300, false, true), (700, true, false)]);
}
