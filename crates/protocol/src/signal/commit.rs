//! Commits: what sessions, coordinators, primaries and backups say to each other (the write path of [`super`]).

use super::RequestId;
use crate::Address;
use crate::program::{Refusal, Results, TableRef};
use std::fmt;
use stdx::SmallVec;
use stdx::wire::{Decoder, Encoder, Wire, WireError, decode_bytes, encode_bytes};
use types::{Epoch, Sequence, SlotId, TransactionId, ViewNumber};
use wire_derive::Wire;

/// Commit at the only participant.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CommitOneRequest {
    /// Echoed.
    pub request: RequestId,
    /// Whose.
    pub transaction: TransactionId,
    /// The participant.
    pub participant: Participant,
    /// Stamp no epoch below this.
    pub epoch_seen: Epoch,
}

/// A slot in which a transaction has staged writes or holds locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Participant {
    /// The slot.
    pub slot: SlotId,
    /// How many operations it must hold.
    pub operations: u32,
    /// The view in which it took the first.
    pub view: ViewNumber,
    /// Writes were sent to it: its backups take part, and recovery counts it.
    pub has_writes: bool,
}

/// Commit over several participants.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CoordinateRequest {
    /// Echoed.
    pub request: RequestId,
    /// Whose.
    pub transaction: TransactionId,
    /// All participants, lock-only ones included.
    pub participants: Vec<Participant>,
    /// Stamp no epoch below this.
    pub epoch_seen: Epoch,
}

/// The outcome of a commit.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CommitDone {
    /// From the request.
    pub request: RequestId,
    /// Its outcome.
    pub outcome: CommitOutcome,
}

/// The outcome of a commit.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum CommitOutcome {
    /// All in-sync replicas have it.
    Committed(Epoch),
    /// Nothing of it remains.
    Aborted(Refusal),
    /// It was sent to a replica that is lost: the outcome is not known here (1180, the connection closes).
    Unknown,
}

/// The participants with writes of a transaction: few, mostly.
pub type Participants = SmallVec<[SlotId; 4]>;
/// Replicated changes: one, mostly.
pub type Writes = SmallVec<[ReplicatedWrite; 1]>;

/// One replicated change: the row's new bytes, or its deletion.
#[derive(Clone, PartialEq)]
pub struct ReplicatedWrite {
    /// The table.
    pub table: TableRef,
    key_size: u32,
    is_delete: bool,
    /// The key, and the row behind it.
    bytes: Box<[u8]>,
}

impl ReplicatedWrite {
    /// A row of this key becomes these bytes; None deletes it.
    #[must_use]
    pub fn new(table: TableRef, key: &[u8], row: Option<&[u8]>) -> Self {
        stdx::require!(u32::try_from(key.len()).is_ok(), "a key longer than 4 GiB");
        let key_size = u32::try_from(key.len()).unwrap_or_default();
        let new = row.unwrap_or_default();
        let mut bytes = Vec::with_capacity(key.len() + new.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(new);
        Self { table, key_size, is_delete: row.is_none(), bytes: bytes.into() }
    }

    /// Its primary key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.bytes[..self.key_size as usize]
    }

    /// Its new bytes; None deletes it.
    #[must_use]
    pub fn row(&self) -> Option<&[u8]> {
        if self.is_delete { None } else { Some(&self.bytes[self.key_size as usize..]) }
    }
}

impl fmt::Debug for ReplicatedWrite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("ReplicatedWrite");
        fields.field("table", &self.table).field("key", &self.key()).field("row", &self.row()).finish()
    }
}

impl Wire for ReplicatedWrite {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.table.encode(encoder);
        encode_bytes(self.key(), encoder);
        match self.row() {
            None => encoder.bytes.push(0),
            Some(row) => {
                encoder.bytes.push(1);
                encode_bytes(row, encoder);
            }
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        let table = TableRef::decode(decoder)?;
        let key = decode_bytes(decoder)?;
        let row = if bool::decode(decoder)? { Some(decode_bytes(decoder)?) } else { None };
        Ok(Self::new(table, key, row))
    }
}

/// Writes of a large transaction shipped ahead of its prepare: staged at the backup, outside the numbered stream.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReplicateAhead {
    /// Which slot.
    pub slot: SlotId,
    /// Whose.
    pub transaction: TransactionId,
    /// The piece's number, counted from 0.
    pub piece: u32,
    /// The changes.
    pub writes: Writes,
}

/// The block that decides a transaction in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum Decider {
    /// The slot's primary: a commit with one participant.
    #[default]
    Primary,
    /// This coordinator. Every replica answers it.
    Coordinator(Address),
    /// The transaction's recoverer: its coordinator is gone. A node that comes back under the same id knows nothing.
    Recoverer,
}

impl Decider {
    /// The coordinator, while the transaction has one.
    #[must_use]
    pub const fn coordinator(self) -> Option<Address> {
        match self {
            Self::Coordinator(coordinator) => Some(coordinator),
            Self::Primary | Self::Recoverer => None,
        }
    }
}

/// The place in the slot's stream where a transaction's writes become prepared at a backup.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct Replicate {
    /// Which slot.
    pub slot: SlotId,
    /// The place.
    pub sequence: Sequence,
    /// Whose.
    pub transaction: TransactionId,
    /// Stamped by the primary.
    pub epoch: Epoch,
    /// The block that decides. A backup answers the coordinator, or else the primary.
    pub decider: Decider,
    /// The participants with writes, for recovery.
    pub participants: Participants,
    /// The session of a one-primary commit is on another node than the primary: what it is to hear if that node dies is
    /// kept until it confirms.
    pub marker: Option<Results>,
    /// How many pieces went ahead; None: the receiver has said that it holds this transaction.
    pub pieces_ahead: Option<u32>,
    /// The (remaining) changes.
    pub writes: Writes,
}

/// The answer of every in-sync replica to the coordinator.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct Prepared {
    /// Whose.
    pub transaction: TransactionId,
    /// Which slot.
    pub slot: SlotId,
    /// It has it, or why not.
    pub result: Result<Sealed, Refusal>,
}

/// A transaction as its primary has sealed it in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Sealed {
    /// Its stamp.
    pub epoch: Epoch,
    /// Whether there is anything to replicate: false only from the primary of a slot where the transaction only holds
    /// locks.
    pub has_writes: bool,
}

/// The coordinator's word to every replica of every participant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Outcome {
    /// Whose.
    pub transaction: TransactionId,
    /// Which slot.
    pub slot: SlotId,
    /// The commit epoch, or None for abort.
    pub committed: Option<Epoch>,
}
