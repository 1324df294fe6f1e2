//! Expressions as written to typed expressions.
//!
//! Chains of operators are walked by a loop, because they may be long; everything else recurses as deep as `limits`
//! allows.
//!
//! *Mixed space.* Aggregates that are allowed here are gathered, and stand in the expression as columns behind the
//! table's own; `grouping` turns that into the group space.

mod call;
mod sys_function;

pub(super) use call::placed_call;

use super::known::Known;
use super::named_items::{NameOrder, NamedItem, NamedItems};
use super::scope::Scope;
use super::{Binder, Clause};
use crate::character_sets::{named_character_set, named_collation};
use crate::lexer::{TokenKind, hex_bytes};
use crate::normalize::number_literal;
use crate::plan::Reach;
use crate::plan::SessionValue;
use crate::syntax::syntax_error;
use crate::tokens::offset_of;
use expression::{
    AggregateCall, BinaryOperator, Comparison, DEPTH_MAX, Direction, Expression, IntervalUnit, Test,
    TypeError, UnaryOperator,
};
use protocol::SqlError;
use sqlparser::ast::{self, CastKind, DataType, Expr, Ident, ObjectName, ObjectNamePart, Value as AstValue};
use types::{Collation, DateMode, SqlType, Value};

/// Aggregates met so far; the first has slot `first_slot`.
#[derive(Debug, Default)]
pub(crate) struct Aggregates {
    pub(crate) first_slot: u16,
    pub(in crate::bind) calls: Known<AggregateCall>,
    /// The arguments of each GROUPING(), which have slots of their own.
    pub(crate) groupings: Vec<Vec<Expression>>,
}

/// Where an expression stands.
pub(crate) struct Place<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) clause: Clause,
    /// None: no aggregates here (1111).
    pub(crate) aggregates: Option<&'a mut Aggregates>,
    /// Select items that may be named here.
    pub(crate) items: Option<NamedItems<'a>>,
    /// The slot of the new row's first column, where VALUES(column) means something.
    pub(crate) new_row: Option<u16>,
    /// Whether window functions may stand here.
    pub(crate) windows: WindowPlace,
}

/// Whether window functions may stand somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WindowPlace {
    /// In items and ORDER BY of a SELECT.
    Allowed,
    /// 3593.
    Nowhere,
}

impl<'a> Place<'a> {
    /// A place with columns only.
    pub(crate) fn new(scope: &'a Scope, clause: Clause) -> Self {
        Self { scope, clause, aggregates: None, items: None, new_row: None, windows: WindowPlace::Nowhere }
    }
}

/// A typing error as the client sees it.
pub(crate) fn type_error(error: &TypeError, database: Option<&str>) -> SqlError {
    match (error, database) {
        (TypeError::UnknownFunction(name), Some(database)) => {
            SqlError::new(1305, format!("FUNCTION {database}.{name} does not exist"))
        }
        _ => SqlError::new(error.code(), error.to_string()),
    }
}

fn one_column() -> SqlError {
    columns_wanted(1)
}

/// 1241.
pub(super) fn columns_wanted(count: usize) -> SqlError {
    SqlError::new(1241, format!("Operand should contain {count} column(s)"))
}

impl Binder<'_> {
    /// Binds an expression; it is not deeper than may be sent to a peer.
    pub(crate) fn expression(&mut self, expr: &Expr, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        let bound = self.bound(expr, place)?;
        if bound.depth() > DEPTH_MAX {
            return Err(SqlError::new(
                1436,
                format!(
                    "Statement too complex: expression depth ({DEPTH_MAX}) exceeded; simplify the statement"
                ),
            ));
        }
        Ok(bound)
    }

    /// Converts a typing error.
    pub(crate) fn typed<T>(&self, result: Result<T, TypeError>) -> Result<T, SqlError> {
        result.map_err(|error| type_error(&error, self.context.database))
    }

    /// As [`Self::bound`], for what takes the value and does not compare it: see [`Self::padded`].
    fn full(&mut self, expr: &Expr, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        let bound = self.bound(expr, place)?;
        self.padded(bound)
    }

    fn bound(&mut self, expr: &Expr, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        match expr {
            Expr::Identifier(ident) => self.identifier(ident, place),
            Expr::CompoundIdentifier(parts) => self.compound(parts, place),
            Expr::Value(value) => self.literal(&value.value, value.span),
            Expr::Nested(inner) => self.bound(inner, place),
            Expr::BinaryOp { .. } => self.chain(expr, place),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr, place),
            Expr::IsNull(operand) => self.is(Test::Null, operand, place),
            Expr::IsNotNull(operand) => self.is(Test::NotNull, operand, place),
            Expr::IsTrue(operand) => self.is(Test::True, operand, place),
            Expr::IsNotTrue(operand) => self.is(Test::NotTrue, operand, place),
            Expr::IsFalse(operand) => self.is(Test::False, operand, place),
            Expr::IsNotFalse(operand) => self.is(Test::NotFalse, operand, place),
            Expr::IsUnknown(operand) => self.is(Test::Null, operand, place),
            Expr::IsNotUnknown(operand) => self.is(Test::NotNull, operand, place),
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated, place),
            Expr::Between { expr, negated, low, high } => {
                let operand = self.bound(expr, place)?;
                let low = self.beside(low, &operand, place)?;
                let high = self.beside(high, &operand, place)?;
                self.typed(Expression::between(operand, low, high, *negated))
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *negated, place)
            }
            Expr::RLike { negated, expr, pattern, regexp: _ } => self.rlike(expr, pattern, *negated, place),
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), place)
            }
            Expr::Cast { kind: CastKind::Cast, expr, data_type, format: None } => {
                let operand = self.full(expr, place)?;
                self.cast(operand, data_type)
            }
            Expr::Convert { is_try: false, expr, data_type, charset, target_before_value: _, styles }
                if styles.is_empty() =>
            {
                let operand = self.full(expr, place)?;
                match (data_type, charset) {
                    (None, Some(charset)) => {
                        let collation = named_character_set(object_name(charset)?)?;
                        self.typed(Expression::convert_using(operand, collation))
                    }
                    (Some(data_type), None) => self.cast(operand, data_type),
                    _ => Err(SqlError::unsupported("CONVERT with type and character set")),
                }
            }
            Expr::Collate { expr, collation } => {
                let operand = self.bound(expr, place)?;
                let collation = named_collation(object_name(collation)?)?;
                self.typed(Expression::collate(operand, collation))
            }
            Expr::Extract { field, syntax: _, expr } => {
                let operand = self.bound(expr, place)?;
                Ok(Expression::extract(interval_unit(&field.to_string())?, operand))
            }
            Expr::Position { expr, r#in } => {
                let arguments = vec![self.full(expr, place)?, self.full(r#in, place)?];
                self.call("LOCATE", arguments)
            }
            Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                let mut arguments = vec![self.full(expr, place)?];
                for argument in [substring_from, substring_for].into_iter().flatten() {
                    arguments.push(self.bound(argument, place)?);
                }
                self.call("SUBSTRING", arguments)
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                self.trim(*trim_where, trim_what.as_deref(), expr, place)
            }
            Expr::Prefixed { prefix, value } => self.prefixed(&prefix.value, value),
            Expr::TypedString(typed) => {
                let dates = self.context.typing.sql_mode.dates();
                typed_text(&typed.data_type, &typed.value.value, dates)
            }
            Expr::Function(function) => self.function(function, place),
            Expr::Tuple(_) => Err(one_column()),
            Expr::Subquery(query) => match place.items.and_then(|items| items.of_subquery(query)) {
                Some(item) => self.substitute(item),
                None => self.scalar_subquery(query, place),
            },
            Expr::Exists { subquery, negated } => self.exists(subquery, *negated, place),
            Expr::InSubquery { expr, subquery, negated } => {
                self.any_of_subquery(expr, Comparison::Equal, subquery, *negated, place)
            }
            Expr::AnyOp { left, compare_op, right, is_some: _ } => {
                let (comparison, query) = quantified(compare_op, right)?;
                self.any_of_subquery(left, comparison, query, false, place)
            }
            // All are, if there is none that is not.
            Expr::AllOp { left, compare_op, right } => {
                let (comparison, query) = quantified(compare_op, right)?;
                self.any_of_subquery(left, opposite(comparison)?, query, true, place)
            }
            Expr::MatchAgainst { .. } => Err(SqlError::unsupported("MATCH ... AGAINST")),
            Expr::Interval(_) => Err(SqlError::unsupported("INTERVAL outside of date arithmetic")),
            other => Err(SqlError::unsupported(&format!("expression {other}"))),
        }
    }

    fn rlike(
        &mut self,
        expr: &Expr,
        pattern: &Expr,
        negated: bool,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let arguments = vec![self.full(expr, place)?, self.full(pattern, place)?];
        let matches = self.call("REGEXP_LIKE", arguments)?;
        if negated { self.typed(Expression::unary(UnaryOperator::Not, matches)) } else { Ok(matches) }
    }

    fn identifier(&mut self, ident: &Ident, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        if ident.quote_style.is_none() && ident.value.starts_with("@@") {
            return self.system_variable(&ident.value);
        }
        if ident.quote_style.is_none() && ident.value.starts_with('@') {
            return self.user_variable(crate::lexer::user_variable_name(&ident.value));
        }
        let Some(items) = place.items else { return self.named_column(&[], ident, place) };
        let found = items.find(&ident.value, place.scope, place.clause);
        if matches!(items.order, NameOrder::ColumnsFirst | NameOrder::ColumnsThenItems) {
            let column = place.scope.find(&[], &ident.value, place.clause);
            return match (column, found) {
                (Ok(None), Ok(Some(item))) => self.item_named(item, ident, place),
                (Err(_), Ok(Some(item))) if items.order == NameOrder::ColumnsThenItems => {
                    self.item_named(item, ident, place)
                }
                (Err(ambiguous), _) | (Ok(None), Err(ambiguous)) => Err(ambiguous),
                (Ok(_), _) => self.named_column(&[], ident, place),
            };
        }
        match found? {
            Some(item) => self.item_named(item, ident, place),
            None => self.named_column(&[], ident, place),
        }
    }

    /// A select item in the place of its name.
    fn item_named(
        &mut self,
        item: &NamedItem<'_>,
        ident: &Ident,
        place: &Place<'_>,
    ) -> Result<Expression, SqlError> {
        if place.windows == WindowPlace::Nowhere && super::window::reads_window(&item.expression) {
            let name = &ident.value;
            let text = format!(
                "You cannot use the alias '{name}' of an expression containing a window function in this context.'"
            );
            return Err(SqlError::new(3594, text));
        }
        if !item.is_alias {
            self.note_column(&item.expression, place.scope, ident);
        }
        self.substitute(&item.expression)
    }

    /// Notes what a name means.
    pub(in crate::bind) fn note_column(&mut self, column: &Expression, scope: &Scope, first: &Ident) {
        if let Some(names) = &mut self.views.names
            && let Some((table, index)) = column.as_column().and_then(|slot| scope.table_of(slot))
        {
            names.columns.insert(offset_of(first.span.start), table.full_name(index));
        }
    }

    fn compound(&mut self, parts: &[Ident], place: &mut Place<'_>) -> Result<Expression, SqlError> {
        // The parser crate takes a text for a name.
        if let Some(text) = parts.iter().find(|part| part.quote_style == Some('\'')) {
            return Err(syntax_error(self.text, offset_of(text.span.start)));
        }
        let Some((name, qualifier)) = parts.split_last() else { return Err(one_column()) };
        self.named_column(qualifier, name, place)
    }

    /// Notes that the statement reads a column of a table.
    pub(in crate::bind) fn read_column(&mut self, column: Expression, scope: &Scope) -> Expression {
        if let Some(slot) = column.as_column()
            && let Some((table, index)) = scope.table_of(slot)
            && (table.is_table || table.is_view)
        {
            self.reads_of(&table.definition).read.insert(index);
        }
        column
    }

    fn system_variable(&mut self, written: &str) -> Result<Expression, SqlError> {
        let (scope, name) = crate::parse::split_system_variable(written);
        let reach = self.context.surroundings.variable_reach(&name);
        let wrong_scope = |kind: &str| SqlError::new(1238, format!("Variable '{name}' is a {kind} variable"));
        let value = match (scope, reach) {
            (Some("global"), Some(Reach::Session)) => return Err(wrong_scope("SESSION")),
            (Some("session" | "local"), Some(Reach::Global)) => return Err(wrong_scope("GLOBAL")),
            (Some("global"), _) => SessionValue::GlobalVariable(name.clone()),
            // There is no such scope in an expression.
            (Some(scope @ ("persist" | "persist_only")), _) => {
                SessionValue::Variable(format!("{scope}.{name}"))
            }
            _ => SessionValue::Variable(name.clone()),
        };
        self.session_value(value, &name)
    }

    fn literal(
        &mut self,
        value: &AstValue,
        span: sqlparser::tokenizer::Span,
    ) -> Result<Expression, SqlError> {
        match value {
            AstValue::Number(digits, _) => number(digits, false),
            AstValue::SingleQuotedString(text) => {
                Ok(Expression::text(text.as_bytes(), self.context.typing.collation))
            }
            AstValue::HexStringLiteral(digits) => {
                Ok(Expression::text(hex_bytes(digits).unwrap_or_default(), Collation::Binary))
            }
            AstValue::Boolean(truth) => Ok(Expression::boolean(*truth)),
            AstValue::Null => Ok(Expression::null()),
            AstValue::Placeholder(name) => {
                let number = name.trim_start_matches('?').parse::<u16>().ok();
                let sql_type = number.and_then(|number| self.parameter_types.get(usize::from(number)));
                match (number, sql_type) {
                    (Some(number), Some(sql_type)) => Ok(Expression::parameter(number, sql_type.clone())),
                    _ => Err(syntax_error(self.text, offset_of(span.start))),
                }
            }
            other => Err(SqlError::unsupported(&format!("literal {other}"))),
        }
    }

    /// An operand beside another: a hexadecimal literal beside a number is a number.
    fn beside(
        &mut self,
        expr: &Expr,
        other: &Expression,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        if is_numeric(&other.sql_type)
            && let Some(number) = hex_number(expr)
        {
            return Ok(number);
        }
        self.bound(expr, place)
    }

    /// An operand of arithmetic.
    fn arithmetic_operand(&mut self, expr: &Expr, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        match hex_number(expr) {
            Some(number) => Ok(number),
            None => self.bound(expr, place),
        }
    }

    fn unary(
        &mut self,
        operator: ast::UnaryOperator,
        expr: &Expr,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        match operator {
            ast::UnaryOperator::Plus => self.bound(expr, place),
            ast::UnaryOperator::Minus => {
                if let Expr::Value(value) = expr
                    && let AstValue::Number(digits, _) = &value.value
                {
                    return number(digits, true);
                }
                let operand = self.arithmetic_operand(expr, place)?;
                self.typed(Expression::unary(UnaryOperator::Negate, operand))
            }
            ast::UnaryOperator::Not | ast::UnaryOperator::BangNot => {
                let operand = self.bound(expr, place)?;
                self.typed(Expression::unary(UnaryOperator::Not, operand))
            }
            ast::UnaryOperator::BitwiseNot => {
                let operand = self.arithmetic_operand(expr, place)?;
                self.typed(Expression::unary(UnaryOperator::BitNot, operand))
            }
            other => Err(SqlError::unsupported(&format!("operator {other}"))),
        }
    }

    /// Binary operators: down the left side by a loop, then up again.
    fn chain(&mut self, expr: &Expr, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        let mut links = Vec::new();
        let mut leftmost = expr;
        while let Expr::BinaryOp { left, op, right } = leftmost {
            links.push((op, &**right));
            leftmost = left;
        }
        let Some((first_operator, first_right)) = links.pop() else { return self.bound(leftmost, place) };
        let mut left = self.first_link(leftmost, first_operator, first_right, place)?;
        // Runs of AND or OR become one node at once: adding one operand at a time would copy the run each time.
        let mut run: Option<(BinaryOperator, Vec<Expression>)> = None;
        for (op, right) in links.into_iter().rev() {
            let operator = binary_operator(op)?;
            if matches!(operator, BinaryOperator::And | BinaryOperator::Or) {
                let right = self.bound(right, place)?;
                run = Some(match run {
                    Some((same, mut operands)) if same == operator => {
                        operands.push(right);
                        (same, operands)
                    }
                    other => (operator, vec![other.map_or(left, finish_run), right]),
                });
                left = Expression::null();
                continue;
            }
            if let Some(finished) = run.take() {
                left = finish_run(finished);
            }
            left = self.link(left, operator, right, place)?;
        }
        Ok(run.map_or(left, finish_run))
    }

    fn first_link(
        &mut self,
        left: &Expr,
        op: &ast::BinaryOperator,
        right: &Expr,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        if let (ast::BinaryOperator::Assignment, Expr::Identifier(name)) = (op, left) {
            let value = self.full(right, place)?;
            return self.assign_variable(&crate::lexer::user_variable_name(&name.value), value);
        }
        let operator = binary_operator(op)?;
        if let BinaryOperator::Compare(comparison) = operator {
            match (tuple(left), tuple(right), left, right) {
                (Some(left), Some(right), _, _) => return self.compare_rows(comparison, left, right, place),
                (Some(row), None, _, Expr::Subquery(query)) => {
                    return self.row_subquery(row, comparison, query, place);
                }
                (None, Some(row), Expr::Subquery(query), _) => {
                    return self.row_subquery(row, comparison.mirrored(), query, place);
                }
                (Some(row), None, _, _) => return Err(columns_wanted(row.len())),
                _ => {}
            }
        }
        // `INTERVAL 1 DAY + date`.
        if let (Expr::Interval(interval), BinaryOperator::Add) = (left, operator) {
            let date = self.bound(right, place)?;
            return self.interval(date, interval, Direction::Add, place);
        }
        let bound = match operator {
            BinaryOperator::Compare(_) => {
                let bound = self.bound(left, place)?;
                if hex_number(left).is_some() {
                    let other = self.bound(right, place)?;
                    if is_numeric(&other.sql_type) { self.arithmetic_operand(left, place)? } else { bound }
                } else {
                    bound
                }
            }
            BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor => self.bound(left, place)?,
            _ => self.arithmetic_operand(left, place)?,
        };
        self.link(bound, operator, right, place)
    }

    fn link(
        &mut self,
        left: Expression,
        operator: BinaryOperator,
        right: &Expr,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        if let Expr::Interval(interval) = right {
            let direction = match operator {
                BinaryOperator::Add => Direction::Add,
                BinaryOperator::Subtract => Direction::Subtract,
                _ => return Err(SqlError::unsupported("INTERVAL outside of date arithmetic")),
            };
            return self.interval(left, interval, direction, place);
        }
        let right = match operator {
            BinaryOperator::Compare(_) => self.beside(right, &left, place)?,
            BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor => self.bound(right, place)?,
            _ => self.arithmetic_operand(right, place)?,
        };
        self.typed(Expression::binary(operator, left, right))
    }

    fn interval(
        &mut self,
        date: Expression,
        interval: &ast::Interval,
        direction: Direction,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let unit = interval.leading_field.as_ref().map(ToString::to_string).unwrap_or_default();
        let unit = interval_unit(&unit)?;
        let amount = self.bound(&interval.value, place)?;
        self.typed(Expression::interval(date, amount, unit, direction, &self.context.typing))
    }

    /// `(a, b) = (1, 2)`: column by column.
    fn compare_rows(
        &mut self,
        comparison: Comparison,
        left: &[Expr],
        right: &[Expr],
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        if left.len() != right.len() {
            return Err(columns_wanted(left.len()));
        }
        let mut pairs = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            let left = self.bound(left, place)?;
            let right = self.beside(right, &left, place)?;
            pairs.push((left, right));
        }
        self.row_condition(comparison, pairs)
    }

    /// The comparison of two rows: the first pair that is not equal decides on their order.
    pub(super) fn row_condition(
        &self,
        comparison: Comparison,
        mut pairs: Vec<(Expression, Expression)>,
    ) -> Result<Expression, SqlError> {
        let strict = match comparison {
            Comparison::Equal | Comparison::NullSafeEqual | Comparison::NotEqual => {
                let compared =
                    pairs.into_iter().map(|(left, right)| Expression::compare(comparison, left, right));
                let conditions = self.typed(compared.collect::<Result<Vec<_>, _>>())?;
                let is_any = comparison == Comparison::NotEqual;
                return Ok(if is_any { Expression::or(conditions) } else { Expression::and(conditions) });
            }
            Comparison::Less | Comparison::LessOrEqual => Comparison::Less,
            Comparison::Greater | Comparison::GreaterOrEqual => Comparison::Greater,
        };
        let Some((left, right)) = pairs.pop() else { return Err(one_column()) };
        let mut condition = self.typed(Expression::compare(comparison, left, right))?;
        for (left, right) in pairs.into_iter().rev() {
            let is_equal = self.typed(Expression::compare(Comparison::Equal, left.clone(), right.clone()))?;
            let decides = self.typed(Expression::compare(strict, left, right))?;
            condition = Expression::or(vec![decides, Expression::and(vec![is_equal, condition])]);
        }
        Ok(condition)
    }

    fn is(&mut self, test: Test, operand: &Expr, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        Ok(Expression::is(test, self.bound(operand, place)?))
    }

    fn in_list(
        &mut self,
        expr: &Expr,
        list: &[Expr],
        negated: bool,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        if let Some(left) = tuple(expr) {
            let mut alternatives = Vec::with_capacity(list.len());
            for item in list {
                let right = tuple(item).ok_or_else(|| columns_wanted(left.len()))?;
                alternatives.push(self.compare_rows(Comparison::Equal, left, right, place)?);
            }
            let any = Expression::or(alternatives);
            return if negated { self.typed(Expression::unary(UnaryOperator::Not, any)) } else { Ok(any) };
        }
        let operand = self.bound(expr, place)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            items.push(self.beside(item, &operand, place)?);
        }
        self.typed(Expression::in_list(operand, items, negated))
    }

    fn like(
        &mut self,
        expr: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        negated: bool,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let (operand, pattern) = (self.full(expr, place)?, self.full(pattern, place)?);
        let escape = match escape {
            None if self.context.modes.no_backslash_escapes => None,
            None => Some('\\'),
            Some(Expr::Value(value)) => match &value.value {
                AstValue::SingleQuotedString(text) if text.chars().count() <= 1 => text.chars().next(),
                _ => return Err(SqlError::new(1210, "Incorrect arguments to ESCAPE")),
            },
            Some(_) => return Err(SqlError::new(1210, "Incorrect arguments to ESCAPE")),
        };
        self.typed(Expression::like(operand, pattern, escape, negated))
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Expr>,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let operand = operand.map(|operand| self.bound(operand, place)).transpose()?;
        let mut branches = Vec::with_capacity(conditions.len());
        for when in conditions {
            branches.push((self.bound(&when.condition, place)?, self.full(&when.result, place)?));
        }
        let otherwise = otherwise.map(|otherwise| self.full(otherwise, place)).transpose()?;
        match operand {
            Some(operand) => self.typed(Expression::case_of(&operand, branches, otherwise)),
            None => self.typed(Expression::case(branches, otherwise)),
        }
    }

    fn cast(&mut self, operand: Expression, data_type: &DataType) -> Result<Expression, SqlError> {
        let sql_type = cast_type(data_type, self.context.typing.collation)?;
        self.typed(Expression::cast(operand, sql_type))
    }

    fn trim(
        &mut self,
        side: Option<ast::TrimWhereField>,
        what: Option<&Expr>,
        expr: &Expr,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let mut arguments = vec![self.full(expr, place)?];
        if let Some(what) = what {
            arguments.push(self.bound(what, place)?);
        }
        let name = match side {
            None | Some(ast::TrimWhereField::Both) => "TRIM",
            Some(ast::TrimWhereField::Leading) => "LTRIM",
            Some(ast::TrimWhereField::Trailing) => "RTRIM",
        };
        self.call(name, arguments)
    }

    /// `_utf8mb4'…'`, `_binary'…'`.
    fn prefixed(&mut self, prefix: &str, value: &Expr) -> Result<Expression, SqlError> {
        let character_set = prefix.trim_start_matches('_').to_ascii_lowercase();
        let bytes = match value {
            Expr::Value(value) => match &value.value {
                AstValue::SingleQuotedString(text) => text.clone().into_bytes(),
                AstValue::HexStringLiteral(digits) => hex_bytes(digits).unwrap_or_default(),
                _ => return Err(one_column()),
            },
            _ => return Err(one_column()),
        };
        let collation = named_character_set(&character_set)?;
        if collation == Collation::Binary {
            return Ok(Expression::text(bytes, collation));
        }
        let set = collation.set();
        let bytes = set.filled(&bytes);
        let text = set.decode(&bytes).map_err(|malformed| crate::invalid(set, &bytes, malformed))?;
        Ok(Expression::text(text.as_bytes(), collation))
    }
}

fn finish_run((operator, operands): (BinaryOperator, Vec<Expression>)) -> Expression {
    if operator == BinaryOperator::And { Expression::and(operands) } else { Expression::or(operands) }
}

/// The comparison that holds for two values that are not NULL where this one does not.
fn opposite(comparison: Comparison) -> Result<Comparison, SqlError> {
    Ok(match comparison {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::NullSafeEqual => return Err(SqlError::unsupported("<=> before ALL")),
    })
}

/// The parts of `comparison ANY (SELECT …)`.
fn quantified<'q>(
    operator: &ast::BinaryOperator,
    right: &'q Expr,
) -> Result<(Comparison, &'q ast::Query), SqlError> {
    let BinaryOperator::Compare(comparison) = binary_operator(operator)? else {
        return Err(SqlError::unsupported("this operator before ANY and ALL"));
    };
    let mut right = right;
    while let Expr::Nested(inner) = right {
        right = inner;
    }
    let Expr::Subquery(query) = right else {
        return Err(SqlError::unsupported("ANY and ALL of something else than a query"));
    };
    Ok((comparison, query))
}

/// The columns of a row value.
pub(super) fn tuple(expr: &Expr) -> Option<&[Expr]> {
    if let Expr::Tuple(items) = expr { Some(items) } else { None }
}

fn binary_operator(op: &ast::BinaryOperator) -> Result<BinaryOperator, SqlError> {
    use ast::BinaryOperator as Written;
    Ok(match op {
        Written::Plus => BinaryOperator::Add,
        Written::Minus => BinaryOperator::Subtract,
        Written::Multiply => BinaryOperator::Multiply,
        Written::Divide => BinaryOperator::Divide,
        Written::MyIntegerDivide => BinaryOperator::IntegerDivide,
        Written::Modulo => BinaryOperator::Modulo,
        Written::Gt => BinaryOperator::Compare(Comparison::Greater),
        Written::Lt => BinaryOperator::Compare(Comparison::Less),
        Written::GtEq => BinaryOperator::Compare(Comparison::GreaterOrEqual),
        Written::LtEq => BinaryOperator::Compare(Comparison::LessOrEqual),
        Written::Eq => BinaryOperator::Compare(Comparison::Equal),
        Written::NotEq => BinaryOperator::Compare(Comparison::NotEqual),
        Written::Spaceship => BinaryOperator::Compare(Comparison::NullSafeEqual),
        Written::And => BinaryOperator::And,
        // With PIPES_AS_CONCAT the parser makes a call of CONCAT.
        Written::Or | Written::StringConcat => BinaryOperator::Or,
        Written::Xor => BinaryOperator::Xor,
        Written::BitwiseOr => BinaryOperator::BitOr,
        Written::BitwiseAnd => BinaryOperator::BitAnd,
        Written::BitwiseXor => BinaryOperator::BitXor,
        Written::PGBitwiseShiftLeft => BinaryOperator::ShiftLeft,
        Written::PGBitwiseShiftRight => BinaryOperator::ShiftRight,
        Written::Arrow | Written::LongArrow => {
            return Err(SqlError::unsupported("JSON operators -> and ->>"));
        }
        Written::Assignment => return Err(SqlError::unsupported("assignment in expressions (:=)")),
        other => return Err(SqlError::unsupported(&format!("operator {other}"))),
    })
}

/// A number literal.
pub(crate) fn number(digits: &str, negative: bool) -> Result<Expression, SqlError> {
    let kind = if digits.contains(['e', 'E']) {
        TokenKind::Float
    } else if digits.contains('.') {
        TokenKind::Decimal
    } else {
        TokenKind::Integer
    };
    let (value, sql_type) = number_literal(digits, kind, negative).ok_or_else(|| {
        SqlError::new(1367, format!("Illegal double '{digits}' value found during parsing"))
    })?;
    Ok(match value {
        Value::Int(number) => Expression::integer(number),
        Value::UInt(number) => Expression::unsigned(number),
        Value::Double(number) => Expression::double(number),
        Value::Decimal(decimal) => Expression::decimal(*decimal),
        other => Expression::literal(other, sql_type),
    })
}

/// A hexadecimal or bit literal as the number that its bytes are.
fn hex_number(expr: &Expr) -> Option<Expression> {
    let Expr::Value(value) = expr else { return None };
    let AstValue::HexStringLiteral(digits) = &value.value else { return None };
    let bytes = hex_bytes(digits)?;
    let skipped = bytes.len().saturating_sub(8);
    let number = bytes[skipped..].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Some(Expression::unsigned(number))
}

/// As [`hex_number`], for a value that is stored into a column of this type.
pub(crate) fn hex_for_column(expr: &Expr, sql_type: &SqlType) -> Option<Expression> {
    if is_numeric(sql_type) || matches!(sql_type, SqlType::Bit { .. }) { hex_number(expr) } else { None }
}

fn is_numeric(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Integer { .. }
            | SqlType::Float
            | SqlType::Double
            | SqlType::Decimal { .. }
            | SqlType::Bit { .. }
            | SqlType::Year
    )
}

/// A name of one part.
pub(crate) fn object_name(name: &ObjectName) -> Result<&str, SqlError> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Ok(&ident.value),
        _ => Err(SqlError::unsupported(&format!("name {name}"))),
    }
}

/// A unit of INTERVAL, or 1064.
pub(crate) fn interval_unit(name: &str) -> Result<IntervalUnit, SqlError> {
    IntervalUnit::by_name(name).ok_or_else(|| SqlError::unsupported(&format!("interval unit {name}")))
}

/// The type that CAST names.
fn cast_type(data_type: &DataType, collation: Collation) -> Result<SqlType, SqlError> {
    use types::IntegerWidth::Big;
    const TEXT_LENGTH: u32 = 65_535;
    let digits = |number: Option<u64>| u8::try_from(number.unwrap_or(0)).unwrap_or(u8::MAX);
    let length = |length: &Option<ast::CharacterLength>| match length {
        None => Ok(TEXT_LENGTH),
        Some(ast::CharacterLength::IntegerLength { length, unit: None }) => {
            Ok(u32::try_from(*length).unwrap_or(u32::MAX))
        }
        Some(_) => Err(SqlError::unsupported("this length in CAST")),
    };
    Ok(match data_type {
        DataType::Signed | DataType::SignedInteger => SqlType::Integer { width: Big, unsigned: false },
        DataType::Unsigned | DataType::UnsignedInteger => SqlType::Integer { width: Big, unsigned: true },
        DataType::Char(size) | DataType::Character(size) => {
            SqlType::VarChar { length: length(size)?, collation }
        }
        DataType::Binary(size) => SqlType::VarBinary {
            length: size.map_or(TEXT_LENGTH, |size| u32::try_from(size).unwrap_or(u32::MAX)),
        },
        DataType::Date => SqlType::Date,
        DataType::Datetime(fraction) => SqlType::DateTime { fraction: digits(*fraction) },
        DataType::Time(fraction, ast::TimezoneInfo::None) => SqlType::Time { fraction: digits(*fraction) },
        DataType::Double(_) | DataType::DoublePrecision | DataType::Real => SqlType::Double,
        DataType::Float(_) => SqlType::Float,
        DataType::Decimal(size) | DataType::Dec(size) => {
            let (precision, scale) = match size {
                ast::ExactNumberInfo::None => (10, 0),
                ast::ExactNumberInfo::Precision(precision) => (digits(Some(*precision)), 0),
                ast::ExactNumberInfo::PrecisionAndScale(precision, scale) => {
                    (digits(Some(*precision)), u8::try_from(*scale).unwrap_or(u8::MAX))
                }
            };
            SqlType::Decimal { precision, scale, unsigned: false }
        }
        DataType::Custom(name, modifiers)
            if modifiers.is_empty() && object_name(name)?.eq_ignore_ascii_case("year") =>
        {
            SqlType::Year
        }
        other => return Err(SqlError::unsupported(&format!("CAST to {other}"))),
    })
}

/// `DATE '…'` and the like: a wrong one, or one that sql_mode does not let in, is an error, not NULL.
fn typed_text(data_type: &DataType, value: &AstValue, dates: DateMode) -> Result<Expression, SqlError> {
    let AstValue::SingleQuotedString(text) = value else { return Err(one_column()) };
    let fraction = fraction_digits(text.as_bytes());
    let (kind, sql_type) = match data_type {
        DataType::Date => ("DATE", SqlType::Date),
        DataType::Time(..) => ("TIME", SqlType::Time { fraction }),
        _ => ("DATETIME", SqlType::DateTime { fraction }),
    };
    match types::store(Value::text(text), &sql_type, types::StoreMode::Strict, dates) {
        Ok(value) => Ok(Expression::literal(value, sql_type)),
        Err(_) => Err(SqlError::new(1525, format!("Incorrect {kind} value: '{text}'"))),
    }
}

fn fraction_digits(bytes: &[u8]) -> u8 {
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let has_point = bytes.len() > digits && bytes[bytes.len() - digits - 1] == b'.';
    if has_point { u8::try_from(digits.min(6)).unwrap_or(6) } else { 0 }
}
