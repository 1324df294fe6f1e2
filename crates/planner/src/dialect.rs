//! The parser crate's MySQL dialect, made exact.
//!
//! `MySqlDialect` takes its precedences from PostgreSQL (`a = 1 XOR b = 2` would mean `a = (1 XOR b) = 2`) and lets a
//! prefix be parsed by trial and error. This dialect gives MySQL's table of precedences and parses every prefix itself
//! by looking at no more than two tokens. Only forms with a grammar of their own (CASE, CAST, TRIM …) are left to the
//! crate.
//!
//! The rules of sql_mode about operators (HIGH_NOT_PRECEDENCE, PIPES_AS_CONCAT) are here: the parser crate wants one
//! dialect for each.
//!
//! Invariant: what is not in the table of precedences does not continue an expression, so that an operator MySQL does
//! not have is a syntax error at that operator.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser crate's enums hold every dialect: what is not named does not fit"
)]

use super::modes::TextModes;
use super::reserved::is_reserved;
use expression::AggregateFunction;
use sqlparser::ast::{
    CastKind, CharacterLength, DataType, DateTimeField, ExactNumberInfo, Expr, ExtractSyntax, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, Interval, ObjectName,
    TimezoneInfo, TypedString, UnaryOperator, Value as AstValue,
};
use sqlparser::dialect::{Dialect, MySqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, Word};
use std::any::TypeId;

/// The dialect.
#[derive(Debug)]
pub(crate) struct LatsDialect {
    high_not_precedence: bool,
    pipes_as_concat: bool,
}

impl LatsDialect {
    /// The dialect that these modes make.
    pub(crate) fn of(modes: TextModes) -> &'static Self {
        const fn dialect(high_not_precedence: bool, pipes_as_concat: bool) -> LatsDialect {
            LatsDialect { high_not_precedence, pipes_as_concat }
        }
        static PLAIN: LatsDialect = dialect(false, false);
        static CONCAT: LatsDialect = dialect(false, true);
        static HIGH_NOT: LatsDialect = dialect(true, false);
        static BOTH: LatsDialect = dialect(true, true);
        match (modes.high_not_precedence, modes.pipes_as_concat) {
            (false, false) => &PLAIN,
            (false, true) => &CONCAT,
            (true, false) => &HIGH_NOT,
            (true, true) => &BOTH,
        }
    }
}

/// Binding strengths, loosest first.
mod precedence {
    pub(super) const NONE: u8 = 0;
    pub(super) const OR: u8 = 5;
    pub(super) const XOR: u8 = 7;
    pub(super) const AND: u8 = 10;
    pub(super) const NOT: u8 = 15;
    /// `=`, `<`, IS and the like.
    pub(super) const COMPARISON: u8 = 18;
    /// IN, BETWEEN, LIKE, REGEXP: tighter than comparisons.
    pub(super) const PREDICATE: u8 = 20;
    pub(super) const BIT_OR: u8 = 22;
    pub(super) const BIT_AND: u8 = 24;
    pub(super) const SHIFT: u8 = 26;
    pub(super) const ADD: u8 = 30;
    pub(super) const MULTIPLY: u8 = 40;
    pub(super) const BIT_XOR: u8 = 44;
    /// `||` with PIPES_AS_CONCAT.
    pub(super) const CONCAT: u8 = 45;
    pub(super) const UNARY: u8 = 46;
    pub(super) const BANG: u8 = 48;
    pub(super) const PERIOD: u8 = 100;
    /// `@v :=`: nothing binds a variable away from it.
    pub(super) const ASSIGN: u8 = 110;
}

impl Dialect for LatsDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<MySqlDialect>()
    }
    fn is_identifier_start(&self, character: char) -> bool {
        MySqlDialect {}.is_identifier_start(character)
    }
    fn is_identifier_part(&self, character: char) -> bool {
        MySqlDialect {}.is_identifier_part(character)
    }
    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }
    fn supports_limit_comma(&self) -> bool {
        true
    }
    fn supports_select_modifiers(&self) -> bool {
        true
    }
    fn supports_table_hints(&self) -> bool {
        true
    }
    fn supports_match_against(&self) -> bool {
        true
    }
    fn supports_group_by_with_modifier(&self) -> bool {
        true
    }
    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }
    fn supports_double_ampersand_operator(&self) -> bool {
        true
    }
    fn is_select_item_alias(&self, explicit: bool, _: &Keyword, parser: &mut Parser<'_>) -> bool {
        explicit || is_alias(&parser.get_current_token().token)
    }
    fn is_table_factor_alias(&self, explicit: bool, _: &Keyword, parser: &mut Parser<'_>) -> bool {
        explicit || is_alias(&parser.get_current_token().token)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Period => precedence::PERIOD,
            Precedence::MulDivModOp => precedence::MULTIPLY,
            Precedence::PlusMinus => precedence::ADD,
            Precedence::Xor => precedence::XOR,
            Precedence::Ampersand => precedence::BIT_AND,
            Precedence::Caret => precedence::BIT_XOR,
            Precedence::Pipe => precedence::BIT_OR,
            Precedence::Between | Precedence::Like => precedence::PREDICATE,
            Precedence::Eq | Precedence::Is => precedence::COMPARISON,
            Precedence::UnaryNot if self.high_not_precedence => precedence::BANG,
            Precedence::UnaryNot => precedence::NOT,
            Precedence::And => precedence::AND,
            Precedence::Or => precedence::OR,
            Precedence::DoubleColon | Precedence::AtTz | Precedence::Colon | Precedence::PgOther => {
                precedence::NONE
            }
        }
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        if self.pipes_as_concat && parser.peek_token_ref().token == Token::StringConcat {
            return Some(Ok(precedence::CONCAT));
        }
        Some(Ok(infix_precedence(parser)))
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        parse_prefix(parser).transpose()
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        level: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let token = parser.peek_token_ref();
        if self.pipes_as_concat && token.token == Token::StringConcat {
            let name = Ident::with_span(token.span, "CONCAT");
            parser.advance_token();
            let call = |right| Function {
                args: argument_list(vec![left.clone(), right]),
                ..call_without_arguments(name)
            };
            return Some(parser.parse_subexpr(level).map(|right| Expr::Function(call(right))));
        }
        if token.token == Token::Assignment {
            return Some(parse_assignment(parser, left));
        }
        if is_sounds_like(parser) {
            return Some(parse_sounds_like(parser, left, level));
        }
        let Token::Word(word) = &token.token else { return None };
        let operator = match word.keyword {
            Keyword::DIV => sqlparser::ast::BinaryOperator::MyIntegerDivide,
            Keyword::MOD => sqlparser::ast::BinaryOperator::Modulo,
            _ => return None,
        };
        parser.advance_token();
        Some(parser.parse_subexpr(level).map(|right| Expr::BinaryOp {
            left: Box::new(left.clone()),
            op: operator,
            right: Box::new(right),
        }))
    }
}

/// `SOUNDS LIKE`, of which only the second word is reserved.
fn is_sounds_like(parser: &Parser<'_>) -> bool {
    let is_sounds = |token: &Token| matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("SOUNDS"));
    is_sounds(&parser.peek_token_ref().token)
        && matches!(&parser.peek_nth_token_ref(1).token, Token::Word(next) if next.keyword == Keyword::LIKE)
}

/// `a SOUNDS LIKE b` is `SOUNDEX(a) = SOUNDEX(b)`.
fn parse_sounds_like(parser: &mut Parser<'_>, left: &Expr, level: u8) -> Result<Expr, ParserError> {
    let name = Ident::with_span(parser.peek_token_ref().span, "SOUNDEX");
    parser.advance_token();
    parser.advance_token();
    let right = parser.parse_subexpr(level)?;
    let soundex = |argument: Expr| {
        let args = argument_list(vec![argument]);
        Box::new(Expr::Function(Function { args, ..call_without_arguments(name.clone()) }))
    };
    let (left, right) = (soundex(left.clone()), soundex(right));
    Ok(Expr::BinaryOp { left, op: sqlparser::ast::BinaryOperator::Eq, right })
}

/// `@v := value`: the value is as long as an expression can be.
fn parse_assignment(parser: &mut Parser<'_>, left: &Expr) -> Result<Expr, ParserError> {
    let is_variable = matches!(left, Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.starts_with('@') && !name.value.starts_with("@@"));
    if !is_variable {
        return parser.expected_ref("an expression", parser.peek_token_ref());
    }
    parser.advance_token();
    let right = Box::new(parser.parse_expr()?);
    Ok(Expr::BinaryOp { left: Box::new(left.clone()), op: sqlparser::ast::BinaryOperator::Assignment, right })
}

/// Whether a word may be an alias without AS.
fn is_alias(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_some() || !is_reserved(&word.value) && !word.value.starts_with('@'))
}

fn infix_precedence(parser: &Parser<'_>) -> u8 {
    use precedence::{
        ADD, AND, ASSIGN, BIT_AND, BIT_OR, BIT_XOR, COMPARISON, MULTIPLY, NONE, OR, PERIOD, PREDICATE, SHIFT,
        XOR,
    };
    match &parser.peek_token_ref().token {
        Token::Word(word) if word.quote_style.is_none() => match word.keyword {
            Keyword::OR => OR,
            Keyword::XOR => XOR,
            Keyword::AND => AND,
            Keyword::IS => COMPARISON,
            Keyword::IN | Keyword::BETWEEN | Keyword::LIKE | Keyword::REGEXP | Keyword::RLIKE => PREDICATE,
            Keyword::NOT => match &parser.peek_nth_token_ref(1).token {
                Token::Word(next)
                    if matches!(
                        next.keyword,
                        Keyword::IN | Keyword::BETWEEN | Keyword::LIKE | Keyword::REGEXP | Keyword::RLIKE
                    ) =>
                {
                    PREDICATE
                }
                _ => NONE,
            },
            Keyword::DIV | Keyword::MOD => MULTIPLY,
            _ if is_sounds_like(parser) => PREDICATE,
            _ => NONE,
        },
        Token::Assignment => ASSIGN,
        Token::StringConcat => OR,
        Token::Overlap => AND,
        Token::Eq | Token::Spaceship | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq => {
            COMPARISON
        }
        Token::Pipe => BIT_OR,
        Token::Ampersand => BIT_AND,
        Token::ShiftLeft | Token::ShiftRight => SHIFT,
        Token::Plus | Token::Minus => ADD,
        Token::Mul | Token::Div | Token::Mod => MULTIPLY,
        Token::Caret => BIT_XOR,
        Token::Arrow | Token::LongArrow => BIT_XOR,
        Token::Period => PERIOD,
        _ => NONE,
    }
}

/// The expression that starts here; None leaves it to the crate.
fn parse_prefix(parser: &mut Parser<'_>) -> Result<Option<Expr>, ParserError> {
    let unary = |parser: &mut Parser<'_>, operator: UnaryOperator, level: u8| {
        parser.advance_token();
        let expr = Box::new(parser.parse_subexpr(level)?);
        Ok(Some(Expr::UnaryOp { op: operator, expr }))
    };
    let token = parser.peek_token_ref();
    let span = token.span;
    match &token.token {
        Token::Minus => unary(parser, UnaryOperator::Minus, precedence::UNARY),
        Token::Plus => unary(parser, UnaryOperator::Plus, precedence::UNARY),
        Token::Tilde => unary(parser, UnaryOperator::BitwiseNot, precedence::UNARY),
        Token::ExclamationMark => unary(parser, UnaryOperator::BangNot, precedence::BANG),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Placeholder(_)
        | Token::HexStringLiteral(_) => parser.parse_value().map(|value| Some(Expr::Value(value))),
        Token::LParen => parse_parenthesized(parser),
        Token::Word(word) => {
            let word = word.clone();
            parse_word(parser, word, span)
        }
        _ => parser.expected_ref("an expression", token),
    }
}

fn parse_parenthesized(parser: &mut Parser<'_>) -> Result<Option<Expr>, ParserError> {
    if let Token::Word(word) = &parser.peek_nth_token_ref(1).token
        && matches!(word.keyword, Keyword::SELECT | Keyword::WITH)
    {
        return Ok(None);
    }
    parser.advance_token();
    let start = parser.index();
    let mut expressions = parser.parse_comma_separated(Parser::parse_expr)?;
    if let [Expr::Subquery(_)] = expressions.as_slice()
        && goes_on_as_query(parser)
    {
        // `((SELECT …) UNION …)`: what is read as a subquery was the first part of one.
        while parser.index() > start {
            parser.prev_token();
        }
        expressions = vec![Expr::Subquery(parser.parse_query()?)];
    }
    parser.expect_token(&Token::RParen)?;
    Ok(Some(match expressions.pop() {
        Some(only) if expressions.is_empty() => Expr::Nested(Box::new(only)),
        last => Expr::Tuple(expressions.into_iter().chain(last).collect()),
    }))
}

/// Whether what follows belongs to a query, behind a part of it in parentheses.
fn goes_on_as_query(parser: &Parser<'_>) -> bool {
    let Token::Word(word) = &parser.peek_token_ref().token else { return false };
    let words = [Keyword::UNION, Keyword::EXCEPT, Keyword::INTERSECT, Keyword::ORDER, Keyword::LIMIT];
    words.contains(&word.keyword)
}

fn parse_word(parser: &mut Parser<'_>, word: Word, span: Span) -> Result<Option<Expr>, ParserError> {
    match &parser.peek_nth_token_ref(1).token {
        Token::LParen if !has_own_grammar(&word) => {
            parser.advance_token();
            return parse_call(parser, word, span).map(Some);
        }
        Token::SingleQuotedString(_) | Token::HexStringLiteral(_) if word.quote_style.is_none() => {
            if let Some(typed) = parse_typed_text(parser, &word, span)? {
                return Ok(Some(typed));
            }
        }
        _ => {}
    }
    if word.quote_style.is_some() {
        parser.advance_token();
        return Ok(Some(Expr::Identifier(word.into_ident(span))));
    }
    // CAST, TRIM and the like are only words unless they are called.
    let is_called = parser.peek_nth_token_ref(1).token == Token::LParen;
    match word.keyword {
        Keyword::INTERVAL => parse_interval(parser).map(Some),
        Keyword::EXTRACT if is_called => parse_extract(parser).map(Some),
        Keyword::CAST if is_called => parse_cast(parser).map(Some),
        Keyword::CONVERT if is_called => parse_convert(parser).map(Some),
        Keyword::BINARY => {
            parser.advance_token();
            let expr = Box::new(parser.parse_subexpr(precedence::BANG)?);
            Ok(Some(Expr::Cast {
                kind: CastKind::Cast,
                expr,
                data_type: DataType::Binary(None),
                format: None,
            }))
        }
        _ if has_own_grammar(&word) && (is_called || is_reserved(&word.value)) => Ok(None),
        _ if is_function_without_parentheses(&word.value) => {
            parser.advance_token();
            Ok(Some(Expr::Function(call_without_arguments(word.into_ident(span)))))
        }
        _ if is_reserved(&word.value) => parser.expected_ref("an expression", parser.peek_token_ref()),
        _ => {
            parser.advance_token();
            Ok(Some(Expr::Identifier(word.into_ident(span))))
        }
    }
}

/// The internal name of `CHAR(… USING character_set)`, with the character set as its first argument.
const CHAR_USING: &str = "CHAR USING";

/// A function call, at its parenthesis. Those with clauses of their own in the parentheses or behind them are the
/// crate's; for all others that would cost a deep stack.
fn parse_call(parser: &mut Parser<'_>, word: Word, span: Span) -> Result<Expr, ParserError> {
    let name = word.into_ident(span);
    if name.quote_style.is_none() && has_clauses(&name.value) {
        return parser.parse_function(ObjectName::from(vec![name]));
    }
    parser.advance_token();
    let mut args = Vec::new();
    if !parser.consume_token(&Token::RParen) {
        loop {
            args.push(parser.parse_expr()?);
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        if name.value.eq_ignore_ascii_case("CHAR") && parser.parse_keyword(Keyword::USING) {
            let character_set = parser.parse_identifier()?;
            parser.expect_token(&Token::RParen)?;
            let character_set = AstValue::SingleQuotedString(character_set.value).with_span(span);
            args.insert(0, Expr::Value(character_set));
            let name = Ident::with_span(span, CHAR_USING);
            return Ok(Expr::Function(Function {
                args: argument_list(args),
                ..call_without_arguments(name)
            }));
        }
        parser.expect_token(&Token::RParen)?;
    }
    if name.value.eq_ignore_ascii_case("ROW") {
        return Ok(Expr::Tuple(args));
    }
    Ok(Expr::Function(Function { args: argument_list(args), ..call_without_arguments(name) }))
}

fn argument_list(arguments: Vec<Expr>) -> FunctionArguments {
    let args =
        arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() })
}

/// Aggregates (DISTINCT, `*`, ORDER BY, SEPARATOR, OVER) and window functions (OVER).
fn has_clauses(name: &str) -> bool {
    const WINDOW_FUNCTIONS: [&str; 11] = [
        "ROW_NUMBER",
        "RANK",
        "DENSE_RANK",
        "PERCENT_RANK",
        "CUME_DIST",
        "NTILE",
        "LAG",
        "LEAD",
        "FIRST_VALUE",
        "LAST_VALUE",
        "NTH_VALUE",
    ];
    AggregateFunction::by_name(name).is_some()
        || WINDOW_FUNCTIONS.iter().any(|function| name.eq_ignore_ascii_case(function))
        || name.to_ascii_uppercase().starts_with("JSON_")
}

/// Words whose arguments (or lack of them) have a grammar of their own, which the crate has or which follows here.
fn has_own_grammar(word: &Word) -> bool {
    word.quote_style.is_none()
        && matches!(
            word.keyword,
            Keyword::CASE
                | Keyword::CAST
                | Keyword::CONVERT
                | Keyword::EXISTS
                | Keyword::EXTRACT
                | Keyword::INTERVAL
                | Keyword::MATCH
                | Keyword::NOT
                | Keyword::NULL
                | Keyword::TRUE
                | Keyword::FALSE
                | Keyword::BINARY
                | Keyword::POSITION
                | Keyword::SUBSTR
                | Keyword::SUBSTRING
                | Keyword::TRIM
        )
}

fn is_function_without_parentheses(word: &str) -> bool {
    const NAMES: [&str; 9] = [
        "CURRENT_DATE",
        "CURRENT_TIME",
        "CURRENT_TIMESTAMP",
        "CURRENT_USER",
        "LOCALTIME",
        "LOCALTIMESTAMP",
        "UTC_DATE",
        "UTC_TIME",
        "UTC_TIMESTAMP",
    ];
    NAMES.iter().any(|name| word.eq_ignore_ascii_case(name))
}

fn call_without_arguments(name: Ident) -> Function {
    Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::None,
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
    }
}

/// `DATE '…'`, `_utf8mb4'…'`.
fn parse_typed_text(parser: &mut Parser<'_>, word: &Word, span: Span) -> Result<Option<Expr>, ParserError> {
    let data_type = match word.keyword {
        Keyword::DATE => Some(DataType::Date),
        Keyword::TIME => Some(DataType::Time(None, TimezoneInfo::None)),
        Keyword::TIMESTAMP => Some(DataType::Timestamp(None, TimezoneInfo::None)),
        _ => None,
    };
    if let Some(data_type) = data_type {
        parser.advance_token();
        let value = parser.parse_value()?;
        return Ok(Some(Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false })));
    }
    if word.value.starts_with('_') {
        parser.advance_token();
        let value = Box::new(Expr::Value(parser.parse_value()?));
        return Ok(Some(Expr::Prefixed { prefix: word.clone().into_ident(span), value }));
    }
    Ok(None)
}

/// `INTERVAL amount unit`, or the function `INTERVAL(a, b, …)`.
fn parse_interval(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let span = parser.peek_token_ref().span;
    parser.advance_token();
    let value = parser.parse_expr()?;
    if let Expr::Tuple(arguments) = value {
        let name = Ident::with_span(span, "INTERVAL");
        return Ok(Expr::Function(Function {
            args: argument_list(arguments),
            ..call_without_arguments(name)
        }));
    }
    let value = Box::new(value);
    let unit = parser.parse_identifier()?;
    Ok(Expr::Interval(Interval {
        value,
        leading_field: Some(DateTimeField::Custom(unit)),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}

/// `CAST(… AS type)`.
fn parse_cast(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let expr = Box::new(parser.parse_expr()?);
    parser.expect_keyword(Keyword::AS)?;
    let data_type = parse_cast_type(parser)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Cast { kind: CastKind::Cast, expr, data_type, format: None })
}

/// `CONVERT(…, type)`, `CONVERT(… USING character_set)`.
fn parse_convert(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let expr = Box::new(parser.parse_expr()?);
    let (mut data_type, mut charset) = (None, None);
    if parser.parse_keyword(Keyword::USING) {
        charset = Some(ObjectName::from(vec![parser.parse_identifier()?]));
    } else {
        parser.expect_token(&Token::Comma)?;
        data_type = Some(parse_cast_type(parser)?);
    }
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Convert {
        is_try: false,
        expr,
        data_type,
        charset,
        target_before_value: false,
        styles: Vec::new(),
    })
}

/// `(number[, number])`, if it is here.
fn parse_numbers(parser: &mut Parser<'_>) -> Result<Vec<u64>, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(Vec::new());
    }
    let numbers = parser.parse_comma_separated(Parser::parse_literal_uint)?;
    parser.expect_token(&Token::RParen)?;
    Ok(numbers)
}

/// Passes over a bare word if it is here.
fn take_word(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let found = matches!(&parser.peek_token_ref().token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted));
    if found {
        parser.advance_token();
    }
    found
}

/// The types that CAST knows.
fn parse_cast_type(parser: &mut Parser<'_>) -> Result<DataType, ParserError> {
    let token = parser.peek_token_ref();
    let Token::Word(word) = &token.token else { return parser.expected_ref("a type", token) };
    let name = word.value.to_ascii_uppercase();
    if word.quote_style.is_some() {
        return parser.expected_ref("a type", token);
    }
    let at = parser.index();
    parser.advance_token();
    let only = |numbers: &[u64]| numbers.first().copied();
    Ok(match name.as_str() {
        "SIGNED" | "UNSIGNED" => {
            let _ = take_word(parser, "INTEGER") || take_word(parser, "INT");
            if name == "SIGNED" { DataType::Signed } else { DataType::Unsigned }
        }
        "CHAR" | "CHARACTER" | "NCHAR" => {
            let length = only(&parse_numbers(parser)?);
            if parse_binary_character_set(parser)? {
                return Ok(DataType::Binary(length));
            }
            DataType::Char(length.map(|length| CharacterLength::IntegerLength { length, unit: None }))
        }
        "BINARY" => DataType::Binary(only(&parse_numbers(parser)?)),
        "DATE" => DataType::Date,
        "DATETIME" => DataType::Datetime(only(&parse_numbers(parser)?)),
        "TIME" => DataType::Time(only(&parse_numbers(parser)?), TimezoneInfo::None),
        "DECIMAL" | "DEC" => DataType::Decimal(match parse_numbers(parser)?.as_slice() {
            [] => ExactNumberInfo::None,
            [precision] => ExactNumberInfo::Precision(*precision),
            [precision, scale, ..] => {
                ExactNumberInfo::PrecisionAndScale(*precision, i64::try_from(*scale).unwrap_or(i64::MAX))
            }
        }),
        "DOUBLE" => {
            take_word(parser, "PRECISION");
            DataType::DoublePrecision
        }
        "REAL" => DataType::Real,
        "FLOAT" => match only(&parse_numbers(parser)?) {
            Some(25..) => DataType::DoublePrecision,
            _ => DataType::Float(ExactNumberInfo::None),
        },
        "YEAR" | "JSON" => DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new()),
        _ => return parser.expected_at("a type", at),
    })
}

/// `CHARACTER SET name` behind CHAR; true for `binary`: all others are kept as UTF-8.
fn parse_binary_character_set(parser: &mut Parser<'_>) -> Result<bool, ParserError> {
    if take_word(parser, "CHARSET") || take_word(parser, "CHARACTER") {
        take_word(parser, "SET");
        let name = parser.parse_identifier()?;
        return Ok(name.value.eq_ignore_ascii_case("binary"));
    }
    let _ = take_word(parser, "ASCII") || take_word(parser, "UNICODE");
    Ok(false)
}

/// `EXTRACT(unit FROM …)`.
fn parse_extract(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let unit = parser.parse_identifier()?;
    parser.expect_keyword(Keyword::FROM)?;
    let expr = Box::new(parser.parse_expr()?);
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Extract { field: DateTimeField::Custom(unit), syntax: ExtractSyntax::From, expr })
}
