//! Reads that came by signal: committed ones, ones that see a transaction's own staged rows, and locking ones.
//!
//! Invariants: a primary never answers from a version older than a prepared one: it waits for the outcome (several
//! primaries); a backup says `Undecided` and the session asks the primary. A one-primary commit in flight is *staged*
//! at its primary, so the primary answers what it has published. A locking read locks first and reads the newest
//! version then. A committed read begins only while this node may read (`protocol::lease`); the session tries again
//! else.
//!
//! A session on the primary's node that offers to (`ReadRequest::grant_only`) reads the rows it has locked itself. It
//! hears which keys it holds. The filter runs here, because a row that does not match keeps no lock. The offer ends
//! where the wait of a request moves to another primary: that one begins again at the first key, and answers with
//! rows.

use super::lock_wait::{Run, implicit_owner_of, timeout_of};
use super::transaction::Operation;
use super::{Slot, Slots};
use crate::ldm::Context;
use crate::ldm::{Job, Work};
use crate::locks::{self, LockKey};
use crate::mutants::{self, Mutant};
use protocol::program::{
    Access, BATCH_BYTES_MAX, BATCH_ROWS_MAX, LockMode, LockWait, ReadProgress, Refusal, RowBatch,
};
use protocol::signal::{Granted, HandedWait, ReadBatch, ReadDone, ReadRequest, RequestId};
use protocol::{Address, Budget, Signal};
use query::batch::BatchShape;
use query::{Raised, ReadRun, ReadStep, RowBatchWriter, Warnings, passes_filter, read_row};
use std::sync::Arc;
use storage::{VersionState, Visibility};
use types::{NodeId, TransactionId};

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
    answer: LockedAnswer,
    warnings: Warnings,
    /// It waited for the next key's lock, and its turn has come.
    pub(in crate::ldm) is_first: bool,
    /// It waited in front of the table, or for it as a whole, and its turn has come.
    pub(in crate::ldm) is_let_in: bool,
}

/// The keys of a locking read up to now, for its session.
enum LockedAnswer {
    /// Their rows.
    Rows(RowBatch),
    /// The session reads their rows, but for those at these positions.
    Grants(Vec<u32>),
}

/// The next key of a locking read.
enum Met {
    /// This lock keeps the read from it.
    InTheWay(LockKey),
    /// No row has it.
    Absent,
    /// Its row does not match.
    Passed,
    /// Its row matches, and the session reads it.
    Granted,
    /// Its row matches, and here it is.
    Row(RowBatch),
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
    /// It came to this node's primary.
    fn new(from: Address, request: Box<ReadRequest>, node: NodeId) -> Self {
        let answer = if request.grant_only && from.node == node {
            LockedAnswer::Grants(Vec::new())
        } else {
            LockedAnswer::Rows(RowBatch::default())
        };
        Self::at(from, request, 0, answer)
    }

    fn at(from: Address, request: Box<ReadRequest>, next: usize, answer: LockedAnswer) -> Self {
        let warnings = Warnings::default();
        Self { from, request, next, answer, warnings, is_first: false, is_let_in: false }
    }

    /// Whether its answer has no room for another row, or it took long enough.
    fn is_full(&self) -> bool {
        let is_full = match &self.answer {
            LockedAnswer::Rows(batch) => {
                batch.count as usize >= BATCH_ROWS_MAX || batch.bytes.len() >= BATCH_BYTES_MAX
            }
            LockedAnswer::Grants(_) => self.next >= BATCH_ROWS_MAX,
        };
        is_full || self.warnings.is_much_text()
    }

    /// There is nothing to read of the next key.
    fn pass_over(&mut self) {
        if let LockedAnswer::Grants(omitted) = &mut self.answer {
            omitted.push(u32::try_from(self.next).unwrap_or(u32::MAX));
        }
        self.next += 1;
    }

    /// The row of the next key.
    fn add(&mut self, row: &RowBatch) {
        if let LockedAnswer::Rows(batch) = &mut self.answer {
            batch.count += row.count;
            batch.bytes.extend_from_slice(&row.bytes);
        }
        self.next += 1;
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
        let (next, rows, raised) = match &self.answer {
            LockedAnswer::Rows(batch) => (self.next, batch.clone(), self.warnings.clone().take_raised()),
            // It reads all keys again: those before the next one are locked already.
            LockedAnswer::Grants(_) => (0, RowBatch::default(), None),
        };
        HandedWait::Read {
            from: self.from,
            request: self.request.clone(),
            next: u32::try_from(next).unwrap_or(u32::MAX),
            rows,
            raised,
        }
    }

    /// Bytes of that, roughly: what a client can make large is counted.
    pub(in crate::ldm) fn handed_size(&self) -> usize {
        let request = &self.request;
        let rows = match &self.answer {
            LockedAnswer::Rows(batch) => batch.bytes.len(),
            LockedAnswer::Grants(_) => 0,
        };
        request.program.wire_size() + request.access.wire_size() + rows
    }

    /// A request that another primary had begun.
    pub(in crate::ldm) fn taken(
        from: Address,
        request: Box<ReadRequest>,
        next: u32,
        batch: RowBatch,
        raised: Option<Box<Raised>>,
    ) -> Self {
        let read = Self::at(from, request, next as usize, LockedAnswer::Rows(batch));
        if let Some(raised) = raised {
            read.warnings.absorb(*raised);
        }
        read
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
            return self.run_locked_read(LockedRead::new(from, request, context.address.node), context);
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
        let batch = ReadBatch { rows: read.writer.finish(), progress, operations, raised, granted: None };
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
            let met = self.meet(&mut read, &lock, transaction, mode, context);
            let in_the_way = match met.and_then(|met| self.take(met, &mut read, lock, mode, context)) {
                Ok(None) => continue,
                Ok(Some(in_the_way)) => in_the_way,
                Err(refusal) => return context.refuse_read(read.from, &read.request, refusal),
            };
            match (wait, timeout_of(wait)) {
                (LockWait::SkipLocked, _) => {
                    context.count_not_waited(&in_the_way, mode);
                    read.pass_over();
                }
                (_, Ok(timeout_ms)) => {
                    return self.wait_for_lock(in_the_way, mode, timeout_ms, Run::Read(read), context);
                }
                (_, Err(refusal)) => {
                    context.count_not_waited(&in_the_way, mode);
                    return context.refuse_read(read.from, &read.request, refusal);
                }
            }
        }
        self.answer_locked_read(read, transaction, context);
    }

    /// Looks at the next key: at what keeps the read from it, on the table or on the key itself, else at its newest
    /// version.
    fn meet(
        &self,
        read: &mut LockedRead,
        lock: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        context: &mut Context<'_>,
    ) -> Result<Met, Refusal> {
        let place = locks::Place::taken(&mut read.is_first);
        if place == locks::Place::Last
            && let Some(tally) = context.lock_tally(lock, mode)
        {
            tally.requests += 1;
        }
        let fragment = context.fragments.get(&(lock.table, lock.slot)).ok_or(Refusal::WrongSchema)?;
        let at_table = locks::Place::taken(&mut read.is_let_in);
        if lock.is_whole() {
            let is_taken = self.is_table_taken(lock, transaction, mode, at_table, context);
            return Ok(if is_taken { Met::InTheWay(lock.clone()) } else { Met::Absent });
        }
        let transactions = (transaction, read.request.under);
        if let Some(closed) = self.closed_table(lock.table, transactions, mode, at_table, context) {
            return Ok(Met::InTheWay(closed));
        }
        let newest = fragment.newest(&lock.key);
        let owner = newest.state.and_then(implicit_owner_of);
        if context.locks.is_blocked(lock, transaction, mode, owner, place) {
            let is_grant = matches!(read.answer, LockedAnswer::Grants(_));
            if mutants::is(Mutant::GrantReadBeforeLock) && is_grant && newest.row.is_some() {
                return Ok(Met::Granted);
            }
            return Ok(Met::InTheWay(lock.clone()));
        }
        let Some(row) = newest.row else { return Ok(Met::Absent) };
        let info = context.map.table(lock.table).ok_or(Refusal::WrongSchema)?;
        let (program, warnings) = (&read.request.program, &read.warnings);
        let met = match &read.answer {
            LockedAnswer::Grants(_) => {
                let matches = passes_filter(program, info, row, warnings);
                matches.map(|matches| if matches { Met::Granted } else { Met::Passed })
            }
            LockedAnswer::Rows(_) => {
                let batch = read_row(program, info, &lock.key, row, warnings);
                batch.map(|batch| if batch.count > 0 { Met::Row(batch) } else { Met::Passed })
            }
        };
        met.map_err(Refusal::Error)
    }

    /// Goes on to the key behind this one, and keeps its lock unless its row does not match. An absent key stays locked
    /// too, so that nobody inserts it. Gives what is in the way.
    fn take(
        &mut self,
        met: Met,
        read: &mut LockedRead,
        lock: LockKey,
        mode: LockMode,
        context: &mut Context<'_>,
    ) -> Result<Option<LockKey>, Refusal> {
        let transaction = read.request.transaction.unwrap_or_default();
        match met {
            Met::InTheWay(in_the_way) => return Ok(Some(in_the_way)),
            Met::Passed => read.pass_over(),
            Met::Absent => {
                self.keep_lock(lock, transaction, mode, read.from, context)?;
                read.pass_over();
            }
            Met::Granted => {
                self.keep_lock(lock, transaction, mode, read.from, context)?;
                read.next += 1;
            }
            Met::Row(row) => {
                self.keep_lock(lock, transaction, mode, read.from, context)?;
                read.add(&row);
            }
        }
        Ok(None)
    }

    fn answer_locked_read(&self, read: LockedRead, transaction: TransactionId, context: &mut Context<'_>) {
        let is_end = matches!(&read.request.access, Access::Keys(keys) if read.next >= keys.len());
        let position = u32::try_from(read.next).unwrap_or(u32::MAX);
        let progress = if is_end { ReadProgress::End } else { ReadProgress::More { after: None, position } };
        let operations = self.operation_count(transaction);
        let raised = read.warnings.take_raised();
        let (rows, granted) = match read.answer {
            LockedAnswer::Rows(batch) => (batch, None),
            LockedAnswer::Grants(omitted) => {
                (RowBatch::default(), Some(Granted { view: context.map.view.number, omitted }))
            }
        };
        let batch = ReadBatch { rows, progress, operations, raised, granted };
        let done = ReadDone { request: read.request.request, result: Ok(batch) };
        context.send(read.from, Signal::ReadDone(Box::new(done)));
    }

    /// The transaction holds an explicit lock until its end, or until the statement is undone.
    pub(super) fn keep_lock(
        &mut self,
        lock: LockKey,
        transaction: TransactionId,
        mode: LockMode,
        session: Address,
        context: &mut Context<'_>,
    ) -> Result<(), Refusal> {
        let is_held = context.locks.is_held(&lock, transaction);
        if !is_held {
            context.charge_operation()?;
        }
        if !mutants::is(Mutant::LockForgotten) {
            context.locks.hold(&lock, transaction, mode);
        }
        if !is_held {
            self.held_mut(transaction, session).operations.push(Operation::Locked(lock));
        }
        Ok(())
    }
}
