//! Facts about a statement's text without parsing it: its first words, and the text without passwords, for people to
//! see.
//!
//! Invariant: no literal behind IDENTIFIED or PASSWORD is shown, nor one that has such a word in it
//! (`PREPARE s FROM 'ALTER USER …'`).

use super::lexer::{Lexer, TokenKind};
use super::modes::TextModes;
use std::borrow::Cow;

/// The text in place of a secret.
const HIDDEN: &str = "<secret>";
/// Behind these words stand passwords.
const TELLTALES: [&str; 2] = ["IDENTIFIED", "PASSWORD"];

/// The first two words of a statement, in upper case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeadingWords(String, String);

impl LeadingWords {
    /// ALTER USER, SET PASSWORD; and SET, which clients begin with.
    pub fn changes_password(&self) -> bool {
        self.0 == "SET" || (self.0 == "ALTER" && self.1 == "USER")
    }

    /// Whether MAX_UPDATES_PER_HOUR counts the statement.
    pub fn changes_data(&self) -> bool {
        const VERBS: [&str; 13] = [
            "ALTER", "CREATE", "DELETE", "DROP", "GRANT", "INSERT", "LOAD", "OPTIMIZE", "RENAME", "REPLACE",
            "REVOKE", "TRUNCATE", "UPDATE",
        ];
        VERBS.contains(&self.0.as_str())
    }
}

/// The first two words of a statement; empty where there is no word.
pub fn leading_words(text: &str) -> LeadingWords {
    let mut lexer = Lexer::new(text, TextModes::default());
    let mut word = || match lexer.next_token() {
        Ok(token) if token.kind == TokenKind::Word => token.text(text).to_ascii_uppercase(),
        _ => String::new(),
    };
    LeadingWords(word(), word())
}

/// The text without passwords.
pub fn without_secrets(text: &str, modes: TextModes) -> Cow<'_, str> {
    if !has_telltale(text) {
        return Cow::Borrowed(text);
    }
    let mut lexer = Lexer::new(text, modes);
    let (mut shown, mut copied, mut is_behind) = (String::new(), 0, false);
    loop {
        let token = match lexer.next_token() {
            Ok(token) if token.kind != TokenKind::End => token,
            Ok(_) => break,
            // A quote that never ends may hide one.
            Err(error) => {
                shown.push_str(text.get(copied..error.offset).unwrap_or(""));
                shown.push_str(HIDDEN);
                return Cow::Owned(shown);
            }
        };
        is_behind |= TELLTALES.iter().any(|word| token.is_word(text, word));
        let is_literal = matches!(
            token.kind,
            TokenKind::Text | TokenKind::NationalText | TokenKind::HexText | TokenKind::HexNumber
        );
        if is_literal && (is_behind || has_telltale(token.text(text))) {
            shown.push_str(text.get(copied..token.start).unwrap_or(""));
            shown.push_str(HIDDEN);
            copied = token.end;
        }
    }
    shown.push_str(text.get(copied..).unwrap_or(""));
    Cow::Owned(shown)
}

fn has_telltale(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    TELLTALES.iter().any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let check = |text: &str, shown: &str| assert_eq!(without_secrets(text, TextModes::default()), shown);
        check("SELECT 'x'", "SELECT 'x'");
        check("CREATE USER 'u'@'h' IDENTIFIED BY 'pw'", "CREATE USER 'u'@'h' IDENTIFIED BY <secret>");
        check(
            "create user u identified with p as 0x2A30, v",
            "create user u identified with p as <secret>, v",
        );
        check("SET PASSWORD FOR 'u' = \"pw\"", "SET PASSWORD FOR <secret> = <secret>");
        check("ALTER USER u IDENTIFIED BY 'half", "ALTER USER u IDENTIFIED BY <secret>");
        check("PREPARE s FROM 'ALTER USER u IDENTIFIED BY \\'pw\\''", "PREPARE s FROM <secret>");
        check("SELECT password, 'x' FROM `password`", "SELECT password, <secret> FROM `password`");
    }

    #[test]
    fn the_first_words_say_what_a_statement_does() {
        assert!(leading_words("/* c */ insert into t").changes_data());
        assert!(!leading_words("(select 1)").changes_data());
        assert!(leading_words("alter  USER u").changes_password());
        assert!(leading_words("set names utf8mb4").changes_password());
        assert!(!leading_words("alter table t").changes_password());
        assert!(!leading_words("'").changes_password());
    }
}
