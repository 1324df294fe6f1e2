//! A node of workers with queues, which ask the production functions where a scan's pieces go.

use super::*;
use std::collections::VecDeque;

const TICK: Duration = Duration::from_micros(10);
const TICKS_PER_SECOND: u64 = 100_000;
const TICKS_PER_SAMPLE: u64 = 5_000;
const SLICE: Duration = Duration::from_micros(50);
/// The cost of a short statement.
const SHORT: Duration = Duration::from_micros(10);
/// A round ends with the slice that begins before this.
const ROUND_MAX: Duration = Duration::from_micros(300);
/// Pieces of a statement that scans, for each worker: with fewer of them than workers some stay idle.
const PIECES: u32 = 2;

/// The clients of a worker.
#[derive(Clone, Copy, Default)]
struct Clients {
    /// Each scans again as soon as it has its answer.
    scanners: u32,
    /// The share of a worker that short statements take, in percent.
    short_percent: u64,
}

/// A piece that is being read, in slices.
struct Piece {
    statement: usize,
    slices: u64,
}

struct Statement {
    owner: usize,
    /// Pieces that nobody has begun.
    waiting: u32,
    /// Pieces that are being read.
    running: u32,
}

struct Worker {
    clients: Clients,
    turns: Turns,
    pieces: VecDeque<Piece>,
    short: u64,
    busy_until: Instant,
    /// In this sample, and in this second.
    worked: (Duration, Duration),
    sample: u32,
    busy: u32,
    backlog: Option<Duration>,
}

/// One second of a node.
struct Second {
    /// How busy each worker was, in percent.
    busy: Vec<u64>,
    /// Slices that were read for other workers, of a thousand.
    moved: u64,
}

struct Node {
    now: Instant,
    prng: Prng,
    workers: Vec<Worker>,
    weights: Weights,
    of: Vec<u8>,
    statements: Vec<Statement>,
    /// How many pieces each statement has.
    pieces: u32,
    /// Slices of this second: all, and those read for others.
    slices: (u64, u64),
}

impl Node {
    fn new(seed: u64, clients: &[Clients]) -> Self {
        let modules: Vec<Vec<Address>> =
            (0..clients.len()).map(|worker| query(u8::try_from(worker).expect("few"))).collect();
        let worker = |(own, clients): (usize, &Clients)| Worker {
            clients: *clients,
            turns: Turns::new(own, modules.iter().map(Vec::as_slice)),
            pieces: VecDeque::new(),
            short: 0,
            busy_until: Instant(0),
            worked: (Duration::ZERO, Duration::ZERO),
            sample: 0,
            busy: 0,
            backlog: None,
        };
        let mut node = Self {
            now: Instant(0),
            prng: Prng::new(seed),
            workers: clients.iter().enumerate().map(worker).collect(),
            weights: Weights::new(clients.len(), Instant(0)),
            of: vec![0; clients.len()],
            statements: Vec::new(),
            pieces: PIECES * u32::try_from(clients.len()).expect("few"),
            slices: (0, 0),
        };
        for (owner, clients) in clients.iter().enumerate() {
            for _ in 0..clients.scanners {
                node.statements.push(Statement { owner, waiting: node.pieces, running: 0 });
                node.begin_piece(node.statements.len() - 1, owner);
            }
        }
        node
    }

    /// Pieces of 1 to 5 ms.
    fn begin_piece(&mut self, statement: usize, worker: usize) {
        let slices = 20 + self.prng.below(80);
        let of = &mut self.statements[statement];
        (of.waiting, of.running) = (of.waiting - 1, of.running + 1);
        self.workers[worker].pieces.push_back(Piece { statement, slices });
    }

    fn second(&mut self) -> Second {
        self.slices = (0, 0);
        for tick in 1..=TICKS_PER_SECOND {
            self.now = self.now + TICK;
            for worker in 0..self.workers.len() {
                // Short statements come when they like.
                if self.prng.chance(self.workers[worker].clients.short_percent, 100) {
                    self.workers[worker].short += 1;
                }
                if self.workers[worker].busy_until <= self.now {
                    self.round(worker);
                }
            }
            if tick % TICKS_PER_SAMPLE == 0 {
                self.take_samples();
            }
        }
        let second = Duration::from_secs(1).as_micros();
        let busy = |worker: &mut Worker| {
            let worked = std::mem::take(&mut worker.worked.1);
            u64::try_from(worked.as_micros() * 100 / second).expect("small")
        };
        let moved = self.slices.1 * 1_000 / self.slices.0.max(1);
        Second { busy: self.workers.iter_mut().map(busy).collect(), moved }
    }

    fn take_samples(&mut self) {
        for worker in &mut self.workers {
            let worked = std::mem::take(&mut worker.worked.0);
            let sample = worked.as_micros() * 100 / SAMPLE.as_micros();
            let sample = u32::try_from(sample).expect("small").min(100);
            worker.busy = busy_of(std::mem::replace(&mut worker.sample, sample), sample);
        }
        if self.weights.is_due(self.now) {
            let busy: Vec<u32> = self.workers.iter().map(|worker| worker.busy).collect();
            self.of = self.weights.change(self.now, &busy).to_vec();
        }
    }

    fn round(&mut self, own: usize) {
        let worker = &self.workers[own];
        let (long, short) = (worker.pieces.len(), worker.short);
        if long == 0 && short == 0 {
            self.workers[own].backlog = None;
            return;
        }
        let backlog = SLICE * u32::try_from(long).expect("few") + SHORT * u32::try_from(short).expect("few");
        self.workers[own].backlog = Some(backlog);
        let mut relief = None;
        if long > 0 {
            let (backlogs, of): (Vec<_>, _) =
                (self.workers.iter().map(|worker| worker.backlog).collect(), &self.of);
            let see = |thread: usize, module: u8| Seen {
                backlog: backlogs[thread],
                weight: of[usize::from(module)],
            };
            relief = self.workers[own].turns.relief(backlog, see).map(usize::from);
        }
        let mut took = Duration::ZERO;
        for _ in 0..long {
            if took >= ROUND_MAX {
                break;
            }
            took += SLICE;
            self.slice(own, &mut relief);
        }
        took += SHORT * u32::try_from(short).expect("few");
        let worker = &mut self.workers[own];
        worker.short = 0;
        worker.busy_until = self.now + took;
        worker.worked = (worker.worked.0 + took, worker.worked.1 + took);
    }

    /// One slice of the next piece.
    fn slice(&mut self, own: usize, relief: &mut Option<usize>) {
        let Some(mut piece) = self.workers[own].pieces.pop_front() else { return };
        let owner = self.statements[piece.statement].owner;
        self.slices = (self.slices.0 + 1, self.slices.1 + u64::from(owner != own));
        // The session keeps the piece that it reads.
        if owner == own
            && self.statements[piece.statement].waiting > 0
            && let Some(helper) = relief.take()
        {
            self.begin_piece(piece.statement, helper);
        }
        piece.slices -= 1;
        if piece.slices > 0 {
            return self.workers[own].pieces.push_back(piece);
        }
        let statement = &mut self.statements[piece.statement];
        statement.running -= 1;
        if owner == own && statement.waiting > 0 {
            self.begin_piece(piece.statement, own);
        } else if statement.running == 0 && statement.waiting == 0 {
            statement.waiting = self.pieces;
            self.begin_piece(piece.statement, owner);
        }
    }
}

const IDLE: Clients = Clients { scanners: 0, short_percent: 0 };

/// The first seconds, in which loads settle, are not judged.
fn settled(seed: u64, clients: &[Clients]) -> Vec<Second> {
    let mut node = Node::new(seed, clients);
    (0..5).map(|_| node.second()).skip(2).collect()
}

fn assert_steady(seconds: &[Second]) {
    for pair in seconds.windows(2) {
        let [before, after] = pair else { continue };
        assert!(
            before.moved.abs_diff(after.moved) < 100,
            "moved {} then {} of 1000",
            before.moved,
            after.moved
        );
    }
}

#[test]
fn nothing_moves_where_all_have_as_much_to_do() {
    for (seed, workers) in [(1, 2), (2, 4), (3, 8)] {
        let seconds = settled(seed, &vec![Clients { scanners: 3, short_percent: 10 }; workers]);
        assert!(seconds.iter().all(|second| second.moved == 0), "{workers} workers");
    }
}

#[test]
fn the_clients_of_one_worker_use_all() {
    for (seed, workers) in [(1, 2), (2, 4), (3, 8)] {
        let mut clients = vec![IDLE; workers];
        clients[0].scanners = 2 * u32::try_from(workers).expect("few");
        let seconds = settled(seed, &clients);
        assert_steady(&seconds);
        let all = |second: &Second| second.busy.iter().all(|busy| *busy >= 75);
        assert!(
            seconds.iter().all(all),
            "{:?}",
            seconds.iter().map(|second| &second.busy).collect::<Vec<_>>()
        );
    }
}

#[test]
fn workers_with_short_statements_take_what_they_have_room_for() {
    for seed in 0..3 {
        let mut clients = vec![Clients { scanners: 0, short_percent: 60 }; 4];
        clients[0] = Clients { scanners: 6, short_percent: 0 };
        let seconds = settled(seed, &clients);
        assert_steady(&seconds);
        for second in &seconds {
            assert!(second.busy.iter().all(|busy| *busy >= 80), "{:?}", second.busy);
        }
    }
}
