//! Numbers found by hash, for tables of millions of rows that lie elsewhere: it grows by one bucket at a time.
//!
//! A hash map that doubles moves everything that it has, and its thread does nothing else meanwhile: a tenth of a
//! second for some million entries. Here each new hash splits one bucket (Litwin's linear hashing), and all memory is
//! in pages of bounded size.
//!
//! ```text
//! bucket ─► entry ─► entry ─► …            (different hashes of a bucket)
//!             └► entry ─► entry            (further numbers of the same hash, oldest first)
//! ```
//! *In order.* A bucket is the low bits of its hashes. Buckets are visited in the order of their numbers' bits turned
//! round, so that numbers come out in the order of their hashes turned round ([`HashIndex::walk`]). Nothing is sorted
//! but the few numbers of two buckets.
//!
//! Invariants: numbers are given in order, from 0. Those of one hash come out in the order in which they went in.
//!
//! Deliberately not here: what the numbers stand for, and whether things of one hash are equal. Hashes are cut to 32
//! bits.

#[cfg(test)]
mod tests;

use crate::Pages;

/// No entry.
const NONE: u32 = u32::MAX;
/// The first buckets; a power of two.
const FIRST_BUCKETS: usize = 16;

/// A number and its neighbours.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    /// Of the first entry of a hash: the first one of another hash in the bucket. Of others: unused.
    next_hash: u32,
    /// The next one of the same hash.
    next: u32,
    /// Of the first entry of a hash: the last one.
    last: u32,
}

/// The index.
#[derive(Clone, Debug, Default)]
pub struct HashIndex {
    /// The first entry of each bucket.
    buckets: Pages<u32>,
    entries: Pages<Entry>,
    /// Different hashes.
    hash_count: usize,
}

impl HashIndex {
    /// How many numbers there are; the next one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The memory it holds, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.buckets.size() + self.entries.size()
    }

    /// Forgets all numbers, and keeps the memory of a few.
    pub fn clear(&mut self) {
        self.buckets.clear();
        self.entries.clear();
        self.hash_count = 0;
    }

    /// The oldest number of a hash.
    #[inline]
    #[must_use]
    pub fn first(&self, hash: u64) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let hash = cut(hash);
        let mut number = *self.buckets.get(self.bucket(hash));
        while number != NONE {
            let entry = self.entries.get(number as usize);
            if entry.hash == hash {
                return Some(number);
            }
            number = entry.next_hash;
        }
        None
    }

    /// The next number of the same hash.
    #[inline]
    #[must_use]
    pub fn next(&self, number: u32) -> Option<u32> {
        let next = self.entries.get(number as usize).next;
        (next != NONE).then_some(next)
    }

    /// Adds the next number, which is given back.
    pub fn push(&mut self, hash: u64) -> u32 {
        crate::require!(self.entries.len() < NONE as usize, "fewer entries than numbers");
        #[expect(clippy::cast_possible_truncation, reason = "it was just compared")]
        let number = self.entries.len() as u32;
        let known = self.first(hash);
        let hash = cut(hash);
        self.entries.push(Entry { hash, next_hash: NONE, next: NONE, last: number });
        if let Some(first) = known {
            let last = std::mem::replace(&mut self.entries.get_mut(first as usize).last, number);
            self.entries.get_mut(last as usize).next = number;
            return number;
        }
        self.hash_count += 1;
        while self.buckets.len() < self.hash_count.max(FIRST_BUCKETS) {
            self.split();
        }
        self.put(number);
        number
    }

    /// The bits of a hash that are kept. They are a hash again, of which all bits are kept.
    #[inline]
    #[must_use]
    pub fn kept(hash: u64) -> u32 {
        cut(hash)
    }

    /// The bits that are kept of the hash of a number.
    #[must_use]
    pub fn hash(&self, number: u32) -> u32 {
        self.entries.get(number as usize).hash
    }

    /// The numbers of the next buckets, each behind its place in the order of hashes turned round; they may be none.
    /// False if there are no more buckets. `step` counts from 0.
    pub fn walk(&self, step: u32, numbers: &mut Vec<(u32, u32)>) -> bool {
        numbers.clear();
        let half = self.buckets.len().next_power_of_two() / 2;
        if self.is_empty() || step as usize >= half {
            return false;
        }
        // The low bits of the bucket; it may be split into this one and one in the upper half.
        let low = (step.reverse_bits() >> (u32::BITS - half.trailing_zeros())) as usize;
        for bucket in [low, low + half].into_iter().filter(|bucket| *bucket < self.buckets.len()) {
            let mut first = *self.buckets.get(bucket);
            while first != NONE {
                let entry = self.entries.get(first as usize);
                let order = entry.hash.reverse_bits();
                let same_hash = std::iter::successors(Some(first), |number| self.next(*number));
                numbers.extend(same_hash.map(|number| (order, number)));
                first = entry.next_hash;
            }
        }
        numbers.sort_unstable();
        true
    }

    /// The bucket of a hash: its low bits, one fewer if there is no such bucket yet.
    fn bucket(&self, hash: u32) -> usize {
        let count = self.buckets.len();
        let mask = count.next_power_of_two() - 1;
        let bucket = hash as usize & mask;
        if bucket < count { bucket } else { bucket & (mask >> 1) }
    }

    /// Puts the first entry of a hash into its bucket.
    fn put(&mut self, number: u32) {
        let bucket = self.bucket(self.entries.get(number as usize).hash);
        let first = std::mem::replace(self.buckets.get_mut(bucket), number);
        self.entries.get_mut(number as usize).next_hash = first;
    }

    /// Adds a bucket, and moves into it what belongs there.
    fn split(&mut self) {
        let added = self.buckets.len();
        self.buckets.push(NONE);
        if added == 0 {
            return;
        }
        let old = added - (added + 1).next_power_of_two() / 2;
        let mut number = std::mem::replace(self.buckets.get_mut(old), NONE);
        while number != NONE {
            let next = self.entries.get(number as usize).next_hash;
            self.put(number);
            number = next;
        }
    }
}

/// The bits of a hash that are kept.
fn cut(hash: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the upper half is folded into the lower one")]
    let folded = (hash ^ (hash >> 32)) as u32;
    folded
}
