//! Names of select items that have no alias: their text, as MySQL names them.

use crate::lexer::{Lexer, Symbol, TokenKind};
use crate::modes::TextModes;

/// The text of each item of the first select list outside of parentheses.
pub(crate) fn item_texts(text: &str, modes: TextModes) -> Vec<&str> {
    const MODIFIERS: [&str; 10] = [
        "all",
        "distinct",
        "distinctrow",
        "high_priority",
        "sql_small_result",
        "sql_big_result",
        "sql_buffer_result",
        "sql_no_cache",
        "sql_calc_found_rows",
        "straight_join",
    ];
    const ENDS: [&str; 13] = [
        "from",
        "into",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "for",
        "union",
        "intersect",
        "except",
        "lock",
        "procedure",
    ];
    let mut lexer = Lexer::new(text, modes);
    let (mut depth, mut items) = (0_usize, Vec::new());
    // The depth of the select list, once SELECT was seen; and the item's start and end so far.
    let mut list_depth = None;
    let mut item: Option<(usize, usize)> = None;
    while let Ok(token) = lexer.next_token() {
        let at_list = list_depth == Some(depth);
        match token.kind {
            TokenKind::End => break,
            TokenKind::Symbol(Symbol::RightParenthesis) if at_list => break,
            TokenKind::Symbol(Symbol::LeftParenthesis) => depth += 1,
            TokenKind::Symbol(Symbol::RightParenthesis) => depth = depth.saturating_sub(1),
            TokenKind::Symbol(Symbol::Semicolon) if at_list => break,
            TokenKind::Symbol(Symbol::Comma) if at_list => {
                items.extend(item.take().map(|(start, end)| &text[start..end]));
                continue;
            }
            TokenKind::Word if list_depth.is_none() => {
                if token.is_word(text, "select") {
                    list_depth = Some(depth);
                }
                continue;
            }
            TokenKind::Word if at_list => {
                let word = token.text(text);
                let is = |name: &&str| word.eq_ignore_ascii_case(name);
                if item.is_none() && MODIFIERS.iter().any(is) {
                    continue;
                }
                if item.is_some() && ENDS.iter().any(is) {
                    break;
                }
            }
            _ => {}
        }
        if list_depth.is_some() {
            item = Some((item.map_or(token.start, |(start, _)| start), token.end));
        }
    }
    items.extend(item.map(|(start, end)| &text[start..end]));
    items
}

#[cfg(test)]
mod tests {
    use crate::modes::TextModes;

    fn item_texts(text: &str) -> Vec<&str> {
        super::item_texts(text, TextModes::default())
    }

    #[test]
    fn items_are_split_at_their_own_commas() {
        assert_eq!(item_texts("select distinct a,  b + 1 , f(c, d) from t"), ["a", "b + 1", "f(c, d)"]);
        assert_eq!(item_texts("explain select 1"), ["1"]);
        assert_eq!(item_texts("(select count(*) as n, 'x,y')"), ["count(*) as n", "'x,y'"]);
        assert_eq!(item_texts("select extract(day from a), b.from from t;"), ["extract(day from a)", "b."]);
        assert_eq!(item_texts("insert into t values (1)"), Vec::<&str>::new());
    }
}
