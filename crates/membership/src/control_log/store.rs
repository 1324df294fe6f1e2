//! The log in memory, as Raft reads it. All of it is here: it is begun anew with a snapshot before it is long.
//!
//! Invariants: entries follow the snapshot without gaps; what Raft has handed out is here at once, and on disk when the
//! file says so. Raft's own bytes of a change of voters exist only between proposal and append: here and in messages it
//! has our form.

use super::convert;
use crate::log_file::Durable;
use protocol::control::{HardState, LogEntry, LogSnapshot, VoterId};
use raft::eraftpb::{Entry, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Result, Storage, StorageError};

/// The log.
pub(super) struct LogStore {
    durable: Durable,
}

impl LogStore {
    pub(super) fn new(durable: Durable) -> Self {
        Self { durable }
    }

    /// Everything, for a new file.
    pub(super) fn durable(&self) -> &Durable {
        &self.durable
    }

    pub(super) fn set_hard(&mut self, hard: HardState) {
        self.durable.hard = hard;
    }

    /// Entries as the leader has them: they replace those of their index and above.
    pub(super) fn append(&mut self, entries: Vec<LogEntry>) {
        let follows = self.durable.take_entries(entries);
        stdx::require!(follows, "entries with a gap before them");
    }

    /// A leader's snapshot in place of everything.
    pub(super) fn restore(&mut self, snapshot: LogSnapshot) {
        self.durable.entries.clear();
        self.durable.hard.commit = self.durable.hard.commit.max(snapshot.index);
        self.durable.hard.term = self.durable.hard.term.max(snapshot.term);
        self.durable.snapshot = snapshot;
    }

    /// A snapshot of our own state in place of the entries that it covers.
    pub(super) fn compact(&mut self, snapshot: LogSnapshot) {
        stdx::require!(snapshot.index >= self.durable.snapshot.index);
        self.durable.entries.retain(|entry| entry.index > snapshot.index);
        self.durable.hard.commit = self.durable.hard.commit.max(snapshot.index);
        self.durable.snapshot = snapshot;
    }

    /// How many entries there are behind the snapshot.
    pub(super) fn entry_count(&self) -> usize {
        self.durable.entries.len()
    }

    fn position(&self, index: u64) -> Option<usize> {
        usize::try_from(index.checked_sub(self.durable.snapshot.index + 1)?).ok()
    }
}

impl Storage for LogStore {
    fn initial_state(&self) -> Result<RaftState> {
        let snapshot = &self.durable.snapshot;
        Ok(RaftState {
            hard_state: convert::hard_to_raft(self.durable.hard),
            conf_state: convert::voters_to_raft(&snapshot.voters, &snapshot.learners),
        })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        let Some(first) = self.position(low) else { return Err(Error::Store(StorageError::Compacted)) };
        let last = self.position(high).unwrap_or(0);
        let Some(entries) = self.durable.entries.get(first..last) else {
            return Err(Error::Store(StorageError::Unavailable));
        };
        let mut room = max_size.into().unwrap_or(u64::MAX);
        let mut taken = Vec::new();
        for entry in entries {
            let size = entry.data.len() as u64 + 32;
            if !taken.is_empty() && size > room {
                break;
            }
            room = room.saturating_sub(size);
            taken.push(convert::entry_to_raft(entry));
        }
        Ok(taken)
    }

    fn term(&self, index: u64) -> Result<u64> {
        if index == self.durable.snapshot.index {
            return Ok(self.durable.snapshot.term);
        }
        let Some(position) = self.position(index) else { return Err(Error::Store(StorageError::Compacted)) };
        let entry = self.durable.entries.get(position);
        entry.map(|entry| entry.term).ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.durable.snapshot.index + 1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.durable.last_index())
    }

    fn snapshot(&self, request_index: u64, to: u64) -> Result<Snapshot> {
        let snapshot = &self.durable.snapshot;
        // Nobody takes a snapshot from a time before it was added: a newer one is made at once.
        let is_for = |voters: &[VoterId]| voters.contains(&VoterId(to));
        if snapshot.index < request_index || !(is_for(&snapshot.voters) || is_for(&snapshot.learners)) {
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        Ok(convert::snapshot_to_raft(snapshot))
    }
}
