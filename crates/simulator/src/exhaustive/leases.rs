//! Two replicas and a witness that detect each other's failures, with a view that leaves one of them out and the leases
//! under which both read.
//!
//! Time goes in ticks of one heartbeat interval, the same for all; between two ticks anything may arrive, or be late.
//! Each node's timer runs right after the tick, unless the node stands still. The witness hears and is heard at once,
//! and decides views: the first proposal from a view wins. One of these happens at any moment. The victim, node 2,
//! stands still for some ticks, or its link with node 1 is cut, one way or both, for some ticks, or its process dies.
//!
//! Checked after each step: a node that may read has grants that run on every granter's clock. While a node that the
//! newest view leaves out may read, nobody acknowledges writes in that view. At the end everybody who lives knows the
//! newest view, all its members may read and write, and the victim has left if it died.

use super::SmallWorld;
use fixtures::{data_node, node};
use membership::detector::{Detector, DetectorConfig, DetectorOutputs};
use membership::succession;
use protocol::heartbeat::Heartbeat;
use protocol::{NodeInfo, NodeRole, View};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant, hash64};
use types::{Incarnation, NodeId};

const WITNESS: NodeId = NodeId(65);
const OTHER: NodeId = NodeId(1);
const VICTIM: NodeId = NodeId(2);
/// Three misses: a lease lasts two ticks.
const CONFIG: DetectorConfig = DetectorConfig { interval: Duration::from_millis(10), misses: 3 };
/// Ticks before anything may go wrong: everybody reads by then.
const TICKS_BEFORE: u32 = 3;
/// Ticks in which it may.
const TICKS_BAD: u32 = 4;
/// Ticks after everything is whole again: as long as it takes to be well.
const TICKS_AFTER: u32 = 8;
/// How long a fault lasts, in ticks.
const FAULT_TICKS: u32 = 3;

/// The fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The victim stands still.
    Pause,
    /// Its process is killed.
    Kill,
    /// Its messages do not arrive at the other.
    Mute,
    /// The other's messages do not arrive at it.
    Deaf,
    /// Both.
    Cut,
}

/// The next event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The oldest message between the two replicas arrives.
    Deliver {
        /// From this one.
        from: NodeId,
    },
    /// A node hears of the newest view.
    Learn(NodeId),
    /// The fault begins.
    Begin(Fault),
    /// A heartbeat interval has passed.
    Tick,
}

#[derive(Clone)]
struct Member {
    detector: Detector,
    /// The digest of the detector.
    digest: u64,
}

/// The world.
#[derive(Clone)]
pub struct LeaseWorld {
    tick: u32,
    members: BTreeMap<NodeId, Member>,
    /// Between the two replicas, by sender.
    channels: BTreeMap<NodeId, VecDeque<Heartbeat>>,
    view: Arc<View>,
    view_digest: u64,
    fault: Option<(Fault, u32)>,
}

impl LeaseWorld {
    /// The world when everybody reads.
    #[must_use]
    pub fn new() -> Self {
        let witness = node(WITNESS.0, NodeRole::Management);
        let nodes = vec![data_node(OTHER.0), data_node(VICTIM.0), witness];
        let view = Arc::new(fixtures::view(nodes.clone(), 2));
        let member = |info: &NodeInfo| {
            let view = Arc::clone(&view);
            let detector = Detector::new(info.node, info.incarnation, CONFIG, view, Instant(0));
            (info.node, Member { detector, digest: 0 })
        };
        let members = nodes.iter().map(member).collect();
        let mut world =
            Self { tick: 0, members, channels: BTreeMap::new(), view, view_digest: 0, fault: None };
        for _ in 0..TICKS_BEFORE {
            world.pass_tick();
            world.deliver_all();
        }
        world
    }

    fn now(&self) -> Instant {
        Instant(0) + CONFIG.interval * self.tick
    }

    fn is_alive(&self, node: NodeId) -> bool {
        node != VICTIM || !matches!(self.fault, Some((Fault::Kill, _)))
    }

    fn has_fault(&self, fault: Fault) -> bool {
        self.fault.is_some_and(|(kind, until)| kind == fault && self.tick < until)
    }

    fn stands_still(&self, node: NodeId) -> bool {
        node == VICTIM && self.has_fault(Fault::Pause)
    }

    /// Whether what a replica says arrives at the other.
    fn is_cut(&self, from: NodeId) -> bool {
        self.has_fault(Fault::Cut)
            || from == VICTIM && self.has_fault(Fault::Mute)
            || from == OTHER && self.has_fault(Fault::Deaf)
    }

    fn handle(&mut self, node: NodeId, input: impl FnOnce(&mut Detector, Instant, &mut DetectorOutputs)) {
        let now = self.now();
        if !self.is_alive(node) {
            return;
        }
        let Some(member) = self.members.get_mut(&node) else { return };
        let mut outputs = DetectorOutputs::default();
        input(&mut member.detector, now, &mut outputs);
        member.digest = member.detector.digest();
        for (to, heartbeat) in outputs.heartbeats {
            if to == WITNESS || node == WITNESS {
                self.arrive(node, to, heartbeat);
            } else {
                self.channels.entry(node).or_default().push_back(heartbeat);
            }
        }
        if let Some(leavers) = outputs.leavers
            && self.members.get(&node).is_some_and(|member| member.detector.view() == self.view.number)
            && let Some(next) = succession::without(&self.view, &leavers)
        {
            self.view_digest = hash64(format!("{next:?}").as_bytes());
            self.view = Arc::new(next);
            self.learn(WITNESS);
        }
    }

    fn arrive(&mut self, from: NodeId, to: NodeId, heartbeat: Heartbeat) {
        if self.stands_still(to) {
            return;
        }
        let life = Incarnation(u32::from(from.0));
        self.handle(to, |detector, now, outputs| {
            detector.on_heartbeat(now, from, life, heartbeat, outputs);
        });
    }

    fn learn(&mut self, node: NodeId) {
        let view = Arc::clone(&self.view);
        self.handle(node, |detector, now, _| detector.install(now, view));
    }

    fn deliver(&mut self, from: NodeId) {
        let to = if from == OTHER { VICTIM } else { OTHER };
        let next = self.channels.get_mut(&from).and_then(VecDeque::pop_front);
        self.channels.retain(|_, channel| !channel.is_empty());
        if let Some(heartbeat) = next {
            self.arrive(from, to, heartbeat);
        }
    }

    fn deliver_all(&mut self) {
        while let Some(from) = self.channels.keys().next().copied() {
            self.deliver(from);
        }
    }

    /// Time goes on, and every timer is served. Messages to a process that stands still wait, but not the witness's
    /// heartbeats: they are dropped, which is the worse.
    fn pass_tick(&mut self) {
        self.tick += 1;
        for node in [OTHER, VICTIM, WITNESS] {
            while !self.stands_still(node)
                && self.is_alive(node)
                && self.members.get(&node).is_some_and(|member| member.detector.deadline() <= self.now())
            {
                self.handle(node, |detector, now, outputs| detector.on_deadline(now, outputs));
            }
        }
    }

    fn begin(&mut self, fault: Fault) {
        self.fault = Some((fault, self.tick + FAULT_TICKS));
        if fault == Fault::Kill {
            self.channels.remove(&OTHER);
            for at in [OTHER, WITNESS] {
                self.handle(at, |detector, now, outputs| detector.on_link_down(now, VICTIM, outputs));
            }
        }
    }

    fn is_over(&self) -> bool {
        self.tick >= TICKS_BEFORE + TICKS_BAD + TICKS_AFTER
    }

    /// Nothing goes wrong any more, and messages are in time.
    fn is_good(&self) -> bool {
        self.tick >= TICKS_BEFORE + TICKS_BAD + FAULT_TICKS
    }

    fn is_in_sync(&self, node: NodeId) -> bool {
        self.view.is_in_sync(node)
    }

    /// A process that stands still reads nothing.
    fn may_read(&self, node: NodeId) -> bool {
        let member = &self.members[&node];
        self.is_alive(node) && !self.stands_still(node) && member.detector.may_read(self.now())
    }

    fn check(&self) -> Result<(), String> {
        for (holder, granter) in [(OTHER, VICTIM), (VICTIM, OTHER)] {
            let is_known = self.members[&holder].detector.view().0 == 1 || self.is_in_sync(granter);
            let is_over = self.members[&granter].detector.granted_until(holder) <= self.now();
            if is_known && self.may_read(holder) && self.is_alive(granter) && is_over {
                return Err(format!("node {holder} reads, node {granter} says it may not"));
            }
            let granting = &self.members[&granter].detector;
            let writes = self.is_alive(granter)
                && granting.view() == self.view.number
                && self.is_in_sync(granter)
                && granting.writable_at() <= self.now();
            if writes && !self.is_in_sync(holder) && self.may_read(holder) {
                return Err(format!("node {holder} was left out and reads, node {granter} acknowledges"));
            }
        }
        Ok(())
    }
}

impl Default for LeaseWorld {
    fn default() -> Self {
        Self::new()
    }
}

impl SmallWorld for LeaseWorld {
    type Choice = Choice;

    fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        let arrives = |from: &&NodeId| {
            let to = if **from == OTHER { VICTIM } else { OTHER };
            !self.is_cut(**from) && !self.stands_still(to)
        };
        choices.extend(self.channels.keys().filter(arrives).map(|from| Choice::Deliver { from: *from }));
        let behind = |node: &NodeId| {
            let member = &self.members[node];
            member.detector.view() < self.view.number && self.is_alive(*node) && !self.stands_still(*node)
        };
        choices.extend([OTHER, VICTIM].into_iter().filter(behind).map(Choice::Learn));
        if self.is_over() {
            // The messages of the last tick are heard: a lease does not last from one tick to the one behind the next.
            choices.truncate(1);
            return choices;
        }
        if self.fault.is_none() && self.tick < TICKS_BEFORE + TICKS_BAD {
            let faults = [Fault::Pause, Fault::Kill, Fault::Mute, Fault::Deaf, Fault::Cut];
            choices.extend(faults.map(Choice::Begin));
        }
        // In good times everything is in time.
        if !self.is_good() || choices.is_empty() {
            choices.push(Choice::Tick);
        } else {
            choices.truncate(1);
        }
        choices
    }

    fn is_quiet(&self, choices: &[Choice]) -> bool {
        choices.is_empty()
    }

    fn apply(&mut self, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::Deliver { from } => self.deliver(from),
            Choice::Learn(node) => self.learn(node),
            Choice::Begin(fault) => self.begin(fault),
            Choice::Tick => self.pass_tick(),
        }
        self.check()
    }

    fn check_end(&self) -> Result<(), String> {
        let is_killed = matches!(self.fault, Some((Fault::Kill, _)));
        if is_killed && self.is_in_sync(VICTIM) {
            return Err("the dead node has not left".to_owned());
        }
        for node in [OTHER, VICTIM].into_iter().filter(|node| self.is_alive(*node)) {
            let detector = &self.members[&node].detector;
            if detector.view() != self.view.number {
                return Err(format!("node {node} does not know the newest view in the end"));
            }
            let is_well = detector.may_read(self.now()) && detector.writable_at() <= self.now();
            if self.is_in_sync(node) && !is_well {
                return Err(format!("node {node} may not read or write in the end"));
            }
        }
        Ok(())
    }

    fn digest(&self) -> u64 {
        let members = self.members.iter().map(|(node, member)| (*node, member.digest));
        let members: Vec<(NodeId, u64)> = members.collect();
        let text =
            format!("{} {members:?} {:?} {} {:?}", self.tick, self.channels, self.view_digest, self.fault);
        hash64(text.as_bytes())
    }
}
