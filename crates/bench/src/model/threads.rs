//! Threads and the CPUs that they share.
//!
//! ```text
//! asleep ──something comes──► waiting ──a CPU is free──► running ──nothing left──► asleep
//!                                ▲                          │
//!                                └── its turn is over, and others wait
//! ```
//! A pool of CPUs takes threads in the order in which they began to wait. With a CPU for each thread none ever waits.
//!
//! **Invariants.** A thread that is not asleep either waits in its pool or has one of its CPUs.

use super::statement::{Message, Slice};
use super::topology::Topology;
use protocol::Address;
use protocol::placement::Turns;
use runtime::long_work::LongWork;
use std::collections::VecDeque;

/// How long a thread keeps its CPU while others wait: the kernel's usual slice on few CPUs.
const TURN_NS: u64 = 1_500_000;

/// How long queued inputs and slices take, before a node has measured any: what `runtime::load` begins with.
const SHORT_NS: u64 = 5_000;
const SLICE_NS: u64 = 50_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Asleep,
    Waiting,
    Running,
}

/// A thread of a node, or of clients.
pub(super) struct Thread {
    pub(super) node: u16,
    pool: usize,
    state: State,
    /// When it got its CPU.
    since: u64,
    /// Signals of other threads and, behind them, packets of clients.
    pub(super) signals: VecDeque<Message>,
    pub(super) packets: VecDeque<Message>,
    pub(super) long: LongWork<Slice>,
    pub(super) turns: Turns,
    /// The time of all that was queued when its round began, in nanoseconds.
    pub(super) backlog: u64,
    /// Time in rounds, since the run began and since the last sample.
    pub(super) busy_ns: f64,
    pub(super) sampled_ns: f64,
    /// In percent, in the last sample.
    pub(super) sample: u32,
}

impl Thread {
    pub(super) fn is_asleep(&self) -> bool {
        self.state == State::Asleep
    }

    pub(super) fn has_work(&self) -> bool {
        !self.signals.is_empty() || !self.packets.is_empty() || !self.long.is_empty()
    }

    /// Says what is queued, as a worker does at the beginning of a round.
    pub(super) fn publish_backlog(&mut self) {
        let short = (self.signals.len() + self.packets.len()) as u64;
        self.backlog = (self.long.len() as u64 * SLICE_NS + short * SHORT_NS).max(1);
    }
}

struct Pool {
    idle: u16,
    waiting: VecDeque<usize>,
}

/// All threads, and the CPUs.
pub(super) struct Threads {
    pub(super) all: Vec<Thread>,
    pools: Vec<Pool>,
}

/// The thread that runs next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// The same thread goes on.
    Same,
    /// Another one gets its CPU.
    Other(usize),
    /// The CPU is idle.
    Nobody,
}

impl Threads {
    /// All asleep. Only threads with long work look for helpers.
    pub(super) fn new(topology: &Topology, has_long_work: bool) -> Self {
        let mut all = Vec::with_capacity(topology.threads.len());
        for (number, place) in topology.threads.iter().enumerate() {
            let mates = topology.threads.iter().map(|other| {
                let modules: &[Address] = if other.node == place.node { &other.modules } else { &[] };
                modules
            });
            let turns = if has_long_work { Turns::new(number, mates) } else { Turns::default() };
            all.push(Thread {
                node: place.node,
                pool: place.pool,
                state: State::Asleep,
                since: 0,
                signals: VecDeque::new(),
                packets: VecDeque::new(),
                long: LongWork::new(1),
                turns,
                backlog: 0,
                busy_ns: 0.0,
                sampled_ns: 0.0,
                sample: 0,
            });
        }
        let pools = topology.pools.iter().map(|cpus| Pool { idle: *cpus, waiting: VecDeque::new() });
        Self { all, pools: pools.collect() }
    }

    /// Something has come for a thread; true if it sleeps and there is a CPU for it, which it has from now on.
    pub(super) fn wake(&mut self, thread: usize) -> bool {
        let one = &mut self.all[thread];
        if one.state != State::Asleep {
            return false;
        }
        let pool = &mut self.pools[one.pool];
        if pool.idle == 0 {
            one.state = State::Waiting;
            pool.waiting.push_back(thread);
            return false;
        }
        pool.idle -= 1;
        one.state = State::Running;
        true
    }

    /// A thread begins to run on the CPU that it was given.
    pub(super) fn begin(&mut self, thread: usize, now: u64) {
        let one = &mut self.all[thread];
        one.state = State::Running;
        one.since = now;
    }

    /// A round is over.
    pub(super) fn end_round(&mut self, thread: usize, now: u64) -> Next {
        let one = &mut self.all[thread];
        let pool = &mut self.pools[one.pool];
        if one.has_work() {
            if pool.waiting.is_empty() || now - one.since < TURN_NS {
                return Next::Same;
            }
            one.state = State::Waiting;
            pool.waiting.push_back(thread);
        } else {
            one.state = State::Asleep;
            one.backlog = 0;
        }
        match pool.waiting.pop_front() {
            Some(other) => Next::Other(other),
            None => {
                pool.idle += 1;
                Next::Nobody
            }
        }
    }
}
