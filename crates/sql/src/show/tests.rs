//! Golden results over a small schema, and what holds for every virtual table and every SHOW.

use super::known_tables::{definition, registry};
use super::statement::show;
use super::*;
use expression::{BinaryOperator, ColumnSlot, Comparison, Expression};
use fixtures::integer;
use planner::plan::{Diagnosed, RangeTemplate, Show, TableMaintenance, Window};
use protocol::module::TlsSession;
use std::sync::Arc;
use types::{
    BlobSize, Collation, ColumnDefinition, ColumnFlags, ColumnIndex, Database, DefaultValue, IndexDefinition,
    IndexId, IndexKind, IndexState, IntegerWidth, SqlType, TableDefinition, TableId, TableKind, User,
};

const ID: SqlType = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
const COLLATION: Collation = Collation::Utf8mb40900AiCi;

fn column(name: &str, sql_type: SqlType, default: DefaultValue) -> ColumnDefinition {
    let nullable = matches!(default, DefaultValue::Literal(Value::Null));
    let flags = ColumnFlags { nullable, ..ColumnFlags::default() };
    ColumnDefinition { default, flags, ..fixtures::column(name, sql_type) }
}

fn null() -> DefaultValue {
    DefaultValue::Literal(Value::Null)
}

fn index(id: u32, name: &str, kind: IndexKind, columns: &[u16]) -> IndexDefinition {
    IndexDefinition { name: name.into(), ..fixtures::index(id, kind, columns) }
}

fn table(
    id: u32,
    name: &str,
    columns: Vec<ColumnDefinition>,
    indexes: Vec<IndexDefinition>,
) -> TableDefinition {
    let generated = columns.iter().position(|column| column.default == DefaultValue::AutoIncrement);
    let is_hidden = |position: &usize| columns[*position].flags.hidden;
    let auto_increment = generated.filter(|position| !is_hidden(position));
    TableDefinition {
        database: "shop".into(),
        name: name.into(),
        auto_increment: auto_increment.map(|position| ColumnIndex(u16::try_from(position).unwrap())),
        indexes,
        collation: COLLATION,
        ..fixtures::table(TableId(id), columns)
    }
}

/// Entries of a unique index over one column.
fn hidden_table(id: u32, base: u32, index_id: u32, key: SqlType) -> TableDefinition {
    let columns = vec![column("key", key, null()), column("id", ID, DefaultValue::Missing)];
    let kind = TableKind::UniqueIndex { base: TableId(base), index: IndexId(index_id) };
    TableDefinition { kind, ..table(id, "", columns, vec![index(0, "PRIMARY", IndexKind::Primary, &[0])]) }
}

fn customers() -> TableDefinition {
    let text = |length| SqlType::VarChar { length, collation: COLLATION };
    let grades = vec!["gold".to_owned(), "silver".to_owned()];
    let mut changed = column("changed", SqlType::Timestamp { fraction: 3 }, DefaultValue::CurrentTimestamp);
    changed.flags.on_update_now = true;
    let mut since = column("since", SqlType::DateTime { fraction: 0 }, null());
    since.flags.on_update_now = true;
    let columns = vec![
        column("id", ID, DefaultValue::AutoIncrement),
        column("mail", text(100), DefaultValue::Missing),
        column("name", SqlType::Char { length: 20, collation: Collation::Utf8mb4Bin }, null()),
        column(
            "balance",
            SqlType::Decimal { precision: 10, scale: 2, unsigned: false },
            DefaultValue::Missing,
        ),
        column("grade", SqlType::Enum { members: Arc::new(grades), collation: COLLATION }, null()),
        column("note", SqlType::Text { size: BlobSize::Normal, collation: COLLATION }, null()),
        column("photo", SqlType::Blob { size: BlobSize::Medium }, null()),
        column("weight", SqlType::Double, null()),
        column("born", SqlType::Date, null()),
        changed,
        since,
    ];
    let mut by_name = index(2, "by_name", IndexKind::Ordered, &[2, 4]);
    by_name.parts[0].prefix_length = Some(5);
    by_name.parts[1].descending = true;
    let mut growing = index(3, "growing", IndexKind::Ordered, &[7]);
    growing.state = IndexState::WriteOnly;
    let indexes = vec![
        index(0, "PRIMARY", IndexKind::Primary, &[0]),
        index(1, "mail", IndexKind::Unique { table: TableId(201) }, &[1]),
        by_name,
        growing,
    ];
    TableDefinition { comment: "who buys".into(), ..table(200, "customers", columns, indexes) }
}

/// A table without a declared primary key.
fn tokens() -> TableDefinition {
    let mut row_id = column("row_id", ID, DefaultValue::AutoIncrement);
    row_id.flags.hidden = true;
    let columns = vec![column("token", integer(), DefaultValue::Missing), row_id];
    let indexes = vec![
        index(0, "PRIMARY", IndexKind::Primary, &[1]),
        index(1, "token", IndexKind::Unique { table: TableId(203) }, &[0]),
    ];
    table(202, "tokens", columns, indexes)
}

fn schema() -> Schema {
    let mut schema = catalogue::bootstrap();
    let database = Database { name: "shop".into(), collation: COLLATION };
    schema.put_database(database);
    let mail = hidden_table(201, 200, 1, SqlType::VarChar { length: 100, collation: COLLATION });
    for table in [customers(), mail, tokens(), hidden_table(203, 202, 1, integer())] {
        schema.put_table(Arc::new(table));
    }
    let user = |name: &str| User {
        plugin: "mysql_native_password".into(),
        verifier: b"*00".to_vec(),
        ..User::new(name, "localhost")
    };
    schema.put_user(user("o'neill"));
    let databases = schema.databases.values().cloned();
    let tables = schema.tables().values().map(Arc::clone);
    let checked = Schema::new(schema.version, databases, tables, schema.users.iter().cloned());
    let mut checked = checked.expect("a good schema");
    checked.grants = schema.grants;
    checked
}

/// Twelve rows in table 200, each value of an index's first column three times.
struct Counts;

impl Statistics for Counts {
    fn row_count(&self, table: &TableDefinition) -> Option<u64> {
        (table.id == TableId(200)).then_some(12)
    }

    fn entries_per_key(&self, _: &TableDefinition, _: IndexId, parts: usize) -> Option<f64> {
        Some(if parts == 1 { 3.0 } else { 1.0 })
    }

    fn entries_in(&self, _: &TableDefinition, _: IndexId, _: &[RangeTemplate]) -> Option<f64> {
        None
    }

    fn share_of(&self, _: &TableDefinition, _: &[Expression]) -> Option<f64> {
        None
    }

    fn has_value(&self, _: u16) -> bool {
        false
    }
}

fn with_context<R>(use_it: impl FnOnce(&ShowContext<'_>) -> R) -> R {
    let schema = schema();
    let mut variables = SessionVariables::default();
    variables.set("autocommit", Some(&Value::Int(0))).expect("a variable");
    let mut user_variables = UserVariables::default();
    user_variables.set("mine", Value::Int(5), integer()).expect("a variable");
    let statements = vec![("Com_select".to_owned(), 3)];
    let tls = Some(TlsSession { version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384" });
    let status = Status { uptime_s: 60, questions: 7, statements, tls, tls_accepts: 2, ..Status::default() };
    let diagnostics = [
        Diagnostic { level: Level::Warning, code: 1365, message: "Division by 0" },
        Diagnostic { level: Level::Error, code: 1064, message: "no" },
        Diagnostic { level: Level::Note, code: 1051, message: "Unknown table 'shop.x'" },
    ];
    let context = ShowContext {
        temporary: None,
        schema: &schema,
        virtual_tables: registry(),
        variables: &variables,
        user_variables: &user_variables,
        account: ("root", "%"),
        connection_id: 7,
        connection_attributes: &[
            ("_client_name".to_owned(), "x".to_owned()),
            ("_pid".to_owned(), "12".to_owned()),
        ],
        privileges: &types::PrivilegeSet::all(),
        active_roles: &[],
        mandatory_roles: &[],
        status: &status,
        diagnostics: &diagnostics,
        statistics: &Counts,
        next_id: &|table| table.auto_increment.map(|_| 10),
    };
    use_it(&context)
}

fn printed(rows: &[Vec<Value>]) -> String {
    let value = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(_) | Value::Decimal(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
            panic!("{value:?}")
        }
    };
    let line = |row: &Vec<Value>| {
        let values: Vec<String> = row.iter().map(value).collect();
        format!("{}\n", values.join(" "))
    };
    rows.iter().map(line).collect()
}

/// `column = 'text'` over a virtual table.
fn equals(definition: &TableDefinition, column: &str, text: &str) -> Expression {
    let slot = definition.column(column).expect("a column");
    let sql_type = definition.column_at(slot).sql_type.clone();
    let column = Expression::column(ColumnSlot(slot.0), sql_type, false);
    let text = Expression::text(text, COLLATION);
    Expression::binary(BinaryOperator::Compare(Comparison::Equal), column, text).expect("a condition")
}

fn now(rows: VirtualRows) -> Vec<Vec<Value>> {
    match rows {
        VirtualRows::Now(rows) => rows,
        VirtualRows::Ask(..) | VirtualRows::AskForSessions(..) => panic!("nodes are not there"),
    }
}

/// The rows about database shop of a virtual table.
fn rows_of_shop(context: &ShowContext<'_>, database: &str, name: &str) -> Vec<Vec<Value>> {
    let definition = definition(database, name).expect("a table");
    let table = VirtualTable { database: database.into(), name: name.into() };
    let column = ["TABLE_SCHEMA", "CONSTRAinteger()_SCHEMA"]
        .into_iter()
        .find(|name| definition.column(name).is_some());
    let Some(column) = column else { return now(rows(&table, None, context)) };
    let filter = equals(&definition, column, "shop");
    let evaluation = expression::Context::default();
    let mut found = now(rows(&table, Some((&filter, &evaluation)), context));
    found.retain(|row| filter.is_true(row, &evaluation).expect("a truth"));
    found
}

fn shop_table(name: &str) -> (String, String) {
    ("shop".to_owned(), name.to_owned())
}

/// Every SHOW, by the name it has in the golden file.
fn statements() -> Vec<(&'static str, Show, Option<&'static str>)> {
    let (database, customers) = shop_table("customers");
    let tables = |database: &str, full| Show::Tables { database: database.to_owned(), full };
    let columns = |full| Show::Columns { database: database.clone(), table: customers.clone(), full };
    let indexes = |table: &str| Show::Indexes { database: database.clone(), table: table.to_owned() };
    let diagnostics = |which, window| Show::Diagnostics { which, window };
    let check = |operation| Show::Maintenance {
        operation,
        tables: vec![shop_table("customers"), shop_table("gone")],
    };
    vec![
        ("databases", Show::Databases, None),
        ("databases like 's%'", Show::Databases, Some("s%")),
        ("databases like 'S%'", Show::Databases, Some("S%")),
        ("tables", tables("shop", false), None),
        ("full tables like 'cust_mers'", tables("shop", true), Some("cust_mers")),
        ("full tables from PERFORMANCE_SCHEMA", tables("PERFORMANCE_SCHEMA", true), None),
        ("columns", columns(false), None),
        ("full columns like 'NA%'", columns(true), Some("NA%")),
        ("indexes", indexes("customers"), None),
        ("indexes of tokens", indexes("tokens"), None),
        ("create table", Show::CreateTable { database: database.clone(), table: customers.clone() }, None),
        ("create database", Show::CreateDatabase { database: database.clone() }, None),
        ("table status", Show::TableStatus { database: database.clone() }, None),
        ("variables like 'auto%'", Show::Variables { global: false }, Some("auto%")),
        ("status", Show::Status, None),
        ("warnings", diagnostics(Diagnosed::All, Window::default()), None),
        ("warnings limit 1, 1", diagnostics(Diagnosed::All, Window { offset: 1, count: Some(1) }), None),
        ("errors", diagnostics(Diagnosed::Errors, Window::default()), None),
        ("count(*) warnings", Show::DiagnosticsCount(Diagnosed::All), None),
        ("count(*) errors", Show::DiagnosticsCount(Diagnosed::Errors), None),
        ("engines", Show::Engines, None),
        ("character sets", Show::CharacterSets, None),
        ("collations like 'UTF8MB4\\_0900%'", Show::Collations, Some("UTF8MB4\\_0900%")),
        ("collations like '%general_ci'", Show::Collations, Some("%general_ci")),
        ("grants", Show::Grants { account: None, using: Vec::new() }, None),
        ("create user", Show::CreateUser { account: None }, None),
        (
            "create user of another",
            Show::CreateUser { account: Some(("o'neill".into(), "localhost".into())) },
            None,
        ),
        ("privileges like 'Create%'", Show::Privileges, Some("Create%")),
        ("plugins", Show::Plugins, None),
        ("analyze", check(TableMaintenance::Analyze), None),
        ("check", check(TableMaintenance::Check), None),
        ("optimize", check(TableMaintenance::Optimize), None),
        ("repair", check(TableMaintenance::Repair), None),
        (
            "nothing",
            Show::Nothing { columns: &["File"], privilege: types::Privileges::NONE, database: None },
            None,
        ),
    ]
}

fn compare(golden: &str, actual: &str) {
    let different = golden.lines().zip(actual.lines()).find(|(golden, actual)| golden != actual);
    assert!(
        golden.trim_end() == actual.trim_end(),
        "first difference: {different:?}\n==== all ====\n{actual}==== end ===="
    );
}

#[test]
fn every_show() {
    let actual: String = with_context(|context| {
        let block = |(name, what, like): (&str, Show, Option<&str>)| {
            let columns = columns_of(&what);
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            let rows = now(show(&what, like, context).expect("rows"));
            assert!(rows.iter().all(|row| row.len() == columns.len()), "{name}");
            format!("> {name}\n{}\n{}\n", names.join(" | "), printed(&rows))
        };
        statements().into_iter().map(block).collect()
    });
    compare(include_str!("tests/show.txt"), &actual);
}

#[test]
fn information_schema_of_a_database() {
    let names = [
        "columns",
        "key_column_usage",
        "partitions",
        "schemata",
        "statistics",
        "table_constraints",
        "tables",
        "engines",
        "character_sets",
        "plugins",
    ];
    let actual: String = with_context(|context| {
        let block = |name: &str| {
            format!("> {name}\n{}\n", printed(&rows_of_shop(context, "information_schema", name)))
        };
        names.into_iter().map(block).collect()
    });
    compare(include_str!("tests/information_schema.txt"), &actual);
}

/// Drivers find what MySQL 8 has, column by column.
#[test]
fn definitions_of_virtual_tables() {
    let definition = |known: &virtual_tables::Known| {
        let columns = known.definition.columns.iter().map(|column| {
            let null = if column.flags.nullable { "?" } else { "" };
            format!("{} {}{null}", column.name, catalogue::column_type_text(column))
        });
        let columns: Vec<String> = columns.collect();
        format!("{}.{}\n    {}\n", known.definition.database, known.definition.name, columns.join(", "))
    };
    let actual: String = registry().all().map(definition).collect();
    compare(include_str!("tests/definitions.txt"), &actual);
}

fn fits(value: &Value, column: &ColumnDefinition) -> bool {
    match (value, &column.sql_type) {
        (Value::Null, _) => column.flags.nullable,
        (Value::Int(_), SqlType::Integer { unsigned, .. }) => !unsigned,
        (Value::UInt(_), SqlType::Integer { unsigned, .. }) => *unsigned,
        (Value::Bytes(text), SqlType::VarChar { length, .. }) => {
            String::from_utf8_lossy(text).chars().count() <= usize::try_from(*length).unwrap()
        }
        (Value::Bytes(_), SqlType::Text { .. }) => true,
        _ => false,
    }
}

#[test]
fn rows_fit_their_definitions() {
    with_context(|context| {
        for known in registry().all() {
            let definition = &known.definition;
            let table = VirtualTable { database: definition.database.clone(), name: definition.name.clone() };
            let VirtualRows::Now(rows) = rows(&table, None, context) else { continue };
            for row in &rows {
                assert_eq!(row.len(), definition.columns.len(), "{}", definition.name);
                for (value, column) in row.iter().zip(&definition.columns) {
                    assert!(fits(value, column), "{}.{}: {value:?}", definition.name, column.name);
                }
            }
        }
    });
}

#[test]
fn sessions_under_the_names_of_show() {
    let columns = columns_of(&Show::ProcessList);
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Id", "User", "Host", "db", "Command", "Time", "State", "Info"]);
}

#[test]
fn fields_of_a_table() {
    let fields = field_list(&customers().into(), Some("B%"));
    let shown: Vec<(&str, Option<&str>)> =
        fields.iter().map(|(column, default)| (column.name.as_str(), default.as_deref())).collect();
    assert_eq!(shown, [("balance", None), ("born", None)]);
    let all = field_list(&tokens().into(), None);
    use crate::results::origin_flags;
    use mysql_protocol::ColumnFlags as Flags;
    let flags = Flags::PRIMARY_KEY | Flags::PART_KEY | Flags::NO_DEFAULT_VALUE;
    assert_eq!(all.iter().map(|(column, _)| origin_flags(column)).collect::<Vec<_>>(), [flags]);
}

#[test]
fn databases_that_may_be_used() {
    with_context(|context| {
        let exists = |name| database_exists(context.schema, name);
        assert!(exists("shop") && exists("latsdb") && exists("Information_Schema") && exists("sys"));
        assert!(!exists("SHOP") && !exists("gone"));
    });
}

#[test]
fn the_systems_own_database_is_not_listed() {
    with_context(|context| {
        let listed = printed(&now(show(&Show::Databases, None, context).expect("rows")));
        assert!(listed.contains("shop") && !listed.contains("latsdb"), "{listed}");
    });
}

#[test]
fn the_clients_attributes() {
    with_context(|context| {
        for name in ["session_connect_attrs", "session_account_connect_attrs"] {
            let table = VirtualTable { database: "performance_schema".into(), name: name.into() };
            let rows = printed(&now(rows(&table, None, context)));
            assert_eq!(rows, "7 \"_client_name\" \"x\" 0\n7 \"_pid\" \"12\" 1\n", "{name}");
        }
    });
}

#[test]
fn questions_for_nodes() {
    with_context(|context| {
        let ask = |name: &str| {
            let table = VirtualTable { database: "ndbinfo".into(), name: name.into() };
            rows(&table, None, context)
        };
        assert_eq!(ask("nodes"), VirtualRows::Ask(InfoTable::NodeState, Respondents::AllNodes));
        assert_eq!(ask("config_params"), VirtualRows::Ask(InfoTable::ConfigParams, Respondents::OwnNode));
        assert_eq!(ask("server_locks"), VirtualRows::AskForSessions(InfoTable::ClusterLocks, 5));
        assert_eq!(ask("server_operations"), VirtualRows::AskForSessions(InfoTable::ClusterOperations, 2));
        assert_eq!(ask("membership"), VirtualRows::Ask(InfoTable::Nodes, Respondents::AllNodes));
        assert_eq!(ask("cpustat"), VirtualRows::Ask(InfoTable::CpuStat, Respondents::AllNodes));
        let processes = VirtualRows::Ask(InfoTable::Processes, Respondents::AllNodes);
        assert_eq!(show(&Show::ProcessList, None, context), Ok(processes));
    });
}

/// Statements ask for two of them by themselves.
#[test]
fn every_table_of_the_nodes_can_be_read() {
    with_context(|context| {
        let asked = registry().all().filter_map(|known| {
            let (database, name) = (known.definition.database.clone(), known.definition.name.clone());
            match rows(&VirtualTable { database, name }, None, context) {
                VirtualRows::Ask(table, _) | VirtualRows::AskForSessions(table, _) => Some(table),
                VirtualRows::Now(_) => None,
            }
        });
        let asked: Vec<InfoTable> = asked.collect();
        let unread: Vec<&InfoTable> = InfoTable::ALL.iter().filter(|table| !asked.contains(table)).collect();
        assert_eq!(unread, [&InfoTable::ServerTransactions, &InfoTable::UserLocks]);
    });
}

/// A hint leaves out what cannot match, and nothing else: with it and the filter there are the rows that the filter
/// alone leaves.
#[test]
fn hints_lose_nothing() {
    with_context(|context| {
        let evaluation = expression::Context::default();
        for name in ["tables", "columns", "statistics", "schemata", "table_constraints", "key_column_usage"] {
            let definition = definition("information_schema", name).expect("a table");
            let table = VirtualTable { database: "information_schema".into(), name: name.into() };
            let all = now(rows(&table, None, context));
            let database = if name == "schemata" { "SCHEMA_NAME" } else { "TABLE_SCHEMA" };
            let mut conditions = vec![equals(&definition, database, "shop")];
            for column in ["TABLE_NAME", "COLUMN_NAME"] {
                if definition.column(column).is_some() {
                    let text = if column == "TABLE_NAME" { "customers" } else { "id" };
                    conditions.push(equals(&definition, column, text));
                }
            }
            for count in 1..=conditions.len() {
                let parts = conditions[..count].to_vec();
                let filters = [Expression::and(parts.clone()), Expression::or(parts)];
                for filter in filters {
                    let matches = |row: &Vec<Value>| filter.is_true(row, &evaluation).expect("a truth");
                    let mut hinted = now(rows(&table, Some((&filter, &evaluation)), context));
                    assert!(hinted.len() < all.len() || count > 2, "{name}: the hint does nothing");
                    hinted.retain(matches);
                    let expected: Vec<_> = all.iter().filter(|row| matches(row)).cloned().collect();
                    assert_eq!(hinted, expected, "{name}");
                }
            }
        }
    });
}

#[test]
fn names_in_any_case() {
    let id = |database, name| definition(database, name).map(|table| table.id);
    assert_eq!(id("Information_Schema", "tables"), id("INFORMATION_SCHEMA", "TABLES"));
    assert!(id("information_schema", "tables").is_some_and(|id| id.0 > u32::MAX - 1000));
    assert_eq!(id("information_schema", "no"), None);
    assert_eq!(id("shop", "customers"), None);
}

#[test]
fn what_is_gone_is_an_error() {
    with_context(|context| {
        let gone = Show::CreateTable { database: "shop".into(), table: "gone".into() };
        assert_eq!(show(&gone, None, context).map_err(|error| error.code), Err(1146));
        let gone = Show::CreateDatabase { database: "gone".into() };
        assert_eq!(show(&gone, None, context).map_err(|error| error.code), Err(1049));
    });
}

#[test]
fn variables_by_scope() {
    with_context(|context| {
        let value = |name: &str| {
            let rows = rows_of_shop(context, "performance_schema", name);
            let row = rows.into_iter().find(|row| row[0] == Value::text("autocommit")).expect("the variable");
            row[1].clone()
        };
        assert_eq!(value("session_variables"), Value::text("OFF"));
        assert_eq!(value("global_variables"), Value::text("ON"));
    });
}
