//! An account that may read a table, and may not, while it runs statements. Seen through one node its privilege is a register: GRANT and REVOKE
//! write it, a statement that is done (or refused with 1142) reads it. What REVOKE has acknowledged, no node permits any more.

use super::registers::{Event, Operation};
use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// The account whose privilege comes and goes.
const LIMITED: &str = "limited";

/// root, who grants and revokes.
pub struct Granter {
    node: NodeId,
    left: u32,
    is_granted: bool,
    running: Option<u64>,
    is_connected: bool,
    /// Its writes of the privilege.
    pub history: Vec<Event>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Granter {
    /// A client that changes the privilege `count` times.
    #[must_use]
    pub fn new(node: NodeId, count: u32) -> Self {
        Self {
            node,
            left: count,
            is_granted: false,
            running: None,
            is_connected: false,
            history: Vec::new(),
            failure: None,
        }
    }

    /// The account, and a table with a row.
    #[must_use]
    pub fn setup() -> Vec<String> {
        vec![
            "CREATE TABLE sim.guarded (id INT PRIMARY KEY, n INT)".to_owned(),
            "INSERT INTO sim.guarded VALUES (1, 0)".to_owned(),
            format!("CREATE USER {LIMITED}"),
        ]
    }

    fn end(&mut self, until: Option<u64>) {
        let Some(from) = self.running.take() else { return };
        self.is_granted = !self.is_granted;
        let operation = Operation::Write(u64::from(self.is_granted));
        self.history.push(Event { key: 0, from, until, operation });
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
        Action::Query(if self.is_granted {
            format!("REVOKE SELECT, UPDATE ON sim.guarded FROM {LIMITED}")
        } else {
            format!("GRANT SELECT, UPDATE ON sim.guarded TO {LIMITED}")
        })
    }
}

impl Script for Granter {
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready if self.is_connected => {}
            Answer::Ready => return Action::Connect(self.node),
            Answer::Connected => self.is_connected = true,
            Answer::Done(_) | Answer::Rows(_) => self.end(Some(now)),
            // It may be done yet, and nobody says when: the privilege is not known from here on.
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

/// The limited account: it reads and changes the table, always through one node.
pub struct Limited {
    node: NodeId,
    left: u32,
    running: Option<u64>,
    /// What it saw of its privilege.
    pub history: Vec<Event>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Limited {
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

    fn saw(&mut self, now: u64, is_permitted: bool) {
        let Some(from) = self.running.take() else { return };
        let operation = Operation::Read(Some(u64::from(is_permitted)));
        self.history.push(Event { key: 0, from, until: Some(now), operation });
    }

    fn begin(&mut self, now: u64, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        self.running = Some(now);
        Action::Query(
            match prng.below(3) {
                0 => "UPDATE sim.guarded SET n = n + 1 WHERE id = 1",
                1 => "SELECT n FROM sim.guarded WHERE id = 1",
                _ => "SELECT COUNT(*) FROM sim.guarded",
            }
            .to_owned(),
        )
    }
}

impl Script for Limited {
    fn user(&self) -> &'static str {
        LIMITED
    }

    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready => return Action::Connect(self.node),
            Answer::Connected => {}
            Answer::Done(_) | Answer::Rows(_) => self.saw(now, true),
            Answer::Error(1142, _) => self.saw(now, false),
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
