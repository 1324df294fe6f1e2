//! What `membership` lets the other threads of its node do now (I3 of the replication design): read, and acknowledge writes.
//!
//! Both change with every heartbeat, too often for a new map each time, so they are two numbers that `membership` alone writes and everybody reads.
//!
//! Invariants:
//! - a replica answers reads and opens snapshots only while `now < read_until`, with a `now` that was read after the input it serves;
//! - a write is acknowledged only when `now >= acknowledge_after`;
//! - `membership` has written both for a view before it tells anybody of that view. A reader that sees newer numbers than its view has is safe: they
//!   only say less.
//!
//! Deliberately not here: how grants are given (`membership::detector`).

use std::sync::atomic::{AtomicU64, Ordering};
use stdx::Instant;

/// The two moments.
#[derive(Debug, Default)]
pub struct Lease {
    read_until: AtomicU64,
    acknowledge_after: AtomicU64,
}

impl Lease {
    /// For nodes and tests without membership: everything is allowed for ever.
    #[must_use]
    pub fn unlimited() -> Self {
        Self { read_until: AtomicU64::new(u64::MAX), acknowledge_after: AtomicU64::new(0) }
    }

    /// Reads may be answered before this moment.
    #[must_use]
    #[inline]
    pub fn read_until(&self) -> Instant {
        Instant(self.read_until.load(Ordering::Acquire))
    }

    /// Writes may be acknowledged from this moment on.
    #[must_use]
    #[inline]
    pub fn acknowledge_after(&self) -> Instant {
        Instant(self.acknowledge_after.load(Ordering::Acquire))
    }

    /// By `membership` only.
    pub fn set(&self, read_until: Instant, acknowledge_after: Instant) {
        self.acknowledge_after.store(acknowledge_after.0, Ordering::Release);
        self.read_until.store(read_until.0, Ordering::Release);
    }
}
