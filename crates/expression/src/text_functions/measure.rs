//! Characters and positions in text, upper and lower case.

use crate::pattern::character_size;

/// How many characters `text` has; a continuation byte without its first byte counts with what is before it.
pub(crate) fn character_count(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Where character `index` starts, or the text's end.
pub(crate) fn byte_index(text: &[u8], index: usize) -> usize {
    if index >= text.len() || text.is_ascii() {
        return index.min(text.len());
    }
    text.iter()
        .enumerate()
        .filter(|(_, byte)| **byte & 0xc0 != 0x80)
        .nth(index)
        .map_or(text.len(), |(position, _)| position)
}

/// ORD: the bytes of the first character as one number.
pub(super) fn ord(text: &[u8], binary: bool) -> i64 {
    let size = character_size(text, binary);
    text[..size].iter().fold(0, |number, byte| number * 256 + i64::from(*byte))
}

/// Characters in reverse order.
pub(super) fn reversed(text: &[u8], binary: bool) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut end = text.len();
    while end > 0 {
        let mut start = end - 1;
        while !binary && start > 0 && end - start < 4 && text[start] & 0xc0 == 0x80 {
            start -= 1;
        }
        if character_size(&text[start..end], binary) != end - start {
            start = end - 1;
        }
        result.extend_from_slice(&text[start..end]);
        end = start;
    }
    result
}

/// Lower case, one character for one: what would become several stays.
pub(super) fn lower(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    mapped(text, |character| single(character, character.to_lowercase()))
}

/// Upper case, one character for one ('ß' stays).
pub(super) fn upper(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    mapped(text, |character| single(character, character.to_uppercase()))
}

fn single(character: char, mut changed: impl Iterator<Item = char>) -> char {
    match (changed.next(), changed.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

fn mapped(text: &[u8], map: impl Fn(char) -> char) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            result.extend_from_slice(map(character).encode_utf8(&mut buffer).as_bytes());
        }
        result.extend_from_slice(chunk.invalid());
    }
    result
}
