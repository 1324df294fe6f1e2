//! How much a loss of power would take now: since when there is something in the cluster that is not durable.
//!
//! A node hears at once what its own modules stamp, and the master what all do. The others hear of it when the epoch is
//! closed, with the time that has passed since.
//!
//! Invariant: the moment that is told is not later than that of the oldest stamp which this node has heard of, but for
//! the way of the signal. Where too many epochs are not durable, the oldest that are known stand for the others.

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
    /// Something was stamped in this epoch at this time.
    pub(super) fn note(&mut self, epoch: Epoch, since: Instant) {
        if let Some((_, last)) = &mut self.unremembered {
            *last = epoch.max(*last);
            return;
        }
        let place = self.stamped.partition_point(|(other, _)| *other < epoch);
        let has_room = self.stamped.len() < REMEMBERED_MAX;
        match self.stamped.get_mut(place) {
            Some((other, known)) if *other == epoch => *known = since.min(*known),
            _ if has_room => self.stamped.insert(place, (epoch, since)),
            _ => self.unremembered = Some((since, epoch)),
        }
    }

    /// The moment of the first stamp that is known of the epochs above `after`, up to `last`.
    pub(super) fn first_of(&self, after: Epoch, last: Epoch) -> Option<Instant> {
        let newest = self.stamped.iter().rev().take_while(|(epoch, _)| *epoch > after);
        newest.filter(|(epoch, _)| *epoch <= last).map(|(_, since)| *since).min()
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
