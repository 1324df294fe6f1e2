//! Debian's sysbench, unmodified: one run as a value, and `cargo xtask sysbench`, which runs all workloads and writes a
//! report.
//!
//! A run fails when sysbench does: on any error but the retryable ones that it ignores by default (1213, 1020, 1205).

use crate::arguments::Arguments;
use crate::cluster::{Cluster, Shape, sql};
use crate::processes::{Failure, Profile, Workspace, between, capture};
use crate::tools::Tool;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Beyond the time asked for: connecting, preparing statements, a slow last event.
const GRACE: Duration = Duration::from_secs(120);

/// Loading or dropping tables.
const PREPARE_LIMIT: Duration = Duration::from_secs(900);

/// All that the report covers, in its order.
const WORKLOADS: &[&str] = &[
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_insert",
    "oltp_delete",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
    "bulk_insert",
];

/// Connections of the run that has more of them than a server allows by default.
const MANY_CONNECTIONS: u32 = 1_024;

/// Tables, and the server that is asked.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// A name of sysbench's own, or the path of a script.
    pub(crate) script: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tables: u32,
    pub(crate) table_size: u32,
    /// Options of one workload.
    pub(crate) extra: Vec<String>,
}

/// How it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pressure {
    pub(crate) threads: u32,
    pub(crate) seconds: u32,
    pub(crate) statements: Statements,
}

/// `--db-ps-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statements {
    Prepared,
    Text,
}

impl Statements {
    fn mode(self) -> &'static str {
        match self {
            Self::Prepared => "auto",
            Self::Text => "disable",
        }
    }
}

/// The figures of a run. Latencies are of events, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) queries: f64,
    pub(crate) queries_per_second: f64,
    pub(crate) events_per_second: f64,
    pub(crate) average_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) ignored_errors: f64,
}

impl Load {
    /// The program with all its options; `verb` is sysbench's prepare, run or cleanup.
    pub(crate) fn command(&self, verb: &str, pressure: &Pressure) -> Result<Command, Failure> {
        let sysbench = Tool::Sysbench.ensure()?;
        // A thousand connections need more descriptors than a shell grants by default.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n 65536 2>/dev/null; exec \"$@\"", "sh"]).arg(sysbench);
        command.arg(&self.script).args(["--mysql-user=root", "--mysql-db=sbtest", "--histogram=on"]);
        command.arg(format!("--mysql-host={}", self.host)).arg(format!("--mysql-port={}", self.port));
        command.arg(format!("--threads={}", pressure.threads)).arg(format!("--time={}", pressure.seconds));
        command.arg(format!("--db-ps-mode={}", pressure.statements.mode()));
        if !self.script.ends_with("bulk_insert") {
            command.arg(format!("--tables={}", self.tables)).arg(format!("--table-size={}", self.table_size));
        }
        command.args(&self.extra).arg(verb);
        Ok(command)
    }

    /// Makes the tables and fills them; one thread for each table.
    pub(crate) fn prepare(&self, threads: u32) -> Result<(), Failure> {
        let pressure = Pressure { threads, seconds: 1, statements: Statements::Prepared };
        capture(&mut self.command("prepare", &pressure)?, PREPARE_LIMIT).map(|_| ())
    }

    /// Drops the tables.
    pub(crate) fn cleanup(&self, threads: u32) -> Result<(), Failure> {
        let pressure = Pressure { threads, seconds: 1, statements: Statements::Prepared };
        capture(&mut self.command("cleanup", &pressure)?, PREPARE_LIMIT).map(|_| ())
    }

    /// One run.
    pub(crate) fn run(&self, pressure: &Pressure) -> Result<Figures, Failure> {
        let limit = Duration::from_secs(pressure.seconds.into()) + GRACE;
        let text = capture(&mut self.command("run", pressure)?, limit)?;
        parse(&text).ok_or_else(|| Failure::new(format!("sysbench's output is not understood:\n{text}")))
    }
}

/// The figures in sysbench's output.
fn parse(text: &str) -> Option<Figures> {
    let counted = |name: &str| -> Option<(f64, f64)> {
        let line = text.lines().map(str::trim).find_map(|line| line.strip_prefix(name))?;
        let (count, rate) = line.split_once('(')?;
        Some((count.trim().parse().ok()?, rate.split_whitespace().next()?.parse().ok()?))
    };
    let (queries, queries_per_second) = counted("queries:")?;
    let (ignored_errors, _) = counted("ignored errors:")?;
    let (transactions, mut events_per_second) = counted("transactions:")?;
    if transactions == 0.0 {
        // bulk_insert counts rows as events and no transactions.
        let events: f64 = between(text, "total number of events:", "\n")?.trim().parse().ok()?;
        let seconds: f64 = between(text, "total time:", "s\n")?.trim().parse().ok()?;
        events_per_second = events / seconds;
    }
    let histogram = histogram(text);
    Some(Figures {
        queries,
        queries_per_second,
        events_per_second,
        average_ms: between(text, "avg:", "\n")?.trim().parse().ok()?,
        p50_ms: percentile(&histogram, 0.50),
        p95_ms: percentile(&histogram, 0.95),
        p99_ms: percentile(&histogram, 0.99),
        ignored_errors,
    })
}

/// Upper bounds of latency in milliseconds and how many events were so quick: `0.051 |**** 12`.
fn histogram(text: &str) -> Vec<(f64, u64)> {
    let bucket = |line: &str| -> Option<(f64, u64)> {
        let (bound, rest) = line.split_once('|')?;
        Some((bound.trim().parse().ok()?, rest.split_whitespace().last()?.parse().ok()?))
    };
    text.lines().filter_map(bucket).collect()
}

fn percentile(histogram: &[(f64, u64)], share: f64) -> f64 {
    let total: u64 = histogram.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    for (bound, count) in histogram {
        seen += count;
        #[expect(clippy::cast_precision_loss, reason = "counts of events are far below 2^53")]
        let reached = seen as f64 >= total as f64 * share;
        if reached {
            return *bound;
        }
    }
    0.0
}

/// Looks at the database between runs.
pub(crate) type Verify<'a> = &'a dyn Fn() -> Result<(), Failure>;

/// The choices of `cargo xtask sysbench` and the test suite.
pub(crate) struct Campaign {
    pub(crate) threads: Vec<u32>,
    pub(crate) seconds: u32,
    pub(crate) tables: u32,
    pub(crate) table_size: u32,
    pub(crate) workloads: Vec<String>,
    pub(crate) many_connections: bool,
}

impl Campaign {
    /// All workloads, quickly: that they run, not how fast.
    pub(crate) fn short() -> Self {
        Self {
            threads: vec![1, 8],
            seconds: 1,
            tables: 2,
            table_size: 1_000,
            workloads: WORKLOADS.iter().map(|name| (*name).to_owned()).collect(),
            many_connections: false,
        }
    }

    /// Runs everything against a server; a row of the report for each run. `verify` is called after each workload,
    /// while its tables are still there.
    pub(crate) fn run(&self, host: &str, port: u16, verify: Verify<'_>) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for workload in &self.workloads {
            self.workload(workload, host, port, verify, &mut rows)?;
        }
        if self.many_connections {
            self.point_select_with_many(host, port, &mut rows)?;
        }
        Ok(rows)
    }

    fn load(&self, workload: &str, host: &str, port: u16) -> Load {
        // These two work on one table only.
        let tables = if workload.starts_with("select_random") { 1 } else { self.tables };
        Load {
            script: workload.to_owned(),
            host: host.to_owned(),
            port,
            tables,
            table_size: self.table_size,
            extra: Vec::new(),
        }
    }

    fn workload(
        &self,
        workload: &str,
        host: &str,
        port: u16,
        verify: Verify<'_>,
        rows: &mut Vec<Row>,
    ) -> Result<(), Failure> {
        let load = self.load(workload, host, port);
        // Its tables are one for each thread, and a second run would insert the same keys.
        let is_bulk = workload == "bulk_insert";
        if !is_bulk {
            load.prepare(load.tables)?;
        }
        for statements in [Statements::Prepared, Statements::Text] {
            for &threads in &self.threads {
                if is_bulk {
                    load.prepare(threads)?;
                }
                let pressure = Pressure { threads, seconds: self.seconds, statements };
                let figures = load.run(&pressure)?;
                let row = Row { workload: workload.to_owned(), pressure, figures };
                println!("{}", row.line());
                rows.push(row);
                if is_bulk {
                    verify()?;
                    load.cleanup(threads)?;
                }
            }
        }
        if is_bulk {
            return Ok(());
        }
        verify()?;
        load.cleanup(load.tables)
    }

    fn point_select_with_many(&self, host: &str, port: u16, rows: &mut Vec<Row>) -> Result<(), Failure> {
        let workload = "oltp_point_select";
        let load = self.load(workload, host, port);
        load.prepare(load.tables)?;
        let pressure =
            Pressure { threads: MANY_CONNECTIONS, seconds: self.seconds, statements: Statements::Prepared };
        let row = Row { workload: workload.to_owned(), pressure, figures: load.run(&pressure)? };
        println!("{}", row.line());
        rows.push(row);
        load.cleanup(load.tables)
    }
}

/// One run of the report.
pub(crate) struct Row {
    workload: String,
    pressure: Pressure,
    figures: Figures,
}

impl Row {
    fn line(&self) -> String {
        let Figures { events_per_second, queries_per_second, average_ms, p95_ms, ignored_errors, .. } =
            self.figures;
        format!(
            "{:<22} {:>4} threads, {:<7}: {events_per_second:>9.0} events/s {queries_per_second:>9.0} queries/s, \
             {average_ms:.2} ms, p95 {p95_ms:.2} ms, {ignored_errors} retried",
            self.workload,
            self.pressure.threads,
            self.pressure.statements.mode()
        )
    }
}

/// `cargo xtask sysbench`.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let threads: String = arguments.value_or("--threads", "1,8,64".to_owned())?;
    let threads = threads.split(',').map(str::parse).collect::<Result<Vec<u32>, _>>();
    let mut campaign = Campaign {
        threads: threads.map_err(Failure::while_doing("--threads"))?,
        seconds: arguments.value_or("--time", 5)?,
        tables: arguments.value_or("--tables", 4)?,
        table_size: arguments.value_or("--table-size", 10_000)?,
        workloads: arguments.values("--workload")?,
        many_connections: false,
    };
    let host: Option<String> = arguments.value("--host")?;
    let port: Option<u16> = arguments.value("--port")?;
    let binary: Option<PathBuf> = arguments.value("--binary")?;
    let report: PathBuf = arguments.value_or("--report", workspace.root.join("docs/sysbench.md"))?;
    arguments.finish()?;
    if campaign.workloads.is_empty() {
        campaign.workloads = WORKLOADS.iter().map(|name| (*name).to_owned()).collect();
        campaign.many_connections = true;
    } else if let Some(unknown) = campaign.workloads.iter().find(|name| !WORKLOADS.contains(&name.as_str())) {
        return Err(Failure::new(format!("no workload {unknown:?}; there are {}", WORKLOADS.join(", "))));
    }
    Tool::Sysbench.ensure()?;
    let (rows, server) = match (host, port) {
        (None, None) => on_a_cluster(workspace, &campaign, binary)?,
        (host, port) => {
            let (host, port) = (host.unwrap_or_else(|| "127.0.0.1".to_owned()), port.unwrap_or(3306));
            (
                campaign.run(&host, port, &|| Ok(()))?,
                format!("the server at {host}:{port}, which was running"),
            )
        }
    };
    std::fs::write(&report, markdown(&campaign, &rows, &server, workspace)?)
        .map_err(Failure::while_doing(report.display()))?;
    println!("{} runs without errors; report in {}", rows.len(), report.display());
    Ok(())
}

/// Starts a cluster, runs, and checks that replicas and indexes agree.
fn on_a_cluster(
    workspace: &Workspace,
    campaign: &Campaign,
    binary: Option<PathBuf>,
) -> Result<(Vec<Row>, String), Failure> {
    let binary = match binary {
        Some(binary) => binary,
        None => workspace.build_latsdb(Profile::Release)?,
    };
    let shape = Shape { max_connections: Some(MANY_CONNECTIONS + 76), ..Shape::default() };
    let cluster = Cluster::start(workspace, &binary, "sysbench", &shape)?;
    create_database(cluster.mysql_ports[0])?;
    let rows = campaign.run("127.0.0.1", cluster.mysql_ports[0], &|| cluster.verify())?;
    cluster.stop()?;
    let server = "`latsdb dev`: two data nodes, two replicas, started by the command. After each workload, before its tables were dropped,\n\
        `latsdb check` found that replicas are equal and that index entries match rows.";
    Ok((rows, server.to_owned()))
}

/// The database that sysbench expects.
pub(crate) fn create_database(port: u16) -> Result<(), Failure> {
    sql(port, "CREATE DATABASE IF NOT EXISTS sbtest CHARACTER SET utf8mb4").map(|_| ())
}

fn markdown(
    campaign: &Campaign,
    rows: &[Row],
    server: &str,
    workspace: &Workspace,
) -> Result<String, Failure> {
    let version = capture(Command::new(Tool::Sysbench.ensure()?).arg("--version"), Duration::from_secs(10))?;
    let mut text = format!(
        "# sysbench\n\nWritten by `cargo xtask sysbench` on {}, at commit {}, with {}: {} tables of {} rows, {} s a run.\n\
         The server was {server}\n\n\
         Every line is a run that ended without an error, but for retryable ones (1213, 1020, 1205), which sysbench\n\
         counts and tries again. An event is a transaction, in bulk_insert a row. These are runs to show that it works;\n\
         [benchmarks.md](benchmarks.md) is about speed.\n\n\
         | workload | threads | --db-ps-mode | events/s | queries/s | average ms | p95 ms | retried |\n\
         |---|---:|---|---:|---:|---:|---:|---:|\n",
        date(),
        commit(&workspace.root),
        version.trim(),
        campaign.tables,
        campaign.table_size,
        campaign.seconds,
    );
    for row in rows {
        let figures = &row.figures;
        // Writing into a String can't fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0} | {:.0} | {:.2} | {:.2} | {} |",
            row.workload,
            row.pressure.threads,
            row.pressure.statements.mode(),
            figures.events_per_second,
            figures.queries_per_second,
            figures.average_ms,
            figures.p95_ms,
            figures.ignored_errors
        );
    }
    Ok(text)
}

/// Today, as YYYY-MM-DD.
pub(crate) fn date() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil(since.as_secs() / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days since 1970 as a date (Howard Hinnant's `civil_from_days`, for days after 1970).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// The commit that is checked out, in short.
pub(crate) fn commit(root: &Path) -> String {
    let mut git = Command::new("git");
    git.current_dir(root).args(["rev-parse", "--short", "HEAD"]);
    capture(&mut git, Duration::from_secs(10))
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests;
