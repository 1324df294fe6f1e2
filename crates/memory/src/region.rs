//! The regions of the budget and what each may take of the shared part.
//!
//! Shared memory is what no region reserves. [`Region::shares`] says which region may take how much of it, as a list of
//! (share of the shared memory in percent, priority). Up to that share the region has that priority; beyond the last it
//! gets nothing more. A priority says how deep into the shared memory a request may reach: low up to 90 %, high up to
//! 96 %, highest to the end. The highest also reaches into the half of the job and send buffers' reserve that is kept
//! for emergencies.
//!
//! Invariants: shares rise, priorities fall within a list; fixed regions have none.

/// A purpose that memory is used for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Region {
    /// Rows, versions, indexes.
    DataMemory,
    /// Pages of disk columns.
    DiskPageBufferCache,
    /// Log records on their way to disk.
    RedoBuffer,
    /// Undo records of disk columns on their way to disk.
    UndoBuffer,
    /// Signals between threads.
    JobBuffer,
    /// Bytes on their way to other nodes.
    SendBuffers,
    /// Definitions a backup needs.
    BackupSchemaMemory,
    /// Transactions, operations, locks.
    TransactionMemory,
    /// Change streams to subscribers.
    ReplicationMemory,
    /// Definitions of tables.
    SchemaMemory,
    /// DDL in progress.
    SchemaTransactionMemory,
    /// Sorts, joins, results.
    QueryMemory,
    /// Reads and writes of disk pages in progress.
    DiskOperationRecords,
    /// Clients: packets, results on their way, prepared statements, variables, TLS.
    ClientMemory,
}

/// How deep a request may reach into shared memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Priority {
    /// Up to 90 %.
    Low,
    /// Up to 96 %.
    High,
    /// All, and the emergency part.
    Highest,
}

/// The memory that a region may use, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionConfig {
    /// Its own; nobody else gets it (but see [`EMERGENCY_RESERVE_PERCENT`]).
    pub reserved: u64,
    /// Never more than this.
    pub maximum: u64,
    /// Its requests never have a higher priority than this.
    pub priority: Priority,
}

/// The last part of shared memory is for the highest priority only.
pub const HIGHEST_ONLY_PERCENT: u64 = 4;
/// The last part of shared memory is for high priority and above.
pub const HIGH_ONLY_PERCENT: u64 = 10;
/// So much of the reserve of job and send buffers is for the highest priority only, of whatever region.
pub const EMERGENCY_RESERVE_PERCENT: u64 = 50;
/// DataMemory fills so far in normal work; the rest is for restart, reorganisation and adding nodes.
pub const DATA_MEMORY_NORMAL_PERCENT: u64 = 95;
/// A restart may take so much beyond DataMemory out of shared memory, at low priority.
pub const DATA_MEMORY_BORROWED_PERCENT: u64 = 8;
/// Above its reserve TransactionMemory has high priority for so much of shared memory.
pub const TRANSACTION_HIGH_PERCENT: u64 = 50;
/// Above its reserve ReplicationMemory has high priority for so much of shared memory.
pub const REPLICATION_HIGH_PERCENT: u64 = 30;
/// SchemaMemory never takes more of shared memory.
pub const SCHEMA_MAXIMUM_PERCENT: u64 = 20;
/// SendBuffers have the highest priority for so much of shared memory.
pub const SEND_HIGHEST_PERCENT: u64 = 20;
/// BackupSchemaMemory has the highest priority for so much of shared memory.
pub const BACKUP_SCHEMA_HIGHEST_PERCENT: u64 = 20;
/// DiskOperationRecords have the highest priority for so much of shared memory.
pub const DISK_OPERATION_HIGHEST_PERCENT: u64 = 10;
/// DiskOperationRecords have high priority for so much of shared memory.
pub const DISK_OPERATION_HIGH_PERCENT: u64 = 30;
/// ClientMemory never takes more of shared memory.
pub const CLIENT_MAXIMUM_PERCENT: u64 = 25;
/// Clients that hold much fill ClientMemory so far; the rest is for those that hold little, so that large packets lock
/// nobody out.
pub const CLIENT_LARGE_PERCENT: u64 = 75;
/// A client that holds no more than this holds little.
pub const CLIENT_LITTLE_BYTES: u64 = 16 * 1024;

const _: () = {
    assert!(HIGHEST_ONLY_PERCENT < HIGH_ONLY_PERCENT && HIGH_ONLY_PERCENT < 100);
    assert!(DISK_OPERATION_HIGHEST_PERCENT < DISK_OPERATION_HIGH_PERCENT);
};

impl Region {
    /// How many there are.
    pub const COUNT: usize = 14;
    /// All, in the order of `ndbinfo.resources`.
    pub const ALL: [Region; Region::COUNT] = [
        Region::DataMemory,
        Region::DiskPageBufferCache,
        Region::RedoBuffer,
        Region::UndoBuffer,
        Region::JobBuffer,
        Region::SendBuffers,
        Region::BackupSchemaMemory,
        Region::TransactionMemory,
        Region::ReplicationMemory,
        Region::SchemaMemory,
        Region::SchemaTransactionMemory,
        Region::QueryMemory,
        Region::DiskOperationRecords,
        Region::ClientMemory,
    ];

    /// As in config.ini and `ndbinfo.resources`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Region::DataMemory => "DataMemory",
            Region::DiskPageBufferCache => "DiskPageBufferCache",
            Region::RedoBuffer => "RedoBuffer",
            Region::UndoBuffer => "UndoBuffer",
            Region::JobBuffer => "JobBuffer",
            Region::SendBuffers => "SendBuffers",
            Region::BackupSchemaMemory => "BackupSchemaMemory",
            Region::TransactionMemory => "TransactionMemory",
            Region::ReplicationMemory => "ReplicationMemory",
            Region::SchemaMemory => "SchemaMemory",
            Region::SchemaTransactionMemory => "SchemaTransactionMemory",
            Region::QueryMemory => "QueryMemory",
            Region::DiskOperationRecords => "DiskOperationRecords",
            Region::ClientMemory => "ClientMemory",
        }
    }

    /// Its place in [`Region::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The priorities of its requests by its share of shared memory (percent); empty: it lives in its reserve.
    #[must_use]
    pub const fn shares(self) -> &'static [(u64, Priority)] {
        match self {
            Region::DataMemory | Region::DiskPageBufferCache | Region::RedoBuffer | Region::UndoBuffer => &[],
            Region::JobBuffer => &[(100, Priority::Highest)],
            Region::SendBuffers => &[(SEND_HIGHEST_PERCENT, Priority::Highest), (100, Priority::High)],
            Region::BackupSchemaMemory => {
                &[(BACKUP_SCHEMA_HIGHEST_PERCENT, Priority::Highest), (100, Priority::High)]
            }
            Region::TransactionMemory => &[(TRANSACTION_HIGH_PERCENT, Priority::High), (100, Priority::Low)],
            Region::ReplicationMemory => &[(REPLICATION_HIGH_PERCENT, Priority::High), (100, Priority::Low)],
            Region::SchemaMemory => &[(SCHEMA_MAXIMUM_PERCENT, Priority::Low)],
            Region::SchemaTransactionMemory => &[(100, Priority::High)],
            Region::QueryMemory => &[(100, Priority::Low)],
            Region::DiskOperationRecords => &[
                (DISK_OPERATION_HIGHEST_PERCENT, Priority::Highest),
                (DISK_OPERATION_HIGH_PERCENT, Priority::High),
                (100, Priority::Low),
            ],
            Region::ClientMemory => &[(CLIENT_MAXIMUM_PERCENT, Priority::Low)],
        }
    }

    /// The highest priority its requests can have.
    #[must_use]
    pub const fn highest_priority(self) -> Priority {
        match self.shares() {
            [(_, priority), ..] => *priority,
            [] => Priority::Low,
        }
    }

    /// Bytes of its reserve that are really its own; the rest of the reserve is for emergencies.
    #[must_use]
    pub const fn own_reserve(self, reserved: u64) -> u64 {
        if matches!(self, Region::JobBuffer | Region::SendBuffers) {
            reserved - reserved * EMERGENCY_RESERVE_PERCENT / 100
        } else {
            reserved
        }
    }
}
