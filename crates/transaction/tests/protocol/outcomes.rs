//! How long outcomes are kept: until whoever asked knows, or cannot ask any more.

use super::nodes::{Nodes, is_committed, ldm, tc};
use protocol::signal::{CoordinateRequest, RequestId};
use protocol::{Address, ModuleKind, Signal};
use stdx::Duration;
use types::{Epoch, NodeId, TransactionId};

#[test]
fn outcomes_of_a_node_that_left_are_forgotten_though_nothing_else_happens() {
    let mut all = Nodes::new(3);
    let session = Address::new(NodeId(3), ModuleKind::Sql, 0);
    let row = all.ids[0];
    let write = all.write(1, &[row]);
    all.send(session, ldm(1), Signal::Write(Box::new(write)));
    let request = CoordinateRequest {
        request: RequestId(1),
        transaction: TransactionId(1),
        participants: vec![all.participant(1)],
        epoch_seen: Epoch(0),
    };
    all.run();
    all.send(session, tc(1), Signal::Coordinate(Box::new(request)));
    assert!(is_committed(&all.run(), 1));
    let minute = Duration::from_secs(60);
    all.pass(minute, |_| false);
    assert_eq!(all.marker_counts(), [1, 1, 1], "the session may ask");
    all.leave_out(3, 1);
    all.install_at(&[1, 2]);
    // Node 1's repeated word is not answered.
    all.pass(minute, |envelope| matches!(envelope.signal, Signal::OutcomeRecorded { .. }));
    assert_eq!(all.marker_counts(), [0, 0]);
    all.settle();
    all.run();
    all.assert_committed(&[row], &[row]);
    all.assert_idle();
}
