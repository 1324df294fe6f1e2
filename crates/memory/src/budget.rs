//! The budget: what each region has, what it may still take, and who is refused.
//!
//! A charge first uses the region's own reserve, then shared memory as far as its priority reaches. The priority is
//! looked up from the region's share of shared memory after the charge (`Region::shares`).
//!
//! DataMemory may borrow a little of shared memory for a restart ([`DATA_MEMORY_BORROWED_PERCENT`]). The rows of a full
//! node must have room when they come back, also where they lie less densely than before.
//!
//! Some of DataMemory in use is on its way back: unlinked, waiting until no reader can see it, or part of a table that
//! is being dropped. Owners announce it ([`MemoryManager::announce`]), so that a request which finds DataMemory full
//! knows whether waiting helps.
//!
//! Invariants, after every call: `used[r] <= maximum[r]`, but for what DataMemory borrows. `shared_used` is the sum of
//! what all regions use above their own reserve. `shared_used <= shared`. Thus the sum of all uses never exceeds the
//! total.
//!
//! Deliberately not here: queues of those who wait for a fixed region; they belong to the owners of redo and undo
//! buffers.

use crate::exclusive::Exclusive;
use crate::heap::Heap;
use crate::pages::{PAGE_BYTES, PagePool, PageRange, Prepare};
use crate::region::{
    CLIENT_LARGE_PERCENT, DATA_MEMORY_BORROWED_PERCENT, DATA_MEMORY_NORMAL_PERCENT, HIGH_ONLY_PERCENT,
    HIGHEST_ONLY_PERCENT,
};
use crate::{MemoryConfig, Priority, Region, quiescence};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// No more memory for this purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionFull {
    /// The region that is full.
    pub region: Region,
}

impl RegionFull {
    /// The region as in config.ini.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.region.name()
    }
}

impl std::fmt::Display for RegionFull {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} is full", self.region.name())
    }
}

/// The purpose for which DataMemory or ClientMemory is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Urgency {
    /// A client's statement; a client that holds much.
    Normal,
    /// A client that holds little: may use the last quarter of ClientMemory.
    Little,
    /// Rows that a primary replicates: may use the last 5 % of DataMemory.
    Replica,
    /// Restart, reorganisation, giving memory back: may use the last 5 % of DataMemory, and borrow of shared memory.
    Restart,
}

/// One row of `ndbinfo.resources`, in pages of 32 KiB (rounded up).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceRow {
    /// The region.
    pub region: Region,
    /// Its name.
    pub name: &'static str,
    /// Guaranteed.
    pub reserved: u64,
    /// In use.
    pub used: u64,
    /// Never more.
    pub maximum: u64,
    /// The highest use so far.
    pub high_water: u64,
    /// Memory that only a restart may use.
    pub spare: u64,
}

#[derive(Clone, Default)]
struct Accounts {
    used: [u64; Region::COUNT],
    high_water: [u64; Region::COUNT],
    shared_used: u64,
}

/// How deep each priority may reach into shared memory, in bytes.
#[derive(Clone, Copy, Debug)]
struct SharedLimits {
    /// Shared memory without the emergency part: what shares are measured by.
    base: u64,
    low: u64,
    high: u64,
    highest: u64,
}

impl SharedLimits {
    fn of(config: &MemoryConfig) -> Self {
        let own: u64 =
            Region::ALL.iter().map(|region| region.own_reserve(config.region(*region).reserved)).sum();
        let reserved: u64 = Region::ALL.iter().map(|region| config.region(*region).reserved).sum();
        stdx::require!(reserved <= config.total);
        let base = config.total - reserved;
        Self {
            base,
            low: base - base * HIGH_ONLY_PERCENT / 100,
            high: base - base * HIGHEST_ONLY_PERCENT / 100,
            highest: config.total - own,
        }
    }

    const fn of_priority(&self, priority: Priority) -> u64 {
        match priority {
            Priority::Low => self.low,
            Priority::High => self.high,
            Priority::Highest => self.highest,
        }
    }

    /// The priority of a request that brings a region to `share` bytes of shared memory; `None` if it may not have so
    /// much.
    fn priority(&self, region: Region, share: u64) -> Option<Priority> {
        if region == Region::DataMemory {
            // A restart borrows; the maximum bounds it.
            return Some(Priority::Low);
        }
        let shares = region.shares();
        let (last, _) = shares.last()?;
        // A whole share includes the emergency part.
        let bound = |percent: u64| if percent == 100 { self.highest } else { self.base * percent / 100 };
        if share > bound(*last) {
            return None;
        }
        shares.iter().find(|(percent, _)| share <= bound(*percent)).map(|(_, priority)| *priority)
    }
}

/// How many heaps a node has for each kind of rows; threads share them by number.
const HEAP_COUNT: usize = 16;

/// The rows that a heap is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeapKind {
    /// Rows of the cluster's tables: DataMemory.
    Stored,
    /// Rows of a session's temporary tables: QueryMemory.
    Temporary,
}

/// The node's memory; one per node, shared by all its threads.
pub struct MemoryManager {
    config: MemoryConfig,
    limits: SharedLimits,
    accounts: Exclusive<Accounts>,
    /// Bytes of DataMemory that owners have announced to free soon.
    announced: AtomicU64,
    /// The memory that the process holds, as last measured; 0: it was never measured.
    resident: AtomicU64,
    pages: PagePool,
    /// Those of stored rows, then those of temporary ones.
    heaps: [Heap; 2 * HEAP_COUNT],
}

impl std::fmt::Debug for MemoryManager {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MemoryManager").field("total", &self.config.total).finish_non_exhaustive()
    }
}

impl MemoryManager {
    /// A node's memory. No page is taken from the operating system yet.
    #[must_use]
    pub fn new(config: MemoryConfig) -> Arc<Self> {
        Self::over(config, PagePool::new())
    }

    /// The same; each chunk of pages is prepared before it is used. The thread that calls [`PagePool::give_back_idle`]
    /// gives it back. The pages are those of `range`, if there is one.
    #[must_use]
    pub fn prepared(config: MemoryConfig, prepare: Prepare, range: Option<PageRange>) -> Arc<Self> {
        Self::over(config, PagePool::prepared(prepare, range))
    }

    fn over(config: MemoryConfig, pages: PagePool) -> Arc<Self> {
        Arc::new(Self {
            limits: SharedLimits::of(&config),
            config,
            accounts: Exclusive::new(Accounts::default()),
            announced: AtomicU64::new(0),
            resident: AtomicU64::new(0),
            pages,
            heaps: std::array::from_fn(|number| {
                Heap::new(if number < HEAP_COUNT { Region::DataMemory } else { Region::QueryMemory })
            }),
        })
    }

    /// Takes `bytes` for `region`; `urgency` matters for DataMemory and ClientMemory.
    pub fn try_charge_with(&self, region: Region, bytes: u64, urgency: Urgency) -> Result<(), RegionFull> {
        let config = *self.config.region(region);
        let maximum = match (region, urgency) {
            (Region::DataMemory, Urgency::Normal | Urgency::Little) => normal_part(config.maximum),
            (Region::DataMemory, Urgency::Restart) => {
                config.maximum + config.maximum / 100 * DATA_MEMORY_BORROWED_PERCENT
            }
            (Region::ClientMemory, Urgency::Normal) => config.maximum / 100 * CLIENT_LARGE_PERCENT,
            _ => config.maximum,
        };
        let own = region.own_reserve(config.reserved);
        let full = RegionFull { region };
        self.accounts.with(|accounts| {
            let before = accounts.used[region.index()];
            let after = before.checked_add(bytes).ok_or(full)?;
            if after > maximum {
                return Err(full);
            }
            let share = after.saturating_sub(own);
            let shared_after = accounts.shared_used + (share - before.saturating_sub(own));
            if share > 0 {
                let priority = self.limits.priority(region, share).ok_or(full)?.min(config.priority);
                if shared_after > self.limits.of_priority(priority) {
                    return Err(full);
                }
            }
            accounts.shared_used = shared_after;
            accounts.used[region.index()] = after;
            let high_water = &mut accounts.high_water[region.index()];
            *high_water = after.max(*high_water);
            Ok(())
        })
    }

    /// Gives back what was charged.
    pub fn release(&self, region: Region, bytes: u64) {
        let own = region.own_reserve(self.config.region(region).reserved);
        self.accounts.with(|accounts| {
            let before = accounts.used[region.index()];
            stdx::require!(bytes <= before, "{} gives back more than it has", region.name());
            let after = before - bytes;
            accounts.shared_used -= before.saturating_sub(own) - after.saturating_sub(own);
            accounts.used[region.index()] = after;
        });
    }

    /// So much of DataMemory will be freed without anybody asking for it.
    pub fn announce(&self, bytes: u64) {
        self.announced.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So much of what was announced is freed.
    pub fn withdraw(&self, bytes: u64) {
        let before = self.announced.fetch_sub(bytes, Ordering::Relaxed);
        stdx::require!(bytes <= before, "more is freed than was announced");
    }

    /// Bytes of DataMemory that will be freed soon. Nothing depends on its being exact: a thread that waits for it also
    /// has a limit of time.
    #[must_use]
    pub fn announced(&self) -> u64 {
        self.announced.load(Ordering::Relaxed)
    }

    /// Bytes in use by `region`.
    #[must_use]
    pub fn used(&self, region: Region) -> u64 {
        self.accounts.with(|accounts| accounts.used[region.index()])
    }

    /// Bytes in use by all regions.
    #[must_use]
    pub fn used_in_all(&self) -> u64 {
        self.accounts.with(|accounts| accounts.used.iter().sum())
    }

    /// The process holds so many bytes of memory.
    pub fn note_resident(&self, bytes: u64) {
        self.resident.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that the process holds beside what is charged to regions: code, stacks, what nobody charges, and what was
    /// freed and is not given back yet. None if nobody has looked. Memory that is charged and was never written to
    /// makes it less.
    #[must_use]
    pub fn beside_regions(&self) -> Option<u64> {
        let resident = self.resident.load(Ordering::Relaxed);
        (resident > 0).then(|| resident.saturating_sub(self.used_in_all()))
    }

    /// The rows of `ndbinfo.resources`.
    #[must_use]
    pub fn resources(&self) -> Vec<ResourceRow> {
        let accounts = self.accounts.with(|accounts| accounts.clone());
        let pages = |bytes: u64| bytes.div_ceil(PAGE_BYTES as u64);
        Region::ALL
            .iter()
            .map(|region| {
                let config = self.config.region(*region);
                let is_data = *region == Region::DataMemory;
                let spare = if is_data { config.maximum - normal_part(config.maximum) } else { 0 };
                ResourceRow {
                    region: *region,
                    name: region.name(),
                    reserved: pages(config.reserved),
                    used: pages(accounts.used[region.index()]),
                    maximum: pages(config.maximum),
                    high_water: pages(accounts.high_water[region.index()]),
                    spare: pages(spare),
                }
            })
            .collect()
    }

    /// The configuration of the node.
    #[must_use]
    pub fn config(&self) -> &MemoryConfig {
        &self.config
    }

    /// The pages of DataMemory.
    #[must_use]
    pub fn pages(&self) -> &PagePool {
        &self.pages
    }

    /// The number of the heap that the calling thread's fragments of one kind share.
    #[must_use]
    pub fn heap_of_this_thread(&self, kind: HeapKind) -> usize {
        let number = quiescence::thread_number() % HEAP_COUNT;
        match kind {
            HeapKind::Stored => number,
            HeapKind::Temporary => HEAP_COUNT + number,
        }
    }

    /// A heap by number.
    #[must_use]
    #[inline]
    pub fn heap(&self, number: usize) -> &Heap {
        &self.heaps[number]
    }
}

impl Drop for MemoryManager {
    fn drop(&mut self) {
        // The pages that heaps keep go, so that their chunks can.
        for heap in &self.heaps {
            heap.trim(self);
        }
    }
}

const fn normal_part(maximum: u64) -> u64 {
    maximum - maximum / 100 * (100 - DATA_MEMORY_NORMAL_PERCENT)
}

#[cfg(test)]
mod tests;
