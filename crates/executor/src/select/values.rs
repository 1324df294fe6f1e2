//! VALUES: rows of constant expressions, evaluated as they are wanted.

use super::{give, projected};
use crate::cx::{Cx, warnings_of};
use crate::outcome::Failure;
use crate::table_reader::Pump;
use expression::NoColumns;
use planner::plan::ValueRows;
use query::RowSink;
use std::sync::Arc;

/// VALUES that is read.
pub struct ValuesRun {
    plan: Arc<ValueRows>,
    next: usize,
}

impl ValuesRun {
    pub(crate) fn new(plan: &Arc<ValueRows>) -> Self {
        Self { plan: Arc::clone(plan), next: 0 }
    }

    /// As `Operator::pump`.
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        while let Some(row) = self.plan.rows.get(self.next) {
            if sink.is_full() {
                return Ok(Pump::Rows);
            }
            let context = cx.statement.context();
            let values = projected(row, &NoColumns, &context);
            cx.env.budget.spend(context.warnings.take_text_work());
            cx.keep_warnings(warnings_of(&context));
            give(&values?, sink);
            self.next += 1;
            if !cx.env.budget.spend(1) {
                return Ok(Pump::Spent);
            }
        }
        Ok(Pump::End)
    }
}
