//! Nodes, queues, the clock and the network of one simulated cluster.
//!
//! Every module has a queue. A step draws one module with work, gives it one input with a drawn budget, and advances
//! its clock a little. When nobody has work, time jumps to the next delivery or deadline. Each node has a clock of its
//! own, which is never quite right.
//!
//! The network delivers signals between two modules in order (as one TCP connection does) and reorders everything else
//! by drawn delays; client bytes arrive in drawn pieces. A crash of a node drops its modules, its queues and what it
//! has not sent. Signals on their way still arrive. Its peers and clients see their connections close a little later.
//!
//! Invariants: virtual time never goes back; every choice is drawn from the one generator; nothing depends on addresses
//! or hash seeds.

mod agenda;
mod faults;
mod points;
mod readers;

use crate::client::Client;
use crate::disk::Disk;
use crate::timed::Timed;
use crate::transcript::Transcript;
use membership::detector::DetectorConfig;
use memory::{Ledger, MemoryConfig, MemoryManager, Region};
use node::{
    FullStopSettings, Globals, NodeModule, NodeSettings, RedoSettings, ScratchSettings, SessionSettings,
    build,
};
use protocol::control::{RecoveryGoal, RecoveryOrder};
use protocol::disk::{DiskLane, DiskOperation, DiskRequest, FileName};
use protocol::layout::{CpuShare, Layout, LayoutRequest};
use protocol::module::{BATCHES_AFTER, BROKEN_PEER, ConnectionAction, EXIT_CANNOT_JOIN, EXIT_LEFT_OUT};
use protocol::placement::ReadPlacement;
use protocol::signal::{FullStop, LeaveStep};
use protocol::{
    Address, Budget, CloseReason, ConnectionId, ConnectionKind, Envelope, Input, Module, ModuleKind,
    NodeRole, Outputs, OwnedInput, ReceiveBuffer, RequestToRuntime, Signal,
};
use query::Shared;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant, Now, Prng, WallTime, disposal};
use transaction::Sizes;
use types::{Epoch, NodeId, SlotId, ViewNumber};

use agenda::{AT_ONCE, Agenda, NEVER};
use faults::Faults;
pub use faults::{CHOKED_AFTER_MS, Disruption};
use points::{Fate, Points};
pub use points::{FaultPoint, HAND_OVER_SIGNALS, SIGNALS, STEPS, Step};
use readers::Readers;

/// 2026-01-01 00:00:00 UTC: when virtual time begins, in microseconds.
const WALL_START_US: u64 = 1_767_225_600_000_000;
/// Steps that one wait may take: a cluster that spins without getting anywhere fails instead of running for hours.
const STEPS_MAX: u64 = 2_000_000;
/// Memory of a data node that has too little.
const CRAMPED: u64 = 4 << 20;
/// The last life of a data node that has scant memory, if the shape says so.
const SCANT_LIVES: u32 = 3;
/// The management node's id in every simulated cluster.
pub const MANAGEMENT: NodeId = NodeId(65);

/// How long what became of a commit is kept for a session that has not confirmed that it knows.
pub const MARKER_TIME: Duration = Duration::from_secs(20);

/// Tells the draws of disks from the others.
const DISKS: u64 = 0xd15c;
/// Tells the draws of threads that help with scans from the others.
const RELIEF: u64 = 0x4e11ef;
/// Tells the draws of how reads look at columns from the others.
const BATCHES: u64 = 0xba7c4e5;
/// Rows of a piece of a scan: tables have some dozens.
const PIECE_ROWS: u32 = 8;

/// StartPartialTimeout: the default.
const START_PARTIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// ReplicaAnswerTimeout: the default.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The shape of a cluster.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Data nodes, ids from 1.
    pub data_nodes: u16,
    /// NoOfReplicas.
    pub replicas: usize,
    /// PartitionsPerNode.
    pub partitions_per_node: usize,
    /// SlotsPerNode.
    pub slots_per_node: u16,
    /// SQL nodes, ids from 67.
    pub sql_nodes: u16,
    /// ThreadConfig of data nodes.
    pub thread_config: String,
    /// Another one for those with even numbers.
    pub even_thread_config: Option<String>,
    /// ReadPlacement of all nodes.
    pub read_placement: ReadPlacement,
    /// Memory of each data node.
    pub memory: u64,
    /// Longest delay of a signal between nodes, in microseconds.
    pub delay_max_us: u64,
    /// Rows that a slice may work on at most.
    pub budget_max: u64,
    /// The sizes from which a transaction is large.
    pub sizes: Sizes,
    /// An SQL node that is not started with the others.
    pub late: Option<NodeId>,
    /// A data node with less memory.
    pub cramped: Option<NodeId>,
    /// Memory of the second and third life of a data node: too little to join with.
    pub scant: Option<u64>,
    /// The redo logs of data nodes; none: they keep none.
    pub redo: Option<RedoSettings>,
    /// Scratch of statements; none: they have none.
    pub scratch: Option<ScratchSettings>,
}

/// An item in a module's queue.
enum Item {
    Input(OwnedInput<Shared>),
    /// Bytes of a client, which the module borrows when their turn comes.
    Bytes(ConnectionId, Vec<u8>),
}

/// A module with its queue.
struct Slot {
    module: NodeModule,
    /// Its deadline, as it was after its last input.
    deadline: Option<Instant>,
    queue: VecDeque<Item>,
    outputs: Outputs<Shared>,
    receive: BTreeMap<ConnectionId, ReceiveBuffer>,
    paused: Vec<ConnectionId>,
}

/// A running node.
struct Node {
    role: NodeRole,
    is_open: bool,
    /// Tells its process start apart from others.
    start: u64,
    /// The newest epoch that its module `disk` has said to be flushed.
    flushed: Epoch,
    clock: Clock,
    slots: BTreeMap<Address, Slot>,
    /// QueryMemory that sessions hold which are not simulated.
    taken: Ledger,
}

/// The monotonic clock of one node: it begins anywhere, and goes a little faster or slower than virtual time.
#[derive(Clone, Copy, Debug)]
struct Clock {
    begins_at: u64,
    per_mille: u64,
}

impl Clock {
    /// Two of them differ by less than the 64th that leases allow for.
    fn drawn(random: u64) -> Self {
        Self { begins_at: (random >> 32) % 1_000_000 * 1_000_000, per_mille: 993 + random % 15 }
    }

    fn at(self, virtual_time: u64) -> Instant {
        Instant(self.begins_at + virtual_time * self.per_mille / 1_000)
    }

    /// The first virtual time at which it shows this, or more.
    fn shows(self, instant: Instant) -> u64 {
        let passed = u128::from(instant.0.saturating_sub(self.begins_at));
        u64::try_from((passed * 1_000).div_ceil(u128::from(self.per_mille))).unwrap_or(u64::MAX)
    }
}

/// Something that will happen at a time.
enum Delivery {
    Signal(Box<Envelope>),
    ToServer {
        connection: Link,
        bytes: Vec<u8>,
    },
    ToClient {
        client: usize,
        serial: u32,
        bytes: Vec<u8>,
    },
    ClientClosed {
        client: usize,
        serial: u32,
    },
    ServerClosed {
        connection: Link,
    },
    LinkDown {
        at: NodeId,
        node: NodeId,
    },
    LinkUp {
        at: NodeId,
        node: NodeId,
    },
    /// A node starts (again).
    Start(NodeId),
    /// The disk has done the first request of a lane, if this process still runs.
    DiskDone {
        node: NodeId,
        start: u64,
        lane: DiskLane,
    },
    WakeClient(usize),
    /// At `at` it becomes known that this process of `node` has ended.
    Exited {
        at: NodeId,
        node: NodeId,
        start: u64,
    },
    Disruption(Disruption),
    /// The cut that began at `since` ends.
    Mend {
        from: NodeId,
        to: NodeId,
        since: u64,
    },
    /// The connection does not bear that cut any longer.
    Break {
        from: NodeId,
        to: NodeId,
        since: u64,
    },
}

/// One client's connection as the server side knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Link {
    /// The sql module that serves it.
    pub module: Address,
    /// Its id there.
    pub connection: ConnectionId,
}

/// The disks of all machines, and what they promise.
struct Disks {
    of: BTreeMap<NodeId, Disk>,
    /// Says what they keep when a process or the power is gone.
    prng: Prng,
    /// The highest epoch that all members were ever said to have flushed, and that was said to be durable.
    flushed: Epoch,
    promised: Epoch,
}

/// The steps so far, and what each of them needs.
struct Turns {
    steps: u64,
    readers: Readers,
    agenda: Agenda,
    /// Says which modules may be asked for help.
    relief: Prng,
    /// Says whether reads go row by row, or by columns of batches.
    batches: Prng,
    /// Modules with work; kept only for its memory.
    runnable: Vec<Address>,
}

/// A simulated cluster with its clients.
pub struct World {
    /// All choices come from here.
    pub prng: Prng,
    /// An input.
    pub transcript: Transcript,
    shape: Shape,
    now: u64,
    nodes: BTreeMap<NodeId, Node>,
    deliveries: BinaryHeap<Reverse<Timed<Delivery>>>,
    next_order: u64,
    /// Until when each ordered stream is busy: a later message never overtakes.
    streams: BTreeMap<(Address, Address), u64>,
    client_streams: BTreeMap<(usize, bool), u64>,
    clients: Vec<Client>,
    /// The client at the other end of a server connection.
    peers: BTreeMap<Link, (usize, u32)>,
    next_connection: u32,
    disks: Disks,
    /// How often each node was started.
    lives: BTreeMap<NodeId, u32>,
    faults: Faults,
    /// Nodes that were asked to stop, and live; and all that ever were.
    stopping: BTreeSet<NodeId>,
    stopped: BTreeSet<NodeId>,
    /// The faults of the cluster, and how often each happened.
    pub injected: BTreeMap<&'static str, u64>,
    points: Points,
    turns: Turns,
    /// A module's suspicion of another: here none is broken.
    pub suspicion: Option<String>,
}

impl World {
    /// A cluster of this shape, about to start, with an empty transcript.
    #[must_use]
    pub fn new(seed: u64, shape: Shape, transcript: Transcript) -> Self {
        let mut world = Self {
            prng: Prng::new(seed),
            transcript,
            now: 0,
            nodes: BTreeMap::new(),
            deliveries: BinaryHeap::new(),
            next_order: 0,
            streams: BTreeMap::new(),
            client_streams: BTreeMap::new(),
            clients: Vec::new(),
            peers: BTreeMap::new(),
            next_connection: 0,
            disks: Disks {
                of: BTreeMap::new(),
                prng: Prng::new(seed ^ DISKS),
                flushed: Epoch(0),
                promised: Epoch(0),
            },
            lives: BTreeMap::new(),
            faults: Faults::default(),
            stopping: BTreeSet::new(),
            stopped: BTreeSet::new(),
            injected: BTreeMap::new(),
            points: Points::default(),
            turns: Turns {
                steps: 0,
                readers: Readers::new(seed),
                agenda: Agenda::default(),
                relief: Prng::new(seed ^ RELIEF),
                batches: Prng::new(seed ^ BATCHES),
                runnable: Vec::new(),
            },
            suspicion: None,
            shape,
        };
        world.start_nodes();
        world
    }

    /// Virtual nanoseconds since the start.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Steps so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.turns.steps
    }

    /// The clients.
    #[must_use]
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// One client.
    pub fn client_mut(&mut self, client: usize) -> &mut Client {
        &mut self.clients[client]
    }

    /// Nodes that serve SQL, alive or not.
    #[must_use]
    pub fn sql_nodes(&self) -> Vec<NodeId> {
        self.members()
            .into_iter()
            .filter(|(_, role)| *role != NodeRole::Management)
            .map(|(node, _)| node)
            .collect()
    }

    /// Whether every SQL port accepts connections.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let mut awaited = self.sql_nodes();
        awaited.retain(|node| Some(*node) != self.shape.late);
        awaited.iter().all(|node| self.accepts(*node))
    }

    /// Whether a node accepts connections.
    #[must_use]
    pub fn accepts(&self, node: NodeId) -> bool {
        self.nodes.get(&node).is_some_and(|node| node.is_open)
    }

    /// Whether a node's process runs.
    #[must_use]
    pub fn is_alive(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// Whether a node was asked to stop, and lives.
    #[must_use]
    pub fn is_stopping(&self, node: NodeId) -> bool {
        self.stopping.contains(&node)
    }

    /// Whether a node was ever asked to stop.
    #[must_use]
    pub fn has_stopped(&self, node: NodeId) -> bool {
        self.stopped.contains(&node)
    }

    /// All local data managers that are alive, for checks.
    pub fn ldms(&self) -> impl Iterator<Item = &transaction::Ldm> {
        self.nodes.values().flat_map(|node| node.slots.values()).filter_map(|slot| slot.module.as_ldm())
    }

    /// Those of a node.
    pub fn ldms_of(&self, node: NodeId) -> impl Iterator<Item = &transaction::Ldm> {
        let slots = self.nodes.get(&node).into_iter().flat_map(|node| node.slots.values());
        slots.filter_map(|slot| slot.module.as_ldm())
    }

    /// The data nodes that run, and the newest epoch that each has said to be on its disk in this life.
    #[must_use]
    pub fn flushed(&self) -> Vec<(NodeId, Epoch)> {
        let data = self.nodes.iter().filter(|(_, node)| node.role == NodeRole::Data);
        data.map(|(id, node)| (*id, node.flushed)).collect()
    }

    /// All coordinators that are alive, for checks.
    pub fn tcs(&self) -> impl Iterator<Item = &transaction::Tc> {
        self.nodes.values().flat_map(|node| node.slots.values()).filter_map(|slot| slot.module.as_tc())
    }

    fn members(&self) -> Vec<(NodeId, NodeRole)> {
        let mut members: Vec<(NodeId, NodeRole)> =
            (1..=self.shape.data_nodes).map(|node| (NodeId(node), NodeRole::Data)).collect();
        members.push((MANAGEMENT, NodeRole::Management));
        members.extend((0..self.shape.sql_nodes).map(|index| (NodeId(67 + index), NodeRole::Sql)));
        members
    }

    fn start_nodes(&mut self) {
        let members = self.members();
        let late = self.shape.late;
        for (node, role) in members.iter().filter(|(node, _)| Some(*node) != late) {
            self.start_node(*node, *role, &members);
        }
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            for (other, _) in members.iter().filter(|(other, _)| *other != node && Some(*other) != late) {
                self.enqueue(Address::membership(node), Input::LinkUp { node: *other });
            }
        }
    }

    /// A node is started while the cluster runs.
    fn start_late(&mut self, node: NodeId) {
        let members = self.members();
        let role = members.iter().find(|(member, _)| *member == node).map(|(_, role)| *role);
        let Some(role) = role.filter(|_| !self.nodes.contains_key(&node)) else { return };
        self.transcript.push(format!("{} start of node {node}", self.now));
        self.count("start");
        let others: Vec<NodeId> = self.nodes.keys().copied().collect();
        self.start_node(node, role, &members);
        for other in others {
            for (at, peer) in [(node, other), (other, node)] {
                let time = self.now + self.prng.below(2_000_000);
                self.later(time, Delivery::LinkUp { at, node: peer });
            }
        }
    }

    /// All processes are killed at once or, without power, all machines stop: nobody is left.
    pub fn stop_all(&mut self, has_power: bool) {
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            if has_power {
                self.crash(node);
            } else {
                self.lose_power(node);
            }
        }
        self.count(if has_power { "all killed" } else { "all without power" });
    }

    /// An operator at the management node gives these nodes up, and the rows that only they have.
    pub fn order_data_loss(&mut self, without: &[NodeId]) {
        self.count("data loss ordered");
        let order = RecoveryOrder {
            number: self.next_order,
            cluster: "simulated".to_owned(),
            without: without.to_vec(),
            operator: "an operator".to_owned(),
            goal: RecoveryGoal::Rows,
        };
        let (from, to) = (Address::main(MANAGEMENT), Address::membership(MANAGEMENT));
        self.enqueue(
            to,
            Input::Signal(Envelope::unstamped(from, to, Signal::RecoverVoters(Box::new(order)))),
        );
    }

    /// An operator at the management node has the cluster stop: `shutdown`, `all stop` or `all restart`.
    pub fn order_full_stop(&mut self, extent: FullStop) {
        self.count(match extent {
            FullStop::Shutdown => "full stop ordered",
            FullStop::Stop => "stop of data nodes ordered",
            FullStop::Restart => "restart of data nodes ordered",
        });
        let main = Address::main(MANAGEMENT);
        let signal = Signal::FullStopWanted { extent, reason: "an operator".to_owned() };
        self.enqueue(main, Input::Signal(Envelope::unstamped(main, main, signal)));
    }

    /// How many data nodes are configured.
    #[must_use]
    pub fn data_node_count(&self) -> u16 {
        self.shape.data_nodes
    }

    /// The data nodes of each replica group.
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<NodeId>> {
        let nodes: Vec<NodeId> = (1..=self.shape.data_nodes).map(NodeId).collect();
        nodes.chunks(self.shape.replicas).map(<[NodeId]>::to_vec).collect()
    }

    /// The slots that these nodes hold now, but for the system's.
    #[must_use]
    pub fn slots_of(&self, nodes: &[NodeId]) -> BTreeSet<SlotId> {
        let of_nodes = self.nodes.iter().filter(|(node, _)| nodes.contains(node));
        let ldms = of_nodes.flat_map(|(_, node)| node.slots.values()).filter_map(|slot| slot.module.as_ldm());
        ldms.flat_map(|ldm| ldm.fragments()).map(|(_, slot)| slot).filter(|slot| *slot != SlotId(0)).collect()
    }

    /// Whether no process runs.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How often each data node was started.
    #[must_use]
    pub fn lives(&self) -> BTreeMap<NodeId, u32> {
        let is_data = |(node, _): &(&NodeId, &u32)| (1..=self.shape.data_nodes).contains(&node.0);
        self.lives.iter().filter(is_data).map(|(node, lives)| (*node, *lives)).collect()
    }

    /// How often something happened.
    #[must_use]
    pub fn count_of(&self, what: &str) -> u64 {
        self.injected.get(what).copied().unwrap_or(0)
    }

    /// All nodes start again, each in its own time, within so many nanoseconds.
    pub fn start_all(&mut self, within: u64) {
        for (node, _) in self.members() {
            let delay = self.prng.below(within);
            self.start_later(node, delay);
        }
    }

    fn start_node(&mut self, node: NodeId, role: NodeRole, members: &[(NodeId, NodeRole)]) {
        let kinds: &[ModuleKind] = match role {
            NodeRole::Data if self.shape.redo.is_some() => {
                &[ModuleKind::Sql, ModuleKind::Tc, ModuleKind::Ldm, ModuleKind::Query, ModuleKind::Disk]
            }
            NodeRole::Data => &[ModuleKind::Sql, ModuleKind::Tc, ModuleKind::Ldm, ModuleKind::Query],
            NodeRole::Sql => &[ModuleKind::Sql],
            NodeRole::Management => &[],
        };
        let even = self.shape.even_thread_config.as_ref().filter(|_| node.0.is_multiple_of(2));
        let thread_config = even.unwrap_or(&self.shape.thread_config).as_str();
        let thread_config = (role == NodeRole::Data).then_some(thread_config);
        let layout = Layout::plan(&LayoutRequest { thread_config, share: CpuShare::ONE, cpus: &[], kinds });
        stdx::require!(layout.is_ok(), "the shape's ThreadConfig is wrong");
        let Ok(layout) = layout else { return };
        let memory = self.memory_of(node);
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(memory));
        let start = self.prng.next_u64();
        let settings = NodeSettings {
            node,
            cluster: "simulated".to_owned(),
            role,
            host: format!("node{node}"),
            start,
            members: members.to_vec(),
            configured: Vec::new(),
            configured_values: Vec::new(),
            config_text: String::new(),
            start_check: None,
            authority: None,
            reporting: None,
            replica_count: self.shape.replicas,
            partitions_per_node: self.shape.partitions_per_node,
            slots_per_node: self.shape.slots_per_node,
            time_between_epochs: transaction::epochs::TIME_BETWEEN_EPOCHS,
            sessions: SessionSettings {
                max_connections: 100,
                globals: Arc::new(self.globals()),
                scratch: self.shape.scratch,
                read_placement: self.shape.read_placement,
                ..SessionSettings::default()
            },
            driver: node::Driver::default(),
            marker_time: MARKER_TIME,
            sizes: self.shape.sizes,
            heartbeat_interval: DetectorConfig::DEFAULT.interval,
            answer_timeout: ANSWER_TIMEOUT,
            redo: self.shape.redo.clone().filter(|_| role == NodeRole::Data),
            full_stops: FullStopSettings {
                keeps_rows: self.shape.redo.is_some(),
                start_partial_timeout: START_PARTIAL_TIMEOUT,
            },
            control_log: self.disks.of.entry(node).or_default().begin_process(),
            version: "simulated".to_owned(),
        };
        let mut slots = BTreeMap::new();
        for (address, module) in build(&settings, &layout, &memory) {
            let mut seed = [0; 32];
            self.prng.fill(&mut seed);
            let queue = VecDeque::from([Item::Input(Input::Start { seed })]);
            let slot = Slot {
                deadline: module.deadline(),
                module,
                queue,
                outputs: Outputs::default(),
                receive: BTreeMap::new(),
                paused: Vec::new(),
            };
            slots.insert(address, slot);
            self.turns.agenda.set(address, AT_ONCE);
        }
        let clock = Clock::drawn(start);
        let flushed = Epoch(0);
        let taken = Ledger::new(memory, Region::QueryMemory);
        self.nodes.insert(node, Node { role, is_open: false, start, flushed, clock, slots, taken });
    }

    /// The system variables that config.ini says.
    fn globals(&self) -> Globals {
        let keeps_rows = self.shape.redo.is_some();
        keeps_rows.then(|| ("latsdb_diskless", "OFF".to_owned())).into_iter().collect()
    }

    /// How much a node gets in the life that begins now.
    fn memory_of(&mut self, node: NodeId) -> u64 {
        let lives = self.lives.entry(node).or_insert(0);
        *lives += 1;
        let is_scant = (2..=SCANT_LIVES).contains(lives);
        match self.shape.scant.filter(|_| is_scant) {
            Some(scant) => scant,
            None if self.shape.cramped == Some(node) => CRAMPED,
            None => self.shape.memory,
        }
    }

    /// Its machine is gone, with its disk.
    pub fn lose(&mut self, node: NodeId) {
        self.crash(node);
        self.disk_mut(node).lose_all();
        self.count("disk lost");
    }

    /// An operator of a node orders that the control log goes on without these.
    pub fn order_recovery(&mut self, node: NodeId, without: &[NodeId]) {
        self.count("recovery ordered");
        let order = RecoveryOrder {
            number: self.next_order,
            cluster: "Simulated".to_owned(),
            without: without.to_vec(),
            operator: "an operator".to_owned(),
            goal: RecoveryGoal::Voters,
        };
        let signal = Signal::RecoverVoters(Box::new(order));
        let envelope = Envelope::unstamped(Address::main(node), Address::membership(node), signal);
        self.enqueue(Address::membership(node), Input::Signal(envelope));
    }

    // ---- running
    // -----------------------------------------------------------------------------------------------------------------

    /// Does one thing. False if nothing can ever happen again.
    pub fn step(&mut self) -> bool {
        self.turns.steps += 1;
        self.turns.readers.step();
        self.deliver_due();
        let mut runnable = std::mem::take(&mut self.turns.runnable);
        runnable.clear();
        self.find_runnable(&mut runnable);
        let has_work = !runnable.is_empty();
        if has_work {
            let address = runnable[self.prng.index(runnable.len())];
            self.run_module(address);
        }
        self.turns.runnable = runnable;
        has_work || self.jump()
    }

    /// Steps until `done`, or until a number of virtual milliseconds have passed: then false.
    pub fn run_until(&mut self, milliseconds: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + milliseconds * 1_000_000;
        let last_step = self.turns.steps + STEPS_MAX;
        while self.now < end && self.turns.steps < last_step {
            if done(self) {
                return true;
            }
            if !self.step() {
                return done(self);
            }
        }
        false
    }

    fn find_runnable(&self, found: &mut Vec<Address>) {
        let with_work = self.turns.agenda.iter().filter(|(_, at)| *at <= self.now).map(|(module, _)| module);
        found.extend(with_work.filter(|module| self.faults.pause_of(*module) <= self.now));
    }

    /// Nobody has work: time goes on to whatever comes next.
    fn jump(&mut self) -> bool {
        let delivery = self.deliveries.peek().map(|Reverse(timed)| timed.at);
        let with_work = self.turns.agenda.iter().filter(|(_, at)| *at != NEVER);
        // A module that stands still has its work to do when it goes on.
        let work = with_work.map(|(module, at)| at.max(self.faults.pause_of(module))).min();
        let Some(next) = [delivery, work].into_iter().flatten().min() else { return false };
        self.now = self.now.max(next);
        true
    }

    fn clock_of(&self, node: NodeId) -> Now {
        let clock = self.nodes.get(&node).map_or(Clock { begins_at: 0, per_mille: 1_000 }, |node| node.clock);
        Now { monotonic: clock.at(self.now), wall: WallTime(WALL_START_US + self.now / 1_000) }
    }

    fn slot_mut(&mut self, address: Address) -> Option<&mut Slot> {
        self.nodes.get_mut(&address.node)?.slots.get_mut(&address)
    }

    fn enqueue(&mut self, address: Address, input: OwnedInput<Shared>) {
        self.enqueue_item(address, Item::Input(input));
    }

    fn enqueue_item(&mut self, address: Address, item: Item) {
        if let Some(slot) = self.slot_mut(address) {
            slot.queue.push_back(item);
            self.turns.agenda.set(address, AT_ONCE);
        }
    }

    /// A module's queue or deadline has changed.
    fn note_work(&mut self, address: Address) {
        let Some(node) = self.nodes.get(&address.node) else { return };
        let Some(slot) = node.slots.get(&address) else { return };
        let at = match slot.deadline {
            _ if !slot.queue.is_empty() => AT_ONCE,
            Some(deadline) => node.clock.shows(deadline),
            None => NEVER,
        };
        self.turns.agenda.set(address, at);
    }

    fn run_module(&mut self, address: Address) {
        self.now += 200 + self.prng.below(5_000);
        let now = self.clock_of(address.node);
        let mut budget = Budget::of(u32::try_from(1 + self.prng.below(self.shape.budget_max)).unwrap_or(1));
        budget.relief = self.drawn_relief(address);
        budget.batches_after = [None, Some(0), Some(8), Some(BATCHES_AFTER)][self.turns.batches.index(4)];
        budget.piece_rows = PIECE_ROWS;
        let Some(slot) = self.slot_mut(address) else { return };
        match slot.queue.pop_front() {
            None => slot.module.handle(now, Input::Deadline, &mut budget, &mut slot.outputs),
            Some(item) => feed(slot, now, item, &mut budget),
        }
        while disposal::free_some(1) {}
        slot.deadline = slot.module.deadline();
        self.note_work(address);
        self.take_outputs(address);
    }

    /// Often one of a node's modules `query` is there to help a session.
    fn drawn_relief(&mut self, module: Address) -> Option<u8> {
        let is_adaptive = self.shape.read_placement == ReadPlacement::Adaptive;
        if module.kind != ModuleKind::Sql || !is_adaptive || self.turns.relief.chance(1, 2) {
            return None;
        }
        let modules = self.nodes.get(&module.node)?.slots.keys();
        let query: Vec<u8> =
            modules.filter(|other| other.kind == ModuleKind::Query).map(|other| other.instance).collect();
        (!query.is_empty()).then(|| query[self.turns.relief.index(query.len())])
    }

    /// Moves what a handler wanted into queues and the network.
    fn take_outputs(&mut self, address: Address) {
        let Some(slot) = self.slot_mut(address) else { return };
        let signals = std::mem::take(&mut slot.outputs.signals);
        let shared = std::mem::take(&mut slot.outputs.shared);
        let actions = std::mem::take(&mut slot.outputs.actions);
        let events = std::mem::take(&mut slot.outputs.events);
        let requests = std::mem::take(&mut slot.outputs.requests);
        let disk_requests = std::mem::take(&mut slot.outputs.disk_requests);
        let (mut replies, mut dirty) = (Vec::new(), Vec::new());
        slot.outputs.take_dirty(&mut dirty);
        for connection in dirty {
            if let Some(bytes) = slot.outputs.unsent(connection)
                && !bytes.is_empty()
            {
                replies.push((connection, std::mem::take(bytes)));
            }
        }
        for event in events {
            if event.message.starts_with(BROKEN_PEER) {
                self.suspicion.get_or_insert_with(|| format!("{address}: {}", event.message));
            }
            if event.message.ends_with("has all rows") {
                self.count("copied");
            }
            self.transcript.push(format!("{} {address} event {}", self.now, event.message));
        }
        for envelope in signals {
            if !envelope.signal.is_for(envelope.to.kind) {
                let (to, what) = (envelope.to, envelope.signal.name());
                self.suspicion.get_or_insert_with(|| format!("{address} says {what} to {to}"));
            }
            if let Signal::VotersRecovered { text, .. } = &envelope.signal {
                self.count(match text.as_str() {
                    text if text.starts_with("the control log goes on") => "recovered",
                    text if text.starts_with("the cluster starts with what is left") => "rows given up",
                    _ => "recovery refused",
                });
                self.transcript.push(format!("{} operator of node {} hears: {text}", self.now, address.node));
            }
            if let Signal::Leaving { step: LeaveStep::Stop { flushed_in: Some(_), .. } } = envelope.signal {
                self.count("stop is to be recorded");
            }
            if let Signal::EpochClosed { epoch, .. } = envelope.signal {
                self.check_closed(envelope.view, epoch);
            }
            if let Signal::Flushed { epoch } = envelope.signal
                && let Some(node) = self.nodes.get_mut(&address.node)
            {
                node.flushed = epoch;
            }
            if let Signal::EpochDurable { flushed, durable, .. } = envelope.signal {
                // An older view's word is repeated, and members that are new have not flushed it.
                if flushed > self.disks.flushed {
                    self.check_durable(address.node, envelope.view, flushed);
                    self.disks.flushed = flushed;
                }
                self.disks.promised = self.disks.promised.max(durable);
            }
            if let Signal::EpochWhole { epoch } = envelope.signal {
                self.check_whole(address, epoch);
            }
            self.check_laggard(&envelope);
            self.send(envelope);
        }
        self.end_doomed();
        for (from, to, object) in shared {
            self.enqueue(to, Input::Shared { from, shared: object });
        }
        for (connection, bytes) in replies {
            self.send_to_client(Link { module: address, connection }, bytes);
        }
        for (connection, action) in actions {
            self.act(Link { module: address, connection }, action);
        }
        for request in disk_requests {
            self.ask_disk(address, request);
        }
        for request in requests {
            match request {
                RequestToRuntime::OpenListeners => {
                    if let Some(node) = self.nodes.get_mut(&address.node) {
                        node.is_open = node.role != NodeRole::Management;
                    }
                }
                RequestToRuntime::Exit(code) => {
                    if code == EXIT_LEFT_OUT {
                        self.note_left_out(address.node);
                    }
                    self.crash(address.node);
                    if matches!(code, EXIT_LEFT_OUT | EXIT_CANNOT_JOIN) {
                        // Its angel starts it again.
                        self.count("left out");
                        let pause = 1_000_000 + self.prng.below(50_000_000);
                        self.start_later(address.node, pause);
                    }
                }
                // Clients of a simulation have no passwords.
                RequestToRuntime::Report
                | RequestToRuntime::PublicKey { .. }
                | RequestToRuntime::Decrypt { .. } => {}
            }
        }
    }

    /// Closed means: no primary has anything of that epoch or an earlier one to decide.
    fn check_closed(&self, view: ViewNumber, closed: Epoch) {
        for (at, lowest) in self.ldms().map(transaction::Ldm::lowest_stamp) {
            let is_drained = at != view || lowest.is_none_or(|lowest| lowest > closed);
            stdx::require!(is_drained, "epoch {closed} is closed, and one of {lowest:?} is undecided");
        }
    }

    /// Whole means: an ldm has decided everything of that epoch and of those below, as primary and as backup (I9).
    fn check_whole(&self, address: Address, whole: Epoch) {
        let node = self.nodes.get(&address.node);
        let ldm = node.and_then(|node| node.slots.get(&address)?.module.as_ldm());
        let lowest = ldm.and_then(transaction::Ldm::lowest_undecided);
        let is_whole = lowest.is_none_or(|lowest| lowest > whole);
        stdx::require!(is_whole, "epoch {whole} is whole at {address}, and one of {lowest:?} is undecided");
    }

    /// All members in sync have flushed what is said to be so (I10), those that are gone aside.
    fn check_durable(&self, master: NodeId, said_in: ViewNumber, flushed: Epoch) {
        let view = self.ldms_of(master).map(transaction::Ldm::view).find(|view| view.number == said_in);
        let Some(view) = view else { return };
        // A node that begins a given-up group empty counts when it has the system tables: nothing is durable before.
        let in_sync = view.groups.first().into_iter().flat_map(|group| &group.in_sync);
        for member in in_sync.filter_map(|node| Some((node, self.nodes.get(node)?))) {
            let (node, Node { flushed: own, .. }) = member;
            let is_of_view = self.ldms_of(*node).all(|ldm| ldm.view().number == said_in);
            stdx::require!(
                *own >= flushed || !is_of_view,
                "epoch {flushed} is said to be flushed, and node {node} has flushed {own}"
            );
        }
    }

    /// The highest epoch that was ever said to be durable.
    #[must_use]
    pub fn promised(&self) -> Epoch {
        self.disks.promised
    }

    // ---- disks ------------------------------------------------------------------------------------------------------

    /// The disk of a node, alive or not: scenarios give it faults.
    pub fn disk_mut(&mut self, node: NodeId) -> &mut Disk {
        self.disks.of.entry(node).or_default()
    }

    /// It, as it is.
    #[must_use]
    pub fn disk(&self, node: NodeId) -> Option<&Disk> {
        self.disks.of.get(&node)
    }

    /// The size of a file of the redo log.
    #[must_use]
    pub fn redo_file_size(&self) -> Option<u64> {
        self.shape.redo.as_ref().map(|redo| redo.file_size)
    }

    /// Whether some disk is doing such an operation now.
    #[must_use]
    pub fn is_at(&self, lane: DiskLane, is_meant: impl Fn(&DiskOperation) -> bool) -> bool {
        let under_way =
            |disk: &Disk| disk.under_way(lane).is_some_and(|request| is_meant(&request.operation));
        self.disks.of.values().any(under_way)
    }

    /// The disk of a node does nothing in a lane for so many nanoseconds.
    pub fn stall_disk(&mut self, node: NodeId, lane: DiskLane, nanoseconds: u64) {
        let until = self.now + nanoseconds;
        self.count("disk stalled");
        let text = format!("{} the disk of node {node} stands still until {until}: {lane:?}", self.now);
        self.transcript.push(text);
        let stalled = &mut self.disk_mut(node).stalled_until[lane as usize];
        *stalled = until.max(*stalled);
    }

    /// Sessions that are not simulated take all QueryMemory of a node.
    pub fn take_query_memory(&mut self, node: NodeId) {
        self.count("query memory taken");
        self.transcript.push(format!("{} nothing is left of QueryMemory of node {node}", self.now));
        let Some(node) = self.nodes.get_mut(&node) else { return };
        let mut bytes = 1 << 40;
        while bytes > 0 {
            if node.taken.charge(bytes).is_err() {
                bytes /= 2;
            }
        }
    }

    /// They give it back.
    pub fn give_query_memory(&mut self, node: NodeId) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.taken.release(node.taken.used());
        }
    }

    fn ask_disk(&mut self, from: Address, request: DiskRequest) {
        let lane = request.lane;
        if is_trimming(&request) {
            self.count("log trimmed");
        }
        if self.disk_mut(from.node).ask(from, request) {
            self.work_on(from.node, lane);
        }
    }

    /// A disk takes its time, above all for a sync.
    fn work_on(&mut self, node: NodeId, lane: DiskLane) {
        let Some(start) = self.nodes.get(&node).map(|node| node.start) else { return };
        let Some(request) = self.disk_mut(node).under_way(lane) else { return };
        let time = match request.operation {
            DiskOperation::Write { sync: true, .. }
            | DiskOperation::Sync { .. }
            | DiskOperation::Replace { .. }
            | DiskOperation::Prepare { .. }
            | DiskOperation::Rename { .. } => 100_000 + self.prng.below(8_000_000),
            DiskOperation::Write { sync: false, .. }
            | DiskOperation::Read { .. }
            | DiskOperation::Create { .. }
            | DiskOperation::Remove { .. }
            | DiskOperation::List
            | DiskOperation::Space => 10_000 + self.prng.below(200_000),
        };
        self.later(self.now + time, Delivery::DiskDone { node, start, lane });
    }

    fn disk_done(&mut self, node: NodeId, start: u64, lane: DiskLane) {
        if self.nodes.get(&node).is_none_or(|node| node.start != start) {
            return;
        }
        let stalled_until = self.disk_mut(node).stalled_until[lane as usize];
        if stalled_until > self.now {
            return self.later(stalled_until, Delivery::DiskDone { node, start, lane });
        }
        let Some((from, ticket, result)) = self.disk_mut(node).finish(lane) else { return };
        self.enqueue(from, Input::DiskDone { ticket, result });
        self.work_on(node, lane);
    }

    // ---- the network
    // --------------------------------------------------------------------------------------------------------------

    fn later(&mut self, at: u64, delivery: Delivery) {
        self.next_order += 1;
        self.deliveries.push(Reverse(Timed { at, order: self.next_order, delivery }));
    }

    fn send(&mut self, envelope: Envelope) {
        let line = format!("{} {} -> {} {}", self.now, envelope.from, envelope.to, envelope.signal.name());
        self.transcript.push_with(line, || format!("v{} {:?}", envelope.view.0, envelope.signal));
        if self.faults.down.contains(&(envelope.from.node, envelope.to.node)) {
            return;
        }
        let stream = (envelope.from, envelope.to);
        let late = match self.fate_of(&envelope) {
            Fate::Usual => 0,
            Fate::Lost => return,
            Fate::Late(nanoseconds) => nanoseconds,
        };
        let delay = if stream.0.node == stream.1.node { 0 } else { self.draw_delay() + late };
        let busy = self.streams.get(&stream).copied().unwrap_or(0);
        let at = busy.max(self.now + delay);
        self.streams.insert(stream, at);
        if delay == 0 {
            self.arrive(Box::new(envelope));
        } else {
            self.later(at, Delivery::Signal(Box::new(envelope)));
        }
    }

    fn arrive(&mut self, envelope: Box<Envelope>) {
        if self.survives(&envelope) {
            self.enqueue(envelope.to, Input::Signal(*envelope));
        }
    }

    /// Mostly short, sometimes long.
    fn draw_delay(&mut self) -> u64 {
        let usual = 5_000 + self.prng.below(50_000);
        if self.prng.chance(1, 20) {
            usual + self.prng.below(self.shape.delay_max_us.max(1) * 1_000)
        } else {
            usual
        }
    }

    fn client_time(&mut self, client: usize, to_server: bool) -> u64 {
        let at = self.now + 2_000 + self.prng.below(30_000);
        let busy = self.client_streams.entry((client, to_server)).or_insert(0);
        *busy = at.max(*busy);
        *busy
    }

    fn deliver_due(&mut self) {
        while self.deliveries.peek().is_some_and(|Reverse(timed)| timed.at <= self.now) {
            let Some(Reverse(timed)) = self.deliveries.pop() else { return };
            match timed.delivery {
                Delivery::Signal(envelope) => {
                    if let Some(envelope) = self.faults.keep(envelope) {
                        self.arrive(envelope);
                    }
                }
                Delivery::ToServer { connection, bytes } => {
                    self.enqueue_item(connection.module, Item::Bytes(connection.connection, bytes));
                }
                Delivery::ServerClosed { connection } => {
                    self.peers.remove(&connection);
                    self.enqueue(connection.module, closed(connection.connection));
                }
                Delivery::ToClient { client, serial, bytes } => {
                    self.clients[client].receive(serial, &bytes);
                    self.run_client(client);
                }
                Delivery::ClientClosed { client, serial } => {
                    self.clients[client].lose(serial);
                    self.run_client(client);
                }
                Delivery::LinkDown { at, node } => {
                    self.faults.down.insert((at, node));
                    self.enqueue(Address::membership(at), Input::LinkDown { node });
                }
                Delivery::LinkUp { at, node } => {
                    // The first end that knows of a link can be answered over it.
                    if self.is_alive(at) && self.is_alive(node) {
                        self.faults.down.remove(&(at, node));
                        self.faults.down.remove(&(node, at));
                        self.enqueue(Address::membership(at), Input::LinkUp { node });
                    }
                }
                // It may have lived and ended since this start was drawn.
                Delivery::Start(node) if self.quiet_at(node) > self.now => {
                    self.later(self.quiet_at(node), Delivery::Start(node));
                }
                Delivery::Start(node) => self.start_late(node),
                Delivery::DiskDone { node, start, lane } => self.disk_done(node, start, lane),
                Delivery::WakeClient(client) if self.clients[client].is_due(timed.at) => {
                    self.run_client(client)
                }
                Delivery::WakeClient(_) => {}
                Delivery::Exited { at, node, start } => {
                    self.enqueue(Address::membership(at), Input::ProcessExited { node, start });
                }
                Delivery::Disruption(disruption) => self.begin(disruption),
                Delivery::Mend { from, to, since } => self.mend(from, to, since),
                Delivery::Break { from, to, since } => self.break_link(from, to, since),
            }
        }
    }

    // ---- clients
    // -----------------------------------------------------------------------------------------------------------------

    /// Adds a client; it acts when it is run.
    pub fn add_client(&mut self, client: Client) -> usize {
        self.clients.push(client);
        self.clients.len() - 1
    }

    /// Connects a client to a node: to a drawn sql module of it. False if the node does not accept.
    pub fn connect(&mut self, client: usize, node: NodeId) -> bool {
        let Some(found) = self.nodes.get(&node).filter(|found| found.is_open) else { return false };
        let modules: Vec<Address> =
            found.slots.keys().copied().filter(|address| address.kind == ModuleKind::Sql).collect();
        let module = modules[self.prng.index(modules.len())];
        self.next_connection += 1;
        let connection = ConnectionId { slot: self.next_connection, generation: 1 };
        let link = Link { module, connection };
        let serial = self.clients[client].open(link);
        self.peers.insert(link, (client, serial));
        let kind = ConnectionKind::MySqlTcp { loopback: true };
        self.enqueue(module, Input::Opened { connection, kind, peer: format!("client{client}") });
        true
    }

    /// Runs a client at a time; an earlier wish is void, so that wakes do not breed.
    fn wake_client(&mut self, at: u64, client: usize) {
        self.clients[client].expect_wake(at);
        self.later(at, Delivery::WakeClient(client));
    }

    /// Sends what a client has to say, in drawn pieces.
    pub fn run_client(&mut self, client: usize) {
        if self.transcript.is_detailed {
            self.clients[client].exchange = Some(String::new());
        }
        let wake = {
            let now = self.now;
            self.clients[client].run(now, &mut self.prng)
        };
        if let Some(exchange) = self.clients[client].exchange.take().filter(|exchange| !exchange.is_empty()) {
            self.transcript.add_detail(format!("{} client {client}: {exchange}", self.now));
        }
        if let Some(at) = wake {
            let at = at.max(self.now + 1_000);
            self.wake_client(at, client);
        }
        if let Some(node) = self.clients[client].target()
            && !self.clients[client].wants_close()
            && !self.connect(client, node)
        {
            self.clients[client].refuse();
            let at = self.now + 1_000_000;
            self.wake_client(at, client);
        }
        let Some(link) = self.clients[client].link() else { return };
        let mut bytes = self.clients[client].take_output();
        while !bytes.is_empty() {
            let count = if self.prng.chance(1, 8) { 1 + self.prng.index(bytes.len()) } else { bytes.len() };
            let rest = bytes.split_off(count);
            let at = self.client_time(client, true);
            self.later(at, Delivery::ToServer { connection: link, bytes });
            bytes = rest;
        }
        if self.clients[client].wants_close() {
            let at = self.client_time(client, true);
            self.clients[client].closed();
            self.later(at, Delivery::ServerClosed { connection: link });
            self.wake_client(at, client);
        }
    }

    fn send_to_client(&mut self, link: Link, bytes: Vec<u8>) {
        if let Some((client, serial)) = self.peers.get(&link).copied() {
            let at = self.client_time(client, false);
            self.later(at, Delivery::ToClient { client, serial, bytes });
        }
    }

    fn act(&mut self, link: Link, action: ConnectionAction) {
        match action {
            ConnectionAction::Close | ConnectionAction::Reject => {
                if let Some((client, serial)) = self.peers.remove(&link) {
                    let at = self.client_time(client, false);
                    self.later(at, Delivery::ClientClosed { client, serial });
                }
                self.enqueue(link.module, closed(link.connection));
            }
            ConnectionAction::PauseReading => {
                if let Some(slot) = self.slot_mut(link.module) {
                    slot.paused.push(link.connection);
                }
            }
            ConnectionAction::ResumeReading => {
                if let Some(slot) = self.slot_mut(link.module) {
                    slot.paused.retain(|paused| *paused != link.connection);
                }
                self.enqueue_item(link.module, Item::Bytes(link.connection, Vec::new()));
            }
            ConnectionAction::StartTls => stdx::require!(false, "the simulator has no TLS"),
        }
    }
}

/// Whether a file of the log goes, or is used again, because checkpoints have made it superfluous.
fn is_trimming(request: &DiskRequest) -> bool {
    match request.operation {
        DiskOperation::Rename { from: FileName::Redo(_), .. } => true,
        DiskOperation::Remove { file: FileName::Redo(_) } => request.lane == DiskLane::Redo,
        DiskOperation::Rename { .. }
        | DiskOperation::Remove { .. }
        | DiskOperation::Write { .. }
        | DiskOperation::Sync { .. }
        | DiskOperation::Replace { .. }
        | DiskOperation::Read { .. }
        | DiskOperation::Prepare { .. }
        | DiskOperation::Create { .. }
        | DiskOperation::List
        | DiskOperation::Space => false,
    }
}

fn closed(connection: ConnectionId) -> OwnedInput<Shared> {
    Input::Closed { connection, reason: CloseReason::Peer }
}

/// Gives one queued input to its module.
fn feed(slot: &mut Slot, now: Now, item: Item, budget: &mut Budget) {
    let input = match item {
        Item::Input(input) => {
            if let Input::Opened { connection, .. } = &input {
                slot.receive.insert(*connection, ReceiveBuffer::default());
            }
            if let Input::Closed { connection, .. } = &input {
                if slot.receive.remove(connection).is_none() {
                    return;
                }
                slot.outputs.forget(*connection);
            }
            input
        }
        Item::Bytes(connection, bytes) => {
            let Some(buffer) = slot.receive.get_mut(&connection) else { return };
            buffer.tail().extend_from_slice(&bytes);
            if slot.paused.contains(&connection) {
                return;
            }
            Input::Bytes { connection, buffer }
        }
    };
    slot.module.handle(now, input, budget, &mut slot.outputs);
}

/// A memory manager for tests of one node.
#[must_use]
pub fn small_memory() -> Arc<MemoryManager> {
    MemoryManager::new(MemoryConfig::with_data_memory(64 << 20))
}
