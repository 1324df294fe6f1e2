//! The load generator: many clients on few threads, each with one statement under way.
//!
//! ```text
//! setup     threads log in and prepare, one connection after the other
//! run       each thread waits for all of its connections at once; an answer that came is followed by the next
//!           statement of the same client in the same turn
//! ticks     each second every thread hands over what it counted; the caller sees the sum at once
//! ```
//! A client draws the next transaction when the last one is done: the load is closed, and there is no think time.
//! Latencies are those of whole transactions, from the first statement that is sent to the last answer.
//!
//! A deadlock, a lock wait that ended and a write conflict (1213, 1205, 1020) are counted; the client rolls back and
//! draws anew, as sysbench does. Any other error ends the run: its figures would mean something else.
//!
//! **Invariants.** A connection belongs to one thread. A thread has at most [`CLIENTS_PER_THREAD`] connections. When
//! [`run`] returns, all threads have ended and all connections are closed. Transactions under way at the end of the
//! time are not counted.
//!
//! **Deliberately not here**: several statements under way on one connection, TLS.

use crate::connection::{Connection, Patience, Trouble};
use crate::oltp::{Inputs, Kind, Mix, Tables};
use hdrhistogram::Histogram;
use mysql_protocol::client::{ClientConnection, ClientOptions, Event};
use mysql_protocol::command::Cursor;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::net::{RecvFlags, recv};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

pub const CLIENTS_PER_THREAD: usize = 1_000;

/// Between two reports.
const TICK: Duration = Duration::from_secs(1);

/// A thread looks whether it is to stop at least so often.
const WAIT_MAX: Duration = Duration::from_millis(50);

const PATIENCE: Patience = Patience { connect: Duration::from_secs(10), statement: Duration::from_secs(60) };

const RECEIVE_SIZE: usize = 64 * 1024;
const EVENT_COUNT_MAX: usize = 256;

/// Latencies are kept in microseconds with three digits, up to a minute.
const LATENCY_US_MAX: u64 = 60_000_000;
const LATENCY_DIGITS: u8 = 3;

/// The load of one instance.
#[derive(Clone, Debug)]
pub struct Load {
    pub server: SocketAddr,
    pub login: ClientOptions,
    pub tables: Tables,
    pub mix: Mix,
    pub clients: usize,
    pub time: Duration,
    /// CPUs that the threads are bound to; empty: all.
    pub cpus: Vec<usize>,
    /// Clients of another seed draw other keys.
    pub seed: u64,
}

/// The counts of a second, or of a whole run.
#[derive(Clone, Debug)]
pub struct Counted {
    pub transactions: u64,
    pub statements: u64,
    /// Transactions that were rolled back and drawn anew.
    pub retried: u64,
    /// How long transactions took, in microseconds.
    pub latencies: Histogram<u64>,
}

impl Counted {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        // The bounds are constants that the library accepts.
        let latencies = Histogram::new_with_max(LATENCY_US_MAX, LATENCY_DIGITS).expect("legal bounds");
        Self { transactions: 0, statements: 0, retried: 0, latencies }
    }

    pub fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.statements += other.statements;
        self.retried += other.retried;
        // Both have the same bounds.
        self.latencies.add(&other.latencies).expect("equal bounds");
    }

    /// Milliseconds that so many of a hundred transactions did not exceed.
    #[must_use]
    pub fn percentile_ms(&self, share: f64) -> f64 {
        Duration::from_micros(self.latencies.value_at_percentile(share)).as_secs_f64() * 1_000.0
    }
}

impl Default for Counted {
    fn default() -> Self {
        Self::new()
    }
}

/// The sum of a run.
#[derive(Clone, Debug)]
pub struct Run {
    pub counted: Counted,
    /// The time that was measured: less than asked for if the run was stopped.
    pub time: Duration,
}

/// Runs the load until its time is over or `stop` is set. `each_second` gets what was counted in each whole second.
pub fn run(
    load: &Load,
    stop: &AtomicBool,
    each_second: &mut dyn FnMut(u64, &Counted),
) -> Result<Run, String> {
    let threads = load.clients.div_ceil(CLIENTS_PER_THREAD).max(1);
    let workers: Vec<Worker> = thread::scope(|scope| {
        let setups: Vec<_> =
            (0..threads).map(|index| scope.spawn(move || Worker::new(load, index, threads))).collect();
        let joined =
            setups.into_iter().map(|setup| setup.join().map_err(|_| "a thread panicked".to_owned())?);
        joined.collect::<Result<_, String>>()
    })?;
    let begun = Instant::now();
    let (sender, reports) = channel();
    thread::scope(|scope| {
        let running: Vec<_> = workers
            .into_iter()
            .map(|worker| {
                let sender = sender.clone();
                scope.spawn(move || worker.run(begun, load.time, stop, &sender))
            })
            .collect();
        drop(sender);
        let counted = gather(&reports, threads, each_second);
        for worker in running {
            worker.join().map_err(|_| "a thread panicked".to_owned())??;
        }
        Ok(Run { counted, time: begun.elapsed().min(load.time) })
    })
}

/// The sum of all reports. A second is told when every thread has reported it.
fn gather(
    reports: &Receiver<(u64, Counted)>,
    threads: usize,
    each_second: &mut dyn FnMut(u64, &Counted),
) -> Counted {
    let mut total = Counted::new();
    let mut seconds: BTreeMap<u64, (usize, Counted)> = BTreeMap::new();
    for (second, counted) in reports {
        total.add(&counted);
        let (reported, sum) = seconds.entry(second).or_insert_with(|| (0, Counted::new()));
        *reported += 1;
        sum.add(&counted);
        if *reported == threads {
            each_second(second, sum);
            seconds.remove(&second);
        }
    }
    total
}

/// A thread's clients.
struct Worker {
    poll: OwnedFd,
    clients: Vec<Client>,
    script: Vec<Kind>,
    mix: Mix,
    tables: u32,
    cpus: Vec<usize>,
}

impl Worker {
    /// Logs every `threads`th client in.
    fn new(load: &Load, index: usize, threads: usize) -> Result<Self, String> {
        let failed = |error: rustix::io::Errno| format!("cannot wait for connections: {error}");
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let script = load.mix.script();
        let mut clients = Vec::new();
        for number in (index..load.clients).step_by(threads) {
            let client =
                Client::open(load, &script, number).map_err(|trouble| trouble_at(load.server, &trouble))?;
            let token = epoll::EventData::new_u64(clients.len() as u64);
            epoll::add(&poll, &client.stream, token, epoll::EventFlags::IN).map_err(failed)?;
            clients.push(client);
        }
        let cpus = load.cpus.clone();
        Ok(Self { poll, clients, script, mix: load.mix.clone(), tables: load.tables.count, cpus })
    }

    /// Sends and receives until the time is over.
    fn run(
        mut self,
        begun: Instant,
        time: Duration,
        stop: &AtomicBool,
        reports: &Sender<(u64, Counted)>,
    ) -> Result<(), String> {
        crate::processes::bind_to(&self.cpus)?;
        let (end, mut second, mut counted) = (begun + time, 1, Counted::new());
        let mut received = vec![0; RECEIVE_SIZE];
        let mut events = Vec::with_capacity(EVENT_COUNT_MAX);
        let work = Work { mix: &self.mix, script: &self.script, tables: self.tables };
        for client in &mut self.clients {
            client.begin(&work)?;
        }
        loop {
            let now = Instant::now();
            let tick = begun + TICK * u32::try_from(second).unwrap_or(u32::MAX);
            if now >= end || stop.load(Ordering::Relaxed) {
                break;
            }
            if now >= tick {
                // The receiver lives as long as the threads do.
                let _ = reports.send((second, std::mem::take(&mut counted)));
                second += 1;
                continue;
            }
            let wait = WAIT_MAX.min(tick.min(end).saturating_duration_since(now));
            let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
            match epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(format!("cannot wait for connections: {error}")),
            }
            for event in events.drain(..) {
                let place = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                if let Some(client) = self.clients.get_mut(place) {
                    client.on_ready(&work, &mut received, &mut counted)?;
                }
            }
        }
        let _ = reports.send((second, counted));
        Ok(())
    }
}

/// The work of all clients of a thread.
struct Work<'worker> {
    mix: &'worker Mix,
    script: &'worker [Kind],
    tables: u32,
}

fn trouble_at(server: SocketAddr, trouble: &Trouble) -> String {
    format!("{server}: {trouble}")
}

/// How a statement ended.
enum Ending {
    Done,
    /// The transaction is drawn anew.
    Conflict,
}

/// One connection.
struct Client {
    server: SocketAddr,
    stream: TcpStream,
    protocol: ClientConnection,
    inputs: Inputs,
    /// The server's numbers of statements, by kind and table.
    prepared: BTreeMap<(Kind, u32), u32>,
    /// The statement of the script that is under way; `None` while a conflict is rolled back.
    place: Option<usize>,
    begun: Instant,
}

impl Client {
    fn open(load: &Load, script: &[Kind], number: usize) -> Result<Self, Trouble> {
        let mut login = load.login.clone();
        login.database = Some(load.tables.database.clone());
        let mut connection = Connection::open_as(load.server, login, PATIENCE)?;
        let mut prepared = BTreeMap::new();
        for &kind in script {
            for table in 1..=if kind.has_table() { load.tables.count } else { 1 } {
                if let std::collections::btree_map::Entry::Vacant(entry) = prepared.entry((kind, table)) {
                    entry.insert(connection.prepare(&load.mix.text(kind, table))?);
                }
            }
        }
        let (stream, protocol) = connection.into_parts();
        let inputs =
            Inputs::new(load.seed.wrapping_mul(1_000_003).wrapping_add(number as u64), load.tables.rows);
        let server = load.server;
        Ok(Self { server, stream, protocol, inputs, prepared, place: Some(0), begun: Instant::now() })
    }

    /// Sends the first statement of a transaction.
    fn begin(&mut self, work: &Work<'_>) -> Result<(), String> {
        self.begun = Instant::now();
        self.send(work, 0)
    }

    fn send(&mut self, work: &Work<'_>, place: usize) -> Result<(), String> {
        self.place = Some(place);
        let kind = work.script[place];
        let table = if kind.has_table() { self.inputs.table(kind, work.tables) } else { 1 };
        let statement = self.prepared[&(kind, table)];
        let parameters = self.inputs.parameters(work.mix, kind, table);
        self.protocol.execute(statement, &parameters, Cursor::None);
        self.flush()
    }

    /// The socket blocks: a request is small, and the server has read the one before it.
    fn flush(&mut self) -> Result<(), String> {
        let sent = self.stream.write_all(self.protocol.output());
        self.protocol.output().clear();
        sent.map_err(|error| trouble_at(self.server, &error.into()))
    }

    /// Takes what has come, and sends what follows.
    fn on_ready(
        &mut self,
        work: &Work<'_>,
        received: &mut [u8],
        counted: &mut Counted,
    ) -> Result<(), String> {
        let size = match recv(&self.stream, &mut *received, RecvFlags::DONTWAIT) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(()),
            Ok((0, _)) => return Err(format!("{}: connection lost: closed by the server", self.server)),
            Ok((size, _)) => size,
            Err(error) => return Err(format!("{}: connection lost: {error}", self.server)),
        };
        self.protocol.receive(&received[..size]);
        let Some(ending) = self.ending()? else { return Ok(()) };
        let Some(place) = self.place else {
            // The conflict is rolled back.
            return self.begin(work);
        };
        match ending {
            Ending::Conflict => {
                counted.retried += 1;
                self.place = None;
                self.protocol.query(b"ROLLBACK");
                self.flush()
            }
            Ending::Done => {
                counted.statements += 1;
                if place + 1 < work.script.len() {
                    return self.send(work, place + 1);
                }
                counted.transactions += 1;
                let us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                counted.latencies.saturating_record(us);
                self.begin(work)
            }
        }
    }

    /// The end of the answer that is under way, if all of it has come.
    fn ending(&mut self) -> Result<Option<Ending>, String> {
        loop {
            match self.protocol.next_event() {
                Ok(None) => return Ok(None),
                Ok(Some(Event::Columns(_) | Event::Row(_))) => {}
                Ok(Some(Event::Ok(_) | Event::End(_))) => return Ok(Some(Ending::Done)),
                Ok(Some(Event::Error(error))) if matches!(error.errno, 1020 | 1205 | 1213) => {
                    return Ok(Some(Ending::Conflict));
                }
                Ok(Some(Event::Error(error))) => {
                    let text = String::from_utf8_lossy(error.message);
                    return Err(format!("{}: error {}: {text}", self.server, error.errno));
                }
                Ok(Some(Event::Connected | Event::Prepared(_) | Event::Fields(_) | Event::Text(_))) => {
                    return Err(format!("{}: an answer to another command", self.server));
                }
                Err(error) => return Err(format!("{}: {error}", self.server)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
