//! Patterns, levels, roles.

use super::*;

fn name(name: &str) -> UserName {
    UserName::new(name, "%")
}

fn row(account: &str, place: GrantPlace, privileges: Privileges) -> GrantRow {
    GrantRow { account: name(account), place, privileges: privileges.0, grantable: 0 }
}

fn table(database: &str, table: &str) -> GrantPlace {
    GrantPlace::Table { database: database.into(), table: table.into() }
}

fn column(database: &str, table: &str, column: &str) -> GrantPlace {
    GrantPlace::Column { database: database.into(), table: table.into(), column: column.into() }
}

#[test]
fn patterns_of_databases() {
    for (pattern, matching, others) in [
        ("shop", &["shop"][..], &["Shop", "shops", ""][..]),
        ("shop%", &["shop", "shop_1", "shops"], &["sho"]),
        ("s_op", &["shop", "sxop", "s_op"], &["sop", "shhop"]),
        (r"s\_op", &["s_op"], &["shop"]),
        (r"100\%", &["100%"], &["100", "1000"]),
        ("%a%b", &["ab", "xaxxb", "aabb"], &["ba", "abx"]),
        ("_", &["ä", "x"], &["", "xy"]),
        ("%", &["", "anything"], &[]),
    ] {
        for name in matching {
            assert!(matches_database(pattern, name), "{pattern} {name}");
        }
        for name in others {
            assert!(!matches_database(pattern, name), "{pattern} {name}");
        }
    }
}

#[test]
fn the_most_specific_pattern_of_an_account_decides() {
    let mut tables = GrantTables::default();
    tables.put(&row("a", GrantPlace::Database("shop%".into()), Privileges::OF_DATABASE));
    tables.put(&row("a", GrantPlace::Database("shop_1".into()), Privileges::SELECT));
    tables.put(&row("a", GrantPlace::Database(r"shop\_2".into()), Privileges::INSERT));
    tables.put(&row("r", GrantPlace::Database("%".into()), Privileges::DROP));
    let set = PrivilegeSet::of(&tables, &name("a"), []);
    assert_eq!(set.on_database("shop"), Privileges::OF_DATABASE);
    assert_eq!(set.on_database("shop_1"), Privileges::SELECT);
    assert_eq!(set.on_database("shop_2"), Privileges::INSERT);
    let with_role = PrivilegeSet::of(&tables, &name("a"), [name("r")]);
    assert_eq!(with_role.on_database("shop_2"), Privileges::INSERT.with(Privileges::DROP));
}

#[test]
fn outer_levels_hold_within() {
    let mut tables = GrantTables::default();
    tables.put(&row("a", GrantPlace::Database("d".into()), Privileges::SELECT));
    tables.put(&row("a", table("d", "t"), Privileges::UPDATE));
    tables.put(&row("a", column("d", "t", "Name"), Privileges::INSERT));
    let set = PrivilegeSet::of(&tables, &name("a"), []);
    let of_table = Privileges::SELECT.with(Privileges::UPDATE);
    assert_eq!(set.on_table("d", "t"), of_table);
    assert_eq!(set.on_table("d", "u"), Privileges::SELECT);
    assert_eq!(set.on_column("d", "t", "nAME"), of_table.with(Privileges::INSERT));
    assert_eq!(set.on_column("d", "t", "other"), of_table);
    assert_eq!(set.within_table("d", "t"), of_table.with(Privileges::INSERT));
    assert!(set.sees_database("d") && !set.sees_database("e") && !set.sees_table("e", "t"));
}

#[test]
fn roles_of_roles_count_and_may_run_in_circles() {
    let mut tables = GrantTables::default();
    tables.put(&row("inner", GrantPlace::Global, Privileges::PROCESS));
    for (role, to) in [("outer", "a"), ("inner", "outer"), ("outer", "inner")] {
        tables.put_role(&RoleEdge { role: name(role), to: name(to), admin: AdminOption::No });
    }
    assert_eq!(PrivilegeSet::of(&tables, &name("a"), []).global(), Privileges::NONE);
    assert_eq!(PrivilegeSet::of(&tables, &name("a"), [name("outer")]).global(), Privileges::PROCESS);
    assert_eq!(PrivilegeSet::of(&tables, &name("a"), [name("inner")]).global(), Privileges::PROCESS);
}

/// Accounts with the same grants share plans; nothing is left of what is taken away.
#[test]
fn equal_grants_are_equal_sets() {
    let mut tables = GrantTables::default();
    for account in ["a", "b"] {
        tables.put(&row(account, table("d", "t"), Privileges::SELECT));
    }
    let of = |tables: &GrantTables, account| PrivilegeSet::of(tables, &name(account), []);
    assert_eq!(of(&tables, "a"), of(&tables, "b"));
    tables.put(&row("b", column("d", "t", "c"), Privileges::UPDATE));
    assert_ne!(of(&tables, "a"), of(&tables, "b"));
    tables.remove(&name("b"), &column("d", "t", "c"));
    assert_eq!(of(&tables, "a"), of(&tables, "b"));
    for account in ["a", "b"] {
        tables.remove(&name(account), &table("d", "t"));
    }
    assert_eq!(tables, GrantTables::default());
}

#[test]
fn rows_and_tables_say_the_same() {
    let mut tables = GrantTables::default();
    tables.put(&row("a", GrantPlace::Global, Privileges::RELOAD));
    tables.put(&GrantRow { grantable: 4, ..row("a", GrantPlace::Dynamic, Privileges(6)) });
    tables.put(&row("a", GrantPlace::Database("d%".into()), Privileges::SELECT));
    tables.put(&row("a", table("d", "t"), Privileges::GRANT));
    tables.put(&row("b", column("d", "t", "c"), Privileges::UPDATE));
    let mut again = GrantTables::default();
    tables.rows().iter().for_each(|row| again.put(row));
    assert_eq!(again, tables);
    assert_eq!(tables.rows().len(), 5);
}

/// Rows hold these numbers.
#[test]
fn bits_are_not_renumbered() {
    assert_eq!(Privileges::NAMES.len(), 31);
    for (bit, (privilege, name, _)) in Privileges::NAMES.iter().enumerate() {
        assert_eq!(privilege.0, 1 << bit, "{name}");
    }
    assert_eq!(Privileges::OF_GLOBAL.0, (1 << Privileges::NAMES.len()) - 1);
    assert_eq!(DynamicPrivileges::by_name("xa_recover_admin"), Some(DynamicPrivileges(1 << 42)));
    assert_eq!(DynamicPrivileges::SYSTEM_USER.names().collect::<Vec<_>>(), ["SYSTEM_USER"]);
    assert_eq!(DynamicPrivileges::ALL.names().count(), DynamicPrivileges::NAMES.len());
    assert!(DynamicPrivileges::NAMES.is_sorted());
}
