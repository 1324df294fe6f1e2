//! A table that changes its name while it is read. Seen through one node the name is a register: RENAME writes it, a query that finds the table
//! under a name (or misses it) reads it; at no moment are there both names or none.

use super::registers::{Event, Operation};
use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

const NAMES: [&str; 2] = ["named_a", "named_b"];

/// A client that renames the table to and fro.
pub struct Renamer {
    node: NodeId,
    left: u32,
    name: u64,
    running: Option<u64>,
    is_connected: bool,
    /// Its writes of the name.
    pub history: Vec<Event>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Renamer {
    /// A client that renames it `count` times.
    #[must_use]
    pub fn new(node: NodeId, count: u32) -> Self {
        Self {
            node,
            left: count,
            name: 0,
            running: None,
            is_connected: false,
            history: Vec::new(),
            failure: None,
        }
    }

    /// The table with a row.
    #[must_use]
    pub fn setup() -> Vec<String> {
        vec![
            "CREATE TABLE sim.named_a (id INT PRIMARY KEY, n INT)".to_owned(),
            "INSERT INTO sim.named_a VALUES (1, 0)".to_owned(),
        ]
    }

    fn end(&mut self, until: Option<u64>) {
        let Some(from) = self.running.take() else { return };
        let to = 1 - self.name;
        self.history.push(Event { key: 0, from, until, operation: Operation::Write(to) });
        self.name = to;
    }

    fn begin(&mut self, now: u64, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        if prng.chance(1, 2) {
            return Action::Wait(prng.below(30_000_000));
        }
        self.left -= 1;
        self.running = Some(now);
        let (from, to) = (self.name, 1 - self.name);
        let index = |name: u64| NAMES[usize::from(name == 1)];
        Action::Query(format!("RENAME TABLE sim.{} TO sim.{}", index(from), index(to)))
    }
}

impl Script for Renamer {
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready if self.is_connected => {}
            Answer::Ready => return Action::Connect(self.node),
            Answer::Connected => self.is_connected = true,
            Answer::Done(_) | Answer::Rows(_) => self.end(Some(now)),
            // It may be done yet, and nobody says when: the name is not known from here on.
            Answer::Lost | Answer::Error(1180 | 1317, _) => {
                self.end(None);
                return Action::Finish;
            }
            // Its job is undone, or goes on without it.
            Answer::Error(code, _) if super::is_certain_failure(code) => {
                self.end(None);
                return Action::Finish;
            }
            Answer::Error(code, message) => {
                self.failure = Some(format!("unexpected error {code} {message}"));
                return Action::Finish;
            }
        }
        self.begin(now, prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// A client that reads the table by either name, always through one node, and writes to it.
pub struct NameReader {
    node: NodeId,
    left: u32,
    running: Option<(u64, u64)>,
    /// What it saw of the name.
    pub history: Vec<Event>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl NameReader {
    /// A client that runs `count` statements through `node`.
    #[must_use]
    pub fn new(node: NodeId, count: u32) -> Self {
        Self { node, left: count, running: None, history: Vec::new(), failure: None }
    }

    /// Through which node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    fn saw(&mut self, now: u64, is_there: bool) {
        let Some((from, name)) = self.running.take() else { return };
        let seen = if is_there { name } else { 1 - name };
        self.history.push(Event { key: 0, from, until: Some(now), operation: Operation::Read(Some(seen)) });
    }

    fn begin(&mut self, now: u64, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        let name = prng.below(2);
        self.running = Some((now, name));
        let table = NAMES[usize::from(name == 1)];
        Action::Query(match prng.below(3) {
            0 => format!("UPDATE sim.{table} SET n = n + 1 WHERE id = 1"),
            1 => format!("SELECT n FROM sim.{table} WHERE id = 1"),
            _ => format!("SELECT COUNT(*) FROM sim.{table}"),
        })
    }
}

impl Script for NameReader {
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready => return Action::Connect(self.node),
            Answer::Connected => {}
            Answer::Done(_) | Answer::Rows(_) => self.saw(now, true),
            Answer::Error(1146, _) => self.saw(now, false),
            // Its node may be gone for good: each attempt counts.
            Answer::Lost if self.left == 0 => return Action::Finish,
            Answer::Lost => {
                self.running = None;
                self.left -= 1;
                return Action::Wait(5_000_000);
            }
            Answer::Error(code, _) if code == 1180 || super::is_certain_failure(code) => self.running = None,
            Answer::Error(code, message) => {
                self.failure = Some(format!("unexpected error {code} {message}"));
                return Action::Finish;
            }
        }
        self.begin(now, prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
