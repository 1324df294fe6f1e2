//! Hand-over of primaries: one interleaving per test, each of which lost or doubled something once, or kept a lock for
//! ever.
//!
//! Node 1 is the old primary, node 2 the new one, node 3 a further replica. Transaction 1 is the one that is handed
//! over, 2 waits for it.

use super::nodes::{
    Nodes, SESSION, SQL_NODE, WAIT, is_aborted, is_committed, is_moved, is_read, is_refused, is_written, ldm,
    tc, write_done,
};
use memory::Urgency;
use protocol::program::{LockMode, LockWait, Refusal, Results, WriteOperation};
use protocol::signal::{
    CoordinateRequest, Decider, HandOver, HandedOperation, HandedTransaction, HandedWait, Participant,
    Replicate, ReplicatedWrite, RequestId, ReturnedRequest, WriteRequest,
};
use protocol::{Address, Envelope, ModuleKind, Signal};
use stdx::smallvec;
use types::{Epoch, NodeId, Sequence, SlotId, TransactionId, ViewNumber};

/// More than is done in a slice, or sent in one piece.
const MANY: usize = 12;
/// More than is done in a slice, and sent at once.
const SLICED: usize = 6;

fn is_taken_to(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| matches!(envelope.signal, Signal::Taken { .. }) && envelope.to == ldm(node)
}

fn is_continue_of(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| matches!(envelope.signal, Signal::Continue(_)) && envelope.to == ldm(node)
}

fn is_piece(envelope: &Envelope) -> bool {
    matches!(envelope.signal, Signal::HandOver(_) | Signal::Gather(_))
}

fn write(request: WriteRequest) -> Signal {
    Signal::Write(Box::new(request))
}

impl Nodes {
    /// The view in which node 2 is primary, installed by these nodes in this order.
    fn move_to_second(&mut self, nodes: &[u16]) {
        self.hand_over_to(2);
        self.install_at(nodes);
    }

    /// Whether somebody else gets the lock of a row at once.
    fn is_free(&mut self, node: u16, id: i64) -> bool {
        let read = self.lock(999, id, (LockMode::Exclusive, LockWait::NoWait));
        let answers = self.ask(node, Signal::Read(Box::new(read)));
        let is_free = is_read(&answers, 999);
        assert!(is_free || is_refused(&answers, 999), "{answers:?}");
        let undone = self.abort(999);
        self.ask(node, undone);
        is_free
    }
}

#[test]
pub(super) fn what_is_open_goes_on_at_the_new_primary() {
    let mut all = Nodes::new(2);
    let [locked, row, other] = all.row_ids();
    all.stage_lock(1, locked, LockMode::Exclusive);
    all.stage(1, &[row]);
    all.stage_wait(2, row);
    all.move_to_second(&[1, 2]);
    let heard = all.run();
    assert!(is_moved(&heard, 2, Some(ldm(2))), "{heard:?}");
    let told = Signal::TransactionMoved { transaction: TransactionId(1), slot: all.slot };
    assert!(heard.contains(&told), "{heard:?}");
    assert!(!is_written(&heard, 2), "the row is not free");
    assert_eq!([all.is_free(2, locked), all.is_free(2, row), all.is_free(2, other)], [false, false, true]);
    // A late request is sent back, with nothing done.
    let late = WriteRequest { known: 2, ..all.write(1, &[other]) };
    let heard = all.ask(1, write(late.clone()));
    let returned = Signal::Returned(Box::new(ReturnedRequest::Write(Box::new(late.clone()))));
    assert_eq!(heard, [returned]);
    assert!(is_written(&all.ask(2, write(late)), 1));
    let commit = all.commit(1, 3);
    let heard = all.ask(2, commit);
    assert!(is_committed(&heard, 1) && is_written(&heard, 2), "{heard:?}");
    all.assert_committed(&[locked, row, other], &[row, other]);
    all.assert_idle();
}

#[test]
fn a_line_that_comes_back_before_anybody_took_it_goes_on() {
    let mut all = Nodes::new(2);
    let [locked, row] = all.row_ids();
    all.stage_lock(1, locked, LockMode::Exclusive);
    all.stage(1, &[row]);
    all.stage_wait(2, row);
    all.move_to_second(&[1, 2]);
    let heard = all.run_but(is_piece);
    all.hand_over_to(1);
    all.install_at(&[2, 1]);
    let heard = [heard, all.run()].concat();
    assert!(!heard.iter().any(|signal| matches!(signal, Signal::WaitMoved { .. })), "{heard:?}");
    assert_eq!([all.is_free(1, locked), all.is_free(1, row)], [false, false]);
    let commit = all.commit(1, 2);
    let heard = all.ask(1, commit);
    assert!(is_committed(&heard, 1) && is_written(&heard, 2), "{heard:?}");
    all.assert_committed(&[row], &[row]);
    all.assert_idle();
}

#[test]
fn what_is_handed_over_comes_after_the_undoing_of_what_was_shipped() {
    let mut all = Nodes::new(2);
    let ids = all.ids[..MANY].to_vec();
    let request = WriteRequest { commit: Some(Epoch(0)), ..all.write(1, &ids) };
    all.send(SESSION, ldm(1), write(request));
    // All rows are with node 2, the place in the stream is not.
    all.run_but(|envelope| matches!(envelope.signal, Signal::Replicate(_)));
    all.move_to_second(&[2, 1]);
    all.run_but(is_continue_of(2));
    assert!(all.queue.iter().any(is_continue_of(2)), "node 2 undoes in slices");
    let heard = all.run();
    assert!(is_written(&heard, 1), "{heard:?}");
    all.assert_committed(&ids, &ids);
    all.assert_idle();
}

#[test]
fn who_replicates_has_taken() {
    // (The second is shipped ahead.)
    for count in [1, MANY] {
        let mut all = Nodes::new(2);
        let ids = all.ids[..count].to_vec();
        all.stage(1, &ids);
        all.move_to_second(&[1, 2]);
        all.run_but(is_taken_to(1));
        assert!(all.lose(is_taken_to(1)) > 0);
        let commit = all.commit(1, u32::try_from(count).expect("few"));
        all.send(SESSION, ldm(2), commit);
        // Node 1 has it, and does not hear what became of it before the connection is renewed, and with it the view.
        let heard = all.run_but(|envelope| matches!(envelope.signal, Signal::Decided { .. }));
        assert!(is_committed(&heard, 1), "{heard:?}");
        all.hand_over_to(2);
        all.install_at(&[2, 1]);
        all.run();
        all.assert_committed(&ids, &ids);
        // Node 1 has not begun to undo it, either.
        all.leave_out(2, 1);
        all.install(1);
        all.settle();
        all.run();
        all.assert_committed(&ids, &ids);
        all.assert_idle();
    }
}

#[test]
fn a_report_that_waits_for_slices_is_sent_when_they_do_not_matter_any_more() {
    let mut all = Nodes::new(2);
    let ids = all.ids[..MANY].to_vec();
    all.stage(1, &ids);
    all.move_to_second(&[1, 2]);
    all.run_but(is_taken_to(1));
    // A session that has not heard of the view gives up.
    let abort = all.abort(1);
    all.send(SESSION, ldm(1), abort);
    let is_late = |envelope: &Envelope| is_taken_to(1)(envelope) || is_continue_of(1)(envelope);
    all.run_but(is_late);
    assert!(all.queue.iter().any(is_continue_of(1)), "node 1 undoes in slices");
    all.hand_over_to(2);
    all.install_at(&[1, 2]);
    all.run();
    // Node 2 has what it waits for.
    let ask = all.ask_outcome(7);
    assert!(is_aborted(&all.ask(2, ask), 7));
    all.assert_committed(&ids, &[]);
    all.assert_idle();
}

impl Nodes {
    /// Transaction 1 is sealed at node 1, with more rows than are prepared in a slice; the others have applied it, node
    /// 1 has not heard so. It steps down.
    fn sealed_in_slices(data_nodes: u16) -> (Self, Vec<i64>) {
        let mut all = Self::new(data_nodes);
        let ids = all.ids[..SLICED].to_vec();
        let request = WriteRequest { commit: Some(Epoch(0)), ..all.write(1, &ids) };
        all.send(SESSION, ldm(1), write(request));
        let is_answer = |envelope: &Envelope| matches!(envelope.signal, Signal::Applied { .. });
        all.run_but(is_answer);
        assert!(all.lose(is_answer) > 0, "it is replicated");
        let nodes: Vec<u16> = (1..=data_nodes).collect();
        all.move_to_second(&nodes);
        let slot = all.slot;
        let is_report = move |envelope: &Envelope| matches!(&envelope.signal, Signal::Gather(report) if report.slot == slot);
        all.run_but(move |envelope| is_continue_of(1)(envelope) || is_report(envelope));
        assert!(all.queue.iter().any(is_continue_of(1)), "node 1 prepares in slices");
        let is_early = |envelope: &Envelope| is_report(envelope) && envelope.from == ldm(1);
        assert!(!all.queue.iter().any(is_early), "it reports when it is what it says");
        (all, ids)
    }
}

#[test]
fn what_is_sealed_is_prepared_in_slices_and_then_reported() {
    let (mut all, ids) = Nodes::sealed_in_slices(2);
    assert!(is_written(&all.run(), 1));
    all.assert_committed(&ids, &ids);
    all.assert_idle();
}

#[test]
fn a_primary_that_is_one_again_before_all_is_prepared_goes_on() {
    let (mut all, ids) = Nodes::sealed_in_slices(2);
    all.hand_over_to(1);
    all.install_at(&[2, 1]);
    assert!(is_written(&all.run(), 1));
    all.assert_committed(&ids, &ids);
    all.assert_idle();
}

#[test]
fn a_line_that_ends_before_all_is_prepared_is_reported_with_what_is_sealed() {
    let (mut all, ids) = Nodes::sealed_in_slices(3);
    all.leave_out(2, 3);
    all.install_at(&[1, 3]);
    let mut heard = all.run_but(is_continue_of(1));
    heard.extend(all.run());
    assert!(is_written(&heard, 1), "{heard:?}");
    all.assert_committed(&ids, &ids);
    all.settle();
    all.run();
    all.assert_idle();
}

// ---- memory ---------------------------------------------------------------------------------------------------------

/// Transaction 1 has a small row and a large one, for which node 2 has no room; 3 has another row.
fn too_large_for_the_second() -> Nodes {
    let mut all = Nodes::new(2);
    let [small, large, third, warm] = all.row_ids();
    all.stage(8, &[warm]);
    let commit = all.commit(8, 1);
    assert!(is_committed(&all.ask(1, commit), 8));
    all.fill_memory(2, Urgency::Normal);
    all.stage(3, &[third]);
    let operations = smallvec![all.put(small, 10), all.put(large, 1 << 20), all.put(third, 10)];
    let update = WriteRequest { operations, wait: WAIT, commit: Some(Epoch(0)), ..all.write(1, &[]) };
    assert_eq!(all.ask(1, write(update)), Vec::new(), "it waits for the third row");
    all
}

#[test]
fn a_wait_without_its_transaction_is_refused() {
    let mut all = too_large_for_the_second();
    all.move_to_second(&[1, 2]);
    let mut heard = all.run();
    let commit = all.commit(3, 1);
    heard.extend(all.ask(2, commit));
    assert!(is_committed(&heard, 3), "{heard:?}");
    assert!(is_refused(&heard, 1), "{heard:?}");
    let [small, large, third] = all.row_ids();
    all.assert_committed(&[small, large, third], &[third]);
    all.assert_idle();
}

#[test]
fn a_statement_that_comes_before_its_lost_transaction_is_refused() {
    let mut all = Nodes::new(2);
    let [small, large, next] = all.row_ids();
    all.fill_memory(2, Urgency::Normal);
    let operations = smallvec![all.put(small, 10), all.put(large, 1 << 20)];
    let staged = WriteRequest { operations, ..all.write(1, &[]) };
    assert!(is_written(&all.ask(1, write(staged)), 1));
    all.move_to_second(&[2]);
    let statement = WriteRequest { known: 2, ..all.write(1, &[next]) };
    assert_eq!(all.ask(2, write(statement)), Vec::new(), "nothing was handed over yet");
    all.install(1);
    let heard = all.run();
    assert!(is_refused(&heard, 1), "{heard:?}");
    let commit = all.commit(1, 2);
    assert!(is_aborted(&all.ask(2, commit), 1));
    all.assert_committed(&[small, large, next], &[]);
    all.assert_idle();
}

#[test]
pub(super) fn a_transaction_with_too_many_operations_is_lost_with_its_wait() {
    let mut all = Nodes::new(2);
    let [row, locked] = all.row_ids();
    all.stage(3, &[row]);
    all.stage_lock(1, locked, LockMode::Exclusive);
    // One row, 50 000 times.
    let operation = all.put(all.ids[2], 0);
    let many = WriteRequest { operations: smallvec![operation; 50_000], ..all.write(1, &[]) };
    assert!(is_written(&all.ask(1, write(many)), 1));
    let wait = WriteRequest { wait: WAIT, known: 50_001, ..all.write(1, &[row]) };
    assert_eq!(all.ask(1, write(wait)), Vec::new());
    all.move_to_second(&[1, 2]);
    let heard = all.run();
    assert!(is_moved(&heard, 1, None), "{heard:?}");
    let statement = WriteRequest { known: 50_001, ..all.write(1, &[all.ids[3]]) };
    let heard = all.ask(2, write(statement));
    let refused = write_done(&heard, 1).and_then(|done| done.result.clone().err());
    assert_eq!(refused.map(|failure| failure.refusal), Some(Refusal::NotHeld));
    assert!(all.is_free(2, locked));
    // The other one is handed over.
    assert!(!all.is_free(2, row));
    let commit = all.commit(3, 1);
    assert!(is_committed(&all.ask(2, commit), 3));
    all.assert_committed(&[row, all.ids[2], all.ids[3]], &[row]);
    all.assert_idle();
}

/// More than half of what may travel is two of these.
const LARGE: usize = 24 << 20;

#[test]
fn a_transaction_with_too_many_bytes_is_lost_with_its_wait() {
    let mut all = Nodes::new(2);
    let [first, second, third, row, locked] = all.row_ids();
    all.stage(3, &[row]);
    all.stage_lock(1, locked, LockMode::Exclusive);
    for id in [first, second, third] {
        let operations = smallvec![all.put(id, LARGE)];
        let large = WriteRequest { operations, ..all.write(1, &[]) };
        assert!(is_written(&all.ask(1, write(large)), 1));
    }
    let wait = WriteRequest { wait: WAIT, known: 4, ..all.write(1, &[row]) };
    assert_eq!(all.ask(1, write(wait)), Vec::new());
    all.move_to_second(&[1, 2]);
    let heard = all.run();
    assert!(is_moved(&heard, 1, None), "{} signals", heard.len());
    let commit = all.commit(1, 4);
    assert!(is_aborted(&all.ask(2, commit), 1));
    assert!(all.is_free(2, locked));
    let commit = all.commit(3, 1);
    assert!(is_committed(&all.ask(2, commit), 3));
    all.assert_committed(&[first, second, third, row], &[row]);
    all.assert_idle();
}

#[test]
fn versions_that_lie_above_each_other_count_each() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    for _ in 0..3 {
        let operations = smallvec![all.put(row, LARGE)];
        let large = WriteRequest { operations, ..all.write(1, &[]) };
        assert!(is_written(&all.ask(1, write(large)), 1));
    }
    all.move_to_second(&[1, 2]);
    all.run();
    let commit = all.commit(1, 3);
    assert!(is_aborted(&all.ask(2, commit), 1));
    all.assert_committed(&[row], &[]);
    all.assert_idle();
}

#[test]
fn large_requests_that_wait_travel_alone_and_not_too_many_of_them() {
    let mut all = Nodes::new(2);
    let [row, other] = all.row_ids();
    all.stage(1, &[row]);
    let staged = all.write(4, &[other]);
    assert!(is_written(&all.ask(1, write(staged)), 4));
    for transaction in 2..=4 {
        let operations = smallvec![all.put(row, LARGE)];
        let wait = WriteRequest { operations, wait: WAIT, ..all.write(transaction, &[]) };
        assert_eq!(all.ask(1, write(wait)), Vec::new());
    }
    all.move_to_second(&[1, 2]);
    let mut heard = all.run_but(is_piece);
    let pieces = all.queue.iter().filter_map(|envelope| match &envelope.signal {
        Signal::HandOver(piece) => Some(piece.waits.len()),
        _ => None,
    });
    // (The last one says who is lost.)
    assert_eq!(pieces.collect::<Vec<_>>(), [1, 1, 0]);
    heard.extend(all.run());
    // It is lost with what it had done.
    assert!(
        is_moved(&heard, 4, None) && is_moved(&heard, 2, Some(ldm(2))) && is_moved(&heard, 3, Some(ldm(2)))
    );
    assert!(all.is_free(2, other));
    let commit = all.commit(1, 1);
    let heard = all.ask(2, commit);
    assert!(is_committed(&heard, 1) && is_written(&heard, 2));
    let commit = all.commit(2, 1);
    let heard = all.ask(2, commit);
    assert!(is_committed(&heard, 2) && is_written(&heard, 3));
    let abort = all.abort(3);
    all.ask(2, abort);
    all.assert_committed(&[row, other], &[row]);
    all.assert_idle();
}

#[test]
fn what_is_sealed_travels_while_there_is_room() {
    let mut all = Nodes::new(2);
    let [first, second, third, small] = all.row_ids();
    for (transaction, id) in (1..).zip([first, second, third]) {
        let operations = smallvec![all.put(id, LARGE)];
        let large = WriteRequest { operations, commit: Some(Epoch(0)), ..all.write(transaction, &[]) };
        all.send(SESSION, ldm(1), write(large));
    }
    let last = WriteRequest { commit: Some(Epoch(0)), ..all.write(4, &[small]) };
    all.send(SESSION, ldm(1), write(last));
    // Node 2 lacks all of them.
    let is_lost = |envelope: &Envelope| matches!(envelope.signal, Signal::Replicate(_));
    all.run_but(is_lost);
    all.lose(is_lost);
    all.move_to_second(&[1, 2]);
    let mut heard = all.run_but(is_piece);
    let sizes = all.queue.iter().filter_map(|envelope| match &envelope.signal {
        Signal::HandOver(piece) => Some(piece.places.len()),
        _ => None,
    });
    let sizes: usize = sizes.sum();
    heard.extend(all.run());
    let told: Vec<bool> = (1..=4).map(|transaction| is_written(&heard, transaction)).collect();
    assert_eq!((sizes, told), (3, vec![true, true, false, true]));
    all.assert_committed(&[first, second, third, small], &[first, second, small]);
    all.assert_idle();
}

// ---- locks ----------------------------------------------------------------------------------------------------------

#[test]
fn an_explicit_lock_of_a_sealed_transaction_holds_until_it_is_decided() {
    let mut all = Nodes::new(2);
    let [parent, row] = all.row_ids();
    let other = all.slot_of_second();
    all.stage_lock(1, parent, LockMode::Shared);
    all.stage(1, &[row]);
    let child = all.ids_in(other, 1);
    let request = WriteRequest { slot: other, ..all.write(1, &child) };
    assert!(is_written(&all.ask(2, write(request)), 1));
    let there = Participant { slot: other, operations: 1, ..all.participant(1) };
    let request = CoordinateRequest {
        request: RequestId(1),
        transaction: TransactionId(1),
        participants: vec![all.participant(2), there],
        epoch_seen: Epoch(0),
    };
    all.send(SESSION, tc(2), Signal::Coordinate(Box::new(request)));
    let is_late = |envelope: &Envelope| matches!(&envelope.signal, Signal::Prepare { participant, .. } if participant.slot == other);
    assert_eq!(all.run_but(is_late), Vec::new());
    all.move_to_second(&[1, 2]);
    all.run_but(is_late);
    let delete = all.lock(2, parent, (LockMode::Exclusive, WAIT));
    all.send(SESSION, ldm(2), Signal::Read(Box::new(delete)));
    let heard = all.run_but(is_late);
    assert!(!is_read(&heard, 2), "its parent was locked: {heard:?}");
    let heard = all.run();
    let committed = heard.iter().position(|signal| matches!(signal, Signal::CommitDone(_)));
    assert!(committed.is_some() && is_committed(&heard, 1) && is_read(&heard, 2), "{heard:?}");
    let abort = all.abort(2);
    all.ask(2, abort);
    all.send(SESSION, tc(2), Signal::Confirm { transaction: TransactionId(1) });
    all.run();
    all.assert_committed(&[parent, row], &[row]);
    all.assert_idle();
}

#[test]
fn a_locking_read_of_a_lost_session_is_not_resumed() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    // Its session is elsewhere.
    let holder = Address::new(NodeId(1), ModuleKind::Sql, 0);
    let staged = all.write(1, &[row]);
    all.send(holder, ldm(1), write(staged));
    assert!(is_written(&all.run(), 1));
    let read = all.lock(2, row, (LockMode::Exclusive, WAIT));
    assert_eq!(all.ask(1, Signal::Read(Box::new(read))), Vec::new());
    // Node 2 hears that node 4 is lost before it takes, node 1 does not.
    all.hand_over_to(2);
    all.install_with(2, &[NodeId(SQL_NODE)]);
    all.install(1);
    all.run();
    all.install_with(2, &[]);
    let commit = all.commit(1, 1);
    all.send(holder, ldm(2), commit);
    assert!(is_committed(&all.run(), 1));
    assert!(all.is_free(2, row));
    all.assert_idle();
}

#[test]
fn requests_of_a_lost_session_are_not_handed_over_again() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    let holder = Address::new(NodeId(1), ModuleKind::Sql, 0);
    let staged = all.write(1, &[row]);
    all.send(holder, ldm(1), write(staged));
    all.run();
    all.stage_wait(2, row);
    all.move_to_second(&[2, 1]);
    all.run_but(is_piece);
    all.lose(is_piece);
    all.install_with(1, &[NodeId(SQL_NODE)]);
    all.hand_over_to(2);
    all.install_with(1, &[]);
    let pieces = all.queue.iter().filter_map(|envelope| match &envelope.signal {
        Signal::HandOver(piece) => Some((piece.transactions.len(), piece.waits.len())),
        _ => None,
    });
    assert_eq!(pieces.collect::<Vec<_>>(), [(1, 0)]);
}

#[test]
fn a_successor_lets_go_of_its_own_older_claim_before_it_takes() {
    let mut all = Nodes::new(2);
    let [locked, row] = all.row_ids();
    all.stage_lock(1, locked, LockMode::Exclusive);
    all.stage(1, &[row]);
    all.move_to_second(&[1, 2]);
    let is_late = |envelope: &Envelope| {
        envelope.to == ldm(1) && matches!(envelope.signal, Signal::Taken { .. } | Signal::Replicate(_))
    };
    all.run_but(is_late);
    let commit = all.commit(1, 2);
    all.send(SESSION, ldm(2), commit);
    assert_eq!(all.run_but(is_late), Vec::new());
    all.hand_over_to(1);
    all.install_at(&[1, 2]);
    let heard = all.run();
    assert!(is_committed(&heard, 1), "{heard:?}");
    assert!(all.is_free(1, locked) && all.is_free(1, row));
    all.assert_committed(&[row], &[row]);
    all.assert_idle();
}

#[test]
fn a_line_is_claimed_when_it_is_open() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    // Node 2 takes over, and does not hear that all use the view before the next one comes.
    all.leave_out(1, 2);
    all.install_at(&[2, 3]);
    all.run();
    all.hand_over_to(3);
    all.install_at(&[2, 3]);
    all.run();
    let read = all.lock(2, row, (LockMode::Exclusive, LockWait::NoWait));
    assert_eq!(all.ask(3, Signal::Read(Box::new(read))), Vec::new(), "somebody may count a lost lock still");
    all.send(Address::main(NodeId(3)), ldm(3), Signal::ViewSettled { view: all.view.number });
    assert!(is_read(&all.run(), 2));
}

// ---- outcomes -------------------------------------------------------------------------------------------------------

#[test]
fn an_owed_abort_is_told_by_the_primary_when_all_have_recorded_it() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.fill_memory(3, Urgency::Replica);
    let staged = WriteRequest { operations: smallvec![all.put(row, 1 << 20)], ..all.write(1, &[]) };
    assert!(is_written(&all.ask(1, write(staged)), 1));
    let commit = all.commit(1, 1);
    all.send(SESSION, ldm(1), commit);
    all.run_but(|envelope| matches!(envelope.signal, Signal::Replicate(_)));
    all.move_to_second(&[1, 2, 3]);
    let is_record = |envelope: &Envelope| {
        matches!(envelope.signal, Signal::OutcomeRecorded { .. }) && envelope.from == ldm(3)
    };
    let heard = all.run_but(is_record);
    assert!(!heard.iter().any(|signal| matches!(signal, Signal::CommitDone(_))), "{heard:?}");
    let ask = ReturnedRequest::OutcomeAsk {
        request: RequestId(1),
        transaction: TransactionId(1),
        slot: all.slot,
        is_write: false,
    };
    assert!(heard.contains(&Signal::Returned(Box::new(ask.clone()))), "{heard:?}");
    all.send(SESSION, ldm(2), ask.into_signal());
    assert_eq!(all.run_but(is_record), Vec::new(), "node 3 has not recorded it");
    assert!(is_aborted(&all.run(), 1));
    all.assert_committed(&[row], &[]);
    all.assert_idle();
}

#[test]
fn a_line_that_went_on_elsewhere_is_given_up_at_once() {
    let mut all = Nodes::new(3);
    let ids = all.ids[..MANY].to_vec();
    all.stage(1, &ids);
    all.stage_wait(2, ids[0]);
    // Node 2 takes, and hands over to node 3, who takes; node 1 hears of neither.
    all.move_to_second(&[1, 2, 3]);
    all.run_but(is_taken_to(1));
    all.hand_over_to(3);
    all.install_at(&[1, 2, 3]);
    all.run_but(is_taken_to(1));
    all.leave_out(2, 3);
    all.install_at(&[1, 3]);
    let heard = all.run_but(|envelope| is_taken_to(1)(envelope) || is_continue_of(1)(envelope));
    assert!(is_moved(&heard, 2, None), "{heard:?}");
    assert!(
        !heard.iter().any(|signal| matches!(signal, Signal::Returned(_))),
        "it runs elsewhere: {heard:?}"
    );
    let commit = all.commit(1, u32::try_from(MANY).expect("few"));
    all.send(SESSION, ldm(3), commit);
    let mut heard = all.run_but(is_continue_of(1));
    heard.extend(all.run());
    assert!(is_committed(&heard, 1) && is_written(&heard, 2), "{heard:?}");
    all.assert_committed(&ids, &ids);
    all.settle();
    all.run();
    all.assert_idle();
}

// ---- a node that is about to stop -----------------------------------------------------------------------------------

/// Main modules and sessions that an ldm wants to hear from, or tells that it is done.
fn last_words(heard: &[Signal]) -> (usize, usize) {
    let count = |wanted: &Signal| heard.iter().filter(|signal| *signal == wanted).count();
    (count(&Signal::LastWord), count(&Signal::StoodDown))
}

impl Nodes {
    /// Modules of sessions that no test is about answer a node's last word.
    fn others_have_heard(&mut self, node: u16) {
        let members = self.view.in_sync(self.slot).to_vec();
        let modules = members.into_iter().map(|member| Address::new(member, ModuleKind::Sql, 0));
        for module in modules.chain([Address::main(NodeId(SQL_NODE))]).collect::<Vec<_>>() {
            self.send(module, ldm(node), Signal::LastWordHeard);
        }
    }
}

#[test]
fn a_node_leaves_when_all_sessions_have_heard_everything() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    all.stage_wait(2, row);
    let main = Address::main(NodeId(1));
    all.send(main, ldm(1), Signal::StandDown);
    assert_eq!(last_words(&all.run()), (0, 0), "it leads a slot");
    // It leads nothing, but others do not have what it has.
    let view = &mut all.view;
    view.slots.iter_mut().for_each(|place| place.primary = NodeId(2));
    view.number = ViewNumber(2);
    all.install_at(&[1, 2]);
    let heard = all.run_but(|envelope| is_piece(envelope) && envelope.from == ldm(1));
    assert_eq!(last_words(&heard), (0, 0));
    let heard = all.run();
    assert!(is_moved(&heard, 2, Some(ldm(2))), "{heard:?}");
    assert_eq!(last_words(&heard), (4, 0), "the module that was told of a move, and three others");
    let word = heard.iter().position(|signal| *signal == Signal::LastWord);
    let moved = heard.iter().position(|signal| matches!(signal, Signal::WaitMoved { .. }));
    assert!(moved < word, "it was the last: {heard:?}");
    all.others_have_heard(1);
    // Somebody who still uses the old view asks: that is another word.
    let late = all.commit(1, 1);
    all.send(SESSION, ldm(1), late);
    assert_eq!(last_words(&all.run()), (1, 0));
    all.send(SESSION, ldm(1), Signal::LastWordHeard);
    assert_eq!(last_words(&all.run()), (0, 0));
    all.send(SESSION, ldm(1), Signal::LastWordHeard);
    assert_eq!(last_words(&all.run()), (0, 1));
}

#[test]
fn a_node_leaves_when_nothing_of_what_was_open_there_is_on_its_way_to_it() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    all.lead_all_at_second(true);
    all.run();
    // Nobody waits, so the session's module was told nothing; but what it asks next may come here.
    all.send(Address::main(NodeId(1)), ldm(1), Signal::StandDown);
    assert_eq!(last_words(&all.run()), (4, 0));
    all.others_have_heard(1);
    assert_eq!(last_words(&all.run()), (0, 0));
    all.send(SESSION, ldm(1), Signal::LastWordHeard);
    assert_eq!(last_words(&all.run()), (0, 1));
}

/// A first request of a transaction may be on its way, too.
#[test]
fn a_node_leaves_when_all_modules_of_sessions_know_that_it_leads_nothing() {
    let mut all = Nodes::new(2);
    all.lead_all_at_second(true);
    all.run();
    all.send(Address::main(NodeId(1)), ldm(1), Signal::StandDown);
    assert_eq!(last_words(&all.run()), (3, 0), "of two data nodes and an SQL node");
    let row = all.ids[0];
    let late = write(all.write(1, &[row]));
    all.send(SESSION, ldm(1), late);
    all.others_have_heard(1);
    let heard = all.run();
    assert!(heard.iter().any(|signal| matches!(signal, Signal::Returned(_))), "{heard:?}");
    assert_eq!(last_words(&heard), (1, 0), "that is something to be heard");
    all.send(SESSION, ldm(1), Signal::LastWordHeard);
    assert_eq!(last_words(&all.run()), (0, 1));
}

#[test]
fn who_was_out_of_reach_is_not_waited_for() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    all.lead_all_at_second(false);
    all.run();
    all.install_with(1, &[NodeId(SQL_NODE)]);
    all.install_with(1, &[]);
    all.lead_all_at_second(true);
    all.run();
    all.send(Address::main(NodeId(1)), ldm(1), Signal::StandDown);
    assert_eq!(last_words(&all.run()), (3, 0));
    all.others_have_heard(1);
    assert_eq!(last_words(&all.run()), (0, 1));
}

impl Nodes {
    /// The next view: everything is node 2's, and node 1 is about to stop, or stays.
    fn lead_all_at_second(&mut self, is_leaving: bool) {
        let view = &mut self.view;
        view.number = ViewNumber(view.number.0 + 1);
        view.slots.iter_mut().for_each(|place| place.primary = NodeId(2));
        view.leaving = if is_leaving { vec![NodeId(1)] } else { Vec::new() };
        self.install_at(&[1, 2]);
    }
}

#[test]
fn a_stop_that_is_off_is_forgotten() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    all.stage_wait(2, row);
    let request = CoordinateRequest {
        request: RequestId(3),
        transaction: TransactionId(3),
        participants: vec![all.participant(1)],
        epoch_seen: Epoch(0),
    };
    all.lead_all_at_second(true);
    all.send(SESSION, tc(1), Signal::Coordinate(Box::new(request)));
    let is_late =
        |envelope: &Envelope| is_taken_to(1)(envelope) || matches!(envelope.signal, Signal::Prepare { .. });
    all.run_but(is_late);
    let main = Address::main(NodeId(1));
    all.send(main, ldm(1), Signal::StandDown);
    all.send(main, tc(1), Signal::StandDown);
    assert_eq!(last_words(&all.run_but(is_late)), (0, 0), "both have something to do");
    all.lead_all_at_second(false);
    assert_eq!(last_words(&all.run()), (0, 0), "nobody wants to know any more");
    // The next stop waits for what is said in it.
    all.lead_all_at_second(true);
    all.send(main, ldm(1), Signal::StandDown);
    assert_eq!(last_words(&all.run()), (4, 0));
    all.others_have_heard(1);
    // It is off, too, before that was heard: the answer to the first word answers no second one.
    all.lead_all_at_second(false);
    let late = all.commit(1, 1);
    all.send(SESSION, ldm(1), late);
    all.lead_all_at_second(true);
    all.send(main, ldm(1), Signal::StandDown);
    assert_eq!(last_words(&all.run()), (4, 0));
    all.others_have_heard(1);
    all.send(SESSION, ldm(1), Signal::LastWordHeard);
    assert_eq!(last_words(&all.run()), (0, 0));
    all.send(SESSION, ldm(1), Signal::LastWordHeard);
    assert_eq!(last_words(&all.run()), (0, 1));
}

#[test]
fn a_node_that_hands_on_what_it_never_had_waits_until_it_is_taken() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    // Signals of node 1 to node 2 are void when node 3 is primary.
    all.move_to_second(&[1, 2, 3]);
    let is_handed = |envelope: &Envelope| is_piece(envelope) && envelope.from == ldm(1);
    all.run_but(is_handed);
    let view = &mut all.view;
    for place in &mut view.slots {
        place.primary = if place.primary == NodeId(2) { NodeId(3) } else { place.primary };
    }
    view.number = ViewNumber(3);
    all.install_at(&[1, 2, 3]);
    all.send(Address::main(NodeId(2)), ldm(2), Signal::StandDown);
    let heard = all.run_but(is_handed);
    assert_eq!(last_words(&heard).1, 0, "if it leaves, nobody knows what it did with the line: {heard:?}");
    all.run();
    all.others_have_heard(2);
    all.send(SESSION, ldm(2), Signal::LastWordHeard);
    assert_eq!(last_words(&all.run()).1, 1);
    let commit = all.commit(1, 1);
    assert!(is_committed(&all.ask(3, commit), 1));
    all.assert_committed(&[row], &[row]);
}

// ---- bytes of a broken peer -----------------------------------------------------------------------------------------

fn piece(slot: SlotId) -> HandOver {
    HandOver { slot, places: Vec::new(), transactions: Vec::new(), waits: Vec::new(), void: Vec::new() }
}

fn place(all: &Nodes, slot: SlotId, id: i64) -> (ViewNumber, Replicate) {
    let (table, row) = (all.write(1, &[]).table, Some(all.row(id, 10)));
    let replicate = Replicate {
        slot,
        sequence: Sequence(1),
        transaction: TransactionId(1),
        epoch: Epoch(1),
        decider: Decider::Primary,
        participants: smallvec![slot],
        marker: None,
        pieces_ahead: Some(0),
        writes: smallvec![ReplicatedWrite::new(table, &all.key(id), row.as_deref())],
    };
    (ViewNumber(1), replicate)
}

impl Nodes {
    /// Node 1 hands this over to node 2, instead of what it has.
    fn hand_over_instead(&mut self, piece: HandOver) -> Vec<Signal> {
        self.move_to_second(&[2, 1]);
        self.run_but(|envelope| is_piece(envelope) && envelope.from == ldm(1));
        self.lose(|envelope| matches!(envelope.signal, Signal::HandOver(_)));
        self.send(ldm(1), ldm(2), Signal::HandOver(Box::new(piece)));
        // It goes ahead of the report.
        self.queue.rotate_right(1);
        self.run()
    }
}

#[test]
fn pieces_with_things_of_another_slot_are_ignored() {
    let mut all = Nodes::new(2);
    let led = all.slot_of_second();
    let id = all.ids_in(led, 1)[0];
    let request = Box::new(WriteRequest { slot: led, ..all.write(3, &[id]) });
    let (results, raised) = (Results::new(), None);
    let wait = HandedWait::Write { from: SESSION, request, results, raised };
    let piece = HandOver { places: vec![place(&all, led, id)], waits: vec![wait], ..piece(all.slot) };
    let heard = all.hand_over_instead(piece);
    assert!(!is_written(&heard, 3), "{heard:?}");
    all.slot = led;
    all.assert_committed(&[id], &[]);
    all.assert_idle();
}

#[test]
fn a_transaction_that_is_sealed_and_open_is_sealed() {
    let mut all = Nodes::new(2);
    let [row, other] = all.row_ids();
    let [(_, again), (_, more)] = [row, other].map(|id| place(&all, all.slot, id));
    let operations = [again, more].map(|place| HandedOperation::Staged(place.writes[0].clone())).to_vec();
    let place = place(&all, all.slot, row);
    let open = HandedTransaction { transaction: TransactionId(1), session: SESSION, operations };
    let piece = HandOver { places: vec![place], transactions: vec![open], ..piece(all.slot) };
    all.hand_over_instead(piece);
    all.assert_committed(&[row, other], &[row]);
    all.assert_idle();
}

#[test]
fn rows_of_a_handed_wait_are_rows() {
    let mut all = Nodes::new(2);
    let [row, other] = all.row_ids();
    let operation = WriteOperation::Put { key: all.key(row), row: all.row(other, 10) };
    let request = WriteRequest { operations: smallvec![operation], ..all.write(3, &[]) };
    let (results, raised) = (Results::new(), None);
    let wait = HandedWait::Write { from: SESSION, request: Box::new(request), results, raised };
    let piece = HandOver { waits: vec![wait], ..piece(all.slot) };
    let heard = all.hand_over_instead(piece);
    assert!(is_refused(&heard, 3), "{heard:?}");
    all.assert_idle();
}

#[test]
fn strangers_end_nothing() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    all.move_to_second(&[1, 2, 3]);
    all.run_but(is_piece);
    let slot = all.slot;
    for stranger in [ldm(3), ldm(1), SESSION, tc(2)] {
        all.send(stranger, ldm(1), Signal::Taken { slot });
        all.send(stranger, ldm(1), Signal::StandDown);
    }
    all.send(Address::main(NodeId(2)), ldm(1), Signal::StandDown);
    all.run_but(is_piece);
    all.hand_over_to(1);
    all.install_at(&[1, 2, 3]);
    all.run();
    // It leads nothing in a later view, and says nothing to those who asked.
    all.view.number = ViewNumber(4);
    all.view.slots.iter_mut().for_each(|place| place.primary = NodeId(2));
    all.install_at(&[1, 2, 3]);
    assert_eq!(last_words(&all.run()), (0, 0));
    let commit = all.commit(1, 1);
    assert!(is_committed(&all.ask(2, commit), 1), "what was open is open");
    all.assert_committed(&[row], &[row]);
    all.assert_idle();
}
