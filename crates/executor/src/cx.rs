//! The context of every step of a statement: where rows are read, where changes go, and what is kept for the statement.

use crate::client::Client;
use crate::inbox::{Reply, RequestKind};
use crate::mutants::{self, Mutant};
use crate::outcome::{Failure, failure_of};
use crate::site::{Environment, Retry};
use crate::statement::Statement;
use expression::Context;
use protocol::placement::ReadPlacement;
use protocol::program::{
    Access, LockMode, LockWait, OnDuplicate, Operations, PROGRAM_SIZE_MAX, ReadProgram, Refusal, TableRef,
    WriteOperation,
};
use protocol::signal::{ReadRequest, RequestId, WriteFailure, WriteRequest};
use protocol::{Address, Signal, SqlError};
use query::TableAccessInfo;
use std::sync::Arc;
use stdx::Duration;
use storage::Reader;
use types::{SlotId, TableDefinition, TransactionId, ViewNumber};

/// How often an operator asks again after a lost node or an old view, and how long it waits in between.
const RETRIES_MAX: u32 = 500;
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The things that a step may use: the handler call, the client, the statement.
pub struct Cx<'a> {
    /// The handler call.
    pub env: Environment<'a>,
    /// The one that the statement runs for.
    pub client: &'a mut Client,
    /// The statement.
    pub statement: &'a Statement,
}

/// Where a client reads rows that it locks at a primary of its own node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockedRows {
    /// The client reads them itself when they are locked.
    ReadHere,
    /// Their primary sends them with the lock.
    Sent,
}

/// Where a slot can be read.
pub enum Place {
    /// By this node's reader.
    Here,
    /// In the session itself: a temporary table.
    Own,
    /// By a signal to this module; with the transaction if it must see own rows.
    There(Address, Option<TransactionId>),
    /// Nowhere now.
    Nowhere,
}

impl Cx<'_> {
    /// The same for another statement.
    pub(crate) fn within<'b>(&'b mut self, statement: &'b Statement) -> Cx<'b> {
        let Environment { now, budget, outputs, site } = &mut self.env;
        let env = Environment { now: *now, budget, outputs, site };
        Cx { env, client: self.client, statement }
    }

    /// The access info of a table, if it is the version that the statement was bound to.
    pub fn info(&self, table: &TableDefinition) -> Result<Arc<TableAccessInfo>, Failure> {
        let info = self.hidden_info(table.id)?;
        if info.definition.version == table.version { Ok(info) } else { Err(Failure::WrongSchema) }
    }

    /// The access info of a table that the statement does not name: the hidden table of a unique index.
    pub fn hidden_info(&self, table: types::TableId) -> Result<Arc<TableAccessInfo>, Failure> {
        let info = if table.is_temporary() {
            self.client.transaction.own().and_then(|own| own.info(table))
        } else {
            self.env.site.map.table(table)
        };
        info.map(Arc::clone).ok_or(Failure::WrongSchema)
    }

    /// Where to read a slot of a table: not where it was `refused`.
    pub fn place(&self, table: types::TableId, slot: SlotId, refused: &[types::NodeId]) -> Place {
        if slot == SlotId::SESSION {
            return Place::Own;
        }
        let map = &self.env.site.map;
        if self.client.transaction.has_written(slot) {
            return map
                .primary(slot)
                .filter(|primary| !refused.contains(&primary.node))
                .map_or(Place::Nowhere, |primary| Place::There(primary, self.client.transaction.id()));
        }
        if map.reader(table, slot).is_some() {
            let node = self.env.site.node();
            let is_owners = self.env.site.read_placement == ReadPlacement::Owner && !refused.contains(&node);
            let owner = if is_owners { map.owner_for_read(slot) } else { None };
            return owner.map_or(Place::Here, |owner| Place::There(owner, None));
        }
        let replica = map.replica_for_read(slot, refused, self.client.inbox.turn());
        replica.map_or(Place::Nowhere, |replica| Place::There(replica, None))
    }

    /// The primary of a slot, where writes and locks go. Nothing is sent to a lost one, because it could be done
    /// unheard. The statement waits for the next view, or is refused when that is not awaited any more.
    pub fn primary(&self, slot: SlotId) -> Result<Address, Failure> {
        let map = &self.env.site.map;
        if map.is_replica_given_up(slot) {
            return Err(failure_of(Refusal::ReplicaLost, ""));
        }
        map.primary_in_reach(slot)
            .ok_or_else(|| Failure::ViewChanged(SqlError::deadlock("the primary of a slot is lost")))
    }

    /// A program for another node must fit a frame; 1153 if it is far too large.
    fn check_size(&self, to: Address, program: &ReadProgram, access: &Access) -> Result<(), Failure> {
        let is_large = || program.wire_size() > PROGRAM_SIZE_MAX || access.wire_size() > PROGRAM_SIZE_MAX;
        if to.node != self.env.site.node() && is_large() {
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
        if to.node != self.env.site.node() && is_large() {
            return Err(Failure::Error(SqlError::packet_too_large()));
        }
        Ok(())
    }

    /// Sends a read without locks.
    pub fn read(
        &mut self,
        to: Address,
        transaction: Option<TransactionId>,
        slot: SlotId,
        program: &Arc<ReadProgram>,
        access: Access,
    ) -> Result<RequestId, Failure> {
        self.check_size(to, program, &access)?;
        let request = self.client.inbox.register(to, RequestKind::Read);
        let program = Arc::clone(program);
        let known = self.client.transaction.known(slot);
        let (lock, under, grant_only) = (None, None, false);
        let read =
            ReadRequest { request, transaction, lock, slot, program, access, known, under, grant_only };
        self.env.send(to, Signal::Read(Box::new(read)));
        Ok(request)
    }

    /// The transaction's id, made at the first write or lock.
    pub(crate) fn transaction_id(&mut self) -> TransactionId {
        let (site, client) = (&mut *self.env.site, &mut *self.client);
        client.transaction.id_or_new(|| site.begin_transaction(client.id, &mut client.last_transaction))
    }

    /// Sends a locking read of keys. `rows`: where this client wants to have the rows from.
    pub(crate) fn locked_read(
        &mut self,
        slot: SlotId,
        program: &Arc<ReadProgram>,
        keys: Vec<Box<[u8]>>,
        lock: (LockMode, LockWait),
        rows: LockedRows,
    ) -> Result<RequestId, Failure> {
        if slot == SlotId::SESSION {
            return Ok(self.read_own(program, Access::Keys(keys)));
        }
        let to = self.primary(slot)?;
        let access = Access::Keys(keys);
        self.check_size(to, program, &access)?;
        self.client.transaction.note_use(program.table, self.env.now.monotonic);
        let transaction = self.transaction_id();
        let known = self.client.transaction.touch(slot, self.env.site.map.view.number, false);
        let request = self.client.inbox.register(to, RequestKind::Change);
        let reads_here = rows == LockedRows::ReadHere && to.node == self.env.site.node();
        let read = ReadRequest {
            request,
            transaction: Some(transaction),
            lock: Some(lock),
            slot,
            program: Arc::clone(program),
            access,
            known,
            under: self.client.transaction.tables(),
            grant_only: reads_here && !self.has_own_rows(slot),
        };
        self.env.send(to, Signal::Read(Box::new(read)));
        Ok(request)
    }

    /// Whether rows that are locked for this client may be its transaction's own. Only the slot's primary knows where
    /// those are: when it hands the slot over, it drops what is staged here, and this module may not have the view yet.
    fn has_own_rows(&self, slot: SlotId) -> bool {
        self.client.transaction.has_written(slot) && !mutants::is(Mutant::GrantReadOfOwnRows)
    }

    /// The reader and the access info for rows here that the slot's primary has locked for this client in `view`.
    /// None: the primary has to send them. Without a lease the locks may be void, and others may have changed the rows.
    /// A replica that is no primary in a newer view may lack them.
    pub(crate) fn reader_of_locked(
        &self,
        table: TableRef,
        slot: SlotId,
        view: ViewNumber,
    ) -> Option<(&Reader, &TableAccessInfo)> {
        let map = &self.env.site.map;
        let is_current = map.view.number == view || mutants::is(Mutant::GrantReadAtBackup);
        if !is_current || self.has_own_rows(slot) || !map.may_read(self.env.now.monotonic) {
            return None;
        }
        let info = map.table(table.id).filter(|info| info.definition.version == table.version)?;
        Some((map.reader(table.id, slot)?, info))
    }

    /// Sends changes of one table in one slot; with `is_alone` they carry the commit.
    pub fn write(
        &mut self,
        slot: SlotId,
        table: TableRef,
        operations: Operations,
        is_alone: bool,
    ) -> Result<RequestId, Failure> {
        if slot == SlotId::SESSION {
            return Ok(self.write_own(table, &operations));
        }
        let to = self.primary(slot)?;
        self.check_operation_size(to, &operations)?;
        self.client.transaction.note_use(table, self.env.now.monotonic);
        let transaction = self.transaction_id();
        let known = self.client.transaction.touch(slot, self.env.site.map.view.number, true);
        if is_alone {
            self.client.transaction.carry_commit();
        }
        let commit = is_alone.then_some(self.client.transaction.epoch_seen);
        let kind = if is_alone { RequestKind::Commit } else { RequestKind::Change };
        let request = self.client.inbox.register(to, kind);
        let (wait, under) = (self.lock_wait(), self.client.transaction.tables());
        let write =
            WriteRequest { request, transaction, slot, table, operations, wait, commit, known, under };
        let write = self.env.site.boxed(write);
        self.env.send(to, Signal::Write(write));
        Ok(request)
    }

    /// Changes a temporary table: the answer is there at once.
    fn write_own(&mut self, table: TableRef, operations: &[WriteOperation]) -> RequestId {
        self.env.budget.spend(u32::try_from(operations.len()).unwrap_or(u32::MAX));
        let result = match self.client.transaction.own_mut() {
            Some(own) => own.write(table, operations),
            None => Err(WriteFailure { operation: 0, refusal: Refusal::WrongSchema }),
        };
        self.answered(Reply::Write(result))
    }

    /// Reads rows of a temporary table by their keys: the answer is there at once.
    fn read_own(&mut self, program: &Arc<ReadProgram>, access: Access) -> RequestId {
        let own = self.client.transaction.own();
        let result = own.map_or(Err(Refusal::WrongSchema), |own| own.read(program, access));
        self.answered(Reply::Read(result))
    }

    /// A request that is answered already.
    fn answered(&mut self, reply: Reply) -> RequestId {
        let request = self.client.inbox.register(self.env.site.address, RequestKind::Other);
        self.client.inbox.deliver(request, reply);
        request
    }

    /// How long to wait for locks.
    pub fn lock_wait(&self) -> LockWait {
        let session_ms = self.statement.options.lock_wait_timeout_s.saturating_mul(1000);
        let max = self.env.site.lock_wait_timeout_max;
        let max_ms = max.map_or(u32::MAX, |max| u32::try_from(max.as_millis()).unwrap_or(u32::MAX));
        let timeout_ms = session_ms.min(max_ms);
        LockWait::Wait { timeout_ms }
    }

    /// True if the statement is a transaction by itself that has asked for nothing yet: its only request, to this slot,
    /// may carry the commit.
    pub fn is_alone(&self, slot: SlotId) -> bool {
        slot != SlotId::SESSION
            && !self.client.transaction.is_open()
            && !self.client.transaction.has_participants()
    }

    /// When to try again after a lost node or an old view; an error after too many tries.
    pub fn retry_at(&mut self, attempts: &mut u32, what: &str) -> Result<Retry, Failure> {
        *attempts += 1;
        if *attempts > RETRIES_MAX {
            return Err(Failure::Error(SqlError::new(
                1297,
                format!("Got temporary error '{what}' from LatsDB"),
            )));
        }
        Ok(Retry::after(RETRY_INTERVAL, self.client.id, &mut self.env))
    }

    /// Keeps the warnings that came with an answer.
    pub(crate) fn keep_raised(&mut self, raised: Option<Box<expression::context::Raised>>) {
        if let Some(raised) = raised {
            self.client.diagnostics.add_all((raised.count, raised.warnings));
        }
    }

    /// Keeps the warnings that an evaluation raised.
    pub(crate) fn keep_warnings(&mut self, context_warnings: (u64, Vec<expression::Warning>)) {
        self.client.diagnostics.add_all(context_warnings);
    }
}

/// Takes the warnings out of a context.
#[inline]
pub fn warnings_of(context: &Context<'_>) -> (u64, Vec<expression::Warning>) {
    let count = context.warnings.count();
    if count == 0 { (0, Vec::new()) } else { (count, context.warnings.take()) }
}

/// A table as programs name it.
pub fn table_ref(table: &TableDefinition) -> TableRef {
    TableRef { id: table.id, version: table.version }
}
