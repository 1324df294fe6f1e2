//! Parts that the standard library lacks. They are time as a value, fixed-hash maps, maps for keys that come in order,
//! a seeded PRNG, deadlines, checksums and rings between threads. The crash helpers are `require!` and `jam!`.
//!
//! Invariants: nothing here reads a clock, a file, a socket, the environment or a random source.
//! Thread-locals are the jam ring and memory that waits to be freed ([`disposal`]), which no block reads.

pub mod bounded;
pub mod deadlines;
pub mod disposal;
pub mod hash;
pub mod hash_index;
pub mod id_range;
pub mod jam;
pub mod pages;
pub mod planted;
pub mod prefetch;
pub mod prng;
pub mod ring;
pub mod sorted_queue;
pub mod time;
pub mod wire;

pub use bounded::BoundedQueue;
pub use deadlines::Deadlines;
pub use hash::{FixedHasher, FixedMap, FixedSet, hash64};
pub use hash_index::HashIndex;
pub use id_range::IdRange;
pub use pages::Pages;
pub use prefetch::{CACHE_LINE, prefetch};
pub use prng::Prng;
pub use smallvec::{SmallVec, smallvec};
pub use sorted_queue::SortedQueue;
pub use time::{Duration, Instant, Now, WallTime, earlier};

/// CRC-32C of `bytes`: the checksum of frames and of what is on disk.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The CRC-32C of what `checksum` is of, followed by `bytes`.
#[must_use]
pub fn crc32c_append(checksum: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(checksum, bytes)
}

/// Dies when an invariant of ours does not hold; stays on in production.
///
/// Never used on bytes that came from a client, a peer or a disk: those are decoded into `Result`.
/// A node that dies here is replaced by its replica in milliseconds, which is safer than limping on.
#[macro_export]
macro_rules! require {
    ($condition:expr $(,)?) => {
        if !$condition {
            $crate::jam::broken(concat!("require failed: ", stringify!($condition)), file!(), line!());
        }
    };
    ($condition:expr, $($argument:tt)+) => {
        if !$condition {
            $crate::jam::broken(&format!($($argument)+), file!(), line!());
        }
    };
}
