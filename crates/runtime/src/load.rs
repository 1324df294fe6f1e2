//! How busy each thread is, as the others see it: where reads and new clients go depends on it.
//!
//! ```text
//! busy     every 50 ms     the share of time in rounds, of the last two samples (`protocol::placement::busy_of`)
//! backlog  once per round  what is queued, times what such work took on average; stored when it changed by 20 µs
//! ```
//! Time in rounds without a CPU is no load of this thread, and CPU time outside of rounds was spent spinning: the
//! smaller one counts.
//!
//! Invariants:
//! - each line here is written by one thread only, and no system call is made for it alone;
//! - a thread that waits says so before it sleeps, and keeps saying so until its next round.
//!
//! Deliberately not here: what follows from loads (`protocol::placement`, `placement`).

use protocol::placement::{SAMPLE, busy_of};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use stdx::{Duration, Instant};

/// A backlog that changes by less is not stored again.
const BACKLOG_NOISE_NS: u64 = 20_000;
/// The costs of work that has not been measured yet.
const SHORT_NS: u64 = 5_000;
const SLICE_NS: u64 = 50_000;

/// The load of one thread, on a cache line of its own: others look at it while the thread works. Two lines are fetched
/// together.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct PublishedLoad {
    /// In percent.
    busy: AtomicU32,
    /// When the last sample ended.
    sampled: AtomicU64,
    /// Nanoseconds, at least 1; 0 while the thread waits for work.
    backlog_ns: AtomicU64,
}

impl PublishedLoad {
    /// The share of the last moments that the thread has worked, in percent. `round` is when the round began that it is
    /// in, 0 if it is in none.
    pub(crate) fn busy(&self, now: Instant, round: Instant) -> u32 {
        let sampled = Instant(self.sampled.load(Ordering::Relaxed));
        if now.since(sampled) < SAMPLE * 2 {
            self.busy.load(Ordering::Relaxed)
        } else if round.0 > 0 && now.since(round) >= SAMPLE {
            100
        } else {
            // A thread that works takes samples more often: it sleeps, or has just begun.
            0
        }
    }

    /// The time that the thread's queued work takes; None while it waits for work.
    #[inline]
    pub(crate) fn backlog(&self) -> Option<Duration> {
        let backlog_ns = self.backlog_ns.load(Ordering::Relaxed);
        (backlog_ns > 0).then(|| Duration::from_nanos(backlog_ns))
    }
}

/// Measured by one thread of itself.
pub(crate) struct LoadMeter {
    /// Slices of long work, and their time, since costs were renewed.
    slices: (u64, Duration),
    /// The counts when costs were renewed: the time in rounds, and the inputs handled.
    renewed: (u64, u64),
    short_ns: u64,
    slice_ns: u64,
    /// The backlog that the published line has.
    backlog_ns: u64,
    /// Where the sample began: the moment, the time in rounds and the CPU time then.
    sample: (Instant, u64, Duration),
    /// The last sample, in percent.
    last: u32,
}

impl Default for LoadMeter {
    fn default() -> Self {
        Self {
            slices: (0, Duration::ZERO),
            renewed: (0, 0),
            short_ns: SHORT_NS,
            slice_ns: SLICE_NS,
            backlog_ns: 0,
            sample: (Instant(0), 0, Duration::ZERO),
            last: 0,
        }
    }
}

impl LoadMeter {
    /// A slice of long work took so long.
    #[inline]
    pub(crate) fn count_slice(&mut self, took: Duration) {
        self.slices = (self.slices.0 + 1, self.slices.1 + took);
    }

    /// At the beginning of a round: so many slices and short inputs wait. The time that they take.
    #[inline]
    pub(crate) fn publish_backlog(&mut self, long: usize, short: usize, line: &PublishedLoad) -> Duration {
        let backlog_ns = (long as u64 * self.slice_ns + short as u64 * self.short_ns).max(1);
        if self.backlog_ns == 0 || backlog_ns.abs_diff(self.backlog_ns) >= BACKLOG_NOISE_NS {
            self.backlog_ns = backlog_ns;
            line.backlog_ns.store(backlog_ns, Ordering::Relaxed);
        }
        Duration::from_nanos(backlog_ns)
    }

    /// The thread has nothing to do.
    #[inline]
    pub(crate) fn publish_wait(&mut self, line: &PublishedLoad) {
        self.backlog_ns = 0;
        line.backlog_ns.store(0, Ordering::Relaxed);
    }

    /// Now and then: the thread has spent so much time in rounds and so much CPU time since it began, and has handled
    /// so many inputs.
    pub(crate) fn publish_busy(
        &mut self,
        now: Instant,
        (busy_ns, cpu, inputs): (u64, Duration, u64),
        line: &PublishedLoad,
    ) {
        self.renew_costs(busy_ns, inputs);
        let (began, busy_before, cpu_before) = self.sample;
        let window = now.since(began);
        if window < SAMPLE {
            return;
        }
        let worked = u128::from(busy_ns - busy_before).min(cpu.saturating_sub(cpu_before).as_nanos());
        let load = worked * 100 / window.as_nanos().max(1);
        let load = u32::try_from(load).unwrap_or(100).min(100);
        line.busy.store(busy_of(std::mem::replace(&mut self.last, load), load), Ordering::Relaxed);
        line.sampled.store(now.0, Ordering::Relaxed);
        self.sample = (now, busy_ns, cpu);
    }

    /// A kind of work that has not come since keeps its cost. The time of sending belongs to short work.
    fn renew_costs(&mut self, busy_ns: u64, inputs: u64) {
        let (slices, slices_time) = std::mem::take(&mut self.slices);
        let slices_ns = u64::try_from(slices_time.as_nanos()).unwrap_or(u64::MAX);
        let (busy_before, inputs_before) = std::mem::replace(&mut self.renewed, (busy_ns, inputs));
        if let Some(cost) = slices_ns.checked_div(slices) {
            self.slice_ns = cost;
        }
        let short_ns = (busy_ns - busy_before).saturating_sub(slices_ns);
        if let Some(cost) = short_ns.checked_div((inputs - inputs_before).saturating_sub(slices)) {
            self.short_ns = cost;
        }
    }
}

#[cfg(test)]
mod tests;
