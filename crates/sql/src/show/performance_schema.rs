//! `performance_schema`: the tables that tools read variables, counters and sessions from. Instruments and events are
//! not there.

use super::virtual_tables::{Column, Kind, Layout, NAME as TEXT, Origin, Respondents, column, nullable};
use super::{ShowContext, information_schema, server_rows};
use crate::variables::Scope;
use protocol::signal::InfoTable;
use types::Value;

pub(super) const NAME: &str = "performance_schema";

const VARIABLES: &[Column] = &[column("VARIABLE_NAME", TEXT), nullable("VARIABLE_VALUE", Kind::Text(1024))];

const CONNECTION_ATTRIBUTES: &[Column] = &[
    column("PROCESSLIST_ID", Kind::UnsignedBigInt),
    column("ATTR_NAME", Kind::Text(32)),
    nullable("ATTR_VALUE", Kind::Text(1024)),
    nullable("ORDINAL_POSITION", Kind::Int),
];

pub(super) const TABLES: &[Layout] = &[
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
];

/// The attributes of this session's connection; those of others are not shown.
fn connection_attributes(context: &ShowContext<'_>) -> Vec<Vec<Value>> {
    let row = |(position, (name, value)): (i64, &(String, String))| {
        let id = Value::UInt(context.connection_id.into());
        vec![id, Value::text(name), Value::text(value), Value::Int(position)]
    };
    (0..).zip(context.connection_attributes).map(row).collect()
}
