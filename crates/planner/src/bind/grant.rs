//! GRANT, REVOKE and roles: privileges are sorted by what they are about, and each must fit its level.
//!
//! Errors are MySQL's: 1144 and 1221 for static privileges that the level does not have, 3619 for dynamic ones below
//! `*.*`, 1044 for `information_schema`. 1146 is for tables that are made when they are read and are not there; the
//! catalogue says it of the others.

use super::{Binder, Bound, is_virtual_database};
use crate::plan::{SessionValue, SetRole};
use crate::privileges::{all_of, canonical_database, database_denied};
use crate::statement::{
    Account, GrantItem, GrantStatement, GrantVerb, GrantedObject, RoleList, WrittenLevel,
};
use catalogue::{DdlRequest, DefaultRoles, GrantLevel, PrivilegeChange, RoleChange, TableName, UserName};
use protocol::SqlError;
use types::{AdminOption, DynamicPrivileges, Privileges, Value};

impl Binder<'_> {
    pub(crate) fn grant(&mut self, grant: &GrantStatement) -> Result<Bound, SqlError> {
        let accounts = self.user_names(&grant.accounts);
        let request = match (&grant.object, grant.verb) {
            (GrantedObject::Everything, _) => DdlRequest::RevokeAll { accounts },
            (GrantedObject::Roles { roles, admin }, GrantVerb::Grant) => {
                DdlRequest::GrantRoles(self.role_change(roles, accounts, *admin))
            }
            (GrantedObject::Roles { roles, admin }, GrantVerb::Revoke) => {
                DdlRequest::RevokeRoles(self.role_change(roles, accounts, *admin))
            }
            (GrantedObject::Privileges { items, level }, verb) => {
                let change = self.privilege_change(items, level, accounts, verb)?;
                match verb {
                    GrantVerb::Grant => DdlRequest::Grant(Box::new(change)),
                    GrantVerb::Revoke => DdlRequest::Revoke(Box::new(change)),
                }
            }
        };
        Ok(Bound::ddl(request))
    }

    fn role_change(&self, roles: &[Account], accounts: Vec<UserName>, admin: AdminOption) -> RoleChange {
        RoleChange { roles: self.user_names(roles), accounts, admin, mandatory: self.mandatory_roles() }
    }

    fn privilege_change(
        &self,
        items: &[GrantItem],
        level: &WrittenLevel,
        accounts: Vec<UserName>,
        verb: GrantVerb,
    ) -> Result<PrivilegeChange, SqlError> {
        let mut change = PrivilegeChange {
            level: self.grant_level(level)?,
            privileges: Privileges::NONE,
            columns: Vec::new(),
            dynamic: DynamicPrivileges::NONE,
            grantable: DynamicPrivileges::NONE,
            accounts,
        };
        let is_global = matches!(level, WrittenLevel::Global);
        let (mut names_static, mut has_option) = (false, false);
        for item in items {
            match item {
                GrantItem::Static { privilege, columns } => {
                    names_static = true;
                    has_option |= *privilege == Privileges::GRANT;
                    if columns.is_empty() {
                        change.privileges = change.privileges.with(*privilege);
                    }
                    columns.iter().for_each(|column| add_column(&mut change.columns, column, *privilege));
                }
                GrantItem::Dynamic(privilege) => change.dynamic = change.dynamic.with(*privilege),
                GrantItem::All => {
                    names_static = true;
                    change.privileges = change.privileges.with(all_of(level));
                    change.dynamic = match (is_global, verb) {
                        (false, _) => change.dynamic,
                        // Privileges that one may not pass on are omitted.
                        (true, GrantVerb::Grant) => self.context.privileges.grantable(),
                        (true, GrantVerb::Revoke) => DynamicPrivileges::ALL,
                    };
                }
                GrantItem::Usage => names_static = true,
                GrantItem::GrantOption => has_option = true,
            }
        }
        if has_option && (names_static || change.dynamic.is_empty()) {
            change.privileges = change.privileges.with(Privileges::GRANT);
        }
        if has_option && is_global {
            change.grantable = match verb {
                GrantVerb::Grant => change.dynamic,
                GrantVerb::Revoke => DynamicPrivileges::ALL,
            };
        }
        check_level(&change)?;
        Ok(change)
    }

    fn grant_level(&self, level: &WrittenLevel) -> Result<GrantLevel, SqlError> {
        let named = |database: &Option<String>| -> Result<String, SqlError> {
            let database = match database {
                Some(database) => database,
                None => self.current_database()?,
            };
            if database.eq_ignore_ascii_case("information_schema") {
                return Err(database_denied(database, self.context.user));
            }
            Ok(canonical_database(database))
        };
        Ok(match level {
            WrittenLevel::Global => GrantLevel::Global,
            WrittenLevel::Database(database) => GrantLevel::Database(named(database)?),
            WrittenLevel::Table { database, name } => {
                let table = TableName::new(named(database)?, name.clone());
                let is_there =
                    || self.context.surroundings.virtual_table(&table.database, &name.to_lowercase());
                if is_virtual_database(&table.database) && is_there().is_none() {
                    return Err(SqlError::new(1146, format!("Table '{table}' doesn't exist")));
                }
                GrantLevel::Table(table)
            }
        })
    }

    pub(super) fn set_role(&self, roles: &RoleList) -> Result<SetRole, SqlError> {
        Ok(match roles {
            RoleList::None => SetRole::None,
            RoleList::Default => SetRole::Default,
            RoleList::All => SetRole::AllExcept(Vec::new()),
            RoleList::AllExcept(roles) => SetRole::AllExcept(self.user_names(roles)),
            RoleList::These(roles) => {
                let roles = self.user_names(roles);
                self.check_granted(&roles, &self.user_name(&Account::Current))?;
                SetRole::These(roles)
            }
        })
    }

    /// 3530 unless the account has these roles.
    fn check_granted(&self, roles: &[UserName], account: &UserName) -> Result<(), SqlError> {
        let mandatory = self.mandatory_roles();
        let grants = &self.context.schema.grants;
        let is_granted = |role: &UserName| grants.is_granted(role, account) || mandatory.contains(role);
        match roles.iter().find(|role| !is_granted(role)) {
            None => Ok(()),
            Some(role) => {
                let message = format!("{} is not granted to {}", role.quoted(), account.quoted());
                Err(SqlError::new(3530, message))
            }
        }
    }

    /// SHOW GRANTS: the account must be there, and have the roles.
    pub(super) fn check_shown_grants(
        &self,
        (name, host): &(String, String),
        using: &[(String, String)],
    ) -> Result<(), SqlError> {
        let is_own = (name.as_str(), host.as_str()) == self.context.user;
        if !is_own && self.context.schema.user(name, host).is_none() {
            let message = format!("There is no such grant defined for user '{name}' on host '{host}'");
            return Err(SqlError::new(1141, message));
        }
        let roles: Vec<UserName> =
            using.iter().map(|(name, host)| UserName::new(name.clone(), host.clone())).collect();
        self.check_granted(&roles, &UserName::new(name.clone(), host.clone()))
    }

    pub(super) fn default_roles(&self, accounts: &[Account], roles: &RoleList) -> DdlRequest {
        let roles = match roles {
            RoleList::All => DefaultRoles::All,
            RoleList::These(roles) => DefaultRoles::These(self.user_names(roles)),
            RoleList::None | RoleList::Default | RoleList::AllExcept(_) => DefaultRoles::None,
        };
        let mandatory = self.mandatory_roles();
        DdlRequest::SetDefaultRoles { accounts: self.user_names(accounts), roles, mandatory }
    }

    /// `@@mandatory_roles`: roles that every account has.
    pub(super) fn mandatory_roles(&self) -> Vec<UserName> {
        let name = SessionValue::GlobalVariable("mandatory_roles".to_owned());
        match self.context.surroundings.session_value(&name) {
            Some(Value::Bytes(text)) => role_names(&String::from_utf8_lossy(&text)),
            _ => Vec::new(),
        }
    }
}

fn add_column(columns: &mut Vec<(String, Privileges)>, name: &str, privilege: Privileges) {
    match columns.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((_, held)) => *held = held.with(privilege),
        None => columns.push((name.to_owned(), privilege)),
    }
}

/// Every privilege must be one that the level has.
fn check_level(change: &PrivilegeChange) -> Result<(), SqlError> {
    let illegal = || {
        SqlError::new(
            1144,
            "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used",
        )
    };
    if !change.columns.is_empty() && !matches!(change.level, GrantLevel::Table(_)) {
        return Err(illegal());
    }
    match &change.level {
        GrantLevel::Global => Ok(()),
        GrantLevel::Database(_) | GrantLevel::Table(_) if !change.dynamic.is_empty() => {
            let named = change.dynamic.names().collect::<Vec<_>>().join(",");
            Err(SqlError::new(3619, format!("Illegal privilege level specified for {named}")))
        }
        GrantLevel::Database(_) if !Privileges::OF_DATABASE.has(change.privileges) => {
            Err(SqlError::new(1221, "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES"))
        }
        GrantLevel::Table(_) if !Privileges::OF_TABLE.has(change.privileges) => Err(illegal()),
        GrantLevel::Database(_) | GrantLevel::Table(_) => Ok(()),
    }
}

/// The roles of a list as `mandatory_roles` has it: `a, b@host, 'c'@'%'`.
pub fn role_names(list: &str) -> Vec<UserName> {
    let unquoted = |text: &str| text.trim().trim_matches(['\'', '"', '`']).to_owned();
    let named = |text: &str| match text.rsplit_once('@') {
        Some((name, host)) => UserName::new(unquoted(name), unquoted(host)),
        None => UserName::new(unquoted(text), "%"),
    };
    list.split(',').filter(|text| !text.trim().is_empty()).map(named).collect()
}
