use super::*;
use crate::MemoryConfig;

#[test]
fn whole_chunks_go_back_to_the_system() {
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let pool = memory.pages();
    assert_eq!(pool.bytes_from_system(), 0);
    let mut pages: Vec<_> =
        (0..PAGES_IN_CHUNK * 4).map(|_| pool.allocate(&memory, Urgency::Normal).unwrap()).collect();
    assert_eq!(pool.bytes_from_system(), 4 * CHUNK_BYTES as u64);
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
    // The one with a page in use, and an empty one that is kept.
    assert_eq!(pool.bytes_from_system(), 2 * CHUNK_BYTES as u64);
    let again = pool.allocate(&memory, Urgency::Normal).unwrap();
    assert_eq!(pool.bytes_from_system(), 2 * CHUNK_BYTES as u64);
    for page in [again, pages[0]] {
        // SAFETY: it came from this pool and is not used again.
        unsafe { pool.free(&memory, page) };
    }
    assert_eq!(pool.bytes_from_system(), CHUNK_BYTES as u64);
    assert_eq!(memory.used(Region::DataMemory), 0);
}
