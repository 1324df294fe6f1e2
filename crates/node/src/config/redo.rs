//! The redo log of a data node, as config.ini wants it.

use super::{NodeValues, parameters};
use durability::Codec;
use protocol::NodeRole;
use stdx::Duration;

/// The redo log of a node that keeps one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedoConfig {
    /// `FragmentLogFileSize`, bytes: a multiple of what disks write at once.
    pub file_size: u64,
    /// `NoOfFragmentLogParts` times `NoOfFragmentLogFiles`; None: as the memory of rows wants it.
    pub files: Option<u64>,
    /// `TimeBetweenGlobalCheckpoints`; zero under `Durability=fsync`.
    pub flush_interval: Duration,
    /// `MaxDiskWriteSpeed`, bytes a second.
    pub write_speed_max: u64,
    /// `CompressedLCP`.
    pub codec: Codec,
    /// `ODirect`: rows go to the disk past the memory of the machine.
    pub is_direct: bool,
    /// `RedoWaitTimeout`: how long a write waits for room in the log.
    pub wait_max: Duration,
}

/// `Durability`: when commits are acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Durability {
    /// When all replicas have them in memory.
    Memory,
    /// When they are on their disks, too.
    Epoch,
    /// The same, with epochs that are closed and flushed without pause.
    Fsync,
}

impl Durability {
    /// As they are written, in this order.
    pub(super) const NAMES: [&'static str; 3] = ["memory", "epoch", "fsync"];

    pub(super) fn numbered(number: u64) -> Self {
        match number {
            0 => Self::Memory,
            1 => Self::Epoch,
            _ => Self::Fsync,
        }
    }

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Blocks of the log are padded to a multiple of this.
const BLOCK_UNIT: u64 = 4096;
/// Bytes of the log of a node that has little DataMemory.
const SPACE_MIN: u64 = 1 << 30;
/// Bytes of the log of a node that has very much of it.
const SPACE_MAX: u64 = 64 << 30;
/// A log has a file that is written, one that is ready, and one that is read.
const FILES_MIN: u64 = 3;

impl RedoConfig {
    /// As a section says; None for a node that keeps no log.
    pub(super) fn of(values: &NodeValues<'_>) -> Option<Self> {
        if values.role != NodeRole::Data || values.number("Diskless") != 0 {
            return None;
        }
        let files = values.number("NoOfFragmentLogFiles");
        let parts = values.number("NoOfFragmentLogParts");
        let file_size = match values.number("FragmentLogFileSize") {
            0 => parameters::default_number("FragmentLogFileSize"),
            size => size,
        };
        let flush_interval = match Durability::numbered(values.number("Durability")) {
            Durability::Fsync => Duration::ZERO,
            Durability::Memory | Durability::Epoch => {
                Duration::from_millis(values.number("TimeBetweenGlobalCheckpoints"))
            }
        };
        Some(Self {
            file_size: file_size / BLOCK_UNIT * BLOCK_UNIT,
            files: (files > 0).then(|| files.saturating_mul(parts)),
            flush_interval,
            codec: if values.number("CompressedLCP") == 0 { Codec::Plain } else { Codec::Lz4 },
            is_direct: values.number("ODirect") != 0,
            write_speed_max: match values.number("MaxDiskWriteSpeed") {
                0 => u64::MAX,
                speed => speed,
            },
            wait_max: Duration::from_millis(values.number("RedoWaitTimeout")),
        })
    }

    /// How many files the log of a node with so much DataMemory has.
    #[must_use]
    pub fn files(&self, data_memory: u64) -> u64 {
        let automatic = || data_memory.clamp(SPACE_MIN, SPACE_MAX).div_ceil(self.file_size.max(1));
        self.files.unwrap_or_else(automatic).max(FILES_MIN)
    }
}
