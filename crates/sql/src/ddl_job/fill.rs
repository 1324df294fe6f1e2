//! Inserts the rows of CREATE TABLE … SELECT into the new table, which has no name yet: in one transaction, of the
//! statement's own session.
//!
//! It is done once. A job that is read from the journal again, and is this statement's, passes over a fill that is
//! done. Whether a fill is done is always known here: one with an unknown outcome lets the job fail, so the table
//! goes.

use executor::commit::{CommitRun, CommitStart, start_commit};
use executor::insert::InsertRun;
use executor::{Completion, Cx, Failure, Progress, failure_of};
use planner::plan::{FillPlan, InsertPlan};
use protocol::SqlError;
use protocol::program::TableRef;
use protocol::signal::CommitOutcome;
use types::SchemaVersion;

/// How often it draws other AUTO_INCREMENT values.
const DRAWS_MAX: u32 = 20;
/// The reason for a fill with an unknown outcome to be given up.
pub(super) const NODE_LOST: &str = "a node was lost while rows were inserted";

/// The rows of a DDL statement.
pub(super) struct Fill {
    plan: Box<FillPlan>,
    /// The schema that the query was bound to.
    pub(super) schema: SchemaVersion,
    /// The rows are there.
    pub(super) is_done: bool,
}

enum Stage {
    Insert(Box<InsertRun>),
    Commit(CommitRun, Completion),
}

/// A fill that runs.
pub(super) struct FillRun {
    plan: Box<InsertPlan>,
    stage: Stage,
    draws: u32,
}

impl Fill {
    pub(super) fn new(plan: &FillPlan, schema: SchemaVersion) -> Self {
        Self { plan: Box::new(plan.clone()), schema, is_done: false }
    }

    /// Begins to insert the rows.
    pub(super) fn start(&self, table: TableRef, cx: &mut Cx<'_>) -> Result<FillRun, Failure> {
        let info = cx.hidden_info(table.id)?;
        if info.definition.version != table.version {
            return Err(Failure::WrongSchema);
        }
        let plan = Box::new(self.plan.into_table(info.definition.clone()));
        cx.client.transaction.start_statement();
        let stage = Stage::Insert(Box::new(InsertRun::new(&plan, 0, cx)?));
        Ok(FillRun { plan, stage, draws: 0 })
    }
}

impl FillRun {
    pub(super) fn step(&mut self, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        loop {
            match &mut self.stage {
                Stage::Insert(run) => match run.step(&self.plan, cx) {
                    Ok(Progress::Done(completion)) => match start_commit(cx.client, &mut cx.env) {
                        CommitStart::Sent(commit) => self.stage = Stage::Commit(commit, completion),
                        CommitStart::Nothing => return Ok(Progress::Done(completion)),
                        CommitStart::Refused(why) => return Err(Failure::Error(SqlError::deadlock(why))),
                    },
                    Err(Failure::DrawnTaken(_)) if self.draws < DRAWS_MAX => {
                        self.draws += 1;
                        cx.client.transaction.abort(&mut cx.env);
                        cx.client.transaction.start_statement();
                        self.stage = Stage::Insert(Box::new(InsertRun::new(&self.plan, self.draws, cx)?));
                    }
                    progress => return progress,
                },
                Stage::Commit(commit, completion) => {
                    let Some(outcome) = commit.poll(cx.client, &mut cx.env) else {
                        return Ok(Progress::Wait);
                    };
                    cx.client.transaction.end();
                    return match outcome {
                        CommitOutcome::Committed(epoch) => {
                            cx.client.transaction.see(epoch);
                            Ok(Progress::Done(std::mem::take(completion)))
                        }
                        CommitOutcome::Aborted(refusal) => Err(failure_of(refusal, &self.plan.table.name)),
                        CommitOutcome::Unknown => Err(Failure::Error(SqlError::deadlock(NODE_LOST))),
                    };
                }
            }
        }
    }
}
