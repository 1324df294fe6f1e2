//! Functions on numbers.
//!
//! Rounding of exact numbers is half away from zero, of doubles half to even, as MySQL does. Arguments outside a
//! function's domain give NULL (logarithms with warning 3020); results beyond a double are error 1690.

use crate::arithmetic::{bits_of, out_of_range};
use crate::context::{ER_INVALID_ARGUMENT_FOR_LOGARITHM, EvaluationError};
use crate::conversion::{Number, as_signed, clamp_i64, low_bits, text_of};
use crate::evaluation::Evaluated;
use crate::function::{Call, Function, Typed, functions};
use crate::node::{Expression, Node};
use crate::typing::{
    BIGINT, BIGINT_UNSIGNED, NumericClass, TypingContext, decimal_shape, decimal_type, integer_digits,
    is_text, numeric_class, text_type,
};
use types::{Decimal, SqlType, Value, ValueRef};

functions! {
    /// Functions on numbers.
    NumericFunction {
        Abs "ABS" 1..=1,
        Sign "SIGN" 1..=1,
        Ceiling "CEILING" ["CEIL"] 1..=1,
        Floor "FLOOR" 1..=1,
        Round "ROUND" 1..=2,
        Truncate "TRUNCATE" 2..=2,
        SquareRoot "SQRT" 1..=1,
        Power "POW" ["POWER"] 2..=2,
        Exponential "EXP" 1..=1,
        NaturalLogarithm "LN" 1..=1,
        Logarithm "LOG" 1..=2,
        Logarithm2 "LOG2" 1..=1,
        Logarithm10 "LOG10" 1..=1,
        Pi "PI" 0..=0,
        Sine "SIN" 1..=1,
        Cosine "COS" 1..=1,
        Tangent "TAN" 1..=1,
        Cotangent "COT" 1..=1,
        ArcSine "ASIN" 1..=1,
        ArcCosine "ACOS" 1..=1,
        ArcTangent "ATAN" ["ATAN2"] 1..=2,
        Degrees "DEGREES" 1..=1,
        Radians "RADIANS" 1..=1,
        Crc32 "CRC32" 1..=1,
        Convert "CONV" 3..=3,
        Binary "BIN" 1..=1,
        Octal "OCT" 1..=1,
        BitCount "BIT_COUNT" 1..=1,
        InetToNumber "INET_ATON" 1..=1,
        InetToText "INET_NTOA" 1..=1,
    }
}

/// The literal second argument of ROUND and TRUNCATE.
fn literal_digits(arguments: &[Expression]) -> Option<i64> {
    match arguments.get(1) {
        None => Some(0),
        Some(argument) => match argument.as_literal() {
            Some(Value::Int(digits)) => Some(*digits),
            Some(Value::UInt(digits)) => Some(i64::try_from(*digits).unwrap_or(i64::MAX)),
            _ => None,
        },
    }
}

/// The type of ROUND and TRUNCATE: a decimal gets as many digits as are asked for, if that is known.
fn rounded_type(arguments: &[Expression]) -> SqlType {
    match arguments.first() {
        Some(decimal) if numeric_class(&decimal.sql_type) == NumericClass::Decimal => {
            let (_, scale) = decimal_shape(decimal);
            let scale = match literal_digits(arguments) {
                Some(digits) => u32::try_from(digits.clamp(0, i64::from(Decimal::SCALE_MAX))).unwrap_or(0),
                None => scale,
            };
            decimal_type(integer_digits(decimal) + 1 + scale, scale)
        }
        other => same_class_type(other),
    }
}

fn same_class_type(operand: Option<&Expression>) -> SqlType {
    let Some(operand) = operand else { return BIGINT };
    match numeric_class(&operand.sql_type) {
        NumericClass::Double => SqlType::Double,
        NumericClass::Integer { unsigned } => {
            if unsigned {
                BIGINT_UNSIGNED
            } else {
                BIGINT
            }
        }
        NumericClass::Decimal => {
            let (precision, scale) = decimal_shape(operand);
            decimal_type(precision, scale)
        }
    }
}

fn whole_type(operand: Option<&Expression>) -> SqlType {
    match operand {
        Some(decimal) if numeric_class(&decimal.sql_type) == NumericClass::Decimal => {
            let digits = integer_digits(decimal);
            if digits < 18 { BIGINT } else { decimal_type(digits + 1, 0) }
        }
        other => same_class_type(other),
    }
}

impl NumericFunction {
    pub(crate) fn typed(self, arguments: Vec<Expression>, typing: &TypingContext) -> Typed {
        let texts = |arguments: Vec<Expression>| arguments.into_iter().map(Expression::into_text).collect();
        let numbers = |arguments: Vec<Expression>| -> Vec<Expression> {
            arguments.into_iter().map(Expression::into_number).collect()
        };
        match self {
            Self::Crc32 => {
                let arguments = crate::text_functions::in_own_bytes(texts(arguments));
                Typed::strict(arguments, BIGINT_UNSIGNED)
            }
            Self::Convert | Self::Binary | Self::Octal => {
                Typed::nullable(arguments, text_type(64, typing.collation))
            }
            Self::InetToNumber => Typed::nullable(texts(arguments), BIGINT_UNSIGNED),
            Self::InetToText => Typed::nullable(arguments, text_type(31, typing.collation)),
            Self::BitCount => Typed::strict(arguments, BIGINT),
            Self::Abs => {
                let arguments = numbers(arguments);
                let sql_type = same_class_type(arguments.first());
                Typed::strict(arguments, sql_type)
            }
            Self::Sign => Typed::strict(numbers(arguments), BIGINT),
            Self::Ceiling | Self::Floor => {
                let arguments = numbers(arguments);
                let sql_type = whole_type(arguments.first());
                Typed::strict(arguments, sql_type)
            }
            Self::Round | Self::Truncate => {
                let arguments = numbers(arguments);
                let sql_type = rounded_type(&arguments);
                Typed::strict(arguments, sql_type)
            }
            Self::Pi | Self::Sine | Self::Cosine | Self::Tangent | Self::Degrees | Self::Radians => {
                Typed::strict(numbers(arguments), SqlType::Double)
            }
            Self::SquareRoot
            | Self::Power
            | Self::Exponential
            | Self::NaturalLogarithm
            | Self::Logarithm
            | Self::Logarithm2
            | Self::Logarithm10
            | Self::Cotangent
            | Self::ArcSine
            | Self::ArcCosine
            | Self::ArcTangent => Typed::nullable(numbers(arguments), SqlType::Double),
        }
    }
}

impl Expression {
    /// True for PI(), which clients are shown with six decimals.
    #[must_use]
    pub fn is_pi(&self) -> bool {
        matches!(self.node, Node::Function { function: Function::Numeric(NumericFunction::Pi), .. })
    }
}

const LOGARITHM_WARNING: &str = "Invalid argument for logarithm";

impl<'a> Call<'a> {
    pub(crate) fn evaluate_numeric(
        self,
        function: NumericFunction,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        match function {
            NumericFunction::Abs => self.abs(),
            NumericFunction::Sign => self.sign(),
            NumericFunction::Ceiling => self.whole(Decimal::ceil, f64::ceil),
            NumericFunction::Floor => self.whole(Decimal::floor, f64::floor),
            NumericFunction::Round => self.round(Cut::Round),
            NumericFunction::Truncate => self.round(Cut::Truncate),
            NumericFunction::SquareRoot => self.partial(|number| (number >= 0.0).then(|| number.sqrt())),
            NumericFunction::Power => {
                let (Some(base), Some(exponent)) = (self.double(0)?, self.double(1)?) else {
                    return Ok(Evaluated::NULL);
                };
                self.finite(base.powf(exponent))
            }
            NumericFunction::Exponential => self.partial(|number| Some(number.exp())),
            NumericFunction::NaturalLogarithm => self.logarithm(f64::ln),
            NumericFunction::Logarithm if self.count() == 2 => self.logarithm_to_base(),
            NumericFunction::Logarithm => self.logarithm(f64::ln),
            NumericFunction::Logarithm2 => self.logarithm(f64::log2),
            NumericFunction::Logarithm10 => self.logarithm(f64::log10),
            NumericFunction::Pi => self.finite(std::f64::consts::PI),
            NumericFunction::Sine => self.partial(|number| Some(number.sin())),
            NumericFunction::Cosine => self.partial(|number| Some(number.cos())),
            NumericFunction::Tangent => self.partial(|number| Some(number.tan())),
            NumericFunction::Cotangent => self.partial(|number| Some(number.tan().recip())),
            NumericFunction::ArcSine => {
                self.partial(|number| (-1.0..=1.0).contains(&number).then(|| number.asin()))
            }
            NumericFunction::ArcCosine => {
                self.partial(|number| (-1.0..=1.0).contains(&number).then(|| number.acos()))
            }
            NumericFunction::ArcTangent if self.count() == 2 => {
                let (Some(y), Some(x)) = (self.double(0)?, self.double(1)?) else {
                    return Ok(Evaluated::NULL);
                };
                self.finite(y.atan2(x))
            }
            NumericFunction::ArcTangent => self.partial(|number| Some(number.atan())),
            NumericFunction::Degrees => self.partial(|number| Some(number * (180.0 / std::f64::consts::PI))),
            NumericFunction::Radians => self.partial(|number| Some(number * (std::f64::consts::PI / 180.0))),
            NumericFunction::Crc32 => {
                let Some(text) = self.text(0)? else { return Ok(Evaluated::NULL) };
                Ok(Evaluated::Borrowed(ValueRef::UInt(u64::from(crc32(&text)))))
            }
            NumericFunction::Convert => {
                let (Some(from), Some(to)) = (self.i64(1)?, self.i64(2)?) else {
                    return Ok(Evaluated::NULL);
                };
                self.in_base(from, to)
            }
            NumericFunction::Binary => self.in_base(10, 2),
            NumericFunction::Octal => self.in_base(10, 8),
            NumericFunction::BitCount => {
                let bits = bits_of(self.value(0)?.as_ref(), self.context)?;
                let count = bits.map(|bits| ValueRef::Int(i64::from(bits.count_ones())));
                Ok(Evaluated::Borrowed(count.unwrap_or(ValueRef::Null)))
            }
            NumericFunction::InetToNumber => self.inet_to_number(),
            NumericFunction::InetToText => {
                let address = self.integer(0)?.and_then(|address| u32::try_from(address).ok());
                let Some(address) = address else { return Ok(Evaluated::NULL) };
                let [a, b, c, d] = address.to_be_bytes();
                Ok(Evaluated::from_bytes(format!("{a}.{b}.{c}.{d}").into_bytes()))
            }
        }
    }

    /// A function of one double, `None` outside its domain.
    fn partial(self, function: impl Fn(f64) -> Option<f64>) -> Result<Evaluated<'a>, EvaluationError> {
        match self.double(0)?.and_then(function) {
            Some(number) => self.finite(number),
            None => Ok(Evaluated::NULL),
        }
    }

    fn logarithm(self, function: impl Fn(f64) -> f64) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(number) = self.double(0)? else { return Ok(Evaluated::NULL) };
        if number <= 0.0 {
            self.context.warnings.push(ER_INVALID_ARGUMENT_FOR_LOGARITHM, || LOGARITHM_WARNING.to_owned());
            return Ok(Evaluated::NULL);
        }
        self.finite(function(number))
    }

    fn logarithm_to_base(self) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(base), Some(number)) = (self.double(0)?, self.double(1)?) else {
            return Ok(Evaluated::NULL);
        };
        if base <= 0.0 || number <= 0.0 || base.ln() == 0.0 {
            self.context.warnings.push(ER_INVALID_ARGUMENT_FOR_LOGARITHM, || LOGARITHM_WARNING.to_owned());
            return Ok(Evaluated::NULL);
        }
        self.finite(number.ln() / base.ln())
    }

    fn abs(self) -> Result<Evaluated<'a>, EvaluationError> {
        Ok(match self.number(0)? {
            None => Evaluated::NULL,
            Some(Number::Int(number)) => {
                let number = number.checked_abs().ok_or_else(|| out_of_range("BIGINT", self.expression))?;
                Evaluated::Borrowed(ValueRef::Int(number))
            }
            Some(Number::Double(number)) => Evaluated::Borrowed(ValueRef::Double(number.abs())),
            Some(Number::Decimal(decimal)) => Evaluated::from_decimal(decimal.abs()),
            Some(number @ Number::UInt(_)) => number.into_evaluated(),
        })
    }

    fn sign(self) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(number) = self.number(0)? else { return Ok(Evaluated::NULL) };
        let sign = if number.is_zero() {
            0
        } else if number.to_double() < 0.0 {
            -1
        } else {
            1
        };
        Ok(Evaluated::Borrowed(ValueRef::Int(sign)))
    }

    /// CEILING and FLOOR.
    fn whole(
        self,
        of_decimal: impl Fn(&Decimal) -> Result<Decimal, types::OutOfRange>,
        of_double: impl Fn(f64) -> f64,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        Ok(match self.number(0)? {
            None => Evaluated::NULL,
            Some(Number::Double(number)) => Evaluated::Borrowed(ValueRef::Double(of_double(number))),
            Some(Number::Decimal(decimal)) => {
                let whole = of_decimal(&decimal).map_err(|_| out_of_range("DECIMAL", self.expression))?;
                match (self.sql_type, whole.to_i64()) {
                    (SqlType::Integer { .. }, Some(number)) => Evaluated::Borrowed(ValueRef::Int(number)),
                    _ => Evaluated::from_decimal(whole),
                }
            }
            Some(number @ (Number::Int(_) | Number::UInt(_))) => number.into_evaluated(),
        })
    }

    /// ROUND and TRUNCATE.
    fn round(self, cut: Cut) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(number) = self.number(0)? else { return Ok(Evaluated::NULL) };
        let digits = if self.count() > 1 {
            let Some(digits) = self.i64(1)? else { return Ok(Evaluated::NULL) };
            i32::try_from(digits.clamp(-100_000, 100_000)).unwrap_or(0)
        } else {
            0
        };
        match number {
            Number::Double(number) => self.finite(round_double(number, digits, cut)),
            Number::Decimal(decimal) => {
                let target = if let SqlType::Decimal { scale, .. } = self.sql_type {
                    (*scale).min(Decimal::SCALE_MAX)
                } else {
                    0
                };
                let limited = digits.min(i32::from(target));
                let rounded = match cut {
                    Cut::Round => decimal.round(limited),
                    Cut::Truncate => Ok(decimal.truncate(limited)),
                };
                let rounded = rounded.map_err(|_| out_of_range("DECIMAL", self.expression))?;
                // ROUND(1.5, 3) shows three digits.
                let padded = rounded.rescale(Decimal::PRECISION_MAX, target.max(rounded.scale()));
                Ok(Evaluated::from_decimal(padded.unwrap_or(rounded)))
            }
            Number::Int(_) | Number::UInt(_) => {
                let rounded = round_integer(number.to_integer(), digits, cut);
                let fitted = if let Number::UInt(_) = number {
                    u64::try_from(rounded).map(ValueRef::UInt)
                } else {
                    i64::try_from(rounded).map(ValueRef::Int)
                };
                fitted.map(Evaluated::Borrowed).map_err(|_| out_of_range("BIGINT", self.expression))
            }
        }
    }

    /// CONV: argument 0 read in base `from`, written in base `to` (negative: signed).
    fn in_base(self, from: i64, to: i64) -> Result<Evaluated<'a>, EvaluationError> {
        let value = self.value(0)?;
        let is_base = |base: i64| (2..=36).contains(&base.unsigned_abs());
        if value.is_null() || !is_base(from) || !is_base(to) {
            return Ok(Evaluated::NULL);
        }
        let bits = match value.as_ref() {
            // The text of BIT is its bytes, not its digits.
            ValueRef::UInt(bits) if matches!(self.type_of(0), SqlType::Bit { .. }) => bits,
            ValueRef::Double(_) | ValueRef::Decimal(_) if from == 10 => {
                // Numbers lose their fraction, they are not rounded. A FLOAT has the digits that are shown.
                let decimal = match (self.type_of(0), self.number(0)?) {
                    (SqlType::Float, _) => {
                        Decimal::parse(&text_of(value.as_ref(), &SqlType::Float)).map(|(decimal, _)| decimal)
                    }
                    (_, number) => number.and_then(Number::to_decimal),
                };
                let whole = decimal.map_or(Number::Int(0), |decimal| Number::Decimal(decimal.truncate(0)));
                low_bits(whole.to_integer())
            }
            other => {
                let text = text_of(other, self.type_of(0));
                if text.is_empty() && is_text(self.type_of(0)) {
                    return Ok(Evaluated::NULL);
                }
                read_in_base(&text, from)
            }
        };
        let mut text = String::new();
        if to < 0 && as_signed(bits) < 0 {
            text.push('-');
            push_in_base(as_signed(bits).unsigned_abs(), to.unsigned_abs(), &mut text);
        } else {
            push_in_base(bits, to.unsigned_abs(), &mut text);
        }
        Ok(Evaluated::from_bytes(text.into_bytes()))
    }

    fn inet_to_number(self) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(text) = self.text(0)? else { return Ok(Evaluated::NULL) };
        if let Some(address) = inet_address(&text) {
            return Ok(Evaluated::Borrowed(ValueRef::UInt(u64::from(address))));
        }
        self.context.incorrect_for_function("string", &text, "inet_aton")?;
        Ok(Evaluated::NULL)
    }
}

/// The treatment of digits that are not wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Round,
    Truncate,
}

/// A double rounded to digits behind the point, half to even.
pub(crate) fn rounded(number: f64, digits: i32) -> f64 {
    round_double(number, digits, Cut::Round)
}

fn round_double(number: f64, digits: i32, cut: Cut) -> f64 {
    let power = 10_f64.powi(digits.saturating_abs());
    if digits < 0 && power.is_infinite() {
        return 0.0;
    }
    let scaled = if digits < 0 { number / power } else { number * power };
    if digits >= 0 && (scaled.is_infinite() || power.is_infinite()) {
        return number;
    }
    let whole = if cut == Cut::Round { scaled.round_ties_even() } else { scaled.trunc() };
    if digits < 0 { whole * power } else { whole / power }
}

fn round_integer(number: i128, digits: i32, cut: Cut) -> i128 {
    if digits >= 0 {
        return number;
    }
    let Some(unit) =
        u32::try_from(-digits).ok().filter(|digits| *digits < 21).map(|digits| 10_i128.pow(digits))
    else {
        return 0;
    };
    let rest = number % unit;
    let away = if cut == Cut::Round && rest.abs() * 2 >= unit { unit * rest.signum() } else { 0 };
    number - rest + away
}

/// The digits at the start of `text` in a base; negative bases read signed. Too large saturates, as strtoull does.
fn read_in_base(text: &[u8], base: i64) -> u64 {
    let radix = u32::try_from(base.unsigned_abs()).unwrap_or(10);
    let trimmed = text.trim_ascii_start();
    let (negative, digits) = match trimmed {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut number: i128 = 0;
    for digit in digits.iter().map_while(|byte| char::from(*byte).to_digit(radix)) {
        number = (number * i128::from(radix) + i128::from(digit)).min(i128::from(u64::MAX));
    }
    if base < 0 {
        return low_bits(i128::from(clamp_i64(if negative { -number } else { number })));
    }
    low_bits(if negative { -number } else { number })
}

fn push_in_base(number: u64, base: u64, text: &mut String) {
    let mut digits = Vec::new();
    let mut rest = number;
    loop {
        let digit = u32::try_from(rest % base).unwrap_or(0);
        digits.push(char::from_digit(digit, 36).unwrap_or('0').to_ascii_uppercase());
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    text.extend(digits.iter().rev());
}

/// 'a.b.c.d', and the short forms 'a.d' and 'a.b.d' that MySQL reads as a.0.0.d and a.b.0.d.
fn inet_address(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let parts: Option<Vec<u8>> = text.split('.').map(|part| part.parse::<u8>().ok()).collect();
    match parts?.as_slice() {
        [d] => Some(u32::from(*d)),
        [a, d] => Some(u32::from_be_bytes([*a, 0, 0, *d])),
        [a, b, d] => Some(u32::from_be_bytes([*a, *b, 0, *d])),
        [a, b, c, d] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

/// Reflected CRC-32 (IEEE 802.3), one table entry per byte.
const CRC32_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0_u32;
    while index < 256 {
        let mut entry = index;
        let mut bit = 0;
        while bit < 8 {
            entry = if entry & 1 == 1 { 0xedb8_8320 ^ (entry >> 1) } else { entry >> 1 };
            bit += 1;
        }
        table[index as usize] = entry;
        index += 1;
    }
    table
};

fn crc32(bytes: &[u8]) -> u32 {
    let mut state = u32::MAX;
    for byte in bytes {
        let [low, ..] = state.to_le_bytes();
        state = CRC32_TABLE[usize::from(low ^ byte)] ^ (state >> 8);
    }
    !state
}
