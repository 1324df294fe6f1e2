//! Reserves the addresses of a node's pages in one piece. The kernel limits the maps of a process (65 530), and each
//! chunk of pages that is an allocation takes two: such a node ends at 64 GiB of rows.
//!
//! Reserved addresses have no memory and cost none. The kernel gives memory where a chunk is fetched or used.
//! - The range asks for huge pages as a whole, and stays out of core dumps, which would show rows.
//! - Under strict overcommit (`vm.overcommit_memory=2`) memory that can be written to counts as taken. There the range
//!   cannot be accessed at first. Its chunks are opened from below, so that two maps are enough.
//! - Where the process may have only so many addresses (`RLIMIT_AS`), the range takes half of them at most. The other
//!   regions, the threads' stacks and the C library need the rest.
//!
//! Invariant: the range is aligned to chunks, and its addresses stay reserved until the process ends.

use super::advise;
use memory::pages::Open;
use memory::{CHUNK_BYTES, MIB, PageRange};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use rustix::process::{Resource, getrlimit};
use std::ptr::NonNull;

/// How much of a range may be used at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// All of it.
    Whole,
    /// Nothing; chunks are opened when they are needed.
    ChunkByChunk,
}

/// Reserves `size` bytes, or says why there are none.
pub(super) fn reserve(size: usize) -> Result<PageRange, String> {
    let limit = getrlimit(Resource::As).current;
    if let Some(limit) = limit.filter(|limit| size as u64 > limit / 2) {
        let limit = limit / MIB;
        return Err(refusal(size, format_args!("the process may have {limit} MiB in all (ulimit -v)")));
    }
    reserve_with(size, access())
}

/// The access that the kernel gives without counting the range as memory that is taken.
fn access() -> Access {
    let mode = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    if mode.trim() == "2" { Access::ChunkByChunk } else { Access::Whole }
}

#[expect(unsafe_code, reason = "maps memory")]
pub(super) fn reserve_with(size: usize, access: Access) -> Result<PageRange, String> {
    let (protection, open) = match access {
        Access::Whole => (ProtFlags::READ | ProtFlags::WRITE, None),
        Access::ChunkByChunk => (ProtFlags::empty(), Some(Box::new(open) as Open)),
    };
    let mapped = size.checked_add(CHUNK_BYTES).ok_or_else(|| refusal(size, Errno::NOMEM))?;
    // SAFETY: the kernel chooses addresses that nobody uses.
    let map = unsafe {
        mmap_anonymous(std::ptr::null_mut(), mapped, protection, MapFlags::PRIVATE | MapFlags::NORESERVE)
    };
    let map = map.map_err(|error| refusal(size, error))?;
    // A little before and behind the range stays unused.
    let start = map.map_addr(|address| address.next_multiple_of(CHUNK_BYTES)).cast::<u8>();
    let start = NonNull::new(start).ok_or_else(|| refusal(size, Errno::NOMEM))?;
    let address = start.as_ptr().expose_provenance();
    advise(address, size, Advice::LinuxHugepage);
    advise(address, size, Advice::LinuxDontDump);
    // SAFETY: the map is new and nobody unmaps it. The range lies within it, because the map has one chunk more. It can
    // be read and written, or `open` makes it so.
    Ok(unsafe { PageRange::new(start, size, open) })
}

fn refusal(size: usize, why: impl std::fmt::Display) -> String {
    format!("cannot reserve {} MiB of addresses: {why}", size as u64 / MIB)
}

/// Makes a chunk usable.
#[expect(unsafe_code, reason = "changes the access to memory")]
fn open(start: NonNull<u8>, size: usize) -> bool {
    // SAFETY: the page pool asks for chunks of its range only, which stays mapped, and takes nothing away from anybody.
    unsafe { mprotect(start.as_ptr().cast(), size, MprotectFlags::READ | MprotectFlags::WRITE) }.is_ok()
}

#[cfg(test)]
mod tests;
