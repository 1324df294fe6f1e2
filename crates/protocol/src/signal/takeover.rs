//! A new view: what its members tell the primary of a slot, and how coordinators that are lost are replaced.

use super::commit::{Participants, Replicate, ReplicatedWrite};
use super::copy::CopyPosition;
use super::session::{ReadRequest, WriteRequest};
use crate::Address;
use crate::program::{LockMode, Results, RowBatch};
use expression::context::Raised;
use types::{Epoch, NodeId, Sequence, SlotId, TransactionId, ViewNumber};
use wire_derive::Wire;

/// A transaction whose outcome a member does not know, in one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct UndecidedPlace {
    /// Whose.
    pub transaction: TransactionId,
    /// The view of the stream that it came by.
    pub stream: ViewNumber,
    /// Its place there.
    pub sequence: Sequence,
    /// The primary's stamp.
    pub epoch: Epoch,
    /// Its primary decides alone.
    pub is_one_primary: bool,
}

/// A member's report on a slot in a new view: everything that the view before left undecided.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct GatherReport {
    /// Which slot.
    pub slot: SlotId,
    /// How far the member consumed the streams of earlier views.
    pub streams: Vec<(ViewNumber, Sequence)>,
    /// Prepared here, outcome not known here.
    pub undecided: Vec<UndecidedPlace>,
    /// Outcomes kept here.
    pub outcomes: Vec<(TransactionId, Option<Epoch>)>,
    /// Every row is here: an in-sync member, or a joining one that was copied to.
    pub is_copied: bool,
    /// A joining member has all rows as they were at the end of this epoch; 0: it began with nothing.
    pub base: Epoch,
    /// A joining member has all rows and entries up to here.
    #[wire(since = 9)]
    pub copied_until: Option<CopyPosition>,
    /// The member was primary, and has what was open then: it came in `HandOver` pieces before this report.
    pub claim: Option<Claim>,
}

/// A primary that stepped down has the open transactions of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Claim {
    /// The first view of the line.
    pub since: ViewNumber,
    /// The view in which this member took it over: of two claims the later one counts.
    pub acquired: ViewNumber,
}

/// A piece of what a primary that stepped down hands to the next one.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct HandOver {
    /// Which slot.
    pub slot: SlotId,
    /// Sealed places of the last stream, in order: the new primary may lack them.
    pub places: Vec<(ViewNumber, Replicate)>,
    /// Open transactions. One may come in several pieces, in order.
    pub transactions: Vec<HandedTransaction>,
    /// Requests that wait, in the order in which they began to.
    pub waits: Vec<HandedWait>,
    /// Transactions that are void, with the nodes of their sessions: none may go on without what it had done.
    pub void: Vec<(NodeId, TransactionId)>,
}

/// An open transaction, or the next part of it.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct HandedTransaction {
    /// Whose.
    pub transaction: TransactionId,
    /// Its session.
    pub session: Address,
    /// Its operations, in order.
    pub operations: Vec<HandedOperation>,
}

/// An operation of an open transaction.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum HandedOperation {
    /// It staged a row's new bytes, or its deletion.
    Staged(ReplicatedWrite),
    /// It locked a key.
    Locked {
        /// The table.
        table: types::TableId,
        /// The primary key.
        key: Box<[u8]>,
        /// How.
        mode: LockMode,
    },
}

/// A request that waits, and what it has done so far.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum HandedWait {
    /// A write.
    Write {
        /// The module that asked.
        from: Address,
        /// The request; its `wait` is the time that is left.
        request: Box<WriteRequest>,
        /// The results of its first operations.
        results: Results,
        /// Warnings so far.
        raised: Option<Box<Raised>>,
    },
    /// A locking read.
    Read {
        /// The module that asked.
        from: Address,
        /// What.
        request: Box<ReadRequest>,
        /// The next key.
        next: u32,
        /// Rows so far.
        rows: RowBatch,
        /// Warnings so far.
        raised: Option<Box<Raised>>,
    },
}

/// The state of a transaction in a slot, when its coordinator is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum RecoveredState {
    /// Decided: committed at this epoch.
    Committed(Epoch),
    /// Decided: aborted.
    Aborted,
    /// Prepared at every in-sync replica of the view, with the primary's stamp.
    Prepared(Epoch),
    /// Not prepared here.
    Nothing,
}

/// A primary tells the recoverer of a transaction.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct RecoveryReport {
    /// Whose.
    pub transaction: TransactionId,
    /// Which slot.
    pub slot: SlotId,
    /// The participants with writes.
    pub participants: Participants,
    /// The state there.
    pub state: RecoveredState,
}
