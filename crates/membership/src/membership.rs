//! The block. It binds the control log, the failure detector and the leases together.
//!
//! One input is handled to its end, then housekeeping. The outputs of the control log and the detector are carried out
//! at once. Each topic has a file of its own: `joining`, `leaving`, `laggards` (members that answer late), `recovery`
//! (an operator's), `terms` (parameters that must agree), `waits` (what operators are told of).
//!
//! Invariants: those of the crate.
//!
//! Deliberately not here: how views are decided (`control_log`), which nodes should leave (`detector`), and which views
//! may follow (`succession`).

use crate::control_log::{ControlConfig, ControlLog, ControlOutputs, Decided};
use crate::control_state::{ClusterSettings, ControlState, VoterInfo};
use crate::detector::{Detector, DetectorConfig, DetectorOutputs};
use crate::mutants::{self, Mutant};
use crate::succession;
use laggards::Laggards;
use leaving::SPREAD_PAUSE;
use protocol::control::{Command, ControlMessage, GroupId, RecoveryGoal, VoterPlace};
use protocol::heartbeat::Heartbeat;
use protocol::lease::Lease;
use protocol::module::{Counts, EXIT_DISK, EXIT_LEFT_OUT, EXIT_REFUSED};
use protocol::signal::{JoinRequest, LeaveStep};
use protocol::{
    Address, DiskAnswer, DiskError, Envelope, FileName, NodeRole, Outputs, RequestToRuntime, Severity,
    Signal, View,
};
use recovery::Recovery;
use restarting::Restarting;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stdx::{Duration, Instant, Now};
use types::{Incarnation, NodeId, ViewNumber};
use waits::Waits;

mod data_loss;
mod joining;
mod laggards;
mod leaving;
pub mod recovery;
mod restarting;
mod terms;
mod waits;

/// How soon a view that repairs a connection is asked for again.
const RENEW_RETRY: Duration = Duration::from_millis(200);
/// Most copies of the control log.
const VOTERS_MAX: usize = 5;
/// A snapshot takes the place of more entries than these.
const LOG_ENTRIES_MAX: usize = 256;

/// A node's description of itself when it joins, and the cluster that it belongs to.
#[derive(Clone, Debug)]
pub struct MembershipConfig {
    /// This node.
    pub node: NodeId,
    /// The cluster's name.
    pub cluster: String,
    /// Itself, as told to the control plane.
    pub join: JoinRequest,
    /// Its disk is being read: it joins when it knows what that holds.
    pub awaits_claim: bool,
    /// The whole configured cluster: data, SQL and management nodes.
    pub members: Vec<(NodeId, NodeRole)>,
    /// NoOfReplicas.
    pub replica_count: usize,
    /// PartitionsPerNode.
    pub partitions_per_node: usize,
    /// SlotsPerNode; 0: by the CPUs of the nodes that found the cluster.
    pub slots_per_node: u16,
    /// StartPartialTimeout: how long a restart waits for data nodes that are not there; zero: for ever.
    pub start_partial_timeout: Duration,
    /// How fast failures are found.
    pub detector: DetectorConfig,
    /// The contents of the file of the control log.
    pub log_file: Vec<u8>,
}

impl MembershipConfig {
    /// The nodes that may hold a copy of the log, the most preferred leader first: management nodes, then data nodes.
    fn eligible(&self) -> Vec<NodeId> {
        let of_role = |wanted: NodeRole| {
            let mut nodes: Vec<NodeId> =
                self.members.iter().filter(|(_, role)| *role == wanted).map(|(node, _)| *node).collect();
            nodes.sort_unstable();
            nodes
        };
        let mut eligible = of_role(NodeRole::Management);
        eligible.extend(of_role(NodeRole::Data));
        eligible
    }

    fn control(&self, group: GroupId) -> ControlConfig {
        let eligible = self.eligible();
        let narrow = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        // An even number would stop at the loss of as many as the odd one below it.
        let odd = eligible.len() - usize::from(eligible.len().is_multiple_of(2));
        let voter_count = odd.clamp(1, VOTERS_MAX);
        let settings = ClusterSettings {
            members: self.members.clone(),
            replica_count: narrow(self.replica_count),
            partitions_per_node: narrow(self.partitions_per_node),
            slots_per_node: self.slots_per_node,
            voter_count: narrow(voter_count),
        };
        ControlConfig {
            node: self.node,
            start: self.join.start,
            cluster: self.cluster.clone(),
            founding: (eligible.first() == Some(&self.node)).then_some((group, settings)),
            voter_count,
            eligible,
            tick: self.detector.interval / 2,
            entries_max: LOG_ENTRIES_MAX,
        }
    }
}

/// Since when another view is wanted, and what the disk had to do with it: for operators, who want to know what a
/// failover waited for.
#[derive(Debug, Default)]
struct Want {
    /// The first sign that a member has to leave.
    since: Option<Instant>,
    /// Writes of the control log that are under way.
    writes: BTreeMap<u64, Instant>,
    /// The longest one that ended since.
    longest_write: Duration,
}

impl Want {
    fn begin(&mut self, now: Instant) {
        if self.since.is_none() {
            (self.since, self.longest_write) = (Some(now), Duration::ZERO);
        }
    }

    fn on_written(&mut self, now: Instant, ticket: u64) {
        if let Some(begun) = self.writes.remove(&ticket) {
            self.longest_write = self.longest_write.max(now.since(begun));
        }
    }

    /// A view is there.
    fn end(&mut self, now: Instant, view: ViewNumber) -> String {
        match self.since.take() {
            None => format!("view {view}"),
            Some(since) => {
                let (whole, write) = (now.since(since).as_micros(), self.longest_write.as_micros());
                format!(
                    "view {view}, {whole} us after it was wanted; the longest write of control.log meanwhile: {write} us"
                )
            }
        }
    }
}

/// The block.
pub struct Membership {
    config: MembershipConfig,
    lease: Arc<Lease>,
    /// None before the start, and on a node that must not start.
    log: Option<ControlLog>,
    detector: Option<Detector>,
    /// The newest that this node knows.
    view: Arc<View>,
    incarnation: Option<Incarnation>,
    up: BTreeSet<NodeId>,
    due: Due,
    /// This node, which joins, has all rows, as it found in this view.
    caught_up: Option<ViewNumber>,
    /// Members whose connection broke since the view was installed.
    broken: BTreeSet<NodeId>,
    /// This node is about to stop, or was: what it asks for.
    leaving: Option<LeaveStep>,
    /// Members that live and answer late.
    laggards: Laggards,
    /// The newest view is not handed to `main` yet.
    is_install_due: bool,
    /// For the log of the node: how long the next view takes.
    want: Want,
    is_ending: bool,
    refused: Refused,
    /// The nodes with copies of the control log, and how far the copy that says so was applied.
    voters: (u64, Vec<VoterPlace>),
    recovery: Recovery,
    restarting: Restarting,
    waits: Waits,
}

/// When this node asks for something, or asks again; and when it ends.
#[derive(Default)]
struct Due {
    /// For what it has not got yet: an incarnation, to be copied to, to be in sync.
    join: Option<Instant>,
    /// For a view with the same members: a member whose connection broke is back. Signals that went with the connection
    /// are sent again in that view.
    renew: Option<Instant>,
    /// For its next step on the way out.
    leave: Option<Instant>,
    /// The cluster has stopped as a whole: when this process ends at the latest.
    end: Option<Instant>,
    /// To have primaries spread over all members, if it leads the control log.
    spread: Option<Instant>,
}

/// Counts of what was refused.
#[derive(Default)]
struct Refused {
    /// Heartbeats of lives or nodes that the view does not have.
    heartbeats: u64,
    /// Views of another founding, or whose parts do not fit together.
    views: u64,
}

impl Membership {
    /// The block of a node that starts.
    #[must_use]
    pub fn new(config: MembershipConfig, lease: Arc<Lease>) -> Self {
        Self {
            config,
            lease,
            log: None,
            detector: None,
            view: Arc::new(View::none()),
            incarnation: None,
            up: BTreeSet::new(),
            due: Due::default(),
            caught_up: None,
            broken: BTreeSet::new(),
            leaving: None,
            laggards: Laggards::default(),
            is_install_due: false,
            want: Want::default(),
            is_ending: false,
            refused: Refused::default(),
            voters: (0, Vec::new()),
            recovery: Recovery::default(),
            restarting: Restarting::default(),
            waits: Waits::default(),
        }
    }

    fn me(&self) -> Address {
        Address::membership(self.config.node)
    }

    /// When it must be called at the latest.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let log = self.log.as_ref().map(ControlLog::deadline);
        let detector = self.detector.as_ref().map(Detector::deadline);
        let install = self.is_install_due.then(|| self.install_at());
        let due = &self.due;
        let own = [due.join, due.renew, due.leave, due.end, due.spread];
        let parts = [install, log, detector, self.recovery.deadline(), self.waits.deadline()];
        own.into_iter().chain(parts).flatten().min().filter(|_| !self.is_ending)
    }

    /// Counts of faults that are nobody's bug here.
    #[must_use]
    pub fn counts(&self) -> Counts {
        vec![
            ("CONTROL_MESSAGES_REFUSED", self.log.as_ref().map_or(0, ControlLog::refused)),
            ("HEARTBEATS_REFUSED", self.refused.heartbeats),
            ("VIEWS_REFUSED", self.refused.views),
            ("LAGGARDS_TO_LEAVE", self.laggards.asked_count),
        ]
    }

    // ---- inputs -----------------------------------------------------------------------------------------------------

    /// The node starts; `seed` is random.
    pub fn on_start<S>(&mut self, now: Now, seed: &[u8; 32], outputs: &mut Outputs<S>) {
        let mut group = [0; 8];
        group.copy_from_slice(&seed[..8]);
        self.recovery.seed(seed);
        let control = self.config.control(GroupId(u64::from_le_bytes(group)));
        let file = std::mem::take(&mut self.config.log_file);
        let mut todo = ControlOutputs::default();
        match ControlLog::open(control, &file, now.monotonic, &mut todo) {
            Ok(mut log) => {
                for (node, _) in self.config.members.iter().filter(|(node, _)| *node != self.config.node) {
                    log.on_link_down(now.monotonic, *node, &mut todo);
                }
                for (node, _) in self.config.members.iter().filter(|(node, _)| *node != self.config.node) {
                    self.restarting.on_link(now.monotonic, *node, false);
                }
                self.log = Some(log);
                self.take_log(now, todo, outputs);
                self.try_join(now, outputs);
                self.look_for_waits(now, outputs);
            }
            Err(reason) => self.end(EXIT_REFUSED, (Severity::Error, &reason), outputs),
        }
    }

    /// A deadline.
    pub fn on_deadline<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        if self.is_ending {
            return;
        }
        self.with_log(now, outputs, |log, todo| {
            if log.deadline() <= now.monotonic {
                log.on_deadline(now.monotonic, todo);
            }
        });
        self.install_if_due(now, outputs);
        if self.restarting.drop_lives_at <= now.monotonic {
            self.drop_earlier_lives(now, outputs);
        }
        self.with_detector(now, outputs, |detector, todo| {
            if detector.deadline() <= now.monotonic {
                detector.on_deadline(now.monotonic, todo);
            }
        });
        if self.due.join.is_some_and(|at| at <= now.monotonic) {
            self.due.join = None;
            self.try_join(now, outputs);
            self.ask_for_sync(now, outputs);
            self.ask_to_be_copied_to(now, outputs);
        }
        if self.due.renew.is_some_and(|at| at <= now.monotonic) {
            self.due.renew = Some(now.monotonic + RENEW_RETRY);
            self.propose(now, succession::renewed(&self.view), outputs);
        }
        if self.due.leave.is_some_and(|at| at <= now.monotonic) {
            self.ask_to_leave(now, outputs);
        }
        if self.due.spread.is_some_and(|at| at <= now.monotonic) {
            self.spread_primaries(now, outputs);
        }
        self.end_with_all(now, outputs);
        self.on_recovery_deadline(now, outputs);
        self.look_for_restart(now, outputs);
        self.look_for_waits(now, outputs);
    }

    /// Asks for a view; whether it comes is seen when it does.
    fn propose<S>(&mut self, now: Now, next: View, outputs: &mut Outputs<S>) {
        let next = Arc::new(next);
        self.with_log(now, outputs, |log, todo| log.propose(Command::ChangeView { next }, todo));
    }

    /// The links to a node are up.
    pub fn on_link_up<S>(&mut self, now: Now, node: NodeId, outputs: &mut Outputs<S>) {
        self.up.insert(node);
        self.restarting.on_link(now.monotonic, node, true);
        self.on_recovery_link(now, node, outputs);
        outputs.send(self.me(), Address::main(self.config.node), Signal::PeerFound { node });
        self.hand_on_view(node, outputs);
        self.hand_on_voters(node, outputs);
        self.with_log(now, outputs, |log, todo| log.on_link_up(node, todo));
        if let Some(detector) = &mut self.detector {
            detector.on_link_up(now.monotonic, node);
        }
        let mut is_renewed = self.broken.contains(&node);
        if mutants::is(Mutant::BrokenLinkNotRenewed) {
            is_renewed = false;
        }
        if is_renewed {
            self.due.renew = Some(now.monotonic);
        }
        self.try_join(now, outputs);
        self.ask_to_be_copied_to(now, outputs);
    }

    /// A node is lost: `main` tells every module here that waits for it.
    pub fn on_link_down<S>(&mut self, now: Now, node: NodeId, outputs: &mut Outputs<S>) {
        self.up.remove(&node);
        self.restarting.on_link(now.monotonic, node, false);
        self.on_recovery_link(now, node, outputs);
        if self.view.is_member(node) && self.view.is_member(self.config.node) {
            self.broken.insert(node);
            self.want.begin(now.monotonic);
        }
        let incarnation = self.view.node(node).map_or(Incarnation(0), |info| info.incarnation);
        outputs.send(self.me(), Address::main(self.config.node), Signal::PeerLost { node, incarnation });
        self.with_log(now, outputs, |log, todo| log.on_link_down(now.monotonic, node, todo));
        self.with_detector(now, outputs, |detector, todo| detector.on_link_down(now.monotonic, node, todo));
        self.end_with_all(now, outputs);
    }

    /// A process of a node has ended: that is proved.
    pub fn on_process_exited<S>(&mut self, now: Now, node: NodeId, start: u64, outputs: &mut Outputs<S>) {
        let state = self.log_state();
        let life = state.and_then(|state| state.life(node)).filter(|life| life.join.start == start);
        let Some(incarnation) = life.map(|life| life.incarnation) else { return };
        outputs.event(
            Severity::Info,
            format!("the process of node {node} has ended (incarnation {incarnation})"),
        );
        if self.view.is_member(node) {
            self.want.begin(now.monotonic);
        }
        self.with_log(now, outputs, |log, todo| log.on_link_down(now.monotonic, node, todo));
        self.with_detector(now, outputs, |detector, todo| {
            detector.on_proved_dead(now.monotonic, node, incarnation, todo);
        });
    }

    /// A write of the control log is on disk. If it failed, nobody knows what the file holds: this life ends.
    pub fn on_disk_done<S>(
        &mut self,
        now: Now,
        ticket: u64,
        result: &Result<DiskAnswer, DiskError>,
        outputs: &mut Outputs<S>,
    ) {
        if let Err(error) = result {
            let why = error.about(FileName::ControlLog);
            outputs.event(Severity::Error, format!("the control log cannot be written: {why}"));
            return outputs.request(RequestToRuntime::Exit(EXIT_DISK));
        }
        self.want.on_written(now.monotonic, ticket);
        self.with_log(now, outputs, |log, todo| log.on_written(ticket, todo));
    }

    /// Handles a signal.
    pub fn on_signal<S>(&mut self, now: Now, envelope: Envelope, outputs: &mut Outputs<S>) {
        let from = envelope.from.node;
        match envelope.signal {
            // The wrapper refuses these.
            protocol::not_for!(membership) => {}
            Signal::Control(message) => self.on_control(now, from, *message, outputs),
            Signal::Heartbeat(heartbeat) => self.on_heartbeat(now, from, *heartbeat, outputs),
            Signal::ViewInstall(view, terms, life) => {
                if terms.is_some() {
                    self.restarting.lives.insert(from, life);
                }
                self.learn(now, view, outputs);
                self.compare_terms(terms.as_deref(), outputs);
            }
            Signal::CaughtUp { .. }
            | Signal::Leaving { .. }
            | Signal::RecoverVoters(_)
            | Signal::DiskCounted { .. }
                if envelope.from != Address::main(self.config.node) => {}
            Signal::DiskRead(_) | Signal::Restored(_) | Signal::RestoredToJoin(_)
                if from != self.config.node => {}
            Signal::CaughtUp { view } => {
                self.caught_up = Some(view);
                self.ask_for_sync(now, outputs);
            }
            // The wrapper answers what it counts.
            Signal::InfoRequest { .. } => {}
            Signal::ViewWanted => self.hand_on_view(from, outputs),
            Signal::Voters { applied, voters } => self.learn_voters(applied, voters, outputs),
            Signal::Leaving { step } => {
                self.leaving = Some(step);
                self.ask_to_leave(now, outputs);
            }
            Signal::RecoverVoters(order) => match order.goal {
                RecoveryGoal::Voters => self.on_operators_order(now, *order, outputs),
                RecoveryGoal::Rows => self.on_order_to_lose(now, *order, outputs),
            },
            Signal::DiskRead(claim) => self.on_disk_read(now, claim, outputs),
            Signal::Restored(order) => {
                self.on_restored(now, order, outputs);
                self.look_for_restart(now, outputs);
            }
            Signal::RestoredToJoin(point) => self.on_returned(now, point, outputs),
            Signal::DiskCounted { view, is_durable } => {
                self.on_disk_counted(now, (view, is_durable), outputs);
            }
            Signal::ReplicaLags { node, milliseconds } if from == self.config.node => {
                self.on_laggard(now, envelope.view, (node, milliseconds), outputs);
            }
            Signal::ReplicaLags { node, milliseconds } => {
                self.on_laggard_elsewhere(now, from, (node, milliseconds), outputs);
            }
        }
    }

    fn on_control<S>(&mut self, now: Now, from: NodeId, message: ControlMessage, outputs: &mut Outputs<S>) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the other messages are the log's own")]
        match &message {
            ControlMessage::Joined { start, incarnation } if *start == self.config.join.start => {
                self.on_joined(now, *incarnation, outputs);
            }
            ControlMessage::JoinRefused { start, reason } if *start == self.config.join.start => {
                let reason = format!("node {} may not join: {reason}", self.config.node);
                self.end(EXIT_REFUSED, (Severity::Error, &reason), outputs);
            }
            ControlMessage::Propose { command, .. } if self.is_too_early(now, command) => {}
            ControlMessage::Recovery(_) => {
                if let ControlMessage::Recovery(message) = message {
                    self.on_recovery(now, from, message, outputs);
                }
            }
            ControlMessage::Restart(_) => {
                if let ControlMessage::Restart(message) = message {
                    self.on_restart_message(now, from, message, outputs);
                    self.look_for_restart(now, outputs);
                }
            }
            _ => {
                self.note_asker(from, &message);
                self.with_log(now, outputs, |log, todo| log.on_message(now.monotonic, from, message, todo));
                if self.leads() && self.due.join.is_some() {
                    // It has founded the cluster a moment ago.
                    self.due.join = Some(now.monotonic);
                }
            }
        }
    }

    fn on_heartbeat<S>(&mut self, now: Now, from: NodeId, heartbeat: Heartbeat, outputs: &mut Outputs<S>) {
        let own_row = heartbeat.rows.first().filter(|row| row.node == from);
        let Some(incarnation) = own_row.map(|row| row.incarnation) else {
            self.refused.heartbeats += 1;
            return;
        };
        if self.detector.is_none() && heartbeat.view > self.view.number {
            outputs.send(self.me(), Address::membership(from), Signal::ViewWanted);
        }
        let mut is_known = true;
        self.with_detector(now, outputs, |detector, todo| {
            is_known = detector.on_heartbeat(now.monotonic, from, incarnation, heartbeat, todo);
        });
        self.refused.heartbeats += u64::from(!is_known);
        if is_known {
            self.restarting.on_beat(now.monotonic, from);
        }
    }

    // ---- views ------------------------------------------------------------------------------------------------------

    /// Tells another node the newest view. SQL nodes do not: they live on while a cluster is founded anew. Nor does a
    /// node that was not let in yet: its disk may hold a cluster that is gone, or another one.
    fn hand_on_view<S>(&self, to: NodeId, outputs: &mut Outputs<S>) {
        let is_let_in = self.incarnation.is_some();
        if self.view.number > ViewNumber(0) && self.config.join.role != NodeRole::Sql && is_let_in {
            self.say_replaced(to, &self.view, outputs);
            let terms = Some(Box::new(terms::of(&self.config)));
            let install = Signal::ViewInstall(Arc::clone(&self.view), terms, self.incarnation);
            outputs.send(self.me(), Address::membership(to), install);
        }
    }

    /// There is a view, perhaps one that is newer than what this node has.
    fn learn<S>(&mut self, now: Now, view: Arc<View>, outputs: &mut Outputs<S>) {
        // A node that takes part in a recovery has done with the founding that it replaces.
        let mut is_bound = self.recovery.awaited().is_some_and(|awaited| awaited != view.founding);
        if mutants::is(Mutant::SurvivorsStayUnbound) {
            is_bound = false;
        }
        if self.is_ending || is_bound {
            return;
        }
        if self.is_of_another_founding(now, &view, outputs) || view.number <= self.view.number {
            return;
        }
        if !view.is_well_formed() {
            self.refused.views += 1;
            return;
        }
        self.laggards.on_view(now.monotonic, &self.view, &view);
        self.view = view;
        self.due.spread = Some(now.monotonic + SPREAD_PAUSE);
        if self.view.is_stopped && self.is_over(now, outputs) {
            return;
        }
        self.enter_view(now, outputs);
        self.ask_to_leave(now, outputs);
        self.after_refounding(now, outputs);
    }

    /// Views of another founding are void, unless it has taken the place of this node's (`recovery`). To a node without
    /// a copy of the log such a view says that its cluster is gone. A node that hands on views has a copy, or is a
    /// member, and does not start beside an older cluster. A node that starts with a copy of another founding has the
    /// wrong disk: the node that hands on a view was let in, by a majority of voters.
    fn is_of_another_founding<S>(&mut self, now: Now, view: &View, outputs: &mut Outputs<S>) -> bool {
        let own = self.log_state().map(|state| state.group);
        let known = own.or((self.view.number > ViewNumber(0)).then_some(self.view.founding));
        if known.is_none_or(|founding| founding == view.founding) {
            return false;
        }
        if self.follows_founding(now, view, outputs) {
            return false;
        }
        if self.has_replaced(view.founding) {
            self.refused.views += 1;
            return true;
        }
        // Its disk works just now: it follows when it hears of this again.
        if self.is_ending || self.is_replaced_by(view.founding) {
            return true;
        }
        self.refused.views += 1;
        if own.is_some() && self.incarnation.is_none() {
            let text = format!(
                "the control log on this disk is not of the cluster '{}' that runs: it belongs to another one of that name, or to the same one before it \
                 was founded anew. Is DataDir right? If what is there is not needed, start this node with --initial",
                self.config.cluster
            );
            self.end(EXIT_REFUSED, (Severity::Error, &text), outputs);
        }
        if own.is_none() {
            let text = format!("the cluster was founded anew: node {} ends", self.config.node);
            self.end(EXIT_LEFT_OUT, (Severity::Error, &text), outputs);
        }
        true
    }

    /// Whether the view has this node, as this process start.
    fn is_in_view(&self) -> bool {
        let node = self.config.node;
        self.config.join.role != NodeRole::Data
            || (self.view.is_member(node)
                && self.view.node(node).map(|info| info.incarnation) == self.incarnation)
    }

    /// Makes the newest view that of this node, as far as it is in it.
    fn enter_view<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let Some(incarnation) = self.incarnation else { return };
        if self.view.number == ViewNumber(0) {
            return;
        }
        if self.ends_with_restart(outputs) {
            return;
        }
        if !self.is_in_view() {
            let mut was_member = self.detector.is_some();
            if mutants::is(Mutant::LeftOutStays) {
                was_member = false;
            }
            if was_member {
                let (view, node) = (self.view.number, self.config.node);
                match self.leaving {
                    Some(LeaveStep::Leave { exit_code }) => {
                        self.end(
                            exit_code,
                            (Severity::Info, &format!("view {view}: node {node} has left")),
                            outputs,
                        );
                    }
                    Some(LeaveStep::HandOver | LeaveStep::Stay | LeaveStep::Stop { .. }) | None => {
                        let text = format!("view {view} leaves node {node} out: it ends");
                        self.end(EXIT_LEFT_OUT, (Severity::Error, &text), outputs);
                    }
                }
            }
            return self.ask_to_be_copied_to(now, outputs);
        }
        outputs.event(Severity::Info, self.want.end(now.monotonic, self.view.number));
        // Signals that are sent in this view over connections that are down now do not arrive.
        let others = self.view.nodes.iter().map(|info| info.node).filter(|node| *node != self.config.node);
        let is_member = self.view.is_member(self.config.node);
        let is_broken = |node: &NodeId| is_member && self.view.is_member(*node) && !self.up.contains(node);
        self.broken = others.filter(is_broken).collect();
        self.due.renew = None;
        if self.config.join.role != NodeRole::Sql {
            match &mut self.detector {
                Some(detector) => detector.install(now.monotonic, Arc::clone(&self.view)),
                None => {
                    let view = Arc::clone(&self.view);
                    let (node, config) = (self.config.node, self.config.detector);
                    let mut detector = Detector::new(node, incarnation, config, view, now.monotonic);
                    for (node, _) in self.config.members.iter().filter(|(node, _)| !self.up.contains(node)) {
                        detector.on_link_down(now.monotonic, *node, &mut DetectorOutputs::default());
                    }
                    self.detector = Some(detector);
                }
            }
            self.publish_lease();
        }
        self.is_install_due = true;
        self.install_if_due(now, outputs);
        if mutants::is(Mutant::SyncWithoutCopy) {
            self.caught_up = Some(self.view.number);
            self.ask_for_sync(now, outputs);
        }
    }

    /// When `main` may hear of the newest view. The leases of the nodes that were left out have run out by then.
    fn install_at(&self) -> Instant {
        if mutants::is(Mutant::WritableAtOnce) {
            return Instant(0);
        }
        match &self.detector {
            Some(detector) if self.config.join.role == NodeRole::Data => detector.writable_at(),
            _ => Instant(0),
        }
    }

    /// Hands the newest view to `main`, which makes the node enter it. Nothing is acknowledged in a view before
    /// somebody enters it. All that is acknowledged in the view before was prepared at the nodes that were left out,
    /// too. So this is the only place that waits for leases.
    fn install_if_due<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let is_early = now.monotonic < self.install_at();
        if !self.is_install_due || self.is_ending || is_early {
            return;
        }
        self.is_install_due = false;
        let install = Signal::ViewInstall(Arc::clone(&self.view), None, None);
        outputs.send(self.me(), Address::main(self.config.node), install);
    }

    /// Tells the other threads what they may do from now on.
    fn publish_lease(&self) {
        if let Some(detector) = self.detector.as_ref().filter(|_| self.config.join.role == NodeRole::Data) {
            self.lease.set(detector.read_until());
        }
    }

    /// Hands a view on to nodes that have no copy of the log.
    fn spread<S>(&self, view: &Arc<View>, outputs: &mut Outputs<S>) {
        let Some(state) = self.log_state() else { return };
        let others =
            self.config.members.iter().map(|(node, _)| *node).filter(|node| *node != self.config.node);
        for node in others.filter(|node| state.voter_of(*node).is_none()) {
            self.say_replaced(node, view, outputs);
            let install = Signal::ViewInstall(Arc::clone(view), None, None);
            outputs.send(self.me(), Address::membership(node), install);
        }
    }

    // ---- who decides ------------------------------------------------------------------------------------------------

    fn log_state(&self) -> Option<&ControlState> {
        self.log.as_ref().and_then(ControlLog::state)
    }

    /// This node leads the control log.
    fn leads(&self) -> bool {
        self.log.as_ref().and_then(ControlLog::role).is_some_and(|(.., leads)| leads)
    }

    /// Other copies of the control log than before: this node's `main` and everybody without a copy hear of it. Nothing
    /// is decided by that: it is for operators.
    fn tell_voters<S>(&mut self, outputs: &mut Outputs<S>) {
        let Some(log) = &self.log else { return };
        let Some(state) = log.state() else { return };
        let place = |info: &VoterInfo| VoterPlace { node: info.node, votes: info.votes };
        let is_known = state.voters().iter().map(place).eq(self.voters.1.iter().copied());
        if is_known || log.applied() <= self.voters.0 {
            return;
        }
        let (applied, voters) = (log.applied(), state.voters().iter().map(place).collect());
        self.learn_voters(applied, voters, outputs);
        for (node, _) in &self.config.members {
            self.hand_on_voters(*node, outputs);
        }
    }

    fn learn_voters<S>(&mut self, applied: u64, voters: Vec<VoterPlace>, outputs: &mut Outputs<S>) {
        if applied > self.voters.0 {
            self.voters = (applied, voters.clone());
            let told = Signal::Voters { applied, voters };
            outputs.send(self.me(), Address::main(self.config.node), told);
        }
    }

    /// Tells another node which nodes have copies of the control log: it may have none, or none any more.
    fn hand_on_voters<S>(&self, to: NodeId, outputs: &mut Outputs<S>) {
        if to != self.config.node && self.up.contains(&to) && self.log_state().is_some() {
            let (applied, voters) = self.voters.clone();
            outputs.send(self.me(), Address::membership(to), Signal::Voters { applied, voters });
        }
    }

    fn end<S>(&mut self, code: u8, (severity, reason): (Severity, &str), outputs: &mut Outputs<S>) {
        if !self.is_ending {
            self.is_ending = true;
            self.lease.set(Instant(0));
            outputs.event(severity, reason);
            outputs.request(RequestToRuntime::Exit(code));
        }
    }

    // ---- the blocks below -------------------------------------------------------------------------------------------

    fn with_log<S>(
        &mut self,
        now: Now,
        outputs: &mut Outputs<S>,
        input: impl FnOnce(&mut ControlLog, &mut ControlOutputs),
    ) {
        let Some(log) = self.log.as_mut().filter(|_| !self.is_ending) else { return };
        let mut todo = ControlOutputs::default();
        input(log, &mut todo);
        self.take_log(now, todo, outputs);
    }

    fn take_log<S>(&mut self, now: Now, todo: ControlOutputs, outputs: &mut Outputs<S>) {
        let me = self.me();
        self.want.writes.extend(todo.writes.iter().map(|write| (write.ticket, now.monotonic)));
        outputs.disk_requests.extend(todo.writes);
        outputs.events.extend(todo.events);
        for (node, message) in todo.messages {
            outputs.send(me, Address::membership(node), Signal::Control(Box::new(message)));
        }
        self.tell_voters(outputs);
        let is_news = !todo.decided.is_empty();
        for decided in todo.decided {
            match decided {
                Decided::View(view) => {
                    self.spread(&view, outputs);
                    self.learn(now, view, outputs);
                }
                Decided::Joined(life) => {
                    if life.node == self.config.node && life.join.start == self.config.join.start {
                        self.on_joined(now, life.incarnation, outputs);
                    }
                    self.end_if_rows_are_lost(outputs);
                }
            }
        }
        if is_news {
            self.drop_earlier_lives(now, outputs);
        }
    }

    /// A data node that starts where no rows are left must not wait for ever.
    fn end_if_rows_are_lost<S>(&mut self, outputs: &mut Outputs<S>) {
        let has_lost_rows = self.log_state().is_some_and(|state| state.has_lost_rows());
        let keeps_none = self.config.join.claim.is_none() && !self.config.awaits_claim;
        if self.config.join.role == NodeRole::Data && has_lost_rows && keeps_none {
            let reason = "all nodes that held some of the rows have stopped, and this version keeps rows in memory only: \
                          start all management and data nodes with --initial (the cluster will be empty)";
            self.end(EXIT_REFUSED, (Severity::Error, reason), outputs);
        }
    }

    /// Whether a majority of voters may be within earshot. A proposal of a minority could only be decided when it is
    /// out of date.
    fn hears_majority(&self, now: Now) -> bool {
        let Some(state) = self.log_state() else { return true };
        // A node that is no member is not listened to, but may vote.
        let suspects = |node| {
            let misses = |detector: &Detector| detector.suspects_member(now.monotonic, node);
            self.detector.as_ref().is_some_and(misses)
        };
        let is_there = |node: NodeId| node == self.config.node || self.up.contains(&node) && !suspects(node);
        let voters = state.voters().iter().filter(|info| info.votes);
        let (there, away): (Vec<NodeId>, Vec<NodeId>) =
            voters.map(|info| info.node).partition(|node| is_there(*node));
        there.len() > away.len()
    }

    fn with_detector<S>(
        &mut self,
        now: Now,
        outputs: &mut Outputs<S>,
        input: impl FnOnce(&mut Detector, &mut DetectorOutputs),
    ) {
        let Some(detector) = self.detector.as_mut().filter(|_| !self.is_ending) else { return };
        let mut todo = DetectorOutputs::default();
        input(detector, &mut todo);
        self.publish_lease();
        self.install_if_due(now, outputs);
        let me = self.me();
        for (node, heartbeat) in todo.heartbeats {
            outputs.send(me, Address::membership(node), Signal::Heartbeat(Box::new(heartbeat)));
        }
        if let Some(node) = todo.behind {
            outputs.send(me, Address::membership(node), Signal::ViewWanted);
        }
        let may_leave = !self.view.is_stopped && self.hears_majority(now);
        if let Some(leavers) = todo.leavers.filter(|_| may_leave)
            && let Some(next) = succession::without(&self.view, &leavers)
        {
            self.want.begin(now.monotonic);
            let names: Vec<String> = leavers.iter().map(ToString::to_string).collect();
            outputs.event(Severity::Warning, format!("asks for a view without node {}", names.join(", ")));
            self.propose(now, next, outputs);
        }
    }
}

#[cfg(test)]
mod tests;
