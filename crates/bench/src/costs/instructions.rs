//! The cost of instructions: CPU time that the nodes of a cluster spend in their own code for a statement, divided by
//! the instructions that are counted for it.
//!
//! Instructions of one operation differ from those of another: a scan runs through a loop, an update through much code
//! that the caches hold in part. So each operation has a cost of its own. The tables are small, so that rows are in the
//! caches: what waiting for memory adds is measured by `rows`.
//!
//! **Invariants.** Time in the kernel is none of it: that is `receive`, `send` and `wake`. Neither are hops, and what
//! the nodes do without clients (heartbeats, epochs).

use super::{Costs, Options};
use crate::cluster::{Cluster, ClusterOptions};
use crate::counts::Book;
use crate::measurement::{Measurement, login, measure as measure_load};
use crate::oltp::{self, Mix, Tables};
use crate::workload::Workload;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Clients that keep the nodes busy, so that rounds are shared as under load.
const CLIENTS: u32 = 8;
/// Rows of a table: as many as a scan visits that is counted.
const ROWS: u64 = 2_000;

/// Operations of the book, and the statements that do the same.
fn operations() -> [(&'static str, Option<Mix>); 5] {
    [
        ("point_select", Workload::Point.mix()),
        ("in_100", Workload::Keys.mix()),
        ("range_100", Workload::Range.mix()),
        ("update", Workload::Update.mix()),
        ("scan_count", Some(Mix { scans: 1, ..Mix::default() })),
    ]
}

/// Nanoseconds for a thousand counted instructions, by operation.
pub(super) fn measure(
    options: &Options,
    costs: &Costs,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, f64>, String> {
    let book = Book::of_this_build()?;
    let cluster = Cluster::start(&options.binary, &options.folder, &ClusterOptions::default())?;
    let tables = Tables { database: "sbtest_0".to_owned(), count: 4, rows: ROWS };
    oltp::load(cluster.servers[0], &login(), &tables, "")?;
    let idle_us = idle(&cluster, options.time);
    let mut found = BTreeMap::new();
    for (name, mix) in operations() {
        let wanted = Measurement {
            tables: tables.clone(),
            mix,
            beside: None,
            clients: CLIENTS,
            time: options.time,
            cpus: Vec::new(),
            seed: 1,
        };
        let figures = measure_load(&cluster, &wanted, stop)?;
        if stop.load(Ordering::Relaxed) {
            cluster.stop()?;
            return Err("stopped: costs are written when all are measured".to_owned());
        }
        let (thousands, hops) = counted(&book, name)?;
        // A transaction is one statement here.
        let user_us = figures.user_us - idle_us / figures.per_second.max(1.0);
        let ns = (user_us * 1_000.0 - hops * costs.hop).max(0.0);
        found.insert(name.to_owned(), ns / thousands);
    }
    cluster.stop()?;
    Ok(found)
}

/// Microseconds of CPU time that the nodes spend in each second without clients.
fn idle(cluster: &Cluster, time: Duration) -> f64 {
    let before = cluster.user_time();
    thread::sleep(time);
    cluster.user_time().saturating_sub(before).as_secs_f64() * 1e6 / time.as_secs_f64()
}

/// Thousands of instructions, and hops between threads and nodes of this machine.
fn counted(book: &Book, name: &str) -> Result<(f64, f64), String> {
    let counts = match name {
        // Half of the rows have their primary on the other node.
        "update" => book.of("update_own")?.between(&book.of("update_other")?),
        name => book.of(name)?,
    };
    Ok((counts.instructions() / 1_000.0, counts.signals_cluster))
}
