//! Waiting for row locks: requests that stopped at a locked key, and how they go on.
//!
//! Invariants: a request waits for one key at a time; it goes on where it stopped; waiters of a key go on in order of arrival, one at a time,
//! each deciding anew on the row's newest version. Nothing recurses: releases only note keys in `to_serve`, and `serve` works that off.

use crate::ldm::deadlock::{PROBES_AT_ONCE, probe_pause};
use crate::ldm::slot::read::LockedRead;
use crate::ldm::slot::stage::WriteRun;
use crate::ldm::slot::transaction::HeldStage;
use crate::ldm::{Ldm, Place, RELEASE};
use crate::locks::{self, LockKey, WaitId};
use protocol::program::{LockMode, LockWait, Refusal};
use protocol::signal::RequestId;
use protocol::{Address, Outputs, Signal};
use query::Shared;
use stdx::{Duration, Instant, Now};
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

    pub(in crate::ldm) fn place(&self) -> Place {
        (self.transaction(), self.slot())
    }

    /// What its transaction holds when it begins to wait. When it goes on, wherever that is, it must not do so without that.
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

    fn transaction(&self) -> TransactionId {
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
    deadline: Instant,
    /// How often it has looked for deadlocks.
    pub(in crate::ldm) probe_rounds: u32,
}

/// What a deadline is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::ldm) enum WaitAlarm {
    Timeout(WaitId),
    Probe(WaitId),
    /// Writes wait for memory.
    Memory,
    /// Requests wait for the lease.
    Lease,
    /// The next piece of a copy.
    Copy,
}

impl Waiting {
    /// When it has waited for long enough.
    pub(in crate::ldm) fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl Ldm {
    /// The transaction that owns the newest version of a row while it is not committed.
    pub(in crate::ldm) fn implicit_owner(&self, key: &LockKey) -> Option<TransactionId> {
        match self.fragments.get(&(key.table, key.slot))?.newest(&key.key).state? {
            VersionState::Staged(owner) | VersionState::Prepared(owner) => Some(owner),
            VersionState::Committed(_) => None,
        }
    }

    /// Whether anybody keeps `transaction` from locking `key`.
    pub(in crate::ldm) fn is_blocked(
        &self,
        key: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        place: locks::Place,
    ) -> bool {
        self.locks.is_blocked(key, transaction, mode, self.implicit_owner(key), place)
    }

    /// Puts a request to wait for a lock.
    pub(in crate::ldm) fn wait_for_lock(
        &mut self,
        now: Now,
        key: LockKey,
        mode: LockMode,
        timeout_ms: u32,
        mut run: Run,
        outputs: &mut Outputs<Shared>,
    ) {
        run.note_known(self.operation_count(run.place()));
        let transaction = run.transaction();
        self.next_wait += 1;
        let wait = WaitId(self.next_wait);
        let deadline = now.monotonic + Duration::from_millis(u64::from(timeout_ms));
        if run.table_mode().is_some() {
            self.locks.wait_for_table(&key, wait, transaction, mode);
        } else {
            self.locks.wait(&key, wait, transaction, mode);
        }
        self.alarms.register(deadline, WaitAlarm::Timeout(wait));
        self.alarms.register(now.monotonic + probe_pause(0), WaitAlarm::Probe(wait));
        self.waits_by_transaction.insert((transaction, wait));
        let since = now.monotonic;
        let waiting = Waiting { transaction, key, run, mode, since, deadline, probe_rounds: 0 };
        self.waits.insert(wait, waiting);
        let waits = &self.waits;
        self.alarms.prune(2 * waits.len(), |alarm| match alarm {
            WaitAlarm::Timeout(wait) | WaitAlarm::Probe(wait) => waits.contains_key(wait),
            WaitAlarm::Memory | WaitAlarm::Lease | WaitAlarm::Copy => true,
        });
        self.send_probes(wait, outputs);
    }

    /// Works off the keys whose locks were released.
    pub(in crate::ldm) fn serve(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if !self.to_serve.is_empty() && !self.is_leased(now) {
            return self.await_lease(now);
        }
        while let Some(key) = self.to_serve.pop_front() {
            let is_table = key.is_whole();
            let first = if is_table {
                self.first_at_table(&key)
            } else {
                self.locks.first_grantable(&key, || self.implicit_owner(&key))
            };
            let Some(wait) = first else { continue };
            if let Some(waiting) = self.stop_waiting(wait) {
                if let Some(tally) = self.lock_tally(&key, waiting.mode) {
                    tally.granted += 1;
                    tally.granted_ms += milliseconds(now.monotonic.since(waiting.since));
                }
                self.ask_to_probe(&key, waiting.transaction, outputs);
                // Others may be able to go on too: shared locks, or a row that this one leaves alone.
                self.to_serve.push_back(key);
                match waiting.run {
                    Run::Write(mut run) => {
                        (run.is_first, run.is_let_in) = (!is_table, is_table);
                        self.run_write(now, run, outputs);
                    }
                    Run::Read(mut run) => {
                        (run.is_first, run.is_let_in) = (!is_table, is_table);
                        self.run_locked_read(now, run, outputs);
                    }
                }
            }
        }
    }

    pub(in crate::ldm) fn stop_waiting(&mut self, wait: WaitId) -> Option<Waiting> {
        let waiting = self.waits.remove(&wait)?;
        self.locks.stop_waiting(wait);
        self.waits_by_transaction.remove(&(waiting.transaction, wait));
        Some(waiting)
    }

    /// Ends a wait without the lock.
    pub(in crate::ldm) fn refuse_wait(
        &mut self,
        wait: WaitId,
        refusal: Refusal,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(waiting) = self.stop_waiting(wait) else { return };
        self.count_refused(&waiting);
        self.to_serve.push_back(waiting.key);
        self.refuse_run(waiting.run, refusal, outputs);
    }

    pub(in crate::ldm) fn refuse_run(&mut self, run: Run, refusal: Refusal, outputs: &mut Outputs<Shared>) {
        match run {
            Run::Write(run) => self.refuse_write(run, refusal, outputs),
            Run::Read(run) => self.refuse_locked_read(run, refusal, outputs),
        }
    }

    /// The waits of a transaction in a slot, in the order of their beginning.
    pub(in crate::ldm) fn waits_of(&self, place: Place) -> Vec<WaitId> {
        let mut waits = self.waits_of_transaction(place.0);
        waits.retain(|wait| self.waits.get(wait).is_some_and(|waiting| waiting.key.slot == place.1));
        waits
    }

    /// The waits of a transaction, in the order of their beginning.
    pub(in crate::ldm) fn waits_of_transaction(&self, transaction: TransactionId) -> Vec<WaitId> {
        let its = (transaction, WaitId(0))..=(transaction, WaitId(u64::MAX));
        self.waits_by_transaction.range(its).map(|(_, wait)| *wait).collect()
    }

    /// Ends all waits of a transaction in a slot without an answer: nobody waits for one.
    pub(in crate::ldm) fn drop_waits(&mut self, place: Place) {
        drop(self.take_memory_waits(place));
        self.drop_held_back(place);
        for wait in self.waits_of(place) {
            if let Some(waiting) = self.stop_waiting(wait) {
                self.count_refused(&waiting);
                self.to_serve.push_back(waiting.key);
            }
        }
    }

    fn count_refused(&mut self, waiting: &Waiting) {
        let lasted = milliseconds(self.called_at.since(waiting.since));
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

    /// Whether a wait is behind a transaction that is being committed while a data node is lost: it may never be decided in this view.
    fn waits_for_ever(&self, wait: WaitId) -> bool {
        let Some(waiting) = self.waits.get(&wait) else { return false };
        let is_ending = |owner: TransactionId| {
            let held = self.held.get(&(owner, waiting.key.slot));
            held.is_some_and(|held| held.stage == HeldStage::Ending)
        };
        self.has_lost_replicas() && self.implicit_owner(&waiting.key).is_some_and(is_ending)
    }

    /// Slots that lost a replica grant no locks any more.
    pub(in crate::ldm) fn refuse_waits_of_lost(&mut self, outputs: &mut Outputs<Shared>) {
        let is_lost = |key: &LockKey| self.slot(key.slot).is_some_and(|state| state.is_replica_lost);
        let mut waits: Vec<WaitId> =
            self.waits.iter().filter(|(_, waiting)| is_lost(&waiting.key)).map(|(wait, _)| *wait).collect();
        waits.sort_unstable();
        for wait in waits {
            self.refuse_wait(wait, Refusal::ReplicaLost, outputs);
        }
        self.refuse_handed_of_lost(outputs);
    }

    /// Handles what is due, but not all probes at once: the rest is still due afterwards.
    pub(in crate::ldm) fn on_alarms(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        let mut probes_left = PROBES_AT_ONCE;
        while probes_left > 0
            && let Some(alarm) = self.alarms.expired(now.monotonic)
        {
            match alarm {
                WaitAlarm::Memory => self.on_memory_alarm(now, outputs),
                WaitAlarm::Copy => self.on_copy_alarm(outputs),
                WaitAlarm::Lease => {
                    self.is_lease_awaited = false;
                    outputs.send(self.address, self.address, Signal::Continue(RELEASE));
                }
                WaitAlarm::Timeout(wait) => {
                    if self.waits.get(&wait).is_some_and(|waiting| waiting.deadline <= now.monotonic) {
                        self.refuse_wait(wait, Refusal::LockTimeout, outputs);
                    }
                }
                WaitAlarm::Probe(wait) => {
                    if self.waits_for_ever(wait) {
                        self.refuse_wait(wait, Refusal::ReplicaLost, outputs);
                    } else if let Some(waiting) = self.waits.get_mut(&wait) {
                        waiting.probe_rounds += 1;
                        let pause = probe_pause(waiting.probe_rounds);
                        self.alarms.register(now.monotonic + pause, WaitAlarm::Probe(wait));
                        self.send_probes(wait, outputs);
                        probes_left -= 1;
                    }
                }
            }
        }
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
