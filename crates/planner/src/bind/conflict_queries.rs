//! Subqueries in INSERT … ON DUPLICATE KEY UPDATE: each becomes a value beside the rows that are inserted.
//!
//! The statement inserts the rows of a query; rows of VALUES become one (`value_queries`). Values of subqueries are
//! further items of that query, behind those that are inserted and those that are named (`inserted_columns`). The
//! executor puts them in the places of their slots, row by row.
//!
//! A subquery may read values of the new row, by `VALUES(column)` or the row's alias. They are those of the query's
//! row, brought into the type of the column.
//!
//! Deliberately not here: subqueries that read the old row, which the query does not have. All subqueries run, also for
//! rows whose keys are new.

use super::Binder;
use super::scope::Scope;
use super::select::Body;
use crate::algebra::{Draft, SUBQUERY_SLOTS, Subquery, reads_subquery};
use crate::plan::{ColumnAssignment, Derived, Limit, Relation, SelectPlan};
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use sqlparser::ast::Expr;
use std::rc::Rc;
use std::sync::Arc;
use types::{ColumnIndex, SqlType, TableDefinition};

/// Where the subqueries of ON DUPLICATE KEY UPDATE find the new row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRow {
    /// How many SELECTs are around the assignments.
    pub(super) depth: usize,
    /// The slot of its first column.
    first_slot: u16,
}

impl NewRow {
    pub(super) fn new(depth: usize, first_slot: u16) -> Self {
        Self { depth, first_slot }
    }
}

/// The subqueries of ON DUPLICATE KEY UPDATE, and their values in the order of their slots.
#[derive(Default)]
pub(super) struct ConflictQueries {
    subqueries: Vec<Subquery>,
    values: Vec<Expression>,
}

impl ConflictQueries {
    pub(super) fn is_empty(&self) -> bool {
        self.subqueries.is_empty()
    }

    /// Gives the values of subqueries in assignments the slots from this one on.
    pub(super) fn of(
        subqueries: Vec<Subquery>,
        assignments: &mut [ColumnAssignment],
        first_slot: u16,
    ) -> Self {
        let mut values: Vec<Expression> = Vec::new();
        for value in assignments.iter_mut().filter_map(|assignment| assignment.value.as_mut()) {
            value.visit(&mut |part| {
                if reads_subquery(part) && part.as_column().is_some() && !values.contains(part) {
                    values.push(part.clone());
                }
            });
            value.map_columns(&mut |slot| {
                let position = values.iter().position(|value| value.as_column() == Some(slot));
                let position = position.and_then(|position| u16::try_from(position).ok());
                position.map_or(slot, |position| ColumnSlot(first_slot.saturating_add(position)))
            });
        }
        Self { subqueries, values }
    }
}

impl Binder<'_> {
    /// VALUES(column) within a subquery of ON DUPLICATE KEY UPDATE; None: it stands elsewhere.
    pub(super) fn value_of_new_row(&mut self, argument: &Expr) -> Result<Option<Expression>, SqlError> {
        let Some(NewRow { depth, first_slot }) = self.insert.new_row else { return Ok(None) };
        let name = match argument {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        let Some(name) = name else { return Ok(None) };
        let scope = Rc::clone(&self.outward.blocks[depth].scope);
        let column = scope.table().and_then(|table| Some(table.expression(table.column(&name.value)?)));
        let Some(mut column) = column else {
            return Err(super::scope::unknown_column(&[], &name.value, super::Clause::FieldList));
        };
        column.map_columns(&mut |slot| ColumnSlot(first_slot + slot.0));
        self.outer_column(depth, column).map(Some)
    }

    /// The query whose rows are inserted into these columns, with values of subqueries behind its items.
    pub(super) fn with_conflict_queries(
        &mut self,
        plan: SelectPlan,
        queries: ConflictQueries,
        columns: &[ColumnIndex],
        table: &TableDefinition,
    ) -> Result<SelectPlan, SqlError> {
        let ConflictQueries { mut subqueries, values } = queries;
        let width = plan.projection.len();
        let mut rows = NewRows { items: items_of(&plan), columns, table };
        for subquery in &mut subqueries {
            let outer = subquery.outer.iter_mut().map(|(_, column)| column);
            for expression in subquery.condition.iter_mut().chain(outer) {
                rows.put(expression)?;
            }
        }
        let converted = self.rows_of(plan, rows.items.clone(), Vec::new())?;
        let mut items = items_of(&converted);
        items.truncate(width);
        items.extend(values);
        self.rows_of(converted, items, subqueries)
    }

    /// These items over the rows of a query.
    fn rows_of(
        &mut self,
        plan: SelectPlan,
        items: Vec<Expression>,
        subqueries: Vec<Subquery>,
    ) -> Result<SelectPlan, SqlError> {
        let width = plan.projection.len();
        let names = (0..width).map(|number| format!("c{number}")).collect();
        let derived = Derived { alias: "inserted".to_owned(), names, plan };
        let draft = Draft::query(Relation::Derived(Arc::new(derived)), width, 0);
        let around = self.subqueries.replace(subqueries);
        let from = (draft, &Scope::default());
        let plan = self.joined_plan(from, Vec::new(), Body::of_items(items), Limit::default(), false);
        self.subqueries = around;
        plan.map(|(plan, _)| plan)
    }
}

/// The items of a query as columns of its rows.
fn items_of(plan: &SelectPlan) -> Vec<Expression> {
    let column = |(slot, item): (u16, &Expression)| {
        Expression::column(ColumnSlot(slot), item.sql_type.clone(), true).as_coercible(item.coercibility)
    };
    (0..).zip(&plan.projection).map(column).collect()
}

/// The rows that are inserted: items of a query, then those that subqueries read in the types of columns.
struct NewRows<'a> {
    items: Vec<Expression>,
    columns: &'a [ColumnIndex],
    table: &'a TableDefinition,
}

impl NewRows<'_> {
    /// Items in the places of columns of the new row.
    fn put(&mut self, expression: &mut Expression) -> Result<(), SqlError> {
        if let Some(slot) = expression.as_column().filter(|slot| slot.0 < crate::algebra::ITEM_SLOTS) {
            let slot = self.item(slot)?;
            expression.map_columns(&mut |_| slot);
            return Ok(());
        }
        expression.operands_mut().into_iter().try_for_each(|operand| self.put(operand))
    }

    fn item(&mut self, slot: ColumnSlot) -> Result<ColumnSlot, SqlError> {
        let count = self.table.columns.len();
        let Some(place) = slot.index().checked_sub(count) else {
            return Err(SqlError::unsupported("subqueries in ON DUPLICATE KEY UPDATE that read the old row"));
        };
        if let Some(named) = place.checked_sub(count) {
            return slot_at(self.columns.len() + named);
        }
        let position = self.columns.iter().position(|column| usize::from(column.0) == place);
        let position = position.ok_or_else(|| {
            SqlError::unsupported("defaults of the new row in subqueries of ON DUPLICATE KEY UPDATE")
        })?;
        let item = self.items[position].clone();
        let sql_type = &self.table.columns[place].sql_type;
        if item.sql_type == *sql_type {
            return slot_at(position);
        }
        let converted = converted(item, sql_type)?;
        let known = self.items.iter().position(|item| *item == converted);
        slot_at(known.unwrap_or_else(|| {
            self.items.push(converted);
            self.items.len() - 1
        }))
    }
}

/// A value in the type of the column that stores it. A number in text is rounded, where CAST would cut it off.
fn converted(item: Expression, sql_type: &SqlType) -> Result<Expression, SqlError> {
    let is_plain = matches!(
        sql_type,
        SqlType::Integer { .. }
            | SqlType::Decimal { .. }
            | SqlType::Double
            | SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Date
            | SqlType::DateTime { .. }
    );
    let exact = SqlType::Decimal { precision: 65, scale: 30, unsigned: false };
    let is_rounded = matches!(sql_type, SqlType::Integer { .. }) && item.sql_type.is_string();
    let exact = if is_rounded { Expression::cast(item, exact) } else { Ok(item) };
    let converted = exact.and_then(|item| Expression::cast(item, sql_type.clone())).ok().filter(|_| is_plain);
    let text = "values of such a column in subqueries of ON DUPLICATE KEY UPDATE";
    converted.ok_or_else(|| SqlError::unsupported(text))
}

fn slot_at(position: usize) -> Result<ColumnSlot, SqlError> {
    let slot = u16::try_from(position).ok().filter(|slot| *slot < SUBQUERY_SLOTS / 2);
    slot.map(ColumnSlot).ok_or_else(|| SqlError::new(1117, "Too many columns"))
}
