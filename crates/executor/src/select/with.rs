//! Common table expressions: rows that several parts of a statement read.
//!
//! ```text
//! WithRun lends its tables to the client while its input runs:
//!   reader ─ number ─► CommonRows in the client ─ rows that are there, then ─► its query, one pump at a time
//! ```
//! A query runs when its first row is wanted. Its rows are kept for all readers, and each goes through them at its own
//! pace. Rows that are read once go straight on.
//!
//! *Recursion.* The first part gives the first rows. Then round follows round: each runs the other parts over the rows
//! of the round before. They read these under a number of their own. Recursion ends with a round that gives nothing.
//!
//! *Virtual tables* are lent in the same way, for as long as the whole statement runs ([`lend`]).
//!
//! Invariants: rows are charged to an account of their own, which ends with them. The query of a table never reads the
//! table, but for the rows of the round before.

use crate::client::{Client, QueryMemory};
use crate::cx::{Cx, warnings_of};
use crate::distinct::RowTable;
use crate::outcome::Failure;
use crate::row::UNCHARGED_MAX;
use crate::row_buffer::{KeepSink, RowAt, RowBuffer};
use crate::select::{DerivedRun, Operator, RowSource, Window};
use crate::table_reader::Pump;
use expression::Context;
use planner::plan::{CommonTable, Equals, Reads, Recursion, SelectPlan};
use protocol::SqlError;
use query::{RowSink, store_value};
use std::sync::Arc;
use types::{SqlType, StoreMode, TableDefinition, Value, ValueRef};

/// An operator with the common table expressions that it reads.
pub struct WithRun {
    tables: Vec<Arc<CommonTable>>,
    /// Those that the client does not have at the moment.
    own: Vec<(u32, Box<CommonRows>)>,
    input: Operator,
}

impl WithRun {
    pub(crate) fn new(tables: &[Arc<CommonTable>], input: Operator, cx: &Cx<'_>) -> Self {
        let rows = |table: &Arc<CommonTable>| {
            let memory = cx.client.memory.beside();
            (table.number, Box::new(CommonRows::new(Source::New(Arc::clone(table)), memory)))
        };
        Self { tables: tables.to_vec(), own: tables.iter().map(rows).collect(), input }
    }

    /// As [`Operator::pump`].
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        for (number, rows) in self.own.drain(..) {
            cx.client.lent.insert(number, rows);
        }
        let pump = self.input.pump(cx, sink);
        for table in &self.tables {
            let last = table.recursion.as_ref().map(|recursion| recursion.last);
            for number in std::iter::once(table.number).chain(last) {
                self.own.extend(take_back(number, cx).map(|rows| (number, rows)));
            }
        }
        pump
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.input.close(cx);
        for (_, rows) in &mut self.own {
            rows.close(cx);
        }
    }
}

/// Rows that were lent; None: there are none of this number.
fn take_back(number: u32, cx: &mut Cx<'_>) -> Option<Box<CommonRows>> {
    cx.client.lent.remove(&number)?.downcast().ok()
}

/// Lends the rows of a virtual table to the statement that is about to run: it reads them under this number.
pub fn lend(number: u32, reads: Reads, rows: Box<dyn RowSource>, client: &mut Client) {
    let source = Source::Query(Box::new(Operator::Made(rows)), reads);
    let memory = client.memory.beside();
    client.lent.insert(number, Box::new(CommonRows::new(source, memory)));
}

/// The rows of a common table expression, as far as they were wanted.
pub(crate) struct CommonRows {
    source: Source,
    rows: RowBuffer,
    memory: QueryMemory,
    charged: usize,
}

/// Where more rows come from.
enum Source {
    New(Arc<CommonTable>),
    Query(Box<Operator>, Reads),
    Recursion(Box<RecursionRun>),
    Ended,
}

impl CommonRows {
    fn new(source: Source, memory: QueryMemory) -> Self {
        Self { source, rows: RowBuffer::default(), memory, charged: 0 }
    }

    /// Reads more rows: keeps them, or gives them to the only reader. Its query's memory is charged to its account.
    fn fill(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        std::mem::swap(&mut cx.client.memory, &mut self.memory);
        let pump = self.fill_charged(cx, sink);
        std::mem::swap(&mut cx.client.memory, &mut self.memory);
        pump
    }

    fn fill_charged(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        if let Source::New(table) = &self.source {
            self.source = match &table.recursion {
                Some(recursion) => {
                    let run = RecursionRun::new(table, recursion, cx)?;
                    Source::Recursion(Box::new(run))
                }
                None => Source::Query(Box::new(query_source(&table.query, cx)?), table.reads),
            };
        }
        let size_max = self.charged + UNCHARGED_MAX;
        let pump = match &mut self.source {
            Source::New(_) | Source::Ended => Pump::End,
            Source::Query(query, Reads::Once) => query.pump(cx, sink)?,
            Source::Query(query, Reads::Often) => {
                query.pump(cx, &mut KeepSink { rows: &mut self.rows, size_max })?
            }
            Source::Recursion(recursion) => recursion.pump(&mut self.rows, size_max, cx)?,
        };
        let size = self.rows.size();
        cx.client.memory.charge(size.saturating_sub(self.charged))?;
        self.charged = size.max(self.charged);
        if pump == Pump::End {
            self.source = Source::Ended;
        }
        Ok(pump)
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        std::mem::swap(&mut cx.client.memory, &mut self.memory);
        match &mut self.source {
            Source::Query(query, _) => query.close(cx),
            Source::Recursion(recursion) => recursion.close(cx),
            Source::New(_) | Source::Ended => {}
        }
        std::mem::swap(&mut cx.client.memory, &mut self.memory);
    }
}

fn query_source(query: &SelectPlan, cx: &mut Cx<'_>) -> Result<Operator, Failure> {
    Ok(Operator::Derived(Box::new(DerivedRun::new(query, cx)?)))
}

/// A reader of a common table expression.
pub struct CommonRun {
    number: u32,
    /// The row that was given last.
    at: Option<RowAt>,
}

impl CommonRun {
    pub(crate) fn new(number: u32) -> Self {
        Self { number, at: None }
    }

    /// As [`Operator::pump`].
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            let common = cx.client.lent.get(&self.number).and_then(|rows| rows.downcast_ref::<CommonRows>());
            let Some(common) = common else {
                stdx::require!(false, "a common table is there while it is read");
                return Ok(Pump::End);
            };
            // A recursion is over before anybody sees its rows: LIMIT above it does not hide that it has no end.
            let is_there = !matches!(common.source, Source::Recursion(_));
            while let Some(next) = common.rows.next(self.at).filter(|_| is_there) {
                if sink.is_full() {
                    return Ok(Pump::Rows);
                }
                common.rows.lend(next, |values| sink.row(&[], &[], values));
                self.at = Some(next);
                if !cx.env.budget.spend(1) {
                    return Ok(Pump::Spent);
                }
            }
            if matches!(common.source, Source::Ended) {
                return Ok(Pump::End);
            }
            // Its query may read others.
            let Some(mut common) = take_back(self.number, cx) else { return Ok(Pump::End) };
            let pump = common.fill(cx, sink);
            cx.client.lent.insert(self.number, common);
            match pump? {
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                Pump::Rows if sink.is_full() => return Ok(Pump::Rows),
                Pump::Rows | Pump::End => {}
                pump @ (Pump::Wait | Pump::Spent) => return Ok(pump),
            }
        }
    }
}

/// A recursion that runs.
struct RecursionRun {
    plan: Arc<CommonTable>,
    /// With DISTINCT, the rows so far.
    seen: Option<RowTable>,
    reading: Option<Operator>,
    part: Part,
    rounds: u32,
    /// The rows of this round.
    fresh: RowBuffer,
    charged: usize,
    /// Rows that LIMIT passes over, and that it leaves.
    window: Window,
}

/// A query of a recursion.
#[derive(Clone, Copy)]
enum Part {
    First,
    Step(usize),
}

impl RecursionRun {
    fn new(plan: &Arc<CommonTable>, recursion: &Recursion, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let types = || recursion.columns.columns.iter().map(|column| column.sql_type.clone()).collect();
        Ok(Self {
            plan: Arc::clone(plan),
            seen: (recursion.equals == Equals::Dropped).then(|| RowTable::new(types())),
            reading: None,
            part: Part::First,
            rounds: 0,
            fresh: RowBuffer::default(),
            charged: 0,
            window: Window::of(&recursion.limit, u64::MAX, cx.statement)?,
        })
    }

    /// Adds rows to `rows` until they have to be paid for.
    fn pump(&mut self, rows: &mut RowBuffer, size_max: usize, cx: &mut Cx<'_>) -> Result<Pump, Failure> {
        let plan = Arc::clone(&self.plan);
        let Some(recursion) = &plan.recursion else { return Ok(Pump::End) };
        loop {
            let query = match self.part {
                Part::First => &plan.query,
                Part::Step(step) => match recursion.steps.get(step) {
                    Some(query) => query,
                    None if self.next_round(recursion, cx)? => continue,
                    None => return Ok(Pump::End),
                },
            };
            let reading = match &mut self.reading {
                Some(reading) => reading,
                None => self.reading.insert(query_source(query, cx)?),
            };
            let context = cx.statement.context();
            let mode = if cx.statement.is_strict { StoreMode::Strict } else { StoreMode::Lenient };
            let mut sink = RoundSink {
                types: query.projection.iter().map(|item| &item.sql_type).collect(),
                columns: &recursion.columns,
                mode,
                context: &context,
                seen: &mut self.seen,
                fresh: &mut self.fresh,
                window: &mut self.window,
                rows,
                size_max,
                fresh_size_max: self.charged + UNCHARGED_MAX,
                failure: None,
            };
            let pump = reading.pump(cx, &mut sink);
            let failure = sink.failure;
            cx.env.budget.spend(context.warnings.take_text_work());
            cx.keep_warnings(warnings_of(&context));
            let pump = failure.map_or(pump, Err)?;
            self.pay(cx)?;
            if self.window.count == 0 {
                self.close(cx);
                return Ok(Pump::End);
            }
            match pump {
                Pump::End => {
                    self.reading = None;
                    self.part = match self.part {
                        Part::First => Part::Step(recursion.steps.len()),
                        Part::Step(step) => Part::Step(step + 1),
                    };
                }
                Pump::Rows => return Ok(Pump::Rows),
                Pump::Wait | Pump::Spent => return Ok(pump),
            }
            if !cx.env.budget.spend(1) {
                return Ok(Pump::Spent);
            }
        }
    }

    /// Begins a round over the rows of the one before; false if that gave none.
    fn next_round(&mut self, recursion: &Recursion, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        if self.fresh.len() == 0 {
            return Ok(false);
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds > cx.statement.options.recursion_depth_max {
            let text = format!(
                "Recursive query aborted after {} iterations. Try increasing @@cte_max_recursion_depth to a larger value.",
                self.rounds
            );
            return Err(Failure::Error(SqlError::new(3636, text)));
        }
        let mut last = CommonRows::new(Source::Ended, cx.client.memory.beside());
        std::mem::swap(&mut last.rows, &mut self.fresh);
        cx.client.memory.release(self.charged);
        self.charged = 0;
        last.memory.charge(last.rows.size())?;
        cx.client.lent.insert(recursion.last, Box::new(last));
        self.part = Part::Step(0);
        Ok(true)
    }

    fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        if let Some(seen) = &mut self.seen {
            seen.pay(false, cx)?;
        }
        let size = self.fresh.size();
        cx.client.memory.charge(size.saturating_sub(self.charged))?;
        self.charged = size.max(self.charged);
        Ok(())
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        if let Some(reading) = &mut self.reading {
            reading.close(cx);
        }
    }
}

/// Takes the rows of a part, brings them into the types of the columns, and keeps those that are wanted.
struct RoundSink<'a> {
    types: Vec<&'a SqlType>,
    columns: &'a TableDefinition,
    mode: StoreMode,
    context: &'a Context<'a>,
    seen: &'a mut Option<RowTable>,
    fresh: &'a mut RowBuffer,
    window: &'a mut Window,
    rows: &'a mut RowBuffer,
    size_max: usize,
    fresh_size_max: usize,
    failure: Option<Failure>,
}

impl RoundSink<'_> {
    fn stored(&self, values: &[ValueRef<'_>]) -> Result<Vec<Value>, SqlError> {
        let number = self.rows.len() as u64 + 1;
        let columns = self.columns.columns.iter().zip(&self.types).zip(values);
        columns
            .map(|((column, from), value)| {
                store_value(value.to_value(), from, column, (self.mode, number), self.context)
            })
            .collect()
    }
}

impl RowSink for RoundSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.failure.is_some() || self.window.count == 0 {
            return;
        }
        let stored = match self.stored(values) {
            Ok(stored) => stored,
            Err(error) => {
                self.failure = Some(Failure::Error(error));
                return;
            }
        };
        let values: Vec<ValueRef<'_>> = stored.iter().map(Value::as_ref).collect();
        if self.seen.as_mut().is_some_and(|seen| !seen.find_or_keep(&values).1) {
            return;
        }
        self.fresh.push(values.iter().copied());
        if self.window.skip > 0 {
            self.window.skip -= 1;
        } else {
            self.window.count -= 1;
            self.rows.push(values.iter().copied());
        }
    }

    fn is_full(&self) -> bool {
        self.failure.is_some()
            || self.window.count == 0
            || self.context.warnings.is_much_text()
            || self.seen.as_ref().is_some_and(RowTable::is_full)
            || self.rows.size() > self.size_max
            || self.fresh.size() > self.fresh_size_max
    }
}
