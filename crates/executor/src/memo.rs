//! Answers of a right side that runs for each left row: by the values of the left row that it reads.
//!
//! A correlated subquery that is no join is asked again with values that it has had. Its answer, few rows, is kept with
//! them. Values are told apart by their looks, not as they compare: 'a' and 'A' are two, and so are 1.0 and 1.00. A
//! subquery may make different things of them.
//!
//! Invariants: it holds no more than [`SIZE_MAX`] and a piece; all of it is paid for by its join.
//!
//! Deliberately not here: which right sides may be remembered. The planner refuses volatile ones.

#[cfg(test)]
mod tests;

use crate::row_buffer::{RowAt, RowBuffer};
use expression::hash_value;
use stdx::{HashIndex, Pages};
use types::{SqlType, Value, ValueRef};

/// The memory of all answers of one right side.
const SIZE_MAX: usize = 4 << 20;
/// Rows of an answer.
const ROWS_MAX: usize = 64;

/// The answers so far.
#[derive(Default)]
pub(crate) struct Memo {
    /// The values of left rows, by hash.
    values: RowBuffer,
    places: Pages<RowAt>,
    entries: HashIndex,
    answers: Pages<Answer>,
    /// Rows of all answers.
    rows: RowBuffer,
}

/// An answer.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    /// Its first row, if there are any.
    first: RowAt,
    count: usize,
    /// A row was left out for a NULL among its keys.
    pub(crate) has_null: bool,
}

impl Memo {
    /// The memory it holds.
    pub(crate) fn size(&self) -> usize {
        self.values.size() + self.places.size() + self.entries.size() + self.answers.size() + self.rows.size()
    }

    /// The rows of an answer.
    pub(crate) fn rows(&self, answer: Answer) -> impl Iterator<Item = Vec<ValueRef<'_>>> {
        let rows = std::iter::successors(Some(answer.first), |row| self.rows.behind(*row));
        rows.take(answer.count).map(|row| self.rows.values(row).collect())
    }

    /// The earlier answer to these values.
    pub(crate) fn find(&self, values: &[Value]) -> Option<Answer> {
        let mut entry = self.entries.first(hash_of(values));
        while let Some(number) = entry {
            let known = self.values.values(*self.places.get(number as usize));
            if known.zip(values).all(|(known, value)| is_identical(known, value.as_ref())) {
                return Some(*self.answers.get(number as usize));
            }
            entry = self.entries.next(number);
        }
        None
    }

    /// Keeps the answer to values that have none, if there is room.
    pub(crate) fn keep(&mut self, values: &[Value], rows: &RowBuffer, has_null: bool) {
        if rows.len() > ROWS_MAX || self.size() >= SIZE_MAX {
            return;
        }
        let mut first = None;
        let mut at = rows.next(None);
        while let Some(row) = at {
            let kept = self.rows.push(rows.values(row));
            first = first.or(Some(kept));
            at = rows.behind(row);
        }
        let answer = Answer { first: first.unwrap_or_default(), count: rows.len(), has_null };
        self.entries.push(hash_of(values));
        self.places.push(self.values.push(values.iter().map(Value::as_ref)));
        self.answers.push(answer);
    }
}

fn hash_of(values: &[Value]) -> u64 {
    values.iter().fold(0_u64, |hash, value| {
        let own = hash_value(&value.as_ref(), &SqlType::Null);
        (hash.rotate_left(5) ^ own).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// Whether two values are the same in every respect.
pub(crate) fn is_identical(one: ValueRef<'_>, other: ValueRef<'_>) -> bool {
    match (one, other) {
        (ValueRef::Double(one), ValueRef::Double(other)) => one.to_bits() == other.to_bits(),
        (ValueRef::Decimal(one), ValueRef::Decimal(other)) => {
            one == other && one.to_decimal().scale() == other.to_decimal().scale()
        }
        (one, other) => one == other,
    }
}
