//! `mysql`: accounts and grants as administration tools read them. They themselves are rows of `latsdb.users`,
//! `latsdb.grants` and so on.

use super::pruning::Pruning;
use super::virtual_tables::{Column, Kind, Layout, NAME as TEXT, Origin, column, empty, nullable};
use super::{ShowContext, account_rows, grants};
use types::{BlobSize, Value};

pub(super) const NAME: &str = "mysql";

const FLAG: Kind = Kind::Text(1);
const HOST: Kind = Kind::Text(255);
const LONG: Kind = Kind::LongText(BlobSize::Normal);

pub(super) const TABLES: &[Layout] = &[
    Layout {
        database: NAME,
        name: "columns_priv",
        columns: COLUMNS_PRIV,
        origin: Origin::Made(grants::columns),
    },
    Layout { database: NAME, name: "db", columns: DB, origin: Origin::Made(databases) },
    Layout {
        database: NAME,
        name: "default_roles",
        columns: DEFAULT_ROLES,
        origin: Origin::Made(grants::default_roles),
    },
    Layout {
        database: NAME,
        name: "global_grants",
        columns: GLOBAL_GRANTS,
        origin: Origin::Made(grants::global_grants),
    },
    empty(NAME, "procs_priv", PROCS_PRIV),
    Layout {
        database: NAME,
        name: "role_edges",
        columns: ROLE_EDGES,
        origin: Origin::Made(grants::role_edges),
    },
    Layout {
        database: NAME,
        name: "tables_priv",
        columns: TABLES_PRIV,
        origin: Origin::Made(grants::tables),
    },
    // Time zones by name are not loaded.
    empty(NAME, "time_zone", TIME_ZONE),
    empty(NAME, "time_zone_name", TIME_ZONE_NAME),
    Layout { database: NAME, name: "user", columns: USER, origin: Origin::Made(account_rows::users) },
];

pub(super) const USER: &[Column] = &[
    column("Host", HOST),
    column("User", Kind::Identifier),
    column("Select_priv", FLAG),
    column("Insert_priv", FLAG),
    column("Update_priv", FLAG),
    column("Delete_priv", FLAG),
    column("Create_priv", FLAG),
    column("Drop_priv", FLAG),
    column("Reload_priv", FLAG),
    column("Shutdown_priv", FLAG),
    column("Process_priv", FLAG),
    column("File_priv", FLAG),
    column("Grant_priv", FLAG),
    column("References_priv", FLAG),
    column("Index_priv", FLAG),
    column("Alter_priv", FLAG),
    column("Show_db_priv", FLAG),
    column("Super_priv", FLAG),
    column("Create_tmp_table_priv", FLAG),
    column("Lock_tables_priv", FLAG),
    column("Execute_priv", FLAG),
    column("Repl_slave_priv", FLAG),
    column("Repl_client_priv", FLAG),
    column("Create_view_priv", FLAG),
    column("Show_view_priv", FLAG),
    column("Create_routine_priv", FLAG),
    column("Alter_routine_priv", FLAG),
    column("Create_user_priv", FLAG),
    column("Event_priv", FLAG),
    column("Trigger_priv", FLAG),
    column("Create_tablespace_priv", FLAG),
    column("ssl_type", Kind::Text(9)),
    column("ssl_cipher", LONG),
    column("x509_issuer", LONG),
    column("x509_subject", LONG),
    column("max_questions", Kind::UnsignedInt),
    column("max_updates", Kind::UnsignedInt),
    column("max_connections", Kind::UnsignedInt),
    column("max_user_connections", Kind::UnsignedInt),
    column("plugin", TEXT),
    nullable("authentication_string", LONG),
    column("password_expired", FLAG),
    nullable("password_last_changed", Kind::Timestamp),
    nullable("password_lifetime", Kind::UnsignedInt),
    column("account_locked", FLAG),
    column("Create_role_priv", FLAG),
    column("Drop_role_priv", FLAG),
    nullable("Password_reuse_history", Kind::UnsignedInt),
    nullable("Password_reuse_time", Kind::UnsignedInt),
    nullable("Password_require_current", FLAG),
    nullable("User_attributes", LONG),
];

const DB: &[Column] = &[
    column("Host", HOST),
    column("Db", Kind::Identifier),
    column("User", Kind::Identifier),
    column("Select_priv", FLAG),
    column("Insert_priv", FLAG),
    column("Update_priv", FLAG),
    column("Delete_priv", FLAG),
    column("Create_priv", FLAG),
    column("Drop_priv", FLAG),
    column("Grant_priv", FLAG),
    column("References_priv", FLAG),
    column("Index_priv", FLAG),
    column("Alter_priv", FLAG),
    column("Create_tmp_table_priv", FLAG),
    column("Lock_tables_priv", FLAG),
    column("Create_view_priv", FLAG),
    column("Show_view_priv", FLAG),
    column("Create_routine_priv", FLAG),
    column("Alter_routine_priv", FLAG),
    column("Execute_priv", FLAG),
    column("Event_priv", FLAG),
    column("Trigger_priv", FLAG),
];

const TABLES_PRIV: &[Column] = &[
    column("Host", HOST),
    column("Db", Kind::Identifier),
    column("User", Kind::Identifier),
    column("Table_name", Kind::Identifier),
    column("Grantor", Kind::Text(288)),
    column("Timestamp", Kind::Timestamp),
    column("Table_priv", Kind::Text(256)),
    column("Column_priv", Kind::Text(64)),
];

const COLUMNS_PRIV: &[Column] = &[
    column("Host", HOST),
    column("Db", Kind::Identifier),
    column("User", Kind::Identifier),
    column("Table_name", Kind::Identifier),
    column("Column_name", TEXT),
    column("Timestamp", Kind::Timestamp),
    column("Column_priv", Kind::Text(64)),
];

const PROCS_PRIV: &[Column] = &[
    column("Host", HOST),
    column("Db", Kind::Identifier),
    column("User", Kind::Identifier),
    column("Routine_name", TEXT),
    column("Routine_type", Kind::Text(9)),
    column("Grantor", Kind::Text(288)),
    column("Proc_priv", Kind::Text(64)),
    column("Timestamp", Kind::Timestamp),
];

const GLOBAL_GRANTS: &[Column] = &[
    column("USER", Kind::Identifier),
    column("HOST", HOST),
    column("PRIV", Kind::Text(32)),
    column("WITH_GRANT_OPTION", FLAG),
];

const ROLE_EDGES: &[Column] = &[
    column("FROM_HOST", HOST),
    column("FROM_USER", Kind::Identifier),
    column("TO_HOST", HOST),
    column("TO_USER", Kind::Identifier),
    column("WITH_ADMIN_OPTION", FLAG),
];

const DEFAULT_ROLES: &[Column] = &[
    column("HOST", HOST),
    column("USER", Kind::Identifier),
    column("DEFAULT_ROLE_HOST", HOST),
    column("DEFAULT_ROLE_USER", Kind::Identifier),
];

const TIME_ZONE: &[Column] = &[column("Time_zone_id", Kind::UnsignedInt), column("Use_leap_seconds", FLAG)];

const TIME_ZONE_NAME: &[Column] = &[column("Name", TEXT), column("Time_zone_id", Kind::UnsignedInt)];

fn databases(context: &ShowContext<'_>, _: &Pruning<'_>) -> Vec<Vec<Value>> {
    // Host, database, user; then the privileges.
    grants::databases(context, |held| {
        DB.iter().skip(3).map(|column| grants::flag(held, column.name)).collect()
    })
}
