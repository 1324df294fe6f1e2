//! Prepared statements by name: PREPARE, EXECUTE … USING and DEALLOCATE PREPARE as texts.
//!
//! The text is kept. EXECUTE plans it for the types that the variables have at that moment, or finds the plan in the
//! cache. It runs it as COM_STMT_EXECUTE would, with rows as text.
//!
//! Invariants: a session keeps at most [`STATEMENTS_MAX`] statements of both kinds together, and texts of at most
//! [`TEXTS_SIZE_MAX`] bytes in all; none of them prepares or executes another.

use super::Session;
use super::prepared::STATEMENTS_MAX;
use super::running::TextSource;
use crate::environment::Environment;
use mysql_protocol::result::RowFormat;
use planner::normalize::text_parameter_type;
use planner::plan::{NamedStatement, Plan, StatementSource};
use protocol::SqlError;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{SqlType, Value};

/// Bytes of all texts of a session.
const TEXTS_SIZE_MAX: usize = 64 << 20;

/// Bytes of a statement besides its text.
const ENTRY_SIZE: usize = 128;

/// A statement that PREPARE made.
#[derive(Debug)]
struct NamedText {
    text: Arc<str>,
    parameter_count: usize,
}

/// The statements of a session, by name in lower case.
#[derive(Debug, Default)]
pub(super) struct NamedStatements {
    by_name: BTreeMap<String, NamedText>,
    size: usize,
}

impl NamedStatements {
    pub(super) fn count(&self) -> usize {
        self.by_name.len()
    }

    /// Bytes of all.
    pub(super) fn size(&self) -> usize {
        self.size + self.by_name.len() * ENTRY_SIZE
    }

    fn insert(&mut self, name: &str, statement: NamedText) {
        self.remove(name);
        self.size += statement.text.len();
        self.by_name.insert(name.to_owned(), statement);
    }

    fn remove(&mut self, name: &str) -> bool {
        let removed = self.by_name.remove(name);
        self.size -= removed.as_ref().map_or(0, |statement| statement.text.len());
        removed.is_some()
    }
}

fn unknown(name: &str, verb: &str) -> SqlError {
    SqlError::new(1243, format!("Unknown prepared statement handler ({name}) given to {verb}"))
}

impl Session {
    /// Prepares, executes or forgets a statement.
    pub(super) fn named_statement(&mut self, env: &mut Environment<'_>, statement: &NamedStatement) {
        self.core.client.diagnostics.clear();
        let done = match statement {
            NamedStatement::Prepare { name, source } => self.prepare_named(env, name, source),
            NamedStatement::Execute { name, using } => return self.execute_named(env, name, using),
            NamedStatement::Deallocate { name } if self.named_statements.remove(name) => Ok(""),
            NamedStatement::Deallocate { name } => Err(unknown(name, "DEALLOCATE PREPARE")),
        };
        match done {
            Ok(info) => self.core.reply_ok(env, 0, 0, info),
            Err(error) => self.end_with_error(env, &error),
        }
    }

    fn prepare_named(
        &mut self,
        env: &mut Environment<'_>,
        name: &str,
        source: &StatementSource,
    ) -> Result<&'static str, SqlError> {
        // As in MySQL, the statement of that name is gone even if the new one is refused.
        self.named_statements.remove(name);
        if self.named_statements.count() + self.statements.len() >= STATEMENTS_MAX {
            return Err(super::prepared::too_many_statements());
        }
        let text = match source {
            StatementSource::Text(text) => text.clone(),
            StatementSource::Variable(variable) => match self.core.user_variables.get(variable) {
                Some((value, sql_type)) if !value.is_null() => {
                    let mut text = Vec::new();
                    types::format_text(value.as_ref(), sql_type, &mut text);
                    String::from_utf8_lossy(&text).into_owned()
                }
                _ => "NULL".to_owned(),
            },
        };
        let text = text.trim_end().trim_end_matches(';');
        if self.named_statements.size + text.len() > TEXTS_SIZE_MAX {
            let message = format!(
                "Out of memory: the prepared statements of a session may take {TEXTS_SIZE_MAX} bytes"
            );
            return Err(SqlError::new(1041, message));
        }
        let description = self.core.describe(env.module, text)?;
        if description.parameter_count == 0
            && matches!(
                self.core.prepare(env.module, text, &[], &[]).map(|prepared| prepared.plan),
                Ok(Plan::Named(_))
            )
        {
            return Err(SqlError::new(
                1295,
                "This command is not supported in the prepared statement protocol yet",
            ));
        }
        let statement = NamedText { text: text.into(), parameter_count: description.parameter_count };
        self.named_statements.insert(name, statement);
        if let Err(error) = self.account(env) {
            self.named_statements.remove(name);
            return Err(error);
        }
        Ok("Statement prepared")
    }

    fn execute_named(&mut self, env: &mut Environment<'_>, name: &str, using: &[String]) {
        let Some(statement) = self.named_statements.by_name.get(name) else {
            return self.end_with_error(env, &unknown(name, "EXECUTE"));
        };
        if statement.parameter_count != using.len() {
            return self.end_with_error(env, &SqlError::new(1210, "Incorrect arguments to EXECUTE"));
        }
        let text = Arc::clone(&statement.text);
        let (mut values, mut sql_types) = (Vec::with_capacity(using.len()), Vec::with_capacity(using.len()));
        for variable in using {
            let (value, sql_type) = match self.core.user_variables.get(variable) {
                Some((value, sql_type)) => (value.clone(), sql_type.clone()),
                None => (Value::Null, SqlType::Null),
            };
            // One type for texts of all lengths, so that plans are shared.
            let is_text = matches!(sql_type, SqlType::VarChar { .. } | SqlType::Char { .. });
            sql_types.push(if is_text {
                text_parameter_type(self.core.variables.collation)
            } else {
                sql_type
            });
            values.push(value);
        }
        match self.core.plan_of_prepared(env, &text, &sql_types, &values) {
            Ok(cached) => self.begin(env, cached, values, RowFormat::Text, TextSource::Prepared(text)),
            Err(error) => self.end_with_error(env, &error),
        }
    }

    /// Forgets all prepared statements, of both kinds.
    pub(super) fn forget_statements(&mut self) {
        self.statements.forget_all();
        self.named_statements = NamedStatements::default();
    }
}
