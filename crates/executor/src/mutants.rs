//! Deliberate bugs of statements, one at a time, behind the feature `mutants`. The simulator must catch each of them,
//! or a test of this crate (`bugs`).

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Rows that were changed between their reading and their lock are taken as they were read.
    StaleRowsTaken,
    /// Only the rows of the first table are locked.
    OneTableLocked,
    /// A query that runs again keeps the rows that it has read before.
    OldRowsKept,
    /// A slot that another thread was asked to read is read here, too.
    MovedTwice,
    /// A scan goes on behind a row that is undecided here, and what its primary says of that row is left out.
    CountBeforeUndecided,
    /// A piece of scratch is taken as it comes from the disk.
    DamagedPiecesTaken,
    /// Rows that were locked at this node are read here though another node is their primary by then.
    GrantReadAtBackup,
    /// Rows that were locked at this node are read here though the transaction's own may be at another primary.
    GrantReadOfOwnRows,
}

/// All of them.
pub const ALL: [Mutant; 8] = [
    Mutant::StaleRowsTaken,
    Mutant::OneTableLocked,
    Mutant::OldRowsKept,
    Mutant::MovedTwice,
    Mutant::CountBeforeUndecided,
    Mutant::DamagedPiecesTaken,
    Mutant::GrantReadAtBackup,
    Mutant::GrantReadOfOwnRows,
];

/// The bugs that show on disks only, or by a view that changes between two signals of a node. A test catches them:
/// `bugs`.
pub const DIRECTED: [Mutant; 3] =
    [Mutant::DamagedPiecesTaken, Mutant::GrantReadAtBackup, Mutant::GrantReadOfOwnRows];

stdx::plantable!(Mutant);
