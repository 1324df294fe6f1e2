//! A range of ids that all threads of a node draw from: AUTO_INCREMENT values reserved by one system-table write.
//!
//! Invariants: every id is handed out at most once; ids of one `take` are consecutive; a refill never mixes with the
//! range before it. Values of a range that is refilled too early are skipped, never reused.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The node's share of a sequence.
#[derive(Debug, Default)]
pub struct IdRange {
    next: AtomicU64,
    end: AtomicU64,
    refilling: AtomicBool,
}

impl IdRange {
    /// The first of `count` consecutive ids, or None if fewer are left.
    pub fn take(&self, count: u64) -> Option<u64> {
        loop {
            // `next` before `end`: a refill publishes `next` first, so an old `next` with a new `end` fails the
            // exchange below.
            let next = self.next.load(Ordering::Acquire);
            let end = self.end.load(Ordering::Acquire);
            let behind = next.checked_add(count)?;
            if behind > end {
                return None;
            }
            if self.next.compare_exchange(next, behind, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Some(next);
            }
        }
    }

    /// The next id and the end of the range, which are equal when it is used up; None: it never had any.
    pub fn span(&self) -> Option<(u64, u64)> {
        let next = self.next.load(Ordering::Acquire);
        let end = self.end.load(Ordering::Acquire);
        (end > 0).then_some((next, end))
    }

    /// The range becomes `first .. first + count`. False if another thread is refilling: then these values are skipped.
    pub fn refill(&self, first: u64, count: u64) -> bool {
        if self.refilling.swap(true, Ordering::AcqRel) {
            return false;
        }
        let is_newer = first >= self.next.load(Ordering::Acquire);
        if is_newer {
            self.end.store(0, Ordering::Release);
            self.next.store(first, Ordering::Release);
            self.end.store(first.saturating_add(count), Ordering::Release);
        }
        self.refilling.store(false, Ordering::Release);
        is_newer
    }

    /// Passes over all ids up to `value`, which a client used explicitly. True: the range held ids above it, so the
    /// sequence itself is above it too. False: the sequence must be raised.
    pub fn pass(&self, value: u64) -> bool {
        loop {
            let next = self.next.load(Ordering::Acquire);
            let end = self.end.load(Ordering::Acquire);
            if value < next {
                return true;
            }
            if value >= end {
                return false;
            }
            if self.next.compare_exchange(next, value + 1, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return true;
            }
        }
    }
}
