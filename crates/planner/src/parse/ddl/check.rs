//! CHECK constraints: `[CONSTRAINT [name]] CHECK (condition) [[NOT] ENFORCED]`.

use crate::cursor::Cursor;
use crate::statement::CheckClause;
use protocol::SqlError;
use sqlparser::tokenizer::Token;

/// A constraint, if one is here.
pub(super) fn check(cursor: &mut Cursor<'_>) -> Result<Option<CheckClause>, SqlError> {
    let is_named = cursor.is_word("CONSTRAINT");
    let ahead = (0..=2).find(|ahead| cursor.is_word_ahead(*ahead, "CHECK"));
    let words = match ahead {
        Some(0) => 0,
        Some(words) if is_named => words,
        _ => return Ok(None),
    };
    if words > 0 {
        cursor.next();
    }
    let name = if words == 2 { Some(cursor.identifier()?) } else { None };
    cursor.expect_words("CHECK")?;
    let (condition, text) = parenthesized(cursor)?;
    let is_enforced = enforcement(cursor).unwrap_or(true);
    Ok(Some(CheckClause { name, condition, text, is_enforced }))
}

/// `[NOT] ENFORCED`, if it is here.
pub(super) fn enforcement(cursor: &mut Cursor<'_>) -> Option<bool> {
    if cursor.take_words("NOT ENFORCED") {
        Some(false)
    } else if cursor.take_words("ENFORCED") {
        Some(true)
    } else {
        None
    }
}

/// An expression in parentheses, and its text without them.
pub(super) fn parenthesized(cursor: &mut Cursor<'_>) -> Result<(sqlparser::ast::Expr, String), SqlError> {
    cursor.expect(&Token::LParen)?;
    let start = cursor.offset();
    let expression = cursor.expression()?;
    let end = cursor.end_of_previous();
    cursor.expect(&Token::RParen)?;
    let text = cursor.text().get(start..end).unwrap_or("").trim().to_owned();
    Ok((expression, text))
}
