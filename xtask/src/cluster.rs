//! `latsdb dev` for tests and benchmarks: on free ports, with a folder of its own, stopped when dropped.
//!
//! A plain cluster is started with `dev`'s options and finds its ports itself; one that options can't describe is
//! started from a config.ini written here. Either way the ports are then read from the config.ini that the cluster runs
//! with.

use crate::processes::{
    Failure, Profile, Server, Workspace, capture, command_line, free_ports, has_ended, signal_all, tree,
};
use crate::tools::Tool;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// From the command to its ready line.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Until the kernel has taken away a process that was killed.
const KILL_LIMIT: Duration = Duration::from_secs(20);

/// One call of the mariadb client.
const SQL_LIMIT: Duration = Duration::from_secs(60);

/// How its nodes are linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Links {
    /// As on one machine: by Unix sockets and shared memory.
    #[default]
    Near,
    /// By TCP, as between machines without keys.
    Tcp,
    /// By TCP with TLS, as between machines.
    Tls,
}

/// The kind of cluster.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) data_nodes: u16,
    pub(crate) replicas: u16,
    /// Nodes that only serve SQL.
    pub(crate) sql_nodes: u16,
    /// The server's own default if not given.
    pub(crate) max_connections: Option<u32>,
    /// ThreadConfig of the data nodes; by the number of CPUs if not given.
    pub(crate) thread_config: Option<&'static str>,
    /// TotalMemoryConfig of each data node; a share of the machine's if not given.
    pub(crate) memory: Option<&'static str>,
    pub(crate) links: Links,
    /// Further lines of `[ndbd default]`.
    pub(crate) settings: &'static [&'static str],
}

impl Default for Shape {
    fn default() -> Self {
        let (max_connections, thread_config, memory) = (None, None, None);
        Self {
            data_nodes: 2,
            replicas: 2,
            sql_nodes: 0,
            max_connections,
            thread_config,
            memory,
            links: Links::Near,
            settings: &[],
        }
    }
}

/// A running cluster.
pub(crate) struct Cluster {
    pub(crate) server: Server,
    binary: PathBuf,
    /// The directory of its nodes: data directories, sockets.
    pub(crate) directory: PathBuf,
    config: PathBuf,
    /// One per data node, then those of SQL nodes.
    pub(crate) mysql_ports: Vec<u16>,
    pub(crate) management_port: u16,
    /// Where nodes listen for each other.
    pub(crate) server_ports: Vec<u16>,
}

impl Cluster {
    /// Starts it in an empty directory; returns when clients can connect.
    pub(crate) fn start(
        workspace: &Workspace,
        binary: &Path,
        name: &str,
        shape: &Shape,
    ) -> Result<Self, Failure> {
        let directory = workspace.scratch(&format!("{name}-cluster"))?;
        Self::start_in(workspace, binary, name, shape, directory)
    }

    /// Starts it again on what an earlier one of this name has left.
    pub(crate) fn start_again(
        workspace: &Workspace,
        binary: &Path,
        name: &str,
        shape: &Shape,
    ) -> Result<Self, Failure> {
        let directory = workspace.target.join("xtask").join(format!("{name}-cluster"));
        Self::start_in(workspace, binary, name, shape, directory)
    }

    fn start_in(
        workspace: &Workspace,
        binary: &Path,
        name: &str,
        shape: &Shape,
        directory: PathBuf,
    ) -> Result<Self, Failure> {
        let mut command = Command::new(binary);
        command.arg("dev").arg("--dir").arg(&directory);
        let config = directory.join("config.ini");
        let is_far = shape.links != Links::Near;
        let is_special = shape.sql_nodes > 0
            || shape.thread_config.is_some()
            || shape.memory.is_some()
            || is_far
            || !shape.settings.is_empty();
        let config = if is_special {
            let config = directory.join("cluster.ini");
            // One that starts again has its ports already.
            if !config.exists() {
                fs::write(&config, config_text(shape, &directory)?)
                    .map_err(Failure::while_doing(config.display()))?;
            }
            command.arg("--config").arg(&config);
            if shape.links == Links::Tls {
                // Its nodes look for keys there.
                let mut keys = Command::new(binary);
                keys.arg("keys").arg("-f").arg(&config).arg("--to-dir").arg(directory.join("ndb-tls"));
                capture(&mut keys, START_LIMIT)?;
            }
            if is_far {
                command.env("HOME", &directory);
            }
            config
        } else {
            command.args(["--mysql-port=0", "--management-port=0", "--data-port=0"]);
            command
                .arg(format!("--data-nodes={}", shape.data_nodes))
                .arg(format!("--replicas={}", shape.replicas));
            if let Some(connections) = shape.max_connections {
                command.arg(format!("--max-connections={connections}"));
            }
            config
        };
        let log = workspace.target.join("xtask").join(format!("{name}-cluster.log"));
        let mut server = Server::start(&mut command, "latsdb dev", &log)?;
        server.wait_until(START_LIMIT, is_ready)?;
        let text = fs::read_to_string(&config).map_err(Failure::while_doing(config.display()))?;
        let management_port = ports(&text, "PortNumber").first().copied();
        let cluster = Self {
            server,
            binary: binary.to_path_buf(),
            directory,
            config,
            mysql_ports: ports(&text, "port"),
            management_port: management_port.ok_or_else(|| Failure::new("config.ini has no PortNumber"))?,
            server_ports: ports(&text, "ServerPort"),
        };
        cluster.is_linked_as(shape)?;
        Ok(cluster)
    }

    /// A measurement of links must be sure which kind they are.
    fn is_linked_as(&self, shape: &Shape) -> Result<(), Failure> {
        let said = match shape.links {
            Links::Near => return Ok(()),
            Links::Tcp => "(no TLS)",
            Links::Tls => "(TLS: ",
        };
        let told = capture(&mut self.mgm("tls info"), START_LIMIT)?;
        if told.matches(said).count() == usize::from(shape.data_nodes + shape.sql_nodes) {
            return Ok(());
        }
        Err(Failure::new(format!("links are not {:?}:\n{told}", shape.links)))
    }

    /// Starts the cluster that tests use: the build with assertions.
    pub(crate) fn for_test(workspace: &Workspace, name: &str) -> Result<Self, Failure> {
        Self::start(workspace, &test_binary(workspace), name, &Shape::default())
    }

    /// The processes of its data nodes, and the MySQL port of each.
    pub(crate) fn data_node_pids(&self) -> Vec<u32> {
        let is_data_node = |pid: &u32| command_line(*pid).get(1).is_some_and(|word| word == "data");
        let mut pids: Vec<u32> = tree(self.server.pid()).into_iter().filter(is_data_node).collect();
        // Each names its node id on its command line; ports are in the same order.
        pids.sort_by_key(|pid| node_id(&command_line(*pid)));
        pids
    }

    /// The processes of its management nodes.
    pub(crate) fn management_node_pids(&self) -> Vec<u32> {
        let is_manager = |pid: &u32| command_line(*pid).get(1).is_some_and(|word| word == "mgmd");
        tree(self.server.pid()).into_iter().filter(is_manager).collect()
    }

    /// The folder of its nodes' folders.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The config.ini that it runs with.
    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    /// The certificate with which clients verify a node's TLS; the first data node is node 2.
    pub(crate) fn certificate(&self, node: u16) -> PathBuf {
        self.directory.join(format!("node{node}/latsdb_{node}_certificate.pem"))
    }

    /// Waits until the management node says that all data and SQL nodes are started: a data node is when it is in sync.
    pub(crate) fn in_sync(&self, limit: Duration) -> Result<(), Failure> {
        let end = Instant::now() + limit;
        loop {
            let states = capture(&mut self.mgm("all status"), limit)?;
            if states.lines().all(|line| line.contains(": started")) {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(Failure::new(format!("not in sync:\n{states}")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until a management node answers again and sees everybody connected, with all voters: until `show` warns of
    /// nothing.
    pub(crate) fn is_whole(&self, limit: Duration) -> Result<(), Failure> {
        let end = Instant::now() + limit;
        loop {
            let shown = capture(&mut self.mgm("show"), limit);
            let is_whole = |text: &String| {
                ["WARNING", "not connected", ", starting"].iter().all(|trouble| !text.contains(trouble))
            };
            if shown.as_ref().is_ok_and(is_whole) {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(Failure::new(format!("not whole: {shown:?}")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A command for the management node.
    pub(crate) fn mgm(&self, command: &str) -> Command {
        self.mgm_of(&self.binary, command)
    }

    /// The same, asked by another program.
    pub(crate) fn mgm_of(&self, binary: &Path, command: &str) -> Command {
        let mut mgm = Command::new(binary);
        mgm.arg("mgm").arg(format!("--execute={command}")).arg("--ndb-connectstring");
        mgm.arg(format!("127.0.0.1:{}", self.management_port));
        mgm
    }

    /// The log of a node.
    pub(crate) fn node_log(&self, node: u16) -> Result<String, Failure> {
        let path = self.directory.join(format!("node{node}/latsdb_{node}.log"));
        fs::read_to_string(&path).map_err(Failure::while_doing(path.display()))
    }

    /// `latsdb check`: replicas are equal, and indexes match rows.
    pub(crate) fn check(&self) -> Result<String, Failure> {
        let mut check = Command::new(&self.binary);
        check.args(["check", "--ndb-connectstring", &format!("127.0.0.1:{}", self.management_port)]);
        capture(&mut check, Duration::from_secs(300))
    }

    /// As [`Cluster::check`], printed.
    pub(crate) fn verify(&self) -> Result<(), Failure> {
        println!("{}", self.check()?.trim_end());
        Ok(())
    }

    /// Kills all its processes at once; returns when none is left.
    pub(crate) fn kill(mut self) -> Result<(), Failure> {
        let pids = tree(self.server.pid());
        signal_all(&pids, "KILL");
        self.server.wait(KILL_LIMIT)?;
        let end = Instant::now() + KILL_LIMIT;
        while !pids.iter().all(|pid| has_ended(*pid)) {
            if Instant::now() >= end {
                return Err(Failure::new("a node has not ended after SIGKILL"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Asks it to stop; anything but exit code 0 is a failure.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        let status = self.server.stop()?;
        if status.success() { Ok(()) } else { Err(self.server.failure(&format!("ended with {status}"))) }
    }
}

fn node_id(words: &[String]) -> Option<u16> {
    let place = words.iter().position(|word| word == "--ndb-nodeid")?;
    words.get(place + 1)?.parse().ok()
}

/// A config.ini with free ports.
fn config_text(shape: &Shape, directory: &Path) -> Result<String, Failure> {
    let node_count = 1 + shape.data_nodes + shape.sql_nodes;
    let mut next_port = free_ports(2 * node_count)?..;
    let mut port = || next_port.next().unwrap_or_default();
    let mut text = format!("[system]\nName=test\n\n[ndbd default]\nNoOfReplicas={}\n", shape.replicas);
    // Writing into a String can't fail, here and below. Most tests need little memory.
    let _ = writeln!(text, "TotalMemoryConfig={}", shape.memory.unwrap_or("512M"));
    for setting in shape.settings {
        let _ = writeln!(text, "{setting}");
    }
    if let Some(threads) = shape.thread_config {
        let _ = writeln!(text, "ThreadConfig={threads}");
    }
    if let Some(connections) = shape.max_connections {
        let _ = writeln!(text, "max_connections={connections}");
    }
    if shape.links != Links::Near {
        let requires = u8::from(shape.links == Links::Tls);
        let _ = writeln!(text, "UseShm=0\nRequireTls={requires}");
        let _ = writeln!(text, "\n[ndb_mgmd default]\nUseShm=0\nRequireTls={requires}");
        let _ = writeln!(text, "\n[mysqld default]\nUseShm=0");
    }
    for node in 1..=node_count {
        let (section, parameter) = match node {
            1 => ("ndb_mgmd", "PortNumber"),
            _ if node <= 1 + shape.data_nodes => ("ndbd", "port"),
            _ => ("mysqld", "port"),
        };
        let _ = writeln!(text, "\n[{section}]\nNodeId={node}\nHostName=127.0.0.1\nServerPort={}", port());
        let _ = writeln!(text, "{parameter}={}\nDataDir={}/node{node}", port(), directory.display());
    }
    Ok(text)
}

/// The values of a parameter, in the order of the file.
fn ports(config: &str, parameter: &str) -> Vec<u16> {
    let values = config.lines().filter_map(|line| line.split_once('='));
    values
        .filter(|(name, _)| name.trim() == parameter)
        .filter_map(|(_, value)| value.trim().parse().ok())
        .collect()
}

/// The line that `dev` prints when clients can connect.
pub(crate) fn is_ready(log: &str) -> bool {
    log.lines().any(|line| line.starts_with("ready:"))
}

/// The binary that tests start.
pub(crate) fn test_binary(workspace: &Workspace) -> PathBuf {
    let built = || workspace.target.join(Profile::Simulation.name()).join("latsdb");
    workspace.binary.clone().unwrap_or_else(built)
}

/// The output of the mariadb client for SQL text, tab-separated and without headings.
pub(crate) fn sql(port: u16, text: &str) -> Result<String, Failure> {
    let mut client = Command::new(Tool::MariadbClient.ensure()?);
    client.args(["--no-defaults", "--batch", "--skip-column-names", "--default-character-set=utf8mb4"]);
    client.args(["--host=127.0.0.1", "--user=root"]);
    client.arg(format!("--port={port}")).arg(format!("--execute={text}"));
    capture(&mut client, SQL_LIMIT)
}
