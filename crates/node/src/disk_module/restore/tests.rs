//! Entries become rows of the tables that the catalogue among them has.

use super::*;
use catalogue::SchemaChange;
use durability::Entry;
use fixtures::{column, index, integer};
use memory::MemoryConfig;
use types::{
    Collation, Database, Epoch, IndexId, IndexKind, KeyEncoder, RowLayout, TableDefinition, ValueRef,
};

pub(in crate::disk_module) const SHOP: TableId = TableId(100);
const SLOT: SlotId = SlotId(3);

fn loader() -> Loader {
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(16 << 20));
    loader_of_system(&memory, Shares { ldms: 1, replicas: 1 })
}

fn give(loader: &mut Loader, table: TableId, slot: SlotId, epoch: u64, key: &[u8], row: Option<&[u8]>) {
    let entry = Entry { slot, table, epoch: Epoch(epoch), key, row };
    loader.take(vec![(Position(1), entry)]).expect("memory");
}

/// A cluster's first rows, and a table with an index on its second column. `give` gets tables, epochs, keys and rows.
pub(in crate::disk_module) fn with_table(
    mut give: impl FnMut(TableId, u64, &[u8], Option<&[u8]>),
) -> TableDefinition {
    for write in catalogue::bootstrap_rows() {
        give(write.table, 1, &write.key, write.row.as_deref());
    }
    let mut table = fixtures::table(SHOP, vec![column("id", integer()), column("k", integer())]);
    table.indexes.push(index(1, IndexKind::Ordered, &[1]));
    let database = Database { name: table.database.clone(), collation: Collation::Binary };
    for change in [SchemaChange::PutDatabase(database), SchemaChange::PutTable(table.clone())] {
        let write = change.write(&SystemTables::new());
        give(write.table, 5, &write.key, write.row.as_deref());
    }
    table
}

fn with_catalogue(loader: &mut Loader) -> TableDefinition {
    with_table(|table, epoch, key, row| give(loader, table, SlotId(0), epoch, key, row))
}

/// Key and row of a row of that table.
pub(in crate::disk_module) fn row(table: &TableDefinition, id: i64, k: i64) -> (Vec<u8>, Vec<u8>) {
    let layout = RowLayout::of_table(table);
    let (mut key, mut row) = (Vec::new(), Vec::new());
    layout.encode(&[ValueRef::Int(id), ValueRef::Int(k)], &mut row);
    KeyEncoder::new(table, table.primary_key()).encode_row(&layout, &row, &mut key);
    (key, row)
}

fn built(mut loader: Loader) -> (Schema, Vec<RestoredFragment>) {
    let schema = read_catalogue(&loader).expect("a catalogue");
    loader.define(&schema);
    loop {
        if let Some(fragments) = loader.index().expect("memory") {
            return (schema, fragments);
        }
    }
}

#[test]
fn the_entry_with_the_higher_epoch_counts_and_of_two_the_later_one() {
    let mut loader = loader();
    let table = with_catalogue(&mut loader);
    let rows: Vec<_> = (1..5).map(|id| row(&table, id, id * 10)).collect();
    let [kept, older, gone, back] = &rows[..] else { panic!("four rows") };
    give(&mut loader, SHOP, SLOT, 7, &kept.0, Some(&kept.1));
    give(&mut loader, SHOP, SLOT, 6, &kept.0, None);
    give(&mut loader, SHOP, SLOT, 6, &kept.0, Some(&row(&table, 1, 99).1));
    give(&mut loader, SHOP, SLOT, 6, &older.0, Some(&row(&table, 2, 99).1));
    give(&mut loader, SHOP, SLOT, 6, &older.0, Some(&older.1));
    give(&mut loader, SHOP, SLOT, 6, &gone.0, Some(&gone.1));
    give(&mut loader, SHOP, SLOT, 6, &gone.0, None);
    give(&mut loader, SHOP, SLOT, 6, &back.0, None);
    give(&mut loader, SHOP, SLOT, 8, &back.0, Some(&back.1));
    let (_, fragments) = built(loader);
    let shop = fragments.iter().find(|restored| restored.table == SHOP).expect("the table");
    assert_eq!(shop.slot, SLOT);
    let found: Vec<_> = rows.iter().map(|(key, _)| shop.fragment.committed(key)).collect();
    let expected = [(7, "kept"), (6, "older"), (0, "gone"), (8, "back")];
    for ((found, (_, row)), (epoch, name)) in found.into_iter().zip(&rows).zip(expected) {
        let expected = (epoch > 0).then_some((Epoch(epoch), Some(row.as_slice())));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn rows_of_tables_that_are_gone_go_and_the_others_get_their_indexes() {
    let mut loader = loader();
    let table = with_catalogue(&mut loader);
    for id in 0..3_000 {
        let (key, row) = row(&table, id, id % 7);
        give(&mut loader, SHOP, SLOT, 6, &key, Some(&row));
    }
    give(&mut loader, TableId(101), SLOT, 6, b"key", Some(b"row"));
    let (schema, fragments) = built(loader);
    assert!(schema.tables().contains_key(SHOP));
    let tables: Vec<TableId> = fragments.iter().map(|restored| restored.table).collect();
    assert!(tables.contains(&SHOP) && !tables.contains(&TableId(101)), "{tables:?}");
    let shop = fragments.iter().find(|restored| restored.table == SHOP).expect("the table");
    let (reader, guard) = (shop.fragment.reader(), Guard::enter());
    let bounds = storage::KeyBounds { lower: std::ops::Bound::Unbounded, upper: std::ops::Bound::Unbounded };
    let by_k =
        reader.scan(&guard, IndexId(1), bounds, storage::Direction::Forward, storage::Visibility::Committed);
    assert_eq!(by_k.expect("the index").count(), 3_000);
}

#[test]
fn a_log_without_a_catalogue_is_refused() {
    let failure = read_catalogue(&loader()).expect_err("no catalogue");
    assert_eq!(failure, "the system tables lack their version");
}
