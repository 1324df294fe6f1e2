//! Constructors: they decide the type of each node from its operands and insert the conversions that MySQL makes there,
//! once.
//!
//! - `typing/result_type.rs`: numeric classes, decimal shapes, the common type of several results (CASE, COALESCE,
//!   UNION).
//! - `typing/collation.rs`: whose collation a comparison uses (coercibility).
//! - `typing/compared.rs`: comparisons, BETWEEN, IN, LIKE: the domain and the conversions of both sides.
//!
//! Invariants: a constructor never evaluates a column or a parameter. Conversions of literals are folded at once where
//! the result depends on nothing else, so the planner finds `column = literal` in the column's kind. TIMESTAMP operands
//! are first brought into the session's time zone, except beside other TIMESTAMPs.

mod collation;
mod compared;
mod result_type;

use collation::NUMERIC;
pub(crate) use collation::aggregate_collation;
pub use collation::{IMPLICIT, strongest};
pub(crate) use compared::sorted_list;
pub(crate) use result_type::{
    BIGINT, BIGINT_UNSIGNED, NumericClass, collation_of, decimal_shape, decimal_type, display_length,
    fraction_digits, integer_digits, is_binary_string, is_temporal, is_text, numeric_class, of_folded,
    same_representation, text_type, time_fraction_digits, with_collation,
};
pub use result_type::{common_type, type_words};

use crate::context::{ColumnSlot, Context, NoColumns, SqlMode, TypeError};
use crate::control_functions::ControlFunction;
use crate::function::Function;
use crate::node::{BinaryOperator, CastPurpose, Expression, IntervalUnit, Node, Test, UnaryOperator};
use types::{Collation, IntegerWidth, SqlType, Value};

/// The facts about the session that constructors need.
#[derive(Clone, Copy, Debug)]
pub struct TypingContext {
    /// The connection's collation: that of text made from numbers and dates.
    pub collation: Collation,
    /// See [`SqlMode`].
    pub sql_mode: SqlMode,
}

impl Default for TypingContext {
    fn default() -> Self {
        Self { collation: Collation::Utf8mb40900AiCi, sql_mode: SqlMode::default() }
    }
}

/// The connection's default collation, where a constructor is not told.
pub(crate) const DEFAULT_COLLATION: Collation = Collation::Utf8mb40900AiCi;

impl Expression {
    pub(crate) fn new(node: Node, sql_type: SqlType, nullable: bool) -> Self {
        let made = Self { node, sql_type, nullable, coercibility: IMPLICIT };
        Self { coercibility: collation::coercibility(&made), ..made }
    }

    /// A constant of a known type.
    #[must_use]
    pub fn literal(value: Value, sql_type: SqlType) -> Self {
        let nullable = value.is_null();
        Self::new(Node::Literal(value), sql_type, nullable)
    }

    /// NULL.
    #[must_use]
    pub fn null() -> Self {
        Self::literal(Value::Null, SqlType::Null)
    }

    /// An integer literal.
    #[must_use]
    pub fn integer(number: i64) -> Self {
        Self::literal(Value::Int(number), BIGINT)
    }

    /// An integer literal above `i64::MAX`, or one that is unsigned for another reason.
    #[must_use]
    pub fn unsigned(number: u64) -> Self {
        Self::literal(Value::UInt(number), BIGINT_UNSIGNED)
    }

    /// A literal with exponent.
    #[must_use]
    pub fn double(number: f64) -> Self {
        Self::literal(Value::Double(number), SqlType::Double)
    }

    /// A literal with a point.
    #[must_use]
    pub fn decimal(decimal: types::Decimal) -> Self {
        let sql_type = decimal_type(u32::from(decimal.precision()), u32::from(decimal.scale()));
        Self::literal(Value::Decimal(Box::new(decimal)), sql_type)
    }

    /// TRUE or FALSE.
    #[must_use]
    pub fn boolean(truth: bool) -> Self {
        Self::integer(i64::from(truth))
    }

    /// A string literal in the connection's collation; `Collation::Binary` for x'…' and _binary'…'.
    #[must_use]
    pub fn text(text: impl Into<Vec<u8>>, collation: Collation) -> Self {
        let text = text.into();
        let length = if collation == Collation::Binary {
            text.len()
        } else {
            crate::text_functions::character_count(&text)
        };
        let sql_type = text_type(u64::try_from(length).unwrap_or(u64::MAX), collation);
        Self::literal(Value::Bytes(text), sql_type)
    }

    /// A column of the input row.
    #[must_use]
    pub fn column(slot: ColumnSlot, sql_type: SqlType, nullable: bool) -> Self {
        Self::new(Node::Column(slot), sql_type, nullable)
    }

    /// A column of the input row that holds the values of another expression.
    #[must_use]
    pub fn column_of(slot: ColumnSlot, computed: &Self) -> Self {
        Self::column(slot, computed.sql_type.clone(), computed.nullable).as_coercible(computed.coercibility)
    }

    /// The same; its collation, if it has one, is this strong.
    #[must_use]
    pub fn as_coercible(self, coercibility: u8) -> Self {
        if self.coercibility >= NUMERIC { self } else { Self { coercibility, ..self } }
    }

    /// `?` number `number`, whose values are of `sql_type`.
    #[must_use]
    pub fn parameter(number: u16, sql_type: SqlType) -> Self {
        Self::new(Node::Parameter(number), sql_type, true)
    }

    /// Parameter number `number`, which stands for a column of a query around this one.
    #[must_use]
    pub fn outer_column(number: u16, column: &Self) -> Self {
        let (sql_type, nullable) = (column.sql_type.clone(), column.nullable);
        let parameter = Self::new(Node::Parameter(number), sql_type.clone(), nullable);
        let node = Node::Cast { operand: Box::new(parameter), purpose: CastPurpose::OuterColumn };
        Self::new(node, sql_type, nullable).as_coercible(column.coercibility)
    }

    /// The parameter, if this is what `outer_column` makes.
    #[must_use]
    pub fn as_outer_column(&self) -> Option<u16> {
        match &self.node {
            Node::Cast { operand, purpose: CastPurpose::OuterColumn } => match operand.node {
                Node::Parameter(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    /// `left operator right`.
    pub fn binary(operator: BinaryOperator, left: Self, right: Self) -> Result<Self, TypeError> {
        match operator {
            BinaryOperator::And => Ok(Self::and(vec![left, right])),
            BinaryOperator::Or => Ok(Self::or(vec![left, right])),
            BinaryOperator::Xor => Ok(Self::xor(left, right)),
            BinaryOperator::Compare(comparison) => Self::compare(comparison, left, right),
            BinaryOperator::BitAnd
            | BinaryOperator::BitOr
            | BinaryOperator::BitXor
            | BinaryOperator::ShiftLeft
            | BinaryOperator::ShiftRight => {
                let nullable = left.nullable || right.nullable;
                let (left, right) = (Box::new(left.localised()), Box::new(right.localised()));
                Ok(Self::new(Node::Binary { operator, left, right }, BIGINT_UNSIGNED, nullable))
            }
            BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::IntegerDivide
            | BinaryOperator::Modulo => Ok(Self::arithmetic(operator, left, right)),
        }
    }

    fn arithmetic(operator: BinaryOperator, left: Self, right: Self) -> Self {
        let [left, right] = [left, right].map(|operand| operand.localised().moment_as_number());
        let sql_type = result_type::arithmetic(operator, &left, &right);
        let divides = matches!(
            operator,
            BinaryOperator::Divide | BinaryOperator::IntegerDivide | BinaryOperator::Modulo
        );
        let nullable = divides || left.nullable || right.nullable;
        let (left, right) = (Box::new(left), Box::new(right));
        Self::new(Node::Binary { operator, left, right }, sql_type, nullable)
    }

    /// AND of any number of conditions; TRUE for none.
    #[must_use]
    pub fn and(conditions: Vec<Self>) -> Self {
        Self::n_ary(conditions, true)
    }

    /// OR of any number of conditions; FALSE for none.
    #[must_use]
    pub fn or(conditions: Vec<Self>) -> Self {
        Self::n_ary(conditions, false)
    }

    /// Chains are kept flat: a left-deep chain that arrives operator by operator is extended in place.
    fn n_ary(conditions: Vec<Self>, conjunction: bool) -> Self {
        let nullable = conditions.iter().any(|condition| condition.nullable);
        let mut operands: Vec<Self> = Vec::new();
        for condition in conditions {
            let inner = match condition.node {
                Node::And(inner) if conjunction => inner.0,
                Node::Or(inner) if !conjunction => inner.0,
                node => {
                    operands.push(Self { node, ..condition });
                    continue;
                }
            };
            if operands.is_empty() { operands = inner } else { operands.extend(inner) }
        }
        match operands.len() {
            0 => Self::boolean(conjunction),
            1 => operands.swap_remove(0),
            _ => {
                let node = if conjunction { Node::And(operands.into()) } else { Node::Or(operands.into()) };
                Self::new(node, BIGINT, nullable)
            }
        }
    }

    /// A chain of XOR is one flat call.
    fn xor(left: Self, right: Self) -> Self {
        let nullable = left.nullable || right.nullable;
        let function = Function::Control(ControlFunction::Xor);
        let mut operands = match left {
            Self { node: Node::Function { function: known, arguments }, .. } if known == function => {
                arguments.0
            }
            left => vec![left],
        };
        operands.push(right);
        Self::new(Node::Function { function, arguments: operands.into() }, BIGINT, nullable)
    }

    /// The conditions that must all hold: the operands of an AND, else the expression itself.
    #[must_use]
    pub fn into_conjuncts(self) -> Vec<Self> {
        match self.node {
            Node::And(operands) => operands.0,
            node => vec![Self { node, ..self }],
        }
    }

    /// NOT, unary minus, `~`.
    pub fn unary(operator: UnaryOperator, operand: Self) -> Result<Self, TypeError> {
        let operand = operand.localised();
        let operand = if operator == UnaryOperator::Negate { operand.moment_as_number() } else { operand };
        let sql_type = match operator {
            UnaryOperator::Not => BIGINT,
            UnaryOperator::BitNot => BIGINT_UNSIGNED,
            UnaryOperator::Negate => result_type::negated(&operand),
        };
        let nullable = operand.nullable;
        let negated = Self::new(Node::Unary { operator, operand: Box::new(operand) }, sql_type, nullable);
        let is_literal = negated.operands().iter().all(|operand| operand.as_literal().is_some());
        Ok(if operator == UnaryOperator::Negate && is_literal { negated.folded_if_pure() } else { negated })
    }

    /// `operand IS [NOT] NULL | TRUE | FALSE`.
    #[must_use]
    pub fn is(test: Test, operand: Self) -> Self {
        Self::new(Node::Is { test, operand: Box::new(operand) }, BIGINT, false)
    }

    /// CAST(operand AS sql_type), CONVERT(operand, sql_type), BINARY operand.
    pub fn cast(operand: Self, sql_type: SqlType) -> Result<Self, TypeError> {
        result_type::check_cast(&sql_type)?;
        Ok(operand.cast_for(sql_type, CastPurpose::Explicit))
    }

    /// CONVERT(operand USING character set).
    pub fn convert_using(operand: Self, collation: Collation) -> Result<Self, TypeError> {
        let length = u64::from(display_length(&operand));
        Ok(operand.cast_for(text_type(length, collation), CastPurpose::Implicit))
    }

    /// `operand COLLATE collation`.
    pub fn collate(operand: Self, collation: Collation) -> Result<Self, TypeError> {
        if is_binary_string(&operand.sql_type) && collation != Collation::Binary {
            return Err(TypeError::WrongCollation(collation.name().to_owned(), "binary".to_owned()));
        }
        if let Some(own) = operand.sql_type.character_collation()
            && own.character_set() != collation.character_set()
        {
            let (name, set) = (collation.name().to_owned(), own.character_set().to_owned());
            return Err(TypeError::WrongCollation(name, set));
        }
        let operand = operand.into_text_in(collation);
        let sql_type = result_type::with_collation(&operand.sql_type, collation);
        let nullable = operand.nullable;
        Ok(Self::new(Node::Collate(Box::new(operand)), sql_type, nullable))
    }

    /// CASE with conditions. `branches` are pairs of condition and result; without ELSE it is NULL.
    pub fn case(branches: Vec<(Self, Self)>, otherwise: Option<Self>) -> Result<Self, TypeError> {
        let otherwise = otherwise.unwrap_or_else(Self::null);
        let (conditions, mut results): (Vec<Self>, Vec<Self>) = branches.into_iter().unzip();
        results.push(otherwise);
        let (sql_type, mut results) = Self::unify(results, "case")?;
        let nullable = results.iter().any(|result| result.nullable);
        let otherwise = Box::new(results.pop().unwrap_or_else(Self::null));
        let branches: Vec<Self> =
            conditions.into_iter().zip(results).flat_map(|(condition, result)| [condition, result]).collect();
        Ok(Self::new(Node::Case { branches: branches.into(), otherwise }, sql_type, nullable))
    }

    /// CASE operand WHEN value THEN result ….
    pub fn case_of(
        operand: &Self,
        branches: Vec<(Self, Self)>,
        otherwise: Option<Self>,
    ) -> Result<Self, TypeError> {
        let compared: Result<Vec<_>, TypeError> = branches
            .into_iter()
            .map(|(value, result)| {
                Ok((Self::compare(crate::node::Comparison::Equal, operand.clone(), value)?, result))
            })
            .collect();
        Self::case(compared?, otherwise)
    }

    /// IF(condition, then, otherwise).
    pub fn if_else(condition: Self, then: Self, otherwise: Self) -> Result<Self, TypeError> {
        Self::case(vec![(condition, then)], Some(otherwise))
    }

    /// `date ± INTERVAL amount unit`, DATE_ADD, DATE_SUB.
    pub fn interval(
        date: Self,
        amount: Self,
        unit: IntervalUnit,
        direction: crate::interval::Direction,
        typing: &TypingContext,
    ) -> Result<Self, TypeError> {
        let member = crate::temporal_functions::member_as_text;
        let (date, amount) = (member(date.localised()), amount.localised());
        // '1:30' is text; a single unit takes the number of an ENUM.
        let amount = if crate::interval::is_simple(unit) { amount } else { member(amount) };
        let sql_type = crate::interval::result_type(&date, &amount, unit, typing);
        let negated = direction == crate::interval::Direction::Subtract;
        let (date, amount) = (Box::new(date), Box::new(amount));
        Ok(Self::new(Node::Interval { unit, negated, date, amount }, sql_type, true))
    }

    /// Brings several results into their common type (CASE, COALESCE, GREATEST).
    pub fn unify(operands: Vec<Self>, operation: &str) -> Result<(SqlType, Vec<Self>), TypeError> {
        let sql_type = Self::common_type_of(&operands.iter().collect::<Vec<_>>(), operation)?;
        let converted = operands.into_iter().map(|operand| operand.brought_into(&sql_type)).collect();
        Ok((sql_type, converted))
    }

    /// The type that holds several results (CASE, COALESCE, the columns of a UNION), their collation included.
    pub fn common_type_of(operands: &[&Self], operation: &str) -> Result<SqlType, TypeError> {
        let types: Vec<&SqlType> = operands.iter().map(|operand| &operand.sql_type).collect();
        let sql_type = common_type(&types);
        if !is_text(&sql_type) || is_binary_string(&sql_type) {
            return Ok(sql_type);
        }
        let collation = aggregate_collation(operands.iter().copied(), operation)?;
        Ok(result_type::with_collation(&sql_type, collation))
    }

    /// The same result as one of this type; as it is if both types have one form.
    #[must_use]
    pub fn brought_into(self, sql_type: &SqlType) -> Self {
        if result_type::same_representation(&self.sql_type, sql_type) {
            self
        } else {
            self.cast_for(sql_type.clone(), CastPurpose::Implicit)
        }
    }

    /// A conversion, folded if the operand is a literal and nothing else matters.
    pub(crate) fn cast_for(self, sql_type: SqlType, purpose: CastPurpose) -> Self {
        let gives_null = result_type::cast_may_give_null(&self.sql_type, &sql_type);
        let nullable = self.nullable || gives_null;
        let is_literal = self.as_literal().is_some();
        let needs_context = is_literal && result_type::cast_needs_context(&self.sql_type, &sql_type);
        let cast = Self::new(Node::Cast { operand: Box::new(self), purpose }, sql_type, nullable);
        if is_literal && !needs_context { cast.folded_if_pure() } else { cast }
    }

    /// The literal this expression of literals comes to, unless that warns or fails: then it is left to evaluation.
    /// The literal is as coercible as the expression was: CAST('a' AS BINARY) is compared by bytes, 'a' is not.
    pub(crate) fn folded_if_pure(self) -> Self {
        let context = Context::default();
        let folded = self.value(&NoColumns, &context).map(crate::evaluation::Evaluated::into_value);
        match folded {
            Ok(value) if context.warnings.count() == 0 => {
                let sql_type = result_type::of_folded(&value, &self.sql_type);
                Self::literal(value, sql_type).as_coercible(self.coercibility)
            }
            Ok(_) | Err(_) => self,
        }
    }

    /// A TIMESTAMP as DATETIME in the session's time zone; anything else as it is.
    #[must_use]
    pub fn localised(self) -> Self {
        let SqlType::Timestamp { fraction } = self.sql_type else { return self };
        self.cast_for(SqlType::DateTime { fraction }, CastPurpose::Implicit)
    }

    /// A string as it is, anything else converted to one.
    pub(crate) fn into_text(self) -> Self {
        self.into_text_in(DEFAULT_COLLATION)
    }

    fn into_text_in(self, collation: Collation) -> Self {
        let localised = self.localised();
        if localised.sql_type.is_string() || localised.sql_type == SqlType::Null {
            return localised;
        }
        let collation = collation_of(&localised.sql_type).unwrap_or(collation);
        let length = u64::from(display_length(&localised));
        localised.cast_for(text_type(length, collation), CastPurpose::Implicit)
    }

    /// The result of DATE_ADD on a text is a text for clients. Where a number is wanted it is a moment: the digits.
    fn moment_as_number(self) -> Self {
        if !matches!(self.node, Node::Interval { .. }) || !is_text(&self.sql_type) {
            return self;
        }
        let collation = collation_of(&self.sql_type).unwrap_or(DEFAULT_COLLATION);
        let typing = TypingContext { collation, ..TypingContext::default() };
        let mut digits = self;
        for separator in ["-", ":", " "] {
            let arguments = vec![digits.clone(), Self::text(separator, collation), Self::text("", collation)];
            digits = Self::call("REPLACE", arguments, &typing).unwrap_or(digits);
        }
        digits.cast_for(SqlType::Double, CastPurpose::Implicit)
    }

    /// A number as it is, anything else converted to one: temporal values exactly, text as a double.
    pub(crate) fn into_number(self) -> Self {
        let localised = self.localised().moment_as_number();
        match numeric_class(&localised.sql_type) {
            NumericClass::Double if !matches!(localised.sql_type, SqlType::Double | SqlType::Float) => {
                localised.cast_for(SqlType::Double, CastPurpose::Implicit)
            }
            NumericClass::Decimal if is_temporal(&localised.sql_type) => {
                let (precision, scale) = decimal_shape(&localised);
                localised.cast_for(decimal_type(precision, scale), CastPurpose::Implicit)
            }
            NumericClass::Integer { .. } if is_temporal(&localised.sql_type) => {
                localised.cast_for(BIGINT, CastPurpose::Implicit)
            }
            NumericClass::Double | NumericClass::Decimal | NumericClass::Integer { .. } => localised,
        }
    }
}

/// The type of INT literals and of most integer functions.
pub(crate) const fn integer_type(width: IntegerWidth, unsigned: bool) -> SqlType {
    SqlType::Integer { width, unsigned }
}
