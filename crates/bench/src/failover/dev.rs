//! `latsdb dev` as a cluster under test: nodes are its children, and it starts them again.
//!
//! Either it is started here, or it runs already, with other clients at work, and is left running
//! ([`DevCluster::attach`]).

use super::target::{Node, NodeRole, Target};
use crate::processes::{Process, children};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// From the command to the line that says `ready`.
const START_LIMIT: Duration = Duration::from_secs(60);

const STOP_LIMIT: Duration = Duration::from_secs(30);

const STATES_LIMIT: Duration = Duration::from_secs(5);

/// The kind of cluster.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub data_nodes: u16,
    pub replicas: u16,
}

/// A cluster that `latsdb dev` runs.
pub(super) struct DevCluster {
    /// `None` if somebody else has started it.
    process: Option<Process>,
    /// The process of `dev`.
    pid: u32,
    binary: PathBuf,
    nodes: Vec<Node>,
    /// The node ids of config.ini, in the order of `nodes`.
    ids: Vec<u16>,
    logs: Vec<PathBuf>,
    addresses: Vec<SocketAddr>,
    management: SocketAddr,
}

impl DevCluster {
    /// Starts it in a folder that is made anew, on free ports; returns when clients can connect.
    pub(super) fn start(binary: &Path, folder: &Path, shape: Shape) -> Result<Self, String> {
        make_folder(folder)?;
        let mut command = Command::new(binary);
        command.arg("dev").arg("--dir").arg(folder.join("dev"));
        command.args(["--mysql-port=0", "--management-port=0", "--data-port=0"]);
        command
            .arg(format!("--data-nodes={}", shape.data_nodes))
            .arg(format!("--replicas={}", shape.replicas));
        let mut process = Process::start(&mut command, &folder.join("dev.log"))?;
        let end = Instant::now() + START_LIMIT;
        while !process.log().lines().any(|line| line.starts_with("ready:")) {
            if process.status().is_some() || Instant::now() >= end {
                return Err(process.failure("latsdb dev does not become ready"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut cluster = Self::attach(binary, process.id(), &folder.join("dev/config.ini"))?;
        cluster.process = Some(process);
        Ok(cluster)
    }

    /// A cluster that runs, by the process of its `dev` and the configuration that it runs with.
    pub(super) fn attach(binary: &Path, pid: u32, config: &Path) -> Result<Self, String> {
        let text =
            std::fs::read_to_string(config).map_err(|error| format!("{}: {error}", config.display()))?;
        let mut cluster = Self {
            process: None,
            pid,
            binary: binary.to_path_buf(),
            nodes: Vec::new(),
            ids: Vec::new(),
            logs: Vec::new(),
            addresses: Vec::new(),
            management: loopback(0),
        };
        cluster.read_config(&text)?;
        Ok(cluster)
    }

    /// Nodes and ports, from the file that `dev` has written.
    fn read_config(&mut self, text: &str) -> Result<(), String> {
        let (mut data_nodes, mut replicas) = (0, 1);
        for section in sections(text) {
            let value = |name: &str| section.value(name).and_then(|value| value.parse::<u16>().ok());
            replicas = value("NoOfReplicas").unwrap_or(replicas).max(1);
            let Some(id) = value("NodeId") else { continue };
            let (role, address, group) = if section.name == "ndb_mgmd" {
                let port = value("PortNumber").ok_or("config.ini: no PortNumber")?;
                self.management = loopback(port);
                (NodeRole::Management, None, 0)
            } else {
                let port = value("port").ok_or("config.ini: no port of a data node")?;
                self.addresses.push(loopback(port));
                data_nodes += 1;
                (NodeRole::Data, Some(self.addresses.len() - 1), (data_nodes - 1) / usize::from(replicas))
            };
            self.ids.push(id);
            let folder = section.value("DataDir").unwrap_or_default();
            self.logs.push(Path::new(folder).join(format!("latsdb_{id}.log")));
            self.nodes.push(Node { name: format!("node {id}"), role, address, group });
        }
        Ok(())
    }
}

/// The answer of `latsdb` to a question about a cluster.
pub(super) fn ask(binary: &Path, management: SocketAddr, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(binary);
    command.args(words).args(["--ndb-connectstring", &management.to_string()]);
    let output = command.output().map_err(|error| format!("{}: {error}", binary.display()))?;
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(text.trim().to_owned()) } else { Err(text.trim().to_owned()) }
}

/// Has one node, or all of them, started again; gives what was said of it.
pub(super) fn ask_to_restart(
    binary: &Path,
    management: SocketAddr,
    id: Option<u16>,
) -> Result<String, String> {
    let command = id.map_or_else(|| "rolling restart".to_owned(), |id| format!("{id} restart"));
    ask(binary, management, &["mgm", "--execute", &command])
}

/// The answer to `all status`, without a process that clients would feel. The management protocol's answers are lines,
/// ended by one with a dot.
fn states(management: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&management, STATES_LIMIT)?;
    stream.set_read_timeout(Some(STATES_LIMIT))?;
    stream.write_all(b"all status\n")?;
    let lines = BufReader::new(stream).lines();
    let lines = lines.take_while(|line| line.as_ref().map_or(true, |line| line != "."));
    let states = lines.collect::<std::io::Result<Vec<String>>>()?;
    if states.is_empty() { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(states.join("\n")) }
}

/// Whether all nodes of LatsDB are there and serve clients; else what is missing.
pub(super) fn is_whole(
    management: SocketAddr,
    nodes: &[Node],
    addresses: &[SocketAddr],
) -> Result<(), String> {
    let states =
        states(management).map_err(|error| format!("the management node at {management}: {error}"))?;
    let missing: Vec<&str> = states.lines().filter(|line| !line.contains(": started")).collect();
    if !missing.is_empty() {
        return Err(missing.join("; "));
    }
    for node in nodes {
        let Some(address) = node.address.map(|index| addresses[index]) else { continue };
        if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            return Err(format!("{} does not listen at {address}", node.name));
        }
    }
    Ok(())
}

pub(super) fn make_folder(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    std::fs::create_dir_all(folder).map_err(failed)
}

pub(super) fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// A section of config.ini.
struct Section<'text> {
    name: &'text str,
    lines: Vec<&'text str>,
}

impl<'text> Section<'text> {
    fn value(&self, name: &str) -> Option<&'text str> {
        let pairs = self.lines.iter().filter_map(|line| line.split_once('='));
        pairs.filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim()).next_back()
    }
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            sections.push(Section { name, lines: Vec::new() });
        } else if let Some(section) = sections.last_mut() {
            section.lines.push(line);
        }
    }
    sections
}

impl Target for DevCluster {
    fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn pid(&mut self, node: usize) -> Option<u32> {
        let id = self.ids[node].to_string();
        let is_it = |words: &[String]| {
            words.iter().skip_while(|word| *word != "--ndb-nodeid").nth(1).is_some_and(|found| *found == id)
        };
        children(self.pid).into_iter().find(|(_, words)| is_it(words)).map(|(pid, _)| pid)
    }

    fn log(&self, node: usize) -> Option<PathBuf> {
        Some(self.logs[node].clone())
    }

    fn is_by_hand(&self) -> bool {
        false
    }

    fn restart(&mut self, node: Option<usize>) -> Result<String, String> {
        ask_to_restart(&self.binary, self.management, node.map(|node| self.ids[node]))
    }

    /// `dev` does it.
    fn revive(&mut self, _node: usize) -> Result<(), String> {
        if let Some(process) = &mut self.process
            && process.status().is_some()
        {
            return Err(process.failure("latsdb dev has ended"));
        }
        Ok(())
    }

    fn in_sync(&mut self) -> Result<(), String> {
        is_whole(self.management, &self.nodes, &self.addresses)
    }

    fn check(&mut self) -> Result<String, String> {
        ask(&self.binary, self.management, &["check"])
    }

    fn set_cut(&mut self, _one: usize, _other: usize, _is_cut: bool) -> Result<(), String> {
        Err("nodes of `latsdb dev` can't be cut from each other: use nodes that are started by hand, with relays".to_owned())
    }

    fn stop(self: Box<Self>) -> Result<(), String> {
        let Some(process) = self.process else { return Ok(()) };
        let log = process.failure("latsdb dev did not end well");
        if process.stop(STOP_LIMIT) { Ok(()) } else { Err(log) }
    }
}

#[cfg(test)]
mod tests;
