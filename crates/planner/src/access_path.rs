//! How the rows of one table are found.
//!
//! `conditions` takes from WHERE what an index can use: conjuncts about one column and constants, as intervals of that
//! column's values. Each index then gives a candidate: equal in as many leading columns as there are conditions, then a
//! range in the next. The candidate with the lowest cost is the path, the conjuncts it implies leave the filter.
//!
//! Cost is by rank: a whole primary key, a whole unique key, then shares of the table that conditions usually leave. If
//! several ranges stand against each other, the entries of each are asked for where that is known. A path that gives
//! the wanted order counts as cheaper. An index that conditions use is held against a scan of the table when the
//! statement runs (`or_scan` in the executor's `select.rs`): the plan serves other parameters, too. An index that only
//! gives the order is used under LIMIT when no condition can use any index.
//!
//! *Invariants.* A path never misses a row for which WHERE is true, whatever the constants turn out to be. Only
//! comparisons in the column's own kind and collation are used, see `conditions`. A conjunct leaves the filter only if
//! the path implies it exactly.

mod candidates;
mod conditions;
mod order;

use crate::estimate;
use crate::plan::{AccessPath, RangeTemplate, ScanDirection, SortKey, TableAccess};
use crate::statistics::Counts;
use candidates::Candidate;
use conditions::{Condition, Form, Interval};
use expression::{Context, Expression, Node, fold_constants};
use std::sync::Arc;
use types::{ColumnIndex, IndexDefinition, IndexId, IndexKind, TableDefinition, Value};

/// Keys that are made to compare indexes: each index of a table has as many as conditions have values.
const KEYS_MAX: usize = 16_384;

/// Conditions with so few values are worth keys of every index.
const VALUES_MIN: usize = 256;

/// The purpose for which the rows are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// They are read as they are.
    Read,
    /// They are locked or changed: what found them is asked again under the lock.
    Lock,
}

/// The wishes of a statement besides the rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// ORDER BY in the source space; empty if the order of rows does not matter.
    pub(crate) order_by: &'a [SortKey],
    /// There is a LIMIT.
    pub(crate) is_limited: bool,
    pub(crate) purpose: Purpose,
}

/// The best access, and the direction in which it gives the wanted order, if it does.
pub(crate) fn access(
    table: Arc<TableDefinition>,
    alias: String,
    selection: Option<Expression>,
    wanted: &Wanted<'_>,
    counts: &mut Counts<'_>,
) -> (TableAccess, Option<ScanDirection>) {
    let mut conjuncts: Vec<Expression> = selection.map(Expression::into_conjuncts).unwrap_or_default();
    conjuncts.retain(|conjunct| !is_literally(conjunct, true));
    if conjuncts.iter().any(|conjunct| is_literally(conjunct, false) || conditions::is_never_true(conjunct)) {
        return (
            TableAccess { table, alias, path: AccessPath::Empty, filter: None, implied: Vec::new() },
            None,
        );
    }
    let conditions: Vec<Condition> = conjuncts
        .iter()
        .enumerate()
        .filter_map(|(position, conjunct)| conditions::condition(position, conjunct, &table))
        .collect();
    let chosen = choose(&table, &conditions, wanted, counts);
    let direction = chosen.direction;
    let keeps_all = match &chosen.path {
        AccessPath::UniqueKeys { .. } => true,
        AccessPath::Ranges { index, .. } => wanted.purpose == Purpose::Lock && *index != IndexId(0),
        AccessPath::PrimaryKeys(_) | AccessPath::Empty => false,
    };
    let (mut implied, mut filter) = (Vec::new(), Vec::new());
    for (position, conjunct) in conjuncts.into_iter().enumerate() {
        let is_implied = !keeps_all && chosen.implied.contains(&position);
        if is_implied { &mut implied } else { &mut filter }.push(conjunct);
    }
    if !matches!(&chosen.path, AccessPath::Ranges { index, .. } if *index != IndexId(0)) {
        implied.clear();
    }
    let filter = if filter.is_empty() { None } else { Some(Expression::and(filter)) };
    (TableAccess { table, alias, path: chosen.path, filter, implied }, direction)
}

/// The column that a condition over a table's columns compares with constants for equality, and with how many of them.
pub(crate) fn points(condition: &Expression, table: &TableDefinition) -> Option<(ColumnIndex, usize)> {
    let condition = conditions::condition(0, condition, table)?;
    let Form::Intervals { column, intervals } = condition.form else { return None };
    let is_point = |interval: &Interval| matches!(interval, Interval::Point(_));
    intervals.iter().all(is_point).then_some((column, intervals.len()))
}

/// A literal that is true, or one that is false or NULL.
fn is_literally(expression: &Expression, truth: bool) -> bool {
    if !is_of_literals(expression) {
        return false;
    }
    let folded = fold_constants(expression, &Context::default());
    match folded.as_literal() {
        Some(Value::Null) => !truth,
        Some(Value::Int(number)) => (*number != 0) == truth,
        Some(Value::UInt(number)) => (*number != 0) == truth,
        _ => false,
    }
}

/// Made of literals and operators alone: its value is the same in every session.
fn is_of_literals(expression: &Expression) -> bool {
    let is_fixed = !matches!(
        expression.node,
        Node::Column(_)
            | Node::Parameter(_)
            | Node::Function { .. }
            | Node::Regexp { .. }
            | Node::Cast { .. }
    );
    is_fixed && expression.operands().into_iter().all(is_of_literals)
}

fn choose(
    table: &Arc<TableDefinition>,
    conditions: &[Condition],
    wanted: &Wanted<'_>,
    counts: &mut Counts<'_>,
) -> Candidate {
    let mut candidates = Vec::new();
    for index in indexes_worth_keys(table, conditions) {
        for mut candidate in candidates::of_index(table, index, conditions) {
            candidate.direction = order::direction(table, index, &candidate, wanted.order_by);
            candidates.push(candidate);
        }
    }
    if candidates.len() > 1 && candidates.iter().all(Candidate::is_of_ranges) {
        measure(table, &mut candidates, counts);
    }
    for candidate in candidates.iter_mut().filter(|candidate| candidate.direction.is_some()) {
        // No sort, and LIMIT ends the scan early.
        candidate.cost *= if wanted.is_limited { 0.3 } else { 0.7 };
    }
    let cheapest = candidates.into_iter().min_by(|one, other| one.cost.total_cmp(&other.cost));
    cheapest.unwrap_or_else(|| scan(table, wanted))
}

/// The indexes whose use is looked at: all of them, but if their conditions have very many values only those that look
/// cheapest, and at least one.
fn indexes_worth_keys<'t>(table: &'t TableDefinition, conditions: &[Condition]) -> Vec<&'t IndexDefinition> {
    let indexes: Vec<&IndexDefinition> = table.public_indexes().collect();
    if conditions.iter().map(Condition::value_count).sum::<usize>() <= VALUES_MIN {
        return indexes;
    }
    let outlines: Vec<(f64, usize)> =
        indexes.iter().map(|index| candidates::outline(index, conditions)).collect();
    if outlines.iter().map(|(_, keys)| keys).sum::<usize>() <= KEYS_MAX {
        return indexes;
    }
    let mut order: Vec<usize> = (0..indexes.len()).collect();
    order.sort_by(|one, other| outlines[*one].0.total_cmp(&outlines[*other].0));
    let mut keys = 0;
    let is_within = |position: &usize| {
        let is_first = keys == 0;
        keys += outlines[*position].1;
        is_first || keys <= KEYS_MAX
    };
    let mut worth: Vec<usize> = order.into_iter().take_while(is_within).collect();
    worth.sort_unstable();
    worth.into_iter().map(|position| indexes[position]).collect()
}

/// Replaces the usual shares by those of the rows that are there.
fn measure(table: &Arc<TableDefinition>, candidates: &mut [Candidate], counts: &mut Counts<'_>) {
    let Some(rows) = counts.rows(table).filter(|rows| *rows >= 1.0) else { return };
    for candidate in candidates {
        let read = estimate::rows_read(&candidate.path, table, rows, counts.statistics);
        candidate.set_share(read / rows);
    }
}

/// A scan of everything, by the index that gives the order if a LIMIT makes that worth it, else by the primary key.
fn scan(table: &TableDefinition, wanted: &Wanted<'_>) -> Candidate {
    let whole = |index: IndexId| Candidate {
        path: AccessPath::Ranges { index, ranges: vec![RangeTemplate::default()] },
        implied: Vec::new(),
        single_points: Vec::new(),
        cost: 1.0,
        direction: None,
    };
    for index in table.public_indexes() {
        let mut candidate = whole(index.id);
        candidate.direction = order::direction(table, index, &candidate, wanted.order_by);
        if candidate.direction.is_some() && (wanted.is_limited || index.kind == IndexKind::Primary) {
            return candidate;
        }
    }
    whole(IndexId(0))
}
