//! LOCK TABLES and UNLOCK TABLES.
//!
//! ```text
//! [give back what is locked: RollbackTo everywhere]
//!    -> slot by slot, in one order for all sessions: lock the whole table -> done
//!         | deadlock: let go of all, begin again after a pause
//! ```
//! The hidden tables of unique indexes are locked, too: else a writer that is stopped at the table would keep values
//! that it has taken already.
//!
//! Invariant: when it is done, nobody else has changed or locked rows of the tables and is still open, and nobody can
//! (WRITE), or nobody can change any (READ).

use super::LocksOf;
use crate::statement::Cx;
use executor::inbox::{Reply, RequestKind};
use executor::locked_reader::lost_lock;
use executor::transaction_client::TransactionClient;
use executor::{Completion, Failure, Progress, Retry, failure_of, lock_wait_timeout, table_ref};
use protocol::Signal;
use protocol::program::{Access, LockMode, LockWait, ReadOutput, ReadProgram, Refusal, TableRef};
use protocol::signal::{ReadRequest, RequestId};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{SlotId, TableDefinition};

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// One lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    table: TableRef,
    slot: SlotId,
    mode: LockMode,
}

enum Stage {
    Start,
    GivingBack(GivingBack),
    Asking { position: usize, request: RequestId },
    Pausing(Retry),
}

/// The statement.
pub(crate) struct LockTablesRun {
    wanted: Vec<(Arc<TableDefinition>, LockMode)>,
    places: Vec<Place>,
    deadline: Instant,
    stage: Stage,
}

impl LockTablesRun {
    /// Unlocks what is locked, then locks `wanted`.
    pub(crate) fn new(
        wanted: &[(Arc<TableDefinition>, LockMode)],
        cx: &mut Cx<'_, '_>,
    ) -> Result<Self, Failure> {
        let map = Arc::clone(&cx.env.module.site.map);
        let mut places = Vec::new();
        for (table, mode) in wanted {
            cx.executor().info(table)?;
            let slots = map.slots_of(table);
            let mut tables = vec![table_ref(table)];
            for hidden in table.hidden_tables() {
                tables.push(table_ref(&cx.executor().hidden_info(hidden)?.definition));
            }
            for table in tables {
                let slots = slots.clone().map(SlotId);
                places.extend(slots.map(|slot| Place { table, slot, mode: *mode }));
            }
        }
        places.sort_unstable();
        let patience = Duration::from_secs(cx.core.variables.ddl_wait_timeout.into());
        let deadline = cx.env.now.monotonic + patience;
        Ok(Self { wanted: wanted.to_vec(), places, deadline, stage: Stage::Start })
    }

    /// The reason for which it waits.
    pub(crate) fn waits_for(&self) -> String {
        "Waiting for table metadata lock".to_owned()
    }

    pub(crate) fn step(&mut self, cx: &mut Cx<'_, '_>) -> Result<Progress, Failure> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Start) {
                Stage::Start if cx.core.locks.open_tables() => {
                    cx.core.client.transaction.set_locked_tables(None);
                    self.stage = Stage::GivingBack(GivingBack::begin(cx));
                }
                Stage::Start => {
                    if let Some(done) = self.begin(cx)? {
                        return Ok(done);
                    }
                }
                Stage::GivingBack(mut giving_back) => {
                    if !giving_back.is_done(cx) {
                        self.stage = Stage::GivingBack(giving_back);
                        return Ok(Progress::Wait);
                    }
                }
                Stage::Asking { position, request } => match cx.core.client.inbox.take(request) {
                    None => {
                        self.stage = Stage::Asking { position, request };
                        return Ok(Progress::Wait);
                    }
                    Some(reply) => {
                        if let Some(done) = self.on_reply(position, reply, cx)? {
                            return Ok(done);
                        }
                    }
                },
                Stage::Pausing(retry) if !retry.is_due(&cx.env.executor()) => {
                    self.stage = Stage::Pausing(retry);
                    return Ok(Progress::Wait);
                }
                Stage::Pausing(_) => {}
            }
        }
    }

    /// Nothing is locked: begins to lock.
    fn begin(&mut self, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        if self.places.is_empty() {
            return Ok(Some(Progress::Done(Completion::default())));
        }
        cx.core.locks.begin(cx.core.client.id, LocksOf::Tables, cx.env);
        self.ask(0, cx).map(|()| None)
    }

    fn ask(&mut self, position: usize, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        let Place { table, slot, mode } = self.places[position];
        let left = self.deadline.since(cx.env.now.monotonic).as_millis();
        let wait = LockWait::Wait { timeout_ms: u32::try_from(left).unwrap_or(u32::MAX) };
        // The key that no row has.
        let request = cx.lock_key(table, slot, Box::default(), (mode, wait))?;
        self.stage = Stage::Asking { position, request };
        Ok(())
    }

    fn on_reply(
        &mut self,
        position: usize,
        reply: Reply,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let refusal = match reply {
            Reply::Read(Ok(batch)) => {
                if let Some(open) = &mut cx.core.locks.open {
                    open.holds(self.places[position].slot, batch.operations);
                }
                if position + 1 < self.places.len() {
                    return self.ask(position + 1, cx).map(|()| None);
                }
                if cx.core.locks.open.as_ref().is_none_or(TransactionClient::is_doomed) {
                    return Err(lost_lock());
                }
                let modes = self.wanted.iter().map(|(table, mode)| (table.id, *mode)).collect();
                cx.core.locks.keep_tables(modes);
                let tables = cx.core.locks.of_tables();
                cx.core.client.transaction.set_locked_tables(tables);
                return Ok(Some(Progress::Done(Completion::default())));
            }
            Reply::Read(Err(refusal)) => refusal,
            Reply::Write(_)
            | Reply::Rollback { .. }
            | Reply::Commit(_)
            | Reply::Sequence { .. }
            | Reply::SchemaInstalled { .. }
            | Reply::Backfilled(_)
            | Reply::Info(_)
            | Reply::Failed(_)
            | Reply::Lost => return Err(lost_lock()),
        };
        // Writers that have some rows and want others go first: of a cycle it is always this one that gives way.
        if matches!(refusal, Refusal::Deadlock { .. }) {
            cx.core.locks.drop_open(cx.env);
            if cx.env.now.monotonic >= self.deadline {
                return Err(Failure::Error(lock_wait_timeout()));
            }
            self.stage = Stage::Pausing(Retry::after(PAUSE, cx.core.client.id, &mut cx.env.executor()));
            return Ok(None);
        }
        Err(failure_of(refusal, ""))
    }
}

/// Locks on their way back: whoever waits for them may have them when all primaries have answered.
pub(crate) struct GivingBack {
    open: Vec<RequestId>,
}

impl GivingBack {
    /// Gives back what the session's open locks hold.
    pub(crate) fn begin(cx: &mut Cx<'_, '_>) -> Self {
        let mut open = Vec::new();
        let Some((transaction, slots)) =
            cx.core.locks.open.as_ref().and_then(|locks| Some((locks.id()?, locks.participants())))
        else {
            return Self { open };
        };
        for slot in slots {
            let Some(primary) = cx.env.module.site.map.primary(slot) else { continue };
            let request = cx.core.client.inbox.register(primary, RequestKind::Other);
            cx.env.send(primary, Signal::RollbackTo { request, transaction, slot, operations: 0 });
            open.push(request);
        }
        Self { open }
    }

    /// Whether all have answered. A lost primary has nothing any more; one that has not heard of it is told again.
    pub(crate) fn is_done(&mut self, cx: &mut Cx<'_, '_>) -> bool {
        self.open.retain(|request| cx.core.client.inbox.take(*request).is_none());
        if self.open.is_empty() {
            cx.core.locks.drop_open(cx.env);
        }
        self.open.is_empty()
    }
}

impl Cx<'_, '_> {
    /// Asks a primary for a lock of the transaction that is open in the session's locks.
    pub(crate) fn lock_key(
        &mut self,
        table: TableRef,
        slot: SlotId,
        key: Box<[u8]>,
        lock: (LockMode, LockWait),
    ) -> Result<RequestId, Failure> {
        let to = self.executor().primary(slot)?;
        let (view, now) = (self.env.module.site.map.view.number, self.env.now.monotonic);
        let Some(open) = &mut self.core.locks.open else { return Err(lost_lock()) };
        open.note_use(table, now);
        let known = open.touch(slot, view, false);
        let transaction = open.id();
        let program = ReadProgram {
            table,
            filter: None,
            output: ReadOutput::Columns(Vec::new()),
            with_primary_key: false,
            with_index_key: false,
            context: self.statement.program_context(self.statement.settings),
        };
        let request = self.core.client.inbox.register(to, RequestKind::Change);
        let read = ReadRequest {
            request,
            transaction,
            lock: Some(lock),
            slot,
            program: Arc::new(program),
            access: Access::Keys(vec![key]),
            known,
            under: None,
        };
        self.env.send(to, Signal::Read(Box::new(read)));
        Ok(request)
    }
}
