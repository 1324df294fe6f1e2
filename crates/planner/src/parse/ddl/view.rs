//! CREATE VIEW and ALTER VIEW. The query is kept as a text: the binder reads it as it reads the texts of views.

use crate::cursor::Cursor;
use crate::statement::{CreateViewStatement, DdlStatement};
use catalogue::ViewVerb;
use protocol::SqlError;
use sqlparser::tokenizer::Token;
use types::{ViewAlgorithm, ViewCheck, ViewSecurity};

/// Behind CREATE; None if no view is made.
pub(super) fn create(cursor: &mut Cursor<'_>) -> Result<Option<DdlStatement>, SqlError> {
    let place = cursor.place();
    let verb = if cursor.take_words("OR REPLACE") { ViewVerb::CreateOrReplace } else { ViewVerb::Create };
    let made = view(cursor, verb)?;
    if made.is_none() {
        cursor.go_back(place);
    }
    Ok(made)
}

/// Behind ALTER; None if no view is altered.
pub(super) fn alter(cursor: &mut Cursor<'_>) -> Result<Option<DdlStatement>, SqlError> {
    let place = cursor.place();
    let made = view(cursor, ViewVerb::Alter)?;
    if made.is_none() {
        cursor.go_back(place);
    }
    Ok(made)
}

fn view(cursor: &mut Cursor<'_>, verb: ViewVerb) -> Result<Option<DdlStatement>, SqlError> {
    let mut algorithm = ViewAlgorithm::Undefined;
    if cursor.take_words("ALGORITHM") {
        cursor.expect(&Token::Eq)?;
        algorithm = match cursor.take_one_of(&["UNDEFINED", "MERGE", "TEMPTABLE"]) {
            Some("MERGE") => ViewAlgorithm::Merge,
            Some("TEMPTABLE") => ViewAlgorithm::TempTable,
            Some(_) => ViewAlgorithm::Undefined,
            None => return Err(cursor.unexpected()),
        };
    }
    let mut definer = None;
    if cursor.take_words("DEFINER") {
        cursor.expect(&Token::Eq)?;
        definer = Some(cursor.account()?);
    }
    let mut security = ViewSecurity::Definer;
    if cursor.take_words("SQL SECURITY") {
        security = match cursor.take_one_of(&["DEFINER", "INVOKER"]) {
            Some("INVOKER") => ViewSecurity::Invoker,
            Some(_) => ViewSecurity::Definer,
            None => return Err(cursor.unexpected()),
        };
    }
    if !cursor.take_words("VIEW") {
        return Ok(None);
    }
    let name = cursor.table_name()?;
    let mut columns = Vec::new();
    if cursor.take(&Token::LParen) {
        columns = cursor.list(Cursor::identifier)?;
        cursor.expect(&Token::RParen)?;
    }
    cursor.expect_words("AS")?;
    let start = cursor.offset();
    if cursor.at_end() {
        return Err(cursor.unexpected());
    }
    let (mut check, mut end) = (ViewCheck::None, cursor.text().len());
    while !cursor.at_end() {
        let before = cursor.end_of_previous();
        if let Some(found) = check_option(cursor) {
            (check, end) = (found, before);
            cursor.expect_end()?;
        } else {
            cursor.next();
            end = cursor.end_of_previous();
        }
    }
    let query = cursor.text().get(start..end).unwrap_or_default().to_owned();
    let view = CreateViewStatement { verb, algorithm, definer, security, name, columns, query, check };
    Ok(Some(DdlStatement::CreateView(Box::new(view))))
}

/// `WITH [CASCADED | LOCAL] CHECK OPTION`.
fn check_option(cursor: &mut Cursor<'_>) -> Option<ViewCheck> {
    let forms = [
        ("WITH CHECK OPTION", ViewCheck::Cascaded),
        ("WITH CASCADED CHECK OPTION", ViewCheck::Cascaded),
        ("WITH LOCAL CHECK OPTION", ViewCheck::Local),
    ];
    forms.into_iter().find_map(|(words, check)| cursor.take_words(words).then_some(check))
}
