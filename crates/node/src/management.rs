//! The management protocol: what `latsdb mgm` speaks with a management node, and how other nodes fetch their
//! configuration.
//!
//! One request per line; the answer is lines of text, ended by a line with a single dot. Verbs are ndb_mgm's: `show`,
//! `all status`, `N status`, `N report`, `N stop`, `N restart`, `all stop`, `all restart`, `shutdown`. And there are
//! ours: `check` (compare replicas), `recover voters`, `get config` (the text of config.ini), `get status` (for
//! programs) and `authenticate`. A command that takes several of them, and waits in between, is the client's: `rolling
//! restart`.
//!
//! | file | what |
//! | --- | --- |
//! | `command` | which lines are commands, and whether each needs authority |
//! | `pointers` | NDB's words for what is done elsewhere here |
//! | `authority` | how a connection proves that it has authority |
//! | `strangers` | who was refused, counted and told |
//! | `status`, `next_loss` | what `get status` says, and what `show` warns of |
//!
//! A command that loses data is done only if the cluster's name is typed with it, and who did that is in the log.
//!
//! Invariants: a line is at most [`LINE_SIZE_MAX`] bytes. The first line that is no command, or is too long, closes its
//! connection. Nothing behind it is read, so no page in a browser can have a command obeyed in the body of a request. A
//! command that needs authority is done only on a connection that has proved it. When there are [`CONNECTIONS_MAX`]
//! connections, the one that was idle for longest makes room for the next, if it has proved nothing.

mod authority;
mod command;
mod next_loss;
mod pointers;
mod status;
mod strangers;
mod tls;

pub use authority::{Authority, Proof, Token, digest};

use authority::{Challenge, Challenges};
use command::{Command, Refusal, Report};
use protocol::control::{RecoveryGoal, VoterPlace};
use protocol::module::EXIT_LEFT_OUT;
use protocol::signal::{FullStop, NodeReport};
use protocol::{
    Address, ConnectionAction, ConnectionId, NodeRole, Outputs, ReceiveBuffer, RequestToRuntime, Severity,
    Signal, View,
};
use query::Shared;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{FixedMap, Instant};
use strangers::Strangers;
use types::{Incarnation, NodeId};

/// Longest request.
pub const LINE_SIZE_MAX: usize = 4_096;
/// Connections that are kept, if those beyond have proved nothing.
pub const CONNECTIONS_MAX: usize = 256;
/// The start of a line of an answer that is not complete yet: how far it is.
pub const PROGRESS_PREFIX: &str = "PROGRESS: ";
/// Letters of a report that are shown.
const TOLD_MAX: usize = 400;
/// How the answer begins to a command for which a connection has not shown enough; the client proves itself then, and
/// asks again.
pub const NOT_AUTHORIZED: &str = "ERROR: not authorized: ";

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
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ManagementRequest {
    /// Tell how connections are protected.
    TlsInfo,
    /// Compare replicas.
    Check,
    /// Tell how full the DataMemory of data nodes is.
    MemoryReport {
        /// The nodes.
        nodes: Vec<NodeId>,
    },
    /// Stop the whole cluster, so that nothing is lost.
    FullStop {
        /// Which nodes.
        extent: FullStop,
        /// The operator's order and address, for the logs.
        reason: String,
    },
    /// Stop one node.
    Stop {
        /// The node.
        node: NodeId,
        /// The exit code of its process.
        exit_code: u8,
    },
    /// The control log is to go on without nodes that are gone for good (`membership::recovery`).
    Recover {
        /// The cluster's name, as it was typed.
        cluster: String,
        /// The nodes.
        without: Vec<NodeId>,
        /// The operator's address, for the logs.
        operator: String,
        /// The part that is to go on.
        goal: RecoveryGoal,
    },
}

/// Whether this node could start now: what its next life will read is looked at before this one ends.
#[derive(Clone)]
pub struct StartCheck(pub Arc<StartCheckFunction>);

/// Given the text of config.ini that management nodes hand out: why the node could not start. A management node reads
/// its file, and not that text.
pub type StartCheckFunction = dyn Fn(&str) -> Result<(), String> + Send + Sync;

impl std::fmt::Debug for StartCheck {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StartCheck")
    }
}

/// The part of `main`'s knowledge of the cluster that is shown.
pub struct ClusterState<'a> {
    /// The newest view.
    pub view: &'a View,
    /// The nodes that have copies of the control log.
    pub voters: &'a [VoterPlace],
    /// How often each node was lost.
    pub losses: &'a BTreeMap<NodeId, u64>,
    /// The life of this node.
    pub incarnation: Incarnation,
    /// This node waits for this from the control plane; empty: for nothing.
    pub awaited: &'a str,
    /// When it is asked.
    pub now: Instant,
}

/// A connection.
struct Client {
    /// Host and port.
    from: String,
    proof: Proof,
    /// The challenge that it was asked to answer.
    challenge: Option<Challenge>,
    /// Its place among all uses of connections: the lowest was idle for longest.
    used: u64,
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

/// The answer to a command.
enum Answer {
    Text(String),
    /// `main` answers it.
    Later(ManagementRequest),
}

/// The order to one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verb {
    Stop,
    Restart,
}

/// How far a configured node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NodeState {
    NotConnected,
    /// A data node that no view has.
    Waiting,
    /// A data node that gets its rows.
    Copying,
    /// A data node in sync, or another node that is connected, through which rows cannot be read yet.
    Opening,
    /// Rows can be read through it; a management node that is connected.
    Started,
}

/// The management node's side of the protocol.
pub struct Management {
    node: NodeId,
    cluster: String,
    version: String,
    config_text: String,
    start_check: Option<StartCheck>,
    /// Data nodes keep rows on disk.
    keeps_rows: bool,
    nodes: Vec<ConfiguredNode>,
    up: BTreeMap<NodeId, bool>,
    /// The reports of connected nodes on themselves, and the addresses of those on other machines.
    reports: BTreeMap<NodeId, NodeReport>,
    addresses: BTreeMap<NodeId, String>,
    /// For nodes that are copied to: how many slots they have, and how many there are.
    progress: BTreeMap<NodeId, (u32, u32)>,
    clients: FixedMap<ConnectionId, Client>,
    /// How often connections were used.
    uses: u64,
    authority: Option<Authority>,
    challenges: Option<Challenges>,
    strangers: Strangers,
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
            keeps_rows: false,
            nodes,
            up: BTreeMap::from([(node, true)]),
            reports: BTreeMap::new(),
            addresses: BTreeMap::new(),
            progress: BTreeMap::new(),
            clients: FixedMap::default(),
            uses: 0,
            authority: None,
            challenges: None,
            strangers: Strangers::default(),
        }
    }

    /// The same, with what proofs are checked with; without it nobody has authority.
    #[must_use]
    pub fn with_authority(mut self, authority: Option<Authority>) -> Self {
        self.authority = authority;
        self
    }

    /// The node starts, with secret randomness.
    pub fn start(&mut self, seed: [u8; 32]) {
        self.challenges = Some(Challenges::new(seed));
    }

    /// The same, which does not start again if this says that it could not.
    #[must_use]
    pub fn with_start_check(mut self, check: Option<StartCheck>) -> Self {
        self.start_check = check;
        self
    }

    /// The same, for a cluster whose data nodes keep rows on disk.
    #[must_use]
    pub fn with_rows_on_disk(mut self) -> Self {
        self.keeps_rows = true;
        self
    }

    /// The text of config.ini that nodes get which start.
    #[must_use]
    pub fn config_text(&self) -> &str {
        &self.config_text
    }

    /// A node's links came up or went down.
    pub fn set_up(&mut self, node: NodeId, is_up: bool) {
        self.up.insert(node, is_up);
        if !is_up {
            // Its report may come before it is known here that its links are up.
            self.progress.remove(&node);
            self.reports.remove(&node);
            self.addresses.remove(&node);
        }
    }

    /// A node tells how far it is. Another config.ini of another management node is told in the log, once for each
    /// connection.
    pub fn set_report(&mut self, node: NodeId, report: NodeReport, outputs: &mut Outputs<Shared>) {
        let is_news = self.reports.get(&node).is_none_or(|before| before.config != report.config);
        self.reports.insert(node, report);
        if is_news {
            for other in self.other_configurations() {
                outputs.event(Severity::Warning, other);
            }
        }
    }

    /// From where nodes on other machines are connected.
    pub fn set_addresses<'address>(&mut self, addresses: impl Iterator<Item = (NodeId, &'address str)>) {
        let elsewhere = addresses.filter(|(_, address)| *address != "localhost");
        self.addresses = elsewhere.map(|(node, address)| (node, address.to_owned())).collect();
    }

    /// Management nodes whose config.ini is not this one's.
    fn other_configurations(&self) -> Vec<String> {
        let Some(own) = self.reports.get(&self.node) else { return Vec::new() };
        let others = self.nodes.iter().filter(|node| node.role == NodeRole::Management);
        others
            .filter(|node| self.reports.get(&node.node).is_some_and(|report| report.config != own.config))
            .map(|node| {
                format!(
                    "management nodes {} and {} have read different config.ini: nodes that start get the one or the other. Make the files equal, then \
                     restart these management nodes",
                    self.node, node.node
                )
            })
            .collect()
    }

    /// A node that is copied to tells how far it is.
    pub fn set_progress(&mut self, node: NodeId, copied: u32, partitions: u32) {
        self.progress.insert(node, (copied, partitions));
    }

    /// A connection is there, from this host and port.
    pub fn welcome(&mut self, connection: ConnectionId, from: String, outputs: &mut Outputs<Shared>) {
        if self.clients.len() >= CONNECTIONS_MAX {
            let unproved = self.clients.iter().filter(|(_, client)| client.proof == Proof::None);
            let idle = unproved.min_by_key(|(_, client)| client.used).map(|(connection, _)| *connection);
            if let Some(idle) = idle {
                self.clients.remove(&idle);
                outputs.act(idle, ConnectionAction::Close);
            }
        }
        self.uses += 1;
        let client = Client { from, proof: Proof::None, challenge: None, used: self.uses };
        self.clients.insert(connection, client);
    }

    /// TLS is established on a connection: the driver has verified a certificate of this cluster.
    pub fn certify(&mut self, connection: ConnectionId) {
        if let Some(client) = self.clients.get_mut(&connection) {
            client.proof = Proof::Certificate;
        }
    }

    /// A connection is gone.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.clients.remove(&connection);
    }

    /// Connections that were closed because they sent no command, or a proof that is none.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.strangers.count()
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
        self.uses += 1;
        if let Some(client) = self.clients.get_mut(&connection) {
            client.used = self.uses;
        }
        // A closed connection is not heard any more.
        while self.clients.contains_key(&connection) {
            let end = buffer.bytes().iter().position(|byte| *byte == b'\n');
            let Some(end) = end.filter(|end| *end <= LINE_SIZE_MAX) else { break };
            let raw = buffer.bytes()[..end].to_vec();
            buffer.consume(end + 1);
            let line = String::from_utf8_lossy(&raw).to_ascii_lowercase();
            let line = line.trim().trim_end_matches(';').trim_end();
            let Some(command) = Command::parse(line) else {
                if is_typed(line) {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    let hint = pointers::verbs(&words).unwrap_or("try 'help'");
                    let answer = format!("ERROR: this is no command, so the connection is closed; {hint}\n");
                    write_answer(&answer, outputs.buffer(connection));
                }
                let why = format!("it sent what is no command: {}", strangers::quoted(&raw));
                self.refuse(connection, cluster.now, &why, outputs);
                break;
            };
            match self.on_command((me, connection), command, line, cluster, outputs) {
                Answer::Text(answer) => write_answer(&answer, outputs.buffer(connection)),
                Answer::Later(request) => requests.push(request),
            }
        }
        if !self.clients.contains_key(&connection) {
            buffer.consume(buffer.bytes().len());
        } else if buffer.bytes().len() > LINE_SIZE_MAX {
            self.refuse(connection, cluster.now, "it sent a line that is too long", outputs);
        }
        requests
    }

    /// Closes the connection of who is no client of this protocol.
    fn refuse(&mut self, connection: ConnectionId, now: Instant, why: &str, outputs: &mut Outputs<Shared>) {
        let from = self.clients.remove(&connection).map_or_else(String::new, |client| client.from);
        if let Some(line) = self.strangers.refuse(now, &from, why) {
            outputs.event(Severity::Warning, line);
        }
        outputs.act(connection, ConnectionAction::Close);
    }

    fn on_command(
        &mut self,
        (me, connection): (Address, ConnectionId),
        command: Command<'_>,
        line: &str,
        cluster: &ClusterState<'_>,
        outputs: &mut Outputs<Shared>,
    ) -> Answer {
        let view = cluster.view;
        let proof = self.clients.get(&connection).map_or(Proof::None, |client| client.proof);
        if !proof.meets(command.need()) {
            return Answer::Text(self.not_authorized(line));
        }
        Answer::Text(match command {
            Command::Help(what) => help(what),
            Command::Show => self.show(cluster),
            Command::GetConfig => self.config_text.clone(),
            Command::GetStatus => self.machine_status(cluster),
            Command::AllStatus => {
                let nodes = self.nodes.iter().filter(|node| node.role != NodeRole::Management);
                nodes.map(|node| self.status(node, view)).collect()
            }
            Command::Status(nodes) => match self.find_all(nodes) {
                Ok(nodes) => nodes.into_iter().map(|node| self.status(node, view)).collect(),
                Err(error) => error,
            },
            Command::Report(nodes, report) => return self.report(nodes, report),
            Command::Elsewhere => {
                pointers::answer(&line.split_whitespace().collect::<Vec<_>>()).unwrap_or_default()
            }
            Command::Authenticate(None) => self.challenge(connection),
            Command::Authenticate(Some(answer)) => {
                self.authenticate(connection, answer, cluster.now, outputs)
            }
            Command::Check => return Answer::Later(ManagementRequest::Check),
            Command::TlsInfo => return Answer::Later(ManagementRequest::TlsInfo),
            Command::Stop(node) => return self.stop_node(node, Verb::Stop, cluster),
            Command::Restart(node) => return self.stop_node(node, Verb::Restart, cluster),
            Command::RecoverVoters(words) => {
                return self.recover(connection, words, RecoveryGoal::Voters);
            }
            Command::LoseData(words) => return self.recover(connection, words, RecoveryGoal::Rows),
            Command::Shutdown(None) if self.keeps_rows => {
                return self.full_stop(connection, FullStop::Shutdown, line);
            }
            Command::Shutdown(Some(name)) if self.keeps_rows && name == self.cluster.to_ascii_lowercase() => {
                return self.full_stop(connection, FullStop::Shutdown, line);
            }
            Command::Shutdown(_) if self.keeps_rows => {
                format!("ERROR: the name of this cluster is '{}'; shutdown needs none\n", self.cluster)
            }
            Command::AllStop if self.keeps_rows => return self.full_stop(connection, FullStop::Stop, line),
            Command::AllRestart if self.keeps_rows => {
                return self.full_stop(connection, FullStop::Restart, line);
            }
            Command::AllStop => self.refuse_shutdown("all stop"),
            Command::AllRestart => {
                "ERROR: all restart would stop all nodes at once, and all rows are in memory only; 'rolling restart' \
                 restarts them one after the other\n"
                    .to_owned()
            }
            Command::Shutdown(Some(name)) if name == self.cluster.to_ascii_lowercase() => {
                let who = self.clients.get(&connection).map_or("somebody", |client| client.from.as_str());
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
            Command::Shutdown(_) => self.refuse_shutdown("shutdown"),
            Command::Refused(refusal) => Self::refusal_text(refusal),
        })
    }

    /// All nodes are to stop together: `main` sees to it.
    fn full_stop(&self, connection: ConnectionId, extent: FullStop, line: &str) -> Answer {
        let who = self.clients.get(&connection).map_or("somebody", |client| client.from.as_str());
        let reason = format!("{who} ordered '{line}' at management node {}", self.node);
        Answer::Later(ManagementRequest::FullStop { extent, reason })
    }

    fn refusal_text(refusal: Refusal<'_>) -> String {
        match refusal {
            Refusal::RollingRestart => {
                "ERROR: a management node restarts one node at a time; 'rolling restart' is a command of `latsdb mgm`\n".to_owned()
            }
            Refusal::Option(option) => {
                format!("ERROR: {option} is not supported: a node that stops hands over what it leads, and gets what it missed when it starts\n")
            }
            Refusal::Several => {
                "ERROR: one node at a time; 'rolling restart' restarts all, one after the other\n".to_owned()
            }
        }
    }

    /// `2 3 report memory`: what `main` is to ask, or the answer.
    fn report(&self, nodes: &str, report: Report) -> Answer {
        let found = match nodes {
            "all" => Ok(self.nodes.iter().filter(|node| node.role == NodeRole::Data).collect()),
            _ => self.find_all(nodes),
        };
        let nodes = match found {
            Ok(nodes) => nodes,
            Err(error) => return Answer::Text(error),
        };
        if let Some(other) = nodes.iter().find(|node| node.role != NodeRole::Data) {
            return Answer::Text(format!(
                "ERROR: node {} is no data node, and has nothing to report\n",
                other.node
            ));
        }
        let nodes = nodes.into_iter().map(|node| node.node);
        match report {
            Report::MemoryUsage => Answer::Later(ManagementRequest::MemoryReport { nodes: nodes.collect() }),
            Report::BackupStatus => Answer::Text(
                nodes.map(|node| format!("Node {node}: no backup: there are none yet\n")).collect(),
            ),
        }
    }

    // ---- authority --------------------------------------------------------------------------------------------------

    /// The answer to a connection that has not shown enough: how to show it.
    fn not_authorized(&self, line: &str) -> String {
        let how = match &self.authority {
            Some(authority) => format!(
                "on the machine of node {} `latsdb mgm` shows it by itself, if it may read {}; elsewhere give it a copy of that file with --token-file",
                self.node, authority.file
            ),
            None => format!("node {} has no token, so nobody has it", self.node),
        };
        format!(
            "{NOT_AUTHORIZED}'{line}' needs authority over the cluster, and this connection has shown none: {how}\n"
        )
    }

    fn challenge(&mut self, connection: ConnectionId) -> String {
        let (Some(authority), Some(challenges)) = (&self.authority, &mut self.challenges) else {
            return format!("ERROR: node {} has no token, so nobody can prove to have it\n", self.node);
        };
        let challenge = challenges.next();
        let answer =
            format!("challenge {}\nid {}\nfile {}\n", challenge.text(), authority.token.id(), authority.file);
        if let Some(client) = self.clients.get_mut(&connection) {
            client.challenge = Some(challenge);
        }
        answer
    }

    fn authenticate(
        &mut self,
        connection: ConnectionId,
        answer: &str,
        now: Instant,
        outputs: &mut Outputs<Shared>,
    ) -> String {
        let challenge = self.clients.get_mut(&connection).and_then(|client| client.challenge.take());
        let token = self.authority.as_ref().map(|authority| &authority.token);
        let is_right =
            challenge.zip(token).is_some_and(|(challenge, token)| challenge.accepts(answer, token));
        if let Some(client) = self.clients.get_mut(&connection).filter(|_| is_right) {
            client.proof = Proof::Token;
            return "authorized\n".to_owned();
        }
        self.refuse(connection, now, "it does not know the token", outputs);
        format!("ERROR: that does not prove to know the token of node {}\n", self.node)
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

    /// `recover voters NAME without 1,3` and `start NAME with data loss without 3`: what `main` is to do, or why not.
    /// The name is compared where the order is carried out.
    fn recover(&self, connection: ConnectionId, words: Option<(&str, &str)>, goal: RecoveryGoal) -> Answer {
        let name = &self.cluster;
        let usage = match goal {
            RecoveryGoal::Voters => format!(
                "recover voters {name} without 1,3 names the cluster, and all management and data nodes that are gone for good"
            ),
            RecoveryGoal::Rows => format!(
                "start {name} with data loss without 3,4 names the cluster, and the data nodes whose disks are gone for good, if there are any"
            ),
        };
        let Some((cluster, list)) = words else { return Answer::Text(format!("ERROR: {usage}\n")) };
        let nodes: String = list.split_whitespace().collect();
        let ids = nodes.split(',').filter(|id| !id.is_empty() || !nodes.is_empty());
        let without: Result<Vec<NodeId>, _> = ids.map(|id| id.parse().map(NodeId)).collect();
        let Ok(without) = without else {
            return Answer::Text(format!("ERROR: '{nodes}' is no list of node ids; {usage}\n"));
        };
        let operator = self.clients.get(&connection).map_or_else(String::new, |client| client.from.clone());
        Answer::Later(ManagementRequest::Recover { cluster: cluster.to_owned(), without, operator, goal })
    }

    /// `N stop` and `N restart`: what `main` is to do, or why not.
    fn stop_node(&self, word: &str, verb: Verb, cluster: &ClusterState<'_>) -> Answer {
        let Some(node) = self.find(word) else {
            return Answer::Text(format!("ERROR: no node {word} in config.ini\n"));
        };
        let id = node.node;
        let (verb, exit_code) = match verb {
            Verb::Stop => ("stop", 0),
            Verb::Restart => ("restart", EXIT_LEFT_OUT),
        };
        if let Some(why) = self.refusal(node, cluster) {
            return Answer::Text(format!("ERROR: node {id} may not {verb}: {why}\n"));
        }
        if let Some(StartCheck(check)) =
            self.start_check.as_ref().filter(|_| exit_code != 0 && id == self.node)
            && let Err(why) = check(&self.config_text)
        {
            return Answer::Text(format!(
                "ERROR: node {id} may not restart, it could not start again: {why}\n"
            ));
        }
        Answer::Later(ManagementRequest::Stop { node: id, exit_code })
    }

    fn refuse_shutdown(&self, line: &str) -> String {
        format!(
            "ERROR: {line} stops all nodes, and all rows are lost, because they are in memory only. If that is meant, name the cluster: shutdown {}\n",
            self.cluster
        )
    }

    /// The nodes of a list of ids, or an error.
    fn find_all(&self, ids: &str) -> Result<Vec<&ConfiguredNode>, String> {
        let found = ids.split_whitespace().map(|id| {
            self.find(id).ok_or_else(|| {
                let known: Vec<String> = self.nodes.iter().map(|node| node.node.to_string()).collect();
                format!("ERROR: no node {id} in config.ini; there are {}\n", known.join(", "))
            })
        });
        found.collect()
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
        // A connected node tells at once; where no node tells anything, this node itself does not.
        let tells = self.reports.contains_key(&self.node);
        let serves = self.reports.get(&node.node).map_or(!tells, |report| report.serves);
        match node.role {
            _ if !is_connected => NodeState::NotConnected,
            NodeRole::Management => NodeState::Started,
            NodeRole::Sql if serves => NodeState::Started,
            NodeRole::Sql => NodeState::Opening,
            NodeRole::Data if !serves && view.is_in_sync(node.node) => NodeState::Opening,
            NodeRole::Data if view.groups.iter().any(|group| group.in_sync.contains(&node.node)) => {
                NodeState::Started
            }
            NodeRole::Data if view.is_member(node.node) => NodeState::Copying,
            NodeRole::Data => NodeState::Waiting,
        }
    }

    fn status(&self, node: &ConfiguredNode, view: &View) -> String {
        let waits = self.reports.get(&node.node).map(|report| report.waits.as_str());
        let waits = waits.filter(|waits| !waits.is_empty()).map(told);
        let state = match self.state(node, view) {
            NodeState::NotConnected => "not connected".to_owned(),
            NodeState::Waiting => {
                format!("starting (waits for {})", waits.as_deref().unwrap_or("the members to take it in"))
            }
            NodeState::Copying => match self.progress.get(&node.node) {
                Some((copied, partitions)) => {
                    format!("starting ({copied} of {partitions} slots are copied to it)")
                }
                None => "starting (reads the catalogue)".to_owned(),
            },
            NodeState::Opening => match waits {
                Some(waits) => format!("starting (waits for {waits})"),
                None => "starting (it has not told yet what it waits for)".to_owned(),
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
        if !cluster.awaited.is_empty() {
            text.push_str(&format!("WARNING: {}\n", cluster.awaited));
        }
        for warning in self.other_configurations() {
            text.push_str(&format!("WARNING: {warning}\n"));
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
            NodeState::Waiting | NodeState::Copying | NodeState::Opening => ", starting",
            NodeState::Started => "",
        };
        let group = view.groups.iter().skip(1).position(|group| group.replicas.contains(&node.node));
        let place = group.map_or_else(String::new, |group| format!(", Nodegroup: {group}"));
        let master = if view.epoch_master() == Some(node.node) { ", *" } else { "" };
        let votes = cluster.voters.iter().any(|voter| voter.node == node.node && voter.votes);
        let voter = if votes { ", voter" } else { "" };
        // While nodes are started again, each runs what its angel has found.
        let report = self.reports.get(&node.node);
        let version = match report {
            Some(report) => told(&report.version),
            None if node.node == self.node => self.version.clone(),
            None => "connected".to_owned(),
        };
        let port = report.map_or(0, |report| report.mysql_port);
        let port = if port == 0 { String::new() } else { format!(", MySQL port {port}") };
        let address = self.addresses.get(&node.node).filter(|address| **address != node.host);
        let really = address.map_or_else(String::new, |address| format!(" = {address}"));
        format!(
            "id={}\t@{}{really}  ({version}{starting}{place}{master}{voter}{port})\n",
            node.node, node.host
        )
    }
}

/// Whether a person may have typed it, and reads an answer. A browser does, too, and must not be given bytes that it
/// could take for a page.
fn is_typed(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) && !line.contains("http/")
}

/// The words of another node, safe for a line.
pub(crate) fn told(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(TOLD_MAX).collect()
}

fn stop(me: Address, node: NodeId, outputs: &mut Outputs<Shared>) {
    let reason = format!("requested at management node {}", me.node);
    outputs.send(me, Address::main(node), Signal::StopNode { reason, exit_code: 0, is_alone: false });
}

/// All commands, or those that begin with these words; the place of what is none.
fn help(what: &str) -> String {
    if what.is_empty() {
        return HELP.to_owned();
    }
    let mut text = String::new();
    let mut is_wanted = false;
    for line in HELP.lines() {
        if !line.starts_with(' ') {
            let command = line.trim_start_matches("<id> ").trim_start_matches("all ");
            is_wanted = command.starts_with(what) || line.starts_with(what);
        }
        if is_wanted {
            text.push_str(line);
            text.push('\n');
        }
    }
    if text.is_empty() {
        let words: Vec<&str> = what.split_whitespace().collect();
        let elsewhere =
            pointers::answer(&words).map(|answer| answer.trim_start_matches("ERROR: ").to_owned());
        return elsewhere
            .unwrap_or_else(|| format!("ERROR: no help for '{what}'; 'help' lists the commands\n"));
    }
    text
}

const HELP: &str = "\
show                 the configured nodes and whether they are connected
all status           the state of every data and SQL node
<id> status          the state of one node; several ids may be given
all report memoryusage, <id> report memoryusage
                     how full DataMemory is; all dump 1000 is the same
all report backupstatus
                     there are no backups yet
<id> stop            stop one node: its primaries are handed over and its sessions end first
<id> restart         the same, and its angel starts it again: it gets its rows from the others, and its share of primaries
rolling restart      all nodes, one after the other: for another version of LatsDB, or another config.ini
all stop             stop all data nodes together; with rows on disk nothing is lost
all restart          the same, and their angels start them again: the cluster comes back from its disks
shutdown [cluster]   stop the whole cluster; where rows are in memory only all are lost, so its name must be typed
recover voters <cluster> without <id>,<id>
                     a majority of the voters is gone for good, with its disks: go on with what lives. All that is gone must be named
start <cluster> with data loss [without <id>,<id>]
                     no disk that counts is left of some node group: start with what is left, and lose rows
tls info             how this session and the links of this node are protected, and when certificates expire
check                compare the replicas of all tables, and index entries with rows, online
get config           the text of config.ini
help [command], ?    this list, or a part of it
connect [host:port]  ask another management node, or the same one anew
prompt [text]        what is shown where a command is awaited
quit, exit           leave
";

#[cfg(test)]
mod tests;
