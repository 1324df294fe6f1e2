//! From what a key clause says to an [`IndexDefinition`].
//!
//! Limits are MySQL's: 64 keys besides the primary one, 16 parts, 3 072 bytes. A primary key over column prefixes is
//! refused (1235): every access by primary key would have to look at the row again.

use crate::error::{self, Named, check_name};
use crate::request::{KeyPartSpec, KeySpec, KeySpecKind};
use protocol::SqlError;
use types::{
    Collation, INDEX_COUNT_MAX, IndexDefinition, IndexId, IndexKind, IndexState, IntegerWidth,
    KEY_PART_COUNT_MAX, KeyPart, SqlType, TableDefinition, TableId, equal_without_case,
};

/// The name of every primary key, and of no other key.
pub(crate) const PRIMARY: &str = "PRIMARY";

/// The index that `spec` describes on a table that has its columns, and its other indexes so far. Its hidden table is
/// still to be named.
pub(crate) fn resolve(
    table: &TableDefinition,
    spec: &KeySpec,
    id: IndexId,
) -> Result<IndexDefinition, SqlError> {
    if spec.parts.len() > KEY_PART_COUNT_MAX {
        return Err(error::too_many_key_parts(KEY_PART_COUNT_MAX));
    }
    if table.indexes.len() > INDEX_COUNT_MAX {
        return Err(error::too_many_keys(INDEX_COUNT_MAX));
    }
    let mut parts: Vec<KeyPart> = Vec::with_capacity(spec.parts.len());
    for part in &spec.parts {
        let resolved = resolve_part(table, part)?;
        if parts.iter().any(|earlier| earlier.column == resolved.column) {
            return Err(error::duplicate_column(&part.column));
        }
        parts.push(resolved);
    }
    if parts.is_empty() {
        return Err(error::key_column_missing(""));
    }
    if parts.iter().map(|part| part_bytes(table, part)).sum::<u64>() > error::KEY_BYTES_MAX {
        return Err(error::key_too_long());
    }
    let is_primary = spec.kind == KeySpecKind::Primary;
    if is_primary && parts.iter().any(|part| part.prefix_length.is_some()) {
        return Err(SqlError::unsupported("primary keys over column prefixes"));
    }
    Ok(IndexDefinition {
        id,
        name: if is_primary { PRIMARY.to_owned() } else { name_of(table, spec)? },
        kind: match spec.kind {
            KeySpecKind::Primary => IndexKind::Primary,
            KeySpecKind::Unique => IndexKind::Unique { table: TableId(0) },
            KeySpecKind::Ordered => IndexKind::Ordered,
        },
        parts,
        state: IndexState::Public,
    })
}

/// Refuses a name that an index cannot have, or that another index of the table has.
pub(crate) fn check_index_name(table: &TableDefinition, name: &str) -> Result<(), SqlError> {
    check_name(name, Named::Index)?;
    if equal_without_case(name, PRIMARY) {
        return Err(error::wrong_index_name(name));
    }
    if is_taken(table, name) {
        return Err(error::duplicate_key_name(name));
    }
    Ok(())
}

fn is_taken(table: &TableDefinition, name: &str) -> bool {
    table.indexes.iter().any(|index| equal_without_case(&index.name, name))
}

/// The name as written, or the first column's with the first free number behind it.
fn name_of(table: &TableDefinition, spec: &KeySpec) -> Result<String, SqlError> {
    if let Some(name) = &spec.name {
        check_index_name(table, name)?;
        return Ok(name.clone());
    }
    let column = spec.parts.first().and_then(|part| table.column(&part.column));
    let first = column.map_or("", |column| table.column_at(column).name.as_str());
    let numbered = (2..).map(|number| format!("{first}_{number}"));
    let mut candidates = std::iter::once(first.to_owned()).chain(numbered);
    let free = candidates.find(|name| !equal_without_case(name, PRIMARY) && !is_taken(table, name));
    Ok(free.unwrap_or_default())
}

/// The index again, over columns that may have another type than before.
pub(crate) fn resolve_again(
    table: &TableDefinition,
    index: &IndexDefinition,
) -> Result<IndexDefinition, SqlError> {
    let mut again = index.clone();
    for part in &mut again.parts {
        let column = table.column_at(part.column);
        if column.flags.hidden {
            continue;
        }
        // As MySQL: what cannot have a prefix any more loses it.
        let whole = if let SqlType::Char { length, .. }
        | SqlType::VarChar { length, .. }
        | SqlType::Binary { length }
        | SqlType::VarBinary { length } = &column.sql_type
        {
            *length
        } else if matches!(column.sql_type, SqlType::Text { .. } | SqlType::Blob { .. }) {
            u32::MAX
        } else {
            0
        };
        let length = part.prefix_length.filter(|length| *length < whole);
        let spec = KeyPartSpec { column: column.name.clone(), length, descending: part.descending };
        *part = resolve_part(table, &spec)?;
    }
    if again.parts.iter().map(|part| part_bytes(table, part)).sum::<u64>() > error::KEY_BYTES_MAX {
        return Err(error::key_too_long());
    }
    if again.kind == IndexKind::Primary && again.parts.iter().any(|part| part.prefix_length.is_some()) {
        return Err(SqlError::unsupported("primary keys over column prefixes"));
    }
    Ok(again)
}

fn resolve_part(table: &TableDefinition, part: &KeyPartSpec) -> Result<KeyPart, SqlError> {
    let column = table.column(&part.column).ok_or_else(|| error::key_column_missing(&part.column))?;
    let definition = table.column_at(column);
    let whole_length = match &definition.sql_type {
        SqlType::Char { length, .. } | SqlType::VarChar { length, .. } => Some(*length),
        SqlType::Binary { length } | SqlType::VarBinary { length } => Some(*length),
        SqlType::Text { .. } | SqlType::Blob { .. } => {
            if part.length.is_none() {
                return Err(error::blob_key_without_length(&definition.name));
            }
            Some(u32::MAX)
        }
        SqlType::Json => return Err(error::json_key(&definition.name)),
        SqlType::Null
        | SqlType::Integer { .. }
        | SqlType::Float
        | SqlType::Double
        | SqlType::Decimal { .. }
        | SqlType::Bit { .. }
        | SqlType::Enum { .. }
        | SqlType::Set { .. }
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime { .. }
        | SqlType::Timestamp { .. }
        | SqlType::Year => None,
    };
    let prefix_length = match (part.length, whole_length) {
        (None, _) => None,
        (Some(0), _) => return Err(error::zero_prefix(&definition.name)),
        (Some(length), Some(whole)) if length < whole => Some(length),
        (Some(length), Some(whole)) if length == whole => None,
        (Some(_), _) => return Err(error::wrong_prefix()),
    };
    Ok(KeyPart { column, prefix_length, descending: part.descending })
}

/// Bytes of a key part, as InnoDB counts them.
fn part_bytes(table: &TableDefinition, part: &KeyPart) -> u64 {
    let characters = |length: u32, collation: Collation| {
        u64::from(part.prefix_length.unwrap_or(length)) * u64::from(collation.set().size_max())
    };
    match &table.column_at(part.column).sql_type {
        SqlType::Char { length, collation } | SqlType::VarChar { length, collation } => {
            characters(*length, *collation)
        }
        SqlType::Text { collation, .. } => characters(u32::MAX, *collation),
        SqlType::Binary { length } | SqlType::VarBinary { length } => characters(*length, Collation::Binary),
        SqlType::Blob { .. } | SqlType::Json => characters(u32::MAX, Collation::Binary),
        SqlType::Integer { width, .. } => match width {
            IntegerWidth::Tiny => 1,
            IntegerWidth::Small => 2,
            IntegerWidth::Medium => 3,
            IntegerWidth::Normal => 4,
            IntegerWidth::Big => 8,
        },
        SqlType::Decimal { precision, .. } => u64::from(*precision) / 2 + 1,
        SqlType::Null | SqlType::Year => 1,
        SqlType::Enum { .. } => 2,
        SqlType::Date => 3,
        SqlType::Float => 4,
        SqlType::Time { .. } => 6,
        SqlType::Double
        | SqlType::Bit { .. }
        | SqlType::Set { .. }
        | SqlType::DateTime { .. }
        | SqlType::Timestamp { .. } => 8,
    }
}

/// MySQL's order: the primary key, unique keys without nullable columns, other unique keys, the rest; within these as
/// they were declared.
pub(crate) fn sort(table: &mut TableDefinition) {
    let columns = &table.columns;
    let class = |index: &IndexDefinition| match index.kind {
        IndexKind::Primary => 0,
        IndexKind::Unique { .. } => {
            let is_nullable = |part: &KeyPart| columns[usize::from(part.column.0)].flags.nullable;
            if index.parts.iter().any(is_nullable) { 2 } else { 1 }
        }
        IndexKind::Ordered => 3,
    };
    table.indexes.sort_by_key(class);
}

/// The AUTO_INCREMENT column must be the first of a key (1075).
pub(crate) fn check_auto_increment(table: &TableDefinition) -> Result<(), SqlError> {
    let Some(column) = table.auto_increment else { return Ok(()) };
    let mut in_use = table.indexes.iter().filter(|index| index.state == IndexState::Public);
    if in_use.any(|index| index.parts.first().is_some_and(|part| part.column == column)) {
        Ok(())
    } else {
        Err(error::wrong_auto_column())
    }
}
