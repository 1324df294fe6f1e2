//! Ranges of an index that hold much of a table are read by a scan, with the same rows.

use super::chains::Stored;
use super::harness::Harness;
use super::texts;
use fixtures::{index, integer};
use std::sync::Arc;
use types::{IndexKind, TableDefinition, TableId};

const ROWS: i64 = 3_000;

/// `test.w (id INT PRIMARY KEY, k INT, v INT, KEY (k))`, k = 7 id % 3000, v = id % 10.
fn table(harness: &mut Harness) {
    let columns = ["id", "k", "v"].map(|name| fixtures::column(name, integer()));
    let mut table = fixtures::table(TableId(150), columns.to_vec());
    table.indexes.push(index(1, IndexKind::Ordered, &[1]));
    let table = TableDefinition { database: "test".to_owned(), name: "w".to_owned(), ..table };
    harness.change_schema(|schema| schema.put_table(Arc::new(table)));
    let mut stored = Stored::new(harness, TableId(150));
    (0..ROWS).for_each(|id| stored.put(&[id, id * 7 % ROWS, id % 10], true));
    harness.publish(stored.published());
}

#[test]
fn wide_ranges_are_scanned_and_narrow_ones_are_not() {
    let mut harness = Harness::with_own_rows();
    table(&mut harness);
    let client = harness.connect();
    let scan = u64::try_from(ROWS).unwrap() / 64;
    for (condition, count, is_scan) in [
        ("k >= 0", 3_000, true),
        ("k > 999", 2_000, true),
        ("k < 1000 AND v = 3", 100, true),
        ("k BETWEEN 100 AND 1099 AND v <> 3", 900, true),
        ("k < 100 OR k > 2000", 1_099, true),
        ("k > 2899", 100, false),
        ("k = 5", 1, false),
        ("k BETWEEN 10 AND 209", 200, false),
    ] {
        let before = harness.slices();
        let text = format!("SELECT COUNT(*) FROM test.w WHERE {condition}");
        assert_eq!(texts(harness.ask(client, &text)), [[count.to_string()]], "{text}");
        let slices = harness.slices() - before;
        assert_eq!(slices >= scan - 1, is_scan, "{text}: {slices} slices");
    }
    // In a join, too; in an order, or up to a limit, the index is better.
    let join = "SELECT COUNT(*) FROM test.w a JOIN test.w b ON b.id = a.k WHERE a.k > 500 AND b.v = 1";
    assert_eq!(texts(harness.ask(client, join)), [["250"]]);
    for text in [
        "SELECT k FROM test.w WHERE k > 500 LIMIT 3",
        "SELECT k FROM test.w WHERE k > 500 ORDER BY k LIMIT 3",
    ] {
        let before = harness.slices();
        assert_eq!(texts(harness.ask(client, text)), [["501"], ["502"], ["503"]], "{text}");
        assert!(harness.slices() - before < 3, "{text}");
    }
}
