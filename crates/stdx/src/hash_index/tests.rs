use super::{HashIndex, SLOTS_MAX};
use crate::Prng;
use std::collections::BTreeMap;

fn found(index: &HashIndex, hash: u64) -> Vec<u32> {
    std::iter::successors(index.first(hash), |number| index.next(*number)).collect()
}

#[test]
fn finds_what_a_map_of_lists_finds() {
    for (seed, distinct) in [(1, 1), (2, 40), (3, 3_000), (4, u64::from(u32::MAX))] {
        let mut prng = Prng::new(seed);
        let mut index = HashIndex::default();
        let mut model: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for round in 0..5_000_u64 {
            // Hashes that differ in their upper halves only, and such that share low bits, too.
            let hash = (prng.next_u64() % distinct) << if round % 2 == 0 { 0 } else { 16 };
            let number = index.push(hash);
            assert_eq!(number as usize, index.len() - 1);
            // Two hashes that are one when cut are one here.
            let cut = u64::from(super::cut(hash));
            model.entry(cut).or_default().push(number);
            if round % 97 == 0 {
                for (hash, numbers) in &model {
                    assert_eq!(&found(&index, *hash), numbers);
                }
            }
        }
        assert_eq!(found(&index, 0x1234_5678_9abc_def0), Vec::<u32>::new());
        index.clear();
        assert!(index.is_empty() && index.first(0).is_none());
        assert_eq!(index.push(7), 0);
        assert_eq!(found(&index, 7), [0]);
    }
}

#[test]
fn grows_by_segments_that_are_never_full() {
    let mut index = HashIndex::default();
    assert_eq!(index.size(), 0);
    for number in 0..20_000 {
        index.push(number);
        index.push(number);
    }
    assert!(index.segments.iter().all(|segment| segment.slots.len() <= SLOTS_MAX && !segment.is_full()));
    let used: usize = index.segments.iter().map(|segment| segment.used).sum();
    assert_eq!(used, 20_000);
    let slots: usize = index.segments.iter().map(|segment| segment.slots.len()).sum();
    assert!(slots < 6 * used && index.segments.len() <= index.directory.len());
    let held = slots * size_of::<super::Slot>()
        + index.segments.capacity() * size_of::<super::Segment>()
        + index.directory.capacity() * size_of::<u32>();
    assert_eq!(index.size(), held + index.links.size());
}

#[test]
fn hashes_that_begin_alike_are_told_apart() {
    let mut index = HashIndex::default();
    let mut alike = (0..u64::from(u32::MAX)).filter(|hash| super::spread(*hash) >> 20 == 7);
    let hashes: Vec<u64> = alike.by_ref().take(4_000).collect();
    for hash in &hashes {
        index.push(*hash);
    }
    assert!(hashes.iter().zip(0..).all(|(hash, number)| found(&index, *hash) == [number]));
    assert!(alike.take(100).all(|hash| index.first(hash).is_none()));
    assert!(index.depth > 12);
}
