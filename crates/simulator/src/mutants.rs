//! Deliberate protocol bugs and who catches them: the proof that the checkers and the scenarios can fail.
//!
//! A bug is caught by a seed of a world if the run of that seed fails: a check does not hold, or an invariant of a
//! block is broken. Every bug is looked for in the worlds in which its code runs, from seed 0 on;
//! `simulate --mutants --known` says in half a minute which known seeds have moved.
//!
//! Some need an interleaving that no seed meets soon. A schedule that is written down catches them, as a test of the
//! crate in which they are ([`Bug::is_directed`]). It passes without the bug and has to fail with it.
//!
//! Invariants: [`KNOWN`], [`UNCAUGHT`] and those with a directed schedule name every bug once, together; a seed in
//! [`KNOWN`] is where the last campaign found it first. A change of the protocol moves seeds: then the bug is looked
//! for again, and the campaign prints the new table.
//!
//! Deliberately not here: what the bugs are (`mutants` of `transaction`, `membership`, `node`, `executor`,
//! `durability`).

use crate::control::run_control_seed;
use crate::detect::run_detect_seed;
use crate::exhaustive::{WORLDS, walk_seed};
use crate::scenario::{Scenario, run, text_of_panic};
use membership::mutants::{Catch, Part};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// States of a small world that are tried for a bug: more than any but two have.
const STATES: u64 = 1_000_000;

/// A world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorldKind {
    /// Whole clusters (`scenario`).
    Cluster,
    /// Control logs (`control`).
    Control,
    /// Whole clusters, each with a crash at a signal of the commit or the takeover.
    Struck,
    /// Failure detectors (`detect`).
    Detect,
    /// Clusters whose data nodes stand still for longer than their leases (`Scenario::paused`).
    Paused,
    /// Clusters of which a data node is cut off at once (`Scenario::isolated`).
    Isolated,
    /// Clusters in which transactions stay open for long while the schema changes (`Scenario::held`).
    Held,
    /// Clusters without their management node for a while (`Scenario::outage`).
    Outage,
    /// Clusters whose clients read and change several tables in a statement (`Scenario::joined`).
    Joined,
    /// Clusters whose data nodes hang while their heartbeats go on (`Scenario::hung`).
    Hung,
    /// Clusters with an account whose privilege comes and goes (`Scenario::granted`).
    Granted,
    /// Clusters of which a data node has little memory (`Scenario::cramped`).
    Cramped,
    /// Clusters whose data nodes come back with little memory (`Scenario::scant`).
    Scant,
    /// Some schedules of a world of replicas that the seed draws (`exhaustive::walk_seed`).
    Walk,
    /// One in which everything is tried (`exhaustive`), by its name; its seed is how many states are.
    Small(&'static str),
}

/// A bug of one of the crates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// A bug of replicas and transactions.
    Transaction(transaction::mutants::Mutant),
    /// A bug of the control plane.
    Membership(membership::mutants::Mutant),
    /// Of what all modules of a node share, and of its `main`.
    Node(node::mutants::Mutant),
    /// A bug of statements.
    Executor(executor::mutants::Mutant),
    /// A bug of the redo log. All of them have tests in its crate.
    Durability(durability::mutants::Mutant),
}

/// Where a bug was caught.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kill {
    /// The world.
    pub world: WorldKind,
    /// Its seed.
    pub seed: u64,
    /// The checker's words.
    pub checker: String,
}

/// Bugs with the first seed that catches them.
pub const KNOWN: &[(&str, WorldKind, u64)] = &[
    ("BackupFallsBack", WorldKind::Walk, 0),
    ("CommitOnPartialPrepare", WorldKind::Cluster, 0),
    ("LockForgotten", WorldKind::Walk, 3),
    ("StagedOwnerIgnored", WorldKind::Cluster, 0),
    ("SavepointKeepsLast", WorldKind::Cluster, 2),
    ("PublishSkipsLast", WorldKind::Cluster, 0),
    ("BackupDropsOutcome", WorldKind::Cluster, 0),
    ("SequenceReused", WorldKind::Cluster, 0),
    ("OwnWritesUnseen", WorldKind::Cluster, 1),
    ("GatherSkipped", WorldKind::Walk, 1),
    ("RecoveryIgnoresMissing", WorldKind::Walk, 3),
    ("MarkerForgotten", WorldKind::Struck, 186),
    ("NotAskedAgain", WorldKind::Small("commit-two"), STATES),
    ("JoiningNotNeeded", WorldKind::Walk, 3),
    ("BackupsUncounted", WorldKind::Cluster, 0),
    ("RowsKeepWaiters", WorldKind::Cluster, 3),
    ("DeadlockUnnoticed", WorldKind::Cluster, 62),
    ("EpochClosedEarly", WorldKind::Cluster, 1),
    ("LostCoordinatorKept", WorldKind::Small("commit-two"), STATES),
    ("AnswerBeforeFlush", WorldKind::Control, 41),
    ("EmptyVoterVotes", WorldKind::Control, 15),
    ("ViewsUncompared", WorldKind::Control, 0),
    ("DamageTakenForTornEnd", WorldKind::Control, 37),
    ("LostSnapshotAwaited", WorldKind::Control, 17),
    ("VotersFallBack", WorldKind::Control, 26),
    ("RankRefusesVotes", WorldKind::Control, 2),
    ("LeaseFromAnswer", WorldKind::Detect, 3),
    ("CutsUndebounced", WorldKind::Detect, 5),
    ("SilenceIsDeath", WorldKind::Detect, 2),
    ("ReadsWithoutGrants", WorldKind::Detect, 0),
    ("LeftOutStays", WorldKind::Cluster, 1),
    ("SyncWithoutCopy", WorldKind::Cluster, 6),
    ("RecoveryAsksNobody", WorldKind::Walk, 3),
    ("RecoveryKeptAcrossViews", WorldKind::Walk, 40),
    ("EarlyCommitRecorded", WorldKind::Walk, 58),
    ("CopyLeavesWaiting", WorldKind::Walk, 11),
    ("HeldBackRedone", WorldKind::Walk, 31),
    ("SharedLocksAreFree", WorldKind::Walk, 7),
    ("OrphanUnconfirmed", WorldKind::Walk, 147),
    ("UnknownForEver", WorldKind::Outage, 24),
    ("WritableAtOnce", WorldKind::Isolated, 14),
    ("AckBeforeBackup", WorldKind::Small("commit-one"), STATES),
    ("FirstBackupSuffices", WorldKind::Small("commit-one"), STATES),
    ("DecisionNotTold", WorldKind::Small("commit-one"), STATES),
    ("EarlySignalsDropped", WorldKind::Small("commit-one"), STATES),
    ("CopySkipsPiece", WorldKind::Small("rejoin"), STATES),
    ("CopyOvertakesWrite", WorldKind::Small("rejoin"), STATES),
    ("CopyWithoutTombstones", WorldKind::Small("rejoin"), STATES),
    ("StampsNotJoined", WorldKind::Cluster, 4),
    ("NotFenced", WorldKind::Walk, 3),
    ("ForgottenAfterOne", WorldKind::Walk, 18),
    ("PreparedStaysStaged", WorldKind::Walk, 3),
    ("AskedWhileEnding", WorldKind::Walk, 1),
    ("MarkerNotTakenOver", WorldKind::Walk, 0),
    ("EpochNotAdopted", WorldKind::Cluster, 11),
    ("BackupStampsItself", WorldKind::Cluster, 4),
    ("LostSessionsKept", WorldKind::Walk, 79),
    ("EarlyCommitLost", WorldKind::Walk, 58),
    ("HandedLocksForgotten", WorldKind::Cluster, 312),
    ("OpenKeptAfterHandOver", WorldKind::Cluster, 1),
    ("HandedPlacesLost", WorldKind::Cluster, 19),
    ("HandedWaitsForgotten", WorldKind::Cluster, 4),
    ("OwedRepliesForgotten", WorldKind::Cluster, 4),
    ("StepWaitsForNobody", WorldKind::Held, 4),
    ("LaggardsStay", WorldKind::Hung, 1),
    ("LaggardsAtOnce", WorldKind::Hung, 4),
    ("LateAreBlameless", WorldKind::Hung, 8),
    ("RevokeNotAwaited", WorldKind::Granted, 17),
    ("OwnerByOwnLayout", WorldKind::Cluster, 26),
    ("TableLeavesSlot", WorldKind::Cluster, 1),
    ("StaleRowsTaken", WorldKind::Joined, 0),
    ("OneTableLocked", WorldKind::Joined, 0),
    ("OldRowsKept", WorldKind::Joined, 5),
    ("MovedTwice", WorldKind::Joined, 3),
    ("CountBeforeUndecided", WorldKind::Joined, 0),
];

/// Bugs that nothing catches: `docs/verification.md` would say why.
pub const UNCAUGHT: &[&str] = &[];

impl Bug {
    /// All of them.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let membership = membership::mutants::ALL.iter().map(|(mutant, ..)| *mutant);
        let transaction = transaction::mutants::ALL.into_iter().map(Self::Transaction);
        let node = node::mutants::ALL.into_iter().map(Self::Node);
        let durability = durability::mutants::ALL.into_iter().map(Self::Durability);
        let executor = executor::mutants::ALL.into_iter().map(Self::Executor);
        let membership = membership.map(Self::Membership);
        transaction.chain(membership).chain(node).chain(executor).chain(durability).collect()
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Transaction(mutant) => format!("{mutant:?}"),
            Self::Membership(mutant) => format!("{mutant:?}"),
            Self::Node(mutant) => format!("{mutant:?}"),
            Self::Executor(mutant) => format!("{mutant:?}"),
            Self::Durability(mutant) => format!("{mutant:?}"),
        }
    }

    /// Whether it is left to a directed schedule: `every_listed_bug_fails_its_test` in its crate.
    #[must_use]
    pub fn is_directed(self) -> bool {
        match self {
            Self::Transaction(mutant) => {
                use transaction::mutants::{BY_FULL_LOG, BY_OWN_TEST, DIRECTED};
                let lists = [&DIRECTED[..], &BY_OWN_TEST, &BY_FULL_LOG];
                lists.iter().any(|list| list.contains(&mutant))
            }
            Self::Membership(mutant) => mutant.place().is_some_and(|(_, catch)| catch == Catch::Directed),
            Self::Node(mutant) => node::mutants::DIRECTED.contains(&mutant),
            Self::Executor(mutant) => executor::mutants::DIRECTED.contains(&mutant),
            Self::Durability(_) => true,
        }
    }

    /// The worlds in which its code runs; the smallest first.
    #[must_use]
    pub fn worlds(self) -> &'static [WorldKind] {
        use membership::mutants::Mutant;
        match self {
            Self::Membership(Mutant::LaggardsStay | Mutant::LaggardsAtOnce | Mutant::LateAreBlameless) => {
                &[WorldKind::Hung]
            }
            Self::Membership(mutant) => match mutant.place().map(|(part, _)| part) {
                Some(Part::Detector) => {
                    &[WorldKind::Detect, WorldKind::Small("lease"), WorldKind::Isolated, WorldKind::Cluster]
                }
                Some(Part::ControlLog) => &[WorldKind::Control, WorldKind::Cluster],
                Some(Part::Restart) => &[WorldKind::Small("restart")],
                Some(Part::Membership | Part::Recovery) | None => {
                    &[WorldKind::Cluster, WorldKind::Isolated, WorldKind::Paused]
                }
            },
            Self::Transaction(transaction::mutants::Mutant::JoinerRefuses) => &[WorldKind::Scant],
            Self::Node(node::mutants::Mutant::StepWaitsForNobody) => &[WorldKind::Held],
            Self::Node(node::mutants::Mutant::RevokeNotAwaited) => &[WorldKind::Granted],
            Self::Executor(_) => &[WorldKind::Joined],
            Self::Durability(_) => &[],
            Self::Transaction(_) | Self::Node(_) => &[
                WorldKind::Walk,
                WorldKind::Cluster,
                WorldKind::Struck,
                WorldKind::Outage,
                WorldKind::Cramped,
                WorldKind::Paused,
                WorldKind::Small("commit-one"),
                WorldKind::Small("rejoin"),
                WorldKind::Small("commit-two"),
                WorldKind::Small("double-takeover"),
                WorldKind::Small("rejoin-cut"),
                WorldKind::Small("rejoin-two"),
            ],
        }
    }

    /// Runs a seed of a world with this bug: what the checker says, if it is caught.
    #[must_use]
    pub fn run(self, world: WorldKind, seed: u64) -> Option<String> {
        self.plant(true);
        let failure = failure_of(world, seed);
        self.plant(false);
        failure
    }

    fn plant(self, is_planted: bool) {
        match self {
            Self::Transaction(mutant) => transaction::mutants::activate(is_planted.then_some(mutant)),
            Self::Membership(mutant) => membership::mutants::activate(is_planted.then_some(mutant)),
            Self::Node(mutant) => node::mutants::activate(is_planted.then_some(mutant)),
            Self::Executor(mutant) => executor::mutants::activate(is_planted.then_some(mutant)),
            Self::Durability(mutant) => durability::mutants::activate(is_planted.then_some(mutant)),
        }
    }

    /// The first of so many seeds that catches it, and passes without it; in its worlds of this name, if there is one.
    #[must_use]
    pub fn first_kill(self, seeds: u64, world: Option<&str>) -> Option<Kill> {
        let of_world = |world: &WorldKind| {
            let mut tried = if matches!(world, WorldKind::Small(_)) { STATES..STATES + 1 } else { 0..seeds };
            tried.find_map(|seed| {
                let kill = self.run(*world, seed).map(|checker| Kill { world: *world, seed, checker });
                kill.filter(|_| failure_of(*world, seed).is_none())
            })
        };
        let is_wanted = |kind: &&WorldKind| world.is_none_or(|world| format!("{kind:?}").contains(world));
        self.worlds().iter().filter(is_wanted).find_map(of_world)
    }
}

/// The failure of a run, if there is one.
fn failure_of(world: WorldKind, seed: u64) -> Option<String> {
    let ran = catch_unwind(AssertUnwindSafe(|| match world {
        WorldKind::Cluster => run(&Scenario::from_seed(seed), 0).failure,
        WorldKind::Paused => Scenario::paused(seed).and_then(|scenario| run(&scenario, 0).failure),
        WorldKind::Held => run(&Scenario::held(seed), 0).failure,
        WorldKind::Joined => run(&Scenario::joined(seed), 0).failure,
        WorldKind::Isolated => run(&Scenario::isolated(seed), 0).failure,
        WorldKind::Hung => run(&Scenario::hung(seed), 0).failure,
        WorldKind::Outage => run(&Scenario::outage(seed), 0).failure,
        WorldKind::Granted => run(&Scenario::granted(seed), 0).failure,
        WorldKind::Cramped => run(&Scenario::cramped(seed), 0).failure,
        WorldKind::Scant => run(&Scenario::scant(seed), 0).failure,
        WorldKind::Struck => run(&Scenario::struck(seed), 0).failure,
        WorldKind::Control => run_control_seed(seed, 0).failure,
        WorldKind::Detect => run_detect_seed(seed).failure,
        WorldKind::Walk => walk_seed(seed),
        WorldKind::Small(name) => {
            let world = WORLDS.iter().find(|world| world.name == name);
            world.and_then(|world| (world.run)(seed).failure)
        }
    }));
    ran.unwrap_or_else(|panic| Some(text_of_panic(panic.as_ref())))
}
