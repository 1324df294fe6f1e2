//! The hash index: primary key to row. Linear hashing (Litwin 1980) in buckets of one cache line.
//!
//! A bucket has seven slots and a link to an overflow bucket. A slot is a row's pointer with 16 bits of the key's hash
//! in its unused top bits, so a lookup touches the bucket's line and the row's. The table grows by one bucket at a
//! time: the next bucket in order is split when there are more than [`LOAD_MAX`] rows per bucket. Nothing is ever
//! copied at large: a directory points to segments of 512 buckets (a page each); the first segment starts with one
//! bucket and doubles.
//!
//! One writer; readers take no lock. `state` holds the number of buckets and a count of changes. The writer moves a row
//! by writing the copy, then storing `state`, then clearing the old slot. A reader that finds nothing looks at `state`
//! again and repeats if it changed. If it had missed the row because the old slot was already cleared, it sees the
//! changed `state`.
//!
//! Invariants: slots of a chain are filled from the front without holes, as the writer sees them. Every row is in the
//! chain that the current number of buckets gives for its hash. Buckets that are in no chain are all null.
//!
//! Deliberately not here: what a reader sees of the row it found.
#![expect(
    unsafe_code,
    reason = "readers follow pointers that one writer publishes and retires; each block states why it is sound"
)]

use crate::arena::{Arena, Purpose};
use crate::row::{Keyed, Row};
use memory::{RegionFull, Urgency};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

const SLOTS: usize = 7;
const SEGMENT_BITS: u32 = 9;
const SEGMENT_BUCKETS: usize = 1 << SEGMENT_BITS;
const BUCKET_BYTES: usize = size_of::<Bucket>();
/// More rows per bucket make the table grow (times two, to stay in integers).
const LOAD_MAX_TWICE: usize = 11;
/// Fewer rows per bucket make it shrink (times two).
const LOAD_MIN_TWICE: usize = 5;
const TAG_SHIFT: u32 = 48;
const POINTER_MASK: usize = (1 << TAG_SHIFT) - 1;
const COUNT_BITS: u32 = 40;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

const _: () = assert!(BUCKET_BYTES == 64 && SEGMENT_BUCKETS * BUCKET_BYTES == memory::PAGE_BYTES);

#[repr(C)]
struct Bucket {
    slots: [AtomicPtr<u8>; SLOTS],
    overflow: AtomicPtr<Bucket>,
}

/// The head of a directory; `capacity` segment pointers follow.
#[repr(C)]
struct Directory {
    capacity: usize,
}

const DIRECTORY_HEAD: usize = size_of::<Directory>();

/// The index.
pub(crate) struct HashIndex {
    state: AtomicU64,
    directory: AtomicPtr<Directory>,
    /// Rows; stored to by the owner only.
    rows: AtomicUsize,
}

/// A segment as the directory points to it. The binary logarithm of its number of buckets is in the pointer's top bits.
/// So a reader with an old `state` does not look behind a first segment that became smaller.
#[derive(Clone, Copy)]
struct Segment {
    buckets: NonNull<Bucket>,
    capacity: usize,
}

impl Segment {
    #[inline]
    fn of_tagged(tagged: *mut u8) -> Option<Self> {
        let buckets = NonNull::new(tagged.map_addr(|address| address & POINTER_MASK).cast())?;
        Some(Self { buckets, capacity: 1 << (tagged.addr() >> TAG_SHIFT) })
    }

    fn tagged(self) -> *mut u8 {
        let tag = self.capacity.ilog2() as usize;
        self.buckets.as_ptr().cast::<u8>().map_addr(|address| address | tag << TAG_SHIFT)
    }

    /// Its piece of memory.
    fn piece(self) -> (NonNull<u8>, usize) {
        (self.buckets.cast(), self.capacity * BUCKET_BYTES)
    }
}

/// The hash of a key in this index: unlike `stdx::hash64`, which has already chosen the partition, all its bits are
/// independent of that choice.
#[must_use]
#[inline]
pub(crate) fn hash_of(key: &[u8]) -> u64 {
    spread(stdx::hash64(key))
}

/// The same of a key whose `stdx::hash64` is known.
#[must_use]
#[inline]
pub(crate) fn spread(hash: u64) -> u64 {
    let product = u128::from(hash ^ 0x9fb2_1c65_1e98_df25) * 0xa24b_aed4_963e_e407;
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit product")]
    let folded = (product as u64) ^ ((product >> 64) as u64);
    folded
}

#[inline]
const fn tag_of(hash: u64) -> usize {
    (hash >> TAG_SHIFT) as usize
}

/// The bucket of a hash among `count` buckets.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "below count")]
fn bucket_of(hash: u64, count: usize) -> usize {
    let mask = count.next_power_of_two() - 1;
    let bucket = hash as usize & mask;
    if bucket < count { bucket } else { bucket & (mask >> 1) }
}

/// The bucket that bucket `number` was split from.
const fn parent_of(number: usize) -> usize {
    number - (1 << number.ilog2())
}

/// Slots of a chain.
struct Chain<'a> {
    bucket: Option<&'a Bucket>,
    position: usize,
}

impl<'a> Iterator for Chain<'a> {
    type Item = (&'a Bucket, &'a AtomicPtr<u8>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut bucket = self.bucket?;
        if self.position == SLOTS {
            // SAFETY: a thread that walks a chain may use its buckets for 'a; overflow buckets are linked after they
            // were filled, and retired not earlier than unlinked.
            bucket = unsafe { bucket.overflow.load(Ordering::Acquire).as_ref() }?;
            self.bucket = Some(bucket);
            self.position = 0;
        }
        self.position += 1;
        Some((bucket, &bucket.slots[self.position - 1]))
    }
}

impl Bucket {
    fn chain(&self) -> Chain<'_> {
        Chain { bucket: Some(self), position: 0 }
    }

    /// The chain's occupied slots, as the owner sees them.
    fn entries(&self) -> impl Iterator<Item = (&Bucket, &AtomicPtr<u8>)> {
        self.chain().take_while(|(_, slot)| !slot.load(Ordering::Relaxed).is_null())
    }
}

/// A lookup that has found the first bucket of its chain.
#[derive(Clone, Copy)]
pub(crate) struct Approach<'a> {
    bucket: &'a Bucket,
    hash: u64,
}

impl<'a> Approach<'a> {
    /// The row of that bucket that has the tag of the hash, if there is one. It is likely the row of the key, but says
    /// nothing before its key is compared. Where there is none, [`HashIndex::find`] tells whether there is a row.
    ///
    /// # Safety
    /// As for `find`, for the same `'a`.
    #[inline]
    pub(crate) unsafe fn likely_row(self) -> Option<Row<'a>> {
        let tag = tag_of(self.hash);
        for slot in &self.bucket.slots {
            let pointer = slot.load(Ordering::Acquire);
            if pointer.addr() >> TAG_SHIFT == tag && !pointer.is_null() {
                // SAFETY: a row that a slot pointed to during 'a is retired after it was cleared there.
                return unsafe { row_in(pointer) };
            }
        }
        None
    }
}

/// # Safety
/// The slot's row is alive for `'a`.
#[inline]
unsafe fn row_in<'a>(slot: *mut u8) -> Option<Row<'a>> {
    let pointer = NonNull::new(slot.map_addr(|address| address & POINTER_MASK))?;
    // SAFETY: slots hold rows only; alive by the caller's promise.
    Some(unsafe { Row::of(Keyed::from_ptr(pointer)) })
}

impl HashIndex {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            directory: AtomicPtr::new(std::ptr::null_mut()),
            rows: AtomicUsize::new(0),
        }
    }

    /// Rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }

    #[inline]
    fn count(&self) -> usize {
        (self.state.load(Ordering::Relaxed) & COUNT_MASK) as usize
    }

    /// Stores the number of buckets and that something moved.
    fn set_count(&self, count: usize) {
        let changes = (self.state.load(Ordering::Relaxed) >> COUNT_BITS).wrapping_add(1);
        self.state.store(changes << COUNT_BITS | count as u64, Ordering::Release);
    }

    fn note_move(&self) {
        self.set_count(self.count());
    }

    /// # Safety
    /// A guard is held for the result's lifetime, or the caller is the owner and does not reclaim during it.
    #[inline]
    unsafe fn segment(&self, number: usize) -> Option<&AtomicPtr<u8>> {
        let directory = self.directory.load(Ordering::Acquire);
        if directory.is_null() {
            return None;
        }
        // SAFETY: a directory has a head and `capacity` pointers; it is alive by the caller's promise.
        unsafe {
            if number >= (*directory).capacity {
                return None;
            }
            directory.cast::<u8>().add(DIRECTORY_HEAD).cast::<AtomicPtr<u8>>().add(number).as_ref()
        }
    }

    /// # Safety
    /// As for `segment`.
    #[inline]
    unsafe fn bucket(&self, number: usize) -> Option<&Bucket> {
        // SAFETY: the caller's promise; the position is below the segment's capacity.
        unsafe {
            let segment = Segment::of_tagged(self.segment(number >> SEGMENT_BITS)?.load(Ordering::Acquire))?;
            let position = number & (SEGMENT_BUCKETS - 1);
            (position < segment.capacity).then(|| segment.buckets.add(position).as_ref())
        }
    }

    /// The row of a key.
    ///
    /// # Safety
    /// A guard is held for `'a`, or the caller is the owner and does not reclaim during `'a`.
    #[inline]
    pub(crate) unsafe fn find<'a>(&'a self, hash: u64, key: &[u8]) -> Option<Row<'a>> {
        let tag = tag_of(hash);
        loop {
            let state = self.state.load(Ordering::Acquire);
            let count = (state & COUNT_MASK) as usize;
            if count == 0 {
                return None;
            }
            // SAFETY: the caller's promise.
            if let Some(bucket) = unsafe { self.bucket(bucket_of(hash, count)) } {
                for (_, slot) in bucket.chain() {
                    let pointer = slot.load(Ordering::Acquire);
                    if pointer.is_null() {
                        break;
                    }
                    if pointer.addr() >> TAG_SHIFT == tag {
                        // SAFETY: a row that a slot pointed to during 'a is retired after it was cleared there.
                        let row = unsafe { row_in(pointer) };
                        if let Some(row) = row.filter(|row| row.key() == key) {
                            return Some(row);
                        }
                    }
                }
            }
            if self.state.load(Ordering::Acquire) == state {
                return None;
            }
        }
    }

    /// The first bucket of the chain that a hash leads to now, on its way into the CPU's caches.
    ///
    /// # Safety
    /// As for `find`.
    #[inline]
    pub(crate) unsafe fn approach<'a>(&'a self, hash: u64) -> Option<Approach<'a>> {
        let count = (self.state.load(Ordering::Acquire) & COUNT_MASK) as usize;
        if count == 0 {
            return None;
        }
        // SAFETY: the caller's promise.
        let bucket = unsafe { self.bucket(bucket_of(hash, count)) }?;
        stdx::prefetch(std::ptr::from_ref(bucket));
        Some(Approach { bucket, hash })
    }

    /// Adds a row whose key is not there yet.
    pub(crate) fn insert(&self, arena: &mut Arena, row: Row<'_>, urgency: Urgency) -> Result<(), RegionFull> {
        if self.count() == 0 {
            self.make_bucket(arena, 0, urgency)?;
            self.set_count(1);
        }
        let hash = hash_of(row.key());
        let pointer = row.keyed().as_ptr().as_ptr();
        stdx::require!(pointer.addr() <= POINTER_MASK, "pointers have 48 bits");
        let tagged = pointer.map_addr(|address| address | tag_of(hash) << TAG_SHIFT);
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let Some(bucket) = (unsafe { self.bucket(bucket_of(hash, self.count())) }) else {
            stdx::require!(false, "a bucket below the count");
            return Ok(());
        };
        append(arena, bucket, tagged, urgency)?;
        let rows = self.len() + 1;
        self.rows.store(rows, Ordering::Relaxed);
        // Growing only keeps chains short: it may wait for memory. Two steps at most, so that a refused step is made up
        // for later.
        for _ in 0..2 {
            if rows * 2 <= self.count() * LOAD_MAX_TWICE || self.grow(arena, urgency).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Removes a row, if it is there.
    pub(crate) fn remove(&self, arena: &mut Arena, row: Row<'_>) {
        let hash = hash_of(row.key());
        let pointer = row.keyed().as_ptr().as_ptr();
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let Some(bucket) = (unsafe { self.bucket(bucket_of(hash, self.count())) }) else { return };
        let is_it =
            |slot: &AtomicPtr<u8>| slot.load(Ordering::Relaxed).addr() & POINTER_MASK == pointer.addr();
        let Some((_, slot)) = bucket.entries().find(|(_, slot)| is_it(slot)) else { return };
        self.clear(arena, bucket, slot);
        let rows = self.len() - 1;
        self.rows.store(rows, Ordering::Relaxed);
        for _ in 0..2 {
            if self.count() <= 1 || rows * 2 >= self.count() * LOAD_MIN_TWICE || self.shrink(arena).is_err() {
                break;
            }
        }
    }

    /// Clears a slot of the chain of `bucket`; the chain's last row takes its place.
    fn clear(&self, arena: &mut Arena, bucket: &Bucket, slot: &AtomicPtr<u8>) {
        let Some((last_bucket, last)) = bucket.entries().last() else { return };
        if !std::ptr::eq(last, slot) {
            slot.store(last.load(Ordering::Relaxed), Ordering::Release);
            self.note_move();
        }
        last.store(std::ptr::null_mut(), Ordering::Release);
        if std::ptr::eq(last, &raw const last_bucket.slots[0]) && !std::ptr::eq(last_bucket, bucket) {
            unlink_overflow(arena, bucket, last_bucket);
        }
    }

    /// Splits the next bucket.
    fn grow(&self, arena: &mut Arena, urgency: Urgency) -> Result<(), RegionFull> {
        let count = self.count();
        self.make_bucket(arena, count, urgency)?;
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let (Some(old), Some(new)) = (unsafe { (self.bucket(parent_of(count)), self.bucket(count)) }) else {
            stdx::require!(false, "buckets up to the count");
            return Ok(());
        };
        for (_, slot) in old.entries() {
            // SAFETY: the slot's row is linked; only we unlink.
            if let Some(row) = unsafe { row_in(slot.load(Ordering::Relaxed)) } {
                // All are looked at below: their cache misses should overlap.
                row.keyed().prefetch();
            }
        }
        let moves = |slot: &AtomicPtr<u8>| {
            // SAFETY: the slot's row is linked; only we unlink.
            let row = unsafe { row_in(slot.load(Ordering::Relaxed)) };
            row.is_some_and(|row| bucket_of(hash_of(row.key()), count + 1) == count)
        };
        for (_, slot) in old.entries().filter(|(_, slot)| moves(slot)) {
            if let Err(full) = append(arena, new, slot.load(Ordering::Relaxed), urgency) {
                // Nobody has seen the new bucket.
                empty(arena, new);
                return Err(full);
            }
        }
        self.set_count(count + 1);
        while let Some((_, slot)) = old.entries().find(|(_, slot)| moves(slot)) {
            self.clear(arena, old, slot);
        }
        Ok(())
    }

    /// Puts the rows of the last bucket back where they were split from.
    fn shrink(&self, arena: &mut Arena) -> Result<(), RegionFull> {
        let last = self.count() - 1;
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let (Some(old), Some(target)) = (unsafe { (self.bucket(last), self.bucket(parent_of(last))) }) else {
            stdx::require!(false, "buckets below the count");
            return Ok(());
        };
        let before = target.entries().count();
        for (_, slot) in old.entries() {
            if let Err(full) = append(arena, target, slot.load(Ordering::Relaxed), Urgency::Restart) {
                while let Some((_, copy)) = target.entries().nth(before) {
                    self.clear(arena, target, copy);
                }
                return Err(full);
            }
        }
        self.set_count(last);
        empty(arena, old);
        if last >= SEGMENT_BUCKETS && last.is_multiple_of(SEGMENT_BUCKETS) {
            self.drop_segment(arena, last >> SEGMENT_BITS);
        } else if last < SEGMENT_BUCKETS / 4
            && let capacity = self.first().map_or(0, |first| first.capacity)
            && last <= capacity / 4
        {
            return self.resize_first(arena, capacity / 2, Urgency::Restart);
        }
        Ok(())
    }

    /// Makes room for bucket `number`, which is the first that does not exist; it is all null.
    fn make_bucket(&self, arena: &mut Arena, number: usize, urgency: Urgency) -> Result<(), RegionFull> {
        let segment = number >> SEGMENT_BITS;
        self.make_directory(arena, segment, urgency)?;
        if segment == 0 {
            let capacity = self.first().map_or(0, |first| first.capacity);
            return if number < capacity {
                Ok(())
            } else {
                self.resize_first(arena, (capacity * 2).max(1), urgency)
            };
        }
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let Some(entry) = (unsafe { self.segment(segment) }) else { return Ok(()) };
        if entry.load(Ordering::Relaxed).is_null() {
            let bytes = SEGMENT_BUCKETS * BUCKET_BYTES;
            let piece = arena.allocate(Purpose::Index, bytes, urgency)?;
            // SAFETY: the piece has so many bytes and is ours alone; zeros are null pointers.
            unsafe { piece.write_bytes(0, bytes) };
            let segment = Segment { buckets: piece.cast(), capacity: SEGMENT_BUCKETS };
            entry.store(segment.tagged(), Ordering::Release);
        }
        Ok(())
    }

    /// The first segment, as the owner sees it.
    fn first(&self) -> Option<Segment> {
        // SAFETY: called by the owner only, who does not reclaim meanwhile.
        Segment::of_tagged(unsafe { self.segment(0) }?.load(Ordering::Relaxed))
    }

    /// Replaces the first segment by one with room for `capacity` buckets, with the same contents.
    fn resize_first(&self, arena: &mut Arena, capacity: usize, urgency: Urgency) -> Result<(), RegionFull> {
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let Some(entry) = (unsafe { self.segment(0) }) else { return Ok(()) };
        let piece = arena.allocate(Purpose::Index, capacity * BUCKET_BYTES, urgency)?;
        let old = self.first().map(Segment::piece);
        // SAFETY: the new piece has room for `capacity` buckets and is ours alone; the old one has as many bytes as its
        // piece says. We are the only writer, so plain reads of what we wrote are fine beside readers' atomic loads.
        unsafe {
            piece.write_bytes(0, capacity * BUCKET_BYTES);
            if let Some((old, bytes)) = old {
                let bytes = bytes.min(capacity * BUCKET_BYTES);
                std::ptr::copy_nonoverlapping(old.as_ptr(), piece.as_ptr(), bytes);
            }
        }
        entry.store(Segment { buckets: piece.cast(), capacity }.tagged(), Ordering::Release);
        if let Some((old, bytes)) = old {
            // A reader in the old segment misses what is changed from now on: that it began before, or it sees that
            // `state` changed.
            self.note_move();
            // SAFETY: it was allocated with this size and is unlinked.
            unsafe { arena.retire(Purpose::Index, old, bytes) };
        }
        Ok(())
    }

    fn drop_segment(&self, arena: &mut Arena, segment: usize) {
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let Some(entry) = (unsafe { self.segment(segment) }) else { return };
        if let Some(segment) = Segment::of_tagged(entry.swap(std::ptr::null_mut(), Ordering::AcqRel)) {
            let (piece, bytes) = segment.piece();
            // SAFETY: it was allocated with this size and is unlinked.
            unsafe { arena.retire(Purpose::Index, piece, bytes) };
        }
    }

    /// Makes the directory large enough for a segment.
    fn make_directory(&self, arena: &mut Arena, segment: usize, urgency: Urgency) -> Result<(), RegionFull> {
        let old = NonNull::new(self.directory.load(Ordering::Relaxed));
        // SAFETY: a directory that is linked is alive.
        let before = old.map_or(0, |old| unsafe { (*old.as_ptr()).capacity });
        if segment < before {
            return Ok(());
        }
        let capacity = (before * 2).max(1);
        let piece = arena.allocate(Purpose::Index, directory_bytes(capacity), urgency)?;
        // SAFETY: the piece has room for the head and `capacity` pointers and is ours alone; the old one has `before`.
        unsafe {
            piece.write_bytes(0, directory_bytes(capacity));
            piece.cast::<Directory>().write(Directory { capacity });
            if let Some(old) = old {
                let from = old.cast::<u8>().add(DIRECTORY_HEAD);
                let bytes = before * size_of::<AtomicPtr<u8>>();
                std::ptr::copy_nonoverlapping(from.as_ptr(), piece.add(DIRECTORY_HEAD).as_ptr(), bytes);
            }
        }
        self.directory.store(piece.cast().as_ptr(), Ordering::Release);
        if let Some(old) = old {
            // SAFETY: it was allocated with this size and is unlinked.
            unsafe { arena.retire(Purpose::Index, old.cast(), directory_bytes(before)) };
        }
        Ok(())
    }

    /// All rows.
    ///
    /// # Safety
    /// The caller is the owner and does not change the index during `'a`.
    pub(crate) unsafe fn rows<'a>(&'a self) -> impl Iterator<Item = Row<'a>> {
        (0..self.count()).flat_map(move |number| {
            // SAFETY: the caller's promise.
            let bucket = unsafe { self.bucket(number) };
            // SAFETY: rows in slots are linked.
            let row = |slot: &AtomicPtr<u8>| unsafe { row_in(slot.load(Ordering::Relaxed)) };
            bucket.into_iter().flat_map(move |bucket| bucket.entries().filter_map(move |(_, slot)| row(slot)))
        })
    }

    /// Rows bucket by bucket, from the first one. Buckets follow hashes, so the first rows are a sample of all. While
    /// rows move, one may be met twice or not at all.
    ///
    /// # Safety
    /// A guard is held for `'a`.
    pub(crate) unsafe fn sample<'a>(&'a self) -> impl Iterator<Item = Row<'a>> {
        let count = (self.state.load(Ordering::Acquire) & COUNT_MASK) as usize;
        (0..count).flat_map(move |number| {
            // SAFETY: the caller's promise.
            let bucket = unsafe { self.bucket(number) };
            let pointers = bucket.into_iter().flat_map(|bucket| bucket.chain());
            let pointers = pointers.map(|(_, slot)| slot.load(Ordering::Acquire));
            // SAFETY: a row that a slot pointed to during 'a is retired after it was cleared there.
            pointers.map_while(|pointer| unsafe { row_in(pointer) })
        })
    }

    /// Frees the index, not the rows.
    ///
    /// # Safety
    /// Nobody can see it, and it is not used afterwards.
    pub(crate) unsafe fn free(&self, arena: &mut Arena) {
        let count = self.count();
        for number in 0..count {
            // SAFETY: the caller's promise; every bucket below the count exists.
            if let Some(bucket) = unsafe { self.bucket(number) } {
                empty(arena, bucket);
            }
        }
        for segment in 1..count.div_ceil(SEGMENT_BUCKETS).max(1) {
            self.drop_segment(arena, segment);
        }
        if let Some((piece, bytes)) = self.first().map(Segment::piece) {
            // SAFETY: it was allocated with this size, and nobody uses it.
            unsafe { arena.free(Purpose::Index, piece, bytes) };
        }
        if let Some(directory) = NonNull::new(self.directory.load(Ordering::Relaxed)) {
            // SAFETY: it was allocated with this size, and nobody uses it.
            unsafe {
                let bytes = directory_bytes((*directory.as_ptr()).capacity);
                arena.free(Purpose::Index, directory.cast(), bytes);
            }
        }
    }
}

const fn directory_bytes(capacity: usize) -> usize {
    DIRECTORY_HEAD + capacity * size_of::<AtomicPtr<u8>>()
}

/// Puts a tagged row into the first free slot of a chain.
fn append(arena: &mut Arena, bucket: &Bucket, tagged: *mut u8, urgency: Urgency) -> Result<(), RegionFull> {
    let mut last = bucket;
    for (holder, slot) in bucket.chain() {
        if slot.load(Ordering::Relaxed).is_null() {
            slot.store(tagged, Ordering::Release);
            return Ok(());
        }
        last = holder;
    }
    let piece = arena.allocate(Purpose::Index, BUCKET_BYTES, urgency)?;
    // SAFETY: the piece is as large as a bucket, aligned to 8 and ours alone; zeros are null pointers.
    let overflow = unsafe {
        piece.write_bytes(0, BUCKET_BYTES);
        piece.cast::<Bucket>().as_ref()
    };
    overflow.slots[0].store(tagged, Ordering::Relaxed);
    last.overflow.store(piece.cast().as_ptr(), Ordering::Release);
    Ok(())
}

/// Takes the last overflow bucket of a chain out.
fn unlink_overflow(arena: &mut Arena, bucket: &Bucket, last: &Bucket) {
    let before = bucket.chain().map(|(holder, _)| holder);
    let is_before = |holder: &&Bucket| std::ptr::eq(holder.overflow.load(Ordering::Relaxed), last);
    if let Some(holder) = before.into_iter().find(is_before) {
        let pointer = holder.overflow.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if let Some(piece) = NonNull::new(pointer.cast::<u8>()) {
            // SAFETY: overflow buckets are allocated with this size; it is unlinked.
            unsafe { arena.retire(Purpose::Index, piece, BUCKET_BYTES) };
        }
    }
}

/// Clears a bucket that is in no chain any more (or not yet).
fn empty(arena: &mut Arena, bucket: &Bucket) {
    let mut overflow = NonNull::new(bucket.overflow.swap(std::ptr::null_mut(), Ordering::AcqRel));
    for slot in &bucket.slots {
        slot.store(std::ptr::null_mut(), Ordering::Release);
    }
    while let Some(piece) = overflow {
        // SAFETY: an overflow bucket of this chain, alive until it is retired here and reclaimed later; readers in it
        // find its rows or see that `state` changed.
        unsafe {
            overflow = NonNull::new((*piece.as_ptr()).overflow.load(Ordering::Relaxed));
            arena.retire(Purpose::Index, piece.cast(), BUCKET_BYTES);
        }
    }
}
