//! A planned stop: primaries leave first, then sessions, then the node.
//!
//! ```text
//! HandingOver   a view in which others lead its slots, used by all members
//! StandingDown  its ldms have handed over what was open, and owe no answer, as long as others take and hear it
//! Draining      its sessions end: with their transaction, or are told 1053; a node without rows begins here
//! Answering     its coordinators answer the commits that they were asked for
//! Leaving       a view without it: `membership` ends the process
//! ```
//! Invariants: nothing waits for longer than [`PATIENCE`], and [`DRAIN_PATIENCE`] behind it. If no other node could go
//! on with its slots, the node stays and serves, if an operator asked at a management node. It ends at once if its
//! process was asked, which cannot be refused, or asked twice. The later of two requests says whether the node is
//! started again. But no request at a management node takes back a request to the process.
//!
//! Deliberately not here: starting again (the angel).

use super::MainModule;
use membership::succession;
use protocol::signal::LeaveStep;
use protocol::{Address, ModuleKind, Outputs, RequestToRuntime, Severity, Signal};
use query::Shared;
use stdx::{Duration, Instant};
use types::{NodeId, SlotId};

/// How long a node that is to stop waits for others.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long open transactions may go on.
const DRAIN_MS: u32 = 3_000;
/// How long its sessions may take, and what comes behind them, if the hand-over took its time.
const DRAIN_PATIENCE: Duration = Duration::from_secs(4);
/// How often it looks whether anybody is left to wait for.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Why it stays.
const NO_HEIRS: &str = "this node does not stop: nobody can take its slots just now";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    HandingOver,
    StandingDown,
    Draining,
    Answering,
    Leaving,
}

/// A stop on its way.
#[derive(Debug)]
pub(super) struct Stopping {
    exit_code: u8,
    /// It was asked for at a management node.
    may_stay: bool,
    stage: Stage,
    /// Modules that have not answered.
    missing: Vec<Address>,
    until: Instant,
    look_at: Instant,
}

impl MainModule {
    /// When a stop that is on its way is looked at.
    pub(super) fn stop_deadline(&self) -> Option<Instant> {
        self.stopping.as_ref().map(|stopping| stopping.look_at)
    }

    /// The operator wants this node to stop while the others go on.
    pub(super) fn begin_stop(
        &mut self,
        exit_code: u8,
        reason: &str,
        may_stay: bool,
        outputs: &mut Outputs<Shared>,
    ) {
        let me = self.config.node;
        outputs.event(Severity::Info, format!("stopping: {reason}"));
        if self.operators.full_stops.is_on_its_way() {
            return;
        }
        if self.is_stopping_already(exit_code, may_stay, outputs) {
            return;
        }
        let leads = self.view.is_in_sync(me);
        let is_led = self.view.leaving.contains(&me) || succession::with_leaving(&self.view, me).is_some();
        let has_heirs = is_led && self.has_heirs_left();
        if may_stay && self.is_open && leads && !has_heirs {
            return outputs.event(Severity::Warning, NO_HEIRS);
        }
        if self.stopping.is_some() || !self.is_open || (leads && !has_heirs) {
            return outputs.request(RequestToRuntime::Exit(exit_code));
        }
        let (until, look_at) = (self.now.monotonic + PATIENCE, self.now.monotonic + LOOK_INTERVAL);
        let (stage, missing) = (Stage::HandingOver, Vec::new());
        self.stopping = Some(Stopping { exit_code, may_stay, stage, missing, until, look_at });
        if leads {
            let leaving = Signal::Leaving { step: LeaveStep::HandOver };
            outputs.send(self.me(), Address::membership(me), leaving);
        } else {
            self.drain(outputs);
        }
    }

    /// Whether a stop that is on its way does what is asked now, too: all but the second request to the process itself.
    fn is_stopping_already(&mut self, exit_code: u8, may_stay: bool, outputs: &mut Outputs<Shared>) -> bool {
        let me = self.me();
        let Some(stopping) = &mut self.stopping else { return false };
        if stopping.may_stay {
            (stopping.may_stay, stopping.exit_code) = (may_stay, exit_code);
            if stopping.stage == Stage::Leaving {
                let leaving = Signal::Leaving { step: LeaveStep::Leave { exit_code } };
                outputs.send(me, Address::membership(me.node), leaving);
            }
            return true;
        }
        may_stay
    }

    /// Looks how far it is, and goes on.
    pub(super) fn continue_stop(&mut self, outputs: &mut Outputs<Shared>) {
        let now = self.now.monotonic;
        let Some(stopping) = &mut self.stopping else { return };
        if stopping.look_at <= now {
            stopping.look_at = now + LOOK_INTERVAL;
        }
        let (stage, exit_code, until) = (stopping.stage, stopping.exit_code, stopping.until);
        let may_stay = stopping.may_stay;
        let is_refused = stage == Stage::HandingOver && self.is_needed(self.config.node);
        let is_needed = is_refused || !self.has_heirs_left();
        if may_stay && (is_needed || (until <= now && stage == Stage::HandingOver)) {
            return self.stay(outputs);
        }
        if is_needed || (until <= now && stage != Stage::StandingDown) {
            return outputs.request(RequestToRuntime::Exit(exit_code));
        }
        if until <= now {
            // Somebody does not answer. Its own sessions have their time all the same.
            return self.drain(outputs);
        }
        if stage == Stage::HandingOver && self.is_led_by_others() {
            self.ask_all(Stage::StandingDown, ModuleKind::Ldm, &Signal::StandDown, outputs);
        }
    }

    /// The stop is off: sessions are welcome again, and the node gets its share of primaries.
    fn stay(&mut self, outputs: &mut Outputs<Shared>) {
        outputs.event(Severity::Warning, NO_HEIRS);
        self.stopping = None;
        let me = self.me();
        outputs.send(me, Address::membership(me.node), Signal::Leaving { step: LeaveStep::Stay });
        for module in self.modules(ModuleKind::Sql) {
            outputs.send(me, module, Signal::Drain { patience_ms: None });
        }
    }

    /// Whether somebody who lives has each of this node's slots.
    fn has_heirs_left(&self) -> bool {
        let me = self.config.node;
        let mut gone = self.reach.lost.clone();
        gone.push(me);
        !self.view.is_in_sync(me) || succession::without(&self.view, &gone).is_some()
    }

    /// All members use a view in which this node leads nothing.
    fn is_led_by_others(&self) -> bool {
        self.entry.view == self.view.number
            && self.view.leaving.contains(&self.config.node)
            && self.view.in_sync(SlotId(0)).iter().all(|member| self.entry.installed.contains(member))
    }

    fn ask_all(&mut self, stage: Stage, kind: ModuleKind, signal: &Signal, outputs: &mut Outputs<Shared>) {
        let modules = self.modules(kind);
        for module in &modules {
            outputs.send(self.me(), *module, signal.clone());
        }
        if let Some(stopping) = &mut self.stopping {
            (stopping.stage, stopping.missing) = (stage, modules);
        }
    }

    fn drain(&mut self, outputs: &mut Outputs<Shared>) {
        if let Some(stopping) = &mut self.stopping {
            stopping.until = stopping.until.max(self.now.monotonic + DRAIN_PATIENCE);
        }
        self.ask_all(
            Stage::Draining,
            ModuleKind::Sql,
            &Signal::Drain { patience_ms: Some(DRAIN_MS) },
            outputs,
        );
    }

    /// A module has done what it was asked for.
    pub(super) fn on_stopped(&mut self, from: Address, outputs: &mut Outputs<Shared>) {
        if self.operators.full_stops.is_on_its_way() {
            return self.on_part_done(from, outputs);
        }
        let me = self.config.node;
        let leads = self.view.is_in_sync(me);
        let Some(stopping) = &mut self.stopping else { return };
        let missing = stopping.missing.len();
        stopping.missing.retain(|missing| *missing != from);
        if missing == 0 || !stopping.missing.is_empty() {
            return;
        }
        let exit_code = stopping.exit_code;
        match stopping.stage {
            Stage::StandingDown => {
                outputs.event(Severity::Info, format!("node {me} has handed its primaries over"));
                self.drain(outputs);
            }
            Stage::Draining if leads => {
                outputs.event(Severity::Info, format!("node {me} has no sessions any more"));
                self.ask_all(Stage::Answering, ModuleKind::Tc, &Signal::StandDown, outputs);
            }
            Stage::Answering => {
                stopping.stage = Stage::Leaving;
                let leaving = Signal::Leaving { step: LeaveStep::Leave { exit_code } };
                outputs.send(self.me(), Address::membership(me), leaving);
            }
            Stage::Draining => outputs.request(RequestToRuntime::Exit(exit_code)),
            Stage::HandingOver | Stage::Leaving => {}
        }
    }

    /// This node's sessions have sent their signals to primaries of older views before: a node that is about to stop
    /// need not wait for more of them.
    pub(super) fn answer_last_words(&mut self, outputs: &mut Outputs<Shared>) {
        if self.making.rollout.is_none() {
            for ldm in std::mem::take(&mut self.last_words) {
                outputs.send(self.me(), ldm, Signal::LastWordHeard);
            }
        }
    }

    /// Why a node may not be stopped alone, if so.
    pub(super) fn is_needed(&self, node: NodeId) -> bool {
        self.view.is_in_sync(node)
            && !self.view.leaving.contains(&node)
            && succession::with_leaving(&self.view, node).is_none()
    }
}

#[cfg(test)]
mod tests;
