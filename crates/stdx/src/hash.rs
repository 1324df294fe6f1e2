//! Hash maps whose order depends only on what was put into them, never on a random seed.
//!
//! The hash is a multiply-rotate mix (as in FxHash) with a strong finish. It does not resist chosen collisions: maps
//! keyed by bytes that a client chooses must be bounded, or use `BTreeMap`.

#[expect(clippy::disallowed_types, reason = "given a fixed hasher here, the order is deterministic")]
/// A hash map with a fixed hasher.
pub type FixedMap<K, V> = std::collections::HashMap<K, V, std::hash::BuildHasherDefault<FixedHasher>>;
#[expect(clippy::disallowed_types, reason = "given a fixed hasher here, the order is deterministic")]
/// A hash set with a fixed hasher.
pub type FixedSet<K> = std::collections::HashSet<K, std::hash::BuildHasherDefault<FixedHasher>>;

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hasher of [`FixedMap`].
#[derive(Clone, Copy, Default)]
pub struct FixedHasher {
    state: u64,
}

impl FixedHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.state = (self.state.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
    }
}

impl std::hash::Hasher for FixedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.mix(hash64(bytes));
    }
    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }
    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.mix(u64::from(value));
    }
    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }
    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }
    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
    #[inline]
    fn finish(&self) -> u64 {
        self.state ^ (self.state >> 29)
    }
}

/// A 64-bit hash of `bytes` with good high and low bits: row hashes, partition choice, digests.
///
/// The value is part of the data distribution (it names a key's bucket), so it never changes.
#[must_use]
#[inline]
pub fn hash64(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0x2d35_8dcc_aa6c_78a5;
    const SECRET: u64 = 0x8bb8_4b93_962e_acc9;
    let mut state = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes([
            chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
        ]);
        state = fold(state ^ word, SECRET);
    }
    let tail = chunks.remainder();
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        state = fold(state ^ u64::from_le_bytes(last), MULTIPLIER);
    }
    fold(state ^ SEED, SECRET)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit product")]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}
