//! Requests of a module to the disk of its node (`Outputs::disk`), and their answers (`Input::DiskDone`).
//!
//! A request goes to a *lane*. The requests of a lane are done in the order of asking, one at a time. Requests of
//! different lanes know nothing of each other. Each request is answered once, to the module that asked, with its
//! ticket. The files of a node have typed names; `runtime` keeps them in the folder of the node, the simulator in
//! memory.
//!
//! Invariants:
//! - A file is made by `Prepare`, `Replace` or `Create`, and by nothing else: every other operation on a missing file
//!   is `Absent`.
//! - A name that `Prepare`, `Replace` or `Rename` has put there survives the loss of power once the answer has come.
//!   Bytes do once a `Write` with `sync`, a `Sync`, a `Prepare` or a `Replace` has been answered.
//! - Nothing is tried twice. After a write or a sync has failed, nobody knows what the file holds: the driver refuses
//!   to write or to sync it again, until it is replaced or removed.
//!
//! Deliberately not here: what the files hold (`membership::log_file`, crate `durability`), and which lane is for what.

use std::fmt;
use types::SlotId;

/// Which thread does a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DiskLane {
    /// The control log: small, and the cluster waits for it.
    Control,
    /// The redo log: commits wait for it.
    Redo,
    /// Checkpoints and the reading of files at a start: large, and nobody waits for one request of it.
    Bulk,
    /// Rows that a statement has no memory for: the statement waits, and nobody else.
    Scratch,
}

impl DiskLane {
    /// All lanes; the position of a lane in it is `lane as usize`.
    pub const ALL: [Self; 4] = [Self::Control, Self::Redo, Self::Bulk, Self::Scratch];

    /// As threads are named.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Redo => "redo",
            Self::Bulk => "bulk",
            Self::Scratch => "scratch",
        }
    }
}

/// A file in the folder of a node. Its text is its path in that folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FileName {
    /// The copy of the control log.
    ControlLog,
    /// A file of the redo log, by its number.
    Redo(u64),
    /// A file that becomes one of the redo log by a rename.
    RedoSpare(u64),
    /// The list of all that the checkpoint of a slot consists of.
    Manifest(SlotId),
    /// Rows of a checkpoint.
    Piece(u64),
    /// The statement of the node about its files when it starts.
    Claim,
    /// Rows of the statement that runs for this client. The driver removes it when it starts: no life of a node reads
    /// what an earlier one has written there.
    Scratch(u32),
}

impl FileName {
    /// The folders of the names above, apart from the folder of the node itself.
    pub const FOLDERS: [&'static str; 3] = ["redo", "lcp", "scratch"];

    /// The file with this path, if it is one of a node. There is one path for each name.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let numbered = |prefix: &str, suffix: &str| -> Option<u64> {
            path.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok()
        };
        let name = match path {
            "control.log" => Self::ControlLog,
            "claim" => Self::Claim,
            _ => numbered("redo/", ".redo")
                .map(Self::Redo)
                .or_else(|| numbered("redo/", ".spare").map(Self::RedoSpare))
                .or_else(|| numbered("lcp/", ".piece").map(Self::Piece))
                .or_else(|| {
                    let slot = u32::try_from(numbered("lcp/", ".manifest")?).ok()?;
                    Some(Self::Manifest(SlotId(slot)))
                })
                .or_else(|| {
                    let client = u32::try_from(numbered("scratch/", ".rows")?).ok()?;
                    Some(Self::Scratch(client))
                })?,
        };
        // No second spelling of a number: neither `+1` nor `01`.
        (name.to_string() == path).then_some(name)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlLog => formatter.write_str("control.log"),
            Self::Redo(number) => write!(formatter, "redo/{number}.redo"),
            Self::RedoSpare(number) => write!(formatter, "redo/{number}.spare"),
            Self::Manifest(slot) => write!(formatter, "lcp/{}.manifest", slot.0),
            Self::Piece(number) => write!(formatter, "lcp/{number}.piece"),
            Self::Claim => formatter.write_str("claim"),
            Self::Scratch(client) => write!(formatter, "scratch/{client}.rows"),
        }
    }
}

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskRequest {
    /// Named again in the answer; of the module's own choice.
    pub ticket: u64,
    /// The lane that does it.
    pub lane: DiskLane,
    /// The work.
    pub operation: DiskOperation,
}

/// The work of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiskOperation {
    /// Puts bytes into a file; it grows if they do not fit.
    Write {
        /// The file.
        file: FileName,
        /// Where the bytes begin.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether the answer means that they are on disk, with all that was written to the file before.
        sync: bool,
    },
    /// Everything written to the file so far is on disk when the answer comes.
    Sync {
        /// The file.
        file: FileName,
    },
    /// Puts a new file with these bytes in the place of the old one, or where there was none: all or nothing.
    Replace {
        /// The file.
        file: FileName,
        /// All that it holds.
        bytes: Vec<u8>,
    },
    /// Reads bytes: fewer than asked for where the file ends.
    Read {
        /// The file.
        file: FileName,
        /// Where they begin.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// Makes a file of zeros, on disk, in the place of an old one if there is one: later writes into it need no room.
    Prepare {
        /// The file.
        file: FileName,
        /// Its size.
        size: u64,
    },
    /// Makes an empty file, in the place of an old one if there is one. Nothing is synced: after a loss of power there
    /// may be any file of this name, or none.
    Create {
        /// The file.
        file: FileName,
    },
    /// Gives a file another name; a file that had it is gone.
    Rename {
        /// The old name.
        from: FileName,
        /// The new one.
        to: FileName,
    },
    /// Takes a file away. A loss of power soon after it may bring the file back.
    Remove {
        /// The file.
        file: FileName,
    },
    /// The files of the node.
    List,
    /// The room on the disk.
    Space,
}

/// Why a request was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiskError {
    /// There is no room on the disk, or the user may have no more.
    Full,
    /// There is no such file.
    Absent,
    /// Anything else. One line for people, which names the file.
    Failed(String),
}

impl DiskError {
    /// One line for people, about this file.
    #[must_use]
    pub fn about(&self, file: FileName) -> String {
        match self {
            Self::Full | Self::Absent => format!("{file}: {self}"),
            Self::Failed(_) => self.to_string(),
        }
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => formatter.write_str("the disk is full"),
            Self::Absent => formatter.write_str("there is no such file"),
            Self::Failed(text) => formatter.write_str(text),
        }
    }
}

/// The result of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiskAnswer {
    /// It is done.
    Done,
    /// To `Read`.
    Bytes(Vec<u8>),
    /// To `List`: each file with its size, in the order of the names. Files of other names are not told.
    Files(Vec<(FileName, u64)>),
    /// To `Space`, in bytes.
    Space {
        /// The room that may still be written.
        free: u64,
        /// The size of the disk.
        total: u64,
    },
}

#[cfg(test)]
mod tests;
