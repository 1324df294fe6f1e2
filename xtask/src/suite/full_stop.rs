//! The step `full-stop`: a cluster with rows on disk is stopped as a whole in each way that operators have, in `memory`
//! mode, and has all rows afterwards. Between two of the stops its nodes get another memory size and other threads.
//! Then a disk that is needed is lost, and an operator gives its rows up.

use super::Passed;
use crate::cluster::{Cluster, Shape, sql, test_binary};
use crate::processes::{Failure, Workspace, output_of};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// From an order until all processes have ended, or are back.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    let binary = test_binary(workspace);
    let shape = Shape { settings: &["Diskless=0"], ..Shape::default() };
    let cluster = Cluster::start(workspace, &binary, "full-stop", &shape)?;
    sql(cluster.mysql_ports[0], "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY)")?;
    let again = || Cluster::start_again(workspace, &binary, "full-stop", &shape);
    // The newest row is committed a moment before each stop.
    write(&cluster, 1)?;
    let config = cluster.directory().join("cluster.ini");
    cluster.stop()?;
    reconfigure(&config, &["TotalMemoryConfig=700M", "NumCPUs=1"])?;
    let cluster = has_rows(again()?, 1)?;
    write(&cluster, 2)?;
    let (_, told) = output_of(&mut cluster.mgm("shutdown"), LIMIT)?;
    expect("shutdown", told.lines().last().unwrap_or_default(), "the cluster has stopped; nothing is lost")?;
    ended(cluster)?;
    let threads = "ThreadConfig=ldm={count=2},query={count=1},tc={count=1},recv={count=2},main={count=1}";
    reconfigure(&config, &["TotalMemoryConfig=512M", threads])?;
    let cluster = has_rows(again()?, 2)?;
    write(&cluster, 3)?;
    sql(cluster.mysql_ports[1], "SHUTDOWN")?;
    ended(cluster)?;
    let cluster = has_rows(again()?, 3)?;
    write(&cluster, 4)?;
    let (_, told) = output_of(&mut cluster.mgm("all restart"), LIMIT)?;
    expect(
        "all restart",
        told.lines().last().unwrap_or_default(),
        "all data nodes restart; nothing is lost",
    )?;
    let cluster = has_rows(cluster, 4)?;
    with_data_loss(cluster, again)?;
    Ok(Passed::Done)
}

/// Gives the data nodes these parameters in place of those of the last time.
fn reconfigure(config: &Path, parameters: &[&str]) -> Result<(), Failure> {
    let failed = |error| Failure::while_doing(config.display())(error);
    let text = fs::read_to_string(config).map_err(failed)?;
    let is_ours = |line: &&str| {
        ["TotalMemoryConfig=", "NumCPUs=", "ThreadConfig="].iter().any(|name| line.starts_with(name))
    };
    let kept: Vec<&str> = text.lines().filter(|line| !is_ours(line)).collect();
    let given = format!("Diskless=0\n{}", parameters.join("\n"));
    fs::write(config, kept.join("\n").replacen("Diskless=0", &given, 1)).map_err(failed)
}

/// One disk is an old one, and the other is emptied: the cluster waits until an operator says that rows may be lost.
fn with_data_loss(cluster: Cluster, again: impl Fn() -> Result<Cluster, Failure>) -> Result<(), Failure> {
    output_of(&mut cluster.mgm("2 stop"), LIMIT)?;
    sql(cluster.mysql_ports[1], "INSERT INTO shop.item VALUES (5)")?;
    let (mut status, mut order) = (cluster.mgm("all status"), cluster.mgm("start test with data loss"));
    let redo = cluster.directory().join("node3/redo");
    cluster.kill()?;
    fs::remove_dir_all(&redo).map_err(Failure::while_doing(redo.display()))?;
    let operator = thread::spawn(move || {
        until(&mut status, "the disk of node 3 does not hold what its last life wrote")?;
        until(&mut order, "the cluster starts with what is left")
    });
    let cluster = again();
    operator.join().map_err(|_| Failure::new("the operator's thread has panicked"))??;
    let cluster = cluster?;
    cluster.in_sync(LIMIT)?;
    for port in &cluster.mysql_ports {
        expect("rows", sql(*port, "SELECT COUNT(*) FROM shop.item")?.trim(), "4")?;
    }
    cluster.verify()?;
    cluster.stop()
}

/// Types a command until it says this.
fn until(command: &mut Command, expected: &str) -> Result<(), Failure> {
    let end = Instant::now() + LIMIT;
    loop {
        let said = output_of(command, LIMIT).map(|(_, text)| text);
        if said.as_ref().is_ok_and(|text| text.contains(expected)) {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(Failure::new(format!("{expected:?} is not said: {said:?}")));
        }
        thread::sleep(Duration::from_millis(200));
    }
}

fn write(cluster: &Cluster, row: u32) -> Result<(), Failure> {
    sql(cluster.mysql_ports[0], &format!("INSERT INTO shop.item VALUES ({row})")).map(drop)
}

/// All nodes are back, with so many rows, from their own disks.
fn has_rows(cluster: Cluster, rows: u32) -> Result<Cluster, Failure> {
    let end = Instant::now() + LIMIT;
    for port in &cluster.mysql_ports {
        loop {
            match sql(*port, "SELECT COUNT(*) FROM shop.item") {
                Ok(counted) => break expect("rows", counted.trim(), &rows.to_string())?,
                Err(failure) if Instant::now() >= end => return Err(failure),
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }
    cluster.in_sync(LIMIT)?;
    for node in [2, 3] {
        if cluster.node_log(node)?.contains("has all rows") {
            return Err(Failure::new(format!("node {node} was copied to, though its disk holds everything")));
        }
    }
    cluster.verify()?;
    Ok(cluster)
}

/// All its processes have ended as they were asked to.
fn ended(mut cluster: Cluster) -> Result<(), Failure> {
    let status = cluster.server.wait(LIMIT)?;
    if status.success() { Ok(()) } else { Err(cluster.server.failure(&format!("ended with {status}"))) }
}

fn expect(what: &str, is: &str, expected: &str) -> Result<(), Failure> {
    if is == expected { Ok(()) } else { Err(Failure::new(format!("{what}: {is:?}, not {expected:?}"))) }
}
