//! One measurement of a workload on a cluster: throughput, latency, CPU time of servers and of clients.
//!
//! Clients take turns at the servers, so each server has an equal share of them.
//!
//! **Invariants.** When [`measure`] returns, its clients are gone. CPU time is that of whole processes: nothing else
//! may run in this one meanwhile.

use crate::cluster::Cluster;
use crate::generator::{self, Counted, Load};
use crate::median;
use crate::oltp::{Mix, Tables};
use crate::tpcc;
use crate::workload::SCANNERS;
use mysql_protocol::client::ClientOptions;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

/// Warehouses of TPC-C. Its clients share them, so that many of them wait for each other's rows.
const WAREHOUSES: u64 = 2;

/// How long a client of TPC-C waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The load of a measurement.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) tables: Tables,
    /// A transaction of one client; none: those of TPC-C.
    pub(crate) mix: Option<Mix>,
    /// Statements of [`SCANNERS`] clients beside the others, which are not counted.
    pub(crate) beside: Option<Mix>,
    pub(crate) clients: u32,
    pub(crate) time: Duration,
    /// CPUs that the clients are bound to; empty: all.
    pub(crate) cpus: Vec<usize>,
    pub(crate) seed: u64,
}

/// The figures of a measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Figures {
    /// Transactions, without those of clients that scan beside.
    pub(crate) per_second: f64,
    pub(crate) p99_ms: f64,
    /// CPU time of all processes of the cluster, for each statement of the workload, and each transaction of TPC-C.
    pub(crate) cpu_us: f64,
    /// The user's part of it.
    pub(crate) user_us: f64,
    /// CPU time of the clients, for each statement.
    pub(crate) client_us: f64,
}

/// The account that benchmarks use on a cluster of their own.
pub(crate) fn login() -> ClientOptions {
    ClientOptions::new("root", "")
}

/// Clients of TPC-C, whose tables are there.
pub(crate) fn terminals(cluster: &Cluster, clients: u32, time: Duration) -> tpcc::Options {
    tpcc::Options {
        servers: cluster.servers.clone(),
        warehouses: WAREHOUSES,
        clients: u64::from(clients),
        time,
        loads: false,
        checks: false,
        patience: PATIENCE,
        figures: None,
    }
}

/// Makes the tables of TPC-C.
pub(crate) fn load_tpcc(cluster: &Cluster) -> Result<(), String> {
    let loaders = u32::try_from(WAREHOUSES).unwrap_or(1);
    tpcc::load(&terminals(cluster, loaders, Duration::ZERO), cluster.servers[0], &|_| {})
}

/// Measures; the figures of a measurement that `stop` ended are of a part of its time.
pub(crate) fn measure(cluster: &Cluster, wanted: &Measurement, stop: &AtomicBool) -> Result<Figures, String> {
    let before = (cluster.cpu_time(), cluster.user_time(), own_cpu_time());
    let (transactions, statements, p99_ms) = match &wanted.mix {
        Some(mix) => {
            let counted = run_clients(cluster, wanted, mix, stop)?;
            (counted.transactions, counted.statements, counted.percentile_ms(99.0))
        }
        None => {
            let done = tpcc::measure(&terminals(cluster, wanted.clients, wanted.time), stop)?;
            (done.transactions, done.transactions, done.p99_ms)
        }
    };
    let us = |now: Duration, before: Duration| now.saturating_sub(before).as_secs_f64() * 1e6;
    // Counts are far below 2^52.
    let (transactions, statements) = (transactions as f64, statements.max(1) as f64);
    Ok(Figures {
        per_second: transactions / wanted.time.as_secs_f64(),
        p99_ms,
        cpu_us: us(cluster.cpu_time(), before.0) / statements,
        user_us: us(cluster.user_time(), before.1) / statements,
        client_us: us(own_cpu_time(), before.2) / statements,
    })
}

fn run_clients(
    cluster: &Cluster,
    wanted: &Measurement,
    mix: &Mix,
    stop: &AtomicBool,
) -> Result<Counted, String> {
    let servers = &cluster.servers;
    let clients = usize::try_from(wanted.clients).unwrap_or(usize::MAX);
    let load = |server: usize, mix: Mix, clients: usize| Load {
        server: servers[server],
        login: login(),
        tables: wanted.tables.clone(),
        mix,
        clients,
        time: wanted.time,
        cpus: wanted.cpus.clone(),
        seed: wanted.seed | server as u64,
    };
    let share = |server: usize| clients / servers.len() + usize::from(server < clients % servers.len());
    let loads: Vec<Load> = (0..servers.len())
        .filter(|server| share(*server) > 0)
        .map(|server| load(server, mix.clone(), share(server)))
        .collect();
    let beside = wanted.beside.clone().map(|mix| load(0, mix, SCANNERS));
    run(&loads, beside.as_ref(), stop)
}

/// The median of each figure.
pub(crate) fn medians(figures: &[Figures]) -> Figures {
    let middle = |of: fn(&Figures) -> f64| median(figures.iter().map(of).collect());
    Figures {
        per_second: middle(|one| one.per_second),
        p99_ms: middle(|one| one.p99_ms),
        cpu_us: middle(|one| one.cpu_us),
        user_us: middle(|one| one.user_us),
        client_us: middle(|one| one.client_us),
    }
}

/// Runs all loads at once; gives what was counted of those that are not beside.
fn run(loads: &[Load], beside: Option<&Load>, stop: &AtomicBool) -> Result<Counted, String> {
    thread::scope(|scope| {
        let beside = beside.map(|load| scope.spawn(move || generator::run(load, stop, &mut |_, _| {})));
        let running: Vec<_> = loads
            .iter()
            .map(|load| scope.spawn(move || generator::run(load, stop, &mut |_, _| {})))
            .collect();
        let mut counted = Counted::new();
        for one in running {
            counted.add(&one.join().map_err(|_| "a thread panicked".to_owned())??.counted);
        }
        if let Some(beside) = beside {
            beside.join().map_err(|_| "a thread panicked".to_owned())??;
        }
        Ok(counted)
    })
}

/// CPU time of this process so far.
fn own_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
