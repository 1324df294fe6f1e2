//! A cluster's configuration as the binary uses it. Here a file is read, its mistakes are named, this process's node is
//! found in it, and addresses and paths follow from it.
//!
//! Invariant: every node computes the same addresses and paths of every other node from the same text.

use crate::terminal::Failure;
use node::config::{ClusterConfig, ConfigError, NodeConfig};
use protocol::NodeRole;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use types::NodeId;

/// Longest path of a Unix socket on Linux, its final zero not counted.
const SOCKET_PATH_MAX: usize = 107;

/// The text of a configuration file and what it says.
pub(crate) fn load(path: &Path) -> Result<(String, ClusterConfig), Failure> {
    let name = path.display().to_string();
    let mut text = String::new();
    let limit = u64::try_from(node::config::TEXT_SIZE_MAX).unwrap_or(u64::MAX);
    // One byte more than is permitted, so that the parser sees that there are too many.
    let read = File::open(path).and_then(|file| file.take(limit.saturating_add(1)).read_to_string(&mut text));
    read.map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
    let config = parse(&text, &name)?;
    Ok((text, config))
}

/// The configuration in the text of `source`, or one line per problem.
pub(crate) fn parse(text: &str, source: &str) -> Result<ClusterConfig, Failure> {
    ClusterConfig::parse(text).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| locate(problem, source)).collect();
        Failure::new(lines.join("\nlatsdb: "))
    })
}

/// The terms that all nodes of a cluster must have in common, and that have changed. With such a change no node is let
/// in while the cluster runs.
pub(crate) fn changed_terms(old: &ClusterConfig, new: &ClusterConfig) -> Vec<String> {
    let mut changes = Vec::new();
    let mut compare = |name: &str, old: String, new: String| {
        if old != new {
            changes.push(format!("{name} was {old}, is {new}"));
        }
    };
    compare("Name", old.name.clone(), new.name.clone());
    compare("NoOfReplicas", old.replicas.to_string(), new.replicas.to_string());
    compare("PartitionsPerNode", old.partitions_per_node.to_string(), new.partitions_per_node.to_string());
    compare("SlotsPerNode", old.slots_per_node.to_string(), new.slots_per_node.to_string());
    let milliseconds = |config: &ClusterConfig| format!("{} ms", config.heartbeat_interval.as_millis());
    compare("HeartbeatIntervalDbDb", milliseconds(old), milliseconds(new));
    let nodes = |config: &ClusterConfig| {
        let name = |node: &NodeConfig| format!("{} ({})", node.node, role_name(node.role));
        config.nodes.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    compare("the list of nodes", nodes(old), nodes(new));
    changes
}

/// `config.ini:12: what is wrong`.
pub(crate) fn locate(problem: &ConfigError, source: &str) -> String {
    match problem.line {
        Some(line) => format!("{source}:{line}: {}", problem.message),
        None => format!("{source}: {}", problem.message),
    }
}

/// As people call it.
pub(crate) const fn role_name(role: NodeRole) -> &'static str {
    match role {
        NodeRole::Data => "data",
        NodeRole::Sql => "sql",
        NodeRole::Management => "management",
    }
}

/// The node that a process with this role is: the one with the id it was told, or the only one there is.
pub(crate) fn find_node(
    config: &ClusterConfig,
    role: NodeRole,
    wanted: Option<u16>,
) -> Result<&NodeConfig, Failure> {
    let (name, ids) = (role_name(role), ids_of(config, role));
    let known = if ids.is_empty() { "there is none".to_owned() } else { format!("there is {ids}") };
    match wanted {
        Some(id) => match config.node(NodeId(id)) {
            Some(node) if node.role == role => Ok(node),
            Some(node) => Err(Failure::new(format!(
                "node {id} is a {} node in config.ini, not a {name} node ({known})",
                role_name(node.role)
            ))),
            None => Err(Failure::new(format!("config.ini has no node {id}; of {name} nodes, {known}"))),
        },
        None => {
            let mut candidates = config.nodes_of(role);
            match (candidates.next(), candidates.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(Failure::new(format!("config.ini has no {name} node"))),
                (Some(_), Some(_)) => {
                    Err(Failure::new(format!("which {name} node is this? Give --ndb-nodeid ({known})")))
                }
            }
        }
    }
}

fn ids_of(config: &ClusterConfig, role: NodeRole) -> String {
    config.nodes_of(role).map(|node| node.node.to_string()).collect::<Vec<_>>().join(", ")
}

/// Whether a `HostName` is this machine's and nobody else's.
pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Where a node on `host` listens: on `bind` if that is given, on loopback only if `host` is a loopback name, else on
/// all addresses.
pub(crate) fn listen_address(host: &str, bind: Option<&str>, port: u16) -> Result<SocketAddr, Failure> {
    let resolve = |name: &str| -> Result<SocketAddr, Failure> {
        let failed = |why: &str| Failure::new(format!("cannot listen on '{name}': {why}"));
        // mysqld's name for all addresses.
        let name = if name == "*" { "::" } else { name };
        let found: Vec<SocketAddr> =
            (name, port).to_socket_addrs().map_err(|error| failed(&error.to_string()))?.collect();
        let first_of_4 = found.iter().find(|address| address.is_ipv4());
        first_of_4.or(found.first()).copied().ok_or_else(|| failed("it has no address"))
    };
    match bind {
        Some(bind) => resolve(bind),
        None if host.eq_ignore_ascii_case("localhost") => {
            Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))
        }
        None if is_loopback(host) => resolve(host),
        None => {
            let is_6 = host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6());
            let all: IpAddr = if is_6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
            Ok(SocketAddr::new(all, port))
        }
    }
}

/// The address from which a node makes its links: its HostName's, as peers look it up; none for a name that has several
/// or none.
pub(crate) fn source_address(host: &str) -> Option<IpAddr> {
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    if host.eq_ignore_ascii_case("localhost") {
        return None;
    }
    let mut found = (host, 0).to_socket_addrs().ok()?.map(|address| address.ip());
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Where nodes of the same machine connect to `node`, if it offers that.
pub(crate) fn cluster_socket(node: &NodeConfig) -> Option<PathBuf> {
    let path = Path::new(&node.data_dir).join(format!("latsdb_{}_cluster.sock", node.node));
    (node.use_local_sockets && fits_socket(&path)).then_some(path)
}

/// Where MySQL clients of the same machine connect to `node`, unless its configuration says otherwise.
pub(crate) fn default_mysql_socket(node: &NodeConfig) -> PathBuf {
    Path::new(&node.data_dir).join(format!("latsdb_{}_mysql.sock", node.node))
}

/// Whether two nodes are on one machine, as far as their host names tell.
pub(crate) fn are_neighbours(one: &NodeConfig, other: &NodeConfig) -> bool {
    one.host.eq_ignore_ascii_case(&other.host) || (is_loopback(&one.host) && is_loopback(&other.host))
}

/// Whether nodes have addresses of more than one machine, as far as their host names tell.
pub(crate) fn spans_machines(config: &ClusterConfig) -> bool {
    config.nodes.first().is_some_and(|first| !config.nodes.iter().all(|node| are_neighbours(first, node)))
}

/// Whether links over TCP between two nodes have to be encrypted: if either of them wants that. A node that says
/// nothing wants it in a cluster on several machines, unless another node's section says RequireTls=0: then the
/// operator has decided.
pub(crate) fn requires_tls(config: &ClusterConfig, one: &NodeConfig, other: &NodeConfig) -> bool {
    let is_waived = config.nodes.iter().any(|node| node.requires_tls == Some(false));
    let default = spans_machines(config) && !is_waived;
    [one, other].iter().any(|node| node.requires_tls.unwrap_or(default))
}

/// Whether the system takes such a path for a Unix socket.
pub(crate) fn fits_socket(path: &Path) -> bool {
    path.as_os_str().len() <= SOCKET_PATH_MAX
}

#[cfg(test)]
mod tests;
