//! The conditions of WHERE that an index can use.
//!
//! A conjunct is usable if it compares a plain column with constants *in the domain in which the index orders that
//! column*:
//!
//! | column | domain | constants |
//! | --- | --- | --- |
//! | integer, DECIMAL, BIT, YEAR, ENUM, SET | number | exact; a double only beside integers of at most 4 bytes |
//! | FLOAT, DOUBLE | number | any number |
//! | character string | text in the column's own collation | text |
//! | binary string | text, `binary` | text |
//! | DATE, DATETIME, TIMESTAMP | instant | temporal but for TIME |
//! | TIME | duration | temporal |
//!
//! So a string column beside a number (compared as doubles) or beside another collation is never looked up. A number
//! column beside a string constant is: the constructor converts the constant to the column's type. A constant's value
//! is only known when the plan runs; `plan` says how values that do not fit the column are treated.
//!
//! LIKE with a literal that begins with ASCII letters is a range in collations without padding; it stays in the filter.

use crate::plan::Inclusive;
use expression::{Comparison, Domain, Expression, InList, Node, Test, like_prefix};
use types::{Collation, ColumnIndex, IntegerWidth, SqlType, TableDefinition, Value};

/// A stretch of a column's values.
#[derive(Clone, Debug)]
pub(crate) enum Interval {
    /// `column = value`.
    Point(Expression),
    /// `column IS NULL`.
    Null,
    /// Bounded below, above or both; NULL is outside.
    Between { lower: Option<(Expression, Inclusive)>, upper: Option<(Expression, Inclusive)> },
}

/// A conjunct that an index can use.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// Which conjunct.
    pub(crate) conjunct: usize,
    /// The values of the intervals are all the values that make it true.
    pub(crate) is_exact: bool,
    /// How many intervals there are, if they are points, all of them.
    points: Option<usize>,
    pub(crate) form: Form,
}

impl Condition {
    fn new(conjunct: usize, is_exact: bool, form: Form) -> Self {
        let points = match &form {
            Form::Intervals { intervals, .. } => {
                let are_points = intervals.iter().all(|interval| matches!(interval, Interval::Point(_)));
                are_points.then_some(intervals.len())
            }
            Form::Rows(_) => None,
        };
        Self { conjunct, is_exact, points, form }
    }

    /// The intervals or rows of it.
    pub(crate) fn value_count(&self) -> usize {
        match &self.form {
            Form::Intervals { intervals, .. } => intervals.len(),
            Form::Rows(rows) => rows.len(),
        }
    }

    /// The intervals of this column.
    pub(crate) fn intervals_of(&self, wanted: ColumnIndex) -> Option<&[Interval]> {
        match &self.form {
            Form::Intervals { column, intervals } if *column == wanted => Some(intervals),
            Form::Intervals { .. } | Form::Rows(_) => None,
        }
    }

    /// How many values it leaves of this column, if it leaves no ranges.
    pub(crate) fn points_of(&self, wanted: ColumnIndex) -> Option<usize> {
        self.intervals_of(wanted).and(self.points)
    }
}

/// Forms of conditions.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// One column lies in one of these.
    Intervals { column: ColumnIndex, intervals: Vec<Interval> },
    /// Several columns equal one of these rows: `(a, b) IN ((1, 2), …)`. At least one row; each column once per row.
    Rows(Vec<Vec<(ColumnIndex, Expression)>>),
}

/// Alternatives of an OR that are worth looking at.
const ALTERNATIVES_MAX: usize = 10_000;

/// The condition that a conjunct is, if an index can use it.
pub(crate) fn condition(
    conjunct: usize,
    expression: &Expression,
    table: &TableDefinition,
) -> Option<Condition> {
    if let Some((column, interval)) = like_range(expression, table) {
        return Some(Condition::new(conjunct, false, Form::Intervals { column, intervals: vec![interval] }));
    }
    let form = match intervals(expression, table) {
        Some((column, intervals)) => Form::Intervals { column, intervals },
        None => Form::Rows(rows(expression, table)?),
    };
    Some(Condition::new(conjunct, true, form))
}

/// A comparison with the literal NULL is true for no row.
pub(crate) fn is_never_true(expression: &Expression) -> bool {
    let is_null = |operand: &Expression| matches!(operand.as_literal(), Some(Value::Null));
    if let Node::Compare { operator, left, right, .. } = &expression.node {
        return *operator != Comparison::NullSafeEqual && (is_null(left) || is_null(right));
    }
    matches!(&expression.node, Node::Between { negated: false, low, high, .. } if is_null(low) || is_null(high))
}

/// The column and its intervals for which the expression is true.
fn intervals(expression: &Expression, table: &TableDefinition) -> Option<(ColumnIndex, Vec<Interval>)> {
    match &expression.node {
        Node::Compare { operator, domain, left, right } => {
            let (column, constant, operator) = if left.as_column().is_some() {
                (left, right, *operator)
            } else {
                (right, left, operator.mirrored())
            };
            let index = usable_column(column, *domain, constant, table)?;
            comparison_interval(operator, constant).map(|interval| (index, vec![interval]))
        }
        Node::Between { negated: false, domain, operand, low, high } => {
            let index = usable_column(operand, *domain, low, table)?;
            usable_column(operand, *domain, high, table)?;
            let bound = |constant: &Expression| Some((constant.clone(), Inclusive::Yes));
            Some((index, vec![Interval::Between { lower: bound(low), upper: bound(high) }]))
        }
        Node::In { negated: false, domain, operand, list } => {
            let items: Vec<Expression> = match list {
                InList::Sorted { values, .. } => values.iter().map(literal_of_value).collect(),
                InList::Expressions(items) => items.to_vec(),
            };
            let mut index = None;
            for item in &items {
                index = Some(usable_column(operand, *domain, item, table)?);
            }
            Some((index?, items.into_iter().map(Interval::Point).collect()))
        }
        Node::Is { test: Test::Null, operand } => {
            let slot = operand.as_column()?;
            Some((ColumnIndex(slot.0), vec![Interval::Null]))
        }
        Node::Or(alternatives) if alternatives.len() <= ALTERNATIVES_MAX => {
            let mut union: Option<(ColumnIndex, Vec<Interval>)> = None;
            for alternative in alternatives.iter() {
                let (column, mut more) = intervals(alternative, table)?;
                match &mut union {
                    None => union = Some((column, more)),
                    Some((same, all)) if *same == column => all.append(&mut more),
                    Some(_) => return None,
                }
            }
            union
        }
        Node::Literal(_)
        | Node::Column(_)
        | Node::Parameter(_)
        | Node::And(_)
        | Node::Or(_)
        | Node::Unary { .. }
        | Node::Binary { .. }
        | Node::Between { .. }
        | Node::In { .. }
        | Node::Like { .. }
        | Node::Is { .. }
        | Node::Case { .. }
        | Node::Cast { .. }
        | Node::Collate(_)
        | Node::Interval { .. }
        | Node::Regexp { .. }
        | Node::Function { .. } => None,
    }
}

fn comparison_interval(operator: Comparison, constant: &Expression) -> Option<Interval> {
    let between = |lower, upper| Some(Interval::Between { lower, upper });
    let bound = |inclusive| Some((constant.clone(), inclusive));
    match operator {
        Comparison::Equal => Some(Interval::Point(constant.clone())),
        // Whether a parameter is NULL is not known yet.
        Comparison::NullSafeEqual if constant.as_literal()?.is_null() => Some(Interval::Null),
        Comparison::NullSafeEqual => Some(Interval::Point(constant.clone())),
        Comparison::Less => between(None, bound(Inclusive::No)),
        Comparison::LessOrEqual => between(None, bound(Inclusive::Yes)),
        Comparison::Greater => between(bound(Inclusive::No), None),
        Comparison::GreaterOrEqual => between(bound(Inclusive::Yes), None),
        Comparison::NotEqual => None,
    }
}

/// An item of a sorted list as it was before: its type only has to be of the value's kind.
fn literal_of_value(value: &Value) -> Expression {
    let sql_type = match value {
        Value::Int(_) => SqlType::Integer { width: IntegerWidth::Big, unsigned: false },
        Value::UInt(_) => SqlType::Integer { width: IntegerWidth::Big, unsigned: true },
        Value::Double(_) => SqlType::Double,
        Value::Decimal(decimal) => {
            SqlType::Decimal { precision: decimal.precision(), scale: decimal.scale(), unsigned: false }
        }
        Value::Bytes(_) => SqlType::VarBinary { length: u32::MAX },
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time { fraction: 6 },
        Value::DateTime(_) => SqlType::DateTime { fraction: 6 },
        Value::Null => SqlType::Null,
    };
    Expression::literal(value.clone(), sql_type)
}

/// The column, if an index on it is ordered as the comparison compares; see the table at the top.
fn usable_column(
    column: &Expression,
    domain: Domain,
    constant: &Expression,
    table: &TableDefinition,
) -> Option<ColumnIndex> {
    let slot = column.as_column()?;
    let definition = table.columns.get(slot.index())?;
    if !constant.is_constant() {
        return None;
    }
    let is_double = matches!(constant.sql_type, SqlType::Double | SqlType::Float);
    let is_usable = match (&definition.sql_type, domain) {
        (SqlType::Integer { width, .. }, Domain::Number) => !is_double || *width != IntegerWidth::Big,
        (SqlType::Year, Domain::Number) | (SqlType::Float | SqlType::Double, Domain::Number) => true,
        (
            SqlType::Decimal { .. } | SqlType::Bit { .. } | SqlType::Enum { .. } | SqlType::Set { .. },
            Domain::Number,
        ) => !is_double,
        (
            SqlType::Char { collation, .. }
            | SqlType::VarChar { collation, .. }
            | SqlType::Text { collation, .. },
            Domain::Text(compared),
        ) => *collation == compared,
        (
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. },
            Domain::Text(compared),
        ) => compared == Collation::Binary,
        (SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. }, Domain::DateTime) => {
            // A time is one of today, which only the evaluation knows.
            !matches!(constant.sql_type, SqlType::Time { .. })
        }
        (SqlType::Time { .. }, Domain::Time) => true,
        _ => false,
    };
    is_usable.then_some(ColumnIndex(slot.0))
}

/// The rows of `(a, b) = (1, 2)` alternatives; an AND of equalities is one row.
fn rows(expression: &Expression, table: &TableDefinition) -> Option<Vec<Vec<(ColumnIndex, Expression)>>> {
    let Node::Or(alternatives) = &expression.node else { return None };
    if alternatives.len() > ALTERNATIVES_MAX {
        return None;
    }
    alternatives.iter().map(|alternative| row(alternative, table)).collect()
}

fn row(expression: &Expression, table: &TableDefinition) -> Option<Vec<(ColumnIndex, Expression)>> {
    let Node::And(conjuncts) = &expression.node else { return None };
    let mut row: Vec<(ColumnIndex, Expression)> = Vec::with_capacity(conjuncts.len());
    for conjunct in conjuncts.iter() {
        let (column, mut intervals) = intervals(conjunct, table)?;
        let (Some(Interval::Point(value)), true) = (intervals.pop(), intervals.is_empty()) else {
            return None;
        };
        if row.iter().any(|(known, _)| *known == column) {
            return None;
        }
        row.push((column, value));
    }
    Some(row)
}

/// `column LIKE 'prefix…'`: everything from the prefix up to the last string that begins with it.
fn like_range(expression: &Expression, table: &TableDefinition) -> Option<(ColumnIndex, Interval)> {
    let Node::Like { negated: false, collation, escape, operand, pattern } = &expression.node else {
        return None;
    };
    let Some(Value::Bytes(bytes)) = pattern.as_literal() else { return None };
    let column = usable_column(operand, Domain::Text(*collation), pattern, table)?;
    let (mut prefix, _) = like_prefix(bytes, *escape);
    // Beyond ASCII, characters that combine with their neighbours would need care.
    let ascii = prefix.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    prefix.truncate(ascii);
    let last = *prefix.last()?;
    let text = |bytes: Vec<u8>| Expression::text(bytes, *collation);
    // Padded, a prefix followed by a control character sorts before the prefix.
    if collation.is_pad_space() {
        return None;
    }
    let mut upper = prefix.clone();
    let upper = if collation.is_code_point_order() {
        upper.pop();
        upper.push(last + 1);
        (text(upper), Inclusive::No)
    } else {
        // CLDR gives U+FFFF the highest weight, for exactly this.
        upper.extend_from_slice("\u{ffff}".as_bytes());
        (text(upper), Inclusive::Yes)
    };
    Some((column, Interval::Between { lower: Some((text(prefix), Inclusive::Yes)), upper: Some(upper) }))
}

#[cfg(test)]
mod tests {
    use types::Collation;

    /// `like_range` relies on this order of compare and of sort keys.
    #[test]
    fn u_ffff_ends_the_strings_with_a_prefix() {
        let rests = [
            "",
            "z",
            "zzz",
            "~",
            "9",
            "é",
            "ß",
            "Ω",
            "я",
            "の",
            "漢",
            "\u{fffd}",
            "\u{1f600}",
            "\u{10ffff}",
            "\t",
            "\u{301}",
        ];
        for collation in [Collation::Utf8mb40900AiCi, Collation::Utf8mb40900AsCs] {
            let key = |text: &str| {
                let mut key = Vec::new();
                collation.sort_key(text.as_bytes(), &mut key);
                key
            };
            for rest in rests {
                let text = format!("abc{rest}");
                for (lower, upper) in [("abc", text.as_str()), (text.as_str(), "abc\u{ffff}")] {
                    let order = collation.compare(lower.as_bytes(), upper.as_bytes());
                    assert!(order.is_le(), "{collation:?} {lower:?} {upper:?}");
                    assert!(key(lower) <= key(upper), "keys {collation:?} {lower:?} {upper:?}");
                }
            }
        }
    }
}
