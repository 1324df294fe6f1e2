//! A slot: what has one stream of writes, one table of locks and one primary.
//!
//! `stage` takes writes while statements run, `undo` takes them back, `read` reads, `lock_wait` and `table_locks` let requests wait; `commit` is the
//! primary's side of both commits, `backup` the other side; `view_change` carries into the next view what one leaves undecided or open; `copy` brings
//! rows to members that join; `markers` and `question` tell sessions what became of their commits; `inspect` answers checkers.

pub(super) mod backup;
pub(super) mod commit;
pub(super) mod copy;
pub(super) mod inspect;
pub(super) mod lock_wait;
pub(super) mod markers;
pub(super) mod question;
pub(super) mod read;
pub(super) mod stage;
pub(super) mod table_locks;
pub(super) mod transaction;
pub(super) mod undo;
pub(super) mod view_change;

use commit::PendingCommit;
use copy::{CopyIn, CopyOut};
use protocol::Address;
use protocol::signal::Replicate;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{NodeId, Sequence, SlotId, TransactionId};
use view_change::handover::HandOut;
use view_change::takeover::Takeover;

/// A slot that this ldm has a replica of.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) is_primary: bool,
    /// The ldms of the other replicas that get every write: those in sync and those joining.
    pub(super) backups: Vec<Address>,
    /// This replica is joining.
    pub(super) copy_in: Option<CopyIn>,
    /// Primary: the members that it is copied to.
    pub(super) copies: BTreeMap<NodeId, CopyOut>,
    /// A replica is lost, and no view without it will come.
    pub(super) is_replica_lost: bool,
    /// The participants of transactions that have no others.
    pub(super) alone: Arc<Vec<SlotId>>,
    /// Primary: the last place given out.
    pub(super) sequence: Sequence,
    /// Primary: one-primary commits that wait for backups.
    pub(super) pending: BTreeMap<Sequence, PendingCommit>,
    /// Backup: the last place consumed.
    pub(super) applied: Sequence,
    /// Backup: places that came too early.
    pub(super) early: BTreeMap<Sequence, (Address, Replicate)>,
    /// Backup: one-primary transactions by place.
    pub(super) undecided: BTreeMap<Sequence, TransactionId>,
    pub(super) takeover: Takeover,
    /// This member was primary, and has not heard that it may let go of what is open.
    pub(super) hand_out: Option<HandOut>,
}
