use super::{Spent, WriteRequest};
use crate::program::{LockWait, Operations, TableRef, WriteOperation};
use crate::signal::RequestId;
use stdx::smallvec;
use types::{NodeId, SlotId, TableId, TransactionId};

fn put(size: usize) -> WriteOperation {
    WriteOperation::Put { key: [7; 8].into(), row: vec![7; size].into() }
}

fn is_kept(operations: Operations, from: u16) -> bool {
    let request = WriteRequest {
        request: RequestId(1),
        transaction: TransactionId(1),
        slot: SlotId(1),
        table: TableRef { id: TableId(200), version: 1 },
        operations,
        wait: LockWait::NoWait,
        commit: None,
        known: 0,
        under: None,
    };
    Spent::of(Box::new(request), NodeId(from), NodeId(1)).into_request().is_some()
}

/// An answer may wait for backups, and so would the rows of its request.
#[test]
fn only_small_requests_wait_with_their_answers() {
    assert!(is_kept(Operations::new(), 1));
    assert!(is_kept(smallvec![put(100)], 1));
    assert!(!is_kept(smallvec![put(100)], 2), "of another node");
    assert!(!is_kept(smallvec![put(1 << 20)], 1));
    assert!(!is_kept(smallvec![put(100), put(100)], 1));
}
