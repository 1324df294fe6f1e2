//! Reads of one fragment: a cursor over keys or an index range that filters, projects and aggregates, a slice at a
//! time.
//!
//! A `ReadRun` holds no reference into storage between steps: it remembers where it is by key. So it may be stepped
//! again after any number of writes, and the same run continues after a reply was sent. Many ranges are one run: the
//! cursor moves on from range to range.
//!
//! Groups of a partial aggregate go to the sink as soon as they are large, and the run goes on with none. The session
//! that merges partial aggregates merges several of a group as well. So memory and batches are bounded whatever is
//! aggregated.
//!
//! Invariants: a row is given to the sink at most once. A row whose newest version is prepared is never answered from
//! an older one. The run stops at it, says `Undecided`, and goes on behind it when it is stepped again. Between two
//! batches the groups of rows and those of vectors hold at most [`BATCH_BYTES_MAX`] each, and what one batch adds. One
//! row gives at most [`ROW_SIZE_MAX`], or it is an error.

mod groups;
mod kernel;
#[cfg(test)]
pub(crate) mod tests;
mod vectors;

use self::groups::Aggregation;
pub use self::groups::GroupTable;
use self::kernel::{Kernel, Selection};
use self::vectors::Vectors;
use crate::TableAccessInfo;
use crate::batch::{BatchShape, RowBatchWriter};
use crate::mutants::{self, Mutant};
use expression::aggregate::{AggregateCall, AggregateState};
use expression::context::{Raised, Warnings};
use expression::{Context, Evaluated, Expression, StoredRow};
use memory::Guard;
use protocol::program::{
    Access, BATCH_BYTES_MAX, BATCH_ROWS_MAX, KeyRange, ROW_SIZE_MAX, ReadOutput, ReadProgram, ReadProgress,
    RowBatch,
};
use protocol::{Budget, SqlError};
use std::ops::Bound;
use std::sync::Arc;
use stdx::hash64;
use storage::{
    BatchEnd, Direction, KeyBounds, Lookup, MANY_MAX, Reader, SCAN_BATCH_FIRST, SCAN_BATCH_MAX, ScanBatch,
    ScanRow, Visibility, Wanted, get_many,
};
use types::ValueRef;

/// Values of a row that need no memory on their way, and of a usual row.
const INLINE: usize = 16;
const FEW: usize = 4;

/// Rows a read produced.
pub trait RowSink {
    /// Takes one row; borrowed from storage or from the evaluation, gone after the call.
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]);
    /// No more rows now: the step ends with `Full`.
    fn is_full(&self) -> bool;
    /// The groups into which it takes partial aggregates, if it has some: they need not become rows.
    fn groups(&mut self) -> Option<&mut dyn GroupTable> {
        None
    }
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

/// Where in a range a scan goes on.
#[derive(Debug)]
enum Resume {
    /// Behind this index key, in the direction of the scan.
    Behind(Box<[u8]>),
    /// At this index key, once more.
    At(Box<[u8]>),
}

impl Resume {
    fn key(&self) -> &[u8] {
        let (Resume::Behind(key) | Resume::At(key)) = self;
        key
    }

    /// The rest of `range`.
    fn rest<'a>(&'a self, range: KeyBounds<'a>, direction: Direction) -> KeyBounds<'a> {
        let near = match self {
            Resume::Behind(key) => Bound::Excluded(&**key),
            Resume::At(key) => Bound::Included(&**key),
        };
        match direction {
            Direction::Forward => KeyBounds { lower: near, ..range },
            Direction::Backward => KeyBounds { upper: near, ..range },
        }
    }
}

/// The state that the rows so far have left behind.
#[derive(Debug)]
struct RunState {
    /// Where the current range goes on, once it was begun.
    resume: Option<Resume>,
    rows_left: u64,
    /// Rows of a scan's next batch.
    batch_rows: usize,
    /// Rows that a scan has visited.
    visited: u64,
    /// The groups of an aggregate.
    aggregation: Aggregation,
}

/// A read in progress.
#[derive(Debug)]
pub struct ReadRun {
    program: Arc<ReadProgram>,
    access: Access,
    /// The next position in `Access::Keys`, the current one in the ranges of `Access::Scan`.
    position: usize,
    state: RunState,
    /// The kernel of the scan; none before its first step.
    kernel: Option<Kernel>,
    /// Warnings that nobody has taken yet.
    warnings: Warnings,
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
            state: RunState {
                resume: None,
                rows_left,
                batch_rows: SCAN_BATCH_FIRST,
                visited: 0,
                aggregation: Aggregation::default(),
            },
            kernel: None,
            warnings: Warnings::default(),
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
        if self.is_done || self.state.rows_left == 0 {
            self.is_done = true;
            self.emit_groups(sink);
            return Ok(ReadStep::End);
        }
        let program = Arc::clone(&self.program);
        let context = program.context.evaluation();
        let kernel = match (self.kernel.take(), &self.access) {
            (None, Access::Scan { index, .. }) => Kernel::of(&program, info, *index),
            (kernel, _) => kernel.unwrap_or_default(),
        };
        let mut evaluator = RowEvaluator { program: &program, context: &context, info, kernel: &kernel };
        self.state.aggregation.begin_step(sink);
        let step = match &self.access {
            Access::Keys(_) => self.step_keys(&mut evaluator, reader, visibility, budget, sink)?,
            Access::Scan { .. } => self.step_scan(&mut evaluator, reader, visibility, budget, sink)?,
        };
        self.kernel = Some(kernel);
        absorb(&self.warnings, &context);
        self.is_done = step == ReadStep::End;
        if self.is_done || self.state.aggregation.is_full() {
            self.emit_groups(sink);
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
        let mut found = [Lookup::Absent; MANY_MAX];
        while let Some(rest) = keys.get(self.position..).filter(|rest| !rest.is_empty()) {
            let batch = &rest[..rest.len().min(MANY_MAX).min(budget.rows.max(1) as usize)];
            look_up(batch, reader, &guard, visibility, &mut found);
            for (key, found) in batch.iter().zip(&found) {
                if sink.is_full() || self.state.aggregation.is_full() {
                    return Ok(ReadStep::Full);
                }
                if !budget.spend(1) {
                    return Ok(ReadStep::Spent);
                }
                self.position += 1;
                match found {
                    Lookup::Absent => {}
                    Lookup::Found(row) => {
                        evaluator.row((key, key), row, None, &mut self.state.aggregation, sink)?;
                        // The rest of the budget is seen at the next key.
                        budget.spend(evaluator.context.warnings.take_text_work());
                    }
                    Lookup::Undecided => {
                        return Ok(ReadStep::Undecided { primary_key: key.clone(), index_key: key.clone() });
                    }
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
        let Access::Scan { index, ranges, descending, .. } = &self.access else {
            return Ok(ReadStep::End);
        };
        let direction = if *descending { Direction::Backward } else { Direction::Forward };
        let resume = self.state.resume.take();
        let mut begun = resume.as_ref();
        let Ok(mut cursor) = reader.cursor(&guard, *index, direction, visibility) else {
            return Err(SqlError::new(1412, "Table definition has changed, please retry transaction"));
        };
        let mut batch = ScanBatch::default();
        while let Some(range) = ranges.get(self.position) {
            let bounds = bounds_of(range);
            cursor.seek(begun.take().map_or(bounds, |resume| resume.rest(bounds, direction)));
            loop {
                if self.state.rows_left == 0 {
                    return Ok(ReadStep::End);
                }
                let rows_max = self.state.next_batch_rows(evaluator.program, budget);
                let end = cursor.next_batch(rows_max, &mut batch);
                if let Some(stop) = self.state.take_batch(evaluator, batch.rows(), budget, sink)? {
                    return Ok(stop);
                }
                match end {
                    BatchEnd::More => {}
                    BatchEnd::End => break,
                    BatchEnd::Undecided { .. } if mutants::is(Mutant::KernelPassesUndecided) => {}
                    BatchEnd::Undecided { index_key, key } => {
                        self.state.resume = Some(Resume::Behind(index_key.into()));
                        return Ok(ReadStep::Undecided {
                            primary_key: key.into(),
                            index_key: index_key.into(),
                        });
                    }
                }
            }
            self.position += 1;
            // A range costs as much as a row even if nothing is in it.
            if !budget.spend(1) {
                return Ok(ReadStep::Spent);
            }
        }
        Ok(ReadStep::End)
    }

    /// The ranges that are left of a scan whose pieces others may read: it goes forward, and has no limit.
    #[must_use]
    pub fn ranges_left(&self) -> Option<Vec<KeyRange>> {
        let Access::Scan { ranges, descending: false, limit: None, .. } = &self.access else { return None };
        let mut left = ranges.get(self.position..)?.to_vec();
        if let (Some(first), Some(resume)) = (left.first_mut(), &self.state.resume) {
            first.lower = match resume {
                Resume::Behind(key) => Bound::Excluded(key.clone()),
                Resume::At(key) => Bound::Included(key.clone()),
            };
        }
        Some(left)
    }

    /// Only these ranges are left, some of `ranges_left`.
    pub fn keep(&mut self, left: Vec<KeyRange>) {
        if let Access::Scan { ranges, .. } = &mut self.access {
            *ranges = Arc::new(left);
            self.position = 0;
            self.state.resume = None;
        }
    }

    /// An undecided row turned out to pass the filter at its primary: it counts against the limit.
    pub fn count_resolved(&mut self, rows: u32) {
        self.state.rows_left = self.state.rows_left.saturating_sub(u64::from(rows));
    }

    /// The next step visits the undecided row again, instead of going on behind it.
    pub fn look_again(&mut self, index_key: &[u8]) {
        match &self.access {
            Access::Keys(_) => self.position = self.position.saturating_sub(1),
            Access::Scan { .. } => self.state.resume = Some(Resume::At(index_key.into())),
        }
    }

    /// The warnings of the steps since the last call.
    #[must_use]
    pub fn take_raised(&self) -> Option<Box<Raised>> {
        self.warnings.take_raised()
    }

    /// Gives the partial aggregates so far to the sink; the run may go on with empty groups.
    pub fn emit_groups(&mut self, sink: &mut dyn RowSink) {
        if let ReadOutput::Aggregate { calls, .. } = &self.program.output {
            self.state.aggregation.emit(calls, sink);
        }
    }

    /// The progress that a reply tells after a step.
    #[must_use]
    pub fn progress(&self, step: ReadStep) -> ReadProgress {
        let position = u32::try_from(self.position).unwrap_or(u32::MAX);
        match step {
            ReadStep::End => ReadProgress::End,
            ReadStep::Spent | ReadStep::Full => {
                let is_behind = !matches!(self.state.resume, Some(Resume::At(_)));
                stdx::require!(is_behind, "no answer before the row that was undecided is looked at again");
                let after = self.state.resume.as_ref().map(|resume| resume.key().into());
                ReadProgress::More { after, position }
            }
            ReadStep::Undecided { primary_key, index_key } => {
                ReadProgress::Undecided { primary_key, after: index_key, position }
            }
        }
    }
}

impl RunState {
    /// The rows that the next batch of a scan asks for: few at first, because the caller may want no
    /// more. The limit counts only where every row is given.
    #[inline]
    fn next_batch_rows(&self, program: &ReadProgram, budget: &Budget) -> usize {
        let left = if program.filter.is_none() { self.rows_left } else { u64::MAX };
        self.batch_rows.min(budget.rows as usize).min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Does with the rows of a batch what the program says; gives why the step ends with one of them.
    fn take_batch(
        &mut self,
        evaluator: &mut RowEvaluator<'_>,
        rows: &[ScanRow<'_>],
        budget: &mut Budget,
        sink: &mut dyn RowSink,
    ) -> Result<Option<ReadStep>, SqlError> {
        let Some(last) = rows.last() else { return Ok(None) };
        let is_due = budget.batches_after.is_some_and(|after| self.visited >= u64::from(after));
        self.visited += rows.len() as u64;
        let selected = if is_due { evaluator.kernel.select(rows) } else { None };
        let is_taken = selected.as_ref().is_some_and(|selected| self.take_vectors(evaluator, rows, selected));
        let mut paid = 0;
        if !is_taken {
            let known = selected.is_some().then(|| evaluator.kernel.condition_count());
            let selected = selected.unwrap_or_else(|| Selection::all(rows.len()));
            for position in selected.positions() {
                let position = usize::from(*position);
                let row = &rows[position];
                let keys = (row.key(), row.index_key());
                let passed = evaluator.row(keys, row.bytes(), known, &mut self.aggregation, sink)?;
                self.rows_left -= u64::from(passed);
                let visited = row_count(position + 1 - paid);
                paid = position + 1;
                let work = evaluator.context.warnings.take_text_work();
                if let Some(stop) = self.stop_behind(row, visited.saturating_add(work), budget, sink) {
                    return Ok(Some(stop));
                }
                if self.rows_left == 0 {
                    return Ok(Some(ReadStep::End));
                }
            }
        }
        let left = row_count(rows.len() - paid);
        let stop = if left > 0 { self.stop_behind(last, left, budget, sink) } else { None };
        if stop.is_none() {
            self.batch_rows = (2 * self.batch_rows).min(SCAN_BATCH_MAX);
        }
        Ok(stop)
    }

    /// Takes the selected rows of a batch into account as vectors; false if that does not go.
    #[inline]
    fn take_vectors(
        &mut self,
        evaluator: &RowEvaluator<'_>,
        rows: &[ScanRow<'_>],
        selected: &Selection,
    ) -> bool {
        let RowEvaluator { program, info, kernel, .. } = evaluator;
        let is_within_limit = self.rows_left >= rows.len() as u64;
        let is_aggregate = matches!(program.output, ReadOutput::Aggregate { .. });
        if !kernel.is_whole_filter() || !is_aggregate || !is_within_limit {
            return false;
        }
        let vectors = self.aggregation.vectors(|| Vectors::of(program, info, kernel.is_ordered));
        let is_taken = vectors.is_some_and(|vectors| vectors.take(rows, selected));
        self.rows_left -= if is_taken { selected.positions().len() as u64 } else { 0 };
        is_taken
    }

    /// Pays for a row and those before it that are not paid for. Why the step ends with it, if it does.
    #[inline]
    fn stop_behind(
        &mut self,
        row: &ScanRow<'_>,
        cost: u32,
        budget: &mut Budget,
        sink: &dyn RowSink,
    ) -> Option<ReadStep> {
        let is_full = sink.is_full() || self.aggregation.is_full();
        let goes_on = budget.spend(cost);
        if !is_full && goes_on {
            return None;
        }
        self.resume = Some(Resume::Behind(row.index_key().into()));
        Some(if is_full { ReadStep::Full } else { ReadStep::Spent })
    }
}

/// Rows of a batch.
fn row_count(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

/// The rows of a few keys of one fragment.
fn look_up<'g>(
    keys: &[Box<[u8]>],
    reader: &'g Reader,
    guard: &'g Guard,
    visibility: Visibility,
    found: &mut [Lookup<'g>; MANY_MAX],
) {
    if let [key] = keys {
        found[0] = reader.get(guard, key, visibility);
        return;
    }
    let mut wanted = [Wanted { reader, key: &[], hash: 0 }; MANY_MAX];
    for (wanted, key) in wanted.iter_mut().zip(keys) {
        (wanted.key, wanted.hash) = (key, hash64(key));
    }
    get_many(guard, &wanted[..keys.len()], visibility, found);
}

/// A range as storage takes it.
#[must_use]
pub fn bounds_of(range: &KeyRange) -> KeyBounds<'_> {
    fn bound(bound: &Bound<Box<[u8]>>) -> Bound<&[u8]> {
        bound.as_ref().map(|key| &**key)
    }
    KeyBounds { lower: bound(&range.lower), upper: bound(&range.upper) }
}

/// The rest of an access after a reply: what the requester asks for next.
#[must_use]
pub fn remaining(access: &Access, progress: &ReadProgress, rows_received: u64) -> Option<Access> {
    let (after, position) = match progress {
        ReadProgress::End => return None,
        ReadProgress::More { after, position } => (after.as_ref(), *position as usize),
        ReadProgress::Undecided { after, position, .. } => (Some(after), *position as usize),
    };
    Some(match access {
        Access::Keys(keys) => Access::Keys(keys.get(position..).unwrap_or_default().to_vec()),
        Access::Scan { index, ranges, descending, limit } => {
            let mut ranges = ranges.get(position..).unwrap_or_default().to_vec();
            if let (Some(current), Some(after)) = (ranges.first_mut(), after) {
                let near = if *descending { &mut current.upper } else { &mut current.lower };
                *near = Bound::Excluded(after.clone());
            }
            let limit = limit.map(|limit| limit.saturating_sub(rows_received));
            Access::Scan { index: *index, ranges: Arc::new(ranges), descending: *descending, limit }
        }
    })
}

/// Lends so many values side by side; few ones need no memory.
#[inline]
pub fn with_values<'v, T>(
    count: usize,
    values: impl Iterator<Item = ValueRef<'v>>,
    take: impl FnOnce(&[ValueRef<'v>]) -> T,
) -> T {
    if count <= FEW {
        lend_few::<FEW, T>(count, values, take)
    } else if count <= INLINE {
        lend_few::<INLINE, T>(count, values, take)
    } else {
        let all: Vec<ValueRef<'_>> = values.collect();
        take(&all)
    }
}

#[inline]
fn lend_few<'v, const N: usize, T>(
    count: usize,
    mut values: impl Iterator<Item = ValueRef<'v>>,
    take: impl FnOnce(&[ValueRef<'v>]) -> T,
) -> T {
    let mut few = [ValueRef::Null; N];
    for place in &mut few[..count] {
        *place = values.next().unwrap_or(ValueRef::Null);
    }
    take(&few[..count])
}

/// The same for values that are made now. Each may be as large as a function makes it, so they are weighed meanwhile.
#[inline]
pub fn with_evaluated<'v, T, E: From<SqlError>>(
    count: usize,
    values: impl Iterator<Item = Result<Evaluated<'v>, E>>,
    take: impl FnOnce(&[ValueRef<'_>]) -> Result<T, E>,
) -> Result<T, E> {
    let (mut few, mut many) = ([ValueRef::Null; INLINE], Vec::new());
    let places = match few.get_mut(..count) {
        Some(places) => places,
        None => {
            many.resize(count, ValueRef::Null);
            &mut many[..]
        }
    };
    let (mut made, mut size) = (Vec::new(), 0);
    for (number, value) in values.enumerate() {
        let value = value?;
        if let ValueRef::Bytes(bytes) = value.as_ref() {
            size += bytes.len();
            if size > ROW_SIZE_MAX {
                return Err(SqlError::packet_too_large().into());
            }
        }
        match value {
            Evaluated::Borrowed(value) => places[number] = value,
            Evaluated::Owned(value) => made.push((number, value)),
        }
    }
    for (number, value) in &made {
        places[*number] = value.as_ref();
    }
    take(places)
}

/// Gives a row of so many values to a sink.
#[inline]
pub fn give_row<'v>(
    sink: &mut dyn RowSink,
    (primary_key, index_key): (&[u8], &[u8]),
    count: usize,
    values: impl Iterator<Item = ValueRef<'v>>,
) {
    with_values(count, values, |values| sink.row(primary_key, index_key, values));
}

/// Does with one stored row what a program says.
struct RowEvaluator<'a> {
    program: &'a ReadProgram,
    context: &'a Context<'a>,
    info: &'a TableAccessInfo,
    kernel: &'a Kernel,
}

impl RowEvaluator<'_> {
    /// Filters and outputs one row of these keys, of which so many of the filter's first conditions may be known to be
    /// TRUE; true if it passed the filter.
    #[inline]
    fn row(
        &mut self,
        (primary_key, index_key): (&[u8], &[u8]),
        row: &[u8],
        known: Option<usize>,
        aggregation: &mut Aggregation,
        sink: &mut dyn RowSink,
    ) -> Result<bool, SqlError> {
        let stored = StoredRow::new(&self.info.layout, row);
        if !self.passes(known.or_else(|| self.kernel.passed(row)), &stored)? {
            return Ok(false);
        }
        self.output((primary_key, index_key), row, &stored, aggregation, sink)?;
        Ok(true)
    }

    /// Outputs a row that passed the filter.
    #[inline]
    fn output(
        &mut self,
        (primary_key, index_key): (&[u8], &[u8]),
        row: &[u8],
        stored: &StoredRow<'_>,
        aggregation: &mut Aggregation,
        sink: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        match &self.program.output {
            ReadOutput::Columns(columns) => {
                let layout = &self.info.layout;
                give_row(sink, (primary_key, index_key), columns.len(), layout.pick(row, columns));
            }
            ReadOutput::Expressions(expressions) => {
                let values = expressions.iter().map(|expression| self.value(expression, stored));
                with_evaluated(expressions.len(), values, |values| {
                    sink.row(primary_key, index_key, values);
                    Ok::<_, SqlError>(())
                })?;
            }
            ReadOutput::StoredRow => sink.row(primary_key, index_key, &[ValueRef::Bytes(row)]),
            ReadOutput::Aggregate { group_by, calls } => {
                self.aggregate((group_by, calls), row, stored, aggregation, sink)?;
            }
        }
        Ok(())
    }

    /// Whether a row passes the filter. So many of the first conditions are known to be TRUE; none if one is known not
    /// to be.
    #[inline]
    fn passes(&self, known: Option<usize>, stored: &StoredRow<'_>) -> Result<bool, SqlError> {
        let Some(filter) = &self.program.filter else { return Ok(true) };
        let Some(passed) = known else { return Ok(false) };
        if passed > 0 && mutants::is(Mutant::KernelForgetsRest) {
            return Ok(true);
        }
        for condition in &filter.conjuncts()[passed..] {
            if !condition.is_true(stored, self.context).map_err(evaluation_error)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn value<'e>(
        &'e self,
        expression: &'e Expression,
        stored: &'e StoredRow<'_>,
    ) -> Result<Evaluated<'e>, SqlError> {
        expression.evaluate_ref(stored, self.context).map_err(evaluation_error)
    }

    /// Takes a row into account in its group.
    fn aggregate(
        &self,
        (group_by, calls): (&[Expression], &[AggregateCall]),
        row: &[u8],
        stored: &StoredRow<'_>,
        aggregation: &mut Aggregation,
        sink: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        let (kernel, context) = (self.kernel, self.context);
        let states = match aggregation.direct(sink) {
            Some(table) => self.states_of(group_by, row, stored, table)?,
            None => {
                let groups = aggregation.groups();
                groups.begin_key();
                for (number, expression) in group_by.iter().enumerate() {
                    match kernel.key(number, row) {
                        Some(value) => groups.add_to_key(value)?,
                        None => groups.add_to_key(self.value(expression, stored)?.as_ref())?,
                    }
                }
                groups.states(calls, kernel.is_ordered)
            }
        };
        let mut added = 0;
        for (number, (state, call)) in states.iter_mut().zip(calls).enumerate() {
            if let Some(value) = kernel.argument(number, row) {
                state.take(call, value, context).map_err(evaluation_error)?;
                continue;
            }
            let before = state.memory_size();
            match kernel.kept(number, row) {
                Some(value) => state.take(call, value, context),
                None => state.update(call, stored, context),
            }
            .map_err(evaluation_error)?;
            added += state.memory_size().saturating_sub(before);
            if added > ROW_SIZE_MAX {
                return Err(SqlError::packet_too_large());
            }
        }
        if added > 0 {
            match aggregation.direct(sink) {
                Some(table) => table.add_size(added),
                None => aggregation.groups().add_size(added),
            }
        }
        Ok(())
    }

    /// The states of a row's group among those of the sink.
    fn states_of<'e, 't>(
        &'e self,
        group_by: &'e [Expression],
        row: &[u8],
        stored: &'e StoredRow<'_>,
        table: &'t mut dyn GroupTable,
    ) -> Result<&'t mut [AggregateState], SqlError> {
        if let ([_], Some(value)) = (group_by, self.kernel.key(0, row)) {
            return Ok(table.states(&[value]));
        }
        let value = |(number, expression): (usize, &'e Expression)| match self.kernel.key(number, row) {
            Some(value) => Ok(Evaluated::Borrowed(value)),
            None => self.value(expression, stored),
        };
        let values = group_by.iter().enumerate().map(value);
        with_evaluated(group_by.len(), values, |values| Ok(table.states(values)))
    }
}

/// Does with one row what a program says, and gives the batch (locked reads, rows resolved at their primary).
pub fn read_row(
    program: &ReadProgram,
    info: &TableAccessInfo,
    key: &[u8],
    row: &[u8],
    warnings: &Warnings,
) -> Result<RowBatch, SqlError> {
    let context = program.context.evaluation();
    let mut aggregation = Aggregation::default();
    let mut writer = RowBatchWriter::new(BatchShape::of(program));
    let mut evaluator = RowEvaluator { program, context: &context, info, kernel: &Kernel::default() };
    evaluator.row((key, key), row, Some(0), &mut aggregation, &mut writer)?;
    absorb(warnings, &context);
    if let ReadOutput::Aggregate { calls, .. } = &program.output {
        aggregation.emit(calls, &mut writer);
    }
    Ok(writer.finish())
}

/// Whether a row passes a program's filter: the part of a locking read that its lock depends on. The session does the
/// rest ([`give_locked_row`]).
pub fn passes_filter(
    program: &ReadProgram,
    info: &TableAccessInfo,
    row: &[u8],
    warnings: &Warnings,
) -> Result<bool, SqlError> {
    let context = program.context.evaluation();
    let evaluator = RowEvaluator { program, context: &context, info, kernel: &Kernel::default() };
    let passes = evaluator.passes(Some(0), &StoredRow::new(&info.layout, row))?;
    absorb(warnings, &context);
    Ok(passes)
}

/// Gives what a program outputs of a row that has passed its filter.
pub fn give_locked_row(
    program: &ReadProgram,
    info: &TableAccessInfo,
    key: &[u8],
    row: &[u8],
    warnings: &Warnings,
    sink: &mut dyn RowSink,
) -> Result<(), SqlError> {
    let context = program.context.evaluation();
    let mut evaluator = RowEvaluator { program, context: &context, info, kernel: &Kernel::default() };
    let mut aggregation = Aggregation::default();
    evaluator.output((key, key), row, &StoredRow::new(&info.layout, row), &mut aggregation, sink)?;
    absorb(warnings, &context);
    if let ReadOutput::Aggregate { calls, .. } = &program.output {
        aggregation.emit(calls, sink);
    }
    Ok(())
}

/// Keeps what an evaluation raised.
pub(crate) fn absorb(warnings: &Warnings, context: &Context<'_>) {
    warnings.add_text_work(&context.warnings);
    if let Some(raised) = context.warnings.take_raised() {
        warnings.absorb(*raised);
    }
}

/// An evaluation error as the client sees it.
#[must_use]
pub fn evaluation_error(error: expression::EvaluationError) -> SqlError {
    SqlError::new(error.code, error.message)
}
