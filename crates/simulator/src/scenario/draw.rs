//! The meaning of a seed: the cluster, its clients, and what happens to them.
//!
//! Invariant: every draw comes from the generator of its topic; a topic may look at what earlier topics drew, and never
//! at their generators.

use super::{Extras, Fault, MEMORY_ENOUGH, MEMORY_SMALL, SQL_NODE, Scenario};
use crate::workload::holders::Hold;
use crate::world::{Disruption, FaultPoint, HAND_OVER_SIGNALS, MANAGEMENT, SIGNALS, STEPS, Shape, Step};
use protocol::placement::ReadPlacement;
use stdx::{Prng, hash64};
use transaction::Sizes;
use types::NodeId;

/// Virtual nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// The topic of a generator. Its name makes the generator, so topics may be added and moved.
#[derive(Clone, Copy, Debug)]
pub(super) enum Topic {
    /// Nodes, replicas, threads and delays.
    Shape,
    /// Slots, and threads of some nodes.
    Slots,
    /// Whether the owners of slots do all reads.
    OwnerReads,
    /// Memory and the size of slices.
    Limits,
    /// The sizes from which a transaction is large.
    Sizes,
    /// Clients of the three workloads that every seed may have.
    Clients,
    /// Clients that change rows while the schema changes, and how it changes.
    Schema,
    /// Transactions that stay open while the schema changes.
    Holders,
    /// Clients that insert rows with values that the cluster gives out.
    Numbers,
    /// Whether a seed has extras.
    Extras,
    /// Clients that collide on unique keys.
    Uniques,
    /// A table that is renamed, and its readers.
    Renames,
    /// Clients that disturb others.
    Disturbers,
    /// An SQL node that dies and comes back, or joins late.
    SqlNodes,
    /// Data nodes that die and start again.
    Faults,
    /// Nodes that stand still, links that are cut, a management node that dies.
    Disruptions,
    /// A node that gets little of its CPU.
    Slowness,
    /// Nodes that stand still for longer than their leases.
    Pauses,
    /// Connections that break and are there again at once.
    Resets,
    /// A management node that is away while a data node dies.
    Outage,
    /// Connections that break in bursts, below transactions that stay open.
    Bursts,
    /// A node that follows its companion, while the SQL node hears nothing.
    Succession,
    /// A data node that hangs.
    Hang,
    /// Primaries that move as planned.
    HandOvers,
    /// A signal at which something goes wrong, and how.
    Point,
    /// After how many such signals, and whether a node that dies of it comes back.
    Strike,
    /// [`Scenario::struck`].
    Struck,
    /// [`Scenario::isolated`].
    Isolated,
    /// [`Scenario::hung`].
    Hung,
    /// [`Scenario::cramped`].
    Cramped,
    /// [`Scenario::lost_voters`].
    LostVoters,
    /// [`Scenario::scant`].
    Scant,
}

impl Topic {
    /// The generator of this topic of a seed.
    pub(super) fn generator(self, seed: u64) -> Prng {
        Prng::new(seed ^ hash64(format!("{self:?}").as_bytes()))
    }
}

impl Scenario {
    /// The meaning of this seed.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut scenario = Self::plain(seed);
        let has_replicas = scenario.shape.replicas > 1;
        scenario.draw_faults();
        scenario.draw_extras();
        if has_replicas && scenario.faults.is_empty() {
            scenario.sometimes(Topic::Disruptions, 3, Self::draw_disruptions);
        }
        if has_replicas {
            scenario.sometimes(Topic::Slowness, 6, Self::draw_slowness);
            scenario.sometimes(Topic::Pauses, 10, Self::draw_pauses);
        }
        scenario.sometimes(Topic::Resets, 3, Self::draw_resets);
        if has_replicas && scenario.shape.late.is_none() {
            scenario.sometimes(Topic::Outage, 24, Self::draw_outage);
        }
        scenario.sometimes(Topic::Bursts, 10, Self::draw_bursts);
        if has_replicas && scenario.shape.sql_nodes > 0 {
            scenario.sometimes(Topic::Succession, 4, Self::draw_succession);
        }
        if has_replicas {
            scenario.sometimes(Topic::Hang, 24, Self::draw_hang);
            scenario.sometimes(Topic::Point, 4, Self::draw_point);
            scenario.sometimes(Topic::HandOvers, 2, Self::draw_hand_overs);
        }
        if scenario.changers > 0 {
            scenario.sometimes(Topic::Holders, 2, Self::draw_holders);
        }
        scenario
    }

    /// A topic that comes up in one of `denominator` seeds.
    fn sometimes(&mut self, topic: Topic, denominator: u64, draw: fn(&mut Self, &mut Prng)) {
        let mut prng = topic.generator(self.seed);
        if prng.chance(1, denominator) {
            draw(self, &mut prng);
        }
    }

    /// A cluster and its clients, to which nothing happens.
    fn plain(seed: u64) -> Self {
        let mut scenario = Self {
            seed,
            shape: drawn_shape(seed),
            registers: 0,
            lists: 0,
            banks: 0,
            changers: 0,
            rounds: 4,
            changes_through_last: false,
            faults: Vec::new(),
            lost: Vec::new(),
            is_planned: false,
            disruptions: Vec::new(),
            point: None,
            extras: Extras::default(),
        };
        let mut prng = Topic::Clients.generator(seed);
        scenario.registers = prng.below(4);
        scenario.lists = prng.below(4);
        scenario.banks = prng.below(4);
        let mut prng = Topic::Schema.generator(seed);
        scenario.changers = if prng.chance(1, 3) { 1 + prng.below(3) } else { 0 };
        scenario.rounds += u32::from(prng.chance(1, 2));
        scenario.changes_through_last = prng.chance(1, 3);
        let mut prng = Topic::Numbers.generator(seed);
        scenario.extras.numbers = if prng.chance(1, 3) { 1 + prng.below(4) } else { 0 };
        scenario
    }

    /// Any data node.
    pub(super) fn any_data_node(&self, prng: &mut Prng) -> NodeId {
        NodeId(u16::try_from(1 + prng.below(u64::from(self.shape.data_nodes))).unwrap_or(1))
    }

    /// The extras of half of the seeds.
    fn draw_extras(&mut self) {
        if !Topic::Extras.generator(self.seed).chance(1, 2) {
            return;
        }
        self.extras.uniques = Topic::Uniques.generator(self.seed).below(5);
        let mut prng = Topic::Renames.generator(self.seed);
        self.extras.name_readers = if prng.chance(1, 4) { 1 + prng.below(3) } else { 0 };
        let mut prng = Topic::Disturbers.generator(self.seed);
        self.extras.killer = prng.chance(1, 4);
        self.extras.sleeper = prng.chance(1, 4);
        self.extras.cuts = prng.chance(1, 4);
        let mut prng = Topic::Limits.generator(self.seed);
        if prng.chance(1, 4) {
            self.shape.budget_max = 2;
        }
        if prng.chance(1, 6) {
            self.shape.memory = MEMORY_SMALL;
        }
        let mut prng = Topic::SqlNodes.generator(self.seed);
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

    /// Transactions stay open while the schema changes.
    pub(super) fn draw_holders(&mut self, prng: &mut Prng) {
        self.extras.holders = Some((1 + prng.below(3), Hold::drawn(prng)));
    }

    /// Something goes wrong at any signal.
    fn draw_point(&mut self, prng: &mut Prng) {
        let (signal, step) = (SIGNALS[prng.index(SIGNALS.len())].name, STEPS[prng.index(STEPS.len())]);
        self.add_point(signal, step);
    }

    /// Connections break between nodes that live, those of SQL nodes too, and are there again before anybody is left
    /// out for that. Links of an SQL node are cut for longer, too: it is left out by nobody.
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
                    time: (1 + prng.below(5_000)) * MILLISECOND,
                }
            } else {
                Disruption::Reset { one, other, time: (1 + prng.below(60)) * MILLISECOND }
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
            let other = self.any_data_node(prng);
            for _ in 0..2 + prng.below(2) {
                let reset = Disruption::Reset { one: last, other, time: (1 + prng.below(8)) * MILLISECOND };
                self.disruptions.extend((last != other).then_some((at, reset)));
                at += 5 + prng.below(15);
            }
            at += prng.below(100);
        }
    }

    /// A node starts again while the SQL node is cut from its companion, and when it is in sync the companion dies: it
    /// has to know what that one knew.
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
            time: (500 + prng.below(3_000)) * MILLISECOND,
        };
        self.disruptions.push((crash_at + start_after + cut_after, cut));
        self.faults = vec![(crash_at, Fault::Crash(first)), (start_after, Fault::Start(first))];
        // A node that cannot be spared yet is not killed: it is tried again and again.
        self.faults.extend((0..6).map(|_| (20 + prng.below(60), Fault::Crash(second))));
        self.faults.push((prng.below(500), Fault::Start(second)));
    }

    /// The management node is away for longer than anybody waits for a view, and a data node dies just then, or the
    /// links to it are cut for as long.
    pub(super) fn draw_outage(&mut self, prng: &mut Prng) {
        let (at, time) = (1 + prng.below(150), (7_000 + prng.below(3_000)) * MILLISECOND);
        self.disruptions.clear();
        self.faults.clear();
        self.disruptions.push((at, Disruption::Bounce { node: MANAGEMENT, time }));
        let victim = self.any_data_node(prng);
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
                let flap = Disruption::Reset { one: victim, other, time: MILLISECOND };
                self.disruptions.push((at.saturating_sub(1 + prng.below(20)), flap));
            }
            let cut = Disruption::Cut { from: victim, to: other, is_both_ways: true, time: 8_500_000_000 };
            self.disruptions.push((at, cut));
        }
    }

    /// A point at which something goes wrong, if this cluster has replicas and nothing else cuts its links. A node that
    /// is cut off must not be one of those that are left when others are dead: then the signal is late.
    pub fn add_point(&mut self, signal: &'static str, step: Step) {
        if self.shape.replicas < 2 || !self.disruptions.is_empty() {
            return;
        }
        let mut prng = Topic::Strike.generator(self.seed);
        let step = if step == Step::Cut && !self.faults.is_empty() { Step::Delay } else { step };
        let skip = [0, prng.below(4), prng.below(40)][prng.index(3)];
        let restart_ms = if prng.chance(3, 4) { 1 + prng.below(20) } else { 0 };
        self.point = Some(FaultPoint { signal, step, skip, restart_ms, pause: None });
    }

    /// Primaries move while clients work: between the faults and often a moment before one, or with nothing else that
    /// happens.
    fn draw_hand_overs(&mut self, prng: &mut Prng) {
        let data_nodes = u64::from(self.shape.data_nodes);
        self.is_planned = prng.chance(1, 3);
        if self.is_planned {
            self.faults.clear();
            self.disruptions.clear();
            self.point = None;
            (self.extras.cuts, self.extras.restarts, self.extras.killer) = (false, 0, false);
        }
        // One node after the other stops, if others are not out of reach just then.
        let stops = if self.disruptions.is_empty() { prng.below(data_nodes + 1) } else { 0 };
        let first = self.any_data_node(prng).0;
        for stop in 0..u16::try_from(stops).unwrap_or(0) {
            let node = NodeId(1 + (first + stop) % self.shape.data_nodes);
            self.faults.push((prng.below(60), Fault::Stop(node)));
            self.faults.push((300 + prng.below(700), Fault::Start(node)));
        }
        // A node whose others are about to stop, too, ends at once: nobody plans that.
        let moves = if self.is_planned && stops > 0 { 0 } else { 1 + prng.below(6) };
        for _ in 0..moves {
            let node = self.any_data_node(prng);
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

    /// Nodes that stand still, links that are cut, a management node that dies. A node that is silent for too long
    /// leaves; if it lives, it ends when it hears of that.
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
            let (time, node, other) = (milliseconds * MILLISECOND, any(prng), any(prng));
            let disruption = match prng.below(4) {
                0 => Disruption::Bounce { node: MANAGEMENT, time },
                1 => Disruption::Pause { node, time },
                _ if node == other => continue,
                kind => Disruption::Cut { from: node, to: other, is_both_ways: kind == 2, time },
            };
            self.disruptions.push((1 + prng.below(200), disruption));
        }
    }

    /// A node that gets little of its CPU: it stands still most of the time, but never for long. Deaths may come on top
    /// of that.
    fn draw_slowness(&mut self, prng: &mut Prng) {
        let node = self.any_data_node(prng);
        let (mut at, rounds, pause_max) =
            (1 + prng.below(100), 5 + prng.below(40), [5, 20, 40][prng.index(3)]);
        for _ in 0..rounds {
            let pause = 1 + prng.below(pause_max);
            self.disruptions.push((at, Disruption::Pause { node, time: pause * MILLISECOND }));
            at += pause + 1 + prng.below(4);
        }
    }

    /// Nothing but single-row statements through all nodes, and data nodes that stand still for longer than their
    /// leases run, one after the other. When one goes on, the others have left it out, and it does not know.
    pub(super) fn draw_pauses(&mut self, prng: &mut Prng) {
        self.faults.clear();
        self.is_planned = false;
        self.disruptions.clear();
        (self.lists, self.banks, self.registers) = (0, 0, 4 + prng.below(5));
        let mut at = 20 + prng.below(100);
        for _ in 0..1 + prng.below(3) {
            let node = self.any_data_node(prng);
            let longest = [150, 1_500][prng.index(2)];
            let pause = 150 + prng.below(longest);
            self.disruptions.push((at, Disruption::Pause { node, time: pause * MILLISECOND }));
            at += pause + prng.below(1_000);
        }
    }

    /// A data node of which only `membership` runs for a while, often for longer than it may owe an answer. On a
    /// machine its watchdog would end it a little later.
    fn draw_hang(&mut self, prng: &mut Prng) {
        let node = self.any_data_node(prng);
        let time = (500 + prng.below(20_000)) * MILLISECOND;
        self.disruptions.push((1 + prng.below(150), Disruption::Hang { node, time }));
    }

    /// Nodes die, often two soon after each other; most start again, and some die again before they are in sync.
    fn draw_faults(&mut self) {
        let mut prng = Topic::Faults.generator(self.seed);
        if self.shape.replicas < 2 || prng.chance(1, 3) {
            return;
        }
        for _ in 0..1 + prng.below(3) {
            let first = self.any_data_node(&mut prng);
            self.faults.push((1 + prng.below(120), Fault::Crash(first)));
            let second = self.any_data_node(&mut prng);
            if prng.chance(1, 3) {
                let wait_max = if prng.chance(1, 2) { 4 } else { 60 };
                self.faults.push((prng.below(wait_max), Fault::Crash(second)));
            }
            for node in [first, second] {
                if prng.chance(3, 4) {
                    self.faults.push((prng.below(20), Fault::Start(node)));
                }
                if prng.chance(1, 6) {
                    self.faults.push((prng.below(8), Fault::Crash(node)));
                    self.faults.push((prng.below(8), Fault::Start(node)));
                }
            }
        }
    }
}

fn drawn_shape(seed: u64) -> Shape {
    let mut prng = Topic::Shape.generator(seed);
    let (data_nodes, replicas) =
        [(2, 2), (2, 2), (2, 2), (1, 1), (3, 3), (4, 2), (4, 4), (2, 1)][prng.index(8)];
    let thread_config = [
        "recv={count=1}",
        "recv={count=2}",
        "ldm={count=1},recv={count=1}",
        "ldm={count=2},tc={count=1},recv={count=2},main={count=1}",
    ][prng.index(4)];
    let (slots_per_node, even_thread_config) = drawn_slots(seed);
    Shape {
        data_nodes,
        replicas,
        partitions_per_node: 1 + prng.index(3),
        slots_per_node,
        even_thread_config,
        sql_nodes: u16::from(prng.chance(1, 3)),
        thread_config: thread_config.to_owned(),
        read_placement: drawn_placement(seed),
        memory: MEMORY_ENOUGH,
        delay_max_us: [100, 1_000, 20_000][prng.index(3)],
        budget_max: 200,
        sizes: drawn_sizes(seed),
        late: None,
        cramped: None,
        scant: None,
        redo: None,
        scratch: None,
    }
}

/// How many slots a node has, seldom as many as on a large machine; and the threads of data nodes with even numbers,
/// where they are others.
fn drawn_slots(seed: u64) -> (u16, Option<String>) {
    let mut prng = Topic::Slots.generator(seed);
    let slots_per_node = [1, 2, 3, 4][prng.index(4)];
    let is_large = prng.chance(1, 40);
    let other = prng.chance(1, 4).then(|| "recv={count=3},ldm={count=2,host=recv}".to_owned());
    (if is_large { 64 } else { slots_per_node }, other)
}

/// Mostly sessions read themselves and often have helpers. In some seeds they ask the owners of slots.
fn drawn_placement(seed: u64) -> ReadPlacement {
    let asks_owners = Topic::OwnerReads.generator(seed).chance(1, 16);
    if asks_owners { ReadPlacement::Owner } else { ReadPlacement::Adaptive }
}

/// In a third of the seeds transactions are large that are small elsewhere.
fn drawn_sizes(seed: u64) -> Sizes {
    let mut prng = Topic::Sizes.generator(seed);
    if !prng.chance(1, 3) {
        return Sizes::DEFAULT;
    }
    let at_once = [1, 2, 8][prng.index(3)];
    Sizes { at_once, ahead_rows: at_once * [1, 4, 1_000][prng.index(3)] }
}
