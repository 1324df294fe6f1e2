//! Queries whose only row goes to variables: SELECT … INTO @a, @b, and SET with subqueries.
//!
//! As in MySQL, INTO keeps the first row even if a second one makes the statement fail (1172). No row is a warning
//! (1329), and the variables stay as they were. The query of a SET has no FROM, and so one row.

use crate::statement::Cx;
use executor::select::{SelectRun, Window};
use executor::table_reader::Pump;
use executor::{Completion, Failure, Progress};
use expression::{Expression, NoColumns};
use protocol::SqlError;
use query::RowSink;
use types::{SqlType, Value, ValueRef};

/// A query that runs, and what it gave.
pub(crate) struct SelectInto {
    run: SelectRun,
    first: Option<Vec<Value>>,
    count: u64,
}

/// How far a query is.
pub(crate) enum Read {
    /// It goes on later.
    Goes(Progress),
    /// This is its row.
    Row(Vec<Value>),
}

/// Takes the rows that LIMIT leaves, two at most.
struct FirstRows<'a> {
    window: &'a mut Window,
    first: &'a mut Option<Vec<Value>>,
    count: &'a mut u64,
}

impl RowSink for FirstRows<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.window.skip > 0 {
            self.window.skip -= 1;
        } else if self.window.count > 0 {
            self.window.count -= 1;
            *self.count += 1;
            self.first.get_or_insert_with(|| values.iter().map(|value| value.to_value()).collect());
        }
    }

    fn is_full(&self) -> bool {
        *self.count > 1 || self.window.count == 0
    }
}

impl SelectInto {
    pub(crate) fn new(run: SelectRun) -> Self {
        Self { run, first: None, count: 0 }
    }

    /// Reads until the end or the second row; None: it is there.
    fn read(&mut self, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        while self.count < 2 && self.run.window.count > 0 {
            let mut window = self.run.window;
            let mut sink = FirstRows { window: &mut window, first: &mut self.first, count: &mut self.count };
            let pump = self.run.pump(&mut cx.executor(), &mut sink);
            self.run.window = window;
            match pump? {
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Some(Progress::Spent)),
                Pump::Rows => {}
                Pump::Wait => return Ok(Some(Progress::Wait)),
                Pump::Spent => return Ok(Some(Progress::Spent)),
                Pump::End => break,
            }
        }
        self.run.close(&mut cx.executor());
        Ok(None)
    }

    /// The row of a query that has one.
    pub(crate) fn only_row(&mut self, cx: &mut Cx<'_, '_>) -> Result<Read, Failure> {
        Ok(match self.read(cx)? {
            Some(progress) => Read::Goes(progress),
            None => {
                stdx::require!(self.first.is_some(), "a SELECT without FROM has no row");
                Read::Row(self.first.take().unwrap_or_default())
            }
        })
    }

    /// Reads the row, and sets the variables, which are those of INTO.
    pub(crate) fn step(
        &mut self,
        into: &[(String, SqlType)],
        cx: &mut Cx<'_, '_>,
    ) -> Result<Progress, Failure> {
        if let Some(progress) = self.read(cx)? {
            return Ok(progress);
        }
        let Some(row) = self.first.take() else {
            let text = "No data - zero rows fetched, selected, or processed";
            cx.core.client.diagnostics.warn(1329, text.to_owned());
            return Ok(Progress::Done(Completion::default()));
        };
        let context = cx.statement.context();
        for ((name, sql_type), value) in into.iter().zip(row) {
            let value = Expression::literal(value, sql_type.clone()).localised();
            let sql_type = value.sql_type.clone();
            let value = value.evaluate(&NoColumns, &context).map_err(Failure::from)?;
            cx.core.user_variables.set(name, value, sql_type).map_err(Failure::Error)?;
        }
        if self.count > 1 {
            return Err(Failure::Error(SqlError::new(1172, "Result consisted of more than one row")));
        }
        cx.core.found_rows = 1;
        Ok(Progress::Done(Completion { affected_rows: 1, ..Completion::default() }))
    }
}
