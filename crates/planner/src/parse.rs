//! Text to [`Statement`]: a dispatcher on the first words, and the grammar of INSERT, REPLACE, UPDATE and DELETE.
//!
//! The sqlparser crate parses queries and expressions, with our tokens and our dialect. Every other statement is a
//! fixed sequence of words and names and is parsed here and in `parse/`. The crate's grammar for them is a union of all
//! dialects, and it lacks a good part of MySQL's.
//!
//! Invariant: a clause that is not understood is an error, never passed over: 1064 if MySQL does not have it either,
//! else 1235 with its name.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser crate's enums hold every dialect: what is not named does not fit"
)]

mod account;
mod ddl;
mod grant;
mod program;
mod session;
mod show;

pub(crate) use session::split_system_variable;

use super::cursor::Cursor;
use super::limits::{self, TextLimits};
use super::modes::TextModes;
use super::statement::{
    Assignment, ChangeStatement, ColumnName, DeleteStatement, InsertKind, InsertStatement, OrderItem,
    RowAlias, SelectStatement, Statement, TableName, TableReference, UpdateStatement, ValueOrDefault,
};
use crate::plan::ExplainFormat;
use protocol::SqlError;
use sqlparser::ast::{Expr, Value as AstValue, With};
use sqlparser::tokenizer::Token;

/// A parsed statement.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// The statement.
    pub(crate) statement: Statement,
    /// How many `?` it has.
    pub(crate) marker_count: usize,
}

/// Parses one statement (a last semicolon is allowed).
pub(crate) fn parse(text: &str, limits: &TextLimits, modes: TextModes) -> Result<Parsed, SqlError> {
    program::check(text, modes)?;
    limits::check(text, limits, modes)?;
    let mut cursor = Cursor::new(text, modes)?;
    if cursor.at_end() {
        let is_comment = text.chars().any(|character| !character.is_whitespace() && character != ';');
        let empty = SqlError::new(1065, "Query was empty");
        let nothing = Parsed { statement: Statement::Nothing(None), marker_count: 0 };
        return if is_comment { Ok(nothing) } else { Err(empty) };
    }
    let statement = statement(&mut cursor)?;
    cursor.expect_end()?;
    Ok(Parsed { statement, marker_count: cursor.marker_count() })
}

fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    if cursor.is_word("WITH")
        && let Some(change) = change_with(cursor)?
    {
        return Ok(change);
    }
    let is_query = ["SELECT", "WITH", "VALUES"].iter().any(|verb| cursor.is_word(verb));
    if is_query || matches!(cursor.peek(), Token::LParen) {
        return select(cursor);
    }
    if cursor.take_words("INSERT") {
        return insert(cursor, InsertKind::Insert);
    }
    if cursor.take_words("REPLACE") {
        return insert(cursor, InsertKind::Replace);
    }
    if cursor.take_words("UPDATE") {
        return update(cursor, None);
    }
    if cursor.take_words("DELETE") {
        return delete(cursor, None);
    }
    if let Some(verb) = cursor.take_one_of(&["EXPLAIN", "DESCRIBE", "DESC"]) {
        return explain(cursor, verb);
    }
    if cursor.are_words("DROP PREPARE") {
        return session::statement(cursor);
    }
    if let Some(statement) = ddl::statement(cursor)? {
        return Ok(statement);
    }
    session::statement(cursor)
}

/// UPDATE or DELETE behind WITH; None: a query, and the cursor is where it was.
fn change_with(cursor: &mut Cursor<'_>) -> Result<Option<Statement>, SqlError> {
    let place = cursor.place();
    let with = cursor.with_clause();
    let verb = if with.is_ok() { cursor.take_one_of(&["UPDATE", "DELETE"]) } else { None };
    match (verb, with) {
        (Some("UPDATE"), Ok(with)) => update(cursor, Some(with)).map(Some),
        (Some(_), Ok(with)) => delete(cursor, Some(with)).map(Some),
        _ => {
            cursor.go_back(place);
            Ok(None)
        }
    }
}

fn select(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let query = match cursor.query() {
        Err(error) if cursor.mentions("INTO", &["OUTFILE", "DUMPFILE"]) => {
            return Err(if error.code == 1064 { SqlError::unsupported("SELECT ... INTO") } else { error });
        }
        query => query?,
    };
    let lock_in_share_mode = cursor.take_words("LOCK IN SHARE MODE");
    if cursor.is_word("INTO") {
        // Files are 1235, and variables are taken out before: see `tokens`.
        return Err(match cursor.peek_ahead(1) {
            Token::Word(_) if ["OUTFILE", "DUMPFILE"].iter().any(|word| cursor.is_word_ahead(1, word)) => {
                SqlError::unsupported("SELECT ... INTO")
            }
            Token::Word(word) if !word.value.starts_with('@') => {
                SqlError::new(1327, format!("Undeclared variable: {}", word.value))
            }
            _ => cursor.unexpected(),
        });
    }
    let into = cursor.take_into();
    Ok(Statement::Select(Box::new(SelectStatement { query, lock_in_share_mode, into })))
}

fn explain(cursor: &mut Cursor<'_>, verb: &str) -> Result<Statement, SqlError> {
    let analyzes = cursor.take_words("ANALYZE");
    cursor.take_words("EXTENDED");
    let mut format = if analyzes { ExplainFormat::Tree } else { ExplainFormat::Table };
    if cursor.take_words("FORMAT") {
        cursor.expect(&Token::Eq)?;
        let name = cursor.identifier_or_text()?;
        format = match name.to_ascii_uppercase().as_str() {
            "TRADITIONAL" => ExplainFormat::Table,
            "TREE" => ExplainFormat::Tree,
            "JSON" => ExplainFormat::Json,
            _ => return Err(SqlError::new(1791, format!("Unknown EXPLAIN format name: '{name}'"))),
        };
    }
    let explainable = ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "TABLE", "VALUES"];
    if matches!(cursor.peek(), Token::LParen) || explainable.iter().any(|word| cursor.is_word(word)) {
        let explained = statement(cursor)?;
        if analyzes {
            let refused = match (format, explained) {
                (ExplainFormat::Tree, Statement::Select(select)) => return Ok(Statement::Analyze(select)),
                (ExplainFormat::Tree, _) => "EXPLAIN ANALYZE on this statement",
                (ExplainFormat::Table, _) => "EXPLAIN ANALYZE with TRADITIONAL format",
                (ExplainFormat::Json, _) => "EXPLAIN ANALYZE with JSON format",
            };
            return Err(SqlError::unsupported(refused));
        }
        return Ok(Statement::Explain(format, Box::new(explained)));
    }
    if analyzes {
        return Err(cursor.unexpected());
    }
    if cursor.is_word("FOR") {
        return Err(SqlError::unsupported("EXPLAIN FOR CONNECTION"));
    }
    stdx::require!(matches!(verb, "EXPLAIN" | "DESCRIBE" | "DESC"));
    show::describe(cursor)
}

/// `DEFAULT`, or an expression.
fn value_or_default(cursor: &mut Cursor<'_>) -> Result<ValueOrDefault, SqlError> {
    if cursor.is_word("DEFAULT") && *cursor.peek_ahead(1) != Token::LParen {
        cursor.next();
        return Ok(ValueOrDefault::Default);
    }
    // Literals make up nearly all of a bulk load: they need no expression parser.
    let ends = matches!(cursor.peek_ahead(1), Token::Comma | Token::RParen);
    let literal = match cursor.peek() {
        Token::Number(digits, _) if ends => Some(AstValue::Number(digits.clone(), false)),
        Token::SingleQuotedString(text) if ends => Some(AstValue::SingleQuotedString(text.clone())),
        Token::Placeholder(name) if ends => Some(AstValue::Placeholder(name.clone())),
        _ => None,
    };
    if let Some(value) = literal {
        let span = cursor.span();
        cursor.next();
        return Ok(ValueOrDefault::Value(Box::new(Expr::Value(value.with_span(span)))));
    }
    cursor.expression().map(|value| ValueOrDefault::Value(Box::new(value)))
}

fn column_name(cursor: &mut Cursor<'_>) -> Result<ColumnName, SqlError> {
    let mut name = cursor.identifier()?;
    let mut qualifier = Vec::new();
    while cursor.take(&Token::Period) {
        qualifier.push(std::mem::replace(&mut name, cursor.identifier_part()?));
        if qualifier.len() > 2 {
            return Err(cursor.unexpected());
        }
    }
    Ok(ColumnName { qualifier, name })
}

fn assignment(cursor: &mut Cursor<'_>) -> Result<Assignment, SqlError> {
    let column = column_name(cursor)?;
    if !cursor.take(&Token::Eq) {
        cursor.expect(&Token::Assignment)?;
    }
    let value = value_or_default(cursor)?;
    Ok(Assignment { column, value })
}

fn insert(cursor: &mut Cursor<'_>, verb: InsertKind) -> Result<Statement, SqlError> {
    let mut kind = verb;
    cursor.take_one_of(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"]);
    if verb == InsertKind::Insert && cursor.take_words("IGNORE") {
        kind = InsertKind::Ignore;
    }
    cursor.take_words("INTO");
    let table = cursor.table_name()?;
    if cursor.is_word("PARTITION") {
        return Err(SqlError::unsupported("PARTITION clause"));
    }
    let mut insert = InsertStatement {
        table,
        kind,
        columns: None,
        rows: Vec::new(),
        has_queries: false,
        source: None,
        row_alias: None,
        on_duplicate: Vec::new(),
    };
    let values = cursor.place();
    if cursor.take_words("SET") {
        let (columns, values) =
            cursor.list(assignment)?.into_iter().map(|set| (set.column, set.value)).unzip();
        insert.columns = Some(columns);
        insert.rows = vec![values];
    } else {
        insert_columns_and_rows(cursor, &mut insert)?;
    }
    insert.has_queries = insert.source.is_none() && cursor.has_query_since(values);
    if verb == InsertKind::Insert {
        insert_tail(cursor, &mut insert)?;
    }
    Ok(Statement::Insert(Box::new(insert)))
}

fn insert_columns_and_rows(cursor: &mut Cursor<'_>, insert: &mut InsertStatement) -> Result<(), SqlError> {
    let is_query = |cursor: &Cursor<'_>, ahead: usize| {
        ["SELECT", "WITH", "TABLE"].iter().any(|word| cursor.is_word_ahead(ahead, word))
    };
    let mut inner = 0;
    while *cursor.peek_ahead(inner) == Token::LParen {
        inner += 1;
    }
    if inner > 0 && !is_query(cursor, inner) {
        cursor.next();
        let mut columns = Vec::new();
        if !cursor.take(&Token::RParen) {
            columns = cursor.list(column_name)?;
            cursor.expect(&Token::RParen)?;
        }
        insert.columns = Some(columns);
    }
    if is_query(cursor, 0) || *cursor.peek() == Token::LParen {
        insert.source = Some(cursor.query()?);
        return Ok(());
    }
    if cursor.take_one_of(&["VALUES", "VALUE"]).is_none() {
        return Err(cursor.unexpected());
    }
    insert.rows = cursor.list(insert_row)?;
    Ok(())
}

fn insert_row(cursor: &mut Cursor<'_>) -> Result<Vec<ValueOrDefault>, SqlError> {
    cursor.take_words("ROW");
    cursor.expect(&Token::LParen)?;
    if cursor.take(&Token::RParen) {
        return Ok(Vec::new());
    }
    let values = cursor.list(value_or_default)?;
    cursor.expect(&Token::RParen)?;
    Ok(values)
}

/// `[AS alias [(columns)]] [ON DUPLICATE KEY UPDATE …]`.
fn insert_tail(cursor: &mut Cursor<'_>, insert: &mut InsertStatement) -> Result<(), SqlError> {
    if cursor.take_words("AS") {
        let name = cursor.identifier()?;
        let mut columns = Vec::new();
        if cursor.take(&Token::LParen) {
            columns = cursor.list(Cursor::identifier)?;
            cursor.expect(&Token::RParen)?;
        }
        insert.row_alias = Some(RowAlias { name, columns });
    }
    if cursor.take_words("ON") {
        cursor.expect_words("DUPLICATE KEY UPDATE")?;
        insert.on_duplicate = cursor.list(assignment)?;
    }
    Ok(())
}

/// One table; None if there are several: then the cursor is where it was.
fn single_table(cursor: &mut Cursor<'_>) -> Result<Option<TableReference>, SqlError> {
    let place = cursor.place();
    if *cursor.peek() == Token::LParen {
        return Ok(None);
    }
    let name = cursor.table_name()?;
    if cursor.is_word("PARTITION") {
        return Err(SqlError::unsupported("PARTITION clause"));
    }
    let alias = cursor.alias()?;
    let joins = ["JOIN", "INNER", "LEFT", "RIGHT", "CROSS", "NATURAL", "STRAIGHT_JOIN"];
    if *cursor.peek() == Token::Comma || joins.iter().any(|word| cursor.is_word(word)) {
        cursor.go_back(place);
        return Ok(None);
    }
    Ok(Some(TableReference { name, alias }))
}

fn selection(cursor: &mut Cursor<'_>) -> Result<Option<Expr>, SqlError> {
    if cursor.take_words("WHERE") { cursor.expression().map(Some) } else { Ok(None) }
}

fn order_by(cursor: &mut Cursor<'_>) -> Result<Vec<OrderItem>, SqlError> {
    if !cursor.take_words("ORDER") {
        return Ok(Vec::new());
    }
    cursor.expect_words("BY")?;
    cursor.list(|cursor| {
        let expression = cursor.expression()?;
        let descending = cursor.take_one_of(&["ASC", "DESC"]) == Some("DESC");
        Ok(OrderItem { expression, descending })
    })
}

fn limit(cursor: &mut Cursor<'_>) -> Result<Option<Expr>, SqlError> {
    if cursor.take_words("LIMIT") { cursor.expression().map(Some) } else { Ok(None) }
}

fn update(cursor: &mut Cursor<'_>, with: Option<With>) -> Result<Statement, SqlError> {
    cursor.take_words("LOW_PRIORITY");
    let ignore = cursor.take_words("IGNORE");
    let Some(table) = single_table(cursor)? else {
        let from = cursor.table_references()?;
        cursor.expect_words("SET")?;
        let assignments = cursor.list(assignment)?;
        let selection = selection(cursor)?;
        unordered(cursor, "UPDATE")?;
        let change = ChangeStatement { with, from, deleted: None, assignments, selection, ignore };
        return Ok(Statement::Change(Box::new(change)));
    };
    cursor.expect_words("SET")?;
    let assignments = cursor.list(assignment)?;
    let selection = selection(cursor)?;
    let order_by = order_by(cursor)?;
    let limit = limit(cursor)?;
    Ok(Statement::Update(Box::new(UpdateStatement {
        with,
        table,
        assignments,
        selection,
        order_by,
        limit,
        ignore,
    })))
}

fn delete(cursor: &mut Cursor<'_>, with: Option<With>) -> Result<Statement, SqlError> {
    // IGNORE is about foreign keys.
    while cursor.take_one_of(&["LOW_PRIORITY", "QUICK", "IGNORE"]).is_some() {}
    if !cursor.take_words("FROM") {
        // DELETE t1, t2 FROM …
        let deleted = cursor.list(deleted_table)?;
        cursor.expect_words("FROM")?;
        return delete_from(cursor, with, deleted);
    }
    let place = cursor.place();
    let deleted = cursor.list(deleted_table);
    if cursor.take_words("USING") {
        return delete_from(cursor, with, deleted?);
    }
    cursor.go_back(place);
    let Some(table) = single_table(cursor)? else { return Err(cursor.unexpected()) };
    let selection = selection(cursor)?;
    let order_by = order_by(cursor)?;
    let limit = limit(cursor)?;
    Ok(Statement::Delete(Box::new(DeleteStatement { with, table, selection, order_by, limit })))
}

/// `table` or `table.*`.
fn deleted_table(cursor: &mut Cursor<'_>) -> Result<TableName, SqlError> {
    let first = cursor.identifier()?;
    let mut names = vec![first];
    while cursor.take(&Token::Period) {
        if cursor.take(&Token::Mul) {
            break;
        }
        names.push(cursor.identifier_part()?);
    }
    match (names.pop(), names.pop(), names.is_empty()) {
        (Some(name), database, true) => Ok(TableName { database, name }),
        _ => Err(cursor.unexpected()),
    }
}

fn delete_from(
    cursor: &mut Cursor<'_>,
    with: Option<With>,
    deleted: Vec<TableName>,
) -> Result<Statement, SqlError> {
    let from = cursor.table_references()?;
    let selection = selection(cursor)?;
    unordered(cursor, "DELETE")?;
    let (deleted, assignments, ignore) = (Some(deleted), Vec::new(), false);
    let change = ChangeStatement { with, from, deleted, assignments, selection, ignore };
    Ok(Statement::Change(Box::new(change)))
}

/// 1221: ORDER BY and LIMIT are for one table.
fn unordered(cursor: &Cursor<'_>, verb: &str) -> Result<(), SqlError> {
    for (word, clause) in [("ORDER", "ORDER BY"), ("LIMIT", "LIMIT")] {
        if cursor.is_word(word) {
            return Err(SqlError::new(1221, format!("Incorrect usage of {verb} and {clause}")));
        }
    }
    Ok(())
}
