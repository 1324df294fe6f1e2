//! Which thread of a node reads for a statement. The runtime measures load and asks the functions here; the simulator
//! draws their result.
//!
//! ```text
//! each worker publishes    busy     the share of its time that it works, from two samples of 50 ms
//!                          backlog  the time that what is queued takes, or that it waits for work
//! every 100 ms             weights  0 to 16 for each worker, from what all are busy
//! a round with long work   relief   the worker whose turn it is, if it waits, or if its weight gives it this turn
//!                                   and its backlog is less than half of the own one
//! ```
//! A worker that waits takes work whatever its weight is, so one client that scans has helpers from its second slice
//! on. Weights are for workers that have work: one below the mean rises by 1, one above it falls by up to 4, and the
//! others keep theirs. So weights settle where all are equally busy, and stay there.
//!
//! Invariants:
//! - where all workers are equally busy and none waits, no weight rises, and nothing moves;
//! - nothing moves to a worker that has more than half of the own backlog.
//!
//! Deliberately not here: which reads are worth a move (`executor`), and where new clients go (`runtime`).

use crate::{Address, ModuleKind};
use stdx::{Duration, Instant};

#[cfg(test)]
mod tests;

/// `ReadPlacement`: which threads of a node read for a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadPlacement {
    /// That of the client, and others that have less to do.
    #[default]
    Adaptive,
    /// That of the client.
    Local,
    /// Those of the modules that own the slots: their `query`, else their `ldm`.
    Owner,
}

impl ReadPlacement {
    /// All of them, as `config.ini` names them.
    pub const NAMES: [&'static str; 3] = ["adaptive", "local", "owner"];

    /// By the position of its name.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        match number {
            1 => Self::Local,
            2 => Self::Owner,
            _ => Self::Adaptive,
        }
    }
}

/// The time that a sample of a worker's load covers.
pub const SAMPLE: Duration = Duration::from_millis(50);
/// How often weights change.
pub const WEIGHTS_EVERY: Duration = Duration::from_millis(100);
/// The weight of a worker that gets every one of its turns.
pub const WEIGHT_MAX: u8 = 16;

/// Samples that differ by more are of two different loads: the older one does not count.
const SAMPLES_DIFFER: u32 = 10;
/// Below both of these nobody needs a helper that has work: the mean and the busiest worker, in percent.
const MEAN_MIN: u32 = 30;
const BUSIEST_MIN: u32 = 40;
/// A worker within so many points of the mean keeps its weight.
const EVEN_POINTS: u32 = 5;
/// A weight falls by 1, and by 1 more for each of so many points that its worker is further above the mean.
const POINTS_PER_FALL: u32 = 10;
const FALL_MAX: u32 = 4;
/// Shorter backlogs are worked off where they are.
const BACKLOG_MIN: Duration = Duration::from_micros(100);
/// The cost of a move: a parcel there and one back.
const HOP: Duration = Duration::from_micros(3);

/// How busy a worker is, in percent, by its last two samples.
#[must_use]
pub fn busy_of(earlier: u32, newest: u32) -> u32 {
    if earlier.abs_diff(newest) > SAMPLES_DIFFER { newest } else { u32::midpoint(earlier, newest) }
}

/// The weights of a node's workers, by the instances of their modules `query`.
pub struct Weights {
    weights: Vec<u8>,
    changed: Instant,
}

impl Weights {
    /// None of `count` workers has any.
    #[must_use]
    pub fn new(count: usize, now: Instant) -> Self {
        Self { weights: vec![0; count], changed: now }
    }

    /// Whether it is time to change them.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        now.since(self.changed) >= WEIGHTS_EVERY
    }

    /// Changes them by how busy each worker is now, in percent.
    pub fn change(&mut self, now: Instant, busy: &[u32]) -> &[u8] {
        stdx::require!(busy.len() == self.weights.len());
        self.changed = now;
        let count = u32::try_from(busy.len()).unwrap_or(u32::MAX).max(1);
        let (mean, busiest) = (busy.iter().sum::<u32>() / count, busy.iter().copied().max().unwrap_or(0));
        if mean < MEAN_MIN && busiest < BUSIEST_MIN {
            self.weights.fill(0);
            return &self.weights;
        }
        for (weight, busy) in self.weights.iter_mut().zip(busy) {
            *weight = changed(*weight, *busy, mean);
        }
        &self.weights
    }
}

/// The next weight of a worker that is so busy, where all are in the `mean`.
fn changed(weight: u8, busy: u32, mean: u32) -> u8 {
    let above = busy.saturating_sub(mean);
    if above >= EVEN_POINTS {
        let fall = (1 + (above - EVEN_POINTS) / POINTS_PER_FALL).min(FALL_MAX);
        u8::try_from(u32::from(weight).saturating_sub(fall)).unwrap_or(WEIGHT_MAX)
    } else if mean.saturating_sub(busy) >= EVEN_POINTS {
        (weight + 1).min(WEIGHT_MAX)
    } else {
        weight
    }
}

/// A worker as another one sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// None: it waits for work.
    pub backlog: Option<Duration>,
    /// Its weight.
    pub weight: u8,
}

/// The other workers of a node, and whose turn it is. One of them is looked at in a round with long work, because its
/// state lies in its own cache.
#[derive(Default)]
pub struct Turns {
    /// The thread, and its module.
    helpers: Vec<(usize, u8)>,
    next: usize,
    /// How often all had their turn.
    pass: u8,
}

impl Turns {
    /// Those of thread `own` among all threads of the node with their modules.
    pub fn new<'t>(own: usize, threads: impl Iterator<Item = &'t [Address]>) -> Self {
        let others = threads.enumerate().filter(|(thread, _)| *thread != own);
        let query =
            |modules: &[Address]| modules.iter().find(|module| module.kind == ModuleKind::Query).copied();
        let helpers = others.filter_map(|(thread, modules)| Some((thread, query(modules)?.instance)));
        Self { helpers: helpers.collect(), next: 0, pass: 0 }
    }

    /// The module whose turn it is, if its thread takes work of one with so much backlog; `see` looks at a thread and
    /// its module.
    pub fn relief(&mut self, own_backlog: Duration, see: impl FnOnce(usize, u8) -> Seen) -> Option<u8> {
        let (thread, module) = *self.helpers.get(self.next)?;
        let pass = self.pass;
        self.next += 1;
        if self.next == self.helpers.len() {
            self.next = 0;
            self.pass = self.pass.wrapping_add(1);
        }
        takes(own_backlog, see(thread, module), pass).then_some(module)
    }
}

/// Whether a worker takes work of one with `own_backlog` in this pass.
fn takes(own_backlog: Duration, seen: Seen, pass: u8) -> bool {
    let Some(backlog) = seen.backlog else { return true };
    // The four lowest bits backwards: a weight of 8 gets every second pass, one of 4 every fourth.
    seen.weight > pass.reverse_bits() >> 4 && own_backlog > BACKLOG_MIN && own_backlog > backlog * 2 + HOP
}
