//! The machine's clocks. Read in each round, when parcels and links were taken and after each connection's bytes, and before each slice of long work:
//! `now` is never earlier than the input that it comes with.

use rustix::time::{ClockId, Timespec, clock_gettime};
use stdx::{Instant, Now, WallTime};

/// CLOCK_MONOTONIC.
pub(crate) fn monotonic() -> Instant {
    Instant(nanoseconds(clock_gettime(ClockId::Monotonic)))
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
