//! Kinds of scenario in which one thing happens for certain; the rest is what the seed means anyway.
//!
//! Each kind has a topic of its own: what a seed means in one kind does not depend on the others.

use super::draw::Topic;
use super::{Fault, HUNG_WORK_MS, MEMORY_ENOUGH, MEMORY_SMALL, SQL_NODE, Scenario};
use crate::world::{CHOKED_AFTER_MS, Disruption, FaultPoint, MANAGEMENT, Step};
use types::NodeId;

/// Signals with which a transaction ends, or with which replicas ask each other when its coordinator or a primary is
/// lost.
const COMMIT_SIGNALS: [&str; 12] = [
    "Coordinate",
    "Prepare",
    "Prepared",
    "Outcome",
    "OutcomeRecorded",
    "Replicate",
    "Applied",
    "Decided",
    "CommitDone",
    "Gather",
    "RecoveryReport",
    "CopyPiece",
];
/// A primary sends these when a commit is acknowledged, before the other replicas have heard of that.
const ACKNOWLEDGED_SIGNALS: [&str; 4] = ["WriteDone", "CommitDone", "Decided", "Outcome"];
/// Memory with which a node can begin, and not hold much.
const MEMORY_SCANT: [u64; 4] = [128 << 10, 384 << 10, 1 << 20, 2 << 20];
/// Crashes at a signal.
const CRASHES: [Step; 3] = [Step::CrashBeforeSend, Step::CrashAfterSend, Step::CrashOnReceive];

/// A kind makes a scenario of a seed; `None` if the seed's cluster is too small for it.
type Kind = fn(u64) -> Option<Scenario>;

/// All kinds, by the names that `cargo xtask simulate --kind` takes.
pub const KINDS: [(&str, Kind); 13] = [
    ("any", |seed| Some(Scenario::from_seed(seed))),
    ("held", |seed| Some(Scenario::held(seed))),
    ("granted", |seed| Some(Scenario::granted(seed))),
    ("joined", |seed| Some(Scenario::joined(seed))),
    ("locked", |seed| Some(Scenario::locked(seed))),
    ("paused", Scenario::paused),
    ("struck", |seed| Some(Scenario::struck(seed))),
    ("outage", |seed| Some(Scenario::outage(seed))),
    ("isolated", |seed| Some(Scenario::isolated(seed))),
    ("hung", |seed| Some(Scenario::hung(seed))),
    ("cramped", |seed| Some(Scenario::cramped(seed))),
    ("lost-voters", |seed| Some(Scenario::lost_voters(seed))),
    ("scant", |seed| Some(Scenario::scant(seed))),
];

impl Scenario {
    /// The scenario of a kind and a seed. `None` if there is no such kind, or none with this seed.
    #[must_use]
    pub fn of_kind(kind: &str, seed: u64) -> Option<Self> {
        let (_, make) = KINDS.iter().find(|(name, _)| *name == kind)?;
        make(seed)
    }

    /// Transactions that hold rows for long while the schema changes, and nothing else.
    #[must_use]
    pub fn held(seed: u64) -> Self {
        let mut scenario = Self::from_seed(seed);
        scenario.faults.clear();
        scenario.disruptions.clear();
        (scenario.is_planned, scenario.point, scenario.shape.late) = (false, None, None);
        scenario.shape.memory = scenario.shape.memory.max(MEMORY_SMALL * 2);
        (scenario.extras.killer, scenario.extras.cuts, scenario.extras.restarts) = (false, false, 0);
        scenario.changers = scenario.changers.max(1);
        scenario.draw_holders(&mut Topic::Holders.generator(seed));
        scenario
    }

    /// The cluster of this seed, with clients whose privilege comes and goes.
    #[must_use]
    pub fn granted(seed: u64) -> Self {
        let mut scenario = Self::from_seed(seed);
        scenario.extras.limited = 2 + seed % 3;
        scenario
    }

    /// The cluster of this seed, with clients that read and change several tables in one statement. Its data nodes have
    /// enough memory for that.
    #[must_use]
    pub fn joined(seed: u64) -> Self {
        let mut scenario = Self::from_seed(seed);
        scenario.shape.memory = scenario.shape.memory.max(MEMORY_ENOUGH);
        scenario.extras.joiners = 2 + seed % 3;
        scenario
    }

    /// The cluster of this seed, with clients that keep each other out; every other seed is one in which nothing goes
    /// wrong.
    #[must_use]
    pub fn locked(seed: u64) -> Self {
        let mut scenario = if seed.is_multiple_of(2) { Self::held(seed) } else { Self::from_seed(seed) };
        if seed.is_multiple_of(2) {
            scenario.extras.holders = None;
            scenario.extras.sleeper = false;
        }
        scenario.extras.lockers = 3 + seed % 4;
        scenario
    }

    /// The cluster of this seed, with [`Self::draw_pauses`]; None if it has no second replica.
    #[must_use]
    pub fn paused(seed: u64) -> Option<Self> {
        let mut scenario = Self::from_seed(seed);
        if scenario.shape.replicas < 2 {
            return None;
        }
        scenario.draw_pauses(&mut Topic::Pauses.generator(seed));
        Some(scenario)
    }

    /// The meaning of this seed with replicas, transactions over several slots, and a crash at a signal of the commit
    /// or the takeover.
    #[must_use]
    pub fn struck(seed: u64) -> Self {
        let mut scenario = Self::from_seed(seed);
        let mut prng = Topic::Struck.generator(seed);
        if scenario.shape.replicas < 2 {
            (scenario.shape.data_nodes, scenario.shape.replicas) = (4, 2);
        }
        scenario.banks = scenario.banks.max(2);
        scenario.lists = scenario.lists.max(1);
        scenario.disruptions.clear();
        if prng.chance(1, 2) {
            scenario.faults.clear();
        }
        scenario.is_planned = false;
        let signal = COMMIT_SIGNALS[prng.index(COMMIT_SIGNALS.len())];
        scenario.add_point(signal, CRASHES[prng.index(CRASHES.len())]);
        scenario
    }

    /// A cluster with replicas and transactions over several slots whose management node is away while a data node dies
    /// or is cut off.
    #[must_use]
    pub fn outage(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        (scenario.banks, scenario.shape.late) = (scenario.banks.max(2), None);
        scenario.draw_outage(&mut Topic::Outage.generator(seed));
        scenario
    }

    /// Nothing but single-row statements through all nodes, and a data node that lives, all of whose connections break
    /// at once and stay broken. It is left out, and its clients may still be answered until its leases are over.
    #[must_use]
    pub fn isolated(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Topic::Isolated.generator(seed);
        (scenario.lists, scenario.banks, scenario.changers) = (0, 0, 0);
        scenario.registers = 4 + prng.below(5);
        let nodes = (1..=scenario.shape.data_nodes).map(NodeId);
        let sql_nodes = (0..scenario.shape.sql_nodes).map(|index| NodeId(SQL_NODE.0 + index));
        let all: Vec<NodeId> = nodes.chain(sql_nodes).chain([MANAGEMENT]).collect();
        let mut at = 20 + prng.below(100);
        for _ in 0..1 + prng.below(3) {
            let node = scenario.any_data_node(&mut prng);
            let time = (20 + prng.below(600)) * 1_000_000;
            for other in all.iter().copied().filter(|other| *other != node) {
                scenario.disruptions.push((at, Disruption::Reset { one: node, other, time }));
            }
            at += time / 1_000_000 + prng.below(1_000);
        }
        scenario
    }

    /// Data nodes hang for longer than anybody may wait for them: their heartbeats go on, and they answer nothing.
    #[must_use]
    pub fn hung(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Topic::Hung.generator(seed);
        let (data_nodes, replicas) = (u64::from(scenario.shape.data_nodes), scenario.shape.replicas);
        let first = prng.below(data_nodes);
        // Never all replicas of a group, nor a majority of the voters' hosts.
        let count = if replicas > 2 && prng.chance(1, 2) { 2 } else { 1 };
        let at = 1 + prng.below(150);
        for number in 0..count {
            let node = NodeId(u16::try_from(1 + (first + number) % data_nodes).unwrap_or(1));
            let wait = at + if prng.chance(1, 2) { 0 } else { prng.below(2_000) };
            scenario.disruptions.push((wait, Disruption::Hang { node, time: 2 * HUNG_WORK_MS * 1_000_000 }));
        }
        // The connections of a node that hangs may close too, but not if two hang: the one whose connections close
        // might then get the last working replica left out. A real node's watchdog ends a node that hangs before that;
        // the simulator has no watchdog.
        if prng.chance(1, 2) && count == 1 {
            let choke = |(wait, disruption): &(u64, Disruption)| {
                let Disruption::Hang { node, .. } = *disruption else { return None };
                Some((wait + CHOKED_AFTER_MS, Disruption::Choke { node }))
            };
            let chokes: Vec<_> = scenario.disruptions.iter().filter_map(choke).collect();
            scenario.disruptions.extend(chokes);
        }
        scenario
    }

    #[must_use]
    pub fn cramped(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Topic::Cramped.generator(seed);
        scenario.shape.memory = MEMORY_ENOUGH;
        scenario.shape.cramped = Some(scenario.any_data_node(&mut prng));
        (scenario.banks, scenario.lists) = (scenario.banks.max(2), scenario.lists.max(2));
        scenario
    }

    /// A majority of the voters is lost, the management node among them, with their disks or for long, and a member of
    /// each group lives. An operator orders to go on, at one node or two at once, and again later; what was lost comes
    /// back empty or with its old disk.
    #[must_use]
    pub fn lost_voters(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Topic::LostVoters.generator(seed);
        scenario.shape.late = None;
        scenario.shape.memory = MEMORY_ENOUGH;
        (scenario.extras.restarts, scenario.extras.cuts, scenario.extras.killer) = (0, false, false);
        (scenario.changers, scenario.extras.name_readers) = (0, 0);
        (scenario.registers, scenario.banks) = (scenario.registers.max(2), scenario.banks.max(2));
        let odd = prng.chance(1, 2);
        let (gone, survivor): (&[u16], u16) = match (scenario.shape.data_nodes, odd) {
            (4, true) => (&[1, 3], 2),
            (4, false) => (&[2, 3], 4),
            (_, true) => (&[1], 2),
            (_, false) => (&[2], 1),
        };
        scenario.lost = gone.iter().copied().map(NodeId).chain([MANAGEMENT]).collect();
        let is_old = prng.chance(1, 3);
        let lose = |node: NodeId| if is_old { Fault::Kill(node) } else { Fault::Lose(node) };
        let (mut faults, mut wait) = (Vec::new(), 1 + prng.below(25));
        for node in &scenario.lost {
            faults.push((wait, lose(*node)));
            wait = prng.below(4);
        }
        let survivor = NodeId(survivor);
        if is_old {
            faults.push((500 + prng.below(6_000), Fault::Recover(survivor)));
            faults.push((prng.below(20), Fault::Start(MANAGEMENT)));
        } else {
            faults.push((500 + prng.below(6_000), Fault::Start(MANAGEMENT)));
            faults.push((prng.below(1_000), Fault::Recover(MANAGEMENT)));
        }
        faults.push((prng.below(20), Fault::Recover(survivor)));
        // Orders that came too early, or while a connection broke, are refused: the operator gives them again.
        for _ in 0..3 {
            faults.push((2_000 + prng.below(2_000), Fault::Recover(survivor)));
        }
        for node in gone {
            faults.push((prng.below(1_000), Fault::Start(NodeId(*node))));
        }
        scenario.faults = faults;
        scenario
    }

    /// Three replicas. A node dies when it has acknowledged a commit, before the others know, and comes back at once
    /// with little memory; the third stands still meanwhile. So what the second replicates again reaches the first
    /// while it joins.
    #[must_use]
    pub fn scant(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Topic::Scant.generator(seed);
        (scenario.shape.data_nodes, scenario.shape.replicas) = (3, 3);
        (scenario.shape.memory, scenario.shape.late) = (MEMORY_ENOUGH, None);
        scenario.shape.scant = Some(MEMORY_SCANT[prng.index(MEMORY_SCANT.len())]);
        (scenario.registers, scenario.lists) = (scenario.registers.max(3), scenario.lists.max(2));
        let signal = ACKNOWLEDGED_SIGNALS[prng.index(ACKNOWLEDGED_SIGNALS.len())];
        let step = if prng.chance(1, 2) { Step::CrashAfterSend } else { Step::CrashBeforeSend };
        let (skip, restart_ms) = (prng.below(200), 1 + prng.below(4));
        // The one without a vote: the takeover waits for it, and the next view does not.
        let pause = Some((NodeId(3), 60 + prng.below(120)));
        scenario.point = Some(FaultPoint { signal, step, skip, restart_ms, pause });
        scenario
    }

    /// The meaning of this seed with replicas and without anything that goes wrong.
    fn replicated(seed: u64) -> Self {
        let mut scenario = Self::from_seed(seed);
        if scenario.shape.replicas < 2 {
            (scenario.shape.data_nodes, scenario.shape.replicas) = (2, 2);
        }
        scenario.faults.clear();
        scenario.disruptions.clear();
        scenario.point = None;
        scenario.is_planned = false;
        scenario
    }
}
