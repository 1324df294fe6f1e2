//! Long work of a thread: the slices that modules ask for with `Signal::Continue`, and whose turn it is.
//!
//! Modules have their turns, and within a module whoever asked first. So many statements do not stop the copies and
//! the reclaiming of another module, nor the other way round. How many rows a slice has is learnt for each module: a
//! row of a scan costs less than one that is published.
//!
//! Deliberately not here: when a slice is taken (`worker`), and what it does.

use std::collections::VecDeque;
use stdx::Duration;

/// Slices that wait, of the modules of one thread.
pub struct LongWork<W> {
    lanes: Vec<VecDeque<W>>,
    /// The lane that is looked at first.
    turn: usize,
    count: usize,
}

impl<W> LongWork<W> {
    /// No slice waits yet, of a thread with so many modules.
    #[must_use]
    pub fn new(modules: usize) -> Self {
        Self { lanes: (0..modules).map(|_| VecDeque::new()).collect(), turn: 0, count: 0 }
    }

    /// No slice waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Slices that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// A module asks for a slice.
    pub fn push(&mut self, module: usize, work: W) {
        self.lanes[module].push_back(work);
        self.count += 1;
    }

    /// The slice whose turn it is, with its module.
    #[expect(clippy::should_implement_trait, reason = "more may be pushed between two calls")]
    pub fn next(&mut self) -> Option<(usize, W)> {
        let lanes = self.lanes.len();
        let module =
            (0..lanes).map(|step| (self.turn + step) % lanes).find(|lane| !self.lanes[*lane].is_empty())?;
        self.turn = (module + 1) % lanes;
        self.count -= 1;
        self.lanes[module].pop_front().map(|work| (module, work))
    }
}

/// How many rows a slice of one module may take, learnt from how long its slices took.
#[derive(Clone, Copy)]
pub(crate) struct SliceRows(u32);

impl SliceRows {
    const FIRST: u32 = 64;
    const MIN: u32 = 16;
    const MAX: u32 = 65_536;

    pub(crate) fn get(self) -> u32 {
        self.0
    }

    /// A slice spent its whole budget in the time it took; `wanted` is what it should take.
    pub(crate) fn learn(&mut self, took: Duration, wanted: Duration) {
        let took = took.as_nanos().max(1);
        let fitting = u128::from(self.0) * wanted.as_nanos() / took;
        let fitting = u32::try_from(fitting).unwrap_or(Self::MAX);
        // A quarter of the way, and at most doubled: one slice that was interrupted must not spoil the measure.
        let rows = (self.0 / 4 * 3).saturating_add(fitting.min(self.0.saturating_mul(4)) / 4);
        self.0 = rows.clamp(Self::MIN, Self::MAX);
    }
}

impl Default for SliceRows {
    fn default() -> Self {
        Self(Self::FIRST)
    }
}

#[cfg(test)]
mod tests {
    use super::{LongWork, SliceRows};
    use stdx::Duration;

    #[test]
    fn modules_have_their_turns_and_keep_their_order() {
        let mut long = LongWork::new(3);
        for statement in ["a", "b", "c"] {
            long.push(0, statement);
        }
        long.push(2, "copy");
        long.push(2, "reclaim");
        let mut taken = Vec::new();
        while let Some((module, work)) = long.next() {
            taken.push((module, work));
            if work == "a" {
                long.push(0, "a again");
            }
        }
        let expected = [(0, "a"), (2, "copy"), (0, "b"), (2, "reclaim"), (0, "c"), (0, "a again")];
        assert_eq!(taken, expected);
        assert!(long.is_empty());
        assert_eq!(LongWork::<u8>::new(0).next(), None);
    }

    #[test]
    fn slices_approach_the_time_that_is_wanted() {
        let wanted = Duration::from_micros(50);
        for row_ns in [30, 900, 20_000] {
            let mut rows = SliceRows::default();
            for _ in 0..40 {
                rows.learn(Duration::from_nanos(u64::from(rows.get()) * row_ns), wanted);
            }
            let takes = u64::from(rows.get()) * row_ns;
            let least = u64::from(SliceRows::MIN) * row_ns;
            assert!(takes <= least.max(55_000) && takes >= 40_000, "{row_ns} ns a row: {takes} ns");
        }
    }
}
