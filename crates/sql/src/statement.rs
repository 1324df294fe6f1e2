//! A statement that runs in a session, and what its steps use.

use crate::environment::Environment;
use crate::session_core::SessionCore;
use crate::statement_cache::CachedStatement;
use mysql_protocol::result::RowFormat;
use std::sync::Arc;

/// The statement that runs: its plan, and what it is executed with.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) cached: Arc<CachedStatement>,
    pub(crate) format: RowFormat,
    pub(crate) run: executor::Statement,
}

/// The context of a statement's step that is the session's own: the handler call, the session, the statement.
pub(crate) struct Cx<'a, 'e> {
    pub(crate) env: &'a mut Environment<'e>,
    pub(crate) core: &'a mut SessionCore,
    pub(crate) statement: &'a executor::Statement,
}

impl Cx<'_, '_> {
    /// The part that the executor gets.
    #[inline]
    pub(crate) fn executor(&mut self) -> executor::Cx<'_> {
        executor::Cx { env: self.env.executor(), client: &mut self.core.client, statement: self.statement }
    }
}
