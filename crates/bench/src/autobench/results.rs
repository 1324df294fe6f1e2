//! The files of a benchmark: a line for each second while it runs, tables and a plot when a thread count is done.
//!
//! ```text
//! sysbench_results/oltp_rw_I_N.res   instance I, run N: a line a second, a summary for each thread count
//! final_results.txt                  all instances together: a line for each thread count, medians over the runs
//! final_results.json                 the same for programs, with each run
//! final_results.svg                  transactions per second by number of clients
//! ```
//! **Invariants.** After each thread count the three final files say what is known so far: an interrupted benchmark
//! keeps its results.

use crate::generator::{Counted, Run};
use crate::median;
use crate::plot::{Chart, Series};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The figures of all instances in one run of one thread count.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Figures {
    pub(super) transactions_per_second: f64,
    pub(super) queries_per_second: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub(super) retried_per_second: f64,
}

impl Figures {
    /// The sum of what ran side by side.
    #[must_use]
    pub(super) fn of(runs: &[Run]) -> Self {
        let mut counted = Counted::new();
        runs.iter().for_each(|run| counted.add(&run.counted));
        let seconds = runs.iter().map(|run| run.time).max().unwrap_or_default().as_secs_f64().max(0.001);
        let per_second = |count| rate(count, seconds);
        Self {
            transactions_per_second: per_second(counted.transactions),
            queries_per_second: per_second(counted.statements),
            p50_ms: counted.percentile_ms(50.0),
            p95_ms: counted.percentile_ms(95.0),
            p99_ms: counted.percentile_ms(99.0),
            retried_per_second: per_second(counted.retried),
        }
    }

    fn json(&self) -> Value {
        json!({
            "transactions_per_second": self.transactions_per_second,
            "queries_per_second": self.queries_per_second,
            "p50_ms": self.p50_ms,
            "p95_ms": self.p95_ms,
            "p99_ms": self.p99_ms,
            "retried_per_second": self.retried_per_second,
        })
    }
}

fn rate(count: u64, seconds: f64) -> f64 {
    // Counts are far below 2^52.
    let count = count as f64;
    count / seconds
}

/// The live file of one instance in one run.
pub(super) struct Live {
    path: PathBuf,
    file: File,
}

impl Live {
    pub(super) fn create(folder: &Path, test: &str, instance: usize, run: u32) -> Result<Self, String> {
        let folder = folder.join("sysbench_results");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let path = folder.join(format!("{test}_{instance}_{run}.res"));
        let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path, file })
    }

    /// Appends a line.
    pub(super) fn line(&mut self, text: &str) -> Result<(), String> {
        writeln!(self.file, "{text}").map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// Another way to the same file, for a program that writes into it.
    pub(super) fn handle(&self) -> Result<File, String> {
        self.file.try_clone().map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

/// A second in sysbench's form.
#[must_use]
pub(super) fn second_line(second: u64, clients: u32, counted: &Counted) -> String {
    format!(
        "[ {second}s ] thds: {clients} tps: {}.00 qps: {}.00 lat (ms,95%): {:.2} err/s: {}.00 reconn/s: 0.00",
        counted.transactions,
        counted.statements,
        counted.percentile_ms(95.0),
        counted.retried
    )
}

/// Figures of all runs so far.
pub(super) struct Results {
    folder: PathBuf,
    title: String,
    /// By number of clients.
    figures: BTreeMap<u32, Vec<Figures>>,
}

impl Results {
    #[must_use]
    pub(super) fn new(folder: &Path, title: &str) -> Self {
        Self { folder: folder.to_path_buf(), title: title.to_owned(), figures: BTreeMap::new() }
    }

    /// Adds a run, and writes all that is known.
    pub(super) fn add(&mut self, clients: u32, figures: Figures) -> Result<(), String> {
        self.figures.entry(clients).or_default().push(figures);
        self.write("final_results.txt", &self.table())?;
        self.write("final_results.json", &format!("{:#}\n", self.json()))?;
        self.write("final_results.svg", &self.plot())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The table for a person.
    #[must_use]
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "{}\n\n{:>8} {:>5} {:>12} {:>12} {:>9} {:>9} {:>9} {:>9}\n",
            self.title, "clients", "runs", "trans/s", "queries/s", "p50 ms", "p95 ms", "p99 ms", "retried/s"
        );
        for (clients, runs) in &self.figures {
            let middle = |of: fn(&Figures) -> f64| median(runs.iter().map(of).collect());
            // Writing into a String can't fail.
            let _ = writeln!(
                text,
                "{clients:>8} {:>5} {:>12.1} {:>12.1} {:>9.2} {:>9.2} {:>9.2} {:>9.1}",
                runs.len(),
                middle(|run| run.transactions_per_second),
                middle(|run| run.queries_per_second),
                middle(|run| run.p50_ms),
                middle(|run| run.p95_ms),
                middle(|run| run.p99_ms),
                middle(|run| run.retried_per_second),
            );
        }
        text
    }

    fn json(&self) -> Value {
        let lines: Vec<Value> = self
            .figures
            .iter()
            .map(|(clients, runs)| json!({ "clients": clients, "runs": runs.iter().map(Figures::json).collect::<Vec<_>>() }))
            .collect();
        json!({ "title": self.title, "measured": lines })
    }

    fn plot(&self) -> String {
        let throughput =
            |runs: &Vec<Figures>| median(runs.iter().map(|run| run.transactions_per_second).collect());
        let chart = Chart {
            title: self.title.clone(),
            unit: "transactions/s".to_owned(),
            labels: self.figures.keys().map(u32::to_string).collect(),
            series: vec![Series {
                name: "measured".to_owned(),
                values: self.figures.values().map(|runs| Some(throughput(runs))).collect(),
                ranges: Vec::new(),
            }],
        };
        crate::plot::page(&[chart])
    }
}

/// The summary of a thread count in the live file.
#[must_use]
pub(super) fn summary(clients: u32, figures: &Figures, time: Duration) -> String {
    format!(
        "{clients} clients, {:.1} s: {:.1} transactions/s, {:.1} queries/s, p50 {:.2} ms, p95 {:.2} ms, p99 {:.2} ms, \
         {:.1} retried/s",
        time.as_secs_f64(),
        figures.transactions_per_second,
        figures.queries_per_second,
        figures.p50_ms,
        figures.p95_ms,
        figures.p99_ms,
        figures.retried_per_second
    )
}

#[cfg(test)]
mod tests;
