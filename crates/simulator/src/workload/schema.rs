//! DDL that races DML: one client makes and drops an index and other tables, some filled by a query. It also has all
//! rows written again with a column of another type. Others insert, update and delete rows of the same table.

use super::holders::Hold;
use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// How long a DDL statement may take whose table nobody uses, in milliseconds. The slowest network delays a signal by
/// 20 ms.
const UNHINDERED_MS_MAX: u64 = 5_000;

/// A client that changes the schema.
pub struct SchemaChanger {
    node: NodeId,
    left: u32,
    has_index: bool,
    /// Column `a` is a BIGINT.
    is_wide: bool,
    is_connected: bool,
    /// The pending statement was tried and may have been done, or be done yet by whoever finishes its job.
    is_retry: bool,
    /// Failures that are answered by trying again.
    tries_left: u32,
    /// Nothing goes wrong in this run: whether transactions hold its tables for longer than DDL waits.
    calm: Option<Hold>,
    /// When the pending statement was sent.
    sent_at: u64,
    /// How often it gave way.
    pub gave_way: u32,
    pending: Vec<String>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl SchemaChanger {
    /// A client that runs `count` rounds.
    #[must_use]
    pub fn new(node: NodeId, count: u32) -> Self {
        Self {
            node,
            left: count,
            has_index: false,
            is_wide: false,
            is_connected: false,
            is_retry: false,
            tries_left: 100,
            calm: None,
            sent_at: 0,
            gave_way: 0,
            pending: Vec::new(),
            failure: None,
        }
    }

    /// The same in a run in which nothing happens but that transactions hold rows for long.
    #[must_use]
    pub fn among(self, hold: Option<Hold>) -> Self {
        Self { calm: hold, ..self }
    }

    /// Refuses answers of a server that waits for the wrong transactions.
    fn check_calm(&self, now: u64, answer: &Answer) -> Result<(), String> {
        let (Some(hold), Some(statement)) = (self.calm, self.pending.last()) else { return Ok(()) };
        let waited_ms = now.saturating_sub(self.sent_at) / 1_000_000;
        match answer {
            Answer::Done(_) if hold == Hold::Elsewhere && waited_ms > UNHINDERED_MS_MAX => {
                Err(format!("{statement} took {waited_ms} ms, and nobody uses its table"))
            }
            Answer::Error(1205, _) if hold == Hold::Stubborn => Ok(()),
            Answer::Error(code, message) => Err(format!("{statement}: {code} {message}")),
            Answer::Ready | Answer::Connected | Answer::Done(_) | Answer::Rows(_) | Answer::Lost => Ok(()),
        }
    }

    /// The table.
    #[must_use]
    pub fn setup() -> Vec<String> {
        vec!["CREATE TABLE sim.changing (id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(30))".to_owned()]
    }

    fn round(&mut self) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        self.pending = if self.left.is_multiple_of(3) {
            self.is_wide = !self.is_wide;
            let sql_type = if self.is_wide { "BIGINT" } else { "INT" };
            vec![format!("ALTER TABLE sim.changing MODIFY a {sql_type} NOT NULL")]
        } else {
            self.has_index = !self.has_index;
            vec![if self.has_index {
                "CREATE INDEX by_a ON sim.changing (a)".to_owned()
            } else {
                "DROP INDEX by_a ON sim.changing".to_owned()
            }]
        };
        self.pending.push(if self.left.is_multiple_of(2) {
            "CREATE TABLE sim.passing (x INT PRIMARY KEY)".to_owned()
        } else {
            "CREATE TABLE sim.passing (x INT AUTO_INCREMENT PRIMARY KEY, KEY (id)) SELECT * FROM sim.changing"
                .to_owned()
        });
        self.pending.push("DROP TABLE sim.passing".to_owned());
        self.pending.reverse();
        self.go_on()
    }

    fn go_on(&mut self) -> Action {
        match self.pending.last() {
            Some(statement) => Action::Query(statement.clone()),
            None => self.round(),
        }
    }
}

impl Script for SchemaChanger {
    fn next(&mut self, now: u64, _: &mut Prng, answer: Answer) -> Action {
        if let Err(failure) = self.check_calm(now, &answer) {
            self.failure = Some(failure);
            return Action::Finish;
        }
        self.sent_at = now;
        match answer {
            // It has left nothing behind: the same statement makes sense again, and its outcome is certain.
            Answer::Error(1205, _) if self.calm.is_some() && self.tries_left > 0 => {
                self.gave_way += 1;
                self.tries_left -= 1;
                Action::Wait(1_000_000)
            }
            Answer::Ready if self.is_connected => self.go_on(),
            Answer::Ready => Action::Connect(self.node),
            Answer::Lost | Answer::Error(1180, _) if self.tries_left == 0 => Action::Finish,
            Answer::Lost | Answer::Error(1180, _) => {
                self.is_connected = false;
                self.is_retry = true;
                self.tries_left -= 1;
                Action::Wait(10_000_000)
            }
            Answer::Connected => {
                self.is_connected = true;
                self.go_on()
            }
            Answer::Done(_) | Answer::Rows(_) => {
                self.is_retry = false;
                self.pending.pop();
                self.go_on()
            }
            // There or gone already.
            Answer::Error(1050 | 1051 | 1061 | 1091, _) if self.is_retry => {
                self.is_retry = false;
                self.pending.pop();
                self.go_on()
            }
            Answer::Error(code, _) if super::is_certain_failure(code) && self.tries_left > 0 => {
                self.is_retry = true;
                self.tries_left -= 1;
                Action::Wait(1_000_000)
            }
            // The system tables' primary is lost: no DDL in this view any more.
            Answer::Error(code, _) if super::is_certain_failure(code) => Action::Finish,
            Answer::Error(code, message) => {
                self.failure = Some(format!("unexpected error {code} {message}"));
                Action::Finish
            }
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// A client that changes rows of that table.
pub struct RowChanger {
    nodes: Vec<NodeId>,
    first: u64,
    left: u32,
    statement: String,
    /// Inserts acknowledged minus deletes acknowledged.
    pub rows: i64,
    /// A statement whose outcome is not known was among them.
    pub is_uncertain: bool,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl RowChanger {
    /// A client that runs `count` statements on ids from `first`, which are its own.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, first: u64, count: u32) -> Self {
        Self {
            nodes,
            first,
            left: count,
            statement: String::new(),
            rows: 0,
            is_uncertain: false,
            failure: None,
        }
    }

    fn begin(&mut self, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        let id = self.first + prng.below(20);
        let a = prng.below(10);
        self.statement = match prng.below(4) {
            0 | 1 => format!("INSERT INTO sim.changing VALUES ({id}, {a}, 'b{a}')"),
            2 => format!("UPDATE sim.changing SET a = {a} WHERE id = {id}"),
            _ => format!("DELETE FROM sim.changing WHERE id = {id}"),
        };
        Action::Query(self.statement.clone())
    }
}

impl Script for RowChanger {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready => return Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            Answer::Connected | Answer::Rows(_) => {}
            Answer::Lost | Answer::Error(1180, _) => {
                self.is_uncertain = true;
                return Action::Wait(5_000_000);
            }
            Answer::Done(affected) => {
                let affected = i64::try_from(affected).unwrap_or(0);
                if self.statement.starts_with("INSERT") {
                    self.rows += affected;
                } else if self.statement.starts_with("DELETE") {
                    self.rows -= affected;
                }
            }
            Answer::Error(1062, _) => {}
            Answer::Error(code, _) if super::is_certain_failure(code) => {}
            Answer::Error(code, message) => {
                self.failure = Some(format!("unexpected error {code} {message} to {}", self.statement));
                return Action::Finish;
            }
        }
        self.begin(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
