//! The execution of a statement: calls of GET_LOCK, the commit of what was open before, then its own steps and sleeps.
#![expect(clippy::wildcard_enum_match_arm, reason = "plans that are not named are not counted")]

use super::{ATTEMPT_INTERVAL, After, AfterCommit, Execution, NAP_MAX, Nap, Running, Stage, Step};
use crate::analyze::{Analyze, Analyzed};
use crate::ddl_job::DdlRun;
use crate::environment::Environment;
use crate::locks::lock_tables::LockTablesRun;
use crate::locks::user_locks::{Called, UserLockRun};
use crate::row_counts::LocalCounts;
use crate::select_into::{Read, SelectInto};
use crate::session::Session;
use crate::session::control::{Assigned, is_asleep};
use crate::session::kill::KillRun;
use crate::session::transactions::{Before, lost_primary};
use crate::show::VirtualReader;
use crate::statement::{Cx, Statement};
use crate::temporary_ddl::TemporaryRun;
use catalogue::DdlRequest;
use executor::change::ChangeRun;
use executor::insert::InsertRun;
use executor::modify::ModifyRun;
use executor::select::{Operator, SelectRun, lend};
use executor::{Completion, Failure, Progress, Retry, lock_wait_timeout};
use expression::{NoColumns, Woken};
use planner::plan::{
    ChangePlan, ChangeVerb, InsertPlan, Plan, SelectPlan, SessionValue, TransactionStatement,
};
use protocol::SqlError;
use std::sync::Arc;
use stdx::Duration;
use types::Value;

impl Session {
    /// Makes the calls of GET_LOCK and its kin from this session value on: their values are parameters.
    pub(super) fn call_user_locks(
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
    pub(super) fn before_run(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
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
    pub(super) fn start(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
        running.view = env.module.site.map.view.number;
        if self.core.client.transaction.has_locked_tables() && self.core.locks.has_void_tables() {
            let error = self.end_void_tables(env);
            return self.report(env, &error);
        }
        if running.statement.cached.is_closed
            && let Some(waits) = self.await_copy(env, running)
        {
            return waits;
        }
        running.closed_until = None;
        running.nap = None;
        running.statement.run.volatile.as_ref().inspect(|volatile| volatile.variables().restart());
        if let Err(error) = self.enter_transaction(&running.statement) {
            return self.report(env, &error);
        }
        self.core.client.transaction.start_statement();
        if running.statement.cached.asks_durable {
            self.core.client.transaction.ask_durable();
        }
        match self.execution_of(env, running) {
            Ok(mut execution) => {
                if let (Some(_), Execution::Select(run)) = (running.cursor_of, &mut execution) {
                    run.keep();
                }
                running.stage = Some(Stage::Execute(execution));
                None
            }
            Err(failure) => self.fail(env, running, failure, false),
        }
    }

    /// An ALTER TABLE copies the rows of a table that the statement wants to change or lock. It looks again later,
    /// until lock_wait_timeout is over. None: it need not wait, because its transaction has changed or locked rows of
    /// the table before, and the copy waits for its end.
    fn await_copy(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Option<Step>> {
        let has_used =
            |table: types::TableId| self.core.client.transaction.uses().any(|(used, _)| used.id == table);
        if running.statement.cached.prepared.plan.closed().all(|table| has_used(table.id)) {
            return None;
        }
        let now = env.now.monotonic;
        let patience = Duration::from_secs(self.core.variables.timeouts.ddl_wait_s.into());
        if *running.closed_until.get_or_insert(now + patience) <= now {
            return Some(self.report(env, &lock_wait_timeout()));
        }
        let retry = Retry::after(ATTEMPT_INTERVAL, self.core.client.id, &mut env.executor());
        running.stage = Some(Stage::Backoff(retry));
        Some(None)
    }

    fn execution_of(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
    ) -> Result<Execution, Failure> {
        let statement = &running.statement;
        let counters = &mut env.module.counters;
        match &statement.cached.prepared.plan {
            Plan::Select(_) if !statement.cached.prepared.sets.is_empty() => {}
            Plan::Select(_) => counters.selects += 1,
            Plan::Insert(_) => counters.inserts += 1,
            Plan::Update(_) => counters.updates += 1,
            Plan::Delete(_) => counters.deletes += 1,
            Plan::Change(change) if change.verb == ChangeVerb::Update => counters.updates += 1,
            Plan::Change(_) => counters.deletes += 1,
            _ => {}
        }
        if let Plan::Set(items) = &statement.cached.prepared.plan {
            // The commit of an open transaction, for which it had to wait, is done.
            let assigned = match self.core.assigned(env.module, items, &NoColumns, statement) {
                Err(error) if is_asleep(&error) => return Ok(Execution::Set),
                assigned => assigned?,
            };
            if assigned.changes.is_empty() {
                self.assign(env, assigned)?;
                return Ok(Execution::Nothing(Completion::default()));
            }
            return Ok(change_for_all(running, Box::new(assigned)));
        }
        if matches!(statement.cached.prepared.plan, Plan::Temporary(_)) {
            // Names may mean other tables from now on.
            self.statements.forget_plans();
        }
        let mut cx = Cx { env, core: &mut self.core, statement: &statement.run };
        let prepared = &statement.cached.prepared;
        if !matches!(prepared.plan, Plan::Explain { .. }) {
            for read in &prepared.virtual_reads {
                let rows = Box::new(VirtualReader::new(read, &mut cx)?);
                lend(read.number, read.reads, rows, &mut cx.core.client);
            }
        }
        Ok(match &prepared.plan {
            Plan::Select(plan) if prepared.analyzes => {
                Execution::Analyze(Box::new(Analyze::new(plan, &mut cx)?))
            }
            Plan::Select(plan) if !prepared.sets.is_empty() => {
                Execution::SetQuery(Box::new(SelectInto::new(SelectRun::inner(plan, &mut cx.executor())?)))
            }
            Plan::Select(plan) if !prepared.into.is_empty() => {
                Execution::SelectInto(Box::new(SelectInto::new(SelectRun::new(plan, &mut cx.executor())?)))
            }
            Plan::Select(plan) => Execution::select(SelectRun::new(plan, &mut cx.executor())?),
            Plan::Insert(plan) => {
                Execution::Insert(Box::new(InsertRun::new(plan, running.draws, &mut cx.executor())?))
            }
            Plan::Update(plan) => Execution::Modify(Box::new(ModifyRun::update(plan, &mut cx.executor())?)),
            Plan::Delete(plan) => Execution::Modify(Box::new(ModifyRun::delete(plan, &mut cx.executor())?)),
            Plan::Change(plan) => Execution::Change(Box::new(ChangeRun::new(plan, &mut cx.executor())?)),
            Plan::Ddl(ddl) => {
                let run = DdlRun::new(Some(&ddl.request)).in_context_of(&statement.run);
                Execution::Ddl(Box::new(run.filled_by(ddl.fill.as_deref(), prepared.schema)))
            }
            Plan::Temporary(plan) => {
                let run = TemporaryRun::new(plan, running.draws, &mut cx.executor())?;
                match &plan.rest {
                    // The temporary ones are dropped.
                    Some(rest) => Execution::Ddl(Box::new(DdlRun::new(Some(rest)))),
                    None => Execution::Temporary(Box::new(run)),
                }
            }
            Plan::Show(plan) => {
                let operator = crate::show::operator_of(plan, &mut cx)?;
                Execution::select(SelectRun::of_operator(operator))
            }
            Plan::Explain { plan, format } => {
                let rows = planner::explain::rows(
                    plan,
                    *format,
                    &LocalCounts::new(&cx.env.module.site.map, &cx.core.client),
                );
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
            | Plan::Shutdown
            | Plan::Nothing { .. } => Execution::Nothing(Completion::default()),
        })
    }

    pub(super) fn execute(
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
            Execution::SelectInto(run) => run.step(&statement.cached.prepared.into, &mut cx),
            Execution::SetQuery(run) => match run.only_row(&mut cx) {
                Ok(Read::Row(row)) => match self.set_to_row(env, running, &row) {
                    Ok(None) => Ok(Progress::Done(Completion::default())),
                    Ok(Some(assigned)) => {
                        return self.begin_commit(env, running, AfterCommit::Set(assigned));
                    }
                    Err(error) => Err(Failure::Error(error)),
                },
                Ok(Read::Goes(progress)) => Ok(progress),
                Err(failure) => Err(failure),
            },
            Execution::Analyze(run) => match run.step(select_plan(statement), &mut cx) {
                Ok(Analyzed::Runs(progress)) => Ok(progress),
                Ok(Analyzed::Row(run)) => {
                    running.stage = Some(Stage::Execute(Execution::select(*run)));
                    return None;
                }
                Err(failure) => Err(failure),
            },
            Execution::Insert(run) => run.step(insert_plan(statement), &mut cx.executor()),
            Execution::Modify(run) => run.step(&mut cx.executor()),
            Execution::Change(run) => run.step(change_plan(statement), &mut cx.executor()),
            Execution::Ddl(run) => run.step(&mut cx),
            Execution::Temporary(run) => run.step(&mut cx.executor()),
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
                if let (Some(id), Execution::Select(run)) = (running.cursor_of, &mut execution) {
                    self.opening.opened = run.take_cursor().map(|cursor| (id, cursor));
                }
                running.asks_durable |= matches!(execution, Execution::Ddl(_));
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
                self.core.client.transaction.end_local_statement();
                self.finish(env, running, &completion)
            }
            Err(Failure::Asleep) => self.fall_asleep(env, running, execution),
            Err(failure) => {
                let has_answered = matches!(&execution, Execution::Select(run) if run.has_answered());
                self.fail(env, running, failure, has_answered)
            }
        }
    }

    /// Sets the variables of a SET to the row of its query. If they are the whole cluster's, or autocommit is switched
    /// on, the open transaction must be committed first: the values are given back.
    fn set_to_row(
        &mut self,
        env: &mut Environment<'_>,
        running: &Running,
        row: &[Value],
    ) -> Result<Option<Box<Assigned>>, SqlError> {
        let statement = &running.statement;
        let assigned = self.core.assigned(env.module, &statement.cached.prepared.sets, &row, statement)?;
        if self.must_commit_before(&assigned) {
            return Ok(Some(Box::new(assigned)));
        }
        self.assign(env, assigned).map(|()| None)
    }

    /// Sets the variables of a SET for which a transaction had to be committed.
    pub(super) fn set_after_commit(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        assigned: Box<Assigned>,
    ) -> Option<Step> {
        if !assigned.changes.is_empty() {
            running.stage = Some(Stage::Execute(change_for_all(running, assigned)));
            return None;
        }
        match self.assign(env, *assigned) {
            Ok(()) => self.finish(env, running, &Completion::default()),
            Err(error) => self.report(env, &error),
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
}

/// Changes what a SET changes for the whole cluster; the session's own values follow.
fn change_for_all(running: &mut Running, mut assigned: Box<Assigned>) -> Execution {
    let request = DdlRequest::SetVariables(std::mem::take(&mut assigned.changes));
    running.assigned = Some(assigned);
    Execution::Ddl(Box::new(DdlRun::new(Some(&request))))
}

/// The plan of a running SELECT.
fn select_plan(statement: &Statement) -> &SelectPlan {
    match &statement.cached.prepared.plan {
        Plan::Select(plan) => plan,
        other => {
            stdx::require!(false, "a SELECT runs with the plan of another statement: {other:?}");
            unreachable!("required above")
        }
    }
}

/// The plan of a running change of rows that a query finds.
fn change_plan(statement: &Statement) -> &ChangePlan {
    match &statement.cached.prepared.plan {
        Plan::Change(plan) => plan,
        other => {
            stdx::require!(false, "a change runs with the plan of another statement: {other:?}");
            unreachable!("required above")
        }
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
