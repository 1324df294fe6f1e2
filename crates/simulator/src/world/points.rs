//! Named fault points: a signal and what goes wrong with it, at the moment of its sending or arrival.
//!
//! A point is a signal's name and a step. The sender dies just before, or just after, or the receiver when it arrives.
//! Or the connection is cut at it and does not bear that, so it is dropped, with everything behind it. Or it is late,
//! with everything behind it. Nothing doubles a signal: a connection is TCP, and a signal that goes with it is not sent
//! again. It strikes the first time that the signal comes by after some others of its name. It does so only if every
//! replica group keeps a member: then every client has to go on.
//!
//! Invariant: a point strikes once at most; what it counts and does is drawn from the seed.

use super::{Disruption, MANAGEMENT, World};
use protocol::signal::SignalEntry;
use protocol::{Envelope, Signal};
use types::NodeId;

/// The fault at a signal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// Its sender dies before it is sent.
    CrashBeforeSend,
    /// Its sender dies when it is sent.
    CrashAfterSend,
    /// Its receiver dies instead of handling it.
    CrashOnReceive,
    /// Its connection is cut at it, for so long that it breaks.
    Cut,
    /// It is late.
    Delay,
}

/// All of them.
pub const STEPS: [Step; 5] =
    [Step::CrashBeforeSend, Step::CrashAfterSend, Step::CrashOnReceive, Step::Cut, Step::Delay];

/// Any signal may have a point: this is the whole table. Those of operators never come by in most worlds.
pub const SIGNALS: &[SignalEntry] = Signal::ALL;

/// Those that only planned moves of primaries have.
pub const HAND_OVER_SIGNALS: &[&str] =
    &["HandOver", "Taken", "Returned", "WaitMoved", "TransactionMoved", "LastWord", "LastWordHeard"];

/// Where something goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FaultPoint {
    /// Of these signals.
    pub signal: &'static str,
    /// How.
    pub step: Step,
    /// After so many of them.
    pub skip: u64,
    /// A node that dies starts again after so many milliseconds; 0: never.
    pub restart_ms: u64,
    /// When a node dies of it, another one stands still from then on, for so many milliseconds.
    pub pause: Option<(NodeId, u64)>,
}

/// The points of a world, and what became of them.
#[derive(Default)]
pub(super) struct Points {
    armed: Option<FaultPoint>,
    seen: u64,
    /// Whose sending ends with the signal at which it dies.
    doomed: Option<NodeId>,
    /// It has struck.
    struck: Option<FaultPoint>,
}

/// The fate of a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// It goes its way.
    Usual,
    /// It is not sent.
    Lost,
    /// Its stream is late by so many nanoseconds.
    Late(u64),
}

impl World {
    /// From now on this point may strike.
    pub fn arm(&mut self, point: FaultPoint) {
        stdx::require!(
            SIGNALS.iter().any(|entry| entry.name == point.signal),
            "{} is no signal",
            point.signal
        );
        self.points.armed = Some(point);
    }

    /// From now on it may not.
    pub fn disarm(&mut self) {
        self.points.armed = None;
    }

    /// Whether the point has struck.
    #[must_use]
    pub fn is_point_hit(&self) -> bool {
        self.points.struck.is_some()
    }

    /// Whether each replica group would keep a member in sync, and the control plane its majority: then every client
    /// goes on. (A node out of others' reach may be left out just now.)
    #[must_use]
    pub fn can_spare(&self, node: NodeId) -> bool {
        // A connection that broke a moment ago may have cost a node its place, and it need not know yet.
        if self.has_broken_links() {
            return false;
        }
        let (data_nodes, replicas) = (self.shape.data_nodes, self.shape.replicas);
        // A node that hangs, or did a moment ago, may have to leave any moment.
        let stays = |other: NodeId| {
            self.is_alive(other) && !self.stopping.contains(&other) && !self.has_hung_lately(other)
        };
        let dead = (1..=data_nodes).map(NodeId).filter(|other| !stays(*other) && *other != node).count();
        if dead >= if data_nodes < 4 { 1 } else { 2 } {
            return false;
        }
        let group = |node: u16| usize::from(node - 1) / replicas;
        (1..=data_nodes)
            .map(NodeId)
            .filter(|other| *other != node && group(other.0) == group(node.0))
            .any(|other| stays(other) && self.accepts(other) && self.is_connected(other))
    }

    fn is_data_node(&self, node: NodeId) -> bool {
        (1..=self.shape.data_nodes).contains(&node.0)
    }

    /// A signal is about to be sent.
    pub(super) fn fate_of(&mut self, envelope: &Envelope) -> Fate {
        if self.points.doomed == Some(envelope.from.node) {
            return Fate::Lost;
        }
        let Some(point) = self.points.armed.filter(|point| envelope.signal.name() == point.signal) else {
            return Fate::Usual;
        };
        let (from, to) = (envelope.from.node, envelope.to.node);
        let is_open = match point.step {
            Step::CrashBeforeSend | Step::CrashAfterSend => self.is_data_node(from) && self.can_spare(from),
            Step::CrashOnReceive => return Fate::Usual,
            Step::Cut | Step::Delay => from != to && from != MANAGEMENT && to != MANAGEMENT,
        };
        if !is_open || !self.comes_by(point) {
            return Fate::Usual;
        }
        match point.step {
            Step::CrashBeforeSend => {
                self.points.doomed = Some(from);
                Fate::Lost
            }
            Step::CrashAfterSend => {
                self.points.doomed = Some(from);
                Fate::Usual
            }
            Step::CrashOnReceive => Fate::Usual,
            Step::Cut => {
                let time = 3_500_000_000;
                self.begin(Disruption::Cut { from, to, is_both_ways: true, time });
                Fate::Usual
            }
            Step::Delay => Fate::Late(1_000_000 + self.prng.below(250_000_000)),
        }
    }

    /// A signal has arrived at its node; false if that node died of it.
    pub(super) fn survives(&mut self, envelope: &Envelope) -> bool {
        let Some(point) = self.points.armed else { return true };
        let node = envelope.to.node;
        let is_it = point.step == Step::CrashOnReceive && envelope.signal.name() == point.signal;
        if !is_it || !self.is_alive(node) || !self.is_data_node(node) || !self.can_spare(node) {
            return true;
        }
        if self.comes_by(point) {
            self.strike_down(node, point);
            return false;
        }
        true
    }

    /// One more of the signals; true if the point strikes.
    fn comes_by(&mut self, point: FaultPoint) -> bool {
        self.points.seen += 1;
        if self.points.seen <= point.skip {
            return false;
        }
        self.points.armed = None;
        self.transcript.push(format!("{} strikes {point:?}", self.now));
        self.points.struck = Some(point);
        true
    }

    /// A handler's signals are sent: who was to die at one of them dies now.
    pub(super) fn end_doomed(&mut self) {
        if let (Some(node), Some(point)) = (self.points.doomed.take(), self.points.struck) {
            self.strike_down(node, point);
        }
    }

    fn strike_down(&mut self, node: NodeId, point: FaultPoint) {
        self.crash(node);
        if let Some((other, milliseconds)) = point.pause.filter(|(other, _)| *other != node) {
            self.begin(Disruption::Pause { node: other, time: milliseconds * 1_000_000 });
        }
        if point.restart_ms > 0 {
            self.start_later(node, point.restart_ms * 1_000_000);
        }
    }
}
