//! The file of a node's control log on a real disk: it does the writes that `membership` asks for, and knows nothing of
//! their content.
//!
//! `control.log` in the node's data directory. A write at an offset is on disk when it returns. It is an `fdatasync`
//! into space that was written with zeros when the file was made, so that no metadata has to follow it. A new file is
//! written beside the old one, synced, and renamed over it; then the directory is synced. After a crash there is the
//! old file or the new one.
//!
//! The bytes of an earlier process may be in the memory of the machine only: it died before its sync, or its sync
//! failed. Its records count all the same, so a file that is found is written anew before anything that it holds is
//! used.
//!
//! Invariants: one process has the file, by an advisory lock on the directory's `control.lock`, which goes with the
//! process. All that `open` gives is on disk. After an error nothing more is written, whatever is asked: a failed sync
//! is never retried, the node dies.
//!
//! A node's writes are done by a thread of their own (`io`), one after the other: [`begin`] starts it, [`LogWriter`] is
//! what the thread of `membership` has of it. The thread ends when that is dropped.

use crate::process::{External, Process};
use protocol::Severity;
use protocol::control::{LogPlace, LogWrite};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Zeros behind the first record of a new file: room for the records of some hundred changes.
const PREALLOCATED_SIZE: usize = 1 << 20;
/// A file beyond this is not read: it is not one of ours.
const FILE_SIZE_MAX: u64 = 64 << 20;
const NAME: &str = "control.log";
const NEW_NAME: &str = "control.log.new";
const LOCK_NAME: &str = "control.lock";
/// The exit code of a node whose disk failed.
const EXIT_CODE_DISK: u8 = 4;

/// The file.
#[derive(Debug)]
pub struct LogFile {
    directory: PathBuf,
    file: Option<File>,
    has_failed: bool,
    _lock: File,
}

impl LogFile {
    /// Throws an old file in this directory away, and opens it as if it had never been there (`--initial`).
    pub fn open_anew(directory: &Path) -> io::Result<Self> {
        let log = Self::lock(directory)?;
        match std::fs::remove_file(directory.join(NAME)) {
            Ok(()) => File::open(directory)?.sync_all()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(log)
    }

    /// Opens the file in this directory, which is made if it is not there. Gives the file, and all its bytes (none if
    /// there is no file yet), which are on disk.
    pub fn open(directory: &Path) -> io::Result<(Self, Vec<u8>)> {
        let mut log = Self::lock(directory)?;
        let mut bytes = Vec::new();
        match File::open(directory.join(NAME)) {
            Ok(mut found) => {
                if found.metadata()?.len() > FILE_SIZE_MAX {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "control.log is too long"));
                }
                found.read_to_end(&mut bytes)?;
                // A sync would not do: one that failed in an earlier process may succeed now, and nothing was written.
                log.replace(&bytes, 0).map_err(|error| {
                    io::Error::new(error.kind(), format!("control.log cannot be written anew: {error}"))
                })?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok((log, bytes))
    }

    /// Makes the directory this process's own; no file is open yet.
    fn lock(directory: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let lock = private().write(true).create(true).truncate(false).open(directory.join(LOCK_NAME))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process uses {}", directory.display());
                return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        Ok(Self { directory: directory.to_owned(), file: None, has_failed: false, _lock: lock })
    }

    /// Does a write; it is on disk when this returns. After an error the node must die.
    pub fn write(&mut self, write: &LogWrite) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("an earlier write of the control log failed"));
        }
        let result = match write.place {
            LogPlace::At(offset) => self.write_at(offset, &write.bytes),
            LogPlace::NewFile => self.replace(&write.bytes, PREALLOCATED_SIZE),
        };
        self.has_failed = result.is_err();
        result
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.as_ref().ok_or_else(|| io::Error::other("control.log was not begun"))?;
        file.write_all_at(bytes, offset)?;
        file.sync_data()
    }

    /// Puts a new file in the place of the old one: these bytes, and this many zeros.
    fn replace(&mut self, bytes: &[u8], zeros: usize) -> io::Result<()> {
        let new = self.directory.join(NEW_NAME);
        let mut file = private().read(true).write(true).create(true).truncate(true).open(&new)?;
        file.write_all(bytes)?;
        file.write_all(&vec![0; zeros])?;
        file.sync_all()?;
        std::fs::rename(&new, self.directory.join(NAME))?;
        File::open(&self.directory)?.sync_all()?;
        self.file = Some(file);
        Ok(())
    }
}

/// Where the thread of `membership` puts its writes.
pub(crate) struct LogWriter {
    writes: mpsc::Sender<LogWrite>,
}

impl LogWriter {
    /// Asks for a write; `membership` has one on its way at a time, so nothing piles up.
    pub(crate) fn write(&self, write: LogWrite) {
        // Nobody takes it when the thread has ended, and then the node is about to.
        let _ = self.writes.send(write);
    }
}

/// Starts the thread that has the file.
pub(crate) fn begin(mut file: LogFile, process: Arc<Process>) -> io::Result<(LogWriter, JoinHandle<()>)> {
    let (writes, wanted) = mpsc::channel::<LogWrite>();
    let body = move || {
        for write in wanted {
            match file.write(&write) {
                Ok(()) => {
                    process.threads[process.supervisor].tell(External::LogWritten { ticket: write.ticket });
                }
                Err(error) => {
                    process.log(Severity::Error, format!("the control log cannot be written: {error}"));
                    return process.exit(EXIT_CODE_DISK);
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("io".to_owned()).spawn(body)?;
    Ok((LogWriter { writes }, thread))
}

/// For the owner's eyes only: the log names hosts and, later, certificates.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(test)]
mod tests;
