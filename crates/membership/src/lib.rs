//! Membership of the cluster: the control plane that decides views, the failure detector that asks for them, and the
//! leases under which nodes read.
//!
//! Every node has a [`Membership`] block, on a thread of its own. It drives three others:
//!
//! ```text
//!            Signal::Control              Signal::Heartbeat
//!                  |                             |
//!   file <-> ControlLog (Raft) --view--> Detector (data and management nodes of the view)
//!                  ^                      |           |
//!                  +---- ChangeView ------+           +--> Lease (read by the other threads)
//!                  |
//!                  +--view--> main: ViewInstall       links: PeerFound, PeerLost -> main
//! ```
//! A node that starts asks for an incarnation (`Command::Join`) until it has one. Nodes without a copy of the log hear
//! of views from those that have one. They hear when a view is decided, when a link comes up, and when a heartbeat
//! tells them that they are behind.
//!
//! Invariants:
//! - views are installed in the order of their numbers, and `Lease` knows of a view before any other module does;
//! - a data node is a member only as the process start that the view names, because its rows exist nowhere else. One
//!   that a view leaves out ends at once. One that starts while the cluster runs is taken in by a view as *joining*, by
//!   another one as in sync when it has all rows;
//! - members whose connection broke go on in a newer view, or one of them leaves: signals went with it, and only a view
//!   sends them again;
//! - primaries move in a view that is about nothing else, when all members are connected: they are handed over
//!   (`transaction::ldm::slot::view_change::handover`);
//! - views change only by compare-and-set, and only to viable ones (I5): `succession`.
//!
//! Deliberately not here: what modules do in a view change (`node`, `transaction`), and copying rows to a node that
//! comes back.

pub mod control_log;
pub mod control_state;
pub mod cover;
pub mod detector;
pub mod log_file;
mod membership;
pub mod mutants;
pub mod restart;
pub mod succession;

pub use membership::{Membership, MembershipConfig, recovery};
