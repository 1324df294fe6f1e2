//! Collation ids that the protocol itself speaks of, as clients send them in the handshake and as column definitions
//! carry them.
//!
//! Deliberately not here: what an id means. The server's collations are the crate `types`'.

pub const UTF8MB4_GENERAL_CI: u16 = 45;
/// Not a text at all: BLOB and BINARY columns, numbers, dates.
pub const BINARY: u16 = 63;
/// MySQL 8's default, and ours.
pub const UTF8MB4_0900_AI_CI: u16 = 255;
