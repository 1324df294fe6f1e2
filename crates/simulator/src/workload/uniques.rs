//! Rows with a unique secondary key: INSERT, ON DUPLICATE KEY UPDATE, REPLACE, UPDATE and DELETE of a few keys by
//! several clients at once, and reads by the unique key. NULLs have no entry.
//!
//! A read by the unique key must give at most one row, and one with that key. Afterwards no key is there twice, every
//! row is found by its key, and entries are as many as rows that have a key. No row has a value that was never written
//! or certainly not committed.

use crate::client::{Action, Answer, Script};
use std::collections::BTreeSet;
use stdx::Prng;
use types::NodeId;

/// Primary keys, and unique keys.
pub const KEY_COUNT: u64 = 5;

/// A client of the table.
pub struct Uniques {
    nodes: Vec<NodeId>,
    client: u64,
    left: u32,
    next_value: u64,
    /// The running statement: the value it writes, and the unique key that it reads by.
    value: Option<u64>,
    read: Option<u64>,
    /// Values that certainly never came to be.
    pub refused: BTreeSet<u64>,
    /// Values written, or that may have been.
    pub written: BTreeSet<u64>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Uniques {
    /// A client that runs `count` statements through drawn nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, client: u64, count: u32) -> Self {
        Self {
            nodes,
            client,
            left: count,
            next_value: 0,
            value: None,
            read: None,
            refused: BTreeSet::new(),
            written: BTreeSet::new(),
            failure: None,
        }
    }

    /// The table.
    #[must_use]
    pub fn setup() -> Vec<String> {
        vec![
            "CREATE TABLE sim.uniques (id INT PRIMARY KEY, u INT, v BIGINT NOT NULL, UNIQUE KEY by_u (u))"
                .to_owned(),
        ]
    }

    fn begin(&mut self, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        (self.value, self.read) = (None, None);
        if prng.chance(1, 12) {
            return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
        }
        let (id, key) = (prng.below(KEY_COUNT), prng.below(KEY_COUNT));
        let u = if prng.chance(1, 8) { "NULL".to_owned() } else { key.to_string() };
        self.next_value += 1;
        let value = self.client * 1_000_000 + self.next_value;
        let writes = |text: String| (Some(value), None, text);
        let other = prng.below(KEY_COUNT);
        let (value, read, text) = match prng.below(12) {
            0 | 1 => writes(format!("INSERT INTO sim.uniques VALUES ({id}, {u}, {value})")),
            2 => writes(format!("INSERT IGNORE INTO sim.uniques VALUES ({id}, {u}, {value})")),
            3 => writes(format!(
                "INSERT INTO sim.uniques VALUES ({id}, {u}, {value}) ON DUPLICATE KEY UPDATE v = VALUES(v)"
            )),
            4 => writes(format!(
                "INSERT INTO sim.uniques VALUES ({id}, {u}, {value}) ON DUPLICATE KEY UPDATE u = {other}, v = VALUES(v)"
            )),
            5 | 6 => writes(format!("REPLACE INTO sim.uniques VALUES ({id}, {u}, {value})")),
            7 => writes(format!("UPDATE sim.uniques SET u = {u}, v = {value} WHERE id = {id}")),
            8 => writes(format!("UPDATE sim.uniques SET u = {other}, v = {value} WHERE u = {key}")),
            9 => (None, None, format!("DELETE FROM sim.uniques WHERE id = {id}")),
            10 => (None, None, format!("DELETE FROM sim.uniques WHERE u = {key}")),
            _ => (None, Some(key), format!("SELECT u, v FROM sim.uniques WHERE u = {key}")),
        };
        (self.value, self.read) = (value, read);
        Action::Query(text)
    }

    /// The value is there, or may be.
    fn keep(&mut self) {
        self.written.extend(self.value.take());
    }

    fn check_read(&mut self, rows: &[Vec<Option<String>>]) {
        let Some(key) = self.read.take() else { return };
        let key = Some(key.to_string());
        if rows.len() > 1 || rows.iter().any(|row| row.first() != Some(&key)) {
            self.failure = Some(format!("a read by the unique key {key:?} gave {rows:?}"));
        }
    }
}

impl Script for Uniques {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready => return Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            Answer::Connected => {}
            Answer::Rows(rows) => self.check_read(&rows),
            Answer::Lost => {
                self.keep();
                return Action::Wait(5_000_000);
            }
            Answer::Done(_) | Answer::Error(1180, _) => self.keep(),
            Answer::Error(code, _) if code == 1062 || super::is_certain_failure(code) => {
                self.refused.extend(self.value.take());
            }
            Answer::Error(code, message) => self.failure = Some(format!("unexpected error {code} {message}")),
        }
        if self.failure.is_some() {
            return Action::Finish;
        }
        self.begin(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
