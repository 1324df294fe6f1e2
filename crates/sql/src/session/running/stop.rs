//! Statements that are stopped from outside: KILL QUERY, max_execution_time, a table with another version.
//!
//! A statement that carries its commit is asked for at its participant, which alone knows whether it can be undone.
#![expect(clippy::wildcard_enum_match_arm, reason = "stages that are not named go on")]

use super::{After, Execution, Running, Stage, Step};
use crate::environment::Environment;
use crate::session::{Session, waive_outcome};
use executor::Failure;
use executor::inbox::{Reply, RequestKind};
use expression::Woken;
use protocol::{Signal, SqlError};

impl Session {
    /// Does what has stopped the statement from outside; None: it goes on.
    pub(super) fn stop_running(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
        if std::mem::take(&mut running.is_outdated)
            && let Some(step) = self.leave_running(env, running)
        {
            return Some(step);
        }
        let killed = if running.is_killed {
            self.kill_running(env, running, SqlError::interrupted())
        } else if running.until.is_some_and(|until| until <= env.now.monotonic) {
            running.until = None;
            self.kill_running(env, running, too_slow())
        } else {
            None
        };
        match killed {
            None if running.stop.is_some() => self.stopped(env, running),
            killed => killed,
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
        running.is_killed = false;
        if running.nap.is_some() && running.is_sleep_alone() {
            running.wake(Woken::Early);
            return None;
        }
        match running.stage.take()? {
            // A commit that is on its way is not called off: the client hears what became of it.
            stage @ (Stage::Commit { .. } | Stage::Durable(_)) => running.stage = Some(stage),
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
}

fn too_slow() -> SqlError {
    SqlError::new(3024, "Query execution was interrupted, maximum statement execution time exceeded")
}
