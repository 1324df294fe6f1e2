//! Membership: how a node joins, what it learns of the cluster then, and how it leaves.

use crate::claim::Claim;
use crate::view::NodeRole;
use types::{Epoch, NodeId, ViewNumber};
use wire_derive::Wire;

/// A node asks the control plane to be let in.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct JoinRequest {
    /// Its role.
    pub role: NodeRole,
    /// A number of this process start, told apart from earlier ones of the same node.
    pub start: u64,
    /// Host and port, for people.
    pub host: String,
    /// Modules.
    pub ldm_count: u8,
    /// Modules.
    pub tc_count: u8,
    /// Modules.
    pub query_count: u8,
    /// Modules.
    pub sql_count: u8,
    /// The contents of a data node's disk; None: it keeps no rows on disk.
    pub claim: Option<Box<Claim>>,
}

/// The terms that all nodes of a cluster must have in common, whatever each one's config.ini says.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct ClusterTerms {
    /// NoOfReplicas.
    pub replica_count: u16,
    /// PartitionsPerNode.
    pub partitions_per_node: u16,
    /// SlotsPerNode; 0: as many as the CPUs of its founding asked for.
    #[wire(since = 7)]
    pub slots_per_node: u16,
    /// HeartbeatIntervalDbDb, by which nodes compute each other's leases.
    pub heartbeat_us: u64,
    /// All configured nodes, by id.
    pub members: Vec<(NodeId, NodeRole)>,
}

/// The step that a node asks of the control plane when it is about to stop; all but the last are for data nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum LeaveStep {
    /// A view in which others lead its slots.
    HandOver,
    /// It does not stop after all.
    Stay,
    /// A view without it; then it ends.
    Leave {
        /// With this exit code.
        exit_code: u8,
    },
    /// The cluster stops as a whole: it ends when that is recorded.
    Stop {
        /// With this exit code; None: it stays.
        exit_code: Option<u8>,
        /// All members in sync of this view have flushed: asks for the record.
        flushed_in: Option<ViewNumber>,
    },
}

/// The extent of a stop of the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum FullStop {
    /// All nodes.
    Shutdown,
    /// Data nodes; SQL nodes wait for them, and management nodes go on.
    Stop,
    /// The same, and data nodes start again.
    Restart,
}

/// The step of a stop of the whole cluster that a node is asked for (`node`, `main_module/full_stop.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum FullStopStep {
    /// Sessions end with their transaction, or are told 1053.
    EndSessions,
    /// Coordinators answer the commits that they were asked for.
    AnswerCommits,
    /// The epochs up to this one are closed, whole and flushed.
    Flush {
        /// Nothing was stamped above it.
        epoch: Epoch,
    },
    /// The process ends, though nothing was recorded.
    End,
}
