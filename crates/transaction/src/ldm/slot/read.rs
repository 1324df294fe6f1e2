//! Reads that came by signal: committed ones, ones that see a transaction's own staged rows, and locking ones.
//!
//! Invariants: a primary never answers from a version older than a prepared one: it waits for the outcome (several primaries); a backup says
//! `Undecided` and the session asks the primary. A one-primary commit in flight is *staged* at its primary, so the primary answers what it
//! has published. A locking read locks first and reads the newest version then. A committed read begins only while this node may read
//! (`protocol::lease`); the session tries again else.

use crate::ldm::slot::lock_wait::{Run, timeout_of};
use crate::ldm::slot::transaction::Operation;
use crate::ldm::{Job, Ldm};
use crate::locks::{self, LockKey};
use crate::mutants::{self, Mutant};
use protocol::program::{
    Access, BATCH_BYTES_MAX, BATCH_ROWS_MAX, LockMode, LockWait, ReadProgress, Refusal, RowBatch,
};
use protocol::signal::{HandedWait, ReadBatch, ReadDone, ReadRequest, RequestId};
use protocol::{Address, Budget, Outputs, Signal};
use query::batch::BatchShape;
use query::{Raised, Warnings};
use query::{ReadRun, ReadStep, RowBatchWriter, Shared, read_row};
use std::sync::Arc;
use stdx::Now;
use storage::{VersionState, Visibility};
use types::{SlotId, TransactionId};

/// A read in progress.
pub(in crate::ldm) struct PendingRead {
    from: Address,
    request: Box<ReadRequest>,
    run: ReadRun,
    writer: RowBatchWriter,
}

/// A locking read of keys in progress.
pub(in crate::ldm) struct LockedRead {
    pub(in crate::ldm) from: Address,
    pub(in crate::ldm) request: Box<ReadRequest>,
    next: usize,
    batch: RowBatch,
    warnings: Warnings,
    /// It waited for the next key's lock, and its turn has come.
    pub(in crate::ldm) is_first: bool,
    /// It waited in front of the table, or for it as a whole, and its turn has come.
    pub(in crate::ldm) is_let_in: bool,
}

impl LockedRead {
    /// How it locks a table as a whole, if that is what it locks next.
    pub(in crate::ldm) fn table_mode(&self) -> Option<LockMode> {
        let Access::Keys(keys) = &self.request.access else { return None };
        let is_next = keys.get(self.next).is_some_and(|key| key.is_empty());
        self.request.lock.filter(|_| is_next).map(|(mode, _)| mode)
    }

    /// As it travels to another primary.
    pub(in crate::ldm) fn handed(&self) -> HandedWait {
        HandedWait::Read {
            from: self.from,
            request: self.request.clone(),
            next: u32::try_from(self.next).unwrap_or(u32::MAX),
            rows: self.batch.clone(),
            raised: self.warnings.clone().take_raised(),
        }
    }

    /// Bytes of that, roughly: what a client can make large is counted.
    pub(in crate::ldm) fn handed_size(&self) -> usize {
        let request = &self.request;
        request.program.wire_size() + request.access.wire_size() + self.batch.bytes.len()
    }

    /// What another primary had begun.
    pub(in crate::ldm) fn taken(
        from: Address,
        request: Box<ReadRequest>,
        next: u32,
        batch: RowBatch,
        raised: Option<Box<Raised>>,
    ) -> Self {
        let warnings = Warnings::default();
        if let Some(raised) = raised {
            warnings.absorb(*raised);
        }
        Self { from, request, next: next as usize, batch, warnings, is_first: false, is_let_in: false }
    }
}

impl Ldm {
    pub(in crate::ldm) fn on_read(
        &mut self,
        now: Now,
        from: Address,
        request: Box<ReadRequest>,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let is_known = self.slot(request.slot).is_some();
        let needs_primary = request.transaction.is_some() || request.lock.is_some();
        if needs_primary && self.is_elsewhere(request.slot) {
            return self.send_back(from, Signal::Read(request), outputs);
        }
        let checked = if request.lock.is_some() {
            self.check_primary(request.slot)
        } else if needs_primary && !self.is_primary(request.slot)
            || !is_known
            || !self.map.may_read(now.monotonic)
        {
            Err(Refusal::WrongView)
        } else {
            Ok(())
        };
        let checked = checked.and_then(|()| self.check_schema(request.program.table, request.slot));
        let own = request.transaction.filter(|_| request.lock.is_none());
        let place = own.map(|transaction| (transaction, request.slot));
        let checked =
            checked.and_then(|()| place.map_or(Ok(()), |place| self.check_known(place, request.known)));
        if let Err(refusal) = checked {
            return self.refuse_read(from, &request, refusal, outputs);
        }
        if request.lock.is_some() {
            let (batch, warnings) = (RowBatch::default(), Warnings::default());
            let run =
                LockedRead { from, request, next: 0, batch, warnings, is_first: false, is_let_in: false };
            return self.run_locked_read(now, run, outputs);
        }
        let run = ReadRun::new(Arc::clone(&request.program), request.access.clone());
        let writer = RowBatchWriter::new(BatchShape::of(&request.program));
        self.step_read(PendingRead { from, request, run, writer }, budget, outputs);
    }

    pub(in crate::ldm) fn is_primary(&self, slot: SlotId) -> bool {
        self.slot(slot).is_some_and(|state| state.is_primary)
    }

    pub(in crate::ldm) fn refuse_read(
        &self,
        from: Address,
        request: &ReadRequest,
        refusal: Refusal,
        outputs: &mut Outputs<Shared>,
    ) {
        let done = ReadDone { request: request.request, result: Err(refusal) };
        outputs.send(self.address, from, Signal::ReadDone(Box::new(done)));
    }

    /// Goes on with a read until its batch is full or it must wait.
    pub(in crate::ldm) fn step_read(
        &mut self,
        mut read: PendingRead,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let table = read.request.program.table.id;
        let slot = read.request.slot;
        if read.request.transaction.is_some() && !self.is_primary(slot) {
            // Its transaction went on to another primary.
            return self.refuse_read(read.from, &read.request, Refusal::WrongView, outputs);
        }
        let (Some(fragment), Some(info)) = (self.fragments.get(&(table, slot)), self.map.table(table)) else {
            return self.refuse_read(read.from, &read.request, Refusal::WrongSchema, outputs);
        };
        let own = read.request.transaction.filter(|_| !mutants::is(Mutant::OwnWritesUnseen));
        let visibility = own.map_or(Visibility::Committed, Visibility::Transaction);
        let reader = fragment.reader();
        let step = match read.run.step(info, &reader, visibility, budget, &mut read.writer) {
            Ok(step) => step,
            Err(error) => return self.refuse_read(read.from, &read.request, Refusal::Error(error), outputs),
        };
        match step {
            ReadStep::Spent => self.later(Job::Read(Box::new(read)), outputs),
            ReadStep::Undecided { primary_key, index_key } if self.is_primary(slot) => {
                let Some(VersionState::Prepared(owner)) = fragment.newest(&primary_key).state else {
                    // Decided in the meantime, or covered by this transaction's own staged version: look again.
                    read.run.look_again(&index_key);
                    return self.later(Job::Read(Box::new(read)), outputs);
                };
                if self.has_lost_replicas() {
                    return self.refuse_read(read.from, &read.request, Refusal::ReplicaLost, outputs);
                }
                read.run.look_again(&index_key);
                self.outcome_waits.entry(owner).or_default().push(read);
            }
            ReadStep::End | ReadStep::Full | ReadStep::Undecided { .. } => {
                self.answer_read(read, step, outputs)
            }
        }
    }

    fn answer_read(&mut self, mut read: PendingRead, step: ReadStep, outputs: &mut Outputs<Shared>) {
        if let Err(error) = read.run.emit_groups(&mut read.writer) {
            return self.refuse_read(read.from, &read.request, Refusal::Error(error), outputs);
        }
        let operations = read
            .request
            .transaction
            .map_or(0, |transaction| self.operation_count((transaction, read.request.slot)));
        let progress = read.run.progress(step);
        let raised = read.run.take_raised();
        let batch = ReadBatch { rows: read.writer.finish(), progress, operations, raised };
        let done = ReadDone { request: read.request.request, result: Ok(batch) };
        outputs.send(self.address, read.from, Signal::ReadDone(Box::new(done)));
    }

    /// Nobody wants the rest of a read.
    pub(in crate::ldm) fn cancel_read(&mut self, from: Address, request: RequestId) {
        let is_other = |read: &PendingRead| read.from != from || read.request.request != request;
        self.jobs.retain(|_, job| match job {
            Job::Read(read) => is_other(read),
            Job::Publish(_)
            | Job::Mark(_)
            | Job::Undo(_)
            | Job::Backfill(_)
            | Job::Copy(_)
            | Job::Clear(_)
            | Job::Visit(_)
            | Job::Sweep(_)
            | Job::Look(_) => true,
        });
        for reads in self.outcome_waits.values_mut() {
            reads.retain(&is_other);
        }
    }

    /// An outcome is known: reads that waited for it go on.
    pub(in crate::ldm) fn wake_reads(&mut self, transaction: TransactionId, outputs: &mut Outputs<Shared>) {
        if self.outcome_waits.is_empty() {
            return;
        }
        for read in self.outcome_waits.remove(&transaction).unwrap_or_default() {
            self.later(Job::Read(Box::new(read)), outputs);
        }
    }

    /// The outcome of these transactions cannot be known any more: reads that wait for them hear an error.
    pub(in crate::ldm) fn fail_reads(&mut self, outputs: &mut Outputs<Shared>) {
        let mut owners: Vec<TransactionId> = self.outcome_waits.keys().copied().collect();
        owners.sort_unstable();
        for owner in owners {
            for read in self.outcome_waits.remove(&owner).unwrap_or_default() {
                self.later(Job::Read(Box::new(read)), outputs);
            }
        }
    }

    // ---- locking reads ------------------------------------------------------------------------------------------------------------

    /// Locks and reads the keys from where the read stands.
    pub(in crate::ldm) fn run_locked_read(
        &mut self,
        now: Now,
        mut read: LockedRead,
        outputs: &mut Outputs<Shared>,
    ) {
        let (Access::Keys(_), Some((mode, wait)), Some(transaction)) =
            (&read.request.access, read.request.lock, read.request.transaction)
        else {
            return self.refuse_read(read.from, &read.request, Refusal::WrongView, outputs);
        };
        let place = (transaction, read.request.slot);
        let checked = self.check_session(read.from, place);
        if let Err(refusal) = checked.and_then(|()| self.check_known(place, read.request.known)) {
            return self.refuse_locked_read(read, refusal, outputs);
        }
        loop {
            let Access::Keys(keys) = &read.request.access else { return };
            let Some(key) = keys.get(read.next) else { break };
            let is_full = read.batch.count as usize >= BATCH_ROWS_MAX
                || read.batch.bytes.len() >= BATCH_BYTES_MAX
                || read.warnings.is_much_text();
            if is_full {
                break;
            }
            let lock =
                LockKey { slot: read.request.slot, table: read.request.program.table.id, key: key.clone() };
            let place =
                if std::mem::take(&mut read.is_first) { locks::Place::First } else { locks::Place::Last };
            if place == locks::Place::Last
                && let Some(tally) = self.lock_tally(&lock, mode)
            {
                tally.requests += 1;
            }
            let at_table =
                if std::mem::take(&mut read.is_let_in) { locks::Place::First } else { locks::Place::Last };
            let transactions = (transaction, read.request.under);
            let in_the_way = if lock.is_whole() {
                self.is_table_taken(&lock, transaction, mode, at_table).then(|| lock.clone())
            } else if let Some(table) =
                self.closed_table((lock.table, lock.slot), transactions, mode, at_table)
            {
                Some(table)
            } else {
                self.is_blocked(&lock, transaction, mode, place).then(|| lock.clone())
            };
            let Some(in_the_way) = in_the_way else {
                if let Err(refusal) = self.lock_and_read(&mut read, &lock, transaction, mode) {
                    return self.refuse_locked_read(read, refusal, outputs);
                }
                read.next += 1;
                continue;
            };
            match (wait, timeout_of(wait)) {
                (LockWait::SkipLocked, _) => {
                    self.count_not_waited(&lock, mode);
                    read.next += 1;
                }
                (_, Ok(timeout_ms)) => {
                    let run = Run::Read(read);
                    return self.wait_for_lock(now, in_the_way, mode, timeout_ms, run, outputs);
                }
                (_, Err(refusal)) => {
                    self.count_not_waited(&lock, mode);
                    return self.refuse_locked_read(read, refusal, outputs);
                }
            }
        }
        let is_end = matches!(&read.request.access, Access::Keys(keys) if read.next >= keys.len());
        let position = u32::try_from(read.next).unwrap_or(u32::MAX);
        let progress = if is_end { ReadProgress::End } else { ReadProgress::More { after: None, position } };
        let operations = self.operation_count((transaction, read.request.slot));
        let raised = read.warnings.take_raised();
        let batch = ReadBatch { rows: read.batch, progress, operations, raised };
        let done = ReadDone { request: read.request.request, result: Ok(batch) };
        outputs.send(self.address, read.from, Signal::ReadDone(Box::new(done)));
    }

    pub(in crate::ldm) fn refuse_locked_read(
        &mut self,
        read: LockedRead,
        refusal: Refusal,
        outputs: &mut Outputs<Shared>,
    ) {
        self.refuse_read(read.from, &read.request, refusal, outputs);
    }

    /// Reads one key's newest version and keeps the lock if the row matches. An absent key stays locked too, so that nobody inserts it.
    fn lock_and_read(
        &mut self,
        read: &mut LockedRead,
        lock: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
    ) -> Result<(), Refusal> {
        let fragment = self.fragments.get(&(lock.table, lock.slot)).ok_or(Refusal::WrongSchema)?;
        let info = self.map.table(lock.table).ok_or(Refusal::WrongSchema)?;
        let newest = fragment.newest(&lock.key);
        let row = match newest.row {
            Some(row) => {
                let batch = read_row(&read.request.program, info, &lock.key, row, &read.warnings);
                Some(batch.map_err(Refusal::Error)?)
            }
            None => None,
        };
        if row.as_ref().is_some_and(|batch| batch.count == 0) {
            return Ok(());
        }
        self.keep_lock(lock, transaction, mode, read.from)?;
        if let Some(batch) = row {
            read.batch.count += batch.count;
            read.batch.bytes.extend_from_slice(&batch.bytes);
        }
        Ok(())
    }

    /// The transaction holds an explicit lock until its end, or until the statement is undone.
    pub(in crate::ldm) fn keep_lock(
        &mut self,
        lock: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        session: Address,
    ) -> Result<(), Refusal> {
        if !self.locks.is_held(lock, transaction) {
            self.charge_operation()?;
            let held = self.held_mut((transaction, lock.slot), session);
            held.operations.push(Operation::Locked(lock.clone()));
        }
        if !mutants::is(Mutant::LockForgotten) {
            self.locks.hold(lock, transaction, mode);
        }
        Ok(())
    }
}
