//! `cargo xtask failover`: nodes of a running cluster are paused or killed, one after the other, under load, and
//! everything is checked.
//!
//! sysbench's oltp_read_write works through every SQL port the whole time, as a user's program would
//! (`failover/load.rs`). An error that it may not ignore ends it, and the campaign with it: one that is not retryable,
//! and is not the loss of its connection. Beside it `latsdb bench failover` has clients of its own, which measure gaps
//! and check what they were told; it injects the faults and waits for nodes to be back. Then replicas are compared.
//!
//! Nodes of `latsdb dev` can't be cut from each other. `cut-3s` and the like are injected into a second cluster, whose
//! links go through relays (`failover/relayed.rs`). Faults of *leaders* need a management node that stays away: a third
//! cluster, four data nodes started by hand.
//!
//! `--all` injects [`EVERYTHING`]; `--table` measures what docs/benchmarks.md tells of failover (`failover/table.rs`).
//! With `--peer` the same clients measure MariaDB Galera with three nodes, without sysbench. `--table --tls` measures a
//! part of it with links of TCP, without keys and with them.
//!
//! **Deliberately not here**: judge times.

mod load;
mod relayed;
mod table;

use crate::arguments::Arguments;
use crate::cluster::{Cluster, Links, Shape};
use crate::processes::{Failure, Profile, Workspace, run};
use crate::sysbench::{Load, Pressure, Statements, create_database};
use crate::tools::Tool;
use load::Loads;
use relayed::Bench;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Longer than any campaign: sysbench is stopped when it is over.
const SYSBENCH_SECONDS: u32 = 24 * 3600;

/// For one injection, its rejoin included, on a busy machine.
const INJECTION_LIMIT: Duration = Duration::from_secs(180);

/// Beyond the injections: start, tables, judgement.
const GRACE: Duration = Duration::from_secs(300);

const DATA_NODES_PER_GROUP: u16 = 2;

/// A management node and four data nodes are five voters: two of them may be lost.
const GROUPS_FOR_LEADERS: u16 = 2;

/// `--all`.
const EVERYTHING: [&str; 17] = [
    "kill-data",
    "kill-management",
    "kill-both",
    "pause-data-200ms",
    "pause-data-1s",
    "pause-data-10s",
    "pause-management-200ms",
    "pause-management-1s",
    "pause-management-10s",
    "pause-both-200ms",
    "pause-both-1s",
    "pause-both-10s",
    "cut-200ms",
    "cut-1s",
    "cut-10s",
    "switchover",
    "rolling",
];

/// A campaign.
#[derive(Clone, Debug)]
pub(crate) struct Campaign {
    pub(crate) rounds: u32,
    pub(crate) groups: u16,
    pub(crate) faults: Vec<String>,
    /// Threads of sysbench at each SQL port; 0: without sysbench.
    pub(crate) threads: u32,
    /// More words for `latsdb bench failover`.
    pub(crate) words: Vec<String>,
    /// A line of JSON for each injection is appended here.
    pub(crate) figures: Option<PathBuf>,
    /// The links between the nodes of `latsdb dev`.
    pub(crate) links: Links,
}

/// `cargo xtask failover`.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let mut campaign = Campaign {
        rounds: arguments.value_or("--rounds", 10)?,
        groups: arguments.value_or("--groups", 1)?,
        faults: arguments.values("--fault")?,
        threads: arguments.value_or("--threads", 4)?,
        words: Vec::new(),
        figures: arguments.value("--figures")?,
        links: Links::Near,
    };
    let binary: Option<PathBuf> = arguments.value("--binary")?;
    let (is_peer, is_table) = (arguments.flag("--peer"), arguments.flag("--table"));
    let is_encrypted = arguments.flag("--tls");
    if is_encrypted && !is_table {
        return Err(Failure::new("--tls is for --table"));
    }
    if arguments.flag("--all") {
        campaign.faults.extend(EVERYTHING.map(ToOwned::to_owned));
    }
    arguments.finish()?;
    if campaign.faults.is_empty() {
        campaign.faults.push("kill-data".to_owned());
    }
    let binary = match binary {
        Some(binary) => binary,
        None => workspace.build_latsdb(Profile::Release)?,
    };
    match (is_peer, is_table) {
        (true, _) => peer(workspace, &binary, &campaign),
        (_, true) if is_encrypted => table::measure_encrypted(workspace, &binary, campaign.rounds),
        (_, true) => table::measure(workspace, &binary, campaign.rounds),
        _ => campaign.run(workspace, &binary, "failover"),
    }
}

/// The same clients and faults at MariaDB Galera.
fn peer(workspace: &Workspace, binary: &Path, campaign: &Campaign) -> Result<(), Failure> {
    for tool in [Tool::MariadbServer, Tool::MariadbInstall, Tool::Galera] {
        tool.ensure()?;
    }
    let mut command = campaign.command(workspace, binary, "failover-galera")?;
    command.args(["--cluster", "galera"]);
    run(&mut command, campaign.limit())
}

impl Campaign {
    /// Runs it on a cluster of its own, cuts on another one, and faults of leaders on a third one.
    pub(crate) fn run(&self, workspace: &Workspace, binary: &Path, name: &str) -> Result<(), Failure> {
        let (cuts, others): (Vec<String>, Vec<String>) =
            self.faults.iter().cloned().partition(|fault| fault.starts_with("cut-"));
        let (leaders, others): (Vec<String>, Vec<String>) =
            others.into_iter().partition(|fault| fault.contains("-leader"));
        if !others.is_empty() {
            Self { faults: others, ..self.clone() }.run_on_dev(workspace, binary, name)?;
        }
        if !cuts.is_empty() {
            let campaign = Self { faults: cuts, ..self.clone() };
            campaign.run_by_hand(workspace, binary, &format!("{name}-cuts"), "relayed")?;
        }
        if !leaders.is_empty() {
            let groups = self.groups.max(GROUPS_FOR_LEADERS);
            let campaign = Self { faults: leaders, groups, ..self.clone() };
            campaign.run_by_hand(workspace, binary, &format!("{name}-leaders"), "by-hand")?;
        }
        Ok(())
    }

    /// On nodes that `latsdb bench failover` starts by hand; sysbench beside.
    fn run_by_hand(
        &self,
        workspace: &Workspace,
        binary: &Path,
        name: &str,
        kind: &str,
    ) -> Result<(), Failure> {
        let mut command = self.command(workspace, binary, name)?;
        command.args(["--cluster", kind]);
        command.arg(format!("--data-nodes={}", self.groups * DATA_NODES_PER_GROUP));
        let (mut bench, ports) = Bench::start(&mut command, self.limit())?;
        let mut loads = self.start_sysbench(workspace, &ports, name)?;
        bench.strike(&mut loads)?;
        loads.stop()?;
        bench.stop()
    }

    fn run_on_dev(&self, workspace: &Workspace, binary: &Path, name: &str) -> Result<(), Failure> {
        let data_nodes = self.groups * DATA_NODES_PER_GROUP;
        let shape = Shape { data_nodes, links: self.links, ..Shape::default() };
        let cluster = Cluster::start(workspace, binary, name, &shape)?;
        let mut loads = self.start_sysbench(workspace, &cluster.mysql_ports, name)?;
        let mut command = self.command(workspace, binary, name)?;
        command.args(["--attach", &cluster.server.pid().to_string()]);
        command.arg("--config").arg(cluster.config());
        let is_over = AtomicBool::new(false);
        let (faults, kept) = thread::scope(|scope| {
            let keeper = scope.spawn(|| loads.keep_running(&is_over));
            let faults = run(&mut command, self.limit());
            is_over.store(true, Ordering::Relaxed);
            let kept = keeper.join();
            (faults, kept.unwrap_or_else(|_| Err(Failure::new("the keeper of sysbench panicked"))))
        });
        faults.and(kept)?;
        loads.stop()?;
        cluster.verify()?;
        cluster.stop()
    }

    fn limit(&self) -> Duration {
        let injections = self.rounds * u32::try_from(self.faults.len()).unwrap_or(u32::MAX);
        GRACE + INJECTION_LIMIT * injections
    }

    fn command(&self, workspace: &Workspace, binary: &Path, name: &str) -> Result<Command, Failure> {
        let mut command = Command::new(binary);
        command.args(["bench", "failover"]).arg("--dir").arg(workspace.scratch(&format!("{name}-clients"))?);
        command.arg(format!("--rounds={}", self.rounds)).args(&self.words);
        for fault in &self.faults {
            command.arg(format!("--fault={fault}"));
        }
        if let Some(figures) = &self.figures {
            command.arg("--figures").arg(figures);
        }
        Ok(command)
    }

    /// One at each SQL port; all of them on the same tables.
    fn start_sysbench(&self, workspace: &Workspace, ports: &[u16], name: &str) -> Result<Loads, Failure> {
        let mut loads = Loads::default();
        if self.threads == 0 {
            return Ok(loads);
        }
        create_database(ports[0])?;
        let folder = workspace.scratch(&format!("{name}-sysbench"))?;
        for (index, port) in ports.iter().enumerate() {
            let load = Load {
                script: "oltp_read_write".to_owned(),
                host: "127.0.0.1".to_owned(),
                port: *port,
                tables: 4,
                table_size: 10_000,
                extra: Vec::new(),
            };
            if index == 0 {
                load.prepare(4)?;
            }
            let statements = Statements::Prepared;
            let pressure = Pressure { threads: self.threads, seconds: SYSBENCH_SECONDS, statements };
            loads.start(load, pressure, folder.clone())?;
        }
        Ok(loads)
    }
}
