//! What threads count about themselves, and the report made of it (ndbinfo.threads, threadblocks, cpustat).
//!
//! Each thread counts in plain fields and publishes them every [`PUBLISH_INTERVAL`] while it works, and once more that long after it
//! fell asleep; a report reads what was published and costs the other threads nothing.

use crate::certificates::Facts;
use crate::machine;
use crate::process::{Process, unpoisoned};
use protocol::{CertificateReport, RuntimeReport, ThreadReport};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use stdx::{Duration, Instant};

/// How old published figures may be.
pub(crate) const PUBLISH_INTERVAL: Duration = Duration::from_millis(10);

/// Published by one thread, read by all.
#[derive(Default)]
pub(crate) struct ThreadStatistics {
    user_us: AtomicU64,
    system_us: AtomicU64,
    asleep_ns: AtomicU64,
    rounds: AtomicU64,
    signals: AtomicU64,
    system_calls: AtomicU64,
    wakes: AtomicU64,
    pub(crate) connections: AtomicU32,
}

/// Counted by one thread for itself.
#[derive(Default)]
pub(crate) struct Counting {
    pub(crate) asleep: Duration,
    pub(crate) rounds: u64,
    pub(crate) signals: u64,
    pub(crate) system_calls: u64,
    pub(crate) wakes: u64,
    published: Instant,
    signals_published: u64,
}

impl Counting {
    /// Something was handled since figures were published.
    pub(crate) fn is_unpublished(&self) -> bool {
        self.signals != self.signals_published
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
        store(&statistics.user_us, user.as_micros());
        store(&statistics.system_us, system.as_micros());
        store(&statistics.asleep_ns, self.asleep.as_nanos());
        statistics.rounds.store(self.rounds, Ordering::Relaxed);
        statistics.signals.store(self.signals, Ordering::Relaxed);
        statistics.system_calls.store(self.system_calls, Ordering::Relaxed);
        statistics.wakes.store(self.wakes, Ordering::Relaxed);
    }
}

/// One row per thread.
pub(crate) fn report(process: &Process) -> RuntimeReport {
    let threads = process.threads.iter().map(|thread| {
        let statistics = &thread.statistics;
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        ThreadReport {
            name: thread.name.clone(),
            modules: thread.modules.clone(),
            cpu: thread.cpu,
            user: Duration::from_micros(load(&statistics.user_us)),
            system: Duration::from_micros(load(&statistics.system_us)),
            asleep: Duration::from_nanos(load(&statistics.asleep_ns)),
            rounds: load(&statistics.rounds),
            signals: load(&statistics.signals),
            system_calls: load(&statistics.system_calls),
            wakes: load(&statistics.wakes),
            connections: statistics.connections.load(Ordering::Relaxed),
        }
    });
    let counters = process.counters();
    let counts = vec![
        ("SIGNALS_WITHOUT_LINK", counters.dropped),
        ("SIGNALS_UNDELIVERABLE", counters.undeliverable),
        ("STRANGERS_REFUSED", counters.strangers_refused),
        ("CLIENTS_REFUSED", counters.connections_refused),
        ("CLIENTS_WITHOUT_MEMORY", counters.memory_refused),
        ("LINKS_REFUSED", counters.links_refused),
        ("SLOW_ROUNDS", counters.slow_rounds),
    ];
    let peers = process.peers.iter().filter_map(|peer| unpoisoned(&peer.connected).clone()).collect();
    let certificates = process.keys().map_or_else(Vec::new, |keys| {
        std::iter::once(keys.own()).chain(keys.authorities()).map(certificate).collect()
    });
    RuntimeReport { threads: threads.collect(), counts, peers, certificates }
}

/// What is told of a certificate.
pub(crate) fn certificate(facts: &Facts) -> CertificateReport {
    CertificateReport { name: facts.name.clone(), expires: facts.expires(), serial: facts.serial.clone() }
}
