//! Redo log and checkpoints: their bytes, and what is decided about them. No file is read or written here.
//!
//! Each replica logs the rows that it publishes, with the epoch of their commit. A *mark* whole(e) in the log says:
//! everything ever decided with an epoch of at most e lies before it. After a full stop a node comes back to such an
//! epoch and forgets the rest. So nothing is in doubt, and there are no prepared records, no outcomes and no undo.
//!
//! | file | what |
//! | --- | --- |
//! | `record` | one entry: a row or a delete |
//! | `block` | entries or a mark behind a header that names their place |
//! | `file` | the header of a file |
//! | `writer` | blocks and marks into files: order, flushes, room |
//! | `recovery` | which blocks of the files that are found count, and their entries |
//! | `piece` | rows of a checkpoint |
//! | `manifest` | which checkpoints a slot has, and from where on the log completes them |
//! | `checkpoint` | the reading of a fragment's checkpoint |
//! | `pace` | which fragment is checkpointed next, and how fast |
//!
//! Invariants:
//! - every byte that is read is covered by a checksum that names its place, or counts as absent;
//! - bytes that were not written by us are decoded into a `Result`.
//!
//! Deliberately not here: I/O (`runtime`), when something is durable in the whole cluster (`transaction`), and which
//! node a restart begins from (`membership`).

pub mod block;
pub mod checkpoint;
pub mod file;
pub mod manifest;
pub mod mutants;
pub mod pace;
pub mod piece;
pub mod record;
pub mod recovery;
pub mod writer;

#[cfg(all(test, feature = "mutants"))]
mod bugs;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod simulated_disk;
#[cfg(test)]
mod together;

pub use block::{Block, BlockError, Content, Heading, Mark, OpenBlock, Position, SealedBlock};
pub use checkpoint::{CheckpointError, CheckpointReader};
pub use file::{FileError, FileHeader};
pub use manifest::{FragmentCheckpoint, Manifest, ManifestError};
pub use piece::{Codec, Piece, PieceBuilder, PieceError, PiecePlace, PieceRow, SealedPiece};
pub use record::{Entry, RecordError};
pub use recovery::{
    Found, LogReader, LogSlice, ManifestScan, Manifests, Point, Replay, ReplayError, Rewrite, Scan, ScanError,
};
pub use writer::{LogEnd, LogFailure, LogFile, LogIdentity, LogLevel, LogSize, Writer};
