//! A cluster of two data nodes and a management node, driven one operation at a time.
//!
//! Its modules and their threads are those of production: a data node has two workers, each with `sql`, `tc`, `query`
//! and `ldm`, and threads for `main` and `membership`. A round of a thread is that of `runtime::worker`: parcels and
//! links, the queue, clients, the queue again, flush. Signals to another node go through the bytes of a link.
//!
//! Threads run one after the other, in the order in which they were woken. A thread that has nothing to do sleeps, so
//! a thread that sends it something wakes it. A signal that may wait wakes nobody.
//!
//! Invariants: the same calls give the same cluster, always. Time stands still but in [`Cluster::pass_time`], so no
//! deadline falls into an operation. The work of modules is counted, that of this driver is not.
//!
//! Deliberately not here: choices by a seed, faults (`simulator::world`); sockets, rings and system calls (`runtime`).
//! Nodes keep no rows on disk.

use crate::meter::{Owner, Part, measured};
use membership::detector::DetectorConfig;
use memory::quiescence::{ThreadSlot, register_thread};
use memory::{MemoryConfig, MemoryManager};
use mysql_protocol::client::{ClientConnection, ClientOptions, Response};
use node::{FullStopSettings, NodeModule, NodeSettings, SessionSettings, build};
use protocol::disk::DiskLane;
use protocol::layout::{CpuShare, Layout, LayoutRequest};
use protocol::module::ConnectionAction;
use protocol::transport::{decode_envelope, encode_envelope, next_frame};
use protocol::{
    Address, Budget, ConnectionId, ConnectionKind, Envelope, Input, Module, ModuleKind, NodeRole, Outputs,
    OwnedInput, ReceiveBuffer, RequestToRuntime, Signal,
};
use query::{NodeMap, Shared};
use simulator::disk::Disk;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::wire::WIRE_VERSION;
use stdx::{Duration, Instant, Now, WallTime, disposal};
use transaction::Sizes;
use types::NodeId;

/// The nodes.
const MEMBERS: [(NodeId, NodeRole); 3] =
    [(NodeId(1), NodeRole::Data), (NodeId(2), NodeRole::Data), (NodeId(65), NodeRole::Management)];
/// Workers of a data node.
const WORKERS: u16 = 2;
/// SlotsPerNode, PartitionsPerNode and memory, as the defaults are.
const SLOTS_PER_NODE: u16 = 64;
const PARTITIONS_PER_NODE: usize = 2;
const DATA_MEMORY: u64 = 256 << 20;
/// Rows of a slice. The runtime finds such a number by measuring.
const SLICE_ROWS: u32 = 256;
/// When time begins, in microseconds.
const WALL_START_US: u64 = 1_767_225_600_000_000;
/// How long anything may take that is not counted.
const PATIENCE: Duration = Duration::from_secs(60);
/// Log lines that are kept.
const LOG_LINES: usize = 100;
/// The step in which time passes while something is waited for.
const STEP: Duration = Duration::from_millis(1);

/// Signals, bytes and wakes since the counting began.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Traffic {
    /// Signals between modules of one thread.
    pub(crate) own_thread: u64,
    /// Signals and shared objects between threads of one node.
    pub(crate) other_thread: u64,
    /// Signals between nodes, and the bytes of their frames.
    pub(crate) other_node: u64,
    pub(crate) link_bytes: u64,
    /// Threads that slept and were woken by another thread or a link.
    pub(crate) wakes: u64,
}

/// An input on its way to a module.
struct Work {
    to: Address,
    input: OwnedInput<Shared>,
}

/// A thread of a node.
#[derive(Default)]
struct Thread {
    outputs: Outputs<Shared>,
    queue: VecDeque<Work>,
    /// Slices of the next round.
    continues: VecDeque<Work>,
    /// Parcels of other threads of the node.
    inbox: VecDeque<Work>,
    /// Bytes of links.
    received: Vec<u8>,
    /// Connections with bytes.
    ready: VecDeque<(Address, ConnectionId)>,
    /// The buffer that signals are encoded in.
    frame: Vec<u8>,
    is_awake: bool,
}

/// A connection as the driver sees it.
#[derive(Default)]
struct Connection {
    buffer: ReceiveBuffer,
    is_paused: bool,
    is_closed: bool,
    /// Bytes for the client.
    replies: Vec<u8>,
}

/// A client's session with a node.
pub(crate) struct Session {
    module: Address,
    connection: ConnectionId,
    /// The client's end.
    pub(crate) client: ClientConnection,
}

/// The cluster.
pub(crate) struct Cluster {
    now: Instant,
    threads: Vec<Thread>,
    modules: BTreeMap<Address, (usize, NodeModule)>,
    disks: BTreeMap<NodeId, Disk>,
    connections: BTreeMap<(Address, ConnectionId), Connection>,
    open: BTreeSet<NodeId>,
    maps: BTreeMap<NodeId, Arc<NodeMap>>,
    /// Threads that have work, in the order in which they were woken.
    awake: VecDeque<usize>,
    /// Threads to wake when the running one flushes.
    dirty: Vec<usize>,
    /// That of this one thread, which holds nothing between two rounds.
    quiescence: ThreadSlot,
    pub(crate) traffic: Traffic,
    /// The newest log lines, for a failure.
    log: VecDeque<String>,
}

impl Cluster {
    /// A cluster that accepts clients.
    pub(crate) fn start() -> Self {
        let mut cluster = Self {
            now: Instant(1_000_000_000),
            threads: Vec::new(),
            modules: BTreeMap::new(),
            disks: BTreeMap::new(),
            connections: BTreeMap::new(),
            open: BTreeSet::new(),
            maps: BTreeMap::new(),
            awake: VecDeque::new(),
            dirty: Vec::new(),
            quiescence: register_thread(),
            traffic: Traffic::default(),
            log: VecDeque::new(),
        };
        for (node, role) in MEMBERS {
            cluster.start_node(node, role);
        }
        for (node, _) in MEMBERS {
            for (other, _) in MEMBERS.iter().filter(|(other, _)| *other != node) {
                cluster.give(Address::membership(node), Input::LinkUp { node: *other });
            }
        }
        let data_nodes = MEMBERS.iter().filter(|(_, role)| *role == NodeRole::Data).count();
        cluster.await_that("the cluster starts", |cluster| cluster.open.len() >= data_nodes);
        cluster
    }

    fn start_node(&mut self, node: NodeId, role: NodeRole) {
        let kinds: &[ModuleKind] = match role {
            NodeRole::Data => &[ModuleKind::Sql, ModuleKind::Tc, ModuleKind::Ldm, ModuleKind::Query],
            NodeRole::Sql | NodeRole::Management => &[],
        };
        let share = CpuShare { workers: WORKERS, ldm_count: WORKERS, is_pinned: false, may_spin: false };
        let layout = Layout::plan(&LayoutRequest { thread_config: None, share, cpus: &[], kinds });
        let layout = layout.unwrap_or_else(|error| panic!("the layout: {error}"));
        let first = self.threads.len();
        self.threads.extend(layout.threads.iter().map(|_| Thread::default()));
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(DATA_MEMORY));
        let mut disk = Disk::default();
        let settings = settings(node, role, disk.begin_process());
        self.disks.insert(node, disk);
        for (address, module) in build(&settings, &layout, &memory) {
            let place = (address.kind, address.instance);
            let thread = layout.threads.iter().position(|plan| plan.modules.contains(&place));
            let Some(thread) = thread else { panic!("{address} has no thread") };
            self.modules.insert(address, (first + thread, module));
            let mut seed = [address.instance; 32];
            seed[0] = address.kind as u8;
            seed[1..3].copy_from_slice(&node.0.to_le_bytes());
            self.give(address, Input::Start { seed });
        }
    }

    /// The newest map of a node.
    pub(crate) fn map(&self, node: NodeId) -> &NodeMap {
        self.maps.get(&node).unwrap_or_else(|| panic!("node {node} has no map"))
    }

    /// A node's process ends: its peers lose their links, and its angel tells them. Goes on until the others
    /// have a map of a view in which it is not in sync.
    pub(crate) fn lose(&mut self, node: NodeId) {
        self.modules.retain(|address, _| address.node != node);
        let peers = || MEMBERS.iter().map(|(peer, _)| *peer).filter(move |peer| *peer != node);
        let is_over = |cluster: &Self| peers().all(|peer| !cluster.map(peer).view.is_in_sync(node));
        for peer in peers() {
            self.give(Address::membership(peer), Input::LinkDown { node });
            self.give(Address::membership(peer), Input::ProcessExited { node, start: u64::from(node.0) });
        }
        self.await_that("the next view", is_over);
    }

    // ---- time -------------------------------------------------------------------------------------------------------

    fn clock(&self) -> Now {
        Now { monotonic: self.now, wall: WallTime(WALL_START_US + self.now.0 / 1_000) }
    }

    /// Lets time pass, with all that falls due meanwhile.
    pub(crate) fn pass_time(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.run();
            let deadlines = self.modules.values().filter_map(|(_, module)| module.deadline());
            let Some(next) = deadlines.min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            let due = self
                .modules
                .iter()
                .filter(|(_, (_, module))| module.deadline().is_some_and(|deadline| deadline <= self.now));
            for (thread, address) in due.map(|(address, (thread, _))| (*thread, *address)).collect::<Vec<_>>()
            {
                self.dispatch(thread, Work { to: address, input: Input::Deadline });
                self.run_queue(thread);
                self.flush(thread);
            }
        }
        self.now = end;
    }

    fn await_that(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let end = self.now + PATIENCE;
        while !is_so(self) {
            assert!(self.now < end, "{what}: not within {PATIENCE:?}\n{:#?}", self.log);
            self.pass_time(STEP);
        }
    }

    // ---- threads ----------------------------------------------------------------------------------------------------

    /// Puts an input of the outside behind what a module has to do.
    fn give(&mut self, to: Address, input: OwnedInput<Shared>) {
        let Some((thread, _)) = self.modules.get(&to) else { return };
        let thread = *thread;
        self.threads[thread].queue.push_back(Work { to, input });
        self.wake(thread);
    }

    /// Whether the thread slept.
    fn wake(&mut self, thread: usize) -> bool {
        let was_asleep = !std::mem::replace(&mut self.threads[thread].is_awake, true);
        if was_asleep {
            self.awake.push_back(thread);
        }
        was_asleep
    }

    /// Runs until every thread sleeps.
    pub(crate) fn run(&mut self) {
        while let Some(thread) = self.awake.pop_front() {
            self.round(thread);
        }
    }

    /// Signals that waited for others to be sent with are taken, as they are after a millisecond at the latest, and so
    /// is what follows from them.
    pub(crate) fn release_held(&mut self) {
        let holds = |thread: &Thread| !thread.inbox.is_empty() || !thread.received.is_empty();
        while let Some(thread) = self.threads.iter().position(holds) {
            self.wake(thread);
            self.traffic.wakes += 1;
            self.run();
        }
    }

    fn round(&mut self, thread: usize) {
        let own = &mut self.threads[thread];
        own.is_awake = false;
        let parcels = std::mem::take(&mut own.inbox);
        own.queue.extend(parcels);
        self.take_frames(thread);
        let own = &mut self.threads[thread];
        own.queue.append(&mut own.continues);
        self.run_queue(thread);
        while let Some((module, connection)) = self.threads[thread].ready.pop_front() {
            self.read_client(thread, module, connection);
        }
        self.run_queue(thread);
        self.flush(thread);
        if !self.threads[thread].continues.is_empty() {
            self.wake(thread);
        }
        self.quiescence.announce();
    }

    fn run_queue(&mut self, thread: usize) {
        while let Some(work) = self.threads[thread].queue.pop_front() {
            self.dispatch(thread, work);
        }
    }

    /// Wakes the threads that were sent something, and takes what clients are told.
    fn flush(&mut self, thread: usize) {
        for other in std::mem::take(&mut self.dirty) {
            if self.wake(other) {
                self.traffic.wakes += 1;
            }
        }
        let mut dirty = Vec::new();
        let outputs = &mut self.threads[thread].outputs;
        outputs.take_dirty(&mut dirty);
        for (address, connection) in self.connections.keys().copied().collect::<Vec<_>>() {
            if self.modules[&address].0 == thread
                && dirty.contains(&connection)
                && let Some(unsent) = self.threads[thread].outputs.unsent(connection)
                && let Some(client) = self.connections.get_mut(&(address, connection))
            {
                client.replies.append(unsent);
            }
        }
    }

    /// Gives an input to its module, and does what the module wants done.
    fn dispatch(&mut self, thread: usize, work: Work) {
        let now = self.clock();
        let Some((_, module)) = self.modules.get_mut(&work.to) else { return };
        let outputs = &mut self.threads[thread].outputs;
        let mut budget = Budget::of(SLICE_ROWS);
        let mut input = Some(work.input);
        measured(Owner(thread + 1), Part::Module(work.to.kind), &mut || {
            if let Some(input) = input.take() {
                module.handle(now, input, &mut budget, outputs);
                while disposal::free_some(1) {}
            }
        });
        self.pass_on(thread, work.to);
    }

    fn read_client(&mut self, thread: usize, to: Address, connection: ConnectionId) {
        let now = self.clock();
        let Some(client) = self.connections.get_mut(&(to, connection)) else { return };
        let Some((_, module)) = self.modules.get_mut(&to) else { return };
        if client.is_paused {
            return;
        }
        let outputs = &mut self.threads[thread].outputs;
        let mut budget = Budget::of(SLICE_ROWS);
        let buffer = &mut client.buffer;
        measured(Owner(thread + 1), Part::Module(to.kind), &mut || {
            module.handle(now, Input::Bytes { connection, buffer }, &mut budget, outputs);
            while disposal::free_some(1) {}
        });
        self.pass_on(thread, to);
    }

    // ---- outputs ----------------------------------------------------------------------------------------------------

    /// The lists of outputs are emptied, not replaced: in the runtime they keep their memory, too.
    fn pass_on(&mut self, thread: usize, from: Address) {
        let outputs = &mut self.threads[thread].outputs;
        let shared: Vec<_> = outputs.shared.drain(..).collect();
        let signals: Vec<_> = outputs.signals.drain(..).collect();
        let actions: Vec<_> = outputs.actions.drain(..).collect();
        let events: Vec<_> = outputs.events.drain(..).collect();
        let requests: Vec<_> = outputs.requests.drain(..).collect();
        let disk_requests: Vec<_> = outputs.disk_requests.drain(..).collect();
        for (from, to, shared) in shared {
            if let (ModuleKind::Main, Shared::Map(map)) = (from.kind, &shared) {
                self.maps.insert(from.node, Arc::clone(map));
            }
            self.route(thread, Work { to, input: Input::Shared { from, shared } }, Haste::Now);
        }
        for envelope in signals {
            self.send(thread, envelope);
        }
        for (connection, action) in actions {
            self.act(thread, from, connection, action);
        }
        for event in events {
            self.log.push_back(format!("{from}: {}", event.message));
            if self.log.len() > LOG_LINES {
                self.log.pop_front();
            }
        }
        for request in disk_requests {
            if let Some(disk) = self.disks.get_mut(&from.node) {
                disk.ask(from, request);
            }
        }
        self.finish_disk(from.node);
        for request in requests {
            match request {
                RequestToRuntime::OpenListeners => {
                    self.open
                        .extend((from.kind == ModuleKind::Main && from.node.0 < 65).then_some(from.node));
                }
                RequestToRuntime::Exit(code) => {
                    panic!("{from} ends its process with {code}\n{:#?}", self.log)
                }
                RequestToRuntime::Report
                | RequestToRuntime::PublicKey { .. }
                | RequestToRuntime::Decrypt { .. } => panic!("{from} asks for {request:?}"),
            }
        }
    }

    /// The disk answers at once.
    fn finish_disk(&mut self, node: NodeId) {
        for lane in DiskLane::ALL {
            while let Some((to, ticket, result)) =
                self.disks.get_mut(&node).and_then(|disk| disk.finish(lane))
            {
                self.give(to, Input::DiskDone { ticket, result });
            }
        }
    }

    fn send(&mut self, thread: usize, envelope: Envelope) {
        let to = envelope.to;
        let haste = if envelope.signal.is_deferrable() { Haste::MayWait } else { Haste::Now };
        if !self.modules.contains_key(&to) {
            return;
        }
        if to.node == self.node_of(thread) {
            return self.route(thread, Work { to, input: Input::Signal(envelope) }, haste);
        }
        let frame = &mut self.threads[thread].frame;
        frame.clear();
        measured(Owner(thread + 1), Part::Link, &mut || {
            assert!(encode_envelope(&envelope, frame).is_ok(), "a signal is too large");
        });
        self.traffic.other_node += 1;
        self.traffic.link_bytes += frame.len() as u64;
        let frame = std::mem::take(frame);
        let (receiver, _) = self.modules[&to];
        self.threads[receiver].received.extend_from_slice(&frame);
        self.threads[thread].frame = frame;
        if haste == Haste::Now {
            self.dirty.push(receiver);
        }
    }

    fn node_of(&self, thread: usize) -> NodeId {
        let module = self.modules.iter().find(|(_, (of, _))| *of == thread);
        module.map_or(NodeId(0), |(address, _)| address.node)
    }

    /// To a module of this node.
    fn route(&mut self, thread: usize, work: Work, haste: Haste) {
        let Some((receiver, _)) = self.modules.get(&work.to) else { return };
        let receiver = *receiver;
        if receiver != thread {
            self.traffic.other_thread += 1;
            self.threads[receiver].inbox.push_back(work);
            if haste == Haste::Now {
                self.dirty.push(receiver);
            }
            return;
        }
        self.traffic.own_thread += 1;
        let goes_behind =
            matches!(&work.input, Input::Signal(envelope) if matches!(envelope.signal, Signal::Continue(_)));
        let own = &mut self.threads[thread];
        let queue = if goes_behind { &mut own.continues } else { &mut own.queue };
        queue.push_back(work);
    }

    /// Takes the signals that links have brought.
    fn take_frames(&mut self, thread: usize) {
        let bytes = std::mem::take(&mut self.threads[thread].received);
        let mut taken = 0;
        while taken < bytes.len() {
            let mut envelope = None;
            measured(Owner(thread + 1), Part::Link, &mut || {
                if let Ok(Some((payload, size))) = next_frame(&bytes[taken..]) {
                    envelope = decode_envelope(payload, WIRE_VERSION).ok();
                    taken += size;
                }
            });
            let Some(envelope) = envelope else { panic!("a frame that we have written cannot be read") };
            let work = Work { to: envelope.to, input: Input::Signal(envelope) };
            self.threads[thread].queue.push_back(work);
        }
    }

    // ---- clients ----------------------------------------------------------------------------------------------------

    /// A session with the first `sql` module of a node.
    pub(crate) fn connect(&mut self, node: NodeId) -> Session {
        let module = Address::new(node, ModuleKind::Sql, 0);
        let slot = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        let connection = ConnectionId { slot, generation: 1 };
        self.connections.insert((module, connection), Connection::default());
        let kind = ConnectionKind::MySqlTcp { loopback: true };
        self.give(module, Input::Opened { connection, kind, peer: "counts".to_owned() });
        let client = ClientConnection::new(ClientOptions::new("root", ""));
        let mut session = Session { module, connection, client };
        let response = self.await_response(&mut session);
        assert_eq!(response, Response::Connected);
        session
    }

    fn act(&mut self, thread: usize, module: Address, connection: ConnectionId, action: ConnectionAction) {
        let Some(client) = self.connections.get_mut(&(module, connection)) else { return };
        match action {
            ConnectionAction::PauseReading => client.is_paused = true,
            ConnectionAction::ResumeReading => {
                client.is_paused = false;
                self.threads[thread].ready.push_back((module, connection));
                self.wake(thread);
            }
            ConnectionAction::Close | ConnectionAction::Reject | ConnectionAction::StartTls => {
                client.is_closed = true;
            }
        }
    }

    /// Carries bytes between a client and its session; the next answer, if it has come.
    pub(crate) fn exchange(&mut self, session: &mut Session) -> Option<Response> {
        let Session { module, connection, client } = session;
        let (thread, _) = self.modules[module];
        let own = self.connections.get_mut(&(*module, *connection))?;
        assert!(!own.is_closed, "a session was ended\n{:#?}", self.log);
        let output = client.output();
        if !output.is_empty() {
            own.buffer.tail().append(output);
            self.threads[thread].ready.push_back((*module, *connection));
            self.wake(thread);
        }
        self.run();
        let own = self.connections.get_mut(&(*module, *connection))?;
        client.receive(&own.replies);
        own.replies.clear();
        let response = client.next_response();
        response.unwrap_or_else(|error| panic!("a client does not understand its answer: {error:?}"))
    }

    /// The next answer, whatever time it takes.
    pub(crate) fn await_response(&mut self, session: &mut Session) -> Response {
        let end = self.now + PATIENCE;
        loop {
            if let Some(response) = self.exchange(session) {
                return response;
            }
            if session.client.output().is_empty() {
                assert!(self.now < end, "no answer within {PATIENCE:?}\n{:#?}", self.log);
                self.pass_time(STEP);
            }
        }
    }

    /// Runs a statement, whatever time it takes.
    pub(crate) fn statement(&mut self, session: &mut Session, text: &str) -> Response {
        session.client.query(text.as_bytes());
        let response = self.await_response(session);
        assert!(!matches!(response, Response::Error(_)), "{text}: {response:?}");
        response
    }
}

/// Whether a thread is woken for a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Haste {
    Now,
    MayWait,
}

fn settings(node: NodeId, role: NodeRole, control_log: Vec<u8>) -> NodeSettings {
    NodeSettings {
        node,
        cluster: "counts".to_owned(),
        role,
        host: format!("node{node}"),
        start: u64::from(node.0),
        members: MEMBERS.to_vec(),
        configured: Vec::new(),
        configured_values: Vec::new(),
        config_text: String::new(),
        start_check: None,
        authority: None,
        reporting: None,
        replica_count: 2,
        partitions_per_node: PARTITIONS_PER_NODE,
        slots_per_node: SLOTS_PER_NODE,
        time_between_epochs: transaction::epochs::TIME_BETWEEN_EPOCHS,
        sessions: SessionSettings { max_connections: 100, ..SessionSettings::default() },
        driver: node::Driver::default(),
        marker_time: simulator::world::MARKER_TIME,
        sizes: Sizes::DEFAULT,
        heartbeat_interval: DetectorConfig::DEFAULT.interval,
        answer_timeout: Duration::from_secs(3),
        redo: None,
        full_stops: FullStopSettings { keeps_rows: false, start_partial_timeout: Duration::from_secs(30) },
        control_log,
        version: "counts".to_owned(),
    }
}
