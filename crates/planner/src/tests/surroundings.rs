//! A schema made by our own CREATE TABLE, and a session's facts.

use super::prepared;
use crate::Surroundings;
use crate::plan::{Plan, Reach, SessionValue, Show};
use catalogue::{
    Authentication, ColumnSpec, CreateTable, Credential, DdlRequest, DefaultSpec, KeySpec, KeySpecKind,
    Nullability,
};
use protocol::SqlError;
use std::sync::Arc;
use types::{
    Collation, ColumnDefinition, ColumnFlags, ColumnIndex, Database, DefaultValue, IndexDefinition,
    IndexKind, KeyPart, Schema, SqlType, StoreMode, TableDefinition, TableId, TableKind, Value, store,
};

const TABLES: [&str; 7] = [
    "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT, b BIGINT NOT NULL, c VARCHAR(20), d DECIMAL(10,2), KEY k_a (a), \
     KEY k_b_c (b, c), UNIQUE KEY u_c (c))",
    "CREATE TABLE p (x INT NOT NULL, y INT NOT NULL, z INT, PRIMARY KEY (x, y), UNIQUE KEY u_z (z), KEY k_desc (z DESC, y))",
    "CREATE TABLE w (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, s VARCHAR(40) COLLATE utf8mb4_bin, \
     v VARBINARY(40), e ENUM('a','b','c'), f DOUBLE, day DATE, at DATETIME(3), ts TIMESTAMP NULL, y YEAR, bits BIT(8), \
     KEY k_s (s), KEY k_v (v), KEY k_e (e), KEY k_f (f), KEY k_day (day), KEY k_at (at), KEY k_ts (ts), KEY k_y (y), KEY k_id_s (id, s))",
    "CREATE TABLE n (a INT, b INT)",
    "CREATE TABLE q (id INT PRIMARY KEY, body TEXT, name VARCHAR(100), KEY k_body (body(10)), KEY k_name (name))",
    "CREATE TABLE def (id INT NOT NULL DEFAULT 7 PRIMARY KEY, at DATETIME DEFAULT CURRENT_TIMESTAMP, need INT NOT NULL, maybe INT)",
    "CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
     pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k_1 (k))",
];

/// Databases `d` and `other`; the tables above in `d`.
pub(super) fn schema() -> Schema {
    let mut schema = Schema::empty(types::SchemaVersion(1));
    for name in ["d", "other"] {
        schema.put_database(Database { name: name.to_owned(), collation: Collation::Utf8mb40900AiCi });
    }
    for (number, text) in TABLES.into_iter().enumerate() {
        let Ok(plan) = prepared(&schema, text, &[]) else { panic!("{text}") };
        let Plan::Ddl(ddl) = plan.plan else { panic!("{text}") };
        let DdlRequest::CreateTable(create) = ddl.request else { panic!("{text}") };
        schema.put_table(Arc::new(definition(&create, TableId(100 + u32::try_from(number).unwrap()))));
    }
    schema
}

pub(super) fn definition(create: &CreateTable, id: TableId) -> TableDefinition {
    let mut keys = create.keys.clone();
    keys.sort_by_key(|key| key.kind != KeySpecKind::Primary);
    let has_primary = keys.first().is_some_and(|key| key.kind == KeySpecKind::Primary);
    let mut columns: Vec<ColumnDefinition> = create.columns.iter().map(|spec| column(spec, &keys)).collect();
    if !has_primary {
        columns.push(ColumnDefinition {
            default: DefaultValue::AutoIncrement,
            flags: ColumnFlags { hidden: true, ..ColumnFlags::default() },
            ..fixtures::column("", SqlType::Integer { width: types::IntegerWidth::Big, unsigned: true })
        });
    }
    let index_of = |name: &str| {
        let position =
            create.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)).unwrap();
        ColumnIndex(u16::try_from(position).unwrap())
    };
    let mut indexes = Vec::new();
    if !has_primary {
        let row_id = u16::try_from(columns.len() - 1).unwrap();
        indexes.push(fixtures::index(0, IndexKind::Primary, &[row_id]));
    }
    for key in &keys {
        let number = u32::try_from(indexes.len()).unwrap();
        let kind = match key.kind {
            KeySpecKind::Primary => IndexKind::Primary,
            KeySpecKind::Unique => IndexKind::Unique { table: TableId(1_000 + number) },
            KeySpecKind::Ordered => IndexKind::Ordered,
        };
        let parts = key
            .parts
            .iter()
            .map(|part| KeyPart {
                column: index_of(&part.column),
                prefix_length: part.length,
                descending: part.descending,
            })
            .collect();
        let name =
            if key.kind == KeySpecKind::Primary { "PRIMARY" } else { key.name.as_deref().unwrap_or("k") };
        let name = name.to_owned();
        indexes.push(IndexDefinition { name, parts, ..fixtures::index(number, kind, &[]) });
    }
    TableDefinition {
        database: create.table.database.clone(),
        name: create.table.name.clone(),
        auto_increment: create.columns.iter().position(|spec| spec.auto_increment).map(|_| ColumnIndex(0)),
        indexes,
        collation: Collation::Utf8mb40900AiCi,
        ..fixtures::table(id, columns)
    }
}

fn column(spec: &ColumnSpec, keys: &[KeySpec]) -> ColumnDefinition {
    let is_key = keys.iter().any(|key| {
        key.kind == KeySpecKind::Primary
            && key.parts.iter().any(|part| part.column.eq_ignore_ascii_case(&spec.name))
    });
    let nullable = spec.nullability != Nullability::NotNull && !is_key;
    let default = match &spec.default {
        DefaultSpec::Unspecified if spec.auto_increment => DefaultValue::AutoIncrement,
        DefaultSpec::Unspecified if nullable => DefaultValue::Literal(Value::Null),
        DefaultSpec::Unspecified => DefaultValue::Missing,
        DefaultSpec::Literal(value) => DefaultValue::Literal({
            store(value.clone(), &spec.sql_type, StoreMode::Strict, types::DateMode::ANY).unwrap()
        }),
        DefaultSpec::CurrentTimestamp { .. } => DefaultValue::CurrentTimestamp,
        DefaultSpec::Generated { encoded, text, is_stored } => {
            let (encoded, text, is_stored) = (encoded.clone(), text.clone(), *is_stored);
            DefaultValue::Generated { encoded, text, is_stored }
        }
        DefaultSpec::Expression { encoded, text } => {
            DefaultValue::Expression { encoded: encoded.clone(), text: text.clone() }
        }
    };
    ColumnDefinition {
        default,
        flags: ColumnFlags { nullable, hidden: false, on_update_now: spec.on_update_now.is_some() },
        comment: spec.comment.clone(),
        format: spec.format,
        ..fixtures::column(&spec.name, spec.sql_type.clone())
    }
}

/// A session with a few variables and one virtual table.
#[derive(Debug)]
pub(super) struct TestSurroundings;

impl Surroundings for TestSurroundings {
    fn session_value(&self, name: &SessionValue) -> Option<Value> {
        match name {
            SessionValue::RowCount | SessionValue::FoundRows => Some(Value::Int(0)),
            SessionValue::CurrentRole => Some(Value::text("NONE")),
            SessionValue::User(_) | SessionValue::Outer | SessionValue::UserLock(_) => Some(Value::Null),
            SessionValue::CurrentUser => Some(Value::text("root@localhost")),
            SessionValue::Variable(name) | SessionValue::GlobalVariable(name) => match name.as_str() {
                "nothing" => None,
                "sql_mode"
                | "version_comment"
                | "transaction_isolation"
                | "time_zone"
                | "character_set_client" => Some(Value::text("LatsDB")),
                _ => Some(Value::UInt(1024)),
            },
        }
    }

    fn user_variable_type(&self, name: &str) -> Option<SqlType> {
        (name == "double").then_some(SqlType::Double)
    }

    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<TableDefinition>> {
        if (database, name) != ("information_schema", "tables") {
            return None;
        }
        Some(virtual_table(database, "TABLES", ["TABLE_SCHEMA", "TABLE_NAME"]))
    }

    fn show_columns(&self, _: &Show) -> Vec<(String, SqlType)> {
        ["Name", "Variable_name", "Key_name"]
            .map(|name| {
                (name.to_owned(), SqlType::VarChar { length: 64, collation: Collation::Utf8mb4GeneralCi })
            })
            .to_vec()
    }

    fn variable_reach(&self, name: &str) -> Option<Reach> {
        Some(match name {
            "hostname" | "version" | "version_comment" => Reach::Global,
            "last_insert_id" | "identity" | "warning_count" => Reach::Session,
            _ => Reach::Both,
        })
    }

    fn version(&self) -> &'static str {
        "8.0.40-LatsDB"
    }

    /// Hashes count as well-formed by their first letter and length.
    fn check_authentication(&self, authentication: &Authentication) -> Result<(), SqlError> {
        let plugin = authentication.plugin.as_deref();
        let (first, length) = match plugin {
            None | Some("caching_sha2_password") => (b'$', 70),
            Some("mysql_native_password") => (b'*', 41),
            Some(name) => return Err(SqlError::new(1524, format!("Plugin '{name}' is not loaded"))),
        };
        match &authentication.credential {
            Credential::Stored(stored)
                if !stored.is_empty() && (stored[0], stored.len()) != (first, length) =>
            {
                Err(SqlError::new(1827, "The password hash doesn't have the expected format."))
            }
            Credential::None | Credential::Password(_) | Credential::Stored(_) => Ok(()),
        }
    }
}

/// A virtual table of two columns.
pub(super) fn virtual_table(database: &str, name: &str, columns: [&str; 2]) -> Arc<TableDefinition> {
    let text = SqlType::VarChar { length: 64, collation: Collation::Utf8mb4GeneralCi };
    let columns = columns.map(|name| fixtures::column(name, text.clone()));
    Arc::new(TableDefinition {
        version: 0,
        database: database.to_owned(),
        name: name.to_owned(),
        kind: TableKind::System,
        indexes: Vec::new(),
        collation: Collation::Utf8mb4GeneralCi,
        ..fixtures::table(TableId(0), columns.to_vec())
    })
}
