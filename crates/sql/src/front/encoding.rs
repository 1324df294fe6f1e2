//! The bytes of a statement as text.
//!
//! Statements are UTF-8, but clients that have no parameters of their own write binary values into string literals as they are:
//! `INSERT INTO picture VALUES (1, _binary'…')`. Such a literal is written again as `_binary x'…'`, which means the same; nothing else in
//! a statement may be anything but UTF-8.
//!
//! Some clients send their texts with the zero byte that ends strings in C; one at the end is passed over, as MySQL does.
//!
//! **Invariant.** A text that is UTF-8 comes back as it is, uncopied.
//!
//! Deliberately not here: other character sets. A client that says `SET NAMES latin1` is refused by that statement.

#[cfg(test)]
mod tests;

use super::lexer::{Lexer, TokenKind, unquote_bytes};
use super::modes::TextModes;
use protocol::SqlError;
use std::borrow::Cow;
use std::fmt::Write as _;

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

/// The text with literals that are not UTF-8 in hexadecimal; nothing if that is not all that is wrong.
fn with_binary_literals(bytes: &[u8], modes: TextModes) -> Option<String> {
    let mut lexer = Lexer::of_bytes(bytes, modes);
    let mut text = String::with_capacity(bytes.len() * 2);
    let mut copied = 0;
    let mut follows_character_set = false;
    loop {
        // What does not lex is an error of its own; with bytes that cannot be quoted, this one is as good.
        let token = lexer.next_token().ok()?;
        if token.kind == TokenKind::End {
            text.push_str(std::str::from_utf8(bytes.get(copied..)?).ok()?);
            return Some(text);
        }
        let written = bytes.get(token.start..token.end)?;
        if token.kind == TokenKind::Text && std::str::from_utf8(written).is_err() {
            text.push_str(std::str::from_utf8(bytes.get(copied..token.start)?).ok()?);
            text.push_str(if follows_character_set { " x'" } else { "_binary x'" });
            for byte in unquote_bytes(written, modes) {
                // Writing into a String can't fail.
                let _ = write!(text, "{byte:02x}");
            }
            text.push('\'');
            copied = token.end;
        }
        follows_character_set = token.kind == TokenKind::Word && written.first() == Some(&b'_');
    }
}
