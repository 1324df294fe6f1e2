//! INSERT, REPLACE, INSERT IGNORE and INSERT … ON DUPLICATE KEY UPDATE.
//!
//! ```text
//! Gather (the rows of INSERT … SELECT) ->
//! CountIds (which rows draw AUTO_INCREMENT values, the highest explicit one) --range empty--> AwaitIds
//!   -> Build (a chunk of rows, sent together) -> AwaitWrites -> Build ... -> done
//!   -> Build (one row) -> Resolve (its conflicts) -> Build ...            if unique keys must be looked at first
//! ```
//! Without unique indexes the primary itself decides what happens to an existing key, so a row is one operation. A
//! single-row INSERT with autocommit is one signal that carries its commit.
//!
//! Invariants: the drawn values of one statement are consecutive. The sequence is above every explicit value before the
//! row is written. A duplicate of a *drawn* value makes the session run the statement again with the next values
//! ([`Failure::Error`] never shows it).
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is a failure like any other")]

use crate::conflicts::{ConflictRun, RowOutcome};
use crate::cx::{Cx, warnings_of};
use crate::inbox::{Reply, RequestKind};
use crate::modify::update_program;
use crate::outcome::{Completion, Failure, Progress};
use crate::row::UNCHARGED_MAX;
use crate::row_buffer::{KeepSink, RowAt, RowBuffer};
use crate::row_builder::{DrawnIds, NewRow, RowBuilder, Strictness, encode_row, no_ids, primary_key_of};
use crate::select::DerivedRun;
use crate::statement::Statement;
use crate::table_reader::Pump;
use crate::write_set::{
    FailedWrite, HiddenIndexes, Origin, WriteOutcome, WriteSet, add_insert, duplicate_error,
};
use expression::{ColumnSlot, Columns, Context, Expression};
use planner::plan::{InsertConflict, InsertPlan, ViewCondition};
use protocol::program::{OnDuplicate, OperationResult, Refusal, UpdateProgram, WriteOperation};
use protocol::signal::RequestId;
use protocol::{Address, Signal, SqlError};
use query::{TableAccessInfo, check_row};
use std::sync::Arc;
use types::{IntegerWidth, SqlType};

/// Rows built and sent at once.
const CHUNK_ROWS: usize = 512;
/// Bytes of rows built and sent at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Values asked for at once, so that one system-table write serves many statements. Those that a node has left are lost
/// with it, and others cannot draw them: of small types it asks for few. Without a column they are hidden keys.
const fn values_at_once(column: Option<&SqlType>) -> u64 {
    match column {
        Some(SqlType::Integer { width: IntegerWidth::Tiny, .. }) => 1,
        Some(SqlType::Integer { width: IntegerWidth::Small, .. }) => 32,
        _ => 1024,
    }
}

enum Stage {
    Gather(Box<Gather>),
    CountIds,
    AwaitIds(RequestId),
    Build,
    AwaitWrites,
    Resolve(Box<ConflictRun>),
}

/// A query whose rows are inserted: all of them are read before the first is written.
struct Gather {
    /// With what is an error where values are stored, if the statement is without.
    statement: Option<Statement>,
    query: DerivedRun,
}

/// The rows of a query.
struct Gathered {
    types: Vec<SqlType>,
    rows: RowBuffer,
    charged: usize,
    /// The rows that were counted and built last.
    counted: Option<RowAt>,
    built: Option<RowAt>,
}

/// A row that was sent.
struct SentRow {
    bytes: Box<[u8]>,
    /// The value that was drawn for its AUTO_INCREMENT column.
    generated: Option<u64>,
    /// The changes of the row that has its key, if there is one.
    update: Option<Arc<UpdateProgram>>,
}

/// An INSERT that runs.
pub struct InsertRun {
    info: Arc<TableAccessInfo>,
    indexes: HiddenIndexes,
    builder: RowBuilder,
    /// ON DUPLICATE KEY UPDATE; a row of a query may have values to put into it.
    update: Option<Arc<UpdateProgram>>,
    /// The same for the row whose conflicts are resolved.
    row_update: Option<Arc<UpdateProgram>>,
    /// Conflicts are found by the session, row by row.
    is_resolved_here: bool,
    stage: Stage,
    /// None: the rows are those of VALUES.
    gathered: Option<Gathered>,
    wanted: WantedIds,
    ids: DrawnIds,
    next_row: usize,
    chunk_start: usize,
    chunk: Vec<SentRow>,
    set: WriteSet,
    affected: u64,
    duplicates: u64,
    /// The value drawn for the row that is being resolved.
    generated: Option<u64>,
    told: ToldIds,
    /// The fault of the row behind the chunk: it is told when the rows before it are not refused.
    broken_row: Option<Failure>,
}

/// The values that the client may be told, the one that goes first in front.
#[derive(Default)]
struct ToldIds {
    /// The first drawn value of a row that was inserted.
    first_generated: Option<u64>,
    /// The last value that ON DUPLICATE KEY UPDATE gave LAST_INSERT_ID(expression).
    assigned: Option<u64>,
    /// The last value that was given, or that an updated row has.
    last_explicit: Option<u64>,
}

/// The values of an AUTO_INCREMENT column that an INSERT draws.
#[derive(Default)]
struct WantedIds {
    /// Rows whose need of a value is known.
    counted: usize,
    /// Rows that need one.
    count: u64,
    /// The highest value that a row brings.
    highest_explicit: u64,
    /// Values passed over because others were taken by explicit ones elsewhere.
    passed: u64,
}

impl WantedIds {
    /// How many values to take: none if no row needs one.
    fn to_take(&self) -> u64 {
        if self.count > 0 { self.count + self.passed } else { 0 }
    }
}

/// The context in which values are evaluated.
fn value_context<'a>(cx: &Cx<'a>, conflict: &InsertConflict) -> Context<'a> {
    if matches!(conflict, InsertConflict::Ignore | InsertConflict::UpdateIgnoring(_)) {
        cx.statement.context()
    } else {
        cx.statement.store_context()
    }
}

impl InsertRun {
    /// `attempt` counts the runs of this statement that met a duplicate of a drawn value.
    pub fn new(plan: &InsertPlan, attempt: u32, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let info = cx.info(&plan.table)?;
        let indexes = HiddenIndexes::of(&info, cx)?;
        let strictness = match (&plan.conflict, cx.statement.is_strict) {
            (InsertConflict::Ignore | InsertConflict::UpdateIgnoring(_), _) => Strictness::Ignore,
            (_, true) => Strictness::Strict,
            (_, false) => Strictness::Lenient,
        };
        let zero_draws = cx.statement.options.zero_draws;
        let builder = RowBuilder::new(plan, &info, strictness, zero_draws);
        let context = value_context(cx, &plan.conflict);
        builder.check_omitted(&context)?;
        cx.keep_warnings(warnings_of(&context));
        let (update, changes_key) = match &plan.conflict {
            InsertConflict::Update(assignments) | InsertConflict::UpdateIgnoring(assignments) => {
                let is_key = |column| info.definition.primary_key().iter().any(|part| part.column == column);
                let changes_key = assignments.iter().any(|assignment| is_key(assignment.column))
                    || info.generated.iter().any(|generated| is_key(generated.column));
                let is_strict =
                    cx.statement.is_strict && !matches!(plan.conflict, InsertConflict::UpdateIgnoring(_));
                (Some(Arc::new(update_program(assignments, None, &info, is_strict, cx)?)), changes_key)
            }
            InsertConflict::Fail | InsertConflict::Ignore | InsertConflict::Replace => (None, false),
        };
        let is_resolved_here = changes_key
            || plan.id_column.is_some()
            || (!indexes.is_empty() && !matches!(plan.conflict, InsertConflict::Fail));
        let gathered = plan.source.as_ref().map(|source| Gathered {
            types: source.projection.iter().map(|item| item.sql_type.clone()).collect(),
            rows: RowBuffer::default(),
            charged: 0,
            counted: None,
            built: None,
        });
        let stage = match &plan.source {
            None => Stage::CountIds,
            Some(source) => {
                let is_strict = strictness != Strictness::Ignore;
                let statement = if is_strict { cx.statement.storing() } else { None };
                let query =
                    DerivedRun::new(source, &mut cx.within(statement.as_ref().unwrap_or(cx.statement)))?;
                Stage::Gather(Box::new(Gather { statement, query }))
            }
        };
        let passed = if attempt == 0 { 0 } else { 1u64 << attempt.min(20) };
        Ok(Self {
            info,
            indexes,
            builder,
            update,
            row_update: None,
            is_resolved_here,
            stage,
            gathered,
            wanted: WantedIds { passed, ..WantedIds::default() },
            ids: DrawnIds::default(),
            next_row: 0,
            chunk_start: 0,
            chunk: Vec::new(),
            set: WriteSet::default(),
            affected: 0,
            duplicates: 0,
            generated: None,
            told: ToldIds::default(),
            broken_row: None,
        })
    }

    /// Goes on with the statement that `plan` says.
    pub fn step(&mut self, plan: &InsertPlan, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        loop {
            match &mut self.stage {
                Stage::Gather(gather) => match gather.pump(self.gathered.as_mut(), cx)? {
                    Pump::End => self.stage = Stage::CountIds,
                    Pump::Rows | Pump::Spent => return Ok(Progress::Spent),
                    Pump::Wait => return Ok(Progress::Wait),
                },
                Stage::CountIds => {
                    if !self.count_ids(plan, cx)? {
                        return Ok(Progress::Spent);
                    }
                    self.draw_ids(cx)?;
                }
                Stage::AwaitIds(request) => match cx.client.inbox.take(*request) {
                    None => return Ok(Progress::Wait),
                    Some(reply) => self.on_ids(reply)?,
                },
                Stage::Build => {
                    if self.next_row >= self.row_count(plan) {
                        return Ok(Progress::Done(self.completion(plan, cx)));
                    }
                    if cx.env.budget.is_spent() {
                        return Ok(Progress::Spent);
                    }
                    if self.is_resolved_here { self.start_row(plan, cx)? } else { self.send_chunk(plan, cx)? }
                }
                Stage::AwaitWrites => match self.set.poll(cx) {
                    None => return Ok(Progress::Wait),
                    Some(outcome) => self.on_written(plan, outcome, cx)?,
                },
                Stage::Resolve(run) => {
                    let parts = (&*self.info, &self.indexes);
                    match run.poll(&mut self.set, &plan.conflict, self.row_update.as_deref(), parts, cx)? {
                        Err(pending) => return Ok(pending.into()),
                        Ok(outcome) => self.on_resolved(plan, outcome, cx),
                    }
                }
            }
        }
    }

    fn row_count(&self, plan: &InsertPlan) -> usize {
        self.gathered.as_ref().map_or(plan.rows.len(), |gathered| gathered.rows.len())
    }

    /// Finds out how many values the statement draws; false if the budget was spent first.
    fn count_ids(&mut self, plan: &InsertPlan, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        if !self.info.definition.has_sequence() {
            return Ok(true);
        }
        let context = cx.statement.context();
        while self.wanted.counted < self.row_count(plan) {
            if !cx.env.budget.spend(1) {
                return Ok(false);
            }
            let (row, at) = new_row(plan, self.gathered.as_ref(), self.wanted.counted, |rows| rows.counted);
            let (needs_id, explicit) = self.builder.needs_id(&row, &context)?;
            drop(row);
            self.gathered.iter_mut().for_each(|rows| rows.counted = at);
            cx.env.budget.spend(context.warnings.take_text_work());
            self.wanted.count += u64::from(needs_id);
            self.wanted.highest_explicit = self.wanted.highest_explicit.max(explicit.unwrap_or(0));
            self.wanted.counted += 1;
        }
        Ok(true)
    }

    fn draw_ids(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let range = &self.info.auto_increment;
        let is_temporary = self.info.definition.id.is_temporary();
        // The range of a temporary table has all values that can be drawn.
        let highest_max = if is_temporary { u64::MAX - 1 } else { u64::MAX };
        let highest = self.wanted.highest_explicit.min(highest_max);
        let raise = if highest > 0 && !range.pass(highest) { highest } else { 0 };
        self.stage = Stage::Build;
        let wanted = self.wanted.to_take();
        if raise == 0 {
            if wanted == 0 {
                return Ok(());
            }
            if let Some(first) = range.take(wanted) {
                self.ids = DrawnIds { next: first + self.wanted.passed, left: self.wanted.count };
                return Ok(());
            }
        }
        if is_temporary {
            return Err(Failure::Error(no_ids()));
        }
        let main = Address::main(cx.env.site.node());
        let request = cx.client.inbox.register(main, RequestKind::Other);
        let definition = &self.info.definition;
        let column = definition.auto_increment.map(|column| &definition.column_at(column).sql_type);
        let (table, count) = (definition.id, wanted.max(values_at_once(column)));
        cx.env.send(main, Signal::SequenceRequest { request, table, count, at_least: raise });
        self.stage = Stage::AwaitIds(request);
        Ok(())
    }

    fn on_ids(&mut self, reply: Reply) -> Result<(), Failure> {
        let (first, count) = match reply {
            Reply::Sequence { first, count } => (first, count),
            Reply::Failed(error) => return Err(Failure::Error(error)),
            _ => return Err(Failure::Error(no_ids())),
        };
        let used = self.wanted.to_take();
        // There are no values behind the end of BIGINT UNSIGNED.
        let next = first.checked_add(self.wanted.passed);
        let (Some(next), Some(left)) = (next, count.checked_sub(used)) else {
            return Err(Failure::Error(no_ids()));
        };
        self.ids = DrawnIds { next, left: self.wanted.count };
        self.info.auto_increment.refill(first.saturating_add(used), left);
        self.stage = Stage::Build;
        Ok(())
    }

    /// Builds the next row and keeps what must be known of it. None: it fails a CHECK constraint, and IGNORE leaves it
    /// out with a warning.
    fn build_row(&mut self, plan: &InsertPlan, context: &Context<'_>) -> Result<Option<SentRow>, Failure> {
        let number = self.next_row as u64 + 1;
        context.volatile.inspect(|volatile| volatile.begin_row());
        let (row, at) = new_row(plan, self.gathered.as_ref(), self.next_row, |rows| rows.built);
        let update = self.update.as_ref().map(|update| self.update_of_row(plan, update, &row));
        let row = self.builder.build(number, &row, &mut self.ids, context)?;
        context.volatile.inspect(|volatile| volatile.end_row());
        self.gathered.iter_mut().for_each(|rows| rows.built = at);
        self.next_row += 1;
        let checked = check_row(&self.info.checks, &row.values, context);
        let checked = checked.and_then(|()| check_view(plan.view_check.as_ref(), &row.values, context));
        if let Err(error) = checked {
            let is_ignored =
                matches!(plan.conflict, InsertConflict::Ignore | InsertConflict::UpdateIgnoring(_));
            if !matches!(error.code, 1369 | 3819) || !is_ignored {
                return Err(Failure::Error(error));
            }
            context.warnings.push(error.code, || error.message);
            return Ok(None);
        }
        self.told.last_explicit = row.explicit.or(self.told.last_explicit);
        let bytes = encode_row(&self.info, &row.values)?;
        Ok(Some(SentRow { bytes, generated: row.generated, update }))
    }

    /// ON DUPLICATE KEY UPDATE with the values that a row of the query has behind those of its columns.
    fn update_of_row(
        &self,
        plan: &InsertPlan,
        update: &Arc<UpdateProgram>,
        row: &NewRow<'_>,
    ) -> Arc<UpdateProgram> {
        let NewRow::Read { values, types } = row else { return Arc::clone(update) };
        let given = values.iter().zip(*types).skip(plan.columns.len());
        let given: Vec<Expression> =
            given.map(|(value, sql_type)| Expression::literal(value.to_value(), sql_type.clone())).collect();
        if given.is_empty() {
            return Arc::clone(update);
        }
        // Behind the columns of the old row and of the new one.
        let first_slot = 2 * self.info.definition.columns.len();
        let mut update = UpdateProgram::clone(update);
        for assignment in &mut update.assignments {
            put_values(&mut assignment.value, first_slot, &given);
        }
        Arc::new(update)
    }

    fn send_chunk(&mut self, plan: &InsertPlan, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let context = value_context(cx, &plan.conflict);
        self.chunk_start = self.next_row;
        self.chunk.clear();
        let mut bytes = 0;
        let has_room = |chunk: &[SentRow], bytes| chunk.len() < CHUNK_ROWS && bytes < CHUNK_BYTES;
        while self.next_row < self.row_count(plan)
            && has_room(&self.chunk, bytes)
            && !context.warnings.is_much_text()
        {
            cx.env.budget.spend(1);
            // Rows that are left out have no place in the chunk.
            let number = self.chunk_start + self.chunk.len();
            let row = match self.build_row(plan, &context) {
                Ok(Some(row)) => row,
                Ok(None) => continue,
                Err(failure) if self.chunk.is_empty() => return Err(failure),
                // The rows before it are written meanwhile.
                Err(Failure::Asleep) => break,
                Err(failure) => {
                    self.broken_row = Some(failure);
                    break;
                }
            };
            bytes += row.bytes.len();
            if self.indexes.is_empty() {
                let key = primary_key_of(&self.info, &row.bytes);
                let on_duplicate = match (&plan.conflict, &row.update) {
                    _ if self.drawn_key(row.generated).is_some() => OnDuplicate::Fail,
                    (InsertConflict::Update(_) | InsertConflict::UpdateIgnoring(_), Some(program)) => {
                        OnDuplicate::Update(Arc::clone(program))
                    }
                    (InsertConflict::Ignore, _) => OnDuplicate::Ignore,
                    (InsertConflict::Replace, _) => OnDuplicate::Replace,
                    (
                        InsertConflict::Fail | InsertConflict::Update(_) | InsertConflict::UpdateIgnoring(_),
                        _,
                    ) => OnDuplicate::Fail,
                };
                let insert = WriteOperation::Insert { key, row: row.bytes.clone(), on_duplicate };
                self.set.add(&self.info, insert, Origin::row(number));
            } else {
                add_insert(&mut self.set, &self.info, &self.indexes, row.bytes.clone(), number);
            }
            self.chunk.push(row);
        }
        cx.keep_warnings(warnings_of(&context));
        let is_whole = self.chunk_start == 0 && self.next_row == self.row_count(plan);
        self.set.send(is_whole, cx)?;
        self.stage = Stage::AwaitWrites;
        Ok(())
    }

    fn on_written(
        &mut self,
        plan: &InsertPlan,
        outcome: WriteOutcome,
        cx: &mut Cx<'_>,
    ) -> Result<(), Failure> {
        if let Some((origin, failed)) = outcome.failed {
            return Err(self.failure(plan, origin, failed, cx));
        }
        for (origin, result) in outcome.results {
            if origin.entry.is_some() {
                continue;
            }
            match result {
                OperationResult::Inserted | OperationResult::Stored => {
                    self.affected += 1;
                    self.keep_generated(origin);
                }
                OperationResult::Duplicate => {
                    let error = self.duplicate(origin, cx);
                    self.duplicates += 1;
                    cx.client.diagnostics.warn(error.code, error.message);
                }
                result @ (OperationResult::Replaced | OperationResult::Updated) => {
                    if result == OperationResult::Replaced {
                        self.keep_generated(origin);
                    }
                    self.affected += 2;
                    self.duplicates += 1;
                }
                OperationResult::Unchanged => {
                    self.affected += found_rows(cx);
                    self.duplicates += 1;
                }
                OperationResult::Deleted | OperationResult::NotMatched => {}
            }
        }
        self.stage = Stage::Build;
        self.broken_row.take().map_or(Ok(()), Err)
    }

    /// A row was inserted: LAST_INSERT_ID() is the first one's drawn value.
    fn keep_generated(&mut self, origin: Origin) {
        let position = (origin.row as usize).saturating_sub(self.chunk_start);
        let generated = self.chunk.get(position).and_then(|row| row.generated);
        self.told.first_generated = match (self.told.first_generated, generated) {
            (Some(first), Some(other)) => Some(first.min(other)),
            (first, other) => first.or(other),
        };
    }

    fn duplicate(&self, origin: Origin, cx: &Cx<'_>) -> SqlError {
        let position = (origin.row as usize).saturating_sub(self.chunk_start);
        let row = self.chunk.get(position).map_or(&[][..], |row| &row.bytes);
        let time_zone = cx.statement.settings.time_zone_offset_seconds;
        duplicate_error(&self.info, &self.indexes, origin.entry, row, time_zone)
    }

    /// The drawn value, if it is part of the primary key. A row that has it already is not the one that the statement
    /// means, so other values are drawn instead, whatever is to be done with duplicates.
    fn drawn_key(&self, generated: Option<u64>) -> Option<u64> {
        let definition = &self.info.definition;
        let auto = definition.auto_increment?;
        generated.filter(|_| definition.primary_key().iter().any(|part| part.column == auto))
    }

    fn failure(&self, plan: &InsertPlan, origin: Origin, failed: FailedWrite, cx: &Cx<'_>) -> Failure {
        if let FailedWrite::Refused(Refusal::Duplicate { .. }) = &failed {
            let position = (origin.row as usize).saturating_sub(self.chunk_start);
            let generated = self.chunk.get(position).and_then(|row| row.generated);
            if origin.entry.is_none() && self.drawn_key(generated).is_some() {
                return Failure::DrawnTaken(self.duplicate(origin, cx));
            }
            if matches!(plan.conflict, InsertConflict::Fail) {
                return Failure::Error(self.duplicate(origin, cx));
            }
        }
        failed.into_failure(&self.info.definition.name)
    }

    fn start_row(&mut self, plan: &InsertPlan, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let context = value_context(cx, &plan.conflict);
        cx.env.budget.spend(1);
        let number = self.next_row;
        let row = self.build_row(plan, &context);
        cx.keep_warnings(warnings_of(&context));
        let Some(row) = row? else { return Ok(()) };
        self.generated = row.generated;
        self.row_update = row.update;
        let drawn_key = self.drawn_key(row.generated);
        let id_column = plan.id_column.or(self.info.definition.auto_increment);
        let keys = (drawn_key, id_column);
        let run = ConflictRun::start(number, row.bytes, keys, (&self.info, &self.indexes), cx)?;
        self.stage = Stage::Resolve(Box::new(run));
        Ok(())
    }

    fn on_resolved(&mut self, plan: &InsertPlan, outcome: RowOutcome, cx: &mut Cx<'_>) {
        if let RowOutcome::Updated { id } | RowOutcome::Unchanged { id } = &outcome
            && plan.id_column.is_some()
        {
            self.told.assigned = Some(id.unwrap_or(0));
        }
        match outcome {
            RowOutcome::Inserted => {
                self.affected += 1;
                self.told.first_generated = self.told.first_generated.or(self.generated);
            }
            RowOutcome::Ignored(error) => {
                self.duplicates += 1;
                cx.client.diagnostics.warn(error.code, error.message);
            }
            RowOutcome::Replaced(deleted) => {
                self.affected += 1 + deleted;
                self.told.first_generated = self.told.first_generated.or(self.generated);
                self.duplicates += deleted;
            }
            RowOutcome::Updated { id } => {
                self.told.last_explicit = id.or(self.told.last_explicit);
                self.affected += 2;
                self.duplicates += 1;
            }
            RowOutcome::Unchanged { id } => {
                self.told.last_explicit = id.or(self.told.last_explicit);
                self.affected += found_rows(cx);
                self.duplicates += 1;
            }
        }
        self.stage = Stage::Build;
    }

    fn completion(&mut self, plan: &InsertPlan, cx: &mut Cx<'_>) -> Completion {
        if let Some(id) = self.told.first_generated.or(self.told.assigned) {
            cx.client.last_insert_id = id;
        }
        let (records, warnings) = (self.row_count(plan), cx.client.diagnostics.count());
        let duplicates = self.duplicates;
        let info = if records > 1 || plan.source.is_some() {
            format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}")
        } else {
            String::new()
        };
        // A statement that wrote no row has given none.
        let last_explicit = self.told.last_explicit.filter(|_| self.affected > 0);
        Completion {
            affected_rows: self.affected,
            last_insert_id: self.told.first_generated.or(self.told.assigned).or(last_explicit).unwrap_or(0),
            has_drawn_id: self.told.first_generated.is_some(),
            info: info.into(),
            ..Completion::default()
        }
    }
}

impl Gather {
    /// Reads more rows of the query.
    fn pump(&mut self, gathered: Option<&mut Gathered>, cx: &mut Cx<'_>) -> Result<Pump, Failure> {
        let Some(gathered) = gathered else { return Ok(Pump::End) };
        let size_max = gathered.charged + UNCHARGED_MAX;
        let mut sink = KeepSink { rows: &mut gathered.rows, size_max };
        let pump =
            self.query.pump(&mut cx.within(self.statement.as_ref().unwrap_or(cx.statement)), &mut sink)?;
        let size = gathered.rows.size();
        cx.client.memory.charge(size.saturating_sub(gathered.charged))?;
        gathered.charged = size.max(gathered.charged);
        Ok(pump)
    }
}

/// 1369 if a view does not show the row, and has to.
fn check_view(
    check: Option<&ViewCondition>,
    row: &dyn Columns,
    context: &Context<'_>,
) -> Result<(), SqlError> {
    let Some(check) = check else { return Ok(()) };
    let is_true = check.condition.is_true(row, context);
    let is_true = is_true.map_err(|error| SqlError::new(error.code, error.message))?;
    if is_true { Ok(()) } else { Err(check.failed()) }
}

/// Puts values in the places of the slots from this one on.
fn put_values(expression: &mut Expression, first_slot: usize, values: &[Expression]) {
    let value = |slot: ColumnSlot| values.get(slot.index().checked_sub(first_slot)?);
    if let Some(value) = expression.as_column().and_then(value) {
        *expression = value.clone();
        return;
    }
    for operand in expression.operands_mut() {
        put_values(operand, first_slot, values);
    }
}

/// A row by its number, and where it is among those of a query: behind the last one.
fn new_row<'a>(
    plan: &'a InsertPlan,
    gathered: Option<&'a Gathered>,
    number: usize,
    last: impl Fn(&Gathered) -> Option<RowAt>,
) -> (NewRow<'a>, Option<RowAt>) {
    let Some(gathered) = gathered else { return (NewRow::Written(&plan.rows[number]), None) };
    let at = gathered.rows.next(last(gathered));
    let values = at.map_or_else(Vec::new, |at| gathered.rows.values(at).collect());
    (NewRow::Read { values, types: &gathered.types }, at)
}

/// The count of an unchanged row: CLIENT_FOUND_ROWS.
fn found_rows(cx: &Cx<'_>) -> u64 {
    u64::from(cx.statement.options.counts_found)
}
