//! A fact that DDL changes to and fro while clients meet it: a table's name, an account's privilege. Seen through one
//! node it is a register: what flips it writes the register, a statement that meets it reads it, by its success or by
//! one error. So a table never has both names or none, and what REVOKE has acknowledged, no node permits any more.

use super::registers::{Event, Operation};
use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

const NAMES: [&str; 2] = ["named_a", "named_b"];
/// The account whose privilege comes and goes.
const LIMITED: &str = "limited";

/// The fact that is flipped: 0 at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// Which of two names a table has.
    Name,
    /// Whether an account may read and change a table.
    Privilege,
}

impl Fact {
    /// The statements that set it up, before it is flipped for the first time.
    #[must_use]
    pub fn setup(self) -> Vec<String> {
        let table = match self {
            Self::Name => NAMES[0],
            Self::Privilege => "guarded",
        };
        let mut statements = vec![
            format!("CREATE TABLE sim.{table} (id INT PRIMARY KEY, n INT)"),
            format!("INSERT INTO sim.{table} VALUES (1, 0)"),
        ];
        if self == Self::Privilege {
            statements.push(format!("CREATE USER {LIMITED}"));
        }
        statements
    }

    /// The statement that makes it `to`.
    fn flip(self, to: u64) -> String {
        let is_one = to == 1;
        match self {
            Self::Name => {
                let (from, to) = (NAMES[usize::from(!is_one)], NAMES[usize::from(is_one)]);
                format!("RENAME TABLE sim.{from} TO sim.{to}")
            }
            Self::Privilege if is_one => format!("GRANT SELECT, UPDATE ON sim.guarded TO {LIMITED}"),
            Self::Privilege => format!("REVOKE SELECT, UPDATE ON sim.guarded FROM {LIMITED}"),
        }
    }

    /// A statement that succeeds exactly while the fact is as the second value says.
    fn question(self, prng: &mut Prng) -> (String, u64) {
        let (table, expected) = match self {
            Self::Name => {
                let name = prng.below(2);
                (NAMES[usize::from(name == 1)], name)
            }
            Self::Privilege => ("guarded", 1),
        };
        let text = match prng.below(3) {
            0 => format!("UPDATE sim.{table} SET n = n + 1 WHERE id = 1"),
            1 => format!("SELECT n FROM sim.{table} WHERE id = 1"),
            _ => format!("SELECT COUNT(*) FROM sim.{table}"),
        };
        (text, expected)
    }

    /// The error of such a statement while the fact is otherwise.
    fn denial(self) -> u16 {
        match self {
            Self::Name => 1146,
            Self::Privilege => 1142,
        }
    }
}

/// A client that flips a fact.
pub struct Flipper {
    /// Which.
    pub fact: Fact,
    node: NodeId,
    left: u32,
    value: u64,
    running: Option<u64>,
    is_connected: bool,
    /// Its writes of the fact.
    pub history: Vec<Event>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Flipper {
    /// A client that flips it `count` times.
    #[must_use]
    pub fn new(fact: Fact, node: NodeId, count: u32) -> Self {
        Self {
            fact,
            node,
            left: count,
            value: 0,
            running: None,
            is_connected: false,
            history: Vec::new(),
            failure: None,
        }
    }

    fn end(&mut self, until: Option<u64>) {
        let Some(from) = self.running.take() else { return };
        self.value = 1 - self.value;
        self.history.push(Event { key: 0, from, until, operation: Operation::Write(self.value) });
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
        Action::Query(self.fact.flip(1 - self.value))
    }
}

impl Script for Flipper {
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready if self.is_connected => {}
            Answer::Ready => return Action::Connect(self.node),
            Answer::Connected => self.is_connected = true,
            Answer::Done(_) | Answer::Rows(_) => self.end(Some(now)),
            // It may be done yet, and nobody says when: the fact is not known from here on.
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

/// A client that meets the fact, always through one node.
pub struct Onlooker {
    /// Which.
    pub fact: Fact,
    /// Through which node.
    pub node: NodeId,
    left: u32,
    /// Since when, and what the fact is if the statement succeeds.
    running: Option<(u64, u64)>,
    /// Its observations of the fact.
    pub history: Vec<Event>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Onlooker {
    /// A client that runs `count` statements through `node`.
    #[must_use]
    pub fn new(fact: Fact, node: NodeId, count: u32) -> Self {
        Self { fact, node, left: count, running: None, history: Vec::new(), failure: None }
    }

    fn saw(&mut self, now: u64, has_succeeded: bool) {
        let Some((from, expected)) = self.running.take() else { return };
        let seen = if has_succeeded { expected } else { 1 - expected };
        self.history.push(Event { key: 0, from, until: Some(now), operation: Operation::Read(Some(seen)) });
    }

    fn begin(&mut self, now: u64, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        let (text, expected) = self.fact.question(prng);
        self.running = Some((now, expected));
        Action::Query(text)
    }
}

impl Script for Onlooker {
    fn user(&self) -> &'static str {
        match self.fact {
            Fact::Name => "root",
            Fact::Privilege => LIMITED,
        }
    }

    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready => return Action::Connect(self.node),
            Answer::Connected => {}
            Answer::Done(_) | Answer::Rows(_) => self.saw(now, true),
            Answer::Error(code, _) if code == self.fact.denial() => self.saw(now, false),
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
