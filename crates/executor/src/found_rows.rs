//! Rows of several tables that a query finds, and that are then locked as they were found.
//!
//! ```text
//! Read (the query: its rows hold, for each table, the key and what is read of it)
//!   -> Collect (each table's keys, once) -> Lock (by table and key) -> compare with what was read
//!        all the same -> done
//!        otherwise    -> Read again, at first at once, then after a Pause
//! ```
//! Rows are read as by any SELECT, so others may change them before they are locked. Then the query runs again, with
//! the locks that are held. In the end it has read the newest row of every table that is locked. Rows of other tables
//! are taken as they were read.
//!
//! Invariant: memory that is held is charged.

use crate::cx::Cx;
use crate::locked_reader::LockBatch;
use crate::mutants::{self, Mutant};
use crate::outcome::{Failure, Progress};
use crate::row::UNCHARGED_MAX;
use crate::row_buffer::{KeepSink, RowAt, RowBuffer};
use crate::select::DerivedRun;
use crate::site::Retry;
use crate::statement::Statement;
use crate::table_reader::{KeyedRow, Pump, stored_bytes, stored_rows};
use planner::plan::{FoundTable, SelectPlan};
use protocol::program::{LockMode, LockWait, ReadProgram};
use query::TableAccessInfo;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;
use types::ValueRef;

/// Rows that are locked at once.
const BATCH_ROWS: usize = 256;
/// Bytes that a key in a map costs beside its own.
pub(crate) const KEY_OVERHEAD: usize = 64;

/// The query, its rows and their locks.
pub(crate) struct FoundRows {
    /// The statement that the query is evaluated in, if it is not the one that runs.
    statement: Option<Statement>,
    pub(crate) rows: RowBuffer,
    /// The part of `rows` that is paid for.
    charged: usize,
    pub(crate) tables: Vec<LockedTable>,
    stage: Stage,
    attempts: u32,
    /// It has read a second time, without a pause.
    has_read_again: bool,
    /// A row is not what was read.
    is_stale: bool,
}

/// A table whose rows are locked.
pub(crate) struct LockedTable {
    pub(crate) info: Arc<TableAccessInfo>,
    /// Gives whole rows.
    program: Arc<ReadProgram>,
    lock: (LockMode, LockWait),
    /// Its rows by their keys, and where the query's row is that found each first.
    pub(crate) found: BTreeMap<Box<[u8]>, RowAt>,
    /// Those that are locked, as they are now.
    pub(crate) locked: BTreeMap<Box<[u8]>, Vec<u8>>,
    /// The last key that a lock was asked for.
    asked: Option<Box<[u8]>>,
}

enum Stage {
    Read(Box<DerivedRun>),
    /// The rows that were read are told apart, behind this one.
    Collect(Option<RowAt>),
    /// The next table whose rows are not all locked.
    Lock(usize),
    /// With the number of locks that were asked for.
    AwaitLocks(usize, LockBatch, usize),
    /// The locks that are held may be all that is needed: it reads at once.
    ReadAgain,
    Pause(Retry),
    Done,
}

impl FoundRows {
    /// Begins to read; `tables` come with their locks.
    pub(crate) fn new<'t>(
        query: &SelectPlan,
        tables: impl Iterator<Item = (&'t FoundTable, (LockMode, LockWait))>,
        statement: Option<Statement>,
        cx: &mut Cx<'_>,
    ) -> Result<Self, Failure> {
        let mut locked = Vec::new();
        for (table, lock) in tables {
            let info = cx.info(&table.table)?;
            let program = stored_rows(&info, None, cx);
            let (found, rows) = (BTreeMap::new(), BTreeMap::new());
            locked.push(LockedTable { info, program, lock, found, locked: rows, asked: None });
        }
        let query = DerivedRun::new(query, &mut cx.within(statement.as_ref().unwrap_or(cx.statement)))?;
        Ok(Self {
            statement,
            rows: RowBuffer::default(),
            charged: 0,
            tables: locked,
            stage: Stage::Read(Box::new(query)),
            attempts: 0,
            has_read_again: false,
            is_stale: false,
        })
    }

    /// Goes on; None: all rows are locked as they were read.
    pub(crate) fn step(
        &mut self,
        query: &SelectPlan,
        tables: &[&FoundTable],
        cx: &mut Cx<'_>,
    ) -> Result<Option<Progress>, Failure> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Done) {
                Stage::Read(mut reading) => match self.read(&mut reading, cx)? {
                    Pump::End => self.stage = Stage::Collect(None),
                    pump @ (Pump::Rows | Pump::Spent | Pump::Wait) => {
                        self.stage = Stage::Read(reading);
                        return Ok(Some(if pump == Pump::Wait { Progress::Wait } else { Progress::Spent }));
                    }
                },
                Stage::Collect(at) => {
                    if let Some(at) = self.collect(tables, at, cx)? {
                        self.stage = Stage::Collect(at);
                        return Ok(Some(Progress::Spent));
                    }
                    self.stage = Stage::Lock(0);
                }
                Stage::Lock(number) => self.lock(tables, number, cx)?,
                Stage::AwaitLocks(number, mut batch, asked) => match batch.poll(cx)? {
                    Err(pending) => {
                        self.stage = Stage::AwaitLocks(number, batch, asked);
                        return Ok(Some(pending.into()));
                    }
                    Ok(rows) => {
                        // A row that is passed over is none that others have changed.
                        let skips = self.tables[number].lock.1 == LockWait::SkipLocked;
                        self.is_stale |= rows.len() != asked && !skips;
                        self.stage = Stage::Lock(number);
                        for row in rows {
                            self.take_locked(tables[number], number, &row, cx)?;
                        }
                        if cx.env.budget.is_spent() {
                            return Ok(Some(Progress::Spent));
                        }
                    }
                },
                Stage::Pause(retry) if !retry.is_due(&cx.env) => {
                    self.stage = Stage::Pause(retry);
                    return Ok(Some(Progress::Wait));
                }
                Stage::Pause(_) | Stage::ReadAgain => self.read_again(query, cx)?,
                Stage::Done => return Ok(None),
            }
        }
    }

    fn read(&mut self, query: &mut DerivedRun, cx: &mut Cx<'_>) -> Result<Pump, Failure> {
        let mut sink = KeepSink { rows: &mut self.rows, size_max: self.charged + UNCHARGED_MAX };
        let statement = self.statement.as_ref().unwrap_or(cx.statement);
        let pump = query.pump(&mut cx.within(statement), &mut sink)?;
        let size = self.rows.size();
        cx.client.memory.charge(size.saturating_sub(self.charged))?;
        self.charged = size.max(self.charged);
        Ok(pump)
    }

    /// The key of a table's row in a row of the query; None: the row is missing, of an outer join.
    pub(crate) fn key(&self, table: &FoundTable, number: usize, at: RowAt) -> Option<Box<[u8]>> {
        let info = &self.tables[number].info;
        let parts = 0..info.definition.primary_key().len();
        let values: Vec<ValueRef<'_>> = parts.map(|part| self.rows.value(at, table.first + part)).collect();
        if values.contains(&ValueRef::Null) {
            return None;
        }
        let mut key = Vec::new();
        info.primary_key.encode_values(&values, &mut key);
        Some(key.into())
    }

    /// Tells the tables' rows apart; Some: the slice is over behind this row.
    fn collect(
        &mut self,
        tables: &[&FoundTable],
        mut at: Option<RowAt>,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Option<RowAt>>, Failure> {
        while let Some(next) = self.rows.next(at) {
            for (number, table) in tables.iter().enumerate() {
                let Some(key) = self.key(table, number, next) else { continue };
                let found = &mut self.tables[number].found;
                let key_size = key.len();
                if let Entry::Vacant(place) = found.entry(key) {
                    cx.client.memory.charge(key_size + KEY_OVERHEAD)?;
                    place.insert(next);
                }
            }
            at = Some(next);
            if !cx.env.budget.spend(1) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Asks for the next locks of a table. When all rows of all tables are locked, it is done or reads again.
    fn lock(&mut self, tables: &[&FoundTable], number: usize, cx: &mut Cx<'_>) -> Result<(), Failure> {
        if mutants::is(Mutant::StaleRowsTaken) {
            self.is_stale = false;
        }
        let mut table_count = self.tables.len();
        if mutants::is(Mutant::OneTableLocked) {
            table_count = table_count.min(1);
        }
        let Some(run) = self.tables[..table_count].get_mut(number) else {
            self.stage = if self.is_stale && !self.has_read_again {
                self.has_read_again = true;
                Stage::ReadAgain
            } else if self.is_stale {
                Stage::Pause(cx.retry_at(&mut self.attempts, "rows change while they are read")?)
            } else {
                Stage::Done
            };
            return Ok(());
        };
        let from = run.asked.take().map_or(Bound::Unbounded, Bound::Excluded);
        let batch = run.found.range::<Box<[u8]>, _>((from, Bound::Unbounded)).take(BATCH_ROWS);
        let (mut keys, mut last) = (Vec::new(), None);
        for (key, at) in batch {
            match run.locked.get(key) {
                Some(row) => self.is_stale |= !is_as_read(tables[number], &run.info, row, &self.rows, *at),
                None => keys.push(key.clone()),
            }
            last = Some(key.clone());
            cx.env.budget.spend(1);
        }
        self.stage = match &last {
            None => Stage::Lock(number + 1),
            Some(_) if keys.is_empty() => Stage::Lock(number),
            Some(_) => {
                let asked = keys.len();
                let batch = LockBatch::start(&run.info, &run.program, keys, run.lock, cx)?;
                Stage::AwaitLocks(number, batch, asked)
            }
        };
        run.asked = last;
        Ok(())
    }

    /// Keeps a row that is locked, and compares it with what was read.
    fn take_locked(
        &mut self,
        table: &FoundTable,
        number: usize,
        row: &KeyedRow,
        cx: &mut Cx<'_>,
    ) -> Result<(), Failure> {
        let run = &mut self.tables[number];
        let bytes = stored_bytes(row, &run.info)?;
        cx.client.memory.charge(bytes.len() + row.primary_key.len() + KEY_OVERHEAD)?;
        let at = run.found.get(&row.primary_key).copied();
        self.is_stale |= !at.is_some_and(|at| is_as_read(table, &run.info, &bytes, &self.rows, at));
        run.locked.insert(row.primary_key.clone(), bytes);
        Ok(())
    }

    /// Forgets what was read, and begins anew; locks stay.
    fn read_again(&mut self, query: &SelectPlan, cx: &mut Cx<'_>) -> Result<(), Failure> {
        cx.statement.volatile.as_ref().inspect(|volatile| volatile.variables().restart());
        let mut keeps_rows = false;
        if mutants::is(Mutant::OldRowsKept) {
            keeps_rows = true;
        }
        if !keeps_rows {
            self.rows.clear();
        }
        self.is_stale = false;
        for run in &mut self.tables {
            run.found.clear();
            run.asked = None;
        }
        let statement = self.statement.as_ref().unwrap_or(cx.statement);
        let reading = DerivedRun::new(query, &mut cx.within(statement))?;
        self.stage = Stage::Read(Box::new(reading));
        Ok(())
    }
}

/// Whether all that was read of a row is what it is now.
fn is_as_read(table: &FoundTable, info: &TableAccessInfo, row: &[u8], rows: &RowBuffer, at: RowAt) -> bool {
    let mut columns = (table.first..).zip(&table.columns);
    columns.all(|(position, column)| info.layout.column(row, *column) == rows.value(at, position))
}
