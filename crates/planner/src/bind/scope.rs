//! Which column a name means.
//!
//! Invariant: names of columns, aliases and tables in a statement compare without case (table names in FROM do not: the
//! catalogue decides).

use crate::bind::Clause;
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use std::sync::Arc;
use types::{ColumnIndex, TableDefinition};

/// A table, or the new row of ON DUPLICATE KEY UPDATE, as names see it.
#[derive(Clone, Debug)]
pub(crate) struct ScopeTable {
    /// Its alias or name.
    pub(crate) alias: String,
    /// Its database, if it may be qualified by it.
    pub(crate) database: Option<String>,
    /// Its columns.
    pub(crate) definition: Arc<TableDefinition>,
    /// Other names for its visible columns (`AS new(a, b)`).
    pub(crate) column_names: Vec<String>,
    /// The slot of its first column.
    pub(crate) first_slot: u16,
}

impl ScopeTable {
    /// The only table of a statement.
    pub(crate) fn new(definition: Arc<TableDefinition>, alias: Option<&str>) -> Self {
        let database = alias.is_none().then(|| definition.database.clone());
        let alias = alias.map_or_else(|| definition.name.clone(), str::to_owned);
        // `database.alias.column` is right for an alias too.
        let database = database.or_else(|| Some(definition.database.clone()));
        Self { alias, database, definition, column_names: Vec::new(), first_slot: 0 }
    }

    fn column(&self, name: &str) -> Option<ColumnIndex> {
        if self.column_names.is_empty() {
            return self.definition.column(name);
        }
        let position = self.column_names.iter().position(|own| same_name(own, name))?;
        u16::try_from(position).ok().map(ColumnIndex)
    }

    fn is_meant_by(&self, qualifier: &[&str]) -> bool {
        match qualifier {
            [] => true,
            [table] => same_name(table, &self.alias),
            [database, table] => {
                same_name(table, &self.alias) && self.database.as_deref().is_some_and(|own| own == *database)
            }
            _ => false,
        }
    }

    /// A column as an expression.
    pub(crate) fn expression(&self, column: ColumnIndex) -> Expression {
        let definition = &self.definition.columns[usize::from(column.0)];
        Expression::column(
            ColumnSlot(self.first_slot + column.0),
            definition.sql_type.clone(),
            definition.flags.nullable,
        )
    }
}

/// All that names may mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) tables: Vec<ScopeTable>,
}

impl Scope {
    /// One table.
    pub(crate) fn of_table(definition: Arc<TableDefinition>, alias: Option<&str>) -> Self {
        Self { tables: vec![ScopeTable::new(definition, alias)] }
    }

    /// The first table: a statement has one at most.
    pub(crate) fn table(&self) -> Option<&ScopeTable> {
        self.tables.first()
    }

    /// The column that a name means.
    pub(crate) fn find(
        &self,
        qualifier: &[&str],
        name: &str,
        clause: Clause,
    ) -> Result<Option<Expression>, SqlError> {
        let mut found = None;
        for table in self.tables.iter().filter(|table| table.is_meant_by(qualifier)) {
            let Some(column) = table.column(name) else { continue };
            if found.is_some() {
                return Err(SqlError::new(
                    1052,
                    format!("Column '{}' in {} is ambiguous", qualified(qualifier, name), clause.text()),
                ));
            }
            found = Some(table.expression(column));
        }
        Ok(found)
    }

    /// The column that a name means, or 1054.
    pub(crate) fn resolve(
        &self,
        qualifier: &[&str],
        name: &str,
        clause: Clause,
    ) -> Result<Expression, SqlError> {
        self.find(qualifier, name, clause)?.ok_or_else(|| unknown_column(qualifier, name, clause))
    }
}

/// 1054.
pub(crate) fn unknown_column(qualifier: &[&str], name: &str, clause: Clause) -> SqlError {
    SqlError::new(1054, format!("Unknown column '{}' in '{}'", qualified(qualifier, name), clause.text()))
}

fn qualified(qualifier: &[&str], name: &str) -> String {
    qualifier.iter().copied().chain(std::iter::once(name)).collect::<Vec<_>>().join(".")
}

/// Equal without case.
pub(crate) fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || left.to_lowercase() == right.to_lowercase()
}
