//! Waiting for row locks: requests that stopped at a locked key, and how they go on.
//!
//! Invariants: a request waits for one key at a time. It goes on where it stopped. Waiters of a key go on in order of
//! arrival, one at a time, each deciding anew on the row's newest version. Nothing recurses: releases only note keys in
//! `to_serve`, and `serve` works that off.

use super::Slot;
use super::read::LockedRead;
use super::stage::WriteRun;
use super::transaction::HeldStage;
use crate::ldm::slot::deadlock::probe_pause;
use crate::ldm::{Context, Fragments};
use crate::locks::{LockKey, WaitId};
use crate::mutants::{self, Mutant};
use protocol::Address;
use protocol::program::{LockMode, LockWait, Refusal};
use protocol::signal::RequestId;
use std::collections::{BTreeSet, VecDeque};
use stdx::{Deadlines, Duration, FixedMap, Instant, Now};
use storage::{LockTally, VersionState};
use types::{SlotId, TransactionId};

/// A request that stopped at a lock.
pub(in crate::ldm) enum Run {
    Write(WriteRun),
    Read(LockedRead),
}

impl Run {
    pub(in crate::ldm) fn from(&self) -> Address {
        match self {
            Self::Write(run) => run.from,
            Self::Read(run) => run.from,
        }
    }

    pub(in crate::ldm) fn slot(&self) -> SlotId {
        match self {
            Self::Write(run) => run.request.slot,
            Self::Read(run) => run.request.slot,
        }
    }

    /// Notes the operations of its transaction when it begins to wait. When it goes on, wherever that is, it must not
    /// do so without these.
    pub(in crate::ldm) fn note_known(&mut self, operations: u32) {
        let known = match self {
            Self::Write(run) => &mut run.request.known,
            Self::Read(run) => &mut run.request.known,
        };
        *known = operations.max(*known);
    }

    pub(in crate::ldm) fn request(&self) -> RequestId {
        match self {
            Self::Write(run) => run.request.request,
            Self::Read(run) => run.request.request,
        }
    }

    /// How it wants a table as a whole, if that is what it stopped at.
    pub(in crate::ldm) fn table_mode(&self) -> Option<LockMode> {
        match self {
            Self::Write(_) => None,
            Self::Read(run) => run.table_mode(),
        }
    }

    pub(in crate::ldm) fn transaction(&self) -> TransactionId {
        match self {
            Self::Write(run) => run.request.transaction,
            Self::Read(run) => run.request.transaction.unwrap_or_default(),
        }
    }
}

/// Its wait.
pub(in crate::ldm) struct Waiting {
    pub(in crate::ldm) transaction: TransactionId,
    pub(in crate::ldm) key: LockKey,
    pub(in crate::ldm) run: Run,
    pub(in crate::ldm) mode: LockMode,
    pub(in crate::ldm) since: Instant,
    /// When it has waited for long enough.
    pub(in crate::ldm) deadline: Instant,
    /// How often it has looked for deadlocks.
    pub(in crate::ldm) probe_rounds: u32,
}

/// The reason of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::ldm) enum WaitAlarm {
    Timeout(WaitId),
    Probe(WaitId),
    /// Writes that pause look again: for memory, for room in the redo log, or because their functions take long.
    Pause,
    /// Requests wait for the lease.
    Lease,
    /// A copy may go on.
    Copy,
}

/// The waits of a module, and its alarms.
#[derive(Default)]
pub(in crate::ldm) struct Waits {
    by_id: FixedMap<WaitId, Waiting>,
    by_transaction: BTreeSet<(TransactionId, WaitId)>,
    next: u64,
    pub(in crate::ldm) alarms: Deadlines<WaitAlarm>,
    /// Keys whose waiters may be able to go on; served before `handle` returns.
    pub(in crate::ldm) to_serve: VecDeque<LockKey>,
}

impl Waits {
    pub(in crate::ldm) fn get(&self, wait: WaitId) -> Option<&Waiting> {
        self.by_id.get(&wait)
    }

    /// Another round of probes goes out; the next one follows after a pause.
    pub(in crate::ldm) fn probe_again(&mut self, wait: WaitId, now: Now) {
        let Some(waiting) = self.by_id.get_mut(&wait) else { return };
        waiting.probe_rounds += 1;
        let pause = probe_pause(waiting.probe_rounds);
        self.alarms.register(now.monotonic + pause, WaitAlarm::Probe(wait));
    }

    pub(in crate::ldm) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// All of them, in no particular order.
    pub(in crate::ldm) fn iter(&self) -> impl Iterator<Item = (WaitId, &Waiting)> {
        self.by_id.iter().map(|(wait, waiting)| (*wait, waiting))
    }

    /// The waits in a slot, in the order of their beginning.
    pub(in crate::ldm) fn in_slot(&self, slot: SlotId) -> Vec<WaitId> {
        let of = self.by_id.iter().filter(|(_, waiting)| waiting.key.slot == slot);
        let mut waits: Vec<WaitId> = of.map(|(wait, _)| *wait).collect();
        waits.sort_unstable();
        waits
    }

    /// The waits of a transaction, in the order of their beginning.
    pub(in crate::ldm) fn of(&self, transaction: TransactionId) -> Vec<WaitId> {
        let its = (transaction, WaitId(0))..=(transaction, WaitId(u64::MAX));
        self.by_transaction.range(its).map(|(_, wait)| *wait).collect()
    }

    /// The same in one slot.
    pub(in crate::ldm) fn of_in(&self, transaction: TransactionId, slot: SlotId) -> Vec<WaitId> {
        let mut waits = self.of(transaction);
        waits.retain(|wait| self.get(*wait).is_some_and(|waiting| waiting.key.slot == slot));
        waits
    }

    /// Which transactions wait, for digests.
    pub(in crate::ldm) fn by_transaction(&self) -> &BTreeSet<(TransactionId, WaitId)> {
        &self.by_transaction
    }

    fn insert(&mut self, now: Now, wait: WaitId, waiting: Waiting) {
        self.alarms.register(waiting.deadline, WaitAlarm::Timeout(wait));
        self.alarms.register(now.monotonic + probe_pause(0), WaitAlarm::Probe(wait));
        self.by_transaction.insert((waiting.transaction, wait));
        self.by_id.insert(wait, waiting);
        let waits = &self.by_id;
        self.alarms.prune(2 * waits.len(), |alarm| match alarm {
            WaitAlarm::Timeout(wait) | WaitAlarm::Probe(wait) => waits.contains_key(wait),
            WaitAlarm::Pause | WaitAlarm::Lease | WaitAlarm::Copy => true,
        });
    }

    /// A row is published or undone: its waiters look at it again.
    pub(super) fn serve_row(&mut self, key: LockKey) {
        if mutants::is(Mutant::RowsKeepWaiters) {
            return;
        }
        self.to_serve.push_back(key);
    }
}

impl Context<'_> {
    /// The transaction that owns the newest version of a row while it is not committed.
    pub(in crate::ldm) fn implicit_owner(&self, key: &LockKey) -> Option<TransactionId> {
        implicit_owner(self.fragments, key)
    }

    pub(in crate::ldm) fn stop_waiting(&mut self, wait: WaitId) -> Option<Waiting> {
        let waiting = self.waits.by_id.remove(&wait)?;
        self.locks.stop_waiting(wait);
        self.waits.by_transaction.remove(&(waiting.transaction, wait));
        Some(waiting)
    }

    fn count_refused(&mut self, waiting: &Waiting) {
        let lasted = milliseconds(self.now.monotonic.since(waiting.since));
        if let Some(tally) = self.lock_tally(&waiting.key, waiting.mode) {
            tally.refused += 1;
            tally.refused_ms += lasted;
        }
    }

    /// A lock was not free, and the request does not wait for it.
    pub(in crate::ldm) fn count_not_waited(&mut self, key: &LockKey, mode: LockMode) {
        if let Some(tally) = self.lock_tally(key, mode) {
            tally.refused += 1;
        }
    }

    /// Where requests for a lock in this mode are counted.
    pub(in crate::ldm) fn lock_tally(&mut self, key: &LockKey, mode: LockMode) -> Option<&mut LockTally> {
        let tally = &mut self.fragments.get_mut(&(key.table, key.slot))?.tally;
        Some(match mode {
            LockMode::Exclusive => &mut tally.exclusive,
            LockMode::Shared => &mut tally.shared,
        })
    }
}

impl Slot {
    /// Puts a request to wait for a lock.
    pub(super) fn wait_for_lock(
        &mut self,
        key: LockKey,
        mode: LockMode,
        timeout_ms: u32,
        mut run: Run,
        context: &mut Context<'_>,
    ) {
        let transaction = run.transaction();
        run.note_known(self.operation_count(transaction));
        context.waits.next += 1;
        let wait = WaitId(context.waits.next);
        if run.table_mode().is_some() {
            context.locks.wait_for_table(&key, wait, transaction, mode);
        } else {
            context.locks.wait(&key, wait, transaction, mode);
        }
        let since = context.now.monotonic;
        let deadline = since + Duration::from_millis(u64::from(timeout_ms));
        let waiting = Waiting { transaction, key, run, mode, since, deadline, probe_rounds: 0 };
        context.waits.insert(context.now, wait, waiting);
        self.send_probes(wait, context);
    }

    /// The turn of a request has come: it goes on.
    pub(in crate::ldm) fn serve(&mut self, wait: WaitId, context: &mut Context<'_>) {
        let Some(waiting) = context.stop_waiting(wait) else { return };
        let key = waiting.key;
        let is_table = key.is_whole();
        let lasted = milliseconds(context.now.monotonic.since(waiting.since));
        if let Some(tally) = context.lock_tally(&key, waiting.mode) {
            tally.granted += 1;
            tally.granted_ms += lasted;
        }
        context.ask_to_probe(&key, waiting.transaction);
        // Others may be able to go on too: shared locks, or a row that this one leaves alone.
        context.waits.to_serve.push_back(key);
        match waiting.run {
            Run::Write(mut run) => {
                (run.is_first, run.is_let_in) = (!is_table, is_table);
                self.run_write(run, context);
            }
            Run::Read(mut run) => {
                (run.is_first, run.is_let_in) = (!is_table, is_table);
                self.run_locked_read(run, context);
            }
        }
    }

    /// Ends a wait without the lock.
    pub(in crate::ldm) fn refuse_wait(&mut self, wait: WaitId, refusal: Refusal, context: &mut Context<'_>) {
        let Some(waiting) = context.stop_waiting(wait) else { return };
        context.count_refused(&waiting);
        context.waits.to_serve.push_back(waiting.key);
        self.refuse_run(waiting.run, refusal, context);
    }

    pub(in crate::ldm) fn refuse_run(&mut self, run: Run, refusal: Refusal, context: &mut Context<'_>) {
        match run {
            Run::Write(run) => self.refuse_write(run, refusal, context),
            Run::Read(run) => context.refuse_read(run.from, &run.request, refusal),
        }
    }

    /// A request that waited elsewhere, or before this member stepped down, looks for its lock again.
    pub(in crate::ldm) fn resume(&mut self, run: Run, context: &mut Context<'_>) {
        match run {
            Run::Write(run) => self.run_write(run, context),
            Run::Read(run) => self.run_locked_read(run, context),
        }
    }

    /// Ends all waits of a transaction without an answer: nobody waits for one.
    pub(super) fn drop_waits(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        drop(context.reclaim.take_waits(transaction, self.id));
        self.drop_held_back(transaction, context);
        for wait in context.waits.of_in(transaction, self.id) {
            if let Some(waiting) = context.stop_waiting(wait) {
                context.count_refused(&waiting);
                context.waits.to_serve.push_back(waiting.key);
            }
        }
    }

    /// Whether a wait is behind a transaction that is being committed while a data node is given up: it may never be
    /// decided in this view.
    pub(in crate::ldm) fn waits_for_ever(&self, waiting: &Waiting, context: &Context<'_>) -> bool {
        let is_ending =
            |owner: TransactionId| self.held.get(&owner).is_some_and(|held| held.stage == HeldStage::Ending);
        context.has_given_up_nodes() && context.implicit_owner(&waiting.key).is_some_and(is_ending)
    }

    /// A slot grants no locks while a replica of it is given up.
    pub(in crate::ldm) fn refuse_waits_if_given_up(&mut self, context: &mut Context<'_>) {
        if !self.members.is_replica_given_up {
            return;
        }
        for wait in context.waits.in_slot(self.id) {
            self.refuse_wait(wait, Refusal::ReplicaLost, context);
        }
        self.refuse_handed_if_given_up(context);
    }
}

/// The transaction that owns the newest version of a row while it is not committed.
pub(in crate::ldm) fn implicit_owner(fragments: &Fragments, key: &LockKey) -> Option<TransactionId> {
    implicit_owner_of(fragments.get(&(key.table, key.slot))?.newest(&key.key).state?)
}

/// The transaction that owns a version that is not committed.
pub(in crate::ldm) fn implicit_owner_of(state: VersionState) -> Option<TransactionId> {
    match state {
        VersionState::Staged(owner) | VersionState::Prepared(owner) => Some(owner),
        VersionState::Committed(_) => None,
    }
}

pub(in crate::ldm) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How long to wait, if at all.
pub(in crate::ldm) fn timeout_of(wait: LockWait) -> Result<u32, Refusal> {
    match wait {
        LockWait::Wait { timeout_ms } => Ok(timeout_ms),
        LockWait::NoWait | LockWait::SkipLocked => Err(Refusal::LockNotAvailable),
    }
}
