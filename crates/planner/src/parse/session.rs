//! Statements about the session and the server: transactions, SET, USE, KILL, SHUTDOWN, FLUSH, and what is accepted
//! without effect. SHOW is in `show`.

use crate::character_sets::resolved_collation;
use crate::cursor::Cursor;
use crate::lexer::user_variable_name;
use crate::plan::{NamedStatement, SetTarget, StatementSource, TableMaintenance, TransactionStatement};
use crate::statement::{
    CollationClause, FlushOption, GrantVerb, SetStatementItem, Statement, TableReference,
};
use protocol::SqlError;
use protocol::program::LockMode;
use sqlparser::ast::{Expr, Value as AstValue};
use sqlparser::tokenizer::{Span, Token};
use types::Collation;

/// Any of these statements, else 1064 or the 1235 of one that MySQL has.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let verbs = [
        "BEGIN",
        "START",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT",
        "RELEASE",
        "SET",
        "SHOW",
        "USE",
        "KILL",
        "SHUTDOWN",
        "FLUSH",
        "ANALYZE",
        "OPTIMIZE",
        "CHECK",
        "REPAIR",
        "UNLOCK",
        "GRANT",
        "REVOKE",
        "DO",
        "PREPARE",
        "EXECUTE",
        "DEALLOCATE",
        "DROP",
        "RESET",
    ];
    if cursor.take_words("LOCK TABLES") || cursor.take_words("LOCK TABLE") {
        return cursor.list(locked_table).map(Statement::LockTables);
    }
    match cursor.take_one_of(&verbs) {
        Some("BEGIN") => {
            cursor.take_words("WORK");
            Ok(Statement::Transaction(TransactionStatement::Begin { read_only: None }))
        }
        Some("START") => start_transaction(cursor),
        Some("COMMIT") => end_of_transaction(cursor, "COMMIT")
            .map(|()| Statement::Transaction(TransactionStatement::Commit)),
        Some("ROLLBACK") => rollback(cursor),
        Some("SAVEPOINT") => {
            cursor.identifier().map(|name| Statement::Transaction(TransactionStatement::Savepoint(name)))
        }
        Some("RELEASE") => {
            cursor.expect_words("SAVEPOINT")?;
            cursor.identifier().map(|name| Statement::Transaction(TransactionStatement::Release(name)))
        }
        Some("SET") => set(cursor),
        Some("RESET") => reset(cursor),
        Some("SHOW") => super::show::statement(cursor),
        Some("USE") => cursor.identifier().map(Statement::Use),
        Some("KILL") => kill(cursor),
        Some("SHUTDOWN") => Ok(Statement::Shutdown),
        Some("FLUSH") => flush(cursor),
        Some("ANALYZE") => maintenance(cursor, TableMaintenance::Analyze),
        Some("OPTIMIZE") => maintenance(cursor, TableMaintenance::Optimize),
        Some("CHECK") => maintenance(cursor, TableMaintenance::Check),
        Some("REPAIR") => maintenance(cursor, TableMaintenance::Repair),
        // Nobody can have locked it.
        Some("UNLOCK") if cursor.take_words("INSTANCE") => Ok(Statement::Nothing(None)),
        Some("UNLOCK") => {
            if cursor.take_one_of(&["TABLES", "TABLE"]).is_none() {
                return Err(cursor.unexpected());
            }
            Ok(Statement::UnlockTables)
        }
        Some("GRANT") => super::grant::statement(cursor, GrantVerb::Grant),
        Some("REVOKE") => super::grant::statement(cursor, GrantVerb::Revoke),
        Some("DO") => calculate(cursor),
        Some("PREPARE") => prepare(cursor),
        Some("EXECUTE") => execute(cursor),
        Some("DEALLOCATE" | "DROP") => {
            cursor.expect_words("PREPARE")?;
            let name = cursor.identifier()?.to_lowercase();
            Ok(Statement::Named(NamedStatement::Deallocate { name }))
        }
        _ => Err(missing_statement(cursor)),
    }
}

/// DO: expressions that are evaluated for what they do.
fn calculate(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let items = cursor.list(|cursor| {
        let value = Some(cursor.expression()?);
        Ok(SetStatementItem { target: SetTarget::Nothing, value })
    })?;
    Ok(Statement::Set(items))
}

/// `PREPARE name FROM 'text' | @variable`.
fn prepare(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let name = cursor.identifier()?.to_lowercase();
    cursor.expect_words("FROM")?;
    let source = match cursor.peek() {
        Token::SingleQuotedString(_) => StatementSource::Text(cursor.text_literal()?),
        _ => StatementSource::Variable(user_variable(cursor)?),
    };
    Ok(Statement::Named(NamedStatement::Prepare { name, source }))
}

/// `EXECUTE name [USING @a, @b]`.
fn execute(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let name = cursor.identifier()?.to_lowercase();
    let using = if cursor.take_words("USING") { cursor.list(user_variable)? } else { Vec::new() };
    Ok(Statement::Named(NamedStatement::Execute { name, using }))
}

/// `RESET PERSIST [[IF EXISTS] name]`.
fn reset(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    if !cursor.take_words("PERSIST") {
        let replication = ["MASTER", "SLAVE", "REPLICA", "BINARY"];
        let is_missing = replication.iter().any(|word| cursor.is_word(word));
        return Err(if is_missing { SqlError::unsupported("RESET") } else { cursor.unexpected() });
    }
    let if_exists = cursor.take_words("IF EXISTS");
    let name = if cursor.at_end() && !if_exists { None } else { Some(variable_name(cursor)?) };
    let target = SetTarget::ResetPersist { name, if_exists };
    Ok(Statement::Set(vec![SetStatementItem { target, value: None }]))
}

fn user_variable(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    match cursor.peek() {
        Token::Word(word)
            if word.quote_style.is_none() && word.value.starts_with('@') && !word.value.starts_with("@@") =>
        {
            let name = user_variable_name(&word.value);
            cursor.next();
            Ok(name)
        }
        _ => Err(cursor.unexpected()),
    }
}

/// 1235 for statements that MySQL has and this version does not, else 1064.
fn missing_statement(cursor: &Cursor<'_>) -> SqlError {
    const MISSING: [&str; 18] = [
        "LOCK INSTANCE FOR BACKUP",
        "LOAD DATA",
        "LOAD XML",
        "CALL",
        "HANDLER",
        "XA",
        "BINLOG",
        "CACHE INDEX",
        "CHANGE MASTER",
        "CHANGE REPLICATION",
        "CHECKSUM TABLE",
        "INSTALL PLUGIN",
        "UNINSTALL PLUGIN",
        "PURGE",
        "STOP",
        "SIGNAL",
        "RESIGNAL",
        "HELP",
    ];
    // A file of the server: secure_file_priv is NULL.
    if ["LOAD DATA INFILE", "LOAD DATA CONCURRENT INFILE", "LOAD DATA LOW_PRIORITY INFILE"]
        .iter()
        .any(|words| cursor.are_words(words))
    {
        let why = "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement";
        return SqlError::new(1290, why);
    }
    MISSING
        .iter()
        .find(|words| cursor.are_words(words))
        .map_or_else(|| cursor.unexpected(), |words| SqlError::unsupported(words))
}

/// `table [AS alias] READ [LOCAL] | [LOW_PRIORITY] WRITE`.
fn locked_table(cursor: &mut Cursor<'_>) -> Result<(TableReference, LockMode), SqlError> {
    let name = cursor.table_name()?;
    let is_mode =
        |cursor: &Cursor<'_>| ["READ", "WRITE", "LOW_PRIORITY"].iter().any(|word| cursor.is_word(word));
    let alias = if is_mode(cursor) { None } else { cursor.alias()? };
    let mode = if cursor.take_words("READ") {
        cursor.take_words("LOCAL");
        LockMode::Shared
    } else {
        cursor.take_words("LOW_PRIORITY");
        cursor.expect_words("WRITE")?;
        LockMode::Exclusive
    };
    Ok((TableReference { name, alias }, mode))
}

fn start_transaction(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    if cursor.is_word("REPLICA") || cursor.is_word("SLAVE") || cursor.is_word("GROUP_REPLICATION") {
        return Err(SqlError::unsupported("replication statements"));
    }
    cursor.expect_words("TRANSACTION")?;
    let mut read_only = None;
    if !cursor.at_end() {
        loop {
            if cursor.take_words("WITH CONSISTENT SNAPSHOT") {
                return Err(SqlError::unsupported("START TRANSACTION WITH CONSISTENT SNAPSHOT"));
            } else if cursor.take_words("READ ONLY") {
                read_only = Some(true);
            } else if cursor.take_words("READ WRITE") {
                read_only = Some(false);
            } else {
                return Err(cursor.unexpected());
            }
            if !cursor.take(&Token::Comma) {
                break;
            }
        }
    }
    Ok(Statement::Transaction(TransactionStatement::Begin { read_only }))
}

/// `[WORK] [AND [NO] CHAIN] [[NO] RELEASE]`.
fn end_of_transaction(cursor: &mut Cursor<'_>, verb: &str) -> Result<(), SqlError> {
    cursor.take_words("WORK");
    if cursor.take_words("AND CHAIN") {
        return Err(SqlError::unsupported(&format!("{verb} AND CHAIN")));
    }
    cursor.take_words("AND NO CHAIN");
    if cursor.take_words("RELEASE") {
        return Err(SqlError::unsupported(&format!("{verb} RELEASE")));
    }
    cursor.take_words("NO RELEASE");
    Ok(())
}

fn rollback(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    end_of_transaction(cursor, "ROLLBACK")?;
    if !cursor.take_words("TO") {
        return Ok(Statement::Transaction(TransactionStatement::Rollback));
    }
    cursor.take_words("SAVEPOINT");
    cursor.identifier().map(|name| Statement::Transaction(TransactionStatement::RollbackTo(name)))
}

fn kill(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let query_only = cursor.take_one_of(&["CONNECTION", "QUERY"]) == Some("QUERY");
    let connection = Box::new(cursor.expression()?);
    Ok(Statement::Kill { connection, query_only })
}

fn flush(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    const OPTIONS: [(&str, FlushOption); 14] = [
        ("TABLES", FlushOption::Tables),
        ("TABLE", FlushOption::Tables),
        ("STATUS", FlushOption::Status),
        ("USER_RESOURCES", FlushOption::UserResources),
        ("OPTIMIZER_COSTS", FlushOption::OptimizerCosts),
        ("PRIVILEGES", FlushOption::Privileges),
        ("HOSTS", FlushOption::Other),
        ("BINARY LOGS", FlushOption::Other),
        ("ENGINE LOGS", FlushOption::Other),
        ("ERROR LOGS", FlushOption::Other),
        ("GENERAL LOGS", FlushOption::Other),
        ("RELAY LOGS", FlushOption::Other),
        ("SLOW LOGS", FlushOption::Other),
        ("LOGS", FlushOption::Other),
    ];
    cursor.take_one_of(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    let options = cursor.list(|cursor| {
        let Some((_, option)) = OPTIONS.iter().find(|(words, _)| cursor.take_words(words)) else {
            return Err(cursor.unexpected());
        };
        if *option == FlushOption::Tables {
            flushed_tables(cursor)?;
        }
        Ok(*option)
    })?;
    Ok(Statement::Flush(options))
}

/// The tables of FLUSH TABLES, which need not be there. Nothing is kept of any table, so there is nothing to flush.
fn flushed_tables(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    if cursor.at_end() || *cursor.peek() == Token::Comma {
        return Ok(());
    }
    let is_lock = |cursor: &Cursor<'_>| cursor.are_words("WITH READ LOCK") || cursor.are_words("FOR EXPORT");
    if !is_lock(cursor) {
        cursor.list(Cursor::table_name)?;
    }
    if is_lock(cursor) {
        return Err(SqlError::unsupported("FLUSH TABLES with locks"));
    }
    Ok(())
}

fn maintenance(cursor: &mut Cursor<'_>, operation: TableMaintenance) -> Result<Statement, SqlError> {
    cursor.take_one_of(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    if cursor.take_one_of(&["TABLE", "TABLES"]).is_none() {
        return Err(cursor.unexpected());
    }
    let tables = cursor.list(Cursor::table_name)?;
    while cursor.take_one_of(&["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"]).is_some()
        || cursor.take_words("FOR UPGRADE")
    {}
    if cursor.is_word("UPDATE") || cursor.is_word("DROP") {
        return Err(SqlError::unsupported("ANALYZE TABLE ... HISTOGRAM"));
    }
    Ok(Statement::Maintenance(operation, tables))
}

fn text_expression(text: impl Into<String>) -> Expr {
    Expr::Value(AstValue::SingleQuotedString(text.into()).with_span(Span::empty()))
}

/// The scope of an unqualified name in SET: the word before it holds for it and the names behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Session,
    Global,
    /// A bare `@@transaction_isolation`: the next transaction only.
    NextTransaction,
    /// SET PERSIST.
    Persist,
    /// SET PERSIST_ONLY.
    PersistOnly,
}

fn set(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    if cursor.take_words("PASSWORD") {
        return super::account::set_password(cursor);
    }
    if cursor.take_words("ROLE") {
        return super::grant::set_role(cursor);
    }
    if cursor.take_words("DEFAULT ROLE") {
        return super::grant::set_default_role(cursor);
    }
    if cursor.are_words("RESOURCE GROUP") {
        return Err(SqlError::unsupported("resource groups"));
    }
    if let Some(items) = set_transaction(cursor)? {
        return Ok(Statement::Set(items));
    }
    let mut items = Vec::new();
    let mut scope = Scope::Session;
    loop {
        items.push(set_item(cursor, &mut scope)?);
        if !cursor.take(&Token::Comma) {
            return Ok(Statement::Set(items));
        }
    }
}

/// `SET [GLOBAL | SESSION] TRANSACTION ISOLATION LEVEL …, READ ONLY | READ WRITE`.
fn set_transaction(cursor: &mut Cursor<'_>) -> Result<Option<Vec<SetStatementItem>>, SqlError> {
    let scopes = [
        ("TRANSACTION", Scope::NextTransaction),
        ("SESSION TRANSACTION", Scope::Session),
        ("LOCAL TRANSACTION", Scope::Session),
        ("GLOBAL TRANSACTION", Scope::Global),
    ];
    // `SET transaction_isolation = …` and `SET TRANSACTION = …` are variables.
    let Some((_, scope)) = scopes.into_iter().find(|(words, _)| cursor.take_words(words)) else {
        return Ok(None);
    };
    let items = cursor.list(|cursor| {
        if cursor.take_words("ISOLATION LEVEL") {
            let levels = [
                ("READ UNCOMMITTED", "READ-UNCOMMITTED"),
                ("READ COMMITTED", "READ-COMMITTED"),
                ("REPEATABLE READ", "REPEATABLE-READ"),
                ("SERIALIZABLE", "SERIALIZABLE"),
            ];
            let Some((_, level)) = levels.into_iter().find(|(words, _)| cursor.take_words(words)) else {
                return Err(cursor.unexpected());
            };
            let target = match scope {
                Scope::Global | Scope::Persist | Scope::PersistOnly => {
                    SetTarget::Global("transaction_isolation".to_owned())
                }
                Scope::Session => SetTarget::Isolation { next_only: false },
                Scope::NextTransaction => SetTarget::Isolation { next_only: true },
            };
            return Ok(SetStatementItem { target, value: Some(text_expression(level)) });
        }
        let read_only = if cursor.take_words("READ ONLY") {
            "1"
        } else if cursor.take_words("READ WRITE") {
            "0"
        } else {
            return Err(cursor.unexpected());
        };
        let name = "transaction_read_only".to_owned();
        let target = match scope {
            Scope::Global | Scope::Persist | Scope::PersistOnly => SetTarget::Global(name),
            Scope::Session => SetTarget::Session(name),
            Scope::NextTransaction => SetTarget::NextReadOnly,
        };
        let value = Expr::Value(AstValue::Number(read_only.to_owned(), false).with_span(Span::empty()));
        Ok(SetStatementItem { target, value: Some(value) })
    })?;
    Ok(Some(items))
}

fn set_item(cursor: &mut Cursor<'_>, scope: &mut Scope) -> Result<SetStatementItem, SqlError> {
    if cursor.take_words("NAMES") {
        return set_names(cursor, SetTarget::Names);
    }
    if cursor.take_words("CHARACTER SET") || cursor.take_words("CHARSET") || cursor.take_words("CHAR SET") {
        return set_names(cursor, SetTarget::CharacterSet);
    }
    let target = set_target(cursor, scope)?;
    if !cursor.take(&Token::Eq) {
        cursor.expect(&Token::Assignment)?;
    }
    // A bare word is the value of a system variable; to a user variable it is a column that is not there.
    let value = match target {
        SetTarget::User(_) => Some(cursor.expression()?),
        _ => set_value(cursor)?,
    };
    Ok(SetStatementItem { target, value })
}

/// `SET NAMES name [COLLATE name]`: the collation alone says both, if it is one of that character set.
fn set_names(cursor: &mut Cursor<'_>, target: SetTarget) -> Result<SetStatementItem, SqlError> {
    if cursor.take_words("DEFAULT") {
        return Ok(SetStatementItem { target, value: None });
    }
    let mut name = cursor.identifier_or_text()?;
    if target == SetTarget::Names && cursor.take_words("COLLATE") {
        let collation = Some(cursor.identifier_or_text()?);
        let clause = CollationClause { character_set: Some(name), collation };
        name = resolved_collation(&clause)?.map_or("", Collation::name).to_owned();
    }
    Ok(SetStatementItem { target, value: Some(text_expression(name)) })
}

fn set_target(cursor: &mut Cursor<'_>, scope: &mut Scope) -> Result<SetTarget, SqlError> {
    let Token::Word(word) = cursor.peek() else { return Err(cursor.unexpected()) };
    let is_quoted = word.quote_style.is_some();
    let mut name = word.value.to_ascii_lowercase();
    if !is_quoted && name.starts_with("@@") {
        cursor.next();
        return system_variable_target(&name);
    }
    if !is_quoted && name.starts_with('@') {
        let target = SetTarget::User(user_variable_name(&word.value));
        cursor.next();
        return Ok(target);
    }
    match cursor.take_one_of(&["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"]) {
        Some("PERSIST") => *scope = Scope::Persist,
        Some("PERSIST_ONLY") => *scope = Scope::PersistOnly,
        Some("GLOBAL") => *scope = Scope::Global,
        Some(_) => *scope = Scope::Session,
        None => {}
    }
    let Token::Word(word) = cursor.peek() else { return Err(cursor.unexpected()) };
    if word.quote_style.is_none() && word.value.starts_with("@@") {
        return Err(cursor.unexpected());
    }
    name = variable_name(cursor)?;
    Ok(match scope {
        Scope::Global => SetTarget::Global(name),
        Scope::Persist => SetTarget::Persist(name),
        Scope::PersistOnly => SetTarget::PersistOnly(name),
        Scope::Session | Scope::NextTransaction => SetTarget::Session(name),
    })
}

/// `name`, or `component.name`, in lower case.
fn variable_name(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    let mut name = cursor.identifier()?.to_ascii_lowercase();
    while cursor.take(&Token::Period) {
        name.push('.');
        name.push_str(&cursor.identifier_part()?.to_ascii_lowercase());
    }
    Ok(name)
}

fn system_variable_target(written: &str) -> Result<SetTarget, SqlError> {
    let (scope, name) = split_system_variable(written);
    Ok(match scope {
        Some("global") => SetTarget::Global(name),
        Some("persist") => SetTarget::Persist(name),
        Some("persist_only") => SetTarget::PersistOnly(name),
        // MySQL: without a scope, those of the next transaction only.
        None if name == "transaction_isolation" || name == "tx_isolation" => {
            SetTarget::Isolation { next_only: true }
        }
        None if name == "transaction_read_only" || name == "tx_read_only" => SetTarget::NextReadOnly,
        _ => SetTarget::Session(name),
    })
}

/// `@@scope.name` as its scope (lower case) and its name.
pub(crate) fn split_system_variable(written: &str) -> (Option<&'static str>, String) {
    const SCOPES: [&str; 5] = ["global", "session", "local", "persist_only", "persist"];
    let lower = written.trim_start_matches('@').to_ascii_lowercase().replace('`', "");
    for scope in SCOPES {
        if let Some(name) = lower.strip_prefix(scope).and_then(|rest| rest.strip_prefix('.')) {
            return (Some(scope), name.to_owned());
        }
    }
    (None, lower)
}

/// An expression; a bare word is a text, ON and OFF too; DEFAULT is none.
fn set_value(cursor: &mut Cursor<'_>) -> Result<Option<Expr>, SqlError> {
    let ends = matches!(cursor.peek_ahead(1), Token::EOF | Token::Comma);
    if let Token::Word(word) = cursor.peek()
        && ends
        && !word.value.starts_with('@')
    {
        let name = word.value.clone();
        let is_bare = word.quote_style.is_none();
        if is_bare && name.eq_ignore_ascii_case("DEFAULT") {
            cursor.next();
            return Ok(None);
        }
        let is_constant =
            is_bare && ["NULL", "TRUE", "FALSE"].iter().any(|word| name.eq_ignore_ascii_case(word));
        if !is_constant {
            cursor.next();
            return Ok(Some(text_expression(name)));
        }
    }
    cursor.expression().map(Some)
}
