//! The system tables: what the catalogue is stored in. Compiled in, because nothing can be looked up before they are
//! known.
//!
//! | id | table | key | rows |
//! | --- | --- | --- | --- |
//! | 1 | `databases` | name | one per database but `latsdb` itself |
//! | 2 | `tables` | id | one per user table and per hidden table of a unique index: its encoded definition |
//! | 3 | `users` | name, host | one per account |
//! | 4 | `sequences` | table id | the next AUTO_INCREMENT value that no node has reserved |
//! | 5 | `schema_version` | id = 1 | one row; every DDL step raises it |
//! | 6 | `jobs` | id | the journal of DDL jobs (job.rs) |
//! | 7 | `ddl_lock` | id = 1 | one row, whose exclusive row lock is the cluster-wide DDL lock |
//! | 8 | `ids` | name | the next table id and the next job id |
//! | 9 | `grants` | name, host, place, database, object, column | the privileges of an account in one place |
//! | 10 | `role_edges` | to name, to host, role name, role host | a role that an account or role has |
//! | 11 | `default_roles` | name, host, role name, role host | a role that is active when its account logs in |
//! | 12 | `variables` | name | a variable set for the whole cluster: its value, and the one to begin with |
//! | 13 | `user_locks` | name | none: what GET_LOCK locks is the row lock of a name's key |
//! | 14 | `schema_changes` | version | the changes of the newest versions, for nodes that are a few behind (rows.rs) |
//! | 15 | `views` | database, name | one per view: its encoded definition |
//!
//! `place` in `grants` is 0 global, 1 dynamic, 2 database, 3 table, 4 column ([`GrantPlace`]).
//!
//! They live in database `latsdb` in slot 0, with a replica on every data node, and are read and written like all other
//! rows. SQL may read them without locks; only DDL jobs and the sequence allocator write and lock them, and GET_LOCK
//! locks keys of `user_locks`.
//!
//! **Invariants**: the columns of a table's primary key are its first columns. Ids are below [`FIRST_USER_TABLE`].
//! Definitions only ever gain columns at the end, so that rows of older builds stay readable. Encoded values in BLOBs
//! start with the wire version they were written at. [`bootstrap_rows`] is a constant: every replica of slot 0 writes
//! the same rows on the first start of a cluster.
//!
//! Deliberately not here: what rows mean together (rows.rs).

use std::sync::Arc;
use stdx::wire::{Decoder, Encoder, WIRE_VERSION, Wire};
use types::{
    BlobSize, Collation, ColumnDefinition, ColumnFlags, ColumnIndex, Database, DefaultValue, GrantPlace,
    GrantRow, Grants, IndexDefinition, IndexId, IndexKind, IndexState, IntegerWidth, KeyEncoder, KeyPart,
    RowLayout, Schema, SchemaVersion, SqlType, TableDefinition, TableId, TableKind, TableSlots, User,
    UserName, Value, ValueRef,
};

/// The database of the system tables.
pub const SYSTEM_DATABASE: &str = "latsdb";
/// Databases that belong to the server: they exist for every client and cannot be created, changed or dropped.
pub const RESERVED_DATABASES: [&str; 6] =
    [SYSTEM_DATABASE, "information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];

/// `databases`.
pub const DATABASES: TableId = TableId(1);
/// `tables`.
pub const TABLES: TableId = TableId(2);
/// `users`.
pub const USERS: TableId = TableId(3);
/// `sequences`.
pub const SEQUENCES: TableId = TableId(4);
/// `schema_version`.
pub const SCHEMA_VERSION: TableId = TableId(5);
/// `jobs`.
pub const JOBS: TableId = TableId(6);
/// `ddl_lock`.
pub const DDL_LOCK: TableId = TableId(7);
/// `ids`.
pub const IDS: TableId = TableId(8);
/// `grants`.
pub const GRANTS: TableId = TableId(9);
/// `role_edges`.
pub const ROLE_EDGES: TableId = TableId(10);
/// `default_roles`.
pub const DEFAULT_ROLES: TableId = TableId(11);
/// `variables`.
pub const VARIABLES: TableId = TableId(12);
/// `user_locks`.
pub const USER_LOCKS: TableId = TableId(13);
/// `schema_changes`.
pub const SCHEMA_CHANGES: TableId = TableId(14);
/// `views`.
pub const VIEWS: TableId = TableId(15);
/// The first id that CREATE TABLE gives out; those below are for system tables.
pub const FIRST_USER_TABLE: TableId = TableId(100);
/// The version of all system tables; a build that changes one raises it.
pub const SYSTEM_TABLE_VERSION: u32 = 2;
/// The schema version that [`bootstrap`] is.
pub const FIRST_SCHEMA_VERSION: SchemaVersion = SchemaVersion(1);

/// The key of the only row of `schema_version` and of `ddl_lock`.
const ONLY_ROW: u64 = 1;
/// The row of `ids` that counts tables.
pub(crate) const TABLE_IDS: &str = "table";
/// The row of `ids` that counts jobs.
pub(crate) const JOB_IDS: &str = "job";

/// A change of one row of a system table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemWrite {
    /// The system table.
    pub table: TableId,
    /// The row's primary key.
    pub key: Box<[u8]>,
    /// The row from now on; None deletes it (if it is there).
    pub row: Option<Box<[u8]>>,
}

/// Bytes that are not a row of the system table they were found in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedRow {
    /// The system table.
    pub table: TableId,
}

/// A system table with its codecs.
#[derive(Clone, Debug)]
pub struct SystemTable {
    /// The definition of the table.
    pub definition: Arc<TableDefinition>,
    /// Its rows.
    pub layout: RowLayout,
    /// Its primary key.
    pub primary_key: KeyEncoder,
}

/// All system tables with their codecs. Cheap to make; keep one where rows are read often.
#[derive(Clone, Debug)]
pub struct SystemTables {
    tables: Vec<SystemTable>,
}

impl Default for SystemTables {
    fn default() -> Self {
        Self::new()
    }
}

impl SystemTables {
    /// The system tables of this build.
    #[must_use]
    pub fn new() -> Self {
        let with_codecs = |definition: TableDefinition| SystemTable {
            layout: RowLayout::of_table(&definition),
            primary_key: KeyEncoder::new(&definition, definition.primary_key()),
            definition: Arc::new(definition),
        };
        Self { tables: definitions().into_iter().map(with_codecs).collect() }
    }

    /// All of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = &SystemTable> {
        self.tables.iter()
    }

    /// One of them. `table` must be one of this file's constants.
    #[must_use]
    pub fn table(&self, table: TableId) -> &SystemTable {
        let found = self.tables.get((table.0 as usize).wrapping_sub(1));
        stdx::require!(found.is_some(), "{table} is no system table");
        // The line above dies first; indexing says so to the compiler.
        &self.tables[table.0 as usize - 1]
    }

    /// The primary key of a row, from the values of its first columns.
    #[must_use]
    pub fn key(&self, table: TableId, values: &[ValueRef<'_>]) -> Box<[u8]> {
        let mut key = Vec::new();
        self.table(table).primary_key.encode_values(values, &mut key);
        key.into()
    }

    /// The write that puts a row.
    #[must_use]
    pub fn put(&self, table: TableId, values: &[ValueRef<'_>]) -> SystemWrite {
        let codec = self.table(table);
        let mut row = Vec::new();
        codec.layout.encode(values, &mut row);
        let key = self.key(table, &values[..codec.primary_key.part_count()]);
        SystemWrite { table, key, row: Some(row.into()) }
    }

    /// The write that deletes a row, by the values of its key.
    #[must_use]
    pub fn delete(&self, table: TableId, key: &[ValueRef<'_>]) -> SystemWrite {
        SystemWrite { table, key: self.key(table, key), row: None }
    }

    /// The values of a stored row.
    pub fn decode(&self, table: TableId, row: &[u8]) -> Result<Vec<Value>, MalformedRow> {
        let layout = &self.table(table).layout;
        layout.check(row).map_err(|_| MalformedRow { table })?;
        Ok(layout.decode(row))
    }

    /// The key of the only row of `ddl_lock`: the holder of its exclusive lock may run DDL jobs.
    #[must_use]
    pub fn ddl_lock_key(&self) -> Box<[u8]> {
        self.key(DDL_LOCK, &[ValueRef::UInt(ONLY_ROW)])
    }

    /// The key of the only row of `schema_version`.
    #[must_use]
    pub fn schema_version_key(&self) -> Box<[u8]> {
        self.key(SCHEMA_VERSION, &[ValueRef::UInt(ONLY_ROW)])
    }

    /// The write that sets the schema version.
    #[must_use]
    pub fn put_schema_version(&self, version: SchemaVersion) -> SystemWrite {
        self.put(SCHEMA_VERSION, &[ValueRef::UInt(ONLY_ROW), ValueRef::UInt(version.0)])
    }

    /// The version in the row of `schema_version`.
    pub fn schema_version(&self, row: &[u8]) -> Result<SchemaVersion, MalformedRow> {
        match self.decode(SCHEMA_VERSION, row)?.as_slice() {
            [_, Value::UInt(version), ..] => Ok(SchemaVersion(*version)),
            _ => Err(MalformedRow { table: SCHEMA_VERSION }),
        }
    }

    /// The key of a table's row in `sequences`.
    #[must_use]
    pub fn sequence_key(&self, table: TableId) -> Box<[u8]> {
        self.key(SEQUENCES, &[ValueRef::UInt(table.0.into())])
    }

    /// The write that sets the next value of a table's sequence.
    #[must_use]
    pub fn put_sequence(&self, table: TableId, next: u64) -> SystemWrite {
        self.put(SEQUENCES, &[ValueRef::UInt(table.0.into()), ValueRef::UInt(next)])
    }

    /// Table and next value in a row of `sequences`.
    pub fn sequence(&self, row: &[u8]) -> Result<(TableId, u64), MalformedRow> {
        let malformed = MalformedRow { table: SEQUENCES };
        match self.decode(SEQUENCES, row)?.as_slice() {
            [Value::UInt(table), Value::UInt(next), ..] => {
                Ok((TableId(u32::try_from(*table).map_err(|_| malformed)?), *next))
            }
            _ => Err(malformed),
        }
    }
}

/// True for databases that clients cannot create, change or drop.
#[must_use]
pub fn is_reserved_database(name: &str) -> bool {
    RESERVED_DATABASES.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// The database of the system tables, which has no row.
#[must_use]
pub fn system_database() -> Database {
    Database { name: SYSTEM_DATABASE.to_owned(), collation: Collation::Utf8mb40900AiCi }
}

/// The schema of a cluster that has never run a DDL statement: what [`bootstrap_rows`] mean.
#[must_use]
pub fn bootstrap() -> Schema {
    let mut schema = Schema::empty(FIRST_SCHEMA_VERSION);
    schema.put_database(system_database());
    for definition in definitions() {
        schema.put_table(Arc::new(definition));
    }
    schema.put_user(first_user());
    let grants = Arc::make_mut(&mut schema.grants);
    first_grants().iter().for_each(|row| grants.put(row));
    schema
}

/// The rows that every replica of slot 0 writes on the first start of a cluster.
#[must_use]
pub fn bootstrap_rows() -> Vec<SystemWrite> {
    let tables = SystemTables::new();
    let mut rows = vec![
        put_user(&tables, &first_user()),
        tables.put_schema_version(FIRST_SCHEMA_VERSION),
        tables.put(DDL_LOCK, &[ValueRef::UInt(ONLY_ROW)]),
        tables.put(IDS, &[ValueRef::Bytes(JOB_IDS.as_bytes()), ValueRef::UInt(1)]),
        tables.put(IDS, &[ValueRef::Bytes(TABLE_IDS.as_bytes()), ValueRef::UInt(FIRST_USER_TABLE.0.into())]),
    ];
    rows.extend(first_grants().iter().map(|row| put_grant(&tables, row)));
    rows
}

/// root, without a password: the front door lets it in from loopback and the Unix socket only, until it has one.
fn first_user() -> User {
    User::new("root", "%")
}

/// The first account may do everything, and pass it on.
fn first_grants() -> Vec<GrantRow> {
    let user = first_user();
    Grants::all().rows(&UserName::new(user.name, user.host))
}

/// The values of a row's key: account, and place as number, database, object, column.
fn grant_key<'a>(account: &'a UserName, place: &'a GrantPlace) -> [ValueRef<'a>; 6] {
    let (number, database, object, column) = match place {
        GrantPlace::Global => (0, "", "", ""),
        GrantPlace::Dynamic => (1, "", "", ""),
        GrantPlace::Database(database) => (2, database.as_str(), "", ""),
        GrantPlace::Table { database, table } => (3, database.as_str(), table.as_str(), ""),
        GrantPlace::Column { database, table, column } => {
            (4, database.as_str(), table.as_str(), column.as_str())
        }
    };
    let text = |text: &'a str| ValueRef::Bytes(text.as_bytes());
    [
        text(&account.name),
        text(&account.host),
        ValueRef::UInt(number),
        text(database),
        text(object),
        text(column),
    ]
}

pub(crate) fn put_grant(tables: &SystemTables, row: &GrantRow) -> SystemWrite {
    let mut values = grant_key(&row.account, &row.place).to_vec();
    values.extend([ValueRef::UInt(row.privileges), ValueRef::UInt(row.grantable)]);
    tables.put(GRANTS, &values)
}

pub(crate) fn delete_grant(tables: &SystemTables, account: &UserName, place: &GrantPlace) -> SystemWrite {
    tables.delete(GRANTS, &grant_key(account, place))
}

/// The key of rows that are about two accounts.
pub(crate) fn pair_key<'a>(first: &'a UserName, second: &'a UserName) -> [ValueRef<'a>; 4] {
    [&first.name, &first.host, &second.name, &second.host].map(|text| ValueRef::Bytes(text.as_bytes()))
}

pub(crate) fn put_user(tables: &SystemTables, user: &User) -> SystemWrite {
    let attributes = to_blob(&user.attributes);
    let values = [
        ValueRef::Bytes(user.name.as_bytes()),
        ValueRef::Bytes(user.host.as_bytes()),
        ValueRef::Bytes(user.plugin.as_bytes()),
        ValueRef::Bytes(&user.verifier),
        ValueRef::Bytes(&attributes),
    ];
    tables.put(USERS, &values)
}

/// A value as it lies in a BLOB: the wire version it was written at, then its bytes.
pub(crate) fn to_blob<T: Wire>(value: &T) -> Vec<u8> {
    let mut bytes = WIRE_VERSION.to_le_bytes().to_vec();
    value.encode(&mut Encoder { bytes: &mut bytes, version: WIRE_VERSION });
    bytes
}

/// The value that [`to_blob`] wrote, in this build or an older one.
pub(crate) fn from_blob<T: Wire>(bytes: &[u8]) -> Option<T> {
    let (version, bytes) = bytes.split_first_chunk::<2>()?;
    let mut decoder = Decoder::new(bytes, u16::from_le_bytes(*version));
    let value = T::decode(&mut decoder).ok()?;
    (decoder.remaining() == 0).then_some(value)
}

const fn unsigned(width: IntegerWidth) -> SqlType {
    SqlType::Integer { width, unsigned: true }
}

const fn text(length: u32) -> SqlType {
    SqlType::VarChar { length, collation: Collation::Utf8mb40900Bin }
}

fn column(name: &str, sql_type: SqlType) -> ColumnDefinition {
    ColumnDefinition {
        name: name.to_owned(),
        sql_type,
        default: DefaultValue::Missing,
        flags: ColumnFlags::default(),
        comment: String::new(),
        format: types::NumberFormat::default(),
        absent: None,
    }
}

fn nullable(name: &str, sql_type: SqlType) -> ColumnDefinition {
    let flags = ColumnFlags { nullable: true, ..ColumnFlags::default() };
    ColumnDefinition { default: DefaultValue::Literal(Value::Null), flags, ..column(name, sql_type) }
}

fn system_table(id: TableId, name: &str, key_parts: u16, columns: Vec<ColumnDefinition>) -> TableDefinition {
    let part = |position| KeyPart { column: ColumnIndex(position), prefix_length: None, descending: false };
    TableDefinition {
        id,
        version: SYSTEM_TABLE_VERSION,
        database: SYSTEM_DATABASE.to_owned(),
        name: name.to_owned(),
        kind: TableKind::System,
        columns,
        indexes: vec![IndexDefinition {
            id: IndexId(0),
            name: "PRIMARY".to_owned(),
            kind: IndexKind::Primary,
            parts: (0..key_parts).map(part).collect(),
            state: IndexState::Public,
        }],
        auto_increment: None,
        comment: String::new(),
        collation: Collation::Utf8mb40900AiCi,
        slots: TableSlots::default(),
        copied_to: None,
        checks: Vec::new(),
    }
}

/// By id, without gaps.
fn definitions() -> Vec<TableDefinition> {
    let (tiny, normal, big) =
        (unsigned(IntegerWidth::Tiny), unsigned(IntegerWidth::Normal), unsigned(IntegerWidth::Big));
    let blob = |size| SqlType::Blob { size };
    [
        system_table(
            DATABASES,
            "databases",
            1,
            vec![column("name", text(64)), column("collation", text(64))],
        ),
        system_table(
            TABLES,
            "tables",
            1,
            vec![
                column("id", normal.clone()),
                column("database", text(64)),
                column("name", text(64)),
                column("version", normal.clone()),
                column("definition", blob(BlobSize::Medium)),
            ],
        ),
        system_table(
            USERS,
            "users",
            2,
            vec![
                column("name", text(64)),
                column("host", text(255)),
                column("plugin", text(64)),
                column("verifier", SqlType::VarBinary { length: 1_024 }),
                nullable("attributes", blob(BlobSize::Medium)),
            ],
        ),
        system_table(
            SEQUENCES,
            "sequences",
            1,
            vec![column("table_id", normal.clone()), column("next", big.clone())],
        ),
        system_table(
            SCHEMA_VERSION,
            "schema_version",
            1,
            vec![column("id", tiny.clone()), column("version", big.clone())],
        ),
        system_table(
            JOBS,
            "jobs",
            1,
            vec![
                column("id", big.clone()),
                column("state", text(16)),
                column("statement", text(512)),
                nullable("error_code", normal),
                nullable("error", text(2_048)),
                column("job", blob(BlobSize::Long)),
                column("maker", big.clone()),
            ],
        ),
        system_table(DDL_LOCK, "ddl_lock", 1, vec![column("id", tiny)]),
        system_table(IDS, "ids", 1, vec![column("name", text(64)), column("next", big)]),
    ]
    .into_iter()
    .chain(grant_tables())
    .chain([variables_table()])
    .chain([system_table(USER_LOCKS, "user_locks", 1, vec![column("name", text(64))])])
    .chain([schema_changes_table(), views_table()])
    .collect()
}

/// The tables of privileges.
fn grant_tables() -> [TableDefinition; 3] {
    let (tiny, big) = (unsigned(IntegerWidth::Tiny), unsigned(IntegerWidth::Big));
    [
        system_table(
            GRANTS,
            "grants",
            6,
            vec![
                column("name", text(64)),
                column("host", text(255)),
                column("place", tiny.clone()),
                column("database", text(128)),
                column("object", text(64)),
                column("column", text(64)),
                column("privileges", big.clone()),
                column("grantable", big),
            ],
        ),
        system_table(
            ROLE_EDGES,
            "role_edges",
            4,
            vec![
                column("to_name", text(64)),
                column("to_host", text(255)),
                column("role_name", text(64)),
                column("role_host", text(255)),
                column("with_admin", tiny),
            ],
        ),
        system_table(
            DEFAULT_ROLES,
            "default_roles",
            4,
            vec![
                column("name", text(64)),
                column("host", text(255)),
                column("role_name", text(64)),
                column("role_host", text(255)),
            ],
        ),
    ]
}

fn variables_table() -> TableDefinition {
    let value = |name| nullable(name, SqlType::Blob { size: BlobSize::Medium });
    system_table(
        VARIABLES,
        "variables",
        1,
        vec![column("name", text(64)), value("value"), value("persisted")],
    )
}

fn schema_changes_table() -> TableDefinition {
    let columns = vec![
        column("version", unsigned(IntegerWidth::Big)),
        column("changes", SqlType::Blob { size: BlobSize::Medium }),
    ];
    system_table(SCHEMA_CHANGES, "schema_changes", 1, columns)
}

fn views_table() -> TableDefinition {
    let columns = vec![
        column("database", text(64)),
        column("name", text(64)),
        column("definition", SqlType::Blob { size: BlobSize::Medium }),
    ];
    system_table(VIEWS, "views", 2, columns)
}

#[cfg(test)]
mod tests;
