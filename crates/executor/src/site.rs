//! Where statements are executed: the module's map, the ids of its transactions, when its clients are woken, and one
//! handler call of it.

use crate::scratch::{ScratchBytes, ScratchTerms};
use protocol::placement::ReadPlacement;
use protocol::program::Operations;
use protocol::signal::{Spent, WriteRequest};
use protocol::{Address, Budget, KnownOutcomes, Outputs, Signal};
use query::{NodeMap, Shared};
use std::sync::Arc;
use stdx::{Deadlines, Duration, FixedMap, Instant, Now};
use types::{NodeId, SlotId, TransactionId, Value, ViewNumber};

/// The things that the clients of a module share.
pub struct Site {
    /// The module's.
    pub address: Address,
    /// The newest map.
    pub map: Arc<NodeMap>,
    /// Clients that are woken, and when.
    pub wakes: Deadlines<u32>,
    /// No wait for a lock is longer, whatever innodb_lock_wait_timeout says.
    pub lock_wait_timeout_max: Option<Duration>,
    /// How long what became of a commit is kept for a client that has not confirmed that it knows.
    pub marker_time: Duration,
    /// Commits that primaries of other nodes decided alone, and whose outcome its clients know.
    pub known: KnownOutcomes,
    /// Transactions that were committed.
    pub commits: u64,
    /// Scratch for statements that have too little memory; None: there is none.
    pub scratch: Option<ScratchTerms>,
    /// The bytes that they have written there and read.
    pub scratch_bytes: ScratchBytes,
    /// Tells the time for what is shown only: EXPLAIN ANALYZE.
    pub stopwatch: Option<fn() -> Instant>,
    /// Which threads of this node read for its clients.
    pub read_placement: ReadPlacement,
    /// The bytes of a key in the making.
    pub(crate) key: Vec<u8>,
    /// The memory of a request that is done, for the next one.
    spare: Option<Box<WriteRequest>>,
    next_transaction: u64,
    /// The client of each transaction that has written or locked something; of each client the last one.
    transactions: FixedMap<TransactionId, u32>,
}

impl Site {
    /// A site whose clients have no transactions yet.
    pub fn new(
        address: Address,
        map: Arc<NodeMap>,
        lock_wait_timeout_max: Option<Duration>,
        marker_time: Duration,
    ) -> Self {
        Self {
            address,
            map,
            wakes: Deadlines::default(),
            lock_wait_timeout_max,
            marker_time,
            known: KnownOutcomes::default(),
            commits: 0,
            scratch: None,
            scratch_bytes: ScratchBytes::default(),
            stopwatch: None,
            read_placement: ReadPlacement::default(),
            key: Vec::new(),
            spare: None,
            next_transaction: 1,
            transactions: FixedMap::default(),
        }
    }

    /// This node.
    #[inline]
    pub fn node(&self) -> NodeId {
        self.address.node
    }

    /// A request of its clients is done.
    pub fn take_back(&mut self, spent: Spent) {
        if let Some(mut request) = spent.into_request() {
            request.operations = Operations::new();
            self.spare = Some(request);
        }
    }

    /// A request about to be sent, in memory that another one had.
    pub(crate) fn boxed(&mut self, request: WriteRequest) -> Box<WriteRequest> {
        match self.spare.take() {
            Some(mut spare) => {
                *spare = request;
                spare
            }
            None => Box::new(request),
        }
    }

    /// An id that no transaction of this incarnation had.
    pub fn next_transaction(&mut self) -> TransactionId {
        let counter = self.next_transaction;
        self.next_transaction += 1;
        TransactionId::new(self.node(), self.map.incarnation, u16::from(self.address.instance), counter)
    }

    /// The same for a transaction of this session, whose last one is forgotten.
    pub(crate) fn begin_transaction(
        &mut self,
        number: u32,
        last: &mut Option<TransactionId>,
    ) -> TransactionId {
        let id = self.next_transaction();
        self.forget_transaction(last.replace(id));
        self.transactions.insert(id, number);
        id
    }

    /// The same for locks of a client beside its transaction: the client forgets it.
    pub fn begin_locks(&mut self, client: u32) -> TransactionId {
        let id = self.next_transaction();
        self.transactions.insert(id, client);
        id
    }

    /// The same for locks of whole tables.
    pub fn begin_table_locks(&mut self, client: u32) -> TransactionId {
        let id = self.next_transaction().of_tables();
        self.transactions.insert(id, client);
        id
    }

    /// Nobody asks for it any more.
    pub fn forget_transaction(&mut self, transaction: Option<TransactionId>) {
        if let Some(transaction) = transaction {
            self.transactions.remove(&transaction);
        }
    }

    /// The slot may forget the outcomes of these transactions, wherever its primary is by now.
    pub fn send_forget(&self, slot: SlotId, transactions: Vec<TransactionId>, outputs: &mut Outputs<Shared>) {
        if let Some(primary) = self.map.primary(slot) {
            outputs.send(self.address, primary, Signal::Forget { slot, transactions });
        }
    }

    /// Each transaction and its session, as rows.
    pub fn transaction_rows(&self) -> Vec<Vec<Value>> {
        let mut transactions: Vec<(u64, u32)> =
            self.transactions.iter().map(|(transaction, session)| (transaction.0, *session)).collect();
        transactions.sort_unstable();
        let row = |(transaction, session)| vec![Value::UInt(transaction), Value::UInt(u64::from(session))];
        transactions.into_iter().map(row).collect()
    }

    /// The session that has or had this transaction.
    pub fn session_of(&self, transaction: TransactionId) -> Option<u32> {
        self.transactions.get(&transaction).copied()
    }
}

/// One handler call.
pub struct Environment<'a> {
    /// Its time.
    pub now: Now,
    /// The rest of its slice.
    pub budget: &'a mut Budget,
    /// Signals and bytes that leave with it.
    pub outputs: &'a mut Outputs<Shared>,
    /// The module.
    pub site: &'a mut Site,
}

impl Environment<'_> {
    /// Sends a signal from this module.
    pub fn send(&mut self, to: Address, signal: Signal) {
        self.outputs.send(self.site.address, to, signal);
    }

    /// The session will not ask what became of a transaction that a primary on node `committer` committed alone, or
    /// was asked to. If that is another node, what is kept for the session may go.
    pub fn confirm_to_primary(
        &mut self,
        committer: Option<NodeId>,
        slot: SlotId,
        transaction: TransactionId,
    ) {
        if committer == Some(self.site.node()) {
            return;
        }
        if let Some(transactions) = self.site.known.note(slot, transaction) {
            self.site.send_forget(slot, transactions, self.outputs);
        }
        self.site.known.watch(self.now);
    }

    /// The session will not ask what became of a transaction that another node's tc coordinates.
    pub fn confirm_to_coordinator(&mut self, tc: Address, transaction: TransactionId) {
        if tc.node != self.site.node() {
            self.send(tc, Signal::Confirm { transaction });
        }
    }
}

/// A statement that failed for want of another view runs again as soon as there is one, and after a while in any case.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    until: Instant,
    view: ViewNumber,
}

impl Retry {
    /// From now on; the client is woken at its end.
    pub fn after(pause: Duration, client: u32, env: &mut Environment<'_>) -> Self {
        let until = env.now.monotonic + pause;
        env.site.wakes.register(until, client);
        Self { until, view: env.site.map.view.number }
    }

    pub fn is_due(&self, env: &Environment<'_>) -> bool {
        env.now.monotonic >= self.until || env.site.map.view.number > self.view
    }
}
