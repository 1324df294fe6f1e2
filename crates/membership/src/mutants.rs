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
    /// A node takes members that have started anew for the lives that the view names.
    EarlierLivesJoined,
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
    /// A view follows that of a cluster that has stopped: members that ended first are left out.
    StopUnrecorded,
    /// A node begins anew although its disk is the last one from which its group might start.
    InitialOfTheLast,
}

/// The part of the control plane that a bug is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The failure detector.
    Detector,
    /// The control log.
    ControlLog,
    /// The block that binds both together, for clusters of nodes.
    Membership,
    /// An operator's recovery.
    Recovery,
    /// Restarts from disks.
    Restart,
}

/// How a bug is caught.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Catch {
    /// By a seed of the simulator.
    Seed,
    /// No seed catches it soon, and a schedule that is written down does: `tests/directed.rs`.
    Directed,
}

/// All of them.
pub const ALL: &[(Mutant, Part, Catch)] = &[
    (Mutant::LeaseFromAnswer, Part::Detector, Catch::Seed),
    (Mutant::CutsUndebounced, Part::Detector, Catch::Seed),
    (Mutant::SilenceIsDeath, Part::Detector, Catch::Seed),
    (Mutant::ReadsWithoutGrants, Part::Detector, Catch::Seed),
    (Mutant::SuspectsAreGranted, Part::Detector, Catch::Directed),
    (Mutant::EarlierGrantsForgotten, Part::Detector, Catch::Directed),
    (Mutant::DeadWitnessLeaves, Part::Detector, Catch::Directed),
    (Mutant::AnswerBeforeFlush, Part::ControlLog, Catch::Seed),
    (Mutant::EmptyVoterVotes, Part::ControlLog, Catch::Seed),
    (Mutant::ViewsUncompared, Part::ControlLog, Catch::Seed),
    (Mutant::DamageTakenForTornEnd, Part::ControlLog, Catch::Seed),
    (Mutant::LostSnapshotAwaited, Part::ControlLog, Catch::Seed),
    (Mutant::VotersFallBack, Part::ControlLog, Catch::Seed),
    (Mutant::RankRefusesVotes, Part::ControlLog, Catch::Seed),
    (Mutant::JoinReplacesAnything, Part::ControlLog, Catch::Directed),
    (Mutant::FirstViewWithoutVoters, Part::ControlLog, Catch::Directed),
    (Mutant::WritableAtOnce, Part::Membership, Catch::Seed),
    (Mutant::LeftOutStays, Part::Membership, Catch::Seed),
    (Mutant::SyncWithoutCopy, Part::Membership, Catch::Seed),
    (Mutant::JoinUnconnected, Part::Membership, Catch::Directed),
    (Mutant::EarlierLivesJoined, Part::Restart, Catch::Directed),
    (Mutant::EarlierLifeStays, Part::Membership, Catch::Directed),
    (Mutant::BrokenLinkNotRenewed, Part::Membership, Catch::Directed),
    (Mutant::FirstGrantForgotten, Part::Membership, Catch::Directed),
    (Mutant::LaggardsAreGranted, Part::Membership, Catch::Directed),
    (Mutant::JoinersLetRead, Part::Membership, Catch::Directed),
    (Mutant::LaggardsStay, Part::Membership, Catch::Seed),
    (Mutant::LaggardsAtOnce, Part::Membership, Catch::Seed),
    (Mutant::LateAreBlameless, Part::Membership, Catch::Seed),
    (Mutant::HomeIgnored, Part::Membership, Catch::Directed),
    (Mutant::RecoveryWithoutMembers, Part::Recovery, Catch::Directed),
    (Mutant::RecoveryDespiteAnswer, Part::Recovery, Catch::Directed),
    (Mutant::OldLogsStayValid, Part::Recovery, Catch::Directed),
    (Mutant::NumbersGivenTwice, Part::Recovery, Catch::Directed),
    (Mutant::SurvivorsStayUnbound, Part::Recovery, Catch::Directed),
    (Mutant::CutTooHigh, Part::Restart, Catch::Directed),
    (Mutant::OldTailReturns, Part::Restart, Catch::Directed),
    (Mutant::UnconfirmedHeaderCounts, Part::Restart, Catch::Directed),
    (Mutant::LineageIgnored, Part::Restart, Catch::Directed),
    (Mutant::DStarIgnored, Part::Restart, Catch::Directed),
    (Mutant::RestorableBeforeJoined, Part::Restart, Catch::Directed),
    (Mutant::DeadStayRestorable, Part::Restart, Catch::Directed),
    (Mutant::LastLeavesEarly, Part::Restart, Catch::Directed),
    (Mutant::RestartNotCompared, Part::Restart, Catch::Directed),
    (Mutant::FirstComerLeftOut, Part::Restart, Catch::Directed),
    (Mutant::StopUnrecorded, Part::Restart, Catch::Directed),
    (Mutant::InitialOfTheLast, Part::Restart, Catch::Directed),
];

impl Mutant {
    /// The part that it is in, and how it is caught.
    #[must_use]
    pub fn place(self) -> Option<(Part, Catch)> {
        ALL.iter().find(|(mutant, ..)| *mutant == self).map(|(_, part, catch)| (*part, *catch))
    }
}

stdx::plantable!(Mutant);
