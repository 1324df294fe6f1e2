//! Gathering: members report what is undecided with them, and the primary learns from their reports.

use super::Stage;
use super::opening::Opening;
use crate::ldm::Context;
use crate::ldm::slot::Slot;
use crate::ldm::slot::backup::Applied;
use crate::ldm::slot::commit::publish::After;
use crate::ldm::slot::copy::CopyIn;
use crate::ldm::slot::markers::Marker;
use crate::mutants::{self, Mutant};
use protocol::Signal;
use protocol::signal::{Decider, GatherReport, HandOver, UndecidedPlace};
use stdx::FixedMap;
use types::{Epoch, NodeId, Sequence, TransactionId, ViewNumber};

/// A primary that waits for the reports of its members.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Gathering {
    pub(super) missing: Vec<NodeId>,
    /// In the order of the nodes.
    pub(super) reports: Vec<(NodeId, GatherReport)>,
    /// The pieces that members handed over.
    pub(super) pieces: Vec<(NodeId, HandOver)>,
    /// A new primary grants no locks behind it either.
    pub(super) then: Option<Opening>,
}

impl Gathering {
    fn is_complete(&self) -> bool {
        if mutants::is(Mutant::GatherSkipped) {
            return true;
        }
        self.missing.is_empty()
    }
}

/// A place in the stream of a view.
type StreamPlace = (ViewNumber, Sequence);

/// The reports of all members of a slot.
struct Reported<'a> {
    reports: &'a [(NodeId, GatherReport)],
    /// Where each of them has what it does not know the outcome of.
    undecided: FixedMap<TransactionId, Vec<(NodeId, StreamPlace)>>,
    /// The member that hands the line over.
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

    /// The outcome that some member knows of what is undecided here, where this member has it at `own`.
    fn outcome_of(
        &self,
        transaction: TransactionId,
        applied: &Applied,
        own: StreamPlace,
    ) -> Option<Option<Epoch>> {
        let is_orphan = applied.decider == Decider::Recoverer;
        let is_two_phase = applied.decider != Decider::Primary;
        let mut known = None;
        for (node, report) in self.reports {
            match outcome_in(report, transaction) {
                Some(outcome) if is_orphan => known = known.or(Some(outcome)),
                // Open transactions that are handed over may lie above it.
                Some(outcome) if is_two_phase && Some(*node) == self.claimant => known = Some(outcome),
                // A refusal of one member: replicated again, it is refused again, and aborted by all.
                Some(None) => {}
                Some(outcome) if !is_two_phase => known = Some(outcome),
                Some(_) => {}
                None if !is_two_phase && self.has_decided(*node, report, transaction, own) => {
                    known = Some(Some(applied.epoch));
                }
                None => {}
            }
        }
        known
    }

    /// Whether a member has consumed a one-primary commit, and does not report it as undecided.
    fn has_decided(
        &self,
        node: NodeId,
        report: &GatherReport,
        transaction: TransactionId,
        own: StreamPlace,
    ) -> bool {
        if mutants::is(Mutant::ConsumedMeansNothing) {
            return false;
        }
        let undecided = self.undecided.get(&transaction).map_or(&[][..], Vec::as_slice);
        if undecided.iter().any(|(of, _)| *of == node) {
            return false;
        }
        // A member that is still being copied to may lack what an older stream left undecided: it was about to be
        // replicated to it.
        let oldest = report.streams.first().map(|(view, _)| *view).filter(|_| report.is_copied);
        let has_consumed = |place: StreamPlace| {
            let of_stream = report.streams.iter().find(|(view, _)| *view == place.0);
            is_consumed(oldest, of_stream.map(|(_, consumed)| *consumed), place)
        };
        undecided.iter().map(|(_, place)| *place).chain([own]).any(has_consumed)
    }
}

impl Slot {
    /// Tells the primary what is undecided here.
    pub(in crate::ldm) fn report(&self, context: &mut Context<'_>) {
        let Some(primary) = context.map.primary(self.id) else { return };
        let place = |(transaction, applied): (TransactionId, &Applied)| UndecidedPlace {
            transaction,
            stream: applied.stream,
            sequence: applied.sequence,
            epoch: applied.epoch,
            is_one_primary: applied.decider == Decider::Primary,
        };
        let outcomes = self.outcomes.sorted().into_iter();
        let report = GatherReport {
            slot: self.id,
            streams: self.takeover.streams.to_vec(),
            undecided: self.applied_in_order().into_iter().map(place).collect(),
            outcomes: outcomes.map(|(transaction, marker)| (transaction, marker.outcome)).collect(),
            is_copied: self.copy_in.as_ref().is_none_or(CopyIn::is_whole),
            base: context.redo.base,
            copied_until: self.copy_in.as_ref().and_then(CopyIn::until).cloned(),
            claim: self.claim(context),
        };
        context.send(primary, Signal::Gather(Box::new(report)));
    }

    /// The undecided transactions that were replicated here, in the order in which they came.
    pub(in crate::ldm) fn applied_in_order(&self) -> Vec<(TransactionId, &Applied)> {
        let all = self.applied.iter().map(|(transaction, applied)| (*transaction, applied));
        let mut all: Vec<(TransactionId, &Applied)> = all.collect();
        all.sort_unstable_by_key(|(transaction, applied)| (applied.order, *transaction));
        if mutants::is(Mutant::ReplicatedOutOfOrder) {
            all.reverse();
        }
        all
    }

    pub(in crate::ldm) fn on_gather(
        &mut self,
        from: NodeId,
        mut report: GatherReport,
        context: &mut Context<'_>,
    ) {
        let Stage::Gathering(gathering) = &mut self.takeover.stage else { return };
        if !gathering.missing.contains(&from) {
            return;
        }
        gathering.missing.retain(|missing| *missing != from);
        // A peer in order has sorted them.
        report.outcomes.sort_unstable();
        // Not in the order in which they come: nothing depends on that.
        let position = gathering.reports.partition_point(|(node, _)| *node < from);
        gathering.reports.insert(position, (from, report));
        self.finish_gathering(context);
    }

    /// All members have reported: nothing that a survivor knows is unknown here.
    pub(in crate::ldm) fn finish_gathering(&mut self, context: &mut Context<'_>) {
        let Stage::Gathering(gathering) = &mut self.takeover.stage else { return };
        if !gathering.is_complete() {
            return;
        }
        let gathering = std::mem::take(gathering);
        let mut gathering = self.takeover.end_gathering(gathering);
        let claimant = self.claimant(&gathering.reports, context);
        gathering.pieces.retain(|(from, _)| Some(*from) == claimant);
        // A transaction that is being undone must be gone before it comes again with a piece, and those that the
        // claimant had published must be whole.
        if claimant.is_some() && self.has_slices(context) {
            return self.takeover.gather_on(gathering);
        }
        if claimant.is_some() {
            // Its own claim, if it has one, is older: it never heard that it may let go.
            self.void_own_waits(&gathering.pieces, context);
            self.let_go(context);
        }
        for (_, piece) in &mut gathering.pieces {
            self.take_places(std::mem::take(&mut piece.places), context);
        }
        self.learn(&Reported::new(&gathering.reports, claimant), context);
        if claimant.is_some() && self.has_slices(context) {
            return self.takeover.gather_on(gathering);
        }
        self.go_on_gathered(claimant, gathering, context);
    }

    /// The member that hands the line over: the last one to have taken it, if that is not this member.
    fn claimant(&self, reports: &[(NodeId, GatherReport)], context: &Context<'_>) -> Option<NodeId> {
        let since = context.map.view.place(self.id)?.since;
        let claims = reports.iter().filter_map(|(node, report)| Some((report.claim?.acquired, *node)));
        let (acquired, node) = claims.filter(|(acquired, _)| *acquired >= since).max()?;
        let own = self.claim(context).map(|claim| claim.acquired);
        (own.is_none_or(|own| own < acquired)).then_some(node)
    }

    /// Decides what another member has decided already.
    fn learn(&mut self, reported: &Reported<'_>, context: &mut Context<'_>) {
        let known = |(transaction, applied): (TransactionId, &Applied)| {
            let own = (applied.stream, applied.sequence);
            Some((transaction, reported.outcome_of(transaction, applied, own)?))
        };
        let known: Vec<_> = self.applied_in_order().into_iter().filter_map(known).collect();
        for (transaction, outcome) in known {
            let Some(mut applied) = self.applied.remove(&transaction) else { continue };
            let results = applied.marker.take();
            if results.is_some() || applied.decider != Decider::Primary {
                let results = results.unwrap_or_default();
                self.outcomes.insert(transaction, Marker { outcome, results });
            }
            self.publish_applied(transaction, applied, outcome, After::Nothing, context);
        }
    }

    /// A primary that stayed learns the outcome of transactions whose coordinator is lost from members that heard it.
    pub(super) fn learn_of_orphans(&mut self, reports: &[(NodeId, GatherReport)], context: &mut Context<'_>) {
        for transaction in self.sealed_before(context.map.view.number) {
            let Some(held) = self.held.get(&transaction) else { continue };
            if held.decider != Decider::Recoverer {
                continue;
            }
            let outcomes = reports.iter().filter_map(|(_, report)| outcome_in(report, transaction));
            if let Some(outcome) = outcomes.max() {
                self.outcomes.insert(transaction, Marker::of(outcome));
                self.finish(transaction, outcome, After::Nothing, context);
            }
        }
    }

    /// Transactions that end here and whose outcome is not known, as the primary of an earlier view left them, in
    /// their order.
    pub(super) fn sealed_before(&self, view: ViewNumber) -> Vec<TransactionId> {
        let mut transactions = self.sealed();
        transactions.retain(|transaction| self.held.get(transaction).is_some_and(|held| held.sealed < view));
        transactions
    }

    /// Transactions that this primary has sealed, and whose outcome is not known, in their order.
    pub(in crate::ldm) fn sealed(&self) -> Vec<TransactionId> {
        let sealed = self.held.iter().filter(|(_, held)| held.is_sealed());
        let mut sealed: Vec<_> = sealed.map(|(transaction, held)| (held.order, *transaction)).collect();
        sealed.sort_unstable();
        sealed.into_iter().map(|(_, transaction)| transaction).collect()
    }
}

/// The outcome that a member has recorded of a transaction.
fn outcome_in(report: &GatherReport, transaction: TransactionId) -> Option<Option<Epoch>> {
    let position = report.outcomes.partition_point(|(of, _)| *of < transaction);
    report.outcomes.get(position).filter(|(of, _)| *of == transaction).map(|(_, outcome)| *outcome)
}

/// Whether a member that has consumed so much of a place's stream has consumed the place. Streams older than the oldest
/// it knows count as consumed. It joined behind them: what they left undecided was replicated to it before it was
/// copied to, or decided long ago. A member that has not been copied to yet may know nothing of them, and names no
/// oldest.
pub(super) fn is_consumed(
    oldest: Option<ViewNumber>,
    consumed: Option<Sequence>,
    (stream, sequence): (ViewNumber, Sequence),
) -> bool {
    consumed.map_or(oldest.is_some_and(|oldest| stream < oldest), |consumed| consumed >= sequence)
}
