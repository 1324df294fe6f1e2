//! GRANT, REVOKE and roles: from what is asked to changes of the grant tables, with MySQL's checks.
//!
//! Each statement says what an account's [`Grants`] are afterwards; the changes are the rows by which they differ from
//! what is there. So a statement that changes nothing writes nothing.
//!
//! **Invariants**: rows about an account go with it; no role is granted to itself, directly or not; an account that may
//! administer is left (accounts.rs).
//!
//! Deliberately not here: whether the account that asks may do so, which is decided when its statement is bound
//! (`planner::privileges`).

use crate::accounts::check_administrator_left;
use crate::error;
use crate::plan::Planned;
use crate::request::{DefaultRoles, GrantLevel, PrivilegeChange, RoleChange, TableName, UserName};
use crate::rows::SchemaChange;
use crate::system::{SYSTEM_DATABASE, is_reserved_database};
use protocol::SqlError;
use std::collections::BTreeMap;
use types::{
    AdminOption, DefaultRole, GrantRow, GrantTables, Grants, Privileges, RoleEdge, Schema, TableGrants, User,
    equal_without_case,
};

/// GRANT privileges.
pub(crate) fn grant(schema: &Schema, change: &PrivilegeChange) -> Result<Planned, SqlError> {
    if change.accounts.iter().any(|account| !exists(schema, account)) {
        return Err(error::cannot_create_user_with_grant());
    }
    let columns = match &change.level {
        GrantLevel::Table(table) => check_table(schema, table, change)?,
        GrantLevel::Global | GrantLevel::Database(_) => Vec::new(),
    };
    let mut changes = Vec::new();
    for account in &change.accounts {
        changes.extend(changed(schema, account, |grants| {
            match &change.level {
                GrantLevel::Global => grants.global = grants.global.with(change.privileges),
                GrantLevel::Database(database) => {
                    let held = grants.databases.entry(database.clone()).or_default();
                    *held = held.with(change.privileges);
                }
                GrantLevel::Table(TableName { database, name }) => {
                    let held = grants.tables.entry((database.clone(), name.clone())).or_default();
                    held.table = held.table.with(change.privileges);
                    for (column, privileges) in &columns {
                        let held = held.columns.entry(column.clone()).or_default();
                        *held = held.with(*privileges);
                    }
                }
            }
            grants.dynamic = grants.dynamic.with(change.dynamic);
            grants.grantable = grants.grantable.with(change.grantable).of(grants.dynamic);
        }));
    }
    Ok(Planned::once(changes))
}

/// The table must be there, unless it may be created, and so must its columns, which are named as it names them.
///
/// Tables that are made when they are read are not in the schema: the binder has looked for them.
fn check_table(
    schema: &Schema,
    name: &TableName,
    change: &PrivilegeChange,
) -> Result<Vec<(String, Privileges)>, SqlError> {
    let is_virtual = is_reserved_database(&name.database) && name.database != SYSTEM_DATABASE;
    let view = || schema.view(&name.database, &name.name).map(|view| &view.table);
    let Some(table) = schema.table(&name.database, &name.name).or_else(view) else {
        if is_virtual || change.privileges.has(Privileges::CREATE) && change.columns.is_empty() {
            return Ok(change.columns.clone());
        }
        return Err(error::no_such_table(name));
    };
    let named = |(column, privileges): &(String, Privileges)| match table.column(column) {
        Some(index) => Ok((table.column_at(index).name.clone(), *privileges)),
        None => Err(error::unknown_column(column, &name.name)),
    };
    change.columns.iter().map(named).collect()
}

/// REVOKE privileges.
pub(crate) fn revoke(schema: &Schema, change: &PrivilegeChange) -> Result<Planned, SqlError> {
    let mut changes = Vec::new();
    for account in &change.accounts {
        check_revocable(schema, account, change)?;
        changes.extend(changed(schema, account, |grants| {
            match &change.level {
                GrantLevel::Global => grants.global = grants.global.without(change.privileges),
                GrantLevel::Database(database) => {
                    if let Some(held) = grants.databases.get_mut(database) {
                        *held = held.without(change.privileges);
                    }
                }
                GrantLevel::Table(TableName { database, name }) => {
                    if let Some(held) = grants.tables.get_mut(&(database.clone(), name.clone())) {
                        revoke_from_table(held, change);
                    }
                }
            }
            grants.dynamic = grants.dynamic.without(change.dynamic);
            grants.grantable = grants.grantable.without(change.grantable).of(grants.dynamic);
        }));
    }
    check_administrator_left("REVOKE", schema, &changes)?;
    Ok(Planned::once(changes))
}

/// Revoking from a table revokes from its columns, too.
fn revoke_from_table(held: &mut TableGrants, change: &PrivilegeChange) {
    held.table = held.table.without(change.privileges);
    for (name, column) in &mut held.columns {
        let named = change.columns.iter().filter(|(named, _)| equal_without_case(named, name));
        let revoked = named.fold(change.privileges, |all, (_, privileges)| all.with(*privileges));
        *column = column.without(revoked);
    }
}

/// There must be a grant in that place: 1141, 1147.
fn check_revocable(schema: &Schema, account: &UserName, change: &PrivilegeChange) -> Result<(), SqlError> {
    let grants = schema.grants.of(account);
    match &change.level {
        GrantLevel::Global if exists(schema, account) => Ok(()),
        GrantLevel::Database(database)
            if grants.is_some_and(|grants| grants.databases.contains_key(database)) =>
        {
            Ok(())
        }
        GrantLevel::Global | GrantLevel::Database(_) => Err(error::no_such_grant(account)),
        GrantLevel::Table(TableName { database, name }) => {
            let held = grants.and_then(|grants| grants.tables.get(&(database.clone(), name.clone())));
            let has_columns = |held: &TableGrants| {
                let is_held = |name: &str| held.columns.keys().any(|held| equal_without_case(held, name));
                change.columns.iter().all(|(column, _)| is_held(column))
            };
            if held.is_some_and(has_columns) {
                Ok(())
            } else {
                Err(error::no_such_table_grant(account, name))
            }
        }
    }
}

/// REVOKE ALL PRIVILEGES, GRANT OPTION FROM: everything but roles.
pub(crate) fn revoke_all(schema: &Schema, accounts: &[UserName]) -> Result<Planned, SqlError> {
    if accounts.iter().any(|account| !exists(schema, account)) {
        return Err(error::cannot_revoke_all());
    }
    let mut changes = Vec::new();
    for account in accounts {
        changes.extend(changed(schema, account, |grants| *grants = Grants::default()));
    }
    check_administrator_left("REVOKE", schema, &changes)?;
    Ok(Planned::once(changes))
}

/// The rows by which an account's grants differ from what they shall be.
fn changed(schema: &Schema, account: &UserName, change: impl FnOnce(&mut Grants)) -> Vec<SchemaChange> {
    let before = schema.grants.of(account).map(|grants| (**grants).clone()).unwrap_or_default();
    let mut after = before.clone();
    change(&mut after);
    let (before, after) = (before.rows(account), after.rows(account));
    let is_gone = |place| !after.iter().any(|row| row.place == place);
    let gone = before.iter().filter(|row| is_gone(row.place.clone()));
    let mut changes: Vec<SchemaChange> = gone
        .map(|row| SchemaChange::DropGrant { account: account.clone(), place: row.place.clone() })
        .collect();
    let new = after.iter().filter(|row| !before.contains(row));
    changes.extend(new.cloned().map(SchemaChange::PutGrant));
    changes
}

// ---- roles ----------------------------------------------------------------------------------------------------------

fn exists(schema: &Schema, account: &UserName) -> bool {
    schema.user(&account.name, &account.host).is_some()
}

fn check_known<'a>(
    schema: &Schema,
    accounts: impl IntoIterator<Item = &'a UserName>,
) -> Result<(), SqlError> {
    match accounts.into_iter().find(|account| !exists(schema, account)) {
        Some(unknown) => Err(error::unknown_authorization_id(unknown)),
        None => Ok(()),
    }
}

/// 3628 for a role that every account has.
pub(crate) fn check_not_mandatory(roles: &[UserName], mandatory: &[UserName]) -> Result<(), SqlError> {
    match roles.iter().find(|role| mandatory.contains(role)) {
        Some(role) => Err(error::mandatory_role(role)),
        None => Ok(()),
    }
}

/// GRANT roles.
pub(crate) fn grant_roles(schema: &Schema, change: &RoleChange) -> Result<Planned, SqlError> {
    check_known(schema, change.accounts.iter().chain(&change.roles))?;
    let mut working = GrantTables::clone(&schema.grants);
    let mut changes = Vec::new();
    for to in &change.accounts {
        for role in &change.roles {
            if working.closure([role.clone()]).contains(to) {
                return Err(error::role_granted_to_itself(to, role));
            }
            let held = working.roles_of(to).find(|(held, _)| *held == role).map(|(_, admin)| admin);
            if held == Some(change.admin) || held == Some(AdminOption::Yes) {
                continue;
            }
            let edge = RoleEdge { to: to.clone(), role: role.clone(), admin: change.admin };
            working.put_role(&edge);
            changes.push(SchemaChange::PutRoleEdge(edge));
        }
    }
    Ok(Planned::once(changes))
}

/// REVOKE roles. A role that an account does not have is passed over.
pub(crate) fn revoke_roles(schema: &Schema, change: &RoleChange) -> Result<Planned, SqlError> {
    check_known(schema, change.accounts.iter().chain(&change.roles))?;
    check_not_mandatory(&change.roles, &change.mandatory)?;
    let mut changes = Vec::new();
    for to in &change.accounts {
        for role in change.roles.iter().filter(|role| schema.grants.is_granted(role, to)) {
            push_new(&mut changes, SchemaChange::DropRoleEdge { to: to.clone(), role: role.clone() });
            if schema.grants.default_roles_of(to).any(|default| default == role) {
                let default = DefaultRole { account: to.clone(), role: role.clone() };
                push_new(&mut changes, SchemaChange::DropDefaultRole(default));
            }
        }
    }
    check_administrator_left("REVOKE", schema, &changes)?;
    Ok(Planned::once(changes))
}

/// SET DEFAULT ROLE: these roles instead of those before.
pub(crate) fn set_default_roles(
    schema: &Schema,
    accounts: &[UserName],
    roles: &DefaultRoles,
    mandatory: &[UserName],
) -> Result<Planned, SqlError> {
    check_known(schema, accounts)?;
    let mut changes = Vec::new();
    for account in accounts {
        let wanted: Vec<UserName> = match roles {
            DefaultRoles::None => Vec::new(),
            DefaultRoles::All => schema.grants.roles_of(account).map(|(role, _)| role.clone()).collect(),
            DefaultRoles::These(roles) => roles.clone(),
        };
        let is_granted =
            |role: &UserName| schema.grants.is_granted(role, account) || mandatory.contains(role);
        if let Some(role) = wanted.iter().find(|role| !is_granted(role)) {
            return Err(error::role_not_granted(role, account));
        }
        let before: Vec<&UserName> = schema.grants.default_roles_of(account).collect();
        let default = |role: &UserName| DefaultRole { account: account.clone(), role: role.clone() };
        for role in before.iter().filter(|role| !wanted.contains(role)) {
            push_new(&mut changes, SchemaChange::DropDefaultRole(default(role)));
        }
        for role in wanted.iter().filter(|role| !before.contains(role)) {
            push_new(&mut changes, SchemaChange::PutDefaultRole(default(role)));
        }
    }
    check_administrator_left("SET DEFAULT ROLE", schema, &changes)?;
    Ok(Planned::once(changes))
}

/// A new role: an account that nobody can log in to.
pub(crate) fn role(name: &UserName) -> User {
    let mut role = User::new(name.name.clone(), name.host.clone());
    role.attributes.is_locked = true;
    role.attributes.is_password_expired = true;
    role
}

/// Everything that goes with accounts or roles that are dropped.
pub(crate) fn drop_accounts(schema: &Schema, accounts: &[&UserName]) -> Vec<SchemaChange> {
    let mut changes = Vec::new();
    for account in accounts {
        changes.push(SchemaChange::DropUser { name: account.name.clone(), host: account.host.clone() });
        changes.extend(changed(schema, account, |grants| *grants = Grants::default()));
    }
    let is_dropped = |account: &UserName| accounts.contains(&account);
    for RoleEdge { to, role, .. } in schema.grants.role_edges() {
        if is_dropped(&to) || is_dropped(&role) {
            changes.push(SchemaChange::DropRoleEdge { to, role });
        }
    }
    let defaults = schema.grants.default_roles();
    let dropped = defaults.filter(|default| is_dropped(&default.account) || is_dropped(&default.role));
    changes.extend(dropped.map(SchemaChange::DropDefaultRole));
    changes
}

/// Everything that was granted to accounts that get other names. No row is written twice.
pub(crate) fn rename_accounts(schema: &Schema, renamed: &BTreeMap<UserName, UserName>) -> Vec<SchemaChange> {
    let new = |account: &UserName| renamed.get(account).unwrap_or(account).clone();
    let mut after = GrantTables::default();
    for row in schema.grants.rows() {
        after.put(&GrantRow { account: new(&row.account), ..row });
    }
    for RoleEdge { to, role, admin } in schema.grants.role_edges() {
        after.put_role(&RoleEdge { to: new(&to), role: new(&role), admin });
    }
    for DefaultRole { account, role } in schema.grants.default_roles() {
        after.put_default_role(&DefaultRole { account: new(&account), role: new(&role) });
    }
    let (old_rows, new_rows) = (schema.grants.rows(), after.rows());
    let mut changes = Vec::new();
    for row in &old_rows {
        let is_kept = new_rows.iter().any(|new| new.account == row.account && new.place == row.place);
        if !is_kept {
            changes.push(SchemaChange::DropGrant { account: row.account.clone(), place: row.place.clone() });
        }
    }
    changes.extend(new_rows.into_iter().filter(|row| !old_rows.contains(row)).map(SchemaChange::PutGrant));
    let (old_edges, new_edges): (Vec<_>, Vec<_>) =
        (schema.grants.role_edges().collect(), after.role_edges().collect());
    for RoleEdge { to, role, .. } in &old_edges {
        if !new_edges.iter().any(|new| new.to == *to && new.role == *role) {
            changes.push(SchemaChange::DropRoleEdge { to: to.clone(), role: role.clone() });
        }
    }
    changes.extend(
        new_edges.into_iter().filter(|edge| !old_edges.contains(edge)).map(SchemaChange::PutRoleEdge),
    );
    let (old, new): (Vec<_>, Vec<_>) =
        (schema.grants.default_roles().collect(), after.default_roles().collect());
    changes.extend(old.iter().filter(|row| !new.contains(row)).cloned().map(SchemaChange::DropDefaultRole));
    changes.extend(new.into_iter().filter(|row| !old.contains(row)).map(SchemaChange::PutDefaultRole));
    changes
}

/// No row is written twice by one statement.
fn push_new(changes: &mut Vec<SchemaChange>, change: SchemaChange) {
    if !changes.contains(&change) {
        changes.push(change);
    }
}

#[cfg(test)]
mod tests;
