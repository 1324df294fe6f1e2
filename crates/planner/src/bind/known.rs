//! Lists that hold each thing once, where a statement may name thousands.
//!
//! A short list is searched from its beginning. From [`INDEXED_FROM`] on things are found by their fingerprints, so
//! that a statement of any length takes a time that grows with its length only.

use crate::plan::SortKey;
use expression::{AggregateCall, Expression};
use stdx::FixedMap;

/// Lists of this length have an index.
pub(super) const INDEXED_FROM: usize = 32;

/// Equal things have equal fingerprints; others hardly ever do.
pub(super) trait Fingerprinted: PartialEq {
    fn fingerprint(&self) -> u64;
}

impl Fingerprinted for Expression {
    fn fingerprint(&self) -> u64 {
        Expression::fingerprint(self)
    }
}

impl Fingerprinted for &Expression {
    fn fingerprint(&self) -> u64 {
        Expression::fingerprint(self)
    }
}

impl Fingerprinted for AggregateCall {
    fn fingerprint(&self) -> u64 {
        AggregateCall::fingerprint(self)
    }
}

/// An item of ORDER BY is there if its expression is, in whatever direction.
impl Fingerprinted for SortKey {
    fn fingerprint(&self) -> u64 {
        self.expression.fingerprint()
    }
}

/// Things in their order.
#[derive(Debug)]
pub(super) struct Known<T> {
    things: Vec<T>,
    /// Positions by fingerprint, ascending; of all things or, in a short list, of none.
    positions: FixedMap<u64, Vec<usize>>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { things: Vec::new(), positions: FixedMap::default() }
    }
}

impl<T: Fingerprinted> Known<T> {
    pub(super) fn things(&self) -> &[T] {
        &self.things
    }

    pub(super) fn into_things(self) -> Vec<T> {
        self.things
    }

    /// Whether it is searched by fingerprints.
    pub(super) fn is_indexed(&self) -> bool {
        self.things.len() >= INDEXED_FROM
    }

    /// Adds a thing, even if an equal one is there.
    pub(super) fn push(&mut self, thing: T) {
        self.things.push(thing);
        let unindexed = match self.things.len() {
            INDEXED_FROM => 0,
            count if count > INDEXED_FROM => count - 1,
            _ => return,
        };
        for (position, thing) in self.things.iter().enumerate().skip(unindexed) {
            self.positions.entry(thing.fingerprint()).or_default().push(position);
        }
    }

    /// The position of this thing; it is added if it is not there.
    pub(super) fn place(&mut self, thing: T) -> usize {
        if let Some(position) = self.last_position(&thing) {
            return position;
        }
        self.push(thing);
        self.things.len() - 1
    }

    /// The position of the last thing that equals this one.
    pub(super) fn last_position(&self, thing: &T) -> Option<usize> {
        let fingerprint = if self.is_indexed() { thing.fingerprint() } else { 0 };
        self.last_position_by(fingerprint, |known| known == thing)
    }

    /// The same for what has this fingerprint, which is not asked for in a short list.
    pub(super) fn last_position_by(&self, fingerprint: u64, is_it: impl Fn(&T) -> bool) -> Option<usize> {
        if !self.is_indexed() {
            return self.things.iter().rposition(is_it);
        }
        let positions = self.positions.get(&fingerprint)?;
        positions.iter().rev().copied().find(|position| is_it(&self.things[*position]))
    }
}

impl<T: Fingerprinted> FromIterator<T> for Known<T> {
    fn from_iter<I: IntoIterator<Item = T>>(things: I) -> Self {
        let mut known = Self::default();
        things.into_iter().for_each(|thing| known.push(thing));
        known
    }
}

#[cfg(test)]
mod tests {
    use super::{INDEXED_FROM, Known};
    use expression::Expression;

    #[test]
    fn things_are_found_with_and_without_an_index() {
        let mut known = Known::default();
        for number in 0..3 * INDEXED_FROM {
            let number = i64::try_from(number).unwrap();
            assert_eq!(known.last_position(&Expression::integer(number)), None);
            let position = known.place(Expression::integer(number));
            assert_eq!(known.place(Expression::integer(number)), position);
            assert_eq!(known.last_position(&Expression::integer(0)), Some(0));
        }
        known.push(Expression::integer(7));
        assert_eq!(known.last_position(&Expression::integer(7)), Some(3 * INDEXED_FROM));
        assert_eq!(known.into_things().len(), 3 * INDEXED_FROM + 1);
    }
}
