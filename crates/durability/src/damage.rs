//! Damage for tests of decoders: blocks of the log and pieces of checkpoints have their checksums in the same places.

use stdx::Prng;

/// A copy that may end too early and may have other bytes. Where it is long enough, its checksum is right: then the
/// decoder must look at the rest.
pub(crate) fn damaged(good: &[u8], header_size: usize, payload_size: usize, random: &mut Prng) -> Vec<u8> {
    let mut bytes = good.to_vec();
    bytes.truncate(random.index(300));
    for _ in 0..random.below(4) {
        if !bytes.is_empty() {
            let at = random.index(bytes.len());
            bytes[at] = random.next_u64().to_le_bytes()[0];
        }
    }
    if let Some(covered) = bytes.get(header_size..header_size + payload_size) {
        let checksum = stdx::crc32c_append(stdx::crc32c(covered), &bytes[8..header_size]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    }
    bytes
}
