//! Gives the entries of a chain, in order.

use super::SLICE_SIZE;
use super::chain::{Cap, Segment};
use crate::block::{Block, BlockError, Position};
use crate::record::Entry;
use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use std::collections::VecDeque;
use types::Epoch;

/// A log that was found whole cannot be read any more: the disk is damaged, and the restart must go on without it. The
/// text is for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayError(pub String);

/// The reading of entries.
#[derive(Debug)]
pub struct Replay {
    segments: VecDeque<Segment>,
    /// Marks that void what is before them, oldest first; each with the least epoch of itself and those behind it.
    caps: VecDeque<Cap>,
    /// Blocks from here on, up to the end.
    from: Position,
    end: Position,
    cut: Epoch,
    /// The next block.
    next: Position,
    /// Where `bytes` begin in the file of the first segment.
    offset: u64,
    bytes: Vec<u8>,
    needed: u64,
    has_asked: bool,
}

impl Replay {
    pub(super) fn new(
        segments: &[Segment],
        caps: &[Cap],
        (from, end): (Position, Position),
        cut: Epoch,
    ) -> Self {
        let mut segments: VecDeque<Segment> = segments.iter().copied().collect();
        segments.retain(|segment| segment.first < end && segment.end > from);
        let mut caps: VecDeque<Cap> = caps.iter().copied().filter(|cap| cap.at < end).collect();
        let mut least = cut;
        for cap in caps.iter_mut().rev() {
            least = least.min(cap.epoch);
            cap.epoch = least;
        }
        let (next, offset) = segments.front().map_or((end, 0), |first| (first.first, first.offset));
        Self { segments, caps, from, end, cut, next, offset, bytes: Vec::new(), needed: 0, has_asked: false }
    }

    /// The next read; `None` while one is under way, and when all is read.
    pub fn poll(&mut self) -> Option<DiskOperation> {
        let segment = self.segments.front().filter(|_| !self.has_asked)?;
        self.has_asked = true;
        let have = self.bytes.len() as u64;
        let offset = self.offset + have;
        let length = self.needed.saturating_sub(have).max(SLICE_SIZE);
        let length = length.min(segment.end_offset.saturating_sub(offset));
        Some(DiskOperation::Read { file: FileName::Redo(segment.file), offset, length })
    }

    /// The answer to the last read: its entries go to `take`, in order, each with the position of its block.
    pub fn on_done(
        &mut self,
        result: Result<DiskAnswer, DiskError>,
        mut take: impl FnMut(Position, &Entry<'_>),
    ) -> Result<(), ReplayError> {
        self.has_asked = false;
        match result {
            Ok(DiskAnswer::Bytes(bytes)) if !bytes.is_empty() => self.bytes.extend_from_slice(&bytes),
            Ok(_) => return Err(self.missing()),
            Err(error) => return Err(ReplayError(error.to_string())),
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        let mut at = 0;
        while let Some(segment) = self.segments.front().copied() {
            if self.next == segment.end.min(self.end) {
                self.segments.pop_front();
                bytes.clear();
                at = 0;
                self.offset = self.segments.front().map_or(0, |next| next.offset);
                self.next = self.segments.front().map_or(self.end, |next| next.first);
                break;
            }
            match Block::decode(bytes.get(at..).unwrap_or_default()) {
                Ok(block) if block.heading.position == self.next && block.heading.file == segment.file => {
                    self.take_block(&block, &mut take)?;
                    at += block.size();
                    self.next = self.next.next();
                }
                Err(BlockError::Short(needed))
                    if self.offset + at as u64 + needed as u64 <= segment.end_offset =>
                {
                    self.needed = needed as u64;
                    break;
                }
                Ok(_) | Err(BlockError::Short(_) | BlockError::Bad) => return Err(self.missing()),
            }
        }
        bytes.drain(..at.min(bytes.len()));
        self.bytes = bytes;
        self.offset += at as u64;
        Ok(())
    }

    fn take_block(
        &mut self,
        block: &Block<'_>,
        take: &mut impl FnMut(Position, &Entry<'_>),
    ) -> Result<(), ReplayError> {
        while self.caps.pop_front_if(|cap| cap.at <= self.next).is_some() {}
        let limit = self.caps.front().map_or(self.cut, |cap| cap.epoch);
        if self.next < self.from {
            return Ok(());
        }
        for entry in block.entries() {
            match entry {
                Ok(entry) if entry.epoch <= limit => take(self.next, &entry),
                Ok(_) => {}
                Err(_) => return Err(self.missing()),
            }
        }
        Ok(())
    }

    /// All entries were given.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.has_asked && self.segments.is_empty()
    }

    fn missing(&self) -> ReplayError {
        ReplayError(format!("block {} of the redo log cannot be read any more", self.next.0))
    }
}
