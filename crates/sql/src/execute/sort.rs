//! ORDER BY: rows in memory, compared by the collations of their sort columns; with a LIMIT only the first rows are kept.
//!
//! The sort columns are the last values of each row; they go on with it and are not shown.
//!
//! Invariant: rows that compare equal keep the order in which they came.

use super::{Cx, Failure, Row, row_size};
use expression::compare_values;
use std::cmp::Ordering;
use types::SqlType;

/// One sort column.
#[derive(Clone, Debug)]
pub(crate) struct SortColumn {
    /// Position in the row.
    pub(crate) position: usize,
    pub(crate) sql_type: SqlType,
    pub(crate) descending: bool,
}

/// Compares two rows.
pub(crate) fn compare_rows(
    left: &[types::Value],
    right: &[types::Value],
    columns: &[SortColumn],
) -> Ordering {
    for column in columns {
        let (Some(left), Some(right)) = (left.get(column.position), right.get(column.position)) else {
            continue;
        };
        let order = compare_values(&left.as_ref(), &right.as_ref(), &column.sql_type);
        if order.is_ne() {
            return if column.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// Rows being sorted.
#[derive(Debug)]
pub(crate) struct Sorter {
    columns: Vec<SortColumn>,
    /// Rows of use: LIMIT and OFFSET together.
    limit: Option<usize>,
    rows: Vec<Row>,
    charged: usize,
}

impl Sorter {
    pub(crate) fn new(columns: Vec<SortColumn>, limit: Option<u64>) -> Self {
        let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Self { columns, limit, rows: Vec::new(), charged: 0 }
    }

    /// Takes rows.
    pub(crate) fn add(&mut self, rows: Vec<Row>, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        let size: usize = rows.iter().map(|row| row_size(row)).sum();
        self.charged += size;
        if let Some(limit) = self.limit {
            self.rows.extend(rows);
            // Twice the limit, so that each row is sorted a bounded number of times.
            if self.rows.len() >= limit.saturating_mul(2).max(1024) {
                self.cut(limit);
            }
            return Ok(());
        }
        cx.core.memory.charge(size)?;
        self.rows.extend(rows);
        Ok(())
    }

    fn cut(&mut self, limit: usize) {
        let columns = &self.columns;
        self.rows.sort_by(|left, right| compare_rows(left, right, columns));
        self.rows.truncate(limit);
    }

    /// The rows in order.
    pub(crate) fn finish(mut self) -> Vec<Row> {
        let limit = self.limit.unwrap_or(usize::MAX);
        self.cut(limit);
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::{SortColumn, Sorter, compare_rows};
    use types::{Collation, IntegerWidth, SqlType, Value};

    fn integer(position: usize, descending: bool) -> SortColumn {
        let sql_type = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
        SortColumn { position, sql_type, descending }
    }

    #[test]
    fn nulls_first_then_by_each_column() {
        let text = SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi };
        let columns = vec![SortColumn { position: 0, sql_type: text, descending: false }, integer(1, true)];
        let mut sorter = Sorter::new(columns, None);
        sorter.rows = vec![
            vec![Value::text("b"), Value::Int(1)],
            vec![Value::text("A"), Value::Int(1)],
            vec![Value::text("a"), Value::Int(2)],
            vec![Value::Null, Value::Int(0)],
        ];
        let numbers: Vec<Value> = sorter.finish().into_iter().map(|mut row| row.swap_remove(1)).collect();
        assert_eq!(numbers, vec![Value::Int(0), Value::Int(2), Value::Int(1), Value::Int(1)]);
    }

    #[test]
    fn only_the_first_rows_are_kept() {
        let mut sorter = Sorter::new(vec![integer(0, false)], Some(3));
        sorter.rows = (0..100).rev().map(|number| vec![Value::Int(number)]).collect();
        let rows = sorter.finish();
        assert_eq!(rows, vec![vec![Value::Int(0)], vec![Value::Int(1)], vec![Value::Int(2)]]);
        assert!(compare_rows(&rows[0], &rows[1], &[integer(0, false)]).is_lt());
    }
}
