//! Watches that every thread comes round: the thread of `membership`, which has no other module, looks at all others.
//!
//! A thread says when it began the round that it is in. A thread that stays in a round for [`WARN_AFTER`] is slow, and
//! counted. A thread that stays there for `Limits::stuck_after` is taken for dead, and the node with it: it hangs,
//! while its heartbeats tell everybody that all is well. The others have the rows.
//!
//! Invariants:
//! - only time in which the watching thread ran itself counts, [`LOOK_MAX`] at a time: a process that was stopped, or a
//!   machine that was suspended, has no thread that hangs;
//! - a thread that sleeps is in no round.
//!
//! Deliberately not here: what is done about a thread that hangs (`crash`), and about a node whose `membership` does
//! (its peers miss its heartbeats).

use stdx::{Duration, Instant};

/// A round that takes longer is worth a line in the log.
pub(crate) const WARN_AFTER: Duration = Duration::from_millis(50);
/// How often threads are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How much time a look may count: `membership` is woken by its timers at least this often.
const LOOK_MAX: Duration = Duration::from_millis(100);

/// The finding about a thread at a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Finding {
    /// It has been in one round for [`WARN_AFTER`]; told once per round.
    Slow,
    /// It does not come round.
    Stuck,
}

/// A thread as it was seen last.
#[derive(Clone, Copy, Default)]
struct Watched {
    /// The beginning of its round; 0 while it is in none.
    round: u64,
    /// For how long it was seen in it.
    seen: Duration,
    is_told: bool,
}

/// The memory of the watching thread.
pub(crate) struct Watchdog {
    threads: Vec<Watched>,
    looked: Instant,
    stuck_after: Duration,
}

impl Watchdog {
    pub(crate) fn new(thread_count: usize, stuck_after: Duration, now: Instant) -> Self {
        Self { threads: vec![Watched::default(); thread_count], looked: now, stuck_after }
    }

    /// Whether it is time to look.
    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now.since(self.looked) >= LOOK_EVERY
    }

    /// Looks at all threads; `round_of` says when the round began that a thread is in, 0 if it is in none.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        round_of: impl Fn(usize) -> u64,
        mut found: impl FnMut(usize, Finding),
    ) {
        let elapsed = now.since(self.looked).min(LOOK_MAX);
        self.looked = now;
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let round = round_of(index);
            if round == 0 || round != thread.round {
                *thread = Watched { round, ..Watched::default() };
                continue;
            }
            thread.seen += elapsed;
            if self.stuck_after > Duration::ZERO && thread.seen >= self.stuck_after {
                found(index, Finding::Stuck);
            } else if thread.seen >= WARN_AFTER && !thread.is_told {
                thread.is_told = true;
                found(index, Finding::Slow);
            }
        }
    }
}

#[cfg(test)]
mod tests;
