//! Changes through views: the row that is changed is one of the table behind the view.
//!
//! ```text
//! view's columns ─► items over the slots of its table ─► columns of the table, if the items are columns
//! view's conditions ─► which rows there are, and with CHECK OPTION what a row must be after the change
//! ```
//! A view can be changed if it is merged and there is one table behind it, perhaps with views between. The account
//! needs the privilege on the view. The definer of each view needs it on what the view reads.

use super::scope::{Scope, unknown_column};
use super::select::FromTable;
use super::{Binder, Clause, ColumnUse, NamedTable, system_table_rejected};
use crate::algebra::Draft;
use crate::bind::from::Part;
use crate::plan::ViewCondition;
use crate::privileges;
use crate::statement::ColumnName;
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use sqlparser::ast::{SetExpr, TableFactor};
use std::sync::Arc;
use types::{ColumnIndex, Privileges, TableDefinition, TableKind, ViewCheck, ViewDefinition};

/// A statement that changes rows through a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Insert,
    Update,
    Delete,
}

impl Verb {
    fn privilege(self) -> Privileges {
        match self {
            Verb::Insert => Privileges::INSERT,
            Verb::Update => Privileges::UPDATE,
            Verb::Delete => Privileges::DELETE,
        }
    }

    /// 1471, 1288.
    fn refused(self, alias: &str) -> SqlError {
        match self {
            Verb::Insert => {
                SqlError::new(1471, format!("The target table {alias} of the INSERT is not insertable-into"))
            }
            Verb::Update => {
                SqlError::new(1288, format!("The target table {alias} of the UPDATE is not updatable"))
            }
            Verb::Delete => {
                SqlError::new(1288, format!("The target table {alias} of the DELETE is not updatable"))
            }
        }
    }
}

/// The table that a statement changes, and the names that it sees.
pub(super) struct Changed {
    pub(super) table: Arc<TableDefinition>,
    pub(super) scope: Scope,
    /// The table is changed through this view.
    pub(super) view: Option<ChangedView>,
}

/// A view that is changed.
pub(super) struct ChangedView {
    pub(super) definition: Arc<ViewDefinition>,
    /// The rows that it shows.
    pub(super) conditions: Vec<Expression>,
    /// The rows that may be made through it.
    pub(super) check: Option<ViewCondition>,
}

impl Binder<'_> {
    /// The table that INSERT, UPDATE or DELETE names.
    pub(super) fn changed_table(
        &mut self,
        name: &crate::statement::TableName,
        alias: Option<&str>,
        verb: Verb,
    ) -> Result<Changed, SqlError> {
        let NamedTable::View(view) = self.named_table(name)? else {
            let table = self.stored_table(name)?;
            return Ok(Changed { scope: Scope::of_table(Arc::clone(&table), alias), table, view: None });
        };
        let shown = alias.unwrap_or(&view.table.name).to_owned();
        let Part { draft, scope, .. } = self.view(&view, alias, &mut 0)?;
        let table = match draft {
            Draft::Table { table, first_slot: 0, .. } if view.is_updatable => table,
            Draft::Join { .. } if verb == Verb::Delete => {
                let (database, name) = view.full_name();
                let text = format!("Can not delete from join view '{database}.{name}'");
                return Err(SqlError::new(1395, text));
            }
            Draft::Join { .. } => {
                return Err(SqlError::unsupported("changes through views of several tables"));
            }
            Draft::Table { .. } | Draft::Query { .. } | Draft::One => return Err(verb.refused(&shown)),
        };
        if table.kind != TableKind::User {
            return Err(system_table_rejected(&table));
        }
        let behind = self.behind(&view, verb)?;
        let check = (!behind.checked.is_empty() && verb != Verb::Delete).then(|| {
            let (database, name) = view.full_name();
            let condition = Expression::and(behind.checked);
            ViewCondition { condition, view: format!("{database}.{name}") }
        });
        let (definition, conditions) = (view, behind.shown);
        Ok(Changed { table, scope, view: Some(ChangedView { definition, conditions, check }) })
    }

    /// The conditions of a view and of those behind it, whose definers must have the privilege on what they read.
    fn behind(&mut self, view: &Arc<ViewDefinition>, verb: Verb) -> Result<Behind, SqlError> {
        let Part { draft, .. } = self.view(view, None, &mut 0)?;
        let Draft::Table { filter: shown, .. } = draft else { return Err(verb.refused(&view.table.name)) };
        let inner = self.in_view(view, |binder| {
            let name = binder.table_of_view(view)?;
            let named = binder.named_table(&name)?;
            privileges::check_through(named.definition(), verb.privilege(), binder.context)?;
            match named {
                NamedTable::View(inner) => binder.behind(&inner, verb),
                NamedTable::Stored(_) | NamedTable::Virtual(..) => Ok(Behind::default()),
            }
        });
        let inner = inner.map_err(|error| super::view::invalid_view(error, view))?;
        // Those of the views behind it come first.
        let own = shown.get(inner.shown.len()..).unwrap_or_default();
        let checked = match view.check {
            ViewCheck::Cascaded => shown.clone(),
            ViewCheck::Local => inner.checked.into_iter().chain(own.iter().cloned()).collect(),
            ViewCheck::None => inner.checked,
        };
        Ok(Behind { shown, checked })
    }

    /// The only table in the query of a view.
    fn table_of_view(&self, view: &ViewDefinition) -> Result<crate::statement::TableName, SqlError> {
        let query = self.stored_query(view)?;
        let relation = match &*query.body {
            SetExpr::Select(select) => select.from.first().map(|from| &from.relation),
            _ => None,
        };
        let Some(relation @ TableFactor::Table { .. }) = relation else {
            return Err(SqlError::unsupported("changes through this view"));
        };
        match super::select::from_table(&view.query, relation)? {
            FromTable::Named(name, _) => Ok(name),
            FromTable::Dual => Err(SqlError::unsupported("changes through this view")),
        }
    }
}

/// Conditions over the columns of the table behind a view.
#[derive(Default)]
struct Behind {
    /// Of the rows that the view shows.
    shown: Vec<Expression>,
    /// Of the rows that may be made through it.
    checked: Vec<Expression>,
}

impl ChangedView {
    /// The column of the table that is meant by a column of the view; None: its value is computed.
    fn table_column(&self, scope: &Scope, column: ColumnIndex) -> Option<ColumnIndex> {
        let items = scope.table()?.items.as_ref()?;
        items.get(usize::from(column.0))?.as_column().map(|slot: ColumnSlot| ColumnIndex(slot.0))
    }

    /// The columns that INSERT without a list means. All columns of the view must be columns of the table, each
    /// another.
    pub(super) fn all_columns(&self, scope: &Scope) -> Result<Vec<ColumnIndex>, SqlError> {
        let refused = || Verb::Insert.refused(&self.definition.table.name);
        let count = u16::try_from(self.definition.table.columns.len()).unwrap_or(u16::MAX);
        let mut columns = Vec::with_capacity(usize::from(count));
        for column in (0..count).map(ColumnIndex) {
            let column = self.table_column(scope, column).ok_or_else(refused)?;
            if columns.contains(&column) {
                return Err(refused());
            }
            columns.push(column);
        }
        Ok(columns)
    }
}

impl Changed {
    /// The name of the table in the statement.
    pub(super) fn alias(&self) -> String {
        self.scope.table().map_or_else(String::new, |table| table.alias.clone())
    }

    /// The columns as the statement sees them: those of the view or those of the table.
    pub(super) fn seen(&self) -> Arc<TableDefinition> {
        let seen = self.scope.table().map(|table| Arc::clone(&table.definition));
        seen.unwrap_or_else(|| Arc::clone(&self.table))
    }
}

impl Binder<'_> {
    /// A column that is assigned, as the statement sees it and in the table: 1348 if a view computes it.
    pub(super) fn changed_column(
        &self,
        name: &ColumnName,
        changed: &Changed,
        alias: &str,
    ) -> Result<(ColumnIndex, ColumnIndex), SqlError> {
        let seen = self.own_column(name, &changed.seen(), alias)?;
        let Some(view) = &changed.view else { return Ok((seen, seen)) };
        let column = view.table_column(&changed.scope, seen);
        let column = column.ok_or_else(|| {
            let seen = changed.scope.table().map(|table| table.definition.column_at(seen).name.clone());
            SqlError::new(1348, format!("Column '{}' is not updatable", seen.unwrap_or_default()))
        })?;
        if changed.table.column_at(column).flags.hidden {
            return Err(unknown_column(&[], &name.name, Clause::FieldList));
        }
        Ok((seen, column))
    }

    /// Asks for the privileges on the columns of the view, instead of those on the columns of the table.
    pub(super) fn check_view_columns(&mut self, changed: &Changed, uses: ColumnUse) -> Result<(), SqlError> {
        match &changed.view {
            None => {
                self.uses = uses;
                Ok(())
            }
            Some(view) => privileges::check_columns(&view.definition.table, &uses, self.context),
        }
    }
}
