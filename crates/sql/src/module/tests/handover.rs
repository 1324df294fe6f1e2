//! A session's module when a slot is handed over to another primary.

use super::harness::{BACKUP, Harness, LDM};
use super::{affected, errno, write_in};
use protocol::Signal;
use protocol::program::OperationResult;
use protocol::signal::{CommitOutcome, ReturnedRequest, WriteRequest};
use types::{Epoch, TransactionId};

/// A transaction whose second statement waits for its answer. The first one would begin again if its node were lost.
fn waiting_update(harness: &mut Harness) -> (usize, WriteRequest) {
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let first = write_in(harness.only_signal());
    harness.written_in(&first, vec![OperationResult::Updated], 1);
    harness.response(client);
    harness.query(client, "UPDATE test.t SET v = 2 WHERE id = 7");
    (client, write_in(harness.only_signal()))
}

#[test]
fn a_transaction_that_is_over_is_aborted_where_it_went() {
    let mut harness = Harness::new();
    let (client, write) = waiting_update(&mut harness);
    let (transaction, slot) = (write.transaction, write.slot);
    let moved = |transaction| Signal::TransactionMoved { transaction, slot };
    let abort = |transaction| Signal::Abort { transaction, slot };
    harness.signal(LDM, moved(transaction));
    assert_eq!(harness.signals(), [], "its statement may wait there");
    harness.written_in(&write, vec![OperationResult::Updated], 2);
    assert_eq!(affected(harness.response(client)), 1);
    harness.signal(LDM, moved(transaction));
    assert_eq!(harness.signals(), [], "it goes on");
    harness.query(client, "COMMIT");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("one participant commits") };
    harness.signal(LDM, moved(transaction));
    assert_eq!(harness.signals(), [], "nobody says that it does not commit");
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(9)));
    harness.response(client);
    harness.signals();
    harness.signal(LDM, moved(transaction));
    assert_eq!(harness.only_signal(), abort(transaction));
    // One that this module knows nothing of was an earlier life's.
    harness.signal(LDM, moved(TransactionId(1)));
    assert_eq!(harness.only_signal(), abort(TransactionId(1)));
}

#[test]
fn the_newest_word_of_where_a_request_waits_counts() {
    let mut harness = Harness::with_backup();
    let (client, write) = waiting_update(&mut harness);
    let moved = |to| Signal::WaitMoved { request: write.request, to: Some(to) };
    // It went to node 3 and came back; the first word comes last.
    harness.signal_in(4, BACKUP, moved(LDM));
    harness.signal_in(3, LDM, moved(BACKUP));
    harness.lose(BACKUP.node);
    assert!(harness.no_response(client), "it waits at node 2");
    // It goes there again: the connection broke meanwhile.
    harness.signal_in(5, LDM, moved(BACKUP));
    assert_eq!(errno(harness.response(client)), 1213);
}

#[test]
fn a_request_that_is_returned_goes_to_the_new_primary() {
    let mut harness = Harness::with_backup();
    let (client, write) = waiting_update(&mut harness);
    let returned = Signal::Returned(Box::new(ReturnedRequest::Write(Box::new(write.clone()))));
    harness.hand_over_to(BACKUP.node);
    harness.signal(LDM, returned.clone());
    assert_eq!(harness.only_signal(), Signal::Write(Box::new(write.clone())));
    harness.written_in(&write, vec![OperationResult::Updated], 2);
    assert_eq!(affected(harness.response(client)), 1);
    // Nobody waits for it any more.
    harness.signal(LDM, returned);
    assert_eq!(harness.signals(), []);
}

#[test]
fn a_request_that_is_returned_while_the_new_primary_is_out_of_reach_fails() {
    let mut harness = Harness::with_backup();
    let (client, write) = waiting_update(&mut harness);
    harness.lose(BACKUP.node);
    harness.hand_over_to(BACKUP.node);
    assert!(harness.no_response(client), "it waits at node 2");
    harness.signals();
    harness.signal(LDM, Signal::Returned(Box::new(ReturnedRequest::Write(Box::new(write)))));
    assert_eq!(errno(harness.response(client)), 1213);
}
