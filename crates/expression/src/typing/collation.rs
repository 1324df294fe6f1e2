//! The operand whose collation a comparison of strings uses: MySQL's coercibility, 0 (explicit COLLATE) to 6 (NULL).
//! The lower one wins. Among equals, `binary` wins over characters, a character set of Unicode over one that is not,
//! and a `_bin` collation over others of its character set. Two others are an illegal mix (1267).

use super::{DEFAULT_COLLATION, collation_of};
use crate::context::TypeError;
use crate::node::{CastPurpose, Expression, Node};
use std::cmp::Ordering;
use types::{Collation, SqlType};

const EXPLICIT: u8 = 0;
/// That of a column of a table.
pub const IMPLICIT: u8 = 2;
const COERCIBLE: u8 = 4;
pub(super) const NUMERIC: u8 = 5;
const IGNORABLE: u8 = 6;

/// The coercibility of an operation on operands that have theirs.
pub(super) fn coercibility(expression: &Expression) -> u8 {
    if matches!(expression.sql_type, SqlType::Null) {
        return IGNORABLE;
    }
    if collation_of(&expression.sql_type).is_none() {
        return NUMERIC;
    }
    match &expression.node {
        Node::Collate(_) => EXPLICIT,
        Node::Column(_) | Node::Cast { purpose: CastPurpose::Explicit | CastPurpose::OuterColumn, .. } => {
            IMPLICIT
        }
        Node::Literal(_) | Node::Parameter(_) => COERCIBLE,
        Node::Cast { operand, .. } => operand.coercibility,
        Node::Function { function, .. } if function.makes_text() => COERCIBLE,
        Node::And(_)
        | Node::Or(_)
        | Node::Unary { .. }
        | Node::Binary { .. }
        | Node::Compare { .. }
        | Node::Between { .. }
        | Node::In { .. }
        | Node::Like { .. }
        | Node::Is { .. }
        | Node::Case { .. }
        | Node::Interval { .. }
        | Node::Regexp { .. }
        | Node::Function { .. } => {
            strongest(expression.operands().into_iter().map(|operand| operand.coercibility))
        }
    }
}

/// The coercibility of a string that is made of values that have these.
#[must_use]
pub fn strongest(coercibilities: impl Iterator<Item = u8>) -> u8 {
    coercibilities.filter(|level| *level < NUMERIC).min().unwrap_or(COERCIBLE)
}

/// The collation of an operation on several strings; operands that are none count as the connection's.
pub(crate) fn aggregate_collation<'a>(
    operands: impl Iterator<Item = &'a Expression>,
    operation: &str,
) -> Result<Collation, TypeError> {
    let mut winner: Option<(u8, Collation)> = None;
    for operand in operands {
        let level = operand.coercibility;
        let collation = collation_of(&operand.sql_type).unwrap_or(DEFAULT_COLLATION);
        winner = Some(match winner {
            None => (level, collation),
            Some((best, kept)) if kept == collation => (best.min(level), kept),
            Some((best, kept)) if best < level => (best, kept),
            Some((best, _)) if level < best => (level, collation),
            Some((best, kept)) => (best, equal_rank(best, kept, collation, operation)?),
        });
    }
    Ok(winner.map_or(DEFAULT_COLLATION, |(_, collation)| collation))
}

fn equal_rank(level: u8, left: Collation, right: Collation, operation: &str) -> Result<Collation, TypeError> {
    if level >= COERCIBLE {
        return Ok(if right == Collation::Binary { right } else { left });
    }
    if level != EXPLICIT {
        if left == Collation::Binary || right == Collation::Binary {
            return Ok(Collation::Binary);
        }
        // A character set that has all characters of the other one wins; within one character set, its `_bin`
        // collation.
        let rank = |collation: Collation| {
            let set = collation.set();
            (set.is_unicode(), set.is_unicode() && set.size_max() > 3)
        };
        match rank(left).cmp(&rank(right)) {
            Ordering::Greater => return Ok(left),
            Ordering::Less => return Ok(right),
            Ordering::Equal => {}
        }
        let is_one_set = left.character_set() == right.character_set();
        match (left.is_code_point_order(), right.is_code_point_order()) {
            (true, false) if is_one_set => return Ok(left),
            (false, true) if is_one_set => return Ok(right),
            (true | false, true | false) => {}
        }
    }
    let word = if level == EXPLICIT { "EXPLICIT" } else { "IMPLICIT" };
    let shown = |collation: Collation| format!("{},{word}", collation.name());
    Err(TypeError::IllegalCollations(shown(left), shown(right), operation.to_owned()))
}
