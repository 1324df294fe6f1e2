//! GROUP BY and aggregates in the session: partial aggregates of slots are merged, rows that are made here are
//! aggregated.
//!
//! Slots tell groups apart by their exact values; here groups are equal if their values are, under their collations, so
//! `'a'` and `'A'` become one. Groups come out in the order in which they were first seen.
//!
//! *Too many groups.* When they find no more memory, they go to scratch as partial aggregates (`hash_runs`), and new
//! ones begin. In the end the groups of a few hashes at a time are merged, and come out in the order of hashes. Rows
//! that came first are merged first. One group needs memory for all that its states keep.
//!
//! Invariants: without GROUP BY there is exactly one group, also over no rows. A group in scratch is one row or
//! several, each with a portion of its states: no step encodes or merges more.

use crate::cx::{Cx, warnings_of};
use crate::distinct::{equal_rows, hash_row, pass_texts};
use crate::hash_runs::{HashRuns, Put};
use crate::outcome::Failure;
use crate::row::{Row, borrowed};
use crate::row_buffer::{RowAt, RowBuffer};
use crate::row_memory::RowMemory;
use crate::scratch::RunWriter;
use crate::sort::Merged;
use crate::table_reader::{Pump, malformed};
use expression::aggregate::{AggregateCall, AggregateState};
use expression::context::{TEXT_WORK_PER_ROW, TextWork};
use expression::{Context, Expression};
use planner::plan::Grouping;
use protocol::Budget;
use query::{GroupTable, RowSink, give_row, with_evaluated};
use stdx::disposal::{free_later, free_some};
use stdx::{HashIndex, Pages};
use types::{SqlType, Value, ValueRef};

/// Rows of GROUP_CONCAT that are put in order for what one row costs.
const SETTLED_AT_ONCE: usize = 4;
/// Groups that are merged before the first of them is given, and their bytes.
const MERGED_GROUPS: usize = 256;
const MERGED_BYTES: usize = 64 * 1024;

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
    memory: RowMemory,
    text_work: TextWork,
    /// Groups that were written to scratch.
    runs: Option<Box<HashRuns>>,
    /// Of the group that is written, where the next portion of each state begins.
    portions: Vec<Option<usize>>,
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
            if page > 0 {
                free_some(1);
            }
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

    /// Forgets all states, and keeps the memory of one page.
    fn clear(&mut self) {
        free_later(self.pages.split_off(self.pages.len().min(1)));
        self.pages.iter_mut().for_each(Vec::clear);
        self.count = 0;
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

impl Drop for States {
    fn drop(&mut self) {
        free_later(std::mem::take(&mut self.pages));
    }
}

impl Groups {
    pub fn new(grouping: &Grouping) -> Self {
        let types = grouping.group_by.iter().map(|expression| expression.sql_type.clone()).collect();
        Self::of(types, grouping.calls.clone())
    }

    fn of(types: Vec<SqlType>, calls: Vec<AggregateCall>) -> Self {
        let width = calls.len();
        Self {
            keeps_rows: calls.iter().any(AggregateCall::keeps_rows),
            types,
            calls,
            count: 0,
            values: RowBuffer::default(),
            places: Pages::default(),
            positions: HashIndex::default(),
            states: States::new(width),
            heap: 0,
            size: 0,
            memory: RowMemory::default(),
            text_work: TextWork::default(),
            runs: None,
            portions: Vec::new(),
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

    /// Pays for what came, or writes the groups to scratch. If it has to go on with that: why it has stopped.
    pub fn pay(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        cx.env.budget.spend(self.text_work.take_rows());
        if self.runs.as_ref().is_some_and(|runs| runs.is_writing()) {
            return self.go_on_spilling(cx);
        }
        let may_spill = !self.types.is_empty();
        if self.memory.pay(self.size, may_spill, cx)? { self.spill(cx) } else { Ok(None) }
    }

    fn is_full(&self) -> bool {
        self.text_work.is_much() || self.memory.is_full(self.size)
    }

    // ---- scratch ----------------------------------------------------------------------------------------------------

    /// Writes all groups to scratch.
    #[cold]
    fn spill(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        if self.runs.is_none() {
            self.runs = HashRuns::new(cx).map(Box::new);
        }
        self.runs.iter_mut().for_each(|runs| runs.begin());
        self.go_on_spilling(cx)
    }

    fn go_on_spilling(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let Self { calls, values, places, positions, states, runs, portions, .. } = self;
        let Some(runs) = runs else { return Ok(None) };
        let put = |writer: &mut RunWriter, order: ValueRef<'_>, position: usize| {
            let encoded = next_portions(calls, states.get_mut(position), portions);
            let values = std::iter::once(order).chain(values.values(*places.get(position)));
            writer.put(values.chain(encoded.iter().map(|bytes| ValueRef::Bytes(bytes))));
            if portions.is_empty() { Put::Whole } else { Put::Part }
        };
        if let Some(pump) = runs.write(positions, cx, put)? {
            return Ok(Some(pump));
        }
        self.give_up_groups(cx);
        Ok(None)
    }

    fn give_up_groups(&mut self, cx: &mut Cx<'_>) {
        (self.values, self.places) = (RowBuffer::default(), Pages::default());
        (self.positions, self.states) = (HashIndex::default(), States::new(self.calls.len()));
        (self.count, self.heap, self.size) = (0, 0, 0);
        self.memory.give_back(cx);
    }

    /// Nobody wants the groups.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.give_up_groups(cx);
        if let Some(runs) = &mut self.runs {
            runs.close(cx);
        }
    }

    /// All rows have come, and some groups are in scratch: the groups that become of all, or why they are not there
    /// now.
    fn merge(&mut self, rows: GroupRows, cx: &mut Cx<'_>) -> Result<Result<MergedGroups, Pump>, Failure> {
        if self.count > 0
            && let Some(pump) = self.spill(cx)?
        {
            return Ok(Err(pump));
        }
        let Some(runs) = &mut self.runs else { return Ok(Err(Pump::End)) };
        let groups = Self::of(std::mem::take(&mut self.types), self.calls.clone());
        Ok(match runs.merge(cx)? {
            Ok(merged) => Ok(MergedGroups {
                merged,
                groups: groups.finish(rows),
                order: ValueRef::Null.to_value(),
                held: None,
                stage: MergeStage::Giving,
            }),
            Err(pump) => {
                self.types = groups.types;
                Err(pump)
            }
        })
    }

    /// Forgets all groups, and keeps the memory of a few.
    fn clear(&mut self) {
        self.values.clear();
        self.places.clear();
        self.positions.clear();
        self.states.clear();
        (self.count, self.heap) = (0, 0);
        self.size = self.groups_size();
    }

    // ---- rows -------------------------------------------------------------------------------------------------------

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
    fn finish(mut self, rows: GroupRows) -> FinishedGroups {
        if self.types.is_empty() && self.count == 0 && rows == GroupRows::Results {
            self.group(&[]);
        }
        FinishedGroups { groups: self, next: 0, rows, results: Vec::new() }
    }
}

/// The next portion of each of a group's states, encoded; `portions` is empty before the first and behind the last one.
fn next_portions(
    calls: &[AggregateCall],
    states: &mut [AggregateState],
    portions: &mut Vec<Option<usize>>,
) -> Vec<Vec<u8>> {
    if portions.is_empty() {
        portions.resize(calls.len(), Some(0));
    }
    let mut encoded = Vec::with_capacity(calls.len());
    for ((call, state), from) in calls.iter().zip(&*states).zip(portions.iter_mut()) {
        let portion = match from.take() {
            Some(start) => {
                let (portion, next) = state.portion(call, start);
                *from = next;
                portion
            }
            None => call.initial_state(),
        };
        encoded.push(stdx::wire::to_bytes(&portion));
    }
    if portions.iter().all(Option::is_none) {
        portions.clear();
        // Millions of states are not to be freed at once.
        for (call, state) in calls.iter().zip(states) {
            *state = call.initial_state();
        }
    }
    encoded
}

/// The rows that groups become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupRows {
    /// A group's values, then the results of the calls.
    Results,
    /// A group's values, then the encoded states of the calls.
    Partials,
}

/// Groups whose rows have all come.
pub enum AllGroups {
    /// They are in memory.
    Finished(Box<FinishedGroups>),
    /// Some are in scratch.
    Merged(Box<MergedGroups>),
}

impl AllGroups {
    /// Those of these groups, or why they are not there now.
    pub fn of(
        groups: &mut Option<Groups>,
        rows: GroupRows,
        cx: &mut Cx<'_>,
    ) -> Result<Result<Self, Pump>, Failure> {
        if let Some(running) = groups.as_mut().filter(|groups| groups.runs.is_some()) {
            return Ok(running.merge(rows, cx)?.map(|merged| Self::Merged(Box::new(merged))));
        }
        let finished = groups.take().map(|groups| Box::new(groups.finish(rows)));
        Ok(finished.map(Self::Finished).ok_or(Pump::End))
    }

    /// As [`Operator::pump`](crate::select::Operator::pump).
    pub fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let pump = match self {
            Self::Finished(groups) => groups.give(cx, sink)?,
            Self::Merged(groups) => groups.pump(cx, sink)?,
        };
        if pump == Pump::End {
            self.close(cx);
        }
        Ok(pump)
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        match self {
            Self::Finished(finished) => finished.groups.close(cx),
            Self::Merged(groups) => {
                groups.merged.close(cx);
                groups.groups.groups.close(cx);
            }
        }
    }
}

/// Groups that nothing comes into any more: each becomes a row when it is asked for, because there may be millions.
pub struct FinishedGroups {
    groups: Groups,
    /// The position of the next row's group.
    next: usize,
    rows: GroupRows,
    /// The results of the calls for the row that is given.
    results: Vec<Value>,
}

impl FinishedGroups {
    /// Gives their rows to a sink.
    fn give(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let context = cx.statement.context();
        let pump = self.give_in(&context, cx.env.budget, sink);
        cx.env.budget.spend(context.warnings.take_text_work());
        cx.keep_warnings(warnings_of(&context));
        pump
    }

    fn give_in(
        &mut self,
        context: &Context<'_>,
        budget: &mut Budget,
        sink: &mut dyn RowSink,
    ) -> Result<Pump, Failure> {
        while !sink.is_full() && !context.warnings.is_much_text() {
            if !self.settle(budget)? {
                return Ok(Pump::Spent);
            }
            if !self.give_next(context, sink)? {
                return Ok(Pump::End);
            }
            if !budget.spend(1) {
                return Ok(Pump::Spent);
            }
        }
        Ok(if sink.is_full() { Pump::Rows } else { Pump::Spent })
    }

    /// Prepares the next row, a portion at a time; true if that is done.
    fn settle(&mut self, budget: &mut Budget) -> Result<bool, Failure> {
        let groups = &mut self.groups;
        if self.rows == GroupRows::Partials || !groups.keeps_rows || self.next >= groups.count {
            return Ok(true);
        }
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
    fn give_next(&mut self, context: &Context<'_>, sink: &mut dyn RowSink) -> Result<bool, Failure> {
        let groups = &self.groups;
        if self.next >= groups.count {
            return Ok(false);
        }
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

/// Groups from scratch, those of a few hashes at a time.
pub struct MergedGroups {
    merged: Merged,
    /// Those of the hashes that are merged or given.
    groups: FinishedGroups,
    /// The place of the last row in the order.
    order: Value,
    /// A row of the next hash, which came when there were groups enough.
    held: Option<Row>,
    stage: MergeStage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MergeStage {
    Merging,
    /// The groups are complete.
    Giving,
    /// So are all there are.
    GivingLast,
}

impl MergedGroups {
    fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            if self.stage == MergeStage::Merging {
                if let Some(pump) = self.merge(cx)? {
                    return Ok(pump);
                }
                continue;
            }
            match self.groups.give(cx, sink)? {
                Pump::End => {}
                pump @ (Pump::Rows | Pump::Wait | Pump::Spent) => return Ok(pump),
            }
            if self.stage == MergeStage::GivingLast {
                return Ok(Pump::End);
            }
            self.groups.groups.clear();
            (self.groups.next, self.stage) = (0, MergeStage::Merging);
            if let Some(row) = self.held.take() {
                self.order = row[0].clone();
                self.groups.groups.merge_row(&borrowed(&row[1..]).collect::<Vec<_>>())?;
            }
        }
    }

    /// Merges rows until there are groups enough. If it has to go on with that: why it has stopped.
    fn merge(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let groups = &mut self.groups.groups;
        if groups.is_full() {
            cx.env.budget.spend(groups.text_work.take_rows());
            groups.memory.pay(groups.size, false, cx)?;
        }
        let mut sink = MergeSink { groups, order: &mut self.order, held: &mut self.held, failure: None };
        let pump = self.merged.give(cx, &mut sink);
        sink.failure.map_or(Ok(()), Err)?;
        self.stage = match pump? {
            Pump::End => MergeStage::GivingLast,
            Pump::Rows if self.held.is_some() => MergeStage::Giving,
            Pump::Rows if cx.env.budget.is_spent() => return Ok(Some(Pump::Spent)),
            Pump::Rows => MergeStage::Merging,
            pump @ (Pump::Wait | Pump::Spent) => return Ok(Some(pump)),
        };
        Ok(None)
    }
}

/// Takes rows of scratch into groups, until there are enough.
struct MergeSink<'a> {
    groups: &'a mut Groups,
    order: &'a mut Value,
    held: &'a mut Option<Row>,
    failure: Option<Failure>,
}

impl RowSink for MergeSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let Some((order, row)) = values.split_first() else { return };
        let order = order.to_value();
        if *self.order != order {
            if self.groups.count >= MERGED_GROUPS || self.groups.size >= MERGED_BYTES {
                *self.held = Some(values.iter().map(|value| value.to_value()).collect());
                return;
            }
            *self.order = order;
        }
        self.failure = self.groups.merge_row(row).err();
    }

    fn is_full(&self) -> bool {
        self.failure.is_some() || self.held.is_some() || self.groups.is_full()
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
