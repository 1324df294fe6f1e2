//! An operator whose work is measured, for EXPLAIN ANALYZE.
//!
//! It counts the rows of a step and takes the time: from its first call to its end. The work of steps below it and the
//! wait for answers count, the work of steps above it and of other statements does not.

use super::Operator;
use crate::cx::Cx;
use crate::measure::Call;
use crate::outcome::Failure;
use crate::table_reader::Pump;
use planner::explain::StepKey;
use query::RowSink;
use stdx::{Duration, Instant};
use types::ValueRef;

/// An operator whose work is measured.
pub struct Measured {
    step: StepKey,
    input: Operator,
    has_given: bool,
    has_begun: bool,
    /// An answer is awaited since then.
    waits_since: Option<Instant>,
}

/// Measures an operator if the statement's steps are measured.
pub(crate) fn measured(step: impl FnOnce() -> StepKey, operator: Operator, cx: &Cx<'_>) -> Operator {
    if cx.client.measures.is_none() {
        return operator;
    }
    let (step, waits_since) = (step(), None);
    let measured = Measured { step, input: operator, has_given: false, has_begun: false, waits_since };
    Operator::Measured(Box::new(measured))
}

/// Counts rows on their way.
struct CountSink<'a> {
    sink: &'a mut dyn RowSink,
    stopwatch: Option<fn() -> Instant>,
    rows: u64,
    first_at: Option<Instant>,
}

impl RowSink for CountSink<'_> {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        if self.rows == 0 {
            self.first_at = self.stopwatch.map(|stopwatch| stopwatch());
        }
        self.rows += 1;
        self.sink.row(primary_key, index_key, values);
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}

/// The time now: by the stopwatch, if there is one.
fn time(cx: &Cx<'_>) -> Instant {
    cx.env.site.stopwatch.map_or(cx.env.now.monotonic, |stopwatch| stopwatch())
}

impl Measured {
    /// As [`Operator::pump`].
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let began = self.waits_since.take().unwrap_or_else(|| time(cx));
        let mut counter = CountSink { sink, stopwatch: cx.env.site.stopwatch, rows: 0, first_at: None };
        let pump = self.input.pump(cx, &mut counter);
        let (rows, first_at) = (counter.rows, counter.first_at);
        let ended = time(cx);
        if matches!(pump, Ok(Pump::Wait)) {
            self.waits_since = Some(ended);
        }
        let first = if self.has_given { Duration::ZERO } else { first_at.unwrap_or(ended).since(began) };
        let call = Call { begins: !self.has_begun, rows, until_first: first, time: ended.since(began) };
        if let Some(measures) = &mut cx.client.measures {
            measures.add(self.step, &call);
        }
        self.has_begun = true;
        self.has_given |= rows > 0;
        pump
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.input.close(cx);
    }
}
