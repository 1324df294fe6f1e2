use super::*;

fn user(name: &str, host: &str) -> User {
    User::new(name, host)
}

#[test]
fn the_most_specific_account_is_taken() {
    let users = [
        user("", "%"),
        user("ann", "%"),
        user("ann", "10.%"),
        user("ann", "10.0.0.1"),
        user("", "localhost"),
    ];
    let schema = Schema::new(SchemaVersion(1), [], [], users).expect("a schema");
    let check = |name: &str, hosts: &[&str], expected: Option<(&str, &str)>| {
        let found = schema.user_of_client(name, hosts).map(|user| (user.name.as_str(), user.host.as_str()));
        assert_eq!(found, expected, "{name}@{hosts:?}");
    };
    check("ann", &["10.0.0.1"], Some(("ann", "10.0.0.1")));
    check("ann", &["10.0.0.2"], Some(("ann", "10.%")));
    check("ann", &["11.0.0.2"], Some(("ann", "%")));
    check("ann", &["localhost", "127.0.0.1"], Some(("", "localhost")));
    check("bob", &["11.0.0.2"], Some(("", "%")));
}

fn table(id: u32, database: &str, name: &str) -> Arc<TableDefinition> {
    Arc::new(TableDefinition {
        id: TableId(id),
        version: 1,
        database: database.to_owned(),
        name: name.to_owned(),
        kind: TableKind::User,
        slots: crate::TableSlots::ONE_RANK,
        columns: Vec::new(),
        indexes: Vec::new(),
        auto_increment: None,
        comment: String::new(),
        collation: crate::Collation::Utf8mb40900AiCi,
    })
}

#[test]
fn tables_are_found_by_name_and_id_however_many_come_and_go() {
    let mut prng = stdx::Prng::new(11);
    let mut schema = Schema::empty(SchemaVersion(1));
    let mut model: BTreeMap<(String, String), TableId> = BTreeMap::new();
    for id in 1..6_000_u32 {
        let name = (format!("d{}", prng.below(3)), format!("t{}", prng.below(1_500)));
        // (More come than go at first, then more go than come: chunks are split and joined.)
        if prng.below(10) < if id < 3_000 { 2 } else { 8 } {
            if let Some(id) = model.remove(&name) {
                schema.remove_table(id);
            }
        } else if !model.contains_key(&name) {
            schema.put_table(table(id, &name.0, &name.1));
            model.insert(name.clone(), TableId(id));
        }
        assert_eq!(schema.table(&name.0, &name.1).map(|table| table.id), model.get(&name).copied());
    }
    assert!(schema.named_tables().map(|table| table.id).eq(model.values().copied()));
    for database in ["d0", "d1", "d2", "d", "e"] {
        let expected = model.iter().filter(|((of, _), _)| of == database).map(|(_, id)| *id);
        assert!(schema.tables_of(database).map(|table| table.id).eq(expected), "{database}");
    }
    assert!(schema.tables().keys().eq(model.values().copied().collect::<std::collections::BTreeSet<_>>()));
}

#[test]
fn tables_that_swap_their_names_keep_both() {
    let mut schema = Schema::empty(SchemaVersion(1));
    schema.put_table(table(1, "d", "a"));
    schema.put_table(table(2, "d", "b"));
    schema.put_table(table(1, "d", "b"));
    schema.put_table(table(2, "d", "a"));
    assert_eq!(schema.table("d", "a").map(|table| table.id), Some(TableId(2)));
    assert_eq!(schema.table("d", "b").map(|table| table.id), Some(TableId(1)));
    schema.remove_table(TableId(1));
    assert_eq!(schema.table("d", "b"), None);
    assert_eq!(schema.named_tables().count(), 1);
}

#[test]
fn a_step_copies_the_chunks_that_it_touches() {
    let mut before = Schema::empty(SchemaVersion(1));
    for id in 0..20_000 {
        before.put_table(table(id, "d", &format!("t{id}")));
    }
    let mut after = before.clone();
    after.put_table(table(20_000, "d", "new"));
    let touched = before.tables().differences(after.tables());
    assert!(touched.len() <= 64, "{} of 20 000 tables are looked at", touched.len());
    assert_eq!(before.names.unshared_with(&after.names), 1, "chunks of names that were copied");
    assert_eq!(before.table("d", "new"), None);
    assert!(after.table("d", "new").is_some());
}

#[test]
fn what_is_equal_is_shared() {
    let mut known = Schema::empty(SchemaVersion(1));
    (0..200).for_each(|id| known.put_table(table(id, "d", &format!("t{id}"))));
    let mut fetched = Schema::empty(SchemaVersion(2));
    (0..201).for_each(|id| fetched.put_table(table(id, "d", &format!("t{id}"))));
    fetched.share(&known);
    let changed = known.tables().changes(fetched.tables());
    assert_eq!(changed.iter().map(|(id, ..)| *id).collect::<Vec<_>>(), [TableId(200)]);
    assert!(Arc::ptr_eq(&known.users, &fetched.users));
}
