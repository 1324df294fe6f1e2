//! Where a signal goes: a module of a node. Blocks within a module are named by ids inside the signals.

use types::NodeId;
use wire_derive::Wire;

/// The kinds of modules (runtime.md of NDB's heritage: recv and send are what a thread does, not modules).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub enum ModuleKind {
    /// Client sessions.
    Sql,
    /// Transaction coordinator.
    Tc,
    /// Local data manager: the only writer of its slots, their locks.
    Ldm,
    /// Committed reads and scans on any slot of the node.
    Query,
    /// Catalogue, epochs, node map, management verbs.
    Main,
    /// Views, control plane, failure reports.
    Membership,
    /// The redo log, checkpoints and the claim of a data node.
    Disk,
}

impl ModuleKind {
    /// As logs and ndbinfo call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ModuleKind::Sql => "sql",
            ModuleKind::Tc => "tc",
            ModuleKind::Ldm => "ldm",
            ModuleKind::Query => "query",
            ModuleKind::Main => "main",
            ModuleKind::Membership => "membership",
            ModuleKind::Disk => "disk",
        }
    }
}

/// A module of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Address {
    /// The node.
    pub node: NodeId,
    /// The kind of module.
    pub kind: ModuleKind,
    /// Which of that kind, counted from 0.
    pub instance: u8,
}

impl Address {
    /// The `instance`-th module of `kind` on `node`.
    #[must_use]
    pub const fn new(node: NodeId, kind: ModuleKind, instance: u8) -> Self {
        Self { node, kind, instance }
    }

    /// The one `main` module of a node.
    #[must_use]
    pub const fn main(node: NodeId) -> Self {
        Self::new(node, ModuleKind::Main, 0)
    }

    /// The one `membership` module of a node.
    #[must_use]
    pub const fn membership(node: NodeId) -> Self {
        Self::new(node, ModuleKind::Membership, 0)
    }

    /// The one `disk` module of a data node.
    #[must_use]
    pub const fn disk(node: NodeId) -> Self {
        Self::new(node, ModuleKind::Disk, 0)
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}{}", self.node, self.kind.name(), self.instance)
    }
}
