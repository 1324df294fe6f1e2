//! Sessions whose client speaks another character set than UTF-8: what comes is read as character_set_client, and
//! errors are written in character_set_results. The rows of results are transcoded elsewhere:
//! `results::TranscodingWriter`.
//!
//! Such a session is in `Stage::Restricted`, so that all others have nothing to ask. Bytes that are no text in the
//! client's character set are 1300 for their statement.
#![expect(clippy::wildcard_enum_match_arm, reason = "few commands have text")]

use super::Session;
use crate::environment::Environment;

use mysql_protocol::{ColumnType, Command};
use protocol::SqlError;
use types::{CharacterSet, Value};

/// A parameter's value in UTF-8: strings are in the client's character set, other values as they are.
fn read_value(set: CharacterSet, column_type: ColumnType, value: &mut Value) -> Result<(), SqlError> {
    let is_text = matches!(
        column_type,
        ColumnType::VarChar
            | ColumnType::VarString
            | ColumnType::String
            | ColumnType::Json
            | ColumnType::Enum
            | ColumnType::Set
    );
    if is_text && let Value::Bytes(bytes) = value {
        let text = set.decode(bytes).map_err(|malformed| planner::invalid(set, bytes, malformed))?;
        *value = Value::Bytes(text.into_owned().into_bytes());
    }
    Ok(())
}

impl Session {
    /// Checks and runs a command of a restricted session.
    pub(super) fn run_in_client_set(&mut self, env: &mut Environment<'_>, command: Command<'_>) {
        let set = self.core.variables.client;
        if matches!(set, CharacterSet::Utf8mb4 | CharacterSet::Binary) {
            return match self.check_command(env, &command) {
                Ok(()) => self.run_command(env, command),
                Err(error) => self.end_with_error(env, &error),
            };
        }
        let name = |bytes: &[u8]| match set.decode(bytes) {
            Ok(name) => Ok(name.into_owned()),
            Err(malformed) => Err(planner::invalid(set, bytes, malformed)),
        };
        let texts = match &command {
            Command::Query { text, .. } | Command::StatementPrepare { text } => {
                planner::foreign_text(text, set, self.core.variables.modes.text)
                    .map(|text| (text, String::new()))
            }
            Command::InitDatabase { name: database } => name(database).map(|name| (name, String::new())),
            Command::FieldList { table, wildcard } => {
                name(table).and_then(|table| Ok((table, name(wildcard)?)))
            }
            _ => Ok(Default::default()),
        };
        let (first, second) = match &texts {
            Ok((first, second)) => (first.as_bytes(), second.as_bytes()),
            Err(error) => {
                self.core.client.diagnostics.clear();
                return self.end_with_error(env, error);
            }
        };
        let read = match command {
            Command::Query { attributes, .. } => Command::Query { text: first, attributes },
            Command::StatementPrepare { .. } => Command::StatementPrepare { text: first },
            Command::InitDatabase { .. } => Command::InitDatabase { name: first },
            Command::FieldList { .. } => Command::FieldList { table: first, wildcard: second },
            other => other,
        };
        match (self.check_command(env, &read), &read) {
            (Err(error), _) => self.end_with_error(env, &error),
            (Ok(()), Command::StatementExecute(execute)) => {
                self.core.has_more_results = false;
                self.execute_with(env, execute, |column_type, value| read_value(set, column_type, value));
            }
            (Ok(()), _) => self.run_command(env, read),
        }
    }
}
