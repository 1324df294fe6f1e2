//! UPDATE and DELETE whose rows a query finds: of several tables, or with subqueries.
//!
//! The query gives, for each table that is changed, its primary key, the other columns of it that the statement reads,
//! and the values that SET assigns. These columns tell later whether the row is still the one that was found.

use super::expression::Place;
use super::scope::{Scope, same_name};
use super::select::Body;
use super::{Binder, Bound, Clause, ColumnUse, item_column, system_table_rejected};
use crate::algebra::Draft;
use crate::join_order::TableOrder;
use crate::plan::{ChangePlan, ChangeVerb, FoundTable, Limit, Plan, SortKey, Target};
use crate::privileges;
use crate::statement::{Assignment, ChangeStatement, ColumnName, TableName};
use expression::Expression;
use protocol::SqlError;
use std::sync::Arc;
use types::{ColumnIndex, SqlType, TableDefinition, TableKind};

/// SET of one table: columns, and their values in the scope's slots; None is DEFAULT.
pub(super) type Assigned = Vec<(ColumnIndex, Option<Expression>)>;

/// A change whose parts are bound.
pub(super) struct Change {
    pub(super) verb: ChangeVerb,
    pub(super) ignore: bool,
    pub(super) draft: Draft,
    pub(super) scope: Scope,
    /// Positions in the scope of the tables that are changed.
    pub(super) targets: Vec<(usize, Assigned)>,
    pub(super) conjuncts: Vec<Expression>,
    pub(super) order_by: Vec<SortKey>,
    pub(super) limit: Limit,
}

impl Binder<'_> {
    /// UPDATE and DELETE of several tables.
    pub(crate) fn change(&mut self, change: &ChangeStatement) -> Result<Bound, SqlError> {
        let before = self.open_with(&change.with.iter().collect::<Vec<_>>())?;
        self.subqueries = Some(Vec::new());
        let from = self.bind_from(&change.from)?;
        let (draft, scope, mut conjuncts) = (from.draft, from.scope, from.late);
        let mut targets: Vec<(usize, Assigned)> = Vec::new();
        for name in change.deleted.iter().flatten() {
            let position = deleted_in(name, &scope)?;
            if !targets.iter().any(|(known, _)| *known == position) {
                targets.push((position, Vec::new()));
            }
        }
        for Assignment { column, value } in &change.assignments {
            let (position, column) = self.assigned_column(column, &scope)?;
            let mut place = Place::new(&scope, Clause::FieldList);
            let definition = scope.tables[position].definition.clone();
            let value = self.stored_value(value, column, &definition, &mut place)?;
            match targets.iter_mut().find(|(known, _)| *known == position) {
                Some((_, assigned)) => assigned.push((column, value)),
                None => targets.push((position, vec![(column, value)])),
            }
        }
        let selection = match &change.selection {
            Some(selection) => Some(self.expression(selection, &mut Place::new(&scope, Clause::Where))?),
            None => None,
        };
        conjuncts.extend(selection.map(Expression::into_conjuncts).unwrap_or_default());
        let verb = if change.deleted.is_some() { ChangeVerb::Delete } else { ChangeVerb::Update };
        let (ignore, order_by, limit) = (change.ignore, Vec::new(), Limit::default());
        self.changed(before, Change { verb, ignore, draft, scope, targets, conjuncts, order_by, limit })
    }

    /// The table of FROM that an assigned column is of.
    fn assigned_column(&self, column: &ColumnName, scope: &Scope) -> Result<(usize, ColumnIndex), SqlError> {
        let qualifier: Vec<&str> = column.qualifier.iter().map(String::as_str).collect();
        let found = scope.find(&qualifier, &column.name, Clause::FieldList)?;
        let slot = found.as_ref().and_then(Expression::as_column);
        let slot =
            slot.ok_or_else(|| super::scope::unknown_column(&qualifier, &column.name, Clause::FieldList))?;
        let is_of = |table: &super::scope::ScopeTable| {
            slot.0
                .checked_sub(table.first_slot)
                .filter(|column| usize::from(*column) < table.definition.columns.len())
        };
        let position = scope.tables.iter().position(|table| is_of(table).is_some()).unwrap_or(usize::MAX);
        let index = scope.tables.get(position).and_then(is_of).unwrap_or(u16::MAX);
        Ok((position, ColumnIndex(index)))
    }

    /// The plan of a change. It reads the common table expressions behind the first `before`.
    pub(super) fn changed(&mut self, before: usize, change: Change) -> Result<Bound, SqlError> {
        let Change { verb, ignore, draft, scope, targets, conjuncts, order_by, limit } = change;
        if self.volatile.calls > self.variables.uses {
            return Err(SqlError::unsupported("RAND() and its like in a change of rows that a query finds"));
        }
        let mut projection: Vec<Expression> = Vec::new();
        let mut planned: Vec<Target> = Vec::with_capacity(targets.len());
        for (position, assigned) in targets {
            let table = scope.tables[position].definition.clone();
            let alias = scope.tables[position].alias.clone();
            self.check_target(verb, &scope, position, &assigned)?;
            let is_same = |other: &&Target| other.found.table.id == table.id;
            if let Some(other) = planned.iter().find(is_same) {
                check_keys_stay(&table, (&other.found.alias, &alias), other, &assigned)?;
            }
            let columns = self.compared_columns(&table);
            let first = projection.len();
            projection.extend(columns.iter().map(|column| scope.tables[position].expression(*column)));
            let mut assignments: Vec<(ColumnIndex, Option<(usize, SqlType)>)> = Vec::new();
            for (column, value) in assigned {
                let value = value.map(|value| {
                    let place = (projection.len(), value.sql_type.clone());
                    projection.push(value);
                    place
                });
                assignments.push((column, value));
            }
            planned.push(Target { found: FoundTable { table, alias, first, columns }, assignments });
        }
        let columns = projection.iter().map(|item| item_column("", item)).collect();
        let body = Body {
            table_order: TableOrder::Free,
            projection,
            columns,
            grouping: None,
            windows: None,
            having: None,
            order_by,
        };
        let (mut query, _) = self.joined_plan((draft, &scope), conjuncts, body, limit, false)?;
        self.close_with(before, &mut query);
        let plan = ChangePlan { verb, ignore, query, targets: planned };
        Ok(Bound::without_rows(Plan::Change(Box::new(plan))))
    }

    /// The columns of a table that are compared under its rows' locks: the primary key, then what is read.
    pub(super) fn compared_columns(&mut self, table: &Arc<TableDefinition>) -> Vec<ColumnIndex> {
        let mut columns: Vec<ColumnIndex> = table.primary_key().iter().map(|part| part.column).collect();
        let read = self.reads_of(table).read.clone();
        let is_key = |column: &ColumnIndex| table.primary_key().iter().any(|part| part.column == *column);
        columns.extend(read.into_iter().filter(|column| !is_key(column)));
        columns
    }

    /// Refuses a table that cannot be changed, or not by this account, or not in this way.
    fn check_target(
        &self,
        verb: ChangeVerb,
        scope: &Scope,
        position: usize,
        assigned: &Assigned,
    ) -> Result<(), SqlError> {
        let target = &scope.tables[position];
        let table = &target.definition;
        if target.is_view {
            return Err(SqlError::unsupported("changes through views"));
        }
        if !target.is_table {
            let word = if verb == ChangeVerb::Update { "UPDATE" } else { "DELETE" };
            let text = format!("The target table {} of the {word} is not updatable", target.alias);
            return Err(SqlError::new(1288, text));
        }
        if table.kind != TableKind::User {
            return Err(system_table_rejected(table));
        }
        privileges::check_change(table, verb, self.context)?;
        let updated = assigned.iter().map(|(column, _)| *column).collect();
        privileges::check_columns(table, &ColumnUse { updated, ..ColumnUse::default() }, self.context)?;
        for (number, (_, value)) in assigned.iter().enumerate() {
            let read = value.as_ref().map(Expression::columns).unwrap_or_default();
            let before = assigned[..number].iter().map(|(column, _)| target.first_slot + column.0);
            if before.into_iter().any(|slot| read.iter().any(|read| read.0 == slot)) {
                let what = "SET from a column that was assigned before it, where a query finds the rows";
                return Err(SqlError::unsupported(what));
            }
        }
        Ok(())
    }
}

/// Refuses to change the keys of a table that is changed under two names: a row would be looked for by its old key.
fn check_keys_stay(
    table: &TableDefinition,
    names: (&str, &str),
    before: &Target,
    assigned: &Assigned,
) -> Result<(), SqlError> {
    let is_key = |column: ColumnIndex| table.primary_key().iter().any(|part| part.column == column);
    let mut columns = before
        .assignments
        .iter()
        .map(|(column, _)| *column)
        .chain(assigned.iter().map(|(column, _)| *column));
    if columns.any(is_key) {
        let text = format!(
            "Primary key/partition key update is not allowed since the table is updated both as '{}' and '{}'.",
            names.0, names.1
        );
        return Err(SqlError::new(1706, text));
    }
    Ok(())
}

/// The table of FROM that DELETE names: by its alias, if it has one.
fn deleted_in(name: &TableName, scope: &Scope) -> Result<usize, SqlError> {
    let is_meant = |table: &super::scope::ScopeTable| {
        same_name(&table.alias, &name.name)
            && name.database.as_ref().is_none_or(|database| table.definition.database == *database)
    };
    scope
        .tables
        .iter()
        .position(is_meant)
        .ok_or_else(|| SqlError::new(1109, format!("Unknown table '{}' in MULTI DELETE", name.name)))
}
