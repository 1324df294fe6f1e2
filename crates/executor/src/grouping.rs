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
use crate::row::UNCHARGED_MAX;
use crate::row_buffer::{RowAt, RowBuffer};
use crate::table_reader::malformed;
use expression::aggregate::{AggregateCall, AggregateState};
use expression::context::{TEXT_WORK_PER_ROW, TextWork};
use expression::{Context, Expression};
use planner::plan::Grouping;
use protocol::Budget;
use query::{GroupTable, RowSink, give_row, with_evaluated};
use stdx::{HashIndex, Pages};
use types::{SqlType, Value, ValueRef};

/// Rows of GROUP_CONCAT that are put in order for what one row costs.
const SETTLED_AT_ONCE: usize = 4;

/// States of a page, unless a group has more.
const PAGE_STATES: usize = 4_096;

/// Groups so far, by position.
pub struct Groups {
    types: Vec<SqlType>,
    calls: Vec<AggregateCall>,
    /// One of the calls does.
    keeps_rows: bool,
    count: usize,
    /// With GROUP BY: the values of each group, and where they are.
    values: RowBuffer,
    places: Pages<RowAt>,
    positions: HashIndex,
    states: States,
    /// Bytes that states hold beyond their own size.
    heap: usize,
    /// Bytes of all of this. Counted when a group begins or a state grows, because each row asks for it.
    size: usize,
    charged: usize,
    text_work: TextWork,
}

/// The states of groups, those of a group side by side, in pages of bounded size.
#[derive(Debug)]
struct States {
    /// States of a group, and the groups of a page as a power of two.
    width: usize,
    page_bits: u32,
    pages: Vec<Vec<AggregateState>>,
    count: usize,
}

impl States {
    /// States of groups with so many calls.
    fn new(width: usize) -> Self {
        Self { width, page_bits: (PAGE_STATES / width.max(1)).max(1).ilog2(), pages: Vec::new(), count: 0 }
    }

    /// The memory that they take, but for what they hold beyond their own size.
    fn size(&self) -> usize {
        let last = self.pages.last().map_or(0, Vec::capacity);
        let full = self.pages.len().saturating_sub(1) * (self.width << self.page_bits);
        (full + last) * size_of::<AggregateState>()
    }

    /// Begins the states of the next group; gives the bytes that they hold.
    fn push(&mut self, calls: &[AggregateCall]) -> usize {
        let page = self.count >> self.page_bits;
        if page == self.pages.len() {
            // Few groups have a short first page.
            let capacity = if page == 0 { 0 } else { self.width << self.page_bits };
            self.pages.push(Vec::with_capacity(capacity));
        }
        self.count += 1;
        let (page, mut heap) = (&mut self.pages[page], 0);
        for call in calls {
            let state = call.initial_state();
            heap += state.memory_size();
            page.push(state);
        }
        heap
    }

    /// Where the states of a group are.
    fn place(&self, group: usize) -> (usize, std::ops::Range<usize>) {
        let first = (group & ((1 << self.page_bits) - 1)) * self.width;
        (group >> self.page_bits, first..first + self.width)
    }

    fn get(&self, group: usize) -> &[AggregateState] {
        let (page, places) = self.place(group);
        &self.pages[page][places]
    }

    fn get_mut(&mut self, group: usize) -> &mut [AggregateState] {
        let (page, places) = self.place(group);
        &mut self.pages[page][places]
    }
}

impl Groups {
    pub fn new(grouping: &Grouping) -> Self {
        Self {
            types: grouping.group_by.iter().map(|expression| expression.sql_type.clone()).collect(),
            calls: grouping.calls.clone(),
            keeps_rows: grouping.calls.iter().any(AggregateCall::keeps_rows),
            count: 0,
            values: RowBuffer::default(),
            places: Pages::default(),
            positions: HashIndex::default(),
            states: States::new(grouping.calls.len()),
            heap: 0,
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
        if let Some((hash, values)) = values {
            self.positions.push(hash);
            self.places.push(self.values.push(values.iter().copied()));
        }
        self.heap += self.states.push(&self.calls);
        self.count += 1;
        self.size = self.groups_size() + self.heap;
    }

    /// States have grown by so many bytes.
    fn grow(&mut self, bytes: usize) {
        self.heap += bytes;
        self.size += bytes;
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

    /// Takes a partial aggregate as a message has it: a group's values, then one encoded state per call.
    fn merge_row(&mut self, row: &[ValueRef<'_>]) -> Result<(), Failure> {
        let (values, partials) = row.split_at(self.types.len().min(row.len()));
        let decode = |partial: &ValueRef<'_>| {
            let ValueRef::Bytes(bytes) = partial else { return Err(malformed()) };
            stdx::wire::from_bytes(bytes).map_err(|_| malformed())
        };
        self.merge_states(values, partials.iter().map(decode))
    }

    /// Takes a partial aggregate.
    fn merge_states(
        &mut self,
        values: &[ValueRef<'_>],
        partials: impl Iterator<Item = Result<AggregateState, Failure>>,
    ) -> Result<(), Failure> {
        let position = self.group(values);
        let mut grown = 0;
        let states = self.states.get_mut(position);
        for ((call, state), partial) in self.calls.iter().zip(states).zip(partials) {
            let partial = partial?;
            // A state of many rows is work for as many.
            if let Ok(rows) = usize::try_from(TEXT_WORK_PER_ROW) {
                self.text_work.add(rows.saturating_mul(partial.row_count(call).saturating_sub(1)));
            }
            let before = state.memory_size();
            state.merge(call, partial)?;
            grown += state.memory_size().saturating_sub(before);
        }
        self.grow(grown);
        Ok(())
    }

    /// Takes a row of the source space.
    fn add_row<'e>(
        &mut self,
        row: &'e &[ValueRef<'_>],
        group_by: &'e [Expression],
        context: &'e Context<'_>,
    ) -> Result<(), Failure> {
        let value = |expression: &'e Expression| Ok::<_, Failure>(expression.evaluate_ref(row, context)?);
        let values = group_by.iter().map(value);
        let position = with_evaluated(group_by.len(), values, |values| Ok(self.group(values)))?;
        let mut grown = 0;
        for (call, state) in self.calls.iter().zip(self.states.get_mut(position)) {
            let before = state.memory_size();
            state.update(call, row, context)?;
            grown += state.memory_size().saturating_sub(before);
        }
        self.grow(grown);
        Ok(())
    }

    /// All rows have come.
    pub fn finish(mut self, rows: GroupRows) -> FinishedGroups {
        if self.types.is_empty() && self.count == 0 && rows == GroupRows::Results {
            self.group(&[]);
        }
        FinishedGroups { groups: Some(self), next: 0, rows, results: Vec::new() }
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
    /// The results of the calls for the row that is given.
    results: Vec<Value>,
}

impl FinishedGroups {
    /// No groups.
    pub fn none() -> Self {
        Self { groups: None, next: 0, rows: GroupRows::Results, results: Vec::new() }
    }

    /// Prepares the next row, a portion at a time; true if that is done.
    pub fn settle(&mut self, budget: &mut Budget) -> Result<bool, Failure> {
        if self.rows == GroupRows::Partials {
            return Ok(true);
        }
        let has_work = |groups: &&mut Groups| groups.keeps_rows && self.next < groups.count;
        let Some(groups) = self.groups.as_mut().filter(has_work) else {
            return Ok(true);
        };
        for (call, state) in groups.calls.iter().zip(groups.states.get_mut(self.next)) {
            while !state.settle(call, SETTLED_AT_ONCE)? {
                if !budget.spend(1) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Gives the next row to a sink; false if there is none.
    pub fn give_next(&mut self, context: &Context<'_>, sink: &mut dyn RowSink) -> Result<bool, Failure> {
        let Some(groups) = self.groups.as_ref().filter(|groups| self.next < groups.count) else {
            return Ok(false);
        };
        self.results.clear();
        for (call, state) in groups.calls.iter().zip(groups.states.get(self.next)) {
            self.results.push(match self.rows {
                GroupRows::Results => state.finish(call, context)?,
                GroupRows::Partials => Value::Bytes(stdx::wire::to_bytes(state)),
            });
        }
        let width = groups.types.len();
        let value = |number: usize| match number.checked_sub(width) {
            None => groups.values.value(*groups.places.get(self.next), number),
            Some(number) => self.results[number].as_ref(),
        };
        let count = width + self.results.len();
        give_row(sink, (&[], &[]), count, (0..count).map(value));
        self.next += 1;
        Ok(true)
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
            Incoming::Rows { group_by, context } => self.groups.add_row(&values, group_by, context),
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

    fn groups(&mut self) -> Option<&mut dyn GroupTable> {
        match self.incoming {
            Incoming::Partial => Some(self),
            Incoming::Rows { .. } => None,
        }
    }
}

impl GroupTable for GroupSink<'_> {
    fn states(&mut self, values: &[ValueRef<'_>]) -> &mut [AggregateState] {
        let position = self.groups.group(values);
        self.groups.states.get_mut(position)
    }

    fn add_size(&mut self, bytes: usize) {
        self.groups.grow(bytes);
    }

    fn merge(&mut self, values: &[ValueRef<'_>], partials: &mut dyn Iterator<Item = AggregateState>) {
        if self.failure.is_none() {
            self.failure = self.groups.merge_states(values, partials.map(Ok)).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupRows, Groups};
    use crate::row::borrowed;
    use crate::table_reader::Collector;
    use expression::aggregate::{AggregateCall, AggregateState};
    use expression::{ColumnSlot, Context, Expression};
    use planner::plan::Grouping;
    use types::{Collation, IntegerWidth, SqlType, Value, ValueRef};

    fn results(groups: Groups) -> Vec<Vec<Value>> {
        let mut finished = groups.finish(GroupRows::Results);
        let mut rows = Collector::new(usize::MAX, false);
        while finished.give_next(&Context::default(), &mut rows).expect("counting does not fail") {}
        rows.rows.into_iter().map(|row| row.values).collect()
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
                groups
                    .add_row(&&row[..], &grouping.group_by, &Context::default())
                    .expect("integers are counted");
                let states = (0..groups.count).flat_map(|group| groups.states.get(group));
                let states = states.map(AggregateState::memory_size);
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
