//! The probe: a client that makes a small write each millisecond, and one that reads what the first has written.
//!
//! Rows lie in many partitions, and are taken in turn: whatever partition stalls, the probe meets it within some
//! milliseconds and stalls too. A statement that fails is tried again with the next tick, as its user would.
//!
//! The reader asks another node than the writer where there is one. A read may not be older than what was acknowledged
//! before it was asked, nor than what the reader has read before. Single-row statements are linearizable through all
//! nodes, also across a failover. Violations are counted in [`Seen::stale`].
//!
//! A write whose outcome is unknown may be done late, so each names what it may replace (`value < new`): late ones
//! change nothing.
//!
//! **Invariants.** Only one writer writes a row, ever growing numbers. Ticks that were missed are not made up for.

use crate::connection::Answer;
use crate::driver::{Driver, End, number};
use crate::load::DATABASE;
use crate::record::now;
use crate::timeline::{Event, Timeline};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two statements.
const TICK: Duration = Duration::from_millis(1);

/// Rows of one writer.
const ROWS: usize = 32;

/// Reads that were too old and are told word by word.
const STALE_TOLD_MAX: usize = 5;

/// How long a driver looks for a server before the probe looks whether it is to end.
const CONNECT_LIMIT: Duration = Duration::from_millis(200);

/// The table of `pairs` writers.
#[must_use]
pub fn setup(pairs: usize) -> Vec<String> {
    let rows: Vec<String> = (0..pairs * ROWS).map(|id| format!("({id}, 0)")).collect();
    vec![
        format!("CREATE TABLE {DATABASE}.probe (id INT PRIMARY KEY, value BIGINT NOT NULL)"),
        format!("INSERT INTO {DATABASE}.probe VALUES {}", rows.join(", ")),
    ]
}

/// The state that a pair of writer and reader share: the last acknowledged value, by row.
#[derive(Debug)]
pub struct Pair {
    index: usize,
    acknowledged: [AtomicU64; ROWS],
}

impl Pair {
    #[must_use]
    pub fn new(index: usize) -> Self {
        Self { index, acknowledged: [const { AtomicU64::new(0) }; ROWS] }
    }

    fn row(&self, place: usize) -> usize {
        self.index * ROWS + place
    }
}

/// The orders to all clients.
#[derive(Debug, Default)]
pub struct Orders {
    stop: AtomicBool,
    /// How often they were called home.
    calls: AtomicU64,
}

impl Orders {
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Every client is to give its connection up and try its home first: a node is back.
    pub fn call_home(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there was a call since the last time, which `seen` remembers.
    pub fn is_called_home(&self, seen: &mut u64) -> bool {
        let calls = self.calls.load(Ordering::Relaxed);
        std::mem::replace(seen, calls) != calls
    }
}

/// The observations of a probe.
#[derive(Debug, Default)]
pub struct Seen {
    pub timeline: Timeline,
    /// Reads that were older than they may be.
    pub stale: AtomicU64,
    /// The first of them, for a person.
    stale_reads: Mutex<Vec<String>>,
}

impl Seen {
    fn note_stale(&self, what: String) {
        self.stale.fetch_add(1, Ordering::Relaxed);
        let mut told = self.stale_reads.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < STALE_TOLD_MAX {
            told.push(what);
        }
    }

    /// Reads that were older than they may be: the first of them.
    #[must_use]
    pub fn stale_reads(&self) -> Vec<String> {
        self.stale_reads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Writes until told to stop; gives the driver back, for what it has counted.
pub fn write(pair: &Pair, mut driver: Driver, seen: &Seen, orders: &Orders) -> Driver {
    let mut values = 0..u64::MAX;
    paced(orders, |place, must_go_home| {
        if must_go_home {
            driver.go_home();
        }
        let value = values.next().unwrap_or_default() + 1;
        let (from, row) = (now(), pair.row(place));
        let text =
            format!("UPDATE {DATABASE}.probe SET value = {value} WHERE id = {row} AND value < {value}");
        match driver.statement(&text, Instant::now() + CONNECT_LIMIT) {
            End::Done(Answer::Done(1)) => {
                pair.acknowledged[place].store(value, Ordering::Release);
                seen.timeline.push(Event { from, until: now() });
            }
            End::Done(answer) => driver.surprises.push(format!("write of probe row {row}: {answer:?}")),
            End::Refused | End::Unknown => {}
        }
    });
    driver
}

/// Reads until told to stop.
pub fn read(pair: &Pair, mut driver: Driver, seen: &Seen, orders: &Orders) -> Driver {
    let mut last = [0; ROWS];
    paced(orders, |place, must_go_home| {
        if must_go_home {
            driver.go_home();
        }
        let (from, row) = (now(), pair.row(place));
        let least = pair.acknowledged[place].load(Ordering::Acquire).max(last[place]);
        let text = format!("SELECT value FROM {DATABASE}.probe WHERE id = {row}");
        match driver.statement(&text, Instant::now() + CONNECT_LIMIT) {
            End::Done(Answer::Rows(rows)) => {
                let value = rows.first().and_then(|row| number(row, 0)).unwrap_or_default();
                if value < least {
                    let node = driver.address().map_or_else(String::new, |address| address.to_string());
                    seen.note_stale(format!(
                        "probe row {row} read at {node}, asked at {from}: {value}, not {least}"
                    ));
                }
                last[place] = value.max(last[place]);
                seen.timeline.push(Event { from, until: now() });
            }
            End::Done(Answer::Done(_)) => driver.surprises.push(format!("read of probe row {row}: no rows")),
            End::Refused | End::Unknown => {}
        }
    });
    driver
}

/// Calls `turn` each tick with the place of the row whose turn it is, and whether the client is to go home first.
fn paced(orders: &Orders, mut turn: impl FnMut(usize, bool)) {
    let (mut next, mut calls) = (Instant::now(), 0);
    for place in (0..ROWS).cycle() {
        if orders.must_stop() {
            return;
        }
        turn(place, orders.is_called_home(&mut calls));
        let after = Instant::now();
        next = (next + TICK).max(after);
        thread::sleep(next.saturating_duration_since(after));
    }
}
