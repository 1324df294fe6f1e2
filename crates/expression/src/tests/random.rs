//! Random trees on random rows: typing and evaluation never panic, a tree that travelled gives the same, folding
//! changes no value, and bytes that are no tree are refused. Seeded, so a failure repeats.

use super::{context, parser::columns};
use crate::*;
use stdx::Prng;
use stdx::wire::{from_bytes, to_bytes};
use types::{Collation, Date, DateTime, Decimal, IntegerWidth, SqlType, Time, Value};

const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "12abc",
    "-1",
    "1e400",
    "2024-02-30",
    "2024-02-29 23:59:59.9999999",
    "838:59:59",
    "ÄÖÜ ß",
    "%_\\",
    "0x1F",
    "99999999999999999999999",
    "0000-00-00",
    "+05:30",
    "%Y-%m-%d %H:%i:%s",
    "1:2:3:4:5",
    "\u{1F600}",
];

/// A value of any kind, whatever the type it is put under.
fn any_value(prng: &mut Prng) -> Value {
    const INTEGERS: &[i64] = &[0, 1, -1, 7, 100, 20_240_229, i64::MAX, i64::MIN, 10_000_000_000, -8_385_959];
    const DOUBLES: &[f64] = &[0.0, -0.0, 0.5, 1e300, -1e300, 1e-300, 2.5, f64::MAX, 1e20];
    match prng.index(10) {
        0 => Value::Null,
        1 | 2 => Value::Int(INTEGERS[prng.index(INTEGERS.len())]),
        3 => Value::UInt([0, 5, u64::MAX, 1 << 63][prng.index(4)]),
        4 => Value::Double(DOUBLES[prng.index(DOUBLES.len())]),
        5 => {
            let texts =
                ["0.5", "-99999999999999999999.999", "12.340", "1e64", "0.000000000000000000000000000001"];
            let (decimal, _) = Decimal::parse(texts[prng.index(texts.len())].as_bytes()).unwrap();
            Value::Decimal(Box::new(decimal))
        }
        6 => {
            let bytes: &[&[u8]] = &[b"\xff\xfe", b"\xc3", b"ab\x80c", b"\0\0"];
            if prng.chance(1, 4) {
                Value::Bytes(bytes[prng.index(bytes.len())].to_vec())
            } else {
                Value::text(TEXTS[prng.index(TEXTS.len())])
            }
        }
        7 => Value::Date(
            [Date::ZERO, Date::MAX, Date::new(2024, 0, 5).unwrap(), Date::new(2024, 2, 29).unwrap()]
                [prng.index(4)],
        ),
        8 => Value::Time(
            [Time::ZERO, Time::MAX, Time::MIN, Time::new(true, 1, 2, 3, 4).unwrap()][prng.index(4)],
        ),
        _ => {
            let day = [Date::ZERO, Date::MAX, Date::new(2024, 2, 29).unwrap()][prng.index(3)];
            Value::DateTime(DateTime::new(day, 23, 59, 59, 999_999).unwrap())
        }
    }
}

fn any_type(prng: &mut Prng) -> SqlType {
    let types = columns();
    match prng.index(types.len() + 2) {
        0 => SqlType::Null,
        1 => SqlType::Float,
        index => types[index - 2].1.clone(),
    }
}

fn leaf(prng: &mut Prng) -> Expression {
    let table = columns();
    match prng.index(4) {
        0 => {
            let index = prng.index(table.len());
            Expression::column(ColumnSlot(u16::try_from(index).unwrap()), table[index].1.clone(), true)
        }
        // Values that are not of their type: what a careless binder or a peer may send.
        1 => Expression::parameter(u16::try_from(prng.index(4)).unwrap(), any_type(prng)),
        2 => Expression::text(TEXTS[prng.index(TEXTS.len())], Collation::Utf8mb40900AiCi),
        _ => {
            let sql_type = any_type(prng);
            match any_value(prng) {
                Value::Int(number) => Expression::integer(number),
                Value::UInt(number) => Expression::unsigned(number),
                Value::Double(number) => Expression::double(number),
                Value::Decimal(decimal) => Expression::decimal(*decimal),
                value => Expression::literal(value, sql_type),
            }
        }
    }
}

const FUNCTIONS: &[&str] = &[
    "ABS",
    "SIGN",
    "CEIL",
    "FLOOR",
    "ROUND",
    "TRUNCATE",
    "SQRT",
    "POW",
    "EXP",
    "LN",
    "LOG",
    "LOG2",
    "LOG10",
    "PI",
    "SIN",
    "COT",
    "ASIN",
    "ATAN",
    "DEGREES",
    "CRC32",
    "CONV",
    "BIN",
    "OCT",
    "BIT_COUNT",
    "INET_ATON",
    "INET_NTOA",
    "CONCAT",
    "CONCAT_WS",
    "LENGTH",
    "CHAR_LENGTH",
    "LOWER",
    "UPPER",
    "LEFT",
    "RIGHT",
    "SUBSTRING",
    "SUBSTRING_INDEX",
    "LOCATE",
    "INSTR",
    "TRIM",
    "LTRIM",
    "LPAD",
    "RPAD",
    "REPEAT",
    "REPLACE",
    "REVERSE",
    "SPACE",
    "STRCMP",
    "ASCII",
    "ORD",
    "CHAR",
    "FIELD",
    "ELT",
    "FIND_IN_SET",
    "INSERT",
    "QUOTE",
    "FORMAT",
    "HEX",
    "UNHEX",
    "TO_BASE64",
    "FROM_BASE64",
    "MD5",
    "SHA1",
    "SHA2",
    "NOW",
    "CURDATE",
    "CURTIME",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "YEAR",
    "MONTH",
    "DAY",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "WEEKDAY",
    "WEEK",
    "WEEKOFYEAR",
    "YEARWEEK",
    "QUARTER",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MICROSECOND",
    "DAYNAME",
    "MONTHNAME",
    "LAST_DAY",
    "DATEDIFF",
    "TIMEDIFF",
    "DATE_FORMAT",
    "TIME_FORMAT",
    "STR_TO_DATE",
    "UNIX_TIMESTAMP",
    "FROM_UNIXTIME",
    "TO_DAYS",
    "FROM_DAYS",
    "TO_SECONDS",
    "TIME_TO_SEC",
    "SEC_TO_TIME",
    "MAKEDATE",
    "MAKETIME",
    "PERIOD_ADD",
    "PERIOD_DIFF",
    "ADDTIME",
    "SUBTIME",
    "GET_FORMAT",
    "CONVERT_TZ",
    "COALESCE",
    "GREATEST",
    "LEAST",
    "INTERVAL",
    "IF",
    "IFNULL",
    "NULLIF",
    "ISNULL",
    "MOD",
    "ADDDATE",
    "COLLATION",
    "COERCIBILITY",
    "DATABASE",
    "USER",
];

const UNITS: &[&str] = &[
    "MICROSECOND",
    "SECOND",
    "HOUR",
    "DAY",
    "MONTH",
    "YEAR",
    "DAY_MICROSECOND",
    "YEAR_MONTH",
    "MINUTE_SECOND",
    "WEEK",
];

const OPERATORS: &[BinaryOperator] = &[
    BinaryOperator::And,
    BinaryOperator::Or,
    BinaryOperator::Xor,
    BinaryOperator::Add,
    BinaryOperator::Subtract,
    BinaryOperator::Multiply,
    BinaryOperator::Divide,
    BinaryOperator::IntegerDivide,
    BinaryOperator::Modulo,
    BinaryOperator::BitAnd,
    BinaryOperator::BitXor,
    BinaryOperator::ShiftLeft,
    BinaryOperator::ShiftRight,
    BinaryOperator::Compare(Comparison::Equal),
    BinaryOperator::Compare(Comparison::NullSafeEqual),
    BinaryOperator::Compare(Comparison::Less),
];

fn tree(prng: &mut Prng, depth: u32) -> Expression {
    if depth == 0 || prng.chance(1, 6) {
        return leaf(prng);
    }
    let built = composite(prng, depth - 1);
    built.unwrap_or_else(|_| leaf(prng))
}

fn composite(prng: &mut Prng, depth: u32) -> Result<Expression, TypeError> {
    let several = |prng: &mut Prng, count: usize| -> Vec<Expression> {
        (0..count).map(|_| tree(prng, depth)).collect()
    };
    let unit = IntervalUnit::by_name(UNITS[prng.index(UNITS.len())]).unwrap();
    match prng.index(16) {
        0..=3 => {
            Expression::binary(OPERATORS[prng.index(OPERATORS.len())], tree(prng, depth), tree(prng, depth))
        }
        4 => {
            let operator = [UnaryOperator::Not, UnaryOperator::Negate, UnaryOperator::BitNot][prng.index(3)];
            Expression::unary(operator, tree(prng, depth))
        }
        5 => Expression::between(tree(prng, depth), tree(prng, depth), tree(prng, depth), prng.chance(1, 2)),
        6 => {
            let count = 1 + prng.index(4);
            let items = several(prng, count);
            Expression::in_list(tree(prng, depth), items, prng.chance(1, 2))
        }
        7 => Expression::like(tree(prng, depth), tree(prng, depth), Some('\\'), prng.chance(1, 2)),
        8 => Ok(Expression::is([Test::Null, Test::True, Test::NotFalse][prng.index(3)], tree(prng, depth))),
        9 => {
            let branches =
                vec![(tree(prng, depth), tree(prng, depth)), (tree(prng, depth), tree(prng, depth))];
            Expression::case(branches, Some(tree(prng, depth)))
        }
        10 => Expression::cast(tree(prng, depth), any_type(prng)),
        11 => Expression::interval(
            tree(prng, depth),
            tree(prng, depth),
            unit,
            Direction::Subtract,
            &TypingContext::default(),
        ),
        12 => Ok(Expression::extract(unit, tree(prng, depth))),
        _ => {
            let count = prng.index(5);
            let name = FUNCTIONS[prng.index(FUNCTIONS.len())];
            Expression::call(name, several(prng, count), &TypingContext::default())
        }
    }
}

#[test]
fn every_function_of_the_table_exists() {
    let operators = ["DATE", "TIME", "IF", "IFNULL", "NULLIF", "ISNULL", "MOD", "ADDDATE"];
    for name in FUNCTIONS.iter().filter(|name| !operators.contains(name)) {
        assert!(Function::by_name(name).is_some(), "{name}");
    }
}

#[test]
fn random_trees_never_panic() {
    let mut prng = Prng::new(20_240_229);
    for round in 0..40_000_u32 {
        let expression = tree(&mut prng, 1 + round % 4);
        let row: Vec<Value> = columns()
            .into_iter()
            .map(|(_, _, value)| if prng.chance(1, 3) { any_value(&mut prng) } else { value })
            .collect();
        let parameters: Vec<Value> = (0..4).map(|_| any_value(&mut prng)).collect();
        let mut context = Context { parameters: &parameters, ..context() };
        context.sql_mode.strict = prng.chance(1, 8);
        let value = expression.evaluate(&row, &context);
        let truth = expression.is_true(&row, &context);
        let travelled = from_bytes::<Expression>(&to_bytes(&expression)).unwrap();
        assert_eq!(travelled, expression);
        assert_eq!(travelled.evaluate(&row, &context), value, "{expression}");
        let folded = fold_constants(&expression, &context);
        // Folding may decide an AND without the operand that fails, never the other way round.
        if let Ok(value) = value {
            assert_eq!(folded.evaluate(&row, &context), Ok(value), "{expression} folded to {folded}");
        }
        if let Ok(truth) = truth {
            assert_eq!(folded.is_true(&row, &context), Ok(truth), "{expression} folded to {folded}");
        }
    }
}

#[test]
fn random_bytes_are_refused_or_read() {
    let mut prng = Prng::new(5);
    for round in 0..20_000_u32 {
        let mut bytes = to_bytes(&tree(&mut prng, 1 + round % 3));
        for _ in 0..1 + prng.index(3) {
            let index = prng.index(bytes.len());
            bytes[index] = u8::try_from(prng.below(256)).unwrap();
        }
        if let Ok(expression) = from_bytes::<Expression>(&bytes) {
            let row: Vec<Value> = columns().into_iter().map(|(_, _, value)| value).collect();
            let _ = expression.evaluate(&row, &context());
            let _ = expression.to_string();
        }
    }
}

#[test]
fn values_of_one_type_have_one_order() {
    let mut prng = Prng::new(3);
    let types = [
        SqlType::Integer { width: IntegerWidth::Big, unsigned: false },
        SqlType::VarChar { length: 9, collation: Collation::Utf8mb40900AiCi },
        SqlType::DateTime { fraction: 6 },
        SqlType::Double,
    ];
    for sql_type in types {
        let typed = |prng: &mut Prng| loop {
            let value = any_value(prng);
            let fits = match &value {
                Value::Null => true,
                Value::Int(_) => matches!(sql_type, SqlType::Integer { .. }),
                Value::Bytes(_) => matches!(sql_type, SqlType::VarChar { .. }),
                Value::DateTime(_) => matches!(sql_type, SqlType::DateTime { .. }),
                Value::Double(_) => sql_type == SqlType::Double,
                _ => false,
            };
            if fits {
                return value;
            }
        };
        for _ in 0..3_000 {
            let (a, b, c) = (typed(&mut prng), typed(&mut prng), typed(&mut prng));
            let order =
                |left: &Value, right: &Value| compare_values(&left.as_ref(), &right.as_ref(), &sql_type);
            assert_eq!(order(&a, &b), order(&b, &a).reverse());
            if order(&a, &b).is_le() && order(&b, &c).is_le() {
                assert!(order(&a, &c).is_le(), "{a:?} {b:?} {c:?}");
            }
            if order(&a, &b).is_eq() {
                assert_eq!(
                    hash_value(&a.as_ref(), &sql_type),
                    hash_value(&b.as_ref(), &sql_type),
                    "{a:?} {b:?}"
                );
            }
        }
    }
}
