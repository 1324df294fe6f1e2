//! 512-bit unsigned integers: room for the exact product of two 65-digit decimals and for dividends shifted by 60
//! digits.
//!
//! Little-endian 64-bit limbs. Invariant: callers keep every result below 10^130 < 2^512, so nothing here overflows; an
//! overflow is a bug and dies. Division is Knuth's algorithm D (TAOCP volume 2, 4.3.1).

use std::cmp::Ordering;

const LIMBS: usize = 8;
/// 10^19, the largest power of ten in a limb.
const CHUNK: u64 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: u32 = 19;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wide([u64; LIMBS]);

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
const fn low(double: u128) -> u64 {
    double as u64
}

const fn high(double: u128) -> u64 {
    low(double >> 64)
}

impl Wide {
    pub(super) fn from_limbs(limbs: [u64; 4]) -> Self {
        let [a, b, c, d] = limbs;
        Self([a, b, c, d, 0, 0, 0, 0])
    }

    pub(super) fn from_u64(number: u64) -> Self {
        Self::from_limbs([number, 0, 0, 0])
    }

    pub(super) fn from_u128(number: u128) -> Self {
        Self::from_limbs([low(number), high(number), 0, 0])
    }

    /// The low 256 bits, if there are no others.
    pub(super) fn to_limbs(self) -> Option<[u64; 4]> {
        let [a, b, c, d, e, f, g, h] = self.0;
        if e | f | g | h == 0 { Some([a, b, c, d]) } else { None }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0 == [0; LIMBS]
    }

    /// How many limbs are in use.
    fn len(&self) -> usize {
        self.0.iter().rposition(|limb| *limb != 0).map_or(0, |position| position + 1)
    }

    pub(super) fn add(mut self, other: &Self) -> Self {
        let mut carry = 0;
        for (limb, addend) in self.0.iter_mut().zip(other.0) {
            let sum = u128::from(*limb) + u128::from(addend) + carry;
            *limb = low(sum);
            carry = sum >> 64;
        }
        stdx::require!(carry == 0);
        self
    }

    /// `self - other`; `other` must not be larger.
    pub(super) fn sub(mut self, other: &Self) -> Self {
        let mut borrow = false;
        for (limb, subtrahend) in self.0.iter_mut().zip(other.0) {
            let (difference, first) = limb.overflowing_sub(subtrahend);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            *limb = difference;
            borrow = first || second;
        }
        stdx::require!(!borrow);
        self
    }

    /// `self * factor + addend`.
    pub(super) fn mul_add_small(mut self, factor: u64, addend: u64) -> Self {
        let mut carry = u128::from(addend);
        let len = self.len();
        for limb in &mut self.0[..len] {
            let product = u128::from(*limb) * u128::from(factor) + carry;
            *limb = low(product);
            carry = product >> 64;
        }
        if carry != 0 {
            stdx::require!(len < LIMBS);
            self.0[len] = low(carry);
        }
        self
    }

    pub(super) fn mul(&self, other: &Self) -> Self {
        let (left, right) = (&self.0[..self.len()], &other.0[..other.len()]);
        stdx::require!(left.len() + right.len() <= LIMBS);
        let mut product = [0; LIMBS];
        for (shift, factor) in left.iter().enumerate() {
            let mut carry = 0;
            for (position, limb) in right.iter().enumerate() {
                let sum =
                    u128::from(*factor) * u128::from(*limb) + u128::from(product[shift + position]) + carry;
                product[shift + position] = low(sum);
                carry = sum >> 64;
            }
            if carry != 0 {
                product[shift + right.len()] = low(carry);
            }
        }
        Self(product)
    }

    pub(super) fn mul_power_of_ten(mut self, exponent: u32) -> Self {
        let mut rest = exponent;
        while rest >= CHUNK_DIGITS {
            self = self.mul_add_small(CHUNK, 0);
            rest -= CHUNK_DIGITS;
        }
        if rest > 0 { self.mul_add_small(10_u64.pow(rest), 0) } else { self }
    }

    /// Quotient and remainder by a nonzero limb.
    pub(super) fn div_rem_small(mut self, divisor: u64) -> (Self, u64) {
        let mut remainder = 0_u64;
        let len = self.len();
        for limb in self.0[..len].iter_mut().rev() {
            if remainder == 0 {
                (*limb, remainder) = (*limb / divisor, *limb % divisor);
            } else {
                let dividend = u128::from(remainder) << 64 | u128::from(*limb);
                (*limb, remainder) =
                    (low(dividend / u128::from(divisor)), low(dividend % u128::from(divisor)));
            }
        }
        (self, remainder)
    }

    /// Quotient by 10^`exponent`, cut, and whether it would round up (half away from zero).
    pub(super) fn div_power_of_ten(mut self, exponent: u32) -> (Self, bool) {
        let mut rest = exponent;
        while rest > CHUNK_DIGITS {
            self = self.div_rem_small(CHUNK).0;
            rest -= CHUNK_DIGITS;
        }
        if rest == 0 {
            return (self, false);
        }
        // Only the digit behind the cut decides; what was dropped before lies below it.
        let divisor = 10_u64.pow(rest);
        let (quotient, remainder) = self.div_rem_small(divisor);
        (quotient, remainder >= divisor / 2)
    }

    /// Quotient and remainder by a nonzero divisor.
    pub(super) fn div_rem(&self, divisor: &Self) -> (Self, Self) {
        let divisor_len = divisor.len();
        if *self < *divisor {
            return (Self([0; LIMBS]), *self);
        }
        if divisor_len == 1 {
            let (quotient, remainder) = self.div_rem_small(divisor.0[0]);
            return (quotient, Self::from_u64(remainder));
        }
        // Normalise so that the divisor's top bit is set; the dividend gets one limb more.
        let shift = divisor.0[divisor_len - 1].leading_zeros();
        let divisor = divisor.shift_left(shift);
        let mut dividend = [0; LIMBS + 1];
        dividend[LIMBS] = if shift == 0 { 0 } else { self.0[LIMBS - 1] >> (64 - shift) };
        dividend[..LIMBS].copy_from_slice(&self.shift_left(shift).0);
        let mut quotient = [0; LIMBS];
        for position in (0..=self.len() - divisor_len).rev() {
            let window = &mut dividend[position..=position + divisor_len];
            quotient[position] = divide_window(window, &divisor.0[..divisor_len]);
        }
        let mut remainder = [0; LIMBS];
        remainder.copy_from_slice(&dividend[..LIMBS]);
        (Self(quotient), Self(remainder).shift_right(shift))
    }

    /// Shifts by less than 64 bits; bits beyond the top are lost.
    fn shift_left(&self, shift: u32) -> Self {
        let mut shifted = [0; LIMBS];
        let mut carry = 0;
        for (target, limb) in shifted.iter_mut().zip(self.0) {
            let double = u128::from(limb) << shift;
            *target = low(double) | carry;
            carry = high(double);
        }
        Self(shifted)
    }

    fn shift_right(&self, shift: u32) -> Self {
        let mut shifted = [0; LIMBS];
        let mut carry = 0;
        for (target, limb) in shifted.iter_mut().zip(self.0).rev() {
            let double = u128::from(limb) << 64 >> shift;
            *target = high(double) | carry;
            carry = low(double);
        }
        Self(shifted)
    }
}

/// One step of long division: divides the window (one limb longer than the divisor) in place and gives the quotient's
/// limb.
fn divide_window(window: &mut [u64], divisor: &[u64]) -> u64 {
    let len = divisor.len();
    let (top, next) = (u128::from(divisor[len - 1]), u128::from(divisor[len - 2]));
    let head = u128::from(window[len]) << 64 | u128::from(window[len - 1]);
    let (mut guess, mut rest) = (head / top, head % top);
    while guess >> 64 != 0 || guess * next > (rest << 64 | u128::from(window[len - 2])) {
        guess -= 1;
        rest += top;
        if rest >> 64 != 0 {
            break;
        }
    }
    let (mut carry, mut borrow) = (0_u128, false);
    for (position, limb) in window.iter_mut().enumerate() {
        let product = guess * u128::from(divisor.get(position).copied().unwrap_or(0)) + carry;
        carry = product >> 64;
        let (difference, first) = limb.overflowing_sub(low(product));
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        *limb = difference;
        borrow = first || second;
    }
    if borrow {
        // The guess was one too large (rare): add the divisor back.
        guess -= 1;
        let mut carry = 0;
        for (position, limb) in window.iter_mut().enumerate() {
            let sum = u128::from(*limb) + u128::from(divisor.get(position).copied().unwrap_or(0)) + carry;
            *limb = low(sum);
            carry = sum >> 64;
        }
    }
    low(guess)
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}
