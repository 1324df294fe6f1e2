//! The writer of the redo log: it puts sealed blocks and marks into files, and says what is flushed.
//!
//! Its owner hands over blocks and marks in the order in which they count, and asks for a flush. It passes the requests
//! of [`Writer::poll`] to the disk, and their answers to [`Writer::on_done`].
//!
//! - **Flush**: one write-and-sync at a time; everything that comes meanwhile is the next one. Above
//!   [`EARLY_WRITE_SIZE`] blocks are written before anybody asks, without a sync.
//! - **Files**: all have the same size, but for one that a long row has made grow. A file is written as zeros before
//!   its first use, so that a flush changes no sizes. One is always made ready ahead. A file that is not needed any
//!   more is used again under the next number; its old blocks name the old number, so they do not count. If the files
//!   are larger than the space together, it is removed.
//! - **Room**: [`Writer::level`] says how much of the space is held. The files beyond are made nevertheless: entries
//!   that have a stamp never wait for room.
//!
//! Invariants:
//! - Blocks reach the disk in the order of their positions, without gaps, each chained to the one before.
//! - [`Writer::flushed`] grows only by the answer to a sync behind which everything below it was written.
//! - A block says of itself only what is known: its `flushed` is [`Writer::flushed`] when it is written.
//! - Everything unsynced in a file is synced before the next file is begun. A failed write or sync ends the writer, and
//!   with it the life of the node: nothing is tried again.
//!
//! Deliberately not here: when to flush and when to mark (module `disk`), and which positions are still needed
//! (checkpoints).

use crate::block::{Heading, Mark, PAGE_SIZE, Position, SealedBlock};
use crate::file::FileHeader;
use crate::mutants::{self, Mutant};
use protocol::RestartPoint;
use protocol::control::GroupId;
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use std::collections::VecDeque;
use types::{COLLATION_VERSION, Epoch, Incarnation, NodeId};

/// Blocks of this size together are written before a flush is asked for.
pub const EARLY_WRITE_SIZE: usize = 1 << 20;
/// Small blocks are put together into writes of at most this size.
const WRITE_SIZE: usize = 64 << 10;

/// The owner of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogIdentity {
    /// The name of the cluster.
    pub cluster: String,
    /// The founding.
    pub founding: GroupId,
    /// The node.
    pub node: NodeId,
    /// The life that writes.
    pub lineage: Incarnation,
    /// The restart under which it writes.
    pub restart: RestartPoint,
}

/// How large the log is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogSize {
    /// The size of a file, a multiple of [`PAGE_SIZE`].
    pub file: u64,
    /// The size of all files together.
    pub space: u64,
}

/// A file that has blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogFile {
    /// Its number.
    pub number: u64,
    /// Its first block.
    pub first: Position,
    /// Its size.
    pub size: u64,
}

/// Where a life goes on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogEnd {
    /// The number of the next block; 0 and 1 both mean the first one.
    pub next: Position,
    /// The checksum of the block before, 0 before the first.
    pub previous: u32,
    /// The files that are there, in the order of their numbers.
    pub files: Vec<LogFile>,
    /// No file has this number or a higher one.
    pub next_file: u64,
    /// A file of zeros of the right size.
    pub spare: Option<FileName>,
}

/// How much of the space of the log is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LogLevel {
    /// There is room.
    Normal,
    /// From 75 %: checkpoints run as fast as they can.
    High,
    /// From 90 %: new writes wait, then are refused.
    Full,
    /// From 97 %: deletes and DDL too.
    Exhausted,
}

/// The disk has failed, and nobody knows what it holds: the node ends. The text is for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogFailure(pub String);

/// The state of what was asked of the disk.
#[derive(Debug)]
enum Pending {
    /// A rename, or a write or sync that no flush ends with.
    Step,
    /// The end of a flush: everything below the position is on disk.
    Flush(Position),
}

#[derive(Debug)]
struct Current {
    file: LogFile,
    /// Where the next block begins.
    offset: u64,
    has_unsynced: bool,
}

/// A write in the making.
#[derive(Debug, Default)]
struct Gathered {
    offset: u64,
    bytes: Vec<u8>,
}

/// The writer.
#[derive(Debug)]
pub struct Writer {
    identity: LogIdentity,
    size: LogSize,
    queue: VecDeque<SealedBlock>,
    queued_bytes: usize,
    /// Bytes of all blocks and marks that were pushed.
    pushed_bytes: u64,
    /// Bytes handed to the disk and not answered, by the number of bytes of each request.
    in_flight: VecDeque<(u64, usize, Pending)>,
    requests: VecDeque<DiskRequest>,
    next_ticket: u64,
    /// The next block that is pushed.
    next: Position,
    /// The next block that is written, and the checksum of the one before.
    written: Position,
    previous: u32,
    flushed: Position,
    /// Marks whole(e) that are not flushed, oldest first.
    whole: VecDeque<(Position, Epoch)>,
    flushed_epoch: Epoch,
    durable: Epoch,
    files: Files,
    is_wanted: bool,
    is_flushing: bool,
}

/// The files of a log.
#[derive(Debug)]
struct Files {
    /// Those with blocks but the current one, oldest first.
    full: VecDeque<LogFile>,
    current: Option<Current>,
    next_number: u64,
    /// The file that is used next, with its size.
    ready: Option<(FileName, u64)>,
    /// The ticket of the file that is being made.
    making: Option<u64>,
    /// The disk had no room for another file, and none is there since.
    is_refused: bool,
    /// It is asked again all the same: there may be room.
    is_tried_again: bool,
    /// Blocks below this are not needed.
    released: Position,
}

impl Writer {
    /// A writer that goes on at `end` with a new file.
    #[must_use]
    pub fn new(identity: LogIdentity, size: LogSize, end: LogEnd) -> Self {
        stdx::require!(size.file.is_multiple_of(PAGE_SIZE as u64) && size.file > PAGE_SIZE as u64);
        let next = end.next.max(Position(1));
        let mut writer = Self {
            identity,
            size,
            queue: VecDeque::new(),
            queued_bytes: 0,
            pushed_bytes: 0,
            in_flight: VecDeque::new(),
            requests: VecDeque::new(),
            next_ticket: 0,
            next,
            written: next,
            previous: end.previous,
            flushed: next,
            whole: VecDeque::new(),
            flushed_epoch: Epoch(0),
            durable: Epoch(0),
            files: Files {
                full: end.files.iter().map(|file| LogFile { first: file.first.min(next), ..*file }).collect(),
                current: None,
                next_number: end.next_file,
                ready: end.spare.map(|name| (name, size.file)),
                making: None,
                is_refused: false,
                is_tried_again: false,
                released: Position(0),
            },
            is_wanted: false,
            is_flushing: false,
        };
        writer.make_ready();
        writer
    }

    /// Adds a block of entries; its position.
    pub fn push(&mut self, block: SealedBlock) -> Position {
        let position = self.next;
        self.next = position.next();
        self.queued_bytes += block.size();
        self.pushed_bytes += block.size() as u64;
        self.queue.push_back(block);
        self.advance();
        position
    }

    /// Adds a mark behind all blocks that were pushed; its position.
    pub fn mark(&mut self, mark: Mark) -> Position {
        if let Mark::Whole { epoch, .. } = mark {
            self.whole.push_back((self.next, epoch));
        }
        self.push(SealedBlock::of_mark(mark))
    }

    /// Asks for everything that was pushed to be brought to disk.
    pub fn flush(&mut self) {
        self.is_wanted = true;
        self.advance();
    }

    /// Blocks from now on say that this epoch is durable.
    pub fn set_durable(&mut self, durable: Epoch) {
        self.durable = self.durable.max(durable);
    }

    /// Blocks below the position are not needed any more.
    pub fn release(&mut self, below: Position) {
        self.files.released = self.files.released.max(below);
        self.files.is_tried_again = true;
        self.make_ready();
        self.remove_surplus();
    }

    /// There may be room on the disk again.
    pub fn retry(&mut self) {
        self.files.is_tried_again = true;
        self.make_ready();
    }

    /// The space that there is: less than was configured where the disk has less room.
    pub fn set_space(&mut self, space: u64) {
        self.size.space = space;
    }

    /// Bytes of all files of the log, needed or not.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        let files = &self.files;
        let current = files.current.as_ref().map_or(0, |current| current.file.size);
        let ready = files.ready.as_ref().map_or(0, |(_, size)| *size);
        files.full.iter().map(|file| file.size).sum::<u64>() + current + ready
    }

    /// The disk had no room for another file of the log, and none is there since.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.files.is_refused
    }

    /// The next request to the disk, if there is one. Tickets are the writer's own.
    pub fn poll(&mut self) -> Option<DiskRequest> {
        self.requests.pop_front()
    }

    /// The answer to a request. A failure ends the node.
    pub fn on_done(&mut self, ticket: u64, result: Result<DiskAnswer, DiskError>) -> Result<(), LogFailure> {
        if self.files.making == Some(ticket) {
            self.files.making = None;
            match result {
                Ok(_) => {
                    self.files.ready = Some((self.spare_name(), self.size.file));
                    self.files.is_refused = false;
                }
                Err(DiskError::Full) => self.files.is_refused = true,
                Err(error) => return Err(LogFailure(error.to_string())),
            }
            self.advance();
            return Ok(());
        }
        if mutants::is(Mutant::FailedSyncRetried) && result.is_err() {
            self.sync_again();
            return Ok(());
        }
        result.map_err(|error| LogFailure(error.to_string()))?;
        let answered = self.in_flight.pop_front();
        stdx::require!(answered.as_ref().is_some_and(|(next, ..)| *next == ticket), "an answer out of order");
        if let Some((_, _, Pending::Flush(position))) = answered {
            self.is_flushing = false;
            self.flushed = position;
            while let Some((_, epoch)) = self.whole.pop_front_if(|(mark, _)| *mark < position) {
                self.flushed_epoch = epoch;
            }
            self.advance();
        }
        Ok(())
    }

    /// All blocks below this one are on disk.
    #[must_use]
    pub fn flushed(&self) -> Position {
        self.flushed
    }

    /// The epoch of the last mark whole(e) of this life that is on disk; 0 if there is none.
    #[must_use]
    pub fn flushed_epoch(&self) -> Epoch {
        self.flushed_epoch
    }

    /// Whether a flush that was asked for is not done.
    #[must_use]
    pub fn is_flushing(&self) -> bool {
        self.is_flushing || self.is_wanted
    }

    /// The position of the next block.
    #[must_use]
    pub fn next(&self) -> Position {
        self.next
    }

    /// Bytes of all blocks and marks that were pushed.
    #[must_use]
    pub fn pushed_bytes(&self) -> u64 {
        self.pushed_bytes
    }

    /// Bytes that were pushed and are not yet answered by the disk.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.queued_bytes + self.in_flight.iter().map(|(_, bytes, _)| bytes).sum::<usize>()
    }

    /// Bytes of the space that are held.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.held_from(self.files.released)
    }

    /// Bytes that would be held if all blocks from the position on were needed, by whole files.
    #[must_use]
    pub fn held_from(&self, position: Position) -> u64 {
        let files = &self.files;
        let held = files.full.iter().enumerate();
        let held = held.filter(|(index, _)| files.behind(*index).is_none_or(|first| first > position));
        let current = files.current.as_ref().map_or(0, |current| current.offset);
        held.map(|(_, file)| file.size).sum::<u64>() + current + self.queued_bytes as u64
    }

    /// How much of the space is held.
    #[must_use]
    pub fn level(&self) -> LogLevel {
        let percent = self.held_bytes().saturating_mul(100) / self.size.space.max(1);
        if self.files.is_refused && self.files.ready.is_none() || percent >= 97 {
            LogLevel::Exhausted
        } else if percent >= 90 {
            LogLevel::Full
        } else if percent >= 75 {
            LogLevel::High
        } else {
            LogLevel::Normal
        }
    }

    /// The position up to which blocks have to be released before another file is free; `None` if that is everything.
    #[must_use]
    pub fn next_release(&self) -> Option<Position> {
        let firsts = self.files.full.iter().map(|file| file.first).skip(1);
        let current = self.files.current.as_ref().map(|current| current.file.first);
        firsts.chain(current).find(|first| *first > self.files.released)
    }

    fn request(&mut self, lane: DiskLane, operation: DiskOperation) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.requests.push_back(DiskRequest { ticket, lane, operation });
        ticket
    }

    /// A planted bug: what failed is asked for again.
    #[cold]
    fn sync_again(&mut self) {
        let current = self.files.current.as_ref().map(|current| FileName::Redo(current.file.number));
        if let (Some(file), Some((_, bytes, pending))) = (current, self.in_flight.pop_front()) {
            self.step(DiskOperation::Sync { file }, bytes, pending);
        }
    }

    fn step(&mut self, operation: DiskOperation, bytes: usize, pending: Pending) {
        let ticket = self.request(DiskLane::Redo, operation);
        self.in_flight.push_back((ticket, bytes, pending));
    }

    fn spare_name(&self) -> FileName {
        FileName::RedoSpare(self.files.next_number)
    }

    /// Sees to it that a file is there for the time when the current one is full.
    fn make_ready(&mut self) {
        if self.files.ready.is_some() || self.files.making.is_some() {
            return;
        }
        while self.files.is_free(0)
            && let Some(free) = self.files.full.pop_front()
        {
            if free.size == self.size.file {
                self.files.ready = Some((FileName::Redo(free.number), free.size));
                self.files.is_refused = false;
                return;
            }
            self.step(DiskOperation::Remove { file: FileName::Redo(free.number) }, 0, Pending::Step);
        }
        let is_tried_again = std::mem::take(&mut self.files.is_tried_again);
        if !self.files.is_refused || is_tried_again {
            let operation = DiskOperation::Prepare { file: self.spare_name(), size: self.size.file };
            self.files.making = Some(self.request(DiskLane::Bulk, operation));
        }
    }

    /// The files are larger than the space together: each life begins with a new one, and none is free then.
    fn remove_surplus(&mut self) {
        while self.file_bytes() > self.size.space
            && self.files.is_free(0)
            && let Some(free) = self.files.full.pop_front()
        {
            self.step(DiskOperation::Remove { file: FileName::Redo(free.number) }, 0, Pending::Step);
        }
    }

    /// Writes what there is to write, and ends it with a sync if one is wanted and none is under way.
    fn advance(&mut self) {
        self.is_wanted &= self.flushed < self.next;
        let is_flush = self.is_wanted && !self.is_flushing;
        if !is_flush && self.queued_bytes < EARLY_WRITE_SIZE {
            return;
        }
        let mut gathered = Gathered::default();
        while let Some(block) = self.queue.front() {
            let size = block.size() as u64;
            let has_room = self.files.current.as_ref().is_some_and(|current| current.has_room(size));
            if !has_room && !self.begin_file(&mut gathered) {
                // The next file is being made; its answer goes on here.
                self.write(&mut gathered, None);
                return;
            }
            self.gather(&mut gathered);
        }
        let end = is_flush.then_some(self.written);
        self.write(&mut gathered, end);
        self.make_ready();
    }

    /// Moves the next block of the queue into the write in the making.
    fn gather(&mut self, gathered: &mut Gathered) {
        let Some(block) = self.queue.pop_front() else { return };
        let size = block.size();
        self.queued_bytes -= size;
        if !gathered.bytes.is_empty() && gathered.bytes.len() + size > WRITE_SIZE {
            self.write(gathered, None);
        }
        let Some(current) = &mut self.files.current else { return };
        let heading = Heading {
            founding: self.identity.founding,
            node: self.identity.node,
            restart: self.identity.restart.number,
            file: current.file.number,
            position: self.written,
            previous: self.previous,
            flushed: self.flushed,
            durable: self.durable,
        };
        let (bytes, checksum) = block.finish(&heading);
        if gathered.bytes.is_empty() {
            *gathered = Gathered { offset: current.offset, bytes };
        } else {
            gathered.bytes.extend_from_slice(&bytes);
        }
        current.offset += size as u64;
        current.file.size = current.file.size.max(current.offset);
        self.written = self.written.next();
        self.previous = checksum;
    }

    /// Hands the write in the making to the disk. With `end` it is the end of a flush up to that position.
    fn write(&mut self, gathered: &mut Gathered, end: Option<Position>) {
        let Gathered { offset, bytes } = std::mem::take(gathered);
        let Some(current) = &mut self.files.current else { return };
        let file = FileName::Redo(current.file.number);
        let (size, has_bytes) = (bytes.len(), !bytes.is_empty());
        if let Some(end) = end {
            self.is_wanted = false;
            current.has_unsynced = false;
            self.is_flushing = true;
            let sync = !mutants::is(Mutant::SyncSkipped);
            let operation = if has_bytes || !sync {
                DiskOperation::Write { file, offset, bytes, sync }
            } else {
                DiskOperation::Sync { file }
            };
            self.step(operation, size, Pending::Flush(end));
        } else if has_bytes {
            current.has_unsynced = true;
            self.step(DiskOperation::Write { file, offset, bytes, sync: false }, size, Pending::Step);
        }
    }

    /// Goes on in the file that is ready; false if there is none yet.
    fn begin_file(&mut self, gathered: &mut Gathered) -> bool {
        self.make_ready();
        let Some((ready, size)) = self.files.ready.take() else { return false };
        self.write(gathered, None);
        if let Some(old) = self.files.current.take() {
            if old.has_unsynced {
                let operation = DiskOperation::Sync { file: FileName::Redo(old.file.number) };
                self.step(operation, 0, Pending::Step);
            }
            self.files.full.push_back(old.file);
        }
        let number = self.files.next_number;
        self.files.next_number += 1;
        self.step(DiskOperation::Rename { from: ready, to: FileName::Redo(number) }, 0, Pending::Step);
        let header = FileHeader {
            cluster: self.identity.cluster.clone(),
            collations: COLLATION_VERSION.to_owned(),
            founding: self.identity.founding,
            node: self.identity.node,
            lineage: self.identity.lineage,
            restart: self.identity.restart,
            file: number,
            first: self.written.0,
            previous: self.previous,
        };
        *gathered = Gathered { offset: 0, bytes: header.encode() };
        let file = LogFile { number, first: self.written, size };
        self.files.current = Some(Current { file, offset: PAGE_SIZE as u64, has_unsynced: false });
        true
    }
}

impl Files {
    /// The first block behind the full file at this index.
    fn behind(&self, index: usize) -> Option<Position> {
        let current = self.current.as_ref().map(|current| &current.file);
        self.full.get(index + 1).or(current).map(|file| file.first)
    }

    /// Whether nothing in the full file at this index is needed.
    fn is_free(&self, index: usize) -> bool {
        let is_behind = |first: Position| first <= self.released || mutants::is(Mutant::NeededFileRecycled);
        index < self.full.len() && self.behind(index).is_some_and(is_behind)
    }
}

impl Current {
    /// A file takes a block that is too long for it as its only one, and grows.
    fn has_room(&self, size: u64) -> bool {
        self.offset + size <= self.file.size || self.offset == PAGE_SIZE as u64
    }
}

#[cfg(test)]
pub(crate) mod tests;
