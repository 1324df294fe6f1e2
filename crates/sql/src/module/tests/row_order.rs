//! The order of rows that no ORDER BY asks for.

use super::chains::Stored;
use super::harness::{Harness, column_table};
use super::texts;
use std::sync::Arc;
use types::{TableDefinition, TableId, TableSlots};

/// A SELECT of all ids from a table with four slots that all have the same ids.
fn ids(rows: i64) -> Vec<i64> {
    let mut harness = Harness::with_own_slots(4);
    let slots = TableSlots { ranks: 4, ..TableSlots::ONE_RANK };
    harness.change_schema(|schema| schema.put_table(Arc::new(TableDefinition { slots, ..column_table() })));
    let client = harness.connect();
    let mut table = Stored::new(&harness, TableId(100));
    (0..rows).for_each(|id| table.put(&[id, 1], true));
    harness.publish(table.published());
    harness.query(client, "SELECT id FROM test.t WHERE v = 1");
    let rows = texts(harness.response(client));
    rows.iter().map(|row| row[0].parse().expect("a number")).collect()
}

#[test]
fn rows_of_a_small_table_come_in_the_order_of_its_key() {
    let ids = ids(100);
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(ids.first(), Some(&0));
    assert_eq!(ids.last(), Some(&99));
}

#[test]
fn slots_of_a_large_table_are_not_merged() {
    let ids = ids(400);
    assert!(!ids.is_sorted());
    assert!(ids[..400].is_sorted(), "a slot after the other");
}
