use super::{append_ranges, fit, merged};
use expression::{Context, Expression};
use fixtures::{column, index, integer, nullable};
use planner::plan::{Inclusive, RangeTemplate};
use protocol::program::KeyRange;
use std::cmp::Ordering;
use std::ops::Bound;
use types::{
    Decimal, IndexKind, IntegerWidth, KeyEncoder, SqlType, TableDefinition, TableId, Value, ValueRef,
};

fn table() -> TableDefinition {
    let mut backward = index(2, IndexKind::Ordered, &[1]);
    backward.parts[0].descending = true;
    let columns = vec![column("id", integer()), nullable("a", integer()), nullable("b", integer())];
    let indexes = vec![index(0, IndexKind::Primary, &[0]), index(1, IndexKind::Ordered, &[1, 2]), backward];
    TableDefinition { indexes, ..fixtures::table(TableId(100), columns) }
}

/// Which values of the index's first column are in the ranges of `template`.
fn found(index: usize, template: &RangeTemplate) -> Vec<Option<i64>> {
    let table = table();
    let parts = &table.indexes[index].parts;
    let encoder = KeyEncoder::new(&table, parts);
    let mut ranges = Vec::new();
    append_ranges(template, &table, parts, &encoder, &Context::default(), &mut Vec::new(), &mut ranges)
        .expect("constants evaluate");
    let ranges = merged(ranges);
    let candidates = [None, Some(-5), Some(0), Some(1), Some(2), Some(3), Some(i64::from(i32::MAX))];
    candidates
        .into_iter()
        .filter(|candidate| ranges.iter().any(|range| contains(range, &key(&encoder, *candidate))))
        .collect()
}

fn key(encoder: &KeyEncoder, first: Option<i64>) -> Vec<u8> {
    let mut key = Vec::new();
    let first = first.map_or(ValueRef::Null, ValueRef::Int);
    let values = [first, ValueRef::Int(7)];
    encoder.encode_values(&values[..encoder.part_count()], &mut key);
    key
}

fn contains(range: &KeyRange, key: &[u8]) -> bool {
    let above = match &range.lower {
        Bound::Unbounded => true,
        Bound::Included(bound) => key >= &**bound,
        Bound::Excluded(bound) => key > &**bound,
    };
    let below = match &range.upper {
        Bound::Unbounded => true,
        Bound::Included(bound) => key <= &**bound,
        Bound::Excluded(bound) => key < &**bound,
    };
    above && below
}

fn bounds(
    lower: Option<(Expression, Inclusive)>,
    upper: Option<(Expression, Inclusive)>,
    with_null: bool,
) -> RangeTemplate {
    RangeTemplate { equal: Vec::new(), lower, upper, with_null }
}

#[test]
fn bounds_leave_null_out_unless_it_is_wanted() {
    let upper = || Some((Expression::integer(1), Inclusive::Yes));
    for index in [1, 2] {
        assert_eq!(found(index, &bounds(None, upper(), false)), vec![Some(-5), Some(0), Some(1)]);
        assert_eq!(found(index, &bounds(None, upper(), true)), vec![None, Some(-5), Some(0), Some(1)]);
        let lower = Some((Expression::integer(1), Inclusive::No));
        assert_eq!(
            found(index, &bounds(lower, None, false)),
            vec![Some(2), Some(3), Some(i64::from(i32::MAX))]
        );
        assert_eq!(found(index, &bounds(None, None, true)), vec![None]);
        assert_eq!(found(index, &RangeTemplate::default()).len(), 7);
    }
}

#[test]
fn bounds_that_the_type_cannot_hold_move_to_the_nearest_value() {
    let decimal = |text: &str| {
        let (decimal, _) = Decimal::parse(text.as_bytes()).expect("a decimal");
        Expression::decimal(decimal)
    };
    let above = |text| bounds(Some((decimal(text), Inclusive::No)), None, false);
    let below = |text| bounds(None, Some((decimal(text), Inclusive::No)), false);
    for index in [1, 2] {
        assert_eq!(found(index, &above("1.5")), vec![Some(2), Some(3), Some(i64::from(i32::MAX))]);
        assert_eq!(found(index, &above("1.4")), vec![Some(2), Some(3), Some(i64::from(i32::MAX))]);
        assert_eq!(found(index, &below("1.5")), vec![Some(-5), Some(0), Some(1)]);
        let huge = bounds(Some((Expression::integer(1 << 40), Inclusive::Yes)), None, false);
        assert_eq!(found(index, &huge), Vec::<Option<i64>>::new());
        let all = bounds(None, Some((Expression::integer(1 << 40), Inclusive::No)), false);
        assert_eq!(found(index, &all).len(), 6);
    }
}

#[test]
fn equal_columns_that_cannot_match_find_nothing() {
    let equal = |expression| RangeTemplate { equal: vec![expression], ..RangeTemplate::default() };
    assert_eq!(found(1, &equal(Expression::integer(2))), vec![Some(2)]);
    assert!(found(1, &equal(Expression::null())).is_empty());
    assert!(found(1, &equal(Expression::integer(1 << 40))).is_empty());
}

#[test]
fn overlapping_ranges_become_one() {
    let range = |lower: u8, upper: u8| KeyRange {
        lower: Bound::Included(vec![lower].into()),
        upper: Bound::Excluded(vec![upper].into()),
    };
    assert_eq!(
        merged(vec![range(5, 9), range(1, 3), range(2, 4), range(7, 7)]),
        vec![range(1, 4), range(5, 9)]
    );
    assert_eq!(merged(vec![range(1, 3), KeyRange::all()]), vec![KeyRange::all()]);
}

#[test]
fn values_say_how_they_fit() {
    let tiny = column("t", SqlType::Integer { width: IntegerWidth::Tiny, unsigned: true });
    let fitted = fit(Value::Int(300), &integer(), &tiny, 0);
    assert_eq!((fitted.value, fitted.order), (Value::UInt(255), Ordering::Less));
    let fitted = fit(Value::Int(-1), &integer(), &tiny, 0);
    assert_eq!((fitted.value, fitted.order), (Value::UInt(0), Ordering::Greater));
    let fitted = fit(Value::Int(7), &integer(), &tiny, 0);
    assert_eq!((fitted.value, fitted.order), (Value::UInt(7), Ordering::Equal));
}

/// `DELETE … WHERE a = 0.001` once found the row with `a` 0: a constant with a fraction is the key of no integer.
#[test]
fn fractions_are_rounded_and_say_so() {
    let number = column("n", integer());
    let order = |text: &str| {
        let (decimal, _) = Decimal::parse(text.as_bytes()).expect("a number");
        let from =
            SqlType::Decimal { precision: decimal.precision(), scale: decimal.scale(), unsigned: false };
        fit(Value::Decimal(Box::new(decimal)), &from, &number, 0).order
    };
    assert_eq!(order("0.001"), Ordering::Less);
    assert_eq!(order("1.5"), Ordering::Greater);
    assert_eq!(order("-0.4"), Ordering::Greater);
    assert_eq!(order("1.00"), Ordering::Equal);
    assert_eq!(fit(Value::Double(0.6), &SqlType::Double, &number, 0).order, Ordering::Greater);
}

/// `id = 1e1`, `id = '10x'` and `double_column = 10` find their rows.
#[test]
fn exact_numbers_and_doubles_that_are_equal_fit() {
    let (number, double) = (column("n", integer()), column("f", SqlType::Double));
    let fitted = fit(Value::Double(10.0), &SqlType::Double, &number, 0);
    assert_eq!((fitted.value, fitted.order), (Value::Int(10), Ordering::Equal));
    let fitted = fit(Value::Int(10), &integer(), &double, 0);
    assert_eq!((fitted.value, fitted.order), (Value::Double(10.0), Ordering::Equal));
}
