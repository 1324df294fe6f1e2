//! Errors about text: 1064 in MySQL's words, with the place.

use protocol::SqlError;

/// How much of the text MySQL quotes.
const NEAR_LENGTH_MAX: usize = 80;

/// 1064 at a byte offset of the text.
pub(crate) fn syntax_error(text: &str, offset: usize) -> SqlError {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let (before, rest) = text.split_at(offset);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let near: String = rest.chars().take(NEAR_LENGTH_MAX).collect();
    SqlError::new(
        1064,
        format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your LatsDB server version for the right \
             syntax to use near '{near}' at line {line}"
        ),
    )
}
