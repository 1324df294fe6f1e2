//! Clients that keep each other out. With SKIP LOCKED each job of a queue goes to one of them. With LOCK TABLES and
//! GET_LOCK they read and write a counter by separate statements, which loses counts if two are between them.
//!
//! A job must be acknowledged to one client and have its mark. The counters are checked only where nothing fails: a
//! lock goes with its primary, and a session hears of that a little later.

use crate::client::{Action, Answer, Script};
use std::collections::VecDeque;
use stdx::Prng;
use types::NodeId;

/// Jobs in the queue.
pub const JOB_COUNT: u32 = 60;

/// The work of a client under its lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Job,
    /// The counter with this id.
    Count(usize),
}

/// A client.
pub struct Locker {
    nodes: Vec<NodeId>,
    client: u64,
    left: u32,
    is_connected: bool,
    work: Work,
    /// Statements to send, one after the other. `{}` is the value that was read.
    statements: VecDeque<&'static str>,
    sent: &'static str,
    value: u64,
    /// Jobs whose COMMIT was acknowledged.
    pub jobs: Vec<u64>,
    /// Counts that were acknowledged, by counter.
    pub counts: [u64; 2],
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

const JOB: [&str; 4] = [
    "BEGIN",
    "SELECT id FROM sim.jobs WHERE owner = 0 ORDER BY id LIMIT 1 FOR UPDATE OF jobs SKIP LOCKED",
    "UPDATE sim.jobs SET owner = @ WHERE id = {}",
    "COMMIT",
];
const BY_TABLE: [&str; 4] = [
    "LOCK TABLES sim.counted WRITE",
    "SELECT n FROM sim.counted WHERE id = 0",
    "UPDATE sim.counted SET n = {} + 1 WHERE id = 0",
    "UNLOCK TABLES",
];
const BY_NAME: [&str; 4] = [
    "SELECT GET_LOCK('counter', 100000)",
    "SELECT n FROM sim.counted_by_name WHERE id = 1",
    "UPDATE sim.counted_by_name SET n = {} + 1 WHERE id = 1",
    "DO RELEASE_LOCK('counter')",
];

impl Locker {
    /// A client that takes `count` locks.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, client: u64, count: u32) -> Self {
        Self {
            nodes,
            client: client + 1,
            left: count,
            is_connected: false,
            work: Work::Job,
            statements: VecDeque::new(),
            sent: "",
            value: 0,
            jobs: Vec::new(),
            counts: [0; 2],
            failure: None,
        }
    }

    /// The queue and the counters.
    #[must_use]
    pub fn setup() -> Vec<String> {
        let jobs: Vec<String> = (1..=JOB_COUNT).map(|id| format!("({id}, 0)")).collect();
        vec![
            "CREATE TABLE sim.jobs (id INT PRIMARY KEY, owner INT NOT NULL)".to_owned(),
            format!("INSERT INTO sim.jobs VALUES {}", jobs.join(", ")),
            "CREATE TABLE sim.counted (id INT PRIMARY KEY, n INT NOT NULL)".to_owned(),
            "INSERT INTO sim.counted VALUES (0, 0)".to_owned(),
            "CREATE TABLE sim.counted_by_name (id INT PRIMARY KEY, n INT NOT NULL)".to_owned(),
            "INSERT INTO sim.counted_by_name VALUES (1, 0)".to_owned(),
        ]
    }

    /// The number of this client in the rows that it marks.
    #[must_use]
    pub fn owner(&self) -> u64 {
        self.client
    }

    fn go_on(&mut self, prng: &mut Prng) -> Action {
        if self.statements.is_empty() {
            if self.left == 0 {
                return Action::Finish;
            }
            self.left -= 1;
            let (work, statements) =
                [(Work::Job, JOB), (Work::Count(0), BY_TABLE), (Work::Count(1), BY_NAME)][prng.index(3)];
            (self.work, self.statements) = (work, statements.into());
        }
        let Some(next) = self.statements.pop_front() else { return Action::Finish };
        self.sent = next;
        Action::Query(next.replace("{}", &self.value.to_string()).replace('@', &self.client.to_string()))
    }

    /// The work is abandoned: what the session holds is given back by the statements that follow.
    fn abandon(&mut self) {
        let ends = ["ROLLBACK", "UNLOCK TABLES", "DO RELEASE_ALL_LOCKS()"];
        self.statements = if ends.contains(&self.sent) { VecDeque::new() } else { ends.into() };
    }

    fn on_rows(&mut self, rows: &[Vec<Option<String>>]) {
        let value = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
        match (value, self.work) {
            (Some(value), _) => self.value = value,
            // All jobs are taken, or are being taken.
            (None, Work::Job) => self.abandon(),
            (None, Work::Count(_)) => self.failure = Some(format!("nothing came for {}", self.sent)),
        }
    }
}

impl Script for Locker {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready if !self.is_connected => {
                return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
            }
            Answer::Ready => {}
            Answer::Connected => self.is_connected = true,
            Answer::Rows(rows) => self.on_rows(&rows),
            Answer::Done(changed) => match self.work {
                Work::Job if self.sent == "COMMIT" => self.jobs.push(self.value),
                Work::Count(counter) if self.sent.starts_with("UPDATE") => self.counts[counter] += changed,
                Work::Job | Work::Count(_) => {}
            },
            Answer::Lost | Answer::Error(1180 | 3169, _) => {
                self.is_connected = false;
                self.statements.clear();
                return Action::Wait(5_000_000);
            }
            Answer::Error(code, _) if super::is_certain_failure(code) || code == 3058 => self.abandon(),
            Answer::Error(code, message) => {
                self.failure = Some(format!("{}: {code} {message}", self.sent));
            }
        }
        if self.failure.is_some() { Action::Finish } else { self.go_on(prng) }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
