//! Staging: what INSERT, UPDATE and DELETE do at the primary while statements run.
//!
//! A request's operations run in order; each locks its row (implicitly, by staging on it), reads the newest version, evaluates, stages. At
//! a lock the whole request waits and goes on there; so it does for a moment if DataMemory is full and some of it is coming back. A failure leaves what is staged: the session undoes its statement, except when the
//! request carries its commit: then this participant is the only one and undoes it here.

use crate::ldm::slot::commit::{Ending, Reply};
use crate::ldm::slot::lock_wait::{Run, timeout_of};
use crate::ldm::slot::transaction::{HeldStage, OPERATION_COST, Operation};
use crate::ldm::{Ldm, Place, region_full};
use crate::locks::{self, LockKey};
use crate::mutants::{self, Mutant};
use memory::RegionFull;
use protocol::program::{LockMode, LockWait, OnDuplicate, OperationResult, Refusal, WriteOperation};
use protocol::signal::{HandedWait, WriteDone, WriteFailure, WriteRequest, WriteSummary};
use protocol::{Address, Outputs, Signal, SqlError};
use query::{Evaluated, Shared, TableAccessInfo, delete_matches, evaluate_insert_conflict, evaluate_update};
use query::{Raised, Warnings};
use std::borrow::Cow;
use stdx::{Instant, Now};
use storage::{Fragment, RowHandle, VersionState};
use types::{TableId, TransactionId};

/// Bytes of a key from another node at most: far more than any index allows.
const KEY_SIZE_MAX: usize = 64 << 10;

/// A write request on its way.
pub(in crate::ldm) struct WriteRun {
    pub(in crate::ldm) from: Address,
    pub(in crate::ldm) request: Box<WriteRequest>,
    results: Vec<OperationResult>,
    warnings: Warnings,
    /// It waited for the next row's lock, and its turn has come.
    pub(in crate::ldm) is_first: bool,
    /// It waited in front of the table, and its turn has come.
    pub(in crate::ldm) is_let_in: bool,
    /// It began at another primary: even a session of this node may have to ask what became of it.
    was_handed: bool,
    /// It has found DataMemory full, and waits no longer than this.
    pub(in crate::ldm) waits_for_memory_until: Option<Instant>,
}

impl WriteRun {
    pub(in crate::ldm) fn new(from: Address, request: Box<WriteRequest>) -> Self {
        let results = Vec::with_capacity(request.operations.len());
        Self {
            from,
            request,
            results,
            warnings: Warnings::default(),
            is_first: false,
            is_let_in: false,
            was_handed: false,
            waits_for_memory_until: None,
        }
    }

    /// The operation at which it stands.
    pub(in crate::ldm) fn operation(&self) -> Option<&WriteOperation> {
        self.request.operations.get(self.results.len())
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

    /// What another primary had begun.
    pub(in crate::ldm) fn taken(
        from: Address,
        request: Box<WriteRequest>,
        results: Vec<OperationResult>,
        raised: Option<Box<Raised>>,
    ) -> Self {
        let run = Self { results, was_handed: true, ..Self::new(from, request) };
        if let Some(raised) = raised {
            run.warnings.absorb(*raised);
        }
        run
    }
}

/// What becomes of a row.
enum Change<'a> {
    /// Nothing; this is the result.
    None(OperationResult),
    /// The row becomes these bytes (None: it is deleted).
    Stage(OperationResult, Option<Cow<'a, [u8]>>),
}

impl Ldm {
    pub(in crate::ldm) fn on_write(
        &mut self,
        now: Now,
        from: Address,
        request: Box<WriteRequest>,
        outputs: &mut Outputs<Shared>,
    ) {
        if from.node != self.address.node
            && let Err(refusal) = self.check_rows(&request)
        {
            let run = WriteRun::new(from, request);
            return self.refuse_write(run, refusal, outputs);
        }
        self.run_write(now, WriteRun::new(from, request), outputs);
    }

    /// Rows from another node must be rows before anybody looks at them.
    pub(in crate::ldm) fn check_rows(&self, request: &WriteRequest) -> Result<(), Refusal> {
        for operation in &request.operations {
            let row = match operation {
                WriteOperation::Insert { row, .. } | WriteOperation::Put { row, .. } => Some(&**row),
                WriteOperation::Update { .. } | WriteOperation::Delete { .. } => None,
            };
            self.check_row(request.table.id, operation_key(operation), row)?;
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

    /// Runs a request from the operation where it stands.
    pub(in crate::ldm) fn run_write(&mut self, now: Now, mut run: WriteRun, outputs: &mut Outputs<Shared>) {
        let place = (run.request.transaction, run.request.slot);
        if run.results.is_empty() && self.is_elsewhere(place.1) {
            return self.send_back(run.from, Signal::Write(run.request), outputs);
        }
        let checked = self
            .check_primary(run.request.slot)
            .and_then(|()| self.check_known(place, run.request.known))
            .and_then(|()| self.check_schema(run.request.table, run.request.slot))
            .and_then(|()| self.check_open(place))
            .and_then(|()| self.check_session(run.from, place))
            .and_then(|()| self.check_lease(now));
        if let Err(refusal) = checked {
            return self.refuse_write(run, refusal, outputs);
        }
        while run.results.len() < run.request.operations.len() {
            let place =
                if std::mem::take(&mut run.is_first) { locks::Place::First } else { locks::Place::Last };
            let at_table =
                if std::mem::take(&mut run.is_let_in) { locks::Place::First } else { locks::Place::Last };
            match self.run_operation(&run, place, at_table) {
                Ok(result) => {
                    run.results.push(result);
                    if run.warnings.is_much_text() && run.results.len() < run.request.operations.len() {
                        // Its functions took long: others have their turn, then it goes on.
                        let _ = run.warnings.take_text_work();
                        return self.pause_write(now, run);
                    }
                }
                Err(Stop::Refused(refusal)) => return self.refuse_write(run, refusal, outputs),
                Err(Stop::Full(refusal)) => {
                    if !self.is_memory_coming(&mut run, now) {
                        return self.refuse_write(run, refusal, outputs);
                    }
                    run.is_first = place == locks::Place::First;
                    return self.pause_write(now, run);
                }
                Err(Stop::Locked(key)) => match (run.request.wait, timeout_of(run.request.wait)) {
                    (LockWait::SkipLocked, _) => {
                        self.count_not_waited(&key, LockMode::Exclusive);
                        run.results.push(OperationResult::NotMatched);
                    }
                    (_, Ok(timeout_ms)) => {
                        let run = Run::Write(run);
                        return self.wait_for_lock(now, key, LockMode::Exclusive, timeout_ms, run, outputs);
                    }
                    (_, Err(refusal)) => {
                        self.count_not_waited(&key, LockMode::Exclusive);
                        return self.refuse_write(run, refusal, outputs);
                    }
                },
            }
        }
        self.finish_write(run, outputs);
    }

    /// A session of a lost node takes no locks: nobody would ever give them back.
    pub(in crate::ldm) fn check_session(&self, session: Address, place: Place) -> Result<(), Refusal> {
        let is_void = || self.void.get(&session.node).is_some_and(|void| void.contains(&place));
        if self.is_lost(session.node) || is_void() { Err(Refusal::WrongView) } else { Ok(()) }
    }

    /// A transaction some of whose operations are lost (another primary had them and died, or a broken connection undid them) must not go on without
    /// them.
    pub(in crate::ldm) fn check_known(&self, place: Place, known: u32) -> Result<(), Refusal> {
        if self.operation_count(place) < known && !mutants::is(Mutant::LostOperationsUnnoticed) {
            Err(Refusal::NotHeld)
        } else {
            Ok(())
        }
    }

    /// Whether the transaction still takes operations here.
    fn check_open(&self, place: Place) -> Result<(), Refusal> {
        match self.held.get(&place) {
            Some(held) if held.stage != HeldStage::Open => Err(Refusal::AlreadyEnding),
            _ => Ok(()),
        }
    }

    fn finish_write(&mut self, run: WriteRun, outputs: &mut Outputs<Shared>) {
        let place = (run.request.transaction, run.request.slot);
        if let Some(epoch_seen) = run.request.commit {
            let done = (run.results, run.warnings.take_raised());
            let reply = Reply::Write {
                to: run.from,
                request: run.request.request,
                done,
                operations: self.operation_count(place),
                was_handed: run.was_handed,
            };
            return self.commit_with_write(place, reply, epoch_seen, outputs);
        }
        let (operations, raised) = (self.operation_count(place), run.warnings.take_raised());
        let summary = WriteSummary { results: run.results, operations, committed: None, raised };
        let done = WriteDone { request: run.request.request, result: Ok(summary) };
        outputs.send(self.address, run.from, Signal::WriteDone(Box::new(done)));
    }

    /// Answers a request that cannot be done.
    pub(in crate::ldm) fn refuse_write(
        &mut self,
        run: WriteRun,
        refusal: Refusal,
        outputs: &mut Outputs<Shared>,
    ) {
        let operation = u32::try_from(run.results.len()).unwrap_or(u32::MAX);
        let failure = WriteFailure { operation, refusal };
        let done = WriteDone { request: run.request.request, result: Err(failure) };
        let done = Signal::WriteDone(Box::new(done));
        if run.request.commit.is_some() {
            self.undo_then((run.request.transaction, run.request.slot), Some((run.from, done)), outputs);
        } else {
            outputs.send(self.address, run.from, done);
        }
    }

    /// Locks, evaluates and stages the request's next operation.
    fn run_operation(
        &mut self,
        run: &WriteRun,
        place: locks::Place,
        at_table: locks::Place,
    ) -> Result<OperationResult, Stop> {
        let request = &run.request;
        let operation = &request.operations[run.results.len()];
        let key = operation_key(operation);
        let (table, slot) = (request.table.id, request.slot);
        let transactions = (request.transaction, request.under);
        if let Some(table) = self.closed_table((table, slot), transactions, LockMode::Exclusive, at_table) {
            return Err(Stop::Locked(table));
        }
        let fragment = self.fragments.get_mut(&(table, slot)).ok_or(Stop::Refused(Refusal::WrongSchema))?;
        let info = self.map.table(table).ok_or(Stop::Refused(Refusal::WrongSchema))?;
        fragment.tally.exclusive.requests += u64::from(place == locks::Place::Last);
        let newest = fragment.newest(key);
        let owner = match newest.state {
            Some(VersionState::Staged(owner) | VersionState::Prepared(owner)) => Some(owner),
            Some(VersionState::Committed(_)) | None => None,
        };
        // The usual case: nobody holds an explicit lock here, and the newest version is committed or our own.
        let is_free = owner.is_none_or(|owner| owner == request.transaction);
        if !is_free || !self.locks.is_empty() {
            let lock = LockKey { slot, table, key: key.into() };
            let is_blocked =
                self.locks.is_blocked(&lock, request.transaction, LockMode::Exclusive, owner, place);
            if is_blocked && !mutants::is(Mutant::StagedOwnerIgnored) {
                return Err(Stop::Locked(lock));
            }
        }
        match evaluate(operation, newest.row, info, &run.warnings).map_err(Stop::Refused)? {
            Change::None(result) => {
                // A row that keeps its values is locked until the transaction ends, as if it had changed.
                let is_locked = result == OperationResult::Unchanged && request.commit.is_none();
                if is_locked && owner.is_none() {
                    let lock = LockKey { slot, table, key: key.into() };
                    self.keep_lock(&lock, request.transaction, LockMode::Exclusive, run.from)
                        .map_err(Stop::Refused)?;
                }
                Ok(result)
            }
            Change::Stage(result, row) => {
                self.transaction_memory
                    .charge(OPERATION_COST)
                    .map_err(|full| Stop::Refused(region_full(&full)))?;
                let mut staged = stage(fragment, key, request.transaction, row.as_deref(), &result);
                if staged.is_err() {
                    self.free_at_once();
                    let again = self.fragments.get_mut(&(table, slot));
                    staged = match again {
                        Some(fragment) => stage(fragment, key, request.transaction, row.as_deref(), &result),
                        None => staged,
                    };
                }
                let Ok(handle) = staged else {
                    self.transaction_memory.release(OPERATION_COST);
                    return Err(Stop::Full(Refusal::RegionFull { region: "DataMemory".to_owned() }));
                };
                let version = request.table.version;
                let is_first = owner.is_none();
                let place = (request.transaction, slot);
                let held = self.held_mut(place, run.from);
                held.note_change(request.table, is_first, row.as_deref().map_or(0, <[u8]>::len));
                held.operations.push(Operation::Staged { table, version, row: handle, is_first });
                Ok(result)
            }
        }
    }

    pub(in crate::ldm) fn on_abort(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
        self.undo(place, outputs);
        // What a coordinator has asked for is ended by its word only.
        if self.shipping.get(&place).is_some_and(|ship| matches!(ship.ending, Ending::One(_))) {
            self.stop_shipping(place, outputs);
        }
    }
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

fn operation_key(operation: &WriteOperation) -> &[u8] {
    match operation {
        WriteOperation::Insert { key, .. }
        | WriteOperation::Put { key, .. }
        | WriteOperation::Update { key, .. }
        | WriteOperation::Delete { key, .. } => key,
    }
}

/// What an operation makes of its row's newest version.
fn evaluate<'a>(
    operation: &'a WriteOperation,
    newest: Option<&[u8]>,
    info: &TableAccessInfo,
    warnings: &Warnings,
) -> Result<Change<'a>, Refusal> {
    let stored = |result, row: &'a [u8]| Change::Stage(result, Some(Cow::Borrowed(row)));
    match operation {
        WriteOperation::Insert { key, row, on_duplicate } => match (newest, on_duplicate) {
            (None, _) => Ok(stored(OperationResult::Inserted, row)),
            (Some(_), OnDuplicate::Fail) => Err(Refusal::Duplicate { key: key.clone() }),
            (Some(_), OnDuplicate::Ignore) => Ok(Change::None(OperationResult::Duplicate)),
            (Some(_), OnDuplicate::Replace) => Ok(stored(OperationResult::Replaced, row)),
            (Some(old), OnDuplicate::Update(program)) => {
                let evaluated = evaluate_insert_conflict(program, info, old, row, warnings);
                change_of(evaluated.map_err(Refusal::Error)?)
            }
        },
        WriteOperation::Put { row, .. } => Ok(stored(OperationResult::Stored, row)),
        WriteOperation::Update { program, .. } => match newest {
            None => Ok(Change::None(OperationResult::NotMatched)),
            Some(old) => change_of(evaluate_update(program, info, old, warnings).map_err(Refusal::Error)?),
        },
        WriteOperation::Delete { filter, .. } => {
            let Some(old) = newest else {
                return Ok(Change::None(OperationResult::NotMatched));
            };
            let matches = match filter {
                None => true,
                Some(filter) => delete_matches(filter, info, old, warnings).map_err(Refusal::Error)?,
            };
            Ok(if matches {
                Change::Stage(OperationResult::Deleted, None)
            } else {
                Change::None(OperationResult::NotMatched)
            })
        }
    }
}

fn change_of(evaluated: Evaluated) -> Result<Change<'static>, Refusal> {
    Ok(match evaluated {
        Evaluated::NotMatched => Change::None(OperationResult::NotMatched),
        Evaluated::Unchanged => Change::None(OperationResult::Unchanged),
        Evaluated::Changed(row) => Change::Stage(OperationResult::Updated, Some(Cow::Owned(row))),
    })
}
