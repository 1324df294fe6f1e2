//! mysql_protocol: the MySQL client/server protocol as a sans-IO codec, both halves.
//!
//! Bytes in, decisions out: nothing here touches a socket, a clock or a random source. A server session feeds its
//! receive buffer to a [`Reassembler`], parses the payload into a [`Command`], and appends its answer to a reply
//! buffer through a [`PacketWriter`]. Before that, [`ServerHandshake`] runs the connection phase. The client half
//! ([`ClientConnection`]) serves the simulator, the load generator and the tests.
//!
//! | file | what is there |
//! | --- | --- |
//! | `encoding` | integers, lenenc strings, decimal text |
//! | `framing` | packets: headers, sequence numbers, payloads of 16 MiB and more |
//! | `constants`, `charset` | capabilities, status and column flags, column types, collation ids |
//! | `handshake`, `auth` | packets of the connection phase; scrambles and stored verifiers |
//! | `server_handshake` | the server's state machine for the connection phase and COM_CHANGE_USER |
//! | `command`, `parameters`, `value` | what clients ask; parameters of prepared statements |
//! | `result`, `error` | what servers answer |
//! | `client` | the client half |
//!
//! **Invariants.** Every decoder is total: any byte string gives a value or an error, never a panic, and never
//! allocates more than it was given bytes. Parsers borrow from the payload; on the path of a point select (execute,
//! parameters, columns, one row, end) neither half allocates once its buffers have grown. A packet that is not
//! finished is as if never begun, so that half a packet can't reach the wire.
//!
//! **Deliberately not here.** No TLS (the caller wraps the stream), no RSA (the caller decrypts), no
//! compression, no LOCAL INFILE, no session-state tracking, no pre-4.1 protocol. It doesn't check the meaning of
//! what it carries: a date may say month 13; that is for SQL to refuse.

pub mod auth;
pub mod charset;
pub mod client;
pub mod command;
pub mod constants;
pub mod encoding;
pub mod error;
pub mod framing;
pub mod handshake;
pub mod parameters;
pub mod result;
pub mod server_handshake;
pub mod value;

pub use auth::{AuthPlugin, Nonce, Verifier};
pub use client::{ClientConnection, ClientOptions};
pub use command::{Command, Execute};
pub use constants::{Capabilities, ColumnFlags, ColumnType, StatusFlags};
pub use encoding::{Malformed, Reader};
pub use error::{CommandError, ErrorPacket};
pub use framing::{Expected, FrameError, LetGo, Packet, PacketWriter, Reassembler, Received, next_packet};
pub use parameters::{LongData, ParameterType, ParameterTypes, Parameters};
pub use result::{BinaryRow, ColumnDefinition, OkPacket, TextRow};
pub use server_handshake::{
    HandshakeError, HandshakeOptions, HandshakeStep, Login, ServerHandshake, Transport,
};
pub use value::{Date, DateTime, ParameterValue, Time};
