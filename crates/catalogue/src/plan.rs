//! From a [`DdlRequest`] to the steps of a job, with MySQL's checks; ALTER TABLE is in alter.rs, accounts are in
//! accounts.rs.
//!
//! **Invariant**: a plan's changes, applied in order to the schema it was made from, give a schema that keeps the
//! invariants of `types::schema` after every step.

use crate::error::{self, Named, check_name};
use crate::job::Step;
use crate::request::{
    CreateTable, DdlRequest, TableName, VariableChange, VariableSetting, ViewRequest, ViewVerb,
};
use crate::rows::SchemaChange;
use crate::system::is_reserved_database;
use crate::table::{self, NewTable, TableIds};
use crate::{accounts, alter, check, grant};
use protocol::SqlError;
use protocol::program::TableRef;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{
    Collation, Database, GlobalVariable, Schema, TableDefinition, TableId, TableKind, ViewDefinition,
};

/// The parts of a job.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Planned {
    pub(crate) steps: Vec<Step>,
    pub(crate) undo: Vec<Step>,
    pub(crate) notes: Vec<SqlError>,
    pub(crate) affected_rows: u64,
}

impl Planned {
    /// One schema version; none if nothing changes.
    pub(crate) fn once(changes: Vec<SchemaChange>) -> Self {
        if changes.is_empty() {
            return Self::default();
        }
        Self { steps: vec![Step::Write { changes, undo: None }, Step::Install], ..Self::default() }
    }

    /// Nothing to do, and why.
    fn note(note: SqlError) -> Self {
        Self { notes: vec![note], ..Self::default() }
    }

    pub(crate) fn with_notes(self, notes: Vec<SqlError>) -> Self {
        Self { notes, ..self }
    }
}

/// The steps that do what `request` asks.
pub(crate) fn plan(request: &DdlRequest, schema: &Schema, ids: &mut TableIds) -> Result<Planned, SqlError> {
    match request {
        DdlRequest::CreateDatabase { name, if_not_exists, collation } => {
            create_database(schema, name, *if_not_exists, *collation)
        }
        DdlRequest::DropDatabase { name, if_exists } => drop_database(schema, name, *if_exists),
        DdlRequest::AlterDatabase { name, collation } => {
            let database = changeable_database(schema, name)?;
            let changed = Database { collation: *collation, ..database.clone() };
            Ok(Planned::once(vec![SchemaChange::PutDatabase(changed)]))
        }
        DdlRequest::CreateTable(request) => create_table(schema, request, ids),
        DdlRequest::CreateTableLike { table, if_not_exists, like } => {
            create_table_like(schema, table, *if_not_exists, like, ids)
        }
        DdlRequest::DropTables { tables, if_exists } => drop_tables(schema, tables, *if_exists),
        DdlRequest::Truncate { table } => truncate(schema, table, ids),
        DdlRequest::RenameTables(pairs) => rename_tables(schema, pairs),
        DdlRequest::AlterTable { table, actions } => alter::plan(schema, table, actions, ids),
        DdlRequest::CreateUsers { users, options, if_not_exists } => {
            accounts::create(schema, users, options, *if_not_exists)
        }
        DdlRequest::DropUsers { users, if_exists } => accounts::drop("DROP USER", schema, users, *if_exists),
        DdlRequest::AlterUsers { users, options, if_exists } => {
            accounts::alter(schema, users, options, *if_exists)
        }
        DdlRequest::RenameUsers(pairs) => accounts::rename(schema, pairs),
        DdlRequest::Grant(change) => grant::grant(schema, change),
        DdlRequest::Revoke(change) => grant::revoke(schema, change),
        DdlRequest::RevokeAll { accounts } => grant::revoke_all(schema, accounts),
        DdlRequest::GrantRoles(change) => grant::grant_roles(schema, change),
        DdlRequest::RevokeRoles(change) => grant::revoke_roles(schema, change),
        DdlRequest::SetDefaultRoles { accounts, roles, mandatory } => {
            grant::set_default_roles(schema, accounts, roles, mandatory)
        }
        DdlRequest::CreateRoles { roles, if_not_exists } => {
            accounts::create_roles(schema, roles, *if_not_exists)
        }
        DdlRequest::DropRoles { roles, if_exists, mandatory } => {
            grant::check_not_mandatory(roles, mandatory)?;
            accounts::drop("DROP ROLE", schema, roles, *if_exists)
        }
        DdlRequest::SetVariables(changes) => Ok(set_variables(schema, changes)),
        DdlRequest::PutView(request) => put_view(schema, request),
        DdlRequest::DropViews { views, if_exists } => drop_views(schema, views, *if_exists),
    }
}

/// A statement in short, for the journal and for logs; without secrets.
pub(crate) fn summary(request: &DdlRequest) -> String {
    fn list<'a, T: std::fmt::Display + 'a>(items: impl IntoIterator<Item = &'a T>) -> String {
        join(items.into_iter().map(ToString::to_string), ", ")
    }
    match request {
        DdlRequest::CreateDatabase { name, .. } => format!("CREATE DATABASE {name}"),
        DdlRequest::DropDatabase { name, .. } => format!("DROP DATABASE {name}"),
        DdlRequest::AlterDatabase { name, .. } => format!("ALTER DATABASE {name}"),
        DdlRequest::CreateTable(request) => format!("CREATE TABLE {}", request.table),
        DdlRequest::CreateTableLike { table, like, .. } => format!("CREATE TABLE {table} LIKE {like}"),
        DdlRequest::DropTables { tables, .. } => format!("DROP TABLE {}", list(tables)),
        DdlRequest::Truncate { table } => format!("TRUNCATE TABLE {table}"),
        DdlRequest::RenameTables(pairs) => {
            let pairs = pairs.iter().map(|(from, to)| format!("{from} TO {to}"));
            format!("RENAME TABLE {}", join(pairs, ", "))
        }
        DdlRequest::AlterTable { table, .. } => format!("ALTER TABLE {table}"),
        DdlRequest::CreateUsers { users, .. } => {
            format!("CREATE USER {}", list(users.iter().map(|spec| &spec.user)))
        }
        DdlRequest::DropUsers { users, .. } => format!("DROP USER {}", list(users)),
        DdlRequest::AlterUsers { users, .. } => {
            format!("ALTER USER {}", list(users.iter().map(|spec| &spec.user)))
        }
        DdlRequest::Grant(change) => format!("GRANT TO {}", list(&change.accounts)),
        DdlRequest::Revoke(change) => format!("REVOKE FROM {}", list(&change.accounts)),
        DdlRequest::RevokeAll { accounts } => format!("REVOKE ALL FROM {}", list(accounts)),
        DdlRequest::GrantRoles(change) => {
            format!("GRANT {} TO {}", list(&change.roles), list(&change.accounts))
        }
        DdlRequest::RevokeRoles(change) => {
            format!("REVOKE {} FROM {}", list(&change.roles), list(&change.accounts))
        }
        DdlRequest::SetDefaultRoles { accounts, .. } => format!("SET DEFAULT ROLE TO {}", list(accounts)),
        DdlRequest::CreateRoles { roles, .. } => format!("CREATE ROLE {}", list(roles)),
        DdlRequest::DropRoles { roles, .. } => format!("DROP ROLE {}", list(roles)),
        DdlRequest::RenameUsers(pairs) => {
            let pairs = pairs.iter().map(|(from, to)| format!("{from} TO {to}"));
            format!("RENAME USER {}", join(pairs, ", "))
        }
        DdlRequest::SetVariables(changes) => {
            format!("SET GLOBAL {}", join(changes.iter().map(|change| change.name.clone()), ", "))
        }
        DdlRequest::PutView(request) => {
            let (database, name) = request.view.full_name();
            let verb = if request.verb == ViewVerb::Alter { "ALTER" } else { "CREATE" };
            format!("{verb} VIEW {database}.{name}")
        }
        DdlRequest::DropViews { views, .. } => format!("DROP VIEW {}", list(views)),
    }
}

pub(crate) fn join(items: impl IntoIterator<Item = String>, separator: &str) -> String {
    items.into_iter().collect::<Vec<_>>().join(separator)
}

// ---- variables ------------------------------------------------------------------------------------------------------

fn set_variables(schema: &Schema, changes: &[VariableChange]) -> Planned {
    let mut changed = BTreeMap::new();
    for VariableChange { name, setting } in changes {
        let before = || schema.variables.get(name).cloned().unwrap_or_default();
        let variable = changed.entry(name).or_insert_with(before);
        match setting {
            VariableSetting::Global(value) => variable.value = Some(value.clone()),
            VariableSetting::Persist(value) => {
                (variable.value, variable.persisted) = (Some(value.clone()), Some(value.clone()));
            }
            VariableSetting::PersistOnly(value) => variable.persisted = Some(value.clone()),
            VariableSetting::Reset => variable.persisted = None,
        }
    }
    let is_new = |name: &String, variable: &GlobalVariable| {
        schema.variables.get(name).map_or(*variable != GlobalVariable::default(), |before| before != variable)
    };
    let changes = changed.into_iter().filter(|(name, variable)| is_new(name, variable));
    let changes = changes.map(|(name, variable)| match variable {
        GlobalVariable { value: None, persisted: None } => SchemaChange::DropVariable { name: name.clone() },
        variable => SchemaChange::PutVariable { name: name.clone(), variable },
    });
    Planned::once(changes.collect())
}

// ---- databases ------------------------------------------------------------------------------------------------------

/// Refuses databases that belong to the server.
pub(crate) fn check_not_reserved(database: &str) -> Result<(), SqlError> {
    if is_reserved_database(database) { Err(error::reserved_database(database)) } else { Ok(()) }
}

fn changeable_database<'a>(schema: &'a Schema, name: &str) -> Result<&'a Database, SqlError> {
    check_not_reserved(name)?;
    schema.database(name).ok_or_else(|| error::unknown_database(name))
}

fn create_database(
    schema: &Schema,
    name: &str,
    if_not_exists: bool,
    collation: Option<Collation>,
) -> Result<Planned, SqlError> {
    check_name(name, Named::Database)?;
    if schema.database(name).is_some() || is_reserved_database(name) {
        let exists = error::database_exists(name);
        return if if_not_exists { Ok(Planned::note(exists)) } else { Err(exists) };
    }
    let collation = collation.unwrap_or(Collation::Utf8mb40900AiCi);
    let created =
        Planned::once(vec![SchemaChange::PutDatabase(Database { name: name.to_owned(), collation })]);
    Ok(Planned { affected_rows: 1, ..created })
}

fn drop_database(schema: &Schema, name: &str, if_exists: bool) -> Result<Planned, SqlError> {
    check_not_reserved(name)?;
    if schema.database(name).is_none() {
        let unknown = error::database_does_not_exist(name);
        return if if_exists { Ok(Planned::note(unknown)) } else { Err(unknown) };
    }
    let tables: Vec<_> = schema.tables_of(name).collect();
    let mut changes: Vec<SchemaChange> = tables.iter().flat_map(|table| drop_table_changes(table)).collect();
    changes.extend(schema.views_of(name).map(|view| drop_view_change(name, &view.table.name)));
    let affected_rows = (tables.len() + schema.views_of(name).count()) as u64;
    changes.push(SchemaChange::DropDatabase { name: name.to_owned() });
    Ok(Planned { affected_rows, ..Planned::once(changes) })
}

// ---- tables ---------------------------------------------------------------------------------------------------------

/// The table, if it is there and DDL may touch it.
pub(crate) fn changeable_table<'a>(
    schema: &'a Schema,
    name: &TableName,
) -> Result<&'a Arc<TableDefinition>, SqlError> {
    check_not_reserved(&name.database)?;
    check_no_view(schema, name)?;
    let table = schema.table(&name.database, &name.name).ok_or_else(|| error::no_such_table(name))?;
    stdx::require!(table.kind == TableKind::User, "a table outside the system database is a user table");
    Ok(table)
}

/// Refuses a view where a table must be.
fn check_no_view(schema: &Schema, name: &TableName) -> Result<(), SqlError> {
    match schema.view(&name.database, &name.name) {
        Some(_) => Err(error::not_base_table(name)),
        None => Ok(()),
    }
}

/// Refuses a name under which no new table can come: reserved or unknown database, name that is none, name that is
/// taken.
pub(crate) fn check_free(schema: &Schema, name: &TableName) -> Result<(), SqlError> {
    check_name(&name.name, Named::Table)?;
    check_not_reserved(&name.database)?;
    if schema.database(&name.database).is_none() {
        return Err(error::unknown_database(&name.database));
    }
    let is_view = schema.view(&name.database, &name.name).is_some();
    if is_view || schema.table(&name.database, &name.name).is_some() {
        return Err(error::table_exists(&name.name));
    }
    Ok(())
}

fn new_table_changes(new: NewTable, first: u64) -> Vec<SchemaChange> {
    let sequence = new.definition.has_sequence();
    let id = new.definition.id;
    let mut changes = vec![SchemaChange::PutTable(new.definition)];
    changes.extend(new.hidden.into_iter().map(SchemaChange::PutTable));
    if sequence {
        changes.push(SchemaChange::PutSequence { table: id, next: first.max(1) });
    }
    changes
}

pub(crate) fn drop_table_changes(table: &TableDefinition) -> Vec<SchemaChange> {
    let hidden = table.hidden_tables().map(|table| SchemaChange::DropTable { table });
    let mut changes = vec![SchemaChange::DropTable { table: table.id }];
    changes.extend(hidden);
    if table.has_sequence() {
        changes.push(SchemaChange::DropSequence { table: table.id });
    }
    changes
}

/// IF NOT EXISTS makes a note of 1050 and nothing else.
fn unless_exists(checked: Result<(), SqlError>, if_not_exists: bool) -> Result<Option<Planned>, SqlError> {
    match checked {
        Ok(()) => Ok(None),
        Err(exists) if exists.code == 1050 && if_not_exists => Ok(Some(Planned::note(exists))),
        Err(other) => Err(other),
    }
}

fn create_table(schema: &Schema, request: &CreateTable, ids: &mut TableIds) -> Result<Planned, SqlError> {
    if let Some(exists) = unless_exists(check_free(schema, &request.table), request.if_not_exists)? {
        return Ok(exists);
    }
    let new = table::create(request, schema, ids)?;
    let first = request.options.auto_increment.unwrap_or(1);
    Ok(if request.is_filled {
        create_filled(new, first)
    } else {
        Planned::once(new_table_changes(new, first))
    })
}

/// CREATE TABLE … SELECT: the table is there without a name until it has its rows.
fn create_filled(new: NewTable, first: u64) -> Planned {
    let NewTable { definition, hidden } = new;
    let table = TableRef { id: definition.id, version: definition.version };
    let undo = vec![Step::Write { changes: drop_table_changes(&definition), undo: None }, Step::Install];
    let named = TableDefinition { version: definition.version + 1, ..definition.clone() };
    let unnamed = NewTable { definition: TableDefinition { kind: TableKind::New, ..definition }, hidden };
    let steps = vec![
        Step::Write { changes: new_table_changes(unnamed, first), undo: Some(0) },
        Step::Install,
        Step::Fill(table),
        Step::Write { changes: vec![SchemaChange::PutTable(named)], undo: None },
        Step::Install,
    ];
    Planned { steps, undo, ..Planned::default() }
}

fn create_table_like(
    schema: &Schema,
    name: &TableName,
    if_not_exists: bool,
    like: &TableName,
    ids: &mut TableIds,
) -> Result<Planned, SqlError> {
    check_no_view(schema, like)?;
    let source = schema.table(&like.database, &like.name).ok_or_else(|| error::no_such_table(like))?;
    if let Some(exists) = unless_exists(check_free(schema, name), if_not_exists)? {
        return Ok(exists);
    }
    let slots = schema.slots_for_new_table(ids.terms);
    Ok(Planned::once(new_table_changes(table::copy(source, name, slots, ids), 1)))
}

fn drop_tables(schema: &Schema, names: &[TableName], if_exists: bool) -> Result<Planned, SqlError> {
    let mut dropped = BTreeMap::new();
    let mut unknown = Vec::new();
    for name in names {
        check_not_reserved(&name.database)?;
        match schema.table(&name.database, &name.name) {
            Some(table) if dropped.insert(table.id, table).is_none() => {}
            Some(_) => return Err(SqlError::new(1066, format!("Not unique table/alias: '{}'", name.name))),
            None => unknown.push(name),
        }
    }
    if !unknown.is_empty() && !if_exists {
        return Err(error::unknown_table(&join(unknown.iter().map(ToString::to_string), ",")));
    }
    let changes = dropped.values().flat_map(|table| drop_table_changes(table)).collect();
    let notes = unknown.iter().map(|name| error::unknown_table(&name.to_string())).collect();
    Ok(Planned::once(changes).with_notes(notes))
}

fn truncate(schema: &Schema, name: &TableName, ids: &mut TableIds) -> Result<Planned, SqlError> {
    if schema.view(&name.database, &name.name).is_some() {
        return Err(error::no_such_table(name));
    }
    let old = changeable_table(schema, name)?;
    let mut changes = drop_table_changes(old);
    changes.extend(new_table_changes(table::copy(old, name, old.slots, ids), 1));
    Ok(Planned::once(changes))
}

fn rename_tables(schema: &Schema, pairs: &[(TableName, TableName)]) -> Result<Planned, SqlError> {
    let mut working = schema.clone();
    let mut renamed: BTreeMap<TableId, ()> = BTreeMap::new();
    let mut of_views = Vec::new();
    for (from, to) in pairs {
        if let Some(view) = working.view(&from.database, &from.name).cloned() {
            let changes = rename_view(&working, &view, to)?;
            changes.iter().for_each(|change| change.apply(&mut working));
            of_views.extend(changes);
            continue;
        }
        let table = Arc::clone(changeable_table(&working, from)?);
        check_free(&working, to)?;
        for moved in move_table(&working, &table, to) {
            renamed.insert(moved.id, ());
            working.put_table(Arc::new(moved));
        }
    }
    let final_version = |id: &TableId| {
        let (old, new) = (schema.table_by_id(*id)?, working.table_by_id(*id)?);
        Some(SchemaChange::PutTable(TableDefinition { version: old.version + 1, ..(**new).clone() }))
    };
    of_views.extend(renamed.keys().filter_map(final_version));
    Ok(Planned::once(of_views))
}

/// A table and its hidden tables under another name.
pub(crate) fn move_table(schema: &Schema, table: &TableDefinition, to: &TableName) -> Vec<TableDefinition> {
    let mut moved = vec![TableDefinition {
        version: table.version + 1,
        database: to.database.clone(),
        name: to.name.clone(),
        ..table.clone()
    }];
    check::rename(&mut moved[0], &table.name);
    if table.database != to.database {
        let hidden = table.hidden_tables().filter_map(|id| schema.table_by_id(id));
        moved.extend(hidden.map(|hidden| TableDefinition {
            version: hidden.version + 1,
            database: to.database.clone(),
            ..(**hidden).clone()
        }));
    }
    moved
}

// ---- views ---------------------------------------------------------------------------------------------------------

/// CREATE VIEW, ALTER VIEW.
fn put_view(schema: &Schema, request: &ViewRequest) -> Result<Planned, SqlError> {
    let ViewRequest { verb, view } = request;
    let name = TableName::new(&view.table.database, &view.table.name);
    check_not_reserved(&name.database)?;
    let is_table = schema.table(&name.database, &name.name).is_some();
    let is_view = schema.view(&name.database, &name.name).is_some();
    match verb {
        ViewVerb::Create => check_free(schema, &name)?,
        ViewVerb::CreateOrReplace | ViewVerb::Alter if is_table => return Err(error::not_view(&name)),
        ViewVerb::Alter if !is_view => return Err(error::no_such_table(&name)),
        ViewVerb::CreateOrReplace if !is_view => check_free(schema, &name)?,
        ViewVerb::CreateOrReplace | ViewVerb::Alter => {}
    }
    for column in &view.table.columns {
        check_name(&column.name, Named::Column)?;
    }
    Ok(Planned::once(vec![SchemaChange::PutView(view.clone())]))
}

/// DROP VIEW.
fn drop_views(schema: &Schema, names: &[TableName], if_exists: bool) -> Result<Planned, SqlError> {
    let mut dropped = BTreeMap::new();
    let mut unknown = Vec::new();
    for name in names {
        check_not_reserved(&name.database)?;
        if schema.view(&name.database, &name.name).is_some() {
            if dropped.insert((&name.database, &name.name), ()).is_some() {
                return Err(SqlError::new(1066, format!("Not unique table/alias: '{}'", name.name)));
            }
        } else if schema.table(&name.database, &name.name).is_some() {
            return Err(error::not_view(name));
        } else {
            unknown.push(name);
        }
    }
    if !unknown.is_empty() && !if_exists {
        return Err(error::unknown_table(&join(unknown.iter().map(ToString::to_string), ",")));
    }
    let changes = dropped.into_keys().map(|(database, name)| drop_view_change(database, name)).collect();
    let notes = unknown.iter().map(|name| error::unknown_table(&name.to_string())).collect();
    Ok(Planned::once(changes).with_notes(notes))
}

/// The change that drops a view.
fn drop_view_change(database: &str, name: &str) -> SchemaChange {
    SchemaChange::DropView { database: database.to_owned(), name: name.to_owned() }
}

/// RENAME TABLE of a view: within its database.
fn rename_view(
    schema: &Schema,
    view: &ViewDefinition,
    to: &TableName,
) -> Result<Vec<SchemaChange>, SqlError> {
    let (database, name) = view.full_name();
    if database != to.database {
        let text = format!("Changing schema from '{database}' to '{}' is not allowed.", to.database);
        return Err(SqlError::new(1450, text));
    }
    check_free(schema, to)?;
    let table = TableDefinition { name: to.name.clone(), ..(*view.table).clone() };
    let moved = ViewDefinition { table: Arc::new(table), ..view.clone() };
    Ok(vec![drop_view_change(database, name), SchemaChange::PutView(moved)])
}
