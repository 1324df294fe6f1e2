//! The marks of a log, as its node sees them.
//!
//! It knows when their epochs were closed, and how much of the log is not durable in the cluster.
//!
//! The log of each node says the master's time of an epoch, so that a restart can compare them.
//!
//! Invariant: `exposed` is never less than the entries of the log with epochs above D. Those may stand before the mark
//! of D: rows of an epoch are published while the one before it is being closed.
//!
//! Deliberately not here: what a block is (`durability`), and blocks that no disk has (`RedoRoom`).

use std::collections::VecDeque;
use types::Epoch;

#[cfg(test)]
mod tests;

/// Epochs that are remembered; they are closed in the order of their numbers, and old ones are marked or durable soon.
const REMEMBERED_MAX: usize = 4_096;

/// The marks of one life's log.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Epochs that are closed and have no mark, with the master's time.
    closed: VecDeque<(Epoch, u64)>,
    /// Bytes of blocks that are not durable, by the highest epoch in them, which ascend. A block that comes late counts
    /// with the newest ones.
    undurable: VecDeque<(Epoch, u64)>,
    /// All of them.
    exposed: u64,
    /// D, as far as it was told.
    durable: Epoch,
    /// Bytes that `RedoRoom` counts for this module.
    pub(super) counted: u64,
}

impl Marks {
    /// The master has closed an epoch at that time.
    pub(super) fn close(&mut self, epoch: Epoch, at_us: u64) {
        if self.closed.back().is_none_or(|(last, _)| *last < epoch) {
            self.closed.push_back((epoch, at_us));
        }
        if self.closed.len() > REMEMBERED_MAX {
            self.closed.pop_front();
        }
    }

    /// An epoch gets its mark: the time at which it was closed, if that is known.
    pub(super) fn closed_at_us(&mut self, epoch: Epoch) -> Option<u64> {
        let mut closed_at_us = None;
        while let Some((_, at_us)) = self.closed.pop_front_if(|(closed, _)| *closed <= epoch) {
            closed_at_us = Some(at_us);
        }
        closed_at_us
    }

    /// The log gets a block of so many bytes, in which this is the highest epoch.
    pub(super) fn push(&mut self, highest: Epoch, bytes: u64) {
        if highest <= self.durable {
            return;
        }
        self.exposed += bytes;
        let is_full = self.undurable.len() >= REMEMBERED_MAX;
        match self.undurable.back_mut() {
            Some((newest, total)) if *newest >= highest || is_full => {
                *newest = highest.max(*newest);
                *total += bytes;
            }
            Some(_) | None => self.undurable.push_back((highest, bytes)),
        }
    }

    /// D has grown.
    pub(super) fn end(&mut self, durable: Epoch) {
        self.durable = durable.max(self.durable);
        while let Some((_, bytes)) = self.undurable.pop_front_if(|(highest, _)| *highest <= durable) {
            self.exposed -= bytes;
        }
    }

    /// Bytes of the log that are not durable.
    pub(super) fn exposed(&self) -> u64 {
        self.exposed
    }
}
