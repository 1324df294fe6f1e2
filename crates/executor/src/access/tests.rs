use super::{append_ranges, fit, merged};
use expression::context::ColumnSlot;
use expression::{Comparison, Context, Domain, Expression, Node};
use fixtures::{column, index, integer, nullable};
use planner::plan::{Inclusive, RangeTemplate};
use protocol::program::KeyRange;
use std::cmp::Ordering;
use std::ops::Bound;
use types::{
    Collation, Date, DateTime, Decimal, IndexKind, IntegerWidth, KeyEncoder, SqlType, TableDefinition,
    TableId, Time, Value, ValueRef,
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

/// Values that columns of a type can hold, the ends among them.
fn held() -> Vec<(SqlType, Vec<Value>)> {
    let uints = |numbers: &[u64]| numbers.iter().copied().map(Value::UInt).collect::<Vec<_>>();
    let dates =
        [(0, 0, 0), (2024, 0, 0), (2024, 2, 29), (2024, 2, 31), (2024, 12, 31), (2025, 1, 1), (9999, 12, 31)];
    let dates = dates.map(|(year, month, day)| Date::written(year, month, day).expect("a date"));
    let moments: Vec<DateTime> = dates
        .iter()
        .flat_map(|date| [(0, 0, 0, 0), (9, 5, 0, 0), (23, 59, 59, 999_999)].map(|at| (*date, at)))
        .map(|(date, (hour, minute, second, microsecond))| {
            DateTime::new(date, hour, minute, second, microsecond).expect("a moment")
        })
        .collect();
    let times = [-3_020_399, -236_000, -1, 0, 1, 36_000, 86_399, 86_400, 3_020_399];
    let times =
        times.map(|seconds| Value::Time(Time::from_microseconds(seconds * 1_000_000).expect("a time")));
    let members = std::sync::Arc::new(["a", "b", "c"].map(str::to_owned).to_vec());
    let collation = Collation::Utf8mb40900AiCi;
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::text(text)).collect::<Vec<_>>();
    let integer = |width, unsigned| SqlType::Integer { width, unsigned };
    vec![
        (SqlType::Year, uints(&[0, 1901, 1970, 2005, 2024, 2155])),
        (SqlType::Bit { length: 1 }, uints(&[0, 1])),
        (SqlType::Bit { length: 64 }, uints(&[0, 1, 1 << 53, u64::MAX])),
        (SqlType::Enum { members: members.clone(), collation }, uints(&[0, 1, 2, 3])),
        (SqlType::Set { members, collation }, uints(&[0, 1, 5, 7])),
        (SqlType::Date, dates.map(Value::Date).to_vec()),
        (SqlType::DateTime { fraction: 6 }, moments.iter().copied().map(Value::DateTime).collect()),
        (SqlType::Timestamp { fraction: 6 }, moments.into_iter().map(Value::DateTime).collect()),
        (SqlType::Time { fraction: 0 }, times.to_vec()),
        (integer(IntegerWidth::Tiny, false), [-128, -1, 0, 1, 127].map(Value::Int).to_vec()),
        (integer(IntegerWidth::Big, true), uints(&[0, 1, 20_240_101, u64::MAX])),
        (SqlType::Char { length: 10, collation }, texts(&["", "a", "ab", "b", "é"])),
        (SqlType::Char { length: 10, collation: Collation::Utf8mb4GeneralCi }, texts(&["", "a", "ab", "b"])),
        (SqlType::VarChar { length: 10, collation }, texts(&["", "a", "a ", "a  ", "ab", "b"])),
    ]
}

/// Constants of all kinds, most of which few columns can hold.
fn constants() -> Vec<Expression> {
    let numbers = [
        -1,
        0,
        1,
        2,
        4,
        5,
        8,
        24,
        99,
        128,
        1900,
        1901,
        2024,
        2155,
        2156,
        3000,
        236_000,
        235_959,
        8_385_959,
        8_390_000,
        -236_000,
        -8_390_000,
        20_240_000,
        20_240_229,
        20_240_231,
        20_241_301,
        20_241_232,
        99_991_231,
        99_991_301,
        99_999_999,
        20_240_101_236_000,
        20_250_000_000_000,
        20_250_101_000_000,
        99_991_231_235_959,
        99_999_999_999_999,
        i64::MAX,
        i64::MIN,
    ];
    let numbers = numbers.map(|number| Expression::literal(Value::Int(number), integer()));
    let decimals =
        ["0.5", "-0.5", "2024.5", "20240231.5", "20250000000000.25", "235960.5", "-838.5"].map(|text| {
            let (decimal, _) = Decimal::parse(text.as_bytes()).expect("a number");
            let sql_type =
                SqlType::Decimal { precision: decimal.precision(), scale: decimal.scale(), unsigned: false };
            Expression::literal(Value::Decimal(Box::new(decimal)), sql_type)
        });
    let moment = |year, fraction| {
        let date = Date::new(year, 2, 28).expect("a date");
        let moment = DateTime::new(date, 9, 5, 0, fraction).expect("a moment");
        Expression::literal(Value::DateTime(moment), SqlType::DateTime { fraction: 6 })
    };
    let time = Time::from_microseconds(86_399_500_000).expect("a time");
    let others = [
        moment(2024, 0),
        moment(1024, 500_000),
        moment(2039, 1),
        Expression::literal(Value::Date(Date::new(2024, 2, 29).expect("a date")), SqlType::Date),
        Expression::literal(Value::Time(time), SqlType::Time { fraction: 6 }),
    ];
    let texts = ["", " ", "a", "a ", "a  ", "a   b", "A", "\t", "b  ", "2024-02-29", "12:00:00"]
        .map(|text| Expression::text(text.as_bytes().to_vec(), Collation::Utf8mb40900AiCi));
    numbers.into_iter().chain(decimals).chain(others).chain(texts).collect()
}

/// The ranges of a comparison have exactly the values for which it is true, whatever the constant is. `y > 3000` once
/// found every row of a column of years, and DELETE removed them.
#[test]
fn ranges_hold_the_values_for_which_a_comparison_is_true() {
    let operators = [
        Comparison::Equal,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];
    let mut compared = 0;
    for (sql_type, values) in held() {
        for constant in constants() {
            for operator in operators {
                let column = Expression::column(ColumnSlot(0), sql_type.clone(), false);
                let Ok(comparison) = Expression::compare(operator, column, constant.clone()) else {
                    continue;
                };
                compared += check_comparison(&sql_type, &values, operator, &comparison);
            }
        }
    }
    assert!(compared > 8_000, "{compared}");
}

/// Whether an index orders a column as it is compared with a constant: what the planner asks.
fn is_ordered_alike(sql_type: &SqlType, domain: Domain, constant: &Expression) -> bool {
    match (sql_type, domain) {
        (SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. }, Domain::Text(compared)) => {
            *collation == compared
        }
        (SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. }, Domain::DateTime) => {
            !matches!(constant.sql_type, SqlType::Time { .. })
        }
        (SqlType::Time { .. }, Domain::Time) => true,
        (_, Domain::Number) => !matches!(constant.sql_type, SqlType::Double),
        _ => false,
    }
}

/// How many values were found as the comparison says; 0 if no index can be asked.
fn check_comparison(
    sql_type: &SqlType,
    values: &[Value],
    operator: Comparison,
    comparison: &Expression,
) -> usize {
    let name = fixtures::column("c", sql_type.clone());
    let indexes = vec![index(0, IndexKind::Primary, &[0])];
    let table = TableDefinition { indexes, ..fixtures::table(TableId(100), vec![name]) };
    let Node::Compare { domain, left, right: constant, .. } = &comparison.node else { return 0 };
    if left.as_column().is_none() || !is_ordered_alike(sql_type, *domain, constant) {
        return 0;
    }
    let bound = |inclusive| Some(((**constant).clone(), inclusive));
    let template = match operator {
        Comparison::Equal => RangeTemplate { equal: vec![(**constant).clone()], ..RangeTemplate::default() },
        Comparison::Less => RangeTemplate { upper: bound(Inclusive::No), ..RangeTemplate::default() },
        Comparison::LessOrEqual => RangeTemplate { upper: bound(Inclusive::Yes), ..RangeTemplate::default() },
        Comparison::Greater => RangeTemplate { lower: bound(Inclusive::No), ..RangeTemplate::default() },
        _ => RangeTemplate { lower: bound(Inclusive::Yes), ..RangeTemplate::default() },
    };
    let parts = &table.indexes[0].parts;
    let encoder = KeyEncoder::new(&table, parts);
    let context = Context::default();
    let mut ranges = Vec::new();
    if append_ranges(&template, &table, parts, &encoder, &context, &mut Vec::new(), &mut ranges).is_err() {
        return 0;
    }
    for value in values {
        let mut key = Vec::new();
        encoder.encode_values(&[value.as_ref()], &mut key);
        let is_found = ranges.iter().any(|range| contains(range, &key));
        let row = vec![value.clone()];
        let is_true = comparison.is_true(&row, &context).expect("constants evaluate");
        assert_eq!(is_found, is_true, "{value:?} of {sql_type:?}: {operator:?} {constant:?}");
    }
    values.len()
}
