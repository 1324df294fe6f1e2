//! Pages of 32 KiB, aligned to their size, cut out of chunks of 2 MiB that come from the operating system: a huge page each, if it is asked for them
//! ([`Advise`]) and has them. Then a process of many GiB that is killed is gone in no time: what it held is freed before its connections are closed.
//!
//! A page is taken from the first chunk in address order that has one, so that chunks at the end run empty and go back; one empty chunk is
//! kept so that a page taken and freed in turn does not visit the operating system.
//!
//! Invariants: a page is in use or its bit is set in its chunk's mask, never both; pages in use are charged to DataMemory;
//! a chunk whose pages are all free is the kept one or gone.
//!
//! Deliberately not here: what a page is used for.
#![expect(unsafe_code, reason = "pages are raw memory; each block states why it is sound")]

use crate::exclusive::Exclusive;
use crate::{MemoryManager, Region, RegionFull, Urgency};
use std::alloc::Layout;
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;

/// Size and alignment of a page.
pub const PAGE_BYTES: usize = 32 * 1024;
const CHUNK_BYTES: usize = 2 << 20;
const PAGES_IN_CHUNK: usize = CHUNK_BYTES / PAGE_BYTES;
const ALL_FREE: u64 = u64::MAX;

const _: () = assert!(PAGES_IN_CHUNK == u64::BITS as usize);

/// Tells the operating system what a chunk is for, before it is used: its address and size.
pub type Advise = fn(NonNull<u8>, usize);

struct Chunk {
    start: NonNull<u8>,
    /// A bit per free page.
    free: u64,
}

struct Chunks {
    advise: Advise,
    chunks: BTreeMap<usize, Chunk>,
    /// Chunks with a free page.
    open: BTreeSet<usize>,
    /// How many chunks have no page in use.
    empty: usize,
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
    fn new(advise: Advise) -> Self {
        Self { advise, chunks: BTreeMap::new(), open: BTreeSet::new(), empty: 0 }
    }

    fn take(&mut self) -> Option<NonNull<u8>> {
        let address = match self.open.first() {
            Some(address) => *address,
            None => self.grow()?,
        };
        let chunk = self.chunks.get_mut(&address)?;
        self.empty -= usize::from(chunk.free == ALL_FREE);
        let position = chunk.free.trailing_zeros() as usize;
        chunk.free &= chunk.free - 1;
        if chunk.free == 0 {
            self.open.remove(&address);
        }
        // SAFETY: the position is below PAGES_IN_CHUNK, so the page lies within the chunk.
        Some(unsafe { chunk.start.add(position * PAGE_BYTES) })
    }

    fn grow(&mut self) -> Option<usize> {
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { std::alloc::alloc(chunk_layout()) })?;
        (self.advise)(start, CHUNK_BYTES);
        let address = start.addr().get();
        self.chunks.insert(address, Chunk { start, free: ALL_FREE });
        self.open.insert(address);
        self.empty += 1;
        Some(address)
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
            self.empty += 1;
            if self.empty > 1 {
                self.drop_chunk(address);
            }
        }
    }

    fn drop_chunk(&mut self, address: usize) {
        if let Some(chunk) = self.chunks.remove(&address) {
            self.open.remove(&address);
            self.empty -= usize::from(chunk.free == ALL_FREE);
            // SAFETY: it was allocated with this layout in `grow`, and no page of it is in use.
            unsafe { std::alloc::dealloc(chunk.start.as_ptr(), chunk_layout()) };
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        // A chunk with pages in use stays: whoever leaked the pages may still use them.
        let addresses: Vec<usize> = self
            .chunks
            .iter()
            .filter(|(_, chunk)| chunk.free == ALL_FREE)
            .map(|(address, _)| *address)
            .collect();
        for address in addresses {
            self.drop_chunk(address);
        }
    }
}

impl PagePool {
    pub(crate) fn new(advise: Advise) -> Self {
        Self { chunks: Exclusive::new(Chunks::new(advise)) }
    }

    /// A page, its bytes undefined, charged to DataMemory of `memory`, whose pool this is.
    pub(crate) fn allocate(
        &self,
        memory: &MemoryManager,
        urgency: Urgency,
    ) -> Result<NonNull<u8>, RegionFull> {
        let full = RegionFull { region: Region::DataMemory };
        memory.try_charge_with(Region::DataMemory, PAGE_BYTES as u64, urgency)?;
        self.chunks.with(Chunks::take).ok_or_else(|| {
            memory.release(Region::DataMemory, PAGE_BYTES as u64);
            full
        })
    }

    /// Takes a page back.
    ///
    /// # Safety
    /// The page came from `allocate` of this pool with the same `memory` and nobody uses it any more.
    pub(crate) unsafe fn free(&self, memory: &MemoryManager, page: NonNull<u8>) {
        self.chunks.with(|chunks| chunks.give_back(page));
        memory.release(Region::DataMemory, PAGE_BYTES as u64);
    }

    /// Bytes held from the operating system, in use or free.
    #[must_use]
    pub fn bytes_from_system(&self) -> u64 {
        self.chunks.with(|chunks| chunks.chunks.len() as u64 * CHUNK_BYTES as u64)
    }
}

#[cfg(test)]
mod tests;
