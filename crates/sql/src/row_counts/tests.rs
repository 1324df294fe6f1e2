use super::sampled;
use memory::{MemoryConfig, MemoryManager};
use std::sync::Arc;
use storage::{Fragment, FragmentDefinition, Visibility};
use types::{
    ColumnIndex, Epoch, IndexDefinition, IndexId, IndexKind, IndexState, KeyEncoder, KeyPart, RowLayout,
    TableDefinition, TableId, TransactionId, ValueRef,
};

const BY_K: IndexId = IndexId(1);

/// A table of a key and a column that may be NULL, with an index on it.
fn table() -> TableDefinition {
    let columns = ["id", "k"].map(|name| fixtures::column(name, fixtures::integer()));
    let mut table = fixtures::table(TableId(1), columns.to_vec());
    table.columns[1].flags.nullable = true;
    table.indexes.push(IndexDefinition {
        id: BY_K,
        name: "by_k".to_owned(),
        kind: IndexKind::Ordered,
        parts: vec![KeyPart { column: ColumnIndex(1), prefix_length: None, descending: false }],
        state: IndexState::Public,
    });
    table
}

/// Entries for each value of `k` in a sample of rows with these values.
fn sample_of(values: impl Iterator<Item = Option<i64>>) -> Option<f64> {
    let table = Arc::new(table());
    let layout = RowLayout::new(&table.columns);
    let primary = KeyEncoder::new(&table, table.primary_key());
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let mut fragment = Fragment::new(Arc::new(FragmentDefinition::new(&table)), memory);
    for (id, k) in (0..).zip(values) {
        let row = [ValueRef::Int(id), k.map_or(ValueRef::Null, ValueRef::Int)];
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        primary.encode_values(&row[..1], &mut key);
        layout.encode(&row, &mut bytes);
        let handle = fragment.stage(&key, TransactionId(1), Some(&bytes)).unwrap();
        fragment.commit(handle, TransactionId(1), Epoch(1));
    }
    let parts = &table.index(BY_K).unwrap().parts;
    sampled((&fragment.reader(), Visibility::Stale), BY_K, &KeyEncoder::new(&table, parts), parts, &layout)
}

#[test]
fn a_sample_counts_entries_for_each_value_without_nulls() {
    assert_eq!(sample_of((0..1_000).map(Some)), Some(1.0));
    assert_eq!(sample_of((0..1_000).map(|k| Some(k / 20))), Some(20.0));
    // One value of all that is looked at: how many more there are is a guess.
    assert_eq!(sample_of((0..1_000).map(|_| Some(7))), Some(250.0));
    assert_eq!(sample_of((0..1_000).map(|k| (k < 40).then_some(k / 4))), Some(4.0));
    assert_eq!(sample_of((0..1_000).map(|_| None)), None);
    assert_eq!(sample_of(std::iter::empty()), None);
}
