//! Readable things that are no tables: SHOW, and the virtual tables of `information_schema`, `performance_schema`,
//! `mysql` and `ndbinfo`.
//!
//! Names, columns, types and contents are MySQL 8's, because drivers and tools depend on them to the letter; `ndbinfo`
//! is NDB's.
//!
//! | file | what |
//! | --- | --- |
//! | `virtual_tables` | all virtual tables by name; how they are declared |
//! | `information_schema`, `performance_schema`, `instruments`, `mysql`, `ndbinfo`, `sys` | their declarations |
//! | `schema_rows` | rows about databases, tables, columns and keys |
//! | `account_rows` | rows about accounts |
//! | `grants` | rows about privileges and roles |
//! | `server_rows` | rows about everything else: character sets, engines, variables … |
//! | `known_tables` | all virtual tables |
//! | `pruning` | which tables a WHERE can be about |
//! | `statement` | columns and rows of every SHOW |
//! | `reader` | the executor's side: asks nodes, gives batches |
//!
//! The binder asks [`known_tables::definition`] and [`columns_of`]; the executor reads by [`VirtualReader`] and
//! [`operator_of`]. These get from [`rows`] and `statement::show` either the rows or the question that must go to nodes
//! ([`VirtualRows::Ask`]). The answers are rows of the table with perhaps more values behind its columns. WHERE is the
//! executor's: rows may come that do not match it.
//!
//! Invariants: but for `reader`, the result depends only on the arguments. A row has as many values as its table has
//! columns, each of its column's type or NULL where the column is nullable. Rows come in a fixed order.
//!
//! Definitions that an account has no privilege for are omitted ([`ShowContext::privileges`]), and so are the
//! statements of others.
//!
//! Deliberately not here: whether a table may be read at all (`planner::privileges`).

mod account_rows;
mod engine_status;
mod grants;
mod information_schema;
mod instruments;
pub(crate) mod known_tables;
mod mysql;
mod ndbinfo;
mod performance_schema;
mod pruning;
mod reader;
mod schema_rows;
mod server_rows;
mod statement;
mod sys;
#[cfg(test)]
mod tests;
mod virtual_tables;

pub(crate) use reader::{VirtualReader, operator_of};
pub(crate) use schema_rows::database_exists;
pub(crate) use statement::{columns_of, field_list};

use crate::variables::{SessionVariables, UserVariables};
use planner::Statistics;
use planner::plan::VirtualTable;
use protocol::module::TlsSession;
use protocol::signal::InfoTable;
use pruning::Pruning;
use types::{PrivilegeSet, Schema, TableDefinition, UserName, Value};
use virtual_tables::{Origin, Registry, Respondents, Shape};

/// The facts of a session that may be shown.
#[derive(Clone, Copy)]
pub(crate) struct ShowContext<'a> {
    /// The catalogue.
    pub(crate) schema: &'a Schema,
    /// The session's temporary tables: SHOW COLUMNS and its like show them, lists do not.
    pub(crate) temporary: Option<&'a Schema>,
    /// The virtual tables that there are.
    pub(crate) virtual_tables: &'static Registry,
    /// The session's variables.
    pub(crate) variables: &'a SessionVariables,
    /// The variables that it has set under names of its own.
    pub(crate) user_variables: &'a UserVariables,
    /// CURRENT_USER(): name and host pattern.
    pub(crate) account: (&'a str, &'a str),
    /// CONNECTION_ID().
    pub(crate) connection_id: u32,
    /// The client's description of itself: name and value.
    pub(crate) connection_attributes: &'a [(String, String)],
    /// The privileges of the session: things that it may not see are not shown.
    pub(crate) privileges: &'a PrivilegeSet,
    /// Its active roles.
    pub(crate) active_roles: &'a [UserName],
    /// Roles that every account has.
    pub(crate) mandatory_roles: &'a [UserName],
    /// Status variables.
    pub(crate) status: &'a Status,
    /// The diagnostics of the statement before.
    pub(crate) diagnostics: &'a [Diagnostic<'a>],
    /// About how many rows tables have, as far as this node knows. See `row_counts`.
    pub(crate) statistics: &'a dyn Statistics,
    /// The AUTO_INCREMENT value that this node would draw next for a table; None: it has drawn none.
    pub(crate) next_id: &'a dyn Fn(&TableDefinition) -> Option<u64>,
}

/// The values of SHOW STATUS; counts are since the node started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    pub(crate) uptime_s: u64,
    pub(crate) questions: u64,
    pub(crate) threads_connected_max: u64,
    pub(crate) tables: u64,
    /// Counts by kind of statement.
    pub(crate) statements: Vec<(String, u64)>,
    /// The TLS of this session.
    pub(crate) tls: Option<TlsSession>,
    pub(crate) tls_accepts: u64,
    /// Connections ever made, or tried.
    pub(crate) connections: u64,
    /// Connections there are.
    pub(crate) threads_connected: u64,
    /// Connections refused.
    pub(crate) aborted_connects: u64,
    pub(crate) commits: u64,
    pub(crate) rollbacks: u64,
}

/// How grave it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Note,
    Warning,
    Error,
}

/// A line of SHOW WARNINGS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Diagnostic<'a> {
    pub(crate) level: Level,
    pub(crate) code: u16,
    pub(crate) message: &'a str,
}

/// The column that connects rows of transactions with sessions.
const TRANSACTION_COLUMN: &str = "transid";

/// Rows, or where they are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum VirtualRows {
    /// All of them.
    Now(Vec<Vec<Value>>),
    /// Ask the `main` modules of these nodes by `Signal::InfoRequest`; the rows are all answers in order of nodes.
    Ask(InfoTable, Respondents),
    /// The same of all nodes; this node's sessions that the rows are about are asked for, too. The position of a row's
    /// transaction.
    AskForSessions(InfoTable, usize),
}

/// The rows of a virtual table. With a filter over its columns, rows that do not match it may be missing.
pub(crate) fn rows(
    table: &VirtualTable,
    filter: Option<(&expression::Expression, &expression::Context<'_>)>,
    context: &ShowContext<'_>,
) -> VirtualRows {
    let Some(known) = context.virtual_tables.known(&table.database, &table.name) else {
        return VirtualRows::Now(Vec::new());
    };
    match known.layout.origin {
        Origin::Nowhere => VirtualRows::Now(Vec::new()),
        Origin::Asked(question, of) => VirtualRows::Ask(question, of),
        Origin::Shaped(question, _) => VirtualRows::Ask(question, Respondents::AllNodes),
        Origin::AskedForSessions(question) => {
            let columns = known.layout.columns.iter().skip(1);
            let place = columns.clone().position(|column| column.name == TRANSACTION_COLUMN);
            VirtualRows::AskForSessions(question, place.unwrap_or(0))
        }
        Origin::Made(make) => {
            let pruning = match filter {
                Some((filter, evaluation)) => Pruning::of(filter, &known.definition, evaluation),
                None => Pruning::none(),
            };
            VirtualRows::Now(make(context, &pruning))
        }
    }
}

/// Makes the rows of a virtual table of answered ones, where these are others.
fn shape_of(table: &VirtualTable, registry: &Registry) -> Option<Shape> {
    match registry.known(&table.database, &table.name)?.layout.origin {
        Origin::Shaped(_, shape) => Some(shape),
        Origin::Nowhere | Origin::Made(_) | Origin::Asked(..) | Origin::AskedForSessions(_) => None,
    }
}
