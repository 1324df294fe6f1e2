//! Frames between nodes: the hello of a link, then signals. The runtime moves them; what they carry is in `signal`.
//!
//! ```text
//! frame:  length u32 | checksum u32 (CRC-32C of the payload) | payload
//! hello:  magic "LATS" | wire version u16 | Hello          (first frame in each direction)
//! notice: magic "LATN" | wire version u16 | Notice         (in place of a hello, or at the end of a link)
//! signal: from Address | to Address | view u64 | epoch u64 | Signal
//! mark:   "RING"                                            (what follows goes by shared memory)
//! ```
//! Invariants: a frame is at most [`FRAME_SIZE_MAX`]; a bad one closes the links with that peer only; the first frame
//! must be a hello of the same cluster. Limits on the parts of a signal keep it below that size (`ROW_SIZE_MAX`,
//! `PROGRAM_SIZE_MAX`, batches). One that is larger all the same is refused here, and costs its request an answer, not
//! the node its life.

use crate::{Address, Envelope};
use stdx::wire::{Decoder, Encoder, WIRE_VERSION, Wire, WireError};
use types::NodeId;
use wire_derive::Wire;

/// Largest frame: a batch of rows of the largest size that a client's packet can bring.
pub const FRAME_SIZE_MAX: usize = 1 << 30;
/// Bytes before the payload.
pub const FRAME_HEADER_SIZE: usize = 8;
const MAGIC: u32 = u32::from_le_bytes(*b"LATS");
const NOTICE_MAGIC: u32 = u32::from_le_bytes(*b"LATN");
/// No envelope begins like this: its first two bytes are a node id.
const RING_MARK: &[u8; 4] = b"RING";

/// The process that opens a link, and the use of the link.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Hello {
    /// Name and identity of the cluster: links between clusters are refused.
    pub cluster: String,
    /// The sender.
    pub node: NodeId,
    /// The sender's process start, told apart from others of its node.
    pub start: u64,
    /// The receiver, as the sender believes.
    pub to: NodeId,
    /// Index of the sender's thread that owns this link.
    pub from_thread: u16,
    /// Index of the receiver's thread that should own this link.
    pub to_thread: u16,
    /// For each of the sender's threads, the modules on it: lets the receiver pick the link that ends at a module's
    /// owner.
    pub threads: Vec<Vec<Address>>,
}

/// Appends the frame that opens a link.
pub fn encode_hello(hello: &Hello, bytes: &mut Vec<u8>) {
    let framed = frame(bytes, FRAME_SIZE_MAX, |encoder| {
        MAGIC.encode(encoder);
        WIRE_VERSION.encode(encoder);
        hello.encode(encoder);
    });
    stdx::require!(framed.is_ok(), "a hello exceeds the frame limit");
}

/// A message without a link, or at its end.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum Notice {
    /// An answer to a hello: no link. The text is for people.
    Refused {
        /// Why.
        reason: String,
    },
    /// A process of a node has ended. Its angel says so, who has reaped it; or it did, when all its other threads had
    /// stopped for good.
    ProcessExited {
        /// Name and identity of its cluster.
        cluster: String,
        /// The node.
        node: NodeId,
        /// The process start.
        start: u64,
    },
}

/// Appends a notice as a frame.
pub fn encode_notice(notice: &Notice, bytes: &mut Vec<u8>) {
    let framed = frame(bytes, FRAME_SIZE_MAX, |encoder| {
        NOTICE_MAGIC.encode(encoder);
        WIRE_VERSION.encode(encoder);
        notice.encode(encoder);
    });
    stdx::require!(framed.is_ok(), "a notice exceeds the frame limit");
}

/// Reads the payload of a frame that may be a notice; `None` if it is none.
#[must_use]
pub fn decode_notice(payload: &[u8]) -> Option<Result<Notice, WireError>> {
    if !payload.starts_with(&NOTICE_MAGIC.to_le_bytes()) {
        return None;
    }
    let mut decoder = Decoder::new(payload, WIRE_VERSION);
    let read = |decoder: &mut Decoder<'_>| {
        u32::decode(decoder)?;
        let version = u16::decode(decoder)?;
        decoder.version = version.min(WIRE_VERSION);
        Notice::decode(decoder)
    };
    Some(read(&mut decoder))
}

/// Reads the payload of a link's first frame: the peer's wire version and hello.
pub fn decode_hello(payload: &[u8]) -> Result<(u16, Hello), WireError> {
    let mut decoder = Decoder::new(payload, WIRE_VERSION);
    if u32::decode(&mut decoder)? != MAGIC {
        return Err(WireError::Malformed);
    }
    let version = u16::decode(&mut decoder)?;
    decoder.version = version.min(WIRE_VERSION);
    Ok((version, Hello::decode(&mut decoder)?))
}

/// Appends the frame after which a direction of a link goes on in shared memory.
pub fn encode_ring_mark(bytes: &mut Vec<u8>) {
    let framed = frame(bytes, FRAME_SIZE_MAX, |encoder| encoder.bytes.extend_from_slice(RING_MARK));
    stdx::require!(framed.is_ok(), "a mark exceeds the frame limit");
}

/// Whether a payload says that what follows goes by shared memory.
#[must_use]
pub fn is_ring_mark(payload: &[u8]) -> bool {
    payload == RING_MARK
}

/// Appends one signal as a frame; nothing if it is larger than any frame.
pub fn encode_envelope(envelope: &Envelope, bytes: &mut Vec<u8>) -> Result<(), WireError> {
    frame(bytes, FRAME_SIZE_MAX, |encoder| envelope.encode(encoder))
}

/// Reads the payload of a signal frame.
pub fn decode_envelope(payload: &[u8], version: u16) -> Result<Envelope, WireError> {
    let mut decoder = Decoder::new(payload, version);
    let envelope = Envelope::decode(&mut decoder)?;
    // A newer peer may append fields that this version does not know, but then it writes at our version: leftovers are
    // corruption.
    if decoder.remaining() == 0 { Ok(envelope) } else { Err(WireError::TrailingBytes) }
}

/// The payload of the first frame in `bytes` and the frame's whole size; `None` while it is incomplete.
pub fn next_frame(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, WireError> {
    let Some((header, rest)) = bytes.split_at_checked(FRAME_HEADER_SIZE) else { return Ok(None) };
    let mut decoder = Decoder::new(header, WIRE_VERSION);
    let (length, checksum) = (u32::decode(&mut decoder)? as usize, u32::decode(&mut decoder)?);
    if length > FRAME_SIZE_MAX {
        return Err(WireError::TooLarge);
    }
    let Some(payload) = rest.get(..length) else { return Ok(None) };
    if stdx::crc32c(payload) != checksum {
        return Err(WireError::Malformed);
    }
    Ok(Some((payload, FRAME_HEADER_SIZE + length)))
}

fn frame(
    bytes: &mut Vec<u8>,
    size_max: usize,
    write: impl FnOnce(&mut Encoder<'_>),
) -> Result<(), WireError> {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; FRAME_HEADER_SIZE]);
    write(&mut Encoder { bytes, version: WIRE_VERSION });
    let payload = &bytes[start + FRAME_HEADER_SIZE..];
    let length = match u32::try_from(payload.len()) {
        Ok(length) if payload.len() <= size_max => length,
        _ => {
            bytes.truncate(start);
            return Err(WireError::TooLarge);
        }
    };
    let checksum = stdx::crc32c(payload);
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    bytes[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// Whether bytes are the beginning of what a MySQL server says first: a packet with version 10 of its protocol and its
/// version number. So a caller at the wrong port can be told.
#[must_use]
pub fn is_mysql_greeting(bytes: &[u8]) -> bool {
    matches!(bytes, [_, _, 0, 0, 10, first, second, ..] if first.is_ascii_digit() && (second.is_ascii_digit() || *second == b'.'))
}

#[cfg(test)]
mod tests {
    use super::{FRAME_HEADER_SIZE, frame, is_mysql_greeting, next_frame};
    use stdx::wire::{Wire, WireError};

    #[test]
    fn a_mysql_server_is_known_by_its_first_packet() {
        assert!(is_mysql_greeting(b"\x4a\0\0\0\x0a8.0.36\0"));
        assert!(is_mysql_greeting(b"\x5b\0\0\0\x0a11.4.2-MariaDB\0"));
        for other in [
            &b"\x4a\0\0\0\x0a"[..],
            b"",
            b"\x4a\0\0\x018.0.36",
            b"cluster name=dev\n",
            b"\x20\0\0\0LATS\x04\0",
        ] {
            assert!(!is_mysql_greeting(other), "{other:?}");
        }
    }

    #[test]
    fn a_signal_that_exceeds_the_limit_leaves_nothing_behind() {
        let mut bytes = Vec::new();
        let mut append = |size: usize| frame(&mut bytes, 100, |encoder| vec![7_u8; size].encode(encoder));
        assert_eq!(append(20), Ok(()));
        assert_eq!(append(97), Err(WireError::TooLarge));
        assert_eq!(append(96), Ok(()));
        let sizes: Vec<usize> = std::iter::successors(Some(0), |start: &usize| {
            next_frame(&bytes[*start..]).unwrap().map(|(_, size)| start + size)
        })
        .collect();
        assert_eq!(sizes, [0, FRAME_HEADER_SIZE + 24, 2 * FRAME_HEADER_SIZE + 124]);
    }
}
