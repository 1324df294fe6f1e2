//! Packets on the byte stream: a three-byte length, a sequence number, a payload.
//!
//! A payload of 16 MiB − 1 bytes or more continues in further frames, until one is shorter; its frames carry
//! consecutive sequence numbers. Receiving: [`next_packet`] looks at one frame and is pure. A session uses
//! [`Reassembler`]: a packet that lies whole in the receive buffer is returned in place. A large one is absorbed piece
//! by piece, so that the receive buffer never has to hold it. Sending: [`PacketWriter`] appends to a reply buffer and
//! patches the header in when the packet is finished.
//!
//! **Invariants.** A payload is refused as soon as the header of its last frame is there, before that frame's bytes are
//! awaited. Clients read the answer when they have sent all, and check its number, which is one above the last frame's.
//! Nothing is kept of a payload above the limit. Memory grows with bytes received, never with bytes announced. The
//! frames in a reply buffer are always complete and numbered without gaps (the number wraps at 256, as in MySQL).
//!
//! **Not here**: compression, and what the payloads mean.

use std::mem::ManuallyDrop;
use std::ops::Range;

use crate::encoding::{DecimalText, append_lenenc_bytes, append_lenenc_integer, append_nul_terminated};

pub const HEADER_SIZE: usize = 4;

/// A frame this long says that another one follows.
pub const FRAME_PAYLOAD_SIZE_MAX: usize = 0xFF_FFFF;

/// Nobody who has not authenticated yet may make us hold more than this.
pub const UNAUTHENTICATED_PAYLOAD_SIZE_MAX: usize = 16 * 1024;

/// The [`Reassembler`] absorbs a frame at least this long as it arrives. A shorter one waits in the receive buffer,
/// which therefore needs to hold no more than this and a header.
pub const ABSORBED_FRAME_SIZE_MIN: usize = 64 * 1024;

/// A payload above the limit is refused after so many frames, 1 GiB, even if more follow.
const SKIPPED_FRAMES_MAX: u32 = 64;

/// The packet that is taken next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected {
    /// 0 for a command; one above ours for an answer in the connection phase.
    pub sequence: u8,
    /// `max_allowed_packet`, or [`UNAUTHENTICATED_PAYLOAD_SIZE_MAX`].
    pub payload_size_max: usize,
}

impl Expected {
    #[must_use]
    pub fn command(payload_size_max: usize) -> Self {
        Self { sequence: 0, payload_size_max }
    }
}

/// The stream can't be followed any further: answer with the error, then close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// More than `payload_size_max`.
    PacketTooLarge,
    /// [`Reassembler::refuse_for_memory`] was called.
    OutOfMemory,
    SequenceOutOfOrder,
}

/// One whole frame within a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    pub sequence: u8,
    /// Where in the buffer the payload is.
    pub payload: Range<usize>,
    /// Bytes of the buffer that this frame takes, header included.
    pub consumed: usize,
    /// The payload goes on in the next frame.
    pub continues: bool,
}

/// The first frame in `buffer`; `None` if it has not arrived completely.
pub fn next_packet(buffer: &[u8], expected: Expected) -> Result<Option<Packet>, FrameError> {
    let Some(header) = FrameHeader::parse(buffer) else { return Ok(None) };
    header.check(expected)?;
    let consumed = HEADER_SIZE + header.size;
    if buffer.len() < consumed {
        return Ok(None);
    }
    let continues = header.continues();
    Ok(Some(Packet { sequence: header.sequence, payload: HEADER_SIZE..consumed, consumed, continues }))
}

#[derive(Clone, Copy)]
struct FrameHeader {
    size: usize,
    sequence: u8,
}

impl FrameHeader {
    fn parse(buffer: &[u8]) -> Option<Self> {
        let &[low, middle, high, sequence] = buffer.first_chunk::<HEADER_SIZE>()?;
        let size = u32::from_le_bytes([low, middle, high, 0]) as usize;
        Some(Self { size, sequence })
    }

    fn check(self, expected: Expected) -> Result<(), FrameError> {
        if self.sequence != expected.sequence {
            return Err(FrameError::SequenceOutOfOrder);
        }
        if self.size > expected.payload_size_max {
            return Err(FrameError::PacketTooLarge);
        }
        Ok(())
    }

    fn continues(self) -> bool {
        self.size == FRAME_PAYLOAD_SIZE_MAX
    }
}

/// The result of [`Reassembler::next`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received<'a> {
    /// A whole payload. Drop `consumed` bytes from the receive buffer once done with it.
    Packet { sequence: u8, payload: &'a [u8], consumed: usize },
    /// Nothing whole yet. Drop `consumed` bytes from the receive buffer, then wait for more.
    Incomplete { consumed: usize },
}

/// The bytes that [`Reassembler::let_go`] let go of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LetGo {
    /// The payload lay in the receive buffer.
    Nothing,
    /// A payload that was put together.
    Large,
}

/// Puts payloads together; one for each connection.
#[derive(Debug, Default)]
pub struct Reassembler {
    /// The present payload, if it does not lie whole in the receive buffer. Most connections never have one.
    large: Option<Box<Large>>,
}

/// A payload that arrives in pieces.
#[derive(Debug)]
struct Large {
    stage: Stage,
    /// The bytes that have been absorbed.
    payload: Vec<u8>,
    /// Bytes received, kept or not.
    received: usize,
    /// Why the payload is not kept.
    refusal: Option<FrameError>,
    /// Frames that were dropped for that.
    skipped_frames: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The next bytes are the header of a frame of the payload.
    Header { sequence: u8 },
    /// `remaining` bytes of a frame's payload are still to come.
    Frame { remaining: usize, sequence: u8, continues: bool },
    /// The payload has been handed out; the next call lets go of it.
    Delivered,
}

impl Reassembler {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory of what has been absorbed. The rest of its capacity was never written to.
    #[must_use]
    pub fn size(&self) -> usize {
        self.large.as_ref().map_or(0, |large| large.payload.len())
    }

    /// Bytes received of the payload that is being absorbed.
    #[must_use]
    pub fn received(&self) -> usize {
        self.large.as_ref().map_or(0, |large| large.received)
    }

    /// There is no memory for the payload: nothing of it is kept, and it is refused once its last frame has begun.
    pub fn refuse_for_memory(&mut self) -> Result<(), FrameError> {
        let Some(large) = &mut self.large else { return Err(FrameError::OutOfMemory) };
        large.payload = Vec::new();
        large.refusal = large.refusal.or(Some(FrameError::OutOfMemory));
        match large.stage {
            Stage::Frame { continues: false, .. } => Err(FrameError::OutOfMemory),
            Stage::Header { .. } | Stage::Frame { .. } | Stage::Delivered => Ok(()),
        }
    }

    /// The number that an answer to the present payload has, if it is answered now.
    #[must_use]
    pub fn answer_sequence(&self, expected: Expected) -> u8 {
        let last = match self.large.as_ref().map(|large| large.stage) {
            Some(Stage::Header { sequence } | Stage::Frame { sequence, .. }) => sequence,
            None | Some(Stage::Delivered) => expected.sequence,
        };
        last.wrapping_add(1)
    }

    /// The payload that was handed out and is kept here is done with: one huge statement must not pin its memory for
    /// the life of the connection.
    #[inline]
    pub fn let_go(&mut self) -> LetGo {
        match &self.large {
            Some(large) if large.stage == Stage::Delivered => {
                self.large = None;
                LetGo::Large
            }
            _ => LetGo::Nothing,
        }
    }

    /// The next payload from `buffer`, the bytes received and not consumed so far.
    ///
    /// `expected.sequence` is that of a payload's first frame.
    pub fn next<'a>(&'a mut self, buffer: &'a [u8], expected: Expected) -> Result<Received<'a>, FrameError> {
        self.let_go();
        if self.large.is_none() {
            let Some(header) = FrameHeader::parse(buffer) else {
                return Ok(Received::Incomplete { consumed: 0 });
            };
            // Before the login nobody may send more than one frame.
            if !header.continues() || expected.sequence != 0 {
                header.check(expected)?;
            }
            if header.size < FRAME_PAYLOAD_SIZE_MAX
                && let Some(payload) = buffer.get(HEADER_SIZE..HEADER_SIZE + header.size)
            {
                let consumed = HEADER_SIZE + header.size;
                return Ok(Received::Packet { sequence: header.sequence, payload, consumed });
            }
            if header.size < ABSORBED_FRAME_SIZE_MIN {
                return Ok(Received::Incomplete { consumed: 0 });
            }
        }
        self.large
            .get_or_insert_with(|| Large::begin(expected.sequence))
            .absorb(buffer, expected.payload_size_max)
    }
}

impl Large {
    #[cold]
    fn begin(sequence: u8) -> Box<Self> {
        let stage = Stage::Header { sequence };
        Box::new(Self { stage, payload: Vec::new(), received: 0, refusal: None, skipped_frames: 0 })
    }

    fn absorb(&mut self, buffer: &[u8], payload_size_max: usize) -> Result<Received<'_>, FrameError> {
        let mut consumed = 0;
        loop {
            match self.stage {
                Stage::Header { sequence } => {
                    let Some(header) = FrameHeader::parse(&buffer[consumed..]) else {
                        return Ok(Received::Incomplete { consumed });
                    };
                    let rest_max = payload_size_max.saturating_sub(self.received);
                    let continues = header.continues();
                    match header.check(Expected { sequence, payload_size_max: rest_max }) {
                        Ok(()) => {}
                        Err(FrameError::PacketTooLarge) => {
                            self.payload = Vec::new();
                            self.refusal = self.refusal.or(Some(FrameError::PacketTooLarge));
                        }
                        Err(error) => return Err(error),
                    }
                    if let Some(refusal) = self.refusal {
                        if !continues || self.skipped_frames >= SKIPPED_FRAMES_MAX {
                            return Err(refusal);
                        }
                        self.skipped_frames += 1;
                    }
                    consumed += HEADER_SIZE;
                    self.stage = Stage::Frame { remaining: header.size, sequence, continues };
                }
                Stage::Frame { remaining, sequence, continues } => {
                    let taken = remaining.min(buffer.len() - consumed);
                    self.received += taken;
                    if self.refusal.is_none() {
                        // A quarter more at a time: memory stays close to what has arrived.
                        if self.payload.capacity() - self.payload.len() < taken {
                            self.payload.reserve_exact(taken.max(self.payload.len() / 4));
                        }
                        self.payload.extend_from_slice(&buffer[consumed..consumed + taken]);
                    }
                    consumed += taken;
                    if taken < remaining {
                        self.stage = Stage::Frame { remaining: remaining - taken, sequence, continues };
                        return Ok(Received::Incomplete { consumed });
                    }
                    if continues {
                        self.stage = Stage::Header { sequence: sequence.wrapping_add(1) };
                    } else {
                        self.stage = Stage::Delivered;
                        return Ok(Received::Packet { sequence, payload: &self.payload, consumed });
                    }
                }
                Stage::Delivered => return Ok(Received::Incomplete { consumed }),
            }
        }
    }
}

/// Appends packets to a reply buffer, numbering them.
#[derive(Debug)]
pub struct PacketWriter<'a> {
    buffer: &'a mut Vec<u8>,
    sequence: u8,
}

impl<'a> PacketWriter<'a> {
    /// `sequence` is the number of the first packet: one above that of the request.
    #[must_use]
    pub fn new(buffer: &'a mut Vec<u8>, sequence: u8) -> Self {
        Self { buffer, sequence }
    }

    /// The number that the next packet will carry.
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Bytes in the reply buffer, all of them whole packets: what flow control looks at.
    #[must_use]
    pub fn buffer_size(&self) -> usize {
        self.buffer.len()
    }

    /// Begins a packet; nothing is sent unless it is finished.
    #[inline]
    pub fn open(&mut self) -> OpenPacket<'_> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_SIZE]);
        OpenPacket { buffer: self.buffer, sequence: &mut self.sequence, start }
    }

    /// Appends a whole packet.
    pub fn append_payload(&mut self, payload: &[u8]) {
        let mut packet = self.open();
        packet.bytes(payload);
        packet.finish();
    }

    /// Appends packets that another writer made, renumbering them: column definitions kept with a statement, say.
    ///
    /// `frames` must be whole frames, as a `PacketWriter` leaves them.
    pub fn append_frames(&mut self, frames: &[u8]) {
        let mut position = self.buffer.len();
        self.buffer.extend_from_slice(frames);
        while position < self.buffer.len() {
            let header = FrameHeader::parse(&self.buffer[position..]);
            let size = header.map_or(usize::MAX, |header| header.size);
            stdx::require!(
                size <= self.buffer.len() - position - HEADER_SIZE,
                "append_frames: not whole frames"
            );
            self.buffer[position + HEADER_SIZE - 1] = self.sequence;
            self.sequence = self.sequence.wrapping_add(1);
            position += HEADER_SIZE + size;
        }
    }
}

/// A packet being written. Dropped without [`Self::finish`], it leaves no trace.
#[derive(Debug)]
pub struct OpenPacket<'a> {
    buffer: &'a mut Vec<u8>,
    sequence: &'a mut u8,
    /// Where its header is.
    start: usize,
}

impl OpenPacket<'_> {
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.buffer.push(value);
    }

    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.buffer.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.buffer.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.buffer.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    #[inline]
    pub fn lenenc_integer(&mut self, value: u64) {
        append_lenenc_integer(self.buffer, value);
    }

    #[inline]
    pub fn lenenc_bytes(&mut self, bytes: &[u8]) {
        append_lenenc_bytes(self.buffer, bytes);
    }

    pub fn nul_terminated(&mut self, text: &[u8]) {
        append_nul_terminated(self.buffer, text);
    }

    /// The text as a length-encoded string.
    #[inline]
    pub fn lenenc_decimal(&mut self, text: &DecimalText) {
        append_lenenc_bytes(self.buffer, text.as_bytes());
    }

    #[must_use]
    pub fn payload_size(&self) -> usize {
        self.buffer.len() - self.start - HEADER_SIZE
    }

    /// The reply buffer, of which the payload is the end: for writers that append.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.buffer
    }

    /// Sets bits in a payload byte that has been written already: the NULL bitmap of a binary row.
    #[inline]
    pub(crate) fn set_bits(&mut self, payload_index: usize, bits: u8) {
        self.buffer[self.start + HEADER_SIZE + payload_index] |= bits;
    }

    /// Patches length and number into the header; splits what is too long for one frame.
    #[inline]
    pub fn finish(self) {
        let mut packet = ManuallyDrop::new(self);
        let (start, size) = (packet.start, packet.payload_size());
        if size < FRAME_PAYLOAD_SIZE_MAX {
            packet.write_header(start, size);
        } else {
            packet.split();
        }
    }

    /// Makes room for the further headers by moving the payload's pieces back, the last one first.
    #[cold]
    fn split(&mut self) {
        let size = self.payload_size();
        // A payload of an exact multiple ends with an empty frame.
        let frame_count = size / FRAME_PAYLOAD_SIZE_MAX + 1;
        self.buffer.resize(self.buffer.len() + (frame_count - 1) * HEADER_SIZE, 0);
        let first = self.start + HEADER_SIZE;
        for index in (1..frame_count).rev() {
            let piece = index * FRAME_PAYLOAD_SIZE_MAX..size.min((index + 1) * FRAME_PAYLOAD_SIZE_MAX);
            let from = first + piece.start;
            self.buffer.copy_within(from..first + piece.end, from + index * HEADER_SIZE);
        }
        for index in 0..frame_count {
            let frame_size = (size - index * FRAME_PAYLOAD_SIZE_MAX).min(FRAME_PAYLOAD_SIZE_MAX);
            let position = self.start + index * (HEADER_SIZE + FRAME_PAYLOAD_SIZE_MAX);
            self.write_header(position, frame_size);
        }
    }

    #[inline]
    fn write_header(&mut self, position: usize, size: usize) {
        let [low, middle, high, ..] = size.to_le_bytes();
        self.buffer[position..position + HEADER_SIZE].copy_from_slice(&[low, middle, high, *self.sequence]);
        *self.sequence = self.sequence.wrapping_add(1);
    }
}

impl Drop for OpenPacket<'_> {
    fn drop(&mut self) {
        self.buffer.truncate(self.start);
    }
}

#[cfg(test)]
mod tests;
