//! The tables that a plan was bound to, and the schemas that it fits.

use super::surroundings::schema;
use super::{Prepared, prepared};
use std::sync::Arc;
use types::{Schema, TableDefinition};

fn bound_to(schema: &Schema, text: &str) -> Option<Vec<String>> {
    let prepared = prepared(schema, text, &[]).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    prepared.tables.map(|tables| tables.iter().map(|table| table.name.clone()).collect())
}

#[test]
fn a_plan_lists_the_tables_that_it_was_bound_to() {
    let schema = schema();
    for (text, expected) in [
        ("SELECT a FROM t WHERE id = 1", Some(vec!["t"])),
        ("SELECT COUNT(*) FROM d.n", Some(vec!["n"])),
        ("INSERT INTO p VALUES (1, 2, 3)", Some(vec!["p"])),
        ("UPDATE t SET a = 1", Some(vec!["t"])),
        ("DELETE FROM n", Some(vec!["n"])),
        ("EXPLAIN SELECT a FROM t", Some(vec!["t"])),
        ("SELECT 1", Some(vec![])),
        ("SHOW TABLES", None),
        ("USE other", None),
        ("DROP TABLE t", None),
    ] {
        let expected = expected.map(|names| names.into_iter().map(str::to_owned).collect());
        assert_eq!(bound_to(&schema, text), expected, "{text}");
    }
}

#[test]
fn a_plan_fits_every_schema_with_the_same_tables() {
    let schema = schema();
    let plan = prepared(&schema, "SELECT a FROM t", &[]).unwrap();
    let shown = prepared(&schema, "SHOW TABLES", &[]).unwrap();
    let newer = |change: &dyn Fn(&mut Schema)| {
        let mut newer = schema.clone();
        newer.version.0 += 1;
        change(&mut newer);
        newer
    };
    let changed = |name: &str| {
        let table = schema.table("d", name).expect("a table");
        Arc::new(TableDefinition { version: table.version + 1, ..TableDefinition::clone(table) })
    };
    let fits = |prepared: &Prepared, change: &dyn Fn(&mut Schema)| prepared.fits(&newer(change));
    assert!(plan.fits(&schema) && shown.fits(&schema));
    assert!(fits(&plan, &|schema| schema.put_table(changed("n"))));
    assert!(!fits(&plan, &|schema| schema.put_table(changed("t"))));
    assert!(!fits(&plan, &|schema| schema.remove_table(changed("t").id)));
    assert!(!fits(&shown, &|_| {}), "it depends on all tables");
}
