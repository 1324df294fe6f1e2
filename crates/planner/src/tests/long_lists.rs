//! Statements as long as they may be. Where a clause were compared item by item with another, each would take minutes.

use super::{on_a_worker_stack, surroundings, with_context};
use crate::plan::{DdlPlan, Plan};
use crate::prepare;
use catalogue::DdlRequest;
use std::sync::Arc;
use surroundings::{definition, schema};
use types::{Schema, TableId};

/// So many items, made of their numbers.
fn list(count: usize, separator: &str, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

/// The test schema with `wide`, a table of 4 001 columns, and `keys`, one of 40 indexes.
fn wide_schema() -> Schema {
    let mut schema = schema();
    let wide =
        format!("CREATE TABLE wide (id INT PRIMARY KEY, {})", list(4_000, ", ", |n| format!("c{n} INT")));
    let keys = list(40, ", ", |n| format!("KEY k{n} (a, c{n})"));
    let columns = list(40, ", ", |n| format!("c{n} INT"));
    let keys = format!("CREATE TABLE `keys` (id INT PRIMARY KEY, a INT, {columns}, {keys})");
    for (number, text) in [wide, keys].into_iter().enumerate() {
        let plan = with_context(&schema, |context| prepare(&text, context, &[])).unwrap().plan;
        let Plan::Ddl(ddl) = plan else { panic!("no DDL") };
        let DdlPlan { request: DdlRequest::CreateTable(create), .. } = *ddl else { panic!("no table") };
        schema.put_table(Arc::new(definition(&create, TableId(900 + u32::try_from(number).unwrap()))));
    }
    schema
}

/// Each statement is bound, or refused with its error.
fn check(statements: &[(&str, String)]) {
    let schema = wide_schema();
    for (expected, text) in statements {
        let bound = with_context(&schema, |context| prepare(text, context, &[]));
        let outcome = match bound {
            Ok(_) => "bound".to_owned(),
            Err(error) => format!("{} {}", error.code, error.message),
        };
        assert!(outcome.starts_with(expected), "{outcome}: {}", &text[..text.len().min(200)]);
    }
}

#[test]
fn items_are_found_among_many() {
    on_a_worker_stack(|| {
        let items = |count: usize| list(count, ", ", |n| format!("a + {n}"));
        let named = |count: usize| list(count, ", ", |n| format!("a + {n} AS x{n}"));
        let names = |count: usize| list(4_096, ", ", move |n| format!("x{}", count - 1 - n));
        check(&[
            ("1055 ", format!("SELECT {} FROM t GROUP BY {}", items(20_000), items(4_096))),
            (
                "bound",
                format!(
                    "SELECT {} FROM t GROUP BY a, {}",
                    items(20_000),
                    list(4_000, ",", |n| { format!("a - {n}") })
                ),
            ),
            ("bound", format!("SELECT {} FROM t GROUP BY {} WITH ROLLUP", items(4_096), items(4_096))),
            ("bound", format!("SELECT {} FROM t", list(20_000, ", ", |n| format!("SUM(a + {n})")))),
            ("bound", format!("SELECT DISTINCT {} FROM t ORDER BY {}", items(20_000), items(4_096))),
            ("bound", format!("SELECT {} FROM t ORDER BY {}", named(20_000), names(20_000))),
            ("1055 ", format!("SELECT {} FROM t GROUP BY {}", named(20_000), names(20_000))),
            (
                "bound",
                format!(
                    "SELECT {}, a FROM t HAVING a IN ({})",
                    items(20_000),
                    list(50_000, ",", |_| "a".into())
                ),
            ),
        ]);
    });
}

#[test]
fn columns_are_found_among_many() {
    on_a_worker_stack(|| {
        let natural = "(SELECT 1 FROM wide a NATURAL JOIN wide b NATURAL JOIN wide c LIMIT 1)".to_owned();
        let last = |count: usize| list(count, ", ", |n| format!("c{}", 3_999 - n % 50));
        let equalities = list(1_990, " AND ", |n| format!("c{} = c{}", 3_999 - n, 3_998 - n));
        check(&[
            ("bound", format!("SELECT {natural}, {natural}")),
            (
                "bound",
                format!(
                    "SELECT {} FROM wide x JOIN wide y USING ({})",
                    last(20_000),
                    list(4_000, ", ", |n| format!("c{n}"))
                ),
            ),
            ("bound", format!("SELECT {} FROM wide", last(30_000))),
            (
                "bound",
                format!(
                    "SELECT {} FROM (SELECT {}) AS d",
                    last(20_000),
                    list(16_000, ", ", |n| format!("1 AS c{n}"))
                ),
            ),
            ("1055 ", format!("SELECT c3999, c0 FROM wide WHERE {equalities} GROUP BY c3999")),
            ("bound", format!("SELECT c3999, c2500 FROM wide WHERE {equalities} GROUP BY c3000")),
        ]);
    });
}

#[test]
fn variables_and_aliases_are_found_among_many() {
    on_a_worker_stack(|| {
        check(&[
            ("bound", format!("SELECT {}", list(20_000, ", ", |n| format!("@x{n} := {n}")))),
            ("1390 ", format!("SELECT 1 IN ({})", list(100_000, ", ", |n| format!("@x{n}")))),
            ("bound", format!("LOCK TABLES {}", list(50_000, ", ", |n| format!("t AS t{n} READ")))),
        ]);
    });
}

#[test]
fn one_index_is_chosen_for_many_values() {
    on_a_worker_stack(|| {
        let values = list(100_000, ", ", |n| n.to_string());
        check(&[
            ("bound", format!("SELECT COUNT(*) FROM `keys` WHERE a IN ({values})")),
            ("bound", format!("DELETE FROM `keys` WHERE a IN ({values}) AND c0 = 1")),
        ]);
    });
}

#[test]
fn what_a_statement_makes_is_limited() {
    on_a_worker_stack(|| {
        let checks = |count: usize| list(count, ", ", |n| format!("CHECK (a <> {n})"));
        let added = |count: usize| list(count, ", ", |n| format!("ADD CHECK (a <> {n})"));
        let patterns = |count: usize| list(count, ", ", |n| format!("c REGEXP '\\\\w{{12}}{n}'"));
        let generated = list(4_000, ", ", |n| format!("g{} INT AS (g{n} + 1)", n + 1));
        check(&[
            ("bound", format!("CREATE TABLE x (a INT, {})", checks(1_024))),
            ("1436 ", format!("CREATE TABLE x (a INT, {})", checks(1_025))),
            ("bound", format!("ALTER TABLE t {}", added(1_024))),
            ("1436 ", format!("ALTER TABLE t {}", added(1_025))),
            ("1436 ", format!("ALTER TABLE t {}", list(4_097, ", ", |n| format!("COMMENT = '{n}'")))),
            ("bound", format!("CREATE TABLE x (g0 INT, {generated})")),
            ("1117 ", format!("CREATE TABLE x ({})", list(50_000, ", ", |n| format!("c{n} INT")))),
            (
                "1436 ",
                format!(
                    "INSERT INTO t (id, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE {}",
                    list(4_097, ", ", |n| format!("b = {n}"))
                ),
            ),
            ("bound", format!("SELECT {} FROM t", patterns(20))),
            ("1436 ", format!("SELECT {} FROM t", patterns(100))),
        ]);
    });
}
