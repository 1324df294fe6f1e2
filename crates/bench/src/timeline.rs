//! The observations of clients: successes in the order of time, and what follows from them.
//!
//! A *gap* is the time between two successive successes of one client. Around a fault the longest one is what its user
//! would notice.
//!
//! **Invariants.** A timeline holds at most [`EVENTS_MAX`] successes; older ones are dropped first. Times are those of
//! [`crate::record::now`].

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Some minutes of a client that succeeds each millisecond; a client that goes as fast as it can is looked at for
/// seconds only.
const EVENTS_MAX: usize = 400_000;

/// A success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When the client began to want it.
    pub from: u64,
    pub until: u64,
}

/// The successes of one client.
#[derive(Debug, Default)]
pub struct Timeline {
    events: Mutex<VecDeque<Event>>,
}

impl Timeline {
    pub fn push(&self, event: Event) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() >= EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// All there are.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().copied().collect()
    }

    /// When the last success was.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.back().map(|event| event.until)
    }
}

/// Between two successes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// When it began.
    pub from: u64,
    pub length: Duration,
    /// It had not ended when the window did.
    pub is_open: bool,
}

/// The longest gap that ends behind `from` and begins before `until`.
#[must_use]
pub fn longest_gap(events: &[Event], from: u64, until: u64) -> Gap {
    let first = events.partition_point(|event| event.until < from);
    // The last success before the window begins the first gap.
    let mut previous = first.checked_sub(1).map_or(from, |index| events[index].until);
    let mut longest = Gap { from: previous, length: Duration::ZERO, is_open: false };
    for event in &events[first..] {
        if previous >= until {
            return longest;
        }
        let length = Duration::from_nanos(event.until.saturating_sub(previous));
        if length > longest.length {
            longest = Gap { from: previous, length, is_open: false };
        }
        previous = event.until;
    }
    let rest = Duration::from_nanos(until.saturating_sub(previous));
    if rest > longest.length { Gap { from: previous, length: rest, is_open: true } } else { longest }
}

/// How many successes there are in a window, and the 99th percentile of the latencies of those that also began in it.
#[must_use]
pub fn pace(events: &[Event], from: u64, until: u64) -> (usize, Duration) {
    let in_window = || events.iter().filter(|event| (from..until).contains(&event.until));
    let whole = in_window().filter(|event| event.from >= from);
    let mut latencies: Vec<Duration> =
        whole.map(|event| Duration::from_nanos(event.until.saturating_sub(event.from))).collect();
    latencies.sort_unstable();
    (in_window().count(), percentile(&latencies, 99))
}

/// The value below which so many percent of sorted values lie (nearest rank); zero of none.
#[must_use]
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
