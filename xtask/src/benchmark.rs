//! `cargo xtask bench`: LatsDB, MariaDB and the floor in turn on one machine, with targets beside what was measured.
//!
//! Machines differ and so do hours: only ratios within one run mean anything. Rounds alternate between the servers,
//! medians are taken over rounds. CPU is what the kernel counts for all processes of a server during a run, divided by
//! the queries of that run. Each run of sysbench is one line of `docs/benchmarks.jsonl`; the medians become the table
//! in `docs/benchmarks.md`, between the two marks there. Text outside of the marks is written by people. `--tls` and
//! `--durability` compare LatsDB with itself instead (`encrypted`, `durable`); `--restart` times starts after a kill;
//! `--tpch` and `--tpcc` run the drivers of crate `bench` (`tpc`).

mod durable;
mod encrypted;
mod joined;
mod restart;
mod tables;
mod tpc;

use crate::arguments::Arguments;
use crate::cluster::{Cluster, Shape, sql};
use crate::peers::{self, Peer, RedoSync};
use crate::processes::{Failure, Profile, Workspace, capture, cpu_us, resident};
use crate::sysbench::{Figures, Load, Pressure, Statements, commit, create_database, date};
use crate::tools::Tool;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const BEGIN: &str = "<!-- table: written by `cargo xtask bench` -->";
const END: &str = "<!-- end of table -->";

/// The goal that a workload must reach.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// Events per second, as a multiple of MariaDB's.
    mariadb: Option<f64>,
    /// Events per second, as a share of the floor's.
    floor: Option<f64>,
    /// Server CPU per query above the floor's, in microseconds.
    floor_cpu_us: Option<f64>,
    /// Average latency, as a multiple of the floor's.
    floor_latency: Option<f64>,
}

const NO_TARGET: Target = Target { mariadb: None, floor: None, floor_cpu_us: None, floor_latency: None };

struct Workload {
    name: &'static str,
    script: &'static str,
    threads: u32,
    extra: &'static [&'static str],
    target: Target,
}

/// A workload that has to be so many times as quick as MariaDB.
const fn against_mariadb(name: &'static str, script: &'static str, threads: u32, factor: f64) -> Workload {
    Workload { name, script, threads, extra: &[], target: Target { mariadb: Some(factor), ..NO_TARGET } }
}

/// The same by the script of joins.
const fn joining(name: &'static str, extra: &'static [&'static str], threads: u32, factor: f64) -> Workload {
    Workload { extra, ..against_mariadb(name, joined::SCRIPT, threads, factor) }
}

/// A scan by one client, four times as quick as MariaDB's.
const fn scanning(name: &'static str, extra: &'static [&'static str]) -> Workload {
    Workload { extra, ..against_mariadb(name, SCANS, 1, 4.0) }
}

/// Our own scripts, in `tests/sysbench`.
const OWN_SCRIPTS: [&str; 3] = [POINTS_BY_PRIMARY_KEY, joined::SCRIPT, SCANS];
const POINTS_BY_PRIMARY_KEY: &str = "points_by_primary_key";
const SCANS: &str = "scans";

const WORKLOADS: &[Workload] = &[
    Workload {
        target: Target { mariadb: Some(1.6), floor: Some(0.8), floor_cpu_us: Some(2.5), floor_latency: None },
        ..against_mariadb("point_select_8", "oltp_point_select", 8, 1.6)
    },
    Workload {
        target: Target { floor_latency: Some(1.3), ..NO_TARGET },
        ..against_mariadb("point_select_1", "oltp_point_select", 1, 1.0)
    },
    Workload {
        extra: &["--random-points=100"],
        ..against_mariadb("random_points_100", "select_random_points", 8, 2.5)
    },
    Workload {
        extra: &["--random-points=100"],
        ..against_mariadb("primary_keys_100", POINTS_BY_PRIMARY_KEY, 8, 2.5)
    },
    against_mariadb("read_only_8", "oltp_read_only", 8, 2.0),
    against_mariadb("random_ranges_8", "select_random_ranges", 8, 2.0),
    against_mariadb("read_write_8", "oltp_read_write", 8, 1.8),
    against_mariadb("write_only_16", "oltp_write_only", 16, 1.3),
    against_mariadb("insert_16", "oltp_insert", 16, 1.3),
    against_mariadb("update_index_16", "oltp_update_index", 16, 1.3),
    against_mariadb("update_non_index_16", "oltp_update_non_index", 16, 1.3),
    joining("key_join_1", &["--join=key"], 1, 1.0),
    joining("key_join_8", &["--join=key"], 8, 1.6),
    joining("index_join_1", &["--join=index"], 1, 1.43),
    joining("explain_2_tables", &["--join=plan2"], 1, 1.0),
    joining("explain_10_tables", &["--join=plan10"], 1, 1.0),
    scanning("scan_count", &["--scan=count"]),
    scanning("scan_sum", &["--scan=sum"]),
    scanning("scan_number", &["--scan=number"]),
    scanning("scan_text", &["--scan=text"]),
    scanning("scan_groups", &["--scan=groups"]),
    scanning("scan_values", &["--scan=values"]),
    scanning("scan_distinct", &["--scan=distinct"]),
    scanning("scan_top", &["--scan=top"]),
];

/// Not sysbench's: what a cluster uses when nobody asks, and what a row costs.
const STANDING: &str = "memory_and_idle";

/// Rows of the memory measurement, and the size of each without any overhead.
const MEMORY_ROWS: u64 = 1_000_000;
const MEMORY_ROW_SIZE: u64 = 100;
/// Rows of another table before it, and after the first measurement.
const MEMORY_ROWS_BEFORE: u64 = 10_000;

struct Options {
    workloads: Vec<String>,
    seconds: u32,
    rounds: usize,
    tables: u32,
    table_size: u32,
    /// Of `--tpch`.
    scale: f64,
    /// Of `--tpcc`.
    warehouses: u32,
    clients: u32,
    binary: Option<PathBuf>,
    is_recorded: bool,
}

type Comparison = fn(&Path, &Options, &mut Recorder<'_>) -> Result<(), Failure>;

/// Measurements other than the one by sysbench, with the flags that ask for them.
const COMPARISONS: &[(&str, Comparison)] = &[
    ("--tls", encrypted::measure),
    ("--durability", durable::measure),
    ("--restart", restart::measure),
    ("--tpch", tpc::tpch),
    ("--tpcc", tpc::tpcc),
];

/// `cargo xtask bench`.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    if arguments.flag("--list") {
        arguments.finish()?;
        for workload in WORKLOADS {
            println!("{:<22} {} with {} clients", workload.name, workload.script, workload.threads);
        }
        println!("{STANDING:<22} bytes per row, an empty node, an idle cluster");
        println!("{:<22} CREATE TABLE, and point selects beside it", tables::NAME);
        return Ok(());
    }
    let options = Options {
        workloads: arguments.values("--workload")?,
        seconds: arguments.value_or("--time", 10)?,
        rounds: arguments.value_or("--rounds", 3)?,
        tables: arguments.value_or("--tables", 4)?,
        table_size: arguments.value_or("--table-size", 250_000)?,
        scale: arguments.value_or("--scale", 0.1)?,
        warehouses: arguments.value_or("--warehouses", 4)?,
        clients: arguments.value_or("--clients", 8)?,
        binary: arguments.value("--binary")?,
        is_recorded: !arguments.flag("--no-record"),
    };
    let comparison = COMPARISONS.iter().find(|(flag, _)| arguments.flag(flag));
    arguments.finish()?;
    let known = |name: &String| {
        [STANDING, tables::NAME].contains(&name.as_str())
            || durable::LINES.iter().any(|(workload, _)| workload.name == name)
            || WORKLOADS.iter().any(|workload| workload.name == name)
    };
    if let Some(unknown) = options.workloads.iter().find(|name| !known(name)) {
        return Err(Failure::new(format!("no workload {unknown:?}; see `cargo xtask bench --list`")));
    }
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => workspace.build_latsdb(Profile::Release)?,
    };
    let is_wanted =
        |name: &str| options.workloads.is_empty() || options.workloads.iter().any(|one| one == name);
    let mut recorder = Recorder { workspace, is_recorded: options.is_recorded };
    if let Some((_, measure)) = comparison {
        return measure(&binary, &options, &mut recorder);
    }
    let mut lines = Vec::new();
    if is_wanted(STANDING) {
        lines.extend(standing(workspace, &binary, &mut recorder)?);
    }
    let chosen: Vec<&Workload> = WORKLOADS.iter().filter(|workload| is_wanted(workload.name)).collect();
    let makes_tables = is_wanted(tables::NAME);
    if !chosen.is_empty() || makes_tables {
        let mut contest = Contest::start(workspace, binary, &options)?;
        if chosen.iter().any(|workload| workload.script == joined::SCRIPT) {
            for contestant in [Contestant::Latsdb, Contestant::Mariadb] {
                joined::fill(contest.port(contestant))?;
            }
        }
        for workload in chosen {
            lines.push(contest.workload(workload, &mut recorder)?);
        }
        if makes_tables {
            lines.extend(contest.tables(&WORKLOADS[0], &mut recorder)?);
        }
        contest.stop()?;
    }
    let table = table(&lines, &options, workspace);
    println!("\n{table}");
    // A table of some workloads would take the place of that of all.
    let is_whole = options.workloads.is_empty();
    if options.is_recorded && is_whole { write_table(workspace, &table) } else { Ok(()) }
}

/// The three servers, loaded.
struct Contest<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    latsdb: Cluster,
    mariadb: Peer,
    floor: Peer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contestant {
    Latsdb,
    Mariadb,
    Floor,
}

impl Contestant {
    fn name(self) -> &'static str {
        match self {
            Self::Latsdb => "latsdb",
            Self::Mariadb => "mariadb",
            Self::Floor => "floor",
        }
    }
}

/// One run of sysbench and what the server used for it.
#[derive(Clone, Debug)]
struct Run {
    figures: Figures,
    cpu_us_per_query: f64,
}

impl<'a> Contest<'a> {
    fn start(workspace: &'a Workspace, binary: PathBuf, options: &'a Options) -> Result<Self, Failure> {
        let floor = peers::floor(workspace)?;
        let mariadb = peers::mariadb(workspace, "bench", "2G", RedoSync::Second)?;
        let latsdb = Cluster::start(workspace, &binary, "bench", &Shape::default())?;
        let contest = Self { workspace, options, latsdb, mariadb, floor };
        for contestant in [Contestant::Latsdb, Contestant::Mariadb] {
            println!("loading {}", contestant.name());
            create_database(contest.port(contestant))?;
            contest.load("oltp_point_select", &[], contestant).prepare(options.tables)?;
        }
        Ok(contest)
    }

    fn port(&self, contestant: Contestant) -> u16 {
        match contestant {
            Contestant::Latsdb => self.latsdb.mysql_ports[0],
            Contestant::Mariadb => self.mariadb.port,
            Contestant::Floor => self.floor.port,
        }
    }

    fn pid(&self, contestant: Contestant) -> u32 {
        match contestant {
            Contestant::Latsdb => self.latsdb.server.pid(),
            Contestant::Mariadb => self.mariadb.server.pid(),
            Contestant::Floor => self.floor.server.pid(),
        }
    }

    fn load(&self, script: &str, extra: &[&str], contestant: Contestant) -> Load {
        load(self.workspace, self.options, (script, extra), self.port(contestant))
    }

    fn measure(&self, workload: &Workload, contestant: Contestant) -> Result<Run, Failure> {
        let load = self.load(workload.script, workload.extra, contestant);
        measure(workload, &load, self.options.seconds, self.pid(contestant))
    }

    /// All rounds of a workload; gives its lines of the table.
    fn workload(&mut self, workload: &Workload, recorder: &mut Recorder<'_>) -> Result<Line, Failure> {
        let target = &workload.target;
        let is_floor_asked =
            target.floor.is_some() || target.floor_cpu_us.is_some() || target.floor_latency.is_some();
        let mut contestants = vec![Contestant::Latsdb, Contestant::Mariadb];
        if is_floor_asked {
            contestants.push(Contestant::Floor);
        }
        let mut runs: Vec<(Contestant, Run)> = Vec::new();
        for round in 1..=self.options.rounds {
            for &contestant in &contestants {
                let run = self.measure(workload, contestant)?;
                println!(
                    "{:<20} round {round} {:<8} {:>9.0} events/s, {:.3} ms, p95 {:.3} ms, {:.1} µs CPU per query",
                    workload.name,
                    contestant.name(),
                    run.figures.events_per_second,
                    run.figures.average_ms,
                    run.figures.p95_ms,
                    run.cpu_us_per_query
                );
                recorder.sysbench(workload, contestant.name(), round, &run)?;
                runs.push((contestant, run));
            }
        }
        Ok(line(workload, &runs))
    }

    /// Ends all three; the cluster must still be sound.
    fn stop(self) -> Result<(), Failure> {
        self.latsdb.verify()?;
        self.latsdb.stop()
    }
}

fn load(workspace: &Workspace, options: &Options, (script, extra): (&str, &[&str]), port: u16) -> Load {
    let script = if OWN_SCRIPTS.contains(&script) {
        workspace.root.join("tests/sysbench").join(format!("{script}.lua")).display().to_string()
    } else {
        script.to_owned()
    };
    Load {
        script,
        host: "127.0.0.1".to_owned(),
        port,
        tables: options.tables,
        table_size: options.table_size,
        extra: extra.iter().map(|word| (*word).to_owned()).collect(),
    }
}

/// Runs a workload once, at a server with this process.
fn measure(workload: &Workload, load: &Load, seconds: u32, pid: u32) -> Result<Run, Failure> {
    let pressure = Pressure { threads: workload.threads, seconds, statements: Statements::Prepared };
    let before = cpu_us(pid);
    let figures = load.run(&pressure)?;
    let used = cpu_us(pid).saturating_sub(before);
    let cpu_us_per_query = as_float(used) / figures.queries.max(1.0);
    Ok(Run { figures, cpu_us_per_query })
}

#[expect(clippy::cast_precision_loss, reason = "counts and microseconds of minutes are far below 2^53")]
fn as_float(count: u64) -> f64 {
    count as f64
}

/// One line of the table: what it is, what was measured, what was to reach, and whether it was.
struct Line {
    cells: [String; 5],
    is_reached: bool,
}

fn median(runs: &[(Contestant, Run)], of: Contestant, value: impl Fn(&Run) -> f64) -> Option<f64> {
    middle(runs.iter().filter(|(who, _)| *who == of).map(|(_, run)| value(run)))
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The medians of a workload, and whether each part of its target is reached.
fn line(workload: &Workload, runs: &[(Contestant, Run)]) -> Line {
    let rate = |of| median(runs, of, |run| run.figures.events_per_second);
    // sysbench prints averages in hundredths of a millisecond; in a closed loop the rate says the same more exactly.
    let latency = |of| rate(of).map(|rate| f64::from(workload.threads) * 1_000.0 / rate.max(1.0));
    let tail = |of| median(runs, of, |run| run.figures.p95_ms);
    let cpu = |of| median(runs, of, |run| run.cpu_us_per_query);
    let cell = |of| match (rate(of), latency(of), tail(of), cpu(of)) {
        (Some(rate), Some(latency), Some(tail), Some(cpu)) => {
            format!("{rate:.0}/s, {latency:.3} ms (p95 {tail:.3}), {cpu:.1} µs CPU")
        }
        _ => "–".to_owned(),
    };
    let ratio = |value: &dyn Fn(Contestant) -> Option<f64>, to| {
        value(Contestant::Latsdb).zip(value(to)).map(|(ours, theirs)| ours / theirs)
    };
    let mut verdicts = Vec::new();
    let mut is_reached = true;
    let mut judge = |text: String, reached: bool| {
        is_reached &= reached;
        verdicts.push(format!("{text}{}", if reached { "" } else { " **missed**" }));
    };
    let target = &workload.target;
    if let Some((wanted, found)) = target.mariadb.zip(ratio(&rate, Contestant::Mariadb)) {
        judge(format!("{found:.2} × MariaDB (≥ {wanted})"), found >= wanted);
    }
    if let Some((wanted, found)) = target.floor.zip(ratio(&rate, Contestant::Floor)) {
        judge(format!("{:.0} % of the floor (≥ {:.0} %)", found * 100.0, wanted * 100.0), found >= wanted);
    }
    if let Some((wanted, found)) = target.floor_latency.zip(ratio(&latency, Contestant::Floor)) {
        judge(format!("{found:.2} × the floor's latency (≤ {wanted})"), found <= wanted);
    }
    let above = cpu(Contestant::Latsdb).zip(cpu(Contestant::Floor)).map(|(ours, floor)| ours - floor);
    if let Some((wanted, found)) = target.floor_cpu_us.zip(above) {
        judge(format!("{found:+.1} µs CPU to the floor's (≤ +{wanted})"), found <= wanted);
    }
    let clients = if workload.threads == 1 { "client" } else { "clients" };
    let has_several = [joined::SCRIPT, SCANS].contains(&workload.script);
    let script = if has_several { workload.name } else { workload.script };
    let name = format!("{script}, {} {clients}", workload.threads);
    let cells = [
        name,
        cell(Contestant::Latsdb),
        cell(Contestant::Mariadb),
        cell(Contestant::Floor),
        verdicts.join("; "),
    ];
    Line { cells, is_reached }
}

/// An empty node's memory, an idle cluster's CPU, and the overhead of a row.
fn standing(workspace: &Workspace, binary: &Path, recorder: &mut Recorder<'_>) -> Result<Vec<Line>, Failure> {
    const IDLE: Duration = Duration::from_secs(20);
    let cluster = Cluster::start(workspace, binary, "standing", &Shape::default())?;
    // The first seconds belong to starting.
    std::thread::sleep(Duration::from_secs(3));
    let before = cpu_us(cluster.server.pid());
    std::thread::sleep(IDLE);
    let used = cpu_us(cluster.server.pid()).saturating_sub(before);
    let idle_percent = as_float(used) / as_float(u64::try_from(IDLE.as_micros()).unwrap_or(u64::MAX)) * 100.0;
    let size = |pid: &u32| resident(*pid).unwrap_or(0);
    let pids = cluster.data_node_pids();
    let empty: Vec<u64> = pids.iter().map(size).collect();
    let port = cluster.mysql_ports[0];
    sql(port, "CREATE DATABASE memory")?;
    // Buffers that loading needs, whatever it loads, are no part of a row.
    fill_for_memory(port, "warm", MEMORY_ROWS_BEFORE)?;
    let before: Vec<u64> = pids.iter().map(size).collect();
    fill_for_memory(port, "row100", MEMORY_ROWS)?;
    let full: Vec<u64> = pids.iter().map(size).collect();
    // Every data node has a replica of every row.
    let overhead = |(before, after): (&u64, &u64)| {
        as_float(after.saturating_sub(*before)) / as_float(MEMORY_ROWS) - as_float(MEMORY_ROW_SIZE)
    };
    let overhead = before.iter().zip(&full).map(overhead).fold(0.0, f64::max);
    let empty_mib = as_float(empty.iter().copied().max().unwrap_or(0)) / f64::from(1u32 << 20);
    recorder.record(json!({
        "workload": STANDING,
        "server": "latsdb",
        "idle_cpu_percent": rounded(idle_percent, 3),
        "empty_node_mib": rounded(empty_mib, 1),
        "overhead_bytes_per_row": rounded(overhead, 1),
    }))?;
    cluster.stop()?;
    let line = |what: &str, found: String, wanted: &str, is_reached: bool| {
        let verdict = format!("{wanted}{}", if is_reached { "" } else { " **missed**" });
        Line { cells: [what.to_owned(), found, "–".to_owned(), "–".to_owned(), verdict], is_reached }
    };
    Ok(vec![
        line("overhead of a 100-byte row", format!("{overhead:.1} bytes"), "≤ 64 bytes", overhead <= 64.0),
        line("an empty data node, resident", format!("{empty_mib:.0} MiB"), "< 100 MiB", empty_mib < 100.0),
        line("an idle cluster's CPU", format!("{idle_percent:.2} %"), "< 1 %", idle_percent < 1.0),
    ])
}

/// A table of so many rows of 100 bytes: a key of 4, and 96 more.
fn fill_for_memory(port: u16, table: &str, rows: u64) -> Result<(), Failure> {
    const ROWS_PER_STATEMENT: u64 = 1_000;
    let create = format!("CREATE TABLE memory.{table} (id INT PRIMARY KEY, filler BINARY(96) NOT NULL)");
    sql(port, &create)?;
    let mut text = String::new();
    for first in (0..rows).step_by(usize::try_from(ROWS_PER_STATEMENT).unwrap_or(1)) {
        // Writing into a String can't fail.
        let _ = write!(text, "INSERT INTO memory.{table} VALUES ");
        for id in first..first + ROWS_PER_STATEMENT {
            let comma = if id == first { "" } else { "," };
            let _ = write!(text, "{comma}({id},REPEAT('x',96))");
        }
        text.push_str(";\n");
    }
    run_script(port, &text, Duration::from_secs(600))?;
    let count = sql(port, &format!("SELECT COUNT(*) FROM memory.{table}"))?;
    if count.trim() == rows.to_string() {
        Ok(())
    } else {
        Err(Failure::new(format!("{rows} rows were inserted, {} are there", count.trim())))
    }
}

/// Has MariaDB's client run statements, one after the other.
fn run_script(port: u16, text: &str, limit: Duration) -> Result<(), Failure> {
    let path = std::env::temp_dir().join(format!("latsdb-bench-{}.sql", std::process::id()));
    fs::write(&path, text).map_err(Failure::while_doing(path.display()))?;
    let mut client = Command::new("sh");
    let mariadb = Tool::MariadbClient.ensure()?;
    client.args(["-c", "exec \"$1\" --no-defaults -h 127.0.0.1 -P \"$2\" -u root < \"$3\"", "sh"]);
    client.arg(mariadb).arg(port.to_string()).arg(&path);
    let done = capture(&mut client, limit);
    // A file in the temporary folder that stays behind harms nobody.
    let _ = fs::remove_file(&path);
    done.map(|_| ())
}

/// Appends to the results file.
struct Recorder<'a> {
    workspace: &'a Workspace,
    is_recorded: bool,
}

impl Recorder<'_> {
    fn sysbench(
        &mut self,
        workload: &Workload,
        server: &str,
        round: usize,
        run: &Run,
    ) -> Result<(), Failure> {
        let figures = &run.figures;
        self.record(json!({
            "workload": workload.name,
            "server": server,
            "round": round,
            "clients": workload.threads,
            "events_per_second": rounded(figures.events_per_second, 1),
            "queries_per_second": rounded(figures.queries_per_second, 1),
            "average_ms": rounded(figures.average_ms, 3),
            "p50_ms": rounded(figures.p50_ms, 3),
            "p95_ms": rounded(figures.p95_ms, 3),
            "p99_ms": rounded(figures.p99_ms, 3),
            "cpu_us_per_query": rounded(run.cpu_us_per_query, 2),
            "retried": figures.ignored_errors,
        }))
    }

    /// One line of JSON: an object, to which the moment and the commit are added.
    fn record(&mut self, mut line: Value) -> Result<(), Failure> {
        if !self.is_recorded {
            return Ok(());
        }
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        line["unix_time"] = json!(seconds);
        line["commit"] = json!(commit(&self.workspace.root));
        let path = self.workspace.root.join("docs/benchmarks.jsonl");
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| writeln!(file, "{line}")).map_err(Failure::while_doing(path.display()))
    }
}

/// With so many digits behind the point.
fn rounded(figure: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (figure * scale).round() / scale
}

/// The table as Markdown, with the command that made it.
fn table(lines: &[Line], options: &Options, workspace: &Workspace) -> String {
    // A path says nothing to readers: the commit does.
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(binary) = words.iter().position(|word| word == "--binary") {
        words.drain(binary..words.len().min(binary + 2));
    }
    let reached = lines.iter().filter(|line| line.is_reached).count();
    let mut text = format!(
        "`cargo xtask {}` on {}, commit {}: {} rounds of {} s in turn, medians, {} tables of {} rows, prepared statements;\n\
         {} CPUs, sysbench on the same ones. {reached} of {} lines reach their targets.\n\n\
         | workload | LatsDB, two replicas | MariaDB, no replica | floor | against the target |\n|---|---|---|---|---|\n",
        words.join(" "),
        date(),
        commit(&workspace.root),
        options.rounds,
        options.seconds,
        options.tables,
        options.table_size,
        std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        lines.len(),
    );
    for line in lines {
        // Writing into a String can't fail.
        let _ = writeln!(text, "| {} |", line.cells.join(" | "));
    }
    text
}

/// Puts the table between the marks of docs/benchmarks.md.
fn write_table(workspace: &Workspace, table: &str) -> Result<(), Failure> {
    let path = workspace.root.join("docs/benchmarks.md");
    let old = fs::read_to_string(&path).map_err(Failure::while_doing(path.display()))?;
    let (Some(begin), Some(end)) = (old.find(BEGIN), old.find(END)) else {
        return Err(Failure::new(format!("{} lacks the marks around its table", path.display())));
    };
    let new = format!("{}{BEGIN}\n\n{table}\n{}", &old[..begin], &old[end..]);
    fs::write(&path, new).map_err(Failure::while_doing(path.display()))
}
