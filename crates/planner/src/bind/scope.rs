//! Which column a name means.
//!
//! Invariant: names of columns, aliases and tables in a statement compare without case (table names in FROM do not: the
//! catalogue decides).

use crate::bind::{Clause, is_virtual_database};
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
    /// How strong the collations of its columns are; empty: as those of a table.
    pub(crate) coercibilities: Vec<u8>,
    /// Its rows may be missing: each column may be NULL then.
    pub(crate) is_optional: bool,
    /// Its rows are those of a stored or virtual table.
    pub(crate) is_table: bool,
    /// It is a view: privileges on its columns are asked for.
    pub(crate) is_view: bool,
    /// The columns of a merged view, over the slots of its tables.
    pub(crate) items: Option<Arc<Vec<Expression>>>,
}

impl ScopeTable {
    /// The only table of a statement.
    pub(crate) fn new(definition: Arc<TableDefinition>, alias: Option<&str>) -> Self {
        let database = alias.is_none().then(|| definition.database.clone());
        let alias = alias.map_or_else(|| definition.name.clone(), str::to_owned);
        // `database.alias.column` is right for an alias too.
        let database = database.or_else(|| Some(definition.database.clone()));
        Self {
            alias,
            database,
            definition,
            column_names: Vec::new(),
            first_slot: 0,
            coercibilities: Vec::new(),
            is_optional: false,
            is_table: true,
            is_view: false,
            items: None,
        }
    }

    pub(crate) fn column(&self, name: &str) -> Option<ColumnIndex> {
        if self.column_names.is_empty() {
            return self.definition.column(name);
        }
        let position = self.column_names.iter().position(|own| same_name(own, name))?;
        u16::try_from(position).ok().map(ColumnIndex)
    }

    pub(crate) fn is_meant_by(&self, qualifier: &[&str]) -> bool {
        match qualifier {
            [] => true,
            [table] => same_name(table, &self.alias),
            [database, table] => {
                let is_same = |own: &str| is_virtual_database(database) && own.eq_ignore_ascii_case(database);
                let is_own = |own: &str| own == *database || is_same(own);
                same_name(table, &self.alias) && self.database.as_deref().is_some_and(is_own)
            }
            _ => false,
        }
    }

    /// A column's name in full: behind its table's alias, or behind its database and table.
    pub(crate) fn full_name(&self, column: ColumnIndex) -> Vec<String> {
        let name = match self.column_names.get(usize::from(column.0)) {
            Some(name) => name.clone(),
            None => self.definition.column_at(column).name.clone(),
        };
        let has_alias = self.alias != self.definition.name || !(self.is_table || self.is_view);
        let database = self.database.iter().filter(|_| !has_alias).cloned();
        database.chain([self.alias.clone(), name]).collect()
    }

    /// A column as an expression.
    pub(crate) fn expression(&self, column: ColumnIndex) -> Expression {
        let definition = &self.definition.columns[usize::from(column.0)];
        let slot = ColumnSlot(self.first_slot + column.0);
        let nullable = definition.flags.nullable || self.is_optional;
        let expression = Expression::column(slot, definition.sql_type.clone(), nullable);
        match self.coercibilities.get(usize::from(column.0)) {
            Some(coercibility) => expression.as_coercible(*coercibility),
            None => expression,
        }
    }
}

/// All that names may mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) tables: Vec<ScopeTable>,
    /// The columns that `*` and names without qualifiers mean; empty: all. A column of USING or of a natural join is
    /// here once.
    pub(crate) visible: Vec<Visible>,
}

/// A column of a table of the scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visible {
    /// Position of the table.
    pub(crate) table: usize,
    pub(crate) column: ColumnIndex,
}

impl Scope {
    /// One table.
    pub(crate) fn of_table(definition: Arc<TableDefinition>, alias: Option<&str>) -> Self {
        Self { tables: vec![ScopeTable::new(definition, alias)], visible: Vec::new() }
    }

    /// The same names; each column may be NULL.
    pub(crate) fn with_nulls(&self) -> Self {
        let mut scope = self.clone();
        scope.tables.iter_mut().for_each(|table| table.is_optional = true);
        scope
    }

    /// The names of both, for those that look from outside.
    pub(crate) fn and(&self, other: &Scope) -> Self {
        let behind = self.tables.len();
        let moved = |visible: Visible| Visible { table: visible.table + behind, column: visible.column };
        let visible = if self.visible.is_empty() && other.visible.is_empty() {
            Vec::new()
        } else {
            let others = other.visible_columns().into_iter().map(moved);
            self.visible_columns().into_iter().chain(others).collect()
        };
        Self { tables: self.tables.iter().chain(&other.tables).cloned().collect(), visible }
    }

    /// The first table.
    pub(crate) fn table(&self) -> Option<&ScopeTable> {
        self.tables.first()
    }

    /// The table that a slot belongs to, and which column of it that is.
    pub(crate) fn table_of(&self, slot: ColumnSlot) -> Option<(&ScopeTable, ColumnIndex)> {
        self.tables.iter().find_map(|table| {
            let column = slot.0.checked_sub(table.first_slot)?;
            (usize::from(column) < table.definition.columns.len()).then_some((table, ColumnIndex(column)))
        })
    }

    /// How many slots its tables have.
    pub(crate) fn slot_count(&self) -> usize {
        let behind = |table: &ScopeTable| usize::from(table.first_slot) + table.definition.columns.len();
        self.tables.iter().map(behind).max().unwrap_or(0)
    }

    /// Puts the items of merged views in the places of their columns; false if none is named.
    pub(crate) fn resolve(&self, expression: &mut Expression) -> bool {
        let mut is_changed = false;
        for table in &self.tables {
            if let Some(items) = &table.items {
                is_changed |= put_items(expression, table.first_slot, items);
            }
        }
        is_changed
    }

    /// The columns that `*` stands for.
    pub(crate) fn visible_columns(&self) -> Vec<Visible> {
        if !self.visible.is_empty() {
            return self.visible.clone();
        }
        let of_table = |(table, scope_table): (usize, &ScopeTable)| {
            let columns: Vec<ColumnIndex> =
                scope_table.definition.visible_columns().map(|(column, _)| column).collect();
            columns.into_iter().map(move |column| Visible { table, column })
        };
        self.tables.iter().enumerate().flat_map(of_table).collect()
    }

    /// The column that a name means.
    pub(crate) fn find(
        &self,
        qualifier: &[&str],
        name: &str,
        clause: Clause,
    ) -> Result<Option<Expression>, SqlError> {
        let mut found = None;
        for (position, table) in self.tables.iter().enumerate() {
            if !table.is_meant_by(qualifier) {
                continue;
            }
            let Some(column) = table.column(name) else { continue };
            let is_visible = |visible: &Visible| visible.table == position && visible.column == column;
            if qualifier.is_empty() && !self.visible.is_empty() && !self.visible.iter().any(is_visible) {
                continue;
            }
            if found.is_some() {
                return Err(ambiguous_column(qualifier, name, clause));
            }
            found = Some(table.expression(column));
        }
        Ok(found)
    }
}

/// Puts items in the places of the columns from this slot on.
fn put_items(expression: &mut Expression, first_slot: u16, items: &[Expression]) -> bool {
    let item = |slot: ColumnSlot| items.get(usize::from(slot.0.checked_sub(first_slot)?));
    if let Some(item) = expression.as_column().and_then(item) {
        let nullable = expression.nullable;
        *expression = Expression { nullable, ..item.clone() };
        return true;
    }
    let mut is_changed = false;
    for operand in expression.operands_mut() {
        is_changed |= put_items(operand, first_slot, items);
    }
    is_changed
}

/// 1052.
pub(crate) fn ambiguous_column(qualifier: &[&str], name: &str, clause: Clause) -> SqlError {
    let name = qualified(qualifier, name);
    SqlError::new(1052, format!("Column '{name}' in {} is ambiguous", clause.text()))
}

/// 1054.
pub(crate) fn unknown_column(qualifier: &[&str], name: &str, clause: Clause) -> SqlError {
    SqlError::new(1054, format!("Unknown column '{}' in '{}'", qualified(qualifier, name), clause.text()))
}

fn qualified(qualifier: &[&str], name: &str) -> String {
    qualifier.iter().copied().chain(std::iter::once(name)).collect::<Vec<_>>().join(".")
}

/// Equal without case. Names are compared with many others, so those of ASCII are not copied.
pub(crate) fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
        || (!(left.is_ascii() && right.is_ascii()) && left.to_lowercase() == right.to_lowercase())
}
