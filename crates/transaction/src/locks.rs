//! Row locks of one `ldm`: explicit locks of locking reads, and the queues of those who wait.
//!
//! A staged or prepared version is an exclusive lock of its transaction by itself (*implicit*): an uncontended write
//! needs no entry here. Entries exist only for explicit locks and while somebody waits. Absent keys can be locked
//! like rows.
//!
//! *Whole tables.* LOCK TABLES locks the key of no bytes, which no row has, in each slot: exclusively for WRITE, shared
//! for READ. A transaction that changes or locks a row asks for that key, too, but never holds it. Its locks of the
//! table are asked for instead ([`crate::ldm`] knows). Behind a LOCK TABLES that waits, those wait that have nothing of
//! the table yet.
//!
//! Invariants: holders of one entry are compatible; waiters are served in order of arrival; an entry without holders
//! and waiters does not exist. Only this file decides which waiter may pass. Whether a newcomer must wait does not
//! depend on how many wait; finding whose turn it is looks at each waiter once at most.

use crate::mutants::{self, Mutant};
use protocol::program::LockMode;
use std::collections::{BTreeSet, VecDeque};
use stdx::FixedMap;
use types::{SlotId, TableId, TransactionId};

/// The key that is locked: a primary key, whether or not a row has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LockKey {
    /// The slot.
    pub slot: SlotId,
    /// The table.
    pub table: TableId,
    /// The primary key; no bytes: the table as a whole.
    pub key: Box<[u8]>,
}

impl LockKey {
    /// All that the table has in the slot.
    #[must_use]
    pub fn whole(slot: SlotId, table: TableId) -> Self {
        Self { slot, table, key: Box::default() }
    }

    /// The table, not a row.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.key.is_empty()
    }
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

impl Place {
    /// The place of a request whose turn has come if this is set; the mark goes.
    pub(crate) fn taken(has_turn: &mut bool) -> Self {
        if std::mem::take(has_turn) { Self::First } else { Self::Last }
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    wait: WaitId,
    transaction: TransactionId,
    mode: LockMode,
    /// It wants the table as a whole, not a row of it.
    is_for_table: bool,
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
    if mutants::is(Mutant::SharedLocksAreFree) {
        return exclusive > 1;
    }
    exclusive > 0
}

impl LockEntry {
    fn holds(&self, transaction: TransactionId) -> bool {
        self.holders.iter().any(|(holder, _)| *holder == transaction)
    }

    /// Whether the holders let `transaction` have the key in `mode`.
    fn is_free_for(&self, transaction: TransactionId, mode: LockMode) -> bool {
        self.holders.iter().all(|(holder, held)| *holder == transaction || !is_incompatible(mode, *held))
    }

    /// Whether someone who has just come must stand behind those who wait. A waiter of the same transaction counts,
    /// too: one statement may wait for a key while another of its requests comes to it; they go on in order.
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
    /// Tables that have an entry as a whole.
    tables: BTreeSet<(SlotId, TableId)>,
}

impl Locks {
    /// Whether LOCK TABLES holds or waits for any table.
    #[inline]
    #[must_use]
    pub fn has_tables(&self) -> bool {
        !self.tables.is_empty()
    }

    /// Whether it does for this one.
    #[must_use]
    pub fn has_table(&self, slot: SlotId, table: TableId) -> bool {
        self.tables.contains(&(slot, table))
    }

    /// Tables of a slot that somebody waits for.
    #[must_use]
    pub fn tables_waited_for(&self, slot: SlotId) -> Vec<LockKey> {
        let of = self.tables.range((slot, TableId(0))..=(slot, TableId(u32::MAX)));
        let keys = of.map(|(slot, table)| LockKey::whole(*slot, *table));
        keys.filter(|key| self.has_waiters(key)).collect()
    }

    /// Whether `transaction` may not change or lock a row of a table. That is so if another than itself and the one
    /// that it works `under` holds the table, or waits for it and `transaction` has nothing of the table yet.
    #[must_use]
    pub fn is_table_closed(
        &self,
        key: &LockKey,
        (transaction, under): (TransactionId, Option<TransactionId>),
        mode: LockMode,
        place: Place,
        has_some: impl FnOnce() -> bool,
    ) -> bool {
        let Some(entry) = self.entries.get(key) else { return false };
        let is_own = |other: TransactionId| other == transaction || Some(other) == under;
        if entry.holders.iter().any(|(holder, held)| !is_own(*holder) && is_incompatible(mode, *held)) {
            return true;
        }
        let is_holder = entry.holders.iter().any(|(holder, _)| is_own(*holder));
        let has_table_waiters = || entry.waiters.iter().any(|waiter| waiter.is_for_table);
        place == Place::Last && !is_holder && has_table_waiters() && !has_some()
    }

    /// Whether somebody who holds the table, or came before, keeps `transaction` from having it as a whole.
    #[must_use]
    pub fn is_table_taken(
        &self,
        key: &LockKey,
        transaction: TransactionId,
        mode: LockMode,
        place: Place,
    ) -> bool {
        let Some(entry) = self.entries.get(key) else { return false };
        let is_behind = place == Place::Last && !entry.holds(transaction) && !entry.waiters.is_empty();
        is_behind || !entry.is_free_for(transaction, mode)
    }

    /// The first who waits at a table and whose turn it is. `is_used` says whether others than a transaction have
    /// rows of the table, `has_some` whether the transaction has.
    #[must_use]
    pub fn first_grantable_of_table(
        &self,
        key: &LockKey,
        is_used: impl Fn(TransactionId, LockMode) -> bool,
        has_some: impl Fn(TransactionId) -> bool,
    ) -> Option<WaitId> {
        let entry = self.entries.get(key)?;
        let (mut is_first, mut is_behind_table) = (true, false);
        for waiter in &entry.waiters {
            let is_free = entry.is_free_for(waiter.transaction, waiter.mode);
            let is_due = if waiter.is_for_table {
                is_first && !is_used(waiter.transaction, waiter.mode)
            } else {
                !is_behind_table || has_some(waiter.transaction)
            };
            if is_free && is_due {
                return Some(waiter.wait);
            }
            is_first = false;
            is_behind_table |= waiter.is_for_table;
        }
        None
    }

    /// The transactions that waited at a key before this wait.
    #[must_use]
    pub fn waiters_before(&self, key: &LockKey, wait: WaitId) -> Vec<TransactionId> {
        let waiters = self.entries.get(key).into_iter().flat_map(|entry| &entry.waiters);
        waiters.take_while(|waiter| waiter.wait < wait).map(|waiter| waiter.transaction).collect()
    }

    /// Whether something keeps `transaction` from locking `key` in `mode`: the implicit owner, conflicting holders,
    /// or conflicting waiters that came before it.
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
        // A transaction that holds the row already (an upgrade) would deadlock behind waiters that wait for it.
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

    /// The transactions with which a wait on `key` ends: the owner of its newest version and all that hold it. Earlier
    /// waiters are omitted: they wait for the same holders, so a cycle through them is found when they hold the key.
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

    /// The holders of explicit locks on a key, and how they hold it.
    #[must_use]
    pub fn holders_of(&self, key: &LockKey) -> &[(TransactionId, LockMode)] {
        self.entries.get(key).map_or(&[], |entry| &entry.holders)
    }

    /// The waits for a key, in order of arrival.
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
        let entry = entry_of(&mut self.entries, &mut self.tables, key);
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

    /// Gives an explicit lock back; true if somebody waits for the key, whom the caller then serves.
    pub fn release(&mut self, key: &LockKey, transaction: TransactionId) -> bool {
        let Some(entry) = self.entries.get_mut(key) else { return false };
        entry.holders.retain(|(holder, _)| *holder != transaction);
        let has_waiters = !entry.waiters.is_empty();
        if entry.holders.is_empty() && !has_waiters {
            self.remove(key);
        }
        has_waiters
    }

    /// Queues a wait.
    pub fn wait(&mut self, key: &LockKey, wait: WaitId, transaction: TransactionId, mode: LockMode) {
        self.queue(key, Waiter { wait, transaction, mode, is_for_table: false });
    }

    /// Queues a wait for a table as a whole.
    pub fn wait_for_table(
        &mut self,
        key: &LockKey,
        wait: WaitId,
        transaction: TransactionId,
        mode: LockMode,
    ) {
        self.queue(key, Waiter { wait, transaction, mode, is_for_table: true });
    }

    fn queue(&mut self, key: &LockKey, waiter: Waiter) {
        let (wait, mode) = (waiter.wait, waiter.mode);
        let entry = entry_of(&mut self.entries, &mut self.tables, key);
        entry.waiters.push_back(waiter);
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
            self.remove(key);
        }
    }

    fn remove(&mut self, key: &LockKey) {
        self.entries.remove(key);
        if key.is_whole() {
            self.tables.remove(&(key.slot, key.table));
        }
    }
}

fn entry_of<'a>(
    entries: &'a mut FixedMap<LockKey, LockEntry>,
    tables: &mut BTreeSet<(SlotId, TableId)>,
    key: &LockKey,
) -> &'a mut LockEntry {
    if key.is_whole() {
        tables.insert((key.slot, key.table));
    }
    entries.entry(key.clone()).or_default()
}

#[cfg(test)]
mod tests;
