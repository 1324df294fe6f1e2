//! Events at moments of virtual time. Invariant: of what happens at the same moment, what was said first comes first.

use std::cmp::Ordering;

/// A delivery and when it comes.
pub(crate) struct Timed<D> {
    pub(crate) at: u64,
    /// Counts all deliveries of a world.
    pub(crate) order: u64,
    pub(crate) delivery: D,
}

impl<D> PartialEq for Timed<D> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl<D> Eq for Timed<D> {}

impl<D> PartialOrd for Timed<D> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<D> Ord for Timed<D> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
