//! Conditions that fail on NULL: for which columns a condition cannot be true if they are NULL.
//!
//! A LEFT JOIN gives NULL in all columns of its right side for a left row without a match. Where such a row would fail
//! anyway, the join is an inner one.
//!
//! Invariant: a slot is named only if the condition is not true whenever that slot is NULL, whatever the others are.

use expression::{ColumnSlot, Comparison, Expression, Node, Test, UnaryOperator};
use std::collections::BTreeSet;

/// The slots that must not be NULL for the condition to be true.
pub(crate) fn rejected(condition: &Expression) -> BTreeSet<ColumnSlot> {
    match &condition.node {
        Node::And(conjuncts) => conjuncts.iter().flat_map(rejected).collect(),
        Node::Or(alternatives) => {
            let all = alternatives.iter().map(rejected);
            all.reduce(|one, other| one.intersection(&other).copied().collect()).unwrap_or_default()
        }
        Node::Is { test: Test::True, operand } => rejected(operand),
        Node::Is { test: Test::NotNull | Test::False, operand } => strict(operand),
        Node::Literal(_)
        | Node::Column(_)
        | Node::Parameter(_)
        | Node::Unary { .. }
        | Node::Binary { .. }
        | Node::Compare { .. }
        | Node::Between { .. }
        | Node::In { .. }
        | Node::Like { .. }
        | Node::Is { .. }
        | Node::Case { .. }
        | Node::Cast { .. }
        | Node::Collate(_)
        | Node::Interval { .. }
        | Node::Function { .. }
        | Node::Regexp { .. } => strict(condition),
    }
}

/// The slots for which the value is NULL if they are.
fn strict(expression: &Expression) -> BTreeSet<ColumnSlot> {
    match &expression.node {
        Node::Column(slot) => BTreeSet::from([*slot]),
        Node::Compare { operator: Comparison::NullSafeEqual, .. } => BTreeSet::new(),
        Node::Compare { left, right, .. } | Node::Binary { left, right, .. } => {
            strict(left).union(&strict(right)).copied().collect()
        }
        Node::Between { operand, .. } | Node::In { operand, .. } => strict(operand),
        Node::Like { operand, pattern, .. } => strict(operand).union(&strict(pattern)).copied().collect(),
        Node::Unary {
            operator: UnaryOperator::Not | UnaryOperator::Negate | UnaryOperator::BitNot,
            operand,
        }
        | Node::Cast { operand, .. }
        | Node::Collate(operand) => strict(operand),
        Node::Literal(_)
        | Node::Parameter(_)
        | Node::And(_)
        | Node::Or(_)
        | Node::Is { .. }
        | Node::Case { .. }
        | Node::Interval { .. }
        | Node::Function { .. }
        | Node::Regexp { .. } => BTreeSet::new(),
    }
}
