//! The first page of a file of the redo log: whose log it is, and which block is its first.
//!
//! ```text
//! magic u32 | checksum u32 | length u32 | format u16 | 0 u16 | payload | zeros up to 4 096 bytes
//! ```
//! The checksum, CRC-32C, covers everything behind itself up to the end of the payload. The payload is a
//! [`FileHeader`] in the wire form.
//!
//! A life begins with a new file. Its header names the number of its first block: what earlier files have from that
//! number on was left behind when the node came back, and does not count.
//!
//! Invariants: a file of another format, cluster or node is refused with a text that says so, before anything in it is
//! used.
//!
//! Deliberately not here: blocks (`block`).

use crate::block::{PAGE_SIZE, Position};
use protocol::RestartPoint;
use protocol::control::GroupId;
use stdx::wire::{from_bytes, to_bytes};
use types::{COLLATION_VERSION, Incarnation, NodeId};
use wire_derive::Wire;

const MAGIC: u32 = u32::from_le_bytes(*b"LRDF");
const HEADER_SIZE: usize = 16;
/// The form of everything in a file: header, blocks, entries.
pub const FORMAT: u16 = 1;

/// The log that a file belongs to, and the place of its blocks in that log.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct FileHeader {
    /// The name of the cluster.
    pub cluster: String,
    /// The version of the collations that the keys in the file were made with.
    pub collations: String,
    /// The founding.
    pub founding: GroupId,
    /// The node.
    pub node: NodeId,
    /// The life that writes the file.
    pub lineage: Incarnation,
    /// The restart under which it writes.
    pub restart: RestartPoint,
    /// The number of the file.
    pub file: u64,
    /// The number of its first block.
    pub first: u64,
    /// The checksum of the block before that one, 0 if there is none.
    pub previous: u32,
}

/// Why a file has no header that can be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileError {
    /// There is no header, or a damaged one.
    Bad,
    /// It is not this node's to read; the text is for people.
    Foreign(String),
}

impl FileHeader {
    /// The position of its first block.
    #[must_use]
    pub fn first_position(&self) -> Position {
        Position(self.first)
    }

    /// The first page of the file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let payload = to_bytes(self);
        stdx::require!(HEADER_SIZE + payload.len() <= PAGE_SIZE, "the name of the cluster is too long");
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let mut page = Vec::with_capacity(PAGE_SIZE);
        page.extend_from_slice(&MAGIC.to_le_bytes());
        page.extend_from_slice(&[0; 4]);
        page.extend_from_slice(&length.to_le_bytes());
        page.extend_from_slice(&FORMAT.to_le_bytes());
        page.extend_from_slice(&[0; 2]);
        page.extend_from_slice(&payload);
        let checksum = stdx::crc32c(&page[8..]);
        page[4..8].copy_from_slice(&checksum.to_le_bytes());
        page.resize(PAGE_SIZE, 0);
        page
    }

    /// Reads the first page of the file that is called `file`, for a node of this cluster.
    pub fn decode(page: &[u8], file: u64, cluster: &str, node: NodeId) -> Result<Self, FileError> {
        let (format, payload) = payload_of(page).ok_or(FileError::Bad)?;
        let refused = |what: String| Err(FileError::Foreign(format!("redo file {file} {what}")));
        if format != FORMAT {
            return refused(format!("has format {format}, and this program reads format {FORMAT}"));
        }
        let header: Self = from_bytes(payload).map_err(|_| FileError::Bad)?;
        if header.cluster != cluster {
            return refused(format!("belongs to the cluster {:?}, not to {cluster:?}", header.cluster));
        }
        if header.node != node {
            return refused(format!("belongs to node {}, not to node {node}", header.node));
        }
        if header.collations != COLLATION_VERSION {
            let theirs = &header.collations;
            return refused(format!("has keys of collations {theirs:?}, not of {COLLATION_VERSION:?}"));
        }
        if header.file != file {
            return Err(FileError::Bad);
        }
        Ok(header)
    }
}

/// The format and payload of a header whose checksum is right.
fn payload_of(page: &[u8]) -> Option<(u16, &[u8])> {
    let word = |at: usize| page.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk));
    if word(0)? != MAGIC {
        return None;
    }
    let end = HEADER_SIZE.checked_add(word(8)? as usize)?;
    let covered = page.get(8..end)?;
    let format = page.get(12..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))?;
    (stdx::crc32c(covered) == word(4)?).then(|| (format, &page[HEADER_SIZE..end]))
}

#[cfg(test)]
mod tests;
