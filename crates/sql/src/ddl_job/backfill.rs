//! Fills the hidden table of a new unique index: every row's entry, a batch at a time, each batch a transaction.
//!
//! Rows are locked shared and read in their newest versions. So a writer that keeps the index right already (it is
//! write-only) and this run never disagree: the first of them inserts the entry, the other finds it there. An entry
//! that points to another row is a duplicate: the index cannot be made (1062).

use executor::commit::{CommitRun, CommitStart, start_commit};
use executor::conflicts::{stored_bytes, stored_rows};
use executor::locked_reader::LockBatch;
use executor::row_builder::primary_key_of;
use executor::table_reader::{Collector, KeyedRow, Order, Pump, TableReader, Target};
use executor::write_set::{FailedWrite, HiddenIndexes, Origin, WriteSet, duplicate_error};
use executor::{Completion, Cx, Failure, Progress, failure_of};
use protocol::SqlError;
use protocol::program::{
    KeyRange, LockMode, OnDuplicate, OperationResult, ReadOutput, TableRef, WriteOperation,
};
use protocol::signal::CommitOutcome;
use query::TableAccessInfo;
use std::sync::Arc;
use stdx::Duration;
use types::IndexId;

/// Rows of one transaction.
const BATCH_ROWS: usize = 256;

enum Stage {
    Find,
    Lock(LockBatch),
    Insert {
        set: WriteSet,
        rows: Vec<Vec<u8>>,
    },
    /// Entries that were there already: do they point to the same rows?
    Compare {
        batch: LockBatch,
        rows: Vec<Vec<u8>>,
    },
    Commit(CommitRun),
}

/// The run.
pub(super) struct UniqueBackfill {
    info: Arc<TableAccessInfo>,
    indexes: HiddenIndexes,
    /// Which of them is filled.
    position: usize,
    keys: TableReader,
    is_end: bool,
    stage: Stage,
    /// How long it waits for rows that others have locked, at most.
    patience: Duration,
}

impl UniqueBackfill {
    pub(super) fn new(
        table: TableRef,
        index: IndexId,
        hidden: TableRef,
        patience: Duration,
        cx: &mut Cx<'_>,
    ) -> Result<Self, Failure> {
        let info = cx.hidden_info(table.id)?;
        let indexes = HiddenIndexes::of(&info, cx)?;
        let position = indexes.0.iter().position(|other| other.hidden.definition.id == hidden.id);
        let position = position.ok_or(Failure::WrongSchema)?;
        let _ = index;
        let mut program = TableReader::program(&info, None, ReadOutput::Columns(Vec::new()), cx.statement);
        program.with_primary_key = true;
        let target = Target::Ranges(IndexId(0), vec![KeyRange::all()]);
        let keys = TableReader::new(&info, program, target, Order::Any, None);
        Ok(Self { info, indexes, position, keys, is_end: false, stage: Stage::Find, patience })
    }

    pub(super) fn step(&mut self, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Find) {
                Stage::Find => {
                    if self.is_end {
                        return Ok(Progress::Done(Completion::default()));
                    }
                    if let Some(progress) = self.find(cx)? {
                        return Ok(progress);
                    }
                }
                Stage::Lock(mut batch) => match batch.poll(cx)? {
                    Err(pending) => {
                        self.stage = Stage::Lock(batch);
                        return Ok(pending.into());
                    }
                    Ok(rows) => self.insert(&rows, cx)?,
                },
                Stage::Insert { mut set, rows } => match set.poll(cx) {
                    None => {
                        self.stage = Stage::Insert { set, rows };
                        return Ok(Progress::Wait);
                    }
                    Some(outcome) => {
                        if let Some((_, failed)) = outcome.failed {
                            return Err(FailedWrite::into_failure(failed, &self.info.definition.name));
                        }
                        let there = outcome
                            .results
                            .iter()
                            .filter(|(_, result)| *result == OperationResult::Duplicate);
                        let there: Vec<usize> = there.map(|(origin, _)| origin.row as usize).collect();
                        self.compare(&rows, &there, cx)?;
                    }
                },
                Stage::Compare { mut batch, rows } => match batch.poll(cx)? {
                    Err(pending) => {
                        self.stage = Stage::Compare { batch, rows };
                        return Ok(pending.into());
                    }
                    Ok(entries) => self.check(&entries, &rows, cx)?,
                },
                Stage::Commit(mut commit) => match commit.poll(cx.client, &mut cx.env) {
                    None => {
                        self.stage = Stage::Commit(commit);
                        return Ok(Progress::Wait);
                    }
                    Some(outcome) => {
                        cx.client.transaction.end();
                        match outcome {
                            CommitOutcome::Committed(epoch) => cx.client.transaction.see(epoch),
                            CommitOutcome::Aborted(refusal) => {
                                return Err(failure_of(refusal, &self.info.definition.name));
                            }
                            CommitOutcome::Unknown => {
                                return Err(Failure::Error(SqlError::deadlock(
                                    "a node was lost during the backfill",
                                )));
                            }
                        }
                    }
                },
            }
        }
    }

    /// Finds the next batch's keys; Some: poll again later.
    fn find(&mut self, cx: &mut Cx<'_>) -> Result<Option<Progress>, Failure> {
        let mut collector = Collector::new(BATCH_ROWS, true);
        let pump = self.keys.pump(cx, &mut collector)?;
        if collector.rows.is_empty() {
            match pump {
                Pump::Wait => return Ok(Some(Progress::Wait)),
                Pump::Spent | Pump::Rows => return Ok(Some(Progress::Spent)),
                Pump::End => {
                    self.is_end = true;
                    return Ok(None);
                }
            }
        }
        cx.client.transaction.start_statement();
        let keys = collector.rows.into_iter().map(|row| row.primary_key).collect();
        let program = stored_rows(&self.info, None, cx);
        let lock = (LockMode::Shared, super::row_wait(self.patience, cx));
        self.stage = Stage::Lock(LockBatch::start(&self.info, &program, keys, lock, cx)?);
        Ok(None)
    }

    fn insert(&mut self, locked: &[KeyedRow], cx: &mut Cx<'_>) -> Result<(), Failure> {
        let index = &self.indexes.0[self.position];
        let mut set = WriteSet::default();
        let mut rows = Vec::with_capacity(locked.len());
        for row in locked {
            let bytes = stored_bytes(row, &self.info)?;
            if let Some(key) = index.key_of(&self.info, &bytes) {
                let entry = index.entry_of(&self.info, &bytes);
                let insert = WriteOperation::Insert { key, row: entry, on_duplicate: OnDuplicate::Ignore };
                set.add(&index.hidden, insert, Origin::row(rows.len()));
                rows.push(bytes);
            }
        }
        set.send(false, cx)?;
        self.stage = Stage::Insert { set, rows };
        Ok(())
    }

    /// Reads the entries that were there.
    fn compare(&mut self, rows: &[Vec<u8>], there: &[usize], cx: &mut Cx<'_>) -> Result<(), Failure> {
        if there.is_empty() {
            return self.commit(cx);
        }
        let index = &self.indexes.0[self.position];
        let rows: Vec<Vec<u8>> = there.iter().filter_map(|position| rows.get(*position).cloned()).collect();
        let keys = rows.iter().filter_map(|row| index.key_of(&self.info, row)).collect();
        let program = stored_rows(&index.hidden, None, cx);
        let lock = (LockMode::Shared, super::row_wait(self.patience, cx));
        let batch = LockBatch::start(&index.hidden, &program, keys, lock, cx)?;
        self.stage = Stage::Compare { batch, rows };
        Ok(())
    }

    fn check(&mut self, entries: &[KeyedRow], rows: &[Vec<u8>], cx: &mut Cx<'_>) -> Result<(), Failure> {
        let index = &self.indexes.0[self.position];
        for row in rows {
            let key = index.key_of(&self.info, row);
            // Several rows may want one key: then its entry is that of the first.
            let entry = entries.iter().find(|entry| Some(&entry.primary_key) == key.as_ref());
            let owner = match entry {
                Some(entry) => index.primary_key_in(&self.info, &stored_bytes(entry, &index.hidden)?),
                None => None,
            };
            if owner != Some(primary_key_of(&self.info, row)) {
                let entry = u16::try_from(self.position).ok();
                return Err(Failure::Error(duplicate_error(&self.info, &self.indexes, entry, row, 0)));
            }
        }
        self.commit(cx)
    }

    fn commit(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        match start_commit(cx.client, &mut cx.env) {
            CommitStart::Sent(commit) => self.stage = Stage::Commit(commit),
            CommitStart::Nothing => self.stage = Stage::Find,
            CommitStart::Refused(why) => return Err(Failure::Error(SqlError::deadlock(why))),
        }
        Ok(())
    }
}
