//! Tells which plans are lists of keys: rows by full primary keys, plain columns, no lock and no condition besides.
//! `SELECT … FROM t WHERE id IN (…)`.
//!
//! It is found once per plan; `session::key_list` runs it. Rows come in the order of the primary key, so
//! ORDER BY that order costs nothing. One key alone is a point select.

use planner::plan::{AccessPath, KeyTemplate, Plan, Prepared, ScanDirection, SelectPlan, Source};
use types::{ColumnIndex, TableDefinition, TableId};

/// All that it takes to run one, but for the keys, which are the plan's.
#[derive(Clone, Debug)]
pub(crate) struct KeyList {
    pub(crate) table: TableId,
    pub(crate) version: u32,
    pub(crate) columns: Vec<ColumnIndex>,
    pub(crate) direction: ScanDirection,
}

impl KeyList {
    /// The list of keys that a plan is, if it is one.
    pub(crate) fn of(prepared: &Prepared) -> Option<Box<Self>> {
        let Plan::Select(plan) = &prepared.plan else { return None };
        let Source::Table(access) = &plan.source else { return None };
        let [_, _, ..] = keys_of(prepared)? else { return None };
        let is_plain = access.filter.is_none()
            && plan.gives_rows_as_found()
            && !plan.distinct
            && !plan.counts_found
            && !prepared.is_volatile
            && prepared.session_values.is_empty()
            && prepared.sends_rows_of_select();
        if !is_plain {
            return None;
        }
        let columns = plan.projection.iter().map(|item| item.as_column().map(|slot| ColumnIndex(slot.0)));
        Some(Box::new(Self {
            table: access.table.id,
            version: access.table.version,
            columns: columns.collect::<Option<Vec<_>>>()?,
            direction: direction_of(plan, &access.table)?,
        }))
    }
}

/// The direction in which the primary key gives the wanted order, if it does. Nothing behind its last column matters.
fn direction_of(plan: &SelectPlan, table: &TableDefinition) -> Option<ScanDirection> {
    let mut direction = None;
    for (key, part) in plan.order_by.iter().zip(table.primary_key()) {
        let column = ColumnIndex(key.expression.as_column()?.0);
        if column != part.column || part.prefix_length.is_some() {
            return None;
        }
        let is_forward = key.descending == part.descending;
        let wanted = if is_forward { ScanDirection::Forward } else { ScanDirection::Backward };
        if *direction.get_or_insert(wanted) != wanted {
            return None;
        }
    }
    Some(direction.unwrap_or(ScanDirection::Forward))
}

/// The primary keys by which a plan finds the rows of its one table.
pub(crate) fn keys_of(prepared: &Prepared) -> Option<&[KeyTemplate]> {
    let Plan::Select(plan) = &prepared.plan else { return None };
    let Source::Table(access) = &plan.source else { return None };
    let AccessPath::PrimaryKeys(keys) = &access.path else { return None };
    Some(keys)
}
