//! Aggregates: results, partials merged in any split, wire form of states.

use super::{context, parse};
use crate::aggregate::{AggregateOrder, GROUP_CONCAT_SIZE_MAX};
use crate::*;
use stdx::Prng;
use stdx::wire::{from_bytes, to_bytes};
use types::{Collation, Decimal, IntegerWidth, SqlType, Value, format_text};

fn column(sql_type: SqlType) -> Expression {
    Expression::column(ColumnSlot(0), sql_type, true)
}

fn integer_column() -> Expression {
    column(SqlType::Integer { width: IntegerWidth::Normal, unsigned: false })
}

fn text_column() -> Expression {
    column(SqlType::VarChar { length: 20, collation: Collation::Utf8mb40900AiCi })
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Box::new(Decimal::parse(text.as_bytes()).unwrap().0))
}

fn state_of(call: &AggregateCall, values: &[Value]) -> AggregateState {
    let mut state = call.initial_state();
    for value in values {
        state.update(call, &vec![value.clone()], &context()).unwrap();
    }
    state
}

fn shown(call: &AggregateCall, state: &AggregateState) -> String {
    let value = state.finish(call, &context()).unwrap();
    if value.is_null() {
        return "NULL".to_owned();
    }
    let mut text = Vec::new();
    format_text(value.as_ref(), &call.sql_type, &mut text);
    String::from_utf8(text).unwrap()
}

/// A state made of the portions of another, and how many these are.
fn of_portions(call: &AggregateCall, state: &AggregateState) -> (AggregateState, u32) {
    let (mut merged, mut from, mut count) = (call.initial_state(), Some(0), 0);
    while let Some(start) = from {
        let (portion, next) = state.portion(call, start);
        merged.merge(call, from_bytes::<AggregateState>(&to_bytes(&portion)).unwrap()).unwrap();
        (from, count) = (next, count + 1);
    }
    (merged, count)
}

/// The result over all values, checked against partials of every split in two, sent over the wire.
fn result(call: &AggregateCall, values: &[Value]) -> String {
    let state = state_of(call, values);
    let whole = shown(call, &state);
    let (of_portions, count) = of_portions(call, &state);
    assert_eq!((shown(call, &of_portions), count), (whole.clone(), 1));
    for split in 0..=values.len() {
        let mut merged = call.initial_state();
        for part in [&values[..split], &values[split..]] {
            let partial = from_bytes::<AggregateState>(&to_bytes(&state_of(call, part))).unwrap();
            merged.merge(call, partial).unwrap();
        }
        let merged = shown(call, &merged);
        let close = match (merged.parse::<f64>(), whole.parse::<f64>()) {
            // Floating point rounds differently in another order.
            (Ok(merged), Ok(whole)) if call.sql_type == SqlType::Double => (merged - whole).abs() < 1e-12,
            _ => merged == whole,
        };
        assert!(close, "{:?} split at {split}: {merged}, {whole}", call.function);
    }
    whole
}

fn over(name: &str, argument: Expression, distinct: bool, values: &[Value]) -> String {
    let function = AggregateFunction::by_name(name).unwrap();
    result(&AggregateCall::new(function, vec![argument], distinct).unwrap(), values)
}

#[test]
fn integers() {
    let values = [1, 2, 2, 5].map(Value::Int);
    let with_null = [values.as_slice(), &[Value::Null]].concat();
    let of = |name, distinct| over(name, integer_column(), distinct, &with_null);
    assert_eq!(result(&AggregateCall::count_rows(), &with_null), "5");
    assert_eq!(of("COUNT", false), "4");
    assert_eq!(of("COUNT", true), "3");
    assert_eq!(of("SUM", false), "10");
    assert_eq!(of("SUM", true), "8");
    assert_eq!(of("AVG", false), "2.5000");
    assert_eq!(of("AVG", true), "2.6667");
    assert_eq!(of("MIN", false), "1");
    assert_eq!(of("MAX", true), "5");
    assert_eq!(of("BIT_AND", false), "0");
    assert_eq!(of("BIT_OR", false), "7");
    assert_eq!(of("BIT_XOR", false), "4");
    for (name, expected) in
        [("STD", 1.5), ("VARIANCE", 2.25), ("VAR_SAMP", 3.0), ("STDDEV_SAMP", 3_f64.sqrt())]
    {
        let result: f64 = of(name, false).parse().unwrap();
        assert!((result - expected).abs() < 1e-12, "{name} {result}");
    }
    assert_eq!(of("GROUP_CONCAT", false), "1,2,2,5");
    assert_eq!(of("GROUP_CONCAT", true), "1,2,5");
    assert_eq!(of("ANY_VALUE", false), "1");
}

#[test]
fn nothing() {
    for values in [&[][..], &[Value::Null][..]] {
        for name in ["SUM", "AVG", "MIN", "MAX", "STD", "VAR_SAMP", "GROUP_CONCAT"] {
            assert_eq!(over(name, integer_column(), false, values), "NULL", "{name}");
        }
        assert_eq!(over("COUNT", integer_column(), true, values), "0");
        assert_eq!(over("BIT_AND", integer_column(), false, values), "18446744073709551615");
        assert_eq!(over("BIT_OR", integer_column(), false, values), "0");
    }
    assert_eq!(over("VAR_SAMP", integer_column(), false, &[Value::Int(1)]), "NULL");
}

#[test]
fn sums_do_not_overflow_integers() {
    let big = column(SqlType::Integer { width: IntegerWidth::Big, unsigned: false });
    let values = vec![Value::Int(i64::MAX); 10];
    assert_eq!(over("SUM", big.clone(), false, &values), "92233720368547758070");
    assert_eq!(over("AVG", big, false, &values), "9223372036854775807.0000");
}

#[test]
fn decimals_doubles_and_texts() {
    let decimals = column(SqlType::Decimal { precision: 6, scale: 2, unsigned: false });
    let values = [decimal("1.10"), decimal("2.25"), decimal("-0.05")];
    assert_eq!(over("SUM", decimals.clone(), false, &values), "3.30");
    assert_eq!(over("AVG", decimals.clone(), false, &values), "1.100000");
    assert_eq!(over("MIN", decimals, false, &values), "-0.05");
    let doubles = [Value::Double(1.5), Value::Double(2.5)];
    assert_eq!(over("SUM", column(SqlType::Double), false, &doubles), "4");
    assert_eq!(over("AVG", column(SqlType::Double), false, &doubles), "2");
    let texts = ["b", "A", "a", "C"].map(Value::text);
    assert_eq!(over("MIN", text_column(), false, &texts), "A");
    assert_eq!(over("MAX", text_column(), false, &texts), "C");
    assert_eq!(over("COUNT", text_column(), true, &texts), "3");
    assert_eq!(over("SUM", text_column(), false, &["1", "2.5"].map(Value::text)), "3.5");
}

#[test]
fn enums_are_ordered_by_text_in_max() {
    let members = std::sync::Arc::new(vec!["zebra".to_owned(), "ant".to_owned()]);
    let argument = column(SqlType::Enum { members, collation: Collation::Utf8mb40900AiCi });
    assert_eq!(over("MAX", argument, false, &[Value::UInt(1), Value::UInt(2)]), "zebra");
}

#[test]
fn several_arguments_are_distinct_together() {
    let second = Expression::column(ColumnSlot(1), integer_column().sql_type, true);
    let call = AggregateCall::new(AggregateFunction::Count, vec![integer_column(), second], true).unwrap();
    let mut state = call.initial_state();
    for (left, right) in [(1, Some(1)), (1, Some(2)), (1, Some(1)), (2, Some(1)), (1, None)] {
        let row = vec![Value::Int(left), right.map_or(Value::Null, Value::Int)];
        state.update(&call, &row, &context()).unwrap();
    }
    assert_eq!(shown(&call, &state), "3");
    assert_eq!(AggregateCall::new(AggregateFunction::Count, Vec::new(), true).unwrap_err().code(), 1582);
}

#[test]
fn group_concat_orders_separates_and_cuts() {
    let order = |descending| vec![AggregateOrder { expression: text_column(), descending }];
    let concat = |distinct, order_by, separator: &str, size| {
        let separator = separator.as_bytes().to_vec();
        AggregateCall::group_concat(vec![text_column()], distinct, order_by, separator, size).unwrap()
    };
    let texts = ["b", "a", "C", "B"].map(Value::text);
    let size = GROUP_CONCAT_SIZE_MAX;
    assert_eq!(result(&concat(false, order(false), "; ", size), &texts[..3]), "a; b; C");
    assert_eq!(result(&concat(true, order(true), "", size), &texts), "Cba");
    let call = concat(false, Vec::new(), ",", 4);
    let context = context();
    let mut state = call.initial_state();
    for text in ["ab", "öö", "x"] {
        state.update(&call, &vec![Value::text(text)], &context).unwrap();
    }
    assert_eq!(state.finish(&call, &context), Ok(Value::text("ab,")));
    assert_eq!(context.warnings.take()[0].code, 1260);
}

#[test]
fn rows_of_a_large_state_leave_in_portions() {
    let values: Vec<Value> =
        (0..900).map(|number| Value::text(&format!("{}-{}", number % 300, "x".repeat(15)))).collect();
    for (distinct, size_max) in [(false, 1_000_000), (true, 1_000_000), (false, 9_000)] {
        let call =
            AggregateCall::group_concat(vec![text_column()], distinct, Vec::new(), b",".to_vec(), size_max)
                .unwrap();
        let state = state_of(&call, &values);
        let (merged, count) = of_portions(&call, &state);
        assert_eq!(shown(&call, &merged), shown(&call, &state));
        assert!(count > 1 && merged.row_count(&call) == state.row_count(&call), "{count} portions");
    }
}

#[test]
fn arguments_are_expressions() {
    let call =
        AggregateCall::new(AggregateFunction::Sum, vec![parse("i * 2 + 0.5").unwrap()], false).unwrap();
    let mut state = call.initial_state();
    for _ in 0..3 {
        state.update(&call, &super::row(), &context()).unwrap();
    }
    assert_eq!(shown(&call, &state), "-40.5");
    assert_eq!(from_bytes::<AggregateCall>(&to_bytes(&call)), Ok(call));
}

#[test]
fn random_partials_merge_to_the_whole() {
    let mut prng = Prng::new(7);
    for name in ["SUM", "AVG", "MIN", "MAX", "COUNT", "BIT_XOR"] {
        for distinct in [false, true] {
            for _ in 0..30 {
                let count = prng.index(12);
                let mut values: Vec<Value> = Vec::new();
                for _ in 0..count {
                    let number = i64::try_from(prng.below(6)).unwrap() - 3;
                    values.push(if prng.chance(1, 5) { Value::Null } else { Value::Int(number) });
                }
                over(name, integer_column(), distinct, &values);
            }
        }
    }
}

#[test]
fn a_foreign_state_is_refused() {
    let call = AggregateCall::count_rows();
    let mut state = call.initial_state();
    assert!(state.merge(&call, AggregateState::Bits(1)).is_err());
}

#[test]
fn quotients_are_cut_in_sums_and_rounded_where_they_are_shown() {
    let quotient = || {
        let seventeen = Expression::integer(17);
        let column = column(SqlType::Decimal { precision: 3, scale: 1, unsigned: false });
        Expression::binary(BinaryOperator::Divide, column, seventeen).unwrap()
    };
    let values = [decimal("-0.5")];
    let call = |function| AggregateCall::new(function, vec![quotient()], false).unwrap();
    assert_eq!(result(&call(AggregateFunction::Average), &values), "-0.029411764");
    assert_eq!(result(&call(AggregateFunction::Minimum), &values), "-0.02941");
    let state = state_of(&call(AggregateFunction::Maximum), &values);
    assert_eq!(state.finish(&call(AggregateFunction::Maximum), &context()), Ok(decimal("-0.02941")));
}
