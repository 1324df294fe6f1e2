//! UNION, INTERSECT and EXCEPT: the rows of branches, one branch after the other.
//!
//! ```text
//! only UNION ALL           : rows go on as they come
//! UNION, up to the last one: rows go on if they are new
//! INTERSECT, EXCEPT        : all branches up to the last of them are read into a table that counts equal rows;
//!                            then it gives each row as often as it is left
//! UNION ALL behind these   : rows go on as they come
//! ```
//! *Counting.* `left` is how often a row is in the result of the branches so far, `right` how often it is in the branch
//! that is read. At the branch's end each row's `left` becomes what the operation makes of the two.
//!
//! Invariant: memory that the table holds is charged.

use crate::cx::Cx;
use crate::distinct::{Distinct, RowTable};
use crate::outcome::Failure;
use crate::select::{DerivedRun, Operator};
use crate::table_reader::Pump;
use planner::plan::{Branch, Equals, SetOperation, SetStep, SetVerb};
use query::RowSink;
use std::sync::Arc;
use types::ValueRef;

/// Rows of a table whose counts are settled before it is asked whether the slice is over.
const SETTLED_AT_ONCE: usize = 256;

/// A set operation that runs.
pub struct SetRun {
    plan: Arc<SetOperation>,
    /// Branches whose rows are compared.
    compared: usize,
    /// The branch that is read.
    position: usize,
    reading: Option<Box<Operator>>,
    /// The branch has no more rows.
    has_ended: bool,
    /// All different rows of the compared branches were given.
    has_rest_ended: bool,
    rows: Rows,
}

/// The rows of the compared branches.
enum Rows {
    /// New ones go on at once.
    Distinct(Distinct),
    /// All are kept until the last branch has ended.
    Counted(Counted),
}

impl SetRun {
    pub(crate) fn new(plan: &Arc<SetOperation>) -> Self {
        let rows = if plan.is_counted() {
            Rows::Counted(Counted::new(RowTable::new(plan.types.clone())))
        } else {
            Rows::Distinct(Distinct::new(plan.types.clone()))
        };
        let compared = plan.compared_count();
        let plan = Arc::clone(plan);
        Self { plan, compared, position: 0, reading: None, has_ended: false, has_rest_ended: false, rows }
    }

    /// As [`Operator::pump`].
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            if let (Rows::Counted(counted), true) = (&mut self.rows, self.position >= self.compared)
                && !counted.has_ended
            {
                if !counted.give(cx, sink) {
                    return Ok(if sink.is_full() { Pump::Rows } else { Pump::Spent });
                }
                counted.close(cx);
            }
            if let Rows::Distinct(distinct) = &mut self.rows
                && self.position == self.compared
                && !self.has_rest_ended
            {
                match distinct.give_rest(cx, sink)? {
                    Pump::End => self.has_rest_ended = true,
                    pump @ (Pump::Rows | Pump::Wait | Pump::Spent) => return Ok(pump),
                }
            }
            let Some(branch) = self.plan.branches.get(self.position) else { return Ok(Pump::End) };
            if self.has_ended {
                if let Rows::Counted(counted) = &mut self.rows
                    && self.position < self.compared
                    && !counted.end_branch(self.position, branch.step, cx)
                {
                    return Ok(Pump::Spent);
                }
                self.has_ended = false;
                self.position += 1;
                continue;
            }
            let reading = match &mut self.reading {
                Some(reading) => reading,
                None => self.reading.insert(Box::new(source_of(branch, cx)?)),
            };
            let pump = match &mut self.rows {
                _ if self.position >= self.compared => reading.pump(cx, sink)?,
                Rows::Distinct(distinct) => match distinct.pay(cx)? {
                    Some(pump) => pump,
                    None => reading.pump(cx, &mut distinct.before(sink))?,
                },
                Rows::Counted(counted) => {
                    let pump = reading.pump(cx, &mut counted.taking(self.position, branch.step))?;
                    counted.pay(cx)?;
                    pump
                }
            };
            match pump {
                Pump::End => {
                    self.reading = None;
                    self.has_ended = true;
                    if sink.is_full() {
                        return Ok(Pump::Rows);
                    }
                }
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                Pump::Rows if sink.is_full() => return Ok(Pump::Rows),
                Pump::Rows => {}
                Pump::Wait | Pump::Spent => return Ok(pump),
            }
        }
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        if let Some(reading) = &mut self.reading {
            reading.close(cx);
        }
        match &mut self.rows {
            Rows::Distinct(distinct) => distinct.close(cx),
            Rows::Counted(counted) => counted.close(cx),
        }
    }
}

/// The rows of a branch in the types of the whole.
fn source_of(branch: &Branch, cx: &mut Cx<'_>) -> Result<Operator, Failure> {
    let query = Operator::Derived(Box::new(DerivedRun::new(&branch.query, cx)?));
    Ok(match &branch.conversions {
        None => query,
        Some(conversions) => Operator::Project { input: Box::new(query), expressions: conversions.clone() },
    })
}

/// Different rows with the numbers of those that are equal.
struct Counted {
    table: RowTable,
    /// The numbers of each row of the table.
    counts: Vec<Counts>,
    /// The part of their memory that is paid for.
    charged: usize,
    /// The row that is given or settled next.
    next: usize,
    /// All were given.
    has_ended: bool,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    left: u64,
    right: u64,
}

impl Counted {
    fn new(table: RowTable) -> Self {
        Self { table, counts: Vec::new(), charged: 0, next: 0, has_ended: false }
    }

    /// Nobody wants more rows.
    fn close(&mut self, cx: &mut Cx<'_>) {
        (self.counts, self.has_ended) = (Vec::new(), true);
        self.table.give_up_rows(cx);
        cx.client.memory.release(std::mem::take(&mut self.charged));
    }

    fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        self.table.pay(false, cx)?;
        let size = self.counts.capacity() * size_of::<Counts>();
        cx.client.memory.charge(size.saturating_sub(self.charged))?;
        self.charged = size.max(self.charged);
        Ok(())
    }

    /// A sink for the rows of a branch.
    fn taking(&mut self, position: usize, step: SetStep) -> CountSink<'_> {
        CountSink { counted: self, verb: (position > 0).then_some(step.verb) }
    }

    /// Makes of the counts of the two sides what the operation says; false if the slice is over before that is done.
    fn end_branch(&mut self, position: usize, step: SetStep, cx: &mut Cx<'_>) -> bool {
        if position == 0 {
            return true;
        }
        while let Some(counts) = self.counts.get_mut(self.next) {
            let Counts { left, right } = *counts;
            let left = match step.verb {
                SetVerb::Union => left.saturating_add(right),
                SetVerb::Intersect => left.min(right),
                SetVerb::Except if step.equals == Equals::Dropped && right > 0 => 0,
                SetVerb::Except => left.saturating_sub(right),
            };
            let left = if step.equals == Equals::Dropped { left.min(1) } else { left };
            *counts = Counts { left, right: 0 };
            self.next += 1;
            if self.next.is_multiple_of(SETTLED_AT_ONCE) && !cx.env.budget.spend(1) {
                return false;
            }
        }
        self.next = 0;
        true
    }

    /// Gives the rows that are left; false if there may be more.
    fn give(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> bool {
        while let Some(counts) = self.counts.get_mut(self.next) {
            if counts.left == 0 {
                self.next += 1;
            } else if sink.is_full() {
                return false;
            } else {
                counts.left -= 1;
                self.table.lend(self.next, |values| sink.row(&[], &[], values));
            }
            if !cx.env.budget.spend(1) {
                return false;
            }
        }
        true
    }
}

/// Counts the rows of one branch.
struct CountSink<'a> {
    counted: &'a mut Counted,
    /// None: it is the first branch.
    verb: Option<SetVerb>,
}

impl RowSink for CountSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let Counted { table, counts, .. } = &mut *self.counted;
        let position = match self.verb {
            // Rows that only the right side has are of no use.
            Some(SetVerb::Intersect | SetVerb::Except) => match table.find(values) {
                Some(position) => position,
                None => return,
            },
            None | Some(SetVerb::Union) => {
                let (position, is_new) = table.find_or_keep(values);
                if is_new {
                    counts.push(Counts::default());
                }
                position
            }
        };
        let counts = &mut counts[position];
        match self.verb {
            None => counts.left += 1,
            Some(_) => counts.right += 1,
        }
    }

    fn is_full(&self) -> bool {
        self.counted.table.is_full()
    }
}
