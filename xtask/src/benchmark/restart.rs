//! `cargo xtask bench --restart`: how long a server that was killed takes until it is ready, and until rows are warm.
//!
//! A node alone, `dev` with two, and MariaDB work in turn, so that none shares the machine. Each is loaded, written to
//! for the time of a run, and killed with all its processes under that load: the log is as long as it happens to be.
//! The bytes on disk at that moment are told beside the times. Warm means that every row has been read once.

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
/// Memory of a data node, and of MariaDB's buffer pool: rows of 2 GiB have room.
const MEMORY: &str = "6G";
pub(super) fn measure(binary: &Path, options: &Options, recorder: &mut Recorder<'_>) -> Result<(), Failure> {
    let mut table = "| server | on disk | ready | warm |\n|---|---:|---:|---:|\n".to_owned();
    for (name, nodes) in [("LatsDB, a node alone", 1), ("LatsDB, `dev` with two nodes", 2)] {
        let shape = Shape { data_nodes: nodes, replicas: nodes, memory: Some(MEMORY), ..Shape::default() };
        let cluster = Cluster::start(recorder.workspace, binary, "restart", &shape)?;
        let directory = cluster.directory().to_path_buf();
        let writer = fill(recorder.workspace, options, cluster.mysql_ports[0], &directory)?;
        thread::sleep(Duration::from_secs(options.seconds.into()));
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
        "\n{} tables of {} rows, {} s of writes\n\n{table}",
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
