//! Text to tokens: MySQL's lexical rules, and nothing else.
//!
//! A token is a kind and two byte offsets; the text is never copied. Comments vanish, but the code inside a version
//! comment that is meant for us (`/*!40101 … */`) is read as if it stood alone.
//!
//! *Invariants.* Lexing is total: every text gives tokens up to `End`, or one [`LexError`]. Tokens never overlap and
//! never split a UTF-8 character. Work and state are linear in the text; nothing recurses.
//!
//! Two parts of sql_mode change the rules ([`TextModes`]): ANSI_QUOTES makes `"…"` a name, NO_BACKSLASH_ESCAPES leaves
//! backslashes alone.
//!
//! Deliberately not here: keywords (a word is a word; the parser knows which ones mean something where).

#[cfg(test)]
mod tests;

use super::modes::TextModes;

/// Code in a version comment is read if its number is not above this: the MySQL version whose syntax we follow.
const VERSION_COMMENT_MAX: u32 = 80_499;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    /// A bare word: keyword or identifier.
    Word,
    /// `` `identifier` ``; `"identifier"` with ANSI_QUOTES.
    QuotedWord,
    /// Digits.
    Integer,
    /// Digits with a point.
    Decimal,
    /// With an exponent.
    Float,
    /// `'…'` or `"…"`.
    Text,
    /// `N'…'`.
    NationalText,
    /// `x'…'`.
    HexText,
    /// `0x…`.
    HexNumber,
    /// `b'…'`.
    BitText,
    /// `0b…`.
    BitNumber,
    /// `@@name`, `@@scope.name`.
    SystemVariable,
    /// `@name`, ``@`name` ``, `@'name'`; also a bare `@` (of `user@host`, where the host is the next token).
    UserVariable,
    /// `?`.
    Marker,
    /// Operators and punctuation.
    Symbol(Symbol),
    /// The end of the text.
    End,
}

/// Operators and punctuation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbol {
    LeftParenthesis,
    RightParenthesis,
    Comma,
    Semicolon,
    Period,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Ampersand,
    DoubleAmpersand,
    Pipe,
    DoublePipe,
    Tilde,
    Exclamation,
    Assign,
    Arrow,
    LongArrow,
    Colon,
    /// `{ } [ ]`, `\`: lexed so that the parser can refuse them where they stand.
    Other,
}

/// A token: `text[start..end]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    /// Its kind.
    pub(crate) kind: TokenKind,
    /// Offset of its first byte.
    pub(crate) start: usize,
    /// Offset behind its last byte.
    pub(crate) end: usize,
}

impl Token {
    /// Its text.
    #[inline]
    pub(crate) fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or("")
    }

    /// True for this symbol.
    pub(crate) fn is(&self, symbol: Symbol) -> bool {
        self.kind == TokenKind::Symbol(symbol)
    }

    /// True for a bare word that is `word` (given in any case).
    pub(crate) fn is_word(&self, text: &str, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text(text).eq_ignore_ascii_case(word)
    }
}

/// The text breaks the lexical rules at this offset: a quote or a comment that never ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LexError {
    /// Where what does not end began.
    pub(crate) offset: usize,
}

/// The gap between two tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gap {
    /// Nothing.
    None,
    /// White space only.
    Space,
    /// A comment, or an end of a version comment.
    Comment,
}

/// Reads tokens one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'t> {
    bytes: &'t [u8],
    position: usize,
    /// Inside `/*! … */`.
    in_version_comment: bool,
    /// The token before was a `.`: what follows is a name, even if it begins with a digit.
    after_period: bool,
    /// The gap before the last token.
    gap: Gap,
    modes: TextModes,
}

const WORD: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 4;

/// Classes of bytes; bytes of multi-byte characters are word bytes, as in MySQL.
const CLASSES: [u8; 256] = {
    let mut classes = [0_u8; 256];
    let mut byte = 0_usize;
    while byte < 256 {
        classes[byte] = match byte {
            0x30..=0x39 => WORD | DIGIT,
            0x41..=0x5a | 0x61..=0x7a | 0x5f | 0x24 | 0x80..=0xff => WORD,
            0x20 | 0x09..=0x0d => SPACE,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

#[inline]
fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

impl<'t> Lexer<'t> {
    /// A lexer at the start of `text`.
    pub(crate) fn new(text: &'t str, modes: TextModes) -> Self {
        Self::of_bytes(text.as_bytes(), modes)
    }

    /// A lexer over what may not be UTF-8: the tokens then are not, either.
    pub(crate) fn of_bytes(bytes: &'t [u8], modes: TextModes) -> Self {
        Self { bytes, position: 0, in_version_comment: false, after_period: false, gap: Gap::None, modes }
    }

    /// How it reads.
    pub(crate) fn modes(&self) -> TextModes {
        self.modes
    }

    /// The gap before the token that `next_token` gave last.
    pub(crate) fn gap(&self) -> Gap {
        self.gap
    }

    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.position + ahead).copied().unwrap_or(0)
    }

    /// The next token; `End` again and again at the end.
    #[inline]
    pub(crate) fn next_token(&mut self) -> Result<Token, LexError> {
        self.skip_gap()?;
        let start = self.position;
        let Some(&byte) = self.bytes.get(start) else {
            return Ok(Token { kind: TokenKind::End, start, end: start });
        };
        let after_period = std::mem::take(&mut self.after_period);
        let kind = if class(byte) & DIGIT != 0 && !after_period {
            self.number()
        } else if class(byte) & WORD != 0 {
            self.word(byte)?
        } else {
            self.quoted_or_symbol(byte, after_period)?
        };
        Ok(Token { kind, start, end: self.position })
    }

    #[inline]
    fn skip_gap(&mut self) -> Result<(), LexError> {
        self.gap = Gap::None;
        loop {
            let byte = self.peek(0);
            if class(byte) & SPACE != 0 {
                self.position += 1;
                if self.gap == Gap::None {
                    self.gap = Gap::Space;
                }
            } else if matches!(byte, b'#' | b'-' | b'/' | b'*') {
                if !self.skip_comment(byte)? {
                    return Ok(());
                }
                self.gap = Gap::Comment;
            } else {
                return Ok(());
            }
        }
    }

    /// Passes over a comment that starts here; false if none does.
    fn skip_comment(&mut self, byte: u8) -> Result<bool, LexError> {
        match byte {
            b'#' => self.skip_line(),
            b'-' if self.peek(1) == b'-' && self.ends_dashes() => self.skip_line(),
            b'/' if self.peek(1) == b'*' && self.peek(2) == b'!' => return self.open_version_comment(),
            b'/' if self.peek(1) == b'*' => self.skip_block(self.position)?,
            b'*' if self.in_version_comment && self.peek(1) == b'/' => {
                self.in_version_comment = false;
                self.position += 2;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `--` begins a comment only before white space, a control character or the end.
    fn ends_dashes(&self) -> bool {
        self.bytes.get(self.position + 2).is_none_or(|byte| *byte <= b' ' || *byte == 0x7f)
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.position..];
        self.position += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    fn skip_block(&mut self, start: usize) -> Result<(), LexError> {
        let mut at = self.position + 2;
        while at + 1 < self.bytes.len() {
            if self.bytes[at] == b'*' && self.bytes[at + 1] == b'/' {
                self.position = at + 2;
                return Ok(());
            }
            at += 1;
        }
        Err(LexError { offset: start })
    }

    fn open_version_comment(&mut self) -> Result<bool, LexError> {
        let start = self.position;
        let digits = self.bytes[start + 3..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
        let version = self.bytes[start + 3..start + 3 + digits]
            .iter()
            .fold(0_u32, |version, digit| version * 10 + u32::from(digit - b'0'));
        // A comment within a version comment is only text, and one that no `*/` ends is an error.
        let mut probe = self.clone();
        probe.skip_block(start)?;
        if digits >= 5 && version > VERSION_COMMENT_MAX || self.in_version_comment {
            self.position = probe.position;
            return Ok(true);
        }
        self.in_version_comment = true;
        self.position = start + 3 + digits;
        Ok(true)
    }

    #[inline]
    fn skip_word_bytes(&mut self) {
        while self.position < self.bytes.len() && class(self.bytes[self.position]) & WORD != 0 {
            self.position += 1;
        }
    }

    #[inline]
    fn word(&mut self, first: u8) -> Result<TokenKind, LexError> {
        if self.peek(1) == b'\'' {
            let kind = match first {
                b'x' | b'X' => Some(TokenKind::HexText),
                b'b' | b'B' => Some(TokenKind::BitText),
                b'n' | b'N' => Some(TokenKind::NationalText),
                _ => None,
            };
            if let Some(kind) = kind {
                self.position += 1;
                self.quoted(b'\'')?;
                return Ok(kind);
            }
        }
        self.skip_word_bytes();
        Ok(TokenKind::Word)
    }

    /// A number, or an identifier that begins with digits.
    fn number(&mut self) -> TokenKind {
        let start = self.position;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'b') {
            let is_hex = self.peek(1) == b'x';
            let mut lexer = self.clone();
            lexer.skip_word_bytes();
            let digits = &self.bytes[start + 2..lexer.position];
            let valid =
                |byte: &u8| if is_hex { byte.is_ascii_hexdigit() } else { matches!(byte, b'0' | b'1') };
            self.position = lexer.position;
            if digits.is_empty() || !digits.iter().all(valid) {
                return TokenKind::Word;
            }
            return if is_hex { TokenKind::HexNumber } else { TokenKind::BitNumber };
        }
        while self.peek(0).is_ascii_digit() {
            self.position += 1;
        }
        match self.peek(0) {
            b'.' => {
                self.position += 1;
                self.fraction()
            }
            b'e' | b'E' if self.skip_exponent() => TokenKind::Float,
            byte if class(byte) & WORD != 0 => {
                self.skip_word_bytes();
                TokenKind::Word
            }
            _ => TokenKind::Integer,
        }
    }

    /// The fraction behind the point of a number.
    fn fraction(&mut self) -> TokenKind {
        while self.peek(0).is_ascii_digit() {
            self.position += 1;
        }
        if matches!(self.peek(0), b'e' | b'E') && self.skip_exponent() {
            return TokenKind::Float;
        }
        TokenKind::Decimal
    }

    fn skip_exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if !self.peek(1 + sign).is_ascii_digit() {
            return false;
        }
        self.position += 1 + sign;
        while self.peek(0).is_ascii_digit() {
            self.position += 1;
        }
        true
    }

    /// Passes over a quoted text whose opening quote is at the position.
    fn quoted(&mut self, quote: u8) -> Result<(), LexError> {
        let start = self.position;
        let mut at = start + 1;
        while at < self.bytes.len() {
            let byte = self.bytes[at];
            if byte == quote {
                if self.bytes.get(at + 1) != Some(&quote) {
                    self.position = at + 1;
                    return Ok(());
                }
                at += 2;
            } else if byte == b'\\' && self.modes.escapes(quote) {
                at += 2;
            } else {
                at += 1;
            }
        }
        Err(LexError { offset: start })
    }

    fn quoted_or_symbol(&mut self, byte: u8, after_period: bool) -> Result<TokenKind, LexError> {
        match byte {
            b'"' if self.modes.ansi_quotes => self.quoted(byte).map(|()| TokenKind::QuotedWord),
            b'\'' | b'"' => self.quoted(byte).map(|()| TokenKind::Text),
            b'`' => self.quoted(byte).map(|()| TokenKind::QuotedWord),
            b'@' => self.variable(),
            b'?' => {
                self.position += 1;
                Ok(TokenKind::Marker)
            }
            b'.' if self.peek(1).is_ascii_digit() && !after_period && !self.follows_name() => {
                self.position += 1;
                Ok(self.fraction())
            }
            _ => Ok(self.symbol(byte)),
        }
    }

    /// `t.1a`: a point right behind a name is no decimal point.
    fn follows_name(&self) -> bool {
        self.position > 0
            && matches!(self.bytes[self.position - 1], byte if class(byte) & WORD != 0 || byte == b'`')
    }

    fn variable(&mut self) -> Result<TokenKind, LexError> {
        if self.peek(1) == b'@' {
            self.position += 2;
            loop {
                if self.peek(0) == b'`' {
                    self.quoted(b'`')?;
                } else {
                    self.skip_word_bytes();
                }
                if self.peek(0) != b'.' {
                    return Ok(TokenKind::SystemVariable);
                }
                self.position += 1;
            }
        }
        self.position += 1;
        match self.peek(0) {
            quote @ (b'\'' | b'"' | b'`') => self.quoted(quote)?,
            _ => {
                while class(self.peek(0)) & WORD != 0 && self.position < self.bytes.len()
                    || self.peek(0) == b'.'
                {
                    self.position += 1;
                }
            }
        }
        Ok(TokenKind::UserVariable)
    }

    fn symbol(&mut self, byte: u8) -> TokenKind {
        let next = self.peek(1);
        let (symbol, length) = match (byte, next) {
            (b'<', b'=') if self.peek(2) == b'>' => (Symbol::NullSafeEqual, 3),
            (b'<', b'=') => (Symbol::LessOrEqual, 2),
            (b'<', b'>') | (b'!', b'=') => (Symbol::NotEqual, 2),
            (b'<', b'<') => (Symbol::ShiftLeft, 2),
            (b'>', b'=') => (Symbol::GreaterOrEqual, 2),
            (b'>', b'>') => (Symbol::ShiftRight, 2),
            (b'|', b'|') => (Symbol::DoublePipe, 2),
            (b'&', b'&') => (Symbol::DoubleAmpersand, 2),
            (b':', b'=') => (Symbol::Assign, 2),
            (b'-', b'>') if self.peek(2) == b'>' => (Symbol::LongArrow, 3),
            (b'-', b'>') => (Symbol::Arrow, 2),
            _ => (single_symbol(byte), 1),
        };
        self.after_period = symbol == Symbol::Period;
        self.position += length;
        TokenKind::Symbol(symbol)
    }
}

fn single_symbol(byte: u8) -> Symbol {
    match byte {
        b'(' => Symbol::LeftParenthesis,
        b')' => Symbol::RightParenthesis,
        b',' => Symbol::Comma,
        b';' => Symbol::Semicolon,
        b'.' => Symbol::Period,
        b'=' => Symbol::Equal,
        b'<' => Symbol::Less,
        b'>' => Symbol::Greater,
        b'+' => Symbol::Plus,
        b'-' => Symbol::Minus,
        b'*' => Symbol::Star,
        b'/' => Symbol::Slash,
        b'%' => Symbol::Percent,
        b'^' => Symbol::Caret,
        b'&' => Symbol::Ampersand,
        b'|' => Symbol::Pipe,
        b'~' => Symbol::Tilde,
        b'!' => Symbol::Exclamation,
        b':' => Symbol::Colon,
        _ => Symbol::Other,
    }
}

/// The name of `@name`, ``@`name` `` or `@'name'`, in lower case.
pub(crate) fn user_variable_name(written: &str) -> String {
    let name = written.strip_prefix('@').unwrap_or(written);
    let name = if name.starts_with(['`', '\'', '"']) {
        unquote(name, TextModes::default())
    } else {
        name.to_owned()
    };
    name.to_lowercase()
}

/// The value of a quoted token: quotes removed, doubled quotes and (where there are any) backslash escapes resolved.
pub(crate) fn unquote(quoted: &str, modes: TextModes) -> String {
    // Only ASCII characters are taken away or replaced, so that what is left is UTF-8 as before.
    String::from_utf8(unquote_bytes(quoted.as_bytes(), modes)).unwrap_or_default()
}

/// As [`unquote`], of what may not be UTF-8.
pub(crate) fn unquote_bytes(quoted: &[u8], modes: TextModes) -> Vec<u8> {
    let mut value = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().copied();
    let Some(quote) = bytes.next() else { return value };
    while let Some(byte) = bytes.next() {
        if byte == quote {
            // The second of a pair, or the closing quote.
            if bytes.next().is_some() {
                value.push(quote);
            }
        } else if byte == b'\\' && modes.escapes(quote) {
            match bytes.next() {
                Some(b'0') => value.push(0),
                Some(b'b') => value.push(0x08),
                Some(b'n') => value.push(b'\n'),
                Some(b'r') => value.push(b'\r'),
                Some(b't') => value.push(b'\t'),
                Some(b'Z') => value.push(0x1a),
                // LIKE reads these two itself.
                Some(wildcard @ (b'%' | b'_')) => value.extend([b'\\', wildcard]),
                Some(other) => value.push(other),
                None => {}
            }
        } else {
            value.push(byte);
        }
    }
    value
}

/// A statement that we wrote, with its names as ANSI_QUOTES wants them.
pub fn with_ansi_quotes(text: &str) -> String {
    let mut lexer = Lexer::new(text, TextModes::default());
    let (mut quoted, mut copied) = (String::with_capacity(text.len()), 0);
    while let Ok(token) = lexer.next_token()
        && token.kind != TokenKind::End
    {
        if token.kind == TokenKind::QuotedWord {
            let name = unquote(token.text(text), TextModes::default());
            quoted.push_str(text.get(copied..token.start).unwrap_or(""));
            quoted.extend(["\"", &name.replace('"', "\"\""), "\""]);
            copied = token.end;
        }
    }
    quoted.push_str(text.get(copied..).unwrap_or(""));
    quoted
}

/// The bytes of a hexadecimal literal's digits; an odd count gets a leading zero.
pub(crate) fn hex_bytes(digits: &str) -> Option<Vec<u8>> {
    let value = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = digits.as_bytes();
    let (first, rest) = bytes.split_at(bytes.len() % 2);
    let mut decoded = Vec::with_capacity(bytes.len().div_ceil(2));
    for byte in first {
        decoded.push(value(*byte)?);
    }
    for pair in rest.chunks_exact(2) {
        decoded.push(value(pair[0])? << 4 | value(pair[1])?);
    }
    Some(decoded)
}

/// The bytes of a bit literal's digits, leading zeros added up to whole bytes.
pub(crate) fn bit_bytes(digits: &str) -> Option<Vec<u8>> {
    let bytes = digits.as_bytes();
    if !bytes.iter().all(|byte| matches!(byte, b'0' | b'1')) {
        return None;
    }
    let (first, rest) = bytes.split_at(bytes.len() % 8);
    let value = |bits: &[u8]| bits.iter().fold(0_u8, |value, bit| value << 1 | (bit - b'0'));
    let leading = (!first.is_empty()).then(|| value(first));
    Some(leading.into_iter().chain(rest.chunks_exact(8).map(value)).collect())
}
