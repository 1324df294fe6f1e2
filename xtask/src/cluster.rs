//! `latsdb dev` for tests and benchmarks: on free ports, with a folder of its own, stopped when dropped.

use crate::processes::{Failure, Profile, Server, Workspace, capture, command_line, free_ports, tree};
use crate::tools::Tool;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// From the command to its ready line.
const START_LIMIT: Duration = Duration::from_secs(60);

/// What kind of cluster.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) data_nodes: u16,
    pub(crate) replicas: u16,
    /// The server's own default if not given.
    pub(crate) max_connections: Option<u32>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { data_nodes: 2, replicas: 2, max_connections: None }
    }
}

/// A running cluster.
pub(crate) struct Cluster {
    pub(crate) server: Server,
    binary: PathBuf,
    /// One per data node.
    pub(crate) mysql_ports: Vec<u16>,
    pub(crate) management_port: u16,
    pub(crate) data_ports: Vec<u16>,
}

impl Cluster {
    /// Starts it; returns when clients can connect.
    pub(crate) fn start(
        workspace: &Workspace,
        binary: &Path,
        name: &str,
        shape: &Shape,
    ) -> Result<Self, Failure> {
        let directory = workspace.scratch(&format!("{name}-cluster"))?;
        let count = shape.data_nodes;
        let first = free_ports(2 * count + 2)?;
        let (management_port, data_port, http_port) =
            (first + count, first + count + 1, first + 2 * count + 1);
        let mut command = Command::new(binary);
        command.arg("dev").arg("--dir").arg(&directory);
        let mut option = |name: &str, value: u32| {
            command.args([name.to_owned(), value.to_string()]);
        };
        option("--mysql-port", first.into());
        option("--management-port", management_port.into());
        option("--data-port", data_port.into());
        option("--http-port", http_port.into());
        option("--data-nodes", count.into());
        option("--replicas", shape.replicas.into());
        if let Some(connections) = shape.max_connections {
            option("--max-connections", connections);
        }
        let log = workspace.target.join("xtask").join(format!("{name}-cluster.log"));
        let server = Server::start(&mut command, "latsdb dev", &log)?;
        let mut cluster = Self {
            server,
            binary: binary.to_path_buf(),
            mysql_ports: (first..first + count).collect(),
            management_port,
            data_ports: (data_port..data_port + count).collect(),
        };
        cluster.server.wait_until(START_LIMIT, is_ready)?;
        Ok(cluster)
    }

    /// Starts the cluster that tests use: two data nodes, two replicas, the build with assertions.
    pub(crate) fn for_test(workspace: &Workspace, name: &str) -> Result<Self, Failure> {
        Self::start(workspace, &test_binary(workspace), name, &Shape::default())
    }

    /// The processes of its data nodes.
    pub(crate) fn data_node_pids(&self) -> Vec<u32> {
        let is_data_node = |pid: &u32| command_line(*pid).get(1).is_some_and(|word| word == "data");
        tree(self.server.pid()).into_iter().filter(is_data_node).collect()
    }

    /// `latsdb check`: replicas are equal, and indexes match rows.
    pub(crate) fn check(&self) -> Result<String, Failure> {
        let mut check = Command::new(&self.binary);
        check.args(["check", "--ndb-connectstring", &format!("127.0.0.1:{}", self.management_port)]);
        capture(&mut check, Duration::from_secs(300))
    }

    /// Asks it to stop; anything but exit code 0 is a failure.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        let status = self.server.stop()?;
        if status.success() { Ok(()) } else { Err(self.server.failure(&format!("ended with {status}"))) }
    }
}

/// The line that `dev` prints when clients can connect.
pub(crate) fn is_ready(log: &str) -> bool {
    log.lines().any(|line| line.starts_with("ready:"))
}

/// The binary that tests start.
pub(crate) fn test_binary(workspace: &Workspace) -> PathBuf {
    workspace.target.join(Profile::Simulation.name()).join("latsdb")
}

/// What the mariadb client prints for SQL text, tab-separated and without headings.
pub(crate) fn sql(port: u16, text: &str) -> Result<String, Failure> {
    let mut client = Command::new(Tool::MariadbClient.ensure()?);
    client.args(["--no-defaults", "--batch", "--skip-column-names", "--host=127.0.0.1", "--user=root"]);
    client.arg(format!("--port={port}")).arg(format!("--execute={text}"));
    capture(&mut client, Duration::from_secs(300))
}
