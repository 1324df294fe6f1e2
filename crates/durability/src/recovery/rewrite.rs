//! Writes the tail of a log again, as it was found, and syncs it.

use super::SLICE_SIZE;
use super::chain::Range;
use protocol::disk::{DiskAnswer, DiskError, DiskOperation};
use std::collections::VecDeque;

/// The work: one request at a time.
#[derive(Debug)]
pub struct Rewrite {
    /// The parts, each read and written at once.
    left: VecDeque<Range>,
    /// The bytes of the first part, when they were read.
    bytes: Option<Vec<u8>>,
    has_asked: bool,
}

impl Rewrite {
    pub(super) fn new(ranges: &[Range]) -> Self {
        let slices = |range: &Range| {
            let Range { file, offset, length } = *range;
            let starts = (0..length).step_by(usize::try_from(SLICE_SIZE).unwrap_or(usize::MAX));
            starts.map(move |start| Range {
                file,
                offset: offset + start,
                length: SLICE_SIZE.min(length - start),
            })
        };
        Self { left: ranges.iter().flat_map(slices).collect(), bytes: None, has_asked: false }
    }

    /// The next request; `None` while one is under way, and when all is done.
    pub fn poll(&mut self) -> Option<DiskOperation> {
        if self.has_asked {
            return None;
        }
        let Range { file, offset, length } = *self.left.front()?;
        self.has_asked = true;
        Some(match self.bytes.take() {
            None => DiskOperation::Read { file, offset, length },
            Some(bytes) => {
                self.left.pop_front();
                DiskOperation::Write { file, offset, bytes, sync: true }
            }
        })
    }

    /// The answer to the last request. An error is for people; the node must not start.
    pub fn on_done(&mut self, result: Result<DiskAnswer, DiskError>) -> Result<(), String> {
        self.has_asked = false;
        match result.map_err(|error| error.to_string())? {
            DiskAnswer::Bytes(bytes) => {
                // The zeros behind the last block of a file may be missing.
                if bytes.is_empty() {
                    return Err("the redo log got shorter while it was read".to_owned());
                }
                self.bytes = Some(bytes);
                Ok(())
            }
            DiskAnswer::Done => Ok(()),
            DiskAnswer::Files(_) | DiskAnswer::Space { .. } => Err("an answer to something else".to_owned()),
        }
    }

    /// Everything is on disk.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.has_asked && self.left.is_empty()
    }
}
