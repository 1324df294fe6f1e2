use super::*;

#[test]
fn system_tables_keep_their_invariants() {
    let tables = SystemTables::new();
    for (number, table) in (1..).zip(tables.iter()) {
        let definition = &table.definition;
        assert_eq!(definition.id, TableId(number));
        assert!(definition.id < FIRST_USER_TABLE);
        assert_eq!(definition.check(), Ok(()), "{}", definition.name);
        for (position, part) in (0..).zip(definition.primary_key()) {
            assert_eq!(part.column, ColumnIndex(position), "{}: key columns come first", definition.name);
        }
    }
    let names: Vec<&str> = tables.iter().map(|table| table.definition.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "databases",
            "tables",
            "users",
            "sequences",
            "schema_version",
            "jobs",
            "ddl_lock",
            "ids",
            "grants",
            "role_edges",
            "default_roles",
            "variables",
            "user_locks",
            "schema_changes",
            "views"
        ]
    );
    assert_eq!(tables.table(IDS).definition.name, "ids");
}

#[test]
fn the_first_rows_are_a_constant() {
    assert_eq!(bootstrap_rows(), bootstrap_rows());
    // Rows of a running cluster were written by older builds: what they look like is pinned.
    let shown: Vec<String> =
        bootstrap_rows().iter().map(|write| format!("{} {:02x?}", write.table, write.key)).collect();
    let expected = [
        "3 [72, 6f, 6f, 74, 00, 25, 00]",
        "5 [01]",
        "7 [01]",
        "8 [6a, 6f, 62, 00]",
        "8 [74, 61, 62, 6c, 65, 00]",
        "9 [72, 6f, 6f, 74, 00, 25, 00, 00, 00, 00, 00]",
        "9 [72, 6f, 6f, 74, 00, 25, 00, 01, 00, 00, 00]",
    ];
    assert_eq!(shown, expected);
    let schema = bootstrap();
    assert_eq!(schema.version, FIRST_SCHEMA_VERSION);
    assert!(schema.table("latsdb", "tables").is_some());
    assert!(schema.user("root", "%").is_some());
}

#[test]
fn sequences_and_versions_round_trip() {
    let tables = SystemTables::new();
    let row = |write: SystemWrite| write.row.expect("a row");
    let sequence = tables.put_sequence(TableId(104), u64::MAX);
    assert_eq!(sequence.key, tables.sequence_key(TableId(104)));
    assert_eq!(tables.sequence(&row(sequence)), Ok((TableId(104), u64::MAX)));
    let version = tables.put_schema_version(SchemaVersion(7));
    assert_eq!(version.key, tables.schema_version_key());
    assert_eq!(tables.schema_version(&row(version)), Ok(SchemaVersion(7)));
    assert_eq!(tables.schema_version(b""), Err(MalformedRow { table: SCHEMA_VERSION }));
}

#[test]
fn reserved_databases() {
    assert!(is_reserved_database("INFORMATION_SCHEMA"));
    assert!(is_reserved_database("mysql"));
    assert!(!is_reserved_database("test"));
}

#[test]
fn accounts_round_trip_and_those_of_older_builds_are_read() {
    use crate::rows::SchemaBuilder;
    let tables = SystemTables::new();
    let read = |row: &[u8]| {
        let mut builder = SchemaBuilder::new(&tables, SchemaVersion(1));
        builder.add(&tables, USERS, row).expect("a row of users");
        builder.finish(SchemaVersion(1)).expect("a schema").users.to_vec()
    };
    let mut ann = User::new("ann", "10.%");
    ann.verifier = b"*00".to_vec();
    ann.attributes.is_locked = true;
    ann.attributes.security = types::RequiredSecurity::Ssl;
    ann.attributes.limits.user_connections = 3;
    ann.attributes.password_lock_time = types::PasswordLockTime::Unbounded;
    let row = put_user(&tables, &ann).row.expect("a row");
    assert_eq!(read(&row), std::slice::from_ref(&ann));

    // Builds before wire version 5 knew the first four columns only.
    let mut definition = (*tables.table(USERS).definition).clone();
    definition.columns.truncate(4);
    let mut old = Vec::new();
    let values = [&b"ann"[..], b"10.%", b"caching_sha2_password", b"*00"].map(ValueRef::Bytes);
    RowLayout::of_table(&definition).encode(&values, &mut old);
    assert_eq!(read(&old), [User { attributes: types::AccountAttributes::default(), ..ann }]);
}
