//! Evaluates a tree on a row.
//!
//! Two recursive functions carry everything: `value` gives the value of any node, `truth` the three-valued truth of a
//! condition without making a value of it. Columns, literals and parameters come out borrowed, so filters and
//! projections of plain columns allocate nothing.
//!
//! Invariants: AND and OR stop at the first operand that decides, NULL included where only TRUE counts. Recursion is as
//! deep as the tree and no deeper. The outermost evaluation rounds a DECIMAL to its type's scale, inner ones keep the
//! digits that MySQL keeps.

use crate::comparison::{compare_in, compare_numbers, equal_in};
use crate::context::{Columns, Context, EvaluationError};
use crate::conversion::{Cast, text_of, truth_of};
use crate::node::{
    BinaryOperator, CastPurpose, Comparison, Domain, Expression, InList, Node, Test, UnaryOperator,
};
use crate::search::Meter;
use crate::{arithmetic, pattern};
use std::borrow::Cow;
use std::cmp::Ordering;
use types::{Collation, Decimal, SqlType, Value, ValueRef};

/// The value of an expression: borrowed from the row, the tree or the parameters where it could be.
#[derive(Clone, PartialEq, Debug)]
pub enum Evaluated<'a> {
    /// Lies elsewhere, or needs no memory.
    Borrowed(ValueRef<'a>),
    /// Was made.
    Owned(Value),
}

impl<'a> Evaluated<'a> {
    pub(crate) const NULL: Evaluated<'static> = Evaluated::Borrowed(ValueRef::Null);

    /// Looks at the value.
    #[must_use]
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Borrowed(value) => *value,
            Self::Owned(value) => value.as_ref(),
        }
    }

    /// Keeps the value.
    #[must_use]
    pub fn into_value(self) -> Value {
        match self {
            Self::Borrowed(value) => value.to_value(),
            Self::Owned(value) => value,
        }
    }

    /// True for NULL.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.as_ref().is_null()
    }

    pub(crate) fn from_cow(text: Cow<'a, [u8]>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Borrowed(ValueRef::Bytes(text)),
            Cow::Owned(text) => Self::Owned(Value::Bytes(text)),
        }
    }

    pub(crate) fn from_bytes(text: Vec<u8>) -> Self {
        Self::Owned(Value::Bytes(text))
    }

    pub(crate) fn from_decimal(decimal: Decimal) -> Self {
        Self::Owned(Value::Decimal(Box::new(decimal)))
    }

    pub(crate) fn from_truth(truth: Option<bool>) -> Self {
        Self::Borrowed(truth.map_or(ValueRef::Null, |truth| ValueRef::Int(i64::from(truth))))
    }
}

impl Expression {
    /// The value on `row`.
    pub fn evaluate(&self, row: &dyn Columns, context: &Context<'_>) -> Result<Value, EvaluationError> {
        self.evaluate_ref(row, context).map(Evaluated::into_value)
    }

    /// The value on `row`, borrowed where it can be.
    #[inline]
    pub fn evaluate_ref<'a>(
        &'a self,
        row: &'a dyn Columns,
        context: &'a Context<'_>,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        if let Node::Column(slot) = self.node {
            return Ok(Evaluated::Borrowed(row.column(slot)));
        }
        let value = self.value(row, context)?;
        let SqlType::Decimal { scale, .. } = self.sql_type else { return Ok(value) };
        if let ValueRef::Decimal(decimal) = value.as_ref() {
            let decimal = decimal.to_decimal();
            if decimal.scale() > scale {
                let rounded = decimal.round(i32::from(scale)).unwrap_or(decimal);
                return Ok(Evaluated::from_decimal(rounded));
            }
        }
        Ok(value)
    }

    /// True if the value is TRUE: neither FALSE nor unknown. Whether it is TRUE, as WHERE, HAVING and ON ask.
    #[inline]
    pub fn is_true(&self, row: &dyn Columns, context: &Context<'_>) -> Result<bool, EvaluationError> {
        match &self.node {
            // Operands behind one that is not TRUE can't change the answer any more, and may fail.
            Node::And(operands) => {
                for operand in operands.iter() {
                    if !operand.is_true(row, context)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Or(operands) => {
                for operand in operands.iter() {
                    if operand.is_true(row, context)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Ok(self.truth(row, context)? == Some(true)),
        }
    }

    /// The value with all the digits that inner operations see. Small, so that leaves cost no call.
    #[inline]
    pub(crate) fn value<'a>(
        &'a self,
        row: &'a dyn Columns,
        context: &'a Context<'_>,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        match &self.node {
            Node::Literal(value) => Ok(Evaluated::Borrowed(value.as_ref())),
            Node::Column(slot) => Ok(Evaluated::Borrowed(row.column(*slot))),
            Node::Parameter(number) => {
                let value = context.parameters.get(usize::from(*number));
                Ok(Evaluated::Borrowed(value.map_or(ValueRef::Null, Value::as_ref)))
            }
            _ => self.computed(row, context),
        }
    }

    /// The value of anything but a literal, a column or a parameter. Each arm is a call, so that a level of recursion
    /// takes little stack.
    fn computed<'a>(
        &'a self,
        row: &'a dyn Columns,
        context: &'a Context<'_>,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        match &self.node {
            Node::Literal(_) | Node::Column(_) | Node::Parameter(_) => self.value(row, context),
            Node::Unary { operator: UnaryOperator::Not, .. }
            | Node::Binary { operator: BinaryOperator::Xor, .. }
            | Node::And(_)
            | Node::Or(_)
            | Node::Compare { .. }
            | Node::Between { .. }
            | Node::In { .. }
            | Node::Like { .. }
            | Node::Is { .. } => Ok(Evaluated::from_truth(self.truth(row, context)?)),
            Node::Unary { operator, operand } => {
                let operand = operand.value(row, context)?;
                arithmetic::unary(*operator, operand.as_ref(), self, context)
            }
            Node::Binary { operator, left, right } => {
                let left = left.value(row, context)?;
                if left.is_null() {
                    // As in MySQL, integers and doubles look at the other operand all the same: it may fail.
                    if arithmetic::evaluates_both(*operator, &self.sql_type) {
                        right.value(row, context)?;
                    }
                    return Ok(Evaluated::NULL);
                }
                let right = right.value(row, context)?;
                arithmetic::binary(*operator, left.as_ref(), right.as_ref(), self, context)
            }
            Node::Case { branches, otherwise } => {
                for branch in branches.chunks_exact(2) {
                    if branch[0].is_true(row, context)? {
                        return branch[1].value(row, context);
                    }
                }
                otherwise.value(row, context)
            }
            Node::Cast { operand, purpose: CastPurpose::OuterColumn } => operand.value(row, context),
            Node::Cast { operand, purpose } => self.cast_value(operand, *purpose, row, context),
            Node::Collate(operand) => operand.value(row, context),
            Node::Interval { unit, negated, date, amount } => {
                let date = date.value(row, context)?;
                let amount = amount.value(row, context)?;
                let addition = crate::interval::Addition { unit: *unit, negated: *negated };
                addition.apply(date.as_ref(), amount.as_ref(), &self.sql_type, context)
            }
            Node::Regexp { function, collation, arguments, compiled } => {
                let call = crate::function::Call {
                    expression: self,
                    arguments,
                    sql_type: &self.sql_type,
                    row,
                    context,
                };
                call.evaluate_regexp(*function, *collation, compiled)
            }
            Node::Function { function, arguments } => {
                let call = crate::function::Call {
                    expression: self,
                    arguments,
                    sql_type: &self.sql_type,
                    row,
                    context,
                };
                call.evaluate(*function)
            }
        }
    }

    #[inline(never)]
    fn cast_value<'a>(
        &'a self,
        operand: &'a Expression,
        purpose: CastPurpose,
        row: &'a dyn Columns,
        context: &'a Context<'_>,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        let cast = Cast { from: &operand.sql_type, to: &self.sql_type, purpose };
        match operand.value(row, context)? {
            Evaluated::Borrowed(value) => cast.apply(value, context),
            Evaluated::Owned(value) => {
                Ok(Evaluated::Owned(cast.apply(value.as_ref(), context)?.into_value()))
            }
        }
    }

    /// TRUE, FALSE or unknown.
    pub(crate) fn truth(
        &self,
        row: &dyn Columns,
        context: &Context<'_>,
    ) -> Result<Option<bool>, EvaluationError> {
        match &self.node {
            Node::And(operands) => decide(operands, false, row, context),
            Node::Or(operands) => decide(operands, true, row, context),
            Node::Compare { operator, domain, left, right } => {
                // The hottest condition, a column beside a literal, costs no further call.
                if let (Node::Column(slot), Node::Literal(literal), Domain::Number) =
                    (&left.node, &right.node, domain)
                    && let (ValueRef::Int(left), Value::Int(right)) = (row.column(*slot), literal)
                {
                    return Ok(Some(operator.holds(left.cmp(right))));
                }
                let left = left.value(row, context)?;
                if left.is_null() && *operator != Comparison::NullSafeEqual {
                    return Ok(None);
                }
                let right = right.value(row, context)?;
                compare(*operator, *domain, left.as_ref(), right.as_ref(), context)
            }
            Node::Between { negated, domain, operand, low, high } => {
                let inside = is_between(operand, [low, high], *domain, row, context)?;
                Ok(inside.map(|inside| inside != *negated))
            }
            Node::In { negated, domain, operand, list } => {
                let operand = operand.value(row, context)?;
                let found = is_in(operand.as_ref(), *domain, list, row, context)?;
                Ok(found.map(|found| found != *negated))
            }
            Node::Unary { operator: UnaryOperator::Not, operand } => {
                Ok(operand.truth(row, context)?.map(|truth| !truth))
            }
            Node::Binary { operator: BinaryOperator::Xor, left, right } => {
                let Some(left) = left.truth(row, context)? else { return Ok(None) };
                Ok(right.truth(row, context)?.map(|right| left != right))
            }
            Node::Like { negated, collation, escape, operand, pattern } => {
                let matched = is_like(operand, pattern, *escape, *collation, row, context)?;
                Ok(matched.map(|matched| matched != *negated))
            }
            Node::Is { test, operand } => Ok(Some(match test {
                Test::Null => operand.value(row, context)?.is_null(),
                Test::NotNull => !operand.value(row, context)?.is_null(),
                Test::True => operand.truth(row, context)? == Some(true),
                Test::NotTrue => operand.truth(row, context)? != Some(true),
                Test::False => operand.truth(row, context)? == Some(false),
                Test::NotFalse => operand.truth(row, context)? != Some(false),
            })),
            Node::Literal(_)
            | Node::Column(_)
            | Node::Parameter(_)
            | Node::Unary { .. }
            | Node::Binary { .. }
            | Node::Case { .. }
            | Node::Cast { .. }
            | Node::Collate(_)
            | Node::Interval { .. }
            | Node::Regexp { .. }
            | Node::Function { .. } => truth_of(self.value(row, context)?.as_ref(), context),
        }
    }
}

fn is_between(
    operand: &Expression,
    [low, high]: [&Expression; 2],
    domain: Domain,
    row: &dyn Columns,
    context: &Context<'_>,
) -> Result<Option<bool>, EvaluationError> {
    let operand = operand.value(row, context)?;
    if operand.is_null() {
        return Ok(None);
    }
    let low = low.value(row, context)?;
    let above = compare(Comparison::GreaterOrEqual, domain, operand.as_ref(), low.as_ref(), context)?;
    if above == Some(false) {
        // As in MySQL, both bounds are looked at: the other one may fail.
        if high.as_literal().is_none() && high.as_column().is_none() {
            high.value(row, context)?;
        }
        return Ok(above);
    }
    let high = high.value(row, context)?;
    let below = compare(Comparison::LessOrEqual, domain, operand.as_ref(), high.as_ref(), context)?;
    Ok(if below == Some(false) { below } else { above.and(below) })
}

#[inline(never)]
fn is_like(
    operand: &Expression,
    pattern: &Expression,
    escape: Option<u32>,
    collation: Collation,
    row: &dyn Columns,
    context: &Context<'_>,
) -> Result<Option<bool>, EvaluationError> {
    let text = operand.value(row, context)?;
    if text.is_null() {
        return Ok(None);
    }
    let like = pattern.value(row, context)?;
    if like.is_null() {
        return Ok(None);
    }
    let text = text_of(text.as_ref(), &operand.sql_type);
    let like = text_of(like.as_ref(), &pattern.sql_type);
    let mut buffer = [0; 4];
    let escape = pattern::escape_bytes(escape, &mut buffer);
    let mut meter = Meter::new(&context.warnings);
    pattern::like(&text, &like, escape, collation, &mut meter).map(Some)
}

/// AND (`decisive` is false) and OR (`decisive` is true).
fn decide(
    operands: &[Expression],
    decisive: bool,
    row: &dyn Columns,
    context: &Context<'_>,
) -> Result<Option<bool>, EvaluationError> {
    let mut unknown = false;
    for operand in operands {
        match operand.truth(row, context)? {
            Some(truth) if truth == decisive => return Ok(Some(decisive)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(!decisive) })
}

#[inline]
fn compare(
    operator: Comparison,
    domain: Domain,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    context: &Context<'_>,
) -> Result<Option<bool>, EvaluationError> {
    if let (Domain::Number, ValueRef::Int(left), ValueRef::Int(right)) = (domain, left, right) {
        return Ok(Some(operator.holds(left.cmp(&right))));
    }
    if let Domain::Text(collation) = domain {
        context.warnings.work_on_comparison(left, right, collation)?;
    }
    Ok(match (left.is_null(), right.is_null(), operator) {
        (false, false, Comparison::Equal) => equal_in(domain, left, right, context),
        (false, false, Comparison::NotEqual) => equal_in(domain, left, right, context).map(|equal| !equal),
        (false, false, Comparison::NullSafeEqual) => {
            Some(equal_in(domain, left, right, context).unwrap_or(false))
        }
        (false, false, _) => compare_in(domain, left, right, context).map(|order| operator.holds(order)),
        (left, right, Comparison::NullSafeEqual) => Some(left && right),
        _ => None,
    })
}

fn is_in(
    operand: ValueRef<'_>,
    domain: Domain,
    list: &InList,
    row: &dyn Columns,
    context: &Context<'_>,
) -> Result<Option<bool>, EvaluationError> {
    if operand.is_null() {
        return Ok(None);
    }
    let mut unknown = false;
    match list {
        InList::Sorted { values, has_null } => {
            let order = |candidate: &Value| match domain {
                Domain::Number => compare_numbers(candidate.as_ref(), operand),
                Domain::Text(_) | Domain::DateTime | Domain::Time => {
                    compare_in(domain, candidate.as_ref(), operand, context).unwrap_or(Ordering::Less)
                }
            };
            if values.binary_search_by(order).is_ok() {
                return Ok(Some(true));
            }
            unknown = *has_null;
        }
        InList::Expressions(items) => {
            for item in items.iter() {
                let candidate = item.value(row, context)?;
                match compare(Comparison::Equal, domain, operand, candidate.as_ref(), context)? {
                    Some(true) => return Ok(Some(true)),
                    Some(false) => {}
                    None => unknown = true,
                }
            }
        }
    }
    Ok(if unknown { None } else { Some(false) })
}
