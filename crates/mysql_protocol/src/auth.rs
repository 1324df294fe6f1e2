//! Passwords: what an account stores, what a client proves, and how the proof is checked.
//!
//! Both plugins are challenge and response: the server sends a nonce, the client answers with a *scramble* that
//! only a holder of the password can make.
//!
//! - `mysql_native_password`: `SHA1(p) ⊕ SHA1(nonce ‖ SHA1(SHA1(p)))`; the account stores `SHA1(SHA1(p))`.
//! - `caching_sha2_password`: `SHA256(p) ⊕ SHA256(SHA256(SHA256(p)) ‖ nonce)`. The account stores a slow salted hash
//!   ([`slow`]). A server that has seen the password in clear keeps `SHA256(SHA256(p))` in memory, and can check
//!   scrambles from then on. Older builds stored that digest itself (`$SHA256D$`); such accounts still work.
//!
//! In both, the server removes its own half from the scramble, hashes what remains once more and compares.
//!
//! **Invariants.** Comparisons take the same time whatever differs. `Debug` shows no digest.

pub mod slow;

use std::fmt;

use sha1::Sha1;
use sha2::{Digest, Sha256};
use slow::SlowVerifier;

pub const NONCE_SIZE: usize = 20;

const SHA1_SIZE: usize = 20;
const SHA256_SIZE: usize = 32;

/// The server's challenge.
///
/// **Invariant**: every byte is printable-ish ASCII: clients treat it as a C string and `$` separates fields in
/// MySQL's stored hashes, so neither NUL nor `$` occurs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonce([u8; NONCE_SIZE]);

impl Nonce {
    /// `random` must come from a cryptographic generator and be used for one connection only.
    #[must_use]
    pub fn from_random(random: [u8; NONCE_SIZE]) -> Self {
        Self(random.map(|byte| match byte & 0x7F {
            forbidden @ (0 | b'$') => forbidden + 1,
            allowed => allowed,
        }))
    }

    /// As a server sent it: whatever its bytes, the scramble is made from them.
    #[must_use]
    pub fn received(bytes: [u8; NONCE_SIZE]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; NONCE_SIZE] {
        &self.0
    }
}

/// An authentication plugin that we speak.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AuthPlugin {
    MysqlNativePassword,
    CachingSha2Password,
}

impl AuthPlugin {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MysqlNativePassword => "mysql_native_password",
            Self::CachingSha2Password => "caching_sha2_password",
        }
    }

    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        [Self::MysqlNativePassword, Self::CachingSha2Password]
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }
}

/// The record by which an account recognises its password.
#[derive(Clone, PartialEq, Eq)]
pub enum Verifier {
    /// No password: only the empty one is right.
    Empty,
    /// `SHA1(SHA1(password))`.
    MysqlNativePassword([u8; SHA1_SIZE]),
    /// `SHA256(SHA256(password))`.
    CachingSha2Password([u8; SHA256_SIZE]),
    /// A hash that only the clear password can be checked against: clients are asked for full
    /// `caching_sha2_password` authentication, and the caller runs a [`slow::SlowHash`].
    Slow(SlowVerifier),
}

impl fmt::Debug for Verifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "Empty",
            Self::MysqlNativePassword(_) => "MysqlNativePassword(..)",
            Self::CachingSha2Password(_) => "CachingSha2Password(..)",
            Self::Slow(_) => "Slow(..)",
        })
    }
}

const NATIVE_PREFIX: &str = "*";
const SHA2_PREFIX: &str = "$SHA256D$";

impl Verifier {
    /// The verifier that can be made of a password at once. For `caching_sha2_password` it is the fast digest, which is
    /// for memory only.
    #[must_use]
    pub fn from_password(plugin: AuthPlugin, password: &[u8]) -> Self {
        if password.is_empty() {
            return Self::Empty;
        }
        match plugin {
            AuthPlugin::MysqlNativePassword => Self::MysqlNativePassword(sha1(&[&sha1(&[password])])),
            AuthPlugin::CachingSha2Password => Self::CachingSha2Password(sha256(&[&sha256(&[password])])),
        }
    }

    /// The plugin that clients must use; `None` if any will do.
    #[must_use]
    pub fn plugin(&self) -> Option<AuthPlugin> {
        match self {
            Self::Empty => None,
            Self::MysqlNativePassword(_) => Some(AuthPlugin::MysqlNativePassword),
            Self::CachingSha2Password(_) | Self::Slow(_) => Some(AuthPlugin::CachingSha2Password),
        }
    }

    /// The form kept in the catalogue and shown by SHOW CREATE USER: empty, MySQL's `*` with 40 hexadecimal
    /// digits, MySQL's `$A$005$` with salt and digest, or `$SHA256D$` with 64 digits.
    #[must_use]
    pub fn to_stored(&self) -> Vec<u8> {
        match self {
            Self::Empty => Vec::new(),
            Self::MysqlNativePassword(digest) => {
                format!("{NATIVE_PREFIX}{}", hexadecimal(digest)).into_bytes()
            }
            Self::CachingSha2Password(digest) => format!("{SHA2_PREFIX}{}", hexadecimal(digest)).into_bytes(),
            Self::Slow(hash) => hash.to_bytes(),
        }
    }

    /// The inverse of [`Self::to_stored`]; `None` if `bytes` are not such a form.
    #[must_use]
    pub fn from_stored(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            Some(Self::Empty)
        } else if let Some(digits) = bytes.strip_prefix(SHA2_PREFIX.as_bytes()) {
            from_hexadecimal(digits).map(Self::CachingSha2Password)
        } else if let Some(digits) = bytes.strip_prefix(NATIVE_PREFIX.as_bytes()) {
            from_hexadecimal(digits).map(Self::MysqlNativePassword)
        } else {
            SlowVerifier::from_bytes(bytes).map(Self::Slow)
        }
    }

    /// Whether a client that answered `nonce` with `response` holds the password.
    ///
    /// `response` must be of the plugin that [`Self::plugin`] names. A verifier that needs the clear password verifies
    /// nothing here.
    #[must_use]
    pub fn verify_response(&self, nonce: &Nonce, response: &[u8]) -> bool {
        match self {
            Self::Empty => is_empty_password(response),
            Self::MysqlNativePassword(digest) => verify_native(digest, nonce, response),
            Self::CachingSha2Password(digest) => verify_sha2(digest, nonce, response),
            Self::Slow(_) => false,
        }
    }

    /// Whether `password` is the right one. A slow hash is not verified here.
    #[must_use]
    pub fn verify_password(&self, password: &[u8]) -> bool {
        match self {
            Self::Empty => password.is_empty(),
            Self::MysqlNativePassword(digest) => equal(&sha1(&[&sha1(&[password])]), digest),
            Self::CachingSha2Password(digest) => equal(&sha256(&[&sha256(&[password])]), digest),
            Self::Slow(_) => false,
        }
    }
}

/// Clients without a password answer with nothing, or (`caching_sha2_password` in libmysqlclient) with one NUL.
#[must_use]
pub fn is_empty_password(response: &[u8]) -> bool {
    matches!(response, [] | [0])
}

/// The answer of a client; empty for an empty password, with either plugin.
#[must_use]
pub fn scramble(plugin: AuthPlugin, password: &[u8], nonce: &Nonce) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    match plugin {
        AuthPlugin::MysqlNativePassword => {
            let once = sha1(&[password]);
            xor(once, &sha1(&[&nonce.0, &sha1(&[&once])])).to_vec()
        }
        AuthPlugin::CachingSha2Password => {
            let once = sha256(&[password]);
            xor(once, &sha256(&[&sha256(&[&once]), &nonce.0])).to_vec()
        }
    }
}

/// Full `caching_sha2_password` authentication without TLS: what the client encrypts with the server's public key
/// is the password and a NUL, exclusive-or'ed with the repeated nonce. Undoes that, after the caller's decryption;
/// `None` if no password can come of it.
#[must_use]
pub fn password_from_decrypted(decrypted: &[u8], nonce: &Nonce) -> Option<Vec<u8>> {
    let mut password: Vec<u8> =
        decrypted.iter().zip(nonce.0.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    (password.pop() == Some(0)).then_some(password)
}

fn verify_native(digest: &[u8; SHA1_SIZE], nonce: &Nonce, response: &[u8]) -> bool {
    let Ok(response) = <[u8; SHA1_SIZE]>::try_from(response) else { return false };
    let once = xor(response, &sha1(&[&nonce.0, digest]));
    equal(&sha1(&[&once]), digest)
}

fn verify_sha2(digest: &[u8; SHA256_SIZE], nonce: &Nonce, response: &[u8]) -> bool {
    let Ok(response) = <[u8; SHA256_SIZE]>::try_from(response) else { return false };
    let once = xor(response, &sha256(&[digest, &nonce.0]));
    equal(&sha256(&[&once]), digest)
}

fn sha1(parts: &[&[u8]]) -> [u8; SHA1_SIZE] {
    let mut hasher = Sha1::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

fn sha256(parts: &[&[u8]]) -> [u8; SHA256_SIZE] {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

fn xor<const SIZE: usize>(mut left: [u8; SIZE], right: &[u8; SIZE]) -> [u8; SIZE] {
    left.iter_mut().zip(right).for_each(|(left, right)| *left ^= right);
    left
}

/// Equality in constant time: every byte is looked at, and the compiler may not know that one could stop early.
fn equal<const SIZE: usize>(left: &[u8; SIZE], right: &[u8; SIZE]) -> bool {
    let difference =
        left.iter().zip(right).fold(0, |sum, (left, right)| std::hint::black_box(sum | (left ^ right)));
    difference == 0
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn from_hexadecimal<const SIZE: usize>(digits: &[u8]) -> Option<[u8; SIZE]> {
    if digits.len() != 2 * SIZE || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; SIZE];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
