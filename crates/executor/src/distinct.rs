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
use stdx::FixedMap;
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

/// A row that was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: RowAt,
    /// Another one with the same hash.
    next: Option<u32>,
}

/// Rows, each once.
#[derive(Debug)]
pub(crate) struct RowTable {
    types: Vec<SqlType>,
    rows: RowBuffer,
    seen: Vec<Seen>,
    /// The last row with a hash.
    by_hash: FixedMap<u64, u32>,
    charged: usize,
    text_work: TextWork,
}

impl RowTable {
    /// Compares the first values of each row, of these types.
    pub(crate) fn new(types: Vec<SqlType>) -> Self {
        Self {
            types,
            rows: RowBuffer::default(),
            seen: Vec::new(),
            by_hash: FixedMap::default(),
            charged: 0,
            text_work: TextWork::default(),
        }
    }

    fn size(&self) -> usize {
        self.rows.size()
            + self.seen.capacity() * size_of::<Seen>()
            + self.by_hash.capacity() * (size_of::<(u64, u32)>() + 1)
    }

    /// Pays for the rows that came.
    pub(crate) fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let size = self.size();
        cx.client.memory.charge(size.saturating_sub(self.charged))?;
        self.charged = size.max(self.charged);
        cx.env.budget.spend(self.text_work.take_rows());
        Ok(())
    }

    /// No more rows before they are paid for.
    pub(crate) fn is_full(&self) -> bool {
        self.text_work.is_much() || self.size() > self.charged + UNCHARGED_MAX
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
        let position = self.seen.len();
        let next = self.by_hash.insert(hash, u32::try_from(position).unwrap_or(u32::MAX));
        let at = self.rows.push(shown.iter().copied());
        self.seen.push(Seen { at, next });
        (position, true)
    }

    /// Lends the row at a position.
    pub(crate) fn lend(&self, position: usize, take: impl FnOnce(&[ValueRef<'_>])) {
        self.rows.lend(self.seen[position].at, take);
    }

    fn shown<'r, 'v>(&self, row: &'r [ValueRef<'v>]) -> &'r [ValueRef<'v>] {
        &row[..self.types.len().min(row.len())]
    }

    fn find_hashed(&self, shown: &[ValueRef<'_>], hash: u64) -> Option<usize> {
        let mut next = self.by_hash.get(&hash).copied();
        while let Some(position) = next {
            let seen = self.seen[position as usize];
            if equal_rows(self.rows.values(seen.at), shown, &self.types) {
                return Some(position as usize);
            }
            next = seen.next;
        }
        None
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
    use super::{Distinct, hash_row};
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
        assert!(distinct.is_new(&double(3.0)));
        // The row of 3.0 is found by the hash of 4.0, too.
        let hash = hash_row(&double(4.0), &distinct.seen.types);
        distinct.seen.by_hash.insert(hash, 0);
        assert!(distinct.is_new(&double(4.0)));
        assert!(!distinct.is_new(&double(4.0)));
        let hash = hash_row(&double(3.0), &distinct.seen.types);
        distinct.seen.by_hash.insert(hash, 1);
        assert!(!distinct.is_new(&double(3.0)));
    }
}
