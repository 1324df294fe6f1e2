//! The queue of events: the earliest first, of several at one time the one that was made first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events by time, in nanoseconds.
pub(super) struct Events<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    made: u64,
    now: u64,
}

struct Entry<E> {
    time: u64,
    number: u64,
    event: E,
}

impl<E> Events<E> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), made: 0, now: 0 }
    }

    /// The time of the event that was taken last.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// An event that happens so much later.
    pub(super) fn after(&mut self, ns: f64, event: E) {
        // A run lasts seconds: far below 2^52 ns.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and small"
        )]
        let delay = ns.max(0.0).round() as u64;
        self.made += 1;
        self.heap.push(Reverse(Entry { time: self.now + delay, number: self.made, event }));
    }

    /// Goes to the next event.
    pub(super) fn next(&mut self) -> Option<E> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.time;
        Some(entry.event)
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}
