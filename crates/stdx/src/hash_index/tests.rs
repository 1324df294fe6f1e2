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
    let begins_alike = |hash: &u64| super::spread(super::cut(*hash)) >> 20 == 7;
    let mut alike = (0..u32::MAX).map(u64::from).filter(begins_alike);
    let hashes: Vec<u64> = alike.by_ref().take(4_000).collect();
    for hash in &hashes {
        index.push(*hash);
    }
    assert!(hashes.iter().zip(0..).all(|(hash, number)| found(&index, *hash) == [number]));
    assert!(alike.take(100).all(|hash| index.first(hash).is_none()));
    assert!(index.depth > 12);
}

#[test]
fn is_walked_in_the_order_of_its_hashes() {
    for count in [0, 1, 11, 12, 100, 1_535, 1_536, 5_001, 40_000] {
        let mut prng = Prng::new(count);
        let mut index = HashIndex::default();
        let mut expected = Vec::new();
        for _ in 0..count {
            // Half of the hashes come again.
            let hash = hashed(prng.next_u64() % (count / 2 + 1));
            let number = index.push(hash);
            assert_eq!(index.hash(number), HashIndex::kept(hash));
            expected.push((super::spread(HashIndex::kept(hash)), number));
        }
        expected.sort_unstable();
        let (walked_numbers, steps) = walked(&index);
        assert_eq!(walked_numbers, expected);
        assert_eq!(steps, index.segments.len());
        index.clear();
        assert_eq!(walked(&index), (Vec::new(), 0));
    }
}

#[test]
fn a_step_of_a_walk_is_bounded_however_many_numbers_have_one_hash() {
    let mut index = HashIndex::default();
    let hashes = std::iter::repeat_n(7, 10_000).chain((0..5_000).map(|number| number << 20)).chain(0..5_000);
    for hash in hashes {
        index.push(hash);
    }
    let (walked, steps) = walked(&index);
    assert_eq!(steps, index.segments.len());
    assert!(walked.is_sorted());
    assert_eq!(walked.len(), index.len());
}

/// All numbers behind their places in the order, and how many steps a walk takes.
fn walked(index: &HashIndex) -> (Vec<(u32, u32)>, usize) {
    let (mut walked, mut steps) = (Vec::new(), 0);
    let (mut numbers, mut at) = (Vec::new(), 0);
    while let Some(next) = index.walk(at, &mut numbers) {
        assert!(numbers.len() < SLOTS_MAX);
        for (order, oldest) in &numbers {
            let same_hash = std::iter::successors(Some(*oldest), |number| index.next(*number));
            walked.extend(same_hash.map(|number| (*order, number)));
        }
        (at, steps) = (next, steps + 1);
    }
    (walked, steps)
}

fn hashed(number: u64) -> u64 {
    crate::hash64(&number.to_le_bytes())
}
