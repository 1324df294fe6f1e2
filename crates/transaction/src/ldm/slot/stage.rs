//! Staging: what INSERT, UPDATE and DELETE do at the primary while statements run.
//!
//! A request's operations run in order; each locks its row (implicitly, by staging on it), reads the newest version,
//! evaluates, stages. At a lock the whole request waits and goes on there; so it does for a moment if DataMemory is
//! full and some of it is coming back. Before that it waits while the redo log is full, for RedoWaitTimeout at most. A
//! failure leaves what is staged: the session undoes its statement, except when the request carries its commit: then
//! this participant is the only one and undoes it here.

use super::Slot;
use super::commit::Reply;
use super::lock_wait::{Run, timeout_of};
use super::transaction::{Held, HeldStage, OPERATION_COST, Operation};
use crate::ldm::{Context, region_full};
use crate::locks::{self, LockKey, Locks};
use crate::mutants::{self, Mutant};
use memory::RegionFull;
use protocol::program::{LockMode, LockWait, OperationResult, Refusal, Results, WriteOperation};
use protocol::redo_room::{REDO_LOG, Room};
use protocol::signal::{HandedWait, Spent, WriteDone, WriteFailure, WriteRequest, WriteSummary};
use protocol::{Address, Signal, SqlError};
use query::{Raised, RowChange, Warnings, evaluate_operation};
use stdx::Instant;
use storage::{Fragment, RowHandle, VersionState};
use types::{TableId, TransactionId};

/// Bytes of a key from another node at most: far more than any index allows.
const KEY_SIZE_MAX: usize = 64 << 10;

/// A write request on its way.
pub(in crate::ldm) struct WriteRun {
    pub(in crate::ldm) from: Address,
    pub(in crate::ldm) request: Box<WriteRequest>,
    results: Results,
    warnings: Warnings,
    /// It waited for the next row's lock, and its turn has come.
    pub(in crate::ldm) is_first: bool,
    /// It waited in front of the table, and its turn has come.
    pub(in crate::ldm) is_let_in: bool,
    /// It began at another primary: even a session of this node may have to ask what became of it.
    was_handed: bool,
    /// It has found DataMemory full, and waits no longer than this.
    pub(in crate::ldm) waits_for_memory_until: Option<Instant>,
    /// It has found the redo log full, and waits no longer than this.
    waits_for_room_until: Option<Instant>,
}

impl WriteRun {
    pub(in crate::ldm) fn new(from: Address, request: Box<WriteRequest>) -> Self {
        let results = Results::with_capacity(request.operations.len());
        Self {
            from,
            request,
            results,
            warnings: Warnings::default(),
            is_first: false,
            is_let_in: false,
            was_handed: false,
            waits_for_memory_until: None,
            waits_for_room_until: None,
        }
    }

    /// The operation at which it stands.
    pub(in crate::ldm) fn operation(&self) -> Option<&WriteOperation> {
        self.request.operations.get(self.results.len())
    }

    /// The answer if it cannot be done.
    pub(in crate::ldm) fn refused(&self, refusal: Refusal) -> Signal {
        let operation = u32::try_from(self.results.len()).unwrap_or(u32::MAX);
        let failure = WriteFailure { operation, refusal };
        Signal::WriteDone(Box::new(WriteDone::new(self.request.request, Err(failure))))
    }

    /// As it travels to another primary.
    pub(in crate::ldm) fn handed(&self) -> HandedWait {
        HandedWait::Write {
            from: self.from,
            request: self.request.clone(),
            results: self.results.clone(),
            raised: self.warnings.clone().take_raised(),
        }
    }

    /// Bytes of that, roughly: what a client can make large is counted.
    pub(in crate::ldm) fn handed_size(&self) -> usize {
        let operations = self.request.operations.iter().map(WriteOperation::wire_size);
        operations.sum::<usize>() + self.results.len()
    }

    /// A request that another primary had begun.
    pub(in crate::ldm) fn taken(
        from: Address,
        request: Box<WriteRequest>,
        results: Results,
        raised: Option<Box<Raised>>,
    ) -> Self {
        let run = Self { results, was_handed: true, ..Self::new(from, request) };
        if let Some(raised) = raised {
            run.warnings.absorb(*raised);
        }
        run
    }
}

impl Context<'_> {
    /// Rows from another node must be rows before anybody looks at them.
    pub(in crate::ldm) fn check_rows(&self, request: &WriteRequest) -> Result<(), Refusal> {
        for operation in &request.operations {
            self.check_row(request.table.id, operation.key(), operation.row())?;
        }
        Ok(())
    }

    /// The same for one; a key without a row must only be short enough.
    pub(in crate::ldm) fn check_row(
        &self,
        table: TableId,
        key: &[u8],
        row: Option<&[u8]>,
    ) -> Result<(), Refusal> {
        let accepts = |row| self.map.table(table).is_none_or(|info| info.accepts(key, row));
        if key.len() <= KEY_SIZE_MAX && row.is_none_or(accepts) {
            return Ok(());
        }
        Err(Refusal::Error(SqlError::new(1815, "Internal error: a row from another node is malformed")))
    }
}

impl Slot {
    pub(super) fn on_write(&mut self, from: Address, request: Box<WriteRequest>, context: &mut Context<'_>) {
        if from.node != context.address.node
            && let Err(refusal) = context.check_rows(&request)
        {
            return self.refuse_write(WriteRun::new(from, request), refusal, context);
        }
        self.run_write(WriteRun::new(from, request), context);
    }

    /// Runs a request from the operation where it stands.
    pub(in crate::ldm) fn run_write(&mut self, mut run: WriteRun, context: &mut Context<'_>) {
        if run.results.is_empty() && self.is_elsewhere() {
            return self.send_back(run.from, Signal::Write(run.request), context);
        }
        if let Err(refusal) = self.check_write(&run, context) {
            return self.refuse_write(run, refusal, context);
        }
        match context.redo.room_for(&run.request) {
            Room::Free => run.waits_for_room_until = None,
            Room::Awaited => return self.pause_write(run, context),
            Room::Full => return self.wait_for_room(run, context),
        }
        while run.results.len() < run.request.operations.len() {
            let place = locks::Place::taken(&mut run.is_first);
            let at_table = locks::Place::taken(&mut run.is_let_in);
            match self.run_operation(&run, place, at_table, context) {
                Ok(result) => {
                    run.results.push(result);
                    if run.warnings.is_much_text() && run.results.len() < run.request.operations.len() {
                        // Its functions took long: others have their turn, then it goes on.
                        let _ = run.warnings.take_text_work();
                        return self.pause_write(run, context);
                    }
                }
                Err(Stop::Refused(refusal)) => return self.refuse_write(run, refusal, context),
                Err(Stop::Full(refusal)) => {
                    if !context.reclaim.is_memory_coming(&mut run, context.now) {
                        return self.refuse_write(run, refusal, context);
                    }
                    run.is_first = place == locks::Place::First;
                    return self.pause_write(run, context);
                }
                Err(Stop::Locked(key)) => match (run.request.wait, timeout_of(run.request.wait)) {
                    (LockWait::SkipLocked, _) => {
                        context.count_not_waited(&key, LockMode::Exclusive);
                        run.results.push(OperationResult::NotMatched);
                    }
                    (_, Ok(timeout_ms)) => {
                        let run = Run::Write(run);
                        return self.wait_for_lock(key, LockMode::Exclusive, timeout_ms, run, context);
                    }
                    (_, Err(refusal)) => {
                        context.count_not_waited(&key, LockMode::Exclusive);
                        return self.refuse_write(run, refusal, context);
                    }
                },
            }
        }
        self.finish_write(run, context);
    }

    /// A write goes on a moment later, if its transaction is still what it was.
    fn pause_write(&self, mut run: WriteRun, context: &mut Context<'_>) {
        run.request.known = run.request.known.max(self.operation_count(run.request.transaction));
        context.reclaim.pause(run, context.waits, context.now);
    }

    /// The redo log is full: a checkpoint makes room soon, or the write is refused. Nothing of it has a stamp yet, so
    /// that it holds up no epoch, and no checkpoint that waits for one.
    #[cold]
    fn wait_for_room(&mut self, mut run: WriteRun, context: &mut Context<'_>) {
        let now = context.now.monotonic;
        let until = *run.waits_for_room_until.get_or_insert(now + context.redo.wait_max());
        if now < until {
            return self.pause_write(run, context);
        }
        self.refuse_write(run, Refusal::RegionFull { region: REDO_LOG.to_owned() }, context);
    }

    /// Whether this primary may run a request now.
    fn check_write(&self, run: &WriteRun, context: &Context<'_>) -> Result<(), Refusal> {
        let transaction = run.request.transaction;
        self.check_primary()?;
        let held = self.held.get(&transaction);
        check_count(held, run.request.known)?;
        context.check_schema(run.request.table, self.id)?;
        // Whether it still takes operations here.
        if held.is_some_and(|held| held.stage != HeldStage::Open) {
            return Err(Refusal::AlreadyEnding);
        }
        self.check_session(run.from, transaction, context)?;
        context.check_lease()
    }

    /// A session of a lost node takes no locks: nobody would ever give them back.
    pub(super) fn check_session(
        &self,
        session: Address,
        transaction: TransactionId,
        context: &Context<'_>,
    ) -> Result<(), Refusal> {
        let is_void = || self.void.get(&session.node).is_some_and(|void| void.contains(&transaction));
        if context.is_out(session.node) || is_void() { Err(Refusal::WrongView) } else { Ok(()) }
    }

    /// A transaction some of whose operations are lost (another primary had them and died, or a broken connection
    /// undid them) must not go on without them.
    pub(super) fn check_known(&self, transaction: TransactionId, known: u32) -> Result<(), Refusal> {
        check_count(self.held.get(&transaction), known)
    }

    fn finish_write(&mut self, run: WriteRun, context: &mut Context<'_>) {
        let transaction = run.request.transaction;
        let (operations, raised) = (self.operation_count(transaction), run.warnings.take_raised());
        let WriteRun { from, request, results, was_handed, .. } = run;
        let (number, commit) = (request.request, request.commit);
        let spent = Spent::of(request, from.node, context.address.node);
        if let Some(epoch_seen) = commit {
            let done = (results, raised);
            let reply = Reply::Write { to: from, request: number, done, operations, was_handed, spent };
            return self.commit_with_write(transaction, reply, epoch_seen, context);
        }
        let summary = WriteSummary { results, operations, committed: None, raised };
        let done = WriteDone { request: number, result: Ok(summary), spent };
        context.send(from, Signal::WriteDone(Box::new(done)));
    }

    /// Answers a request that cannot be done.
    pub(in crate::ldm) fn refuse_write(
        &mut self,
        run: WriteRun,
        refusal: Refusal,
        context: &mut Context<'_>,
    ) {
        let done = run.refused(refusal);
        if run.request.commit.is_some() {
            self.undo_then(run.request.transaction, Some((run.from, done)), context);
        } else {
            context.send(run.from, done);
        }
    }

    /// Locks, evaluates and stages the request's next operation.
    fn run_operation(
        &mut self,
        run: &WriteRun,
        place: locks::Place,
        at_table: locks::Place,
        context: &mut Context<'_>,
    ) -> Result<OperationResult, Stop> {
        let request = &run.request;
        let operation = &request.operations[run.results.len()];
        let key = operation.key();
        let (table, slot) = (request.table.id, self.id);
        let transactions = (request.transaction, request.under);
        let exclusive = LockMode::Exclusive;
        if let Some(table) = self.closed_table(table, transactions, exclusive, at_table, context) {
            return Err(Stop::Locked(table));
        }
        let fragment =
            context.fragments.get_mut(&(table, slot)).ok_or(Stop::Refused(Refusal::WrongSchema))?;
        let info = context.map.table(table).ok_or(Stop::Refused(Refusal::WrongSchema))?;
        fragment.tally.exclusive.requests += u64::from(place == locks::Place::Last);
        let newest = fragment.newest(key);
        let owner = match newest.state {
            Some(VersionState::Staged(owner) | VersionState::Prepared(owner)) => Some(owner),
            Some(VersionState::Committed(_)) | None => None,
        };
        // The usual case: nobody holds an explicit lock here, and the newest version is committed or our own.
        let is_free = owner.is_none_or(|owner| owner == request.transaction);
        if !is_free || !context.locks.is_empty() {
            let lock = LockKey { slot, table, key: key.into() };
            if is_in_the_way(&lock, request.transaction, owner, place, context.locks) {
                return Err(Stop::Locked(lock));
            }
        }
        match evaluate_operation(operation, newest.row, info, &run.warnings).map_err(Stop::Refused)? {
            RowChange::None(result) => {
                // A row that keeps its values is locked until the transaction ends, as if it had changed.
                let is_locked = result == OperationResult::Unchanged && request.commit.is_none();
                if is_locked && owner.is_none() {
                    let lock = LockKey { slot, table, key: key.into() };
                    self.keep_lock(lock, request.transaction, exclusive, run.from, context)
                        .map_err(Stop::Refused)?;
                }
                Ok(result)
            }
            RowChange::Stage(result, row) => {
                let row = row.as_deref();
                let charged = context.transaction_memory.charge(OPERATION_COST);
                charged.map_err(|full| Stop::Refused(region_full(&full)))?;
                let mut staged = stage(fragment, key, request.transaction, row, &result);
                if staged.is_err() {
                    context.reclaim.free_at_once(context.fragments);
                    if let Some(fragment) = context.fragments.get_mut(&(table, slot)) {
                        staged = stage(fragment, key, request.transaction, row, &result);
                    }
                }
                let Ok(handle) = staged else {
                    context.release_operation();
                    return Err(Stop::Full(Refusal::RegionFull { region: "DataMemory".to_owned() }));
                };
                let (version, is_first) = (request.table.version, owner.is_none());
                let held = self.held_mut(request.transaction, run.from);
                held.note_change(request.table, is_first, row.map_or(0, <[u8]>::len));
                held.operations.push(Operation::Staged { table, version, row: handle, is_first });
                Ok(result)
            }
        }
    }
}

fn check_count(held: Option<&Held>, known: u32) -> Result<(), Refusal> {
    if mutants::is(Mutant::LostOperationsUnnoticed) {
        return Ok(());
    }
    let count = held.map_or(0, |held| held.operations.len());
    if count < known as usize { Err(Refusal::NotHeld) } else { Ok(()) }
}

/// Whether somebody keeps a transaction from a row whose newest version has this owner.
fn is_in_the_way(
    lock: &LockKey,
    transaction: TransactionId,
    owner: Option<TransactionId>,
    place: locks::Place,
    locks: &Locks,
) -> bool {
    if mutants::is(Mutant::StagedOwnerIgnored) {
        return false;
    }
    locks.is_blocked(lock, transaction, LockMode::Exclusive, owner, place)
}

/// Why an operation did not run.
enum Stop {
    Refused(Refusal),
    /// DataMemory is full; the refusal says so.
    Full(Refusal),
    Locked(LockKey),
}

/// Stages a row at its primary, and counts it.
#[inline]
fn stage(
    fragment: &mut Fragment,
    key: &[u8],
    transaction: TransactionId,
    row: Option<&[u8]>,
    result: &OperationResult,
) -> Result<RowHandle, RegionFull> {
    let handle = fragment.stage(key, transaction, row)?;
    let tally = &mut fragment.tally;
    match result {
        OperationResult::Inserted => tally.inserts += 1,
        OperationResult::Updated => tally.updates += 1,
        OperationResult::Deleted => tally.deletes += 1,
        OperationResult::Replaced
        | OperationResult::Stored
        | OperationResult::Duplicate
        | OperationResult::NotMatched
        | OperationResult::Unchanged => tally.writes += 1,
    }
    Ok(handle)
}
