//! Row locks of one `ldm`: explicit locks of locking reads, and the queues of those who wait.
//!
//! A staged or prepared version is an exclusive lock of its transaction by itself (*implicit*): an uncontended write needs no entry here.
//! Entries exist only for explicit locks and while somebody waits. Absent keys can be locked like rows.
//!
//! Invariants: holders of one entry are compatible; waiters are served in order of arrival; an entry without holders and waiters does not
//! exist. Who may pass is decided by `conflicts`, the one place that knows the rules.

use protocol::program::LockMode;
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
    /// It waits.
    At(WaitId),
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
    waiters: Vec<Waiter>,
}

/// The lock table.
#[derive(Debug, Default)]
pub struct Locks {
    entries: FixedMap<LockKey, LockEntry>,
    waits: FixedMap<WaitId, LockKey>,
}

impl Locks {
    /// Transactions that keep `transaction` from locking `key` in `mode`: the implicit owner, conflicting holders, and conflicting
    /// waiters that came before it. Empty: it may pass.
    #[must_use]
    pub fn conflicts(
        &self,
        key: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        implicit_owner: Option<TransactionId>,
        place: Place,
    ) -> Vec<TransactionId> {
        let mut blockers: Vec<TransactionId> =
            implicit_owner.filter(|owner| *owner != transaction).into_iter().collect();
        let Some(entry) = self.entries.get(key) else { return blockers };
        let is_incompatible = |other: LockMode| mode == LockMode::Exclusive || other == LockMode::Exclusive;
        let holds = implicit_owner == Some(transaction)
            || entry.holders.iter().any(|(holder, _)| *holder == transaction);
        for (holder, held) in &entry.holders {
            if *holder != transaction && is_incompatible(*held) {
                blockers.push(*holder);
            }
        }
        // Who holds the row already (an upgrade) would deadlock behind waiters that wait for it.
        if !holds && place != Place::First {
            for waiter in entry.waiters.iter().take_while(|waiter| Place::At(waiter.wait) != place) {
                if waiter.transaction != transaction && is_incompatible(waiter.mode) {
                    blockers.push(waiter.transaction);
                }
            }
        }
        blockers
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

    /// Gives an explicit lock back; the caller then serves the key's waiters.
    pub fn release(&mut self, key: &LockKey, transaction: TransactionId) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.holders.retain(|(holder, _)| *holder != transaction);
            self.drop_if_empty(key);
        }
    }

    /// Queues a wait.
    pub fn wait(&mut self, key: &LockKey, wait: WaitId, transaction: TransactionId, mode: LockMode) {
        self.entries.entry(key.clone()).or_default().waiters.push(Waiter { wait, transaction, mode });
        self.waits.insert(wait, key.clone());
    }

    /// Ends a wait, granted or not.
    pub fn stop_waiting(&mut self, wait: WaitId) {
        let Some(key) = self.waits.remove(&wait) else { return };
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.waiters.retain(|waiter| waiter.wait != wait);
            self.drop_if_empty(&key);
        }
    }

    /// Who waits for a key, first come first: candidates to run again after a release.
    #[must_use]
    pub fn waiters(&self, key: &LockKey) -> Vec<WaitId> {
        self.entries
            .get(key)
            .map_or_else(Vec::new, |entry| entry.waiters.iter().map(|waiter| waiter.wait).collect())
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
