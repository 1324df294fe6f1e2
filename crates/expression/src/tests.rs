//! Tests: tables of SQL texts and what MySQL 8 gives for them (`tests/*.txt`), random trees that must not panic, wire
//! forms, aggregates and the shapes that the planner relies on.

mod aggregates;
mod numbers;
mod parser;
mod random;
mod shapes;

use crate::*;
use parser::{columns, parse};
use stdx::WallTime;
use types::Value;

/// 2024-03-01 10:20:30.456789 UTC; the session is two hours east.
pub(super) fn context() -> Context<'static> {
    Context {
        now: WallTime(1_709_288_430_456_789),
        time_zone_offset_seconds: 7_200,
        connection_id: 42,
        database: Some("test"),
        user: "root@localhost",
        ..Context::default()
    }
}

pub(super) fn row() -> Vec<Value> {
    columns().into_iter().map(|(_, _, value)| value).collect()
}

/// The value as the client sees it, or the error; warnings behind it by their codes.
fn shown(text: &str) -> String {
    let context = context();
    let expression = match parse(text) {
        Ok(expression) => expression,
        Err(error) => return format!("error {}", error.code()),
    };
    let row = row();
    let mut result = match expression.evaluate(&row, &context) {
        Err(error) => return format!("error {}", error.code),
        Ok(Value::Null) => "NULL".to_owned(),
        Ok(value) => {
            let value = match (&expression.sql_type, value) {
                // The session shows TIMESTAMPs in its time zone.
                (types::SqlType::Timestamp { .. }, Value::DateTime(utc)) => {
                    Value::DateTime(crate::conversion::shifted(utc, 7_200).unwrap())
                }
                (_, value) => value,
            };
            let mut bytes = Vec::new();
            types::format_text(value.as_ref(), &expression.sql_type, &mut bytes);
            escaped(&String::from_utf8_lossy(&bytes))
        }
    };
    let folded = fold_constants(&expression, &crate::tests::context());
    let again = folded.evaluate(&row, &crate::tests::context());
    assert_eq!(again, expression.evaluate(&row, &crate::tests::context()), "{text} folded to {folded}");
    for warning in context.warnings.take() {
        result += &format!(" !{}", warning.code);
    }
    result
}

fn check_table(name: &str, table: &str) {
    let mut wrong = Vec::new();
    for line in table.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (text, expected) = line.rsplit_once(" =>").unwrap_or_else(|| panic!("{name}: no => in {line}"));
        let result = shown(text.trim());
        if result.trim_end() != expected.trim() {
            wrong.push(format!("{text} => {result}   (expected {expected})"));
        }
    }
    assert!(wrong.is_empty(), "{name}: {} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn operators_give_what_mysql_gives() {
    check_table("operators", include_str!("tests/operators.txt"));
}

#[test]
fn mixed_expressions_give_what_mysql_gives() {
    check_table("mixed", include_str!("tests/mixed.txt"));
}

#[test]
fn conversions_give_what_mysql_gives() {
    check_table("conversions", include_str!("tests/conversions.txt"));
}

#[test]
fn numeric_functions_give_what_mysql_gives() {
    check_table("numeric", include_str!("tests/numeric.txt"));
}

#[test]
fn text_functions_give_what_mysql_gives() {
    check_table("text", include_str!("tests/text.txt"));
}

#[test]
fn patterns_and_uuids_give_what_mysql_gives() {
    check_table("patterns", include_str!("tests/patterns.txt"));
}

#[test]
fn temporal_functions_give_what_mysql_gives() {
    check_table("temporal", include_str!("tests/temporal.txt"));
}

/// Control characters and backslashes as the `mysql` client shows them.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\0', "\\0")
}
