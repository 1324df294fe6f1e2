use super::*;
use crate::MemoryConfig;
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
    let memory = MemoryManager::prepared(MemoryConfig::with_data_memory(64 << 20), prepare);
    let pool = memory.pages();
    assert_eq!(chunks_held(pool), 0);
    let mut pages: Vec<_> =
        (0..PAGES_IN_CHUNK * 4).map(|_| pool.allocate(&memory, Urgency::Normal).unwrap()).collect();
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
        unsafe { pool.free(&memory, page) };
    }
    // The one with a page in use, and the spares.
    assert_eq!(chunks_held(pool), 1 + SPARES_MAX);
    let again = pool.allocate(&memory, Urgency::Normal).unwrap();
    assert_eq!(chunks_held(pool), 1 + SPARES_MAX);
    for page in [again, pages[0]] {
        // SAFETY: it came from this pool and is not used again.
        unsafe { pool.free(&memory, page) };
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
    let memory = MemoryManager::prepared(MemoryConfig::with_data_memory(64 << 20), prepare);
    let pool = memory.pages();
    let full: Vec<_> =
        (0..PAGES_IN_CHUNK).map(|_| pool.allocate(&memory, Urgency::Normal).unwrap()).collect();
    let mut visits = Vec::new();
    for _ in 0..3 {
        let page = pool.allocate(&memory, Urgency::Normal).unwrap();
        visits.push(prepared.load(Ordering::Relaxed));
        // SAFETY: it came from this pool and is not used again.
        unsafe { pool.free(&memory, page) };
    }
    assert_eq!(visits, [3, 3, 3]);
    for page in full {
        // SAFETY: as above.
        unsafe { pool.free(&memory, page) };
    }
}
