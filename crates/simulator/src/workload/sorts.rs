//! Reads of a table that is larger than the memory of a statement: sorts, groups, different rows, joins.
//!
//! Checked while they work: a query gives exactly its rows, in order if it asks for one, or an error that names
//! scratch. Of these no statement has one while the disk is well: the driver of the run says when that is.

use crate::client::{Action, Answer, Script};
use std::fmt::Write;
use stdx::Prng;
use types::NodeId;

const ROW_COUNT: u64 = 900;
/// Different values of the sort column.
const KEY_COUNT: u64 = 401;
/// Rows of one INSERT.
const INSERTED: u64 = 150;

/// The sort column of a row. Two rows and more have each value.
fn key(id: u64) -> u64 {
    id * 7_919 % KEY_COUNT
}

/// The text of a row.
fn text(id: u64) -> String {
    let letter = char::from(b'a' + u8::try_from(id * 31 % 26).unwrap_or(0));
    letter.to_string().repeat(usize::try_from(60 + id * 13 % 240).unwrap_or(60))
}

/// A query that needs memory, and the rows that it gives.
#[derive(Clone, Copy, Debug)]
enum Query {
    ByKey,
    ByText,
    First,
    Distinct,
    Grouped,
    Different,
    Joined,
    Missing,
}

impl Query {
    const ALL: [Self; 8] = [
        Self::ByKey,
        Self::ByText,
        Self::First,
        Self::Distinct,
        Self::Grouped,
        Self::Different,
        Self::Joined,
        Self::Missing,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::ByKey => "SELECT id, v FROM sim.wide ORDER BY k, id DESC",
            Self::ByText => "SELECT id, v FROM sim.wide ORDER BY v DESC, id",
            Self::First => "SELECT id, v FROM sim.wide ORDER BY k DESC, id LIMIT 500 OFFSET 200",
            Self::Distinct => "SELECT DISTINCT k, REPEAT('x', 200 + k) FROM sim.wide ORDER BY k DESC, 2",
            Self::Grouped => "SELECT id DIV 2, MIN(v) FROM sim.wide GROUP BY id DIV 2",
            Self::Different => "SELECT DISTINCT MOD(id, 700), REPEAT('y', 100 + MOD(id, 700)) FROM sim.wide",
            Self::Joined => "SELECT a.id, b.v FROM sim.wide a JOIN sim.wide b ON a.k = b.k AND a.id > b.id",
            Self::Missing => {
                "SELECT a.id, a.v FROM sim.wide a LEFT JOIN sim.wide b ON a.k = b.k AND b.id > a.id AND b.v <> a.v \
                 WHERE b.id IS NULL"
            }
        }
    }

    /// It says the order of its rows.
    fn is_ordered(self) -> bool {
        matches!(self, Self::ByKey | Self::ByText | Self::First | Self::Distinct)
    }

    /// The first two values of its rows, in order.
    fn expected(self) -> Vec<(u64, String)> {
        let mut ids: Vec<u64> = (0..ROW_COUNT).collect();
        match self {
            Self::ByKey => ids.sort_by_key(|id| (key(*id), u64::MAX - id)),
            Self::ByText => ids.sort_by(|one, other| text(*other).cmp(&text(*one)).then(one.cmp(other))),
            Self::First => {
                ids.sort_by_key(|id| (u64::MAX - key(*id), *id));
                ids = ids[200..700].to_vec();
            }
            Self::Distinct => {
                let mut keys: Vec<u64> = ids.into_iter().map(key).collect();
                keys.sort_unstable_by(|one, other| other.cmp(one));
                keys.dedup();
                let text = |key: u64| "x".repeat(usize::try_from(200 + key).unwrap_or(0));
                return keys.into_iter().map(|key| (key, text(key))).collect();
            }
            Self::Grouped => {
                let pair = |half: u64| (half, text(2 * half).min(text(2 * half + 1)));
                return (0..ROW_COUNT / 2).map(pair).collect();
            }
            Self::Different => {
                let text = |number: u64| "y".repeat(usize::try_from(100 + number).unwrap_or(0));
                return (0..700).map(|number| (number, text(number))).collect();
            }
            Self::Joined => {
                // Keys are equal where the numbers are by the modulus.
                let others =
                    |id: u64| (1..=id / KEY_COUNT).map(move |step| (id, text(id - step * KEY_COUNT)));
                let mut pairs: Vec<(u64, String)> = ids.into_iter().flat_map(others).collect();
                pairs.sort_unstable();
                return pairs;
            }
            Self::Missing => ids.retain(|id| id + KEY_COUNT >= ROW_COUNT),
        }
        ids.into_iter().map(|id| (id, text(id))).collect()
    }
}

/// A client that asks for them.
pub struct Sorts {
    node: NodeId,
    left: u32,
    query: Option<Query>,
    /// Statements that were answered with rows.
    pub sorted: u32,
    /// Errors of scratch.
    pub refused: u32,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Sorts {
    /// A client that asks so many queries of a node.
    #[must_use]
    pub fn new(node: NodeId, count: u32) -> Self {
        Self { node, left: count, query: None, sorted: 0, refused: 0, failure: None }
    }

    /// The table and its rows.
    #[must_use]
    pub fn setup() -> Vec<String> {
        let mut statements = vec![
            "CREATE TABLE sim.wide (id INT PRIMARY KEY, k INT NOT NULL, v VARCHAR(300) NOT NULL)".to_owned(),
        ];
        for first in (0..ROW_COUNT).step_by(usize::try_from(INSERTED).unwrap_or(1)) {
            let mut insert = "INSERT INTO sim.wide VALUES ".to_owned();
            for id in first..first + INSERTED {
                let separator = if id == first { "" } else { ", " };
                let written = write!(insert, "{separator}({id}, {}, '{}')", key(id), text(id));
                stdx::require!(written.is_ok(), "writing to a string cannot fail");
            }
            statements.push(insert);
        }
        statements
    }

    fn go_on(&mut self, prng: &mut Prng) -> Action {
        if self.left == 0 || self.failure.is_some() {
            return Action::Finish;
        }
        self.left -= 1;
        let query = Query::ALL[prng.index(Query::ALL.len())];
        self.query = Some(query);
        Action::Query(query.text().to_owned())
    }

    fn on_rows(&mut self, mut rows: Vec<Vec<Option<String>>>) {
        let Some(query) = self.query.take() else { return };
        let expected = query.expected();
        if !query.is_ordered() {
            let number =
                |row: &Vec<Option<String>>| row[0].as_ref().and_then(|text| text.parse::<u64>().ok());
            rows.sort_by_cached_key(|row| (number(row), row.get(1).cloned()));
        }
        let is_equal = |(row, (number, text)): (&Vec<Option<String>>, &(u64, String))| {
            row[0].as_deref() == Some(number.to_string().as_str()) && row[1].as_ref() == Some(text)
        };
        let wrong = rows.iter().zip(&expected).position(|pair| !is_equal(pair));
        if rows.len() != expected.len() || wrong.is_some() {
            let row = wrong.and_then(|wrong| rows.get(wrong));
            self.failure = Some(format!("{query:?} gave {} rows, row {wrong:?} is {row:?}", rows.len()));
        }
        self.sorted += 1;
    }
}

impl Script for Sorts {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready => return Action::Connect(self.node),
            Answer::Connected | Answer::Done(_) => {}
            Answer::Lost => return Action::Wait(5_000_000),
            Answer::Rows(rows) => self.on_rows(rows),
            Answer::Error(3 | 1021 | 1024, _) => self.refused += 1,
            Answer::Error(code, _) if super::is_certain_failure(code) => {}
            Answer::Error(code, message) => {
                self.failure = Some(format!("{:?}: unexpected error {code} {message}", self.query));
            }
        }
        self.go_on(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
