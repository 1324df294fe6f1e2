//! How large the regions are: NDB's automatic memory configuration, scaled down so that a node also runs in 256 MiB.
//!
//! The formulas are NDB's, in MiB, for T threads (AutomaticMemoryConfig). One differs: the job buffers of a thread stop
//! growing with the number of threads. Together they are what a node wants beside its data; if that were more than half
//! of the total, all of them shrink alike until it is half. The rest is DataMemory. Disk columns do not exist yet:
//! their regions are empty unless asked for.
//!
//! Invariant: the reserves of a `MemoryConfig` fit into its total.

use crate::region::CLIENT_MAXIMUM_PERCENT;
use crate::{MIB, Region, RegionConfig};

/// Threads of a node by what they do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadCounts {
    /// Owners of partitions.
    pub ldm: u32,
    /// Coordinators.
    pub tc: u32,
    /// Executors of queries.
    pub query: u32,
    /// Schema, membership and the rest.
    pub main: u32,
    /// Receivers of packets.
    pub receive: u32,
    /// Modules on these threads that fill a redo log: all ldms of a node that keeps one.
    pub loggers: u32,
}

impl ThreadCounts {
    /// All threads.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.ldm, self.tc, self.query, self.main, self.receive].iter().map(|count| u64::from(*count)).sum()
    }
}

/// Sizes in bytes that the operator chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryOverrides {
    /// DataMemory.
    pub data_memory: Option<u64>,
    /// Reserve of TransactionMemory.
    pub transaction_memory: Option<u64>,
    /// Reserve of ReplicationMemory.
    pub replication_memory: Option<u64>,
    /// Reserve of SchemaMemory.
    pub schema_memory: Option<u64>,
    /// Memory shared by all regions (SharedGlobalMemory).
    pub shared_global_memory: Option<u64>,
    /// DiskPageBufferMemory.
    pub disk_page_buffer_memory: Option<u64>,
    /// RedoBuffer of the whole node.
    pub redo_buffer: Option<u64>,
    /// UndoBuffer of the whole node.
    pub undo_buffer: Option<u64>,
    /// TotalSendBufferMemory.
    pub send_buffers: Option<u64>,
    /// ClientMemory: so much of its own, and no more.
    pub client_memory: Option<u64>,
}

/// Why a configuration does not work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// Less than [`TOTAL_MINIMUM`].
    TotalTooSmall,
    /// The reserves need so many bytes, more than the total.
    ReservesAboveTotal {
        /// The memory that they need.
        needed: u64,
    },
}

/// The regions of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryConfig {
    /// All memory of the regions, in bytes; what the operating system and the binary need is not in it.
    pub total: u64,
    regions: [RegionConfig; Region::COUNT],
}

/// A node does not start with less.
pub const TOTAL_MINIMUM: u64 = 64 * MIB;
/// Regions that do not hold data take at most this part of the total.
pub const OTHER_THAN_DATA_PERCENT: u64 = 50;
/// The rings out of one thread have room for so many signals, however many threads there are; NDB's formula grows with
/// their square.
const JOB_MIB_PER_THREAD: u64 = 8;

/// Sizes in bytes by NDB's formulas, before scaling.
struct Wanted {
    transaction: u64,
    shared: u64,
    redo: u64,
    send: u64,
    job: u64,
    operating_system: u64,
}

impl Wanted {
    fn of(threads: &ThreadCounts, nodes: u32) -> Self {
        let count = threads.total().max(1);
        Self {
            transaction: (300 + 45 * count) * MIB,
            // The long-message buffer is part of what signals take from shared memory.
            shared: (700 + 75 * count + 32 + 12 * (count - 1)) * MIB,
            redo: 32 * u64::from(threads.loggers) * MIB,
            send: (2 * u64::from(nodes) + 2 * count) * MIB,
            job: count * (count + 1).min(JOB_MIB_PER_THREAD) * MIB,
            operating_system: (1200 + 15 * count) * MIB,
        }
    }

    fn sum(&self) -> u64 {
        self.transaction + self.shared + self.redo + self.send + self.job + self.operating_system
    }

    fn scaled(&self, total: u64) -> Self {
        let room = total / 100 * OTHER_THAN_DATA_PERCENT;
        let sum = self.sum();
        let scale = |bytes: u64| {
            let scaled = u128::from(bytes) * u128::from(room.min(sum)) / u128::from(sum);
            u64::try_from(scaled).unwrap_or(bytes)
        };
        Self {
            transaction: scale(self.transaction),
            shared: scale(self.shared),
            redo: scale(self.redo),
            send: scale(self.send),
            job: scale(self.job),
            operating_system: scale(self.operating_system),
        }
    }
}

impl MemoryConfig {
    /// The configuration of a node that has `machine` bytes (the machine's, the cgroup's or TotalMemoryConfig) and
    /// talks to `nodes` nodes.
    pub fn automatic(
        machine: u64,
        threads: &ThreadCounts,
        nodes: u32,
        overrides: &MemoryOverrides,
    ) -> Result<Self, ConfigError> {
        if machine < TOTAL_MINIMUM {
            return Err(ConfigError::TotalTooSmall);
        }
        let wanted = Wanted::of(threads, nodes).scaled(machine);
        let total = machine - wanted.operating_system;
        let shared = overrides.shared_global_memory.unwrap_or(wanted.shared);
        // Long-lived definitions start with a small reserve out of what would be shared.
        let schema = overrides.schema_memory.unwrap_or(shared / 20);
        let replication = overrides.replication_memory.unwrap_or(0);
        let reserves = [
            (Region::TransactionMemory, overrides.transaction_memory.unwrap_or(wanted.transaction)),
            (Region::RedoBuffer, overrides.redo_buffer.unwrap_or(wanted.redo)),
            (Region::UndoBuffer, overrides.undo_buffer.unwrap_or(0)),
            (Region::SendBuffers, overrides.send_buffers.unwrap_or(wanted.send)),
            (Region::JobBuffer, wanted.job),
            (Region::SchemaMemory, schema),
            (Region::ReplicationMemory, replication),
            (Region::DiskPageBufferCache, overrides.disk_page_buffer_memory.unwrap_or(0)),
            (Region::ClientMemory, overrides.client_memory.unwrap_or(0)),
        ];
        let beside_data: u64 = reserves.iter().map(|(_, bytes)| bytes).sum();
        let shared_rest = if overrides.schema_memory.is_some() { shared } else { shared - schema };
        let data = match overrides.data_memory {
            Some(bytes) => bytes,
            None => total
                .checked_sub(beside_data.saturating_add(shared_rest))
                .ok_or(ConfigError::ReservesAboveTotal { needed: beside_data.saturating_add(shared_rest) })?,
        };
        Self::new(total, |region| {
            let reserve = reserves.iter().find(|(candidate, _)| *candidate == region);
            if region == Region::DataMemory { data } else { reserve.map_or(0, |(_, bytes)| *bytes) }
        })
    }

    /// A configuration by its reserves. Fixed regions have their reserve as maximum, the others the whole total.
    /// ClientMemory has its reserve, or its part of what is shared.
    pub fn new(total: u64, reserve: impl Fn(Region) -> u64) -> Result<Self, ConfigError> {
        let mut regions = Region::ALL.map(|region| {
            let reserved = reserve(region);
            let maximum = if region.shares().is_empty() { reserved } else { total };
            RegionConfig { reserved, maximum, priority: region.highest_priority() }
        });
        let needed = regions.iter().fold(0_u64, |sum, region| sum.saturating_add(region.reserved));
        if needed > total {
            return Err(ConfigError::ReservesAboveTotal { needed });
        }
        let clients = &mut regions[Region::ClientMemory.index()];
        clients.maximum = match clients.reserved {
            0 => (total - needed) * CLIENT_MAXIMUM_PERCENT / 100,
            own => own,
        };
        Ok(Self { total, regions })
    }

    /// For tests and tools: so much DataMemory and as much again for all the rest.
    #[must_use]
    pub fn with_data_memory(bytes: u64) -> Self {
        let total = bytes * 2;
        let regions = Region::ALL.map(|region| {
            let reserved = if region == Region::DataMemory { bytes } else { bytes / 64 };
            let maximum = if region.shares().is_empty() { reserved } else { total };
            RegionConfig { reserved, maximum, priority: region.highest_priority() }
        });
        Self { total, regions }
    }

    /// One region.
    #[must_use]
    pub const fn region(&self, region: Region) -> &RegionConfig {
        &self.regions[region.index()]
    }
}

#[cfg(test)]
mod tests;
