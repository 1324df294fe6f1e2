//! Questions after the outcome of a commit whose answer is lost: the session asks the primary of a participant with writes.
//!
//! Invariants: what the primary does not hold and has no marker of was never committed: every member had reported before the question is
//! looked at, and markers of a session on another node stay until it confirms. "Aborted" is said only when nobody can commit it any more: a
//! transaction that is not ending is undone by the question, and one that is being dropped has its abort recorded first (I8). While a replica
//! is given up, what is undecided is answered *unknown*.

use crate::ldm::slot::markers::Marker;
use crate::ldm::slot::transaction::HeldStage;
use crate::ldm::{Ldm, Place};
use crate::mutants::{self, Mutant};
use protocol::program::{OperationResult, Refusal};
use protocol::signal::{CommitDone, CommitOutcome, RequestId, WriteDone, WriteFailure, WriteSummary};
use protocol::{Address, Outputs, Signal};
use query::Shared;
use types::Epoch;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(in crate::ldm) struct Asker {
    pub(in crate::ldm) from: Address,
    pub(in crate::ldm) request: RequestId,
    /// The commit was carried by a write.
    pub(in crate::ldm) is_write: bool,
}

impl Ldm {
    pub(in crate::ldm) fn on_outcome_ask(
        &mut self,
        place: Place,
        asker: Asker,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(state) = self.slot(place.1).filter(|state| state.is_primary) else { return };
        let stage = self.held.get(&place).map(|held| held.stage);
        let is_ending = matches!(stage, Some(HeldStage::Ending | HeldStage::Publishing));
        let is_ending = is_ending && !mutants::is(Mutant::AskedWhileEnding);
        let is_undecided = is_ending || state.takeover.is_dropping(place.0);
        if state.is_replica_lost && (is_undecided || self.is_gathering(place.1)) {
            return outputs.send(self.address, asker.from, unknown(asker));
        }
        if is_undecided {
            self.askers.entry(place).or_default().push(asker);
            return;
        }
        let (outcome, results) = match self.outcomes.get(&place) {
            Some(Marker { outcome, results }) => (*outcome, results.clone()),
            None => (None, Vec::new()),
        };
        self.undo_then(place, Some(answer_of(asker, outcome, results)), outputs);
    }

    /// A member is given up: when what they ask for is decided, nobody knows.
    pub(in crate::ldm) fn refuse_askers_of_lost(&mut self, outputs: &mut Outputs<Shared>) {
        let is_lost = |place: &Place| self.slot(place.1).is_some_and(|state| state.is_replica_lost);
        let mut places: Vec<Place> = self.askers.keys().copied().filter(is_lost).collect();
        places.sort_unstable();
        for place in places {
            for asker in self.askers.remove(&place).unwrap_or_default() {
                outputs.send(self.address, asker.from, unknown(asker));
            }
        }
    }

    /// A transaction is decided, and that is carried out.
    pub(in crate::ldm) fn answer_askers(
        &mut self,
        place: Place,
        outcome: Option<Epoch>,
        outputs: &mut Outputs<Shared>,
    ) {
        for asker in self.askers.remove(&place).unwrap_or_default() {
            let results = self.outcomes.get(&place).map_or_else(Vec::new, |marker| marker.results.clone());
            let (to, answer) = answer_of(asker, outcome, results);
            outputs.send(self.address, to, answer);
        }
    }
}

fn unknown(asker: Asker) -> Signal {
    Signal::CommitDone(CommitDone { request: asker.request, outcome: CommitOutcome::Unknown })
}

fn answer_of(asker: Asker, outcome: Option<Epoch>, results: Vec<OperationResult>) -> (Address, Signal) {
    let request = asker.request;
    let signal = match (asker.is_write, outcome) {
        (true, Some(_)) => {
            // The warnings it raised are not kept.
            let summary = WriteSummary { results, operations: 0, committed: outcome, raised: None };
            Signal::WriteDone(Box::new(WriteDone { request, result: Ok(summary) }))
        }
        (true, None) => {
            let failure = WriteFailure { operation: 0, refusal: Refusal::WrongView };
            Signal::WriteDone(Box::new(WriteDone { request, result: Err(failure) }))
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
