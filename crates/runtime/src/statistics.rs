//! The counts of threads about themselves, and those of a process.
//!
//! Each thread counts in plain fields and publishes them every [`PUBLISH_INTERVAL`] while it works, and once more that
//! long after it fell asleep. A report reads the published counts and costs the other threads nothing.
//!
//! Deliberately not here: the report (`report`).

use crate::load::{LoadMeter, PublishedLoad};
use crate::machine;
use crate::process::unpoisoned;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use stdx::{Duration, Instant};

/// Unusual things, counted since the start (ndbinfo.counters).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuntimeCounters {
    /// Signals dropped because their node was not connected.
    pub dropped: u64,
    /// Signals to modules that do not exist.
    pub undeliverable: u64,
    /// Connections on the cluster port that were not a peer's: another cluster, an unknown or second node, no hello.
    pub strangers_refused: u64,
    /// Client connections closed because of a limit.
    pub connections_refused: u64,
    /// Client connections whose buffers found no room in ClientMemory.
    pub memory_refused: u64,
    /// Links closed for breaking the protocol.
    pub links_refused: u64,
    /// Rounds of threads that took longer than they should.
    pub slow_rounds: u64,
}

/// How old published figures may be.
pub(crate) const PUBLISH_INTERVAL: Duration = Duration::from_millis(10);

/// For so long, and once more, the longest call counts.
const LONGEST_CALL_KEPT: Duration = Duration::from_secs(60);

/// The longest time between two looks at the clock in rounds, and the input that was handled last in it. A look follows
/// sixteen calls at the latest, and each call that has spent its budget.
#[derive(Clone, Copy, Default)]
pub(crate) struct LongestCall {
    pub(crate) time: Duration,
    pub(crate) of: &'static str,
}

/// Published by one thread, read by all.
#[derive(Default)]
pub(crate) struct ThreadStatistics {
    pub(crate) user_us: AtomicU64,
    pub(crate) system_us: AtomicU64,
    pub(crate) asleep_ns: AtomicU64,
    pub(crate) rounds: AtomicU64,
    pub(crate) signals: AtomicU64,
    pub(crate) system_calls: AtomicU64,
    pub(crate) wakes: AtomicU64,
    pub(crate) connections: AtomicU32,
    pub(crate) longest_call: Mutex<LongestCall>,
    pub(crate) reads_given: AtomicU64,
    pub(crate) reads_taken: AtomicU64,
    pub(crate) load: PublishedLoad,
}

/// Counted by one thread for itself.
#[derive(Default)]
pub(crate) struct Counting {
    pub(crate) asleep: Duration,
    /// In rounds: neither asleep nor spinning.
    pub(crate) busy_ns: u64,
    pub(crate) rounds: u64,
    pub(crate) signals: u64,
    pub(crate) system_calls: u64,
    pub(crate) wakes: u64,
    /// Reads that other threads of the node were asked for.
    pub(crate) reads_given: u64,
    /// Reads for sessions of other threads of the node.
    pub(crate) reads_taken: u64,
    pub(crate) load: LoadMeter,
    /// Of this minute and of the one before, and when this one began.
    longest: [LongestCall; 2],
    longest_since: Instant,
    /// The input that was handled last.
    pub(crate) last_input: &'static str,
    published: Instant,
    signals_published: u64,
}

impl Counting {
    /// Something was handled since figures were published.
    pub(crate) fn is_unpublished(&self) -> bool {
        self.signals != self.signals_published
    }

    /// So much time has passed since the last look at the clock in this round.
    #[inline]
    pub(crate) fn learn_call(&mut self, time: Duration) {
        if time > self.longest[0].time {
            self.longest[0] = LongestCall { time, of: self.last_input };
        }
    }

    fn publish_longest_call(&mut self, now: Instant, statistics: &ThreadStatistics) {
        let [current, before] = self.longest;
        *unpoisoned(&statistics.longest_call) = if current.time > before.time { current } else { before };
        if now.since(self.longest_since) >= LONGEST_CALL_KEPT {
            self.longest = [LongestCall::default(), current];
            self.longest_since = now;
        }
    }

    /// Publishes if the last time is long enough ago.
    #[inline]
    pub(crate) fn publish_if_due(&mut self, now: Instant, statistics: &ThreadStatistics) {
        if now.since(self.published) >= PUBLISH_INTERVAL {
            self.publish(now, statistics);
        }
    }

    #[cold]
    pub(crate) fn publish(&mut self, now: Instant, statistics: &ThreadStatistics) {
        self.published = now;
        self.signals_published = self.signals;
        let (user, system) = machine::cpu_time_of_this_thread();
        let store = |cell: &AtomicU64, value: u128| {
            cell.store(u64::try_from(value).unwrap_or(u64::MAX), Ordering::Relaxed);
        };
        self.publish_longest_call(now, statistics);
        self.load.publish_busy(now, (self.busy_ns, user + system, self.signals), &statistics.load);
        store(&statistics.user_us, user.as_micros());
        store(&statistics.system_us, system.as_micros());
        store(&statistics.asleep_ns, self.asleep.as_nanos());
        statistics.rounds.store(self.rounds, Ordering::Relaxed);
        statistics.signals.store(self.signals, Ordering::Relaxed);
        statistics.system_calls.store(self.system_calls, Ordering::Relaxed);
        statistics.wakes.store(self.wakes, Ordering::Relaxed);
        statistics.reads_given.store(self.reads_given, Ordering::Relaxed);
        statistics.reads_taken.store(self.reads_taken, Ordering::Relaxed);
    }
}
