//! Deliberate bugs of changes of several tables, one at a time, behind the feature `mutants`. The simulator must catch
//! each of them.

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Rows that were changed between their reading and their lock are taken as they were read.
    StaleRowsTaken,
    /// Only the rows of the first table are locked.
    OneTableLocked,
    /// A query that runs again keeps the rows that it has read before.
    OldRowsKept,
}

/// All of them.
pub const ALL: [Mutant; 3] = [Mutant::StaleRowsTaken, Mutant::OneTableLocked, Mutant::OldRowsKept];

stdx::plantable!(Mutant);
