//! SHOW and DESCRIBE.
//!
//! MySQL has things that LatsDB has not: triggers, routines, events, binary logs, replicas. They are shown with MySQL's
//! columns and no rows, because tools ask for them.

use crate::cursor::Cursor;
use crate::plan::{Diagnosed, EngineForm, Show, Window};
use crate::statement::{Account, ShowStatement, Statement};
use protocol::SqlError;
use sqlparser::tokenizer::Token;
use types::Privileges;

/// A thing that is shown, and whether its database was left out: the current one is meant.
type What = (Show, bool);

/// `DESCRIBE table [column | 'pattern']`.
pub(super) fn describe(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let table = cursor.table_name()?;
    let like = if cursor.at_end() { None } else { Some(cursor.identifier_or_text()?) };
    let database_missing = table.database.is_none();
    let what = Show::Columns { database: table.database.unwrap_or_default(), table: table.name, full: false };
    Ok(Statement::Show(Box::new(ShowStatement { what, like, filter: None, database_missing })))
}

/// Behind SHOW.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.take_words("EXTENDED");
    let full = cursor.take_words("FULL");
    let (what, database_missing) = show_what(cursor, full)?;
    let mut like = None;
    let mut filter = None;
    if cursor.take_words("LIKE") {
        like = Some(cursor.text_literal()?);
    } else if cursor.take_words("WHERE") {
        filter = Some(cursor.expression()?);
    }
    Ok(Statement::Show(Box::new(ShowStatement { what, like, filter, database_missing })))
}

/// `[FROM | IN database]`, and whether it was left out.
fn from_database(cursor: &mut Cursor<'_>) -> Result<(String, bool), SqlError> {
    match cursor.take_one_of(&["FROM", "IN"]) {
        Some(_) => Ok((cursor.identifier()?, false)),
        None => Ok((String::new(), true)),
    }
}

/// `FROM table [FROM database]`, `FROM database.table`: database, table, and whether the database was left out.
fn from_table(cursor: &mut Cursor<'_>) -> Result<(String, String, bool), SqlError> {
    if cursor.take_one_of(&["FROM", "IN"]).is_none() {
        return Err(cursor.unexpected());
    }
    let table = cursor.table_name()?;
    let (database, is_missing) = from_database(cursor)?;
    match table.database {
        Some(database) if is_missing => Ok((database, table.name, false)),
        _ => Ok((database, table.name, is_missing)),
    }
}

fn show_what(cursor: &mut Cursor<'_>, full: bool) -> Result<What, SqlError> {
    let scope = cursor.take_one_of(&["GLOBAL", "SESSION", "LOCAL"]);
    let simple = [
        ("DATABASES", Show::Databases),
        ("SCHEMAS", Show::Databases),
        ("VARIABLES", Show::Variables { global: scope == Some("GLOBAL") }),
        ("STATUS", Show::Status),
        ("STORAGE ENGINES", Show::Engines),
        ("ENGINES", Show::Engines),
        ("CHARACTER SET", Show::CharacterSets),
        ("CHARSET", Show::CharacterSets),
        ("COLLATION", Show::Collations),
        ("PROCESSLIST", Show::ProcessList),
        ("PRIVILEGES", Show::Privileges),
        ("PLUGINS", Show::Plugins),
    ];
    for (words, what) in simple {
        if cursor.take_words(words) {
            return Ok((what, false));
        }
    }
    if cursor.take_words("TABLES") {
        let (database, is_missing) = from_database(cursor)?;
        return Ok((Show::Tables { database, full }, is_missing));
    }
    if cursor.take_words("TABLE STATUS") {
        let (database, is_missing) = from_database(cursor)?;
        return Ok((Show::TableStatus { database }, is_missing));
    }
    if cursor.take_one_of(&["COLUMNS", "FIELDS"]).is_some() {
        let (database, table, is_missing) = from_table(cursor)?;
        return Ok((Show::Columns { database, table, full }, is_missing));
    }
    if cursor.take_one_of(&["INDEX", "INDEXES", "KEYS"]).is_some() {
        let (database, table, is_missing) = from_table(cursor)?;
        return Ok((Show::Indexes { database, table }, is_missing));
    }
    if cursor.take_words("CREATE") {
        return show_create(cursor);
    }
    show_others(cursor)
}

/// Behind `SHOW CREATE`.
fn show_create(cursor: &mut Cursor<'_>) -> Result<What, SqlError> {
    if cursor.take_words("TABLE") {
        let table = cursor.table_name()?;
        let is_missing = table.database.is_none();
        let database = table.database.unwrap_or_default();
        return Ok((Show::CreateTable { database, table: table.name }, is_missing));
    }
    if cursor.take_words("VIEW") {
        let name = cursor.table_name()?;
        let is_missing = name.database.is_none();
        let database = name.database.unwrap_or_default();
        return Ok((Show::CreateView { database, view: name.name, text: String::new() }, is_missing));
    }
    if cursor.take_words("DATABASE") || cursor.take_words("SCHEMA") {
        if cursor.take_words("IF") {
            cursor.expect_words("NOT EXISTS")?;
        }
        return Ok((Show::CreateDatabase { database: cursor.identifier()? }, false));
    }
    if cursor.take_words("USER") {
        return Ok((Show::CreateUser { account: named(cursor.account()?) }, false));
    }
    // None of these can have been made.
    match cursor.take_one_of(&["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"]) {
        None => Err(cursor.unexpected()),
        Some(kind) => {
            let name = cursor.table_name()?.name;
            Err(match kind {
                "TRIGGER" => SqlError::new(1360, "Trigger does not exist"),
                "EVENT" => SqlError::new(1539, format!("Unknown event '{name}'")),
                _ => SqlError::new(1305, format!("{kind} {name} does not exist")),
            })
        }
    }
}

fn show_others(cursor: &mut Cursor<'_>) -> Result<What, SqlError> {
    if cursor.take_words("GRANTS") {
        let account = if cursor.take_words("FOR") { named(cursor.account()?) } else { None };
        let mut using = Vec::new();
        if cursor.take_words("USING") {
            using = cursor.list(Cursor::account)?.into_iter().filter_map(named).collect();
        }
        return Ok((Show::Grants { account, using }, false));
    }
    if cursor.take_words("COUNT") {
        for token in [Token::LParen, Token::Mul, Token::RParen] {
            cursor.expect(&token)?;
        }
        let which = diagnosed(cursor).ok_or_else(|| cursor.unexpected())?;
        return Ok((Show::DiagnosticsCount(which), false));
    }
    if let Some(which) = diagnosed(cursor) {
        return Ok((Show::Diagnostics { which, window: window(cursor)? }, false));
    }
    if cursor.take_words("ENGINE") {
        return Ok((engine_status(cursor)?, false));
    }
    if let Some(nothing) = show_nothing(cursor)? {
        return Ok(nothing);
    }
    let missing = ["PROFILE", "BINLOG", "RELAYLOG", "PROCEDURE", "FUNCTION"];
    if missing.iter().any(|word| cursor.is_word(word)) {
        return Err(SqlError::unsupported("this SHOW statement"));
    }
    Err(cursor.unexpected())
}

fn diagnosed(cursor: &mut Cursor<'_>) -> Option<Diagnosed> {
    match cursor.take_one_of(&["WARNINGS", "ERRORS"])? {
        "WARNINGS" => Some(Diagnosed::All),
        _ => Some(Diagnosed::Errors),
    }
}

/// `[LIMIT [offset,] count]`.
fn window(cursor: &mut Cursor<'_>) -> Result<Window, SqlError> {
    if !cursor.take_words("LIMIT") {
        return Ok(Window::default());
    }
    let first = cursor.integer()?;
    if cursor.take(&Token::Comma) {
        return Ok(Window { offset: first, count: Some(cursor.integer()?) });
    }
    let offset = if cursor.take_words("OFFSET") { cursor.integer()? } else { 0 };
    Ok(Window { offset, count: Some(first) })
}

/// Name and host; None: the session's own account.
fn named(account: Account) -> Option<(String, String)> {
    match account {
        Account::Named { name, host } => Some((name, host)),
        Account::Current => None,
    }
}

/// Behind `SHOW ENGINE`: `name STATUS | MUTEX | LOGS`.
fn engine_status(cursor: &mut Cursor<'_>) -> Result<Show, SqlError> {
    let name = cursor.identifier_or_text()?;
    let form = match name.to_ascii_uppercase().as_str() {
        "INNODB" => EngineForm::InnoDb,
        "NDB" | "NDBCLUSTER" | "LATSDB" => EngineForm::Ndb,
        _ => return Err(SqlError::new(1286, format!("Unknown storage engine '{name}'"))),
    };
    if cursor.take_words("STATUS") {
        return Ok(Show::EngineStatus(form));
    }
    if cursor.take_one_of(&["MUTEX", "LOGS"]).is_some() {
        let columns = &["Type", "Name", "Status"];
        return Ok(Show::Nothing { columns, privilege: Privileges::PROCESS, database: None });
    }
    Err(cursor.unexpected())
}

/// Things that exist in MySQL, and of which there are none here.
fn show_nothing(cursor: &mut Cursor<'_>) -> Result<Option<What>, SqlError> {
    let of_replication = [
        ("MASTER STATUS", BINARY_LOG_STATUS),
        ("BINARY LOG STATUS", BINARY_LOG_STATUS),
        ("BINARY LOGS", BINARY_LOGS),
        ("MASTER LOGS", BINARY_LOGS),
        ("SLAVE STATUS", SLAVE_STATUS),
        ("REPLICA STATUS", REPLICA_STATUS),
        ("SLAVE HOSTS", SLAVE_HOSTS),
        ("REPLICAS", REPLICAS),
    ];
    for (words, columns) in of_replication {
        if cursor.take_words(words) {
            if cursor.take_words("FOR CHANNEL") {
                cursor.text_literal()?;
            }
            let is_of_hosts = columns == SLAVE_HOSTS || columns == REPLICAS;
            let privilege =
                if is_of_hosts { Privileges::REPLICATION_SLAVE } else { Privileges::REPLICATION_CLIENT };
            return Ok(Some((Show::Nothing { columns, privilege, database: None }, false)));
        }
    }
    let privilege = Privileges::NONE;
    for (words, columns) in [("TRIGGERS", TRIGGERS), ("EVENTS", EVENTS)] {
        if cursor.take_words(words) {
            let (database, is_missing) = from_database(cursor)?;
            return Ok(Some((Show::Nothing { columns, privilege, database: Some(database) }, is_missing)));
        }
    }
    if cursor.take_words("OPEN TABLES") {
        let (database, is_missing) = from_database(cursor)?;
        let database = if is_missing { None } else { Some(database) };
        return Ok(Some((Show::Nothing { columns: OPEN_TABLES, privilege, database }, false)));
    }
    let others = [("FUNCTION STATUS", ROUTINES), ("PROCEDURE STATUS", ROUTINES), ("PROFILES", PROFILES)];
    for (words, columns) in others {
        if cursor.take_words(words) {
            return Ok(Some((Show::Nothing { columns, privilege, database: None }, false)));
        }
    }
    Ok(None)
}

const BINARY_LOG_STATUS: &[&str] =
    &["File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"];

const BINARY_LOGS: &[&str] = &["Log_name", "File_size", "Encrypted"];

const SLAVE_HOSTS: &[&str] = &["Server_id", "Host", "Port", "Master_id", "Slave_UUID"];

const REPLICAS: &[&str] = &["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"];

const OPEN_TABLES: &[&str] = &["Database", "Table", "In_use", "Name_locked"];

const PROFILES: &[&str] = &["Query_ID", "Duration", "Query"];

const TRIGGERS: &[&str] = &[
    "Trigger",
    "Event",
    "Table",
    "Statement",
    "Timing",
    "Created",
    "sql_mode",
    "Definer",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

const EVENTS: &[&str] = &[
    "Db",
    "Name",
    "Definer",
    "Time zone",
    "Type",
    "Execute at",
    "Interval value",
    "Interval field",
    "Starts",
    "Ends",
    "Status",
    "Originator",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

const ROUTINES: &[&str] = &[
    "Db",
    "Name",
    "Type",
    "Definer",
    "Modified",
    "Created",
    "Security_type",
    "Comment",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

const REPLICA_STATUS: &[&str] = &[
    "Replica_IO_State",
    "Source_Host",
    "Source_User",
    "Source_Port",
    "Connect_Retry",
    "Source_Log_File",
    "Read_Source_Log_Pos",
    "Relay_Log_File",
    "Relay_Log_Pos",
    "Relay_Source_Log_File",
    "Replica_IO_Running",
    "Replica_SQL_Running",
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Do_Table",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
    "Last_Errno",
    "Last_Error",
    "Skip_Counter",
    "Exec_Source_Log_Pos",
    "Relay_Log_Space",
    "Until_Condition",
    "Until_Log_File",
    "Until_Log_Pos",
    "Source_SSL_Allowed",
    "Source_SSL_CA_File",
    "Source_SSL_CA_Path",
    "Source_SSL_Cert",
    "Source_SSL_Cipher",
    "Source_SSL_Key",
    "Seconds_Behind_Source",
    "Source_SSL_Verify_Server_Cert",
    "Last_IO_Errno",
    "Last_IO_Error",
    "Last_SQL_Errno",
    "Last_SQL_Error",
    "Replicate_Ignore_Server_Ids",
    "Source_Server_Id",
    "Source_UUID",
    "Source_Info_File",
    "SQL_Delay",
    "SQL_Remaining_Delay",
    "Replica_SQL_Running_State",
    "Source_Retry_Count",
    "Source_Bind",
    "Last_IO_Error_Timestamp",
    "Last_SQL_Error_Timestamp",
    "Source_SSL_Crl",
    "Source_SSL_Crlpath",
    "Retrieved_Gtid_Set",
    "Executed_Gtid_Set",
    "Auto_Position",
    "Replicate_Rewrite_DB",
    "Channel_Name",
    "Source_TLS_Version",
    "Source_public_key_path",
    "Get_Source_public_key",
    "Network_Namespace",
];

/// The same with the old words.
const SLAVE_STATUS: &[&str] = &[
    "Slave_IO_State",
    "Master_Host",
    "Master_User",
    "Master_Port",
    "Connect_Retry",
    "Master_Log_File",
    "Read_Master_Log_Pos",
    "Relay_Log_File",
    "Relay_Log_Pos",
    "Relay_Master_Log_File",
    "Slave_IO_Running",
    "Slave_SQL_Running",
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Do_Table",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
    "Last_Errno",
    "Last_Error",
    "Skip_Counter",
    "Exec_Master_Log_Pos",
    "Relay_Log_Space",
    "Until_Condition",
    "Until_Log_File",
    "Until_Log_Pos",
    "Master_SSL_Allowed",
    "Master_SSL_CA_File",
    "Master_SSL_CA_Path",
    "Master_SSL_Cert",
    "Master_SSL_Cipher",
    "Master_SSL_Key",
    "Seconds_Behind_Master",
    "Master_SSL_Verify_Server_Cert",
    "Last_IO_Errno",
    "Last_IO_Error",
    "Last_SQL_Errno",
    "Last_SQL_Error",
    "Replicate_Ignore_Server_Ids",
    "Master_Server_Id",
    "Master_UUID",
    "Master_Info_File",
    "SQL_Delay",
    "SQL_Remaining_Delay",
    "Slave_SQL_Running_State",
    "Master_Retry_Count",
    "Master_Bind",
    "Last_IO_Error_Timestamp",
    "Last_SQL_Error_Timestamp",
    "Master_SSL_Crl",
    "Master_SSL_Crlpath",
    "Retrieved_Gtid_Set",
    "Executed_Gtid_Set",
    "Auto_Position",
    "Replicate_Rewrite_DB",
    "Channel_Name",
    "Master_TLS_Version",
    "Master_public_key_path",
    "Get_master_public_key",
    "Network_Namespace",
];
