//! Order-preserving keys (skeleton: signatures are final).
use crate::{KeyPart, RowLayout, TableDefinition, ValueRef};

/// Makes the key bytes of one index.
#[derive(Clone, Debug)]
pub struct KeyEncoder {}

#[expect(unused_variables, clippy::unimplemented, reason = "skeleton")]
impl KeyEncoder {
    /// The encoder of `parts` of `table`.
    #[must_use]
    pub fn new(table: &TableDefinition, parts: &[KeyPart]) -> Self {
        unimplemented!()
    }
    /// How many parts a whole key has.
    #[must_use]
    pub fn part_count(&self) -> usize {
        unimplemented!()
    }
    /// True if `values` are of the parts' types: what came from a peer is asked this before it is encoded.
    #[must_use]
    pub fn accepts(&self, values: &[ValueRef<'_>]) -> bool {
        unimplemented!()
    }
    /// Appends the key of `values`, one per part, or fewer: then it is the common prefix of all keys that start with them.
    pub fn encode_values(&self, values: &[ValueRef<'_>], key: &mut Vec<u8>) {
        unimplemented!()
    }
    /// Appends the key of a stored row.
    pub fn encode_row(&self, layout: &RowLayout, row: &[u8], key: &mut Vec<u8>) {
        unimplemented!()
    }
    /// Appends the key of a stored row in a non-unique index: these parts, then the primary key.
    pub fn encode_row_with_primary(
        &self,
        primary: &KeyEncoder,
        layout: &RowLayout,
        row: &[u8],
        key: &mut Vec<u8>,
    ) {
        unimplemented!()
    }
    /// True if a part is NULL in the row: such a row has no entry in a unique index.
    #[must_use]
    pub fn row_has_null(&self, layout: &RowLayout, row: &[u8]) -> bool {
        unimplemented!()
    }
}

/// The first key behind all keys that start with `prefix`; `None` if there is none.
#[must_use]
pub fn successor_of_prefix(_prefix: &[u8]) -> Option<Vec<u8>> {
    unimplemented!()
}
