//! A block of the redo log: entries of one `ldm`, or a mark, behind a header that names their place.
//!
//! An `ldm` appends entries to its [`OpenBlock`] and *seals* it when it is full or when its node flushes. The writer of
//! the log then puts sealed blocks and marks into one row. It adds the [`Heading`]: the place, and what is known there.
//! A sealed block has room for its header in front and is padded, so that it goes to disk without being copied.
//!
//! ```text
//! header   96 bytes, see `docs/formats/redo.md`
//! payload  entries (`record`); marks have none
//! zeros    up to the next multiple of 4 096 bytes
//! ```
//! The checksum is the CRC-32C of the payload and then of the header. So the `ldm` computes the long part of it.
//!
//! Invariants:
//! - *Places without gaps*: the block behind number n has number n + 1 and the checksum of block n. So an old block, a
//!   lost one or a misplaced one does not fit.
//! - No block is written twice at another place or with other bytes, but for the tail that a restart writes again.
//! - [`Block::decode`] answers only blocks whose checksum is right. It is total, and allocates nothing.
//!
//! Deliberately not here: files (`file`), and which of the blocks that are found count (`recovery`).

use crate::record::{Entry, RecordError};
use protocol::control::GroupId;
use types::{Epoch, NodeId, RestartNumber};

/// Blocks are padded to a multiple of this, which disks write at once or in halves and quarters.
pub const PAGE_SIZE: usize = 4_096;
/// The size of the header.
pub const HEADER_SIZE: usize = 96;
/// A block of several entries is at most so long. One entry may be longer, and then has a block for itself.
pub const BLOCK_SIZE_MAX: usize = 64 << 10;
const MAGIC: u32 = u32::from_le_bytes(*b"LRDO");
const CHECKSUM_END: usize = 8;

/// The number of a block in the log of its node, from 1. A position as an end or a bound means "all blocks below it".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Position(pub u64);

impl Position {
    /// The next block.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A statement about the blocks before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Everything ever decided with at most this epoch lies before this mark.
    Whole {
        /// The epoch.
        epoch: Epoch,
        /// When it was closed: microseconds since 1970, by the master's clock.
        closed_at_us: u64,
    },
    /// The disk is at `base`; from here on come copied rows, and what is published meanwhile. Nothing of it counts
    /// before `Joined`.
    Joining {
        /// The node had everything up to this epoch, and nothing above it counts.
        base: Epoch,
    },
    /// The node is in sync: what came since `Joining` counts from the next `Whole` on.
    Joined,
    /// The node was brought to this epoch by a restart of the cluster; nothing above it counts. The mark is void if the
    /// control log has no such restart.
    Restored {
        /// The cut.
        cut: Epoch,
        /// When the cut was closed: microseconds since 1970, by the clock of the master of that time.
        closed_at_us: u64,
    },
}

/// The contents of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Entries, the highest epoch among them.
    Entries {
        /// The highest epoch.
        highest: Epoch,
    },
    /// A mark.
    Mark(Mark),
}

/// The part of a header that the writer of the log adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heading {
    /// The founding.
    pub founding: GroupId,
    /// The node whose log it is.
    pub node: NodeId,
    /// The restart under which it is written.
    pub restart: RestartNumber,
    /// The number of the file.
    pub file: u64,
    /// The number of the block.
    pub position: Position,
    /// The checksum of the block before, 0 before the first.
    pub previous: u32,
    /// All blocks below this one are flushed.
    pub flushed: Position,
    /// The highest epoch that is known to be durable in the cluster.
    pub durable: Epoch,
}

/// A block that is complete but for its heading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedBlock {
    /// Header, payload, zeros.
    bytes: Vec<u8>,
    payload_checksum: u32,
    highest: Epoch,
}

/// The block that an `ldm` adds entries to.
#[derive(Debug)]
pub struct OpenBlock {
    ldm: u16,
    /// Room for the header, then entries.
    bytes: Vec<u8>,
    /// The epoch of the first entry.
    base: Epoch,
    highest: Epoch,
}

impl OpenBlock {
    /// An empty block of the `ldm` with this number.
    #[must_use]
    pub fn new(ldm: u16) -> Self {
        Self { ldm, bytes: Self::buffer(), base: Epoch(0), highest: Epoch(0) }
    }

    fn buffer() -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_SIZE_MAX);
        bytes.resize(HEADER_SIZE, 0);
        bytes
    }

    /// Whether it has no entries.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == HEADER_SIZE
    }

    /// Bytes that it holds, its header among them.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Adds an entry. If there is no room for it, the block as it was is sealed and answered, and the entry is the
    /// first one of the next.
    #[inline]
    pub fn append(&mut self, entry: &Entry<'_>) -> Option<SealedBlock> {
        let is_full = self.bytes.len() + entry.size_max() > BLOCK_SIZE_MAX;
        let sealed = if is_full { self.seal() } else { None };
        if self.is_empty() {
            self.base = entry.epoch;
            self.highest = entry.epoch;
        }
        self.highest = self.highest.max(entry.epoch);
        entry.encode(self.base, &mut self.bytes);
        sealed
    }

    /// Ends the block, if it has entries, and begins the next one.
    pub fn seal(&mut self) -> Option<SealedBlock> {
        if self.is_empty() {
            return None;
        }
        let bytes = std::mem::replace(&mut self.bytes, Self::buffer());
        let header = Header {
            kind: Kind::Entries,
            ldm: self.ldm,
            base: self.base,
            highest: self.highest,
            closed_at_us: 0,
        };
        Some(SealedBlock::new(bytes, &header))
    }
}

/// The tag of a block's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Kind {
    Entries = 0,
    Whole = 1,
    Joining = 2,
    Joined = 3,
    Restored = 4,
}

/// The part of a header that is known when a block is sealed.
struct Header {
    kind: Kind,
    ldm: u16,
    base: Epoch,
    highest: Epoch,
    closed_at_us: u64,
}

impl SealedBlock {
    /// `bytes` are room for a header, then the payload.
    fn new(mut bytes: Vec<u8>, header: &Header) -> Self {
        let payload = &bytes[HEADER_SIZE..];
        let payload_checksum = stdx::crc32c(payload);
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        stdx::require!(length < u32::MAX, "a block of the redo log is too long");
        put(&mut bytes, 0, &MAGIC.to_le_bytes());
        put(&mut bytes, 8, &length.to_le_bytes());
        put(&mut bytes, 12, &[header.kind as u8]);
        put(&mut bytes, 14, &header.ldm.to_le_bytes());
        put(&mut bytes, 56, &header.base.0.to_le_bytes());
        put(&mut bytes, 64, &header.highest.0.to_le_bytes());
        put(&mut bytes, 72, &header.closed_at_us.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(PAGE_SIZE), 0);
        Self { bytes, payload_checksum, highest: header.highest }
    }

    /// A mark.
    #[must_use]
    pub fn of_mark(mark: Mark) -> Self {
        let (kind, epoch, closed_at_us) = match mark {
            Mark::Whole { epoch, closed_at_us } => (Kind::Whole, epoch, closed_at_us),
            Mark::Joining { base } => (Kind::Joining, base, 0),
            Mark::Joined => (Kind::Joined, Epoch(0), 0),
            Mark::Restored { cut, closed_at_us } => (Kind::Restored, cut, closed_at_us),
        };
        let header = Header { kind, ldm: 0, base: epoch, highest: epoch, closed_at_us };
        Self::new(vec![0; HEADER_SIZE], &header)
    }

    /// Bytes that it takes on disk.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The highest epoch of its entries.
    #[must_use]
    pub fn highest(&self) -> Epoch {
        self.highest
    }

    /// The block as it is written, and its checksum.
    #[must_use]
    pub fn finish(self, heading: &Heading) -> (Vec<u8>, u32) {
        let Self { mut bytes, payload_checksum, .. } = self;
        put(&mut bytes, 16, &heading.founding.0.to_le_bytes());
        put(&mut bytes, 24, &heading.file.to_le_bytes());
        put(&mut bytes, 32, &heading.position.0.to_le_bytes());
        put(&mut bytes, 40, &heading.flushed.0.to_le_bytes());
        put(&mut bytes, 48, &heading.durable.0.to_le_bytes());
        put(&mut bytes, 80, &heading.restart.0.to_le_bytes());
        put(&mut bytes, 84, &heading.previous.to_le_bytes());
        put(&mut bytes, 88, &heading.node.0.to_le_bytes());
        let checksum = stdx::crc32c_append(payload_checksum, &bytes[CHECKSUM_END..HEADER_SIZE]);
        put(&mut bytes, 4, &checksum.to_le_bytes());
        (bytes, checksum)
    }
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// A block that was read, and whose checksum is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block<'a> {
    /// Its place, and what was known there.
    pub heading: Heading,
    /// Its own checksum, which the next block has.
    pub checksum: u32,
    /// The `ldm` that sealed it.
    pub ldm: u16,
    /// Entries or a mark.
    pub content: Content,
    base: Epoch,
    payload: &'a [u8],
}

/// Why there is no block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockError {
    /// The bytes are none of a block, or damaged.
    Bad,
    /// It may be a block; to know it, so many bytes are needed.
    Short(usize),
}

impl<'a> Block<'a> {
    /// Reads the block at the beginning of `bytes`.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BlockError> {
        let Some(header) = bytes.first_chunk::<HEADER_SIZE>() else {
            return Err(BlockError::Short(HEADER_SIZE));
        };
        if word(header, 0) != MAGIC {
            return Err(BlockError::Bad);
        }
        let end = HEADER_SIZE + word(header, 8) as usize;
        let payload = bytes.get(HEADER_SIZE..end).ok_or(BlockError::Short(end))?;
        let checksum = stdx::crc32c_append(stdx::crc32c(payload), &header[CHECKSUM_END..]);
        if checksum != word(header, 4) {
            return Err(BlockError::Bad);
        }
        let (base, highest) = (epoch(header, 56)?, epoch(header, 64)?);
        let closed_at_us = long(header, 72);
        let content = match header[12] {
            0 => Content::Entries { highest },
            1 => Content::Mark(Mark::Whole { epoch: base, closed_at_us }),
            2 => Content::Mark(Mark::Joining { base }),
            3 => Content::Mark(Mark::Joined),
            4 => Content::Mark(Mark::Restored { cut: base, closed_at_us }),
            _ => return Err(BlockError::Bad),
        };
        let heading = Heading {
            founding: GroupId(long(header, 16)),
            node: NodeId(short(header, 88)),
            restart: RestartNumber(word(header, 80)),
            file: long(header, 24),
            position: Position(long(header, 32)),
            previous: word(header, 84),
            flushed: Position(long(header, 40)),
            durable: epoch(header, 48)?,
        };
        Ok(Self { heading, checksum, ldm: short(header, 14), content, base, payload })
    }

    /// Bytes that it takes on disk.
    #[must_use]
    pub fn size(&self) -> usize {
        (HEADER_SIZE + self.payload.len()).next_multiple_of(PAGE_SIZE)
    }

    /// Its entries, in order. The first error is the last item.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'a>, RecordError>> + use<'a> {
        let (mut rest, base) = (self.payload, self.base);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let decoded = Entry::decode(rest, base);
            rest = decoded.map_or(&[], |(_, rest)| rest);
            Some(decoded.map(|(entry, _)| entry))
        })
    }
}

fn short(header: &[u8; HEADER_SIZE], at: usize) -> u16 {
    header[at..].first_chunk().map_or(0, |chunk| u16::from_le_bytes(*chunk))
}

fn word(header: &[u8; HEADER_SIZE], at: usize) -> u32 {
    header[at..].first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

fn long(header: &[u8; HEADER_SIZE], at: usize) -> u64 {
    header[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

fn epoch(header: &[u8; HEADER_SIZE], at: usize) -> Result<Epoch, BlockError> {
    let number = long(header, at);
    if number < Epoch::LIMIT { Ok(Epoch(number)) } else { Err(BlockError::Bad) }
}

#[cfg(test)]
mod tests;
