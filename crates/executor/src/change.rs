//! UPDATE and DELETE whose rows are found by a query: of several tables, or with subqueries.
//!
//! ```text
//! Read (the query: for each target its key, what is read of it, its new values)
//!   -> Lock (all rows of all targets, by table and key) -> compare with what was read
//!        all the same -> Write (batch by batch) -> done
//!        otherwise    -> Pause -> Read again
//! ```
//! Rows are read as by any SELECT, so others may change them before they are locked. Then the query runs again, with
//! the locks that are held. In the end it has read the newest row of every target, and no change is lost. Rows of
//! tables that are only read are taken as they were read. A row that is found more than once is changed once, as it was
//! found first.
//!
//! Invariants: nothing is written before everything is read and locked; memory that is held is charged.

use crate::conflicts::{stored_bytes, stored_rows};
use crate::cx::Cx;
use crate::locked_reader::LockBatch;
use crate::modify::update_program;
use crate::outcome::{Completion, Failure, Progress};
use crate::row::UNCHARGED_MAX;
use crate::row_buffer::{KeepSink, RowAt, RowBuffer};
use crate::select::DerivedRun;
use crate::site::Retry;
use crate::statement::Statement;
use crate::table_reader::{KeyedRow, Pump};
use crate::write_set::{
    FailedWrite, HiddenIndexes, WriteOutcome, WriteSet, add_change, add_delete, duplicate_error,
};
use expression::Expression;
use expression::context::Warnings;
use planner::plan::{ChangePlan, ChangeVerb, ColumnAssignment, Target};
use protocol::program::{LockMode, ReadProgram, Refusal};
use query::{Evaluated, TableAccessInfo, evaluate_update};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use types::{SqlType, ValueRef};

/// Rows that are locked, or written, at once.
const BATCH_ROWS: usize = 256;
/// Bytes that a key in a map costs beside its own.
const KEY_OVERHEAD: usize = 64;

/// An UPDATE or DELETE that runs.
pub struct ChangeRun {
    /// With what is an error where values are stored.
    statement: Statement,
    rows: RowBuffer,
    /// The part of `rows` that is paid for.
    charged: usize,
    targets: Vec<TargetRun>,
    stage: Stage,
    attempts: u32,
    /// A row is not what was read.
    is_stale: bool,
    set: WriteSet,
    matched: u64,
    changed: u64,
}

/// A table that is changed.
struct TargetRun {
    info: Arc<TableAccessInfo>,
    indexes: HiddenIndexes,
    /// Gives whole rows.
    program: Arc<ReadProgram>,
    /// Its rows by their keys, and where the query's row is that found each first.
    found: BTreeMap<Box<[u8]>, RowAt>,
    /// Those that are locked, as they are now.
    locked: BTreeMap<Box<[u8]>, Vec<u8>>,
    /// The last key that a lock was asked for.
    asked: Option<Box<[u8]>>,
}

enum Stage {
    Read(Box<DerivedRun>),
    /// The rows that were read are told apart, behind this one.
    Collect(Option<RowAt>),
    /// The next target whose rows are not all locked.
    Lock(usize),
    /// With the number of locks that were asked for.
    AwaitLocks(usize, LockBatch, usize),
    Pause(Retry),
    /// The next target that is not all written.
    Write(usize),
    /// With the rows of the batch that is on its way.
    AwaitWrites(usize, Vec<Vec<u8>>),
}

impl ChangeRun {
    /// Begins to read.
    pub fn new(plan: &ChangePlan, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let mut statement = cx.statement.within();
        statement.settings = cx.statement.store_settings();
        let mut targets = Vec::with_capacity(plan.targets.len());
        for target in &plan.targets {
            let info = cx.info(&target.table)?;
            let indexes = HiddenIndexes::of(&info, cx)?;
            let program = stored_rows(&info, None, cx);
            let (found, locked) = (BTreeMap::new(), BTreeMap::new());
            targets.push(TargetRun { info, indexes, program, found, locked, asked: None });
        }
        let query = DerivedRun::new(&plan.query, &mut cx.within(&statement))?;
        Ok(Self {
            statement,
            rows: RowBuffer::default(),
            charged: 0,
            targets,
            stage: Stage::Read(Box::new(query)),
            attempts: 0,
            is_stale: false,
            set: WriteSet::default(),
            matched: 0,
            changed: 0,
        })
    }

    /// Goes on with the statement that `plan` says.
    pub fn step(&mut self, plan: &ChangePlan, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Collect(None)) {
                Stage::Read(mut query) => match self.read(&mut query, cx)? {
                    Pump::End => {}
                    pump @ (Pump::Rows | Pump::Spent | Pump::Wait) => {
                        self.stage = Stage::Read(query);
                        return Ok(if pump == Pump::Wait { Progress::Wait } else { Progress::Spent });
                    }
                },
                Stage::Collect(at) => {
                    if let Some(at) = self.collect(plan, at, cx)? {
                        self.stage = Stage::Collect(at);
                        return Ok(Progress::Spent);
                    }
                    self.stage = Stage::Lock(0);
                }
                Stage::Lock(number) => self.lock(plan, number, cx)?,
                Stage::AwaitLocks(number, mut batch, asked) => match batch.poll(cx)? {
                    None => {
                        self.stage = Stage::AwaitLocks(number, batch, asked);
                        return Ok(Progress::Wait);
                    }
                    Some(rows) => {
                        self.is_stale |= rows.len() != asked;
                        self.stage = Stage::Lock(number);
                        for row in rows {
                            self.take_locked(&plan.targets[number], number, &row, cx)?;
                        }
                        if cx.env.budget.is_spent() {
                            return Ok(Progress::Spent);
                        }
                    }
                },
                Stage::Pause(retry) if !retry.is_due(&cx.env) => {
                    self.stage = Stage::Pause(retry);
                    return Ok(Progress::Wait);
                }
                Stage::Pause(_) => self.read_again(plan, cx)?,
                Stage::Write(number) => {
                    if number >= self.targets.len() {
                        return Ok(Progress::Done(self.completion(plan, cx)));
                    }
                    if cx.env.budget.is_spent() {
                        self.stage = Stage::Write(number);
                        return Ok(Progress::Spent);
                    }
                    self.write(plan, number, cx)?;
                }
                Stage::AwaitWrites(number, old) => match self.set.poll(cx) {
                    None => {
                        self.stage = Stage::AwaitWrites(number, old);
                        return Ok(Progress::Wait);
                    }
                    Some(outcome) => {
                        self.on_written(number, &old, outcome, cx)?;
                        self.stage = Stage::Write(number);
                    }
                },
            }
        }
    }

    fn read(&mut self, query: &mut DerivedRun, cx: &mut Cx<'_>) -> Result<Pump, Failure> {
        let mut sink = KeepSink { rows: &mut self.rows, size_max: self.charged + UNCHARGED_MAX };
        let pump = query.pump(&mut cx.within(&self.statement), &mut sink)?;
        let size = self.rows.size();
        cx.client.memory.charge(size.saturating_sub(self.charged))?;
        self.charged = size.max(self.charged);
        Ok(pump)
    }

    /// Tells the targets' rows apart; Some: the slice is over behind this row.
    fn collect(
        &mut self,
        plan: &ChangePlan,
        mut at: Option<RowAt>,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Option<RowAt>>, Failure> {
        while let Some(next) = self.rows.next(at) {
            for (target, run) in plan.targets.iter().zip(&mut self.targets) {
                let parts = 0..run.info.definition.primary_key().len();
                let values: Vec<ValueRef<'_>> =
                    parts.map(|part| self.rows.value(next, target.first + part)).collect();
                if values.contains(&ValueRef::Null) {
                    // The row is missing: of an outer join.
                    continue;
                }
                let mut key = Vec::new();
                run.info.primary_key.encode_values(&values, &mut key);
                if !run.found.contains_key(key.as_slice()) {
                    cx.client.memory.charge(key.len() + KEY_OVERHEAD)?;
                    run.found.insert(key.into(), next);
                }
            }
            at = Some(next);
            if !cx.env.budget.spend(1) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Asks for the next locks of a target. When all rows of all targets are locked, they are written or read again.
    fn lock(&mut self, plan: &ChangePlan, number: usize, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let Some(run) = self.targets.get_mut(number) else {
            self.stage = if self.is_stale {
                Stage::Pause(cx.retry_at(&mut self.attempts, "rows change while they are read")?)
            } else {
                Stage::Write(0)
            };
            return Ok(());
        };
        let from = run.asked.take().map_or(Bound::Unbounded, Bound::Excluded);
        let batch = run.found.range::<Box<[u8]>, _>((from, Bound::Unbounded)).take(BATCH_ROWS);
        let (mut keys, mut last) = (Vec::new(), None);
        for (key, at) in batch {
            match run.locked.get(key) {
                Some(row) => {
                    self.is_stale |= !is_as_read(&plan.targets[number], &run.info, row, &self.rows, *at)
                }
                None => keys.push(key.clone()),
            }
            last = Some(key.clone());
            cx.env.budget.spend(1);
        }
        self.stage = match &last {
            None => Stage::Lock(number + 1),
            Some(_) if keys.is_empty() => Stage::Lock(number),
            Some(_) => {
                let (asked, lock) = (keys.len(), (LockMode::Exclusive, cx.lock_wait()));
                Stage::AwaitLocks(number, LockBatch::start(&run.info, &run.program, keys, lock, cx)?, asked)
            }
        };
        run.asked = last;
        Ok(())
    }

    /// Keeps a row that is locked, and compares it with what was read.
    fn take_locked(
        &mut self,
        target: &Target,
        number: usize,
        row: &KeyedRow,
        cx: &mut Cx<'_>,
    ) -> Result<(), Failure> {
        let run = &mut self.targets[number];
        let bytes = stored_bytes(row, &run.info)?;
        cx.client.memory.charge(bytes.len() + row.primary_key.len() + KEY_OVERHEAD)?;
        let at = run.found.get(&row.primary_key).copied();
        self.is_stale |= !at.is_some_and(|at| is_as_read(target, &run.info, &bytes, &self.rows, at));
        run.locked.insert(row.primary_key.clone(), bytes);
        Ok(())
    }

    /// Forgets what was read, and begins anew; locks stay.
    fn read_again(&mut self, plan: &ChangePlan, cx: &mut Cx<'_>) -> Result<(), Failure> {
        self.rows.clear();
        self.is_stale = false;
        for run in &mut self.targets {
            run.found.clear();
            run.asked = None;
        }
        let query = DerivedRun::new(&plan.query, &mut cx.within(&self.statement))?;
        self.stage = Stage::Read(Box::new(query));
        Ok(())
    }

    /// Writes the next rows of a target.
    fn write(&mut self, plan: &ChangePlan, number: usize, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let (target, run) = (&plan.targets[number], &mut self.targets[number]);
        let warnings = Warnings::default();
        let mut made = Vec::new();
        while made.len() < BATCH_ROWS
            && let Some((key, at)) = run.found.pop_first()
        {
            cx.env.budget.spend(1);
            let Some(old) = run.locked.get(&key) else { continue };
            self.matched += 1;
            match plan.verb {
                ChangeVerb::Delete => {
                    add_delete(&mut self.set, &run.info, &run.indexes, old, made.len());
                    self.changed += 1;
                    made.push(old.clone());
                }
                ChangeVerb::Update => {
                    let assignments = assignments_of(target, &self.rows, at);
                    let is_strict = cx.statement.is_strict;
                    let program = update_program(&assignments, None, &run.info, is_strict, cx)?;
                    if let Evaluated::Changed(new) = evaluate_update(&program, &run.info, old, &warnings)? {
                        self.changed += 1;
                        let change = (old.as_slice(), new.clone().into());
                        add_change(&mut self.set, &run.info, &run.indexes, change, made.len());
                        made.push(new);
                    }
                }
            }
        }
        cx.keep_raised(warnings.take_raised());
        if made.is_empty() {
            self.stage = Stage::Write(if run.found.is_empty() { number + 1 } else { number });
            return Ok(());
        }
        self.set.send(false, cx)?;
        self.stage = Stage::AwaitWrites(number, made);
        Ok(())
    }

    fn on_written(
        &self,
        number: usize,
        made: &[Vec<u8>],
        outcome: WriteOutcome,
        cx: &Cx<'_>,
    ) -> Result<(), Failure> {
        let Some((origin, failed)) = outcome.failed else { return Ok(()) };
        let run = &self.targets[number];
        if let FailedWrite::Refused(Refusal::Duplicate { .. }) = &failed {
            let row = made.get(origin.row as usize).map_or(&[][..], |row| row);
            let zone = cx.statement.settings.time_zone_offset_seconds;
            return Err(Failure::Error(duplicate_error(&run.info, &run.indexes, origin.entry, row, zone)));
        }
        Err(failed.into_failure(&run.info.definition.name))
    }

    fn completion(&self, plan: &ChangePlan, cx: &Cx<'_>) -> Completion {
        let (matched, changed, warnings) = (self.matched, self.changed, cx.client.diagnostics.count());
        match plan.verb {
            ChangeVerb::Delete => Completion { affected_rows: changed, ..Completion::default() },
            ChangeVerb::Update => Completion {
                affected_rows: if cx.statement.options.counts_found { matched } else { changed },
                info: format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}"),
                ..Completion::default()
            },
        }
    }
}

/// Whether all that was read of a row is what it is now.
fn is_as_read(target: &Target, info: &TableAccessInfo, row: &[u8], rows: &RowBuffer, at: RowAt) -> bool {
    let mut columns = (target.first..).zip(&target.columns);
    columns.all(|(position, column)| info.layout.column(row, *column) == rows.value(at, position))
}

/// SET with the values that the query has computed.
fn assignments_of(target: &Target, rows: &RowBuffer, at: RowAt) -> Vec<ColumnAssignment> {
    let assigned = target.assignments.iter();
    assigned
        .map(|(column, value)| {
            let literal = |(position, sql_type): &(usize, SqlType)| {
                Expression::literal(rows.value(at, *position).to_value(), sql_type.clone())
            };
            ColumnAssignment { column: *column, value: value.as_ref().map(literal) }
        })
        .collect()
}
