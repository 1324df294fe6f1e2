//! Right sides of a join that run for a left row, with its values in parameters.
//!
//! An answer is kept for rows with the same values (`memo`). While the right side of the current row waits for other
//! nodes, those of rows behind it in the batch run *ahead*. Else nearly all time would be spent on the way there and
//! back. Up to [`RUNS_MAX`] of them wait beside it. When its row has its turn, the join takes a run over as far as it
//! is.
//!
//! Invariants: the operators of each run have an account of their own, and give all back when they end. A run that
//! fails says nothing: all are dropped, and none begin any more. Its row runs it again when it has its turn. So the
//! client hears of the first row that fails. Nobody runs ahead of a right side that never waits.
//!
//! Deliberately not here: how many left rows may do so (`join`), and which answers may be kept. The planner refuses
//! volatile ones.

use crate::client::QueryMemory;
use crate::cx::Cx;
use crate::join::{JoinRun, RightRows, Way, gather};
use crate::memo::{Memo, is_identical};
use crate::outcome::Failure;
use crate::row_buffer::RowAt;
use crate::select::{Operator, relation_source};
use crate::statement::Statement;
use crate::table_reader::Pump;
use planner::explain::{Part, StepKey};
use planner::plan::{Binding, Join, Relation};
use std::collections::VecDeque;
use std::sync::Arc;
use types::Value;

/// Right sides that run ahead at the same time.
const RUNS_MAX: usize = 7;

/// The statement and the memory that the operators of a right side see.
pub(crate) struct Account {
    /// The statement with the values in its parameters.
    statement: Statement,
    pub(crate) memory: QueryMemory,
}

impl Account {
    fn new(cx: &Cx<'_>) -> Self {
        Self { statement: cx.statement.within(), memory: cx.client.memory.beside() }
    }

    fn bind(&mut self, outer: &[Binding], values: &[Value]) {
        for (binding, value) in outer.iter().zip(values) {
            self.statement.bind(binding.parameter, value.clone());
        }
    }

    /// Does something with its operators.
    pub(crate) fn within<T>(&mut self, cx: &mut Cx<'_>, work: impl FnOnce(&mut Cx<'_>) -> T) -> T {
        std::mem::swap(&mut cx.client.memory, &mut self.memory);
        let done = work(&mut cx.within(&self.statement));
        std::mem::swap(&mut cx.client.memory, &mut self.memory);
        done
    }
}

/// The right side of the current left row, and those of others.
pub(crate) struct Inner {
    pub(crate) account: Account,
    /// The values for which right rows are gathered, or were.
    values: Option<Vec<Value>>,
    /// Answers to other values; None: there is no memory for them.
    memo: Option<Memo>,
    /// Paid for the answers.
    memo_charged: usize,
    /// None: nothing runs ahead any more.
    ahead: Option<Ahead>,
}

/// The right sides that run ahead.
#[derive(Default)]
struct Ahead {
    /// In the order of their left rows.
    runs: VecDeque<Run>,
    /// The last left row that was looked at; None: the current one.
    last: Option<RowAt>,
}

/// A right side that runs ahead.
struct Run {
    values: Vec<Value>,
    account: Account,
    /// None: all right rows are there.
    reading: Option<Box<Operator>>,
    right: RightRows,
}

impl Inner {
    pub(crate) fn new(cx: &Cx<'_>) -> Self {
        let (memo, ahead) = (Some(Memo::default()), Some(Ahead::default()));
        Self { account: Account::new(cx), values: None, memo, memo_charged: 0, ahead }
    }

    /// Keeps the answer to the values, and pays for it.
    pub(crate) fn remember(&mut self, right: &RightRows, memory: &mut QueryMemory) {
        let (Some(memo), Some(values)) = (&mut self.memo, &self.values) else { return };
        memo.keep(values, &right.rows, right.has_null);
        let size = memo.size();
        match memory.charge(size.saturating_sub(self.memo_charged)) {
            Ok(()) => self.memo_charged = self.memo_charged.max(size),
            Err(_) => self.forget(memory),
        }
    }

    /// Keeps no answers from now on.
    pub(crate) fn forget(&mut self, memory: &mut QueryMemory) {
        self.memo = None;
        memory.release(std::mem::take(&mut self.memo_charged));
    }

    /// No right rows are there.
    pub(crate) fn begin_again(&mut self) {
        self.values = None;
    }

    /// The right rows for these values are there, or come.
    fn has_values(&self, values: &[Value]) -> bool {
        self.values.as_ref().is_some_and(|known| are_identical(known, values))
    }

    /// Nobody has to ask for these values.
    fn knows(&self, ahead: &Ahead, values: &[Value]) -> bool {
        self.has_values(values)
            || ahead.runs.iter().any(|run| are_identical(&run.values, values))
            || self.memo.as_ref().is_some_and(|memo| memo.find(values).is_some())
    }

    /// The run for these values, if there is one.
    fn take_run(&mut self, values: &[Value]) -> Option<Run> {
        let ahead = self.ahead.as_mut()?;
        let at = ahead.runs.iter().position(|run| are_identical(&run.values, values))?;
        ahead.runs.remove(at)
    }
}

impl Ahead {
    fn pump(&mut self, plan: &Join, size_max: usize, cx: &mut Cx<'_>) -> Result<(), Failure> {
        self.runs.iter_mut().try_for_each(|run| run.pump(plan, size_max, cx))
    }

    /// Nobody wants what they find.
    fn end_runs(&mut self, cx: &mut Cx<'_>) {
        self.last = None;
        for mut run in self.runs.drain(..) {
            if let Some(reading) = &mut run.reading {
                run.account.within(cx, |cx| reading.close(cx));
            }
            run.account.memory.release_all();
        }
    }
}

impl Run {
    fn begin(
        values: Vec<Value>,
        outer: &[Binding],
        right: &Relation,
        cx: &mut Cx<'_>,
    ) -> Result<Self, Failure> {
        let mut account = Account::new(cx);
        account.bind(outer, &values);
        let reading = account.within(cx, |cx| relation_source(right, &mut None, cx))?;
        Ok(Self { values, account, reading: Some(Box::new(reading)), right: RightRows::default() })
    }

    /// Goes on until it waits, has ended, has many rows, or the slice is spent.
    fn pump(&mut self, plan: &Join, size_max: usize, cx: &mut Cx<'_>) -> Result<(), Failure> {
        while let Some(reading) = &mut self.reading {
            if self.right.size() >= size_max || cx.env.budget.is_spent() {
                break;
            }
            match self.account.within(cx, |cx| gather(reading, &mut self.right, plan, size_max, cx))? {
                Pump::Rows => {}
                Pump::Wait | Pump::Spent => break,
                Pump::End => {
                    self.reading = None;
                    self.account.memory.release_all();
                }
            }
        }
        Ok(())
    }
}

impl JoinRun {
    /// Begins to read the right rows of the current left row, unless its values are those of the row before.
    pub(crate) fn gather_for_row(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let plan = Arc::clone(&self.plan);
        let (right, outer) = applied(&plan);
        let Some(at) = self.current else { return Ok(()) };
        let values = self.outer_values(outer, at);
        let Some(inner) = &mut self.inner else { return Ok(()) };
        if inner.has_values(&values) {
            return Ok(());
        }
        if let Some(memo) = &inner.memo
            && let Some(answer) = memo.find(&values)
        {
            self.right.clear();
            self.right.has_null = answer.has_null;
            for row in memo.rows(answer) {
                self.right.push_by_keys(&row, &plan.keys, &cx.statement.context())?;
            }
            inner.values = Some(values);
            if let Some(measures) = &mut cx.client.measures {
                measures.add_remembered(StepKey::of(right, Part::Whole));
            }
            return Ok(());
        }
        if let Some(run) = inner.take_run(&values) {
            inner.values = Some(run.values);
            inner.account = run.account;
            (self.right, self.reading) = (run.right, run.reading);
            if self.reading.is_none() {
                inner.remember(&self.right, &mut cx.client.memory);
            }
            return Ok(());
        }
        inner.account.bind(outer, &values);
        inner.values = Some(values);
        inner.ahead.iter_mut().for_each(|ahead| ahead.last = None);
        if !self.is_few(1) {
            self.way = Way::Gathered;
            self.end_ahead(cx);
            self.inner.iter_mut().for_each(|inner| inner.forget(&mut cx.client.memory));
            self.reading = Some(Box::new(self.whole_source(cx)?));
            return Ok(());
        }
        self.right.clear();
        if let Some(inner) = &mut self.inner {
            let source = inner.account.within(cx, |cx| relation_source(right, &mut None, cx))?;
            self.reading = Some(Box::new(source));
        }
        Ok(())
    }

    /// The current right side waits: those that run ahead go on, and more begin.
    pub(crate) fn run_ahead(&mut self, cx: &mut Cx<'_>) {
        if self.way != Way::Applied {
            return;
        }
        let Some(mut ahead) = self.inner.as_mut().and_then(|inner| inner.ahead.take()) else { return };
        let size_max = self.memory.uncharged_max();
        let done =
            ahead.pump(&self.plan, size_max, cx).and_then(|()| self.begin_runs(&mut ahead, size_max, cx));
        self.inner.iter_mut().for_each(|inner| inner.ahead = Some(std::mem::take(&mut ahead)));
        if done.is_err() || self.pay(cx).is_err() {
            self.end_ahead(cx);
        }
    }

    /// Begins to run for the next left rows of the batch, as far as nobody knows their answers.
    fn begin_runs(&mut self, ahead: &mut Ahead, size_max: usize, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let plan = Arc::clone(&self.plan);
        let (right, outer) = applied(&plan);
        while ahead.runs.len() < RUNS_MAX && !cx.env.budget.is_spent() {
            let last = ahead.last.or(self.current);
            let Some(at) = last.and_then(|last| self.batch.behind(last)) else { break };
            let values = self.outer_values(outer, at);
            if self.inner.as_ref().is_some_and(|inner| !inner.knows(ahead, &values)) {
                if !self.is_few(1) {
                    break;
                }
                let mut run = Run::begin(values, outer, right, cx)?;
                let pumped = run.pump(&plan, size_max, cx);
                ahead.runs.push_back(run);
                pumped?;
            }
            ahead.last = Some(at);
        }
        Ok(())
    }

    /// The bytes of right rows of what runs ahead.
    pub(crate) fn ahead_size(&self) -> usize {
        let ahead = self.inner.as_ref().and_then(|inner| inner.ahead.as_ref());
        ahead.map_or(0, |ahead| ahead.runs.iter().map(|run| run.right.size()).sum())
    }

    /// The batch is done, or nobody wants more rows.
    pub(crate) fn end_runs(&mut self, cx: &mut Cx<'_>) {
        if let Some(ahead) = self.inner.as_mut().and_then(|inner| inner.ahead.as_mut()) {
            ahead.end_runs(cx);
        }
    }

    /// Nothing runs ahead from now on.
    pub(crate) fn end_ahead(&mut self, cx: &mut Cx<'_>) {
        self.end_runs(cx);
        self.inner.iter_mut().for_each(|inner| inner.ahead = None);
    }

    /// The values of a left row that the right side reads.
    fn outer_values(&self, outer: &[Binding], at: RowAt) -> Vec<Value> {
        outer.iter().map(|binding| self.batch.value(at, binding.position).to_value()).collect()
    }
}

/// The right side that runs for a left row, and the values that it reads.
fn applied(plan: &Join) -> (&Relation, &[Binding]) {
    match &plan.apply {
        Some(apply) => (&apply.right, &apply.outer),
        None => (&plan.right, &plan.outer),
    }
}

fn are_identical(one: &[Value], other: &[Value]) -> bool {
    one.iter().zip(other).all(|(one, other)| is_identical(one.as_ref(), other.as_ref()))
}
