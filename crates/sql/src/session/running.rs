//! The statement that runs: execution, then commit or undoing, then the reply.
//!
//! ```text
//! [BeforeRun: commit what DDL and BEGIN end] -> Execute --done--> [Commit] -> reply
//!                                                  | failed
//!                                                  v
//!                    Undo (RollbackTo everywhere) -> reply the error, or Backoff -> Execute again
//! ```
//! Requests of the statement that are still on their way or wait for locks need not be answered before it is undone.
//! RollbackTo takes the same road behind them, and ends their waits. KILL QUERY is such a failure (1317), too; once a
//! commit is on its way, alone or with the statement's only request, its outcome is awaited and told. ROLLBACK is
//! answered when all is undone.
//!
//! A statement runs again, unseen by the client, in three cases. The view changed before it did anything, the table has
//! another version than it was planned for, or an AUTO_INCREMENT value that it drew was taken. It never does after a
//! part of its result was sent.
//!
//! | file | what |
//! | --- | --- |
//! | `execution` | the statement's own steps, and what must be done before them |
//! | `commit` | the commit that it begins |
//! | `failure` | undoing it, and running it again |
//! | `stop` | what ends it from outside: KILL QUERY, max_execution_time |
//!
//! Invariants: there is exactly one reply per statement. A statement that failed has left nothing at any participant
//! when its error is sent, or its whole transaction is aborted. An unknown outcome is never called an error that may be
//! retried: 1180, and the connection closes.
#![expect(clippy::wildcard_enum_match_arm, reason = "plans and answers that are not named are treated alike")]

mod commit;
mod durable;
mod execution;
mod failure;
mod stop;

use super::Session;
use super::client_memory::{LARGE_HOLDING, LARGE_TEXT};
use super::control::Assigned;
use super::kill::KillRun;
use super::point::Answered;
use crate::analyze::Analyze;
use crate::ddl_job::DdlRun;
use crate::environment::Environment;
use crate::locks::lock_tables::LockTablesRun;
use crate::locks::user_locks::UserLockRun;
use crate::result_set::ResultSet;
use crate::select_into::SelectInto;
use crate::statement::Statement;
use crate::statement_cache::CachedStatement;
use crate::temporary_ddl::TemporaryRun;
use durable::DurableWait;
use executor::change::ChangeRun;
use executor::commit::CommitRun;
use executor::insert::InsertRun;
use executor::modify::ModifyRun;
use executor::select::SelectRun;
use executor::{Completion, Retry, table_ref};
use expression::Woken;
use mysql_protocol::result::RowFormat;
use planner::LAST_INSERT_ID;
use planner::plan::{Plan, SessionValue, Show, Source};
use protocol::placement::ReadPlacement;
use protocol::program::TableRef;
use protocol::signal::RequestId;
use protocol::{Address, SqlError};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{SlotId, Value, ViewNumber};

/// How long a statement waits for another view or schema in all: attempts times interval.
const ATTEMPTS_MAX: u32 = 100;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(20);
/// The longest time until a sleeping session looks whether it still sleeps.
const NAP_MAX: Duration = Duration::from_secs(10);
/// Parameters for which a session keeps room while no statement runs.
const KEPT_PARAMETERS_MAX: usize = 64;
/// How often a statement draws other AUTO_INCREMENT values; each time twice as many are passed over.
const DRAWS_MAX: u32 = 20;

/// Where a statement's text is, to be planned again.
#[derive(Clone, Debug)]
pub(super) enum TextSource {
    /// As it came, with its literals.
    Text(Box<str>),
    /// The text of a prepared statement.
    Prepared(Arc<str>),
}

enum Execution {
    Select(Box<ResultSet>),
    SelectInto(Box<SelectInto>),
    /// The query of a SET or DO with subqueries.
    SetQuery(Box<SelectInto>),
    Analyze(Box<Analyze>),
    Insert(Box<InsertRun>),
    Modify(Box<ModifyRun>),
    Change(Box<ChangeRun>),
    Ddl(Box<DdlRun>),
    Temporary(Box<TemporaryRun>),
    LockTables(Box<LockTablesRun>),
    Kill(KillRun),
    /// There is nothing to do but to commit, roll back or undo.
    Nothing(Completion),
    /// A SET or DO that sleeps.
    Set,
}

impl Execution {
    fn select(run: SelectRun) -> Self {
        Execution::Select(Box::new(ResultSet::new(run)))
    }
}

/// A SLEEP of the statement.
struct Nap {
    until: Instant,
    /// When the session looks again.
    alarm_at: Instant,
}

/// The step after the statement is undone.
enum After {
    Report(SqlError),
    RunAgain,
    Reply(Completion),
    /// ROLLBACK: the transaction is over.
    End,
}

enum Stage {
    /// The transaction before must be committed first.
    BeforeRun,
    /// GET_LOCK and its kin: the session value that is called next, and the call under way.
    UserLocks {
        next: usize,
        run: Option<Box<UserLockRun>>,
    },
    Execute(Execution),
    Commit {
        commit: CommitRun,
        then: AfterCommit,
    },
    Undo {
        open: Vec<(RequestId, SlotId, u32)>,
        after: After,
    },
    Backoff(Retry),
    /// It has committed, and is answered when that is durable.
    Durable(DurableWait),
}

enum AfterCommit {
    Reply(Completion),
    Execute,
    /// The variables of a SET with subqueries are set.
    Set(Box<Assigned>),
}

/// A statement that runs.
pub(super) struct Running {
    statement: Statement,
    source: TextSource,
    stage: Option<Stage>,
    /// How often it has waited for a view or schema.
    attempts: u32,
    /// In which the last attempt began.
    view: ViewNumber,
    /// The session's values after a SET that changes the cluster's variables, while its job runs.
    assigned: Option<Box<Assigned>>,
    /// How often it has drawn AUTO_INCREMENT values.
    draws: u32,
    /// Calls of GET_LOCK and its kin are still to be made.
    calls_user_locks: bool,
    nap: Option<Nap>,
    /// max_execution_time of a SELECT.
    until: Option<Instant>,
    /// KILL QUERY has come.
    is_killed: bool,
    /// Its table has a version that it may not meet.
    is_outdated: bool,
    /// It is answered when everything that the session has committed is durable: the session wants that, a table that
    /// it or its transaction has changed, or it is DDL.
    asks_durable: bool,
    /// A table that it wants to change is being copied: until when it waits.
    closed_until: Option<Instant>,
    /// The prepared statement that a cursor is opened for.
    cursor_of: Option<u32>,
    /// KILL QUERY came while its commit was on its way: the question to the participant whether it can be undone.
    stop: Option<RequestId>,
}

enum Step {
    Wait,
    Spent,
    Finished,
}

impl Running {
    /// The text that the client sent.
    pub(super) fn text(&self) -> &str {
        match &self.source {
            TextSource::Text(text) => text,
            TextSource::Prepared(text) => text,
        }
    }

    /// The reason for which it waits, if it is DDL or LOCK TABLES, or for a disk.
    pub(super) fn waits_for(&self) -> Option<String> {
        match &self.stage {
            Some(Stage::Durable(_)) => Some("waiting for handler commit".to_owned()),
            _ if self.closed_until.is_some() => Some("Waiting for table metadata lock".to_owned()),
            Some(Stage::Execute(Execution::Ddl(run))) => run.waits_for(),
            Some(Stage::Execute(Execution::LockTables(run))) => Some(run.waits_for()),
            Some(Stage::UserLocks { run: Some(run), .. }) => Some(run.waits_for().to_owned()),
            _ => None,
        }
    }

    /// The tables that it reads or changes; none while it waits until it may.
    pub(super) fn tables(&self) -> impl Iterator<Item = TableRef> {
        let plan = &self.statement.cached.prepared.plan;
        let waits = match &self.stage {
            Some(Stage::Execute(Execution::Ddl(run))) => !run.reads(),
            _ => self.closed_until.is_some() || matches!(plan, Plan::Ddl(_)),
        };
        let tables = if waits { Vec::new() } else { plan.tables() };
        tables.into_iter().map(|table| table_ref(table))
    }

    /// KILL QUERY.
    pub(super) fn kill(&mut self) {
        self.is_killed = true;
    }

    /// Its table has a version that it may not meet.
    pub(super) fn leave_table(&mut self) {
        self.is_outdated = true;
    }

    /// The session ends under it.
    pub(super) fn abandon(&mut self, env: &mut Environment<'_>) {
        if let Some(Stage::Execute(Execution::Ddl(run))) = &mut self.stage {
            run.abandon(env);
        }
    }

    /// The coordinator whose answer to a COMMIT is awaited.
    pub(super) fn coordinator(&self) -> Option<(RequestId, Address)> {
        match &self.stage {
            Some(Stage::Commit { commit, .. }) => commit.waits_for(),
            _ => None,
        }
    }

    /// True if it does nothing but sleep, and says itself that it was interrupted.
    fn is_sleep_alone(&self) -> bool {
        let Plan::Select(plan) = &self.statement.cached.prepared.plan else { return false };
        matches!(plan.source, Source::Nothing) && plan.having.is_none() && plan.grouping.is_none()
    }

    fn wake(&mut self, woken: Woken) {
        self.nap = None;
        if let Some(volatile) = &self.statement.run.volatile {
            volatile.wake(woken);
        }
    }

    /// True while the outcome of a COMMIT is awaited.
    pub(super) fn is_committing(&self) -> bool {
        matches!(self.stage, Some(Stage::Commit { .. }))
    }
}

impl Session {
    /// Answers a point select, a list or a chain of keys at once; false if the statement must be begun.
    pub(super) fn try_point(
        &mut self,
        env: &mut Environment<'_>,
        cached: &CachedStatement,
        parameters: &[Value],
        format: RowFormat,
    ) -> bool {
        let Some(point) = &cached.point else { return self.try_keys(env, cached, parameters, format) };
        if !self.may_answer_at_once(env) {
            return false;
        }
        match point.run(cached, parameters, format, &mut self.core, env) {
            Ok(answered) => answered == Answered::Yes,
            // The executor meets the same failure and reports it.
            Err(_) => false,
        }
    }

    /// Whether reads may be answered on this thread, without a transaction being begun or ended.
    #[inline]
    fn may_answer_at_once(&self, env: &Environment<'_>) -> bool {
        let is_open = self.core.client.transaction.is_open();
        !self.core.client.transaction.is_marked()
            && (self.core.variables.autocommit || is_open)
            && env.module.site.read_placement != ReadPlacement::Owner
    }

    /// The same for a list or a chain of keys.
    fn try_keys(
        &mut self,
        env: &mut Environment<'_>,
        cached: &CachedStatement,
        parameters: &[Value],
        format: RowFormat,
    ) -> bool {
        if !self.may_answer_at_once(env) {
            return false;
        }
        let answered = match (&cached.list, &cached.chain) {
            (Some(list), _) => list.run(cached, parameters, format, &mut self.core, env),
            (None, Some(chain)) => chain.run(cached, parameters, format, &mut self.core, env),
            (None, None) => return false,
        };
        // The executor meets the same failure and reports it.
        answered.is_ok_and(|answered| answered == Answered::Yes)
    }

    /// Begins a statement.
    pub(super) fn begin(
        &mut self,
        env: &mut Environment<'_>,
        cached: Arc<CachedStatement>,
        parameters: Vec<Value>,
        format: RowFormat,
        source: TextSource,
    ) {
        env.module.statement_counts.count(&cached.prepared);
        if let Plan::Named(statement) = &cached.prepared.plan {
            return self.named_statement(env, statement);
        }
        let keeps_diagnostics = matches!(&cached.prepared.plan, Plan::Show(plan) if matches!(plan.what, Show::Diagnostics { .. } | Show::DiagnosticsCount(_)));
        let is_count = |value: &SessionValue| matches!(value, SessionValue::Variable(name) if name == "warning_count" || name == "error_count");
        let asks_for_diagnostics = cached.prepared.session_values.iter().any(is_count);
        let statement = self.statement_of(env, cached, parameters, format);
        if keeps_diagnostics || asks_for_diagnostics {
            self.core.client.diagnostics.keep();
        } else {
            self.core.client.diagnostics.clear();
        }
        for (code, message) in &statement.cached.prepared.warnings {
            self.core.client.diagnostics.warn(*code, message.clone());
        }
        if let Err(error) = self.check_transaction(env, &statement.cached.prepared.plan) {
            return self.end_with_error(env, &error);
        }
        let calls_user_locks = statement.cached.prepared.calls_user_locks();
        let done = if calls_user_locks { None } else { self.control(env, &statement) };
        match done {
            Some(Ok(completion)) => {
                self.reply_completion(env, &completion, &statement);
            }
            Some(Err(error)) => {
                self.keep_at_end(&statement);
                self.end_with_error(env, &error);
            }
            None => {
                let running = Running {
                    source,
                    stage: Some(Stage::BeforeRun),
                    attempts: 0,
                    view: env.module.site.map.view.number,
                    assigned: None,
                    draws: 0,
                    calls_user_locks,
                    nap: None,
                    until: self.watch_execution(env, &statement),
                    asks_durable: self.core.variables.awaits_durable || statement.cached.asks_durable,
                    statement,
                    is_killed: false,
                    is_outdated: false,
                    closed_until: None,
                    cursor_of: self.opening.wanted.take(),
                    stop: None,
                };
                let is_large = running.text().len() >= LARGE_TEXT;
                self.running = Some(Box::new(running));
                if is_large && let Err(error) = self.account(env) {
                    self.running = None;
                    return self.end_with_error(env, &error);
                }
                self.run(env);
            }
        }
    }

    /// Until when a SELECT may run: max_execution_time.
    fn watch_execution(&self, env: &mut Environment<'_>, statement: &Statement) -> Option<Instant> {
        let time = self.core.variables.timeouts.execution_ms_max;
        let prepared = &statement.cached.prepared;
        let is_select = matches!(prepared.plan, Plan::Select(_)) && prepared.sets.is_empty();
        if time == 0 || !is_select {
            return None;
        }
        let until = env.now.monotonic + Duration::from_millis(time.into());
        env.module.site.wakes.register(until, self.core.client.id);
        Some(until)
    }

    /// The part of the session that the statement sees.
    fn statement_of(
        &self,
        env: &mut Environment<'_>,
        cached: Arc<CachedStatement>,
        mut parameters: Vec<Value>,
        format: RowFormat,
    ) -> Statement {
        for name in &cached.prepared.session_values {
            parameters.push(self.core.session_value(name).unwrap_or(Value::Null));
        }
        let variables = &self.core.variables;
        let is_volatile = cached.prepared.is_volatile;
        let volatile = is_volatile.then(|| {
            let volatile = env.module.volatile(env.now, variables.modes.is_strict);
            Box::new(volatile.with_variables(self.core.assigned_variables(&cached.prepared.assigned)))
        });
        let table = if is_volatile { cached.prepared.plan.table().map(Arc::clone) } else { None };
        let mut run = executor::Statement {
            parameters,
            settings: self.core.settings(env.now),
            is_strict: variables.modes.is_strict,
            connection_id: self.core.client.id,
            last_insert_id: self.core.client.last_insert_id,
            database: self.core.database.clone(),
            user: Arc::clone(&self.core.user),
            volatile,
            table,
            is_for_a_row: false,
            options: self.core.options(),
        };
        if cached.prepared.plan.stores_query() {
            run.settings = run.store_settings();
        }
        Statement { cached, format, run }
    }

    /// Keeps the user variables that a statement has assigned, even if it failed; the value that it gave
    /// LAST_INSERT_ID(expression).
    fn keep_assigned(&mut self, statement: &Statement) -> Option<u64> {
        let volatile = statement.run.volatile.as_ref()?;
        let mut last_insert_id = None;
        for (number, variable) in volatile.variables().take_assigned() {
            match statement.cached.prepared.assigned.get(number) {
                Some(name) if name == LAST_INSERT_ID => {
                    let is_number = if let Value::UInt(id) = variable.value { Some(id) } else { None };
                    last_insert_id = Some(is_number.unwrap_or(0));
                }
                // They were weighed when they were assigned.
                Some(name) => {
                    let _ = self.core.user_variables.set(name, variable.value, variable.sql_type);
                }
                None => {}
            }
        }
        last_insert_id
    }

    /// The same when the statement has ended.
    fn keep_at_end(&mut self, statement: &Statement) {
        if let Some(id) = self.keep_assigned(statement) {
            self.core.client.last_insert_id = id;
        }
    }

    /// Runs the statement until it waits, its budget is spent, or it is answered; then those that follow it.
    pub(super) fn run(&mut self, env: &mut Environment<'_>) {
        while let Some(mut running) = self.running.take() {
            let stopped = self.stop_running(env, &mut running);
            match stopped.unwrap_or_else(|| self.step(env, &mut running)) {
                Step::Wait => {
                    self.running = Some(running);
                    // A request to a node after it was lost gets no answer from anybody else.
                    if !self.core.client.inbox.nodes_lost(&env.module.site.map.lost) {
                        return;
                    }
                }
                Step::Spent => {
                    self.running = Some(running);
                    self.later(env);
                    return;
                }
                Step::Finished => {
                    self.opening.opened = None;
                    self.keep_at_end(&running.statement);
                    self.keep_room(&mut running.statement.run.parameters);
                    self.core.client.end_statement(env.outputs);
                    if self.holding.bytes() > LARGE_HOLDING {
                        self.account_or_reject(env);
                    }
                    self.watch_inactivity(env);
                }
            }
        }
    }

    /// The list of a statement's parameters is that of the next one, unless it is long.
    fn keep_room(&mut self, parameters: &mut Vec<Value>) {
        if parameters.capacity() <= KEPT_PARAMETERS_MAX {
            parameters.clear();
            self.normalized.parameters = std::mem::take(parameters);
        }
    }

    fn step(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Step {
        loop {
            let Some(stage) = running.stage.take() else { return Step::Finished };
            let step = match stage {
                Stage::BeforeRun if running.calls_user_locks => self.call_user_locks(env, running, 0, None),
                Stage::UserLocks { next, run } => self.call_user_locks(env, running, next, run),
                Stage::BeforeRun => self.before_run(env, running),
                Stage::Execute(execution) => self.execute(env, running, execution),
                Stage::Commit { commit, then } => self.poll_commit(env, running, commit, then),
                Stage::Undo { open, after } => self.poll_undo(env, running, open, after),
                Stage::Backoff(retry) if !retry.is_due(&env.executor()) => {
                    running.stage = Some(Stage::Backoff(retry));
                    Some(Step::Wait)
                }
                Stage::Backoff(_) => self.plan_again(env, running),
                Stage::Durable(wait) => self.poll_durable(env, running, wait),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn finish(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        completion: &Completion,
    ) -> Option<Step> {
        if running.asks_durable && self.awaits_durable(env, running, completion) {
            return None;
        }
        self.reply_completion(env, completion, &running.statement);
        Some(Step::Finished)
    }

    /// The reply of a statement that succeeded.
    fn reply_completion(
        &mut self,
        env: &mut Environment<'_>,
        completion: &Completion,
        statement: &Statement,
    ) {
        let given_id = self.keep_assigned(statement).filter(|_| !completion.has_drawn_id);
        if let Some(id) = given_id {
            self.core.client.last_insert_id = id;
        }
        if completion.is_result_set {
            self.core.row_count = -1;
            self.core.found_rows = completion.row_count;
            if let Some((id, cursor)) = self.opening.opened.take() {
                return self.open_cursor(env, id, cursor, &statement.cached);
            }
            self.core.reply(env, |writer, core| writer.end_of_rows(core.capabilities, core.end_packet()));
            return;
        }
        self.core.row_count = i64::try_from(completion.affected_rows).unwrap_or(i64::MAX);
        let last_insert_id = match &statement.cached.prepared.plan {
            Plan::Insert(_) | Plan::Ddl(_) | Plan::Temporary(_) => {
                given_id.unwrap_or(completion.last_insert_id)
            }
            _ => given_id.unwrap_or(0),
        };
        self.core.reply_ok(env, completion.affected_rows, last_insert_id, &completion.info);
    }

    /// Ends the statement with an error.
    fn report(&mut self, env: &mut Environment<'_>, error: &SqlError) -> Option<Step> {
        self.end_with_error(env, error);
        Some(Step::Finished)
    }
}

fn table_changed() -> SqlError {
    SqlError::new(1412, "Table definition has changed, please retry transaction")
}
