//! SET, SHOW, KILL, ANALYZE TABLE.

use super::expression::Place;
use super::scope::Scope;
use super::{Binder, Bound, Clause, NamedTable, computed_column};
use crate::plan::{Plan, SetItem, SetTarget, Show, ShowPlan, TableMaintenance};
use crate::statement::{SetStatementItem, ShowStatement, TableName, TableReference};
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use protocol::program::LockMode;
use sqlparser::ast::{Expr, Value as AstValue};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use types::{
    Collation, ColumnDefinition, ColumnFlags, DefaultValue, NumberFormat, TableDefinition, TableId, TableKind,
};

impl Binder<'_> {
    pub(crate) fn set(&mut self, items: &[SetStatementItem]) -> Result<Bound, SqlError> {
        let scope = Scope::default();
        self.subqueries = Some(Vec::new());
        let mut bound = Vec::with_capacity(items.len());
        let mut assigned = Vec::new();
        for item in items {
            if item.value.as_ref().is_some_and(|value| names_one_of(value, &assigned)) {
                return Err(SqlError::unsupported("SET that reads a user variable that it sets before"));
            }
            if let SetTarget::User(name) = &item.target {
                assigned.push(format!("@{name}"));
            }
            let value = match &item.value {
                Some(value) => Some(self.expression(value, &mut Place::new(&scope, Clause::FieldList))?),
                None => None,
            };
            bound.push(SetItem { target: item.target.clone(), value });
        }
        if self.subqueries.as_ref().is_some_and(|subqueries| !subqueries.is_empty()) {
            return self.set_by_query(bound, &scope);
        }
        Ok(Bound::without_rows(Plan::Set(bound)))
    }

    /// SET with subqueries: its values are the items of a SELECT without FROM, and its variables are set to the row.
    fn set_by_query(&mut self, items: Vec<SetItem>, scope: &Scope) -> Result<Bound, SqlError> {
        let mut projection: Vec<Expression> = Vec::with_capacity(items.len());
        let mut sets = Vec::with_capacity(items.len());
        for SetItem { target, value } in items {
            let value = match value {
                Some(value) => {
                    let slot = u16::try_from(projection.len())
                        .map_err(|_| SqlError::new(1117, "Too many columns"))?;
                    let column = Expression::column(ColumnSlot(slot), value.sql_type.clone(), value.nullable);
                    projection.push(value);
                    Some(column.localised())
                }
                None => None,
            };
            sets.push(SetItem { target, value });
        }
        self.variables.sets = sets;
        let (plan, columns) = self.row_of(projection, scope)?;
        Ok(Bound { plan: Plan::Select(Box::new(plan)), columns })
    }

    /// Each table once, in the stronger of its modes. Tables that are made when read need no lock.
    pub(crate) fn lock_tables(&mut self, tables: &[(TableReference, LockMode)]) -> Result<Bound, SqlError> {
        let mut locked: Vec<(Arc<TableDefinition>, LockMode)> = Vec::new();
        let mut positions: BTreeMap<TableId, usize> = BTreeMap::new();
        let mut names: BTreeSet<String> = BTreeSet::new();
        for (table, mode) in tables {
            let name = table.alias.as_ref().unwrap_or(&table.name.name);
            let database = table.name.database.as_deref().or(self.context.database).unwrap_or_default();
            let name = format!("{database}.{name}");
            if names.contains(&name) {
                let text = format!(
                    "Not unique table/alias: '{}'",
                    name.trim_start_matches(database).trim_start_matches('.')
                );
                return Err(SqlError::new(1066, text));
            }
            names.insert(name);
            let definitions = match self.named_table(&table.name)? {
                NamedTable::Virtual(..) if *mode == LockMode::Shared => continue,
                // Nobody else uses it.
                NamedTable::Stored(table) if table.id.is_temporary() => continue,
                NamedTable::View(view) => self.tables_of_view(&view)?,
                NamedTable::Stored(_) | NamedTable::Virtual(..) => vec![self.stored_table(&table.name)?],
            };
            for definition in definitions {
                let position = *positions.entry(definition.id).or_insert(locked.len());
                match locked.get_mut(position) {
                    Some((_, known)) => *known = (*known).max(*mode),
                    None => locked.push((definition, *mode)),
                }
            }
        }
        Ok(Bound::without_rows(Plan::LockTables(locked)))
    }

    pub(crate) fn kill(&mut self, connection: &Expr, query_only: bool) -> Result<Bound, SqlError> {
        let number = match connection {
            Expr::Value(value) => match &value.value {
                AstValue::Number(digits, _) => digits.parse().ok(),
                _ => None,
            },
            _ => None,
        };
        let connection =
            number.ok_or_else(|| SqlError::unsupported("KILL of anything but a literal connection id"))?;
        Ok(Bound::without_rows(Plan::Kill { connection, query_only }))
    }

    pub(crate) fn show(&mut self, show: &ShowStatement) -> Result<Bound, SqlError> {
        let mut what = show.what.clone();
        if let Show::Grants { account: account @ None, .. } | Show::CreateUser { account: account @ None } =
            &mut what
        {
            let (user, host) = self.context.user;
            *account = Some((user.to_owned(), host.to_owned()));
        }
        if let Show::Grants { account: Some(account), using } = &what {
            self.check_shown_grants(account, using)?;
        }
        if let Some(database) = shown_database(&mut what) {
            if show.database_missing {
                self.current_database()?.clone_into(database);
            }
            self.known_database(database)?;
        }
        if let Show::Columns { database, table, .. }
        | Show::Indexes { database, table }
        | Show::CreateTable { database, table } = &what
        {
            let name = TableName { database: Some(database.clone()), name: table.clone() };
            if let (NamedTable::View(view), Show::CreateTable { .. }) = (self.named_table(&name)?, &what) {
                what = self.shown_view(&view)?;
            }
        }
        if let Show::CreateView { database, view, .. } = &what {
            let name = TableName { database: Some(database.clone()), name: view.clone() };
            match self.named_table(&name)? {
                NamedTable::View(view) => what = self.shown_view(&view)?,
                NamedTable::Stored(_) | NamedTable::Virtual(..) => {
                    return Err(SqlError::new(1347, format!("'{database}.{view}' is not VIEW")));
                }
            }
        }
        let columns = self.context.surroundings.show_columns(&what);
        let filter = match &show.filter {
            Some(filter) => {
                let scope = Scope::of_table(Arc::new(result_table(&columns)), None);
                Some(self.expression(filter, &mut Place::new(&scope, Clause::Where))?)
            }
            None => None,
        };
        let columns =
            columns.into_iter().map(|(name, sql_type)| computed_column(name, sql_type, true)).collect();
        let plan = ShowPlan { what, like: show.like.clone(), filter };
        Ok(Bound { plan: Plan::Show(Box::new(plan)), columns })
    }

    pub(crate) fn maintenance(
        &mut self,
        operation: TableMaintenance,
        tables: &[TableName],
    ) -> Result<Bound, SqlError> {
        let mut named = Vec::with_capacity(tables.len());
        for table in tables {
            let database = match &table.database {
                Some(database) => database.clone(),
                None => self.current_database()?.to_owned(),
            };
            named.push((database, table.name.clone()));
        }
        let what = Show::Maintenance { operation, tables: named };
        let columns = self.context.surroundings.show_columns(&what);
        let columns =
            columns.into_iter().map(|(name, sql_type)| computed_column(name, sql_type, true)).collect();
        Ok(Bound { plan: Plan::Show(Box::new(ShowPlan { what, like: None, filter: None })), columns })
    }
}

/// Whether the expression may read one of these user variables. All values of a SET are taken before it sets anything.
fn names_one_of(value: &Expr, variables: &[String]) -> bool {
    if variables.is_empty() {
        return false;
    }
    let text = value.to_string().to_lowercase().replace(['`', '\'', '"'], "");
    variables.iter().any(|variable| text.contains(variable.as_str()))
}

/// The database that a SHOW is about.
fn shown_database(what: &mut Show) -> Option<&mut String> {
    match what {
        Show::Tables { database, .. }
        | Show::Columns { database, .. }
        | Show::Indexes { database, .. }
        | Show::CreateTable { database, .. }
        | Show::CreateView { database, .. }
        | Show::CreateDatabase { database }
        | Show::TableStatus { database }
        | Show::Nothing { database: Some(database), .. } => Some(database),
        Show::Databases
        | Show::Variables { .. }
        | Show::Status
        | Show::Diagnostics { .. }
        | Show::DiagnosticsCount(_)
        | Show::Engines
        | Show::EngineStatus(_)
        | Show::CharacterSets
        | Show::Collations
        | Show::ProcessList
        | Show::Grants { .. }
        | Show::CreateUser { .. }
        | Show::Privileges
        | Show::Plugins
        | Show::Maintenance { .. }
        | Show::Nothing { database: None, .. } => None,
    }
}

/// The result of a SHOW as a table, for its WHERE.
pub(crate) fn result_table(columns: &[(String, types::SqlType)]) -> TableDefinition {
    let column = |(name, sql_type): &(String, types::SqlType)| result_column(name, sql_type.clone(), true);
    table_of_columns("", columns.iter().map(column).collect())
}

/// A column that no table has.
pub(crate) fn result_column(name: &str, sql_type: types::SqlType, nullable: bool) -> ColumnDefinition {
    ColumnDefinition {
        name: name.to_owned(),
        sql_type,
        default: DefaultValue::Missing,
        flags: ColumnFlags { nullable, ..ColumnFlags::default() },
        comment: String::new(),
        format: NumberFormat::default(),
        absent: None,
    }
}

/// Columns of a result as a table that nobody stores.
pub(crate) fn table_of_columns(name: &str, columns: Vec<ColumnDefinition>) -> TableDefinition {
    TableDefinition {
        id: TableId(0),
        version: 0,
        database: String::new(),
        name: name.to_owned(),
        kind: TableKind::User,
        columns,
        indexes: Vec::new(),
        auto_increment: None,
        comment: String::new(),
        collation: Collation::Utf8mb40900AiCi,
        slots: types::TableSlots::default(),
        copied_to: None,
        checks: Vec::new(),
    }
}
