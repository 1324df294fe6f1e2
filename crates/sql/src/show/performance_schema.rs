//! `performance_schema`: the tables that tools read variables, counters and sessions from. Those without rows are in
//! `instruments`.
//!
//! A session is one thread. Of its statement is known what the process list knows: counts are 0.

use super::virtual_tables::{Column, Kind, Layout, NAME as TEXT, Origin, Respondents, column, nullable};
use super::{ShowContext, information_schema, server_rows};
use crate::variables::Scope;
use protocol::signal::InfoTable;
use types::{BlobSize, Value};

pub(super) const NAME: &str = "performance_schema";

const LONG: Kind = Kind::LongText(BlobSize::Long);
/// Of a second: the unit of timers.
const PICOSECONDS: u64 = 1_000_000_000_000;

const VARIABLES: &[Column] = &[column("VARIABLE_NAME", TEXT), nullable("VARIABLE_VALUE", Kind::Text(1024))];

const OF_THREADS: &[Column] =
    &[counted("THREAD_ID"), column("VARIABLE_NAME", TEXT), nullable("VARIABLE_VALUE", Kind::Text(1024))];

const USER_VARIABLES: &[Column] =
    &[counted("THREAD_ID"), column("VARIABLE_NAME", TEXT), nullable("VARIABLE_VALUE", LONG)];

const CONNECTION_ATTRIBUTES: &[Column] = &[
    column("PROCESSLIST_ID", Kind::UnsignedBigInt),
    column("ATTR_NAME", Kind::Text(32)),
    nullable("ATTR_VALUE", Kind::Text(1024)),
    nullable("ORDINAL_POSITION", Kind::Int),
];

/// A count that is never NULL.
pub(super) const fn counted(name: &'static str) -> Column {
    column(name, Kind::UnsignedBigInt)
}

const THREADS: &[Column] = &[
    counted("THREAD_ID"),
    column("NAME", Kind::Text(128)),
    column("TYPE", Kind::Text(10)),
    nullable("PROCESSLIST_ID", Kind::UnsignedBigInt),
    nullable("PROCESSLIST_USER", Kind::Text(32)),
    nullable("PROCESSLIST_HOST", Kind::Text(261)),
    nullable("PROCESSLIST_DB", Kind::Identifier),
    nullable("PROCESSLIST_COMMAND", Kind::Text(16)),
    nullable("PROCESSLIST_TIME", Kind::BigInt),
    nullable("PROCESSLIST_STATE", TEXT),
    nullable("PROCESSLIST_INFO", LONG),
    nullable("PARENT_THREAD_ID", Kind::UnsignedBigInt),
    nullable("ROLE", TEXT),
    column("INSTRUMENTED", Kind::Text(3)),
    column("HISTORY", Kind::Text(3)),
    nullable("CONNECTION_TYPE", Kind::Text(16)),
    nullable("THREAD_OS_ID", Kind::UnsignedBigInt),
    nullable("RESOURCE_GROUP", TEXT),
    nullable("EXECUTION_ENGINE", Kind::Text(9)),
    counted("CONTROLLED_MEMORY"),
    counted("MAX_CONTROLLED_MEMORY"),
    counted("TOTAL_MEMORY"),
    counted("MAX_TOTAL_MEMORY"),
    column("TELEMETRY_ACTIVE", Kind::Text(3)),
];

pub(super) const STATEMENTS: &[Column] = &[
    counted("THREAD_ID"),
    counted("EVENT_ID"),
    nullable("END_EVENT_ID", Kind::UnsignedBigInt),
    column("EVENT_NAME", Kind::Text(128)),
    nullable("SOURCE", TEXT),
    nullable("TIMER_START", Kind::UnsignedBigInt),
    nullable("TIMER_END", Kind::UnsignedBigInt),
    nullable("TIMER_WAIT", Kind::UnsignedBigInt),
    counted("LOCK_TIME"),
    nullable("SQL_TEXT", LONG),
    nullable("DIGEST", TEXT),
    nullable("DIGEST_TEXT", LONG),
    nullable("CURRENT_SCHEMA", Kind::Identifier),
    nullable("OBJECT_TYPE", TEXT),
    nullable("OBJECT_SCHEMA", Kind::Identifier),
    nullable("OBJECT_NAME", Kind::Identifier),
    nullable("OBJECT_INSTANCE_BEGIN", Kind::UnsignedBigInt),
    nullable("MYSQL_ERRNO", Kind::Int),
    nullable("RETURNED_SQLSTATE", Kind::Text(5)),
    nullable("MESSAGE_TEXT", Kind::Text(128)),
    counted("ERRORS"),
    counted("WARNINGS"),
    counted("ROWS_AFFECTED"),
    counted("ROWS_SENT"),
    counted("ROWS_EXAMINED"),
    counted("CREATED_TMP_DISK_TABLES"),
    counted("CREATED_TMP_TABLES"),
    counted("SELECT_FULL_JOIN"),
    counted("SELECT_FULL_RANGE_JOIN"),
    counted("SELECT_RANGE"),
    counted("SELECT_RANGE_CHECK"),
    counted("SELECT_SCAN"),
    counted("SORT_MERGE_PASSES"),
    counted("SORT_RANGE"),
    counted("SORT_ROWS"),
    counted("SORT_SCAN"),
    counted("NO_INDEX_USED"),
    counted("NO_GOOD_INDEX_USED"),
    nullable("NESTING_EVENT_ID", Kind::UnsignedBigInt),
    nullable("NESTING_EVENT_TYPE", Kind::Text(11)),
    nullable("NESTING_EVENT_LEVEL", Kind::Int),
    nullable("STATEMENT_ID", Kind::UnsignedBigInt),
    counted("CPU_TIME"),
    counted("MAX_CONTROLLED_MEMORY"),
    counted("MAX_TOTAL_MEMORY"),
    nullable("EXECUTION_ENGINE", Kind::Text(9)),
];

pub(super) const TABLES: &[Layout] = &[
    Layout {
        database: NAME,
        name: "events_statements_current",
        columns: STATEMENTS,
        origin: Origin::Shaped(InfoTable::Processes, statement),
    },
    Layout {
        database: NAME,
        name: "global_status",
        columns: VARIABLES,
        origin: Origin::Made(|context, _| server_rows::status(context)),
    },
    Layout {
        database: NAME,
        name: "global_variables",
        columns: VARIABLES,
        origin: Origin::Made(|context, _| server_rows::variables(context, Scope::Global)),
    },
    Layout {
        database: NAME,
        name: "persisted_variables",
        columns: VARIABLES,
        origin: Origin::Made(|context, _| server_rows::persisted_variables(context)),
    },
    Layout {
        database: NAME,
        name: "processlist",
        columns: information_schema::PROCESS_LIST,
        origin: Origin::Asked(InfoTable::Processes, Respondents::AllNodes),
    },
    Layout {
        database: NAME,
        name: "session_account_connect_attrs",
        columns: CONNECTION_ATTRIBUTES,
        origin: Origin::Made(|context, _| connection_attributes(context)),
    },
    Layout {
        database: NAME,
        name: "session_connect_attrs",
        columns: CONNECTION_ATTRIBUTES,
        origin: Origin::Made(|context, _| connection_attributes(context)),
    },
    Layout {
        database: NAME,
        name: "session_status",
        columns: VARIABLES,
        origin: Origin::Made(|context, _| server_rows::status(context)),
    },
    Layout {
        database: NAME,
        name: "session_variables",
        columns: VARIABLES,
        origin: Origin::Made(|context, _| server_rows::variables(context, Scope::Session)),
    },
    Layout {
        database: NAME,
        name: "status_by_thread",
        columns: OF_THREADS,
        origin: Origin::Made(|context, _| of_thread(context, server_rows::status(context))),
    },
    Layout {
        database: NAME,
        name: "threads",
        columns: THREADS,
        origin: Origin::Shaped(InfoTable::Processes, thread),
    },
    Layout {
        database: NAME,
        name: "user_variables_by_thread",
        columns: USER_VARIABLES,
        origin: Origin::Made(|context, _| of_thread(context, user_variables(context))),
    },
    Layout {
        database: NAME,
        name: "variables_by_thread",
        columns: OF_THREADS,
        origin: Origin::Made(|context, _| {
            of_thread(context, server_rows::variables(context, Scope::Session))
        }),
    },
];

/// A value for each column that is not set yet: NULL, 0 or nothing.
fn missing(columns: &[Column]) -> impl Iterator<Item = Value> {
    let value = |column: &Column| match column.nullable {
        true => Value::Null,
        false if column.kind == Kind::UnsignedBigInt => Value::UInt(0),
        false => Value::text("NO"),
    };
    columns.iter().map(value)
}

/// The thread of a session.
fn thread(session: Vec<Value>) -> Option<Vec<Value>> {
    let id = session.first()?.clone();
    let mut row = vec![id, Value::text("thread/sql/one_connection"), Value::text("FOREGROUND")];
    row.extend(session.into_iter().take(information_schema::PROCESS_LIST.len()));
    row.extend(missing(THREADS.get(row.len()..)?));
    Some(row)
}

/// The statement of a session that runs one.
fn statement(session: Vec<Value>) -> Option<Vec<Value>> {
    let [id, _, _, database, _, time, _, text, ..] = session.as_slice() else { return None };
    if text.is_null() {
        return None;
    }
    let mut row: Vec<Value> = missing(STATEMENTS).collect();
    let seconds = if let Value::Int(seconds) = time { u64::try_from(*seconds).unwrap_or(0) } else { 0 };
    let mut put = |name: &str, value: Value| {
        if let Some(place) = STATEMENTS.iter().position(|column| column.name == name) {
            row[place] = value;
        }
    };
    put("THREAD_ID", id.clone());
    put("EVENT_ID", Value::UInt(1));
    put("EVENT_NAME", Value::text("statement/com/Query"));
    put("TIMER_WAIT", Value::UInt(seconds.saturating_mul(PICOSECONDS)));
    put("SQL_TEXT", text.clone());
    put("CURRENT_SCHEMA", database.clone());
    Some(row)
}

/// Rows about this session, with its thread in front; those of others are not shown.
fn of_thread(context: &ShowContext<'_>, rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let id = Value::UInt(context.connection_id.into());
    let with_id = |row: Vec<Value>| std::iter::once(id.clone()).chain(row).collect();
    rows.into_iter().map(with_id).collect()
}

/// The variables that the session has set: names and values.
fn user_variables(context: &ShowContext<'_>) -> Vec<Vec<Value>> {
    let row = |(name, value): (&str, Value)| vec![Value::text(name), value];
    context.user_variables.texts().map(row).collect()
}

/// The attributes of this session's connection; those of others are not shown.
fn connection_attributes(context: &ShowContext<'_>) -> Vec<Vec<Value>> {
    let row = |(position, (name, value)): (i64, &(String, String))| {
        let id = Value::UInt(context.connection_id.into());
        vec![id, Value::text(name), Value::text(value), Value::Int(position)]
    };
    (0..).zip(context.connection_attributes).map(row).collect()
}
