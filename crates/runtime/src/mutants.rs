//! Deliberate bugs of threads, one at a time, behind the feature `mutants`. A test of this crate catches each (`bugs`).

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Long work has no turn in a round that has short work.
    LongNeverRuns,
    /// The module that had a slice has the next one, too, while it asks for more.
    OneModuleRuns,
}

/// All of them; each has a test.
pub const ALL: [Mutant; 2] = [Mutant::LongNeverRuns, Mutant::OneModuleRuns];

stdx::plantable!(Mutant);
