//! Deliberate bugs of the redo log, one at a time, behind the feature `mutants`. A test of this crate catches each.

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A flush ends with a write that is not synced.
    SyncSkipped,
    /// Blocks that were lost while they were being written count as damage.
    TornEndIsDamage,
    /// A block that had been flushed is missing, and nobody hears of it.
    DamageIsTornEnd,
    /// The tail of the log counts as it was found, though it may never have reached the disk.
    TailNotRewritten,
    /// A file that is still needed is used again.
    NeededFileRecycled,
    /// Blocks that a life left behind come back.
    LeftBehindReturns,
    /// A node that has joined forgets what it held before, though it is not restorable yet.
    JoinedForgetsBefore,
    /// A sync that failed is tried again, and believed the second time.
    FailedSyncRetried,
}

/// All of them; each has a test.
pub const ALL: [Mutant; 8] = [
    Mutant::SyncSkipped,
    Mutant::TornEndIsDamage,
    Mutant::DamageIsTornEnd,
    Mutant::TailNotRewritten,
    Mutant::NeededFileRecycled,
    Mutant::LeftBehindReturns,
    Mutant::JoinedForgetsBefore,
    Mutant::FailedSyncRetried,
];

#[cfg(feature = "mutants")]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Plants a bug on this thread, or none.
#[cfg(feature = "mutants")]
pub fn activate(mutant: Option<Mutant>) {
    ACTIVE.with(|active| active.set(mutant));
}

/// Whether this bug is planted.
#[inline]
pub(crate) fn is(mutant: Mutant) -> bool {
    #[cfg(feature = "mutants")]
    return ACTIVE.with(|active| active.get() == Some(mutant));
    #[cfg(not(feature = "mutants"))]
    {
        let _ = mutant;
        false
    }
}
