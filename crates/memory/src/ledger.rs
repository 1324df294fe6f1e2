//! An owner's account in a region: counts bytes, takes whole pages from the budget.
//!
//! Invariants: `used <= granted`; `granted` is a multiple of the page size and is charged to the region; dropping a ledger gives all back.

use crate::{MemoryManager, PAGE_BYTES, Region, RegionFull};
use std::sync::Arc;

/// Bytes of one owner (a thread's transactions, a session's queries) in one region.
#[derive(Debug)]
pub struct Ledger {
    memory: Arc<MemoryManager>,
    region: Region,
    granted: u64,
    used: u64,
}

/// Free pages a ledger keeps so that a charge and its release do not visit the budget each time.
const PAGES_KEPT: u64 = 2;

impl Ledger {
    /// An empty account.
    #[must_use]
    pub fn new(memory: Arc<MemoryManager>, region: Region) -> Self {
        Self { memory, region, granted: 0, used: 0 }
    }

    /// Takes `bytes`.
    #[inline]
    pub fn charge(&mut self, bytes: u64) -> Result<(), RegionFull> {
        let used = self.used.checked_add(bytes).ok_or(RegionFull { region: self.region })?;
        if used > self.granted {
            self.grow(used)?;
        }
        self.used = used;
        Ok(())
    }

    #[cold]
    fn grow(&mut self, used: u64) -> Result<(), RegionFull> {
        let pages = (used - self.granted).div_ceil(PAGE_BYTES as u64);
        let bytes = pages.checked_mul(PAGE_BYTES as u64).ok_or(RegionFull { region: self.region })?;
        self.memory.try_charge(self.region, bytes)?;
        self.granted += bytes;
        Ok(())
    }

    /// Gives `bytes` back.
    #[inline]
    pub fn release(&mut self, bytes: u64) {
        stdx::require!(bytes <= self.used);
        self.used -= bytes;
        let spare = (self.granted - self.used) / PAGE_BYTES as u64;
        if spare > PAGES_KEPT {
            let back = (spare - PAGES_KEPT) * PAGE_BYTES as u64;
            self.memory.release(self.region, back);
            self.granted -= back;
        }
    }

    /// Bytes in use.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.memory.release(self.region, self.granted);
    }
}
