//! `latsdb bench figures`: measured throughput on one CPU and on two, which the model has to meet before it predicts.
//!
//! Two data nodes are bound to the first CPUs of this machine. Clients have the other CPUs, if there are any, else they
//! share those of the nodes. The file says so, and what a statement costs the clients.
//!
//! **Invariants.** The file is written after each measurement: what was measured until Ctrl-C is kept.

use crate::cluster::{Cluster, ClusterOptions};
use crate::costs::machine;
use crate::measurement::{self, Measurement, login, measure, medians};
use crate::oltp::{self, Tables};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The nodes that are measured, and their tables.
pub(super) const NODES: u16 = 2;
pub(super) const TABLES: u32 = 4;

/// The options of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    pub workloads: Vec<Workload>,
    /// Numbers of clients: enough that a CPU is never idle.
    pub clients: Vec<u32>,
    /// CPUs of the nodes.
    pub cpus: Vec<u16>,
    pub rounds: u32,
    pub time: Duration,
    /// Rows of each of the tables.
    pub rows: u64,
    /// Gets figures.json and the directories of the clusters.
    pub folder: PathBuf,
    pub binary: PathBuf,
}

/// A measured figure: medians over the rounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Figure {
    pub(super) workload: Workload,
    pub(super) cpus: u16,
    pub(super) clients: u32,
    /// CPUs that only clients have; 0: they share those of the nodes.
    pub(super) client_cpus: u16,
    pub(super) per_second: f64,
    /// CPU time of the nodes and of the clients for a statement.
    pub(super) cpu_us: f64,
    pub(super) client_us: f64,
}

/// All of a machine.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Measured {
    pub(super) machine: String,
    /// Rows of each table.
    pub(super) rows: u64,
    pub(super) figures: Vec<Figure>,
}

type Rounds = BTreeMap<(Workload, u16, u32), Vec<measurement::Figures>>;

/// Measures, round by round.
pub fn run(options: &Options, stop: &AtomicBool, say: &(dyn Fn(&str) + Sync)) -> Result<(), String> {
    let modelled = super::modelled();
    if let Some(workload) = options.workloads.iter().find(|one| !modelled.contains(one)) {
        let names: Vec<&str> = modelled.iter().map(|one| one.name()).collect();
        return Err(format!("the model has no {}; it has {}", workload.name(), names.join(", ")));
    }
    let present = thread::available_parallelism().map_or(1, usize::from);
    if let Some(cpus) = options.cpus.iter().find(|cpus| usize::from(**cpus) > present) {
        return Err(format!("this machine has {present} CPUs, not {cpus}"));
    }
    let mut rounds: Rounds = BTreeMap::new();
    for &cpus in &options.cpus {
        let cluster = start(options, cpus)?;
        say(&format!("{cpus} CPUs: a cluster started, and its tables filled"));
        for round in 0..options.rounds {
            for (workload, clients) in options
                .workloads
                .iter()
                .flat_map(|one| options.clients.iter().map(move |count| (*one, *count)))
            {
                let wanted = Measurement {
                    tables: tables(options),
                    mix: workload.mix(),
                    beside: workload.mix_beside(),
                    clients,
                    time: options.time,
                    cpus: (usize::from(cpus)..present).collect(),
                    seed: u64::from(round) << 8,
                };
                let measured = measure(&cluster, &wanted, stop)?;
                if stop.load(Ordering::Relaxed) {
                    say("stopped; the figures so far are kept");
                    return cluster.stop();
                }
                say(&format!(
                    "{:<19} {cpus} CPUs {clients:>4} clients {:>10.0}/s {:>8.1} µs CPU, clients {:.1} µs",
                    workload.name(),
                    measured.per_second,
                    measured.cpu_us,
                    measured.client_us
                ));
                rounds.entry((workload, cpus, clients)).or_default().push(measured);
                write(options, &rounds, present)?;
            }
        }
        cluster.stop()?;
    }
    say(&format!("figures are in {}", options.folder.join("figures.json").display()));
    Ok(())
}

fn tables(options: &Options) -> Tables {
    Tables { database: "sbtest_0".to_owned(), count: TABLES, rows: options.rows }
}

fn start(options: &Options, cpus: u16) -> Result<Cluster, String> {
    let folder = options.folder.join(format!("{cpus}-cpus"));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let wanted = ClusterOptions {
        data_nodes: NODES,
        cpus: (0..usize::from(cpus)).collect(),
        ..ClusterOptions::default()
    };
    let cluster = Cluster::start(&options.binary, &folder, &wanted)?;
    oltp::load(cluster.servers[0], &login(), &tables(options), "")?;
    Ok(cluster)
}

fn write(options: &Options, rounds: &Rounds, present: usize) -> Result<(), String> {
    let figures = rounds.iter().map(|((workload, cpus, clients), rounds)| {
        let middle = medians(rounds);
        Figure {
            workload: *workload,
            cpus: *cpus,
            clients: *clients,
            client_cpus: u16::try_from(present).unwrap_or(u16::MAX).saturating_sub(*cpus),
            per_second: middle.per_second,
            cpu_us: middle.cpu_us,
            client_us: middle.client_us,
        }
    });
    let measured = Measured { machine: machine(), rows: options.rows, figures: figures.collect() };
    crate::put(&options.folder, "figures.json", &format!("{:#}\n", measured.json()))
}

impl Measured {
    pub(super) fn json(&self) -> Value {
        let figures = self.figures.iter().map(|one| {
            json!({
                "workload": one.workload.name(),
                "cpus": one.cpus,
                "clients": one.clients,
                "client_cpus": one.client_cpus,
                "per_second": one.per_second,
                "cpu_us": one.cpu_us,
                "client_us": one.client_us,
            })
        });
        json!({ "measured": self.machine, "rows": self.rows, "figures": figures.collect::<Vec<_>>() })
    }

    /// Reads what [`run`] has written.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::of_json(&value).ok_or_else(|| format!("{}: not a file of `bench figures`", path.display()))
    }

    fn of_json(value: &Value) -> Option<Self> {
        let figure = |one: &Value| {
            let small = |name: &str| one[name].as_u64().and_then(|value| u16::try_from(value).ok());
            let name = one["workload"].as_str()?;
            Some(Figure {
                workload: Workload::ALL.into_iter().find(|workload| workload.name() == name)?,
                cpus: small("cpus")?,
                clients: u32::try_from(one["clients"].as_u64()?).ok()?,
                client_cpus: small("client_cpus")?,
                per_second: one["per_second"].as_f64()?,
                cpu_us: one["cpu_us"].as_f64()?,
                client_us: one["client_us"].as_f64()?,
            })
        };
        Some(Self {
            machine: value["measured"].as_str()?.to_owned(),
            rows: value["rows"].as_u64()?,
            figures: value["figures"].as_array()?.iter().map(figure).collect::<Option<_>>()?,
        })
    }
}
