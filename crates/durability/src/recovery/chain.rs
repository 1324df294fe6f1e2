//! The chain of blocks as it is found, file by file: pure bookkeeping, the bytes are read by `scan`.

use super::Rewrite;
use super::replay::Replay;
use crate::block::{Block, Content, Mark, PAGE_SIZE, Position};
use crate::file::FileHeader;
use crate::mutants::{self, Mutant};
use crate::writer::{LogEnd, LogFile};
use protocol::claim::CLAIM_POINTS_MAX;
use protocol::control::GroupId;
use protocol::disk::FileName;
use protocol::{Claim, ClaimPoint};
use std::collections::VecDeque;
use types::{Epoch, Incarnation};

/// An epoch that the node can be brought back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// As the control plane is told.
    pub claim: ClaimPoint,
    /// Blocks below this position belong to it.
    pub end: Position,
    /// The checksum of the block before `end`.
    pub checksum: u32,
}

/// Blocks of the chain that stand behind each other in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) file: u64,
    /// The file's.
    pub(super) founding: GroupId,
    pub(super) lineage: Incarnation,
    /// The first block, and where it begins.
    pub(super) first: Position,
    pub(super) offset: u64,
    /// Where the last block ends, and the position behind it.
    pub(super) end_offset: u64,
    pub(super) end: Position,
}

/// A mark that makes everything before it void that is above its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cap {
    pub(super) at: Position,
    pub(super) epoch: Epoch,
}

/// A block that is not known to be flushed.
#[derive(Clone, Copy, Debug)]
struct TailBlock {
    position: Position,
    file: u64,
    offset: u64,
    size: u64,
}

/// Bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub(super) file: FileName,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// How far a return as a joining member has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Joining {
    /// Not at all.
    No,
    /// Rows are being copied: nothing counts.
    Copying,
    /// In sync: the next whole(e) counts.
    Joined,
}

/// The chain so far.
#[derive(Debug)]
pub(super) struct Chain {
    /// Blocks below this are not needed: a chain may begin with any file that begins below or at it.
    required: Position,
    header: Option<FileHeader>,
    /// Whether the next block of the current file would be the next of the chain.
    is_attached: bool,
    next: Position,
    checksum: u32,
    joining: Joining,
    /// The last whole(e), the marks *restored* behind it, and what had to be kept when the node joined; oldest first.
    points: Vec<Point>,
    /// So many of them are from before a *joining*, and count until more is durable.
    kept: usize,
    /// Rows were copied to the node before this epoch was whole there: their older versions are missing.
    low: Epoch,
    caps: Vec<Cap>,
    segments: Vec<Segment>,
    tail: VecDeque<TailBlock>,
    files: Vec<LogFile>,
    founding: GroupId,
    durable: Epoch,
    /// The highest position that a good block outside of the chain knows to be flushed, and whether there is one.
    flushed_elsewhere: Position,
    has_stray: bool,
    /// A chain was begun.
    is_begun: bool,
}

impl Chain {
    pub(super) fn new(required: Position) -> Self {
        Self {
            required: required.max(Position(1)),
            header: None,
            is_attached: false,
            next: Position(1),
            checksum: 0,
            joining: Joining::No,
            points: Vec::new(),
            kept: 0,
            low: Epoch(0),
            caps: Vec::new(),
            segments: Vec::new(),
            tail: VecDeque::new(),
            files: Vec::new(),
            founding: GroupId(0),
            durable: Epoch(0),
            flushed_elsewhere: Position(0),
            has_stray: false,
            is_begun: false,
        }
    }

    /// The next file, in the order of numbers: its header, if it has a good one.
    pub(super) fn begin_file(&mut self, header: Option<FileHeader>, size: u64) {
        self.is_attached = false;
        let Some(header) = header else {
            self.header = None;
            return;
        };
        let first = header.first_position();
        self.files.push(LogFile { number: header.file, first, size });
        let is_next = self.is_begun && first == self.next && header.previous == self.checksum;
        let point = self
            .points
            .iter()
            .rposition(|point| point.end == first && point.checksum == header.previous && first < self.next);
        if is_next {
            self.is_attached = true;
        } else if let Some(point) = point {
            if !mutants::is(Mutant::LeftBehindReturns) {
                self.drop_behind(point);
            }
            self.is_attached = true;
        } else if first <= self.required {
            self.restart_at(&header);
        }
        if self.is_attached {
            self.founding = header.founding;
            self.flushed_elsewhere = Position(0);
            self.has_stray = false;
        }
        self.header = Some(header);
    }

    /// The chain begins here: what came before is not needed.
    fn restart_at(&mut self, header: &FileHeader) {
        *self = Self {
            is_attached: true,
            is_begun: true,
            next: header.first_position(),
            checksum: header.previous,
            files: std::mem::take(&mut self.files),
            durable: self.durable,
            ..Self::new(self.required)
        };
    }

    /// A later life went on behind this point: it had made sure that everything before was on disk.
    fn drop_behind(&mut self, index: usize) {
        let Point { end, checksum, claim } = self.points[index];
        self.points.truncate(index + 1);
        self.kept = self.kept.min(self.points.len());
        self.low = claim.low;
        self.next = end;
        self.checksum = checksum;
        self.joining = Joining::No;
        self.tail.clear();
        self.cut_segments(end);
    }

    fn cut_segments(&mut self, end: Position) {
        self.caps.retain(|cap| cap.at < end);
        self.segments.retain(|segment| segment.first < end);
        if let Some(last) = self.segments.last_mut() {
            last.end = last.end.min(end);
        }
    }

    /// A good block at an offset of the current file. True if it is the next of the chain.
    pub(super) fn take(&mut self, block: &Block<'_>, offset: u64) -> bool {
        let Some(header) = &self.header else { return false };
        let heading = &block.heading;
        let is_next = self.is_attached
            && heading.founding == header.founding
            && heading.node == header.node
            && heading.file == header.file
            && heading.restart == header.restart.number
            && heading.position == self.next
            && heading.previous == self.checksum;
        if !is_next {
            return false;
        }
        let (file, founding, lineage) = (header.file, header.founding, header.lineage);
        let size = block.size() as u64;
        let (first, end, end_offset) = (self.next, self.next.next(), offset + size);
        self.grow_segment(Segment { file, founding, lineage, first, offset, end_offset, end });
        self.tail.push_back(TailBlock { position: self.next, file, offset, size });
        while self.tail.pop_front_if(|tail| tail.position < heading.flushed).is_some() {}
        self.durable = self.durable.max(heading.durable);
        let at = self.next;
        self.next = at.next();
        self.checksum = block.checksum;
        if let Content::Mark(mark) = block.content {
            let claim = ClaimPoint { restart: heading.restart, lineage, ..ClaimPoint::default() };
            self.take_mark(mark, at, Point { claim, end: at.next(), checksum: block.checksum });
        }
        true
    }

    /// A mark; `point` is the one behind it, whose epoch it says.
    fn take_mark(&mut self, mark: Mark, at: Position, mut point: Point) {
        match mark {
            Mark::Whole { epoch, closed_at_us } => {
                if self.joining == Joining::Copying {
                    return;
                }
                if self.joining == Joining::Joined {
                    (self.kept, self.low) = (self.points.len(), epoch);
                    self.joining = Joining::No;
                }
                self.forget_points();
                point.claim = ClaimPoint { flushed: epoch, closed_at_us, low: self.low, ..point.claim };
                self.points.push(point);
            }
            Mark::Joining { base } => {
                self.joining = Joining::Copying;
                self.caps.push(Cap { at, epoch: base });
            }
            Mark::Joined => {
                if self.joining == Joining::Copying {
                    self.joining = Joining::Joined;
                }
            }
            Mark::Restored { cut, closed_at_us } => {
                (self.joining, self.kept) = (Joining::No, 0);
                point.claim = ClaimPoint { flushed: cut, closed_at_us, low: self.low, ..point.claim };
                self.points.push(point);
                self.caps.push(Cap { at, epoch: cut });
            }
        }
    }

    /// A newer point is here. Those from before a *joining* stay until more is known to be durable than they hold. The
    /// node may be its group's last restorable one by them, and not be so in its new life yet.
    fn forget_points(&mut self) {
        if mutants::is(Mutant::JoinedForgetsBefore) {
            self.kept = 0;
        }
        self.points.truncate(self.kept);
        self.points.retain(|point| point.claim.flushed >= self.durable);
        self.kept = self.points.len();
    }

    /// Adds a block.
    fn grow_segment(&mut self, block: Segment) {
        match self.segments.last_mut() {
            Some(last) if last.file == block.file && last.end == block.first => {
                (last.end_offset, last.end) = (block.end_offset, block.end);
            }
            _ => self.segments.push(block),
        }
    }

    /// A good block of the current file behind the end of the chain in it.
    pub(super) fn note_stray(&mut self, block: &Block<'_>, file: u64) {
        let heading = &block.heading;
        let node = self.header.as_ref().map(|header| header.node);
        if heading.file != file || node.is_some_and(|node| node != heading.node) {
            return;
        }
        self.has_stray |= heading.position > self.next;
        self.flushed_elsewhere = self.flushed_elsewhere.max(heading.flushed);
        self.durable = self.durable.max(heading.durable);
    }

    /// All files were read.
    pub(super) fn finish(mut self, next_file: u64, spare: Option<FileName>) -> Found {
        let is_begun = self.is_begun;
        let is_lost = self.next < self.required || !is_begun && !self.files.is_empty();
        let is_torn_off = if mutants::is(Mutant::TornEndIsDamage) {
            self.has_stray
        } else {
            self.flushed_elsewhere > self.next && !mutants::is(Mutant::DamageIsTornEnd)
        };
        if is_lost {
            self.points.clear();
        }
        // A point that lies before what the checkpoints need is of no use.
        self.points.retain(|point| point.end >= self.required);
        let end = self.points.last().map_or(Position(1), |point| point.end);
        self.cut_segments(end);
        let tail = self.tail.iter().take_while(|tail| tail.position < end);
        let tail = tail.fold(Vec::new(), |mut ranges: Vec<Range>, block| {
            let file = FileName::Redo(block.file);
            match ranges.last_mut() {
                Some(last) if last.file == file => last.length = block.offset + block.size - last.offset,
                _ => {
                    // The header of a file whose first block is not known to be flushed may not be, either.
                    let offset = if block.offset == PAGE_SIZE as u64 { 0 } else { block.offset };
                    ranges.push(Range { file, offset, length: block.offset + block.size - offset });
                }
            }
            ranges
        });
        Found {
            is_damaged: is_lost || is_torn_off,
            end: self.next,
            founding: self.founding,
            durable: self.durable,
            points: self.points,
            caps: self.caps,
            segments: self.segments,
            tail,
            files: self.files,
            next_file,
            spare,
        }
    }
}

/// A log as it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Something is missing that had been flushed.
    pub is_damaged: bool,
    /// The first position that is missing.
    pub end: Position,
    founding: GroupId,
    durable: Epoch,
    points: Vec<Point>,
    caps: Vec<Cap>,
    segments: Vec<Segment>,
    tail: Vec<Range>,
    files: Vec<LogFile>,
    next_file: u64,
    spare: Option<FileName>,
}

impl Found {
    /// The points, newest first.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().rev()
    }

    /// The statement for the control plane, to be made once the tail is rewritten.
    /// `low` is the highest epoch of the checkpoints.
    #[must_use]
    pub fn claim(&self, low: Epoch) -> Claim {
        let mut points: Vec<ClaimPoint> = self.points().map(|point| point.claim).collect();
        // The oldest is the one that was certainly recorded.
        if points.len() > CLAIM_POINTS_MAX {
            points.drain(CLAIM_POINTS_MAX - 1..points.len() - 1);
        }
        let (founding, durable) = (self.founding, self.durable);
        Claim { founding, low, durable, is_damaged: self.is_damaged, points }
    }

    /// The checkpoints of the node are not of this log, so the log has nothing that it can be brought back to.
    pub fn disown(&mut self) {
        self.is_damaged = true;
        self.points.clear();
    }

    /// The life that wrote a block; `None` if the block is not there.
    #[must_use]
    pub fn lineage_at(&self, position: Position) -> Option<Incarnation> {
        let has = |segment: &&Segment| segment.first <= position && position < segment.end;
        self.segments.iter().find(has).map(|segment| segment.lineage)
    }

    /// Whether a part of the log belongs to this founding.
    #[must_use]
    pub fn has_founding(&self, founding: GroupId) -> bool {
        self.segments.iter().any(|segment| segment.founding == founding)
    }

    /// The work that makes the tail count.
    #[must_use]
    pub fn rewrite(&self) -> Rewrite {
        Rewrite::new(if mutants::is(Mutant::TailNotRewritten) { &[] } else { &self.tail })
    }

    /// The point that the control plane has chosen, by its restart number and life; its epoch may have been lowered.
    #[must_use]
    pub fn chosen(&self, claim: &ClaimPoint) -> Option<Point> {
        let is_it = |point: &&Point| {
            (point.claim.restart, point.claim.lineage) == (claim.restart, claim.lineage)
                && point.claim.flushed >= claim.flushed
        };
        self.points().find(is_it).copied()
    }

    /// The entries up to `cut` at a point, from the position on that the checkpoints need.
    #[must_use]
    pub fn replay(&self, point: &Point, cut: Epoch, from: Position) -> Replay {
        Replay::new(&self.segments, &self.caps, (from, point.end), cut.min(point.claim.flushed))
    }

    /// Where the next life goes on: behind a point, or with an empty log.
    #[must_use]
    pub fn end_at(&self, point: Option<&Point>) -> LogEnd {
        LogEnd {
            next: point.map_or(Position(1), |point| point.end),
            previous: point.map_or(0, |point| point.checksum),
            files: self.files.clone(),
            next_file: self.next_file,
            spare: self.spare,
        }
    }
}
