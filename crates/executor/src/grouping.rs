//! GROUP BY and aggregates in the session: partial aggregates of slots are merged, rows that are made here are
//! aggregated.
//!
//! Slots tell groups apart by their exact values; here groups are equal if their values are, under their collations, so
//! `'a'` and `'A'` become one. Groups come out in the order in which they were first seen.
//!
//! Invariant: without GROUP BY there is exactly one group, also over no rows.

use crate::cx::Cx;
use crate::distinct::{equal_rows, hash_row, pass_texts};
use crate::outcome::Failure;
use crate::row::borrowed;
use crate::row::{Row, UNCHARGED_MAX, row_size};
use crate::table_reader::malformed;
use expression::aggregate::{AggregateCall, AggregateState};
use expression::context::TextWork;
use expression::{Context, Expression};
use planner::plan::Grouping;
use query::RowSink;
use stdx::FixedMap;
use types::{SqlType, Value, ValueRef};

/// A group's values and what its aggregates have seen.
type Group = (Vec<Value>, Vec<AggregateState>);

/// Groups so far.
pub struct Groups {
    types: Vec<SqlType>,
    calls: Vec<AggregateCall>,
    groups: Vec<Group>,
    by_hash: FixedMap<u64, Vec<u32>>,
    /// Bytes that came since memory was charged last.
    uncharged: usize,
    text_work: TextWork,
}

impl Groups {
    pub fn new(grouping: &Grouping) -> Self {
        Self {
            types: grouping.group_by.iter().map(|expression| expression.sql_type.clone()).collect(),
            calls: grouping.calls.clone(),
            groups: Vec::new(),
            by_hash: FixedMap::default(),
            uncharged: 0,
            text_work: TextWork::default(),
        }
    }

    /// The position of the group with these values.
    fn group(&mut self, values: &[ValueRef<'_>]) -> usize {
        pass_texts(values, &self.text_work);
        let same_hash = self.by_hash.entry(hash_row(values, &self.types)).or_default();
        let (groups, types) = (&self.groups, &self.types);
        let is_same = |group: &&u32| {
            let group = groups.get(**group as usize);
            group.is_some_and(|(other, _)| equal_rows(borrowed(other), values, types))
        };
        if let Some(known) = same_hash.iter().find(is_same) {
            return *known as usize;
        }
        let position = self.groups.len();
        same_hash.push(u32::try_from(position).unwrap_or(u32::MAX));
        let values: Vec<Value> = values.iter().map(|value| value.to_value()).collect();
        self.uncharged += row_size(&values) + self.calls.len() * size_of::<AggregateState>() + 64;
        let states = self.calls.iter().map(AggregateCall::initial_state).collect();
        self.groups.push((values, states));
        position
    }

    /// Pays for what came.
    pub fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        cx.env.budget.spend(self.text_work.take_rows());
        Ok(cx.client.memory.charge(std::mem::take(&mut self.uncharged))?)
    }

    /// Takes a partial aggregate: a group's values, then one encoded state per call.
    fn merge_row(&mut self, row: &[ValueRef<'_>]) -> Result<(), Failure> {
        let (values, partials) = row.split_at(self.types.len().min(row.len()));
        let position = self.group(values);
        let states = &mut self.groups[position].1;
        for ((state, call), partial) in states.iter_mut().zip(&self.calls).zip(partials) {
            let ValueRef::Bytes(bytes) = partial else { return Err(malformed()) };
            let partial: AggregateState = stdx::wire::from_bytes(bytes).map_err(|_| malformed())?;
            let before = state.memory_size();
            state.merge(call, partial)?;
            self.uncharged += state.memory_size().saturating_sub(before);
        }
        Ok(())
    }

    /// Takes a row of the source space.
    fn add_row(
        &mut self,
        row: &[ValueRef<'_>],
        group_by: &[Expression],
        context: &Context<'_>,
    ) -> Result<(), Failure> {
        let values = group_by.iter().map(|expression| expression.evaluate(&row, context));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        let values: Vec<ValueRef<'_>> = borrowed(&values).collect();
        let position = self.group(&values);
        for (state, call) in self.groups[position].1.iter_mut().zip(&self.calls) {
            let before = state.memory_size();
            state.update(call, &row, context)?;
            self.uncharged += state.memory_size().saturating_sub(before);
        }
        Ok(())
    }

    /// All rows have come.
    pub fn finish(mut self, rows: GroupRows) -> FinishedGroups {
        if self.types.is_empty() && self.groups.is_empty() && rows == GroupRows::Results {
            self.group(&[]);
        }
        FinishedGroups { groups: self.groups.into_iter(), calls: self.calls, rows }
    }
}

/// The rows that groups become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupRows {
    /// A group's values, then the results of the calls.
    Results,
    /// A group's values, then the encoded states of the calls.
    Partials,
}

/// Groups that nothing comes into any more: each becomes a row when it is asked for, because there may be millions.
pub struct FinishedGroups {
    groups: std::vec::IntoIter<Group>,
    calls: Vec<AggregateCall>,
    rows: GroupRows,
}

impl FinishedGroups {
    /// No groups.
    pub fn none() -> Self {
        Self { groups: Vec::new().into_iter(), calls: Vec::new(), rows: GroupRows::Results }
    }

    /// The next row.
    pub fn next_row(&mut self, context: &Context<'_>) -> Result<Option<Row>, Failure> {
        let Some((mut row, states)) = self.groups.next() else { return Ok(None) };
        for (state, call) in states.iter().zip(&self.calls) {
            row.push(match self.rows {
                GroupRows::Results => state.finish(call, context)?,
                GroupRows::Partials => Value::Bytes(stdx::wire::to_bytes(state)),
            });
        }
        Ok(Some(row))
    }
}

/// The kind of rows that come into groups.
pub(crate) enum Incoming<'a> {
    /// Partial aggregates.
    Partial,
    /// Rows of the source space.
    Rows { group_by: &'a [Expression], context: &'a Context<'a> },
}

/// Takes rows into groups, until one of them can't be.
pub(crate) struct GroupSink<'a> {
    pub groups: &'a mut Groups,
    pub incoming: Incoming<'a>,
    pub failure: Option<Failure>,
}

impl RowSink for GroupSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.failure.is_some() {
            return;
        }
        let taken = match self.incoming {
            Incoming::Partial => self.groups.merge_row(values),
            Incoming::Rows { group_by, context } => self.groups.add_row(values, group_by, context),
        };
        self.failure = taken.err();
    }

    fn is_full(&self) -> bool {
        let is_much_text = match self.incoming {
            Incoming::Partial => false,
            Incoming::Rows { context, .. } => context.warnings.is_much_text(),
        };
        let is_much_text = is_much_text || self.groups.text_work.is_much();
        self.failure.is_some() || is_much_text || self.groups.uncharged > UNCHARGED_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupRows, Groups};
    use crate::row::borrowed;
    use expression::aggregate::{AggregateCall, AggregateState};
    use expression::{ColumnSlot, Context, Expression};
    use planner::plan::Grouping;
    use types::{Collation, SqlType, Value};

    fn results(groups: Groups) -> Vec<Vec<Value>> {
        let mut finished = groups.finish(GroupRows::Results);
        let mut next = || finished.next_row(&Context::default()).expect("counting does not fail");
        std::iter::from_fn(&mut next).collect()
    }

    fn partial(group: &str, count: u64) -> Vec<Value> {
        vec![Value::text(group), Value::Bytes(stdx::wire::to_bytes(&AggregateState::Count(count)))]
    }

    #[test]
    fn partials_of_equal_groups_are_merged() {
        let text = SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi };
        let grouping = Grouping {
            group_by: vec![Expression::column(ColumnSlot(0), text, false)],
            calls: vec![AggregateCall::count_rows()],
            rolled_up: None,
        };
        let mut groups = Groups::new(&grouping);
        for row in [partial("a", 2), partial("b", 1), partial("A", 3)] {
            groups.merge_row(&borrowed(&row).collect::<Vec<_>>()).expect("partials are well-formed");
        }
        let broken = [Value::text("a"), Value::Bytes(vec![99])];
        assert!(groups.merge_row(&borrowed(&broken).collect::<Vec<_>>()).is_err());
        let rows = results(groups);
        assert_eq!(rows, vec![vec![Value::text("a"), Value::Int(5)], vec![Value::text("b"), Value::Int(1)]]);
    }

    #[test]
    fn without_group_by_there_is_one_group_over_no_rows() {
        let grouping =
            Grouping { group_by: Vec::new(), calls: vec![AggregateCall::count_rows()], rolled_up: None };
        let rows = results(Groups::new(&grouping));
        assert_eq!(rows, vec![vec![Value::Int(0)]]);
    }
}
