//! Starting, stopping and asking a node's threads: what the binary sees.

use crate::config::{RuntimeConfig, StartError};
use crate::disk::{self, NodeFolder};
use crate::exchange::exchanges;
use crate::keys::NodeKeys;
use crate::listeners::{Listener, ListenerKind};
use crate::process::{External, Process, ThreadShared, unpoisoned};
use crate::statistics::RuntimeCounters;
use crate::supervisor::{PeerPlan, Supervisor, SupervisorLimits};
use crate::wake::Poller;
use crate::worker::{BoxedModule, Worker, WorkerParts};
use crate::{clock, crash, machine, report};
use protocol::layout::{ThreadKind, ThreadPlan};
use protocol::{Address, ModuleKind, RuntimeReport};
use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::thread::JoinHandle;
use stdx::{Duration, Instant};

/// The modules of a thread that has ended.
type Remains = Box<dyn Any + Send>;

/// A running node. Dropping it ends its threads at once.
pub struct Runtime {
    process: Arc<Process>,
    threads: Vec<JoinHandle<Remains>>,
    /// The threads of the disk's lanes.
    io: Vec<JoinHandle<()>>,
    addresses: BoundAddresses,
}

/// The stack of a thread. Queries within queries are bound and run by recursion, as deep as the planner's limits allow
/// (`planner::limits`): that may be some MiB. Pages that are never touched cost nothing.
const STACK_SIZE: usize = 64 << 20;

/// Where a running node has its keys.
#[derive(Clone)]
pub struct KeyHolder(Arc<Process>);

impl KeyHolder {
    /// Connections that begin from now on use these keys; those that there are live on.
    pub fn replace(&self, keys: NodeKeys) {
        self.0.set_keys(keys);
    }
}

impl std::fmt::Debug for KeyHolder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("KeyHolder")
    }
}

/// The addresses of the listeners. The system chooses a port when the configuration says 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BoundAddresses {
    /// For peers.
    pub cluster: Option<SocketAddr>,
    /// For MySQL clients.
    pub mysql: Option<SocketAddr>,
    /// For management clients.
    pub management: Option<SocketAddr>,
}

impl Runtime {
    /// Binds all addresses, then starts the threads of the layout with these modules on them.
    ///
    /// The modules must be exactly those of the layout, with this node's addresses; anything else is a bug of the
    /// caller. `folder` is where its files are; a node whose modules ask nothing of the disk needs none.
    pub fn start<S: Send + 'static>(
        config: RuntimeConfig,
        modules: Vec<(Address, BoxedModule<S>)>,
        folder: Option<NodeFolder>,
    ) -> Result<Self, StartError> {
        let (process, mut parts, addresses) = prepare(config, modules)?;
        crash::register(&process);
        let mut runtime = Self { process, threads: Vec::new(), io: Vec::new(), addresses };
        if let Some(folder) = folder {
            let begun = disk::begin(folder, &runtime.process);
            let (disk, threads) =
                begun.map_err(|error| StartError::System { what: "start a thread", error })?;
            runtime.io = threads;
            for part in &mut parts {
                part.disk = Some(disk.clone());
            }
        }
        for part in parts.drain(..) {
            let process = Arc::clone(&runtime.process);
            let body = move || {
                let _end = EndTogether(&process);
                Box::new(Worker::new(part).run()) as Remains
            };
            let name = runtime.process.threads[runtime.threads.len()].name.clone();
            match std::thread::Builder::new().name(name).stack_size(STACK_SIZE).spawn(body) {
                Ok(thread) => runtime.threads.push(thread),
                // Dropping the runtime ends the threads that run already; they wait for no others.
                Err(error) => {
                    (runtime.threads.len()..runtime.process.threads.len())
                        .for_each(|_| runtime.process.stop_thread());
                    return Err(StartError::System { what: "start a thread", error });
                }
            }
        }
        Ok(runtime)
    }

    /// Asks `main` to stop the node in an orderly way, as SIGTERM does.
    pub fn request_stop(&self) {
        let main = self.process.modules.find(ModuleKind::Main, 0).map_or(0, |(thread, _)| thread);
        self.process.threads[main].tell(External::StopRequested);
    }

    /// From now on SIGTERM, SIGINT and SIGHUP ask this runtime to stop. Another one, later than [`SAME_REQUEST`], ends
    /// the process at once. SIGHUP stays ignored if it was (`nohup`).
    pub fn stop_on_signals(&self) {
        let previous = SIGNALLED.swap(Arc::into_raw(Arc::clone(&self.process)).cast_mut(), Ordering::AcqRel);
        stdx::require!(previous.is_null(), "signals stop one runtime only");
        for number in [SIGINT, SIGTERM, SIGHUP] {
            #[expect(unsafe_code, reason = "signal handlers are not in rustix")]
            // SAFETY: `on_stop_signal` has the signature of a handler and only touches atomics and writes to a
            // descriptor.
            unsafe {
                let previous = signal_(number, IGNORED);
                if number != SIGHUP || previous != IGNORED {
                    signal_(number, on_stop_signal as *const () as usize);
                }
            }
        }
    }

    /// For the watcher of its key files.
    #[must_use]
    pub fn key_holder(&self) -> KeyHolder {
        KeyHolder(Arc::clone(&self.process))
    }

    /// The addresses of the listeners.
    #[must_use]
    pub fn addresses(&self) -> BoundAddresses {
        self.addresses
    }

    /// CPU times, queues and counts of all threads.
    #[must_use]
    pub fn report(&self) -> RuntimeReport {
        report::report(&self.process)
    }

    /// Unusual things, counted.
    #[must_use]
    pub fn counters(&self) -> RuntimeCounters {
        self.process.counters()
    }

    /// Waits until a module asks for `Exit` and returns its code.
    ///
    /// The modules' memory is not given back: the process is about to end. Freeing gigabytes row by row would hold up
    /// its end for so long that an operator would kill it.
    pub fn wait(mut self) -> u8 {
        for remains in self.join() {
            std::mem::forget(remains);
        }
        self.process.exit_code().unwrap_or(0)
    }

    fn join(&mut self) -> Vec<Remains> {
        // A thread that panicked has set the exit code (see `EndTogether`) and leaves nothing.
        let remains = self.threads.drain(..).filter_map(|thread| thread.join().ok()).collect();
        for thread in self.io.drain(..) {
            let _ = thread.join();
        }
        for path in unpoisoned(&self.process.unix_paths).drain(..) {
            let _ = std::fs::remove_file(path);
        }
        remains
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.process.exit(0);
        drop(self.join());
    }
}

/// A thread that ends by panicking takes the others with it: no node runs on with a module missing.
struct EndTogether<'a>(&'a Process);

/// The exit code of a node whose thread panicked (where the crash handler has not ended the process before).
const EXIT_CODE_PANIC: u8 = 101;

impl Drop for EndTogether<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop_thread();
            self.0.exit(EXIT_CODE_PANIC);
        }
    }
}

type Prepared<S> = (Arc<Process>, Vec<WorkerParts<S>>, BoundAddresses);

fn prepare<S>(
    config: RuntimeConfig,
    modules: Vec<(Address, BoxedModule<S>)>,
) -> Result<Prepared<S>, StartError> {
    let listeners = bind_all(&config)?;
    let bound = |kind| listeners.iter().find(|listener| listener.kind == kind).and_then(Listener::bound);
    let addresses = BoundAddresses {
        cluster: bound(ListenerKind::ClusterTcp),
        mysql: bound(ListenerKind::MySqlTcp),
        management: bound(ListenerKind::Management),
    };
    let system = |what| move |error: rustix::io::Errno| StartError::System { what, error: error.into() };
    let mut threads = Vec::new();
    for plan in &config.layout.threads {
        let on_it =
            plan.modules.iter().map(|(kind, instance)| Address::new(config.node, *kind, *instance)).collect();
        let shared = ThreadShared::new(plan.name.clone(), plan.cpu(), on_it);
        threads.push(shared.map_err(system("make an eventfd"))?);
    }
    let process = Arc::new(Process::new(&config, threads));
    unpoisoned(&process.unix_paths)
        .extend([&config.cluster_unix, &config.listeners.mysql_unix].into_iter().flatten().cloned());
    // `main` and `membership` have little to do, and do not spin on their own threads.
    let is_worker = |plan: &&ThreadPlan| !matches!(plan.kind, ThreadKind::Main | ThreadKind::Membership);
    let workers = config.layout.threads.iter().filter(is_worker).count();
    let threads_have_cpus = workers <= usize::from(machine::cpu_count());
    let mut parts = Vec::new();
    for (index, exchange) in exchanges::<S>(config.layout.threads.len(), &process).into_iter().enumerate() {
        let plan = config.layout.threads[index].clone();
        let mut seeds = Vec::new();
        for _ in &plan.modules {
            let error = std::io::Error::other("the system has none");
            seeds.push(machine::random_seed().ok_or(StartError::System { what: "get randomness", error })?);
        }
        parts.push(WorkerParts {
            index,
            plan,
            process: Arc::clone(&process),
            modules: Vec::new(),
            exchange,
            listeners: Vec::new(),
            supervisor: (index == process.supervisor).then(|| supervisor(&process)),
            disk: None,
            spin: config.spin,
            memory: config.memory.clone(),
            threads_have_cpus,
            poller: Poller::create().map_err(system("make an epoll instance"))?,
            seeds,
        });
    }
    hand_out_listeners(listeners, &process, &mut parts);
    hand_out_modules(modules, &process, &mut parts);
    Ok((process, parts, addresses))
}

fn supervisor(process: &Process) -> Supervisor {
    let limits = &process.limits;
    let limits = SupervisorLimits {
        open_timeout: limits.link_open_timeout,
        pause_min: limits.reconnect_pause_min,
        pause_max: limits.reconnect_pause_max,
        links_max: limits.links_per_peer_max,
        refused_patience: limits.refused_patience,
    };
    let plan = |peer: &crate::process::Peer| PeerPlan {
        node: peer.config.node,
        host: peer.config.host.clone(),
        port: peer.config.port,
    };
    let plans = process.peers.iter().map(plan).collect();
    Supervisor::new(process.node, process.threads.len(), plans, limits, clock::monotonic())
}

fn bind_all(config: &RuntimeConfig) -> Result<Vec<Listener>, StartError> {
    let mut listeners = Vec::new();
    let tcp = [
        (ListenerKind::ClusterTcp, config.cluster_tcp),
        (ListenerKind::MySqlTcp, config.listeners.mysql_tcp),
        (ListenerKind::Management, config.listeners.management_tcp),
    ];
    for (kind, address) in tcp {
        if let Some(address) = address {
            listeners.push(Listener::tcp(kind, address)?);
        }
    }
    let unix = [
        (ListenerKind::ClusterUnix, &config.cluster_unix),
        (ListenerKind::MySqlUnix, &config.listeners.mysql_unix),
    ];
    for (kind, path) in unix {
        if let Some(path) = path {
            listeners.push(Listener::unix(kind, path)?);
        }
    }
    Ok(listeners)
}

fn hand_out_listeners<S>(listeners: Vec<Listener>, process: &Process, parts: &mut [WorkerParts<S>]) {
    for listener in listeners {
        let owner = match listener.kind {
            ListenerKind::ClusterTcp | ListenerKind::ClusterUnix => Some(process.supervisor),
            ListenerKind::Management => process.modules.find(ModuleKind::Main, 0).map(|(thread, _)| thread),
            ListenerKind::MySqlTcp | ListenerKind::MySqlUnix => {
                process.sql_modules.first().map(|(thread, ..)| *thread)
            }
        };
        match owner {
            Some(thread) => parts[thread].listeners.push(listener),
            None => stdx::require!(false, "nobody on this node serves the {}", listener.kind.name()),
        }
    }
}

fn hand_out_modules<S>(
    modules: Vec<(Address, BoxedModule<S>)>,
    process: &Process,
    parts: &mut [WorkerParts<S>],
) {
    let mut waiting: Vec<Option<(Address, BoxedModule<S>)>> = modules.into_iter().map(Some).collect();
    for part in parts {
        for address in &process.threads[part.index].modules {
            let found = waiting.iter_mut().find(|entry| entry.as_ref().is_some_and(|(at, _)| at == address));
            let module = found.and_then(Option::take);
            stdx::require!(module.is_some(), "the layout has {address}, but no module was given for it");
            part.modules.extend(module);
        }
    }
    let extra = waiting.iter().flatten().next().map(|(address, _)| *address);
    stdx::require!(extra.is_none(), "module {extra:?} is not in the layout");
}

// ---- SIGTERM, SIGINT and SIGHUP -------------------------------------------------------------------------------------

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;
const DEFAULT_ACTION: usize = 0;
const IGNORED: usize = 1;

/// Signals that come together are one request. A stop of a whole process group signals this process, and its parent
/// does so, too.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// When the first stop signal came; 0: none has.
static STOP_ASKED: AtomicU64 = AtomicU64::new(0);

/// The process that stop signals are for; set once, never freed.
static SIGNALLED: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn on_stop_signal(number: i32) {
    let now = clock::monotonic();
    match STOP_ASKED.compare_exchange(0, now.0, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => tell_process(),
        Err(first) if now.since(Instant(first)) < SAME_REQUEST => {}
        Err(_) => {
            #[expect(unsafe_code, reason = "signal handlers are not in rustix")]
            // SAFETY: `signal` and `raise` are async-signal-safe. The signal of an impatient operator has its default
            // effect.
            unsafe {
                signal_(number, DEFAULT_ACTION);
                raise_(number);
            }
        }
    }
}

fn tell_process() {
    let process = SIGNALLED.load(Ordering::Acquire);
    #[expect(unsafe_code, reason = "a signal handler finds its process through a static")]
    // SAFETY: the pointer came from `Arc::into_raw` and its count is never given back, so it is valid for ever.
    let process = unsafe { process.as_ref() };
    if let Some(process) = process {
        process.stop_by_signal();
    }
}

#[expect(unsafe_code, reason = "declares a function of the C library that std links anyway")]
unsafe extern "C" {
    #[link_name = "signal"]
    fn signal_(number: i32, handler: usize) -> usize;
    #[link_name = "raise"]
    fn raise_(number: i32) -> i32;
}
