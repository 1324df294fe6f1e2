//! Authority to change the cluster through the management port: the token of the management node gives it.
//!
//! ```text
//! client                           management node
//! authenticate               ->
//!                            <-    challenge 9f…   id 5c…   file /path/latsdb_1_management.token
//! authenticate HMAC(token, challenge)   ->
//!                            <-    authorized
//! ```
//! The token is 32 random bytes in a file in the node's DataDir, which only its owner may read. A client on the same
//! machine finds it by what the node says; elsewhere a copy of it does. The token itself is never sent: the client
//! answers a challenge with HMAC-SHA-256 (RFC 2104). So an attacker who listens on the network, or answers in the
//! node's place, learns nothing that could be used later. `id` tells tokens apart, so that one file may hold those of
//! several management nodes.
//!
//! **Invariants.** A challenge is given once, belongs to one connection, and is used up by the first answer, right or
//! wrong. Proofs are compared in constant time. No text, log or `Debug` output has the token.
//!
//! **Another proof** is a certificate: a connection on which the driver has established TLS has shown one of this
//! cluster. Another one would be a variant of [`Proof`], and a line in [`Proof::meets`].
//!
//! Deliberately not here: secrecy of what is said, and protection of a connection against somebody in its middle. That
//! takes TLS.

use super::command::Need;
use sha2::{Digest, Sha256};
use std::fmt;

/// Bytes of a token, a challenge and a proof.
pub(super) const SIZE: usize = 32;
/// HMAC's block size for SHA-256.
const BLOCK_SIZE: usize = 64;
/// Tells proofs from whatever else may ever be computed with a token.
const PROOF_PURPOSE: &[u8] = b"latsdb management proof:";
/// The same for ids.
const ID_PURPOSE: &[u8] = b"latsdb management token id:";
/// How many bytes of its HMAC are a token's id.
const ID_SIZE: usize = 8;

/// How a connection has proved itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Proof {
    /// Not at all: a starting node, an onlooker, a stranger.
    #[default]
    None,
    /// It knows the token of this management node.
    Token,
    /// It has a certificate of this cluster, which the driver has verified.
    Certificate,
}

impl Proof {
    /// Whether it is enough for a command.
    pub(super) const fn meets(self, need: Need) -> bool {
        match (need, self) {
            (Need::Nothing, _) | (Need::Authority, Self::Token | Self::Certificate) => true,
            (Need::Authority, Self::None) => false,
        }
    }
}

/// The secret that gives authority over the cluster.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; SIZE]);

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Token({})", self.id())
    }
}

impl Token {
    /// A token of 32 random bytes.
    #[must_use]
    pub const fn new(random: [u8; SIZE]) -> Self {
        Self(random)
    }

    /// Reads a line of a token file.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        from_hex(line.trim()).map(Self)
    }

    /// The line of a token file.
    #[must_use]
    pub fn line(&self) -> String {
        to_hex(&self.0)
    }

    /// A name that tells it from other tokens, without telling it.
    #[must_use]
    pub fn id(&self) -> String {
        to_hex(&hmac(&self.0, ID_PURPOSE, &[])[..ID_SIZE])
    }

    /// The answer to a challenge; `None` if that is none.
    #[must_use]
    pub fn answer(&self, challenge: &str) -> Option<String> {
        Some(to_hex(&self.proof(&from_hex(challenge)?)))
    }

    fn proof(&self, challenge: &[u8; SIZE]) -> [u8; SIZE] {
        hmac(&self.0, PROOF_PURPOSE, challenge)
    }
}

/// The token and challenges with which a management node checks proofs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authority {
    /// Its token.
    pub token: Token,
    /// Where a client on this machine finds it.
    pub file: String,
}

/// A source of challenges, from the randomness that the runtime gave at the start.
pub(super) struct Challenges {
    seed: [u8; SIZE],
    count: u64,
}

impl Challenges {
    pub(super) const fn new(seed: [u8; SIZE]) -> Self {
        Self { seed, count: 0 }
    }

    /// One that was never given before, and that nobody can foretell.
    pub(super) fn next(&mut self) -> Challenge {
        self.count += 1;
        Challenge(hmac(&self.seed, b"challenge:", &self.count.to_le_bytes()))
    }
}

/// The challenge that a client is to answer.
pub(super) struct Challenge([u8; SIZE]);

impl Challenge {
    pub(super) fn text(&self) -> String {
        to_hex(&self.0)
    }

    /// Whether this is the answer of who knows the token.
    pub(super) fn accepts(self, proof: &str, token: &Token) -> bool {
        let Some(proof) = from_hex(proof) else { return false };
        let expected = token.proof(&self.0);
        let differing = expected.iter().zip(proof).fold(0, |all, (left, right)| all | (left ^ right));
        std::hint::black_box(differing) == 0
    }
}

/// A hash of a text, by which two nodes know whether they have the same.
#[must_use]
pub fn digest(text: &str) -> String {
    to_hex(&Sha256::digest(text))
}

fn hmac(key: &[u8; SIZE], purpose: &[u8], text: &[u8]) -> [u8; SIZE] {
    let padded = |pad: u8| {
        let mut block = [pad; BLOCK_SIZE];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(purpose).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<[u8; SIZE]> {
    if text.len() != 2 * SIZE || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; SIZE];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
