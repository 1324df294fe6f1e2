//! Row bytes (skeleton: signatures are final).
use crate::{ColumnDefinition, ColumnIndex, TableDefinition, Value, ValueRef};

/// Why bytes are not a row of this layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowError;

/// Where the columns of a table lie in its rows.
#[derive(Clone, Debug)]
pub struct RowLayout {}

#[expect(unused_variables, clippy::unimplemented, reason = "skeleton")]
impl RowLayout {
    /// The layout of rows with these columns.
    #[must_use]
    pub fn new(columns: &[ColumnDefinition]) -> Self {
        unimplemented!()
    }
    /// The layout of a table's rows.
    #[must_use]
    pub fn of_table(table: &TableDefinition) -> Self {
        Self::new(&table.columns)
    }
    /// How many columns.
    #[must_use]
    pub fn column_count(&self) -> usize {
        unimplemented!()
    }
    /// True if `values` are one per column and of the columns' types.
    #[must_use]
    pub fn accepts(&self, values: &[ValueRef<'_>]) -> bool {
        unimplemented!()
    }
    /// Appends the row of `values`, one per column.
    pub fn encode(&self, values: &[ValueRef<'_>], row: &mut Vec<u8>) {
        unimplemented!()
    }
    /// One column; O(1), no allocation. A column that was added after the row was written yields its default.
    #[must_use]
    pub fn column<'a>(&'a self, row: &'a [u8], column: ColumnIndex) -> ValueRef<'a> {
        unimplemented!()
    }
    /// All columns.
    #[must_use]
    pub fn decode(&self, row: &[u8]) -> Vec<Value> {
        unimplemented!()
    }
    /// Checks bytes that came from a peer or a disk; `column` of a checked row gives what was encoded.
    pub fn check(&self, row: &[u8]) -> Result<(), RowError> {
        unimplemented!()
    }
}
