//! Numbers found by hash, for tables of millions of rows that lie elsewhere: it grows in steps of bounded size.
//!
//! A hash map that doubles moves everything that it has, and its thread does nothing else meanwhile: a tenth of a
//! second for some million entries. Here hashes are in segments, and a full segment is split by the next bit of its
//! hashes (extendible hashing: Fagin, Nievergelt, Pippenger, Strong 1979). In a segment a hash is looked for from its
//! own slot on (open addressing).
//!
//! ```text
//! first bits of the hash ─► directory ─► segment ─► slot: hash, its oldest number ─► number ─► number …
//! ```
//! *In order.* The directory is in the order of hashes, so numbers come out in that order segment by segment
//! ([`HashIndex::walk`]). Nothing is sorted but the hashes of one segment.
//!
//! Invariants: numbers are given in order, from 0. Those of one hash come out in the order in which they went in. All
//! hashes of a segment begin with the same `depth` bits, and the directory has an entry for each beginning. At most
//! three quarters of a segment's slots are used.
//!
//! Deliberately not here: what the numbers stand for, and whether things of one hash are equal. Hashes are cut to 32
//! bits, so some different ones become one.

#[cfg(test)]
mod tests;

use crate::Pages;
use crate::disposal::{free_later, free_some};

/// No number.
const NONE: u32 = u32::MAX;
/// The slots of the first segment, and those from which on a segment is split; powers of two.
const FIRST_SLOTS: usize = 16;
const SLOTS_MAX: usize = 2_048;

/// A hash that was pushed, and its oldest number.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    /// `NONE`: the slot is free.
    number: u32,
}

const FREE: Slot = Slot { hash: 0, number: NONE };

/// A number's hash, and other numbers of the same hash.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The bits that are kept.
    hash: u32,
    /// The next one.
    next: u32,
    /// Of the oldest one: the last one. Of others: unused.
    last: u32,
}

/// Hashes with the same first bits.
#[derive(Clone, Debug)]
struct Segment {
    slots: Box<[Slot]>,
    used: usize,
    /// How many bits are the same.
    depth: u32,
}

impl Segment {
    fn new(slots: usize, depth: u32) -> Self {
        Self { slots: vec![FREE; slots].into_boxed_slice(), used: 0, depth }
    }

    /// The slot that has a hash, or the free one where it would be.
    #[inline]
    fn place(&self, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        while self.slots[place].number != NONE && self.slots[place].hash != hash {
            place = (place + 1) & mask;
        }
        place
    }

    fn put(&mut self, slot: Slot) {
        let place = self.place(slot.hash);
        self.slots[place] = slot;
        self.used += 1;
    }

    fn is_full(&self) -> bool {
        self.used * 4 >= self.slots.len() * 3
    }
}

/// The index.
#[derive(Clone, Debug, Default)]
pub struct HashIndex {
    /// The segment for each beginning of hashes, of `depth` bits.
    directory: Vec<u32>,
    depth: u32,
    segments: Vec<Segment>,
    /// Bytes of directory and segments.
    held: usize,
    /// By number.
    links: Pages<Link>,
}

impl HashIndex {
    /// How many numbers there are; the next one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The memory it holds, in bytes.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.held + self.links.size()
    }

    /// Forgets all numbers, and keeps the memory of a few.
    pub fn clear(&mut self) {
        self.links.clear();
        self.directory.truncate(1);
        free_later(self.segments.split_off(self.segments.len().min(1)));
        self.depth = 0;
        for segment in &mut self.segments {
            segment.slots.fill(FREE);
            (segment.used, segment.depth) = (0, 0);
        }
        let slots: usize = self.segments.iter().map(|segment| segment.slots.len()).sum();
        self.held = slots * size_of::<Slot>()
            + self.segments.capacity() * size_of::<Segment>()
            + self.directory.capacity() * size_of::<u32>();
    }

    /// The oldest number of a hash.
    #[inline]
    #[must_use]
    pub fn first(&self, hash: u64) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let hash = spread(cut(hash));
        let segment = &self.segments[self.segment_of(hash)];
        let number = segment.slots[segment.place(hash)].number;
        (number != NONE).then_some(number)
    }

    /// The next number of the same hash.
    #[inline]
    #[must_use]
    pub fn next(&self, number: u32) -> Option<u32> {
        let next = self.links.get(number as usize).next;
        (next != NONE).then_some(next)
    }

    /// Adds the next number, which is given back.
    #[inline]
    pub fn push(&mut self, hash: u64) -> u32 {
        crate::require!(self.links.len() < NONE as usize, "fewer entries than numbers");
        #[expect(clippy::cast_possible_truncation, reason = "it was just compared")]
        let number = self.links.len() as u32;
        let kept = cut(hash);
        self.links.push(Link { hash: kept, next: NONE, last: number });
        if self.segments.is_empty() {
            self.add_segment(Segment::new(FIRST_SLOTS, 0));
            self.set_directory(vec![0]);
        }
        let hash = spread(kept);
        let at = self.segment_of(hash);
        let segment = &mut self.segments[at];
        let place = segment.place(hash);
        let first = segment.slots[place].number;
        if first != NONE {
            let last = std::mem::replace(&mut self.links.get_mut(first as usize).last, number);
            self.links.get_mut(last as usize).next = number;
            return number;
        }
        segment.slots[place] = Slot { hash, number };
        segment.used += 1;
        if segment.is_full() {
            self.grow(at);
        }
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
        self.links.get(number as usize).hash
    }

    /// The oldest numbers of the hashes in a segment, each behind its hash's place in the order. `at` is 0 for the
    /// first segment; what is given back says where the next one is. None if there is no segment.
    pub fn walk(&self, at: usize, numbers: &mut Vec<(u32, u32)>) -> Option<usize> {
        numbers.clear();
        if self.is_empty() {
            return None;
        }
        let segment = &self.segments[*self.directory.get(at)? as usize];
        numbers.extend(used(segment).map(|slot| (slot.hash, slot.number)));
        numbers.sort_unstable();
        Some(at + (1 << (self.depth - segment.depth)))
    }

    #[inline]
    fn segment_of(&self, hash: u32) -> usize {
        self.directory[beginning(hash, self.depth)] as usize
    }

    fn add_segment(&mut self, segment: Segment) {
        let capacity = self.segments.capacity();
        self.held += segment.slots.len() * size_of::<Slot>();
        self.segments.push(segment);
        self.held += (self.segments.capacity() - capacity) * size_of::<Segment>();
    }

    fn set_directory(&mut self, directory: Vec<u32>) {
        self.held += directory.capacity() * size_of::<u32>();
        self.held -= self.directory.capacity() * size_of::<u32>();
        self.directory = directory;
    }

    /// Makes room in a segment: a small one is made larger, another one is split.
    #[cold]
    fn grow(&mut self, at: usize) {
        let Segment { slots, depth, .. } = &self.segments[at];
        let (count, depth) = (slots.len(), *depth);
        // With all of their bits alike hashes are equal, and there are fewer of them.
        if count < SLOTS_MAX || depth == u32::BITS {
            let larger = Segment::new(2 * count, depth);
            self.held += count * size_of::<Slot>();
            let old = std::mem::replace(&mut self.segments[at], larger);
            used(&old).for_each(|slot| self.segments[at].put(slot));
            return;
        }
        if depth == self.depth {
            self.set_directory(self.directory.iter().flat_map(|segment| [*segment; 2]).collect());
            self.depth += 1;
        }
        #[expect(clippy::cast_possible_truncation, reason = "there are fewer segments than numbers")]
        let added = self.segments.len() as u32;
        free_some(1);
        self.add_segment(Segment::new(count, depth + 1));
        let old = std::mem::replace(&mut self.segments[at], Segment::new(count, depth + 1));
        // Of the directory's entries for the segment, the second half is for a set bit.
        let first = used(&old).next().map_or(0, |slot| beginning(slot.hash, depth));
        let entries = 1 << (self.depth - depth);
        let range = first * entries..(first + 1) * entries;
        self.directory[range][entries / 2..].fill(added);
        for slot in used(&old) {
            let segment = self.segment_of(slot.hash);
            self.segments[segment].put(slot);
        }
    }
}

impl Drop for HashIndex {
    fn drop(&mut self) {
        free_later(std::mem::take(&mut self.segments));
    }
}

fn used(segment: &Segment) -> impl Iterator<Item = Slot> + '_ {
    segment.slots.iter().copied().filter(|slot| slot.number != NONE)
}

/// The first bits of a hash.
#[inline]
fn beginning(hash: u32, bits: u32) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "a part of 32 bits")]
    let beginning = (u64::from(hash) >> (u32::BITS - bits)) as usize;
    beginning
}

/// The bits of a hash that are kept.
#[inline]
fn cut(hash: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the upper half is folded into the lower one")]
    let folded = (hash ^ (hash >> 32)) as u32;
    folded
}

/// The same bits, so that the first and the last ones depend on all: different ones stay different.
#[inline]
fn spread(kept: u32) -> u32 {
    let product = kept.wrapping_mul(0x9e37_79b1);
    product ^ (product >> 15)
}
