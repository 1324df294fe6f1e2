//! Sending: what is open, and what the new primary may lack, packed into pieces.

use super::Room;
use crate::ldm::Work;
use crate::ldm::slot::Slot;
use crate::ldm::slot::backup::Applied;
use crate::ldm::slot::commit::ship::size_of_write;
use crate::ldm::slot::lock_wait::Run;
use crate::ldm::slot::transaction::Operation;
use crate::ldm::{Context, Fragments};
use protocol::Signal;
use protocol::program::{LockMode, TableRef};
use protocol::signal::{
    Claim, HandOver, HandedOperation, HandedTransaction, HandedWait, Replicate, ReplicatedWrite, Writes,
};
use std::collections::{BTreeMap, VecDeque};
use storage::RowHandle;
use types::{Incarnation, NodeId, SlotId, TableId, TransactionId};

/// Operations of a piece.
const PIECE_OPERATIONS: usize = 500;
/// Bytes after which a piece ends.
const PIECE_BYTES: usize = 128 * 1024;

/// The versions of a transaction on a row, the newest first (None: it deleted it).
type StagedRow<'a> = VecDeque<Option<&'a [u8]>>;

impl Slot {
    /// Sends what is open to the primary of the installed view, and the report, once no slices are under way.
    pub(in crate::ldm) fn hand_over(&mut self, context: &mut Context<'_>) {
        let is_due = self.role.hand_out().is_some_and(|hand_out| !hand_out.is_sent);
        if self.is_primary() || !is_due || self.has_slices(context) {
            return;
        }
        let Some(primary) = context.map.primary(self.id) else { return };
        let info = context.map.view.node(primary.node);
        let life = info.map(|info| (primary.node, info.incarnation));
        let is_claimed = self.claim(context).is_some();
        if is_claimed {
            for piece in self.pieces(context) {
                context.send(primary, Signal::HandOver(Box::new(piece)));
            }
        }
        if let Some(hand_out) = self.role.hand_out_mut() {
            hand_out.is_sent = true;
            let is_new = |life: &(NodeId, Incarnation)| is_claimed && !hand_out.sent_to.contains(life);
            hand_out.sent_to.extend(life.filter(is_new));
        }
        self.report(context);
    }

    /// Whether something goes on in slices that a report must not be ahead of: undoing, publishing, what was sealed
    /// here becoming a backup's.
    pub(in crate::ldm) fn has_slices(&self, context: &Context<'_>) -> bool {
        context.jobs.of(self.id).any(|(_, work)| match work {
            Work::Publish(_) | Work::Undo(_) => true,
            Work::Mark(_) => self.is_elsewhere(),
            Work::Read(_) | Work::Sweep(_) => false,
        })
    }

    /// The line that this member has, if the installed view still follows it.
    pub(in crate::ldm) fn claim(&self, context: &Context<'_>) -> Option<Claim> {
        let since = context.map.view.place(self.id)?.since;
        self.takeover.line.claim().filter(|claim| claim.acquired >= since)
    }

    /// Slices ended: what waited for them goes on.
    #[inline]
    pub(in crate::ldm) fn after_slices(&mut self, context: &mut Context<'_>) {
        if context.progress.takeover_count > 0 && !context.progress.is_entering {
            self.hand_over(context);
            self.finish_gathering(context);
        }
    }

    fn pieces(&self, context: &Context<'_>) -> Vec<HandOver> {
        let mut pieces = Pieces::new(self.id);
        let Some(hand_out) = self.role.hand_out() else { return pieces.pieces };
        let mut room = hand_out.room;
        for (transaction, applied) in self.applied_in_order() {
            let writes = self.sealed_writes(transaction, applied, &mut room, context.fragments);
            let Some((writes, bytes)) = writes else { continue };
            let replicate = Replicate {
                slot: self.id,
                sequence: applied.sequence,
                transaction,
                epoch: applied.epoch,
                decider: applied.decider,
                participants: applied.participants.clone(),
                marker: applied.marker.clone(),
                pieces_ahead: Some(0),
                writes,
            };
            pieces.last(bytes).places.push((applied.stream, replicate));
        }
        for transaction in self.open() {
            self.add_open(transaction, &mut pieces, context);
        }
        for run in &hand_out.waits {
            pieces.last(run.handed_size()).waits.push(run.handed());
        }
        for (node, transactions) in &self.void {
            for transaction in transactions {
                pieces.last(0).void.push((*node, *transaction));
            }
        }
        pieces.pieces
    }

    /// The rows of a sealed transaction, and their size, if there is room for them.
    fn sealed_writes(
        &self,
        transaction: TransactionId,
        applied: &Applied,
        room: &mut Room,
        fragments: &Fragments,
    ) -> Option<(Writes, usize)> {
        let mut left = *room;
        let (mut writes, mut bytes) = (Writes::new(), 0);
        for (table, row) in &applied.rows {
            let write = self.staged_write(transaction, *table, *row, fragments);
            let Some(write) = write else { continue };
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
    fn staged_write(
        &self,
        transaction: TransactionId,
        table: TableId,
        row: RowHandle,
        fragments: &Fragments,
    ) -> Option<ReplicatedWrite> {
        let fragment = fragments.get(&(table, self.id))?;
        let bytes = fragment.staged_row(row, transaction)?;
        let table = TableRef { id: table, version: 0 };
        Some(ReplicatedWrite::new(table, fragment.key_of(row), bytes))
    }

    /// An open transaction: each operation with the version that it staged, so that the new primary can undo the same.
    fn add_open(&self, transaction: TransactionId, pieces: &mut Pieces, context: &Context<'_>) {
        let Some(held) = self.held.get(&transaction) else { return };
        let Some(session) = held.session else { return };
        for operation in self.handed_operations(transaction, &held.operations, context) {
            let bytes = match &operation {
                HandedOperation::Staged(write) => size_of_write(write),
                HandedOperation::Locked { key, .. } => key.len(),
            };
            let piece = pieces.last(bytes);
            match piece.transactions.last_mut().filter(|last| last.transaction == transaction) {
                Some(last) => last.operations.push(operation),
                None => {
                    let operations = vec![operation];
                    piece.transactions.push(HandedTransaction { transaction, session, operations });
                }
            }
        }
    }

    fn handed_operations(
        &self,
        transaction: TransactionId,
        operations: &[Operation],
        context: &Context<'_>,
    ) -> Vec<HandedOperation> {
        // From the last one: the newest version of a row is that of the last operation on it.
        let mut versions: BTreeMap<(TableId, RowHandle), StagedRow<'_>> = BTreeMap::new();
        let mut handed = Vec::with_capacity(operations.len());
        for operation in operations.iter().rev() {
            handed.push(match operation {
                Operation::Locked(key) => HandedOperation::Locked {
                    table: key.table,
                    key: key.key.clone(),
                    mode: context.locks.mode_of(key, transaction).unwrap_or(LockMode::Shared),
                },
                Operation::Staged { table, version, row, .. } => {
                    let fragment = context.fragments.get(&(*table, self.id));
                    let of_row = versions.entry((*table, *row)).or_insert_with(|| {
                        let staged = fragment.map(|fragment| fragment.staged_versions(*row, transaction));
                        staged.into_iter().flatten().collect()
                    });
                    match (fragment, of_row.pop_front()) {
                        (Some(fragment), Some(bytes)) => {
                            let table = TableRef { id: *table, version: *version };
                            HandedOperation::Staged(ReplicatedWrite::new(table, fragment.key_of(*row), bytes))
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
        handed.reverse();
        handed
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
    /// The count of the last one.
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
