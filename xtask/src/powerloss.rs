//! `cargo xtask powerloss`: all processes of a cluster are killed at a drawn moment, under load, and it is started
//! again on the same directory; round after round.
//!
//! `tests/clients/python/powerloss.py` writes rows that tell afterwards what is missing, and checks them. sysbench
//! writes beside it. Then `latsdb check` compares replicas, and indexes with rows. Rounds take turns: nobody asks for
//! anything, sessions ask for durability `epoch`, config.ini asks for `fsync`, tables ask for `epoch`. The loss under
//! `memory` is compared with what `ndbinfo.durability` said before the end.
//!
//! With `--damage` the log or the checkpoints of one node are damaged before the cluster starts again (`damage`).
//!
//! SIGKILL spares what a process has written and not synced: the kernel has it. With `--unsynced-die` the cluster is
//! a build that keeps such writes in memory until their sync (feature `unsynced-writes-die`), so that they die with
//! it.
//!
//! **Deliberately not here**: files that no log is in.

mod damage;

use crate::arguments::Arguments;
use crate::cluster::{Cluster, Shape, sql};
use crate::processes::{Failure, Profile, Server, Workspace, capture, run};
use crate::suite::python_program;
use crate::sysbench::{Load, Pressure, Statements, create_database};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long the load works before the end, at least, and how much longer at most.
const LOAD_MIN: Duration = Duration::from_millis(1_500);
const LOAD_SPREAD_MS: u64 = 4_000;

/// Until the writers write, and until they have ended when the cluster is gone.
const WRITERS_LIMIT: Duration = Duration::from_secs(60);

/// A check of all rows.
const CHECK_LIMIT: Duration = Duration::from_secs(120);

/// From the ready line until all nodes are in sync.
const IN_SYNC_LIMIT: Duration = Duration::from_secs(60);

/// Logs go round, so that rows come from checkpoints, too.
const SMALL_LOG: &[&str] = &["FragmentLogFileSize=4M", "NoOfFragmentLogFiles=16"];
const COMPRESSED: &[&str] = &["FragmentLogFileSize=4M", "NoOfFragmentLogFiles=16", "CompressedLCP=1"];

const DATA_NODES_PER_GROUP: u16 = 2;

/// Before it there is a management node.
const FIRST_DATA_NODE: u16 = 2;

/// The ways to ask for durability, in turn.
const DURABILITIES: [&str; 4] = ["table", "memory", "epoch", "fsync"];
const FSYNC: &str = "Durability=fsync\n";

/// A campaign.
#[derive(Clone, Debug)]
pub(crate) struct Campaign {
    pub(crate) rounds: u32,
    pub(crate) groups: u16,
    /// Threads of sysbench; 0: none.
    pub(crate) threads: u32,
    /// The log of a node is damaged each time.
    pub(crate) is_damaging: bool,
}

/// `cargo xtask powerloss`.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let campaign = Campaign {
        rounds: arguments.value_or("--rounds", 20)?,
        groups: arguments.value_or("--groups", 1)?,
        threads: arguments.value_or("--threads", 8)?,
        is_damaging: arguments.flag("--damage"),
    };
    let binary: Option<PathBuf> = arguments.value("--binary")?;
    let is_lossy = arguments.flag("--unsynced-die");
    arguments.finish()?;
    let binary = match binary {
        Some(_) if is_lossy => return Err(Failure::new("--unsynced-die is a build of its own: no --binary")),
        Some(binary) => binary,
        None if is_lossy => build_lossy(workspace)?,
        None => workspace.build_latsdb(Profile::Simulation)?,
    };
    campaign.run(workspace, &binary)
}

/// Builds the binary whose unsynced writes die with it, and puts it where no other build takes its place.
fn build_lossy(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let mut build = workspace.cargo();
    build.args(["build", "--package", "latsdb", "--features", "unsynced-writes-die"]);
    build.args(["--profile", Profile::Simulation.name()]);
    run(&mut build, Duration::from_secs(1_500))?;
    let built = workspace.target.join(Profile::Simulation.name()).join("latsdb");
    let kept = workspace.target.join("xtask/latsdb-unsynced-writes-die");
    let copied = fs::create_dir_all(workspace.target.join("xtask")).and_then(|()| fs::copy(&built, &kept));
    copied.map_err(Failure::while_doing(kept.display()))?;
    Ok(kept)
}

impl Campaign {
    /// All rounds on one directory, which is empty at first.
    pub(crate) fn run(&self, workspace: &Workspace, binary: &Path) -> Result<(), Failure> {
        let data_nodes = self.groups * DATA_NODES_PER_GROUP;
        let settings = if self.groups == 1 { SMALL_LOG } else { COMPRESSED };
        let shape = Shape { data_nodes, settings, ..Shape::default() };
        let mut cluster = Cluster::start(workspace, binary, "powerloss", &shape)?;
        let told = workspace.scratch("powerloss-clients")?;
        for round in 1..=self.rounds {
            let durability = durability_of(round);
            let file = told.join(format!("told-{round}.txt"));
            let mut writers = clients(workspace, "write", &cluster, &file, durability)?;
            let mut writers =
                Server::start(&mut writers, "powerloss.py", &told.join(format!("writers-{round}.log")))?;
            writers.wait_until(WRITERS_LIMIT, |log| log.contains("writing"))?;
            let sysbench = self.start_sysbench(&cluster, &told, round)?;
            let time = LOAD_MIN + Duration::from_millis(draw() % LOAD_SPREAD_MS);
            thread::sleep(time);
            if writers.has_ended() {
                return Err(writers.failure("ended before the cluster did"));
            }
            let directory = cluster.directory().to_path_buf();
            cluster.kill()?;
            if !writers.wait(WRITERS_LIMIT)?.success() {
                return Err(writers.failure("an error of another kind than a lost connection"));
            }
            drop(sysbench);
            if self.is_damaging {
                let node = FIRST_DATA_NODE + u16::try_from(draw() % u64::from(data_nodes)).unwrap_or(0);
                let done = damage::inflict(&directory.join(format!("node{node}")), draw_wide())?;
                println!("round {round}: of node {node} {done}");
            }
            configure(&directory.join("cluster.ini"), durability_of(round + 1))?;
            let begun = Instant::now();
            cluster = Cluster::start_again(workspace, binary, "powerloss", &shape)?;
            let back = begun.elapsed();
            let checked =
                capture(&mut clients(workspace, "check", &cluster, &file, durability)?, CHECK_LIMIT)?;
            in_sync(&cluster, data_nodes)?;
            let compared = cluster.check()?;
            println!(
                "round {round}, {durability}: killed after {} ms, ready again after {} ms; {}; {}",
                time.as_millis(),
                back.as_millis(),
                checked.trim_end(),
                compared.lines().last().unwrap_or_default()
            );
        }
        cluster.stop()
    }

    /// sysbench at the first port, on tables that it makes in the first round.
    fn start_sysbench(
        &self,
        cluster: &Cluster,
        folder: &Path,
        round: u32,
    ) -> Result<Option<Server>, Failure> {
        if self.threads == 0 {
            return Ok(None);
        }
        let load = Load {
            script: "oltp_write_only".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: cluster.mysql_ports[0],
            tables: 4,
            table_size: 10_000,
            extra: vec!["--mysql-ignore-errors=1213,1205,1180".to_owned()],
        };
        if round == 1 {
            create_database(cluster.mysql_ports[0])?;
            load.prepare(4)?;
        }
        let pressure = Pressure { threads: self.threads, seconds: 600, statements: Statements::Prepared };
        let mut command = load.command("run", &pressure)?;
        Server::start(&mut command, "sysbench", &folder.join(format!("sysbench-{round}.log"))).map(Some)
    }
}

/// The durability that a round asks for.
fn durability_of(round: u32) -> &'static str {
    DURABILITIES[round as usize % DURABILITIES.len()]
}

/// Only config.ini can ask for `fsync`.
fn configure(config: &Path, durability: &str) -> Result<(), Failure> {
    let text = fs::read_to_string(config).map_err(Failure::while_doing(config.display()))?;
    let section = "[ndbd default]\n";
    let mut text = text.replace(FSYNC, "");
    if durability == "fsync" {
        text = text.replacen(section, &format!("{section}{FSYNC}"), 1);
        if !text.contains(FSYNC) {
            return Err(Failure::new(format!("{}: there is no {section}", config.display())));
        }
    }
    fs::write(config, text).map_err(Failure::while_doing(config.display()))
}

fn clients(
    workspace: &Workspace,
    action: &str,
    cluster: &Cluster,
    told: &Path,
    durability: &str,
) -> Result<Command, Failure> {
    let ports: Vec<String> = cluster.mysql_ports.iter().map(u16::to_string).collect();
    let mut program = python_program(workspace, "powerloss.py")?;
    program.args([action, "--ports", &ports.join(","), "--durability", durability]).arg("--told").arg(told);
    Ok(program)
}

/// Waits until all data nodes have their rows.
fn in_sync(cluster: &Cluster, data_nodes: u16) -> Result<(), Failure> {
    let end = Instant::now() + IN_SYNC_LIMIT;
    let started = "node_type = 'data' AND status = 'STARTED'";
    let text = format!(
        "SELECT COUNT(*) FROM ndbinfo.membership WHERE reporting_node_id = {FIRST_DATA_NODE} AND {started}"
    );
    loop {
        let count = sql(cluster.mysql_ports[0], &text)?;
        if count.trim() == data_nodes.to_string() {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(Failure::new(format!("{} of {data_nodes} data nodes are in sync", count.trim())));
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// A number with many bits.
fn draw_wide() -> u64 {
    (0..4).fold(0, |number: u64, _| number.rotate_left(16).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ draw())
}

/// Any number.
fn draw() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) / 1_000
}
