//! Ends the DDL jobs that nobody runs any more, without a client.
//!
//! A job is left when its session or its node ends, or when a step cannot be done. A module *wants* a run if it may
//! have left a job, or is to look after those of others. A module does whose session left one. So does the first module
//! on the node of the primary of the system tables, where the DDL lock is. It does it whenever a view is installed or
//! an SQL node is lost. A run without work costs a lock and a few reads.
//!
//! Invariants: one run at a time. A run that fails is tried again until one succeeds. A wish that comes during a run
//! leads to another one, because that run may have looked already.

use super::DdlRun;
use crate::environment::Environment;
use crate::requester::Requester;
use crate::session_core::SessionCore;
use crate::statement::Cx;
use executor::{Progress, Statement};
use expression::Settings;
use protocol::{ConnectionId, View};
use stdx::{Duration, Instant};
use types::NodeId;

/// How soon a run that failed is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The one of a module.
pub(crate) struct Finisher {
    core: SessionCore,
    statement: Statement,
    run: Option<Box<DdlRun>>,
    is_wanted: bool,
    /// The last run failed: not before this time.
    pause_until: Option<Instant>,
    is_continue_sent: bool,
}

impl Finisher {
    /// Its requests have `number` where those of sessions have the number of their connection.
    pub(crate) fn new(number: u32, env: &Environment<'_>) -> Self {
        let core = SessionCore::new(number, ConnectionId { slot: 0, generation: 0 }, env);
        let statement = Statement {
            parameters: Vec::new(),
            settings: Settings::default(),
            is_strict: true,
            connection_id: number,
            last_insert_id: 0,
            database: None,
            user: "".into(),
            volatile: None,
            table: None,
            is_for_a_row: false,
            options: core.options(),
        };
        Self { core, statement, run: None, is_wanted: false, pause_until: None, is_continue_sent: false }
    }

    /// Somebody may have left a job.
    pub(crate) fn want(&mut self, env: &mut Environment<'_>) {
        self.is_wanted = true;
        self.step(env);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.run.is_none() && !self.is_wanted
    }

    /// Goes on with the run, or begins one that is wanted.
    fn step(&mut self, env: &mut Environment<'_>) {
        if self.is_continue_sent || self.pause_until.is_some_and(|until| env.now.monotonic < until) {
            return;
        }
        self.pause_until = None;
        loop {
            let run = match &mut self.run {
                Some(run) => run,
                None if self.is_wanted => {
                    self.is_wanted = false;
                    self.run.insert(Box::new(DdlRun::new(None)))
                }
                None => return,
            };
            let has_left_ddl = env.module.left.has_ddl;
            let progress = run.step(&mut Cx { env, core: &mut self.core, statement: &self.statement });
            // A job that this run leaves is its own affair.
            env.module.left.has_ddl = has_left_ddl;
            match progress {
                Ok(Progress::Wait) => {
                    // A request to a node after it was lost gets no answer from anybody else.
                    if !self.core.client.inbox.nodes_lost(&env.module.site.map.lost) {
                        return;
                    }
                }
                Ok(Progress::Spent) => {
                    self.is_continue_sent = true;
                    return env.continue_later(self.core.client.id);
                }
                Ok(Progress::Done(_)) => self.end(env),
                Err(_) => {
                    self.end(env);
                    self.is_wanted = true;
                    let at = env.now.monotonic + TRY_AGAIN;
                    self.pause_until = Some(at);
                    return env.module.site.wakes.register(at, self.core.client.id);
                }
            }
        }
    }

    fn end(&mut self, env: &mut Environment<'_>) {
        self.run = None;
        self.core.client.transaction.abort(&mut env.executor());
        self.core.client.inbox.forget_all();
        self.core.client.end_statement(env.outputs);
        self.core.client.diagnostics.clear();
    }
}

impl Requester for Finisher {
    fn core(&self) -> &SessionCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut SessionCore {
        &mut self.core
    }

    fn go_on(&mut self, env: &mut Environment<'_>) {
        self.step(env);
    }

    fn on_continue(&mut self, env: &mut Environment<'_>) {
        self.is_continue_sent = false;
        self.step(env);
    }

    fn on_wake(&mut self, env: &mut Environment<'_>) {
        self.step(env);
    }

    fn on_node_lost(&mut self, env: &mut Environment<'_>, node: NodeId) {
        if self.core.client.inbox.node_lost(node) {
            self.step(env);
        }
    }

    fn on_view_changed(&mut self, env: &mut Environment<'_>, before: &View) {
        self.core.on_view_changed(before, &env.module.site.map.view);
        self.step(env);
    }
}
