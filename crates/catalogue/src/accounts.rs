//! Statements that change accounts, with MySQL's checks; and which accounts may administer the cluster.
//!
//! **Invariant**: no statement leaves the cluster without an account that may administer it.
//!
//! Deliberately not here: what accounts are (`types::User`), and how passwords become verifiers.

use crate::plan::{Planned, join};
use crate::request::{AccountOptions, Authentication, Credential, UserName, UserSpec};
use crate::rows::SchemaChange;
use crate::{error, grant};
use protocol::SqlError;
use std::collections::BTreeMap;
use types::{DynamicPrivileges, PrivilegeSet, Privileges, Schema, User};

/// Characters of a user's name.
const USER_NAME_MAX: usize = 32;
/// Characters of a host pattern.
const HOST_NAME_MAX: usize = 255;
/// Authentication plugins that the front door knows.
const PLUGINS: [&str; 2] = ["caching_sha2_password", "mysql_native_password"];

/// Whether somebody who connects as this account can administer the cluster: create accounts, change all of them, and
/// give rights.
#[must_use]
pub fn may_administer(schema: &Schema, user: &User) -> bool {
    let account = UserName::new(user.name.clone(), user.host.clone());
    let roles = schema.grants.default_roles_of(&account).cloned();
    let privileges = PrivilegeSet::of(&schema.grants, &account, roles);
    let needed = Privileges::CREATE_USER.with(Privileges::GRANT);
    !user.attributes.is_locked
        && privileges.global().has(needed)
        && privileges.dynamic().has(DynamicPrivileges::SYSTEM_USER)
}

/// Refuses changes after which no account may administer; `operation` is the statement's name.
pub(crate) fn check_administrator_left(
    operation: &str,
    schema: &Schema,
    changes: &[SchemaChange],
) -> Result<(), SqlError> {
    let administrators = |schema: &Schema| -> Vec<String> {
        let may = schema.users.iter().filter(|user| may_administer(schema, user));
        may.map(|user| format!("'{}'@'{}'", user.name, user.host)).collect()
    };
    let mut after = schema.clone();
    changes.iter().for_each(|change| change.apply(&mut after));
    if administrators(&after).is_empty() {
        return Err(error::last_administrator(operation, &administrators(schema).join(",")));
    }
    Ok(())
}

fn check_name(user: &UserName) -> Result<(), SqlError> {
    let UserName { name, host } = user;
    if name.chars().count() > USER_NAME_MAX {
        return Err(error::user_part_too_long(name, "user name", USER_NAME_MAX));
    }
    if host.chars().count() > HOST_NAME_MAX {
        return Err(error::user_part_too_long(host, "host name", HOST_NAME_MAX));
    }
    Ok(())
}

fn check_user(spec: &UserSpec) -> Result<(), SqlError> {
    check_name(&spec.user)?;
    match spec.authentication.as_ref().and_then(|authentication| authentication.plugin.as_deref()) {
        Some(plugin) if !PLUGINS.contains(&plugin) => Err(error::unknown_plugin(plugin)),
        _ => Ok(()),
    }
}

/// The account as the statement makes it from what it was before.
fn changed(spec: &UserSpec, options: &AccountOptions, before: Option<&User>) -> Result<User, SqlError> {
    let mut user = before.cloned().unwrap_or_else(|| User::new(&*spec.user.name, &*spec.user.host));
    let mut has_new_password = before.is_none();
    if let Some(Authentication { plugin, credential }) = &spec.authentication {
        if let Some(plugin) = plugin {
            user.plugin.clone_from(plugin);
        }
        stdx::require!(!matches!(credential, Credential::Password(_)), "a password without a verifier");
        has_new_password = true;
        user.verifier =
            if let Credential::Stored(verifier) = credential { verifier.clone() } else { Vec::new() };
    }
    options.apply(&mut user.attributes, has_new_password)?;
    let lost_its_password = |authentication: &Authentication| authentication.credential == Credential::None;
    user.attributes.is_password_expired |=
        before.is_some() && spec.authentication.as_ref().is_some_and(lost_its_password);
    Ok(user)
}

/// The accounts of a statement: those to work on, and those that are in the way, which make it fail or make notes.
fn sort_users<'a, T>(
    operation: &str,
    items: &'a [T],
    name: impl Fn(&T) -> &UserName,
    is_in_the_way: impl Fn(&UserName) -> bool,
    note: Option<fn(&UserName) -> SqlError>,
) -> Result<(Vec<&'a T>, Vec<SqlError>), SqlError> {
    let mut seen = BTreeMap::new();
    let (mut wanted, mut in_the_way) = (Vec::new(), Vec::new());
    for item in items {
        let user = name(item);
        if is_in_the_way(user) || seen.insert(user.clone(), ()).is_some() {
            in_the_way.push(user.clone());
        } else {
            wanted.push(item);
        }
    }
    match note {
        _ if in_the_way.is_empty() => Ok((wanted, Vec::new())),
        Some(note) => Ok((wanted, in_the_way.iter().map(note).collect())),
        None => {
            let failed = join(in_the_way.iter().map(ToString::to_string), ",");
            Err(error::user_operation_failed(operation, &failed))
        }
    }
}

fn find<'a>(schema: &'a Schema, user: &UserName) -> Option<&'a User> {
    schema.user(&user.name, &user.host)
}

/// CREATE USER.
pub(crate) fn create(
    schema: &Schema,
    users: &[UserSpec],
    options: &AccountOptions,
    if_not_exists: bool,
) -> Result<Planned, SqlError> {
    users.iter().try_for_each(check_user)?;
    let note: Option<fn(&UserName) -> SqlError> = if if_not_exists { Some(error::user_exists) } else { None };
    let exists = |user: &UserName| find(schema, user).is_some();
    let (new, notes) = sort_users("CREATE USER", users, |spec| &spec.user, exists, note)?;
    let put = |spec: &UserSpec| changed(spec, options, None).map(SchemaChange::PutUser);
    Ok(Planned::once(new.into_iter().map(put).collect::<Result<_, _>>()?).with_notes(notes))
}

/// DROP USER, DROP ROLE.
pub(crate) fn drop(
    operation: &str,
    schema: &Schema,
    users: &[UserName],
    if_exists: bool,
) -> Result<Planned, SqlError> {
    let note: Option<fn(&UserName) -> SqlError> =
        if if_exists { Some(error::user_does_not_exist) } else { None };
    let is_missing = |user: &UserName| find(schema, user).is_none();
    let (known, notes) = sort_users(operation, users, |user| user, is_missing, note)?;
    let changes = grant::drop_accounts(schema, &known);
    check_administrator_left(operation, schema, &changes)?;
    Ok(Planned::once(changes).with_notes(notes))
}

/// CREATE ROLE.
pub(crate) fn create_roles(
    schema: &Schema,
    roles: &[UserName],
    if_not_exists: bool,
) -> Result<Planned, SqlError> {
    roles.iter().try_for_each(check_name)?;
    let note: Option<fn(&UserName) -> SqlError> = if if_not_exists { Some(error::user_exists) } else { None };
    let exists = |role: &UserName| find(schema, role).is_some();
    let (new, notes) = sort_users("CREATE ROLE", roles, |role| role, exists, note)?;
    let changes = new.into_iter().map(|role| SchemaChange::PutUser(grant::role(role))).collect();
    Ok(Planned::once(changes).with_notes(notes))
}

/// ALTER USER.
pub(crate) fn alter(
    schema: &Schema,
    users: &[UserSpec],
    options: &AccountOptions,
    if_exists: bool,
) -> Result<Planned, SqlError> {
    users.iter().try_for_each(check_user)?;
    let note: Option<fn(&UserName) -> SqlError> =
        if if_exists { Some(error::user_does_not_exist) } else { None };
    let is_missing = |user: &UserName| find(schema, user).is_none();
    let (known, notes) = sort_users("ALTER USER", users, |spec| &spec.user, is_missing, note)?;
    let put = |spec: &UserSpec| changed(spec, options, find(schema, &spec.user)).map(SchemaChange::PutUser);
    let changes: Vec<SchemaChange> = known.into_iter().map(put).collect::<Result<_, _>>()?;
    if options.is_locked == Some(true) {
        check_administrator_left("ALTER USER", schema, &changes)?;
    }
    Ok(Planned::once(changes).with_notes(notes))
}

/// RENAME USER. The grants of the accounts go with them.
pub(crate) fn rename(schema: &Schema, pairs: &[(UserName, UserName)]) -> Result<Planned, SqlError> {
    // Each account by the name that it has so far.
    let mut present: BTreeMap<UserName, UserName> = BTreeMap::new();
    let account = |user: &User| UserName::new(&*user.name, &*user.host);
    present.extend(schema.users.iter().map(|user| (account(user), account(user))));
    let mut failed = Vec::new();
    for (from, to) in pairs {
        check_name(to)?;
        if present.contains_key(to) {
            failed.push(from.to_string());
        } else if let Some(original) = present.remove(from) {
            present.insert(to.clone(), original);
        } else {
            failed.push(from.to_string());
        }
    }
    if !failed.is_empty() {
        return Err(error::user_operation_failed("RENAME USER", &failed.join(",")));
    }
    let renamed = present.into_iter().map(|(name, original)| (original, name));
    let renamed: BTreeMap<UserName, UserName> = renamed.filter(|(before, after)| before != after).collect();
    // Rows are written once each, whatever names went round in a circle.
    let mut changes = grant::rename_accounts(schema, &renamed);
    for (before, after) in &renamed {
        if let Some(user) = find(schema, before) {
            let user = User { name: after.name.clone(), host: after.host.clone(), ..user.clone() };
            changes.push(SchemaChange::PutUser(user));
        }
        if !renamed.values().any(|after| after == before) {
            changes.push(SchemaChange::DropUser { name: before.name.clone(), host: before.host.clone() });
        }
    }
    Ok(Planned::once(changes))
}
