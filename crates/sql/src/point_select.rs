//! Which plans are point selects: one row by its full primary key, plain columns, no lock.
//!
//! It is found once per plan; `session::point` runs it.

use planner::plan::{AccessPath, KeyTemplate, Plan, Prepared, Source};
use types::{ColumnIndex, TableId};

/// All that it takes to run one.
#[derive(Clone, Debug)]
pub(crate) struct PointSelect {
    pub(crate) table: TableId,
    pub(crate) version: u32,
    pub(crate) key: KeyTemplate,
    pub(crate) columns: Vec<ColumnIndex>,
}

impl PointSelect {
    /// The point select that a plan is, if it is one.
    pub(crate) fn of(prepared: &Prepared) -> Option<Self> {
        let Plan::Select(plan) = &prepared.plan else { return None };
        let Source::Table(access) = &plan.source else { return None };
        let AccessPath::PrimaryKeys(keys) = &access.path else { return None };
        let [key] = &keys[..] else { return None };
        let is_plain = access.filter.is_none()
            && plan.gives_rows_as_found()
            && prepared.session_values.is_empty()
            && prepared.sends_rows_of_select();
        if !is_plain {
            return None;
        }
        let columns = plan.projection.iter().map(|item| item.as_column().map(|slot| ColumnIndex(slot.0)));
        Some(Self {
            table: access.table.id,
            version: access.table.version,
            key: key.clone(),
            columns: columns.collect::<Option<Vec<_>>>()?,
        })
    }
}
