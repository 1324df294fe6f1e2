//! Reads the checkpoint of a fragment: its pieces in order, in slices, as the manifest names them.
//!
//! Invariants: every row that is given is of a piece whose checksum, place, fragment and number fit the manifest. The
//! reading ends well only if there were as many pieces and rows as the manifest says, in the order of keys.
//!
//! Deliberately not here: the bytes (`piece`, `manifest`), and the rows in memory (`storage`).

use crate::manifest::{FragmentCheckpoint, Manifest};
use crate::piece::{Piece, PieceError};
use crate::recovery::SLICE_SIZE;
use protocol::control::GroupId;
use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use types::{NodeId, SlotId, TableId};

/// A checkpoint cannot be read: the node does not have it. The text is for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckpointError(pub String);

/// The reading of a fragment's checkpoint.
#[derive(Debug)]
pub struct CheckpointReader {
    founding: GroupId,
    node: NodeId,
    slot: SlotId,
    fragment: FragmentCheckpoint,
    /// Where `bytes` begin in the file.
    offset: u64,
    bytes: Vec<u8>,
    needed: u64,
    /// Pieces and rows so far.
    pieces: u32,
    rows: u64,
    last_key: Option<Box<[u8]>>,
    has_asked: bool,
}

impl CheckpointReader {
    /// The reading of one of a manifest's checkpoints.
    #[must_use]
    pub fn new(manifest: &Manifest, fragment: &FragmentCheckpoint) -> Self {
        Self {
            founding: manifest.founding,
            node: manifest.node,
            slot: manifest.slot,
            fragment: *fragment,
            offset: fragment.offset,
            bytes: Vec::new(),
            needed: 0,
            pieces: 0,
            rows: 0,
            last_key: None,
            has_asked: false,
        }
    }

    /// The fragment whose rows it gives.
    #[must_use]
    pub fn fragment(&self) -> (SlotId, TableId) {
        (self.slot, self.fragment.table)
    }

    fn end(&self) -> u64 {
        self.fragment.offset.saturating_add(self.fragment.length)
    }

    /// The next read; `None` while one is under way, and when all is read.
    pub fn poll(&mut self) -> Option<DiskOperation> {
        if self.has_asked || self.is_done() {
            return None;
        }
        self.has_asked = true;
        let have = self.bytes.len() as u64;
        let offset = self.offset + have;
        let length = self.needed.saturating_sub(have).max(SLICE_SIZE);
        let length = length.min(self.end().saturating_sub(offset));
        Some(DiskOperation::Read { file: FileName::Piece(self.fragment.file), offset, length })
    }

    /// The answer to the last read: pieces that are whole with it go to `take`, in the order of keys.
    pub fn on_done(
        &mut self,
        result: Result<DiskAnswer, DiskError>,
        mut take: impl FnMut(&Piece<'_>),
    ) -> Result<(), CheckpointError> {
        self.has_asked = false;
        match result {
            Ok(DiskAnswer::Bytes(bytes)) if !bytes.is_empty() => self.bytes.extend_from_slice(&bytes),
            Ok(_) => return Err(self.missing()),
            Err(error) => return Err(CheckpointError(format!("{}: {error}", self.missing().0))),
        }
        let bytes = std::mem::take(&mut self.bytes);
        let mut at = 0;
        while self.pieces < self.fragment.pieces {
            match Piece::decode(bytes.get(at..).unwrap_or_default()) {
                Ok(piece) => {
                    self.take_piece(&piece, self.offset + at as u64, &mut take)?;
                    at += piece.size();
                }
                Err(PieceError::Short(needed))
                    if (self.offset + at as u64).saturating_add(needed as u64) <= self.end() =>
                {
                    self.needed = needed as u64;
                    break;
                }
                Err(PieceError::Short(_) | PieceError::Bad) => return Err(self.missing()),
            }
        }
        self.bytes = bytes.get(at..).unwrap_or_default().to_vec();
        self.offset += at as u64;
        let is_short = self.pieces == self.fragment.pieces && self.rows != self.fragment.rows;
        if is_short { Err(self.missing()) } else { Ok(()) }
    }

    fn take_piece(
        &mut self,
        piece: &Piece<'_>,
        offset: u64,
        take: &mut impl FnMut(&Piece<'_>),
    ) -> Result<(), CheckpointError> {
        let place = &piece.place;
        let is_it = place.founding == self.founding
            && place.node == self.node
            && place.file == self.fragment.file
            && place.offset == offset
            && piece.slot == self.slot
            && piece.table == self.fragment.table
            && piece.number == self.pieces;
        if !is_it {
            return Err(self.missing());
        }
        let mut last: Option<&[u8]> = None;
        for row in piece.rows() {
            let Ok(row) = row else { return Err(self.missing()) };
            if last.or(self.last_key.as_deref()).is_some_and(|last| last >= row.key) {
                return Err(self.missing());
            }
            last = Some(row.key);
            self.rows += 1;
        }
        self.last_key = last.map(Box::from).or(self.last_key.take());
        self.pieces += 1;
        take(piece);
        Ok(())
    }

    /// All rows were given.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.has_asked && self.pieces == self.fragment.pieces
    }

    fn missing(&self) -> CheckpointError {
        let (table, number) = (self.fragment.table, self.pieces);
        let file = FileName::Piece(self.fragment.file);
        CheckpointError(format!(
            "piece {number} of table {table} in slot {} cannot be read from {file}",
            self.slot
        ))
    }
}

#[cfg(test)]
mod tests;
