//! The type of an operation's result: numeric classes, decimal shapes, string lengths, and the common type of several
//! results.

use crate::context::TypeError;
use crate::function::Function;
use crate::node::{BinaryOperator, Expression, Node};
use types::{BlobSize, Collation, Decimal, IntegerWidth, SqlType, Value};

/// The type of integer literals and results.
pub(crate) const BIGINT: SqlType = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
/// The type of bit operations.
pub(crate) const BIGINT_UNSIGNED: SqlType = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
/// Longest VARCHAR that expressions make, in characters; longer results are LONGTEXT.
const VARCHAR_LENGTH_MAX: u64 = 16_383;

/// As what a value counts in arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumericClass {
    Integer { unsigned: bool },
    Decimal,
    Double,
}

pub(crate) fn numeric_class(sql_type: &SqlType) -> NumericClass {
    match sql_type {
        SqlType::Integer { unsigned, .. } => NumericClass::Integer { unsigned: *unsigned },
        SqlType::Null | SqlType::Date => NumericClass::Integer { unsigned: false },
        SqlType::Bit { .. } | SqlType::Year => NumericClass::Integer { unsigned: true },
        SqlType::Time { fraction } | SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
            if *fraction == 0 {
                NumericClass::Integer { unsigned: false }
            } else {
                NumericClass::Decimal
            }
        }
        SqlType::Decimal { .. } => NumericClass::Decimal,
        SqlType::Float
        | SqlType::Double
        | SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Text { .. }
        | SqlType::Blob { .. }
        | SqlType::Enum { .. }
        | SqlType::Set { .. }
        | SqlType::Json => NumericClass::Double,
    }
}

/// Strings of characters or bytes, ENUM and SET (which count as strings in most places), JSON.
pub(crate) fn is_text(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Json) || collation_of(sql_type).is_some()
}

pub(crate) fn is_binary_string(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. })
}

pub(crate) fn is_temporal(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Date | SqlType::Time { .. } | SqlType::DateTime { .. } | SqlType::Timestamp { .. }
    )
}

/// How strings of this type compare; `None` if it is no string type. Binary strings compare as `Collation::Binary`.
pub(crate) fn collation_of(sql_type: &SqlType) -> Option<Collation> {
    match sql_type {
        SqlType::Json => Some(Collation::Utf8mb4Bin),
        _ if is_binary_string(sql_type) => Some(Collation::Binary),
        _ => sql_type.character_collation(),
    }
}

/// A string type of at most `length` characters (bytes for binary).
pub(crate) fn text_type(length: u64, collation: Collation) -> SqlType {
    let binary = collation == Collation::Binary;
    match u32::try_from(length.min(VARCHAR_LENGTH_MAX + 1)) {
        Ok(length) if u64::from(length) <= VARCHAR_LENGTH_MAX => {
            if binary {
                SqlType::VarBinary { length }
            } else {
                SqlType::VarChar { length, collation }
            }
        }
        Ok(_) | Err(_) if binary => SqlType::Blob { size: BlobSize::Long },
        Ok(_) | Err(_) => SqlType::Text { size: BlobSize::Long, collation },
    }
}

/// The same string type under another collation.
pub(crate) fn with_collation(sql_type: &SqlType, collation: Collation) -> SqlType {
    match sql_type {
        SqlType::Char { length, .. } => SqlType::Char { length: *length, collation },
        SqlType::Text { size, .. } => SqlType::Text { size: *size, collation },
        SqlType::Blob { size } if collation != Collation::Binary => SqlType::Text { size: *size, collation },
        other => text_type(u64::from(type_length(other)), collation),
    }
}

/// DECIMAL of at most the largest precision and scale.
pub(crate) fn decimal_type(precision: u32, scale: u32) -> SqlType {
    let scale = scale.min(u32::from(Decimal::SCALE_MAX));
    let precision = precision.clamp(scale.max(1), u32::from(Decimal::PRECISION_MAX));
    SqlType::Decimal { precision: narrow(precision), scale: narrow(scale), unsigned: false }
}

fn narrow(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn width_digits(width: IntegerWidth, unsigned: bool) -> u32 {
    match width {
        IntegerWidth::Tiny => 3,
        IntegerWidth::Small => 5,
        IntegerWidth::Medium => {
            if unsigned {
                8
            } else {
                7
            }
        }
        IntegerWidth::Normal => 10,
        IntegerWidth::Big => {
            if unsigned {
                20
            } else {
                19
            }
        }
    }
}

/// Precision and scale of an operand as a decimal.
pub(crate) fn decimal_shape(operand: &Expression) -> (u32, u32) {
    match operand.as_literal() {
        Some(Value::Int(number)) => (number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1, 0),
        Some(Value::UInt(number)) => (number.checked_ilog10().unwrap_or(0) + 1, 0),
        Some(Value::Decimal(decimal)) => (u32::from(decimal.precision()), u32::from(decimal.scale())),
        _ => type_decimal_shape(&operand.sql_type),
    }
}

fn type_decimal_shape(sql_type: &SqlType) -> (u32, u32) {
    match sql_type {
        SqlType::Null => (1, 0),
        SqlType::Integer { width, unsigned } => (width_digits(*width, *unsigned), 0),
        SqlType::Decimal { precision, scale, .. } => (u32::from(*precision), u32::from(*scale)),
        SqlType::Year => (4, 0),
        SqlType::Bit { .. } => (20, 0),
        SqlType::Date => (8, 0),
        SqlType::Time { fraction } => (7 + u32::from(*fraction), u32::from(*fraction)),
        SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
            (14 + u32::from(*fraction), u32::from(*fraction))
        }
        SqlType::Float
        | SqlType::Double
        | SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Text { .. }
        | SqlType::Blob { .. }
        | SqlType::Enum { .. }
        | SqlType::Set { .. }
        | SqlType::Json => (65, 30),
    }
}

/// Digits before the point of a number of this type.
pub(crate) fn integer_digits(operand: &Expression) -> u32 {
    let (precision, scale) = decimal_shape(operand);
    precision.saturating_sub(scale)
}

/// Digits of a second that a value of this type may carry when read as a time.
pub(crate) fn fraction_digits(operand: &Expression) -> u8 {
    match &operand.sql_type {
        SqlType::Time { fraction } | SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
            *fraction
        }
        SqlType::Decimal { scale, .. } => (*scale).min(6),
        SqlType::Null | SqlType::Integer { .. } | SqlType::Bit { .. } | SqlType::Date | SqlType::Year => 0,
        SqlType::Float
        | SqlType::Double
        | SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Text { .. }
        | SqlType::Blob { .. }
        | SqlType::Enum { .. }
        | SqlType::Set { .. }
        | SqlType::Json => match operand.as_literal() {
            Some(Value::Bytes(text)) => literal_fraction(text),
            _ => 6,
        },
    }
}

/// Digits behind the second of an operand that is a duration: text that is known is read as one.
pub(crate) fn time_fraction_digits(operand: &Expression) -> u8 {
    let digits = |text: &[u8]| types::Time::parse(text).map_or(0, |parsed| parsed.fraction.min(6));
    let is_known = |operand: &Expression| {
        let mut reads_more = false;
        operand.visit(&mut |inner| {
            reads_more |= matches!(
                inner.node,
                Node::Column(_)
                    | Node::Parameter(_)
                    | Node::Function { function: Function::Session(_) | Function::Control(_), .. }
            );
        });
        !reads_more
    };
    match operand.as_literal() {
        Some(Value::Bytes(text)) => digits(text),
        None if super::is_text(&operand.sql_type) && is_known(operand) => {
            match operand.clone().folded_if_pure().as_literal() {
                Some(Value::Bytes(text)) => digits(text),
                _ => 6,
            }
        }
        _ => fraction_digits(operand),
    }
}

fn literal_fraction(text: &[u8]) -> u8 {
    let parsed = types::DateTime::parse(text).map(|parsed| parsed.fraction);
    let as_time = types::Time::parse(text).map(|parsed| parsed.fraction);
    parsed.or(as_time).unwrap_or(0).min(6)
}

/// Characters that a value of this type may take as text.
fn type_length(sql_type: &SqlType) -> u32 {
    let point = |fraction: u8| if fraction == 0 { 0 } else { u32::from(fraction) + 1 };
    match sql_type {
        SqlType::Null => 0,
        SqlType::Integer { width, unsigned } => width_digits(*width, *unsigned) + u32::from(!*unsigned),
        SqlType::Float => 12,
        SqlType::Double => 23,
        SqlType::Decimal { precision, scale, .. } => {
            u32::from(*precision) + 1 + u32::from(*scale > 0) + u32::from(precision == scale)
        }
        SqlType::Bit { length } => u32::from(*length).div_ceil(8),
        SqlType::Char { length, .. }
        | SqlType::VarChar { length, .. }
        | SqlType::Binary { length }
        | SqlType::VarBinary { length } => *length,
        SqlType::Text { size, .. } | SqlType::Blob { size } => match size {
            BlobSize::Tiny => 255,
            BlobSize::Normal => 65_535,
            BlobSize::Medium => 16_777_215,
            BlobSize::Long => u32::MAX,
        },
        SqlType::Enum { members, .. } => {
            members.iter().map(|member| narrow_length(member.chars().count())).max().unwrap_or(0)
        }
        SqlType::Set { members, .. } => {
            let characters: usize = members.iter().map(|member| member.chars().count() + 1).sum();
            narrow_length(characters.saturating_sub(1))
        }
        SqlType::Date => 10,
        SqlType::Time { fraction } => 10 + point(*fraction),
        SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => 19 + point(*fraction),
        SqlType::Year => 4,
        SqlType::Json => u32::MAX,
    }
}

fn narrow_length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Characters that an operand may take as text.
pub(crate) fn display_length(operand: &Expression) -> u32 {
    match operand.as_literal() {
        Some(Value::Int(_) | Value::UInt(_)) => {
            let (digits, _) = decimal_shape(operand);
            digits + u32::from(matches!(operand.as_literal(), Some(Value::Int(number)) if *number < 0))
        }
        _ => type_length(&operand.sql_type),
    }
}

/// The type of `left operator right` for `+ - * / DIV %`.
pub(super) fn arithmetic(operator: BinaryOperator, left: &Expression, right: &Expression) -> SqlType {
    let classes = (numeric_class(&left.sql_type), numeric_class(&right.sql_type));
    let unsigned = matches!(classes.0, NumericClass::Integer { unsigned: true })
        || matches!(classes.1, NumericClass::Integer { unsigned: true });
    if operator == BinaryOperator::IntegerDivide {
        let is_unsigned =
            |operand: &Expression| matches!(operand.sql_type, SqlType::Decimal { unsigned: true, .. });
        return super::integer_type(IntegerWidth::Big, unsigned || is_unsigned(left) || is_unsigned(right));
    }
    if matches!(classes.0, NumericClass::Double) || matches!(classes.1, NumericClass::Double) {
        return SqlType::Double;
    }
    let integers = matches!(classes, (NumericClass::Integer { .. }, NumericClass::Integer { .. }));
    if integers && operator == BinaryOperator::Modulo {
        let dividend_unsigned = matches!(classes.0, NumericClass::Integer { unsigned: true });
        return super::integer_type(IntegerWidth::Big, dividend_unsigned);
    }
    if integers && operator != BinaryOperator::Divide {
        return super::integer_type(IntegerWidth::Big, unsigned);
    }
    let ((left_precision, left_scale), (right_precision, right_scale)) =
        (decimal_shape(left), decimal_shape(right));
    let whole = |precision: u32, scale: u32| precision.saturating_sub(scale);
    match operator {
        BinaryOperator::Multiply => decimal_type(left_precision + right_precision, left_scale + right_scale),
        BinaryOperator::Divide => {
            let increment = u32::from(Decimal::DIVISION_SCALE_INCREMENT);
            decimal_type(left_precision + right_scale + increment, left_scale + increment)
        }
        BinaryOperator::Modulo => {
            let scale = left_scale.max(right_scale);
            decimal_type(
                whole(left_precision, left_scale).max(whole(right_precision, right_scale)) + scale,
                scale,
            )
        }
        _ => {
            let scale = left_scale.max(right_scale);
            let digits = whole(left_precision, left_scale).max(whole(right_precision, right_scale)) + 1;
            decimal_type(digits + scale, scale)
        }
    }
}

/// The type of `-operand`.
pub(super) fn negated(operand: &Expression) -> SqlType {
    match numeric_class(&operand.sql_type) {
        NumericClass::Integer { .. } => match operand.as_literal() {
            // Beyond BIGINT, a negative literal is a decimal.
            Some(Value::UInt(number)) if *number > 1 << 63 => decimal_type(20, 0),
            Some(Value::Int(i64::MIN)) => decimal_type(19, 0),
            _ => BIGINT,
        },
        NumericClass::Decimal => {
            let (precision, scale) = decimal_shape(operand);
            decimal_type(precision, scale)
        }
        NumericClass::Double => SqlType::Double,
    }
}

/// The type that holds the results of several branches.
#[must_use]
pub fn common_type(types: &[&SqlType]) -> SqlType {
    let mut known = types.iter().filter(|sql_type| !matches!(sql_type, SqlType::Null));
    let Some(first) = known.next() else { return SqlType::Null };
    known.fold((*first).clone(), |common, next| pair_type(&common, next))
}

fn pair_type(left: &SqlType, right: &SqlType) -> SqlType {
    if left == right {
        return left.clone();
    }
    let is_number = |sql_type: &SqlType| !is_text(sql_type) && !is_temporal(sql_type);
    if is_number(left) && is_number(right) {
        return pair_of_numbers(left, right);
    }
    if is_temporal(left) && is_temporal(right) {
        return pair_of_temporals(left, right);
    }
    let binary = is_binary_string(left) || is_binary_string(right);
    let collation = match (collation_of(left), collation_of(right)) {
        _ if binary => Collation::Binary,
        (Some(collation), _) | (None, Some(collation)) => collation,
        (None, None) => super::DEFAULT_COLLATION,
    };
    text_type(u64::from(type_length(left).max(type_length(right))), collation)
}

fn pair_of_numbers(left: &SqlType, right: &SqlType) -> SqlType {
    // A type that a FLOAT holds exactly stays in one; all else with a FLOAT is DOUBLE.
    let fits_float = |sql_type: &SqlType| match sql_type {
        SqlType::Float | SqlType::Year => true,
        SqlType::Integer { width, .. } => *width <= IntegerWidth::Medium,
        _ => false,
    };
    if (*left == SqlType::Float || *right == SqlType::Float) && fits_float(left) && fits_float(right) {
        return SqlType::Float;
    }
    match (numeric_class(left), numeric_class(right)) {
        (NumericClass::Double, _) | (_, NumericClass::Double) => SqlType::Double,
        (
            NumericClass::Integer { unsigned: left_unsigned },
            NumericClass::Integer { unsigned: right_unsigned },
        ) => pair_of_integers(integer_width(left), left_unsigned, integer_width(right), right_unsigned),
        _ => {
            let ((left_precision, left_scale), (right_precision, right_scale)) =
                (type_decimal_shape(left), type_decimal_shape(right));
            let scale = left_scale.max(right_scale);
            let digits = (left_precision - left_scale.min(left_precision))
                .max(right_precision - right_scale.min(right_precision));
            decimal_type(digits + scale, scale)
        }
    }
}

fn integer_width(sql_type: &SqlType) -> IntegerWidth {
    match sql_type {
        SqlType::Integer { width, .. } => *width,
        SqlType::Year => IntegerWidth::Small,
        _ => IntegerWidth::Big,
    }
}

/// Signed and unsigned together need the next wider signed type; beyond BIGINT that is DECIMAL.
fn pair_of_integers(
    left: IntegerWidth,
    left_unsigned: bool,
    right: IntegerWidth,
    right_unsigned: bool,
) -> SqlType {
    if left_unsigned == right_unsigned {
        return super::integer_type(left.max(right), left_unsigned);
    }
    let (signed, unsigned) = if left_unsigned { (right, left) } else { (left, right) };
    if signed > unsigned {
        return super::integer_type(signed, false);
    }
    match unsigned {
        IntegerWidth::Tiny => super::integer_type(IntegerWidth::Small, false),
        IntegerWidth::Small => super::integer_type(IntegerWidth::Medium, false),
        IntegerWidth::Medium => super::integer_type(IntegerWidth::Normal, false),
        IntegerWidth::Normal => super::integer_type(IntegerWidth::Big, false),
        IntegerWidth::Big => decimal_type(20, 0),
    }
}

fn pair_of_temporals(left: &SqlType, right: &SqlType) -> SqlType {
    let fraction = |sql_type: &SqlType| match sql_type {
        SqlType::Time { fraction } | SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
            *fraction
        }
        _ => 0,
    };
    let fraction = fraction(left).max(fraction(right));
    match (left, right) {
        (SqlType::Time { .. }, SqlType::Time { .. }) => SqlType::Time { fraction },
        (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => SqlType::Timestamp { fraction },
        _ => SqlType::DateTime { fraction },
    }
}

/// True if values of type `from` are values of type `to` as they are.
pub(crate) fn same_representation(from: &SqlType, to: &SqlType) -> bool {
    let is_bytes = |sql_type: &SqlType| {
        is_text(sql_type) && !matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. })
    };
    match (from, to) {
        (SqlType::Null, _) => true,
        (SqlType::Integer { unsigned: from, .. }, SqlType::Integer { unsigned: to, .. }) => from == to,
        (SqlType::Float | SqlType::Double, SqlType::Float | SqlType::Double) => true,
        (SqlType::Time { .. }, SqlType::Time { .. })
        | (SqlType::DateTime { .. }, SqlType::DateTime { .. })
        | (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => true,
        (SqlType::Decimal { scale: from, .. }, SqlType::Decimal { scale: to, .. }) => from == to,
        _ => from == to || (is_bytes(from) && is_bytes(to)),
    }
}

/// True if a value may have no counterpart: text and numbers that are no date.
pub(super) fn cast_may_give_null(from: &SqlType, to: &SqlType) -> bool {
    is_temporal(to) && !is_temporal(from)
}

/// True if the result depends on the session's time zone or on today's date.
pub(super) fn cast_needs_context(from: &SqlType, to: &SqlType) -> bool {
    let is_timestamp = |sql_type: &SqlType| matches!(sql_type, SqlType::Timestamp { .. });
    let from_time = matches!(from, SqlType::Time { .. });
    let to_day = matches!(to, SqlType::Date | SqlType::DateTime { .. });
    is_timestamp(from) != is_timestamp(to) || (from_time && to_day)
}

/// The type of a folded literal: the expression's, unless the conversion chose another kind of number.
pub(crate) fn of_folded(value: &Value, sql_type: &SqlType) -> SqlType {
    let numeric = !is_text(sql_type) && !is_temporal(sql_type);
    match value {
        // A number beside a temporal column that is no date.
        Value::Int(_) if is_temporal(sql_type) => BIGINT,
        Value::UInt(_) if is_temporal(sql_type) => BIGINT_UNSIGNED,
        Value::Double(_) if is_temporal(sql_type) => SqlType::Double,
        Value::Int(_) if numeric && *sql_type != BIGINT => BIGINT,
        Value::UInt(_)
            if matches!(
                sql_type,
                SqlType::Float
                    | SqlType::Double
                    | SqlType::Decimal { .. }
                    | SqlType::Integer { unsigned: false, .. }
            ) =>
        {
            BIGINT_UNSIGNED
        }
        Value::DateTime(_) if *sql_type == SqlType::Date => SqlType::DateTime { fraction: 6 },
        Value::Double(_) if numeric && *sql_type != SqlType::Float => SqlType::Double,
        Value::Decimal(decimal) => {
            if let SqlType::Decimal { scale, .. } = sql_type
                && *scale <= decimal.scale()
            {
                return sql_type.clone();
            }
            decimal_type(u32::from(decimal.precision()), u32::from(decimal.scale()))
        }
        _ => sql_type.clone(),
    }
}

/// Refuses CAST to types that cannot be.
pub(super) fn check_cast(sql_type: &SqlType) -> Result<(), TypeError> {
    let too_precise = |precision: u8, limit: u8| {
        TypeError::BadPrecision(
            1426,
            format!("Too-big precision {precision} specified for 'cast'. Maximum is {limit}."),
        )
    };
    match sql_type {
        SqlType::Decimal { precision, .. } if *precision > Decimal::PRECISION_MAX => {
            Err(too_precise(*precision, Decimal::PRECISION_MAX))
        }
        SqlType::Decimal { scale, .. } if *scale > Decimal::SCALE_MAX => Err(TypeError::BadPrecision(
            1425,
            format!("Too big scale {scale} specified for column 'cast'. Maximum is {}.", Decimal::SCALE_MAX),
        )),
        SqlType::Decimal { precision, scale, .. } if scale > precision => Err(TypeError::BadPrecision(
            1427,
            "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column 'cast').".to_owned(),
        )),
        SqlType::Time { fraction } | SqlType::DateTime { fraction } | SqlType::Timestamp { fraction }
            if *fraction > 6 =>
        {
            Err(too_precise(*fraction, 6))
        }
        SqlType::Json => Err(TypeError::Unsupported("CAST AS JSON".to_owned())),
        _ => Ok(()),
    }
}

/// The type as CAST names it.
#[must_use]
pub fn type_words(sql_type: &SqlType) -> String {
    let with_fraction = |name: &str, fraction: u8| {
        if fraction == 0 { name.to_owned() } else { format!("{name}({fraction})") }
    };
    match sql_type {
        SqlType::Null => "null".to_owned(),
        SqlType::Integer { unsigned: false, .. } => "signed".to_owned(),
        SqlType::Integer { unsigned: true, .. } | SqlType::Bit { .. } => "unsigned".to_owned(),
        SqlType::Float => "float".to_owned(),
        SqlType::Double => "double".to_owned(),
        SqlType::Decimal { precision, scale, .. } => format!("decimal({precision},{scale})"),
        SqlType::Char { length, .. } | SqlType::VarChar { length, .. } => format!("char({length})"),
        SqlType::Binary { length } | SqlType::VarBinary { length } => format!("binary({length})"),
        SqlType::Text { .. } | SqlType::Enum { .. } | SqlType::Set { .. } => "char".to_owned(),
        SqlType::Blob { .. } => "binary".to_owned(),
        SqlType::Date => "date".to_owned(),
        SqlType::Time { fraction } => with_fraction("time", *fraction),
        SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
            with_fraction("datetime", *fraction)
        }
        SqlType::Year => "year".to_owned(),
        SqlType::Json => "json".to_owned(),
    }
}
