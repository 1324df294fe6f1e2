use super::Part;
use executor::access::ranges_of;
use expression::{ColumnSlot, Comparison, Context, Expression};
use memory::{MemoryConfig, MemoryManager};
use planner::plan::{Inclusive, RangeTemplate};
use query::TableAccessInfo;
use std::sync::Arc;
use stdx::IdRange;
use storage::{Fragment, FragmentDefinition, Visibility};
use types::{
    ColumnIndex, Epoch, IndexDefinition, IndexId, IndexKind, IndexState, KeyEncoder, KeyPart, RowLayout,
    SlotTerms, TableDefinition, TableId, TransactionId, Value, ValueRef,
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

/// Rows with these values of `k`, and 0, 1, 2, … as their keys.
fn fragment_of(table: &Arc<TableDefinition>, values: impl Iterator<Item = Option<i64>>) -> Fragment {
    let layout = RowLayout::new(&table.columns);
    let primary = KeyEncoder::new(table, table.primary_key());
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let mut fragment = Fragment::new(Arc::new(FragmentDefinition::new(table)), memory);
    for (id, k) in (0..).zip(values) {
        let row = [ValueRef::Int(id), k.map_or(ValueRef::Null, ValueRef::Int)];
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        primary.encode_values(&row[..1], &mut key);
        layout.encode(&row, &mut bytes);
        let handle = fragment.stage(&key, TransactionId(1), Some(&bytes)).unwrap();
        fragment.commit(handle, TransactionId(1), Epoch(1));
    }
    fragment
}

/// Tests a part of a table of rows with these values of `k`.
fn with_values(values: impl Iterator<Item = Option<i64>>, test: impl FnOnce(&Part<'_>)) {
    let table = Arc::new(table());
    let fragment = fragment_of(&table, values);
    let info = TableAccessInfo::new(&table, SlotTerms::default(), Arc::<IdRange>::default());
    let reader = fragment.reader();
    test(&Part { info: &info, reader: &reader, visibility: Visibility::Stale, part_count: 1 });
}

/// Entries for each value of `k` in rows with these values.
fn sample_of(values: impl Iterator<Item = Option<i64>>) -> Option<f64> {
    let mut entries = None;
    with_values(values, |part| {
        let parts = &part.info.definition.index(BY_K).unwrap().parts;
        entries = part.entries_per_value(BY_K, part.info.index(BY_K).unwrap(), parts);
    });
    entries
}

#[test]
fn entries_for_each_value_are_counted_without_nulls() {
    assert_eq!(sample_of((0..1_000).map(Some)), Some(1.0));
    assert!(is_about(sample_of((0..1_000).map(|k| Some(k / 5))), 5.0));
    assert_eq!(sample_of((0..100_000).map(|k| Some(k / 5))), Some(5.0));
    // The sample has more of these rows than of those with NULL.
    let with_nulls = sample_of((0..1_000).map(|k| (k < 40).then_some(k / 4)));
    assert!(with_nulls.is_some_and(|entries| (3.0..8.0).contains(&entries)), "{with_nulls:?}");
    assert_eq!(sample_of((0..1_000).map(|_| Some(7))), Some(1_000.0));
    assert_eq!(sample_of((0..1_000).map(|_| None)), None);
    assert_eq!(sample_of(std::iter::empty()), None);
    // Many for each value: the index's end shows one value only, or a part of it.
    assert!(is_about(sample_of((0..10_000).map(|k| Some(k / 50))), 50.0));
    assert!(is_about(sample_of((0..10_000).map(|k| Some(k / 500))), 500.0));
    // The values at the end are rare ones: most rows have one of the first hundred of three hundred.
    let skewed = (0..9_000).map(|k| Some(if k < 8_600 { k % 100 } else { 100 + k % 200 }));
    assert!(sample_of(skewed).is_some_and(|entries| (30.0..90.0).contains(&entries)));
    // The last value is an exception.
    assert!(sample_of((0..10_000).map(|k| Some(k.min(9_000)))).is_some_and(|entries| entries < 120.0));
}

/// Tests a part of a table whose row number n has n / 10 in `k`.
fn with_part(rows: i64, test: impl FnOnce(&Part<'_>)) {
    with_values((0..rows).map(|id| Some(id / 10)), test);
}

fn compared(column: u16, comparison: Comparison, parameter: u16) -> Expression {
    let column = Expression::column(ColumnSlot(column), fixtures::integer(), true);
    Expression::compare(comparison, column, Expression::parameter(parameter, fixtures::integer())).unwrap()
}

fn is_about(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (expected * 0.75..expected * 1.25).contains(&found))
}

#[test]
fn conditions_are_evaluated_on_a_sample_with_the_values_at_hand() {
    let below = |number| [Value::Int(number)];
    let share = |part: &Part<'_>, conditions: &[Expression], values: &[Value]| {
        part.share_of(conditions, &Context { parameters: values, ..Context::default() })
    };
    with_part(10_000, |part| {
        let is_below = compared(0, Comparison::Less, 0);
        assert!(is_about(share(part, std::slice::from_ref(&is_below), &below(5_000)), 0.5));
        assert!(is_about(share(part, std::slice::from_ref(&is_below), &below(2_000)), 0.2));
        assert_eq!(share(part, std::slice::from_ref(&is_below), &below(10_000)), Some(1.0));
        // None of the sample: half a row of it.
        assert_eq!(share(part, std::slice::from_ref(&is_below), &below(0)), Some(0.5 / 256.0));
        // The second says nothing that the first does not say; two that no row passes are multiplied.
        let is_low = compared(1, Comparison::Less, 1);
        let values = [Value::Int(5_000), Value::Int(500)];
        assert!(is_about(share(part, &[is_below, is_low], &values), 0.5));
        let never = [compared(0, Comparison::Equal, 0), compared(1, Comparison::Equal, 1)];
        let few = share(part, &never, &[Value::Int(-1), Value::Int(-1)]);
        assert_eq!(few, Some(0.5 / 256.0 * 0.5 / 256.0));
    });
    with_part(40, |part| {
        assert_eq!(share(part, &[compared(0, Comparison::Equal, 0)], &below(7)), Some(1.0 / 40.0));
    });
    with_part(0, |part| assert_eq!(share(part, &[compared(0, Comparison::Less, 0)], &below(7)), None));
}

#[test]
fn short_ranges_are_counted_and_long_ones_sampled() {
    let template = |low: i64, high: i64| RangeTemplate {
        lower: Some((Expression::integer(low), Inclusive::Yes)),
        upper: Some((Expression::integer(high), Inclusive::No)),
        ..RangeTemplate::default()
    };
    with_part(10_000, |part| {
        let entries = |index, templates: &[RangeTemplate]| {
            let ranges = ranges_of(templates, part.info, index, &Context::default()).unwrap();
            part.entries(index, &ranges)
        };
        assert_eq!(entries(BY_K, &[template(5, 8)]), Some(30.0));
        assert_eq!(entries(BY_K, &[template(5, 8), template(100, 101)]), Some(40.0));
        assert_eq!(entries(BY_K, &[template(2_000, 3_000)]), Some(0.0));
        assert_eq!(entries(IndexId(0), &[template(50, 60)]), Some(10.0));
        assert!(is_about(entries(BY_K, &[template(0, 500)]), 5_000.0));
        assert!(is_about(entries(IndexId(0), &[template(0, 2_000), template(8_000, 9_000)]), 3_000.0));
        // The index was dropped meanwhile.
        assert_eq!(part.entries(IndexId(9), &[]), None);
    });
}
