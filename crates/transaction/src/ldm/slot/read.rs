//! Reads that came by signal: committed ones, ones that see a transaction's own staged rows, and locking ones.
//!
//! Invariants: a primary never answers from a version older than a prepared one: it waits for the outcome (several
//! primaries); a backup says `Undecided` and the session asks the primary. A one-primary commit in flight is *staged*
//! at its primary, so the primary answers what it has published. A locking read locks first and reads the newest
//! version then. A committed read begins only while this node may read (`protocol::lease`); the session tries again
//! else.

use super::lock_wait::{Run, timeout_of};
use super::transaction::Operation;
use super::{Slot, Slots};
use crate::ldm::Context;
use crate::ldm::{Job, Work};
use crate::locks::{self, LockKey};
use crate::mutants::{self, Mutant};
use protocol::program::{
    Access, BATCH_BYTES_MAX, BATCH_ROWS_MAX, LockMode, LockWait, ReadProgress, Refusal, RowBatch,
};
use protocol::signal::{HandedWait, ReadBatch, ReadDone, ReadRequest, RequestId};
use protocol::{Address, Budget, Signal};
use query::batch::BatchShape;
use query::{Raised, ReadRun, ReadStep, RowBatchWriter, Warnings, read_row};
use std::sync::Arc;
use storage::{VersionState, Visibility};
use types::TransactionId;

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

impl PendingRead {
    /// The versions that it sees.
    fn visibility(&self) -> Visibility {
        if mutants::is(Mutant::OwnWritesUnseen) {
            return Visibility::Committed;
        }
        self.request.transaction.map_or(Visibility::Committed, Visibility::Transaction)
    }

    /// Whether it is this request of this module.
    pub(in crate::ldm) fn is(&self, from: Address, request: RequestId) -> bool {
        self.from == from && self.request.request == request
    }
}

impl LockedRead {
    fn new(from: Address, request: Box<ReadRequest>) -> Self {
        let (batch, warnings) = (RowBatch::default(), Warnings::default());
        Self { from, request, next: 0, batch, warnings, is_first: false, is_let_in: false }
    }

    /// Whether its answer has no room for another row, or it took long enough.
    fn is_full(&self) -> bool {
        self.batch.count as usize >= BATCH_ROWS_MAX
            || self.batch.bytes.len() >= BATCH_BYTES_MAX
            || self.warnings.is_much_text()
    }

    /// The key that it locks next: a row, or the table as a whole.
    fn next_lock(&self) -> Option<LockKey> {
        let Access::Keys(keys) = &self.request.access else { return None };
        let key = keys.get(self.next)?.clone();
        Some(LockKey { slot: self.request.slot, table: self.request.program.table.id, key })
    }

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

    /// A request that another primary had begun.
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

/// Nobody wants the rest of a read.
pub(in crate::ldm) fn cancel(
    from: Address,
    request: RequestId,
    slots: &mut Slots,
    context: &mut Context<'_>,
) {
    context.jobs.retain(|job| match job {
        Job::Slot(_, Work::Read(read)) => !read.is(from, request),
        Job::Slot(..) | Job::Backfill(_) | Job::CopyTurn | Job::Clear(_) | Job::Visit(_) | Job::Look(_) => {
            true
        }
    });
    for slot in slots.iter_mut() {
        for reads in slot.outcome_waits.values_mut() {
            reads.retain(|read| !read.is(from, request));
        }
    }
}

impl Context<'_> {
    pub(in crate::ldm) fn refuse_read(&mut self, from: Address, request: &ReadRequest, refusal: Refusal) {
        let done = ReadDone { request: request.request, result: Err(refusal) };
        self.send(from, Signal::ReadDone(Box::new(done)));
    }
}

impl Slot {
    pub(super) fn on_read(
        &mut self,
        from: Address,
        request: Box<ReadRequest>,
        budget: &mut Budget,
        context: &mut Context<'_>,
    ) {
        let needs_primary = request.transaction.is_some() || request.lock.is_some();
        if needs_primary && self.is_elsewhere() {
            return self.send_back(from, Signal::Read(request), context);
        }
        if let Err(refusal) = self.check_read(&request, context) {
            return context.refuse_read(from, &request, refusal);
        }
        if request.lock.is_some() {
            return self.run_locked_read(LockedRead::new(from, request), context);
        }
        let run = ReadRun::new(Arc::clone(&request.program), request.access.clone());
        let writer = RowBatchWriter::new(BatchShape::of(&request.program));
        self.step_read(PendingRead { from, request, run, writer }, budget, context);
    }

    fn check_read(&self, request: &ReadRequest, context: &Context<'_>) -> Result<(), Refusal> {
        if request.lock.is_some() {
            self.check_primary()?;
        } else if !context.map.may_read(context.now.monotonic) {
            return Err(Refusal::WrongView);
        }
        context.check_schema(request.program.table, self.id)?;
        match request.transaction {
            Some(transaction) if request.lock.is_none() => self.check_known(transaction, request.known),
            Some(_) | None => Ok(()),
        }
    }

    /// Goes on with a read until its batch is full or it must wait.
    pub(in crate::ldm) fn step_read(
        &mut self,
        mut read: PendingRead,
        budget: &mut Budget,
        context: &mut Context<'_>,
    ) {
        let table = read.request.program.table.id;
        if read.request.transaction.is_some() && self.is_elsewhere() {
            // Its transaction went on to another primary.
            return context.refuse_read(read.from, &read.request, Refusal::WrongView);
        }
        let found = context.fragments.get(&(table, self.id)).zip(context.map.table(table));
        let Some((fragment, info)) = found else {
            return context.refuse_read(read.from, &read.request, Refusal::WrongSchema);
        };
        let visibility = read.visibility();
        let reader = fragment.reader();
        let step = match read.run.step(info, &reader, visibility, budget, &mut read.writer) {
            Ok(step) => step,
            Err(error) => return context.refuse_read(read.from, &read.request, Refusal::Error(error)),
        };
        match step {
            ReadStep::Spent => self.later(Work::Read(Box::new(read)), context),
            ReadStep::Undecided { primary_key, index_key } if self.is_primary() => {
                let Some(VersionState::Prepared(owner)) = fragment.newest(&primary_key).state else {
                    // Decided in the meantime, or covered by this transaction's own staged version: look again.
                    read.run.look_again(&index_key);
                    return self.later(Work::Read(Box::new(read)), context);
                };
                if context.has_given_up_nodes() {
                    return context.refuse_read(read.from, &read.request, Refusal::ReplicaLost);
                }
                read.run.look_again(&index_key);
                self.outcome_waits.entry(owner).or_default().push(read);
            }
            ReadStep::End | ReadStep::Full | ReadStep::Undecided { .. } => {
                self.answer_read(read, step, context);
            }
        }
    }

    fn answer_read(&self, mut read: PendingRead, step: ReadStep, context: &mut Context<'_>) {
        read.run.emit_groups(&mut read.writer);
        let transaction = read.request.transaction;
        let operations = transaction.map_or(0, |transaction| self.operation_count(transaction));
        let progress = read.run.progress(step);
        let raised = read.run.take_raised();
        let batch = ReadBatch { rows: read.writer.finish(), progress, operations, raised };
        let done = ReadDone { request: read.request.request, result: Ok(batch) };
        context.send(read.from, Signal::ReadDone(Box::new(done)));
    }

    /// An outcome is known: reads that waited for it go on.
    #[inline]
    pub(super) fn wake_reads(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        if self.outcome_waits.is_empty() {
            return;
        }
        for read in self.outcome_waits.remove(&transaction).unwrap_or_default() {
            self.later(Work::Read(Box::new(read)), context);
        }
    }

    /// The outcome of these transactions cannot be known any more: reads that wait for them hear an error.
    pub(in crate::ldm) fn fail_reads(&mut self, context: &mut Context<'_>) {
        let mut waits: Vec<_> = self.outcome_waits.drain().collect();
        waits.sort_unstable_by_key(|(owner, _)| *owner);
        for read in waits.into_iter().flat_map(|(_, reads)| reads) {
            context.later(Job::Slot(self.id, Work::Read(Box::new(read))));
        }
    }

    // ---- locking reads -------------------------------------------------------------------------------------------

    /// Locks and reads the keys from where the read stands.
    pub(in crate::ldm) fn run_locked_read(&mut self, mut read: LockedRead, context: &mut Context<'_>) {
        let (Access::Keys(_), Some((mode, wait)), Some(transaction)) =
            (&read.request.access, read.request.lock, read.request.transaction)
        else {
            return context.refuse_read(read.from, &read.request, Refusal::WrongView);
        };
        let checked = self.check_session(read.from, transaction, context);
        if let Err(refusal) = checked.and_then(|()| self.check_known(transaction, read.request.known)) {
            return context.refuse_read(read.from, &read.request, refusal);
        }
        while let Some(lock) = read.next_lock().filter(|_| !read.is_full()) {
            let Some(in_the_way) = self.lock_in_the_way(&mut read, &lock, transaction, mode, context) else {
                if let Err(refusal) = self.lock_and_read(&mut read, &lock, transaction, mode, context) {
                    return context.refuse_read(read.from, &read.request, refusal);
                }
                read.next += 1;
                continue;
            };
            match (wait, timeout_of(wait)) {
                (LockWait::SkipLocked, _) => {
                    context.count_not_waited(&lock, mode);
                    read.next += 1;
                }
                (_, Ok(timeout_ms)) => {
                    return self.wait_for_lock(in_the_way, mode, timeout_ms, Run::Read(read), context);
                }
                (_, Err(refusal)) => {
                    context.count_not_waited(&lock, mode);
                    return context.refuse_read(read.from, &read.request, refusal);
                }
            }
        }
        self.answer_locked_read(read, transaction, context);
    }

    /// The lock that keeps a read from its next key: on the table, or on the key itself.
    fn lock_in_the_way(
        &self,
        read: &mut LockedRead,
        lock: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        context: &mut Context<'_>,
    ) -> Option<LockKey> {
        let place = locks::Place::taken(&mut read.is_first);
        if place == locks::Place::Last
            && let Some(tally) = context.lock_tally(lock, mode)
        {
            tally.requests += 1;
        }
        let at_table = locks::Place::taken(&mut read.is_let_in);
        if lock.is_whole() {
            let is_taken = self.is_table_taken(lock, transaction, mode, at_table, context);
            return is_taken.then(|| lock.clone());
        }
        let transactions = (transaction, read.request.under);
        let closed = self.closed_table(lock.table, transactions, mode, at_table, context);
        closed.or_else(|| context.is_blocked(lock, transaction, mode, place).then(|| lock.clone()))
    }

    fn answer_locked_read(&self, read: LockedRead, transaction: TransactionId, context: &mut Context<'_>) {
        let is_end = matches!(&read.request.access, Access::Keys(keys) if read.next >= keys.len());
        let position = u32::try_from(read.next).unwrap_or(u32::MAX);
        let progress = if is_end { ReadProgress::End } else { ReadProgress::More { after: None, position } };
        let operations = self.operation_count(transaction);
        let raised = read.warnings.take_raised();
        let batch = ReadBatch { rows: read.batch, progress, operations, raised };
        let done = ReadDone { request: read.request.request, result: Ok(batch) };
        context.send(read.from, Signal::ReadDone(Box::new(done)));
    }

    /// Reads one key's newest version and keeps the lock if the row matches. An absent key stays locked too, so that
    /// nobody inserts it.
    fn lock_and_read(
        &mut self,
        read: &mut LockedRead,
        lock: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        context: &mut Context<'_>,
    ) -> Result<(), Refusal> {
        let fragment = context.fragments.get(&(lock.table, lock.slot)).ok_or(Refusal::WrongSchema)?;
        let info = context.map.table(lock.table).ok_or(Refusal::WrongSchema)?;
        let row = match fragment.newest(&lock.key).row {
            Some(row) => {
                let batch = read_row(&read.request.program, info, &lock.key, row, &read.warnings);
                Some(batch.map_err(Refusal::Error)?)
            }
            None => None,
        };
        if row.as_ref().is_some_and(|batch| batch.count == 0) {
            return Ok(());
        }
        self.keep_lock(lock, transaction, mode, read.from, context)?;
        if let Some(batch) = row {
            read.batch.count += batch.count;
            read.batch.bytes.extend_from_slice(&batch.bytes);
        }
        Ok(())
    }

    /// The transaction holds an explicit lock until its end, or until the statement is undone.
    pub(super) fn keep_lock(
        &mut self,
        lock: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        session: Address,
        context: &mut Context<'_>,
    ) -> Result<(), Refusal> {
        if !context.locks.is_held(lock, transaction) {
            context.charge_operation()?;
            self.held_mut(transaction, session).operations.push(Operation::Locked(lock.clone()));
        }
        if mutants::is(Mutant::LockForgotten) {
            return Ok(());
        }
        context.locks.hold(lock, transaction, mode);
        Ok(())
    }
}
