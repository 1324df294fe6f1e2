//! The slow salted hash that MySQL 8 keeps of a `caching_sha2_password`: SHA-crypt with SHA-256, a salt of 20 bytes and
//! at least 5 000 rounds (<https://www.akkadia.org/drepper/SHA-crypt.txt>).
//!
//! ```text
//! $A$005$<20 bytes of salt><43 characters of digest>      005: thousands of rounds, hexadecimal
//! ```
//!
//! A hash takes milliseconds: [`SlowHash::run`] does as many rounds at a time as its caller has time for.
//!
//! **Invariants.** Comparisons take the same time whatever differs. `Debug` shows neither digest nor password.

use super::{equal, sha256};
use std::fmt;

/// Bytes of a salt.
pub const SALT_SIZE: usize = 20;
/// Longest password that is hashed, in bytes; MySQL has the same limit.
pub const PASSWORD_SIZE_MAX: usize = 256;
/// Thousands of rounds of the hashes that are made here, MySQL's default.
const DEFAULT_THOUSANDS: u16 = 5;
const ROUNDS_PER_UNIT: u32 = 1_000;

const HASH_SIZE: usize = 32;
const DIGEST_SIZE: usize = 43;
const PREFIX: &[u8] = b"$A$";
const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A stored hash.
#[derive(Clone, PartialEq, Eq)]
pub struct SlowVerifier {
    thousands: u16,
    salt: [u8; SALT_SIZE],
    digest: [u8; DIGEST_SIZE],
}

impl fmt::Debug for SlowVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SlowVerifier(..)")
    }
}

impl SlowVerifier {
    /// The stored form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = PREFIX.to_vec();
        bytes.extend_from_slice(format!("{:03X}$", self.thousands).as_bytes());
        bytes.extend_from_slice(&self.salt);
        bytes.extend_from_slice(&self.digest);
        bytes
    }

    /// The inverse of [`Self::to_bytes`]; `None` if these bytes are no such form.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(PREFIX)?;
        let (thousands, rest) = rest.split_first_chunk::<3>()?;
        if !thousands.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let thousands = u16::from_str_radix(std::str::from_utf8(thousands).ok()?, 16).ok()?;
        let (salt, digest) = rest.strip_prefix(b"$")?.split_first_chunk::<SALT_SIZE>()?;
        let digest: [u8; DIGEST_SIZE] = digest.try_into().ok()?;
        let is_digest = digest.iter().all(|byte| ALPHABET.contains(byte));
        (is_digest && thousands >= DEFAULT_THOUSANDS).then_some(Self { thousands, salt: *salt, digest })
    }

    /// Whether a hash made with this one's salt is the same.
    #[must_use]
    pub fn is_equal(&self, other: &Self) -> bool {
        self.thousands == other.thousands && self.salt == other.salt && equal(&self.digest, &other.digest)
    }

    /// The hash of a password with this one's salt, to be compared with it; `None` if no password is so long.
    #[must_use]
    pub fn hash(&self, password: &[u8]) -> Option<SlowHash> {
        SlowHash::new(password, self.salt, self.thousands)
    }
}

/// A hash that is being made.
pub struct SlowHash {
    thousands: u16,
    salt: [u8; SALT_SIZE],
    /// As long as the password.
    password_sequence: Vec<u8>,
    /// As long as the salt.
    salt_sequence: [u8; SALT_SIZE],
    digest: [u8; HASH_SIZE],
    round: u32,
}

impl fmt::Debug for SlowHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SlowHash").field("round", &self.round).finish_non_exhaustive()
    }
}

impl SlowHash {
    /// The hash of a new password; `random` must come from a cryptographic generator. `None` if the password is too
    /// long.
    #[must_use]
    pub fn of_password(password: &[u8], random: [u8; SALT_SIZE]) -> Option<Self> {
        // Printable, so that stored hashes can be copied as text.
        let salt = random.map(|byte| ALPHABET[usize::from(byte & 0x3F)]);
        Self::new(password, salt, DEFAULT_THOUSANDS)
    }

    fn new(password: &[u8], salt: [u8; SALT_SIZE], thousands: u16) -> Option<Self> {
        if password.len() > PASSWORD_SIZE_MAX {
            return None;
        }
        let inner = sha256(&[password, &salt, password]);
        let mut outer = [password, &salt].concat();
        outer.extend(repeated(&inner, password.len()));
        let mut length = password.len();
        while length > 0 {
            outer.extend_from_slice(if length & 1 == 1 { &inner } else { password });
            length >>= 1;
        }
        let digest = sha256(&[&outer]);
        let password_hash = sha256(&[&password.repeat(password.len())]);
        let salt_hash = sha256(&[&salt.repeat(16 + usize::from(digest[0]))]);
        let mut salt_sequence = [0; SALT_SIZE];
        salt_sequence.copy_from_slice(&salt_hash[..SALT_SIZE]);
        let password_sequence = repeated(&password_hash, password.len()).collect();
        Some(Self { thousands, salt, password_sequence, salt_sequence, digest, round: 0 })
    }

    /// Does at most `rounds` rounds; the hash, once all are done.
    pub fn run(&mut self, rounds: u32) -> Option<SlowVerifier> {
        let end = u32::from(self.thousands) * ROUNDS_PER_UNIT;
        let until = end.min(self.round.saturating_add(rounds));
        while self.round < until {
            let (digest, password) = (&self.digest[..], &self.password_sequence[..]);
            let (first, last) =
                if self.round.is_multiple_of(2) { (digest, password) } else { (password, digest) };
            let salt = if self.round.is_multiple_of(3) { &[][..] } else { &self.salt_sequence };
            let middle = if self.round.is_multiple_of(7) { &[][..] } else { password };
            self.digest = sha256(&[first, salt, middle, last]);
            self.round += 1;
        }
        let is_done = self.round == end;
        is_done.then(|| SlowVerifier {
            thousands: self.thousands,
            salt: self.salt,
            digest: encode(&self.digest),
        })
    }
}

/// The first `size` bytes of `hash` written again and again.
fn repeated(hash: &[u8; HASH_SIZE], size: usize) -> impl Iterator<Item = u8> {
    hash.iter().copied().cycle().take(size)
}

/// SHA-crypt's base 64: groups of three bytes in an order of its own, the lowest six bits first.
fn encode(hash: &[u8; HASH_SIZE]) -> [u8; DIGEST_SIZE] {
    let mut digest = [0; DIGEST_SIZE];
    let mut group = [0, 10, 20];
    for characters in digest.chunks_mut(4) {
        let byte = |index: usize| u32::from(hash[index]);
        let mut bits = if characters.len() == 4 {
            let bits = (byte(group[0]) << 16) | (byte(group[1]) << 8) | byte(group[2]);
            // The order is (0, 10, 20), (21, 1, 11), (12, 22, 2) and so on.
            group = [group[2], group[0], group[1]].map(|index| index + 1);
            bits
        } else {
            (byte(31) << 8) | byte(30)
        };
        for character in characters {
            *character = ALPHABET[(bits & 0x3F) as usize];
            bits >>= 6;
        }
    }
    digest
}
