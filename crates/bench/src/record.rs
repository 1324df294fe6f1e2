//! The log that a checking client keeps: each outcome is on disk before the client goes on.
//!
//! One line per transaction, `kind from until detail`: `A` acknowledged, `U` unknown, `R` refused; times are
//! nanoseconds of the machine's monotonic clock. The detail is the load's own. After a run these files are checked, not
//! what the client remembers. So the judgement holds though a client, or all of them, died with the servers.
//!
//! **Invariants.** When [`Writer::append`] returns, an acknowledged or unknown outcome has been synchronised
//! (`fdatasync`); a refused one is written only: to lose it makes the check weaker, not wrong. A last line without its
//! end, which a crash may leave, is passed over.

use rustix::time::{ClockId, clock_gettime};
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Acknowledged,
    Unknown,
    Refused,
}

impl Outcome {
    fn letter(self) -> char {
        match self {
            Self::Acknowledged => 'A',
            Self::Unknown => 'U',
            Self::Refused => 'R',
        }
    }

    fn of_letter(letter: &str) -> Option<Self> {
        match letter {
            "A" => Some(Self::Acknowledged),
            "U" => Some(Self::Unknown),
            "R" => Some(Self::Refused),
            _ => None,
        }
    }
}

/// One transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub outcome: Outcome,
    /// Before its first statement was sent.
    pub from: u64,
    /// After its last answer came, or is no longer awaited.
    pub until: u64,
    /// Its work, as its load writes it.
    pub detail: String,
}

/// The machine's monotonic clock, the same in all processes.
#[must_use]
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// A client's own file.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Makes the file of this client.
    pub fn create(folder: &Path, client: &str) -> io::Result<Self> {
        let path = folder.join(format!("{client}.log"));
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(&path)?;
        Ok(Self { file, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes an outcome; returns when it is on disk.
    pub fn append(&mut self, outcome: Outcome, from: u64, detail: impl Display) -> io::Result<()> {
        let line = format!("{} {from} {} {detail}\n", outcome.letter(), now());
        self.file.write_all(line.as_bytes())?;
        match outcome {
            Outcome::Acknowledged | Outcome::Unknown => self.file.sync_data(),
            Outcome::Refused => Ok(()),
        }
    }
}

/// Reads a client's file.
pub fn read(path: &Path) -> io::Result<Vec<Record>> {
    let text = std::fs::read_to_string(path)?;
    let mut records = Vec::new();
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let record = parse(line.trim_end_matches('\n'));
        records.push(record.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {line:?} is no record", path.display()))
        })?);
    }
    Ok(records)
}

fn parse(line: &str) -> Option<Record> {
    let mut words = line.splitn(4, ' ');
    let outcome = Outcome::of_letter(words.next()?)?;
    let from = words.next()?.parse().ok()?;
    let until = words.next()?.parse().ok()?;
    Some(Record { outcome, from, until, detail: words.next()?.to_owned() })
}

#[cfg(test)]
mod tests;
