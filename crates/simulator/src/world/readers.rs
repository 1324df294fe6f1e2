//! Readers that are slow: while one holds on to what it reads, no node gets back the memory of rows that were replaced.
//! In a real node these are threads in the midst of a scan. Here all nodes share one thread, and so all wait for it.
//!
//! Invariant: when a reader begins and ends depends on the seed alone. It takes nothing from the world's own generator.

use memory::Guard;
use stdx::Prng;

/// Tells the draws of readers from the others.
const READERS: u64 = 0x4ead;
/// Steps between two readers, on average.
const RARITY: u64 = 3_000;
/// It reads for so many steps at most.
const STEPS_MAX: u64 = 2_000;

/// One reader at a time, or none.
pub(super) struct Readers {
    prng: Prng,
    guard: Option<Guard>,
    /// Steps until it ends, or the next one begins.
    left: u64,
}

impl Readers {
    pub(super) fn new(seed: u64) -> Self {
        let mut prng = Prng::new(seed ^ READERS);
        let left = prng.below(2 * RARITY);
        Self { prng, guard: None, left }
    }

    /// A step of the world passes.
    pub(super) fn step(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        if self.guard.take().is_some() {
            self.left = self.prng.below(2 * RARITY);
        } else {
            self.guard = Some(Guard::enter());
            self.left = self.prng.below(STEPS_MAX);
        }
    }
}
