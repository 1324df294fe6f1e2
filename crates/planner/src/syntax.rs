//! Errors about text: 1064 in MySQL's words, with the place.
//!
//! A place that is looked for in the text is found by the default rules: with others (`TextModes`) it may be a little
//! off.

use super::lexer::{Lexer, Token, TokenKind};
use super::modes::TextModes;
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

/// 1064 at the first of these bare words: for what the parser takes from other dialects.
pub(crate) fn syntax_error_at_word(text: &str, words: &[&str]) -> SqlError {
    let token = find(text, |token| words.iter().any(|word| token.is_word(text, word)));
    syntax_error(text, token.map_or(text.len(), |token| token.start))
}

/// 1064 at the token behind the last of these bare words.
pub(crate) fn syntax_error_behind_word(text: &str, word: &str) -> SqlError {
    let mut lexer = Lexer::new(text, TextModes::default());
    let mut offset = text.len();
    let mut is_behind = false;
    while let Ok(token) = lexer.next_token() {
        if is_behind {
            offset = token.start;
        }
        if token.kind == TokenKind::End {
            break;
        }
        is_behind = token.is_word(text, word);
    }
    syntax_error(text, offset)
}

fn find(text: &str, wanted: impl Fn(&Token) -> bool) -> Option<Token> {
    let mut lexer = Lexer::new(text, TextModes::default());
    while let Ok(token) = lexer.next_token() {
        if token.kind == TokenKind::End {
            return None;
        }
        if wanted(&token) {
            return Some(token);
        }
    }
    None
}
