//! Privileges of accounts, as rows: SHOW GRANTS, information_schema's tables of privileges and roles, and MySQL's grant
//! tables.
//!
//! An account sees its own privileges and those of its active roles; who may read the database `mysql` sees those of
//! all accounts. Tables of `mysql` are not filtered: to read them is a privilege of its own.

use super::ShowContext;
use super::pruning::Pruning;
use super::virtual_tables::{text, yes_or_no};
use std::sync::Arc;
use types::{
    AdminOption, DateTime, DynamicPrivileges, Grants, PrivilegeSet, Privileges, TableGrants, User, UserName,
    Value, quote_name,
};

const CATALOG: &str = "def";

type Rows = Vec<Vec<Value>>;

// ---- SHOW GRANTS ----------------------------------------------------------------------------------------------------

/// SHOW GRANTS [FOR account [USING roles]]. The binder has looked whether they are there.
pub(super) fn shown(
    context: &ShowContext<'_>,
    account: Option<&(String, String)>,
    using: &[(String, String)],
) -> Rows {
    let (name, host) =
        account.map_or(context.account, |(name, host): &(String, String)| (name.as_str(), host.as_str()));
    let is_own = (name, host) == context.account;
    let account = UserName::new(name, host);
    let tables = &context.schema.grants;
    let mut roles: Vec<UserName> =
        using.iter().map(|(name, host)| UserName::new(name.clone(), host.clone())).collect();
    if is_own && using.is_empty() {
        roles = context.active_roles.to_vec();
    }
    let grants = PrivilegeSet::of(tables, &account, roles).merged();
    let mut lines = lines_of(&grants, &account);
    for (admin, ending) in [(AdminOption::No, ""), (AdminOption::Yes, " WITH ADMIN OPTION")] {
        let roles = tables.roles_of(&account).filter(|(_, held)| *held == admin);
        let roles: Vec<String> = roles.map(|(role, _)| role.quoted()).collect();
        if !roles.is_empty() {
            lines.push(format!("GRANT {} TO {}{ending}", roles.join(","), account.quoted()));
        }
    }
    lines.iter().map(|line| vec![text(line)]).collect()
}

/// The statements that would grant this.
fn lines_of(grants: &Grants, account: &UserName) -> Vec<String> {
    let to = account.quoted();
    let option = |privileges: Privileges| {
        if privileges.has(Privileges::GRANT) { " WITH GRANT OPTION" } else { "" }
    };
    let named = |privileges: Privileges| {
        let names: Vec<&str> = privileges.without(Privileges::GRANT).names().collect();
        if names.is_empty() { "USAGE".to_owned() } else { names.join(", ") }
    };
    let all_or_named = |privileges: Privileges, all: Privileges| {
        let is_all = privileges.has(all.without(Privileges::GRANT));
        if is_all { "ALL PRIVILEGES".to_owned() } else { named(privileges) }
    };
    let mut lines = vec![format!("GRANT {} ON *.* TO {to}{}", named(grants.global), option(grants.global))];
    let dynamic = [
        (grants.dynamic.without(grants.grantable), ""),
        (grants.dynamic.of(grants.grantable), " WITH GRANT OPTION"),
    ];
    for (privileges, ending) in dynamic {
        if !privileges.is_empty() {
            let names: Vec<&str> = privileges.names().collect();
            lines.push(format!("GRANT {} ON *.* TO {to}{ending}", names.join(",")));
        }
    }
    for (database, privileges) in &grants.databases {
        let (database, ending) = (quote_name(database), option(*privileges));
        let shown = all_or_named(*privileges, Privileges::OF_DATABASE);
        lines.push(format!("GRANT {shown} ON {database}.* TO {to}{ending}"));
    }
    for ((database, table), held) in &grants.tables {
        let place = format!("{}.{}", quote_name(database), quote_name(table));
        let shown = if held.columns.is_empty() {
            all_or_named(held.table, Privileges::OF_TABLE)
        } else {
            with_columns(held)
        };
        lines.push(format!("GRANT {shown} ON {place} TO {to}{}", option(held.table)));
    }
    lines
}

/// `SELECT, INSERT (a, b)`.
fn with_columns(held: &TableGrants) -> String {
    let part = |(privilege, name, _): &(Privileges, &'static str, &'static str)| {
        if *privilege == Privileges::GRANT {
            return None;
        }
        if held.table.has(*privilege) {
            return Some((*name).to_owned());
        }
        let columns = held.columns.iter().filter(|(_, held)| held.has(*privilege));
        let columns: Vec<String> = columns.map(|(column, _)| quote_name(column)).collect();
        (!columns.is_empty()).then(|| format!("{name} ({})", columns.join(", ")))
    };
    Privileges::NAMES.iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

// ---- information_schema: privileges ---------------------------------------------------------------------------------

/// The accounts whose grants are shown, and what is granted to them.
fn visible_accounts(context: &ShowContext<'_>) -> Vec<(UserName, Arc<Grants>)> {
    let sees_all = context.privileges.on_database("mysql").has(Privileges::SELECT);
    let own = UserName::new(context.account.0, context.account.1);
    let roles = context.schema.grants.closure(context.active_roles.iter().cloned());
    let named = context.schema.users.iter().map(|user| UserName::new(&*user.name, &*user.host));
    let visible = named.filter(|account| sees_all || *account == own || roles.contains(account));
    visible
        .map(|account| {
            let grants = context.schema.grants.of(&account).cloned().unwrap_or_default();
            (account, grants)
        })
        .collect()
}

/// One row per privilege: what comes before it, the privilege, whether it may be passed on.
fn push_privileges(rows: &mut Rows, before: &[Value], held: Privileges, grantable: bool) {
    let row = |name: &str| {
        let mut row = before.to_vec();
        row.extend([text(name), yes_or_no(grantable)]);
        row
    };
    let named = held.without(Privileges::GRANT);
    if named.is_empty() {
        rows.push(row("USAGE"));
    }
    rows.extend(named.names().map(row));
}

/// USER_PRIVILEGES.
pub(super) fn user_privileges(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (account, grants) in visible_accounts(context) {
        let before = [text(&account.to_string()), text(CATALOG)];
        push_privileges(&mut rows, &before, grants.global, grants.global.has(Privileges::GRANT));
        for name in grants.dynamic.names() {
            let grantable = DynamicPrivileges::by_name(name).is_some_and(|one| grants.grantable.has(one));
            let mut row = before.to_vec();
            row.extend([text(name), yes_or_no(grantable)]);
            rows.push(row);
        }
    }
    rows
}

/// SCHEMA_PRIVILEGES.
pub(super) fn schema_privileges(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (account, grants) in visible_accounts(context) {
        for (database, held) in &grants.databases {
            let before = [text(&account.to_string()), text(CATALOG), text(database)];
            push_privileges(&mut rows, &before, *held, held.has(Privileges::GRANT));
        }
    }
    rows
}

/// TABLE_PRIVILEGES.
pub(super) fn table_privileges(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (account, grants) in visible_accounts(context) {
        for ((database, table), held) in &grants.tables {
            if !held.table.is_empty() {
                let before = [text(&account.to_string()), text(CATALOG), text(database), text(table)];
                push_privileges(&mut rows, &before, held.table, held.table.has(Privileges::GRANT));
            }
        }
    }
    rows
}

/// COLUMN_PRIVILEGES.
pub(super) fn column_privileges(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (account, grants) in visible_accounts(context) {
        for ((database, table), held) in &grants.tables {
            for (column, privileges) in &held.columns {
                let grantee = account.to_string();
                let before = [&grantee, CATALOG, database, table, column].map(|value: &str| text(value));
                push_privileges(&mut rows, &before, *privileges, held.table.has(Privileges::GRANT));
            }
        }
    }
    rows
}

// ---- information_schema: roles --------------------------------------------------------------------------------------

fn names(account: &UserName) -> [Value; 2] {
    [text(&account.name), text(&account.host)]
}

/// APPLICABLE_ROLES: what SET ROLE may make active, and what comes with it.
pub(super) fn applicable_roles(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    roles_that(context, |_| true)
}

/// ADMINISTRABLE_ROLE_AUTHORIZATIONS: what may be granted on.
pub(super) fn administrable_roles(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    roles_that(context, |admin| admin == AdminOption::Yes)
}

fn roles_that(context: &ShowContext<'_>, passes: impl Fn(AdminOption) -> bool) -> Rows {
    let own = UserName::new(context.account.0, context.account.1);
    let tables = &context.schema.grants;
    let mut rows = Vec::new();
    let row = |grantee: &UserName, role: &UserName, admin: AdminOption| {
        let is_default = tables.default_roles_of(&own).any(|default| default == role);
        let mut row = names(&own).to_vec();
        row.extend(names(grantee));
        row.extend(names(role));
        row.push(yes_or_no(admin == AdminOption::Yes));
        row.push(yes_or_no(is_default));
        row.push(yes_or_no(context.mandatory_roles.contains(role)));
        row
    };
    let direct = tables.roles_of(&own).map(|(role, _)| role.clone());
    let direct: Vec<UserName> = direct.chain(context.mandatory_roles.iter().cloned()).collect();
    let grantees = std::iter::once(own.clone()).chain(tables.closure(direct));
    for grantee in grantees {
        let roles = tables.roles_of(&grantee).filter(|(_, admin)| passes(*admin));
        rows.extend(roles.map(|(role, admin)| row(&grantee, role, admin)));
    }
    for role in context.mandatory_roles {
        if passes(AdminOption::No) && !tables.is_granted(role, &own) {
            rows.push(row(&own, role, AdminOption::No));
        }
    }
    rows
}

/// ENABLED_ROLES: active ones, and what comes with them.
pub(super) fn enabled_roles(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let own = UserName::new(context.account.0, context.account.1);
    let tables = &context.schema.grants;
    let row = |role: UserName| {
        let is_default = tables.default_roles_of(&own).any(|default| *default == role);
        let mut row = names(&role).to_vec();
        row.extend([yes_or_no(is_default), yes_or_no(context.mandatory_roles.contains(&role))]);
        row
    };
    tables.closure(context.active_roles.iter().cloned()).into_iter().map(row).collect()
}

/// The active roles with what is granted to them on tables.
fn grants_of_roles(context: &ShowContext<'_>) -> Vec<(UserName, Arc<Grants>)> {
    let roles = context.schema.grants.closure(context.active_roles.iter().cloned());
    let with_grants = |role: UserName| {
        let grants = Arc::clone(context.schema.grants.of(&role)?);
        Some((role, grants))
    };
    roles.into_iter().filter_map(with_grants).collect()
}

/// ROLE_TABLE_GRANTS. Nobody keeps who granted it.
pub(super) fn role_table_grants(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (role, grants) in grants_of_roles(context) {
        for ((database, table), held) in &grants.tables {
            let mut before = vec![Value::Null, Value::Null];
            before.extend(names(&role));
            before.extend([text(CATALOG), text(database), text(table)]);
            push_privileges(&mut rows, &before, held.table, held.table.has(Privileges::GRANT));
        }
    }
    rows
}

/// ROLE_COLUMN_GRANTS.
pub(super) fn role_column_grants(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (role, grants) in grants_of_roles(context) {
        for ((database, table), held) in &grants.tables {
            for (column, privileges) in &held.columns {
                let mut before = vec![Value::Null, Value::Null];
                before.extend(names(&role));
                before.extend([CATALOG, database, table, column].map(|value: &str| text(value)));
                push_privileges(&mut rows, &before, *privileges, held.table.has(Privileges::GRANT));
            }
        }
    }
    rows
}

// ---- mysql ----------------------------------------------------------------------------------------------------------

/// Y or N for a `…_priv` column.
pub(super) fn flag(held: Privileges, column: &str) -> Value {
    let named = Privileges::NAMES.iter().find(|(_, _, flag)| *flag == column);
    text(if named.is_some_and(|(privilege, ..)| held.has(*privilege)) { "Y" } else { "N" })
}

/// The privileges that are granted to a user everywhere.
pub(super) fn global_of(context: &ShowContext<'_>, user: &User) -> Privileges {
    let account = UserName::new(&*user.name, &*user.host);
    context.schema.grants.of(&account).map_or(Privileges::NONE, |grants| grants.global)
}

/// Names as the grant tables' SET columns have them: `Select,Show view`.
fn set_text(held: Privileges) -> Value {
    let capitalised = |word: &str| {
        let (first, rest) = word.split_at(1);
        format!("{first}{}", rest.to_ascii_lowercase())
    };
    let name = |name: &str| match name {
        "SHOW VIEW" => "Show view".to_owned(),
        name => name.split(' ').map(capitalised).collect::<Vec<_>>().join(" "),
    };
    text(&held.names().map(name).collect::<Vec<_>>().join(","))
}

/// `mysql.db`, but for the columns of privileges, which follow in the order of `columns`.
pub(super) fn databases(context: &ShowContext<'_>, flags: impl Fn(Privileges) -> Vec<Value>) -> Rows {
    let mut rows = Vec::new();
    for (account, grants) in context.schema.grants.accounts() {
        for (database, held) in &grants.databases {
            let mut row = vec![text(&account.host), text(database), text(&account.name)];
            row.extend(flags(*held));
            rows.push(row);
        }
    }
    rows
}

/// `mysql.tables_priv`.
pub(super) fn tables(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (account, grants) in context.schema.grants.accounts() {
        for ((database, table), held) in &grants.tables {
            let mut row = vec![text(&account.host), text(database), text(&account.name), text(table)];
            row.extend([text(""), never(), set_text(held.table), set_text(held.any_column())]);
            rows.push(row);
        }
    }
    rows
}

/// The catalogue does not keep when something was granted.
fn never() -> Value {
    DateTime::from_unix_microseconds(0).map_or(Value::Null, Value::DateTime)
}

/// `mysql.columns_priv`.
pub(super) fn columns(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (account, grants) in context.schema.grants.accounts() {
        for ((database, table), held) in &grants.tables {
            for (column, privileges) in &held.columns {
                let mut row = vec![text(&account.host), text(database), text(&account.name), text(table)];
                row.extend([text(column), never(), set_text(*privileges)]);
                rows.push(row);
            }
        }
    }
    rows
}

/// `mysql.global_grants`.
pub(super) fn global_grants(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let mut rows = Vec::new();
    for (account, grants) in context.schema.grants.accounts() {
        for name in grants.dynamic.names() {
            let grantable = DynamicPrivileges::by_name(name).is_some_and(|one| grants.grantable.has(one));
            let mut row = names(account).to_vec();
            row.extend([text(name), text(if grantable { "Y" } else { "N" })]);
            rows.push(row);
        }
    }
    rows
}

/// `mysql.role_edges`.
pub(super) fn role_edges(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let row = |edge: types::RoleEdge| {
        let admin = if edge.admin == AdminOption::Yes { "Y" } else { "N" };
        [&edge.role.host, &edge.role.name, &edge.to.host, &edge.to.name, admin]
            .map(|value: &str| text(value))
            .to_vec()
    };
    context.schema.grants.role_edges().map(row).collect()
}

/// `mysql.default_roles`.
pub(super) fn default_roles(context: &ShowContext<'_>, _: &Pruning<'_>) -> Rows {
    let row = |default: types::DefaultRole| {
        let (account, role) = (&default.account, &default.role);
        [&account.host, &account.name, &role.host, &role.name].map(|value: &String| text(value)).to_vec()
    };
    context.schema.grants.default_roles().map(row).collect()
}
