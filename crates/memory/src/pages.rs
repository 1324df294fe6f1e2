//! Pages of 32 KiB, aligned to their size, cut out of chunks of 2 MiB that come from the operating system. A chunk is a
//! huge page, if one is asked for ([`Prepare`]) and there is one. Then a process of many GiB that is killed is gone in
//! no time: what it held is freed before its connections are closed.
//!
//! Chunks lie one behind the other in one range of addresses ([`PageRange`]), if the driver has reserved one. The
//! system then keeps one map for all of them, and it limits the number of maps. Otherwise each chunk is an allocation.
//!
//! A page is taken from the first chunk in address order that has one, so that chunks at the end run empty and go back.
//! A spare chunk is kept, and begun when all others are full. A thread that has time prepares the next one at once,
//! because to clear a huge page takes as long as many transactions. A second spare is kept, so that a page taken and
//! freed in turn does not visit the operating system.
//!
//! A chunk that runs empty beyond that keeps its address and, for a while, its memory. The thread that prepares memory
//! also gives it back, one chunk at a time, because that interrupts all CPUs ([`PagePool::give_back_idle`]). Where no
//! thread prepares memory, an empty chunk is freed at once.
//!
//! Invariants: a page is in use or its bit is set in its chunk's mask, never both. Pages in use are charged to
//! DataMemory. A chunk in the map has a page in use; one whose pages are all free is a spare, idle, bare or gone. No
//! page of a chunk is in use while it is given back. A chunk of the range is new only if no other is empty, so that
//! [`PageRange::bytes_for`] a configuration is enough.
//!
//! Deliberately not here: what a page is used for.
#![expect(unsafe_code, reason = "pages are raw memory; each block states why it is sound")]

use crate::exclusive::Exclusive;
use crate::{MemoryConfig, MemoryManager, Region, RegionFull, Urgency};
use std::alloc::Layout;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ptr::NonNull;

/// Size and alignment of a page.
pub const PAGE_BYTES: usize = 32 * 1024;
/// Size and alignment of what pages are cut out of.
pub const CHUNK_BYTES: usize = 2 << 20;
const PAGES_IN_CHUNK: usize = CHUNK_BYTES / PAGE_BYTES;
const ALL_FREE: u64 = u64::MAX;
const SPARES_MAX: usize = 2;

const _: () = assert!(PAGES_IN_CHUNK == u64::BITS as usize);

/// Prepares memory that is going to be used: its address and size. It may go on after it came back, and even when the
/// memory is gone or used otherwise, so it must not change what memory holds.
pub type Prepare = Box<dyn Fn(NonNull<u8>, usize) + Send + Sync>;

/// Makes memory usable that is reserved: its address and size. False if the system has none.
pub type Open = Box<dyn Fn(NonNull<u8>, usize) -> bool + Send + Sync>;

/// Reserved addresses for all chunks of a pool. They are used from below, and stay reserved until the process ends.
pub struct PageRange {
    /// The first chunk that was never used.
    next: NonNull<u8>,
    /// Chunks that were never used.
    left: usize,
    /// None: all of the range is open.
    open: Option<Open>,
}

// SAFETY: the range is memory that belongs to its owner alone; it may be used from any thread.
unsafe impl Send for PageRange {}

impl PageRange {
    /// `size` bytes from `start`, both whole chunks.
    ///
    /// # Safety
    /// Nobody else uses these addresses until the process ends. They can be read and written; where there is an `open`,
    /// those for which it said true can.
    #[must_use]
    pub unsafe fn new(start: NonNull<u8>, size: usize, open: Option<Open>) -> Self {
        stdx::require!(start.addr().get().is_multiple_of(CHUNK_BYTES), "chunks are aligned to their size");
        Self { next: start, left: size / CHUNK_BYTES, open }
    }

    /// The size of a range that has room for whatever a pool may hold: all of the node's memory, the spares, and the
    /// chunk that is just being given back.
    #[must_use]
    pub fn bytes_for(config: &MemoryConfig) -> usize {
        let chunks = config.total.div_ceil(CHUNK_BYTES as u64) + SPARES_MAX as u64 + 1;
        usize::try_from(chunks.saturating_mul(CHUNK_BYTES as u64)).unwrap_or(usize::MAX)
    }

    /// A chunk that was never used.
    fn take(&mut self) -> Option<NonNull<u8>> {
        let left = self.left.checked_sub(1)?;
        if !self.open.as_ref().is_none_or(|open| open(self.next, CHUNK_BYTES)) {
            return None;
        }
        let start = self.next;
        // SAFETY: the range has at least this one chunk left, so its end lies within the range or is the range's end.
        self.next = unsafe { start.add(CHUNK_BYTES) };
        self.left = left;
        Some(start)
    }
}

struct Chunk {
    start: NonNull<u8>,
    /// A bit per free page.
    free: u64,
}

struct Chunks {
    prepare: Prepare,
    /// Somebody gives idle chunks back.
    keeps_idle: bool,
    /// None: each chunk is an allocation.
    range: Option<PageRange>,
    chunks: BTreeMap<usize, Chunk>,
    /// Those with a free page.
    open: BTreeSet<usize>,
    /// Empty chunks, [`SPARES_MAX`] at most; none before the first page, or if there was no memory for one.
    spares: Vec<NonNull<u8>>,
    /// Empty chunks that have memory, and the round of giving back in which they ran empty; the oldest first.
    idle: VecDeque<(u64, NonNull<u8>)>,
    /// Empty chunks without memory.
    bare: Vec<NonNull<u8>>,
    round: u64,
}

// SAFETY: a `Chunk` is a pointer to memory that belongs to the pool alone; it may be used from any thread.
unsafe impl Send for Chunks {}

/// The pages of a node.
pub struct PagePool {
    chunks: Exclusive<Chunks>,
}

fn chunk_layout() -> Layout {
    match Layout::from_size_align(CHUNK_BYTES, CHUNK_BYTES) {
        Ok(layout) => layout,
        Err(_) => unreachable_layout(),
    }
}

fn unreachable_layout() -> Layout {
    stdx::require!(false, "a power of two is a valid alignment");
    Layout::new::<u8>()
}

impl Chunks {
    fn take(&mut self) -> Option<NonNull<u8>> {
        let address = match self.open.first() {
            Some(address) => *address,
            None => self.open_spare()?,
        };
        let chunk = self.chunks.get_mut(&address)?;
        let position = chunk.free.trailing_zeros() as usize;
        chunk.free &= chunk.free - 1;
        if chunk.free == 0 {
            self.open.remove(&address);
        }
        // SAFETY: the position is below PAGES_IN_CHUNK, so the page lies within the chunk.
        Some(unsafe { chunk.start.add(position * PAGE_BYTES) })
    }

    /// Begins the spare chunk, and has the next one prepared.
    fn open_spare(&mut self) -> Option<usize> {
        let start = self.spares.pop().or_else(|| self.empty_chunk())?;
        let address = start.addr().get();
        self.chunks.insert(address, Chunk { start, free: ALL_FREE });
        self.open.insert(address);
        if self.spares.is_empty() {
            let spare = self.empty_chunk();
            self.spares.extend(spare);
        }
        Some(address)
    }

    /// A chunk with memory, or one that is going to have some.
    fn empty_chunk(&mut self) -> Option<NonNull<u8>> {
        if let Some((_, start)) = self.idle.pop_back() {
            return Some(start);
        }
        let start = self.bare.pop().or_else(|| self.new_chunk())?;
        (self.prepare)(start, CHUNK_BYTES);
        Some(start)
    }

    fn new_chunk(&mut self) -> Option<NonNull<u8>> {
        match &mut self.range {
            Some(range) => range.take(),
            // SAFETY: the layout has a size.
            None => NonNull::new(unsafe { std::alloc::alloc(chunk_layout()) }),
        }
    }

    fn give_back(&mut self, page: NonNull<u8>) {
        let address = page.addr().get() & !(CHUNK_BYTES - 1);
        let bit = 1_u64 << ((page.addr().get() - address) / PAGE_BYTES);
        let Some(chunk) = self.chunks.get_mut(&address) else {
            stdx::require!(false, "a page that is not of this pool");
            return;
        };
        stdx::require!(chunk.free & bit == 0, "a page freed twice");
        chunk.free |= bit;
        self.open.insert(address);
        if chunk.free == ALL_FREE {
            let start = chunk.start;
            self.chunks.remove(&address);
            self.open.remove(&address);
            if self.spares.len() < SPARES_MAX {
                self.spares.push(start);
            } else if self.keeps_idle {
                self.idle.push_back((self.round, start));
            } else {
                deallocate(start);
            }
        }
    }
}

/// Frees an empty chunk that is an allocation.
fn deallocate(start: NonNull<u8>) {
    // SAFETY: it was allocated with this layout, no page of it is in use, and nobody else knows it.
    unsafe { std::alloc::dealloc(start.as_ptr(), chunk_layout()) };
}

impl Drop for Chunks {
    fn drop(&mut self) {
        if self.range.is_some() {
            return;
        }
        // A chunk with pages in use stays: the code that leaked the pages may still use them.
        let idle = self.idle.drain(..).map(|(_, start)| start);
        self.spares.drain(..).chain(idle).chain(self.bare.drain(..)).for_each(deallocate);
    }
}

impl PagePool {
    /// A pool that frees an empty chunk at once.
    pub(crate) fn new() -> Self {
        Self::with(Box::new(|_, _| {}), false, None)
    }

    /// A pool whose [`PagePool::give_back_idle`] is going to be called again and again.
    pub(crate) fn prepared(prepare: Prepare, range: Option<PageRange>) -> Self {
        Self::with(prepare, true, range)
    }

    fn with(prepare: Prepare, keeps_idle: bool, range: Option<PageRange>) -> Self {
        Self {
            chunks: Exclusive::new(Chunks {
                prepare,
                keeps_idle,
                range,
                chunks: BTreeMap::new(),
                open: BTreeSet::new(),
                spares: Vec::new(),
                idle: VecDeque::new(),
                bare: Vec::new(),
                round: 0,
            }),
        }
    }

    /// Begins a round of giving back: chunks that ran empty before the last one began are due.
    pub fn begin_round(&self) {
        self.chunks.with(|chunks| chunks.round += 1);
    }

    /// Bytes of empty chunks that have memory, due or not.
    #[must_use]
    pub fn idle_bytes(&self) -> u64 {
        self.chunks.with(|chunks| chunks.idle.len() as u64 * CHUNK_BYTES as u64)
    }

    /// Has `give_back` take the memory of one chunk that is due; it must leave the addresses usable, with whatever in
    /// them. False if none is due.
    pub fn give_back_idle(&self, give_back: impl FnOnce(NonNull<u8>, usize)) -> bool {
        let due = self.chunks.with(|chunks| {
            let round = chunks.round;
            chunks.idle.pop_front_if(|(since, _)| *since + 1 < round).map(|(_, start)| start)
        });
        let Some(start) = due else { return false };
        // Nobody else knows the chunk now, and the lock is not held for so long.
        give_back(start, CHUNK_BYTES);
        self.chunks.with(|chunks| chunks.bare.push(start));
        true
    }

    /// A page, its bytes undefined, charged to a region of `memory`, whose pool this is.
    pub(crate) fn allocate(
        &self,
        memory: &MemoryManager,
        region: Region,
        urgency: Urgency,
    ) -> Result<NonNull<u8>, RegionFull> {
        memory.try_charge_with(region, PAGE_BYTES as u64, urgency)?;
        self.chunks.with(Chunks::take).ok_or_else(|| {
            memory.release(region, PAGE_BYTES as u64);
            RegionFull { region }
        })
    }

    /// Takes a page back.
    ///
    /// # Safety
    /// The page came from `allocate` of this pool with the same `memory` and region, and nobody uses it any more.
    pub(crate) unsafe fn free(&self, memory: &MemoryManager, region: Region, page: NonNull<u8>) {
        self.chunks.with(|chunks| chunks.give_back(page));
        memory.release(region, PAGE_BYTES as u64);
    }
}

#[cfg(test)]
mod tests;
