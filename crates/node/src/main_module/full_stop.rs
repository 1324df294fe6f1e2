//! A stop of the whole cluster, in which nothing is lost: `shutdown`, `all stop` and `all restart` at a management
//! node, SHUTDOWN in SQL, and Ctrl-C of `latsdb dev`.
//!
//! One node's `main` sees to it, and asks all others for the same steps, one after the other:
//!
//! ```text
//! EndSessions     sessions end with their transaction, or are told 1053
//! AnswerCommits   coordinators answer the commits that they were asked for: nothing is stamped any more
//! Flush           the highest epoch that any node knows is closed and whole, and on the disk of each member in sync
//! (record)        Command::Stop: the newest view is that of a cluster that has stopped (`membership`)
//! ```
//! Each process ends when it learns of that view, the leader of the control log last. At the next start the disks of
//! all that were in sync hold the same, and each of them counts.
//!
//! The node that sees to it keeps no promise: it asks again for what a node has not done. When members leave
//! meanwhile, the last step is done again in the newer view.
//!
//! A stop ends in bounded time. A node that does not answer is passed over in the first two steps. If a member does not
//! flush in time, or no majority of voters records the stop, all are told to end all the same (`End`). The operator
//! hears which node it was. If the node that sees to it is gone, each of the others ends by itself after [`PATIENCE`];
//! a management node that is to stay goes on.
//!
//! Invariant: the record is asked for only in a view all of whose members in sync have flushed everything that was ever
//! stamped.
//!
//! Deliberately not here: the stop of one node while the others go on (`stopping`), and what a start makes of the
//! record (`membership::restart`).

use super::MainModule;
use protocol::module::EXIT_LEFT_OUT;
use protocol::signal::{FullStop, FullStopStep, LeaveStep};
use protocol::{
    Address, ConnectionId, ModuleKind, NodeRole, Outputs, RequestToRuntime, Severity, Signal, View,
};
use query::Shared;
use stdx::{Duration, Instant};
use transaction::EpochSignals;
use types::{Epoch, NodeId, SlotId, ViewNumber};

/// How long open transactions may go on.
const SESSIONS_MS: u32 = 3_000;
/// How long a step may take.
const STEP_PATIENCE: Duration = Duration::from_secs(5);
/// After which a node ends by itself: longer than all steps.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often what is missing is asked for again.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// The stop that this node sees to.
#[derive(Debug)]
struct Leading {
    extent: FullStop,
    /// The operator who waits for its end.
    connection: Option<ConnectionId>,
    /// The step, and when it has taken too long; None: the record is awaited.
    step: Option<FullStopStep>,
    /// The view in which the last step was begun.
    view: ViewNumber,
    /// The nodes that are asked for it.
    asked: Vec<NodeId>,
    /// Those of them that have not done it.
    missing: Vec<NodeId>,
    /// The highest epoch that any of them knows.
    open: Epoch,
    until: Instant,
    ask_at: Instant,
}

/// A node's knowledge of stops of the whole cluster.
#[derive(Debug, Default)]
pub(super) struct FullStops {
    leading: Option<Leading>,
    part: Option<Part>,
}

impl FullStops {
    /// Such a stop is on its way: this node ends in bounded time.
    pub(super) fn is_on_its_way(&self) -> bool {
        self.part.is_some()
    }
}

/// This node's part in a stop.
#[derive(Debug)]
struct Part {
    leader: Address,
    step: FullStopStep,
    /// Modules that have not done it.
    missing: Vec<Address>,
    exit_code: Option<u8>,
    until: Instant,
}

fn list(nodes: &[NodeId]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
}

/// The exit code of a node, which tells its angel whether to start it again; None: it goes on.
fn exit_code(extent: FullStop, role: NodeRole) -> Option<u8> {
    match (extent, role) {
        (FullStop::Shutdown, _) | (FullStop::Stop, NodeRole::Data) => Some(0),
        (FullStop::Restart, NodeRole::Data) | (FullStop::Stop | FullStop::Restart, NodeRole::Sql) => {
            Some(EXIT_LEFT_OUT)
        }
        (FullStop::Stop | FullStop::Restart, NodeRole::Management) => None,
    }
}

impl MainModule {
    /// When a stop of the whole cluster is looked at.
    pub(super) fn full_stop_deadline(&self) -> Option<Instant> {
        let leading =
            self.operators.full_stops.leading.as_ref().map(|leading| leading.until.min(leading.ask_at));
        let part = self.operators.full_stops.part.as_ref().map(|part| part.until);
        leading.into_iter().chain(part).min()
    }

    /// A signal of the protocol above.
    pub(super) fn on_full_stop(&mut self, from: Address, signal: Signal, outputs: &mut Outputs<Shared>) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "only these are handed on to this file")]
        match signal {
            Signal::FullStopWanted { extent, reason } => {
                self.begin_full_stop(extent, (None, &reason), outputs);
            }
            Signal::FullStopRequest { step, exit_code } => {
                self.on_full_stop_request(from, step, exit_code, outputs);
            }
            Signal::FullStopDone { step, open } => self.on_full_stop_done(from.node, step, open, outputs),
            _ => {}
        }
    }

    // ---- the node that sees to it -----------------------------------------------------------------------------------

    /// Somebody wants the whole cluster to stop. SQL nodes know nothing of each other: one of the others sees to it.
    pub(super) fn begin_full_stop(
        &mut self,
        extent: FullStop,
        (connection, reason): (Option<ConnectionId>, &str),
        outputs: &mut Outputs<Shared>,
    ) {
        if self.operators.full_stops.leading.is_some() || self.operators.full_stops.part.is_some() {
            if let Some(connection) = connection {
                self.answer_management(connection, "the cluster is stopping already\n", outputs);
            }
            return;
        }
        let is_sql = self.modules(ModuleKind::Ldm).is_empty() && self.config.management.is_none();
        if is_sql && let Some(other) = self.reach.found.first() {
            let wanted = Signal::FullStopWanted { extent, reason: reason.to_owned() };
            return outputs.send(self.me(), Address::main(*other), wanted);
        }
        outputs.event(Severity::Warning, format!("the cluster stops as a whole: {reason}"));
        let now = self.now.monotonic;
        let step = Some(FullStopStep::EndSessions);
        self.operators.full_stops.leading = Some(Leading {
            extent,
            connection,
            step,
            view: self.view.number,
            asked: Vec::new(),
            missing: Vec::new(),
            open: Epoch(0),
            until: now,
            ask_at: now,
        });
        self.begin_step(FullStopStep::EndSessions, outputs);
    }

    fn begin_step(&mut self, step: FullStopStep, outputs: &mut Outputs<Shared>) {
        let (now, view) = (self.now.monotonic, self.view.number);
        let mut nodes = self.reach.found.clone();
        nodes.push(self.config.node);
        if matches!(step, FullStopStep::Flush { .. }) {
            nodes.extend(self.view.in_sync(SlotId(0)));
        }
        nodes.sort_unstable();
        nodes.dedup();
        let Some(leading) = &mut self.operators.full_stops.leading else { return };
        (leading.step, leading.view, leading.missing) = (Some(step), view, nodes.clone());
        leading.asked = nodes;
        (leading.until, leading.ask_at) = (now + STEP_PATIENCE, now);
        if let Some(connection) = leading.connection {
            let what = match step {
                FullStopStep::EndSessions => "sessions end",
                FullStopStep::AnswerCommits => "commits are answered",
                FullStopStep::Flush { .. } => "everything is flushed",
                FullStopStep::End => "all nodes end",
            };
            let line = format!("{}{what}\n", crate::management::PROGRESS_PREFIX);
            outputs.buffer(connection).extend_from_slice(line.as_bytes());
        }
        self.ask_for_step(outputs);
    }

    /// Asks all that have not done the step, again and again.
    fn ask_for_step(&mut self, outputs: &mut Outputs<Shared>) {
        let now = self.now.monotonic;
        let Some(leading) = &mut self.operators.full_stops.leading else { return };
        leading.ask_at = now + ASK_EVERY;
        let Some(step) = leading.step else { return };
        let (extent, missing) = (leading.extent, leading.missing.clone());
        for node in missing {
            let exit_code = exit_code(extent, self.role_in_cluster(node));
            let request = Signal::FullStopRequest { step, exit_code };
            outputs.send(self.me(), Address::main(node), request);
        }
    }

    fn role_in_cluster(&self, node: NodeId) -> NodeRole {
        let known = self.view.node(node).map(|info| info.role);
        known.or_else(|| self.role_of(node)).unwrap_or(NodeRole::Data)
    }

    /// A node has done a step.
    fn on_full_stop_done(
        &mut self,
        node: NodeId,
        step: FullStopStep,
        open: Epoch,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(leading) =
            self.operators.full_stops.leading.as_mut().filter(|leading| leading.step == Some(step))
        else {
            return;
        };
        leading.open = leading.open.max(open);
        leading.missing.retain(|missing| *missing != node);
        self.continue_full_stop(outputs);
    }

    /// Goes on, if a step is done or has taken too long.
    pub(super) fn continue_full_stop(&mut self, outputs: &mut Outputs<Shared>) {
        let now = self.now.monotonic;
        if let Some(part) = self.operators.full_stops.part.as_ref().filter(|part| part.until <= now) {
            let (exit_code, so) = match part.exit_code {
                Some(exit_code) => (Some(exit_code), "this node ends"),
                None => (None, "this node goes on"),
            };
            let text = format!("the cluster was about to stop, and the node that saw to it is gone: {so}");
            outputs.event(Severity::Warning, text);
            return self.end_full_stop(exit_code, outputs);
        }
        let is_running = self.is_running();
        let Some(leading) = &mut self.operators.full_stops.leading else { return };
        let is_late = leading.until <= now;
        let view = self.view.number;
        // Nodes that are gone are not waited for. Whether those of the last step are members is another view's word.
        let found = &self.reach.found;
        let is_reached = |node: &NodeId| *node == self.config.node || found.contains(node);
        match leading.step {
            Some(FullStopStep::EndSessions | FullStopStep::AnswerCommits) => {
                leading.missing.retain(is_reached)
            }
            Some(FullStopStep::Flush { .. } | FullStopStep::End) | None => {}
        }
        let is_done = leading.missing.is_empty();
        let open = Epoch(leading.open.0.max(self.epochs.open().0));
        match leading.step {
            Some(FullStopStep::EndSessions) if is_done || is_late => {
                self.begin_step(FullStopStep::AnswerCommits, outputs);
            }
            Some(FullStopStep::AnswerCommits) if (is_done || is_late) && !is_running => {
                self.end_all("the cluster was not running, and nothing is lost\n", outputs);
            }
            Some(FullStopStep::AnswerCommits) if is_done || is_late => {
                self.begin_step(FullStopStep::Flush { epoch: open }, outputs);
            }
            // Another view: its members may be others, and it closes epochs of its own.
            Some(FullStopStep::Flush { .. }) | None if leading.view < view => {
                let until = leading.until;
                self.begin_step(FullStopStep::Flush { epoch: open }, outputs);
                if let Some(leading) = &mut self.operators.full_stops.leading {
                    // Views that follow each other do not make it longer.
                    leading.until = until;
                }
            }
            Some(FullStopStep::Flush { .. }) if is_done => self.ask_for_record(outputs),
            Some(FullStopStep::Flush { .. }) if is_late => {
                let text = format!("node {} has not flushed in time", list(&leading.missing));
                self.end_unrecorded(&text, outputs);
            }
            None if is_late => self.end_unrecorded("no majority of voters has recorded the stop", outputs),
            _ if leading.ask_at <= now => self.ask_for_step(outputs),
            Some(_) | None => {}
        }
    }

    fn ask_for_record(&mut self, outputs: &mut Outputs<Shared>) {
        let me = self.config.node;
        let role = self.role_in_cluster(me);
        let Some(leading) = &mut self.operators.full_stops.leading else { return };
        (leading.step, leading.until) = (None, self.now.monotonic + STEP_PATIENCE);
        let (exit_code, flushed_in) = (exit_code(leading.extent, role), Some(leading.view));
        let step = LeaveStep::Stop { exit_code, flushed_in };
        outputs.send(self.me(), Address::membership(me), Signal::Leaving { step });
    }

    /// All nodes end, though the control log does not say so.
    fn end_unrecorded(&mut self, why: &str, outputs: &mut Outputs<Shared>) {
        outputs.event(Severity::Error, format!("the stop of the cluster is not recorded: {why}"));
        let text = format!(
            "ERROR: {why}. All nodes end all the same. What is not on all disks may be lost, and the next start may wait for one of them\n"
        );
        self.end_all(&text, outputs);
    }

    fn end_all(&mut self, text: &str, outputs: &mut Outputs<Shared>) {
        self.begin_step(FullStopStep::End, outputs);
        if let Some(leading) = self.operators.full_stops.leading.take() {
            self.answer_full_stop(&leading, text, outputs);
        }
    }

    /// There is a view, and it has not stopped.
    fn is_running(&self) -> bool {
        self.view.number > ViewNumber(0) && !self.view.is_stopped
    }

    /// The newest view is that of a cluster that has stopped. A node that goes on has done its part.
    pub(super) fn on_cluster_stopped(&mut self, view: &View, outputs: &mut Outputs<Shared>) {
        self.operators.full_stops.part.take_if(|part| part.exit_code.is_none());
        let Some(leading) = self.operators.full_stops.leading.take() else { return };
        // Those that were asked learn of the record too, and may have ended before this node learns of it.
        let nodes = view.nodes.iter().map(|info| info.node);
        let away: Vec<NodeId> = nodes.filter(|node| !leading.asked.contains(node)).collect();
        let mut text = match leading.extent {
            FullStop::Shutdown => "the cluster has stopped; nothing is lost\n",
            FullStop::Stop => "all data nodes have stopped; nothing is lost\n",
            FullStop::Restart => "all data nodes restart; nothing is lost\n",
        }
        .to_owned();
        if !away.is_empty() {
            text.push_str(&format!("not connected, and not stopped if it runs: node {}\n", list(&away)));
        }
        self.answer_full_stop(&leading, &text, outputs);
    }

    fn answer_full_stop(&self, leading: &Leading, text: &str, outputs: &mut Outputs<Shared>) {
        if let Some(connection) = leading.connection {
            self.answer_management(connection, text, outputs);
        }
    }

    /// The operator has gone: the stop goes on.
    pub(super) fn forget_full_stop(&mut self, connection: ConnectionId) {
        if let Some(leading) = &mut self.operators.full_stops.leading {
            leading.connection = leading.connection.filter(|waiting| *waiting != connection);
        }
    }

    // ---- every node -------------------------------------------------------------------------------------------------

    /// This node is asked for a step, perhaps again.
    fn on_full_stop_request(
        &mut self,
        leader: Address,
        step: FullStopStep,
        exit_code: Option<u8>,
        outputs: &mut Outputs<Shared>,
    ) {
        if step == FullStopStep::End {
            return self.end_full_stop(exit_code, outputs);
        }
        if let Some(part) = self.operators.full_stops.part.as_mut().filter(|part| part.step == step) {
            part.leader = leader;
            return self.answer_if_done(outputs);
        }
        if self.operators.full_stops.part.is_none() {
            // A stop of this node alone ends with this one.
            self.stopping = None;
            outputs.event(
                Severity::Warning,
                format!("the cluster stops as a whole, as node {} says", leader.node),
            );
            let stop = LeaveStep::Stop { exit_code, flushed_in: None };
            outputs.send(self.me(), Address::membership(self.config.node), Signal::Leaving { step: stop });
        }
        let ask = match step {
            FullStopStep::EndSessions => {
                Some((ModuleKind::Sql, Signal::Drain { patience_ms: Some(SESSIONS_MS) }))
            }
            FullStopStep::AnswerCommits => Some((ModuleKind::Tc, Signal::StandDown)),
            FullStopStep::Flush { .. } | FullStopStep::End => None,
        };
        let missing = ask.as_ref().map_or_else(Vec::new, |(kind, _)| self.modules(*kind));
        for (module, (_, signal)) in missing.iter().zip(std::iter::repeat(ask).flatten()) {
            outputs.send(self.me(), *module, signal);
        }
        if let FullStopStep::Flush { epoch } = step {
            self.epochs.on_signal(self.now, self.me(), EpochSignals::Wanted(epoch), outputs);
            if self.writes_log() {
                // Closed and flushed at once: TimeBetweenEpochs and TimeBetweenGlobalCheckpoints may be longer than a
                // step.
                self.epochs.on_signal(self.now, self.me(), EpochSignals::DurableWanted(epoch), outputs);
            }
        }
        let until = self.now.monotonic + PATIENCE;
        self.operators.full_stops.part = Some(Part { leader, step, missing, exit_code, until });
        self.answer_if_done(outputs);
    }

    /// A module has done what it was asked for.
    pub(super) fn on_part_done(&mut self, module: Address, outputs: &mut Outputs<Shared>) {
        if let Some(part) = &mut self.operators.full_stops.part {
            part.missing.retain(|missing| *missing != module);
            self.answer_if_done(outputs);
        }
    }

    /// Says that the step is done, if it is.
    pub(super) fn answer_if_done(&mut self, outputs: &mut Outputs<Shared>) {
        let Some(part) = &self.operators.full_stops.part else { return };
        let is_done = match part.step {
            FullStopStep::EndSessions | FullStopStep::AnswerCommits => part.missing.is_empty(),
            FullStopStep::Flush { epoch } => !self.writes_log() || self.epochs.flushed() >= epoch,
            FullStopStep::End => false,
        };
        if is_done {
            let (step, leader, open) = (part.step, part.leader, self.epochs.open());
            outputs.send(self.me(), leader, Signal::FullStopDone { step, open });
        }
    }

    /// Whether this node is in sync and keeps a log.
    fn writes_log(&self) -> bool {
        self.view.is_in_sync(self.config.node) && !self.modules(ModuleKind::Disk).is_empty()
    }

    /// The process ends, or takes no part any more.
    fn end_full_stop(&mut self, exit_code: Option<u8>, outputs: &mut Outputs<Shared>) {
        self.operators.full_stops.part = None;
        match exit_code {
            Some(exit_code) => outputs.request(RequestToRuntime::Exit(exit_code)),
            None => {
                let stay = Signal::Leaving { step: LeaveStep::Stay };
                outputs.send(self.me(), Address::membership(self.config.node), stay);
            }
        }
    }
}

#[cfg(test)]
mod tests;
