//! Fingerprints of expressions, for those that look for one among thousands.
//!
//! Expressions that are equal have equal fingerprints. Others hardly ever do, even if a client chooses them: the hash
//! is SipHash. Its key is fixed, so fingerprints depend on nothing but the expressions. They are never kept or sent.
//!
//! Invariant: a fingerprint leaves out what `PartialEq` leaves out, and hashes values that are equal alike. It also
//! leaves out members of ENUM and SET, which only costs comparisons.

use super::{AggregateCall, Expression, InList, Node};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use stdx::wire::to_bytes;
use types::{SqlType, Value};

/// The fingerprint of an expression within another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint {
    /// The hash of the expression with its operands.
    pub hash: u64,
    /// The nodes of the expression: as many fingerprints behind this one belong to it.
    pub node_count: usize,
}

impl Expression {
    /// The fingerprint of the expression.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.add_fingerprints(&mut |_, _| {}, &mut 0).hash
    }

    /// The fingerprints of the expression and of all below it, in the order in which they are visited.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        let mut all = Vec::new();
        self.add_fingerprints(
            &mut |position, fingerprint| {
                if position >= all.len() {
                    all.resize(position + 1, fingerprint);
                }
                all[position] = fingerprint;
            },
            &mut 0,
        );
        all
    }

    /// Tells each fingerprint with its position; `next` is the position of this one.
    fn add_fingerprints(&self, told: &mut impl FnMut(usize, Fingerprint), next: &mut usize) -> Fingerprint {
        let position = *next;
        *next += 1;
        let mut hasher = DefaultHasher::new();
        hash_node(&self.node, &mut hasher);
        hash_type(&self.sql_type, &mut hasher);
        self.nullable.hash(&mut hasher);
        for operand in self.operands() {
            operand.add_fingerprints(told, next).hash.hash(&mut hasher);
        }
        let fingerprint = Fingerprint { hash: hasher.finish(), node_count: *next - position };
        told(position, fingerprint);
        fingerprint
    }
}

impl AggregateCall {
    /// The fingerprint of the call: equal calls have equal ones.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (discriminant(&self.function), self.distinct, &self.separator).hash(&mut hasher);
        for argument in &self.arguments {
            argument.fingerprint().hash(&mut hasher);
        }
        for order in &self.order_by {
            (order.expression.fingerprint(), order.descending).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Hashes a node without its operands.
fn hash_node(node: &Node, hasher: &mut DefaultHasher) {
    discriminant(node).hash(hasher);
    match node {
        Node::Literal(value) => hash_value(value, hasher),
        Node::Column(slot) => slot.hash(hasher),
        Node::Parameter(number) => number.hash(hasher),
        Node::And(arguments) | Node::Or(arguments) => arguments.len().hash(hasher),
        Node::Unary { operator, .. } => discriminant(operator).hash(hasher),
        Node::Binary { operator, .. } => discriminant(operator).hash(hasher),
        Node::Compare { operator, domain, .. } => {
            (discriminant(operator), discriminant(domain)).hash(hasher);
        }
        Node::Between { negated, domain, .. } => (negated, discriminant(domain)).hash(hasher),
        Node::In { negated, list, .. } => {
            negated.hash(hasher);
            match list {
                InList::Sorted { values, .. } => values.iter().for_each(|value| hash_value(value, hasher)),
                InList::Expressions(items) => items.len().hash(hasher),
            }
        }
        Node::Like { negated, escape, .. } => (negated, escape).hash(hasher),
        Node::Is { test, .. } => discriminant(test).hash(hasher),
        Node::Case { branches, .. } => branches.len().hash(hasher),
        Node::Cast { .. } | Node::Collate(_) => {}
        Node::Interval { unit, negated, .. } => (discriminant(unit), negated).hash(hasher),
        Node::Function { function, arguments } => {
            (to_bytes(function), arguments.len()).hash(hasher);
        }
        Node::Regexp { function, arguments, .. } => (discriminant(function), arguments.len()).hash(hasher),
    }
}

fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Int(number) => number.hash(hasher),
        Value::UInt(number) => number.hash(hasher),
        // Zeros of both signs are equal.
        Value::Double(number) => (if *number == 0.0 { 0 } else { number.to_bits() }).hash(hasher),
        Value::Decimal(decimal) => decimal.hash(hasher),
        Value::Bytes(bytes) => bytes.hash(hasher),
        Value::Date(date) => date.hash(hasher),
        Value::Time(time) => time.hash(hasher),
        Value::DateTime(moment) => moment.hash(hasher),
    }
}

fn hash_type(sql_type: &SqlType, hasher: &mut DefaultHasher) {
    match sql_type {
        SqlType::Enum { .. } | SqlType::Set { .. } => discriminant(sql_type).hash(hasher),
        other => other.hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use crate::{BinaryOperator, ColumnSlot, Expression};
    use types::{Decimal, IntegerWidth, SqlType};

    fn sum(left: Expression, right: Expression) -> Expression {
        Expression::binary(BinaryOperator::Add, left, right).unwrap()
    }

    #[test]
    fn parts_have_the_fingerprints_that_they_have_alone() {
        let integer = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
        let column = Expression::column(ColumnSlot(3), integer, true);
        let inner = sum(column.clone(), Expression::integer(7));
        let whole = sum(inner.clone(), column);
        let marks = whole.fingerprints();
        assert_eq!((marks.len(), marks[0].node_count), (whole.node_count(), whole.node_count()));
        assert_eq!((marks[0].hash, marks[1].hash), (whole.fingerprint(), inner.fingerprint()));
        assert_eq!(marks[1].node_count, inner.node_count());
    }

    #[test]
    fn equal_values_have_equal_fingerprints() {
        let decimals = [("1.0", "1.00"), ("-2.50", "-2.5")];
        for (one, other) in decimals.map(|(one, other)| {
            let decimal = |text: &str| Expression::decimal(Decimal::parse(text.as_bytes()).unwrap().0).node;
            (decimal(one), decimal(other))
        }) {
            assert_eq!(one, other);
            let of = |node| Expression { node, ..Expression::integer(0) }.fingerprint();
            assert_eq!(of(one), of(other));
        }
        assert_eq!(Expression::double(0.0).fingerprint(), Expression::double(-0.0).fingerprint());
        assert_ne!(Expression::integer(1).fingerprint(), Expression::integer(2).fingerprint());
    }
}
