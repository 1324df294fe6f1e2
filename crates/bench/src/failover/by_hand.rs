//! A cluster of LatsDB whose nodes are started by hand, and may reach each other through relays, so that any two of
//! them can be cut from each other.
//!
//! ```text
//! config.ini of node X:   its own ServerPort, and for every other node Y the port of the relay X → Y
//! management node         reads its file
//! data node X             asks a small server here for its own text, as it would ask a management node
//! ```
//! With relays, nodes do not talk through shared memory or Unix sockets (`UseShm=0`). Each node is below its own angel,
//! which starts it again when it was left out or restarted. A node that ends otherwise is started again here when it is
//! asked for, as an init system would.

use super::dev::{Shape, ask, ask_to_restart, is_whole, loopback, make_folder};
use super::relay::{self, Cut};
use super::target::{Node, NodeRole, Target};
use crate::ports::free_ports;
use crate::processes::{Process, children};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// How nodes started by hand are configured.
#[derive(Clone, Copy, Debug)]
pub struct ByHand {
    pub shape: Shape,
    pub has_relays: bool,
    /// HeartbeatIntervalDbDb in milliseconds; the server's own default if not given.
    pub heartbeat: Option<u16>,
    /// TotalMemoryConfig of each data node in MiB.
    pub memory: u32,
}

/// Nodes, and the relays between them. The first node is the management node.
pub(super) struct ByHandCluster {
    binary: PathBuf,
    folder: PathBuf,
    settings: ByHand,
    /// ServerPort and the port for clients of each node.
    server_ports: Vec<u16>,
    client_ports: Vec<u16>,
    /// By the nodes that they connect.
    relay_ports: BTreeMap<(usize, usize), u16>,
    /// By pair, the lower node first.
    cuts: BTreeMap<(usize, usize), Cut>,
    /// Where each data node gets its configuration.
    config_ports: Vec<u16>,
    processes: Vec<Option<Process>>,
    nodes: Vec<Node>,
    addresses: Vec<SocketAddr>,
}

impl ByHandCluster {
    /// Starts it in a folder that is made anew; returns when all nodes serve clients.
    pub(super) fn start(binary: &Path, folder: &Path, settings: ByHand) -> Result<Self, String> {
        make_folder(folder)?;
        let count = usize::from(settings.shape.data_nodes) + 1;
        let mut ports = free_ports(u16::try_from(count * (count + 3)).unwrap_or(u16::MAX))?..;
        let mut take = || ports.next().unwrap_or_default();
        let mut cluster = Self {
            binary: binary.to_path_buf(),
            folder: folder.to_path_buf(),
            settings,
            server_ports: (0..count).map(|_| take()).collect(),
            client_ports: (0..count).map(|_| take()).collect(),
            relay_ports: BTreeMap::new(),
            cuts: BTreeMap::new(),
            config_ports: (0..count).map(|_| take()).collect(),
            processes: (0..count).map(|_| None).collect(),
            nodes: Vec::new(),
            addresses: Vec::new(),
        };
        for node in 0..count {
            cluster.add_node(node);
            for other in (0..count).filter(|other| *other != node && settings.has_relays) {
                let cut = cluster.cuts.entry((node.min(other), node.max(other))).or_default();
                let port = take();
                relay::start(port, cluster.server_ports[other], cut)?;
                cluster.relay_ports.insert((node, other), port);
            }
        }
        for node in 1..count {
            serve_config(cluster.config_ports[node], cluster.config(node))?;
        }
        (0..count).try_for_each(|node| cluster.start_node(node))?;
        let end = Instant::now() + START_LIMIT;
        while let Err(missing) = cluster.in_sync() {
            if Instant::now() >= end {
                return Err(format!("the cluster does not start: {missing}"));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(cluster)
    }

    fn add_node(&mut self, node: usize) {
        let (role, address, group) = match node.checked_sub(1) {
            None => (NodeRole::Management, None, 0),
            Some(place) => {
                self.addresses.push(loopback(self.client_ports[node]));
                (NodeRole::Data, Some(place), place / usize::from(self.settings.shape.replicas))
            }
        };
        self.nodes.push(Node { name: format!("node {}", node + 1), role, address, group });
    }

    /// The configuration as one node sees it.
    fn config(&self, of: usize) -> String {
        let mut text = format!(
            "[system]\nName=byhand\n\n[ndbd default]\nNoOfReplicas={}\n",
            self.settings.shape.replicas
        );
        // Writing into a String can't fail, here and below.
        let _ =
            writeln!(text, "TotalMemoryConfig={}M\nSpinMethod=NoSpinning\nNumCPUs=2", self.settings.memory);
        if self.settings.has_relays {
            text.push_str("UseShm=0\n");
        }
        if let Some(interval) = self.settings.heartbeat {
            let _ = writeln!(text, "HeartbeatIntervalDbDb={interval}");
        }
        for node in 0..self.nodes.len() {
            let (section, parameter) = if node == 0 { ("ndb_mgmd", "PortNumber") } else { ("ndbd", "port") };
            let server_port = self.relay_ports.get(&(of, node)).unwrap_or(&self.server_ports[node]);
            let _ = writeln!(text, "\n[{section}]\nNodeId={}\nHostName=127.0.0.1", node + 1);
            let _ = writeln!(text, "ServerPort={server_port}\n{parameter}={}", self.client_ports[node]);
            let _ = writeln!(text, "DataDir={}", self.folder.join(format!("node{}", node + 1)).display());
        }
        text
    }

    fn start_node(&mut self, node: usize) -> Result<(), String> {
        let id = (node + 1).to_string();
        let mut command = Command::new(&self.binary);
        if node == 0 {
            let file = self.folder.join("config.ini");
            std::fs::write(&file, self.config(0)).map_err(|error| format!("{}: {error}", file.display()))?;
            command.args(["mgmd", "--ndb-nodeid", &id, "-f"]).arg(&file);
        } else {
            let connectstring = loopback(self.config_ports[node]).to_string();
            command.args(["data", "--ndb-nodeid", &id, "--ndb-connectstring", &connectstring]);
        }
        let log = self.folder.join(format!("node{id}.log"));
        self.processes[node] = Some(Process::start(&mut command, &log)?);
        Ok(())
    }

    fn management(&self) -> SocketAddr {
        loopback(self.client_ports[0])
    }
}

/// Answers every request with a configuration, in the form of the management protocol.
fn serve_config(port: u16, text: String) -> Result<(), String> {
    let listener = TcpListener::bind(loopback(port)).map_err(|error| format!("port {port}: {error}"))?;
    let serve = move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            let mut reader = BufReader::new(stream);
            if reader.read_line(&mut line).is_ok() {
                // A node that has gone needs no configuration.
                let _ = reader.get_mut().write_all(format!("{text}.\n").as_bytes());
            }
        }
    };
    thread::Builder::new()
        .name("config".to_owned())
        .spawn(serve)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

impl Target for ByHandCluster {
    fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The angel's child.
    fn pid(&mut self, node: usize) -> Option<u32> {
        let angel = self.processes[node].as_mut()?;
        if angel.status().is_some() {
            return None;
        }
        children(angel.id()).first().map(|(pid, _)| *pid)
    }

    fn log(&self, node: usize) -> Option<PathBuf> {
        Some(self.folder.join(format!("node{}.log", node + 1)))
    }

    fn is_by_hand(&self) -> bool {
        true
    }

    fn restart(&mut self, node: Option<usize>) -> Result<String, String> {
        let id = node.and_then(|node| u16::try_from(node + 1).ok());
        ask_to_restart(&self.binary, self.management(), id)
    }

    fn revive(&mut self, node: usize) -> Result<(), String> {
        let has_ended = self.processes[node].as_mut().is_none_or(|angel| angel.status().is_some());
        if has_ended { self.start_node(node) } else { Ok(()) }
    }

    fn in_sync(&mut self) -> Result<(), String> {
        is_whole(self.management(), &self.nodes, &self.addresses)
    }

    fn check(&mut self) -> Result<String, String> {
        ask(&self.binary, self.management(), &["check"])
    }

    fn set_cut(&mut self, one: usize, other: usize, is_cut: bool) -> Result<(), String> {
        let cut = self.cuts.get(&(one.min(other), one.max(other))).map(Arc::clone);
        let cut = cut.ok_or_else(|| "these two nodes have no relay between them".to_owned())?;
        cut.store(is_cut, Ordering::Relaxed);
        Ok(())
    }

    fn stop(mut self: Box<Self>) -> Result<(), String> {
        let mut bad = Vec::new();
        // The management node last.
        for (process, node) in self.processes.iter_mut().zip(&self.nodes).rev() {
            if let Some(process) = process.take()
                && !process.stop(STOP_LIMIT)
            {
                bad.push(node.name.clone());
            }
        }
        if bad.is_empty() { Ok(()) } else { Err(format!("{} did not end well", bad.join(", "))) }
    }
}
