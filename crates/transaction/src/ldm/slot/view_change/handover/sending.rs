//! Sending: what is open, and what the new primary may lack, packed into pieces.

use super::Room;
use crate::ldm::slot::Slot;
use crate::ldm::slot::backup::Applied;
use crate::ldm::slot::lock_wait::Run;
use crate::ldm::slot::transaction::Operation;
use crate::ldm::{Job, Ldm, Place};
use protocol::program::{LockMode, TableRef};
use protocol::signal::{
    Claim, HandOver, HandedOperation, HandedTransaction, HandedWait, Replicate, ReplicatedWrite,
};
use protocol::{Outputs, Signal};
use query::Shared;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use storage::RowHandle;
use types::{Incarnation, NodeId, SlotId, TableId};

/// Operations of a piece.
const PIECE_OPERATIONS: usize = 500;
/// Bytes after which a piece ends.
const PIECE_BYTES: usize = 128 * 1024;

/// What a transaction staged on a row, the newest first (None: it deleted it).
type StagedRow = VecDeque<Option<Arc<[u8]>>>;

impl Ldm {
    /// Sends what is open to the primary of the installed view, and the report, once no slices are under way.
    pub(in crate::ldm) fn hand_over(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let is_due = |state: &&Slot| {
            !state.is_primary && state.hand_out.as_ref().is_some_and(|hand_out| !hand_out.is_sent)
        };
        if self.slot(slot).filter(is_due).is_none() || self.has_slices(slot) {
            return;
        }
        let Some(primary) = self.map.primary(slot) else { return };
        let life = self.map.view.node(primary.node).map(|info| (primary.node, info.incarnation));
        let is_claimed = self.claim_of(slot).is_some();
        if is_claimed {
            for piece in self.pieces(slot) {
                outputs.send(self.address, primary, Signal::HandOver(Box::new(piece)));
            }
        }
        if let Some(hand_out) = self.slots.get_mut(&slot).and_then(|state| state.hand_out.as_mut()) {
            hand_out.is_sent = true;
            let is_new = |life: &(NodeId, Incarnation)| is_claimed && !hand_out.sent_to.contains(life);
            hand_out.sent_to.extend(life.filter(is_new));
        }
        self.report(slot, outputs);
    }

    /// Whether something goes on in slices that a report must not be ahead of: undoing, publishing, what was sealed here becoming a backup's.
    pub(in crate::ldm) fn has_slices(&self, slot: SlotId) -> bool {
        self.jobs.values().any(|job| match job {
            Job::Publish(publish) => publish.place.1 == slot,
            Job::Undo(undo) => undo.slot() == slot,
            Job::Mark(mark) => mark.place.1 == slot && self.is_elsewhere(slot),
            Job::Read(_)
            | Job::Backfill(_)
            | Job::Copy(_)
            | Job::Clear(_)
            | Job::Visit(_)
            | Job::Sweep(_)
            | Job::Look(_) => false,
        })
    }

    /// The line that this member has, if the installed view still follows it.
    pub(in crate::ldm) fn claim_of(&self, slot: SlotId) -> Option<Claim> {
        let since = self.map.view.place(slot)?.since;
        self.slot(slot)?.takeover.claim().filter(|claim| claim.acquired >= since)
    }

    /// Slices ended: what waited for them goes on.
    pub(in crate::ldm) fn after_slices(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        if self.unsettled_count > 0 && !self.is_entering {
            self.hand_over(slot, outputs);
            self.finish_gathering(slot, outputs);
        }
    }

    fn pieces(&self, slot: SlotId) -> Vec<HandOver> {
        let mut pieces = Pieces::new(slot);
        let Some(hand_out) = self.slot(slot).and_then(|state| state.hand_out.as_ref()) else {
            return pieces.pieces;
        };
        let mut room = hand_out.room;
        for (transaction, stream, sequence) in self.applied_of(slot) {
            let Some(applied) = self.applied.get(&(transaction, slot)) else { continue };
            let Some((writes, bytes)) = self.sealed_writes((transaction, slot), applied, &mut room) else {
                continue;
            };
            let replicate = Replicate {
                slot,
                sequence,
                transaction,
                epoch: applied.epoch,
                coordinator: applied.coordinator,
                participants: Arc::clone(&applied.participants),
                marker: applied.marker.clone(),
                pieces_ahead: 0,
                writes,
            };
            pieces.last(bytes).places.push((stream, replicate));
        }
        for place in self.open_of(slot) {
            self.add_open(place, &mut pieces);
        }
        for run in &hand_out.waits {
            pieces.last(run.handed_size()).waits.push(run.handed());
        }
        for (node, places) in &self.void {
            for (transaction, _) in places.iter().filter(|(_, of)| *of == slot) {
                pieces.last(0).void.push((*node, *transaction));
            }
        }
        pieces.pieces
    }

    /// The rows of a sealed transaction, and their size, if there is room for them.
    fn sealed_writes(
        &self,
        place: Place,
        applied: &Applied,
        room: &mut Room,
    ) -> Option<(Vec<ReplicatedWrite>, usize)> {
        let mut left = *room;
        let (mut writes, mut bytes) = (Vec::new(), 0);
        for (table, row) in &applied.rows {
            let Some(write) = self.staged_write(place, *table, *row) else { continue };
            let size = size_of_write(&write);
            if !left.take(1, size) {
                return None;
            }
            bytes += size;
            writes.push(write);
        }
        *room = left;
        Some((writes, bytes))
    }

    /// The newest bytes of a transaction on a row.
    fn staged_write(&self, place: Place, table: TableId, row: RowHandle) -> Option<ReplicatedWrite> {
        let fragment = self.fragments.get(&(table, place.1))?;
        let bytes = fragment.staged_row(row, place.0)?;
        let key = fragment.key_of(row).into();
        Some(ReplicatedWrite { table: TableRef { id: table, version: 0 }, key, row: bytes.map(Arc::from) })
    }

    /// An open transaction: each operation with the version that it staged, so that the new primary can undo the same.
    fn add_open(&self, place: Place, pieces: &mut Pieces) {
        let Some(held) = self.held.get(&place) else { return };
        let (transaction, slot) = place;
        // From the last one: the newest version of a row is that of the last operation on it.
        let mut versions: BTreeMap<(TableId, RowHandle), StagedRow> = BTreeMap::new();
        let mut operations = Vec::with_capacity(held.operations.len());
        for operation in held.operations.iter().rev() {
            operations.push(match operation {
                Operation::Locked(key) => HandedOperation::Locked {
                    table: key.table,
                    key: key.key.clone(),
                    mode: self.locks.mode_of(key, transaction).unwrap_or(LockMode::Shared),
                },
                Operation::Staged { table, version, row, .. } => {
                    let fragment = self.fragments.get(&(*table, slot));
                    let of_row = versions.entry((*table, *row)).or_insert_with(|| {
                        let staged = fragment.map(|fragment| fragment.staged_versions(*row, transaction));
                        staged.into_iter().flatten().map(|row| row.map(Arc::from)).collect()
                    });
                    match (fragment, of_row.pop_front()) {
                        (Some(fragment), Some(bytes)) => {
                            let table = TableRef { id: *table, version: *version };
                            let key = fragment.key_of(*row).into();
                            HandedOperation::Staged(ReplicatedWrite { table, key, row: bytes })
                        }
                        // The table was dropped: the operation counts, and does nothing.
                        _ => HandedOperation::Locked {
                            table: *table,
                            key: Box::default(),
                            mode: LockMode::Shared,
                        },
                    }
                }
            });
        }
        for operation in operations.into_iter().rev() {
            let bytes = match &operation {
                HandedOperation::Staged(write) => size_of_write(write),
                HandedOperation::Locked { key, .. } => key.len(),
            };
            let piece = pieces.last(bytes);
            match piece.transactions.last_mut().filter(|last| last.transaction == transaction) {
                Some(last) => last.operations.push(operation),
                None => {
                    let (session, operations) = (held.session, vec![operation]);
                    piece.transactions.push(HandedTransaction { transaction, session, operations });
                }
            }
        }
    }
}

impl Run {
    /// As it travels.
    fn handed(&self) -> HandedWait {
        match self {
            Self::Write(run) => run.handed(),
            Self::Read(run) => run.handed(),
        }
    }

    /// Bytes of that, roughly.
    pub(in crate::ldm) fn handed_size(&self) -> usize {
        match self {
            Self::Write(run) => run.handed_size(),
            Self::Read(run) => run.handed_size(),
        }
    }
}

/// Pieces that are filled one after the other.
struct Pieces {
    slot: SlotId,
    pieces: Vec<HandOver>,
    /// Of the last one.
    count: usize,
    bytes: usize,
}

impl Pieces {
    fn new(slot: SlotId) -> Self {
        Self { slot, pieces: Vec::new(), count: 0, bytes: 0 }
    }

    /// The piece that takes the next thing, of this size.
    fn last(&mut self, bytes: usize) -> &mut HandOver {
        if self.pieces.is_empty() || self.count >= PIECE_OPERATIONS || self.bytes >= PIECE_BYTES {
            (self.count, self.bytes) = (0, 0);
            self.pieces.push(HandOver {
                slot: self.slot,
                places: Vec::new(),
                transactions: Vec::new(),
                waits: Vec::new(),
                void: Vec::new(),
            });
        }
        self.count += 1;
        self.bytes += bytes;
        let last = self.pieces.len() - 1;
        &mut self.pieces[last]
    }
}

fn size_of_write(write: &ReplicatedWrite) -> usize {
    write.key.len() + write.row.as_ref().map_or(0, |row| row.len())
}
