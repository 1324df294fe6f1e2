//! `latsdb bench pipeline`: where should a read run? Fixed setups of threads against the adaptive one, by workload.
//!
//! A cluster of each setup runs during the whole experiment. For each round, workload and number of clients the setups
//! take turns, so that whatever else the machine does meets all of them. The tables are the same in all of them.
//!
//! ```text
//! receive    a worker per CPU does all that its clients ask: ReadPlacement=local
//! split      threads of their own for slots (`ldm`, `query`), coordinators and clients: ThreadConfig
//! pipeline   the threads of `split`, and each read goes to the `query` of its slot: ReadPlacement=owner
//! adaptive   the workers of `receive`, but threads with less to do read parts of long scans: the default
//! ```
//! The verdict of a workload compares the adaptive setup with the better of the fixed ones, by the throughput summed
//! over all numbers of clients.
//!
//! Where servers and clients share the CPUs, throughput says little: CPU time of the servers per statement stands
//! beside it.
//!
//! **Invariants.** Results are written after each round: an interrupted experiment keeps them. All figures are
//! measured; nothing here predicts.

use crate::cluster::{Cluster, ClusterOptions};
use crate::measurement::{Figures, Measurement, load_tpcc, login, measure, medians};
use crate::oltp::{self, Tables};
use crate::plot::{self, Chart, Series};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The adaptive setup reaches its goal with so much of the better fixed one.
const GOAL: f64 = 0.97;

/// An arrangement of threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Setup {
    Receive,
    Split,
    Pipeline,
    Adaptive,
}

impl Setup {
    pub const ALL: [Self; 4] = [Self::Receive, Self::Split, Self::Pipeline, Self::Adaptive];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Split => "split",
            Self::Pipeline => "pipeline",
            Self::Adaptive => "adaptive",
        }
    }

    /// Parameters of config.ini on a machine with so many CPUs.
    fn parameters(self, cpus: usize) -> Vec<(&'static str, String)> {
        match self {
            Self::Receive => vec![("ReadPlacement", "local".to_owned())],
            Self::Split => vec![("ThreadConfig", split(cpus)), ("ReadPlacement", "local".to_owned())],
            Self::Pipeline => vec![("ThreadConfig", split(cpus)), ("ReadPlacement", "owner".to_owned())],
            Self::Adaptive => vec![("ReadPlacement", "adaptive".to_owned())],
        }
    }
}

/// Threads for each kind of work. NDB's table gives about half of the CPUs to rows, and the rest to coordinators and
/// clients.
fn split(cpus: usize) -> String {
    let (rows, others) = ((cpus / 2).max(1), (cpus / 4).max(1));
    format!(
        "ldm={{count={rows}}},query={{count={rows}}},tc={{count={others}}},recv={{count={others}}},main={{count=1}}"
    )
}

/// The options of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    pub setups: Vec<Setup>,
    pub workloads: Vec<Workload>,
    pub clients: Vec<u32>,
    pub rounds: u32,
    /// How long each measurement lasts.
    pub time: Duration,
    /// Rows of each of the four tables.
    pub rows: u64,
    /// Gets clusters and results.
    pub folder: PathBuf,
    pub binary: PathBuf,
}

type Key = (Workload, u32, Setup);

/// Runs the experiment until it is done or `stop` is set. Lines for a person go to `say`.
pub fn run(options: &Options, stop: &AtomicBool, say: &(dyn Fn(&str) + Sync)) -> Result<(), String> {
    fs::create_dir_all(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let mut clusters = Vec::new();
    for &setup in &options.setups {
        let folder = options.folder.join(setup.name());
        let wanted = ClusterOptions { parameters: setup.parameters(cpus), ..ClusterOptions::default() };
        let cluster = Cluster::start(&options.binary, &folder, &wanted)?;
        oltp::load(cluster.servers[0], &login(), &tables(options), "")?;
        if options.workloads.contains(&Workload::Tpcc) {
            load_tpcc(&cluster)?;
        }
        say(&format!("{}: started, and its tables filled", setup.name()));
        clusters.push((setup, cluster));
    }
    let mut figures: BTreeMap<Key, Vec<Figures>> = BTreeMap::new();
    'rounds: for round in 0..options.rounds {
        for &workload in &options.workloads {
            for &clients in &options.clients {
                for (setup, cluster) in &clusters {
                    let wanted = Measurement {
                        tables: tables(options),
                        mix: workload.mix(),
                        beside: workload.mix_beside(),
                        clients,
                        time: options.time,
                        cpus: Vec::new(),
                        seed: u64::from(round) << 8,
                    };
                    let measured = measure(cluster, &wanted, stop)?;
                    if stop.load(Ordering::Relaxed) {
                        say("stopped; the results so far:");
                        break 'rounds;
                    }
                    say(&format!(
                        "{:<19} {clients:>4} clients  {:<9} {:>10.0}/s  p99 {:>7.2} ms  {:>7.1} µs CPU",
                        workload.name(),
                        setup.name(),
                        measured.per_second,
                        measured.p99_ms,
                        measured.cpu_us
                    ));
                    figures.entry((workload, clients, *setup)).or_default().push(measured);
                }
            }
        }
        write(options, &figures, cpus)?;
    }
    write(options, &figures, cpus)?;
    say(&report(options, &figures, cpus));
    clusters.into_iter().try_for_each(|(_, cluster)| cluster.stop())
}

fn tables(options: &Options) -> Tables {
    Tables { database: "sbtest_0".to_owned(), count: 4, rows: options.rows }
}

/// The adaptive setup's part of the better fixed one, and which that is.
fn verdict(
    options: &Options,
    figures: &BTreeMap<Key, Vec<Figures>>,
    workload: Workload,
) -> Option<(f64, Setup)> {
    let total = |setup: Setup| -> Option<f64> {
        let clients = options.clients.iter();
        clients.map(|clients| Some(medians(figures.get(&(workload, *clients, setup))?).per_second)).sum()
    };
    let fixed = options.setups.iter().filter(|setup| **setup != Setup::Adaptive);
    let best = fixed
        .filter_map(|setup| Some((total(*setup)?, *setup)))
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some((total(Setup::Adaptive)? / best.0.max(f64::MIN_POSITIVE), best.1))
}

fn report(options: &Options, figures: &BTreeMap<Key, Vec<Figures>>, cpus: usize) -> String {
    let mut text = format!(
        "measured on {cpus} CPUs, which servers and clients share: {} rounds of {} s in turn, medians, 4 tables of {} rows\n",
        options.rounds,
        options.time.as_secs(),
        options.rows
    );
    // Writing into a String can't fail, here and below.
    for workload in &options.workloads {
        let _ = writeln!(text, "\n{}", workload.name());
        let _ = write!(text, "{:>9}", "clients");
        for setup in &options.setups {
            let _ = write!(text, "  {:>34}", format!("{} (/s, p99 ms, µs CPU)", setup.name()));
        }
        text.push('\n');
        for clients in &options.clients {
            let _ = write!(text, "{clients:>9}");
            for setup in &options.setups {
                let cell = figures.get(&(*workload, *clients, *setup)).map(|all| medians(all));
                let cell = cell.map_or_else(
                    || "–".to_owned(),
                    |one| format!("{:.0} {:>9.2} {:>9.1}", one.per_second, one.p99_ms, one.cpu_us),
                );
                let _ = write!(text, "  {cell:>34}");
            }
            text.push('\n');
        }
        if let Some((share, best)) = verdict(options, figures, *workload) {
            let word = if share >= GOAL { "reached" } else { "missed" };
            let _ = writeln!(
                text,
                "adaptive: {:.0} % of {}, the better fixed setup (goal {:.0} %: {word})",
                share * 100.0,
                best.name(),
                GOAL * 100.0
            );
        }
    }
    text
}

fn write(options: &Options, figures: &BTreeMap<Key, Vec<Figures>>, cpus: usize) -> Result<(), String> {
    let lines: Vec<Value> = figures
        .iter()
        .map(|((workload, clients, setup), rounds)| {
            let rounds: Vec<Value> = rounds
                .iter()
                .map(|one| json!({ "per_second": one.per_second, "p99_ms": one.p99_ms, "cpu_us": one.cpu_us }))
                .collect();
            json!({ "workload": workload.name(), "clients": clients, "setup": setup.name(), "measured": rounds })
        })
        .collect();
    let charts: Vec<Chart> =
        options.workloads.iter().map(|workload| chart(options, figures, *workload)).collect();
    crate::put(&options.folder, "pipeline.txt", &report(options, figures, cpus))?;
    crate::put(
        &options.folder,
        "pipeline.json",
        &format!("{:#}\n", json!({ "cpus": cpus, "figures": lines })),
    )?;
    crate::put(&options.folder, "pipeline.svg", &plot::page(&charts))
}

fn chart(options: &Options, figures: &BTreeMap<Key, Vec<Figures>>, workload: Workload) -> Chart {
    let value =
        |clients: u32, setup| figures.get(&(workload, clients, setup)).map(|all| medians(all).per_second);
    Chart {
        title: workload.name().to_owned(),
        unit: "transactions/s by number of clients, measured".to_owned(),
        labels: options.clients.iter().map(u32::to_string).collect(),
        series: options
            .setups
            .iter()
            .map(|setup| Series {
                name: setup.name().to_owned(),
                values: options.clients.iter().map(|clients| value(*clients, *setup)).collect(),
                ranges: Vec::new(),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
