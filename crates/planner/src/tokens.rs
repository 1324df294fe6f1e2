//! Our tokens as the parser crate's, with byte offsets as locations.
//!
//! sqlparser knows the keywords of thirty dialects; only those that mean something in MySQL are marked as keywords
//! here, all other words are plain identifiers. Texts arrive unescaped, adjacent ones joined; `?` arrives numbered. The
//! effect of sql_mode on a token is decided here: behind it a quoted word is a name, and REAL is the type that it
//! stands for.
//!
//! Invariant: a token's `span.start.column` is its byte offset in the text plus one (line is always 1).

use super::lexer::{
    Gap, Lexer, Symbol, Token as RawToken, TokenKind, bit_bytes, unquote, user_variable_name,
};
use super::modes::{TextModes, is_function_keyword};
use super::syntax::syntax_error;
use protocol::SqlError;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Word};

/// The tokens of a statement, without a last semicolon, and how many `?` there are.
pub(crate) fn parser_tokens(text: &str, modes: TextModes) -> Result<(Vec<TokenWithSpan>, usize), SqlError> {
    let mut lexer = Lexer::new(text, modes);
    let mut tokens: Vec<TokenWithSpan> = Vec::with_capacity(text.len() / 4 + 8);
    let mut markers = 0;
    let mut is_ended = false;
    loop {
        let raw = lexer.next_token().map_err(|error| syntax_error(text, error.offset))?;
        if raw.kind == TokenKind::End {
            let tokens = with_locks_of_one_table(with_table_statements(without_escapes(tokens)));
            return Ok((tokens, markers));
        }
        if raw.is(Symbol::Semicolon) {
            is_ended = true;
            continue;
        }
        if is_ended {
            return Err(syntax_error(text, raw.start));
        }
        if raw.kind == TokenKind::Marker {
            markers += 1;
        }
        if raw.kind == TokenKind::Text
            && let Some(Token::SingleQuotedString(before)) = tokens.last_mut().map(|token| &mut token.token)
        {
            before.push_str(&unquote(raw.text(text), modes));
            continue;
        }
        if raw.is(Symbol::LeftParenthesis) && lexer.gap() != Gap::None && !modes.ignore_space {
            make_name(tokens.last_mut());
        } else if raw.is(Symbol::LeftParenthesis)
            && let Some(token) = tokens.last_mut().filter(|token| is_one_of(token, &["MID"]))
        {
            // The parser crate knows FROM and FOR by this name only.
            token.token = word("SUBSTRING");
        }
        let mut token = parser_token(raw, text, markers, modes)?;
        if modes.real_as_float
            && raw.is_word(text, "REAL")
            && tokens.last().is_none_or(|before| before.token != Token::Period)
        {
            token = word("FLOAT");
        }
        if raw.is_word(text, "FROM") && trims_spaces(&tokens) {
            let space = Token::SingleQuotedString(" ".to_owned());
            tokens.push(TokenWithSpan::new(space, span(raw)));
        }
        tokens.push(TokenWithSpan::new(token, span(raw)));
    }
}

/// `{d '2024-02-29'}` is `(DATE '2024-02-29')`; `{fn f(x)}` and `{oj a LEFT JOIN b ON c}` are what is in them.
fn without_escapes(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    const OPENING: Token = Token::Char('{');
    const CLOSING: Token = Token::Char('}');
    if !tokens.iter().any(|token| token.token == OPENING) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    let (mut depth, mut position) = (0_usize, 0);
    while let Some(token) = tokens.get(position) {
        position += 1;
        let name = tokens.get(position).filter(|name| matches!(name.token, Token::Word(_)));
        match (&token.token, name) {
            (&OPENING, Some(name)) => {
                depth += 1;
                position += 1;
                written.push(TokenWithSpan::new(Token::LParen, token.span));
                let is_text = |token: &TokenWithSpan| matches!(token.token, Token::SingleQuotedString(_));
                if tokens.get(position).is_some_and(is_text) {
                    let kinds = [("d", "DATE"), ("t", "TIME"), ("ts", "TIMESTAMP")];
                    let kind = kinds.iter().find(|(short, _)| is_one_of(name, &[short]));
                    written.extend(kind.map(|(_, kind)| TokenWithSpan::new(word(kind), name.span)));
                }
            }
            (&CLOSING, _) if depth > 0 => {
                depth -= 1;
                written.push(TokenWithSpan::new(Token::RParen, token.span));
            }
            _ => written.push(token.clone()),
        }
    }
    written
}

/// `TRIM(BOTH FROM x)` is `TRIM(BOTH ' ' FROM x)`: the parser crate wants the text that is trimmed.
fn trims_spaces(before: &[TokenWithSpan]) -> bool {
    let [.., parenthesis, side] = before else { return false };
    parenthesis.token == Token::LParen && is_one_of(side, &["BOTH", "LEADING", "TRAILING"])
}

/// `TABLE t` where a query may stand is `SELECT * FROM t`; nothing but the clauses of a whole query may follow.
fn with_table_statements(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_table =
        |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::TABLE);
    if !tokens.iter().any(is_table) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 2);
    for (position, token) in tokens.iter().enumerate() {
        let (before, behind) = (&tokens[..position], &tokens[position + 1..]);
        if is_table(token) && may_begin_query(before) && is_whole_table(behind) {
            let parts = [word("SELECT"), Token::Mul, word("FROM")];
            written.extend(parts.map(|part| TokenWithSpan::new(part, token.span)));
        } else {
            written.push(token.clone());
        }
    }
    written
}

/// `FOR UPDATE OF a, b NOWAIT` is `FOR UPDATE OF a NOWAIT FOR UPDATE OF b NOWAIT`: the parser crate's clause has one
/// table.
fn with_locks_of_one_table(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_one_of(token, &["OF"])) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 8);
    let mut position = 0;
    while let Some(token) = tokens.get(position) {
        let behind = &tokens[position..];
        let names = if is_lock_of(behind) { table_names(&behind[3..]) } else { Vec::new() };
        if names.len() < 2 {
            written.push(token.clone());
            position += 1;
            continue;
        }
        // The names, and the commas between them.
        let end = 3 + names.iter().map(|name| name.len() + 1).sum::<usize>() - 1;
        let wait = match behind.get(end) {
            Some(token) if is_one_of(token, &["NOWAIT"]) => 1,
            Some(token) if is_one_of(token, &["SKIP"]) => 2,
            _ => 0,
        };
        let wait = &behind[end..behind.len().min(end + wait)];
        for name in &names {
            written.extend([&behind[..3], *name, wait].concat());
        }
        position += end + wait.len();
    }
    written
}

fn is_lock_of(tokens: &[TokenWithSpan]) -> bool {
    let is = |position: usize, words: &[&str]| tokens.get(position).is_some_and(|at| is_one_of(at, words));
    is(0, &["FOR"]) && is(1, &["UPDATE", "SHARE"]) && is(2, &["OF"])
}

/// The tokens of each name of a list that comes first.
fn table_names(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let is_name =
        |position: usize| matches!(tokens.get(position).map(|token| &token.token), Some(Token::Word(_)));
    let is = |position: usize, symbol: &Token| tokens.get(position).is_some_and(|at| at.token == *symbol);
    let (mut names, mut start) = (Vec::new(), 0);
    while is_name(start) {
        let is_qualified = is(start + 1, &Token::Period) && is_name(start + 2);
        let end = start + if is_qualified { 3 } else { 1 };
        names.push(&tokens[start..end]);
        if !is(end, &Token::Comma) {
            break;
        }
        start = end + 1;
    }
    names
}

/// Takes `INTO @a, @b` out of a SELECT and gives the names. It stands behind the items or at the end, in no parentheses
/// and before no other SELECT of a UNION; elsewhere it stays, and is a syntax error.
pub(crate) fn into_variables(tokens: &mut Vec<TokenWithSpan>) -> Vec<String> {
    let Some(first) = tokens.first() else { return Vec::new() };
    let is_query = is_one_of(first, &["SELECT", "WITH", "TABLE", "VALUES"]) || first.token == Token::LParen;
    if !is_query {
        return Vec::new();
    }
    let mut depth = 0_usize;
    let place = tokens.iter().position(|token| {
        if token.token == Token::LParen {
            depth += 1;
        } else if token.token == Token::RParen {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && is_one_of(token, &["INTO"])
    });
    let Some(start) = place else { return Vec::new() };
    let (mut names, mut end) = (Vec::new(), start + 1);
    while let Some(Token::Word(word)) = tokens.get(end).map(|token| &token.token)
        && word.quote_style.is_none()
        && word.value.starts_with('@')
        && !word.value.starts_with("@@")
    {
        names.push(user_variable_name(&word.value));
        end += 1;
        if tokens.get(end).is_none_or(|token| token.token != Token::Comma) {
            break;
        }
        end += 1;
    }
    let is_last = !tokens[start..].iter().any(|token| is_one_of(token, &["UNION", "INTERSECT", "EXCEPT"]));
    if names.is_empty() || !is_last || tokens.get(end - 1).is_some_and(|token| token.token == Token::Comma) {
        return Vec::new();
    }
    tokens.drain(start..end);
    names
}

fn is_one_of(token: &TokenWithSpan, words: &[&str]) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none()
        && words.iter().any(|known| word.value.eq_ignore_ascii_case(known)))
}

/// Whether a query may begin behind these tokens.
fn may_begin_query(before: &[TokenWithSpan]) -> bool {
    let (Some(first), Some(last)) = (before.first(), before.last()) else { return true };
    is_one_of(first, &["INSERT", "REPLACE"])
        || matches!(last.token, Token::LParen | Token::RParen)
        || is_one_of(last, &["UNION", "INTERSECT", "EXCEPT", "ALL", "DISTINCT", "AS"])
        || (before.len() == 1 && is_one_of(last, &["EXPLAIN", "DESCRIBE", "DESC"]))
}

/// Whether a table's name comes first, and then the end of a query's body.
fn is_whole_table(behind: &[TokenWithSpan]) -> bool {
    let is_name =
        |token: Option<&TokenWithSpan>| matches!(token.map(|token| &token.token), Some(Token::Word(_)));
    let is_qualified = behind.get(1).is_some_and(|token| token.token == Token::Period);
    let width = if is_qualified { 3 } else { 1 };
    let ends = ["ORDER", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "INTO", "FOR", "LOCK", "ON"];
    is_name(behind.first())
        && (!is_qualified || is_name(behind.get(2)))
        && behind.get(width).is_none_or(|token| token.token == Token::RParen || is_one_of(token, &ends))
}

/// `COUNT (`: without IGNORE_SPACE such a word is a name, as if it were quoted.
fn make_name(before: Option<&mut TokenWithSpan>) {
    if let Some(Token::Word(word)) = before.map(|token| &mut token.token)
        && is_function_keyword(&word.value)
    {
        word.quote_style = Some('`');
        word.keyword = Keyword::NoKeyword;
    }
}

/// The byte offset of a location.
pub(crate) fn offset_of(location: Location) -> usize {
    usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn span(raw: RawToken) -> Span {
    Span::new(Location::new(1, raw.start as u64 + 1), Location::new(1, raw.end as u64 + 1))
}

fn parser_token(raw: RawToken, text: &str, markers: usize, modes: TextModes) -> Result<Token, SqlError> {
    let content = raw.text(text);
    Ok(match raw.kind {
        TokenKind::Word => word(content),
        TokenKind::QuotedWord => Token::make_word(&unquote(content, modes), Some('`')),
        TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => {
            Token::Number(content.to_owned(), false)
        }
        TokenKind::Text => Token::SingleQuotedString(unquote(content, modes)),
        TokenKind::NationalText => Token::SingleQuotedString(unquote(&content[1..], modes)),
        TokenKind::HexText => hex_token(&content[2..content.len() - 1], raw, text)?,
        TokenKind::HexNumber => Token::HexStringLiteral(content[2..].to_owned()),
        TokenKind::BitText => bit_token(&content[2..content.len() - 1], raw, text)?,
        TokenKind::BitNumber => bit_token(&content[2..], raw, text)?,
        TokenKind::SystemVariable | TokenKind::UserVariable => {
            Token::Word(Word { value: content.to_owned(), quote_style: None, keyword: Keyword::NoKeyword })
        }
        TokenKind::Marker => Token::Placeholder(format!("?{}", markers - 1)),
        TokenKind::Symbol(symbol) => symbol_token(symbol, content),
        TokenKind::End => Token::EOF,
    })
}

/// `x'…'` needs whole bytes.
fn hex_token(digits: &str, raw: RawToken, text: &str) -> Result<Token, SqlError> {
    if digits.len() % 2 == 1 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(syntax_error(text, raw.start));
    }
    Ok(Token::HexStringLiteral(digits.to_owned()))
}

/// A bit literal as the hexadecimal literal of the same bytes: MySQL treats them alike.
fn bit_token(digits: &str, raw: RawToken, text: &str) -> Result<Token, SqlError> {
    let bytes = bit_bytes(digits).ok_or_else(|| syntax_error(text, raw.start))?;
    Ok(Token::HexStringLiteral(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
}

fn word(content: &str) -> Token {
    let mut token = Token::make_word(content, None);
    if let Token::Word(word) = &mut token
        && !KEYWORDS.contains(&word.keyword)
    {
        word.keyword = Keyword::NoKeyword;
    }
    token
}

fn symbol_token(symbol: Symbol, content: &str) -> Token {
    match symbol {
        Symbol::LeftParenthesis => Token::LParen,
        Symbol::RightParenthesis => Token::RParen,
        Symbol::Comma => Token::Comma,
        Symbol::Semicolon => Token::SemiColon,
        Symbol::Period => Token::Period,
        Symbol::Equal => Token::Eq,
        Symbol::NullSafeEqual => Token::Spaceship,
        Symbol::NotEqual => Token::Neq,
        Symbol::Less => Token::Lt,
        Symbol::LessOrEqual => Token::LtEq,
        Symbol::Greater => Token::Gt,
        Symbol::GreaterOrEqual => Token::GtEq,
        Symbol::ShiftLeft => Token::ShiftLeft,
        Symbol::ShiftRight => Token::ShiftRight,
        Symbol::Plus => Token::Plus,
        Symbol::Minus => Token::Minus,
        Symbol::Star => Token::Mul,
        Symbol::Slash => Token::Div,
        Symbol::Percent => Token::Mod,
        Symbol::Caret => Token::Caret,
        Symbol::Ampersand => Token::Ampersand,
        Symbol::DoubleAmpersand => Token::Overlap,
        Symbol::Pipe => Token::Pipe,
        Symbol::DoublePipe => Token::StringConcat,
        Symbol::Tilde => Token::Tilde,
        Symbol::Exclamation => Token::ExclamationMark,
        Symbol::Assign => Token::Assignment,
        Symbol::Arrow => Token::Arrow,
        Symbol::LongArrow => Token::LongArrow,
        Symbol::Colon | Symbol::Other => Token::Char(content.chars().next().unwrap_or('?')),
    }
}

/// The words that the grammar of queries and expressions gives a meaning.
const KEYWORDS: &[Keyword] = &[
    Keyword::AGAINST,
    Keyword::ALL,
    Keyword::AND,
    Keyword::ANY,
    Keyword::AS,
    Keyword::ASC,
    Keyword::BETWEEN,
    Keyword::BIGINT,
    Keyword::BINARY,
    Keyword::BOTH,
    Keyword::BY,
    Keyword::CASE,
    Keyword::CAST,
    Keyword::CHAR,
    Keyword::CHARACTER,
    Keyword::COLLATE,
    Keyword::CONVERT,
    Keyword::CROSS,
    Keyword::CURRENT,
    Keyword::CURRENT_DATE,
    Keyword::CURRENT_TIME,
    Keyword::CURRENT_TIMESTAMP,
    Keyword::CURRENT_USER,
    Keyword::DATE,
    Keyword::DATETIME,
    Keyword::DEC,
    Keyword::DECIMAL,
    Keyword::DELETE,
    Keyword::DESC,
    Keyword::DISTINCT,
    Keyword::DISTINCTROW,
    Keyword::DIV,
    Keyword::DOUBLE,
    Keyword::ELSE,
    Keyword::END,
    Keyword::ESCAPE,
    Keyword::EXCEPT,
    Keyword::EXISTS,
    Keyword::EXTRACT,
    Keyword::FALSE,
    Keyword::FLOAT,
    Keyword::FOLLOWING,
    Keyword::FOR,
    Keyword::FORCE,
    Keyword::FROM,
    Keyword::GROUP,
    Keyword::GROUPS,
    Keyword::HAVING,
    Keyword::HIGH_PRIORITY,
    Keyword::IGNORE,
    Keyword::IN,
    Keyword::INDEX,
    Keyword::INNER,
    Keyword::INSERT,
    Keyword::INT,
    Keyword::INTEGER,
    Keyword::INTERSECT,
    Keyword::INTERVAL,
    Keyword::INTO,
    Keyword::IS,
    Keyword::JOIN,
    Keyword::JSON,
    Keyword::KEY,
    Keyword::LATERAL,
    Keyword::LEADING,
    Keyword::LEFT,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::LOCALTIME,
    Keyword::LOCALTIMESTAMP,
    Keyword::LOCKED,
    Keyword::MATCH,
    Keyword::MOD,
    Keyword::NATURAL,
    Keyword::NOT,
    Keyword::NOWAIT,
    Keyword::NULL,
    Keyword::OF,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::ORDER,
    Keyword::OUTER,
    Keyword::OVER,
    Keyword::PARTITION,
    Keyword::POSITION,
    Keyword::PRECEDING,
    Keyword::PRECISION,
    Keyword::RANGE,
    Keyword::REAL,
    Keyword::RECURSIVE,
    Keyword::REGEXP,
    Keyword::RIGHT,
    Keyword::RLIKE,
    Keyword::ROLLUP,
    Keyword::ROW,
    Keyword::ROWS,
    Keyword::SELECT,
    Keyword::SEPARATOR,
    Keyword::SET,
    Keyword::SHARE,
    Keyword::SIGNED,
    Keyword::SKIP,
    Keyword::SOME,
    Keyword::SQL_BIG_RESULT,
    Keyword::SQL_BUFFER_RESULT,
    Keyword::SQL_CALC_FOUND_ROWS,
    Keyword::SQL_NO_CACHE,
    Keyword::SQL_SMALL_RESULT,
    Keyword::STRAIGHT_JOIN,
    Keyword::SUBSTR,
    Keyword::SUBSTRING,
    Keyword::TABLE,
    Keyword::THEN,
    Keyword::TIME,
    Keyword::TIMESTAMP,
    Keyword::TRAILING,
    Keyword::TRIM,
    Keyword::TRUE,
    Keyword::UNBOUNDED,
    Keyword::UNION,
    Keyword::UNKNOWN,
    Keyword::UNSIGNED,
    Keyword::UPDATE,
    Keyword::USE,
    Keyword::USING,
    Keyword::VALUES,
    Keyword::WHEN,
    Keyword::WHERE,
    Keyword::WINDOW,
    Keyword::WITH,
    Keyword::XOR,
    Keyword::YEAR,
];
