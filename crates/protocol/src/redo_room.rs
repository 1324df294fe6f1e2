//! Numbers of a node's redo log that its ldms and its modules `disk` and `main` share.
//!
//! They say how much of the log waits for its disk, how much of it a loss of power would take, and how full it is.
//!
//! Nobody who publishes rows waits for room: an outcome that is known has to be carried out. So what makes more to
//! publish waits instead: a write in its statement, before it has a version that will be logged. It does so for
//! `RedoWaitTimeout` at most, and is refused then.
//!
//! Invariant: `waiting` counts the bytes of all blocks that an ldm has filled and that are not written.
//!
//! Deliberately not here: who makes room (`durability`, `node`).

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use stdx::Duration;

/// The name of what is full, for people.
pub const REDO_LOG: &str = "redo log";
/// From this fullness on the log takes at once only deletes and changes of the catalogue, in percent.
const WRITES_MAX: u32 = 90;
/// From this fullness on it takes nothing at once.
const DELETES_MAX: u32 = 97;
/// How long a write waits for room, if nobody says.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// The answer to a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// There is room.
    Free,
    /// The disk is behind: it goes on a moment later.
    Awaited,
    /// The log, or its disk, is full: it goes on when a checkpoint has made room, or is refused in the end.
    Full,
}

/// The numbers.
#[derive(Debug)]
pub struct RedoRoom {
    waiting: AtomicU64,
    waiting_max: u64,
    /// RedoWaitTimeout.
    wait_max: Duration,
    percent: AtomicU32,
    /// Bytes that the log has got and that are not durable in the cluster, less those of them that wait.
    exposed: AtomicI64,
    /// By ldm: bytes of the block that it has not handed over.
    open: Box<[OpenBytes]>,
}

/// A number that one ldm writes often: it has a cache line for itself.
#[derive(Debug, Default)]
#[repr(align(64))]
struct OpenBytes(AtomicU64);

impl RedoRoom {
    /// An empty log of so many ldms, of which so many bytes may wait to be written.
    #[must_use]
    pub fn new(waiting_max: u64, ldms: u8) -> Self {
        Self {
            waiting: AtomicU64::new(0),
            waiting_max,
            wait_max: WAIT_MAX,
            percent: AtomicU32::new(0),
            exposed: AtomicI64::new(0),
            open: (0..ldms).map(|_| OpenBytes::default()).collect(),
        }
    }

    /// The same; a write waits so long for room (RedoWaitTimeout).
    #[must_use]
    pub fn with_wait_max(self, wait_max: Duration) -> Self {
        Self { wait_max, ..self }
    }

    /// How long a write waits for room before it is refused.
    #[must_use]
    pub fn wait_max(&self) -> Duration {
        self.wait_max
    }

    /// The block that an ldm has not handed over has so many bytes.
    #[inline]
    pub fn set_open(&self, ldm: u8, bytes: u64) {
        if let Some(open) = self.open.get(usize::from(ldm)) {
            open.0.store(bytes, Ordering::Relaxed);
        }
    }

    /// So many bytes of the log are not durable in the cluster, and so many of its bytes wait.
    pub fn set_exposed(&self, bytes: u64, waiting: u64) {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.exposed.store(signed(bytes) - signed(waiting), Ordering::Relaxed);
    }

    /// Bytes of the log that a stop of all nodes would take.
    #[must_use]
    pub fn lost_bytes(&self) -> u64 {
        let open: u64 = self.open.iter().map(|open| open.0.load(Ordering::Relaxed)).sum();
        open + self.waiting().saturating_add_signed(self.exposed.load(Ordering::Relaxed))
    }

    /// Whether a write may be done; `is_last` for deletes and changes of the catalogue, which wait last.
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

    /// An ldm has filled a block of so many bytes.
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
        let room = RedoRoom::new(100, 1);
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

    #[test]
    fn what_is_not_durable_is_open_or_waits_or_is_on_this_disk_only() {
        let room = RedoRoom::new(100, 2);
        assert_eq!(room.lost_bytes(), 0);
        (0..2).for_each(|ldm| room.set_open(ldm, 10));
        room.add(500);
        assert_eq!(room.lost_bytes(), 520);
        room.set_exposed(3_000, 400);
        assert_eq!(room.lost_bytes(), 3_120, "of 500 that wait the log has got 400");
        room.set_open(1, 0);
        room.remove(500);
        room.set_exposed(3_000, 0);
        assert_eq!(room.lost_bytes(), 3_010);
    }
}
