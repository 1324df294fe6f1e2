//! `performance_schema`: the tables that tools read variables, counters and sessions from. Instruments and events are not there.

use super::virtual_tables::{
    Column, Kind, Layout, NAME as TEXT, Origin, Respondents, column, empty, nullable,
};
use super::{information_schema, server_rows};
use crate::variables::Scope;
use protocol::signal::InfoTable;

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
    // Clients' attributes are not kept.
    empty(NAME, "session_account_connect_attrs", CONNECTION_ATTRIBUTES),
    empty(NAME, "session_connect_attrs", CONNECTION_ATTRIBUTES),
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
