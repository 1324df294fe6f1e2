//! Grants: locked reads whose rows a session on the primary's node reads itself.

use super::nodes::{Nodes, SESSION, WAIT, ldm};
use protocol::program::{Access, LockMode, LockWait, RowBatch};
use protocol::signal::{Granted, ReadBatch, ReadRequest, RequestId};
use protocol::{Address, ModuleKind, Signal};
use types::{NodeId, ViewNumber};

/// A session on the primary's node.
const HERE: Address = Address::new(NodeId(1), ModuleKind::Sql, 0);

impl Nodes {
    /// A transaction of a session asks node 1 to lock rows, and offers to read them itself.
    fn offer(&mut self, session: Address, transaction: u64, ids: &[i64], wait: LockWait) -> Vec<Signal> {
        let request = self.lock(transaction, ids[0], (LockMode::Exclusive, wait));
        let keys = ids.iter().map(|id| self.key(*id)).collect();
        let request = ReadRequest { access: Access::Keys(keys), grant_only: true, ..request };
        self.send(session, ldm(1), Signal::Read(Box::new(request)));
        self.run()
    }

    /// These rows are there.
    fn fill(&mut self, ids: &[i64]) {
        self.stage(1, ids);
        let commit = self.commit(1, u32::try_from(ids.len()).expect("few"));
        self.ask(1, commit);
    }
}

/// The answer to a transaction's request.
fn answer(heard: &[Signal], transaction: u64) -> Option<&ReadBatch> {
    heard.iter().find_map(|signal| match signal {
        Signal::ReadDone(done) if done.request == RequestId(transaction) => done.result.as_ref().ok(),
        _ => None,
    })
}

#[test]
fn a_primary_grants_to_its_own_node_and_sends_rows_to_others() {
    let mut all = Nodes::new(2);
    let [row, other, third, absent] = all.row_ids();
    all.fill(&[row, other, third]);
    let heard = all.offer(HERE, 2, &[other], WAIT);
    let granted = |view, omitted| Some(Granted { view: ViewNumber(view), omitted });
    assert_eq!(answer(&heard, 2).and_then(|batch| batch.granted.clone()), granted(1, vec![]));
    let heard = all.offer(HERE, 3, &[row, absent, other], LockWait::SkipLocked);
    let batch = answer(&heard, 3).expect("an answer");
    assert_eq!((&batch.granted, &batch.rows), (&granted(1, vec![1, 2]), &RowBatch::default()));
    assert_eq!(batch.operations, 2, "an absent key stays locked");
    let heard = all.offer(SESSION, 4, &[third], WAIT);
    let batch = answer(&heard, 4).expect("an answer");
    assert_eq!((&batch.granted, batch.rows.count), (&None, 1));
    for transaction in 2..=4 {
        let abort = all.abort(transaction);
        all.ask(1, abort);
    }
    all.assert_idle();
}

#[test]
pub(super) fn a_row_is_granted_when_its_lock_is_free() {
    let mut all = Nodes::new(2);
    let [row] = all.row_ids();
    all.fill(&[row]);
    all.offer(SESSION, 2, &[row], WAIT);
    let heard = all.offer(HERE, 3, &[row], WAIT);
    assert_eq!(answer(&heard, 3), None, "another transaction holds the row");
    let abort = all.abort(2);
    let heard = all.ask(1, abort);
    let granted = Granted { view: ViewNumber(1), omitted: Vec::new() };
    assert_eq!(answer(&heard, 3).and_then(|batch| batch.granted.as_ref()), Some(&granted));
    let abort = all.abort(3);
    all.ask(1, abort);
    all.assert_idle();
}

#[test]
fn a_wait_that_moves_is_answered_with_rows() {
    let mut all = Nodes::new(2);
    let [row, other] = all.row_ids();
    all.fill(&[row, other]);
    all.offer(SESSION, 2, &[row], WAIT);
    let heard = all.offer(HERE, 3, &[other, row], WAIT);
    assert_eq!(answer(&heard, 3), None, "the second row is locked");
    all.hand_over_to(2);
    all.install_at(&[1, 2]);
    assert_eq!(answer(&all.run(), 3), None);
    let abort = all.abort(2);
    let heard = all.ask(2, abort);
    let batch = answer(&heard, 3).expect("its turn has come");
    assert_eq!((&batch.granted, batch.rows.count, batch.operations), (&None, 2, 2));
    let abort = all.abort(3);
    all.ask(2, abort);
    all.assert_idle();
}
