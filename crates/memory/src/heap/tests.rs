use super::*;
use crate::MemoryConfig;
use stdx::Prng;

fn memory(mib: u64) -> std::sync::Arc<MemoryManager> {
    MemoryManager::new(MemoryConfig::with_data_memory(mib << 20))
}

#[test]
fn classes_cover_all_sizes_with_little_waste() {
    for bytes in 1..=SMALL_BYTES_MAX {
        let slot = footprint(bytes);
        assert!(slot >= bytes && slot.is_multiple_of(8));
        let waste = slot - bytes;
        assert!(waste < 16 || waste * 3 <= slot, "{bytes} in {slot}");
        assert!(bytes > 256 || waste < 8);
        assert!(bytes <= 512 || bytes > 4096 || waste * 7 <= slot, "{bytes} in {slot}");
    }
    assert_eq!(footprint(PAGE_BYTES), PAGE_BYTES);
    assert_eq!(footprint(20 << 20), 20 << 20);
}

#[test]
fn pieces_do_not_overlap_and_all_memory_comes_back() {
    let memory = memory(64);
    let heap = memory.heap(0);
    let mut prng = Prng::new(7);
    let mut pieces: Vec<(NonNull<u8>, usize, u8)> = Vec::new();
    let steps: u64 = if cfg!(miri) { 300 } else { 30_000 };
    for step in 0..steps {
        if prng.chance(step / 2 + 1, steps) && !pieces.is_empty() {
            let (piece, bytes, mark) = pieces.swap_remove(prng.index(pieces.len()));
            // SAFETY: the piece is ours and has so many bytes.
            let content = unsafe { std::slice::from_raw_parts(piece.as_ptr(), bytes) };
            assert!(content.iter().all(|byte| *byte == mark));
            // SAFETY: it came from this heap with this size and is not used again.
            unsafe { heap.free(&memory, piece, bytes) };
        } else {
            let bytes = match prng.below(40) {
                0 => PAGE_BYTES,
                1 => 11_000 + prng.index(50_000),
                2..10 => 1 + prng.index(SMALL_BYTES_MAX),
                _ => 1 + prng.index(300),
            };
            let piece = heap.allocate(&memory, bytes, Urgency::Normal).unwrap();
            assert!(piece.addr().get().is_multiple_of(if bytes == PAGE_BYTES { PAGE_BYTES } else { 8 }));
            let mark = u8::try_from(prng.below(256)).unwrap();
            // SAFETY: the piece is ours and has so many bytes.
            unsafe { piece.write_bytes(mark, bytes) };
            pieces.push((piece, bytes, mark));
        }
        if prng.chance(1, 5000) {
            let taken: u64 = pieces.iter().map(|(_, bytes, _)| footprint(*bytes) as u64).sum();
            assert!(memory.used(Region::DataMemory) >= taken);
        }
    }
    // SAFETY: all came from this heap with these sizes and are not used again.
    unsafe { heap.free_all(&memory, pieces.drain(..).map(|(piece, bytes, _)| (piece, bytes))) };
    assert!(memory.used(Region::DataMemory) <= PAGE_BYTES as u64);
    heap.trim(&memory);
    assert_eq!((memory.used(Region::DataMemory), heap.page_count()), (0, 0));
}

#[test]
fn the_last_part_is_for_restart_and_refusals_leave_no_trace() {
    let memory = memory(4);
    let heap = memory.heap(1);
    let mut pieces = Vec::new();
    while let Ok(piece) = heap.allocate(&memory, 1000, Urgency::Normal) {
        pieces.push((piece, 1000));
    }
    let normal = memory.used(Region::DataMemory);
    assert!(normal <= 4 * 1024 * 1024 * 95 / 100 && normal > 4 * 1024 * 1024 * 94 / 100);
    assert!(heap.allocate(&memory, 100_000, Urgency::Normal).is_err());
    assert_eq!(memory.used(Region::DataMemory), normal);
    while let Ok(piece) = heap.allocate(&memory, 1000, Urgency::Restart) {
        pieces.push((piece, 1000));
    }
    assert!(memory.used(Region::DataMemory) > 4 * 1024 * 1024 * 98 / 100);
    assert_eq!(
        heap.allocate(&memory, 1000, Urgency::Restart),
        Err(RegionFull { region: Region::DataMemory })
    );
    // SAFETY: all came from this heap with these sizes and are not used again.
    unsafe { heap.free_all(&memory, pieces.into_iter()) };
    heap.trim(&memory);
    assert_eq!(memory.used(Region::DataMemory), 0);
}

#[test]
fn slots_of_large_pieces_serve_small_ones_where_memory_is_full() {
    let memory = memory(4);
    let heap = memory.heap(1);
    let mut pieces = Vec::new();
    while let Ok(piece) = heap.allocate(&memory, 4_000, Urgency::Normal) {
        pieces.push((piece, 4_000));
    }
    assert!(heap.allocate(&memory, 200, Urgency::Normal).is_err());
    // One of each page: no page becomes free.
    let step = PAGE_BYTES / 4_000;
    let freed: Vec<_> = (0..pieces.len() / step).rev().map(|page| pieces.remove(page * step)).collect();
    let count = freed.len();
    // SAFETY: all came from this heap with these sizes and are not used again.
    unsafe { heap.free_all(&memory, freed.into_iter()) };
    let used = memory.used(Region::DataMemory);
    let small: Vec<_> =
        (0..count).map(|_| heap.allocate(&memory, 200, Urgency::Normal).expect("a free slot")).collect();
    assert_eq!(memory.used(Region::DataMemory), used);
    assert!(heap.allocate(&memory, 200, Urgency::Normal).is_err());
    pieces.extend(small.into_iter().map(|piece| (piece, 200)));
    // SAFETY: all came from this heap with these sizes and are not used again.
    unsafe { heap.free_all(&memory, pieces.into_iter()) };
    heap.trim(&memory);
    assert_eq!(memory.used(Region::DataMemory), 0);
}
