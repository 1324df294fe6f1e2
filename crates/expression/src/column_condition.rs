//! Conditions that ask one column only, and compare it, or the remainder of a division of it, with constants or with
//! NULL. A caller that has the column's number or text can tell without an evaluation. They raise nothing.

use crate::context::{ColumnSlot, TEXT_WORK_MIN};
use crate::node::{BinaryOperator, Comparison, Domain, Expression, InList, Node, Test};
use types::{Collation, SqlType, Value};

/// A condition on one column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnCondition {
    /// The column.
    pub column: ColumnSlot,
    /// Above 0: not its number is asked, but what a division by this leaves.
    pub divisor: Option<i64>,
    /// The question.
    pub test: ColumnTest,
}

impl ColumnCondition {
    /// As [`ColumnTest::holds`], for the column's number.
    #[must_use]
    pub fn holds(&self, number: Option<i64>) -> bool {
        self.test.holds(remainder(number, self.divisor))
    }
}

/// The number that a condition with this divisor asks.
#[inline]
#[must_use]
pub fn remainder(number: Option<i64>, divisor: Option<i64>) -> Option<i64> {
    match divisor {
        Some(divisor) => number?.checked_rem(divisor),
        None => number,
    }
}

/// The question that a condition asks of its column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ColumnTest {
    /// IS NULL, IS NOT NULL: of columns of any type.
    Null {
        /// It is TRUE for NULL, not for others.
        is_true_for_null: bool,
    },
    /// A comparison or BETWEEN: TRUE for the integers of a range, or for those outside. It never is for NULL.
    Range {
        /// The lowest.
        low: i64,
        /// The highest; the range is empty if it is below the lowest.
        high: i64,
        /// TRUE for the range itself.
        is_true_inside: bool,
    },
    /// IN: TRUE for some integers, or for all others. It never is for NULL.
    In {
        /// In ascending order.
        numbers: Vec<i64>,
        /// TRUE for these.
        is_true_inside: bool,
    },
    /// A comparison of texts, or LIKE with a pattern that is a beginning. It never is TRUE for NULL.
    Text(TextTest),
}

/// The question that a condition asks of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextTest {
    /// A comparison with a text that is too short for the work to count.
    Compare {
        /// Any but `<=>`.
        operator: Comparison,
        /// How texts compare.
        collation: Collation,
        /// The right operand.
        text: Vec<u8>,
    },
    /// LIKE: the text begins so.
    Beginning {
        /// ASCII characters that stand for themselves.
        text: Vec<u8>,
        /// Capital letters are as small ones.
        ignores_case: bool,
        /// LIKE, not NOT LIKE.
        is_true_inside: bool,
    },
}

impl TextTest {
    /// Whether it is TRUE for a text; None where the evaluation has to look.
    #[inline]
    #[must_use]
    pub fn holds(&self, found: &[u8]) -> Option<bool> {
        match self {
            TextTest::Compare { operator: Comparison::Equal, collation, text } => {
                Some(collation.equal(found, text))
            }
            TextTest::Compare { operator: Comparison::NotEqual, collation, text } => {
                Some(!collation.equal(found, text))
            }
            TextTest::Compare { operator, collation, text } => {
                Some(operator.holds(collation.compare(found, text)))
            }
            TextTest::Beginning { text, ignores_case, is_true_inside } => {
                for (place, wanted) in text.iter().enumerate() {
                    let Some(byte) = found.get(place) else { return Some(!is_true_inside) };
                    let is_same = byte == wanted || (*ignores_case && byte.eq_ignore_ascii_case(wanted));
                    match (is_same, byte.is_ascii()) {
                        (true, _) => {}
                        (false, true) => return Some(!is_true_inside),
                        // A letter with an accent may equal one without.
                        (false, false) => return None,
                    }
                }
                Some(*is_true_inside)
            }
        }
    }

    /// LIKE with a constant pattern, if that is a beginning.
    fn of_pattern(pattern: &[u8], escape: Option<u32>, collation: Collation, negated: bool) -> Option<Self> {
        if escape == Some(u32::from(b'%')) {
            return None;
        }
        let text = pattern.strip_suffix(b"%")?;
        let is_plain =
            |byte: &u8| byte.is_ascii() && !matches!(byte, b'%' | b'_') && escape != Some(u32::from(*byte));
        let is_beginning = text.len() < TEXT_WORK_MIN && text.iter().all(is_plain);
        let (ignores_case, is_true_inside) = (collation.ignores_case(), !negated);
        is_beginning.then(|| TextTest::Beginning { text: text.to_vec(), ignores_case, is_true_inside })
    }
}

impl ColumnTest {
    /// Whether it is TRUE for a number, or NULL; a text is neither.
    #[inline]
    #[must_use]
    pub fn holds(&self, number: Option<i64>) -> bool {
        match (self, number) {
            (ColumnTest::Null { is_true_for_null }, number) => number.is_none() == *is_true_for_null,
            (ColumnTest::Range { low, high, is_true_inside }, Some(number)) => {
                (*low <= number && number <= *high) == *is_true_inside
            }
            (ColumnTest::In { numbers, is_true_inside }, Some(number)) => {
                numbers.binary_search(&number).is_ok() == *is_true_inside
            }
            (ColumnTest::Range { .. } | ColumnTest::In { .. }, None) | (ColumnTest::Text(_), _) => false,
        }
    }
}

impl Expression {
    /// The operands of AND, or the condition itself. It is TRUE if these are, asked in their order.
    #[must_use]
    pub fn conjuncts(&self) -> &[Expression] {
        if let Node::And(operands) = &self.node { operands } else { std::slice::from_ref(self) }
    }

    /// This condition, if it asks one column only, or `column % number`.
    #[must_use]
    pub fn as_column_condition(&self, parameters: &[Value]) -> Option<ColumnCondition> {
        let number = |expression: &Expression| expression.constant_integer(parameters);
        let (column, test) = match &self.node {
            Node::Compare { operator, domain: Domain::Number, left, right } => {
                let (low, high) = numbers(*operator, number(right)?)?;
                let is_true_inside = *operator != Comparison::NotEqual;
                (left, ColumnTest::Range { low, high, is_true_inside })
            }
            Node::Compare { operator, domain: Domain::Text(collation), left, right } => {
                let text = right.constant_text(parameters).filter(|text| text.len() < TEXT_WORK_MIN)?;
                let (operator, collation, text) = (*operator, *collation, text.to_vec());
                let test = TextTest::Compare { operator, collation, text };
                (left, ColumnTest::Text((operator != Comparison::NullSafeEqual).then_some(test)?))
            }
            Node::Like { negated, collation, escape, operand, pattern } => {
                let pattern = pattern.constant_text(parameters)?;
                (operand, ColumnTest::Text(TextTest::of_pattern(pattern, *escape, *collation, *negated)?))
            }
            Node::Between { negated, domain: Domain::Number, operand, low, high } => {
                let (low, high) = (number(low)?, number(high)?);
                (operand, ColumnTest::Range { low, high, is_true_inside: !negated })
            }
            Node::In { negated, domain: Domain::Number, operand, list } => {
                let InList::Sorted { values, has_null } = list else { return None };
                let of_value =
                    |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
                let mut numbers: Vec<i64> = values.iter().map(of_value).collect::<Option<_>>()?;
                if *negated && *has_null {
                    // Not in the list, but perhaps the NULL: unknown.
                    return None;
                }
                numbers.sort_unstable();
                (operand, ColumnTest::In { numbers, is_true_inside: !negated })
            }
            Node::Is { test: test @ (Test::Null | Test::NotNull), operand } => {
                (operand, ColumnTest::Null { is_true_for_null: *test == Test::Null })
            }
            _ => return None,
        };
        if let Some(column) = column.as_column() {
            return Some(ColumnCondition { column, divisor: None, test });
        }
        if !matches!(test, ColumnTest::Range { .. } | ColumnTest::In { .. }) {
            return None;
        }
        let (column, divisor) = column.as_column_remainder(parameters)?;
        Some(ColumnCondition { column, divisor: Some(divisor), test })
    }

    /// The column of signed integers and the number above 0 of `column % number`.
    #[must_use]
    pub fn as_column_remainder(&self, parameters: &[Value]) -> Option<(ColumnSlot, i64)> {
        let is_signed =
            |expression: &Expression| matches!(expression.sql_type, SqlType::Integer { unsigned: false, .. });
        let Node::Binary { operator: BinaryOperator::Modulo, left, right } = &self.node else { return None };
        let divisor = right.constant_integer(parameters).filter(|divisor| *divisor > 0)?;
        let column = left.as_column().filter(|_| is_signed(left) && is_signed(self))?;
        Some((column, divisor))
    }

    fn constant<'a>(&'a self, parameters: &'a [Value]) -> Option<&'a Value> {
        let parameter = |number: u16| parameters.get(usize::from(number));
        if let Node::Parameter(number) = self.node { parameter(number) } else { self.as_literal() }
    }

    fn constant_integer(&self, parameters: &[Value]) -> Option<i64> {
        if let Some(Value::Int(number)) = self.constant(parameters) { Some(*number) } else { None }
    }

    fn constant_text<'a>(&'a self, parameters: &'a [Value]) -> Option<&'a [u8]> {
        if let Some(Value::Bytes(text)) = self.constant(parameters) { Some(text) } else { None }
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
