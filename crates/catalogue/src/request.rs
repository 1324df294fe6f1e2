//! The request of a DDL statement, as the binder understood it.
//!
//! The binder resolves syntax only. It fills in missing database names (1046), character set and collation of each
//! string column (column, else table option, else database), type names and `SERIAL`. Column attributes `PRIMARY KEY`
//! and `UNIQUE` become [`KeySpec`]s in the order they were written. It evaluates literal defaults. Whether the request
//! *makes sense* (names, limits, keys, defaults that fit) is decided by `DdlJob::new` under the cluster-wide DDL lock,
//! with MySQL's errors.
//!
//! Numbers that do not fit a field of `SqlType` (DECIMAL(300)) are saturated by the binder; the job refuses the
//! saturated number too.
//!
//! Deliberately not here: foreign keys, partitioning clauses; whether the account may ask for it.

use crate::{error, metadata};
use protocol::SqlError;
use protocol::program::StatementContext;
pub use types::UserName;
use types::{
    AccountAttributes, AdminOption, Collation, DynamicPrivileges, NumberFormat, PasswordLifetime,
    PasswordLockTime, Privileges, RequiredSecurity, SqlType, Value, ViewDefinition,
};
use wire_derive::Wire;

/// Any DDL statement.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum DdlRequest {
    /// CREATE DATABASE.
    CreateDatabase {
        /// Name.
        name: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Default collation of its tables; None: `utf8mb4_0900_ai_ci`.
        collation: Option<Collation>,
    },
    /// DROP DATABASE, with all its tables.
    DropDatabase {
        /// Name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ALTER DATABASE … COLLATE.
    AlterDatabase {
        /// Name.
        name: String,
        /// Default collation of tables made from now on.
        collation: Collation,
    },
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE … LIKE.
    CreateTableLike {
        /// The new table.
        table: TableName,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The table whose definition is copied.
        like: TableName,
    },
    /// DROP TABLE.
    DropTables {
        /// The tables.
        tables: Vec<TableName>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// TRUNCATE TABLE.
    Truncate {
        /// The table.
        table: TableName,
    },
    /// RENAME TABLE a TO b, c TO d: from left to right, all or nothing.
    RenameTables(Vec<(TableName, TableName)>),
    /// ALTER TABLE; CREATE INDEX and DROP INDEX are ALTER TABLE with one action.
    AlterTable {
        /// The table.
        table: TableName,
        /// All or nothing: other statements see none of them or all of them.
        actions: Vec<AlterAction>,
    },
    /// CREATE USER.
    CreateUsers {
        /// The accounts.
        users: Vec<UserSpec>,
        /// The attributes that all of them get.
        options: AccountOptions,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP USER.
    DropUsers {
        /// The accounts.
        users: Vec<UserName>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ALTER USER, SET PASSWORD.
    AlterUsers {
        /// The accounts, some with new passwords.
        users: Vec<UserSpec>,
        /// The attributes that change for all of them.
        options: AccountOptions,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// GRANT privileges.
    Grant(Box<PrivilegeChange>),
    /// REVOKE privileges.
    Revoke(Box<PrivilegeChange>),
    /// REVOKE ALL PRIVILEGES, GRANT OPTION FROM.
    RevokeAll {
        /// The accounts.
        accounts: Vec<UserName>,
    },
    /// GRANT roles.
    GrantRoles(RoleChange),
    /// REVOKE roles.
    RevokeRoles(RoleChange),
    /// SET DEFAULT ROLE, ALTER USER … DEFAULT ROLE.
    SetDefaultRoles {
        /// The accounts.
        accounts: Vec<UserName>,
        /// The roles.
        roles: DefaultRoles,
        /// Roles that every account has.
        mandatory: Vec<UserName>,
    },
    /// CREATE ROLE.
    CreateRoles {
        /// The roles.
        roles: Vec<UserName>,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP ROLE.
    DropRoles {
        /// The roles.
        roles: Vec<UserName>,
        /// IF EXISTS.
        if_exists: bool,
        /// Roles that cannot be dropped.
        mandatory: Vec<UserName>,
    },
    /// RENAME USER a TO b, c TO d: from left to right, all or nothing.
    RenameUsers(Vec<(UserName, UserName)>),
    /// SET GLOBAL, SET PERSIST, SET PERSIST_ONLY, RESET PERSIST: from left to right, all or nothing.
    SetVariables(Vec<VariableChange>),
    /// CREATE VIEW, ALTER VIEW.
    PutView(Box<ViewRequest>),
    /// DROP VIEW.
    DropViews {
        /// The views.
        views: Vec<TableName>,
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// CREATE VIEW, ALTER VIEW.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ViewRequest {
    /// Which.
    pub verb: ViewVerb,
    /// The view as it shall be.
    pub view: ViewDefinition,
}

/// The statements that make a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum ViewVerb {
    /// CREATE VIEW: the name must be free.
    Create,
    /// CREATE OR REPLACE VIEW.
    CreateOrReplace,
    /// ALTER VIEW: the view must be there.
    Alter,
}

/// A system variable, and what becomes of it.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct VariableChange {
    /// Its name, in lower case.
    pub name: String,
    /// How it changes. Values are checked, and written as SHOW VARIABLES prints them.
    pub setting: VariableSetting,
}

/// Where a value goes.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum VariableSetting {
    /// SET GLOBAL.
    Global(String),
    /// SET PERSIST.
    Persist(String),
    /// SET PERSIST_ONLY.
    PersistOnly(String),
    /// RESET PERSIST.
    Reset,
}

impl DdlRequest {
    /// Rows that it writes again are converted in this context.
    pub fn set_context(&mut self, context: StatementContext) {
        if let DdlRequest::AlterTable { actions, .. } = self {
            actions.push(AlterAction::Context(context));
        }
    }

    /// The accounts of CREATE USER and ALTER USER, and their options.
    pub fn accounts_mut(&mut self) -> Option<(&mut [UserSpec], &mut AccountOptions)> {
        match self {
            DdlRequest::CreateUsers { users, options, .. }
            | DdlRequest::AlterUsers { users, options, .. } => Some((users, options)),
            DdlRequest::CreateDatabase { .. }
            | DdlRequest::DropDatabase { .. }
            | DdlRequest::AlterDatabase { .. }
            | DdlRequest::CreateTable(_)
            | DdlRequest::CreateTableLike { .. }
            | DdlRequest::DropTables { .. }
            | DdlRequest::Truncate { .. }
            | DdlRequest::RenameTables(_)
            | DdlRequest::AlterTable { .. }
            | DdlRequest::DropUsers { .. }
            | DdlRequest::RenameUsers(_)
            | DdlRequest::Grant(_)
            | DdlRequest::Revoke(_)
            | DdlRequest::RevokeAll { .. }
            | DdlRequest::GrantRoles(_)
            | DdlRequest::RevokeRoles(_)
            | DdlRequest::SetDefaultRoles { .. }
            | DdlRequest::CreateRoles { .. }
            | DdlRequest::DropRoles { .. }
            | DdlRequest::SetVariables(_)
            | DdlRequest::PutView(_)
            | DdlRequest::DropViews { .. } => None,
        }
    }
}

/// A table by database and name, both as written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct TableName {
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
}

impl TableName {
    /// `database`.`name`.
    #[must_use]
    pub fn new(database: impl Into<String>, name: impl Into<String>) -> Self {
        Self { database: database.into(), name: name.into() }
    }
}

impl std::fmt::Display for TableName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.database, self.name)
    }
}

/// CREATE TABLE.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CreateTable {
    /// The new table.
    pub table: TableName,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its columns in order.
    pub columns: Vec<ColumnSpec>,
    /// Its keys in the order they were written.
    pub keys: Vec<KeySpec>,
    /// Table options.
    pub options: TableOptions,
    /// Its CHECK constraints in the order they were written.
    pub checks: Vec<CheckSpec>,
    /// Its rows come from a query: it has no name before it has them.
    pub is_filled: bool,
}

/// A CHECK constraint of CREATE TABLE or ADD CHECK.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CheckSpec {
    /// As written; None: the table's name with `_chk_1`, `_chk_2` …
    pub name: Option<String>,
    /// The encoded `expression::Expression`, bound to the table's columns.
    #[wire(bytes)]
    pub encoded: Vec<u8>,
    /// As SHOW CREATE TABLE shall print it, without the parentheses around it.
    pub text: String,
    /// Not NOT ENFORCED.
    pub is_enforced: bool,
}

/// Table options that mean something to us. ENGINE, ROW_FORMAT and the like are accepted by the parser and dropped.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct TableOptions {
    /// COMMENT.
    pub comment: String,
    /// COLLATE; None: the database's.
    pub collation: Option<Collation>,
    /// AUTO_INCREMENT = the first value.
    pub auto_increment: Option<u64>,
}

/// NULL or NOT NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum Nullability {
    /// Neither was written: NULL, unless a primary key makes it NOT NULL.
    #[default]
    Unspecified,
    /// NULL was written: a primary key refuses it (1171).
    Null,
    /// NOT NULL.
    NotNull,
}

/// The value or expression of DEFAULT.
#[derive(Clone, PartialEq, Debug, Default, Wire)]
pub enum DefaultSpec {
    /// No DEFAULT clause: NULL if the column is nullable, else the column must be named by INSERT.
    #[default]
    Unspecified,
    /// DEFAULT literal, as written (a string stays a string); brought into the column's type with strict rules (1067).
    /// For TIMESTAMP columns the binder gives a `Value::DateTime` shifted to UTC already.
    Literal(Value),
    /// DEFAULT CURRENT_TIMESTAMP(fraction); the fraction must be the column's (1067).
    CurrentTimestamp {
        /// Digits of a second.
        fraction: u8,
    },
    /// GENERATED ALWAYS AS (expression): in the place of a default.
    Generated {
        /// The encoded `expression::Expression`, bound to the table's columns.
        #[wire(bytes)]
        encoded: Vec<u8>,
        /// As SHOW CREATE TABLE shall print it, without the parentheses around it.
        text: String,
        /// STORED.
        is_stored: bool,
    },
    /// DEFAULT (expression).
    Expression {
        /// The encoded `expression::Expression`, bound to the table's columns.
        #[wire(bytes)]
        encoded: Vec<u8>,
        /// As SHOW CREATE TABLE shall print it, without the parentheses around it.
        text: String,
    },
}

/// A column of CREATE TABLE or ADD COLUMN.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ColumnSpec {
    /// As written.
    pub name: String,
    /// Its type, collation resolved.
    pub sql_type: SqlType,
    /// NULL or NOT NULL.
    pub nullability: Nullability,
    /// DEFAULT.
    pub default: DefaultSpec,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// ON UPDATE CURRENT_TIMESTAMP(fraction).
    pub on_update_now: Option<u8>,
    /// COMMENT.
    pub comment: String,
    /// Display width, ZEROFILL, and what FLOAT and DOUBLE round to.
    #[wire(since = 6)]
    pub format: NumberFormat,
}

impl ColumnSpec {
    /// A nullable column without anything else.
    #[must_use]
    pub fn new(name: impl Into<String>, sql_type: SqlType) -> Self {
        Self {
            name: name.into(),
            sql_type,
            nullability: Nullability::Unspecified,
            default: DefaultSpec::Unspecified,
            auto_increment: false,
            on_update_now: None,
            comment: String::new(),
            format: NumberFormat::default(),
        }
    }
}

/// PRIMARY, UNIQUE or neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum KeySpecKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// KEY, INDEX.
    Ordered,
}

/// A key of CREATE TABLE, ADD KEY or CREATE INDEX.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct KeySpec {
    /// PRIMARY, UNIQUE or neither.
    pub kind: KeySpecKind,
    /// As written; None: named after its first column, with `_2`, `_3` … if that is taken. Ignored for a primary key.
    pub name: Option<String>,
    /// Its columns in order.
    pub parts: Vec<KeyPartSpec>,
}

/// One column of a key.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct KeyPartSpec {
    /// The column's name, in any case.
    pub column: String,
    /// column(length): characters (bytes for binary types).
    pub length: Option<u32>,
    /// DESC.
    pub descending: bool,
}

impl KeyPartSpec {
    /// The whole column, ascending.
    #[must_use]
    pub fn new(column: impl Into<String>) -> Self {
        Self { column: column.into(), length: None, descending: false }
    }
}

/// One action of ALTER TABLE.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum AlterAction {
    /// ADD KEY, ADD UNIQUE, ADD PRIMARY KEY, CREATE INDEX.
    AddIndex(KeySpec),
    /// DROP KEY, DROP INDEX.
    DropIndex {
        /// Its name, in any case.
        name: String,
    },
    /// RENAME INDEX.
    RenameIndex {
        /// Its name, in any case.
        from: String,
        /// Its new name.
        to: String,
    },
    /// ADD COLUMN behind the last column: rows are not touched if the default is a literal, they yield it.
    AddColumn(ColumnSpec),
    /// RENAME COLUMN.
    RenameColumn {
        /// Its name, in any case.
        from: String,
        /// Its new name.
        to: String,
    },
    /// RENAME TO.
    RenameTo(TableName),
    /// COMMENT =.
    Comment(String),
    /// COLLATE =: of string columns added from now on.
    Collation(Collation),
    /// MODIFY and CHANGE.
    ModifyColumn {
        /// Its name, in any case.
        from: String,
        /// All that it is from now on.
        spec: Box<ColumnSpec>,
    },
    /// FIRST and AFTER, of a column that an action before this one has added or modified.
    MoveColumn {
        /// Its name.
        column: String,
        /// The column behind which it comes; None: it comes first.
        after: Option<String>,
    },
    /// DROP COLUMN.
    DropColumn {
        /// Its name, in any case.
        name: String,
    },
    /// ALTER COLUMN … SET DEFAULT, DROP DEFAULT.
    SetDefault {
        /// Its name, in any case.
        column: String,
        /// `Unspecified`: none.
        default: DefaultSpec,
    },
    /// CONVERT TO CHARACTER SET: of all string columns, and of those that are added from now on.
    Convert(Collation),
    /// DROP PRIMARY KEY.
    DropPrimaryKey,
    /// ADD CHECK: rows that are there must pass, too.
    AddCheck(CheckSpec),
    /// DROP CHECK.
    DropCheck {
        /// Its name, in any case.
        name: String,
    },
    /// DROP CONSTRAINT: a CHECK constraint or a key.
    DropConstraint {
        /// Its name, in any case.
        name: String,
    },
    /// A constraint's condition again, over columns that have other types.
    BindCheck {
        /// Its name.
        name: String,
        /// The encoded expression.
        #[wire(bytes)]
        encoded: Vec<u8>,
    },
    /// The same for the expression of a generated column.
    BindGenerated {
        /// Its name.
        column: String,
        /// The encoded expression.
        #[wire(bytes)]
        encoded: Vec<u8>,
    },
    /// ALTER CHECK … [NOT] ENFORCED.
    EnforceCheck {
        /// Its name, in any case.
        name: String,
        /// Without NOT.
        is_enforced: bool,
    },
    /// AUTO_INCREMENT =: the next value, unless it is further already.
    AutoIncrement(u64),
    /// Expressions of the actions name columns as the table had them in this version.
    BoundTo(u32),
    /// Time, time zone and modes of the session, for rows that are written again.
    Context(StatementContext),
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct PrivilegeChange {
    /// Where.
    pub level: GrantLevel,
    /// Static privileges; GRANT OPTION is one of them.
    pub privileges: Privileges,
    /// Privileges on columns of the table.
    pub columns: Vec<(String, Privileges)>,
    /// Dynamic privileges; only on `*.*`.
    pub dynamic: DynamicPrivileges,
    /// GRANT: the dynamic ones that may be passed on. REVOKE: those that may not any more.
    pub grantable: DynamicPrivileges,
    /// From or to whom.
    pub accounts: Vec<UserName>,
}

/// Where privileges are granted.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum GrantLevel {
    /// `*.*`.
    Global,
    /// `database.*`, perhaps a pattern.
    Database(String),
    /// A table.
    Table(TableName),
}

/// Roles that are granted or taken away.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct RoleChange {
    /// The roles.
    pub roles: Vec<UserName>,
    /// The accounts that get or lose them.
    pub accounts: Vec<UserName>,
    /// WITH ADMIN OPTION.
    pub admin: AdminOption,
    /// Roles that cannot be taken away, because every account has them.
    pub mandatory: Vec<UserName>,
}

/// The roles of SET DEFAULT ROLE.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum DefaultRoles {
    /// NONE.
    None,
    /// ALL: those that are granted now.
    All,
    /// These.
    These(Vec<UserName>),
}

/// An account and how it proves itself.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct UserSpec {
    /// The account.
    pub user: UserName,
    /// IDENTIFIED; None: a new account has no password, an old one keeps its own.
    pub authentication: Option<Authentication>,
}

/// IDENTIFIED.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Authentication {
    /// WITH: `caching_sha2_password` or `mysql_native_password`. None: the account's own, or the default.
    pub plugin: Option<String>,
    /// BY or AS.
    pub credential: Credential,
}

/// The proof of identity that an account asks for.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum Credential {
    /// Neither BY nor AS: no password; an account that was there before must get one first.
    None,
    /// A password. The session that runs the statement replaces it by its verifier before a job is made.
    Password(Secret),
    /// The stored verifier, as the plugin defines it; empty: no password.
    Stored(#[wire(bytes)] Vec<u8>),
}

/// A password. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Wire)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

/// Options of CREATE USER and ALTER USER; those that are None are not changed.
#[derive(Clone, PartialEq, Eq, Default, Wire)]
pub struct AccountOptions {
    /// REQUIRE.
    pub security: Option<RequiredSecurity>,
    /// WITH MAX_QUERIES_PER_HOUR.
    pub queries_per_hour: Option<u32>,
    /// WITH MAX_UPDATES_PER_HOUR.
    pub updates_per_hour: Option<u32>,
    /// WITH MAX_CONNECTIONS_PER_HOUR.
    pub connections_per_hour: Option<u32>,
    /// WITH MAX_USER_CONNECTIONS.
    pub user_connections: Option<u32>,
    /// PASSWORD EXPIRE.
    pub expires_now: bool,
    /// PASSWORD EXPIRE DEFAULT, NEVER, INTERVAL.
    pub password_lifetime: Option<PasswordLifetime>,
    /// FAILED_LOGIN_ATTEMPTS.
    pub failed_login_attempts: Option<u16>,
    /// PASSWORD_LOCK_TIME.
    pub password_lock_time: Option<PasswordLockTime>,
    /// ACCOUNT LOCK, ACCOUNT UNLOCK.
    pub is_locked: Option<bool>,
    /// ATTRIBUTE, COMMENT.
    pub metadata: Option<MetadataOption>,
    /// When passwords of this statement are set, in seconds since 1970.
    pub now_s: u64,
}

/// The comment or attribute of an account.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum MetadataOption {
    /// COMMENT: the value of the member `comment`.
    Comment(String),
    /// ATTRIBUTE: the text of a JSON object that is merged into what is there.
    Attribute(String),
}

impl MetadataOption {
    /// The new metadata of an account, or MySQL's error.
    fn merged(&self, present: Option<&str>) -> Result<String, SqlError> {
        let merged = match self {
            MetadataOption::Comment(comment) => metadata::merge(present, &metadata::of_comment(comment)),
            MetadataOption::Attribute(text) => metadata::merge(present, text),
        };
        merged.ok_or_else(error::invalid_user_attribute)
    }
}

/// The options that are there.
impl std::fmt::Debug for AccountOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("AccountOptions");
        let mut show = |name: &str, value: Option<&dyn std::fmt::Debug>| {
            if let Some(value) = value {
                shown.field(name, value);
            }
        };
        fn some<T: std::fmt::Debug>(option: &Option<T>) -> Option<&dyn std::fmt::Debug> {
            option.as_ref().map(|value| value as &dyn std::fmt::Debug)
        }
        show("security", some(&self.security));
        show("queries_per_hour", some(&self.queries_per_hour));
        show("updates_per_hour", some(&self.updates_per_hour));
        show("connections_per_hour", some(&self.connections_per_hour));
        show("user_connections", some(&self.user_connections));
        show("expires_now", self.expires_now.then_some(&true as &dyn std::fmt::Debug));
        show("password_lifetime", some(&self.password_lifetime));
        show("failed_login_attempts", some(&self.failed_login_attempts));
        show("password_lock_time", some(&self.password_lock_time));
        show("is_locked", some(&self.is_locked));
        show("metadata", some(&self.metadata));
        shown.finish()
    }
}

impl AccountOptions {
    /// The new attributes of an account; `has_new_password`: the statement sets its password.
    pub(crate) fn apply(
        &self,
        attributes: &mut AccountAttributes,
        has_new_password: bool,
    ) -> Result<(), SqlError> {
        if has_new_password {
            attributes.password_changed_s = self.now_s;
            attributes.is_password_expired = false;
        }
        attributes.is_password_expired |= self.expires_now;
        let limits = &mut attributes.limits;
        for (limit, option) in [
            (&mut limits.queries_per_hour, self.queries_per_hour),
            (&mut limits.updates_per_hour, self.updates_per_hour),
            (&mut limits.connections_per_hour, self.connections_per_hour),
            (&mut limits.user_connections, self.user_connections),
        ] {
            *limit = option.unwrap_or(*limit);
        }
        attributes.security = self.security.unwrap_or(attributes.security);
        attributes.password_lifetime = self.password_lifetime.unwrap_or(attributes.password_lifetime);
        attributes.failed_login_attempts =
            self.failed_login_attempts.unwrap_or(attributes.failed_login_attempts);
        attributes.password_lock_time = self.password_lock_time.unwrap_or(attributes.password_lock_time);
        attributes.is_locked = self.is_locked.unwrap_or(attributes.is_locked);
        let is_unlocked = self.is_locked == Some(false);
        if is_unlocked || self.failed_login_attempts.is_some() || self.password_lock_time.is_some() {
            attributes.login_resets = attributes.login_resets.wrapping_add(1);
        }
        if let Some(metadata) = &self.metadata {
            attributes.metadata = Some(metadata.merged(attributes.metadata.as_deref())?);
        }
        Ok(())
    }
}
