//! The step `rolling`: planned restarts under checking clients, with another binary and another configuration, and
//! those that must be refused.
//!
//! **Invariants.** Every wait here is for the program's words or for a process, with a limit; no time is judged.

use super::{CLIENT_LIMIT, Passed};
use crate::cluster::{Cluster, Shape, sql, test_binary};
use crate::processes::{Failure, Workspace, output_of, run, signal};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// One command to a management node, with whatever waits for it.
const COMMAND_LIMIT: Duration = Duration::from_secs(240);

/// Clients first, then what an operator can do wrong.
pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    under_clients(workspace, &["--fault=rolling", "--rounds=2"])?;
    under_clients(workspace, &["--cluster=by-hand", "--fault=switchover", "--fault=rolling", "--rounds=1"])?;
    let binary = workspace.scratch("rolling-binary")?.join("latsdb");
    install(workspace, &binary)?;
    let shape = Shape { memory: Some("512M"), ..Shape::default() };
    let mut cluster = Cluster::start(workspace, &binary, "rolling", &shape)?;
    sql(cluster.mysql_ports[0], "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY)")?;
    sql(cluster.mysql_ports[1], "INSERT INTO shop.item VALUES (1), (2), (3)")?;
    another_version(workspace, &cluster, &binary)?;
    what_may_not_change(&cluster)?;
    a_mistake_in_the_configuration(&mut cluster)?;
    what_could_not_start(&cluster, &binary)?;
    what_is_not_safe(&cluster)?;
    cluster.verify()?;
    cluster.stop()?;
    Ok(Passed::Done)
}

/// Two nodes, probes and loads with logs at both; no statement may fail.
fn under_clients(workspace: &Workspace, words: &[&str]) -> Result<(), Failure> {
    let mut program = Command::new(test_binary(workspace));
    program.args(["bench", "failover", "--calm=500", "--memory=512"]).args(words);
    run(program.arg("--dir").arg(workspace.scratch("rolling-clients")?), CLIENT_LIMIT)
}

/// Puts the program at a path, in place of what is there, as an installation does.
fn install(workspace: &Workspace, path: &Path) -> Result<(), Failure> {
    let new = path.with_extension("new");
    fs::copy(test_binary(workspace), &new).map_err(Failure::while_doing(new.display()))?;
    fs::rename(&new, path).map_err(Failure::while_doing(path.display()))
}

/// All nodes run from the new file, and with the new configuration.
fn another_version(workspace: &Workspace, cluster: &Cluster, binary: &Path) -> Result<(), Failure> {
    let before = programs(cluster)?;
    install(workspace, binary)?;
    change(cluster, "TotalMemoryConfig=512M", "TotalMemoryConfig=600M\nNumCPUs=1")?;
    succeed(cluster, "rolling restart", "rolling restart is done: 3 nodes")?;
    let after = programs(cluster)?;
    if before.iter().any(|program| after.contains(program)) {
        return Err(Failure::new(format!("nodes run {after:?}, as they did before: {before:?}")));
    }
    for (node, port) in (2..).zip(&cluster.mysql_ports) {
        let rows = sql(*port, "SELECT COUNT(*) FROM shop.item")?;
        let log = cluster.node_log(node)?;
        let started = log.lines().rfind(|line| line.contains(" starts: ")).unwrap_or_default();
        if rows.trim() != "3" || !started.ends_with("threads main recv0 membership") {
            return Err(Failure::new(format!(
                "node {node} has {rows} rows; one CPU is configured: {started}"
            )));
        }
    }
    Ok(())
}

/// Device and file of what each data node runs: a file that was replaced has another number.
fn programs(cluster: &Cluster) -> Result<Vec<(u64, u64)>, Failure> {
    use std::os::unix::fs::MetadataExt as _;
    let pids = cluster.data_node_pids();
    if pids.len() != 2 {
        return Err(Failure::new(format!("expected two data nodes, found processes {pids:?}")));
    }
    let program = |pid: &u32| {
        let path = format!("/proc/{pid}/exe");
        let found = fs::metadata(&path).map_err(Failure::while_doing(&path))?;
        Ok((found.dev(), found.ino()))
    };
    pids.iter().map(program).collect()
}

/// It stops behind the management node, before a data node has seen the new configuration.
fn what_may_not_change(cluster: &Cluster) -> Result<(), Failure> {
    let before = cluster.data_node_pids();
    change(cluster, "NumCPUs=1", "NumCPUs=1\nHeartbeatIntervalDbDb=500")?;
    fail(cluster, "rolling restart", "HeartbeatIntervalDbDb was 50 ms, is 500 ms")?;
    if cluster.data_node_pids() != before {
        return Err(Failure::new("data nodes were started again with a configuration that may not be"));
    }
    change(cluster, "\nHeartbeatIntervalDbDb=500", "")?;
    succeed(cluster, "1 restart", "node 1 (management)")?;
    succeed(cluster, "rolling restart", "rolling restart is done")
}

/// A management node that is asked to start again reads the file first; one that dies comes back as soon as the file is
/// mended.
fn a_mistake_in_the_configuration(cluster: &mut Cluster) -> Result<(), Failure> {
    let misspelt = ("NumCPUs=1", "NumCPU=1", "could not start");
    let refused = (
        "NumCPUs=1",
        "NumCPUs=1\nHeartbeatIntervalDbDb=500",
        "HeartbeatIntervalDbDb is 500 ms in this node's config.ini, and 50 ms",
    );
    for (right, wrong, why) in [misspelt, refused] {
        change(cluster, right, wrong)?;
        fail(cluster, "1 restart", "node 1 may not restart, it could not start again: ")?;
        fail(cluster, "rolling restart", "node 1 may not restart, it could not start again: ")?;
        for pid in cluster.management_node_pids() {
            signal(pid, "KILL");
        }
        cluster.server.wait_until(COMMAND_LIMIT, |log| log.contains(why))?;
        change(cluster, wrong, right)?;
        cluster.is_whole(COMMAND_LIMIT)?;
    }
    Ok(())
}

/// A data node looks whether it could start again before it stops.
fn what_could_not_start(cluster: &Cluster, binary: &Path) -> Result<(), Failure> {
    let before = cluster.data_node_pids();
    let away = binary.with_extension("away");
    fs::rename(binary, &away).map_err(Failure::while_doing(binary.display()))?;
    let refused = ["2 restart", "rolling restart"].map(|command| {
        // The binary that asks is another one.
        let mut ask = cluster.mgm_of(&away, command);
        output_of(&mut ask, COMMAND_LIMIT)
    });
    fs::rename(&away, binary).map_err(Failure::while_doing(binary.display()))?;
    for output in refused {
        let (status, text) = output?;
        if status.success() || !text.contains("could not start again: there is no program at") {
            return Err(Failure::new(format!("there was no program to start, and it is not said: {text}")));
        }
    }
    if cluster.data_node_pids() != before {
        return Err(Failure::new("a node stopped that could not start again"));
    }
    Ok(())
}

/// A stop that would leave a group without a replica is refused at once.
fn what_is_not_safe(cluster: &Cluster) -> Result<(), Failure> {
    succeed(cluster, "2 stop", "has stopped")?;
    fail(cluster, "rolling restart", "node 2 (data) is not connected")?;
    fail(cluster, "3 restart", "node 3 may not restart: no other node in sync has its rows")?;
    fail(cluster, "1 restart", "it is one of the last voters")?;
    fail(cluster, "2 restart", "node 2 may not restart: it is not connected")?;
    let rows = sql(cluster.mysql_ports[1], "SELECT COUNT(*) FROM shop.item")?;
    if rows.trim() == "3" { Ok(()) } else { Err(Failure::new(format!("{rows} rows are left"))) }
}

/// Replaces a text of config.ini.
fn change(cluster: &Cluster, from: &str, to: &str) -> Result<(), Failure> {
    let path = cluster.config();
    let text = fs::read_to_string(path).map_err(Failure::while_doing(path.display()))?;
    if !text.contains(from) {
        return Err(Failure::new(format!("there is no {from:?} in {}", path.display())));
    }
    fs::write(path, text.replace(from, to)).map_err(Failure::while_doing(path.display()))
}

fn succeed(cluster: &Cluster, command: &str, expected: &str) -> Result<(), Failure> {
    give(cluster, command, expected, true)
}

fn fail(cluster: &Cluster, command: &str, expected: &str) -> Result<(), Failure> {
    give(cluster, command, expected, false)
}

/// Types a command; what is said must have this text, and the exit code must tell the same.
fn give(cluster: &Cluster, command: &str, expected: &str, is_done: bool) -> Result<(), Failure> {
    let (status, text) = output_of(&mut cluster.mgm(command), COMMAND_LIMIT)?;
    println!("{}", text.trim_end());
    if status.success() == is_done && text.contains(expected) {
        return Ok(());
    }
    Err(Failure::new(format!("`{command}` should say {expected:?}; it ended with {status}:\n{text}")))
}
