//! LIKE: `%` stands for any characters, `_` for one, the escape character takes the next one literally.
//!
//! Characters are compared one by one under the collation, as MySQL does (so a character never matches two). Matching
//! keeps only the last `%` to come back to: memory is constant. Time is at most text length × pattern length, which is
//! counted as it passes.
//!
//! Invariant: total on bytes that are not UTF-8: a malformed byte is a character of its own.

use crate::context::{EvaluationError, WIDE_FACTOR};
use crate::search::Meter;
use types::Collation;

/// Bytes of the first character; 0 at the end.
pub(crate) fn character_size(text: &[u8], binary: bool) -> usize {
    let size = match text.first() {
        None => return 0,
        Some(_) if binary => 1,
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) => 1,
    };
    let whole = text.len() >= size && text[1..size].iter().all(|byte| byte & 0xc0 == 0x80);
    if whole { size } else { 1 }
}

/// The next element of a pattern.
enum Element<'p> {
    AnyString,
    AnyCharacter,
    Character(&'p [u8]),
}

/// The element at the start of `pattern` and its size; `None` at the end.
fn next_element<'p>(pattern: &'p [u8], escape: Option<&[u8]>, binary: bool) -> Option<(Element<'p>, usize)> {
    let size = character_size(pattern, binary);
    if size == 0 {
        return None;
    }
    let character = &pattern[..size];
    if Some(character) == escape {
        let next = character_size(&pattern[size..], binary);
        if next > 0 {
            return Some((Element::Character(&pattern[size..size + next]), size + next));
        }
        return Some((Element::Character(character), size));
    }
    Some(match character {
        b"%" => (Element::AnyString, size),
        b"_" => (Element::AnyCharacter, size),
        _ => (Element::Character(character), size),
    })
}

pub(crate) fn equal_characters(left: &[u8], right: &[u8], collation: Collation) -> bool {
    if left == right {
        return true;
    }
    match (left, right) {
        ([left], [right]) => collation.ignores_case() && left.eq_ignore_ascii_case(right),
        _ => !collation.is_code_point_order() && collation.equal(left, right),
    }
}

/// The escape character of a LIKE as bytes in `buffer`.
pub(crate) fn escape_bytes(escape: Option<u32>, buffer: &mut [u8; 4]) -> Option<&[u8]> {
    let character = char::from_u32(escape?)?;
    Some(character.encode_utf8(buffer).as_bytes())
}

/// True if all of `text` matches `pattern`.
pub(crate) fn like(
    text: &[u8],
    pattern: &[u8],
    escape: Option<&[u8]>,
    collation: Collation,
    meter: &mut Meter<'_>,
) -> Result<bool, EvaluationError> {
    let binary = collation == Collation::Binary;
    let (mut text_at, mut pattern_at) = (0, 0);
    // Behind the last `%`: where the pattern goes on, and the text it will next be tried on.
    let mut retry: Option<(usize, usize)> = None;
    let folds_case = collation.ignores_case();
    loop {
        meter.spend(1)?;
        if let (Some(wanted), Some(found)) = (pattern.get(pattern_at), text.get(text_at))
            && is_plain(*wanted, escape)
            && found.is_ascii()
        {
            let same = wanted == found || (folds_case && wanted.eq_ignore_ascii_case(found));
            if same {
                (pattern_at, text_at) = (pattern_at + 1, text_at + 1);
                continue;
            }
            let Some((pattern_retry, text_retry)) = retry else { return Ok(false) };
            let next = next_candidate(&pattern[pattern_retry..], text, text_retry, escape, folds_case);
            retry = Some((pattern_retry, next));
            (pattern_at, text_at) = (pattern_retry, next);
            continue;
        }
        let element = next_element(&pattern[pattern_at..], escape, binary);
        let size = character_size(&text[text_at..], binary);
        let matched = match element {
            None if size == 0 => return Ok(true),
            None => None,
            Some((Element::AnyString, element_size)) => {
                pattern_at += element_size;
                if pattern_at == pattern.len() {
                    return Ok(true);
                }
                retry = Some((pattern_at, text_at));
                continue;
            }
            Some((Element::AnyCharacter, element_size)) => (size > 0).then_some(element_size),
            Some((Element::Character(character), element_size)) => {
                meter.spend(WIDE_FACTOR)?;
                let same = size > 0 && equal_characters(&text[text_at..text_at + size], character, collation);
                same.then_some(element_size)
            }
        };
        if let Some(element_size) = matched {
            pattern_at += element_size;
            text_at += size;
            continue;
        }
        let Some((pattern_retry, text_retry)) = retry else { return Ok(false) };
        let skipped = character_size(&text[text_retry..], binary);
        if skipped == 0 {
            return Ok(false);
        }
        retry = Some((pattern_retry, text_retry + skipped));
        (pattern_at, text_at) = (pattern_retry, text_retry + skipped);
    }
}

/// An ASCII character that stands for itself.
#[inline]
fn is_plain(byte: u8, escape: Option<&[u8]>) -> bool {
    byte.is_ascii() && byte != b'%' && byte != b'_' && escape != Some(&[byte])
}

/// Where behind `from` a pattern that follows a `%` may match next: at a character equal to its first one, if that is
/// plain.
fn next_candidate(
    pattern: &[u8],
    text: &[u8],
    from: usize,
    escape: Option<&[u8]>,
    folds_case: bool,
) -> usize {
    let start = from + character_size(&text[from..], false);
    let Some(wanted) = pattern.first().copied().filter(|byte| is_plain(*byte, escape)) else { return start };
    let skipped = text[start..].iter().position(|found| {
        // Whether a character beyond ASCII equals the wanted one is for the collation to say.
        !found.is_ascii() || *found == wanted || (folds_case && found.eq_ignore_ascii_case(&wanted))
    });
    skipped.map_or(text.len(), |skipped| start + skipped)
}

/// The literal characters that every match of `pattern` starts with, unescaped, and whether the pattern is nothing else
/// than these followed by one `%`. For range access by an index.
#[must_use]
pub fn like_prefix(pattern: &[u8], escape: Option<u32>) -> (Vec<u8>, bool) {
    let mut buffer = [0; 4];
    let escape = escape_bytes(escape, &mut buffer);
    let (mut prefix, mut at) = (Vec::new(), 0);
    loop {
        match next_element(&pattern[at..], escape, false) {
            None => return (prefix, false),
            Some((Element::Character(character), size)) => {
                prefix.extend_from_slice(character);
                at += size;
            }
            Some((Element::AnyString, size)) => return (prefix, at + size == pattern.len()),
            Some((Element::AnyCharacter, _)) => return (prefix, false),
        }
    }
}
