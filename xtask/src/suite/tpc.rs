//! The steps `tpch` and `tpcc`: the drivers of `latsdb bench`, small and short. `cargo xtask bench` runs them large.

use super::{CLIENT_LIMIT, IN_SYNC_LIMIT, Passed, close, data_nodes, or_skip};
use crate::cluster::{Cluster, Shape, sql, test_binary};
use crate::peers::{self, RedoSync};
use crate::processes::{Failure, Server, Workspace, output_of, run, signal};
use crate::tools::{Missing, Tool};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// The queries, as text and prepared, compared with MariaDB's rows.
pub(super) fn tpch(workspace: &Workspace) -> Result<Passed, Failure> {
    or_skip!(Tool::MariadbServer.ensure());
    or_skip!(Tool::MariadbInstall.ensure());
    let peer = peers::mariadb(workspace, "tpch", "256M", RedoSync::Second)?;
    for groups in [1, 2] {
        let shape = Shape { data_nodes: 2 * groups, ..Shape::default() };
        let cluster = Cluster::start(workspace, &test_binary(workspace), "tpch", &shape)?;
        println!("replica groups: {groups}");
        let mut driver = Command::new(test_binary(workspace));
        driver.args(["bench", "tpch", "--load", "--scale=0.01", "--rounds=1", "--patience=60"]);
        driver.arg(format!("--server=127.0.0.1:{}", cluster.mysql_ports[0]));
        driver.arg(format!("--reference=127.0.0.1:{}", peer.port));
        run(&mut driver, CLIENT_LIMIT)?;
        close(cluster)?;
    }
    Ok(Passed::Done)
}

/// A data node is killed while clients at both nodes work. In the end a row is made wrong: the check must say so.
pub(super) fn tpcc(workspace: &Workspace) -> Result<Passed, Failure> {
    /// From the first transaction on.
    const UNTIL_KILL: Duration = Duration::from_secs(4);
    or_skip!(Tool::MariadbClient.ensure());
    let cluster = Cluster::for_test(workspace, "tpcc")?;
    let [_, victim] = data_nodes(&cluster)?;
    let servers: Vec<String> = cluster.mysql_ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let driver = |words: &[&str]| {
        let mut driver = Command::new(test_binary(workspace));
        driver.args(["bench", "tpcc", "--warehouses=1", "--clients=4"]).args(words);
        driver.arg(format!("--server={}", servers.join(";")));
        driver
    };
    run(&mut driver(&["--load", "--time=0"]), CLIENT_LIMIT)?;
    let log = workspace.target.join("xtask").join("tpcc-driver.log");
    let mut working = Server::start(&mut driver(&["--time=10", "--check"]), "latsdb bench tpcc", &log)?;
    thread::sleep(UNTIL_KILL);
    signal(victim, "KILL");
    let status = working.wait(CLIENT_LIMIT)?;
    println!("{}", working.log().trim_end());
    if !status.success() {
        return Err(Failure::new(format!("latsdb bench tpcc: {status}")));
    }
    cluster.in_sync(IN_SYNC_LIMIT)?;
    sql(cluster.mysql_ports[1], "UPDATE tpcc.warehouse SET w_ytd = w_ytd + 1")?;
    let (status, told) = output_of(&mut driver(&["--time=0", "--check"]), CLIENT_LIMIT)?;
    if status.success() || !told.contains("10 of 12 conditions hold") {
        return Err(Failure::new(format!("a wrong row, and the check says:\n{told}")));
    }
    close(cluster)
}
