//! Deliberate bugs of reads, one at a time, behind the feature `mutants`. A test of this crate catches each (`bugs`).

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A scan in batches goes on behind a row that is undecided, and says nothing.
    KernelPassesUndecided,
    /// The conditions of a filter that no kernel has are not asked.
    KernelForgetsRest,
    /// Where one condition cannot be told for a row of a batch, its rows pass.
    KernelGuesses,
    /// A piece of a scan begins behind the key at which it was cut.
    CutSkipsKey,
}

/// All of them; each has a test.
pub const ALL: [Mutant; 4] =
    [Mutant::KernelPassesUndecided, Mutant::KernelForgetsRest, Mutant::KernelGuesses, Mutant::CutSkipsKey];

stdx::plantable!(Mutant);
