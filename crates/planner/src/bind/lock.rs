//! FOR UPDATE and FOR SHARE over joins and beside subqueries: the query that finds the rows, and the tables that are
//! locked. Derived tables, common tables and tables that are made when read have no rows to lock.

use super::scope::{Scope, same_name};
use super::select::{Body, lock_of};
use super::{Binder, system_table_rejected};
use crate::algebra::Draft;
use crate::plan::{FoundTable, Limit, LockedQuery, Relation, ResultColumn, SelectPlan, Source, Steps};
use crate::privileges;
use crate::statement::TableName;
use crate::steps::steps_of;
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use protocol::program::{LockMode, LockWait};
use sqlparser::ast::{LockClause, LockType, ObjectNamePart};
use std::sync::Arc;
use types::TableKind;

/// The tables of a scope that are locked, by position, and how.
pub(super) type TableLocks = Vec<(usize, (LockMode, LockWait))>;

impl Binder<'_> {
    /// The tables that the locking clauses of a SELECT mean.
    pub(super) fn table_locks(
        &self,
        clauses: &[LockClause],
        in_share_mode: bool,
        scope: &Scope,
    ) -> Result<TableLocks, SqlError> {
        let shared = (LockMode::Shared, LockWait::Wait { timeout_ms: 0 });
        let mut locks: TableLocks = Vec::new();
        if in_share_mode {
            let all = (0..scope.tables.len()).map(|position| (position, shared));
            locks.extend(all);
        }
        for clause in clauses {
            let meant = match &clause.of {
                None => (0..scope.tables.len()).collect(),
                Some(of) => vec![named_in(&of.0, scope)?],
            };
            for position in meant {
                if locks.iter().any(|(known, _)| *known == position) {
                    let name = &scope.tables[position].alias;
                    let text = format!("Table {name} appears in multiple locking clauses.");
                    return Err(SqlError::new(3569, text));
                }
                locks.push((position, lock_of(clause)));
            }
        }
        if locks.iter().any(|(position, _)| scope.tables[*position].is_view) {
            return Err(SqlError::unsupported("FOR UPDATE and FOR SHARE of views"));
        }
        locks.retain(|(position, _)| {
            let table = &scope.tables[*position];
            let stored = self.context.schema.table(&table.definition.database, &table.definition.name);
            let is_stored = stored.is_some_and(|stored| stored.id == table.definition.id);
            table.is_table && (is_stored || table.definition.id.is_temporary())
        });
        for (position, (mode, _)) in &locks {
            let table = &scope.tables[*position].definition;
            if table.kind != TableKind::User {
                return Err(system_table_rejected(table));
            }
            let name = TableName { database: Some(table.database.clone()), name: table.name.clone() };
            let lock = if *mode == LockMode::Exclusive { LockType::Update } else { LockType::Share };
            privileges::check_read(&name, Some(lock), self.context)?;
        }
        locks.sort_unstable_by_key(|(position, _)| *position);
        Ok(locks)
    }

    /// The plan of a SELECT of which some tables are locked.
    pub(super) fn locked_plan(
        &mut self,
        (draft, scope): (Draft, &Scope),
        conjuncts: Vec<Expression>,
        mut body: Body,
        limit: Limit,
        locks: TableLocks,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        if body.grouping.is_some() || body.windows.is_some() {
            return Err(SqlError::unsupported("FOR UPDATE and FOR SHARE over groups of joined rows"));
        }
        let width = body.projection.len();
        let first_lock = locks.first().map(|(_, lock)| *lock);
        let mut tables = Vec::with_capacity(locks.len());
        for (position, lock) in locks {
            let own = &scope.tables[position];
            let (table, alias) = (Arc::clone(&own.definition), own.alias.clone());
            let columns = self.compared_columns(&table);
            let first = body.projection.len();
            body.projection.extend(columns.iter().map(|column| own.expression(*column)));
            tables.push((FoundTable { table, alias, first, columns }, lock));
        }
        let (query, columns) = self.joined_plan((draft, scope), conjuncts, body, limit, false)?;
        let item = |(position, item): (u16, &Expression)| {
            Expression::column(ColumnSlot(position), item.sql_type.clone(), true)
        };
        let projection: Vec<Expression> = (0..).zip(&query.projection).take(width).map(item).collect();
        let relation = Relation::Locked(Arc::new(LockedQuery { query, width, tables }));
        let mut plan = SelectPlan {
            source: Source::Joined { relation, filter: Vec::new() },
            grouping: None,
            over_groups: None,
            windows: None,
            projection,
            distinct: false,
            having: None,
            order_by: Vec::new(),
            order_by_index: None,
            limit: Limit::default(),
            lock: first_lock,
            counts_found: false,
            steps: Box::<Steps>::default(),
        };
        plan.steps = Box::new(steps_of(&plan, false));
        Ok((plan, columns))
    }
}

/// The table of FROM that OF names: by its alias, if it has one.
fn named_in(name: &[ObjectNamePart], scope: &Scope) -> Result<usize, SqlError> {
    let parts: Vec<&str> = name
        .iter()
        .filter_map(|part| match part {
            ObjectNamePart::Identifier(name) => Some(name.value.as_str()),
            ObjectNamePart::Function(_) => None,
        })
        .collect();
    let (database, name) = match parts.as_slice() {
        [name] => (None, *name),
        [database, name] => (Some(*database), *name),
        _ => (None, ""),
    };
    let position = scope.tables.iter().position(|table| {
        same_name(&table.alias, name) && database.is_none_or(|database| table.definition.database == database)
    });
    position.ok_or_else(|| SqlError::new(3568, format!("Unresolved table name {name} in locking clause.")))
}
