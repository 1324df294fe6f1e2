//! INSERT and REPLACE.

use super::expression::{Place, hex_for_column};
use super::scope::{Scope, ScopeTable, same_name};
use super::{Binder, Bound, Clause, VolatilePlace, has_computed_default};
use crate::plan::{ColumnAssignment, InsertConflict, InsertPlan, Plan, SelectPlan};
use crate::statement::{Assignment, ColumnName, InsertKind, InsertStatement, ValueOrDefault};
use expression::Expression;
use protocol::SqlError;
use sqlparser::ast::Query;
use types::{ColumnIndex, TableDefinition};

impl Binder<'_> {
    pub(crate) fn insert(&mut self, insert: &InsertStatement) -> Result<Bound, SqlError> {
        let table = self.stored_table(&insert.table)?;
        let scope = Scope::of_table(table.clone(), None);
        let columns = self.insert_columns(insert, &table)?;
        self.stores_computed = has_computed_default(&table);
        let names_all = insert.columns.is_none()
            && (insert.source.is_some() || insert.rows.iter().any(|row| !row.is_empty()));
        if insert.columns.is_some() || names_all {
            self.uses.inserted = columns.iter().copied().collect();
            self.uses.inserts_all = names_all;
        }
        let source = match &insert.source {
            Some(query) => {
                columns.iter().try_for_each(|column| check_not_generated(*column, &table))?;
                Some(Box::new(self.insert_source(query, columns.len())?))
            }
            None => None,
        };
        let mut rows = Vec::with_capacity(insert.rows.len());
        for (number, row) in insert.rows.iter().enumerate() {
            let is_empty = row.is_empty() && insert.columns.as_ref().is_none_or(Vec::is_empty);
            if row.len() != columns.len() && !is_empty {
                return Err(SqlError::new(
                    1136,
                    format!("Column count doesn't match value count at row {}", number + 1),
                ));
            }
            rows.push(self.insert_row(row, &columns, &table, &scope)?);
        }
        // `VALUES ()`: every column gets its default.
        let all_empty = source.is_none() && !columns.is_empty() && rows.iter().all(Vec::is_empty);
        let columns = if all_empty { Vec::new() } else { columns };
        if rows.iter().any(|row| row.len() != columns.len()) {
            return Err(SqlError::new(1136, "Column count doesn't match value count at row 1"));
        }
        let conflict = if insert.on_duplicate.is_empty() {
            match insert.kind {
                InsertKind::Insert => InsertConflict::Fail,
                InsertKind::Ignore => InsertConflict::Ignore,
                InsertKind::Replace => InsertConflict::Replace,
            }
        } else {
            self.volatile_place = VolatilePlace::Rows;
            let assignments = self.on_duplicate(insert, scope).map_err(|error| match error.code {
                1054 if source.is_some() => {
                    SqlError::unsupported("columns of the SELECT in ON DUPLICATE KEY UPDATE")
                }
                _ => error,
            })?;
            if insert.kind == InsertKind::Ignore {
                InsertConflict::UpdateIgnoring(assignments)
            } else {
                InsertConflict::Update(assignments)
            }
        };
        let plan = InsertPlan { table, columns, rows, source, conflict };
        Ok(Bound::without_rows(Plan::Insert(Box::new(plan))))
    }

    /// The query of INSERT … SELECT.
    fn insert_source(&mut self, query: &Query, column_count: usize) -> Result<SelectPlan, SqlError> {
        let (plan, items) = self.nested_query(query)?;
        if items.len() != column_count {
            return Err(SqlError::new(1136, "Column count doesn't match value count at row 1"));
        }
        Ok(plan)
    }

    fn insert_columns(
        &self,
        insert: &InsertStatement,
        table: &TableDefinition,
    ) -> Result<Vec<ColumnIndex>, SqlError> {
        let Some(names) = &insert.columns else {
            return Ok(table.visible_columns().map(|(column, _)| column).collect());
        };
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let column = self.own_column(name, table, &insert.table.name)?;
            if columns.contains(&column) {
                return Err(SqlError::new(1110, format!("Column '{}' specified twice", name.name)));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// A column of the table that is changed, perhaps qualified by it.
    pub(crate) fn own_column(
        &self,
        name: &ColumnName,
        table: &TableDefinition,
        alias: &str,
    ) -> Result<ColumnIndex, SqlError> {
        let is_own = match name.qualifier.as_slice() {
            [] => true,
            [own] => same_name(own, alias),
            [database, own] => *database == table.database && same_name(own, alias),
            _ => false,
        };
        let column = if is_own { table.column(&name.name) } else { None };
        column.ok_or_else(|| {
            let qualifier: Vec<&str> = name.qualifier.iter().map(String::as_str).collect();
            super::scope::unknown_column(&qualifier, &name.name, Clause::FieldList)
        })
    }

    fn insert_row(
        &mut self,
        row: &[ValueOrDefault],
        columns: &[ColumnIndex],
        table: &TableDefinition,
        scope: &Scope,
    ) -> Result<Vec<Option<Expression>>, SqlError> {
        let mut values = Vec::with_capacity(row.len());
        for (value, column) in row.iter().zip(columns) {
            let mut place = Place::new(scope, Clause::FieldList);
            values.push(self.stored_value(value, *column, table, &mut place)?);
        }
        Ok(values)
    }

    /// A value for a column; None is DEFAULT.
    pub(crate) fn stored_value(
        &mut self,
        value: &ValueOrDefault,
        column: ColumnIndex,
        table: &TableDefinition,
        place: &mut Place<'_>,
    ) -> Result<Option<Expression>, SqlError> {
        let ValueOrDefault::Value(expr) = value else { return Ok(None) };
        check_not_generated(column, table)?;
        if let Some(number) = hex_for_column(expr, &table.column_at(column).sql_type) {
            return Ok(Some(number));
        }
        self.expression(expr, place).map(Some)
    }

    /// Assignments see the old row, and the new one behind it.
    fn on_duplicate(
        &mut self,
        insert: &InsertStatement,
        mut scope: Scope,
    ) -> Result<Vec<ColumnAssignment>, SqlError> {
        let Some(table) = scope.table().map(|table| table.definition.clone()) else { return Ok(Vec::new()) };
        let first_slot = u16::try_from(table.columns.len()).unwrap_or(u16::MAX);
        if let Some(alias) = &insert.row_alias {
            if !alias.columns.is_empty() && alias.columns.len() != table.visible_columns().count() {
                return Err(SqlError::new(
                    1353,
                    "View's SELECT and view's field list have different column counts",
                ));
            }
            scope.tables.push(ScopeTable {
                alias: alias.name.clone(),
                database: None,
                definition: table.clone(),
                column_names: alias.columns.clone(),
                first_slot,
                is_optional: false,
                is_table: false,
                is_view: false,
                items: None,
            });
        }
        let mut assignments = Vec::with_capacity(insert.on_duplicate.len());
        for Assignment { column, value } in &insert.on_duplicate {
            let column = self.own_column(column, &table, &insert.table.name)?;
            self.uses.updated.insert(column);
            let mut place = Place::new(&scope, Clause::FieldList);
            place.new_row = Some(first_slot);
            let value = self.stored_value(value, column, &table, &mut place)?;
            if !table.column_at(column).is_generated() {
                assignments.push(ColumnAssignment { column, value });
            }
        }
        Ok(assignments)
    }
}

/// 3105 for a column whose value the statement cannot choose.
fn check_not_generated(column: ColumnIndex, table: &TableDefinition) -> Result<(), SqlError> {
    let TableDefinition { name, .. } = table;
    let column = table.column_at(column);
    if column.is_generated() {
        let text = format!(
            "The value specified for generated column '{}' in table '{name}' is not allowed.",
            column.name
        );
        return Err(SqlError::new(3105, text));
    }
    Ok(())
}
