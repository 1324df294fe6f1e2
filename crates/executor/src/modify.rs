//! UPDATE and DELETE.
//!
//! ```text
//! Gather (the keys of all candidates) -> Next --> Write (programs run at the primaries) -> Next ... -> done
//!                                         \-> Lock (rows come here) -> Write (rows made here) -> Next ...
//!                           UPDATE IGNORE of keys:                   \-> Resolve (row by row) -> Next ...
//! ```
//! By full primary keys there is nothing to gather: one signal per slot, and with autocommit and one slot it carries
//! the commit. Rows come here only if a unique index or the primary key is affected.
//!
//! All candidates are gathered before anything is written, so a row that the statement itself moved is never found
//! again; what they cost is charged to QueryMemory. At the primary the condition is tested again on the locked, newest
//! version.
//!
//! Invariant: LIMIT counts rows that matched; of candidates that were changed in the meantime fewer may.

use crate::conflicts::{Change, ConflictRun, RowOutcome};
use crate::cx::{Cx, warnings_of};
use crate::locked_reader::{Candidates, LockBatch};
use crate::outcome::{Completion, Failure, Progress, Pull};
use crate::row_builder::{default_of, store_in_column};
use crate::select::{CandidateOptions, Window, candidates, conjunction_of};
use crate::table_reader::{KeyedRow, Order, stored_bytes, stored_rows};
use crate::write_set::{
    FailedWrite, HiddenIndexes, Origin, WriteOutcome, WriteSet, add_change, add_delete, duplicate_error,
};
use expression::context::Warnings;
use expression::{Expression, IntervalUnit};
use planner::plan::{
    AccessPath, ColumnAssignment, DeletePlan, InsertConflict, Limit, ScanDirection, SortKey, TableAccess,
    UpdatePlan, ViewCondition,
};
use protocol::SqlError;
use protocol::program::{
    Assignment, DeleteFilter, LockMode, OperationResult, ReadProgram, Refusal, UpdateProgram, WriteOperation,
};
use query::{Evaluated, TableAccessInfo, evaluate_update};
use std::collections::VecDeque;
use std::sync::Arc;
use types::{DefaultValue, SqlType, StoreMode};

/// Keys written at once.
const BATCH_KEYS: usize = 2048;
/// Rows that come here at once.
const BATCH_ROWS: usize = 256;

enum Kind {
    Update(Arc<UpdateProgram>),
    /// UPDATE IGNORE that changes keys: a row whose new keys others have stays as it is.
    UpdateIgnoring(Arc<UpdateProgram>),
    Delete(Option<Arc<DeleteFilter>>),
}

enum Stage {
    Gather(Candidates),
    Next,
    Lock(LockBatch),
    Write,
    Resolve(Box<ConflictRun>),
}

/// The rows that are changed, if there are more.
struct Wanted<'p> {
    order_by: &'p [SortKey],
    order_by_index: Option<ScanDirection>,
    limit: &'p Limit,
}

/// An UPDATE or DELETE that runs.
pub struct ModifyRun {
    kind: Kind,
    info: Arc<TableAccessInfo>,
    indexes: HiddenIndexes,
    /// Rows come here: reads them whole if they match.
    rewrite: Option<Arc<ReadProgram>>,
    stage: Stage,
    keys: VecDeque<Box<[u8]>>,
    set: WriteSet,
    is_first: bool,
    /// Old bytes of the rows being rewritten, for messages.
    rewritten: Vec<Box<[u8]>>,
    /// Locked rows that are still to be resolved.
    unresolved: VecDeque<KeyedRow>,
    /// Rows wanted at most.
    left: u64,
    matched: u64,
    changed: u64,
}

impl ModifyRun {
    pub fn update(plan: &UpdatePlan, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let info = cx.info(&plan.access.table)?;
        let indexes = HiddenIndexes::of(&info, cx)?;
        let is_key = |column| {
            info.definition.primary_key().iter().any(|part| part.column == column)
                || indexes.have_column(column)
        };
        let touched = (0..).map(types::ColumnIndex).zip(&info.definition.columns);
        let mut touched = touched
            .filter(|(_, column)| column.flags.on_update_now || column.is_generated())
            .map(|(column, _)| column);
        let changes_keys =
            plan.assignments.iter().any(|assignment| is_key(assignment.column)) || touched.any(is_key);
        let filter = plan.access.filter.clone();
        let is_strict = cx.statement.is_strict && !plan.ignore;
        let kept = if changes_keys { None } else { filter.clone() };
        let mut program = update_program(&plan.assignments, kept, &info, is_strict, cx)?;
        program.view_check = plan.view_check.as_ref().and_then(|check| folded_check(check, cx));
        let rewrite = changes_keys.then(|| stored_rows(&info, filter, cx));
        let program = Arc::new(program);
        let kind =
            if changes_keys && plan.ignore { Kind::UpdateIgnoring(program) } else { Kind::Update(program) };
        let wanted =
            Wanted { order_by: &plan.order_by, order_by_index: plan.order_by_index, limit: &plan.limit };
        Self::new(kind, info, indexes, rewrite, &plan.access, wanted, cx)
    }

    pub fn delete(plan: &DeletePlan, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let info = cx.info(&plan.access.table)?;
        let indexes = HiddenIndexes::of(&info, cx)?;
        let filter = plan.access.filter.clone();
        let rewrite = (!indexes.is_empty()).then(|| stored_rows(&info, filter.clone(), cx));
        let filter = conjunction_of([filter], cx.statement).map(|filter| {
            let context = cx.statement.program_context(cx.statement.store_settings());
            Arc::new(DeleteFilter { filter, context })
        });
        Self::new(
            Kind::Delete(filter),
            info,
            indexes,
            rewrite,
            &plan.access,
            Wanted { order_by: &plan.order_by, order_by_index: plan.order_by_index, limit: &plan.limit },
            cx,
        )
    }

    fn new(
        kind: Kind,
        info: Arc<TableAccessInfo>,
        indexes: HiddenIndexes,
        rewrite: Option<Arc<ReadProgram>>,
        access: &TableAccess,
        wanted: Wanted<'_>,
        cx: &mut Cx<'_>,
    ) -> Result<Self, Failure> {
        let window = Window::of(wanted.limit, u64::MAX, cx.statement)?;
        // Without LIMIT the order of changes shows nowhere, unless the first row that comes gets a key.
        let is_ordered = window.count != u64::MAX || matches!(kind, Kind::UpdateIgnoring(_));
        let (order, sort): (Order, &[SortKey]) = match wanted.order_by_index {
            _ if !is_ordered => (Order::Any, &[]),
            Some(direction) => (Order::Key(direction), &[]),
            None => (Order::Any, wanted.order_by),
        };
        let stage = if matches!(access.path, AccessPath::Empty) {
            Stage::Next
        } else {
            let filter = conjunction_of([access.filter.clone()], cx.statement);
            let must_match = window.count != u64::MAX;
            let settings = match &kind {
                Kind::Update(program) | Kind::UpdateIgnoring(program) => program.context.settings,
                Kind::Delete(_) => cx.statement.store_settings(),
            };
            let options = CandidateOptions { order, must_match, settings };
            Stage::Gather(candidates(access, &info, filter, options, sort, cx)?)
        };
        Ok(Self {
            kind,
            info,
            indexes,
            rewrite,
            stage,
            keys: VecDeque::new(),
            set: WriteSet::default(),
            is_first: true,
            rewritten: Vec::new(),
            unresolved: VecDeque::new(),
            left: window.count,
            matched: 0,
            changed: 0,
        })
    }

    pub fn step(&mut self, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Next) {
                Stage::Gather(candidates) => {
                    if let Some(progress) = self.gather(candidates, cx)? {
                        return Ok(progress);
                    }
                }
                Stage::Next if !self.unresolved.is_empty() => self.resolve_next(cx)?,
                Stage::Next => {
                    if self.keys.is_empty() {
                        return Ok(Progress::Done(self.completion(cx)));
                    }
                    if cx.env.budget.is_spent() {
                        return Ok(Progress::Spent);
                    }
                    self.next_batch(cx)?;
                }
                Stage::Lock(mut batch) => match batch.poll(cx)? {
                    Err(pending) => {
                        self.stage = Stage::Lock(batch);
                        return Ok(pending.into());
                    }
                    Ok(rows) if matches!(self.kind, Kind::UpdateIgnoring(_)) => {
                        self.unresolved = rows.into();
                    }
                    Ok(rows) => self.rewrite_rows(&rows, cx)?,
                },
                Stage::Resolve(mut run) => {
                    let parts = (&*self.info, &self.indexes);
                    match run.poll(&mut self.set, &InsertConflict::Ignore, None, parts, cx)? {
                        Err(pending) => {
                            self.stage = Stage::Resolve(run);
                            return Ok(pending.into());
                        }
                        Ok(RowOutcome::Ignored(error)) => {
                            cx.client.diagnostics.warn(error.code, error.message)
                        }
                        Ok(_) => self.changed += 1,
                    }
                }
                Stage::Write => match self.set.poll(cx) {
                    None => {
                        self.stage = Stage::Write;
                        return Ok(Progress::Wait);
                    }
                    Some(outcome) => self.on_written(outcome, cx)?,
                },
            }
        }
    }

    /// Takes candidates; Some: poll again later.
    fn gather(&mut self, mut candidates: Candidates, cx: &mut Cx<'_>) -> Result<Option<Progress>, Failure> {
        if let Candidates::Keys(keys) = candidates {
            self.keys = keys;
            return Ok(None);
        }
        loop {
            let wanted = self.left.saturating_sub(self.keys.len() as u64);
            let count = usize::try_from(wanted).unwrap_or(usize::MAX).min(BATCH_KEYS);
            if count == 0 {
                candidates.close(cx);
                return Ok(None);
            }
            match candidates.take(count, cx)? {
                Ok(keys) if keys.is_empty() => return Ok(None),
                Ok(keys) => {
                    let size: usize = keys.iter().map(|key| key.len() + 32).sum();
                    cx.client.memory.charge(size)?;
                    self.keys.extend(keys);
                }
                Err(pull) => {
                    self.stage = Stage::Gather(candidates);
                    return Ok(Some(if matches!(pull, Pull::Spent) {
                        Progress::Spent
                    } else {
                        Progress::Wait
                    }));
                }
            }
        }
    }

    fn next_batch(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let size = if self.rewrite.is_some() { BATCH_ROWS } else { BATCH_KEYS };
        let count = size.min(self.keys.len());
        cx.env.budget.spend(u32::try_from(count).unwrap_or(u32::MAX));
        if let Some(program) = &self.rewrite {
            let lock = (LockMode::Exclusive, cx.lock_wait());
            let keys = self.keys.drain(..count).collect();
            self.stage = Stage::Lock(LockBatch::start(&self.info, program, keys, lock, cx)?);
            self.is_first = false;
            return Ok(());
        }
        for (number, key) in self.keys.drain(..count).enumerate() {
            let operation = match &self.kind {
                Kind::Update(program) | Kind::UpdateIgnoring(program) => {
                    WriteOperation::Update { key, program: Arc::clone(program) }
                }
                Kind::Delete(filter) => WriteOperation::Delete { key, filter: filter.clone() },
            };
            self.set.add(&self.info, operation, Origin::row(number));
        }
        let is_whole = self.is_first && self.keys.is_empty();
        self.is_first = false;
        self.set.send(is_whole, cx)?;
        self.stage = Stage::Write;
        Ok(())
    }

    /// Makes the new rows of a batch that was locked, and sends them.
    fn rewrite_rows(&mut self, rows: &[KeyedRow], cx: &mut Cx<'_>) -> Result<(), Failure> {
        let warnings = Warnings::default();
        self.rewritten.clear();
        for (number, row) in rows.iter().enumerate() {
            let old = stored_bytes(row, &self.info)?;
            self.matched += 1;
            match &self.kind {
                Kind::Delete(_) => {
                    add_delete(&mut self.set, &self.info, &self.indexes, &old, number);
                    self.changed += 1;
                    self.rewritten.push(old.into());
                }
                Kind::Update(program) | Kind::UpdateIgnoring(program) => {
                    match evaluate_update(program, &self.info, &old, &warnings)? {
                        Evaluated::Changed(new) => {
                            let new: Box<[u8]> = new.into();
                            self.changed += 1;
                            self.rewritten.push(new.clone());
                            add_change(&mut self.set, &self.info, &self.indexes, (&old, new), number);
                        }
                        Evaluated::Unchanged | Evaluated::NotMatched => self.rewritten.push(old.into()),
                    }
                }
            }
        }
        cx.keep_raised(warnings.take_raised());
        self.set.send(false, cx)?;
        self.stage = Stage::Write;
        Ok(())
    }

    /// Makes one locked row's new version, and looks whether its keys are free.
    fn resolve_next(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let (Some(row), Kind::UpdateIgnoring(program)) = (self.unresolved.pop_front(), &self.kind) else {
            return Ok(());
        };
        let warnings = Warnings::default();
        let old = stored_bytes(&row, &self.info)?;
        let evaluated = evaluate_update(program, &self.info, &old, &warnings)?;
        cx.keep_raised(warnings.take_raised());
        self.matched += 1;
        if let Evaluated::Changed(new) = evaluated {
            let change = Change { old: old.into(), new: new.into() };
            let run = ConflictRun::start_change(0, change, &self.info, &self.indexes, cx)?;
            self.stage = Stage::Resolve(Box::new(run));
        }
        Ok(())
    }

    fn on_written(&mut self, outcome: WriteOutcome, cx: &mut Cx<'_>) -> Result<(), Failure> {
        if let Some((origin, failed)) = outcome.failed {
            if let FailedWrite::Refused(Refusal::Duplicate { .. }) = &failed {
                let row = self.rewritten.get(origin.row as usize).map_or(&[][..], |row| row);
                let zone = cx.statement.settings.time_zone_offset_seconds;
                let error = duplicate_error(&self.info, &self.indexes, origin.entry, row, zone);
                return Err(Failure::Error(error));
            }
            return Err(failed.into_failure(&self.info.definition.name));
        }
        if self.rewrite.is_some() {
            return Ok(());
        }
        for (_, result) in outcome.results {
            match result {
                OperationResult::Updated | OperationResult::Deleted | OperationResult::Stored => {
                    self.matched += 1;
                    self.changed += 1;
                }
                OperationResult::Unchanged => self.matched += 1,
                OperationResult::Inserted
                | OperationResult::Duplicate
                | OperationResult::Replaced
                | OperationResult::NotMatched => {}
            }
        }
        Ok(())
    }

    fn completion(&self, cx: &Cx<'_>) -> Completion {
        let (matched, changed, warnings) = (self.matched, self.changed, cx.client.diagnostics.count());
        match self.kind {
            Kind::Delete(_) => Completion { affected_rows: changed, ..Completion::default() },
            Kind::Update(_) | Kind::UpdateIgnoring(_) => {
                Completion::of_update(cx.statement.options.counts_found, matched, changed, warnings)
            }
        }
    }
}

/// The program of SET: what it depends on of the session is folded in; values of TIMESTAMP columns come out in UTC.
pub(crate) fn update_program(
    assignments: &[ColumnAssignment],
    filter: Option<Expression>,
    info: &TableAccessInfo,
    is_strict: bool,
    cx: &mut Cx<'_>,
) -> Result<UpdateProgram, Failure> {
    let mut settings = cx.statement.settings;
    settings.sql_mode.strict = is_strict;
    let filter = conjunction_of([filter], cx.statement);
    let mut assigned = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let value = assigned_value(assignment, info, is_strict, cx)?;
        assigned.push(Assignment { column: assignment.column, value });
    }
    let context = cx.statement.program_context(settings);
    Ok(UpdateProgram { filter, assignments: assigned, context, view_check: None })
}

/// The condition of a view, for this execution.
fn folded_check(check: &ViewCondition, cx: &Cx<'_>) -> Option<ViewCondition> {
    let condition = conjunction_of([Some(check.condition.clone())], cx.statement)?;
    Some(ViewCondition { condition, view: check.view.clone() })
}

fn assigned_value(
    assignment: &ColumnAssignment,
    info: &TableAccessInfo,
    is_strict: bool,
    cx: &mut Cx<'_>,
) -> Result<Expression, Failure> {
    let column = info.definition.column_at(assignment.column);
    let context = if is_strict { cx.statement.store_context() } else { cx.statement.context() };
    let Some(value) = &assignment.value else {
        if let DefaultValue::Expression { encoded, .. } = &column.default {
            let mut default = stdx::wire::from_bytes(encoded).map_err(|_| {
                Failure::Error(SqlError::new(
                    1815,
                    format!("The default of column '{}' is malformed", column.name),
                ))
            })?;
            cx.statement.make_of_row(&mut default, assignment.column.0 + 1);
            return Ok(default);
        }
        return default_of(column, &context)
            .map(|value| Expression::literal(value, column.sql_type.clone()))
            .ok_or_else(|| {
                let message = format!("Field '{}' doesn't have a default value", column.name);
                Failure::Error(SqlError::new(1364, message))
            });
    };
    let folded = cx.statement.folded_in(value, &context);
    let is_moment = matches!(column.sql_type, SqlType::Timestamp { .. });
    if !is_moment || matches!(folded.sql_type, SqlType::Timestamp { .. }) {
        return Ok(folded);
    }
    if let Some(literal) = folded.as_literal() {
        if literal.is_null() {
            return Ok(folded);
        }
        let mode = if is_strict { StoreMode::Strict } else { StoreMode::Lenient };
        // A value that the column refuses is refused when a row is to have it.
        let Ok(stored) = store_in_column(1, literal.clone(), &folded.sql_type, column, mode, &context) else {
            return Ok(folded);
        };
        cx.keep_warnings(warnings_of(&context));
        return Ok(Expression::literal(stored, column.sql_type.clone()));
    }
    // The session's time zone is an offset: going back to UTC is an interval.
    let offset = i64::from(context.time_zone_offset_seconds);
    if offset == 0 {
        return Ok(folded);
    }
    let amount = Expression::integer(offset);
    Expression::interval(
        folded,
        amount,
        IntervalUnit::Second,
        expression::Direction::Subtract,
        &expression::TypingContext::default(),
    )
    .map_err(|error| Failure::Error(SqlError::new(error.code(), error.to_string())))
}
