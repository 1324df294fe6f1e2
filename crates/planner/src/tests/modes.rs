//! The effect of modes on statements when they are bound: padding, REAL, and functions as reserved words.

use super::{TextModes, outcome_in, schema};

#[test]
fn padding_is_seen_in_values_and_not_in_comparisons() {
    let schema = schema();
    let modes = TextModes { pad_char_to_full_length: true, ..TextModes::default() };
    let with_padding = |statement: &str| outcome_in(&schema, statement, modes);
    let plain = |statement: &str| outcome_in(&schema, statement, TextModes::default());
    let values = "SELECT id, pad, LENGTH(pad), pad LIKE 'a' FROM sbtest1";
    assert_eq!(with_padding(values).matches("rpad(pad,60,' ')").count(), 3, "{}", with_padding(values));
    assert_eq!(with_padding("SELECT * FROM sbtest1").matches("rpad").count(), 2);
    assert!(!plain(values).contains("rpad"));
    let compared = "SELECT id FROM sbtest1 WHERE pad = 'a' AND c IN ('b', 'c') ORDER BY c";
    assert_eq!(with_padding(compared), plain(compared));
    // Names and types stay.
    let names = |text: &str| {
        let columns =
            super::with_modes(&schema, modes, |context| super::prepare(text, context, &[])).unwrap().columns;
        columns.iter().map(|column| (column.name.clone(), column.sql_type.clone())).collect::<Vec<_>>()
    };
    let plain_names = super::prepared(&schema, "SELECT pad FROM sbtest1", &[]).unwrap().columns;
    assert_eq!(
        names("SELECT pad FROM sbtest1"),
        [(plain_names[0].name.clone(), plain_names[0].sql_type.clone())]
    );
}

#[test]
fn real_is_a_type_only_where_a_type_may_stand() {
    let schema = schema();
    let modes = TextModes { real_as_float: true, ..TextModes::default() };
    assert!(outcome_in(&schema, "CREATE TABLE x (a REAL)", modes).contains("Float"));
    assert!(outcome_in(&schema, "CREATE TABLE x (a REAL)", TextModes::default()).contains("Double"));
    assert_eq!(
        outcome_in(&schema, "SELECT t.real FROM t", modes),
        outcome_in(&schema, "SELECT t.real FROM t", TextModes::default())
    );
}

#[test]
fn with_ignore_space_functions_are_reserved() {
    let schema = schema();
    let modes = TextModes { ignore_space: true, ..TextModes::default() };
    assert!(outcome_in(&schema, "CREATE TABLE count (a INT)", modes).starts_with("! 1064"));
    assert!(outcome_in(&schema, "CREATE TABLE count(a INT)", TextModes::default()).starts_with("! 1064"));
    assert!(outcome_in(&schema, "CREATE TABLE count (a INT)", TextModes::default()).contains("CreateTable"));
}
