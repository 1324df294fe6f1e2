//! A restart of the whole cluster from disks: what the control plane orders. A node's `Claim` says what its disk holds.
//!
//! ```text
//! disk -> membership          DiskRead(claim)            before the node joins; its JoinRequest carries the claim
//! leader -> planned nodes     RestartMessage::Restore    -> their main: Signal::Restore
//! main -> membership          Restored                   -> leader: RestartMessage::Restored
//! leader: Command::Restart, when all planned nodes have restored
//! operator's node -> leader   RestartMessage::LoseData, back DataLost: rows are given up (Command::LoseData)
//! ```
//! The argument is in `membership::restart`.
//!
//! Deliberately not here: the form of the redo log, and how rows are restored.

use crate::claim::RestartPoint;
use crate::control::RecoveryOrder;
use types::{Epoch, Incarnation, RestartNumber, ViewNumber};
use wire_derive::Wire;

/// Restarts that the control log remembers, the newest last.
pub const RESTARTS_MAX: usize = 64;
/// How much higher epochs begin after a restart than what the one before began with.
pub const EPOCHS_LEAP: u64 = 1 << 32;

impl RestartPoint {
    /// No restart yet.
    pub const FOUNDING: Self = Self { number: RestartNumber(0), cut: Epoch(0), first: Epoch(0) };

    /// The restart behind this one that keeps what is up to `cut`.
    #[must_use]
    pub fn next(&self, cut: Epoch) -> Self {
        Self {
            number: RestartNumber(self.number.0.saturating_add(1)),
            cut,
            first: Epoch(cut.0.max(self.first.0) + EPOCHS_LEAP),
        }
    }
}

/// The order to a planned node: bring the rows to the cut, write and sync a file header that says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct RestoreOrder {
    /// The restart that is planned. The control log has not confirmed it yet.
    pub restart: RestartPoint,
    /// The lineage of the claim's point that counts: what later lives wrote is void. 0: nothing counts, the node begins
    /// without rows.
    pub source: Incarnation,
}

/// The phases of a restore, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Wire)]
pub enum RestorePhase {
    /// Checkpoints are loaded.
    Checkpoints,
    /// The log behind them is.
    Log,
    /// Indexes are built.
    Indexes,
    /// All rows are there.
    Done,
}

/// How far a data node is with the restoring of its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct RestoreProgress {
    /// The phase.
    pub phase: RestorePhase,
    /// Bytes that were read in it.
    pub done: u64,
    /// Bytes that are to be read in it; 0 if nothing is read.
    pub total: u64,
}

/// From membership to membership, about a restart.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum RestartMessage {
    /// From the leader of the control log to a process start that no view names yet.
    Restore {
        /// The life that is meant.
        life: Incarnation,
        /// The order.
        order: RestoreOrder,
    },
    /// Its answer.
    Restored {
        /// The life that has restored.
        life: Incarnation,
        /// The order that it has carried out.
        order: RestoreOrder,
    },
    /// From the leader to everybody that still runs in this view: all rows of some group are gone from memory. The
    /// receiver ends and starts again.
    Lost {
        /// The view.
        view: ViewNumber,
    },
    /// From the leader to everybody, now and then: what the restart waits for, in words; empty: for nothing any more.
    Awaited {
        /// For people.
        text: String,
    },
    /// To the leader: an operator gives up nodes, and rows with them.
    LoseData(RecoveryOrder),
    /// Its answer. The text is for people.
    DataLost {
        /// The order's number.
        number: u64,
        /// In words.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_of_two_restarts_never_meet() {
        let first = RestartPoint::FOUNDING.next(Epoch(7));
        assert_eq!(
            first,
            RestartPoint { number: RestartNumber(1), cut: Epoch(7), first: Epoch(7 + EPOCHS_LEAP) }
        );
        // Nothing was flushed in between.
        let second = first.next(Epoch(7));
        assert_eq!((second.number, second.cut), (RestartNumber(2), Epoch(7)));
        assert!(second.first > first.first && second.first.0 - first.first.0 >= EPOCHS_LEAP);
        let third = second.next(Epoch(second.first.0 + 90));
        assert!(third.first > third.cut && third.first > second.first);
    }
}
