//! Long work of a thread: the slices that modules ask for with `Signal::Continue`, and whose turn it is.
//!
//! Modules have their turns, and within a module whoever asked first. So many statements do not stop the copies and
//! the reclaiming of another module, nor the other way round. How many rows a slice has is learnt for each module: a
//! row of a scan costs less than one that is published.
//!
//! Invariants: a round in which a slice waits takes one, whatever else it had to do. Where short work has no end, long
//! work has a fifth of the time.
//!
//! Deliberately not here: what a slice does, and what a round does before it (`worker`).

use crate::mutants::{self, Mutant};
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
        self.turn = if mutants::is(Mutant::OneModuleRuns) { module } else { (module + 1) % lanes };
        self.count -= 1;
        self.lanes[module].pop_front().map(|work| (module, work))
    }
}

/// Whether a round takes another slice: one in any case, and more until they had a quarter of `rest`. That is the time
/// which the round took for all else. `long` is the time of its slices so far, if it has taken one.
pub(crate) fn is_due(rest: Duration, long: Option<Duration>) -> bool {
    match long {
        None => rest == Duration::ZERO || !mutants::is(Mutant::LongNeverRuns),
        Some(long) => long < rest / 4,
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
pub(crate) mod tests {
    use super::{LongWork, SliceRows, is_due};
    use stdx::Duration;

    /// Three modules want slices of 50 µs again and again, and each round has short work for `rest`. Gives how many
    /// slices each module has, and how long the rounds take.
    fn slices_beside(rest: Duration, rounds: u32) -> ([u32; 3], Duration) {
        let slice = Duration::from_micros(50);
        let (mut long, mut taken, mut time) = (LongWork::new(3), [0; 3], Duration::ZERO);
        (0..3).for_each(|module| long.push(module, ()));
        for _ in 0..rounds {
            let mut had = None;
            while is_due(rest, had) {
                let Some((module, ())) = long.next() else { panic!("all of them wait") };
                taken[module] += 1;
                long.push(module, ());
                had = Some(had.unwrap_or_default() + slice);
            }
            time += rest + had.unwrap_or_default();
        }
        (taken, time)
    }

    #[test]
    pub(crate) fn short_work_without_end_leaves_a_fifth_to_long_work() {
        for rest_us in [0, 10, 200, 1_000, 5_000] {
            let (taken, time) = slices_beside(Duration::from_micros(rest_us), 900);
            let long = u128::from(taken.iter().sum::<u32>()) * 50;
            assert!(
                long * 5 >= time.as_micros(),
                "{rest_us} µs of short work in each round: {taken:?} in {time:?}"
            );
            assert!(taken.iter().all(|slices| *slices == taken[0]), "{rest_us} µs: {taken:?}");
        }
    }

    #[test]
    pub(crate) fn modules_have_their_turns_and_keep_their_order() {
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
