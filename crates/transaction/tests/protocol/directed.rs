//! Interleavings that seeds seldom meet: one per test, each of which one deliberate bug (`transaction::mutants`) turns
//! into a lost, doubled or wrong answer.
//!
//! Node 1 is the old primary, node 2 the new one, node 3 a further replica. With the feature `mutants`,
//! `every_listed_bug_fails_its_test` plants the bugs.

use super::TABLE;
use super::nodes::{
    Nodes, SESSION, SQL_NODE, is_aborted, is_committed, is_moved, is_read, is_refused, is_written, ldm, tc,
};
use memory::Urgency;
use protocol::module::EXIT_CANNOT_JOIN;
use protocol::program::{LockMode, LockWait, WriteOperation};
use protocol::signal::{CommitOneRequest, CoordinateRequest, Participant, RequestId, WriteRequest};
use protocol::{Address, Envelope, ModuleKind, Signal};
use stdx::{Duration, smallvec};
use types::{Epoch, NodeId, SlotId, TransactionId};

/// More than are published in a slice, fewer than are shipped ahead.
const SLICES: usize = 7;
/// More than are sent in one piece.
const LARGE: usize = 12;
/// Bytes of a row that takes more memory than [`SOME_PAGES`]. The rows that are copied to a node that joins fit them.
const LARGE_ROW: usize = 900 << 10;
const SOME_PAGES: u64 = 20;

fn is_outcome_to(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| matches!(envelope.signal, Signal::Outcome(_)) && envelope.to == ldm(node)
}

fn is_replicate_to(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| matches!(envelope.signal, Signal::Replicate(_)) && envelope.to == ldm(node)
}

fn is_decided_to(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| matches!(envelope.signal, Signal::Decided { .. }) && envelope.to == ldm(node)
}

fn is_prepare_of(slot: SlotId) -> impl Fn(&Envelope) -> bool {
    move |envelope| matches!(&envelope.signal, Signal::Prepare { participant, .. } if participant.slot == slot)
}

/// Whether a session has heard the end of its commit.
fn is_told(heard: &[Signal]) -> bool {
    heard.iter().any(|signal| matches!(signal, Signal::CommitDone(_)))
}

impl Nodes {
    /// These nodes go on without node 1, with node 2 in its place; not everybody may have heard of it yet.
    fn lose_first(&mut self, survivors: &[u16]) {
        self.leave_out(1, 2);
        self.install_at(survivors);
    }

    /// One statement by itself.
    fn alone(&self, transaction: u64, operation: WriteOperation) -> Signal {
        let operations = smallvec![operation];
        let request = WriteRequest { operations, commit: Some(Epoch(0)), ..self.write(transaction, &[]) };
        Signal::Write(Box::new(request))
    }

    fn coordinate(&self, transaction: u64, participants: Vec<Participant>) -> Signal {
        Signal::Coordinate(Box::new(CoordinateRequest {
            request: RequestId(transaction),
            transaction: TransactionId(transaction),
            participants,
            epoch_seen: Epoch(0),
        }))
    }

    /// Transaction 1 stages a row at the primary of `slot_of_second`.
    fn stage_at_second(&mut self) -> Participant {
        let slot = self.slot_of_second();
        let row = self.ids_in(slot, 1);
        let request = WriteRequest { slot, ..self.write(1, &row) };
        assert!(is_written(&self.ask(2, Signal::Write(Box::new(request))), 1));
        Participant { slot, ..self.participant(1) }
    }

    /// Node 1 has begun to publish transaction 1 in slices, and stands still: what it waits for.
    fn stop_in_publication(&mut self, ids: &[i64]) -> Signal {
        let request = WriteRequest { commit: Some(Epoch(0)), ..self.write(1, ids) };
        self.send(SESSION, ldm(1), Signal::Write(Box::new(request)));
        let is_continue =
            |envelope: &Envelope| matches!(envelope.signal, Signal::Continue(_)) && envelope.to == ldm(1);
        self.run_but(is_continue);
        let next = self.queue.iter().find(|envelope| is_continue(envelope)).expect("a slice");
        next.signal.clone()
    }
}

// ---- what a lost primary had ----------------------------------------------------------------------------------------

#[test]
fn locks_of_a_lost_primary_are_missed() {
    let mut all = Nodes::new(2);
    let [first, second] = all.row_ids();
    all.stage_lock(1, first, LockMode::Exclusive);
    all.lose_first(&[2]);
    all.settle();
    all.run();
    // A session that has not noticed goes on, with as many locks as it had.
    let read = all.lock(1, second, (LockMode::Exclusive, LockWait::NoWait));
    assert!(is_read(&all.ask(2, Signal::Read(Box::new(read))), 1));
    let participant = Participant { has_writes: false, ..all.participant(1) };
    let (request, transaction) = (RequestId(1), TransactionId(1));
    let commit = CommitOneRequest { request, transaction, participant, epoch_seen: Epoch(0) };
    let heard = all.ask(2, Signal::CommitOne(Box::new(commit)));
    assert!(is_aborted(&heard, 1), "others may have had the first row since: {heard:?}");
}

#[test]
fn rows_of_a_lost_primary_are_missed() {
    let mut all = Nodes::new(2);
    let [first, second] = all.row_ids();
    all.stage(1, &[first]);
    all.lose_first(&[2]);
    all.settle();
    all.run();
    let request = all.write(1, &[second]);
    assert!(is_written(&all.ask(2, Signal::Write(Box::new(request))), 1));
    let commit = all.commit(1, 1);
    let heard = all.ask(2, commit);
    assert!(is_aborted(&heard, 1), "{heard:?}");
    all.assert_committed(&[first, second], &[]);
}

#[test]
fn what_is_bound_to_an_old_table_does_not_commit() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    all.alter(1, 2);
    all.alter(1, 3);
    let commit = all.commit(1, 1);
    let heard = all.ask(1, commit);
    assert!(is_aborted(&heard, 1), "its rows may lack entries of an index: {heard:?}");
    all.assert_committed(&[row], &[]);
}

// ---- coordinators ---------------------------------------------------------------------------------------------------

#[test]
fn an_abort_is_told_when_a_participant_has_recorded_it() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    // Node 2 has nothing of it, and refuses.
    let there = Participant { slot: all.slot_of_second(), ..all.participant(1) };
    let request = all.coordinate(1, vec![all.participant(1), there]);
    all.send(SESSION, tc(1), request);
    let heard = all.run_but(|envelope| matches!(envelope.signal, Signal::Outcome(_)));
    assert!(!is_told(&heard), "who recovers it may find it prepared: {heard:?}");
    assert!(is_aborted(&all.run(), 1));
    all.assert_committed(&[row], &[]);
}

#[test]
fn what_was_prepared_in_an_earlier_view_does_not_count() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.stage_lock(1, row, LockMode::Exclusive);
    let there = all.stage_at_second();
    let here = Participant { has_writes: false, ..all.participant(1) };
    let request = all.coordinate(1, vec![here, there]);
    all.send(SESSION, tc(3), request);
    let heard = all.run_but(is_prepare_of(there.slot));
    assert!(!is_told(&heard), "{heard:?}");
    // The lock is lost with node 1; only then the other participant prepares.
    all.lose_first(&[2, 3]);
    let heard = all.run_but(is_prepare_of(here.slot));
    assert!(!is_told(&heard), "{heard:?}");
    all.settle();
    let heard = all.run();
    assert!(is_aborted(&heard, 1), "{heard:?}");
}

#[test]
fn a_replica_that_is_given_up_hears_the_outcome_when_it_is_back() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    let there = all.stage_at_second();
    let request = all.coordinate(1, vec![all.participant(1), there]);
    all.send(SESSION, tc(1), request);
    let heard = all.run_but(is_outcome_to(3));
    assert!(is_committed(&heard, 1), "{heard:?}");
    assert!(all.lose(is_outcome_to(3)) > 0);
    all.send(SESSION, tc(1), Signal::Confirm { transaction: TransactionId(1) });
    all.run();
    all.give_up(1, &[NodeId(3)]);
    all.run();
    assert_eq!(all.coordinated(1), 1, "node 3 has not recorded it");
    // The connection is there again, and with it the next view.
    all.give_up(1, &[]);
    all.hand_over_to(1);
    all.install_at(&[1, 2, 3]);
    all.run();
    all.assert_committed(&[row], &[row]);
    all.assert_idle();
    assert_eq!(all.coordinated(1), 0);
}

/// A view comes while the rows are marked in slices: without the replica, or with another primary too.
#[test]
fn a_session_hears_that_its_commit_was_given_up_in_spite_of_a_view() {
    let is_continue =
        |envelope: &Envelope| matches!(envelope.signal, Signal::Continue(_)) && envelope.to == ldm(1);
    for primary in [NodeId(1), NodeId(2)] {
        let mut all = Nodes::new(3);
        let ids = all.ids[..SLICES].to_vec();
        all.stage(1, &ids);
        let commit = all.commit(1, u32::try_from(SLICES).expect("few"));
        all.send(SESSION, ldm(1), commit);
        all.run_but(is_replicate_to(3));
        assert_eq!(all.lose(is_replicate_to(3)), 1);
        all.give_up(1, &[NodeId(3)]);
        assert!(!is_told(&all.run_but(is_continue)));
        all.leave_out(3, 1);
        all.view.slots[all.slot.0 as usize].primary = primary;
        all.install_at(&[1, 2]);
        let mut heard = all.run_but(is_continue);
        heard.extend(all.run());
        assert!(is_told(&heard), "primary {primary}: {heard:?}");
    }
}

#[test]
fn a_session_that_was_out_of_reach_hears_what_became_of_its_commit() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    let there = all.stage_at_second();
    let request = all.coordinate(1, vec![all.participant(1), there]);
    all.send(SESSION, tc(1), request);
    // (The answer is lost with the connection.)
    all.run();
    all.install_with(1, &[NodeId(SQL_NODE)]);
    all.run();
    all.install_with(1, &[]);
    let ask = all.ask_outcome(1);
    assert!(is_committed(&all.ask(1, ask), 1));
}

// ---- takeover -------------------------------------------------------------------------------------------------------

#[test]
fn what_a_member_has_published_is_not_replicated_again() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    // Sessions of the primary's node ask nobody else, so nobody keeps the outcome for them. Node 2 does not hear it.
    let insert = all.put(row, 10);
    let request = all.alone(1, insert);
    all.send(Address::new(NodeId(1), ModuleKind::Sql, 0), ldm(1), request);
    assert!(is_written(&all.run_but(is_decided_to(2)), 1));
    let delete = all.alone(2, WriteOperation::Delete { key: all.key(row), filter: None });
    all.send(SESSION, ldm(1), delete);
    assert!(is_written(&all.run_but(is_decided_to(2)), 2));
    assert_eq!(all.lose(is_decided_to(2)), 2);
    all.lose_first(&[2, 3]);
    all.settle();
    all.run();
    all.assert_committed(&[row], &[]);
    all.assert_idle();
}

#[test]
fn what_is_stacked_on_a_row_is_replicated_in_its_order() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.leave_out(3, 1);
    all.install_at(&[1, 2]);
    all.settle();
    all.run();
    let insert = all.put(row, 10);
    let request = all.alone(1, insert);
    all.send(SESSION, ldm(1), request);
    assert!(is_written(&all.run_but(is_decided_to(2)), 1));
    let delete = all.alone(2, WriteOperation::Delete { key: all.key(row), filter: None });
    all.send(SESSION, ldm(1), delete);
    all.run_but(is_decided_to(2));
    all.queue.clear();
    // Node 2 knows neither outcome, and node 3, which comes back in another life, neither transaction.
    all.leave_out(1, 2);
    all.let_join(3);
    all.begin_again(3);
    all.install_at(&[2, 3]);
    all.settle();
    all.run();
    for node in [2, 3] {
        assert_eq!(all.committed(node, &[row]), [], "at node {node}");
    }
}

#[test]
fn a_publication_that_ends_in_a_later_view_names_no_place() {
    let mut all = Nodes::new(3);
    let ids = all.ids[..SLICES].to_vec();
    let slice = all.stop_in_publication(&ids);
    let is_slice = |envelope: &Envelope| envelope.to == ldm(1) && envelope.signal == slice;
    all.hand_over_to(1);
    all.install_at(&[1, 2, 3]);
    all.run_but(is_slice);
    // Another one has the same place in the new stream; node 2 has applied it, node 3 has no room.
    all.fill_memory(3, Urgency::Replica);
    let other = all.ids[SLICES];
    let large = all.put(other, 1 << 20);
    let request = all.alone(2, large);
    all.send(SESSION, ldm(1), request);
    all.run_but(|envelope| is_slice(envelope) || is_replicate_to(3)(envelope));
    all.run_but(is_replicate_to(3));
    assert!(is_refused(&all.run(), 2));
    all.assert_committed(&[other], &[]);
    all.assert_committed(&ids, &ids);
    all.assert_idle();
}

/// Node 1 leads again before it heard that node 2 had taken its line, and publishes in slices before it takes that
/// back; meanwhile node 2 dies.
#[test]
fn a_wait_that_dies_on_its_way_back_is_lost() {
    let mut all = Nodes::new(3);
    let ids = all.ids[..=SLICES].to_vec();
    let (row, sliced) = ids.split_first().expect("a row");
    all.stage(2, &[*row]);
    all.stage_wait(3, *row);
    all.stage(1, sliced);
    let there = all.stage_at_second();
    let here = all.participant(u32::try_from(SLICES).expect("few"));
    let request = all.coordinate(1, vec![here, there]);
    all.send(SESSION, tc(3), request);
    let is_late =
        |envelope: &Envelope| is_outcome_to(1)(envelope) || matches!(envelope.signal, Signal::Taken { .. });
    assert!(is_committed(&all.run_but(is_late), 1));
    all.hand_over_to(2);
    all.install_at(&[1, 2, 3]);
    all.run_but(is_late);
    assert!(all.lose(is_late) > 1);
    all.hand_over_to(1);
    all.install_at(&[1, 2, 3]);
    let is_slice =
        |envelope: &Envelope| matches!(envelope.signal, Signal::Continue(_)) && envelope.to == ldm(1);
    let heard = all.run_but(is_slice);
    assert!(!heard.iter().any(|signal| matches!(signal, Signal::WaitMoved { .. })), "{heard:?}");
    assert!(all.queue.iter().any(is_slice), "node 1 publishes in slices");
    all.leave_out(2, 3);
    all.install_at(&[1, 3]);
    let heard = all.run();
    assert!(is_moved(&heard, 3, None), "{heard:?}");
}

/// Transaction 1 is at node 3 and not at node 2; what its session hears before node 3 has recorded the abort.
fn ask_about_what_is_lacking(mut all: Nodes, lacking: usize) {
    let [row] = all.row_ids();
    assert_eq!(all.lose(is_replicate_to(2)), lacking);
    all.run();
    all.lose_first(&[2, 3]);
    all.run_but(is_outcome_to(3));
    let ask = all.ask_outcome(1);
    all.send(SESSION, ldm(2), ask);
    let heard = all.run_but(is_outcome_to(3));
    assert!(!is_told(&heard), "node 3 may be primary next, and has it: {heard:?}");
    assert!(is_aborted(&all.run(), 1));
    all.settle();
    all.run();
    all.assert_committed(&[row], &[]);
    all.assert_idle();
}

#[test]
fn the_abort_of_what_the_new_primary_lacks_is_recorded_first() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    let commit = all.commit(1, 1);
    all.send(SESSION, ldm(1), commit);
    all.run_but(|envelope| matches!(envelope.signal, Signal::Replicate(_)));
    ask_about_what_is_lacking(all, 1);
}

#[test]
fn the_same_of_a_commit_of_several_participants() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.stage(1, &[row]);
    let request = all.coordinate(1, vec![all.participant(1)]);
    all.send(SESSION, tc(1), request);
    all.run_but(|envelope| matches!(envelope.signal, Signal::Replicate(_)));
    ask_about_what_is_lacking(all, 1);
}

// ---- members that join ----------------------------------------------------------------------------------------------

#[test]
fn what_is_being_published_when_a_copy_begins_is_copied() {
    let mut all = Nodes::new(3);
    all.leave_out(3, 1);
    all.install_at(&[1, 2]);
    all.settle();
    all.run();
    let ids = all.ids[..SLICES].to_vec();
    let slice = all.stop_in_publication(&ids);
    all.let_join(3);
    all.begin_again(3);
    all.install_at(&[1, 2, 3]);
    all.settle();
    // (A copy that waits looks again and again.)
    all.run_for(200, |envelope| envelope.to == ldm(1) && envelope.signal == slice);
    all.run();
    assert_eq!(all.committed(3, &ids), ids);
}

/// Node 3 was left out and joins with nothing; the others have more rows than one piece of a copy.
fn join_beside_many_rows(all: &mut Nodes) -> Vec<i64> {
    let ids = all.ids[..3 * LARGE].to_vec();
    all.stage(1, &ids);
    let commit = all.commit(1, u32::try_from(ids.len()).expect("few"));
    assert!(is_committed(&all.ask(1, commit), 1));
    all.leave_out(3, 1);
    all.install_at(&[1, 2]);
    all.settle();
    all.run();
    all.let_join(3);
    all.begin_again(3);
    all.install_at(&[1, 2, 3]);
    all.settle();
    ids
}

/// The position of what node 3 has applied holds in the next view, whoever leads then. Pieces that were on their way
/// are sent once more.
#[test]
fn a_copy_goes_on_behind_what_was_applied() {
    let mut all = Nodes::new(3);
    let ids = join_beside_many_rows(&mut all);
    let is_applied = |envelope: &Envelope, slot| match envelope.signal {
        Signal::CopyApplied { slot: of, .. } => of == slot && envelope.to == ldm(1),
        _ => false,
    };
    let mut applied = 0;
    while applied < 3 {
        let envelope = all.take_next().expect("a copy is under way");
        applied += u32::from(is_applied(&envelope, all.slot));
        let _ = all.deliver(envelope);
    }
    let there = all.committed(3, &ids).len();
    assert!(0 < there && there < ids.len(), "{there} rows are there");
    all.hand_over_to(2);
    all.install_at(&[1, 2, 3]);
    all.settle();
    let mut sent = 0;
    while let Some(envelope) = all.take_next() {
        if let Signal::CopyPiece(piece) = &envelope.signal
            && (envelope.from, piece.slot) == (ldm(2), all.slot)
        {
            sent += piece.rows.len();
        }
        let _ = all.deliver(envelope);
    }
    assert_eq!(all.committed(3, &ids), ids);
    assert_eq!(sent, ids.len() - there);
}

/// Node 3 has heard that a row is deleted, and node 2, which leads then, has not.
#[test]
fn what_a_joiner_knows_to_be_deleted_is_not_copied_in_the_next_view() {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.stage(2, &[row]);
    let commit = all.commit(2, 1);
    assert!(is_committed(&all.ask(1, commit), 2));
    all.leave_out(3, 1);
    all.install_at(&[1, 2]);
    all.settle();
    all.run();
    all.let_join(3);
    all.begin_again(3);
    all.install_at(&[1, 2, 3]);
    all.settle();
    let is_piece = |envelope: &Envelope| matches!(envelope.signal, Signal::CopyPiece(_));
    all.run_but(is_piece);
    let delete = WriteOperation::Delete { key: all.key(row), filter: None };
    let delete = WriteRequest { operations: vec![delete].into(), ..all.write(1, &[]) };
    all.send(SESSION, ldm(1), Signal::Write(Box::new(delete)));
    assert!(is_written(&all.run_but(is_piece), 1));
    let there = all.slot_of_second();
    let other = all.ids_in(there, 1);
    let put = WriteRequest { slot: there, ..all.write(1, &other) };
    all.send(SESSION, ldm(2), Signal::Write(Box::new(put)));
    assert!(is_written(&all.run_but(is_piece), 1));
    let participants = vec![all.participant(1), Participant { slot: there, ..all.participant(1) }];
    let request = all.coordinate(1, participants);
    all.send(SESSION, tc(2), request);
    all.run_but(|envelope| is_piece(envelope) || is_outcome_to(1)(envelope) || is_outcome_to(2)(envelope));
    all.lose(|envelope| is_piece(envelope) || envelope.to == ldm(1));
    all.leave_out(1, 2);
    all.install_at(&[2, 3]);
    all.settle();
    all.run_but(is_outcome_to(2));
    assert_eq!((all.committed(2, &[row]), all.committed(3, &[row])), (vec![row], vec![]));
    all.run();
    assert_eq!((all.committed(2, &[row]), all.committed(3, &[row])), (vec![], vec![]));
}

/// Node 3 is back, and lacks a delete. It asks for the rows of that range, and the primary is lost before it answers.
#[test]
fn a_range_that_differs_is_asked_for_in_the_next_view() {
    let mut all = Nodes::new(3);
    let ids = all.ids[..2 * LARGE].to_vec();
    all.stage(1, &ids);
    let commit = all.commit(1, u32::try_from(ids.len()).expect("few"));
    assert!(is_committed(&all.ask(1, commit), 1));
    all.keep(3);
    all.run();
    all.leave_out(3, 1);
    all.install_at(&[1, 2]);
    all.settle();
    all.run();
    let gone = ids.iter().copied().min_by_key(|id| all.key(*id)).expect("some");
    let delete = all.alone(2, WriteOperation::Delete { key: all.key(gone), filter: None });
    assert!(is_written(&all.ask(1, delete), 2));
    all.let_join(3);
    all.begin_again(3);
    all.install_at(&[1, 2, 3]);
    all.settle();
    let slot = all.slot;
    let is_exact = |envelope: &Envelope| match &envelope.signal {
        Signal::CopyPiece(piece) => piece.slot == slot && piece.ranges.iter().any(|range| range.is_exact),
        _ => false,
    };
    all.run_but(is_exact);
    assert!(all.lose(is_exact) > 0, "node 1 was asked");
    all.leave_out(1, 2);
    all.install_at(&[2, 3]);
    all.settle();
    let is_applied =
        |envelope: &Envelope| matches!(envelope.signal, Signal::CopyApplied { slot: of, .. } if of == slot);
    all.run_but(is_applied);
    let first = all.queue.iter().find(|envelope| is_applied(envelope)).map(|envelope| &envelope.signal);
    let Some(Signal::CopyApplied { differing, .. }) = first else { panic!("{first:?}") };
    let starts: Vec<_> = differing.iter().map(|bounds| (bounds.table, bounds.after.clone())).collect();
    assert_eq!(starts, [(TABLE, None)]);
    all.run();
    assert_eq!(all.committed(3, &ids), all.committed(2, &ids));
    assert_eq!(all.committed(3, &[gone]), []);
}

/// The position of what node 3 has applied may be behind an entry of an index.
#[test]
fn a_copy_goes_on_in_the_midst_of_an_index() {
    let mut all = Nodes::new(3);
    all.add_index();
    let ids = join_beside_many_rows(&mut all);
    let first = ids.iter().map(|id| all.key(*id)).min().expect("some");
    let is_later = |envelope: &Envelope| match &envelope.signal {
        Signal::CopyPiece(piece) => piece.entries.iter().any(|copied| copied.keys[0] != first),
        _ => false,
    };
    all.run_but(is_later);
    assert_eq!(all.committed(3, &ids), ids, "all rows are there");
    assert!(all.lose(is_later) > 0, "and some entries");
    all.hand_over_to(2);
    all.install_at(&[1, 2, 3]);
    all.settle();
    let is_piece = |envelope: &Envelope| matches!(envelope.signal, Signal::CopyPiece(_));
    all.run_but(is_piece);
    let sent = all.queue.iter().map(|envelope| match &envelope.signal {
        Signal::CopyPiece(piece) if piece.slot == all.slot => (piece.rows.len(), piece.entries.len()),
        _ => (0, 0),
    });
    assert!(sent.clone().all(|(rows, _)| rows == 0) && sent.clone().any(|(_, entries)| entries > 0));
    all.run();
    all.let_sync(3);
    all.install_at(&[1, 2, 3]);
    all.settle();
    all.run();
    assert_eq!(all.found_by_index(3), u32::try_from(ids.len()).expect("few"));
}

/// A copy rests after each piece only where rounds without a piece are long: the thread has other work.
#[test]
fn a_copy_gives_way_to_a_thread_that_has_work() {
    for (round, rests) in [(Duration::from_micros(5), false), (Duration::from_micros(100), true)] {
        let mut all = Nodes::new(3);
        let ids = all.ids[..LARGE].to_vec();
        all.stage(1, &ids);
        let commit = all.commit(1, u32::try_from(LARGE).expect("few"));
        assert!(is_committed(&all.ask(1, commit), 1));
        all.leave_out(3, 1);
        all.install_at(&[1, 2]);
        all.settle();
        all.run();
        all.let_join(3);
        all.begin_again(3);
        all.install_at(&[1, 2, 3]);
        all.settle();
        all.run_in_rounds(round);
        assert_eq!(all.committed(3, &ids).len() < LARGE, rests, "rounds of {round:?}");
        all.pass(Duration::from_millis(900), |_| false);
        assert_eq!(all.committed(3, &ids), ids);
    }
}

/// Its outcome comes while it is shipped again to a member that joins.
#[test]
fn what_is_decided_while_it_is_shipped_again_is_copied() {
    let mut all = Nodes::new(3);
    all.leave_out(3, 1);
    all.install_at(&[1, 2]);
    all.settle();
    all.run();
    let ids = all.ids[..LARGE].to_vec();
    all.stage(1, &ids);
    let there = all.stage_at_second();
    let here = all.participant(u32::try_from(LARGE).expect("few"));
    let request = all.coordinate(1, vec![here, there]);
    all.send(SESSION, tc(2), request);
    assert!(is_committed(&all.run_but(is_outcome_to(1)), 1));
    assert!(all.lose(is_outcome_to(1)) > 0);
    all.let_join(3);
    all.begin_again(3);
    all.install_at(&[1, 2, 3]);
    let is_piece =
        |envelope: &Envelope| matches!(envelope.signal, Signal::ReplicateAhead(_)) && envelope.to == ldm(3);
    all.run_but(|envelope| is_outcome_to(1)(envelope) || is_piece(envelope));
    assert!(all.queue.iter().any(is_piece), "it is shipped again");
    all.settle();
    all.run_for(400, |_| false);
    all.run();
    assert_eq!(all.committed(3, &ids), ids);
    all.assert_idle();
}

/// Node 3 joins while node 2 takes over what node 1 has acknowledged in transaction 1 and told nobody. Node 3 has no
/// room for it.
fn take_over_beside_a_full_joiner(mut all: Nodes, row: i64) {
    all.queue.clear();
    all.leave_out(1, 2);
    all.let_join(3);
    all.begin_again(3);
    all.install_at(&[2, 3]);
    all.fill_memory_but(3, Urgency::Replica, SOME_PAGES);
    all.settle();
    all.run();
    all.leave_out(3, 2);
    all.view.groups.iter_mut().for_each(|group| group.joining.clear());
    all.install(2);
    all.settle();
    all.run();
    assert_eq!(all.committed(2, &[row]), [row], "its session has heard that it is committed");
    assert_eq!(all.ended.get(&3), Some(&EXIT_CANNOT_JOIN), "it gives up joining");
    all.assert_idle();
}

/// Without node 3, which comes back later; transaction 1 is to be a row that takes more memory than it will have.
fn with_a_large_row() -> (Nodes, i64) {
    let mut all = Nodes::new(3);
    let [row] = all.row_ids();
    all.leave_out(3, 1);
    all.install_at(&[1, 2]);
    all.settle();
    all.run();
    (all, row)
}

#[test]
fn a_joiner_without_memory_aborts_nothing_acknowledged() {
    let (mut all, row) = with_a_large_row();
    let request = all.alone(1, all.put(row, LARGE_ROW));
    all.send(SESSION, ldm(1), request);
    assert!(is_written(&all.run_but(is_decided_to(2)), 1));
    take_over_beside_a_full_joiner(all, row);
}

#[test]
fn nor_what_several_participants_have_prepared() {
    let (mut all, row) = with_a_large_row();
    let operations = smallvec![all.put(row, LARGE_ROW)];
    let write = WriteRequest { operations, ..all.write(1, &[]) };
    assert!(is_written(&all.ask(1, Signal::Write(Box::new(write))), 1));
    let request = all.coordinate(1, vec![all.participant(1)]);
    all.send(SESSION, tc(1), request);
    assert!(is_committed(&all.run_but(is_outcome_to(2)), 1));
    take_over_beside_a_full_joiner(all, row);
}

#[test]
fn a_joiner_without_memory_stops_no_commit() {
    let (mut all, row) = with_a_large_row();
    all.let_join(3);
    all.begin_again(3);
    all.install_at(&[1, 2, 3]);
    all.settle();
    all.run();
    all.fill_memory_but(3, Urgency::Replica, SOME_PAGES);
    let request = all.alone(1, all.put(row, LARGE_ROW));
    assert_eq!(all.ask(1, request), [], "it waits for a view without node 3");
    assert_eq!(all.ended.get(&3), Some(&EXIT_CANNOT_JOIN));
    all.leave_out(3, 1);
    all.view.groups.iter_mut().for_each(|group| group.joining.clear());
    all.install_at(&[1, 2]);
    all.settle();
    assert!(is_written(&all.run(), 1));
    all.assert_committed(&[row], &[row]);
}

/// The epochs of which a node's ldm has everything, as it has just said.
fn whole(heard: &[Signal]) -> Vec<u64> {
    let epoch = |signal: &Signal| match signal {
        Signal::EpochWhole { epoch } => Some(epoch.0),
        _ => None,
    };
    heard.iter().filter_map(epoch).collect()
}

/// The master has closed this epoch.
fn closed(epoch: u64) -> Signal {
    Signal::EpochClosed { epoch: Epoch(epoch), is_awaited: false, closed_at_us: 0, stamped_for_us: None }
}

#[test]
fn a_backup_has_an_epoch_whole_when_it_has_heard_the_outcomes() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    let request = all.alone(1, all.put(row, 10));
    all.send(SESSION, ldm(1), request);
    assert!(is_written(&all.run_but(is_decided_to(2)), 1), "it is acknowledged");
    // Its primary has nothing of epoch 1 to decide any more: the master closes it.
    for node in [1, 2] {
        all.send(Address::main(NodeId(node)), ldm(node), Signal::EpochOpen { epoch: Epoch(2) });
        all.send(Address::main(NodeId(node)), ldm(node), closed(1));
    }
    assert_eq!(whole(&all.run_but(is_decided_to(2))), [1], "of node 1: node 2 does not know the outcome");
    assert_eq!(all.committed(2, &[row]), []);
    assert_eq!(whole(&all.run()), [1], "of node 2");
    all.assert_committed(&[row], &[row]);
    // A view comes between a main and its ldm: what is closed is closed.
    all.send(Address::main(NodeId(2)), ldm(2), closed(2));
    all.hand_over_to(2);
    all.install_at(&[1, 2]);
    assert_eq!(whole(&all.run()), [2]);
}

// ---- deliberate bugs ------------------------------------------------------------------------------------------------

/// The cases that run with each bug, and have to fail.
#[cfg(feature = "mutants")]
mod bugs {
    use super::super::transcripts::play;
    use super::super::{
        a_participant_that_does_not_hold_the_operations_aborts_all, epochs, grants, handover,
    };
    use stdx::planted::survivors;
    use transaction::mutants::{DIRECTED, Mutant, activate};

    const TESTS: [(Mutant, fn()); 34] = [
        (Mutant::LocksOnlySurvive, super::locks_of_a_lost_primary_are_missed),
        (Mutant::StagedElsewhereAccepted, super::rows_of_a_lost_primary_are_missed),
        (Mutant::LocksBeforeSettled, || play("takeover/no_lock_before_all_know")),
        (Mutant::LockUnleased, || play("locks/expired_lease")),
        (Mutant::OperationsUncounted, a_participant_that_does_not_hold_the_operations_aborts_all),
        (Mutant::OldBindingCommits, super::what_is_bound_to_an_old_table_does_not_commit),
        (Mutant::RefusalCounted, || play("commit/refused_by_a_backup")),
        (Mutant::AbortToldUnrecorded, super::an_abort_is_told_when_a_participant_has_recorded_it),
        (Mutant::PreparesKeptAcrossViews, super::what_was_prepared_in_an_earlier_view_does_not_count),
        (
            Mutant::GivenUpCountsAsRecorded,
            super::a_replica_that_is_given_up_hears_the_outcome_when_it_is_back,
        ),
        (Mutant::LostSessionConfirms, super::a_session_that_was_out_of_reach_hears_what_became_of_its_commit),
        (Mutant::ConsumedMeansNothing, super::what_a_member_has_published_is_not_replicated_again),
        (Mutant::ReplicatedOutOfOrder, super::what_is_stacked_on_a_row_is_replicated_in_its_order),
        (Mutant::OldStreamNamed, super::a_publication_that_ends_in_a_later_view_names_no_place),
        (Mutant::DropToldUnrecorded, super::the_abort_of_what_the_new_primary_lacks_is_recorded_first),
        (Mutant::DropToldEarly, super::the_same_of_a_commit_of_several_participants),
        (Mutant::CopyHalfPublished, super::what_is_being_published_when_a_copy_begins_is_copied),
        (Mutant::JoinerRefuses, super::a_joiner_without_memory_aborts_nothing_acknowledged),
        (Mutant::SessionsNotTold, handover::what_is_open_goes_on_at_the_new_primary),
        (
            Mutant::LostOperationsUnnoticed,
            handover::a_transaction_with_too_many_operations_is_lost_with_its_wait,
        ),
        (Mutant::NoSecondDrain, super::a_backup_has_an_epoch_whole_when_it_has_heard_the_outcomes),
        (Mutant::WantedAgainstClosed, epochs::a_view_closes_again_what_a_member_may_not_have_heard),
        (Mutant::DurableByOne, epochs::an_epoch_is_durable_when_all_members_have_flushed_it),
        (
            Mutant::DurableWithoutRestorable,
            epochs::nothing_is_durable_without_a_restorable_member_of_each_group,
        ),
        (Mutant::KnownDIgnored, epochs::a_new_master_says_no_less_than_a_member_knows),
        (Mutant::CountedBelowFirst, epochs::a_disk_does_not_count_below_its_first_epoch),
        (Mutant::WaiterOutlivesRestart, epochs::what_is_durable_after_a_restart_answers_nobody_from_before),
        (Mutant::DifferenceNotExact, || play("copy/difference")),
        (Mutant::EmptyTableSkipped, || play("copy/difference_of_nothing")),
        (Mutant::GrantReadBeforeLock, grants::a_row_is_granted_when_its_lock_is_free),
        (Mutant::CursorAheadOfApplied, super::a_copy_goes_on_behind_what_was_applied),
        (
            Mutant::CursorForgetsDeleted,
            super::what_a_joiner_knows_to_be_deleted_is_not_copied_in_the_next_view,
        ),
        (Mutant::AwaitedForgotten, super::a_range_that_differs_is_asked_for_in_the_next_view),
        (Mutant::CursorSkipsIndexes, super::a_copy_goes_on_in_the_midst_of_an_index),
    ];

    #[test]
    fn every_listed_bug_fails_its_test() {
        assert_eq!(TESTS.map(|(mutant, _)| mutant), DIRECTED);
        assert_eq!(survivors(&TESTS, activate), []);
    }
}
