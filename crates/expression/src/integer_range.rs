//! Conditions that compare a column of integers with numbers. A caller that has the column's number can tell without an
//! evaluation. They raise nothing.

use crate::context::ColumnSlot;
use crate::node::{Comparison, Domain, Expression, Node};
use types::Value;

/// A condition that is TRUE for the numbers of a range, or for those outside; it never is for NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntegerRange {
    /// The column.
    pub column: ColumnSlot,
    low: i64,
    high: i64,
    is_true_inside: bool,
}

impl IntegerRange {
    /// Whether it is TRUE for a number.
    #[inline]
    #[must_use]
    pub fn holds(&self, number: i64) -> bool {
        (self.low <= number && number <= self.high) == self.is_true_inside
    }
}

impl Expression {
    /// The operands of AND, or the condition itself. It is TRUE if these are, asked in their order.
    #[must_use]
    pub fn conjuncts(&self) -> &[Expression] {
        if let Node::And(operands) = &self.node { operands } else { std::slice::from_ref(self) }
    }

    /// This condition, if it is one on a column of integers.
    #[must_use]
    pub fn as_integer_range(&self, parameters: &[Value]) -> Option<IntegerRange> {
        let number = |expression: &Expression| expression.constant_integer(parameters);
        if let Node::Compare { operator, domain: Domain::Number, left, right } = &self.node {
            let (column, number) = (left.as_column()?, number(right)?);
            let (low, high) = numbers(*operator, number)?;
            let is_true_inside = *operator != Comparison::NotEqual;
            return Some(IntegerRange { column, low, high, is_true_inside });
        }
        if let Node::Between { negated, domain: Domain::Number, operand, low, high } = &self.node {
            let (column, low, high) = (operand.as_column()?, number(low)?, number(high)?);
            return Some(IntegerRange { column, low, high, is_true_inside: !negated });
        }
        None
    }

    fn constant_integer(&self, parameters: &[Value]) -> Option<i64> {
        let parameter = |number: u16| parameters.get(usize::from(number));
        let value =
            if let Node::Parameter(number) = self.node { parameter(number) } else { self.as_literal() };
        if let Some(Value::Int(number)) = value { Some(*number) } else { None }
    }
}

/// The numbers for which a comparison is TRUE; those for which NOT EQUAL is not.
fn numbers(operator: Comparison, number: i64) -> Option<(i64, i64)> {
    const NONE: (i64, i64) = (i64::MAX, i64::MIN);
    Some(match operator {
        Comparison::Equal | Comparison::NotEqual => (number, number),
        Comparison::Less => number.checked_sub(1).map_or(NONE, |high| (i64::MIN, high)),
        Comparison::LessOrEqual => (i64::MIN, number),
        Comparison::Greater => number.checked_add(1).map_or(NONE, |low| (low, i64::MAX)),
        Comparison::GreaterOrEqual => (number, i64::MAX),
        Comparison::NullSafeEqual => return None,
    })
}
