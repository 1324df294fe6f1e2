//! `latsdb bench model`: what a cluster would do on machines that are not there.
//!
//! ```text
//! counts.toml (counts) ──► graphs of stages (operation) ──┐
//! costs.json  (costs)  ────────────────────────────────────┼──► discrete events (simulation) ──► check, report
//! layout, slots, placement: production functions (topology)┘
//! figures.json (figures): measured on one and two CPUs, for the check
//! ```
//! | file | idea |
//! | --- | --- |
//! | `figures` | measured figures: `latsdb bench figures` |
//! | `operation` | statements as graphs of stages |
//! | `topology` | threads, CPUs and slots of a cluster |
//! | `statement` | statements under way |
//! | `threads` | threads that share CPUs |
//! | `events` | the queue of events |
//! | `simulation` | what happens when |
//! | `check` | the model against measured figures |
//! | `report` | text, JSON and plot |
//!
//! **Invariants.** A workload whose measured figures the model misses by more than 15 % is not predicted. Each figure
//! says whether it is measured or modelled. The same files, options and seed give the same figures.
//!
//! **Deliberately not here**: see [`LEFT_OUT`].

use crate::costs::Costs;
use crate::counts::Book;
use crate::workload::{SCANNERS, Workload};
use check::{Check, Verdict};
use figures::{Measured, TABLES};
use operation::Rows;
use simulation::{Load, Outcome};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use topology::{ClientsAt, Shape, Topology};

mod check;
mod events;
pub mod figures;
mod operation;
mod report;
mod simulation;
mod statement;
mod threads;
mod topology;

/// The things that the model leaves out.
pub const LEFT_OUT: &str = "the kernel's network between machines (a packet costs what one on loopback does, and takes no \
                            time), memory bandwidth, caches that threads share, waits for locks, checkpoints and logs";

/// Replicas of each row.
const REPLICAS: u16 = 2;
/// Each cost of the range: all of them half as large, as measured, twice as large.
const FACTORS: [f64; 3] = [0.5, 1.0, 2.0];

/// The options of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    pub workloads: Vec<Workload>,
    /// CPUs of a node.
    pub cpus: Vec<u16>,
    /// Data nodes, each on a machine of its own.
    pub nodes: Vec<u16>,
    /// Clients for each worker.
    pub clients: u32,
    pub seed: u64,
    /// Files of `bench costs` and `bench figures`.
    pub costs: PathBuf,
    pub figures: PathBuf,
    /// Gets model.txt, model.json and model.svg.
    pub folder: PathBuf,
}

/// A figure of the model.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Prediction {
    workload: Workload,
    nodes: u16,
    cpus: u16,
    clients: u32,
    /// With the costs as they were measured.
    outcome: Outcome,
    /// With hop, wake and misses at half and double: statements a second, the lower one first.
    range: (f64, f64),
}

/// The results of a run.
struct Results {
    costs: Costs,
    measured: Measured,
    checks: Vec<Check>,
    predictions: Vec<Prediction>,
}

/// The workloads whose statements are counted.
#[must_use]
pub fn modelled() -> Vec<Workload> {
    let all = Workload::ALL.into_iter();
    all.filter(|workload| operation::is_counted(*workload)).collect()
}

/// Checks the model, then predicts; stops between two predictions if `stop` is set.
pub fn run(options: &Options, stop: &AtomicBool, say: &(dyn Fn(&str) + Sync)) -> Result<(), String> {
    fs::create_dir_all(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let book = Book::of_this_build()?;
    let (costs, measured) = (Costs::read(&options.costs)?, Measured::read(&options.figures)?);
    let mut results = Results { costs, measured, checks: Vec::new(), predictions: Vec::new() };
    for &workload in &options.workloads {
        let check = check::check(workload, &book, &results.costs, &results.measured, options.seed)?;
        say(&report::check_line(&check));
        results.checks.push(check);
    }
    let met: Vec<Workload> = results
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Met)
        .map(|check| check.workload)
        .collect();
    'workloads: for workload in met {
        for (&nodes, &cpus) in
            options.nodes.iter().flat_map(|nodes| options.cpus.iter().map(move |cpus| (nodes, cpus)))
        {
            if stop.load(Ordering::Relaxed) {
                say("stopped; the results so far:");
                break 'workloads;
            }
            let prediction = predict(options, &book, &results, (workload, nodes, cpus))?;
            say(&report::prediction_line(&prediction));
            results.predictions.push(prediction);
        }
    }
    report::write(options, &results)?;
    say(&report::text(&results));
    Ok(())
}

/// One workload on one cluster, with each factor; each has a thread.
fn predict(
    options: &Options,
    book: &Book,
    results: &Results,
    (workload, nodes, cpus): (Workload, u16, u16),
) -> Result<Prediction, String> {
    let shape = Shape {
        nodes,
        replicas: REPLICAS,
        cpus,
        is_one_machine: false,
        clients: ClientsAt::Elsewhere,
        tables: TABLES.max(u32::from(cpus) / 2),
    };
    let topology = Topology::new(shape)?;
    let workers: usize = topology.workers.iter().map(Vec::len).sum();
    let clients = u32::try_from(workers).unwrap_or(u32::MAX).saturating_mul(options.clients);
    let rows = Rows { table: results.measured.rows as f64, groups: f64::from(topology.groups()) };
    let client_ns = client_ns(&results.measured, workload);
    let one = |factor: f64| -> Result<Outcome, String> {
        let costs = results.costs.scaled(factor);
        let statements = operation::statements(workload, book, &costs, rows)?;
        let statements = statements.ok_or("a workload that the book does not count")?;
        let beside = if statements.beside.is_some() { u32::try_from(SCANNERS).unwrap_or(0) } else { 0 };
        let load = Load { statements: &statements, clients, beside, client_ns, seed: options.seed };
        Ok(simulation::run(&topology, &load, &costs))
    };
    let outcomes = thread::scope(|scope| {
        let running = FACTORS.map(|factor| scope.spawn(move || one(factor)));
        running.map(|one| one.join().map_err(|_| "a thread panicked".to_owned()).flatten())
    });
    let [low, middle, high] = outcomes;
    let (half, outcome, double) = (low?.per_second, middle?, high?.per_second);
    let range = (double.min(half).min(outcome.per_second), half.max(double).max(outcome.per_second));
    Ok(Prediction { workload, nodes, cpus, clients, outcome, range })
}

/// The time of a statement at its client, as it was measured.
fn client_ns(measured: &Measured, workload: Workload) -> f64 {
    let of = measured.figures.iter().filter(|figure| figure.workload == workload);
    crate::median(of.map(|figure| figure.client_us * 1_000.0).collect())
}

#[cfg(test)]
mod tests;
