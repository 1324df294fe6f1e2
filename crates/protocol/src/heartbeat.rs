//! Heartbeats, from every member to every other one, all the time. They say: "I am here, this is my view, these I hear,
//! of those these answer late, and so long you may read".
//!
//! The argument is in `membership::detector`. Bounded: rows name members of the view only, at most [`ROWS_MAX`] of
//! them.

use types::{Incarnation, NodeId, NodeSet, ViewNumber};
use wire_derive::Wire;

/// Most rows.
pub const ROWS_MAX: usize = 256;

/// The nodes that a node hears, and how.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct LinkRow {
    /// The node.
    pub node: NodeId,
    /// Its life: a row of an earlier one is void.
    pub incarnation: Incarnation,
    /// Rows of a life are numbered: a higher one is newer.
    pub number: u64,
    /// Without itself.
    pub hears: NodeSet,
    /// Members that it hears, and that owe it answers for too long.
    #[wire(since = 4)]
    pub late: NodeSet,
}

/// From member to member, every interval.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Heartbeat {
    /// The newest committed view that the sender knows: a receiver that is behind fetches it.
    pub view: ViewNumber,
    /// Counts the sender's heartbeats to this receiver, from 1.
    pub sequence: u64,
    /// The receiver's newest heartbeat that the sender has got *and grants on* (I3); 0: none.
    pub granted: u64,
    /// The sender's own row. While not everybody hears everybody, those it has from others that show a broken link, or
    /// did a moment ago, or call a node late.
    pub rows: Vec<LinkRow>,
}
