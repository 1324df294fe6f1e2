//! TPC-C: the five transactions in the standard mix against any MySQL server, and the conditions its tables must meet.
//!
//! On every server alike there are no foreign keys, no think times and no keying times. The number of clients does not
//! depend on the number of warehouses. So tpmC here says how many new orders a minute the server takes from so many
//! clients. It compares servers within one run, and is no TPC result.
//!
//! Clients take turns at the servers that are named. They begin at different ones, and go on elsewhere when one is
//! lost. A refused transaction (a deadlock, a lost server before COMMIT) is tried again with the same inputs, and the
//! time until it is done counts. A transaction that may or may not be done is counted apart. The conditions hold either
//! way.
//!
//! | file | what |
//! | --- | --- |
//! | `tables` | definitions and first rows |
//! | `random` | inputs |
//! | `transactions` | the five transactions |
//! | `check` | the twelve conditions of clause 3.3.2 |
//!
//! **Invariants.** Everything runs at READ COMMITTED. An error that no client should see fails the run.

use crate::connection::{Connection, Patience, Trouble};
use crate::driver::{Driver, End};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

mod check;
mod random;
mod tables;
mod transactions;

pub use transactions::Kind;

use random::Inputs;
use tables::{DATABASE, DISTRICTS};
use transactions::{Terminal, Work};

/// How long a client looks for a server, and how often it tries a transaction.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
const TRIES_MAX: u32 = 1_000;

/// Surprises that are told.
const SURPRISES_MAX: usize = 10;

/// The work.
#[derive(Clone, Debug)]
pub struct Options {
    pub servers: Vec<SocketAddr>,
    pub warehouses: u64,
    pub clients: u64,
    /// None: nothing is run.
    pub time: Duration,
    /// Whether the tables are made first.
    pub loads: bool,
    /// Whether the conditions are tested in the end.
    pub checks: bool,
    /// How long a client waits for an answer.
    pub patience: Duration,
    /// A line of JSON is appended to this file.
    pub figures: Option<PathBuf>,
}

/// The outcome of one client or of all of them.
#[derive(Default)]
struct Tally {
    /// Microseconds of each transaction that was done.
    times: BTreeMap<Kind, Vec<u32>>,
    retries: u64,
    unknown: u64,
    /// How often each error number came; lost connections are number 0.
    errors: BTreeMap<u16, u64>,
    surprises: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        for (kind, times) in other.times {
            self.times.entry(kind).or_default().extend(times);
        }
        for (number, count) in other.errors {
            *self.errors.entry(number).or_default() += count;
        }
        self.retries += other.retries;
        self.unknown += other.unknown;
        self.surprises.extend(other.surprises);
    }

    /// Microseconds that so many of a hundred transactions did not exceed; times are sorted.
    fn percentile(&self, kind: Kind, share: usize) -> u32 {
        percentile(self.times.get(&kind).map_or(&[] as &[u32], Vec::as_slice), share)
    }

    /// Microseconds of all transactions, sorted.
    fn all_times(&self) -> Vec<u32> {
        let mut times: Vec<u32> = self.times.values().flatten().copied().collect();
        times.sort_unstable();
        times
    }

    fn count(&self, kind: Kind) -> usize {
        self.times.get(&kind).map_or(0, Vec::len)
    }
}

/// Microseconds that so many of a hundred of these times did not exceed; they are sorted.
fn percentile(times: &[u32], share: usize) -> u32 {
    let place = (times.len() * share).div_ceil(100).saturating_sub(1);
    times.get(place).copied().unwrap_or(0)
}

/// The work that clients got done, all transactions together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) transactions: u64,
    pub(crate) p99_ms: f64,
}

/// Runs the transactions until the time is over or `stop` is set. The tables are there.
pub(crate) fn measure(options: &Options, stop: &AtomicBool) -> Result<Done, String> {
    let tally = work(options, stop)?;
    if let Some(surprise) = tally.surprises.first() {
        return Err(format!("unexpected: {surprise}"));
    }
    let times = tally.all_times();
    Ok(Done { transactions: times.len() as u64, p99_ms: f64::from(percentile(&times, 99)) / 1_000.0 })
}

/// Loads, runs, checks, as asked. Lines for a person go to `say`. Fails if a condition is broken or a client met an
/// error that it should not meet.
pub fn run(options: &Options, say: &dyn Fn(&str)) -> Result<(), String> {
    let first = *options.servers.first().ok_or("no server is named")?;
    if options.loads {
        load(options, first, say)?;
    }
    let mut faults = Vec::new();
    if options.time > Duration::ZERO {
        let tally = work(options, &AtomicBool::new(false))?;
        say(&report(options, &tally));
        record(options, &tally)?;
        faults.extend(tally.surprises.iter().take(SURPRISES_MAX).map(|text| format!("unexpected: {text}")));
        if tally.count(Kind::NewOrder) == 0 {
            faults.push("no new order was taken".to_owned());
        }
    }
    if options.checks {
        // The last server is asked if the first one is lost.
        let opened = options.servers.iter().find_map(|server| open(options, *server).ok());
        let mut connection = opened.ok_or("no server answers")?;
        faults.extend(check::check(&mut connection, options.warehouses, say).err());
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The first statements of every session.
fn preamble() -> Vec<String> {
    vec!["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(), format!("USE {DATABASE}")]
}

/// A session that waits long: for whole tables.
fn open(options: &Options, server: SocketAddr) -> Result<Connection, Trouble> {
    let patience = Patience { connect: options.patience, statement: Duration::from_secs(600) };
    let mut connection = Connection::open(server, patience)?;
    for statement in preamble() {
        connection.run(&statement)?;
    }
    Ok(connection)
}

/// Makes the tables anew and fills them: a connection for each warehouse, as many at once as there are clients.
pub(crate) fn load(options: &Options, server: SocketAddr, say: &dyn Fn(&str)) -> Result<(), String> {
    let told = |trouble: Trouble| format!("loading {server}: {trouble}");
    let patience = Patience { connect: options.patience, statement: Duration::from_secs(600) };
    let begun = Instant::now();
    let mut connection = Connection::open(server, patience).map_err(told)?;
    tables::create(&mut connection).map_err(told)?;
    let warehouses: Vec<u64> = (1..=options.warehouses).collect();
    for some in warehouses.chunks(usize::try_from(options.clients.max(1)).unwrap_or(1)) {
        let loaders: Vec<_> = some
            .iter()
            .map(|&warehouse| {
                let options = options.clone();
                thread::spawn(move || tables::load(&mut open(&options, server)?, warehouse))
            })
            .collect();
        for loader in loaders {
            loader.join().map_err(|_| "a loading thread panicked".to_owned())?.map_err(told)?;
        }
    }
    tables::analyze(&mut connection).map_err(told)?;
    say(&format!(
        "{server}: {} warehouses loaded in {:.1} s",
        options.warehouses,
        begun.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// All clients until the time is over, or they shall stop.
fn work(options: &Options, stop: &AtomicBool) -> Result<Tally, String> {
    let end = Instant::now() + options.time;
    let mut all = thread::scope(|scope| {
        let clients: Vec<_> = (0..options.clients)
            .map(|number| scope.spawn(move || client(options, number, end, stop)))
            .collect();
        let mut all = Tally::default();
        for client in clients {
            all.add(client.join().map_err(|_| "a client's thread panicked".to_owned())?);
        }
        Ok::<_, String>(all)
    })?;
    for times in all.times.values_mut() {
        times.sort_unstable();
    }
    Ok(all)
}

/// One client: a transaction after the other.
fn client(options: &Options, number: u64, end: Instant, stop: &AtomicBool) -> Tally {
    let patience = Patience { connect: options.patience, statement: options.patience };
    let home = usize::try_from(number).unwrap_or_default();
    let mut driver = Driver::new(&options.servers, home, patience, &preamble());
    let terminal = Terminal {
        warehouse: number % options.warehouses + 1,
        district: number / options.warehouses % DISTRICTS + 1,
        warehouses: options.warehouses,
    };
    // Seeds of clients are not those of loaders.
    let mut inputs = Inputs::new(1_000_000 + number);
    let mut tally = Tally::default();
    let is_over = || Instant::now() >= end || stop.load(Ordering::Relaxed);
    while !is_over() && driver.surprises.is_empty() {
        let work = Work::draw(&mut inputs, terminal);
        let begun = Instant::now();
        for tries in 0..TRIES_MAX {
            match driver.transaction(Instant::now() + CONNECT_LIMIT, |connection| work.run(connection)) {
                End::Done(()) => {
                    let time = u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX);
                    tally.times.entry(work.kind()).or_default().push(time);
                }
                End::Refused if tries + 1 < TRIES_MAX && !is_over() => {
                    tally.retries += 1;
                    continue;
                }
                // The time is over.
                End::Refused => {}
                End::Unknown => tally.unknown += 1,
            }
            break;
        }
    }
    tally.errors = driver.errors;
    tally.surprises = driver.surprises;
    tally
}

fn new_orders_per_minute(options: &Options, tally: &Tally) -> f64 {
    let count = u32::try_from(tally.count(Kind::NewOrder)).unwrap_or(u32::MAX);
    f64::from(count) * 60.0 / options.time.as_secs_f64()
}

fn report(options: &Options, tally: &Tally) -> String {
    let mut text = format!(
        "tpmC {:.0} with {} warehouses, {} clients, {} s\n{:<13} {:>8} {:>9} {:>9} {:>9}",
        new_orders_per_minute(options, tally),
        options.warehouses,
        options.clients,
        options.time.as_secs(),
        "transaction",
        "done",
        "p50 ms",
        "p95 ms",
        "p99 ms"
    );
    for kind in Kind::ALL {
        // Writing into a String can't fail, here and below.
        let _ = write!(text, "\n{:<13} {:>8}", kind.name(), tally.count(kind));
        for share in [50, 95, 99] {
            let _ = write!(text, " {:>9.2}", f64::from(tally.percentile(kind, share)) / 1_000.0);
        }
    }
    let errors: Vec<String> =
        tally.errors.iter().map(|(number, count)| format!("{number}: {count}")).collect();
    let _ = write!(text, "\nretries {}, unknown {}", tally.retries, tally.unknown);
    if !errors.is_empty() {
        let _ = write!(text, ", errors {}", errors.join(", "));
    }
    text
}

fn record(options: &Options, tally: &Tally) -> Result<(), String> {
    let Some(path) = &options.figures else { return Ok(()) };
    let kinds: BTreeMap<&str, [u32; 3]> = Kind::ALL
        .iter()
        .map(|&kind| (kind.name(), [50, 95, 99].map(|share| tally.percentile(kind, share))))
        .collect();
    let line = json!({
        "warehouses": options.warehouses,
        "clients": options.clients,
        "seconds": options.time.as_secs(),
        "tpmc": new_orders_per_minute(options, tally).round(),
        "percentiles_us": kinds,
        "retries": tally.retries,
        "unknown": tally.unknown,
    });
    crate::append(path, &format!("{line}\n")).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
