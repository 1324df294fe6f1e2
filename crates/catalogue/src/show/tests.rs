use super::*;
use crate::{
    ColumnSpec, CreateTable, DdlJob, DdlRequest, DefaultSpec, Ids, JobStep, KeyPartSpec, KeySpec,
    KeySpecKind, Nullability, TableName, TableOptions,
};
use std::sync::Arc;
use types::{Collation, NumberFormat, Schema, TableId};

/// A cluster with one group of two nodes.
const TERMS: types::SlotTerms =
    types::SlotTerms { slots_per_node: 4, partitions_per_node: 2, groups: 1, replicas: 2 };

/// The definition that a CREATE TABLE makes.
fn definition(columns: Vec<ColumnSpec>, keys: Vec<KeySpec>, options: TableOptions) -> Arc<TableDefinition> {
    let mut schema = crate::bootstrap();
    let database = Database { name: "d".into(), collation: Collation::Utf8mb40900AiCi };
    schema.put_database(database);
    let table = TableName::new("d", "odd`name");
    let request = CreateTable {
        table,
        if_not_exists: false,
        columns,
        keys,
        options,
        checks: Vec::new(),
        is_filled: false,
    };
    let ids = Ids { next_table: TableId(100), next_job: 1 };
    let request = DdlRequest::CreateTable(Box::new(request));
    let mut job = DdlJob::new(&request, &schema, ids, TERMS, types::TransactionId(1)).expect("a table");
    let JobStep::Write(write) = job.next() else { panic!("a write") };
    let system = crate::SystemTables::new();
    let mut builder = crate::SchemaBuilder::new(&system, write.version);
    let database = crate::SchemaChange::PutDatabase(schema.databases["d"].clone()).write(&system);
    for write in write.writes.iter().chain([&database]) {
        if crate::SchemaBuilder::TABLES.contains(&write.table) {
            builder.add(&system, write.table, write.row.as_ref().expect("a row")).expect("a good row");
        }
    }
    let built: Schema = builder.finish(write.version).expect("a schema");
    Arc::clone(built.table("d", "odd`name").expect("the table"))
}

#[test]
fn create_table_as_mysql_8_prints_it() {
    let text = |length| SqlType::VarChar { length, collation: Collation::Utf8mb40900AiCi };
    let int = |width, unsigned| SqlType::Integer { width, unsigned };
    let column = ColumnSpec::new;
    let literal = |value: &str| DefaultSpec::Literal(Value::text(value));
    let members = Arc::new(vec!["a".to_owned(), "it's".to_owned()]);
    let collation = Collation::Utf8mb40900AiCi;
    let columns = vec![
        ColumnSpec { auto_increment: true, ..column("id", int(IntegerWidth::Big, true)) },
        ColumnSpec {
            nullability: Nullability::NotNull,
            default: literal("it's \\ back"),
            comment: "a 'comment'".into(),
            ..column("name", text(40))
        },
        column("code", SqlType::Char { length: 3, collation: Collation::Utf8mb4Bin }),
        ColumnSpec { default: literal("-1"), ..column("n", int(IntegerWidth::Tiny, false)) },
        ColumnSpec {
            default: literal("1.50"),
            ..column("price", SqlType::Decimal { precision: 10, scale: 2, unsigned: true })
        },
        ColumnSpec {
            default: DefaultSpec::Literal(Value::UInt(5)),
            ..column("flags", SqlType::Bit { length: 3 })
        },
        column("body", SqlType::Text { size: BlobSize::Medium, collation }),
        column("seen", SqlType::Timestamp { fraction: 0 }),
        ColumnSpec {
            nullability: Nullability::NotNull,
            default: DefaultSpec::CurrentTimestamp { fraction: 6 },
            on_update_now: Some(6),
            ..column("at", SqlType::DateTime { fraction: 6 })
        },
        ColumnSpec {
            default: literal("it's"),
            ..column("e", SqlType::Enum { members: Arc::clone(&members), collation })
        },
        ColumnSpec { default: literal("a"), ..column("s", SqlType::Set { members, collation }) },
        ColumnSpec {
            default: DefaultSpec::Expression { encoded: vec![1], text: "1 + 2".into() },
            ..column("x", SqlType::Double)
        },
        ColumnSpec { default: literal("ab"), ..column("v", SqlType::VarBinary { length: 4 }) },
    ];
    let key = |kind, name: Option<&str>, parts| KeySpec { kind, name: name.map(str::to_owned), parts };
    let part = KeyPartSpec::new;
    let keys = vec![
        key(
            KeySpecKind::Ordered,
            Some("by_name"),
            vec![
                KeyPartSpec { length: Some(10), ..part("name") },
                KeyPartSpec { descending: true, ..part("n") },
            ],
        ),
        key(KeySpecKind::Primary, None, vec![part("id")]),
        key(KeySpecKind::Unique, None, vec![part("code")]),
    ];
    let options = TableOptions { comment: "all \"kinds\"".into(), collation: None, auto_increment: None };
    let expected = "\
CREATE TABLE `odd``name` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `name` varchar(40) NOT NULL DEFAULT 'it''s \\\\ back' COMMENT 'a ''comment''',
  `code` char(3) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `n` tinyint DEFAULT '-1',
  `price` decimal(10,2) unsigned DEFAULT '1.50',
  `flags` bit(3) DEFAULT b'101',
  `body` mediumtext,
  `seen` timestamp NULL DEFAULT NULL,
  `at` datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  `e` enum('a','it''s') DEFAULT 'it''s',
  `s` set('a','it''s') DEFAULT 'a',
  `x` double DEFAULT (1 + 2),
  `v` varbinary(4) DEFAULT 'ab',
  PRIMARY KEY (`id`),
  UNIQUE KEY `code` (`code`),
  KEY `by_name` (`name`(10),`n` DESC)
) ENGINE=LatsDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='all \"kinds\"'";
    assert_eq!(show_create_table(&definition(columns, keys, options), None), expected);
}

#[test]
fn numbers_are_shown_with_the_digits_that_mysql_8_shows() {
    let tiny = |unsigned| SqlType::Integer { width: IntegerWidth::Tiny, unsigned };
    let int = |unsigned| SqlType::Integer { width: IntegerWidth::Normal, unsigned };
    let width = |width| NumberFormat { width: Some(width), ..NumberFormat::default() };
    let zerofill = NumberFormat { zerofill: true, ..NumberFormat::default() };
    let floating =
        |width, scale| NumberFormat { width: Some(width), scale: Some(scale), ..NumberFormat::default() };
    let money = SqlType::Decimal { precision: 10, scale: 2, unsigned: true };
    for (sql_type, format, expected) in [
        (tiny(false), width(1), "tinyint(1)"),
        (tiny(true), width(1), "tinyint unsigned"),
        (tiny(false), width(2), "tinyint"),
        (int(false), width(11), "int"),
        (int(true), zerofill, "int(10) unsigned zerofill"),
        (int(true), NumberFormat { width: Some(5), ..zerofill }, "int(5) unsigned zerofill"),
        (money, zerofill, "decimal(10,2) unsigned zerofill"),
        (SqlType::Float, floating(7, 3), "float(7,3)"),
        (SqlType::Double, NumberFormat { unsigned: true, ..floating(10, 2) }, "double(10,2) unsigned"),
        (SqlType::Float, NumberFormat { unsigned: true, ..zerofill }, "float unsigned zerofill"),
        (SqlType::Double, NumberFormat::default(), "double"),
    ] {
        let columns = vec![ColumnSpec { format, ..ColumnSpec::new("a", sql_type) }];
        let table = definition(columns, vec![], TableOptions::default());
        assert_eq!(column_type_text(&table.columns[0]), expected);
        assert!(
            show_create_table(&table, None).contains(&format!("`a` {expected} DEFAULT NULL")),
            "{expected}"
        );
    }
    let column = ColumnSpec {
        format: NumberFormat { unsigned: true, zerofill: true, ..floating(7, 2) },
        default: DefaultSpec::Literal(Value::text("1.239")),
        ..ColumnSpec::new("a", SqlType::Float)
    };
    let table = definition(vec![column], vec![], TableOptions::default());
    assert_eq!(column_default_text(&table.columns[0]).as_deref(), Some("0001.24"));
}

#[test]
fn a_table_without_a_primary_key_shows_none() {
    let columns = vec![ColumnSpec::new("a", SqlType::Year)];
    let expected = "\
CREATE TABLE `odd``name` (
  `a` year DEFAULT NULL
) ENGINE=LatsDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci";
    assert_eq!(show_create_table(&definition(columns, vec![], TableOptions::default()), None), expected);
}

#[test]
fn defaults_of_information_schema() {
    let shown = |sql_type: SqlType, default: DefaultSpec| {
        let column = ColumnSpec { default, ..ColumnSpec::new("a", sql_type) };
        column_default_text(&definition(vec![column], vec![], TableOptions::default()).columns[0])
    };
    assert_eq!(shown(SqlType::Date, DefaultSpec::Unspecified), None);
    assert_eq!(
        shown(SqlType::Date, DefaultSpec::Literal(Value::text("2024-02-29"))).as_deref(),
        Some("2024-02-29")
    );
    assert_eq!(
        shown(SqlType::Bit { length: 4 }, DefaultSpec::Literal(Value::UInt(2))).as_deref(),
        Some("b'10'")
    );
    let now = DefaultSpec::CurrentTimestamp { fraction: 0 };
    assert_eq!(shown(SqlType::DateTime { fraction: 0 }, now).as_deref(), Some("CURRENT_TIMESTAMP"));
}
