//! Which accounts may administer the cluster; one of them must always be left.
//!
//! Deliberately not here: what accounts are (`types::User`), and the statements that change them (plan.rs).

use crate::error;
use crate::rows::SchemaChange;
use protocol::SqlError;
use types::{DynamicPrivileges, PrivilegeSet, Privileges, Schema, User, UserName};

/// Whether somebody who connects as this account can administer the cluster: create accounts, change all of them, and give rights.
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
