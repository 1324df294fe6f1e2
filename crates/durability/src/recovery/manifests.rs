//! The checkpoints that a starting node finds: which of them count, and what they need of the log.
//!
//! [`ManifestScan`] reads every manifest once. The [`Manifests`] say to which epochs the node can be brought, which
//! block is the first that it needs, and which files are of no use any more.
//!
//! **Missing.** A manifest that is damaged, or that another one names and that is not there, is missing: only
//! the whole log has the rows of its slot. So the log is needed from its first block on. A manifest that was emptied
//! before it was removed is not there, even if a loss of power undoes the removal.
//!
//! **Stale.** A node that begins without rows makes its manifests void before it begins a new log. A disk that
//! has lost such a write still has a manifest of the old log. Its positions lie in files that a later life wrote.
//!
//! Invariants: no file goes while a manifest is missing, or before the names of all manifests are on disk. Nothing here
//! reads a row.
//!
//! Deliberately not here: the rows (`checkpoint`), and the blocks of the log (`scan`).

use super::chain::Found;
use super::scan::ScanError;
use crate::block::Position;
use crate::checkpoint::CheckpointReader;
use crate::manifest::{FragmentCheckpoint, Manifest, ManifestError};
use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use types::{Epoch, NodeId, SlotId, TableId};

/// A longer manifest is none: it would have a million tables.
const MANIFEST_SIZE_MAX: u64 = 64 << 20;

/// The reading of all manifests.
#[derive(Debug)]
pub struct ManifestScan {
    cluster: String,
    node: NodeId,
    left: VecDeque<(SlotId, u64)>,
    asked: Option<SlotId>,
    found: Manifests,
}

/// The checkpoints of a node, as its manifests name them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Manifests {
    manifests: BTreeMap<SlotId, Manifest>,
    /// Slots with a manifest that cannot be read.
    damaged: BTreeSet<SlotId>,
    /// The numbers of all files with pieces, whether a manifest names them or not.
    files: BTreeSet<u64>,
}

impl ManifestScan {
    /// The reading of those of `files` that are manifests, as the disk has listed them, for a node of this cluster.
    #[must_use]
    pub fn new(cluster: &str, node: NodeId, files: &[(FileName, u64)]) -> Self {
        let mut found = Manifests::default();
        let mut left = VecDeque::new();
        for (name, size) in files {
            match name {
                FileName::Manifest(slot) => left.push_back((*slot, *size)),
                FileName::Piece(number) => {
                    found.files.insert(*number);
                }
                FileName::ControlLog
                | FileName::Redo(_)
                | FileName::RedoSpare(_)
                | FileName::Claim
                | FileName::Scratch(_) => {}
            }
        }
        Self { cluster: cluster.to_owned(), node, left, asked: None, found }
    }

    /// The next read; `None` while one is under way, and when all is read.
    pub fn poll(&mut self) -> Option<DiskOperation> {
        if self.asked.is_some() {
            return None;
        }
        let (slot, size) = self.left.pop_front()?;
        self.asked = Some(slot);
        let length = size.min(MANIFEST_SIZE_MAX);
        Some(DiskOperation::Read { file: FileName::Manifest(slot), offset: 0, length })
    }

    /// The answer to the last read.
    pub fn on_done(&mut self, result: Result<DiskAnswer, DiskError>) -> Result<(), ScanError> {
        let Some(slot) = self.asked.take() else { return Ok(()) };
        let decoded = match result {
            Ok(DiskAnswer::Bytes(bytes)) if bytes.is_empty() => return Ok(()),
            Ok(DiskAnswer::Bytes(bytes)) => Manifest::decode(&bytes, slot, &self.cluster, self.node),
            Err(DiskError::Absent) => Err(ManifestError::Bad),
            Ok(DiskAnswer::Done | DiskAnswer::Files(_) | DiskAnswer::Space { .. }) | Err(DiskError::Full) => {
                return Err(ScanError::Disk("an answer that is none to a read".to_owned()));
            }
            Err(DiskError::Failed(text)) => return Err(ScanError::Disk(text)),
        };
        match decoded {
            Ok(manifest) => {
                self.found.manifests.insert(slot, manifest);
            }
            Err(ManifestError::Bad) => {
                self.found.damaged.insert(slot);
            }
            Err(ManifestError::Foreign(text)) => return Err(ScanError::Foreign(text)),
        }
        Ok(())
    }

    /// The checkpoints, when everything was read.
    #[must_use]
    pub fn finish(self) -> Manifests {
        stdx::require!(
            self.asked.is_none() && self.left.is_empty(),
            "manifests are judged before they are read"
        );
        self.found
    }
}

impl Manifests {
    /// The manifests, in the order of slots.
    pub fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        self.manifests.values()
    }

    /// The fragments that have checkpoints, in the order of slots and tables.
    pub fn fragments(&self) -> impl Iterator<Item = (SlotId, &FragmentCheckpoint)> {
        self.manifests()
            .flat_map(|manifest| manifest.fragments.iter().map(|fragment| (manifest.slot, fragment)))
    }

    /// The slots that have to have a manifest, and have no good one.
    #[must_use]
    pub fn missing(&self) -> BTreeSet<SlotId> {
        let named = self.manifests().flat_map(|manifest| &manifest.slots);
        let lacking = named.filter(|slot| !self.manifests.contains_key(slot));
        lacking.chain(&self.damaged).copied().collect()
    }

    /// The highest epoch of all checkpoints: the node cannot be brought to an older one.
    #[must_use]
    pub fn low(&self) -> Epoch {
        self.manifests().map(Manifest::low).max().unwrap_or(Epoch(0))
    }

    /// The first block that is needed.
    #[must_use]
    pub fn required(&self) -> Position {
        let least = self.manifests().map(Manifest::required).min();
        least.filter(|_| self.missing().is_empty()).unwrap_or(Position(1))
    }

    /// Whether the checkpoints were made from this log.
    #[must_use]
    pub fn are_of(&self, found: &Found) -> bool {
        self.manifests().all(|manifest| {
            // The block at a position may have come later, the one before it was there.
            let is_later = |position: u64| {
                let before = Position(position.saturating_sub(1));
                found.lineage_at(before).is_none_or(|writer| writer <= manifest.lineage)
            };
            let fragments = manifest.fragments.iter().map(|fragment| fragment.position);
            found.has_founding(manifest.founding) && fragments.chain([manifest.position]).all(is_later)
        })
    }

    /// The reading of all checkpoints, one after the other.
    #[must_use]
    pub fn readers(&self) -> VecDeque<CheckpointReader> {
        let of_manifest = |manifest: &Manifest| {
            let with_pieces = manifest.fragments.iter().filter(|fragment| fragment.pieces > 0);
            with_pieces.map(|fragment| CheckpointReader::new(manifest, fragment)).collect::<Vec<_>>()
        };
        self.manifests().flat_map(of_manifest).collect()
    }

    /// A checkpoint turned out to be bad: what has to be done before the node starts again without it.
    #[must_use]
    pub fn give_up(&self, slot: SlotId, table: TableId) -> Option<DiskOperation> {
        let manifest = self.manifests.get(&slot)?.clone().without(table);
        Some(DiskOperation::Replace { file: FileName::Manifest(slot), bytes: manifest.encode() })
    }

    /// The names of manifests are on disk when this is done, whatever an earlier process has not synced. Then the files
    /// that none of them names go.
    #[must_use]
    pub fn tidying(&self) -> VecDeque<DiskOperation> {
        let replace = |manifest: &Manifest| DiskOperation::Replace {
            file: FileName::Manifest(manifest.slot),
            bytes: manifest.encode(),
        };
        // One of them does: all are in one folder.
        let mut operations: VecDeque<DiskOperation> = self.manifests().take(1).map(replace).collect();
        if self.missing().is_empty() {
            let with_pieces = self.fragments().filter(|(_, fragment)| fragment.pieces > 0);
            let named: BTreeSet<u64> = with_pieces.map(|(_, fragment)| fragment.file).collect();
            let orphans = self.files.difference(&named).map(|number| FileName::Piece(*number));
            operations.extend(orphans.map(|file| DiskOperation::Remove { file }));
        }
        operations
    }
}

#[cfg(test)]
mod tests;
