//! Time as a value: blocks are told what time it is, they never ask.
//!
//! `Instant` is monotonic and comparable only within one node; `WallTime` is for NOW() and TIMESTAMP.

pub use std::time::Duration;

/// Nanoseconds on the node's monotonic clock (or the simulator's virtual one).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(pub u64);

/// Microseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct WallTime(pub u64);

/// The time that a handler is told: both readings were taken after its input arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// For deadlines, leases and durations.
    pub monotonic: Instant,
    /// For NOW(), TIMESTAMP and log lines.
    pub wall: WallTime,
}

impl Instant {
    /// A moment that never comes.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// Time since `earlier`, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The earlier of two moments, either of which may never come.
#[must_use]
#[inline]
pub fn earlier(left: Option<Instant>, right: Option<Instant>) -> Option<Instant> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}

impl std::ops::Add<Duration> for Instant {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}
