#![expect(unsafe_code, reason = "uses pages as fragments use them")]

use super::*;
use memory::heap::Heap;
use memory::{HeapKind, MemoryConfig, MemoryManager, PAGE_BYTES, Urgency};
use std::sync::Arc;

/// A page, which is not written to.
fn page(memory: &Arc<MemoryManager>) -> Option<NonNull<u8>> {
    heap(memory).allocate(memory, PAGE_BYTES, Urgency::Normal).ok()
}

fn heap(memory: &Arc<MemoryManager>) -> &Heap {
    memory.heap(memory.heap_of_this_thread(HeapKind::Stored))
}

fn free(memory: &Arc<MemoryManager>, page: NonNull<u8>) {
    // SAFETY: it came from this heap, with this size, and is given once.
    unsafe { heap(memory).free(memory, page, PAGE_BYTES) };
}

/// Maps of the process that have an address between the two.
fn maps(first: NonNull<u8>, last: NonNull<u8>) -> Vec<String> {
    let text = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let number = |text: &str| usize::from_str_radix(text, 16).expect("an address");
    let overlaps = |line: &&str| {
        let (start, end) = line.split_once(' ').expect("fields").0.split_once('-').expect("two addresses");
        number(start) <= last.addr().get() && number(end) > first.addr().get()
    };
    text.lines().filter(overlaps).map(str::to_owned).collect()
}

/// 72 GiB of rows, of which no page is written to.
#[test]
fn many_chunks_are_few_maps() {
    const CHUNKS: usize = 36_000;
    for access in [Access::Whole, Access::ChunkByChunk] {
        let config = MemoryConfig::with_data_memory((CHUNKS * CHUNK_BYTES * 20 / 19 + CHUNK_BYTES) as u64);
        let range = reserve_with(PageRange::bytes_for(&config), access).expect("addresses");
        let memory = MemoryManager::prepared(config, Box::new(|_, _| {}), Some(range));
        let pages: Vec<_> = (0..CHUNKS * CHUNK_BYTES / PAGE_BYTES).map_while(|_| page(&memory)).collect();
        assert_eq!(pages.len(), CHUNKS * CHUNK_BYTES / PAGE_BYTES);
        let (first, last) = (*pages.iter().min().expect("a page"), *pages.iter().max().expect("a page"));
        assert_eq!(last.addr().get() - first.addr().get(), CHUNKS * CHUNK_BYTES - PAGE_BYTES, "one range");
        let maps = maps(first, last);
        assert!(maps.len() <= 3, "{access:?}: {maps:?}");
        pages.into_iter().for_each(|page| free(&memory, page));
    }
}

#[test]
fn chunks_are_opened_when_they_are_needed() {
    let config = MemoryConfig::with_data_memory(64 * MIB);
    let range = reserve_with(PageRange::bytes_for(&config), Access::ChunkByChunk).expect("addresses");
    let memory = MemoryManager::prepared(config, Box::new(|_, _| {}), Some(range));
    let count = 5 * CHUNK_BYTES / PAGE_BYTES;
    let pages: Vec<_> = (0..count).map(|_| page(&memory).expect("a page")).collect();
    for page in &pages {
        // SAFETY: the page is ours.
        unsafe { page.write_bytes(7, PAGE_BYTES) };
    }
    let end = |page: NonNull<u8>| page.map_addr(|address| address.saturating_add(20 * CHUNK_BYTES));
    let last = *pages.iter().max().expect("a page");
    let access: Vec<String> = maps(last, end(last))
        .iter()
        .map(|map| map.split(' ').nth(1).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(access, ["rw-p", "---p"], "what was not needed is closed");
    pages.into_iter().for_each(|page| free(&memory, page));
    assert_eq!(memory.used_in_all(), 0);
}

#[test]
fn more_than_there_is_is_refused() {
    let why = reserve_with(1 << 60, Access::Whole).err().expect("refused");
    assert!(why.starts_with("cannot reserve 1099511627776 MiB of addresses: "), "{why}");
    assert!(reserve_with(usize::MAX / CHUNK_BYTES * CHUNK_BYTES, Access::Whole).is_err());
}

/// Memory that is given back stays usable, and nothing is left of it.
#[test]
fn chunks_given_back_are_empty() {
    let config = MemoryConfig::with_data_memory(64 * MIB);
    let range = reserve_with(PageRange::bytes_for(&config), Access::Whole).expect("addresses");
    let memory = MemoryManager::prepared(config, Box::new(|_, _| {}), Some(range));
    let pages: Vec<_> = (0..4 * CHUNK_BYTES / PAGE_BYTES).map(|_| page(&memory).expect("a page")).collect();
    for page in &pages {
        // SAFETY: the page is ours.
        unsafe { page.write_bytes(7, PAGE_BYTES) };
    }
    pages.iter().for_each(|page| free(&memory, *page));
    (0..2).for_each(|_| memory.pages().begin_round());
    let mut given = Vec::new();
    while memory.pages().give_back_idle(|start, size| {
        super::super::give_back(start, size);
        given.push(start);
    }) {}
    assert!(!given.is_empty());
    for start in given {
        // SAFETY: the chunk is mapped, and the pool hands none of it out meanwhile.
        assert_eq!(unsafe { start.read() }, 0);
    }
}
