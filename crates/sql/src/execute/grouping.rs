//! GROUP BY and aggregates in the session: partial aggregates of partitions are merged, rows that are made here are aggregated.
//!
//! Partitions tell groups apart by their exact values; here groups are equal if their values are, under their collations, so `'a'` and `'A'`
//! become one. Groups come out in the order in which they were first seen.
//!
//! Invariant: without GROUP BY there is exactly one group, also over no rows.

use super::distinct::{equal_rows, hash_row};
use super::table_reader::malformed;
use super::{Cx, Failure, Row, row_size};
use crate::plan::Grouping;
use expression::Context;
use expression::aggregate::{AggregateCall, AggregateState};
use stdx::FixedMap;
use types::{SqlType, Value};

/// A group's values and what its aggregates have seen.
type Group = (Vec<Value>, Vec<AggregateState>);

/// Groups so far.
pub(crate) struct Groups {
    types: Vec<SqlType>,
    calls: Vec<AggregateCall>,
    groups: Vec<Group>,
    by_hash: FixedMap<u64, Vec<u32>>,
}

impl Groups {
    pub(crate) fn new(grouping: &Grouping) -> Self {
        Self {
            types: grouping.group_by.iter().map(|expression| expression.sql_type.clone()).collect(),
            calls: grouping.calls.clone(),
            groups: Vec::new(),
            by_hash: FixedMap::default(),
        }
    }

    /// The position of the group with these values, and its size if it is new.
    fn group(&mut self, values: Vec<Value>) -> (usize, usize) {
        let same_hash = self.by_hash.entry(hash_row(&values, &self.types)).or_default();
        let (groups, types) = (&self.groups, &self.types);
        let is_same = |group: &&u32| {
            groups.get(**group as usize).is_some_and(|(other, _)| equal_rows(other, &values, types))
        };
        if let Some(known) = same_hash.iter().find(is_same) {
            return (*known as usize, 0);
        }
        let position = self.groups.len();
        same_hash.push(u32::try_from(position).unwrap_or(u32::MAX));
        let size = row_size(&values) + self.calls.len() * size_of::<AggregateState>() + 64;
        let states = self.calls.iter().map(AggregateCall::initial_state).collect();
        self.groups.push((values, states));
        (position, size)
    }

    /// Takes partial aggregates: a group's values, then one encoded state per call.
    pub(crate) fn merge(&mut self, rows: Vec<Row>, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        for row in rows {
            let size = self.merge_row(row)?;
            cx.core.memory.charge(size)?;
        }
        Ok(())
    }

    /// Takes one partial aggregate; what it costs.
    fn merge_row(&mut self, mut row: Row) -> Result<usize, Failure> {
        let partials = row.split_off(self.types.len().min(row.len()));
        let (position, mut size) = self.group(row);
        let states = &mut self.groups[position].1;
        for ((state, call), partial) in states.iter_mut().zip(&self.calls).zip(&partials) {
            let Value::Bytes(bytes) = partial else { return Err(malformed()) };
            let partial: AggregateState = stdx::wire::from_bytes(bytes).map_err(|_| malformed())?;
            let before = state.memory_size();
            state.merge(call, partial)?;
            size += state.memory_size().saturating_sub(before);
        }
        Ok(size)
    }

    /// Takes rows of the source space.
    pub(crate) fn add(
        &mut self,
        rows: &[Row],
        grouping: &Grouping,
        context: &Context<'_>,
        cx: &mut Cx<'_, '_>,
    ) -> Result<(), Failure> {
        for row in rows {
            let values = grouping.group_by.iter().map(|expression| expression.evaluate(row, context));
            let values: Vec<Value> = values.collect::<Result<_, _>>()?;
            let (position, size) = self.group(values);
            for (state, call) in self.groups[position].1.iter_mut().zip(&grouping.calls) {
                state.update(call, row, context)?;
            }
            cx.core.memory.charge(size)?;
        }
        Ok(())
    }

    /// One row per group: its values, then the results of the calls.
    pub(crate) fn finish(mut self, context: &Context<'_>) -> Result<Vec<Row>, Failure> {
        if self.types.is_empty() && self.groups.is_empty() {
            self.group(Vec::new());
        }
        let calls = &self.calls;
        self.groups
            .into_iter()
            .map(|(mut row, states)| {
                for (state, call) in states.iter().zip(calls) {
                    row.push(state.finish(call, context)?);
                }
                Ok(row)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;
    use crate::plan::Grouping;
    use expression::aggregate::{AggregateCall, AggregateState};
    use expression::{ColumnSlot, Context, Expression};
    use types::{Collation, SqlType, Value};

    fn partial(group: &str, count: u64) -> Vec<Value> {
        vec![Value::text(group), Value::Bytes(stdx::wire::to_bytes(&AggregateState::Count(count)))]
    }

    #[test]
    fn partials_of_equal_groups_are_merged() {
        let text = SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi };
        let grouping = Grouping {
            group_by: vec![Expression::column(ColumnSlot(0), text, false)],
            calls: vec![AggregateCall::count_rows()],
        };
        let mut groups = Groups::new(&grouping);
        for row in [partial("a", 2), partial("b", 1), partial("A", 3)] {
            groups.merge_row(row).expect("partials are well-formed");
        }
        assert!(groups.merge_row(vec![Value::text("a"), Value::Bytes(vec![99])]).is_err());
        let rows = groups.finish(&Context::default()).expect("counting does not fail");
        assert_eq!(rows, vec![vec![Value::text("a"), Value::Int(5)], vec![Value::text("b"), Value::Int(1)]]);
    }

    #[test]
    fn without_group_by_there_is_one_group_over_no_rows() {
        let grouping = Grouping { group_by: Vec::new(), calls: vec![AggregateCall::count_rows()] };
        let rows = Groups::new(&grouping).finish(&Context::default()).expect("counting does not fail");
        assert_eq!(rows, vec![vec![Value::Int(0)]]);
    }
}
