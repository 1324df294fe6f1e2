//! Folding: what does not depend on the row becomes a literal, once per execution.
//!
//! Invariants: the folded expression has the same type and the same value on every row. An operation that fails or
//! warns stays as it is, and does so when it is evaluated, if it ever is. Only the constant beside a compared column is
//! converted once, silently.

use crate::context::{Context, NoColumns};
use crate::node::{BinaryOperator, CastPurpose, Expression, InList, Node, UnaryOperator};
use crate::typing::{of_folded, sorted_list};
use types::Value;

/// `expression` with every part that reads no column replaced by its value. Parameters that the context has are
/// replaced too; others stay.
#[must_use]
pub fn fold_constants(expression: &Expression, context: &Context<'_>) -> Expression {
    let mut folded = expression.clone();
    fold(&mut folded, context);
    folded
}

fn fold(expression: &mut Expression, context: &Context<'_>) {
    for operand in expression.operands_mut() {
        fold(operand, context);
    }
    match &mut expression.node {
        Node::Literal(_) | Node::Column(_) => return,
        Node::Function { function, .. } if function.is_volatile() => return,
        Node::Parameter(number) if usize::from(*number) >= context.parameters.len() => return,
        Node::And(operands) => simplify(&mut operands.0, false, context),
        Node::Or(operands) => simplify(&mut operands.0, true, context),
        Node::In { domain, list, .. } => {
            let domain = *domain;
            if let InList::Expressions(items) = list {
                *list = sorted_list(std::mem::take(&mut items.0), domain);
            }
        }
        Node::Parameter(_)
        | Node::Unary { .. }
        | Node::Binary { .. }
        | Node::Compare { .. }
        | Node::Between { .. }
        | Node::Like { .. }
        | Node::Is { .. }
        | Node::Case { .. }
        | Node::Cast { .. }
        | Node::Collate(_)
        | Node::Interval { .. }
        | Node::Function { .. } => {}
        Node::Regexp { .. } => expression.forget_compiled(),
    }
    if let Node::And(operands) | Node::Or(operands) = &mut expression.node
        && let [only] = &operands.0[..]
        && is_condition(only)
    {
        *expression = operands.0.swap_remove(0);
        return;
    }
    let constant = expression.operands().iter().all(|operand| operand.as_literal().is_some());
    // The collation of COLLATE is explicit; a literal would lose that.
    if !constant || matches!(expression.node, Node::Collate(_)) {
        return;
    }
    let raised = context.warnings.count();
    let value = expression.value(&NoColumns, context).map(crate::evaluation::Evaluated::into_value);
    let is_compared = matches!(expression.node, Node::Cast { purpose: CastPurpose::Comparison, .. });
    if context.warnings.count() > raised && !is_compared {
        context.warnings.forget_since(raised);
        return;
    }
    if let Ok(value) = value {
        expression.nullable = value.is_null();
        if is_compared {
            expression.sql_type = of_folded(&value, &expression.sql_type);
        }
        expression.node = Node::Literal(value);
    }
}

/// In AND and OR one decisive literal is the result, and literals of the other truth have no effect.
fn simplify(operands: &mut Vec<Expression>, decisive: bool, context: &Context<'_>) {
    let truth = |operand: &Expression| match operand.as_literal() {
        None | Some(Value::Null) => None,
        Some(value) => crate::conversion::truth_of(value.as_ref(), context).ok().flatten(),
    };
    if operands.iter().any(|operand| truth(operand) == Some(decisive)) {
        operands.clear();
        operands.push(Expression::boolean(decisive));
    } else {
        operands.retain(|operand| truth(operand) != Some(!decisive));
    }
}

/// True if the values are TRUE, FALSE and NULL only.
fn is_condition(expression: &Expression) -> bool {
    match &expression.node {
        Node::And(_)
        | Node::Or(_)
        | Node::Compare { .. }
        | Node::Between { .. }
        | Node::In { .. }
        | Node::Like { .. }
        | Node::Is { .. } => true,
        Node::Unary { operator, .. } => *operator == UnaryOperator::Not,
        Node::Binary { operator, .. } => *operator == BinaryOperator::Xor,
        Node::Literal(_)
        | Node::Column(_)
        | Node::Parameter(_)
        | Node::Case { .. }
        | Node::Cast { .. }
        | Node::Collate(_)
        | Node::Interval { .. }
        | Node::Regexp { .. }
        | Node::Function { .. } => false,
    }
}
