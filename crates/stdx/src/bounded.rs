//! A first-in first-out queue with a limit: no queue in the system grows without one.

use std::collections::VecDeque;

/// A queue that holds at most `limit` items.
#[derive(Clone, Debug)]
pub struct BoundedQueue<T> {
    items: VecDeque<T>,
    limit: usize,
}

impl<T> BoundedQueue<T> {
    /// An empty queue; memory is taken as items come.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { items: VecDeque::new(), limit }
    }

    /// Appends `item`, or gives it back when the queue is full: the caller's answer to that is part of its protocol.
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.items.len() >= self.limit {
            return Err(item);
        }
        self.items.push_back(item);
        Ok(())
    }

    /// Takes the oldest item.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// How many items wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many more fit.
    #[must_use]
    pub fn room(&self) -> usize {
        self.limit - self.items.len()
    }
}
