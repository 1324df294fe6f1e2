//! Definitions as MySQL 8 prints them: SHOW CREATE TABLE, SHOW CREATE DATABASE, COLUMN_TYPE and COLUMN_DEFAULT of
//! `information_schema`.
//!
//! The printed text parses back to the same definition (ids aside). Indexes on their way in or out and hidden columns
//! are not shown. Defaults of TIMESTAMP columns are shown in UTC, as they are stored.
//!
//! `AUTO_INCREMENT=n` is not part of a definition: the caller says which value it knows to come next.
//!
//! Deliberately not here: display widths (`int(11)`) but for `tinyint(1)` and ZEROFILL, as in MySQL 8.

use std::fmt::Write;
use types::{
    BlobSize, CheckConstraint, Collation, ColumnDefinition, Database, DefaultValue, IndexDefinition,
    IndexKind, IntegerWidth, SqlType, TableDefinition, Value, format_number,
};

/// The storage engine's name, as SHOW CREATE TABLE and SHOW ENGINES print it.
pub const ENGINE: &str = "LatsDB";

/// The CREATE TABLE statement of a table. `next_id` is the next AUTO_INCREMENT value, if it is known.
#[must_use]
pub fn show_create_table(table: &TableDefinition, next_id: Option<u64>) -> String {
    let columns = table.visible_columns().map(|(_, column)| column_text(table, column));
    let keys = table.public_indexes().map(|index| key_text(table, index));
    let checks = table.checks.iter().map(check_text);
    let lines: Vec<String> = columns.chain(keys).chain(checks).map(|line| format!("  {line}")).collect();
    let kind = if table.id.is_temporary() { "TEMPORARY TABLE" } else { "TABLE" };
    let mut text = format!("CREATE {kind} {} (\n{}\n)", quoted_name(&table.name), lines.join(",\n"));
    push(&mut text, format_args!(" ENGINE={ENGINE}"));
    if let Some(next) = next_id.filter(|next| *next > 1 && table.auto_increment.is_some()) {
        push(&mut text, format_args!(" AUTO_INCREMENT={next}"));
    }
    push(&mut text, format_args!(" DEFAULT CHARSET={}", table.collation.character_set()));
    if let Some(collation) = shown_collation(table.collation) {
        push(&mut text, format_args!(" COLLATE={collation}"));
    }
    if !table.comment.is_empty() {
        push(&mut text, format_args!(" COMMENT={}", quoted_text(&table.comment)));
    }
    text
}

/// The CREATE DATABASE statement of a database.
#[must_use]
pub fn show_create_database(database: &Database) -> String {
    let set = database.collation.character_set();
    let collation =
        shown_collation(database.collation).map(|name| format!(" COLLATE {name}")).unwrap_or_default();
    format!(
        "CREATE DATABASE {} /*!40100 DEFAULT CHARACTER SET {set}{collation} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        quoted_name(&database.name)
    )
}

/// A column's type as `information_schema.columns.COLUMN_TYPE` shows it: `int unsigned`, `tinyint(1)`, `enum('a','b')`.
#[must_use]
pub fn column_type_text(column: &ColumnDefinition) -> String {
    let (sql_type, format) = (&column.sql_type, &column.format);
    let with_fraction = |name: &str, fraction: u8| match fraction {
        0 => name.to_owned(),
        digits => format!("{name}({digits})"),
    };
    let with_members = |name: &str, members: &[String]| {
        let members: Vec<String> = members.iter().map(|member| quoted_text(member)).collect();
        format!("{name}({})", members.join(","))
    };
    let sign_text = |unsigned: bool| match (unsigned, format.zerofill) {
        (_, true) => " unsigned zerofill",
        (true, false) => " unsigned",
        (false, false) => "",
    };
    let floating = |name: &str| {
        let shape = match (format.width, format.scale) {
            (Some(width), Some(scale)) => format!("({width},{scale})"),
            _ => String::new(),
        };
        format!("{name}{shape}{}", sign_text(format.unsigned))
    };
    match sql_type {
        SqlType::Null => "null".to_owned(),
        SqlType::Integer { width, unsigned } => {
            // As MySQL 8.0.19: drivers tell booleans by their width, and ZEROFILL needs one.
            let is_boolean = *width == IntegerWidth::Tiny && !unsigned && format.width == Some(1);
            let shape = if is_boolean || format.zerofill {
                format!("({})", format.display_width(sql_type))
            } else {
                String::new()
            };
            format!("{}{shape}{}", integer_name(*width), sign_text(*unsigned))
        }
        SqlType::Float => floating("float"),
        SqlType::Double => floating("double"),
        SqlType::Decimal { precision, scale, unsigned } => {
            format!("decimal({precision},{scale}){}", sign_text(*unsigned))
        }
        SqlType::Bit { length } => format!("bit({length})"),
        SqlType::Char { length, .. } => format!("char({length})"),
        SqlType::VarChar { length, .. } => format!("varchar({length})"),
        SqlType::Binary { length } => format!("binary({length})"),
        SqlType::VarBinary { length } => format!("varbinary({length})"),
        SqlType::Text { size, .. } => format!("{}text", size_name(*size)),
        SqlType::Blob { size } => format!("{}blob", size_name(*size)),
        SqlType::Enum { members, .. } => with_members("enum", members),
        SqlType::Set { members, .. } => with_members("set", members),
        SqlType::Date => "date".to_owned(),
        SqlType::Time { fraction } => with_fraction("time", *fraction),
        SqlType::DateTime { fraction } => with_fraction("datetime", *fraction),
        SqlType::Timestamp { fraction } => with_fraction("timestamp", *fraction),
        SqlType::Year => "year".to_owned(),
        SqlType::Json => "json".to_owned(),
    }
}

/// The default as `information_schema.columns.COLUMN_DEFAULT` and SHOW COLUMNS show it; None for NULL and for none at
/// all.
#[must_use]
pub fn column_default_text(column: &ColumnDefinition) -> Option<String> {
    match &column.default {
        DefaultValue::Missing
        | DefaultValue::AutoIncrement
        | DefaultValue::Literal(Value::Null)
        | DefaultValue::Generated { .. } => None,
        DefaultValue::Literal(value) => Some(match (value, &column.sql_type) {
            (Value::UInt(bits), SqlType::Bit { .. }) => format!("b'{bits:b}'"),
            _ => String::from_utf8_lossy(&literal_bytes(value, column)).into_owned(),
        }),
        DefaultValue::CurrentTimestamp => Some(now_text(&column.sql_type)),
        DefaultValue::Expression { text, .. } => Some(text.clone()),
    }
}

/// The collation's name, as MySQL shows it: a default that older servers have, too, goes without saying.
fn shown_collation(collation: Collation) -> Option<&'static str> {
    let is_implied =
        collation == collation.set().default_collation() && collation != Collation::Utf8mb40900AiCi;
    (!is_implied).then(|| collation.name())
}

fn integer_name(width: IntegerWidth) -> &'static str {
    match width {
        IntegerWidth::Tiny => "tinyint",
        IntegerWidth::Small => "smallint",
        IntegerWidth::Medium => "mediumint",
        IntegerWidth::Normal => "int",
        IntegerWidth::Big => "bigint",
    }
}

fn size_name(size: BlobSize) -> &'static str {
    match size {
        BlobSize::Tiny => "tiny",
        BlobSize::Normal => "",
        BlobSize::Medium => "medium",
        BlobSize::Long => "long",
    }
}

fn column_text(table: &TableDefinition, column: &ColumnDefinition) -> String {
    let mut text = format!("{} {}", quoted_name(&column.name), column_type_text(column));
    if let Some(collation) = column.sql_type.character_collation()
        && collation != table.collation
    {
        push(&mut text, format_args!(" CHARACTER SET {}", collation.character_set()));
        if let Some(name) = shown_collation(collation) {
            push(&mut text, format_args!(" COLLATE {name}"));
        }
    }
    if let DefaultValue::Generated { text: expression, is_stored, .. } = &column.default {
        let kind = if *is_stored { "STORED" } else { "VIRTUAL" };
        push(&mut text, format_args!(" GENERATED ALWAYS AS (({expression})) {kind}"));
    }
    if !column.flags.nullable {
        text.push_str(" NOT NULL");
    } else if matches!(column.sql_type, SqlType::Timestamp { .. }) {
        text.push_str(" NULL");
    }
    push_default(&mut text, column);
    if column.flags.on_update_now {
        push(&mut text, format_args!(" ON UPDATE {}", now_text(&column.sql_type)));
    }
    if column.default == DefaultValue::AutoIncrement {
        text.push_str(" AUTO_INCREMENT");
    }
    if !column.comment.is_empty() {
        push(&mut text, format_args!(" COMMENT {}", quoted_text(&column.comment)));
    }
    text
}

fn push_default(text: &mut String, column: &ColumnDefinition) {
    match &column.default {
        DefaultValue::Missing | DefaultValue::AutoIncrement | DefaultValue::Generated { .. } => {}
        DefaultValue::Literal(Value::Null) => {
            // As MySQL: BLOB and TEXT columns cannot have a literal default, so none is shown.
            if !matches!(column.sql_type, SqlType::Text { .. } | SqlType::Blob { .. }) {
                text.push_str(" DEFAULT NULL");
            }
        }
        DefaultValue::Literal(value) => {
            let shown = match (value, &column.sql_type) {
                (Value::UInt(bits), SqlType::Bit { .. }) => format!("b'{bits:b}'"),
                (Value::Bytes(bytes), SqlType::Binary { .. } | SqlType::VarBinary { .. }) => {
                    binary_text(bytes)
                }
                _ => quoted_text(&String::from_utf8_lossy(&literal_bytes(value, column))),
            };
            push(text, format_args!(" DEFAULT {shown}"));
        }
        DefaultValue::CurrentTimestamp => push(text, format_args!(" DEFAULT {}", now_text(&column.sql_type))),
        DefaultValue::Expression { text: expression, .. } => {
            push(text, format_args!(" DEFAULT ({expression})"))
        }
    }
}

fn literal_bytes(value: &Value, column: &ColumnDefinition) -> Vec<u8> {
    let mut bytes = Vec::new();
    format_number(value.as_ref(), &column.sql_type, &column.format, &mut bytes);
    bytes
}

/// A binary default: quoted if it is plain ASCII, else in hexadecimal, which reads back as the same bytes.
fn binary_text(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return quoted_text(&String::from_utf8_lossy(bytes));
    }
    let mut text = "0x".to_owned();
    for byte in bytes {
        push(&mut text, format_args!("{byte:02X}"));
    }
    text
}

/// Digits of a second of the types that can be CURRENT_TIMESTAMP.
pub(crate) fn now_fraction(sql_type: &SqlType) -> Option<u8> {
    if let SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } = sql_type {
        Some(*fraction)
    } else {
        None
    }
}

fn now_text(sql_type: &SqlType) -> String {
    match now_fraction(sql_type) {
        Some(fraction) if fraction > 0 => format!("CURRENT_TIMESTAMP({fraction})"),
        _ => "CURRENT_TIMESTAMP".to_owned(),
    }
}

fn key_text(table: &TableDefinition, index: &IndexDefinition) -> String {
    let part_text = |part: &types::KeyPart| {
        let mut text = quoted_name(&table.column_at(part.column).name);
        if let Some(length) = part.prefix_length {
            push(&mut text, format_args!("({length})"));
        }
        if part.descending {
            text.push_str(" DESC");
        }
        text
    };
    let parts: Vec<String> = index.parts.iter().map(part_text).collect();
    let parts = parts.join(",");
    match index.kind {
        IndexKind::Primary => format!("PRIMARY KEY ({parts})"),
        IndexKind::Unique { .. } => format!("UNIQUE KEY {} ({parts})", quoted_name(&index.name)),
        IndexKind::Ordered => format!("KEY {} ({parts})", quoted_name(&index.name)),
    }
}

fn check_text(check: &CheckConstraint) -> String {
    let enforced = if check.is_enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("CONSTRAINT {} CHECK (({})){enforced}", quoted_name(&check.name), check.text)
}

/// A name in backticks.
fn quoted_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Text in quotes, escaped as SHOW CREATE TABLE does.
fn quoted_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for character in text.chars() {
        match character {
            '\'' => quoted.push_str("''"),
            '\\' => quoted.push_str("\\\\"),
            '\0' => quoted.push_str("\\0"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

/// Appends formatted text; writing to a `String` cannot fail.
fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let written = text.write_fmt(arguments);
    stdx::require!(written.is_ok());
}

#[cfg(test)]
mod tests;
