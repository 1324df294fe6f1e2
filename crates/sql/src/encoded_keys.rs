//! The keys of a list, encoded behind each other in buffers that are kept, so that none is allocated.
//!
//! Keys are sorted by their first bytes as numbers; the rest is compared where these are equal. Most keys are integers,
//! so nothing else of them is looked at.
//!
//! Invariant: `order` and the bytes of a key never disagree: of two keys with different `order`, the lower one has the
//! lower bytes.

use executor::{Failure, access};
use expression::Context;
use planner::plan::KeyTemplate;
use query::TableAccessInfo;

/// Encoded keys, behind each other.
#[derive(Default)]
pub(crate) struct EncodedKeys {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// Where a key lies.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    /// The key's first eight bytes, as a number that compares as they do; a shorter key has zeros behind it.
    order: u64,
    start: u32,
    end: u32,
}

impl EncodedKeys {
    /// Evaluates keys, without those that no row can have.
    pub(crate) fn fill(
        &mut self,
        templates: &[KeyTemplate],
        info: &TableAccessInfo,
        context: &Context<'_>,
    ) -> Result<(), Failure> {
        self.bytes.clear();
        self.places.clear();
        let definition = &info.definition;
        for template in templates {
            let start = self.bytes.len();
            let parts = definition.primary_key();
            let encoder = &info.primary_key;
            if access::append_key(template, definition, parts, encoder, context, &mut self.bytes)? {
                let narrow = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
                let (from, to) = (narrow(start), narrow(self.bytes.len()));
                self.places.push(Place { order: order_of(&self.bytes[start..]), start: from, end: to });
            }
        }
        Ok(())
    }

    /// Sorts the keys, each once. Many clients send them sorted.
    pub(crate) fn sort(&mut self) {
        let Self { bytes, places } = self;
        let key = |place: &Place| &bytes[place.start as usize..place.end as usize];
        let compare = |left: &Place, right: &Place| {
            left.order.cmp(&right.order).then_with(|| key(left).cmp(key(right)))
        };
        if !places.is_sorted_by(|left, right| compare(left, right).is_lt()) {
            places.sort_unstable_by(compare);
            places.dedup_by(|left, right| left.order == right.order && key(left) == key(right));
        }
    }

    /// Turns their order around.
    pub(crate) fn reverse(&mut self) {
        self.places.reverse();
    }

    /// The keys in their order, so many at a time.
    pub(crate) fn batches(&self, count: usize) -> impl Iterator<Item = &[Place]> {
        self.places.chunks(count)
    }

    /// The bytes of a key.
    pub(crate) fn key(&self, place: Place) -> &[u8] {
        &self.bytes[place.start as usize..place.end as usize]
    }
}

/// The beginning of a key as a number.
#[inline]
fn order_of(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(first.len());
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}
