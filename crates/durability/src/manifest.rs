//! The manifest of a slot: which checkpoint each of its fragments has, and from which position on the log completes it.
//!
//! It is replaced as a whole, all or nothing. A checkpoint is fuzzy: rows were written while others were published. The
//! log from the checkpoint's position on has all that was published behind the position, so that loading the rows and
//! then the log gives every row its newest epoch.
//!
//! ```text
//! magic u32 | checksum u32 | length u32 | format u16 | 0 u16 | payload
//! ```
//! The checksum, CRC-32C, covers everything behind itself. The payload is a [`Manifest`] in the wire form.
//!
//! Invariants, which the writer of checkpoints keeps and a restart trusts:
//! - the files that a manifest names were synced before it was written;
//! - nothing that a checkpoint shows, and no delete that it omits, is newer than its epoch;
//! - no drop of a table that a manifest omits is newer than the manifest's epoch;
//! - the log is there from the least position of all manifests on;
//! - a node that has a manifest with a position above 1 has one of each of the slots that it names.
//!
//! A manifest that is lost leaves no trace of its own, so each names all slots of the node. It also names the life that
//! wrote it: a log that a later life has begun anew is not the one that its positions are of.
//!
//! Deliberately not here: when a checkpoint is made (`pace`), and rows (`piece`).

use crate::block::Position;
use protocol::control::GroupId;
use stdx::wire::{from_bytes, to_bytes};
use types::{COLLATION_VERSION, Epoch, Incarnation, NodeId, SlotId, TableId};
use wire_derive::Wire;

const MAGIC: u32 = u32::from_le_bytes(*b"LRMF");
const HEADER_SIZE: usize = 16;
/// The form of manifests and pieces.
pub const FORMAT: u16 = 1;

/// The checkpoint of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct FragmentCheckpoint {
    /// The table.
    pub table: TableId,
    /// The highest epoch that anything was committed in when its last row had been read.
    pub epoch: Epoch,
    /// The log completes it from this block on.
    pub position: u64,
    /// The file with its pieces, and where the first one begins. No file is meant if there are no pieces.
    pub file: u64,
    /// In bytes.
    pub offset: u64,
    /// Bytes of all its pieces.
    pub length: u64,
    /// How many pieces it has.
    pub pieces: u32,
    /// How many rows they have.
    pub rows: u64,
}

/// The checkpoints of a slot.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Manifest {
    /// The name of the cluster.
    pub cluster: String,
    /// The version of the collations that the keys were made with.
    pub collations: String,
    /// The founding.
    pub founding: GroupId,
    /// The node.
    pub node: NodeId,
    /// The life that wrote it.
    pub lineage: Incarnation,
    /// The slot.
    pub slot: SlotId,
    /// All slots that the node has, in order. Each of them has a manifest, or the log reaches back to its beginning.
    pub slots: Vec<SlotId>,
    /// A fragment that is not in the list has nothing in the log before this block.
    pub position: u64,
    /// The highest epoch that anything was committed in when the list was made: the drop of a table may be missing.
    pub epoch: Epoch,
    /// In the order of tables.
    pub fragments: Vec<FragmentCheckpoint>,
}

/// Why there is no manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ManifestError {
    /// The bytes are none of a manifest, or damaged.
    Bad,
    /// It is not this node's to read; the text is for people.
    Foreign(String),
}

impl Manifest {
    /// The bytes of its file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let payload = to_bytes(self);
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        stdx::require!(length < u32::MAX, "a manifest is too long");
        let mut bytes = Vec::with_capacity(HEADER_SIZE + payload.len());
        bytes.extend_from_slice(&MAGIC.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&payload);
        let checksum = stdx::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the manifest of a slot, for a node of this cluster.
    pub fn decode(bytes: &[u8], slot: SlotId, cluster: &str, node: NodeId) -> Result<Self, ManifestError> {
        let word = |at: usize| bytes.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk));
        let format =
            bytes.get(12..).and_then(|bytes| bytes.first_chunk()).map(|chunk| u16::from_le_bytes(*chunk));
        let covered = bytes.get(8..).unwrap_or_default();
        let is_ours = word(0) == Some(MAGIC) && word(4) == Some(stdx::crc32c(covered));
        let (Some(format), Some(payload), true) = (format, bytes.get(HEADER_SIZE..), is_ours) else {
            return Err(ManifestError::Bad);
        };
        if word(8).is_none_or(|length| length as usize != payload.len()) {
            return Err(ManifestError::Bad);
        }
        let refused =
            |what: String| Err(ManifestError::Foreign(format!("the manifest of slot {slot} {what}")));
        if format != FORMAT {
            return refused(format!("has format {format}, and this program reads format {FORMAT}"));
        }
        let manifest: Self = from_bytes(payload).map_err(|_| ManifestError::Bad)?;
        if manifest.cluster != cluster {
            return refused(format!("belongs to the cluster {:?}, not to {cluster:?}", manifest.cluster));
        }
        if manifest.node != node {
            return refused(format!("belongs to node {}, not to node {node}", manifest.node));
        }
        if manifest.collations != COLLATION_VERSION {
            let theirs = &manifest.collations;
            return refused(format!("has keys of collations {theirs:?}, not of {COLLATION_VERSION:?}"));
        }
        let ascends = manifest.fragments.windows(2).all(|pair| pair[0].table < pair[1].table);
        if manifest.slot != slot || !ascends {
            return Err(ManifestError::Bad);
        }
        Ok(manifest)
    }

    /// The highest epoch of its checkpoints and of itself: the node cannot be brought to an older one.
    #[must_use]
    pub fn low(&self) -> Epoch {
        self.fragments.iter().map(|fragment| fragment.epoch).fold(self.epoch, Epoch::max)
    }

    /// The same without the checkpoint of a table, which turned out to be bad: only the whole log has its rows.
    #[must_use]
    pub fn without(mut self, table: TableId) -> Self {
        for fragment in self.fragments.iter_mut().filter(|fragment| fragment.table == table) {
            let (table, epoch) = (fragment.table, fragment.epoch);
            let (position, file, offset, length, pieces, rows) = (1, 0, 0, 0, 0, 0);
            *fragment = FragmentCheckpoint { table, epoch, position, file, offset, length, pieces, rows };
        }
        self
    }

    /// The first block that its slot needs.
    #[must_use]
    pub fn required(&self) -> Position {
        Position(self.fragments.iter().map(|fragment| fragment.position).fold(self.position, u64::min))
    }
}

#[cfg(test)]
mod tests;
