//! Writes the rows of a table, which nobody changes any more, into the copy that takes its place: a batch at a time,
//! each batch a transaction.
//!
//! ```text
//! Find (the next keys) -> Lock (the rows, shared) -> Insert (each row and its unique entries)
//!      ^                                                |  some are there already
//!      |                                                v
//!      +------------------- Commit <------- Compare (are they this row's?)
//! Find --end--> [Count, if a row could be another's] -> [Sequence] -> done
//! ```
//! The old rows are locked so that the batch cannot commit when the old table is gone: a runner that has no lock any
//! more, without knowing, does no harm.
//!
//! **Rows that are there already** are those of an earlier run, or of another runner, if nothing else can have their
//! key. An entry of a unique index says whose it is. A row does, too, if the primary key stays what it was. Else the
//! row must have the same bytes, and in the end there must be as many rows as before: two rows that became one are a
//! duplicate (1062).
//!
//! **AUTO_INCREMENT** goes on above what the old table has drawn, and above every value that was copied. Values that
//! this node has reserved last, and not drawn, are used by the new table; those that others have left are passed over.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an answer of another kind is none; a drawn value is an integer"
)]

use catalogue::TableCopy;
use executor::commit::{CommitRun, CommitStart, start_commit};
use executor::conflicts::{stored_bytes, stored_rows};
use executor::copied_row::CopiedRows;
use executor::inbox::{Reply, RequestKind};
use executor::locked_reader::LockBatch;
use executor::row_builder::primary_key_of;
use executor::table_reader::{Collector, KeyedRow, Order, Pump, TableReader, Target};
use executor::write_set::{FailedWrite, HiddenIndexes, Origin, WriteSet, duplicate_error};
use executor::{Completion, Cx, Failure, Pending, Progress, failure_of, warnings_of};
use planner::plan::ScanDirection;
use protocol::program::{KeyRange, LockMode, OnDuplicate, OperationResult, ReadOutput, WriteOperation};
use protocol::signal::{CommitOutcome, RequestId};
use protocol::{Address, Signal, SqlError};
use query::TableAccessInfo;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::Duration;
use types::{IndexId, TableId, ValueRef};

/// Rows of one transaction.
const BATCH_ROWS: usize = 256;

enum Stage {
    Find,
    Lock(LockBatch),
    Insert {
        set: WriteSet,
        rows: Vec<Box<[u8]>>,
    },
    /// Rows (None) and entries of unique indexes were there already, each with the numbers of the rows that met it.
    Compare {
        batch: LockBatch,
        index: Option<usize>,
        met: Vec<usize>,
        rest: BTreeMap<Option<usize>, Vec<usize>>,
        rows: Vec<Box<[u8]>>,
    },
    Commit(CommitRun),
    /// Counts the rows of the copy.
    Count {
        reader: TableReader,
        count: u64,
    },
    /// The next value of the old table's sequence.
    Draw(RequestId),
    Raise(RequestId),
    Done,
}

/// The run.
pub(super) struct CopyRun {
    task: Box<TableCopy>,
    from: Arc<TableAccessInfo>,
    to: Arc<TableAccessInfo>,
    indexes: HiddenIndexes,
    keys: TableReader,
    is_end: bool,
    stage: Stage,
    /// How long it waits for rows that others have locked, at most.
    patience: Duration,
    /// Rows read so far.
    rows: u64,
    /// The highest value that rows have in columns that draw one.
    highest: u64,
    /// A row that may have taken the place of another, which had the same bytes.
    suspect: Option<Box<[u8]>>,
}

impl CopyRun {
    pub(super) fn new(task: Box<TableCopy>, patience: Duration, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let (from, to) = (cx.hidden_info(task.from.id)?, cx.hidden_info(task.to.id)?);
        if from.definition.version != task.from.version || task.columns.len() != to.definition.columns.len() {
            return Err(Failure::WrongSchema);
        }
        let indexes = HiddenIndexes::of(&to, cx)?;
        let mut program = TableReader::program(&from, None, ReadOutput::Columns(Vec::new()), cx.statement);
        program.with_primary_key = true;
        // In order: the row that an error names is always the same.
        program.with_index_key = true;
        let target = Target::Ranges(IndexId(0), vec![KeyRange::all()]);
        let keys = TableReader::new(&from, program, target, Order::Key(ScanDirection::Forward), None);
        let (stage, suspect) = (Stage::Find, None);
        let (rows, highest) = (0, task.at_least);
        Ok(Self { task, from, to, indexes, keys, is_end: false, stage, patience, rows, highest, suspect })
    }

    /// Rows read so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn step(&mut self, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        loop {
            let waits = match std::mem::replace(&mut self.stage, Stage::Find) {
                Stage::Find if self.is_end => self.finish_rows(cx),
                Stage::Find => self.find(cx)?,
                Stage::Lock(mut batch) => match batch.poll(cx)? {
                    Err(pending) => self.pause(Stage::Lock(batch), pending),
                    Ok(rows) => self.insert(&rows, cx)?,
                },
                Stage::Insert { set, rows } => self.poll_insert(set, rows, cx)?,
                Stage::Compare { mut batch, index, met, rest, rows } => match batch.poll(cx)? {
                    Err(pending) => self.pause(Stage::Compare { batch, index, met, rest, rows }, pending),
                    Ok(found) => {
                        self.check(&found, index, &met, &rows)?;
                        self.compare(rest, rows, cx)?
                    }
                },
                Stage::Commit(commit) => self.poll_commit(commit, cx)?,
                Stage::Count { reader, count } => self.count(reader, count, cx)?,
                Stage::Draw(request) => self.poll_draw(request, cx)?,
                Stage::Raise(request) => self.poll_raise(request, cx)?,
                Stage::Done => {
                    let warnings = cx.client.diagnostics.count();
                    let info = format!("Records: {}  Duplicates: 0  Warnings: {warnings}", self.rows);
                    let done =
                        Completion { affected_rows: self.rows, info: info.into(), ..Completion::default() };
                    return Ok(Progress::Done(done));
                }
            };
            if let Some(progress) = waits {
                return Ok(progress);
            }
        }
    }

    fn wait(&mut self, stage: Stage) -> Option<Progress> {
        self.pause(stage, Pending::Wait)
    }

    fn pause(&mut self, stage: Stage, pending: Pending) -> Option<Progress> {
        self.stage = stage;
        Some(pending.into())
    }

    // ---- rows -------------------------------------------------------------------------------------------------------

    /// Finds the next batch's keys.
    fn find(&mut self, cx: &mut Cx<'_>) -> Result<Option<Progress>, Failure> {
        let mut collector = Collector::new(BATCH_ROWS, true);
        let pump = self.keys.pump(cx, &mut collector)?;
        if collector.rows.is_empty() {
            return Ok(match pump {
                Pump::Wait => Some(Progress::Wait),
                Pump::Spent | Pump::Rows => Some(Progress::Spent),
                Pump::End => {
                    self.is_end = true;
                    None
                }
            });
        }
        cx.client.transaction.start_statement();
        let keys = collector.rows.into_iter().map(|row| row.primary_key).collect();
        let program = stored_rows(&self.from, None, cx);
        let lock = (LockMode::Shared, super::row_wait(self.patience, cx));
        self.stage = Stage::Lock(LockBatch::start(&self.from, &program, keys, lock, cx)?);
        Ok(None)
    }

    fn insert(&mut self, locked: &[KeyedRow], cx: &mut Cx<'_>) -> Result<Option<Progress>, Failure> {
        let copied = CopiedRows {
            from: &self.from,
            to: &self.to,
            columns: &self.task.columns,
            at_least: self.task.at_least,
        };
        let context = self.task.context.evaluation();
        let mut set = WriteSet::default();
        let mut rows = Vec::with_capacity(locked.len());
        for row in locked {
            self.rows += 1;
            let bytes = copied.row(self.rows, &stored_bytes(row, &self.from)?, &context)?;
            for (position, index) in self.indexes.0.iter().enumerate() {
                if let Some(key) = index.key_of(&self.to, &bytes) {
                    let entry = index.entry_of(&self.to, &bytes);
                    let insert =
                        WriteOperation::Insert { key, row: entry, on_duplicate: OnDuplicate::Ignore };
                    set.add(&index.hidden, insert, Origin::entry(rows.len(), position));
                }
            }
            let key = primary_key_of(&self.to, &bytes);
            let insert =
                WriteOperation::Insert { key, row: bytes.clone(), on_duplicate: OnDuplicate::Ignore };
            set.add(&self.to, insert, Origin::row(rows.len()));
            self.highest = self.highest.max(drawn_value(&self.to, &bytes));
            rows.push(bytes);
        }
        cx.client.diagnostics.add_all(warnings_of(&context));
        set.send(false, cx)?;
        self.stage = Stage::Insert { set, rows };
        Ok(None)
    }

    fn poll_insert(
        &mut self,
        mut set: WriteSet,
        rows: Vec<Box<[u8]>>,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Progress>, Failure> {
        let Some(outcome) = set.poll(cx) else { return Ok(self.wait(Stage::Insert { set, rows })) };
        if let Some((_, failed)) = outcome.failed {
            return Err(FailedWrite::into_failure(failed, &self.from.definition.name));
        }
        let mut met: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (origin, result) in outcome.results {
            let is_own = origin.entry.is_none() && self.keeps_primary_key();
            if result == OperationResult::Duplicate && !is_own {
                met.entry(origin.entry.map(usize::from)).or_default().push(origin.row as usize);
            }
        }
        self.compare(met, rows, cx)
    }

    // ---- what was there already -------------------------------------------------------------------------------------

    /// Whether each row has the primary key that it had: the same columns of the same types.
    fn keeps_primary_key(&self) -> bool {
        let (from, to) = (&self.from.definition, &self.to.definition);
        let is_kept = |(before, after): (&types::KeyPart, &types::KeyPart)| {
            let source = self.task.columns.get(usize::from(after.column.0)).copied().flatten();
            let types = (&from.column_at(before.column).sql_type, &to.column_at(after.column).sql_type);
            source == Some(before.column) && types.0 == types.1
        };
        let (before, after) = (from.primary_key(), to.primary_key());
        before.len() == after.len() && before.iter().zip(after).all(is_kept)
    }

    /// Reads the next of what was there; commits if nothing is left.
    fn compare(
        &mut self,
        mut rest: BTreeMap<Option<usize>, Vec<usize>>,
        rows: Vec<Box<[u8]>>,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Progress>, Failure> {
        let Some((index, met)) = rest.pop_first() else { return self.commit(cx) };
        let own = index.map(|index| &self.indexes.0[index]);
        let table = own.map_or(&self.to, |index| &index.hidden);
        let key = |row: &[u8]| match own {
            Some(index) => index.key_of(&self.to, row),
            None => Some(primary_key_of(&self.to, row)),
        };
        let mut keys: Vec<Box<[u8]>> =
            met.iter().filter_map(|row| rows.get(*row)).filter_map(|row| key(row)).collect();
        keys.sort_unstable();
        keys.dedup();
        let program = stored_rows(table, None, cx);
        let lock = (LockMode::Shared, super::row_wait(self.patience, cx));
        let batch = LockBatch::start(table, &program, keys, lock, cx)?;
        self.stage = Stage::Compare { batch, index, met, rest, rows };
        Ok(None)
    }

    /// 1062 if what was there is another row's.
    fn check(
        &mut self,
        found: &[KeyedRow],
        index: Option<usize>,
        met: &[usize],
        rows: &[Box<[u8]>],
    ) -> Result<(), Failure> {
        for row in met.iter().filter_map(|row| rows.get(*row)) {
            let own_key = primary_key_of(&self.to, row);
            let is_own = match index.map(|index| &self.indexes.0[index]) {
                Some(index) => {
                    let key = index.key_of(&self.to, row);
                    let entry = found.iter().find(|entry| Some(&entry.primary_key) == key.as_ref());
                    let entry = entry.map(|entry| stored_bytes(entry, &index.hidden)).transpose()?;
                    entry.and_then(|entry| index.primary_key_in(&self.to, &entry)) == Some(own_key)
                }
                None => {
                    let there = found.iter().find(|there| there.primary_key == own_key);
                    let there = there.map(|there| stored_bytes(there, &self.to)).transpose()?;
                    self.suspect.get_or_insert_with(|| row.clone());
                    there.as_deref() == Some(&**row)
                }
            };
            if !is_own {
                return Err(self.duplicate(index, row));
            }
        }
        Ok(())
    }

    fn duplicate(&self, index: Option<usize>, row: &[u8]) -> Failure {
        let entry = index.and_then(|index| u16::try_from(index).ok());
        let zone = self.task.context.settings.time_zone_offset_seconds;
        Failure::Error(duplicate_error(&self.to, &self.indexes, entry, row, zone))
    }

    fn commit(&mut self, cx: &mut Cx<'_>) -> Result<Option<Progress>, Failure> {
        match start_commit(cx.client, &mut cx.env) {
            CommitStart::Sent(commit) => self.stage = Stage::Commit(commit),
            CommitStart::Nothing => self.stage = Stage::Find,
            CommitStart::Refused(why) => return Err(Failure::Error(SqlError::deadlock(why))),
        }
        Ok(None)
    }

    fn poll_commit(&mut self, mut commit: CommitRun, cx: &mut Cx<'_>) -> Result<Option<Progress>, Failure> {
        let Some(outcome) = commit.poll(cx.client, &mut cx.env) else {
            return Ok(self.wait(Stage::Commit(commit)));
        };
        cx.client.transaction.end();
        match outcome {
            CommitOutcome::Committed(epoch) => {
                cx.client.transaction.see(epoch);
                Ok(None)
            }
            CommitOutcome::Aborted(refusal) => Err(failure_of(refusal, &self.from.definition.name)),
            CommitOutcome::Unknown => {
                Err(Failure::Error(SqlError::deadlock("a node was lost while rows were copied")))
            }
        }
    }

    // ---- behind the last row ----------------------------------------------------------------------------------------

    fn finish_rows(&mut self, cx: &mut Cx<'_>) -> Option<Progress> {
        if self.suspect.is_none() {
            self.draw(cx);
            return None;
        }
        let program = TableReader::program(&self.to, None, ReadOutput::Columns(Vec::new()), cx.statement);
        let target = Target::Ranges(IndexId(0), vec![KeyRange::all()]);
        let reader = TableReader::new(&self.to, program, target, Order::Any, None);
        self.stage = Stage::Count { reader, count: 0 };
        None
    }

    fn count(
        &mut self,
        mut reader: TableReader,
        mut count: u64,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Progress>, Failure> {
        let mut collector = Collector::new(BATCH_ROWS, false);
        let pump = reader.pump(cx, &mut collector)?;
        count += collector.rows.len() as u64;
        if pump == Pump::End && collector.rows.is_empty() {
            return match &self.suspect {
                Some(row) if count < self.rows => Err(self.duplicate(None, row)),
                _ => {
                    self.draw(cx);
                    Ok(None)
                }
            };
        }
        self.stage = Stage::Count { reader, count };
        Ok(if pump == Pump::Wait { Some(Progress::Wait) } else { Some(Progress::Spent) })
    }

    /// Asks for the value that the old table would draw next.
    fn draw(&mut self, cx: &mut Cx<'_>) {
        self.stage = if !self.to.definition.has_sequence() {
            Stage::Done
        } else if self.from.definition.has_sequence() {
            Stage::Draw(ask(self.task.from.id, 0, cx))
        } else {
            Stage::Raise(ask(self.task.to.id, self.highest, cx))
        };
    }

    fn poll_draw(&mut self, request: RequestId, cx: &mut Cx<'_>) -> Result<Option<Progress>, Failure> {
        let Some(reply) = cx.client.inbox.take(request) else { return Ok(self.wait(Stage::Draw(request))) };
        let (first, _) = range_of(reply)?;
        // Where this node has reserved last, nobody has drawn what is left of its range.
        let own = self.from.auto_increment.span().filter(|(_, end)| *end == first);
        let next = own.map_or(first, |(next, _)| next);
        self.highest = self.highest.max(next.saturating_sub(1));
        self.stage = Stage::Raise(ask(self.task.to.id, self.highest, cx));
        Ok(None)
    }

    fn poll_raise(&mut self, request: RequestId, cx: &mut Cx<'_>) -> Result<Option<Progress>, Failure> {
        let Some(reply) = cx.client.inbox.take(request) else { return Ok(self.wait(Stage::Raise(request))) };
        let (first, count) = range_of(reply)?;
        self.to.auto_increment.refill(first, count);
        self.stage = Stage::Done;
        Ok(None)
    }
}

/// Asks this node's `main` for a value of a table's sequence above `at_least`.
pub(super) fn ask(table: TableId, at_least: u64, cx: &mut Cx<'_>) -> RequestId {
    let main = Address::main(cx.env.site.node());
    let request = cx.client.inbox.register(main, RequestKind::Other);
    cx.env.send(main, Signal::SequenceRequest { request, table, count: 1, at_least });
    request
}

/// The values that `main` has reserved: the first and how many.
pub(super) fn range_of(reply: Reply) -> Result<(u64, u64), Failure> {
    match reply {
        Reply::Sequence { first, count } => Ok((first, count)),
        Reply::Failed(error) => Err(Failure::Error(error)),
        _ => Err(Failure::Error(SqlError::deadlock("the node that reserves AUTO_INCREMENT values is lost"))),
    }
}

/// The highest value that a row has in a column that draws one.
pub(crate) fn drawn_value(info: &TableAccessInfo, row: &[u8]) -> u64 {
    let definition = &info.definition;
    let hidden = if definition.has_hidden_row_id() { definition.primary_key().first() } else { None };
    let columns = definition.auto_increment.into_iter().chain(hidden.map(|part| part.column));
    let value = |column| match info.layout.column(row, column) {
        ValueRef::Int(number) => u64::try_from(number).unwrap_or(0),
        ValueRef::UInt(number) => number,
        _ => 0,
    };
    columns.map(value).max().unwrap_or(0)
}
