//! The bytes of a statement as text.
//!
//! Statements are UTF-8, but clients that have no parameters of their own write binary values into string literals as
//! they are: `INSERT INTO picture VALUES (1, _binary'…')`. Such a literal is written again as `_binary x'…'`, which
//! means the same; nothing else in a statement may be anything but UTF-8.
//!
//! A client that speaks another character set has its statements read as that. A literal behind a character set's name
//! (`_binary'…'`) means the bytes that the client sent: it is written again in hexadecimal before the rest is read.
//! Where a character has several bytes, one of them may look like a quote; there the whole is read first, and the
//! literal's bytes are made again from its text.
//!
//! Some clients send their texts with the zero byte that ends strings in C; one at the end is passed over, as MySQL
//! does.
//!
//! **Invariant.** A text that is UTF-8 comes back as it is, uncopied.

#[cfg(test)]
mod tests;

use super::lexer::{Lexer, TokenKind, unquote_bytes};
use super::modes::TextModes;
use protocol::SqlError;
use std::borrow::Cow;
use std::fmt::Write as _;
use types::{CharacterSet, MalformedAt};

/// Bytes of a wrong string that an error shows.
const INVALID_SHOWN: usize = 6;

/// The statement (or statements) that a client sent.
pub fn statement_text(bytes: &[u8], modes: TextModes) -> Result<Cow<'_, str>, SqlError> {
    let bytes = without_final_zero(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(_) => with_binary_literals(bytes, modes).map(Cow::Owned).ok_or_else(not_utf8),
    }
}

fn without_final_zero(bytes: &[u8]) -> &[u8] {
    let trimmed = bytes.trim_ascii_end();
    trimmed.strip_suffix(b"\0").unwrap_or(bytes)
}

fn not_utf8() -> SqlError {
    SqlError::new(1300, "Invalid utf8mb4 character string: the statement is not UTF-8")
}

/// The statement of a client that speaks `set`.
pub fn foreign_text(bytes: &[u8], set: CharacterSet, modes: TextModes) -> Result<String, SqlError> {
    let bytes = without_final_zero(bytes);
    let read = |bytes: &[u8]| {
        let text = set.decode(bytes).map_err(|malformed| invalid(set, bytes, malformed))?;
        Ok(text.into_owned())
    };
    if bytes.is_ascii() {
        return read(bytes);
    }
    if set.size_max() == 1 {
        let raw = |literal: &[u8], follows: bool| {
            (follows && !literal.is_ascii()).then(|| unquote_bytes(literal, modes))
        };
        return match with_hexadecimal(bytes, modes, raw) {
            Some(rewritten) => read(&rewritten),
            None => read(bytes),
        };
    }
    let text = read(bytes)?;
    let again = |literal: &[u8], follows: bool| {
        let unquoted = (follows && !literal.is_ascii()).then(|| unquote_bytes(literal, modes))?;
        let mut encoded = Vec::with_capacity(unquoted.len());
        set.encode(&String::from_utf8_lossy(&unquoted), &mut encoded);
        Some(encoded)
    };
    let rewritten =
        with_hexadecimal(text.as_bytes(), modes, again).and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(rewritten.unwrap_or(text))
}

/// 1300, with the bytes that are no text.
pub fn invalid(set: CharacterSet, bytes: &[u8], MalformedAt(position): MalformedAt) -> SqlError {
    let mut shown = String::new();
    for byte in bytes.iter().skip(position).take(INVALID_SHOWN) {
        // Writing into a String can't fail.
        let _ = write!(shown, "{byte:02X}");
    }
    SqlError::new(1300, format!("Invalid {} character string: '{shown}'", set.name()))
}

/// The text with literals that are not UTF-8 in hexadecimal; nothing if that is not all that is wrong.
fn with_binary_literals(bytes: &[u8], modes: TextModes) -> Option<String> {
    let literal = |literal: &[u8], _: bool| {
        std::str::from_utf8(literal).is_err().then(|| unquote_bytes(literal, modes))
    };
    String::from_utf8(with_hexadecimal(bytes, modes, literal)?).ok()
}

/// The text with those literals in hexadecimal for which `bytes_of` gives bytes. It is asked with the literal in its
/// quotes, and whether a character set's name stands before it. Nothing if the text does not lex.
fn with_hexadecimal(
    bytes: &[u8],
    modes: TextModes,
    bytes_of: impl Fn(&[u8], bool) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut lexer = Lexer::of_bytes(bytes, modes);
    let mut text = Vec::with_capacity(bytes.len() * 2);
    let mut copied = 0;
    let mut follows_character_set = false;
    loop {
        // A text that does not lex is an error of its own; with bytes that cannot be quoted, this one is as good.
        let token = lexer.next_token().ok()?;
        if token.kind == TokenKind::End {
            text.extend_from_slice(bytes.get(copied..)?);
            return Some(text);
        }
        let written = bytes.get(token.start..token.end)?;
        let literal = (token.kind == TokenKind::Text).then_some(written);
        if let Some(meant) = literal.and_then(|literal| bytes_of(literal, follows_character_set)) {
            text.extend_from_slice(bytes.get(copied..token.start)?);
            text.extend_from_slice(if follows_character_set { b" x'" } else { b"_binary x'" });
            for byte in meant {
                // Writing into a Vec can't fail.
                let _ = std::io::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
            }
            text.push(b'\'');
            copied = token.end;
        }
        follows_character_set = token.kind == TokenKind::Word && written.first() == Some(&b'_');
    }
}
