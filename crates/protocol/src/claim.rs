//! The claim of a starting data node: what its disk holds, and what the recorded restarts leave of that.
//!
//! A disk holds *points*: epochs at which it has everything that the cluster ever decided, and nothing else once later
//! entries are omitted. The newest point is not always the one that counts. A restart that was planned and never
//! recorded leaves a point that is void, and a recorded restart cuts off what its predecessors wrote above its cut.
//!
//! Invariants: points are newest first. A point that [`Claim::confirmed`] answers is never above a cut that was
//! recorded after its number.
//!
//! Deliberately not here: how the points are found on disk (`durability`), and which node of a group becomes a source
//! (`membership`).

use crate::control::GroupId;
use types::{Epoch, Incarnation, RestartNumber};
use wire_derive::Wire;

/// Points that a claim names at most.
pub const CLAIM_POINTS_MAX: usize = 16;

/// A restart of the whole cluster, as the control log has recorded it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct RestartPoint {
    /// Counts the restarts of a founding, from 1; 0 is the founding itself.
    pub number: RestartNumber,
    /// The highest epoch that was kept.
    pub cut: Epoch,
    /// The first epoch that was given out afterwards.
    pub first: Epoch,
}

/// An epoch at which a disk has everything that was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct ClaimPoint {
    /// The restart number under which it was written.
    pub restart: RestartNumber,
    /// The life that wrote it.
    pub lineage: Incarnation,
    /// Everything up to this epoch is on the disk.
    pub flushed: Epoch,
    /// When the epoch was closed: microseconds since 1970, by the clock of the master of that time.
    pub closed_at_us: u64,
    /// It cannot be brought to an epoch below this one. Rows that were copied to the node have no older versions here.
    pub low: Epoch,
}

/// The contents of a disk, in a few numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct Claim {
    /// The founding whose log it is; zero if there is none.
    pub founding: GroupId,
    /// The highest epoch of its checkpoints: it cannot be brought to an older one.
    pub low: Epoch,
    /// The highest epoch that this disk knows to have been durable in the cluster.
    pub durable: Epoch,
    /// Something that had been flushed cannot be read any more: points above it are missing.
    pub is_damaged: bool,
    /// Its points, newest first, at most [`CLAIM_POINTS_MAX`]: those of restarts that may not have been recorded, then
    /// the last one of which it is sure. None: nothing usable.
    pub points: Vec<ClaimPoint>,
}

impl Claim {
    /// The newest point that counts and that the recorded restarts leave, lowered to their cuts. `None` if there is
    /// none, or if it is so old that `restarts` does not reach back to it.
    ///
    /// `restarts` are the last recorded ones, oldest first, without gaps.
    #[must_use]
    pub fn confirmed(
        &self,
        restarts: &[RestartPoint],
        counts: impl Fn(&ClaimPoint) -> bool,
    ) -> Option<ClaimPoint> {
        let founding = RestartPoint::default();
        let of_number = |number: RestartNumber| match number {
            RestartNumber(0) => Some(founding),
            number => restarts.iter().copied().find(|restart| restart.number == number),
        };
        let is_recorded = |point: &&ClaimPoint| {
            of_number(point.restart)
                .is_some_and(|restart| point.flushed == restart.cut || point.flushed >= restart.first)
        };
        let counting = self.points.iter().filter(|point| counts(point)).filter(is_recorded);
        counting.filter_map(|point| lowered(*point, restarts)).next()
    }
}

/// The point, at most at the cuts behind its restart. None if it cannot be brought there, or if the list of restarts
/// does not reach back to it.
fn lowered(point: ClaimPoint, restarts: &[RestartPoint]) -> Option<ClaimPoint> {
    let mut later = restarts.iter().skip_while(|restart| restart.number <= point.restart).peekable();
    if later.peek().is_some_and(|next| next.number.0 > point.restart.0 + 1) {
        return None;
    }
    let cut = later.map(|restart| restart.cut).min();
    let flushed = cut.map_or(point.flushed, |cut| cut.min(point.flushed));
    (point.low <= flushed).then_some(ClaimPoint { flushed, ..point })
}

#[cfg(test)]
mod tests;
