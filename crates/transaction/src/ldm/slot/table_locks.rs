//! LOCK TABLES at a primary: who may have a table as a whole, and who must keep away from its rows.
//!
//! A request locks the key of no bytes ([`LockKey::whole`]) like a row. It waits until nobody else has changed or
//! locked rows of the table in the slot, and until nobody holds the table against it. From then on, and while it
//! waits, others are stopped in front of the table. So a table that nobody locks costs a writer one look at
//! [`Locks::has_tables`](crate::locks::Locks::has_tables).
//!
//! Holders, waits, timeouts, deadlocks, hand-overs and failures are those of row locks.
//!
//! Deliberately not here: reads without locks, which go on, and the order in which slots are locked, which is the
//! session's.

use super::Slot;
use super::lock_wait::Waiting;
use super::transaction::Operation;
use crate::ldm::Context;
use crate::locks::{self, LockKey, Locks, WaitId};
use protocol::program::LockMode;
use types::{TableId, TransactionId};

impl Slot {
    /// The table, if it keeps a transaction, which works `under` another, from changing or locking a row of it.
    #[inline]
    pub(super) fn closed_table(
        &self,
        table: TableId,
        transactions: (TransactionId, Option<TransactionId>),
        mode: LockMode,
        place: locks::Place,
        context: &Context<'_>,
    ) -> Option<LockKey> {
        if !context.locks.has_tables() || !context.locks.has_table(self.id, table) {
            return None;
        }
        let key = LockKey::whole(self.id, table);
        let has_some = || self.has_rows_of(transactions.0, table);
        context.locks.is_table_closed(&key, transactions, mode, place, has_some).then_some(key)
    }

    /// Whether anybody keeps a transaction from having a table as a whole.
    pub(super) fn is_table_taken(
        &self,
        key: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        place: locks::Place,
        context: &Context<'_>,
    ) -> bool {
        context.locks.is_table_taken(key, transaction, mode, place)
            || !self.users_of(key, transaction, mode, context.locks).is_empty()
    }

    /// Whether a transaction has changed or locked rows of a table.
    fn has_rows_of(&self, transaction: TransactionId, table: TableId) -> bool {
        self.held.get(&transaction).is_some_and(|held| {
            let is_row = |operation: &Operation| match operation {
                Operation::Locked(key) => key.table == table && !key.is_whole(),
                Operation::Staged { .. } => false,
            };
            held.tables.iter().any(|(known, _)| known.id == table) || held.operations.iter().any(is_row)
        })
    }

    /// Other transactions that have rows of a table in a way that does not go with its lock.
    fn users_of(
        &self,
        key: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        locks: &Locks,
    ) -> Vec<TransactionId> {
        let in_the_way = |other: TransactionId, operation: &Operation| match operation {
            Operation::Locked(row) if row.table == key.table && !row.is_whole() => {
                mode == LockMode::Exclusive || locks.mode_of(row, other) == Some(LockMode::Exclusive)
            }
            Operation::Locked(_) | Operation::Staged { .. } => false,
        };
        let others = self.held.iter().filter(|(other, _)| **other != transaction);
        let users = others.filter(|(other, held)| {
            held.tables.iter().any(|(known, _)| known.id == key.table)
                || held.operations.iter().any(|operation| in_the_way(**other, operation))
        });
        let mut users: Vec<TransactionId> = users.map(|(other, _)| *other).collect();
        users.sort_unstable();
        users
    }

    /// The first who waits at a table and whose turn it is.
    pub(in crate::ldm) fn first_at_table(&self, key: &LockKey, locks: &Locks) -> Option<WaitId> {
        let is_used = |transaction, mode| !self.users_of(key, transaction, mode, locks).is_empty();
        let has_some = |transaction| self.has_rows_of(transaction, key.table);
        locks.first_grantable_of_table(key, is_used, has_some)
    }

    /// The transactions that a waiter at a table waits for.
    pub(in crate::ldm) fn blockers_at_table(
        &self,
        wait: WaitId,
        waiting: &Waiting,
        locks: &Locks,
    ) -> Vec<TransactionId> {
        let (key, transaction) = (&waiting.key, waiting.transaction);
        let mut blockers = locks.holders(key, transaction, None);
        blockers.extend(locks.waiters_before(key, wait));
        if let Some(mode) = waiting.run.table_mode() {
            blockers.extend(self.users_of(key, transaction, mode, locks));
        }
        blockers.sort_unstable();
        blockers.dedup();
        blockers.retain(|other| *other != transaction);
        blockers
    }

    /// A transaction has less in the slot than before: those who wait for tables may go on.
    #[inline]
    pub(super) fn serve_tables(&self, context: &mut Context<'_>) {
        if context.locks.has_tables() {
            context.waits.to_serve.extend(context.locks.tables_waited_for(self.id));
        }
    }
}
