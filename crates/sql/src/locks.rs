//! The session locks of a session: tables (LOCK TABLES) and names (GET_LOCK).
//!
//! Each is an internal transaction of the session that locks and never writes, so COMMIT and ROLLBACK of the session's
//! own transaction leave it alone. All tables of a LOCK TABLES are one; each name is one. To unlock is to abort.
//!
//! *Failures.* Locks are at primaries and nowhere else: if one is lost, so is the lock. The session hears of it: behind
//! a lost table lock its next statement fails, and its own transaction is doomed; behind a lost name its connection
//! ends.
//!
//! *Deadlocks.* The transactions of a session wait for each other's ends, though they are separate. So a probe that
//! asks for any of them goes on to where the session waits now (`SessionCore::on_probe`).
//!
//! `lock_tables` and `user_locks` ask for the locks, by `lock_request`.

mod lock_request;
pub(crate) mod lock_tables;
pub(crate) mod user_locks;

use crate::environment::Environment;
use executor::transaction_client::TransactionClient;
use planner::plan::Plan;
use protocol::SqlError;
use protocol::program::{LockMode, TableRef};
use stdx::Instant;
use types::{SlotId, TableId, TableKind, TransactionId};

/// The purpose of a transaction of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LocksOf {
    /// LOCK TABLES.
    Tables,
    /// GET_LOCK.
    Name,
}

/// A name that the session has locked.
#[derive(Debug)]
pub(crate) struct NamedLock {
    /// As it is locked: in lower case.
    pub(crate) name: String,
    /// How often it was got and not released.
    pub(crate) count: u32,
    pub(crate) transaction: TransactionClient,
}

/// Tables that the session has locked.
#[derive(Debug)]
struct LockedTables {
    modes: Vec<(TableId, LockMode)>,
    transaction: TransactionClient,
}

/// All locks of a session that are not its transaction's.
#[derive(Debug, Default)]
pub(crate) struct SessionLocks {
    tables: Option<LockedTables>,
    pub(crate) names: Vec<NamedLock>,
    /// The transaction of locks that the running statement asks for, or gives back.
    pub(crate) open: Option<TransactionClient>,
}

impl SessionLocks {
    fn transactions(&self) -> impl Iterator<Item = &TransactionClient> {
        let tables = self.tables.iter().map(|tables| &tables.transaction);
        tables.chain(self.names.iter().map(|name| &name.transaction)).chain(&self.open)
    }

    fn transactions_mut(&mut self) -> impl Iterator<Item = &mut TransactionClient> {
        let tables = self.tables.iter_mut().map(|tables| &mut tables.transaction);
        tables.chain(self.names.iter_mut().map(|name| &mut name.transaction)).chain(&mut self.open)
    }

    // ---- tables -----------------------------------------------------------------------------------------------------

    /// The transaction that has locked tables.
    #[inline]
    pub(crate) fn of_tables(&self) -> Option<TransactionId> {
        self.tables.as_ref().and_then(|tables| tables.transaction.id())
    }

    /// The locks that the running statement asked for are there.
    pub(crate) fn keep_tables(&mut self, modes: Vec<(TableId, LockMode)>) {
        if let Some(transaction) = self.open.take() {
            self.tables = Some(LockedTables { modes, transaction });
        }
    }

    /// The running statement gives the tables back.
    pub(crate) fn open_tables(&mut self) -> bool {
        match self.tables.take() {
            Some(tables) => {
                self.open = Some(tables.transaction);
                true
            }
            None => false,
        }
    }

    /// A primary that held table locks is gone, so they are void.
    pub(crate) fn has_void_tables(&self) -> bool {
        self.tables.as_ref().is_some_and(|tables| tables.transaction.is_doomed())
    }

    /// Whether a statement may run while tables are locked: it uses no others, and changes none that is locked for
    /// reading.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), SqlError> {
        let Some(tables) = &self.tables else { return Ok(()) };
        if matches!(plan, Plan::Ddl(_)) || matches!(plan, Plan::Temporary(ddl) if ddl.rest.is_some()) {
            let text = "Can't execute the given command because you have active locked tables or an active transaction";
            return Err(SqlError::new(1192, text));
        }
        let changed: Vec<_> = plan.changed().map(|table| table.id).collect();
        for table in plan
            .tables()
            .into_iter()
            .filter(|table| table.kind == TableKind::User && !table.id.is_temporary())
        {
            let name = &table.name;
            match tables.modes.iter().find(|(locked, _)| *locked == table.id) {
                None => {
                    let text = format!("Table '{name}' was not locked with LOCK TABLES");
                    return Err(SqlError::new(1100, text));
                }
                Some((_, LockMode::Shared)) if changed.contains(&table.id) => {
                    let text = format!("Table '{name}' was locked with a READ lock and can't be updated");
                    return Err(SqlError::new(1099, text));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Tables that nobody may change in form while they are locked.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (TableRef, Instant)> {
        self.transactions().flat_map(TransactionClient::uses)
    }

    // ---- transactions -----------------------------------------------------------------------------------------------

    /// Whether a transaction is one of these.
    pub(crate) fn has(&self, transaction: TransactionId) -> bool {
        self.transactions().any(|own| own.id() == Some(transaction))
    }

    /// Whether a slot may hold something of this transaction.
    pub(crate) fn takes_part(&self, transaction: TransactionId, slot: SlotId) -> bool {
        self.transactions().any(|own| own.takes_part(transaction, slot))
    }

    /// Some primaries are gone: what they held is void.
    pub(crate) fn void(&mut self, is_gone: impl Fn(SlotId, types::ViewNumber) -> bool) {
        self.transactions_mut().for_each(|own| own.void_participants(&is_gone));
    }

    /// A name whose lock is void: its primary is gone.
    pub(crate) fn void_name(&self) -> Option<&str> {
        self.names.iter().find(|lock| lock.transaction.is_doomed()).map(|lock| lock.name.as_str())
    }

    /// The locks that these have, or may have, at primaries on a node.
    pub(crate) fn held_at(&self, node: types::NodeId, map: &query::NodeMap) -> Vec<(TransactionId, SlotId)> {
        self.transactions().flat_map(|own| own.held_at(node, map)).collect()
    }

    /// A new transaction for locks that the running statement asks for.
    pub(crate) fn begin(&mut self, connection_id: u32, of: LocksOf, env: &mut Environment<'_>) {
        self.drop_open(env);
        let mut transaction = TransactionClient::default();
        transaction.begin(false);
        let site = &mut env.module.site;
        transaction.id_or_new(|| match of {
            LocksOf::Tables => site.begin_table_locks(connection_id),
            LocksOf::Name => site.begin_locks(connection_id),
        });
        self.open = Some(transaction);
    }

    /// The locks that the running statement asked for are not wanted any more, or given back.
    pub(crate) fn drop_open(&mut self, env: &mut Environment<'_>) {
        if let Some(mut open) = self.open.take() {
            release(&mut open, env);
        }
    }

    /// The session is over, or begins anew.
    pub(crate) fn release_all(&mut self, env: &mut Environment<'_>) {
        self.transactions_mut().for_each(|own| release(own, env));
        *self = Self::default();
    }
}

fn release(transaction: &mut TransactionClient, env: &mut Environment<'_>) {
    env.module.site.forget_transaction(transaction.id());
    transaction.abort(&mut env.executor());
}
