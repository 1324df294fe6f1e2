//! From text to plan: what a statement says, bound to the catalogue, and how its rows are found.
//!
//! ```text
//! every statement, to find a cached plan:
//!   text ─ lexer ─ normalize ─► digest, text with markers, parameters
//! once per digest:
//!   lexer ─ limits ─ tokens ─ parse ─► Statement ─ bind ─► typed parts ─ access path ─► Prepared
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `lexer`, `modes`, `limits` | tokens; what of sql_mode shapes them; bounds on them |
//! | `normalize`, `syntax` | literals to parameters; 1064 |
//! | `tokens`, `dialect`, `reserved`, `cursor` | what the sqlparser crate needs to read MySQL exactly |
//! | `statement`, `parse/` | the statement as written |
//! | `bind/` | names, types, clauses: every MySQL error about meaning |
//! | `algebra`, `nulls` | joins: where conditions are tested, how the right side is found; outer joins that are inner |
//! | `alternatives` | what all branches of an OR say |
//! | `join_order/`, `estimate`, `statistics` | the order of joins, and the counts of rows that it is chosen by |
//! | `access_path/` | which keys or ranges of which index find the rows |
//! | `steps` | what a SELECT does with the rows: sorting, DISTINCT, LIMIT |
//! | `privileges` | which privileges each statement needs |
//! | `plan` | what a plan is |
//! | `view_text` | a view's query with all names in full |
//! | `character_sets` | what MySQL warns of where utf8mb3 is named |
//! | `explain`, `secrets` | plans for people; texts without passwords |
//!
//! *Invariants.* Nothing here knows rows, transactions, connections or the client protocol; the result depends only on
//! the arguments. A part that is not understood is refused, never passed over: 1064 if MySQL has no such syntax, else
//! 1235 with the feature's name. Total on any text: bounded work, bounded stack.
//!
//! *How a session uses it.* `normalize` each text. If it `is_cacheable`, look for a plan by digest and text, else
//! `prepare` the text with markers for the parameter types and keep it. If *that* fails, `prepare` the original text
//! and report its error (or run its plan, unkept). If it is not cacheable, `prepare` the original. Plans are shared
//! between sessions only where `SessionVariables::bind_key` and the database are the same and
//! [`Prepared::is_shareable`] says so.

pub mod explain;
pub mod limits;
pub mod normalize;
pub mod plan;
pub mod privileges;

mod access_path;
mod algebra;
mod alternatives;
mod bind;
mod character_sets;
mod cursor;
mod dialect;
mod encoding;
mod estimate;
mod join_order;
mod lexer;
mod modes;
mod nulls;
mod parse;
mod reserved;
mod secrets;
mod statement;
mod statistics;
mod steps;
mod syntax;
mod tokens;
mod view_text;

#[cfg(test)]
mod tests;

pub use bind::{LAST_INSERT_ID, role_names};
pub use character_sets::named_collation;
pub use character_sets::{character_set_deprecation, collation_deprecation};
pub use encoding::{foreign_text, invalid, statement_text};
pub use lexer::with_ansi_quotes;
pub use limits::TextLimits;
pub use modes::TextModes;
pub use normalize::{Normalized, digest, normalize, normalize_into, split_statements};
pub use reserved::reserved_words;
pub use secrets::{leading_words, without_secrets};
pub use statistics::{Band, NoStatistics, Statistics};

use crate::plan::{Prepared, Reach, ResultColumn, SessionValue, Show};
use catalogue::Authentication;
use expression::TypingContext;
use protocol::SqlError;
use std::sync::Arc;
use types::{Collation, PrivilegeSet, Schema, SqlType, TableDefinition, Value};

/// The facts that a statement is bound to besides the catalogue: they belong to the session and to the parts of the
/// server behind it.
pub trait Surroundings {
    /// The present value of what a statement names; only its kind matters to a plan. None: there is no such variable
    /// (1193).
    fn session_value(&self, name: &SessionValue) -> Option<Value>;
    /// The type of a user variable's present value; None if it was never set.
    fn user_variable_type(&self, name: &str) -> Option<SqlType>;
    /// A table of information_schema, performance_schema, ndbinfo or mysql that is made when read; names in lower case.
    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<TableDefinition>>;
    /// Names and types of the columns that a SHOW statement gives.
    fn show_columns(&self, show: &Show) -> Vec<(String, SqlType)>;
    /// Where a system variable has values; None: there is none of that name (in lower case).
    fn variable_reach(&self, name: &str) -> Option<Reach>;
    /// The value of VERSION().
    fn version(&self) -> &'static str;
    /// Refuses a password that cannot be hashed, a hash that cannot be checked, and a plugin that is not known.
    fn check_authentication(&self, authentication: &Authentication) -> Result<(), SqlError>;
}

/// The surroundings that a statement is bound to.
#[derive(Clone, Copy)]
pub struct BindContext<'a> {
    /// The catalogue.
    pub schema: &'a Schema,
    /// The session's temporary tables, which hide others of their names. There are no databases in it.
    pub temporary: Option<&'a Schema>,
    /// The current database.
    pub database: Option<&'a str>,
    /// CURRENT_USER(): name and host pattern.
    pub user: (&'a str, &'a str),
    /// The rights of the session.
    pub privileges: &'a PrivilegeSet,
    /// The connection's collation and the parts of sql_mode that types depend on.
    pub typing: TypingContext,
    /// ONLY_FULL_GROUP_BY in sql_mode.
    pub only_full_group_by: bool,
    /// The session's time zone: literal defaults of TIMESTAMP columns are kept in UTC.
    pub time_zone_offset_s: i32,
    /// collation_server, which a new database has.
    pub server_collation: Collation,
    /// Limits on text.
    pub limits: &'a TextLimits,
    /// How the text is read.
    pub modes: TextModes,
    /// The rest.
    pub surroundings: &'a dyn Surroundings,
    /// Counts of rows, for the order in which tables are joined.
    pub statistics: &'a dyn Statistics,
}

impl BindContext<'_> {
    /// The temporary table of that name.
    pub(crate) fn temporary_table(&self, database: &str, name: &str) -> Option<&Arc<TableDefinition>> {
        self.temporary.and_then(|temporary| temporary.table(database, name))
    }
}

/// The answer to COM_STMT_PREPARE.
#[derive(Clone, Debug)]
pub struct Description {
    /// How many `?` the statement has.
    pub parameter_count: usize,
    /// The columns of its result.
    pub columns: Arc<Vec<ResultColumn>>,
}

/// Parses, binds and plans one statement whose `?` have the given types.
pub fn prepare(
    text: &str,
    context: &BindContext<'_>,
    parameter_types: &[SqlType],
) -> Result<Prepared, SqlError> {
    let parsed = parse::parse(text, context.limits, context.modes)?;
    bind::bind(text, &parsed.statement, context, parameter_types)
}

/// Parses and binds a statement before the types of its parameters are known: they count as texts.
pub fn describe(text: &str, context: &BindContext<'_>) -> Result<Description, SqlError> {
    let parsed = parse::parse(text, context.limits, context.modes)?;
    if parsed.marker_count > usize::from(u16::MAX) {
        return Err(SqlError::new(1390, "Prepared statement contains too many placeholders"));
    }
    let types = vec![normalize::text_parameter_type(context.typing.collation); parsed.marker_count];
    let prepared = bind::bind(text, &parsed.statement, context, &types)?;
    Ok(Description { parameter_count: parsed.marker_count, columns: prepared.columns })
}
