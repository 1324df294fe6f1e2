//! Execution of planned statements: operators that are polled, never block and hold nothing of storage between polls.
//!
//! | file | what |
//! | --- | --- |
//! | `access` | key templates and ranges become key bytes |
//! | `table_reader` | rows of one table from all its slots, here or elsewhere, merged in key order if wanted |
//! | `locked_reader` | candidates, then locking reads of them |
//! | `lock_tables`, `user_locks`, `kill` | LOCK TABLES; GET_LOCK; KILL |
//! | `select`, `sort`, `grouping`, `distinct` | the operators of SELECT |
//! | `row_buffer` | rows that operators keep |
//! | `row_builder`, `insert` | INSERT and its kin |
//! | `modify` | UPDATE and DELETE |
//! | `conflicts`, `write_set` | writes that the session computes itself: unique keys, key changes |
//!
//! A statement is a state machine: `step` runs until it is done, must wait for an answer (the session polls it again
//! when one came) or has spent its budget. Answers come by the session's inbox.
//!
//! Invariants: a failed statement leaves undoing to the session; memory that grows with rows is charged to QueryMemory.

pub(crate) mod access;
pub(crate) mod commit;
pub(crate) mod conflicts;
pub(crate) mod distinct;
pub(crate) mod grouping;
pub(crate) mod held;
pub(crate) mod insert;
pub(crate) mod kill;
pub(crate) mod lock_tables;
pub(crate) mod locked_reader;
pub(crate) mod modify;
pub(crate) mod row_buffer;
pub(crate) mod row_builder;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod table_reader;
pub(crate) mod unique_reader;
pub(crate) mod user_locks;
pub(crate) mod write_set;

use crate::environment::{Alarm, AlarmKind, Environment};
use crate::inbox::RequestKind;
use crate::session::SessionCore;
use crate::statement_cache::CachedStatement;
use expression::{Context, Expression, Settings, Volatile, fold_constants};
use memory::{Ledger, MemoryManager, Region};
use mysql_protocol::result::RowFormat;
use protocol::program::{
    Access, LockMode, LockWait, OnDuplicate, PROGRAM_SIZE_MAX, ReadProgram, Refusal, StatementContext,
    TableRef, WriteOperation,
};
use protocol::signal::{ReadRequest, RequestId, WriteRequest};
use protocol::{Address, Signal, SqlError};
use query::TableAccessInfo;
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{SlotId, TableDefinition, TransactionId, Value, ViewNumber};

/// A row on its way through the operators.
pub(crate) type Row = Vec<Value>;

/// Bytes that an operator may keep before it must pay for them.
const UNCHARGED_MAX: usize = 256 * 1024;
/// How often an operator asks again after a lost node or an old view, and how long it waits in between.
const RETRIES_MAX: u32 = 500;
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// What failed for want of another view is tried again as soon as there is one, and after a while in any case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    until: Instant,
    view: ViewNumber,
}

impl Retry {
    /// From now on; the alarm that wakes the session at its end is set.
    pub(crate) fn after(pause: Duration, connection_id: u32, env: &mut Environment<'_>) -> Self {
        let until = env.now.monotonic + pause;
        env.module.deadlines.register(until, Alarm { connection_id, kind: AlarmKind::Retry });
        Self { until, view: env.module.map.view.number }
    }

    pub(crate) fn is_due(&self, env: &Environment<'_>) -> bool {
        env.now.monotonic >= self.until || env.module.map.view.number > self.view
    }
}

/// What a poll of an operator gives.
#[derive(Debug)]
pub(crate) enum Pull {
    /// Rows, at least one.
    Batch(Vec<Row>),
    /// An answer must come first.
    Wait,
    /// The budget is spent.
    Spent,
    /// No more rows.
    End,
}

/// What a step of a statement gives.
#[derive(Debug)]
pub(crate) enum Progress {
    /// It is done.
    Done(Completion),
    /// An answer must come, or the client must read.
    Wait,
    /// The budget is spent.
    Spent,
}

/// What a finished statement tells the client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Completion {
    /// Rows went out: what is missing is their end.
    pub(crate) is_result_set: bool,
    pub(crate) affected_rows: u64,
    pub(crate) last_insert_id: u64,
    pub(crate) info: String,
    /// Rows sent, for ROW_COUNT and FOUND_ROWS.
    pub(crate) row_count: u64,
}

/// Why a statement did not do what it should.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Failure {
    /// The statement is undone, the transaction lives.
    Error(SqlError),
    /// The transaction is over everywhere.
    Doomed(SqlError),
    /// The view changed or a replica is lost: nothing of this statement was done there; it may run again when the next
    /// view is installed.
    ViewChanged(SqlError),
    /// The plan was made for another version of the table.
    WrongSchema,
    /// An AUTO_INCREMENT value that was drawn is taken: the statement is undone and runs again with the next ones.
    DrawnTaken(SqlError),
    /// The statement carried its commit and nobody can tell what became of it.
    OutcomeUnknown,
    /// A SLEEP has begun: the same step is taken again when it is over.
    Asleep,
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Failure::Error(error)
    }
}

impl From<expression::EvaluationError> for Failure {
    fn from(error: expression::EvaluationError) -> Self {
        if error.is_asleep() {
            return Failure::Asleep;
        }
        Failure::Error(SqlError::new(error.code, error.message))
    }
}

/// A refusal as the statement fails by it; `table` names the table in messages.
pub(crate) fn failure_of(refusal: Refusal, table: &str) -> Failure {
    match refusal {
        Refusal::WrongView => Failure::ViewChanged(SqlError::deadlock("the cluster's view has changed")),
        Refusal::ReplicaLost => Failure::Doomed(SqlError::deadlock("a replica of the rows is lost")),
        Refusal::WrongSchema => Failure::WrongSchema,
        Refusal::Duplicate { .. } => {
            Failure::Error(SqlError::new(1062, format!("Duplicate entry for a key of table '{table}'")))
        }
        Refusal::LockTimeout => Failure::Error(lock_wait_timeout()),
        Refusal::LockNotAvailable => Failure::Error(SqlError::new(
            3572,
            "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.",
        )),
        Refusal::Deadlock { other } => Failure::Doomed(SqlError::deadlock(&format!(
            "Deadlock found when trying to get lock (with transaction {other})"
        ))),
        Refusal::RegionFull { region } => Failure::Error(SqlError::region_full(table, &region)),
        Refusal::Error(error) => Failure::Error(error),
        Refusal::NotHeld => {
            let why = "a primary has lost the transaction's writes: it has failed, or there were too many to be handed over";
            Failure::ViewChanged(SqlError::deadlock(why))
        }
        Refusal::AlreadyEnding => Failure::Doomed(SqlError::deadlock("the transaction is already ending")),
    }
}

/// The statement that runs: its plan, its values, and what its expressions see of the session.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) cached: Arc<CachedStatement>,
    pub(crate) parameters: Vec<Value>,
    pub(crate) format: RowFormat,
    /// For expressions whose values are shown or tested.
    pub(crate) settings: Settings,
    /// sql_mode has a STRICT mode: values that are stored must fit.
    pub(crate) is_strict: bool,
    pub(crate) connection_id: u32,
    pub(crate) last_insert_id: u64,
    pub(crate) database: Option<Arc<str>>,
    pub(crate) user: Arc<str>,
    /// What its volatile functions draw from; none if it has none.
    pub(crate) volatile: Option<Box<Volatile>>,
}

impl Statement {
    /// What expressions are evaluated with.
    pub(crate) fn context(&self) -> Context<'_> {
        self.context_of(self.settings)
    }

    /// What expressions are evaluated with whose values are about to be stored.
    pub(crate) fn store_context(&self) -> Context<'_> {
        self.context_of(self.store_settings())
    }

    /// The settings of a write.
    pub(crate) fn store_settings(&self) -> Settings {
        let mut settings = self.settings;
        settings.sql_mode.strict = self.is_strict;
        settings
    }

    fn context_of(&self, settings: Settings) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            connection_id: u64::from(self.connection_id),
            last_insert_id: self.last_insert_id,
            database: self.database.as_deref(),
            user: &self.user,
            volatile: self.volatile.as_deref(),
            ..Context::from_settings(settings)
        }
    }

    /// What goes with programs: expressions are folded before they leave, so parameters stay here.
    pub(crate) fn program_context(&self, settings: Settings) -> StatementContext {
        StatementContext { parameters: Vec::new(), settings }
    }

    /// An expression that another node may evaluate: what depends on this session only is a literal in it.
    pub(crate) fn folded(&self, expression: &Expression) -> Expression {
        self.folded_in(expression, &self.context())
    }

    /// The same, evaluated in `context`.
    pub(crate) fn folded_in(&self, expression: &Expression, context: &Context<'_>) -> Expression {
        let mut folded = fold_constants(expression, context);
        self.make_of_row(&mut folded, 0);
        folded
    }

    /// Makes volatile functions in a change of rows functions of the row; `place` tells expressions apart that were not
    /// bound together. What is none of a row either stays, and is refused when it is evaluated.
    pub(crate) fn make_of_row(&self, expression: &mut Expression, place: u16) {
        let (Some(volatile), Some(table)) = (&self.volatile, self.cached.prepared.plan.table()) else {
            return;
        };
        let slot = |column: types::ColumnIndex| expression::ColumnSlot(column.0);
        let key: Vec<_> = table
            .primary_key()
            .iter()
            .map(|part| (slot(part.column), table.column_at(part.column).sql_type.clone()))
            .collect();
        let _ = expression.of_row(volatile.seed() ^ u64::from(place), &key);
    }

    /// The same for several.
    pub(crate) fn folded_all(&self, expressions: &[Expression]) -> Vec<Expression> {
        let context = self.context();
        expressions.iter().map(|expression| self.folded_in(expression, &context)).collect()
    }
}

/// What a step may use: the handler call, the session, the statement.
pub(crate) struct Cx<'a, 'e> {
    pub(crate) env: &'a mut Environment<'e>,
    pub(crate) core: &'a mut SessionCore,
    pub(crate) statement: &'a Statement,
}

/// Where a slot can be read.
pub(crate) enum Place {
    /// By this node's reader.
    Here,
    /// By a signal to this module; with the transaction if it must see own rows.
    There(Address, Option<TransactionId>),
    /// Nowhere now.
    Nowhere,
}

impl Cx<'_, '_> {
    /// The access info of a table, if it is the version that the statement was bound to.
    pub(crate) fn info(&self, table: &TableDefinition) -> Result<Arc<TableAccessInfo>, Failure> {
        match self.env.module.map.table(table.id) {
            Some(info) if info.definition.version == table.version => Ok(Arc::clone(info)),
            _ => Err(Failure::WrongSchema),
        }
    }

    /// The access info of a table that the statement does not name: the hidden table of a unique index.
    pub(crate) fn hidden_info(&self, table: types::TableId) -> Result<Arc<TableAccessInfo>, Failure> {
        self.env.module.map.table(table).map(Arc::clone).ok_or(Failure::WrongSchema)
    }

    /// Where to read a slot of a table: not where it was `refused`.
    pub(crate) fn place(&self, table: types::TableId, slot: SlotId, refused: &[types::NodeId]) -> Place {
        let map = &self.env.module.map;
        if self.core.transaction.has_written(slot) {
            return map
                .primary(slot)
                .filter(|primary| !refused.contains(&primary.node))
                .map_or(Place::Nowhere, |primary| Place::There(primary, self.core.transaction.id()));
        }
        if map.reader(table, slot).is_some() {
            return Place::Here;
        }
        let replica = map.replica_for_read(slot, refused, self.core.inbox.turn());
        replica.map_or(Place::Nowhere, |replica| Place::There(replica, None))
    }

    /// The primary of a slot, where writes and locks go. To one that is lost nothing is sent, because it could be done
    /// unheard: the statement waits for the next view, or is refused when that is not awaited any more.
    pub(crate) fn primary(&self, slot: SlotId) -> Result<Address, Failure> {
        let map = &self.env.module.map;
        if map.is_replica_lost(slot) {
            return Err(failure_of(Refusal::ReplicaLost, ""));
        }
        map.primary_in_reach(slot)
            .ok_or_else(|| Failure::ViewChanged(SqlError::deadlock("the primary of a slot is lost")))
    }

    /// What goes to another node must fit a frame; 1153 if it is far too large.
    fn check_size(&self, to: Address, program: &ReadProgram, access: &Access) -> Result<(), Failure> {
        let is_large = || program.wire_size() > PROGRAM_SIZE_MAX || access.wire_size() > PROGRAM_SIZE_MAX;
        if to.node != self.env.module.node() && is_large() {
            return Err(Failure::Error(SqlError::packet_too_large()));
        }
        Ok(())
    }

    /// The same for a change that is sent alone: those that are sent together were weighed before.
    fn check_operation_size(&self, to: Address, operations: &[WriteOperation]) -> Result<(), Failure> {
        let [operation] = operations else { return Ok(()) };
        let is_large = || {
            let size = match operation {
                WriteOperation::Insert { on_duplicate: OnDuplicate::Update(program), .. }
                | WriteOperation::Update { program, .. } => program.wire_size(),
                WriteOperation::Delete { filter: Some(filter), .. } => filter.wire_size(),
                WriteOperation::Insert { .. }
                | WriteOperation::Put { .. }
                | WriteOperation::Delete { .. } => 0,
            };
            size > PROGRAM_SIZE_MAX
        };
        if to.node != self.env.module.node() && is_large() {
            return Err(Failure::Error(SqlError::packet_too_large()));
        }
        Ok(())
    }

    /// Sends a read without locks.
    pub(crate) fn read(
        &mut self,
        to: Address,
        transaction: Option<TransactionId>,
        slot: SlotId,
        program: &Arc<ReadProgram>,
        access: Access,
    ) -> Result<RequestId, Failure> {
        self.check_size(to, program, &access)?;
        let request = self.core.inbox.register(to, RequestKind::Read);
        let program = Arc::clone(program);
        let known = self.core.transaction.known(slot);
        let read =
            ReadRequest { request, transaction, lock: None, slot, program, access, known, under: None };
        self.env.send(to, Signal::Read(Box::new(read)));
        Ok(request)
    }

    /// The transaction's id, made at the first write or lock.
    pub(crate) fn transaction_id(&mut self) -> TransactionId {
        let (module, core) = (&mut *self.env.module, &mut *self.core);
        core.transaction.id_or_new(|| module.begin_transaction(core.id, &mut core.last_transaction))
    }

    /// Sends a locking read of keys.
    pub(crate) fn locked_read(
        &mut self,
        slot: SlotId,
        program: &Arc<ReadProgram>,
        keys: Vec<Box<[u8]>>,
        lock: (LockMode, LockWait),
    ) -> Result<RequestId, Failure> {
        let to = self.primary(slot)?;
        let access = Access::Keys(keys);
        self.check_size(to, program, &access)?;
        self.core.transaction.note_use(program.table, self.env.now.monotonic);
        let transaction = self.transaction_id();
        let known = self.core.transaction.touch(slot, self.env.module.map.view.number, false);
        let request = self.core.inbox.register(to, RequestKind::Change);
        let read = ReadRequest {
            request,
            transaction: Some(transaction),
            lock: Some(lock),
            slot,
            program: Arc::clone(program),
            access,
            known,
            under: self.core.locks.of_tables(),
        };
        self.env.send(to, Signal::Read(Box::new(read)));
        Ok(request)
    }

    /// Sends changes of one table in one slot; with `is_alone` they carry the commit.
    pub(crate) fn write(
        &mut self,
        slot: SlotId,
        table: TableRef,
        operations: Vec<WriteOperation>,
        is_alone: bool,
    ) -> Result<RequestId, Failure> {
        let to = self.primary(slot)?;
        self.check_operation_size(to, &operations)?;
        self.core.transaction.note_use(table, self.env.now.monotonic);
        let transaction = self.transaction_id();
        let known = self.core.transaction.touch(slot, self.env.module.map.view.number, true);
        if is_alone {
            self.core.transaction.carry_commit();
        }
        let commit = is_alone.then_some(self.core.transaction.epoch_seen);
        let kind = if is_alone { RequestKind::Commit } else { RequestKind::Change };
        let request = self.core.inbox.register(to, kind);
        let (wait, under) = (self.lock_wait(), self.core.locks.of_tables());
        let write =
            WriteRequest { request, transaction, slot, table, operations, wait, commit, known, under };
        self.env.send(to, Signal::Write(Box::new(write)));
        Ok(request)
    }

    /// How long to wait for locks.
    pub(crate) fn lock_wait(&self) -> LockWait {
        let session_ms = self.core.variables.lock_wait_timeout.saturating_mul(1000);
        let max = self.env.module.config.lock_wait_timeout_max;
        let max_ms = max.map_or(u32::MAX, |max| u32::try_from(max.as_millis()).unwrap_or(u32::MAX));
        let timeout_ms = session_ms.min(max_ms);
        LockWait::Wait { timeout_ms }
    }

    /// True if the statement is a transaction by itself that has asked for nothing yet: its only request may carry the
    /// commit.
    pub(crate) fn is_alone(&self) -> bool {
        !self.core.transaction.is_open() && !self.core.transaction.has_participants()
    }

    /// When to try again after a lost node or an old view; an error after too many tries.
    pub(crate) fn retry_at(&mut self, attempts: &mut u32, what: &str) -> Result<Retry, Failure> {
        *attempts += 1;
        if *attempts > RETRIES_MAX {
            return Err(Failure::Error(SqlError::new(
                1297,
                format!("Got temporary error '{what}' from LatsDB"),
            )));
        }
        Ok(Retry::after(RETRY_INTERVAL, self.core.id, self.env))
    }

    /// Keeps the warnings that came with an answer.
    pub(crate) fn keep_raised(&mut self, raised: Option<Box<expression::context::Raised>>) {
        if let Some(raised) = raised {
            self.core.diagnostics.add_all((raised.count, raised.warnings));
        }
    }

    /// Keeps the warnings that an evaluation raised.
    pub(crate) fn keep_warnings(&mut self, context_warnings: (u64, Vec<expression::Warning>)) {
        self.core.diagnostics.add_all(context_warnings);
    }
}

/// Takes the warnings out of a context.
pub(crate) fn warnings_of(context: &Context<'_>) -> (u64, Vec<expression::Warning>) {
    let count = context.warnings.count();
    if count == 0 { (0, Vec::new()) } else { (count, context.warnings.take()) }
}

/// The memory of a session's statement.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    ledger: Ledger,
}

impl QueryMemory {
    pub(crate) fn new(memory: &Arc<MemoryManager>) -> Self {
        Self { ledger: Ledger::new(Arc::clone(memory), Region::QueryMemory) }
    }

    /// Takes memory for rows that are kept.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.ledger.charge(bytes as u64).map_err(|full| {
            SqlError::new(
                1041,
                format!("Out of memory; {} is exhausted by this statement and others", full.name()),
            )
        })
    }

    /// Gives back memory of rows that are kept no longer.
    pub(crate) fn release(&mut self, bytes: usize) {
        self.ledger.release(bytes as u64);
    }

    /// The statement is over.
    pub(crate) fn release_all(&mut self) {
        let used = self.ledger.used();
        if used > 0 {
            self.ledger.release(used);
        }
    }
}

/// What a row costs.
pub(crate) fn row_size(row: &[Value]) -> usize {
    let heap = |value: &Value| match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Decimal(_) => size_of::<types::Decimal>(),
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Double(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_) => 0,
    };
    size_of::<Row>() + size_of_val(row) + row.iter().map(heap).sum::<usize>()
}

/// A lock was waited for too long.
pub(crate) fn lock_wait_timeout() -> SqlError {
    SqlError::new(1205, "Lock wait timeout exceeded; try restarting transaction")
}

/// A table as programs name it.
pub(crate) fn table_ref(table: &TableDefinition) -> TableRef {
    TableRef { id: table.id, version: table.version }
}
