//! The session's side of a transaction: who takes part, how many operations each holds, savepoints, how it ends.
//!
//! ```text
//! nothing --first write or lock--> open --COMMIT--> committing --> nothing
//!                                   |  statement fails: RollbackTo at each participant it touched
//!                                   +--> doomed (deadlock, a primary that changed): Abort everywhere --> nothing
//! ```
//! A participant is recorded when a request is *sent* to it, so that an abort reaches it even if its answer never came.
//! Its number of operations comes from its answers; the largest is the newest, because it only grows while statements
//! run and answers of one statement may overtake each other.
//!
//! Invariants: a transaction has an id exactly when it has asked a primary for something. A commit names only
//! participants that hold operations. After [`TransactionClient::end`] nothing of it remains but the highest epoch
//! seen.

#[cfg(test)]
mod tests;

use crate::site::Environment;
use crate::temporary::TemporaryTables;
use memory::MemoryManager;
use protocol::Signal;
use protocol::program::TableRef;
use protocol::signal::Participant;
use query::NodeMap;
use std::sync::Arc;
use stdx::{Instant, SortedQueue};
use types::{Epoch, NodeId, SlotId, TransactionId, ViewNumber};

/// Savepoints of a transaction. Each keeps a number per slot, and each new one is compared with all of them.
pub const SAVEPOINTS_MAX: usize = 4_096;

/// The locks and changes of a transaction in one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    operations: u32,
    /// The view in which it took the first.
    view: ViewNumber,
    /// Staged writes, not only locks: this transaction reads the slot at its primary.
    has_writes: bool,
}

/// Operations per participant at some moment.
type Mark = Vec<(SlotId, u32)>;

#[derive(Clone, Debug)]
struct Savepoint {
    name: String,
    mark: Mark,
    /// Rows of temporary tables that were staged.
    own: usize,
}

/// A table that an open transaction has changed or locked rows of.
#[derive(Clone, Copy, Debug)]
struct Use {
    table: TableRef,
    since: Instant,
}

/// How a transaction began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Mode {
    /// None was begun: each statement is one.
    #[default]
    Single,
    /// BEGIN, or the first statement with autocommit off.
    Open,
}

/// A primary that held its writes or locks is lost: the next statement hears of it.
const DOOMED: u8 = 1;
/// It was rolled back for its inactivity, and the client does not know.
const TIMED_OUT: u8 = 2;
/// The session has locked tables, beside this transaction: statements may use no others.
const TABLES_LOCKED: u8 = 4;

/// The transaction of one session.
#[derive(Debug, Default)]
pub struct TransactionClient {
    id: Option<TransactionId>,
    mode: Mode,
    is_read_only: bool,
    /// The marks that a statement must look at before it begins: DOOMED, TIMED_OUT, TABLES_LOCKED.
    marks: u8,
    /// The transaction by which the session has locked tables.
    tables: Option<TransactionId>,
    /// Its only request carries the commit: what became of it is asked, whatever happens to its primary.
    carries_commit: bool,
    /// It has changed a table whose commits are answered when they are durable.
    asks_durable: bool,
    participants: SortedQueue<SlotId, Held>,
    /// Tables whose rows it has changed or locked, in the version that the statement was bound to.
    uses: Vec<Use>,
    savepoints: Vec<Savepoint>,
    /// At the start of the running statement.
    statement_mark: Mark,
    /// The highest epoch this session has read or written.
    pub epoch_seen: Epoch,
    /// The session's temporary tables, if it has made any: their rows are changed, undone and published with the rest.
    own: Option<Box<TemporaryTables>>,
}

/// The plan of COMMIT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommitPlan {
    /// Nothing was written or locked.
    Nothing,
    /// One participant.
    One(TransactionId, Participant),
    /// Several.
    Several(TransactionId, Vec<Participant>),
}

impl TransactionClient {
    /// BEGIN.
    pub fn begin(&mut self, is_read_only: bool) {
        self.mode = Mode::Open;
        self.is_read_only = is_read_only;
    }

    /// Between BEGIN and its end.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.mode == Mode::Open
    }

    /// START TRANSACTION READ ONLY.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The id, if anything was written or locked.
    #[inline]
    pub fn id(&self) -> Option<TransactionId> {
        self.id
    }

    /// The id, made if this is the first write or lock.
    pub fn id_or_new(&mut self, new: impl FnOnce() -> TransactionId) -> TransactionId {
        *self.id.get_or_insert_with(new)
    }

    /// A statement begins: what follows can be undone to here.
    pub fn start_statement(&mut self) {
        self.statement_mark.clear();
        let held = self.participants.iter().map(|(slot, held)| (*slot, held.operations));
        self.statement_mark.extend(held);
        if let Some(own) = &mut self.own {
            own.start_statement();
        }
    }

    /// A write or locking read is about to be sent; gives the number of operations that the slot is known to hold.
    pub fn touch(&mut self, slot: SlotId, view: ViewNumber, writes: bool) -> u32 {
        let held = self.participants.get_or_insert(slot, Held { operations: 0, view, has_writes: false });
        held.has_writes |= writes;
        held.operations
    }

    /// How many operations the slot is known to hold.
    pub fn known(&self, slot: SlotId) -> u32 {
        self.participants.get(&slot).map_or(0, |held| held.operations)
    }

    /// A write or locking read of a table is about to be sent. A statement that is a transaction of its own is seen
    /// while it runs.
    pub fn note_use(&mut self, table: TableRef, now: Instant) {
        if self.mode == Mode::Open && !self.uses.iter().any(|known| known.table == table) {
            self.uses.push(Use { table, since: now });
        }
    }

    /// Tables that its commit or rollback lets go of, and since when it has something there.
    pub fn uses(&self) -> impl Iterator<Item = (TableRef, Instant)> {
        self.uses.iter().map(|known| (known.table, known.since))
    }

    /// A participant has answered.
    pub fn holds(&mut self, slot: SlotId, operations: u32) {
        if let Some(held) = self.participants.get_mut(&slot) {
            held.operations = held.operations.max(operations);
        }
    }

    /// A participant was rolled back to this number.
    pub fn rolled_back(&mut self, slot: SlotId, operations: u32) {
        if operations == 0 {
            self.participants.remove(&slot);
        } else if let Some(held) = self.participants.get_mut(&slot) {
            held.operations = operations;
        }
    }

    /// Whether a slot may hold something of this transaction.
    pub fn takes_part(&self, transaction: TransactionId, slot: SlotId) -> bool {
        self.id == Some(transaction) && self.participants.contains_key(&slot)
    }

    /// Whether this transaction's own rows are in the slot: it must be read at its primary.
    #[inline]
    pub fn has_written(&self, slot: SlotId) -> bool {
        self.participants.get(&slot).is_some_and(|held| held.has_writes)
    }

    /// A newer view: what the transaction had in slots whose line has ended is void.
    pub fn void_participants(&mut self, is_gone: impl Fn(SlotId, ViewNumber) -> bool) {
        if self.participants.iter().any(|(slot, held)| is_gone(*slot, held.view)) {
            self.doom();
        }
    }

    /// It must not commit. A request that carries its commit has been committed, or will hear.
    pub fn doom(&mut self) {
        if self.has_participants() && !self.carries_commit {
            self.marks |= DOOMED;
        }
    }

    /// Whether a statement has to be looked at before it begins.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.marks != 0
    }

    /// Whether the session has locked tables.
    #[inline]
    pub fn has_locked_tables(&self) -> bool {
        self.marks & TABLES_LOCKED != 0
    }

    /// The transaction by which the session has locked tables.
    #[inline]
    pub fn tables(&self) -> Option<TransactionId> {
        self.tables
    }

    /// The session has locked tables by this transaction, or unlocked them.
    pub fn set_locked_tables(&mut self, by: Option<TransactionId>) {
        self.marks = self.marks & !TABLES_LOCKED | if by.is_some() { TABLES_LOCKED } else { 0 };
        self.tables = by;
    }

    /// A request is about to be sent that commits it.
    pub(crate) fn carry_commit(&mut self) {
        self.carries_commit = true;
    }

    /// A statement of it is about to change a table whose commits are answered when they are durable.
    pub fn ask_durable(&mut self) {
        self.asks_durable = true;
    }

    /// Whether it has changed such a table.
    #[inline]
    pub fn asks_durable(&self) -> bool {
        self.asks_durable
    }

    /// It cannot commit any more.
    #[inline]
    pub fn is_doomed(&self) -> bool {
        self.marks & DOOMED != 0
    }

    /// The participant that can be asked for the outcome of its commit: one with writes, if there is any.
    pub fn witness(&self) -> Option<(TransactionId, SlotId)> {
        let writes = self.participants.iter().find(|(_, held)| held.has_writes && held.operations > 0);
        let first = writes.or_else(|| self.participants.iter().next());
        Some((self.id?, *first?.0))
    }

    /// The work that it has, or may have, at primaries on a node.
    pub fn held_at(&self, node: NodeId, map: &NodeMap) -> impl Iterator<Item = (TransactionId, SlotId)> {
        let is_there = move |slot: &&SlotId| map.primary(**slot).is_some_and(|primary| primary.node == node);
        let there = self.participants.keys().filter(is_there);
        there.filter_map(|slot| Some((self.id?, *slot)))
    }

    /// True if something was written or locked, or may have been.
    #[inline]
    pub fn has_participants(&self) -> bool {
        !self.participants.is_empty()
    }

    /// Where it has, or may have, something.
    pub fn participants(&self) -> Vec<SlotId> {
        self.participants.keys().copied().collect()
    }

    /// The slot, if there is exactly one.
    #[inline]
    pub fn only_participant(&self) -> Option<SlotId> {
        self.participants.keys().next().copied().filter(|_| self.participants.len() == 1)
    }

    /// True if the running statement is all there is: undoing it is aborting.
    pub fn began_with_statement(&self) -> bool {
        self.statement_mark.is_empty()
    }

    /// Which participants must be rolled back, to how many operations, to undo the running statement.
    pub fn undo_statement(&self) -> Mark {
        self.undo_to(&self.statement_mark)
    }

    /// The participants that must be asked to undo all of the transaction.
    pub fn undo_all(&self) -> Mark {
        self.undo_to(&Mark::new())
    }

    fn undo_to(&self, mark: &Mark) -> Mark {
        let kept = |slot| mark.iter().find(|(marked, _)| *marked == slot).map_or(0, |(_, kept)| *kept);
        self.participants.keys().map(|slot| (*slot, kept(*slot))).collect()
    }

    // ---- savepoints -------------------------------------------------------------------------------------------------

    /// SAVEPOINT: one of the same name goes. False if there are [`SAVEPOINTS_MAX`].
    pub fn set_savepoint(&mut self, name: &str) -> bool {
        self.savepoints.retain(|savepoint| !types::equal_without_case(&savepoint.name, name));
        if self.savepoints.len() >= SAVEPOINTS_MAX {
            return false;
        }
        let mark = self.participants.iter().map(|(slot, held)| (*slot, held.operations)).collect();
        let own = self.own.as_ref().map_or(0, |own| own.mark());
        self.savepoints.push(Savepoint { name: name.to_owned(), mark, own });
        true
    }

    /// ROLLBACK TO: what must be rolled back; None if there is no such savepoint. Later savepoints go, this one stays.
    /// Rows of temporary tables are back at once.
    pub fn rollback_to_savepoint(&mut self, name: &str) -> Option<Mark> {
        let position = self.savepoint(name)?;
        self.savepoints.truncate(position + 1);
        if let Some(own) = &mut self.own {
            own.undo_to(self.savepoints[position].own);
        }
        Some(self.undo_to(&self.savepoints[position].mark))
    }

    /// RELEASE SAVEPOINT: it and later ones go; false if there is none.
    pub fn release_savepoint(&mut self, name: &str) -> bool {
        let Some(position) = self.savepoint(name) else { return false };
        self.savepoints.truncate(position);
        true
    }

    fn savepoint(&self, name: &str) -> Option<usize> {
        self.savepoints.iter().position(|savepoint| types::equal_without_case(&savepoint.name, name))
    }

    // ---- temporary tables -------------------------------------------------------------------------------------------

    /// The session's temporary tables, if it has made any.
    #[inline]
    pub fn own(&self) -> Option<&TemporaryTables> {
        self.own.as_deref()
    }

    /// The same, to be changed.
    pub fn own_mut(&mut self) -> Option<&mut TemporaryTables> {
        self.own.as_deref_mut()
    }

    /// The same, made if this is the first.
    pub fn own_or_new(&mut self, memory: &Arc<MemoryManager>) -> &mut TemporaryTables {
        self.own.get_or_insert_with(|| Box::new(TemporaryTables::new(memory)))
    }

    /// Drops all temporary tables.
    pub fn drop_own(&mut self) {
        self.own = None;
    }

    /// Undoes what the running statement did to temporary tables.
    pub fn undo_own_statement(&mut self) {
        if let Some(own) = &mut self.own {
            own.undo_statement();
        }
    }

    /// Undoes what the transaction did to rows of temporary tables.
    pub fn roll_back_own(&mut self) {
        if let Some(own) = &mut self.own {
            own.undo_to(0);
        }
    }

    /// The transaction's changes of rows of temporary tables stay.
    fn publish_own(&mut self) {
        if let Some(own) = &mut self.own {
            own.publish();
        }
    }

    /// A statement has ended that has asked nobody for anything. If it is a transaction by itself, what it did to rows
    /// of temporary tables stays.
    pub fn end_local_statement(&mut self) {
        if self.mode == Mode::Single && self.participants.is_empty() {
            self.publish_own();
        }
    }

    // ---- the end ----------------------------------------------------------------------------------------------------

    /// The requests of COMMIT.
    pub(crate) fn commit_plan(&self) -> CommitPlan {
        let Some(id) = self.id else { return CommitPlan::Nothing };
        let participants = self.participants.iter().filter(|(_, held)| held.operations > 0);
        let mut participants: Vec<Participant> = participants
            .map(|(slot, held)| Participant {
                slot: *slot,
                operations: held.operations,
                view: held.view,
                has_writes: held.has_writes,
            })
            .collect();
        match participants.len() {
            0 => CommitPlan::Nothing,
            1 => CommitPlan::One(id, participants.swap_remove(0)),
            _ => CommitPlan::Several(id, participants),
        }
    }

    /// The session has seen this epoch.
    #[inline]
    pub fn see(&mut self, epoch: Epoch) {
        self.epoch_seen = self.epoch_seen.max(epoch);
    }

    /// It is over; the next statement begins another. Rows of temporary tables stay as they are.
    pub fn end(&mut self) {
        self.publish_own();
        self.clear();
    }

    fn clear(&mut self) {
        self.id = None;
        self.mode = Mode::Single;
        self.is_read_only = false;
        self.marks &= TABLES_LOCKED;
        self.carries_commit = false;
        self.asks_durable = false;
        self.participants.clear();
        self.uses.clear();
        self.savepoints.clear();
        self.statement_mark.clear();
    }

    /// Undoes everything, because no statement came for too long; the next one hears of it.
    pub fn time_out(&mut self, env: &mut Environment<'_>) {
        self.abort(env);
        self.marks |= TIMED_OUT;
    }

    /// True if the client believes that it is in a transaction which is over.
    #[inline]
    pub fn is_timed_out(&self) -> bool {
        self.marks & TIMED_OUT != 0
    }

    /// Undoes the running statement, which is all that participants have. If the transaction was begun by BEGIN it goes
    /// on, with nothing done so far but to temporary tables.
    pub fn restart(&mut self, env: &mut Environment<'_>) {
        let (mode, is_read_only) = (self.mode, self.is_read_only);
        let savepoints = std::mem::take(&mut self.savepoints);
        self.undo_own_statement();
        self.abort_participants(env);
        self.clear();
        self.mode = mode;
        self.is_read_only = is_read_only;
        self.savepoints = savepoints;
    }

    /// Participants without writes let go of their locks, if they have them still.
    pub(crate) fn abort_locks(&self, env: &mut Environment<'_>) {
        let Some(transaction) = self.id else { return };
        for (slot, _) in self.participants.iter().filter(|(_, held)| !held.has_writes) {
            if let Some(primary) = env.site.map.primary(*slot) {
                env.send(primary, Signal::Abort { transaction, slot: *slot });
            }
        }
    }

    /// Undoes everything at all participants, and ends it. They do not answer.
    pub fn abort(&mut self, env: &mut Environment<'_>) {
        self.roll_back_own();
        self.abort_participants(env);
        self.clear();
    }

    fn abort_participants(&self, env: &mut Environment<'_>) {
        if let Some(transaction) = self.id {
            for slot in self.participants.keys() {
                if let Some(primary) = env.site.map.primary(*slot) {
                    env.send(primary, Signal::Abort { transaction, slot: *slot });
                }
            }
        }
    }
}
