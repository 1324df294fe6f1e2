//! Whether a scan gives the wanted order.
//!
//! Index entries are ordered by the index's columns, entries of an index that is not unique then by the primary key.
//! Ranges are visited in order, so several ranges keep that order too. A column that is the same in all rows found does
//! not matter.

use super::candidates::Candidate;
use crate::plan::{AccessPath, ScanDirection, SortKey};
use types::{ColumnIndex, IndexDefinition, IndexKind, KeyPart, TableDefinition};

/// The direction in which the candidate's scan gives `order_by`.
pub(crate) fn direction(
    table: &TableDefinition,
    index: &IndexDefinition,
    candidate: &Candidate,
    order_by: &[SortKey],
) -> Option<ScanDirection> {
    if order_by.is_empty() || !matches!(candidate.path, AccessPath::Ranges { .. }) {
        return None;
    }
    let is_fixed = |column: ColumnIndex| candidate.single_points.contains(&column);
    let mut entries = entry_order(table, index).into_iter().filter(|part| !is_fixed(part.column)).peekable();
    let mut direction = None;
    for key in order_by {
        let column = ColumnIndex(key.expression.as_column()?.0);
        if is_fixed(column) {
            continue;
        }
        // Once an entry is unique nothing behind it matters.
        let Some(part) = entries.next() else { break };
        if part.column != column || part.prefix_length.is_some() {
            return None;
        }
        let wanted =
            if part.descending == key.descending { ScanDirection::Forward } else { ScanDirection::Backward };
        if *direction.get_or_insert(wanted) != wanted {
            return None;
        }
    }
    // All columns are fixed: any order will do.
    Some(direction.unwrap_or(ScanDirection::Forward))
}

/// The columns that entries are ordered by, until they are unique.
fn entry_order(table: &TableDefinition, index: &IndexDefinition) -> Vec<KeyPart> {
    let mut parts = index.parts.clone();
    let is_unique = match index.kind {
        IndexKind::Primary => true,
        IndexKind::Unique { .. } => parts
            .iter()
            .all(|part| part.prefix_length.is_none() && !table.column_at(part.column).flags.nullable),
        IndexKind::Ordered => false,
    };
    if !is_unique {
        // A column again changes nothing: only its first place orders.
        for part in table.primary_key() {
            if !parts.iter().any(|known| known.column == part.column && known.prefix_length.is_none()) {
                parts.push(*part);
            }
        }
    }
    parts
}
