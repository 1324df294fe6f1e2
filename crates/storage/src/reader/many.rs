//! Lookups of several keys at once, in stages, so that their cache misses overlap.
//!
//! A lookup of a key misses the CPU's caches three times, one after the other: at the bucket of the hash index, at the
//! row's head, at its newest version. Here each stage takes its step for all keys, and asks for the memory of the next
//! one (group prefetching: Chen, Ailamaki, Gibbons, Mowry 2004). The keys may be of different fragments.
//!
//! Invariant: the answer for a key is one that [`Reader::get`] could give at some moment of the call. A row that a
//! stage finds by its tag counts only if its key is the one wanted. Otherwise the lookup is made anew, as `get` does
//! it.
#![expect(unsafe_code, reason = "a guard is what the shared structures ask for; each block names it")]

use super::{Lookup, Reader, Visibility, visible};
use crate::hash_index::{Approach, spread};
use crate::row::Row;
use memory::Guard;

/// Keys of one call at most. More would push the first ones out of the CPU's nearest cache again.
pub const MANY_MAX: usize = 16;

/// A key that is looked up with others.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'g, 'k> {
    /// The fragment that has its row, if there is one.
    pub reader: &'g Reader,
    /// The primary key.
    pub key: &'k [u8],
    /// Its `stdx::hash64`: it has chosen the partition, so it is known.
    pub hash: u64,
}

/// The rows of primary keys, [`MANY_MAX`] at most; `found` has as many places at least, and those behind stay.
#[inline]
pub fn get_many<'g>(
    _guard: &'g Guard,
    wanted: &[Wanted<'g, '_>],
    visibility: Visibility,
    found: &mut [Lookup<'g>],
) {
    stdx::require!(wanted.len() <= MANY_MAX && wanted.len() <= found.len(), "{} keys at once", wanted.len());
    let mut approaches: [Option<Approach<'g>>; MANY_MAX] = [None; MANY_MAX];
    for (approach, wanted) in approaches.iter_mut().zip(wanted) {
        // SAFETY: the guard is held for 'g.
        *approach = unsafe { wanted.reader.core.hash.approach(spread(wanted.hash)) };
    }
    let mut rows: [Option<Row<'g>>; MANY_MAX] = [None; MANY_MAX];
    for (row, approach) in rows.iter_mut().zip(&approaches[..wanted.len()]) {
        // SAFETY: the guard is held for 'g.
        *row = approach.and_then(|approach| unsafe { approach.likely_row() });
        if let Some(row) = row {
            row.keyed().prefetch();
        }
    }
    for (row, wanted) in rows.iter_mut().zip(wanted) {
        if row.is_none_or(|row| row.key() != wanted.key) {
            // SAFETY: the guard is held for 'g.
            *row = unsafe { wanted.reader.core.hash.find(spread(wanted.hash), wanted.key) };
        }
        if let Some(row) = row {
            row.keyed().prefetch_target();
        }
    }
    for (found, row) in found.iter_mut().zip(&rows[..wanted.len()]) {
        *found = row.map_or(Lookup::Absent, |row| visible(row, visibility));
    }
}
