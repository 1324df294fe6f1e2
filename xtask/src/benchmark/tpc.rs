//! `cargo xtask bench --tpch` and `--tpcc`: LatsDB and MariaDB under the drivers of crate `bench`, which `latsdb bench`
//! runs. It prints the tables; their figures become lines of `docs/benchmarks.jsonl`.
//!
//! For TPC-H both servers have the same rows, and each query runs on both in turn. That happens on a cluster of one
//! replica group, which is what is measured, and once on two groups, for the rows. For TPC-C the servers take turns.

use super::{Options, Recorder};
use crate::cluster::{Cluster, Shape};
use crate::peers::{self, Peer, RedoSync};
use crate::processes::{Failure, run};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Memory of MariaDB: all rows have room.
const BUFFER_POOL: &str = "2G";

const LIMIT: Duration = Duration::from_secs(3_600);

/// The queries of TPC-H.
pub(super) fn tpch(binary: &Path, options: &Options, recorder: &mut Recorder<'_>) -> Result<(), Failure> {
    let mariadb = peers::mariadb(recorder.workspace, "tpch", BUFFER_POOL, RedoSync::Second)?;
    for (groups, rounds) in [(1, options.rounds), (2, 1)] {
        println!("\n{groups} replica groups, scale {}: LatsDB, MariaDB", options.scale);
        let shape = Shape { data_nodes: 2 * groups, ..Shape::default() };
        let cluster = Cluster::start(recorder.workspace, binary, "tpch", &shape)?;
        let mut driver = Command::new(binary);
        driver.args(["bench", "tpch", "--load"]);
        driver.arg(format!("--server=127.0.0.1:{}", cluster.mysql_ports[0]));
        driver.arg(format!("--reference=127.0.0.1:{}", mariadb.port));
        driver.arg(format!("--scale={}", options.scale)).arg(format!("--rounds={rounds}"));
        let lines = figures(driver, recorder)?;
        for mut line in lines {
            line["workload"] = json!("tpch");
            line["groups"] = json!(groups);
            recorder.record(line)?;
        }
        cluster.verify()?;
        cluster.stop()?;
    }
    Ok(())
}

/// The transactions of TPC-C.
pub(super) fn tpcc(binary: &Path, options: &Options, recorder: &mut Recorder<'_>) -> Result<(), Failure> {
    let Peer { server: _server, port } =
        peers::mariadb(recorder.workspace, "tpcc", BUFFER_POOL, RedoSync::Second)?;
    let cluster = Cluster::start(recorder.workspace, binary, "tpcc", &Shape::default())?;
    let ports: Vec<String> = cluster.mysql_ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let servers = [("latsdb", ports.join(";")), ("mariadb", format!("127.0.0.1:{port}"))];
    for round in 1..=options.rounds {
        for (name, addresses) in &servers {
            println!("\n{name}, round {round}");
            let mut driver = Command::new(binary);
            driver.args(["bench", "tpcc", "--check"]).arg(format!("--server={addresses}"));
            driver.arg(format!("--warehouses={}", options.warehouses));
            driver.arg(format!("--clients={}", options.clients)).arg(format!("--time={}", options.seconds));
            if round == 1 {
                driver.arg("--load");
            }
            for mut line in figures(driver, recorder)? {
                line["workload"] = json!("tpcc");
                line["server"] = json!(name);
                line["round"] = json!(round);
                recorder.record(line)?;
            }
        }
    }
    cluster.verify()?;
    cluster.stop()
}

/// Runs a driver of `latsdb bench`, which prints for itself; gives its figures.
fn figures(mut driver: Command, recorder: &Recorder<'_>) -> Result<Vec<Value>, Failure> {
    let path = recorder.workspace.scratch("tpc-figures")?.join("figures.jsonl");
    run(driver.arg("--figures").arg(&path), LIMIT)?;
    let text = fs::read_to_string(&path).map_err(Failure::while_doing(path.display()))?;
    let lines = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    lines.map_err(Failure::while_doing(path.display()))
}
