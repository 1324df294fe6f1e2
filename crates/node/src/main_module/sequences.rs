//! AUTO_INCREMENT ranges: each is reserved by one committed change of the table's row in `sequences`, before any value
//! of it is used.
//!
//! ```text
//! Read (exclusive lock) -> next value        Write (Put next + count, commit) -> the range is this node's
//! ```
//! Invariants: requests for one table are served one after the other. A range is given out only after its commit is
//! acknowledged, so no value is ever given out twice. A failed attempt loses at most a range of values.

use super::MainModule;
use protocol::program::{
    Access, LockMode, LockWait, ReadOutput, ReadProgram, StatementContext, TableRef, WriteOperation,
};
use protocol::signal::{CommitDone, ReadDone, ReadRequest, RequestId, WriteDone, WriteRequest};
use protocol::{Address, Outputs, Signal, SqlError};
use query::Shared;
use query::batch::{BatchShape, RowBatchReader};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::smallvec;
use types::{Epoch, SlotId, TableId, TransactionId, Value};

/// How long a reservation waits for another node's.
const LOCK_WAIT_MS: u32 = 10_000;
/// The pseudo module that these transactions belong to; no session has it.
const MODULE: u16 = 255;

/// A request for values.
struct Wanted {
    from: Address,
    request: RequestId,
    count: u64,
    at_least: u64,
}

/// A reservation under way.
struct Reservation {
    table: TableId,
    transaction: TransactionId,
    wanted: Wanted,
    /// The first value, once read.
    first: u64,
}

/// All reservations.
#[derive(Default)]
pub(super) struct Sequences {
    queues: BTreeMap<TableId, VecDeque<Wanted>>,
    running: BTreeMap<RequestId, Reservation>,
    next_transaction: u64,
}

impl MainModule {
    pub(super) fn on_sequence_request(
        &mut self,
        from: Address,
        request: RequestId,
        table: TableId,
        count: u64,
        at_least: u64,
        outputs: &mut Outputs<Shared>,
    ) {
        if !self.has_table(table) {
            let error = SqlError::new(1146, "The table was dropped");
            outputs.send(self.me(), from, Signal::Failed { request, error });
            return;
        }
        self.sequences.queues.entry(table).or_default().push_back(Wanted { from, request, count, at_least });
        self.reserve_next(table, outputs);
    }

    fn reserve_next(&mut self, table: TableId, outputs: &mut Outputs<Shared>) {
        if self.sequences.running.values().any(|reservation| reservation.table == table) {
            return;
        }
        let Some(wanted) = self.sequences.queues.get_mut(&table).and_then(VecDeque::pop_front) else {
            self.sequences.queues.remove(&table);
            return;
        };
        let primary =
            self.map.primary(SlotId(0)).filter(|primary| !self.reach.given_up.contains(&primary.node));
        let Some(primary) = primary else {
            return self.refuse_sequences(table, wanted, outputs);
        };
        self.sequences.next_transaction += 1;
        let counter = self.sequences.next_transaction;
        let transaction = TransactionId::new(self.config.node, self.incarnation, MODULE, counter);
        let request = self.new_request();
        let system = catalogue::SystemTables::new();
        let program = ReadProgram {
            table: sequences_table(),
            filter: None,
            output: ReadOutput::StoredRow,
            with_primary_key: false,
            with_index_key: false,
            context: StatementContext::default(),
        };
        let read = ReadRequest {
            request,
            transaction: Some(transaction),
            lock: Some((LockMode::Exclusive, LockWait::Wait { timeout_ms: LOCK_WAIT_MS })),
            slot: SlotId(0),
            program: Arc::new(program),
            access: Access::Keys(vec![system.sequence_key(table)]),
            known: 0,
            under: None,
            grant_only: false,
        };
        self.sequences.running.insert(request, Reservation { table, transaction, wanted, first: 0 });
        outputs.send(self.me(), primary, Signal::Read(Box::new(read)));
    }

    pub(super) fn on_sequence_read(&mut self, done: ReadDone, outputs: &mut Outputs<Shared>) {
        let Some(mut reservation) = self.sequences.running.remove(&done.request) else { return };
        let batch = match done.result {
            Ok(batch) => batch,
            Err(refusal) => return self.fail_reservation(reservation, &format!("{refusal:?}"), outputs),
        };
        let system = catalogue::SystemTables::new();
        let shape = BatchShape { with_primary_key: false, with_index_key: false };
        let stored = RowBatchReader::new(shape, &batch.rows).flatten().next().and_then(|row| {
            let Some(Value::Bytes(row)) = row.values.into_iter().next() else { return None };
            system.sequence(&row).ok()
        });
        let next = stored.map_or(1, |(_, next)| next);
        let first = next.max(reservation.wanted.at_least.saturating_add(1));
        // At the end of BIGINT UNSIGNED fewer are left than are wanted, or none.
        let count = reservation.wanted.count.min(u64::MAX - first);
        (reservation.first, reservation.wanted.count) = (first, count);
        let write = system.put_sequence(reservation.table, first + count);
        let request = self.new_request();
        let write = WriteRequest {
            request,
            transaction: reservation.transaction,
            slot: SlotId(0),
            table: sequences_table(),
            operations: smallvec![WriteOperation::Put { key: write.key, row: write.row.unwrap_or_default() }],
            wait: LockWait::Wait { timeout_ms: LOCK_WAIT_MS },
            commit: Some(Epoch(0)),
            known: batch.operations,
            under: None,
        };
        if let Some(primary) = self.map.primary(SlotId(0)) {
            self.sequences.running.insert(request, reservation);
            outputs.send(self.me(), primary, Signal::Write(Box::new(write)));
        }
    }

    pub(super) fn on_sequence_written(&mut self, done: WriteDone, outputs: &mut Outputs<Shared>) {
        let Some(reservation) = self.sequences.running.remove(&done.request) else { return };
        match done.result {
            Err(failure) => self.fail_reservation(reservation, &format!("{:?}", failure.refusal), outputs),
            Ok(_) => {
                let Wanted { from, request, count, .. } = reservation.wanted;
                let first = reservation.first;
                let table = reservation.table;
                outputs.send(self.me(), from, Signal::SequenceDone { request, table, first, count });
                self.reserve_next(table, outputs);
            }
        }
    }

    /// The replica that was to hold the reservation is lost: nobody knows whether it was made, so the values are not
    /// used.
    pub(super) fn on_sequence_unknown(&mut self, done: &CommitDone, outputs: &mut Outputs<Shared>) {
        if let Some(reservation) = self.sequences.running.remove(&done.request) {
            self.fail_reservation(reservation, "its outcome is not known", outputs);
        }
    }

    /// Nobody can reserve values any more.
    fn refuse_sequences(&mut self, table: TableId, first: Wanted, outputs: &mut Outputs<Shared>) {
        let me = self.me();
        let queued = self.sequences.queues.remove(&table).unwrap_or_default();
        for Wanted { from, request, .. } in std::iter::once(first).chain(queued) {
            let error =
                SqlError::deadlock("the primary of the system tables is lost: no AUTO_INCREMENT values");
            outputs.send(me, from, Signal::Failed { request, error });
        }
    }

    /// The primary may be another now, or what was asked of it is lost with the connection: every reservation begins
    /// again. A reservation that was made is not used: its values are passed over.
    pub(super) fn restart_reservations(&mut self, outputs: &mut Outputs<Shared>) {
        let running = std::mem::take(&mut self.sequences.running).into_values();
        let tables: Vec<TableId> = running
            .map(|reservation| {
                self.abort_reservation(&reservation, outputs);
                let table = reservation.table;
                self.sequences.queues.entry(table).or_default().push_front(reservation.wanted);
                table
            })
            .collect();
        for table in tables {
            self.reserve_next(table, outputs);
        }
    }

    /// A new primary has taken what is open of a reservation. If that is over, the word did not reach the old one in
    /// time.
    pub(super) fn on_reservation_moved(
        &self,
        from: Address,
        transaction: TransactionId,
        slot: SlotId,
        outputs: &mut Outputs<Shared>,
    ) {
        let running = &self.sequences.running;
        if !running.values().any(|reservation| reservation.transaction == transaction) {
            outputs.send(self.me(), from, Signal::Abort { transaction, slot });
        }
    }

    /// The primary of the system tables is given up: whatever was asked of it stays without an answer.
    pub(super) fn fail_reservations(&mut self, outputs: &mut Outputs<Shared>) {
        for reservation in std::mem::take(&mut self.sequences.running).into_values() {
            self.fail_reservation(reservation, "the primary of the system tables is lost", outputs);
        }
    }

    fn fail_reservation(&mut self, reservation: Reservation, why: &str, outputs: &mut Outputs<Shared>) {
        self.abort_reservation(&reservation, outputs);
        let Wanted { from, request, .. } = reservation.wanted;
        let error = SqlError::deadlock(&format!("AUTO_INCREMENT values could not be reserved: {why}"));
        outputs.send(self.me(), from, Signal::Failed { request, error });
        self.reserve_next(reservation.table, outputs);
    }
}

impl MainModule {
    fn abort_reservation(&self, reservation: &Reservation, outputs: &mut Outputs<Shared>) {
        if let Some(primary) = self.map.primary(SlotId(0)) {
            let abort = Signal::Abort { transaction: reservation.transaction, slot: SlotId(0) };
            outputs.send(self.me(), primary, abort);
        }
    }
}

fn sequences_table() -> TableRef {
    TableRef { id: catalogue::system::SEQUENCES, version: catalogue::system::SYSTEM_TABLE_VERSION }
}
