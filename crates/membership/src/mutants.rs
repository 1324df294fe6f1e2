//! Deliberate bugs of the control plane, one at a time, behind the feature `mutants`: the simulator must catch each of
//! them, or a directed schedule.

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A follower answers before its log is on disk.
    AnswerBeforeFlush,
    /// A voter whose log is gone goes on under its old id.
    EmptyVoterVotes,
    /// A view is taken without comparing what it was made from.
    ViewsUncompared,
    /// A hole in the log is taken for a torn end.
    DamageTakenForTornEnd,
    /// A snapshot that did not arrive is waited for without end.
    LostSnapshotAwaited,
    /// The committed index is not written with the log, and a change of voters takes effect all the same.
    VotersFallBack,
    /// Voters refuse those whom they outrank, as Raft's own priorities do.
    RankRefusesVotes,
    /// A node may read from the moment when it hears of a grant, instead of that of its request.
    LeaseFromAnswer,
    /// A cut that others do not see counts at once.
    CutsUndebounced,
    /// A node that is silent here must leave, whatever others hear.
    SilenceIsDeath,
    /// A node reads whether or not the others let it.
    ReadsWithoutGrants,
    /// A suspected node is let read all the same.
    SuspectsAreGranted,
    /// Grants to the earlier life of a node do not count any more.
    EarlierGrantsForgotten,
    /// A witness that is proved dead is proposed for leaving with the others.
    DeadWitnessLeaves,
    /// Nobody waits for leases of nodes that were left out.
    WritableAtOnce,
    /// A node that a view leaves out goes on.
    LeftOutStays,
    /// A joining node asks to be in sync before it has all rows.
    SyncWithoutCopy,
    /// A node asks to be copied to before it is connected with all members.
    JoinUnconnected,
    /// The earlier life of a node that has started again is not made to leave.
    EarlierLifeStays,
    /// Signals that a broken connection dropped are not repaired by a view.
    BrokenLinkNotRenewed,
    /// A node that comes in sync does not honour the grants that the others took as given when it joined.
    FirstGrantForgotten,
    /// A node is let read that does not know the newest view.
    LaggardsAreGranted,
    /// Nobody asks those that join whether it may read.
    JoinersLetRead,
    /// A member that answers nothing, though it lives, is not made to leave.
    LaggardsStay,
    /// Several members may leave for late answers at the same time.
    LaggardsAtOnce,
    /// A node that answers late is not more to blame for a link that closes than the other end.
    LateAreBlameless,
    /// A join takes the place of any other life, however late it comes.
    JoinReplacesAnything,
    /// The first view does not wait for all voters.
    FirstViewWithoutVoters,
    /// An operator's recovery does not look whether a member of each replica group lives.
    RecoveryWithoutMembers,
    /// An operator's recovery does not look whether a node that is said to be gone answers.
    RecoveryDespiteAnswer,
    /// Nobody says which foundings a recovery has replaced.
    OldLogsStayValid,
    /// Numbers of voters, lives and views go on where the lost ones may have gone on, too.
    NumbersGivenTwice,
    /// A node that takes part in a recovery goes on with the old log.
    SurvivorsStayUnbound,
    /// Primaries are given to whoever leads the fewest, not to their homes.
    HomeIgnored,
    /// A restart keeps what some group does not hold.
    CutTooHigh,
    /// An epoch above an earlier cut counts again.
    OldTailReturns,
    /// The header of a restart that was never recorded counts.
    UnconfirmedHeaderCounts,
    /// A disk counts for a life that the last view does not call restorable.
    LineageIgnored,
    /// A disk counts that ends before what is known to be durable.
    DStarIgnored,
    /// A life becomes restorable while it is being copied to.
    RestorableBeforeJoined,
    /// A life that has left stays restorable although another one is.
    DeadStayRestorable,
    /// A group's last restorable life does not stay when it leaves.
    LastLeavesEarly,
    /// A restart is recorded although another one was, or one of its nodes has started again.
    RestartNotCompared,
    /// After a loss of all, the earlier life of the node that comes first is left out.
    FirstComerLeftOut,
}

/// Those of an operator's recovery.
pub const OF_RECOVERY: [Mutant; 5] = [
    Mutant::RecoveryWithoutMembers,
    Mutant::RecoveryDespiteAnswer,
    Mutant::OldLogsStayValid,
    Mutant::NumbersGivenTwice,
    Mutant::SurvivorsStayUnbound,
];

/// Those of restarts.
pub const OF_RESTART: [Mutant; 10] = [
    Mutant::CutTooHigh,
    Mutant::OldTailReturns,
    Mutant::UnconfirmedHeaderCounts,
    Mutant::LineageIgnored,
    Mutant::DStarIgnored,
    Mutant::RestorableBeforeJoined,
    Mutant::DeadStayRestorable,
    Mutant::LastLeavesEarly,
    Mutant::RestartNotCompared,
    Mutant::FirstComerLeftOut,
];

/// Those of the failure detector.
pub const OF_DETECTOR: [Mutant; 7] = [
    Mutant::LeaseFromAnswer,
    Mutant::CutsUndebounced,
    Mutant::SilenceIsDeath,
    Mutant::ReadsWithoutGrants,
    Mutant::SuspectsAreGranted,
    Mutant::EarlierGrantsForgotten,
    Mutant::DeadWitnessLeaves,
];

/// Those of what binds both together, for clusters of nodes.
pub const OF_MEMBERSHIP: [Mutant; 13] = [
    Mutant::WritableAtOnce,
    Mutant::LeftOutStays,
    Mutant::SyncWithoutCopy,
    Mutant::JoinUnconnected,
    Mutant::EarlierLifeStays,
    Mutant::BrokenLinkNotRenewed,
    Mutant::FirstGrantForgotten,
    Mutant::LaggardsAreGranted,
    Mutant::JoinersLetRead,
    Mutant::LaggardsStay,
    Mutant::LaggardsAtOnce,
    Mutant::LateAreBlameless,
    Mutant::HomeIgnored,
];

/// Those of the control log.
pub const OF_CONTROL_LOG: [Mutant; 9] = [
    Mutant::AnswerBeforeFlush,
    Mutant::EmptyVoterVotes,
    Mutant::ViewsUncompared,
    Mutant::DamageTakenForTornEnd,
    Mutant::LostSnapshotAwaited,
    Mutant::VotersFallBack,
    Mutant::RankRefusesVotes,
    Mutant::JoinReplacesAnything,
    Mutant::FirstViewWithoutVoters,
];

/// Those that no seed catches soon, and a schedule that is written down does: `tests/directed.rs`.
pub const DIRECTED: [Mutant; 27] = [
    Mutant::SuspectsAreGranted,
    Mutant::EarlierGrantsForgotten,
    Mutant::DeadWitnessLeaves,
    Mutant::FirstGrantForgotten,
    Mutant::LaggardsAreGranted,
    Mutant::JoinersLetRead,
    Mutant::JoinUnconnected,
    Mutant::EarlierLifeStays,
    Mutant::BrokenLinkNotRenewed,
    Mutant::JoinReplacesAnything,
    Mutant::FirstViewWithoutVoters,
    Mutant::RecoveryWithoutMembers,
    Mutant::RecoveryDespiteAnswer,
    Mutant::OldLogsStayValid,
    Mutant::NumbersGivenTwice,
    Mutant::SurvivorsStayUnbound,
    Mutant::HomeIgnored,
    Mutant::CutTooHigh,
    Mutant::OldTailReturns,
    Mutant::UnconfirmedHeaderCounts,
    Mutant::LineageIgnored,
    Mutant::DStarIgnored,
    Mutant::RestorableBeforeJoined,
    Mutant::DeadStayRestorable,
    Mutant::LastLeavesEarly,
    Mutant::RestartNotCompared,
    Mutant::FirstComerLeftOut,
];

stdx::plantable!(Mutant);
