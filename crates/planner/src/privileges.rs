//! Which privileges a statement needs: all of it is told here, in [`requirements`] and, for columns, in
//! [`check_columns`].
//!
//! ```text
//! before any name is looked up:
//!   Statement ── requirements ──► what must be held ── check ──► 1044, 1142, 1227 …
//! when it is known which columns are named:
//!   bound columns ── check_columns ──► 1143
//! ```
//! The first step needs names only, and comes before the binder looks for the table: 1142 says nothing about whether
//! the table exists. Where privileges may be held on columns, one on any column is enough for it. The second step then
//! asks for each column that the statement names, unless the whole table is permitted.
//!
//! **Invariants**: a plan that is kept is permitted for the [`PrivilegeSet`] that it was bound to, which is part of its
//! key. Every statement passes through here, for the match over [`Statement`] has no default. Nothing here depends on
//! rows.
//!
//! Deliberately not here: which rows of SHOW and of virtual tables an account sees (`show`), whose connections it may
//! end, and what the grants are (`types::privilege`).

use super::BindContext;
use super::bind::ColumnUse;
use super::statement::{
    Account, AccountWithPassword, AlterClause, AlterVerb, DdlStatement, FlushOption, GrantItem,
    GrantStatement, GrantedObject, InsertKind, SetStatementItem, ShowStatement, Statement, TableName,
    WrittenLevel,
};
use crate::plan::{ChangeVerb, SetTarget, Show, TableMaintenance};
use catalogue::{AccountOptions, SYSTEM_DATABASE, ViewVerb};
use protocol::SqlError;
use sqlparser::ast::LockType;
use std::sync::Arc;
use types::{DynamicPrivileges, PrivilegeSet, Privileges, TableDefinition, UserName};

/// Something that must be held.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Requirement {
    /// One of these, everywhere: 1227.
    Global(Privileges, DynamicPrivileges),
    /// All of these on a database: 1044.
    Database { database: String, privileges: Privileges },
    /// Anything in a database: 1044.
    AnyInDatabase { database: String },
    /// All of these on a table; where columns may be permitted, on any of them: 1142.
    Table { table: FullName, privileges: Privileges, columns: OnColumns },
    /// One of these on a table or a column of it: 1142 with this command.
    AnyOnTable { table: FullName, any_of: Privileges, command: &'static str },
    /// Anything on the whole table: 1142.
    ShowTable { table: FullName },
    /// The privileges that GRANT gives away: 1045.
    GrantGlobal(Privileges, DynamicPrivileges),
    /// WITH ADMIN OPTION for each of these roles, or ROLE_ADMIN: 1227.
    Admin { roles: Vec<UserName> },
    /// SYSTEM_USER, if one of these accounts has it: 1227.
    SystemUser { accounts: Vec<UserName> },
}

/// Whether privileges on columns are enough to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OnColumns {
    Suffice,
    No,
}

/// A table, its database known.
#[derive(Clone, PartialEq, Eq, Debug)]
struct FullName {
    database: String,
    name: String,
}

/// Refuses a statement that the account may not send, as far as names tell.
pub(crate) fn check(statement: &Statement, context: &BindContext<'_>) -> Result<(), SqlError> {
    let needs = Needs { context };
    needs.requirements(statement).iter().try_for_each(|requirement| permitted(requirement, context))
}

/// Refuses to read a table, and perhaps to lock rows of it, as far as its name tells: before it is looked up.
pub(crate) fn check_read(
    table: &TableName,
    lock: Option<LockType>,
    context: &BindContext<'_>,
) -> Result<(), SqlError> {
    let needs = Needs { context };
    let mut required = needs.read(table);
    if lock == Some(LockType::Update) {
        let any_of = Privileges::UPDATE.with(Privileges::DELETE).with(Privileges::LOCK_TABLES);
        required.extend(needs.any_on_table(table, any_of, "SELECT with locking clause"));
    }
    required.iter().try_for_each(|requirement| permitted(requirement, context))
}

/// Refuses a statement that changes rows of a table, as far as its name tells.
pub(crate) fn check_change(
    table: &TableDefinition,
    verb: ChangeVerb,
    context: &BindContext<'_>,
) -> Result<(), SqlError> {
    if table.id.is_temporary() {
        return Ok(());
    }
    let name = TableName { database: Some(table.database.clone()), name: table.name.clone() };
    let (privilege, columns) = match verb {
        ChangeVerb::Update => (Privileges::UPDATE, OnColumns::Suffice),
        ChangeVerb::Delete => (Privileges::DELETE, OnColumns::No),
    };
    let needs = Needs { context };
    needs.stored(&name, privilege, columns).iter().try_for_each(|requirement| permitted(requirement, context))
}

/// Refuses a change through a view, if the account of `context` may not change all of what is behind it.
pub(crate) fn check_through(
    table: &TableDefinition,
    privilege: Privileges,
    context: &BindContext<'_>,
) -> Result<(), SqlError> {
    let name = TableName { database: Some(table.database.clone()), name: table.name.clone() };
    let needs = Needs { context }.stored(&name, privilege, OnColumns::No);
    needs.iter().try_for_each(|requirement| permitted(requirement, context))
}

/// Refuses a statement that names columns of a table for which its privileges do not suffice.
pub(crate) fn check_columns(
    table: &TableDefinition,
    uses: &ColumnUse,
    context: &BindContext<'_>,
) -> Result<(), SqlError> {
    if is_free(&table.database, &table.name) || table.id.is_temporary() {
        return Ok(());
    }
    let set = context.privileges;
    let on_table = set.on_table(&table.database, &table.name);
    for (privilege, columns, is_whole) in [
        (Privileges::SELECT, &uses.read, uses.reads_all),
        (Privileges::INSERT, &uses.inserted, uses.inserts_all),
        (Privileges::UPDATE, &uses.updated, false),
    ] {
        if on_table.has(privilege) {
            continue;
        }
        for column in columns {
            let column = &table.column_at(*column).name;
            if set.on_column(&table.database, &table.name, column).has(privilege) {
                continue;
            }
            let command = command_of(privilege);
            // `SELECT *` does not tell which columns there are.
            if is_whole {
                return Err(table_denied(&command, &table.name, context));
            }
            return Err(column_denied(&command, column, &table.name, context));
        }
    }
    Ok(())
}

/// Only accounts that may see all columns of the table are told that a column does not exist.
pub(crate) fn hide_unknown_column(
    error: SqlError,
    statement: &Statement,
    reads: &[(Arc<TableDefinition>, ColumnUse)],
    context: &BindContext<'_>,
) -> SqlError {
    let is_hidden = |table: &TableDefinition| {
        let held = context.privileges.on_table(&table.database, &table.name);
        !is_free(&table.database, &table.name) && !table.id.is_temporary() && !held.has(Privileges::SELECT)
    };
    let may_hide = error.code == 1054 && matches!(statement, Statement::Select(_) | Statement::Analyze(_));
    if let Some((table, _)) = reads.iter().find(|(table, _)| may_hide && is_hidden(table)) {
        let name = error.message.split('\'').nth(1).unwrap_or_default();
        return column_denied(&command_of(Privileges::SELECT), name, &table.name, context);
    }
    let (table, privilege) = match statement {
        Statement::Insert(insert) => (insert.table.clone(), Privileges::INSERT),
        Statement::Update(update) => (update.table.name.clone(), Privileges::UPDATE),
        Statement::Delete(delete) => (delete.table.name.clone(), Privileges::SELECT),
        Statement::Select(_)
        | Statement::Analyze(_)
        | Statement::Change(_)
        | Statement::Explain(..)
        | Statement::Ddl(_)
        | Statement::Transaction(_)
        | Statement::Set(_)
        | Statement::Use(_)
        | Statement::Show(_)
        | Statement::Maintenance(..)
        | Statement::Kill { .. }
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::Named(_)
        | Statement::Grant(_)
        | Statement::SetRole(_)
        | Statement::Flush(_)
        | Statement::Shutdown
        | Statement::Nothing(_) => return error,
    };
    let Some(database) = table.database.as_deref().or(context.database) else { return error };
    let held = context.privileges.on_table(&canonical_database(database), &table.name);
    let name = error.message.split('\'').nth(1).unwrap_or_default();
    let is_permitted = held.has(privilege) || context.temporary_table(database, &table.name).is_some();
    if error.code != 1054 || is_free(database, &table.name) || is_permitted {
        return error;
    }
    column_denied(&command_of(privilege), name, &table.name, context)
}

// ---- what statements need -------------------------------------------------------------------------------------------

struct Needs<'a> {
    context: &'a BindContext<'a>,
}

impl Needs<'_> {
    fn requirements(&self, statement: &Statement) -> Vec<Requirement> {
        match statement {
            Statement::Insert(insert) => {
                let mut needs = self.table(&insert.table, Privileges::INSERT, OnColumns::Suffice);
                if insert.kind == InsertKind::Replace {
                    needs.extend(self.table(&insert.table, Privileges::DELETE, OnColumns::No));
                }
                if !insert.on_duplicate.is_empty() {
                    needs.extend(self.table(&insert.table, Privileges::UPDATE, OnColumns::Suffice));
                }
                needs
            }
            Statement::Update(update) => {
                self.table(&update.table.name, Privileges::UPDATE, OnColumns::Suffice)
            }
            Statement::Delete(delete) => self.table(&delete.table.name, Privileges::DELETE, OnColumns::No),
            Statement::Explain(_, explained) => self.requirements(explained),
            Statement::Ddl(ddl) => self.ddl(ddl),
            Statement::Set(items) => {
                let is_global = |item: &SetStatementItem| {
                    matches!(
                        item.target,
                        SetTarget::Global(_)
                            | SetTarget::Persist(_)
                            | SetTarget::PersistOnly(_)
                            | SetTarget::ResetPersist { .. }
                    )
                };
                let is_persisted_only =
                    |item: &SetStatementItem| matches!(item.target, SetTarget::PersistOnly(_));
                let mut needs = Vec::new();
                if items.iter().any(is_global) {
                    needs.push(super_or(DynamicPrivileges::SYSTEM_VARIABLES_ADMIN));
                }
                if items.iter().any(is_persisted_only) {
                    needs.push(super_or(DynamicPrivileges::PERSIST_RO_VARIABLES_ADMIN));
                }
                needs
            }
            Statement::Use(database) => vec![Requirement::AnyInDatabase { database: database.clone() }],
            Statement::Show(show) => self.show(show),
            Statement::Maintenance(operation, tables) => {
                let needed = match operation {
                    TableMaintenance::Analyze | TableMaintenance::Optimize | TableMaintenance::Repair => {
                        Privileges::SELECT.with(Privileges::INSERT)
                    }
                    TableMaintenance::Check => Privileges::SELECT,
                };
                tables.iter().flat_map(|table| self.table(table, needed, OnColumns::No)).collect()
            }
            Statement::Grant(grant) => self.grant(grant),
            Statement::Flush(options) => options.iter().map(|option| flush(*option)).collect(),
            Statement::Shutdown => {
                vec![Requirement::Global(Privileges::SHUTDOWN, DynamicPrivileges::NONE)]
            }
            Statement::LockTables(tables) => {
                tables.iter().flat_map(|(table, _)| self.lock(&table.name)).collect()
            }
            // The binder asks for each table that a query names; KILL whose connection it is; SET ROLE which roles are
            // granted.
            Statement::Select(_)
            | Statement::Analyze(_)
            | Statement::Change(_)
            | Statement::Kill { .. }
            | Statement::SetRole(_)
            | Statement::Transaction(_)
            | Statement::Named(_)
            | Statement::UnlockTables
            | Statement::Nothing(_) => Vec::new(),
        }
    }

    /// SELECT on the table or a column of it.
    fn read(&self, table: &TableName) -> Vec<Requirement> {
        let mut needs = self.table(table, Privileges::SELECT, OnColumns::Suffice);
        let holds_verifiers = |table: FullName| table.database == SYSTEM_DATABASE && table.name == "users";
        if self.full(table).is_some_and(holds_verifiers) {
            // Verifiers of passwords are for those who may read `mysql`.
            let database = "mysql".to_owned();
            needs.push(Requirement::Database { database, privileges: Privileges::SELECT });
        }
        needs
    }

    /// LOCK TABLES on the database, and SELECT on the table.
    fn lock(&self, table: &TableName) -> Vec<Requirement> {
        let Some(full) = self.full(table) else { return Vec::new() };
        let database = Requirement::Database { database: full.database, privileges: Privileges::LOCK_TABLES };
        let mut needs = vec![database];
        needs.extend(self.table(table, Privileges::SELECT, OnColumns::No));
        needs
    }

    /// A table by its full name; None if no database is selected, which the binder says.
    fn full(&self, table: &TableName) -> Option<FullName> {
        let database = table.database.as_deref().or(self.context.database)?;
        Some(FullName { database: database.to_owned(), name: table.name.clone() })
    }

    /// On a table that is there; nothing on a temporary one, with which its session may do as it likes.
    fn table(&self, table: &TableName, privileges: Privileges, columns: OnColumns) -> Vec<Requirement> {
        if self.is_temporary(table) { Vec::new() } else { self.stored(table, privileges, columns) }
    }

    fn is_temporary(&self, table: &TableName) -> bool {
        let database = table.database.as_deref().or(self.context.database);
        database.is_some_and(|database| self.context.temporary_table(database, &table.name).is_some())
    }

    /// On a stored table, or the name of a new one, whatever temporary table hides it.
    fn stored(&self, table: &TableName, privileges: Privileges, columns: OnColumns) -> Vec<Requirement> {
        let full = self.full(table);
        full.map(|table| Requirement::Table { table, privileges, columns }).into_iter().collect()
    }

    fn any_on_table(
        &self,
        table: &TableName,
        any_of: Privileges,
        command: &'static str,
    ) -> Option<Requirement> {
        let full = self.full(table).filter(|_| !self.is_temporary(table));
        full.map(|table| Requirement::AnyOnTable { table, any_of, command })
    }

    fn ddl(&self, ddl: &DdlStatement) -> Vec<Requirement> {
        let database =
            |name: &str, privileges| vec![Requirement::Database { database: name.to_owned(), privileges }];
        // (New names, and those of views.)
        let named = |table: &TableName, privileges| self.stored(table, privileges, OnColumns::No);
        let whole = |table: &TableName, privileges| self.table(table, privileges, OnColumns::No);
        match ddl {
            DdlStatement::CreateDatabase { name, .. } => database(name, Privileges::CREATE),
            DdlStatement::DropDatabase { name, .. } => database(name, Privileges::DROP),
            DdlStatement::AlterDatabase { name, .. } => match name.as_deref().or(self.context.database) {
                Some(name) => database(name, Privileges::ALTER),
                None => Vec::new(),
            },
            DdlStatement::CreateTable(create) if create.is_temporary => self.temporary(&create.table),
            DdlStatement::CreateTable(create) => {
                let inserted = if create.select.is_some() { Privileges::INSERT } else { Privileges::NONE };
                named(&create.table, Privileges::CREATE.with(inserted))
            }
            DdlStatement::CreateTableLike { table, like, is_temporary, .. } => {
                let mut needs =
                    if *is_temporary { self.temporary(table) } else { named(table, Privileges::CREATE) };
                needs.extend(self.table(like, Privileges::SELECT, OnColumns::No));
                needs
            }
            DdlStatement::CreateView(create) => {
                let mut needs = named(&create.name, Privileges::CREATE_VIEW);
                if create.verb != ViewVerb::Create {
                    needs.extend(named(&create.name, Privileges::DROP));
                }
                if create.definer.as_ref().is_some_and(|definer| !self.is_own(definer)) {
                    needs.push(super_or(DynamicPrivileges::SET_USER_ID));
                }
                needs
            }
            DdlStatement::DropViews { views, .. } => {
                views.iter().flat_map(|view| named(view, Privileges::DROP)).collect()
            }
            DdlStatement::DropProgram { .. } | DdlStatement::DropTables { is_temporary: true, .. } => {
                Vec::new()
            }
            DdlStatement::DropTables { tables, .. } => {
                tables.iter().flat_map(|table| whole(table, Privileges::DROP)).collect()
            }
            DdlStatement::Truncate(table) => whole(table, Privileges::DROP),
            DdlStatement::RenameTables(renames) => {
                let needs = |(from, to): &(TableName, TableName)| self.rename(from, to);
                renames.iter().flat_map(needs).collect()
            }
            DdlStatement::AlterTable { verb: AlterVerb::Index, table, .. } => whole(table, Privileges::INDEX),
            DdlStatement::AlterTable { verb: AlterVerb::AlterTable, table, actions } => {
                let mut needs = whole(table, Privileges::ALTER);
                for action in actions {
                    if let AlterClause::RenameTo(to) = action
                        && !self.is_temporary(table)
                    {
                        needs.extend(self.rename(table, to));
                    }
                }
                needs
            }
            DdlStatement::CreateUsers { .. } => create_user(),
            DdlStatement::DropUsers { users, .. } => self.on_accounts(create_user(), users),
            DdlStatement::AlterUsers { users, options, .. } => {
                // One's own password is one's own affair; what else an account is held to is not.
                let is_password_only = **options == AccountOptions::default();
                let is_own = |user: &AccountWithPassword| {
                    is_password_only && user.authentication.is_some() && self.is_own(&user.account)
                };
                let others: Vec<Account> =
                    users.iter().filter(|user| !is_own(user)).map(|user| user.account.clone()).collect();
                if others.is_empty() { Vec::new() } else { self.on_accounts(create_user(), &others) }
            }
            DdlStatement::SetPassword(user) if self.is_own(&user.account) => Vec::new(),
            DdlStatement::SetPassword(user) => {
                self.on_accounts(create_user(), std::slice::from_ref(&user.account))
            }
            DdlStatement::RenameUsers(renames) => {
                let accounts: Vec<Account> = renames.iter().map(|(from, _)| from.clone()).collect();
                self.on_accounts(create_user(), &accounts)
            }
            DdlStatement::CreateRoles { .. } => vec![Requirement::Global(
                Privileges::CREATE_ROLE.with(Privileges::CREATE_USER),
                DynamicPrivileges::NONE,
            )],
            DdlStatement::DropRoles { roles, .. } => {
                let either = Privileges::DROP_ROLE.with(Privileges::CREATE_USER);
                self.on_accounts(vec![Requirement::Global(either, DynamicPrivileges::NONE)], roles)
            }
            DdlStatement::SetDefaultRoles { accounts, .. } => {
                if accounts.iter().all(|account| self.is_own(account)) {
                    return Vec::new();
                }
                let either = Requirement::Global(Privileges::CREATE_USER, DynamicPrivileges::ROLE_ADMIN);
                self.on_accounts(vec![either], accounts)
            }
        }
    }

    fn rename(&self, from: &TableName, to: &TableName) -> Vec<Requirement> {
        let (old, new) =
            (Privileges::ALTER.with(Privileges::DROP), Privileges::CREATE.with(Privileges::INSERT));
        let mut needs = self.stored(from, old, OnColumns::No);
        needs.extend(self.stored(to, new, OnColumns::No));
        needs
    }

    /// CREATE TEMPORARY TABLE.
    fn temporary(&self, table: &TableName) -> Vec<Requirement> {
        let privileges = Privileges::CREATE_TEMPORARY_TABLES;
        let full = self.full(table);
        let need = |FullName { database, .. }| Requirement::Database { database, privileges };
        full.map(need).into_iter().collect()
    }

    fn account(&self, account: &Account) -> UserName {
        match account {
            Account::Current => UserName::new(self.context.user.0, self.context.user.1),
            Account::Named { name, host } => UserName::new(name.clone(), host.clone()),
        }
    }

    fn is_own(&self, account: &Account) -> bool {
        let UserName { name, host } = self.account(account);
        (name.as_str(), host.as_str()) == self.context.user
    }

    /// Those that the statement is about may be protected by SYSTEM_USER.
    fn on_accounts(&self, mut needs: Vec<Requirement>, accounts: &[Account]) -> Vec<Requirement> {
        let accounts = accounts.iter().map(|account| self.account(account)).collect();
        needs.push(Requirement::SystemUser { accounts });
        needs
    }

    fn show(&self, show: &ShowStatement) -> Vec<Requirement> {
        let database_of = |database: &str| {
            let named = if show.database_missing { self.context.database } else { Some(database) };
            named.map(str::to_owned)
        };
        let in_database = |database: &str| {
            let database = database_of(database);
            database.map(|database| Requirement::AnyInDatabase { database }).into_iter().collect()
        };
        let on_table = |database: &str, table: &str, any_of, command| {
            let table = |database| FullName { database, name: table.to_owned() };
            let need = |database| Requirement::AnyOnTable { table: table(database), any_of, command };
            database_of(database).map(need).into_iter().collect()
        };
        let is_own = |database: &str, table: &str| {
            let database = database_of(database);
            database.is_some_and(|database| self.context.temporary_table(&database, table).is_some())
        };
        match &show.what {
            Show::Columns { database, table, .. }
            | Show::Indexes { database, table }
            | Show::CreateTable { database, table }
                if is_own(database, table) =>
            {
                Vec::new()
            }
            Show::Tables { database, .. }
            | Show::TableStatus { database }
            | Show::CreateDatabase { database } => in_database(database),
            Show::Columns { database, table, .. } | Show::Indexes { database, table } => {
                on_table(database, table, Privileges::OF_TABLE, "SELECT")
            }
            Show::CreateView { database, view, .. } => {
                let Some(database) = database_of(database) else { return Vec::new() };
                let table = FullName { database, name: view.clone() };
                let privileges = Privileges::SHOW_VIEW.with(Privileges::SELECT);
                vec![Requirement::Table { table, privileges, columns: OnColumns::No }]
            }
            Show::CreateTable { database, table } => {
                let table = |database| FullName { database, name: table.clone() };
                let need = |database| Requirement::ShowTable { table: table(database) };
                database_of(database).map(need).into_iter().collect()
            }
            Show::Grants { account: Some((name, host)), .. }
            | Show::CreateUser { account: Some((name, host)) }
                if (name.as_str(), host.as_str()) != self.context.user =>
            {
                vec![Requirement::Database { database: "mysql".to_owned(), privileges: Privileges::SELECT }]
            }
            Show::Nothing { privilege, .. } if !privilege.is_empty() => {
                vec![Requirement::Global(privilege.with(Privileges::SUPER), DynamicPrivileges::NONE)]
            }
            Show::Nothing { database: Some(database), .. } => in_database(database),
            Show::EngineStatus(_) => {
                vec![Requirement::Global(
                    Privileges::PROCESS.with(Privileges::SUPER),
                    DynamicPrivileges::NONE,
                )]
            }
            // Statements of others are omitted from SHOW PROCESSLIST.
            Show::Databases
            | Show::Variables { .. }
            | Show::Status
            | Show::Diagnostics { .. }
            | Show::DiagnosticsCount(_)
            | Show::Engines
            | Show::CharacterSets
            | Show::Collations
            | Show::ProcessList
            | Show::Grants { .. }
            | Show::CreateUser { .. }
            | Show::Privileges
            | Show::Plugins
            | Show::Maintenance { .. }
            | Show::Nothing { .. } => Vec::new(),
        }
    }

    fn grant(&self, grant: &GrantStatement) -> Vec<Requirement> {
        let needs = match &grant.object {
            GrantedObject::Everything => {
                vec![Requirement::Global(Privileges::CREATE_USER, DynamicPrivileges::NONE)]
            }
            GrantedObject::Roles { roles, .. } => {
                vec![Requirement::Admin { roles: roles.iter().map(|role| self.account(role)).collect() }]
            }
            GrantedObject::Privileges { items, level } => self.given(items, level),
        };
        self.on_accounts(needs, &grant.accounts)
    }

    /// The giver of a privilege must have it, with GRANT OPTION, in the same place.
    fn given(&self, items: &[GrantItem], level: &WrittenLevel) -> Vec<Requirement> {
        let mut privileges = Privileges::GRANT;
        let mut dynamic = DynamicPrivileges::NONE;
        let (mut is_static, mut on_columns) = (items.is_empty(), false);
        for item in items {
            match item {
                GrantItem::Static { privilege, columns } => {
                    is_static = true;
                    on_columns |= !columns.is_empty();
                    privileges = privileges.with(*privilege);
                }
                GrantItem::Dynamic(one) => dynamic = dynamic.with(*one),
                GrantItem::All => {
                    is_static = true;
                    privileges = privileges.with(all_of(level));
                }
                GrantItem::Usage => is_static = true,
                GrantItem::GrantOption => {}
            }
        }
        match level {
            // Columns are a table's: the binder says 1144.
            WrittenLevel::Global | WrittenLevel::Database(_) if on_columns => Vec::new(),
            WrittenLevel::Global => {
                let privileges = if is_static { privileges } else { Privileges::NONE };
                vec![Requirement::GrantGlobal(privileges, dynamic)]
            }
            WrittenLevel::Database(database) => {
                let database = database.as_deref().or(self.context.database);
                let need =
                    |database: &str| Requirement::Database { database: database.to_owned(), privileges };
                database.map(need).into_iter().collect()
            }
            WrittenLevel::Table { database, name } => {
                let table = TableName { database: database.clone(), name: name.clone() };
                let columns = if on_columns { OnColumns::Suffice } else { OnColumns::No };
                self.table(&table, privileges, columns)
            }
        }
    }
}

/// ALL at a level, without GRANT OPTION.
pub(crate) fn all_of(level: &WrittenLevel) -> Privileges {
    let all = match level {
        WrittenLevel::Global => Privileges::OF_GLOBAL,
        WrittenLevel::Database(_) => Privileges::OF_DATABASE,
        WrittenLevel::Table { .. } => Privileges::OF_TABLE,
    };
    all.without(Privileges::GRANT)
}

fn super_or(dynamic: DynamicPrivileges) -> Requirement {
    Requirement::Global(Privileges::SUPER, dynamic)
}

fn create_user() -> Vec<Requirement> {
    vec![Requirement::Global(Privileges::CREATE_USER, DynamicPrivileges::NONE)]
}

fn flush(option: FlushOption) -> Requirement {
    let dynamic = match option {
        FlushOption::Tables => DynamicPrivileges::FLUSH_TABLES,
        FlushOption::Status => DynamicPrivileges::FLUSH_STATUS,
        FlushOption::UserResources => DynamicPrivileges::FLUSH_USER_RESOURCES,
        FlushOption::OptimizerCosts => DynamicPrivileges::FLUSH_OPTIMIZER_COSTS,
        FlushOption::Privileges | FlushOption::Other => DynamicPrivileges::NONE,
    };
    Requirement::Global(Privileges::RELOAD, dynamic)
}

// ---- whether it is held ---------------------------------------------------------------------------------------------

/// Tables that everybody may read: those of information_schema show each account what it may see, and a few of
/// performance_schema are about the session.
pub fn is_free(database: &str, table: &str) -> bool {
    const OF_SESSION: [&str; 6] = [
        "global_status",
        "global_variables",
        "session_account_connect_attrs",
        "session_status",
        "session_variables",
        "processlist",
    ];
    database.eq_ignore_ascii_case("information_schema")
        || database.eq_ignore_ascii_case("performance_schema")
            && OF_SESSION.iter().any(|free| free.eq_ignore_ascii_case(table))
}

/// Databases of virtual tables are named in any case, and grants on them in lower case.
pub fn canonical_database(database: &str) -> String {
    if super::bind::is_virtual_database(database) {
        database.to_ascii_lowercase()
    } else {
        database.to_owned()
    }
}

fn permitted(requirement: &Requirement, context: &BindContext<'_>) -> Result<(), SqlError> {
    let set = context.privileges;
    match requirement {
        Requirement::Global(any_of, dynamic) => {
            let is_held = set.global().has_any(*any_of) || !set.dynamic().of(*dynamic).is_empty();
            if is_held { Ok(()) } else { Err(global_denied(*any_of, *dynamic)) }
        }
        Requirement::Database { database, privileges } => {
            let missing = privileges.without(set.on_database(&canonical_database(database)));
            if !missing.without(Privileges::OF_DATABASE).is_empty() {
                Err(access_denied(context.user))
            } else if !missing.is_empty() {
                Err(database_denied(database, context.user))
            } else {
                Ok(())
            }
        }
        Requirement::AnyInDatabase { database } => {
            if may_use_database(set, database) {
                Ok(())
            } else {
                Err(database_denied(database, context.user))
            }
        }
        Requirement::Table { table: FullName { database, name }, privileges, columns } => {
            let database = &canonical_database(database);
            if is_free(database, name) && Privileges::SELECT.has(*privileges) {
                return Ok(());
            }
            if database == "information_schema" {
                return Err(database_denied(database, context.user));
            }
            let held = match columns {
                OnColumns::Suffice => set.within_table(database, name),
                OnColumns::No => set.on_table(database, name),
            };
            let missing = privileges.without(held);
            // Privileges that no table has are asked of the database, those that no database has of the server.
            if !missing.without(Privileges::OF_DATABASE).is_empty() {
                Err(access_denied(context.user))
            } else if !missing.without(Privileges::OF_TABLE).is_empty() {
                Err(database_denied(database, context.user))
            } else if !missing.is_empty() {
                Err(table_denied(&command_of(missing), name, context))
            } else {
                Ok(())
            }
        }
        Requirement::AnyOnTable { table: FullName { database, name }, any_of, command } => {
            let database = &canonical_database(database);
            let is_held = is_free(database, name) || set.within_table(database, name).has_any(*any_of);
            if is_held { Ok(()) } else { Err(table_denied(command, name, context)) }
        }
        Requirement::ShowTable { table: FullName { database, name } } => {
            let database = &canonical_database(database);
            let is_held =
                is_free(database, name) || !set.on_table(database, name).of(Privileges::OF_TABLE).is_empty();
            if is_held { Ok(()) } else { Err(table_denied("SHOW", name, context)) }
        }
        Requirement::GrantGlobal(privileges, dynamic) => {
            let may_give =
                set.grantable().has(*dynamic) || set.global().has(Privileges::GRANT.with(Privileges::SUPER));
            if !set.global().has(*privileges) {
                return Err(access_denied(context.user));
            }
            if may_give { Ok(()) } else { Err(global_denied(Privileges::GRANT, DynamicPrivileges::NONE)) }
        }
        Requirement::Admin { roles } => {
            let account = UserName::new(context.user.0, context.user.1);
            let grants = &context.schema.grants;
            let is_admin = |role: &UserName| {
                let held = grants.roles_of(&account).find(|(held, _)| *held == role);
                held.is_some_and(|(_, admin)| admin == types::AdminOption::Yes)
            };
            if set.is_super_or(DynamicPrivileges::ROLE_ADMIN) || roles.iter().all(is_admin) {
                return Ok(());
            }
            Err(needs_one_of("WITH ADMIN, ROLE_ADMIN, SUPER"))
        }
        Requirement::SystemUser { accounts } => {
            let is_protected = |account: &UserName| {
                let grants = context.schema.grants.of(account);
                grants.is_some_and(|grants| grants.dynamic.has(DynamicPrivileges::SYSTEM_USER))
            };
            let is_held = set.dynamic().has(DynamicPrivileges::SYSTEM_USER);
            if is_held || !accounts.iter().any(is_protected) {
                Ok(())
            } else {
                Err(needs_one_of("SYSTEM_USER"))
            }
        }
    }
}

/// Whether a database may be the current one, and its tables listed.
pub fn may_use_database(set: &PrivilegeSet, database: &str) -> bool {
    let database = canonical_database(database);
    database == "information_schema" || database == "performance_schema" || set.may_use_database(&database)
}

fn command_of(privileges: Privileges) -> String {
    privileges.names().collect::<Vec<_>>().join(", ")
}

fn column_denied(command: &str, column: &str, table: &str, context: &BindContext<'_>) -> SqlError {
    let (user, host) = context.user;
    SqlError::new(
        1143,
        format!(
            "{command} command denied to user '{user}'@'{host}' for column '{column}' in table '{table}'"
        ),
    )
}

fn table_denied(command: &str, table: &str, context: &BindContext<'_>) -> SqlError {
    denied(command, table, context.user)
}

/// 1142, for an account of this name and host.
pub fn denied(command: &str, table: &str, (user, host): (&str, &str)) -> SqlError {
    SqlError::new(1142, format!("{command} command denied to user '{user}'@'{host}' for table '{table}'"))
}

/// 1044.
pub fn database_denied(database: &str, (user, host): (&str, &str)) -> SqlError {
    SqlError::new(1044, format!("Access denied for user '{user}'@'{host}' to database '{database}'"))
}

fn access_denied((user, host): (&str, &str)) -> SqlError {
    SqlError::new(1045, format!("Access denied for user '{user}'@'{host}' (using password: YES)"))
}

fn needs_one_of(privileges: &str) -> SqlError {
    let message =
        format!("Access denied; you need (at least one of) the {privileges} privilege(s) for this operation");
    SqlError::new(1227, message)
}

fn global_denied(any_of: Privileges, dynamic: DynamicPrivileges) -> SqlError {
    let option = |name| if name == "GRANT" { "GRANT OPTION" } else { name };
    let names: Vec<&str> = any_of.names().map(option).chain(dynamic.names()).collect();
    needs_one_of(&names.join(" or "))
}
