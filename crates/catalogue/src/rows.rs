//! System-table rows ⇄ [`Schema`].
//!
//! A DDL step is a list of [`SchemaChange`]s. Each has two meanings, and a property test holds them together:
//! [`SchemaChange::apply`] changes a `Schema` in memory; [`SchemaChange::writes`] changes rows, from which
//! [`SchemaBuilder`] makes the same `Schema`.
//!
//! **Reading a whole schema without a lock.** Reads are READ COMMITTED: a DDL step may commit while the rows are
//! scanned. A step's rows and its `schema_version` row are written by one transaction, the version row first. So a
//! reader reads the version row, scans, and reads the version row again. If both are the same version, no row of a
//! later step had arrived at the replica when the scan ended. And every row of this version was there when it began.
//! Else [`CatalogueError::Torn`]: scan again.
//!
//! **Reading what changed.** A step also writes a row that tells its changes, in the same transaction
//! ([`change_writes`]); the rows of [`CHANGES_KEPT`] versions are kept. A node that is a few versions behind applies
//! these to the schema that it has ([`SchemaChanges`]): that costs what the steps changed, however many tables there
//! are. If a row is missing, the node reads everything: it is further behind, a version changed more than
//! [`CHANGES_SIZE_MAX`], or an older build wrote it.
//!
//! Deliberately not here: the readers of the rows, and when they read.

use crate::system::{
    self, DATABASES, DEFAULT_ROLES, FIRST_USER_TABLE, GRANTS, MalformedRow, ROLE_EDGES, SCHEMA_CHANGES,
    SystemTables, SystemWrite, TABLES, USERS, VARIABLES, VIEWS,
};
use std::sync::Arc;
use types::{
    AccountAttributes, AdminOption, Collation, Database, DefaultRole, GlobalVariable, GrantPlace, GrantRow,
    RoleEdge, Schema, SchemaError, SchemaVersion, TableDefinition, TableId, TableKind, User, UserName, Value,
    ValueRef, ViewDefinition,
};
use wire_derive::Wire;

/// A logical change of the catalogue. Those that put replace what has the same name or id.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum SchemaChange {
    /// A new database, or another collation.
    PutDatabase(Database),
    /// Its tables are dropped by changes of their own.
    DropDatabase {
        /// Its name.
        name: String,
    },
    /// A new table, or a new version of one.
    PutTable(TableDefinition),
    /// The table is gone; its id is never used again.
    DropTable {
        /// The table.
        table: TableId,
    },
    /// The sequence of a new table starts.
    PutSequence {
        /// The table.
        table: TableId,
        /// Its next value.
        next: u64,
    },
    /// The sequence goes with its table.
    DropSequence {
        /// The table.
        table: TableId,
    },
    /// A new account, or another verifier.
    PutUser(User),
    /// The account is gone.
    DropUser {
        /// Name.
        name: String,
        /// Host pattern.
        host: String,
    },
    /// An account may do this in one place.
    PutGrant(GrantRow),
    /// An account may do nothing more in one place.
    DropGrant {
        /// The account.
        account: UserName,
        /// The place.
        place: GrantPlace,
    },
    /// A role is granted.
    PutRoleEdge(RoleEdge),
    /// A role is taken away.
    DropRoleEdge {
        /// The account or role that had it.
        to: UserName,
        /// The role.
        role: UserName,
    },
    /// A role becomes a default one.
    PutDefaultRole(DefaultRole),
    /// A role is no default one any more.
    DropDefaultRole(DefaultRole),
    /// A system variable has another value.
    PutVariable {
        /// Its name.
        name: String,
        /// Its values.
        variable: GlobalVariable,
    },
    /// A system variable is as the configuration has it.
    DropVariable {
        /// Its name.
        name: String,
    },
    /// A new view, or another query of one.
    PutView(ViewDefinition),
    /// The view is gone.
    DropView {
        /// Its database.
        database: String,
        /// Its name.
        name: String,
    },
}

impl SchemaChange {
    /// Applies the change to a schema in memory. Sequences are not part of it.
    pub fn apply(&self, schema: &mut Schema) {
        match self {
            SchemaChange::PutDatabase(database) => {
                schema.put_database(database.clone());
            }
            SchemaChange::DropDatabase { name } => {
                Arc::make_mut(&mut schema.databases).remove(name);
            }
            SchemaChange::PutTable(table) => schema.put_table(Arc::new(table.clone())),
            SchemaChange::DropTable { table } => schema.remove_table(*table),
            SchemaChange::PutUser(user) => schema.put_user(user.clone()),
            SchemaChange::DropUser { name, host } => schema.remove_user(name, host),
            SchemaChange::PutGrant(row) => Arc::make_mut(&mut schema.grants).put(row),
            SchemaChange::DropGrant { account, place } => {
                Arc::make_mut(&mut schema.grants).remove(account, place);
            }
            SchemaChange::PutRoleEdge(edge) => Arc::make_mut(&mut schema.grants).put_role(edge),
            SchemaChange::DropRoleEdge { to, role } => {
                Arc::make_mut(&mut schema.grants).remove_role(to, role)
            }
            SchemaChange::PutDefaultRole(default) => {
                Arc::make_mut(&mut schema.grants).put_default_role(default);
            }
            SchemaChange::DropDefaultRole(DefaultRole { account, role }) => {
                Arc::make_mut(&mut schema.grants).remove_default_role(account, role);
            }
            SchemaChange::PutVariable { name, variable } => {
                Arc::make_mut(&mut schema.variables).insert(name.clone(), variable.clone());
            }
            SchemaChange::DropVariable { name } => {
                Arc::make_mut(&mut schema.variables).remove(name);
            }
            SchemaChange::PutView(view) => schema.put_view(view.clone()),
            SchemaChange::DropView { database, name } => schema.remove_view(database, name),
            SchemaChange::PutSequence { .. } | SchemaChange::DropSequence { .. } => {}
        }
    }

    /// The change as a write of rows.
    #[must_use]
    pub fn write(&self, tables: &SystemTables) -> SystemWrite {
        let text = Value::text;
        match self {
            SchemaChange::PutDatabase(database) => {
                let (name, collation) = (text(&database.name), text(database.collation.name()));
                tables.put(DATABASES, &[name.as_ref(), collation.as_ref()])
            }
            SchemaChange::DropDatabase { name } => tables.delete(DATABASES, &[text(name).as_ref()]),
            SchemaChange::PutTable(table) => put_table(tables, table),
            SchemaChange::DropTable { table } => tables.delete(TABLES, &[ValueRef::UInt(table.0.into())]),
            SchemaChange::PutSequence { table, next } => tables.put_sequence(*table, *next),
            SchemaChange::DropSequence { table } => {
                tables.delete(system::SEQUENCES, &[ValueRef::UInt(table.0.into())])
            }
            SchemaChange::PutUser(user) => system::put_user(tables, user),
            SchemaChange::DropUser { name, host } => {
                tables.delete(USERS, &[text(name).as_ref(), text(host).as_ref()])
            }
            SchemaChange::PutGrant(row) => system::put_grant(tables, row),
            SchemaChange::DropGrant { account, place } => system::delete_grant(tables, account, place),
            SchemaChange::PutRoleEdge(RoleEdge { to, role, admin }) => {
                let mut values = system::pair_key(to, role).to_vec();
                values.push(ValueRef::UInt(u64::from(*admin == AdminOption::Yes)));
                tables.put(ROLE_EDGES, &values)
            }
            SchemaChange::DropRoleEdge { to, role } => tables.delete(ROLE_EDGES, &system::pair_key(to, role)),
            SchemaChange::PutDefaultRole(DefaultRole { account, role }) => {
                tables.put(DEFAULT_ROLES, &system::pair_key(account, role))
            }
            SchemaChange::DropDefaultRole(DefaultRole { account, role }) => {
                tables.delete(DEFAULT_ROLES, &system::pair_key(account, role))
            }
            SchemaChange::PutVariable { name, variable } => {
                let bytes = |value: &Option<String>| value.as_deref().map_or(Value::Null, text);
                let (value, persisted) = (bytes(&variable.value), bytes(&variable.persisted));
                tables.put(VARIABLES, &[text(name).as_ref(), value.as_ref(), persisted.as_ref()])
            }
            SchemaChange::DropVariable { name } => tables.delete(VARIABLES, &[text(name).as_ref()]),
            SchemaChange::PutView(view) => {
                let (database, name) = view.full_name();
                let definition = system::to_blob(view);
                let values = [database.as_bytes(), name.as_bytes(), &definition].map(ValueRef::Bytes);
                tables.put(VIEWS, &values)
            }
            SchemaChange::DropView { database, name } => {
                tables.delete(VIEWS, &[text(database).as_ref(), text(name).as_ref()])
            }
        }
    }
}

fn put_table(tables: &SystemTables, table: &TableDefinition) -> SystemWrite {
    let definition = system::to_blob(table);
    let values = [
        ValueRef::UInt(table.id.0.into()),
        ValueRef::Bytes(table.database.as_bytes()),
        ValueRef::Bytes(table.name.as_bytes()),
        ValueRef::UInt(table.version.into()),
        ValueRef::Bytes(&definition),
    ];
    tables.put(TABLES, &values)
}

/// The changes of how many versions are kept.
pub const CHANGES_KEPT: u64 = 64;
/// The changes of a version that are larger than this when encoded are not written down.
const CHANGES_SIZE_MAX: usize = 64 << 10;

/// The writes that tell what `version` changes, and forget what an old one did.
pub(crate) fn change_writes(
    tables: &SystemTables,
    version: SchemaVersion,
    changes: &[SchemaChange],
) -> Vec<SystemWrite> {
    // (Sequences are not part of a schema.)
    let is_seen = |change: &&SchemaChange| {
        !matches!(change, SchemaChange::PutSequence { .. } | SchemaChange::DropSequence { .. })
    };
    let blob = system::to_blob(&changes.iter().filter(is_seen).cloned().collect::<Vec<_>>());
    let mut writes = Vec::new();
    if blob.len() <= CHANGES_SIZE_MAX {
        writes.push(tables.put(SCHEMA_CHANGES, &[ValueRef::UInt(version.0), ValueRef::Bytes(&blob)]));
    }
    if let Some(old) = version.0.checked_sub(CHANGES_KEPT) {
        writes.push(tables.delete(SCHEMA_CHANGES, &[ValueRef::UInt(old)]));
    }
    writes
}

/// The changes of the versions behind `since`.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct SchemaChanges {
    since: SchemaVersion,
    version: SchemaVersion,
    changes: Vec<SchemaChange>,
}

impl SchemaChanges {
    /// The changes of `version` and those before it, down to `since`, as the rows of `schema_changes` tell. `row` finds
    /// the row of a key. None if a row is not there.
    pub fn read<'a>(
        system: &SystemTables,
        (since, version): (SchemaVersion, SchemaVersion),
        mut row: impl FnMut(&[u8]) -> Option<&'a [u8]>,
    ) -> Result<Option<Self>, MalformedRow> {
        if version.0.checked_sub(since.0).is_none_or(|count| count > CHANGES_KEPT) {
            return Ok(None);
        }
        let mut all = Vec::new();
        for version in since.0 + 1..=version.0 {
            let key = system.key(SCHEMA_CHANGES, &[ValueRef::UInt(version)]);
            let Some(row) = row(&key) else { return Ok(None) };
            let values = system.decode(SCHEMA_CHANGES, row)?.into_iter();
            let changes = values.last().and_then(bytes_of).and_then(|blob| system::from_blob(&blob));
            let changes: Option<Vec<SchemaChange>> = changes;
            all.extend(changes.ok_or(MalformedRow { table: SCHEMA_CHANGES })?);
        }
        Ok(Some(Self { since, version, changes: all }))
    }

    /// The last of them.
    #[must_use]
    pub fn version(&self) -> SchemaVersion {
        self.version
    }

    /// The schema after the changes, which shares with `before` what they do not touch. None if they do not belong
    /// behind it, or do not make a schema: they may come from a peer.
    #[must_use]
    pub fn apply(&self, before: &Schema) -> Option<Schema> {
        let is_broken =
            |change: &SchemaChange| matches!(change, SchemaChange::PutTable(table) if table.check().is_err());
        if before.version != self.since || self.changes.iter().any(is_broken) {
            return None;
        }
        let mut after = before.clone();
        after.version = self.version;
        self.changes.iter().for_each(|change| change.apply(&mut after));
        Some(after)
    }
}

/// Why rows do not make a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CatalogueError {
    /// The version changed while the rows were scanned: scan again.
    Torn {
        /// Before the scan.
        before: SchemaVersion,
        /// After it.
        after: SchemaVersion,
    },
    /// Bytes that are not a row: this replica is damaged.
    Row(MalformedRow),
    /// Rows that contradict each other: this replica is damaged.
    Schema(SchemaError),
}

impl CatalogueError {
    /// True if another scan may succeed.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, CatalogueError::Torn { .. })
    }
}

impl std::fmt::Display for CatalogueError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CatalogueError::Torn { before, after } => {
                write!(formatter, "the schema changed from version {before} to {after} while it was read")
            }
            CatalogueError::Row(row) => write!(formatter, "a row of system table {} is damaged", row.table),
            CatalogueError::Schema(error) => {
                write!(formatter, "the system tables contradict each other: {error:?}")
            }
        }
    }
}

impl From<MalformedRow> for CatalogueError {
    fn from(row: MalformedRow) -> Self {
        CatalogueError::Row(row)
    }
}

/// Makes a [`Schema`] from the rows of the system tables, in any order. It may take its time, between two rows too.
#[derive(Debug)]
pub struct SchemaBuilder {
    /// The part of it that is there; its version is the one that was read before the scan.
    schema: Schema,
    /// The first row that does not fit those before it.
    contradiction: Option<SchemaError>,
}

impl SchemaBuilder {
    /// The tables whose rows it needs, all of them.
    pub const TABLES: [TableId; 8] =
        [DATABASES, TABLES, USERS, GRANTS, ROLE_EDGES, DEFAULT_ROLES, VARIABLES, VIEWS];

    /// A builder for the rows that are scanned after the version row was read.
    #[must_use]
    pub fn new(system: &SystemTables, before: SchemaVersion) -> Self {
        let mut schema = Schema::empty(before);
        schema.put_database(system::system_database());
        system.iter().for_each(|table| schema.put_table(Arc::clone(&table.definition)));
        Self { schema, contradiction: None }
    }

    /// Takes one row of one of [`Self::TABLES`].
    pub fn add(&mut self, system: &SystemTables, table: TableId, row: &[u8]) -> Result<(), MalformedRow> {
        let values = system.decode(table, row)?;
        let schema = &mut self.schema;
        let mut fits = Ok(());
        let taken = match table {
            DATABASES => database_of(&values).map(|database| fits = schema.add_database(database)),
            TABLES => table_of(values).map(|table| fits = schema.add_table(Arc::new(table))),
            USERS => user_of(values).map(|user| fits = schema.add_user(user)),
            GRANTS => grant_of(values).map(|row| Arc::make_mut(&mut schema.grants).put(&row)),
            ROLE_EDGES => role_edge_of(values).map(|edge| Arc::make_mut(&mut schema.grants).put_role(&edge)),
            DEFAULT_ROLES => default_role_of(values)
                .map(|default| Arc::make_mut(&mut schema.grants).put_default_role(&default)),
            VARIABLES => variable_of(values).map(|(name, variable)| {
                Arc::make_mut(&mut schema.variables).insert(name, variable);
            }),
            VIEWS => view_of(values).map(|view| schema.put_view(view)),
            _ => None,
        };
        // Rows of two versions may contradict each other: `finish` looks first whether they are of one.
        self.contradiction = self.contradiction.take().or(fits.err());
        taken.ok_or(MalformedRow { table })
    }

    /// The schema, if the version row, read again after the scan, has not changed.
    pub fn finish(self, after: SchemaVersion) -> Result<Schema, CatalogueError> {
        let before = self.schema.version;
        if before != after {
            return Err(CatalogueError::Torn { before, after });
        }
        let whole = self.contradiction.map_or_else(|| self.schema.check(), Err);
        whole.map_err(CatalogueError::Schema)?;
        Ok(self.schema)
    }
}

fn bytes_of(value: Value) -> Option<Vec<u8>> {
    if let Value::Bytes(bytes) = value { Some(bytes) } else { None }
}

fn text_of(value: Value) -> Option<String> {
    String::from_utf8(bytes_of(value)?).ok()
}

fn database_of(values: &[Value]) -> Option<Database> {
    let [name, collation, ..] = values else { return None };
    let collation = Collation::by_name(&text_of(collation.clone())?)?;
    Some(Database { name: text_of(name.clone())?, collation })
}

fn table_of(values: Vec<Value>) -> Option<TableDefinition> {
    let mut values = values.into_iter();
    let id = values.next()?;
    let definition: TableDefinition = system::from_blob(&bytes_of(values.nth(3)?)?)?;
    let is_catalogued = definition.kind != TableKind::System && definition.id >= FIRST_USER_TABLE;
    (is_catalogued && id == Value::UInt(definition.id.0.into())).then_some(definition)
}

fn user_of(values: Vec<Value>) -> Option<User> {
    let mut values = values.into_iter();
    Some(User {
        name: text_of(values.next()?)?,
        host: text_of(values.next()?)?,
        plugin: text_of(values.next()?)?,
        verifier: bytes_of(values.next()?)?,
        // A build before wire version 5 wrote the row without them.
        attributes: match bytes_of(values.next()?) {
            Some(attributes) => system::from_blob(&attributes)?,
            None => AccountAttributes::default(),
        },
    })
}

fn account_of(values: &mut impl Iterator<Item = Value>) -> Option<UserName> {
    Some(UserName { name: text_of(values.next()?)?, host: text_of(values.next()?)? })
}

fn number_of(value: Value) -> Option<u64> {
    if let Value::UInt(number) = value { Some(number) } else { None }
}

fn grant_of(values: Vec<Value>) -> Option<GrantRow> {
    let mut values = values.into_iter();
    let account = account_of(&mut values)?;
    let place = number_of(values.next()?)?;
    let database = text_of(values.next()?)?;
    let (table, column) = (text_of(values.next()?)?, text_of(values.next()?)?);
    let place = match place {
        0 => GrantPlace::Global,
        1 => GrantPlace::Dynamic,
        2 => GrantPlace::Database(database),
        3 => GrantPlace::Table { database, table },
        4 => GrantPlace::Column { database, table, column },
        _ => return None,
    };
    let (privileges, grantable) = (number_of(values.next()?)?, number_of(values.next()?)?);
    Some(GrantRow { account, place, privileges, grantable })
}

fn role_edge_of(values: Vec<Value>) -> Option<RoleEdge> {
    let mut values = values.into_iter();
    let (to, role) = (account_of(&mut values)?, account_of(&mut values)?);
    let admin = if number_of(values.next()?)? == 0 { AdminOption::No } else { AdminOption::Yes };
    Some(RoleEdge { to, role, admin })
}

fn variable_of(values: Vec<Value>) -> Option<(String, GlobalVariable)> {
    let optional = |value: Value| if value.is_null() { Some(None) } else { text_of(value).map(Some) };
    let mut values = values.into_iter();
    let name = text_of(values.next()?)?;
    Some((name, GlobalVariable { value: optional(values.next()?)?, persisted: optional(values.next()?)? }))
}

fn view_of(values: Vec<Value>) -> Option<ViewDefinition> {
    let mut values = values.into_iter();
    let (database, name) = (text_of(values.next()?)?, text_of(values.next()?)?);
    let view: ViewDefinition = system::from_blob(&bytes_of(values.next()?)?)?;
    (view.full_name() == (&*database, &*name)).then_some(view)
}

fn default_role_of(values: Vec<Value>) -> Option<DefaultRole> {
    let mut values = values.into_iter();
    Some(DefaultRole { account: account_of(&mut values)?, role: account_of(&mut values)? })
}
