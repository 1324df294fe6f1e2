//! The report made of what threads count about themselves (ndbinfo.threads, threadblocks, threadstat, cpustat).
//!
//! It reads what they have published (`statistics`) and costs them nothing.

use crate::certificates::Facts;
use crate::clock;
use crate::process::{Process, ThreadShared, unpoisoned};
use protocol::{CertificateReport, ModuleKind, RuntimeReport, ThreadReport};
use std::sync::atomic::{AtomicU64, Ordering};
use stdx::Duration;

/// One row per thread.
pub(crate) fn report(process: &Process) -> RuntimeReport {
    let now = clock::monotonic();
    let threads = process.threads.iter().map(|thread| {
        let statistics = &thread.statistics;
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let longest = *unpoisoned(&statistics.longest_call);
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
            busy: thread.busy(now),
            backlog: statistics.load.backlog().unwrap_or_default(),
            weight: weight(process, thread),
            reads_given: load(&statistics.reads_given),
            reads_taken: load(&statistics.reads_taken),
            longest_call: longest.time,
            longest_call_of: longest.of,
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

/// The weight of a thread with a `query`.
fn weight(process: &Process, thread: &ThreadShared) -> Option<u8> {
    let query = thread.modules.iter().find(|module| module.kind == ModuleKind::Query)?;
    process.weights.get(usize::from(query.instance)).map(|weight| weight.load(Ordering::Relaxed))
}

/// The report on a certificate.
pub(crate) fn certificate(facts: &Facts) -> CertificateReport {
    CertificateReport { name: facts.name.clone(), expires: facts.expires(), serial: facts.serial.clone() }
}
