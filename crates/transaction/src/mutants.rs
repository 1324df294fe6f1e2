//! Deliberate protocol bugs, one at a time, behind the feature `mutants`: the simulator must catch each of them.
//!
//! Without the feature `is` is always false and the compiler removes what hangs on it.

/// A bug.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mutant {
    /// A one-primary commit is published and answered before the backups have applied it.
    AckBeforeBackup,
    /// A backup applies replicated rows as staged, so that its readers fall back to the older version.
    BackupFallsBack,
    /// The coordinator commits when the first participant is prepared.
    CommitOnPartialPrepare,
    /// A locking read does not keep its lock.
    LockForgotten,
    /// A writer does not wait for the owner of a staged version.
    StagedOwnerIgnored,
    /// A rollback to a savepoint leaves the last operation in place.
    SavepointKeepsLast,
    /// The last row of a transaction is not published.
    PublishSkipsLast,
    /// A backup does not carry out the outcome of a two-phase commit.
    BackupDropsOutcome,
    /// A primary gives the same place of its stream to two transactions.
    SequenceReused,
    /// A transaction does not see its own staged rows.
    OwnWritesUnseen,
    /// A new primary does not wait for what the other members know.
    GatherSkipped,
    /// A new primary grants locks at once.
    LocksBeforeSettled,
    /// Signals of older views are handled.
    NotFenced,
    /// Recovery commits although a participant has nothing.
    RecoveryIgnoresMissing,
    /// A commit is accepted whatever became of the primary that staged its writes.
    StagedElsewhereAccepted,
    /// A backup does not keep what a session of another node may ask for.
    MarkerForgotten,
    /// What is decided at the new primary is not told to members that do not know it.
    DecisionNotTold,
    /// The coordinator does not ask again after a view change.
    NotAskedAgain,
    /// A copied row is put above a write that came before it.
    CopyOvertakesWrite,
    /// A joining member does not remember what was deleted while it is copied to.
    CopyWithoutTombstones,
    /// The writes of a view do not wait for a joining member.
    JoiningNotNeeded,
    /// A copy begins while rows of a decided transaction are still being published.
    CopyHalfPublished,
    /// A joining member records a commit whose rows it never got.
    EarlyCommitRecorded,
    /// A primary that was left out without knowing it grants locks and answers what changes nothing.
    LockUnleased,
    /// A replica that is given up need not record an outcome.
    GivenUpCountsAsRecorded,
    /// A session whose connection breaks is taken for one that knows what became of its commit.
    LostSessionConfirms,
    /// A commit whose session heard "unknown" is not asked again in the next view.
    UnknownForEver,
    /// A session hears "aborted" of a two-phase commit that its new primary lacks before any other member has recorded that.
    DropToldEarly,
}

/// All of them.
pub const ALL: [Mutant; 10 + 14 + 4] = [
    Mutant::AckBeforeBackup,
    Mutant::BackupFallsBack,
    Mutant::CommitOnPartialPrepare,
    Mutant::LockForgotten,
    Mutant::StagedOwnerIgnored,
    Mutant::SavepointKeepsLast,
    Mutant::PublishSkipsLast,
    Mutant::BackupDropsOutcome,
    Mutant::SequenceReused,
    Mutant::OwnWritesUnseen,
    Mutant::GatherSkipped,
    Mutant::LocksBeforeSettled,
    Mutant::NotFenced,
    Mutant::RecoveryIgnoresMissing,
    Mutant::StagedElsewhereAccepted,
    Mutant::MarkerForgotten,
    Mutant::DecisionNotTold,
    Mutant::NotAskedAgain,
    Mutant::CopyOvertakesWrite,
    Mutant::CopyWithoutTombstones,
    Mutant::JoiningNotNeeded,
    Mutant::CopyHalfPublished,
    Mutant::EarlyCommitRecorded,
    Mutant::LockUnleased,
    Mutant::GivenUpCountsAsRecorded,
    Mutant::LostSessionConfirms,
    Mutant::UnknownForEver,
    Mutant::DropToldEarly,
];

#[cfg(feature = "mutants")]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Makes this thread's blocks behave so.
#[cfg(feature = "mutants")]
pub fn activate(mutant: Option<Mutant>) {
    ACTIVE.with(|active| active.set(mutant));
}

/// Whether the blocks of this thread have this bug.
#[must_use]
#[inline]
pub fn is(mutant: Mutant) -> bool {
    #[cfg(feature = "mutants")]
    return ACTIVE.with(|active| active.get() == Some(mutant));
    #[cfg(not(feature = "mutants"))]
    {
        let _ = mutant;
        false
    }
}
