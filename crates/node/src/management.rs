//! The management protocol: what `latsdb mgm` speaks with a management node, and how other nodes fetch their configuration.
//!
//! One request per line; the answer is lines of text, ended by a line with a single dot. Verbs are ndb_mgm's:
//! `show`, `all status`, `N status`, `N stop`, `N restart`, `shutdown`; and ours: `check` (compare replicas), `get config` (the text of config.ini) and
//! `get status` (for programs). What takes several of them, and waits in between, is the client's: `rolling restart`.
//!
//! A command that loses data is done only if the cluster's name is typed with it, and who did that is in the log.
//!
//! Invariants: a line is at most [`LINE_SIZE_MAX`] bytes; anything unknown is answered with an error line, and a line that is too long closes that
//! connection.

mod next_loss;
mod status;

use protocol::control::VoterPlace;
use protocol::module::EXIT_LEFT_OUT;
use protocol::{
    Address, ConnectionAction, ConnectionId, NodeRole, Outputs, ReceiveBuffer, RequestToRuntime, Severity,
    Signal, View,
};
use query::Shared;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::FixedMap;
use types::{Incarnation, NodeId};

/// Longest request.
pub const LINE_SIZE_MAX: usize = 4_096;

/// A configured node, as `show` prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfiguredNode {
    /// Its id.
    pub node: NodeId,
    /// Its role.
    pub role: NodeRole,
    /// Its host.
    pub host: String,
}

/// A request that `main` answers later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ManagementRequest {
    /// Compare replicas.
    Check,
    /// Stop one node.
    Stop {
        /// The node.
        node: NodeId,
        /// What its process is to end with.
        exit_code: u8,
    },
}

/// Whether this node could start now: what its next life will read is looked at before this one ends.
#[derive(Clone)]
pub struct StartCheck(pub Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl std::fmt::Debug for StartCheck {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StartCheck")
    }
}

/// What `main` knows of the cluster.
pub struct ClusterState<'a> {
    /// The newest view.
    pub view: &'a View,
    /// Who has copies of the control log.
    pub voters: &'a [VoterPlace],
    /// How often each node was lost.
    pub losses: &'a BTreeMap<NodeId, u64>,
    /// The life of this node.
    pub incarnation: Incarnation,
}

/// Appends an answer: its lines, then a line with a single dot. A line that begins with a dot gets another one.
pub fn write_answer(text: &str, reply: &mut Vec<u8>) {
    for line in text.lines() {
        if line.starts_with('.') {
            reply.push(b'.');
        }
        reply.extend_from_slice(line.as_bytes());
        reply.push(b'\n');
    }
    reply.extend_from_slice(b".\n");
}

/// How far a configured node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NodeState {
    NotConnected,
    /// A data node that no view has.
    Waiting,
    /// A data node that gets its rows.
    Copying,
    /// A data node in sync; of other nodes: connected.
    Started,
}

/// The management node's side of the protocol.
pub struct Management {
    node: NodeId,
    cluster: String,
    version: String,
    config_text: String,
    start_check: Option<StartCheck>,
    nodes: Vec<ConfiguredNode>,
    up: BTreeMap<NodeId, bool>,
    /// Of nodes that are copied to: how many partitions they have, and how many there are.
    progress: BTreeMap<NodeId, (u32, u32)>,
    /// From where each connection comes.
    clients: FixedMap<ConnectionId, String>,
}

impl Management {
    /// The protocol of management node `node`, for a cluster described by `config_text`.
    #[must_use]
    pub fn new(
        node: NodeId,
        cluster: String,
        version: String,
        config_text: String,
        nodes: Vec<ConfiguredNode>,
    ) -> Self {
        Self {
            node,
            cluster,
            version,
            config_text,
            start_check: None,
            nodes,
            up: BTreeMap::from([(node, true)]),
            progress: BTreeMap::new(),
            clients: FixedMap::default(),
        }
    }

    /// The same, which does not start again if this says that it could not.
    #[must_use]
    pub fn with_start_check(mut self, check: Option<StartCheck>) -> Self {
        self.start_check = check;
        self
    }

    /// A node's links came up or went down.
    pub fn set_up(&mut self, node: NodeId, is_up: bool) {
        self.up.insert(node, is_up);
        self.progress.remove(&node);
    }

    /// A node that is copied to tells how far it is.
    pub fn set_progress(&mut self, node: NodeId, copied: u32, partitions: u32) {
        self.progress.insert(node, (copied, partitions));
    }

    /// A connection is there.
    pub fn welcome(&mut self, connection: ConnectionId, from: String) {
        self.clients.insert(connection, from);
    }

    /// A connection is gone.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.clients.remove(&connection);
    }

    /// Answers the complete lines that have arrived; gives those that `main` has to answer.
    pub fn on_bytes(
        &mut self,
        me: Address,
        connection: ConnectionId,
        buffer: &mut ReceiveBuffer,
        cluster: &ClusterState<'_>,
        outputs: &mut Outputs<Shared>,
    ) -> Vec<ManagementRequest> {
        let mut requests = Vec::new();
        while let Some(end) = buffer.bytes().iter().position(|byte| *byte == b'\n') {
            if end > LINE_SIZE_MAX {
                // Its beginning is no request.
                break;
            }
            let line = String::from_utf8_lossy(&buffer.bytes()[..end]).trim().to_ascii_lowercase();
            buffer.consume(end + 1);
            if line == "check" {
                requests.push(ManagementRequest::Check);
                continue;
            }
            let answer = match self.stop_request(&line, cluster) {
                Some(Ok(request)) => {
                    requests.push(request);
                    continue;
                }
                Some(Err(refusal)) => refusal,
                None => self.answer((me, connection), &line, cluster, outputs),
            };
            write_answer(&answer, outputs.buffer(connection));
        }
        if buffer.bytes().len() > LINE_SIZE_MAX {
            outputs.act(connection, ConnectionAction::Close);
        }
        requests
    }

    fn answer(
        &self,
        (me, connection): (Address, ConnectionId),
        line: &str,
        cluster: &ClusterState<'_>,
        outputs: &mut Outputs<Shared>,
    ) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        let view = cluster.view;
        match words.as_slice() {
            ["show"] => self.show(cluster),
            ["get", "config"] => self.config_text.clone(),
            ["get", "status"] => self.machine_status(cluster),
            ["all", "status"] => {
                let nodes = self.nodes.iter().filter(|node| node.role != NodeRole::Management);
                nodes.map(|node| self.status(node, view)).collect()
            }
            [node, "status"] => match self.find(node) {
                Some(node) => self.status(node, view),
                None => format!("ERROR: no node {node} in config.ini\n"),
            },
            ["all", "stop"] => self.refuse_shutdown("all stop"),
            ["all", "restart"] => "ERROR: all restart would stop all nodes at once, and all rows are in memory only; 'rolling restart' \
                                   restarts them one after the other\n"
                .to_owned(),
            ["rolling", "restart"] => {
                "ERROR: a management node restarts one node at a time; 'rolling restart' is a command of `latsdb mgm`\n".to_owned()
            }
            [_, "stop" | "restart", option, ..] => {
                format!("ERROR: {option} is not supported: a node that stops hands its partitions over, and has no rows when it starts\n")
            }
            ["shutdown", name] if *name == self.cluster.to_ascii_lowercase() => {
                let who = self.clients.get(&connection).map_or("somebody", String::as_str);
                let what = format!(
                    "{who} has shut down cluster '{}', and typed its name: all rows are lost",
                    self.cluster
                );
                outputs.event(Severity::Warning, what);
                for node in self.nodes.iter().filter(|node| node.node != self.node) {
                    stop(me, node.node, outputs);
                }
                outputs.request(RequestToRuntime::Exit(0));
                self.shutdown_requested()
            }
            ["shutdown", ..] => self.refuse_shutdown("shutdown"),
            ["help"] | [] => HELP.to_owned(),
            ["start" | "abort", "backup", ..] | ["enter" | "exit", "single", ..] => {
                format!("ERROR: this version of LatsDB does not support '{line}' yet\n")
            }
            _ => format!("ERROR: unknown command '{line}'; try 'help'\n"),
        }
    }

    /// The answer to `shutdown`: who is not connected is not reached, and has to be stopped by hand.
    fn shutdown_requested(&self) -> String {
        let others = self.nodes.iter().map(|node| node.node).filter(|node| *node != self.node);
        let away: Vec<NodeId> = others.filter(|node| !self.is_up(*node)).collect();
        let mut text = "shutdown requested\n".to_owned();
        if !away.is_empty() {
            text.push_str(&format!(
                "not connected, and not stopped if it runs: node {}\n",
                next_loss::list(&away)
            ));
        }
        text
    }

    /// `N stop` and `N restart`: what `main` is to do, or why not.
    fn stop_request(
        &self,
        line: &str,
        cluster: &ClusterState<'_>,
    ) -> Option<Result<ManagementRequest, String>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [word, verb @ ("stop" | "restart")] = words.as_slice() else { return None };
        if *word == "all" {
            return None;
        }
        let Some(node) = self.find(word) else {
            return Some(Err(format!("ERROR: no node {word} in config.ini\n")));
        };
        let id = node.node;
        if let Some(why) = self.refusal(node, cluster) {
            return Some(Err(format!("ERROR: node {id} may not {verb}: {why}\n")));
        }
        let is_restart = *verb == "restart";
        if let Some(StartCheck(check)) = self.start_check.as_ref().filter(|_| is_restart && id == self.node)
            && let Err(why) = check()
        {
            return Some(Err(format!("ERROR: node {id} may not restart, it could not start again: {why}\n")));
        }
        let exit_code = if is_restart { EXIT_LEFT_OUT } else { 0 };
        Some(Ok(ManagementRequest::Stop { node: id, exit_code }))
    }

    fn refuse_shutdown(&self, line: &str) -> String {
        format!(
            "ERROR: {line} stops all nodes, and all rows are lost, because they are in memory only. If that is meant, name the cluster: shutdown {}\n",
            self.cluster
        )
    }

    fn find(&self, word: &str) -> Option<&ConfiguredNode> {
        let id: u16 = word.parse().ok()?;
        self.nodes.iter().find(|node| node.node == NodeId(id))
    }

    fn is_up(&self, node: NodeId) -> bool {
        self.up.get(&node).copied().unwrap_or(false)
    }

    /// By the links and the newest view.
    fn state(&self, node: &ConfiguredNode, view: &View) -> NodeState {
        let is_connected = self.is_up(node.node);
        match node.role {
            _ if !is_connected => NodeState::NotConnected,
            NodeRole::Management | NodeRole::Sql => NodeState::Started,
            NodeRole::Data if view.groups.iter().any(|group| group.in_sync.contains(&node.node)) => {
                NodeState::Started
            }
            NodeRole::Data if view.is_counted(node.node) => NodeState::Copying,
            NodeRole::Data => NodeState::Waiting,
        }
    }

    fn status(&self, node: &ConfiguredNode, view: &View) -> String {
        let state = match self.state(node, view) {
            NodeState::NotConnected => "not connected".to_owned(),
            NodeState::Waiting => "starting (waits to be taken in)".to_owned(),
            NodeState::Copying => match self.progress.get(&node.node) {
                Some((copied, partitions)) => {
                    format!("starting ({copied} of {partitions} partitions are copied to it)")
                }
                None => "starting (reads the catalogue)".to_owned(),
            },
            NodeState::Started => "started".to_owned(),
        };
        format!("Node {}: {state}\n", node.node)
    }

    fn show(&self, cluster: &ClusterState<'_>) -> String {
        let view = cluster.view;
        let mut text = format!(
            "Cluster Configuration\n---------------------\ncluster '{}', view {}\n",
            self.cluster, view.number
        );
        let sections = [
            (NodeRole::Data, "ndbd(NDB)"),
            (NodeRole::Management, "ndb_mgmd(MGM)"),
            (NodeRole::Sql, "mysqld(API)"),
        ];
        for (role, title) in sections {
            let nodes: Vec<&ConfiguredNode> = self.nodes.iter().filter(|node| node.role == role).collect();
            text.push_str(&format!("[{title}]\t{} node(s)\n", nodes.len()));
            for node in nodes {
                text.push_str(&self.show_node(node, cluster));
            }
            text.push('\n');
        }
        for warning in next_loss::warnings(view, cluster.voters, |node| self.is_up(node)) {
            text.push_str(&format!("WARNING: {warning}\n"));
        }
        text
    }

    fn show_node(&self, node: &ConfiguredNode, cluster: &ClusterState<'_>) -> String {
        let view = cluster.view;
        let starting = match self.state(node, view) {
            NodeState::NotConnected => {
                return format!("id={} (not connected, accepting connect from {})\n", node.node, node.host);
            }
            NodeState::Waiting | NodeState::Copying => ", starting",
            NodeState::Started => "",
        };
        let group = view.groups.iter().skip(1).position(|group| group.replicas.contains(&node.node));
        let place = group.map_or_else(String::new, |group| format!(", Nodegroup: {group}"));
        let master = if view.epoch_master() == Some(node.node) { ", *" } else { "" };
        let votes = cluster.voters.iter().any(|voter| voter.node == node.node && voter.votes);
        let voter = if votes { ", voter" } else { "" };
        // Of the others it is not known: while they are started again, each runs what its angel has found.
        let version = if node.node == self.node { self.version.as_str() } else { "connected" };
        format!("id={}\t@{}  ({version}{starting}{place}{master}{voter})\n", node.node, node.host)
    }
}

fn stop(me: Address, node: NodeId, outputs: &mut Outputs<Shared>) {
    let reason = format!("requested at management node {}", me.node);
    outputs.send(me, Address::main(node), Signal::StopNode { reason, exit_code: 0, is_alone: false });
}

const HELP: &str = "\
show                 the configured nodes and whether they are connected
all status           the state of every data and SQL node
<id> status          the state of one node
<id> stop            stop one node: its primaries are handed over and its sessions end first
<id> restart         the same, and its angel starts it again: it gets its rows from the others, and its share of primaries
rolling restart      all nodes, one after the other: for another version of LatsDB, or another config.ini
shutdown <cluster>   stop the whole cluster; all rows are lost, so its name must be typed
check                compare the replicas of all tables, and index entries with rows, online
get config           the text of config.ini
";

#[cfg(test)]
mod tests;
