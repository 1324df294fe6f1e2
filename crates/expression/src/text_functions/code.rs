//! Texts that encode something: HEX, Base64, QUOTE, digests, FORMAT.

use super::Text;
use crate::context::{ER_WRONG_PARAMETERS_TO_NATIVE_FUNCTION, EvaluationError};
use crate::conversion::{Number, bits_to_bytes, low_bits};
use crate::function::Call;
use crate::typing::is_text;
use sha2::Digest;
use std::borrow::Cow;
use types::{Decimal, SqlType};

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";
const BASE64_DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Digits per line of TO_BASE64.
const BASE64_LINE: usize = 76;

fn upper_hex(bytes: &[u8]) -> Vec<u8> {
    let digit = |nibble: u8| HEX_DIGITS[usize::from(nibble & 15)];
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Lower-case hexadecimal digits, as the digests have them.
fn hex_text(bytes: &[u8]) -> Vec<u8> {
    upper_hex(bytes).to_ascii_lowercase()
}

/// HEX: of a string its bytes, of a number its digits in base 16.
pub(super) fn hex<'a>(call: Call<'a>) -> Result<Text<'a>, EvaluationError> {
    if is_text(call.type_of(0)) {
        return Ok(call.text(0)?.map(|text| Cow::Owned(upper_hex(&text))));
    }
    let number = match call.type_of(0) {
        SqlType::Float | SqlType::Double | SqlType::Decimal { .. } => call.double(0)?.map(rounded_for_hex),
        _ => call.integer(0)?,
    };
    let Some(number) = number else { return Ok(None) };
    let digits = upper_hex(&bits_to_bytes(low_bits(number)));
    let start = usize::from(digits.len() > 1 && digits.first() == Some(&b'0'));
    Ok(Some(Cow::Owned(digits[start..].to_vec())))
}

/// A number that is none of integers rounds away from zero, decimals as doubles; one that no integer holds is -1.
fn rounded_for_hex(number: f64) -> i128 {
    const LOWEST: f64 = -9_223_372_036_854_775_808.0;
    const BEHIND: f64 = 18_446_744_073_709_551_616.0;
    if number <= LOWEST || number >= BEHIND {
        return -1;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is between the bounds above")]
    let whole = (number + if number > 0.0 { 0.5 } else { -0.5 }) as i128;
    whole
}

/// UNHEX: `None` for anything that is no hexadecimal digit; an odd count has a 0 in front.
pub(super) fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .iter()
        .map(|byte| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let mut digits = digits?;
    if digits.len() % 2 == 1 {
        digits.insert(0, 0);
    }
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// TO_BASE64, in lines of 76 digits.
pub(super) fn to_base64(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() * 4 / 3 + 4);
    let mut line = 0;
    for group in bytes.chunks(3) {
        if line == BASE64_LINE {
            text.push(b'\n');
            line = 0;
        }
        let word =
            group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for position in 0..4 {
            let digit = usize::try_from(word >> (18 - 6 * position) & 63).unwrap_or(0);
            text.push(if position <= group.len() { BASE64_DIGITS[digit] } else { b'=' });
        }
        line += 4;
    }
    text
}

/// FROM_BASE64: white space is skipped; `None` if the rest is not Base64.
pub(super) fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let padding = digits.iter().rev().take_while(|digit| **digit == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let (mut word, mut bits) = (0_u32, 0);
    for digit in &digits[..digits.len() - padding] {
        let position = BASE64_DIGITS.iter().position(|candidate| candidate == digit)?;
        word = word << 6 | u32::try_from(position).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(word >> bits & 255).ok()?);
        }
    }
    Some(bytes)
}

/// QUOTE: a string literal; the word NULL for NULL.
pub(super) fn quote(text: Option<&[u8]>) -> Vec<u8> {
    let Some(text) = text else { return b"NULL".to_vec() };
    let mut quoted = vec![b'\''];
    for byte in text {
        match byte {
            b'\\' | b'\'' => quoted.extend_from_slice(&[b'\\', *byte]),
            0 => quoted.extend_from_slice(b"\\0"),
            0x1a => quoted.extend_from_slice(b"\\Z"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

pub(super) fn md5(text: &[u8]) -> Vec<u8> {
    hex_text(&md5::Md5::digest(text))
}

pub(super) fn sha1(text: &[u8]) -> Vec<u8> {
    hex_text(&sha1::Sha1::digest(text))
}

/// SHA2(text, bits): NULL for a length that SHA-2 does not have.
pub(super) fn sha2<'a>(call: Call<'a>) -> Result<Text<'a>, EvaluationError> {
    let (Some(text), Some(bits)) = (call.text(0)?, call.i64(1)?) else { return Ok(None) };
    let digest = match bits {
        224 => hex_text(&sha2::Sha224::digest(&text)),
        0 | 256 => hex_text(&sha2::Sha256::digest(&text)),
        384 => hex_text(&sha2::Sha384::digest(&text)),
        512 => hex_text(&sha2::Sha512::digest(&text)),
        _ => {
            let message = "Incorrect parameters in the call to native function 'sha2'";
            call.context.warnings.push(ER_WRONG_PARAMETERS_TO_NATIVE_FUNCTION, || message.to_owned());
            return Ok(None);
        }
    };
    Ok(Some(Cow::Owned(digest)))
}

/// FORMAT(number, digits): groups of three, en_US whatever locale is asked for.
pub(super) fn format<'a>(call: Call<'a>) -> Result<Text<'a>, EvaluationError> {
    let (Some(number), Some(digits)) = (call.number(0)?, call.i64(1)?) else { return Ok(None) };
    let digits = i32::try_from(digits.clamp(0, i64::from(Decimal::SCALE_MAX))).unwrap_or(0);
    let plain = match number {
        Number::Double(double) => {
            // As ROUND does, half to even; the shortest text of what comes out has the digits.
            let rounded = crate::numeric_functions::rounded(double, digits);
            match Decimal::from_f64(rounded) {
                Some(decimal) => decimal.round(digits).map(|decimal| decimal.to_string()).unwrap_or_default(),
                None => format!("{rounded:.precision$}", precision = usize::try_from(digits).unwrap_or(0)),
            }
        }
        other => other
            .to_decimal()
            .and_then(|decimal| decimal.round(digits).ok())
            .map(|decimal| decimal.to_string())
            .unwrap_or_default(),
    };
    let padded = pad_fraction(plain, usize::try_from(digits).unwrap_or(0));
    Ok(Some(Cow::Owned(grouped(&padded).into_bytes())))
}

fn pad_fraction(mut plain: String, digits: usize) -> String {
    let present = plain.find('.').map_or(0, |point| plain.len() - point - 1);
    if present < digits {
        if present == 0 {
            plain.push('.');
        }
        plain.extend(std::iter::repeat_n('0', digits - present));
    }
    plain
}

fn grouped(plain: &str) -> String {
    let (sign, rest) = plain.strip_prefix('-').map_or(("", plain), |rest| ("-", rest));
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut text = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text.push_str(fraction);
    text
}

/// SOUNDEX: the first letter, then a digit for each sound that is another one than the digit before; vowels have none.
/// It is not cut, but filled up to four. A letter behind Basic Latin counts as a vowel.
pub(super) fn soundex(text: &[u8]) -> Vec<u8> {
    /// Of A to Z.
    const SOUNDS: &[u8; 26] = b"01230120022455012623010202";
    let text = String::from_utf8_lossy(text);
    let is_letter = |letter: &char| letter.is_ascii_alphabetic() || *letter >= '\u{c0}';
    let sound = |letter: char| match u8::try_from(letter.to_ascii_uppercase()) {
        Ok(upper @ b'A'..=b'Z') => SOUNDS[usize::from(upper - b'A')],
        _ => b'0',
    };
    let mut letters = text.chars().filter(is_letter);
    let Some(first) = letters.next() else { return Vec::new() };
    let mut code = first.to_ascii_uppercase().to_string().into_bytes();
    let (mut count, mut last) = (1, sound(first));
    for digit in letters.map(sound) {
        if digit != b'0' && digit != last {
            code.push(digit);
            (count, last) = (count + 1, digit);
        }
    }
    code.extend((count..4).map(|_| b'0'));
    code
}
