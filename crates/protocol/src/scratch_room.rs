//! Bytes of scratch that the statements of a node have on its disk: its `sql` modules share the count.
//!
//! Invariant: `used` is never above `max`.
//!
//! Deliberately not here: the room that the disk really has. The driver answers `Full`.

use std::sync::atomic::{AtomicU64, Ordering};

/// The name of the bound, for people.
pub const SCRATCH_SPACE: &str = "ScratchSpace";

/// The count, and its bound.
#[derive(Debug)]
pub struct ScratchRoom {
    used: AtomicU64,
    max: u64,
}

impl ScratchRoom {
    /// Room for so many bytes (ScratchSpace).
    #[must_use]
    pub fn new(max: u64) -> Self {
        Self { used: AtomicU64::new(0), max }
    }

    /// Takes so many bytes; false if there are fewer left.
    #[must_use]
    pub fn take(&self, bytes: u64) -> bool {
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.max);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Gives so many bytes back.
    pub fn give_back(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        stdx::require!(before >= bytes, "only what was taken is given back");
    }

    /// Bytes that statements have.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that they may have.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::ScratchRoom;

    #[test]
    fn no_more_is_taken_than_there_is() {
        let room = ScratchRoom::new(100);
        assert!(room.take(60) && !room.take(41) && room.take(40));
        assert!(!room.take(u64::MAX));
        room.give_back(60);
        assert_eq!((room.used(), room.max(), room.take(60)), (40, 100, true));
    }
}
