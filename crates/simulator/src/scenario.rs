//! A seed becomes a cluster, a workload and faults; the run is judged.
//!
//! Phases: the cluster starts; tables are made; clients work (and nodes, connections and statements end among them: the survivors take over, and
//! every client goes on); when all clients have ended, everything is read back and checked; at last nothing may be left over: no open
//! transaction, lock, wait or undecided row, and all replicas of a slot are equal.
//!
//! Half of the seeds are plain; the other half has extras: workloads that collide on unique keys, kills, broken connections, small memory,
//! tiny slices, an SQL node that dies and comes back or joins late.

use crate::check::{cluster, isolation, linearizable};
use crate::client::{Client, Script};
use crate::workload::bank::{ACCOUNT_COUNT, Bank, FIRST_BALANCE};
use crate::workload::disturbance::{Killer, Sleeper};
use crate::workload::flips::{Fact, Flipper, Onlooker};
use crate::workload::holders::{Hold, Holder};
use crate::workload::lists::Lists;
use crate::workload::locks::Locker;
use crate::workload::numbers::Numbers;
use crate::workload::registers::{Event, KEY_COUNT, Operation, Registers};
use crate::workload::schema::{RowChanger, SchemaChanger};
use crate::workload::setup::Setup;
use crate::workload::uniques::{self, Uniques};
use crate::world::{
    CHOKED_AFTER_MS, Disruption, FaultPoint, HAND_OVER_SIGNALS, MANAGEMENT, MARKER_TIME, SIGNALS, STEPS,
    Shape, Step, World,
};
use protocol::signal::LeaveStep;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use stdx::Prng;
use transaction::Sizes;
use types::NodeId;

/// Virtual milliseconds that a cluster may take to start.
const START_MS: u64 = 20_000;
/// Virtual milliseconds that a workload may take.
const WORK_MS: u64 = 120_000;
/// The same if nodes hang: for ten seconds after their start all are spared, then one leaves, and ten seconds later the next.
const HUNG_WORK_MS: u64 = 45_000;
/// Two nodes that hang do not leave within so many virtual nanoseconds: a pause of ten seconds, on clocks that differ.
const LEAVE_PAUSE: u64 = 9_500_000_000;
/// Memory of a data node that is small for what the clients do.
const MEMORY_SMALL: u64 = 4 << 20;
/// The first SQL node.
const SQL_NODE: NodeId = NodeId(67);
/// Virtual milliseconds after which a fault is over and everybody knows what came of it.
const FAULT_MS: u64 = 8_000;
/// What is said when a transaction ends, and when its coordinator or a primary is lost.
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
/// A primary says these when a commit is acknowledged, before the other replicas have heard of that.
const ACKNOWLEDGED_SIGNALS: [&str; 4] = ["WriteDone", "CommitDone", "Decided", "Outcome"];
/// Memory with which a node can begin, and not hold much.
const MEMORY_SCANT: [u64; 4] = [128 << 10, 384 << 10, 1 << 20, 2 << 20];
/// Crashes at a signal.
const CRASHES: [Step; 3] = [Step::CrashBeforeSend, Step::CrashAfterSend, Step::CrashOnReceive];
/// Lines of transcript kept for a failure.
const LINES_KEPT: usize = 400;

/// What a seed became.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed.
    pub seed: u64,
    /// The cluster.
    pub shape: Shape,
    /// Clients of each workload.
    pub registers: u64,
    /// Clients of each workload.
    pub lists: u64,
    /// Clients of each workload.
    pub banks: u64,
    /// Clients that change rows while the schema changes; 0: the schema does not change.
    pub changers: u64,
    /// Rounds of schema changes; after an odd number there is an index.
    pub rounds: u32,
    /// The schema is changed through the last node, an SQL node if there is one, not through the first.
    pub changes_through_last: bool,
    /// What happens to data nodes while clients work, each some virtual milliseconds after the one before.
    pub faults: Vec<(u64, Fault)>,
    /// Nodes that are lost for good, as an operator says.
    pub lost: Vec<NodeId>,
    /// Nothing happens but what operators plan: no statement may fail for it.
    pub is_planned: bool,
    /// Disruptions that end by themselves, each at its virtual millisecond of the work.
    pub disruptions: Vec<(u64, Disruption)>,
    /// Something goes wrong at a signal.
    pub point: Option<FaultPoint>,
    /// What else there is.
    pub extras: Extras,
}

/// What happens to a data node.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It dies, if its group keeps a member in sync.
    Crash(NodeId),
    /// It starts as another life, if it is dead.
    Start(NodeId),
    /// It hands its primaries over.
    HandOver(NodeId),
    /// It gets its share of primaries again.
    Stay(NodeId),
    /// It is asked to stop, if its group keeps a member in sync.
    Stop(NodeId),
    /// It is gone with its disk, whatever is left.
    Lose(NodeId),
    /// Its process is gone, whatever is left; its disk stays.
    Kill(NodeId),
    /// An operator of this node orders that the control log goes on without those that the scenario has lost.
    Recover(NodeId),
}

/// What half of the seeds have.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Clients of the table with a unique key.
    pub uniques: u64,
    /// Clients that insert rows with values that the cluster gives out.
    pub numbers: u64,
    /// Clients that read a table while it is renamed; 0: it is not.
    pub name_readers: u64,
    /// Clients of an account whose privilege comes and goes; 0: it does not.
    pub limited: u64,
    /// A client kills statements and connections.
    pub killer: bool,
    /// A client sits on locks, and others wait for a second at most.
    pub sleeper: bool,
    /// Clients' connections break at any time.
    pub cuts: bool,
    /// The SQL node dies and starts again, this often.
    pub restarts: u64,
    /// Nanoseconds that clients of the bank may think inside a transfer.
    pub think_max: u64,
    /// Clients that hold rows for long while the schema changes, and which.
    pub holders: Option<(u64, Hold)>,
    /// Clients that keep each other out by locks.
    pub lockers: u64,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What is wrong, if anything.
    pub failure: Option<String>,
    /// Depends on everything that happened.
    pub digest: u64,
    /// Steps taken.
    pub steps: u64,
    /// Virtual nanoseconds.
    pub virtual_time: u64,
    /// What was done to the cluster, and how often.
    pub injected: BTreeMap<&'static str, u64>,
    /// The point at which something should go wrong, and whether it did.
    pub point: Option<(FaultPoint, bool)>,
    /// The last lines of the transcript.
    pub tail: String,
}

impl Scenario {
    /// What this seed means.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut prng = Prng::new(seed ^ 0x5ce4_a210);
        let (data_nodes, replicas) =
            [(2, 2), (2, 2), (2, 2), (1, 1), (3, 3), (4, 2), (4, 4), (2, 1)][prng.index(8)];
        let thread_config = [
            "recv={count=1}",
            "recv={count=2}",
            "ldm={count=1},recv={count=1}",
            "ldm={count=2},tc={count=1},recv={count=2},main={count=1}",
        ][prng.index(4)];
        let shape = Shape {
            data_nodes,
            replicas,
            partitions_per_node: 1 + prng.index(3),
            sql_nodes: u16::from(prng.chance(1, 3)),
            thread_config: thread_config.to_owned(),
            memory: 64 << 20,
            delay_max_us: [100, 1_000, 20_000][prng.index(3)],
            budget_max: 200,
            sizes: Sizes::DEFAULT,
            late: None,
            cramped: None,
            scant: None,
        };
        let faults = Self::draw_faults(&mut prng, data_nodes, replicas);
        let mut scenario = Self {
            seed,
            shape,
            registers: prng.below(4),
            lists: prng.below(4),
            banks: prng.below(4),
            changers: if prng.chance(1, 3) { 1 + prng.below(3) } else { 0 },
            rounds: 4,
            changes_through_last: false,
            faults,
            lost: Vec::new(),
            is_planned: false,
            disruptions: Vec::new(),
            point: None,
            extras: Extras::default(),
        };
        if prng.chance(1, 2) {
            scenario.add_extras(&mut prng);
        }
        if scenario.faults.is_empty() && replicas > 1 && prng.chance(1, 3) {
            scenario.draw_disruptions(&mut prng);
        }
        // (A generator of its own: what seeds meant before is not drawn anew.)
        let mut prng = Prng::new(seed ^ 0x51e4_b007);
        if replicas > 1 && prng.chance(1, 6) {
            scenario.draw_slowness(&mut prng);
        }
        if replicas > 1 && prng.chance(1, 10) {
            scenario.draw_pauses(&mut prng);
        }
        // Drawn by another generator: what seeds meant before they had these stays.
        let mut prng = Prng::new(seed ^ 0x7e5e_7000);
        if prng.chance(1, 3) {
            scenario.draw_resets(&mut prng);
        }
        if replicas > 1 && scenario.shape.late.is_none() && prng.chance(1, 24) {
            scenario.draw_outage(&mut prng);
        }
        let mut prng = Prng::new(seed ^ 0x7417_0b57);
        if prng.chance(1, 10) {
            scenario.draw_bursts(&mut prng);
        }
        if scenario.shape.sql_nodes > 0 && replicas > 1 && prng.chance(1, 4) {
            scenario.draw_succession(&mut prng);
        }
        let mut prng = Prng::new(seed ^ 0xddd1_0000);
        scenario.rounds += u32::from(prng.chance(1, 2));
        if prng.chance(1, 3) {
            scenario.changes_through_last = true;
        }
        if prng.chance(1, 3) {
            scenario.extras.numbers = 1 + prng.below(4);
        }
        let mut prng = Prng::new(seed ^ 0x1a66_a4d0);
        if replicas > 1 && prng.chance(1, 24) {
            scenario.draw_hang(&mut prng);
        }
        // Drawn apart, so that it does not change what else a seed means.
        let mut prng = Prng::new(seed ^ 0x00fa_0175);
        if prng.chance(1, 4) {
            let (signal, step) = (SIGNALS[prng.index(SIGNALS.len())], STEPS[prng.index(STEPS.len())]);
            scenario.add_point(signal, step);
        }
        if replicas > 1 && Prng::new(seed ^ 0x0a4d_0fe5).chance(1, 2) {
            scenario.draw_hand_overs();
        }
        let mut prng = Prng::new(seed ^ 0x0512_e500);
        if prng.chance(1, 3) {
            let at_once = [1, 2, 8][prng.index(3)];
            scenario.shape.sizes = Sizes { at_once, ahead_rows: at_once * [1, 4, 1_000][prng.index(3)] };
        }
        let mut prng = Prng::new(seed ^ 0x401d_e250);
        if scenario.changers > 0 && prng.chance(1, 2) {
            scenario.extras.holders = Some((1 + prng.below(3), Hold::drawn(&mut prng)));
        }
        scenario
    }

    /// Nothing happens that could keep a statement from being done.
    fn is_calm(&self) -> bool {
        let extras = &self.extras;
        let is_disturbed = extras.killer || extras.cuts || extras.restarts > 0 || self.shape.late.is_some();
        let is_small = self.shape.memory <= MEMORY_SMALL || self.shape.cramped.is_some();
        let is_faulty = !self.faults.is_empty() || !self.disruptions.is_empty() || self.point.is_some();
        !is_disturbed && !is_small && !is_faulty
    }

    /// Transactions that hold rows for long while the schema changes, and nothing else.
    #[must_use]
    pub fn held(seed: u64) -> Self {
        let mut scenario = Self::from_seed(seed);
        let mut prng = Prng::new(seed ^ 0x401d_e251);
        scenario.faults.clear();
        scenario.disruptions.clear();
        (scenario.is_planned, scenario.point, scenario.shape.late) = (false, None, None);
        scenario.shape.memory = scenario.shape.memory.max(MEMORY_SMALL * 2);
        (scenario.extras.killer, scenario.extras.cuts, scenario.extras.restarts) = (false, false, 0);
        scenario.changers = scenario.changers.max(1);
        scenario.extras.holders = Some((1 + prng.below(3), Hold::drawn(&mut prng)));
        scenario
    }

    /// The cluster of this seed, with clients whose privilege comes and goes. (A world of its own: what other seeds mean stays.)
    #[must_use]
    pub fn granted(seed: u64) -> Self {
        let mut scenario = Self::from_seed(seed);
        scenario.extras.limited = 2 + seed % 3;
        scenario
    }

    /// The cluster of this seed, with clients that keep each other out; every other seed is one in which nothing goes wrong.
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
        scenario.draw_pauses(&mut Prng::new(seed));
        Some(scenario)
    }

    /// Connections break between nodes that live, those of SQL nodes too, and are there again before anybody is left out for that. Links of an
    /// SQL node are cut for longer, too: it is left out by nobody.
    fn draw_resets(&mut self, prng: &mut Prng) {
        let mut nodes: Vec<NodeId> = (1..=self.shape.data_nodes).map(NodeId).collect();
        nodes.extend((0..self.shape.sql_nodes).map(|index| NodeId(SQL_NODE.0 + index)));
        nodes.push(MANAGEMENT);
        for _ in 0..1 + prng.below(6) {
            let (one, other) = (nodes[prng.index(nodes.len())], nodes[prng.index(nodes.len())]);
            let after = 1 + prng.below(200);
            let is_of_sql = one == SQL_NODE || other == SQL_NODE;
            if one == other {
                continue;
            }
            let disruption = if is_of_sql && prng.chance(1, 3) {
                Disruption::Cut {
                    from: one,
                    to: other,
                    is_both_ways: true,
                    time: (1 + prng.below(5_000)) * 1_000_000,
                }
            } else {
                Disruption::Reset { one, other, time: (1 + prng.below(60)) * 1_000_000 }
            };
            self.disruptions.push((after, disruption));
        }
    }

    /// Clients think inside transactions, and meanwhile a connection breaks twice or more.
    fn draw_bursts(&mut self, prng: &mut Prng) {
        (self.extras.think_max, self.shape.partitions_per_node) = (150_000_000, 1);
        self.banks = self.banks.max(3);
        let last = if self.shape.sql_nodes > 0 { SQL_NODE } else { NodeId(self.shape.data_nodes) };
        let mut at = 1 + prng.below(50);
        for _ in 0..1 + prng.below(4) {
            let other = NodeId(u16::try_from(1 + prng.below(u64::from(self.shape.data_nodes))).unwrap_or(1));
            for _ in 0..2 + prng.below(2) {
                let reset = Disruption::Reset { one: last, other, time: (1 + prng.below(8)) * 1_000_000 };
                self.disruptions.extend((last != other).then_some((at, reset)));
                at += 5 + prng.below(15);
            }
            at += prng.below(100);
        }
    }

    /// A node starts again while the SQL node is cut from its companion, and when it is in sync the companion dies: it has to know what that one knew.
    fn draw_succession(&mut self, prng: &mut Prng) {
        self.disruptions.clear();
        let (first, second) = [(NodeId(1), NodeId(2)), (NodeId(2), NodeId(1))][prng.index(2)];
        let (first, second) = if self.shape.replicas < usize::from(self.shape.data_nodes) {
            // Two groups: companions are next to each other in number.
            [(NodeId(1), NodeId(2)), (NodeId(3), NodeId(4))][prng.index(2)]
        } else {
            (first, second)
        };
        let crash_at = 5 + prng.below(60);
        let (start_after, cut_after) = (1 + prng.below(10), prng.below(30));
        let cut = Disruption::Cut {
            from: SQL_NODE,
            to: second,
            is_both_ways: true,
            time: (500 + prng.below(3_000)) * 1_000_000,
        };
        self.disruptions.push((crash_at + start_after + cut_after, cut));
        self.faults = vec![(crash_at, Fault::Crash(first)), (start_after, Fault::Start(first))];
        // (One that cannot be spared yet is not killed: tried again and again.)
        self.faults.extend((0..6).map(|_| (20 + prng.below(60), Fault::Crash(second))));
        self.faults.push((prng.below(500), Fault::Start(second)));
    }

    /// The management node is away for longer than anybody waits for a view, and a data node dies just then, or the links to it are cut for as long.
    fn draw_outage(&mut self, prng: &mut Prng) {
        let (at, time) = (1 + prng.below(150), (7_000 + prng.below(3_000)) * 1_000_000);
        self.disruptions.clear();
        self.faults.clear();
        self.disruptions.push((at, Disruption::Bounce { node: MANAGEMENT, time }));
        let victim = NodeId(u16::try_from(1 + prng.below(u64::from(self.shape.data_nodes))).unwrap_or(1));
        if prng.chance(1, 2) {
            self.faults.push((at + prng.below(20), Fault::Crash(victim)));
            self.faults.push((prng.below(9_000), Fault::Start(victim)));
            return;
        }
        let others: Vec<NodeId> =
            (1..=self.shape.data_nodes).map(NodeId).filter(|node| *node != victim).collect();
        let at = at + prng.below(20);
        for other in others {
            // Some outages begin with a connection that breaks, so that a view is under way.
            if prng.chance(1, 2) {
                let flap = Disruption::Reset { one: victim, other, time: 1_000_000 };
                self.disruptions.push((at.saturating_sub(1 + prng.below(20)), flap));
            }
            let cut = Disruption::Cut { from: victim, to: other, is_both_ways: true, time: 8_500_000_000 };
            self.disruptions.push((at, cut));
        }
    }

    /// What this seed means with replicas, transactions over several slots, and a crash at a signal of the commit or the takeover.
    #[must_use]
    pub fn struck(seed: u64) -> Self {
        let mut scenario = Self::from_seed(seed);
        let mut prng = Prng::new(seed ^ 0x00fa_0177);
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

    /// A cluster with replicas and transactions over several slots whose management node is away while a data node dies or is cut off.
    #[must_use]
    pub fn outage(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        (scenario.banks, scenario.shape.late) = (scenario.banks.max(2), None);
        scenario.draw_outage(&mut Prng::new(seed ^ 0x0a7a_6e01));
        scenario
    }

    /// Nothing but single-row statements through all nodes, and a data node that lives, all of whose connections break at once and stay broken: it is left
    /// out, and its clients may still be answered until its leases are over.
    #[must_use]
    pub fn isolated(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Prng::new(seed ^ 0x150_1a7e);
        (scenario.lists, scenario.banks, scenario.changers) = (0, 0, 0);
        scenario.registers = 4 + prng.below(5);
        let nodes = (1..=scenario.shape.data_nodes).map(NodeId);
        let sql_nodes = (0..scenario.shape.sql_nodes).map(|index| NodeId(SQL_NODE.0 + index));
        let all: Vec<NodeId> = nodes.chain(sql_nodes).chain([MANAGEMENT]).collect();
        let mut at = 20 + prng.below(100);
        for _ in 0..1 + prng.below(3) {
            let node =
                NodeId(u16::try_from(1 + prng.below(u64::from(scenario.shape.data_nodes))).unwrap_or(1));
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
        let mut prng = Prng::new(seed ^ 0x4a_46ed);
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
        if prng.chance(1, 2) {
            let choke = |(wait, disruption): &(u64, Disruption)| {
                let Disruption::Hang { node, .. } = *disruption else { return None };
                Some((wait + CHOKED_AFTER_MS, Disruption::Choke { node }))
            };
            let chokes: Vec<_> = scenario.disruptions.iter().filter_map(choke).collect();
            scenario.disruptions.extend(chokes);
        }
        scenario
    }

    /// Nodes hang for longer than clients work.
    fn is_hung(&self) -> bool {
        let is_long = |(_, disruption): &(u64, Disruption)| matches!(disruption, Disruption::Hang { time, .. } if *time > HUNG_WORK_MS * 1_000_000);
        self.disruptions.iter().any(is_long)
    }

    /// How many virtual milliseconds clients may take.
    fn work_ms(&self) -> u64 {
        if self.is_hung() { HUNG_WORK_MS } else { WORK_MS }
    }

    /// One data node has little memory, the others have enough: it refuses, as a backup too.
    #[must_use]
    pub fn cramped(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Prng::new(seed ^ 0xc4a_3bed);
        scenario.shape.memory = 64 << 20;
        let node = 1 + prng.below(u64::from(scenario.shape.data_nodes));
        scenario.shape.cramped = Some(NodeId(u16::try_from(node).unwrap_or(1)));
        (scenario.banks, scenario.lists) = (scenario.banks.max(2), scenario.lists.max(2));
        scenario
    }

    /// A majority of the voters is lost, the management node among them, with their disks or for long, and a member of each group lives. An operator orders
    /// to go on, at one node or two at once, and again later; what was lost comes back empty or with its old disk.
    #[must_use]
    pub fn lost_voters(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Prng::new(seed ^ 0x0107_7047);
        scenario.shape.late = None;
        scenario.shape.memory = 64 << 20;
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

    /// Three replicas. A node dies when it has acknowledged a commit, before the others know, and comes back at once with little memory; the third stands
    /// still meanwhile. So what the second replicates again reaches the first while it joins.
    #[must_use]
    pub fn scant(seed: u64) -> Self {
        let mut scenario = Self::replicated(seed);
        let mut prng = Prng::new(seed ^ 0x5ca_4701);
        (scenario.shape.data_nodes, scenario.shape.replicas) = (3, 3);
        (scenario.shape.memory, scenario.shape.late) = (64 << 20, None);
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

    /// What this seed means with replicas and without anything that goes wrong.
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

    /// A point at which something goes wrong, if this cluster has replicas and nothing else cuts its links. What is cut must not be one of those that
    /// are left when others are dead: then the signal is late.
    pub fn add_point(&mut self, signal: &'static str, step: Step) {
        if self.shape.replicas < 2 || !self.disruptions.is_empty() {
            return;
        }
        let mut prng = Prng::new(self.seed ^ 0x00fa_0176);
        let step = if step == Step::Cut && !self.faults.is_empty() { Step::Delay } else { step };
        let skip = [0, prng.below(4), prng.below(40)][prng.index(3)];
        let restart_ms = if prng.chance(3, 4) { 1 + prng.below(20) } else { 0 };
        self.point = Some(FaultPoint { signal, step, skip, restart_ms, pause: None });
    }

    /// Primaries move while clients work: between the faults and often a moment before one, or with nothing else that happens. (From a generator of its
    /// own: what else a seed means does not depend on it.)
    fn draw_hand_overs(&mut self) {
        let mut prng = Prng::new(self.seed ^ 0x7a4d_0fe6);
        let data_nodes = u64::from(self.shape.data_nodes);
        self.is_planned = prng.chance(1, 3);
        if self.is_planned {
            self.faults.clear();
            self.disruptions.clear();
            self.point = None;
            (self.extras.cuts, self.extras.restarts, self.extras.killer) = (false, 0, false);
        }
        let draw_node = |prng: &mut Prng| NodeId(u16::try_from(1 + prng.below(data_nodes)).unwrap_or(1));
        // One node after the other stops, if others are not out of reach just then.
        let stops = if self.disruptions.is_empty() { prng.below(data_nodes + 1) } else { 0 };
        let first = draw_node(&mut prng).0;
        for stop in 0..u16::try_from(stops).unwrap_or(0) {
            let node = NodeId(1 + (first + stop) % self.shape.data_nodes);
            self.faults.push((prng.below(60), Fault::Stop(node)));
            self.faults.push((300 + prng.below(700), Fault::Start(node)));
        }
        // (Whose others are about to stop, too, ends at once: nobody plans that.)
        let moves = if self.is_planned && stops > 0 { 0 } else { 1 + prng.below(6) };
        for _ in 0..moves {
            let node = draw_node(&mut prng);
            let at = prng.index(self.faults.len() + 1);
            let wait = if prng.chance(1, 2) { prng.below(8) } else { prng.below(100) };
            self.faults.insert(at, (wait, Fault::HandOver(node)));
            let at = at + 1 + prng.index(self.faults.len() - at);
            let wait = if prng.chance(1, 2) { prng.below(8) } else { prng.below(60) };
            self.faults.insert(at, (wait, Fault::Stay(node)));
        }
        if self.point.is_none() && !self.is_planned && prng.chance(1, 2) {
            let signal = HAND_OVER_SIGNALS[prng.index(HAND_OVER_SIGNALS.len())];
            self.add_point(signal, STEPS[prng.index(STEPS.len())]);
        }
    }

    /// Nodes that stand still, links that are cut, a management node that dies. Who is silent for too long leaves; if it lives, it ends when it hears of that.
    fn draw_disruptions(&mut self, prng: &mut Prng) {
        let data_nodes = u64::from(self.shape.data_nodes);
        let any = |prng: &mut Prng| {
            let number = prng.below(data_nodes + 1);
            if number == 0 { MANAGEMENT } else { NodeId(u16::try_from(number).unwrap_or(1)) }
        };
        for _ in 0..1 + prng.below(3) {
            let milliseconds = match prng.below(4) {
                0 => 1 + prng.below(100),
                1 => 150 + prng.below(100),
                2 => 300 + prng.below(1_500),
                _ => 3_000 + prng.below(3_000),
            };
            let (time, node, other) = (milliseconds * 1_000_000, any(prng), any(prng));
            let disruption = match prng.below(4) {
                0 => Disruption::Bounce { node: MANAGEMENT, time },
                1 => Disruption::Pause { node, time },
                _ if node == other => continue,
                kind => Disruption::Cut { from: node, to: other, is_both_ways: kind == 2, time },
            };
            self.disruptions.push((1 + prng.below(200), disruption));
        }
    }

    /// A node that gets little of its CPU: it stands still most of the time, but never for long. Deaths may come on top of that.
    fn draw_slowness(&mut self, prng: &mut Prng) {
        let number = 1 + prng.below(u64::from(self.shape.data_nodes));
        let node = NodeId(u16::try_from(number).unwrap_or(1));
        let (mut at, rounds, pause_max) =
            (1 + prng.below(100), 5 + prng.below(40), [5, 20, 40][prng.index(3)]);
        for _ in 0..rounds {
            let pause = 1 + prng.below(pause_max);
            self.disruptions.push((at, Disruption::Pause { node, time: pause * 1_000_000 }));
            at += pause + 1 + prng.below(4);
        }
    }

    /// Nothing but single-row statements through all nodes, and data nodes that stand still for longer than their leases run, one after the other: when
    /// one goes on, the others have left it out, and it does not know.
    fn draw_pauses(&mut self, prng: &mut Prng) {
        self.faults.clear();
        self.is_planned = false;
        self.disruptions.clear();
        (self.lists, self.banks, self.registers) = (0, 0, 4 + prng.below(5));
        let mut at = 20 + prng.below(100);
        for _ in 0..1 + prng.below(3) {
            let number = 1 + prng.below(u64::from(self.shape.data_nodes));
            let node = NodeId(u16::try_from(number).unwrap_or(1));
            let longest = [150, 1_500][prng.index(2)];
            let pause = 150 + prng.below(longest);
            self.disruptions.push((at, Disruption::Pause { node, time: pause * 1_000_000 }));
            at += pause + prng.below(1_000);
        }
    }

    /// A data node of which only `membership` runs for a while, often for longer than it may owe an answer. (On a machine its watchdog would end it a little
    /// later.)
    fn draw_hang(&mut self, prng: &mut Prng) {
        let number = 1 + prng.below(u64::from(self.shape.data_nodes));
        let node = NodeId(u16::try_from(number).unwrap_or(1));
        let time = (500 + prng.below(20_000)) * 1_000_000;
        self.disruptions.push((1 + prng.below(150), Disruption::Hang { node, time }));
    }

    fn add_extras(&mut self, prng: &mut Prng) {
        self.extras = Extras {
            uniques: prng.below(5),
            numbers: 0,
            name_readers: if prng.chance(1, 4) { 1 + prng.below(3) } else { 0 },
            limited: 0,
            killer: prng.chance(1, 4),
            sleeper: prng.chance(1, 4),
            cuts: prng.chance(1, 4),
            restarts: 0,
            think_max: 0,
            holders: None,
            lockers: 0,
        };
        if prng.chance(1, 4) {
            self.shape.budget_max = 2;
        }
        if prng.chance(1, 6) {
            self.shape.memory = MEMORY_SMALL;
        }
        match prng.below(6) {
            0 => {
                self.shape.sql_nodes = self.shape.sql_nodes.max(1);
                self.extras.restarts = 1 + prng.below(3);
            }
            1 => {
                self.shape.sql_nodes = self.shape.sql_nodes.max(1);
                self.shape.late = Some(SQL_NODE);
                self.changers = self.changers.max(1);
            }
            _ => {}
        }
    }

    /// Nodes die, often two soon after each other; most start again, and some die again before they are in sync.
    fn draw_faults(prng: &mut Prng, data_nodes: u16, replicas: usize) -> Vec<(u64, Fault)> {
        let mut faults: Vec<(u64, Fault)> = Vec::new();
        if replicas < 2 || prng.chance(1, 3) {
            return faults;
        }
        let node =
            |prng: &mut Prng| NodeId(u16::try_from(1 + prng.below(u64::from(data_nodes))).unwrap_or(1));
        for _ in 0..1 + prng.below(3) {
            let first = node(prng);
            faults.push((1 + prng.below(120), Fault::Crash(first)));
            let second = node(prng);
            if prng.chance(1, 3) {
                let wait_max = if prng.chance(1, 2) { 4 } else { 60 };
                faults.push((prng.below(wait_max), Fault::Crash(second)));
            }
            for node in [first, second] {
                if prng.chance(3, 4) {
                    faults.push((prng.below(20), Fault::Start(node)));
                }
                if prng.chance(1, 6) {
                    faults.push((prng.below(8), Fault::Crash(node)));
                    faults.push((prng.below(8), Fault::Start(node)));
                }
            }
        }
        faults
    }

    fn scripts(&self, nodes: &[NodeId]) -> Vec<Box<dyn Script>> {
        let mut scripts: Vec<Box<dyn Script>> = Vec::new();
        for client in 0..self.registers {
            scripts.push(Box::new(Registers::new(nodes.to_vec(), client, 40)));
        }
        for client in 0..self.lists {
            scripts.push(Box::new(Lists::new(nodes.to_vec(), client, 30)));
        }
        for _ in 0..self.banks {
            scripts.push(Box::new(Bank::new(nodes.to_vec(), 25).thinking(self.extras.think_max)));
        }
        for client in 0..self.changers {
            scripts.push(Box::new(RowChanger::new(nodes.to_vec(), client * 100, 40)));
        }
        if self.changers > 0 {
            let node = if self.changes_through_last { nodes[nodes.len() - 1] } else { nodes[0] };
            let hold = self.extras.holders.filter(|_| self.is_calm()).map(|(_, hold)| hold);
            scripts.push(Box::new(SchemaChanger::new(node, self.rounds).among(hold)));
        }
        self.add_extra_scripts(nodes, &mut scripts);
        scripts
    }

    fn add_extra_scripts(&self, nodes: &[NodeId], scripts: &mut Vec<Box<dyn Script>>) {
        let extras = &self.extras;
        for client in 0..extras.uniques {
            scripts.push(Box::new(Uniques::new(nodes.to_vec(), client, 40)));
        }
        for _ in 0..extras.numbers {
            scripts.push(Box::new(Numbers::new(nodes.to_vec(), 40)));
        }
        for reader in 0..extras.name_readers {
            let node = nodes[usize::try_from(reader + self.seed).unwrap_or(0) % nodes.len()];
            scripts.push(Box::new(Onlooker::new(Fact::Name, node, 60)));
        }
        if extras.name_readers > 0 {
            scripts.push(Box::new(Flipper::new(Fact::Name, nodes[0], 4)));
        }
        if let Some((count, hold)) = extras.holders {
            for client in 0..count {
                scripts.push(Box::new(Holder::new(nodes.to_vec(), hold, self.is_calm(), client, 2)));
            }
        }
        for client in 0..extras.lockers {
            scripts.push(Box::new(Locker::new(nodes.to_vec(), client, 20)));
        }
        for client in 0..extras.limited {
            let node = nodes[usize::try_from(client + self.seed).unwrap_or(0) % nodes.len()];
            scripts.push(Box::new(Onlooker::new(Fact::Privilege, node, 120)));
        }
        if extras.limited > 0 {
            scripts.push(Box::new(Flipper::new(Fact::Privilege, nodes[0], 8)));
        }
        if extras.killer {
            scripts.push(Box::new(Killer::new(nodes.to_vec(), 30)));
        }
        if extras.sleeper {
            scripts.push(Box::new(Sleeper::new(nodes.to_vec(), 4)));
        }
    }

    /// What each connection of a client begins with.
    fn preamble(&self) -> Vec<String> {
        if self.extras.sleeper { vec!["SET innodb_lock_wait_timeout = 1".to_owned()] } else { Vec::new() }
    }

    fn setup(&self) -> Vec<String> {
        let mut statements = vec!["CREATE DATABASE sim".to_owned()];
        statements.extend(Registers::setup());
        statements.extend(Lists::setup());
        statements.extend(Bank::setup());
        statements.extend(SchemaChanger::setup());
        statements.extend(Uniques::setup());
        statements.extend(Fact::Name.setup());
        if self.extras.holders.is_some() {
            statements.extend(Holder::setup());
        }
        if self.extras.lockers > 0 {
            statements.extend(Locker::setup());
        }
        if self.extras.numbers > 0 {
            statements.extend(Numbers::setup());
        }
        if self.extras.limited > 0 {
            statements.extend(Fact::Privilege.setup());
        }
        statements
    }
}

/// Runs a seed.
#[must_use]
pub fn run_seed(seed: u64) -> Outcome {
    run(&Scenario::from_seed(seed), LINES_KEPT)
}

/// Runs a scenario, and keeps this many lines of its transcript.
#[must_use]
pub fn run(scenario: &Scenario, lines: usize) -> Outcome {
    run_world(scenario, World::new(scenario.seed, scenario.shape.clone(), lines))
}

/// Runs a scenario, and keeps this many lines of its transcript with all that signals say.
#[must_use]
pub fn run_in_detail(scenario: &Scenario, lines: usize) -> Outcome {
    let mut world = World::new(scenario.seed, scenario.shape.clone(), lines);
    world.transcript.is_detailed = true;
    run_world(scenario, world)
}

fn run_world(scenario: &Scenario, mut world: World) -> Outcome {
    let driven = std::panic::AssertUnwindSafe(|| drive(scenario, &mut world));
    let broken = |panic: Box<dyn Any + Send>| Err(text_of_panic(panic.as_ref()));
    let failure = std::panic::catch_unwind(driven).unwrap_or_else(broken).err();
    let failure = world.suspicion.take().or(failure);
    let held: u64 = scripts::<Holder>(&world).map(|script| u64::from(script.held)).sum();
    let gave_way: u64 = scripts::<SchemaChanger>(&world).map(|script| u64::from(script.gave_way)).sum();
    for (what, count) in [("long transaction", held), ("DDL gave way", gave_way)] {
        if count > 0 {
            world.injected.insert(what, count);
        }
    }
    Outcome {
        failure,
        digest: world.transcript.digest(),
        steps: world.steps(),
        virtual_time: world.now(),
        injected: std::mem::take(&mut world.injected),
        point: scenario.point.map(|point| (point, world.is_point_hit())),
        tail: world.transcript.tail(),
    }
}

/// A block found an invariant broken, and says which.
pub(crate) fn text_of_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    format!("a block found an invariant broken: {}", text.unwrap_or_default())
}

fn drive(scenario: &Scenario, world: &mut World) -> Result<(), String> {
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("the cluster did not start".to_owned());
    }
    let nodes = world.sql_nodes();
    run_setup(world, nodes[0], scenario.setup())?;
    let first = world.clients().len();
    for script in scenario.scripts(&nodes) {
        let client = world.add_client(Client::with_preamble(script, scenario.preamble()));
        world.run_client(client);
    }
    let mut faults_end = world.now();
    if let Some(point) = scenario.point {
        world.arm(point);
    }
    for (wait, disruption) in &scenario.disruptions {
        world.disrupt_later(wait * 1_000_000, *disruption);
        let end = world.now() + (wait + FAULT_MS) * 1_000_000 + disruption.time();
        faults_end = faults_end.max(end);
    }
    let dead = disturb(scenario, world, first);
    let is_done = |world: &mut World| world.clients()[first..].iter().all(Client::is_finished);
    if !world.run_until(scenario.work_ms(), is_done) {
        let stuck: Vec<usize> =
            (first..world.clients().len()).filter(|client| !world.clients()[*client].is_finished()).collect();
        let stuck: Vec<String> =
            stuck.iter().map(|client| format!("{client}: {}", world.clients()[*client].describe())).collect();
        return Err(format!("clients did not end: {}: {}", stuck.join("; "), unfinished(world)));
    }
    check_scripts(world)?;
    if scenario.is_planned {
        check_promises(world, first)?;
    }
    check_leaves(world)?;
    if scenario.is_hung() && !world.left_well().is_empty() {
        return Err(format!("well, and had to leave because others hang: {:?}", world.left_well()));
    }
    // Then nothing goes wrong any more, everything is whole again, and who was left out has ended.
    world.disarm();
    if world.is_point_hit() {
        faults_end = world.now() + FAULT_MS * 1_000_000;
    }
    while world.now() < faults_end {
        world.run_until(100, |_| false);
    }
    let is_disrupted = !scenario.disruptions.is_empty() || world.is_point_hit();
    let is_dead = |node: &NodeId| dead.contains(node) || (is_disrupted && !world.is_alive(*node));
    let alive: Vec<NodeId> = nodes.into_iter().filter(|node| !is_dead(node)).collect();
    let is_whole = |world: &mut World| alive.iter().all(|node| world.accepts(*node));
    if !world.run_until(START_MS, is_whole) {
        let missing: Vec<&NodeId> = alive.iter().filter(|node| !world.accepts(**node)).collect();
        return Err(format!("nodes {missing:?} did not come back: {}", unfinished(world)));
    }
    let last = alive[alive.len() - 1];
    check_rows(world, scenario, last)?;
    check_uniques(world, last)?;
    check_numbers(world, scenario, last)?;
    check_locks(world, scenario, last)?;
    check_schema(world, &alive)?;
    check_nothing_left(world, scenario)?;
    cluster::check(world)?;
    check_registers(world)?;
    check_flips(world, Fact::Name)?;
    check_flips(world, Fact::Privilege)
}

/// Faults, while clients work; gives the nodes that are left dead.
fn disturb(scenario: &Scenario, world: &mut World, first: usize) -> BTreeSet<NodeId> {
    let is_done = |world: &mut World| world.clients()[first..].iter().all(Client::is_finished);
    if let Some(late) = scenario.shape.late {
        let delay = world.prng.below(300_000_000);
        world.start_later(late, delay);
    }
    let mut dead = BTreeSet::new();
    let mut restarts_left = scenario.extras.restarts;
    let mut faults = scenario.faults.iter().copied().peekable();
    let mut since_fault = world.now();
    let mut cuts_left = if scenario.extras.cuts { 20 } else { 0 };
    while restarts_left > 0 || faults.peek().is_some() || cuts_left > 0 {
        let mut wait = 1 + world.prng.below(if cuts_left > 0 { 20 } else { 200 });
        let due = faults.peek().map(|(wait, _)| since_fault + wait * 1_000_000);
        let until_fault = due.map(|due| due.saturating_sub(world.now()).div_ceil(1_000_000));
        wait = wait.min(until_fault.unwrap_or(wait));
        if world.run_until(wait, is_done) {
            return dead;
        }
        if due.is_some_and(|due| due <= world.now())
            && let Some((_, fault)) = faults.next()
        {
            inflict(world, (fault, &scenario.lost), &mut dead);
            since_fault = world.now();
            continue;
        }
        let working = world.clients().len() - first;
        if cuts_left > 0 && working > 0 {
            cuts_left -= 1;
            let client = first + world.prng.index(working);
            world.cut(client);
        } else if restarts_left > 0 && world.accepts(SQL_NODE) {
            restarts_left -= 1;
            world.crash(SQL_NODE);
            let delay = world.prng.below(100_000_000);
            world.start_later(SQL_NODE, delay);
        } else {
            restarts_left = restarts_left.saturating_sub(1);
        }
    }
    dead
}

fn inflict(world: &mut World, (fault, lost): (Fault, &[NodeId]), dead: &mut BTreeSet<NodeId>) {
    match fault {
        Fault::Crash(node) => {
            if world.is_alive(node) && world.can_spare(node) {
                world.crash(node);
                dead.insert(node);
            }
        }
        Fault::Start(node) => {
            // (Who is stopping still may take a while.)
            if !world.is_alive(node) && dead.remove(&node) {
                let delay = world.prng.below(10_000_000);
                world.start_later(node, delay);
            }
        }
        Fault::Lose(node) => {
            world.lose(node);
            dead.insert(node);
        }
        Fault::Kill(node) => {
            world.crash(node);
            dead.insert(node);
        }
        Fault::Recover(node) => world.order_recovery(node, lost),
        // (Who stops has said so itself.)
        Fault::HandOver(node) | Fault::Stay(node) if world.is_stopping(node) => {}
        Fault::HandOver(node) => world.tell_membership(node, LeaveStep::HandOver),
        Fault::Stay(node) => world.tell_membership(node, LeaveStep::Stay),
        Fault::Stop(node) => {
            if world.is_alive(node) && world.can_spare(node) {
                world.request_stop(node);
                dead.insert(node);
            }
        }
    }
}

/// What operators plan fails no statement: clients of a node that stops hear 1053 between two transactions, the others nothing.
fn check_promises(world: &World, first: usize) -> Result<(), String> {
    for (number, client) in world.clients().iter().enumerate().skip(first) {
        let is_broken =
            |(node, what): &&(NodeId, String)| what != crate::client::LOST || !world.has_stopped(*node);
        if let Some((node, what)) = client.complaints().iter().find(is_broken) {
            return Err(format!("client {number} of node {node} heard of what was planned: {what}"));
        }
    }
    Ok(())
}

/// Runs statements one after the other; the rows of the last.
fn run_setup(
    world: &mut World,
    node: NodeId,
    statements: Vec<String>,
) -> Result<Vec<Vec<Option<String>>>, String> {
    let client = world.add_client(Client::new(Box::new(Setup::new(node, statements))));
    world.run_client(client);
    let is_done = world.run_until(WORK_MS, |world| world.clients()[client].is_finished());
    let Some(setup) = world.clients()[client].script().as_any().downcast_ref::<Setup>() else {
        return Err("no setup".to_owned());
    };
    match (&setup.failure, is_done && setup.is_done) {
        (Some(failure), _) => Err(failure.clone()),
        (None, true) => Ok(setup.rows.clone()),
        (None, false) => Err("the statements did not end".to_owned()),
    }
}

fn scripts<T: 'static>(world: &World) -> impl Iterator<Item = &T> {
    world.clients().iter().filter_map(|client| client.script().as_any().downcast_ref::<T>())
}

fn check_scripts(world: &World) -> Result<(), String> {
    let failures = scripts::<Registers>(world)
        .map(|script| &script.failure)
        .chain(scripts::<Lists>(world).map(|script| &script.failure))
        .chain(scripts::<Bank>(world).map(|script| &script.failure))
        .chain(scripts::<SchemaChanger>(world).map(|script| &script.failure))
        .chain(scripts::<RowChanger>(world).map(|script| &script.failure))
        .chain(scripts::<Uniques>(world).map(|script| &script.failure))
        .chain(scripts::<Numbers>(world).map(|script| &script.failure))
        .chain(scripts::<Onlooker>(world).map(|script| &script.failure))
        .chain(scripts::<Flipper>(world).map(|script| &script.failure))
        .chain(scripts::<Holder>(world).map(|script| &script.failure))
        .chain(scripts::<Locker>(world).map(|script| &script.failure))
        .chain(scripts::<Killer>(world).map(|script| &script.failure))
        .chain(scripts::<Sleeper>(world).map(|script| &script.failure));
    match failures.flatten().next() {
        Some(failure) => Err(failure.clone()),
        None => Ok(()),
    }
}

/// Those that answer nothing leave one after the other, with time between for the others to catch up.
fn check_leaves(world: &World) -> Result<(), String> {
    let mut left = world.left_while_hung();
    left.sort_unstable();
    match left.windows(2).find(|pair| pair[1] - pair[0] < LEAVE_PAUSE) {
        Some(pair) => Err(format!("two nodes that hung had to leave within {} ns", pair[1] - pair[0])),
        None => Ok(()),
    }
}

fn check_registers(world: &World) -> Result<(), String> {
    for key in 0..KEY_COUNT {
        let events: Vec<_> = scripts::<Registers>(world)
            .flat_map(|script| &script.history)
            .filter(|event| event.key == key)
            .copied()
            .collect();
        if let Some(failure) = linearizable::check(&events) {
            return Err(format!("register {key}: {failure}"));
        }
    }
    Ok(())
}

/// Reads everything back through one node and holds it against what clients were told.
fn check_rows(world: &mut World, scenario: &Scenario, node: NodeId) -> Result<(), String> {
    let sum = run_setup(world, node, vec!["SELECT SUM(balance), COUNT(*) FROM sim.bank".to_owned()])?;
    let expected = FIRST_BALANCE * i64::try_from(ACCOUNT_COUNT).unwrap_or(0);
    if sum != vec![vec![Some(expected.to_string()), Some(ACCOUNT_COUNT.to_string())]] {
        return Err(format!("the bank's sum is {sum:?}, not {expected}"));
    }
    let rows = run_setup(world, node, vec!["SELECT k, v FROM sim.lists ORDER BY k".to_owned()])?;
    let list = |text: &str| text.split(',').filter_map(|part| part.parse().ok()).collect::<Vec<u64>>();
    let final_lists: BTreeMap<u64, Vec<u64>> = rows
        .iter()
        .filter_map(|row| Some((row.first()?.as_ref()?.parse().ok()?, list(row.get(1)?.as_deref()?))))
        .collect();
    let history: Vec<_> = scripts::<Lists>(world).flat_map(|script| script.history.clone()).collect();
    if let Some(failure) = isolation::check(&history, &final_lists) {
        return Err(failure);
    }
    if scenario.changers > 0 {
        let counts = ["SELECT COUNT(*) FROM sim.changing", "SELECT COUNT(*) FROM sim.changing WHERE a >= 0"];
        for text in counts {
            let count = run_setup(world, node, vec![text.to_owned()])?;
            let expected: i64 = scripts::<RowChanger>(world).map(|script| script.rows).sum();
            let is_certain = scripts::<RowChanger>(world).all(|script| !script.is_uncertain);
            if is_certain && count != vec![vec![Some(expected.to_string())]] {
                return Err(format!("{text}: {count:?}, not {expected}"));
            }
        }
    }
    Ok(())
}

/// The table with a unique key, read back by its primary key and by each unique key.
fn check_uniques(world: &mut World, node: NodeId) -> Result<(), String> {
    let rows = run_setup(world, node, vec!["SELECT id, u, v FROM sim.uniques ORDER BY id".to_owned()])?;
    let (mut refused, mut written) = (BTreeSet::new(), BTreeSet::new());
    for script in scripts::<Uniques>(world) {
        refused.extend(script.refused.iter().copied());
        written.extend(script.written.iter().copied());
    }
    let mut by_key = Vec::new();
    for key in 0..uniques::KEY_COUNT {
        let text = format!("SELECT id, u, v FROM sim.uniques WHERE u = {key}");
        by_key.extend(run_setup(world, node, vec![text])?);
    }
    match cluster::uniques(&rows, &by_key, &written, &refused) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Every row that was acknowledged is there, under a value that no other row has.
fn check_numbers(world: &mut World, scenario: &Scenario, node: NodeId) -> Result<(), String> {
    if scenario.extras.numbers == 0 {
        return Ok(());
    }
    let counts = run_setup(world, node, vec!["SELECT COUNT(*) FROM sim.numbers".to_owned()])?;
    let count: Option<u64> = counts.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
    let written: u64 = scripts::<Numbers>(world).map(|script| script.written).sum();
    if count.is_none_or(|count| count < written) {
        return Err(format!("{count:?} numbered rows, {written} were acknowledged"));
    }
    Ok(())
}

/// A job went to one client; counts are exact where nothing fails.
fn check_locks(world: &mut World, scenario: &Scenario, node: NodeId) -> Result<(), String> {
    if scenario.extras.lockers == 0 {
        return Ok(());
    }
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<u64>().ok());
    let owners = run_setup(world, node, vec!["SELECT id, owner FROM sim.jobs".to_owned()])?;
    let owners: BTreeMap<u64, u64> =
        owners.iter().filter_map(|row| Some((number(row.first()?)?, number(row.get(1)?)?))).collect();
    let mut taken = BTreeSet::new();
    for script in scripts::<Locker>(world) {
        for job in &script.jobs {
            if !taken.insert(*job) || owners.get(job) != Some(&script.owner()) {
                return Err(format!("job {job} was given to {} and {:?}", script.owner(), owners.get(job)));
            }
        }
    }
    for (counter, table) in ["sim.counted", "sim.counted_by_name"].into_iter().enumerate() {
        let found = run_setup(world, node, vec![format!("SELECT n FROM {table}")])?;
        let found = found.first().and_then(|row| number(row.first()?));
        let counted: u64 = scripts::<Locker>(world).map(|script| script.counts[counter]).sum();
        if found.is_none() || scenario.is_calm() && found != Some(counted) {
            return Err(format!("{table} has {found:?}, {counted} were acknowledged"));
        }
    }
    Ok(())
}

/// Every node that serves SQL knows the same tables, and no DDL job is left half done.
fn check_schema(world: &mut World, nodes: &[NodeId]) -> Result<(), String> {
    // A node that opened a moment ago hears of the newest version a moment later, and a job that was left is finished a moment later.
    let mut failure = None;
    for _ in 0..50 {
        failure = differing_schema(world, nodes)?.or_else(|| cluster::unfinished(world));
        if failure.is_none() {
            return Ok(());
        }
        world.run_until(100, |_| false);
    }
    failure.map_or(Ok(()), Err)
}

fn differing_schema(world: &mut World, nodes: &[NodeId]) -> Result<Option<String>, String> {
    let texts = ["SHOW CREATE TABLE sim.changing".to_owned(), "SHOW TABLES FROM sim".to_owned()];
    for text in texts {
        let mut answers = Vec::new();
        for node in nodes {
            answers.push(run_setup(world, *node, vec![text.clone()])?);
        }
        if answers.iter().any(|answer| *answer != answers[0]) {
            return Ok(Some(format!("nodes do not agree about {text}: {answers:?}")));
        }
    }
    Ok(None)
}

/// Through each node what DDL flips is one thing or the other, and once a flip is acknowledged it is that everywhere.
fn check_flips(world: &World, fact: Fact) -> Result<(), String> {
    let flippers = scripts::<Flipper>(world).filter(|script| script.fact == fact);
    let writes: Vec<Event> = flippers.flat_map(|script| script.history.iter().copied()).collect();
    let first = Event { key: 0, from: 0, until: Some(0), operation: Operation::Write(0) };
    let onlookers = || scripts::<Onlooker>(world).filter(|script| script.fact == fact);
    let nodes: BTreeSet<NodeId> = onlookers().map(|script| script.node).collect();
    for node in nodes {
        let mut events = vec![first];
        events.extend(&writes);
        let near = onlookers().filter(|script| script.node == node);
        events.extend(near.flat_map(|script| script.history.iter().copied()));
        if let Some(failure) = linearizable::check(&events) {
            return Err(format!("{fact:?} through node {node}: {failure}"));
        }
    }
    Ok(())
}

/// After the last statement nothing may be held, waited for or undecided anywhere.
fn unfinished(world: &World) -> String {
    world.ldms().flat_map(transaction::Ldm::unfinished).collect::<Vec<String>>().join("; ")
}

fn check_nothing_left(world: &mut World, scenario: &Scenario) -> Result<(), String> {
    if !world.run_until(2_000, |world| world.ldms().all(transaction::Ldm::is_idle)) {
        let left = unfinished(world);
        return Err(format!("an open transaction, a lock, a wait or an undecided row is left: {left}"));
    }
    // What is kept for sessions goes when they know or end. What was on its way to or from a node that was lost goes some time later.
    let is_whole = scenario.faults.is_empty()
        && scenario.disruptions.is_empty()
        && scenario.point.is_none()
        && scenario.extras.restarts == 0;
    let milliseconds = if is_whole { 1_000 } else { 3 * MARKER_TIME.as_secs() * 1_000 };
    let has_no_marker = |world: &mut World| {
        world.ldms().all(|ldm| ldm.marker_count() == 0) && world.tcs().all(|tc| tc.open_count() == 0)
    };
    if !world.run_until(milliseconds, has_no_marker) {
        let markers: usize = world.ldms().map(transaction::Ldm::marker_count).sum();
        let commits: usize = world.tcs().map(transaction::Tc::open_count).sum();
        return Err(format!("{markers} markers and {commits} commits are kept for ever"));
    }
    Ok(())
}
