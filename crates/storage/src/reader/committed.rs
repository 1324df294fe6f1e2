//! Committed rows with their epochs, in the order of primary keys: what a checkpoint writes, and what a copy compares.
//!
//! Of each row it gives the newest committed version, also if a newer one is staged or prepared. A reader may stop
//! behind any key and go on from there later; rows that change meanwhile are given as they were or as they are.
//!
//! Deliberately not here: which epochs that omits. A commit that is published behind the scan is in the log.
#![expect(unsafe_code, reason = "rows are reached through an index; the block says why that is sound")]

use super::{Cursor, Direction, KeyBounds, Reader, Source, Visibility};
use crate::row::Row;
use crate::version::{Version, VersionState};
use memory::Guard;
use std::ops::Bound;
use types::Epoch;

/// The newest committed version of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommittedRow<'g> {
    /// The primary key.
    pub key: &'g [u8],
    /// The epoch of its commit.
    pub epoch: Epoch,
    /// Its bytes.
    pub row: &'g [u8],
}

/// Committed rows in the order of primary keys.
#[derive(Debug)]
pub struct CommittedRows<'g> {
    cursor: Cursor<'g>,
}

impl Reader {
    /// The rows behind a primary key, or all of them.
    pub fn committed_rows<'g>(&'g self, _guard: &'g Guard, after: Option<&'g [u8]>) -> CommittedRows<'g> {
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = self.cursor_in(Source::Primary, Direction::Forward, Visibility::Stale);
        cursor.seek(KeyBounds { lower, upper: Bound::Unbounded });
        CommittedRows { cursor }
    }
}

impl<'g> Iterator for CommittedRows<'g> {
    type Item = CommittedRow<'g>;

    #[inline]
    fn next(&mut self) -> Option<CommittedRow<'g>> {
        loop {
            // SAFETY: the primary index holds rows.
            let row = unsafe { Row::of(self.cursor.advance()?) };
            if let Some((epoch, version)) = newest_committed(row)
                && let Some(bytes) = version.row()
            {
                return Some(CommittedRow { key: row.key(), epoch, row: bytes });
            }
        }
    }
}

/// The newest committed version of a row, and its epoch.
#[inline]
fn newest_committed(row: Row<'_>) -> Option<(Epoch, Version<'_>)> {
    let mut next = row.newest();
    while let Some(version) = next {
        next = loop {
            let state = version.state();
            if let VersionState::Committed(epoch) = state {
                return Some((epoch, version));
            }
            let previous = version.previous();
            // Once it is committed, the versions below it may go.
            if version.state() == state {
                break previous;
            }
        };
    }
    None
}

#[cfg(test)]
mod tests;
