//! Functions of MySQL's database `sys`: each stands for an expression. Other functions behind a database's name are
//! stored ones, and there are none (1305).

use super::Place;
use crate::bind::Binder;
use crate::cursor::Cursor;
use crate::modes::TextModes;
use expression::Expression;
use protocol::SqlError;

/// Functions without arguments.
const FUNCTIONS: [(&str, &str); 3] = [
    ("version_major", "CAST(SUBSTRING_INDEX(VERSION(), '.', 1) AS UNSIGNED)"),
    ("version_minor", "CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '.', 2), '.', -1) AS UNSIGNED)"),
    (
        "version_patch",
        "CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '-', 1), '.', 3), '.', -1) AS UNSIGNED)",
    ),
];

/// Functions that MySQL has there, and that are missing.
const MISSING: [&str; 18] = [
    "extract_schema_from_file_name",
    "extract_table_from_file_name",
    "format_bytes",
    "format_path",
    "format_statement",
    "format_time",
    "list_add",
    "list_drop",
    "ps_is_account_enabled",
    "ps_is_consumer_enabled",
    "ps_is_instrument_default_enabled",
    "ps_is_instrument_default_timed",
    "ps_is_thread_instrumented",
    "ps_thread_account",
    "ps_thread_id",
    "ps_thread_stack",
    "quote_identifier",
    "sys_get_config",
];

impl Binder<'_> {
    /// A call of `database.name`.
    pub(super) fn qualified_function(
        &mut self,
        database: &str,
        name: &str,
        argument_count: usize,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let is = |known: &str| database.eq_ignore_ascii_case("sys") && name.eq_ignore_ascii_case(known);
        if let Some((known, text)) = FUNCTIONS.into_iter().find(|(known, _)| is(known)) {
            if argument_count > 0 {
                let text = format!(
                    "Incorrect number of arguments for FUNCTION sys.{known}; expected 0, got {argument_count}"
                );
                return Err(SqlError::new(1318, text));
            }
            let expression = Cursor::new(text, TextModes::default())?.expression()?;
            return self.bound(&expression, place);
        }
        if MISSING.into_iter().any(is) {
            return Err(SqlError::unsupported(&format!("sys.{name}()")));
        }
        Err(SqlError::new(1305, format!("FUNCTION {database}.{name} does not exist")))
    }
}
