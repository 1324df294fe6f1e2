//! Single-row statements on a few keys: reads, locking reads, updates, upserts, deletes, each autocommitted, each with
//! a value of its own.

use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// Keys of the table.
pub const KEY_COUNT: u64 = 4;

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// It saw this value (None: no row).
    Read(Option<u64>),
    /// The row has this value, whether it was there before or not.
    Write(u64),
    /// The row, if it is there, has this value; true if it was there.
    Update(u64, bool),
    /// The row is gone; true if it was there.
    Delete(bool),
}

/// One operation in real (virtual) time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Which key.
    pub key: u64,
    /// When it was sent.
    pub from: u64,
    /// When its answer came; None if the answer is not known: it may take effect at any time behind `from`, or never.
    pub until: Option<u64>,
    /// Its operations.
    pub operation: Operation,
}

/// A client of the registers.
pub struct Registers {
    nodes: Vec<NodeId>,
    client: u64,
    left: u32,
    next_value: u64,
    running: Option<(u64, u64, Operation)>,
    /// Its operations.
    pub history: Vec<Event>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Registers {
    /// A client that runs `count` operations through drawn nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, client: u64, count: u32) -> Self {
        Self { nodes, client, left: count, next_value: 0, running: None, history: Vec::new(), failure: None }
    }

    /// The table.
    #[must_use]
    pub fn setup() -> Vec<String> {
        vec!["CREATE TABLE sim.registers (k INT PRIMARY KEY, v BIGINT)".to_owned()]
    }

    fn begin(&mut self, now: u64, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        if prng.chance(1, 10) {
            return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
        }
        let key = prng.below(KEY_COUNT);
        self.next_value += 1;
        let value = self.client * 1_000_000 + self.next_value;
        let (operation, text) = match prng.below(8) {
            0..=2 => (Operation::Read(None), format!("SELECT v FROM sim.registers WHERE k = {key}")),
            3 => {
                let lock = ["FOR UPDATE", "FOR SHARE"][prng.index(2)];
                (Operation::Read(None), format!("SELECT v FROM sim.registers WHERE k = {key} {lock}"))
            }
            4 | 5 => {
                let text = format!(
                    "INSERT INTO sim.registers VALUES ({key}, {value}) ON DUPLICATE KEY UPDATE v = VALUES(v)"
                );
                (Operation::Write(value), text)
            }
            6 => {
                let text = format!("UPDATE sim.registers SET v = {value} WHERE k = {key}");
                (Operation::Update(value, false), text)
            }
            _ => (Operation::Delete(false), format!("DELETE FROM sim.registers WHERE k = {key}")),
        };
        self.running = Some((key, now, operation));
        Action::Query(text)
    }

    fn end(&mut self, until: Option<u64>, operation: Operation) {
        if let Some((key, from, _)) = self.running.take() {
            self.history.push(Event { key, from, until, operation });
        }
    }
}

impl Script for Registers {
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        let running = self.running.map(|(_, _, operation)| operation);
        match (answer, running) {
            (Answer::Ready, _) => return Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            (Answer::Connected, _) => {}
            (Answer::Lost, Some(operation)) => {
                self.end(None, operation);
                return Action::Wait(1_000_000);
            }
            (Answer::Error(1180, _), Some(operation)) => {
                self.end(None, operation);
                return Action::Wait(1_000_000);
            }
            (Answer::Lost, None) => return Action::Wait(5_000_000),
            (Answer::Rows(rows), Some(Operation::Read(_))) => {
                let value = rows
                    .first()
                    .and_then(|row| row.first().cloned().flatten())
                    .and_then(|text| text.parse().ok());
                self.end(Some(now), Operation::Read(value));
            }
            (Answer::Done(_), Some(operation @ Operation::Write(_))) => self.end(Some(now), operation),
            (Answer::Done(rows), Some(Operation::Update(value, _))) => {
                self.end(Some(now), Operation::Update(value, rows > 0))
            }
            (Answer::Done(rows), Some(Operation::Delete(_))) => {
                self.end(Some(now), Operation::Delete(rows > 0))
            }
            (Answer::Error(code, _), Some(_)) if super::is_certain_failure(code) => self.running = None,
            (other, running) => {
                self.failure = Some(format!("unexpected answer {other:?} to {running:?}"));
                return Action::Finish;
            }
        }
        self.begin(now, prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
