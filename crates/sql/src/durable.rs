//! Commits of a module's clients that are answered when they are durable.
//!
//! A client waits here for an epoch. `main` is asked once for the highest, tells each newer durable epoch on the way
//! there, and asks again itself after a change of the view.
//!
//! Deliberately not here: what is durable (`transaction::epochs`), and how long a client waits (`session::running`).

use std::collections::BTreeSet;
use types::Epoch;

/// The waits of a module's clients.
#[derive(Debug, Default)]
pub(crate) struct DurableWaits {
    /// D, as `main` said last.
    durable: Epoch,
    /// The highest epoch that `main` was asked for.
    asked: Epoch,
    /// Epochs, and connections that wait for them.
    waiting: BTreeSet<(Epoch, u32)>,
}

impl DurableWaits {
    /// Whether a loss of power cannot take this epoch any more.
    pub(crate) fn is_durable(&self, epoch: Epoch) -> bool {
        epoch <= self.durable
    }

    /// A client waits for an epoch. True if `main` has to be asked.
    pub(crate) fn wait(&mut self, epoch: Epoch, connection: u32) -> bool {
        self.waiting.insert((epoch, connection));
        let is_asked = self.asked >= epoch;
        self.asked = self.asked.max(epoch);
        !is_asked
    }

    /// A client waits no longer.
    pub(crate) fn forget(&mut self, epoch: Epoch, connection: u32) {
        self.waiting.remove(&(epoch, connection));
    }

    /// More is durable: the connections whose wait is over.
    pub(crate) fn advance(&mut self, durable: Epoch) -> Vec<u32> {
        self.durable = self.durable.max(durable);
        let rest = match self.durable.0.checked_add(1) {
            Some(next) => self.waiting.split_off(&(Epoch(next), 0)),
            None => BTreeSet::new(),
        };
        std::mem::replace(&mut self.waiting, rest).into_iter().map(|(_, connection)| connection).collect()
    }
}
