//! The knowledge of tables' rows that a plan is made with, and when it is out of date.
//!
//! Counts come in as an argument ([`Statistics`]), with the values of the parameters that the statement has when it is
//! planned. Others may follow with the same plan: it has to be right for them too, and good for the first.
//!
//! A plan that was chosen by them lists its tables' **bands**: powers
//! of ten of rows. It is made anew when a table has left its band by a factor of two ([`Band::holds`]). So no plan
//! outlives the empty table that it was made for, and one at the edge of a band is not made again and again.

use crate::plan::RangeTemplate;
use expression::Expression;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{IndexId, TableDefinition, TableId};

/// Counts of rows, as far as they are known here.
pub trait Statistics {
    /// About how many rows a table has; None: not known.
    fn row_count(&self, table: &TableDefinition) -> Option<u64>;

    /// About how many entries of an index are equal in its first `parts` columns; None: not known.
    fn entries_per_key(&self, table: &TableDefinition, index: IndexId, parts: usize) -> Option<f64>;

    /// About how many entries of an index lie in these ranges; None: not known.
    fn entries_in(&self, table: &TableDefinition, index: IndexId, ranges: &[RangeTemplate]) -> Option<f64>;

    /// About which share of the rows all of these conditions leave; slots are the table's columns. None: not known.
    fn share_of(&self, table: &TableDefinition, conditions: &[Expression]) -> Option<f64>;

    /// Whether the statement is planned with a value for this parameter.
    fn has_value(&self, parameter: u16) -> bool;
}

/// Nothing is known.
#[derive(Clone, Copy, Debug)]
pub struct NoStatistics;

impl Statistics for NoStatistics {
    fn row_count(&self, _: &TableDefinition) -> Option<u64> {
        None
    }

    fn entries_per_key(&self, _: &TableDefinition, _: IndexId, _: usize) -> Option<f64> {
        None
    }

    fn entries_in(&self, _: &TableDefinition, _: IndexId, _: &[RangeTemplate]) -> Option<f64> {
        None
    }

    fn share_of(&self, _: &TableDefinition, _: &[Expression]) -> Option<f64> {
        None
    }

    fn has_value(&self, _: u16) -> bool {
        false
    }
}

/// The answers of others, each asked for once while a statement is bound.
pub(crate) struct Remembered<'a> {
    statistics: &'a dyn Statistics,
    entries: RefCell<BTreeMap<(TableId, IndexId, usize), Option<f64>>>,
    shares: RefCell<Vec<Share>>,
}

/// The share of a table's rows that conditions leave.
struct Share {
    table: TableId,
    conditions: Vec<Expression>,
    share: Option<f64>,
}

impl<'a> Remembered<'a> {
    pub(crate) fn new(statistics: &'a dyn Statistics) -> Self {
        Self { statistics, entries: RefCell::default(), shares: RefCell::default() }
    }
}

impl Statistics for Remembered<'_> {
    fn row_count(&self, table: &TableDefinition) -> Option<u64> {
        self.statistics.row_count(table)
    }

    fn entries_per_key(&self, table: &TableDefinition, index: IndexId, parts: usize) -> Option<f64> {
        let mut entries = self.entries.borrow_mut();
        let ask = || self.statistics.entries_per_key(table, index, parts);
        *entries.entry((table.id, index, parts)).or_insert_with(ask)
    }

    fn entries_in(&self, table: &TableDefinition, index: IndexId, ranges: &[RangeTemplate]) -> Option<f64> {
        self.statistics.entries_in(table, index, ranges)
    }

    fn share_of(&self, table: &TableDefinition, conditions: &[Expression]) -> Option<f64> {
        let mut shares = self.shares.borrow_mut();
        let is_same = |known: &&Share| known.table == table.id && known.conditions == conditions;
        if let Some(known) = shares.iter().find(is_same) {
            return known.share;
        }
        let share = self.statistics.share_of(table, conditions);
        shares.push(Share { table: table.id, conditions: conditions.to_vec(), share });
        share
    }

    fn has_value(&self, parameter: u16) -> bool {
        self.statistics.has_value(parameter)
    }
}

/// The counts that a plan is chosen by; it keeps the bands of what was asked for.
pub(crate) struct Counts<'a> {
    pub(crate) statistics: &'a dyn Statistics,
    bands: &'a mut Vec<Band>,
}

impl<'a> Counts<'a> {
    pub(crate) fn new(statistics: &'a dyn Statistics, bands: &'a mut Vec<Band>) -> Self {
        Self { statistics, bands }
    }

    /// About how many rows a table has, if that is known.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn rows(&mut self, table: &Arc<TableDefinition>) -> Option<f64> {
        let count = self.statistics.row_count(table)?;
        if !self.bands.iter().any(|band| band.table.id == table.id) {
            self.bands.push(Band::of(table, count));
        }
        Some(count as f64)
    }
}

/// The power of ten that a table's rows had when a plan was made.
#[derive(Clone, Debug)]
pub struct Band {
    /// The table.
    pub table: Arc<TableDefinition>,
    /// From so many rows on.
    low: u64,
}

impl Band {
    /// That of a count.
    #[must_use]
    pub fn of(table: &Arc<TableDefinition>, row_count: u64) -> Self {
        let low = if row_count == 0 { 0 } else { 10_u64.saturating_pow(row_count.ilog10()) };
        Self { table: Arc::clone(table), low }
    }

    /// Whether a table of so many rows is still planned for as it was: half the lower bound to twice the upper one.
    #[must_use]
    pub fn holds(&self, row_count: u64) -> bool {
        let high = self.low.max(1).saturating_mul(20);
        self.low / 2 <= row_count && row_count < high
    }
}

#[cfg(test)]
mod tests {
    use super::Band;
    use std::sync::Arc;
    use types::TableId;

    #[test]
    fn a_band_is_left_at_twice_its_bounds() {
        let table = Arc::new(fixtures::table(TableId(1), Vec::new()));
        for (made_for, stays, leaves) in [
            (0, vec![0, 1, 19], vec![20, 1_000]),
            (1, vec![0, 9, 19], vec![20]),
            (9, vec![0, 1, 19], vec![20]),
            (10, vec![5, 99, 199], vec![4, 0, 200]),
            (999, vec![50, 1_999], vec![49, 2_000]),
            (u64::MAX, vec![u64::MAX - 1], vec![1_000]),
        ] {
            let band = Band::of(&table, made_for);
            assert!(stays.iter().all(|count| band.holds(*count)), "{made_for}");
            assert!(!leaves.iter().any(|count| band.holds(*count)), "{made_for}");
        }
    }
}
