//! The log that a starting node finds: which of its blocks count, up to which epochs it is whole, and its entries.
//!
//! 1. [`ManifestScan`] reads the manifests of the checkpoints. They say from which block on the log is needed.
//! 2. [`Scan`] reads every file of the log once. It gives a [`Found`]: the points that the disk can be brought back to,
//!    and what is damaged.
//! 3. [`Rewrite`] writes the tail again and syncs it. An earlier process may have died between a write and its sync, so
//!    that the tail is only in memory. It must not count before this.
//! 4. The points go to the control plane as a [`Claim`]. It says which of them counts and at which epoch to cut.
//! 5. The checkpoints are read (`checkpoint`). Then [`Replay`] gives the entries up to the cut, in the order in which
//!    they were logged.
//!
//! **The chain.** A block counts if it stands where the block before says: the next number, that block's checksum, the
//! founding, node and file of its file's header. A life of the node begins with a new file, whose header names its
//! first block. That life left behind all that the chain had from there on, so it is dropped.
//!
//! **The end.** Blocks that were written and not synced reach the disk in any order. So a bad block at the end is torn:
//! it goes, with all that follows. Each block says up to which position the log had been flushed when it was written.
//! If a good block behind the end says that the missing one had been, it is *damage*: something is gone that had been
//! promised. The node comes back to an older point then, and says so.
//!
//! Invariants:
//! - Every point is an epoch at which everything decided lies before its end in the chain.
//! - Entries that are given are of blocks in the chain, and not above the cut. Nor are they above the base of a later
//!   mark *joining* or *restored*: the node had dropped those.
//! - Slices of at most [`SLICE_SIZE`] are read, unless a single block is longer.
//!
//! Deliberately not here: which point counts (`protocol::claim`, `membership`), rows (`storage`).

mod chain;
mod manifests;
mod replay;
mod rewrite;
mod scan;

pub use chain::{Found, Point};
pub use manifests::{ManifestScan, Manifests};
pub use replay::{LogSlice, Replay, ReplayError};
pub use rewrite::Rewrite;
pub use scan::{LogReader, Scan, ScanError};

/// Bytes that are read at once.
pub const SLICE_SIZE: u64 = 1 << 20;

#[cfg(test)]
pub(crate) mod tests;
