//! DISTINCT: rows that were seen before are left out. Rows are equal if each shown value is, under its collation.

use super::{Cx, Failure, Row, row_size};
use expression::{compare_values, hash_value};
use stdx::FixedMap;
use types::{SqlType, Value};

/// The hash of the first values of a row.
pub(crate) fn hash_row(row: &[Value], types: &[SqlType]) -> u64 {
    let hashes = row.iter().zip(types).map(|(value, sql_type)| hash_value(&value.as_ref(), sql_type));
    hashes.fold(0, |hash: u64, value| (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Whether the first values of two rows are equal.
pub(crate) fn equal_rows(left: &[Value], right: &[Value], types: &[SqlType]) -> bool {
    let equal = |((left, right), sql_type): ((&Value, &Value), &SqlType)| {
        compare_values(&left.as_ref(), &right.as_ref(), sql_type).is_eq()
    };
    left.iter().zip(right).zip(types).all(equal)
}

/// The rows seen so far.
#[derive(Debug)]
pub(crate) struct Distinct {
    types: Vec<SqlType>,
    seen: Vec<Row>,
    by_hash: FixedMap<u64, Vec<u32>>,
}

impl Distinct {
    /// Compares the first values of each row, of these types.
    pub(crate) fn new(types: Vec<SqlType>) -> Self {
        Self { types, seen: Vec::new(), by_hash: FixedMap::default() }
    }

    /// The rows that are new.
    pub(crate) fn filter(&mut self, rows: Vec<Row>, cx: &mut Cx<'_, '_>) -> Result<Vec<Row>, Failure> {
        let mut new = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(size) = self.insert(&row) {
                cx.core.memory.charge(size)?;
                new.push(row);
            }
        }
        Ok(new)
    }

    /// What a new row costs; None if it was seen.
    fn insert(&mut self, row: &Row) -> Option<usize> {
        let shown = &row[..self.types.len().min(row.len())];
        let same_hash = self.by_hash.entry(hash_row(shown, &self.types)).or_default();
        let is_seen = same_hash.iter().any(|seen| equal_rows(&self.seen[*seen as usize], shown, &self.types));
        if is_seen {
            return None;
        }
        same_hash.push(u32::try_from(self.seen.len()).unwrap_or(u32::MAX));
        self.seen.push(shown.to_vec());
        Some(row_size(shown) + 64)
    }
}

#[cfg(test)]
mod tests {
    use super::Distinct;
    use types::{Collation, SqlType, Value};

    #[test]
    fn equal_under_the_collation_is_seen_once() {
        let text = SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi };
        let mut distinct = Distinct::new(vec![text]);
        assert!(distinct.insert(&vec![Value::text("a"), Value::Int(1)]).is_some());
        assert!(distinct.insert(&vec![Value::text("A"), Value::Int(2)]).is_none());
        assert!(distinct.insert(&vec![Value::Null, Value::Int(2)]).is_some());
        assert!(distinct.insert(&vec![Value::Null, Value::Int(3)]).is_none());
        assert!(distinct.insert(&vec![Value::text("b"), Value::Int(2)]).is_some());
    }
}
