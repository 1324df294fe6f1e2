//! The order and equality of values.
//!
//! There are two entrances. [`compare_values`], [`order_prefix`] and [`hash_value`] are for values of one type (ORDER
//! BY, GROUP BY, DISTINCT, MIN, MAX, join keys). `compare_in` is for the two sides of a comparison operator, already
//! brought into one [`Domain`].
//!
//! Invariants: NULL is first and equal to NULL; ENUM and SET order by number; values of one type that compare equal
//! hash equal.

use crate::context::Context;
use crate::conversion::{datetime_of, int_to_double, text_of, time_of, uint_to_double};
use crate::node::Domain;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use stdx::FixedHasher;
use types::{Collation, Decimal, SqlType, ValueRef};

/// Orders two values of type `sql_type`, NULL first. A total order on any values, so that sorting never meets a
/// contradiction even if a careless caller mixes kinds.
#[must_use]
#[inline]
pub fn compare_values(left: &ValueRef<'_>, right: &ValueRef<'_>, sql_type: &SqlType) -> Ordering {
    match (*left, *right) {
        (ValueRef::Int(left), ValueRef::Int(right)) => left.cmp(&right),
        (ValueRef::Bytes(left), ValueRef::Bytes(right)) => {
            crate::typing::collation_of(sql_type).unwrap_or(Collation::Binary).compare(left, right)
        }
        (ValueRef::Null, ValueRef::Null) => Ordering::Equal,
        (ValueRef::Null, _) => Ordering::Less,
        (_, ValueRef::Null) => Ordering::Greater,
        (ValueRef::Date(left), ValueRef::Date(right)) => left.cmp(&right),
        (ValueRef::DateTime(left), ValueRef::DateTime(right)) => left.cmp(&right),
        (ValueRef::Time(left), ValueRef::Time(right)) => left.cmp(&right),
        (ValueRef::Date(left), ValueRef::DateTime(right)) => left.at_midnight().cmp(&right),
        (ValueRef::DateTime(left), ValueRef::Date(right)) => left.cmp(&right.at_midnight()),
        (left, right) => {
            kind_rank(left).cmp(&kind_rank(right)).then_with(|| compare_mixed_numbers(left, right))
        }
    }
}

/// A number for sorting: of two values that have one, the one with the smaller number is the smaller value. Equal
/// numbers say nothing.
#[must_use]
#[inline]
pub fn order_prefix(value: &ValueRef<'_>, sql_type: &SqlType) -> Option<u64> {
    match (*value, sql_type) {
        (ValueRef::Int(number), SqlType::Integer { unsigned: false, .. }) => {
            Some(number.cast_unsigned() ^ 1 << 63)
        }
        (ValueRef::UInt(number), SqlType::Integer { unsigned: true, .. }) => Some(number),
        (ValueRef::Bytes(text), _) => {
            crate::typing::collation_of(sql_type).unwrap_or(Collation::Binary).order_prefix(text)
        }
        _ => None,
    }
}

fn kind_rank(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Double(_) | ValueRef::Decimal(_) => 1,
        ValueRef::Bytes(_) => 2,
        ValueRef::Date(_) | ValueRef::DateTime(_) => 3,
        ValueRef::Time(_) => 4,
    }
}

/// Exact numbers exactly; an exact number beside a double as doubles, and below it if these are equal: the order of
/// (double, kind, exact number).
fn compare_mixed_numbers(left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    let is_double = |value: ValueRef<'_>| matches!(value, ValueRef::Double(_));
    compare_numbers(left, right).then_with(|| is_double(left).cmp(&is_double(right)))
}

/// A hash under which equal values of type `sql_type` hash equal.
#[must_use]
#[inline]
pub fn hash_value(value: &ValueRef<'_>, sql_type: &SqlType) -> u64 {
    let mut hasher = FixedHasher::default();
    match *value {
        ValueRef::Null => hasher.write_u8(0),
        // A number that both kinds can be has the same bits in both.
        ValueRef::Int(number) => hasher.write_i64(number),
        ValueRef::UInt(number) => hasher.write_u64(number),
        // -0.0 equals 0.0.
        ValueRef::Double(number) => hasher.write_u64((number + 0.0).to_bits()),
        ValueRef::Decimal(decimal) => decimal.to_decimal().hash(&mut hasher),
        ValueRef::Bytes(text) => {
            let collation = crate::typing::collation_of(sql_type).unwrap_or(Collation::Binary);
            hasher.write_u64(collation.hash(text));
        }
        ValueRef::Date(date) => hasher.write_u64(date.at_midnight().packed()),
        ValueRef::Time(time) => time.hash(&mut hasher),
        ValueRef::DateTime(datetime) => hasher.write_u64(datetime.packed()),
    }
    hasher.finish()
}

/// Orders two numbers: exactly where both are exact, as doubles where one is a double. Other kinds count as their
/// doubles.
#[inline]
#[must_use]
pub fn compare_numbers(left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    match (left, right) {
        (ValueRef::Int(left), ValueRef::Int(right)) => left.cmp(&right),
        (ValueRef::UInt(left), ValueRef::UInt(right)) => left.cmp(&right),
        (ValueRef::Int(left), ValueRef::UInt(right)) => {
            u64::try_from(left).map_or(Ordering::Less, |left| left.cmp(&right))
        }
        (ValueRef::UInt(left), ValueRef::Int(right)) => {
            u64::try_from(right).map_or(Ordering::Greater, |right| left.cmp(&right))
        }
        (ValueRef::Decimal(left), ValueRef::Decimal(right)) => left.to_decimal().cmp(&right.to_decimal()),
        (ValueRef::Decimal(left), ValueRef::Int(right)) => left.to_decimal().cmp(&Decimal::from(right)),
        (ValueRef::Decimal(left), ValueRef::UInt(right)) => left.to_decimal().cmp(&Decimal::from(right)),
        (ValueRef::Int(left), ValueRef::Decimal(right)) => Decimal::from(left).cmp(&right.to_decimal()),
        (ValueRef::UInt(left), ValueRef::Decimal(right)) => Decimal::from(left).cmp(&right.to_decimal()),
        (left, right) => {
            let (left, right) = (plain_double(left), plain_double(right));
            left.partial_cmp(&right).unwrap_or_else(|| left.total_cmp(&right))
        }
    }
}

/// A double without warnings: sides of a comparison were converted by a Cast before, which warned.
fn plain_double(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Null => 0.0,
        ValueRef::Int(number) => int_to_double(number),
        ValueRef::UInt(number) => uint_to_double(number),
        ValueRef::Double(number) => number,
        ValueRef::Decimal(decimal) => decimal.to_decimal().to_f64(),
        ValueRef::Bytes(_) | ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) => {
            crate::conversion::double_of(value, &Context::default()).ok().flatten().unwrap_or(0.0)
        }
    }
}

/// Orders two non-NULL values in `domain`; `None` if one of them is none of it (text that is no date), which counts as
/// NULL.
#[inline]
pub(crate) fn compare_in(
    domain: Domain,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    context: &Context<'_>,
) -> Option<Ordering> {
    match domain {
        Domain::Number => Some(compare_numbers(left, right)),
        Domain::Text(collation) => Some(match (left, right) {
            (ValueRef::Bytes(left), ValueRef::Bytes(right)) => collation.compare(left, right),
            (left, right) => {
                collation.compare(&text_of(left, &SqlType::Null), &text_of(right, &SqlType::Null))
            }
        }),
        Domain::DateTime => match (left, right) {
            (ValueRef::Date(left), ValueRef::Date(right)) => Some(left.cmp(&right)),
            (ValueRef::DateTime(left), ValueRef::DateTime(right)) => Some(left.cmp(&right)),
            // A number that is no date stayed one.
            (left, right) if kind_rank(left) == 1 || kind_rank(right) == 1 => {
                Some(compare_numbers(left, right))
            }
            (left, right) => {
                let left = datetime_of(left, context).ok()??;
                Some(left.cmp(&datetime_of(right, context).ok()??))
            }
        },
        Domain::Time => match (left, right) {
            (ValueRef::Time(left), ValueRef::Time(right)) => Some(left.cmp(&right)),
            (left, right) if kind_rank(left) == 1 || kind_rank(right) == 1 => {
                Some(compare_numbers(left, right))
            }
            (left, right) => {
                let left = time_of(left, context).ok()??;
                Some(left.cmp(&time_of(right, context).ok()??))
            }
        },
    }
}

/// True if two non-NULL values are equal in `domain`; cheaper than an order for strings.
#[inline]
pub(crate) fn equal_in(
    domain: Domain,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    context: &Context<'_>,
) -> Option<bool> {
    if let (Domain::Text(collation), ValueRef::Bytes(left), ValueRef::Bytes(right)) = (domain, left, right) {
        return Some(collation.equal(left, right));
    }
    compare_in(domain, left, right, context).map(Ordering::is_eq)
}
