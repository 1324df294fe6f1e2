//! A cluster that a benchmark starts for itself: `latsdb dev` with a config.ini of its own.
//!
//! **Invariants.** The cluster ends with the benchmark, also if the benchmark is killed: `latsdb dev` knows its parent.

use crate::ports::free_ports;
use crate::processes::{Process, bind_process, children, cpu_time, user_time};
use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::thread;
use std::time::{Duration, Instant};

const START_LIMIT: Duration = Duration::from_secs(120);
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// The cluster that is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ClusterOptions {
    pub(crate) data_nodes: u16,
    pub(crate) replicas: u16,
    /// Parameters of config.ini for all data nodes.
    pub(crate) parameters: Vec<(&'static str, String)>,
    /// Where its directory is made; where the benchmark's is, if not given.
    pub(crate) folder: Option<PathBuf>,
    /// CPUs that its processes are bound to; empty: all.
    pub(crate) cpus: Vec<usize>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self { data_nodes: 2, replicas: 2, parameters: Vec::new(), folder: None, cpus: Vec::new() }
    }
}

/// A cluster at work.
pub(crate) struct Cluster {
    process: Process,
    pub(crate) servers: Vec<SocketAddr>,
}

impl Cluster {
    /// Starts it with empty tables; returns when clients can connect to all of its nodes.
    pub(crate) fn start(binary: &Path, folder: &Path, options: &ClusterOptions) -> Result<Self, String> {
        let folder = options.folder.as_deref().unwrap_or(folder).join("cluster");
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let folder = fs::canonicalize(&folder).map_err(failed)?;
        // Ports of the management node, then two for each data node.
        let first_port = free_ports(2 + 2 * options.data_nodes)?;
        let config = folder.join("config.ini");
        fs::write(&config, config_ini(&folder, first_port, options)).map_err(failed)?;
        let mut command = Command::new(binary);
        command.arg("--angel-pid").arg(process::id().to_string());
        command
            .arg("dev")
            .arg("--initial")
            .arg("--dir")
            .arg(folder.join("data"))
            .arg("--config")
            .arg(&config);
        // Ctrl-C at the terminal is for the benchmark, which stops the cluster when its clients are gone.
        command.process_group(0);
        let log = folder.join("cluster.log");
        // The ready line of an earlier run would count.
        match fs::remove_file(&log) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let mut process = Process::start(&mut command, &log)?;
        bind_process(process.id(), &options.cpus)?;
        let end = Instant::now() + START_LIMIT;
        while !process.log().lines().any(|line| line.starts_with("ready:")) {
            if process.status().is_some() || Instant::now() >= end {
                return Err(process.failure("the cluster does not start"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        let servers = (0..options.data_nodes).map(|node| mysql_address(first_port, node)).collect();
        Ok(Self { process, servers })
    }

    /// CPU time of all its processes so far.
    #[must_use]
    pub(crate) fn cpu_time(&self) -> Duration {
        self.sum(cpu_time)
    }

    /// The part of it that was spent in programs, not in the kernel.
    #[must_use]
    pub(crate) fn user_time(&self) -> Duration {
        self.sum(user_time)
    }

    fn sum(&self, time: fn(u32) -> Duration) -> Duration {
        let nodes = children(self.process.id());
        nodes.iter().map(|(pid, _)| time(*pid)).sum::<Duration>() + time(self.process.id())
    }

    /// Stops it, and waits for its end.
    pub(crate) fn stop(self) -> Result<(), String> {
        let failure = self.process.failure("the cluster did not end well");
        if self.process.stop(STOP_LIMIT) { Ok(()) } else { Err(failure) }
    }
}

fn mysql_address(first_port: u16, node: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, first_port + 3 + 2 * node))
}

fn config_ini(folder: &Path, first_port: u16, options: &ClusterOptions) -> String {
    let mut text = format!("[system]\nName=autobench\n\n[ndbd default]\nNoOfReplicas={}\n", options.replicas);
    // Writing into a String can't fail, here and below.
    for (name, value) in &options.parameters {
        let _ = writeln!(text, "{name}={value}");
    }
    let (server_port, port) = (first_port, first_port + 1);
    let directory = |node: u16| folder.join(format!("node{node}")).display().to_string();
    let _ = write!(
        text,
        "\n[ndb_mgmd]\nNodeId=1\nHostName=127.0.0.1\nServerPort={server_port}\nPortNumber={port}\nDataDir={}\n",
        directory(1)
    );
    for node in 0..options.data_nodes {
        let server_port = first_port + 2 + 2 * node;
        let port = mysql_address(first_port, node).port();
        let _ = write!(
            text,
            "\n[ndbd]\nNodeId={}\nHostName=127.0.0.1\nServerPort={server_port}\nport={port}\nDataDir={}\n",
            node + 2,
            directory(node + 2)
        );
    }
    text
}
