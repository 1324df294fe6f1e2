//! Where the code was: each thread keeps its last places in a small ring, cheap enough for hot paths, read only when
//! the node dies. No block reads it, so it does not touch determinism.

use std::cell::{Cell, RefCell};

/// How many places each thread remembers.
pub const JAM_COUNT: usize = 4096;

/// One remembered place.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Source file.
    pub file: &'static str,
    /// Source line.
    pub line: u32,
}

struct JamRing {
    places: RefCell<Vec<Place>>,
    next: Cell<usize>,
}

thread_local! {
    static RING: JamRing = const { JamRing { places: RefCell::new(Vec::new()), next: Cell::new(0) } };
}

/// Remembers this place (used through [`jam!`](crate::jam!)).
#[inline]
pub fn remember(file: &'static str, line: u32) {
    RING.with(|ring| {
        let index = ring.next.get();
        ring.next.set((index + 1) % JAM_COUNT);
        let mut places = ring.places.borrow_mut();
        if places.len() < JAM_COUNT {
            places.push(Place { file, line });
        } else {
            places[index] = Place { file, line };
        }
    });
}

/// This thread's remembered places, oldest first.
#[must_use]
pub fn places() -> Vec<Place> {
    RING.with(|ring| {
        let places = ring.places.borrow();
        let split = if places.len() < JAM_COUNT { 0 } else { ring.next.get() };
        places[split..].iter().chain(&places[..split]).copied().collect()
    })
}

/// Dies with a message: the end of every broken invariant. The panic hook of the process writes the trace.
#[cold]
#[inline(never)]
pub fn broken(message: &str, file: &'static str, line: u32) -> ! {
    remember(file, line);
    panic!("{message} at {file}:{line}");
}

/// Remembers that the code came by here.
#[macro_export]
macro_rules! jam {
    () => {
        $crate::jam::remember(file!(), line!())
    };
}
