//! Window functions: rows sorted by partition and order, each given with the values of its calls behind its own.
//!
//! ```text
//! input ─► sorter ─► partition by partition, row by row: place of the row ─► each call's value ─► sink
//! ```
//! All rows lie in the sorter's buffer and are found by their number, so a call looks at any row of the partition.
//! The ends of its partition and of its peers (`place`), the edges of its frames (`frame`) and the rows in the states
//! of aggregates (`aggregate`) only move forward. So the operator stops between any two rows that it looks at.
//!
//! Invariant: memory that is held is charged, but for [`UNCHARGED_MAX`](crate::row::UNCHARGED_MAX).

mod aggregate;
mod call;
mod frame;
mod place;

use self::call::CallRun;
use self::place::Place;
use crate::cx::{Cx, warnings_of};
use crate::outcome::Failure;
use crate::select::Operator;
use crate::sort::{Sorted, Sorter};
use crate::table_reader::Pump;
use expression::Context;
use expression::context::TextWork;
use planner::plan::{Equals, WindowStep};
use protocol::Budget;
use query::RowSink;
use std::sync::Arc;
use types::{Value, ValueRef};

/// Window functions that run.
pub struct WindowRun {
    plan: Arc<WindowStep>,
    stage: Stage,
    walk: Walk,
    /// The part of the calls' memory that is paid for.
    charged: usize,
}

enum Stage {
    Gathering { input: Box<Operator>, sorter: Sorter },
    Sorting(Sorter),
    Giving(Sorted),
}

/// The way through the sorted rows.
struct Walk {
    place: Place,
    calls: Vec<CallRun>,
    /// The values of the current row that are known.
    results: Vec<Value>,
    text_work: TextWork,
}

/// The things that are at hand while a row is looked at.
pub(crate) struct Looking<'a, 'c> {
    rows: &'a Sorted,
    place: &'a Place,
    context: &'a Context<'c>,
    budget: &'a mut Budget,
}

impl WindowRun {
    /// Begins with the input; numbers of rows are evaluated now.
    pub(crate) fn new(plan: &Arc<WindowStep>, input: Operator, cx: &Cx<'_>) -> Result<Self, Failure> {
        let sorter = Sorter::new(plan.columns.clone(), Equals::Kept, None);
        let context = cx.statement.context();
        let calls = plan.calls.iter().map(|call| CallRun::new(call, &context));
        let calls = calls.collect::<Result<_, Failure>>()?;
        let walk = Walk {
            place: Place::default(),
            calls,
            results: Vec::with_capacity(plan.calls.len()),
            text_work: TextWork::default(),
        };
        let stage = Stage::Gathering { input: Box::new(input), sorter };
        Ok(Self { plan: Arc::clone(plan), stage, walk, charged: 0 })
    }

    /// As [`Operator::pump`].
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            self.stage = match &mut self.stage {
                Stage::Gathering { input, sorter } => {
                    if let Some(pump) = sorter.pay(cx)? {
                        return Ok(pump);
                    }
                    match input.pump(cx, sorter)? {
                        Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                        Pump::Rows => continue,
                        pump @ (Pump::Wait | Pump::Spent) => return Ok(pump),
                        Pump::End => {
                            let none = Sorter::new(Vec::new(), Equals::Kept, None);
                            Stage::Sorting(std::mem::replace(sorter, none))
                        }
                    }
                }
                Stage::Sorting(sorter) => match sorter.finish(cx)? {
                    Some(sorted) => Stage::Giving(sorted),
                    None => return Ok(Pump::Spent),
                },
                Stage::Giving(rows) => {
                    let context = cx.statement.context();
                    let given = self.walk.give(&self.plan, rows, &context, cx.env.budget, sink);
                    cx.env.budget.spend(context.warnings.take_text_work());
                    cx.env.budget.spend(self.walk.text_work.take_rows());
                    cx.keep_warnings(warnings_of(&context));
                    self.pay(cx)?;
                    if matches!(given, Ok(Pump::End)) {
                        self.close(cx);
                    }
                    return given;
                }
            };
        }
    }

    /// Pays for what the calls hold.
    fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let size: usize = self.walk.calls.iter().map(CallRun::size).sum();
        if size > self.charged {
            cx.client.memory.charge(size - self.charged)?;
            self.charged = size;
        }
        Ok(())
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        match &mut self.stage {
            Stage::Gathering { input, sorter } => {
                input.close(cx);
                sorter.close(cx);
            }
            Stage::Sorting(sorter) => sorter.close(cx),
            Stage::Giving(rows) => rows.close(cx),
        }
        self.walk.calls.clear();
        cx.client.memory.release(std::mem::take(&mut self.charged));
    }
}

impl Walk {
    fn give(
        &mut self,
        plan: &WindowStep,
        rows: &Sorted,
        context: &Context<'_>,
        budget: &mut Budget,
        sink: &mut dyn RowSink,
    ) -> Result<Pump, Failure> {
        while self.place.row < rows.len() {
            if sink.is_full() {
                return Ok(Pump::Rows);
            }
            let is_much = context.warnings.is_much_text() || self.text_work.is_much();
            if is_much || !budget.spend(1) || !self.place.settle(plan, rows, &self.text_work, budget) {
                return Ok(Pump::Spent);
            }
            for (call, run) in plan.calls.iter().zip(&mut self.calls).skip(self.results.len()) {
                let looking = &mut Looking { rows, place: &self.place, context, budget: &mut *budget };
                match run.value(plan, call, looking)? {
                    Some(value) => self.results.push(value),
                    None => return Ok(Pump::Spent),
                }
            }
            let row = rows.row(self.place.row);
            let shown: Vec<ValueRef<'_>> =
                row.values().chain(self.results.iter().map(Value::as_ref)).collect();
            sink.row(&[], &[], &shown);
            self.results.clear();
            self.place.row += 1;
        }
        Ok(Pump::End)
    }
}
