//! Filling a fragment from disk: committed rows with their epochs, then the secondary indexes.
//!
//! There is one rule, for checkpoints and for the log: a row or a delete takes the place of a row of a lower or of the
//! same epoch. So a row may come several times. Rows of a checkpoint and entries of the log need no order among each
//! other, but entries come in the order in which the log has them.
//!
//! Invariants: nobody has staged anything in the fragment yet. It keeps one version of each row, and no deletes: a
//! delete that is followed by an older row of the log is in the log again behind it.
//!
//! Deliberately not here: which entries count (`durability`), and when the fragment is shown to readers.
#![expect(
    unsafe_code,
    reason = "the fragment is the one that may reach the owner's state; each block says why"
)]

use super::{BackfillProgress, Fragment};
use crate::hash_index::hash_of;
use crate::row::Row;
use crate::shared::{free_unseen, retire_version};
use crate::version::{Version, VersionState};
use memory::{RegionFull, Urgency};
use types::{Epoch, IndexId};

impl Fragment {
    /// Puts a committed row in the place of one of at most the same epoch, or deletes that; does nothing if there is
    /// one of a higher epoch. Secondary indexes get no entries: the fragment was made without any. May use the last 5 %
    /// of DataMemory.
    pub fn load(&mut self, key: &[u8], epoch: Epoch, row: Option<&[u8]>) -> Result<(), RegionFull> {
        let (core, owner) = self.parts();
        // SAFETY: the owner does not reclaim here.
        let (found, set) = unsafe { (core.hash.find(hash_of(key), key), core.index_set()) };
        stdx::require!(set.indexes.is_empty(), "rows are loaded before there are indexes");
        let newest = found.and_then(Row::newest);
        if let Some(newest) = newest {
            let VersionState::Committed(known) = newest.state() else {
                stdx::require!(false, "a row is loaded below an open transaction");
                return Ok(());
            };
            if known > epoch {
                return Ok(());
            }
        }
        match (row, found) {
            (None, None) => {}
            (None, Some(found)) => {
                core.unlink_where(owner, found, None, |_| true);
                core.drop_if_empty(owner, found);
            }
            (Some(bytes), found) => {
                let state = VersionState::Committed(epoch);
                let version =
                    Version::allocate(&mut owner.arena, state, Some(bytes), None, Urgency::Restart)?;
                let row = match found {
                    Some(row) => row,
                    None => core
                        .add_row(owner, key, Urgency::Restart)
                        .inspect_err(|_| free_unseen(owner, version))?,
                };
                row.set_newest(Some(version));
                owner.versions += 1;
                if let Some(newest) = newest {
                    retire_version(owner, newest);
                }
            }
        }
        owner.arena.tidy();
        Ok(())
    }

    /// As [`Fragment::backfill`], but it may use the last 5 % of DataMemory.
    pub fn load_index(
        &mut self,
        index: IndexId,
        after_key: Option<&[u8]>,
        rows: u32,
    ) -> Result<BackfillProgress, RegionFull> {
        self.fill(index, after_key, rows, Urgency::Restart)
    }
}

#[cfg(test)]
mod tests;
