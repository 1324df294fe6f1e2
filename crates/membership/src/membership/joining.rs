//! How this node comes in: an incarnation, then, if it holds rows, being copied to, then being in sync. And how its
//! earlier life goes out.
//!
//! Each wish is asked for again until the view, or the log, has it; `Due::join` says when.
//!
//! Deliberately not here: what may follow which view (`succession`), and how long a late node has to wait (`laggards`).

use super::Membership;
use crate::control_log::ControlLog;
use crate::mutants::{self, Mutant};
use crate::succession;
use protocol::control::Command;
use protocol::{Address, GroupView, NodeInfo, NodeRole, Outputs, Severity, Signal, View};
use stdx::{Duration, Now};
use types::{Incarnation, NodeId, ViewNumber};

/// How soon a join is tried again while there is no answer.
const JOIN_RETRY: Duration = Duration::from_millis(100);
/// How soon a view without a life that has ended is asked for again.
const DROP_LIVES_RETRY: Duration = Duration::from_millis(200);

impl Membership {
    /// Asks for an incarnation until there is one.
    pub(crate) fn try_join<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        if self.incarnation.is_some() || self.is_ending || self.config.awaits_claim {
            return;
        }
        self.due.join = Some(now.monotonic + JOIN_RETRY);
        let command = Command::Join {
            node: self.config.node,
            join: Box::new(self.config.join.clone()),
            // The control log sets it.
            replaces: Incarnation(0),
        };
        self.with_log(now, outputs, |log, todo| log.propose(command, todo));
    }

    pub(crate) fn on_joined<S>(&mut self, now: Now, incarnation: Incarnation, outputs: &mut Outputs<S>) {
        if self.incarnation.is_some() {
            return;
        }
        self.incarnation = Some(incarnation);
        self.due.join = None;
        if let Some(log) = &mut self.log {
            log.never_found();
        }
        outputs.event(Severity::Info, format!("node {} has incarnation {incarnation}", self.config.node));
        outputs.send(self.me(), Address::main(self.config.node), Signal::JoinAccepted { incarnation });
        for node in &self.up {
            self.hand_on_view(*node, outputs);
        }
        self.enter_view(now, outputs);
    }

    /// This joining node has all rows: asks to be in sync, until a newer view comes.
    pub(crate) fn ask_for_sync<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        // Signals that a broken connection dropped are repaired by the view that is on its way: this member may lack
        // them.
        if self.caught_up != Some(self.view.number) || !self.broken.is_empty() {
            return;
        }
        if let Some(next) = succession::with_in_sync(&self.view, self.config.node) {
            self.due.join = Some(now.monotonic + JOIN_RETRY);
            self.propose(now, next, outputs);
        }
    }

    /// This data node, which has started while the cluster runs, asks to be taken in as *joining*, when it is connected
    /// with all members: only then what they send arrives. Its earlier life has to leave first.
    pub(crate) fn ask_to_be_copied_to<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let Some(incarnation) = self.incarnation else { return };
        let node = self.config.node;
        if self.config.join.role != NodeRole::Data
            || self.view.number == ViewNumber(0)
            || self.view.is_member(node)
            || self.is_ending
        {
            return;
        }
        self.due.join = Some(now.monotonic + JOIN_RETRY);
        if !self.are_members_there(outputs) {
            return;
        }
        // The leader of the control log is to know how long this node has to wait: a node does not decide that for
        // itself.
        if self.log.as_ref().is_some_and(ControlLog::is_handing_over) {
            return;
        }
        if !self.has_returned(outputs) {
            return;
        }
        let join = &self.config.join;
        let info = NodeInfo {
            node,
            incarnation,
            role: join.role,
            host: join.host.clone(),
            ldm_count: join.ldm_count,
            tc_count: join.tc_count,
            query_count: join.query_count,
            sql_count: join.sql_count,
        };
        if let Some(next) = succession::with_joining(&self.view, &info) {
            self.propose(now, next, outputs);
        }
    }

    /// Whether this node is connected with all members, in the lives that the view names: then the cluster goes on. A
    /// member that has started anew has another life, and may be about to start from its disk with all others.
    fn are_members_there<S>(&self, outputs: &mut Outputs<S>) -> bool {
        let mut are_there = true;
        for info in self.view.nodes.iter().filter(|info| self.view.is_member(info.node)) {
            let is_up = self.up.contains(&info.node);
            let life = self.restarting.lives.get(&info.node).copied();
            if is_up && life.is_none() {
                outputs.send(self.me(), Address::membership(info.node), Signal::ViewWanted);
            }
            let mut is_it = life.is_some_and(|life| life.is_none_or(|life| life == info.incarnation));
            if mutants::is(Mutant::EarlierLivesJoined) {
                is_it = true;
            }
            are_there &= is_up && is_it;
        }
        if mutants::is(Mutant::JoinUnconnected) {
            are_there = true;
        }
        are_there
    }

    /// The view without earlier lives of data nodes that have started again. The leader of the control log asks for it,
    /// while it hears a member of their group that goes on. After a loss of all there is none. The node that comes
    /// first is not left out then, because its disk may hold what the others' do not.
    fn without_earlier_lives(&self, now: Now) -> Option<View> {
        if mutants::is(Mutant::EarlierLifeStays) {
            return None;
        }
        let leads = self.leads();
        let state = self.log_state().filter(|state| leads && state.view.number > ViewNumber(0))?;
        let view = &state.view;
        let members = view.nodes.iter().filter(|info| view.is_member(info.node));
        let earlier: Vec<NodeId> = members
            .filter(|info| state.incarnation(info.node) > info.incarnation)
            .map(|info| info.node)
            .collect();
        let silence_max = self.config.detector.silence_max();
        let goes_on = |node: &NodeId| {
            let is_it = *node == self.config.node && self.is_in_view();
            let is_heard = self.restarting.beats(now.monotonic, *node, silence_max);
            (is_it || is_heard) && !earlier.contains(node)
        };
        let is_kept = |group: &GroupView| {
            let has_lost = group.in_sync.iter().any(|node| earlier.contains(node));
            !has_lost || group.in_sync.iter().any(goes_on)
        };
        let mut is_safe = view.groups.iter().all(is_kept);
        if mutants::is(Mutant::FirstComerLeftOut) {
            is_safe = true;
        }
        if earlier.is_empty() || !is_safe { None } else { succession::without(view, &earlier) }
    }

    pub(crate) fn drop_earlier_lives<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        self.restarting.drop_lives_at = now.monotonic + DROP_LIVES_RETRY;
        if let Some(next) = self.without_earlier_lives(now) {
            self.propose(now, next, outputs);
        }
    }
}
