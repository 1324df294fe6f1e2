use super::*;
use crate::{MemoryConfig, Region};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn chunks_held(pool: &PagePool) -> usize {
    pool.chunks.with(|chunks| chunks.chunks.len() + chunks.spares.len())
}

#[test]
fn whole_chunks_go_back_to_the_system() {
    let prepared = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&prepared);
    let prepare = Box::new(move |_, size| {
        assert_eq!(size, CHUNK_BYTES);
        count.fetch_add(1, Ordering::Relaxed);
    });
    let memory = MemoryManager::prepared(MemoryConfig::with_data_memory(64 << 20), prepare, None);
    let pool = memory.pages();
    assert_eq!(chunks_held(pool), 0);
    let mut pages: Vec<_> = (0..PAGES_IN_CHUNK * 4)
        .map(|_| pool.allocate(&memory, Region::DataMemory, Urgency::Normal).unwrap())
        .collect();
    // The fifth is the spare, prepared while the fourth was begun.
    assert_eq!((chunks_held(pool), prepared.load(Ordering::Relaxed)), (5, 5));
    assert_eq!(memory.used(Region::DataMemory), 4 * CHUNK_BYTES as u64);
    let mut addresses: Vec<usize> = pages.iter().map(|page| page.addr().get()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), pages.len());
    assert!(addresses.iter().all(|address| address.is_multiple_of(PAGE_BYTES)));
    for page in pages.drain(1..) {
        // SAFETY: it came from this pool and is not used again.
        unsafe { pool.free(&memory, Region::DataMemory, page) };
    }
    // The one with a page in use, and the spares.
    assert_eq!(chunks_held(pool), 1 + SPARES_MAX);
    let again = pool.allocate(&memory, Region::DataMemory, Urgency::Normal).unwrap();
    assert_eq!(chunks_held(pool), 1 + SPARES_MAX);
    for page in [again, pages[0]] {
        // SAFETY: it came from this pool and is not used again.
        unsafe { pool.free(&memory, Region::DataMemory, page) };
    }
    assert_eq!(chunks_held(pool), SPARES_MAX);
    assert_eq!(memory.used(Region::DataMemory), 0);
}

#[test]
fn a_page_taken_and_freed_in_turn_does_not_visit_the_system() {
    let prepared = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&prepared);
    let prepare = Box::new(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let memory = MemoryManager::prepared(MemoryConfig::with_data_memory(64 << 20), prepare, None);
    let pool = memory.pages();
    let full: Vec<_> = (0..PAGES_IN_CHUNK)
        .map(|_| pool.allocate(&memory, Region::DataMemory, Urgency::Normal).unwrap())
        .collect();
    let mut visits = Vec::new();
    for _ in 0..3 {
        let page = pool.allocate(&memory, Region::DataMemory, Urgency::Normal).unwrap();
        visits.push(prepared.load(Ordering::Relaxed));
        // SAFETY: it came from this pool and is not used again.
        unsafe { pool.free(&memory, Region::DataMemory, page) };
    }
    assert_eq!(visits, [3, 3, 3]);
    for page in full {
        // SAFETY: as above.
        unsafe { pool.free(&memory, Region::DataMemory, page) };
    }
}

#[test]
fn empty_chunks_are_given_back_one_at_a_time_and_used_again() {
    let prepared = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&prepared);
    let prepare = Box::new(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let memory = MemoryManager::prepared(MemoryConfig::with_data_memory(64 << 20), prepare, None);
    let pool = memory.pages();
    let take = |chunks: usize| -> Vec<_> {
        (0..PAGES_IN_CHUNK * chunks)
            .map(|_| pool.allocate(&memory, Region::DataMemory, Urgency::Normal).unwrap())
            .collect()
    };
    let free = |pages: Vec<NonNull<u8>>| {
        // SAFETY: they came from this pool and are not used again.
        pages.into_iter().for_each(|page| unsafe { pool.free(&memory, Region::DataMemory, page) });
    };
    let give_back = || {
        let mut given = Vec::new();
        while pool.give_back_idle(|start, size| given.push((start.addr().get(), size))) {}
        given
    };
    free(take(6));
    let idle = |pool: &PagePool| pool.chunks.with(|chunks| (chunks.idle.len(), chunks.bare.len()));
    // Seven were prepared, the spare behind the sixth too; two stay spares.
    assert_eq!((prepared.load(Ordering::Relaxed), idle(pool)), (7, (5, 0)));
    assert_eq!(pool.idle_bytes(), 5 * CHUNK_BYTES as u64);
    assert_eq!(give_back(), [], "they have only just run empty");
    pool.begin_round();
    assert_eq!(give_back(), []);
    // Those that are used meanwhile are not given back; they need not be prepared again.
    let pages = take(3);
    assert_eq!((prepared.load(Ordering::Relaxed), idle(pool)), (7, (3, 0)));
    pool.begin_round();
    let given = give_back();
    assert_eq!((given.len(), idle(pool)), (3, (0, 3)));
    assert!(given.iter().all(|(start, size)| start.is_multiple_of(CHUNK_BYTES) && *size == CHUNK_BYTES));
    let addresses: Vec<usize> = pages.iter().map(|page| page.addr().get() & !(CHUNK_BYTES - 1)).collect();
    assert!(given.iter().all(|(start, _)| !addresses.contains(start)), "no page of them is in use");
    // They are used again, and prepared before.
    let more = take(3);
    assert_eq!((prepared.load(Ordering::Relaxed), idle(pool)), (10, (0, 0)));
    free(pages);
    free(more);
    assert_eq!(memory.used(Region::DataMemory), 0);
}
