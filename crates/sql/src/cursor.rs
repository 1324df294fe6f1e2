//! Read-only cursors of prepared statements: a result that is kept until the client has fetched it.
//!
//! As in MySQL the statement runs to its end first. Its rows are kept as the packets that they will be, in chunks that
//! are given back as they are fetched. So a cursor sees the rows as they were, and lives on behind a COMMIT.
//!
//! *Invariants.* A chunk is made of whole rows in binary form. A cursor that has told its end keeps nothing. The rows
//! are charged to QueryMemory while the statement runs, then to the session's ClientMemory.

use mysql_protocol::PacketWriter;
use mysql_protocol::framing::{FRAME_PAYLOAD_SIZE_MAX, HEADER_SIZE};
use std::collections::VecDeque;

/// Rows that were not fetched yet.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that were fetched.
    fetched: usize,
    size: usize,
}

/// The end of a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fetched {
    /// As many rows as were asked for.
    All,
    /// Fewer: there are no more.
    End,
}

impl Cursor {
    /// Keeps rows; the bytes that they take.
    pub(crate) fn keep(&mut self, mut rows: Vec<u8>) -> usize {
        if rows.is_empty() {
            return 0;
        }
        rows.shrink_to_fit();
        let size = rows.len();
        self.size += size;
        self.chunks.push_back(rows);
        size
    }

    /// Bytes that it keeps.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Sends the next rows.
    pub(crate) fn fetch(&mut self, row_count: u32, packets: &mut PacketWriter<'_>) -> Fetched {
        let mut left = row_count;
        while left > 0 {
            let Some(chunk) = self.chunks.front() else { return Fetched::End };
            let (end, count) = rows_from(chunk, self.fetched, left);
            packets.append_frames(&chunk[self.fetched..end]);
            left -= count;
            self.fetched = end;
            if end == chunk.len() {
                self.size -= chunk.len();
                self.fetched = 0;
                self.chunks.pop_front();
            }
        }
        Fetched::All
    }
}

/// Where the rows from `start` on end, at most so many, and how many they are.
fn rows_from(chunk: &[u8], start: usize, row_count: u32) -> (usize, u32) {
    let (mut end, mut count) = (start, 0);
    while count < row_count
        && let Some(&[low, middle, high, _]) = chunk[end..].first_chunk::<HEADER_SIZE>()
    {
        let size = u32::from_le_bytes([low, middle, high, 0]) as usize;
        end += HEADER_SIZE + size;
        // A row goes on in the next frame behind one that is full.
        count += u32::from(size != FRAME_PAYLOAD_SIZE_MAX);
    }
    (end, count)
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Fetched};
    use mysql_protocol::PacketWriter;
    use mysql_protocol::framing::FRAME_PAYLOAD_SIZE_MAX;

    fn rows(payloads: &[&[u8]]) -> Vec<u8> {
        let mut buffer = Vec::new();
        let mut writer = PacketWriter::new(&mut buffer, 0);
        payloads.iter().for_each(|payload| writer.append_payload(payload));
        buffer
    }

    fn fetch(cursor: &mut Cursor, count: u32) -> (Vec<u8>, Fetched) {
        let mut buffer = Vec::new();
        let fetched = cursor.fetch(count, &mut PacketWriter::new(&mut buffer, 7));
        (buffer, fetched)
    }

    #[test]
    fn rows_are_fetched_over_chunks_and_numbered_anew() {
        let mut cursor = Cursor::default();
        cursor.keep(rows(&[b"a", b"bb"]));
        cursor.keep(Vec::new());
        cursor.keep(rows(&[b"ccc"]));
        assert_eq!(cursor.size(), 18);
        assert_eq!(fetch(&mut cursor, 0), (Vec::new(), Fetched::All));
        assert_eq!(fetch(&mut cursor, 1), (b"\x01\0\0\x07a".to_vec(), Fetched::All));
        assert_eq!(fetch(&mut cursor, 2), (b"\x02\0\0\x07bb\x03\0\0\x08ccc".to_vec(), Fetched::All));
        assert_eq!(cursor.size(), 0);
        assert_eq!(fetch(&mut cursor, 1), (Vec::new(), Fetched::End));
    }

    #[test]
    fn a_row_of_several_frames_is_one() {
        let mut cursor = Cursor::default();
        let large = vec![b'x'; FRAME_PAYLOAD_SIZE_MAX];
        cursor.keep(rows(&[&large, b"y"]));
        let (bytes, fetched) = fetch(&mut cursor, 1);
        assert_eq!((bytes.len(), fetched), (FRAME_PAYLOAD_SIZE_MAX + 8, Fetched::All));
        assert_eq!(fetch(&mut cursor, 5), (b"\x01\0\0\x07y".to_vec(), Fetched::End));
    }
}
