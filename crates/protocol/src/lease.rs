//! Until when the other threads of a node may read (I3 of ARCHITECTURE.md): `membership` says it.
//!
//! It changes with every heartbeat, too often for a new map each time, so it is a number that `membership` alone writes
//! and everybody reads.
//!
//! Invariants:
//! - a replica answers reads and opens snapshots only while `now < read_until`, with a `now` that was read after the
//!   input it serves;
//! - `membership` has written it for a view before it tells anybody of that view. A reader that sees a newer number
//!   than its view has is safe: it only says less.
//!
//! Deliberately not here: how grants are given (`membership::detector`), and that writes wait for what was granted:
//! nobody enters a view before that has run out (`Membership::install_if_due`).

use std::sync::atomic::{AtomicU64, Ordering};
use stdx::Instant;

/// The moment.
#[derive(Debug, Default)]
pub struct Lease {
    read_until: AtomicU64,
}

impl Lease {
    /// For nodes and tests without membership: everything is allowed for ever.
    #[must_use]
    pub fn unlimited() -> Self {
        Self { read_until: AtomicU64::new(u64::MAX) }
    }

    /// Reads may be answered before this moment.
    #[must_use]
    #[inline]
    pub fn read_until(&self) -> Instant {
        Instant(self.read_until.load(Ordering::Acquire))
    }

    /// By `membership` only.
    pub fn set(&self, read_until: Instant) {
        self.read_until.store(read_until.0, Ordering::Release);
    }
}
