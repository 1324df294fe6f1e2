//! The epoch of a node: the highest that any of its modules has heard of.
//!
//! Modules of a node also hear from each other without signals: a session reads rows where an `ldm` has published them,
//! and gets maps from `main`. Rows and maps carry no epoch that it would adopt. So it is a number that everybody on the
//! node raises and reads.
//!
//! Invariants:
//! - it never goes back;
//! - a module has raised it to a signal's epoch before it handles the signal, so before it publishes a row of that
//!   epoch or hands on what the signal told. Nothing is published whose epoch no signal to this node carried;
//! - a signal leaves with no lower epoch than this, read when it leaves. So nothing is stamped below what its session
//!   has read here, or what it was bound to.
//!
//! A node that starts knows no epoch: those of the cluster may be years ahead. Until it is in a view it takes what the
//! messages carry that bring views (`is_in_view`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use types::Epoch;

/// The number.
#[derive(Debug, Default)]
pub struct NodeEpoch {
    epoch: AtomicU64,
    is_in_view: AtomicBool,
}

impl NodeEpoch {
    /// The highest epoch that was heard of on this node.
    #[must_use]
    #[inline]
    pub fn current(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// A module has heard of this epoch.
    pub fn raise(&self, epoch: Epoch) {
        self.epoch.fetch_max(epoch.0, Ordering::AcqRel);
    }

    /// Whether some module of this node has installed a view.
    #[must_use]
    pub fn is_in_view(&self) -> bool {
        self.is_in_view.load(Ordering::Acquire)
    }

    /// A module has installed a view.
    pub fn enter_view(&self) {
        self.is_in_view.store(true, Ordering::Release);
    }
}
