//! The step `recovery`: the management node and one of two data nodes lose their `control.log`, and an operator goes on
//! with the other data node.
//!
//! `dev` starts what is killed again, each with what is left in its folder: that is what containers without volumes do.

use super::Passed;
use crate::cluster::{Cluster, sql};
use crate::processes::{Failure, Workspace, output_of, signal};
use std::fs;
use std::time::{Duration, Instant};

/// A whole recovery: the waiting nodes say nothing before they have waited for ten seconds, and the rows are copied
/// afterwards.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    let cluster = Cluster::for_test(workspace, "recovery")?;
    let survivor = cluster.mysql_ports[1];
    sql(survivor, "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY)")?;
    sql(survivor, "INSERT INTO shop.item VALUES (1), (2), (3)")?;
    for node in [1, 2] {
        let log = cluster.directory().join(format!("node{node}/control.log"));
        fs::remove_file(&log).map_err(Failure::while_doing(log.display()))?;
    }
    let first = cluster.data_node_pids().first().copied();
    for pid in cluster.management_node_pids().into_iter().chain(first) {
        signal(pid, "KILL");
    }
    // The management node is back, empty, and says what is waited for; so does the one that lives.
    let missing = "1 of 3 voters of the control plane are there, 2 are needed; missing: node 1 (it has lost its copy of the control log)";
    until(&cluster, "show", missing)?;
    let log = cluster.node_log(3)?;
    if !log.contains("voters of the control plane are there") {
        return Err(Failure::new("node 3 does not say what it waits for"));
    }
    let stale = "SET latsdb_stale_reads = ON; SELECT COUNT(*) FROM shop.item";
    expect("rows that may be stale", sql(survivor, stale)?.trim(), "3")?;
    until(
        &cluster,
        "recover voters other without 1,2",
        "ERROR: nothing was changed: the name of this cluster is",
    )?;
    let name = name_of(&cluster)?;
    until(
        &cluster,
        &format!("recover voters {name} without 3"),
        "ERROR: no node that lives and is connected has a copy",
    )?;
    let order = format!("recover voters {name} without 1,2");
    until(&cluster, &order, "the control log goes on at node 3 without node 1, 2")?;
    expect("rows", sql(survivor, "SELECT COUNT(*) FROM shop.item")?.trim(), "3")?;
    sql(survivor, "INSERT INTO shop.item VALUES (4)")?;
    cluster.in_sync(LIMIT)?;
    cluster.is_whole(LIMIT)?;
    expect(
        "rows at the other node",
        sql(cluster.mysql_ports[0], "SELECT COUNT(*) FROM shop.item")?.trim(),
        "4",
    )?;
    until(&cluster, &order, "already")?;
    cluster.verify()?;
    cluster.stop()?;
    Ok(Passed::Done)
}

/// Types a command until it says this.
fn until(cluster: &Cluster, command: &str, expected: &str) -> Result<(), Failure> {
    let end = Instant::now() + LIMIT;
    loop {
        let said = output_of(&mut cluster.mgm(command), LIMIT).map(|(_, text)| text);
        if said.as_ref().is_ok_and(|text| text.contains(expected)) {
            println!("{command}: {expected}");
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(Failure::new(format!("`{command}` should say {expected:?}, and says {said:?}")));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn name_of(cluster: &Cluster) -> Result<String, Failure> {
    let (_, text) = output_of(&mut cluster.mgm("get status"), LIMIT)?;
    let name = text.lines().find_map(|line| line.split_once(" name=")).map(|(_, name)| name.to_owned());
    name.ok_or_else(|| Failure::new(format!("no name in {text}")))
}

fn expect(what: &str, is: &str, expected: &str) -> Result<(), Failure> {
    if is == expected { Ok(()) } else { Err(Failure::new(format!("{what}: {is:?}, not {expected:?}"))) }
}
