//! The control log: where views, incarnations and restarts are decided, one after the other, by the nodes that hold a
//! copy of it.
//!
//! Raft (TiKV's crate, which does no I/O) replicates commands; [`ControlState`] applies them. It is a block like any
//! other. It is told the time, gets messages and the news that a write is on disk, and says what to send, what to write
//! and what was decided.
//!
//! ```text
//! proposer -> any copy -> leader   Propose(command)     leader <-> copies   Raft's messages (`VoterMessage`)
//! copy -> node that joins          Joined, JoinRefused
//! node without a log -> leader     VoterWanted          leader -> node      VoterGranted
//! node without a log -> the same   VoterWanted          -> node             NoLog
//! any copy -> a void copy          VoterRemoved         decided here        Decided: a view, an incarnation
//! ```
//! **Proposals have no answers.** Each is void when it is late or repeated: it is compare-and-set from view to view,
//! and a join names its process start. So a node that wants something looks at what was decided and asks again.
//!
//! **Holders of a copy.** A cluster is founded by the first eligible node, with a random group id, once all others have
//! said that they have no log either; it is voter 1. Every other copy is added by the group. A node without a log asks,
//! is given an id that was never used, follows as a learner, and is promoted when it has caught up. A node whose log is
//! gone or damaged does the same, and is another voter then. Nobody knows what the old voter promised, so it must not
//! vote, and its id leaves the group first. A voter that is silent for long is replaced when a spare node asks.
//!
//! **The leader.** Nodes are ranked (management nodes first). Each copy waits for a leader by its rank, and no two wait
//! equally long; so nothing is random. When the leader's connection closes or its death is known, the first copy
//! left in rank campaigns at once, the next 20 ms later. Leadership is handed to the first in rank when it has kept up
//! for a second. Raft's own priorities are not used: a voter that refuses those below it can wait for ever when its own
//! log is older and theirs is not longer.
//!
//! Invariants:
//! - All copies decide the same views in the same order; what was decided once stays decided while a majority of the
//!   disks lives.
//! - A voter id belongs to one file for ever (see `log_file` for what a damaged file is).
//! - Messages of another founding, to another voter, or that Raft could not take are refused and counted; they change
//!   nothing.
//!
//! Deliberately not here: suspicion of nodes, leases, and telling members of views (`Membership` and its detector).

mod convert;
mod duty;
mod store;
mod voter;

use crate::control_state::{ClusterSettings, ControlState, Life, NUMBERS_LEAP};
use crate::log_file::{self, Durable, LogWriter, Recovery, recover};
use duty::Duty;
use protocol::control::{
    Command, ControlMessage, GroupId, HardState, LogSnapshot, VOTERS_MAX, VoterId, VoterMessage,
};
use protocol::{DiskRequest, Event, Severity, View};
use raft::eraftpb::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{NodeId, ViewNumber};
use voter::Voter;

/// How soon a node without a log asks again: at first, and when it has asked [`ASK_SOON_COUNT`] times.
const ASK_SOON: Duration = Duration::from_millis(20);
const ASK_SOON_COUNT: u32 = 50;
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// How much later than the first in rank each next one campaigns when the leader is gone.
const CAMPAIGN_STAGGER: Duration = Duration::from_millis(20);

/// A node's knowledge of the control plane before it has a log.
#[derive(Clone, Debug)]
pub struct ControlConfig {
    /// This node.
    pub node: NodeId,
    /// This process start.
    pub start: u64,
    /// The cluster's name.
    pub cluster: String,
    /// The nodes that may hold a copy, the most preferred leader first.
    pub eligible: Vec<NodeId>,
    /// How many copies there should be: 3 or 5.
    pub voter_count: usize,
    /// The group that this node founds. Only the first eligible node founds one, when it has no log and all
    /// others have said that they have none either.
    pub founding: Option<(GroupId, ClusterSettings)>,
    /// The unit of Raft's timeouts.
    pub tick: Duration,
    /// A snapshot takes the place of more entries than these.
    pub entries_max: usize,
}

impl ControlConfig {
    fn rank_of(&self, node: NodeId) -> usize {
        self.eligible.iter().position(|eligible| *eligible == node).unwrap_or(usize::MAX)
    }
}

/// A decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decided {
    /// A view; each copy says each view once, in order, though a copy that was behind skips some.
    View(Arc<View>),
    /// A process start has its incarnation.
    Joined(Life),
}

/// The outputs of the block.
#[derive(Debug, Default)]
pub struct ControlOutputs {
    /// To other nodes.
    pub messages: Vec<(NodeId, ControlMessage)>,
    /// To the file of the log, at most one until it is done.
    pub writes: Vec<DiskRequest>,
    /// The decisions, in order.
    pub decided: Vec<Decided>,
    /// For the log of the node.
    pub events: Vec<Event>,
    raft_messages: Vec<Message>,
    /// Learners that were added.
    added: Vec<(VoterId, NodeId, u64)>,
}

impl ControlOutputs {
    fn event(&mut self, severity: Severity, message: impl Into<String>) {
        self.events.push(Event { severity, message: message.into() });
    }
}

enum Stage {
    /// No log: it asks for one.
    Asking {
        again: Instant,
        next: usize,
        asked_at: Instant,
        /// How often it has asked.
        asked: u32,
        /// Other eligible nodes that have said that they have none either.
        without: BTreeSet<NodeId>,
    },
    /// One of the copies.
    Voting(Box<Voter>),
}

impl Stage {
    fn asking(now: Instant) -> Self {
        Self::Asking { again: now, next: 0, asked_at: Instant(0), asked: 0, without: BTreeSet::new() }
    }
}

/// The block.
pub struct ControlLog {
    config: ControlConfig,
    stage: Stage,
    duty: Duty,
    /// The nodes of voters that the state does not name (yet), by the messages that came from there.
    routes: BTreeMap<VoterId, NodeId>,
    /// Nodes to which no link is up.
    down: BTreeSet<NodeId>,
    tick_at: Instant,
    /// The leader is gone: campaign then, if it is still the one.
    campaign: Option<(Instant, u64)>,
    /// The leader when last looked at.
    leader_seen: u64,
    /// The newest view that was said.
    newest_view: ViewNumber,
    tickets: u64,
    refused: u64,
    /// This copy takes no part in anything: it is about to be replaced (`recovery`).
    is_frozen: bool,
    /// It was founded anew, and what it begins with is to be said when it is on disk.
    is_refounded: bool,
}

impl ControlLog {
    /// The log of a node that starts; `file` is what its disk holds. An error is for people: the node must not start.
    pub fn open(
        mut config: ControlConfig,
        file: &[u8],
        now: Instant,
        outputs: &mut ControlOutputs,
    ) -> Result<Self, String> {
        let stage = match recover(file, &config.cluster) {
            Recovery::Foreign(name) => {
                return Err(format!("control.log on this disk belongs to the cluster '{name}'"));
            }
            Recovery::Newer(format) => {
                let own = log_file::FORMAT;
                return Err(format!("control.log has format {format}, and this program reads format {own}"));
            }
            Recovery::Recovered(durable, writer) => {
                Stage::Voting(Box::new(Voter::new(*durable, writer, false, config.entries_max)?))
            }
            Recovery::Damaged(reason) => {
                let message = format!("the control log of this node is void, and is copied anew: {reason}");
                outputs.event(Severity::Warning, message);
                // Others may still rely on what it had promised: it founds nothing.
                config.founding = None;
                Stage::asking(now)
            }
            Recovery::Empty => Stage::asking(now),
        };
        let tick_at = now + config.tick;
        let mut log = Self {
            config,
            stage,
            duty: Duty::default(),
            routes: BTreeMap::new(),
            down: BTreeSet::new(),
            tick_at,
            campaign: None,
            leader_seen: 0,
            newest_view: ViewNumber(0),
            tickets: 0,
            refused: 0,
            is_frozen: false,
            is_refounded: false,
        };
        if let Some(state) = log.state()
            && state.view.number.0 > 0
        {
            outputs.decided.push(Decided::View(Arc::clone(&state.view)));
        }
        log.found_if_due(outputs);
        log.drive(outputs);
        let own = log.voter().and_then(|voter| log.state()?.voter(voter.id));
        match own.map(|info| info.node).filter(|node| *node != log.config.node) {
            // Nothing of what it has asked for is done: two nodes must never vote as one.
            Some(owner) => Err(format!(
                "control.log on this disk belongs to node {owner}, not to node {}",
                log.config.node
            )),
            None => Ok(log),
        }
    }

    /// When it must be called at the latest.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        match &self.stage {
            _ if self.is_frozen => self.tick_at,
            Stage::Asking { again, .. } => *again,
            Stage::Voting(_) => self.campaign.map_or(self.tick_at, |(at, _)| at.min(self.tick_at)),
        }
    }

    /// The replicated state as far as this copy has applied it.
    #[must_use]
    pub fn state(&self) -> Option<&ControlState> {
        self.voter().and_then(|voter| voter.state.as_ref())
    }

    /// The last entry that is applied here.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.voter().map_or(0, Voter::applied)
    }

    /// The copy's id and term, and whether it leads.
    #[must_use]
    pub fn role(&self) -> Option<(VoterId, u64, bool)> {
        self.voter().map(|voter| (voter.id, voter.raft.raft.term, voter.is_leader()))
    }

    /// This copy leads, and a voter that should rather lead is connected: leadership is about to go there.
    #[must_use]
    pub fn is_handing_over(&self) -> bool {
        let leading = self.voter().filter(|voter| voter.is_leader());
        leading.is_some_and(|voter| {
            duty::preferred(&self.config, voter).any(|(_, node)| !self.down.contains(&node))
        })
    }

    /// Messages that were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether anybody leads, as far as this copy knows.
    #[must_use]
    pub fn leader(&self) -> Option<NodeId> {
        let leader = self.voter()?.raft.raft.leader_id;
        if leader == 0 { None } else { self.route(VoterId(leader)) }
    }

    // ---- an operator's recovery (`recovery`) ------------------------------------------------------------------------

    /// The state behind everything that this copy holds, committed or not, and term and index of its last entry.
    #[must_use]
    pub fn everything(&self) -> Option<(ControlState, (u64, u64))> {
        self.voter().and_then(Voter::everything)
    }

    /// A write is on its way to the disk.
    #[must_use]
    pub fn is_writing(&self) -> bool {
        self.voter().is_some_and(Voter::is_writing)
    }

    /// From now on this copy takes no part in the log, or does again.
    pub fn set_frozen(&mut self, is_frozen: bool) {
        self.is_frozen = is_frozen;
        self.campaign = None;
    }

    /// Another founding begins here, with this state and this node as its only voter. No write is on its way.
    pub fn refound(&mut self, state: &ControlState, outputs: &mut ControlOutputs) {
        let (Some(voter), Some((_, (_, index)))) = (self.voter(), self.everything()) else { return };
        let Some(id) = state.voter_of(self.config.node).map(|info| info.voter) else { return };
        stdx::require!(!voter.is_writing(), "a control log is founded anew while its file is written");
        let (term, index) = (voter.term() + 1, index + NUMBERS_LEAP);
        let snapshot =
            LogSnapshot { index, term, voters: vec![id], learners: Vec::new(), state: state.encode() };
        let hard = HardState { term, vote: 0, commit: index };
        let durable = Durable { group: state.group, voter: id, hard, snapshot, entries: Vec::new() };
        let writer = LogWriter::new(&self.config.cluster);
        match Voter::new(durable, writer, true, self.config.entries_max) {
            Ok(mut voter) => {
                voter.campaign_alone();
                self.begin_anew(Stage::Voting(Box::new(voter)));
                self.is_refounded = true;
            }
            Err(error) => outputs.event(Severity::Error, error),
        }
        self.drive(outputs);
    }

    /// The log of this founding was replaced: this node asks for a copy of the new one. No write is on its way.
    pub fn abandon(&mut self, now: Instant, outputs: &mut ControlOutputs) {
        if matches!(self.stage, Stage::Voting(_)) {
            outputs.event(
                Severity::Warning,
                "the control log of this node was replaced; it asks for the new one",
            );
            self.begin_anew(Stage::asking(now));
        }
        self.config.founding = None;
        self.is_frozen = false;
    }

    fn begin_anew(&mut self, stage: Stage) {
        self.stage = stage;
        self.duty.rest();
        self.routes.clear();
        (self.campaign, self.leader_seen, self.is_frozen) = (None, 0, false);
    }

    fn voter(&self) -> Option<&Voter> {
        match &self.stage {
            Stage::Voting(voter) => Some(voter),
            Stage::Asking { .. } => None,
        }
    }

    // ---- inputs -----------------------------------------------------------------------------------------------------

    /// Asks for something to be decided. It may not arrive.
    pub fn propose(&mut self, command: Command, outputs: &mut ControlOutputs) {
        if self.is_frozen {
            return;
        }
        self.on_propose(command, false, outputs);
        self.drive(outputs);
    }

    /// A message from another node.
    pub fn on_message(
        &mut self,
        now: Instant,
        from: NodeId,
        message: ControlMessage,
        outputs: &mut ControlOutputs,
    ) {
        if self.is_frozen {
            return;
        }
        match message {
            ControlMessage::Voter(message) => self.on_voter_message(now, from, &message, outputs),
            ControlMessage::Propose { command, is_forwarded } => {
                // A node without a log hands on nothing but its own, nor does one that has just been given one: it
                // could not say what a join replaces.
                if self.state().is_none() {
                    return;
                }
                if !is_forwarded && self.answer_join(from, &command, outputs) {
                    return;
                }
                self.on_propose(*command, is_forwarded, outputs);
            }
            ControlMessage::VoterWanted { node, start, is_forwarded } => {
                self.on_wanted(now, node, start, is_forwarded, outputs);
            }
            ControlMessage::NoLog { start } => self.on_no_log(from, start, outputs),
            // Not the log's, but its node's.
            ControlMessage::Joined { .. }
            | ControlMessage::JoinRefused { .. }
            | ControlMessage::Recovery(_)
            | ControlMessage::Restart(_) => {}
            ControlMessage::VoterGranted { group, voter, start } => {
                self.on_granted(group, voter, start, outputs);
            }
            ControlMessage::VoterCheck { group, voter } => self.on_check(from, group, voter, outputs),
            ControlMessage::VoterRemoved { group, voter } => self.on_removed(now, group, voter, outputs),
        }
        self.drive(outputs);
    }

    /// Time has passed.
    pub fn on_deadline(&mut self, now: Instant, outputs: &mut ControlOutputs) {
        if self.is_frozen {
            self.tick_at = now + self.config.tick;
            return;
        }
        match &mut self.stage {
            Stage::Asking { again, next, asked_at, asked, .. } => {
                if *again <= now {
                    *asked_at = now;
                    *asked = asked.saturating_add(1);
                    *again = now + if *asked < ASK_SOON_COUNT { ASK_SOON } else { ASK_AGAIN };
                    ask(&self.config, next, &self.down, outputs);
                }
            }
            Stage::Voting(voter) => {
                if voter.is_restoring() {
                    self.tick_at = now + self.config.tick;
                    self.campaign = self.campaign.map(|(_, leader)| (self.tick_at, leader));
                } else {
                    if let Some((at, leader)) = self.campaign
                        && at <= now
                    {
                        self.campaign = None;
                        if voter.raft.raft.leader_id == leader {
                            voter.campaign();
                        }
                    }
                    if self.tick_at <= now {
                        // A process that slept does not catch up: messages that wait for it come first.
                        self.tick_at = now + self.config.tick;
                        voter.raft.tick();
                        if voter.is_forgotten() {
                            let check = ControlMessage::VoterCheck { group: voter.group(), voter: voter.id };
                            let others = others(&self.config).map(|node| (node, check.clone()));
                            outputs.messages.extend(others);
                        }
                        if voter.is_leader() {
                            self.duty.tick(now, &self.config, voter);
                        } else {
                            self.duty.rest();
                        }
                    }
                }
            }
        }
        self.drive(outputs);
    }

    /// A write is on disk.
    pub fn on_written(&mut self, ticket: u64, outputs: &mut ControlOutputs) {
        if let Stage::Voting(voter) = &mut self.stage {
            voter.on_written(ticket, outputs);
        }
        self.drive(outputs);
    }

    /// The links to a node are up.
    pub fn on_link_up(&mut self, node: NodeId, outputs: &mut ControlOutputs) {
        self.down.remove(&node);
        if matches!(self.stage, Stage::Asking { .. }) && self.config.eligible.contains(&node) {
            ask_one(&self.config, node, outputs);
        }
    }

    /// The connection to a node has closed, or it is known to be dead. If it led, somebody takes over at once.
    pub fn on_link_down(&mut self, now: Instant, node: NodeId, outputs: &mut ControlOutputs) {
        self.down.insert(node);
        let Stage::Voting(voter) = &mut self.stage else { return };
        if voter.is_restoring() || self.is_frozen {
            return;
        }
        let leader = voter.raft.raft.leader_id;
        let lost = voter.counting().find(|(_, home)| *home == node).map(|(id, _)| id);
        if let Some(lost) = lost {
            voter.raft.report_unreachable(lost.0);
            if lost.0 == leader && voter.id.0 != leader {
                let mine = self.config.rank_of(self.config.node);
                let before = voter
                    .counting()
                    .filter(|(_, home)| self.config.rank_of(*home) < mine && !self.down.contains(home));
                let before = u32::try_from(before.count()).unwrap_or(u32::MAX);
                self.campaign = Some((now + CAMPAIGN_STAGGER * before, leader));
            }
        }
        self.drive(outputs);
        if self.campaign.is_some_and(|(at, _)| at <= now) {
            self.on_deadline(now, outputs);
        }
    }

    // ---- messages ---------------------------------------------------------------------------------------------------

    fn on_voter_message(
        &mut self,
        now: Instant,
        from: NodeId,
        message: &VoterMessage,
        outputs: &mut ControlOutputs,
    ) {
        let voter = match &mut self.stage {
            Stage::Voting(voter) => voter,
            Stage::Asking { again, next, asked_at, .. } => {
                // Somebody believes that this node has a log: it is the one to ask.
                if let Some(found) = others(&self.config).position(|node| node == from)
                    && now >= *asked_at + ASK_SOON
                {
                    *next = found;
                    *again = now;
                }
                return;
            }
        };
        if voter.is_restoring() {
            return;
        }
        if voter.group() != message.group || message.to != voter.id {
            self.refused += 1;
            return;
        }
        if voter.state.as_ref().is_some_and(|state| state.is_removed(message.from)) {
            return self.on_check(from, message.group, message.from, outputs);
        }
        if !voter.step(message) {
            self.refused += 1;
            return;
        }
        // The state says where voters live, but this copy may be behind: it answers voters that it does not know yet,
        // too.
        if voter.state.as_ref().is_some_and(|state| state.voter(message.from).is_some()) {
            self.routes.remove(&message.from);
        } else {
            if self.routes.len() >= VOTERS_MAX {
                self.routes.clear();
            }
            self.routes.insert(message.from, from);
        }
        self.duty.on_heard(now, message.from);
    }

    fn on_propose(&mut self, mut command: Command, is_forwarded: bool, outputs: &mut ControlOutputs) {
        if let Command::Join { node, replaces, .. } = &mut command
            && !is_forwarded
        {
            // Only here it is sure that the process lives: its link does.
            let Some(state) = self.state() else {
                return self.hand_on(command, outputs);
            };
            *replaces = state.incarnation(*node);
        }
        match &mut self.stage {
            Stage::Voting(voter) if voter.is_leader() => voter.propose(&command),
            Stage::Voting(_) | Stage::Asking { .. } if is_forwarded => {}
            Stage::Voting(_) => {
                let command = Box::new(command);
                self.to_leader(ControlMessage::Propose { command, is_forwarded: true }, outputs);
            }
            Stage::Asking { .. } => self.hand_on(command, outputs),
        }
    }

    /// A node without a log knows neither the leader nor the holders of copies: a node with a copy hands it on.
    fn hand_on(&self, command: Command, outputs: &mut ControlOutputs) {
        let command = Box::new(command);
        for node in others(&self.config).filter(|node| !self.down.contains(node)) {
            let command = command.clone();
            outputs.messages.push((node, ControlMessage::Propose { command, is_forwarded: false }));
        }
    }

    /// A process start asks again for what is decided already, or can never be. True if that is all.
    fn answer_join(&self, from: NodeId, command: &Command, outputs: &mut ControlOutputs) -> bool {
        let (Command::Join { node, join, .. }, Some(state)) = (command, self.state()) else { return false };
        let start = join.start;
        if *node != from {
            return true;
        }
        let answer = match (state.life(*node), state.refusal(*node, join)) {
            (Some(life), _) if life.join.start == start => {
                ControlMessage::Joined { start, incarnation: life.incarnation }
            }
            (_, Some(reason)) => ControlMessage::JoinRefused { start, reason },
            (_, None) => return false,
        };
        outputs.messages.push((from, answer));
        true
    }

    /// Another eligible node has no log either.
    fn on_no_log(&mut self, from: NodeId, start: u64, outputs: &mut ControlOutputs) {
        if let Stage::Asking { without, .. } = &mut self.stage
            && start == self.config.start
        {
            without.insert(from);
            self.found_if_due(outputs);
        }
    }

    /// This node was let in, so its cluster exists. It founds none in this life, even if it hears of one eligible
    /// node after the other that has no log any more.
    pub(crate) fn never_found(&mut self) {
        self.config.founding = None;
    }

    /// Where nobody has a log, the first eligible node founds the cluster.
    fn found_if_due(&mut self, outputs: &mut ControlOutputs) {
        let Stage::Asking { without, .. } = &self.stage else { return };
        if self.config.eligible.first() != Some(&self.config.node)
            || !others(&self.config).all(|node| without.contains(&node))
        {
            return;
        }
        let Some((group, settings)) = self.config.founding.take() else { return };
        match found(&self.config, group, &settings) {
            Ok(voter) => {
                outputs.event(Severity::Info, format!("cluster '{}' is founded", self.config.cluster));
                let mut voter = Box::new(voter);
                voter.campaign_alone();
                self.stage = Stage::Voting(voter);
            }
            Err(error) => outputs.event(Severity::Error, error),
        }
    }

    fn on_wanted(
        &mut self,
        now: Instant,
        node: NodeId,
        start: u64,
        is_forwarded: bool,
        outputs: &mut ControlOutputs,
    ) {
        let Stage::Voting(voter) = &mut self.stage else {
            if !is_forwarded {
                outputs.messages.push((node, ControlMessage::NoLog { start }));
            }
            return;
        };
        if !voter.is_leader() {
            if !is_forwarded {
                let message = ControlMessage::VoterWanted { node, start, is_forwarded: true };
                self.to_leader(message, outputs);
            }
            return;
        }
        let group = voter.group();
        if let Some(voter) = self.duty.on_wanted(now, &self.config, voter, node, start) {
            outputs.messages.push((node, ControlMessage::VoterGranted { group, voter, start }));
        }
    }

    fn to_leader(&self, message: ControlMessage, outputs: &mut ControlOutputs) {
        let Some(voter) = self.voter() else { return };
        if let Some(node) = self.route(VoterId(voter.raft.raft.leader_id)) {
            outputs.messages.push((node, message));
        }
    }

    fn route(&self, to: VoterId) -> Option<NodeId> {
        let named = self.state().and_then(|state| state.voter(to)).map(|info| info.node);
        named.or_else(|| self.routes.get(&to).copied())
    }

    fn on_granted(&mut self, group: GroupId, id: VoterId, start: u64, outputs: &mut ControlOutputs) {
        if !matches!(self.stage, Stage::Asking { .. }) || start != self.config.start || id == VoterId(0) {
            return;
        }
        let durable = Durable { group, voter: id, ..Durable::default() };
        let writer = LogWriter::new(&self.config.cluster);
        match Voter::new(durable, writer, true, self.config.entries_max) {
            Ok(voter) => {
                outputs.event(Severity::Info, format!("this node is voter {id} of the control plane"));
                self.stage = Stage::Voting(Box::new(voter));
            }
            Err(error) => outputs.event(Severity::Error, error),
        }
    }

    fn on_check(&self, from: NodeId, group: GroupId, voter: VoterId, outputs: &mut ControlOutputs) {
        if self.state().is_some_and(|state| state.group == group && state.is_removed(voter)) {
            outputs.messages.push((from, ControlMessage::VoterRemoved { group, voter }));
        }
    }

    fn on_removed(&mut self, now: Instant, group: GroupId, id: VoterId, outputs: &mut ControlOutputs) {
        let Stage::Voting(voter) = &self.stage else { return };
        // While a write is on its way the next file could not be begun: it will be told again.
        if voter.id != id || voter.group() != group || voter.is_writing() {
            return;
        }
        outputs.event(Severity::Warning, format!("voter {id} of this node was removed; it asks for another"));
        self.stage = Stage::asking(now);
        self.config.founding = None;
        self.campaign = None;
    }

    // ---- after every input ------------------------------------------------------------------------------------------

    /// Lets Raft go on, and sends what it has to say.
    fn drive(&mut self, outputs: &mut ControlOutputs) {
        let Stage::Voting(voter) = &mut self.stage else { return };
        voter.pump(&mut self.tickets, outputs);
        if self.is_refounded && voter.is_leader() && voter.is_on_disk() {
            self.is_refounded = false;
            let view = voter.state.as_ref().map(|state| Arc::clone(&state.view));
            outputs.decided.extend(view.map(Decided::View));
        }
        // A copy that replaces another one in the same process hears of old views again.
        let newest = &mut self.newest_view;
        outputs.decided.retain(|decided| match decided {
            Decided::View(view) => {
                let is_new = view.number > *newest;
                *newest = view.number.max(*newest);
                is_new
            }
            Decided::Joined(_) => true,
        });
        let mine = self.config.rank_of(self.config.node);
        let rank = voter.counting().filter(|(_, node)| self.config.rank_of(*node) < mine).count();
        voter.set_rank(rank);
        let leader = voter.raft.raft.leader_id;
        if leader != self.leader_seen {
            self.leader_seen = leader;
            if leader == voter.id.0 {
                outputs.event(Severity::Info, format!("voter {} leads the control plane", voter.id));
            }
        }
        let group = voter.group();
        let id = voter.id;
        let is_leader = voter.is_leader();
        for decided in &outputs.decided {
            if let Decided::Joined(life) = decided
                && is_leader
                && life.node != self.config.node
            {
                let answer = ControlMessage::Joined { start: life.join.start, incarnation: life.incarnation };
                outputs.messages.push((life.node, answer));
            }
        }
        for (voter, node, start) in std::mem::take(&mut outputs.added) {
            if is_leader {
                outputs.messages.push((node, ControlMessage::VoterGranted { group, voter, start }));
            }
        }
        for message in std::mem::take(&mut outputs.raft_messages) {
            let Some(message) = convert::from_raft(group, &message) else { continue };
            stdx::require!(message.from == id);
            if let Some(node) = self.route(message.to) {
                outputs.messages.push((node, ControlMessage::Voter(message)));
            }
        }
    }
}

/// Voter 1 of a new group.
fn found(config: &ControlConfig, group: GroupId, settings: &ClusterSettings) -> Result<Voter, String> {
    let state = ControlState::founded(group, settings.clone(), config.node, config.start);
    let voter = VoterId(1);
    // The first entry is the founding itself, so that every other copy begins with a snapshot.
    let snapshot =
        LogSnapshot { index: 1, term: 1, voters: vec![voter], learners: Vec::new(), state: state.encode() };
    let hard = HardState { term: 1, vote: 0, commit: 1 };
    let durable = Durable { group, voter, hard, snapshot, entries: Vec::new() };
    Voter::new(durable, LogWriter::new(&config.cluster), true, config.entries_max)
}

fn ask(config: &ControlConfig, next: &mut usize, down: &BTreeSet<NodeId>, outputs: &mut ControlOutputs) {
    if let Some(node) = next_eligible(config, next, down) {
        ask_one(config, node, outputs);
    }
}

fn ask_one(config: &ControlConfig, node: NodeId, outputs: &mut ControlOutputs) {
    if config.eligible.contains(&config.node) {
        let (asker, start) = (config.node, config.start);
        outputs
            .messages
            .push((node, ControlMessage::VoterWanted { node: asker, start, is_forwarded: false }));
    }
}

/// The eligible nodes in turn, without this node and, while there are others, those that are out of reach.
fn next_eligible(config: &ControlConfig, next: &mut usize, down: &BTreeSet<NodeId>) -> Option<NodeId> {
    let count = others(config).count();
    for _ in 0..count {
        let node = others(config).nth(*next % count);
        *next = (*next + 1) % count;
        if node.is_some_and(|node| !down.contains(&node)) {
            return node;
        }
    }
    others(config).next()
}

fn others(config: &ControlConfig) -> impl Iterator<Item = NodeId> {
    config.eligible.iter().copied().filter(|node| *node != config.node)
}
