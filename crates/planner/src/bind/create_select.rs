//! CREATE TABLE … SELECT: the columns of the new table, and the query that it is filled by.
//!
//! Columns that the statement defines, and the query has none of that name for, come first and get their defaults.
//! Behind them come those of the query, in its order; one that the statement defines too is as it is defined there.
//! A column of a table keeps its type, default and comment, but no AUTO_INCREMENT and no expression.

use super::ddl::{Siblings, column_of, column_type, sibling_table};
use super::insert::generated_value;
use super::scope::same_name;
use super::{Binder, Bound};
use crate::plan::{DdlPlan, FillPlan, InsertConflict, Plan, ResultColumn, TemporaryPlan};
use crate::statement::{ColumnClause, CreateSelect, CreateTableStatement, InsertKind};
use catalogue::{ColumnSpec, DdlRequest, DefaultSpec, Nullability};
use expression::Expression;
use protocol::SqlError;
use std::sync::Arc;
use types::{BlobSize, ColumnDefinition, ColumnIndex, DefaultValue, IntegerWidth, SqlType, Value};

/// Characters of the longest text that becomes a VARCHAR; longer ones become TEXT.
const VARCHAR_LENGTH_MAX: u32 = 512;
/// Digits of the longest number that becomes an INT.
const INT_DIGITS_MAX: usize = 9;

/// A column of the new table.
enum NewColumn<'a> {
    /// The query has no value for it.
    Written(&'a ColumnClause),
    /// The query has values for it, and perhaps it is defined, too.
    Read(&'a ResultColumn, &'a Expression, Option<&'a ColumnClause>),
}

impl Binder<'_> {
    pub(super) fn create_select(
        &mut self,
        create: &CreateTableStatement,
        select: &CreateSelect,
    ) -> Result<Bound, SqlError> {
        let name = self.full_name(&create.table)?;
        let collation = self.table_collation(&name.database, &create.options)?;
        let (source, items) = self.nested_query(&select.query)?;
        let columns = new_columns(&create.columns, &items, &source.projection);
        let mut table = sibling_table(&[], collation)?;
        for column in &columns {
            let (name, sql_type) = match column {
                NewColumn::Written(clause) => (&clause.name, column_type(clause, collation)?),
                NewColumn::Read(item, _, Some(clause)) => (&item.name, column_type(clause, collation)?),
                NewColumn::Read(item, value, None) => (&item.name, stored_type(item, value)),
            };
            table.columns.push(column_of(name, sql_type));
        }
        let is_auto = |column: &NewColumn<'_>| column.clause().is_some_and(|clause| clause.auto_increment);
        table.auto_increment = columns.iter().position(is_auto).and_then(index_of);
        let table = Arc::new(table);
        let mut specs = Vec::with_capacity(columns.len());
        let mut filled = Vec::with_capacity(items.len());
        for (position, column) in columns.iter().enumerate() {
            let siblings = Siblings::Stored(&table);
            let mut spec = match column {
                NewColumn::Written(clause) | NewColumn::Read(_, _, Some(clause)) => {
                    self.column(clause, collation, siblings)?
                }
                NewColumn::Read(item, value, None) => read_column(item, value)?,
            };
            if let NewColumn::Read(item, ..) = column {
                spec.name.clone_from(&item.name);
                filled.extend(index_of(position));
                if matches!(spec.default, DefaultSpec::Generated { .. }) {
                    return Err(generated_value(&spec.name, &name.name));
                }
            }
            specs.push(spec);
        }
        let request = self.table_of(create, specs, Siblings::Stored(&table))?;
        let conflict = match select.kind {
            InsertKind::Insert => InsertConflict::Fail,
            InsertKind::Ignore => InsertConflict::Ignore,
            InsertKind::Replace => InsertConflict::Replace,
        };
        let fill = FillPlan { columns: filled, source, conflict };
        let (request, fill) = (DdlRequest::CreateTable(Box::new(request)), Some(Box::new(fill)));
        if create.is_temporary {
            let plan = TemporaryPlan { request, fill, like: None, commits: false, rest: None };
            return Ok(Bound::without_rows(Plan::Temporary(Box::new(plan))));
        }
        Ok(Bound::without_rows(Plan::Ddl(Box::new(DdlPlan { request, fill }))))
    }
}

impl<'a> NewColumn<'a> {
    fn clause(&self) -> Option<&'a ColumnClause> {
        match self {
            NewColumn::Written(clause) => Some(clause),
            NewColumn::Read(_, _, clause) => *clause,
        }
    }
}

/// The columns in their order.
fn new_columns<'a>(
    written: &'a [ColumnClause],
    items: &'a [ResultColumn],
    values: &'a [Expression],
) -> Vec<NewColumn<'a>> {
    let is_read = |clause: &&ColumnClause| items.iter().any(|item| same_name(&item.name, &clause.name));
    let first = written.iter().filter(|clause| !is_read(clause)).map(NewColumn::Written);
    let read = items.iter().zip(values).map(|(item, value)| {
        NewColumn::Read(item, value, written.iter().find(|clause| same_name(&item.name, &clause.name)))
    });
    first.chain(read).collect()
}

/// A column of the query that the statement does not define.
fn read_column(item: &ResultColumn, value: &Expression) -> Result<ColumnSpec, SqlError> {
    let origin = item.origin.as_ref().map(|origin| origin.table.column_at(origin.column));
    let sql_type = stored_type(item, value);
    let default = match origin {
        Some(origin) => kept_default(item, origin)?,
        None if item.nullable => DefaultSpec::Unspecified,
        None => zero_default(&sql_type),
    };
    Ok(ColumnSpec {
        nullability: if item.nullable { Nullability::Unspecified } else { Nullability::NotNull },
        default,
        on_update_now: origin.filter(|origin| origin.flags.on_update_now).map(|_| fraction_of(&sql_type)),
        comment: origin.map_or_else(String::new, |origin| origin.comment.clone()),
        format: item.format,
        ..ColumnSpec::new(item.name.clone(), sql_type)
    })
}

/// The default of a column whose values come from this column of a table.
fn kept_default(item: &ResultColumn, origin: &ColumnDefinition) -> Result<DefaultSpec, SqlError> {
    Ok(match &origin.default {
        DefaultValue::Missing | DefaultValue::Literal(Value::Null) => DefaultSpec::Unspecified,
        DefaultValue::Literal(value) => DefaultSpec::Literal(value.clone()),
        DefaultValue::CurrentTimestamp => {
            DefaultSpec::CurrentTimestamp { fraction: fraction_of(&item.sql_type) }
        }
        DefaultValue::AutoIncrement | DefaultValue::Generated { .. } if item.nullable => {
            DefaultSpec::Unspecified
        }
        DefaultValue::AutoIncrement | DefaultValue::Generated { .. } => zero_default(&item.sql_type),
        DefaultValue::Expression { encoded, text } => {
            let expression: Result<Expression, _> = stdx::wire::from_bytes(encoded);
            if expression.is_ok_and(|expression| expression.columns().is_empty()) {
                DefaultSpec::Expression { encoded: encoded.clone(), text: text.clone() }
            } else {
                return Err(SqlError::unsupported(
                    "CREATE TABLE ... SELECT of a column whose default names other columns",
                ));
            }
        }
    })
}

/// The default of a computed column that is never NULL: the type's zero, if it may be written.
fn zero_default(sql_type: &SqlType) -> DefaultSpec {
    match sql_type {
        SqlType::Integer { .. }
        | SqlType::Decimal { .. }
        | SqlType::Float
        | SqlType::Double
        | SqlType::Bit { .. }
        | SqlType::Year => DefaultSpec::Literal(Value::Int(0)),
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. } => DefaultSpec::Literal(Value::text("")),
        SqlType::Text { .. }
        | SqlType::Blob { .. }
        | SqlType::Enum { .. }
        | SqlType::Set { .. }
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime { .. }
        | SqlType::Timestamp { .. }
        | SqlType::Json
        | SqlType::Null => DefaultSpec::Unspecified,
    }
}

/// The type that holds the values of an item.
fn stored_type(item: &ResultColumn, value: &Expression) -> SqlType {
    if item.origin.is_some() {
        return item.sql_type.clone();
    }
    match item.sql_type {
        SqlType::Null => SqlType::Binary { length: 0 },
        SqlType::VarChar { length: 0, collation } => SqlType::Char { length: 0, collation },
        SqlType::VarBinary { length: 0 } => SqlType::Binary { length: 0 },
        SqlType::VarChar { length, collation } if length > VARCHAR_LENGTH_MAX => {
            SqlType::Text { size: size_for(length), collation }
        }
        SqlType::VarBinary { length } if length > VARCHAR_LENGTH_MAX => {
            SqlType::Blob { size: size_for(length) }
        }
        SqlType::Integer { unsigned, .. } if is_short_number(value) => {
            SqlType::Integer { width: IntegerWidth::Normal, unsigned }
        }
        ref other => other.clone(),
    }
}

/// Whether an item is a number that is written in the statement and not long.
fn is_short_number(value: &Expression) -> bool {
    match value.as_literal() {
        Some(Value::Int(number)) => number.to_string().len() <= INT_DIGITS_MAX,
        Some(Value::UInt(number)) => number.to_string().len() <= INT_DIGITS_MAX,
        _ => false,
    }
}

/// The smallest TEXT or BLOB of so many characters or bytes.
fn size_for(length: u32) -> BlobSize {
    match length {
        0..=65_535 => BlobSize::Normal,
        65_536..=16_777_215 => BlobSize::Medium,
        16_777_216.. => BlobSize::Long,
    }
}

fn fraction_of(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => *fraction,
        _ => 0,
    }
}

fn index_of(position: usize) -> Option<ColumnIndex> {
    u16::try_from(position).ok().map(ColumnIndex)
}
