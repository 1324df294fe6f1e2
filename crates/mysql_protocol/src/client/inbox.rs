//! The client's receive buffer: whole payloads out of whatever pieces arrive.
//!
//! Unlike a server, a client trusts its peer with memory: a frame waits in the buffer until it is whole. Only payloads
//! of several frames are copied, to join them.
//!
//! **Invariant.** A location stays valid until the next call of [`Inbox::receive`] or [`Inbox::next_payload`].

use std::ops::Range;

use crate::framing::{Expected, FrameError, next_packet};

#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Those before `consumed` have been read.
    received: Vec<u8>,
    consumed: usize,
    /// The frames so far of a payload that has several.
    joined: Vec<u8>,
    joining: bool,
    payload_size_max: usize,
}

/// Where a payload lies.
#[derive(Debug)]
pub(super) enum PayloadLocation {
    Received(Range<usize>),
    Joined,
}

impl Inbox {
    pub(super) fn new(payload_size_max: usize) -> Self {
        Self { payload_size_max, ..Self::default() }
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.received.drain(..self.consumed);
        self.consumed = 0;
        self.received.extend_from_slice(bytes);
    }

    /// The next whole payload; `sequence` moves on by its frames.
    pub(super) fn next_payload(&mut self, sequence: &mut u8) -> Result<Option<PayloadLocation>, FrameError> {
        loop {
            let kept = if self.joining { self.joined.len() } else { 0 };
            let payload_size_max = self.payload_size_max.saturating_sub(kept);
            let expected = Expected { sequence: *sequence, payload_size_max };
            let Some(packet) = next_packet(&self.received[self.consumed..], expected)? else {
                return Ok(None);
            };
            let payload = self.consumed + packet.payload.start..self.consumed + packet.payload.end;
            self.consumed += packet.consumed;
            *sequence = sequence.wrapping_add(1);
            if !packet.continues && !self.joining {
                return Ok(Some(PayloadLocation::Received(payload)));
            }
            if !self.joining {
                self.joined.clear();
            }
            self.joined.extend_from_slice(&self.received[payload]);
            self.joining = packet.continues;
            if !packet.continues {
                return Ok(Some(PayloadLocation::Joined));
            }
        }
    }

    pub(super) fn payload(&self, location: &PayloadLocation) -> &[u8] {
        match location {
            PayloadLocation::Received(range) => &self.received[range.clone()],
            PayloadLocation::Joined => &self.joined,
        }
    }
}
