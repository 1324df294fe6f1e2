//! Joins and changes of several tables at once.
//!
//! Each part belongs to a head, and a head's total is the sum of its parts. An UPDATE of two
//! or three tables changes both. Or a transaction takes a part away by a DELETE over a join, and puts it back by
//! INSERT … SELECT.
//!
//! Checked while they work:
//! - a query that meets each part once finds all of them, and no part without a head. It joins by keys or by hash, or
//!   asks by IN, EXISTS, UNION or WITH;
//! - a transaction that has all heads locked finds every total right.
//!
//! Invariants: a committed change of a part holds the lock of its head. Each query that counts parts reads them by
//! their primary key, because READ COMMITTED may show a part twice that moves along the index meanwhile.

use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

const HEAD_COUNT: u64 = 5;
const PART_COUNT: u64 = 24;

/// A head whose total is not the sum of its parts. There are none.
pub const WRONG_TOTALS: &str = "SELECT COUNT(*) FROM sim.heads h \
     LEFT JOIN (SELECT head, SUM(amount) AS amount FROM sim.parts GROUP BY head) p ON p.head = h.id \
     WHERE h.total <> COALESCE(p.amount, 0)";

/// Queries, and the count that each gives at any time.
const QUERIES: [(&str, u64); 7] = [
    (
        "SELECT COUNT(*) FROM sim.parts p FORCE INDEX (PRIMARY) STRAIGHT_JOIN sim.heads h ON h.id = p.head",
        PART_COUNT,
    ),
    (
        "SELECT COUNT(*) FROM sim.parts p FORCE INDEX (PRIMARY) LEFT JOIN sim.heads h ON h.id = p.head WHERE h.id IS NULL",
        0,
    ),
    (
        "SELECT COUNT(*) FROM sim.parts p FORCE INDEX (PRIMARY) STRAIGHT_JOIN sim.heads h ON h.id + 0 = p.head + 0",
        PART_COUNT,
    ),
    (
        "SELECT COUNT(*) FROM sim.parts p FORCE INDEX (PRIMARY) WHERE p.head IN (SELECT id FROM sim.heads)",
        PART_COUNT,
    ),
    (
        "SELECT COUNT(*) FROM sim.parts p FORCE INDEX (PRIMARY) WHERE NOT EXISTS (SELECT 1 FROM sim.heads h WHERE h.id = p.head)",
        0,
    ),
    (
        "SELECT COUNT(*) FROM (SELECT id FROM sim.parts FORCE INDEX (PRIMARY) \
         UNION SELECT id FROM sim.parts FORCE INDEX (PRIMARY)) u",
        PART_COUNT,
    ),
    (
        "WITH p AS (SELECT id, head FROM sim.parts FORCE INDEX (PRIMARY)) \
         SELECT COUNT(*) FROM p STRAIGHT_JOIN sim.heads h ON h.id = p.head STRAIGHT_JOIN p q ON q.id = p.id",
        PART_COUNT,
    ),
];

/// A statement of a client, and the count that it has to give.
type Step = (String, Option<u64>);

/// A client of heads and parts.
pub struct Joins {
    nodes: Vec<NodeId>,
    left: u32,
    /// Statements of what is under way that are not answered yet, last first.
    steps: Vec<Step>,
    is_running: bool,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Joins {
    /// A client that does so many things.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, count: u32) -> Self {
        Self { nodes, left: count, steps: Vec::new(), is_running: false, failure: None }
    }

    /// The tables and their rows.
    #[must_use]
    pub fn setup() -> Vec<String> {
        let heads: Vec<String> = (0..HEAD_COUNT).map(|id| format!("({id}, 0)")).collect();
        let parts: Vec<String> =
            (0..PART_COUNT).map(|id| format!("({id}, {}, 0)", id % HEAD_COUNT)).collect();
        vec![
            "CREATE TABLE sim.heads (id INT PRIMARY KEY, total BIGINT NOT NULL)".to_owned(),
            "CREATE TABLE sim.parts (id INT PRIMARY KEY, head INT NOT NULL, amount BIGINT NOT NULL, KEY (head))"
                .to_owned(),
            format!("INSERT INTO sim.heads VALUES {}", heads.join(", ")),
            format!("INSERT INTO sim.parts VALUES {}", parts.join(", ")),
        ]
    }

    fn begin(&mut self, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        self.is_running = true;
        self.steps = match prng.below(8) {
            0 | 1 => vec![(grow(prng), None)],
            2 | 3 => vec![(shift(prng), None)],
            4 => replace(prng),
            5 => audit(),
            _ => {
                let (query, count) = QUERIES[prng.index(QUERIES.len())];
                vec![(query.to_owned(), Some(count))]
            }
        };
        self.steps.reverse();
        self.go_on()
    }

    fn go_on(&self) -> Action {
        self.steps.last().map_or(Action::Wait(1), |(statement, _)| Action::Query(statement.clone()))
    }

    /// The statement under way was answered with these rows, or with none.
    fn on_answered(&mut self, rows: &[Vec<Option<String>>]) {
        let Some((statement, Some(expected))) = self.steps.pop() else { return };
        let count = rows.first().and_then(|row| row.first()?.as_deref()?.parse::<u64>().ok());
        if count != Some(expected) {
            self.failure = Some(format!("{statement}: {rows:?}, not {expected}"));
        }
    }
}

/// A part and its head grow.
fn grow(prng: &mut Prng) -> String {
    let (part, by) = (prng.below(PART_COUNT), 1 + prng.below(9));
    format!(
        "UPDATE sim.heads h JOIN sim.parts p ON p.head = h.id \
         SET h.total = h.total + {by}, p.amount = p.amount + {by} WHERE p.id = {part}"
    )
}

/// A part goes to another head.
fn shift(prng: &mut Prng) -> String {
    let (part, head) = (prng.below(PART_COUNT), prng.below(HEAD_COUNT));
    format!(
        "UPDATE sim.parts p JOIN sim.heads a ON a.id = p.head JOIN sim.heads b ON b.id = {head} \
         SET a.total = a.total - p.amount, b.total = b.total + p.amount, p.head = b.id \
         WHERE p.id = {part} AND p.head <> {head}"
    )
}

/// A part loses its amount, goes, and comes back at another head.
fn replace(prng: &mut Prng) -> Vec<Step> {
    let (part, head) = (prng.below(PART_COUNT), prng.below(HEAD_COUNT));
    let statements = [
        "BEGIN".to_owned(),
        format!(
            "UPDATE sim.heads h JOIN sim.parts p ON p.head = h.id SET h.total = h.total - p.amount, p.amount = 0 \
             WHERE p.id = {part}"
        ),
        format!(
            "DELETE p FROM sim.parts p JOIN sim.heads h ON h.id = p.head WHERE p.id = {part} AND p.amount = 0"
        ),
        format!(
            "INSERT INTO sim.parts SELECT {part}, h.id, 0 FROM sim.heads h WHERE h.id = {head} \
             AND NOT EXISTS (SELECT 1 FROM sim.parts WHERE id = {part})"
        ),
        if prng.chance(1, 6) { "ROLLBACK" } else { "COMMIT" }.to_owned(),
    ];
    statements.into_iter().map(|statement| (statement, None)).collect()
}

/// Nobody changes anything while all heads are locked.
fn audit() -> Vec<Step> {
    vec![
        ("BEGIN".to_owned(), None),
        ("SELECT id FROM sim.heads ORDER BY id FOR UPDATE".to_owned(), None),
        (WRONG_TOTALS.to_owned(), Some(0)),
        ("COMMIT".to_owned(), None),
    ]
}

impl Script for Joins {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready if !self.is_running => {
                return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
            }
            Answer::Ready | Answer::Connected => {}
            Answer::Lost | Answer::Error(1180, _) => {
                self.is_running = false;
                self.steps.clear();
                return Action::Wait(5_000_000);
            }
            Answer::Done(_) => self.on_answered(&[]),
            Answer::Rows(rows) => self.on_answered(&rows),
            Answer::Error(code, message) => {
                if !super::is_certain_failure(code) {
                    self.failure =
                        Some(format!("{:?}: unexpected error {code} {message}", self.steps.last()));
                    return Action::Finish;
                }
                self.steps = vec![("ROLLBACK".to_owned(), None)];
            }
        }
        if self.failure.is_some() {
            return Action::Finish;
        }
        if self.steps.is_empty() { self.begin(prng) } else { self.go_on() }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
