//! EXPLAIN ANALYZE: a SELECT runs, nobody gets its rows, and the answer says what each of its steps did.

use crate::statement::Cx;
use executor::select::{Operator, SelectRun, Window};
use executor::table_reader::Pump;
use executor::{Failure, Measures, Progress};
use planner::explain::analyzed;
use planner::plan::SelectPlan;
use query::RowSink;
use types::{Value, ValueRef};

/// A query whose steps are measured.
pub(crate) struct Analyze(SelectRun);

/// Drops rows as far as LIMIT leaves some.
struct Dropped(Window);

impl RowSink for Dropped {
    fn row(&mut self, _: &[u8], _: &[u8], _: &[ValueRef<'_>]) {
        if self.0.skip > 0 {
            self.0.skip -= 1;
        } else {
            self.0.count = self.0.count.saturating_sub(1);
        }
    }

    fn is_full(&self) -> bool {
        self.0.count == 0
    }
}

/// How far it is.
pub(crate) enum Analyzed {
    /// It needs another step.
    Runs(Progress),
    /// The answer's only row.
    Row(Box<SelectRun>),
}

impl Analyze {
    /// Begins to measure and to run.
    pub(crate) fn new(plan: &SelectPlan, cx: &mut Cx<'_, '_>) -> Result<Self, Failure> {
        cx.core.client.measures = Some(Box::<Measures>::default());
        Ok(Self(SelectRun::new(plan, &mut cx.executor())?))
    }

    /// Reads until the end.
    pub(crate) fn step(&mut self, plan: &SelectPlan, cx: &mut Cx<'_, '_>) -> Result<Analyzed, Failure> {
        while self.0.window.count > 0 {
            let mut sink = Dropped(self.0.window);
            let pump = self.0.pump(&mut cx.executor(), &mut sink);
            self.0.window = sink.0;
            match pump? {
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Analyzed::Runs(Progress::Spent)),
                Pump::Rows => {}
                Pump::Wait => return Ok(Analyzed::Runs(Progress::Wait)),
                Pump::Spent => return Ok(Analyzed::Runs(Progress::Spent)),
                Pump::End => break,
            }
        }
        self.0.close(&mut cx.executor());
        let measures = cx.core.client.measures.take().unwrap_or_default();
        let tree = analyzed(plan, &|step| measures.shown(step));
        let rows = Operator::rows(vec![vec![Value::text(&tree)]]);
        Ok(Analyzed::Row(Box::new(SelectRun::of_operator(rows))))
    }
}
