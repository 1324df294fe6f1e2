//! WITH ROLLUP: groups in their order, and behind all that begin alike one row for them together.
//!
//! ```text
//! groups ─ values, encoded states ─► sorter ─► each group; behind the last one with the same first values, their total
//! ```
//! There is a state for each number of first values. A group is merged into all of them. When a value changes, the rows
//! of those states are complete that it is a part of.
//!
//! Invariant: there is always a last row, for all groups; without any, it is that of no rows.

use crate::cx::{Cx, warnings_of};
use crate::outcome::Failure;
use crate::row::{Row, borrowed};
use crate::select::{Operator, give};
use crate::site::Site;
use crate::sort::Sorter;
use crate::table_reader::{Pump, malformed};
use expression::aggregate::{AggregateCall, AggregateState};
use expression::{Context, compare_values};
use planner::plan::{Equals, Grouping, SortColumn};
use query::RowSink;
use std::collections::VecDeque;
use types::{SqlType, Value, ValueRef};

/// Rows that are made before they are given on.
const READY_ROWS: usize = 64;

/// A ROLLUP that runs.
pub struct RollupRun {
    /// The groups in order.
    input: Box<Operator>,
    totals: Totals,
    has_ended: bool,
}

/// The groups so far, by each number of their first values.
struct Totals {
    calls: Vec<AggregateCall>,
    /// The types of the values that the statement groups by.
    types: Vec<SqlType>,
    /// How many values a group has: behind those are the ones that they determine.
    value_count: usize,
    /// The values of the last group.
    last: Option<Row>,
    /// The states of groups that are equal in so many first values.
    levels: Vec<Vec<AggregateState>>,
    ready: VecDeque<Row>,
}

impl RollupRun {
    /// `groups` gives the values of groups and their encoded states.
    pub(crate) fn new(grouping: &Grouping, groups: Operator, site: &Site) -> Self {
        let width = grouping.rolled_up.unwrap_or(0);
        let types: Vec<SqlType> =
            grouping.group_by.iter().take(width).map(|group| group.sql_type.clone()).collect();
        let column = |(position, sql_type): (usize, &SqlType)| SortColumn {
            position,
            sql_type: sql_type.clone(),
            descending: false,
        };
        let sorter =
            Sorter::new(types.iter().enumerate().map(column).collect(), Equals::Kept, None).spilling(site);
        let input = Operator::Sort { input: Box::new(groups), sorter };
        let calls = grouping.calls.clone();
        let initial = || calls.iter().map(AggregateCall::initial_state).collect();
        let totals = Totals {
            levels: (0..width).map(|_| initial()).collect(),
            calls,
            types,
            value_count: grouping.group_by.len(),
            last: None,
            ready: VecDeque::new(),
        };
        Self { input: Box::new(input), totals, has_ended: false }
    }

    /// As [`Operator::pump`].
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            while let Some(row) = self.totals.ready.front() {
                if sink.is_full() {
                    return Ok(Pump::Rows);
                }
                give(row, sink);
                self.totals.ready.pop_front();
                if !cx.env.budget.spend(1) {
                    return Ok(Pump::Spent);
                }
            }
            if self.has_ended {
                return Ok(Pump::End);
            }
            let context = cx.statement.context();
            let mut groups = GroupSink { totals: &mut self.totals, context: &context, failure: None };
            let pump = self.input.pump(cx, &mut groups);
            let failure = groups.failure;
            let mut pump = failure.map_or(pump, Err);
            if matches!(pump, Ok(Pump::End)) {
                self.has_ended = true;
                if let Err(failure) = self.totals.complete(0, &context) {
                    pump = Err(failure);
                }
            }
            cx.env.budget.spend(context.warnings.take_text_work());
            cx.keep_warnings(warnings_of(&context));
            match pump? {
                Pump::Rows | Pump::End => {}
                pump @ (Pump::Wait | Pump::Spent) => return Ok(pump),
            }
        }
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.input.close(cx);
    }
}

impl Totals {
    /// Makes the rows for all groups that are equal in at least so many values, the most special first.
    fn complete(&mut self, level_min: usize, context: &Context<'_>) -> Result<(), Failure> {
        for level in (level_min..self.levels.len()).rev() {
            let initial = self.calls.iter().map(AggregateCall::initial_state).collect();
            let states = std::mem::replace(&mut self.levels[level], initial);
            // Without groups there is the total only.
            if self.last.is_some() || level == 0 {
                let values = self.last.clone().unwrap_or_default();
                self.push(values, level, &states, context)?;
            }
        }
        Ok(())
    }

    /// Makes a row of which the first `level` values of GROUP BY are known.
    fn push(
        &mut self,
        mut row: Row,
        level: usize,
        states: &[AggregateState],
        context: &Context<'_>,
    ) -> Result<(), Failure> {
        if level < self.types.len() {
            row.truncate(level);
            row.resize(self.value_count, Value::Null);
        }
        for (state, call) in states.iter().zip(&self.calls) {
            row.push(state.finish(call, context)?);
        }
        row.push(Value::Int(i64::try_from(level).unwrap_or(i64::MAX)));
        self.ready.push_back(row);
        Ok(())
    }

    /// Takes the next group.
    fn take(&mut self, row: &[ValueRef<'_>], context: &Context<'_>) -> Result<(), Failure> {
        let (values, partials) = row.split_at(self.value_count.min(row.len()));
        if let Some(last) = &self.last {
            let pairs = borrowed(last).zip(values).zip(&self.types);
            let equal =
                pairs.take_while(|((left, right), sql_type)| compare_values(left, right, sql_type).is_eq());
            let equal = equal.count();
            self.complete(equal + 1, context)?;
        }
        let mut states = Vec::with_capacity(partials.len());
        for partial in partials {
            let ValueRef::Bytes(bytes) = partial else { return Err(malformed()) };
            let state: AggregateState = stdx::wire::from_bytes(bytes).map_err(|_| malformed())?;
            states.push(state);
        }
        for level in &mut self.levels {
            for ((total, state), call) in level.iter_mut().zip(&states).zip(&self.calls) {
                total.merge(call, state.clone())?;
            }
        }
        let values: Row = values.iter().map(|value| value.to_value()).collect();
        self.last = Some(values.clone());
        self.push(values, self.types.len(), &states, context)
    }
}

/// Takes groups until one of them can't be.
struct GroupSink<'a> {
    totals: &'a mut Totals,
    context: &'a Context<'a>,
    failure: Option<Failure>,
}

impl RowSink for GroupSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.failure.is_none() {
            self.failure = self.totals.take(values, self.context).err();
        }
    }

    fn is_full(&self) -> bool {
        self.failure.is_some() || self.totals.ready.len() >= READY_ROWS
    }
}
