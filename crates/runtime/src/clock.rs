//! The machine's clocks. It is read in each round, when parcels and links were taken and after each connection's bytes,
//! and before each slice of long work. `now` is never earlier than the input that it comes with.

use rustix::time::{ClockId, Timespec, clock_gettime};
use stdx::{Instant, Now, WallTime};

/// CLOCK_BOOTTIME: like CLOCK_MONOTONIC, but it goes on while the machine is suspended, and so do the leases of others.
/// A node that wakes up must not believe in grants that ran out in its sleep. (Both are read in the process, without a
/// system call, and cost the same. A virtual machine whose whole clock stands still cannot be helped.)
pub fn monotonic() -> Instant {
    Instant(nanoseconds(clock_gettime(ClockId::Boottime)))
}

/// Both clocks.
pub(crate) fn now() -> Now {
    let wall = nanoseconds(clock_gettime(ClockId::Realtime)) / 1000;
    Now { monotonic: monotonic(), wall: WallTime(wall) }
}

fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
