//! DECIMAL: exact decimal numbers of up to 65 digits, up to 30 of them behind the point.
//!
//! A decimal is sign, coefficient (a 256-bit integer) and scale: coefficient / 10^scale. Intermediate results live in
//! 512 bits ([`wide`]), so every operation is exact until its one final rounding (half away from zero, as MySQL rounds
//! decimals).
//!
//! Row encoding: one byte sign (bit 7) and scale (bits 0–4), then the coefficient little-endian without leading zero
//! bytes: 12345.67 takes 4 bytes. [`DecimalRef`] points at these bytes or at a `Decimal`.
//!
//! Invariants: coefficient < 10^65; scale ≤ 30; zero is never negative. Comparison, equality and hash are by number:
//! 1.0 = 1.00.
//!
//! Deliberately not here: which precision and scale an expression has (`expression` decides).

mod parse;
mod wide;

pub(crate) use parse::literal_bounds;
use std::cmp::Ordering;
use stdx::wire::{Decoder, Encoder, Wire, WireError};
use wide::Wide;

/// A value that does not fit its precision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfRange;

/// Why a division has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecimalError {
    /// More than 65 digits.
    OutOfRange,
    /// The divisor is zero.
    DivisionByZero,
}

impl From<OutOfRange> for DecimalError {
    fn from(_: OutOfRange) -> Self {
        DecimalError::OutOfRange
    }
}

/// An exact decimal number: up to 65 digits, of which up to 30 behind the point.
#[derive(Clone, Copy, Default)]
pub struct Decimal {
    /// Little-endian limbs.
    coefficient: [u64; 4],
    scale: u8,
    negative: bool,
}

/// A decimal that lies in a row, or a borrowed `Decimal`.
#[derive(Clone, Copy)]
pub struct DecimalRef<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    Row(&'a [u8]),
    Owned(&'a Decimal),
}

/// 10^65, the first coefficient too large.
const COEFFICIENT_LIMIT: [u64; 4] = {
    let mut limbs = [1_u64, 0, 0, 0];
    let mut digit = 0;
    while digit < 65 {
        let (mut carry, mut position) = (0_u128, 0);
        while position < 4 {
            let product = limbs[position] as u128 * 10 + carry;
            #[expect(clippy::cast_possible_truncation, reason = "the low half; the rest is carried")]
            let limb = product as u64;
            limbs[position] = limb;
            carry = product >> 64;
            position += 1;
        }
        digit += 1;
    }
    limbs
};
/// Most bytes of a coefficient: 10^65 < 2^216.
const COEFFICIENT_BYTES_MAX: usize = 27;
/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl Decimal {
    /// Most digits.
    pub const PRECISION_MAX: u8 = 65;
    /// Most digits behind the point.
    pub const SCALE_MAX: u8 = 30;
    /// How many digits `/` adds to the dividend's scale (MySQL's default `div_precision_increment`).
    pub const DIVISION_SCALE_INCREMENT: u8 = 4;
    /// Most bytes of the row encoding.
    pub const ROW_BYTES_MAX: usize = 1 + COEFFICIENT_BYTES_MAX;
    /// 0.
    pub const ZERO: Decimal = Decimal { coefficient: [0; 4], scale: 0, negative: false };

    /// `coefficient / 10^scale`.
    fn build(coefficient: Wide, scale: u8, negative: bool) -> Result<Decimal, OutOfRange> {
        stdx::require!(scale <= Self::SCALE_MAX);
        let limbs = coefficient
            .to_limbs()
            .filter(|limbs| limbs_below(limbs, &COEFFICIENT_LIMIT))
            .ok_or(OutOfRange)?;
        Ok(Decimal { coefficient: limbs, scale, negative: negative && limbs != [0; 4] })
    }

    fn wide(&self) -> Wide {
        Wide::from_limbs(self.coefficient)
    }

    /// The coefficient if it takes one limb: the common case, worth its fast paths.
    fn small(&self) -> Option<u64> {
        let [low, rest @ ..] = self.coefficient;
        if rest == [0; 3] { Some(low) } else { None }
    }

    /// An exact number from a coefficient of up to 38 digits; `None` if the scale exceeds 30.
    #[must_use]
    pub fn from_parts(coefficient: i128, scale: u8) -> Option<Decimal> {
        if scale > Self::SCALE_MAX {
            return None;
        }
        Self::build(Wide::from_u128(coefficient.unsigned_abs()), scale, coefficient < 0).ok()
    }

    /// Reads the longest decimal literal (leading white space, sign, digits, point, exponent) at the start of `text`
    /// and says how many bytes it took. Rounds what exceeds 30 digits behind the point. Clamps to 65 nines what is too
    /// large.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<(Decimal, usize)> {
        parse::parse(text)
    }

    /// Digits in all, at least 1 and at least `scale`.
    #[must_use]
    pub fn precision(&self) -> u8 {
        let (mut rest, mut digits) = (self.wide(), 0_u8);
        while !rest.is_zero() {
            let (quotient, chunk) = rest.div_rem_small(10_u64.pow(19));
            let count = if quotient.is_zero() { chunk.ilog10() + 1 } else { 19 };
            digits += u8::try_from(count).unwrap_or(19);
            rest = quotient;
        }
        digits.max(self.scale).max(1)
    }

    /// Digits behind the point.
    #[must_use]
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// True below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// True for zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.coefficient == [0; 4]
    }

    /// Both coefficients at the larger scale.
    fn aligned(&self, other: &Decimal) -> (Wide, Wide, u8) {
        let scale = self.scale.max(other.scale);
        let left = self.wide().mul_power_of_ten(u32::from(scale - self.scale));
        let right = other.wide().mul_power_of_ten(u32::from(scale - other.scale));
        (left, right, scale)
    }

    /// Sum; scale is the larger one, or less where 65 digits do not hold it.
    pub fn add(&self, other: &Decimal) -> Result<Decimal, OutOfRange> {
        if self.scale == other.scale
            && self.negative == other.negative
            && let (Some(left), Some(right)) = (self.small(), other.small())
        {
            let sum = Wide::from_u128(u128::from(left) + u128::from(right));
            return Self::build(sum, self.scale, self.negative);
        }
        let (left, right, scale) = self.aligned(other);
        let (sum, negative) = if self.negative == other.negative {
            (left.add(&right), self.negative)
        } else if left >= right {
            (left.sub(&right), self.negative)
        } else {
            (right.sub(&left), other.negative)
        };
        Self::fit(sum, u32::from(scale), negative)
    }

    /// Difference; scale is the larger one.
    pub fn sub(&self, other: &Decimal) -> Result<Decimal, OutOfRange> {
        self.add(&other.neg())
    }

    /// Product; scales add up, at most 30 (rounded).
    pub fn mul(&self, other: &Decimal) -> Result<Decimal, OutOfRange> {
        let negative = self.negative != other.negative;
        let product = match (self.small(), other.small()) {
            (Some(left), Some(right)) => Wide::from_u128(u128::from(left) * u128::from(right)),
            _ => self.wide().mul(&other.wide()),
        };
        Self::fit(product, u32::from(self.scale) + u32::from(other.scale), negative)
    }

    /// Rounds away digits behind the point until at most 30 are left and 65 hold the number.
    fn fit(coefficient: Wide, scale: u32, negative: bool) -> Result<Decimal, OutOfRange> {
        let excess = scale.saturating_sub(u32::from(Self::SCALE_MAX));
        let kept = rounded(coefficient, excess);
        let mut scale = scale - excess;
        if let Ok(decimal) = Self::build(kept, u8::try_from(scale).unwrap_or(0), negative) {
            return Ok(decimal);
        }
        let mut drop = excess;
        while scale > 0 {
            (scale, drop) = (scale - 1, drop + 1);
            if let Ok(decimal) =
                Self::build(rounded(coefficient, drop), u8::try_from(scale).unwrap_or(0), negative)
            {
                return Ok(decimal);
            }
        }
        Err(OutOfRange)
    }

    /// Quotient with `scale` digits behind the point (at most 30), rounded half away from zero.
    pub fn div_with_scale(&self, other: &Decimal, scale: u8) -> Result<Decimal, DecimalError> {
        self.quotient(other, scale, |remainder, divisor| remainder.add(&remainder) >= divisor)
    }

    /// Quotient with `scale` digits behind the point (at most 30), cut towards zero.
    pub fn div_and_cut(&self, other: &Decimal, scale: u8) -> Result<Decimal, DecimalError> {
        self.quotient(other, scale, |_, _| false)
    }

    fn quotient(
        &self,
        other: &Decimal,
        scale: u8,
        rounds_up: impl Fn(Wide, Wide) -> bool,
    ) -> Result<Decimal, DecimalError> {
        if other.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        let scale = scale.min(Self::SCALE_MAX);
        let negative = self.negative != other.negative;
        let (gained, lost) = (u32::from(scale) + u32::from(other.scale), u32::from(self.scale));
        let dividend = self.wide().mul_power_of_ten(gained.saturating_sub(lost));
        let divisor = other.wide().mul_power_of_ten(lost.saturating_sub(gained));
        let (quotient, remainder) = dividend.div_rem(&divisor);
        let up = rounds_up(remainder, divisor);
        let quotient = quotient.add(&Wide::from_u64(u64::from(up)));
        Ok(Self::fit(quotient, u32::from(scale), negative)?)
    }

    /// Remainder, with the sign of the dividend and the larger scale.
    pub fn rem(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        if other.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        let (left, right, scale) = self.aligned(other);
        let (_, remainder) = left.div_rem(&right);
        Ok(Self::fit(remainder, u32::from(scale), self.negative)?)
    }

    /// The other sign.
    #[must_use]
    pub fn neg(&self) -> Decimal {
        Decimal { negative: !self.negative && !self.is_zero(), ..*self }
    }

    /// Without sign.
    #[must_use]
    pub fn abs(&self) -> Decimal {
        Decimal { negative: false, ..*self }
    }

    /// Cuts to `digits` behind the point (before it if negative); also says whether the first lost digit is 5 or more
    /// and whether anything but zeros was lost. Never has more digits behind the point than `self`.
    fn cut(&self, digits: i32) -> (Decimal, Cut) {
        let drop = i32::from(self.scale).saturating_sub(digits);
        let Ok(drop @ 1..) = u32::try_from(drop) else {
            return (*self, Cut { round_up: false, inexact: false });
        };
        // Beyond 130 digits nothing is left; the bound keeps the loop short.
        let (quotient, round_up) = self.wide().div_power_of_ten(drop.min(130));
        let scale = u8::try_from(digits.max(0)).unwrap_or(0);
        let refill = digits.min(0).unsigned_abs();
        let kept = if quotient.is_zero() { quotient } else { quotient.mul_power_of_ten(refill) };
        let inexact = kept.mul_power_of_ten(u32::from(self.scale - scale)) != self.wide();
        let decimal = Self::build(kept, scale, self.negative).unwrap_or(Decimal::ZERO);
        (decimal, Cut { round_up, inexact })
    }

    /// One unit of the last place that `cut(digits)` keeps, away from zero.
    fn step(&self, digits: i32, negative: bool) -> Result<Decimal, OutOfRange> {
        let exponent = digits.min(0).unsigned_abs();
        if exponent > 65 {
            return Err(OutOfRange);
        }
        let unit = Wide::from_u64(1).mul_power_of_ten(exponent);
        Self::build(self.wide().add(&unit), self.scale, negative)
    }

    /// ROUND(self, digits): half away from zero; negative `digits` round before the point. Never adds digits behind the
    /// point.
    pub fn round(&self, digits: i32) -> Result<Decimal, OutOfRange> {
        let (kept, cut) = self.cut(digits);
        if cut.round_up { kept.step(digits, self.negative) } else { Ok(kept) }
    }

    /// TRUNCATE(self, digits).
    #[must_use]
    pub fn truncate(&self, digits: i32) -> Decimal {
        self.cut(digits).0
    }

    /// The largest integer not above.
    pub fn floor(&self) -> Result<Decimal, OutOfRange> {
        let (kept, cut) = self.cut(0);
        if self.negative && cut.inexact { kept.step(0, true) } else { Ok(kept) }
    }

    /// The smallest integer not below.
    pub fn ceil(&self) -> Result<Decimal, OutOfRange> {
        let (kept, cut) = self.cut(0);
        if !self.negative && cut.inexact { kept.step(0, false) } else { Ok(kept) }
    }

    /// As DECIMAL(precision, scale): rounds half away from zero; refuses what has too many digits before the point.
    pub fn rescale(&self, precision: u8, scale: u8) -> Result<Decimal, OutOfRange> {
        stdx::require!(precision <= Self::PRECISION_MAX && scale <= Self::SCALE_MAX.min(precision));
        let limit = largest_coefficient(precision);
        let coefficient = if scale == self.scale {
            self.coefficient
        } else if scale > self.scale {
            let wide = self.wide().mul_power_of_ten(u32::from(scale - self.scale));
            wide.to_limbs().ok_or(OutOfRange)?
        } else {
            rounded(self.wide(), u32::from(self.scale - scale)).to_limbs().ok_or(OutOfRange)?
        };
        if limbs_below(&limit, &coefficient) {
            return Err(OutOfRange);
        }
        Ok(Decimal { coefficient, scale, negative: self.negative && coefficient != [0; 4] })
    }

    /// The largest DECIMAL(precision, scale): all nines.
    #[must_use]
    pub fn largest(precision: u8, scale: u8) -> Decimal {
        stdx::require!(precision <= Self::PRECISION_MAX && scale <= Self::SCALE_MAX);
        Decimal { coefficient: largest_coefficient(precision), scale, negative: false }
    }

    /// The integer magnitude, rounded half away from zero.
    fn integer(&self) -> Option<u64> {
        if self.scale == 0 {
            return self.small();
        }
        match rounded(self.wide(), u32::from(self.scale)).to_limbs()? {
            [low, 0, 0, 0] => Some(low),
            _ => None,
        }
    }

    /// Rounded half away from zero; `None` if out of range.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        let magnitude = i128::from(self.integer()?);
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// Rounded half away from zero; `None` if out of range.
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        self.integer().filter(|magnitude| !self.negative || *magnitude == 0)
    }

    /// The nearest double.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        if let Some(coefficient) = self.small()
            && coefficient < 1 << 53
            && let Some(power) = EXACT_POWERS.get(usize::from(self.scale))
        {
            // Both operands are exact, so the one division rounds right.
            let magnitude = to_exact_double(coefficient) / power;
            return if self.negative { -magnitude } else { magnitude };
        }
        let mut text = Vec::with_capacity(72);
        self.write(&mut text);
        std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    /// By way of the double's shortest decimal text; `None` for NaN, infinities and more than 65 digits.
    #[must_use]
    pub fn from_f64(number: f64) -> Option<Decimal> {
        if !number.is_finite() || number.abs() >= 1e65 {
            return None;
        }
        Self::parse(format!("{number:e}").as_bytes()).map(|(decimal, _)| decimal)
    }

    /// Borrows.
    #[must_use]
    pub fn as_decimal_ref(&self) -> DecimalRef<'_> {
        DecimalRef(Source::Owned(self))
    }

    /// Appends the number as text, with all digits of its scale.
    pub fn write(&self, text: &mut Vec<u8>) {
        let mut digits = [b'0'; 80];
        let (mut start, mut rest) = (digits.len(), self.wide());
        while !rest.is_zero() {
            let (quotient, mut chunk) = rest.div_rem_small(10_u64.pow(19));
            let end = start;
            while chunk != 0 || (!quotient.is_zero() && end - start < 19) {
                start -= 1;
                digits[start] = b'0' + u8::try_from(chunk % 10).unwrap_or(0);
                chunk /= 10;
            }
            rest = quotient;
        }
        let scale = usize::from(self.scale);
        let point = digits.len() - scale;
        let start = start.min(point - 1);
        if self.negative {
            text.push(b'-');
        }
        text.extend_from_slice(&digits[start..point]);
        if scale > 0 {
            text.push(b'.');
            text.extend_from_slice(&digits[point..]);
        }
    }

    /// The coefficient little-endian without leading zero bytes: the bytes and how many count.
    fn coefficient_bytes(&self) -> ([u8; 32], usize) {
        let mut bytes = [0; 32];
        for (chunk, limb) in bytes.chunks_exact_mut(8).zip(self.coefficient) {
            chunk.copy_from_slice(&limb.to_le_bytes());
        }
        let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |position| position + 1);
        (bytes, length)
    }

    /// Appends the row encoding.
    pub fn write_row_bytes(&self, row: &mut Vec<u8>) {
        let (bytes, length) = self.coefficient_bytes();
        row.push(self.scale | u8::from(self.negative) << 7);
        row.extend_from_slice(&bytes[..length]);
    }

    /// Reads what [`Decimal::write_row_bytes`] wrote; `None` for any other bytes.
    #[must_use]
    pub fn from_row_bytes(bytes: &[u8]) -> Option<Decimal> {
        let (head, rest) = bytes.split_first()?;
        let (scale, negative) = (head & 0x7f, head >> 7 != 0);
        if scale > Self::SCALE_MAX || rest.len() > COEFFICIENT_BYTES_MAX || rest.last() == Some(&0) {
            return None;
        }
        let mut coefficient = [0; 4];
        for (limb, chunk) in coefficient.iter_mut().zip(rest.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            *limb = u64::from_le_bytes(padded);
        }
        let valid = limbs_below(&coefficient, &COEFFICIENT_LIMIT) && !(negative && rest.is_empty());
        valid.then_some(Decimal { coefficient, scale, negative })
    }

    /// Appends bytes whose order is that of the numbers, for a DECIMAL(precision, scale) column: the sign-flipped
    /// coefficient big-endian in a fixed width. The value must be of that type.
    pub(crate) fn write_key_bytes(&self, precision: u8, scale: u8, key: &mut Vec<u8>) {
        let value = if self.scale == scale { *self } else { self.rescale(precision, scale).unwrap_or(*self) };
        stdx::require!(
            value.scale == scale && !limbs_below(&largest_coefficient(precision), &value.coefficient)
        );
        let (bytes, _) = value.coefficient_bytes();
        let width = Self::key_width(precision);
        let start = key.len();
        key.extend(bytes[..width].iter().rev());
        key[start] |= 0x80;
        if value.negative {
            for byte in &mut key[start..] {
                *byte = !*byte;
            }
        }
    }

    /// Bytes of a key of DECIMAL(precision, …): one bit for the sign, the rest for the digits.
    fn key_width(precision: u8) -> usize {
        let (bytes, length) =
            Decimal { coefficient: largest_coefficient(precision), ..Self::ZERO }.coefficient_bytes();
        // Without a free top bit the sign takes a byte of its own.
        if bytes[length - 1] < 0x80 { length } else { length + 1 }
    }
}

/// The part that [`Decimal::cut`] dropped.
struct Cut {
    round_up: bool,
    inexact: bool,
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53: exact")]
fn to_exact_double(number: u64) -> f64 {
    number as f64
}

fn limbs_below(left: &[u64; 4], right: &[u64; 4]) -> bool {
    left.iter().rev().cmp(right.iter().rev()).is_lt()
}

/// Divided by 10^`drop`, rounded half up.
fn rounded(coefficient: Wide, drop: u32) -> Wide {
    let (quotient, round_up) = coefficient.div_power_of_ten(drop);
    if round_up { quotient.add(&Wide::from_u64(1)) } else { quotient }
}

/// 10^precision - 1.
fn largest_coefficient(precision: u8) -> [u64; 4] {
    if precision <= 19 {
        return [10_u64.pow(u32::from(precision)) - 1, 0, 0, 0];
    }
    let power = Wide::from_u64(1).mul_power_of_ten(u32::from(precision));
    power.sub(&Wide::from_u64(1)).to_limbs().unwrap_or(COEFFICIENT_LIMIT)
}

impl<'a> DecimalRef<'a> {
    /// A decimal in its row encoding. Bytes that are none (a row that nobody checked) read as 0.
    #[must_use]
    pub fn from_row_bytes(bytes: &'a [u8]) -> Self {
        DecimalRef(Source::Row(bytes))
    }

    /// The decimal.
    #[must_use]
    pub fn to_decimal(self) -> Decimal {
        match self.0 {
            Source::Row(bytes) => Decimal::from_row_bytes(bytes).unwrap_or(Decimal::ZERO),
            Source::Owned(decimal) => *decimal,
        }
    }

    /// True if there is a decimal: false for row bytes that are none.
    #[must_use]
    pub fn is_valid(self) -> bool {
        match self.0 {
            Source::Row(bytes) => Decimal::from_row_bytes(bytes).is_some(),
            Source::Owned(_) => true,
        }
    }

    /// Appends the row encoding.
    pub fn write_row_bytes(self, row: &mut Vec<u8>) {
        match self.0 {
            Source::Row(bytes) => row.extend_from_slice(bytes),
            Source::Owned(decimal) => decimal.write_row_bytes(row),
        }
    }
}

impl<'a> From<&'a Decimal> for DecimalRef<'a> {
    fn from(decimal: &'a Decimal) -> Self {
        decimal.as_decimal_ref()
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Decimal { coefficient: [number.unsigned_abs(), 0, 0, 0], scale: 0, negative: number < 0 }
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Self {
        Decimal { coefficient: [number, 0, 0, 0], scale: 0, negative: false }
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.negative != other.negative {
            return other.negative.cmp(&self.negative);
        }
        let magnitude = if self.scale == other.scale {
            self.coefficient.iter().rev().cmp(other.coefficient.iter().rev())
        } else {
            let (left, right, _) = self.aligned(other);
            left.cmp(&right)
        };
        if self.negative { magnitude.reverse() } else { magnitude }
    }
}

impl std::hash::Hash for Decimal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // Without trailing zeros, so that 1.0 and 1.00 hash alike.
        let (mut coefficient, mut scale) = (self.wide(), self.scale);
        while scale > 0
            && let (quotient, 0) = coefficient.div_rem_small(10)
        {
            (coefficient, scale) = (quotient, scale - 1);
        }
        (coefficient.to_limbs(), scale, self.negative).hash(state);
    }
}

impl PartialEq for DecimalRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.to_decimal() == other.to_decimal()
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::with_capacity(68);
        self.write(&mut text);
        formatter.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl std::fmt::Debug for Decimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, formatter)
    }
}

impl std::fmt::Debug for DecimalRef<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.to_decimal(), formatter)
    }
}

impl Wire for Decimal {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        let (bytes, length) = self.coefficient_bytes();
        encoder.bytes.push(u8::try_from(length).unwrap_or(0));
        encoder.bytes.push(self.scale | u8::from(self.negative) << 7);
        encoder.bytes.extend_from_slice(&bytes[..length]);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        let length = usize::from(u8::decode(decoder)?);
        Decimal::from_row_bytes(decoder.take(length + 1)?).ok_or(WireError::Malformed)
    }
}

#[cfg(test)]
mod tests;
