//! Answers of a right side that runs for each left row: by the values of the left row that it reads.
//!
//! A correlated subquery that is no join is asked again with values that it has had. Its answer, few rows, is kept with
//! them. Values are told apart by what they look like, not by what they are equal to: of texts that differ in case, of
//! 1.0 and 1.00, a subquery may make different things.
//!
//! Invariants: it holds no more than [`SIZE_MAX`] and a piece; all of it is paid for by its join.
//!
//! Deliberately not here: which right sides may be remembered. The planner refuses volatile ones.

#[cfg(test)]
mod tests;

use super::RightRows;
use crate::outcome::Failure;
use crate::row_buffer::{RowAt, RowBuffer};
use expression::{Context, hash_value};
use planner::plan::HashKey;
use stdx::{HashIndex, Pages};
use types::{SqlType, Value, ValueRef};

/// The memory of all answers of one right side.
const SIZE_MAX: usize = 4 << 20;
/// Rows of an answer.
const ROWS_MAX: usize = 64;

/// The answers so far.
#[derive(Default)]
pub(super) struct Memo {
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
struct Answer {
    /// Its first row, if there are any.
    first: RowAt,
    count: usize,
    /// A row was left out for a NULL among its keys.
    has_null: bool,
}

impl Memo {
    /// The memory it holds.
    pub(super) fn size(&self) -> usize {
        self.values.size() + self.places.size() + self.entries.size() + self.answers.size() + self.rows.size()
    }

    /// Puts the rows of an earlier answer to these values into `right`; false if there is none.
    pub(super) fn answer(
        &self,
        values: &[Value],
        right: &mut RightRows,
        keys: &[HashKey],
        context: &Context<'_>,
    ) -> Result<bool, Failure> {
        let Some(answer) = self.find(values) else { return Ok(false) };
        right.clear();
        right.has_null = answer.has_null;
        let mut at = Some(answer.first);
        for _ in 0..answer.count {
            let Some(row) = at else { break };
            let row_values: Vec<ValueRef<'_>> = self.rows.values(row).collect();
            right.push_by_keys(&row_values, keys, context)?;
            at = self.rows.behind(row);
        }
        Ok(true)
    }

    fn find(&self, values: &[Value]) -> Option<Answer> {
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
    pub(super) fn keep(&mut self, values: &[Value], right: &RightRows) {
        if right.rows.len() > ROWS_MAX || self.size() >= SIZE_MAX {
            return;
        }
        let mut answer =
            Answer { first: RowAt::default(), count: right.rows.len(), has_null: right.has_null };
        let mut at = right.rows.next(None);
        let mut is_first = true;
        while let Some(row) = at {
            let kept = self.rows.push(right.rows.values(row));
            if is_first {
                answer.first = kept;
                is_first = false;
            }
            at = right.rows.behind(row);
        }
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
pub(super) fn is_identical(one: ValueRef<'_>, other: ValueRef<'_>) -> bool {
    match (one, other) {
        (ValueRef::Double(one), ValueRef::Double(other)) => one.to_bits() == other.to_bits(),
        (ValueRef::Decimal(one), ValueRef::Decimal(other)) => {
            one == other && one.to_decimal().scale() == other.to_decimal().scale()
        }
        (one, other) => one == other,
    }
}
