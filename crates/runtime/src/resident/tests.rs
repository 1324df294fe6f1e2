#![expect(unsafe_code, reason = "allocates as fragments allocate large rows")]

use super::*;
use memory::{MIB, MemoryConfig};
use std::alloc::{Layout, alloc, dealloc};

#[test]
fn much_is_given_back_when_it_stays_or_is_very_much() {
    let mut kept = Kept::default();
    let looks = |kept: &mut Kept, resident: u64, used: u64, count: u32| -> Vec<bool> {
        (0..count).map(|_| kept.is_due(resident * MIB, used * MIB)).collect()
    };
    // 1.25 times what the regions hold and 64 MiB is never exceeded for long.
    assert_eq!(looks(&mut kept, 40, 0, 5), [false; 5]);
    assert_eq!(looks(&mut kept, 260, 200, 5), [false; 5]);
    assert_eq!(looks(&mut kept, 314, 200, 3), [false, false, true]);
    // It helped little: what lives beside the regions is asked for no more.
    kept.is_trimmed(310 * MIB, 200 * MIB);
    assert_eq!(looks(&mut kept, 314, 200, 5), [false; 5]);
    assert_eq!(looks(&mut kept, 330, 200, 3), [false, false, true]);
    kept.is_trimmed(230 * MIB, 200 * MIB);
    // A packet that comes and goes.
    assert_eq!(looks(&mut kept, 400, 200, 2), [false, false]);
    assert_eq!(looks(&mut kept, 230, 200, 1), [false]);
    assert_eq!(looks(&mut kept, 400, 200, 2), [false, false]);
    // A table of a gigabyte is dropped.
    assert_eq!(looks(&mut kept, 1_000, 0, 1), [true]);
}

/// Rows that are too large for pages, some of which stay.
#[test]
fn holes_go_back_to_the_system() {
    const COUNT: usize = 8_000;
    let layout = Layout::from_size_align(16_000, 64).unwrap();
    // SAFETY: the layout has a size; each piece is filled within it, and freed once with it.
    let (before, after) = unsafe {
        let pieces: Vec<_> = (0..COUNT).map(|_| alloc(layout)).collect();
        pieces.iter().for_each(|piece| piece.write_bytes(1, layout.size()));
        let before = resident().unwrap();
        let numbered = pieces.into_iter().enumerate();
        let (stay, go): (Vec<_>, Vec<_>) = numbered.partition(|(number, _)| number % 8 == 0);
        go.into_iter().for_each(|(_, piece)| dealloc(piece, layout));
        trim();
        let after = resident().unwrap();
        stay.into_iter().for_each(|(_, piece)| dealloc(piece, layout));
        (before, after)
    };
    let freed = (COUNT * 7 / 8 * layout.size()) as u64;
    assert!(after < before - freed / 2, "{before} {after}");
}

#[test]
fn what_the_process_holds_is_told() {
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(16 * MIB));
    assert_eq!(memory.beside_regions(), None);
    Keeper { memory: Weak::new(), kept: Kept::default() }.look(&memory);
    assert!(memory.beside_regions().is_some_and(|bytes| bytes > MIB));
}
