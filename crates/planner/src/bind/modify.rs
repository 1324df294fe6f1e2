//! UPDATE and DELETE of one table.

use super::expression::{Aliases, Place};
use super::scope::Scope;
use super::{Binder, Bound, Clause, VolatilePlace, has_computed_default};
use crate::access_path::{self, Purpose, Wanted};
use crate::plan::{
    ColumnAssignment, DeletePlan, Limit, Plan, ScanDirection, SortKey, TableAccess, UpdatePlan,
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
        let alias = scope.table().map_or_else(String::new, |table| table.alias.clone());
        let mut assignments = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let column = self.own_column(&assignment.column, &table, &alias)?;
            self.uses.updated.insert(column);
            let mut place = Place::new(&scope, Clause::FieldList);
            let value = self.stored_value(&assignment.value, column, &table, &mut place)?;
            assignments.push(ColumnAssignment { column, value });
        }
        let rows = self.modified_rows(
            table,
            alias,
            &scope,
            update.selection.as_ref(),
            &update.order_by,
            update.limit.as_ref(),
        )?;
        let plan = UpdatePlan {
            access: rows.access,
            assignments,
            order_by: rows.order_by,
            order_by_index: rows.order_by_index,
            limit: rows.limit,
            ignore: update.ignore,
        };
        Ok(Bound::without_rows(Plan::Update(Box::new(plan))))
    }

    pub(crate) fn delete(&mut self, delete: &DeleteStatement) -> Result<Bound, SqlError> {
        let (table, scope) = self.modified_table(&delete.table)?;
        self.volatile_place = VolatilePlace::Rows;
        let alias = scope.table().map_or_else(String::new, |table| table.alias.clone());
        let rows = self.modified_rows(
            table,
            alias,
            &scope,
            delete.selection.as_ref(),
            &delete.order_by,
            delete.limit.as_ref(),
        )?;
        let plan = DeletePlan {
            access: rows.access,
            order_by: rows.order_by,
            order_by_index: rows.order_by_index,
            limit: rows.limit,
        };
        Ok(Bound::without_rows(Plan::Delete(Box::new(plan))))
    }

    fn modified_table(&self, reference: &TableReference) -> Result<(Arc<TableDefinition>, Scope), SqlError> {
        let table = self.stored_table(&reference.name)?;
        let scope = Scope::of_table(table.clone(), reference.alias.as_deref());
        Ok((table, scope))
    }

    fn modified_rows(
        &mut self,
        table: Arc<TableDefinition>,
        alias: String,
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
        let wanted = Wanted { order_by: &order_by, is_limited: count.is_some(), purpose: Purpose::Lock };
        let (access, order_by_index) = access_path::access(table, alias, selection, &wanted);
        Ok(ModifiedRows { access, order_by, order_by_index, limit: Limit { count, offset: None } })
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
    access: TableAccess,
    order_by: Vec<SortKey>,
    order_by_index: Option<ScanDirection>,
    limit: Limit,
}
