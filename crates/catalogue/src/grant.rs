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
use std::collections::{BTreeMap, BTreeSet};
use types::{
    AdminOption, DefaultRole, GrantPlace, GrantRow, GrantTables, Grants, Privileges, RoleEdge, Schema,
    TableGrants, User,
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
    let mut revoked: BTreeMap<String, Privileges> = BTreeMap::new();
    for (name, privileges) in &change.columns {
        let all = revoked.entry(name.to_lowercase()).or_default();
        *all = all.with(*privileges);
    }
    for (name, column) in &mut held.columns {
        let own = revoked.get(&name.to_lowercase()).copied().unwrap_or_default();
        *column = column.without(change.privileges.with(own));
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
                let names: BTreeSet<String> = held.columns.keys().map(|name| name.to_lowercase()).collect();
                change.columns.iter().all(|(column, _)| names.contains(&column.to_lowercase()))
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
    let known = before.places(account);
    let after_rows = after.rows(account);
    let kept: BTreeSet<&GrantPlace> = after_rows.iter().map(|row| &row.place).collect();
    let gone = before.rows(account).into_iter().map(|row| row.place).filter(|place| !kept.contains(place));
    let mut changes: Vec<SchemaChange> =
        gone.map(|place| SchemaChange::DropGrant { account: account.clone(), place }).collect();
    let new = after_rows.iter().filter(|row| known.get(&row.place) != Some(row));
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
    for to in once(&change.accounts) {
        let defaults: BTreeSet<&UserName> = schema.grants.default_roles_of(to).collect();
        for role in once(&change.roles).into_iter().filter(|role| schema.grants.is_granted(role, to)) {
            changes.push(SchemaChange::DropRoleEdge { to: to.clone(), role: role.clone() });
            if defaults.contains(role) {
                let default = DefaultRole { account: to.clone(), role: role.clone() };
                changes.push(SchemaChange::DropDefaultRole(default));
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
    for account in once(accounts) {
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
        let before: BTreeSet<&UserName> = schema.grants.default_roles_of(account).collect();
        let after: BTreeSet<&UserName> = wanted.iter().collect();
        let default = |role: &UserName| DefaultRole { account: account.clone(), role: role.clone() };
        changes.extend(before.difference(&after).map(|role| SchemaChange::DropDefaultRole(default(role))));
        let new = once(&wanted).into_iter().filter(|role| !before.contains(role));
        changes.extend(new.map(|role| SchemaChange::PutDefaultRole(default(role))));
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
    let dropped: BTreeSet<&UserName> = accounts.iter().copied().collect();
    let is_dropped = |account: &UserName| dropped.contains(account);
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
    let by_place = |rows: Vec<GrantRow>| -> BTreeMap<(UserName, GrantPlace), GrantRow> {
        rows.into_iter().map(|row| ((row.account.clone(), row.place.clone()), row)).collect()
    };
    let (mut changes, put) =
        differences(&by_place(schema.grants.rows()), by_place(after.rows()), |(account, place)| {
            SchemaChange::DropGrant { account: account.clone(), place: place.clone() }
        });
    changes.extend(put.into_iter().map(SchemaChange::PutGrant));
    let edges = |tables: &GrantTables| -> BTreeMap<(UserName, UserName), RoleEdge> {
        tables.role_edges().map(|edge| ((edge.to.clone(), edge.role.clone()), edge)).collect()
    };
    let (gone, put) = differences(&edges(&schema.grants), edges(&after), |(to, role)| {
        SchemaChange::DropRoleEdge { to: to.clone(), role: role.clone() }
    });
    changes.extend(gone.into_iter().chain(put.into_iter().map(SchemaChange::PutRoleEdge)));
    let defaults = |tables: &GrantTables| -> BTreeMap<(UserName, UserName), DefaultRole> {
        let rows = tables.default_roles();
        rows.map(|row| ((row.account.clone(), row.role.clone()), row)).collect()
    };
    let (gone, put) = differences(&defaults(&schema.grants), defaults(&after), |(account, role)| {
        SchemaChange::DropDefaultRole(DefaultRole { account: account.clone(), role: role.clone() })
    });
    changes.extend(gone.into_iter().chain(put.into_iter().map(SchemaChange::PutDefaultRole)));
    changes
}

/// Rows that are no longer there, as changes, and the rows that are new or others.
fn differences<K: Ord, R: PartialEq>(
    old: &BTreeMap<K, R>,
    new: BTreeMap<K, R>,
    drop: impl Fn(&K) -> SchemaChange,
) -> (Vec<SchemaChange>, Vec<R>) {
    let gone = old.keys().filter(|key| !new.contains_key(key)).map(drop).collect();
    let put = new.into_iter().filter(|(key, row)| old.get(key) != Some(row)).map(|(_, row)| row);
    (gone, put.collect())
}

/// Each name once, in the order of the statement: no row is written twice.
fn once(names: &[UserName]) -> Vec<&UserName> {
    let mut seen = BTreeSet::new();
    names.iter().filter(|name| seen.insert(*name)).collect()
}

#[cfg(test)]
mod tests;
