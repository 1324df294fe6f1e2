//! A commit from the session's side. It is asked for once. If the answer does not come, the session asks for the
//! outcome until somebody knows it.
//!
//! ```text
//! CommitOne / Coordinate --answer--> outcome (confirmed: what another node keeps for this session's sake may go)
//!        | the node that was asked is lost
//!        v
//! wait for a view in which a participant with writes has another primary --OutcomeAsk--> outcome
//! ```
//! Invariants: a commit is asked for once and never again. It is not asked for while the primary of a participant is
//! lost: that primary's work is gone, so the transaction is refused. Nobody could doubt that outcome. "Unknown" is said
//! only in two cases. No view will come in which somebody knows, or nobody could be asked for so long that the notes
//! for the session may be gone. An outcome is confirmed only when the session has it.
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is a failure like any other")]

use crate::client::Client;
use crate::inbox::{Reply, RequestKind};
use crate::site::Environment;
use crate::transaction_client::CommitPlan;
use protocol::signal::{CommitOneRequest, CommitOutcome, CoordinateRequest, RequestId};
use protocol::{Address, Signal};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{NodeId, SlotId, TransactionId};

/// How soon a session looks again for somebody to ask (a new view wakes it at once).
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// Why a commit is not even asked for.
const PRIMARY_LOST: &str = "the node that held the transaction's writes or locks is lost";

/// How a commit began.
pub enum CommitStart {
    /// Nothing is held anywhere: it is committed.
    Nothing,
    /// It is under way.
    Sent(CommitRun),
    /// Nobody can be asked.
    Refused(&'static str),
}

/// Asks for the commit of the session's transaction.
pub fn start_commit(client: &mut Client, env: &mut Environment<'_>) -> CommitStart {
    let epoch_seen = client.transaction.epoch_seen;
    let map = Arc::clone(&env.site.map);
    let witness = client.transaction.witness().map_or(SlotId(0), |(_, slot)| slot);
    match client.transaction.commit_plan() {
        CommitPlan::Nothing => {
            // Participants without operations hold nothing.
            client.transaction.end();
            CommitStart::Nothing
        }
        CommitPlan::One(transaction, participant) => {
            let slot = participant.slot;
            if map.is_replica_given_up(slot) {
                return CommitStart::Refused("a replica of the rows is lost");
            }
            let Some(primary) = map.primary_in_reach(slot) else {
                return CommitStart::Refused(PRIMARY_LOST);
            };
            let request = client.inbox.register(primary, RequestKind::Commit);
            let commit = CommitOneRequest { request, transaction, participant, epoch_seen };
            env.send(primary, Signal::CommitOne(Box::new(commit)));
            let question = Question::new(transaction, slot, false, env);
            CommitStart::Sent(CommitRun {
                question,
                request: Some(request),
                coordinator: None,
                has_asked: false,
            })
        }
        CommitPlan::Several(transaction, participants) => {
            if participants.iter().any(|participant| map.is_replica_given_up(participant.slot)) {
                return CommitStart::Refused("a replica of the rows is lost");
            }
            if participants.iter().any(|participant| map.primary_in_reach(participant.slot).is_none()) {
                return CommitStart::Refused(PRIMARY_LOST);
            }
            let first = participants.first().map_or(SlotId(0), |participant| participant.slot);
            let Some(tc) = map.coordinator(env.site.address.instance, first) else {
                return CommitStart::Refused("no coordinator can be reached");
            };
            let request = client.inbox.register(tc, RequestKind::Commit);
            let commit = CoordinateRequest { request, transaction, participants, epoch_seen };
            env.send(tc, Signal::Coordinate(Box::new(commit)));
            let question = Question::new(transaction, witness, false, env);
            CommitStart::Sent(CommitRun {
                question,
                request: Some(request),
                coordinator: Some(tc),
                has_asked: false,
            })
        }
    }
}

/// A commit under way.
#[derive(Debug)]
pub struct CommitRun {
    question: Question,
    /// None while nobody can be asked.
    request: Option<RequestId>,
    /// The coordinator that was asked first, if there are several participants.
    coordinator: Option<Address>,
    /// The answer of that one is lost.
    has_asked: bool,
}

impl CommitRun {
    /// The coordinator that has not answered, and what it was asked.
    pub fn waits_for(&self) -> Option<(RequestId, Address)> {
        self.request.zip(self.coordinator)
    }

    /// The outcome, once it is known.
    pub fn poll(&mut self, client: &mut Client, env: &mut Environment<'_>) -> Option<CommitOutcome> {
        let Some(request) = self.request else {
            if self.question.is_hopeless(env) {
                return Some(CommitOutcome::Unknown);
            }
            self.request = self.question.ask(client, env);
            return None;
        };
        match client.inbox.take(request)? {
            Reply::Commit(outcome) => {
                if self.has_asked && matches!(outcome, CommitOutcome::Committed(_)) {
                    // A recoverer that decided in the coordinator's stead knows nothing of participants that only
                    // locked.
                    client.transaction.abort_locks(env);
                }
                match self.coordinator {
                    // The module that told it. The decision of a recoverer in its stead is kept: nobody knows whether
                    // all participants have heard of it.
                    Some(tc) => env.confirm_to_coordinator(tc, self.question.transaction),
                    None => self.question.confirm(env),
                }
                Some(outcome)
            }
            _ => {
                self.request = None;
                self.has_asked = true;
                self.question.ask_later(client, env);
                None
            }
        }
    }
}

/// After a commit whose answer is lost.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    transaction: TransactionId,
    /// The only participant, or one with writes.
    slot: SlotId,
    /// A write carried the commit.
    is_write: bool,
    /// The primary's node when the commit was asked for.
    committer: Option<NodeId>,
    /// When that was: what became of it is kept for a time that begins later.
    since: Instant,
}

impl Question {
    /// About a commit that is being asked for.
    pub fn new(transaction: TransactionId, slot: SlotId, is_write: bool, env: &Environment<'_>) -> Self {
        let committer = env.site.map.primary(slot).map(|primary| primary.node);
        Self { transaction, slot, is_write, committer, since: env.now.monotonic }
    }

    /// Whether nobody can be asked any more.
    pub(crate) fn is_hopeless(self, env: &Environment<'_>) -> bool {
        let until = self.since + env.site.marker_time / 2;
        env.site.map.is_replica_given_up(self.slot) || env.now.monotonic > until
    }

    /// Asks it; None while nobody can be asked: the session is woken to try again.
    pub fn ask(self, client: &mut Client, env: &mut Environment<'_>) -> Option<RequestId> {
        let Some(primary) = env.site.map.primary_in_reach(self.slot) else {
            self.ask_later(client, env);
            return None;
        };
        let request = client.inbox.register(primary, RequestKind::Commit);
        let Self { transaction, slot, is_write, .. } = self;
        env.send(primary, Signal::OutcomeAsk { request, transaction, slot, is_write });
        Some(request)
    }

    /// The node that was asked is lost, and the map need not say so yet: a new view, or some time, wakes the session to
    /// ask.
    pub(crate) fn ask_later(self, client: &Client, env: &mut Environment<'_>) {
        env.site.wakes.register(env.now.monotonic + ASK_AGAIN, client.id);
    }

    /// The session knows the answer.
    pub fn confirm(self, env: &mut Environment<'_>) {
        env.confirm_to_primary(self.committer, self.slot, self.transaction);
    }
}
