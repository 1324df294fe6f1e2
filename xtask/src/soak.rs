//! `cargo xtask soak`: a cluster under mixed load for as long as wanted, to see that nothing grows and nothing fails.
//!
//! Sixty-four active connections (four sysbench workloads over both SQL ports, and the actors of
//! `tests/clients/python/soak.py`: DDL, prepared statements, aborted transactions, connects and disconnects) and 500
//! idle ones. The load deletes what it inserts, so that after the first minutes a node should hold the same amount of
//! memory for ever. Every ten seconds the resident memory of each node and the pages of each resource are written to a
//! file, and now and then printed.
//!
//! **It fails** by any of these. A client meets an error that is not retryable. An idle connection does not answer in
//! the end. Replicas or indexes disagree (`latsdb check`). A node ends. Memory grows: the mean of the last quarter of
//! the samples is above that of the third by more than [`growth_bound`].
//!
//! **Deliberately not here**: measure speed. With a rate it is meant to run beside other work.

use crate::arguments::Arguments;
use crate::cluster::{Cluster, Shape, sql};
use crate::processes::{Failure, Profile, Server, Workspace, between, command_line, resident, tree};
use crate::suite::python_program;
use crate::sysbench::{Load, Pressure, Statements, commit, create_database, date};
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);

/// One sample in so many is printed.
const PRINT_EVERY: usize = 6;

/// The time that clients may take to end beyond theirs: the last event, and 500 idle connections to be asked.
const GRACE: Duration = Duration::from_secs(180);

const IDLE_CONNECTIONS: u32 = 500;
const ACTORS: u32 = 16;

/// The memory of each data node: enough for the load many times over, and so little that a leak meets its end in hours.
const MEMORY: &str = "1G";

/// A share of the load that sysbench does.
struct Part {
    script: &'static str,
    threads: u32,
    /// Its share of all transactions, in percent. The rest is the actors'.
    percent: u32,
    statements: Statements,
    /// Which SQL port, from 0.
    port: usize,
}

const PARTS: &[Part] = &[
    part("oltp_read_write", 16, 20, Statements::Prepared, 0),
    part("oltp_write_only", 12, 15, Statements::Text, 1),
    part("oltp_update_index", 12, 15, Statements::Prepared, 1),
    part("oltp_point_select", 8, 40, Statements::Text, 0),
];

const fn part(script: &'static str, threads: u32, percent: u32, statements: Statements, port: usize) -> Part {
    Part { script, threads, percent, statements, port }
}

const ACTORS_PERCENT: u32 = 10;

/// Turns of actors per second when sysbench goes as fast as it can: they are there for variety, and Python is slow.
const UNLIMITED_ACTORS_RATE: f64 = 50.0;

/// `cargo xtask soak`.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let minutes: u32 = arguments.value_or("--minutes", 60)?;
    let rate: u32 = arguments.value_or("--rate", 200)?;
    let binary: Option<PathBuf> = arguments.value("--binary")?;
    arguments.finish()?;
    if minutes == 0 {
        return Err(Failure::new("--minutes: at least 1"));
    }
    if rate != 0 && rate < 10 {
        return Err(Failure::new("--rate: at least 10 transactions per second, or 0 for no limit"));
    }
    let binary = match binary {
        Some(binary) => binary,
        None => workspace.build_latsdb(Profile::Release)?,
    };
    let shape = Shape { memory: Some(MEMORY), ..Shape::default() };
    let cluster = Cluster::start(workspace, &binary, "soak", &shape)?;
    let seconds = minutes * 60;
    let mut clients = start_clients(workspace, &cluster, seconds, rate)?;
    let samples = sample(workspace, &cluster, &mut clients, Duration::from_secs(seconds.into()))?;
    let mut faults = Vec::new();
    for client in &mut clients {
        match end_of(&mut client.server) {
            Ok(totals) => println!("{}: {totals}", client.name),
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    faults.extend(judge(&samples));
    cluster.verify()?;
    cluster.stop()?;
    if !faults.is_empty() {
        return Err(Failure::new(faults.join("\n")));
    }
    println!(
        "{}, commit {}: {minutes} minutes at {rate} transactions/s: memory is flat, no errors",
        date(),
        commit(&workspace.root)
    );
    Ok(())
}

/// A program that makes load until its time is over.
struct Client {
    name: String,
    server: Server,
}

/// Makes sysbench's tables and starts everybody.
fn start_clients(
    workspace: &Workspace,
    cluster: &Cluster,
    seconds: u32,
    rate: u32,
) -> Result<Vec<Client>, Failure> {
    create_database(cluster.mysql_ports[0])?;
    let load = |part: &Part| Load {
        script: part.script.to_owned(),
        host: "127.0.0.1".to_owned(),
        port: cluster.mysql_ports[part.port],
        tables: 4,
        table_size: 10_000,
        extra: vec![
            format!("--rate={}", rate * part.percent / 100),
            "--report-interval=10".to_owned(),
            // The errors that a client is told to retry, and nothing else: without it sysbench would ignore duplicate
            // keys of its own making too.
            "--mysql-ignore-errors=1213,1205".to_owned(),
        ],
    };
    load(&PARTS[0]).prepare(4)?;
    let mut actors = python_program(workspace, "soak.py")?;
    actors.args(["--write-port", &cluster.mysql_ports[0].to_string()]);
    actors.args(["--read-port", &cluster.mysql_ports[1].to_string()]);
    let turns = if rate == 0 { UNLIMITED_ACTORS_RATE } else { f64::from(rate * ACTORS_PERCENT) / 100.0 };
    actors.args(["--seconds", &seconds.to_string(), "--rate", &turns.to_string()]);
    actors.args(["--idle", &IDLE_CONNECTIONS.to_string(), "--actors", &ACTORS.to_string()]);
    let folder = workspace.scratch("soak-clients")?;
    let server = Server::start(&mut actors, "soak.py", &folder.join("actors.log"))?;
    let mut clients = vec![Client { name: "actors".to_owned(), server }];
    for part in PARTS {
        let pressure = Pressure { threads: part.threads, seconds, statements: part.statements };
        let mut command = load(part).command("run", &pressure)?;
        let server = Server::start(&mut command, part.script, &folder.join(format!("{}.log", part.script)))?;
        clients.push(Client { name: part.script.to_owned(), server });
    }
    Ok(clients)
}

/// The last part of a client's log when it has ended well: its totals.
fn end_of(server: &mut Server) -> Result<String, Failure> {
    let status = server.wait(GRACE)?;
    if !status.success() {
        return Err(server.failure(&format!("ended with {status}")));
    }
    let log = server.log();
    if let Some(turns) = log.lines().find_map(|line| line.strip_prefix("end: ")) {
        return Ok(turns.to_owned());
    }
    let total = |name: &str| between(&log, name, "(").map_or("?", str::trim);
    Ok(format!(
        "{} transactions, {} retried, {} reconnects",
        total("transactions:"),
        total("ignored errors:"),
        total("reconnects:")
    ))
}

/// The resident bytes of each node at one moment.
struct Sample {
    resident: Vec<(String, u64)>,
}

/// Samples until the time is over; ends early when a node or a client has.
fn sample(
    workspace: &Workspace,
    cluster: &Cluster,
    clients: &mut [Client],
    time: Duration,
) -> Result<Vec<Sample>, Failure> {
    let path = workspace.target.join("xtask/soak-samples.tsv");
    let mut file = File::create(&path).map_err(Failure::while_doing(path.display()))?;
    println!("samples in {}", path.display());
    let nodes: Vec<(String, u32)> =
        tree(cluster.server.pid()).into_iter().filter_map(|pid| Some((node_name(pid)?, pid))).collect();
    let begun = Instant::now();
    let mut samples = Vec::new();
    while begun.elapsed() < time {
        std::thread::sleep(SAMPLE_INTERVAL.min(time.saturating_sub(begun.elapsed())));
        let mut sample = Sample { resident: Vec::new() };
        for (name, pid) in &nodes {
            let bytes = resident(*pid).ok_or_else(|| cluster.server.failure(&format!("{name} has ended")))?;
            sample.resident.push((name.clone(), bytes));
        }
        let pages = resources(cluster)?;
        let line = line(begun.elapsed(), &sample, &pages);
        writeln!(file, "{line}").map_err(Failure::while_doing(path.display()))?;
        if samples.len() % PRINT_EVERY == 0 {
            println!("{line}");
        }
        samples.push(sample);
        if begun.elapsed() + SAMPLE_INTERVAL < time {
            for client in clients.iter_mut() {
                if client.server.has_ended() {
                    return Err(client.server.failure("ended before its time"));
                }
            }
        }
    }
    Ok(samples)
}

/// The pages that each resource of each node holds. A machine may be so busy that a client does not log in in time: one
/// that does not is told, and another one is tried.
fn resources(cluster: &Cluster) -> Result<String, Failure> {
    const TEXT: &str = "SELECT node_id, resource_name, used FROM ndbinfo.resources WHERE used > 0 ORDER BY node_id, resource_name";
    sql(cluster.mysql_ports[0], TEXT).or_else(|failure| {
        println!("again: {failure}");
        sql(cluster.mysql_ports[0], TEXT)
    })
}

/// `data 2`; nothing for a process that is no node.
fn node_name(pid: u32) -> Option<String> {
    let words = command_line(pid);
    let kind = words.get(1).filter(|word| ["data", "sql", "mgmd"].contains(&word.as_str()))?;
    let id = words.iter().skip_while(|word| *word != "--ndb-nodeid").nth(1)?;
    Some(format!("{kind} {id}"))
}

/// Seconds, kilobytes of each node, pages of each resource.
fn line(elapsed: Duration, sample: &Sample, pages: &str) -> String {
    let mut line = format!("{} s", elapsed.as_secs());
    for (name, bytes) in &sample.resident {
        line.push_str(&format!("\t{name}: {} kB", bytes / 1024));
    }
    for row in pages.lines() {
        line.push_str(&format!("\t{}", row.replace('\t', " ")));
    }
    line
}

/// How much more than in its third quarter a node may hold on the average in its last one: one in a hundred, and 2 MiB.
/// Pages are taken and given back in chunks of megabytes as tables and transactions come and go. A leak of 16 bytes per
/// transaction is more than this in an hour at 200 a second.
fn growth_bound(third_quarter: u64) -> u64 {
    third_quarter / 100 + (2 << 20)
}

/// Prints each node's memory by quarters; gives those that grew.
fn judge(samples: &[Sample]) -> Vec<String> {
    let mut faults = Vec::new();
    let node_count = samples.first().map_or(0, |sample| sample.resident.len());
    for node in 0..node_count {
        let name = &samples[0].resident[node].0;
        let of_node: Vec<u64> = samples.iter().map(|sample| sample.resident[node].1).collect();
        let quarters = quarter_means(&of_node);
        let [first, second, third, last] = quarters.map(|bytes| bytes / 1024);
        println!("{name}: resident {first}, {second}, {third}, {last} kB in the four quarters");
        if quarters[3] > quarters[2] + growth_bound(quarters[2]) {
            faults.push(format!(
                "{name}: memory grows: {third} kB in the third quarter, {last} kB in the last"
            ));
        }
    }
    faults
}

/// The mean of each quarter of the samples; what is left over belongs to the last.
fn quarter_means(values: &[u64]) -> [u64; 4] {
    let size = values.len() / 4;
    std::array::from_fn(|quarter| {
        let end = if quarter == 3 { values.len() } else { (quarter + 1) * size };
        let part = &values[quarter * size..end];
        let count = u64::try_from(part.len()).unwrap_or(1).max(1);
        part.iter().sum::<u64>() / count
    })
}

#[cfg(test)]
mod tests;
