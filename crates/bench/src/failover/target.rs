//! The interface of a cluster under test, LatsDB's or another's.
//!
//! **Invariants.** Dropping a target ends all its processes.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The purpose of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeRole {
    /// It holds rows and serves SQL.
    Data,
    Management,
}

/// A node of the cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) role: NodeRole,
    /// Which of the cluster's SQL addresses it serves.
    pub(super) address: Option<usize>,
    /// Nodes of one group hold the same rows.
    pub(super) group: usize,
}

/// A running cluster.
pub(super) trait Target {
    /// Where it speaks SQL.
    fn addresses(&self) -> &[SocketAddr];

    fn nodes(&self) -> &[Node];

    /// The process of a node, if it runs.
    fn pid(&mut self, node: usize) -> Option<u32>;

    /// The log of a node, if it writes one that tells of views.
    fn log(&self, node: usize) -> Option<PathBuf>;

    /// Whether a node that ends stays away until it is revived.
    fn is_by_hand(&self) -> bool;

    /// Does what an operator would type to have one node, or all of them one after the other, started again; returns
    /// when that is done.
    fn restart(&mut self, node: Option<usize>) -> Result<String, String>;

    /// Starts a node again that has ended, if nobody else does.
    fn revive(&mut self, node: usize) -> Result<(), String>;

    /// Every node is there and has all rows; else what is missing.
    fn in_sync(&mut self) -> Result<(), String>;

    /// Compares replicas; gives what is said of them.
    fn check(&mut self) -> Result<String, String>;

    /// Lets nothing pass between two nodes, or everything again.
    fn set_cut(&mut self, one: usize, other: usize, is_cut: bool) -> Result<(), String>;

    /// Ends it in order.
    fn stop(self: Box<Self>) -> Result<(), String>;
}
