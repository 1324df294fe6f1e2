//! `+ - * / DIV %`, unary minus and the bit operators.
//!
//! The result's type was decided by `typing`; here it selects one of three ways to compute: 64-bit integers (signed or
//! unsigned, error 1690 beyond the range), decimals, doubles.
//!
//! Invariants: no operation wraps or yields an infinity; division by zero is NULL (with 1365 as the mode says). A
//! quotient keeps digits beyond its type's scale, in groups of nine that end with a cut as in MySQL, so that `1/3*3` is
//! 1.0000: the outermost evaluation rounds.

use crate::context::{Context, ER_DATA_OUT_OF_RANGE, EvaluationError};
use crate::conversion::{Number, clamp_i64, integer_of, low_bits, number_of};
use crate::evaluation::Evaluated;
use crate::node::{BinaryOperator, Expression, UnaryOperator};
use types::{Decimal, DecimalError, SqlType, ValueRef};

pub(crate) fn out_of_range(kind: &str, expression: &Expression) -> EvaluationError {
    let text: String = expression.to_string().chars().take(256).collect();
    EvaluationError::new(ER_DATA_OUT_OF_RANGE, format!("{kind} value is out of range in '{text}'"))
}

/// `left operator right` for two evaluated operands.
#[inline]
pub(crate) fn binary<'v>(
    operator: BinaryOperator,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    expression: &Expression,
    context: &Context<'_>,
) -> Result<Evaluated<'v>, EvaluationError> {
    if let (ValueRef::Int(left), ValueRef::Int(right), SqlType::Integer { unsigned: false, .. }) =
        (left, right, &expression.sql_type)
    {
        let result = match operator {
            BinaryOperator::Add => left.checked_add(right),
            BinaryOperator::Subtract => left.checked_sub(right),
            BinaryOperator::Multiply => left.checked_mul(right),
            // A remainder of 128 bits, as below, takes ten times as long.
            BinaryOperator::Modulo if right > 0 => Some(left % right),
            _ => return general(operator, ValueRef::Int(left), ValueRef::Int(right), expression, context),
        };
        let number = result.ok_or_else(|| out_of_range("BIGINT", expression))?;
        return Ok(Evaluated::Borrowed(ValueRef::Int(number)));
    }
    general(operator, left, right, expression, context)
}

fn general<'v>(
    operator: BinaryOperator,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    expression: &Expression,
    context: &Context<'_>,
) -> Result<Evaluated<'v>, EvaluationError> {
    if is_bit_operator(operator) {
        return bits(operator, left, right, context);
    }
    let (Some(left), Some(right)) = (number_of(left, context)?, number_of(right, context)?) else {
        return Ok(Evaluated::NULL);
    };
    if operator == BinaryOperator::IntegerDivide {
        return integer_divide(left, right, expression, context);
    }
    let result = match &expression.sql_type {
        SqlType::Integer { unsigned, .. } => {
            let difference_is_signed =
                operator == BinaryOperator::Subtract && context.sql_mode.no_unsigned_subtraction;
            integers(operator, left, right, *unsigned && !difference_is_signed, expression)?
        }
        SqlType::Decimal { .. } => decimals(operator, left, right, expression)?,
        _ => doubles(operator, left.to_double(), right.to_double(), expression)?,
    };
    match result {
        Some(number) => Ok(number.into_evaluated()),
        None => {
            context.division_by_zero()?;
            Ok(Evaluated::NULL)
        }
    }
}

/// Whether the second operand is evaluated although the first is NULL.
pub(crate) fn evaluates_both(operator: BinaryOperator, result: &SqlType) -> bool {
    let is_plain = matches!(
        operator,
        BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Multiply | BinaryOperator::Modulo
    );
    is_plain && matches!(result, SqlType::Integer { .. } | SqlType::Double)
}

fn is_bit_operator(operator: BinaryOperator) -> bool {
    matches!(
        operator,
        BinaryOperator::BitAnd
            | BinaryOperator::BitOr
            | BinaryOperator::BitXor
            | BinaryOperator::ShiftLeft
            | BinaryOperator::ShiftRight
    )
}

/// A 64-bit integer of the signedness that the result's type asks for.
fn integer(number: i128, unsigned: bool, expression: &Expression) -> Result<Number, EvaluationError> {
    if unsigned {
        let number = u64::try_from(number).map_err(|_| out_of_range("BIGINT UNSIGNED", expression))?;
        return Ok(Number::UInt(number));
    }
    let number = i64::try_from(number).map_err(|_| out_of_range("BIGINT", expression))?;
    Ok(Number::Int(number))
}

/// `None` for division by zero.
fn integers(
    operator: BinaryOperator,
    left: Number,
    right: Number,
    unsigned: bool,
    expression: &Expression,
) -> Result<Option<Number>, EvaluationError> {
    let (left, right) = (left.to_integer(), right.to_integer());
    let result = match operator {
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::Modulo if right == 0 => return Ok(None),
        BinaryOperator::Modulo => left.checked_rem(right),
        _ => left.checked_add(right),
    };
    let kind = if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" };
    let result = result.ok_or_else(|| out_of_range(kind, expression))?;
    // The remainder has the dividend's sign whatever the divisor's type says.
    if operator == BinaryOperator::Modulo && result < 0 {
        return Ok(Some(Number::Int(clamp_i64(result))));
    }
    integer(result, unsigned, expression).map(Some)
}

fn decimals(
    operator: BinaryOperator,
    left: Number,
    right: Number,
    expression: &Expression,
) -> Result<Option<Number>, EvaluationError> {
    let overflow = || out_of_range("DECIMAL", expression);
    let left = left.to_decimal().ok_or_else(overflow)?;
    let right = right.to_decimal().ok_or_else(overflow)?;
    let result = match operator {
        BinaryOperator::Subtract => left.sub(&right).map_err(beyond_65_digits),
        BinaryOperator::Multiply => left.mul(&right).map_err(beyond_65_digits),
        BinaryOperator::Divide => {
            let quotient = left.div_and_cut(&right, quotient_scale(&left, &right));
            match (quotient, &expression.sql_type) {
                // Too many digits for the finer scale: the type's own may do.
                (Err(DecimalError::OutOfRange), SqlType::Decimal { scale, .. }) => {
                    left.div_with_scale(&right, *scale)
                }
                (quotient, _) => quotient,
            }
        }
        BinaryOperator::Modulo => left.rem(&right),
        _ => left.add(&right).map_err(beyond_65_digits),
    };
    match result {
        Ok(decimal) => Ok(Some(Number::Decimal(decimal))),
        Err(DecimalError::DivisionByZero) => Ok(None),
        Err(DecimalError::OutOfRange) => Err(overflow()),
    }
}

fn beyond_65_digits(_: types::OutOfRange) -> DecimalError {
    DecimalError::OutOfRange
}

/// Digits behind the point that MySQL computes a quotient to: whole groups of nine that cover the operands' scales plus
/// four.
pub(crate) fn quotient_scale(left: &Decimal, right: &Decimal) -> u8 {
    let group = |scale: u32| scale.div_ceil(9) * 9;
    let (left, right) = (u32::from(left.scale()), u32::from(right.scale()));
    let slack = group(left) - left + group(right) - right;
    let increment = u32::from(Decimal::DIVISION_SCALE_INCREMENT).saturating_sub(slack);
    let scale = group(group(left) + group(right) + increment).min(u32::from(Decimal::SCALE_MAX));
    u8::try_from(scale).unwrap_or(Decimal::SCALE_MAX)
}

fn doubles(
    operator: BinaryOperator,
    left: f64,
    right: f64,
    expression: &Expression,
) -> Result<Option<Number>, EvaluationError> {
    let result = match operator {
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide | BinaryOperator::Modulo if right == 0.0 => return Ok(None),
        BinaryOperator::Divide => left / right,
        BinaryOperator::Modulo => left % right,
        _ => left + right,
    };
    if result.is_finite() {
        Ok(Some(Number::Double(result)))
    } else {
        Err(out_of_range("DOUBLE", expression))
    }
}

/// DIV: exact for integers, else by decimals, cut towards zero.
fn integer_divide<'v>(
    left: Number,
    right: Number,
    expression: &Expression,
    context: &Context<'_>,
) -> Result<Evaluated<'v>, EvaluationError> {
    if right.is_zero() {
        context.division_by_zero()?;
        return Ok(Evaluated::NULL);
    }
    let unsigned = matches!(expression.sql_type, SqlType::Integer { unsigned: true, .. });
    let overflow = || out_of_range(if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" }, expression);
    let is_integer = |number: Number| matches!(number, Number::Int(_) | Number::UInt(_));
    if is_integer(left) && is_integer(right) {
        let quotient = left.to_integer().checked_div(right.to_integer()).ok_or_else(overflow)?;
        return integer(quotient, unsigned, expression).map(Number::into_evaluated);
    }
    let left = left.to_decimal().ok_or_else(overflow)?;
    let right = right.to_decimal().ok_or_else(overflow)?;
    let quotient = left.div_and_cut(&right, quotient_scale(&left, &right)).map_err(|_| overflow())?;
    let whole = quotient.truncate(0);
    let number =
        if unsigned { whole.to_u64().map(ValueRef::UInt) } else { whole.to_i64().map(ValueRef::Int) };
    number.map(Evaluated::Borrowed).ok_or_else(overflow)
}

fn bits<'v>(
    operator: BinaryOperator,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    context: &Context<'_>,
) -> Result<Evaluated<'v>, EvaluationError> {
    let (Some(left), Some(right)) = (bits_of(left, context)?, bits_of(right, context)?) else {
        return Ok(Evaluated::NULL);
    };
    let shift = u32::try_from(right).unwrap_or(u32::MAX);
    let result = match operator {
        BinaryOperator::BitOr => left | right,
        BinaryOperator::BitXor => left ^ right,
        BinaryOperator::ShiftLeft => left.checked_shl(shift).unwrap_or(0),
        BinaryOperator::ShiftRight => left.checked_shr(shift).unwrap_or(0),
        _ => left & right,
    };
    Ok(Evaluated::Borrowed(ValueRef::UInt(result)))
}

/// A value as 64 bits, negative numbers in two's complement.
pub(crate) fn bits_of(value: ValueRef<'_>, context: &Context<'_>) -> Result<Option<u64>, EvaluationError> {
    Ok(integer_of(value, context)?.map(low_bits))
}

/// `-value` and `~value`.
pub(crate) fn unary<'v>(
    operator: UnaryOperator,
    value: ValueRef<'_>,
    expression: &Expression,
    context: &Context<'_>,
) -> Result<Evaluated<'v>, EvaluationError> {
    if operator == UnaryOperator::BitNot {
        let bits = bits_of(value, context)?;
        return Ok(Evaluated::Borrowed(bits.map_or(ValueRef::Null, |bits| ValueRef::UInt(!bits))));
    }
    let Some(number) = number_of(value, context)? else { return Ok(Evaluated::NULL) };
    let negated = match &expression.sql_type {
        SqlType::Integer { .. } => integer(-number.to_integer(), false, expression)?,
        SqlType::Decimal { .. } => {
            Number::Decimal(number.to_decimal().ok_or_else(|| out_of_range("DECIMAL", expression))?.neg())
        }
        _ => Number::Double(-number.to_double()),
    };
    Ok(negated.into_evaluated())
}
