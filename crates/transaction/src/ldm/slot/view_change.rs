//! View changes: how what a view left undecided goes on in the next.
//!
//! Every view starts a new stream, numbered from 1, in each slot, and the fence (I2) drops what is still under way in
//! older ones. On installing a view, each slot does this, whether its primary stayed or changed:
//!
//! ```text
//! backups --Gather: what is undecided here, how far the old streams were consumed, which outcomes are kept--> primary
//! primary, when all have reported: decides what some member has decided; tells members what is decided here; drops what it lacks;
//!          replicates everything undecided again, in the new stream (receivers know what they hold, only its place is new)
//! one-primary: committed when all backups have it      two-phase: the coordinator asks again      coordinator lost: `tc::recovery`
//! ```
//! `gather` is the reports and what is learnt from them, `takeover` what follows, `orphans` transactions without
//! coordinator, `opening` when a new primary grants locks. Hand-over between primaries that both live is this, and
//! what `handover` adds: open transactions travel too.
//!
//! A new primary grants locks when every data node has installed the view and nothing inherited is undecided here: no
//! coordinator counts a void lock any more. Until then requests are held back, and prepared versions are their own
//! locks.
//!
//! Invariants, each closing an interleaving:
//! - A transaction that every in-sync member applied is never dropped: it may have been acknowledged. A transaction
//!   that the new primary lacks was never acknowledged: a one-primary commit needs all backups, a two-phase one all
//!   replicas. So it aborts, by a marker here and at every member before anyone is told (I8).
//! - "Consumed and not undecided" means *decided* (a one-primary commit is only decided "commit" by its primary's
//!   word), because a refused place leaves an abort marker. A member's word is read with the streams it belongs to:
//!   the same transaction has another place in each.
//! - Places of one member may be stacked on one row: a later transaction is prepared before the decision on the earlier
//!   one arrived. So they are replicated again in the order in which they first came (`order`), which a new place does
//!   not change. A large one goes in pieces to members that lack it, and what is behind it waits; those who hold it
//!   only hear of its new place.
//! - Nothing decided is replicated again: a member that has published a transaction would apply it twice, above what
//!   followed it.
//! - Places of an older stream are never named in the new one: a publication that ends in a later view tells nobody
//!   its place.
//! - A transaction whose coordinator is lost has none ever after (`Decider::Recoverer`): a node that comes back under
//!   the same id knows nothing of it.
//! - A joining member reports and is replicated to like any other: it lacks old rows (`copy`), not what is undecided.

pub(in crate::ldm) mod gather;
pub(in crate::ldm) mod handover;
pub(in crate::ldm) mod opening;
pub(in crate::ldm) mod orphans;
pub(in crate::ldm) mod takeover;

use super::Slot;
use super::commit::seal::PendingCommit;
use crate::mutants::{self, Mutant};
use gather::Gathering;
use opening::Opening;
use orphans::Orphans;
use protocol::signal::{Claim, HandOver};
use protocol::{Address, Signal, View};
use std::collections::BTreeMap;
use takeover::{Dropping, Resending};
use types::{NodeId, Sequence, TransactionId, ViewNumber};

/// Earlier streams that are remembered: what is older was decided long ago.
const STREAMS_KEPT: usize = 64;

/// A slot's part in view changes.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Takeover {
    pub(in crate::ldm) line: Line,
    pub(in crate::ldm) streams: Streams,
    pub(in crate::ldm) stage: Stage,
    /// Pieces that were handed over to it in the view before, and not taken.
    unread: Vec<(NodeId, HandOver)>,
    /// One-primary commits of a primary in the view before, that are to be replicated again.
    resumed: BTreeMap<TransactionId, PendingCommit>,
    /// Primary: what is replicated again, until all of it is.
    resending: Option<Resending>,
    orphans: Orphans,
    /// Transactions that this primary lacked: the members that have not recorded their abort.
    dropping: BTreeMap<TransactionId, Dropping>,
    /// Requests that came too early.
    waiting: Vec<(Address, Signal)>,
}

/// How far a slot is in the installed view.
#[derive(Debug, Default)]
pub(in crate::ldm) enum Stage {
    /// A primary takes writes and locks; a backup has nothing to wait for.
    #[default]
    Open,
    /// A new primary that knows what its members know, and grants no locks yet.
    Opening(Opening),
    /// A primary that waits for the reports of its members.
    Gathering(Gathering),
}

/// The line of primaries that handed over to each other, as this member knows it.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Line {
    /// Its first view: what was staged here for an earlier one is void.
    pub(in crate::ldm) since: ViewNumber,
    /// The first view of this member as primary, of those that follow each other.
    leads_since: ViewNumber,
    /// The view in which this member took the line's open transactions over; None: another member has them, or nobody.
    acquired: Option<ViewNumber>,
}

impl Line {
    /// The line whose open transactions are here.
    pub(in crate::ldm) fn claim(&self) -> Option<Claim> {
        self.acquired.map(|acquired| Claim { since: self.since, acquired })
    }
}

/// How far earlier streams were consumed, or given out.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Streams(BTreeMap<ViewNumber, Sequence>);

impl Streams {
    /// A stream has ended.
    fn note(&mut self, view: ViewNumber, last: Sequence) {
        self.0.insert(view, last);
        while self.0.len() > STREAMS_KEPT {
            self.0.pop_first();
        }
    }

    /// Whether a place of an earlier stream was consumed here.
    pub(in crate::ldm) fn has_consumed(&self, stream: ViewNumber, sequence: Sequence) -> bool {
        let oldest = self.0.first_key_value().map(|(view, _)| *view);
        gather::is_consumed(oldest, self.0.get(&stream).copied(), (stream, sequence))
    }

    fn to_vec(&self) -> Vec<(ViewNumber, Sequence)> {
        self.0.iter().map(|(view, consumed)| (*view, *consumed)).collect()
    }
}

impl Takeover {
    pub(in crate::ldm) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Open)
    }

    pub(in crate::ldm) fn is_gathering(&self) -> bool {
        matches!(self.stage, Stage::Gathering(_))
    }

    /// Whether it grants no locks yet.
    fn is_opening(&self) -> bool {
        match &self.stage {
            Stage::Open => false,
            Stage::Opening(_) => true,
            Stage::Gathering(gathering) => gathering.then.is_some(),
        }
    }

    /// The things that a new primary waits for before it grants locks.
    fn opening_mut(&mut self) -> Option<&mut Opening> {
        match &mut self.stage {
            Stage::Open => None,
            Stage::Opening(opening) => Some(opening),
            Stage::Gathering(gathering) => gathering.then.as_mut(),
        }
    }

    /// The open transactions of the line are at this primary.
    fn has_taken(&self) -> bool {
        match &self.stage {
            Stage::Open => true,
            Stage::Opening(opening) => opening.has_taken,
            Stage::Gathering(gathering) => gathering.then.as_ref().is_none_or(|opening| opening.has_taken),
        }
    }

    /// All reports are here, and what is in them is looked at.
    fn end_gathering(&mut self, mut gathering: Gathering) -> Gathering {
        self.stage = gathering.then.take().map_or(Stage::Open, Stage::Opening);
        gathering
    }

    /// It goes on gathering: slices that are under way must end first.
    fn gather_on(&mut self, mut gathering: Gathering) {
        if let Stage::Opening(opening) = std::mem::take(&mut self.stage) {
            gathering.then = Some(opening);
        }
        self.stage = Stage::Gathering(gathering);
    }

    /// The line that this member had is over. A primary (it was that in the view before, and skipped one in which it
    /// was not) opens as a new one does.
    fn begin_again(&mut self, view: ViewNumber) {
        self.line.leads_since = view;
        if let Stage::Gathering(gathering) = &mut self.stage {
            gathering.then.get_or_insert_default().has_taken = false;
        }
    }

    /// Another member has the open transactions of the line.
    fn void_claim(&mut self) {
        self.line.acquired = None;
    }

    /// This member is not primary any more: pending commits and requests that were held back.
    fn step_down(&mut self) -> (BTreeMap<TransactionId, PendingCommit>, Vec<(Address, Signal)>) {
        self.stage = Stage::Open;
        self.dropping.clear();
        (std::mem::take(&mut self.resumed), std::mem::take(&mut self.waiting))
    }

    /// A piece of a hand-over is here.
    pub(in crate::ldm) fn keep_piece(&mut self, from: NodeId, piece: HandOver) {
        if let Stage::Gathering(gathering) = &mut self.stage
            && gathering.missing.contains(&from)
        {
            gathering.pieces.push((from, piece));
        }
    }

    /// Whether the abort of a transaction is being recorded.
    pub(in crate::ldm) fn is_dropping(&self, transaction: TransactionId) -> bool {
        self.dropping.contains_key(&transaction)
    }
}

impl Slot {
    pub(in crate::ldm) fn is_gathering(&self) -> bool {
        self.takeover.is_gathering()
    }

    /// A new view's stream begins; primary and backups are those of the new view already.
    pub(in crate::ldm) fn begin_stream(&mut self, before: ViewNumber, view: &View, was_primary: bool) {
        let is_primary = self.is_primary();
        let (view, is_first) = (view.number, view.is_first());
        let takeover = &mut self.takeover;
        if before == ViewNumber(0) {
            takeover.line.since = view;
        }
        if is_first {
            takeover.line.acquired = is_primary.then_some(view);
            return;
        }
        let stream = std::mem::take(&mut self.stream);
        if before > ViewNumber(0) {
            takeover.streams.note(before, if was_primary { stream.given } else { stream.consumed });
        }
        let pending = stream.pending.into_values();
        takeover.resumed.extend(pending.map(|pending| (pending.transaction, pending)));
        self.members.copies.clear();
        if let Some(copy) = &mut self.copy_in {
            copy.begin_view();
        }
        takeover.orphans = Orphans::default();
        takeover.resending = None;
        let then = match std::mem::take(&mut takeover.stage) {
            Stage::Open => None,
            Stage::Opening(opening) => Some(opening),
            Stage::Gathering(gathering) => {
                takeover.unread.extend(gathering.pieces);
                gathering.then
            }
        };
        if is_primary {
            let missing = self.members.backups.iter().map(|backup| backup.node).collect();
            let then = if was_primary { then } else { takeover.lead(view) };
            takeover.stage = Stage::Gathering(Gathering { missing, then, ..Gathering::default() });
        }
    }
}

impl Takeover {
    /// This member is a new primary.
    fn lead(&mut self, view: ViewNumber) -> Option<Opening> {
        self.line.leads_since = view;
        if mutants::is(Mutant::LocksBeforeSettled) {
            return None;
        }
        Some(Opening::default())
    }
}
