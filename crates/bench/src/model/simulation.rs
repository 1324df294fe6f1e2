//! Discrete events over clients, threads, links and CPUs: how many statements a second a cluster answers.
//!
//! ```text
//! client ──packet──► session's thread ──signals──► other threads ──signals──► session's thread ──answer──► client
//! ```
//! A thread works in rounds, as `runtime::worker` does: signals, packets of clients, then a flush, then one slice of
//! long work. Signals and answers of a round leave in its flush. A thread without work sleeps, and a sender wakes it.
//! Threads of one node pass parcels. Nodes of one machine do the same, and code signals. Nodes of other machines use
//! sockets: a packet carries all that a round has for one thread, and costs as much as one of a client.
//!
//! Clients are a closed loop without think time: each draws its next statement when the last one is answered.
//!
//! **Invariants.** The same input and seed give the same outcome. A statement that is drawn is answered, unless the run
//! ends before.
//!
//! **Deliberately not here**: congestion (a closed loop of few clients per thread fills no ring), locks, epochs and
//! heartbeats, time on the network.

use super::events::Events;
use super::operation::{Operation, Role, Statements};
use super::statement::{Client, Kind, Message, Slice, SliceOf};
use super::threads::{Next, Threads};
use super::topology::Topology;
use crate::costs::Costs;
use protocol::placement::{SAMPLE, Seen, Weights, busy_of};
use stdx::{Duration, Instant, Prng};

/// A round that takes longer flushes, as `runtime::worker` has it.
const ROUND_NS: f64 = 300_000.0;
/// A slice of long work, and how long work is in slices at once.
const SLICE_NS: f64 = 50_000.0;
const LONG_NS: f64 = 4.0 * SLICE_NS;
/// A piece that a helper is given: some 20 000 rows.
const PIECE_NS: f64 = 20.0 * SLICE_NS;

/// Statements that are not counted because queues are filling, and those that are, for each client and in all.
const WARM_EACH: u64 = 3;
const COUNTED_EACH: u64 = 6;
const WARM_MIN: u64 = 5_000;
const COUNTED_MIN: u64 = 40_000;

/// The load on a cluster.
#[derive(Clone, Debug)]
pub(super) struct Load<'a> {
    pub(super) statements: &'a Statements,
    pub(super) clients: u32,
    /// Clients that send what is beside, all of them at the first node.
    pub(super) beside: u32,
    /// The time of a client between an answer and its next packet.
    pub(super) client_ns: f64,
    pub(super) seed: u64,
}

/// The outcome of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Outcome {
    /// Statements a second, without those beside.
    pub(super) per_second: f64,
    /// From sending to the answer, in the mean.
    pub(super) mean_us: f64,
    /// The part of their time that the nodes' threads work.
    pub(super) busy: f64,
    /// Their time for each of these statements.
    pub(super) cpu_us: f64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive(usize, Message),
    /// A thread that was asleep begins to run.
    Run(usize),
    RoundEnds(usize),
    /// Weights of all nodes are looked at.
    Sample,
}

/// Runs until enough statements are counted.
pub(super) fn run(topology: &Topology, load: &Load<'_>, costs: &Costs) -> Outcome {
    let mut simulation = Simulation::new(topology, load, costs);
    simulation.begin();
    let clients = u64::from(load.clients);
    let warm = (WARM_EACH * clients).max(WARM_MIN);
    simulation.run_until(warm);
    let (begun, busy) = (simulation.events.now(), simulation.busy_ns());
    simulation.latency_ns = 0.0;
    let counted = (COUNTED_EACH * clients).max(COUNTED_MIN);
    simulation.run_until(warm + counted);
    // Counts and times are far below 2^52.
    let (took, counted) = ((simulation.events.now() - begun) as f64, counted as f64);
    let threads = topology.threads.len() - topology.generators.len();
    let worked = simulation.busy_ns() - busy;
    Outcome {
        per_second: counted / took * 1e9,
        mean_us: simulation.latency_ns / counted / 1e3,
        // A round counts when it begins.
        busy: (worked / took / threads as f64).min(1.0),
        cpu_us: worked / counted / 1e3,
    }
}

/// A message that leaves a thread in its flush.
struct Outgoing {
    to: usize,
    client: u32,
    kind: Kind,
}

struct Simulation<'a> {
    topology: &'a Topology,
    load: &'a Load<'a>,
    costs: &'a Costs,
    events: Events<Event>,
    threads: Threads,
    clients: Vec<Client>,
    /// By node, with the numbers that `Seen` wants; empty if there is no long work.
    weights: Vec<(Weights, Vec<u8>)>,
    prng: Prng,
    outgoing: Vec<Outgoing>,
    /// Threads that this flush has sent to already.
    reached: Vec<usize>,
    answered: u64,
    latency_ns: f64,
}

impl<'a> Simulation<'a> {
    fn new(topology: &'a Topology, load: &'a Load<'a>, costs: &'a Costs) -> Self {
        let has_long_work = load.beside > 0;
        let mut clients = Vec::new();
        let nodes = topology.workers.len();
        for number in 0..load.clients as usize {
            // A new client goes to the worker with the fewest clients.
            let (node, turn) = (number % nodes, number / nodes);
            let workers = &topology.workers[node];
            let generator = topology.generators.get(node).copied();
            clients.push(Client::new(workers[turn % workers.len()], generator, false));
        }
        for number in 0..load.beside as usize {
            let workers = &topology.workers[0];
            clients.push(Client::new(
                workers[number % workers.len()],
                topology.generators.last().copied(),
                true,
            ));
        }
        let weights =
            |workers: &Vec<usize>| (Weights::new(workers.len(), Instant(0)), vec![0; workers.len()]);
        Self {
            topology,
            load,
            costs,
            events: Events::new(),
            threads: Threads::new(topology, has_long_work),
            clients,
            weights: if has_long_work { topology.workers.iter().map(weights).collect() } else { Vec::new() },
            prng: Prng::new(load.seed),
            outgoing: Vec::new(),
            reached: Vec::new(),
            answered: 0,
            latency_ns: 0.0,
        }
    }

    /// Every client sends its first statement, one after the other.
    fn begin(&mut self) {
        for client in 0..u32::try_from(self.clients.len()).unwrap_or(u32::MAX) {
            self.send_request(client, f64::from(client % 1_000) * 10.0);
        }
        if !self.weights.is_empty() {
            self.events.after(SAMPLE.as_secs_f64() * 1e9, Event::Sample);
        }
    }

    fn run_until(&mut self, answered: u64) {
        while self.answered < answered {
            let Some(event) = self.events.next() else { return };
            match event {
                Event::Arrive(thread, message) => self.on_arrive(thread, message),
                Event::Run(thread) => self.on_run(thread),
                Event::RoundEnds(thread) => self.on_round_ends(thread),
                Event::Sample => self.on_sample(),
            }
        }
    }

    fn busy_ns(&self) -> f64 {
        let nodes = self.threads.all.len() - self.topology.generators.len();
        self.threads.all[..nodes].iter().map(|thread| thread.busy_ns).sum()
    }

    // ---- threads ----------------------------------------------------------------------------------------------------

    fn on_arrive(&mut self, thread: usize, message: Message) {
        let one = &mut self.threads.all[thread];
        match message.kind {
            Kind::Request | Kind::Answer => one.packets.push_back(message),
            Kind::Stage(_) | Kind::Piece(_) | Kind::PieceDone => one.signals.push_back(message),
        }
        if self.threads.wake(thread) {
            self.events.after(self.costs.delay, Event::Run(thread));
        }
    }

    /// A thread that slept, or waited for its turn, has a CPU. The switch to it costs half a wake.
    fn on_run(&mut self, thread: usize) {
        self.threads.begin(thread, self.events.now());
        self.round(thread, self.costs.wake / 2.0);
    }

    fn on_round_ends(&mut self, thread: usize) {
        match self.threads.end_round(thread, self.events.now()) {
            Next::Same => self.round(thread, 0.0),
            Next::Other(other) => self.on_run(other),
            Next::Nobody => {}
        }
    }

    /// A round that begins with so much lost already.
    fn round(&mut self, thread: usize, lost_ns: f64) {
        self.threads.all[thread].publish_backlog();
        let mut spent = lost_ns;
        while spent < ROUND_NS {
            let one = &mut self.threads.all[thread];
            let Some(message) = one.signals.pop_front().or_else(|| one.packets.pop_front()) else { break };
            spent += message.cost_ns;
            spent += self.handle(thread, message, spent);
        }
        spent += self.flush(thread, spent);
        if let Some((_, slice)) = self.threads.all[thread].long.next() {
            spent += self.slice(thread, slice);
            spent += self.flush(thread, spent);
        }
        self.threads.all[thread].busy_ns += spent;
        self.events.after(spent, Event::RoundEnds(thread));
    }

    /// Takes a message at so much of the round; gives what that costs.
    fn handle(&mut self, thread: usize, message: Message, spent: f64) -> f64 {
        let client = message.client;
        match message.kind {
            Kind::Request => self.stage(thread, client, 0),
            Kind::Answer => {
                self.on_answer(client, spent);
                // It is sent at once, not in a flush.
                self.send_request(client, spent + self.load.client_ns);
                self.load.client_ns
            }
            Kind::Stage(number) => {
                let operation = self.operation(client);
                let one = &mut self.clients[client as usize];
                let role = one.graph(operation).stages[usize::from(number)].role;
                if one.may_begin(role) { self.stage(thread, client, number) } else { 0.0 }
            }
            Kind::Piece(left_ns) => {
                self.threads.all[thread].long.push(0, Slice { client, left_ns, of: SliceOf::Piece });
                0.0
            }
            Kind::PieceDone => {
                let one = &mut self.clients[client as usize];
                one.pieces -= 1;
                if one.pieces == 0 && one.is_own_part_done {
                    self.go_on(thread, client, 0);
                }
                0.0
            }
        }
    }

    // ---- statements -------------------------------------------------------------------------------------------------

    fn operation(&self, client: u32) -> &'a Operation {
        let statements = self.load.statements;
        match (self.clients[client as usize].is_beside, &statements.beside) {
            (true, Some(beside)) => beside,
            _ => &statements.main,
        }
    }

    /// Does a stage, or begins it if it is long; gives its time.
    fn stage(&mut self, thread: usize, client: u32, number: u8) -> f64 {
        let operation = self.operation(client);
        let ns = self.clients[client as usize].graph(operation).stages[usize::from(number)].ns;
        if ns > LONG_NS {
            let slice = Slice { client, left_ns: ns, of: SliceOf::Stage(number) };
            self.threads.all[thread].long.push(0, slice);
            return 0.0;
        }
        self.go_on(thread, client, number);
        ns
    }

    /// A stage is done: others have the next one, or the client has its answer.
    fn go_on(&mut self, thread: usize, client: u32, number: u8) {
        let operation = self.operation(client);
        let one = &mut self.clients[client as usize];
        let graph = one.graph(operation);
        // A cluster of single replicas has no backups to ask.
        let is_empty = |role: Role, one: &Client| one.threads_of(role).is_empty();
        let mut next = number + 1;
        while graph.stages.get(usize::from(next)).is_some_and(|stage| is_empty(stage.role, one)) {
            next += 1;
        }
        let Some(stage) = graph.stages.get(usize::from(next)) else {
            self.outgoing.push(Outgoing { to: thread, client, kind: Kind::Answer });
            return;
        };
        let to = one.threads_of(stage.role);
        let count = to.len();
        self.outgoing.extend(to.iter().map(|to| Outgoing { to: *to, client, kind: Kind::Stage(next) }));
        if matches!(stage.role, Role::Backups | Role::Others) {
            one.expect(count);
        }
    }

    /// One slice of long work; gives its time.
    fn slice(&mut self, thread: usize, mut slice: Slice) -> f64 {
        let took = slice.left_ns.min(SLICE_NS);
        slice.left_ns -= took;
        // A piece, and a part that another node was asked for, move no further.
        let is_own = slice.of == SliceOf::Stage(0);
        if is_own && slice.left_ns > PIECE_NS && self.give(thread, slice.client) {
            slice.left_ns -= PIECE_NS;
        }
        if slice.left_ns > 0.0 {
            self.threads.all[thread].long.push(0, slice);
            return took;
        }
        let client = slice.client;
        match slice.of {
            SliceOf::Piece => {
                let to = self.clients[client as usize].session;
                self.outgoing.push(Outgoing { to, client, kind: Kind::PieceDone });
            }
            SliceOf::Stage(0) if self.clients[client as usize].pieces > 0 => {
                self.clients[client as usize].is_own_part_done = true;
            }
            SliceOf::Stage(number) => self.go_on(thread, client, number),
        }
        took
    }

    /// Gives a piece to the thread whose turn it is, if that one takes it.
    fn give(&mut self, thread: usize, client: u32) -> bool {
        let node = usize::from(self.threads.all[thread].node);
        let mut turns = std::mem::take(&mut self.threads.all[thread].turns);
        let own = Duration::from_nanos(self.threads.all[thread].backlog);
        let (threads, weights) = (&self.threads.all, &self.weights);
        let weight_of =
            |module: u8| weights.get(node).and_then(|(_, all)| all.get(usize::from(module)).copied());
        let relief = turns.relief(own, |other, module| {
            let other = &threads[other];
            let backlog = (!other.is_asleep()).then(|| Duration::from_nanos(other.backlog));
            Seen { backlog, weight: weight_of(module).unwrap_or(0) }
        });
        self.threads.all[thread].turns = turns;
        // Module and worker have the same number.
        let Some(&to) = relief.and_then(|module| self.topology.workers[node].get(usize::from(module))) else {
            return false;
        };
        self.clients[client as usize].pieces += 1;
        self.outgoing.push(Outgoing { to, client, kind: Kind::Piece(PIECE_NS) });
        true
    }

    // ---- messages ---------------------------------------------------------------------------------------------------

    /// Sends what the round has made; gives what that costs.
    fn flush(&mut self, thread: usize, spent: f64) -> f64 {
        let mut cost = 0.0;
        self.reached.clear();
        for outgoing in std::mem::take(&mut self.outgoing) {
            let Outgoing { to, client, kind } = outgoing;
            if kind == Kind::Answer {
                cost += self.operation(client).answer_ns;
                self.send_answer(client, spent + cost);
                continue;
            }
            let (send_ns, cost_ns) = self.crossing(thread, to, client);
            cost += send_ns;
            self.events.after(spent + cost, Event::Arrive(to, Message { client, kind, cost_ns }));
        }
        cost
    }

    /// The costs of a signal for its sender and its receiver.
    fn crossing(&mut self, from: usize, to: usize, client: u32) -> (f64, f64) {
        if from == to {
            return (0.0, 0.0);
        }
        let is_first = !self.reached.contains(&to);
        if is_first {
            self.reached.push(to);
        }
        let (one, other) = (&self.topology.threads[from], &self.topology.threads[to]);
        let coding = if one.node == other.node {
            0.0
        } else {
            self.clients[client as usize].graph(self.operation(client)).link_ns / 2.0
        };
        if one.pool != other.pool {
            // A packet for all that goes to this thread.
            let (send, receive) = if is_first { (self.costs.send, self.costs.receive) } else { (0.0, 0.0) };
            return (coding + send, coding + receive);
        }
        let wakes = is_first && self.threads.all[to].is_asleep();
        let wake = if wakes { self.costs.wake / 2.0 } else { 0.0 };
        (coding + self.costs.hop / 2.0 + wake, coding + self.costs.hop / 2.0)
    }

    /// A client sends its next statement after so long.
    fn send_request(&mut self, client: u32, after_ns: f64) {
        let operation = self.operation(client);
        // A run lasts seconds: far below 2^52 ns, here and below.
        let begun = self.events.now() as f64 + after_ns;
        let one = &mut self.clients[client as usize];
        one.draw(operation, self.topology, &mut self.prng, begun);
        let message = Message { client, kind: Kind::Request, cost_ns: self.costs.receive };
        self.events.after(after_ns, Event::Arrive(one.session, message));
    }

    fn send_answer(&mut self, client: u32, after_ns: f64) {
        if let Some(generator) = self.clients[client as usize].generator {
            let message = Message { client, kind: Kind::Answer, cost_ns: 0.0 };
            self.events.after(after_ns, Event::Arrive(generator, message));
        } else {
            self.on_answer(client, after_ns);
            self.send_request(client, after_ns + self.load.client_ns);
        }
    }

    /// A client has its answer after so long.
    fn on_answer(&mut self, client: u32, after_ns: f64) {
        let one = &self.clients[client as usize];
        if !one.is_beside {
            self.answered += 1;
            self.latency_ns += self.events.now() as f64 + after_ns - one.begun;
        }
    }

    // ---- load -------------------------------------------------------------------------------------------------------

    /// Every 50 ms: how busy each thread was. Every 100 ms: the weights that follow.
    fn on_sample(&mut self) {
        let now = Instant(self.events.now());
        for (node, (weights, numbers)) in self.weights.iter_mut().enumerate() {
            let workers = &self.topology.workers[node];
            let mut busy = Vec::with_capacity(workers.len());
            for worker in workers {
                let thread = &mut self.threads.all[*worker];
                let share = (thread.busy_ns - thread.sampled_ns) / (SAMPLE.as_secs_f64() * 1e9) * 100.0;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
                let sample = share.clamp(0.0, 100.0) as u32;
                busy.push(busy_of(thread.sample, sample));
                (thread.sample, thread.sampled_ns) = (sample, thread.busy_ns);
            }
            if weights.is_due(now) {
                numbers.copy_from_slice(weights.change(now, &busy));
            }
        }
        self.events.after(SAMPLE.as_secs_f64() * 1e9, Event::Sample);
    }
}

#[cfg(test)]
mod tests;
