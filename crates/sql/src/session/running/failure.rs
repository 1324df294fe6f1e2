//! A statement that failed: it is undone, then reported or run again.

use super::{
    ATTEMPT_INTERVAL, ATTEMPTS_MAX, After, DRAWS_MAX, Running, Stage, Step, TextSource, table_changed,
};
use crate::environment::Environment;
use crate::session::Session;
use executor::inbox::{Reply, RequestKind};
use executor::{Completion, Failure, Retry};
use protocol::signal::RequestId;
use protocol::{Signal, SqlError};
use types::SlotId;

impl Session {
    pub(super) fn fail(
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

    /// The transaction is over everywhere.
    fn doom(&mut self, env: &mut Environment<'_>, error: &SqlError) -> Option<Step> {
        self.core.client.transaction.abort(&mut env.executor());
        self.core.locks.drop_open(env);
        self.core.forget_requests(env);
        env.module.counters.rollbacks += 1;
        self.report(env, error)
    }

    /// Undoes what the statement did.
    pub(super) fn undo(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        after: After,
    ) -> Option<Step> {
        self.core.client.end_statement(env.outputs);
        self.core.client.transaction.undo_own_statement();
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
    pub(super) fn roll_back(
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

    pub(super) fn poll_undo(
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

    pub(super) fn after_undo(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        after: After,
    ) -> Option<Step> {
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
    pub(super) fn plan_again(&mut self, env: &mut Environment<'_>, running: &mut Running) -> Option<Step> {
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
                    self.core
                        .plan_of_prepared(env, text, &types, &parameters)
                        .map(|cached| (cached, parameters))
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
