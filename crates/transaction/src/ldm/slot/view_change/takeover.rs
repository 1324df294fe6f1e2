//! The work of a primary when it knows what its members know. It tells them what is decided, drops what it lacks, and
//! replicates again what is undecided, in its order.

use super::gather::Gathering;
use crate::ldm::Context;
use crate::ldm::slot::Slot;
use crate::ldm::slot::backup::Applied;
use crate::ldm::slot::commit::publish::After;
use crate::ldm::slot::commit::seal::{PendingCommit, Share};
use crate::ldm::slot::commit::ship::{AHEAD_BYTES, Ship};
use crate::ldm::slot::commit::{Ending, Reply};
use crate::ldm::slot::copy::Has;
use crate::ldm::slot::markers::Marker;
use crate::ldm::slot::transaction::{Held, HeldStage, Operation};
use crate::mutants::{self, Mutant};
use protocol::program::Refusal;
use protocol::signal::{Decider, Outcome, Replicate, UndecidedPlace, Writes};
use protocol::{Address, Signal};
use std::collections::{BTreeMap, VecDeque};
use types::{Epoch, NodeId, Sequence, TransactionId};

/// The transactions that a primary replicates again.
#[derive(Debug)]
pub(in crate::ldm) struct Resending {
    /// Those that are left, in this order.
    again: VecDeque<TransactionId>,
    /// Members that hold it.
    holders: BTreeMap<TransactionId, Vec<NodeId>>,
    /// Members that lack rows are copied to when everything is replicated again: the rows that each has. None: the
    /// member has all.
    there: BTreeMap<NodeId, Option<Has>>,
}

/// A transaction that aborts because this primary lacked or refused it.
#[derive(Debug)]
pub(in crate::ldm) struct Dropping {
    missing: Vec<NodeId>,
    is_one_primary: bool,
}

impl Dropping {
    fn is_over(&self) -> bool {
        if mutants::is(Mutant::DropToldUnrecorded) {
            return true;
        }
        self.missing.is_empty()
    }
}

impl Slot {
    /// Large transactions that were not sealed begin their shipping again; those of a lost coordinator end.
    pub(in crate::ldm) fn ship_again(
        &mut self,
        ships: Vec<Ship>,
        reborn: &[NodeId],
        context: &mut Context<'_>,
    ) {
        for mut ship in ships {
            ship.restart();
            match &ship.ending {
                // It is gathered anew.
                Ending::Again(_) => {}
                Ending::Two { coordinator, .. }
                    if context.is_out(coordinator.node) || reborn.contains(&coordinator.node) =>
                {
                    self.refuse_ship(ship, Refusal::WrongView, context);
                }
                Ending::One(_) | Ending::Two { .. } => self.ship(ship, context),
            }
        }
    }

    /// Takes what is shipped, in the order of the transactions.
    pub(in crate::ldm) fn take_ships(&mut self) -> Vec<Ship> {
        let mut ships: Vec<Ship> = self.shipping.drain().map(|(_, ship)| ship).collect();
        ships.sort_unstable_by_key(|ship| ship.transaction);
        ships
    }

    /// Pieces that went ahead in the view before are void.
    pub(in crate::ldm) fn drop_all_ahead(&mut self, context: &mut Context<'_>) {
        let mut ahead: Vec<TransactionId> = self.ahead.keys().copied().collect();
        ahead.sort_unstable();
        for transaction in ahead {
            self.drop_ahead(transaction, context);
        }
    }

    /// Undecided transactions are told, dropped or replicated again; open ones go on.
    pub(super) fn go_on_gathered(
        &mut self,
        claimant: Option<NodeId>,
        gathering: Gathering,
        context: &mut Context<'_>,
    ) {
        self.tell_all_taken(context);
        self.learn_of_orphans(&gathering.reports, context);
        for (node, report) in &gathering.reports {
            for place in &report.undecided {
                self.tell(*node, place, context);
            }
        }
        self.drop_again(context);
        let there = gathering.reports.iter().map(|(node, report)| {
            let has = || Has { base: report.base, until: report.copied_until.clone() };
            (*node, (!report.is_copied).then(has))
        });
        let there = there.collect();
        let mut holders: BTreeMap<TransactionId, Vec<NodeId>> = BTreeMap::new();
        for (node, report) in &gathering.reports {
            for place in &report.undecided {
                holders.entry(place.transaction).or_default().push(*node);
            }
        }
        let again = self.take_over(context).into();
        self.takeover.resending = Some(Resending { again, holders, there });
        self.replicate_rest(context);
        self.begin_line(claimant, gathering, context);
        self.open_if_ready(context);
        self.release(context);
    }

    /// The word that a claimant may let go was void, perhaps: what goes on here at once is replicated behind it.
    pub(in crate::ldm) fn tell_taken(&self, context: &mut Context<'_>) {
        if self.takeover.has_taken() {
            self.tell_all_taken(context);
        }
    }

    /// A member that claims the line may let go: the claim is here, or a newer one is. One that claims nothing may
    /// have waited for this to leave.
    fn tell_all_taken(&self, context: &mut Context<'_>) {
        self.send_to_backups(Signal::Taken { slot: self.id }, context);
    }

    /// From here on the line is this member's: a new one, its own, or one that was handed over.
    fn begin_line(&mut self, claimant: Option<NodeId>, gathering: Gathering, context: &mut Context<'_>) {
        let view = context.map.view.number;
        let named = context.map.view.place(self.id).map_or(view, |place| place.since);
        let claimed = gathering.reports.iter().find(|(node, _)| Some(*node) == claimant);
        let own = self.claim(context);
        self.take_back(context);
        let line = &mut self.takeover.line;
        match (claimed.and_then(|(_, report)| report.claim), own) {
            (Some(claim), _) => (line.since, line.acquired) = (claim.since.max(named), Some(view)),
            (None, Some(_)) => {}
            // The line that the view names, or, if nobody is left to hand it over, one that nobody knew of before. It
            // is claimed when it is open.
            (None, None) => line.since = line.leads_since.max(named),
        }
        let is_claimed = line.acquired.is_some();
        if let Some(opening) = self.takeover.opening_mut() {
            opening.has_taken = is_claimed;
        }
        let pieces = gathering.pieces.into_iter().map(|(_, piece)| piece).collect();
        self.take_open(pieces, context);
        self.count_takeover(context);
    }

    // ---- telling and dropping ------------------------------------------------------------------------------------

    /// Tells a member what became of something that it does not know the outcome of, unless that is unknown here too.
    fn tell(&mut self, node: NodeId, undecided: &UndecidedPlace, context: &mut Context<'_>) {
        if mutants::is(Mutant::DecisionNotTold) {
            return;
        }
        let (transaction, slot) = (undecided.transaction, self.id);
        let is_one = undecided.is_one_primary;
        let Some(to) = context.map.view.ldm(slot, node) else { return };
        let outcome = |committed| Signal::Outcome(Outcome { transaction, slot, committed });
        match self.outcomes.get(transaction).map(|marker| marker.outcome) {
            // Perhaps nobody else knows: it is told when all do.
            Some(None) => return self.drop_lacking(transaction, is_one, context),
            Some(committed) => return context.send(to, outcome(committed)),
            None => {}
        }
        match self.held.get(&transaction).map(|held| held.stage) {
            Some(HeldStage::Ending | HeldStage::Open | HeldStage::Undoing { .. }) => return,
            Some(HeldStage::Publishing) => {}
            None if self.applied.contains_key(&transaction) => return,
            None => {
                if !self.takeover.streams.has_consumed(undecided.stream, undecided.sequence) {
                    return self.drop_lacking(transaction, is_one, context);
                }
                if !is_one {
                    // Its coordinator knows, and tells.
                    let what = format!("{transaction} is not decided there, but here, and nobody knows how");
                    return context.outputs.distrust(to, what);
                }
            }
        }
        context.send(to, outcome(Some(undecided.epoch)));
        context.send(to, Signal::Forget { slot, transactions: vec![transaction] });
    }

    /// A member holds what this primary never got: it was never acknowledged, and aborts.
    fn drop_lacking(&mut self, transaction: TransactionId, is_one_primary: bool, context: &mut Context<'_>) {
        self.outcomes.insert(transaction, Marker::of(None));
        self.await_drop(transaction, is_one_primary);
        let abort = Outcome { transaction, slot: self.id, committed: None };
        self.send_to_backups(Signal::Outcome(abort), context);
        if mutants::is(Mutant::DropToldUnrecorded) {
            self.end_drop(transaction, context);
        }
    }

    /// All members have to record the abort.
    fn await_drop(&mut self, transaction: TransactionId, is_one_primary: bool) {
        if mutants::is(Mutant::DropToldEarly) && !is_one_primary {
            return;
        }
        let missing = self.members.backups.iter().map(|backup| backup.node).collect();
        self.takeover.dropping.insert(transaction, Dropping { missing, is_one_primary });
    }

    /// Transactions that were being dropped when the view changed are dropped by the members of the new one.
    fn drop_again(&mut self, context: &mut Context<'_>) {
        let dropping = self.takeover.dropping.iter();
        let dropping: Vec<(TransactionId, bool)> =
            dropping.map(|(transaction, dropping)| (*transaction, dropping.is_one_primary)).collect();
        for (transaction, is_one_primary) in dropping {
            self.drop_lacking(transaction, is_one_primary, context);
            self.end_drop(transaction, context);
        }
    }

    /// A member has recorded the abort of such a transaction; true if it was one.
    pub(in crate::ldm) fn on_dropped_recorded(
        &mut self,
        node: NodeId,
        transaction: TransactionId,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(dropping) = self.takeover.dropping.get_mut(&transaction) else { return false };
        dropping.missing.retain(|missing| *missing != node);
        self.end_drop(transaction, context);
        true
    }

    /// If all members have recorded the abort, it may be told.
    fn end_drop(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        if !self.takeover.dropping.get(&transaction).is_some_and(Dropping::is_over) {
            return;
        }
        let dropping = self.takeover.dropping.remove(&transaction);
        if dropping.is_some_and(|dropping| dropping.is_one_primary) {
            // Nobody else decides it.
            self.on_forget(vec![transaction], context);
        }
        self.answer_askers(transaction, None, context);
    }

    // ---- going on ------------------------------------------------------------------------------------------------

    /// Transactions that were applied here for the old primary are held here from now on. Gives all that are to be
    /// replicated again, in order.
    fn take_over(&mut self, context: &Context<'_>) -> Vec<TransactionId> {
        let mut again = self.sealed_before(context.map.view.number);
        let applied = self.applied_in_order().into_iter();
        let applied: Vec<TransactionId> = applied.map(|(transaction, _)| transaction).collect();
        for transaction in applied {
            let Some(applied) = self.applied.remove(&transaction) else { continue };
            self.held.insert(transaction, Held::from(applied));
            if let Some(opening) = self.takeover.opening_mut() {
                opening.inherited.insert(transaction);
            }
            again.push(transaction);
        }
        if mutants::is(Mutant::ReplicatedOutOfOrder) {
            return again;
        }
        // A primary that stepped down and is one again may have both kinds.
        again.sort_by_key(|transaction| self.held.get(transaction).map(|held| held.order));
        again
    }

    /// Replicates the next again, and so on, until one is large. A transaction that was decided meanwhile is not
    /// undecided anywhere any more.
    pub(in crate::ldm) fn replicate_rest(&mut self, context: &mut Context<'_>) {
        let view = context.map.view.number;
        while let Some(transaction) = self.next_again() {
            let is_ending = |held: &Held| held.stage == HeldStage::Ending && held.sealed < view;
            if !self.held.get(&transaction).is_some_and(is_ending) {
                continue;
            }
            let lacking = self.lacking(transaction);
            if self.is_large(transaction, &lacking, context) {
                return self.ship(Ship::new(transaction, Ending::Again(lacking), Epoch(0)), context);
            }
            self.replicate_again(transaction, 0, context);
        }
        if let Some(resending) = self.takeover.resending.take() {
            self.begin_copies(&resending.there, context);
        }
    }

    fn next_again(&mut self) -> Option<TransactionId> {
        self.takeover.resending.as_mut()?.again.pop_front()
    }

    /// Members that have not reported that they hold it.
    fn lacking(&self, transaction: TransactionId) -> Vec<Address> {
        let resending = self.takeover.resending.as_ref();
        let holders = resending.and_then(|resending| resending.holders.get(&transaction));
        let lacks = |backup: &&Address| holders.is_none_or(|holders| !holders.contains(&backup.node));
        self.members.backups.iter().filter(lacks).copied().collect()
    }

    /// Whether it is more than one signal should carry.
    fn is_large(&self, transaction: TransactionId, lacking: &[Address], context: &Context<'_>) -> bool {
        let total = self.held.get(&transaction).map_or(0, |held| held.operations.len());
        let bytes = usize::try_from(AHEAD_BYTES).unwrap_or(usize::MAX);
        let share = Share { rows: context.sizes.ahead_rows as usize, bytes };
        !lacking.is_empty() && self.replicated_writes(transaction, 0, share, context).1 < total
    }

    /// A large one is with all who lacked it.
    pub(in crate::ldm) fn go_on_again(
        &mut self,
        transaction: TransactionId,
        pieces: u32,
        context: &mut Context<'_>,
    ) {
        self.replicate_again(transaction, pieces, context);
        self.replicate_rest(context);
    }

    /// Gives what is sealed its place in the new stream; its decision goes on from there.
    fn replicate_again(&mut self, transaction: TransactionId, pieces: u32, context: &mut Context<'_>) {
        let sequence = self.send_again(transaction, pieces, context);
        let Some(held) = self.held.get(&transaction) else { return };
        let (epoch, missing) = (held.epoch, self.members.backup_nodes());
        match (held.decider, sequence) {
            (Decider::Primary, _) => {
                let resumed = self.takeover.resumed.remove(&transaction).map(|pending| pending.reply);
                // It may be owed since this member stepped down and is primary again.
                let reply = resumed.or_else(|| self.owed.remove(&transaction)).unwrap_or(Reply::Nobody);
                match sequence {
                    Some(sequence) => {
                        let pending = PendingCommit { transaction, epoch, missing, reply, refused: None };
                        self.stream.pending.insert(sequence, pending);
                    }
                    None => {
                        let after = After::Answer { reply, sequence: None, refusal: None };
                        self.finish(transaction, Some(epoch), after, context);
                    }
                }
            }
            (Decider::Recoverer, Some(sequence)) => {
                self.takeover.orphans.await_members(sequence, transaction, missing);
                self.mark_orphan(transaction, context);
            }
            (Decider::Recoverer, None) => self.mark_orphan(transaction, context),
            (Decider::Coordinator(coordinator), _) => {
                self.answer_prepare_again(transaction, coordinator, context);
            }
        }
    }

    /// Sends it to all members: its rows to those that lack it, only its place to the others.
    fn send_again(
        &mut self,
        transaction: TransactionId,
        pieces: u32,
        context: &mut Context<'_>,
    ) -> Option<Sequence> {
        let lacking = self.lacking(transaction);
        let writes = if lacking.is_empty() || pieces > 0 {
            Writes::new()
        } else {
            self.replicated_writes(transaction, 0, Share::ALL, context).0
        };
        let held = self.held.get_mut(&transaction)?;
        held.sealed = context.map.view.number;
        if !held.has_writes(self.id) || self.members.backups.is_empty() {
            return None;
        }
        let sequence = self.stream.give();
        held.sequence = sequence;
        let replicate = Replicate {
            slot: self.id,
            sequence,
            transaction,
            epoch: held.epoch,
            decider: held.decider,
            participants: held.participants.clone(),
            marker: held.marker.clone(),
            pieces_ahead: None,
            writes: Writes::new(),
        };
        let is_holder = |backup: &&Address| !lacking.contains(backup);
        let holders: Vec<Address> = self.members.backups.iter().filter(is_holder).copied().collect();
        context.send_to_all(&holders, Signal::Replicate(Box::new(replicate.clone())));
        let replicate = Replicate { pieces_ahead: Some(pieces), writes, ..replicate };
        context.send_to_all(&lacking, Signal::Replicate(Box::new(replicate)));
        Some(sequence)
    }
}

impl From<Applied> for Held {
    /// A replicated transaction as its new primary holds it.
    fn from(mut applied: Applied) -> Self {
        if mutants::is(Mutant::MarkerNotTakenOver) {
            applied.marker = None;
        }
        let operation = |(table, row)| Operation::Staged { table, version: 0, row, is_first: true };
        Self {
            rows: u32::try_from(applied.rows.len()).unwrap_or(u32::MAX),
            operations: applied.rows.into_iter().map(operation).collect(),
            stage: HeldStage::Ending,
            epoch: applied.epoch,
            sealed: applied.stream,
            sequence: applied.sequence,
            order: applied.order,
            decider: applied.decider,
            marker: applied.marker,
            is_marked: true,
            is_taken_over: true,
            participants: applied.participants,
            ..Self::new(None)
        }
    }
}
