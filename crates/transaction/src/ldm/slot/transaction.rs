//! A transaction at a primary: what it has staged and locked there, and how far its end is.

use crate::locks::LockKey;
use protocol::Address;
use protocol::program::{Results, TableRef};
use protocol::signal::{Decider, Participants};
use stdx::SmallVec;
use storage::RowHandle;
use types::{Epoch, Sequence, SlotId, TableId, ViewNumber};

/// The bytes that one operation record takes of TransactionMemory.
pub(in crate::ldm) const OPERATION_COST: u64 = size_of::<Operation>() as u64 + 16;

/// The operations of a transaction: one, mostly.
pub(in crate::ldm) type HeldOperations = SmallVec<[Operation; 1]>;
/// Rows of a transaction: one, mostly.
pub(in crate::ldm) type Rows = SmallVec<[(TableId, RowHandle); 1]>;

/// An operation of a transaction; their number is the length of its list.
#[derive(Clone, Debug)]
pub(in crate::ldm) enum Operation {
    /// It staged a version.
    Staged {
        table: TableId,
        /// The table's version that the session was bound to.
        version: u32,
        row: RowHandle,
        /// The first version of this transaction on this row: the row is replicated once.
        is_first: bool,
    },
    /// It locked a key explicitly.
    Locked(LockKey),
}

/// Where a transaction stands at this primary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ldm) enum HeldStage {
    /// Statements run.
    Open,
    /// All but the first `kept` operations are being undone; the operations are with the job.
    Undoing { kept: u32 },
    /// Its writes are on their way to the backups; the outcome is not decided.
    Ending,
    /// Its outcome is known and being carried out.
    Publishing,
}

/// A transaction at this primary.
#[derive(Debug)]
pub(in crate::ldm) struct Held {
    /// Its session. None: it was replicated here before this member led, and its session asks a participant.
    pub(in crate::ldm) session: Option<Address>,
    pub(in crate::ldm) operations: HeldOperations,
    /// Rows it has staged, each counted once.
    pub(in crate::ldm) rows: u32,
    /// Bytes it has staged; undoing does not take them away: they only decide whether it is shipped ahead.
    pub(in crate::ldm) bytes: u64,
    /// The tables it has changed, as the session was bound to them, with the number of changes.
    pub(in crate::ldm) tables: SmallVec<[(TableRef, u32); 1]>,
    pub(in crate::ldm) stage: HeldStage,
    /// Stamped when it ends.
    pub(in crate::ldm) epoch: Epoch,
    /// The view in whose stream it was replicated last, and its place there.
    pub(in crate::ldm) sealed: ViewNumber,
    pub(in crate::ldm) sequence: Sequence,
    /// Orders what is undecided here as its versions lie above each other; stamped when it ends.
    pub(in crate::ldm) order: u64,
    /// The block that decides it, once it ends.
    pub(in crate::ldm) decider: Decider,
    /// The participants with writes, once it ends.
    pub(in crate::ldm) participants: Participants,
    /// The answer to its session, if that asks: a one-primary commit of another node's session.
    pub(in crate::ldm) marker: Option<Results>,
    /// Its session will not ask.
    pub(in crate::ldm) is_confirmed: bool,
    /// All its rows are prepared: readers wait for its outcome.
    pub(in crate::ldm) is_marked: bool,
    /// It came from the primary of an earlier view: its operations were never charged here.
    pub(in crate::ldm) is_taken_over: bool,
}

impl Held {
    /// A transaction that has done nothing yet.
    pub(in crate::ldm) fn new(session: Option<Address>) -> Self {
        Self {
            session,
            operations: HeldOperations::new(),
            rows: 0,
            bytes: 0,
            tables: SmallVec::new(),
            stage: HeldStage::Open,
            epoch: Epoch(0),
            sealed: ViewNumber(0),
            sequence: Sequence(0),
            order: 0,
            decider: Decider::Primary,
            participants: Participants::new(),
            marker: None,
            is_confirmed: false,
            is_marked: false,
            is_taken_over: false,
        }
    }

    /// Whether its backups take part.
    pub(in crate::ldm) fn has_writes(&self, slot: SlotId) -> bool {
        self.rows > 0 || self.participants.contains(&slot)
    }

    /// Whether its end has begun, and its outcome is not known.
    pub(in crate::ldm) fn is_sealed(&self) -> bool {
        self.stage == HeldStage::Ending && self.epoch > Epoch(0)
    }

    /// A version of `bytes` is about to be staged.
    #[inline]
    pub(in crate::ldm) fn note_change(&mut self, table: TableRef, is_first: bool, bytes: usize) {
        self.rows += u32::from(is_first);
        self.bytes += bytes as u64;
        match self.tables.iter_mut().find(|(known, _)| *known == table) {
            Some((_, count)) => *count += 1,
            None => self.tables.push((table, 1)),
        }
    }

    /// A staged version was taken back.
    pub(in crate::ldm) fn forget_change(&mut self, table: TableId, version: u32, is_first: bool) {
        self.rows -= u32::from(is_first);
        let table = TableRef { id: table, version };
        if let Some(position) = self.tables.iter().position(|(known, _)| *known == table) {
            self.tables[position].1 -= 1;
            if self.tables[position].1 == 0 {
                self.tables.swap_remove(position);
            }
        }
    }
}
