//! The grants after GRANT and REVOKE, and MySQL's refusals.

use super::*;
use crate::system;
use std::sync::Arc;
use types::{
    Collation, ColumnDefinition, ColumnFlags, Database, DefaultValue, DynamicPrivileges, GrantPlace,
    IntegerWidth, PrivilegeSet, SqlType, TableDefinition,
};

fn name(name: &str) -> UserName {
    UserName::new(name, "%")
}

/// root, ann, bob, roles r and s; table d.t (id, Name).
fn schema() -> Schema {
    let mut schema = system::bootstrap();
    for account in ["ann", "bob"] {
        schema.put_user(User::new(account, "%"));
    }
    for account in ["r", "s"] {
        schema.put_user(role(&name(account)));
    }
    let database = Database { name: "d".into(), collation: Collation::Utf8mb40900AiCi };
    schema.put_database(database);
    let system_tables = system::SystemTables::new();
    let template = &system_tables.table(system::DATABASES).definition;
    let column = |name: &str| ColumnDefinition {
        name: name.into(),
        sql_type: SqlType::Integer { width: IntegerWidth::Normal, unsigned: false },
        default: DefaultValue::Missing,
        flags: ColumnFlags::default(),
        comment: String::new(),
        format: types::NumberFormat::default(),
        absent: None,
    };
    schema.put_table(Arc::new(TableDefinition {
        id: system::FIRST_USER_TABLE,
        database: "d".into(),
        name: "t".into(),
        kind: types::TableKind::User,
        columns: vec![column("id"), column("Name")],
        slots: types::TableSlots::ONE_RANK,
        ..(**template).clone()
    }));
    schema
}

fn change(level: GrantLevel, privileges: Privileges, to: &[&str]) -> PrivilegeChange {
    PrivilegeChange {
        level,
        privileges,
        columns: Vec::new(),
        dynamic: DynamicPrivileges::NONE,
        grantable: DynamicPrivileges::NONE,
        accounts: to.iter().map(|account| name(account)).collect(),
    }
}

fn on_table() -> GrantLevel {
    GrantLevel::Table(TableName::new("d", "t"))
}

fn roles(roles: &[&str], to: &[&str]) -> RoleChange {
    RoleChange {
        roles: roles.iter().map(|role| name(role)).collect(),
        accounts: to.iter().map(|account| name(account)).collect(),
        admin: AdminOption::No,
        mandatory: Vec::new(),
    }
}

/// Does what was planned; how many rows it changed.
fn apply(schema: &mut Schema, planned: Result<Planned, SqlError>) -> usize {
    let planned = planned.expect("it is allowed");
    let mut count = 0;
    for step in planned.steps {
        if let crate::job::Step::Write { changes, .. } = step {
            count += changes.len();
            changes.iter().for_each(|change| change.apply(schema));
        }
    }
    count
}

fn refusal(planned: Result<Planned, SqlError>) -> u16 {
    planned.map(|_| ()).expect_err("it is refused").code
}

#[test]
fn a_grant_is_added_and_taken_away() {
    let mut schema = schema();
    let before = schema.grants.clone();
    let select = change(on_table(), Privileges::SELECT, &["ann", "bob"]);
    let planned = grant(&schema, &select);
    assert_eq!(apply(&mut schema, planned), 2);
    let again = grant(&schema, &select);
    assert_eq!(apply(&mut schema, again), 0);
    let mut columns = change(on_table(), Privileges::INSERT, &["ann"]);
    columns.columns = vec![("nAME".into(), Privileges::UPDATE)];
    let planned = grant(&schema, &columns);
    apply(&mut schema, planned);
    let set = PrivilegeSet::of(&schema.grants, &name("ann"), []);
    assert!(set.on_table("d", "t").has(Privileges::SELECT.with(Privileges::INSERT)));
    assert!(set.on_column("d", "t", "Name").has(Privileges::UPDATE));
    let place = GrantPlace::Column { database: "d".into(), table: "t".into(), column: "Name".into() };
    assert!(schema.grants.rows().iter().any(|row| row.place == place));
    // Revoking from the table revokes from its columns.
    let all = Privileges::SELECT.with(Privileges::INSERT).with(Privileges::UPDATE);
    let planned = revoke(&schema, &change(on_table(), all, &["ann", "bob"]));
    apply(&mut schema, planned);
    assert_eq!(schema.grants, before);
}

#[test]
fn grants_of_what_does_not_exist() {
    let schema = schema();
    let gone = GrantLevel::Table(TableName::new("d", "gone"));
    assert_eq!(refusal(grant(&schema, &change(gone.clone(), Privileges::SELECT, &["ann"]))), 1146);
    assert!(grant(&schema, &change(gone, Privileges::CREATE, &["ann"])).is_ok());
    assert_eq!(refusal(grant(&schema, &change(GrantLevel::Global, Privileges::SELECT, &["eve"]))), 1410);
    let mut unknown = change(on_table(), Privileges::NONE, &["ann"]);
    unknown.columns = vec![("gone".into(), Privileges::SELECT)];
    assert_eq!(refusal(grant(&schema, &unknown)), 1054);
    let of_database = GrantLevel::Database("d".into());
    assert_eq!(refusal(revoke(&schema, &change(of_database, Privileges::SELECT, &["ann"]))), 1141);
    assert_eq!(refusal(revoke(&schema, &change(GrantLevel::Global, Privileges::SELECT, &["eve"]))), 1141);
    assert_eq!(refusal(revoke(&schema, &change(on_table(), Privileges::SELECT, &["ann"]))), 1147);
    assert_eq!(refusal(revoke_all(&schema, &[name("ann"), name("eve")])), 1269);
    assert_eq!(refusal(grant_roles(&schema, &roles(&["r"], &["eve"]))), 3523);
    assert_eq!(refusal(grant_roles(&schema, &roles(&["x"], &["ann"]))), 3523);
}

#[test]
fn roles_do_not_run_in_circles() {
    let mut schema = schema();
    assert_eq!(refusal(grant_roles(&schema, &roles(&["r"], &["r"]))), 4027);
    let planned = grant_roles(&schema, &roles(&["r"], &["s"]));
    assert_eq!(apply(&mut schema, planned), 1);
    assert_eq!(refusal(grant_roles(&schema, &roles(&["s"], &["r"]))), 4027);
    // One statement may close the circle by itself.
    let both = roles(&["r", "ann"], &["ann"]);
    assert_eq!(refusal(grant_roles(&schema, &both)), 4027);
    let planned = grant_roles(&schema, &roles(&["r", "s"], &["ann", "bob"]));
    assert_eq!(apply(&mut schema, planned), 4);
}

#[test]
fn default_roles_must_be_granted() {
    let mut schema = schema();
    let these = DefaultRoles::These(vec![name("r")]);
    assert_eq!(refusal(set_default_roles(&schema, &[name("ann")], &these, &[])), 3530);
    assert!(set_default_roles(&schema, &[name("ann")], &these, &[name("r")]).is_ok());
    let planned = grant_roles(&schema, &roles(&["r", "s"], &["ann"]));
    apply(&mut schema, planned);
    let planned = set_default_roles(&schema, &[name("ann")], &DefaultRoles::All, &[]);
    assert_eq!(apply(&mut schema, planned), 2);
    let planned = set_default_roles(&schema, &[name("ann")], &these, &[]);
    assert_eq!(apply(&mut schema, planned), 1);
    let mut mandatory = roles(&["r"], &["ann"]);
    mandatory.mandatory = vec![name("r")];
    assert_eq!(refusal(revoke_roles(&schema, &mandatory)), 3628);
    let planned = revoke_roles(&schema, &roles(&["r", "s", "r"], &["ann"]));
    assert_eq!(apply(&mut schema, planned), 3);
    assert_eq!(schema.grants, system::bootstrap().grants);
}

#[test]
fn everything_goes_with_an_account() {
    let mut schema = schema();
    for planned in [
        grant(&schema, &change(on_table(), Privileges::SELECT, &["r", "ann"])),
        grant_roles(&schema, &roles(&["r"], &["s", "ann"])),
    ] {
        apply(&mut schema, planned);
    }
    let planned = set_default_roles(&schema, &[name("ann")], &DefaultRoles::All, &[]);
    apply(&mut schema, planned);
    let changes = drop_accounts(&schema, &[&name("r"), &name("ann")]);
    assert_eq!(changes.len(), 7);
    changes.iter().for_each(|change| change.apply(&mut schema));
    assert_eq!(schema.grants, system::bootstrap().grants);
}

/// Nobody could give the rights back.
#[test]
fn the_last_administrator_keeps_its_rights() {
    let mut schema = schema();
    let grant_option = change(GrantLevel::Global, Privileges::GRANT, &["root"]);
    assert_eq!(refusal(revoke(&schema, &grant_option)), 1396);
    assert_eq!(refusal(revoke_all(&schema, &[name("root")])), 1396);
    let mut all = change(GrantLevel::Global, Privileges::OF_GLOBAL, &["ann"]);
    all.dynamic = DynamicPrivileges::SYSTEM_USER;
    let planned = grant(&schema, &all);
    apply(&mut schema, planned);
    assert!(revoke_all(&schema, &[name("root")]).is_ok());
    assert_eq!(refusal(revoke_all(&schema, &[name("root"), name("ann")])), 1396);
}

#[test]
fn what_was_granted_goes_with_an_account_that_is_renamed() {
    let account = |name: &str| UserName::new(name, "%");
    let mut schema = crate::bootstrap();
    for name in ["ann", "bob", "eve"] {
        schema.put_user(User::new(name, "%"));
        let edge = RoleEdge { to: account(name), role: account("r"), admin: AdminOption::No };
        std::sync::Arc::make_mut(&mut schema.grants).put_role(&edge);
    }
    schema.put_user(role(&account("r")));
    let grant = |name: &str, privileges: Privileges| GrantRow {
        account: account(name),
        place: types::GrantPlace::Database("shop".into()),
        privileges: privileges.0,
        grantable: 0,
    };
    std::sync::Arc::make_mut(&mut schema.grants).put(&grant("ann", Privileges::SELECT));
    std::sync::Arc::make_mut(&mut schema.grants).put(&grant("bob", Privileges::INSERT));
    std::sync::Arc::make_mut(&mut schema.grants)
        .put_default_role(&DefaultRole { account: account("ann"), role: account("r") });
    // ann and bob swap their names, the role gets another one.
    let pairs = [("ann", "tmp"), ("bob", "ann"), ("tmp", "bob"), ("r", "s")];
    let pairs = pairs.map(|(from, to)| (account(from), account(to)));
    let planned = crate::accounts::rename(&schema, &pairs).expect("a plan");
    let Some(crate::job::Step::Write { changes, .. }) = planned.steps.into_iter().next() else {
        panic!("nothing is written");
    };
    let mut after = schema.clone();
    changes.iter().for_each(|change| change.apply(&mut after));
    let on_shop = |name: &str| after.grants.of(&account(name)).map(|grants| grants.on_database("shop"));
    assert_eq!((on_shop("ann"), on_shop("bob")), (Some(Privileges::INSERT), Some(Privileges::SELECT)));
    for name in ["ann", "bob", "eve"] {
        assert!(after.grants.is_granted(&account("s"), &account(name)));
        assert!(!after.grants.is_granted(&account("r"), &account(name)));
    }
    assert_eq!(
        after.grants.default_roles().collect::<Vec<_>>(),
        [DefaultRole { account: account("bob"), role: account("s") }]
    );
    assert!(
        after.user("s", "%").is_some() && after.user("r", "%").is_none() && after.user("tmp", "%").is_none()
    );
}

fn count_of(planned: Planned) -> usize {
    let changes = |step| if let crate::job::Step::Write { changes, .. } = step { changes.len() } else { 0 };
    planned.steps.into_iter().map(changes).sum()
}

/// Compared pair by pair, each statement would take minutes.
#[test]
fn an_account_may_have_many_grants() {
    let mut schema = schema();
    let grant_of = |number: usize, kind: usize| {
        let place = match kind {
            0 => GrantPlace::Table { database: "d".into(), table: format!("t{number}") },
            _ => GrantPlace::Column { database: "d".into(), table: "t".into(), column: format!("c{number}") },
        };
        GrantRow { account: name("ann"), place, privileges: Privileges::SELECT.0, grantable: 0 }
    };
    for number in 0..30_000 {
        Arc::make_mut(&mut schema.grants).put(&grant_of(number, number % 2));
    }
    let select = change(on_table(), Privileges::SELECT, &["ann"]);
    let planned = grant(&schema, &select).unwrap();
    assert_eq!(count_of(planned), 1);
    let columns = (0..30_000).step_by(2).map(|number| (format!("C{}", number + 1), Privileges::SELECT));
    let columns =
        PrivilegeChange { columns: columns.collect(), ..change(on_table(), Privileges::NONE, &["ann"]) };
    assert_eq!(count_of(revoke(&schema, &columns).unwrap()), 15_000);
    assert_eq!(count_of(revoke_all(&schema, &[name("ann")]).unwrap()), 30_000);
    let renamed = BTreeMap::from([(name("ann"), name("zoe"))]);
    assert_eq!(rename_accounts(&schema, &renamed).len(), 60_000);
}
