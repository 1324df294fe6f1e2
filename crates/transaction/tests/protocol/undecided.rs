//! Ten thousand transactions whose coordinator dies at the worst moment: prepared everywhere, decided nowhere.
//!
//! Three nodes hold everything. Node 3 coordinates, and never hears that anybody has prepared; then it is left out, and
//! the other two decide. The test counts their signals and measures their work, one after the other in one thread: no
//! links, no waiting. Node 3 had a third of the slots, too, but no transaction writes there: what is decided here is
//! decided for want of a coordinator alone.
//!
//! `cargo test --release -p transaction --test protocol undecided -- --nocapture` prints the time.

use super::{TABLE, table};
use fixtures::replicas;
use memory::{MemoryConfig, MemoryManager};
use protocol::program::{LockWait, OnDuplicate, TableRef, WriteOperation};
use protocol::signal::{CoordinateRequest, Participant, RequestId, Verdict, WriteRequest};
use protocol::{Address, Budget, Envelope, ModuleKind, Outputs, Signal, View};
use query::{NodeMap, Shared};
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::{Now, smallvec};
use transaction::{Ldm, MARKER_TIME, Tc};
use types::{Epoch, Incarnation, NodeId, Schema, SlotId, TransactionId, ValueRef, ViewNumber};

const TRANSACTIONS: u64 = 10_000;
const NODES: u16 = 3;
const DEAD: NodeId = NodeId(NODES);
const SESSION: Address = Address::new(DEAD, ModuleKind::Sql, 0);
const COORDINATOR: Address = Address::new(DEAD, ModuleKind::Tc, 0);

/// The view without node 3.
fn next_view(view: &View) -> View {
    let mut next = view.clone();
    next.number = ViewNumber(view.number.0 + 1);
    for group in &mut next.groups {
        group.in_sync.retain(|node| *node != DEAD);
        group.restorable.retain(|(node, _)| *node != DEAD);
    }
    for place in next.slots.iter_mut().filter(|place| place.primary == DEAD) {
        place.primary = NodeId(1);
    }
    next
}

struct Survivors {
    schema: Arc<Schema>,
    map: Arc<NodeMap>,
    nodes: Vec<(Ldm, Tc)>,
    queue: VecDeque<Envelope>,
    /// Signals that were handled, and those of them that came from another node.
    handled: (u64, u64),
}

impl Survivors {
    fn new() -> Self {
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(512 << 20));
        let mut schema: Schema = catalogue::bootstrap();
        schema.put_table(Arc::new(table()));
        let schema = Arc::new(schema);
        let map = Arc::new(NodeMap::empty(NodeId(1), Arc::clone(&schema)));
        let block = |id: u16| {
            let address = |kind| Address::new(NodeId(id), kind, 0);
            let ldm = Ldm::new(address(ModuleKind::Ldm), Arc::clone(&map), Arc::clone(&memory), MARKER_TIME);
            (ldm, Tc::new(address(ModuleKind::Tc), Arc::clone(&map), MARKER_TIME))
        };
        let nodes = (1..=NODES).map(block).collect();
        let mut all = Self { schema, map, nodes, queue: VecDeque::new(), handled: (0, 0) };
        all.install(replicas(NODES), NODES);
        all
    }

    /// The first `count` nodes use a view.
    fn install(&mut self, view: View, count: u16) {
        let view = Arc::new(view);
        for id in 1..=count {
            let empty = NodeMap::empty(NodeId(id), Arc::clone(&self.schema));
            let (life, schema) = (Incarnation(u32::from(id)), Arc::clone(&self.schema));
            self.map = Arc::new(empty.with(life, Arc::clone(&view), schema, &[]));
            let mut outputs = Outputs::default();
            let (ldm, tc) = &mut self.nodes[usize::from(id) - 1];
            ldm.on_shared(Now::default(), Shared::Tables(Arc::clone(&self.map)), &mut outputs);
            ldm.on_shared(Now::default(), Shared::Map(Arc::clone(&self.map)), &mut outputs);
            tc.install(Now::default(), Arc::clone(&self.map), &mut outputs);
            self.emit(outputs);
        }
        for id in 1..=count {
            let settled = Signal::ViewSettled { view: view.number };
            self.send(Address::main(NodeId(id)), Address::new(NodeId(id), ModuleKind::Ldm, 0), settled);
        }
    }

    fn emit(&mut self, outputs: Outputs<Shared>) {
        let view = self.map.view.number;
        self.queue.extend(outputs.signals.into_iter().map(|envelope| Envelope { view, ..envelope }));
    }

    fn send(&mut self, from: Address, to: Address, signal: Signal) {
        self.queue.push_back(Envelope { from, to, view: self.map.view.number, epoch: Epoch(1), signal });
    }

    /// Delivers everything; the coordinator is told nothing but what it is asked for.
    fn run(&mut self) {
        while let Some(envelope) = self.queue.pop_front() {
            let is_dead = envelope.to.node == DEAD && self.map.view.number > ViewNumber(1);
            let is_request = matches!(envelope.signal, Signal::Coordinate(_));
            let from_elsewhere = envelope.from.node != envelope.to.node;
            let view = &self.map.view;
            match envelope.verdict(envelope.to, view.number, |node| view.left_out().any(|left| left == node))
            {
                Verdict::Handle => {}
                Verdict::OldView | Verdict::LeftOut => continue,
                Verdict::Early | Verdict::WrongKind => panic!("{envelope:?}"),
            }
            let mut outputs: Outputs<Shared> = Outputs::default();
            let (ldm, tc) = &mut self.nodes[usize::from(envelope.to.node.0) - 1];
            match envelope.to.kind {
                _ if is_dead => continue,
                ModuleKind::Ldm => {
                    ldm.on_signal(Now::default(), envelope, &mut Budget::of(100), &mut outputs);
                }
                ModuleKind::Tc if is_request || envelope.to != COORDINATOR => {
                    tc.on_signal(Now::default(), envelope, &mut outputs);
                }
                _ => continue,
            }
            self.handled.0 += 1;
            self.handled.1 += u64::from(from_elsewhere);
            self.emit(outputs);
        }
    }

    fn key(&self, id: i64) -> Box<[u8]> {
        let mut key = Vec::new();
        let info = self.map.table(TABLE).expect("the table");
        info.primary_key.encode_values(&[ValueRef::Int(id)], &mut key);
        key.into()
    }

    fn slot(&self, id: i64) -> SlotId {
        self.map.slot_of_key(TABLE, &self.key(id))
    }

    /// Stages a row.
    fn write(&mut self, transaction: TransactionId, id: i64) {
        let (key, slot) = (self.key(id), self.slot(id));
        let mut row = Vec::new();
        let info = self.map.table(TABLE).expect("the table");
        info.layout.encode(&[ValueRef::Int(id), ValueRef::Int(7), ValueRef::Null], &mut row);
        let request = WriteRequest {
            request: RequestId(1),
            transaction,
            slot,
            table: TableRef { id: TABLE, version: 1 },
            operations: smallvec![WriteOperation::Insert {
                key,
                row: row.into(),
                on_duplicate: OnDuplicate::Fail,
            }],
            wait: LockWait::NoWait,
            commit: None,
            known: 0,
            under: None,
        };
        let to = self.map.primary(slot).expect("a primary");
        self.send(SESSION, to, Signal::Write(Box::new(request)));
    }

    /// Two rows, one at each of the primaries that will live, and the commit.
    fn transact(&mut self, number: u64, rows: [i64; 2]) {
        let transaction = TransactionId((u64::from(DEAD.0) << 54) | number);
        for id in rows {
            self.write(transaction, id);
        }
        let participants = rows.map(|id| Participant {
            slot: self.slot(id),
            operations: 1,
            view: ViewNumber(1),
            has_writes: true,
        });
        let request = CoordinateRequest {
            request: RequestId(2),
            transaction,
            participants: participants.to_vec(),
            epoch_seen: Epoch(0),
        };
        self.send(SESSION, COORDINATOR, Signal::Coordinate(Box::new(request)));
    }

    /// Committed rows at each node.
    fn row_counts(&self) -> Vec<usize> {
        let count = |(ldm, _): &(Ldm, Tc)| {
            let fragments = ldm.fragments();
            let of_table = fragments.iter().filter(|(definition, _)| definition.id == TABLE);
            of_table.map(|(_, slot)| ldm.committed_epochs(TABLE, *slot).len()).sum()
        };
        self.nodes.iter().map(count).collect()
    }

    /// Ids whose rows' primary is a node.
    fn ids_at(&self, node: u16) -> Vec<i64> {
        let is_there =
            |id: &i64| self.map.primary(self.slot(*id)).is_some_and(|primary| primary.node == NodeId(node));
        (1..).filter(is_there).take(usize::try_from(TRANSACTIONS).expect("few")).collect()
    }
}

#[test]
fn undecided_transactions_of_a_dead_coordinator_are_decided_with_few_signals() {
    let mut all = Survivors::new();
    all.run();
    let rows: Vec<[i64; 2]> = all.ids_at(1).into_iter().zip(all.ids_at(2)).map(|(a, b)| [a, b]).collect();
    for (number, rows) in (1..).zip(&rows) {
        all.transact(number, *rows);
    }
    all.run();
    assert_eq!(all.row_counts(), [0, 0, 0], "somebody has decided");
    all.handled = (0, 0);
    let next = next_view(&all.map.view);
    #[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the machine is measured, too")]
    let begun = std::time::Instant::now();
    all.install(next, NODES - 1);
    all.run();
    let (taken, (signals, from_elsewhere)) = (begun.elapsed(), all.handled);
    eprintln!(
        "{TRANSACTIONS} transactions decided in {taken:?} of one thread's work: {signals} signals, {from_elsewhere} between nodes"
    );
    let decided = usize::try_from(2 * TRANSACTIONS).expect("few");
    assert_eq!(
        all.row_counts()[..2],
        [decided, decided],
        "all participants had prepared, so all is committed"
    );
    assert!(all.nodes[..2].iter().all(|(ldm, _)| ldm.is_idle()));
    assert!(signals <= 20 * TRANSACTIONS, "{signals} signals");
}
