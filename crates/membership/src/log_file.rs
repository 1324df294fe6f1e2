//! The file of a control log: what its bytes mean. The driver (the runtime, the simulator) reads it at a start, and
//! writes it as asked ([`DiskRequest`], lane *control*).
//!
//! ```text
//! file:    record*  then zeros, or what a torn write left
//! record:  magic u32 | checksum u32 | length u32 | 0 u32 | generation u64 | sequence u64 | payload,
//!          padded with zeros to whole blocks
//!          (the checksum, CRC-32C, covers everything behind itself up to the end of the payload)
//! payload: the first record is a Base: the voter, hard state, snapshot, entries;
//!          each later one is a Batch: hard state, entries
//! ```
//! A file is begun anew (another generation) with every snapshot, all or nothing, with zeros behind its first record:
//! the records that go there later need no metadata on disk. The next record is written when the last one is on disk.
//! An entry replaces those of its index and above.
//!
//! Invariants:
//! - No block is written twice, so a torn write damages nothing that was on disk before it.
//! - Only the record that was being written when the power went may be torn, and nothing valid follows it. So a bad
//!   record at the end is cut off: it was never acknowledged. A bad record *in front of a good one* is damage: the
//!   voter has forgotten something that it acknowledged, so it must never vote again.
//!
//! Deliberately not here: repairing. A copy that is damaged is thrown away, and the node asks for a new one. One limit
//! is known: when the *last* record rots after it was acknowledged, it cannot be told from a torn one.

use crate::mutants::{self, Mutant};
use protocol::control::{GroupId, HardState, LogEntry, LogSnapshot, VoterId};
use protocol::{DiskLane, DiskOperation, DiskRequest, FileName};
use stdx::wire::{Wire, from_bytes, to_bytes};
use wire_derive::Wire;

/// The size that records are padded to: at least what a disk writes at once.
pub const BLOCK_SIZE: usize = 4_096;
/// A file that grows beyond this is begun anew with a snapshot.
pub const FILE_SIZE_LIMIT: u64 = 4 << 20;
/// Zeros behind the first record of a new file: room for the records of some hundred changes.
pub const ROOM_SIZE: usize = 1 << 20;
/// A longer file is not one of ours.
pub const FILE_SIZE_MAX: usize = 64 << 20;
const HEADER_SIZE: usize = 32;
const MAGIC: u32 = u32::from_le_bytes(*b"LCTL");
/// The form of the payloads.
pub const FORMAT: u16 = 1;

/// Everything that a voter must not forget.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Durable {
    /// The founding.
    pub group: GroupId,
    /// The voter.
    pub voter: VoterId,
    /// Term and vote.
    pub hard: HardState,
    /// The state that the entries follow.
    pub snapshot: LogSnapshot,
    /// All entries behind the snapshot, without gaps.
    pub entries: Vec<LogEntry>,
}

#[derive(Wire)]
struct Base {
    format: u16,
    cluster: String,
    group: GroupId,
    voter: VoterId,
    hard: HardState,
    snapshot: LogSnapshot,
    entries: Vec<LogEntry>,
}

#[derive(Wire)]
struct Batch {
    hard: Option<HardState>,
    entries: Vec<LogEntry>,
}

/// The contents of a file.
#[derive(Debug)]
pub enum Recovery {
    /// Nothing was ever written.
    Empty,
    /// A voter's log.
    Recovered(Box<Durable>, LogWriter),
    /// Something acknowledged is missing; the text is for people.
    Damaged(String),
    /// The file of another cluster, of this name.
    Foreign(String),
    /// A newer program has written it, in this format.
    Newer(u16),
}

/// Makes the writes of one file, in order.
#[derive(Clone, Debug)]
pub struct LogWriter {
    cluster: String,
    generation: u64,
    sequence: u64,
    end: u64,
}

impl LogWriter {
    /// For a voter that has no file yet: its first write is a new file.
    #[must_use]
    pub fn new(cluster: &str) -> Self {
        Self { cluster: cluster.to_owned(), generation: 0, sequence: 0, end: 0 }
    }

    /// It is time for a snapshot.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.end > FILE_SIZE_LIMIT
    }

    /// A new file that holds everything.
    pub fn begin(&mut self, ticket: u64, durable: &Durable) -> DiskRequest {
        let base = Base {
            format: FORMAT,
            cluster: self.cluster.clone(),
            group: durable.group,
            voter: durable.voter,
            hard: durable.hard,
            snapshot: durable.snapshot.clone(),
            entries: durable.entries.clone(),
        };
        self.generation += 1;
        self.sequence = 0;
        let mut bytes = self.record(&base);
        self.end = bytes.len() as u64;
        bytes.resize(bytes.len() + ROOM_SIZE, 0);
        request(ticket, DiskOperation::Replace { file: FileName::ControlLog, bytes })
    }

    /// The next record.
    pub fn append(&mut self, ticket: u64, hard: Option<HardState>, entries: Vec<LogEntry>) -> DiskRequest {
        stdx::require!(self.end > 0, "a control log appends to a file that was not begun");
        self.sequence += 1;
        let bytes = self.record(&Batch { hard, entries });
        let offset = self.end;
        self.end += bytes.len() as u64;
        request(ticket, DiskOperation::Write { file: FileName::ControlLog, offset, bytes, sync: true })
    }

    fn record<T: Wire>(&self, payload: &T) -> Vec<u8> {
        let payload = to_bytes(payload);
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        stdx::require!(length < u32::MAX, "a record of the control log is too long");
        let mut bytes = Vec::with_capacity(HEADER_SIZE + payload.len() + BLOCK_SIZE);
        bytes.extend_from_slice(&MAGIC.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&payload);
        let checksum = stdx::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(BLOCK_SIZE), 0);
        bytes
    }
}

fn request(ticket: u64, operation: DiskOperation) -> DiskRequest {
    DiskRequest { ticket, lane: DiskLane::Control, operation }
}

/// A record that is whole.
struct Record<'a> {
    generation: u64,
    sequence: u64,
    payload: &'a [u8],
    size: usize,
}

fn record_at(bytes: &[u8], offset: usize) -> Option<Record<'_>> {
    let bytes = bytes.get(offset..)?;
    let header = bytes.get(..HEADER_SIZE)?;
    let word = |at: usize| header[at..].first_chunk().map(|chunk| u32::from_le_bytes(*chunk));
    let long = |at: usize| header[at..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
    if word(0)? != MAGIC {
        return None;
    }
    let end = HEADER_SIZE.checked_add(word(8)? as usize)?;
    let covered = bytes.get(8..end)?;
    if stdx::crc32c(covered) != word(4)? {
        return None;
    }
    Some(Record {
        generation: long(16)?,
        sequence: long(24)?,
        payload: &bytes[HEADER_SIZE..end],
        size: end.next_multiple_of(BLOCK_SIZE),
    })
}

/// Reads a file. `cluster` is the name of the cluster that this node belongs to.
#[must_use]
pub fn recover(bytes: &[u8], cluster: &str) -> Recovery {
    if bytes.is_empty() {
        return Recovery::Empty;
    }
    if bytes.len() > FILE_SIZE_MAX {
        return Recovery::Damaged(format!("the file has {} bytes", bytes.len()));
    }
    let Some(first) = record_at(bytes, 0).filter(|record| record.sequence == 0) else {
        return Recovery::Damaged("the first record is bad".to_owned());
    };
    // The format stands first in all formats.
    let format = first.payload.first_chunk().map_or(FORMAT, |bytes| u16::from_le_bytes(*bytes));
    if format > FORMAT {
        return Recovery::Newer(format);
    }
    let base: Base = match from_bytes(first.payload) {
        Ok(base) => base,
        Err(error) => return Recovery::Damaged(format!("the first record cannot be read: {error}")),
    };
    if base.format != FORMAT {
        return Recovery::Damaged(format!("format {} is not known", base.format));
    }
    if base.cluster != cluster {
        return Recovery::Foreign(base.cluster);
    }
    let mut durable = Durable {
        group: base.group,
        voter: base.voter,
        hard: base.hard,
        snapshot: base.snapshot,
        entries: Vec::new(),
    };
    if !durable.take_entries(base.entries) {
        return Recovery::Damaged("the first record has a gap".to_owned());
    }
    replay(bytes, &first, durable, base.cluster)
}

/// Applies the records behind the first one.
fn replay(bytes: &[u8], first: &Record<'_>, mut durable: Durable, cluster: String) -> Recovery {
    let mut end = first.size;
    let mut sequence = 0;
    while let Some(record) = record_at(bytes, end) {
        // A file of an earlier generation may have been here.
        if record.generation != first.generation || record.sequence != sequence + 1 {
            break;
        }
        let Ok(batch) = from_bytes::<Batch>(record.payload) else {
            return Recovery::Damaged(format!("record {} cannot be read", record.sequence));
        };
        durable.hard = batch.hard.unwrap_or(durable.hard);
        if !durable.take_entries(batch.entries) {
            return Recovery::Damaged(format!("there is a gap before record {}", record.sequence));
        }
        sequence = record.sequence;
        end += record.size;
    }
    let later = (end..bytes.len()).step_by(BLOCK_SIZE).filter_map(|offset| record_at(bytes, offset));
    let is_damage = |record: Record<'_>| {
        if mutants::is(Mutant::DamageTakenForTornEnd) {
            return false;
        }
        record.generation == first.generation && record.sequence > sequence
    };
    if later.into_iter().any(is_damage) {
        return Recovery::Damaged(format!("record {} is bad and later ones are good", sequence + 1));
    }
    durable.hard.commit = durable.hard.commit.clamp(durable.snapshot.index, durable.last_index());
    let writer = LogWriter { cluster, generation: first.generation, sequence, end: end as u64 };
    Recovery::Recovered(Box::new(durable), writer)
}

impl Durable {
    /// The last entry's place.
    #[must_use]
    pub fn last_index(&self) -> u64 {
        self.entries.last().map_or(self.snapshot.index, |entry| entry.index)
    }

    /// Adds entries in place of those of the same index and above. False if they do not follow, or are no entries.
    pub fn take_entries(&mut self, entries: Vec<LogEntry>) -> bool {
        for entry in entries {
            let first = self.snapshot.index.saturating_add(1);
            let Some(place) = entry.index.checked_sub(first) else { return false };
            let Ok(place) = usize::try_from(place) else { return false };
            if place > self.entries.len() {
                return false;
            }
            self.entries.truncate(place);
            self.entries.push(entry);
        }
        true
    }
}

#[cfg(test)]
pub(crate) mod tests;
