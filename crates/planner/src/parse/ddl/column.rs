//! A column of CREATE TABLE or ADD COLUMN: its type and its options.

use super::check::{check, parenthesized};
use super::collation_option;
use crate::cursor::Cursor;
use crate::statement::{CollationClause, ColumnClause, DefaultClause, GeneratedClause, TypeClause};
use catalogue::{KeySpecKind, Nullability};
use protocol::SqlError;
use sqlparser::tokenizer::Token;

/// `name type [options]`.
pub(super) fn column(cursor: &mut Cursor<'_>) -> Result<ColumnClause, SqlError> {
    let name = cursor.identifier()?;
    let mut collation = CollationClause::default();
    let data_type = data_type(cursor, &mut collation)?;
    let is_serial = data_type.name == "SERIAL";
    let mut column = ColumnClause {
        name,
        data_type,
        collation,
        nullability: if is_serial { Nullability::NotNull } else { Nullability::Unspecified },
        default: DefaultClause::Missing,
        auto_increment: is_serial,
        on_update_now: None,
        comment: String::new(),
        key: is_serial.then_some(KeySpecKind::Unique),
        checks: Vec::new(),
        generated: None,
    };
    while column_option(cursor, &mut column)? {}
    Ok(column)
}

/// Types of several words, as one.
const COMPOUND: [(&str, &str); 13] = [
    ("DOUBLE PRECISION", "DOUBLE"),
    ("NATIONAL CHARACTER VARYING", "VARCHAR"),
    ("NATIONAL CHAR VARYING", "VARCHAR"),
    ("NATIONAL VARCHAR", "VARCHAR"),
    ("NATIONAL CHARACTER", "CHAR"),
    ("NATIONAL CHAR", "CHAR"),
    ("CHARACTER VARYING", "VARCHAR"),
    ("CHAR VARYING", "VARCHAR"),
    ("LONG VARCHAR", "MEDIUMTEXT"),
    ("LONG VARBINARY", "MEDIUMBLOB"),
    ("LONG BYTE", "MEDIUMBLOB"),
    ("NCHAR VARYING", "VARCHAR"),
    ("NCHAR VARCHAR", "VARCHAR"),
];

/// Other names of types.
const SYNONYMS: [(&str, &str); 17] = [
    ("INTEGER", "INT"),
    ("INT1", "TINYINT"),
    ("INT2", "SMALLINT"),
    ("INT3", "MEDIUMINT"),
    ("INT4", "INT"),
    ("INT8", "BIGINT"),
    ("MIDDLEINT", "MEDIUMINT"),
    ("DEC", "DECIMAL"),
    ("NUMERIC", "DECIMAL"),
    ("FIXED", "DECIMAL"),
    ("REAL", "DOUBLE"),
    ("FLOAT4", "FLOAT"),
    ("FLOAT8", "DOUBLE"),
    ("CHARACTER", "CHAR"),
    ("NCHAR", "CHAR"),
    ("NVARCHAR", "VARCHAR"),
    ("LONG", "MEDIUMTEXT"),
];

fn type_name(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    for (words, name) in COMPOUND {
        if cursor.take_words(words) {
            return Ok(name.to_owned());
        }
    }
    let Token::Word(word) = cursor.peek() else { return Err(cursor.unexpected()) };
    if word.quote_style.is_some() {
        return Err(cursor.unexpected());
    }
    let upper = word.value.to_ascii_uppercase();
    cursor.next();
    Ok(SYNONYMS.iter().find(|(synonym, _)| *synonym == upper).map_or(upper, |(_, name)| (*name).to_owned()))
}

/// A type with what belongs to it: length, sign, character set.
fn data_type(cursor: &mut Cursor<'_>, collation: &mut CollationClause) -> Result<TypeClause, SqlError> {
    const KNOWN: [&str; 35] = [
        "TINYINT",
        "SMALLINT",
        "MEDIUMINT",
        "INT",
        "BIGINT",
        "BOOL",
        "BOOLEAN",
        "SERIAL",
        "DECIMAL",
        "FLOAT",
        "DOUBLE",
        "BIT",
        "CHAR",
        "VARCHAR",
        "BINARY",
        "VARBINARY",
        "TINYTEXT",
        "TEXT",
        "MEDIUMTEXT",
        "LONGTEXT",
        "TINYBLOB",
        "BLOB",
        "MEDIUMBLOB",
        "LONGBLOB",
        "ENUM",
        "SET",
        "DATE",
        "TIME",
        "DATETIME",
        "TIMESTAMP",
        "YEAR",
        "JSON",
        "VARCHARACTER",
        "VECTOR",
        "GEOMETRY",
    ];
    let offset = cursor.offset();
    let mut name = type_name(cursor)?;
    if !KNOWN.contains(&name.as_str()) {
        let spatial = [
            "POINT",
            "LINESTRING",
            "POLYGON",
            "MULTIPOINT",
            "MULTILINESTRING",
            "MULTIPOLYGON",
            "GEOMETRYCOLLECTION",
        ];
        return Err(if spatial.contains(&name.as_str()) {
            SqlError::unsupported("spatial types")
        } else {
            cursor.unexpected_at(offset)
        });
    }
    if let missing @ ("JSON" | "VECTOR" | "GEOMETRY") = name.as_str() {
        return Err(SqlError::unsupported(&format!("column type {missing}")));
    }
    if name == "VARCHARACTER" {
        "VARCHAR".clone_into(&mut name);
    }
    let mut data_type = TypeClause {
        name,
        numbers: Vec::new(),
        members: Vec::new(),
        unsigned: false,
        zerofill: false,
        binary: false,
    };
    if cursor.take(&Token::LParen) {
        if matches!(cursor.peek(), Token::SingleQuotedString(_)) {
            data_type.members = cursor.list(Cursor::text_literal)?;
        } else {
            data_type.numbers = cursor.list(Cursor::integer)?;
        }
        cursor.expect(&Token::RParen)?;
    }
    loop {
        if cursor.take_words("UNSIGNED") {
            data_type.unsigned = true;
        } else if cursor.take_words("ZEROFILL") {
            // As in MySQL.
            (data_type.unsigned, data_type.zerofill) = (true, true);
        } else if cursor.take_words("BINARY") {
            data_type.binary = true;
        } else if cursor.take_words("ASCII") || cursor.take_words("UNICODE") || cursor.take_words("SIGNED") {
            // All strings are stored as UTF-8; numbers are signed anyway.
        } else if !collation_option(cursor, collation)? {
            return if takes_its_arguments(&data_type) { Ok(data_type) } else { Err(cursor.unexpected()) };
        }
    }
}

/// Whether the type takes the arguments in the parentheses.
fn takes_its_arguments(data_type: &TypeClause) -> bool {
    let numbers = data_type.numbers.len();
    let (least, most) = match data_type.name.as_str() {
        "VARCHAR" | "VARBINARY" => (1, 1),
        "DECIMAL" | "FLOAT" | "DOUBLE" => (0, 2),
        "BOOL" | "BOOLEAN" | "SERIAL" | "DATE" | "ENUM" | "SET" | "TINYTEXT" | "MEDIUMTEXT" | "LONGTEXT"
        | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB" => (0, 0),
        _ => (0, 1),
    };
    let takes_members = matches!(data_type.name.as_str(), "ENUM" | "SET");
    let takes_sign = matches!(
        data_type.name.as_str(),
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE"
    );
    // DOUBLE has both of its numbers or none.
    let is_half = data_type.name == "DOUBLE" && numbers == 1;
    (least..=most).contains(&numbers)
        && !is_half
        && takes_members != data_type.members.is_empty()
        && (takes_sign || !data_type.unsigned)
}

/// One option of a column; false if none is here.
fn column_option(cursor: &mut Cursor<'_>, column: &mut ColumnClause) -> Result<bool, SqlError> {
    if cursor.take_words("NOT NULL") {
        column.nullability = Nullability::NotNull;
    } else if cursor.take_words("NULL") {
        column.nullability = Nullability::Null;
    } else if cursor.take_words("DEFAULT") {
        column.default = default(cursor)?;
    } else if cursor.take_words("ON UPDATE") {
        column.on_update_now = Some(current_timestamp(cursor)?.ok_or_else(|| cursor.unexpected())?);
    } else if cursor.take_words("AUTO_INCREMENT") {
        column.auto_increment = true;
    } else if cursor.take_words("PRIMARY KEY") || cursor.take_words("PRIMARY") || cursor.take_words("KEY") {
        column.key = Some(KeySpecKind::Primary);
    } else if cursor.take_words("UNIQUE KEY") || cursor.take_words("UNIQUE") {
        column.key = Some(KeySpecKind::Unique);
    } else if cursor.take_words("COMMENT") {
        column.comment = cursor.text_literal()?;
    } else if cursor.take_one_of(&["COLUMN_FORMAT", "STORAGE"]).is_some() {
        cursor.identifier_part()?;
    } else if cursor.take_words("GENERATED ALWAYS AS") || cursor.take_words("AS") {
        let (expression, text) = parenthesized(cursor)?;
        let is_stored = cursor.take_one_of(&["VIRTUAL", "STORED"]) == Some("STORED");
        column.generated = Some(GeneratedClause { expression, text, is_stored });
    } else if let Some(check) = check(cursor)? {
        column.checks.push(check);
    } else if cursor.take_words("VISIBLE") || collation_option(cursor, &mut column.collation)? {
    } else {
        return refuse_column_option(cursor).map(|()| false);
    }
    Ok(true)
}

fn refuse_column_option(cursor: &Cursor<'_>) -> Result<(), SqlError> {
    let missing = [
        ("INVISIBLE", "INVISIBLE column"),
        ("REFERENCES", "FOREIGN KEY"),
        ("SRID", "spatial types"),
        ("SERIAL", "SERIAL DEFAULT VALUE"),
        ("ENGINE_ATTRIBUTE", "ENGINE_ATTRIBUTE"),
    ];
    match missing.iter().find(|(word, _)| cursor.is_word(word)) {
        Some((_, feature)) => Err(SqlError::unsupported(feature)),
        None => Ok(()),
    }
}

/// `CURRENT_TIMESTAMP[(digits)]` and its other names; gives the digits.
fn current_timestamp(cursor: &mut Cursor<'_>) -> Result<Option<u8>, SqlError> {
    let is_now = cursor.is_word("NOW") && *cursor.peek_ahead(1) == Token::LParen;
    if !is_now
        && !["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"].iter().any(|word| cursor.is_word(word))
    {
        return Ok(None);
    }
    cursor.next();
    let mut fraction = 0;
    if cursor.take(&Token::LParen) {
        if *cursor.peek() != Token::RParen {
            fraction = cursor.integer()?;
        }
        cursor.expect(&Token::RParen)?;
    }
    Ok(Some(u8::try_from(fraction).unwrap_or(u8::MAX)))
}

/// The clause behind DEFAULT.
pub(super) fn default(cursor: &mut Cursor<'_>) -> Result<DefaultClause, SqlError> {
    if let Some(fraction) = current_timestamp(cursor)? {
        return Ok(DefaultClause::CurrentTimestamp { fraction });
    }
    if *cursor.peek() == Token::LParen {
        let (expression, text) = parenthesized(cursor)?;
        return Ok(DefaultClause::Expression(expression, text));
    }
    cursor.literal().map(DefaultClause::Literal)
}
