//! Scratch: rows of a statement that find no room in memory, in a file on the disk of its node.
//!
//! ```text
//! operator --rows--> RunWriter --pieces--> Scratch --Write--> lane `scratch` of the disk
//! operator <--rows-- RunReader <--pieces-- Scratch <--Read--- lane `scratch` of the disk
//! ```
//! The client of the statement has one file while the statement runs. It is made with the first piece and removed when
//! the statement ends, so a KILL frees it, too. The file is divided into slots of one size. A piece lies in one, which
//! is used again when the piece has been read.
//!
//! The checksum of a piece is kept in memory, not beside the piece. So a write that was lost or went elsewhere is
//! noticed as well as rot, and the statement fails. Nothing is synced: no other statement reads the file, and no other
//! life of the node.
//!
//! Invariants:
//! - The bytes of all slots are taken from [`ScratchRoom`], and are given back when the statement ends. The lane
//!   removes the file before it writes what another statement gets then.
//! - The lane does requests in the order of asking: what is read was written before, also in slots that are used again.
//! - After the disk has failed once, the statement gets no bytes any more, but the error.
//! - Bytes on their way to the disk are not charged. They are [`WRITING_MAX`] at most, and the pieces of writers.
//!
//! Deliberately not here: what is put there, and when (`sort`, `hash_runs`, `join`).

mod packed_row;
mod run;

pub(crate) use packed_row::PackedRow;
pub(crate) use run::{Advance, Run, RunReader, RunWriter};

use crate::mutants::{self, Mutant};
use crate::row::UNCHARGED_MAX;
use crate::site::Environment;
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use protocol::scratch_room::{SCRATCH_SPACE, ScratchRoom};
use protocol::{Outputs, Severity, SqlError};
use query::Shared;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

/// The size of a piece.
const PIECE_MAX: u64 = 256 << 10;
const PIECE_MIN: u64 = 4 << 10;
/// A statement has memory for so many pieces, if it has much.
const PIECES: u64 = 128;
/// Runs that are merged at once.
const MERGED_MAX: u64 = 64;
/// Pieces that a merge holds besides one for each run: those that it writes.
pub(crate) const WRITTEN_PIECES: u64 = 3;
/// An operator writes its rows if they take this part of the memory of a statement at least.
const SPILLED_PART: u64 = 4;
/// Bytes on their way to the disk; the next piece waits until there are fewer.
const WRITING_MAX: u64 = 2 * PIECE_MAX;

/// The terms for statements of a module that have too little memory.
#[derive(Clone, Debug)]
pub struct ScratchTerms {
    /// ScratchSpace.
    pub room: Arc<ScratchRoom>,
    /// QueryMemoryPerStatement: a statement that has so many bytes uses scratch, if it can.
    pub statement_memory_max: u64,
}

impl ScratchTerms {
    /// The size of a piece and of a slot.
    pub(crate) fn piece_size(&self) -> u64 {
        (self.statement_memory_max / PIECES).clamp(PIECE_MIN, PIECE_MAX)
    }

    /// Bytes that an operator which may spill keeps before it pays for them.
    pub(crate) fn uncharged_max(&self) -> usize {
        usize::try_from(self.statement_memory_max / SPILLED_PART)
            .map_or(UNCHARGED_MAX, |part| part.min(UNCHARGED_MAX))
    }

    /// Whether a statement that uses so many bytes gets no `more` for an operator whose rows take `size` bytes. It does
    /// if these are not worth their writing, whatever other operators of the statement hold.
    pub(crate) fn is_beyond_share(&self, used: u64, more: usize, size: usize) -> bool {
        used + more as u64 > self.statement_memory_max
            && size as u64 >= self.statement_memory_max / SPILLED_PART
    }

    /// How many runs are merged at once.
    pub(crate) fn merged_max(&self) -> u64 {
        let pieces = self.statement_memory_max / self.piece_size();
        pieces.saturating_sub(WRITTEN_PIECES).clamp(2, MERGED_MAX)
    }
}

/// Bytes of scratch since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScratchBytes {
    /// Written by statements.
    pub written: u64,
    /// Read again.
    pub read: u64,
}

/// An operator's right to pieces. Those that it has not read are given up with it.
#[derive(Debug, Default)]
pub(crate) struct Hold(Arc<()>);

/// Bytes in scratch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    slot: u32,
    length: u32,
    checksum: u32,
}

/// A read that is on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Reading(u64);

/// The scratch of a client.
#[derive(Debug)]
pub struct Scratch {
    client: u32,
    /// The number in the last ticket.
    last: u32,
    /// Of the last file that was to be removed.
    removal: Option<u64>,
    file: Option<Box<ScratchFile>>,
}

/// The file of the statement that runs.
#[derive(Debug)]
struct ScratchFile {
    name: FileName,
    room: Arc<ScratchRoom>,
    slot_size: u64,
    /// How many slots it has.
    slots: u32,
    free: Vec<u32>,
    /// The slots of each operator. Those of operators that are gone are found when another one begins.
    holders: Vec<(Weak<()>, BTreeSet<u32>)>,
    /// Writes on their way, by ticket: their bytes.
    writes: BTreeMap<u64, u64>,
    /// Reads that were asked for and not taken.
    reads: BTreeMap<Reading, Expected>,
    failure: Option<SqlError>,
}

/// The read of an operator.
#[derive(Debug)]
struct Expected {
    holder: Weak<()>,
    answer: Option<Result<Vec<u8>, SqlError>>,
}

impl Scratch {
    /// No file yet.
    pub(crate) fn new(client: u32) -> Self {
        Self { client, last: 0, removal: None, file: None }
    }

    /// The client whose request to the disk had this ticket.
    pub fn client_of(ticket: u64) -> u32 {
        u32::try_from(ticket >> 32).unwrap_or(0)
    }

    /// The statement is over: its file goes.
    #[inline]
    pub fn end(&mut self, outputs: &mut Outputs<Shared>) {
        if self.file.is_some() {
            self.remove(outputs);
        }
    }

    #[cold]
    fn remove(&mut self, outputs: &mut Outputs<Shared>) {
        let ticket = self.next_ticket();
        self.removal = Some(ticket);
        if let Some(file) = self.file.take() {
            file.room.give_back(u64::from(file.slots) * file.slot_size);
            ask(outputs, ticket, DiskOperation::Remove { file: file.name });
        }
    }

    fn next_ticket(&mut self) -> u64 {
        self.last = self.last.wrapping_add(1);
        u64::from(self.client) << 32 | u64::from(self.last)
    }

    /// Whether a piece may be written now. If not, an answer of the disk comes.
    pub(crate) fn may_write(&self) -> Result<bool, SqlError> {
        let Some(file) = &self.file else { return Ok(true) };
        file.failure.clone().map_or(Ok(()), Err)?;
        Ok(file.writes.values().sum::<u64>() < WRITING_MAX)
    }

    /// Writes a piece; it has no more bytes than a slot.
    pub(crate) fn write(
        &mut self,
        hold: &Hold,
        bytes: Vec<u8>,
        env: &mut Environment<'_>,
    ) -> Result<Piece, SqlError> {
        let (create, write) = (self.next_ticket(), self.next_ticket());
        let client = self.client;
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let Some(terms) = &env.site.scratch else { return Err(no_scratch()) };
                let file = ScratchFile::new(client, terms);
                ask(env.outputs, create, DiskOperation::Create { file: file.name });
                let file = self.file.insert(Box::new(file));
                file.writes.insert(create, 0);
                file
            }
        };
        let length = bytes.len() as u64;
        stdx::require!(length <= file.slot_size, "a piece has no more bytes than a slot");
        let piece = Piece {
            slot: file.slot_for(hold)?,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            checksum: stdx::crc32c(&bytes),
        };
        file.writes.insert(write, length);
        env.site.scratch_bytes.written += length;
        let offset = u64::from(piece.slot) * file.slot_size;
        let operation = DiskOperation::Write { file: file.name, offset, bytes, sync: false };
        ask(env.outputs, write, operation);
        Ok(piece)
    }

    /// Asks for a piece.
    pub(crate) fn read(&mut self, hold: &Hold, piece: Piece, env: &mut Environment<'_>) -> Reading {
        let reading = Reading(self.next_ticket());
        if let Some(file) = &mut self.file {
            file.reads.insert(reading, Expected { holder: Arc::downgrade(&hold.0), answer: None });
            let offset = u64::from(piece.slot) * file.slot_size;
            let operation = DiskOperation::Read { file: file.name, offset, length: piece.length.into() };
            ask(env.outputs, reading.0, operation);
        }
        reading
    }

    /// The bytes of a piece that was asked for, if they are there. Its slot is free then.
    pub(crate) fn take(
        &mut self,
        hold: &Hold,
        reading: Reading,
        piece: Piece,
        env: &mut Environment<'_>,
    ) -> Result<Option<Vec<u8>>, SqlError> {
        let Some(file) = &mut self.file else { return Err(no_scratch()) };
        file.failure.clone().map_or(Ok(()), Err)?;
        let Some(expected) = file.reads.get_mut(&reading) else { return Err(no_scratch()) };
        let Some(bytes) = expected.answer.take() else { return Ok(None) };
        file.reads.remove(&reading);
        let bytes = bytes.inspect_err(|error| file.failure = Some(error.clone()))?;
        let is_whole = bytes.len() == piece.length as usize && stdx::crc32c(&bytes) == piece.checksum;
        if !is_whole && !mutants::is(Mutant::DamagedPiecesTaken) {
            let error = damaged(file.name);
            env.outputs.event(Severity::Error, error.message.clone());
            file.failure = Some(error.clone());
            return Err(error);
        }
        file.free(hold, piece);
        env.site.scratch_bytes.read += u64::from(piece.length);
        Ok(Some(bytes))
    }

    /// Nobody will read a piece: its slot is free.
    pub(crate) fn give_up(&mut self, hold: &Hold, piece: Piece) {
        if let Some(file) = &mut self.file {
            file.free(hold, piece);
        }
    }

    /// A piece that was read whole does not hold what was written: an error of this program.
    pub(crate) fn damage(&self) -> SqlError {
        damaged(FileName::Scratch(self.client))
    }

    /// The disk has answered. True if an operator waits for it.
    pub fn on_done(
        &mut self,
        ticket: u64,
        result: Result<DiskAnswer, DiskError>,
        outputs: &mut Outputs<Shared>,
    ) -> bool {
        let name = FileName::Scratch(self.client);
        let mut warn = |error: &DiskError| {
            outputs.event(Severity::Warning, format!("scratch: {}", error.about(name)));
        };
        if self.removal == Some(ticket) {
            if let Err(error @ (DiskError::Full | DiskError::Failed(_))) = &result {
                warn(error);
            }
            return false;
        }
        let Some(file) = &mut self.file else { return false };
        if file.writes.remove(&ticket).is_some() {
            // The requests behind it fail, too.
            if let (Err(error), None) = (&result, &file.failure) {
                warn(error);
                file.failure = Some(write_failed(name, error));
            }
            return true;
        }
        let Some(expected) = file.reads.get_mut(&Reading(ticket)) else { return false };
        if expected.holder.strong_count() == 0 {
            file.reads.remove(&Reading(ticket));
            return false;
        }
        expected.answer = Some(match result {
            Ok(DiskAnswer::Bytes(bytes)) => Ok(bytes),
            Ok(DiskAnswer::Done | DiskAnswer::Files(_) | DiskAnswer::Space { .. }) => Err(damaged(name)),
            Err(error) => {
                warn(&error);
                Err(SqlError::new(1024, format!("Error reading file '{name}' ({error})")))
            }
        });
        true
    }
}

impl ScratchFile {
    fn new(client: u32, terms: &ScratchTerms) -> Self {
        Self {
            name: FileName::Scratch(client),
            room: Arc::clone(&terms.room),
            slot_size: terms.piece_size(),
            slots: 0,
            free: Vec::new(),
            holders: Vec::new(),
            writes: BTreeMap::new(),
            reads: BTreeMap::new(),
            failure: None,
        }
    }

    /// A slot that is free, or a new one.
    fn slot_for(&mut self, hold: &Hold) -> Result<u32, SqlError> {
        if self.holder(hold).is_none() {
            self.sweep();
            self.holders.push((Arc::downgrade(&hold.0), BTreeSet::new()));
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slots = self.slots.checked_add(1).ok_or_else(scratch_full)?;
                if !self.room.take(self.slot_size) {
                    return Err(scratch_full());
                }
                std::mem::replace(&mut self.slots, slots)
            }
        };
        if let Some(slots) = self.holder(hold) {
            slots.insert(slot);
        }
        Ok(slot)
    }

    /// The slots of an operator; None: it has had none.
    fn holder(&mut self, hold: &Hold) -> Option<&mut BTreeSet<u32>> {
        let is_holder = |(token, _): &&mut (Weak<()>, _)| token.as_ptr() == Arc::as_ptr(&hold.0);
        self.holders.iter_mut().find(is_holder).map(|(_, slots)| slots)
    }

    /// The slot of a piece may be used again.
    fn free(&mut self, hold: &Hold, piece: Piece) {
        if self.holder(hold).is_some_and(|slots| slots.remove(&piece.slot)) {
            self.free.push(piece.slot);
        }
    }

    /// Gives up what belonged to operators that are gone.
    fn sweep(&mut self) {
        for (_, slots) in self.holders.extract_if(.., |(token, _)| token.strong_count() == 0) {
            self.free.extend(slots);
        }
        self.reads.retain(|_, expected| expected.holder.strong_count() > 0);
    }
}

fn ask(outputs: &mut Outputs<Shared>, ticket: u64, operation: DiskOperation) {
    outputs.disk(DiskRequest { ticket, lane: DiskLane::Scratch, operation });
}

/// 1041: there is no scratch that could be used.
fn no_scratch() -> SqlError {
    SqlError::new(1041, "Out of memory; this node has no scratch")
}

fn scratch_full() -> SqlError {
    SqlError::new(1021, format!("Disk full ({SCRATCH_SPACE} is exhausted by this statement and others)"))
}

fn write_failed(name: FileName, error: &DiskError) -> SqlError {
    match error {
        DiskError::Full => SqlError::new(1021, format!("Disk full ({name})")),
        DiskError::Absent | DiskError::Failed(_) => {
            SqlError::new(3, format!("Error writing file '{name}' ({error})"))
        }
    }
}

fn damaged(name: FileName) -> SqlError {
    SqlError::new(1024, format!("Error reading file '{name}' (it does not hold what was written there)"))
}

#[cfg(test)]
pub(crate) mod tests;
