use super::{FIRST_BUCKETS, HashIndex};
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
fn has_a_bucket_for_each_hash() {
    let mut index = HashIndex::default();
    assert_eq!(index.size(), 0);
    for number in 0..10_000 {
        index.push(number);
        index.push(number);
        assert_eq!(index.buckets.len() as u64, (number + 1).max(FIRST_BUCKETS as u64));
    }
    assert!(index.size() >= 20_000 * size_of::<super::Entry>());
}

#[test]
fn is_walked_in_the_order_of_its_hashes() {
    for count in [0, 1, 15, 16, 17, 31, 32, 33, 100, 1_000, 5_001] {
        let mut prng = Prng::new(count);
        let mut index = HashIndex::default();
        let mut expected = Vec::new();
        for _ in 0..count {
            // Half of the hashes come again.
            let hash = hashed(prng.next_u64() % (count / 2 + 1));
            let number = index.push(hash);
            assert_eq!(index.hash(number), HashIndex::kept(hash));
            expected.push((HashIndex::kept(hash).reverse_bits(), number));
        }
        expected.sort_unstable();
        let (mut walked, mut numbers, mut step) = (Vec::new(), Vec::new(), 0);
        while index.walk(step, &mut numbers) {
            assert!(numbers.len() < 40);
            walked.append(&mut numbers);
            step += 1;
        }
        assert_eq!(walked, expected);
    }
}

fn hashed(number: u64) -> u64 {
    crate::hash64(&number.to_le_bytes())
}
