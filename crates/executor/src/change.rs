//! UPDATE and DELETE whose rows are found by a query: of several tables, or with subqueries.
//!
//! ```text
//! Find (the query: for each target its key, what is read of it, its new values; then all of them are locked)
//!   -> Write (batch by batch) -> done
//! ```
//! [`FoundRows`] sees that the query has read the newest row of every target, so no change is lost. Rows of tables that
//! are only read are taken as they were read. A row that is found more than once is changed once, as it was found
//! first. If its table is changed under several names, that is so for each name, one after the other.
//!
//! Invariant: nothing is written before everything is read and locked.

use crate::conflicts::{Change, ConflictRun, RowOutcome};
use crate::cx::Cx;
use crate::found_rows::{FoundRows, KEY_OVERHEAD, LockedTable};
use crate::modify::update_program;
use crate::outcome::{Completion, Failure, Progress};
use crate::row_buffer::{RowAt, RowBuffer};
use crate::write_set::{
    FailedWrite, HiddenIndexes, WriteOutcome, WriteSet, add_change, add_delete, duplicate_error,
};
use expression::Expression;
use expression::context::Warnings;
use planner::plan::{ChangePlan, ChangeVerb, ColumnAssignment, FoundTable, InsertConflict, Target};
use protocol::program::{LockMode, Refusal};
use query::{Evaluated, evaluate_update};
use std::collections::BTreeMap;
use types::{SqlType, TableId};

/// Rows that are written at once.
const BATCH_ROWS: usize = 256;

/// An UPDATE or DELETE that runs.
pub struct ChangeRun {
    rows: FoundRows,
    /// The unique indexes of each target.
    indexes: Vec<HiddenIndexes>,
    stage: Stage,
    set: WriteSet,
    /// The rows, as they have become, of tables that are changed again under another name.
    changed_rows: BTreeMap<(TableId, Box<[u8]>), Vec<u8>>,
    matched: u64,
    changed: u64,
}

/// A table, a key, and the row that it has got.
type ChangedRow = ((TableId, Box<[u8]>), Vec<u8>);

enum Stage {
    Find,
    /// The next target that is not all written.
    Write(usize),
    /// With the rows of the batch that is on its way.
    AwaitWrites(usize, Vec<Vec<u8>>),
    /// IGNORE: a row whose new keys may not be free, and what it becomes if they are.
    Resolve(usize, Box<ConflictRun>, Option<ChangedRow>),
}

impl ChangeRun {
    /// Begins to read.
    pub fn new(plan: &ChangePlan, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let mut indexes = Vec::with_capacity(plan.targets.len());
        for target in &plan.targets {
            let info = cx.info(&target.found.table)?;
            indexes.push(HiddenIndexes::of(&info, cx)?);
        }
        let lock = (LockMode::Exclusive, cx.lock_wait());
        let tables = plan.targets.iter().map(|target| (&target.found, lock));
        let storing = if plan.ignore { None } else { cx.statement.storing() };
        let rows = FoundRows::new(&plan.query, tables, storing, cx)?;
        let set = WriteSet::default();
        let changed_rows = BTreeMap::new();
        Ok(Self { rows, indexes, stage: Stage::Find, set, changed_rows, matched: 0, changed: 0 })
    }

    /// Goes on with the statement that `plan` says.
    pub fn step(&mut self, plan: &ChangePlan, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Find) {
                Stage::Find => {
                    let tables: Vec<&FoundTable> = plan.targets.iter().map(|target| &target.found).collect();
                    if let Some(progress) = self.rows.step(&plan.query, &tables, cx)? {
                        return Ok(progress);
                    }
                    self.stage = Stage::Write(0);
                }
                Stage::Write(number) => {
                    if number >= plan.targets.len() {
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
                Stage::Resolve(number, mut run, changed) => {
                    let parts = (&*self.rows.tables[number].info, &self.indexes[number]);
                    let outcome = match run.poll(&mut self.set, &InsertConflict::Ignore, None, parts, cx)? {
                        Ok(outcome) => outcome,
                        Err(pending) => {
                            self.stage = Stage::Resolve(number, run, changed);
                            return Ok(pending.into());
                        }
                    };
                    if let RowOutcome::Ignored(error) = outcome {
                        cx.client.diagnostics.warn(error.code, error.message);
                    } else {
                        self.changed += 1;
                        self.changed_rows.extend(changed);
                    }
                    self.stage = Stage::Write(number);
                }
            }
        }
    }

    /// Writes the next rows of a target.
    fn write(&mut self, plan: &ChangePlan, number: usize, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let (before, rest) = self.rows.tables.split_at_mut(number);
        let Some((run, behind)) = rest.split_first_mut() else { return Ok(()) };
        let target = &plan.targets[number];
        let id = run.info.definition.id;
        let is_same = |other: &LockedTable| other.info.definition.id == id;
        let is_changed_again = behind.iter().any(is_same);
        let indexes = &self.indexes[number];
        let warnings = Warnings::default();
        let mut made = Vec::new();
        while made.len() < BATCH_ROWS
            && let Some((key, at)) = run.found.pop_first()
        {
            cx.env.budget.spend(1);
            let Some(old) = run.locked.get(&key) else { continue };
            let is_done = before.iter().any(|other| is_same(other) && other.locked.contains_key(&key));
            self.matched += 1;
            match plan.verb {
                ChangeVerb::Delete if is_done => self.matched -= 1,
                ChangeVerb::Delete => {
                    add_delete(&mut self.set, &run.info, indexes, old, made.len());
                    self.changed += 1;
                    made.push(old.clone());
                }
                ChangeVerb::Update => {
                    let place = (id, key);
                    let old = self.changed_rows.get(&place).unwrap_or(old);
                    let assignments = assignments_of(target, &self.rows.rows, at);
                    let is_strict = cx.statement.is_strict && !plan.ignore;
                    let program = update_program(&assignments, None, &run.info, is_strict, cx)?;
                    let evaluated = evaluate_update(&program, &run.info, old, &warnings)?;
                    let Evaluated::Changed(new) = evaluated else { continue };
                    if is_changed_again {
                        cx.client.memory.charge(new.len() + place.1.len() + KEY_OVERHEAD)?;
                    }
                    if plan.ignore {
                        let change = Change { old: old.as_slice().into(), new: new.clone().into() };
                        let resolving = ConflictRun::start_change(0, change, &run.info, indexes, cx)?;
                        cx.keep_raised(warnings.take_raised());
                        let changed = is_changed_again.then_some((place, new));
                        self.stage = Stage::Resolve(number, Box::new(resolving), changed);
                        return Ok(());
                    }
                    self.changed += 1;
                    let change = (old.as_slice(), new.clone().into());
                    add_change(&mut self.set, &run.info, indexes, change, made.len());
                    if is_changed_again {
                        self.changed_rows.insert(place, new.clone());
                    }
                    made.push(new);
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
        let run = &self.rows.tables[number];
        if let FailedWrite::Refused(Refusal::Duplicate { .. }) = &failed {
            let row = made.get(origin.row as usize).map_or(&[][..], |row| row);
            let zone = cx.statement.settings.time_zone_offset_seconds;
            return Err(Failure::Error(duplicate_error(
                &run.info,
                &self.indexes[number],
                origin.entry,
                row,
                zone,
            )));
        }
        Err(failed.into_failure(&run.info.definition.name))
    }

    fn completion(&self, plan: &ChangePlan, cx: &Cx<'_>) -> Completion {
        let (matched, changed, warnings) = (self.matched, self.changed, cx.client.diagnostics.count());
        match plan.verb {
            ChangeVerb::Delete => Completion { affected_rows: changed, ..Completion::default() },
            ChangeVerb::Update => {
                Completion::of_update(cx.statement.options.counts_found, matched, changed, warnings)
            }
        }
    }
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
