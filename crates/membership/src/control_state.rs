//! The state machine that the control log replicates: incarnations, views, restarts, voters. It knows no Raft.
//!
//! Every copy applies the same changes in the same order. A change that is void (overtaken, repeated, not allowed)
//! changes nothing, on every copy alike. Nobody is told, because a node that wants something looks at the state and
//! asks again.
//!
//! Invariants: views follow each other by [`succession::check`]. An incarnation and a voter id are given once and never
//! again. The same question (node, start) always gets the same answer. A data node has one voter at most.
//!
//! Deliberately not here: epochs and schema (they must not fence data), and what runs on a node.

use crate::mutants::{self, Mutant};
use crate::succession::{self, Illegal};
use protocol::control::{
    Command, FOUNDINGS_MAX, GroupId, STATE_SIZE_MAX, VOTERS_MAX, VoterChange, VoterId, VoterStep,
};
use protocol::restart::RESTARTS_MAX;
use protocol::signal::JoinRequest;
use protocol::{NodeInfo, NodeRole, RestartPoint, SlotSizes, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::wire::{Decoder, WIRE_VERSION, Wire, WireError, to_bytes};
use types::{Incarnation, NodeId, ViewNumber};
use wire_derive::Wire;

/// How much higher the numbers of a new founding begin.
pub const NUMBERS_LEAP: u64 = 1 << 20;
/// SlotsPerNode of a cluster that is founded without one, by the most `ldm` that a node has: up to so many, so many
/// slots. Each view costs each slot some work, so small machines have few.
const SLOTS_PER_NODE: [(u8, u16); 2] = [(15, 16), (64, 64)];
/// The same for nodes with more.
const SLOTS_PER_LARGE_NODE: u16 = 128;

/// The settings with which a cluster is founded.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct ClusterSettings {
    /// All configured nodes, by id.
    pub members: Vec<(NodeId, NodeRole)>,
    /// NoOfReplicas.
    pub replica_count: u16,
    /// PartitionsPerNode.
    pub partitions_per_node: u16,
    /// SlotsPerNode; 0: by the CPUs of the nodes that found the cluster.
    pub slots_per_node: u16,
    /// How many copies of the log vote, when all are there.
    pub voter_count: u16,
}

/// A process start that was let in.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Life {
    /// The node.
    pub node: NodeId,
    /// The life's number.
    pub incarnation: Incarnation,
    /// Its own description.
    pub join: JoinRequest,
}

/// A copy of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct VoterInfo {
    /// Its id.
    pub voter: VoterId,
    /// Where it lives.
    pub node: NodeId,
    /// The process start that asked for it.
    pub start: u64,
    /// It counts.
    pub votes: bool,
}

/// An operator's recovery: this log took the place of another founding's.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct RecoveryRecord {
    /// The founding that it replaced.
    pub replaced: GroupId,
    /// The nodes that were given up, by id.
    pub without: Vec<NodeId>,
    /// The operator who gave the order.
    pub operator: String,
}

/// An operator's word on the restart that follows a view: disks count that would not.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Concession {
    /// The view.
    pub view: ViewNumber,
    /// The data nodes that were given up, by id.
    pub without: Vec<NodeId>,
    /// The operator who gave the order.
    pub operator: String,
    /// How much was conceded.
    pub extent: Conceded,
}

/// The conditions that a disk need not meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Conceded {
    /// Its life need not be one that the view calls restorable: the view may be an old one. But it has to hold all that
    /// is known to be durable.
    Lives,
    /// Nor need it hold that. A group without a disk begins empty.
    Rows,
}

/// The verdict on a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The state is another one.
    Done,
    /// It was so already.
    Repeated,
    /// The change is void.
    Void(Illegal),
}

/// The replicated state: kilobytes.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct ControlState {
    /// The founding.
    pub group: GroupId,
    /// As founded.
    pub settings: ClusterSettings,
    /// By node.
    lives: Vec<Life>,
    last_incarnation: Incarnation,
    /// The newest view; number 0 before the first.
    pub view: Arc<View>,
    /// By id.
    voters: Vec<VoterInfo>,
    last_voter: VoterId,
    /// The last ones, the newest last.
    restarts: Vec<RestartPoint>,
    /// The newest one.
    concession: Option<Concession>,
    /// The last ones, the newest last. In snapshots they stand behind everything else, and only if there are any: what
    /// was written before there could be any reads the same.
    #[wire(since = 65535)]
    recoveries: Vec<RecoveryRecord>,
}

impl ControlState {
    /// The state of a cluster that has just been founded: one voter, no view.
    #[must_use]
    pub fn founded(group: GroupId, mut settings: ClusterSettings, founder: NodeId, start: u64) -> Self {
        let voter = VoterId(1);
        settings.members.sort_by_key(|(node, _)| *node);
        Self {
            group,
            settings,
            lives: Vec::new(),
            last_incarnation: Incarnation(0),
            view: Arc::new(View::none()),
            voters: vec![VoterInfo { voter, node: founder, start, votes: true }],
            last_voter: voter,
            restarts: Vec::new(),
            concession: None,
            recoveries: Vec::new(),
        }
    }

    /// The state with which an operator's recovery goes on: another founding, one voter, a view without those that are
    /// gone, higher numbers.
    #[must_use]
    pub fn refounded(
        &self,
        founding: GroupId,
        view: View,
        record: RecoveryRecord,
        (founder, start): (NodeId, u64),
    ) -> Self {
        let mut leap = NUMBERS_LEAP;
        if mutants::is(Mutant::NumbersGivenTwice) {
            leap = 0;
        }
        let voter = VoterId(self.last_voter.0 + leap + 1);
        let lives = u32::try_from(leap).unwrap_or(u32::MAX);
        // The rows are on disks, and nobody knows whether this view is the newest that there was.
        let concession = view.is_stopped.then(|| Concession {
            view: view.number,
            without: record.without.clone(),
            operator: record.operator.clone(),
            extent: Conceded::Lives,
        });
        let mut recoveries = self.recoveries.clone();
        recoveries.push(record);
        recoveries.drain(..recoveries.len().saturating_sub(FOUNDINGS_MAX));
        Self {
            group: founding,
            view: Arc::new(view),
            voters: vec![VoterInfo { voter, node: founder, start, votes: true }],
            last_voter: voter,
            last_incarnation: Incarnation(self.last_incarnation.0.saturating_add(lives)),
            concession,
            recoveries,
            ..self.clone()
        }
    }

    /// Operators' recoveries, the newest last.
    #[must_use]
    pub fn recoveries(&self) -> &[RecoveryRecord] {
        &self.recoveries
    }

    /// The foundings that were replaced by this one, the oldest first.
    #[must_use]
    pub fn replaced(&self) -> Vec<GroupId> {
        self.recoveries.iter().map(|record| record.replaced).collect()
    }

    /// From the bytes of a snapshot.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        if bytes.len() > STATE_SIZE_MAX {
            return Err(WireError::TooLarge);
        }
        let mut decoder = Decoder::new(bytes, WIRE_VERSION);
        let mut state = <Self as Wire>::decode(&mut decoder)?;
        if decoder.remaining() > 0 {
            state.recoveries = Wire::decode(&mut decoder)?;
        }
        if decoder.remaining() == 0 { Ok(state) } else { Err(WireError::TrailingBytes) }
    }

    /// For a snapshot.
    #[must_use]
    pub fn encode(&self) -> Arc<[u8]> {
        let mut bytes = to_bytes(self);
        if !self.recoveries.is_empty() {
            bytes.extend(to_bytes(&self.recoveries));
        }
        stdx::require!(bytes.len() <= STATE_SIZE_MAX, "the replicated state exceeds its limit");
        bytes.into()
    }

    /// The newest life of a node.
    #[must_use]
    pub fn life(&self, node: NodeId) -> Option<&Life> {
        self.lives.iter().find(|life| life.node == node)
    }

    /// The newest life's number; 0 before the first.
    #[must_use]
    pub fn incarnation(&self, node: NodeId) -> Incarnation {
        self.life(node).map_or(Incarnation(0), |life| life.incarnation)
    }

    /// All voters and learners.
    #[must_use]
    pub fn voters(&self) -> &[VoterInfo] {
        &self.voters
    }

    /// A voter or learner.
    #[must_use]
    pub fn voter(&self, voter: VoterId) -> Option<&VoterInfo> {
        self.voters.iter().find(|info| info.voter == voter)
    }

    /// The voter that lives on a node.
    #[must_use]
    pub fn voter_of(&self, node: NodeId) -> Option<&VoterInfo> {
        self.voters.iter().find(|info| info.node == node)
    }

    /// Whether this id was given out and taken back: its log is void for ever.
    #[must_use]
    pub fn is_removed(&self, voter: VoterId) -> bool {
        voter <= self.last_voter && self.voter(voter).is_none()
    }

    /// The id for the next new voter.
    #[must_use]
    pub fn next_voter(&self) -> VoterId {
        VoterId(self.last_voter.0 + 1)
    }

    /// The last starts from disks, the newest last, at most [`RESTARTS_MAX`].
    #[must_use]
    pub fn restarts(&self) -> &[RestartPoint] {
        &self.restarts
    }

    /// An operator's word on the restart that follows the newest view.
    #[must_use]
    pub fn concession(&self) -> Option<&Concession> {
        self.concession.as_ref().filter(|concession| concession.view == self.view.number)
    }

    /// The word of an operator, if it is about the newest view.
    pub fn concede(&mut self, concession: Concession) -> Verdict {
        if concession.view == ViewNumber(0) || concession.view != self.view.number {
            return Verdict::Void(Illegal::Overtaken);
        }
        if self.concession.as_ref() == Some(&concession) {
            return Verdict::Repeated;
        }
        self.concession = Some(concession);
        Verdict::Done
    }

    /// Applies a command.
    pub fn apply(&mut self, command: &Command) -> Verdict {
        match command {
            Command::Join { node, join, replaces } => self.apply_join(*node, join, *replaces),
            Command::ChangeView { next } => self.apply_view(next),
            Command::Restart { view } => self.apply_restart(view),
            Command::Stop { view } => self.apply_stop(*view),
            Command::LoseData { view, without, operator } => {
                let (without, operator) = (without.clone(), operator.clone());
                self.concede(Concession { view: *view, without, operator, extent: Conceded::Rows })
            }
        }
    }

    /// Why a process start will never be let in; None if it may be.
    #[must_use]
    pub fn refusal(&self, node: NodeId, join: &JoinRequest) -> Option<String> {
        match self.settings.members.iter().find(|(member, _)| *member == node) {
            None => Some(format!("the cluster was founded without a node {node}")),
            Some((_, role)) if *role != join.role => {
                Some(format!("the cluster was founded with another role for node {node}"))
            }
            Some(_) => None,
        }
    }

    /// Whether the rows are gone: of some group, no process start that was in sync runs any more.
    #[must_use]
    pub fn has_lost_rows(&self) -> bool {
        let is_gone = |node: &NodeId| {
            let in_view = self.view.node(*node).map_or(Incarnation(0), |info| info.incarnation);
            self.incarnation(*node) > in_view
        };
        self.view.groups.iter().any(|group| group.in_sync.iter().all(is_gone))
    }

    fn apply_join(&mut self, node: NodeId, join: &JoinRequest, replaces: Incarnation) -> Verdict {
        let configured = self.settings.members.iter().find(|(member, _)| *member == node);
        if configured.is_none_or(|(_, role)| *role != join.role) {
            return Verdict::Void(Illegal::Malformed);
        }
        if self.life(node).is_some_and(|life| life.join.start == join.start) {
            return Verdict::Repeated;
        }
        let mut is_overtaken = self.incarnation(node) != replaces;
        if mutants::is(Mutant::JoinReplacesAnything) {
            is_overtaken = false;
        }
        if is_overtaken {
            return Verdict::Void(Illegal::Overtaken);
        }
        self.last_incarnation.0 += 1;
        let incarnation = self.last_incarnation;
        self.lives.retain(|life| life.node != node);
        self.lives.push(Life { node, incarnation, join: join.clone() });
        self.lives.sort_by_key(|life| life.node);
        self.decide_first_view();
        Verdict::Done
    }

    /// The last of these decides view 1: a data node that joins, or a voter without which the loss of one node could be
    /// that of the majority.
    fn decide_first_view(&mut self) {
        let data = self.settings.members.iter().filter(|(_, role)| *role == NodeRole::Data);
        let mut voting = self.voters.iter().filter(|info| info.votes).count();
        if mutants::is(Mutant::FirstViewWithoutVoters) {
            voting = usize::MAX;
        }
        if self.view.number.0 > 0
            || voting < usize::from(self.settings.voter_count)
            || !data.clone().all(|(node, _)| self.life(*node).is_some())
        {
            return;
        }
        let nodes: Vec<NodeInfo> =
            self.settings.members.iter().map(|(node, role)| self.info(*node, *role)).collect();
        let replica_count = usize::from(self.settings.replica_count);
        let sizes = SlotSizes {
            slots_per_node: match self.settings.slots_per_node {
                0 => slots_for(nodes.iter().map(|node| node.ldm_count).max().unwrap_or(0)),
                configured => configured,
            },
            partitions_per_node: self.settings.partitions_per_node,
        };
        self.view = Arc::new(View::first(self.group, nodes, replica_count, sizes));
    }

    /// A node in its newest life, as views describe it.
    #[must_use]
    pub fn info(&self, node: NodeId, role: NodeRole) -> NodeInfo {
        let life = self.life(node);
        let count = |count: fn(&JoinRequest) -> u8| life.map_or(0, |life| count(&life.join));
        NodeInfo {
            node,
            role,
            incarnation: life.map_or(Incarnation(0), |life| life.incarnation),
            host: life.map_or_else(String::new, |life| life.join.host.clone()),
            ldm_count: count(|join| join.ldm_count),
            tc_count: count(|join| join.tc_count),
            query_count: count(|join| join.query_count),
            sql_count: count(|join| join.sql_count),
        }
    }

    fn apply_view(&mut self, next: &Arc<View>) -> Verdict {
        if self.view.number.0 == 0 {
            return Verdict::Void(Illegal::Overtaken);
        }
        if **next == *self.view {
            return Verdict::Repeated;
        }
        if self.has_lost_rows() {
            // Only a restart follows: a member of this view holds no rows any more.
            return Verdict::Void(Illegal::NotViable);
        }
        let mut checked = succession::check(&self.view, next, &self.newest_lives());
        if mutants::is(Mutant::ViewsUncompared) && checked == Err(Illegal::Overtaken) {
            checked = Ok(());
        }
        match checked {
            Ok(()) => {
                self.view = Arc::clone(next);
                Verdict::Done
            }
            Err(illegal) => Verdict::Void(illegal),
        }
    }

    fn apply_stop(&mut self, view: ViewNumber) -> Verdict {
        if self.view.is_stopped && self.view.number.0 == view.0.saturating_add(1) {
            return Verdict::Repeated;
        }
        if view == ViewNumber(0) || view != self.view.number || self.view.is_stopped {
            return Verdict::Void(Illegal::Overtaken);
        }
        if self.has_lost_rows() {
            return Verdict::Void(Illegal::NotViable);
        }
        self.view = Arc::new(succession::stopped(&self.view, |node| self.keeps_rows(node)));
        Verdict::Done
    }

    /// Whether a node's newest life keeps rows on disk.
    #[must_use]
    pub fn keeps_rows(&self, node: NodeId) -> bool {
        self.life(node).is_some_and(|life| life.join.claim.is_some())
    }

    fn apply_restart(&mut self, next: &Arc<View>) -> Verdict {
        if self.view.number.0 == 0 {
            return Verdict::Void(Illegal::Overtaken);
        }
        if **next == *self.view {
            return Verdict::Repeated;
        }
        let mut checked = succession::check_restart(&self.view, next, &self.newest_lives());
        if mutants::is(Mutant::RestartNotCompared) && checked.is_err() {
            checked = Ok(());
        }
        match checked {
            Ok(()) => {
                self.view = Arc::clone(next);
                self.restarts.push(next.restart);
                self.restarts.drain(..self.restarts.len().saturating_sub(RESTARTS_MAX));
                Verdict::Done
            }
            Err(illegal) => Verdict::Void(illegal),
        }
    }

    fn newest_lives(&self) -> BTreeMap<NodeId, Incarnation> {
        self.lives.iter().map(|life| (life.node, life.incarnation)).collect()
    }

    /// Applies a change of voters; true if Raft must apply it too.
    pub fn apply_voter_change(&mut self, change: &VoterChange) -> bool {
        let known = self.voters.iter_mut().find(|info| info.voter == change.voter);
        match (change.step, known) {
            (VoterStep::AddLearner, None) => {
                if change.voter != self.next_voter()
                    || self.voter_of(change.node).is_some()
                    || self.voters.len() >= VOTERS_MAX
                {
                    return false;
                }
                self.last_voter = change.voter;
                self.voters.push(VoterInfo {
                    voter: change.voter,
                    node: change.node,
                    start: change.start,
                    votes: false,
                });
                true
            }
            (VoterStep::Promote, Some(info)) if !info.votes => {
                info.votes = true;
                self.decide_first_view();
                true
            }
            (VoterStep::Remove, Some(info)) => {
                let is_last = info.votes && self.voters.iter().filter(|info| info.votes).count() == 1;
                if is_last {
                    return false;
                }
                self.voters.retain(|info| info.voter != change.voter);
                true
            }
            (VoterStep::AddLearner | VoterStep::Promote, Some(_))
            | (VoterStep::Promote | VoterStep::Remove, None) => false,
        }
    }
}

/// SlotsPerNode where nodes have at most so many `ldm`.
fn slots_for(ldm_count: u8) -> u16 {
    let fitting = SLOTS_PER_NODE.iter().find(|(most, _)| ldm_count <= *most);
    fitting.map_or(SLOTS_PER_LARGE_NODE, |(_, slots)| *slots)
}

#[cfg(test)]
pub(crate) mod tests;
