//! The joining member's part in a copy of differences: it compares, asks, and removes.
//!
//! ```text
//! piece with a range, a number and a hash   the member has the same rows up to its base, the named ones aside: done
//!                                           it has others: CopyApplied {differing}
//! piece with an exact range                 the member's rows up to its base that are not named there go
//! ```
//! **Why that finds everything.** The rows of the member up to its base were the cluster's at that epoch. Nothing
//! with such an epoch is added any more. So a row that was changed since is sent, and a row that was deleted since is
//! missing in the primary's number. The hash is for what should not be: a disk that changed bytes, or a bug. A write
//! that comes between the primary's look and the member's makes them differ without need, and costs an exact answer.
//!
//! **The log.** A removal is logged as a delete at the base. It takes the place of every row that the member came back
//! with, and of none that is newer. A restart that is cut below the base finds the row, as it must.
//!
//! Invariants: nothing above the base is removed or replaced. A range counts as equal only if each row of it that the
//! primary had, and did not send, is here with the same epoch and bytes.
//!
//! Deliberately not here: which ranges there are (`piece`).

use super::{Applied, COPIER, CopyIn, Copying, Fill, OVERHEAD};
use crate::ldm::Context;
use crate::ldm::slot::Slot;
use crate::mutants::{self, Mutant};
use memory::{Guard, RegionFull};
use protocol::signal::{CopiedRange, CopiedRow, CopyBounds, CopyPiece};
use stdx::hash64;
use storage::{BackfillProgress, CommittedRow, FragmentDefinition, VersionState};
use types::{SlotId, TableId, ViewNumber};

/// Rows that are removed at once.
const REMOVED_AT_ONCE: usize = 256;
/// Rows that get entries of an index at once.
const FILLED_AT_ONCE: u32 = 500;

/// The hash of a row, of which a range has the sum. Each view has its own, so no two rows are taken for each other
/// twice.
pub(super) fn row_hash(seed: ViewNumber, table: TableId, row: &CommittedRow<'_>) -> u64 {
    let words = [seed.0, u64::from(table.0), row.epoch.0, hash64(row.key), hash64(row.row)];
    let mut bytes = [0; 40];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    hash64(&bytes)
}

/// Whether a key is not behind the end of a range.
pub(super) fn is_within(key: &[u8], to: Option<&[u8]>) -> bool {
    to.is_none_or(|to| key <= to)
}

impl CopyIn {
    /// This member has got the ranges of a piece, and wants those that differ. Gives the ranges that it asks for: with
    /// the first piece of a view all that it has not got, because this primary knows of none.
    pub(super) fn note_asked(&mut self, piece: &CopyPiece, differing: Vec<CopyBounds>) -> Vec<CopyBounds> {
        for CopiedRange { bounds, .. } in piece.ranges.iter().filter(|range| range.is_exact) {
            self.awaited.remove(&(bounds.table, bounds.to.clone()));
        }
        let asked = differing.iter().cloned();
        self.awaited.extend(asked.map(|CopyBounds { table, after, to }| ((table, to), after)));
        if std::mem::replace(&mut self.has_asked, true) {
            return differing;
        }
        let all = self.awaited.iter();
        all.map(|((table, to), after)| CopyBounds { table: *table, after: after.clone(), to: to.clone() })
            .collect()
    }
}

impl Copying {
    /// A table with rows from this node's disk gets a newer definition: indexes that are new lack the entries of all
    /// those rows.
    pub(in crate::ldm) fn fill_new_indexes(
        &mut self,
        place: (TableId, SlotId),
        before: &FragmentDefinition,
        definition: &FragmentDefinition,
    ) {
        let known: Vec<_> = before.secondary_indexes().collect();
        let new = definition.secondary_indexes().filter(|index| !known.contains(index));
        self.fills.extend(new.map(|index| Fill { place, index, after: None }));
    }
}

impl Context<'_> {
    /// Adds some entries of a new index.
    pub(super) fn fill_index(&mut self, mut fill: Fill) -> Result<(), RegionFull> {
        let Some(fragment) = self.fragments.get_mut(&fill.place) else { return Ok(()) };
        if let BackfillProgress::More(after) =
            fragment.load_index(fill.index, fill.after.as_deref(), FILLED_AT_ONCE)?
        {
            fill.after = Some(after);
            self.copying.fills.push_front(fill);
        }
        Ok(())
    }
}

impl Slot {
    /// The ranges of a piece in which this member has other rows than the primary.
    pub(super) fn differing(&self, piece: &CopyPiece, context: &Context<'_>) -> Vec<CopyBounds> {
        if mutants::is(Mutant::DifferenceNotExact) {
            return Vec::new();
        }
        let compared = piece.ranges.iter().filter(|range| !range.is_exact);
        let other = compared.filter(|range| !self.is_equal(range, &piece.rows, context));
        other.map(|range| range.bounds.clone()).collect()
    }

    fn is_equal(&self, range: &CopiedRange, rows: &[CopiedRow], context: &Context<'_>) -> bool {
        let (mut count, mut hash) = (0_u32, 0_u64);
        let seed = context.map.view.number;
        self.visit_old(&range.bounds, rows, context, |row| {
            count += 1;
            hash = hash.wrapping_add(row_hash(seed, range.bounds.table, row));
            // More than the primary has: the rest would change nothing.
            count <= range.count
        });
        (count, hash) == (range.count, range.hash)
    }

    /// Visits the rows of a range up to the base, but those that the piece names, as long as `visit` says so.
    fn visit_old(
        &self,
        bounds: &CopyBounds,
        rows: &[CopiedRow],
        context: &Context<'_>,
        mut visit: impl FnMut(&CommittedRow<'_>) -> bool,
    ) {
        let Some(fragment) = context.fragments.get(&(bounds.table, self.id)) else { return };
        let (reader, guard) = (fragment.reader(), Guard::enter());
        let mut named = rows.iter().filter(|row| row.table == bounds.table).peekable();
        for row in reader.committed_rows(&guard, bounds.after.as_deref()) {
            if !is_within(row.key, bounds.to.as_deref()) {
                return;
            }
            while named.next_if(|named| *named.key < *row.key).is_some() {}
            let is_named = named.peek().is_some_and(|named| *named.key == *row.key);
            if row.epoch <= context.redo.base && !is_named && !visit(&row) {
                return;
            }
        }
    }

    /// Removes what this member came back with and an exact piece does not name, up to so many rows.
    pub(super) fn remove_unnamed(
        &mut self,
        piece: &CopyPiece,
        context: &mut Context<'_>,
    ) -> Result<Applied, RegionFull> {
        let mut gone: Vec<(TableId, Box<[u8]>)> = Vec::new();
        for CopiedRange { bounds, .. } in piece.ranges.iter().filter(|range| range.is_exact) {
            let Some(copy) = &self.copy_in else { return Ok(Applied::Wholly) };
            self.visit_old(bounds, &piece.rows, context, |row| {
                let key = (bounds.table, row.key.into());
                if !copy.waiting.contains_key(&key) {
                    gone.push(key);
                }
                gone.len() < REMOVED_AT_ONCE
            });
        }
        for (table, key) in &gone {
            self.remove_row(*table, key, context)?;
        }
        Ok(if gone.len() < REMOVED_AT_ONCE { Applied::Wholly } else { Applied::Partly })
    }

    /// Removes a row that this member came back with; below a prepared version when that is decided.
    pub(super) fn remove_row(
        &mut self,
        table: TableId,
        key: &[u8],
        context: &mut Context<'_>,
    ) -> Result<(), RegionFull> {
        let (place, base) = ((table, self.id), context.redo.base);
        let Some(fragment) = context.fragments.get_mut(&place) else { return Ok(()) };
        match fragment.newest(key).state {
            Some(VersionState::Prepared(_) | VersionState::Staged(_)) => {
                if let Some(copy) = &mut self.copy_in {
                    copy.waiting.insert((table, key.into()), None);
                }
            }
            Some(VersionState::Committed(epoch)) if epoch <= base => {
                let handle = fragment.stage(key, COPIER, None)?;
                if let Some(log) = context.redo.log()
                    && let Some(removed) = fragment.decided(handle, COPIER)
                {
                    log.put(place, &removed, base);
                }
                fragment.commit(handle, COPIER, base);
                context.copying.tally.changed += (key.len() + OVERHEAD) as u64;
                context.reclaim.note(place);
            }
            Some(VersionState::Committed(_)) | None => {}
        }
        Ok(())
    }
}

/// The rows of a range that are not sent: their number and the sum of their hashes.
#[derive(Clone, Copy, Default)]
pub(super) struct Unsent {
    pub(super) count: u32,
    pub(super) hash: u64,
}

impl Unsent {
    pub(super) fn add(&mut self, seed: ViewNumber, table: TableId, row: &CommittedRow<'_>) {
        self.count += 1;
        self.hash = self.hash.wrapping_add(row_hash(seed, table, row));
    }

    /// The range of these rows.
    pub(super) fn range(self, bounds: CopyBounds) -> CopiedRange {
        CopiedRange { bounds, count: self.count, hash: self.hash, is_exact: false }
    }
}
