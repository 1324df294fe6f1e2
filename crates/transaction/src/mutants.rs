//! Deliberate protocol bugs, one at a time, behind the feature `mutants`: the simulator must catch each of them, or a
//! directed schedule.
//!
//! Without the feature `is` is always false and the compiler removes what hangs on it.

/// A bug.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mutant {
    /// A replica looks for the others' `ldm` as if their nodes had as many as its own.
    OwnerByOwnLayout,
    /// A table gets other fragments when its definition changes.
    TableLeavesSlot,
    /// A one-primary commit is published and answered before the backups have applied it.
    AckBeforeBackup,
    /// A backup applies replicated rows as staged, so that its readers fall back to the older version.
    BackupFallsBack,
    /// The coordinator commits when the first participant is prepared.
    CommitOnPartialPrepare,
    /// A locking read does not keep its lock.
    LockForgotten,
    /// A session reads rows that other transactions still hold locks of.
    GrantReadBeforeLock,
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
    /// Recovery commits although a participant has nothing.
    RecoveryIgnoresMissing,
    /// A commit is accepted whatever became of the primary that staged its writes.
    StagedElsewhereAccepted,
    /// A backup does not keep what a session of another node may ask for.
    MarkerForgotten,
    /// An outcome that is known at the new primary is not told to members that do not know it.
    DecisionNotTold,
    /// The coordinator does not ask again after a view change.
    NotAskedAgain,
    /// A copied row is put above a write that came before it.
    CopyOvertakesWrite,
    /// A joining member does not remember what was deleted while it is copied to.
    CopyWithoutTombstones,
    /// A joining member reports pieces that it has got, and not applied.
    CursorAheadOfApplied,
    /// A joining member does not remember in a newer view what was deleted before.
    CursorForgetsDeleted,
    /// A joining member does not remember in a newer view which rows it has asked for.
    AwaitedForgotten,
    /// A copy that goes on in the midst of an index leaves out the rest of the table's entries.
    CursorSkipsIndexes,
    /// The writes of a view do not wait for a joining member.
    JoiningNotNeeded,
    /// A joining member refuses what it has no room for, as members in sync do.
    JoinerRefuses,
    /// A member that came back takes the rows of its disk for those of the primary.
    DifferenceNotExact,
    /// The copy of differences passes over tables that are empty at the primary.
    EmptyTableSkipped,
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
    /// A session hears "aborted" of a two-phase commit that its new primary lacks before any other member has recorded
    /// that.
    DropToldEarly,
    /// A one-primary commit is published and answered when the first of its backups has applied it.
    FirstBackupSuffices,
    /// A backup that refused a one-primary commit counts as one that has applied it.
    RefusalCounted,
    /// The coordinator counts the answers of primaries only.
    BackupsUncounted,
    /// The commit epoch of several participants is that of the first to answer, not the highest.
    StampsNotJoined,
    /// The session hears "aborted" before any participant has recorded it.
    AbortToldUnrecorded,
    /// An outcome is forgotten when one participant has recorded it.
    ForgottenAfterOne,
    /// The coordinator counts what was prepared in an earlier view.
    PreparesKeptAcrossViews,
    /// A lock that a lost primary held is not missed at the commit.
    LocksOnlySurvive,
    /// A commit is accepted with another number of operations than it names.
    OperationsUncounted,
    /// A commit does not look whether its tables are still as they were.
    OldBindingCommits,
    /// The primary's rows stay staged while their outcome is not known there.
    PreparedStaysStaged,
    /// Nobody is woken when a row is published or undone.
    RowsKeepWaiters,
    /// A deadlock that a probe has found is not broken.
    DeadlockUnnoticed,
    /// An exclusive lock is given beside shared ones.
    SharedLocksAreFree,
    /// The epoch of a message is not adopted by its receiver.
    EpochNotAdopted,
    /// A backup takes its own epoch for what is replicated to it.
    BackupStampsItself,
    /// An epoch is closed when the first member has drained it.
    EpochClosedEarly,
    /// A member takes a closed epoch for whole, whatever is undecided there.
    NoSecondDrain,
    /// A view does not close what an earlier one has closed, though a member may not know of it.
    WantedAgainstClosed,
    /// An epoch is durable when one member has flushed it.
    DurableByOne,
    /// An epoch is durable though some group has nobody from whom a restart could begin.
    DurableWithoutRestorable,
    /// A master says that less is flushed than what a member knows to be durable.
    KnownDIgnored,
    /// A disk that rows were copied to counts for epochs from before it had all of them.
    CountedBelowFirst,
    /// A durable epoch of after a restart of the cluster counts for those who wait since before.
    WaiterOutlivesRestart,
    /// A primary reports a transaction without coordinator as prepared before its backups have it.
    OrphanUnconfirmed,
    /// Recovery decides with the first participant that reports.
    RecoveryAsksNobody,
    /// A recovery goes on with what it heard in an earlier view.
    RecoveryKeptAcrossViews,
    /// A new primary takes what a member has published for something that it does not know.
    ConsumedMeansNothing,
    /// Undecided transactions are replicated again in another order.
    ReplicatedOutOfOrder,
    /// A publication that ends in a later view tells its old place.
    OldStreamNamed,
    /// A transaction keeps its lost coordinator.
    LostCoordinatorKept,
    /// Open transactions of sessions of a lost node stay open.
    LostSessionsKept,
    /// A question after a commit that is under way is answered "aborted".
    AskedWhileEnding,
    /// A request that a session gave up is done after a takeover.
    HeldBackRedone,
    /// A new primary does not keep what a session may ask for.
    MarkerNotTakenOver,
    /// The abort of what a new primary lacks is told before the members have recorded it.
    DropToldUnrecorded,
    /// A commit that overtakes its transaction at a joining member is lost.
    EarlyCommitLost,
    /// A copy is over while copied rows wait under prepared versions.
    CopyLeavesWaiting,
    /// A row of each piece is not copied.
    CopySkipsPiece,
    /// A new primary does not hold the locks that are handed over to it.
    HandedLocksForgotten,
    /// An old primary keeps what is open when another one has it.
    OpenKeptAfterHandOver,
    /// Sealed places that a new primary lacks are not taken from the old one.
    HandedPlacesLost,
    /// Requests that waited at the old primary are not asked again at the new one.
    HandedWaitsForgotten,
    /// An old primary does not answer the commits that it has sealed.
    OwedRepliesForgotten,
    /// A new primary does not tell sessions of the transactions that it has taken.
    SessionsNotTold,
    /// Operations of a transaction that its session knows of are not missed.
    LostOperationsUnnoticed,
    /// A row is logged behind a newer entry of it with the same epoch.
    SameEpochOutOfOrder,
    /// A delete is not logged again behind an older entry of its row.
    EntryNotRepeated,
    /// A write looks for room in the redo log when it is committed, and has its stamp by then.
    SpaceAfterStamp,
}

/// All of them.
pub const ALL: [Mutant; 86] = [
    Mutant::OwnerByOwnLayout,
    Mutant::TableLeavesSlot,
    Mutant::AckBeforeBackup,
    Mutant::BackupFallsBack,
    Mutant::CommitOnPartialPrepare,
    Mutant::LockForgotten,
    Mutant::GrantReadBeforeLock,
    Mutant::StagedOwnerIgnored,
    Mutant::SavepointKeepsLast,
    Mutant::PublishSkipsLast,
    Mutant::BackupDropsOutcome,
    Mutant::SequenceReused,
    Mutant::OwnWritesUnseen,
    Mutant::GatherSkipped,
    Mutant::LocksBeforeSettled,
    Mutant::RecoveryIgnoresMissing,
    Mutant::StagedElsewhereAccepted,
    Mutant::MarkerForgotten,
    Mutant::DecisionNotTold,
    Mutant::NotAskedAgain,
    Mutant::CopyOvertakesWrite,
    Mutant::CopyWithoutTombstones,
    Mutant::CursorAheadOfApplied,
    Mutant::CursorForgetsDeleted,
    Mutant::AwaitedForgotten,
    Mutant::CursorSkipsIndexes,
    Mutant::JoiningNotNeeded,
    Mutant::JoinerRefuses,
    Mutant::CopyHalfPublished,
    Mutant::EarlyCommitRecorded,
    Mutant::LockUnleased,
    Mutant::GivenUpCountsAsRecorded,
    Mutant::LostSessionConfirms,
    Mutant::UnknownForEver,
    Mutant::DropToldEarly,
    Mutant::FirstBackupSuffices,
    Mutant::RefusalCounted,
    Mutant::BackupsUncounted,
    Mutant::StampsNotJoined,
    Mutant::AbortToldUnrecorded,
    Mutant::ForgottenAfterOne,
    Mutant::PreparesKeptAcrossViews,
    Mutant::LocksOnlySurvive,
    Mutant::OperationsUncounted,
    Mutant::OldBindingCommits,
    Mutant::PreparedStaysStaged,
    Mutant::RowsKeepWaiters,
    Mutant::DeadlockUnnoticed,
    Mutant::SharedLocksAreFree,
    Mutant::EpochNotAdopted,
    Mutant::BackupStampsItself,
    Mutant::EpochClosedEarly,
    Mutant::NoSecondDrain,
    Mutant::WantedAgainstClosed,
    Mutant::DurableByOne,
    Mutant::DurableWithoutRestorable,
    Mutant::KnownDIgnored,
    Mutant::CountedBelowFirst,
    Mutant::WaiterOutlivesRestart,
    Mutant::OrphanUnconfirmed,
    Mutant::RecoveryAsksNobody,
    Mutant::RecoveryKeptAcrossViews,
    Mutant::ConsumedMeansNothing,
    Mutant::ReplicatedOutOfOrder,
    Mutant::OldStreamNamed,
    Mutant::LostCoordinatorKept,
    Mutant::LostSessionsKept,
    Mutant::AskedWhileEnding,
    Mutant::HeldBackRedone,
    Mutant::MarkerNotTakenOver,
    Mutant::DropToldUnrecorded,
    Mutant::EarlyCommitLost,
    Mutant::CopyLeavesWaiting,
    Mutant::CopySkipsPiece,
    Mutant::DifferenceNotExact,
    Mutant::EmptyTableSkipped,
    Mutant::HandedLocksForgotten,
    Mutant::OpenKeptAfterHandOver,
    Mutant::HandedPlacesLost,
    Mutant::HandedWaitsForgotten,
    Mutant::OwedRepliesForgotten,
    Mutant::SessionsNotTold,
    Mutant::LostOperationsUnnoticed,
    Mutant::SameEpochOutOfOrder,
    Mutant::EntryNotRepeated,
    Mutant::SpaceAfterStamp,
];

/// Those that a test of their own file catches: `ldm/redo/tests.rs`.
pub const BY_OWN_TEST: [Mutant; 2] = [Mutant::SameEpochOutOfOrder, Mutant::EntryNotRepeated];

/// Those that a test of a full redo log catches: `tests/full_log.rs`.
pub const BY_FULL_LOG: [Mutant; 1] = [Mutant::SpaceAfterStamp];

/// Those that no seed catches soon, and a schedule that is written down does: `tests/protocol/directed.rs`.
pub const DIRECTED: [Mutant; 34] = [
    Mutant::LocksOnlySurvive,
    Mutant::StagedElsewhereAccepted,
    Mutant::LocksBeforeSettled,
    Mutant::LockUnleased,
    Mutant::OperationsUncounted,
    Mutant::OldBindingCommits,
    Mutant::RefusalCounted,
    Mutant::AbortToldUnrecorded,
    Mutant::PreparesKeptAcrossViews,
    Mutant::GivenUpCountsAsRecorded,
    Mutant::LostSessionConfirms,
    Mutant::ConsumedMeansNothing,
    Mutant::ReplicatedOutOfOrder,
    Mutant::OldStreamNamed,
    Mutant::DropToldUnrecorded,
    Mutant::DropToldEarly,
    Mutant::CopyHalfPublished,
    Mutant::JoinerRefuses,
    Mutant::SessionsNotTold,
    Mutant::LostOperationsUnnoticed,
    Mutant::NoSecondDrain,
    Mutant::WantedAgainstClosed,
    Mutant::DurableByOne,
    Mutant::DurableWithoutRestorable,
    Mutant::KnownDIgnored,
    Mutant::CountedBelowFirst,
    Mutant::WaiterOutlivesRestart,
    Mutant::DifferenceNotExact,
    Mutant::EmptyTableSkipped,
    Mutant::GrantReadBeforeLock,
    Mutant::CursorAheadOfApplied,
    Mutant::CursorForgetsDeleted,
    Mutant::AwaitedForgotten,
    Mutant::CursorSkipsIndexes,
];

stdx::plantable!(Mutant);
