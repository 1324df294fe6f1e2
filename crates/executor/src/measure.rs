//! The work of each step of a plan, for EXPLAIN ANALYZE. `select/measured.rs` takes it.
//!
//! Invariant: nothing but a text that is shown depends on the time.

use planner::explain::StepKey;
use stdx::{Duration, FixedMap};

/// The measures of a statement's steps.
#[derive(Clone, Debug, Default)]
pub struct Measures(FixedMap<StepKey, Measure>);

/// The measure of a step, for all its runs together.
#[derive(Clone, Copy, Debug, Default)]
struct Measure {
    runs: u64,
    rows: u64,
    /// Until the first row of each run, or its end.
    until_first: Duration,
    time: Duration,
    /// Rows of the other side that got the answer of a run for an earlier one.
    remembered: u64,
}

impl Measures {
    /// As MySQL shows it: times in milliseconds and rows are those of a run, on average.
    #[must_use]
    pub fn shown(&self, step: StepKey) -> String {
        let Some(measure) = self.0.get(&step).filter(|measure| measure.runs > 0) else {
            return "never executed".to_owned();
        };
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let average = |sum: u64| sum as f64 / measure.runs as f64;
        let milliseconds = |time: Duration| average(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)) / 1e6;
        let rows = average(measure.rows);
        let rows = if rows.fract() == 0.0 { format!("{rows}") } else { format!("{rows:.2}") };
        let remembered = match measure.remembered {
            0 => String::new(),
            count => format!(" remembered={count}"),
        };
        format!(
            "actual time={:.3}..{:.3} rows={rows} loops={}{remembered}",
            milliseconds(measure.until_first),
            milliseconds(measure.time),
            measure.runs
        )
    }
}

/// A call of a step.
pub(crate) struct Call {
    /// It is the first one of its run.
    pub(crate) begins: bool,
    pub(crate) rows: u64,
    /// Until the first row, as long as the run has given none.
    pub(crate) until_first: Duration,
    pub(crate) time: Duration,
}

impl Measures {
    /// The answer of an earlier run of a step was used again.
    pub(crate) fn add_remembered(&mut self, step: StepKey) {
        self.0.entry(step).or_default().remembered += 1;
    }

    /// Adds a call of a step.
    pub(crate) fn add(&mut self, step: StepKey, call: &Call) {
        let measure = self.0.entry(step).or_default();
        measure.runs += u64::from(call.begins);
        measure.rows += call.rows;
        measure.until_first += call.until_first;
        measure.time += call.time;
    }
}
