//! Management and introspection: reports of nodes, tables of ndbinfo, digests of rows.

use super::RequestId;
use types::SlotId;
use wire_derive::Wire;

/// Rows of one [`InfoTable`] that one ldm gives at most, where there may be one for each row of a user's table: the
/// others are omitted.
pub const INFO_ROWS_MAX: usize = 4_000;

macro_rules! info_tables {
    ($($(#[$who:meta])* $source:ident($of:ident) { $($(#[$doc:meta])* $name:ident = $tag:literal,)* })*) => {
        /// Tables of ndbinfo that nodes fill from their own state.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
        pub enum InfoTable {
            $($($(#[$doc])* #[wire(tag = $tag)] $name,)*)*
        }

        $(
            $(#[$who])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub enum $of {
                $($(#[$doc])* $name,)*
            }
        )*

        /// Which part of a node answers for a table.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum InfoSource {
            $($(#[$who])* $source($of),)*
        }

        impl InfoTable {
            /// All of them.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)*)*];

            /// Which part of a node answers for it.
            #[must_use]
            pub const fn source(self) -> InfoSource {
                match self {
                    $($(Self::$name => InfoSource::$source($of::$name),)*)*
                }
            }
        }
    };
}

// A table stands below the part of a node that has its rows: that part's `match` asks for them.
info_tables! {
    /// `main` itself.
    Main(MainTable) {
        /// Members and their state.
        Nodes = 0,
        /// Memory regions.
        Resources = 4,
        /// How far nodes are that start while the cluster runs.
        RestartInfo = 9,
        /// The node that is asked: its state and its age.
        NodeState = 11,
        /// DataMemory, in bytes and pages.
        MemoryUsage = 12,
        /// Parameters of config.ini.
        ConfigParams = 19,
        /// Values of the parameters.
        ConfigValues = 20,
        /// Configured nodes.
        ConfigNodes = 21,
        /// Tables and their slots.
        TableDistributionStatus = 22,
        /// The replicas of each slot of each table.
        TableFragments = 23,
        /// Epochs on disk, and what a loss of power would take.
        Durability = 26,
    }
    /// The driver.
    Driver(DriverTable) {
        /// Threads of each node.
        Threads = 1,
        /// Modules on threads.
        ThreadBlocks = 2,
        /// CPU use per thread.
        CpuStat = 3,
        /// Certificates that nodes have and believe.
        Certificates = 10,
        /// Links with other nodes.
        Transporters = 17,
        /// Rounds, signals and CPU time of threads.
        ThreadStat = 18,
    }
    /// Every ldm.
    Ldm(LdmTable) {
        /// Rows, versions and bytes per fragment.
        MemoryPerFragment = 5,
        /// Open transactions.
        ClusterTransactions = 6,
        /// Row locks, held and waited for; at most [`INFO_ROWS_MAX`] rows, those waited for first.
        ClusterLocks = 13,
        /// Operations of open transactions; at most [`INFO_ROWS_MAX`] rows, those that wait first.
        ClusterOperations = 14,
        /// Changes of rows, by fragment.
        OperationsPerFragment = 15,
        /// Requests for row locks, by fragment.
        LocksPerFragment = 16,
    }
    /// Every module of sessions.
    Sql(SqlTable) {
        /// Client sessions (SHOW PROCESSLIST).
        Processes = 7,
        /// Open transactions of the node's sessions.
        ServerTransactions = 24,
        /// Names that sessions hold by GET_LOCK, with their connections.
        UserLocks = 25,
    }
    /// Every module, and the driver.
    All(CommonTable) {
        /// Refused and unusual events, counted.
        Counters = 8,
    }
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
