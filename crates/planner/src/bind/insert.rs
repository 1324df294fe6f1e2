//! INSERT and REPLACE.

use super::conflict_queries::ConflictQueries;
use super::expression::{Place, hex_for_column};
use super::inserted_columns::with_named;
use super::scope::{Scope, ScopeTable, same_name};
use super::value_queries::rows_as_query;
use super::variables::ID_TYPE;
use super::view_change::{Changed, Verb};
use super::{Binder, Bound, Clause, ColumnUse, InsertedQuery, VolatilePlace, has_computed_default};
use crate::limits::exceeds;
use crate::plan::{ColumnAssignment, InsertConflict, InsertPlan, Plan, SelectPlan};
use crate::statement::{Assignment, ColumnName, InsertKind, InsertStatement, ValueOrDefault};
use expression::Expression;
use protocol::SqlError;
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query};
use std::sync::Arc;
use types::{ColumnIndex, SqlType, TableDefinition};

/// The treatment of a row whose key exists.
struct OnConflict {
    conflict: InsertConflict,
    /// The columns of the query that it names.
    named: Vec<(Expr, Expression)>,
    /// The subqueries that it reads.
    queries: ConflictQueries,
    /// The column that is assigned `LAST_INSERT_ID(expression)`.
    id_column: Option<ColumnIndex>,
}

impl Binder<'_> {
    pub(crate) fn insert(&mut self, insert: &InsertStatement) -> Result<Bound, SqlError> {
        let changed = self.changed_table(&insert.table, None, Verb::Insert)?;
        let (table, scope) = (Arc::clone(&changed.table), changed.scope.clone());
        if let Some(view) = &changed.view {
            // A view with a computed column takes no rows.
            view.all_columns(&scope)?;
            if !insert.on_duplicate.is_empty() {
                return Err(SqlError::unsupported("ON DUPLICATE KEY UPDATE through views"));
            }
        }
        let (seen, columns) = self.insert_columns(insert, &changed)?;
        self.stores_computed = has_computed_default(&table);
        let names_all = insert.columns.is_none()
            && (insert.source.is_some() || insert.rows.iter().any(|row| !row.is_empty()));
        if insert.columns.is_some() || names_all {
            let inserted = seen.into_iter().collect();
            let uses = ColumnUse { inserted, inserts_all: names_all, ..ColumnUse::default() };
            self.check_view_columns(&changed, uses)?;
        }
        let OnConflict { conflict, named, queries, id_column } = self.conflict(insert, &scope)?;
        let (columns, given) = if insert.has_queries || (insert.source.is_none() && !queries.is_empty()) {
            let (columns, query) = rows_as_query(insert, &columns)?;
            (columns, Some(query))
        } else {
            (columns, None)
        };
        let rows = if given.is_some() { &[][..] } else { insert.rows.as_slice() };
        let source = match insert.source.as_ref().or(given.as_ref()) {
            Some(query) => {
                columns.iter().try_for_each(|column| check_not_generated(*column, &table))?;
                let mut plan = self.insert_source(query, columns.len(), named)?;
                if !queries.is_empty() {
                    plan = self.with_conflict_queries(plan, queries, &columns, &table)?;
                }
                Some(Box::new(plan))
            }
            None => None,
        };
        let mut bound_rows = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            let is_empty = row.is_empty() && insert.columns.as_ref().is_none_or(Vec::is_empty);
            if row.len() != columns.len() && !is_empty {
                return Err(SqlError::new(
                    1136,
                    format!("Column count doesn't match value count at row {}", number + 1),
                ));
            }
            bound_rows.push(self.insert_row(row, &columns, &table, &scope)?);
        }
        // `VALUES ()`: every column gets its default.
        let all_empty = source.is_none() && !columns.is_empty() && bound_rows.iter().all(Vec::is_empty);
        let columns = if all_empty { Vec::new() } else { columns };
        if bound_rows.iter().any(|row| row.len() != columns.len()) {
            return Err(SqlError::new(1136, "Column count doesn't match value count at row 1"));
        }
        let view_check = changed.view.and_then(|view| view.check);
        let plan = InsertPlan { table, columns, rows: bound_rows, source, conflict, id_column, view_check };
        Ok(Bound::without_rows(Plan::Insert(Box::new(plan))))
    }

    /// The treatment of a row whose key exists.
    fn conflict(&mut self, insert: &InsertStatement, scope: &Scope) -> Result<OnConflict, SqlError> {
        if insert.on_duplicate.is_empty() {
            let conflict = match insert.kind {
                InsertKind::Insert => InsertConflict::Fail,
                InsertKind::Ignore => InsertConflict::Ignore,
                InsertKind::Replace => InsertConflict::Replace,
            };
            let (named, queries) = (Vec::new(), ConflictQueries::default());
            return Ok(OnConflict { conflict, named, queries, id_column: None });
        }
        let place = std::mem::replace(&mut self.volatile.place, VolatilePlace::Rows);
        let first_slot = u16::try_from(2 * scope.slot_count()).unwrap_or(u16::MAX);
        let query = insert.source.as_deref();
        self.insert.query =
            query.map(|query| InsertedQuery { query: Query::clone(query), first_slot, named: Vec::new() });
        self.subqueries = Some(Vec::new());
        let assignments = self.on_duplicate(insert, scope.clone());
        let subqueries = self.subqueries.take().unwrap_or_default();
        self.volatile.place = place;
        let named = self.insert.query.take().map_or_else(Vec::new, |inserted| inserted.named);
        let (mut assignments, id_column) = assignments?;
        let first_slot = first_slot.saturating_add(u16::try_from(named.len()).unwrap_or(u16::MAX));
        let queries = ConflictQueries::of(subqueries, &mut assignments, first_slot);
        let conflict = match insert.kind {
            InsertKind::Ignore => InsertConflict::UpdateIgnoring(assignments),
            InsertKind::Insert | InsertKind::Replace => InsertConflict::Update(assignments),
        };
        Ok(OnConflict { conflict, named, queries, id_column })
    }

    /// The query of INSERT … SELECT, with columns behind its items that ON DUPLICATE KEY UPDATE names.
    fn insert_source(
        &mut self,
        query: &Query,
        column_count: usize,
        named: Vec<(Expr, Expression)>,
    ) -> Result<SelectPlan, SqlError> {
        let named_count = named.len();
        let (plan, items) = match named_count {
            0 => self.nested_query(query)?,
            _ => self.nested_query(&with_named(query, named))?,
        };
        if items.len() != column_count + named_count {
            return Err(SqlError::new(1136, "Column count doesn't match value count at row 1"));
        }
        Ok(plan)
    }

    /// The columns that get values: as the statement sees them, and in the table.
    fn insert_columns(
        &self,
        insert: &InsertStatement,
        changed: &Changed,
    ) -> Result<(Vec<ColumnIndex>, Vec<ColumnIndex>), SqlError> {
        let Some(names) = &insert.columns else {
            let seen = changed.seen().visible_columns().map(|(column, _)| column).collect::<Vec<_>>();
            let columns = match &changed.view {
                Some(view) => view.all_columns(&changed.scope)?,
                None => seen.clone(),
            };
            return Ok((seen, columns));
        };
        let (mut all_seen, mut columns) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
        for name in names {
            let (seen, column) = self.changed_column(name, changed, &insert.table.name)?;
            if columns.contains(&column) {
                return Err(SqlError::new(1110, format!("Column '{}' specified twice", name.name)));
            }
            all_seen.push(seen);
            columns.push(column);
        }
        Ok((all_seen, columns))
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
            let mut value = self.stored_value(value, *column, table, &mut place)?;
            if let Some(value) = &mut value {
                self.resolve(scope, value)?;
            }
            values.push(value);
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

    /// Assignments see the old row, and the new one behind it. The column is the one that is assigned
    /// `LAST_INSERT_ID(expression)`.
    fn on_duplicate(
        &mut self,
        insert: &InsertStatement,
        mut scope: Scope,
    ) -> Result<(Vec<ColumnAssignment>, Option<ColumnIndex>), SqlError> {
        let limit = self.context.limits.clause_item_count_max;
        exceeds("clause_item_count_max", insert.on_duplicate.len(), limit)?;
        let Some(table) = scope.table().map(|table| table.definition.clone()) else {
            return Ok((Vec::new(), None));
        };
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
                coercibilities: Vec::new(),
                is_optional: false,
                is_table: false,
                is_view: false,
                items: None,
            });
        }
        let mut assignments = Vec::with_capacity(insert.on_duplicate.len());
        let mut id_column = None;
        for Assignment { column, value } in &insert.on_duplicate {
            let column = self.own_column(column, &table, &insert.table.name)?;
            self.uses.updated.insert(column);
            let mut place = Place::new(&scope, Clause::FieldList);
            place.new_row = Some(first_slot);
            let value = match last_insert_id_of(value) {
                Some(id) if matches!(table.column_at(column).sql_type, SqlType::Integer { .. }) => {
                    check_not_generated(column, &table)?;
                    id_column = Some(column);
                    let id = self.expression(id, &mut place)?;
                    Some(self.typed(Expression::cast(id, ID_TYPE))?)
                }
                _ => self.stored_value(value, column, &table, &mut place)?,
            };
            if !table.column_at(column).is_generated() {
                assignments.push(ColumnAssignment { column, value });
            }
        }
        Ok((assignments, id_column))
    }
}

/// The argument of a value that is `LAST_INSERT_ID(expression)`.
fn last_insert_id_of(value: &ValueOrDefault) -> Option<&Expr> {
    let ValueOrDefault::Value(value) = value else { return None };
    let Expr::Function(call) = &**value else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    let is_called =
        matches!(call.name.0.as_slice(), [name] if name.to_string().eq_ignore_ascii_case("LAST_INSERT_ID"));
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(id))] if is_called => Some(id),
        _ => None,
    }
}

/// 3105 for a column whose value the statement cannot choose.
fn check_not_generated(column: ColumnIndex, table: &TableDefinition) -> Result<(), SqlError> {
    let TableDefinition { name, .. } = table;
    let column = table.column_at(column);
    if column.is_generated() { Err(generated_value(&column.name, name)) } else { Ok(()) }
}

/// 3105.
pub(super) fn generated_value(column: &str, table: &str) -> SqlError {
    let text =
        format!("The value specified for generated column '{column}' in table '{table}' is not allowed.");
    SqlError::new(3105, text)
}
