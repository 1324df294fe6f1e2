//! Takeover: how what a view left undecided goes on in the next.
//!
//! Every view starts a new stream, numbered from 1, in each slot, and the fence (I2) drops what is still under way in older ones. On
//! installing a view, each slot does this, whether its primary stayed or changed:
//!
//! ```text
//! backups --Gather: what is undecided here, how far the old streams were consumed, which outcomes are kept--> primary
//! primary, when all have reported: decides what some member has decided; tells members what is decided here; drops what it lacks;
//!          replicates everything undecided again, in the new stream (receivers know what they hold, only its place is new)
//! one-primary: committed when all backups have it      two-phase: the coordinator asks again      coordinator lost: `tc::recovery`
//! ```
//! A new primary grants locks when every data node has installed the view (no coordinator counts a lost lock any more) and nothing
//! inherited is undecided here; until then requests are held back, and prepared versions are their own locks.
//!
//! Invariants, each closing an interleaving:
//! - What every in-sync member applied is never dropped: it may have been acknowledged. What the new primary lacks never was (a
//!   one-primary commit needs all backups, a two-phase one all replicas), so it aborts: by a marker here and at every member before
//!   anyone is told (I8).
//! - "Consumed and not undecided" means *decided* (a one-primary commit is only decided "commit" by its primary's word), because a refused
//!   place leaves an abort marker. A member's word is read with the streams it belongs to: the same transaction has another place in each.
//! - Places of one member may be stacked on one row (a later transaction is prepared before the decision on the earlier one arrived), so
//!   they are replicated again in the order in which they first came (`order`), which a new place does not change. A large one goes in pieces to members that lack it, and what is behind it
//!   waits; those who hold it only hear of its new place.
//! - Nothing decided is replicated again: a member that has published a transaction would apply it twice, above what followed it.
//! - Places of an older stream are never named in the new one: a publication that ends in a later view tells nobody its place.
//! - A transaction whose coordinator is lost has none ever after (`NOBODY`): a node that comes back under the same id knows nothing of it.
//!
//! - A joining member reports and is replicated to like any other: it lacks old rows (`copy`), not what is undecided.
//!
//! Hand-over between primaries that both live is this, and what `handover` adds: open transactions travel too.

use crate::ldm::slot::Slot;
use crate::ldm::slot::backup::{Applied, HELD_ALREADY};
use crate::ldm::slot::commit::{
    AHEAD_BYTES, After, Ending, Mark, PendingCommit, Reply, Ship, ShipWindow, prepared, send_to_all,
};
use crate::ldm::slot::copy::CopyIn;
use crate::ldm::slot::markers::Marker;
use crate::ldm::slot::transaction::{Held, HeldStage, Operation};
use crate::ldm::slot::view_change::handover::slot_of;
use crate::ldm::{Ldm, Place, RELEASE};
use crate::mutants::{self, Mutant};
use protocol::signal::{
    Claim, GatherReport, HandOver, Outcome, RecoveredState, RecoveryReport, Replicate, UndecidedPlace,
};
use protocol::{Address, Outputs, Severity, Signal};
use query::Shared;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::{FixedMap, Now};
use types::{Epoch, NodeId, Sequence, SlotId, TransactionId, ViewNumber};

/// Earlier streams that are remembered: what is older was settled long ago.
const STREAMS_KEPT: usize = 64;

/// A slot's part.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Takeover {
    /// The first view of this primary's line: what was staged here for an earlier one is lost.
    pub(in crate::ldm) since: ViewNumber,
    /// The first view of this member as primary, of those that follow each other.
    leads_since: ViewNumber,
    /// The view in which this member took the line's open transactions over; None: another member has them, or nobody.
    acquired: Option<ViewNumber>,
    /// How far earlier streams were consumed, or given out.
    streams: BTreeMap<ViewNumber, Sequence>,
    /// Primary: reports that are missing, and those that came.
    gathering: Option<Gathering>,
    /// What was handed over to it in the view before, and not taken.
    pub(in crate::ldm) unread: Vec<(NodeId, HandOver)>,
    /// New primary: it grants no locks yet.
    is_opening: bool,
    /// Primary: what is open of the line is here.
    has_taken: bool,
    /// New primary: undecided transactions of earlier views.
    inherited: BTreeSet<TransactionId>,
    /// Primary: what is to be replicated again, in this order.
    again: VecDeque<Place>,
    /// Members that hold it.
    holders: BTreeMap<TransactionId, Vec<NodeId>>,
    /// Members that have all rows; the others are copied to when everything is replicated again.
    whole: Option<Vec<NodeId>>,
    /// Primary that stayed: one-primary commits that are to be replicated again.
    resumed: BTreeMap<TransactionId, PendingCommit>,
    /// Transactions without coordinator that were replicated again, and the members that have not confirmed it.
    confirming: BTreeMap<Sequence, (TransactionId, Vec<NodeId>)>,
    /// The transactions in it.
    unconfirmed: BTreeSet<TransactionId>,
    /// Transactions that this primary lacked: the members that have not recorded their abort.
    dropping: BTreeMap<TransactionId, Dropping>,
    /// Requests that came too early.
    waiting: Vec<(Address, Signal)>,
}

/// A transaction that aborts because this primary lacked or refused it.
#[derive(Debug)]
struct Dropping {
    missing: Vec<NodeId>,
    is_one_primary: bool,
}

#[derive(Debug)]
struct Gathering {
    missing: Vec<NodeId>,
    reports: Vec<(NodeId, GatherReport)>,
    /// What members handed over.
    pieces: Vec<(NodeId, HandOver)>,
}

/// A place in the stream of a view.
type StreamPlace = (ViewNumber, Sequence);

/// What all members have reported of a slot.
struct Reported<'a> {
    reports: &'a [(NodeId, GatherReport)],
    /// Where each of them has what it does not know the outcome of.
    undecided: FixedMap<TransactionId, Vec<(NodeId, StreamPlace)>>,
    /// Who hands the line over.
    claimant: Option<NodeId>,
}

impl<'a> Reported<'a> {
    fn new(reports: &'a [(NodeId, GatherReport)], claimant: Option<NodeId>) -> Self {
        let mut undecided: FixedMap<_, Vec<_>> = FixedMap::default();
        for (node, report) in reports {
            for place in &report.undecided {
                let places = undecided.entry(place.transaction).or_default();
                places.push((*node, (place.stream, place.sequence)));
            }
        }
        Self { reports, undecided, claimant }
    }
}

impl Takeover {
    pub(in crate::ldm) fn is_settled(&self) -> bool {
        self.gathering.is_none() && !self.is_opening
    }

    /// Whether a place of an earlier stream was consumed here.
    pub(in crate::ldm) fn has_consumed(&self, stream: ViewNumber, sequence: Sequence) -> bool {
        let oldest = self.streams.first_key_value().map(|(view, _)| *view);
        is_consumed(oldest, self.streams.get(&stream).copied(), (stream, sequence))
    }

    /// The line whose open transactions are here.
    pub(in crate::ldm) fn claim(&self) -> Option<Claim> {
        self.acquired.map(|acquired| Claim { since: self.since, acquired })
    }

    /// The line that this member had is over. A primary (it was that in the view before, and skipped one in which it was not) opens as a new one does.
    pub(in crate::ldm) fn begin_again(&mut self, is_primary: bool, view: ViewNumber) {
        (self.is_opening, self.has_taken, self.leads_since) = (is_primary, false, view);
    }

    /// Another member has them.
    pub(in crate::ldm) fn lose_claim(&mut self) {
        self.acquired = None;
    }

    /// This member is not primary any more: pending commits and requests that were held back.
    pub(in crate::ldm) fn step_down(
        &mut self,
    ) -> (BTreeMap<TransactionId, PendingCommit>, Vec<(Address, Signal)>) {
        (self.is_opening, self.has_taken) = (false, false);
        self.inherited.clear();
        self.dropping.clear();
        (std::mem::take(&mut self.resumed), std::mem::take(&mut self.waiting))
    }

    /// What a member hands over.
    pub(in crate::ldm) fn keep_piece(&mut self, from: NodeId, piece: HandOver) {
        if let Some(gathering) = self.gathering.as_mut().filter(|gathering| gathering.missing.contains(&from))
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
    /// A new view's stream begins; primary and backups are those of the new view already.
    pub(in crate::ldm) fn begin_stream(&mut self, before: ViewNumber, view: ViewNumber, was_primary: bool) {
        let takeover = &mut self.takeover;
        if before == ViewNumber(0) {
            takeover.since = view;
        }
        if view == ViewNumber(1) {
            (takeover.acquired, takeover.has_taken) = (self.is_primary.then_some(view), self.is_primary);
            return;
        }
        if before > ViewNumber(0) {
            takeover.streams.insert(before, if was_primary { self.sequence } else { self.applied });
        }
        self.copies.clear();
        if let Some(copy) = &mut self.copy_in {
            copy.begin_view();
        }
        while takeover.streams.len() > STREAMS_KEPT {
            takeover.streams.pop_first();
        }
        self.sequence = Sequence(0);
        self.applied = Sequence(0);
        self.early.clear();
        self.undecided.clear();
        let pending = std::mem::take(&mut self.pending).into_values();
        takeover.resumed.extend(pending.map(|pending| (pending.transaction, pending)));
        takeover.confirming.clear();
        takeover.unconfirmed.clear();
        takeover.again.clear();
        takeover.holders.clear();
        takeover.whole = None;
        takeover.unread.extend(takeover.gathering.take().into_iter().flat_map(|gathering| gathering.pieces));
        takeover.gathering = self.is_primary.then(|| Gathering {
            missing: self.backups.iter().map(|backup| backup.node).collect(),
            reports: Vec::new(),
            pieces: Vec::new(),
        });
        if self.is_primary && !was_primary {
            takeover.inherited.clear();
            takeover.leads_since = view;
            takeover.has_taken = false;
            takeover.is_opening = !mutants::is(Mutant::LocksBeforeSettled);
        }
    }
}

impl Ldm {
    /// A newer view is installed: its slots have begun their streams.
    pub(in crate::ldm) fn begin_takeover(
        &mut self,
        now: Now,
        reborn: &[NodeId],
        stepped_down: &[SlotId],
        outputs: &mut Outputs<Shared>,
    ) {
        self.copying.begin_view();
        for slot in stepped_down {
            self.step_down(now, *slot, outputs);
        }
        self.begin_lines(now, outputs);
        self.lose_unread(reborn, outputs);
        let mut ahead: Vec<Place> = self.ahead.keys().copied().collect();
        ahead.sort_unstable();
        for place in ahead {
            self.drop_ahead(place, outputs);
        }
        self.refuse_not_led(outputs);
        // Rounds of the old view are void; what they wanted is wanted still.
        self.draining = None;
        if self.epoch_wanted > Epoch(0) {
            let wanted = Signal::EpochWanted { epoch: self.epoch_wanted };
            outputs.send(self.address, Address::main(self.address.node), wanted);
        }
        self.forget_lost_coordinators(reborn);
        self.ship_again(reborn, outputs);
        self.count_unsettled(outputs);
        self.is_entering = false;
        for slot in self.slots.keys().copied().collect::<Vec<_>>() {
            if self.is_primary(slot) {
                self.tell_taken(slot, outputs);
                self.finish_gathering(slot, outputs);
            } else {
                if self.slot(slot).is_some_and(|state| state.hand_out.is_some()) {
                    self.hand_over(slot, outputs);
                } else {
                    self.report(slot, outputs);
                }
                self.report_copied(slot, outputs);
            }
        }
    }

    /// Lines that the view has ended are given up.
    fn begin_lines(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        for slot in self.slots.keys().copied().collect::<Vec<_>>() {
            let Some(state) = self.slots.get_mut(&slot) else { continue };
            let view = &self.map.view;
            let hand_out = state.hand_out.as_mut();
            let is_known = hand_out.is_none_or(|hand_out| hand_out.begin_view(view, slot));
            let has_claim = state.takeover.acquired.is_some();
            if has_claim && (!is_known || self.claim_of(slot).is_none()) {
                self.give_up_line(now, slot, outputs);
            }
        }
    }

    pub(in crate::ldm) fn count_unsettled(&mut self, outputs: &mut Outputs<Shared>) {
        let before = self.unsettled_count;
        let is_unsettled = |state: &&Slot| !state.takeover.is_settled() || state.hand_out.is_some();
        self.unsettled_count = self.slots.values().filter(is_unsettled).count();
        if before > 0 && self.unsettled_count == 0 {
            // Operators want to know how long a failover took; so does `latsdb bench failover`.
            let text = format!("view {}: all slots of {} take writes", self.map.view.number, self.address);
            outputs.event(Severity::Info, text);
        }
    }

    fn forget_lost_coordinators(&mut self, reborn: &[NodeId]) {
        let map = &self.map;
        // One that is only out of reach decides still: a newer view says whether it is gone, and says so to all.
        let is_gone =
            |coordinator: &Address| map.is_left_out(coordinator.node) || reborn.contains(&coordinator.node);
        let held = self.held.values_mut().map(|held| &mut held.coordinator);
        for coordinator in held.chain(self.applied.values_mut().map(|applied| &mut applied.coordinator)) {
            if coordinator.as_ref().is_some_and(is_gone) && !mutants::is(Mutant::LostCoordinatorKept) {
                *coordinator = Some(Address::NOBODY);
            }
        }
    }

    /// Large transactions that were not sealed begin their shipping again; those of a lost coordinator end.
    fn ship_again(&mut self, reborn: &[NodeId], outputs: &mut Outputs<Shared>) {
        let mut ships: Vec<(Place, Ship)> = self.shipping.drain().collect();
        ships.sort_unstable_by_key(|(place, _)| *place);
        self.ship_window = ShipWindow::default();
        for (_, mut ship) in ships {
            ship.bytes = 0;
            match &ship.ending {
                // It is gathered anew.
                Ending::Again(_) => {}
                Ending::Two { coordinator, .. }
                    if self.is_lost(coordinator.node) || reborn.contains(&coordinator.node) =>
                {
                    self.refuse_ship(ship, protocol::program::Refusal::WrongView, outputs);
                }
                Ending::One(_) | Ending::Two { .. } => {
                    (ship.next, ship.pieces, ship.unacknowledged) = (0, 0, 0);
                    self.ship(ship, outputs);
                }
            }
        }
    }

    // ---- gathering ----------------------------------------------------------------------------------------------------------------

    /// Tells the primary what is undecided here.
    pub(in crate::ldm) fn report(&self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let (Some(state), Some(primary)) = (self.slot(slot), self.map.primary(slot)) else {
            return;
        };
        let undecided = self.applied_of(slot).into_iter().filter_map(|(transaction, ..)| {
            let applied = self.applied.get(&(transaction, slot))?;
            Some(UndecidedPlace {
                transaction,
                stream: applied.stream,
                sequence: applied.sequence,
                epoch: applied.epoch,
                is_one_primary: applied.coordinator.is_none(),
            })
        });
        let undecided = undecided.collect();
        let outcomes = self.outcomes.iter().filter(|((_, of), _)| *of == slot);
        let mut outcomes: Vec<(TransactionId, Option<Epoch>)> =
            outcomes.map(|((transaction, _), marker)| (*transaction, marker.outcome)).collect();
        outcomes.sort_unstable();
        let streams = state.takeover.streams.iter().map(|(view, consumed)| (*view, *consumed)).collect();
        let is_copied = state.copy_in.as_ref().is_none_or(CopyIn::is_whole);
        let claim = self.claim_of(slot);
        let report = GatherReport { slot, streams, undecided, outcomes, is_copied, claim };
        outputs.send(self.address, primary, Signal::Gather(Box::new(report)));
    }

    /// What was replicated here and is undecided, in the order in which it came.
    pub(in crate::ldm) fn applied_of(&self, slot: SlotId) -> Vec<(TransactionId, ViewNumber, Sequence)> {
        let of = self.applied.iter().filter(|((_, of), _)| *of == slot);
        let mut places: Vec<_> = of
            .map(|((transaction, _), applied)| {
                (applied.order, *transaction, applied.stream, applied.sequence)
            })
            .collect();
        places.sort_unstable();
        if mutants::is(Mutant::ReplicatedOutOfOrder) {
            places.reverse();
        }
        places.into_iter().map(|(_, transaction, stream, sequence)| (transaction, stream, sequence)).collect()
    }

    /// A number above all that were given.
    pub(in crate::ldm) fn new_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    pub(in crate::ldm) fn on_gather(
        &mut self,
        from: NodeId,
        mut report: GatherReport,
        outputs: &mut Outputs<Shared>,
    ) {
        let slot = report.slot;
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let Some(gathering) = &mut state.takeover.gathering else { return };
        if !gathering.missing.contains(&from) {
            return;
        }
        gathering.missing.retain(|missing| *missing != from);
        // (A peer in order has sorted them.)
        report.outcomes.sort_unstable();
        // Not in the order in which they come: nothing depends on that.
        let place = gathering.reports.partition_point(|(node, _)| *node < from);
        gathering.reports.insert(place, (from, report));
        self.finish_gathering(slot, outputs);
    }

    /// All members have reported: nothing that a survivor knows is unknown here.
    pub(in crate::ldm) fn finish_gathering(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let is_whole =
            |gathering: &mut Gathering| gathering.missing.is_empty() || mutants::is(Mutant::GatherSkipped);
        let Some(mut gathering) = state.takeover.gathering.take_if(is_whole) else { return };
        let claimant = self.claimant(slot, &gathering.reports);
        gathering.pieces.retain(|(from, _)| Some(*from) == claimant);
        // What is being undone must be gone before it comes again with a piece, and what the claimant had published must be whole.
        if claimant.is_some() && self.has_slices(slot) {
            return self.gather_later(slot, gathering);
        }
        if claimant.is_some() {
            // Its own claim, if it has one, is older: it never heard that it may let go.
            self.lose_own_waits(slot, &gathering.pieces, outputs);
            self.let_go(slot, outputs);
        }
        for (_, piece) in &mut gathering.pieces {
            self.take_places(slot, std::mem::take(&mut piece.places), outputs);
        }
        let reported = Reported::new(&gathering.reports, claimant);
        for (transaction, stream, sequence) in self.applied_of(slot) {
            self.learn((transaction, slot), (stream, sequence), &reported, outputs);
        }
        if claimant.is_some() && self.has_slices(slot) {
            return self.gather_later(slot, gathering);
        }
        self.go_on_gathered(slot, claimant, gathering, outputs);
    }

    /// It goes on when the slices that are under way have ended.
    fn gather_later(&mut self, slot: SlotId, gathering: Gathering) {
        if let Some(state) = self.slots.get_mut(&slot) {
            state.takeover.gathering = Some(gathering);
        }
    }

    /// What is undecided is told, dropped or replicated again; what is open goes on.
    fn go_on_gathered(
        &mut self,
        slot: SlotId,
        claimant: Option<NodeId>,
        gathering: Gathering,
        outputs: &mut Outputs<Shared>,
    ) {
        self.tell_all_taken(slot, outputs);
        self.learn_of_orphans(slot, &gathering.reports, outputs);
        for (node, report) in &gathering.reports {
            for place in &report.undecided {
                self.tell(*node, slot, place, outputs);
            }
        }
        self.drop_again(slot, outputs);
        let again = self.take_over(slot);
        if let Some(state) = self.slots.get_mut(&slot) {
            let takeover = &mut state.takeover;
            takeover.again = again.into();
            let whole = gathering.reports.iter().filter(|(_, report)| report.is_copied);
            takeover.whole = Some(whole.map(|(node, _)| *node).collect());
            for (node, report) in &gathering.reports {
                for place in &report.undecided {
                    takeover.holders.entry(place.transaction).or_default().push(*node);
                }
            }
        }
        self.replicate_rest(slot, outputs);
        self.begin_line(slot, claimant, gathering, outputs);
        self.open_if_ready(slot, outputs);
        self.release(slot, outputs);
    }

    /// Who hands the line over: the last one to have taken it, if that is not this member.
    fn claimant(&self, slot: SlotId, reports: &[(NodeId, GatherReport)]) -> Option<NodeId> {
        let since = self.map.view.place(slot)?.since;
        let claims = reports.iter().filter_map(|(node, report)| Some((report.claim?.acquired, *node)));
        let (acquired, node) = claims.filter(|(acquired, _)| *acquired >= since).max()?;
        let own = self.claim_of(slot).map(|claim| claim.acquired);
        (own.is_none_or(|own| own < acquired)).then_some(node)
    }

    /// The word that a claimant may let go was void, perhaps: what goes on here at once is replicated behind it.
    fn tell_taken(&self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        if self.slot(slot).is_some_and(|state| state.takeover.has_taken) {
            self.tell_all_taken(slot, outputs);
        }
    }

    /// Whoever claims the line may let go: the claim is here, or a newer one is. (Who claims nothing may have waited for this to leave.)
    fn tell_all_taken(&self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.slot(slot) else { return };
        send_to_all(self.address, &state.backups, Signal::Taken { slot }, outputs);
    }

    /// From here on the line is this member's: a new one, its own, or one that was handed over.
    fn begin_line(
        &mut self,
        slot: SlotId,
        claimant: Option<NodeId>,
        gathering: Gathering,
        outputs: &mut Outputs<Shared>,
    ) {
        let view = self.map.view.number;
        let named = self.map.view.place(slot).map_or(view, |place| place.since);
        let claimed = gathering.reports.iter().find(|(node, _)| Some(*node) == claimant);
        let own = self.claim_of(slot);
        self.take_back(slot, outputs);
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let takeover = &mut state.takeover;
        match (claimed.and_then(|(_, report)| report.claim), own) {
            (Some(claim), _) => {
                (takeover.since, takeover.acquired) = (claim.since.max(named), Some(view));
            }
            (None, Some(_)) => {}
            // The line that the view names, or, if nobody is left to hand it over, one that nobody knew of before. It is claimed when it is open.
            (None, None) => takeover.since = takeover.leads_since.max(named),
        }
        takeover.has_taken = takeover.acquired.is_some();
        let pieces = gathering.pieces.into_iter().map(|(_, piece)| piece).collect();
        self.take_open(slot, pieces, outputs);
        self.count_unsettled(outputs);
    }

    /// Decides what another member has decided already.
    fn learn(
        &mut self,
        place: Place,
        own: StreamPlace,
        reported: &Reported<'_>,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(applied) = self.applied.get(&place) else { return };
        let undecided = reported.undecided.get(&place.0).map_or(&[][..], Vec::as_slice);
        let is_orphan = applied.coordinator == Some(Address::NOBODY);
        let mut known = None;
        let is_two_phase = applied.coordinator.is_some();
        for (node, report) in reported.reports {
            let is_undecided = undecided.iter().any(|(of, _)| of == node);
            match outcome_in(report, place.0) {
                Some(outcome) if is_orphan => known = known.or(Some(outcome)),
                // Open transactions that are handed over may lie above it.
                Some(outcome) if is_two_phase && Some(*node) == reported.claimant => known = Some(outcome),
                // A refusal of one member: replicated again, it is refused again, and aborted by all.
                Some(None) => {}
                Some(outcome) if applied.coordinator.is_none() => known = Some(outcome),
                Some(_) => {}
                None if applied.coordinator.is_none() && !is_undecided => {
                    let has_consumed = |place: StreamPlace| {
                        // Who is still being copied to may lack what an older stream left undecided: it was about to be replicated to it.
                        let oldest = report.streams.first().map(|(view, _)| *view);
                        let oldest = oldest.filter(|_| report.is_copied);
                        let of_stream = report.streams.iter().find(|(view, _)| *view == place.0);
                        is_consumed(oldest, of_stream.map(|(_, consumed)| *consumed), place)
                    };
                    let mut places = undecided.iter().map(|(_, place)| *place).chain([own]);
                    if places.any(has_consumed) && !mutants::is(Mutant::ConsumedMeansNothing) {
                        known = Some(Some(applied.epoch));
                    }
                }
                None => {}
            }
        }
        let Some(outcome) = known else { return };
        let Some(mut applied) = self.applied.remove(&place) else { return };
        let results = applied.marker.take();
        if results.is_some() || is_two_phase {
            self.outcomes.insert(place, Marker { outcome, results: results.unwrap_or_default() });
        }
        self.publish_applied(place, applied, Some(outcome), After::Nothing, outputs);
    }

    /// A primary that stayed learns the outcome of transactions whose coordinator is lost from members that heard it.
    fn learn_of_orphans(
        &mut self,
        slot: SlotId,
        reports: &[(NodeId, GatherReport)],
        outputs: &mut Outputs<Shared>,
    ) {
        for place in self.ending_of(slot) {
            let Some(held) = self.held.get(&place) else { continue };
            if held.coordinator != Some(Address::NOBODY) {
                continue;
            }
            if let Some(outcome) = reports.iter().filter_map(|(_, report)| outcome_in(report, place.0)).max()
            {
                self.outcomes.insert(place, Marker::of(outcome));
                self.finish(place, outcome, After::Nothing, outputs);
            }
        }
    }

    /// Transactions that end here and whose outcome is not known, as the primary of the last view left them, in their order.
    fn ending_of(&self, slot: SlotId) -> Vec<Place> {
        let view = self.map.view.number;
        let mut places = self.sealed_of(slot);
        places.retain(|place| self.held.get(place).is_some_and(|held| held.sealed < view));
        places
    }

    /// Transactions that this primary has sealed, and whose outcome is not known, in their order.
    pub(in crate::ldm) fn sealed_of(&self, slot: SlotId) -> Vec<Place> {
        let is_sealed = |held: &Held| held.stage == HeldStage::Ending && held.epoch > Epoch(0);
        let of = self.held.iter().filter(|((_, of), held)| *of == slot && is_sealed(held));
        let mut places: Vec<(u64, Place)> = of.map(|(place, held)| (held.order, *place)).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, place)| place).collect()
    }

    /// Tells a member what became of something that it does not know the outcome of, unless that is unknown here too.
    fn tell(
        &mut self,
        node: NodeId,
        slot: SlotId,
        undecided: &UndecidedPlace,
        outputs: &mut Outputs<Shared>,
    ) {
        let place = (undecided.transaction, slot);
        let (transaction, is_one) = (undecided.transaction, undecided.is_one_primary);
        if mutants::is(Mutant::DecisionNotTold) {
            return;
        }
        let Some(to) = self.map.view.ldm(slot, node) else { return };
        let outcome = |committed| Signal::Outcome(Outcome { transaction, slot, committed });
        match self.outcomes.get(&place).map(|marker| marker.outcome) {
            // Perhaps nobody else knows: it is told when all do.
            Some(None) => return self.drop_lacking(place, is_one, outputs),
            Some(committed) => return outputs.send(self.address, to, outcome(committed)),
            None => {}
        }
        match self.held.get(&place).map(|held| held.stage) {
            Some(HeldStage::Ending | HeldStage::Open | HeldStage::Undoing { .. }) => return,
            Some(HeldStage::Publishing) => {}
            None if self.applied.contains_key(&place) => return,
            None => {
                let Some(state) = self.slots.get_mut(&slot) else { return };
                if !state.takeover.has_consumed(undecided.stream, undecided.sequence) {
                    return self.drop_lacking(place, is_one, outputs);
                }
                if !is_one {
                    // Its coordinator knows, and tells.
                    let what = format!("{transaction} is not decided there, but here, and nobody knows how");
                    return outputs.distrust(to, what);
                }
            }
        }
        outputs.send(self.address, to, outcome(Some(undecided.epoch)));
        outputs.send(self.address, to, Signal::Forget { slot, transactions: vec![transaction] });
    }

    /// A member holds what this primary never got: it was never acknowledged, and aborts.
    fn drop_lacking(&mut self, place: Place, is_one_primary: bool, outputs: &mut Outputs<Shared>) {
        let (transaction, slot) = place;
        self.outcomes.insert(place, Marker::of(None));
        let Some(state) = self.slots.get_mut(&slot) else { return };
        if is_one_primary || !mutants::is(Mutant::DropToldEarly) {
            let missing = state.backups.iter().map(|backup| backup.node).collect();
            state.takeover.dropping.insert(transaction, Dropping { missing, is_one_primary });
        }
        let abort = Signal::Outcome(Outcome { transaction, slot, committed: None });
        send_to_all(self.address, &state.backups, abort, outputs);
        if mutants::is(Mutant::DropToldUnrecorded) {
            self.end_drop(place, outputs);
        }
    }

    /// What was being dropped when the view changed is dropped by the members of the new one.
    fn drop_again(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.slot(slot) else { return };
        let dropping = state.takeover.dropping.iter();
        let dropping: Vec<(TransactionId, bool)> =
            dropping.map(|(transaction, dropping)| (*transaction, dropping.is_one_primary)).collect();
        for (transaction, is_one_primary) in dropping {
            self.drop_lacking((transaction, slot), is_one_primary, outputs);
            self.end_drop((transaction, slot), outputs);
        }
    }

    /// A member has recorded the abort of such a transaction; true if it was one.
    pub(in crate::ldm) fn on_dropped_recorded(
        &mut self,
        node: NodeId,
        place: Place,
        outputs: &mut Outputs<Shared>,
    ) -> bool {
        let Some(state) = self.slots.get_mut(&place.1) else { return false };
        let Some(dropping) = state.takeover.dropping.get_mut(&place.0) else { return false };
        dropping.missing.retain(|missing| *missing != node);
        self.end_drop(place, outputs);
        true
    }

    /// If all members have recorded the abort, it may be told.
    fn end_drop(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.slots.get_mut(&place.1) else { return };
        let is_over =
            |dropping: &Dropping| dropping.missing.is_empty() || mutants::is(Mutant::DropToldUnrecorded);
        if state.takeover.dropping.get(&place.0).is_some_and(is_over)
            && let Some(dropping) = state.takeover.dropping.remove(&place.0)
        {
            if dropping.is_one_primary {
                // Nobody else decides it.
                self.on_forget(place.1, vec![place.0], outputs);
            }
            self.answer_askers(place, None, outputs);
        }
    }

    // ---- going on -----------------------------------------------------------------------------------------------------------------

    /// What was applied here for the old primary is held here from now on. All that is to be replicated again, in order.
    fn take_over(&mut self, slot: SlotId) -> Vec<Place> {
        let mut again = self.ending_of(slot);
        for (transaction, ..) in self.applied_of(slot) {
            let place = (transaction, slot);
            let Some(applied) = self.applied.remove(&place) else { continue };
            self.held.insert(place, held_of(applied));
            if let Some(state) = self.slots.get_mut(&slot) {
                state.takeover.inherited.insert(transaction);
            }
            again.push(place);
        }
        // (A primary that stepped down and is one again may have both kinds.)
        if !mutants::is(Mutant::ReplicatedOutOfOrder) {
            again.sort_by_key(|place| self.held.get(place).map(|held| held.order));
        }
        again
    }

    /// Replicates the next again, and so on, until one is large. What was decided meanwhile is not undecided anywhere any more.
    pub(in crate::ldm) fn replicate_rest(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let view = self.map.view.number;
        while let Some(place) = self.slots.get_mut(&slot).and_then(|state| state.takeover.again.pop_front()) {
            let is_ending = |held: &Held| held.stage == HeldStage::Ending && held.sealed < view;
            if !self.held.get(&place).is_some_and(is_ending) {
                continue;
            }
            let lacking = self.lacking(place);
            if self.is_large(place, &lacking) {
                let (ending, epoch_seen) = (Ending::Again(lacking), Epoch(0));
                let ship =
                    Ship { place, ending, epoch_seen, next: 0, pieces: 0, unacknowledged: 0, bytes: 0 };
                return self.ship(ship, outputs);
            }
            self.replicate_again(place, 0, outputs);
        }
        let whole = self.slots.get_mut(&slot).and_then(|state| state.takeover.whole.take());
        if let Some(whole) = whole {
            self.begin_copies(slot, &whole, outputs);
        }
    }

    /// Members that have not reported that they hold it.
    fn lacking(&self, (transaction, slot): Place) -> Vec<Address> {
        let Some(state) = self.slot(slot) else { return Vec::new() };
        let holders = state.takeover.holders.get(&transaction);
        let lacks = |backup: &&Address| holders.is_none_or(|holders| !holders.contains(&backup.node));
        state.backups.iter().filter(lacks).copied().collect()
    }

    /// Whether it is more than one signal should carry.
    fn is_large(&self, place: Place, lacking: &[Address]) -> bool {
        let total = self.held.get(&place).map_or(0, |held| held.operations.len());
        let bytes = usize::try_from(AHEAD_BYTES).unwrap_or(usize::MAX);
        !lacking.is_empty()
            && self.replicated_writes(place, 0, self.sizes.ahead_rows as usize, bytes).1 < total
    }

    /// A large one is with all who lacked it.
    pub(in crate::ldm) fn go_on_again(&mut self, place: Place, pieces: u32, outputs: &mut Outputs<Shared>) {
        self.replicate_again(place, pieces, outputs);
        self.replicate_rest(place.1, outputs);
    }

    fn replicate_again(&mut self, place: Place, pieces: u32, outputs: &mut Outputs<Shared>) {
        let (transaction, slot) = place;
        let lacking = self.lacking(place);
        let writes = if lacking.is_empty() || pieces > 0 {
            Vec::new()
        } else {
            self.replicated_writes(place, 0, usize::MAX, usize::MAX).0
        };
        let view = self.map.view.number;
        let (Some(held), Some(state)) = (self.held.get_mut(&place), self.slots.get_mut(&slot)) else {
            return;
        };
        held.sealed = view;
        let (epoch, coordinator) = (held.epoch, held.coordinator);
        let has_writes = held.has_writes(slot);
        let mut sequence = None;
        let missing: Vec<NodeId> = state.backups.iter().map(|backup| backup.node).collect();
        if has_writes && !missing.is_empty() {
            state.sequence = Sequence(state.sequence.0 + 1);
            sequence = Some(state.sequence);
            held.sequence = state.sequence;
            let replicate = Replicate {
                slot,
                sequence: state.sequence,
                transaction,
                epoch,
                coordinator,
                participants: Arc::clone(&held.participants),
                marker: held.marker.clone(),
                pieces_ahead: HELD_ALREADY,
                writes: Vec::new(),
            };
            let is_holder = |backup: &&Address| !lacking.contains(backup);
            let holders: Vec<Address> = state.backups.iter().filter(is_holder).copied().collect();
            send_to_all(self.address, &holders, Signal::Replicate(Box::new(replicate.clone())), outputs);
            let replicate = Replicate { pieces_ahead: pieces, writes, ..replicate };
            send_to_all(self.address, &lacking, Signal::Replicate(Box::new(replicate)), outputs);
        }
        let Some(state) = self.slots.get_mut(&slot) else { return };
        match (coordinator, sequence) {
            (None, _) => {
                let resumed = state.takeover.resumed.remove(&transaction).map(|pending| pending.reply);
                // (It may be owed since this member stepped down and is primary again.)
                let reply = resumed.or_else(|| self.owed.remove(&place)).unwrap_or(Reply::Nobody);
                match sequence {
                    Some(sequence) => {
                        let pending = PendingCommit { transaction, missing, reply, refused: None };
                        state.pending.insert(sequence, pending);
                    }
                    None => {
                        let after = After::Answer { reply, sequence: None, refusal: None };
                        self.finish(place, Some(epoch), after, outputs);
                    }
                }
            }
            (Some(Address::NOBODY), Some(sequence)) if !mutants::is(Mutant::OrphanUnconfirmed) => {
                state.takeover.confirming.insert(sequence, (transaction, missing));
                state.takeover.unconfirmed.insert(transaction);
                self.mark_orphan(place, outputs);
            }
            (Some(Address::NOBODY), _) => self.mark_orphan(place, outputs),
            (Some(coordinator), _) => self.answer_prepare_again(place, coordinator, outputs),
        }
    }

    /// Whether a transaction is prepared, or about to be, for this coordinator, who asks again.
    pub(in crate::ldm) fn is_prepared_for(&self, place: Place, coordinator: Address) -> bool {
        let is_shipped = self.shipping.get(&place).is_some_and(
            |ship| matches!(&ship.ending, Ending::Two { coordinator: of, .. } if *of == coordinator),
        );
        let is_for = |held: &Held| held.stage == HeldStage::Ending && held.coordinator == Some(coordinator);
        is_shipped || self.held.get(&place).is_some_and(is_for)
    }

    /// Says so (again) when all its rows are prepared.
    pub(in crate::ldm) fn answer_prepare_again(
        &mut self,
        place: Place,
        coordinator: Address,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(held) = self.held.get(&place).filter(|held| held.epoch > Epoch(0)) else { return };
        let answer = prepared(place, held.epoch, held.has_writes(place.1), None);
        let mark = Mark { place, next: 0, then: Some((coordinator, answer)) };
        self.mark_at_once(mark, outputs);
    }

    // ---- transactions without coordinator -----------------------------------------------------------------------------------------

    /// A backup has (or has not) confirmed a transaction without coordinator.
    pub(in crate::ldm) fn on_orphan_applied(
        &mut self,
        node: NodeId,
        slot: SlotId,
        sequence: Sequence,
        is_refused: bool,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let Some((transaction, missing)) = state.takeover.confirming.get_mut(&sequence) else { return };
        let place = (*transaction, slot);
        missing.retain(|missing| *missing != node);
        if !is_refused && !missing.is_empty() {
            return;
        }
        state.takeover.confirming.remove(&sequence);
        state.takeover.unconfirmed.remove(&place.0);
        if is_refused && self.held.get(&place).is_some_and(|held| held.stage == HeldStage::Ending) {
            return self.report_orphan(place, RecoveredState::Nothing, outputs);
        }
        self.report_if_prepared(place, outputs);
    }

    /// Whoever decides, readers here wait for the outcome from now on.
    fn mark_orphan(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
        if self.held.get(&place).is_some_and(|held| held.is_marked) {
            self.report_if_prepared(place, outputs);
        } else {
            self.mark_at_once(Mark { place, next: 0, then: None }, outputs);
        }
    }

    /// Whether all members, this one included, hold a transaction without coordinator as prepared in this view.
    fn is_prepared_orphan(&self, place: Place) -> Option<Epoch> {
        let view = self.map.view.number;
        let is_orphan = |held: &&Held| {
            held.stage == HeldStage::Ending
                && held.coordinator == Some(Address::NOBODY)
                && held.is_marked
                && held.sealed == view
        };
        let held = self.held.get(&place).filter(is_orphan)?;
        let is_unconfirmed = self.slot(place.1)?.takeover.unconfirmed.contains(&place.0);
        if is_unconfirmed { None } else { Some(held.epoch) }
    }

    /// Reports a transaction without coordinator, once all members hold it as prepared.
    pub(in crate::ldm) fn report_if_prepared(&self, place: Place, outputs: &mut Outputs<Shared>) {
        if let Some(epoch) = self.is_prepared_orphan(place) {
            self.report_orphan(place, RecoveredState::Prepared(epoch), outputs);
        }
    }

    fn report_orphan(&self, place: Place, state: RecoveredState, outputs: &mut Outputs<Shared>) {
        let participants = self.held.get(&place).map(|held| Arc::clone(&held.participants));
        let (Some(participants), Some(recoverer)) = (participants, self.map.view.recoverer(place.0)) else {
            return;
        };
        self.send_recovery_report(recoverer, place, participants, state, outputs);
    }

    fn send_recovery_report(
        &self,
        to: Address,
        (transaction, slot): Place,
        participants: Arc<Vec<SlotId>>,
        state: RecoveredState,
        outputs: &mut Outputs<Shared>,
    ) {
        let report = RecoveryReport { transaction, slot, participants, state };
        outputs.send(self.address, to, Signal::RecoveryReport(Box::new(report)));
    }

    /// The recoverer wants to know; what is still being confirmed is reported when it is.
    pub(in crate::ldm) fn on_recovery_ask(
        &mut self,
        from: Address,
        place: Place,
        participants: Arc<Vec<SlotId>>,
        outputs: &mut Outputs<Shared>,
    ) {
        if !self.is_primary(place.1) {
            return;
        }
        let known = match (self.outcomes.get(&place), self.held.get(&place)) {
            (Some(Marker { outcome: Some(epoch), .. }), _) => RecoveredState::Committed(*epoch),
            (Some(Marker { outcome: None, .. }), _) => RecoveredState::Aborted,
            (None, Some(held)) if held.stage == HeldStage::Ending => {
                let Some(epoch) = self.is_prepared_orphan(place) else { return };
                RecoveredState::Prepared(epoch)
            }
            (None, _) => RecoveredState::Nothing,
        };
        self.send_recovery_report(from, place, participants, known, outputs);
    }

    // ---- opening ------------------------------------------------------------------------------------------------------------------

    /// Every data node has installed a view.
    pub(in crate::ldm) fn on_settled(&mut self, view: ViewNumber, outputs: &mut Outputs<Shared>) {
        self.settled = self.settled.max(view);
        for slot in self.slots.keys().copied().collect::<Vec<_>>() {
            self.open_if_ready(slot, outputs);
        }
    }

    fn open_if_ready(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let is_settled = self.settled >= self.map.view.number;
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let takeover = &mut state.takeover;
        // Of a line that was handed over all locks are here, but those of what was sealed.
        let is_safe = (is_settled || takeover.has_taken) && takeover.inherited.is_empty();
        if takeover.is_opening && takeover.gathering.is_none() && is_safe {
            (takeover.is_opening, takeover.has_taken) = (false, true);
            takeover.acquired.get_or_insert(self.map.view.number);
            self.release(slot, outputs);
        }
        self.count_unsettled(outputs);
    }

    /// The outcome of a transaction is carried out here.
    pub(in crate::ldm) fn after_decided(
        &mut self,
        place: Place,
        outcome: Option<Epoch>,
        outputs: &mut Outputs<Shared>,
    ) {
        if self.unsettled_count > 0
            && let Some(state) = self.slots.get_mut(&place.1)
            && state.takeover.inherited.remove(&place.0)
        {
            self.open_if_ready(place.1, outputs);
        }
        if !self.owed.is_empty()
            && let Some(reply) = self.owed.remove(&place)
            && !mutants::is(Mutant::OwedRepliesForgotten)
        {
            match outcome {
                Some(epoch) => self.answer(reply, Ok(epoch), outputs),
                // Only the primary knows when all have recorded the abort (I8).
                None => self.ask_primary(place, &reply, outputs),
            }
        }
        self.after_slices(place.1, outputs);
        if !self.askers.is_empty() {
            self.answer_askers(place, outcome, outputs);
        }
    }

    /// Whether a request must wait until its slot's takeover is over.
    pub(in crate::ldm) fn is_held_back(&self, signal: &Signal) -> bool {
        let takeover = |slot: SlotId| self.slot(slot).map(|state| &state.takeover);
        // While a member is given up nobody knows how long it takes: what can be refused is refused.
        let is_given_up = |slot| self.slot(slot).is_some_and(|state| state.is_replica_lost);
        let is_opening =
            |slot| takeover(slot).is_some_and(|takeover| takeover.is_opening) && !is_given_up(slot);
        let is_gathering = |slot| self.is_gathering(slot);
        #[expect(clippy::wildcard_enum_match_arm, reason = "everything else goes on during a takeover")]
        match signal {
            Signal::Write(request) => is_opening(request.slot),
            Signal::Read(request) => {
                (request.lock.is_some() || request.transaction.is_some()) && is_opening(request.slot)
            }
            Signal::CommitOne(request) => {
                let slot = request.participant.slot;
                is_opening(slot) && is_gathering(slot)
            }
            Signal::Prepare { participant, .. } => {
                is_opening(participant.slot) && is_gathering(participant.slot)
            }
            // An answer to a question comes before that to a request to undo what it asks about.
            Signal::OutcomeAsk { slot, .. } | Signal::RollbackTo { slot, .. } => {
                is_gathering(*slot) && !is_given_up(*slot)
            }
            // Reports may still name as undecided what all have recorded since: the marker tells the answer.
            // What is handed over is not here yet, and is undone all the same.
            Signal::Forget { slot, .. } | Signal::Abort { slot, .. } | Signal::RecoveryAsk { slot, .. } => {
                is_gathering(*slot)
            }
            _ => false,
        }
    }

    /// Keeps a request for later.
    pub(in crate::ldm) fn hold_back(&mut self, from: Address, signal: Signal) {
        let Some(slot) = slot_of(&signal) else { return };
        if let Some(state) = self.slots.get_mut(&slot) {
            state.takeover.waiting.push((from, signal));
        }
    }

    /// A transaction is undone: what it asked for before and was held back is not done any more.
    pub(in crate::ldm) fn drop_held_back(&mut self, (transaction, slot): Place) {
        if mutants::is(Mutant::HeldBackRedone) {
            return;
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "only these stage and lock")]
        let is_its = |(_, signal): &(Address, Signal)| match signal {
            Signal::Write(request) => (request.transaction, request.slot) == (transaction, slot),
            Signal::Read(request) => (request.transaction, request.slot) == (Some(transaction), slot),
            _ => false,
        };
        if let Some(state) = self.slots.get_mut(&slot)
            && !state.takeover.waiting.is_empty()
        {
            state.takeover.waiting.retain(|held_back| !is_its(held_back));
        }
        self.released.retain(|held_back| !is_its(held_back));
        // What waited at an earlier primary, too.
        self.resuming.retain(|run| run.place() != (transaction, slot));
        if let Some(hand_out) = self.slots.get_mut(&slot).and_then(|state| state.hand_out.as_mut()) {
            hand_out.drop_waits((transaction, slot));
        }
    }

    /// What would stage or lock as soon as it goes on: who asked, and for which transaction.
    pub(in crate::ldm) fn postponed(&self) -> Vec<(Address, Place)> {
        let held_back = self.slots.values().flat_map(|state| &state.takeover.waiting).chain(&self.released);
        #[expect(clippy::wildcard_enum_match_arm, reason = "only these stage and lock")]
        let place_of = |(from, signal): &(Address, Signal)| match signal {
            Signal::Write(request) => Some((*from, (request.transaction, request.slot))),
            Signal::Read(request) => Some((*from, (request.transaction?, request.slot))),
            _ => None,
        };
        let resuming = self.resuming.iter().map(|run| (run.from(), run.place()));
        held_back.filter_map(place_of).chain(self.memory_waits()).chain(resuming).collect()
    }

    /// From a member that is given up no report comes: what waits for it is looked at again, to be refused. Returns the commits that were to be
    /// replicated again: nobody knows what becomes of them.
    pub(in crate::ldm) fn give_up_takeovers(&mut self, outputs: &mut Outputs<Shared>) -> Vec<(Place, Reply)> {
        let is_lost = |(_, state): &(&SlotId, &Slot)| state.is_replica_lost;
        let lost: Vec<SlotId> = self.slots.iter().filter(is_lost).map(|(id, _)| *id).collect();
        let mut unknown = Vec::new();
        for slot in lost {
            self.release(slot, outputs);
            if let Some(state) = self.slots.get_mut(&slot) {
                let resumed = std::mem::take(&mut state.takeover.resumed).into_values();
                unknown.extend(resumed.map(|pending| ((pending.transaction, slot), pending.reply)));
            }
        }
        unknown
    }

    /// Whether something that is undecided may be known to a member that has not reported.
    pub(in crate::ldm) fn is_gathering(&self, slot: SlotId) -> bool {
        self.slot(slot).is_some_and(|state| state.takeover.gathering.is_some())
    }

    /// What was held back is looked at again, after this handler's other work.
    fn release(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.slots.get_mut(&slot) else { return };
        if !state.takeover.waiting.is_empty() {
            self.released.extend(state.takeover.waiting.drain(..));
            outputs.send(self.address, self.address, Signal::Continue(RELEASE));
        }
    }
}

impl Held {
    /// Whether its backups take part.
    pub(in crate::ldm) fn has_writes(&self, slot: SlotId) -> bool {
        self.rows > 0 || self.participants.contains(&slot)
    }
}

/// What a member has recorded of a transaction.
fn outcome_in(report: &GatherReport, transaction: TransactionId) -> Option<Option<Epoch>> {
    let place = report.outcomes.partition_point(|(of, _)| *of < transaction);
    report.outcomes.get(place).filter(|(of, _)| *of == transaction).map(|(_, outcome)| *outcome)
}

/// Whether a member that has consumed so much of a place's stream has consumed the place. Streams older than the oldest it knows count as consumed: it
/// joined behind them, and what they left undecided was replicated to it before it was copied to, or they were settled long ago. (One that has not been
/// copied to yet may know nothing of them, and names no oldest.)
fn is_consumed(
    oldest: Option<ViewNumber>,
    consumed: Option<Sequence>,
    (stream, sequence): (ViewNumber, Sequence),
) -> bool {
    consumed.map_or(oldest.is_some_and(|oldest| stream < oldest), |consumed| consumed >= sequence)
}

/// A replicated transaction as its new primary holds it.
fn held_of(applied: Applied) -> Held {
    let operation = |(table, row)| Operation::Staged { table, version: 0, row, is_first: true };
    Held {
        session: Address::NOBODY,
        rows: u32::try_from(applied.rows.len()).unwrap_or(u32::MAX),
        operations: applied.rows.into_iter().map(operation).collect(),
        bytes: 0,
        tables: Vec::new(),
        stage: HeldStage::Ending,
        epoch: applied.epoch,
        sealed: applied.stream,
        sequence: applied.sequence,
        order: applied.order,
        coordinator: applied.coordinator,
        participants: applied.participants,
        marker: applied.marker.filter(|_| !mutants::is(Mutant::MarkerNotTakenOver)),
        is_confirmed: false,
        is_marked: true,
        is_taken_over: true,
    }
}
