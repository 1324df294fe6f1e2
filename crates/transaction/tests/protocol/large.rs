//! Large transactions: they take turns with others, and what they leave behind can be used at once.

use super::*;

impl Cluster {
    /// Ids of rows in the slot of `like`.
    fn ids_with(&self, like: i64, count: usize) -> Vec<i64> {
        let slot = self.slot(like);
        (1..).filter(|id| self.slot(*id) == slot).take(count).collect()
    }

    /// Stages a row per id, all in one slot.
    fn stage_all(&mut self, transaction: u64, ids: &[i64]) {
        let operations = ids
            .iter()
            .map(|id| WriteOperation::Put { key: self.key(*id), row: self.row(*id, *id) })
            .collect();
        let request = WriteRequest {
            request: RequestId(1),
            transaction: TransactionId(transaction),
            slot: self.slot(ids[0]),
            table: TableRef { id: TABLE, version: 1 },
            operations,
            wait: LockWait::NoWait,
            commit: None,
            known: 0,
            under: None,
        };
        let to = self.primary(ids[0]);
        self.send(to, Signal::Write(Box::new(request)));
        let answers = self.run();
        assert!(
            matches!(answers.as_slice(), [Signal::WriteDone(done)] if done.result.is_ok()),
            "{answers:?}"
        );
    }

    fn retired_bytes(&self) -> u64 {
        self.ldms.iter().map(Ldm::retired_bytes).sum()
    }

    /// Inserts until memory is full; the number of rows.
    fn fill(&mut self, transaction: u64, like: i64) -> u32 {
        let ids = self.ids_with(like, 200_000);
        for (count, id) in ids.into_iter().enumerate() {
            if let Err(failure) = self.insert(transaction, id, id, false).result {
                assert_eq!(failure.refusal, Refusal::RegionFull { region: "DataMemory".to_owned() });
                return u32::try_from(count).expect("few");
            }
        }
        panic!("memory does not end");
    }
}

fn rollback(transaction: u64, slot: SlotId) -> Signal {
    Signal::RollbackTo { request: RequestId(6), transaction: TransactionId(transaction), slot, operations: 0 }
}

#[test]
fn others_have_their_turn_while_a_large_transaction_is_undone() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    let ids = cluster.ids_with(id, 5_001);
    assert!(cluster.insert(1, ids[0], 3, true).result.is_ok());
    cluster.stage_all(2, &ids[1..]);
    let to = cluster.primary(id);
    cluster.send(to, rollback(2, cluster.slot(id)));
    let request = cluster.read_request(ids[0], None, None);
    cluster.send(to, Signal::Read(Box::new(request)));
    let answers = cluster.run();
    let done = Signal::RollbackDone { request: RequestId(6), held: true };
    assert!(matches!(answers.as_slice(), [Signal::ReadDone(_), last] if *last == done), "{answers:?}");
    assert_eq!(cluster.read(ids[1], None), None);
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn an_abort_overtakes_a_rollback_to_a_savepoint() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    let ids = cluster.ids_with(id, 2_000);
    cluster.stage_all(2, &ids);
    let (to, slot) = (cluster.primary(id), cluster.slot(id));
    let (request, transaction) = (RequestId(7), TransactionId(2));
    cluster.send(to, Signal::RollbackTo { request, transaction, slot, operations: 10 });
    cluster.send(to, Signal::Abort { transaction, slot });
    assert_eq!(cluster.run(), vec![Signal::RollbackDone { request, held: true }]);
    assert_eq!(cluster.read(ids[0], None), None);
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn memory_of_an_undone_transaction_can_be_used_at_once_by_everyone() {
    let mut cluster = Cluster::with_data_memory(4 << 20);
    let (here, there) = (cluster.id_at(1, 1), cluster.id_at(2, 1));
    let count = cluster.fill(1, here);
    cluster.send(cluster.primary(here), rollback(1, cluster.slot(here)));
    assert_eq!(cluster.run(), vec![Signal::RollbackDone { request: RequestId(6), held: true }]);
    // The other node's ldm has nothing of its own to free: it waits for the first one's.
    let again = cluster.fill(2, there);
    assert!(again * 10 >= count * 9, "{again} rows where {count} had room before");
    cluster.send(cluster.primary(there), rollback(2, cluster.slot(there)));
    cluster.run();
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn a_write_does_not_wait_for_memory_that_nobody_frees() {
    let mut cluster = Cluster::with_data_memory(4 << 20);
    let (here, there) = (cluster.id_at(1, 1), cluster.id_at(2, 1));
    cluster.fill(1, here);
    let before = cluster.now.monotonic;
    cluster.fill(2, there);
    assert_eq!(cluster.now.monotonic, before);
}

#[test]
fn fragments_that_nobody_writes_any_more_give_their_memory_back() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    for version in 0..100 {
        let put = WriteOperation::Put { key: cluster.key(id), row: cluster.row(id, version) };
        assert!(cluster.write(1 + version.unsigned_abs(), id, put, true).result.is_ok());
    }
    assert_ne!(cluster.retired_bytes(), 0);
    let mut visits = 0;
    while let Some(next) = cluster.ldms.iter().filter_map(Ldm::deadline).min() {
        cluster.now.monotonic = next;
        for ldm in &mut cluster.ldms {
            let mut outputs: Outputs<Shared> = Outputs::default();
            ldm.on_deadline(cluster.now, &mut outputs);
            cluster.queue.extend(outputs.signals);
        }
        assert_eq!(cluster.run(), Vec::new());
        visits += 1;
    }
    assert!(visits < 100, "an idle ldm goes to sleep");
    assert_eq!(cluster.retired_bytes(), 0);
}

#[test]
fn what_is_shipped_ahead_is_bounded_in_bytes() {
    const ROWS: usize = 8;
    let mut cluster = Cluster::with_data_memory(512 << 20);
    let id = cluster.id_at(1, 1);
    let ids = cluster.ids_with(id, 5 * ROWS);
    let blob = vec![7; 3 << 20];
    for (transaction, ids) in (1..).zip(ids.chunks(ROWS)) {
        for id in ids {
            let row = cluster.row_with(*id, 1, ValueRef::Bytes(&blob));
            let operation = WriteOperation::Put { key: cluster.key(*id), row };
            assert!(cluster.write(transaction, *id, operation, false).result.is_ok());
        }
    }
    let to = cluster.primary(id);
    for transaction in 1..=5 {
        let commit = CommitOneRequest {
            request: RequestId(transaction),
            transaction: TransactionId(transaction),
            participant: cluster.participant(id, 8),
            epoch_seen: Epoch(0),
        };
        cluster.send(to, Signal::CommitOne(Box::new(commit)));
    }
    // The fourth gives up while it ships or waits.
    let outcome = Outcome { transaction: TransactionId(4), slot: cluster.slot(id), committed: None };
    cluster.send(to, Signal::Outcome(outcome));
    let answers = cluster.run();
    let committed = |signal: &Signal| {
        matches!(signal, Signal::CommitDone(CommitDone { outcome: CommitOutcome::Committed(_), .. }))
    };
    assert_eq!(answers.iter().filter(|signal| committed(signal)).count(), 4, "{answers:?}");
    assert!(cluster.ahead.1 <= (16 + 4) << 20, "{} bytes were on their way at a time", cluster.ahead.1);
    for (index, id) in ids.iter().enumerate() {
        let expected = (index / ROWS != 3).then_some(1);
        assert_eq!(cluster.read(*id, None), expected);
    }
    let (slot, transactions) = (cluster.slot(id), vec![TransactionId(4)]);
    cluster.send(to, Signal::Forget { slot, transactions });
    cluster.run();
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn a_large_transaction_that_a_view_change_interrupts_is_whole_at_the_backup() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    let ids = cluster.ids_with(id, 3_000);
    cluster.stage_all(1, &ids);
    let (request, transaction) = (RequestId(4), TransactionId(1));
    let participant = cluster.participant(id, 3_000);
    let commit = CommitOneRequest { request, transaction, participant, epoch_seen: Epoch(0) };
    cluster.send(cluster.primary(id), Signal::CommitOne(Box::new(commit)));
    // The backup has taken some pieces, and has not been told all.
    cluster.deliver(8);
    cluster.renew_view();
    let answers = cluster.run();
    assert!(matches!(answers.as_slice(), [Signal::CommitDone(_)]), "{answers:?}");
    for id in &ids {
        assert_eq!(cluster.read_at(NodeId(2), *id), Some(*id), "the backup lacks a row");
    }
}
