//! The coordinator across views: its own transactions go on, and those of lost coordinators are decided.
//!
//! ```text
//! primary --RecoveryReport{state here}--> recoverer (one tc, found by hash) --RecoveryAsk--> primaries of the other participants
//! all have reported: any Committed -> commit at that epoch; any Aborted -> abort; all Prepared -> commit at the highest stamp;
//!                    else -> abort                              Outcome to every replica, as the coordinator would have sent it
//! ```
//! Invariants, each closing an interleaving:
//! - The decision depends only on what in-sync members recorded (I6): several recoverers, one after the other, agree.
//! - One decider at a time: a newer view ends all recovery under way, told or not; its recoverer begins again from what
//!   was recorded. Two would disagree when the first had decided "abort" for want of a participant that a later primary
//!   turns out to hold.
//! - Participants are those with writes. One with locks only, whose primary is lost, cannot veto what may have been
//!   acknowledged; one that still waits reports itself and hears the outcome.
//! - A coordinator that lives counts only answers of one view: a primary that took over may have lost what the old
//!   one had prepared.

use super::{Answers, Coordinated, Stage, Tc};
use crate::mutants::{self, Mutant};
use protocol::program::Refusal;
use protocol::signal::{Participant, Participants, RecoveredState, RecoveryReport};
use protocol::{Outputs, Signal};
use std::collections::BTreeMap;
use types::{Epoch, SlotId, TransactionId, ViewNumber};

/// A transaction whose participants are being asked.
#[derive(Debug)]
pub(super) struct Recovering {
    participants: Participants,
    /// The reports that came; also of participants with locks only.
    states: BTreeMap<SlotId, RecoveredState>,
}

impl Recovering {
    /// The outcome, once every participant with writes has reported, and none contradicts another.
    fn outcome(&self) -> Option<Option<Epoch>> {
        let mut highest = Epoch(0);
        let (mut committed, mut is_aborted) = (None, false);
        for slot in self.participants.iter() {
            let state = self.states.get(slot);
            if mutants::is(Mutant::RecoveryAsksNobody) && state.is_none() {
                continue;
            }
            if mutants::is(Mutant::RecoveryIgnoresMissing) && matches!(state, Some(RecoveredState::Nothing)) {
                continue;
            }
            match state? {
                RecoveredState::Committed(epoch) => committed = Some(*epoch),
                RecoveredState::Prepared(epoch) => highest = highest.max(*epoch),
                RecoveredState::Aborted | RecoveredState::Nothing => is_aborted = true,
            }
        }
        if committed.is_some() && is_aborted {
            // Nobody can say which of them is broken: it stays undecided.
            return None;
        }
        Some(committed.or((!is_aborted).then_some(highest)))
    }
}

impl Answers {
    /// Only what is prepared in the installed view counts.
    fn forget_prepared(&mut self) {
        if mutants::is(Mutant::PreparesKeptAcrossViews) {
            return;
        }
        self.prepared.clear();
        self.has_writes = None;
    }
}

impl Tc {
    /// A newer view is installed.
    pub(super) fn begin_view<S>(&mut self, outputs: &mut Outputs<S>) {
        // Epoch rounds of the old view are void.
        self.draining = None;
        if !mutants::is(Mutant::RecoveryKeptAcrossViews) {
            self.recovering.clear();
        }
        self.open.retain(|_, coordinated| coordinated.asked.is_some());
        for transaction in self.open_transactions() {
            let Some(coordinated) = self.open.get_mut(&transaction) else { continue };
            for answers in &mut coordinated.answers {
                let slot = answers.participant.slot;
                answers.replicas = self.map.view.written(slot).collect();
                answers.primary = self.map.view.place(slot).map_or(answers.primary, |place| place.primary);
                if coordinated.stage == Stage::Preparing {
                    answers.forget_prepared();
                }
            }
            self.go_on_in_view(transaction, outputs);
        }
    }

    /// A decision is told again, a transaction without one is asked again.
    fn go_on_in_view<S>(&self, transaction: TransactionId, outputs: &mut Outputs<S>) {
        if mutants::is(Mutant::NotAskedAgain) {
            return;
        }
        let Some(coordinated) = self.open.get(&transaction) else { return };
        match coordinated.stage {
            Stage::Preparing => {
                if mutants::is(Mutant::UnknownForEver) && coordinated.is_answered {
                    return;
                }
                self.send_prepares(coordinated, outputs);
            }
            Stage::Committed => self.send_outcome(transaction, Some(coordinated.epoch), outputs),
            Stage::Aborting(_) | Stage::Aborted => self.send_outcome(transaction, None, outputs),
        }
    }

    /// A primary holds a transaction whose coordinator is lost, or was asked about one.
    pub(super) fn on_recovery_report<S>(&mut self, report: &RecoveryReport, outputs: &mut Outputs<S>) {
        let transaction = report.transaction;
        if let Some(coordinated) = self.open.get_mut(&transaction) {
            // Decided already: a participant with locks only came late.
            let is_known = coordinated.answers.iter().any(|answers| answers.participant.slot == report.slot);
            if coordinated.asked.is_none() && !is_known {
                coordinated.answers.extend(Answers::new(&self.map.view, participant(report.slot, false)));
                let outcome = matches!(coordinated.stage, Stage::Committed).then_some(coordinated.epoch);
                self.send_outcome(transaction, outcome, outputs);
            }
            return;
        }
        let is_new = !self.recovering.contains_key(&transaction);
        let recovering = self.recovering.entry(transaction).or_insert_with(|| Recovering {
            participants: report.participants.clone(),
            states: BTreeMap::new(),
        });
        recovering.states.entry(report.slot).or_insert(report.state);
        if is_new {
            for slot in report.participants.iter().filter(|slot| **slot != report.slot) {
                let Some(primary) = self.map.primary(*slot) else { continue };
                let participants = report.participants.clone();
                let ask = Signal::RecoveryAsk { transaction, slot: *slot, participants };
                outputs.send(self.address, primary, ask);
            }
        }
        if let Some(outcome) = recovering.outcome() {
            self.conclude_recovery(transaction, outcome, outputs);
        }
    }

    /// From here on it is told and recorded as its coordinator would have done.
    fn conclude_recovery<S>(
        &mut self,
        transaction: TransactionId,
        outcome: Option<Epoch>,
        outputs: &mut Outputs<S>,
    ) {
        let Some(recovering) = self.recovering.remove(&transaction) else { return };
        let mut slots: Vec<SlotId> = recovering.participants.to_vec();
        slots.extend(recovering.states.keys().filter(|slot| !recovering.participants.contains(slot)));
        let participants =
            slots.iter().map(|slot| participant(*slot, recovering.participants.contains(slot)));
        let view = &self.map.view;
        let answers = participants.filter_map(|participant| Answers::new(view, participant)).collect();
        let coordinated = Coordinated {
            // Its session asks a participant.
            asked: None,
            answers,
            epoch: outcome.unwrap_or(Epoch(0)),
            stage: if outcome.is_some() { Stage::Committed } else { Stage::Aborting(Refusal::NotHeld) },
            is_answered: true,
            is_confirmed: true,
            age: 0,
        };
        self.open.insert(transaction, coordinated);
        self.send_outcome(transaction, outcome, outputs);
    }
}

fn participant(slot: SlotId, has_writes: bool) -> Participant {
    Participant { slot, operations: 0, view: ViewNumber(0), has_writes }
}
