//! Planned moves: a node that is about to stop asks for what it needs, and primaries are spread over all members again
//! when one has come back.
//!
//! Invariant: primaries are moved only while all members are connected, for they are handed over
//! (`transaction::ldm::slot::view_change::handover`).
//!
//! Deliberately not here: the steps of a stop (`node`, `main_module/stopping.rs`).

use super::Membership;
use crate::succession;
use protocol::signal::LeaveStep;
use protocol::{Outputs, Severity};
use std::sync::Arc;
use stdx::{Duration, Now};
use types::NodeId;

/// How soon a view for a node that is about to stop is asked for again.
const LEAVE_RETRY: Duration = Duration::from_millis(50);
/// How long a view with uneven primaries has been there when they are spread.
pub(crate) const SPREAD_PAUSE: Duration = Duration::from_millis(500);

impl Membership {
    /// Asks for what this node, which is about to stop, needs next, until the view has it.
    pub(crate) fn ask_to_leave<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let node = self.config.node;
        let next = match self.leaving {
            Some(LeaveStep::HandOver) => succession::with_leaving(&self.view, node),
            Some(LeaveStep::Stay) => succession::with_staying(&self.view, node),
            Some(LeaveStep::Leave { .. }) => succession::without(&self.view, &[node]),
            None => None,
        };
        self.leave_at = next.is_some().then(|| now.monotonic + LEAVE_RETRY);
        // Primaries go to members that are there. A node that leaves leads nothing any more.
        let is_leaving = matches!(self.leaving, Some(LeaveStep::Leave { .. }));
        if let Some(next) = next.filter(|_| is_leaving || self.hears_all_members()) {
            self.propose(now, next, outputs);
        }
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
        self.spread_at = next.is_some().then(|| now.monotonic + SPREAD_PAUSE);
        let is_calm = self.hears_all_members() && view.groups.iter().all(|group| group.joining.is_empty());
        if let Some(next) = next.filter(|_| is_calm && leads) {
            outputs.event(Severity::Info, "primaries are spread over all members");
            self.propose(now, next, outputs);
        }
    }
}
