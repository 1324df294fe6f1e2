//! Questions after the outcome of a commit whose answer is lost: the session asks the primary of a participant with
//! writes.
//!
//! Invariants: a transaction that the primary does not hold and has no marker of was never committed. Every member had
//! reported before the question is looked at, and markers of a session on another node stay until it confirms.
//! "Aborted" is said only when nobody can commit it any more. A transaction that is not ending is undone by the
//! question, and one that is being dropped has its abort recorded first (I8). While a replica is given up, what is
//! undecided is answered *unknown*.

use super::Slot;
use super::markers::Marker;
use super::transaction::HeldStage;
use crate::ldm::Context;
use crate::mutants::{self, Mutant};
use protocol::program::{Refusal, Results};
use protocol::signal::{CommitDone, CommitOutcome, RequestId, WriteDone, WriteFailure, WriteSummary};
use protocol::{Address, Signal};
use types::{Epoch, TransactionId};

/// A session that asks.
#[derive(Clone, Copy, Debug)]
pub(in crate::ldm) struct Asker {
    pub(in crate::ldm) from: Address,
    pub(in crate::ldm) request: RequestId,
    /// The commit was carried by a write.
    pub(in crate::ldm) is_write: bool,
}

impl Slot {
    pub(super) fn on_outcome_ask(
        &mut self,
        transaction: TransactionId,
        asker: Asker,
        context: &mut Context<'_>,
    ) {
        let is_undecided = self.is_ending(transaction) || self.takeover.is_dropping(transaction);
        if self.members.is_replica_given_up && (is_undecided || self.is_gathering()) {
            return context.send(asker.from, unknown(asker));
        }
        if is_undecided {
            self.askers.entry(transaction).or_default().push(asker);
            return;
        }
        let (outcome, results) = match self.outcomes.get(transaction) {
            Some(Marker { outcome, results }) => (*outcome, results.clone()),
            None => (None, Results::new()),
        };
        self.undo_then(transaction, Some(answer_of(asker, outcome, results)), context);
    }

    fn is_ending(&self, transaction: TransactionId) -> bool {
        if mutants::is(Mutant::AskedWhileEnding) {
            return false;
        }
        let stage = self.held.get(&transaction).map(|held| held.stage);
        matches!(stage, Some(HeldStage::Ending | HeldStage::Publishing))
    }

    /// A member is given up: when what they ask for is decided, nobody knows.
    pub(super) fn refuse_askers_if_given_up(&mut self, context: &mut Context<'_>) {
        if !self.members.is_replica_given_up {
            return;
        }
        for (_, asker) in self.take_askers() {
            context.send(asker.from, unknown(asker));
        }
    }

    /// All who ask, and what for, in the order of the transactions.
    pub(super) fn take_askers(&mut self) -> Vec<(TransactionId, Asker)> {
        let mut askers: Vec<_> = self.askers.drain().collect();
        askers.sort_unstable_by_key(|(transaction, _)| *transaction);
        let each = |(transaction, askers): (_, Vec<Asker>)| {
            askers.into_iter().map(move |asker| (transaction, asker))
        };
        askers.into_iter().flat_map(each).collect()
    }

    /// A transaction is decided, and that is carried out.
    pub(super) fn answer_askers(
        &mut self,
        transaction: TransactionId,
        outcome: Option<Epoch>,
        context: &mut Context<'_>,
    ) {
        for asker in self.askers.remove(&transaction).unwrap_or_default() {
            let marker = self.outcomes.get(transaction);
            let results = marker.map_or_else(Results::new, |marker| marker.results.clone());
            let (to, answer) = answer_of(asker, outcome, results);
            context.send(to, answer);
        }
    }
}

fn unknown(asker: Asker) -> Signal {
    Signal::CommitDone(CommitDone { request: asker.request, outcome: CommitOutcome::Unknown })
}

fn answer_of(asker: Asker, outcome: Option<Epoch>, results: Results) -> (Address, Signal) {
    let request = asker.request;
    let signal = match (asker.is_write, outcome) {
        (true, Some(_)) => {
            // The warnings it raised are not kept.
            let summary = WriteSummary { results, operations: 0, committed: outcome, raised: None };
            Signal::WriteDone(Box::new(WriteDone::new(request, Ok(summary))))
        }
        (true, None) => {
            let failure = WriteFailure { operation: 0, refusal: Refusal::WrongView };
            Signal::WriteDone(Box::new(WriteDone::new(request, Err(failure))))
        }
        (false, Some(epoch)) => {
            Signal::CommitDone(CommitDone { request, outcome: CommitOutcome::Committed(epoch) })
        }
        (false, None) => {
            let outcome = CommitOutcome::Aborted(Refusal::NotHeld);
            Signal::CommitDone(CommitDone { request, outcome })
        }
    };
    (asker.from, signal)
}
