//! Management and introspection: reports of nodes, tables of ndbinfo, digests of rows.

use super::RequestId;
use types::SlotId;
use wire_derive::Wire;

/// Rows of one [`InfoTable`] that one ldm gives at most, where there may be one for each row of a user's table: the
/// others are left out.
pub const INFO_ROWS_MAX: usize = 4_000;

/// Which part of a node answers for a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InfoSource {
    /// `main` itself.
    Main,
    /// The driver.
    Driver,
    /// Every ldm.
    Ldm,
    /// Every module of sessions.
    Sql,
    /// Every module, and the driver.
    All,
}

macro_rules! info_tables {
    ($($(#[$doc:meta])* $name:ident = $tag:literal by $source:ident;)*) => {
        /// Tables of ndbinfo that nodes fill from their own state.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
        pub enum InfoTable {
            $($(#[$doc])* #[wire(tag = $tag)] $name,)*
        }

        impl InfoTable {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Which part of a node answers for it.
            #[must_use]
            pub const fn source(self) -> InfoSource {
                match self {
                    $(Self::$name => InfoSource::$source,)*
                }
            }
        }
    };
}

info_tables! {
    /// Members and their state.
    Nodes = 0 by Main;
    /// Threads of each node.
    Threads = 1 by Driver;
    /// Modules on threads.
    ThreadBlocks = 2 by Driver;
    /// CPU use per thread.
    CpuStat = 3 by Driver;
    /// Memory regions.
    Resources = 4 by Main;
    /// Rows, versions and bytes per fragment.
    MemoryPerFragment = 5 by Ldm;
    /// Open transactions.
    ClusterTransactions = 6 by Ldm;
    /// Client sessions (SHOW PROCESSLIST).
    Processes = 7 by Sql;
    /// Refused and unusual events, counted.
    Counters = 8 by All;
    /// How far nodes are that start while the cluster runs.
    RestartInfo = 9 by Main;
    /// Certificates that nodes have and believe.
    Certificates = 10 by Driver;
    /// The node that is asked: its state and its age.
    NodeState = 11 by Main;
    /// DataMemory, in bytes and pages.
    MemoryUsage = 12 by Main;
    /// Row locks, held and waited for; at most [`INFO_ROWS_MAX`] rows, those waited for first.
    ClusterLocks = 13 by Ldm;
    /// Operations of open transactions; at most [`INFO_ROWS_MAX`] rows, those that wait first.
    ClusterOperations = 14 by Ldm;
    /// Changes of rows, by fragment.
    OperationsPerFragment = 15 by Ldm;
    /// Requests for row locks, by fragment.
    LocksPerFragment = 16 by Ldm;
    /// Links with other nodes.
    Transporters = 17 by Driver;
    /// Rounds, signals and CPU time of threads.
    ThreadStat = 18 by Driver;
    /// Parameters of config.ini.
    ConfigParams = 19 by Main;
    /// Values of the parameters.
    ConfigValues = 20 by Main;
    /// Configured nodes.
    ConfigNodes = 21 by Main;
    /// Tables and their slots.
    TableDistributionStatus = 22 by Main;
    /// The replicas of each slot of each table.
    TableFragments = 23 by Main;
    /// Open transactions of the node's sessions.
    ServerTransactions = 24 by Sql;
    /// Names that sessions hold by GET_LOCK, with their connections.
    UserLocks = 25 by Sql;
}

/// A digest of the rows of a key range of one fragment (`latsdb check`).
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct ChecksumRequest {
    /// Echoed.
    pub request: RequestId,
    /// Which slot.
    pub slot: SlotId,
    /// Which table.
    pub table: types::TableId,
    /// Primary keys behind this one; None from the first.
    pub after: Option<Box<[u8]>>,
    /// Rows to digest.
    pub limit: u32,
}

/// Digests of rows in key order.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct ChecksumDone {
    /// From the request.
    pub request: RequestId,
    /// Primary key and a hash of the row's newest committed bytes.
    pub rows: Vec<(Box<[u8]>, u64)>,
    /// Rows whose index entries are missing or wrong, as text.
    pub index_errors: Vec<String>,
    /// No more rows behind these.
    pub end: bool,
}
