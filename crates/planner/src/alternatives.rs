//! OR: what all of its branches say.
//!
//! ```text
//! (a AND b) OR (a AND c)   =        a AND (b OR c)             a may be the condition of a join
//! (p AND q) OR (r AND s)   implies  (p OR r), (q OR s)         p and r, or q and s, name one table
//! ```
//! Both laws hold for three truth values too. So a condition that is taken out replaces what it was. One that is
//! implied is tested beside the OR, early, at the table that it names.
//!
//! Only **plain** conditions are moved: comparisons of columns and constants, which neither fail nor warn nor have
//! effects. A branch's other conditions are evaluated for no row for which they were not evaluated before.
//!
//! Invariant: a conjunction is true, false or NULL for the same rows as before.
//!
//! Deliberately not here: an OR within a branch of an OR.

use crate::algebra::Draft;
use expression::{CastPurpose, Comparison, Expression, Node};

/// Conditions of the first branch that are looked for in the others.
const COMMON_MAX: usize = 16;
/// Branches of an OR that is looked at for each table.
const BRANCHES_MAX: usize = 64;

/// The same conjunction; what stands in every branch of an OR stands beside it.
pub(crate) fn factored(conjuncts: Vec<Expression>) -> Vec<Expression> {
    let mut all = Vec::with_capacity(conjuncts.len());
    for conjunct in conjuncts {
        let common = common(&conjunct);
        if common.is_empty() {
            all.push(conjunct);
            continue;
        }
        let rest = without(conjunct, &common);
        all.extend(common);
        all.extend(rest);
    }
    all
}

/// The conditions that every branch of an OR has.
fn common(conjunct: &Expression) -> Vec<Expression> {
    let Node::Or(branches) = &conjunct.node else { return Vec::new() };
    let Some((first, others)) = branches.split_first() else { return Vec::new() };
    let mut common: Vec<&Expression> = conjuncts_of(first).iter().take(COMMON_MAX).collect();
    for branch in others {
        common.retain(|known| conjuncts_of(branch).iter().any(|own| is_same(own, known)));
        if common.is_empty() {
            return Vec::new();
        }
    }
    // The first condition of the first branch comes first in any case.
    let is_first =
        |known: &Expression| conjuncts_of(first).first().is_some_and(|own| std::ptr::eq(own, known));
    common.retain(|known| is_first(known) || is_plain(known));
    if common.is_empty() || conjunct.is_volatile() {
        return Vec::new();
    }
    common.into_iter().cloned().collect()
}

/// The rest of an OR; None: a branch says nothing more.
fn without(conjunct: Expression, common: &[Expression]) -> Option<Expression> {
    let Node::Or(branches) = conjunct.node else { return None };
    let mut rests = Vec::with_capacity(branches.len());
    for branch in branches.iter() {
        let is_more = |own: &&Expression| !common.iter().any(|known| is_same(own, known));
        let rest: Vec<Expression> = conjuncts_of(branch).iter().filter(is_more).cloned().collect();
        if rest.is_empty() {
            return None;
        }
        rests.push(Expression::and(rest));
    }
    Some(Expression::or(rests))
}

/// Tests at each table or query of a draft what an OR that also names others says of it alone.
pub(crate) fn test_early(conjunct: &Expression, draft: &mut Draft) {
    let Node::Or(branches) = &conjunct.node else { return };
    if branches.len() > BRANCHES_MAX || conjunct.is_volatile() {
        return;
    }
    draft.visit_leaves(&mut |leaf| {
        if let Some(implied) = implied(branches, leaf)
            && !leaf.filters().contains(&implied)
        {
            let left_over = leaf.push(implied);
            stdx::require!(left_over.is_none(), "a table or query takes every condition over it");
        }
    });
}

/// The alternatives that the branches leave to a table or query alone, if each branch says something of it.
fn implied(branches: &[Expression], leaf: &Draft) -> Option<Expression> {
    let is_of = |part: &&Expression| {
        let columns = part.columns();
        !columns.is_empty() && leaf.has_all(&columns) && is_plain(part)
    };
    let mut alternatives = Vec::with_capacity(branches.len());
    for branch in branches {
        let own: Vec<Expression> = conjuncts_of(branch).iter().filter(is_of).cloned().collect();
        if own.is_empty() {
            return None;
        }
        alternatives.push(Expression::and(own));
    }
    Some(Expression::or(alternatives))
}

/// The conditions that must all hold.
pub(crate) fn conjuncts_of(condition: &Expression) -> &[Expression] {
    if let Node::And(conjuncts) = &condition.node { conjuncts } else { std::slice::from_ref(condition) }
}

/// The same condition; the sides of an equality may be exchanged.
fn is_same(one: &Expression, other: &Expression) -> bool {
    if one == other {
        return true;
    }
    match (&one.node, &other.node) {
        (
            Node::Compare { operator: Comparison::Equal, domain, left, right },
            Node::Compare { operator: Comparison::Equal, domain: same, left: first, right: second },
        ) => domain == same && left == second && right == first,
        _ => false,
    }
}

/// Whether it neither fails nor warns.
fn is_plain(condition: &Expression) -> bool {
    let mut is_plain = true;
    condition.visit(&mut |part| {
        is_plain &= match &part.node {
            Node::Literal(_)
            | Node::Column(_)
            | Node::Parameter(_)
            | Node::And(_)
            | Node::Or(_)
            | Node::Compare { .. }
            | Node::Between { .. }
            | Node::In { .. }
            | Node::Like { .. }
            | Node::Is { .. } => true,
            Node::Cast { operand, purpose } => {
                matches!(purpose, CastPurpose::Comparison | CastPurpose::OuterColumn) && operand.is_constant()
            }
            Node::Unary { .. }
            | Node::Binary { .. }
            | Node::Case { .. }
            | Node::Collate(_)
            | Node::Interval { .. }
            | Node::Function { .. }
            | Node::Regexp { .. } => false,
        };
    });
    is_plain
}
