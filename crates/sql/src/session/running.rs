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
//! Invariants: there is exactly one reply per statement. A statement that failed has left nothing at any participant
//! when its error is sent, or its whole transaction is aborted. An unknown outcome is never called an error that may be
//! retried: 1180, and the connection closes.
#![expect(clippy::wildcard_enum_match_arm, reason = "plans and answers that are not named are treated alike")]

use super::client_memory::{LARGE_HOLDING, LARGE_TEXT};
use super::control::{Assigned, is_asleep};
use super::point::Answered;
use super::transactions::Before;
use super::{Session, waive_outcome};

use super::kill::KillRun;
use crate::ddl_job::DdlRun;
use crate::environment::Environment;
use crate::locks::lock_tables::LockTablesRun;
use crate::locks::user_locks::{Called, UserLockRun};
use crate::result_set::ResultSet;
use crate::show::VirtualReader;
use crate::statement::{Cx, Statement};
use crate::statement_cache::CachedStatement;
use catalogue::DdlRequest;
use executor::commit::{CommitRun, CommitStart, start_commit};
use executor::inbox::{Reply, RequestKind};
use executor::insert::InsertRun;
use executor::modify::ModifyRun;
use executor::select::{Operator, RowSource, SelectRun};
use executor::{Completion, Failure, Progress, Retry, failure_of, table_ref};
use expression::{Settings, Woken};
use mysql_protocol::result::RowFormat;
use planner::plan::{InsertPlan, Plan, SessionValue, Show, Source, TransactionStatement};
use protocol::program::{Refusal, TableRef};
use protocol::signal::{CommitOutcome, RequestId};
use protocol::{Address, Signal, SqlError};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{SlotId, Value, ViewNumber};

/// How long a statement waits for another view or schema in all: attempts times interval.
const ATTEMPTS_MAX: u32 = 100;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(20);
/// The longest time until a sleeping session looks whether it still sleeps.
const NAP_MAX: Duration = Duration::from_secs(10);
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
    Insert(Box<InsertRun>),
    Modify(Box<ModifyRun>),
    Ddl(Box<DdlRun>),
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
}

enum AfterCommit {
    Reply(Completion),
    Execute,
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
    /// The session's values after a SET that changes the cluster's variables.
    assigned: Option<Box<Assigned>>,
    /// How often it has drawn AUTO_INCREMENT values.
    draws: u32,
    /// Calls of GET_LOCK and its kin are still to be made.
    calls_user_locks: bool,
    nap: Option<Nap>,
    /// max_execution_time of a SELECT.
    until: Option<Instant>,
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

    /// The reason for which it waits, if it is DDL or LOCK TABLES.
    pub(super) fn waits_for(&self) -> Option<String> {
        match &self.stage {
            Some(Stage::Execute(Execution::Ddl(run))) => run.waits_for(),
            Some(Stage::Execute(Execution::LockTables(run))) => Some(run.waits_for()),
            Some(Stage::UserLocks { run: Some(run), .. }) => Some(run.waits_for().to_owned()),
            _ => None,
        }
    }

    /// The table that it reads or changes.
    pub(super) fn table(&self) -> Option<TableRef> {
        self.statement.cached.prepared.plan.table().map(|table| table_ref(table))
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
    /// Answers a point select at once; false if the statement must be begun.
    pub(super) fn try_point(
        &mut self,
        env: &mut Environment<'_>,
        cached: &CachedStatement,
        parameters: &[Value],
        format: RowFormat,
    ) -> bool {
        let Some(point) = &cached.point else { return false };
        if self.core.client.transaction.is_marked() {
            return false;
        }
        if !self.core.variables.autocommit && !self.core.client.transaction.is_open() {
            return false;
        }
        match point.run(cached, parameters, format, &mut self.core, env) {
            Ok(answered) => answered == Answered::Yes,
            // The executor meets the same failure and reports it.
            Err(_) => false,
        }
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
        env.module.statement_counts.count(&cached.prepared.plan);
        if let Plan::Named(statement) = &cached.prepared.plan {
            return self.named_statement(env, statement);
        }
        let keeps_diagnostics = matches!(&cached.prepared.plan, Plan::Show(plan) if matches!(plan.what, Show::Warnings | Show::Errors));
        let is_count = |value: &SessionValue| matches!(value, SessionValue::Variable(name) if name == "warning_count" || name == "error_count");
        let asks_for_diagnostics = cached.prepared.session_values.iter().any(is_count);
        let statement = self.statement_of(env, cached, parameters, format);
        if !keeps_diagnostics && !asks_for_diagnostics {
            self.core.client.diagnostics.clear();
        }
        for (code, message) in &statement.cached.prepared.warnings {
            self.core.client.diagnostics.warn(*code, message.clone());
        }
        self.is_query_killed = false;
        let is_rollback =
            matches!(&statement.cached.prepared.plan, Plan::Transaction(TransactionStatement::Rollback));
        if self.core.client.transaction.is_timed_out() {
            self.core.client.transaction.end();
            if !is_rollback {
                let why = "it was inactive for longer than TransactionInactiveTimeout";
                return self.end_with_error(env, &SqlError::deadlock(why));
            }
        }
        if self.core.client.transaction.is_doomed() && !is_rollback {
            self.core.client.transaction.abort(&mut env.executor());
            env.module.counters.rollbacks += 1;
            return self.end_with_error(env, &lost_primary());
        }
        if self.core.client.transaction.has_locked_tables() {
            if self.core.locks.has_lost_tables() {
                return self.lose_tables(env);
            }
            if let Err(error) = self.core.locks.check(&statement.cached.prepared.plan) {
                return self.end_with_error(env, &error);
            }
        }
        let calls_user_locks = statement.cached.prepared.calls_user_locks();
        let done = if calls_user_locks { None } else { self.control(env, &statement) };
        match done {
            Some(Ok(completion)) => {
                self.reply_completion(env, &completion, &statement);
            }
            Some(Err(error)) => {
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
                    statement,
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
        let time = self.core.variables.execution_time_ms_max;
        if time == 0 || !matches!(statement.cached.prepared.plan, Plan::Select(_)) {
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
        let volatile = is_volatile.then(|| Box::new(env.module.volatile(env.now, variables.is_strict)));
        let table = if is_volatile { cached.prepared.plan.table().map(Arc::clone) } else { None };
        let run = executor::Statement {
            parameters,
            settings: Settings {
                now_us: variables.timestamp.unwrap_or(env.now.wall.0),
                time_zone_offset_seconds: variables.time_zone_offset(),
                sql_mode: variables.sql_mode,
            },
            is_strict: variables.is_strict,
            connection_id: self.core.client.id,
            last_insert_id: self.core.client.last_insert_id,
            database: self.core.database.clone(),
            user: Arc::clone(&self.core.user),
            volatile,
            table,
            options: self.core.options(),
        };
        Statement { cached, format, run }
    }

    /// Runs the statement until it waits, its budget is spent, or it is answered; then those that follow it.
    pub(super) fn run(&mut self, env: &mut Environment<'_>) {
        while let Some(mut running) = self.running.take() {
            let outdated = std::mem::take(&mut self.is_outdated);
            let left = if outdated { self.leave_running(env, &mut running) } else { None };
            let is_late = running.until.is_some_and(|until| until <= env.now.monotonic);
            let killed = if left.is_some() {
                left
            } else if self.is_query_killed {
                self.kill_running(env, &mut running, SqlError::interrupted())
            } else if is_late {
                running.until = None;
                self.kill_running(env, &mut running, too_slow())
            } else {
                None
            };
            let stopped = if killed.is_none() && running.stop.is_some() {
                self.stopped(env, &mut running)
            } else {
                killed
            };
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
                    self.core.client.memory.release_all();
                    if self.holding.bytes() > LARGE_HOLDING {
                        self.account_or_reject(env);
                    }
                    self.watch_inactivity(env);
                }
            }
        }
    }

    /// The statement runs again, bound to the table as it is now, or fails with 1412. A commit's participants look at
    /// the version themselves.
    fn leave_running(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
        match running.stage.take()? {
            Stage::Execute(execution)
                if !matches!(execution, Execution::Ddl(_)) && !self.core.client.inbox.has_commit() =>
            {
                let has_answered = matches!(&execution, Execution::Select(run) if run.has_answered());
                self.fail(env, running, Failure::WrongSchema, has_answered)
            }
            stage => {
                running.stage = Some(stage);
                None
            }
        }
    }

    /// KILL QUERY: what can be stopped fails with 1317, now or when it is undone.
    fn kill_running(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        killed: SqlError,
    ) -> Option<Step> {
        self.is_query_killed = false;
        if running.nap.is_some() && running.is_sleep_alone() {
            running.wake(Woken::Early);
            return None;
        }
        match running.stage.take()? {
            // A commit that is on its way is not called off: the client hears what became of it.
            stage @ Stage::Commit { .. } => running.stage = Some(stage),
            Stage::Undo { open, after: After::RunAgain } => {
                running.stage = Some(Stage::Undo { open, after: After::Report(killed) });
            }
            stage @ Stage::Undo { .. } => running.stage = Some(stage),
            Stage::Backoff(_) => return self.report(env, &killed),
            stage @ (Stage::BeforeRun | Stage::UserLocks { .. } | Stage::Execute(_)) => {
                let is_ddl = matches!(stage, Stage::Execute(Execution::Ddl(_)));
                running.stage = Some(stage);
                if self.core.client.inbox.has_commit() && !is_ddl {
                    self.ask_to_stop(env, running);
                    return None;
                }
                // After a DDL statement: the next one finds in the journal what its commit makes public.
                waive_outcome(env, self.commit_under_way());
                running.abandon(env);
                running.stage = None;
                return self.undo(env, running, After::Report(killed));
            }
        }
        None
    }

    /// A statement that carries its commit: only its participant knows whether it still can be undone.
    fn ask_to_stop(&mut self, env: &mut Environment<'_>, running: &mut Running) {
        let (Some(to), Some(transaction)) =
            (self.core.client.inbox.commit_waits_at(), self.core.client.transaction.id())
        else {
            return;
        };
        let Some(slot) = self.core.client.transaction.only_participant().filter(|_| running.stop.is_none())
        else {
            return;
        };
        let request = self.core.client.inbox.register(to, RequestKind::Other);
        env.send(to, Signal::RollbackTo { request, transaction, slot, operations: 0 });
        running.stop = Some(request);
    }

    /// Takes the answer: "undone" ends the statement, unless it was done before (then that answer came first).
    fn stopped(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
        let reply = running.stop.and_then(|stop| self.core.client.inbox.take(stop))?;
        running.stop = None;
        if !matches!(reply, Reply::Rollback { held: true })
            || self.core.client.inbox.commit_waits_at().is_none()
        {
            return None;
        }
        self.core.client.transaction.end();
        self.core.forget_requests(env);
        self.report(env, &SqlError::interrupted())
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
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    // ---- before -----------------------------------------------------------------------------------------------------

    /// Makes the calls of GET_LOCK and its kin from this session value on: their values are parameters.
    fn call_user_locks(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        mut next: usize,
        mut run: Option<Box<UserLockRun>>,
    ) -> Option<Step> {
        self.core.client.transaction.start_statement();
        let cached = Arc::clone(&running.statement.cached);
        let values = &cached.prepared.session_values;
        let first = running.statement.run.parameters.len().saturating_sub(values.len());
        while let Some(value) = values.get(next) {
            let SessionValue::UserLock(call) = value else {
                next += 1;
                continue;
            };
            let mut cx = Cx { env, core: &mut self.core, statement: &running.statement.run };
            let stepped = match &mut run {
                Some(run) => run.step(&mut cx),
                None => match UserLockRun::call(call, &mut cx) {
                    Ok(Called::Value(value)) => Ok(Some(value)),
                    Ok(Called::Runs(begun)) => {
                        run = Some(Box::new(begun));
                        continue;
                    }
                    Err(failure) => Err(failure),
                },
            };
            match stepped {
                Ok(Some(value)) => {
                    if let Some(parameter) = running.statement.run.parameters.get_mut(first + next) {
                        *parameter = value;
                    }
                    (next, run) = (next + 1, None);
                }
                Ok(None) => {
                    running.stage = Some(Stage::UserLocks { next, run });
                    return Some(Step::Wait);
                }
                Err(failure) => return self.fail(env, running, failure, true),
            }
        }
        running.calls_user_locks = false;
        match self.control(env, &running.statement) {
            Some(Ok(completion)) => self.finish(env, running, &completion),
            Some(Err(error)) => self.report(env, &error),
            None => {
                running.stage = Some(Stage::BeforeRun);
                None
            }
        }
    }

    /// Commits what the statement ends implicitly, then starts it.
    fn before_run(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
        match self.before(&running.statement) {
            Before::Nothing => self.start(env, running),
            Before::RollBackTo(marks) => {
                self.roll_back(env, running, marks, After::Reply(Completion::default()))
            }
            Before::RollBack(marks) => self.roll_back(env, running, marks, After::End),
            Before::Commit => {
                let is_commit = matches!(
                    running.statement.cached.prepared.plan,
                    Plan::Transaction(TransactionStatement::Commit)
                );
                let then =
                    if is_commit { AfterCommit::Reply(Completion::default()) } else { AfterCommit::Execute };
                self.begin_commit(env, running, then)
            }
        }
    }

    /// Starts the execution.
    fn start(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
        running.view = env.module.site.map.view.number;
        if self.core.client.transaction.has_locked_tables() && self.core.locks.has_lost_tables() {
            self.lose_tables(env);
            return Some(Step::Finished);
        }
        running.nap = None;
        if let Err(error) = self.enter_transaction(&running.statement) {
            return self.report(env, &error);
        }
        self.core.client.transaction.start_statement();
        match self.execution_of(env, running) {
            Ok(execution) => {
                running.stage = Some(Stage::Execute(execution));
                None
            }
            Err(failure) => self.fail(env, running, failure, false),
        }
    }

    fn execution_of(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
    ) -> Result<Execution, Failure> {
        let statement = &running.statement;
        let counters = &mut env.module.counters;
        match &statement.cached.prepared.plan {
            Plan::Select(_) => counters.selects += 1,
            Plan::Insert(_) => counters.inserts += 1,
            Plan::Update(_) => counters.updates += 1,
            Plan::Delete(_) => counters.deletes += 1,
            _ => {}
        }
        if let Plan::Set(items) = &statement.cached.prepared.plan {
            // The commit of an open transaction, for which it had to wait, is done.
            let mut assigned = match self.core.assigned(env.module, items, statement) {
                Err(error) if is_asleep(&error) => return Ok(Execution::Set),
                assigned => assigned?,
            };
            if assigned.changes.is_empty() {
                self.assign(env, assigned)?;
                return Ok(Execution::Nothing(Completion::default()));
            }
            let request = DdlRequest::SetVariables(std::mem::take(&mut assigned.changes));
            running.assigned = Some(Box::new(assigned));
            return Ok(Execution::Ddl(Box::new(DdlRun::new(Some(&request)))));
        }
        let mut cx = Cx { env, core: &mut self.core, statement: &statement.run };
        Ok(match &statement.cached.prepared.plan {
            Plan::Select(plan) => {
                let made: Option<Box<dyn RowSource>> = match &plan.source {
                    Source::Virtual { table, definition, filter } => {
                        Some(Box::new(VirtualReader::new(table, definition, filter.as_ref(), &mut cx)?))
                    }
                    Source::Table(_) | Source::Nothing => None,
                };
                Execution::select(SelectRun::new(plan, made, &mut cx.executor())?)
            }
            Plan::Insert(plan) => {
                Execution::Insert(Box::new(InsertRun::new(plan, running.draws, &mut cx.executor())?))
            }
            Plan::Update(plan) => Execution::Modify(Box::new(ModifyRun::update(plan, &mut cx.executor())?)),
            Plan::Delete(plan) => Execution::Modify(Box::new(ModifyRun::delete(plan, &mut cx.executor())?)),
            Plan::Ddl(request) => Execution::Ddl(Box::new(DdlRun::new(Some(request)))),
            Plan::Show(plan) => {
                let operator = crate::show::operator_of(plan, &mut cx)?;
                Execution::select(SelectRun::of_operator(operator))
            }
            Plan::Explain { plan, format } => {
                let rows = planner::explain::rows(plan, *format);
                Execution::select(SelectRun::of_operator(Operator::rows(rows)))
            }
            Plan::Kill { connection, query_only } => {
                Execution::Kill(KillRun::new(*connection, *query_only, &mut cx)?)
            }
            Plan::LockTables(tables) => Execution::LockTables(Box::new(LockTablesRun::new(tables, &mut cx)?)),
            Plan::UnlockTables => Execution::LockTables(Box::new(LockTablesRun::new(&[], &mut cx)?)),
            Plan::Transaction(TransactionStatement::Begin { .. })
                if cx.core.client.transaction.has_locked_tables() =>
            {
                Execution::LockTables(Box::new(LockTablesRun::new(&[], &mut cx)?))
            }
            Plan::Transaction(_)
            | Plan::Set(_)
            | Plan::SetRole(_)
            | Plan::Use(_)
            | Plan::Named(_)
            | Plan::FlushUserResources
            | Plan::Nothing { .. } => Execution::Nothing(Completion::default()),
        })
    }

    // ---- execution --------------------------------------------------------------------------------------------------

    fn execute(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        mut execution: Execution,
    ) -> Option<Step> {
        // A DDL job looks after its own transactions.
        if self.core.client.transaction.is_doomed() && !matches!(execution, Execution::Ddl(_)) {
            let has_answered = matches!(&execution, Execution::Select(run) if run.has_answered());
            return self.fail(env, running, Failure::ViewChanged(lost_primary()), has_answered);
        }
        if self.is_asleep(env, running) {
            running.stage = Some(Stage::Execute(execution));
            return Some(Step::Wait);
        }
        if matches!(execution, Execution::Set) {
            execution = match self.execution_of(env, running) {
                Ok(Execution::Set) => return self.fall_asleep(env, running, Execution::Set),
                Ok(execution) => execution,
                Err(failure) => return self.fail(env, running, failure, false),
            };
        }
        let statement = &running.statement;
        let mut cx = Cx { env, core: &mut self.core, statement: &statement.run };
        let progress = match &mut execution {
            Execution::Select(run) => run.step(&statement.cached, statement.format, &mut cx),
            Execution::Insert(run) => run.step(insert_plan(statement), &mut cx.executor()),
            Execution::Modify(run) => run.step(&mut cx.executor()),
            Execution::Ddl(run) => run.step(&mut cx),
            Execution::LockTables(run) => run.step(&mut cx),
            Execution::Kill(run) => run.step(&mut cx),
            Execution::Nothing(completion) => Ok(Progress::Done(std::mem::take(completion))),
            Execution::Set => Ok(Progress::Done(Completion::default())),
        };
        match progress {
            Ok(Progress::Wait) => {
                running.stage = Some(Stage::Execute(execution));
                Some(Step::Wait)
            }
            Ok(Progress::Spent) => {
                running.stage = Some(Stage::Execute(execution));
                Some(Step::Spent)
            }
            Ok(Progress::Done(completion)) => {
                if let Some(assigned) = running.assigned.take()
                    && let Err(error) = self.assign(env, *assigned)
                {
                    return self.report(env, &error);
                }
                if let Plan::Transaction(transaction) = &running.statement.cached.prepared.plan {
                    self.begin_after_commit(transaction);
                }
                if !self.core.client.transaction.is_open() && self.core.client.transaction.has_participants()
                {
                    return self.begin_commit(env, running, AfterCommit::Reply(completion));
                }
                self.finish(env, running, &completion)
            }
            Err(Failure::Asleep) => self.fall_asleep(env, running, execution),
            Err(failure) => {
                let has_answered = matches!(&execution, Execution::Select(run) if run.has_answered());
                self.fail(env, running, failure, has_answered)
            }
        }
    }

    /// A SLEEP has begun: the session is woken when it is over.
    fn fall_asleep(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        execution: Execution,
    ) -> Option<Step> {
        let wanted_us = running.statement.run.volatile.as_ref().and_then(|volatile| volatile.wanted_us());
        let until = env.now.monotonic + Duration::from_micros(wanted_us.unwrap_or(0));
        running.nap = Some(Nap { until, alarm_at: env.now.monotonic });
        running.stage = Some(Stage::Execute(execution));
        None
    }

    /// Whether the statement still sleeps. A long sleep is cut into pieces, so that the alarms of those that were
    /// interrupted do not pile up.
    fn is_asleep(&self, env: &mut Environment<'_>, running: &mut Running) -> bool {
        let Some(nap) = &mut running.nap else { return false };
        let now = env.now.monotonic;
        if nap.until <= now {
            running.wake(Woken::InTime);
            return false;
        }
        if nap.alarm_at <= now {
            nap.alarm_at = nap.until.min(now + NAP_MAX);
            env.module.site.wakes.register(nap.alarm_at, self.core.client.id);
        }
        true
    }

    fn finish(
        &mut self,
        env: &mut Environment<'_>,
        running: &Running,
        completion: &Completion,
    ) -> Option<Step> {
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
        if completion.is_result_set {
            self.core.row_count = -1;
            self.core.found_rows = completion.row_count;
            self.core.reply(env, |writer, core| writer.end_of_rows(core.capabilities, core.end_packet()));
            return;
        }
        self.core.row_count = i64::try_from(completion.affected_rows).unwrap_or(i64::MAX);
        let last_insert_id = match &statement.cached.prepared.plan {
            Plan::Insert(_) => completion.last_insert_id,
            _ => 0,
        };
        self.core.reply_ok(env, completion.affected_rows, last_insert_id, &completion.info);
    }

    /// Ends the statement with an error.
    fn report(&mut self, env: &mut Environment<'_>, error: &SqlError) -> Option<Step> {
        self.end_with_error(env, error);
        Some(Step::Finished)
    }

    // ---- commit -----------------------------------------------------------------------------------------------------

    fn begin_commit(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        then: AfterCommit,
    ) -> Option<Step> {
        match start_commit(&mut self.core.client, &mut env.executor()) {
            CommitStart::Nothing => self.after_commit(env, running, then),
            CommitStart::Sent(commit) => {
                running.stage = Some(Stage::Commit { commit, then });
                None
            }
            CommitStart::Refused(why) => self.commit_refused(env, why),
        }
    }

    fn commit_refused(&mut self, env: &mut Environment<'_>, why: &str) -> Option<Step> {
        self.core.client.transaction.abort(&mut env.executor());
        self.report(env, &SqlError::deadlock(why))
    }

    fn after_commit(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        then: AfterCommit,
    ) -> Option<Step> {
        match then {
            AfterCommit::Reply(completion) => self.finish(env, running, &completion),
            AfterCommit::Execute => self.start(env, running),
        }
    }

    fn poll_commit(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        mut commit: CommitRun,
        then: AfterCommit,
    ) -> Option<Step> {
        let Some(outcome) = commit.poll(&mut self.core.client, &mut env.executor()) else {
            running.stage = Some(Stage::Commit { commit, then });
            return Some(Step::Wait);
        };
        match outcome {
            CommitOutcome::Committed(epoch) => {
                self.core.client.transaction.see(epoch);
                self.core.client.transaction.end();
                env.module.site.commits += 1;
                self.after_commit(env, running, then)
            }
            CommitOutcome::Aborted(refusal) => {
                let is_single =
                    matches!(then, AfterCommit::Reply(_)) && !self.core.client.transaction.is_open();
                if is_single && self.can_change_again(running, &refusal) {
                    running.attempts += 1;
                    self.core.client.transaction.restart(&mut env.executor());
                    return self.after_undo(env, running, After::RunAgain);
                }
                // A participant that the coordinator did not reach may hold it still.
                self.core.client.transaction.abort(&mut env.executor());
                let error = match failure_of(refusal, "") {
                    Failure::Error(error)
                    | Failure::Doomed(error)
                    | Failure::ViewChanged(error)
                    | Failure::DrawnTaken(error) => error,
                    Failure::WrongSchema => table_changed(),
                    Failure::OutcomeUnknown => unknown_outcome(),
                    Failure::Asleep => SqlError::unsupported("SLEEP() here"),
                };
                self.report(env, &error)
            }
            CommitOutcome::Unknown => self.outcome_unknown(env),
        }
    }

    /// Whether a change that is a transaction of its own is done again. All of it is undone, because a node or a
    /// connection was lost, and the client has heard nothing of it.
    fn can_change_again(&self, running: &Running, refusal: &Refusal) -> bool {
        let plan = &running.statement.cached.prepared.plan;
        let is_lost = matches!(refusal, Refusal::NotHeld | Refusal::WrongView | Refusal::WrongSchema);
        let changes = matches!(plan, Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_));
        is_lost && changes && running.stop.is_none() && running.attempts < ATTEMPTS_MAX
    }

    /// Nobody can say what became of the commit: the client must look, so its connection closes.
    fn outcome_unknown(&mut self, env: &mut Environment<'_>) -> Option<Step> {
        self.core.client.transaction.end();
        self.end_with_error(env, &unknown_outcome());
        self.close(env);
        Some(Step::Finished)
    }

    // ---- failure ----------------------------------------------------------------------------------------------------

    fn fail(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        failure: Failure,
        has_answered: bool,
    ) -> Option<Step> {
        // The client that killed it does not want it to run again.
        let is_stopping = running.stop.take().is_some();
        let has_answered = has_answered || is_stopping;
        let can_run_again = !has_answered && self.core.client.transaction.began_with_statement();
        match failure {
            Failure::OutcomeUnknown => self.outcome_unknown(env),
            Failure::Asleep => self.undo(env, running, After::Report(SqlError::unsupported("SLEEP() here"))),
            Failure::Doomed(error) => self.doom(env, &error),
            Failure::Error(error) => self.undo(env, running, After::Report(error)),
            Failure::ViewChanged(_) if can_run_again && running.attempts < ATTEMPTS_MAX => {
                running.attempts += 1;
                self.undo(env, running, After::RunAgain)
            }
            Failure::ViewChanged(error) => self.doom(env, &error),
            Failure::WrongSchema if !has_answered && running.attempts < ATTEMPTS_MAX => {
                running.attempts += 1;
                self.undo(env, running, After::RunAgain)
            }
            Failure::WrongSchema => self.undo(env, running, After::Report(table_changed())),
            Failure::DrawnTaken(_) if !is_stopping && running.draws < DRAWS_MAX => {
                running.draws += 1;
                self.undo(env, running, After::RunAgain)
            }
            Failure::DrawnTaken(error) => self.undo(env, running, After::Report(error)),
        }
    }

    /// A primary that held table locks is lost: so are they, and the transaction that relied on them.
    fn lose_tables(&mut self, env: &mut Environment<'_>) {
        self.core.client.transaction.abort(&mut env.executor());
        self.core.client.transaction.set_locked_tables(None);
        self.core.locks.open_tables();
        self.core.locks.drop_open(env);
        env.module.counters.rollbacks += 1;
        let why = "the node that held what LOCK TABLES locked is lost; all tables are unlocked";
        self.end_with_error(env, &SqlError::deadlock(why));
    }

    /// The transaction is over everywhere.
    fn doom(&mut self, env: &mut Environment<'_>, error: &SqlError) -> Option<Step> {
        self.core.client.transaction.abort(&mut env.executor());
        self.core.locks.drop_open(env);
        self.core.forget_requests(env);
        env.module.counters.rollbacks += 1;
        self.report(env, error)
    }

    /// Undoes what the statement did.
    fn undo(&mut self, env: &mut Environment<'_>, running: &mut Running, after: After) -> Option<Step> {
        self.core.client.memory.release_all();
        self.core.locks.drop_open(env);
        if !self.core.client.transaction.has_participants() {
            self.core.forget_requests(env);
            return self.after_undo(env, running, after);
        }
        if self.core.client.transaction.began_with_statement() {
            // The statement is all there is: its requests need not be answered, an abort overtakes none of them.
            self.core.client.transaction.restart(&mut env.executor());
            self.core.forget_requests(env);
            return self.after_undo(env, running, after);
        }
        self.core.forget_requests(env);
        let marks = self.core.client.transaction.undo_statement();
        self.roll_back(env, running, marks, after)
    }

    /// Asks participants to roll back to these numbers of operations.
    fn roll_back(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        marks: Vec<(SlotId, u32)>,
        after: After,
    ) -> Option<Step> {
        let Some(transaction) = self.core.client.transaction.id() else {
            return self.after_undo(env, running, after);
        };
        let mut open = Vec::with_capacity(marks.len());
        for (slot, operations) in marks {
            let Some(primary) = env.module.site.map.primary(slot) else {
                if matches!(after, After::End) {
                    continue;
                }
                return self.doom(env, &SqlError::deadlock("a slot has no primary"));
            };
            let request = self.core.client.inbox.register(primary, RequestKind::Change);
            env.send(primary, Signal::RollbackTo { request, transaction, slot, operations });
            open.push((request, slot, operations));
        }
        running.stage = Some(Stage::Undo { open, after });
        None
    }

    fn poll_undo(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        open: Vec<(RequestId, SlotId, u32)>,
        after: After,
    ) -> Option<Step> {
        let mut still_open = Vec::new();
        for (request, slot, operations) in open {
            match self.core.client.inbox.take(request) {
                None => still_open.push((request, slot, operations)),
                Some(Reply::Rollback { held: true }) => {
                    self.core.client.transaction.rolled_back(slot, operations);
                }
                // A node that is lost has undone it, too; one that did not hear of it is told again.
                Some(_) if matches!(after, After::End) => {}
                Some(_) => {
                    let error = SqlError::deadlock("a statement could not be undone at its primary");
                    return self.doom(env, &error);
                }
            }
        }
        if still_open.is_empty() {
            return self.after_undo(env, running, after);
        }
        running.stage = Some(Stage::Undo { open: still_open, after });
        Some(Step::Wait)
    }

    fn after_undo(&mut self, env: &mut Environment<'_>, running: &mut Running, after: After) -> Option<Step> {
        match after {
            After::Report(error) => self.report(env, &error),
            After::Reply(completion) => self.finish(env, running, &completion),
            After::End => {
                self.core.client.transaction.abort(&mut env.executor());
                env.module.counters.rollbacks += 1;
                self.finish(env, running, &Completion::default())
            }
            After::RunAgain => {
                // At once if another id is all it needs, or if there is another view already; else when a new view or
                // schema may be there.
                let is_draw = running.draws > 0 && running.attempts == 0;
                if is_draw {
                    return self.start(env, running);
                }
                if env.module.site.map.view.number > running.view {
                    return self.plan_again(env, running);
                }
                running.stage = Some(Stage::Backoff(Retry::after(
                    ATTEMPT_INTERVAL,
                    self.core.client.id,
                    &mut env.executor(),
                )));
                None
            }
        }
    }

    /// Plans the statement anew, for the schema that is installed now, and starts it again.
    fn plan_again(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
        if running.statement.cached.prepared.schema != env.module.site.map.schema.version {
            let planned = match &running.source {
                TextSource::Text(text) => {
                    let mut normalized = std::mem::take(&mut self.normalized);
                    let planned = self.core.plan_of(env, text, &mut normalized);
                    let parameters = std::mem::take(&mut normalized.parameters);
                    self.normalized = normalized;
                    planned.map(|cached| (cached, parameters))
                }
                TextSource::Prepared(text) => {
                    let prepared = &running.statement.cached.prepared;
                    let (types, count) = (prepared.parameters.clone(), prepared.parameters.len());
                    let own_count = count.saturating_sub(prepared.session_values.len()).max(
                        running.statement.run.parameters.len().saturating_sub(prepared.session_values.len()),
                    );
                    let parameters =
                        running.statement.run.parameters.get(..own_count).unwrap_or_default().to_vec();
                    let types = types.get(..own_count).unwrap_or(&types).to_vec();
                    self.core.plan_of_prepared(env, text, &types).map(|cached| (cached, parameters))
                }
            };
            match planned {
                Ok((cached, parameters)) => {
                    let format = running.statement.format;
                    running.statement = self.statement_of(env, cached, parameters, format);
                }
                Err(error) => return self.report(env, &error),
            }
        }
        self.start(env, running)
    }
}

/// The plan of a running INSERT.
fn insert_plan(statement: &Statement) -> &InsertPlan {
    match &statement.cached.prepared.plan {
        Plan::Insert(plan) => plan,
        other => {
            stdx::require!(false, "an INSERT runs with the plan of another statement: {other:?}");
            unreachable!("required above")
        }
    }
}

fn too_slow() -> SqlError {
    SqlError::new(3024, "Query execution was interrupted, maximum statement execution time exceeded")
}

fn table_changed() -> SqlError {
    SqlError::new(1412, "Table definition has changed, please retry transaction")
}

fn lost_primary() -> SqlError {
    SqlError::deadlock("the node that held the transaction's writes or locks is lost")
}

fn unknown_outcome() -> SqlError {
    SqlError::new(
        1180,
        "Got error 'outcome unknown' during COMMIT: a replica was lost; look whether the transaction took place",
    )
}
