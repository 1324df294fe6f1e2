//! Rows that are acknowledged under each durability that clients can ask for, and tables. Watchers ask meanwhile how
//! much a stop of all nodes would take.
//!
//! A row is promised as durable if its table asks for that, or the transaction does. A table always is. A row that was
//! acknowledged in memory alone may be lost, but no more of them than `ndbinfo.durability` has said.

use crate::client::{Action, Answer, Script};
use std::collections::VecDeque;
use stdx::Prng;
use types::NodeId;

/// Tables that a client makes at most.
const TABLES_MAX: u64 = 6;

/// An acknowledged commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promise {
    /// Its row's value, or the name of the table that it made.
    pub name: String,
    /// When the client heard of it.
    pub acknowledged_at: u64,
    /// No stop may take it.
    pub is_durable: bool,
}

/// A statement, and the promise that is made when it is acknowledged.
type Step = (String, Option<(String, bool)>);

/// A client that writes.
pub struct Promises {
    nodes: Vec<NodeId>,
    client: u64,
    left: u64,
    tables: u64,
    steps: VecDeque<Step>,
    /// Those that it heard of.
    pub promises: Vec<Promise>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Promises {
    /// A client that makes `count` promises through drawn nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, client: u64, count: u64) -> Self {
        let (steps, promises) = (VecDeque::new(), Vec::new());
        Self { nodes, client, left: count, tables: 0, steps, promises, failure: None }
    }

    /// The tables.
    #[must_use]
    pub fn setup() -> Vec<String> {
        let table = |name: &str, comment: &str| {
            format!("CREATE TABLE sim.{name} (name VARCHAR(40) PRIMARY KEY) COMMENT = '{comment}'")
        };
        vec![table("kept", "NDB_TABLE=DURABILITY=epoch"), table("plain", "")]
    }

    /// Statements whose first columns are the names of all promises that are there.
    #[must_use]
    pub fn check() -> Vec<String> {
        ["SELECT name FROM sim.kept", "SELECT name FROM sim.plain", "SHOW TABLES FROM sim"]
            .map(str::to_owned)
            .into()
    }

    fn plan(&mut self, prng: &mut Prng) {
        let name = format!("{}-{}", self.client, self.left);
        let insert = |table: &str| format!("INSERT INTO sim.{table} VALUES ('{name}')");
        let silent = |text: &str| (text.to_owned(), None);
        let durable = Some((name.clone(), true));
        match prng.below(9) {
            0 if self.tables < TABLES_MAX => {
                self.tables += 1;
                let table = format!("made_{}_{}", self.client, self.tables);
                let text = format!("CREATE TABLE sim.{table} (id INT PRIMARY KEY)");
                self.steps.push_back((text, Some((table, true))));
            }
            0 | 1 => self.steps.push_back((insert("kept"), durable)),
            2 => {
                let steps = [silent("BEGIN"), (insert("plain"), None), silent("SET durability = 'epoch'")];
                let end = [("COMMIT".to_owned(), durable), silent("SET durability = 'memory'")];
                self.steps.extend(steps.into_iter().chain(end));
            }
            3 => {
                let steps = [silent("BEGIN"), (insert("plain"), None), (insert("kept"), None)];
                self.steps.extend(steps.into_iter().chain([("COMMIT".to_owned(), durable)]));
            }
            _ => self.steps.push_back((insert("plain"), Some((name, false)))),
        }
    }

    fn next_step(&mut self, prng: &mut Prng) -> Action {
        if self.steps.is_empty() {
            if self.left == 0 {
                return Action::Finish;
            }
            self.left -= 1;
            if prng.chance(1, 6) {
                return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
            }
            self.plan(prng);
        }
        self.steps.front().map_or(Action::Finish, |(text, _)| Action::Query(text.clone()))
    }
}

impl Script for Promises {
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready => return Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            Answer::Connected => self.steps.clear(),
            Answer::Lost => return Action::Wait(5_000_000),
            Answer::Done(_) | Answer::Rows(_) => {
                if let Some((_, Some((name, is_durable)))) = self.steps.pop_front() {
                    self.promises.push(Promise { name, acknowledged_at: now, is_durable });
                }
            }
            // Another connection to begin with: nothing is open there.
            Answer::Error(code, _) if code == 1180 || super::is_certain_failure(code) => {
                return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
            }
            Answer::Error(code, message) => {
                self.failure = Some(format!("unexpected error {code} {message}: {:?}", self.steps.front()));
                return Action::Finish;
            }
        }
        self.next_step(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The loss by a stop of all nodes, as it was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figure {
    /// When a client asked.
    pub asked_at: u64,
    /// For so long there was something that would be lost.
    pub lost_ms: u64,
    /// So many bytes of all logs.
    pub lost_bytes: u64,
}

/// A client that asks for the figures.
pub struct Watcher {
    nodes: Vec<NodeId>,
    data_nodes: u16,
    left: u32,
    is_connected: bool,
    asked_at: u64,
    /// Those that all data nodes have told.
    pub figures: Vec<Figure>,
}

impl Watcher {
    /// A client that asks `count` times, in a cluster of so many data nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, data_nodes: u16, count: u32) -> Self {
        Self { nodes, data_nodes, left: count, is_connected: false, asked_at: 0, figures: Vec::new() }
    }

    fn take(&mut self, rows: &[Vec<Option<String>>]) {
        let number = |column: usize| rows.first()?.get(column)?.as_ref()?.parse::<u64>().ok();
        if let (Some(count), Some(lost_ms), Some(lost_bytes)) = (number(0), number(1), number(2))
            && count == u64::from(self.data_nodes)
        {
            self.figures.push(Figure { asked_at: self.asked_at, lost_ms, lost_bytes });
        }
    }
}

impl Script for Watcher {
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Lost => {
                self.is_connected = false;
                return Action::Wait(5_000_000);
            }
            Answer::Ready if !self.is_connected => {
                return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
            }
            Answer::Rows(rows) => {
                self.take(&rows);
                return Action::Wait(1 + prng.below(30_000_000));
            }
            Answer::Error(..) => return Action::Wait(5_000_000),
            Answer::Ready | Answer::Connected | Answer::Done(_) => self.is_connected = true,
        }
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        self.asked_at = now;
        let columns = "COUNT(*), MAX(lost_ms), SUM(lost_bytes)";
        Action::Query(format!("SELECT {columns} FROM ndbinfo.durability"))
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
