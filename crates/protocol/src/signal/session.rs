//! Signals between sessions and the replicas of slots: reads, writes, the way back of a request, deadlock probes.

use super::commit::CommitOneRequest;
use super::{RequestId, Signal};
use crate::Address;
use crate::program::{
    Access, LockMode, LockWait, Operations, ReadProgram, ReadProgress, Refusal, Results, RowBatch, TableRef,
};
use expression::context::Raised;
use std::fmt;
use std::sync::Arc;
use types::{Epoch, NodeId, SlotId, TransactionId, ViewNumber};
use wire_derive::Wire;

/// A read of one slot. With a transaction it runs at the primary and sees that transaction's staged rows.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReadRequest {
    /// Echoed.
    pub request: RequestId,
    /// The transaction whose staged rows are visible, and that gets the locks.
    pub transaction: Option<TransactionId>,
    /// Lock each row (only with `Access::Keys` and a transaction) and read its newest version.
    pub lock: Option<(LockMode, LockWait)>,
    /// Which slot.
    pub slot: SlotId,
    /// The program for each row.
    pub program: Arc<ReadProgram>,
    /// Which rows.
    pub access: Access,
    /// With a transaction: how many operations its session knows that the slot's primary holds. One that holds fewer
    /// lacks the others, and so the transaction is void.
    pub known: u32,
    /// The transaction that holds what LOCK TABLES locked for the same session: that does not keep this one out.
    #[wire(since = 5)]
    pub under: Option<TransactionId>,
    /// A locking read within a node: the session reads rows itself, so the answer may be [`Granted`]. Another node's
    /// primary does not see this, and answers with rows.
    #[wire(unsent)]
    pub grant_only: bool,
}

/// The answer to a read.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReadDone {
    /// From the request.
    pub request: RequestId,
    /// Rows, or why not.
    pub result: Result<ReadBatch, Refusal>,
}

/// Rows of one slot.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReadBatch {
    /// The rows.
    pub rows: RowBatch,
    /// Whether there are more.
    pub progress: ReadProgress,
    /// The transaction's number of operations at this participant (locks count).
    pub operations: u32,
    /// Warnings of the evaluation, if there were any.
    #[wire(since = 2)]
    pub raised: Option<Box<Raised>>,
    /// In the place of rows: which of them are locked.
    #[wire(unsent)]
    pub granted: Option<Granted>,
}

/// The keys of a locking read, up to where its progress is, are locked, and their rows match. Only the primary's own
/// node hears so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Granted {
    /// The view in which this module was the primary.
    pub view: ViewNumber,
    /// The positions in `Access::Keys` of which there is nothing to read, ascending: no row has the key, its row does
    /// not match, or its lock was passed over.
    pub omitted: Vec<u32>,
}

/// Changes of rows of one table in one slot, done in order up to the first that fails. After a failure the session
/// undoes the statement by `RollbackTo` or `Abort`; a request that carries its commit is undone by the participant
/// itself.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct WriteRequest {
    /// Echoed.
    pub request: RequestId,
    /// Whose.
    pub transaction: TransactionId,
    /// Which slot.
    pub slot: SlotId,
    /// Which table.
    pub table: TableRef,
    /// The operations, in this order.
    pub operations: Operations,
    /// How long to wait for locks.
    pub wait: LockWait,
    /// An autocommit statement with one participant carries its commit: stamp no epoch below this.
    pub commit: Option<Epoch>,
    /// How many operations of the transaction its session knows that the slot's primary holds.
    pub known: u32,
    /// The transaction that holds what LOCK TABLES locked for the same session: that does not keep this one out.
    #[wire(since = 5)]
    pub under: Option<TransactionId>,
}

/// The answer to a write.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct WriteDone {
    /// From the request.
    pub request: RequestId,
    /// The effect, or the failure.
    pub result: Result<WriteSummary, WriteFailure>,
    /// The request's memory.
    #[wire(unsent)]
    pub spent: Spent,
}

impl WriteDone {
    /// The answer without the request's memory.
    #[must_use]
    pub fn new(request: RequestId, result: Result<WriteSummary, WriteFailure>) -> Self {
        Self { request, result, spent: Spent::default() }
    }
}

/// A small request that is done. It goes back to its module, if that is on the same node, so that its memory is used
/// again or freed by the thread that allocated it. It says nothing: answers are the same with it and without.
#[derive(Clone, Default)]
pub struct Spent(Option<Box<WriteRequest>>);

/// The largest row that a request goes back with.
const SPENT_ROW_MAX: usize = 4 << 10;

impl Spent {
    /// A request from node `from` that node `own` has done. The answer may wait until backups have its commit, so a
    /// large request is freed before: its rows are in the fragment by now, and this memory is not counted.
    #[must_use]
    pub fn of(request: Box<WriteRequest>, from: NodeId, own: NodeId) -> Self {
        let is_small = match &request.operations[..] {
            [] => true,
            [operation] => operation.row().is_none_or(|row| row.len() <= SPENT_ROW_MAX),
            [_, _, ..] => false,
        };
        Self((from == own && is_small).then_some(request))
    }

    /// The request.
    #[must_use]
    pub fn into_request(self) -> Option<Box<WriteRequest>> {
        self.0
    }
}

impl PartialEq for Spent {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Spent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Spent")
    }
}

/// A write that was done.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct WriteSummary {
    /// One per operation.
    pub results: Results,
    /// The transaction's number of operations at this participant.
    pub operations: u32,
    /// The epoch of the commit, if the request carried it.
    pub committed: Option<Epoch>,
    /// Warnings of the evaluation, if there were any.
    #[wire(since = 2)]
    pub raised: Option<Box<Raised>>,
}

/// A write that failed: the operations before the failed one are staged (unless the request carried its commit).
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct WriteFailure {
    /// The operation that failed, counted from 0.
    pub operation: u32,
    /// Why.
    pub refusal: Refusal,
}

/// A request that came to a member that is not the slot's primary any more: nothing of it was done.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum ReturnedRequest {
    /// A read at the primary.
    Read(Box<ReadRequest>),
    /// A write.
    Write(Box<WriteRequest>),
    /// A commit.
    CommitOne(Box<CommitOneRequest>),
    /// An undoing.
    RollbackTo {
        /// Echoed.
        request: RequestId,
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
        /// How many operations stay.
        operations: u32,
    },
    /// A question.
    OutcomeAsk {
        /// Echoed.
        request: RequestId,
        /// Whose.
        transaction: TransactionId,
        /// A participant with writes.
        slot: SlotId,
        /// The commit was carried by a write.
        is_write: bool,
    },
}

impl ReturnedRequest {
    /// Its id, and where it belongs.
    #[must_use]
    pub fn place(&self) -> (RequestId, SlotId) {
        match self {
            Self::Read(read) => (read.request, read.slot),
            Self::Write(write) => (write.request, write.slot),
            Self::CommitOne(commit) => (commit.request, commit.participant.slot),
            Self::RollbackTo { request, slot, .. } | Self::OutcomeAsk { request, slot, .. } => {
                (*request, *slot)
            }
        }
    }

    /// As it was sent.
    #[must_use]
    pub fn into_signal(self) -> Signal {
        match self {
            Self::Read(read) => Signal::Read(read),
            Self::Write(write) => Signal::Write(write),
            Self::CommitOne(commit) => Signal::CommitOne(commit),
            Self::RollbackTo { request, transaction, slot, operations } => {
                Signal::RollbackTo { request, transaction, slot, operations }
            }
            Self::OutcomeAsk { request, transaction, slot, is_write } => {
                Signal::OutcomeAsk { request, transaction, slot, is_write }
            }
        }
    }
}

/// A deadlock probe: does `transaction`, for which the initiator waits, wait for the initiator?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Probe {
    /// The transaction that waits and asks; the victim if the probe comes back.
    pub initiator: TransactionId,
    /// Where the initiator waits.
    pub home: Address,
    /// Which of its waits: the probe is void once that wait is over.
    pub wait: u64,
    /// The transaction in question.
    pub transaction: TransactionId,
    /// How many more transactions it may visit: a probe that entered a cycle without its initiator dies out.
    pub hops_left: u8,
}

#[cfg(test)]
mod tests;
