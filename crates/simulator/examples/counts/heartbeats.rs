//! The heartbeats of a large cluster: the failure detector of one of its members.
//!
//! A heartbeat is counted from the sender's block to its bytes, and from the bytes to what the receiver has to do after
//! it. The counted node sends one to each other member and gets one of each.
//!
//! Invariant: everybody hears everybody, and lets the counted member read.
//!
//! Deliberately not here: the rest of the cluster (`cluster`), and members that fail.

use crate::meter::{Owner, Part, measured};
use membership::detector::{Detector, DetectorConfig, DetectorOutputs};
use protocol::heartbeat::{Heartbeat, LinkRow};
use protocol::transport::{decode_envelope, encode_envelope, next_frame};
use protocol::{Address, Envelope, ModuleKind, Signal, View};
use std::hint::black_box;
use std::sync::Arc;
use stdx::Instant;
use stdx::wire::WIRE_VERSION;
use types::{Incarnation, NodeId, NodeSet};

/// Members, in groups of two.
const MEMBERS: u16 = 144;
const CONFIG: DetectorConfig = DetectorConfig::DEFAULT;
/// The counted one.
const COUNTED: NodeId = NodeId(1);
/// Intervals until it is certain of the others.
const INTERVALS_BEFORE: u32 = 20;
/// The buffer that signals are encoded in is reused.
const FRAME_BYTES: usize = 4_096;

/// The counted member, and what the others have to say.
pub(crate) struct Heartbeats {
    now: Instant,
    view: Arc<View>,
    counted: Detector,
    /// Heartbeats that each member has sent to each other one.
    sent: u64,
}

impl Heartbeats {
    /// The heartbeats that the counted member sends in an interval, and as many come.
    pub(crate) const COUNT: usize = MEMBERS as usize - 1;

    /// A cluster that runs for a while.
    pub(crate) fn start() -> Self {
        let now = Instant(1_000_000_000);
        let nodes = (1..=MEMBERS).map(fixtures::data_node);
        let view = Arc::new(fixtures::view(nodes.collect(), 2));
        let counted = Detector::new(COUNTED, life(&view, COUNTED), CONFIG, Arc::clone(&view), now);
        let mut heartbeats = Self { now, view, counted, sent: 0 };
        (0..INTERVALS_BEFORE).for_each(|_| heartbeats.interval());
        heartbeats
    }

    /// An interval: the counted member sends a heartbeat to everybody, and everybody answers.
    pub(crate) fn interval(&mut self) {
        self.now = self.now + CONFIG.interval;
        self.sent += 1;
        let mut outputs = DetectorOutputs::default();
        measured(Owner(1), Part::Module(ModuleKind::Membership), &mut || {
            self.counted.on_deadline(self.now, &mut outputs);
        });
        assert_eq!((outputs.heartbeats.len(), outputs.leavers), (Self::COUNT, None));
        for (to, heartbeat) in outputs.heartbeats {
            measured_frame(&envelope(COUNTED, to, heartbeat));
            self.answer(to);
        }
        assert!(self.counted.may_read(self.now), "all let the counted member read");
    }

    fn answer(&mut self, from: NodeId) {
        let mut frame = Vec::new();
        let encoded = encode_envelope(&envelope(from, COUNTED, self.heartbeat_of(from)), &mut frame);
        assert!(encoded.is_ok(), "a heartbeat is too large");
        let mut received = None;
        measured(Owner(1), Part::Link, &mut || {
            if let Ok(Some((payload, _))) = next_frame(&frame) {
                received = decode_envelope(payload, WIRE_VERSION).ok();
            }
        });
        let Some(Envelope { signal: Signal::Heartbeat(heartbeat), .. }) = received else {
            panic!("a heartbeat that we have written cannot be read");
        };
        let (mut heartbeat, mut outputs) = (Some(*heartbeat), DetectorOutputs::default());
        let (now, life, detector) = (self.now, life(&self.view, from), &mut self.counted);
        measured(Owner(1), Part::Module(ModuleKind::Membership), &mut || {
            if let Some(heartbeat) = heartbeat.take() {
                assert!(detector.on_heartbeat(now, from, life, heartbeat, &mut outputs), "it is known");
                // As after each input of the block.
                black_box((detector.read_until(), detector.deadline()));
            }
        });
        assert_eq!((outputs.leavers, outputs.behind), (None, None));
    }

    /// The heartbeat of a member that hears everybody.
    fn heartbeat_of(&self, node: NodeId) -> Heartbeat {
        let all = NodeSet::from_iter((1..=MEMBERS).map(NodeId));
        let row = LinkRow {
            node,
            incarnation: life(&self.view, node),
            number: self.sent,
            hears: all.without(node),
            late: NodeSet::EMPTY,
        };
        Heartbeat { view: self.view.number, sequence: self.sent, granted: self.sent, rows: vec![row] }
    }
}

fn life(view: &View, node: NodeId) -> Incarnation {
    let info = view.node(node);
    info.unwrap_or_else(|| panic!("the view has no node {node}")).incarnation
}

fn envelope(from: NodeId, to: NodeId, heartbeat: Heartbeat) -> Envelope {
    let addresses = (Address::membership(from), Address::membership(to));
    Envelope::unstamped(addresses.0, addresses.1, Signal::Heartbeat(Box::new(heartbeat)))
}

fn measured_frame(envelope: &Envelope) {
    let mut frame = Vec::with_capacity(FRAME_BYTES);
    measured(Owner(1), Part::Link, &mut || {
        assert!(encode_envelope(envelope, &mut frame).is_ok(), "a heartbeat is too large");
    });
}
