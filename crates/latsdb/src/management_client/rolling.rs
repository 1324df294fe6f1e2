//! Commands that take several requests and wait in between: `N stop`, `N restart`, and `rolling restart`.
//!
//! ```text
//! all nodes are there and in sync, and each of them may stop      else it is refused at once
//! management nodes      first: they read config.ini, and hand it to those that start after them (as in NDB)
//! data nodes            one after the other: in sync, and with its share of primaries, before the next one is asked
//! SQL nodes             last; a node that is not connected is passed over
//! ```
//! The client does it, not a management node, because these are started again, too. Ctrl-C leaves the node that is
//! under way to finish by itself; `rolling restart` begins anew with all of them.
//!
//! Invariants: a node is asked only while all others are there and in sync. Every wait is bounded (`follow`).
//! config.ini may change only in what each node has for itself ([`changed`]), else no data node is started with it.

use super::follow::{Follow, Wanted};
use super::status::{NodeStatus, Role, Status};
use super::{Access, ERROR_PREFIX, ManagementClient, REMINDER_INTERVAL};
use crate::configuration;
use crate::terminal::{self, Failure};
use node::config::{ClusterConfig, NodeConfig};
use protocol::NodeRole;
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use types::NodeId;

/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Until all is as it was, behind each node.
const CALM_LIMIT: Duration = Duration::from_secs(60);

/// Until an SQL node that is back accepts clients: it waits ten seconds for data nodes.
const PORT_LIMIT: Duration = Duration::from_secs(12);

/// Nobody waits mute: says when it is time to say what is waited for.
struct Reminder {
    told: Instant,
}

impl Reminder {
    fn new() -> Self {
        Self { told: Instant::now() }
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.told.elapsed() >= REMINDER_INTERVAL;
        if is_due {
            self.told = Instant::now();
        }
        is_due
    }
}

/// A command that is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Followed {
    Rolling,
    Node(u16, Wanted),
}

/// Whether a command is one of them.
pub(super) fn parse(command: &str) -> Option<Followed> {
    let command = command.to_ascii_lowercase();
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["rolling", "restart"] => Some(Followed::Rolling),
        [node, "stop"] => Some(Followed::Node(node.parse().ok()?, Wanted::Stop)),
        [node, "restart"] => Some(Followed::Node(node.parse().ok()?, Wanted::Restart)),
        _ => None,
    }
}

/// Does it, and says how far it is.
pub(super) fn run(what: Followed, access: &Access) -> Result<(), Failure> {
    let mut watcher = Watcher { access: access.clone(), client: None };
    match what {
        Followed::Rolling => rolling_restart(&mut watcher),
        Followed::Node(node, wanted) => {
            let status = watcher.status()?;
            let Some(before) = status.find(node).cloned() else {
                return Err(Failure::new(format!("{ERROR_PREFIX}: no node {node} in config.ini")));
            };
            follow(&mut watcher, &before, wanted)
        }
    }
}

/// A connection that is made anew when it is lost.
struct Watcher {
    access: Access,
    client: Option<ManagementClient>,
}

impl Watcher {
    fn request(&mut self, request: &str) -> Result<Vec<String>, Failure> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.access.connect()?,
        };
        let lines =
            client.request(request).map_err(|error| Failure::new(format!("management node: {error}")))?;
        match lines.first() {
            Some(line) if line.starts_with(ERROR_PREFIX) => Err(Failure::new(line.clone())),
            _ => {
                self.client = Some(client);
                Ok(lines)
            }
        }
    }

    /// Shows that this process has authority, before anything is asked that needs it.
    fn prove(&mut self) -> Result<(), Failure> {
        let mut client = self.access.connect()?;
        let proved = client.prove().map_err(|error| Failure::new(format!("management node: {error}")))?;
        proved.map_err(|why| {
            Failure::new(format!(
                "no authority at the management node {}: {why}. On its own machine its token file is found, if it may be read; elsewhere give \
                 copies of those of all management nodes in one file (--token-file)",
                self.access.connectstring
            ))
        })?;
        self.client = Some(client);
        Ok(())
    }

    fn status(&mut self) -> Result<Status, Failure> {
        let lines = self.request("get status")?;
        Status::parse(&lines)
            .ok_or_else(|| Failure::new("the management node's answer to 'get status' cannot be read"))
    }

    fn config(&mut self) -> Result<ClusterConfig, Failure> {
        let mut lines = self.request("get config")?;
        lines.push(String::new());
        configuration::parse(&lines.join("\n"), "config.ini of the management node")
    }

    /// Where a management node itself is asked: others do not know its lives. Its host's name may mean another machine
    /// here than it does there, so the answering node is checked.
    fn at(&mut self, node: u16) -> Result<Self, Failure> {
        let config = self.config()?;
        let manager = config.node(NodeId(node));
        let port = manager.and_then(|manager| manager.management_port);
        let Some((manager, port)) = manager.zip(port) else {
            return Err(Failure::new(format!("config.ini has no management node {node}")));
        };
        Ok(Self { access: self.access.at(&manager.host, port), client: None })
    }
}

/// Whether a status is of this management node of this cluster.
fn is_of(status: &Status, node: u16, cluster: &str) -> bool {
    status.node == node && status.name == cluster
}

/// Asks a node, and follows it until it is done.
fn follow(watcher: &mut Watcher, before: &NodeStatus, wanted: Wanted) -> Result<(), Failure> {
    let verb = if wanted == Wanted::Stop { "stop" } else { "restart" };
    let request = format!("{} {verb}", before.id);
    let mut status = watcher.status()?;
    let cluster = status.name.clone();
    let is_manager = before.role == Role::Management;
    let mut own = None;
    if is_manager && status.node != before.id {
        let at = own.insert(watcher.at(before.id)?);
        status = at.status()?;
        if !is_of(&status, before.id, &cluster) {
            return Err(Failure::new(format!(
                "{ERROR_PREFIX}: {} is asked at {}, as config.ini says, and there answers node {} of cluster '{}'. Run this command where that \
                 address is its own, or connect to it with --ndb-connectstring",
                before.name(),
                at.access.connectstring,
                status.node,
                status.name
            )));
        }
    }
    let watcher = own.as_mut().unwrap_or(watcher);
    let before = status.find(before.id).cloned().unwrap_or_else(|| before.clone());
    let (role, id) = (before.role, before.id);
    let begun = Instant::now();
    let mut follow = Follow::begin(wanted, before, &status);
    let mut reminder = Reminder::new();
    for line in watcher.request(&request)? {
        terminal::say(&line);
    }
    loop {
        std::thread::sleep(LOOK_INTERVAL);
        let mut status = watcher.status().ok();
        if is_manager && status.as_ref().is_some_and(|status| !is_of(status, id, &cluster)) {
            // Another management node of the connectstring, which knows nothing of the lives of this one.
            (status, watcher.client) = (None, None);
        }
        let seen = follow.look(begun.elapsed(), status.as_ref()).map_err(Failure::new)?;
        if let Some(news) = seen.news {
            terminal::say(&news);
            reminder = Reminder::new();
        }
        if seen.is_done {
            break;
        }
        if reminder.is_due() {
            let state = watcher.request(&format!("{id} status")).ok();
            let state = state.and_then(|lines| lines.first().cloned());
            let state = state.unwrap_or_else(|| "no management node answers".to_owned());
            terminal::say(&format!("waiting for node {id}, {} s: {state}", begun.elapsed().as_secs()));
        }
    }
    if role == Role::Sql && wanted == Wanted::Restart { wait_for_port(watcher, id) } else { Ok(()) }
}

/// An SQL node that is connected opens its port when it has the catalogue and reaches all data nodes.
fn wait_for_port(watcher: &mut Watcher, node: u16) -> Result<(), Failure> {
    let config = watcher.config()?;
    let Some((host, port)) = config.node(NodeId(node)).and_then(client_address) else { return Ok(()) };
    let end = Instant::now() + PORT_LIMIT;
    while super::connect(&host, port).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
        if Instant::now() >= end {
            // It may have been started with another port, or be out of reach from here.
            terminal::say(&format!("node {node} (sql): nobody accepts clients at {host}:{port} yet"));
            break;
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    Ok(())
}

/// Where its clients connect, unless it listens where only its own machine may see it.
fn client_address(node: &NodeConfig) -> Option<(String, u16)> {
    let mysql = node.mysql.as_ref()?;
    let is_plain = mysql
        .bind_address
        .as_ref()
        .is_none_or(|bind| *bind == node.host || ["*", "0.0.0.0", "::"].contains(&bind.as_str()));
    is_plain.then(|| (node.host.clone(), mysql.port))
}

fn rolling_restart(watcher: &mut Watcher) -> Result<(), Failure> {
    let begun = Instant::now();
    let status = watcher.status()?;
    let nodes =
        plan(&status).map_err(|why| Failure::new(format!("{ERROR_PREFIX}: no rolling restart: {why}")))?;
    prove_to_all(watcher, &status, &nodes)
        .map_err(|why| Failure::new(format!("{ERROR_PREFIX}: no rolling restart: {why}")))?;
    let config = watcher.config()?;
    let names: Vec<String> = nodes.iter().map(NodeStatus::name).collect();
    terminal::say(&format!("rolling restart of cluster '{}': {}", status.name, names.join(", ")));
    for (index, node) in nodes.iter().enumerate() {
        let step = restart_one(watcher, node, status.voters.len(), &config);
        if let Err(failure) = step {
            return Err(stopped(&failure, &nodes[..index], &nodes[index..]));
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    terminal::say(&format!("rolling restart is done: {} nodes in {seconds:.1} s", nodes.len()));
    Ok(())
}

/// Authority is wanted at each management node: that it lacks at the second one must not be found when the first one
/// has been restarted.
fn prove_to_all(watcher: &mut Watcher, status: &Status, nodes: &[NodeStatus]) -> Result<(), Failure> {
    watcher.prove()?;
    let is_other = |node: &&NodeStatus| node.role == Role::Management && node.id != status.node;
    for node in nodes.iter().filter(is_other) {
        watcher.at(node.id)?.prove()?;
    }
    Ok(())
}

/// One of them; returns when all is as it was.
fn restart_one(
    watcher: &mut Watcher,
    node: &NodeStatus,
    voter_count: usize,
    config: &ClusterConfig,
) -> Result<(), Failure> {
    follow(watcher, node, Wanted::Restart)?;
    wait_until_calm(watcher, voter_count)?;
    if node.role == Role::Management {
        let forbidden = changed(config, &watcher.config()?);
        if !forbidden.is_empty() {
            return Err(Failure::new(format!(
                "config.ini has changed where it may not while the cluster runs: {}. Put back what was there, restart node {} alone \
                 ('{} restart'), and begin again. No data node has seen the new one",
                forbidden.join("; "),
                node.id,
                node.id
            )));
        }
    }
    Ok(())
}

/// The report to a person when it does not go on.
fn stopped(failure: &Failure, done: &[NodeStatus], left: &[NodeStatus]) -> Failure {
    let names = |nodes: &[NodeStatus]| {
        let names: Vec<String> = nodes.iter().map(|node| node.id.to_string()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    Failure::new(format!(
        "rolling restart stops here: {failure}\n  restarted: {}; not, or not whole: {}. The others go on serving. Look at the log of the node, \
         at latsdb_N_error.log in its DataDir, and at 'show'; when all nodes are started and in sync, 'rolling restart' begins anew",
        names(done),
        names(left)
    ))
}

/// In which order; or why it cannot be safe.
fn plan(status: &Status) -> Result<Vec<NodeStatus>, String> {
    let missing = status.missing(status.voters.len());
    if !missing.is_empty() {
        return Err(missing.join("; "));
    }
    let of = |role: Role| status.nodes.iter().filter(move |node| node.role == role);
    let sql = of(Role::Sql).filter(|node| node.state == super::status::State::Started);
    let nodes: Vec<NodeStatus> = of(Role::Management).chain(of(Role::Data)).chain(sql).cloned().collect();
    let refused: Vec<String> = nodes
        .iter()
        .filter_map(|node| Some(format!("{} may not stop: {}", node.name(), node.refusal.as_ref()?)))
        .collect();
    if refused.is_empty() { Ok(nodes) } else { Err(refused.join("; ")) }
}

fn wait_until_calm(watcher: &mut Watcher, voter_count: usize) -> Result<(), Failure> {
    let end = Instant::now() + CALM_LIMIT;
    let mut reminder = Reminder::new();
    loop {
        let missing = match watcher.status() {
            Ok(status) => {
                let mut missing = status.missing(voter_count);
                if !status.is_even {
                    missing.push("primaries are not spread evenly".to_owned());
                }
                missing
            }
            Err(failure) => vec![failure.to_string()],
        };
        if missing.is_empty() {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(Failure::new(format!("after {} s: {}", CALM_LIMIT.as_secs(), missing.join("; "))));
        }
        if reminder.is_due() {
            terminal::say(&format!("waiting before the next node: {}", missing.join("; ")));
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// The forbidden changes that were made: those that must not be while nodes with the old and with the new configuration
/// run together. They are the terms of the cluster, which the management node looks at before it starts again, too, and
/// where each node is.
///
/// Memory, threads, CPUs, limits of clients and time-outs are each node's own. HeartbeatIntervalDbDb is not: the lease
/// under which a node reads is as long as its own configuration says, and those that grant it count with theirs.
fn changed(old: &ClusterConfig, new: &ClusterConfig) -> Vec<String> {
    let mut changes = configuration::changed_terms(old, new);
    for before in &old.nodes {
        if let Some(after) = new.node(before.node) {
            let (was, is) = (place(before), place(after));
            if was != is {
                changes.push(format!("node {} was {was}, is {is}", before.node));
            }
        }
    }
    changes
}

/// Where a node is for the others.
fn place(node: &NodeConfig) -> String {
    let role = configuration::role_name(node.role);
    match (node.role, node.management_port) {
        (NodeRole::Management, Some(port)) => {
            format!("{role} at {}, ServerPort {}, PortNumber {port}", node.host, node.server_port)
        }
        _ => format!("{role} at {}, ServerPort {}", node.host, node.server_port),
    }
}

#[cfg(test)]
mod tests;
