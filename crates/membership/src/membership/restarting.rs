//! How the cluster starts from disks when all rows of a group are gone from memory. And from which of its own rows
//! a node starts that returns to a cluster that runs (`has_returned`).
//!
//! The leader of the control log plans (`crate::restart`), the planned nodes restore, and a command of the log makes it
//! so.
//!
//! ```text
//! leader: some group is lost       -> Lost to each life that still runs: it ends, and starts again with a claim
//! leader: all data nodes are there, or StartPartialTimeout has passed, and the leases of earlier lives have run out
//!                                  -> Restore to each planned node  -> its main: Signal::Restore
//! planned node: Signal::Restored   -> Restored to the leader
//! leader: all have                 -> Command::Restart
//! ```
//! The leader keeps no promise: what it asks for is asked again at each look until the log has it. Another leader plans
//! anew from the same claims. A node that is planned in another way than it has restored ends and starts again.
//!
//! Invariant: a node that keeps no rows on disk has no part in this. Where no node keeps any, a cluster that lost its
//! rows stays lost (`end_if_rows_are_lost`).
//!
//! Deliberately not here: which disks count and what the cut is (`crate::restart`), and restoring (`node`).

use super::Membership;
use super::data_loss::Ordered;
use crate::control_state::ControlState;
use crate::mutants::{self, Mutant};
use crate::restart::{Lack, Missing, Plan, Standing, is_given_up, plan, runs_still, standing};
use crate::succession;
use protocol::control::{Command, ControlMessage};
use protocol::module::EXIT_LEFT_OUT;
use protocol::restart::{RestartMessage, RestoreOrder};
use protocol::{Address, Claim, ClaimPoint, NodeRole, Outputs, RestartPoint, Severity, Signal, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stdx::{Duration, Instant, Now};
use types::{Incarnation, NodeId, RestartNumber, ViewNumber};

/// How often the leader looks, and asks again.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it says what it waits for.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// The plan that a leader has told.
#[derive(Debug)]
struct Underway {
    plan: Plan,
    restored: BTreeSet<NodeId>,
}

/// The leader's part: it is forgotten when the group is not lost any more.
#[derive(Debug, Default)]
struct Leading {
    /// A group is lost, and that was said.
    is_lost: bool,
    /// The process starts that are there, and since when.
    there: Vec<(NodeId, Incarnation)>,
    there_since: Instant,
    underway: Option<Underway>,
    say_at: Option<Instant>,
    /// All were told what is waited for.
    is_said: bool,
}

/// A node's part in restarts.
#[derive(Debug, Default)]
pub(crate) struct Restarting {
    look_at: Instant,
    /// When this node, if it may, asks for a view without lives that have ended.
    pub(crate) drop_lives_at: Instant,
    /// Nodes to which no link is up, and since when.
    absent: BTreeMap<NodeId, Instant>,
    /// Members whose own heartbeat came over the link that is up, and when it did last.
    beats: BTreeMap<NodeId, Instant>,
    /// The lives that connected nodes have said they are. None: a peer below wire version 8, which does not say it.
    pub(crate) lives: BTreeMap<NodeId, Option<Incarnation>>,
    leading: Leading,
    /// The order that this node was given, the node that gave it, and whether it is carried out.
    told: Option<(RestoreOrder, NodeId, bool)>,
    /// The restart of the view that this node has entered.
    entered: Option<RestartNumber>,
    /// An operator's order to lose rows, which the leader has to record.
    pub(crate) ordered: Option<Ordered>,
    /// The rows with which this node joins a cluster that goes on.
    returning: Option<Returning>,
    /// It waits for another disk than its own, and has said so.
    is_awaiting_another: bool,
}

/// A node brings its rows to a point before it joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Returning {
    /// None: nothing on its disk counts, and it joins without rows.
    point: Option<ClaimPoint>,
    /// The rows are there.
    is_over: bool,
    /// The restart in which the point counts.
    restart: RestartNumber,
}

impl Restarting {
    pub(crate) fn on_link(&mut self, now: Instant, node: NodeId, is_up: bool) {
        self.beats.remove(&node);
        if is_up {
            self.absent.remove(&node);
        } else {
            self.lives.remove(&node);
            self.absent.entry(node).or_insert(now);
        }
    }

    pub(crate) fn on_beat(&mut self, now: Instant, node: NodeId) {
        self.beats.insert(node, now);
    }

    /// Whether a life that the view names has beaten lately, over the link that is up.
    pub(crate) fn beats(&self, now: Instant, node: NodeId, silence_max: Duration) -> bool {
        self.beats.get(&node).is_some_and(|beat| now.since(*beat) < silence_max)
    }
}

pub(crate) fn list(nodes: impl IntoIterator<Item = NodeId>) -> String {
    nodes.into_iter().map(|node| node.to_string()).collect::<Vec<String>>().join(", ")
}

/// In words, which disks are missing.
pub(crate) fn describe(missing: &[Missing]) -> String {
    let lack = |(node, lack): &(NodeId, Lack)| match lack {
        Lack::Away => format!("node {node} is not there"),
        Lack::NoRows => format!("the disk of node {node} does not hold what its last life wrote"),
        Lack::TooOld { flushed, durable } => {
            format!("the disk of node {node} ends at epoch {flushed}, and {durable} was durable")
        }
        Lack::TooNew => format!("the disk of node {node} holds no epoch that all groups can be brought to"),
    };
    let group = |missing: &Missing| {
        let nodes: Vec<String> = missing.nodes.iter().map(lack).collect();
        format!("node group {} has no disk to start from: {}", missing.group - 1, nodes.join(", "))
    };
    missing.iter().map(group).collect::<Vec<String>>().join("; ")
}

impl Membership {
    // ---- the node that restores -------------------------------------------------------------------------------------

    /// This node knows what its disk holds: it joins with that.
    pub(crate) fn on_disk_read<S>(&mut self, now: Now, claim: Box<Claim>, outputs: &mut Outputs<S>) {
        if self.config.awaits_claim {
            self.config.awaits_claim = false;
            self.config.join.claim = Some(claim);
            self.try_join(now, outputs);
        }
    }

    fn on_restore_order<S>(
        &mut self,
        now: Now,
        from: NodeId,
        life: Incarnation,
        order: RestoreOrder,
        outputs: &mut Outputs<S>,
    ) {
        let is_meant = self.incarnation == Some(life) && self.config.join.claim.is_some();
        if !is_meant || self.is_in_view() {
            return;
        }
        match self.restarting.told {
            None => {
                let (restart, me) = (order.restart, self.config.node);
                let text =
                    format!("restores the rows up to epoch {} for restart {}", restart.cut, restart.number);
                outputs.event(Severity::Info, text);
                self.restarting.told = Some((order, from, false));
                outputs.send(self.me(), Address::main(me), Signal::Restore(order));
            }
            Some((told, _, is_restored)) if told == order => {
                self.restarting.told = Some((told, from, is_restored));
                self.say_restored(now, outputs);
            }
            Some(_) => {
                let text =
                    "the restart is planned in another way than this node has begun to restore: it ends";
                self.end(EXIT_LEFT_OUT, (Severity::Warning, text), outputs);
            }
        }
    }

    /// Whether this node, which is about to join a cluster that goes on, has brought back what its disk holds. If it
    /// has not begun, it begins.
    pub(crate) fn has_returned<S>(&mut self, outputs: &mut Outputs<S>) -> bool {
        let restart = self.view.restart.number;
        let is_planned = self.restarting.told.is_some();
        match self.restarting.returning.filter(|_| !is_planned) {
            Some(returning) if returning.restart == restart => return returning.is_over,
            None if !is_planned => {}
            Some(_) | None => {
                let text =
                    "the cluster goes on otherwise than when this node began to restore its rows: it ends";
                self.end(EXIT_LEFT_OUT, (Severity::Warning, text), outputs);
                return false;
            }
        }
        let point = self.point_to_join_with();
        if point.is_none() && self.is_awaiting_another(outputs) {
            return false;
        }
        self.restarting.returning = Some(Returning { point, is_over: point.is_none(), restart });
        if let Some(point) = point {
            outputs.send(self.me(), Address::main(self.config.node), Signal::RestoreToJoin(point));
        }
        point.is_none()
    }

    /// The newest point of the disk that the recorded restarts leave. Whichever life wrote it, the cluster had decided
    /// what it holds, and nothing else up to its epoch.
    pub(crate) fn point_to_join_with(&self) -> Option<ClaimPoint> {
        let claim = self.config.join.claim.as_deref()?;
        let (view, state) = (&self.view, self.log_state());
        let is_replaced = state.is_some_and(|state| state.replaced().contains(&claim.founding));
        if claim.founding != view.founding && !is_replaced {
            return None;
        }
        let restarts = self.known_restarts();
        claim.confirmed(&restarts, |_| true).filter(|point| point.flushed >= claim.low)
    }

    /// The recorded restarts as far as this node knows them, without gaps. Its copy of the control log, if it has one,
    /// may be behind the view.
    fn known_restarts(&self) -> Vec<RestartPoint> {
        let mut known = self.log_state().map_or_else(Vec::new, |state| state.restarts().to_vec());
        let last = known.last().map_or(0, |last| last.number.0);
        let newest = self.view.restart;
        if newest.number.0 > last + 1 {
            known.clear();
        }
        if newest.number.0 > last {
            known.push(newest);
        }
        known
    }

    /// Nothing of its disk counts for this node, so it would begin anew. It waits while that disk is the last one of a
    /// group from which a restart might begin: the group may lose its rows before another disk is there.
    fn is_awaiting_another<S>(&mut self, outputs: &mut Outputs<S>) -> bool {
        if mutants::is(Mutant::InitialOfTheLast) {
            return false;
        }
        let has_rows = self.config.join.claim.as_deref().is_some_and(|claim| !claim.points.is_empty());
        let is_own = |(node, _): &(NodeId, Incarnation)| *node == self.config.node;
        let is_last = |named: &[(NodeId, Incarnation)]| !named.is_empty() && named.iter().all(is_own);
        if !has_rows || !self.view.groups.iter().any(|group| is_last(&group.restorable)) {
            return false;
        }
        if !std::mem::replace(&mut self.restarting.is_awaiting_another, true) {
            let text = "its disk is the last one from which its node group can start, and does not count now: \
                        this node waits until another disk is there, before it begins anew";
            outputs.event(Severity::Warning, text);
        }
        true
    }

    /// The rows are there: this node asks to be copied what they lack.
    pub(crate) fn on_returned<S>(&mut self, now: Now, point: ClaimPoint, outputs: &mut Outputs<S>) {
        if let Some(returning) = &mut self.restarting.returning
            && returning.point == Some(point)
        {
            returning.is_over = true;
            self.ask_to_be_copied_to(now, outputs);
        }
    }

    /// The rows are there, and the disk says so.
    pub(crate) fn on_restored<S>(&mut self, now: Now, order: RestoreOrder, outputs: &mut Outputs<S>) {
        if let Some((told, _, is_restored)) = &mut self.restarting.told
            && *told == order
        {
            *is_restored = true;
            self.say_restored(now, outputs);
        }
    }

    fn say_restored<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        if let (Some((order, leader, true)), Some(life)) = (self.restarting.told, self.incarnation) {
            self.say_restart(now, leader, RestartMessage::Restored { life, order }, outputs);
        }
    }

    fn say_restart<S>(&mut self, now: Now, to: NodeId, message: RestartMessage, outputs: &mut Outputs<S>) {
        if to == self.config.node {
            self.on_restart_message(now, to, message, outputs);
        } else {
            let message = Signal::Control(Box::new(ControlMessage::Restart(message)));
            outputs.send(self.me(), Address::membership(to), message);
        }
    }

    /// Another member, or this one itself, speaks about a restart.
    pub(crate) fn on_restart_message<S>(
        &mut self,
        now: Now,
        from: NodeId,
        message: RestartMessage,
        outputs: &mut Outputs<S>,
    ) {
        match message {
            RestartMessage::Restore { life, order } => self.on_restore_order(now, from, life, order, outputs),
            RestartMessage::Restored { life, order } => {
                let Some(underway) = &mut self.restarting.leading.underway else { return };
                let is_its = |(info, planned): &(protocol::NodeInfo, RestoreOrder)| {
                    (info.node, info.incarnation) == (from, life) && *planned == order
                };
                if underway.plan.nodes.iter().any(is_its) {
                    underway.restored.insert(from);
                    self.restarting.look_at = Instant(0);
                }
            }
            RestartMessage::Lost { view } => {
                let is_named = self.is_in_view() && self.config.join.role == NodeRole::Data;
                if view == self.view.number && is_named && self.due.end.is_none() {
                    let text = "all rows of some node group are gone from memory: this node ends, to start from its disk";
                    self.end(EXIT_LEFT_OUT, (Severity::Error, text), outputs);
                }
            }
            RestartMessage::Awaited { text } => {
                let told = Signal::RestartAwaited { text };
                outputs.send(self.me(), Address::main(self.config.node), told);
            }
            RestartMessage::LoseData(order) => self.lose_data(now, from, order, outputs),
            RestartMessage::DataLost { number, text } => {
                let told = Signal::VotersRecovered { number, text };
                outputs.send(self.me(), Address::main(self.config.node), told);
            }
        }
    }

    /// This node sees a view that it is not in, or one of another restart than it has entered. True if it ends.
    pub(crate) fn ends_with_restart<S>(&mut self, outputs: &mut Outputs<S>) -> bool {
        let number = self.view.restart.number;
        let is_passed_over = !self.is_in_view()
            && self.restarting.told.is_some_and(|(order, ..)| order.restart.number <= number);
        // The schema and the open work of SQL nodes may be of epochs that the restart has cut off.
        let is_cut_off = self.config.join.role == NodeRole::Sql
            && self.restarting.entered.is_some_and(|entered| entered < number);
        if self.is_in_view() {
            self.restarting.entered = Some(number);
            // The restart is recorded with this node: from now on it leaves as any other.
            self.restarting.told = None;
        }
        if is_passed_over || is_cut_off {
            let text =
                format!("view {}: the cluster has started from disks: this node ends", self.view.number);
            self.end(EXIT_LEFT_OUT, (Severity::Warning, &text), outputs);
        }
        is_passed_over || is_cut_off
    }

    // ---- the leader -------------------------------------------------------------------------------------------------

    /// Looks whether a group is lost, and goes on with the restart. A leader is called at each tick of its log.
    pub(crate) fn look_for_restart<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        if self.restarting.look_at > now.monotonic || self.is_ending || self.due.end.is_some() {
            return;
        }
        self.restarting.look_at = now.monotonic + LOOK_EVERY;
        self.record_loss(now, outputs);
        self.copy_to_empty(now, outputs);
        if !self.leads_lost(|node| self.is_heard(now, node)) {
            return self.wait_for_silent(now, outputs);
        }
        if !std::mem::replace(&mut self.restarting.leading.is_lost, true) {
            let text = match self.view.is_stopped {
                true => "the cluster has stopped as a whole: it starts from disks",
                false => "all rows of some node group are gone from memory: the cluster starts from disks",
            };
            outputs.event(Severity::Warning, text);
        }
        if !self.end_those_that_run(now, outputs) {
            self.go_on_with_restart(now, outputs);
        }
    }

    /// No group is lost yet. It would be if nobody waited for members that are silent: that is said, too.
    fn wait_for_silent<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let is_here = |node: NodeId| node == self.config.node || self.up.contains(&node);
        let awaited = match self.log_state().filter(|_| self.leads_lost(is_here)) {
            Some(state) => runs_still(state, |_| true).into_iter().filter(|node| !is_here(*node)).collect(),
            None => Vec::new(),
        };
        if awaited.is_empty() {
            if self.restarting.leading.is_said {
                self.tell_awaited_by_restart("", outputs);
            }
            self.restarting.leading = Leading::default();
        } else {
            self.say_absent(now, awaited, outputs);
        }
    }

    /// Whether this node leads, some data node keeps rows on disk, and a group is lost.
    fn leads_lost(&self, is_heard: impl Fn(NodeId) -> bool) -> bool {
        let state = self.log_state().filter(|state| self.leads() && state.view.number > ViewNumber(0));
        let keeps =
            |state: &ControlState| state.settings.members.iter().any(|(node, _)| state.keeps_rows(*node));
        state.is_some_and(|state| keeps(state) && standing(state, is_heard) == Standing::Lost)
    }

    pub(crate) fn is_heard(&self, now: Now, node: NodeId) -> bool {
        let absent = self.restarting.absent.get(&node);
        let patience = self.config.start_partial_timeout;
        patience == Duration::ZERO || absent.is_none_or(|since| now.monotonic.since(*since) < patience)
    }

    /// Lives that still run have to end first. True if there are any.
    fn end_those_that_run<S>(&mut self, now: Now, outputs: &mut Outputs<S>) -> bool {
        let Some(state) = self.log_state() else { return true };
        let (view, still) = (state.view.number, runs_still(state, |node| self.is_heard(now, node)));
        let is_away = |node: &NodeId| *node != self.config.node && !self.up.contains(node);
        let away: Vec<NodeId> = still.iter().copied().filter(is_away).collect();
        // A group that has lost nobody may live out of earshot: no time is long enough.
        let unheard = runs_still(state, |node| !is_away(&node)).into_iter().filter(is_away);
        let unheard: Vec<NodeId> = unheard.collect();
        for node in &still {
            self.say_restart(now, *node, RestartMessage::Lost { view }, outputs);
        }
        if still.is_empty() {
            return false;
        }
        self.restarting.leading.underway = None;
        if !unheard.is_empty() {
            let nodes = list(unheard);
            let text = format!(
                "node {nodes} held rows that no other node has, and is not there. Start it; only if it is gone for good, and its rows may be lost: latsdb mgm -e 'start {} with data loss without {}'",
                self.config.cluster,
                nodes.replace(' ', "")
            );
            self.say_awaited(now, &text, outputs);
        } else if !away.is_empty() {
            self.say_absent(now, away, outputs);
        }
        true
    }

    fn go_on_with_restart<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let Some(state) = self.log_state() else { return };
        let there = self.there(state);
        let view = Arc::clone(&state.view);
        let is_valid = |underway: &Underway| {
            let is_there = |(info, _): &(protocol::NodeInfo, RestoreOrder)| {
                there.contains(&(info.node, info.incarnation))
            };
            underway.plan.restart == view.restart.next(underway.plan.restart.cut)
                && underway.plan.nodes.iter().all(is_there)
        };
        let is_underway = self.restarting.leading.underway.as_ref().is_some_and(is_valid);
        if !is_underway {
            self.restarting.leading.underway = None;
            self.plan_restart(now, there, outputs);
        }
        let Some(underway) = &self.restarting.leading.underway else { return };
        let open: Vec<(NodeId, RestartMessage)> = underway
            .plan
            .nodes
            .iter()
            .filter(|(info, _)| !underway.restored.contains(&info.node))
            .map(|(info, order)| {
                (info.node, RestartMessage::Restore { life: info.incarnation, order: *order })
            })
            .collect();
        let next = underway.plan.view(&view).filter(|_| open.is_empty()).map(Arc::new);
        for (node, message) in open {
            self.say_restart(now, node, message, outputs);
        }
        if let Some(view) = next {
            self.with_log(now, outputs, |log, todo| log.propose(Command::Restart { view }, todo));
        }
    }

    /// The process starts of data nodes that are connected and that no view names.
    pub(crate) fn there(&self, state: &ControlState) -> Vec<(NodeId, Incarnation)> {
        let data = state.settings.members.iter().filter(|(_, role)| *role == NodeRole::Data);
        let is_here = |node: &NodeId| *node == self.config.node || self.up.contains(node);
        let nodes = data.map(|(node, _)| *node).filter(is_here);
        let lives = nodes.map(|node| (node, state.incarnation(node)));
        let in_view = |node| state.view.node(node).map_or(Incarnation(0), |info| info.incarnation);
        lives.filter(|(node, life)| *life > in_view(*node)).collect()
    }

    fn plan_restart<S>(&mut self, now: Now, there: Vec<(NodeId, Incarnation)>, outputs: &mut Outputs<S>) {
        let Some(state) = self.log_state() else { return };
        let data = state.settings.members.iter().filter(|(_, role)| *role == NodeRole::Data);
        let is_awaited = |node: &NodeId| {
            let is_there = there.iter().any(|(here, _)| here == node);
            !is_there && self.is_heard(now, *node) && !is_given_up(state, *node)
        };
        let awaited: Vec<NodeId> = data.map(|(node, _)| *node).filter(is_awaited).collect();
        let nodes: Vec<NodeId> = there.iter().map(|(node, _)| *node).collect();
        let planned = plan(state, &nodes);
        let lease = self.config.detector.silence_max();
        let leading = &mut self.restarting.leading;
        if leading.there != there {
            (leading.there, leading.there_since) = (there, now.monotonic);
        }
        let has_waited = now.monotonic.since(leading.there_since) >= lease;
        match planned {
            Ok(plan) if has_waited && awaited.is_empty() => {
                let (restart, nodes) = (plan.restart, list(plan.nodes.iter().map(|(info, _)| info.node)));
                let text =
                    format!("restart {}: node {nodes} restore up to epoch {}", restart.number, restart.cut);
                leading.underway = Some(Underway { plan, restored: BTreeSet::new() });
                outputs.event(Severity::Warning, text);
                if std::mem::take(&mut leading.is_said) {
                    self.tell_awaited_by_restart("", outputs);
                }
            }
            Ok(_) if awaited.is_empty() => {}
            Ok(_) => self.say_absent(now, awaited, outputs),
            Err(missing) => {
                let text = self.lacking(&missing);
                self.say_awaited(now, &text, outputs);
            }
        }
    }

    /// In words, which disks are missing, and what an operator can do.
    fn lacking(&self, missing: &[Missing]) -> String {
        let nodes = missing.iter().flat_map(|group| &group.nodes);
        let away: BTreeSet<NodeId> =
            nodes.filter(|(_, lack)| *lack == Lack::Away).map(|(node, _)| *node).collect();
        let start = if away.is_empty() { "" } else { "Start what is not there. " };
        let without = match away.is_empty() {
            true => String::new(),
            false => format!(" without {}", list(away).replace(' ', "")),
        };
        format!(
            "{}. {start}Only if what is missing is gone for good, and its rows may be lost: latsdb mgm -e 'start {} with data loss{without}'",
            describe(missing),
            self.config.cluster
        )
    }

    /// Nodes that may still come are waited for.
    fn say_absent<S>(&mut self, now: Now, nodes: Vec<NodeId>, outputs: &mut Outputs<S>) {
        let limit = match self.config.start_partial_timeout.as_secs() {
            0 => "StartPartialTimeout=0: it waits for as long as it takes".to_owned(),
            patience => format!("after {patience} s (StartPartialTimeout) it begins without"),
        };
        let text = format!("node {} is not there; {limit}", list(nodes));
        self.say_awaited(now, &text, outputs);
    }

    /// Says what the restart waits for, each ten seconds.
    fn say_awaited<S>(&mut self, now: Now, text: &str, outputs: &mut Outputs<S>) {
        let leading = &mut self.restarting.leading;
        let say_at = *leading.say_at.get_or_insert(now.monotonic + SAY_EVERY);
        if say_at > now.monotonic {
            return;
        }
        (leading.say_at, leading.is_said) = (Some(now.monotonic + SAY_EVERY), true);
        outputs.event(Severity::Warning, format!("the cluster cannot start from disks yet: {text}"));
        self.tell_awaited_by_restart(text, outputs);
    }

    fn tell_awaited_by_restart<S>(&self, text: &str, outputs: &mut Outputs<S>) {
        let told = Signal::RestartAwaited { text: text.to_owned() };
        outputs.send(self.me(), Address::main(self.config.node), told);
        for node in &self.up {
            let message = RestartMessage::Awaited { text: text.to_owned() };
            let message = Signal::Control(Box::new(ControlMessage::Restart(message)));
            outputs.send(self.me(), Address::membership(*node), message);
        }
    }

    // ---- who is restorable ------------------------------------------------------------------------------------------

    /// An epoch was said in this view that this node's disk holds: it is restorable, or those before it are not needed
    /// any more. Asked again when the next epoch is said.
    pub(crate) fn on_disk_counted<S>(
        &mut self,
        now: Now,
        (view, is_durable): (ViewNumber, bool),
        outputs: &mut Outputs<S>,
    ) {
        if view != self.view.number {
            return;
        }
        let node = self.config.node;
        let named = succession::with_restorable(&self.view, node);
        let next: Option<View> = match named {
            None if is_durable => succession::with_durable(&self.view, node),
            named => named,
        };
        if let Some(next) = next {
            self.propose(now, next, outputs);
        }
    }
}
