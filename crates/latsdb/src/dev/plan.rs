//! The plan of `dev`: the configuration of all nodes, and their command lines.
//!
//! Without `--config`, a config.ini is written into the directory: node 1 is the management node, nodes 2.. are data
//! nodes, everything on 127.0.0.1. With `--config`, the file is used as it is, as long as all its nodes are on this
//! machine.
//!
//! Invariants: the plan's configuration was read from the text of the file that the management node will read. Every
//! port in it was free a moment ago and is held until [`Plan::release_ports`].

use crate::command_line::DevOptions;
use crate::configuration;
use crate::ports::Reservation;
use crate::resources::Machine;
use crate::terminal::Failure;
use memory::MIB;
use node::config::{ClusterConfig, NodeConfig};
use protocol::NodeRole;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const HOST: &str = "127.0.0.1";
/// The redo log of each data node: a GiB in small files, because a file is filled with zeros before it is used.
const REDO_LOG: &str = "FragmentLogFileSize=16M\nNoOfFragmentLogFiles=64";
/// The name of the cluster.
const CLUSTER: &str = "dev";

/// A cluster to start.
pub(super) struct Plan {
    pub(super) config: ClusterConfig,
    /// Where the configuration is.
    file: PathBuf,
    ports: Reservation,
}

impl Plan {
    /// Divides the machine, finds ports, writes and reads config.ini.
    pub(super) fn make(options: &DevOptions, directory: &Path) -> Result<Self, Failure> {
        match &options.config {
            Some(file) => Self::from_file(file),
            None => Self::automatic(options, directory),
        }
    }

    fn automatic(options: &DevOptions, directory: &Path) -> Result<Self, Failure> {
        let (data_nodes, replicas) = (options.data_nodes, options.replicas);
        if !data_nodes.is_multiple_of(replicas) {
            return Err(Failure::new(format!(
                "--data-nodes {data_nodes} is not a multiple of --replicas {replicas}: each row has {replicas} copies on \
                 {replicas} nodes"
            )));
        }
        let file = directory.join("config.ini");
        if !options.initial {
            check_shape(&file, data_nodes, replicas)?;
        }
        let memory = Machine::measure().memory_share(data_nodes)?;
        let mut ports = Reservation::default();
        let choice = Choice {
            directory,
            mysql_ports: ports.take(options.mysql_port, data_nodes, "--mysql-port")?,
            management_port: ports.take(options.management_port, 1, "--management-port")?[0],
            // One per data node, and the last one for the management node.
            server_ports: ports.take(options.data_port, data_nodes + 1, "--data-port")?,
            replicas,
            max_connections: options.max_connections,
            memory,
        };
        let text = choice.config_text();
        let name = file.display().to_string();
        std::fs::write(&file, &text)
            .map_err(|error| Failure::new(format!("cannot write {name}: {error}")))?;
        let config = configuration::parse(&text, &name)?;
        if config.nodes.iter().any(|node| Path::new(&node.data_dir) != choice.node_directory(node.node.0)) {
            let path = directory.display();
            return Err(Failure::new(format!(
                "--dir {path}: config.ini cannot hold this path; choose a plainer one"
            )));
        }
        Ok(Self { config, file, ports })
    }

    fn from_file(file: &Path) -> Result<Self, Failure> {
        // The management node reads it from another directory.
        let file = file
            .canonicalize()
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
        let (_, config) = configuration::load(&file)?;
        let name = file.display().to_string();
        for warning in &config.warnings {
            crate::terminal::complain(&format!("warning: {}", configuration::locate(warning, &name)));
        }
        if let Some(stranger) = config.nodes.iter().find(|node| !configuration::is_loopback(&node.host)) {
            return Err(Failure::new(format!(
                "{name}: node {} is on '{}'; `latsdb dev` runs nodes on this machine only (HostName=127.0.0.1)",
                stranger.node, stranger.host
            )));
        }
        let mut ports = Reservation::default();
        for node in &config.nodes {
            let mysql = node.mysql.as_ref().map(|mysql| mysql.port);
            let named = [
                ("ServerPort", Some(node.server_port)),
                ("PortNumber", node.management_port),
                ("port", mysql),
            ];
            for (parameter, port) in named {
                if let Some(port) = port {
                    ports.take(port, 1, &format!("{parameter} of node {} in {name}", node.node))?;
                }
            }
        }
        Ok(Self { config, file, ports })
    }

    /// Lets go of the ports: the nodes start now.
    pub(super) fn release_ports(&mut self) {
        self.ports = Reservation::default();
    }

    /// A node as the file has it now; as it was, if the file can't be read.
    pub(super) fn reread(&self, node: &NodeConfig) -> NodeConfig {
        let found = configuration::load(&self.file).ok();
        let found = found.and_then(|(_, config)| config.node(node.node).cloned());
        found.filter(|found| found.role == node.role).unwrap_or_else(|| node.clone())
    }

    /// The command line of a node, as a user would type it; `is_initial` for a node of a cluster that begins.
    pub(super) fn arguments(&self, node: &NodeConfig, is_initial: bool) -> Vec<OsString> {
        let id = node.node.to_string();
        let mut arguments: Vec<OsString> = Vec::new();
        match node.role {
            NodeRole::Management => {
                arguments.extend(["mgmd".into(), "-f".into(), self.file.clone().into_os_string()]);
                arguments.extend(["--ndb-nodeid".into(), id.into()]);
            }
            NodeRole::Data | NodeRole::Sql => {
                let command = if node.role == NodeRole::Data { "data" } else { "sql" };
                arguments.extend([command.into(), "--ndb-nodeid".into(), id.into()]);
                arguments.extend(["--ndb-connectstring".into(), self.connectstring().into()]);
            }
        }
        if is_initial && node.role != NodeRole::Sql {
            arguments.push("--initial".into());
        }
        arguments
    }

    fn connectstring(&self) -> String {
        let places = self.config.nodes_of(NodeRole::Management).filter_map(|node| {
            let port = node.management_port?;
            Some(if node.host.contains(':') {
                format!("[{}]:{port}", node.host)
            } else {
                format!("{}:{port}", node.host)
            })
        });
        places.collect::<Vec<_>>().join(",")
    }

    /// The plan in one line.
    pub(super) fn summary(&self) -> String {
        let count = |role| self.config.nodes_of(role).count();
        let data = self.config.nodes_of(NodeRole::Data).next();
        let memory = data
            .and_then(|node| node.total_memory)
            .map_or_else(|| "what the machine gives".to_owned(), |bytes| format!("{} MiB each", bytes / MIB));
        format!(
            "starting cluster '{}' of {}: {} management, {} data and {} SQL nodes, {} replicas, memory of data nodes: {memory}",
            self.config.name,
            self.file.display(),
            count(NodeRole::Management),
            count(NodeRole::Data),
            count(NodeRole::Sql),
            self.config.replicas,
        )
    }
}

/// Refuses a directory whose cluster has another number of data nodes or replicas: its rows are divided among these.
fn check_shape(file: &Path, data_nodes: u16, replicas: u16) -> Result<(), Failure> {
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(()) };
    // A file that nobody can read says nothing; it is written anew.
    let Ok(before) = configuration::parse(&text, "config.ini") else { return Ok(()) };
    let (had, copies) = (before.nodes_of(NodeRole::Data).count(), before.replicas);
    if !before.keeps_rows() || (had, copies) == (usize::from(data_nodes), usize::from(replicas)) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{} has the rows of a cluster of {had} data nodes with {copies} replicas: start it with --data-nodes {had} \
         --replicas {copies}, or choose another --dir; with --initial its rows are thrown away",
        file.parent().unwrap_or(file).display()
    )))
}

/// The decisions for a cluster without a configuration of its own.
struct Choice<'a> {
    directory: &'a Path,
    mysql_ports: Vec<u16>,
    management_port: u16,
    /// One more than there are data nodes.
    server_ports: Vec<u16>,
    replicas: u16,
    max_connections: Option<u32>,
    /// Of each data node, bytes.
    memory: u64,
}

impl Choice<'_> {
    fn node_directory(&self, node: u16) -> PathBuf {
        self.directory.join(format!("node{node}"))
    }

    fn config_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "# Written by `latsdb dev` at each start: changes are lost. Copy it and use `latsdb dev --config COPY`."
        )?;
        writeln!(text, "[system]\nName={CLUSTER}\n")?;
        writeln!(text, "[ndbd default]\nNoOfReplicas={}", self.replicas)?;
        writeln!(text, "TotalMemoryConfig={}M", self.memory / MIB)?;
        writeln!(text, "{REDO_LOG}")?;
        // A spinning thread keeps the one from running that it waits for.
        writeln!(
            text,
            "# The threads of all nodes, and the clients, share the machine's CPUs: nobody spins."
        )?;
        writeln!(text, "SpinMethod=NoSpinning")?;
        if let Some(count) = self.max_connections {
            writeln!(text, "max_connections={count}")?;
        }
        let (data_ports, management_ports) = self.server_ports.split_at(self.mysql_ports.len());
        self.write_node(text, "ndb_mgmd", 1, management_ports[0])?;
        writeln!(text, "PortNumber={}", self.management_port)?;
        for ((node, mysql_port), server_port) in (2..).zip(&self.mysql_ports).zip(data_ports) {
            self.write_node(text, "ndbd", node, *server_port)?;
            writeln!(text, "port={mysql_port}")?;
            let socket = self.directory.join(format!("node{node}.sock"));
            if configuration::fits_socket(&socket) {
                writeln!(text, "socket={}", socket.display())?;
            }
        }
        Ok(())
    }

    fn write_node(&self, text: &mut String, section: &str, node: u16, server_port: u16) -> std::fmt::Result {
        let directory = self.node_directory(node);
        writeln!(text, "\n[{section}]\nNodeId={node}\nHostName={HOST}\nServerPort={server_port}")?;
        writeln!(text, "DataDir={}", directory.display())
    }
}

#[cfg(test)]
mod tests;
