//! Properties that planners rely on: literals in the column's kind, flat AND and OR, sorted IN lists, folding, display,
//! wire form, errors.

use super::{context, parse, row};
use crate::*;
use stdx::wire::{from_bytes, to_bytes};
use types::{Collation, IntegerWidth, SqlType, Value};

fn typed(text: &str) -> Expression {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The literal beside the column of a comparison.
fn compared_literal(text: &str) -> (Domain, Value) {
    let expression = typed(text);
    let Node::Compare { domain, left, right, .. } = &expression.node else {
        panic!("{text} is {expression:?}")
    };
    assert!(left.as_column().is_some(), "{text}: the column is wrapped: {left}");
    (*domain, right.as_literal().unwrap_or_else(|| panic!("{text}: no literal: {right}")).clone())
}

#[test]
fn constants_beside_columns_are_literals_of_a_comparable_kind() {
    assert_eq!(compared_literal("i = 5"), (Domain::Number, Value::Int(5)));
    assert_eq!(compared_literal("i = '5'"), (Domain::Number, Value::Int(5)));
    assert_eq!(compared_literal("i = '5.5'"), (Domain::Number, Value::Double(5.5)));
    assert_eq!(compared_literal("e = 'BLUE'"), (Domain::Number, Value::UInt(3)));
    assert_eq!(compared_literal("y = 24").1, Value::Int(2024));
    assert!(matches!(compared_literal("da = '2024-01-02'").1, Value::Date(_)));
    assert!(matches!(compared_literal("dt > '2024-01-02'").1, Value::DateTime(_)));
    assert!(matches!(compared_literal("da < '2024-01-02 10:00:00'").1, Value::DateTime(_)));
    assert!(matches!(compared_literal("ti < '10:00:00'").1, Value::Time(_)));
    assert!(matches!(compared_literal("d = '12.34'").1, Value::Decimal(_)));
    let (domain, value) = compared_literal("s = 'x'");
    assert_eq!((domain, value), (Domain::Text(Collation::Utf8mb40900AiCi), Value::text("x")));
    // A string column beside a number is compared as a number: no index can help.
    let Node::Compare { left, .. } = typed("s = 12").node else { panic!("no comparison") };
    assert!(left.as_column().is_none());
}

#[test]
fn a_timestamp_column_stays_bare_and_its_constant_moves_to_utc() {
    let expression = fold_constants(&typed("ts = '2024-02-29 12:34:56'"), &context());
    let Node::Compare { left, right, .. } = &expression.node else { panic!("no comparison") };
    assert!(left.as_column().is_some());
    let Some(Value::DateTime(utc)) = right.as_literal() else { panic!("no literal: {right}") };
    assert_eq!(utc.to_string(), "2024-02-29 10:34:56");
}

#[test]
fn chains_are_flat() {
    let mut chain = typed("i = 0");
    for number in 1..1_000_000 {
        let next =
            Expression::compare(Comparison::Equal, typed_column(), Expression::integer(number)).unwrap();
        chain = Expression::binary(BinaryOperator::Or, chain, next).unwrap();
    }
    let Node::Or(operands) = &chain.node else { panic!("no OR") };
    assert_eq!(operands.len(), 1_000_000);
    assert_eq!(chain.depth(), 3);
    assert!(!chain.is_true(&row(), &context()).unwrap());
    let mut chain = typed("i");
    for _ in 0..10_000 {
        chain = Expression::binary(BinaryOperator::Xor, chain, Expression::boolean(true)).unwrap();
    }
    assert_eq!((chain.depth(), chain.is_true(&row(), &context())), (2, Ok(true)));
}

fn typed_column() -> Expression {
    Expression::column(
        ColumnSlot(0),
        SqlType::Integer { width: IntegerWidth::Normal, unsigned: false },
        false,
    )
}

#[test]
fn lists_of_literals_are_sorted_and_found() {
    let items = (0..10_000).rev().map(|number| Expression::integer(number * 2)).collect();
    let expression = Expression::in_list(typed_column(), items, false).unwrap();
    let Node::In { list: InList::Sorted { values, has_null: false }, .. } = &expression.node else {
        panic!("not sorted")
    };
    assert!(values.is_sorted_by_key(|value| if let Value::Int(number) = value { *number } else { 0 }));
    for (number, expected) in [(0, true), (19_998, true), (19_999, false), (-1, false), (7, false)] {
        let row = vec![Value::Int(number)];
        assert_eq!(expression.is_true(&row, &context()).unwrap(), expected, "{number}");
    }
    let Node::In { list: InList::Sorted { has_null: true, .. }, .. } = typed("i IN (3, NULL, 1)").node else {
        panic!("not sorted")
    };
    // One candidate is a comparison, of which planners know everything.
    assert!(matches!(typed("i IN (3)").node, Node::Compare { .. }));
}

#[test]
fn folding_takes_parameters_and_decides_and() {
    let integer = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
    let parameter = Expression::parameter(0, integer);
    let condition = Expression::compare(Comparison::Equal, typed_column(), parameter).unwrap();
    let values = [Value::Int(7)];
    let bound = fold_constants(&condition, &Context { parameters: &values, ..context() });
    let Node::Compare { right, .. } = &bound.node else { panic!("no comparison") };
    assert_eq!(right.as_literal(), Some(&Value::Int(7)));
    // The statement cache's form of `da = '2024-02-29'` and `e = 'blue'` finds its way back to a key.
    for (column, text, expected) in
        [("da", "2024-02-29", "'2024-02-29'"), ("e", "blue", "'blue'"), ("i", "5", "5")]
    {
        let parameter = Expression::parameter(0, typed("s").sql_type);
        let condition = Expression::compare(Comparison::Equal, typed(column), parameter).unwrap();
        let values = [Value::text(text)];
        let bound = fold_constants(&condition, &Context { parameters: &values, ..context() });
        let Node::Compare { left, right, .. } = &bound.node else { panic!("no comparison") };
        assert!(left.as_column().is_some() && right.as_literal().is_some(), "{bound}");
        assert_eq!(right.to_string(), expected);
    }
    // Without a value the parameter stays.
    assert_eq!(fold_constants(&condition, &context()), condition);

    assert_eq!(fold_constants(&typed("i = 1 AND 1 = 2"), &context()).as_literal(), Some(&Value::Int(0)));
    assert!(matches!(fold_constants(&typed("i = 1 AND 2 = 2"), &context()).node, Node::Compare { .. }));
    assert_eq!(
        fold_constants(&typed("CONNECTION_ID() + 1"), &context()).as_literal(),
        Some(&Value::UInt(43))
    );
    assert_eq!(fold_constants(&typed("DATABASE()"), &context()).as_literal(), Some(&Value::text("test")));
    assert_eq!(
        fold_constants(&typed("UPPER(USER())"), &context()).as_literal(),
        Some(&Value::text("ROOT@LOCALHOST"))
    );
    // An expression that fails does so when it is evaluated.
    let failing = fold_constants(&typed("i = 9223372036854775807 + 1"), &context());
    assert_eq!(failing.evaluate(&row(), &context()).unwrap_err().code, 1690);
}

#[test]
fn wrong_calls_have_mysql_numbers() {
    let code = |text: &str| parse(text).map_err(|error| error.code());
    assert_eq!(code("NO_SUCH_FUNCTION(1)"), Err(1305));
    assert_eq!(code("ABS(1, 2)"), Err(1582));
    assert_eq!(code("IF(1, 2)"), Err(1582));
    assert_eq!(code("JSON_EXTRACT('{}', 'x')"), Err(1235));
    assert_eq!(code("AES_ENCRYPT('a', 'b')"), Err(1235));
    assert_eq!(code("REGEXP_LIKE('a')"), Err(1582));
    assert_eq!(code("CAST(1 AS DECIMAL(70, 1))"), Err(1426));
    assert_eq!(code("CAST(1 AS DECIMAL(5, 6))"), Err(1427));
    assert_eq!(code("CAST(1 AS DATETIME(7))"), Err(1426));
    assert_eq!(code("NOW(9)"), Err(1426));
    assert_eq!(code("bin COLLATE utf8mb4_bin"), Err(1253));
    assert_eq!(code("'a' COLLATE utf8mb4_bin = 'a' COLLATE utf8mb4_general_ci"), Err(1267));
}

#[test]
fn messages_name_the_expression() {
    let message = |text: &str| typed(text).evaluate(&row(), &context()).unwrap_err().message;
    assert_eq!(
        message("9223372036854775807 + 1"),
        "BIGINT value is out of range in '(9223372036854775807 + 1)'"
    );
    assert_eq!(message("i - u"), "BIGINT UNSIGNED value is out of range in '(#0 - #1)'");
    assert_eq!(message("EXP(1000)"), "DOUBLE value is out of range in 'exp(1000)'");
    assert_eq!(message("da = 'abc'"), "Incorrect DATE value: 'abc'");
    let named =
        typed("i + 1 = 'x' AND s LIKE 'a%' OR n IS NULL").shown(|slot| format!("`c{}`", slot.0)).to_string();
    assert_eq!(named, "((((`c0` + 1) = 'x') and (`c6` like 'a%')) or (`c3` is null))");
}

#[test]
fn strict_statements_fail_where_others_warn() {
    let mode = SqlMode { strict: true, ..SqlMode::default() };
    let strict = Context { sql_mode: mode, ..context() };
    assert_eq!(typed("1 / 0").evaluate(&row(), &strict).unwrap_err().code, 1365);
    assert_eq!(typed("'1abc' + 1").evaluate(&row(), &strict).unwrap_err().code, 1292);
    let silent = SqlMode { error_for_division_by_zero: false, ..SqlMode::default() };
    let silent = Context { sql_mode: silent, ..context() };
    assert_eq!(typed("1 / 0").evaluate(&row(), &silent), Ok(Value::Null));
    assert_eq!(silent.warnings.count(), 0);
    let signed = SqlMode { no_unsigned_subtraction: true, ..SqlMode::default() };
    let signed = Context { sql_mode: signed, ..context() };
    assert_eq!(typed("CAST(1 AS UNSIGNED) - 2").evaluate(&row(), &signed), Ok(Value::Int(-1)));
}

#[test]
fn warnings_are_bounded() {
    let context = context();
    let expression = typed("s + 0");
    for _ in 0..5_000 {
        expression.evaluate(&row(), &context).unwrap();
    }
    assert_eq!(context.warnings.count(), 5_000);
    assert_eq!(context.warnings.take().len(), crate::context::WARNINGS_MAX);
}

#[test]
fn trees_travel() {
    for text in [
        "i + 1 * d",
        "CASE WHEN s LIKE 'a\\_%' THEN 1 ELSE COALESCE(n, 2.5) END",
        "i IN (1, 2, NULL) OR da BETWEEN '2024-01-01' AND NOW()",
        "DATE_ADD(dt, INTERVAL 1 MONTH) IS NOT NULL XOR e = 'red'",
        "CONCAT_WS(',', s, CAST(d AS CHAR(3)), EXTRACT(YEAR FROM da)) COLLATE utf8mb4_bin",
    ] {
        let expression = typed(text);
        assert_eq!(from_bytes::<Expression>(&to_bytes(&expression)), Ok(expression), "{text}");
    }
}

#[test]
fn deep_trees_are_evaluated_and_travel_up_to_the_limit() {
    let mut expression = typed("i");
    while expression.depth() < DEPTH_MAX {
        expression = Expression::unary(UnaryOperator::BitNot, expression).unwrap();
    }
    assert!(expression.evaluate(&row(), &context()).is_ok());
    assert_eq!(from_bytes::<Expression>(&to_bytes(&expression)), Ok(expression.clone()));
    let mut condition = typed("i");
    while condition.depth() < DEPTH_MAX {
        condition = Expression::unary(UnaryOperator::Not, condition).unwrap();
    }
    assert!(condition.evaluate(&row(), &context()).is_ok());
    for _ in 0..100 {
        expression = Expression::unary(UnaryOperator::BitNot, expression).unwrap();
    }
    assert_eq!(from_bytes::<Expression>(&to_bytes(&expression)), Err(stdx::wire::WireError::TooDeep));
}

/// Every kind of node that recurses, as deep as a statement may be (the front end's limits), within the two megabytes
/// of a test thread.
#[test]
fn every_deep_tree_fits_the_stack() {
    type Wrap = fn(Expression) -> Result<Expression, TypeError>;
    let wraps: [Wrap; 8] = [
        |inner| Expression::call("CONCAT", vec![inner, Expression::integer(1)], &TypingContext::default()),
        |inner| Expression::call("ROUND", vec![inner], &TypingContext::default()),
        |inner| Expression::call("LAST_DAY", vec![inner], &TypingContext::default()),
        |inner| Expression::case(vec![(inner.clone(), Expression::integer(1))], None),
        |inner| Expression::cast(inner, SqlType::Double),
        |inner| {
            Expression::interval(
                inner,
                Expression::integer(1),
                IntervalUnit::Day,
                Direction::Add,
                &TypingContext::default(),
            )
        },
        |inner| Expression::between(inner, Expression::integer(0), Expression::integer(1), false),
        |inner| Expression::binary(BinaryOperator::Multiply, inner, typed("d")),
    ];
    for wrap in wraps {
        let mut expression = typed("i");
        while expression.depth() < 100 {
            expression = wrap(expression).unwrap();
        }
        let _ = expression.evaluate(&row(), &context());
        let _ = expression.is_true(&row(), &context());
        let folded = fold_constants(&expression, &context());
        assert!(from_bytes::<Expression>(&to_bytes(&folded)).is_ok());
        assert!(!expression.to_string().is_empty());
    }
}

#[test]
fn plain_columns_are_borrowed() {
    let row = row();
    let context = context();
    let expression = typed("t");
    let value = expression.evaluate_ref(&row, &context).unwrap();
    let Evaluated::Borrowed(types::ValueRef::Bytes(bytes)) = value else { panic!("copied") };
    let Value::Bytes(stored) = &row[7] else { panic!("no text") };
    assert!(std::ptr::eq(bytes, stored.as_slice()));
}

#[test]
fn equal_values_hash_equal() {
    let ci = SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi };
    let hash = |value: &Value, sql_type: &SqlType| hash_value(&value.as_ref(), sql_type);
    assert_eq!(hash(&Value::text("Ab"), &ci), hash(&Value::text("aB"), &ci));
    assert_eq!(hash(&Value::Double(0.0), &SqlType::Double), hash(&Value::Double(-0.0), &SqlType::Double));
    let decimal = |text: &str| Value::Decimal(Box::new(types::Decimal::parse(text.as_bytes()).unwrap().0));
    let decimal_type = SqlType::Decimal { precision: 10, scale: 2, unsigned: false };
    assert_eq!(hash(&decimal("1.0"), &decimal_type), hash(&decimal("1.00"), &decimal_type));
}

#[test]
fn common_types_hold_both() {
    let integer = |width, unsigned| SqlType::Integer { width, unsigned };
    let decimal = |precision, scale| SqlType::Decimal { precision, scale, unsigned: false };
    use IntegerWidth::{Big, Normal, Small, Tiny};
    let cases = [
        (integer(Tiny, false), integer(Normal, false), integer(Normal, false)),
        (integer(Tiny, true), integer(Tiny, false), integer(Small, false)),
        (integer(Big, true), integer(Small, false), decimal(20, 0)),
        (decimal(5, 2), decimal(6, 1), decimal(7, 2)),
        (decimal(5, 2), SqlType::Double, SqlType::Double),
        (SqlType::Date, SqlType::Time { fraction: 3 }, SqlType::DateTime { fraction: 3 }),
        (SqlType::Null, SqlType::Date, SqlType::Date),
    ];
    for (left, right, expected) in cases {
        assert_eq!(common_type(&[&left, &right]), expected);
    }
}

#[test]
fn what_warns_is_not_folded_and_warns_on_every_row() {
    let context = context();
    let folded = fold_constants(&typed("'12abc' + 0"), &context);
    assert!(folded.as_literal().is_none(), "{folded}");
    assert_eq!(context.warnings.count(), 0);
    for _ in 0..2 {
        assert_eq!(folded.evaluate(&row(), &context).unwrap(), Value::Double(12.0));
    }
    let raised = context.warnings.take_raised().unwrap();
    assert_eq!((raised.count, raised.warnings[0].code), (2, 1292));
}

#[test]
fn a_bound_that_is_null_is_compared_as_the_other_one_is() {
    for (text, expected) in [
        ("e NOT BETWEEN 'zz' AND NULL", Value::Int(1)),
        ("e BETWEEN 'zz' AND NULL", Value::Int(0)),
        ("e NOT BETWEEN NULL AND 'zz'", Value::Null),
        ("s NOT BETWEEN NULL AND ''", Value::Int(1)),
    ] {
        let context = context();
        assert_eq!(typed(text).evaluate(&row(), &context).unwrap(), expected, "{text}");
        assert_eq!(context.warnings.count(), 0, "{text}");
    }
}

#[test]
fn the_side_behind_null_is_evaluated_where_mysql_does() {
    for (text, warnings) in [("NULL + ('x' + 0)", 1), ("NULL = ('x' + 0)", 0), ("NULL <=> ('x' + 0)", 1)] {
        let context = context();
        typed(text).evaluate(&row(), &context).unwrap();
        assert_eq!(context.warnings.count(), warnings, "{text}");
    }
}

#[test]
fn and_stops_at_null_where_only_true_counts() {
    let overflow = || parse("b + 1 > 0").unwrap();
    let condition = Expression::and(vec![parse("n = 1").unwrap(), overflow()]);
    assert_eq!(condition.is_true(&row(), &context()), Ok(false));
    // The value of the same AND could still become FALSE.
    assert_eq!(condition.evaluate(&row(), &context()).unwrap_err().code, 1690);
    let either = Expression::or(vec![parse("n = 1").unwrap(), condition]);
    assert_eq!(either.is_true(&row(), &context()), Ok(false));
}

#[test]
fn text_made_of_no_text_has_the_connections_collation() {
    let typing = TypingContext { collation: types::Collation::Utf8mb4Bin, ..TypingContext::default() };
    let collation = |name: &str, arguments: Vec<Expression>| {
        let call = Expression::call(name, arguments, &typing).unwrap();
        crate::typing::collation_of(&call.sql_type)
    };
    let five = || Expression::integer(5);
    for (name, arguments) in [
        ("BIN", vec![five()]),
        ("CONV", vec![five(), five(), five()]),
        ("CONCAT", vec![five(), five()]),
        ("DAYNAME", vec![typed("da")]),
        ("SPACE", vec![five()]),
        ("INET_NTOA", vec![five()]),
    ] {
        assert_eq!(collation(name, arguments), Some(types::Collation::Utf8mb4Bin), "{name}");
    }
    assert_eq!(collation("CHAR", vec![five()]), Some(types::Collation::Binary));
    assert_eq!(collation("CONCAT", vec![typed("s"), five()]), Some(types::Collation::Utf8mb40900AiCi));
    let tomorrow = Expression::interval(
        Expression::text("2024-01-01", types::Collation::Utf8mb4Bin),
        five(),
        IntervalUnit::Day,
        Direction::Add,
        &typing,
    );
    assert_eq!(crate::typing::collation_of(&tomorrow.unwrap().sql_type), Some(types::Collation::Utf8mb4Bin));
}

#[test]
fn char_using_gives_text_or_null() {
    let call = |name: &str, numbers: &[i64]| {
        let mut arguments = vec![Expression::text(name, types::Collation::Utf8mb40900AiCi)];
        arguments.extend(numbers.iter().map(|number| Expression::integer(*number)));
        Expression::call("CHAR USING", arguments, &TypingContext::default())
    };
    let value = |numbers: &[i64]| call("utf8mb4", numbers).unwrap().evaluate(&row(), &context()).unwrap();
    assert_eq!(value(&[77, 121]), types::Value::text("My"));
    assert_eq!(value(&[50_085]), types::Value::text("å"));
    let context = context();
    assert!(call("utf8mb4", &[195]).unwrap().evaluate(&row(), &context).unwrap().is_null());
    assert_eq!(context.warnings.take()[0].code, 1300);
    assert!(call("ucs2", &[195]).is_err());
}

#[test]
fn what_is_no_date_is_an_error_where_values_are_stored() {
    let mut strict = context();
    strict.sql_mode.strict = true;
    let parsed = parse("STR_TO_DATE('2024-13-05', '%Y-%m-%d')").unwrap();
    assert_eq!(parsed.evaluate(&row(), &strict).unwrap_err().code, 1411);
    assert!(parsed.evaluate(&row(), &context()).unwrap().is_null());
}

/// The value of a text where sql_mode lets every date in, and the warnings.
fn with_any_date(text: &str) -> String {
    let mut context = context();
    context.sql_mode.no_zero_date = false;
    context.sql_mode.no_zero_in_date = false;
    context.sql_mode.allow_invalid_dates = true;
    let expression = parse(text).unwrap();
    let value = expression.evaluate(&row(), &context).unwrap();
    let mut shown = Vec::new();
    types::format_text(value.as_ref(), &expression.sql_type, &mut shown);
    let codes: Vec<String> = context.warnings.take().iter().map(|warning| warning.code.to_string()).collect();
    format!("{} {}", String::from_utf8_lossy(&shown), codes.join(" ")).trim().to_owned()
}

#[test]
fn dates_off_the_calendar_are_dates_where_sql_mode_lets_them_in() {
    for (text, expected) in [
        ("YEAR('0000-00-00')", "0"),
        ("CAST('0000-00-00' AS DATE)", "0000-00-00"),
        ("CAST('2024-00-00' AS DATE)", "2024-00-00"),
        ("CAST('2024-02-31' AS DATE)", "2024-02-31"),
        ("DAY('2024-02-31')", "31"),
        ("DATE_ADD('2024-02-31', INTERVAL 1 DAY)", "2024-03-03"),
        ("DATE_ADD('2024-02-31', INTERVAL 1 MONTH)", "2024-03-31"),
        ("DATE_ADD('2024-00-31', INTERVAL 1 MONTH)", "1292"),
        ("LAST_DAY('2024-02-31')", "2024-02-29"),
        ("DATEDIFF('2024-02-31', '2024-02-01')", "30"),
        ("da < '2024-02-31'", "1"),
        ("da > '2024-02-00'", "1"),
        ("da > '0000-00-00'", "1"),
        ("da BETWEEN '2024-00-00' AND '2024-02-30'", "1"),
        ("CAST('2024-02-32' AS DATE)", "1292"),
    ] {
        assert_eq!(with_any_date(text), expected, "{text}");
    }
}

#[test]
fn unsigned_decimals_divide_to_unsigned_integers() {
    let unsigned = SqlType::Decimal { precision: 6, scale: 2, unsigned: true };
    let divisor = Expression::column(ColumnSlot(0), unsigned, true);
    let quotient =
        Expression::binary(BinaryOperator::IntegerDivide, Expression::integer(-52), divisor).unwrap();
    let row = vec![types::Value::Decimal(Box::new(types::Decimal::from(2_i64)))];
    assert_eq!(quotient.evaluate(&row, &context()).unwrap_err().code, 1690);
}

#[test]
fn a_float_in_another_base_has_the_digits_that_are_shown() {
    let column = Expression::column(ColumnSlot(0), SqlType::Float, true);
    let call = Expression::call("OCT", vec![column], &TypingContext::default()).unwrap();
    let row = vec![types::Value::Double(16_777_216.0)];
    assert_eq!(call.evaluate(&row, &context()), Ok(types::Value::text("77777760")));
}

/// A column of a query around this one is compared as a column of this one is, though it is a parameter.
#[test]
fn outer_columns_meet_others_as_columns_do() {
    let text = |collation| SqlType::VarChar { length: 9, collation };
    let column = |sql_type: SqlType| Expression::column(ColumnSlot(0), sql_type, true);
    let outer = |sql_type: SqlType| Expression::outer_column(3, &column(sql_type));
    let (binary, general) = (text(Collation::Utf8mb4Bin), text(Collation::Utf8mb4GeneralCi));
    let domain = |left: Expression, right: Expression| {
        let expression = Expression::compare(Comparison::Equal, left, right);
        expression.map(|expression| match expression.node {
            Node::Compare { domain, .. } => domain,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(domain(outer(binary), column(general.clone())), Ok(Domain::Text(Collation::Utf8mb4Bin)));
    let unicode = text(Collation::Utf8mb40900AiCi);
    assert!(matches!(domain(outer(unicode), column(general.clone())), Err(TypeError::IllegalCollations(..))));
    // Compared as doubles: a constant would be made an integer.
    let integer = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    let compared = Expression::compare(Comparison::Equal, outer(general), column(integer)).unwrap();
    let types = compared.operands().iter().map(|operand| operand.sql_type.clone()).collect::<Vec<_>>();
    assert!(matches!(types[..], [SqlType::Double, SqlType::Integer { .. }]), "{types:?}");
}

/// A conversion that is written is compared as a column is, though a literal is converted while the statement is read.
#[test]
fn converted_literals_meet_columns_as_columns_do() {
    let collation = Collation::Utf8mb4GeneralCi;
    let text = SqlType::VarChar { length: 9, collation };
    let column = || Expression::column(ColumnSlot(0), text.clone(), true);
    let literal = || Expression::text("a", collation);
    let domain = |left: Expression, right: Expression| {
        let compared = Expression::compare(Comparison::LessOrEqual, left, right).unwrap();
        let Node::Compare { domain, .. } = compared.node else { panic!("{compared:?}") };
        domain
    };
    let bytes = || Expression::cast(literal(), SqlType::VarBinary { length: u32::MAX }).unwrap();
    assert!(bytes().as_literal().is_some());
    assert_eq!(domain(column(), bytes()), Domain::Text(Collation::Binary));
    assert_eq!(domain(bytes(), column()), Domain::Text(Collation::Binary));
    assert_eq!(domain(column(), literal()), Domain::Text(collation));
}

#[test]
fn ranges_of_integers_hold_where_the_condition_is_true() {
    let edges = [i64::MIN, i64::MIN + 1, -1, 0, 1, 4, 5, 6, i64::MAX - 1, i64::MAX];
    let mut found = 0;
    let literal = |number| Expression::literal(Value::Int(number), BIGINT_TYPE);
    let column = || Expression::column(ColumnSlot(0), BIGINT_TYPE, true);
    let remainder = || Expression::binary(BinaryOperator::Modulo, column(), literal(5)).unwrap();
    let operators = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
        Comparison::NullSafeEqual,
    ];
    let asked: [&dyn Fn() -> Expression; 2] = [&column, &remainder];
    let mut conditions = Vec::new();
    for asked in asked {
        for (operator, edge) in operators.into_iter().flat_map(|operator| edges.map(|edge| (operator, edge)))
        {
            conditions.push(Expression::compare(operator, asked(), literal(edge)).unwrap());
        }
        for (low, high) in edges.into_iter().zip(edges.into_iter().skip(3)) {
            for negated in [false, true] {
                conditions.push(Expression::between(asked(), literal(low), literal(high), negated).unwrap());
                conditions.push(Expression::between(asked(), literal(high), literal(low), negated).unwrap());
            }
        }
    }
    for (numbers, has_null) in [(&edges[..], false), (&edges[2..5], false), (&edges[3..4], true)] {
        for negated in [false, true] {
            let null = has_null.then(|| Expression::literal(Value::Null, SqlType::Null));
            let list = numbers.iter().map(|number| literal(*number)).chain(null).collect();
            let list: Vec<Expression> = list;
            conditions
                .extend(asked.map(|asked| Expression::in_list(asked(), list.clone(), negated).unwrap()));
        }
    }
    conditions.extend([Test::Null, Test::NotNull].map(|test| Expression::is(test, column())));
    for condition in conditions {
        let Some(plain) = condition.as_column_condition(&[]) else { continue };
        found += 1;
        assert_eq!(plain.column, ColumnSlot(0));
        for number in edges.into_iter().map(Some).chain([None]) {
            let row = vec![number.map_or(Value::Null, Value::Int)];
            let is_true = condition.is_true(&row, &context()).unwrap();
            assert_eq!(plain.holds(number), is_true, "{condition} for {number:?}");
        }
    }
    assert_eq!(found, 2 * (6 * edges.len() + 4 * (edges.len() - 3) + 5) + 2);
    assert_eq!(typed("i = 1 AND s = 'x'").conjuncts().len(), 2);
}

#[test]
fn tests_of_texts_hold_where_the_condition_is_true() {
    let texts = ["", "a", "A", "ab", "aB%", "abc", "ä", "äb", "b", "a ", "a\u{301}b", "日", "ß", "ss"];
    let collations = [
        Collation::Utf8mb40900AiCi,
        Collation::Utf8mb40900AsCs,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Bin,
        Collation::Binary,
    ];
    let operators = [Comparison::Equal, Comparison::NotEqual, Comparison::Less, Comparison::GreaterOrEqual];
    let mut told = 0;
    for collation in collations {
        let sql_type = SqlType::VarChar { length: 9, collation };
        let column = || Expression::column(ColumnSlot(0), sql_type.clone(), true);
        let literal = |text: &str| Expression::text(text, collation);
        let mut conditions = Vec::new();
        for text in texts {
            for operator in operators {
                conditions.push(Expression::compare(operator, column(), literal(text)).unwrap());
            }
            for (pattern, escape) in [("%", Some('\\')), ("_%", Some('\\')), ("", None), ("%", Some('a'))] {
                for negated in [false, true] {
                    let pattern = literal(&format!("{text}{pattern}"));
                    conditions.push(Expression::like(column(), pattern, escape, negated).unwrap());
                }
            }
        }
        for condition in conditions {
            let Some(ColumnCondition { column, divisor: None, test: ColumnTest::Text(test) }) =
                condition.as_column_condition(&[])
            else {
                continue;
            };
            assert_eq!(column, ColumnSlot(0));
            for text in texts {
                let is_true = condition.is_true(&vec![Value::text(text)], &context()).unwrap();
                let holds = test.holds(text.as_bytes());
                told += usize::from(holds.is_some());
                assert!(holds.is_none_or(|holds| holds == is_true), "{condition} for {text:?}");
            }
            assert!(!condition.is_true(&vec![Value::Null], &context()).unwrap(), "{condition}");
        }
    }
    assert!(told > 5 * 14 * 14 * 4, "{told}");
}

const BIGINT_TYPE: SqlType = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
