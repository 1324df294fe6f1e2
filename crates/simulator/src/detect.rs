//! A world of failure detectors only: members with clocks of their own, a network, and one failure per seed.
//!
//! The control plane is an oracle beside the management node: whoever reaches that node may propose, and the first
//! proposal from a view wins. Nobody may leave a cluster that is well, or in which only messages are late. After a
//! failure the fewest nodes leave, within a bounded time, and everybody else knows the view. And never may a node read
//! when another one believes that its grant is over.

use fixtures::{data_node, node};
use membership::detector::{Detector, DetectorConfig, DetectorOutputs};
use membership::succession;
use protocol::control::GroupId;
use protocol::heartbeat::Heartbeat;
use protocol::{NodeInfo, NodeRole, SlotSizes, View};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use stdx::wire::{from_bytes, to_bytes};
use stdx::{Instant, Prng};
use types::{Incarnation, NodeId};

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const MANAGEMENT: NodeId = NodeId(65);
/// When the failure happens.
const FAILURE_AT: u64 = 1_000 * MILLISECOND;
/// When the run ends.
const END: u64 = 3_000 * MILLISECOND;

/// The fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failure {
    /// Nothing, but messages are late.
    None,
    /// The process is killed: its connections close.
    Killed,
    /// It tells the others, or its angel does.
    Farewell,
    /// The machine loses its power.
    Silent,
    /// It stops for less than what is tolerated.
    ShortPause,
    /// It stops for long, and goes on.
    LongPause,
    /// It does not hear the others.
    Deaf,
    /// The others do not hear it.
    Mute,
    /// The link of two data nodes is cut.
    PairCut,
    /// The link of two data nodes is cut for a moment.
    Flap,
    /// A data node and the management node are cut from each other: all rows are still in reach of each other.
    WitnessCut,
    /// All others stop for long, and go on.
    OthersPause,
}

const FAILURES: [Failure; 12] = [
    Failure::None,
    Failure::Killed,
    Failure::Farewell,
    Failure::Silent,
    Failure::ShortPause,
    Failure::LongPause,
    Failure::Deaf,
    Failure::Mute,
    Failure::PairCut,
    Failure::Flap,
    Failure::WitnessCut,
    Failure::OthersPause,
];

/// The outcome of a seed.
#[derive(Debug)]
pub struct DetectOutcome {
    /// The failure, if there was one.
    pub failure: Option<String>,
    /// The story of the failure, for people.
    pub story: String,
    /// From the failure to the view without the leaver, in microseconds.
    pub detection_us: Option<u64>,
    /// Depends on everything that happened.
    pub digest: u64,
}

enum Delivery {
    Heartbeat { from: NodeId, to: NodeId, bytes: Vec<u8> },
    View { to: NodeId, view: Arc<View> },
    Closed { at: NodeId, node: NodeId },
    Farewell { at: NodeId, node: NodeId },
    Propose { from: ViewOf, leavers: Vec<NodeId> },
    Failure,
    Mend,
}

/// The view that a proposal was made from.
type ViewOf = u64;

struct Member {
    detector: Detector,
    /// How fast its clock runs, per mille.
    skew: u64,
    is_alive: bool,
    paused_until: u64,
}

impl Member {
    fn local(&self, now: u64) -> Instant {
        Instant(now / 1_000 * self.skew)
    }

    fn deadline(&self) -> u64 {
        (self.detector.deadline().0.div_ceil(self.skew) * 1_000).max(self.paused_until)
    }
}

struct World {
    prng: Prng,
    now: u64,
    order: u64,
    digest: u64,
    config: DetectorConfig,
    failure: Failure,
    victim: NodeId,
    other: NodeId,
    delay_max: u64,
    members: BTreeMap<NodeId, Member>,
    deliveries: BinaryHeap<Reverse<(u64, u64)>>,
    waiting: BTreeMap<u64, Delivery>,
    cut: BTreeSet<(NodeId, NodeId)>,
    views: Vec<Arc<View>>,
    changed_at: Option<u64>,
}

/// Runs one seed.
#[must_use]
pub fn run_detect_seed(seed: u64) -> DetectOutcome {
    let mut world = World::new(seed);
    let failure = world.run().err();
    DetectOutcome {
        failure,
        story: format!("{:?} of node {} ({} members)", world.failure, world.victim, world.members.len()),
        detection_us: world.changed_at.map(|at| (at - FAILURE_AT) / MICROSECOND),
        digest: world.digest,
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let data_nodes = if prng.chance(1, 2) { 2 } else { 4 };
        let config = if prng.chance(1, 2) { DetectorConfig::DEFAULT } else { DetectorConfig::LAN };
        let mut nodes: Vec<NodeInfo> = (1..=data_nodes).map(data_node).collect();
        nodes.push(node(MANAGEMENT.0, NodeRole::Management));
        let view = Arc::new(View::first(GroupId(1), nodes.clone(), 2, SlotSizes::least(2)));
        let victim = NodeId(1 + u16::try_from(prng.below(u64::from(data_nodes))).unwrap_or(0));
        let other = NodeId(victim.0 % data_nodes + 1);
        let failure = FAILURES[prng.index(FAILURES.len())];
        let interval = u64::try_from(config.interval.as_nanos()).unwrap_or(u64::MAX);
        let delay_max = [200 * MICROSECOND, interval / 2, interval * 3 / 2][prng.index(3)];
        let mut members = BTreeMap::new();
        for info in &nodes {
            let skew = 993 + prng.below(15);
            let detector = Detector::new(info.node, info.incarnation, config, Arc::clone(&view), Instant(0));
            members.insert(info.node, Member { detector, skew, is_alive: true, paused_until: 0 });
        }
        let mut world = Self {
            prng,
            now: 0,
            order: 0,
            digest: 0,
            config,
            failure,
            victim,
            other,
            delay_max,
            members,
            deliveries: BinaryHeap::new(),
            waiting: BTreeMap::new(),
            cut: BTreeSet::new(),
            views: vec![view],
            changed_at: None,
        };
        world.later(FAILURE_AT, Delivery::Failure);
        world
    }

    fn run(&mut self) -> Result<(), String> {
        while self.now < END {
            self.step();
            self.check_leases()?;
        }
        self.check_end()
    }

    fn later(&mut self, delay: u64, delivery: Delivery) {
        self.order += 1;
        self.deliveries.push(Reverse((self.now + delay, self.order)));
        self.waiting.insert(self.order, delivery);
    }

    fn step(&mut self) {
        let alive = self.members.iter().filter(|(_, member)| member.is_alive);
        let timer = alive.map(|(node, member)| (member.deadline(), *node)).min();
        let delivery = self.deliveries.peek().map(|Reverse(timed)| *timed);
        match (timer, delivery) {
            (Some((at, node)), delivery) if delivery.is_none_or(|(later, _)| at < later) => {
                self.now = self.now.max(at);
                self.handle(node, |detector, now, outputs| detector.on_deadline(now, outputs));
            }
            (_, Some((at, order))) => {
                self.now = self.now.max(at);
                self.deliveries.pop();
                if let Some(delivery) = self.waiting.remove(&order) {
                    self.deliver(delivery);
                }
            }
            (_, None) => self.now = END,
        }
    }

    fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Heartbeat { from, to, bytes } => {
                let wait = self.members[&to].paused_until.saturating_sub(self.now);
                if wait > 0 {
                    return self.later(wait, Delivery::Heartbeat { from, to, bytes });
                }
                let Ok(heartbeat) = from_bytes::<Heartbeat>(&bytes) else { return };
                let life = Incarnation(u32::from(from.0));
                self.handle(to, |detector, now, outputs| {
                    detector.on_heartbeat(now, from, life, heartbeat, outputs);
                });
            }
            Delivery::View { to, view } => self.handle(to, |detector, now, _| detector.install(now, view)),
            Delivery::Closed { at, node } => {
                self.handle(at, |detector, now, outputs| detector.on_link_down(now, node, outputs));
            }
            Delivery::Farewell { at, node } => {
                let life = Incarnation(u32::from(node.0));
                self.handle(at, |detector, now, outputs| detector.on_proved_dead(now, node, life, outputs));
            }
            Delivery::Propose { from, leavers } => self.decide(from, &leavers),
            Delivery::Failure => self.fail(),
            Delivery::Mend => self.cut.clear(),
        }
    }

    fn handle(&mut self, node: NodeId, input: impl FnOnce(&mut Detector, Instant, &mut DetectorOutputs)) {
        let now = self.now;
        let Some(member) = self.members.get_mut(&node).filter(|member| member.is_alive) else { return };
        let mut outputs = DetectorOutputs::default();
        let local = member.local(now);
        input(&mut member.detector, local, &mut outputs);
        let view = member.detector.view().0;
        for (to, heartbeat) in outputs.heartbeats {
            if !self.cut.contains(&(node, to)) {
                let delay = 20 * MICROSECOND + self.prng.below(self.delay_max);
                self.later(delay, Delivery::Heartbeat { from: node, to, bytes: to_bytes(&heartbeat) });
            }
        }
        let reaches = |to: NodeId| !self.cut.contains(&(node, to)) && !self.cut.contains(&(to, node));
        if let Some(leavers) = outputs.leavers
            && reaches(MANAGEMENT)
        {
            let line = format!("{now} {node} {leavers:?}");
            self.digest = stdx::hash64(&[self.digest.to_le_bytes().as_slice(), line.as_bytes()].concat());
            let delay = MILLISECOND + self.prng.below(4 * MILLISECOND);
            self.later(delay, Delivery::Propose { from: view, leavers });
        } else if outputs.behind.is_some()
            && let Some(newest) = self.views.last().cloned()
            && newest.number.0 > view
        {
            let delay = 100 * MICROSECOND + self.prng.below(MILLISECOND);
            self.later(delay, Delivery::View { to: node, view: newest });
        }
    }

    /// The oracle: the first proposal from a view wins.
    fn decide(&mut self, from: u64, leavers: &[NodeId]) {
        let Some(newest) = self.views.last().filter(|newest| newest.number.0 == from) else { return };
        let Some(next) = succession::without(newest, leavers).map(Arc::new) else { return };
        self.changed_at.get_or_insert(self.now);
        self.views.push(Arc::clone(&next));
        let nodes: Vec<NodeId> = self.members.keys().copied().collect();
        for to in nodes {
            if !self.cut.contains(&(MANAGEMENT, to)) {
                let delay = 100 * MICROSECOND + self.prng.below(MILLISECOND);
                self.later(delay, Delivery::View { to, view: Arc::clone(&next) });
            }
        }
    }

    fn fail(&mut self) {
        let victim = self.victim;
        let others: Vec<NodeId> = self.members.keys().copied().filter(|node| *node != victim).collect();
        let silence =
            u64::try_from(self.config.interval.as_nanos()).unwrap_or(0) * u64::from(self.config.misses);
        match self.failure {
            Failure::None => {}
            Failure::Killed | Failure::Farewell | Failure::Silent => {
                if let Some(member) = self.members.get_mut(&victim) {
                    member.is_alive = false;
                }
                for at in others {
                    let delay = self.prng.below(2 * MILLISECOND);
                    if self.failure == Failure::Killed {
                        self.later(delay, Delivery::Closed { at, node: victim });
                    } else if self.failure == Failure::Farewell {
                        self.later(delay, Delivery::Farewell { at, node: victim });
                    }
                }
            }
            Failure::ShortPause | Failure::LongPause => {
                let wait = if self.failure == Failure::ShortPause { silence / 4 } else { silence * 3 };
                if let Some(member) = self.members.get_mut(&victim) {
                    member.paused_until = self.now + wait;
                }
            }
            Failure::OthersPause => {
                for node in others {
                    if let Some(member) = self.members.get_mut(&node) {
                        member.paused_until = self.now + silence * 3;
                    }
                }
            }
            Failure::Deaf => self.cut.extend(others.iter().map(|node| (*node, victim))),
            Failure::Mute => self.cut.extend(others.iter().map(|node| (victim, *node))),
            Failure::WitnessCut => self.cut.extend([(victim, MANAGEMENT), (MANAGEMENT, victim)]),
            Failure::PairCut | Failure::Flap => {
                self.cut.extend([(victim, self.other), (self.other, victim)]);
                if self.failure == Failure::Flap {
                    self.later(silence, Delivery::Mend);
                }
            }
        }
    }

    // ---- what must hold ---------------------------------------------------------------------------------------------

    /// A node that may read has grants that run, by the clocks of the granters.
    fn check_leases(&self) -> Result<(), String> {
        for (holder, member) in &self.members {
            let is_running = member.is_alive && member.paused_until <= self.now;
            if !is_running || !member.detector.may_read(member.local(self.now)) {
                continue;
            }
            for (granter, other) in self.members.iter().filter(|(node, _)| *node != holder) {
                let is_in_sync = self.views.iter().any(|view| {
                    view.number == member.detector.view()
                        && view.groups.iter().any(|group| group.in_sync.contains(granter))
                });
                if is_in_sync
                    && other.is_alive
                    && other.detector.granted_until(*holder) <= other.local(self.now)
                {
                    return Err(format!(
                        "{} us: node {holder} reads, node {granter} says it may not",
                        self.now / 1_000
                    ));
                }
            }
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), String> {
        let newest = self.views.last().ok_or("no view")?;
        let in_sync = |node: NodeId| newest.groups.iter().any(|group| group.in_sync.contains(&node));
        let gone: Vec<NodeId> =
            self.members.keys().copied().filter(|node| *node != MANAGEMENT && !in_sync(*node)).collect();
        let expected = match self.failure {
            Failure::None
            | Failure::ShortPause
            | Failure::Flap
            | Failure::WitnessCut
            | Failure::OthersPause => Vec::new(),
            Failure::Killed
            | Failure::Farewell
            | Failure::Silent
            | Failure::LongPause
            | Failure::Deaf
            | Failure::Mute => vec![self.victim],
            Failure::PairCut => vec![self.victim.max(self.other)],
        };
        if gone != expected {
            return Err(format!("{gone:?} left, {expected:?} should have"));
        }
        let writes = |member: &Member| member.detector.writable_at() <= member.local(self.now);
        let stays = self.members.iter().filter(|(node, _)| in_sync(**node));
        for (node, member) in stays {
            if member.detector.view() != newest.number || !writes(member) {
                return Err(format!("node {node} is not well in the end"));
            }
            // A grant comes back within two intervals and a round trip: slow messages let leases lapse, and reads wait.
            let is_fast = self.delay_max < MILLISECOND;
            if is_fast && !member.detector.may_read(member.local(self.now)) {
                return Err(format!("node {node} may not read in the end"));
            }
        }
        self.check_time()
    }

    /// How long a failure may go unnoticed.
    fn check_time(&self) -> Result<(), String> {
        let silence =
            u64::try_from(self.config.interval.as_nanos()).unwrap_or(0) * u64::from(self.config.misses);
        let slack = 4 * self.delay_max + 40 * MILLISECOND;
        let limit = match self.failure {
            Failure::None
            | Failure::ShortPause
            | Failure::Flap
            | Failure::WitnessCut
            | Failure::OthersPause => return Ok(()),
            Failure::Killed | Failure::Farewell => slack,
            // Nobody hears it: as long as it may be silent, and a heartbeat to say so.
            Failure::Silent | Failure::LongPause | Failure::Mute | Failure::Deaf => silence * 5 / 4 + slack,
            // Somebody does: once more as long.
            Failure::PairCut => silence * 9 / 4 + slack,
        };
        let took = self.changed_at.map_or(u64::MAX, |at| at - FAILURE_AT);
        if took > limit {
            return Err(format!("it took {} us, at most {} us allowed", took / 1_000, limit / 1_000));
        }
        Ok(())
    }
}
