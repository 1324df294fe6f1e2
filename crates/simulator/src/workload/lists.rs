//! Transactions that append numbers to lists (a text column) and read them. Every read shows the order of all appends
//! before it. So dependencies between transactions can be inferred from answers alone (Kingsbury and Alvaro, Elle, VLDB
//! 2020).

use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// Lists in the table.
pub const KEY_COUNT: u64 = 6;

/// A step of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Append a number to a list.
    Append(u64, u64),
    /// Read a list.
    Read(u64, Option<Vec<u64>>),
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// COMMIT was acknowledged.
    Committed,
    /// It certainly has no effect.
    Aborted,
    /// Not known.
    Unknown,
}

/// A transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// When BEGIN was sent.
    pub from: u64,
    /// When it ended.
    pub until: u64,
    /// The steps that it did.
    pub steps: Vec<Step>,
    /// How it ended.
    pub end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Idle,
    Begin,
    Steps,
    Commit,
    /// After an error: ROLLBACK is on its way.
    Rollback,
}

/// A client of the lists.
pub struct Lists {
    nodes: Vec<NodeId>,
    client: u64,
    left: u32,
    next_value: u64,
    stage: Stage,
    started: u64,
    steps: Vec<Step>,
    position: usize,
    /// The steps that it did.
    pub history: Vec<Transaction>,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Lists {
    /// A client that runs `count` transactions.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, client: u64, count: u32) -> Self {
        Self {
            nodes,
            client,
            left: count,
            next_value: 0,
            stage: Stage::Idle,
            started: 0,
            steps: Vec::new(),
            position: 0,
            history: Vec::new(),
            failure: None,
        }
    }

    /// The table and its rows.
    #[must_use]
    pub fn setup() -> Vec<String> {
        let rows: Vec<String> = (0..KEY_COUNT).map(|key| format!("({key}, '')")).collect();
        vec![
            "CREATE TABLE sim.lists (k INT PRIMARY KEY, v TEXT NOT NULL)".to_owned(),
            format!("INSERT INTO sim.lists VALUES {}", rows.join(", ")),
        ]
    }

    fn begin(&mut self, now: u64, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        if prng.chance(1, 12) {
            return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
        }
        self.steps.clear();
        for _ in 0..1 + prng.below(4) {
            let key = prng.below(KEY_COUNT);
            let step = if prng.chance(1, 2) {
                self.next_value += 1;
                Step::Append(key, self.client * 1_000_000 + self.next_value)
            } else {
                Step::Read(key, None)
            };
            self.steps.push(step);
        }
        self.position = 0;
        self.started = now;
        self.stage = Stage::Begin;
        Action::Query("BEGIN".to_owned())
    }

    fn go_on(&mut self) -> Action {
        match self.steps.get(self.position) {
            Some(Step::Append(key, value)) => {
                Action::Query(format!("UPDATE sim.lists SET v = CONCAT(v, ',{value}') WHERE k = {key}"))
            }
            Some(Step::Read(key, _)) => Action::Query(format!("SELECT v FROM sim.lists WHERE k = {key}")),
            None => {
                self.stage = Stage::Commit;
                Action::Query("COMMIT".to_owned())
            }
        }
    }

    fn end(&mut self, now: u64, end: End) {
        if self.stage != Stage::Idle {
            let steps = self.steps.clone();
            self.history.push(Transaction { from: self.started, until: now, steps, end });
            self.stage = Stage::Idle;
        }
    }

    fn on_rows(&mut self, rows: &[Vec<Option<String>>]) {
        let text = rows.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default();
        let list =
            text.split(',').filter(|part| !part.is_empty()).filter_map(|part| part.parse().ok()).collect();
        if let Some(Step::Read(_, read)) = self.steps.get_mut(self.position) {
            *read = Some(list);
        }
    }
}

impl Script for Lists {
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action {
        match (answer, self.stage) {
            (Answer::Ready, _) => return Action::Connect(self.nodes[prng.index(self.nodes.len())]),
            (Answer::Connected, _) => {}
            (Answer::Lost | Answer::Error(1180, _), stage) => {
                let end = if stage == Stage::Commit { End::Unknown } else { End::Aborted };
                self.end(now, end);
                return Action::Wait(5_000_000);
            }
            (Answer::Done(_), Stage::Begin) => {
                self.stage = Stage::Steps;
                return self.go_on();
            }
            (Answer::Done(_), Stage::Steps) => {
                self.position += 1;
                return self.go_on();
            }
            (Answer::Rows(rows), Stage::Steps) => {
                self.on_rows(&rows);
                self.position += 1;
                return self.go_on();
            }
            (Answer::Done(_), Stage::Commit) => self.end(now, End::Committed),
            (Answer::Done(_), Stage::Rollback) => self.end(now, End::Aborted),
            // A refused COMMIT, too: what is still open must not be committed by the next BEGIN.
            (Answer::Error(code, _), _) if super::is_certain_failure(code) => {
                self.stage = Stage::Rollback;
                return Action::Query("ROLLBACK".to_owned());
            }
            (other, stage) => {
                self.failure = Some(format!("unexpected answer {other:?} in {stage:?}"));
                return Action::Finish;
            }
        }
        self.begin(now, prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
