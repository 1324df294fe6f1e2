//! Reading decimal literals.

use super::{Decimal, Wide};

/// Digits and where the point is, before anything is rounded.
struct Literal<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
    start: usize,
    consumed: usize,
}

fn digits(text: &[u8]) -> &[u8] {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &text[..count]
}

fn scan(text: &[u8]) -> Option<Literal<'_>> {
    let mut position = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
    let start = position;
    let negative = text.get(position) == Some(&b'-');
    if matches!(text.get(position), Some(b'-' | b'+')) {
        position += 1;
    }
    let integer = digits(&text[position..]);
    position += integer.len();
    let mut fraction: &[u8] = &[];
    if text.get(position) == Some(&b'.') {
        fraction = digits(&text[position + 1..]);
        position += 1 + fraction.len();
    }
    if integer.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut exponent = 0;
    if matches!(text.get(position), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(position + 1), Some(b'-' | b'+')));
        let digits = digits(&text[position + 1 + sign..]);
        if !digits.is_empty() {
            let size =
                digits.iter().fold(0_i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(1_000_000));
            exponent = if text[position + 1] == b'-' { -size } else { size };
            position += 1 + sign + digits.len();
        }
    }
    Some(Literal { negative, integer, fraction, exponent, start, consumed: position })
}

/// Where the number at the start of `text` starts (behind white space) and ends.
pub(crate) fn literal_bounds(text: &[u8]) -> Option<(usize, usize)> {
    let literal = scan(text)?;
    Some((literal.start, literal.consumed))
}

pub(super) fn parse(text: &[u8]) -> Option<(Decimal, usize)> {
    let literal = scan(text)?;
    let digit_count = literal.integer.len() + literal.fraction.len();
    let zeros = literal.integer.iter().chain(literal.fraction).take_while(|digit| **digit == b'0').count();
    let significant = digit_count - zeros;
    let to_i64 = |count: usize| i64::try_from(count).unwrap_or(i64::MAX / 4);
    // Digits in front of the point once leading zeros are gone; negative for 0.00…
    let point = to_i64(literal.integer.len()) - to_i64(zeros) + literal.exponent;
    let clamped = Decimal { negative: literal.negative, ..Decimal::largest(Decimal::PRECISION_MAX, 0) };
    if significant > 0 && point > i64::from(Decimal::PRECISION_MAX) {
        return Some((clamped, literal.consumed));
    }
    let room = (i64::from(Decimal::PRECISION_MAX) - point.max(0)).min(i64::from(Decimal::SCALE_MAX));
    let written = to_i64(literal.fraction.len()) - literal.exponent;
    let scale = written.clamp(0, room.max(0));
    let kept = if significant == 0 { 0 } else { usize::try_from((point + scale).max(0)).unwrap_or(0) };
    let mut coefficient = Wide::from_u64(0);
    let (mut chunk, mut chunk_size) = (0_u64, 1_u64);
    let mut digits = literal.integer.iter().chain(literal.fraction).skip(zeros);
    for _ in 0..kept {
        let digit = digits.next().map_or(0, |digit| u64::from(digit - b'0'));
        (chunk, chunk_size) = (chunk * 10 + digit, chunk_size * 10);
        if chunk_size == 10_u64.pow(19) {
            coefficient = coefficient.mul_add_small(chunk_size, chunk);
            (chunk, chunk_size) = (0, 1);
        }
    }
    coefficient = coefficient.mul_add_small(chunk_size, chunk);
    // A digit is lost to rounding only if the first significant one lies at or before the cut.
    if point + scale >= 0 && significant > 0 && digits.next().is_some_and(|digit| *digit >= b'5') {
        coefficient = coefficient.add(&Wide::from_u64(1));
    }
    let scale = u8::try_from(scale).unwrap_or(0);
    let decimal = Decimal::fit(coefficient, u32::from(scale), literal.negative).unwrap_or(clamped);
    Some((decimal, literal.consumed))
}
