//! Members that live and answer late: which of them has to leave the view, when, and when it may come back.
//!
//! A replica's ldms measure how late the others' answers are, and say so while that is above a limit (`transaction`,
//! `ldm/lag.rs`). Heartbeats tell nothing of it: they have a thread of their own. This block listens to the reports of
//! its own node:
//!
//! ```text
//! reports for SUSTAINED, heartbeats all the time --> a view without it is asked for, and all nodes hear why
//!                       |                                                     |
//!       nobody had to leave or came for PAUSE              it ends, and starts again; it is let in as *joining*
//!                                                          after a probation, which doubles while it is soon
//!                                                          asked to leave again
//! ```
//! Every commit waits for a member that joins, too, so one that is as slow as before would only be in the way. All
//! nodes are told which node is asked to leave. The leader of the control log passes that node's wish to be copied to
//! on when the probation is over. A data node that is no member hands leadership on before it asks (`control_log`,
//! `duty`). A leader that was not connected then, or has started since, knows of no probation: that costs one more
//! round.
//!
//! **Four limits, in this order.** A node that hangs should end itself, or leave, before anything happens that looks
//! the same at both ends:
//!
//! ```text
//! late answers   ReplicaAnswerTimeout + SUSTAINED             3 + 1 s   the others know who it is
//! watchdog       TimeBetweenWatchDogCheck                     6 s       the node knows that it is itself
//! late answers of each other   … + SUSTAINED_IN_DOUBT         3 + 4 s   a thread that moves signals hangs: both wait
//! links          Limits::link_silence_timeout                 8 s       the kernel closes the connection
//! ```
//! If a link closes then, the end that other members call late is the one to leave (`cover`). Heartbeats say which one
//! that is.
//!
//! **A disk that stands still.** A node whose redo log waits for its disk for long says so itself (module `disk`), and
//! asks for a view without itself by the same rules. Two that share a disk do not both leave: the second one has nobody
//! who keeps its rows.
//!
//! Invariants:
//! - one that joins is spared for a while when a member in sync is late: it may wait for that one itself;
//! - a node that does not run well itself, or is not in the newest view, blames nobody. Nobody is blamed for silence:
//!   that is `detector`'s, and reports begin anew behind it;
//! - between two views that make an in-sync member leave for its lateness there is [`PAUSE`], also where the word that
//!   it was late comes behind the view. When everything is slow
//!   one leaves, and the others catch up before the next one does. There is as much after other changes of members, but
//!   for those in the ten seconds after such a pause;
//! - nothing is decided here: a view is asked for by compare-and-set like any other, and only if each group keeps an
//!   in-sync member (I5) that is not about to stop.
//!
//! Deliberately not here: how lateness is measured.

use super::Membership;
use crate::detector::Detector;
use crate::mutants::{self, Mutant};
use crate::succession;
use protocol::control::Command;
use protocol::{Address, NodeRole, Outputs, Severity, Signal, View};
use std::collections::BTreeMap;
use stdx::{Duration, Instant, Now};
use types::{NodeId, ViewNumber};

/// For how long a member must be reported before it has to leave.
const SUSTAINED: Duration = Duration::from_secs(1);
/// The same if there is doubt. A member that joins starts and gets all rows. If two members call each other late, a
/// thread hangs in one of both, and its watchdog ends it first (after 6 s, and reports begin after 3 s).
const SUSTAINED_IN_DOUBT: Duration = Duration::from_secs(4);
/// Reports come four times in a second: an older one belongs to another time.
const REPORT_GAP: Duration = Duration::from_millis(700);
/// For how long after a change of members nobody in sync has to leave for being late.
const PAUSE: Duration = Duration::from_secs(10);
/// For how long one that joins is spared at most because one in sync, for which it may wait, is late.
const JOINING_SPARED: Duration = Duration::from_secs(15);
/// How soon a view is asked for again.
const RETRY: Duration = Duration::from_millis(200);
/// A member that leaves so soon after somebody asked for that was late.
const ASKED_FOR: Duration = Duration::from_secs(5);
/// How long the first probation is, and how often it doubles at most (to ten minutes and forty seconds).
const PROBATION: Duration = Duration::from_secs(10);
const DOUBLED_MAX: u32 = 6;
/// A member that was well for so long after its probation begins with the first one again.
const FORGIVEN_AFTER: Duration = Duration::from_secs(1_800);

/// Whether a member that is reported says the same of this node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blame {
    OneSided,
    Mutual,
}

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

fn is_in_sync(view: &View, node: NodeId) -> bool {
    view.groups.iter().any(|group| group.in_sync.contains(&node))
}

/// Whether members came, or one that was in sync went. A member that has not come in sync leaves everything as it was.
fn has_other_members(before: &View, view: &View) -> bool {
    let mut groups = view.groups.iter().enumerate();
    groups.any(|(index, group)| {
        before.groups.get(index).is_none_or(|before| {
            before.in_sync != group.in_sync || group.joining.iter().any(|node| !before.joining.contains(node))
        })
    })
}

/// This node's knowledge of late members.
#[derive(Debug, Default)]
pub(crate) struct Laggards {
    late: BTreeMap<NodeId, Late>,
    /// When the last [`PAUSE`] began.
    paused_at: Option<Instant>,
    /// When somebody, this node too, asked for a view without a member.
    asked: BTreeMap<NodeId, Instant>,
    /// When a member left, as far as this node had not heard that anybody asked for that. The word may come behind the
    /// view.
    left: BTreeMap<NodeId, Instant>,
    probations: BTreeMap<NodeId, Probation>,
    /// How often this node was the first to ask for a view without a member, for five seconds.
    pub(crate) asked_count: u64,
}

impl Laggards {
    /// An ldm of this node reports a member. Whether it has to leave now.
    pub(crate) fn on_report(&mut self, now: Instant, view: &View, node: NodeId, blame: Blame) -> bool {
        let late = self.late.entry(node).or_insert(Late { since: now, last: now });
        if now.since(late.last) > REPORT_GAP {
            late.since = now;
        }
        late.last = now;
        let since = now.since(late.since);
        let is_clear = is_in_sync(view, node) && blame == Blame::OneSided;
        let is_long = since >= if is_clear { SUSTAINED } else { SUSTAINED_IN_DOUBT };
        let is_late = |late: &Late| now.since(late.last) <= REPORT_GAP;
        let is_spared = if is_in_sync(view, node) {
            let mut is_pause = self.paused_at.is_some_and(|at| now.since(at) < PAUSE);
            if mutants::is(Mutant::LaggardsAtOnce) {
                is_pause = false;
            }
            is_pause
        } else {
            // It may wait itself for one that is late, for the catalogue, say, and that one leaves when the pause is
            // over, if it can.
            let mut others = self.late.iter().filter(|(other, late)| **other != node && is_late(late));
            since < JOINING_SPARED && others.any(|(other, _)| is_in_sync(view, *other))
        };
        let is_asked = self.asked.get(&node).is_some_and(|asked| now.since(*asked) < RETRY);
        if mutants::is(Mutant::LaggardsStay) {
            return false;
        }
        is_long && !is_spared && !is_asked
    }

    /// Reports about a member tell nothing now: it is silent, or this node does not run well.
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
        let mut has_left_late = false;
        let leavers = before.nodes.iter().map(|info| info.node).filter(|node| before.is_member(*node));
        for node in leavers.filter(|node| !view.is_member(*node)) {
            let is_late = self.asked.remove(&node).is_some_and(|asked| now.since(asked) < ASKED_FOR);
            if is_late {
                self.begin_probation(now, node);
            } else {
                self.left.insert(node, now);
            }
            has_left_late |= is_late;
        }
        // One that comes and goes all the time does not protect the others for ever.
        let is_calm = self.paused_at.is_none_or(|at| now.since(at) >= PAUSE * 2);
        if has_other_members(before, view) && (has_left_late || is_calm) {
            self.begin_pause(now);
        }
    }

    /// A view without this node was asked for, which is no member any more: it has left because it was late.
    fn on_late_word(&mut self, now: Instant, node: NodeId) {
        if let Some(at) = self.left.remove(&node).filter(|at| now.since(*at) < ASKED_FOR) {
            self.begin_probation(at, node);
            self.begin_pause(at);
        }
    }

    fn begin_probation(&mut self, now: Instant, node: NodeId) {
        let last = self.probations.get(&node).filter(|last| now.since(last.until) < FORGIVEN_AFTER);
        let times = last.map_or(0, |last| (last.times + 1).min(DOUBLED_MAX));
        self.probations.insert(node, Probation { until: now + PROBATION * (1 << times), times });
    }

    fn begin_pause(&mut self, now: Instant) {
        self.paused_at = Some(now);
        self.late.clear();
    }

    /// Whether a node that starts again has to wait.
    pub(crate) fn is_on_probation(&self, now: Instant, node: NodeId) -> bool {
        self.probations.get(&node).is_some_and(|probation| now < probation.until)
    }
}

/// The view without a late member; None if no member of a group would stay. A member that is about to stop is no reason
/// to make its heir leave.
fn without_laggard(view: &View, node: NodeId) -> Option<View> {
    let mut gone = view.leaving.clone();
    gone.push(node);
    let keeps_all = succession::without(view, &gone).is_some();
    succession::without(view, &[node]).filter(|_| keeps_all)
}

impl Membership {
    /// An ldm of this node, which used this view, reports that a member owes it an answer for long.
    pub(crate) fn on_laggard<S>(
        &mut self,
        now: Now,
        from_view: ViewNumber,
        (node, milliseconds): (NodeId, u32),
        outputs: &mut Outputs<S>,
    ) {
        if node == self.config.node {
            return self.on_own_disk(now, milliseconds, outputs);
        }
        if !self.view.is_member(node) || !self.is_in_view() {
            return;
        }
        // A member that has not come to the newest view waits for something of this node, and those that have do not
        // answer its probes.
        if from_view < self.view.number {
            return;
        }
        let trusts = |detector: &Detector| {
            detector.is_certain(now.monotonic) && !detector.suspects(now.monotonic, node)
        };
        if !self.detector.as_ref().is_some_and(trusts) || !self.hears_majority(now) {
            return self.laggards.on_doubt(node);
        }
        let Some(detector) = &mut self.detector else { return };
        detector.on_late(now.monotonic, node);
        let is_mutual = detector.is_called_late_by(now.monotonic, node);
        let blame = if is_mutual { Blame::Mutual } else { Blame::OneSided };
        if !self.laggards.on_report(now.monotonic, &self.view, node, blame) {
            return;
        }
        let Some(next) = without_laggard(&self.view, node) else { return };
        let why = format!(
            "asks for a view without node {node}: it owes answers for {milliseconds} ms, though its heartbeats come, and commits wait for it"
        );
        self.ask_for_view_without(now, (node, milliseconds), (next, why), outputs);
    }

    /// Proposes a view without a laggard. The reason is told once, here and to the other nodes.
    fn ask_for_view_without<S>(
        &mut self,
        now: Now,
        (node, milliseconds): (NodeId, u32),
        (next, why): (View, String),
        outputs: &mut Outputs<S>,
    ) {
        if self.laggards.on_asked(now.monotonic, node) {
            self.laggards.asked_count += u64::from(node != self.config.node);
            outputs.event(Severity::Warning, why);
        }
        self.want.begin(now.monotonic);
        for other in self.up.clone() {
            let told = Signal::ReplicaLags { node, milliseconds };
            outputs.send(self.me(), Address::membership(other), told);
        }
        self.propose(now, next, outputs);
    }

    /// The disk of this node has not brought a flush to its end for so long. Nothing is durable meanwhile, and whoever
    /// waits for that waits. So the node leaves like a late member, if a restart could begin from the others alone.
    fn on_own_disk<S>(&mut self, now: Now, milliseconds: u32, outputs: &mut Outputs<S>) {
        let node = self.config.node;
        if !self.is_in_view() || !is_in_sync(&self.view, node) || !self.hears_majority(now) {
            return self.laggards.on_doubt(node);
        }
        if !self.laggards.on_report(now.monotonic, &self.view, node, Blame::OneSided) {
            return;
        }
        let Some(next) = without_laggard(&self.view, node).filter(View::keeps_durable) else { return };
        let why = format!(
            "asks for a view without itself: its disk has not ended a flush for {milliseconds} ms, and the others can go on without it"
        );
        self.ask_for_view_without(now, (node, milliseconds), (next, why), outputs);
    }

    /// Another node asks for a view without a member: the log of the management node, and of that member, should say
    /// why.
    pub(crate) fn on_laggard_elsewhere<S>(
        &mut self,
        now: Now,
        from: NodeId,
        (node, milliseconds): (NodeId, u32),
        outputs: &mut Outputs<S>,
    ) {
        // The late word of one that has left itself tells nothing of a member.
        if !self.view.is_member(from) {
            return;
        }
        if !self.view.is_member(node) {
            return self.laggards.on_late_word(now.monotonic, node);
        }
        let is_concerned = node == self.config.node || self.config.join.role == NodeRole::Management;
        if self.laggards.on_asked(now.monotonic, node) && is_concerned {
            if from == node {
                let text = format!(
                    "node {node} asks for a view without itself: its disk has not ended a flush for {milliseconds} ms"
                );
                return outputs.event(Severity::Warning, text);
            }
            let text = format!(
                "node {from} asks for a view without node {node}, which owes it answers for {milliseconds} ms, though its heartbeats come"
            );
            outputs.event(Severity::Warning, text);
        }
    }

    /// Whether this is the wish of a node to be copied to that had to leave, and is to wait a little longer. Only the
    /// leader needs to refuse it.
    pub(crate) fn is_too_early(&self, now: Now, command: &Command) -> bool {
        let Command::ChangeView { next } = command else { return false };
        let mut joining = next.groups.iter().flat_map(|group| &group.joining);
        let is_new = |node: &NodeId| !self.view.is_member(*node);
        joining.any(|node| is_new(node) && self.laggards.is_on_probation(now.monotonic, *node))
    }
}

#[cfg(test)]
mod tests;
