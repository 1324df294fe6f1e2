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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Query {
    ByKey,
    ByText,
    First,
    /// Rows that are longer than a slot.
    Long,
    Distinct,
    Grouped,
    Different,
    /// Any of the different rows.
    SomeDifferent,
    /// The order is that of an index.
    InOrder,
    Joined,
    /// Left rows that are longer than the memory of a statement.
    LongJoined,
    /// All rows have one key.
    Blocks,
    Missing,
    /// Of each key.
    Last,
    /// Whether a key is there, beside NULL on the left.
    Marked,
    /// The same beside NULL on both sides.
    MarkedUnknown,
    /// A sort for each row.
    Correlated,
}

/// The key of a row as a long text; NULL for one of them.
macro_rules! long_key {
    ($column:literal, $none:literal) => {
        concat!("IF(", $column, " = ", $none, ", NULL, CONCAT(", $column, ", REPEAT('p', 200)))")
    };
}

impl Query {
    const ALL: [Self; 17] = [
        Self::ByKey,
        Self::ByText,
        Self::First,
        Self::Long,
        Self::Distinct,
        Self::Grouped,
        Self::Different,
        Self::SomeDifferent,
        Self::InOrder,
        Self::Joined,
        Self::LongJoined,
        Self::Blocks,
        Self::Missing,
        Self::Last,
        Self::Marked,
        Self::MarkedUnknown,
        Self::Correlated,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::ByKey => "SELECT id, v FROM sim.wide ORDER BY k, id DESC",
            Self::ByText => "SELECT id, v FROM sim.wide ORDER BY v DESC, id",
            Self::First => "SELECT id, v FROM sim.wide ORDER BY k DESC, id LIMIT 500 OFFSET 200",
            Self::Long => "SELECT id, REPEAT(v, 40) FROM sim.wide WHERE MOD(id, 12) = 0 ORDER BY k, id DESC",
            Self::Distinct => "SELECT DISTINCT k, REPEAT('x', 200 + k) FROM sim.wide ORDER BY k DESC, 2",
            Self::Grouped => "SELECT id DIV 2, MIN(v) FROM sim.wide GROUP BY id DIV 2",
            Self::Different => "SELECT DISTINCT MOD(id, 700), REPEAT('y', 100 + MOD(id, 700)) FROM sim.wide",
            Self::SomeDifferent => {
                "SELECT DISTINCT MOD(id, 700), REPEAT('y', 100 + MOD(id, 700)) FROM sim.wide LIMIT 650"
            }
            Self::InOrder => "SELECT DISTINCT id, v FROM sim.wide ORDER BY id DESC LIMIT 300 OFFSET 550",
            Self::Joined => "SELECT a.id, b.v FROM sim.wide a JOIN sim.wide b ON a.k = b.k AND a.id > b.id",
            Self::LongJoined => {
                "SELECT a.id, a.w FROM (SELECT id, k, IF(id BETWEEN 300 AND 302, REPEAT(v, 400), v) AS w FROM sim.wide \
                 LIMIT 1000) a JOIN sim.wide b ON a.k = b.k AND a.id >= b.id AND LENGTH(b.v) > 9"
            }
            Self::Blocks => {
                "SELECT a.id, b.v FROM sim.wide a LEFT JOIN sim.wide b ON a.k DIV 1000 = b.k DIV 1000 AND b.id - a.id = 1 \
                 WHERE a.id < 100"
            }
            Self::Missing => {
                "SELECT a.id, a.v FROM sim.wide a LEFT JOIN sim.wide b ON a.k = b.k AND b.id > a.id AND b.v <> a.v \
                 WHERE b.id IS NULL"
            }
            Self::Last => {
                "SELECT id, v FROM sim.wide a WHERE NOT EXISTS \
                 (SELECT 1 FROM sim.wide b WHERE b.k = a.k AND b.id > a.id AND b.v <> a.v)"
            }
            Self::Marked => concat!(
                "SELECT id, COALESCE(",
                long_key!("k", 100),
                " IN (SELECT CONCAT(b.k, REPEAT('p', 200)) FROM sim.wide b WHERE b.k > 50), '?') FROM sim.wide"
            ),
            Self::MarkedUnknown => concat!(
                "SELECT id, COALESCE(",
                long_key!("k", 100),
                " IN (SELECT ",
                long_key!("b.k", 200),
                " FROM sim.wide b WHERE b.k > 50), '?') FROM sim.wide"
            ),
            Self::Correlated => {
                "SELECT id, (SELECT b.v FROM sim.wide b WHERE b.k <> a.k ORDER BY b.v DESC, b.id LIMIT 1 OFFSET 700) \
                 FROM sim.wide a WHERE a.id < 3"
            }
        }
    }

    /// It says the order of its rows.
    fn is_ordered(self) -> bool {
        matches!(self, Self::ByKey | Self::ByText | Self::First | Self::Long | Self::Distinct | Self::InOrder)
    }

    /// Some of its rows are enough.
    fn count_max(self) -> usize {
        if self == Self::SomeDifferent { 650 } else { usize::MAX }
    }

    /// It keeps rows in other ways, too: without QueryMemory it may fail.
    fn may_want_memory(self) -> bool {
        matches!(self, Self::InOrder | Self::Correlated)
    }

    /// The first two values of its rows, in order.
    fn expected(self) -> Vec<(u64, String)> {
        let mut ids: Vec<u64> = (0..ROW_COUNT).collect();
        match self {
            Self::ByKey => ids.sort_by_key(|id| (key(*id), u64::MAX - id)),
            Self::ByText => sort_by_text(&mut ids),
            Self::First => {
                ids.sort_by_key(|id| (u64::MAX - key(*id), *id));
                ids = ids[200..700].to_vec();
            }
            Self::Long => {
                ids.retain(|id| id % 12 == 0);
                ids.sort_by_key(|id| (key(*id), u64::MAX - id));
                return ids.into_iter().map(|id| (id, text(id).repeat(40))).collect();
            }
            Self::Distinct => {
                let mut keys: Vec<u64> = ids.into_iter().map(key).collect();
                keys.sort_unstable_by(|one, other| other.cmp(one));
                keys.dedup();
                return keys.into_iter().map(|key| (key, repeated("x", 200 + key))).collect();
            }
            Self::Grouped => {
                let pair = |half: u64| (half, text(2 * half).min(text(2 * half + 1)));
                return (0..ROW_COUNT / 2).map(pair).collect();
            }
            Self::Different | Self::SomeDifferent => {
                return (0..700).map(|number| (number, repeated("y", 100 + number))).collect();
            }
            Self::InOrder => {
                ids.reverse();
                ids = ids[550..850].to_vec();
            }
            // Keys are equal where the numbers are by the modulus.
            Self::Joined => return pairs(1, |_, other| text(other)),
            Self::LongJoined => {
                let long = |id: u64| text(id).repeat(if (300..303).contains(&id) { 400 } else { 1 });
                return pairs(0, |id, _| long(id));
            }
            Self::Blocks => return (0..100).map(|id| (id, text(id + 1))).collect(),
            Self::Missing | Self::Last => ids.retain(|id| id + KEY_COUNT >= ROW_COUNT),
            Self::Marked | Self::MarkedUnknown => {
                let is_unknown = self == Self::MarkedUnknown;
                let mark = |key: u64| match key {
                    100 => "?",
                    200 if is_unknown => "?",
                    51.. => "1",
                    _ if is_unknown => "?",
                    _ => "0",
                };
                return ids.into_iter().map(|id| (id, mark(key(id)).to_owned())).collect();
            }
            Self::Correlated => {
                sort_by_text(&mut ids);
                let other = |id: u64| ids.iter().filter(|other| key(**other) != key(id)).nth(700);
                return (0..3).filter_map(|id| Some((id, text(*other(id)?)))).collect();
            }
        }
        ids.into_iter().map(|id| (id, text(id))).collect()
    }
}

fn repeated(text: &str, count: u64) -> String {
    text.repeat(usize::try_from(count).unwrap_or(0))
}

fn sort_by_text(ids: &mut [u64]) {
    ids.sort_by(|one, other| text(*other).cmp(&text(*one)).then(one.cmp(other)));
}

/// The rows of a join with rows of the same key whose numbers are less, or with itself if `least` is 0.
fn pairs(least: u64, text: impl Fn(u64, u64) -> String) -> Vec<(u64, String)> {
    let others = |id: u64| (least..=id / KEY_COUNT).map(move |step| (id, id - step * KEY_COUNT));
    let pairs = (0..ROW_COUNT).flat_map(others);
    let mut rows: Vec<(u64, String)> = pairs.map(|(id, other)| (id, text(id, other))).collect();
    rows.sort_unstable();
    rows
}

/// A client that asks for them.
pub struct Sorts {
    node: NodeId,
    left: u32,
    query: Option<Query>,
    /// Statements that were answered with rows.
    pub answered: u32,
    /// Errors of scratch.
    pub refused: u32,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Sorts {
    /// A client that asks so many queries of a node.
    #[must_use]
    pub fn new(node: NodeId, count: u32) -> Self {
        Self { node, left: count, query: None, answered: 0, refused: 0, failure: None }
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
        let mut expected = query.expected();
        if !query.is_ordered() {
            let number =
                |row: &Vec<Option<String>>| row[0].as_ref().and_then(|text| text.parse::<u64>().ok());
            rows.sort_by_cached_key(|row| (number(row), row.get(1).cloned()));
        }
        let is_equal = |row: &Vec<Option<String>>, (number, text): &(u64, String)| {
            row[0].as_deref() == Some(number.to_string().as_str()) && row[1].as_ref() == Some(text)
        };
        let count = expected.len().min(query.count_max());
        if expected.len() > count {
            // Those that were given: a row that is foreign, or comes twice, is seen by the count.
            let mut given = rows.iter().peekable();
            expected.retain(|row| given.next_if(|given| is_equal(given, row)).is_some());
        }
        let wrong = rows.iter().zip(&expected).position(|(row, expected)| !is_equal(row, expected));
        if rows.len() != count || expected.len() != count || wrong.is_some() {
            let row = wrong.and_then(|wrong| rows.get(wrong));
            self.failure = Some(format!("{query:?} gave {} rows, row {wrong:?} is {row:?}", rows.len()));
        }
        self.answered += 1;
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
            Answer::Error(1041, _) if self.query.is_some_and(Query::may_want_memory) => {}
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
