//! The coordinator of commits over several participants; `recovery` decides those of coordinators that are lost.
//!
//! ```text
//! Preparing --all replicas of all participants prepared--> Committed --all recorded, session confirmed--> forgotten
//!     |  refused by a participant                                                    (Forget to participants)
//!     +--> Aborting --one whole participant ISR recorded the abort (I8)--> session hears "aborted" --> forgotten
//! a replica is given up before the session has heard: it hears "unknown", and nothing is decided by guess: the transaction waits for a view
//! a newer view: Preparing asks all primaries again, from nothing; what is decided is told again to those that have not recorded it
//! ```
//! Invariants: the coordinator decides "commit" exactly when all have answered Prepared in one view. "All" are every
//! in-sync replica of every participant with writes, and the primary of every lock-only participant (I1, I8). The
//! commit epoch is the maximum of the primaries' stamps.
//! - The session hears "aborted" when one whole participant *with writes* has recorded it: recovery looks at no others.
//! - A replica that is given up has recorded nothing: only a view without it ends the waiting for it.
//! - A transaction of another node's session is forgotten when that session has confirmed what it heard, or some time
//!   after the transaction came (`age`). It is also forgotten when the session's node cannot ask any more: a data node
//!   that the view leaves out. A broken connection confirms nothing: the session lives, and asks a participant.

mod recovery;

use crate::mutants::{self, Mutant};
use protocol::program::Refusal;
use protocol::signal::{
    CommitDone, CommitOutcome, CoordinateRequest, Outcome, Participant, Participants, Prepared,
};
use protocol::{Address, Envelope, KnownOutcomes, Outputs, Signal, View};
use query::NodeMap;
use recovery::Recovering;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{Duration, FixedMap, Instant, Now};
use types::{Epoch, NodeId, SlotId, TransactionId};

/// The answers for one participant.
#[derive(Debug)]
struct Answers {
    participant: Participant,
    primary: NodeId,
    replicas: Vec<NodeId>,
    prepared: Vec<NodeId>,
    /// From the primary: whether backups have anything to answer.
    has_writes: Option<bool>,
    recorded: Vec<NodeId>,
}

impl Answers {
    fn new(view: &View, participant: Participant) -> Option<Self> {
        Some(Self {
            participant,
            primary: view.place(participant.slot)?.primary,
            replicas: if mutants::is(Mutant::JoiningNotNeeded) {
                view.in_sync(participant.slot).to_vec()
            } else {
                view.written(participant.slot).collect()
            },
            prepared: Vec::new(),
            has_writes: None,
            recorded: Vec::new(),
        })
    }

    fn is_prepared(&self) -> bool {
        if mutants::is(Mutant::BackupsUncounted) {
            return self.has_writes.is_some();
        }
        match self.has_writes {
            None => false,
            Some(false) => true,
            Some(true) => self.replicas.iter().all(|node| self.prepared.contains(node)),
        }
    }

    /// Every replica of the view has recorded the outcome.
    fn is_recorded(&self, given_up: &[NodeId]) -> bool {
        if mutants::is(Mutant::GivenUpCountsAsRecorded) {
            return self.replicas.iter().all(|node| self.recorded.contains(node) || given_up.contains(node));
        }
        self.replicas.iter().all(|node| self.recorded.contains(node))
    }

    /// Whether the answer of one of these nodes counts.
    fn needs_any(&self, nodes: &[NodeId]) -> bool {
        self.replicas.iter().any(|node| nodes.contains(node))
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Stage {
    Preparing,
    Committed,
    /// The refusal that the session hears once the abort is recorded.
    Aborting(Refusal),
    /// One whole participant has recorded it: the session may hear "aborted"; the remaining replicas are still
    /// recording it.
    Aborted,
}

#[derive(Debug)]
struct Coordinated {
    /// None: its coordinator was another one, which is lost.
    asked: Option<Asked>,
    answers: Vec<Answers>,
    epoch: Epoch,
    stage: Stage,
    /// The session has heard something of it, perhaps "unknown".
    is_answered: bool,
    /// The session will not ask what became of it: it knows, or is on this node, or cannot, or had its time.
    is_confirmed: bool,
    /// How often `on_deadline` has found it.
    age: u32,
}

/// The session that asked for a commit, and its request.
#[derive(Debug)]
struct Asked {
    session: Address,
    request: CoordinateRequest,
}

impl Coordinated {
    /// It is decided, and every replica knows how.
    fn is_recorded(&self, given_up: &[NodeId]) -> bool {
        let is_decided = matches!(self.stage, Stage::Committed | Stage::Aborted);
        if mutants::is(Mutant::ForgottenAfterOne) {
            return is_decided;
        }
        is_decided && self.answers.iter().all(|answers| answers.is_recorded(given_up))
    }

    /// One whole participant has recorded the abort: one with writes, if there is one.
    fn has_recorded_abort(&self, given_up: &[NodeId]) -> bool {
        if mutants::is(Mutant::AbortToldUnrecorded) {
            return true;
        }
        let has_writers = self.answers.iter().any(|answers| answers.participant.has_writes);
        let counts = |answers: &Answers| answers.participant.has_writes || !has_writers;
        self.answers.iter().any(|answers| counts(answers) && answers.is_recorded(given_up))
    }

    /// All participants are prepared: that is the decision.
    fn is_prepared(&self) -> bool {
        if mutants::is(Mutant::CommitOnPartialPrepare) {
            return self.answers.iter().any(Answers::is_prepared);
        }
        self.answers.iter().all(Answers::is_prepared)
    }

    /// The commit epoch is the highest of the stamps.
    fn join_stamp(&mut self, stamp: Epoch) {
        let seen = self.asked.as_ref().map(|asked| asked.request.epoch_seen);
        if mutants::is(Mutant::StampsNotJoined) && Some(self.epoch) != seen {
            return;
        }
        self.epoch = self.epoch.max(stamp);
    }

    fn reply<S>(&mut self, from: Address, outcome: CommitOutcome, outputs: &mut Outputs<S>) {
        if !std::mem::replace(&mut self.is_answered, true)
            && let Some(Asked { session, request }) = &self.asked
        {
            let done = CommitDone { request: request.request, outcome };
            outputs.send(from, *session, Signal::CommitDone(done));
        }
    }
}

/// Whether no session of a node can ask for an outcome any more.
fn cannot_ask(map: &NodeMap, session: NodeId) -> bool {
    if mutants::is(Mutant::LostSessionConfirms) {
        return map.is_out(session);
    }
    map.serves_nobody(session)
}

/// The coordinator block.
pub struct Tc {
    address: Address,
    map: Arc<NodeMap>,
    open: FixedMap<TransactionId, Coordinated>,
    /// The epoch that was opened: `main` hears when nothing with a stamp below it is undecided or unrecorded here.
    draining: Option<Epoch>,
    /// Transactions of lost coordinators whose participants have not all reported.
    recovering: BTreeMap<TransactionId, Recovering>,
    marker_time: Duration,
    /// When what is open grows older; none while nothing is.
    ages_at: Option<Instant>,
    /// The node is about to stop: who wants to know when all sessions have their answers.
    standing_down: Option<Address>,
    /// Transactions that are recorded and confirmed: their markers may go.
    known: KnownOutcomes,
}

impl Tc {
    /// The coordinator at `address`; `marker_time` is how long a session may ask for an outcome.
    #[must_use]
    pub fn new(address: Address, map: Arc<NodeMap>, marker_time: Duration) -> Self {
        Self {
            address,
            map,
            open: FixedMap::default(),
            draining: None,
            recovering: BTreeMap::new(),
            marker_time,
            ages_at: None,
            standing_down: None,
            known: KnownOutcomes::default(),
        }
    }

    /// The same, telling at once of each transaction that its markers may go: for worlds in which no time passes.
    #[must_use]
    pub fn telling_at_once(self) -> Self {
        Self { known: KnownOutcomes::by(1), ..self }
    }

    /// Installs a newer map; commits that wait for a replica that is given up now end as unknown.
    pub fn install<S>(&mut self, now: Now, map: Arc<NodeMap>, outputs: &mut Outputs<S>) {
        let before = std::mem::replace(&mut self.map, map);
        if self.map.stays_after(&before) {
            self.standing_down = None;
        }
        if self.map.view.number > before.view.number {
            self.begin_view(outputs);
        }
        let mut open = self.open_transactions();
        for transaction in &open {
            let Some(coordinated) = self.open.get_mut(transaction) else { continue };
            let session = coordinated.asked.as_ref().map(|asked| asked.session.node);
            coordinated.is_confirmed |= session.is_none_or(|session| cannot_ask(&self.map, session));
            if coordinated.answers.iter().any(|answers| answers.needs_any(&self.map.given_up)) {
                // It is not decided before a view says who is left; whoever hears this asks nobody.
                let is_first = !coordinated.is_answered;
                coordinated.reply(self.address, CommitOutcome::Unknown, outputs);
                coordinated.is_confirmed |= is_first;
            }
        }
        for transaction in open.drain(..) {
            self.look_at(transaction, outputs);
        }
        self.report_drained(outputs);
        self.watch(now);
        self.stand_down(outputs);
    }

    fn open_transactions(&self) -> Vec<TransactionId> {
        let mut open: Vec<TransactionId> = self.open.keys().copied().collect();
        open.sort_unstable();
        open
    }

    /// When something is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        stdx::earlier(self.ages_at, self.known.deadline())
    }

    /// Sessions that have not confirmed an outcome for so long will never ask for it; others have.
    pub fn on_deadline<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        for (slot, transactions) in self.known.take_due(now) {
            self.send_forget(slot, transactions, outputs);
        }
        if self.ages_at.is_none_or(|at| at > now.monotonic) {
            return;
        }
        self.ages_at = None;
        for transaction in self.open_transactions() {
            if let Some(coordinated) = self.open.get_mut(&transaction) {
                // Found twice, it has been here for one whole interval at least.
                coordinated.is_confirmed |= coordinated.age > 0;
                coordinated.age += 1;
            }
            self.look_at(transaction, outputs);
        }
        self.watch(now);
    }

    fn watch(&mut self, now: Now) {
        self.known.watch(now);
        if self.ages_at.is_none() && !self.open.is_empty() {
            self.ages_at = Some(now.monotonic + self.marker_time);
        }
    }

    /// How many commits are being coordinated.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// The state that decides how it goes on, as a number: see `Ldm::digest`.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let sorted = |nodes: &[NodeId]| {
            let mut nodes = nodes.to_vec();
            nodes.sort_unstable();
            nodes
        };
        let mut open: Vec<(&TransactionId, &Coordinated)> = self.open.iter().collect();
        open.sort_unstable_by_key(|(transaction, _)| **transaction);
        let mut text = format!("{} {:?} {:?}", self.map.view.number, self.draining, self.recovering);
        for (_, coordinated) in open {
            let Coordinated { asked, answers, epoch, stage, is_answered, is_confirmed, age } = coordinated;
            text += &format!("{asked:?} {epoch:?} {stage:?} {is_answered} {is_confirmed} {age}");
            for answers in answers {
                // The order of the answers decides nothing.
                let (prepared, recorded) = (sorted(&answers.prepared), sorted(&answers.recorded));
                let Answers { participant, primary, replicas, has_writes, .. } = answers;
                text += &format!("{participant:?} {primary} {replicas:?} {has_writes:?}");
                text += &format!("{prepared:?} {recorded:?}");
            }
        }
        stdx::hash64(text.as_bytes())
    }

    /// Handles a signal.
    pub fn on_signal<S>(&mut self, now: Now, envelope: Envelope, outputs: &mut Outputs<S>) {
        let from = envelope.from;
        match envelope.signal {
            // The wrapper refuses these.
            protocol::not_for!(tc) => {}
            Signal::Coordinate(request) => self.on_coordinate(from, *request, outputs),
            Signal::Confirm { transaction } => self.on_confirm(transaction, outputs),
            Signal::RecoveryReport(report) => self.on_recovery_report(&report, outputs),
            Signal::Prepared(prepared) => self.on_prepared(from.node, &prepared, outputs),
            Signal::OutcomeRecorded { transaction, slot } => {
                self.on_recorded(from.node, transaction, slot, outputs);
            }
            Signal::EpochOpen { epoch } => {
                self.draining = Some(epoch);
                self.report_drained(outputs);
            }
            Signal::StandDown if from != Address::main(self.address.node) => {}
            Signal::StandDown => self.standing_down = Some(from),
            // The wrapper answers what it counts. A session that waits for its commit is in no cycle.
            Signal::InfoRequest { .. } | Signal::ProbeWait(_) => {}
        }
        self.watch(now);
        self.stand_down(outputs);
    }

    /// The node is about to stop: says so once no session waits for an answer.
    fn stand_down<S>(&mut self, outputs: &mut Outputs<S>) {
        if self.standing_down.is_some()
            && self.open.values().all(|coordinated| coordinated.is_answered)
            && let Some(main) = self.standing_down.take()
        {
            outputs.send(self.address, main, Signal::StoodDown);
        }
    }

    fn on_coordinate<S>(&mut self, session: Address, request: CoordinateRequest, outputs: &mut Outputs<S>) {
        let transaction = request.transaction;
        let view = &self.map.view;
        let participants = request.participants.iter();
        let answers: Vec<Answers> =
            participants.filter_map(|participant| Answers::new(view, *participant)).collect();
        let is_whole = answers.len() == request.participants.len() && !answers.is_empty();
        let is_given_up = answers.iter().any(|answers| answers.needs_any(&self.map.given_up));
        if !is_whole || is_given_up || self.open.contains_key(&transaction) {
            // Nothing was sent: what the participants hold is undone, and never was more than staged.
            for participant in &request.participants {
                if let Some(primary) = self.map.primary(participant.slot) {
                    let abort = Signal::Abort { transaction, slot: participant.slot };
                    outputs.send(self.address, primary, abort);
                }
            }
            let refusal = if is_given_up { Refusal::ReplicaLost } else { Refusal::WrongView };
            let done = CommitDone { request: request.request, outcome: CommitOutcome::Aborted(refusal) };
            outputs.send(self.address, session, Signal::CommitDone(done));
            return;
        }
        let epoch = request.epoch_seen;
        let coordinated = Coordinated {
            asked: Some(Asked { session, request }),
            answers,
            epoch,
            stage: Stage::Preparing,
            is_answered: false,
            age: 0,
            is_confirmed: session.node == self.address.node,
        };
        self.send_prepares(&coordinated, outputs);
        self.open.insert(transaction, coordinated);
    }

    /// Asks all primaries to prepare.
    fn send_prepares<S>(&self, coordinated: &Coordinated, outputs: &mut Outputs<S>) {
        let Some(Asked { request, .. }) = &coordinated.asked else { return };
        let with_writes = request.participants.iter().filter(|participant| participant.has_writes);
        let participants: Participants = with_writes.map(|participant| participant.slot).collect();
        for answer in &coordinated.answers {
            if let Some(primary) = self.map.primary(answer.participant.slot) {
                let prepare = Signal::Prepare {
                    transaction: request.transaction,
                    participant: answer.participant,
                    epoch_seen: request.epoch_seen,
                    participants: participants.clone(),
                };
                outputs.send(self.address, primary, prepare);
            }
        }
    }

    fn on_prepared<S>(&mut self, node: NodeId, prepared: &Prepared, outputs: &mut Outputs<S>) {
        let Some(coordinated) = self.open.get_mut(&prepared.transaction) else { return };
        if coordinated.stage != Stage::Preparing {
            return;
        }
        let Some(answers) =
            coordinated.answers.iter_mut().find(|answers| answers.participant.slot == prepared.slot)
        else {
            return;
        };
        let sealed = match &prepared.result {
            Ok(sealed) => *sealed,
            Err(refusal) => {
                coordinated.stage = Stage::Aborting(refusal.clone());
                self.send_outcome(prepared.transaction, None, outputs);
                if mutants::is(Mutant::AbortToldUnrecorded) {
                    self.look_at(prepared.transaction, outputs);
                }
                return;
            }
        };
        if !answers.prepared.contains(&node) {
            answers.prepared.push(node);
        }
        if node == answers.primary {
            answers.has_writes = Some(sealed.has_writes);
        }
        coordinated.join_stamp(sealed.epoch);
        if coordinated.is_prepared() {
            coordinated.stage = Stage::Committed;
            let epoch = coordinated.epoch;
            coordinated.reply(self.address, CommitOutcome::Committed(epoch), outputs);
            self.send_outcome(prepared.transaction, Some(epoch), outputs);
        }
    }

    fn send_outcome<S>(
        &self,
        transaction: TransactionId,
        committed: Option<Epoch>,
        outputs: &mut Outputs<S>,
    ) {
        let Some(coordinated) = self.open.get(&transaction) else { return };
        for answers in &coordinated.answers {
            let slot = answers.participant.slot;
            for node in &answers.replicas {
                if let Some(ldm) = self.map.view.ldm(slot, *node) {
                    let outcome = Outcome { transaction, slot, committed };
                    outputs.send(self.address, ldm, Signal::Outcome(outcome));
                }
            }
        }
    }

    fn on_recorded<S>(
        &mut self,
        node: NodeId,
        transaction: TransactionId,
        slot: SlotId,
        outputs: &mut Outputs<S>,
    ) {
        let Some(coordinated) = self.open.get_mut(&transaction) else { return };
        if let Some(answers) = coordinated.answers.iter_mut().find(|answers| answers.participant.slot == slot)
            && !answers.recorded.contains(&node)
        {
            answers.recorded.push(node);
        }
        self.look_at(transaction, outputs);
    }

    /// Tells the session of a recorded abort, and ends what every replica has recorded.
    fn look_at<S>(&mut self, transaction: TransactionId, outputs: &mut Outputs<S>) {
        let Some(coordinated) = self.open.get_mut(&transaction) else { return };
        let given_up = &self.map.given_up;
        if let Stage::Aborting(refusal) = &coordinated.stage
            && coordinated.has_recorded_abort(given_up)
        {
            let refusal = refusal.clone();
            coordinated.stage = Stage::Aborted;
            coordinated.reply(self.address, CommitOutcome::Aborted(refusal), outputs);
        }
        if coordinated.is_recorded(given_up) {
            if coordinated.is_confirmed {
                self.end(transaction, outputs);
            }
            self.report_drained(outputs);
        }
    }

    /// A session of another node knows what became of its transaction.
    fn on_confirm<S>(&mut self, transaction: TransactionId, outputs: &mut Outputs<S>) {
        if let Some(coordinated) = self.open.get_mut(&transaction) {
            coordinated.is_confirmed = true;
            self.look_at(transaction, outputs);
        }
    }

    /// Every participant has recorded the outcome and the session knows it: the markers may go. Nobody knows whether
    /// the session of a recovered transaction has asked: its markers stay.
    fn end<S>(&mut self, transaction: TransactionId, outputs: &mut Outputs<S>) {
        let Some(coordinated) = self.open.remove(&transaction) else { return };
        for answers in coordinated.answers.iter().filter(|_| coordinated.asked.is_some()) {
            let slot = answers.participant.slot;
            if let Some(transactions) = self.known.note(slot, transaction) {
                self.send_forget(slot, transactions, outputs);
            }
        }
    }

    fn send_forget<S>(&self, slot: SlotId, transactions: Vec<TransactionId>, outputs: &mut Outputs<S>) {
        if let Some(primary) = self.map.primary(slot) {
            outputs.send(self.address, primary, Signal::Forget { slot, transactions });
        }
    }

    /// Tells `main` when nothing stamped below the opened epoch is undecided or unrecorded here.
    fn report_drained<S>(&mut self, outputs: &mut Outputs<S>) {
        let Some(epoch) = self.draining else { return };
        let is_drained = !self
            .open
            .values()
            .any(|coordinated| coordinated.epoch < epoch && !coordinated.is_recorded(&self.map.given_up));
        if is_drained {
            self.draining = None;
            outputs.send(self.address, Address::main(self.address.node), Signal::EpochDrained { epoch });
        }
    }
}
