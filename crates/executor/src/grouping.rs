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
use crate::row::{Row, UNCHARGED_MAX};
use crate::row_buffer::{RowAt, RowBuffer};
use crate::table_reader::malformed;
use expression::aggregate::{AggregateCall, AggregateState};
use expression::context::{TEXT_WORK_PER_ROW, TextWork};
use expression::{Context, Expression};
use planner::plan::Grouping;
use protocol::Budget;
use query::RowSink;
use stdx::{HashIndex, Pages};
use types::{SqlType, Value, ValueRef};

/// Rows of GROUP_CONCAT that are put in order for what one row costs.
const SETTLED_AT_ONCE: usize = 4;

/// Groups so far, by position.
pub struct Groups {
    types: Vec<SqlType>,
    calls: Vec<AggregateCall>,
    count: usize,
    /// With GROUP BY: the values of each group, and where they are.
    values: RowBuffer,
    places: Pages<RowAt>,
    positions: HashIndex,
    /// For each group the states of all calls.
    states: Pages<AggregateState>,
    /// Bytes of all of this. Counted when a group begins or a state grows, because each row asks for it.
    size: usize,
    charged: usize,
    text_work: TextWork,
}

impl Groups {
    pub fn new(grouping: &Grouping) -> Self {
        Self {
            types: grouping.group_by.iter().map(|expression| expression.sql_type.clone()).collect(),
            calls: grouping.calls.clone(),
            count: 0,
            values: RowBuffer::default(),
            places: Pages::default(),
            positions: HashIndex::default(),
            states: Pages::default(),
            size: 0,
            charged: 0,
            text_work: TextWork::default(),
        }
    }

    /// Bytes of the groups, but for what their states hold beyond their own size.
    fn groups_size(&self) -> usize {
        self.values.size() + self.places.size() + self.positions.size() + self.states.size()
    }

    /// The position of the group with these values.
    fn group(&mut self, values: &[ValueRef<'_>]) -> usize {
        if self.types.is_empty() {
            if self.count == 0 {
                self.begin(None);
            }
            return 0;
        }
        pass_texts(values, &self.text_work);
        let hash = hash_row(values, &self.types);
        let same_hash =
            std::iter::successors(self.positions.first(hash), |position| self.positions.next(*position));
        let is_same = |position: &usize| {
            equal_rows(self.values.values(*self.places.get(*position)), values, &self.types)
        };
        if let Some(known) = same_hash.map(|position| position as usize).find(is_same) {
            return known;
        }
        self.begin(Some((hash, values)));
        self.count - 1
    }

    /// Begins a group, with GROUP BY one of these values.
    fn begin(&mut self, values: Option<(u64, &[ValueRef<'_>])>) {
        let before = self.groups_size();
        if let Some((hash, values)) = values {
            self.positions.push(hash);
            self.places.push(self.values.push(values.iter().copied()));
        }
        for call in &self.calls {
            let state = call.initial_state();
            self.size += state.memory_size();
            self.states.push(state);
        }
        self.count += 1;
        self.size += self.groups_size() - before;
    }

    /// The values of a group.
    fn values_of(&self, position: usize) -> impl Iterator<Item = ValueRef<'_>> {
        let place = (!self.types.is_empty()).then(|| *self.places.get(position));
        place.into_iter().flat_map(|place| self.values.values(place))
    }

    /// Pays for what came.
    pub fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        cx.env.budget.spend(self.text_work.take_rows());
        cx.client.memory.charge(self.size.saturating_sub(self.charged))?;
        self.charged = self.size.max(self.charged);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.text_work.is_much() || self.size > self.charged + UNCHARGED_MAX
    }

    /// Takes a partial aggregate: a group's values, then one encoded state per call.
    fn merge_row(&mut self, row: &[ValueRef<'_>]) -> Result<(), Failure> {
        let (values, partials) = row.split_at(self.types.len().min(row.len()));
        let position = self.group(values);
        for (number, (call, partial)) in self.calls.iter().zip(partials).enumerate() {
            let ValueRef::Bytes(bytes) = partial else { return Err(malformed()) };
            let partial: AggregateState = stdx::wire::from_bytes(bytes).map_err(|_| malformed())?;
            // A state of many rows is work for as many.
            if let Ok(rows) = usize::try_from(TEXT_WORK_PER_ROW) {
                self.text_work.add(rows.saturating_mul(partial.row_count(call).saturating_sub(1)));
            }
            let state = self.states.get_mut(position * self.calls.len() + number);
            let before = state.memory_size();
            state.merge(call, partial)?;
            self.size += state.memory_size().saturating_sub(before);
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
        for (number, call) in self.calls.iter().enumerate() {
            let state = self.states.get_mut(position * self.calls.len() + number);
            let before = state.memory_size();
            state.update(call, &row, context)?;
            self.size += state.memory_size().saturating_sub(before);
        }
        Ok(())
    }

    /// All rows have come.
    pub fn finish(mut self, rows: GroupRows) -> FinishedGroups {
        if self.types.is_empty() && self.count == 0 && rows == GroupRows::Results {
            self.group(&[]);
        }
        FinishedGroups { groups: Some(self), next: 0, rows }
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
    groups: Option<Groups>,
    /// The position of the next row's group.
    next: usize,
    rows: GroupRows,
}

impl FinishedGroups {
    /// No groups.
    pub fn none() -> Self {
        Self { groups: None, next: 0, rows: GroupRows::Results }
    }

    /// Prepares the next row, a portion at a time; true if that is done.
    pub fn settle(&mut self, budget: &mut Budget) -> Result<bool, Failure> {
        if self.rows == GroupRows::Partials {
            return Ok(true);
        }
        let Some(groups) = self.groups.as_mut().filter(|groups| self.next < groups.count) else {
            return Ok(true);
        };
        for (number, call) in groups.calls.iter().enumerate() {
            let state = groups.states.get_mut(self.next * groups.calls.len() + number);
            while !state.settle(call, SETTLED_AT_ONCE)? {
                if !budget.spend(1) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The next row.
    pub fn next_row(&mut self, context: &Context<'_>) -> Result<Option<Row>, Failure> {
        let Some(groups) = self.groups.as_ref().filter(|groups| self.next < groups.count) else {
            return Ok(None);
        };
        let mut row: Row = groups.values_of(self.next).map(ValueRef::to_value).collect();
        for (number, call) in groups.calls.iter().enumerate() {
            let state = groups.states.get(self.next * groups.calls.len() + number);
            row.push(match self.rows {
                GroupRows::Results => state.finish(call, context)?,
                GroupRows::Partials => Value::Bytes(stdx::wire::to_bytes(state)),
            });
        }
        self.next += 1;
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
        self.failure.is_some() || is_much_text || self.groups.is_full()
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupRows, Groups};
    use crate::row::borrowed;
    use expression::aggregate::{AggregateCall, AggregateState};
    use expression::{ColumnSlot, Context, Expression};
    use planner::plan::Grouping;
    use types::{Collation, IntegerWidth, SqlType, Value, ValueRef};

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
    fn the_size_of_groups_is_known_as_they_grow() {
        let integer = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
        let column = |position| Expression::column(ColumnSlot(position), integer.clone(), false);
        let distinct =
            AggregateCall { distinct: true, arguments: vec![column(1)], ..AggregateCall::count_rows() };
        for group_by in [Vec::new(), vec![column(0)]] {
            let grouping = Grouping { group_by, calls: vec![distinct.clone()], rolled_up: None };
            let mut groups = Groups::new(&grouping);
            let mut sizes = Vec::new();
            for number in 0..5_000 {
                let row = [ValueRef::Int(number / 1_000), ValueRef::Int(number)];
                groups.add_row(&row, &grouping.group_by, &Context::default()).expect("integers are counted");
                let states = (0..groups.states.len()).map(|at| groups.states.get(at).memory_size());
                assert_eq!(groups.size, groups.groups_size() + states.sum::<usize>());
                sizes.push(groups.size);
            }
            assert!(groups.size > 5_000 * size_of::<Value>());
            assert!(sizes.is_sorted());
            assert_eq!(results(groups).len(), if grouping.group_by.is_empty() { 1 } else { 5 });
        }
    }

    #[test]
    fn without_group_by_there_is_one_group_over_no_rows() {
        let grouping =
            Grouping { group_by: Vec::new(), calls: vec![AggregateCall::count_rows()], rolled_up: None };
        let rows = results(Groups::new(&grouping));
        assert_eq!(rows, vec![vec![Value::Int(0)]]);
    }
}
