//! The order of a sort: its columns, and how two rows compare by them.

use expression::context::TextWork;
use expression::{compare_values, order_prefix};
use planner::plan::SortColumn;
use std::cmp::Ordering;
use types::ValueRef;

/// Sort columns, and the work of comparing texts that is not paid for.
#[derive(Debug, Default)]
pub(crate) struct SortOrder {
    pub(crate) columns: Vec<SortColumn>,
    pub(crate) text_work: TextWork,
}

impl SortOrder {
    pub(crate) fn new(columns: Vec<SortColumn>) -> Self {
        Self { columns, text_work: TextWork::default() }
    }

    /// A number that orders as the first sort column of a row does, as far as it goes. It is turned round if the column
    /// descends.
    #[inline]
    pub(crate) fn prefix<'v>(&self, value: impl FnOnce(usize) -> Option<ValueRef<'v>>) -> Option<u64> {
        let column = self.columns.first()?;
        let prefix = order_prefix(&value(column.position)?, &column.sql_type)?;
        Some(if column.descending { !prefix } else { prefix })
    }

    /// Compares two rows, whose values are found by position.
    #[inline]
    pub(crate) fn compare<'v>(
        &self,
        left: impl Fn(usize) -> ValueRef<'v>,
        right: impl Fn(usize) -> ValueRef<'v>,
    ) -> Ordering {
        for column in &self.columns {
            let (left, right) = (left(column.position), right(column.position));
            if let (ValueRef::Bytes(left), ValueRef::Bytes(right)) = (left, right) {
                self.text_work.add(left.len().min(right.len()));
            }
            let order = compare_values(&left, &right, &column.sql_type);
            if order.is_ne() {
                return if column.descending { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    }
}
