//! A small reader of SQL expressions, so that the tables of tests read as SQL. It knows one row of named columns.

use crate::*;
use types::{BlobSize, Collation, Date, DateTime, Decimal, IntegerWidth, SqlType, Time, Value};

/// The columns of the test row: name, type, value (the same are in the oracle's table).
pub(super) fn columns() -> Vec<(&'static str, SqlType, Value)> {
    let integer = |width, unsigned| SqlType::Integer { width, unsigned };
    let varchar = |collation| SqlType::VarChar { length: 40, collation };
    let members = || std::sync::Arc::new(vec!["red".to_owned(), "green".to_owned(), "blue".to_owned()]);
    let ci = Collation::Utf8mb40900AiCi;
    let date = |text: &str| Date::parse(text.as_bytes()).unwrap().value;
    let datetime = |text: &str| DateTime::parse(text.as_bytes()).unwrap().value;
    let decimal = |text: &str| Value::Decimal(Box::new(Decimal::parse(text.as_bytes()).unwrap().0));
    vec![
        ("i", integer(IntegerWidth::Normal, false), Value::Int(-7)),
        ("u", integer(IntegerWidth::Big, true), Value::UInt(u64::MAX)),
        ("b", integer(IntegerWidth::Big, false), Value::Int(i64::MAX)),
        ("n", integer(IntegerWidth::Normal, false), Value::Null),
        ("d", SqlType::Decimal { precision: 10, scale: 3, unsigned: false }, decimal("12.340")),
        ("f", SqlType::Double, Value::Double(2.5)),
        ("s", varchar(ci), Value::text("12abc")),
        ("t", varchar(ci), Value::text("Hello Wörld")),
        ("cs", varchar(Collation::Utf8mb4Bin), Value::text("Hello")),
        ("bin", SqlType::VarBinary { length: 40 }, Value::text("Hello")),
        ("tx", SqlType::Text { size: BlobSize::Normal, collation: ci }, Value::text("a longer text")),
        ("e", SqlType::Enum { members: members(), collation: ci }, Value::UInt(2)),
        ("st", SqlType::Set { members: members(), collation: ci }, Value::UInt(5)),
        ("da", SqlType::Date, Value::Date(date("2024-02-29"))),
        ("dt", SqlType::DateTime { fraction: 0 }, Value::DateTime(datetime("2024-02-29 12:34:56"))),
        ("dt6", SqlType::DateTime { fraction: 6 }, Value::DateTime(datetime("2024-02-29 12:34:56.789012"))),
        ("ti", SqlType::Time { fraction: 0 }, Value::Time(Time::parse(b"-101:02:03").unwrap().value)),
        ("ts", SqlType::Timestamp { fraction: 0 }, Value::DateTime(datetime("2024-02-29 10:34:56"))),
        ("y", SqlType::Year, Value::UInt(2024)),
        ("bi", SqlType::Bit { length: 8 }, Value::UInt(5)),
    ]
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Word(String),
    Number(String),
    Text(String),
    Symbol(String),
}

fn tokens(text: &str) -> Vec<Token> {
    let characters: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < characters.len() {
        let start = at;
        let first = characters[at];
        let numeric = first.is_ascii_digit()
            || (first == '.' && characters.get(at + 1).is_some_and(char::is_ascii_digit));
        if first.is_whitespace() {
            at += 1;
        } else if numeric {
            while at < characters.len() && (characters[at].is_ascii_digit() || characters[at] == '.') {
                at += 1;
            }
            if at < characters.len() && matches!(characters[at], 'e' | 'E') {
                at += 1;
                if matches!(characters.get(at), Some('+' | '-')) {
                    at += 1;
                }
                while at < characters.len() && characters[at].is_ascii_digit() {
                    at += 1;
                }
            }
            tokens.push(Token::Number(characters[start..at].iter().collect()));
        } else if first == '\'' {
            let mut text = String::new();
            at += 1;
            while characters[at] != '\'' || characters.get(at + 1) == Some(&'\'') {
                if characters[at] == '\\' {
                    at += 1;
                    match characters[at] {
                        'n' => text.push('\n'),
                        '0' => text.push('\0'),
                        escaped @ ('%' | '_') => text.extend(['\\', escaped]),
                        other => text.push(other),
                    }
                } else {
                    at += usize::from(characters[at] == '\'');
                    text.push(characters[at]);
                }
                at += 1;
            }
            at += 1;
            tokens.push(Token::Text(text));
        } else if first.is_alphabetic() || first == '_' {
            while at < characters.len() && (characters[at].is_alphanumeric() || characters[at] == '_') {
                at += 1;
            }
            tokens.push(Token::Word(characters[start..at].iter().collect()));
        } else {
            let long = ["<=>", "<=", ">=", "<>", "!=", "<<", ">>", "||", "&&"];
            let rest: String = characters[at..].iter().take(3).collect();
            let symbol = long.iter().find(|symbol| rest.starts_with(**symbol));
            let symbol = symbol.map_or(first.to_string(), |symbol| (*symbol).to_owned());
            at += symbol.len();
            tokens.push(Token::Symbol(symbol));
        }
    }
    tokens
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

type Parsed = Result<Expression, TypeError>;

/// The typed expression that `text` means.
pub(super) fn parse(text: &str) -> Parsed {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let parsed = parser.expression(0)?;
    assert_eq!(parser.at, parser.tokens.len(), "left over in {text}: {:?}", &parser.tokens[parser.at..]);
    Ok(parsed)
}

impl Parser {
    fn peek_word(&self) -> String {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => word.to_uppercase(),
            _ => String::new(),
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        self.at += usize::from(found);
        found
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.tokens.get(self.at) == Some(&Token::Symbol(symbol.to_owned()));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) {
        assert!(self.take(symbol), "expected {symbol} at {:?}", &self.tokens[self.at..]);
    }

    fn expect_word(&mut self, word: &str) {
        assert!(self.take_word(word), "expected {word} at {:?}", &self.tokens[self.at..]);
    }

    fn symbol(&self) -> &str {
        match self.tokens.get(self.at) {
            Some(Token::Symbol(symbol)) => symbol,
            _ => "",
        }
    }

    /// Binding power and operator at the current token.
    fn operator(&self) -> Option<(u8, BinaryOperator)> {
        use BinaryOperator as B;
        let compare = |comparison| Some((7, B::Compare(comparison)));
        match self.symbol() {
            "||" => return Some((1, B::Or)),
            "&&" => return Some((3, B::And)),
            "=" => return compare(Comparison::Equal),
            "<=>" => return compare(Comparison::NullSafeEqual),
            "<>" | "!=" => return compare(Comparison::NotEqual),
            "<" => return compare(Comparison::Less),
            "<=" => return compare(Comparison::LessOrEqual),
            ">" => return compare(Comparison::Greater),
            ">=" => return compare(Comparison::GreaterOrEqual),
            "|" => return Some((8, B::BitOr)),
            "&" => return Some((9, B::BitAnd)),
            "<<" => return Some((10, B::ShiftLeft)),
            ">>" => return Some((10, B::ShiftRight)),
            "+" => return Some((11, B::Add)),
            "-" => return Some((11, B::Subtract)),
            "*" => return Some((12, B::Multiply)),
            "/" => return Some((12, B::Divide)),
            "%" => return Some((12, B::Modulo)),
            "^" => return Some((13, B::BitXor)),
            _ => {}
        }
        match self.peek_word().as_str() {
            "OR" => Some((1, B::Or)),
            "XOR" => Some((2, B::Xor)),
            "AND" => Some((3, B::And)),
            "DIV" => Some((12, B::IntegerDivide)),
            "MOD" => Some((12, B::Modulo)),
            _ => None,
        }
    }

    fn expression(&mut self, least: u8) -> Parsed {
        let mut left = if self.take_word("NOT") {
            Expression::unary(UnaryOperator::Not, self.expression(5)?)?
        } else {
            self.prefix()?
        };
        loop {
            if least <= 7
                && matches!(
                    self.peek_word().as_str(),
                    "IS" | "NOT" | "IN" | "LIKE" | "BETWEEN" | "REGEXP" | "RLIKE"
                )
            {
                left = self.predicate(left)?;
                continue;
            }
            let Some((power, operator)) = self.operator().filter(|(power, _)| *power >= least) else {
                return Ok(left);
            };
            self.at += 1;
            if self.peek_word() == "INTERVAL" {
                self.at += 1;
                let direction =
                    if operator == BinaryOperator::Add { Direction::Add } else { Direction::Subtract };
                left = self.interval(left, direction)?;
                continue;
            }
            let right = self.expression(power + 1)?;
            left = Expression::binary(operator, left, right)?;
        }
    }

    fn interval(&mut self, date: Expression, direction: Direction) -> Parsed {
        let amount = self.expression(0)?;
        let unit = IntervalUnit::by_name(&self.peek_word()).expect("a unit");
        self.at += 1;
        Expression::interval(date, amount, unit, direction, &TypingContext::default())
    }

    fn predicate(&mut self, left: Expression) -> Parsed {
        if self.take_word("IS") {
            let negated = self.take_word("NOT");
            let test = match (self.peek_word().as_str(), negated) {
                ("NULL" | "UNKNOWN", false) => Test::Null,
                ("NULL" | "UNKNOWN", true) => Test::NotNull,
                ("TRUE", false) => Test::True,
                ("TRUE", true) => Test::NotTrue,
                (_, false) => Test::False,
                (_, true) => Test::NotFalse,
            };
            self.at += 1;
            return Ok(Expression::is(test, left));
        }
        let negated = self.take_word("NOT");
        if self.take_word("BETWEEN") {
            let low = self.expression(8)?;
            self.expect_word("AND");
            let high = self.expression(8)?;
            return Expression::between(left, low, high, negated);
        }
        if self.take_word("IN") {
            self.expect("(");
            let items = self.arguments()?;
            return Expression::in_list(left, items, negated);
        }
        if self.take_word("REGEXP") || self.take_word("RLIKE") {
            let matches =
                Expression::call("REGEXP_LIKE", vec![left, self.expression(8)?], &TypingContext::default())?;
            return if negated { Expression::unary(UnaryOperator::Not, matches) } else { Ok(matches) };
        }
        self.expect_word("LIKE");
        let pattern = self.expression(8)?;
        let mut escape = Some('\\');
        if self.take_word("ESCAPE") {
            let Some(Token::Text(text)) = self.tokens.get(self.at) else { panic!("an escape character") };
            escape = text.chars().next();
            self.at += 1;
        }
        Expression::like(left, pattern, escape, negated)
    }

    /// Up to and with the closing parenthesis.
    fn arguments(&mut self) -> Result<Vec<Expression>, TypeError> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression(0)?);
            if self.take(")") {
                return Ok(arguments);
            }
            self.expect(",");
        }
    }

    fn prefix(&mut self) -> Parsed {
        if self.take("-") {
            return Expression::unary(UnaryOperator::Negate, self.expression(14)?);
        }
        if self.take("~") {
            return Expression::unary(UnaryOperator::BitNot, self.expression(14)?);
        }
        if self.take("!") {
            return Expression::unary(UnaryOperator::Not, self.expression(14)?);
        }
        let mut operand = self.atom()?;
        while self.take_word("COLLATE") {
            let name = self.peek_word().to_lowercase();
            self.at += 1;
            operand = Expression::collate(operand, Collation::by_name(&name).expect("a collation"))?;
        }
        Ok(operand)
    }

    fn text_token(&mut self) -> String {
        let Some(Token::Text(text)) = self.tokens.get(self.at) else { panic!("expected text") };
        self.at += 1;
        text.clone()
    }

    fn atom(&mut self) -> Parsed {
        if self.take("(") {
            let inner = self.expression(0)?;
            self.expect(")");
            return Ok(inner);
        }
        let token = self.tokens[self.at].clone();
        self.at += 1;
        match token {
            Token::Number(number) => Ok(number_literal(&number)),
            Token::Text(text) => Ok(Expression::text(text, Collation::Utf8mb40900AiCi)),
            Token::Word(word) => self.word(&word),
            Token::Symbol(symbol) => panic!("unexpected {symbol}"),
        }
    }

    fn word(&mut self, word: &str) -> Parsed {
        let upper = word.to_uppercase();
        let is_prefix = matches!(upper.as_str(), "X" | "DATE" | "TIME" | "TIMESTAMP");
        if is_prefix && matches!(self.tokens.get(self.at), Some(Token::Text(_))) {
            let text = self.text_token();
            let bytes = text.as_bytes();
            return Ok(match upper.as_str() {
                "X" => {
                    let digit = |index: usize| u8::from_str_radix(&text[index..index + 2], 16).unwrap();
                    let bytes: Vec<u8> = (0..text.len() / 2).map(|index| digit(index * 2)).collect();
                    Expression::text(bytes, Collation::Binary)
                }
                "DATE" => Expression::literal(Value::Date(Date::parse(bytes).unwrap().value), SqlType::Date),
                "TIME" => {
                    let parsed = Time::parse(bytes).unwrap();
                    Expression::literal(
                        Value::Time(parsed.value),
                        SqlType::Time { fraction: parsed.fraction },
                    )
                }
                _ => {
                    let parsed = DateTime::parse(bytes).unwrap();
                    let sql_type = SqlType::DateTime { fraction: parsed.fraction };
                    Expression::literal(Value::DateTime(parsed.value), sql_type)
                }
            });
        }
        if let Some(index) = columns().iter().position(|(name, ..)| *name == word) {
            let (_, sql_type, value) = columns().swap_remove(index);
            let slot = ColumnSlot(u16::try_from(index).unwrap());
            return Ok(Expression::column(slot, sql_type, value.is_null()));
        }
        match upper.as_str() {
            "NULL" => return Ok(Expression::null()),
            "TRUE" => return Ok(Expression::boolean(true)),
            "FALSE" => return Ok(Expression::boolean(false)),
            "CASE" => return self.case(),
            "BINARY" => {
                return Expression::cast(self.expression(14)?, SqlType::VarBinary { length: u32::MAX });
            }
            _ => {}
        }
        self.expect("(");
        match upper.as_str() {
            "CAST" => {
                let operand = self.expression(0)?;
                self.expect_word("AS");
                let sql_type = self.cast_type();
                self.expect(")");
                Expression::cast(operand, sql_type)
            }
            "EXTRACT" => {
                let unit = IntervalUnit::by_name(&self.peek_word()).expect("a unit");
                self.at += 1;
                self.expect_word("FROM");
                let operand = self.expression(0)?;
                self.expect(")");
                Ok(Expression::extract(unit, operand))
            }
            "TIMESTAMPDIFF" | "TIMESTAMPADD" => {
                let unit = IntervalUnit::by_name(&self.peek_word()).expect("a unit");
                self.at += 1;
                self.expect(",");
                let mut arguments = self.arguments()?;
                let (second, first) = (arguments.pop().unwrap(), arguments.pop().unwrap());
                if upper == "TIMESTAMPADD" {
                    return Expression::interval(
                        second,
                        first,
                        unit,
                        Direction::Add,
                        &TypingContext::default(),
                    );
                }
                Expression::timestamp_difference(unit, first, second)
            }
            "DATE_ADD" | "DATE_SUB" => {
                let date = self.expression(0)?;
                self.expect(",");
                self.expect_word("INTERVAL");
                let direction = if upper == "DATE_ADD" { Direction::Add } else { Direction::Subtract };
                let sum = self.interval(date, direction)?;
                self.expect(")");
                Ok(sum)
            }
            _ => {
                let arguments = self.arguments()?;
                Expression::call(word, arguments, &TypingContext::default())
            }
        }
    }

    fn case(&mut self) -> Parsed {
        let operand = if self.peek_word() == "WHEN" { None } else { Some(self.expression(0)?) };
        let mut branches = Vec::new();
        while self.take_word("WHEN") {
            let condition = self.expression(0)?;
            self.expect_word("THEN");
            branches.push((condition, self.expression(0)?));
        }
        let otherwise = if self.take_word("ELSE") { Some(self.expression(0)?) } else { None };
        self.expect_word("END");
        match operand {
            Some(operand) => Expression::case_of(&operand, branches, otherwise),
            None => Expression::case(branches, otherwise),
        }
    }

    fn cast_type(&mut self) -> SqlType {
        let name = self.peek_word();
        self.at += 1;
        let mut sizes = Vec::new();
        if self.take("(") {
            loop {
                let Some(Token::Number(number)) = self.tokens.get(self.at) else { panic!("a size") };
                sizes.push(number.parse::<u32>().unwrap());
                self.at += 1;
                if self.take(")") {
                    break;
                }
                self.expect(",");
            }
        }
        let size = |index: usize, otherwise: u32| sizes.get(index).copied().unwrap_or(otherwise);
        let small = |index: usize, otherwise: u32| u8::try_from(size(index, otherwise)).unwrap();
        let big = |unsigned| SqlType::Integer { width: IntegerWidth::Big, unsigned };
        match name.as_str() {
            "SIGNED" => big(false),
            "UNSIGNED" => big(true),
            "CHAR" => SqlType::VarChar { length: size(0, u32::MAX), collation: Collation::Utf8mb40900AiCi },
            "BINARY" if sizes.is_empty() => SqlType::VarBinary { length: u32::MAX },
            "BINARY" => SqlType::Binary { length: size(0, 0) },
            "DATE" => SqlType::Date,
            "TIME" => SqlType::Time { fraction: small(0, 0) },
            "DATETIME" => SqlType::DateTime { fraction: small(0, 0) },
            "DECIMAL" => SqlType::Decimal { precision: small(0, 10), scale: small(1, 0), unsigned: false },
            "DOUBLE" => SqlType::Double,
            "FLOAT" => SqlType::Float,
            "YEAR" => SqlType::Year,
            other => panic!("no type {other}"),
        }
    }
}

fn number_literal(text: &str) -> Expression {
    if text.contains(['e', 'E']) {
        return Expression::double(text.parse().unwrap());
    }
    if text.contains('.') {
        return Expression::decimal(Decimal::parse(text.as_bytes()).unwrap().0);
    }
    if let Ok(number) = text.parse::<i64>() {
        return Expression::integer(number);
    }
    if let Ok(number) = text.parse::<u64>() {
        return Expression::unsigned(number);
    }
    Expression::decimal(Decimal::parse(text.as_bytes()).unwrap().0)
}
