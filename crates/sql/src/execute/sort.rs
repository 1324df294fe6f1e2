//! ORDER BY: rows in memory, compared by the collations of their sort columns; with a LIMIT only the first rows are kept.
//!
//! What is sorted are small entries that point to the rows: the place of the row, and a number that orders as the first sort column does as far as it
//! goes. Only rows with equal numbers are looked at. Sort columns may stand behind the values that are shown.
//!
//! Invariants: rows that compare equal keep the order in which they came; what the buffer holds is charged, but for [`UNCHARGED_MAX`].

use super::row_buffer::{RowAt, RowBuffer};
use super::{Cx, Failure, UNCHARGED_MAX};
use expression::{compare_values, order_prefix};
use query::RowSink;
use std::cmp::Ordering;
use types::{SqlType, ValueRef};

/// One sort column.
#[derive(Clone, Debug)]
pub(crate) struct SortColumn {
    /// Position in the row.
    pub(crate) position: usize,
    pub(crate) sql_type: SqlType,
    pub(crate) descending: bool,
}

/// What happens to rows that are equal in all sort columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Equals {
    /// All are kept.
    Kept,
    /// Only the first is: they are one row of a DISTINCT.
    Dropped,
}

/// A row being sorted.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Of the first sort column, turned round if it descends.
    prefix: Option<u64>,
    at: RowAt,
}

/// Rows being sorted.
#[derive(Debug)]
pub(crate) struct Sorter {
    columns: Vec<SortColumn>,
    equals: Equals,
    /// Rows of use: LIMIT and OFFSET together.
    limit: usize,
    buffer: RowBuffer,
    entries: Vec<Entry>,
    charged: usize,
}

impl Sorter {
    pub(crate) fn new(columns: Vec<SortColumn>, equals: Equals, limit: Option<u64>) -> Self {
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Self { columns, equals, limit, buffer: RowBuffer::default(), entries: Vec::new(), charged: 0 }
    }

    fn size(&self) -> usize {
        self.buffer.size() + self.entries.capacity() * size_of::<Entry>()
    }

    /// Pays for the rows that came, after dropping those that are behind the limit.
    pub(crate) fn settle(&mut self, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        // Twice the limit, so that each row is sorted a bounded number of times.
        if self.entries.len() >= self.limit.saturating_mul(2).max(1024) {
            self.cut();
            self.compact();
        }
        let size = self.size();
        if size > self.charged {
            cx.core.memory.charge(size - self.charged)?;
        } else {
            cx.core.memory.release(self.charged - size);
        }
        self.charged = size;
        Ok(())
    }

    fn compare(&self, left: &Entry, right: &Entry) -> Ordering {
        if let (Some(left), Some(right)) = (left.prefix, right.prefix)
            && left != right
        {
            return left.cmp(&right);
        }
        for column in &self.columns {
            let value = |entry: &Entry| self.buffer.value(entry.at, column.position);
            let order = compare_values(&value(left), &value(right), &column.sql_type);
            if order.is_ne() {
                return if column.descending { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    }

    /// Sorts, and keeps the first entries.
    fn cut(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|left, right| self.compare(left, right).then(left.at.cmp(&right.at)));
        if self.equals == Equals::Dropped {
            entries.dedup_by(|later, first| self.compare(first, later).is_eq());
        }
        entries.truncate(self.limit);
        self.entries = entries;
    }

    /// Gives up the rows that no entry points to.
    fn compact(&mut self) {
        let mut kept = RowBuffer::default();
        for entry in &mut self.entries {
            entry.at = kept.push(self.buffer.values(entry.at));
        }
        self.buffer = kept;
    }

    /// The rows in order.
    pub(crate) fn finish(mut self) -> Sorted {
        self.cut();
        Sorted { buffer: self.buffer, entries: self.entries.into_iter() }
    }
}

impl RowSink for Sorter {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let prefix = self.columns.first().and_then(|column| {
            let prefix = order_prefix(values.get(column.position)?, &column.sql_type)?;
            Some(if column.descending { !prefix } else { prefix })
        });
        let at = self.buffer.push(values.iter().copied());
        self.entries.push(Entry { prefix, at });
    }

    fn is_full(&self) -> bool {
        self.size() > self.charged + UNCHARGED_MAX
    }
}

/// Rows in order.
#[derive(Debug)]
pub(crate) struct Sorted {
    buffer: RowBuffer,
    entries: std::vec::IntoIter<Entry>,
}

impl Sorted {
    /// The next row, for as long as `self` is borrowed.
    pub(crate) fn next(&mut self) -> Option<impl Iterator<Item = ValueRef<'_>> + Clone> {
        let entry = self.entries.next()?;
        Some(self.buffer.values(entry.at))
    }

    /// Gives rows to `sink` until it is full; true if there are more.
    pub(crate) fn give(&mut self, sink: &mut dyn RowSink) -> bool {
        while !sink.is_full() {
            let Some(entry) = self.entries.next() else { return false };
            self.buffer.lend(entry.at, |values| sink.row(&[], &[], values));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Equals, SortColumn, Sorter};
    use expression::compare_values;
    use query::RowSink;
    use stdx::Prng;
    use types::{Collation, IntegerWidth, SqlType, Value, ValueRef};

    fn integer(position: usize, descending: bool) -> SortColumn {
        let sql_type = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
        SortColumn { position, sql_type, descending }
    }

    fn text(position: usize, collation: Collation, descending: bool) -> SortColumn {
        SortColumn { position, sql_type: SqlType::VarChar { length: 10, collation }, descending }
    }

    fn add(sorter: &mut Sorter, row: &[Value]) {
        let values: Vec<ValueRef<'_>> = crate::results::borrowed(row).collect();
        sorter.row(&[], &[], &values);
    }

    fn finish(sorter: Sorter) -> Vec<Vec<Value>> {
        let mut sorted = sorter.finish();
        let mut rows = Vec::new();
        while let Some(values) = sorted.next() {
            rows.push(values.map(ValueRef::to_value).collect());
        }
        rows
    }

    #[test]
    fn nulls_first_then_by_each_column() {
        let columns = vec![text(0, Collation::Utf8mb40900AiCi, false), integer(1, true)];
        let mut sorter = Sorter::new(columns, Equals::Kept, None);
        add(&mut sorter, &[Value::text("b"), Value::Int(1)]);
        add(&mut sorter, &[Value::text("A"), Value::Int(1)]);
        add(&mut sorter, &[Value::text("a"), Value::Int(2)]);
        add(&mut sorter, &[Value::Null, Value::Int(0)]);
        let numbers: Vec<Value> = finish(sorter).into_iter().map(|mut row| row.swap_remove(1)).collect();
        assert_eq!(numbers, vec![Value::Int(0), Value::Int(2), Value::Int(1), Value::Int(1)]);
    }

    #[test]
    fn only_the_first_rows_are_kept() {
        let mut sorter = Sorter::new(vec![integer(0, false)], Equals::Kept, Some(3));
        for number in (0..100).rev() {
            add(&mut sorter, &[Value::Int(number), Value::text("x")]);
            if number % 7 == 0 {
                sorter.cut();
                sorter.compact();
                assert!(sorter.buffer.len() <= 3);
            }
        }
        let first: Vec<Value> = finish(sorter).into_iter().map(|mut row| row.swap_remove(0)).collect();
        assert_eq!(first, vec![Value::Int(0), Value::Int(1), Value::Int(2)]);
    }

    #[test]
    fn as_a_stable_sort_by_the_general_comparison() {
        let mut prng = Prng::new(5);
        let letters = ["a", "A", "b", "ä", "é", " ", "\t", "ß", "z", "0", "-", "\u{1}", "日"];
        let collations = [
            Collation::Utf8mb40900AiCi,
            Collation::Utf8mb4GeneralCi,
            Collation::Utf8mb40900AsCs,
            Collation::Utf8mb4Bin,
        ];
        for collation in collations {
            for descending in [false, true] {
                let columns = vec![text(0, collation, descending), integer(1, false)];
                let mut word = || match prng.below(12) {
                    0 => Value::Null,
                    // Long common beginnings, so that prefixes are equal.
                    1..4 => Value::text(&format!("commonly {}", letters[prng.index(letters.len())])),
                    _ => Value::text(
                        &(0..prng.below(12)).map(|_| letters[prng.index(letters.len())]).collect::<String>(),
                    ),
                };
                let rows: Vec<Vec<Value>> =
                    (0..300).map(|number| vec![word(), Value::Int(number % 3), Value::Int(number)]).collect();
                let mut expected = rows.clone();
                let compare = |left: &[Value], right: &[Value]| {
                    let order = columns.iter().map(|column| {
                        let value = |row: &[Value]| row[column.position].clone();
                        let order =
                            compare_values(&value(left).as_ref(), &value(right).as_ref(), &column.sql_type);
                        if column.descending { order.reverse() } else { order }
                    });
                    order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                };
                expected.sort_by(|left, right| compare(left, right));
                for (equals, limit) in
                    [(Equals::Kept, None), (Equals::Dropped, None), (Equals::Dropped, Some(20))]
                {
                    let mut expected = expected.clone();
                    if equals == Equals::Dropped {
                        expected.dedup_by(|later, first| compare(first, later).is_eq());
                    }
                    expected.truncate(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap()));
                    let mut sorter = Sorter::new(columns.clone(), equals, limit);
                    for row in &rows {
                        add(&mut sorter, row);
                        if limit.is_some() && sorter.entries.len() > 60 {
                            sorter.cut();
                            sorter.compact();
                        }
                    }
                    assert_eq!(finish(sorter), expected, "{collation:?} {descending} {equals:?} {limit:?}");
                }
            }
        }
    }
}
