//! Deliberate bugs of the wrapper of a node's modules and of its `main`, one at a time, behind the feature `mutants`.
//! The simulator must catch each of them, or a test of this crate.

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Signals of older views are handled.
    NotFenced,
    /// Signals of a view that is not installed yet are dropped.
    EarlySignalsDropped,
    /// Signals of a node that the view leaves out are handled.
    LeftOutHeard,
    /// A module keeps to itself the epochs that it hears: another one stamps below what was read on its node.
    NodeEpochNotRaised,
    /// A view counts as installed everywhere when one data node has installed it.
    SettledByOne,
    /// A node that asks for the catalogue gets it, though this node is in an older view.
    SchemaBeforeView,
    /// A node without replicas answers though it may not know the newest schema.
    AnswersBehind,
    /// A node says that it has installed a schema when it has only heard of it: a REVOKE is acknowledged while others
    /// permit what it took away.
    RevokeNotAwaited,
    /// A step of DDL does not wait for users of its tables in older versions.
    StepWaitsForNobody,
    /// A data node reports a version as installed that an SQL node in its reach has not.
    SqlNodesUnheard,
    /// A manifest is written though a restart may still cut below its epoch.
    ManifestBeforeDurable,
    /// The position of a checkpoint is taken when its rows have been read.
    PositionAfterScan,
    /// The files of old checkpoints go before the manifests name the new ones.
    DropBeforeDurable,
    /// A node that joins writes manifests.
    ManifestWhileJoining,
    /// Files of the log are used again before the manifests need no more of it.
    TrimBeforeManifest,
    /// The epoch of a manifest is that of the rows that were read for it: a drop that it leaves out may be newer.
    EpochOfRowsOnly,
}

/// All of them.
pub const ALL: [Mutant; 16] = [
    Mutant::NotFenced,
    Mutant::EarlySignalsDropped,
    Mutant::LeftOutHeard,
    Mutant::NodeEpochNotRaised,
    Mutant::SettledByOne,
    Mutant::SchemaBeforeView,
    Mutant::AnswersBehind,
    Mutant::RevokeNotAwaited,
    Mutant::StepWaitsForNobody,
    Mutant::SqlNodesUnheard,
    Mutant::ManifestBeforeDurable,
    Mutant::PositionAfterScan,
    Mutant::DropBeforeDurable,
    Mutant::ManifestWhileJoining,
    Mutant::TrimBeforeManifest,
    Mutant::EpochOfRowsOnly,
];

/// The bugs that no seed catches soon, and a test does: `bugs`.
pub const DIRECTED: [Mutant; 12] = [
    Mutant::LeftOutHeard,
    Mutant::NodeEpochNotRaised,
    Mutant::SettledByOne,
    Mutant::AnswersBehind,
    Mutant::SchemaBeforeView,
    Mutant::SqlNodesUnheard,
    Mutant::ManifestBeforeDurable,
    Mutant::PositionAfterScan,
    Mutant::DropBeforeDurable,
    Mutant::ManifestWhileJoining,
    Mutant::TrimBeforeManifest,
    Mutant::EpochOfRowsOnly,
];

stdx::plantable!(Mutant);
