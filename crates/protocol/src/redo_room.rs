//! How much of a node's redo log waits for its disk, and how full the log is: numbers that the ldms and the module
//! `disk` of a node share.
//!
//! Nobody who publishes rows waits for room: an outcome that is known has to be carried out. So what makes more to
//! publish waits instead: a write in its statement, before it has a version that will be logged.
//!
//! Invariant: `waiting` counts the bytes of all blocks that an ldm has handed over and that are not written.
//!
//! Deliberately not here: who makes room (`durability`, `node`).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The name of what is full, for people.
pub const REDO_LOG: &str = "redo log";
/// From this fullness on the log takes only deletes and changes of the catalogue, in percent.
const WRITES_MAX: u32 = 90;
/// From this fullness on it takes nothing.
const DELETES_MAX: u32 = 97;

/// The answer to a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// There is room.
    Free,
    /// The disk is behind: it goes on a moment later.
    Awaited,
    /// The log, or its disk, is full.
    Full,
}

/// The numbers.
#[derive(Debug)]
pub struct RedoRoom {
    waiting: AtomicU64,
    waiting_max: u64,
    percent: AtomicU32,
}

impl RedoRoom {
    /// An empty log, of which so many bytes may wait to be written.
    #[must_use]
    pub fn new(waiting_max: u64) -> Self {
        Self { waiting: AtomicU64::new(0), waiting_max, percent: AtomicU32::new(0) }
    }

    /// Whether a write may be done; `is_last` for what is refused last: deletes, and changes of the catalogue.
    #[must_use]
    #[inline]
    pub fn of_write(&self, is_last: bool) -> Room {
        let percent_max = if is_last { DELETES_MAX } else { WRITES_MAX };
        if self.percent.load(Ordering::Relaxed) >= percent_max {
            Room::Full
        } else if self.waiting.load(Ordering::Relaxed) > self.waiting_max {
            Room::Awaited
        } else {
            Room::Free
        }
    }

    /// An ldm hands over so many bytes.
    pub fn add(&self, bytes: u64) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many bytes were written.
    pub fn remove(&self, bytes: u64) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes that wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// So many percent of the log are in use, or of its disk.
    pub fn set_percent(&self, percent: u32) {
        self.percent.store(percent, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_wait_for_the_disk_and_deletes_are_refused_last() {
        let room = RedoRoom::new(100);
        let told = || (room.of_write(false), room.of_write(true));
        assert_eq!(told(), (Room::Free, Room::Free));
        room.add(101);
        assert_eq!(told(), (Room::Awaited, Room::Awaited));
        room.remove(1);
        assert_eq!((told(), room.waiting()), ((Room::Free, Room::Free), 100));
        room.set_percent(90);
        assert_eq!(told(), (Room::Full, Room::Free));
        room.set_percent(97);
        assert_eq!(told(), (Room::Full, Room::Full));
        room.set_percent(89);
        assert_eq!(told(), (Room::Free, Room::Free));
    }
}
