//! Generated columns; `write::generated_value` evaluates them, wherever the bytes of a row are made.
//!
//! VIRTUAL columns are stored like STORED ones. An expression has one value for a row, so nobody sees the difference,
//! and indexes need not care.
//!
//! Invariant: a generated column names no generated column behind it, so one pass in their order is enough.

use expression::Expression;
use types::{ColumnIndex, DefaultValue, TableDefinition};

/// A generated column.
#[derive(Debug)]
pub struct Generated {
    /// Which one.
    pub column: ColumnIndex,
    /// None: its bytes are no expression.
    pub expression: Option<Expression>,
}

/// The generated columns of a table.
pub(crate) fn generated_columns_of(table: &TableDefinition) -> Vec<Generated> {
    let numbered = (0..).map(ColumnIndex).zip(&table.columns);
    let generated = numbered.filter_map(|(column, definition)| {
        let DefaultValue::Generated { encoded, .. } = &definition.default else { return None };
        Some(Generated { column, expression: stdx::wire::from_bytes(encoded).ok() })
    });
    generated.collect()
}
