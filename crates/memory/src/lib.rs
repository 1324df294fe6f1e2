//! The node's memory: one budget shared by named regions, 32 KiB pages, and small allocations out of pages. A rule says
//! when memory that readers may still look at can be used again.
//!
//! - [`MemoryManager`] is the budget: every region has a reserve, a maximum and a priority (`region` has the rules).
//! - [`Ledger`] charges bytes of one owner against a region and takes whole pages from the budget.
//! - [`PagePool`] hands out 32 KiB pages, [`Heap`] cuts them into slots of size classes; both charge DataMemory.
//! - [`quiescence`] tells when every thread of the process has let go of what it read: [`Guard`] is what a reader
//!   holds.
//!
//! Invariants: the sum of what is charged never exceeds the budget. Every refusal is a [`RegionFull`] that names the
//! region. An empty page goes back to every table, an empty chunk of pages to the operating system.
//!
//! Deliberately not here: what is in the memory (`storage`), and whose turn it is to wait when a region is full (the
//! owners).

pub mod budget;
pub mod config;
mod exclusive;
pub mod heap;
pub mod ledger;
pub mod pages;
pub mod quiescence;
pub mod region;

pub use budget::{HeapKind, MemoryManager, RegionFull, ResourceRow, Urgency};
pub use config::{ConfigError, MemoryConfig, MemoryOverrides, ThreadCounts};
pub use heap::Heap;
pub use ledger::{Holding, Ledger};
pub use pages::{CHUNK_BYTES, PAGE_BYTES, PagePool, PageRange, Prepare};
pub use quiescence::{Guard, ThreadSlot};
pub use region::{Priority, Region, RegionConfig};

/// A mebibyte.
pub const MIB: u64 = 1 << 20;
