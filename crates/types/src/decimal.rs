//! DECIMAL (skeleton: signatures are final).
use std::cmp::Ordering;
use stdx::wire::{Decoder, Encoder, Wire, WireError};

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

/// An exact decimal number: up to 65 digits, of which up to 30 behind the point.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decimal {
    coefficient: [u64; 4],
    scale: u8,
    negative: bool,
}

/// A decimal that lies in a row, or a borrowed `Decimal`.
#[derive(Clone, Copy, Debug)]
pub struct DecimalRef<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Row(&'a [u8]),
    Owned(&'a Decimal),
}

#[expect(unused_variables, clippy::unimplemented, reason = "skeleton")]
impl Decimal {
    /// Most digits.
    pub const PRECISION_MAX: u8 = 65;
    /// Most digits behind the point.
    pub const SCALE_MAX: u8 = 30;
    /// How many digits `/` adds to the dividend's scale (MySQL's default `div_precision_increment`).
    pub const DIVISION_SCALE_INCREMENT: u8 = 4;
    /// 0.
    pub const ZERO: Decimal = Decimal { coefficient: [0; 4], scale: 0, negative: false };

    /// Reads the longest decimal literal (sign, digits, point, exponent; leading white space skipped) at the start of `text`; rounds what exceeds 30 digits behind the point;
    /// clamps to 65 nines what is too large.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<(Decimal, usize)> {
        unimplemented!()
    }
    /// Digits in all, at least 1 and at least `scale`.
    #[must_use]
    pub fn precision(&self) -> u8 {
        unimplemented!()
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
    /// Sum; scale is the larger one.
    pub fn add(&self, other: &Decimal) -> Result<Decimal, OutOfRange> {
        unimplemented!()
    }
    /// Difference; scale is the larger one.
    pub fn sub(&self, other: &Decimal) -> Result<Decimal, OutOfRange> {
        unimplemented!()
    }
    /// Product; scales add up, at most 30 (rounded).
    pub fn mul(&self, other: &Decimal) -> Result<Decimal, OutOfRange> {
        unimplemented!()
    }
    /// Quotient; scale is this scale + `DIVISION_SCALE_INCREMENT`, at most 30 (rounded half away from zero).
    pub fn div(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        unimplemented!()
    }
    /// Quotient with `scale` digits behind the point.
    pub fn div_with_scale(&self, other: &Decimal, scale: u8) -> Result<Decimal, DecimalError> {
        unimplemented!()
    }
    /// Remainder, with the sign of the dividend.
    pub fn rem(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        unimplemented!()
    }
    /// The other sign.
    #[must_use]
    pub fn neg(&self) -> Decimal {
        unimplemented!()
    }
    /// Without sign.
    #[must_use]
    pub fn abs(&self) -> Decimal {
        unimplemented!()
    }
    /// ROUND(self, digits): half away from zero; negative `digits` round before the point.
    pub fn round(&self, digits: i32) -> Result<Decimal, OutOfRange> {
        unimplemented!()
    }
    /// TRUNCATE(self, digits).
    #[must_use]
    pub fn truncate(&self, digits: i32) -> Decimal {
        unimplemented!()
    }
    /// The largest integer not above.
    pub fn floor(&self) -> Result<Decimal, OutOfRange> {
        unimplemented!()
    }
    /// The smallest integer not below.
    pub fn ceil(&self) -> Result<Decimal, OutOfRange> {
        unimplemented!()
    }
    /// As DECIMAL(precision, scale): rounds half away from zero; refuses what has too many digits before the point.
    pub fn rescale(&self, precision: u8, scale: u8) -> Result<Decimal, OutOfRange> {
        unimplemented!()
    }
    /// The largest DECIMAL(precision, scale): all nines.
    #[must_use]
    pub fn largest(precision: u8, scale: u8) -> Decimal {
        unimplemented!()
    }
    /// Rounded half away from zero; `None` if out of range.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        unimplemented!()
    }
    /// Rounded half away from zero; `None` if out of range.
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        unimplemented!()
    }
    /// The nearest double.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        unimplemented!()
    }
    /// By way of the double's shortest decimal text; `None` for NaN, infinities and more than 65 digits.
    #[must_use]
    pub fn from_f64(number: f64) -> Option<Decimal> {
        unimplemented!()
    }
    /// Borrows.
    #[must_use]
    pub fn as_decimal_ref(&self) -> DecimalRef<'_> {
        DecimalRef(Source::Owned(self))
    }
}

impl<'a> DecimalRef<'a> {
    /// The decimal.
    #[must_use]
    pub fn to_decimal(self) -> Decimal {
        match self.0 {
            Source::Row(_) => unimplemented!(),
            Source::Owned(decimal) => *decimal,
        }
    }
}
impl From<i64> for Decimal {
    fn from(_: i64) -> Self {
        unimplemented!()
    }
}
impl From<u64> for Decimal {
    fn from(_: u64) -> Self {
        unimplemented!()
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
    fn cmp(&self, _: &Self) -> Ordering {
        unimplemented!()
    }
}
impl std::hash::Hash for Decimal {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {
        unimplemented!()
    }
}
impl PartialEq for DecimalRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.to_decimal() == other.to_decimal()
    }
}
impl std::fmt::Display for Decimal {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        unimplemented!()
    }
}
impl Wire for Decimal {
    fn encode(&self, _: &mut Encoder<'_>) {
        unimplemented!()
    }
    fn decode(_: &mut Decoder<'_>) -> Result<Self, WireError> {
        unimplemented!()
    }
}
