//! Nonces for authentication: SHA-256 in counter mode over the seed that the runtime gave at the start.
//!
//! Invariants: no two calls give one nonce; without the seed the next one cannot be guessed from those before.

use mysql_protocol::Nonce;
use sha2::{Digest, Sha256};

/// A source of nonces.
pub(crate) struct NonceSource {
    seed: [u8; 32],
    counter: u64,
}

impl NonceSource {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed, counter: 0 }
    }

    fn digest(&mut self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(self.seed);
        hasher.update(self.counter.to_le_bytes());
        self.counter += 1;
        hasher.finalize().into()
    }

    /// A seed for what one statement draws.
    pub(crate) fn seed(&mut self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.digest()[..8]);
        u64::from_le_bytes(bytes)
    }

    /// A nonce that was never given before.
    pub(crate) fn next(&mut self) -> Nonce {
        let digest = self.digest();
        let mut random = [0; mysql_protocol::auth::NONCE_SIZE];
        random.copy_from_slice(&digest[..mysql_protocol::auth::NONCE_SIZE]);
        Nonce::from_random(random)
    }
}

#[cfg(test)]
mod tests {
    use super::NonceSource;

    #[test]
    fn nonces_differ_and_depend_on_the_seed() {
        let mut first = NonceSource::new([1; 32]);
        let mut second = NonceSource::new([2; 32]);
        let nonce = first.next();
        assert_ne!(nonce, first.next());
        assert_ne!(nonce, second.next());
    }
}
