//! Which node of config.ini this process is. It is the one with the id that was typed, else the only one of its role.
//! Else it is, as in NDB, a free one whose HostName is an address of this machine.
//!
//! A node is free if the management node does not see it connected, nobody listens at its ServerPort, and no other
//! process that chose like this has chosen it. Each such process keeps a lock on `latsdb_N_id.lock` in the node's
//! DataDir. All of them on this machine taken is no error at once: the node's last process may have ended a moment ago,
//! and the management node does not know yet.
//!
//! Invariant: of two processes that choose at the same time on one machine no two choose the same node.

use crate::configuration::{self, role_name};
use crate::management_client::{self, Access};
use crate::terminal::Failure;
use node::config::{ClusterConfig, NodeConfig};
use protocol::NodeRole;
use std::fs::{File, OpenOptions};
use std::net::{TcpListener, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a free node is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);
/// How often it is said what is waited for.
const REMINDER_INTERVAL: Duration = Duration::from_secs(10);

/// The node, and what keeps others from choosing it.
pub(crate) struct Choice {
    pub(crate) node: NodeConfig,
    /// Held as long as the process lives.
    _lock: Option<File>,
}

/// Chooses. `access`: where a management node says who is connected, if there is one to ask.
pub(crate) fn choose(
    config: &ClusterConfig,
    role: NodeRole,
    wanted: Option<u16>,
    access: Option<&Access>,
) -> Result<Choice, Failure> {
    if wanted.is_some() || config.nodes_of(role).count() < 2 {
        let node = configuration::find_node(config, role, wanted)?.clone();
        return Ok(Choice { node, _lock: None });
    }
    let here = candidates(config, role, is_here)?;
    let ids: Vec<String> = here.iter().map(|node| node.node.to_string()).collect();
    let begun = Instant::now();
    let mut told: Option<Instant> = None;
    loop {
        let connected = access.map(management_client::connected_nodes).unwrap_or_default();
        let away = here.iter().filter(|node| !connected.contains(&node.node.0) && is_silent(node));
        for node in away {
            if let Some(lock) = lock(node) {
                tracing::info!(
                    "this is node {}: its HostName, {}, is this machine's, and nobody else is that node",
                    node.node,
                    node.host
                );
                return Ok(Choice { node: (*node).clone(), _lock: Some(lock) });
            }
        }
        let (name, ids) = (role_name(role), ids.join(", "));
        if begun.elapsed() >= PATIENCE {
            return Err(Failure::new(format!(
                "no {name} node is free: of those of this machine (node {ids}) each is connected, or has another process here. Give --ndb-nodeid"
            )));
        }
        if told.is_none_or(|told| told.elapsed() >= REMINDER_INTERVAL) {
            told = Some(Instant::now());
            tracing::info!("waiting for a free {name} node: node {ids} of this machine are taken");
        }
        std::thread::sleep(PAUSE);
    }
}

/// The nodes of a role that this process may be.
fn candidates(
    config: &ClusterConfig,
    role: NodeRole,
    is_here: impl Fn(&str) -> bool,
) -> Result<Vec<&NodeConfig>, Failure> {
    let mut here: Vec<&NodeConfig> = config.nodes_of(role).filter(|node| is_here(&node.host)).collect();
    here.sort_by_key(|node| node.node);
    if here.is_empty() {
        let hosts: Vec<String> =
            config.nodes_of(role).map(|node| format!("node {} on {}", node.node, node.host)).collect();
        return Err(Failure::new(format!(
            "which {} node is this? No HostName is an address of this machine ({}). Give --ndb-nodeid",
            role_name(role),
            hosts.join(", ")
        )));
    }
    Ok(here)
}

/// Whether a host is this machine: only its own addresses can be bound.
fn is_here(host: &str) -> bool {
    let addresses = (host, 0).to_socket_addrs().into_iter().flatten();
    addresses.into_iter().any(|address| TcpListener::bind(address).is_ok())
}

/// Whether nobody listens where the node's links arrive.
fn is_silent(node: &NodeConfig) -> bool {
    configuration::listen_address(&node.host, None, node.server_port)
        .is_ok_and(|address| TcpListener::bind(address).is_ok())
}

fn lock(node: &NodeConfig) -> Option<File> {
    std::fs::create_dir_all(&node.data_dir).ok()?;
    let path = Path::new(&node.data_dir).join(format!("latsdb_{}_id.lock", node.node));
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).ok()?;
    file.try_lock().ok().map(|()| file)
}

#[cfg(test)]
mod tests;
