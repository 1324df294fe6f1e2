//! The commit that a statement begins, and what comes after it.

use super::{ATTEMPTS_MAX, After, AfterCommit, Running, Stage, Step, table_changed};
use crate::environment::Environment;
use crate::session::Session;
use executor::commit::{CommitRun, CommitStart, start_commit};
use executor::{Failure, failure_of};
use protocol::SqlError;
use protocol::program::Refusal;
use protocol::signal::CommitOutcome;

impl Session {
    pub(super) fn begin_commit(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        then: AfterCommit,
    ) -> Option<Step> {
        running.asks_durable |= self.core.client.transaction.asks_durable();
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
            AfterCommit::Set(assigned) => self.set_after_commit(env, running, assigned),
        }
    }

    pub(super) fn poll_commit(
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
        let changes = plan.is_change();
        is_lost && changes && running.stop.is_none() && running.attempts < ATTEMPTS_MAX
    }

    /// Nobody can say what became of the commit: the client must look, so its connection closes.
    pub(super) fn outcome_unknown(&mut self, env: &mut Environment<'_>) -> Option<Step> {
        self.core.client.transaction.end();
        self.end_with_error(env, &unknown_outcome());
        self.close(env);
        Some(Step::Finished)
    }
}

fn unknown_outcome() -> SqlError {
    SqlError::new(
        1180,
        "Got error 'outcome unknown' during COMMIT: a replica was lost; look whether the transaction took place",
    )
}
