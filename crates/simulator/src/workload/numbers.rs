//! Rows whose ids the cluster gives out: AUTO_INCREMENT through all nodes at once. So that nodes reserve ranges often,
//! some rows have an id far above all others, and each node that meets it or follows it has to reserve again.
//!
//! No id may be given out twice (the client would hear 1062), every statement is answered, and every row that was
//! acknowledged is there.

use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// How far the ids leap: more than a node reserves at once.
const LEAP: u64 = 5_000;

/// A client of the table.
pub struct Numbers {
    nodes: Vec<NodeId>,
    left: u32,
    next_leap: u64,
    /// Rows of the statement that runs.
    rows: u64,
    is_explicit: bool,
    /// Rows that were acknowledged.
    pub written: u64,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Numbers {
    /// A client that runs `count` statements through drawn nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, count: u32) -> Self {
        Self { nodes, left: count, next_leap: LEAP, rows: 0, is_explicit: false, written: 0, failure: None }
    }

    /// The table.
    #[must_use]
    pub fn setup() -> Vec<String> {
        vec!["CREATE TABLE sim.numbers (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT)".to_owned()]
    }

    fn begin(&mut self, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        if prng.chance(1, 6) {
            return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
        }
        self.is_explicit = prng.chance(1, 3);
        if self.is_explicit {
            self.rows = 1;
            let id = self.next_leap;
            self.next_leap += LEAP + prng.below(LEAP);
            return Action::Query(format!("INSERT INTO sim.numbers VALUES ({id}, 0)"));
        }
        self.rows = 1 + prng.below(3);
        let rows = vec!["(1)"; usize::try_from(self.rows).unwrap_or(1)].join(", ");
        Action::Query(format!("INSERT INTO sim.numbers (v) VALUES {rows}"))
    }
}

impl Script for Numbers {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready => return Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            Answer::Connected | Answer::Rows(_) => {}
            Answer::Lost => return Action::Wait(5_000_000),
            Answer::Done(_) => self.written += self.rows,
            Answer::Error(1180, _) => {}
            // Another client chose that id, or was given it.
            Answer::Error(1062, _) if self.is_explicit => {}
            Answer::Error(code, _) if super::is_certain_failure(code) => {}
            Answer::Error(code, message) => {
                self.failure = Some(format!("unexpected error {code} {message}"));
                return Action::Finish;
            }
        }
        self.begin(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
