//! BEGIN, COMMIT, ROLLBACK and savepoints, and where other statements begin or end a transaction.
//!
//! ```text
//! control_transaction --no slot takes part--> done at once
//!      | else
//!      v
//! before (Start | Commit | RollBack) -> [the commit, or the undoing] -> begin_after_commit
//! ```
//! A transaction of the client is open from BEGIN on, or with autocommit off from the first statement on a table. The
//! cluster knows of it from the first write or lock on (`executor::transaction_client`).
//!
//! Deliberately not here: how a commit or an undoing runs (`running`).
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "plans that are not named neither begin nor end a transaction"
)]

use super::Session;
use crate::environment::Environment;
use crate::statement::Statement;
use executor::Completion;
use executor::transaction_client::SAVEPOINTS_MAX;
use planner::plan::{Plan, Source, TransactionStatement};
use protocol::SqlError;
use types::SlotId;

/// The step before a statement is started.
pub(super) enum Before {
    Nothing,
    /// The open transaction is committed; COMMIT is done then, any other statement starts.
    Commit,
    /// ROLLBACK.
    RollBack(Vec<(SlotId, u32)>),
    /// ROLLBACK TO a savepoint.
    RollBackTo(Vec<(SlotId, u32)>),
}

impl Session {
    /// Does a statement of transaction control while no slot takes part; None: it must run.
    pub(super) fn control_transaction(
        &mut self,
        env: &mut Environment<'_>,
        statement: &TransactionStatement,
    ) -> Option<Result<Completion, SqlError>> {
        let transaction = &mut self.core.client.transaction;
        let variables = &mut self.core.variables;
        match statement {
            TransactionStatement::Rollback => {
                if transaction.has_participants() {
                    return None;
                }
                transaction.roll_back_own();
                transaction.end();
                env.module.counters.rollbacks += 1;
            }
            TransactionStatement::Savepoint(name) => {
                if !variables.autocommit && !transaction.is_open() {
                    transaction.begin(variables.read_only.take(None));
                }
                if transaction.is_open() && !transaction.set_savepoint(name) {
                    let text =
                        format!("Out of memory; a transaction has {SAVEPOINTS_MAX} savepoints at most");
                    return Some(Err(SqlError::new(1041, text)));
                }
            }
            TransactionStatement::Release(name) => {
                if !transaction.release_savepoint(name) {
                    return Some(Err(no_savepoint(name)));
                }
            }
            TransactionStatement::RollbackTo(name) => match transaction.rollback_to_savepoint(name) {
                None => return Some(Err(no_savepoint(name))),
                Some(marks) if marks.is_empty() => {}
                Some(_) => return None,
            },
            TransactionStatement::Begin { .. } | TransactionStatement::Commit => {
                // Without participants there is nobody to ask; START TRANSACTION unlocks tables.
                let begins = matches!(statement, TransactionStatement::Begin { .. });
                if transaction.has_participants() || (begins && transaction.has_locked_tables()) {
                    return None;
                }
                transaction.end();
                self.begin_after_commit(statement);
            }
        }
        Some(Ok(Completion::default()))
    }

    /// Whether a statement may begin in the transaction as it is. One that is lost ends here.
    pub(super) fn check_transaction(
        &mut self,
        env: &mut Environment<'_>,
        plan: &Plan,
    ) -> Result<(), SqlError> {
        let is_rollback = matches!(plan, Plan::Transaction(TransactionStatement::Rollback));
        if self.core.client.transaction.is_timed_out() {
            self.core.client.transaction.end();
            if !is_rollback {
                let why = "it was inactive for longer than TransactionInactiveTimeout";
                return Err(SqlError::deadlock(why));
            }
        }
        if self.core.client.transaction.is_doomed() && !is_rollback {
            self.core.client.transaction.abort(&mut env.executor());
            env.module.counters.rollbacks += 1;
            return Err(lost_primary());
        }
        if self.core.client.transaction.has_locked_tables() {
            if self.core.locks.has_void_tables() {
                return Err(self.end_void_tables(env));
            }
            self.core.locks.check(plan)?;
        }
        if self.core.variables.limits.updates_safely && plan.is_unsafe_change() {
            let why = "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. ";
            return Err(SqlError::new(1175, why));
        }
        Ok(())
    }

    /// A primary that held table locks is gone: they are void, and so is the transaction that relied on them.
    pub(super) fn end_void_tables(&mut self, env: &mut Environment<'_>) -> SqlError {
        self.core.client.transaction.abort(&mut env.executor());
        self.core.client.transaction.set_locked_tables(None);
        self.core.locks.open_tables();
        self.core.locks.drop_open(env);
        env.module.counters.rollbacks += 1;
        SqlError::deadlock("the node that held what LOCK TABLES locked is lost; all tables are unlocked")
    }

    /// The transaction that a statement ends before it starts.
    pub(super) fn before(&mut self, statement: &Statement) -> Before {
        let transaction = &mut self.core.client.transaction;
        match &statement.cached.prepared.plan {
            Plan::Transaction(TransactionStatement::RollbackTo(name)) => {
                Before::RollBackTo(transaction.rollback_to_savepoint(name).unwrap_or_default())
            }
            Plan::Transaction(TransactionStatement::Rollback) => Before::RollBack(transaction.undo_all()),
            // A SET that sleeps has been here before.
            _ if statement.run.sleeps() => Before::Nothing,
            Plan::Temporary(ddl) if ddl.commits => Before::Commit,
            Plan::Ddl(_)
            | Plan::Set(_)
            | Plan::LockTables(_)
            | Plan::UnlockTables
            | Plan::Transaction(TransactionStatement::Begin { .. } | TransactionStatement::Commit) => {
                Before::Commit
            }
            _ => Before::Nothing,
        }
    }

    /// BEGIN, when what was open before is committed and tables are unlocked. Nothing for other statements.
    pub(super) fn begin_after_commit(&mut self, statement: &TransactionStatement) {
        if let TransactionStatement::Begin { read_only } = statement {
            let is_read_only = self.core.variables.read_only.take(*read_only);
            self.core.client.transaction.begin(is_read_only);
        }
    }

    /// With autocommit off the first statement on a table begins a transaction; a read-only one refuses changes.
    pub(super) fn enter_transaction(&mut self, statement: &Statement) -> Result<(), SqlError> {
        let plan = &statement.cached.prepared.plan;
        let changes = plan.is_change();
        let reads_table = matches!(plan, Plan::Select(select) if matches!(select.source, Source::Table(_) | Source::Joined { .. }));
        let transaction = &mut self.core.client.transaction;
        let variables = &mut self.core.variables;
        if (changes || reads_table) && !variables.autocommit && !transaction.is_open() {
            transaction.begin(variables.read_only.take(None));
        }
        let is_read_only = match transaction.is_open() {
            true => transaction.is_read_only(),
            // The statement is a transaction.
            false if changes || reads_table => variables.read_only.take(None),
            false => variables.read_only.session,
        };
        let changes_stored = plan.changed().any(|table| !table.id.is_temporary());
        let is_ddl = matches!(plan, Plan::Ddl(_) | Plan::Temporary(_));
        if (changes_stored || is_ddl) && is_read_only {
            return Err(SqlError::new(1792, "Cannot execute statement in a READ ONLY transaction."));
        }
        Ok(())
    }
}

pub(super) fn lost_primary() -> SqlError {
    SqlError::deadlock("the node that held the transaction's writes or locks is lost")
}

fn no_savepoint(name: &str) -> SqlError {
    SqlError::new(1305, format!("SAVEPOINT {name} does not exist"))
}
