//! UPDATE and DELETE of one table. Where subqueries stand in them, a query finds the rows (`change`).

use super::change::{Assigned, Change};
use super::expression::{Aliases, Place};
use super::scope::Scope;
use super::{Binder, Bound, Clause, VolatilePlace, has_computed_default};
use crate::access_path::{self, Purpose, Wanted};
use crate::algebra::Draft;
use crate::plan::{
    ChangeVerb, ColumnAssignment, DeletePlan, Limit, Plan, ScanDirection, SortKey, TableAccess, UpdatePlan,
};
use crate::statement::{DeleteStatement, OrderItem, TableReference, UpdateStatement};
use expression::Expression;
use protocol::SqlError;
use sqlparser::ast::Expr;
use std::sync::Arc;
use types::TableDefinition;

impl Binder<'_> {
    pub(crate) fn update(&mut self, update: &UpdateStatement) -> Result<Bound, SqlError> {
        let (table, scope) = self.modified_table(&update.table)?;
        self.volatile_place = VolatilePlace::Rows;
        self.stores_computed = has_computed_default(&table);
        self.subqueries = Some(Vec::new());
        let alias = scope.table().map_or_else(String::new, |table| table.alias.clone());
        let mut assignments = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let column = self.own_column(&assignment.column, &table, &alias)?;
            self.uses.updated.insert(column);
            let mut place = Place::new(&scope, Clause::FieldList);
            let value = self.stored_value(&assignment.value, column, &table, &mut place)?;
            // DEFAULT is what it has anyway.
            if !table.column_at(column).is_generated() {
                assignments.push(ColumnAssignment { column, value });
            }
        }
        let rows =
            self.modified_rows(&scope, update.selection.as_ref(), &update.order_by, update.limit.as_ref())?;
        if self.has_subqueries() {
            if update.ignore {
                return Err(SqlError::unsupported("UPDATE IGNORE beside subqueries"));
            }
            let assigned = assignments.into_iter().map(|set| (set.column, set.value)).collect();
            return self.changed(rows.change(ChangeVerb::Update, table, alias, scope, assigned));
        }
        let (access, order_by_index) = rows.access(table, alias);
        let ModifiedRows { order_by, limit, .. } = rows;
        let ignore = update.ignore;
        let plan = UpdatePlan { access, assignments, order_by, order_by_index, limit, ignore };
        Ok(Bound::without_rows(Plan::Update(Box::new(plan))))
    }

    pub(crate) fn delete(&mut self, delete: &DeleteStatement) -> Result<Bound, SqlError> {
        let (table, scope) = self.modified_table(&delete.table)?;
        self.volatile_place = VolatilePlace::Rows;
        self.subqueries = Some(Vec::new());
        let alias = scope.table().map_or_else(String::new, |table| table.alias.clone());
        let rows =
            self.modified_rows(&scope, delete.selection.as_ref(), &delete.order_by, delete.limit.as_ref())?;
        if self.has_subqueries() {
            return self.changed(rows.change(ChangeVerb::Delete, table, alias, scope, Vec::new()));
        }
        let (access, order_by_index) = rows.access(table, alias);
        let ModifiedRows { order_by, limit, .. } = rows;
        let plan = DeletePlan { access, order_by, order_by_index, limit };
        Ok(Bound::without_rows(Plan::Delete(Box::new(plan))))
    }

    fn has_subqueries(&self) -> bool {
        self.subqueries.as_ref().is_some_and(|subqueries| !subqueries.is_empty())
    }

    fn modified_table(&self, reference: &TableReference) -> Result<(Arc<TableDefinition>, Scope), SqlError> {
        let table = self.stored_table(&reference.name)?;
        let scope = Scope::of_table(table.clone(), reference.alias.as_deref());
        Ok((table, scope))
    }

    fn modified_rows(
        &mut self,
        scope: &Scope,
        selection: Option<&Expr>,
        order_by: &[OrderItem],
        limit: Option<&Expr>,
    ) -> Result<ModifiedRows, SqlError> {
        let selection = match selection {
            Some(selection) => Some(self.expression(selection, &mut Place::new(scope, Clause::Where))?),
            None => None,
        };
        let order_by = self.modified_order(order_by, scope)?;
        let count = limit.map(|limit| self.limit_number(limit)).transpose()?;
        Ok(ModifiedRows { selection, order_by, limit: Limit { count, offset: None } })
    }

    fn modified_order(&mut self, items: &[OrderItem], scope: &Scope) -> Result<Vec<SortKey>, SqlError> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let mut place = Place::new(scope, Clause::OrderBy);
            place.aliases = Some(Aliases { items: &[], first: false });
            let expression: Expression = self.expression(&item.expression, &mut place)?;
            if !expression.is_constant() {
                keys.push(SortKey { expression, descending: item.descending });
            }
        }
        Ok(keys)
    }
}

/// Which rows a statement changes, in which order.
struct ModifiedRows {
    selection: Option<Expression>,
    order_by: Vec<SortKey>,
    limit: Limit,
}

impl ModifiedRows {
    /// How they are found without a query.
    fn access(&self, table: Arc<TableDefinition>, alias: String) -> (TableAccess, Option<ScanDirection>) {
        let is_limited = self.limit.count.is_some();
        let wanted = Wanted { order_by: &self.order_by, is_limited, purpose: Purpose::Lock };
        access_path::access(table, alias, self.selection.clone(), &wanted)
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
        Change { verb, draft, scope, targets: vec![(0, assigned)], selection, order_by, limit }
    }
}
