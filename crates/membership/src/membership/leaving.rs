//! Planned moves: a node that is about to stop asks for what it needs, and primaries are spread over all members again
//! when one has come back. And the end of a cluster that stops as a whole.
//!
//! When a stop is recorded, each process that takes part ends. The leader of the control log ends last, so that all
//! others hear of the record.
//!
//! Invariant: primaries are moved only while all members are connected, for they are handed over
//! (`transaction::ldm::slot::view_change::handover`).
//!
//! Deliberately not here: the steps of a stop (`node`, `main_module/stopping.rs`).

use super::Membership;
use crate::succession;
use protocol::control::Command;
use protocol::module::EXIT_LEFT_OUT;
use protocol::signal::LeaveStep;
use protocol::{Address, NodeRole, Outputs, Severity, Signal};
use std::sync::Arc;
use stdx::{Duration, Now};
use types::NodeId;

/// How soon a view for a node that is about to stop is asked for again.
const LEAVE_RETRY: Duration = Duration::from_millis(50);
/// How long the leader of the control log waits for the others to end.
const LEADER_ENDS_AFTER: Duration = Duration::from_secs(5);
/// How long a management node waits at least: its operator hears how it went.
const OPERATOR_TOLD_IN: Duration = Duration::from_millis(200);
/// How long a view with uneven primaries has been there when they are spread.
pub(crate) const SPREAD_PAUSE: Duration = Duration::from_millis(500);

impl Membership {
    /// Asks for what this node, which is about to stop, needs next, until the view has it.
    pub(crate) fn ask_to_leave<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let node = self.config.node;
        if let Some(LeaveStep::Stop { flushed_in, .. }) = self.leaving {
            let view = flushed_in.filter(|view| *view == self.view.number && !self.view.is_stopped);
            self.due.leave = view.map(|_| now.monotonic + LEAVE_RETRY);
            if let Some(view) = view {
                self.with_log(now, outputs, |log, todo| log.propose(Command::Stop { view }, todo));
            }
            return;
        }
        let next = match self.leaving {
            Some(LeaveStep::HandOver) => succession::with_leaving(&self.view, node),
            Some(LeaveStep::Stay) => succession::with_staying(&self.view, node),
            Some(LeaveStep::Leave { .. }) => succession::without(&self.view, &[node]),
            Some(LeaveStep::Stop { .. }) | None => None,
        };
        self.due.leave = next.is_some().then(|| now.monotonic + LEAVE_RETRY);
        // Primaries go to members that are there. A node that leaves leads nothing any more.
        let is_leaving = matches!(self.leaving, Some(LeaveStep::Leave { .. }));
        if let Some(next) = next.filter(|_| is_leaving || self.hears_all_members()) {
            self.propose(now, next, outputs);
        }
    }

    /// The newest view says that the cluster has stopped. True if this process ends for it: it was told to, or it is a
    /// life that has stopped. A process that has started since goes on.
    pub(crate) fn is_over<S>(&mut self, now: Now, outputs: &mut Outputs<S>) -> bool {
        let is_named = self.config.join.role == NodeRole::Data && self.is_in_view();
        let is_over = match self.leaving {
            Some(LeaveStep::Stop { exit_code, .. }) => exit_code.is_some(),
            Some(LeaveStep::HandOver | LeaveStep::Stay | LeaveStep::Leave { .. }) | None => is_named,
        };
        if !is_over {
            self.leaving = None;
            return false;
        }
        let wait = match self.config.join.role {
            _ if self.leads() => LEADER_ENDS_AFTER,
            NodeRole::Management => OPERATOR_TOLD_IN,
            NodeRole::Data | NodeRole::Sql => Duration::ZERO,
        };
        self.due.end = Some(now.monotonic + wait);
        let told = Signal::ViewInstall(Arc::clone(&self.view), None, None);
        outputs.send(self.me(), Address::main(self.config.node), told);
        self.end_with_all(now, outputs);
        true
    }

    /// Ends this process, if the cluster has stopped and nobody needs it any more.
    pub(crate) fn end_with_all<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let Some(end_at) = self.due.end else { return };
        let ends_first =
            |node: &NodeId| self.view.node(*node).is_some_and(|info| info.role != NodeRole::Management);
        let end_at = match self.up.iter().any(ends_first) {
            true => end_at,
            false => end_at.min(now.monotonic + OPERATOR_TOLD_IN),
        };
        self.due.end = Some(end_at);
        if end_at > now.monotonic {
            return;
        }
        let exit_code = match self.leaving {
            Some(LeaveStep::Stop { exit_code: Some(exit_code), .. } | LeaveStep::Leave { exit_code }) => {
                exit_code
            }
            // It was not reached, or an operator has founded the control log anew: its angel starts it again.
            Some(LeaveStep::HandOver | LeaveStep::Stay | LeaveStep::Stop { .. }) | None => EXIT_LEFT_OUT,
        };
        let (view, node) = (self.view.number, self.config.node);
        let text = format!("view {view}: the cluster has stopped, and node {node} ends");
        self.end(exit_code, (Severity::Info, &text), outputs);
    }

    /// All members are connected with this one.
    pub(crate) fn hears_all_members(&self) -> bool {
        let is_here = |node: &NodeId| *node == self.config.node || self.up.contains(node);
        self.view.groups.iter().all(|group| group.in_sync.iter().all(is_here))
    }

    /// Primaries are uneven since a node came back: the leader of the control log has them handed over.
    pub(crate) fn spread_primaries<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let view = Arc::clone(&self.view);
        let leads = self.leads();
        let next = succession::with_spread_primaries(&view);
        self.due.spread = next.is_some().then(|| now.monotonic + SPREAD_PAUSE);
        let is_calm = self.hears_all_members() && view.groups.iter().all(|group| group.joining.is_empty());
        if let Some(next) = next.filter(|_| is_calm && leads) {
            outputs.event(Severity::Info, "primaries are spread over all members");
            self.propose(now, next, outputs);
        }
    }
}
