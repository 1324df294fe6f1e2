//! A row of a table as another definition of the table has it: ALTER TABLE writes rows again.
//!
//! Values are stored as INSERT stores them, with two errors of ALTER TABLE. A NULL that is not allowed any more is
//! 1138. A string that is cut though its type stays of the same kind is 1265.
//!
//! Invariant: the same row, the same definitions and the same settings give the same bytes, whoever makes them.

use crate::outcome::Failure;
use crate::row::shifted;
use crate::row_builder::{default_of, encode_row, generate, store_in_column};
use expression::{Context, Expression};
use protocol::SqlError;
use query::{TableAccessInfo, check_row};
use types::{
    ColumnDefinition, ColumnIndex, DefaultValue, IntegerWidth, SqlType, StoreMode, Value, ValueRef,
    format_number, implicit_default,
};

/// The tables, and for each column of the new one the column of the old one that has its values.
pub struct CopiedRows<'a> {
    pub from: &'a TableAccessInfo,
    pub to: &'a TableAccessInfo,
    pub columns: &'a [Option<ColumnIndex>],
    /// New columns that draw values number the rows, above this number.
    pub at_least: u64,
}

impl CopiedRows<'_> {
    /// The bytes of the row with this number, counted from 1.
    pub fn row(&self, number: u64, row: &[u8], context: &Context<'_>) -> Result<Box<[u8]>, Failure> {
        let columns = &self.to.definition.columns;
        let mut values = vec![Value::Null; columns.len()];
        let mut late = Vec::new();
        for (position, column) in columns.iter().enumerate() {
            match self.columns.get(position).copied().flatten() {
                _ if column.is_generated() => {}
                Some(source) => values[position] = self.value(number, row, (source, column), context)?,
                None if column.default == DefaultValue::AutoIncrement => {
                    values[position] = self.drawn(number, column, context)?;
                }
                None => match default_of(column, context) {
                    Some(value) => values[position] = value,
                    None => late.push(position),
                },
            }
        }
        for position in late {
            values[position] = late_default(number, &columns[position], &values, context)?;
        }
        let mode = if context.sql_mode.strict { StoreMode::Strict } else { StoreMode::Lenient };
        generate(self.to, number, mode, &mut values, context)?;
        check_row(&self.to.checks, &values, context)?;
        Ok(encode_row(self.to, &values)?)
    }

    /// The value that a row gets in a new column with AUTO_INCREMENT, or as its hidden key.
    fn drawn(&self, number: u64, column: &ColumnDefinition, context: &Context<'_>) -> Result<Value, Failure> {
        let drawn = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
        let value = Value::UInt(number.saturating_add(self.at_least));
        store_in_column(number, value, &drawn, column, StoreMode::Strict, context)
    }

    /// A column's value in another column.
    fn value(
        &self,
        number: u64,
        row: &[u8],
        (source, column): (ColumnIndex, &ColumnDefinition),
        context: &Context<'_>,
    ) -> Result<Value, Failure> {
        let before = self.from.definition.column_at(source);
        let value = self.from.layout.column(row, source);
        if value.is_null() {
            return null_in(number, column, context);
        }
        if before.sql_type == column.sql_type && before.format == column.format {
            return Ok(value.to_value());
        }
        let (value, from) = converted(value, before, column, context);
        let mode = if context.sql_mode.strict { StoreMode::Strict } else { StoreMode::Lenient };
        let is_too_long = |failure: &Failure| matches!(failure, Failure::Error(error) if error.code == 1406);
        store_in_column(number, value, &from, column, mode, context).map_err(|failure| {
            if is_too_long(&failure) && is_cut(&before.sql_type, &column.sql_type) {
                Failure::Error(truncated(number, column))
            } else {
                failure
            }
        })
    }
}

/// A NULL, where it may be none any more.
fn null_in(number: u64, column: &ColumnDefinition, context: &Context<'_>) -> Result<Value, Failure> {
    if column.flags.nullable {
        return Ok(Value::Null);
    }
    if context.sql_mode.strict {
        return Err(Failure::Error(SqlError::new(1138, "Invalid use of NULL value")));
    }
    context.warnings.push(1265, || truncated(number, column).message);
    Ok(implicit_default(&column.sql_type))
}

fn truncated(number: u64, column: &ColumnDefinition) -> SqlError {
    SqlError::new(1265, format!("Data truncated for column '{}' at row {number}", column.name))
}

/// Whether strings that are too long are cut without a conversion.
fn is_cut(before: &SqlType, after: &SqlType) -> bool {
    std::mem::discriminant(before) == std::mem::discriminant(after)
}

/// The value and its type as INSERT … SELECT would bring them: strings take the text that is shown, and a TIMESTAMP is
/// a moment of the session's time zone for all other types.
fn converted(
    value: ValueRef<'_>,
    before: &ColumnDefinition,
    column: &ColumnDefinition,
    context: &Context<'_>,
) -> (Value, SqlType) {
    let zone = context.time_zone_offset_seconds;
    let (value, from) = match (value, &before.sql_type) {
        (ValueRef::DateTime(moment), SqlType::Timestamp { fraction })
            if !matches!(column.sql_type, SqlType::Timestamp { .. }) =>
        {
            (Value::DateTime(shifted(moment, zone)), SqlType::DateTime { fraction: *fraction })
        }
        (value, from) => (value.to_value(), from.clone()),
    };
    let is_text = matches!(value, Value::Bytes(_));
    if column.sql_type.is_string() && !is_text {
        let mut text = Vec::new();
        format_number(value.as_ref(), &from, &before.format, &mut text);
        return (Value::Bytes(text), SqlType::VarChar { length: u32::MAX, collation: collation_of(column) });
    }
    (value, from)
}

/// The collation of a text that is stored in a column as it is.
fn collation_of(column: &ColumnDefinition) -> types::Collation {
    column.sql_type.character_collation().unwrap_or(types::Collation::Binary)
}

/// A default that must be computed, or that is missing.
fn late_default(
    number: u64,
    column: &ColumnDefinition,
    values: &Vec<Value>,
    context: &Context<'_>,
) -> Result<Value, Failure> {
    let DefaultValue::Expression { encoded, .. } = &column.default else {
        return Ok(implicit_default(&column.sql_type));
    };
    let expression: Expression = stdx::wire::from_bytes(encoded)
        .map_err(|_| SqlError::new(1815, format!("The default of column '{}' is malformed", column.name)))?;
    let value = expression.evaluate(values, context)?;
    if value.is_null() {
        return null_in(number, column, context);
    }
    let mode = if context.sql_mode.strict { StoreMode::Strict } else { StoreMode::Lenient };
    store_in_column(number, value, &expression.sql_type, column, mode, context)
}
