//! Transactions that stay open for long while the schema changes. DDL waits for those on its own tables, fails when
//! they outlast its patience, and does not notice the others.

use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// How long DDL waits for users of its tables, in nanoseconds.
const PATIENCE: u64 = 10_000_000_000;

/// The rows that are held, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Rows of a table that no DDL statement names, for longer than DDL waits.
    Elsewhere,
    /// Rows of the changing table, for less than DDL waits: nobody may fail for it.
    Patient,
    /// Rows of the changing table, for longer than DDL waits: it gives up and leaves nothing behind.
    Stubborn,
}

impl Hold {
    /// One of them.
    #[must_use]
    pub fn drawn(prng: &mut Prng) -> Self {
        [Hold::Elsewhere, Hold::Patient, Hold::Stubborn][prng.index(3)]
    }

    /// Whether it holds rows of the table whose index comes and goes.
    #[must_use]
    pub fn is_in_the_way(self) -> bool {
        self != Hold::Elsewhere
    }

    fn time(self, prng: &mut Prng) -> u64 {
        match self {
            Hold::Elsewhere => PATIENCE + prng.below(PATIENCE),
            Hold::Patient => prng.below(PATIENCE - PATIENCE / 10),
            Hold::Stubborn => PATIENCE + PATIENCE / 10 + prng.below(PATIENCE / 2),
        }
    }
}

/// A client that holds rows.
pub struct Holder {
    nodes: Vec<NodeId>,
    hold: Hold,
    /// Nothing goes wrong in this run.
    is_calm: bool,
    id: u64,
    left: u32,
    /// The statements of this transaction that are not sent yet, last first; an empty one is the long pause.
    statements: Vec<String>,
    is_connected: bool,
    /// A commit was sent.
    is_commit: bool,
    /// Transactions that held rows for long and were committed.
    pub held: u32,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Holder {
    /// A client that holds rows of its own `count` times.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, hold: Hold, is_calm: bool, client: u64, count: u32) -> Self {
        Self {
            nodes,
            hold,
            is_calm,
            id: 1_000_000 + client,
            left: count,
            statements: Vec::new(),
            is_connected: false,
            is_commit: false,
            held: 0,
            failure: None,
        }
    }

    /// The table that no DDL names.
    #[must_use]
    pub fn setup() -> Vec<String> {
        vec!["CREATE TABLE sim.held (id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(30))".to_owned()]
    }

    fn go_on(&mut self, prng: &mut Prng) -> Action {
        match self.statements.pop() {
            Some(pause) if pause.is_empty() => return Action::Wait(self.hold.time(prng)),
            Some(statement) => {
                self.is_commit = statement == "COMMIT";
                return Action::Query(statement);
            }
            None if self.left == 0 => return Action::Finish,
            None => {}
        }
        self.left -= 1;
        let table = if self.hold.is_in_the_way() { "sim.changing" } else { "sim.held" };
        let id = self.id;
        // The row is gone at the end: others count the rows.
        let statements = [
            "COMMIT".to_owned(),
            format!("DELETE FROM {table} WHERE id = {id}"),
            String::new(),
            format!("INSERT INTO {table} VALUES ({id}, 1, 'held')"),
            "BEGIN".to_owned(),
        ];
        self.statements = statements.into();
        Action::Wait(prng.below(500_000_000))
    }
}

impl Script for Holder {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        let is_commit = std::mem::take(&mut self.is_commit);
        match answer {
            Answer::Ready if !self.is_connected => {
                return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
            }
            Answer::Ready | Answer::Rows(_) => {}
            Answer::Connected => self.is_connected = true,
            Answer::Done(_) => self.held += u32::from(is_commit),
            Answer::Lost | Answer::Error(1180, _) => {
                self.is_connected = false;
                self.statements.clear();
                return Action::Wait(5_000_000);
            }
            // A transaction that began while a statement waited for others, and outlasts it, is in the way of its next
            // step.
            Answer::Error(code, _)
                if super::is_certain_failure(code) && (!self.is_calm || self.hold == Hold::Stubborn) =>
            {
                self.statements = vec!["ROLLBACK".to_owned()];
            }
            Answer::Error(code, message) => {
                self.failure = Some(format!("a transaction that DDL waits for: {code} {message}"));
                return Action::Finish;
            }
        }
        self.go_on(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
