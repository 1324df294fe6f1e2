//! Duties of the control log's leader besides Raft: it keeps the number of voters, and hands leadership to the voter
//! that should have it.
//!
//! Decisions only, from what the leader sees; each is taken again at the next tick while it is still right, so none
//! needs an answer.

use super::ControlConfig;
use super::voter::Voter;
use crate::control_state::VoterInfo;
use crate::mutants::{self, Mutant};
use protocol::NodeRole;
use protocol::control::{VoterChange, VoterId, VoterStep};
use raft::{ProgressState, SnapshotStatus};
use std::collections::BTreeMap;
use stdx::{Duration, Instant};
use types::NodeId;

/// A voter that was not heard of for so long, and for so many ticks, is replaced, if a spare node asks for its place.
const LOST_AFTER: Duration = Duration::from_secs(10);
const LOST_TICKS: u32 = 20;
/// A spare that asked within this time is there.
const SPARE_FOR: Duration = Duration::from_secs(5);
/// A follower that did not answer a snapshot for so long gets it again.
const SNAPSHOT_PATIENCE: Duration = Duration::from_millis(500);
/// For how long someone more preferred must have kept up before it is made the leader, and how long the attempt is
/// given.
const TRANSFER_PATIENCE: Duration = Duration::from_secs(1);
/// A node that was not heard of for so long is not made the leader, nor a voter. It has something to answer at each
/// second tick.
const SILENCE_MAX: Duration = Duration::from_millis(200);
const SILENCE_TICKS: u32 = 4;

/// How much a node is preferred as leader, the most preferred one first: by rank, but data nodes that are no members
/// come last. One that had to leave for its late answers is to wait for its return (`laggards`), and nobody keeps
/// itself waiting.
fn rank(config: &ControlConfig, voter: &Voter, node: NodeId) -> (bool, usize) {
    let is_outside = voter.state.as_ref().is_some_and(|state| {
        let is_data_node = state.view.node(node).is_some_and(|info| info.role == NodeRole::Data);
        is_data_node && !state.view.is_in_sync(node)
    });
    (is_outside, config.rank_of(node))
}

/// The voters that should lead rather than this node.
pub(super) fn preferred(config: &ControlConfig, voter: &Voter) -> impl Iterator<Item = (VoterId, NodeId)> {
    let mine = rank(config, voter, config.node);
    voter.counting().filter(move |(_, node)| rank(config, voter, *node) < mine)
}

fn change(info: &VoterInfo, step: VoterStep) -> VoterChange {
    VoterChange { voter: info.voter, node: info.node, start: info.start, step }
}

/// A leader's memory of the others; void when it is no leader.
#[derive(Default)]
pub(super) struct Duty {
    heard: BTreeMap<VoterId, Instant>,
    spares: BTreeMap<NodeId, Instant>,
    snapshots: BTreeMap<VoterId, Instant>,
    /// Since when a more preferred voter could lead.
    heir: Option<(VoterId, Instant)>,
}

impl Duty {
    /// A voter said something.
    pub(super) fn on_heard(&mut self, now: Instant, voter: VoterId) {
        self.heard.insert(voter, now);
    }

    /// Not the leader: nothing that was seen counts.
    pub(super) fn rest(&mut self) {
        *self = Self::default();
    }

    /// The leader's tick.
    pub(super) fn tick(&mut self, now: Instant, config: &ControlConfig, voter: &mut Voter) {
        let Some(state) = &voter.state else { return };
        let infos: Vec<_> = state.voters().to_vec();
        for info in &infos {
            self.heard.entry(info.voter).or_insert(now);
        }
        self.heard.retain(|known, _| infos.iter().any(|info| info.voter == *known));
        self.repeat_snapshots(now, voter);
        for info in infos.iter().filter(|info| !info.votes) {
            if self.has_caught_up(now, config, voter, info.voter) {
                voter.propose_change(&change(info, VoterStep::Promote));
            }
        }
        let is_spare_there = self.spares.values().any(|asked| now.since(*asked) < SPARE_FOR);
        let lost_after = LOST_AFTER.max(config.tick * LOST_TICKS);
        let lost = infos.iter().find(|info| {
            let is_lost = self.heard.get(&info.voter).is_some_and(|heard| now.since(*heard) > lost_after);
            info.voter != voter.id && is_lost && (is_spare_there || !info.votes)
        });
        if let Some(info) = lost {
            voter.propose_change(&change(info, VoterStep::Remove));
        }
        self.hand_over(now, config, voter);
    }

    /// Raft waits for an answer to a snapshot without end, and the snapshot may not arrive.
    fn repeat_snapshots(&mut self, now: Instant, voter: &mut Voter) {
        if mutants::is(Mutant::LostSnapshotAwaited) {
            return;
        }
        let progress = voter.raft.raft.prs().iter();
        let waiting: Vec<u64> = progress
            .filter(|(_, progress)| progress.state == ProgressState::Snapshot)
            .map(|(id, _)| *id)
            .collect();
        self.snapshots.retain(|known, _| waiting.contains(&known.0));
        for id in waiting {
            let since = *self.snapshots.entry(VoterId(id)).or_insert(now);
            if now.since(since) > SNAPSHOT_PATIENCE {
                self.snapshots.remove(&VoterId(id));
                voter.raft.report_snapshot(id, SnapshotStatus::Failure);
            }
        }
    }

    /// Whether a voter has everything that is committed, and was heard of a moment ago.
    fn has_caught_up(&self, now: Instant, config: &ControlConfig, voter: &Voter, id: VoterId) -> bool {
        let raft = &voter.raft.raft;
        let silence_max = SILENCE_MAX.max(config.tick * SILENCE_TICKS);
        let is_near = self.heard.get(&id).is_some_and(|heard| now.since(*heard) < silence_max);
        let matched = raft.prs().get(id.0).map_or(0, |progress| progress.matched);
        is_near && matched > 0 && matched >= raft.raft_log.committed
    }

    /// Leadership goes to the first in rank that can have it.
    fn hand_over(&mut self, now: Instant, config: &ControlConfig, voter: &mut Voter) {
        let able = preferred(config, voter).filter(|(id, _)| self.has_caught_up(now, config, voter, *id));
        let first = able.min_by_key(|(_, node)| rank(config, voter, *node)).map(|(id, _)| id);
        let Some(first) = first else {
            self.heir = None;
            return;
        };
        match self.heir {
            Some((heir, since)) if heir == first => {
                if now.since(since) > TRANSFER_PATIENCE {
                    self.heir = None;
                    voter.raft.transfer_leader(first.0);
                }
            }
            _ => self.heir = Some((first, now)),
        }
    }

    /// A node without a log asks for one. The answer, if it has one already.
    pub(super) fn on_wanted(
        &mut self,
        now: Instant,
        config: &ControlConfig,
        voter: &mut Voter,
        node: NodeId,
        start: u64,
    ) -> Option<VoterId> {
        let state = voter.state.as_ref()?;
        if !config.eligible.contains(&node) || node == config.node {
            return None;
        }
        let known = state.voter_of(node);
        if mutants::is(Mutant::EmptyVoterVotes)
            && let Some(info) = known
        {
            return Some(info.voter);
        }
        let change = match known {
            Some(info) if info.start == start => return Some(info.voter),
            // Its log is gone, or it would not ask: the old copy is void, and counts no more.
            Some(info) => change(info, VoterStep::Remove),
            None if state.voters().len() < config.voter_count => {
                VoterChange { voter: state.next_voter(), node, start, step: VoterStep::AddLearner }
            }
            None => {
                self.spares.insert(node, now);
                return None;
            }
        };
        voter.propose_change(&change);
        None
    }
}
