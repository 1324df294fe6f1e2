//! Statements that prepare a database before the workload begins, in order, each tried until it works.

use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// Runs statements.
pub struct Setup {
    node: NodeId,
    statements: Vec<String>,
    next: usize,
    /// The statement that could not be done, and why.
    pub failure: Option<String>,
    /// Everything was done.
    pub is_done: bool,
    /// The rows of the last statement.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Setup {
    /// Runs `statements` through `node`.
    #[must_use]
    pub fn new(node: NodeId, statements: Vec<String>) -> Self {
        Self { node, statements, next: 0, failure: None, is_done: false, rows: Vec::new() }
    }
}

impl Script for Setup {
    fn next(&mut self, _: u64, _: &mut Prng, answer: Answer) -> Action {
        match answer {
            Answer::Ready | Answer::Lost => return Action::Connect(self.node),
            Answer::Connected => {}
            Answer::Done(_) => self.next += 1,
            Answer::Rows(rows) => {
                self.rows = rows;
                self.next += 1;
            }
            Answer::Error(code, message) => {
                if !super::is_certain_failure(code) {
                    self.failure = Some(format!("{code} {message}: {}", self.statements[self.next]));
                    return Action::Finish;
                }
            }
        }
        match self.statements.get(self.next) {
            Some(statement) => Action::Query(statement.clone()),
            None => {
                self.is_done = true;
                Action::Finish
            }
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
