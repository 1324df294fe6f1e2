//! The error packet, and the errors that the protocol itself has.
//!
//! The answers of SQL (codes, SQLSTATEs, texts) are decided elsewhere. Here are only the conditions that a decoder can
//! meet, each with the packet that tells the client.

use crate::encoding::{Malformed, Reader};
use crate::framing::{FrameError, PacketWriter};
use crate::server_handshake::HandshakeError;

/// An answer that says what went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorPacket<'a> {
    /// MySQL's error number.
    pub errno: u16,
    pub sqlstate: [u8; 5],
    /// In the connection's character set.
    pub message: &'a [u8],
}

impl<'a> ErrorPacket<'a> {
    pub const HEADER: u8 = 0xFF;

    #[must_use]
    pub const fn new(errno: u16, sqlstate: [u8; 5], message: &'a str) -> Self {
        Self { errno, sqlstate, message: message.as_bytes() }
    }

    /// The packet from its payload, header byte included.
    ///
    /// Servers leave the SQLSTATE out of errors before the handshake; `HY000` is what it means then.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != Self::HEADER {
            return Err(Malformed);
        }
        let errno = reader.u16()?;
        match reader.rest() {
            [b'#', a, b, c, d, e, message @ ..] => {
                Ok(Self { errno, sqlstate: [*a, *b, *c, *d, *e], message })
            }
            message => Ok(Self { errno, sqlstate: *b"HY000", message }),
        }
    }
}

impl PacketWriter<'_> {
    pub fn error(&mut self, error: &ErrorPacket<'_>) {
        let mut packet = self.open();
        packet.u8(ErrorPacket::HEADER);
        packet.u16(error.errno);
        packet.u8(b'#');
        packet.bytes(&error.sqlstate);
        packet.bytes(error.message);
        packet.finish();
    }
}

/// Why a command can't be understood. The connection goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandError {
    /// No command that we know has this number.
    Unknown(u8),
    Malformed,
    /// An execute whose parameters lack a value, a type, or have a type that no parameter can have.
    WrongArguments,
    /// COM_STMT_SEND_LONG_DATA sent more than may be kept. It has no answer, so the execute is refused.
    LongDataTooLarge,
    /// There was no memory for what COM_STMT_SEND_LONG_DATA sent.
    LongDataWithoutMemory,
}

impl From<Malformed> for CommandError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

const TOO_LARGE: ErrorPacket<'_> =
    ErrorPacket::new(1153, *b"08S01", "Got a packet bigger than 'max_allowed_packet' bytes");

const WITHOUT_MEMORY: ErrorPacket<'_> = ErrorPacket::new(
    1041,
    *b"HY000",
    "Out of memory; ClientMemory is exhausted by this connection and others",
);

impl CommandError {
    #[must_use]
    pub fn packet(self) -> ErrorPacket<'static> {
        match self {
            Self::Unknown(_) => ErrorPacket::new(1047, *b"08S01", "Unknown command"),
            Self::Malformed => ErrorPacket::new(1835, *b"HY000", "Malformed packet"),
            Self::WrongArguments => ErrorPacket::new(1210, *b"HY000", "Incorrect arguments to EXECUTE"),
            Self::LongDataTooLarge => TOO_LARGE,
            Self::LongDataWithoutMemory => WITHOUT_MEMORY,
        }
    }
}

impl FrameError {
    #[must_use]
    pub fn packet(self) -> ErrorPacket<'static> {
        match self {
            Self::PacketTooLarge => TOO_LARGE,
            Self::OutOfMemory => WITHOUT_MEMORY,
            Self::SequenceOutOfOrder => ErrorPacket::new(1156, *b"08S01", "Packets out of order"),
        }
    }
}

impl HandshakeError {
    #[must_use]
    pub fn packet(self) -> ErrorPacket<'static> {
        match self {
            Self::Malformed | Self::TlsNotOffered => ErrorPacket::new(1043, *b"08S01", "Bad handshake"),
            Self::PluginUnsupported => ErrorPacket::new(
                1251,
                *b"08004",
                "The client does not support the authentication plugin that this account needs",
            ),
        }
    }
}
