//! Who belongs to the cluster: views, the control plane that decides them, and reports of lost peers.
//!
//! Every node has a `Membership` block. On management nodes it also runs the *control log*: the place where views are decided. Today it has one
//! voter, the management node, and decides one view: the first, when every configured data node has joined. (Views that leave members out,
//! and the Raft group that decides them, come with failover; `ControlLog` is the interface they arrive behind.)
//!
//! ```text
//! node -> control log   Join            control log -> node  JoinAccepted{incarnation} or JoinRefused
//!                       control log -> all  ViewInstall, when all data nodes have joined
//! link to a member lost: membership -> main  PeerLost
//! ```
//! Invariants: a data node joins a complete view only as the process start that the view names: its rows exist nowhere else. A node installs
//! views in order. A control log that lost its memory takes the view from the members.

mod control_log;

pub use control_log::{ControlLog, Decision, JoinAnswer, LocalControlLog};

use protocol::signal::JoinRequest;
use protocol::{Address, Envelope, NodeRole, Outputs, RequestToRuntime, Severity, Signal, View};
use std::sync::Arc;
use stdx::{Duration, Instant, Now};
use types::{Incarnation, NodeId, ViewNumber};

/// How soon a join is tried again while there is no answer.
const JOIN_RETRY: Duration = Duration::from_millis(500);

/// What a node says of itself when it joins, and whom it asks.
#[derive(Clone, Debug)]
pub struct MembershipConfig {
    /// This node.
    pub node: NodeId,
    /// Itself, as told to the control plane.
    pub join: JoinRequest,
    /// The management nodes, in order of preference.
    pub management_nodes: Vec<NodeId>,
    /// The whole configured cluster, for the control log: data, SQL and management nodes.
    pub members: Vec<(NodeId, NodeRole)>,
    /// NoOfReplicas.
    pub replica_count: usize,
    /// PartitionsPerNode.
    pub partitions_per_node: usize,
}

/// The block.
pub struct Membership {
    config: MembershipConfig,
    view: Arc<View>,
    incarnation: Option<Incarnation>,
    up: Vec<NodeId>,
    control_log: Option<LocalControlLog>,
    join_at: Option<Instant>,
}

impl Membership {
    /// The block of a node that starts; `control_log` on management nodes.
    #[must_use]
    pub fn new(config: MembershipConfig) -> Self {
        let control_log = (config.join.role == NodeRole::Management).then(|| LocalControlLog::new(&config));
        Self {
            config,
            view: Arc::new(View::none()),
            incarnation: None,
            up: Vec::new(),
            control_log,
            join_at: None,
        }
    }

    fn me(&self) -> Address {
        Address::membership(self.config.node)
    }

    /// When a join is tried again.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.join_at
    }

    /// The node starts.
    pub fn on_start<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        self.try_join(now, outputs);
    }

    /// A deadline.
    pub fn on_deadline<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        if self.join_at.is_some_and(|at| at <= now.monotonic) {
            self.join_at = None;
            self.try_join(now, outputs);
        }
    }

    /// Asks for membership until there is a view.
    fn try_join<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let mut join = self.config.join.clone();
        if self.view.number > ViewNumber(0) {
            join.view = Some(Arc::clone(&self.view));
        }
        if let Some(manager) = self.config.management_nodes.iter().find(|node| self.is_up(**node)) {
            outputs.send(self.me(), Address::membership(*manager), Signal::Join(Box::new(join)));
        }
        if self.view.number == ViewNumber(0) || self.incarnation.is_none() {
            self.join_at = Some(now.monotonic + JOIN_RETRY);
        }
    }

    fn is_up(&self, node: NodeId) -> bool {
        node == self.config.node || self.up.contains(&node)
    }

    /// The links to a node are up.
    pub fn on_link_up<S>(&mut self, now: Now, node: NodeId, outputs: &mut Outputs<S>) {
        if !self.up.contains(&node) {
            self.up.push(node);
        }
        outputs.send(self.me(), Address::main(self.config.node), Signal::PeerFound { node });
        if self.config.management_nodes.contains(&node) {
            self.try_join(now, outputs);
        }
    }

    /// A link to a node is lost: `main` tells everyone here who waits for it.
    pub fn on_link_down<S>(&mut self, node: NodeId, outputs: &mut Outputs<S>) {
        self.up.retain(|up| *up != node);
        let incarnation = self.view.node(node).map_or(Incarnation(0), |info| info.incarnation);
        outputs.send(self.me(), Address::main(self.config.node), Signal::PeerLost { node, incarnation });
    }

    /// Handles a signal.
    pub fn on_signal<S>(&mut self, envelope: Envelope, outputs: &mut Outputs<S>) {
        let from = envelope.from;
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "signals of other modules; a peer that sends them is only ignored"
        )]
        match envelope.signal {
            Signal::Join(join) => self.on_join(from, &join, outputs),
            Signal::JoinAccepted { incarnation } if self.incarnation.is_none() => {
                self.incarnation = Some(incarnation);
                outputs.send(
                    self.me(),
                    Address::main(self.config.node),
                    Signal::JoinAccepted { incarnation },
                );
            }
            Signal::JoinRefused { reason } => {
                outputs.event(Severity::Error, format!("node {} may not join: {reason}", self.config.node));
                outputs.request(RequestToRuntime::Exit(1));
            }
            Signal::ViewInstall(view) => self.install(view, outputs),
            _ => {}
        }
    }

    fn install<S>(&mut self, view: Arc<View>, outputs: &mut Outputs<S>) {
        if view.number <= self.view.number {
            return;
        }
        outputs.event(Severity::Info, format!("view {} installed", view.number));
        self.view = Arc::clone(&view);
        outputs.send(self.me(), Address::main(self.config.node), Signal::ViewInstall(view));
    }

    /// The control log's part.
    fn on_join<S>(&mut self, from: Address, join: &JoinRequest, outputs: &mut Outputs<S>) {
        let me = self.me();
        let Some(control_log) = &mut self.control_log else { return };
        match control_log.join(from.node, join) {
            JoinAnswer::Refused(reason) => {
                outputs.event(Severity::Warning, format!("node {} was refused: {reason}", from.node));
                outputs.send(me, from, Signal::JoinRefused { reason });
            }
            JoinAnswer::Accepted(incarnation) => {
                outputs.send(me, from, Signal::JoinAccepted { incarnation });
                match control_log.decide() {
                    Decision::Nothing => {}
                    Decision::View { view, is_new: true } => {
                        for node in &view.nodes {
                            outputs.send(
                                me,
                                Address::membership(node.node),
                                Signal::ViewInstall(Arc::clone(&view)),
                            );
                        }
                    }
                    Decision::View { view, is_new: false } => {
                        outputs.send(me, from, Signal::ViewInstall(view))
                    }
                }
            }
        }
    }

    /// Nodes that have joined, for `show`.
    #[must_use]
    pub fn joined(&self) -> Vec<NodeId> {
        self.up.clone()
    }
}
