//! The checkpoints that the fragments of a node have, in memory and as the manifests on disk have them.
//!
//! Memory is ahead of the disk. A fragment that did not change gets the position of the newest list. A new checkpoint
//! counts as soon as its file is synced. The manifests follow when the epoch is durable.
//!
//! Invariants:
//! - a fragment's checkpoint and the log from its position on are all that was ever published in it;
//! - `is_on_disk` says of a file whether some manifest on disk may name it, whatever a write under way has done;
//! - `needed` is at most the least position that some manifest on disk has, and `None` until all slots have one.
//!
//! Deliberately not here: requests to the disk, and when (`checkpoint`).

use durability::pace::FragmentState;
use durability::{FragmentCheckpoint, Manifest, Position};
use query::ListedFragment;
use std::collections::{BTreeMap, BTreeSet};
use types::{Epoch, SlotId, TableId};

/// The first block of a log: nothing is before it.
const FIRST: Position = Position(1);

/// A fragment with its newest checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    checkpoint: FragmentCheckpoint,
    /// How many rows had been published in it at the position; none: not known.
    commits: Option<u64>,
    bytes: u64,
    is_changed: bool,
}

/// The manifest on disk, or several of which one is there.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OnDisk {
    needed: Position,
    files: BTreeSet<u64>,
    /// It is there for certain.
    is_certain: bool,
}

/// A slot.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OfSlot {
    /// Fragments that are not known have nothing in the log before.
    position: Position,
    fragments: BTreeMap<TableId, Known>,
    on_disk: Option<OnDisk>,
}

impl OfSlot {
    fn new() -> Self {
        Self { position: FIRST, fragments: BTreeMap::new(), on_disk: None }
    }

    /// The least position that its manifest would have.
    fn least(&self) -> Position {
        let positions = self.fragments.values().map(|known| Position(known.checkpoint.position));
        positions.fold(self.position, Position::min)
    }
}

/// All fragments of a node.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    slots: BTreeMap<SlotId, OfSlot>,
}

impl Fragments {
    /// A manifest that the node was restored from.
    pub(super) fn restore(&mut self, manifest: &Manifest) {
        let known = |checkpoint: &FragmentCheckpoint| {
            let bytes = checkpoint.length;
            (checkpoint.table, Known { checkpoint: *checkpoint, commits: None, bytes, is_changed: true })
        };
        let of_slot = OfSlot {
            position: Position(manifest.position),
            fragments: manifest.fragments.iter().map(known).collect(),
            on_disk: Some(OnDisk {
                needed: manifest.required(),
                files: files_of(manifest),
                is_certain: true,
            }),
        };
        self.slots.insert(manifest.slot, of_slot);
    }

    /// The ldms have listed their fragments: those of a slot at a position. Commits that they count are in the log
    /// before it, and all others are behind it. Nothing was committed in an epoch above `epoch` by then. A fragment
    /// that is not listed is gone if its table is.
    pub(super) fn list(
        &mut self,
        positions: &BTreeMap<SlotId, Position>,
        listed: &[ListedFragment],
        epoch: Epoch,
        has_table: impl Fn(TableId) -> bool,
    ) {
        let places: BTreeSet<(SlotId, TableId)> =
            listed.iter().map(|fragment| (fragment.slot, fragment.table)).collect();
        for slot in positions.keys() {
            let of_slot = self.slots.entry(*slot).or_insert_with(OfSlot::new);
            of_slot.fragments.retain(|table, _| places.contains(&(*slot, *table)) || has_table(*table));
        }
        for fragment in listed {
            let Some(position) = positions.get(&fragment.slot) else { continue };
            let Some(of_slot) = self.slots.get_mut(&fragment.slot) else { continue };
            let since = of_slot.position;
            let begun = || Known {
                checkpoint: empty(fragment.table, since, Epoch(0)),
                commits: None,
                bytes: 0,
                is_changed: true,
            };
            let known = of_slot.fragments.entry(fragment.table).or_insert_with(begun);
            known.bytes = fragment.bytes;
            known.is_changed = known.commits != Some(fragment.commits);
            if known.is_changed && fragment.rows == 0 && fragment.commits == 0 {
                // It is empty, and nothing made it so in this life.
                known.checkpoint = empty(fragment.table, *position, epoch);
                (known.commits, known.is_changed) = (Some(0), false);
            }
            if !known.is_changed {
                known.checkpoint.position = position.0;
            }
        }
        for (slot, position) in positions {
            if let Some(of_slot) = self.slots.get_mut(slot) {
                of_slot.position = *position;
            }
        }
    }

    /// The fragments for the choice of the next one.
    pub(super) fn states(&self, held_from: impl Fn(Position) -> u64) -> Vec<FragmentState> {
        let mut held = BTreeMap::new();
        let mut states = Vec::new();
        for (slot, of_slot) in &self.slots {
            states.extend(of_slot.fragments.values().map(|known| {
                let position = Position(known.checkpoint.position);
                FragmentState {
                    slot: *slot,
                    table: known.checkpoint.table,
                    held: *held.entry(position).or_insert_with(|| held_from(position)),
                    bytes: known.bytes,
                    is_changed: known.is_changed,
                }
            }));
        }
        states
    }

    /// A checkpoint of a fragment is synced; so many rows had been published at its position.
    pub(super) fn put(&mut self, slot: SlotId, checkpoint: FragmentCheckpoint, commits: u64) {
        let known = self.slots.get_mut(&slot).and_then(|slot| slot.fragments.get_mut(&checkpoint.table));
        if let Some(known) = known {
            known.checkpoint = checkpoint;
            known.commits = Some(commits);
            known.is_changed = false;
        }
    }

    /// The least position of all checkpoints in memory.
    pub(super) fn least(&self) -> Position {
        self.slots.values().map(OfSlot::least).min().unwrap_or(FIRST)
    }

    /// The slots that have no manifest for certain.
    pub(super) fn without_manifest(&self) -> Vec<SlotId> {
        let is_missing =
            |of_slot: &OfSlot| of_slot.on_disk.as_ref().is_none_or(|on_disk| !on_disk.is_certain);
        self.slots.iter().filter(|(_, of_slot)| is_missing(of_slot)).map(|(slot, _)| *slot).collect()
    }

    /// The slots whose manifests lack what is in `changed`, or hold more of the log than all checkpoints would.
    pub(super) fn outdated(
        &self,
        changed: &BTreeSet<SlotId>,
        held_from: impl Fn(Position) -> u64,
    ) -> Vec<SlotId> {
        let least = held_from(self.least());
        let holds = |of_slot: &OfSlot| {
            of_slot.on_disk.as_ref().is_none_or(|on_disk| held_from(on_disk.needed) > least)
        };
        let slots = self.slots.iter().filter(|(slot, of_slot)| changed.contains(*slot) || holds(of_slot));
        slots.map(|(slot, _)| *slot).collect()
    }

    /// All slots of the node.
    pub(super) fn slots(&self) -> Vec<SlotId> {
        self.slots.keys().copied().collect()
    }

    /// The contents of a slot's manifest: its position, and its fragments in the order of tables.
    pub(super) fn manifest_of(&self, slot: SlotId) -> (Position, Vec<FragmentCheckpoint>) {
        let Some(of_slot) = self.slots.get(&slot) else { return (FIRST, Vec::new()) };
        (of_slot.position, of_slot.fragments.values().map(|known| known.checkpoint).collect())
    }

    /// A manifest is about to be written: from now on either is there.
    pub(super) fn begin_to_write(&mut self, manifest: &Manifest) {
        let Some(of_slot) = self.slots.get_mut(&manifest.slot) else { return };
        let new = OnDisk { needed: manifest.required(), files: files_of(manifest), is_certain: false };
        of_slot.on_disk = Some(match of_slot.on_disk.take() {
            None => new,
            Some(old) => OnDisk {
                needed: old.needed.min(new.needed),
                files: old.files.union(&new.files).copied().collect(),
                ..old
            },
        });
    }

    /// It is there.
    pub(super) fn end_to_write(&mut self, manifest: &Manifest) {
        let Some(of_slot) = self.slots.get_mut(&manifest.slot) else { return };
        of_slot.on_disk =
            Some(OnDisk { needed: manifest.required(), files: files_of(manifest), is_certain: true });
    }

    /// Whether a manifest on disk may name this file.
    pub(super) fn is_on_disk(&self, file: u64) -> bool {
        let mut on_disk = self.slots.values().filter_map(|of_slot| of_slot.on_disk.as_ref());
        on_disk.any(|on_disk| on_disk.files.contains(&file))
    }

    /// Whether a checkpoint in memory is in this file.
    pub(super) fn is_current(&self, file: u64) -> bool {
        let mut fragments = self.slots.values().flat_map(|of_slot| of_slot.fragments.values());
        fragments.any(|known| known.checkpoint.pieces > 0 && known.checkpoint.file == file)
    }

    /// The first block that the manifests on disk need; none, if some slot may have no manifest.
    pub(super) fn needed(&self) -> Option<Position> {
        let certain = |of_slot: &OfSlot| {
            of_slot.on_disk.as_ref().filter(|on_disk| on_disk.is_certain).map(|on_disk| on_disk.needed)
        };
        let positions: Option<Vec<Position>> = self.slots.values().map(certain).collect();
        positions?.into_iter().min()
    }
}

/// The checkpoint of a fragment without rows.
fn empty(table: TableId, position: Position, epoch: Epoch) -> FragmentCheckpoint {
    let (file, offset, length, pieces, rows) = (0, 0, 0, 0, 0);
    FragmentCheckpoint { table, epoch, position: position.0, file, offset, length, pieces, rows }
}

fn files_of(manifest: &Manifest) -> BTreeSet<u64> {
    let with_rows = manifest.fragments.iter().filter(|fragment| fragment.pieces > 0);
    with_rows.map(|fragment| fragment.file).collect()
}
