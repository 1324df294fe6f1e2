//! FOR UPDATE and FOR SHARE over joins and beside subqueries: the rows of a query, when those of its tables are locked.
//!
//! Only rows that the query gives are locked, behind its ORDER BY and LIMIT. With SKIP LOCKED the query's rows are left
//! out of which a row is locked by others: fewer than LIMIT may come.

use crate::cx::Cx;
use crate::found_rows::FoundRows;
use crate::outcome::{Failure, Progress};
use crate::row_buffer::RowAt;
use crate::table_reader::Pump;
use planner::plan::{FoundTable, LockedQuery};
use protocol::program::LockWait;
use query::RowSink;
use std::sync::Arc;
use types::ValueRef;

/// A locking query that runs.
pub struct LockedRun {
    query: Arc<LockedQuery>,
    rows: FoundRows,
    /// All locks are there.
    is_locked: bool,
    /// The row that was given last.
    given: Option<RowAt>,
}

impl LockedRun {
    pub(crate) fn new(query: &Arc<LockedQuery>, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let locks = query.tables.iter().map(|(table, (mode, wait))| match wait {
            LockWait::Wait { .. } => (table, (*mode, cx.lock_wait())),
            LockWait::NoWait | LockWait::SkipLocked => (table, (*mode, *wait)),
        });
        let locks: Vec<_> = locks.collect();
        let rows = FoundRows::new(&query.query, locks.into_iter(), None, cx)?;
        Ok(Self { query: Arc::clone(query), rows, is_locked: false, given: None })
    }

    /// As `Operator::pump`.
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        if !self.is_locked {
            let tables: Vec<&FoundTable> = self.query.tables.iter().map(|(table, _)| table).collect();
            match self.rows.step(&self.query.query, &tables, cx)? {
                None => self.is_locked = true,
                Some(Progress::Wait) => return Ok(Pump::Wait),
                Some(Progress::Spent | Progress::Done(_)) => return Ok(Pump::Spent),
            }
        }
        while !sink.is_full() {
            let Some(at) = self.rows.rows.next(self.given) else { return Ok(Pump::End) };
            if self.is_whole(at) {
                let values: Vec<ValueRef<'_>> = self.rows.rows.values(at).take(self.query.width).collect();
                sink.row(&[], &[], &values);
            }
            self.given = Some(at);
            if !cx.env.budget.spend(1) {
                return Ok(Pump::Spent);
            }
        }
        Ok(Pump::Rows)
    }

    /// Whether no row of it was passed over.
    fn is_whole(&self, at: RowAt) -> bool {
        self.query.tables.iter().enumerate().all(|(number, (table, (_, wait)))| {
            *wait != LockWait::SkipLocked
                || self
                    .rows
                    .key(table, number, at)
                    .is_none_or(|key| self.rows.tables[number].locked.contains_key(&key))
        })
    }
}
