//! A piece of a checkpoint: rows of one fragment, in the order of their keys, behind a header that names their place.
//!
//! ```text
//! header   72 bytes, see `docs/formats/checkpoint.md`
//! payload  rows: epoch (varint, difference to the base, zigzag), sizes of key and row (varints), key, row; compressed
//!          if its codec says so
//! zeros    up to the next multiple of 4 096 bytes
//! ```
//! A checkpoint of a fragment is a run of pieces, numbered from 0, that stand behind each other in one file. The
//! checksum is the CRC-32C of the payload and then of the header.
//!
//! Invariants: a piece that is decoded stands where its header says: file, offset, slot, table and number fit what the
//! manifest names. Keys ascend within a piece and from piece to piece. Decoding is total, and allocates only for
//! rows that were compressed.
//!
//! Deliberately not here: which rows are in a checkpoint, and from which position on the log completes it (`manifest`).

use crate::block::PAGE_SIZE;
use crate::record::{Head, RecordError, narrow, take_bytes, unzigzag, varint, zigzag};
use protocol::control::GroupId;
use std::borrow::Cow;
use types::{Epoch, NodeId, SlotId, TableId};

/// A piece of several rows is at most so long. One row may be longer, and then has a piece for itself.
pub const PIECE_SIZE_MAX: usize = 1 << 20;
/// One that is compressed is shorter: a thread that serves clients compresses it at once.
const COMPRESSED_SIZE_MAX: usize = 128 << 10;
/// A byte of LZ4 stands for fewer bytes: a length above that lies, and gets no memory.
const EXPANSION_MAX: usize = 256;
const HEADER_SIZE: usize = 72;
const MAGIC: u32 = u32::from_le_bytes(*b"LRCP");
const CHECKSUM_END: usize = 8;

/// How the payload of a piece is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    /// As it is.
    Plain = 0,
    /// Its length (u32), then a block of LZ4.
    Lz4 = 1,
}

/// A committed row, as storage has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieceRow<'a> {
    /// The primary key.
    pub key: &'a [u8],
    /// The epoch of its commit.
    pub epoch: Epoch,
    /// Its bytes.
    pub row: &'a [u8],
}

/// Where a piece stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PiecePlace {
    /// The founding.
    pub founding: GroupId,
    /// The node.
    pub node: NodeId,
    /// The number of the file.
    pub file: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

/// A piece that is complete but for its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedPiece {
    bytes: Vec<u8>,
    payload_checksum: u32,
}

/// The pieces of one fragment in the making.
#[derive(Debug)]
pub struct PieceBuilder {
    slot: SlotId,
    table: TableId,
    codec: Codec,
    /// The number of the piece in the making.
    number: u32,
    rows: u32,
    base: Epoch,
    highest: Epoch,
    bytes: Vec<u8>,
}

impl PieceBuilder {
    /// For a checkpoint of this fragment.
    #[must_use]
    pub fn new(slot: SlotId, table: TableId, codec: Codec) -> Self {
        let (base, highest) = (Epoch(0), Epoch(0));
        Self { slot, table, codec, number: 0, rows: 0, base, highest, bytes: vec![0; HEADER_SIZE] }
    }

    /// Adds the row with the next key. If there is no room for it, the piece as it was is answered, and the row is the
    /// first one of the next.
    pub fn add(&mut self, row: &PieceRow<'_>) -> Option<SealedPiece> {
        let size = Head::SIZE_MAX + row.key.len() + row.row.len();
        let size_max = match self.codec {
            Codec::Plain => PIECE_SIZE_MAX,
            Codec::Lz4 => COMPRESSED_SIZE_MAX,
        };
        let sealed = if self.bytes.len() + size > size_max { self.seal() } else { None };
        if self.rows == 0 {
            self.base = row.epoch;
            self.highest = row.epoch;
        }
        self.highest = self.highest.max(row.epoch);
        self.rows += 1;
        let mut head = Head::new();
        head.varint(zigzag(row.epoch.0.wrapping_sub(self.base.0).cast_signed()));
        head.varint(row.key.len() as u64);
        head.varint(row.row.len() as u64);
        self.bytes.extend_from_slice(head.bytes());
        self.bytes.extend_from_slice(row.key);
        self.bytes.extend_from_slice(row.row);
        sealed
    }

    /// Ends the piece, if it has rows.
    pub fn seal(&mut self) -> Option<SealedPiece> {
        if self.rows == 0 {
            return None;
        }
        let mut bytes = std::mem::replace(&mut self.bytes, vec![0; HEADER_SIZE]);
        let codec = self.compress(&mut bytes);
        let payload = &bytes[HEADER_SIZE..];
        let payload_checksum = stdx::crc32c(payload);
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        stdx::require!(length < u32::MAX, "a piece of a checkpoint is too long");
        put(&mut bytes, 0, &MAGIC.to_le_bytes());
        put(&mut bytes, 8, &length.to_le_bytes());
        put(&mut bytes, 12, &[codec as u8]);
        put(&mut bytes, 32, &self.base.0.to_le_bytes());
        put(&mut bytes, 40, &self.highest.0.to_le_bytes());
        put(&mut bytes, 56, &self.slot.0.to_le_bytes());
        put(&mut bytes, 60, &self.table.0.to_le_bytes());
        put(&mut bytes, 64, &self.number.to_le_bytes());
        put(&mut bytes, 68, &self.rows.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(PAGE_SIZE), 0);
        self.number += 1;
        self.rows = 0;
        Some(SealedPiece { bytes, payload_checksum })
    }

    /// Compresses the payload, if that is wanted and makes it shorter.
    fn compress(&self, bytes: &mut Vec<u8>) -> Codec {
        if self.codec == Codec::Plain {
            return Codec::Plain;
        }
        let payload = &bytes[HEADER_SIZE..];
        let compressed = lz4_flex::block::compress_prepend_size(payload);
        if compressed.len() >= payload.len() {
            return Codec::Plain;
        }
        bytes.truncate(HEADER_SIZE);
        bytes.extend_from_slice(&compressed);
        Codec::Lz4
    }

    /// How many pieces were sealed.
    #[must_use]
    pub fn pieces(&self) -> u32 {
        self.number
    }
}

impl SealedPiece {
    /// Bytes that it takes on disk.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The piece as it is written.
    #[must_use]
    pub fn finish(self, place: &PiecePlace) -> Vec<u8> {
        let Self { mut bytes, payload_checksum } = self;
        put(&mut bytes, 14, &place.node.0.to_le_bytes());
        put(&mut bytes, 16, &place.founding.0.to_le_bytes());
        put(&mut bytes, 24, &place.file.to_le_bytes());
        put(&mut bytes, 48, &place.offset.to_le_bytes());
        let checksum = stdx::crc32c_append(payload_checksum, &bytes[CHECKSUM_END..HEADER_SIZE]);
        put(&mut bytes, 4, &checksum.to_le_bytes());
        bytes
    }
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// A piece that was read, and whose checksum is right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// Where it stands.
    pub place: PiecePlace,
    /// The slot.
    pub slot: SlotId,
    /// The table.
    pub table: TableId,
    /// Its number among the pieces of the fragment.
    pub number: u32,
    /// How many rows it has.
    pub rows: u32,
    /// The highest epoch of its rows.
    pub highest: Epoch,
    base: Epoch,
    bytes: &'a [u8],
    payload: Cow<'a, [u8]>,
}

/// Why there is no piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PieceError {
    /// The bytes are none of a piece, or damaged.
    Bad,
    /// It may be a piece; to know it, so many bytes are needed.
    Short(usize),
}

impl<'a> Piece<'a> {
    /// Reads the piece at the beginning of `bytes`.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, PieceError> {
        let Some(header) = bytes.first_chunk::<HEADER_SIZE>() else {
            return Err(PieceError::Short(HEADER_SIZE));
        };
        let codec = match header[12] {
            0 => Codec::Plain,
            1 => Codec::Lz4,
            _ => return Err(PieceError::Bad),
        };
        if word(header, 0) != MAGIC {
            return Err(PieceError::Bad);
        }
        let end = HEADER_SIZE + word(header, 8) as usize;
        let payload = bytes.get(HEADER_SIZE..end).ok_or(PieceError::Short(end))?;
        let checksum = stdx::crc32c_append(stdx::crc32c(payload), &header[CHECKSUM_END..]);
        let (base, highest) = (long(header, 32), long(header, 40));
        if checksum != word(header, 4) || base >= Epoch::LIMIT || highest >= Epoch::LIMIT {
            return Err(PieceError::Bad);
        }
        let payload = match codec {
            Codec::Plain => Cow::Borrowed(payload),
            Codec::Lz4 => Cow::Owned(decompress(payload).ok_or(PieceError::Bad)?),
        };
        let node = header[14..].first_chunk().map_or(0, |chunk| u16::from_le_bytes(*chunk));
        Ok(Self {
            place: PiecePlace {
                founding: GroupId(long(header, 16)),
                node: NodeId(node),
                file: long(header, 24),
                offset: long(header, 48),
            },
            slot: SlotId(word(header, 56)),
            table: TableId(word(header, 60)),
            number: word(header, 64),
            rows: word(header, 68),
            highest: Epoch(highest),
            base: Epoch(base),
            bytes: &bytes[..end],
            payload,
        })
    }

    /// Header and rows, without the zeros behind them.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes that it takes on disk.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len().next_multiple_of(PAGE_SIZE)
    }

    /// Its rows, in order. The first error is the last item.
    pub fn rows(&self) -> impl Iterator<Item = Result<PieceRow<'_>, RecordError>> {
        let (mut rest, base) = (self.payload.as_ref(), self.base);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let read = read_row(&mut rest, base);
            if read.is_err() {
                rest = &[];
            }
            Some(read)
        })
    }
}

fn decompress(payload: &[u8]) -> Option<Vec<u8>> {
    let (length, block) = lz4_flex::block::uncompressed_size(payload).ok()?;
    if length > block.len().saturating_mul(EXPANSION_MAX) {
        return None;
    }
    lz4_flex::block::decompress(block, length).ok().filter(|payload| payload.len() == length)
}

fn read_row<'a>(rest: &mut &'a [u8], base: Epoch) -> Result<PieceRow<'a>, RecordError> {
    let difference = unzigzag(varint(rest)?);
    let epoch = base.0.checked_add_signed(difference).filter(|epoch| *epoch < Epoch::LIMIT);
    let epoch = Epoch(epoch.ok_or(RecordError::OutOfRange)?);
    let key_size = narrow(varint(rest)?)? as usize;
    let row_size = narrow(varint(rest)?)? as usize;
    Ok(PieceRow { key: take_bytes(rest, key_size)?, epoch, row: take_bytes(rest, row_size)? })
}

fn word(header: &[u8; HEADER_SIZE], at: usize) -> u32 {
    header[at..].first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

fn long(header: &[u8; HEADER_SIZE], at: usize) -> u64 {
    header[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

#[cfg(test)]
mod tests;
