//! All clients of a campaign: probes and checking loads on threads of their own, and the judgement of what they have
//! written down.
//!
//! Each SQL address is the home of one pair of probes: the writer's home; the reader's is the next one. It is the home
//! of as many clients of each load as were asked for.
//!
//! **Invariants.** No thread outlives [`Clients::stop`]. The judgement reads the logs from disk and the tables through
//! every address that is named, so a replica that differs is found even where no checksum looks.

use crate::connection::{Connection, Patience, TextRow};
use crate::driver::{Driver, End, Tally, rows};
use crate::load::{self, Client, DATABASE, Kind, Tables as _, Turn, bank, counters, lists};
use crate::probe::{self, Orders, Pair, Seen};
use crate::record::{self, Record, Writer, now};
use crate::timeline::{Event, Timeline};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a load's driver looks for a server before its thread looks whether it is to end.
const CONNECT_LIMIT: Duration = Duration::from_millis(200);

/// Faults that are told word by word; beyond, their number.
const FAULTS_MAX: usize = 20;

/// The clients that there are to be.
#[derive(Clone, Debug)]
pub struct Plan {
    pub addresses: Vec<SocketAddr>,
    pub patience: Patience,
    /// Statements that every session begins with.
    pub preamble: Vec<String>,
    /// Clients of each load at each address.
    pub clients_per_load: usize,
    /// Transactions that one of them begins in a second; 0: as many as it can.
    pub rate: u32,
    /// Where logs are kept.
    pub folder: PathBuf,
}

/// A probe or a load client, from outside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    Write,
    Read,
    Load,
}

impl Role {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Load => "load",
        }
    }
}

/// The state of a client, seen from outside.
pub struct View {
    pub role: Role,
    /// Index of its home among the addresses.
    pub home: usize,
    seen: Arc<Seen>,
    tally: Arc<Tally>,
}

impl View {
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.seen.timeline
    }

    /// The outcome of its work.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

/// Clients at work.
pub struct Clients {
    plan: Plan,
    orders: Arc<Orders>,
    threads: Vec<JoinHandle<Result<Driver, String>>>,
    pub views: Vec<View>,
    logs: Vec<(Kind, PathBuf)>,
}

/// Makes the database through the first address that answers.
pub fn prepare(plan: &Plan) -> Result<(), String> {
    let mut driver = Driver::new(&plan.addresses, 0, plan.patience, &plan.preamble);
    let mut statements =
        vec![format!("DROP DATABASE IF EXISTS {DATABASE}"), format!("CREATE DATABASE {DATABASE}")];
    statements.extend(probe::setup(plan.addresses.len()));
    statements.extend(Kind::ALL.iter().flat_map(|kind| kind.setup()));
    statements.push(format!("CREATE TABLE {DATABASE}.{} (id INT PRIMARY KEY)", load::LAST_TABLE));
    for statement in statements {
        let deadline = Instant::now() + Duration::from_secs(30);
        match driver.statement(&statement, deadline) {
            End::Done(_) => {}
            End::Refused | End::Unknown => {
                let why = driver.surprises.join("; ");
                return Err(format!("{}: errors {:?} {why}", first_words(&statement), driver.errors));
            }
        }
    }
    wait_until_visible(plan, Duration::from_secs(30))
}

/// Waits until every address shows what was made last: where replicas apply writes later, a client could come too
/// early.
fn wait_until_visible(plan: &Plan, limit: Duration) -> Result<(), String> {
    let end = Instant::now() + limit;
    for address in &plan.addresses {
        let query = format!("SELECT COUNT(*) FROM {DATABASE}.{}", load::LAST_TABLE);
        while Reader::new(*address, plan).rows(&query).is_err() {
            if Instant::now() >= end {
                return Err(format!("{address} does not show the tables"));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

fn first_words(statement: &str) -> String {
    statement.split_whitespace().take(4).collect::<Vec<_>>().join(" ")
}

impl Clients {
    /// Starts them all. The tables are there ([`prepare`]).
    pub fn start(plan: Plan) -> io::Result<Self> {
        std::fs::create_dir_all(&plan.folder)?;
        let mut clients = Self {
            plan,
            orders: Arc::new(Orders::default()),
            threads: Vec::new(),
            views: Vec::new(),
            logs: Vec::new(),
        };
        let generation = Arc::new(AtomicU64::new(0));
        let mut number = 0;
        for home in 0..clients.plan.addresses.len() {
            clients.start_pair(home)?;
            for kind in Kind::ALL {
                for _ in 0..clients.plan.clients_per_load {
                    number += 1;
                    clients.start_load(
                        home,
                        Client::new(kind, number, Arc::clone(&generation)),
                        kind,
                        number,
                    )?;
                }
            }
        }
        Ok(clients)
    }

    fn start_pair(&mut self, home: usize) -> io::Result<()> {
        let pair = Arc::new(Pair::new(home));
        for (role, home) in [(Role::Write, home), (Role::Read, (home + 1) % self.plan.addresses.len())] {
            let (driver, seen) = (self.driver(home), Arc::new(Seen::default()));
            let tally = driver.tally();
            let (pair, orders, shared) = (Arc::clone(&pair), Arc::clone(&self.orders), Arc::clone(&seen));
            let body = move || {
                Ok(match role {
                    Role::Read => probe::read(&pair, driver, &shared, &orders),
                    Role::Write | Role::Load => probe::write(&pair, driver, &shared, &orders),
                })
            };
            let name = format!("probe-{}-{home}", role.name());
            self.threads.push(thread::Builder::new().name(name).spawn(body)?);
            self.views.push(View { role, home, seen, tally });
        }
        Ok(())
    }

    fn start_load(&mut self, home: usize, client: Client, kind: Kind, number: u64) -> io::Result<()> {
        let name = format!("{}-{number}", kind.name());
        let log = Writer::create(&self.plan.folder, &name)?;
        self.logs.push((kind, log.path().to_path_buf()));
        let (driver, seen) = (self.driver(home), Arc::new(Seen::default()));
        let tally = driver.tally();
        let (orders, shared, rate) = (Arc::clone(&self.orders), Arc::clone(&seen), self.plan.rate);
        let body = move || work(client, driver, log, rate, &shared, &orders);
        self.threads.push(thread::Builder::new().name(name).spawn(body)?);
        self.views.push(View { role: Role::Load, home, seen, tally });
        Ok(())
    }

    fn driver(&self, home: usize) -> Driver {
        Driver::new(&self.plan.addresses, home, self.plan.patience, &self.plan.preamble)
    }

    /// Reads that were older than they may be, so far.
    #[must_use]
    pub fn stale(&self) -> u64 {
        self.views.iter().map(|view| view.seen.stale.load(Ordering::Relaxed)).sum()
    }

    /// Every client tries its home first again.
    pub fn call_home(&self) {
        self.orders.call_home();
    }

    /// Ends all clients; gives what they have met.
    pub fn stop(mut self) -> Stopped {
        self.orders.stop();
        let mut stopped = Stopped {
            stale: 0,
            stale_reads: Vec::new(),
            errors: BTreeMap::new(),
            faults: Vec::new(),
            logs: std::mem::take(&mut self.logs),
            plan: self.plan.clone(),
        };
        for thread in self.threads.drain(..) {
            let name = thread.thread().name().unwrap_or_default().to_owned();
            match thread.join() {
                Ok(Ok(driver)) => {
                    for (number, count) in driver.errors {
                        *stopped.errors.entry(number).or_default() += count;
                    }
                    stopped.faults.extend(driver.surprises.iter().map(|text| format!("{name}: {text}")));
                }
                Ok(Err(failure)) => stopped.faults.push(format!("{name}: {failure}")),
                Err(_) => stopped.faults.push(format!("{name}: its thread panicked")),
            }
        }
        stopped.stale = self.stale();
        stopped.stale_reads = self.views.iter().flat_map(|view| view.seen.stale_reads()).collect();
        stopped
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.orders.stop();
        for thread in self.threads.drain(..) {
            // A caller that wants to know how they ended calls `stop`.
            let _ = thread.join();
        }
    }
}

/// A load's client until it is told to stop.
fn work(
    mut client: Client,
    mut driver: Driver,
    mut log: Writer,
    rate: u32,
    seen: &Seen,
    orders: &Orders,
) -> Result<Driver, String> {
    let interval = Duration::from_secs(1).checked_div(rate).unwrap_or_default();
    let (mut next, mut calls) = (Instant::now(), 0);
    while !orders.must_stop() {
        if orders.is_called_home(&mut calls) {
            driver.go_home();
        }
        let from = now();
        let turn = client.turn(&mut driver, &mut log, Instant::now() + CONNECT_LIMIT);
        if turn.map_err(|error| format!("its log: {error}"))? == Turn::Done {
            seen.timeline.push(Event { from, until: now() });
        }
        let after = Instant::now();
        next = (next + interval).max(after);
        thread::sleep(next.saturating_duration_since(after));
    }
    Ok(driver)
}

/// The rest of the clients of a campaign.
#[derive(Debug)]
pub struct Stopped {
    /// Reads of probes that were older than they may be.
    pub stale: u64,
    /// The first of them of each probe, for a person.
    pub stale_reads: Vec<String>,
    /// How often each error number came; lost connections are number 0.
    pub errors: BTreeMap<u16, u64>,
    /// Events that should not have happened.
    pub faults: Vec<String>,
    logs: Vec<(Kind, PathBuf)>,
    plan: Plan,
}

/// The judgement of the logs.
#[derive(Debug, Default)]
pub struct Verdict {
    pub acknowledged: u64,
    pub unknown: u64,
    pub refused: u64,
    /// Reads in transactions that missed what was acknowledged before.
    pub stale: u64,
    /// A line each; the first [`FAULTS_MAX`] of each load and address.
    pub faults: Vec<String>,
}

impl Stopped {
    /// Compares the logs with the tables, read through each of these addresses.
    pub fn judge(&self, addresses: &[SocketAddr]) -> Result<Verdict, String> {
        let mut verdict = Verdict::default();
        for kind in Kind::ALL {
            let mut records = Vec::new();
            for (_, path) in self.logs.iter().filter(|(of, _)| *of == kind) {
                records.extend(read_log(path)?);
            }
            for record in &records {
                match record.outcome {
                    record::Outcome::Acknowledged => verdict.acknowledged += 1,
                    record::Outcome::Unknown => verdict.unknown += 1,
                    record::Outcome::Refused => verdict.refused += 1,
                }
            }
            for address in addresses {
                let mut tables = Reader::new(*address, &self.plan);
                let mut stale = 0;
                let faults = match kind {
                    Kind::Counters => counters::check(&records, &mut tables),
                    Kind::Bank => bank::check(&records, &mut tables),
                    Kind::Lists => lists::check(&records, &mut tables, &mut stale),
                }?;
                verdict.stale = verdict.stale.max(stale);
                let (count, name) = (faults.len(), kind.name());
                let told = faults.into_iter().take(FAULTS_MAX);
                verdict.faults.extend(told.map(|fault| format!("{name} at {address}: {fault}")));
                if count > FAULTS_MAX {
                    verdict.faults.push(format!("{name} at {address}: {} more", count - FAULTS_MAX));
                }
            }
        }
        Ok(verdict)
    }
}

fn read_log(path: &Path) -> Result<Vec<Record>, String> {
    record::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Tables as one server shows them.
struct Reader {
    address: SocketAddr,
    patience: Patience,
    preamble: Vec<String>,
    connection: Option<Connection>,
}

impl Reader {
    fn new(address: SocketAddr, plan: &Plan) -> Self {
        let patience = Patience { statement: Duration::from_secs(60), ..plan.patience };
        Self { address, patience, preamble: plan.preamble.clone(), connection: None }
    }
}

impl load::Tables for Reader {
    fn rows(&mut self, query: &str) -> Result<Vec<TextRow>, String> {
        let mut read = || {
            let connection = match &mut self.connection {
                Some(connection) => connection,
                None => {
                    let mut opened = Connection::open(self.address, self.patience)?;
                    for statement in &self.preamble {
                        opened.run(statement)?;
                    }
                    self.connection.insert(opened)
                }
            };
            rows(connection.run(query)?)
        };
        read().map_err(|trouble| format!("{query} at {}: {trouble}", self.address))
    }
}
