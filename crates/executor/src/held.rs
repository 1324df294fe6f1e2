//! Filter and projection of a statement with volatile functions (RAND, UUID, SLEEP): done in the session, one row after
//! the other.
//!
//! ```text
//! input -> rows are held -> conditions, then expressions of the first one -> sink
//!                             | SLEEP: Failure::Asleep; the row stays, and is evaluated again when the session wakes
//! ```
//! Invariant: a row leaves when all of it is evaluated; nothing is evaluated of the rows behind it before.

use crate::cx::{Cx, warnings_of};
use crate::outcome::Failure;
use crate::row::{Row, UNCHARGED_MAX, row_size};
use crate::select::{Operator, give, projected};
use crate::table_reader::Pump;
use expression::{Context, Expression};
use query::RowSink;
use std::collections::VecDeque;
use types::{Value, ValueRef};

/// Rows held at once, unless an input gives more in one piece.
const HELD_ROWS: usize = 64;

/// A filter, and a projection if there are expressions.
pub struct Held {
    input: Box<Operator>,
    conditions: Vec<Expression>,
    expressions: Option<Vec<Expression>>,
    rows: VecDeque<Row>,
    has_ended: bool,
}

impl Held {
    pub fn new(input: Operator, conditions: Vec<Expression>, expressions: Option<Vec<Expression>>) -> Self {
        Self { input: Box::new(input), conditions, expressions, rows: VecDeque::new(), has_ended: false }
    }

    /// As [`Operator::pump`].
    pub fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            while let Some(row) = self.rows.front() {
                if sink.is_full() {
                    return Ok(Pump::Rows);
                }
                if !cx.env.budget.spend(1) {
                    return Ok(Pump::Spent);
                }
                let context = cx.statement.context();
                let volatile = cx.statement.volatile.as_deref();
                volatile.inspect(|volatile| volatile.begin_row());
                let evaluated = self.evaluated(row, &context);
                cx.env.budget.spend(context.warnings.take_text_work());
                if !matches!(evaluated, Err(Failure::Asleep)) {
                    cx.keep_warnings(warnings_of(&context));
                    volatile.inspect(|volatile| volatile.end_row());
                }
                if let Some(row) = evaluated? {
                    give(&row, sink);
                }
                self.rows.pop_front();
            }
            if self.has_ended {
                return Ok(Pump::End);
            }
            let mut hold = HoldSink { rows: &mut self.rows, size: 0 };
            match self.input.pump(cx, &mut hold)? {
                Pump::Rows => {}
                Pump::End => self.has_ended = true,
                pump @ (Pump::Wait | Pump::Spent) if self.rows.is_empty() => return Ok(pump),
                Pump::Wait | Pump::Spent => {}
            }
        }
    }

    /// The row that goes on; None if a condition is not true.
    fn evaluated(&self, row: &[Value], context: &Context<'_>) -> Result<Option<Row>, Failure> {
        for condition in &self.conditions {
            if !condition.is_true(&row, context)? {
                return Ok(None);
            }
        }
        let Some(expressions) = &self.expressions else { return Ok(Some(row.to_vec())) };
        projected(expressions, &row, context).map(Some)
    }

    pub fn close(&mut self, cx: &mut Cx<'_>) {
        self.input.close(cx);
    }
}

struct HoldSink<'a> {
    rows: &'a mut VecDeque<Row>,
    size: usize,
}

impl RowSink for HoldSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let row: Row = values.iter().map(|value| value.to_value()).collect();
        self.size += row_size(&row);
        self.rows.push_back(row);
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= HELD_ROWS || self.size > UNCHARGED_MAX
    }
}
