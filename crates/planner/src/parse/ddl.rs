//! Data definition: databases, tables, indexes; accounts are in account.rs.

mod check;
mod column;
mod view;

use super::account;
use crate::cursor::Cursor;
use crate::statement::{
    AlterClause, AlterVerb, CollationClause, ColumnClause, CreateSelect, CreateTableStatement, DdlStatement,
    DefaultClause, InsertKind, Statement, TableOptionsClause,
};
use catalogue::{KeyPartSpec, KeySpec, KeySpecKind};
use protocol::SqlError;
use sqlparser::tokenizer::Token;

/// A DDL statement, None if the words here begin none.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<Option<Statement>, SqlError> {
    let ddl = match cursor.take_one_of(&["CREATE", "DROP", "ALTER", "RENAME", "TRUNCATE"]) {
        Some("CREATE") => create(cursor)?,
        Some("DROP") => drop(cursor)?,
        Some("ALTER") => alter(cursor)?,
        Some("RENAME") => rename(cursor)?,
        Some("TRUNCATE") => {
            cursor.take_words("TABLE");
            DdlStatement::Truncate(cursor.table_name()?)
        }
        _ => return Ok(None),
    };
    Ok(Some(Statement::Ddl(Box::new(ddl))))
}

pub(super) fn if_not_exists(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    let found = cursor.take_words("IF");
    if found {
        cursor.expect_words("NOT EXISTS")?;
    }
    Ok(found)
}

pub(super) fn if_exists(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    let found = cursor.take_words("IF");
    if found {
        cursor.expect_words("EXISTS")?;
    }
    Ok(found)
}

/// 1235 for the kinds of objects that MySQL has and this version does not, else 1064.
fn missing_object(cursor: &Cursor<'_>, verb: &str) -> SqlError {
    const MISSING: [&str; 15] = [
        "TRIGGER",
        "PROCEDURE",
        "FUNCTION",
        "AGGREGATE",
        "EVENT",
        "SERVER",
        "TABLESPACE",
        "UNDO",
        "LOGFILE",
        "RESOURCE GROUP",
        "SPATIAL",
        "FULLTEXT",
        "INSTANCE",
        "LIBRARY",
        "SPATIAL REFERENCE SYSTEM",
    ];
    MISSING
        .iter()
        .find(|words| cursor.are_words(words))
        .map_or_else(|| cursor.unexpected(), |words| SqlError::unsupported(&format!("{verb} {words}")))
}

fn create(cursor: &mut Cursor<'_>) -> Result<DdlStatement, SqlError> {
    if let Some(view) = view::create(cursor)? {
        return Ok(view);
    }
    if cursor.take_words("TEMPORARY") {
        cursor.expect_words("TABLE")?;
        return create_table(cursor, true);
    }
    match cursor.take_one_of(&["DATABASE", "SCHEMA", "TABLE", "INDEX", "UNIQUE", "USER", "ROLE"]) {
        Some("DATABASE" | "SCHEMA") => {
            let if_not_exists = if_not_exists(cursor)?;
            let name = cursor.identifier()?;
            let collation = database_options(cursor)?;
            Ok(DdlStatement::CreateDatabase { name, if_not_exists, collation })
        }
        Some("TABLE") => create_table(cursor, false),
        Some("ROLE") => {
            let if_not_exists = if_not_exists(cursor)?;
            Ok(DdlStatement::CreateRoles { roles: cursor.list(Cursor::account)?, if_not_exists })
        }
        Some("INDEX") => create_index(cursor, KeySpecKind::Ordered),
        Some("UNIQUE") => {
            cursor.expect_words("INDEX")?;
            create_index(cursor, KeySpecKind::Unique)
        }
        Some("USER") => account::create(cursor),
        _ => Err(missing_object(cursor, "CREATE")),
    }
}

/// `[DEFAULT] CHARACTER SET [=] name`, `COLLATE [=] name`, in any order.
fn collation_option(cursor: &mut Cursor<'_>, clause: &mut CollationClause) -> Result<bool, SqlError> {
    let with_default = cursor.is_word("DEFAULT");
    let ahead = usize::from(with_default);
    let is_character_set = cursor.is_word_ahead(ahead, "CHARSET")
        || (cursor.is_word_ahead(ahead, "CHARACTER") || cursor.is_word_ahead(ahead, "CHAR"))
            && cursor.is_word_ahead(ahead + 1, "SET");
    let is_collation = cursor.is_word_ahead(ahead, "COLLATE");
    if !is_character_set && !is_collation {
        return Ok(false);
    }
    cursor.take_words("DEFAULT");
    if is_collation {
        cursor.expect_words("COLLATE")?;
        cursor.take(&Token::Eq);
        clause.collation = Some(cursor.identifier_or_text()?);
    } else {
        if !cursor.take_words("CHARSET") {
            cursor.next();
            cursor.expect_words("SET")?;
        }
        cursor.take(&Token::Eq);
        clause.character_set = Some(cursor.identifier_or_text()?);
    }
    Ok(true)
}

fn database_options(cursor: &mut Cursor<'_>) -> Result<CollationClause, SqlError> {
    let mut clause = CollationClause::default();
    loop {
        if collation_option(cursor, &mut clause)? {
            continue;
        }
        if cursor.are_words("DEFAULT ENCRYPTION") || cursor.is_word("ENCRYPTION") {
            cursor.take_words("DEFAULT");
            cursor.next();
            cursor.take(&Token::Eq);
            if cursor.text_literal()?.eq_ignore_ascii_case("Y") {
                return Err(SqlError::unsupported("ENCRYPTION"));
            }
            continue;
        }
        return Ok(clause);
    }
}

fn create_table(cursor: &mut Cursor<'_>, is_temporary: bool) -> Result<DdlStatement, SqlError> {
    let if_not_exists = if_not_exists(cursor)?;
    let table = cursor.table_name()?;
    if cursor.take_words("LIKE") {
        let like = cursor.table_name()?;
        return Ok(DdlStatement::CreateTableLike { table, if_not_exists, like, is_temporary });
    }
    if *cursor.peek() == Token::LParen && cursor.is_word_ahead(1, "LIKE") {
        cursor.next();
        cursor.next();
        let like = cursor.table_name()?;
        cursor.expect(&Token::RParen)?;
        return Ok(DdlStatement::CreateTableLike { table, if_not_exists, like, is_temporary });
    }
    let mut create = CreateTableStatement {
        table,
        if_not_exists,
        is_temporary,
        columns: Vec::new(),
        keys: Vec::new(),
        checks: Vec::new(),
        options: TableOptionsClause::default(),
        select: None,
    };
    let has_elements = *cursor.peek() == Token::LParen && !is_query(cursor);
    if has_elements {
        cursor.next();
        cursor.list(|cursor| table_element(cursor, &mut create))?;
        cursor.expect(&Token::RParen)?;
    }
    while table_option(cursor, &mut create.options)? {
        cursor.take(&Token::Comma);
    }
    if cursor.is_word("PARTITION") {
        partition_clause(cursor)?;
    }
    create.select = create_select(cursor)?;
    if !has_elements && create.select.is_none() {
        return Err(cursor.unexpected());
    }
    Ok(DdlStatement::CreateTable(create))
}

/// True if a query begins here, perhaps in parentheses.
fn is_query(cursor: &Cursor<'_>) -> bool {
    let mut inner = 0;
    while *cursor.peek_ahead(inner) == Token::LParen {
        inner += 1;
    }
    ["SELECT", "WITH", "VALUES", "TABLE"].iter().any(|word| cursor.is_word_ahead(inner, word))
}

/// `[IGNORE | REPLACE] [AS] query`.
fn create_select(cursor: &mut Cursor<'_>) -> Result<Option<CreateSelect>, SqlError> {
    let kind = match cursor.take_one_of(&["IGNORE", "REPLACE"]) {
        Some("IGNORE") => InsertKind::Ignore,
        Some(_) => InsertKind::Replace,
        None => InsertKind::Insert,
    };
    let is_wanted = cursor.take_words("AS") || kind != InsertKind::Insert;
    if is_query(cursor) {
        return Ok(Some(CreateSelect { query: cursor.query()?, kind }));
    }
    if is_wanted { Err(cursor.unexpected()) } else { Ok(None) }
}

/// A column or a key of CREATE TABLE.
fn table_element(cursor: &mut Cursor<'_>, create: &mut CreateTableStatement) -> Result<(), SqlError> {
    if let Some(check) = check::check(cursor)? {
        create.checks.push(check);
        return Ok(());
    }
    if let Some(key) = key_definition(cursor)? {
        create.keys.push(key);
        return Ok(());
    }
    let column = column::column(cursor)?;
    // Attributes become keys in the order they were written.
    if let Some(kind) = column.key {
        let parts = vec![KeyPartSpec::new(column.name.clone())];
        create.keys.push(KeySpec { kind, name: None, parts });
    }
    create.columns.push(column);
    Ok(())
}

/// `[CONSTRAINT [name]] PRIMARY KEY | UNIQUE [KEY] | KEY …`; None if a column comes here. CHECK is in check.rs.
fn key_definition(cursor: &mut Cursor<'_>) -> Result<Option<KeySpec>, SqlError> {
    let mut constraint = None;
    if cursor.take_words("CONSTRAINT") {
        let begins = ["PRIMARY", "UNIQUE", "FOREIGN"];
        if !begins.iter().any(|word| cursor.is_word(word)) {
            constraint = Some(cursor.identifier()?);
        }
        if !begins.iter().any(|word| cursor.is_word(word)) {
            return Err(cursor.unexpected());
        }
    }
    if cursor.is_word("FOREIGN") {
        return Err(SqlError::unsupported("FOREIGN KEY"));
    }
    if cursor.is_word("FULLTEXT") || cursor.is_word("SPATIAL") {
        return Err(SqlError::unsupported("FULLTEXT and SPATIAL indexes"));
    }
    let kind = if cursor.take_words("PRIMARY") {
        cursor.expect_words("KEY")?;
        KeySpecKind::Primary
    } else if cursor.take_words("UNIQUE") {
        cursor.take_one_of(&["KEY", "INDEX"]);
        KeySpecKind::Unique
    } else if cursor.take_one_of(&["KEY", "INDEX"]).is_some() {
        KeySpecKind::Ordered
    } else {
        return Ok(None);
    };
    let mut name = None;
    if *cursor.peek() != Token::LParen && !cursor.is_word("USING") {
        name = Some(cursor.identifier()?);
    }
    index_type(cursor)?;
    let parts = key_parts(cursor)?;
    index_options(cursor)?;
    Ok(Some(KeySpec { kind, name: name.or(constraint), parts }))
}

/// `USING BTREE | HASH`: all our indexes are ordered, and the primary and unique ones hashed too.
fn index_type(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    if !cursor.take_words("USING") && !cursor.take_words("TYPE") {
        return Ok(false);
    }
    if cursor.take_one_of(&["BTREE", "HASH"]).is_none() {
        return Err(cursor.unexpected());
    }
    Ok(true)
}

fn index_options(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    loop {
        if index_type(cursor)? || cursor.take_words("VISIBLE") {
        } else if cursor.take_words("COMMENT") {
            cursor.text_literal()?;
        } else if cursor.take_words("KEY_BLOCK_SIZE") {
            cursor.take(&Token::Eq);
            cursor.integer()?;
        } else if cursor.is_word("INVISIBLE") {
            return Err(SqlError::unsupported("INVISIBLE index"));
        } else if cursor.are_words("WITH PARSER") {
            return Err(SqlError::unsupported("WITH PARSER"));
        } else {
            return Ok(());
        }
    }
}

fn key_parts(cursor: &mut Cursor<'_>) -> Result<Vec<KeyPartSpec>, SqlError> {
    cursor.expect(&Token::LParen)?;
    let parts = cursor.list(|cursor| {
        if *cursor.peek() == Token::LParen {
            return Err(SqlError::unsupported("functional key parts"));
        }
        let column = cursor.identifier()?;
        let mut length = None;
        if cursor.take(&Token::LParen) {
            let number = cursor.integer()?;
            length = Some(u32::try_from(number).unwrap_or(u32::MAX));
            cursor.expect(&Token::RParen)?;
        }
        let descending = cursor.take_one_of(&["ASC", "DESC"]) == Some("DESC");
        Ok(KeyPartSpec { column, length, descending })
    })?;
    cursor.expect(&Token::RParen)?;
    Ok(parts)
}

fn create_index(cursor: &mut Cursor<'_>, kind: KeySpecKind) -> Result<DdlStatement, SqlError> {
    let name = Some(cursor.identifier()?);
    index_type(cursor)?;
    cursor.expect_words("ON")?;
    let table = cursor.table_name()?;
    let parts = key_parts(cursor)?;
    index_options(cursor)?;
    algorithm_and_lock(cursor)?;
    let actions = vec![AlterClause::AddKey(KeySpec { kind, name, parts })];
    Ok(DdlStatement::AlterTable { verb: AlterVerb::Index, table, actions })
}

/// `ALGORITHM [=] …`, `LOCK [=] …`: all DDL is online here.
fn algorithm_and_lock(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    let mut found = false;
    while cursor.take_one_of(&["ALGORITHM", "LOCK"]).is_some() {
        cursor.take(&Token::Eq);
        if cursor
            .take_one_of(&["DEFAULT", "INSTANT", "INPLACE", "COPY", "NONE", "SHARED", "EXCLUSIVE"])
            .is_none()
        {
            return Err(cursor.unexpected());
        }
        found = true;
    }
    Ok(found)
}

/// One table option; false if none is here. Those that only concern other engines are read and dropped.
fn table_option(cursor: &mut Cursor<'_>, options: &mut TableOptionsClause) -> Result<bool, SqlError> {
    const DROPPED: [&str; 21] = [
        "ENGINE",
        "ROW_FORMAT",
        "AVG_ROW_LENGTH",
        "CHECKSUM",
        "DELAY_KEY_WRITE",
        "KEY_BLOCK_SIZE",
        "MAX_ROWS",
        "MIN_ROWS",
        "PACK_KEYS",
        "STATS_AUTO_RECALC",
        "STATS_PERSISTENT",
        "STATS_SAMPLE_PAGES",
        "COMPRESSION",
        "INSERT_METHOD",
        "TABLESPACE",
        "STORAGE",
        "TABLE_CHECKSUM",
        "AUTOEXTEND_SIZE",
        "SECONDARY_ENGINE_ATTRIBUTE",
        "ENGINE_ATTRIBUTE",
        "TYPE",
    ];
    if collation_option(cursor, &mut options.collation)? {
        return Ok(true);
    }
    if cursor.take_words("COMMENT") {
        cursor.take(&Token::Eq);
        options.comment = Some(cursor.text_literal()?);
        return Ok(true);
    }
    if cursor.take_words("AUTO_INCREMENT") {
        cursor.take(&Token::Eq);
        options.auto_increment = Some(cursor.integer()?);
        return Ok(true);
    }
    if cursor.take_one_of(&DROPPED).is_some() {
        cursor.take(&Token::Eq);
        return match cursor.next() {
            Token::Word(_) | Token::Number(..) | Token::SingleQuotedString(_) => Ok(true),
            _ => Err(cursor.unexpected()),
        };
    }
    for missing in [
        "DATA DIRECTORY",
        "INDEX DIRECTORY",
        "ENCRYPTION",
        "CONNECTION",
        "PASSWORD",
        "UNION",
        "START TRANSACTION",
    ] {
        if cursor.are_words(missing) {
            return Err(SqlError::unsupported(&format!("table option {missing}")));
        }
    }
    Ok(false)
}

/// `PARTITION BY [LINEAR] KEY (…) [PARTITIONS n]` by all or a part of the primary key is how tables are spread anyway;
/// the rest is refused.
fn partition_clause(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    cursor.expect_words("PARTITION BY")?;
    cursor.take_words("LINEAR");
    if !cursor.is_word("KEY")
        || *cursor.peek_ahead(1) != Token::LParen
        || *cursor.peek_ahead(2) != Token::RParen
    {
        return Err(SqlError::unsupported("PARTITION BY other than KEY ()"));
    }
    for _ in 0..3 {
        cursor.next();
    }
    if cursor.take_words("PARTITIONS") {
        cursor.integer()?;
    }
    Ok(())
}

fn drop(cursor: &mut Cursor<'_>) -> Result<DdlStatement, SqlError> {
    let is_temporary = cursor.take_words("TEMPORARY");
    if is_temporary && !cursor.is_word("TABLE") && !cursor.is_word("TABLES") {
        return Err(cursor.unexpected());
    }
    if let Some(program) = super::program::drop(cursor)? {
        return Ok(program);
    }
    match cursor.take_one_of(&["DATABASE", "SCHEMA", "TABLE", "TABLES", "VIEW", "INDEX", "USER", "ROLE"]) {
        Some("DATABASE" | "SCHEMA") => {
            let if_exists = if_exists(cursor)?;
            Ok(DdlStatement::DropDatabase { name: cursor.identifier()?, if_exists })
        }
        Some("TABLE" | "TABLES") => {
            let if_exists = if_exists(cursor)?;
            let tables = cursor.list(Cursor::table_name)?;
            cursor.take_one_of(&["RESTRICT", "CASCADE"]);
            Ok(DdlStatement::DropTables { tables, if_exists, is_temporary })
        }
        Some("VIEW") => {
            let if_exists = if_exists(cursor)?;
            let views = cursor.list(Cursor::table_name)?;
            cursor.take_one_of(&["RESTRICT", "CASCADE"]);
            Ok(DdlStatement::DropViews { views, if_exists })
        }
        Some("INDEX") => {
            // PRIMARY is a name here only if quoted, as in MySQL.
            let name = cursor.identifier()?;
            cursor.expect_words("ON")?;
            let table = cursor.table_name()?;
            algorithm_and_lock(cursor)?;
            let actions = vec![AlterClause::DropKey(name)];
            Ok(DdlStatement::AlterTable { verb: AlterVerb::Index, table, actions })
        }
        Some("USER") => account::drop(cursor),
        Some("ROLE") => {
            let if_exists = if_exists(cursor)?;
            Ok(DdlStatement::DropRoles { roles: cursor.list(Cursor::account)?, if_exists })
        }
        _ => Err(missing_object(cursor, "DROP")),
    }
}

fn rename(cursor: &mut Cursor<'_>) -> Result<DdlStatement, SqlError> {
    if cursor.take_words("USER") {
        return account::rename(cursor);
    }
    if cursor.take_one_of(&["TABLE", "TABLES"]).is_none() {
        return Err(cursor.unexpected());
    }
    let renames = cursor.list(|cursor| {
        let from = cursor.table_name()?;
        cursor.expect_words("TO")?;
        Ok((from, cursor.table_name()?))
    })?;
    Ok(DdlStatement::RenameTables(renames))
}

fn alter(cursor: &mut Cursor<'_>) -> Result<DdlStatement, SqlError> {
    if let Some(view) = view::alter(cursor)? {
        return Ok(view);
    }
    match cursor.take_one_of(&["DATABASE", "SCHEMA", "TABLE", "USER"]) {
        Some("DATABASE" | "SCHEMA") => {
            let begins = ["DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENCRYPTION", "READ"];
            let is_option = begins.iter().any(|word| cursor.is_word(word));
            let name = if is_option { None } else { Some(cursor.identifier()?) };
            let collation = database_options(cursor)?;
            if collation == CollationClause::default() {
                return Err(cursor.unexpected());
            }
            Ok(DdlStatement::AlterDatabase { name, collation })
        }
        Some("TABLE") => {
            let table = cursor.table_name()?;
            let mut actions = Vec::new();
            cursor.list(|cursor| alter_clause(cursor, &mut actions))?;
            Ok(DdlStatement::AlterTable { verb: AlterVerb::AlterTable, table, actions })
        }
        Some("USER") => account::alter(cursor),
        _ => Err(missing_object(cursor, "ALTER")),
    }
}

fn alter_clause(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterClause>) -> Result<(), SqlError> {
    let unsupported = |clause: &str| Err(SqlError::unsupported(&format!("ALTER TABLE ... {clause}")));
    match cursor.take_one_of(&["ADD", "DROP", "RENAME", "MODIFY", "CHANGE", "ALTER", "CONVERT"]) {
        Some("ADD") => return alter_add(cursor, actions),
        Some("DROP") => return alter_drop(cursor, actions),
        Some("RENAME") => return alter_rename(cursor, actions),
        Some(verb @ ("MODIFY" | "CHANGE")) => return modify_column(cursor, verb == "CHANGE", actions),
        Some("ALTER") => return alter_column(cursor, actions),
        Some("CONVERT") => return convert(cursor, actions),
        _ => {}
    }
    const MISSING: [&str; 16] = [
        "ORDER BY",
        "PARTITION BY",
        "REMOVE PARTITIONING",
        "COALESCE PARTITION",
        "REORGANIZE PARTITION",
        "EXCHANGE PARTITION",
        "TRUNCATE PARTITION",
        "ANALYZE PARTITION",
        "CHECK PARTITION",
        "OPTIMIZE PARTITION",
        "REBUILD PARTITION",
        "REPAIR PARTITION",
        "DISCARD TABLESPACE",
        "IMPORT TABLESPACE",
        "WITH VALIDATION",
        "WITHOUT VALIDATION",
    ];
    if cursor.take_words("FORCE") {
        actions.push(AlterClause::Accepted);
        return Ok(());
    }
    if cursor.take_words("DISABLE KEYS") || cursor.take_words("ENABLE KEYS") {
        // Dumps say it; our indexes are always kept.
        actions.push(AlterClause::Keys);
        return Ok(());
    }
    if let Some(clause) = MISSING.iter().find(|words| cursor.are_words(words)) {
        return unsupported(clause);
    }
    if algorithm_and_lock(cursor)? {
        actions.push(AlterClause::Accepted);
        return Ok(());
    }
    let mut options = TableOptionsClause::default();
    if !table_option(cursor, &mut options)? {
        return Err(cursor.unexpected());
    }
    while table_option(cursor, &mut options)? {}
    let before = actions.len();
    actions.extend(options.comment.map(AlterClause::Comment));
    actions.extend(options.auto_increment.map(AlterClause::AutoIncrement));
    if options.collation != CollationClause::default() {
        actions.push(AlterClause::Collation(options.collation));
    }
    if actions.len() == before {
        actions.push(AlterClause::Accepted);
    }
    Ok(())
}

fn alter_add(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterClause>) -> Result<(), SqlError> {
    if cursor.is_word("PARTITION") {
        return Err(SqlError::unsupported("ALTER TABLE ... ADD PARTITION"));
    }
    if let Some(check) = check::check(cursor)? {
        actions.push(AlterClause::AddCheck(Box::new(check)));
        return Ok(());
    }
    if let Some(key) = key_definition(cursor)? {
        actions.push(AlterClause::AddKey(key));
        return Ok(());
    }
    cursor.take_words("COLUMN");
    if cursor.take(&Token::LParen) {
        let columns = cursor.list(column::column)?;
        cursor.expect(&Token::RParen)?;
        columns.into_iter().for_each(|column| add_column(column, actions));
        return Ok(());
    }
    let column = column::column(cursor)?;
    let (name, key) = (column.name.clone(), key_of(&column));
    actions.push(AlterClause::AddColumn(Box::new(column)));
    move_column(cursor, name, actions)?;
    actions.extend(key);
    Ok(())
}

fn add_column(column: ColumnClause, actions: &mut Vec<AlterClause>) {
    let key = key_of(&column);
    actions.push(AlterClause::AddColumn(Box::new(column)));
    actions.extend(key);
}

/// The key that an attribute of the column asks for.
fn key_of(column: &ColumnClause) -> Option<AlterClause> {
    let parts = || vec![KeyPartSpec::new(column.name.clone())];
    column.key.map(|kind| AlterClause::AddKey(KeySpec { kind, name: None, parts: parts() }))
}

/// `FIRST | AFTER column`, if it is here.
fn move_column(
    cursor: &mut Cursor<'_>,
    column: String,
    actions: &mut Vec<AlterClause>,
) -> Result<(), SqlError> {
    match cursor.take_one_of(&["FIRST", "AFTER"]) {
        Some("FIRST") => actions.push(AlterClause::MoveColumn { column, after: None }),
        Some(_) => actions.push(AlterClause::MoveColumn { column, after: Some(cursor.identifier()?) }),
        None => {}
    }
    Ok(())
}

/// `MODIFY [COLUMN] column definition`, `CHANGE [COLUMN] name column definition`.
fn modify_column(
    cursor: &mut Cursor<'_>,
    is_change: bool,
    actions: &mut Vec<AlterClause>,
) -> Result<(), SqlError> {
    cursor.take_words("COLUMN");
    let from = if is_change { Some(cursor.identifier()?) } else { None };
    let column = column::column(cursor)?;
    let (name, key) = (column.name.clone(), key_of(&column));
    let from = from.unwrap_or_else(|| name.clone());
    actions.push(AlterClause::ModifyColumn { from, column: Box::new(column) });
    move_column(cursor, name, actions)?;
    actions.extend(key);
    Ok(())
}

/// `ALTER [COLUMN] name SET DEFAULT … | DROP DEFAULT`, `ALTER INDEX name VISIBLE`.
fn alter_column(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterClause>) -> Result<(), SqlError> {
    if cursor.take_words("INDEX") {
        cursor.identifier()?;
        if !cursor.take_words("VISIBLE") {
            return Err(SqlError::unsupported("INVISIBLE index"));
        }
        actions.push(AlterClause::Accepted);
        return Ok(());
    }
    if cursor.take_one_of(&["CHECK", "CONSTRAINT"]).is_some() {
        let name = cursor.identifier()?;
        let is_enforced = check::enforcement(cursor).ok_or_else(|| cursor.unexpected())?;
        actions.push(AlterClause::EnforceCheck { name, is_enforced });
        return Ok(());
    }
    cursor.take_words("COLUMN");
    let column = cursor.identifier()?;
    let default = if cursor.take_words("DROP DEFAULT") {
        DefaultClause::Missing
    } else if cursor.take_words("SET DEFAULT") {
        column::default(cursor)?
    } else if cursor.take_words("SET VISIBLE") {
        actions.push(AlterClause::Accepted);
        return Ok(());
    } else if cursor.are_words("SET INVISIBLE") {
        return Err(SqlError::unsupported("INVISIBLE column"));
    } else {
        return Err(cursor.unexpected());
    };
    actions.push(AlterClause::SetDefault { column, default: Box::new(default) });
    Ok(())
}

/// `CONVERT TO CHARACTER SET name [COLLATE name]`.
fn convert(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterClause>) -> Result<(), SqlError> {
    cursor.expect_words("TO")?;
    let mut clause = CollationClause::default();
    if !collation_option(cursor, &mut clause)? || clause.character_set.is_none() {
        return Err(cursor.unexpected());
    }
    collation_option(cursor, &mut clause)?;
    actions.push(AlterClause::Convert(clause));
    Ok(())
}

fn alter_drop(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterClause>) -> Result<(), SqlError> {
    if cursor.take_one_of(&["KEY", "INDEX"]).is_some() {
        actions.push(AlterClause::DropKey(cursor.identifier()?));
        return Ok(());
    }
    if cursor.take_words("PRIMARY KEY") {
        actions.push(AlterClause::DropPrimaryKey);
        return Ok(());
    }
    if let Some(verb) = cursor.take_one_of(&["CHECK", "CONSTRAINT"]) {
        let name = cursor.identifier()?;
        let is_check = verb == "CHECK";
        actions.push(if is_check { AlterClause::DropCheck(name) } else { AlterClause::DropConstraint(name) });
        return Ok(());
    }
    let missing = ["FOREIGN KEY", "PARTITION"];
    if let Some(clause) = missing.into_iter().find(|words| cursor.are_words(words)) {
        return Err(SqlError::unsupported(&format!("ALTER TABLE ... DROP {clause}")));
    }
    cursor.take_words("COLUMN");
    actions.push(AlterClause::DropColumn(cursor.identifier()?));
    cursor.take_one_of(&["RESTRICT", "CASCADE"]);
    Ok(())
}

fn alter_rename(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterClause>) -> Result<(), SqlError> {
    let kind = cursor.take_one_of(&["COLUMN", "KEY", "INDEX"]);
    if kind.is_none() {
        cursor.take_one_of(&["TO", "AS"]);
        actions.push(AlterClause::RenameTo(cursor.table_name()?));
        return Ok(());
    }
    let from = cursor.identifier()?;
    cursor.expect_words("TO")?;
    let to = cursor.identifier()?;
    actions.push(match kind {
        Some("COLUMN") => AlterClause::RenameColumn { from, to },
        _ => AlterClause::RenameKey { from, to },
    });
    Ok(())
}
