//! Deliberate bugs of the control plane, one at a time, behind the feature `mutants`: the simulator must catch each of them.

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A follower answers before its log is on disk.
    AnswerBeforeFlush,
    /// A voter whose log is lost goes on under its old id.
    EmptyVoterVotes,
    /// A view is taken without comparing what it was made from.
    ViewsUncompared,
    /// A hole in the log is taken for a torn end.
    DamageTakenForTornEnd,
    /// A snapshot that was lost on the way is waited for without end.
    LostSnapshotAwaited,
    /// What is committed is not written with the log, and a change of voters takes effect all the same.
    VotersFallBack,
    /// Voters refuse those whom they outrank, as Raft's own priorities do.
    RankRefusesVotes,
    /// A node may read from the moment when it hears of a grant, instead of that of its request.
    LeaseFromAnswer,
    /// A cut that others do not see counts at once.
    CutsUndebounced,
    /// Whoever is silent here must leave, whatever others hear.
    SilenceIsDeath,
}

/// Those of the failure detector.
pub const OF_DETECTOR: [Mutant; 3] =
    [Mutant::LeaseFromAnswer, Mutant::CutsUndebounced, Mutant::SilenceIsDeath];

/// Those of the control log.
pub const OF_CONTROL_LOG: [Mutant; 7] = [
    Mutant::AnswerBeforeFlush,
    Mutant::EmptyVoterVotes,
    Mutant::ViewsUncompared,
    Mutant::DamageTakenForTornEnd,
    Mutant::LostSnapshotAwaited,
    Mutant::VotersFallBack,
    Mutant::RankRefusesVotes,
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
