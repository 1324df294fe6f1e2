//! The deadlines of one module, by key.
//!
//! A binary heap with lazy deletion: cancelling is forgetting, the owner checks on expiry whether the key still
//! matters. Invariant: `next()` is never later than the earliest registered deadline.

use crate::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Registered deadlines, each with the key that its owner understands.
#[derive(Clone, Debug)]
pub struct Deadlines<K: Ord> {
    heap: BinaryHeap<Reverse<(Instant, K)>>,
}

impl<K: Ord> Default for Deadlines<K> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<K: Ord> Deadlines<K> {
    /// Asks to be woken with `key` at `at` or soon after.
    pub fn register(&mut self, at: Instant, key: K) {
        self.heap.push(Reverse((at, key)));
    }

    /// The earliest deadline.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the earliest key whose deadline has come.
    pub fn expired(&mut self, now: Instant) -> Option<K> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, key))| key)
    }

    /// Forgets deadlines whose key does not matter any more, when they outnumber `live` keys by far: call it where keys
    /// end early.
    pub fn prune(&mut self, live: usize, matters: impl Fn(&K) -> bool) {
        const SLACK: usize = 1_024;
        if self.heap.len() > SLACK + 4 * live {
            self.heap.retain(|Reverse((_, key))| matters(key));
        }
    }

    /// How many are registered, forgotten ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if nothing is registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
