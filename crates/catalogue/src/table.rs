//! From what CREATE TABLE says to a [`TableDefinition`]: columns and their defaults; keys are in key.rs.
//!
//! **Tables without a primary key** get a hidden column `$row_id` (BIGINT UNSIGNED) behind the others, keyed by it,
//! with `DefaultValue::AutoIncrement`. A UNIQUE NOT NULL key is *not* promoted to primary key: it can be dropped later
//! without moving rows. Such a table's AUTO_INCREMENT column, if it has one, and its row ids draw from the same
//! sequence (gaps, never a value twice).
//!
//! **Hidden tables.** Each unique index has one. Its columns are the unique key's columns, then the base table's
//! primary key columns, with types and nullability as in the base table. So the key bytes of the base table's index are
//! the primary key bytes here. Its primary key is the unique key's parts. Rows whose unique key holds a NULL have no
//! entry.
//!
//! **Invariant**: every definition made here passes `TableDefinition::check`.

use crate::error::{self, Named, check_name};
use crate::request::{ColumnSpec, CreateTable, DefaultSpec, KeySpecKind, Nullability, TableName};
use crate::show::now_fraction;
use crate::{check, key};
use expression::Expression;
use protocol::SqlError;
use types::{
    COLUMN_COUNT_MAX, Collation, ColumnDefinition, ColumnFlags, ColumnIndex, DateMode, Decimal, DefaultValue,
    IndexDefinition, IndexId, IndexKind, IndexState, IntegerWidth, KeyPart, NumberFormat, Schema, SlotTerms,
    SqlType, StoreMode, TableDefinition, TableId, TableKind, TableModifiers, TableSlots, Value,
    equal_without_case, store_in_column,
};

/// Characters of a column's comment.
const COLUMN_COMMENT_MAX: usize = 1_024;
/// Characters of a table's comment.
pub(crate) const TABLE_COMMENT_MAX: usize = 2_048;
/// Characters of a CHAR, bytes of a BINARY.
const CHAR_LENGTH_MAX: u32 = 255;
/// Bytes of a VARBINARY, and of a VARCHAR whose characters are all as long as the character set has them.
const VARBINARY_LENGTH_MAX: u32 = 65_535;
/// Characters of a member of ENUM or SET.
const MEMBER_LENGTH_MAX: usize = 255;
/// The hidden key column. SQL cannot name it.
const ROW_ID: &str = "$row_id";

/// Gives out ids that were never used; what is left is written back with the job's first step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableIds {
    pub(crate) next: TableId,
    /// The slots that the cluster has.
    pub(crate) terms: SlotTerms,
}

impl TableIds {
    pub(crate) fn take(&mut self) -> TableId {
        let taken = self.next;
        stdx::require!(taken.0 < u32::MAX, "four thousand million tables were created");
        let is_over = !taken.is_temporary() && TableId(taken.0 + 1).is_temporary();
        stdx::require!(!is_over, "two thousand million tables were created");
        self.next = TableId(taken.0 + 1);
        taken
    }
}

/// A table and the hidden tables of its unique indexes.
#[derive(Clone, Debug)]
pub(crate) struct NewTable {
    pub(crate) definition: TableDefinition,
    pub(crate) hidden: Vec<TableDefinition>,
}

/// The table that a CREATE TABLE describes. The caller has checked that its database exists and its name is free.
pub(crate) fn create(
    request: &CreateTable,
    schema: &Schema,
    ids: &mut TableIds,
) -> Result<NewTable, SqlError> {
    check_table_comment(&request.table, &request.options.comment)?;
    let database = schema.database(&request.table.database).map(|database| database.collation);
    let mut definition = TableDefinition {
        id: ids.take(),
        version: 1,
        database: request.table.database.clone(),
        name: request.table.name.clone(),
        kind: TableKind::User,
        columns: Vec::with_capacity(request.columns.len() + 1),
        indexes: Vec::new(),
        auto_increment: None,
        comment: request.options.comment.clone(),
        collation: request.options.collation.or(database).unwrap_or(Collation::Utf8mb40900AiCi),
        slots: schema.slots_for_new_table(ids.terms),
        copied_to: None,
        checks: Vec::new(),
    };
    if request.columns.is_empty() {
        return Err(error::no_columns());
    }
    for spec in &request.columns {
        add_column(&mut definition, spec)?;
    }
    add_primary_key(&mut definition, request)?;
    let others = request.keys.iter().filter(|key| key.kind != KeySpecKind::Primary);
    for spec in others {
        let index = key::resolve(&definition, spec, IndexId(0))?;
        definition.indexes.push(index);
    }
    key::sort(&mut definition);
    for (position, index) in (0..).zip(&mut definition.indexes) {
        index.id = IndexId(position);
        if let IndexKind::Unique { table } = &mut index.kind {
            *table = ids.take();
        }
    }
    key::check_auto_increment(&definition)?;
    check::add(&mut definition, &request.checks, schema)?;
    if !generates_in_order(&definition) {
        return Err(error::generated_order());
    }
    let hidden = hidden_tables(&definition);
    check_made(&definition);
    Ok(NewTable { definition, hidden })
}

/// A copy under new ids, without rows: CREATE TABLE … LIKE and TRUNCATE. Only indexes in use are copied.
pub(crate) fn copy(
    of: &TableDefinition,
    name: &TableName,
    slots: TableSlots,
    ids: &mut TableIds,
) -> NewTable {
    let mut definition = TableDefinition {
        id: ids.take(),
        version: 1,
        database: name.database.clone(),
        name: name.name.clone(),
        kind: TableKind::User,
        slots,
        ..of.clone()
    };
    definition.indexes.retain(|index| index.state == IndexState::Public);
    for index in &mut definition.indexes {
        if let IndexKind::Unique { table } = &mut index.kind {
            *table = ids.take();
        }
    }
    if definition.name != of.name || definition.database != of.database {
        check::name_again(&mut definition);
    }
    let hidden = hidden_tables(&definition);
    check_made(&definition);
    NewTable { definition, hidden }
}

pub(crate) fn check_made(definition: &TableDefinition) {
    let checked = definition.check();
    stdx::require!(checked.is_ok(), "DDL made a broken definition of {}: {checked:?}", definition.name);
}

pub(crate) fn check_table_comment(table: &TableName, comment: &str) -> Result<(), SqlError> {
    if comment.chars().count() > TABLE_COMMENT_MAX {
        return Err(error::table_comment_too_long(&table.name, TABLE_COMMENT_MAX));
    }
    TableModifiers::of_comment(comment).map_err(error::wrong_modifier)?;
    Ok(())
}

/// Whether each generated column names only generated columns before it.
pub(crate) fn generates_in_order(definition: &TableDefinition) -> bool {
    let is_fit = |(position, column): (usize, &ColumnDefinition)| {
        let DefaultValue::Generated { encoded, .. } = &column.default else { return true };
        let expression: Result<Expression, _> = stdx::wire::from_bytes(encoded);
        let columns = expression.map(|expression| expression.columns()).unwrap_or_default();
        columns.iter().all(|slot| {
            slot.index() < position
                || definition.columns.get(slot.index()).is_none_or(|other| !other.is_generated())
        })
    };
    definition.columns.iter().enumerate().all(is_fit)
}

/// Adds a column behind the others.
pub(crate) fn add_column(definition: &mut TableDefinition, spec: &ColumnSpec) -> Result<(), SqlError> {
    if definition.columns.len() >= COLUMN_COUNT_MAX {
        return Err(error::too_many_columns());
    }
    let position = definition.columns.len();
    let column = column_at(definition, position, spec)?;
    definition.columns.push(column);
    Ok(())
}

/// The column that a specification describes at a position of a table, where another one may be now. The table's
/// AUTO_INCREMENT column follows.
pub(crate) fn column_at(
    definition: &mut TableDefinition,
    position: usize,
    spec: &ColumnSpec,
) -> Result<ColumnDefinition, SqlError> {
    check_name(&spec.name, Named::Column)?;
    let mut others = definition.columns.iter().enumerate().filter(|(other, _)| *other != position);
    if others.any(|(_, column)| equal_without_case(&column.name, &spec.name)) {
        return Err(error::duplicate_column(&spec.name));
    }
    check_type(&spec.name, &spec.sql_type)?;
    check_format(&spec.name, &spec.format)?;
    if spec.comment.chars().count() > COLUMN_COMMENT_MAX {
        return Err(error::comment_too_long(&format!("field '{}'", spec.name), COLUMN_COMMENT_MAX));
    }
    let index = ColumnIndex(u16::try_from(position).unwrap_or(u16::MAX));
    if spec.auto_increment {
        if definition.auto_increment.is_some_and(|other| other != index) {
            return Err(error::wrong_auto_column());
        }
        definition.auto_increment = Some(index);
    } else if definition.auto_increment == Some(index) {
        definition.auto_increment = None;
    }
    let flags = ColumnFlags {
        nullable: spec.nullability != Nullability::NotNull && !spec.auto_increment,
        hidden: false,
        on_update_now: on_update(spec)?,
    };
    Ok(ColumnDefinition {
        name: spec.name.clone(),
        sql_type: spec.sql_type.clone(),
        default: default_value(spec, flags.nullable)?,
        flags,
        comment: spec.comment.clone(),
        format: spec.format,
        absent: None,
    })
}

fn add_primary_key(definition: &mut TableDefinition, request: &CreateTable) -> Result<(), SqlError> {
    let mut declared = request.keys.iter().filter(|key| key.kind == KeySpecKind::Primary);
    let primary = declared.next();
    if declared.next().is_some() {
        return Err(error::two_primary_keys());
    }
    let Some(spec) = primary else {
        add_row_id(definition);
        return Ok(());
    };
    for part in &spec.parts {
        let Some(position) = definition.column(&part.column).map(|column| usize::from(column.0)) else {
            return Err(error::key_column_missing(&part.column));
        };
        let column = &mut definition.columns[position];
        if request.columns[position].nullability == Nullability::Null {
            return Err(error::nullable_primary_key());
        }
        if column.flags.nullable {
            column.flags.nullable = false;
            column.default = default_value(&request.columns[position], false)?;
        }
    }
    let index = key::resolve(definition, spec, IndexId(0))?;
    definition.indexes.push(index);
    Ok(())
}

/// The hidden key of a table without a primary key.
pub(crate) fn add_row_id(definition: &mut TableDefinition) {
    let column = ColumnIndex(u16::try_from(definition.columns.len()).unwrap_or(u16::MAX));
    definition.columns.push(ColumnDefinition {
        name: ROW_ID.to_owned(),
        sql_type: SqlType::Integer { width: IntegerWidth::Big, unsigned: true },
        default: DefaultValue::AutoIncrement,
        flags: ColumnFlags { hidden: true, ..ColumnFlags::default() },
        comment: String::new(),
        format: NumberFormat::default(),
        absent: None,
    });
    definition.indexes.push(IndexDefinition {
        id: IndexId(0),
        name: key::PRIMARY.to_owned(),
        kind: IndexKind::Primary,
        parts: vec![KeyPart { column, prefix_length: None, descending: false }],
        state: IndexState::Public,
    });
}

/// The hidden tables of all unique indexes of a table.
pub(crate) fn hidden_tables(base: &TableDefinition) -> Vec<TableDefinition> {
    base.indexes.iter().filter_map(|index| hidden_table(base, index)).collect()
}

/// The hidden table of a unique index; None for other kinds.
pub(crate) fn hidden_table(base: &TableDefinition, index: &IndexDefinition) -> Option<TableDefinition> {
    let IndexKind::Unique { table } = index.kind else { return None };
    let entry_column = |part: &KeyPart| {
        let column = base.column_at(part.column);
        let default =
            if column.flags.nullable { DefaultValue::Literal(Value::Null) } else { DefaultValue::Missing };
        let flags = ColumnFlags { nullable: column.flags.nullable, ..ColumnFlags::default() };
        let (name, sql_type) = (column.name.clone(), column.sql_type.clone());
        let format = NumberFormat::default();
        ColumnDefinition { name, sql_type, default, flags, comment: String::new(), format, absent: None }
    };
    let parts = (0..).map(ColumnIndex).zip(&index.parts).map(|(column, part)| KeyPart { column, ..*part });
    Some(TableDefinition {
        id: table,
        version: 1,
        database: base.database.clone(),
        name: format!("$unique_{}_{}", base.id, index.id),
        kind: TableKind::UniqueIndex { base: base.id, index: index.id },
        columns: index.parts.iter().chain(base.primary_key()).map(entry_column).collect(),
        indexes: vec![IndexDefinition {
            id: IndexId(0),
            name: key::PRIMARY.to_owned(),
            kind: IndexKind::Primary,
            parts: parts.collect(),
            state: IndexState::Public,
        }],
        auto_increment: None,
        comment: String::new(),
        collation: base.collation,
        slots: base.slots,
        copied_to: None,
        checks: Vec::new(),
    })
}

fn on_update(spec: &ColumnSpec) -> Result<bool, SqlError> {
    let Some(wanted) = spec.on_update_now else { return Ok(false) };
    if now_fraction(&spec.sql_type) == Some(wanted) {
        Ok(true)
    } else {
        Err(error::invalid_on_update(&spec.name))
    }
}

pub(crate) fn default_value(spec: &ColumnSpec, nullable: bool) -> Result<DefaultValue, SqlError> {
    let invalid = || error::invalid_default(&spec.name);
    if spec.auto_increment {
        if !matches!(spec.sql_type, SqlType::Integer { .. }) {
            return Err(error::wrong_column_specifier(&spec.name));
        }
        let has_default = spec.default != DefaultSpec::Unspecified || spec.on_update_now.is_some();
        return if has_default { Err(invalid()) } else { Ok(DefaultValue::AutoIncrement) };
    }
    match &spec.default {
        DefaultSpec::Unspecified if nullable => Ok(DefaultValue::Literal(Value::Null)),
        DefaultSpec::Unspecified => Ok(DefaultValue::Missing),
        DefaultSpec::Literal(Value::Null) if nullable => Ok(DefaultValue::Literal(Value::Null)),
        DefaultSpec::Literal(Value::Null) => Err(invalid()),
        DefaultSpec::Literal(value) => {
            if matches!(spec.sql_type, SqlType::Text { .. } | SqlType::Blob { .. } | SqlType::Json) {
                return Err(error::blob_default(&spec.name));
            }
            // The binder knows the session's sql_mode, and has refused the dates that it forbids.
            let (value, mode) = (value.clone(), StoreMode::Strict);
            let stored = store_in_column(value, &spec.sql_type, &spec.format, mode, DateMode::ANY);
            Ok(DefaultValue::Literal(stored.map_err(|_| invalid())?.value))
        }
        DefaultSpec::CurrentTimestamp { fraction } if now_fraction(&spec.sql_type) == Some(*fraction) => {
            Ok(DefaultValue::CurrentTimestamp)
        }
        DefaultSpec::CurrentTimestamp { .. } => Err(invalid()),
        DefaultSpec::Generated { encoded, text, is_stored } => {
            let (encoded, text, is_stored) = (encoded.clone(), text.clone(), *is_stored);
            Ok(DefaultValue::Generated { encoded, text, is_stored })
        }
        DefaultSpec::Expression { encoded, text } => {
            Ok(DefaultValue::Expression { encoded: encoded.clone(), text: text.clone() })
        }
    }
}

/// Digits that a number may show.
const DISPLAY_WIDTH_MAX: u8 = 255;

fn check_format(name: &str, format: &NumberFormat) -> Result<(), SqlError> {
    let width = format.width.unwrap_or(0);
    if let Some(scale) = format.scale {
        if scale > Decimal::SCALE_MAX {
            return Err(error::scale_too_big(name, scale, Decimal::SCALE_MAX));
        }
        if width < u16::from(scale) {
            return Err(error::scale_above_precision(name));
        }
    }
    if width > u16::from(DISPLAY_WIDTH_MAX) {
        return Err(error::width_out_of_range(name, DISPLAY_WIDTH_MAX));
    }
    Ok(())
}

pub(crate) fn check_type(name: &str, sql_type: &SqlType) -> Result<(), SqlError> {
    let at_most = |length: u32, limit: u32| {
        if length > limit { Err(error::column_too_long(name, limit)) } else { Ok(()) }
    };
    match sql_type {
        SqlType::Decimal { precision, scale, .. } => {
            if *scale > Decimal::SCALE_MAX {
                Err(error::scale_too_big(name, *scale, Decimal::SCALE_MAX))
            } else if *precision > Decimal::PRECISION_MAX {
                Err(error::precision_too_big(name, *precision, Decimal::PRECISION_MAX))
            } else if scale > precision {
                Err(error::scale_above_precision(name))
            } else if *precision == 0 {
                Err(error::invalid_size(name))
            } else {
                Ok(())
            }
        }
        SqlType::Bit { length: 0 } => Err(error::invalid_size(name)),
        SqlType::Bit { length } if *length > 64 => Err(error::width_out_of_range(name, 64)),
        SqlType::Char { length, .. } | SqlType::Binary { length } => at_most(*length, CHAR_LENGTH_MAX),
        SqlType::VarChar { length, collation } => {
            at_most(*length, VARBINARY_LENGTH_MAX / collation.set().size_max())
        }
        SqlType::VarBinary { length } => at_most(*length, VARBINARY_LENGTH_MAX),
        SqlType::Time { fraction } | SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
            if *fraction > 6 {
                Err(error::precision_too_big(name, *fraction, 6))
            } else {
                Ok(())
            }
        }
        SqlType::Enum { members, collation } => check_members(name, members, *collation, "ENUM"),
        SqlType::Set { members, collation } => {
            if members.len() > 64 {
                return Err(error::too_many_members(name));
            }
            if let Some(member) = members.iter().find(|member| member.contains(',')) {
                return Err(error::illegal_set_member(member));
            }
            check_members(name, members, *collation, "SET")
        }
        SqlType::Json => Err(SqlError::unsupported("columns of type JSON")),
        SqlType::Null => Err(SqlError::unsupported("columns of type NULL")),
        SqlType::Bit { .. }
        | SqlType::Integer { .. }
        | SqlType::Float
        | SqlType::Double
        | SqlType::Text { .. }
        | SqlType::Blob { .. }
        | SqlType::Date
        | SqlType::Year => Ok(()),
    }
}

fn check_members(name: &str, members: &[String], collation: Collation, of: &str) -> Result<(), SqlError> {
    if members.is_empty() || members.len() > usize::from(u16::MAX) {
        return Err(error::wrong_column_specifier(name));
    }
    let mut keys = std::collections::BTreeMap::new();
    for member in members {
        if member.chars().count() > MEMBER_LENGTH_MAX {
            return Err(error::member_too_long(name));
        }
        let mut key = Vec::new();
        collation.sort_key(member.as_bytes(), &mut key);
        if let Some(earlier) = keys.insert(key, member) {
            return Err(error::duplicate_member(name, earlier, of));
        }
    }
    Ok(())
}
