//! An owner's account in a region: counts bytes, takes whole pages from the budget.
//!
//! Small owners that come and go (connections) share a ledger: each has a [`Holding`] of it, which is brought to what
//! the owner uses now.
//!
//! Invariants: `used <= granted`; `granted` is a multiple of the page size and is charged to the region; dropping a
//! ledger gives all back; `used` includes all holdings.

use crate::region::CLIENT_LITTLE_BYTES;
use crate::{MemoryManager, PAGE_BYTES, Region, RegionFull, Urgency};
use std::sync::Arc;

/// Bytes of one owner (a thread's transactions, a session's queries) in one region.
#[derive(Debug)]
pub struct Ledger {
    memory: Arc<MemoryManager>,
    region: Region,
    granted: u64,
    used: u64,
}

/// The part that one of the owners of a shared ledger has. It is brought to 0 before it is dropped.
#[derive(Debug, Default)]
pub struct Holding {
    bytes: u64,
}

impl Holding {
    /// Bytes that are charged for it.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
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
        self.charge_with(bytes, Urgency::Normal)
    }

    #[inline]
    fn charge_with(&mut self, bytes: u64, urgency: Urgency) -> Result<(), RegionFull> {
        let used = self.used.checked_add(bytes).ok_or(RegionFull { region: self.region })?;
        if used > self.granted {
            self.grow(used, urgency)?;
        }
        self.used = used;
        Ok(())
    }

    #[cold]
    fn grow(&mut self, used: u64, urgency: Urgency) -> Result<(), RegionFull> {
        let pages = (used - self.granted).div_ceil(PAGE_BYTES as u64);
        let bytes = pages.checked_mul(PAGE_BYTES as u64).ok_or(RegionFull { region: self.region })?;
        self.memory.try_charge_with(self.region, bytes, urgency)?;
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

    /// Brings what `holding` has to `bytes`. Less is never refused; a refusal leaves it as it was. An owner that has
    /// little afterwards may use what is kept for such.
    pub fn bring(&mut self, holding: &mut Holding, bytes: u64) -> Result<(), RegionFull> {
        if bytes > holding.bytes {
            let is_little = bytes <= CLIENT_LITTLE_BYTES;
            let urgency = if is_little { Urgency::Little } else { Urgency::Normal };
            self.charge_with(bytes - holding.bytes, urgency)?;
        } else {
            self.release(holding.bytes - bytes);
        }
        holding.bytes = bytes;
        Ok(())
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
