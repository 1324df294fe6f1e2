//! Gives the entries of a chain, in order, in slices that any number of readers may share.

use super::SLICE_SIZE;
use super::chain::{Cap, Segment};
use crate::block::{Block, BlockError, Content, Position};
use crate::record::Entry;
use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use std::collections::VecDeque;
use types::Epoch;

/// A log that was found whole cannot be read any more: the disk is damaged, and the restart must go on without it. The
/// text is for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayError(pub String);

/// Some blocks of the log that stand behind each other, and which of their entries count.
#[derive(Debug)]
pub struct LogSlice {
    bytes: Vec<u8>,
    blocks: Vec<BlockPlace>,
}

/// A block of a slice.
#[derive(Clone, Copy, Debug)]
struct BlockPlace {
    /// Where it begins.
    at: usize,
    position: Position,
    /// Entries above this epoch do not count.
    limit: Epoch,
}

impl LogSlice {
    /// Bytes of its blocks, about.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Its entries that count, in order, each with the position of its block.
    pub fn entries(&self) -> impl Iterator<Item = (Position, Entry<'_>)> {
        let decoded = |place: &BlockPlace| Some((*place, Block::decode(self.bytes.get(place.at..)?).ok()?));
        self.blocks.iter().filter_map(decoded).flat_map(|(BlockPlace { position, limit, .. }, block)| {
            let counts = move |entry: &Entry<'_>| entry.epoch <= limit;
            block.entries().filter_map(Result::ok).filter(counts).map(move |entry| (position, entry))
        })
    }
}

/// The reading of entries.
#[derive(Clone, Debug)]
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

    /// Bytes that are to be read.
    #[must_use]
    pub fn size(&self) -> u64 {
        let sizes = self.segments.iter().map(|segment| segment.end_offset.saturating_sub(segment.offset));
        sizes
            .sum::<u64>()
            .saturating_sub(self.offset.saturating_sub(self.segments.front().map_or(0, |first| first.offset)))
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

    /// The answer to the last read: the blocks that are whole with it.
    pub fn on_done(&mut self, result: Result<DiskAnswer, DiskError>) -> Result<LogSlice, ReplayError> {
        self.has_asked = false;
        match result {
            Ok(DiskAnswer::Bytes(bytes)) if !bytes.is_empty() => self.bytes.extend_from_slice(&bytes),
            Ok(_) => return Err(self.missing()),
            Err(error) => return Err(ReplayError(error.to_string())),
        }
        let bytes = std::mem::take(&mut self.bytes);
        let (mut at, mut blocks) = (0, Vec::new());
        while let Some(segment) = self.segments.front().copied() {
            if self.next == segment.end.min(self.end) {
                self.segments.pop_front();
                self.offset = self.segments.front().map_or(0, |next| next.offset);
                self.next = self.segments.front().map_or(self.end, |next| next.first);
                return Ok(LogSlice { bytes, blocks });
            }
            match Block::decode(bytes.get(at..).unwrap_or_default()) {
                Ok(block) if block.heading.position == self.next && block.heading.file == segment.file => {
                    blocks.extend(self.take_block(&block, at)?);
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
        self.bytes = bytes.get(at..).unwrap_or_default().to_vec();
        self.offset += at as u64;
        Ok(LogSlice { bytes, blocks })
    }

    /// A block that counts, if it has entries.
    fn take_block(&mut self, block: &Block<'_>, at: usize) -> Result<Option<BlockPlace>, ReplayError> {
        while self.caps.pop_front_if(|cap| cap.at <= self.next).is_some() {}
        let limit = self.caps.front().map_or(self.cut, |cap| cap.epoch);
        if self.next < self.from || !matches!(block.content, Content::Entries { .. }) {
            return Ok(None);
        }
        if block.entries().any(|entry| entry.is_err()) {
            return Err(self.missing());
        }
        Ok(Some(BlockPlace { at, position: self.next, limit }))
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
