//! Checks of a world of control logs, at every moment and for ever.
//!
//! - One history of views: whoever decides view n decides the same one, and it was proposed by somebody who knew view n
//!   − 1 of that history.
//! - A copy decides views in order, and goes through the same states at the same places of the log.
//! - A process start has one incarnation, and no incarnation is given twice. A term has one leader. A voter lives on
//!   one node.
//! - In the end the newest view that anybody ever decided is everybody's.

use super::machine::Machine;
use membership::control_log::{ControlLog, Decided};
use protocol::View;
use protocol::control::{ControlMessage, VoterBody, VoterId};
use std::collections::{BTreeMap, BTreeSet};
use stdx::hash64;
use stdx::wire::to_bytes;
use types::{Incarnation, NodeId};

#[derive(Default)]
pub(super) struct Checker {
    /// View number → digest.
    history: BTreeMap<u64, u64>,
    /// Digests of proposed views, each with that of the view it was made from.
    proposed: BTreeSet<(u64, u64)>,
    /// The newest view each node has decided in this life.
    newest: BTreeMap<NodeId, u64>,
    /// Place in the log → digest of the state behind it.
    states: BTreeMap<u64, u64>,
    applied: BTreeMap<NodeId, u64>,
    incarnations: BTreeMap<(NodeId, u64), Incarnation>,
    given: BTreeMap<Incarnation, (NodeId, u64)>,
    leaders: BTreeMap<u64, VoterId>,
    homes: BTreeMap<VoterId, NodeId>,
}

impl Checker {
    /// How many views were decided.
    pub(super) fn views(&self) -> u64 {
        self.history.len() as u64
    }

    /// The newest view that anybody decided.
    pub(super) fn newest(&self) -> u64 {
        self.history.keys().next_back().copied().unwrap_or(0)
    }

    /// How many terms had a leader.
    pub(super) fn leaders(&self) -> u64 {
        self.leaders.len() as u64
    }

    pub(super) fn on_start(&mut self, node: NodeId) {
        self.newest.remove(&node);
        self.applied.remove(&node);
    }

    pub(super) fn on_proposed(&mut self, base: &View, next: &View) {
        self.proposed.insert((digest(next), digest(base)));
    }

    pub(super) fn on_decided(&mut self, node: NodeId, decided: &Decided) -> Result<(), String> {
        match decided {
            Decided::View(view) => self.on_view(node, view),
            Decided::Joined(life) => {
                let start = (life.node, life.join.start);
                let first = *self.incarnations.entry(start).or_insert(life.incarnation);
                let owner = *self.given.entry(life.incarnation).or_insert(start);
                if first != life.incarnation || owner != start {
                    return Err(format!(
                        "incarnation {} of {start:?} was {first}, of {owner:?}",
                        life.incarnation
                    ));
                }
                Ok(())
            }
        }
    }

    fn on_view(&mut self, node: NodeId, view: &View) -> Result<(), String> {
        let (number, digest) = (view.number.0, digest(view));
        let newest = self.newest.entry(node).or_insert(0);
        if number <= *newest {
            return Err(format!("node {node} decides view {number} after view {newest}"));
        }
        *newest = number;
        let known = *self.history.entry(number).or_insert(digest);
        if known != digest {
            return Err(format!("node {node} decides another view {number}"));
        }
        // The view before may be unknown: every copy that decided it may have crashed before it said so.
        match number.checked_sub(1).and_then(|before| self.history.get(&before)) {
            Some(before) if !self.proposed.contains(&(digest, *before)) => {
                Err(format!("nobody who knew view {} proposed view {number}", number - 1))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Looks at a copy after an input.
    pub(super) fn on_state(&mut self, node: NodeId, log: &ControlLog) -> Result<(), String> {
        if let Some((voter, term, is_leader)) = log.role() {
            let home = *self.homes.entry(voter).or_insert(node);
            if home != node {
                return Err(format!("voter {voter} lives on nodes {home} and {node}"));
            }
            let leader = if is_leader { *self.leaders.entry(term).or_insert(voter) } else { voter };
            if leader != voter {
                return Err(format!("voters {leader} and {voter} lead in term {term}"));
            }
        }
        let applied = log.applied();
        let before = self.applied.insert(node, applied).unwrap_or(0);
        if applied == before {
            return Ok(());
        }
        let Some(state) = log.state() else { return Ok(()) };
        let digest = hash64(&state.encode());
        let known = *self.states.entry(applied).or_insert(digest);
        if known != digest {
            Err(format!("node {node} has another state after entry {applied}"))
        } else {
            Ok(())
        }
    }

    /// All is well: now everything that was ever decided must be there.
    pub(super) fn finish(&self, machines: &BTreeMap<NodeId, Machine>) -> Result<(), String> {
        let last = self.newest();
        let leader = machines.values().find(|machine| machine.is_leader());
        let state = leader.and_then(|machine| machine.log.as_ref()?.state()).ok_or("no leader at the end")?;
        if state.view.number.0 < last {
            return Err(format!("view {last} was decided, the leader has {}", state.view.number));
        }
        Ok(())
    }
}

fn digest(view: &View) -> u64 {
    hash64(&to_bytes(view))
}

/// For the transcript.
pub(super) fn describe(decided: &Decided) -> String {
    match decided {
        Decided::View(view) => format!("view {} {:016x}", view.number, digest(view)),
        Decided::Joined(life) => format!("incarnation {} of node {}", life.incarnation, life.node),
    }
}

/// A message in a few words, for the transcript.
pub(super) fn name_of(message: &ControlMessage) -> String {
    match message {
        ControlMessage::Voter(voter) => {
            let body = name_of_body(&voter.body);
            format!("{}>{} term {} {body}", voter.from, voter.to, voter.term)
        }
        ControlMessage::Propose { .. } => "propose".to_owned(),
        ControlMessage::VoterWanted { node, start, .. } => format!("wanted by {node} {start:x}"),
        ControlMessage::VoterGranted { voter, .. } => format!("granted {voter}"),
        ControlMessage::VoterCheck { voter, .. } => format!("check of {voter}"),
        ControlMessage::VoterRemoved { voter, .. } => format!("removed {voter}"),
        ControlMessage::Recovery(message) => format!("{message:?}"),
        ControlMessage::Restart(message) => format!("{message:?}"),
        ControlMessage::NoLog { .. } => "no log".to_owned(),
        ControlMessage::Joined { incarnation, .. } => format!("joined {incarnation}"),
        ControlMessage::JoinRefused { reason, .. } => format!("join refused: {reason}"),
    }
}

fn name_of_body(body: &VoterBody) -> String {
    match body {
        VoterBody::Append { index, log_term, commit, entries } => {
            format!("append {} behind {index}/{log_term}, commit {commit}", entries.len())
        }
        VoterBody::AppendDone { index, .. } => format!("append done {index}"),
        VoterBody::AppendRefused { index, hint, .. } => format!("append refused {index}, hint {hint}"),
        VoterBody::Heartbeat { commit } => format!("heartbeat {commit}"),
        VoterBody::HeartbeatDone { .. } => "heartbeat done".to_owned(),
        VoterBody::Vote { poll, index, log_term, .. } => format!("vote {poll:?} {index}/{log_term}"),
        VoterBody::VoteDone { poll, granted, .. } => format!("vote done {poll:?} {granted}"),
        VoterBody::Snapshot(snapshot) => format!("snapshot {}", snapshot.index),
        VoterBody::CampaignNow => "campaign now".to_owned(),
    }
}
