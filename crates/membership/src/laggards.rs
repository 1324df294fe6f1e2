//! Members that live and answer late: which of them has to leave the view, when, and when it may come back.
//!
//! A replica's ldms measure how late the others' answers are, and say so while that is above a limit (`transaction`, `ldm/lag.rs`). Heartbeats tell nothing of it:
//! they have a thread of their own. This block listens to the reports of its own node:
//!
//! ```text
//! reports for SUSTAINED, heartbeats all the time --> a view without it is asked for, and all nodes hear why
//!                       |                                                     |
//!       nobody had to leave or came for PAUSE              it ends, and starts again; it is let in as *joining* after a probation,
//!                                                          which doubles while it is soon asked to leave again
//! ```
//! Every commit waits for a member that joins, too, so one that is as slow as before would only be in the way. The leader of the control log, whoever it
//! is, passes its wish on when the probation is over: all nodes were told.
//!
//! Invariants:
//! - one that joins is not blamed while another member is late: it may wait for that one itself;
//! - nobody is blamed by who does not run well itself, nor for silence: that is `detector`'s, and reports begin anew behind it;
//! - between two views that make an in-sync member leave for its lateness there is [`PAUSE`], and there is as much between other changes of members and the first:
//!   when everything is slow at most one leaves, and the others catch up first;
//! - nothing is decided here: a view is asked for by compare-and-set like any other, and only if each group keeps an in-sync member (I5).
//!
//! Deliberately not here: how lateness is measured.

use crate::mutants::{self, Mutant};
use protocol::View;
use std::collections::BTreeMap;
use stdx::{Duration, Instant};
use types::NodeId;

/// For how long a member must be reported before it has to leave.
const SUSTAINED: Duration = Duration::from_secs(1);
/// The same for one that joins: it starts, and gets all rows.
const SUSTAINED_BY_JOINING: Duration = Duration::from_secs(4);
/// Reports come four times in a second: what was longer ago was another time.
const REPORT_GAP: Duration = Duration::from_millis(700);
/// For how long after a change of members nobody in sync has to leave for being late.
const PAUSE: Duration = Duration::from_secs(10);
/// How soon a view is asked for again.
const RETRY: Duration = Duration::from_millis(200);
/// A member that leaves so soon after somebody asked for that was late.
const ASKED_FOR: Duration = Duration::from_secs(5);
/// How long the first probation is, and how often it doubles at most (to ten minutes and forty seconds).
const PROBATION: Duration = Duration::from_secs(10);
const DOUBLED_MAX: u32 = 6;
/// Who was well for so long after its probation begins with the first one again.
const FORGIVEN_AFTER: Duration = Duration::from_secs(1_800);

/// Since when a member is reported, and when it was last.
#[derive(Clone, Copy, Debug)]
struct Late {
    since: Instant,
    last: Instant,
}

/// A member that had to leave.
#[derive(Clone, Copy, Debug)]
struct Probation {
    until: Instant,
    /// How often it had to before.
    times: u32,
}

/// Whether members came, or one that was in sync went. (One that has not come in sync leaves everything as it was.)
fn has_other_members(before: &View, view: &View) -> bool {
    let mut groups = view.groups.iter().enumerate();
    groups.any(|(index, group)| {
        before.groups.get(index).is_none_or(|before| {
            before.in_sync != group.in_sync || group.joining.iter().any(|node| !before.joining.contains(node))
        })
    })
}

/// What this node knows of late members.
#[derive(Debug, Default)]
pub(crate) struct Laggards {
    late: BTreeMap<NodeId, Late>,
    spared_until: Instant,
    /// When somebody, this node too, asked for a view without a member.
    asked: BTreeMap<NodeId, Instant>,
    probations: BTreeMap<NodeId, Probation>,
    /// Views that this node asked for.
    pub(crate) asked_count: u64,
}

impl Laggards {
    /// An ldm of this node reports a member. Whether it has to leave now.
    pub(crate) fn on_report(&mut self, now: Instant, view: &View, node: NodeId) -> bool {
        let is_in_sync = view.groups.iter().any(|group| group.in_sync.contains(&node));
        let late = self.late.entry(node).or_insert(Late { since: now, last: now });
        if now.since(late.last) > REPORT_GAP {
            late.since = now;
        }
        late.last = now;
        let since = now.since(late.since);
        let is_long = since >= if is_in_sync { SUSTAINED } else { SUSTAINED_BY_JOINING };
        let is_late = |late: &Late| now.since(late.last) <= REPORT_GAP;
        let is_spared = if is_in_sync {
            now < self.spared_until && !mutants::is(Mutant::LaggardsAtOnce)
        } else {
            // It may wait itself for one that is late: for the catalogue, say.
            self.late.iter().any(|(other, late)| *other != node && is_late(late))
        };
        let is_asked = self.asked.get(&node).is_some_and(|asked| now.since(*asked) < RETRY);
        is_long && !is_spared && !is_asked && !mutants::is(Mutant::LaggardsStay)
    }

    /// What is reported of a member tells nothing now: it is silent, or this node does not run well.
    pub(crate) fn on_doubt(&mut self, node: NodeId) {
        self.late.remove(&node);
    }

    /// A view without a member is asked for, here or elsewhere; true if that is news.
    pub(crate) fn on_asked(&mut self, now: Instant, node: NodeId) -> bool {
        let before = self.asked.insert(node, now);
        before.is_none_or(|before| now.since(before) >= ASKED_FOR)
    }

    /// A newer view.
    pub(crate) fn on_view(&mut self, now: Instant, before: &View, view: &View) {
        if has_other_members(before, view) {
            self.spared_until = now + PAUSE;
            self.late.clear();
        }
        let leavers = before.nodes.iter().map(|info| info.node).filter(|node| before.is_counted(*node));
        for node in leavers.filter(|node| !view.is_counted(*node)) {
            let is_late = self.asked.remove(&node).is_some_and(|asked| now.since(asked) < ASKED_FOR);
            if !is_late {
                continue;
            }
            let last = self.probations.get(&node).filter(|last| now.since(last.until) < FORGIVEN_AFTER);
            let times = last.map_or(0, |last| (last.times + 1).min(DOUBLED_MAX));
            self.probations.insert(node, Probation { until: now + PROBATION * (1 << times), times });
        }
    }

    /// Whether a node that starts again has to wait.
    pub(crate) fn is_on_probation(&self, now: Instant, node: NodeId) -> bool {
        self.probations.get(&node).is_some_and(|probation| now < probation.until)
    }
}

#[cfg(test)]
mod tests;
