//! Reads of one fragment: a cursor over keys or an index range that filters, projects and aggregates, a slice at a time.
//!
//! A `ReadRun` holds no reference into storage between steps: it remembers where it is by key, so it may be stepped again after any
//! number of writes, and the same run continues after a reply was sent.
//!
//! Invariants: a row is given to the sink at most once; a row whose newest version is prepared is never answered from an older one: the run
//! stops at it, says `Undecided`, and goes on behind it when it is stepped again.

use crate::TableAccessInfo;
use crate::batch::{BatchShape, RowBatchWriter};
use expression::aggregate::{AggregateCall, AggregateState};
use expression::{Columns, Context, Expression, StoredRow};
use memory::Guard;
use protocol::program::{
    Access, BATCH_BYTES_MAX, BATCH_ROWS_MAX, KeyRange, ReadOutput, ReadProgram, ReadProgress, RowBatch,
};
use protocol::{Budget, SqlError};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use storage::{Direction, KeyBounds, Lookup, Reader, ScanItem, Visibility};
use types::{Value, ValueRef};

/// Rows a read produced.
pub trait RowSink {
    /// Takes one row; borrowed from storage or from the evaluation, gone after the call.
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]);
    /// No more rows now: the step ends with `Full`.
    fn is_full(&self) -> bool;
}

impl RowSink for RowBatchWriter {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        self.push(primary_key, index_key, values);
    }
    fn is_full(&self) -> bool {
        self.count() >= BATCH_ROWS_MAX || self.size() >= BATCH_BYTES_MAX
    }
}

/// Why a step ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadStep {
    /// All rows were visited.
    End,
    /// The budget is spent.
    Spent,
    /// The sink is full.
    Full,
    /// This row's outcome is not known here: the caller asks its primary, then steps on.
    Undecided {
        /// The row.
        primary_key: Box<[u8]>,
        /// The index key it was found by.
        index_key: Box<[u8]>,
    },
}

/// One group of a partial aggregate.
type Groups = BTreeMap<Vec<u8>, (Vec<Value>, Vec<AggregateState>)>;

/// A read in progress.
#[derive(Debug)]
pub struct ReadRun {
    program: Arc<ReadProgram>,
    access: Access,
    /// The next position in `Access::Keys`.
    position: usize,
    /// The last index key visited.
    after: Box<[u8]>,
    rows_left: u64,
    groups: Groups,
    is_done: bool,
}

impl ReadRun {
    /// Starts a read.
    #[must_use]
    pub fn new(program: Arc<ReadProgram>, access: Access) -> Self {
        let rows_left = match &access {
            Access::Keys(_) => u64::MAX,
            Access::Scan { limit, .. } => limit.unwrap_or(u64::MAX),
        };
        Self {
            program,
            access,
            position: 0,
            after: Box::default(),
            rows_left,
            groups: Groups::new(),
            is_done: false,
        }
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Arc<ReadProgram> {
        &self.program
    }

    /// Visits rows until the end, the budget, the sink or an undecided row stops it.
    pub fn step(
        &mut self,
        info: &TableAccessInfo,
        reader: &Reader,
        visibility: Visibility,
        budget: &mut Budget,
        sink: &mut dyn RowSink,
    ) -> Result<ReadStep, SqlError> {
        if self.is_done || self.rows_left == 0 {
            self.is_done = true;
            self.emit_groups(sink)?;
            return Ok(ReadStep::End);
        }
        let program = Arc::clone(&self.program);
        let context = program.context.evaluation();
        let mut evaluator = RowEvaluator::new(&program, &context, info);
        let step = match &self.access {
            Access::Keys(_) => self.step_keys(&mut evaluator, reader, visibility, budget, sink)?,
            Access::Scan { .. } => self.step_scan(&mut evaluator, reader, visibility, budget, sink)?,
        };
        if step == ReadStep::End {
            self.is_done = true;
            self.emit_groups(sink)?;
        }
        Ok(step)
    }

    fn step_keys(
        &mut self,
        evaluator: &mut RowEvaluator<'_>,
        reader: &Reader,
        visibility: Visibility,
        budget: &mut Budget,
        sink: &mut dyn RowSink,
    ) -> Result<ReadStep, SqlError> {
        let guard = Guard::enter();
        let Access::Keys(keys) = &self.access else { return Ok(ReadStep::End) };
        while let Some(key) = keys.get(self.position) {
            if sink.is_full() {
                return Ok(ReadStep::Full);
            }
            if !budget.spend(1) {
                return Ok(ReadStep::Spent);
            }
            self.position += 1;
            match reader.get(&guard, key, visibility) {
                Lookup::Absent => {}
                Lookup::Found(row) => {
                    evaluator.row(key, key, row, &mut self.groups, sink)?;
                }
                Lookup::Undecided => {
                    return Ok(ReadStep::Undecided { primary_key: key.clone(), index_key: key.clone() });
                }
            }
        }
        Ok(ReadStep::End)
    }

    fn step_scan(
        &mut self,
        evaluator: &mut RowEvaluator<'_>,
        reader: &Reader,
        visibility: Visibility,
        budget: &mut Budget,
        sink: &mut dyn RowSink,
    ) -> Result<ReadStep, SqlError> {
        let guard = Guard::enter();
        let Access::Scan { index, range, descending, .. } = &mut self.access else {
            return Ok(ReadStep::End);
        };
        let direction = if *descending { Direction::Backward } else { Direction::Forward };
        let mut last: Option<Box<[u8]>> = None;
        let step = {
            let Ok(mut cursor) = reader.scan(&guard, *index, bounds_of(range), direction, visibility) else {
                return Err(SqlError::new(1412, "Table definition has changed, please retry transaction"));
            };
            loop {
                if sink.is_full() {
                    break ReadStep::Full;
                }
                if self.rows_left == 0 {
                    break ReadStep::End;
                }
                if budget.is_spent() {
                    break ReadStep::Spent;
                }
                let Some(item) = cursor.next() else { break ReadStep::End };
                budget.spend(1);
                match item {
                    ScanItem::Row { index_key, key, row } => {
                        let passed = evaluator.row(key, index_key, row, &mut self.groups, sink)?;
                        self.rows_left -= u64::from(passed);
                        if sink.is_full() || budget.is_spent() {
                            last = Some(index_key.into());
                        }
                    }
                    ScanItem::Undecided { index_key, key } => {
                        last = Some(index_key.into());
                        break ReadStep::Undecided { primary_key: key.into(), index_key: index_key.into() };
                    }
                }
            }
        };
        if let Some(last) = last {
            self.after = last.clone();
            if *descending {
                range.upper = Bound::Excluded(last);
            } else {
                range.lower = Bound::Excluded(last);
            }
        }
        Ok(step)
    }

    /// An undecided row turned out to pass the filter at its primary: it counts against the limit.
    pub fn count_resolved(&mut self, rows: u32) {
        self.rows_left = self.rows_left.saturating_sub(u64::from(rows));
    }

    /// The next step visits the undecided row again, instead of going on behind it.
    pub fn look_again(&mut self, index_key: &[u8]) {
        match &mut self.access {
            Access::Keys(_) => self.position = self.position.saturating_sub(1),
            Access::Scan { range, descending: false, .. } => range.lower = Bound::Included(index_key.into()),
            Access::Scan { range, descending: true, .. } => range.upper = Bound::Included(index_key.into()),
        }
    }

    /// Gives the partial aggregates so far to the sink; the run may go on with empty groups.
    pub fn emit_groups(&mut self, sink: &mut dyn RowSink) -> Result<(), SqlError> {
        for (_, (values, states)) in std::mem::take(&mut self.groups) {
            emit_group(&values, &states, sink);
        }
        Ok(())
    }

    /// What a reply says after a step.
    #[must_use]
    pub fn progress(&self, step: ReadStep) -> ReadProgress {
        let position = u32::try_from(self.position).unwrap_or(u32::MAX);
        match step {
            ReadStep::End => ReadProgress::End,
            ReadStep::Spent | ReadStep::Full => ReadProgress::More { after: self.after.clone(), position },
            ReadStep::Undecided { primary_key, index_key } => {
                ReadProgress::Undecided { primary_key, after: index_key, position }
            }
        }
    }
}

/// A range as storage takes it.
#[must_use]
pub fn bounds_of(range: &KeyRange) -> KeyBounds<'_> {
    fn bound(bound: &Bound<Box<[u8]>>) -> Bound<&[u8]> {
        bound.as_ref().map(|key| &**key)
    }
    KeyBounds { lower: bound(&range.lower), upper: bound(&range.upper) }
}

fn emit_group(values: &[Value], states: &[AggregateState], sink: &mut dyn RowSink) {
    let states: Vec<Vec<u8>> = states.iter().map(stdx::wire::to_bytes).collect();
    let row: Vec<ValueRef<'_>> =
        values.iter().map(Value::as_ref).chain(states.iter().map(|state| ValueRef::Bytes(state))).collect();
    sink.row(&[], &[], &row);
}

/// The rest of an access after a reply: what the requester asks for next.
#[must_use]
pub fn remaining(access: &Access, progress: &ReadProgress, rows_received: u64) -> Option<Access> {
    let (after, position) = match progress {
        ReadProgress::End => return None,
        ReadProgress::More { after, position } | ReadProgress::Undecided { after, position, .. } => {
            (after, position)
        }
    };
    Some(match access {
        Access::Keys(keys) => Access::Keys(keys.get(*position as usize..).unwrap_or_default().to_vec()),
        Access::Scan { index, range, descending, limit } => {
            let range = if *descending {
                KeyRange { lower: range.lower.clone(), upper: Bound::Excluded(after.clone()) }
            } else {
                KeyRange { lower: Bound::Excluded(after.clone()), upper: range.upper.clone() }
            };
            let limit = limit.map(|limit| limit.saturating_sub(rows_received));
            Access::Scan { index: *index, range, descending: *descending, limit }
        }
    })
}

/// Does with one stored row what a program says.
pub struct RowEvaluator<'a> {
    program: &'a ReadProgram,
    context: &'a Context<'a>,
    info: &'a TableAccessInfo,
}

impl<'a> RowEvaluator<'a> {
    /// For rows of `info`'s table.
    #[must_use]
    pub fn new(program: &'a ReadProgram, context: &'a Context<'a>, info: &'a TableAccessInfo) -> Self {
        Self { program, context, info }
    }

    /// Filters and outputs one row; true if it passed the filter.
    fn row(
        &mut self,
        primary_key: &[u8],
        index_key: &[u8],
        row: &[u8],
        groups: &mut Groups,
        sink: &mut dyn RowSink,
    ) -> Result<bool, SqlError> {
        let stored = StoredRow::new(&self.info.layout, row);
        if let Some(filter) = &self.program.filter
            && !filter.is_true(&stored, self.context).map_err(evaluation_error)?
        {
            return Ok(false);
        }
        match &self.program.output {
            ReadOutput::Columns(columns) => {
                const INLINE: usize = 16;
                if columns.len() <= INLINE {
                    let mut values = [ValueRef::Null; INLINE];
                    for (value, column) in values.iter_mut().zip(columns) {
                        *value = self.info.layout.column(row, *column);
                    }
                    sink.row(primary_key, index_key, &values[..columns.len()]);
                } else {
                    let values: Vec<_> =
                        columns.iter().map(|column| self.info.layout.column(row, *column)).collect();
                    sink.row(primary_key, index_key, &values);
                }
            }
            ReadOutput::Expressions(expressions) => {
                let values = self.evaluate_all(expressions, &stored)?;
                let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
                sink.row(primary_key, index_key, &values);
            }
            ReadOutput::StoredRow => sink.row(primary_key, index_key, &[ValueRef::Bytes(row)]),
            ReadOutput::Aggregate { group_by, calls } => {
                let values = self.evaluate_all(group_by, &stored)?;
                // Groups are told apart by their exact values here; the session merges those that are equal by collation.
                let identity = if values.is_empty() { Vec::new() } else { stdx::wire::to_bytes(&values) };
                let (_, states) = groups
                    .entry(identity)
                    .or_insert_with(|| (values, calls.iter().map(AggregateCall::initial_state).collect()));
                for (state, call) in states.iter_mut().zip(calls) {
                    state.update(call, &stored, self.context).map_err(evaluation_error)?;
                }
            }
        }
        Ok(true)
    }

    fn evaluate_all(&self, expressions: &[Expression], row: &impl Columns) -> Result<Vec<Value>, SqlError> {
        expressions
            .iter()
            .map(|expression| expression.evaluate(row, self.context).map_err(evaluation_error))
            .collect()
    }
}

/// Does with one row what a program says, and gives the batch (locked reads, rows resolved at their primary).
pub fn read_row(
    program: &ReadProgram,
    info: &TableAccessInfo,
    key: &[u8],
    row: &[u8],
) -> Result<RowBatch, SqlError> {
    let context = program.context.evaluation();
    let mut groups = Groups::new();
    let mut writer = RowBatchWriter::new(BatchShape::of(program));
    RowEvaluator::new(program, &context, info).row(key, key, row, &mut groups, &mut writer)?;
    for (values, states) in groups.into_values() {
        emit_group(&values, &states, &mut writer);
    }
    Ok(writer.finish())
}

/// An evaluation error as the client sees it.
#[must_use]
pub fn evaluation_error(error: expression::EvaluationError) -> SqlError {
    SqlError::new(error.code, error.message)
}
