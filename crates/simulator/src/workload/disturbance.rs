//! Clients that disturb others without changing anything. One kills statements and connections that it finds in SHOW
//! PROCESSLIST. One locks rows of all tables and sits on them until others' waits time out.

use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// Kills.
pub struct Killer {
    nodes: Vec<NodeId>,
    left: u32,
    /// Ids that were listed and are not killed yet.
    found: Vec<String>,
    /// Whether there is a connection; a pause ends like it began.
    is_connected: bool,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Killer {
    /// A client that looks for something to kill `count` times, on drawn nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, count: u32) -> Self {
        Self { nodes, left: count, found: Vec::new(), is_connected: false, failure: None }
    }

    fn go_on(&mut self, prng: &mut Prng) -> Action {
        if !self.found.is_empty() {
            let id = self.found.swap_remove(prng.index(self.found.len()));
            self.found.truncate(1);
            let what = if prng.chance(3, 4) { "QUERY" } else { "CONNECTION" };
            return Action::Query(format!("KILL {what} {id}"));
        }
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        match prng.below(4) {
            0 => Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            1 => Action::Wait(prng.below(20_000_000)),
            _ => Action::Query("SHOW PROCESSLIST".to_owned()),
        }
    }
}

impl Script for Killer {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready if self.is_connected => {}
            Answer::Ready => return Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            Answer::Connected => self.is_connected = true,
            Answer::Rows(rows) => {
                self.found = rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
            }
            // Gone already, or it was itself that was killed.
            Answer::Done(_) | Answer::Error(1094 | 1317, _) => {}
            Answer::Lost => {
                self.is_connected = false;
                self.found.clear();
                return Action::Wait(3_000_000);
            }
            Answer::Error(code, _) if super::is_certain_failure(code) => {}
            Answer::Error(code, message) => {
                self.failure = Some(format!("unexpected error {code} {message}"));
                return Action::Finish;
            }
        }
        self.go_on(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// Locking reads of single rows of the other workloads' tables; none of them keeps a row from being read.
const LOCKS: [&str; 5] = [
    "SELECT v FROM sim.registers WHERE k = 1 FOR UPDATE",
    "SELECT v FROM sim.lists WHERE k IN (1, 2) FOR UPDATE",
    "SELECT balance FROM sim.bank WHERE id IN (0, 3) FOR SHARE",
    "SELECT v FROM sim.uniques WHERE id = 2 FOR UPDATE",
    "SELECT v FROM sim.uniques WHERE u = 3 FOR SHARE",
];

/// Locks rows and waits.
pub struct Sleeper {
    nodes: Vec<NodeId>,
    left: u32,
    /// Statements of this transaction not sent yet, last first; an empty one is a pause.
    statements: Vec<&'static str>,
    is_connected: bool,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Sleeper {
    /// A client that sits on locks `count` times.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, count: u32) -> Self {
        Self { nodes, left: count, statements: Vec::new(), is_connected: false, failure: None }
    }

    fn go_on(&mut self, prng: &mut Prng) -> Action {
        match self.statements.pop() {
            Some("") => return Action::Wait(500_000_000 + prng.below(1_000_000_000)),
            Some(statement) => return Action::Query(statement.to_owned()),
            None if self.left == 0 => return Action::Finish,
            None => {}
        }
        self.left -= 1;
        let (first, second) = (LOCKS[prng.index(LOCKS.len())], LOCKS[prng.index(LOCKS.len())]);
        let end = if prng.chance(1, 2) { "COMMIT" } else { "ROLLBACK" };
        self.statements = vec![end, "", second, first, "BEGIN"];
        Action::Wait(1_000_000)
    }
}

impl Script for Sleeper {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready if self.is_connected => {}
            Answer::Ready => return Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            Answer::Connected => {
                self.is_connected = true;
                self.statements.clear();
            }
            Answer::Done(_) | Answer::Rows(_) => {}
            Answer::Lost => {
                self.is_connected = false;
                return Action::Wait(5_000_000);
            }
            Answer::Error(code, _) if code == 1180 || super::is_certain_failure(code) => {
                self.statements = vec!["ROLLBACK"];
            }
            Answer::Error(code, message) => {
                self.failure = Some(format!("unexpected error {code} {message}"));
                return Action::Finish;
            }
        }
        self.go_on(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
