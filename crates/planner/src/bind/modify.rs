//! UPDATE and DELETE of one table. Where subqueries stand in them, a query finds the rows (`change`).

use super::change::{Assigned, Change};
use super::expression::Place;
use super::scope::Scope;
use super::view_change::{Changed, Verb};
use super::{Binder, Bound, Clause, ColumnUse, VolatilePlace, has_computed_default};
use crate::access_path::{self, Purpose, Wanted};
use crate::algebra::{Draft, Parameters};
use crate::plan::{
    ChangeVerb, ColumnAssignment, DeletePlan, Limit, Plan, ScanDirection, SortKey, TableAccess, UpdatePlan,
};
use crate::statement::{DeleteStatement, OrderItem, UpdateStatement};
use crate::statistics::Counts;
use expression::Expression;
use protocol::SqlError;
use sqlparser::ast::Expr;
use std::sync::Arc;
use types::TableDefinition;

impl Binder<'_> {
    pub(crate) fn update(&mut self, update: &UpdateStatement) -> Result<Bound, SqlError> {
        let before = self.open_with(&update.with.iter().collect::<Vec<_>>())?;
        let changed = self.changed_table(&update.table.name, update.table.alias.as_deref(), Verb::Update)?;
        let (table, scope, alias) = (Arc::clone(&changed.table), changed.scope.clone(), changed.alias());
        // Variables are assigned here, in the order of the rows: a query finds these and computes the new values.
        let is_counted = !self.variables.is_empty();
        self.volatile.place = if is_counted { VolatilePlace::Restless } else { VolatilePlace::Rows };
        self.stores_computed = has_computed_default(&table);
        self.subqueries = Some(Vec::new());
        let mut assignments = Vec::with_capacity(update.assignments.len());
        let mut uses = ColumnUse::default();
        for assignment in &update.assignments {
            let (seen, column) = self.changed_column(&assignment.column, &changed, &alias)?;
            uses.updated.insert(seen);
            let mut place = Place::new(&scope, Clause::FieldList);
            let mut value = self.stored_value(&assignment.value, column, &table, &mut place)?;
            if let Some(value) = &mut value {
                self.resolve(&scope, value)?;
            }
            // DEFAULT is what it has anyway.
            if !table.column_at(column).is_generated() {
                assignments.push(ColumnAssignment { column, value });
            }
        }
        self.check_view_columns(&changed, uses)?;
        let rows =
            self.modified_rows(&changed, update.selection.as_ref(), &update.order_by, update.limit.as_ref())?;
        if self.has_subqueries() || is_counted {
            if changed.view.is_some() {
                return Err(beside_subqueries());
            }
            let assigned = assignments.into_iter().map(|set| (set.column, set.value)).collect();
            let change = rows.change(ChangeVerb::Update, table, alias, scope, assigned);
            return self.changed(before, Change { ignore: update.ignore, ..change });
        }
        let (access, order_by_index) = rows.access(table, alias, &mut self.counts());
        let ModifiedRows { order_by, limit, .. } = rows;
        let ignore = update.ignore;
        let view_check = changed.view.and_then(|view| view.check);
        let plan = UpdatePlan { access, assignments, order_by, order_by_index, limit, ignore, view_check };
        Ok(Bound::without_rows(Plan::Update(Box::new(plan))))
    }

    pub(crate) fn delete(&mut self, delete: &DeleteStatement) -> Result<Bound, SqlError> {
        let before = self.open_with(&delete.with.iter().collect::<Vec<_>>())?;
        let changed = self.changed_table(&delete.table.name, delete.table.alias.as_deref(), Verb::Delete)?;
        let (table, scope, alias) = (Arc::clone(&changed.table), changed.scope.clone(), changed.alias());
        let is_counted = !self.variables.is_empty();
        self.volatile.place = if is_counted { VolatilePlace::Restless } else { VolatilePlace::Rows };
        self.subqueries = Some(Vec::new());
        let rows =
            self.modified_rows(&changed, delete.selection.as_ref(), &delete.order_by, delete.limit.as_ref())?;
        if self.has_subqueries() || is_counted {
            if changed.view.is_some() {
                return Err(beside_subqueries());
            }
            return self.changed(before, rows.change(ChangeVerb::Delete, table, alias, scope, Vec::new()));
        }
        let (access, order_by_index) = rows.access(table, alias, &mut self.counts());
        let ModifiedRows { order_by, limit, .. } = rows;
        let plan = DeletePlan { access, order_by, order_by_index, limit };
        Ok(Bound::without_rows(Plan::Delete(Box::new(plan))))
    }

    fn has_subqueries(&self) -> bool {
        self.subqueries.as_ref().is_some_and(|subqueries| !subqueries.is_empty())
    }

    fn modified_rows(
        &mut self,
        changed: &Changed,
        selection: Option<&Expr>,
        order_by: &[OrderItem],
        limit: Option<&Expr>,
    ) -> Result<ModifiedRows, SqlError> {
        let scope = &changed.scope;
        let mut conditions = changed.view.as_ref().map_or_else(Vec::new, |view| view.conditions.clone());
        if let Some(selection) = selection {
            let mut selection = self.expression(selection, &mut Place::new(scope, Clause::Where))?;
            self.resolve(scope, &mut selection)?;
            conditions.push(selection);
        }
        let selection =
            if conditions.len() > 1 { Some(Expression::and(conditions)) } else { conditions.pop() };
        let order_by = self.modified_order(order_by, scope)?;
        let count = limit.map(|limit| self.limit_number(limit)).transpose()?;
        Ok(ModifiedRows { selection, order_by, limit: Limit { count, offset: None } })
    }

    fn modified_order(&mut self, items: &[OrderItem], scope: &Scope) -> Result<Vec<SortKey>, SqlError> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let mut place = Place::new(scope, Clause::OrderBy);
            let mut expression: Expression = self.expression(&item.expression, &mut place)?;
            self.resolve(scope, &mut expression)?;
            if !expression.is_constant() {
                keys.push(SortKey { expression, descending: item.descending });
            }
        }
        Ok(keys)
    }
}

fn beside_subqueries() -> SqlError {
    SqlError::unsupported("changes through views beside subqueries")
}

/// Which rows a statement changes, in which order.
struct ModifiedRows {
    selection: Option<Expression>,
    order_by: Vec<SortKey>,
    limit: Limit,
}

impl ModifiedRows {
    /// How they are found without a query.
    fn access(
        &self,
        table: Arc<TableDefinition>,
        alias: String,
        counts: &mut Counts<'_>,
    ) -> (TableAccess, Option<ScanDirection>) {
        let is_limited = self.limit.count.is_some();
        let wanted = Wanted { order_by: &self.order_by, is_limited, purpose: Purpose::Lock };
        access_path::access(table, alias, self.selection.clone(), &wanted, counts)
    }

    /// The change of those that a query finds.
    fn change(
        self,
        verb: ChangeVerb,
        table: Arc<TableDefinition>,
        alias: String,
        scope: Scope,
        assigned: Assigned,
    ) -> Change {
        let draft = Draft::Table { table, alias, first_slot: 0, filter: Vec::new() };
        let Self { selection, order_by, limit } = self;
        let targets = vec![(0, assigned)];
        let conjuncts = selection.map(Expression::into_conjuncts).unwrap_or_default();
        Change { verb, ignore: false, draft, scope, targets, conjuncts, order_by, limit }
    }
}
