//! Walks over the tokens of a statement: the words and names of our own grammar, expressions and queries through the
//! parser crate.
//!
//! Invariant: every error is 1064 at the token that does not fit, or the 1235 of a feature that is not there.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser crate's enums hold every dialect: what is not named does not fit"
)]

use super::dialect::LatsDialect;
use super::lexer::{Lexer, TokenKind};
use super::modes::{TextModes, is_function_keyword};
use super::reserved::is_reserved;
use super::statement::{Account, TableName};
use super::syntax::syntax_error;
use super::tokens::{into_variables, offset_of, parser_tokens};
use protocol::SqlError;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{Expr, Query, TableWithJoins, UnaryOperator, With};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// How deep the parser crate may recurse: at up to 20 KiB a level (unoptimised), within 2 MiB of stack.
const RECURSION_LIMIT: usize = 100;

/// A position in a statement.
pub(crate) struct Cursor<'t> {
    /// The statement's text.
    text: &'t str,
    modes: TextModes,
    parser: Parser<'static>,
    markers: usize,
    /// The user variables behind INTO of a SELECT.
    into: Vec<String>,
}

impl<'t> Cursor<'t> {
    /// The start of `text`.
    pub(crate) fn new(text: &'t str, modes: TextModes) -> Result<Self, SqlError> {
        let (mut tokens, markers) = parser_tokens(text, modes)?;
        let into = into_variables(&mut tokens);
        let parser = Parser::new(LatsDialect::of(modes))
            .with_recursion_limit(RECURSION_LIMIT)
            .with_tokens_with_locations(tokens);
        Ok(Self { text, modes, parser, markers, into })
    }

    /// How many `?` the statement has.
    pub(crate) fn marker_count(&self) -> usize {
        self.markers
    }

    /// The user variables behind INTO, in lower case.
    pub(crate) fn take_into(&mut self) -> Vec<String> {
        std::mem::take(&mut self.into)
    }

    /// The statement's text.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// The token here.
    pub(crate) fn peek(&self) -> &Token {
        &self.parser.peek_token_ref().token
    }

    /// The token `ahead` places further.
    pub(crate) fn peek_ahead(&self, ahead: usize) -> &Token {
        &self.parser.peek_nth_token_ref(ahead).token
    }

    /// The byte offset of the token here.
    pub(crate) fn offset(&self) -> usize {
        self.offset_of_token(self.parser.peek_token_ref())
    }

    /// Where the token here stands.
    pub(crate) fn span(&self) -> Span {
        self.parser.peek_token_ref().span
    }

    fn offset_of_token(&self, token: &TokenWithSpan) -> usize {
        if token.token == Token::EOF { self.text.len() } else { offset_of(token.span.start) }
    }

    /// The byte offset behind the token before.
    pub(crate) fn end_of_previous(&self) -> usize {
        offset_of(self.parser.get_current_token().span.end)
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Token {
        self.parser.next_token().token
    }

    /// 1064 at the token here.
    pub(crate) fn unexpected(&self) -> SqlError {
        syntax_error(self.text, self.offset())
    }

    /// 1064 at this byte offset.
    pub(crate) fn unexpected_at(&self, offset: usize) -> SqlError {
        syntax_error(self.text, offset)
    }

    /// True at the end of the statement.
    pub(crate) fn at_end(&self) -> bool {
        *self.peek() == Token::EOF
    }

    /// 1064 unless the statement ends here.
    pub(crate) fn expect_end(&self) -> Result<(), SqlError> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// True if the token `ahead` places further is this bare word.
    pub(crate) fn is_word_ahead(&self, ahead: usize, word: &str) -> bool {
        matches!(self.peek_ahead(ahead), Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
    }

    /// True if the token here is this bare word.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.is_word_ahead(0, word)
    }

    /// True if these bare words come next.
    pub(crate) fn are_words(&self, words: &str) -> bool {
        words.split(' ').enumerate().all(|(ahead, word)| self.is_word_ahead(ahead, word))
    }

    /// True if `first` and then one of `seconds` stand anywhere in the statement.
    pub(crate) fn mentions(&self, first: &str, seconds: &[&str]) -> bool {
        let mut lexer = Lexer::new(self.text, self.modes);
        let mut is_behind = false;
        while let Ok(token) = lexer.next_token() {
            if token.kind == TokenKind::End {
                break;
            }
            if is_behind && seconds.iter().any(|second| token.is_word(self.text, second)) {
                return true;
            }
            is_behind = token.is_word(self.text, first);
        }
        false
    }

    /// Passes over these bare words if they come next, all or none.
    pub(crate) fn take_words(&mut self, words: &str) -> bool {
        let found = self.are_words(words);
        if found {
            for _ in words.split(' ') {
                self.parser.advance_token();
            }
        }
        found
    }

    /// Passes over these bare words, or 1064.
    pub(crate) fn expect_words(&mut self, words: &str) -> Result<(), SqlError> {
        for word in words.split(' ') {
            if !self.take_words(word) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// Passes over the first of these words that is here and gives it.
    pub(crate) fn take_one_of<'w>(&mut self, words: &[&'w str]) -> Option<&'w str> {
        let found = words.iter().find(|word| self.is_word(word))?;
        self.parser.advance_token();
        Some(found)
    }

    /// Passes over this token if it is here.
    pub(crate) fn take(&mut self, token: &Token) -> bool {
        self.parser.consume_token(token)
    }

    /// Passes over this token, or 1064.
    pub(crate) fn expect(&mut self, token: &Token) -> Result<(), SqlError> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// A word before a parenthesis that makes it a function's: spaces between them count only with IGNORE_SPACE, see
    /// `tokens`.
    fn is_function(&self, word: &str) -> bool {
        *self.peek_ahead(1) == Token::LParen && is_function_keyword(word)
    }

    /// An identifier: quoted, or a word that is not reserved.
    pub(crate) fn identifier(&mut self) -> Result<String, SqlError> {
        match self.peek() {
            Token::Word(word)
                if word.quote_style.is_some()
                    || !is_reserved(&word.value)
                        && !word.value.starts_with('@')
                        && !self.is_function(&word.value) =>
            {
                let name = word.value.clone();
                self.parser.advance_token();
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// An identifier behind a period: any word.
    pub(crate) fn identifier_part(&mut self) -> Result<String, SqlError> {
        match self.peek() {
            Token::Word(word) if !word.value.starts_with('@') => {
                let name = word.value.clone();
                self.parser.advance_token();
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// An identifier or a text.
    pub(crate) fn identifier_or_text(&mut self) -> Result<String, SqlError> {
        if let Token::SingleQuotedString(text) = self.peek() {
            let text = text.clone();
            self.parser.advance_token();
            return Ok(text);
        }
        self.identifier_part()
    }

    /// `[database.]table`.
    pub(crate) fn table_name(&mut self) -> Result<TableName, SqlError> {
        let first = self.identifier()?;
        if self.take(&Token::Period) {
            let name = self.identifier_part()?;
            return Ok(TableName { database: Some(first), name });
        }
        Ok(TableName { database: None, name: first })
    }

    /// An optional alias, AS or not.
    pub(crate) fn alias(&mut self) -> Result<Option<String>, SqlError> {
        if self.take_words("AS") {
            return self.identifier().map(Some);
        }
        match self.peek() {
            Token::Word(word) if word.quote_style.is_some() || !is_reserved(&word.value) => {
                self.identifier().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A text literal.
    pub(crate) fn text_literal(&mut self) -> Result<String, SqlError> {
        match self.peek() {
            Token::SingleQuotedString(text) => {
                let text = text.clone();
                self.parser.advance_token();
                Ok(text)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// An unsigned integer literal.
    pub(crate) fn integer(&mut self) -> Result<u64, SqlError> {
        if let Token::Number(digits, _) = self.peek()
            && let Ok(number) = digits.parse::<u64>()
        {
            self.parser.advance_token();
            return Ok(number);
        }
        Err(self.unexpected())
    }

    /// Items separated by commas.
    pub(crate) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, SqlError>,
    ) -> Result<Vec<T>, SqlError> {
        let mut items = vec![item(self)?];
        while self.take(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `'user'@'host'`, `user`, `CURRENT_USER[()]`, `USER()`.
    pub(crate) fn account(&mut self) -> Result<Account, SqlError> {
        if self.is_word("USER") && *self.peek_ahead(1) == Token::LParen {
            self.take_words("USER");
            self.expect(&Token::LParen)?;
            self.expect(&Token::RParen)?;
            return Ok(Account::Current);
        }
        if self.take_words("CURRENT_USER") {
            if self.take(&Token::LParen) {
                self.expect(&Token::RParen)?;
            }
            return Ok(Account::Current);
        }
        let name = self.identifier_or_text()?;
        let host = match self.peek() {
            Token::Word(word) if word.value.starts_with('@') && word.quote_style.is_none() => {
                let host = word.value[1..].to_owned();
                self.parser.advance_token();
                if host.is_empty() { self.identifier_or_text()? } else { unquoted_host(&host) }
            }
            _ => "%".to_owned(),
        };
        Ok(Account::Named { name, host })
    }

    /// An expression.
    pub(crate) fn expression(&mut self) -> Result<Expr, SqlError> {
        let parsed = self.parser.parse_expr();
        parsed.map_err(|error| self.parser_error(&error))
    }

    /// A literal: a number with or without a sign, a text, NULL, TRUE, FALSE, `_utf8mb4'…'`, `DATE '…'`.
    pub(crate) fn literal(&mut self) -> Result<Expr, SqlError> {
        let sign = match self.peek() {
            Token::Minus => Some(UnaryOperator::Minus),
            Token::Plus => Some(UnaryOperator::Plus),
            _ => None,
        };
        if let Some(op) = sign {
            self.next();
            let expr = Box::new(self.literal()?);
            return Ok(Expr::UnaryOp { op, expr });
        }
        let is_literal = match self.peek() {
            Token::Number(..) | Token::SingleQuotedString(_) | Token::HexStringLiteral(_) => true,
            Token::Word(word) => {
                matches!(word.keyword, Keyword::NULL | Keyword::TRUE | Keyword::FALSE)
                    || matches!(self.peek_ahead(1), Token::SingleQuotedString(_))
            }
            _ => false,
        };
        if !is_literal {
            return Err(self.unexpected());
        }
        // No operator may follow: a prefix is all of it.
        let parsed = self.parser.parse_prefix();
        parsed.map_err(|error| self.parser_error(&error))
    }

    /// Tables with their joins, as in FROM.
    pub(crate) fn table_references(&mut self) -> Result<Vec<TableWithJoins>, SqlError> {
        self.list(|cursor| {
            let parsed = cursor.parser.parse_table_and_joins();
            parsed.map_err(|error| cursor.parser_error(&error))
        })
    }

    /// How many tokens are behind.
    pub(crate) fn place(&self) -> usize {
        self.parser.index()
    }

    /// Goes back to a place.
    pub(crate) fn go_back(&mut self, place: usize) {
        while self.parser.index() > place {
            self.parser.prev_token();
        }
    }

    /// Whether SELECT stands between a place and here.
    pub(crate) fn has_query_since(&self, place: usize) -> bool {
        let is_select = |token: &Token| matches!(token, Token::Word(word) if word.keyword == Keyword::SELECT);
        (place..self.place()).any(|index| is_select(&self.parser.token_at(index).token))
    }

    /// A SELECT, with all that may follow in a query.
    pub(crate) fn query(&mut self) -> Result<Box<Query>, SqlError> {
        let parsed = self.parser.parse_query();
        parsed.map_err(|error| self.parser_error(&error))
    }

    /// WITH and its queries.
    pub(crate) fn with_clause(&mut self) -> Result<With, SqlError> {
        let with_token = AttachedToken(self.parser.peek_token_ref().clone());
        self.expect_words("WITH")?;
        let recursive = self.take_words("RECURSIVE");
        let cte_tables = self.list(|cursor| {
            let parsed = cursor.parser.parse_cte();
            parsed.map_err(|error| cursor.parser_error(&error))
        })?;
        Ok(With { with_token, recursive, cte_tables })
    }

    /// The parser crate's error as ours: it says where in the last words of its message.
    fn parser_error(&self, error: &ParserError) -> SqlError {
        match error {
            ParserError::RecursionLimitExceeded => SqlError::new(
                1436,
                format!(
                    "Statement too complex: recursion limit ({RECURSION_LIMIT}) exceeded; simplify the statement"
                ),
            ),
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => {
                let offset = message
                    .rsplit_once(" Column: ")
                    .and_then(|(_, column)| column.parse::<usize>().ok())
                    .map_or(self.text.len(), |column| column.saturating_sub(1));
                syntax_error(self.text, offset)
            }
        }
    }
}

fn unquoted_host(host: &str) -> String {
    match host.chars().next() {
        Some('\'' | '"' | '`') => super::lexer::unquote(host, TextModes::default()),
        _ => host.to_owned(),
    }
}
