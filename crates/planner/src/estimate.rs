//! Estimates: how many rows an access reads, and which share of rows a condition leaves.
//!
//! Row counts are the caller's. So are samples of rows, on which conditions are evaluated, and the entries of ranges.
//! Where there is no sample, or no value for a parameter, the share that a condition leaves depends on its form and on
//! the indexes of its column.
//!
//! Invariant: estimates are finite and not negative.

use crate::alternatives::conjuncts_of;
use crate::plan::{AccessPath, RangeTemplate, Relation, SelectPlan, Source, TableAccess};
use crate::statistics::Statistics;
use expression::{Comparison, Expression, InList, Node, Test, UnaryOperator};
use std::sync::Arc;
use types::{ColumnIndex, IndexDefinition, IndexId, IndexKind, TableDefinition, Value};

/// Rows of a table of which nothing is known.
pub(crate) const UNKNOWN_ROWS: f64 = 1_000.0;
/// Rows of a table that is made when it is read, or of a common table expression: often it reads its own last rows.
const MADE_ROWS: f64 = 100.0;

/// Shares of rows that conditions leave, where no index says more.
mod share {
    pub(super) const EQUAL: f64 = 0.1;
    pub(super) const NULL: f64 = 0.1;
    pub(super) const BOUNDED: f64 = 0.05;
    pub(super) const HALF_BOUNDED: f64 = 0.3;
    pub(super) const LIKE: f64 = 0.1;
    pub(super) const OTHER: f64 = 0.5;
}

/// Rows of a relation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// Looked at.
    pub(crate) read: f64,
    /// Left by the conditions.
    pub(crate) given: f64,
}

impl Estimate {
    /// All that are read.
    pub(crate) fn all(rows: f64) -> Self {
        Self { read: rows, given: rows }
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(crate) fn rows_of(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn count_of(list: usize) -> f64 {
    list as f64
}

/// An access to a table of so many rows.
pub(crate) fn of_access(access: &TableAccess, rows: f64, statistics: &dyn Statistics) -> Estimate {
    let read = rows_read(&access.path, &access.table, rows, statistics);
    if matches!(access.path, AccessPath::UniqueKeys { .. }) {
        // The whole condition is asked again: it says nothing more.
        return Estimate::all(read);
    }
    let share =
        access.filter.as_ref().map_or(1.0, |filter| filter_share(filter, &access.table, rows, statistics));
    Estimate { read, given: read * share }
}

/// Rows that a path through a table of so many rows reads.
pub(crate) fn rows_read(
    path: &AccessPath,
    table: &TableDefinition,
    rows: f64,
    statistics: &dyn Statistics,
) -> f64 {
    match path {
        AccessPath::Empty => 0.0,
        AccessPath::PrimaryKeys(keys) | AccessPath::UniqueKeys { keys, .. } => count_of(keys.len()).min(rows),
        AccessPath::Ranges { index, ranges } => {
            let of_range = |range: &RangeTemplate| range_rows(table, *index, range, rows, statistics);
            let has_values =
                ranges.iter().all(|range| range.expressions().all(|part| is_known(part, statistics)));
            let found = match ranges.iter().any(RangeTemplate::is_whole) {
                true => Some(rows),
                false if has_values => statistics.entries_in(table, *index, ranges),
                false => None,
            };
            found.unwrap_or_else(|| ranges.iter().map(of_range).sum::<f64>()).min(rows)
        }
    }
}

/// The share of a table's rows that a condition over its columns leaves: by a sample, as far as values are known.
fn filter_share(filter: &Expression, table: &TableDefinition, rows: f64, statistics: &dyn Statistics) -> f64 {
    let (known, others): (Vec<&Expression>, Vec<&Expression>) =
        conjuncts_of(filter).iter().partition(|conjunct| is_known(conjunct, statistics));
    let by_form = |conjuncts: &[&Expression]| -> f64 {
        conjuncts.iter().map(|conjunct| share_of(conjunct, Some(table), rows, 0)).product()
    };
    let conditions: Vec<Expression> = known.iter().copied().cloned().collect();
    let sampled = if known.is_empty() { None } else { statistics.share_of(table, &conditions) };
    sampled.unwrap_or_else(|| by_form(&known)) * by_form(&others)
}

/// Whether an expression can be evaluated when the plan is made.
fn is_known(expression: &Expression, statistics: &dyn Statistics) -> bool {
    let mut is_known = !expression.is_volatile();
    expression.visit(&mut |part| {
        is_known &= !matches!(part.node, Node::Parameter(number) if !statistics.has_value(number));
    });
    is_known
}

fn range_rows(
    table: &TableDefinition,
    index: IndexId,
    range: &RangeTemplate,
    rows: f64,
    statistics: &dyn Statistics,
) -> f64 {
    let equal = match table.index(index) {
        Some(index) if !range.equal.is_empty() => {
            entries_per_key(table, index, range.equal.len(), rows, statistics)
        }
        _ => rows,
    };
    let behind = match (range.lower.is_some(), range.upper.is_some(), range.with_null) {
        (true, true, _) => share::BOUNDED,
        (false, false, false) => 1.0,
        (false, false, true) => share::NULL,
        _ => share::HALF_BOUNDED,
    };
    equal * behind
}

/// Entries that are equal in the first columns of an index.
pub(crate) fn entries_per_key(
    table: &TableDefinition,
    index: &IndexDefinition,
    parts: usize,
    rows: f64,
    statistics: &dyn Statistics,
) -> f64 {
    if parts >= index.parts.len() && index.kind != IndexKind::Ordered {
        return rows.min(1.0);
    }
    if let Some(entries) = statistics.entries_per_key(table, index.id, parts) {
        return entries.min(rows);
    }
    // Values of each column are thought to be as many: rows^(1/n) in a unique key of n columns, fewer in others.
    let columns = count_of(index.parts.len()) + if index.kind == IndexKind::Ordered { 0.5 } else { 0.0 };
    rows / rows.max(1.0).powf(count_of(parts) / columns)
}

/// How many values a column has in a table of so many rows.
pub(crate) fn value_count(
    table: &TableDefinition,
    column: ColumnIndex,
    rows: f64,
    statistics: &dyn Statistics,
) -> f64 {
    let first = |index: &&IndexDefinition| {
        index.parts.first().is_some_and(|part| part.column == column && part.prefix_length.is_none())
    };
    let by_index = table.public_indexes().filter(first).map(|index| {
        let entries = entries_per_key(table, index, 1, rows, statistics);
        if entries > 0.0 { rows / entries } else { 0.0 }
    });
    by_index.reduce(f64::max).unwrap_or_else(|| rows.max(1.0).powf(0.75)).max(1.0)
}

/// The share of rows that a condition leaves; slots from `first_slot` on are the table's columns.
pub(crate) fn share_of(
    condition: &Expression,
    table: Option<&TableDefinition>,
    rows: f64,
    first_slot: u16,
) -> f64 {
    let inner = |operand: &Expression| share_of(operand, table, rows, first_slot);
    let equal = |operand: &Expression| equal_share(operand, table, rows, first_slot);
    match &condition.node {
        Node::And(conjuncts) => conjuncts.iter().map(inner).product(),
        Node::Or(alternatives) => alternatives.iter().map(inner).sum::<f64>().min(1.0),
        Node::Unary { operator: UnaryOperator::Not, operand } => 1.0 - inner(operand),
        Node::Compare { operator, left, right, .. } => match operator {
            Comparison::Equal | Comparison::NullSafeEqual => equal(left).min(equal(right)),
            Comparison::NotEqual => 1.0 - equal(left).min(equal(right)),
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
                share::HALF_BOUNDED
            }
        },
        Node::Between { negated, .. } => negated_if(*negated, share::BOUNDED),
        Node::In { negated, operand, list, .. } => {
            let count = match list {
                InList::Sorted { values, .. } => values.len(),
                InList::Expressions(items) => items.len(),
            };
            negated_if(*negated, (equal(operand) * count_of(count)).min(share::OTHER))
        }
        Node::Like { negated, .. } => negated_if(*negated, share::LIKE),
        Node::Is { test: Test::Null, .. } => share::NULL,
        Node::Is { test: Test::NotNull, .. } => 1.0 - share::NULL,
        Node::Is { test: Test::True, operand } => inner(operand),
        Node::Is { test: Test::NotTrue, operand } => 1.0 - inner(operand),
        Node::Literal(Value::Null | Value::Int(0) | Value::UInt(0)) => 0.0,
        Node::Literal(_) => 1.0,
        Node::Is { test: Test::False | Test::NotFalse, .. }
        | Node::Column(_)
        | Node::Parameter(_)
        | Node::Unary { .. }
        | Node::Binary { .. }
        | Node::Case { .. }
        | Node::Cast { .. }
        | Node::Collate(_)
        | Node::Interval { .. }
        | Node::Regexp { .. }
        | Node::Function { .. } => share::OTHER,
    }
}

fn negated_if(negated: bool, share: f64) -> f64 {
    if negated { 1.0 - share } else { share }
}

/// The share of rows in which an operand has one certain value.
fn equal_share(operand: &Expression, table: Option<&TableDefinition>, rows: f64, first_slot: u16) -> f64 {
    let column = operand.as_column().and_then(|slot| slot.0.checked_sub(first_slot)).map(ColumnIndex);
    let (Some(column), Some(table)) = (column, table) else { return share::EQUAL };
    if usize::from(column.0) >= table.columns.len() {
        return share::EQUAL;
    }
    let is_indexed =
        table.public_indexes().any(|index| index.parts.first().is_some_and(|part| part.column == column));
    if is_indexed {
        1.0 / value_count(table, column, rows, &crate::statistics::NoStatistics)
    } else {
        share::EQUAL
    }
}

/// The rows of a relation that is no stored table.
pub(crate) fn of_relation(relation: &Relation, statistics: &dyn Statistics) -> f64 {
    match relation {
        Relation::One | Relation::Groups => 1.0,
        Relation::Values(values) => count_of(values.rows.len()),
        Relation::Derived(derived) => of_query(&derived.plan, statistics),
        Relation::Virtual(_) | Relation::Common(_) => MADE_ROWS,
        Relation::Set(set) => set.branches.iter().map(|branch| of_query(&branch.query, statistics)).sum(),
        Relation::With { input, .. } | Relation::Filter { input, .. } => of_relation(input, statistics),
        Relation::Scan(scan) => {
            let rows = statistics.row_count(&scan.access.table).map_or(UNKNOWN_ROWS, rows_of);
            of_access(&scan.access, rows, statistics).given
        }
        Relation::Locked(locked) => of_query(&locked.query, statistics),
        Relation::Join(join) => of_relation(&join.left, statistics),
    }
}

/// The rows of a query in FROM.
pub(crate) fn of_query(plan: &SelectPlan, statistics: &dyn Statistics) -> f64 {
    let rows = match &plan.source {
        Source::Nothing => 1.0,
        Source::Table(access) => {
            let rows = statistics.row_count(&access.table).map_or(UNKNOWN_ROWS, rows_of);
            of_access(access, rows, statistics).given
        }
        Source::Joined { relation, .. } => of_relation(relation, statistics),
    };
    let rows = match &plan.grouping {
        Some(grouping) if grouping.group_by.is_empty() => 1.0,
        Some(_) => rows.max(1.0).powf(0.75),
        None => rows,
    };
    let count = plan.limit.count.as_ref().and_then(Expression::as_literal);
    match count {
        Some(Value::Int(count)) => rows.min(rows_of(u64::try_from(*count).unwrap_or(0))),
        Some(Value::UInt(count)) => rows.min(rows_of(*count)),
        _ => rows,
    }
}

/// The tables of a relation, of which the counts were asked for.
pub(crate) fn tables_of(relation: &Relation) -> Vec<Arc<TableDefinition>> {
    let mut tables = Vec::new();
    relation.visit_tables(&mut |table| tables.push(Arc::clone(table)));
    tables
}
