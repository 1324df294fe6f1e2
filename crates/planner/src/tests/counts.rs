//! Row counts as a golden file says them.

use crate::Statistics;
use crate::plan::RangeTemplate;
use expression::Expression;
use std::cell::RefCell;
use std::collections::BTreeMap;
use types::{IndexId, TableDefinition};

thread_local! {
    /// Of the golden file that this thread checks.
    static CURRENT: RefCell<Counts> = RefCell::default();
}

/// Rows by names of tables; entries for each value of an index's first column by names of table and index. Entries of
/// ranges of an index have `.in` behind that. Rows that a table's conditions leave have its name and `.left`.
#[derive(Clone, Default)]
pub(super) struct Counts(pub(super) BTreeMap<String, u64>);

/// Those of the statements that come: `t=10 p=1000 t.k_a=3`.
pub(super) fn set(text: &str) {
    let pair = |pair: &str| {
        let (name, count) = pair.split_once('=').expect("a table and a count");
        (name.to_owned(), count.parse().expect("a count"))
    };
    CURRENT.with_borrow_mut(|counts| counts.0 = text.split_whitespace().map(pair).collect());
}

pub(super) fn current() -> Counts {
    CURRENT.with_borrow(Counts::clone)
}

impl Statistics for Counts {
    fn row_count(&self, table: &TableDefinition) -> Option<u64> {
        self.0.get(&table.name).copied()
    }

    fn entries_per_key(&self, table: &TableDefinition, index: IndexId, parts: usize) -> Option<f64> {
        let name = &table.index(index).filter(|_| parts == 1)?.name;
        self.0.get(&format!("{}.{name}", table.name)).map(|count| crate::estimate::rows_of(*count))
    }

    fn entries_in(&self, table: &TableDefinition, index: IndexId, _: &[RangeTemplate]) -> Option<f64> {
        let name = &table.index(index)?.name;
        self.0.get(&format!("{}.{name}.in", table.name)).map(|count| crate::estimate::rows_of(*count))
    }

    fn share_of(&self, table: &TableDefinition, _: &[Expression]) -> Option<f64> {
        let left = self.0.get(&format!("{}.left", table.name))?;
        Some(crate::estimate::rows_of(*left) / crate::estimate::rows_of(self.row_count(table)?.max(1)))
    }

    fn has_value(&self, _: u16) -> bool {
        false
    }
}
