//! The state that the threads of one runtime share: the table of modules, wakers, counters, the inbox for the world
//! outside, how it ends.
//!
//! Everything here is written before the threads start, or is an atomic, or sits behind a lock that is taken on rare
//! paths only (accepting, opening and closing links, stopping). No lock is taken to move a signal.

use crate::config::{Limits, LogSink, PeerConfig, RuntimeConfig};
use crate::keys::{Identity, NodeKeys};
use crate::password_key::PasswordKey;
use crate::placement::{Candidate, Placement};
use crate::statistics::{RuntimeCounters, ThreadStatistics};
use crate::wake::Waker;
use protocol::{
    Address, ConnectionId, DiskAnswer, DiskError, Event, ModuleKind, PasswordKeyAnswer, PeerReport, Severity,
};
use rustix::fd::OwnedFd;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stdx::{FixedMap, Instant};
use types::NodeId;

/// Thread index that means "no such module".
const NOWHERE: u16 = u16::MAX;
const KINDS: usize = ModuleKind::Disk as usize + 1;

/// Where the modules of one node are: thread and index on that thread, by kind and instance.
pub(crate) struct ModuleTable {
    places: Box<[[(u16, u16); 256]; KINDS]>,
}

impl ModuleTable {
    /// The table of a node whose threads carry these modules. `None` if a module is on two threads or belongs to
    /// another node, or if there are too many threads.
    pub(crate) fn new(node: NodeId, threads: &[Vec<Address>]) -> Option<Self> {
        let mut places = Box::new([[(NOWHERE, 0); 256]; KINDS]);
        for (thread, modules) in threads.iter().enumerate() {
            let thread = u16::try_from(thread).ok().filter(|thread| *thread != NOWHERE)?;
            for (index, module) in modules.iter().enumerate() {
                let place = &mut places[module.kind as usize][usize::from(module.instance)];
                if module.node != node || place.0 != NOWHERE {
                    return None;
                }
                *place = (thread, u16::try_from(index).ok()?);
            }
        }
        Some(Self { places })
    }

    /// Thread and index of a module.
    pub(crate) fn find(&self, kind: ModuleKind, instance: u8) -> Option<(usize, usize)> {
        let (thread, index) = self.places[kind as usize][usize::from(instance)];
        (thread != NOWHERE).then_some((usize::from(thread), usize::from(index)))
    }
}

/// The facts about one thread that others know.
pub(crate) struct ThreadShared {
    pub(crate) name: String,
    pub(crate) cpu: Option<u16>,
    pub(crate) modules: Vec<Address>,
    pub(crate) waker: Waker,
    pub(crate) statistics: ThreadStatistics,
    /// When the round began that the thread is in; 0 while it is in none.
    pub(crate) round: AtomicU64,
    /// From threads that are not the runtime's.
    inbox: Mutex<Vec<External>>,
    has_external: AtomicBool,
}

/// A message from outside the runtime's threads.
pub(crate) enum External {
    /// SIGTERM, Ctrl-C or the embedding program.
    StopRequested,
    /// The answer to a module's request to the disk.
    DiskDone { module: usize, ticket: u64, result: Result<DiskAnswer, DiskError> },
    /// The addresses of a peer's host name, for the supervisor.
    Resolved { peer: usize, set: u64, addresses: Vec<SocketAddr> },
    /// The same, for strangers that say that they are this peer.
    HostFound { peer: usize, addresses: Vec<IpAddr> },
    /// The answer to a session's question about the key for passwords.
    PasswordKey { module: usize, connection: ConnectionId, answer: PasswordKeyAnswer },
}

impl ThreadShared {
    pub(crate) fn new(name: String, cpu: Option<u16>, modules: Vec<Address>) -> rustix::io::Result<Self> {
        Ok(Self {
            name,
            cpu,
            modules,
            waker: Waker::new()?,
            statistics: ThreadStatistics::default(),
            round: AtomicU64::new(0),
            inbox: Mutex::new(Vec::new()),
            has_external: AtomicBool::new(false),
        })
    }

    pub(crate) fn tell(&self, external: External) {
        unpoisoned(&self.inbox).push(external);
        self.has_external.store(true, Ordering::Release);
        self.waker.ring();
    }

    /// The share of the last moments that the thread has worked, in percent.
    pub(crate) fn busy(&self, now: Instant) -> u32 {
        self.statistics.load.busy(now, Instant(self.round.load(Ordering::Relaxed)))
    }

    pub(crate) fn has_external(&self) -> bool {
        self.has_external.load(Ordering::Acquire)
    }

    pub(crate) fn take_external(&self) -> Vec<External> {
        if !self.has_external() {
            return Vec::new();
        }
        self.has_external.store(false, Ordering::Release);
        std::mem::take(&mut *unpoisoned(&self.inbox))
    }
}

/// A peer as configured.
pub(crate) struct Peer {
    pub(crate) config: PeerConfig,
    /// Signals that could not be sent because no link was there; `membership` knows the peer is down.
    pub(crate) dropped: AtomicU64,
    /// It did not speak TLS, and need not: the next attempt is made without.
    pub(crate) is_tried_plain: AtomicBool,
    /// The process at the other end while there are links.
    pub(crate) connected: Mutex<Option<PeerReport>>,
}

impl Peer {
    fn new(config: &PeerConfig) -> Self {
        Self {
            config: config.clone(),
            dropped: AtomicU64::new(0),
            is_tried_plain: AtomicBool::new(false),
            connected: Mutex::new(None),
        }
    }

    /// The identity that its certificate has to name.
    pub(crate) fn identity(&self) -> Identity<'_> {
        Identity { node: self.config.node, role: self.config.role, host: &self.config.host }
    }
}

/// Things that go wrong without being anybody's bug here.
#[derive(Default)]
pub(crate) struct Counters {
    /// Connections on the cluster port that were not a peer's.
    pub(crate) strangers_refused: AtomicU64,
    /// Signals to modules that are not there.
    pub(crate) undeliverable: AtomicU64,
    /// Connections closed because of a limit.
    pub(crate) connections_refused: AtomicU64,
    /// Connections whose buffers found no room in ClientMemory.
    pub(crate) memory_refused: AtomicU64,
    /// Links closed because of what came by them: a frame or signal that cannot be read, or is not the peer's.
    pub(crate) links_refused: AtomicU64,
    /// Rounds of threads that took longer than they should.
    pub(crate) slow_rounds: AtomicU64,
}

/// The state that all threads of a runtime share.
pub(crate) struct Process {
    pub(crate) node: NodeId,
    pub(crate) cluster: String,
    pub(crate) start: u64,
    pub(crate) limits: Limits,
    pub(crate) threads: Vec<ThreadShared>,
    pub(crate) modules: ModuleTable,
    pub(crate) peers: Vec<Peer>,
    /// By node id: index into `peers`.
    peer_of_node: Vec<Option<u16>>,
    /// The thread of `membership`: supervises the links.
    pub(crate) supervisor: usize,
    /// The `sql` modules (thread, module) that clients are spread over, and how many each has.
    pub(crate) sql_modules: Vec<(usize, usize, AtomicU32)>,
    pub(crate) connections: AtomicU32,
    /// By module `query`: the weight of its thread (`protocol::placement`), written by the thread of `membership`.
    pub(crate) weights: Box<[AtomicU8]>,
    pub(crate) counters: Counters,
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
    /// Replaced as a whole when they are renewed.
    keys: Mutex<Option<Arc<NodeKeys>>>,
    pub(crate) management_requires_tls: bool,
    /// Where links are made from.
    pub(crate) source: Option<IpAddr>,
    pub(crate) password_key: PasswordKey,
    log: LogSink,
    /// Sockets of open links, so that a dying process can close them before it writes its trace.
    links: Mutex<FixedMap<u64, Arc<OwnedFd>>>,
    next_link: AtomicU64,
    /// Threads that have stopped for good, but for their links.
    stopped: AtomicUsize,
    /// Nodes of this machine can connect by a Unix socket.
    pub(crate) has_cluster_socket: bool,
    pub(crate) unix_paths: Mutex<Vec<PathBuf>>,
    /// A signal asked this node to stop, and `main` has not been told.
    is_stop_signalled: AtomicBool,
    /// -1 while running, then the exit code.
    exit: AtomicI32,
}

impl Process {
    /// Unusual things, counted.
    pub(crate) fn counters(&self) -> RuntimeCounters {
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        RuntimeCounters {
            dropped: self.peers.iter().map(|peer| load(&peer.dropped)).sum(),
            undeliverable: load(&self.counters.undeliverable),
            strangers_refused: load(&self.counters.strangers_refused),
            connections_refused: load(&self.counters.connections_refused),
            memory_refused: load(&self.counters.memory_refused),
            links_refused: load(&self.counters.links_refused),
            slow_rounds: load(&self.counters.slow_rounds),
        }
    }

    pub(crate) fn new(config: &RuntimeConfig, threads: Vec<ThreadShared>) -> Self {
        let modules: Vec<Vec<Address>> = threads.iter().map(|thread| thread.modules.clone()).collect();
        let table = ModuleTable::new(config.node, &modules);
        let Some(table) = table else {
            panic!("the layout puts a module on two threads: {:?}", config.layout)
        };
        let supervisor = table.find(ModuleKind::Membership, 0).map_or(0, |(thread, _)| thread);
        let sql_modules = (0..=u8::MAX)
            .map_while(|instance| table.find(ModuleKind::Sql, instance))
            .map(|(thread, module)| (thread, module, AtomicU32::new(0)))
            .collect();
        let query_count = (0..=u8::MAX).map_while(|instance| table.find(ModuleKind::Query, instance)).count();
        let mut peer_of_node = Vec::new();
        for (index, peer) in config.peers.iter().enumerate() {
            let node = usize::from(peer.node.0);
            peer_of_node.resize(peer_of_node.len().max(node + 1), None);
            stdx::require!(
                peer.node != config.node && peer_of_node[node].is_none(),
                "node {node} is configured twice"
            );
            peer_of_node[node] = u16::try_from(index).ok();
        }
        let peers = config.peers.iter().map(Peer::new);
        Self {
            node: config.node,
            cluster: config.cluster.clone(),
            start: config.start,
            limits: config.limits.clone(),
            threads,
            modules: table,
            peers: peers.collect(),
            peer_of_node,
            supervisor,
            sql_modules,
            connections: AtomicU32::new(0),
            weights: (0..query_count).map(|_| AtomicU8::new(0)).collect(),
            counters: Counters::default(),
            tls: config.tls.as_ref().map(crate::TlsIdentity::server_config),
            keys: Mutex::new(config.keys.clone().map(Arc::new)),
            management_requires_tls: config.management_requires_tls,
            source: config.source,
            password_key: PasswordKey::new(config.listeners.password_key.clone()),
            log: Arc::clone(&config.log),
            links: Mutex::new(FixedMap::default()),
            next_link: AtomicU64::new(0),
            stopped: AtomicUsize::new(0),
            has_cluster_socket: config.cluster_unix.is_some(),
            unix_paths: Mutex::new(Vec::new()),
            is_stop_signalled: AtomicBool::new(false),
            exit: AtomicI32::new(-1),
        }
    }

    /// The keys for connections that begin now.
    pub(crate) fn keys(&self) -> Option<Arc<NodeKeys>> {
        unpoisoned(&self.keys).clone()
    }

    /// Connections that begin from now on use these keys.
    pub(crate) fn set_keys(&self, keys: NodeKeys) {
        *unpoisoned(&self.keys) = Some(Arc::new(keys));
    }

    /// Index into `peers` of a node.
    #[inline]
    pub(crate) fn peer(&self, node: NodeId) -> Option<usize> {
        self.peer_of_node.get(usize::from(node.0)).copied().flatten().map(usize::from)
    }

    pub(crate) fn log(&self, severity: Severity, message: impl Into<String>) {
        self.log_event(&Event { severity, message: message.into() });
    }

    pub(crate) fn log_event(&self, event: &Event) {
        (self.log)(event);
    }

    /// Ends all threads after their current round; the first code counts.
    pub(crate) fn exit(&self, code: u8) {
        let _ = self.exit.compare_exchange(-1, i32::from(code), Ordering::AcqRel, Ordering::Acquire);
        self.ring_all();
    }

    pub(crate) fn ring_all(&self) {
        for thread in &self.threads {
            thread.waker.ring();
        }
    }

    /// From a signal handler: only an atomic and a write to a descriptor.
    pub(crate) fn stop_by_signal(&self) {
        self.is_stop_signalled.store(true, Ordering::Release);
        self.ring_all();
    }

    /// True once after a stop signal.
    #[inline]
    pub(crate) fn take_stop_signal(&self) -> bool {
        self.is_stop_signalled.load(Ordering::Relaxed) && self.is_stop_signalled.swap(false, Ordering::AcqRel)
    }

    /// The exit code once the runtime is ending.
    #[inline]
    pub(crate) fn exit_code(&self) -> Option<u8> {
        u8::try_from(self.exit.load(Ordering::Acquire)).ok()
    }

    /// Remembers an open link's socket; the key forgets it.
    pub(crate) fn remember_link(&self, socket: &Arc<OwnedFd>) -> u64 {
        let key = self.next_link.fetch_add(1, Ordering::Relaxed);
        unpoisoned(&self.links).insert(key, Arc::clone(socket));
        key
    }

    pub(crate) fn forget_link(&self, key: u64) {
        unpoisoned(&self.links).remove(&key);
    }

    /// The calling thread will not handle anything any more.
    pub(crate) fn stop_thread(&self) {
        self.stopped.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether all threads but one have stopped for good.
    pub(crate) fn are_others_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) + 1 >= self.threads.len()
    }

    /// Closes all links at once: what peers notice within microseconds when this process dies.
    pub(crate) fn close_all_links(&self) {
        // A thread that died while it held the lock must not keep the process from saying farewell.
        if let Ok(links) = self.links.try_lock() {
            for socket in links.values() {
                let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
            }
        }
    }

    /// How busy the thread of each module `query` is, in percent.
    pub(crate) fn busy_of_query(&self, now: Instant) -> Vec<u32> {
        let instances = (0..=u8::MAX).map_while(|instance| self.modules.find(ModuleKind::Query, instance));
        instances.map(|(thread, _)| self.threads[thread].busy(now)).collect()
    }

    /// The `sql` module that a new client goes to, and a reservation there.
    pub(crate) fn reserve_sql(&self, placement: &mut Placement, now: Instant) -> usize {
        let candidates = self.sql_modules.iter().map(|(thread, _, clients)| Candidate {
            load: self.threads[*thread].busy(now),
            clients: clients.load(Ordering::Relaxed),
        });
        let chosen = placement.choose(now, self.limits.connections_per_module, candidates);
        self.sql_modules[chosen].2.fetch_add(1, Ordering::Relaxed);
        chosen
    }
}

/// A lock that a panicking thread held is still a lock: what it protects here is valid after each statement.
pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
