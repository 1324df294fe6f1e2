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
use super::lock_request::{GivingBack, LockRequest, Locked, let_go_and_pause};
use crate::statement::Cx;
use executor::locked_reader::lost_lock;
use executor::transaction_client::TransactionClient;
use executor::{Completion, Failure, Progress, Retry, failure_of, lock_wait_timeout, table_ref};
use protocol::program::{LockMode, LockWait, Refusal, TableRef};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{SlotId, TableDefinition};

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
    Asking { position: usize, request: LockRequest },
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
            let slots = map.slots_of(table.id);
            let mut tables = vec![table_ref(table)];
            for hidden in table.hidden_tables() {
                tables.push(table_ref(&cx.executor().hidden_info(hidden)?.definition));
            }
            for table in tables {
                places.extend(slots.iter().map(|slot| Place { table, slot: *slot, mode: *mode }));
            }
        }
        places.sort_unstable();
        let patience = Duration::from_secs(cx.core.variables.timeouts.ddl_wait_s.into());
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
                Stage::Asking { position, request } => match request.poll(cx) {
                    None => {
                        self.stage = Stage::Asking { position, request };
                        return Ok(Progress::Wait);
                    }
                    Some(locked) => {
                        if let Some(done) = self.on_locked(position, locked, cx)? {
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
        let request = LockRequest::ask(table, slot, Box::default(), (mode, wait), cx)?;
        self.stage = Stage::Asking { position, request };
        Ok(())
    }

    fn on_locked(
        &mut self,
        position: usize,
        locked: Locked,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let refusal = match locked {
            Locked::Yes => {
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
            Locked::Refused(refusal) => refusal,
            Locked::Lost => return Err(lost_lock()),
        };
        // Writers that have some rows and want others go first: of a cycle it is always this one that gives way.
        if matches!(refusal, Refusal::Deadlock { .. }) {
            if cx.env.now.monotonic >= self.deadline {
                return Err(Failure::Error(lock_wait_timeout()));
            }
            self.stage = Stage::Pausing(let_go_and_pause(cx));
            return Ok(None);
        }
        Err(failure_of(refusal, ""))
    }
}
