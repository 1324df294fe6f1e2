//! Rows of ndbinfo that an ldm knows: fragments and what is counted about them, open transactions, their operations,
//! and row locks.
//!
//! Columns are in the order of the virtual tables' definitions in `sql::show`: NDB's first, then ours.
//!
//! Invariants: nothing is changed by a question, and nothing is kept for one. Tables that may have a row for each row
//! of a user's table give [`INFO_ROWS_MAX`] rows at most, those first that somebody waits for.
//!
//! Deliberately not here: reads that take no locks. Every thread does them by itself, and counts none of them by
//! fragment.

use super::Ldm;
use super::slot::Slot;
use super::slot::lock_wait::{Run, implicit_owner, milliseconds};
use super::slot::transaction::{Held, HeldStage, Operation};
use crate::locks::LockKey;
use protocol::module::Counts;
use protocol::program::{LockMode, WriteOperation};
use protocol::signal::{INFO_ROWS_MAX, InfoSource, InfoTable, LdmTable, RequestId};
use protocol::{Address, Outputs, Signal};
use query::Shared;
use std::collections::BTreeSet;
use stdx::hash64;
use storage::{Fragment, FragmentStatistics, LockTally};
use types::{SlotId, TableDefinition, TableId, TransactionId, Value};

/// Letters of a key that are shown.
const KEY_SHOWN_MAX: usize = 255;

impl Ldm {
    /// Counts of this module since its start.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.copying.counts()
    }

    pub(super) fn on_info(
        &self,
        from: Address,
        request: RequestId,
        table: InfoTable,
        outputs: &mut Outputs<Shared>,
    ) {
        let rows = match table.source() {
            InfoSource::Ldm(table) => self.own_rows(table),
            InfoSource::Main(_) | InfoSource::Driver(_) | InfoSource::Sql(_) | InfoSource::All(_) => {
                Vec::new()
            }
        };
        outputs.send(self.address, from, Signal::InfoDone { request, rows });
    }

    fn own_rows(&self, table: LdmTable) -> Vec<Vec<Value>> {
        match table {
            LdmTable::MemoryPerFragment => self.fragment_rows(memory_row),
            LdmTable::OperationsPerFragment => self.fragment_rows(operations_row),
            LdmTable::LocksPerFragment => self.fragment_rows(locks_row),
            LdmTable::ClusterTransactions => self.transaction_rows(),
            LdmTable::ClusterOperations => self.operation_rows(),
            LdmTable::ClusterLocks => self.lock_rows(),
        }
    }

    /// node, instance.
    fn own(&self) -> Vec<Value> {
        vec![number(self.address.node.0), number(self.address.instance)]
    }

    // ---- fragments -----------------------------------------------------------------------------------------------

    /// A row for each fragment: name, name of the parent, type, table, node, instance, slot; then what `rest` says,
    /// and the names.
    fn fragment_rows(&self, rest: fn(&Seen<'_>) -> Vec<Value>) -> Vec<Vec<Value>> {
        let mut places: Vec<_> = self.fragments.keys().copied().collect();
        places.sort_unstable();
        let row = |place: &(TableId, SlotId)| {
            let fragment = self.fragments.get(place)?;
            let definition = &*self.map.table(place.0)?.definition;
            let parent = match definition.kind {
                types::TableKind::UniqueIndex { base, .. } => self.map.table(base),
                types::TableKind::User
                | types::TableKind::System
                | types::TableKind::Copy { .. }
                | types::TableKind::New => None,
            };
            let parent = parent.map(|info| info.definition.dictionary_name());
            let mut row = vec![
                Value::text(&definition.dictionary_name()),
                parent.map_or(Value::Null, |name| Value::text(&name)),
                Value::text(definition.kind.dictionary_type().1),
                Value::UInt(place.0.0.into()),
            ];
            row.extend(self.own());
            row.push(Value::UInt(place.1.0.into()));
            let is_primary = self.slots.get(place.1).is_some_and(Slot::is_primary);
            row.extend(rest(&Seen { fragment, statistics: fragment.statistics(), is_primary }));
            row.extend([Value::text(&definition.database), Value::text(&definition.name)]);
            Some(row)
        };
        places.iter().filter_map(row).collect()
    }

    // ---- transactions --------------------------------------------------------------------------------------------

    /// The participants here, in the order of the transactions.
    fn all_held(&self) -> Vec<(TransactionId, &Slot, &Held)> {
        let mut all = Vec::new();
        for slot in self.slots.iter() {
            all.extend(slot.held.iter().map(|(transaction, held)| (*transaction, slot, held)));
        }
        all.sort_unstable_by_key(|(transaction, slot, _)| (*transaction, slot.id));
        all
    }

    /// node, instance, transaction, state, operations, those that wait, seconds without one, the session's node and
    /// module; the slot.
    fn transaction_rows(&self) -> Vec<Vec<Value>> {
        let row = |(transaction, slot, held): (TransactionId, &Slot, &Held)| {
            let mut row = self.own();
            row.extend([
                Value::UInt(transaction.0),
                Value::text(state_of(held)),
                count(held.operations.len()),
                count(self.waits.of_in(transaction, slot.id).len()),
                Value::Null,
                session_node(held.session),
                session_module(held.session),
                Value::UInt(slot.id.0.into()),
            ]);
            row
        };
        self.all_held().into_iter().map(row).collect()
    }

    /// Those that wait, then those that are done.
    fn operation_rows(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        let mut waits: Vec<_> = self.waits.iter().collect();
        waits.sort_unstable_by_key(|(wait, _)| *wait);
        for (_, waiting) in waits.into_iter().take(INFO_ROWS_MAX) {
            let key = waiting.key.clone();
            let from = waiting.run.from();
            rows.push(self.operation_row(
                &key,
                waiting.transaction,
                wanted(&waiting.run),
                "In lock queue",
                Some(from),
            ));
        }
        for (transaction, slot, held) in self.all_held() {
            for operation in &held.operations {
                if rows.len() >= INFO_ROWS_MAX {
                    return rows;
                }
                if let Some((key, kind)) = self.key_and_kind(transaction, slot.id, operation) {
                    rows.push(self.operation_row(&key, transaction, kind, state_of(held), held.session));
                }
            }
        }
        rows
    }

    /// node, instance, transaction, operation, state, table, slot, the session's node and module, the coordinator's
    /// node, block and instance; names, key.
    fn operation_row(
        &self,
        key: &LockKey,
        transaction: TransactionId,
        kind: &str,
        state: &str,
        session: Option<Address>,
    ) -> Vec<Value> {
        let held = self.slots.get(key.slot).and_then(|slot| slot.held.get(&transaction));
        let coordinator = held.and_then(|held| held.decider.coordinator());
        let of_coordinator = |part: fn(Address) -> u64| {
            coordinator.map_or(Value::Null, |coordinator| Value::UInt(part(coordinator)))
        };
        let mut row = self.own();
        row.extend([
            Value::UInt(transaction.0),
            Value::text(kind),
            Value::text(state),
            Value::UInt(key.table.0.into()),
            Value::UInt(key.slot.0.into()),
            session_node(session),
            session_module(session),
            of_coordinator(|address| address.node.0.into()),
            of_coordinator(|address| address.kind as u64),
            of_coordinator(|address| address.instance.into()),
        ]);
        row.extend(self.names_and_key(key));
        row
    }

    /// The key that an operation of a transaction locks, and how NDB would call it; nothing if it is being undone or
    /// published just now.
    fn key_and_kind(
        &self,
        transaction: TransactionId,
        slot: SlotId,
        operation: &Operation,
    ) -> Option<(LockKey, &'static str)> {
        match operation {
            Operation::Staged { table, row, .. } => {
                let fragment = self.fragments.get(&(*table, slot))?;
                let staged = fragment.staged_row(*row, transaction)?;
                let key: Box<[u8]> = fragment.key_of(*row).into();
                let had_row = fragment.committed(&key).is_some_and(|(_, row)| row.is_some());
                let kind = match (staged, had_row) {
                    (None, _) => "DELETE",
                    (Some(_), true) => "UPDATE",
                    (Some(_), false) => "INSERT",
                };
                Some((LockKey { slot, table: *table, key }, kind))
            }
            Operation::Locked(key) => {
                let kind = self.locks.mode_of(key, transaction).map_or("READ", read_kind);
                Some((key.clone(), kind))
            }
        }
    }

    // ---- locks ---------------------------------------------------------------------------------------------------

    /// Keys that somebody waits for, then other explicit locks, then rows that are changed.
    fn lock_rows(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        let awaited: BTreeSet<&LockKey> = self.waits.iter().map(|(_, waiting)| &waiting.key).collect();
        let explicit = self.locks.keys().filter(|key| !awaited.contains(key)).take(INFO_ROWS_MAX);
        let mut explicit: Vec<&LockKey> = explicit.collect();
        explicit.sort_unstable();
        for key in awaited.into_iter().chain(explicit) {
            self.add_locks(key, &mut rows);
            if rows.len() >= INFO_ROWS_MAX {
                rows.truncate(INFO_ROWS_MAX);
                return rows;
            }
        }
        for (transaction, slot, held) in self.all_held() {
            let first =
                |operation: &&Operation| matches!(operation, Operation::Staged { is_first: true, .. });
            for operation in held.operations.iter().filter(first) {
                if rows.len() >= INFO_ROWS_MAX {
                    return rows;
                }
                let changed = self
                    .key_and_kind(transaction, slot.id, operation)
                    .filter(|(key, _)| !self.locks.has(key));
                if let Some((key, _)) = changed {
                    self.add_locks(&key, &mut rows);
                }
            }
        }
        rows
    }

    /// The locks on a key: its holders, then those that wait, in order of arrival.
    fn add_locks(&self, key: &LockKey, rows: &mut Vec<Vec<Value>>) {
        let owner = implicit_owner(&self.fragments, key);
        let mut holders: Vec<(TransactionId, u64)> = Vec::new();
        let changes = owner.map(|owner| (owner, LockMode::Exclusive, self.change_of(key)));
        let explicit = self.locks.holders_of(key).iter().filter(|(holder, _)| Some(*holder) != owner);
        for (holder, mode, kind) in
            changes.into_iter().chain(explicit.map(|(holder, mode)| (*holder, *mode, "READ")))
        {
            let first = if holders.is_empty() { "*" } else { "" };
            let number = rows.len() as u64 + 1;
            holders.push((holder, number));
            let lock = Lock { number, transaction: holder, mode, state: "H", first, kind };
            rows.push(self.lock_row(key, &lock, Value::Null, Value::Null));
        }
        let mut before = holders.first().map(|(_, number)| *number);
        for wait in self.locks.waits_for(key) {
            let Some(waiting) = self.waits.get(wait) else { continue };
            let blocking = holders.iter().find(|(holder, _)| *holder != waiting.transaction);
            let waiting_for = blocking.map(|(_, number)| *number).or(before);
            let number = rows.len() as u64 + 1;
            before = Some(number);
            let kind = match wanted(&waiting.run) {
                kind if kind.starts_with("READ") => "READ",
                kind => kind,
            };
            let lock = Lock {
                number,
                transaction: waiting.transaction,
                mode: waiting.mode,
                state: "W",
                first: "",
                kind,
            };
            let lasts = Value::UInt(milliseconds(self.now.monotonic.since(waiting.since)));
            rows.push(self.lock_row(key, &lock, lasts, waiting_for.map_or(Value::Null, Value::UInt)));
        }
    }

    /// node, instance, table, slot, row, transaction, mode, state, detail, operation, milliseconds, number, number
    /// that is waited for; names, key.
    fn lock_row(&self, key: &LockKey, lock: &Lock, lasts: Value, waiting_for: Value) -> Vec<Value> {
        let mode = match lock.mode {
            LockMode::Exclusive => "X",
            LockMode::Shared => "S",
        };
        let mut row = self.own();
        row.extend([
            Value::UInt(key.table.0.into()),
            Value::UInt(key.slot.0.into()),
            Value::UInt(hash64(&key.key)),
            Value::UInt(lock.transaction.0),
            Value::text(mode),
            Value::text(lock.state),
            Value::text(lock.first),
            Value::text(lock.kind),
            lasts,
            Value::UInt(lock.number),
            waiting_for,
        ]);
        row.extend(self.names_and_key(key));
        row
    }

    /// The change that the owner of a row's newest version has made.
    fn change_of(&self, key: &LockKey) -> &'static str {
        let Some(fragment) = self.fragments.get(&(key.table, key.slot)) else { return "WRITE" };
        let had_row = fragment.committed(&key.key).is_some_and(|(_, row)| row.is_some());
        match (fragment.newest(&key.key).row, had_row) {
            (None, _) => "DELETE",
            (Some(_), true) => "UPDATE",
            (Some(_), false) => "INSERT",
        }
    }

    /// Database, table, and the primary key as people write it: its values if there is a row, else its bytes.
    fn names_and_key(&self, key: &LockKey) -> [Value; 3] {
        let Some(info) = self.map.table(key.table) else { return [Value::Null, Value::Null, Value::Null] };
        let row = self.fragments.get(&(key.table, key.slot)).and_then(|fragment| {
            fragment.newest(&key.key).row.or_else(|| fragment.committed(&key.key).and_then(|(_, row)| row))
        });
        let shown = match row {
            Some(row) => shown_key(&info.definition, &info.layout, row),
            None => key.key.iter().take(KEY_SHOWN_MAX / 2).map(|byte| format!("{byte:02x}")).collect(),
        };
        let shown: String = shown.chars().take(KEY_SHOWN_MAX).collect();
        [Value::text(&info.definition.database), Value::text(&info.definition.name), Value::text(&shown)]
    }
}

/// A lock as a row shows it.
struct Lock {
    number: u64,
    transaction: TransactionId,
    mode: LockMode,
    state: &'static str,
    first: &'static str,
    kind: &'static str,
}

/// A fragment and what is known of it.
struct Seen<'a> {
    fragment: &'a Fragment,
    statistics: FragmentStatistics,
    is_primary: bool,
}

/// Fixed parts: bytes, free ones, bytes of one, their count, free ones; variable parts: bytes, free ones, count;
/// indexes; then ours.
fn memory_row(seen: &Seen<'_>) -> Vec<Value> {
    let statistics = &seen.statistics;
    vec![
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(statistics.rows),
        Value::UInt(0),
        Value::UInt(statistics.data_bytes),
        Value::UInt(0),
        Value::UInt(statistics.versions),
        Value::UInt(statistics.index_bytes),
        Value::UInt(u64::from(seen.is_primary)),
        Value::UInt(statistics.rows),
        Value::UInt(statistics.versions),
        Value::UInt(statistics.data_bytes),
        Value::UInt(statistics.index_bytes),
    ]
}

/// A figure that nobody counts is NULL.
fn operations_row(seen: &Seen<'_>) -> Vec<Value> {
    let tally = &seen.fragment.tally;
    let mut row = vec![Value::Null];
    row.extend([tally.inserts, tally.updates, tally.writes, tally.deletes].map(Value::UInt));
    // tot_key_refs .. tot_key_bytes_returned, tot_frag_scans .. conc_qd_frag_scans
    row.extend(std::iter::repeat_n(Value::Null, 16));
    row.extend([Value::UInt(tally.commits), Value::UInt(u64::from(seen.is_primary))]);
    row
}

/// Requests, granted at once, granted and refused after a wait, of both modes; milliseconds of waits.
fn locks_row(seen: &Seen<'_>) -> Vec<Value> {
    let (exclusive, shared) = (&seen.fragment.tally.exclusive, &seen.fragment.tally.shared);
    let of = |tally: &LockTally| {
        let at_once = tally.requests.saturating_sub(tally.granted + tally.refused);
        [tally.requests, at_once, tally.granted, tally.refused]
    };
    let waits = [exclusive.granted_ms + shared.granted_ms, exclusive.refused_ms + shared.refused_ms];
    let numbers = of(exclusive).into_iter().chain(of(shared)).chain(waits);
    numbers.chain([u64::from(seen.is_primary)]).map(Value::UInt).collect()
}

fn state_of(held: &Held) -> &'static str {
    match held.stage {
        HeldStage::Open => "Started",
        HeldStage::Undoing { .. } => "Aborting",
        HeldStage::Ending => "Committing",
        HeldStage::Publishing => "Completing",
    }
}

/// The operation that a waiting request is about to do.
fn wanted(run: &Run) -> &'static str {
    match run {
        Run::Read(read) => read.request.lock.map_or("READ", |(mode, _)| read_kind(mode)),
        Run::Write(write) => match write.operation() {
            Some(WriteOperation::Insert { .. }) => "INSERT",
            Some(WriteOperation::Update { .. }) => "UPDATE",
            Some(WriteOperation::Delete { .. }) => "DELETE",
            Some(WriteOperation::Put { .. }) | None => "WRITE",
        },
    }
}

fn read_kind(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Exclusive => "READ-EX",
        LockMode::Shared => "READ-SH",
    }
}

fn shown_key(definition: &TableDefinition, layout: &types::RowLayout, row: &[u8]) -> String {
    let mut text = Vec::new();
    for (position, part) in definition.primary_key().iter().enumerate() {
        if position > 0 {
            text.push(b'-');
        }
        let sql_type = &definition.column_at(part.column).sql_type;
        types::format_text(layout.column(row, part.column), sql_type, &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The node of a transaction's session; NULL once another primary has sealed it.
fn session_node(session: Option<Address>) -> Value {
    session.map_or(Value::Null, |session| number(session.node.0))
}

fn session_module(session: Option<Address>) -> Value {
    session.map_or(Value::Null, |session| Value::text(&session.to_string()))
}

fn number(number: impl Into<u64>) -> Value {
    Value::UInt(number.into())
}

fn count(count: usize) -> Value {
    Value::UInt(count as u64)
}
