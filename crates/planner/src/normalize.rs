//! Literals become parameters, so that statements that differ only in values share a plan.
//!
//! One pass over the tokens writes the text again with `?` for literals, one space for what stood between tokens, and
//! the values aside. Literals stay where they name or shape something. These are the select list (its text names
//! columns), GROUP BY and ORDER BY (ordinals), type arguments, fraction digits, ESCAPE and SEPARATOR. LIKE and REGEXP
//! patterns stay, because they choose the access path, or are compiled with the plan. So do typed, prefixed,
//! hexadecimal and bit literals: their type depends on what is around them.
//!
//! *Invariants.* The text with markers, bound with the values' types, means what the original means; where that cannot
//! be had the original comes back with no parameters. A caller that cannot prepare the text with markers prepares the
//! original and reports what *that* says: errors then quote what the user wrote.
//!
//! The digest is a fixed hash of 128 bits over the text with markers and the types. It is not made to resist chosen
//! collisions: a cache keyed by it also compares the text.

#[cfg(test)]
mod tests;

use super::lexer::{Gap, LexError, Lexer, Symbol, Token, TokenKind, unquote};
use super::limits::TextLimits;
use super::modes::TextModes;
use super::syntax::syntax_error;
use protocol::SqlError;
use types::{Collation, Decimal, IntegerWidth, SqlType, Value};

/// A statement's text without its literals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normalized {
    /// Names the text with markers together with the types.
    pub digest: u128,
    /// The statement with `?` for literals; the original if `is_cacheable` is false.
    pub text_with_markers: String,
    /// The literals' values.
    pub parameters: Vec<Value>,
    /// The literals' types.
    pub parameter_types: Vec<SqlType>,
    /// A plan for this text is worth keeping.
    pub is_cacheable: bool,
}

/// Replaces literals by parameters; texts have the connection's collation.
pub fn normalize(
    text: &str,
    limits: &TextLimits,
    modes: TextModes,
    collation: Collation,
) -> Result<Normalized, SqlError> {
    let mut normalized = Normalized::default();
    normalize_into(text, limits, modes, collation, &mut normalized)?;
    Ok(normalized)
}

/// As [`normalize`], into buffers that are used again.
pub fn normalize_into(
    text: &str,
    limits: &TextLimits,
    modes: TextModes,
    collation: Collation,
    normalized: &mut Normalized,
) -> Result<(), SqlError> {
    normalized.text_with_markers.clear();
    normalized.parameters.clear();
    normalized.parameter_types.clear();
    normalized.is_cacheable = false;
    if text.len() > limits.text_size_max {
        super::limits::check(text, limits, modes)?;
    }
    let mut pass = Pass::new(text, limits, modes, collation, normalized);
    let done = pass.run().map_err(|error| syntax_error(text, error.offset))?;
    if done == Outcome::Verbatim {
        normalized.text_with_markers.clear();
        normalized.text_with_markers.push_str(text);
        normalized.parameters.clear();
        normalized.parameter_types.clear();
    }
    normalized.is_cacheable = done == Outcome::Replaced;
    normalized.digest = digest(&normalized.text_with_markers, &normalized.parameter_types);
    Ok(())
}

/// The statements of a text, without the semicolons; empty ones are omitted, comments are not. Text that does not lex
/// is left to the last one.
pub fn split_statements(text: &str, modes: TextModes) -> Vec<&str> {
    let mut lexer = Lexer::new(text, modes);
    let mut statements = Vec::new();
    let mut start = 0;
    // After a semicolon within a version comment there may be nothing but its end.
    let is_empty = |statement: &str| matches!(statement.trim(), "" | "*/");
    loop {
        match lexer.next_token() {
            Ok(token) if token.is(Symbol::Semicolon) => {
                statements.extend(text.get(start..token.start).filter(|statement| !is_empty(statement)));
                start = token.end;
            }
            Ok(token) if token.kind == TokenKind::End => {
                statements.extend(text.get(start..).filter(|statement| !is_empty(statement)));
                return statements;
            }
            Ok(_) => {}
            Err(_) => {
                statements.push(text.get(start..).unwrap_or(""));
                return statements;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Literals are parameters.
    Replaced,
    /// The original stands.
    Verbatim,
}

/// Where in the statement the pass is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    /// Literals and the text between tokens stay: the select list.
    Names,
    /// Literals stay: GROUP BY, ORDER BY.
    Ordinals,
    /// Literals become parameters.
    Values,
}

/// The meaning of the token before a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing: it is a value.
    Nothing,
    /// An operator, comma or parenthesis: a minus here is a sign.
    OperandWanted,
    /// A word whose argument in parentheses is part of a type or a number of digits.
    TypeWord,
    /// The parenthesis behind one, or a comma within: the literal stays.
    TypeArgument,
    /// A word after which a literal stays: LIKE, ESCAPE, SEPARATOR, DATE, `_utf8mb4`.
    KeepsLiteral,
    /// A text literal.
    Text,
}

struct Pass<'t, 'n> {
    text: &'t str,
    parameter_count_max: usize,
    /// The collation of text literals.
    collation: Collation,
    lexer: Lexer<'t>,
    normalized: &'n mut Normalized,
    region: Region,
    depth: usize,
    /// The depth of the query whose clauses are read, and the queries around it with their regions.
    query_depth: usize,
    around: Vec<(usize, Region)>,
    before: Before,
    previous_end: usize,
    /// Where a sign that belongs to the next number begins in the text with markers.
    sign_at: Option<usize>,
}

impl<'t, 'n> Pass<'t, 'n> {
    fn new(
        text: &'t str,
        limits: &TextLimits,
        modes: TextModes,
        collation: Collation,
        normalized: &'n mut Normalized,
    ) -> Self {
        Self {
            text,
            parameter_count_max: limits.parameter_count_max,
            collation,
            lexer: Lexer::new(text, modes),
            normalized,
            region: Region::Values,
            depth: 0,
            query_depth: 0,
            around: Vec::new(),
            before: Before::Nothing,
            previous_end: 0,
            sign_at: None,
        }
    }

    fn run(&mut self) -> Result<Outcome, LexError> {
        let first = self.lexer.next_token()?;
        let word = first.text(self.text);
        self.region = if word.eq_ignore_ascii_case("select") {
            Region::Names
        } else if ["insert", "update", "delete", "replace"].iter().any(|verb| word.eq_ignore_ascii_case(verb))
        {
            Region::Values
        } else {
            return Ok(Outcome::Verbatim);
        };
        self.normalized.text_with_markers.reserve(self.text.len());
        self.normalized.text_with_markers.push_str(word);
        self.previous_end = first.end;
        loop {
            let token = self.lexer.next_token()?;
            if token.kind == TokenKind::End {
                return Ok(Outcome::Replaced);
            }
            if !self.token(token)? {
                return Ok(Outcome::Verbatim);
            }
            self.previous_end = token.end;
        }
    }

    /// Takes one token; false if the statement is better left as it is.
    #[inline]
    fn token(&mut self, token: Token) -> Result<bool, LexError> {
        match token.kind {
            TokenKind::Symbol(symbol) => return self.symbol(symbol, token),
            TokenKind::Word => self.word(token),
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => return Ok(self.number(token)),
            TokenKind::Text => return Ok(self.literal_text(token)),
            TokenKind::Marker | TokenKind::UserVariable => return Ok(false),
            TokenKind::HexText | TokenKind::HexNumber | TokenKind::BitText | TokenKind::BitNumber => {
                // Long ones are contents of files: a plan for each would push out the useful ones.
                if token.end - token.start > 40 {
                    return Ok(false);
                }
                self.keep(token, Before::Text);
            }
            TokenKind::NationalText => self.keep(token, Before::Text),
            TokenKind::QuotedWord | TokenKind::SystemVariable | TokenKind::End => {
                self.keep(token, Before::Nothing)
            }
        }
        Ok(true)
    }

    /// Writes what stood before the token.
    #[inline]
    fn gap(&mut self, token: Token) {
        match self.lexer.gap() {
            Gap::None => {}
            Gap::Space if self.region == Region::Names => {
                let gap = self.text.get(self.previous_end..token.start).unwrap_or(" ");
                self.normalized.text_with_markers.push_str(gap);
            }
            Gap::Space | Gap::Comment => self.normalized.text_with_markers.push(' '),
        }
    }

    #[inline]
    fn keep(&mut self, token: Token, before: Before) {
        self.gap(token);
        self.normalized.text_with_markers.push_str(token.text(self.text));
        self.before = before;
        self.sign_at = None;
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "an operand follows all others")]
    fn symbol(&mut self, symbol: Symbol, token: Token) -> Result<bool, LexError> {
        let before = match symbol {
            Symbol::Semicolon => {
                // Only at the end: then it is dropped.
                return Ok(self.lexer.clone().next_token()?.kind == TokenKind::End);
            }
            Symbol::LeftParenthesis => {
                self.depth += 1;
                if self.before == Before::TypeWord { Before::TypeArgument } else { Before::OperandWanted }
            }
            Symbol::RightParenthesis => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth < self.query_depth
                    && let Some((depth, region)) = self.around.pop()
                {
                    (self.query_depth, self.region) = (depth, region);
                }
                Before::Nothing
            }
            Symbol::Comma if self.before == Before::TypeArgument => Before::TypeArgument,
            Symbol::Period => Before::Nothing,
            // The literal in `{d '2024-02-29'}` has its type from the word before it.
            Symbol::Other => return Ok(false),
            _ => Before::OperandWanted,
        };
        let is_sign =
            symbol == Symbol::Minus && self.before == Before::OperandWanted && self.region == Region::Values;
        let at = self.normalized.text_with_markers.len();
        self.keep(token, before);
        self.sign_at = is_sign.then_some(at);
        Ok(true)
    }

    fn word(&mut self, token: Token) {
        let word = token.text(self.text).as_bytes();
        let before = word_before_literal(word);
        self.keep(token, before);
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        if self.depth != self.query_depth {
            // Within a select list all of a query is part of a name.
            if word.len() == 6 && self.region != Region::Names && is("select") {
                self.around.push((self.query_depth, self.region));
                (self.query_depth, self.region) = (self.depth, Region::Names);
            }
            return;
        }
        match word.len() {
            4 if self.region == Region::Names && is("from") => self.region = Region::Values,
            5 if is("order") || is("group") => self.region = Region::Ordinals,
            5 if is("limit") => self.region = Region::Values,
            6 if is("having") => self.region = Region::Values,
            6 if is("select") => self.region = Region::Names,
            _ => {}
        }
    }

    #[inline]
    fn stays(&self) -> bool {
        self.region != Region::Values || matches!(self.before, Before::KeepsLiteral | Before::TypeArgument)
    }

    fn number(&mut self, token: Token) -> bool {
        if self.stays() {
            let before =
                if self.before == Before::TypeArgument { Before::TypeArgument } else { Before::Nothing };
            self.keep(token, before);
            return true;
        }
        let negative = self.sign_at.is_some();
        let Some((value, sql_type)) = number_literal(token.text(self.text), token.kind, negative) else {
            self.keep(token, Before::Nothing);
            return true;
        };
        match self.sign_at.take() {
            // The gap before the sign was written with it.
            Some(at) => {
                let gap = self.normalized.text_with_markers[at..].starts_with(' ');
                self.normalized.text_with_markers.truncate(at + usize::from(gap));
            }
            None => self.gap(token),
        }
        self.parameter(value, sql_type)
    }

    fn literal_text(&mut self, token: Token) -> bool {
        if self.before == Before::Text {
            // Adjacent texts are one text.
            return false;
        }
        if self.stays() {
            self.keep(token, Before::Text);
            return true;
        }
        self.gap(token);
        let value = Value::Bytes(unquote(token.text(self.text), self.lexer.modes()).into_bytes());
        let kept = self.parameter(value, text_parameter_type(self.collation));
        self.before = Before::Text;
        kept
    }

    fn parameter(&mut self, value: Value, sql_type: SqlType) -> bool {
        if self.normalized.parameters.len() >= self.parameter_count_max {
            return false;
        }
        self.normalized.text_with_markers.push('?');
        self.normalized.parameters.push(value);
        self.normalized.parameter_types.push(sql_type);
        self.before = Before::Nothing;
        true
    }
}

/// The meaning of a word for a literal behind it.
fn word_before_literal(word: &[u8]) -> Before {
    const TYPES: [&str; 22] = [
        "char",
        "decimal",
        "binary",
        "time",
        "datetime",
        "varchar",
        "float",
        "double",
        "nchar",
        "now",
        "curtime",
        "sysdate",
        "utc_time",
        "utc_timestamp",
        "current_timestamp",
        "current_time",
        "localtime",
        "localtimestamp",
        "bit",
        "dec",
        "timestamp",
        "fixed",
    ];
    const KEEPERS: [&str; 10] =
        ["like", "regexp", "rlike", "escape", "separator", "date", "time", "timestamp", "as", "collate"];
    if word.first() == Some(&b'_') {
        return Before::KeepsLiteral;
    }
    let is = |name: &&str| word.eq_ignore_ascii_case(name.as_bytes());
    match word.first().map(u8::to_ascii_lowercase) {
        Some(b'c' | b'd' | b'b' | b't' | b'v' | b'f' | b'n' | b'r' | b's' | b'u' | b'l' | b'e' | b'a') => {
            if KEEPERS.iter().any(is) {
                // `TIME '10:00'` and `CAST(x AS TIME(3))`: both stay.
                return if TYPES.iter().any(is) { Before::TypeWord } else { Before::KeepsLiteral };
            }
            if TYPES.iter().any(is) { Before::TypeWord } else { Before::Nothing }
        }
        _ => Before::Nothing,
    }
}

/// The type of a text parameter: one for all lengths, so that plans are shared.
pub fn text_parameter_type(collation: Collation) -> SqlType {
    SqlType::VarChar { length: 65_535, collation }
}

/// The value and type of a number as MySQL types its literals; None if it is too long to be one.
pub(crate) fn number_literal(text: &str, kind: TokenKind, negative: bool) -> Option<(Value, SqlType)> {
    if kind == TokenKind::Float {
        let number: f64 = text.parse().ok()?;
        let number = if negative { -number } else { number };
        return number.is_finite().then_some((Value::Double(number), SqlType::Double));
    }
    let integer = if kind == TokenKind::Integer { integer_literal(text, negative) } else { None };
    integer.or_else(|| decimal_literal(text, negative))
}

fn integer_literal(text: &str, negative: bool) -> Option<(Value, SqlType)> {
    let mut magnitude = 0_u64;
    for digit in text.bytes() {
        magnitude = magnitude.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))?;
    }
    let signed = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
    if negative {
        let number = 0_i64.checked_sub_unsigned(magnitude)?;
        return Some((Value::Int(number), signed));
    }
    Some(match i64::try_from(magnitude) {
        Ok(number) => (Value::Int(number), signed),
        Err(_) => (Value::UInt(magnitude), SqlType::Integer { width: IntegerWidth::Big, unsigned: true }),
    })
}

fn decimal_literal(text: &str, negative: bool) -> Option<(Value, SqlType)> {
    let whole = text.trim_start_matches('0').split('.').next().map_or(0, str::len);
    let scale = text.split('.').nth(1).map_or(0, str::len);
    if whole + scale > usize::from(Decimal::PRECISION_MAX) || scale > usize::from(Decimal::SCALE_MAX) {
        let number: f64 = text.parse().ok()?;
        return number
            .is_finite()
            .then_some((Value::Double(if negative { -number } else { number }), SqlType::Double));
    }
    let (decimal, _) = Decimal::parse(text.as_bytes())?;
    let decimal = if negative { decimal.neg() } else { decimal };
    let precision = u8::try_from((whole + scale).max(1)).unwrap_or(Decimal::PRECISION_MAX);
    let scale = u8::try_from(scale).unwrap_or(Decimal::SCALE_MAX);
    Some((Value::Decimal(Box::new(decimal)), SqlType::Decimal { precision, scale, unsigned: false }))
}

/// 128 bits over the text and the types: two lanes of multiply and fold with different constants.
pub fn digest(text: &str, parameter_types: &[SqlType]) -> u128 {
    let mut lanes = Lanes { first: 0x9e37_79b9_7f4a_7c15, second: 0xc2b2_ae3d_27d4_eb4f };
    let mut chunks = text.as_bytes().chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        lanes.mix(u64::from_le_bytes(word));
    }
    let mut word = [0; 8];
    let rest = chunks.remainder();
    word[..rest.len()].copy_from_slice(rest);
    lanes.mix(u64::from_le_bytes(word));
    lanes.mix(text.len() as u64);
    for sql_type in parameter_types {
        lanes.mix(type_word(sql_type));
    }
    u128::from(fold(lanes.first, 0x8bb8_4b93_962e_acc9)) << 64
        | u128::from(fold(lanes.second, 0x4b33_a62e_d433_d4a3))
}

struct Lanes {
    first: u64,
    second: u64,
}

impl Lanes {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.first = fold(self.first ^ word, 0xd6e8_feb8_6659_fd93);
        self.second = fold(self.second.rotate_left(23) ^ word, 0xa076_1d64_78bd_642f);
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit product")]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// The part of a parameter's type that matters to a plan, as a number.
fn type_word(sql_type: &SqlType) -> u64 {
    let parts = |tag: u64, first: u64, second: u64| tag << 48 | first << 8 | second;
    match sql_type {
        SqlType::Null => 1,
        SqlType::Integer { width, unsigned } => parts(2, *width as u64, u64::from(*unsigned)),
        SqlType::Float => 3,
        SqlType::Double => 4,
        SqlType::Decimal { precision, scale, unsigned } => {
            parts(5, u64::from(*precision) << 8 | u64::from(*scale), u64::from(*unsigned))
        }
        SqlType::Bit { length } => parts(6, u64::from(*length), 0),
        SqlType::Char { length, collation } => parts(7, u64::from(*length), u64::from(collation.to_bits())),
        SqlType::VarChar { length, collation } => {
            parts(8, u64::from(*length), u64::from(collation.to_bits()))
        }
        SqlType::Binary { length } => parts(9, u64::from(*length), 0),
        SqlType::VarBinary { length } => parts(10, u64::from(*length), 0),
        SqlType::Text { size, collation } => parts(11, *size as u64, u64::from(collation.to_bits())),
        SqlType::Blob { size } => parts(12, *size as u64, 0),
        SqlType::Enum { .. } => 13,
        SqlType::Set { .. } => 14,
        SqlType::Date => 15,
        SqlType::Time { fraction } => parts(16, u64::from(*fraction), 0),
        SqlType::DateTime { fraction } => parts(17, u64::from(*fraction), 0),
        SqlType::Timestamp { fraction } => parts(18, u64::from(*fraction), 0),
        SqlType::Year => 19,
        SqlType::Json => 20,
    }
}
