//! The cost of a query whose plan is made: what its scans read, and what its joins look up, keep and compare.

use super::price;
use crate::estimate::{self, UNKNOWN_ROWS};
use crate::plan::{AccessPath, Join, Relation, SelectPlan, Source, TableAccess};
use crate::statistics::Statistics;
use types::IndexId;

/// Nanoseconds of a query, and the rows that it gives.
pub(crate) fn of_query(plan: &SelectPlan, statistics: &dyn Statistics) -> (f64, f64) {
    let (cost, read) = match &plan.source {
        Source::Nothing => (price::BEGIN, 1.0),
        Source::Table(access) => of_access(access, statistics),
        Source::Joined { relation, .. } => of_rows(relation, statistics),
    };
    let work = if plan.grouping.is_some() || plan.steps.sort.is_some() { read * price::GROUP } else { 0.0 };
    (price::QUERY + cost + work, estimate::of_query(plan, statistics))
}

/// Nanoseconds of the rows of a relation.
pub(crate) fn of_relation(relation: &Relation, statistics: &dyn Statistics) -> f64 {
    of_rows(relation, statistics).0
}

fn of_rows(relation: &Relation, statistics: &dyn Statistics) -> (f64, f64) {
    match relation {
        Relation::Scan(scan) => of_access(&scan.access, statistics),
        Relation::Derived(derived) => of_query(&derived.plan, statistics),
        Relation::Locked(locked) => of_query(&locked.query, statistics),
        Relation::Set(set) => {
            let branches = set.branches.iter().map(|branch| of_query(&branch.query, statistics));
            branches.fold((0.0, 0.0), |(cost, rows), (own, more)| (cost + own, rows + more))
        }
        Relation::With { tables, input } => {
            let (cost, rows) = of_rows(input, statistics);
            let made: f64 = tables.iter().map(|table| of_query(&table.query, statistics).0).sum();
            (cost + made, rows)
        }
        Relation::Filter { input, .. } => {
            (of_rows(input, statistics).0, estimate::of_relation(relation, statistics))
        }
        Relation::Join(join) => of_join(join, statistics),
        Relation::One
        | Relation::Values(_)
        | Relation::Groups
        | Relation::Common(_)
        | Relation::Virtual(_) => {
            let rows = estimate::of_relation(relation, statistics);
            (price::BEGIN + rows * price::READ, rows)
        }
    }
}

fn of_access(access: &TableAccess, statistics: &dyn Statistics) -> (f64, f64) {
    let rows = statistics.row_count(&access.table).map_or(UNKNOWN_ROWS, estimate::rows_of);
    let estimate = estimate::of_access(access, rows, statistics);
    let price = match &access.path {
        AccessPath::PrimaryKeys(_) | AccessPath::UniqueKeys { .. } => price::KEY,
        AccessPath::Ranges { index, .. } if *index != IndexId(0) => price::FETCH,
        AccessPath::Ranges { .. } | AccessPath::Empty => price::READ,
    };
    (price::BEGIN + estimate.read * price, estimate.given)
}

fn of_join(join: &Join, statistics: &dyn Statistics) -> (f64, f64) {
    let (left_cost, left_rows) = of_rows(&join.left, statistics);
    let (right_cost, right_rows) = of_rows(&join.right, statistics);
    let gathered = right_cost + right_rows * price::KEEP + left_rows * price::PROBE;
    if let Some(lookup) = &join.lookup {
        let (cost, rows) = of_access(&lookup.access, statistics);
        let looked_up = left_rows * (cost - price::BEGIN + price::SEEK);
        let cost = if lookup.left_rows_max.is_some() { looked_up.min(gathered) } else { looked_up };
        return (left_cost + cost, (left_rows * rows).max(1.0));
    }
    if !join.outer.is_empty() {
        return (left_cost + left_rows * right_cost, left_rows);
    }
    let pairs = if join.keys.is_empty() { left_rows * right_rows * price::PAIR } else { 0.0 };
    (left_cost + gathered + pairs, left_rows.max(1.0))
}
