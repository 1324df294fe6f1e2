//! Hand-over: how the open transactions of a slot travel from its primary to another, inside one view change, when
//! both live.
//!
//! ```text
//! old primary, installing v+1:  waiting requests leave the lock table; what is sealed becomes what a backup holds; slices under way end
//!     -- HandOver{places, open transactions, waits}*, Gather{claim} --> new primary, when all members have reported:
//! takes the newest claim that is valid; decides what is decided; stages, locks; requests that waited queue up again
//!     -- Taken --> all members: open versions and locks go
//! opens when what was sealed is decided: its explicit locks did not travel
//! ```
//! A *line* is a sequence of primaries that handed over to each other; `SlotPlace::since` is the first view of it, a
//! takeover begins a new one. A member that *claims* a line has its open transactions, since the view in which it took
//! them over (`acquired`).
//!
//! Invariants, each closing an interleaving:
//! - One member acts for a line at a time. Between stepping down and `Taken` the old primary grants, stages and undoes
//!   nothing for anybody. Requests are returned to their sessions' module, which sends them to the primary of the newer
//!   view. The new primary holds back what comes before it has a whole claim.
//! - The old primary keeps everything until `Taken`: pieces that a newer view voids are sent again, to whoever is
//!   primary then. If there are two claims the later one counts: the earlier claimant has not heard that it may let go.
//! - A claim older than the line that the view names is void: sessions have given those transactions up. Their
//!   versions and locks go. So is one that was sent to a member that left before `Taken` came from it: it may have
//!   taken, and done more.
//! - No place meets the open versions of its own transaction. `Taken` goes ahead of everything that is replicated in
//!   the new stream. If it goes with a connection, the replicated places say the same. A successor lets go of an older
//!   claim of its own before it takes.
//! - The new primary takes only when nothing is undone or published in slices here. A row that comes again with a piece
//!   must not be undone with what came before, and on a row an open version lies above decided ones.
//! - A marker of a decided transaction bars its late open pieces.
//! - Replies for sealed one-primary commits stay with the old primary (`owed`): it hears the outcome as a backup. If
//!   it dies first, sessions ask the new one, who has the markers of all sessions that outlive the old one.
//! - A piece that does not fit in memory makes nothing void but its own transaction: it goes, and hears so (1213)
//!   with its next request.
//! - The word that a transaction is over may pass the transaction on its way. It may be an abort on a connection that
//!   breaks. Or it is the loss of its session's node, of which one primary hears before it takes and the other after it
//!   has let go. So the new one tells each session what it has taken, and what is over is aborted.
//!
//! - All that travels is counted once, on stepping down: no more than a [`Room`] does, and no piece exceeds a frame.
//!   (Sealed rows have what open transactions and requests leave: the new primary has them, as a rule. If it lacks what
//!   is too large to travel, that aborts, as in a takeover.)
//!
//! `stepping_down`, `sending`, `letting_go` and `standing_down` are the old primary's side, `taking` is the new one's.
//!
//! Deliberately not here: sending ahead of the view. All that is open travels inside it, so there is a limit on it,
//! behind which a transaction is void.

mod letting_go;
mod sending;
mod standing_down;
mod stepping_down;
mod taking;

use crate::ldm::Context;
use crate::ldm::slot::lock_wait::Run;
use protocol::{Signal, View};
use types::{Incarnation, NodeId, SlotId, TransactionId};

pub(in crate::ldm) use standing_down::StandingDown;

/// Open operations of a slot that travel, and sealed rows: about what can be packed and staged in a stall that nobody
/// notices.
const HANDED_OPERATIONS_MAX: usize = 50_000;
/// Bytes of them, of requests that wait, and of sealed rows: they are in memory twice at either end, and no piece may
/// exceed a frame.
const HANDED_BYTES_MAX: usize = 64 << 20;

/// The things that a primary which stepped down keeps until it may let go.
#[derive(Default)]
pub(in crate::ldm) struct HandOut {
    /// Requests that waited, in their order.
    waits: Vec<Run>,
    /// The room that is left besides these and the open transactions.
    room: Room,
    /// The pieces are on their way to the primary of the installed view.
    is_sent: bool,
    /// The lives to which they ever were: each of them may have acted for the line.
    sent_to: Vec<(NodeId, Incarnation)>,
}

impl HandOut {
    /// Pieces of older views are void. False if somebody who may have acted for the line is not asked any more: then
    /// nobody knows what it did.
    pub(in crate::ldm) fn begin_view(&mut self, view: &View, slot: SlotId) -> bool {
        self.is_sent = false;
        let is_asked = |(node, life): &(NodeId, Incarnation)| {
            view.in_sync(slot).contains(node)
                && view.node(*node).is_some_and(|info| info.incarnation == *life)
        };
        self.sent_to.iter().all(is_asked)
    }

    /// A transaction is undone.
    pub(in crate::ldm) fn drop_waits(&mut self, transaction: TransactionId) {
        self.waits.retain(|run| run.transaction() != transaction);
    }
}

impl std::fmt::Debug for HandOut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "HandOut({} waits, sent: {})", self.waits.len(), self.is_sent)
    }
}

/// How much may still travel.
#[derive(Clone, Copy)]
struct Room {
    operations: usize,
    bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { operations: HANDED_OPERATIONS_MAX, bytes: HANDED_BYTES_MAX }
    }
}

impl Room {
    /// Makes use of it; false if there is not enough.
    fn take(&mut self, operations: usize, bytes: usize) -> bool {
        let rest = self.operations.checked_sub(operations).zip(self.bytes.checked_sub(bytes));
        if let Some((operations, bytes)) = rest {
            *self = Self { operations, bytes };
        }
        rest.is_some()
    }
}

/// Requests that wait nowhere any more: nobody answers them.
fn void_waits(waits: Vec<Run>, context: &mut Context<'_>) {
    for run in waits {
        context.send(run.from(), Signal::WaitMoved { request: run.request(), to: None });
    }
}
