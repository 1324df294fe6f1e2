//! Collations (skeleton: signatures are final).
use crate::Collation;
use std::cmp::Ordering;

impl Collation {
    /// Orders two strings.
    #[must_use]
    pub fn compare(self, left: &[u8], right: &[u8]) -> Ordering {
        left.cmp(right)
    }
    /// True if the two strings are equal under this collation.
    #[must_use]
    pub fn equal(self, left: &[u8], right: &[u8]) -> bool {
        self.compare(left, right).is_eq()
    }
    /// Appends bytes whose order is that of `compare`.
    pub fn sort_key(self, bytes: &[u8], key: &mut Vec<u8>) {
        key.extend_from_slice(bytes);
    }
    /// Strings that are equal hash equal.
    #[must_use]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        stdx::hash64(bytes)
    }
    /// MySQL's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        unimplemented!()
    }
    /// `utf8mb4` or `binary`.
    #[must_use]
    pub fn character_set(self) -> &'static str {
        unimplemented!()
    }
    /// The collation of that name, or the nearest to it.
    #[must_use]
    pub fn by_name(_name: &str) -> Option<Collation> {
        unimplemented!()
    }
    /// The default collation of a character set (utf8mb4, utf8, utf8mb3, latin1, ascii, binary, …).
    #[must_use]
    pub fn by_character_set(_name: &str) -> Option<Collation> {
        unimplemented!()
    }
    /// MySQL's collation number.
    #[must_use]
    pub fn mysql_id(self) -> u16 {
        unimplemented!()
    }
    /// The collation with that number, or the nearest to it.
    #[must_use]
    pub fn by_mysql_id(_id: u16) -> Option<Collation> {
        unimplemented!()
    }
    /// True if sort keys hold no zero byte, so that one ends them.
    pub(crate) fn has_zero_free_sort_key(self) -> bool {
        matches!(self, Collation::Utf8mb40900AiCi | Collation::Utf8mb40900AsCs | Collation::Utf8mb4GeneralCi)
    }
    /// True if trailing spaces do not count.
    #[must_use]
    pub fn is_pad_space(self) -> bool {
        matches!(self, Collation::Utf8mb4Bin | Collation::Utf8mb4GeneralCi)
    }
}
