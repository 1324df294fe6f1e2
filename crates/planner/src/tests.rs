//! Whole statements through the front: golden plans, errors, and properties.
//!
//! `tests/*.txt` hold statements and what becomes of them: `> statement`, then its plan, or `! code message`. A failing
//! test prints what the whole file would have to say; read it before it is taken over. A line `# rows t=10 p=1000` says
//! how many rows tables have from there on; nothing is known of others.

mod counts;
mod long_lists;
mod modes;
mod orders;
mod privileges;
mod property;
mod surroundings;
mod tables;
mod views;

use super::{BindContext, TextLimits, TextModes, explain, prepare};
use crate::plan::{DdlPlan, Plan, Prepared, SelectPlan, SetItem};
use catalogue::DdlRequest;
use expression::TypingContext;
use protocol::SqlError;
use surroundings::{TestSurroundings, schema};
use types::{PrivilegeSet, Schema, SqlType, TableId};

/// Binds in database `d` of the test schema.
fn with_context<T>(schema: &Schema, run: impl FnOnce(&BindContext<'_>) -> T) -> T {
    with_modes(schema, TextModes::default(), run)
}

fn with_modes<T>(schema: &Schema, modes: TextModes, run: impl FnOnce(&BindContext<'_>) -> T) -> T {
    run(&BindContext {
        schema,
        temporary: None,
        database: Some("d"),
        user: ("root", "localhost"),
        privileges: &PrivilegeSet::all(),
        typing: TypingContext::default(),
        only_full_group_by: true,
        time_zone_offset_s: 7_200,
        server_collation: types::Collation::Utf8mb40900AiCi,
        limits: &TextLimits::default(),
        modes,
        surroundings: &TestSurroundings,
        statistics: &counts::current(),
    })
}

fn prepared(schema: &Schema, text: &str, types: &[SqlType]) -> Result<Prepared, SqlError> {
    with_context(schema, |context| prepare(text, context, types))
}

/// A plan on a few lines.
fn shown(prepared: &Prepared) -> String {
    let mut text = match &prepared.plan {
        Plan::Select(select) => {
            format!("{}= {}\n", explain::tree(&prepared.plan), shown_items(select, prepared))
        }
        Plan::Insert(insert) => {
            let rows: Vec<String> = insert.rows.iter().map(|row| shown_row(row)).collect();
            format!("{}= {}\n", explain::tree(&prepared.plan), rows.join(" "))
        }
        Plan::Update(_) | Plan::Delete(_) => explain::tree(&prepared.plan),
        Plan::Change(change) => {
            let items = explain::projection(&change.query).join(", ");
            format!("{}= {items}\n", explain::tree(&prepared.plan))
        }
        Plan::Explain { plan, format } => explain::rows(plan, *format, &counts::current())
            .iter()
            .map(|row| row.iter().map(shown_value).collect::<Vec<_>>().join(" | ") + "\n")
            .collect(),
        Plan::Set(items) => items
            .iter()
            .map(|item| {
                let value = item.value.as_ref().map_or_else(|| "DEFAULT".to_owned(), ToString::to_string);
                format!("{:?} = {value}\n", item.target)
            })
            .collect(),
        Plan::LockTables(tables) => {
            tables.iter().map(|(table, mode)| format!("{} {mode:?}\n", table.name)).collect()
        }
        Plan::Ddl(ddl) => shown_ddl(ddl),
        Plan::Temporary(ddl) => {
            format!("temporary {:?}, commits: {}, rest: {:?}\n", ddl.request, ddl.commits, ddl.rest)
        }
        Plan::Transaction(_)
        | Plan::Use(_)
        | Plan::SetRole(_)
        | Plan::Show(_)
        | Plan::Kill { .. }
        | Plan::UnlockTables
        | Plan::Named(_)
        | Plan::FlushUserResources
        | Plan::Shutdown
        | Plan::Nothing { .. } => {
            format!("{:?}\n", prepared.plan)
        }
    };
    if !prepared.session_values.is_empty() {
        text.push_str(&format!("with {:?}\n", prepared.session_values));
    }
    text
}

/// A request; of CREATE TABLE … SELECT the table, its columns that get values, and the query.
fn shown_ddl(ddl: &DdlPlan) -> String {
    match (&ddl.request, &ddl.fill) {
        (DdlRequest::CreateTable(create), Some(fill)) => {
            let table = surroundings::definition(create, TableId(1));
            let columns: Vec<String> = fill.columns.iter().map(|column| column.0.to_string()).collect();
            let query = explain::tree(&Plan::Select(Box::new(fill.source.clone())));
            let conflict = &fill.conflict;
            let text = catalogue::show_create_table(&table, None);
            format!("{text}\n{conflict:?} into {}\n{query}", columns.join(" "))
        }
        (request, _) => {
            let plain = format!(", format: {:?}", types::NumberFormat::default());
            format!("Ddl({request:?})\n").replace(&plain, "").replace(", is_filled: false", "")
        }
    }
}

fn shown_items(select: &SelectPlan, prepared: &Prepared) -> String {
    let items = explain::projection(select);
    if !prepared.sets.is_empty() {
        let shown = |item: &SetItem| {
            let value = item.value.as_ref().map_or_else(|| "DEFAULT".to_owned(), ToString::to_string);
            format!("{:?} = {value}", item.target)
        };
        let sets: Vec<String> = prepared.sets.iter().map(shown).collect();
        return format!("{} SET {}", items.join(", "), sets.join(", "));
    }
    if !prepared.into.is_empty() {
        let names: Vec<String> = prepared.into.iter().map(|(name, _)| format!("@{name}")).collect();
        return format!("{} INTO {}", items.join(", "), names.join(", "));
    }
    assert_eq!(items.len(), prepared.columns.len());
    let items: Vec<String> = items
        .into_iter()
        .zip(prepared.columns.iter())
        .map(|(item, column)| if item == column.name { item } else { format!("{item} AS {:?}", column.name) })
        .collect();
    items.join(", ")
}

fn shown_row(row: &[Option<expression::Expression>]) -> String {
    let values: Vec<String> = row
        .iter()
        .map(|value| value.as_ref().map_or_else(|| "DEFAULT".to_owned(), ToString::to_string))
        .collect();
    format!("({})", values.join(", "))
}

fn shown_value(value: &types::Value) -> String {
    let number = SqlType::Integer { width: types::IntegerWidth::Big, unsigned: true };
    let sql_type = if matches!(value, types::Value::Double(_)) { SqlType::Double } else { number };
    let mut text = Vec::new();
    types::format_text(value.as_ref(), &sql_type, &mut text);
    if value.is_null() { "NULL".to_owned() } else { String::from_utf8_lossy(&text).trim_end().to_owned() }
}

/// The outcome of a statement; `?` are integers.
fn outcome(schema: &Schema, statement: &str) -> String {
    outcome_in(schema, statement, TextModes::default())
}

fn outcome_in(schema: &Schema, statement: &str, modes: TextModes) -> String {
    let markers = statement.matches('?').count();
    let integer = SqlType::Integer { width: types::IntegerWidth::Big, unsigned: false };
    let types = vec![integer; markers];
    match with_modes(schema, modes, |context| prepare(statement, context, &types)) {
        Ok(prepared) => shown(&prepared),
        Err(error) => format!("! {} {}\n", error.code, error.message),
    }
}

/// Runs it with the stack that threads of a node have (`runtime`).
fn on_a_worker_stack(run: fn()) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The statements of a golden file.
fn statements(golden: &str) -> impl Iterator<Item = &str> {
    golden.lines().filter_map(|line| line.strip_prefix("> "))
}

fn check_golden(golden: &str) {
    let schema = schema();
    let mut actual = String::new();
    for block in golden.split("\n\n") {
        for line in block.lines().filter(|line| line.starts_with('#')) {
            actual.push_str(line);
            actual.push('\n');
            if let Some(counts) = line.strip_prefix("# rows ") {
                counts::set(counts);
            }
        }
        for statement in statements(block) {
            actual.push_str(&format!("> {statement}\n{}", outcome(&schema, statement)));
        }
        actual.push('\n');
    }
    counts::set("");
    let trimmed = |text: &str| text.trim_end().to_owned();
    if trimmed(golden) != trimmed(&actual) {
        let different: Vec<String> = golden
            .lines()
            .zip(actual.lines())
            .filter(|(golden, actual)| golden != actual)
            .take(1)
            .map(|(golden, actual)| format!("expected {golden}\n     got {actual}"))
            .collect();
        panic!("golden file differs:\n{}\n==== all of it ====\n{actual}==== end ====", different.join("\n"));
    }
}

#[test]
fn select_plans() {
    check_golden(include_str!("tests/select.txt"));
}

#[test]
fn joins() {
    check_golden(include_str!("tests/joins.txt"));
}

#[test]
fn join_order() {
    check_golden(include_str!("tests/join_order.txt"));
}

#[test]
fn subqueries() {
    check_golden(include_str!("tests/subqueries.txt"));
}

#[test]
fn sets() {
    check_golden(include_str!("tests/sets.txt"));
}

#[test]
fn rows() {
    check_golden(include_str!("tests/rows.txt"));
}

#[test]
fn windows() {
    check_golden(include_str!("tests/windows.txt"));
}

#[test]
fn access_paths() {
    check_golden(include_str!("tests/access.txt"));
}

#[test]
fn modifying_plans() {
    check_golden(include_str!("tests/modify.txt"));
}

#[test]
fn session_statements() {
    check_golden(include_str!("tests/session.txt"));
}

#[test]
fn ddl_requests() {
    check_golden(include_str!("tests/ddl.txt"));
}

#[test]
fn errors() {
    check_golden(include_str!("tests/errors.txt"));
}

/// The statements that drivers, tools and dumps say of their own accord.
#[test]
fn clients() {
    check_golden(include_str!("tests/clients.txt"));
}

/// The outcome of a statement where sql_mode lets in these dates.
fn outcome_with(dates: types::DateMode, statement: &str) -> String {
    let schema = schema();
    let mut typing = TypingContext::default();
    typing.sql_mode.no_zero_date = dates.no_zero_date;
    typing.sql_mode.no_zero_in_date = dates.no_zero_in_date;
    typing.sql_mode.allow_invalid_dates = dates.allow_invalid_dates;
    with_context(&schema, |context| {
        let context = BindContext { typing, ..*context };
        match prepare(statement, &context, &[]) {
            Ok(prepared) => shown(&prepared),
            Err(error) => format!("{} {}", error.code, error.message),
        }
    })
}

#[test]
fn dates_of_defaults_and_literals_are_those_that_sql_mode_lets_in() {
    use types::DateMode;
    let none = DateMode { no_zero_date: false, no_zero_in_date: false, allow_invalid_dates: false };
    let no_zero = DateMode { no_zero_date: true, ..none };
    let no_zero_part = DateMode { no_zero_in_date: true, ..none };
    let invalid = DateMode { allow_invalid_dates: true, ..none };
    let created = |sql_type: &str, default: &str, dates: DateMode| {
        let text = format!("CREATE TABLE made (a {sql_type} NOT NULL DEFAULT {default})");
        let outcome = outcome_with(dates, &text);
        let start = outcome.find("default: Literal(").map(|start| start + "default: Literal(".len());
        let value = start.and_then(|start| outcome[start..].split(", auto_increment").next());
        value.map_or(outcome.clone(), |value| value.trim_end_matches(')').to_owned())
    };
    let refused = "1067 Invalid default value for 'a'";
    for (sql_type, default, dates, expected) in [
        ("DATETIME", "'0000-00-00 00:00:00'", none, "DateTime(0000-00-00 00:00:00"),
        ("DATETIME", "'0000-00-00 00:00:00'", no_zero_part, "DateTime(0000-00-00 00:00:00"),
        ("DATETIME", "'0000-00-00 00:00:00'", no_zero, refused),
        ("TIMESTAMP", "'0000-00-00 00:00:00'", none, "DateTime(0000-00-00 00:00:00"),
        ("TIMESTAMP", "0", none, "DateTime(0000-00-00 00:00:00"),
        ("TIMESTAMP", "0", no_zero, refused),
        ("TIMESTAMP", "'2024-00-00'", invalid, refused),
        ("DATE", "'2024-00-00'", none, "Date(2024-00-00"),
        ("DATE", "'2024-00-00'", no_zero_part, refused),
        ("DATE", "'2024-02-31'", none, refused),
        ("DATE", "'2024-02-31'", invalid, "Date(2024-02-31"),
        ("DATE", "'2024-02-32'", invalid, refused),
    ] {
        assert_eq!(created(sql_type, default, dates), expected, "{sql_type} {default} {dates:?}");
    }
    let shown = |text: &str, dates: DateMode| outcome_with(dates, &format!("SELECT {text} AS a"));
    assert!(shown("DATE'0000-00-00'", none).contains("0000-00-00"));
    assert_eq!(shown("DATE'0000-00-00'", no_zero), "1525 Incorrect DATE value: '0000-00-00'");
    assert_eq!(shown("DATE'2024-01-00'", no_zero_part), "1525 Incorrect DATE value: '2024-01-00'");
    assert_eq!(
        shown("TIMESTAMP'2024-02-31 01:00:00'", none),
        "1525 Incorrect DATETIME value: '2024-02-31 01:00:00'"
    );
    assert!(shown("TIMESTAMP'2024-02-31 01:00:00'", invalid).contains("2024-02-31 01:00:00"));
}

#[test]
fn explain_tables() {
    check_golden(include_str!("tests/explain.txt"));
}

#[test]
fn a_select_list_has_as_many_items_as_a_statement_has_markers() {
    let schema = schema();
    let select = |count: usize| prepared(&schema, &format!("SELECT 1{}", ", 1".repeat(count - 1)), &[]);
    assert_eq!(select(65_535).expect("a plan").columns.len(), 65_535);
    assert_eq!(select(65_536).expect_err("one too many").code, 1117);
}

#[test]
fn items_that_are_compared_with_others_are_as_many_as_a_table_has_columns() {
    let schema = schema();
    for clause in ["GROUP BY", "ORDER BY"] {
        let text =
            |count: usize| format!("SELECT (SELECT a FROM t {clause} a{} LIMIT 1)", ", a".repeat(count - 1));
        assert!(prepared(&schema, &text(4_096), &[]).is_ok(), "{clause}");
        assert_eq!(prepared(&schema, &text(4_097), &[]).expect_err("one too many").code, 1436, "{clause}");
    }
    let variables: Vec<String> = (0..4_097).map(|number| format!("@v{number} = 1")).collect();
    let set = |count: usize| prepared(&schema, &format!("SET {}", variables[..count].join(", ")), &[]);
    assert!(set(4_096).is_ok());
    assert_eq!(set(4_097).expect_err("one too many").code, 1436);
}

#[test]
fn long_has_three_other_names() {
    let schema = schema();
    let made = |name: &str| outcome(&schema, &format!("CREATE TABLE x (a {name}, b INT)"));
    assert_eq!(made("LONG BYTE"), made("MEDIUMBLOB"));
    assert_eq!(made("LONG VARBINARY"), made("MEDIUMBLOB"));
    assert_eq!(made("LONG VARCHAR"), made("MEDIUMTEXT"));
    assert!(made("MEDIUMBLOB") != made("MEDIUMTEXT"));
}
