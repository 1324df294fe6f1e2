//! `cargo xtask bench --durability`: what a redo log and checkpoints cost, and what waiting for the disk costs.
//!
//! LatsDB runs without a redo log, with one, with one so small that checkpoints never rest, and with every commit on
//! disk (`Durability=epoch`). MariaDB that syncs at each commit stands beside it. All use one disk, and work in turn.
//! The time of a flush of that disk is measured at the end.
//!
//! Beside a load in `memory` mode `ndbinfo.durability` is asked again and again for what would be lost now.

use super::{Options, Recorder, Run, Workload, against_mariadb, load, measure as run, middle, rounded};
use crate::cluster::{Cluster, Shape, sql};
use crate::peers::{self, Peer, RedoSync};
use crate::processes::{Failure, Workspace};
use crate::sysbench::create_database;
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A way to run LatsDB.
struct Way {
    name: &'static str,
    settings: &'static [&'static str],
}

const NONE: usize = 0;
const MEMORY: usize = 1;
const SMALL_LOG: usize = 2;
const EPOCH: usize = 3;
/// Behind the ways.
const MARIADB: usize = 4;

const WAYS: [Way; 4] = [
    Way { name: "no redo log", settings: &["Diskless=1"] },
    Way { name: "memory", settings: &["Diskless=0"] },
    Way {
        name: "checkpoints without rest",
        settings: &["Diskless=0", "FragmentLogFileSize=16M", "NoOfFragmentLogFiles=8"],
    },
    Way { name: "epoch", settings: &["Diskless=0", "Durability=epoch"] },
];

/// Workloads, and those that are compared. The first is the measure of the others.
pub(super) const LINES: [(Workload, &[usize]); 5] = [
    (against_mariadb("write_only_16", "oltp_write_only", 16, 1.0), &[NONE, MEMORY]),
    (against_mariadb("insert_16", "oltp_insert", 16, 1.0), &[NONE, MEMORY]),
    (against_mariadb("read_write_8", "oltp_read_write", 8, 1.0), &[NONE, SMALL_LOG]),
    (against_mariadb("write_only_64", "oltp_write_only", 64, 1.0), &[MEMORY, EPOCH, MARIADB]),
    (against_mariadb("write_only_256", "oltp_write_only", 256, 1.0), &[MEMORY, EPOCH]),
];

/// How often a flush is timed.
const FLUSHES: u32 = 200;
/// Between two questions for what would be lost.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// The clusters and their peer, loaded.
struct Field<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    clusters: Vec<Cluster>,
    mariadb: Peer,
}

pub(super) fn measure(binary: &Path, options: &Options, recorder: &mut Recorder<'_>) -> Result<(), Failure> {
    let field = Field::start(recorder.workspace, binary, options)?;
    let mut table =
        "| workload | way | rate | p50 | p95 | p99 | to the first |\n|---|---|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for (workload, ways) in &LINES {
        if options.workloads.is_empty() || options.workloads.iter().any(|name| name == workload.name) {
            table.push_str(&field.line(workload, ways, recorder)?);
        }
    }
    let flush = field.flush_ms()?;
    let (p99, most) = field.lost(recorder)?;
    for cluster in field.clusters {
        cluster.verify()?;
        cluster.stop()?;
    }
    println!(
        "\n{} rounds of {} s in turn, medians; a flush takes {flush:.2} ms",
        options.rounds, options.seconds
    );
    println!(
        "would be lost now beside oltp_write_only, 16 clients: p99 {p99:.0} ms, at most {most:.0} ms\n\n{table}"
    );
    Ok(())
}

impl<'a> Field<'a> {
    fn start(workspace: &'a Workspace, binary: &Path, options: &'a Options) -> Result<Self, Failure> {
        let mut clusters = Vec::new();
        for (index, way) in WAYS.iter().enumerate() {
            let shape = Shape { memory: Some("2G"), settings: way.settings, ..Shape::default() };
            clusters.push(Cluster::start(workspace, binary, &format!("durable-{index}"), &shape)?);
        }
        let mariadb = peers::mariadb(workspace, "durable", "2G", RedoSync::Commit)?;
        let field = Self { workspace, options, clusters, mariadb };
        for index in 0..=MARIADB {
            println!("loading {}", name(index));
            create_database(field.port(index))?;
            let points = ("oltp_point_select", [].as_slice());
            load(workspace, options, points, field.port(index)).prepare(options.tables)?;
        }
        Ok(field)
    }

    fn port(&self, index: usize) -> u16 {
        self.clusters.get(index).map_or(self.mariadb.port, |cluster| cluster.mysql_ports[0])
    }

    fn pid(&self, index: usize) -> u32 {
        self.clusters.get(index).map_or(self.mariadb.server.pid(), |cluster| cluster.server.pid())
    }

    fn run(&self, workload: &Workload, index: usize) -> Result<Run, Failure> {
        let load = load(self.workspace, self.options, (workload.script, workload.extra), self.port(index));
        run(workload, &load, self.options.seconds, self.pid(index))
    }

    /// All rounds of a workload; gives its lines of the table.
    fn line(
        &self,
        workload: &Workload,
        ways: &[usize],
        recorder: &mut Recorder<'_>,
    ) -> Result<String, Failure> {
        let mut runs: Vec<Vec<Run>> = ways.iter().map(|_| Vec::new()).collect();
        for round in 1..=self.options.rounds {
            for (way, runs) in ways.iter().zip(&mut runs) {
                let run = self.run(workload, *way)?;
                let figures = &run.figures;
                println!(
                    "{:<16} round {round} {:<26} {:>8.0}/s, p50 {:.2} ms, p95 {:.2} ms, p99 {:.2} ms, {:.1} µs CPU",
                    workload.name,
                    name(*way),
                    figures.events_per_second,
                    figures.p50_ms,
                    figures.p95_ms,
                    figures.p99_ms,
                    run.cpu_us_per_query
                );
                recorder.sysbench(workload, name(*way), round, &run)?;
                runs.push(run);
            }
        }
        let rate = |runs: &[Run]| middle(runs.iter().map(|run| run.figures.events_per_second));
        let first = runs.first().and_then(|runs| rate(runs)).unwrap_or(f64::NAN);
        let mut text = String::new();
        for (way, runs) in ways.iter().zip(&runs) {
            let of = |value: fn(&Run) -> f64| middle(runs.iter().map(value)).unwrap_or(f64::NAN);
            let rate = rate(runs).unwrap_or(f64::NAN);
            text.push_str(&format!(
                "| {}, {} clients | {} | {rate:.0}/s | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} |\n",
                workload.script,
                workload.threads,
                name(*way),
                of(|run| run.figures.p50_ms),
                of(|run| run.figures.p95_ms),
                of(|run| run.figures.p99_ms),
                rate / first
            ));
        }
        Ok(text)
    }

    /// The median time of a flush of 4 KiB on the disk of the clusters, in milliseconds.
    fn flush_ms(&self) -> Result<f64, Failure> {
        let path = self.clusters[NONE].directory().join("flush");
        let timed = || -> std::io::Result<Vec<f64>> {
            let mut file = File::create_new(&path)?;
            file.write_all(&vec![0; 4_096 * FLUSHES as usize])?;
            file.sync_all()?;
            (0..FLUSHES)
                .map(|number| {
                    let begun = Instant::now();
                    file.write_all_at(&[1; 4_096], u64::from(number) * 4_096)?;
                    file.sync_data()?;
                    Ok(begun.elapsed().as_secs_f64() * 1_000.0)
                })
                .collect()
        };
        let times = timed().map_err(Failure::while_doing(path.display()))?;
        std::fs::remove_file(&path).map_err(Failure::while_doing(path.display()))?;
        Ok(middle(times.into_iter()).unwrap_or(f64::NAN))
    }

    /// How old the oldest commit is that would be lost, beside a load, in milliseconds: the 99th percentile, the most.
    fn lost(&self, recorder: &mut Recorder<'_>) -> Result<(f64, f64), Failure> {
        let has_ended = AtomicBool::new(false);
        let port = self.port(MEMORY);
        let mut lost = thread::scope(|scope| {
            let asker = scope.spawn(|| {
                let mut lost = Vec::new();
                while !has_ended.load(Ordering::Relaxed) {
                    let told = sql(port, "SELECT MAX(lost_ms) FROM ndbinfo.durability")?;
                    lost.extend(told.trim().parse::<f64>());
                    thread::sleep(ASK_EVERY);
                }
                Ok::<Vec<f64>, Failure>(lost)
            });
            let ran = self.run(&LINES[0].0, MEMORY);
            has_ended.store(true, Ordering::Relaxed);
            let lost = asker.join().unwrap_or_else(|_| Err(Failure::new("the asker died")));
            ran.and(lost)
        })?;
        lost.sort_by(f64::total_cmp);
        let at =
            |share: usize| lost.get(lost.len() * share / 100).or(lost.last()).copied().unwrap_or(f64::NAN);
        let (p99, most) = (at(99), at(100));
        recorder.record(json!({
            "workload": "lost_now",
            "server": "latsdb",
            "questions": lost.len(),
            "p99_ms": rounded(p99, 1),
            "most_ms": rounded(most, 1),
        }))?;
        Ok((p99, most))
    }
}

fn name(index: usize) -> &'static str {
    WAYS.get(index).map_or("MariaDB, a flush each commit", |way| way.name)
}
