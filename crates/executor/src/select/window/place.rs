//! Where the current row is: in which partition, and among which peers.
//!
//! Rows are in order, so the ends of both are found by looking from the row on; one row is compared with the next.

use crate::sort::Sorted;
use expression::compare_values;
use expression::context::TextWork;
use planner::plan::{SortColumn, WindowStep};
use protocol::Budget;
use std::ops::Range;
use types::ValueRef;

/// The place of the current row.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// Its number among all rows.
    pub(super) row: usize,
    /// The rows of its partition.
    pub(super) partition: Range<usize>,
    /// The rows that are equal to it in ORDER BY.
    pub(super) peers: Range<usize>,
    /// Number of its peers among the partition's; they count from 1.
    pub(super) dense_rank: u64,
    /// Ends that are being looked for.
    sought: Option<Sought>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sought {
    Partition,
    Peers,
}

impl Place {
    /// Finds out about a new row; false if the budget ended first.
    pub(super) fn settle(
        &mut self,
        plan: &WindowStep,
        rows: &Sorted,
        text_work: &TextWork,
        budget: &mut Budget,
    ) -> bool {
        let (partition_by, order_by) = plan.columns.split_at(plan.partition_count);
        let seek = |end: &mut usize, end_max: usize, columns: &[SortColumn], budget: &mut Budget| {
            if columns.is_empty() {
                *end = end_max;
            }
            while *end < end_max && are_equal(rows, *end - 1, *end, columns, text_work) {
                *end += 1;
                if !budget.spend(1) {
                    return false;
                }
            }
            true
        };
        if self.sought.is_none() {
            self.sought = if self.row == self.partition.end {
                self.partition = self.row..self.row + 1;
                self.dense_rank = 0;
                Some(Sought::Partition)
            } else if self.row == self.peers.end {
                self.begin_peers();
                Some(Sought::Peers)
            } else {
                None
            };
        }
        if self.sought == Some(Sought::Partition) {
            if !seek(&mut self.partition.end, rows.len(), partition_by, budget) {
                return false;
            }
            self.begin_peers();
            self.sought = Some(Sought::Peers);
        }
        if self.sought == Some(Sought::Peers) {
            if !seek(&mut self.peers.end, self.partition.end, order_by, budget) {
                return false;
            }
            self.sought = None;
        }
        true
    }

    fn begin_peers(&mut self) {
        self.peers = self.row..self.row + 1;
        self.dense_rank += 1;
    }
}

fn are_equal(rows: &Sorted, left: usize, right: usize, columns: &[SortColumn], text_work: &TextWork) -> bool {
    let (left, right) = (rows.row(left), rows.row(right));
    columns.iter().all(|column| {
        let (left, right) = (left.value(column.position), right.value(column.position));
        if let (ValueRef::Bytes(left), ValueRef::Bytes(right)) = (left, right) {
            text_work.add(left.len().min(right.len()));
        }
        compare_values(&left, &right, &column.sql_type).is_eq()
    })
}
