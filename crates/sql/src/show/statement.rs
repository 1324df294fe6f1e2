//! SHOW, DESCRIBE, ANALYZE TABLE and their like: MySQL 8's columns and rows.
//!
//! LIKE is applied here, to the first column, as MySQL does: byte by byte where names of databases and tables are, else
//! without case.

use super::schema_rows::{self, ShownTable};
use super::virtual_tables::{Column, Kind, NAME as TEXT, Respondents, column, count, nullable, text};
use super::{ShowContext, VirtualRows, account_rows, grants, information_schema, server_rows};
use crate::variables::Scope;
use catalogue::SYSTEM_DATABASE;
use expression::{Context, Expression, NoColumns};
use planner::plan::{ColumnOrigin, Diagnosed, ResultColumn, Show, TableMaintenance};
use planner::with_ansi_quotes;
use protocol::SqlError;
use protocol::signal::InfoTable;
use std::sync::Arc;
use types::{BlobSize, Collation, ColumnDefinition, ColumnIndex, SqlType, TableDefinition, Value};

/// How names other than those of databases and tables compare.
const NAME_COLLATION: Collation = Collation::Utf8mb4GeneralCi;

const ENGINE_STATUS: &[Column] = &[column("Type", TEXT), column("Name", TEXT), column("Status", LONG)];

const LONG: Kind = Kind::LongText(BlobSize::Long);

/// Names and types of the columns of a SHOW.
pub(crate) fn columns_of(what: &Show) -> Vec<(String, SqlType)> {
    let fixed: &[Column] = match what {
        Show::Tables { database, full } => {
            let mut columns = vec![(format!("Tables_in_{database}"), Kind::Identifier.sql_type())];
            if *full {
                columns.push(("Table_type".to_owned(), Kind::Text(11).sql_type()));
            }
            return columns;
        }
        Show::Nothing { columns, .. } => {
            return columns.iter().map(|name| ((*name).to_owned(), TEXT.sql_type())).collect();
        }
        Show::Databases => DATABASES,
        Show::Columns { full: false, .. } => COLUMNS,
        Show::Columns { full: true, .. } => FULL_COLUMNS,
        Show::Indexes { .. } => INDEXES,
        Show::CreateTable { .. } => CREATE_TABLE,
        Show::CreateView { .. } => CREATE_VIEW,
        Show::CreateDatabase { .. } => CREATE_DATABASE,
        Show::TableStatus { .. } => TABLE_STATUS,
        Show::Variables { .. } | Show::Status => VARIABLES,
        Show::Diagnostics { .. } => DIAGNOSTICS,
        Show::DiagnosticsCount(Diagnosed::All) => WARNING_COUNT,
        Show::DiagnosticsCount(Diagnosed::Errors) => ERROR_COUNT,
        Show::Engines => ENGINES,
        Show::EngineStatus(_) => ENGINE_STATUS,
        Show::CharacterSets => CHARACTER_SETS,
        Show::Collations => COLLATIONS,
        Show::ProcessList => return process_list(),
        Show::Grants { account, .. } => {
            let heading = account
                .as_ref()
                .map_or_else(|| "Grants".to_owned(), |(user, host)| format!("Grants for {user}@{host}"));
            return vec![(heading, Kind::Text(1024).sql_type())];
        }
        Show::CreateUser { account } => {
            let heading = account.as_ref().map_or_else(
                || "CREATE USER".to_owned(),
                |(user, host)| format!("CREATE USER for {user}@{host}"),
            );
            return vec![(heading, Kind::Text(4096).sql_type())];
        }
        Show::Privileges => PRIVILEGES,
        Show::Plugins => PLUGINS,
        Show::Maintenance { .. } => MAINTENANCE,
    };
    fixed.iter().map(|column| (column.name.to_owned(), column.kind.sql_type())).collect()
}

/// The rows of a SHOW; WHERE is the caller's. 1049 and 1146 if what is shown has gone since the statement was bound.
pub(crate) fn show(
    what: &Show,
    like: Option<&str>,
    context: &ShowContext<'_>,
) -> Result<VirtualRows, SqlError> {
    let rows = match what {
        Show::ProcessList => return Ok(VirtualRows::Ask(InfoTable::Processes, Respondents::AllNodes)),
        Show::Databases => {
            // Dump programs copy and lock all that is listed, and nobody may lock the system's own tables.
            let listed = schema_rows::databases(context).into_keys().filter(|name| *name != SYSTEM_DATABASE);
            listed.map(|name| vec![text(name)]).collect()
        }
        Show::Tables { database, full } => tables(context, database, *full),
        Show::Columns { database, table, full } => {
            schema_rows::shown_columns(known_table(context, database, table)?, *full, context)
        }
        Show::Indexes { database, table } => {
            schema_rows::shown_indexes(known_table(context, database, table)?, context)
        }
        Show::CreateTable { database, table } => {
            let table = known_table(context, database, table)?.definition;
            let shown = catalogue::show_create_table(table, (context.next_id)(table));
            let has_ansi_quotes = context.variables.modes.text.ansi_quotes;
            vec![vec![
                text(&table.name),
                text(&if has_ansi_quotes { with_ansi_quotes(&shown) } else { shown }),
            ]]
        }
        Show::CreateView { database, view, text: shown } => {
            let missing = || SqlError::new(1146, format!("Table '{database}.{view}' doesn't exist"));
            let definition = context.schema.view(database, view).ok_or_else(missing)?;
            let has_ansi_quotes = context.variables.modes.text.ansi_quotes;
            let shown = if has_ansi_quotes { with_ansi_quotes(shown) } else { shown.clone() };
            let (set, collation) = (&definition.character_set, definition.collation.name());
            vec![vec![text(view), text(&shown), text(set), text(collation)]]
        }
        Show::CreateDatabase { database } => create_database(context, database)?,
        Show::TableStatus { database } => table_status(context, database),
        Show::Variables { global: true } => server_rows::variables(context, Scope::Global),
        Show::Variables { global: false } => server_rows::variables(context, Scope::Session),
        Show::Status => server_rows::status(context),
        Show::Diagnostics { which, window } => {
            let rows = server_rows::diagnostics(context, *which).into_iter();
            let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            rows.skip(number(window.offset)).take(window.count.map_or(usize::MAX, number)).collect()
        }
        Show::DiagnosticsCount(which) => vec![vec![count(server_rows::diagnostics(context, *which).len())]],
        Show::Engines => server_rows::engines(),
        // Nodes are asked for it: `reader::operator_of`.
        Show::EngineStatus(_) => Vec::new(),
        Show::CharacterSets => server_rows::shown_character_sets(),
        Show::Collations => server_rows::collations(),
        Show::Grants { account, using } => grants::shown(context, account.as_ref(), using),
        Show::CreateUser { account } => account_rows::create_user(context, account.as_ref())?,
        Show::Privileges => server_rows::privileges(),
        Show::Plugins => server_rows::shown_plugins(),
        Show::Maintenance { operation, tables } => maintenance(context, *operation, tables),
        Show::Nothing { .. } => Vec::new(),
    };
    Ok(VirtualRows::Now(match like {
        Some(pattern) => like_rows(rows, pattern, like_collation(what)),
        None => rows,
    }))
}

/// The answer to COM_FIELD_LIST: the columns whose names match, with their defaults.
pub(crate) fn field_list(
    table: &Arc<TableDefinition>,
    like: Option<&str>,
) -> Vec<(ResultColumn, Option<String>)> {
    let matches = |column: &ColumnDefinition| {
        like.is_none_or(|like| is_like(column.name.as_bytes(), like, NAME_COLLATION))
    };
    let field = |(index, column): (ColumnIndex, &ColumnDefinition)| {
        let shown = ResultColumn {
            name: column.name.clone(),
            original_name: column.name.clone(),
            table: table.name.clone(),
            original_table: table.name.clone(),
            database: table.database.clone(),
            sql_type: column.sql_type.clone(),
            nullable: column.flags.nullable,
            coercibility: expression::IMPLICIT,
            origin: Some(ColumnOrigin { table: Arc::clone(table), column: index }),
            format: column.format,
        };
        (shown, catalogue::column_default_text(column))
    };
    table.visible_columns().filter(|(_, column)| matches(column)).map(field).collect()
}

fn known_table<'a>(
    context: &'a ShowContext<'_>,
    database: &str,
    name: &str,
) -> Result<ShownTable<'a>, SqlError> {
    let missing = || SqlError::new(1146, format!("Table '{database}.{name}' doesn't exist"));
    schema_rows::table(context, database, name).ok_or_else(missing)
}

fn tables(context: &ShowContext<'_>, database: &str, full: bool) -> Vec<Vec<Value>> {
    let row = |table: ShownTable<'_>| {
        let mut row = vec![text(&table.definition.name)];
        if full {
            row.push(text(table.table_type()));
        }
        row
    };
    schema_rows::tables_of(context, database).into_iter().map(row).collect()
}

fn table_status(context: &ShowContext<'_>, database: &str) -> Vec<Vec<Value>> {
    let row = |table: ShownTable<'_>| {
        let name = text(&table.definition.name);
        std::iter::once(name).chain(table.status(context)).collect()
    };
    schema_rows::tables_of(context, database).into_iter().map(row).collect()
}

fn create_database(context: &ShowContext<'_>, database: &str) -> Result<Vec<Vec<Value>>, SqlError> {
    let name = schema_rows::virtual_database(database).unwrap_or(database);
    let databases = schema_rows::databases(context);
    let Some(collation) = databases.get(name) else {
        return Err(SqlError::new(1049, format!("Unknown database '{database}'")));
    };
    let shown = types::Database { name: name.to_owned(), collation: *collation };
    Ok(vec![vec![text(name), text(&catalogue::show_create_database(&shown))]])
}

/// The work of these operations is either always done or never needed; the answer names only what cannot be done here.
fn maintenance(
    context: &ShowContext<'_>,
    operation: TableMaintenance,
    tables: &[(String, String)],
) -> Vec<Vec<Value>> {
    let (name, outcome) = match operation {
        TableMaintenance::Analyze => ("analyze", ("status", "OK")),
        TableMaintenance::Optimize => ("optimize", ("status", "OK")),
        TableMaintenance::Check => {
            ("check", ("note", "The storage engine for the table doesn't support check"))
        }
        TableMaintenance::Repair => {
            ("repair", ("note", "The storage engine for the table doesn't support repair"))
        }
    };
    let mut rows = Vec::new();
    for (database, table) in tables {
        let full_name = format!("{database}.{table}");
        let mut row = |kind: &str, message: &str| {
            rows.push(vec![text(&full_name), text(name), text(kind), text(message)])
        };
        if schema_rows::table(context, database, table).is_some() {
            row(outcome.0, outcome.1);
        } else {
            row("Error", &format!("Table '{full_name}' doesn't exist"));
            row("status", "Operation failed");
        }
    }
    rows
}

/// Names of databases and tables are compared as they are written.
fn like_collation(what: &Show) -> Collation {
    match matches!(what, Show::Databases | Show::Tables { .. } | Show::TableStatus { .. }) {
        true => Collation::Utf8mb4Bin,
        false => NAME_COLLATION,
    }
}

/// The rows whose first value matches.
fn like_rows(rows: Vec<Vec<Value>>, pattern: &str, collation: Collation) -> Vec<Vec<Value>> {
    let matches = |row: &Vec<Value>| match row.first() {
        Some(Value::Bytes(shown)) => is_like(shown, pattern, collation),
        _ => false,
    };
    rows.into_iter().filter(matches).collect()
}

/// LIKE as an expression would do it.
fn is_like(text: &[u8], pattern: &str, collation: Collation) -> bool {
    let [text, pattern] = [text, pattern.as_bytes()].map(|part| Expression::text(part, collation));
    let like = Expression::like(text, pattern, Some('\\'), false);
    like.is_ok_and(|like| like.is_true(&NoColumns, &Context::default()).unwrap_or(false))
}

const DATABASES: &[Column] = &[column("Database", Kind::Identifier)];

const COLUMNS: &[Column] = &[
    column("Field", TEXT),
    column("Type", Kind::LongText(BlobSize::Medium)),
    column("Null", Kind::Text(3)),
    column("Key", Kind::Text(3)),
    nullable("Default", Kind::LongText(BlobSize::Normal)),
    nullable("Extra", Kind::Text(256)),
];

const FULL_COLUMNS: &[Column] = &[
    column("Field", TEXT),
    column("Type", Kind::LongText(BlobSize::Medium)),
    nullable("Collation", TEXT),
    column("Null", Kind::Text(3)),
    column("Key", Kind::Text(3)),
    nullable("Default", Kind::LongText(BlobSize::Normal)),
    nullable("Extra", Kind::Text(256)),
    nullable("Privileges", Kind::Text(154)),
    column("Comment", Kind::LongText(BlobSize::Normal)),
];

const INDEXES: &[Column] = &[
    column("Table", Kind::Identifier),
    column("Non_unique", Kind::Int),
    nullable("Key_name", TEXT),
    column("Seq_in_index", Kind::UnsignedInt),
    nullable("Column_name", TEXT),
    nullable("Collation", Kind::Text(1)),
    nullable("Cardinality", Kind::BigInt),
    nullable("Sub_part", Kind::BigInt),
    nullable("Packed", Kind::Text(10)),
    column("Null", Kind::Text(3)),
    column("Index_type", Kind::Text(11)),
    column("Comment", Kind::Text(8)),
    column("Index_comment", Kind::Text(2048)),
    column("Visible", Kind::Text(3)),
    nullable("Expression", LONG),
];

const CREATE_TABLE: &[Column] = &[column("Table", Kind::Identifier), column("Create Table", LONG)];
const CREATE_VIEW: &[Column] = &[
    column("View", Kind::Identifier),
    column("Create View", LONG),
    column("character_set_client", TEXT),
    column("collation_connection", TEXT),
];
const CREATE_DATABASE: &[Column] =
    &[column("Database", Kind::Identifier), column("Create Database", Kind::Text(1024))];

const TABLE_STATUS: &[Column] = &[
    column("Name", Kind::Identifier),
    nullable("Engine", TEXT),
    nullable("Version", Kind::Int),
    nullable("Row_format", Kind::Text(10)),
    nullable("Rows", Kind::UnsignedBigInt),
    nullable("Avg_row_length", Kind::UnsignedBigInt),
    nullable("Data_length", Kind::UnsignedBigInt),
    nullable("Max_data_length", Kind::UnsignedBigInt),
    nullable("Index_length", Kind::UnsignedBigInt),
    nullable("Data_free", Kind::UnsignedBigInt),
    nullable("Auto_increment", Kind::UnsignedBigInt),
    nullable("Create_time", Kind::Timestamp),
    nullable("Update_time", Kind::DateTime),
    nullable("Check_time", Kind::DateTime),
    nullable("Collation", TEXT),
    nullable("Checksum", Kind::BigInt),
    nullable("Create_options", Kind::Text(256)),
    nullable("Comment", Kind::LongText(BlobSize::Normal)),
];

const VARIABLES: &[Column] = &[column("Variable_name", TEXT), nullable("Value", Kind::Text(1024))];

const DIAGNOSTICS: &[Column] =
    &[column("Level", Kind::Text(7)), column("Code", Kind::UnsignedInt), column("Message", Kind::Text(512))];

const WARNING_COUNT: &[Column] = &[column("@@session.warning_count", Kind::UnsignedBigInt)];
const ERROR_COUNT: &[Column] = &[column("@@session.error_count", Kind::UnsignedBigInt)];

const ENGINES: &[Column] = &[
    column("Engine", TEXT),
    column("Support", Kind::Text(8)),
    column("Comment", Kind::Text(80)),
    nullable("Transactions", Kind::Text(3)),
    nullable("XA", Kind::Text(3)),
    nullable("Savepoints", Kind::Text(3)),
];

const CHARACTER_SETS: &[Column] = &[
    column("Charset", TEXT),
    column("Description", Kind::Text(2048)),
    column("Default collation", TEXT),
    column("Maxlen", Kind::UnsignedInt),
];

const COLLATIONS: &[Column] = &[
    column("Collation", TEXT),
    column("Charset", TEXT),
    column("Id", Kind::UnsignedBigInt),
    column("Default", Kind::Text(3)),
    column("Compiled", Kind::Text(3)),
    column("Sortlen", Kind::UnsignedInt),
    column("Pad_attribute", Kind::Text(9)),
];

const PRIVILEGES: &[Column] = &[
    column("Privilege", Kind::Text(25)),
    column("Context", Kind::Text(25)),
    column("Comment", Kind::Text(80)),
];

const PLUGINS: &[Column] = &[
    column("Name", TEXT),
    column("Status", Kind::Text(10)),
    column("Type", Kind::Text(80)),
    nullable("Library", TEXT),
    nullable("License", Kind::Text(80)),
];

const MAINTENANCE: &[Column] = &[
    column("Table", Kind::Text(128)),
    column("Op", Kind::Text(10)),
    column("Msg_type", Kind::Text(10)),
    column("Msg_text", LONG),
];

/// PROCESSLIST's columns, as SHOW writes their names.
fn process_list() -> Vec<(String, SqlType)> {
    let shown = |column: &Column| {
        let (first, rest) = column.name.split_at(1);
        let name = match column.name {
            "DB" => "db".to_owned(),
            _ => format!("{first}{}", rest.to_ascii_lowercase()),
        };
        (name, column.kind.sql_type())
    };
    information_schema::PROCESS_LIST.iter().map(shown).collect()
}
