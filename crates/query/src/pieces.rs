//! A scan cut into pieces: lists of ranges that several threads read at the same time.
//!
//! Invariants: a key that is in one of the ranges is in exactly one piece, and pieces are ascending, as the ranges and
//! the keys they are cut at are. No piece is without a range.

use crate::mutants::{self, Mutant};
use protocol::program::KeyRange;
use std::ops::Bound;

/// Cuts ranges at keys: each begins a piece if there is something before it and behind it.
#[must_use]
pub fn cut(ranges: Vec<KeyRange>, keys: &[&[u8]]) -> Vec<Vec<KeyRange>> {
    let mut keys = keys.iter().copied().peekable();
    let mut pieces = Vec::new();
    let mut piece = Vec::new();
    for KeyRange { mut lower, upper } in ranges {
        while let Some(key) = keys.next_if(|key| is_before_end(key, &upper)) {
            if is_behind_start(key, &lower) {
                let near = if mutants::is(Mutant::CutSkipsKey) { Bound::Excluded } else { Bound::Included };
                let before = std::mem::replace(&mut lower, near(key.into()));
                piece.push(KeyRange { lower: before, upper: Bound::Excluded(key.into()) });
            }
            if !piece.is_empty() {
                pieces.push(std::mem::take(&mut piece));
            }
        }
        piece.push(KeyRange { lower, upper });
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

fn is_behind_start(key: &[u8], lower: &Bound<Box<[u8]>>) -> bool {
    match lower {
        Bound::Included(lower) | Bound::Excluded(lower) => key > &**lower,
        Bound::Unbounded => true,
    }
}

fn is_before_end(key: &[u8], upper: &Bound<Box<[u8]>>) -> bool {
    match upper {
        Bound::Included(upper) | Bound::Excluded(upper) => key < &**upper,
        Bound::Unbounded => true,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::ops::RangeBounds;
    use stdx::Prng;

    fn holds(range: &KeyRange, key: u8) -> bool {
        let by_ref = |bound: &Bound<Box<[u8]>>| bound.clone().map(|key| key[0]);
        (by_ref(&range.lower), by_ref(&range.upper)).contains(&key)
    }

    /// Ascending, disjoint ranges between the points, each with bounds of its own kind.
    fn ranges(points: &[u8], is_open: bool) -> Vec<KeyRange> {
        let bound = |key: u8, is_included: bool| {
            let key: Box<[u8]> = [key].into();
            if is_included { Bound::Included(key) } else { Bound::Excluded(key) }
        };
        let of = |(number, pair): (usize, &[u8])| KeyRange {
            lower: bound(pair[0], number % 2 == 0),
            upper: bound(pair[1], number % 3 == 0),
        };
        let mut ranges: Vec<KeyRange> = points.chunks_exact(2).enumerate().map(of).collect();
        if let (true, Some(first)) = (is_open, ranges.first_mut()) {
            first.lower = Bound::Unbounded;
        }
        if let (true, Some(last)) = (is_open, ranges.last_mut()) {
            last.upper = Bound::Unbounded;
        }
        ranges
    }

    #[test]
    pub(crate) fn each_key_is_in_one_piece() {
        let mut prng = Prng::new(19);
        for _ in 0..2_000 {
            let mut drawn = || -> BTreeSet<u8> {
                (0..prng.index(12)).map(|_| u8::try_from(prng.index(256)).unwrap()).collect()
            };
            let (points, keys) = (Vec::from_iter(drawn()), drawn());
            let ranges = ranges(&points, prng.chance(1, 2));
            let keys: Vec<[u8; 1]> = keys.into_iter().map(|key| [key]).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let pieces = cut(ranges.clone(), &keys);
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
            assert!(pieces.len() <= keys.len() + 1);
            for key in 0..=u8::MAX {
                let count = |ranges: &[KeyRange]| ranges.iter().filter(|range| holds(range, key)).count();
                let in_pieces: usize = pieces.iter().map(|piece| count(piece)).sum();
                assert_eq!(in_pieces, count(&ranges), "{key} of {ranges:?} at {keys:?}");
            }
        }
    }

    #[test]
    fn one_range_is_cut_at_each_key_inside() {
        let keys: [&[u8]; 3] = [b"b", b"d", b"z"];
        let range =
            KeyRange { lower: Bound::Included((*b"b").into()), upper: Bound::Included((*b"m").into()) };
        assert_eq!(cut(vec![range], &keys).len(), 2, "b is its start, z behind its end");
        assert_eq!(cut(vec![KeyRange::all()], &keys).len(), 4);
    }
}
