//! Row locks of one `ldm`: explicit locks of locking reads, and the queues of those who wait.
//!
//! A staged or prepared version is an exclusive lock of its transaction by itself (*implicit*): an uncontended write needs no entry here.
//! Entries exist only for explicit locks and while somebody waits. Absent keys can be locked like rows.
//!
//! Invariants: holders of one entry are compatible; waiters are served in order of arrival; an entry without holders and waiters does not
//! exist. Who may pass is decided here alone. Whether a newcomer must wait does not depend on how many wait; finding whose turn it is looks at each
//! waiter once at most.

use crate::mutants::{self, Mutant};
use protocol::program::LockMode;
use std::collections::VecDeque;
use stdx::FixedMap;
use types::{PartitionId, TableId, TransactionId};

/// What is locked: a primary key, whether or not a row has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LockKey {
    /// The partition.
    pub partition: PartitionId,
    /// The table.
    pub table: TableId,
    /// The primary key.
    pub key: Box<[u8]>,
}

/// Names one wait of one request: never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WaitId(pub u64);

/// Where a request stands among those who wait for a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// It has just come: everybody who waits came before it.
    Last,
    /// It waited and its turn has come.
    First,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    wait: WaitId,
    transaction: TransactionId,
    mode: LockMode,
}

#[derive(Debug, Default)]
struct LockEntry {
    holders: Vec<(TransactionId, LockMode)>,
    /// By number, which is the order of arrival.
    waiters: VecDeque<Waiter>,
    exclusive_waiters: usize,
}

fn is_incompatible(left: LockMode, right: LockMode) -> bool {
    let exclusive = [left, right].into_iter().filter(|mode| *mode == LockMode::Exclusive).count();
    exclusive > usize::from(mutants::is(Mutant::SharedLocksAreFree))
}

impl LockEntry {
    fn holds(&self, transaction: TransactionId) -> bool {
        self.holders.iter().any(|(holder, _)| *holder == transaction)
    }

    /// Whether the holders let `transaction` have the key in `mode`.
    fn is_free_for(&self, transaction: TransactionId, mode: LockMode) -> bool {
        self.holders.iter().all(|(holder, held)| *holder == transaction || !is_incompatible(mode, *held))
    }

    /// Whether someone who has just come must stand behind those who wait. (A waiter of the same transaction counts, too: one statement may
    /// wait for a key while another of its requests comes to it; they go on in order.)
    fn has_waiters_before(&self, mode: LockMode) -> bool {
        match mode {
            LockMode::Exclusive => !self.waiters.is_empty(),
            LockMode::Shared => self.exclusive_waiters > 0,
        }
    }
}

/// The lock table.
#[derive(Debug, Default)]
pub struct Locks {
    entries: FixedMap<LockKey, LockEntry>,
    waits: FixedMap<WaitId, LockKey>,
}

impl Locks {
    /// Whether something keeps `transaction` from locking `key` in `mode`: the implicit owner, conflicting holders, or conflicting waiters
    /// that came before it.
    #[must_use]
    pub fn is_blocked(
        &self,
        key: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        implicit_owner: Option<TransactionId>,
        place: Place,
    ) -> bool {
        if implicit_owner.is_some_and(|owner| owner != transaction) {
            return true;
        }
        let Some(entry) = self.entries.get(key) else { return false };
        // Who holds the row already (an upgrade) would deadlock behind waiters that wait for it.
        let is_upgrade = implicit_owner.is_some() || entry.holds(transaction);
        !entry.is_free_for(transaction, mode)
            || place == Place::Last && !is_upgrade && entry.has_waiters_before(mode)
    }

    /// The first waiter of a key whose turn it is, given the owner of the key's newest version.
    #[must_use]
    pub fn first_grantable(
        &self,
        key: &LockKey,
        implicit_owner: impl FnOnce() -> Option<TransactionId>,
    ) -> Option<WaitId> {
        let entry = self.entries.get(key).filter(|entry| !entry.waiters.is_empty())?;
        let owner = implicit_owner();
        let is_free = |waiter: &&Waiter| entry.is_free_for(waiter.transaction, waiter.mode);
        if owner.is_none()
            && let Some(first) = entry.waiters.front().filter(is_free)
        {
            return Some(first.wait);
        }
        // The first one waits for somebody: others may pass it only if the key is theirs already.
        let has_it = |waiter: &&Waiter| match owner {
            Some(owner) => owner == waiter.transaction,
            None => entry.holds(waiter.transaction),
        };
        entry.waiters.iter().filter(has_it).find(is_free).map(|waiter| waiter.wait)
    }

    /// Whom a wait on `key` ends with: the owner of its newest version and everybody who holds it. Earlier waiters are left out: they wait for
    /// the same holders, so a cycle through them is found when they hold the key.
    #[must_use]
    pub fn holders(
        &self,
        key: &LockKey,
        transaction: TransactionId,
        implicit_owner: Option<TransactionId>,
    ) -> Vec<TransactionId> {
        let mut holders: Vec<TransactionId> = implicit_owner.into_iter().collect();
        if let Some(entry) = self.entries.get(key) {
            holders.extend(entry.holders.iter().map(|(holder, _)| *holder));
        }
        holders.sort_unstable();
        holders.dedup();
        holders.retain(|holder| *holder != transaction);
        holders
    }

    /// Who holds explicit locks on a key, and how.
    #[must_use]
    pub fn holders_of(&self, key: &LockKey) -> &[(TransactionId, LockMode)] {
        self.entries.get(key).map_or(&[], |entry| &entry.holders)
    }

    /// Who waits for a key, in order of arrival.
    pub fn waits_for(&self, key: &LockKey) -> impl Iterator<Item = WaitId> {
        self.entries.get(key).into_iter().flat_map(|entry| entry.waiters.iter().map(|waiter| waiter.wait))
    }

    /// Whether somebody holds an explicit lock on a key, or waits for it.
    #[must_use]
    pub fn has(&self, key: &LockKey) -> bool {
        self.entries.contains_key(key)
    }

    /// The keys that somebody holds or waits for, in no particular order.
    pub fn keys(&self) -> impl Iterator<Item = &LockKey> {
        self.entries.keys()
    }

    /// Whether somebody waits for the key.
    #[must_use]
    pub fn has_waiters(&self, key: &LockKey) -> bool {
        self.entries.get(key).is_some_and(|entry| !entry.waiters.is_empty())
    }

    /// Records an explicit lock; true if it is new or stronger than before.
    pub fn hold(&mut self, key: &LockKey, transaction: TransactionId, mode: LockMode) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        match entry.holders.iter_mut().find(|(holder, _)| *holder == transaction) {
            Some((_, held)) => {
                let is_stronger = mode > *held;
                *held = mode.max(*held);
                is_stronger
            }
            None => {
                entry.holders.push((transaction, mode));
                true
            }
        }
    }

    /// Whether the transaction holds an explicit lock on the key.
    #[must_use]
    pub fn is_held(&self, key: &LockKey, transaction: TransactionId) -> bool {
        self.entries
            .get(key)
            .is_some_and(|entry| entry.holders.iter().any(|(holder, _)| *holder == transaction))
    }

    /// How the transaction holds a key.
    #[must_use]
    pub fn mode_of(&self, key: &LockKey, transaction: TransactionId) -> Option<LockMode> {
        let holders = &self.entries.get(key)?.holders;
        holders.iter().find(|(holder, _)| *holder == transaction).map(|(_, mode)| *mode)
    }

    /// Gives an explicit lock back; the caller then serves the key's waiters.
    pub fn release(&mut self, key: &LockKey, transaction: TransactionId) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.holders.retain(|(holder, _)| *holder != transaction);
            self.drop_if_empty(key);
        }
    }

    /// Queues a wait.
    pub fn wait(&mut self, key: &LockKey, wait: WaitId, transaction: TransactionId, mode: LockMode) {
        let entry = self.entries.entry(key.clone()).or_default();
        entry.waiters.push_back(Waiter { wait, transaction, mode });
        entry.exclusive_waiters += usize::from(mode == LockMode::Exclusive);
        self.waits.insert(wait, key.clone());
    }

    /// Ends a wait, granted or not.
    pub fn stop_waiting(&mut self, wait: WaitId) {
        let Some(key) = self.waits.remove(&wait) else { return };
        if let Some(entry) = self.entries.get_mut(&key) {
            // Waits are numbered as they come.
            if let Ok(position) = entry.waiters.binary_search_by_key(&wait, |waiter| waiter.wait)
                && let Some(waiter) = entry.waiters.remove(position)
            {
                entry.exclusive_waiters -= usize::from(waiter.mode == LockMode::Exclusive);
            }
            self.drop_if_empty(&key);
        }
    }

    /// Whether nobody holds or waits for anything: the usual case, checked before building keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many keys have an entry.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn drop_if_empty(&mut self, key: &LockKey) {
        if self.entries.get(key).is_some_and(|entry| entry.holders.is_empty() && entry.waiters.is_empty()) {
            self.entries.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
