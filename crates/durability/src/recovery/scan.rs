//! Reads the files of a log once, in slices, and puts their blocks into the chain.

use super::SLICE_SIZE;
use super::chain::{Chain, Found};
use crate::block::{Block, BlockError, PAGE_SIZE, Position};
use crate::file::{FileError, FileHeader};
use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use std::collections::VecDeque;
use types::NodeId;

/// The log that is read, and the part of it that is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogReader {
    /// The name of the cluster.
    pub cluster: String,
    /// The node.
    pub node: NodeId,
    /// The size of a file: a spare of another size is of no use.
    pub file_size: u64,
    /// The least position that the checkpoints need; the first one if there are none.
    pub required: Position,
}

/// Why a log cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScanError {
    /// A file belongs to somebody else, or is newer than this program: nothing may be written. The text is for people.
    Foreign(String),
    /// The disk failed. The text is for people.
    Disk(String),
}

/// The part of a file that is being looked at.
#[derive(Debug)]
struct Open {
    file: u64,
    size: u64,
    /// Where `bytes` begin.
    offset: u64,
    bytes: Vec<u8>,
    /// How many bytes are needed to go on.
    needed: u64,
    /// Whether the header was read.
    has_header: bool,
    /// Whether blocks still follow the chain. Afterwards each page may begin a block.
    is_in_chain: bool,
}

/// The reading of a log.
#[derive(Debug)]
pub struct Scan {
    reader: LogReader,
    left: VecDeque<(u64, u64)>,
    next_file: u64,
    spare: Option<FileName>,
    open: Option<Open>,
    chain: Chain,
    has_asked: bool,
}

impl Scan {
    /// The reading of those of `files` that belong to the redo log, as the disk has listed them.
    #[must_use]
    pub fn new(reader: LogReader, files: &[(FileName, u64)]) -> Self {
        let mut logs: Vec<(u64, u64)> = Vec::new();
        for (name, size) in files {
            if let FileName::Redo(number) = name {
                logs.push((*number, *size));
            }
        }
        logs.sort_unstable();
        let next_file = logs.last().map_or(1, |(number, _)| number.saturating_add(1));
        // Another number would be made again, on another lane, while this one is being renamed.
        let spare = FileName::RedoSpare(next_file);
        let spare = files.contains(&(spare, reader.file_size)).then_some(spare);
        let chain = Chain::new(reader.required);
        Self { reader, left: logs.into(), next_file, spare, open: None, chain, has_asked: false }
    }

    /// The next read; `None` while one is under way, and when all is read.
    pub fn poll(&mut self) -> Option<DiskOperation> {
        if self.has_asked {
            return None;
        }
        if self.open.is_none() {
            let (file, size) = self.left.pop_front()?;
            self.open = Some(Open {
                file,
                size,
                offset: 0,
                bytes: Vec::new(),
                needed: PAGE_SIZE as u64,
                has_header: false,
                is_in_chain: true,
            });
        }
        let open = self.open.as_ref()?;
        self.has_asked = true;
        let have = open.bytes.len() as u64;
        let offset = open.offset + have;
        let length = open.needed.saturating_sub(have).max(SLICE_SIZE).min(open.size.saturating_sub(offset));
        Some(DiskOperation::Read { file: FileName::Redo(open.file), offset, length })
    }

    /// The answer to the last read.
    pub fn on_done(&mut self, result: Result<DiskAnswer, DiskError>) -> Result<(), ScanError> {
        self.has_asked = false;
        let Some(mut open) = self.open.take() else { return Ok(()) };
        match result {
            Ok(DiskAnswer::Bytes(bytes)) => {
                // The file is shorter than it was listed.
                if bytes.is_empty() {
                    open.size = open.offset + open.bytes.len() as u64;
                }
                open.bytes.extend_from_slice(&bytes);
            }
            Ok(DiskAnswer::Done | DiskAnswer::Files(_) | DiskAnswer::Space { .. }) | Err(DiskError::Full) => {
                return Err(ScanError::Disk("an answer that is none to a read".to_owned()));
            }
            Err(DiskError::Absent) => return Ok(()),
            Err(DiskError::Failed(text)) => return Err(ScanError::Disk(text)),
        }
        if !open.has_header {
            self.read_header(&mut open)?;
        }
        if self.read_blocks(&mut open) {
            self.open = Some(open);
        }
        Ok(())
    }

    /// Everything was read.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.has_asked && self.open.is_none() && self.left.is_empty()
    }

    /// The log, when everything was read.
    #[must_use]
    pub fn finish(self) -> Found {
        stdx::require!(self.is_done(), "a log is judged before it was read");
        self.chain.finish(self.next_file, self.spare)
    }

    fn read_header(&mut self, open: &mut Open) -> Result<(), ScanError> {
        let page = &open.bytes[..open.bytes.len().min(PAGE_SIZE)];
        let header = match FileHeader::decode(page, open.file, &self.reader.cluster, self.reader.node) {
            Ok(header) => Some(header),
            Err(FileError::Bad) => None,
            Err(FileError::Foreign(text)) => return Err(ScanError::Foreign(text)),
        };
        self.chain.begin_file(header, open.size);
        open.has_header = true;
        open.consume(PAGE_SIZE);
        Ok(())
    }

    /// Takes the blocks that are whole; false at the end of the file.
    fn read_blocks(&mut self, open: &mut Open) -> bool {
        let mut at = 0;
        let is_more = loop {
            let left = open.size.saturating_sub(open.offset + at as u64);
            if left == 0 {
                break false;
            }
            let Some(rest) = open.bytes.get(at..) else {
                open.needed = 0;
                break true;
            };
            match Block::decode(rest) {
                Ok(block) => {
                    let offset = open.offset + at as u64;
                    if open.is_in_chain && self.chain.take(&block, offset) {
                        at += block.size();
                    } else {
                        open.is_in_chain = false;
                        self.chain.note_stray(&block, open.file);
                        at += PAGE_SIZE;
                    }
                }
                Err(BlockError::Short(needed)) if needed as u64 <= left => {
                    open.needed = needed as u64;
                    break true;
                }
                Err(BlockError::Short(_) | BlockError::Bad) => {
                    open.is_in_chain = false;
                    at += PAGE_SIZE;
                }
            }
        };
        open.consume(at);
        is_more
    }
}

impl Open {
    /// Goes on behind so many bytes, of which some may not have been read yet.
    fn consume(&mut self, size: usize) {
        self.bytes.drain(..size.min(self.bytes.len()));
        self.offset += size as u64;
    }
}
