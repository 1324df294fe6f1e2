//! One row of INSERT IGNORE, REPLACE or ON DUPLICATE KEY UPDATE into a table with unique indexes, or of UPDATE IGNORE
//! that changes keys.
//!
//! ```text
//! Probe: lock the row's primary key and all its unique keys, absent ones too, and read what is there
//!   -> Others: lock and read the rows that its unique keys belong to
//!   -> decide -> Write -> done
//!   -> decide -> Probe (the keys that IGNORE … ON DUPLICATE KEY UPDATE gives the row that is there) -> ...
//! ```
//! Once the keys are locked nobody else can insert them, so the decision holds until the writes are staged.
//!
//! A row in the way that has the primary key that was *drawn* for the new one is no duplicate: the statement runs again
//! with other values.
//!
//! Invariant: for ON DUPLICATE KEY UPDATE the row in the way is the one of the first conflicting key. The primary key
//! comes first, then unique indexes in their order, as in MySQL.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "duplicates are told by their key, all other failures alike"
)]

use crate::cx::Cx;
use crate::locked_reader::LockBatch;
use crate::outcome::{Failure, Pending};
use crate::row_builder::primary_key_of;
use crate::table_reader::KeyedRow;
pub use crate::table_reader::{stored_bytes, stored_rows};
use crate::write_set::{
    FailedWrite, HiddenIndexes, WriteSet, add_change, add_delete, add_insert, duplicate_error,
};
use expression::context::Warnings;
use planner::plan::InsertConflict;
use protocol::SqlError;
use protocol::program::{LockMode, Refusal, UpdateProgram};
use query::{Evaluated, TableAccessInfo, evaluate_insert_conflict};
use types::{ColumnIndex, ValueRef};

/// The fate of the row.
#[derive(Debug)]
pub enum RowOutcome {
    Inserted,
    /// IGNORE: the warning.
    Ignored(SqlError),
    /// REPLACE: how many rows were deleted for it.
    Replaced(u64),
    Updated {
        /// The value of the row that was updated: see [`ConflictRun::start`].
        id: Option<u64>,
    },
    Unchanged {
        /// The value of the row that stays.
        id: Option<u64>,
    },
}

/// A row that is there, and what is to become of it.
pub struct Change {
    pub old: Box<[u8]>,
    pub new: Box<[u8]>,
}

/// The change that follows from the keys that exist.
enum Decision {
    /// The changes are in the set.
    Write(RowOutcome),
    /// Another row changes instead, if its new keys are free.
    Probe(Change),
}

/// A key of the new row that another row has.
struct Conflict {
    /// The unique index; None: the primary key.
    entry: Option<u16>,
    primary_key: Box<[u8]>,
}

enum Stage {
    Probe {
        base: LockBatch,
        entries: Vec<(usize, LockBatch)>,
        found: Vec<Conflict>,
        base_row: Option<KeyedRow>,
        is_base_done: bool,
    },
    Others {
        conflicts: Vec<Conflict>,
        rows: Vec<KeyedRow>,
        batch: LockBatch,
    },
    Write(RowOutcome),
    Over,
}

/// The row on its way.
pub struct ConflictRun {
    number: usize,
    row: Box<[u8]>,
    /// The value that was drawn for its primary key.
    drawn_key: Option<u64>,
    /// The stored row that becomes `row`; None: `row` is new.
    old: Option<Box<[u8]>>,
    /// The column whose value the outcome tells.
    id_column: Option<ColumnIndex>,
    stage: Stage,
}

impl ConflictRun {
    /// Locks a new row's keys. If another row is changed instead, the outcome tells its value of `id_column`.
    pub fn start(
        number: usize,
        row: Box<[u8]>,
        (drawn_key, id_column): (Option<u64>, Option<ColumnIndex>),
        (info, indexes): (&TableAccessInfo, &HiddenIndexes),
        cx: &mut Cx<'_>,
    ) -> Result<Self, Failure> {
        let stage = Self::probe(&row, info, indexes, cx)?;
        Ok(Self { number, row, drawn_key, old: None, id_column, stage })
    }

    /// Locks the keys that a locked row is to have.
    pub(crate) fn start_change(
        number: usize,
        change: Change,
        info: &TableAccessInfo,
        indexes: &HiddenIndexes,
        cx: &mut Cx<'_>,
    ) -> Result<Self, Failure> {
        let stage = Self::probe(&change.new, info, indexes, cx)?;
        let id_column = info.definition.auto_increment;
        Ok(Self { number, row: change.new, drawn_key: None, old: Some(change.old), id_column, stage })
    }

    fn probe(
        row: &[u8],
        info: &TableAccessInfo,
        indexes: &HiddenIndexes,
        cx: &mut Cx<'_>,
    ) -> Result<Stage, Failure> {
        let lock = (LockMode::Exclusive, cx.lock_wait());
        let mut entries = Vec::new();
        for (position, index) in indexes.0.iter().enumerate() {
            if let Some(key) = index.key_of(info, row) {
                let program = stored_rows(&index.hidden, None, cx);
                entries.push((position, LockBatch::start(&index.hidden, &program, vec![key], lock, cx)?));
            }
        }
        let program = stored_rows(info, None, cx);
        let base = LockBatch::start(info, &program, vec![primary_key_of(info, row)], lock, cx)?;
        Ok(Stage::Probe { base, entries, found: Vec::new(), base_row: None, is_base_done: false })
    }

    /// Goes on to what becomes of the row.
    pub fn poll(
        &mut self,
        set: &mut WriteSet,
        conflict: &InsertConflict,
        update: Option<&UpdateProgram>,
        (info, indexes): (&TableAccessInfo, &HiddenIndexes),
        cx: &mut Cx<'_>,
    ) -> Result<Result<RowOutcome, Pending>, Failure> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                stage @ Stage::Probe { .. } => {
                    if let Some(pending) = self.poll_probe(stage, (info, indexes), cx)? {
                        return Ok(Err(pending));
                    }
                }
                Stage::Others { conflicts, mut rows, mut batch } => {
                    match batch.poll(cx)? {
                        Ok(others) => rows.extend(others),
                        Err(pending) => {
                            self.stage = Stage::Others { conflicts, rows, batch };
                            return Ok(Err(pending));
                        }
                    }
                    match self.decide((&conflicts, &rows), set, (conflict, update), (info, indexes), cx)? {
                        Decision::Probe(change) => {
                            let id_column = self.id_column;
                            let change = Self::start_change(self.number, change, info, indexes, cx)?;
                            *self = Self { id_column, ..change };
                        }
                        Decision::Write(outcome) => {
                            set.send(false, cx)?;
                            self.stage = Stage::Write(outcome);
                        }
                    }
                }
                Stage::Write(outcome) => {
                    let Some(written) = set.poll(cx) else {
                        self.stage = Stage::Write(outcome);
                        return Ok(Err(Pending::Wait));
                    };
                    if let Some((origin, failed)) = written.failed {
                        return Err(match failed {
                            FailedWrite::Refused(Refusal::Duplicate { .. }) => {
                                let zone = cx.statement.settings.time_zone_offset_seconds;
                                Failure::Error(duplicate_error(info, indexes, origin.entry, &self.row, zone))
                            }
                            failed => failed.into_failure(&info.definition.name),
                        });
                    }
                    return Ok(Ok(outcome));
                }
                Stage::Over => return Ok(Err(Pending::Wait)),
            }
        }
    }

    /// Takes what the row's keys show; None: all have.
    fn poll_probe(
        &mut self,
        stage: Stage,
        (info, indexes): (&TableAccessInfo, &HiddenIndexes),
        cx: &mut Cx<'_>,
    ) -> Result<Option<Pending>, Failure> {
        let Stage::Probe { mut base, entries, mut found, mut base_row, mut is_base_done } = stage else {
            return Ok(None);
        };
        let (mut still_open, mut pending) = (Vec::new(), Pending::Wait);
        for (position, mut batch) in entries {
            match batch.poll(cx)? {
                Err(why) => {
                    pending = pending.or(why);
                    still_open.push((position, batch));
                }
                Ok(rows) => {
                    let index = &indexes.0[position];
                    for row in &rows {
                        let bytes = stored_bytes(row, &index.hidden)?;
                        let primary_key =
                            index.primary_key_in(info, &bytes).ok_or_else(super::table_reader::malformed)?;
                        found.push(Conflict { entry: u16::try_from(position).ok(), primary_key });
                    }
                }
            }
        }
        if !is_base_done {
            match base.poll(cx)? {
                Err(why) => pending = pending.or(why),
                Ok(rows) => (is_base_done, base_row) = (true, rows.into_iter().next()),
            }
        }
        if !still_open.is_empty() || !is_base_done {
            self.stage = Stage::Probe { base, entries: still_open, found, base_row, is_base_done };
            return Ok(Some(pending));
        }
        if let Some(row) = &base_row {
            found.push(Conflict { entry: None, primary_key: row.primary_key.clone() });
        }
        found.sort_by_key(|conflict| conflict.entry);
        let rows: Vec<KeyedRow> = base_row.into_iter().collect();
        let mut others: Vec<Box<[u8]>> = found
            .iter()
            .map(|conflict| conflict.primary_key.clone())
            .filter(|key| rows.iter().all(|row| row.primary_key != *key))
            .collect();
        others.sort_unstable();
        others.dedup();
        let program = stored_rows(info, None, cx);
        let lock = (LockMode::Exclusive, cx.lock_wait());
        let batch = LockBatch::start(info, &program, others, lock, cx)?;
        self.stage = Stage::Others { conflicts: found, rows, batch };
        Ok(None)
    }

    /// The fate of the row, and the changes for it.
    fn decide(
        &self,
        (conflicts, rows): (&[Conflict], &[KeyedRow]),
        set: &mut WriteSet,
        (conflict, update): (&InsertConflict, Option<&UpdateProgram>),
        (info, indexes): (&TableAccessInfo, &HiddenIndexes),
        cx: &mut Cx<'_>,
    ) -> Result<Decision, Failure> {
        if let Some(old) = &self.old {
            return Ok(Decision::Write(self.decide_change(old, conflicts, set, (info, indexes), cx)));
        }
        let zone = cx.statement.settings.time_zone_offset_seconds;
        let Some(first) = conflicts.first() else {
            add_insert(set, info, indexes, self.row.clone(), self.number);
            return Ok(Decision::Write(RowOutcome::Inserted));
        };
        if self.drawn_key.is_some() && conflicts.iter().any(|conflict| conflict.entry.is_none()) {
            return Err(Failure::DrawnTaken(duplicate_error(info, indexes, None, &self.row, zone)));
        }
        let error = || duplicate_error(info, indexes, first.entry, &self.row, zone);
        match (conflict, update) {
            (InsertConflict::Ignore, _) => Ok(Decision::Write(RowOutcome::Ignored(error()))),
            (InsertConflict::Replace, _) => {
                for row in rows {
                    add_delete(set, info, indexes, &stored_bytes(row, info)?, self.number);
                }
                add_insert(set, info, indexes, self.row.clone(), self.number);
                Ok(Decision::Write(RowOutcome::Replaced(rows.len() as u64)))
            }
            (InsertConflict::Update(_) | InsertConflict::UpdateIgnoring(_), Some(program)) => {
                let Some(row) = rows.iter().find(|row| row.primary_key == first.primary_key) else {
                    return Err(Failure::Error(error()));
                };
                let old = stored_bytes(row, info)?;
                let warnings = Warnings::default();
                let evaluated = evaluate_insert_conflict(program, info, &old, &self.row, &warnings)?;
                cx.keep_raised(warnings.take_raised());
                Ok(match evaluated {
                    Evaluated::Changed(new) if matches!(conflict, InsertConflict::UpdateIgnoring(_)) => {
                        Decision::Probe(Change { old: old.into(), new: new.into() })
                    }
                    Evaluated::Changed(new) => {
                        let id = self.id_of(info, &new);
                        add_change(set, info, indexes, (&old, new.into()), self.number);
                        Decision::Write(RowOutcome::Updated { id })
                    }
                    Evaluated::Unchanged | Evaluated::NotMatched => {
                        Decision::Write(RowOutcome::Unchanged { id: self.id_of(info, &old) })
                    }
                })
            }
            (InsertConflict::Fail | InsertConflict::Update(_) | InsertConflict::UpdateIgnoring(_), _) => {
                Err(Failure::Error(error()))
            }
        }
    }

    /// IGNORE: a row changes only if no other one has its new keys.
    fn decide_change(
        &self,
        old: &[u8],
        conflicts: &[Conflict],
        set: &mut WriteSet,
        (info, indexes): (&TableAccessInfo, &HiddenIndexes),
        cx: &Cx<'_>,
    ) -> RowOutcome {
        let own = primary_key_of(info, old);
        if let Some(other) = conflicts.iter().find(|conflict| conflict.primary_key != own) {
            let zone = cx.statement.settings.time_zone_offset_seconds;
            return RowOutcome::Ignored(duplicate_error(info, indexes, other.entry, &self.row, zone));
        }
        add_change(set, info, indexes, (old, self.row.clone()), self.number);
        RowOutcome::Updated { id: self.id_of(info, &self.row) }
    }

    /// The value that the outcome tells of a row.
    fn id_of(&self, info: &TableAccessInfo, row: &[u8]) -> Option<u64> {
        match info.layout.column(row, self.id_column?) {
            ValueRef::Int(id) => u64::try_from(id).ok(),
            ValueRef::UInt(id) => Some(id),
            _ => None,
        }
    }
}
