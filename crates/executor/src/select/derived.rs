//! A query in FROM: its items, between its OFFSET and its LIMIT.

use crate::cx::Cx;
use crate::outcome::Failure;
use crate::select::{SelectRun, Window};
use crate::table_reader::Pump;
use planner::plan::SelectPlan;
use query::RowSink;
use types::ValueRef;

/// A query that runs inside of another.
pub struct DerivedRun {
    run: SelectRun,
    /// Values of a row that are items.
    width: usize,
    /// Rows that are still passed over, and that may still be given.
    window: Window,
}

impl DerivedRun {
    pub(crate) fn new(plan: &SelectPlan, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let run = SelectRun::inner(plan, cx)?;
        Ok(Self { width: plan.projection.len(), window: run.window, run })
    }

    /// As `Operator::pump`.
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        if self.window.count == 0 {
            self.run.close(cx);
            return Ok(Pump::End);
        }
        let mut items = ItemSink { width: self.width, window: &mut self.window, sink };
        self.run.pump(cx, &mut items)
    }

    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.run.close(cx);
    }
}

/// Gives on the items of the rows that LIMIT leaves.
struct ItemSink<'a> {
    width: usize,
    window: &'a mut Window,
    sink: &'a mut dyn RowSink,
}

impl RowSink for ItemSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.window.skip > 0 {
            self.window.skip -= 1;
        } else if self.window.count > 0 {
            self.window.count -= 1;
            self.sink.row(&[], &[], &values[..self.width.min(values.len())]);
        }
    }

    fn is_full(&self) -> bool {
        self.window.count == 0 || self.sink.is_full()
    }
}
