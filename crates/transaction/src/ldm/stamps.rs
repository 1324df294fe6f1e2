//! The epochs of a module: what it stamps with, what it has not decided yet, and what it tells `main` of both.
//!
//! A module drains twice. When an epoch is opened, it says `EpochDrained` once nothing below is undecided here: a
//! primary then has nothing of it to decide. When an epoch is closed, it says `EpochWhole` once nothing up to it is
//! undecided here: as a backup it has heard all the outcomes. (At that time everything of it has come: a primary
//! decides nothing that a backup lacks.)
//!
//! Invariants: the current epoch never goes back; an epoch is reported as drained here, and nowhere else, when
//! nothing below it is undecided. I9: an epoch is reported as whole here, and nowhere else, when it is closed and
//! nothing up to it is undecided; nothing of it comes to be undecided afterwards.

use super::Context;
use crate::mutants::{self, Mutant};
use protocol::{Address, Signal};
use stdx::{Instant, SortedQueue};
use types::Epoch;

/// The epochs that a module knows of.
#[derive(Debug)]
pub(super) struct Stamps {
    /// The highest epoch heard of.
    pub(super) current: Epoch,
    /// The last epoch that `main` was told about, and the time of its first stamp.
    pub(super) wanted: Epoch,
    pub(super) wanted_at: Instant,
    /// Undecided transactions by epoch stamp, of primaries and backups.
    pub(super) undecided: SortedQueue<Epoch, u32>,
    /// The epoch that was opened, while older ones are not drained.
    pub(super) draining: Option<Epoch>,
    /// The newest epoch that the master has closed.
    pub(super) closed: Epoch,
    /// The newest epoch that was reported as whole.
    pub(super) whole: Epoch,
}

impl Default for Stamps {
    fn default() -> Self {
        Self {
            current: Epoch(1),
            wanted: Epoch(0),
            wanted_at: Instant(0),
            undecided: SortedQueue::default(),
            draining: None,
            closed: Epoch(0),
            whole: Epoch(0),
        }
    }
}

impl Stamps {
    /// A message carried this epoch.
    pub(super) fn adopt(&mut self, epoch: Epoch) {
        if mutants::is(Mutant::EpochNotAdopted) {
            return;
        }
        self.current = self.current.max(epoch);
    }

    /// The newest epoch that is closed, and up to which nothing is undecided here.
    fn newest_whole(&self) -> Epoch {
        if mutants::is(Mutant::NoSecondDrain) {
            return self.closed;
        }
        match self.undecided.first() {
            Some((lowest, _)) if *lowest <= self.closed => Epoch(lowest.0 - 1),
            _ => self.closed,
        }
    }
}

impl Context<'_> {
    /// Stamps a transaction that begins to commit; `main` hears of an epoch's first stamp.
    pub(super) fn stamp(&mut self, epoch_seen: Epoch) -> Epoch {
        self.stamps.adopt(epoch_seen);
        let epoch = self.stamps.current;
        self.count_undecided(epoch);
        epoch
    }

    pub(super) fn count_undecided(&mut self, epoch: Epoch) {
        #[cfg(debug_assertions)]
        stdx::require!(
            epoch > self.stamps.whole,
            "something of epoch {epoch} comes when {} is whole",
            self.stamps.whole
        );
        *self.stamps.undecided.get_or_insert(epoch, 0) += 1;
        self.want(epoch);
    }

    /// Stamps a transaction that ends at this moment, with nothing that could be undecided.
    pub(super) fn stamp_of_locks(&mut self, epoch_seen: Epoch) -> Epoch {
        self.stamps.adopt(epoch_seen);
        self.want(self.stamps.current);
        self.stamps.current
    }

    /// Something is stamped in this epoch: it has to be closed.
    fn want(&mut self, epoch: Epoch) {
        if epoch > self.stamps.wanted {
            self.stamps.wanted = epoch;
            self.stamps.wanted_at = self.now.monotonic;
            self.tell_wanted();
        }
    }

    pub(super) fn count_decided(&mut self, epoch: Epoch) {
        let Some(count) = self.stamps.undecided.get_mut(&epoch) else {
            stdx::require!(false, "a transaction of epoch {epoch} was decided twice");
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.stamps.undecided.remove(&epoch);
            self.report_drained();
            self.report_whole();
        }
    }

    /// The master has opened an epoch.
    pub(super) fn on_epoch_open(&mut self, epoch: Epoch) {
        self.stamps.adopt(epoch);
        self.stamps.draining = Some(epoch);
        self.report_drained();
    }

    /// The older epochs are sealed here when nothing that was stamped in them is undecided.
    fn report_drained(&mut self) {
        let Some(epoch) = self.stamps.draining else { return };
        if self.stamps.undecided.first().is_none_or(|(lowest, _)| *lowest >= epoch) {
            self.stamps.draining = None;
            self.send(Address::main(self.address.node), Signal::EpochDrained { epoch });
        }
    }

    /// The master has closed an epoch.
    pub(super) fn on_epoch_closed(&mut self, epoch: Epoch) {
        self.stamps.closed = self.stamps.closed.max(epoch);
        self.report_whole();
    }

    fn report_whole(&mut self) {
        if self.stamps.whole >= self.stamps.closed {
            return;
        }
        let epoch = self.stamps.newest_whole();
        if epoch > self.stamps.whole {
            self.stamps.whole = epoch;
            self.hand_over_redo(Some(epoch));
            self.send(Address::main(self.address.node), Signal::EpochWhole { epoch });
        }
    }

    /// Rounds of the old view are void; what they wanted is wanted still, and a closed epoch stays closed.
    pub(super) fn restart_epochs(&mut self) {
        self.stamps.draining = None;
        if self.stamps.wanted > Epoch(0) {
            self.tell_wanted();
        }
    }

    fn tell_wanted(&mut self) {
        let (epoch, at_ns) = (self.stamps.wanted, self.stamps.wanted_at.0);
        self.send(Address::main(self.address.node), Signal::EpochStamped { epoch, at_ns });
    }
}
