//! The log of a module: every row that it publishes, in the order in which it publishes them.
//!
//! Rows go into an open block. A block that is full goes to the module `disk` of the node. So does the open one, before
//! the module says that an epoch is whole here, and before it lists its fragments for checkpoints. A node without a log
//! (an SQL node, a node with `Diskless`) appends nothing.
//!
//! **The order of a row's entries.** A replay lets an entry take the place of one of a lower or of the same epoch, and
//! knows nothing of a row that it has deleted. So the entries of a row have to stand in the order of its versions. At a
//! backup the later of two transactions may be published first. Then the module remembers what it logged above a
//! version that is still undecided (`Overtaking`). When that one is published:
//! - it is not logged if an entry above it has the same epoch;
//! - otherwise it is logged, and the deletes with which epochs above it end are logged again behind it.
//!
//! Invariants: a row is appended before it is committed in memory, by [`Log::publish`] or [`Log::put`] and nowhere
//! else. All rows of epochs up to e go to `disk` before the word that e is whole here.
//!
//! Deliberately not here: the form of a block, its place in the log, and when it is on disk (`durability`, `node`).

use super::{Context, Ldm};
use crate::mutants::{self, Mutant};
use durability::{Entry, OpenBlock, SealedBlock};
use protocol::program::WriteOperation;
use protocol::redo_room::{RedoRoom, Room};
use protocol::signal::WriteRequest;
use protocol::{Address, Outputs};
use query::{ListedFragment, LoadStep, Loaded, Loader, RestoredFragment, Shared, Shares};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{Duration, FixedMap};
use storage::{Decided, Fragment};
use types::{Epoch, SlotId, TableId, TransactionId};

/// The log of a module, if its node keeps one, and the rows that were restored from it.
#[derive(Default)]
pub(super) struct Redo {
    log: Option<Box<Log>>,
    /// Rows from the disk in the making.
    loader: Option<Box<Loader>>,
    /// Fragments from the disk that no table has claimed yet.
    restored: FixedMap<(TableId, SlotId), Fragment>,
    /// The node joins with the rows of these, which are as they were at the end of this epoch. 0: with none.
    pub(super) base: Epoch,
}

/// The part of the node's log that this module is about to hand over.
pub(super) struct Log {
    /// The number of the ldm.
    instance: u8,
    open: OpenBlock,
    /// Blocks that are full.
    full: Vec<SealedBlock>,
    room: Arc<RedoRoom>,
    /// Entries of rows that lie above undecided versions.
    overtaking: BTreeMap<RowPlace, Vec<Overtaking>>,
}

/// A row of some table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct RowPlace {
    slot: SlotId,
    table: TableId,
    key: Box<[u8]>,
}

/// An entry that was logged before older versions of its row were decided.
#[derive(Debug)]
struct Overtaking {
    epoch: Epoch,
    is_delete: bool,
    /// The transactions whose versions lie below it and were undecided then; never empty.
    below: Vec<TransactionId>,
}

impl Redo {
    /// Of the ldm with this number, on a node that keeps a log.
    pub(super) fn with_log(instance: u8, room: Arc<RedoRoom>) -> Self {
        let open = OpenBlock::new(u16::from(instance));
        let log = Log { instance, open, full: Vec::new(), room, overtaking: BTreeMap::new() };
        Self { log: Some(Box::new(log)), ..Self::default() }
    }

    /// The node was restored: these are the rows of this module.
    pub(super) fn keep_restored(&mut self, fragments: Vec<RestoredFragment>, base: Epoch) {
        self.base = base;
        let placed =
            fragments.into_iter().map(|restored| ((restored.table, restored.slot), restored.fragment));
        self.restored.extend(placed);
    }

    /// The restored rows of a table in a slot, once.
    pub(super) fn take_restored(&mut self, place: (TableId, SlotId)) -> Option<Fragment> {
        self.restored.remove(&place)
    }

    /// The restored rows of tables that are gone.
    pub(super) fn take_unclaimed(&mut self) -> Vec<Fragment> {
        std::mem::take(&mut self.restored).into_values().collect()
    }

    /// The log, if there is one.
    #[inline]
    pub(super) fn log(&mut self) -> Option<&mut Log> {
        self.log.as_deref_mut()
    }

    /// Whether a write may be done now.
    #[inline]
    pub(super) fn room_for(&self, request: &WriteRequest) -> Room {
        let Some(log) = &self.log else { return Room::Free };
        let is_delete = |operation: &WriteOperation| matches!(operation, WriteOperation::Delete { .. });
        let is_last = request.slot == SlotId(0) || request.operations.iter().all(is_delete);
        log.room.of_write(is_last)
    }

    /// Whether the log has room for any write.
    pub(super) fn has_room(&self) -> bool {
        self.log.as_ref().is_none_or(|log| log.room.of_write(false) == Room::Free)
    }

    /// How long a write waits for room before it is refused.
    pub(super) fn wait_max(&self) -> Duration {
        self.log.as_ref().map_or(Duration::ZERO, |log| log.room.wait_max())
    }

    /// Whether blocks are to be handed over.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.log.as_ref().is_some_and(|log| !log.full.is_empty())
    }

    /// A table is gone: nothing more is published in it.
    pub(super) fn forget_table(&mut self, table: TableId) {
        if let Some(log) = self.log() {
            log.overtaking.retain(|place, _| place.table != table);
        }
    }
}

impl Log {
    /// A row that needs no order: nobody has an undecided version of it.
    pub(super) fn put(&mut self, place: (TableId, SlotId), row: &Decided<'_>, epoch: Epoch) {
        self.append(place, row.key(), row.row(), epoch);
    }

    #[inline]
    fn append(&mut self, (table, slot): (TableId, SlotId), key: &[u8], row: Option<&[u8]>, epoch: Epoch) {
        if let Some(full) = self.open.append(&Entry { slot, table, epoch, key, row }) {
            self.room.add(full.size() as u64);
            self.full.push(full);
        }
        self.room.set_open(self.instance, self.open.size() as u64);
    }

    /// A row that a transaction publishes.
    #[inline]
    pub(super) fn publish(
        &mut self,
        place: (TableId, SlotId),
        row: &Decided<'_>,
        transaction: TransactionId,
        epoch: Epoch,
    ) {
        let mut above = BTreeMap::new();
        if !self.overtaking.is_empty() {
            above = self.decide(place, row.key(), transaction);
        }
        let mut is_overtaken = above.contains_key(&epoch);
        if mutants::is(Mutant::SameEpochOutOfOrder) {
            is_overtaken = false;
        }
        if is_overtaken {
            return;
        }
        self.put(place, row, epoch);
        if mutants::is(Mutant::EntryNotRepeated) {
            above.clear();
        }
        for (epoch, is_delete) in above {
            if is_delete {
                self.append(place, row.key(), None, epoch);
            }
        }
        if row.open_below().next().is_some() {
            self.overtake(place, row, epoch);
        }
    }

    /// An entry was logged while older versions of its row are undecided.
    #[cold]
    fn overtake(&mut self, (table, slot): (TableId, SlotId), row: &Decided<'_>, epoch: Epoch) {
        let place = RowPlace { slot, table, key: row.key().into() };
        let entry = Overtaking { epoch, is_delete: row.row().is_none(), below: row.open_below().collect() };
        self.overtaking.entry(place).or_default().push(entry);
    }

    /// The outcome of a transaction on a row is known. Gives the epochs of the entries that stand above its version,
    /// and whether the newest entry of each is a delete.
    #[cold]
    fn decide(
        &mut self,
        (table, slot): (TableId, SlotId),
        key: &[u8],
        transaction: TransactionId,
    ) -> BTreeMap<Epoch, bool> {
        let place = RowPlace { slot, table, key: key.into() };
        let mut above = BTreeMap::new();
        let Some(entries) = self.overtaking.get_mut(&place) else { return above };
        entries.retain_mut(|entry| {
            let count = entry.below.len();
            entry.below.retain(|other| *other != transaction);
            if entry.below.len() < count {
                // Of two entries of an epoch the later one is the newer one: else it would not have been logged.
                above.insert(entry.epoch, entry.is_delete);
            }
            !entry.below.is_empty()
        });
        if entries.is_empty() {
            self.overtaking.remove(&place);
        }
        above
    }

    /// A transaction's version of a row is undone.
    #[inline]
    pub(super) fn undo(&mut self, place: (TableId, SlotId), key: &[u8], transaction: TransactionId) {
        if !self.overtaking.is_empty() {
            self.decide(place, key, transaction);
        }
    }
}

impl Ldm {
    /// `disk` has rows for this module.
    pub(super) fn load(&mut self, step: LoadStep, outputs: &mut Outputs<Shared>) {
        let Address { node, instance, .. } = self.address;
        let new = || {
            let shares = Shares { ldms: 1, replicas: 1 };
            Box::new(Loader::new(Arc::clone(&self.reclaim.memory), shares, Some(instance)))
        };
        let loaded = self.redo.loader.get_or_insert_with(new).step(step);
        if matches!(loaded, Loaded::All(_)) {
            self.redo.loader = None;
        }
        outputs.share(self.address, Address::disk(node), Shared::Loaded(loaded));
    }
}

impl Context<'_> {
    /// Hands over the blocks that are full. With `whole` it is everything that was logged since the last time. Then
    /// all rows that were ever decided here with an epoch up to `whole` are in it, or were handed over before.
    pub(super) fn hand_over_redo(&mut self, whole: Option<Epoch>) {
        if whole.is_some() {
            self.seal_redo();
        }
        let Some(log) = self.redo.log() else { return };
        let blocks = std::mem::take(&mut log.full);
        let disk = Address::disk(self.address.node);
        self.outputs.share(self.address, disk, Shared::Redo { blocks, whole });
    }

    /// Ends the open block.
    fn seal_redo(&mut self) {
        let Some(log) = self.redo.log() else { return };
        if let Some(block) = log.open.seal() {
            log.room.add(block.size() as u64);
            log.room.set_open(log.instance, 0);
            log.full.push(block);
        }
    }

    /// Hands over everything that was logged, then says which fragments there are. So what is published later than it
    /// is said here is logged behind these blocks, and nothing else.
    pub(super) fn list_fragments(&mut self) {
        self.seal_redo();
        self.hand_over_redo(None);
        let state = |(place, fragment): (&(TableId, SlotId), &Fragment)| {
            let statistics = fragment.statistics();
            ListedFragment {
                table: place.0,
                slot: place.1,
                commits: fragment.tally.commits,
                rows: statistics.rows,
                bytes: statistics.data_bytes,
            }
        };
        let listed = self.fragments.iter().map(state).collect();
        let disk = Address::disk(self.address.node);
        self.outputs.share(self.address, disk, Shared::FragmentsListed(listed));
    }
}

#[cfg(test)]
mod tests;
