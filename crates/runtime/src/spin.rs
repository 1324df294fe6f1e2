//! Whether it pays to spin before sleeping: `SpinMethod` as a pure decision from the waits seen lately.
//!
//! Sleeping and being woken costs a thread some microseconds of CPU and its client a good deal more of latency.
//! Spinning costs the CPU that it burns. For each possible spin time *s* the spinner knows how many of the last waits
//! were shorter (hits), and what spinning that long would have burnt on average. It takes the *s* with the largest
//! `hits × worth − burnt`, if that is positive. `worth` is what a method thinks a spared sleep is worth. Long waits (an
//! idle node) make every *s* a loss, so an idle node does not spin.
//!
//! Invariant: never more than [`SPIN_MAX`], unless the operator's `spintime` says so.

use crate::config::SpinMethod;
use stdx::Duration;

#[cfg(test)]
mod tests;

/// Longest spin that is chosen without being told.
pub(crate) const SPIN_MAX: Duration = Duration::from_micros(50);
/// Spin times to choose from, in microseconds.
const CANDIDATES_US: [f32; 6] = [3.0, 7.0, 12.0, 20.0, 35.0, 50.0];
/// The same in nanoseconds.
const SPINS_NS: [u64; CANDIDATES_US.len()] = [3_000, 7_000, 12_000, 20_000, 35_000, 50_000];
/// Each wait moves the averages by 1/16: some 16 waits are remembered.
const MEMORY: f32 = 1.0 / 16.0;

/// Decides how long to spin.
pub(crate) struct Spinner {
    rule: Rule,
    /// For each candidate: the share of waits that it would have covered.
    hits: [f32; CANDIDATES_US.len()],
    /// For each candidate: microseconds it would have burnt on average.
    burnt_us: [f32; CANDIDATES_US.len()],
    chosen: Duration,
}

enum Rule {
    Fixed(Duration),
    /// The worth of a spared sleep, in microseconds of spinning.
    Worth {
        us: f32,
        longest: Duration,
    },
}

impl Spinner {
    /// For a thread whose plan may say `spintime`. Threads that outnumber the CPUs only spin if told to.
    pub(crate) fn new(method: SpinMethod, spin_time: Option<Duration>, threads_have_cpus: bool) -> Self {
        let worth = |us| Rule::Worth { us, longest: spin_time.unwrap_or(SPIN_MAX) };
        let rule = match method {
            SpinMethod::StaticSpinning => Rule::Fixed(spin_time.unwrap_or(SPIN_MAX)),
            SpinMethod::NoSpinning => Rule::Fixed(Duration::ZERO),
            _ if !threads_have_cpus => Rule::Fixed(Duration::ZERO),
            SpinMethod::CostBasedSpinning => worth(30.0),
            SpinMethod::LatencyOptimisedSpinning => worth(100.0),
            SpinMethod::DatabaseMachineSpinning => worth(300.0),
        };
        let chosen = match rule {
            Rule::Fixed(fixed) => fixed,
            Rule::Worth { .. } => Duration::ZERO,
        };
        // Nothing was seen yet: as if all waits had been long.
        Self { rule, hits: [0.0; CANDIDATES_US.len()], burnt_us: CANDIDATES_US, chosen }
    }

    /// How long to spin now.
    pub(crate) fn spin_time(&self) -> Duration {
        self.chosen
    }

    /// Learns from a wait that has ended: how long it was from running out of work to new work.
    pub(crate) fn learn(&mut self, wait: Duration) {
        let Rule::Worth { us: worth, longest } = self.rule else { return };
        let waited_us = wait.as_secs_f32() * 1e6;
        let mut best = 0.0;
        self.chosen = Duration::ZERO;
        for (index, candidate) in CANDIDATES_US.into_iter().enumerate() {
            let hit = if waited_us <= candidate { 1.0 } else { 0.0 };
            self.hits[index] += MEMORY * (hit - self.hits[index]);
            self.burnt_us[index] += MEMORY * (waited_us.min(candidate) - self.burnt_us[index]);
            let value = self.hits[index] * worth - self.burnt_us[index];
            let spin = Duration::from_nanos(SPINS_NS[index]);
            if value > best && spin <= longest {
                best = value;
                self.chosen = spin;
            }
        }
    }
}
