use super::*;

fn user(name: &str, host: &str) -> User {
    User::new(name, host)
}

/// A schema with tables, users and grants.
fn full(tables: u32) -> Schema {
    let database = Database { name: "d".to_owned(), collation: crate::Collation::Binary };
    let tables = (1..=tables).map(|id| {
        let integer = crate::SqlType::Integer { width: crate::IntegerWidth::Normal, unsigned: false };
        let column = crate::ColumnDefinition {
            name: "id".to_owned(),
            sql_type: integer,
            default: crate::DefaultValue::Missing,
            flags: crate::ColumnFlags::default(),
            comment: String::new(),
            format: crate::NumberFormat::default(),
            absent: None,
        };
        let part = crate::KeyPart { column: crate::ColumnIndex(0), prefix_length: None, descending: false };
        let index = crate::IndexDefinition {
            id: crate::IndexId(0),
            name: "PRIMARY".to_owned(),
            kind: crate::IndexKind::Primary,
            parts: vec![part],
            state: crate::IndexState::Public,
        };
        let mut table = TableDefinition::clone(&table(3 * id, "d", &format!("t{id}")));
        (table.columns, table.indexes) = (vec![column], vec![index]);
        Arc::new(table)
    });
    let mut schema = Schema::new(SchemaVersion(9), [database], tables, [user("ann", "%"), user("bob", "%")])
        .expect("whole");
    let named = |name: &str| crate::UserName { name: name.to_owned(), host: "%".to_owned() };
    let role = crate::RoleEdge { to: named("ann"), role: named("bob"), admin: crate::AdminOption::Yes };
    Arc::make_mut(&mut schema.grants).put_role(&role);
    let variable = GlobalVariable { value: Some("1".to_owned()), persisted: None };
    Arc::make_mut(&mut schema.variables).insert("x".to_owned(), variable);
    schema
}

fn assembled(parts: Vec<SchemaPart>, known: &Schema) -> Option<Schema> {
    let mut assembly = SchemaAssembly::new(SchemaVersion(9));
    for part in parts {
        let part = stdx::wire::from_bytes(&stdx::wire::to_bytes(&part)).expect("a part");
        match assembly.add(part, known)? {
            Assembled::More(more) => assembly = more,
            Assembled::Whole(schema) => return Some(schema),
        }
    }
    None
}

#[test]
fn parts_make_the_schema_that_they_are_of() {
    for (tables, count) in [(0, 1), (1, 1), (64, 1), (65, 2), (128, 2), (200, 4)] {
        let schema = Arc::new(full(tables));
        let parts: Vec<SchemaPart> = SchemaParts::of(&schema).collect();
        assert_eq!(parts.len(), count, "{tables} tables");
        assert_eq!(assembled(parts.clone(), &Schema::empty(SchemaVersion(0))).as_ref(), Some(&*schema));
        let shared = assembled(parts, &schema).expect("whole");
        assert!(schema.tables().changes(shared.tables()).is_empty(), "the tables are the same objects");
    }
}

#[test]
fn parts_that_do_not_fit_make_none() {
    let none = Schema::empty(SchemaVersion(0));
    let parts: Vec<SchemaPart> = SchemaParts::of(&Arc::new(full(200))).collect();
    let without = |position: usize| {
        let mut parts = parts.clone();
        parts.remove(position);
        assembled(parts, &none)
    };
    assert!((0..parts.len()).all(|position| without(position).is_none()), "a part is missing");
    let twice = vec![parts[0].clone(), parts[0].clone(), parts[3].clone()];
    assert_eq!(assembled(twice, &none), None, "a part comes twice");
    let mut newer = parts.clone();
    newer[2].version = SchemaVersion(10);
    assert_eq!(assembled(newer, &none), None, "they are of two versions");
    let mut homeless = full(1);
    homeless.databases = Arc::default();
    assert_eq!(
        assembled(SchemaParts::of(&Arc::new(homeless)).collect(), &none),
        None,
        "a table has no database"
    );
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
        copied_to: None,
        checks: Vec::new(),
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
