//! The rights of accounts: MySQL 8's privileges, where they hold, and what is granted to each account and role.
//!
//! - [`Privileges`]: a set of static privileges, one bit each. [`DynamicPrivileges`]: the same for the dynamic ones.
//! - [`GrantRow`], [`RoleEdge`], [`DefaultRole`]: rows of the catalogue's grant tables.
//! - [`GrantTables`]: all rows, ordered by account. A role is an account like any other.
//! - [`PrivilegeSet`]: what one session may do: the grants of its account and of its active roles, and of the roles
//!   granted to these.
//!
//! Levels: global, database (a name or a pattern with `_` and `%`, `\` in front of either takes it literally), table,
//! column. A privilege of an outer level holds in all inner ones. If several patterns of *one* account match a
//! database, only the most specific counts, as in MySQL. The privileges of roles come on top.
//!
//! **Invariants**: bits are never renumbered, because rows hold them; a [`Grants`] in [`GrantTables`] is never empty,
//! so that tables with the same rows are equal.
//!
//! Deliberately not here: which statement needs which privilege (`planner::privileges`), and how GRANT changes rows
//! (`catalogue::grant`).

use crate::equal_without_case;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire_derive::Wire;

/// The name of an account or a role.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Wire)]
pub struct UserName {
    /// Name; empty for the anonymous user.
    pub name: String,
    /// Host pattern, `%` if none was written.
    pub host: String,
}

impl UserName {
    /// `name`@`host`.
    #[must_use]
    pub fn new(name: impl Into<String>, host: impl Into<String>) -> Self {
        Self { name: name.into(), host: host.into() }
    }

    /// As GRANT and SHOW GRANTS write it: `` `name`@`host` ``.
    #[must_use]
    pub fn quoted(&self) -> String {
        format!("{}@{}", quote_name(&self.name), quote_name(&self.host))
    }
}

impl std::fmt::Display for UserName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "'{}'@'{}'", self.name, self.host)
    }
}

/// An identifier between backticks.
#[must_use]
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A set of static privileges.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Wire)]
pub struct Privileges(pub u64);

macro_rules! static_privileges {
    ($($name:ident = $bit:literal $text:literal $column:literal;)*) => {
        impl Privileges {
            $(
                #[doc = concat!("The privilege ", $text, ".")]
                pub const $name: Self = Self(1 << $bit);
            )*
            /// Every static privilege in the order in which MySQL lists them: the bit, its name in GRANT, its column of
            /// `mysql.user`.
            pub const NAMES: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$name, $text, $column)),*];
        }
    };
}

static_privileges! {
    SELECT = 0 "SELECT" "Select_priv";
    INSERT = 1 "INSERT" "Insert_priv";
    UPDATE = 2 "UPDATE" "Update_priv";
    DELETE = 3 "DELETE" "Delete_priv";
    CREATE = 4 "CREATE" "Create_priv";
    DROP = 5 "DROP" "Drop_priv";
    RELOAD = 6 "RELOAD" "Reload_priv";
    SHUTDOWN = 7 "SHUTDOWN" "Shutdown_priv";
    PROCESS = 8 "PROCESS" "Process_priv";
    FILE = 9 "FILE" "File_priv";
    GRANT = 10 "GRANT" "Grant_priv";
    REFERENCES = 11 "REFERENCES" "References_priv";
    INDEX = 12 "INDEX" "Index_priv";
    ALTER = 13 "ALTER" "Alter_priv";
    SHOW_DATABASES = 14 "SHOW DATABASES" "Show_db_priv";
    SUPER = 15 "SUPER" "Super_priv";
    CREATE_TEMPORARY_TABLES = 16 "CREATE TEMPORARY TABLES" "Create_tmp_table_priv";
    LOCK_TABLES = 17 "LOCK TABLES" "Lock_tables_priv";
    EXECUTE = 18 "EXECUTE" "Execute_priv";
    REPLICATION_SLAVE = 19 "REPLICATION SLAVE" "Repl_slave_priv";
    REPLICATION_CLIENT = 20 "REPLICATION CLIENT" "Repl_client_priv";
    CREATE_VIEW = 21 "CREATE VIEW" "Create_view_priv";
    SHOW_VIEW = 22 "SHOW VIEW" "Show_view_priv";
    CREATE_ROUTINE = 23 "CREATE ROUTINE" "Create_routine_priv";
    ALTER_ROUTINE = 24 "ALTER ROUTINE" "Alter_routine_priv";
    CREATE_USER = 25 "CREATE USER" "Create_user_priv";
    EVENT = 26 "EVENT" "Event_priv";
    TRIGGER = 27 "TRIGGER" "Trigger_priv";
    CREATE_TABLESPACE = 28 "CREATE TABLESPACE" "Create_tablespace_priv";
    CREATE_ROLE = 29 "CREATE ROLE" "Create_role_priv";
    DROP_ROLE = 30 "DROP ROLE" "Drop_role_priv";
}

impl Privileges {
    /// No privilege: USAGE.
    pub const NONE: Self = Self(0);
    /// All that can be granted on `*.*`, GRANT OPTION among them.
    pub const OF_GLOBAL: Self = Self((1 << 31) - 1);
    /// All that can be granted on a database.
    pub const OF_DATABASE: Self = Self(
        Self::OF_TABLE.0
            | Self::CREATE_TEMPORARY_TABLES.0
            | Self::LOCK_TABLES.0
            | Self::EXECUTE.0
            | Self::CREATE_ROUTINE.0
            | Self::ALTER_ROUTINE.0
            | Self::EVENT.0,
    );
    /// All that can be granted on a table.
    pub const OF_TABLE: Self = Self(
        Self::OF_COLUMN.0
            | Self::DELETE.0
            | Self::CREATE.0
            | Self::DROP.0
            | Self::GRANT.0
            | Self::INDEX.0
            | Self::ALTER.0
            | Self::CREATE_VIEW.0
            | Self::SHOW_VIEW.0
            | Self::TRIGGER.0,
    );
    /// All that can be granted on a column.
    pub const OF_COLUMN: Self = Self(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::REFERENCES.0);

    /// True if any of `other` is here.
    #[must_use]
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Names of those that are here, in MySQL's order, GRANT among them.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().filter(move |(bit, ..)| self.has(*bit)).map(|(_, name, _)| *name)
    }

    /// The privilege of that name, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name)).map(|(bit, ..)| *bit)
    }
}

macro_rules! bit_set {
    ($set:ident) => {
        impl $set {
            /// True if all of `other` are here.
            #[must_use]
            pub const fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// These and others.
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// These but for others.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Those that are here and there.
            #[must_use]
            pub const fn of(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// True if there is none.
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }
        }
    };
}

bit_set!(Privileges);
bit_set!(DynamicPrivileges);

/// A set of dynamic privileges: bit `n` is [`DynamicPrivileges::NAMES`]`[n]`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Wire)]
pub struct DynamicPrivileges(pub u64);

macro_rules! dynamic_privileges {
    ($($name:ident = $bit:literal;)*) => {
        impl DynamicPrivileges {
            $(
                #[doc = concat!("The privilege ", stringify!($name), ".")]
                pub const $name: Self = Self(1 << $bit);
            )*
            /// Every dynamic privilege that MySQL 8.0 and its components name, by name.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];
            /// All of them.
            pub const ALL: Self = Self($((1 << $bit))|*);
        }
    };
}

dynamic_privileges! {
    APPLICATION_PASSWORD_ADMIN = 0;
    AUDIT_ABORT_EXEMPT = 1;
    AUDIT_ADMIN = 2;
    AUTHENTICATION_POLICY_ADMIN = 3;
    BACKUP_ADMIN = 4;
    BINLOG_ADMIN = 5;
    BINLOG_ENCRYPTION_ADMIN = 6;
    CLONE_ADMIN = 7;
    CONNECTION_ADMIN = 8;
    ENCRYPTION_KEY_ADMIN = 9;
    FIREWALL_ADMIN = 10;
    FIREWALL_EXEMPT = 11;
    FIREWALL_USER = 12;
    FLUSH_OPTIMIZER_COSTS = 13;
    FLUSH_STATUS = 14;
    FLUSH_TABLES = 15;
    FLUSH_USER_RESOURCES = 16;
    GROUP_REPLICATION_ADMIN = 17;
    GROUP_REPLICATION_STREAM = 18;
    INNODB_REDO_LOG_ARCHIVE = 19;
    INNODB_REDO_LOG_ENABLE = 20;
    MASKING_DICTIONARIES_ADMIN = 21;
    NDB_STORED_USER = 22;
    PASSWORDLESS_USER_ADMIN = 23;
    PERSIST_RO_VARIABLES_ADMIN = 24;
    REPLICATION_APPLIER = 25;
    REPLICATION_SLAVE_ADMIN = 26;
    RESOURCE_GROUP_ADMIN = 27;
    RESOURCE_GROUP_USER = 28;
    ROLE_ADMIN = 29;
    SENSITIVE_VARIABLES_OBSERVER = 30;
    SERVICE_CONNECTION_ADMIN = 31;
    SESSION_VARIABLES_ADMIN = 32;
    SET_USER_ID = 33;
    SHOW_ROUTINE = 34;
    SKIP_QUERY_REWRITE = 35;
    SYSTEM_USER = 36;
    SYSTEM_VARIABLES_ADMIN = 37;
    TABLE_ENCRYPTION_ADMIN = 38;
    TELEMETRY_LOG_ADMIN = 39;
    TP_CONNECTION_ADMIN = 40;
    VERSION_TOKEN_ADMIN = 41;
    XA_RECOVER_ADMIN = 42;
}

impl DynamicPrivileges {
    /// None.
    pub const NONE: Self = Self(0);

    /// Names of those that are here.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let is_here = move |bit: &usize| self.0 >> bit & 1 == 1;
        (0..Self::NAMES.len()).filter(is_here).map(|bit| Self::NAMES[bit])
    }

    /// The privilege of that name, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let bit = Self::NAMES.iter().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Self(1 << bit))
    }
}

/// Where privileges hold.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Wire)]
pub enum GrantPlace {
    /// `*.*`.
    Global,
    /// `*.*`, the dynamic privileges: each with a grant option of its own.
    Dynamic,
    /// `database.*`; the name may be a pattern.
    Database(String),
    /// `database.table`.
    Table {
        /// The database, by its name.
        database: String,
        /// The table.
        table: String,
    },
    /// A column of a table.
    Column {
        /// The database, by its name.
        database: String,
        /// The table.
        table: String,
        /// The column, as its table writes it.
        column: String,
    },
}

/// The privileges of an account in one place.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct GrantRow {
    /// The account.
    pub account: UserName,
    /// Where.
    pub place: GrantPlace,
    /// Bits of [`Privileges`], or of [`DynamicPrivileges`] where the place says so. Never 0.
    pub privileges: u64,
    /// Bits of dynamic privileges that the account may pass on; 0 elsewhere (GRANT OPTION is a static privilege).
    pub grantable: u64,
}

/// Whether a role may be passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum AdminOption {
    /// Without ADMIN OPTION.
    No,
    /// WITH ADMIN OPTION.
    Yes,
}

/// A role that is granted.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct RoleEdge {
    /// The account or role that has it.
    pub to: UserName,
    /// The role.
    pub role: UserName,
    /// WITH ADMIN OPTION.
    pub admin: AdminOption,
}

/// A role that is active when its account logs in.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct DefaultRole {
    /// The account.
    pub account: UserName,
    /// The role.
    pub role: UserName,
}

/// The privileges that are granted on one table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct TableGrants {
    /// On all of it.
    pub table: Privileges,
    /// On columns.
    pub columns: BTreeMap<String, Privileges>,
}

impl TableGrants {
    /// On any column.
    #[must_use]
    pub fn any_column(&self) -> Privileges {
        self.columns.values().fold(Privileges::NONE, |all, column| all.with(*column))
    }

    /// On this column, without what holds for the whole table.
    #[must_use]
    pub fn column(&self, name: &str) -> Privileges {
        let named = self.columns.iter().filter(|(column, _)| equal_without_case(column, name));
        named.fold(Privileges::NONE, |all, (_, column)| all.with(*column))
    }
}

/// The privileges that are granted to one account itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Grants {
    /// On `*.*`.
    pub global: Privileges,
    /// Dynamic ones.
    pub dynamic: DynamicPrivileges,
    /// Dynamic ones that it may pass on.
    pub grantable: DynamicPrivileges,
    /// On databases, by name or pattern.
    pub databases: BTreeMap<String, Privileges>,
    /// On tables and their columns, by database and table.
    pub tables: BTreeMap<(String, String), TableGrants>,
}

impl Grants {
    /// All there is, with grant option: what the first account of a cluster has.
    #[must_use]
    pub fn all() -> Self {
        Self {
            global: Privileges::OF_GLOBAL,
            dynamic: DynamicPrivileges::ALL,
            grantable: DynamicPrivileges::ALL,
            ..Self::default()
        }
    }

    /// The privileges of each place, by place.
    #[must_use]
    pub fn places(&self, account: &UserName) -> BTreeMap<GrantPlace, GrantRow> {
        self.rows(account).into_iter().map(|row| (row.place.clone(), row)).collect()
    }

    /// The rows that say the same.
    #[must_use]
    pub fn rows(&self, account: &UserName) -> Vec<GrantRow> {
        let row = |place, privileges, grantable| GrantRow {
            account: account.clone(),
            place,
            privileges,
            grantable,
        };
        let mut rows = Vec::new();
        rows.push(row(GrantPlace::Global, self.global.0, 0));
        rows.push(row(GrantPlace::Dynamic, self.dynamic.0, self.grantable.0));
        for (database, privileges) in &self.databases {
            rows.push(row(GrantPlace::Database(database.clone()), privileges.0, 0));
        }
        for ((database, table), grants) in &self.tables {
            let place = GrantPlace::Table { database: database.clone(), table: table.clone() };
            rows.push(row(place, grants.table.0, 0));
            for (column, privileges) in &grants.columns {
                let (database, table, column) = (database.clone(), table.clone(), column.clone());
                rows.push(row(GrantPlace::Column { database, table, column }, privileges.0, 0));
            }
        }
        rows.retain(|row| row.privileges != 0);
        rows
    }

    fn put(&mut self, row: &GrantRow) {
        self.set(&row.place, Privileges(row.privileges), DynamicPrivileges(row.grantable));
    }

    /// Sets what holds in one place; nothing takes the place away.
    fn set(&mut self, place: &GrantPlace, privileges: Privileges, grantable: DynamicPrivileges) {
        match place {
            GrantPlace::Global => self.global = privileges,
            GrantPlace::Dynamic => {
                self.dynamic = DynamicPrivileges(privileges.0);
                self.grantable = grantable;
            }
            GrantPlace::Database(database) if privileges.is_empty() => {
                self.databases.remove(database);
            }
            GrantPlace::Database(database) => {
                self.databases.insert(database.clone(), privileges);
            }
            GrantPlace::Table { database, table } => {
                self.change_table(database, table, |grants| grants.table = privileges);
            }
            GrantPlace::Column { database, table, column } => {
                self.change_table(database, table, |grants| {
                    if privileges.is_empty() {
                        grants.columns.remove(column);
                    } else {
                        grants.columns.insert(column.clone(), privileges);
                    }
                });
            }
        }
    }

    /// Changes what holds on a table. A table on which nothing holds goes.
    fn change_table(&mut self, database: &str, table: &str, change: impl FnOnce(&mut TableGrants)) {
        let name = (database.to_owned(), table.to_owned());
        let mut grants = self.tables.remove(&name).unwrap_or_default();
        change(&mut grants);
        if grants != TableGrants::default() {
            self.tables.insert(name, grants);
        }
    }

    /// On a database, without what holds everywhere: the most specific pattern decides.
    #[must_use]
    pub fn on_database(&self, database: &str) -> Privileges {
        let matching = self.databases.iter().filter(|(pattern, _)| matches_database(pattern, database));
        let best = matching.max_by_key(|(pattern, _)| literal_length(pattern));
        best.map_or(Privileges::NONE, |(_, privileges)| *privileges)
    }

    fn on_table(&self, database: &str, table: &str) -> Option<&TableGrants> {
        // Most accounts have no grants on tables: no key is made for them.
        if self.tables.is_empty() {
            return None;
        }
        self.tables.get(&(database.to_owned(), table.to_owned()))
    }

    /// Grants on tables of this database.
    fn tables_of<'a>(&'a self, database: &'a str) -> impl Iterator<Item = (&'a str, &'a TableGrants)> {
        let from = (database.to_owned(), String::new());
        let of_database = self.tables.range(from..).take_while(move |((owner, _), _)| owner == database);
        of_database.map(|((_, table), grants)| (table.as_str(), grants))
    }
}

/// How many characters come before the first wildcard of a database pattern; all of them if there is none.
fn literal_length(pattern: &str) -> usize {
    let mut is_escaped = false;
    for (position, byte) in pattern.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'%' | b'_' => return position,
            _ => {}
        }
    }
    usize::MAX
}

/// LIKE with `\` as the escape, byte by byte but for `_`, which stands for one character.
#[must_use]
pub fn matches_database(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from, mut retry) = (0, 0, None);
    while from < name.len() {
        let (is_match, step) = match pattern.get(at) {
            Some('%') => {
                retry = Some((at + 1, from));
                at += 1;
                continue;
            }
            Some('_') => (true, 1),
            Some('\\') if pattern.get(at + 1).is_some() => (pattern.get(at + 1) == name.get(from), 2),
            Some(character) => (*character == name[from], 1),
            None => (false, 0),
        };
        if is_match {
            at += step;
            from += 1;
            continue;
        }
        let Some((behind, tried)) = retry else { return false };
        retry = Some((behind, tried + 1));
        (at, from) = (behind, tried + 1);
    }
    pattern.get(at..).unwrap_or_default().iter().all(|character| *character == '%')
}

/// All that is granted, by account.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GrantTables {
    accounts: BTreeMap<UserName, Arc<Grants>>,
    roles: BTreeMap<UserName, BTreeMap<UserName, AdminOption>>,
    default_roles: BTreeMap<UserName, BTreeSet<UserName>>,
}

impl GrantTables {
    /// The privileges that are granted to this account itself, if any.
    #[must_use]
    pub fn of(&self, account: &UserName) -> Option<&Arc<Grants>> {
        self.accounts.get(account)
    }

    /// Accounts with grants of their own, by name.
    pub fn accounts(&self) -> impl Iterator<Item = (&UserName, &Arc<Grants>)> {
        self.accounts.iter()
    }

    /// The roles that are granted to this account or role directly, by name.
    pub fn roles_of(&self, account: &UserName) -> impl Iterator<Item = (&UserName, AdminOption)> {
        self.roles.get(account).into_iter().flatten().map(|(role, admin)| (role, *admin))
    }

    /// True if the role is granted to the account directly.
    #[must_use]
    pub fn is_granted(&self, role: &UserName, to: &UserName) -> bool {
        self.roles.get(to).is_some_and(|roles| roles.contains_key(role))
    }

    /// All role edges, by grantee and role.
    pub fn role_edges(&self) -> impl Iterator<Item = RoleEdge> {
        self.roles.iter().flat_map(|(to, roles)| {
            roles.iter().map(|(role, admin)| RoleEdge { to: to.clone(), role: role.clone(), admin: *admin })
        })
    }

    /// The roles that become active when this account logs in.
    pub fn default_roles_of(&self, account: &UserName) -> impl Iterator<Item = &UserName> {
        self.default_roles.get(account).into_iter().flatten()
    }

    /// All default roles, by account and role.
    pub fn default_roles(&self) -> impl Iterator<Item = DefaultRole> {
        self.default_roles.iter().flat_map(|(account, roles)| {
            roles.iter().map(|role| DefaultRole { account: account.clone(), role: role.clone() })
        })
    }

    /// All grants as rows.
    #[must_use]
    pub fn rows(&self) -> Vec<GrantRow> {
        self.accounts.iter().flat_map(|(account, grants)| grants.rows(account)).collect()
    }

    /// These roles and those that come with them, each once.
    #[must_use]
    pub fn closure(&self, roles: impl IntoIterator<Item = UserName>) -> BTreeSet<UserName> {
        let mut found = BTreeSet::new();
        let mut open: Vec<UserName> = roles.into_iter().collect();
        while let Some(role) = open.pop() {
            if found.insert(role.clone()) {
                open.extend(self.roles_of(&role).map(|(role, _)| role.clone()));
            }
        }
        found
    }

    /// Puts a row, in place of the one for the same account and place.
    pub fn put(&mut self, row: &GrantRow) {
        Arc::make_mut(self.accounts.entry(row.account.clone()).or_default()).put(row);
        self.forget_empty(&row.account);
    }

    /// Takes a row away.
    pub fn remove(&mut self, account: &UserName, place: &GrantPlace) {
        if let Some(grants) = self.accounts.get_mut(account) {
            Arc::make_mut(grants).set(place, Privileges::NONE, DynamicPrivileges::NONE);
        }
        self.forget_empty(account);
    }

    fn forget_empty(&mut self, account: &UserName) {
        if self.accounts.get(account).is_some_and(|grants| **grants == Grants::default()) {
            self.accounts.remove(account);
        }
    }

    /// Puts a role edge, in place of the one between the same two.
    pub fn put_role(&mut self, edge: &RoleEdge) {
        self.roles.entry(edge.to.clone()).or_default().insert(edge.role.clone(), edge.admin);
    }

    /// Takes a role edge away.
    pub fn remove_role(&mut self, to: &UserName, role: &UserName) {
        if let Some(roles) = self.roles.get_mut(to) {
            roles.remove(role);
            if roles.is_empty() {
                self.roles.remove(to);
            }
        }
    }

    /// Puts a default role.
    pub fn put_default_role(&mut self, default: &DefaultRole) {
        self.default_roles.entry(default.account.clone()).or_default().insert(default.role.clone());
    }

    /// Takes a default role away.
    pub fn remove_default_role(&mut self, account: &UserName, role: &UserName) {
        if let Some(roles) = self.default_roles.get_mut(account) {
            roles.remove(role);
            if roles.is_empty() {
                self.default_roles.remove(account);
            }
        }
    }
}

/// The privileges of a session.
///
/// Two sets are equal if they are made of the same grants: sessions of many accounts share one, and the plans that are
/// bound to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct PrivilegeSet {
    global: Privileges,
    dynamic: DynamicPrivileges,
    grantable: DynamicPrivileges,
    /// The grants of the account and of its active roles, without those that have none.
    sources: Vec<Arc<Grants>>,
}

impl PrivilegeSet {
    /// The privileges of an account with these roles active. Roles come with those that are granted to them.
    #[must_use]
    pub fn of(tables: &GrantTables, account: &UserName, active: impl IntoIterator<Item = UserName>) -> Self {
        let roles = tables.closure(active);
        let names = std::iter::once(account).chain(&roles);
        Self::made_of(names.filter_map(|name| tables.of(name)).cloned().collect())
    }

    /// All of it as grants of one account; where patterns of several overlap, each counts.
    #[must_use]
    pub fn merged(&self) -> Grants {
        let mut merged = Grants {
            global: self.global,
            dynamic: self.dynamic,
            grantable: self.grantable,
            ..Grants::default()
        };
        for source in &self.sources {
            for (database, privileges) in &source.databases {
                let held = merged.databases.entry(database.clone()).or_default();
                *held = held.with(*privileges);
            }
            for (table, grants) in &source.tables {
                let held = merged.tables.entry(table.clone()).or_default();
                held.table = held.table.with(grants.table);
                for (column, privileges) in &grants.columns {
                    let held = held.columns.entry(column.clone()).or_default();
                    *held = held.with(*privileges);
                }
            }
        }
        merged
    }

    /// Everything: for statements that no account sent.
    #[must_use]
    pub fn all() -> Self {
        Self::made_of(vec![Arc::new(Grants::all())])
    }

    fn made_of(sources: Vec<Arc<Grants>>) -> Self {
        let mut set = Self::default();
        for grants in &sources {
            set.global = set.global.with(grants.global);
            set.dynamic = set.dynamic.with(grants.dynamic);
            set.grantable = set.grantable.with(grants.grantable);
        }
        set.sources = sources;
        set
    }

    /// On `*.*`.
    #[must_use]
    pub const fn global(&self) -> Privileges {
        self.global
    }

    /// Dynamic privileges.
    #[must_use]
    pub const fn dynamic(&self) -> DynamicPrivileges {
        self.dynamic
    }

    /// Dynamic privileges that may be passed on.
    #[must_use]
    pub const fn grantable(&self) -> DynamicPrivileges {
        self.grantable
    }

    /// True if it has SUPER, or this dynamic privilege.
    #[must_use]
    pub const fn is_super_or(&self, dynamic: DynamicPrivileges) -> bool {
        self.global.has(Privileges::SUPER) || self.dynamic.has(dynamic)
    }

    /// The privileges that hold for all of a database.
    #[must_use]
    pub fn on_database(&self, database: &str) -> Privileges {
        self.sources.iter().fold(self.global, |all, grants| all.with(grants.on_database(database)))
    }

    /// The privileges that hold for all of a table.
    #[must_use]
    pub fn on_table(&self, database: &str, table: &str) -> Privileges {
        let own = |grants: &Arc<Grants>| grants.on_table(database, table).map(|grants| grants.table);
        self.sources.iter().filter_map(own).fold(self.on_database(database), Privileges::with)
    }

    /// The privileges that hold for a table or for any column of it.
    #[must_use]
    pub fn within_table(&self, database: &str, table: &str) -> Privileges {
        let columns = |grants: &Arc<Grants>| grants.on_table(database, table).map(TableGrants::any_column);
        self.sources.iter().filter_map(columns).fold(self.on_table(database, table), Privileges::with)
    }

    /// The privileges that hold for a column.
    #[must_use]
    pub fn on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        let own = |grants: &Arc<Grants>| grants.on_table(database, table).map(|grants| grants.column(column));
        self.sources.iter().filter_map(own).fold(self.on_table(database, table), Privileges::with)
    }

    /// True if the database's name may be shown: there is any privilege on it or on something in it.
    #[must_use]
    pub fn sees_database(&self, database: &str) -> bool {
        let within = |grants: &Arc<Grants>| grants.tables_of(database).next().is_some();
        self.on_database(database).has_any(Privileges::OF_DATABASE)
            || self.global.has(Privileges::SHOW_DATABASES)
            || self.sources.iter().any(within)
    }

    /// True if one may make the database the current one.
    #[must_use]
    pub fn may_use_database(&self, database: &str) -> bool {
        let within = |grants: &Arc<Grants>| grants.tables_of(database).next().is_some();
        self.on_database(database).has_any(Privileges::OF_DATABASE) || self.sources.iter().any(within)
    }

    /// True if the table's name may be shown.
    #[must_use]
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        self.within_table(database, table).has_any(Privileges::OF_TABLE)
    }

    /// True if a column may be shown.
    #[must_use]
    pub fn sees_column(&self, database: &str, table: &str, column: &str) -> bool {
        self.on_column(database, table, column).has_any(Privileges::OF_COLUMN)
    }
}

#[cfg(test)]
mod tests;
