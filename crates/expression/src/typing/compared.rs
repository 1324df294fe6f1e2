//! Comparisons: as what the two sides are compared, and which side is converted to what.
//!
//! MySQL's rules: strings are compared with strings under a collation. Numbers are compared with numbers exactly unless
//! one is a double. A string and a number are compared as doubles; a constant that is wholly an integer stays exact, as
//! MySQL does for a column beside a constant. A date or time is compared with a string as instants or durations, with a
//! constant number likewise, else as numbers. ENUM and SET are compared with strings by their text, with numbers by
//! their number.

use super::{NumericClass, aggregate_collation, collation_of, is_temporal, is_text, numeric_class};
use crate::comparison::{compare_in, compare_numbers};
use crate::context::{Context, TypeError};
use crate::node::{CastPurpose, Comparison, Domain, Expression, InList, Node};
use std::cmp::Ordering;
use types::{SqlType, Value};

type Conversion = Option<(SqlType, CastPurpose)>;

/// How two sides meet.
#[derive(Clone, PartialEq, Debug)]
struct Meeting {
    domain: Domain,
    left: Conversion,
    right: Conversion,
}

impl Meeting {
    fn plain(domain: Domain) -> Self {
        Self { domain, left: None, right: None }
    }
}

fn converted(side: Expression, conversion: Conversion) -> Expression {
    match conversion {
        None => side,
        Some((sql_type, purpose)) => side.cast_for(sql_type, purpose),
    }
}

fn domain_of(sql_type: &SqlType) -> Domain {
    match sql_type {
        SqlType::Time { .. } => Domain::Time,
        other if is_temporal(other) => Domain::DateTime,
        SqlType::Enum { .. } | SqlType::Set { .. } => Domain::Number,
        other => collation_of(other).map_or(Domain::Number, Domain::Text),
    }
}

/// As what a constant or a text beside a temporal side is read. A constant beside a DATE may stay a day.
fn instant_conversion(temporal: &SqlType, other: &Expression) -> (SqlType, CastPurpose) {
    let purpose = if other.is_constant_in_types() { CastPurpose::Comparison } else { CastPurpose::Implicit };
    let sql_type = match temporal {
        SqlType::Time { .. } => SqlType::Time { fraction: 6 },
        SqlType::Timestamp { .. } => SqlType::Timestamp { fraction: 6 },
        SqlType::Date if purpose == CastPurpose::Comparison => SqlType::Date,
        _ => SqlType::DateTime { fraction: 6 },
    };
    (sql_type, purpose)
}

fn meet(
    left: &Expression,
    right: &Expression,
    equality: bool,
    operation: &str,
) -> Result<Meeting, TypeError> {
    let (left_type, right_type) = (&left.sql_type, &right.sql_type);
    if matches!(left_type, SqlType::Null) {
        return Ok(Meeting::plain(domain_of(right_type)));
    }
    if matches!(right_type, SqlType::Null) {
        return Ok(Meeting::plain(domain_of(left_type)));
    }
    if let Some(conversion) = meet_by_number(left, right, equality) {
        return Ok(Meeting { domain: Domain::Number, left: None, right: Some(conversion) });
    }
    if let Some(conversion) = meet_by_number(right, left, equality) {
        return Ok(Meeting { domain: Domain::Number, left: Some(conversion), right: None });
    }
    match (is_temporal(left_type), is_temporal(right_type)) {
        (true, true) => Ok(meet_temporals(left, right)),
        (true, false) => Ok(meet_temporal(left, right)),
        (false, true) => {
            let mirrored = meet_temporal(right, left);
            Ok(Meeting { domain: mirrored.domain, left: mirrored.right, right: mirrored.left })
        }
        (false, false) => match (is_text(left_type), is_text(right_type)) {
            (true, true) => {
                let collation = aggregate_collation([left, right].into_iter(), operation)?;
                Ok(Meeting {
                    domain: Domain::Text(collation),
                    left: member_text(left),
                    right: member_text(right),
                })
            }
            (true, false) => {
                Ok(Meeting { domain: Domain::Number, left: numeric_text(left, right_type), right: None })
            }
            (false, true) => {
                Ok(Meeting { domain: Domain::Number, left: None, right: numeric_text(right, left_type) })
            }
            (false, false) => Ok(Meeting::plain(Domain::Number)),
        },
    }
}

/// ENUM and SET as their text.
fn member_text(side: &Expression) -> Conversion {
    let (SqlType::Enum { collation, .. } | SqlType::Set { collation, .. }) = side.sql_type else {
        return None;
    };
    let length = u64::from(super::display_length(side));
    Some((super::text_type(length, collation), CastPurpose::Implicit))
}

/// Text beside a number.
fn numeric_text(side: &Expression, other: &SqlType) -> Conversion {
    if matches!(side.sql_type, SqlType::Enum { .. } | SqlType::Set { .. }) {
        return None;
    }
    if side.is_constant_in_types() && numeric_class(other) != NumericClass::Double {
        return Some((other.clone(), CastPurpose::Comparison));
    }
    Some((SqlType::Double, CastPurpose::Implicit))
}

fn meet_temporals(left: &Expression, right: &Expression) -> Meeting {
    let to_local = |side: &Expression| {
        let SqlType::Timestamp { fraction } = side.sql_type else { return None };
        Some((SqlType::DateTime { fraction }, CastPurpose::Implicit))
    };
    match (&left.sql_type, &right.sql_type) {
        (SqlType::Time { .. }, SqlType::Time { .. }) => Meeting::plain(Domain::Time),
        (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => Meeting::plain(Domain::DateTime),
        (SqlType::Timestamp { .. }, _) if right.is_constant_in_types() => Meeting {
            domain: Domain::DateTime,
            left: None,
            right: Some((SqlType::Timestamp { fraction: 6 }, CastPurpose::Implicit)),
        },
        (_, SqlType::Timestamp { .. }) if left.is_constant_in_types() => Meeting {
            domain: Domain::DateTime,
            left: Some((SqlType::Timestamp { fraction: 6 }, CastPurpose::Implicit)),
            right: None,
        },
        _ => Meeting { domain: Domain::DateTime, left: to_local(left), right: to_local(right) },
    }
}

fn meet_temporal(temporal: &Expression, other: &Expression) -> Meeting {
    let domain = domain_of(&temporal.sql_type);
    if is_text(&other.sql_type) || other.is_constant_in_types() {
        let is_stored_utc = matches!(temporal.sql_type, SqlType::Timestamp { .. });
        if is_stored_utc && !other.is_constant_in_types() {
            let local = SqlType::DateTime { fraction: 6 };
            return Meeting {
                domain,
                left: Some((local.clone(), CastPurpose::Implicit)),
                right: Some((local, CastPurpose::Implicit)),
            };
        }
        return Meeting { domain, left: None, right: Some(instant_conversion(&temporal.sql_type, other)) };
    }
    let number = match numeric_class(&temporal.sql_type) {
        NumericClass::Decimal => {
            let (precision, scale) = super::decimal_shape(temporal);
            super::decimal_type(precision, scale)
        }
        NumericClass::Integer { .. } | NumericClass::Double => super::BIGINT,
    };
    Meeting { domain: Domain::Number, left: Some((number, CastPurpose::Implicit)), right: None }
}

/// A constant beside an ENUM is looked up once, and one beside a YEAR gets its century: afterwards only numbers are
/// compared.
fn meet_by_number(side: &Expression, other: &Expression, equality: bool) -> Conversion {
    if !other.is_constant_in_types() || matches!(other.sql_type, SqlType::Null) {
        return None;
    }
    let is_plain_text = is_text(&other.sql_type) && other.coercibility != 0;
    match &side.sql_type {
        SqlType::Year if !is_temporal(&other.sql_type) => Some((SqlType::Year, CastPurpose::Comparison)),
        SqlType::Enum { .. } if equality && is_plain_text => {
            Some((side.sql_type.clone(), CastPurpose::Comparison))
        }
        _ => None,
    }
}

fn is_equality(operator: Comparison) -> bool {
    matches!(operator, Comparison::Equal | Comparison::NotEqual | Comparison::NullSafeEqual)
}

impl Expression {
    /// `left operator right`.
    pub fn compare(operator: Comparison, left: Self, right: Self) -> Result<Self, TypeError> {
        let meeting = meet(&left, &right, is_equality(operator), operator.symbol())?;
        let (left, right) = (converted(left, meeting.left), converted(right, meeting.right));
        let nullable = operator != Comparison::NullSafeEqual && (left.nullable || right.nullable);
        let (left, right) = (Box::new(left), Box::new(right));
        let node = Node::Compare { operator, domain: meeting.domain, left, right };
        Ok(Self::new(node, super::BIGINT, nullable))
    }

    /// `operand [NOT] BETWEEN low AND high`.
    pub fn between(operand: Self, low: Self, high: Self, negated: bool) -> Result<Self, TypeError> {
        let with_low = meet(&operand, &low, false, "between")?;
        let with_high = meet(&operand, &high, false, "between")?;
        // NULL is compared as the other bound is.
        let (with_low, with_high) = match (&low.sql_type, &high.sql_type) {
            (SqlType::Null, SqlType::Null) => (with_low, with_high),
            (SqlType::Null, _) => (Meeting { right: None, ..with_high.clone() }, with_high),
            (_, SqlType::Null) => (with_low.clone(), Meeting { right: None, ..with_low }),
            _ => (with_low, with_high),
        };
        let same = with_low.domain == with_high.domain && with_low.left == with_high.left;
        if let (Domain::Text(_), Domain::Text(_)) = (with_low.domain, with_high.domain) {
            let collation = aggregate_collation([&operand, &low, &high].into_iter(), "between")?;
            let [operand, low, high] = [operand, low, high].map(Self::into_text);
            return Ok(Self::between_in(Domain::Text(collation), operand, low, high, negated));
        }
        if with_low.domain != with_high.domain {
            // All three are compared in one way: as numbers, if not all are strings or all are instants.
            let numbers = [operand, low, high].map(Self::into_number);
            let [operand, low, high] = numbers;
            return Ok(Self::between_in(Domain::Number, operand, low, high, negated));
        }
        if !same {
            let above = Self::compare(Comparison::GreaterOrEqual, operand.clone(), low)?;
            let below = Self::compare(Comparison::LessOrEqual, operand, high)?;
            let inside = Self::and(vec![above, below]);
            return if negated { Self::unary(crate::node::UnaryOperator::Not, inside) } else { Ok(inside) };
        }
        let operand = converted(operand, with_low.left);
        let (low, high) = (converted(low, with_low.right), converted(high, with_high.right));
        Ok(Self::between_in(with_low.domain, operand, low, high, negated))
    }

    fn between_in(domain: Domain, operand: Self, low: Self, high: Self, negated: bool) -> Self {
        let nullable = operand.nullable || low.nullable || high.nullable;
        let node = Node::Between {
            negated,
            domain,
            operand: Box::new(operand),
            low: Box::new(low),
            high: Box::new(high),
        };
        Self::new(node, super::BIGINT, nullable)
    }

    /// `operand [NOT] IN (items)`. Items that are compared in different ways become an OR of comparisons.
    pub fn in_list(operand: Self, items: Vec<Self>, negated: bool) -> Result<Self, TypeError> {
        let operator = if negated { Comparison::NotEqual } else { Comparison::Equal };
        let meetings: Result<Vec<Meeting>, TypeError> = items
            .iter()
            .filter(|item| !matches!(item.sql_type, SqlType::Null))
            .map(|item| meet(&operand, item, true, "in"))
            .collect();
        let meetings = meetings?;
        let all_text = !meetings.is_empty()
            && meetings.iter().all(|meeting| matches!(meeting.domain, Domain::Text(_)))
            && meetings.windows(2).any(|pair| pair[0].domain != pair[1].domain);
        if all_text {
            // One collation for all, as in BETWEEN.
            let collation = aggregate_collation(std::iter::once(&operand).chain(&items), "in")?;
            let nullable = operand.nullable || items.iter().any(|item| item.nullable);
            let items: Vec<Self> = items.into_iter().map(Self::into_text).collect();
            let domain = Domain::Text(collation);
            let list = sorted_list(items, domain);
            let node = Node::In { negated, domain, operand: Box::new(operand.into_text()), list };
            return Ok(Self::new(node, super::BIGINT, nullable));
        }
        let same =
            meetings.windows(2).all(|pair| pair[0].domain == pair[1].domain && pair[0].left == pair[1].left);
        let first = match meetings.first() {
            Some(first) if same && items.len() > 1 => first.clone(),
            _ => {
                let compared: Result<Vec<Self>, TypeError> =
                    items.into_iter().map(|item| Self::compare(operator, operand.clone(), item)).collect();
                return Ok(if negated { Self::and(compared?) } else { Self::or(compared?) });
            }
        };
        let operand = converted(operand, first.left);
        let mut conversions = meetings.into_iter().map(|meeting| meeting.right);
        let items: Vec<Self> = items
            .into_iter()
            .map(|item| {
                if matches!(item.sql_type, SqlType::Null) {
                    return item;
                }
                converted(item, conversions.next().flatten())
            })
            .collect();
        let nullable = operand.nullable || items.iter().any(|item| item.nullable);
        let node = Node::In {
            negated,
            domain: first.domain,
            operand: Box::new(operand),
            list: sorted_list(items, first.domain),
        };
        Ok(Self::new(node, super::BIGINT, nullable))
    }

    /// `operand [NOT] LIKE pattern`; `escape` is `\` unless ESCAPE says otherwise, `None` for ESCAPE ''.
    pub fn like(
        operand: Self,
        pattern: Self,
        escape: Option<char>,
        negated: bool,
    ) -> Result<Self, TypeError> {
        let (operand, pattern) = (operand.into_text(), pattern.into_text());
        let collation = aggregate_collation([&operand, &pattern].into_iter(), "like")?;
        let nullable = operand.nullable || pattern.nullable;
        let node = Node::Like {
            negated,
            collation,
            escape: escape.map(u32::from),
            operand: Box::new(operand),
            pattern: Box::new(pattern),
        };
        Ok(Self::new(node, super::BIGINT, nullable))
    }
}

fn is_of_domain(value: &Value, domain: Domain) -> bool {
    match value {
        Value::Null => true,
        Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => domain == Domain::Number,
        Value::Bytes(_) => matches!(domain, Domain::Text(_)),
        Value::Date(_) | Value::DateTime(_) => domain == Domain::DateTime,
        Value::Time(_) => domain == Domain::Time,
    }
}

/// A list of literals in order, so that evaluation can halve it; anything else as it is.
pub(crate) fn sorted_list(items: Vec<Expression>, domain: Domain) -> InList {
    let all_literals = items.iter().all(|item| item.as_literal().is_some());
    let doubles = items.iter().filter(|item| matches!(item.as_literal(), Some(Value::Double(_)))).count();
    let nulls = items.iter().filter(|item| matches!(item.as_literal(), Some(Value::Null))).count();
    let of_domain = items.iter().filter_map(Expression::as_literal).all(|value| is_of_domain(value, domain));
    // Exact numbers and doubles together have no order that both kinds of comparison agree on.
    if !all_literals || !of_domain || (doubles != 0 && doubles + nulls != items.len()) {
        return InList::Expressions(items.into());
    }
    let mut values: Vec<Value> = items
        .into_iter()
        .filter_map(|item| if let Node::Literal(value) = item.node { Some(value) } else { None })
        .filter(|value| !value.is_null())
        .collect();
    let context = Context::default();
    let order = |left: &Value, right: &Value| match domain {
        Domain::Number => compare_numbers(left.as_ref(), right.as_ref()),
        Domain::Text(_) | Domain::DateTime | Domain::Time => {
            compare_in(domain, left.as_ref(), right.as_ref(), &context).unwrap_or(Ordering::Equal)
        }
    };
    values.sort_by(order);
    values.dedup_by(|right, left| order(left, right).is_eq());
    InList::Sorted { values, has_null: nulls > 0 }
}
