//! `cargo xtask bench --restart`: how long a server that was killed takes until it is ready, and until rows are warm.
//!
//! A node alone, `dev` with two, and MariaDB work in turn, so that none shares the machine. Each is loaded, written to
//! for the time of a run, and killed with all its processes under that load: the log is as long as it happens to be.
//! The bytes on disk at that moment are told beside the times. Warm means that every row has been read once.
//!
//! Before `dev` is killed, two more lines are measured under the same load. One says how much of the disk a node takes,
//! at most, for its rows beside its log. The other one says how long a node that was away takes to come back, and how
//! many bytes of rows were copied. The node is stopped (SIGSTOP), is left out for its silence, and ends afterwards.

use super::{Options, Recorder, Workload, against_mariadb, load, rounded};
use crate::cluster::{Cluster, Shape, sql};
use crate::peers::{self, Peer, RedoSync};
use crate::processes::{Failure, Server, Workspace, signal};
use crate::sysbench::{Pressure, Statements, create_database};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The load before the kill.
const WRITES: Workload = against_mariadb("restart", "oltp_write_only", 16, 1.0);
/// Until a node that was away is back.
const BACK_LIMIT: Duration = Duration::from_secs(120);
/// Memory of a data node, and of MariaDB's buffer pool: rows of 2 GiB have room.
const MEMORY: &str = "6G";

pub(super) fn measure(binary: &Path, options: &Options, recorder: &mut Recorder<'_>) -> Result<(), Failure> {
    let mut beside = String::new();
    let mut table = "| server | on disk | ready | warm |\n|---|---:|---:|---:|\n".to_owned();
    for (name, nodes) in [("LatsDB, a node alone", 1), ("LatsDB, `dev` with two nodes", 2)] {
        let shape = Shape { data_nodes: nodes, replicas: nodes, memory: Some(MEMORY), ..Shape::default() };
        let cluster = Cluster::start(recorder.workspace, binary, "restart", &shape)?;
        let directory = cluster.directory().to_path_buf();
        let writer = fill(recorder.workspace, options, cluster.mysql_ports[0], &directory)?;
        let last = directory.join(format!("node{}", 1 + nodes));
        beside.push_str(&disk_use(&cluster, name, &last, options, recorder)?);
        if nodes > 1 {
            beside.push_str(&absence(&cluster, options, recorder)?);
        }
        cluster.kill()?;
        drop(writer);
        let bytes = size_of(&directory);
        let begun = Instant::now();
        let cluster = Cluster::start_again(recorder.workspace, binary, "restart", &shape)?;
        let ready = begun.elapsed();
        read_all(cluster.mysql_ports[0], options)?;
        table.push_str(&told(name, bytes, ready, begun.elapsed(), recorder)?);
        cluster.verify()?;
        cluster.stop()?;
    }
    let Peer { mut server, port } = peers::mariadb(recorder.workspace, "restart", MEMORY, RedoSync::Second)?;
    let directory = recorder.workspace.target.join("xtask/restart-mariadb");
    let writer = fill(recorder.workspace, options, port, &directory)?;
    thread::sleep(Duration::from_secs(options.seconds.into()));
    signal(server.pid(), "KILL");
    server.wait(Duration::from_secs(60))?;
    drop(writer);
    let bytes = size_of(&directory);
    let begun = Instant::now();
    let peer = peers::mariadb_again(recorder.workspace, "restart", MEMORY, RedoSync::Second)?;
    let ready = begun.elapsed();
    read_all(peer.port, options)?;
    table.push_str(&told("MariaDB", bytes, ready, begun.elapsed(), recorder)?);
    println!(
        "\n{} tables of {} rows, {} s of writes\n\n{table}\n{beside}",
        options.tables, options.table_size, options.seconds
    );
    Ok(())
}

/// Makes the rows, and begins to write.
fn fill(workspace: &Workspace, options: &Options, port: u16, folder: &Path) -> Result<Server, Failure> {
    create_database(port)?;
    let mut load = load(workspace, options, (WRITES.script, &[]), port);
    load.prepare(options.tables)?;
    load.extra.push("--mysql-ignore-errors=1213,1205,1180".to_owned());
    let pressure = Pressure { threads: WRITES.threads, seconds: 3_600, statements: Statements::Prepared };
    Server::start(&mut load.command("run", &pressure)?, "sysbench", &folder.join("sysbench.log"))
}

/// The most that the checkpoints of a node take while there are writes, against its rows in memory.
fn disk_use(
    cluster: &Cluster,
    name: &str,
    data_dir: &Path,
    options: &Options,
    recorder: &mut Recorder<'_>,
) -> Result<String, Failure> {
    let end = Instant::now() + Duration::from_secs(options.seconds.into());
    let (mut log, mut checkpoints) = (0, 0);
    while Instant::now() < end {
        log = log.max(size_of(&data_dir.join("redo")));
        checkpoints = checkpoints.max(size_of(&data_dir.join("lcp")));
        thread::sleep(Duration::from_millis(200));
    }
    let node = data_dir.to_string_lossy().rsplit("node").next().unwrap_or_default().to_owned();
    let text = format!("SELECT SUM(data_bytes) FROM ndbinfo.memory_per_fragment WHERE node_id = {node}");
    let data: u64 = number(cluster, &text)?;
    let ratio = rounded(checkpoints as f64 / data.max(1) as f64, 2);
    recorder.record(json!({
        "workload": "disk use",
        "server": name,
        "data_mib": data >> 20,
        "redo_mib": log >> 20,
        "lcp_mib": checkpoints >> 20,
        "lcp_per_data": ratio,
    }))?;
    Ok(format!(
        "{name}: {} MiB of rows, {} MiB of redo log, at most {} MiB of checkpoints: {ratio} × the rows (limit 1.6)\n",
        data >> 20,
        log >> 20,
        checkpoints >> 20
    ))
}

/// A node is away for the time of a run while the others write, and comes back.
fn absence(cluster: &Cluster, options: &Options, recorder: &mut Recorder<'_>) -> Result<String, Failure> {
    let pid = *cluster.data_node_pids().last().ok_or_else(|| Failure::new("there is no data node"))?;
    let node = 1 + cluster.data_node_pids().len();
    signal(pid, "STOP");
    thread::sleep(Duration::from_secs(options.seconds.into()));
    let begun = Instant::now();
    signal(pid, "CONT");
    while cluster.data_node_pids().contains(&pid) {
        if begun.elapsed() > BACK_LIMIT {
            return Err(Failure::new(format!("node {node} was not left out for its silence")));
        }
        thread::sleep(Duration::from_millis(10));
    }
    cluster.in_sync(BACK_LIMIT)?;
    let back = begun.elapsed().as_secs_f64();
    let count = |name: &str| -> Result<u64, Failure> {
        let of = format!("node_id = {node} AND counter_name = '{name}'");
        number(cluster, &format!("SELECT SUM(val) FROM ndbinfo.counters WHERE {of}"))
    };
    let (received, changed) = (count("COPY_BYTES_RECEIVED")?, count("COPY_BYTES_CHANGED")?);
    let ratio = rounded(received as f64 / changed.max(1) as f64, 2);
    recorder.record(json!({
        "workload": "return",
        "away_s": options.seconds,
        "in_sync_s": rounded(back, 2),
        "copied_bytes": received,
        "changed_bytes": changed,
        "copied_per_changed": ratio,
    }))?;
    Ok(format!(
        "a node that was away for {} s under load: in sync after {back:.1} s; {} MiB copied, {ratio} × what had changed (limit 1.3)\n",
        options.seconds,
        received >> 20
    ))
}

/// The number that a statement answers.
fn number(cluster: &Cluster, text: &str) -> Result<u64, Failure> {
    let answer = sql(cluster.mysql_ports[0], text)?;
    let parsed = answer.trim().split('.').next().and_then(|whole| whole.parse().ok());
    parsed.ok_or_else(|| Failure::new(format!("{text}: {answer:?} is no number")))
}

/// Reads every row.
fn read_all(port: u16, options: &Options) -> Result<(), Failure> {
    (1..=options.tables).try_for_each(|table| {
        sql(port, &format!("SELECT SUM(LENGTH(pad)) FROM sbtest.sbtest{table}")).map(drop)
    })
}

fn told(
    name: &str,
    bytes: u64,
    ready: Duration,
    warm: Duration,
    recorder: &mut Recorder<'_>,
) -> Result<String, Failure> {
    let (ready, warm) = (ready.as_secs_f64(), warm.as_secs_f64());
    recorder.record(json!({
        "workload": WRITES.name,
        "server": name,
        "disk_mib": bytes >> 20,
        "ready_s": rounded(ready, 2),
        "warm_s": rounded(warm, 2),
    }))?;
    Ok(format!("| {name} | {} MiB | {ready:.1} s | {warm:.1} s |\n", bytes >> 20))
}

/// Bytes of all files below a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size_of(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
