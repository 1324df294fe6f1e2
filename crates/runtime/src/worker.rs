//! One thread of a node: takes input, runs modules in slices, flushes once per round, sleeps when there is nothing to
//! do.
//!
//! ```text
//! wait        nothing to do: spin, then sleep in epoll until an event, a wake or the next deadline
//! take        epoll events, parcels of other threads, links
//! handle      queued signals; then ready clients, one read each; then what those queued; then deadlines
//! flush       parcels to other threads (waking those that sleep), cluster frames, client replies: one write each;
//!             signals that may wait (`Signal::is_deferrable`) go with others, or alone after [`DEFER_TIME_MAX`]
//! go on       one slice of long work (`long_work`), and more while it had less than a quarter of the round's time so
//!             far; what that made is flushed. Then some of the memory that statements have let go is freed
//! ```
//! Invariants:
//! - the signals that one module sends to another on this thread are handled in the order of sending. `Continue` goes
//!   to the long work, of which a round takes a slice when all else of it is done. So a point read waits for one slice,
//!   however many statements scan; and short work without end leaves a fifth of the time to long work;
//! - a round is bounded: in events, reads, signals and time ([`ROUND_TIME_MAX`]); what is left over is taken up in the
//!   next without sleeping;
//! - the clock is read after the input of a round was taken, after every [`CLOCK_EVERY`] handlers, and before each
//!   slice of long work;
//! - nothing here waits except `wait`; no work means no system call but one `epoll_wait`, and no tick.
//!
//! Deliberately not here: what any module does. The worker knows kinds of modules only to know which one owns clients,
//! stop requests and links.

use crate::clock;
use crate::config::SpinMethod;
use crate::connections::{Clients, READ_SIZE};
use crate::crash;
use crate::disk::Disk;
use crate::exchange::{Control, Exchange, Parcel};
use crate::links::{LinkOrder, Links};
use crate::listeners::Listener;
use crate::long_work::{LongWork, SliceRows, is_due};
use crate::password_key::{self, Wanted};
use crate::placement::Placement;
use crate::process::{External, Process, ThreadShared};
use crate::report::report;
use crate::spin::Spinner;
use crate::statistics::{Counting, PUBLISH_INTERVAL};
use crate::supervisor::Supervisor;
use crate::wake::{Poller, Readiness, Token, Wait};
use crate::watchdog::{Finding, WARN_AFTER, Watchdog};
use memory::{Ledger, MemoryManager, Region};
use protocol::layout::ThreadPlan;
use protocol::placement::{Seen, Turns, Weights};
use protocol::{
    Address, Budget, ConnectionId, Envelope, Input, Module, ModuleKind, Outputs, OwnedInput, ReceiveBuffer,
    RequestToRuntime, Severity, Signal,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use stdx::{Deadlines, Duration, Instant, Now, disposal};
use strangers::Strangers;

mod clients;
mod peers;
mod strangers;

pub use strangers::STRANGERS_MAX;

/// Handlers between two readings of the clock within a round.
const CLOCK_EVERY: u32 = 16;
/// A round that takes longer flushes and begins anew.
const ROUND_TIME_MAX: Duration = Duration::from_micros(300);
/// Signals handled per round at most.
const ROUND_SIGNALS_MAX: usize = 1024;
/// A queue longer than this means that clients must wait.
const QUEUE_HIGH: usize = 16 * 1024;
/// Parcels taken from each other thread per round.
const PARCELS_MAX: usize = 256;
/// While parcels keep coming, sockets are looked at no more often than this.
const POLL_INTERVAL: Duration = Duration::from_micros(20);
/// Spins between two looks at the sockets: about as long as one look takes.
const SPINS_PER_POLL: u32 = 16;
/// How long a thread sleeps at most while a ring out of it is full.
const CONGESTED_PAUSE: Duration = Duration::from_micros(100);
/// How long a signal that may wait is held back at most. Backups send readers of rows that are not published yet to the
/// primary. An epoch is closed only when everything in it is known to be decided. Both bear a millisecond.
const DEFER_TIME_MAX: Duration = Duration::from_millis(1);
/// Parts of large row stores that are freed in a round: 256 KiB or so, some 50 microseconds.
const FREED_PER_ROUND: usize = 2;
/// Idle send buffers are given back after this time.
const SWEEP_INTERVAL: Duration = Duration::from_millis(20);

/// A slow thread is logged no more often than this.
const SLOW_LOG_PAUSE: Duration = Duration::from_secs(10);

/// Timers of the runtime itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    /// Descriptors were exhausted: accept again.
    AcceptAgain(u32),
    /// Give back the memory of idle send buffers.
    Sweep,
    /// A closed connection's client has had its time to take the last bytes.
    Linger(ConnectionId),
    /// A stranger has had its time to say hello.
    Stranger(u32, u32),
}

/// A module that a thread of the runtime owns.
pub type BoxedModule<S> = Box<dyn Module<Shared = S> + Send>;

/// Work queued for a module of this thread.
struct Work<S> {
    module: usize,
    input: OwnedInput<S>,
}

struct ModuleSlot<S> {
    address: Address,
    module: BoxedModule<S>,
    deadline: Option<Instant>,
}

/// Slices of long work: those that wait, how long one should take, how many rows that is for each module, and which
/// threads may help.
struct Slices<S> {
    time: Duration,
    rows: Vec<SliceRows>,
    turns: Turns,
    waiting: LongWork<OwnedInput<S>>,
    /// The time that all queued work takes, as this thread last told the others.
    backlog: Duration,
}

/// The knowledge of all threads that one of them has.
struct Oversight {
    watchdog: Watchdog,
    /// If reads may move.
    weights: Option<Weights>,
}

impl Oversight {
    fn new(process: &Process, now: Instant) -> Self {
        let limits = &process.limits;
        Self {
            watchdog: Watchdog::new(process.threads.len(), limits.stuck_after, now),
            weights: limits.shares_reads.then(|| Weights::new(process.weights.len(), now)),
        }
    }

    /// Renews the weights of all threads with a `query` when it is time.
    fn weigh(&mut self, now: Instant, process: &Process) {
        let Some(weights) = self.weights.as_mut().filter(|weights| weights.is_due(now)) else { return };
        let published = process.weights.iter();
        let store = |(cell, weight): (&AtomicU8, &u8)| {
            // The others read them in each round with long work: their copies stay valid while nothing changes.
            if cell.load(Ordering::Relaxed) != *weight {
                cell.store(*weight, Ordering::Relaxed);
            }
        };
        published.zip(weights.change(now, &process.busy_of_query(now))).for_each(store);
    }
}

/// Whether a module `query` is asked to read. Between threads of one node these are the reads that are placed.
#[inline]
fn is_read_for_query(envelope: &Envelope) -> bool {
    envelope.to.kind == ModuleKind::Query && matches!(envelope.signal, Signal::Read(_))
}

/// The parts that the runtime prepares for a thread before it starts.
pub(crate) struct WorkerParts<S> {
    pub(crate) index: usize,
    pub(crate) plan: ThreadPlan,
    pub(crate) process: Arc<Process>,
    pub(crate) modules: Vec<(Address, BoxedModule<S>)>,
    pub(crate) exchange: Exchange<S>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) supervisor: Option<Supervisor>,
    pub(crate) disk: Option<Disk>,
    pub(crate) spin: SpinMethod,
    pub(crate) threads_have_cpus: bool,
    pub(crate) memory: Option<Arc<MemoryManager>>,
    pub(crate) poller: Poller,
    pub(crate) seeds: Vec<[u8; 32]>,
}

/// One thread's state.
pub(crate) struct Worker<S> {
    index: usize,
    plan: ThreadPlan,
    process: Arc<Process>,
    modules: Vec<ModuleSlot<S>>,
    outputs: Outputs<S>,
    exchange: Exchange<S>,
    listeners: Vec<Listener>,
    /// Of the thread that accepts clients.
    placement: Placement,
    clients: Clients,
    /// ClientMemory: buffers of this thread's connections.
    ledger: Option<Ledger>,
    links: Links,
    strangers: Strangers,
    /// On the thread of `membership`, as the supervisor.
    oversight: Option<Oversight>,
    supervisor: Option<Supervisor>,
    /// The supervisor's orders to its own thread that are not carried out yet.
    orders: VecDeque<LinkOrder>,
    /// A link is being read, or an order carried out: further orders wait.
    are_orders_held: bool,
    /// If this node has files.
    disk: Option<Disk>,
    poller: Poller,
    readiness: Vec<Readiness>,
    timers: Deadlines<Timer>,
    spinner: Spinner,
    slices: Slices<S>,
    budget: Budget,
    now: Now,
    round_start: Instant,
    last_poll: Instant,
    handled_since_clock: u32,
    got_parcels: bool,
    queue: VecDeque<Work<S>>,
    /// The buffer that clients' bytes are read into.
    scratch: ReceiveBuffer,
    /// The buffer that links' and TLS bytes are read into.
    raw_scratch: Vec<u8>,
    /// The buffer that encrypted bytes of links are read into.
    cipher_scratch: Vec<u8>,
    /// Which links are read in a round.
    slots_scratch: Vec<u32>,
    /// Which clients are written in a round.
    dirty_scratch: Vec<ConnectionId>,
    counting: Counting,
    quiescence: memory::ThreadSlot,
    is_sweep_planned: bool,
    /// When what is held back leaves; none while nothing is.
    held_until: Option<Instant>,
    hosts_main: bool,
    /// The connection whose bytes a module is being given; none once it resumed reading.
    reading: Option<ConnectionId>,
    slow_log_at: Instant,
    /// Clients refused since the last log line.
    refusals: u64,
    refusal_log_at: Instant,
    /// When TLS that fails at the management port is told again, and how often it failed since.
    failed_tls_log_at: Instant,
    failed_tls_unlogged: u64,
    seeds: Vec<[u8; 32]>,
}

impl<S: Send + 'static> Worker<S> {
    pub(crate) fn new(parts: WorkerParts<S>) -> Self {
        let spinner = Spinner::new(parts.spin, parts.plan.spin, parts.threads_have_cpus);
        let links = Links::new(&parts.process, parts.index);
        let slot = |(address, module)| ModuleSlot { address, module, deadline: None };
        let now = clock::now();
        let oversight = parts.supervisor.is_some().then(|| Oversight::new(&parts.process, now.monotonic));
        let turns = if parts.process.limits.shares_reads {
            Turns::new(parts.index, parts.process.threads.iter().map(|thread| thread.modules.as_slice()))
        } else {
            Turns::default()
        };
        let count = parts.modules.len();
        let rows = vec![SliceRows::default(); count];
        let (time, waiting) = (parts.process.limits.slice, LongWork::new(count));
        let slices = Slices { time, rows, turns, waiting, backlog: Duration::ZERO };
        let hosts_main = parts.modules.iter().any(|(address, _)| address.kind == ModuleKind::Main);
        Self {
            index: parts.index,
            plan: parts.plan,
            hosts_main,
            modules: parts.modules.into_iter().map(slot).collect(),
            outputs: Outputs::default(),
            exchange: parts.exchange,
            listeners: parts.listeners,
            placement: Placement::default(),
            clients: Clients::default(),
            ledger: parts.memory.map(|memory| Ledger::new(memory, Region::ClientMemory)),
            links,
            strangers: Strangers::default(),
            oversight,
            supervisor: parts.supervisor,
            orders: VecDeque::new(),
            are_orders_held: false,
            disk: parts.disk,
            poller: parts.poller,
            readiness: Vec::new(),
            timers: Deadlines::default(),
            spinner,
            slices,
            budget: Budget::of(0),
            now,
            round_start: now.monotonic,
            last_poll: now.monotonic,
            handled_since_clock: 0,
            got_parcels: false,
            queue: VecDeque::new(),
            scratch: ReceiveBuffer::default(),
            raw_scratch: Vec::with_capacity(READ_SIZE),
            cipher_scratch: Vec::new(),
            slots_scratch: Vec::new(),
            dirty_scratch: Vec::new(),
            counting: Counting::default(),
            quiescence: memory::quiescence::register_thread(),
            is_sweep_planned: false,
            held_until: None,
            reading: None,
            slow_log_at: Instant(0),
            refusals: 0,
            refusal_log_at: Instant(0),
            failed_tls_log_at: Instant(0),
            failed_tls_unlogged: 0,
            process: parts.process,
            seeds: parts.seeds,
        }
    }

    fn shared(&self) -> &ThreadShared {
        &self.process.threads[self.index]
    }

    /// Runs until the runtime ends; gives back the modules, with all that they hold.
    pub(crate) fn run(mut self) -> Vec<BoxedModule<S>> {
        self.begin_thread();
        while self.process.exit_code().is_none() {
            let round = &self.process.threads[self.index].round;
            round.store(0, Ordering::Relaxed);
            self.wait();
            let round = &self.process.threads[self.index].round;
            round.store(self.now.monotonic.0.max(1), Ordering::Relaxed);
            self.round();
        }
        self.process.threads[self.index].round.store(0, Ordering::Relaxed);
        self.leave();
        self.modules.drain(..).map(|slot| slot.module).collect()
    }

    /// Everything between two waits.
    fn round(&mut self) {
        self.counting.rounds += 1;
        self.round_start = self.now.monotonic;
        self.handled_since_clock = 0;
        self.take_events();
        self.take_parcels();
        self.read_ready_links();
        self.look_at_clock();
        self.publish_backlog();
        self.run_queue();
        self.serve_clients();
        self.run_queue();
        self.run_deadlines();
        self.flush();
        if !self.slices.waiting.is_empty() {
            self.run_long_work();
            self.flush();
        }
        disposal::free_some(FREED_PER_ROUND);
        self.watch_threads();
    }

    /// The thread of `membership` looks whether the others come round.
    fn watch_threads(&mut self) {
        let Some(oversight) = &mut self.oversight else { return };
        let process = &self.process;
        oversight.weigh(self.now.monotonic, process);
        let watchdog = &mut oversight.watchdog;
        if !watchdog.is_due(self.now.monotonic) {
            return;
        }
        let mut slow = None;
        watchdog.look(
            self.now.monotonic,
            |thread| process.threads[thread].round.load(Ordering::Relaxed),
            |thread, finding| match finding {
                Finding::Slow => {
                    process.counters.slow_rounds.fetch_add(1, Ordering::Relaxed);
                    slow = Some(thread);
                }
                Finding::Stuck => {
                    let (name, limit) = (&process.threads[thread].name, process.limits.stuck_after);
                    stdx::require!(false, "thread {name} has not come round for {} ms", limit.as_millis());
                }
            },
        );
        if let Some(thread) = slow {
            let (now, name) = (self.now.monotonic, &self.process.threads[thread].name);
            // A machine may be slow for long.
            if now >= self.slow_log_at {
                self.slow_log_at = now + SLOW_LOG_PAUSE;
                let message = format!(
                    "thread {name} works on one round for more than {} ms: it has too little CPU, or too much at once",
                    WARN_AFTER.as_millis()
                );
                self.process.log(Severity::Warning, message);
            }
        }
    }

    /// Some calls were made since the clock was looked at.
    fn look_again(&mut self) {
        let before = self.now.monotonic;
        self.now = clock::now();
        self.counting.learn_call(self.now.monotonic.since(before));
        self.handled_since_clock = 0;
    }

    /// Input was taken: what serves it must not believe that it is earlier. The process may have been stopped
    /// meanwhile, and its lease be over.
    fn look_at_clock(&mut self) {
        self.now.monotonic = clock::monotonic();
    }

    /// Tells the others what is queued.
    fn publish_backlog(&mut self) {
        let (long, short) = (self.slices.waiting.len(), self.queue.len() + self.clients.ready_count());
        let own = &self.process.threads[self.index].statistics.load;
        self.slices.backlog = self.counting.load.publish_backlog(long, short, own);
    }

    /// Which thread may help with the next slice: a round of short work does not look at other threads.
    fn look_for_relief(&mut self) {
        let process = &self.process;
        let see = |thread: usize, module: u8| Seen {
            backlog: process.threads[thread].statistics.load.backlog(),
            weight: process.weights[usize::from(module)].load(Ordering::Relaxed),
        };
        self.budget.relief = self.slices.turns.relief(self.slices.backlog, see);
    }

    fn begin_thread(&mut self) {
        crash::begin_trace();
        let plan = &self.plan;
        if !plan.cpus.is_empty() && crate::machine::pin_this_thread(&plan.cpus).is_err() {
            let message = format!("thread {} is not pinned: CPU {:?} is not there", plan.name, plan.cpus);
            self.process.log(Severity::Warning, message);
        }
        if plan.cpus.is_empty()
            && let Err(error) = crate::machine::take_short_turns()
        {
            let message = format!("thread {} has turns of a usual length: {error}", plan.name);
            self.process.log(Severity::Debug, message);
        }
        if let Some(priority) = plan.priority
            && crate::machine::set_priority_of_this_thread(priority).is_err()
        {
            let message =
                format!("thread {} keeps its normal priority: {priority} is not permitted", plan.name);
            self.process.log(Severity::Debug, message);
        }
        let wake = self.poller.watch(self.shared().waker.descriptor(), Token::Wake);
        stdx::require!(wake.is_ok(), "epoll refuses an eventfd");
        self.open_cluster_listeners();
        for (module, seed) in std::mem::take(&mut self.seeds).into_iter().enumerate() {
            self.dispatch(module, Input::Start { seed });
        }
        self.flush();
    }

    fn leave(&mut self) {
        self.release_held();
        self.flush();
        if self.supervisor.is_some() {
            self.say_farewell();
            self.process.close_all_links();
            self.await_other_threads();
        } else {
            // Links stay open, though nobody reads them, until the farewell is said.
            self.process.stop_thread();
        }
        self.counting.publish(self.now.monotonic, &self.process.threads[self.index].statistics);
    }

    // ---- waiting ----------------------------------------------------------------------------------------------------

    /// Returns when there is something to do, or may be.
    fn wait(&mut self) {
        if crash::is_dying() {
            crash::leave_trace_and_stop();
        }
        self.quiescence.announce();
        let before = clock::monotonic();
        self.counting.learn_call(before.since(self.now.monotonic));
        self.counting.busy_ns += before.0.saturating_sub(self.round_start.0);
        self.counting.publish_if_due(before, &self.process.threads[self.index].statistics);
        self.watch_held(before);
        let deadline = self.next_deadline();
        let is_recent = before.since(self.last_poll) < POLL_INTERVAL;
        if self.has_work() || deadline.is_some_and(|deadline| deadline <= before) {
            // While work keeps coming, sockets can wait for some microseconds.
            if !is_recent {
                self.poll(before, Wait::Not);
            }
        } else if self.got_parcels && is_recent {
            // More parcels are likely: look again before sleeping.
            self.got_parcels = false;
        } else {
            self.spin_then_sleep(before, deadline);
        }
        self.now = clock::now();
    }

    fn has_work(&mut self) -> bool {
        let queued = !self.queue.is_empty() || !self.slices.waiting.is_empty();
        queued
            || disposal::has_more()
            || !self.links.ready.is_empty()
            || self.links.has_incoming()
            || !self.links.dirty.is_empty()
            || !self.exchange.is_empty()
            || self.shared().has_external()
            || (self.clients.ready_count() > 0 && !self.is_congested())
    }

    fn spin_then_sleep(&mut self, before: Instant, deadline: Option<Instant>) {
        self.counting.load.publish_wait(&self.process.threads[self.index].statistics.load);
        let mut asleep = before;
        let spin = self.spinner.spin_time();
        if spin > Duration::ZERO {
            let spin_end = before + spin;
            loop {
                self.poll(asleep, Wait::Not);
                asleep = clock::monotonic();
                if !self.readiness.is_empty() || !self.exchange.is_empty() || self.links.has_incoming() {
                    self.spinner.learn(asleep.since(before));
                    return;
                }
                if asleep >= spin_end || deadline.is_some_and(|deadline| deadline <= asleep) {
                    break;
                }
                for _ in 0..SPINS_PER_POLL {
                    std::hint::spin_loop();
                }
            }
        }
        // Announced before the fence in `park`.
        self.links.announce_sleep();
        self.shared().waker.park();
        let has_input =
            !self.exchange.is_empty() || self.links.has_incoming() || self.shared().has_external();
        if has_input || self.process.exit_code().is_some() {
            self.shared().waker.unpark();
            self.links.announce_awake();
            self.poll(asleep, Wait::Not);
            return;
        }
        let mut until = deadline;
        let mut sleep_at_most = |longest| {
            let end = asleep + longest;
            until = Some(until.map_or(end, |until| until.min(end)));
        };
        if self.exchange.has_spilled() || self.clients.ready_count() > 0 {
            sleep_at_most(CONGESTED_PAUSE);
        }
        if self.counting.is_unpublished() {
            sleep_at_most(PUBLISH_INTERVAL);
        }
        self.quiescence.park();
        self.poll(asleep, Wait::Until(until));
        self.quiescence.unpark();
        self.shared().waker.unpark();
        self.links.announce_awake();
        let awake = clock::monotonic();
        self.last_poll = awake;
        self.counting.asleep += awake.since(asleep);
        self.spinner.learn(awake.since(before));
    }

    fn poll(&mut self, now: Instant, wait: Wait) {
        self.counting.system_calls += 1;
        self.last_poll = now;
        self.poller.take(wait, &mut self.readiness);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let modules = self.modules.iter().filter_map(|slot| slot.deadline).min();
        let own = [
            modules,
            self.timers.next(),
            self.held_until,
            self.supervisor.as_ref().and_then(Supervisor::deadline),
        ];
        own.into_iter().flatten().min()
    }

    // ---- taking -----------------------------------------------------------------------------------------------------

    fn take_events(&mut self) {
        self.got_parcels = false;
        let mut readiness = std::mem::take(&mut self.readiness);
        for event in readiness.drain(..) {
            match event.token {
                Token::Wake => {}
                Token::Listener(index) => self.accept(index),
                Token::Client(slot, generation) => self.on_client_event(slot, generation, event),
                Token::Link(slot, generation) => self.on_link_event(slot, generation, event),
                Token::Bell(slot, generation) => self.on_bell(slot, generation),
                Token::Stranger(slot, generation) => self.on_stranger_event(slot, generation, event),
            }
        }
        self.readiness = readiness;
    }

    fn take_parcels(&mut self) {
        let mut controls = Vec::new();
        let (modules, queue, counters) = (&self.process.modules, &mut self.queue, &self.process.counters);
        let (node, reads_taken) = (self.process.node, &mut self.counting.reads_taken);
        self.got_parcels |= self.exchange.receive(PARCELS_MAX, |parcel| {
            let (to, input) = match parcel {
                Parcel::Signal(envelope) => {
                    *reads_taken += u64::from(envelope.from.node == node && is_read_for_query(&envelope));
                    (envelope.to, Input::Signal(envelope))
                }
                Parcel::Shared { from, to, shared } => (to, Input::Shared { from, shared }),
                Parcel::Control(control) => {
                    controls.push(*control);
                    return;
                }
            };
            match modules.find(to.kind, to.instance) {
                Some((_, module)) => queue.push_back(Work { module, input }),
                None => {
                    counters.undeliverable.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        for control in controls {
            match control {
                Control::Client(client) => self.open_client(client),
                Control::OpenListeners => self.open_client_listeners(),
                Control::Link(order) => self.on_link_order(order),
                Control::News(news) => self.on_link_news(news),
            }
        }
        if self.hosts_main && self.process.take_stop_signal() {
            self.on_stop_requested();
        }
        for external in self.shared().take_external() {
            match external {
                External::StopRequested => self.on_stop_requested(),
                External::DiskDone { module, ticket, result } => {
                    self.notify(module, Input::DiskDone { ticket, result });
                }
                External::Resolved { peer, set, addresses } => self.on_resolved(peer, set, &addresses),
                External::HostFound { peer, addresses } => self.on_host_found(peer, &addresses),
                External::PasswordKey { module, connection, answer } => {
                    self.notify(module, Input::PasswordKey { connection, answer });
                }
            }
        }
    }

    fn on_stop_requested(&mut self) {
        let main = self.modules.iter().position(|slot| slot.address.kind == ModuleKind::Main);
        if let Some(module) = main {
            self.notify(module, Input::StopRequested);
        }
    }

    // ---- handling ---------------------------------------------------------------------------------------------------

    fn notify(&mut self, module: usize, input: OwnedInput<S>) {
        self.queue.push_back(Work { module, input });
    }

    /// Handles queued work until the queue is empty or the round has lasted long enough.
    fn run_queue(&mut self) {
        for _ in 0..ROUND_SIGNALS_MAX {
            let Some(Work { module, input }) = self.queue.pop_front() else { return };
            if let Input::Signal(envelope) = &input {
                crash::note(self.now.monotonic, envelope);
            }
            self.dispatch(module, input);
            if self.handled_since_clock == 0 && self.is_round_over() {
                return;
            }
        }
    }

    /// The slices of this round.
    fn run_long_work(&mut self) {
        self.now = clock::now();
        let (begun, mut long) = (self.now.monotonic, None);
        let rest = begun.since(self.round_start);
        while is_due(rest, long)
            && let Some((module, input)) = self.slices.waiting.next()
        {
            self.look_for_relief();
            self.run_slice(module, input);
            long = Some(self.now.monotonic.since(begun));
        }
        self.budget.relief = None;
        self.let_others_run();
    }

    /// Threads that share CPUs take turns by slices of long work. By itself the kernel changes between them at its
    /// ticks, which are milliseconds apart, and clients of the others wait for that.
    fn let_others_run(&self) {
        if self.plan.cpus.is_empty() {
            std::thread::yield_now();
        }
    }

    /// Measured, so that its budget fits the slice.
    fn run_slice(&mut self, module: usize, input: OwnedInput<S>) {
        if let Input::Signal(envelope) = &input {
            crash::note(self.now.monotonic, envelope);
        }
        let start = self.now.monotonic;
        self.dispatch(module, input);
        let spent = self.budget.is_spent();
        self.look_again();
        let took = self.now.monotonic.since(start);
        self.counting.load.count_slice(took);
        if spent {
            self.slices.rows[module].learn(took, self.slices.time);
        }
    }

    fn is_round_over(&self) -> bool {
        self.now.monotonic.since(self.round_start) >= ROUND_TIME_MAX
    }

    fn run_deadlines(&mut self) {
        let now = self.now.monotonic;
        for module in 0..self.modules.len() {
            if self.modules[module].deadline.is_some_and(|deadline| deadline <= now) {
                self.dispatch(module, Input::Deadline);
            }
        }
        while let Some(timer) = self.timers.expired(now) {
            self.on_timer(timer);
        }
        self.supervise_deadline(now);
        self.run_queue();
        if self.held_until.is_some_and(|until| until <= now) {
            self.release_held();
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        match timer {
            Timer::AcceptAgain(index) => self.accept_again(index),
            Timer::Sweep => self.sweep(),
            Timer::Linger(connection) => self.close_client(connection, protocol::CloseReason::Requested),
            Timer::Stranger(slot, generation) => self.on_stranger_timeout(slot, generation),
        }
    }

    /// Gives one input to a module and does what it wants done.
    #[inline]
    fn dispatch(&mut self, module: usize, input: Input<'_, S>) {
        self.counting.last_input = input.name();
        self.budget.rows = self.slices.rows[module].get();
        self.counting.signals += 1;
        let slot = &mut self.modules[module];
        slot.module.handle(self.now, input, &mut self.budget, &mut self.outputs);
        slot.deadline = slot.module.deadline();
        self.handled_since_clock += 1;
        if self.handled_since_clock >= CLOCK_EVERY || self.budget.is_spent() {
            self.look_again();
            if self.budget.is_spent() {
                // Many long slices make a long round, but each has ended: the watchdog looks for a call that does not.
                self.shared().round.store(self.now.monotonic.0.max(1), Ordering::Relaxed);
            }
            if crash::is_dying() {
                crash::leave_trace_and_stop();
            }
        }
        self.pass_on(module);
    }

    /// Takes the outputs of one `handle` call, apart from bytes for clients, which leave at the flush.
    #[inline]
    fn pass_on(&mut self, module: usize) {
        // First the objects, because signals of the same call may refer to what they describe.
        if !self.outputs.shared.is_empty() {
            self.pass_on_shared();
        }
        if !self.outputs.signals.is_empty() {
            let mut signals = std::mem::take(&mut self.outputs.signals);
            for envelope in signals.drain(..) {
                self.route(envelope);
            }
            self.outputs.signals = signals;
        }
        if !self.outputs.actions.is_empty() {
            let mut actions = std::mem::take(&mut self.outputs.actions);
            for (connection, action) in actions.drain(..) {
                self.act(connection, action);
            }
            self.outputs.actions = actions;
        }
        let rare = self.outputs.shared.is_empty()
            && self.outputs.events.is_empty()
            && self.outputs.disk_requests.is_empty()
            && self.outputs.requests.is_empty();
        if !rare {
            self.pass_on_rare(module);
        }
    }

    #[cold]
    fn pass_on_shared(&mut self) {
        for (from, to, shared) in std::mem::take(&mut self.outputs.shared) {
            match self.process.modules.find(to.kind, to.instance) {
                Some((thread, module)) if thread == self.index => {
                    self.queue.push_back(Work { module, input: Input::Shared { from, shared } });
                }
                Some((thread, _)) => self.exchange.send(thread, Parcel::Shared { from, to, shared }),
                None => {
                    self.process.counters.undeliverable.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    #[cold]
    fn pass_on_rare(&mut self, module: usize) {
        for event in std::mem::take(&mut self.outputs.events) {
            self.process.log_event(&event);
        }
        for request in std::mem::take(&mut self.outputs.disk_requests) {
            match &self.disk {
                Some(disk) => disk.ask(self.index, module, request),
                None => stdx::require!(false, "this node has no files"),
            }
        }
        for request in std::mem::take(&mut self.outputs.requests) {
            match request {
                RequestToRuntime::Report => {
                    let statistics = &self.process.threads[self.index].statistics;
                    self.counting.publish(self.now.monotonic, statistics);
                    let report = report(&self.process);
                    self.notify(module, Input::Report(Box::new(report)));
                }
                RequestToRuntime::PublicKey { connection } => {
                    password_key::ask(&self.process, self.index, module, connection, Wanted::Public);
                }
                RequestToRuntime::Decrypt { connection, encrypted } => {
                    password_key::ask(
                        &self.process,
                        self.index,
                        module,
                        connection,
                        Wanted::Clear(encrypted),
                    );
                }
                RequestToRuntime::Exit(code) => self.process.exit(code),
                RequestToRuntime::OpenListeners => {
                    for thread in 0..self.process.threads.len() {
                        if thread == self.index {
                            self.open_client_listeners();
                        } else {
                            self.exchange.send(thread, Parcel::Control(Box::new(Control::OpenListeners)));
                        }
                    }
                }
            }
        }
    }

    /// Sends a signal on its way: the queue, another thread's ring, or a link.
    #[inline]
    fn route(&mut self, envelope: Envelope) {
        let to = envelope.to;
        if to.node != self.process.node {
            self.send_to_peer(&envelope);
            return;
        }
        match self.process.modules.find(to.kind, to.instance) {
            Some((thread, module)) if thread == self.index => {
                let is_long = matches!(envelope.signal, Signal::Continue(_));
                let input = Input::Signal(envelope);
                if is_long {
                    self.slices.waiting.push(module, input);
                } else {
                    self.queue.push_back(Work { module, input });
                }
            }
            Some((thread, _)) if envelope.signal.is_deferrable() => {
                self.exchange.hold(thread, Parcel::Signal(envelope));
            }
            Some((thread, _)) => {
                let is_own = envelope.from.node == self.process.node;
                self.counting.reads_given += u64::from(is_own && is_read_for_query(&envelope));
                self.exchange.send(thread, Parcel::Signal(envelope));
            }
            None => {
                self.process.counters.undeliverable.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Something downstream is full: take no new work from clients.
    fn is_congested(&mut self) -> bool {
        self.links.high_count > 0 || self.queue.len() > QUEUE_HIGH || self.exchange.is_congested()
    }

    // ---- what may wait ----------------------------------------------------------------------------------------------

    /// Keeps the time up to which signals may be held back: from the first that did not leave with others.
    fn watch_held(&mut self, now: Instant) {
        let has_held = self.links.has_held() | self.exchange.has_held();
        if !has_held {
            self.held_until = None;
        } else if self.held_until.is_none() {
            self.held_until = Some(now + DEFER_TIME_MAX);
        }
    }

    fn release_held(&mut self) {
        self.held_until = None;
        self.links.release_held();
        self.exchange.release_held();
    }

    // ---- flushing ---------------------------------------------------------------------------------------------------

    fn flush(&mut self) {
        self.flush_exchange();
        self.flush_links();
        self.flush_clients();
        // Writing may have failed and closed something, which others want to know.
        self.flush_exchange();
    }

    fn flush_exchange(&mut self) {
        let wakes = self.exchange.flush();
        self.counting.wakes += wakes;
        self.counting.system_calls += wakes;
    }
}
