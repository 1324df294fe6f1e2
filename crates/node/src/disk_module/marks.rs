//! The marks of a log, as its node sees them.
//!
//! It knows when their epochs were closed, and how much of the log lies behind the newest one that is durable in the
//! cluster.
//!
//! The log of each node says the master's time of an epoch, so that a restart can compare them.
//!
//! Invariant: `exposed` is never less than what stands behind the mark of the durable epoch. A mark of a newer epoch
//! than D does not end it, though D may have reached all that it covers.
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
    /// Marks that are not durable, and how long the log was behind them.
    marked: VecDeque<(Epoch, u64)>,
    /// How long it was behind the mark of the newest durable epoch.
    durable: u64,
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

    /// The log has the mark of this epoch; so many bytes were pushed by then.
    pub(super) fn mark(&mut self, epoch: Epoch, pushed: u64) {
        if self.marked.len() < REMEMBERED_MAX {
            self.marked.push_back((epoch, pushed));
        }
    }

    /// D has grown.
    pub(super) fn end(&mut self, durable: Epoch) {
        while let Some((_, pushed)) = self.marked.pop_front_if(|(epoch, _)| *epoch <= durable) {
            self.durable = pushed;
        }
    }

    /// Bytes of the log that are not durable, of all that were pushed.
    pub(super) fn exposed(&self, pushed: u64) -> u64 {
        pushed - self.durable
    }
}
