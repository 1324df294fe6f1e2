//! How much a full stop would take now: since when there is something on this node that is not durable.
//!
//! Invariant: the moment that is told is never later than the true one. Where too many epochs are not durable, the
//! oldest that are known stand for the others.

use std::collections::VecDeque;
use stdx::Instant;
use types::Epoch;

/// Epochs whose first stamps are remembered.
const REMEMBERED_MAX: usize = 4_096;

/// Epochs that are not durable, and when the first of them was stamped here.
#[derive(Debug, Default)]
pub(super) struct Exposure {
    stamped: VecDeque<(Epoch, Instant)>,
    /// The first that was not remembered, and the last one.
    unremembered: Option<(Instant, Epoch)>,
}

impl Exposure {
    /// Something was stamped in this epoch, the first time.
    pub(super) fn note(&mut self, epoch: Epoch, now: Instant) {
        if let Some((_, last)) = &mut self.unremembered {
            *last = epoch.max(*last);
        } else if self.stamped.len() < REMEMBERED_MAX {
            self.stamped.push_back((epoch, now));
        } else {
            self.unremembered = Some((now, epoch));
        }
    }

    /// Everything up to this epoch is durable.
    pub(super) fn end(&mut self, durable: Epoch) {
        while self.stamped.pop_front_if(|(epoch, _)| *epoch <= durable).is_some() {}
        self.unremembered = self.unremembered.filter(|(_, last)| *last > durable);
    }

    /// The moment of the oldest stamp that is not durable.
    pub(super) fn since(&self) -> Option<Instant> {
        let remembered = self.stamped.front().map(|(_, since)| *since);
        remembered.or(self.unremembered.map(|(since, _)| since))
    }
}

#[cfg(test)]
mod tests;
