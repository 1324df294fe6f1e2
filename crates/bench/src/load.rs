//! Checking loads: what a client does, what it writes into its log, and what the tables must hold afterwards.
//!
//! | load | a transaction | what must hold |
//! | --- | --- | --- |
//! | [`counters`] | one autocommit increment of a shared row | acknowledged ≤ value ≤ acknowledged + unknown |
//! | [`bank`] | a transfer, and a row about it | acknowledged rows are there, refused ones are not, and add up |
//! | [`lists`] | reads of and appends to lists | READ COMMITTED, nothing lost or doubled, reads linearizable |
//!
//! Each check is a pure function of the logs and the tables, so that its tests can show it wrong ones.
//!
//! **Invariants.** Names of what is written (transfer ids, list values) are never used twice, so that a refused one can
//! be told from another try.

use crate::connection::{Answer, TextRow, Trouble};
use crate::driver::{Driver, Step};
use crate::record::Writer;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;
use stdx::Prng;

pub mod bank;
pub mod counters;
pub mod lists;

/// The database of the loads and the probe.
pub const DATABASE: &str = "failover";

/// It is made last, and stays empty: where it can be seen, everything can.
pub const LAST_TABLE: &str = "ready";

/// Rows of one client's own are numbered from its number times this.
const IDS_PER_CLIENT: u64 = 1_000_000_000;

/// Which load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Counters,
    Bank,
    Lists,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Counters, Self::Bank, Self::Lists];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counters => "counters",
            Self::Bank => "bank",
            Self::Lists => "lists",
        }
    }

    /// The tables and their first rows.
    #[must_use]
    pub fn setup(self) -> Vec<String> {
        match self {
            Self::Counters => counters::setup(),
            Self::Bank => bank::setup(),
            Self::Lists => lists::setup(),
        }
    }
}

/// The result of a client's turn: how a transaction ended, for the timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Acknowledged.
    Done,
    /// Refused or unknown.
    Failed,
}

/// A client of a load.
pub struct Client {
    kind: Kind,
    /// Different for each client of all loads.
    number: u64,
    /// Names used so far.
    used: u64,
    prng: Prng,
    /// Shared by all clients of the lists: which lists are in use.
    generation: Arc<AtomicU64>,
}

impl Client {
    #[must_use]
    pub fn new(kind: Kind, number: u64, generation: Arc<AtomicU64>) -> Self {
        Self { kind, number, used: 0, prng: Prng::new(number), generation }
    }

    /// One transaction. An error is one of the log: without it nothing can be proved.
    pub fn turn(&mut self, driver: &mut Driver, log: &mut Writer, deadline: Instant) -> io::Result<Turn> {
        match self.kind {
            Kind::Counters => self.count(driver, log, deadline),
            Kind::Bank => self.transfer(driver, log, deadline),
            Kind::Lists => self.append(driver, log, deadline),
        }
    }

    /// A name that nobody has used.
    fn fresh(&mut self) -> u64 {
        self.used += 1;
        self.number * IDS_PER_CLIENT + self.used
    }
}

/// An answer that must say that one row was changed.
fn one_row(answer: Answer) -> Step<()> {
    match answer {
        Answer::Done(1) => Ok(()),
        Answer::Done(_) | Answer::Rows(_) => Err(Trouble::Refused(0, format!("not one row: {answer:?}"))),
    }
}

/// The tables as a check reads them: all rows, as text.
pub trait Tables {
    fn rows(&mut self, query: &str) -> Result<Vec<TextRow>, String>;
}

/// The numbers of a row, or what is wrong with it.
fn numbers<const COUNT: usize>(row: &TextRow) -> Result<[u64; COUNT], String> {
    let parsed: Option<Vec<u64>> = row.iter().map(|cell| cell.as_deref()?.parse().ok()).collect();
    let parsed = parsed.ok_or_else(|| format!("row {row:?} is not of numbers"))?;
    parsed.try_into().map_err(|_| format!("row {row:?} has not {COUNT} columns"))
}

/// The numbers of a record's detail.
fn words<const COUNT: usize>(detail: &str) -> Result<[u64; COUNT], String> {
    let parsed: Option<Vec<u64>> = detail.split(' ').map(|word| word.parse().ok()).collect();
    parsed
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| format!("detail {detail:?} has not {COUNT} numbers"))
}

#[cfg(test)]
mod tests;
