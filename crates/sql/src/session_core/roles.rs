//! The rights of a session: the privileges of its account and of its active roles.
//!
//! Roles are active from login on (default ones, or all of them with `activate_all_roles_on_login`) and change by SET
//! ROLE. Their sum, a [`PrivilegeSet`], belongs to one schema version. [`SessionCore::renew_rights`] makes it anew when
//! another one is installed, before a statement looks for its plan. A module gives equal sets one number
//! (`privilege_sets`).
//!
//! **Invariants**: a role that is not granted any more is not active, whatever SET ROLE said. Two sets with one number
//! are equal, and a number that is not in use any more is never used again.
//!
//! Deliberately not here: which statement needs what (`planner::privileges`).

use super::SessionCore;
use crate::environment::ModuleState;
use crate::variables::Scope;
use planner::plan::SetRole;
use planner::{privileges, role_names};
use protocol::SqlError;

use std::sync::Arc;
use types::{PrivilegeSet, Schema, SchemaVersion, UserName, Value};

/// The rights of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rights {
    /// As SET ROLE or the login made them.
    roles: Vec<UserName>,
    set: Arc<PrivilegeSet>,
    number: u64,
    /// The version that `set` belongs to; None: none yet.
    schema: Option<SchemaVersion>,
}

impl Rights {
    pub(crate) fn set(&self) -> &PrivilegeSet {
        &self.set
    }

    /// Equal sets of a module have one number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Active roles that were granted when they were made active.
    pub(crate) fn roles(&self) -> &[UserName] {
        &self.roles
    }

    /// CURRENT_ROLE().
    pub(crate) fn current_role(&self) -> String {
        if self.roles.is_empty() {
            return "NONE".to_owned();
        }
        self.roles.iter().map(UserName::quoted).collect::<Vec<_>>().join(",")
    }
}

impl SessionCore {
    /// The account as grants name it.
    pub(crate) fn account_name(&self) -> UserName {
        UserName::new(&*self.account.0, &*self.account.1)
    }

    /// `mandatory_roles`: every account has them.
    pub(crate) fn mandatory_roles(&self) -> Vec<UserName> {
        match self.variables.get("mandatory_roles", Scope::Global) {
            Some((Value::Bytes(text), _)) => role_names(&String::from_utf8_lossy(&text)),
            _ => Vec::new(),
        }
    }

    /// The roles that SET ROLE may make active.
    fn granted_roles(&self, schema: &Schema) -> Vec<UserName> {
        let account = self.account_name();
        let mut roles: Vec<UserName> =
            schema.grants.roles_of(&account).map(|(role, _)| role.clone()).collect();
        let is_there = |role: &UserName| schema.user(&role.name, &role.host).is_some();
        for role in self.mandatory_roles().into_iter().filter(is_there) {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        roles.sort();
        roles
    }

    /// Login.
    pub(crate) fn activate_default_roles(&mut self, module: &mut ModuleState) {
        let schema = Arc::clone(&module.site.map.schema);
        let granted = self.granted_roles(&schema);
        let all = self.variables.get("activate_all_roles_on_login", Scope::Global);
        let is_all = all.is_some_and(|(value, _)| crate::variables::is_on(&value));
        self.rights.roles = if is_all {
            granted
        } else {
            let account = self.account_name();
            let defaults = schema.grants.default_roles_of(&account);
            defaults.filter(|role| granted.contains(role)).cloned().collect()
        };
        self.rights.schema = None;
        self.renew_rights(module);
    }

    /// Brings the privilege set to the installed schema.
    pub(crate) fn renew_rights(&mut self, module: &mut ModuleState) {
        if self.rights.schema == Some(module.site.map.schema.version) {
            return;
        }
        let schema = Arc::clone(&module.site.map.schema);
        let granted = self.granted_roles(&schema);
        self.rights.roles.retain(|role| granted.contains(role));
        let roles = self.rights.roles.iter().cloned();
        let set = PrivilegeSet::of(&schema.grants, &self.account_name(), roles);
        (self.rights.set, self.rights.number) = module.privilege_sets.number(set);
        self.rights.schema = Some(schema.version);
    }

    /// 1044 unless the account has something in this database.
    pub(crate) fn check_database(&mut self, module: &mut ModuleState, name: &str) -> Result<(), SqlError> {
        self.renew_rights(module);
        if privileges::may_use_database(&self.rights.set, name) {
            return Ok(());
        }
        Err(privileges::database_denied(name, (&self.account.0, &self.account.1)))
    }

    /// SET ROLE: the binder has looked whether these roles are granted.
    pub(crate) fn set_role(&mut self, module: &mut ModuleState, roles: &SetRole) {
        let schema = Arc::clone(&module.site.map.schema);
        let granted = self.granted_roles(&schema);
        self.rights.roles = match roles {
            SetRole::None => Vec::new(),
            SetRole::Default => {
                self.activate_default_roles(module);
                return;
            }
            SetRole::AllExcept(others) => granted.into_iter().filter(|role| !others.contains(role)).collect(),
            SetRole::These(roles) => granted.into_iter().filter(|role| roles.contains(role)).collect(),
        };
        self.rights.schema = None;
        self.renew_rights(module);
    }
}
