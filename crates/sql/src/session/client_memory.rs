//! The memory of a session for its client, charged to ClientMemory. It counts packets that have not arrived whole,
//! prepared statements, values sent ahead, user variables, the text that runs and those that follow it.
//!
//! The charge is brought up to date where something large comes or goes, not with each statement. The driver charges
//! what it holds itself: bytes that are not taken, results that are not sent, TLS.
//!
//! Invariants: a client that finds no room is told 1041, alone. A session over the Unix socket costs nothing until it
//! sends something large, so that an administrator gets in. A session that is gone has given all back.
//!
//! Deliberately not here: rows that statements keep (QueryMemory), and plans that sessions share (the statement cache
//! has a size of its own).

use super::{Session, Stage};
use crate::environment::Environment;
use memory::RegionFull;
use planner::Normalized;
use protocol::{ConnectionKind, SqlError};

/// The size of a session itself: its own struct, the handshake's, entries in tables.
const SESSION_SIZE: usize = size_of::<Session>() + 1024;
/// A text of this size is charged while it runs.
pub(super) const LARGE_TEXT: usize = 64 * 1024;
/// Above this much, the charge is looked at when a statement ends.
pub(super) const LARGE_HOLDING: u64 = LARGE_TEXT as u64;
/// Bytes that came behind a running statement keep this much memory when they are taken.
const PENDING_KEPT: usize = 4 * 1024;

/// There is no room in a region for what a client sends or asks for.
pub(crate) fn out_of_memory(full: RegionFull) -> SqlError {
    SqlError::new(1041, format!("Out of memory; {} is exhausted by this connection and others", full.name()))
}

impl Session {
    fn size(&self) -> usize {
        let own = if matches!(self.kind, ConnectionKind::MySqlUnix { .. }) { 0 } else { SESSION_SIZE };
        let running = self.running_text().map_or(0, str::len);
        own + self.reassembler.size()
            + self.pending.capacity()
            + self.statements.size()
            + self.named_statements.size()
            + self.core.user_variables.size()
            + self.queue.iter().map(String::len).sum::<usize>()
            + if running >= LARGE_TEXT { running } else { 0 }
    }

    /// Brings the charge up to date.
    #[cold]
    pub(super) fn account(&mut self, env: &mut Environment<'_>) -> Result<(), SqlError> {
        let size = self.size() as u64;
        env.module.client_memory.bring(&mut self.holding, size).map_err(out_of_memory)
    }

    /// The same where less is held than before, or where a refusal ends the connection.
    pub(super) fn account_or_reject(&mut self, env: &mut Environment<'_>) {
        if let Err(error) = self.account(env) {
            self.reject_with(env, &error);
        }
    }

    /// A large packet was dealt with.
    #[cold]
    pub(super) fn after_large_packet(&mut self, env: &mut Environment<'_>) {
        self.normalized = Normalized::default();
        if self.stage != Stage::Closing {
            self.account_or_reject(env);
        }
    }

    /// Gives back what bytes that waited do not need any more.
    pub(super) fn shrink_pending(&mut self) {
        if self.pending.is_empty() && self.pending.capacity() > PENDING_KEPT {
            self.pending = Vec::new();
        }
    }

    /// The driver finds no room for what it holds of this connection.
    pub(crate) fn on_memory_full(&mut self, env: &mut Environment<'_>) {
        let region = memory::Region::ClientMemory;
        self.reject_with(env, &out_of_memory(RegionFull { region }));
    }

    /// Says why, and closes a connection whose client may still be sending.
    pub(super) fn reject_with(&mut self, env: &mut Environment<'_>, error: &SqlError) {
        if self.stage == Stage::Closing {
            return;
        }
        env.module.counters.refused += 1;
        if self.running.is_none() && self.is_ready() {
            self.core.sequence = self.reassembler.answer_sequence(self.expected());
        }
        // The end of a commit that is on its way is not known: such a client hears nothing but the end of its
        // connection.
        if !self.core.client.inbox.has_commit() {
            self.core.reply_error(env, error);
        }
        self.reject(env);
    }

    /// The session is gone.
    pub(super) fn release(&mut self, env: &mut Environment<'_>) {
        let released = env.module.client_memory.bring(&mut self.holding, 0);
        stdx::require!(released.is_ok(), "giving back is refused");
    }
}
