//! Stored programs: procedures, functions, triggers and events, of which there are none.
//!
//! CREATE is known by its first words, before the text is cut into tokens: bodies hold semicolons and statements that
//! are nowhere else (1235). DROP needs nothing of them, and dumps begin with it: it says that there is none.

use crate::cursor::Cursor;
use crate::lexer::{Lexer, TokenKind};
use crate::modes::TextModes;
use crate::statement::{DdlStatement, ProgramKind};
use protocol::SqlError;

/// Tokens between CREATE and the kind: `OR REPLACE DEFINER = 'user' @ 'host' AGGREGATE`.
const TOKEN_COUNT_MAX: usize = 10;

/// Refuses CREATE of a stored program.
pub(super) fn check(text: &str, modes: TextModes) -> Result<(), SqlError> {
    let mut lexer = Lexer::new(text, modes);
    let mut next = || lexer.next_token().ok().filter(|token| token.kind != TokenKind::End);
    if !next().is_some_and(|token| token.is_word(text, "CREATE")) {
        return Ok(());
    }
    let begins = ["OR", "DEFINER", "AGGREGATE"];
    let mut token = next();
    if token.is_some_and(|token| begins.iter().any(|word| token.is_word(text, word))) {
        let is_kind = |token: &crate::lexer::Token| kind(*token, text).is_some();
        token = std::iter::from_fn(&mut next).take(TOKEN_COUNT_MAX).find(is_kind);
    }
    match token.and_then(|token| kind(token, text)) {
        Some(kind) => Err(SqlError::unsupported(&format!("CREATE {}", kind.name()))),
        None => Ok(()),
    }
}

fn kind(token: crate::lexer::Token, text: &str) -> Option<ProgramKind> {
    ProgramKind::ALL.into_iter().find(|kind| token.is_word(text, kind.name()))
}

/// Behind DROP; None: no stored program is meant.
pub(super) fn drop(cursor: &mut Cursor<'_>) -> Result<Option<DdlStatement>, SqlError> {
    let Some(kind) = ProgramKind::ALL.into_iter().find(|kind| cursor.take_words(kind.name())) else {
        return Ok(None);
    };
    let if_exists = super::ddl::if_exists(cursor)?;
    Ok(Some(DdlStatement::DropProgram { kind, name: cursor.table_name()?, if_exists }))
}
