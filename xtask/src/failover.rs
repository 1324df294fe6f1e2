//! `cargo xtask failover`: nodes of a running cluster are paused or killed, one after the other, under load, and everything is checked.
//!
//! sysbench's oltp_read_write works through every SQL port the whole time, as a user's program would (`failover/load.rs`): what it may not ignore (an
//! error that is not retryable, and is not the loss of its connection) ends it, and the campaign with it. Beside it `latsdb bench failover` has clients of its own,
//! which measure gaps and check what they were told; it injects the faults and waits for nodes to be back. Then replicas are compared.
//!
//! Nodes of `latsdb dev` can't be cut from each other. `cut-3s` and the like are injected into a second cluster, whose links go through relays, without
//! sysbench.
//!
//! With `--peer` the same clients measure MariaDB Galera with three nodes, without sysbench.
//!
//! **What it deliberately does not do**: judge times.

mod load;

use crate::arguments::Arguments;
use crate::cluster::{Cluster, Shape};
use crate::processes::{Failure, Profile, Workspace, run};
use crate::sysbench::{Load, Pressure, Statements, create_database};
use crate::tools::Tool;
use load::Loads;
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

/// A campaign.
#[derive(Clone, Debug)]
pub(crate) struct Campaign {
    pub(crate) rounds: u32,
    pub(crate) groups: u16,
    pub(crate) faults: Vec<String>,
    /// Threads of sysbench at each SQL port; 0: without sysbench.
    pub(crate) threads: u32,
    /// A line of JSON for each injection is appended here.
    pub(crate) figures: Option<PathBuf>,
}

/// `cargo xtask failover`.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let mut campaign = Campaign {
        rounds: arguments.value_or("--rounds", 10)?,
        groups: arguments.value_or("--groups", 1)?,
        faults: arguments.values("--fault")?,
        threads: arguments.value_or("--threads", 4)?,
        figures: arguments.value("--figures")?,
    };
    let binary: Option<PathBuf> = arguments.value("--binary")?;
    let is_peer = arguments.flag("--peer");
    arguments.finish()?;
    if campaign.faults.is_empty() {
        campaign.faults.push("kill-data".to_owned());
    }
    let binary = match binary {
        Some(binary) => binary,
        None => workspace.build_latsdb(Profile::Release)?,
    };
    if is_peer { peer(workspace, &binary, &campaign) } else { campaign.run(workspace, &binary, "failover") }
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
    /// Runs it on a cluster of its own, and cuts on another one.
    pub(crate) fn run(&self, workspace: &Workspace, binary: &Path, name: &str) -> Result<(), Failure> {
        let (cuts, others): (Vec<String>, Vec<String>) =
            self.faults.iter().cloned().partition(|fault| fault.starts_with("cut-"));
        if !others.is_empty() {
            Self { faults: others, ..self.clone() }.run_on_dev(workspace, binary, name)?;
        }
        if cuts.is_empty() {
            return Ok(());
        }
        let campaign = Self { faults: cuts, ..self.clone() };
        let mut command = campaign.command(workspace, binary, &format!("{name}-cuts"))?;
        command.args(["--cluster", "relayed"]);
        command.arg(format!("--data-nodes={}", self.groups * DATA_NODES_PER_GROUP));
        run(&mut command, campaign.limit())
    }

    fn run_on_dev(&self, workspace: &Workspace, binary: &Path, name: &str) -> Result<(), Failure> {
        let shape = Shape { data_nodes: self.groups * DATA_NODES_PER_GROUP, ..Shape::default() };
        let cluster = Cluster::start(workspace, binary, name, &shape)?;
        let mut loads = self.start_sysbench(workspace, &cluster, name)?;
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
        command.arg(format!("--rounds={}", self.rounds));
        for fault in &self.faults {
            command.arg(format!("--fault={fault}"));
        }
        if let Some(figures) = &self.figures {
            command.arg("--figures").arg(figures);
        }
        Ok(command)
    }

    /// One at each SQL port; all of them on the same tables.
    fn start_sysbench(&self, workspace: &Workspace, cluster: &Cluster, name: &str) -> Result<Loads, Failure> {
        let mut loads = Loads::default();
        if self.threads == 0 {
            return Ok(loads);
        }
        create_database(cluster.mysql_ports[0])?;
        let folder = workspace.scratch(&format!("{name}-sysbench"))?;
        for (index, port) in cluster.mysql_ports.iter().enumerate() {
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
