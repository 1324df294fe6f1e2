//! DISTINCT: rows that were seen before are omitted. Rows are equal if each shown value is, under its collation.
//!
//! Invariant: what the seen rows hold is charged, but for [`UNCHARGED_MAX`].

use crate::cx::Cx;
use crate::outcome::Failure;
use crate::row::UNCHARGED_MAX;
use crate::row_buffer::{RowAt, RowBuffer};
use expression::context::TextWork;
use expression::{compare_values, hash_value};
use query::RowSink;
use stdx::{HashIndex, Pages};
use types::{SqlType, ValueRef};

/// Texts are hashed, and compared with one that is probably equal.
pub(crate) fn pass_texts(row: &[ValueRef<'_>], work: &TextWork) {
    for value in row {
        if let ValueRef::Bytes(text) = value {
            work.add(text.len());
        }
    }
}

/// The hash of the first values of a row.
pub(crate) fn hash_row(row: &[ValueRef<'_>], types: &[SqlType]) -> u64 {
    let hashes = row.iter().zip(types).map(|(value, sql_type)| hash_value(value, sql_type));
    hashes.fold(0, |hash: u64, value| (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Whether the first values of two rows are equal.
pub(crate) fn equal_rows<'l>(
    left: impl Iterator<Item = ValueRef<'l>>,
    right: &[ValueRef<'_>],
    types: &[SqlType],
) -> bool {
    left.zip(right).zip(types).all(|((left, right), sql_type)| compare_values(&left, right, sql_type).is_eq())
}

/// Rows, each once.
#[derive(Debug)]
pub(crate) struct RowTable {
    types: Vec<SqlType>,
    rows: RowBuffer,
    /// Where each row is, by its position.
    places: Pages<RowAt>,
    positions: HashIndex,
    /// Bytes of all of this. Counted when a row is kept, because each row asks for it.
    size: usize,
    charged: usize,
    text_work: TextWork,
}

impl RowTable {
    /// Compares the first values of each row, of these types.
    pub(crate) fn new(types: Vec<SqlType>) -> Self {
        Self {
            types,
            rows: RowBuffer::default(),
            places: Pages::default(),
            positions: HashIndex::default(),
            size: 0,
            charged: 0,
            text_work: TextWork::default(),
        }
    }

    /// Pays for the rows that came.
    pub(crate) fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        cx.client.memory.charge(self.size.saturating_sub(self.charged))?;
        self.charged = self.size.max(self.charged);
        cx.env.budget.spend(self.text_work.take_rows());
        Ok(())
    }

    /// No more rows before they are paid for.
    pub(crate) fn is_full(&self) -> bool {
        self.text_work.is_much() || self.size > self.charged + UNCHARGED_MAX
    }

    /// The position of an equal row, in the order in which rows were kept.
    pub(crate) fn find(&self, row: &[ValueRef<'_>]) -> Option<usize> {
        let shown = self.shown(row);
        pass_texts(shown, &self.text_work);
        self.find_hashed(shown, hash_row(shown, &self.types))
    }

    /// The same; the row is kept if there is none, which is told.
    pub(crate) fn find_or_keep(&mut self, row: &[ValueRef<'_>]) -> (usize, bool) {
        let shown = self.shown(row);
        pass_texts(shown, &self.text_work);
        let hash = hash_row(shown, &self.types);
        if let Some(position) = self.find_hashed(shown, hash) {
            return (position, false);
        }
        self.positions.push(hash);
        self.places.push(self.rows.push(shown.iter().copied()));
        self.size = self.rows.size() + self.places.size() + self.positions.size();
        (self.places.len() - 1, true)
    }

    /// Lends the row at a position.
    pub(crate) fn lend(&self, position: usize, take: impl FnOnce(&[ValueRef<'_>])) {
        self.rows.lend(*self.places.get(position), take);
    }

    fn shown<'r, 'v>(&self, row: &'r [ValueRef<'v>]) -> &'r [ValueRef<'v>] {
        &row[..self.types.len().min(row.len())]
    }

    fn find_hashed(&self, shown: &[ValueRef<'_>], hash: u64) -> Option<usize> {
        let same_hash =
            std::iter::successors(self.positions.first(hash), |position| self.positions.next(*position));
        let is_equal =
            |position: &usize| equal_rows(self.rows.values(*self.places.get(*position)), shown, &self.types);
        same_hash.map(|position| position as usize).find(is_equal)
    }
}

/// DISTINCT.
#[derive(Debug)]
pub struct Distinct {
    seen: RowTable,
}

impl Distinct {
    /// Compares the first values of each row, of these types.
    pub fn new(types: Vec<SqlType>) -> Self {
        Self { seen: RowTable::new(types) }
    }

    /// Pays for the rows that came.
    pub fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        self.seen.pay(cx)
    }

    /// False if the row was seen before.
    fn is_new(&mut self, row: &[ValueRef<'_>]) -> bool {
        self.seen.find_or_keep(row).1
    }

    /// A sink that gives new rows on to another.
    pub fn before<'a>(&'a mut self, sink: &'a mut dyn RowSink) -> DistinctSink<'a> {
        DistinctSink { distinct: self, sink }
    }
}

/// See [`Distinct::before`].
pub struct DistinctSink<'a> {
    distinct: &'a mut Distinct,
    sink: &'a mut dyn RowSink,
}

impl RowSink for DistinctSink<'_> {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        if self.distinct.is_new(values) {
            self.sink.row(primary_key, index_key, values);
        }
    }

    fn is_full(&self) -> bool {
        self.sink.is_full() || self.distinct.seen.is_full()
    }
}

#[cfg(test)]
mod tests {
    use super::{Distinct, RowTable, hash_row};
    use types::{Collation, SqlType, ValueRef};

    #[test]
    fn equal_under_the_collation_is_seen_once() {
        let text = SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi };
        let mut distinct = Distinct::new(vec![text]);
        assert!(distinct.is_new(&[ValueRef::Bytes(b"a"), ValueRef::Int(1)]));
        assert!(!distinct.is_new(&[ValueRef::Bytes(b"A"), ValueRef::Int(2)]));
        assert!(distinct.is_new(&[ValueRef::Null, ValueRef::Int(2)]));
        assert!(!distinct.is_new(&[ValueRef::Null, ValueRef::Int(3)]));
        assert!(distinct.is_new(&[ValueRef::Bytes(b"b"), ValueRef::Int(2)]));
    }

    #[test]
    fn rows_with_the_same_hash_are_told_apart() {
        let mut distinct = Distinct::new(vec![SqlType::Double]);
        let double = |number: f64| [ValueRef::Double(number)];
        // The row of 3.0 is found by the hash of 4.0.
        let RowTable { rows, places, positions, types, .. } = &mut distinct.seen;
        positions.push(hash_row(&double(4.0), types));
        places.push(rows.push(double(3.0)));
        assert!(distinct.is_new(&double(4.0)));
        assert!(!distinct.is_new(&double(4.0)));
    }
}
