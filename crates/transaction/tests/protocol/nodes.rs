//! Data nodes with an `ldm` and a `tc` each, whose views change one node after the other and whose signals the test
//! holds back, loses or delivers.
//!
//! This harness does the work of the node's wrapper: signals carry the view and the epoch of their sender and wait for
//! a newer view. A strict one is void in a newer view. All rows of a test are in one slot, whose primary is node 1 in
//! the first view. Sessions are those of node 4, which holds nothing.

use super::{TABLE, table};
use fixtures::{data_node, node};
use memory::{MemoryConfig, MemoryManager, PAGE_BYTES, Region, Urgency};
use protocol::program::{
    Access, KeyRange, LockMode, LockWait, ReadOutput, ReadProgram, StatementContext, TableRef, WriteOperation,
};
use protocol::signal::{
    CommitDone, CommitOneRequest, CommitOutcome, Participant, ReadRequest, RequestId, Verdict, WriteDone,
    WriteRequest,
};
use protocol::{Address, Budget, Envelope, ModuleKind, NodeRole, Outputs, RequestToRuntime, Signal, View};
use query::{NodeMap, RestoredFragment, Shared};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant, Now};
use storage::{Fragment, FragmentDefinition};
use transaction::{Ldm, MARKER_TIME, Sizes, Tc};
use types::{
    ColumnIndex, Epoch, Incarnation, IndexId, IndexKind, NodeId, Schema, SlotId, TableDefinition,
    TransactionId, ValueRef, ViewNumber,
};

/// Whose sessions ask: a node without slots.
pub(crate) const SQL_NODE: u16 = 4;
pub(crate) const SESSION: Address = Address::new(NodeId(SQL_NODE), ModuleKind::Sql, 0);
/// Few rows show what slices are, and what is large.
const SIZES: Sizes = Sizes { at_once: 4, ahead_rows: 8 };
/// Rows of a slice.
const BUDGET: u32 = 4;
/// That of `add_index`.
const INDEX: IndexId = IndexId(1);
/// DataMemory of each node.
const DATA_MEMORY: u64 = 256 << 20;
/// An alarm that is due then is not due in the round that is under way.
const NEXT_ROUND: Duration = Duration::from_nanos(1);
/// A node that owes an answer for so long is reported.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest wait for a lock.
pub(crate) const WAIT: LockWait = LockWait::Wait { timeout_ms: 10_000 };

pub(crate) fn ldm(node: u16) -> Address {
    Address::new(NodeId(node), ModuleKind::Ldm, 0)
}

pub(crate) fn tc(node: u16) -> Address {
    Address::new(NodeId(node), ModuleKind::Tc, 0)
}

struct Node {
    ldm: Ldm,
    tc: Tc,
    map: Arc<NodeMap>,
    memory: Arc<MemoryManager>,
    /// Of a newer view than the installed one.
    early: Vec<Envelope>,
}

impl Node {
    /// With nothing.
    fn new(id: u16, schema: &Arc<Schema>) -> Self {
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(DATA_MEMORY));
        let map = Arc::new(NodeMap::empty(NodeId(id), Arc::clone(schema)));
        let ldm = Ldm::new(ldm(id), Arc::clone(&map), Arc::clone(&memory), MARKER_TIME);
        let ldm = ldm.with_sizes(SIZES).with_answer_timeout(ANSWER_TIMEOUT);
        // (No time passes here.)
        let tc = Tc::new(tc(id), Arc::clone(&map), MARKER_TIME).telling_at_once();
        Self { ldm, tc, map, memory, early: Vec::new() }
    }
}

/// The rows of a disk, as they were at the end of an epoch.
#[derive(Clone)]
struct Kept {
    rows: Vec<(SlotId, i64, Epoch)>,
    base: Epoch,
}

pub(crate) struct Nodes {
    schema: Arc<Schema>,
    nodes: Vec<Node>,
    now: Now,
    pub(crate) queue: VecDeque<Envelope>,
    /// The signals that sessions, main modules and memberships have heard.
    heard: Vec<Envelope>,
    /// Nodes that have ended, and their exit codes.
    pub(crate) ended: BTreeMap<u16, u8>,
    /// The rows that the next lives of nodes come back with.
    kept: BTreeMap<u16, Kept>,
    /// The view that sessions use.
    pub(crate) view: View,
    /// The slot of the test, and ids of rows in it.
    pub(crate) slot: SlotId,
    pub(crate) ids: Vec<i64>,
}

/// The fate of a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivered {
    /// Its module, or its session, has it.
    Handled,
    /// It is of an older view, and dropped.
    Void,
    /// It waits until its node uses the view.
    Early,
    /// Its node has ended.
    ToNobody,
}

fn first_view(data_nodes: u16) -> View {
    let nodes = (1..=data_nodes).map(data_node).chain([node(SQL_NODE, NodeRole::Sql)]);
    fixtures::view(nodes.collect(), usize::from(data_nodes))
}

impl Nodes {
    /// So many data nodes, each with everything, in the first view.
    pub(crate) fn new(data_nodes: u16) -> Self {
        let mut schema: Schema = catalogue::bootstrap();
        schema.put_table(Arc::new(table()));
        let schema = Arc::new(schema);
        let nodes = (1..=data_nodes).map(|id| Node::new(id, &schema)).collect();
        let view = first_view(data_nodes);
        let mut all = Self {
            schema,
            nodes,
            now: Now::default(),
            queue: VecDeque::new(),
            heard: Vec::new(),
            ended: BTreeMap::new(),
            kept: BTreeMap::new(),
            view,
            slot: SlotId(0),
            ids: Vec::new(),
        };
        for id in 1..=data_nodes {
            all.install(id);
        }
        all.slot = (1..).map(SlotId).find(|id| all.view.primary(*id) == Some(ldm(1))).expect("one");
        all.ids = all.ids_in(all.slot, 100);
        all.run();
        all
    }

    fn node(&mut self, node: u16) -> &mut Node {
        &mut self.nodes[usize::from(node) - 1]
    }

    /// Ids of rows in a slot.
    pub(crate) fn ids_in(&self, slot: SlotId, count: usize) -> Vec<i64> {
        let is_there = |id: &i64| self.nodes[0].map.slot_of_key(TABLE, &self.key(*id)) == slot;
        (1..).filter(is_there).take(count).collect()
    }

    /// A row each.
    pub(crate) fn row_ids<const COUNT: usize>(&self) -> [i64; COUNT] {
        self.ids[..COUNT].try_into().expect("enough rows")
    }

    /// A slot whose primary is node 2.
    pub(crate) fn slot_of_second(&self) -> SlotId {
        (1..).map(SlotId).find(|id| self.view.primary(*id) == Some(ldm(2))).expect("one")
    }

    /// Commits that a coordinator has not forgotten.
    pub(crate) fn coordinated(&self, node: u16) -> usize {
        self.nodes[usize::from(node) - 1].tc.open_count()
    }

    /// Until when a node may answer alone.
    pub(crate) fn lease_until(&mut self, node: u16, end: Instant) {
        self.node(node).map.lease.set(end);
    }

    /// The table has another version at a node.
    pub(crate) fn alter(&mut self, node: u16, version: u32) {
        let mut schema = (*self.schema).clone();
        schema.put_table(Arc::new(TableDefinition { version, ..table() }));
        let now = self.now;
        let this = self.node(node);
        let view = Arc::clone(&this.map.view);
        let map = this.map.with(this.map.incarnation, view, Arc::new(schema), &this.map.lost);
        this.map = Arc::new(map);
        let mut outputs: Outputs<Shared> = Outputs::default();
        this.ldm.on_shared(now, Shared::Tables(Arc::clone(&this.map)), &mut outputs);
        self.emit(node, outputs);
    }

    /// The table has an index of `v` at every node. Its version stays, because it has no rows yet.
    pub(crate) fn add_index(&mut self) {
        let mut definition = table();
        definition.indexes.push(fixtures::index(INDEX.0, IndexKind::Ordered, &[1]));
        let mut schema = (*self.schema).clone();
        schema.put_table(Arc::new(definition));
        self.schema = Arc::new(schema);
        for node in 1..=u16::try_from(self.nodes.len()).expect("few") {
            let (now, schema) = (self.now, Arc::clone(&self.schema));
            let this = self.node(node);
            let view = Arc::clone(&this.map.view);
            this.map = Arc::new(this.map.with(this.map.incarnation, view, schema, &this.map.lost));
            let mut outputs: Outputs<Shared> = Outputs::default();
            this.ldm.on_shared(now, Shared::Tables(Arc::clone(&this.map)), &mut outputs);
            self.emit(node, outputs);
        }
    }

    pub(crate) fn assert_idle(&self) {
        for (id, node) in (1..).zip(&self.nodes).filter(|(id, _)| self.view.is_in_sync(NodeId(*id))) {
            assert!(node.ldm.is_idle(), "node {id} is not: {:?}", node.ldm.unfinished());
        }
    }

    // ---- views ------------------------------------------------------------------------------------------------------

    /// The next view: another primary that goes on with what is open.
    pub(crate) fn hand_over_to(&mut self, node: u16) {
        self.view.number = ViewNumber(self.view.number.0 + 1);
        self.view.slots[self.slot.0 as usize].primary = NodeId(node);
    }

    /// The next view: a node is left out, and its slots go to another one. Transactions that were open at its own
    /// primaries are lost.
    pub(crate) fn leave_out(&mut self, node: u16, heir: u16) {
        self.view.number = ViewNumber(self.view.number.0 + 1);
        for group in &mut self.view.groups {
            group.in_sync.retain(|member| *member != NodeId(node));
        }
        let number = self.view.number;
        for place in self.view.slots.iter_mut().filter(|place| place.primary == NodeId(node)) {
            (place.primary, place.since) = (NodeId(heir), number);
        }
    }

    /// The next view: a node that was left out joins, and has to be copied to.
    pub(crate) fn let_join(&mut self, node: u16) {
        self.view.number = ViewNumber(self.view.number.0 + 1);
        self.view.groups.iter_mut().for_each(|group| group.joining.push(NodeId(node)));
    }

    /// The next view: a node that was copied to has everything.
    pub(crate) fn let_sync(&mut self, node: u16) {
        self.view.number = ViewNumber(self.view.number.0 + 1);
        for group in &mut self.view.groups {
            group.joining.retain(|member| *member != NodeId(node));
            group.in_sync.push(NodeId(node));
        }
    }

    /// A node's disk has the rows that the node has now, and then the next epoch is opened. (Of the rows of the system
    /// it has none.)
    pub(crate) fn keep(&mut self, node: u16) {
        let base = self.node(node).ldm.epoch();
        let mut rows = Vec::new();
        for slot in [self.slot, self.slot_of_second()] {
            let there = self.node(node).ldm.committed_epochs(TABLE, slot);
            for id in self.ids_in(slot, 30) {
                let row = there.iter().find(|(key, _)| *key == self.key(id));
                rows.extend(row.map(|(_, epoch)| (slot, id, *epoch)));
            }
        }
        self.kept.insert(node, Kept { rows, base });
        let epoch = Epoch(base.0 + 1);
        for node in 1..=u16::try_from(self.nodes.len()).expect("few") {
            self.send(Address::main(NodeId(node)), ldm(node), Signal::EpochOpen { epoch });
        }
    }

    /// A node has started again, with what its disk has.
    pub(crate) fn begin_again(&mut self, node: u16) {
        *self.node(node) = Node::new(node, &Arc::clone(&self.schema));
        let Some(Kept { rows, base }) = self.kept.get(&node).cloned() else { return };
        let memory = Arc::clone(&self.node(node).memory);
        let mut fragments: BTreeMap<SlotId, Fragment> = BTreeMap::new();
        for (slot, id, epoch) in rows {
            let definition = || Arc::new(FragmentDefinition::new(&Arc::new(table())));
            let fragment =
                fragments.entry(slot).or_insert_with(|| Fragment::new(definition(), Arc::clone(&memory)));
            let (key, row) = (self.key(id), self.row(id, 10));
            let handle = fragment.stage_copied(&key, TransactionId(0), &row, &[]).expect("there is room");
            fragment.commit(handle, TransactionId(0), epoch);
        }
        let restored = |(slot, fragment)| RestoredFragment { table: TABLE, slot, fragment };
        let fragments = fragments.into_iter().map(restored).collect();
        let (now, mut outputs) = (self.now, Outputs::default());
        self.node(node).ldm.on_shared(now, Shared::Fragments { fragments, base }, &mut outputs);
    }

    /// A node uses the newest view.
    pub(crate) fn install(&mut self, node: u16) {
        let lost = self.nodes[usize::from(node) - 1].map.lost.clone();
        self.install_with(node, &lost);
    }

    /// The same, with these nodes out of reach.
    pub(crate) fn install_with(&mut self, node: u16, lost: &[NodeId]) {
        let (schema, view) = (Arc::clone(&self.schema), Arc::new(self.view.clone()));
        let this = &mut self.nodes[usize::from(node) - 1];
        let is_first = this.map.view.number == ViewNumber(0);
        let newly_lost = lost.iter().filter(|lost| !this.map.lost.contains(lost));
        let mut map = this.map.with(Incarnation(u32::from(node)), view, schema, lost);
        for lost in newly_lost {
            *map.losses.entry(*lost).or_default() += 1;
        }
        this.map = Arc::new(map);
        let mut outputs: Outputs<Shared> = Outputs::default();
        if is_first {
            this.ldm.on_shared(self.now, Shared::Tables(Arc::clone(&this.map)), &mut outputs);
        }
        this.ldm.on_shared(self.now, Shared::Map(Arc::clone(&this.map)), &mut outputs);
        this.tc.install(self.now, Arc::clone(&this.map), &mut outputs);
        for envelope in std::mem::take(&mut this.early).into_iter().rev() {
            self.queue.push_front(envelope);
        }
        self.emit(node, outputs);
    }

    /// A node gives up these, in the view that it has.
    pub(crate) fn give_up(&mut self, node: u16, given_up: &[NodeId]) {
        let now = self.now;
        let this = self.node(node);
        let (view, schema) = (Arc::clone(&this.map.view), Arc::clone(&this.map.schema));
        let mut map = this.map.with(this.map.incarnation, view, schema, given_up);
        map.given_up = given_up.to_vec();
        this.map = Arc::new(map);
        let mut outputs: Outputs<Shared> = Outputs::default();
        this.ldm.on_shared(now, Shared::Map(Arc::clone(&this.map)), &mut outputs);
        this.tc.install(now, Arc::clone(&this.map), &mut outputs);
        self.emit(node, outputs);
    }

    pub(crate) fn install_at(&mut self, nodes: &[u16]) {
        for node in nodes {
            self.install(*node);
        }
    }

    /// Every data node has installed the newest view.
    pub(crate) fn settle(&mut self) {
        for node in 1..=u16::try_from(self.nodes.len()).expect("few") {
            let settled = Signal::ViewSettled { view: self.view.number };
            self.send(Address::main(NodeId(node)), ldm(node), settled);
        }
    }

    // ---- signals ----------------------------------------------------------------------------------------------------

    fn emit(&mut self, node: u16, outputs: Outputs<Shared>) {
        let this = &self.nodes[usize::from(node) - 1];
        let (view, epoch) = (this.map.view.number, this.ldm.epoch());
        let stamped = outputs.signals.into_iter().map(|envelope| Envelope { view, epoch, ..envelope });
        self.queue.extend(stamped);
        for request in outputs.requests {
            if let RequestToRuntime::Exit(code) = request {
                self.ended.insert(node, code);
            }
        }
    }

    /// In the newest view.
    pub(crate) fn send(&mut self, from: Address, to: Address, signal: Signal) {
        let (view, epoch) = (self.view.number, Epoch(1));
        self.queue.push_back(Envelope { from, to, view, epoch, signal });
    }

    pub(crate) fn run(&mut self) -> Vec<Signal> {
        self.run_but(|_| false)
    }

    /// Time passes, and members look at their deadlines; everything but this is delivered. Returns the signals that
    /// were heard, as in `run_but`.
    pub(crate) fn pass(&mut self, time: Duration, is_kept: impl Fn(&Envelope) -> bool) -> Vec<Signal> {
        let until = self.now.monotonic + time;
        let mut heard = Vec::new();
        while self.pass_to_deadline(until) {
            heard.extend(self.run_but(&is_kept));
        }
        heard
    }

    /// The moment after so much time.
    pub(crate) fn later(&self, time: Duration) -> Instant {
        self.now.monotonic + time
    }

    /// Time goes on to the next deadline of a member, or to this moment; false if that has come already.
    pub(crate) fn pass_to_deadline(&mut self, until: Instant) -> bool {
        if self.now.monotonic >= until {
            return false;
        }
        let soon = self.now.monotonic + Duration::from_millis(1);
        self.now.monotonic = self.deadline().unwrap_or(until).clamp(soon, until.max(soon));
        self.look_at_deadlines();
        true
    }

    /// The first of a live member.
    fn deadline(&self) -> Option<Instant> {
        let live = (1..).zip(&self.nodes).filter(|(node, _)| !self.ended.contains_key(node));
        live.flat_map(|(_, node)| [node.ldm.deadline(), node.tc.deadline()]).flatten().min()
    }

    fn look_at_deadlines(&mut self) {
        for node in 1..=u16::try_from(self.nodes.len()).expect("few") {
            if self.ended.contains_key(&node) {
                continue;
            }
            let (now, this) = (self.now, self.node(node));
            let mut outputs: Outputs<Shared> = Outputs::default();
            this.ldm.on_deadline(now, &mut outputs);
            this.tc.on_deadline(now, &mut outputs);
            self.emit(node, outputs);
        }
    }

    /// The first signal that is under way. If there is none, what waits for the next round goes on in it.
    pub(crate) fn take_next(&mut self) -> Option<Envelope> {
        self.take_next_in_rounds(NEXT_ROUND)
    }

    /// The same where each round takes so long.
    fn take_next_in_rounds(&mut self, round: Duration) -> Option<Envelope> {
        while self.queue.is_empty() {
            self.deadline().filter(|due| *due <= self.later(NEXT_ROUND))?;
            self.now.monotonic = self.later(round);
            self.look_at_deadlines();
        }
        self.queue.pop_front()
    }

    /// Delivers everything but this; what sessions and main modules have heard since they were last asked.
    pub(crate) fn run_but(&mut self, is_kept: impl Fn(&Envelope) -> bool) -> Vec<Signal> {
        let mut kept = VecDeque::new();
        while let Some(envelope) = self.take_next() {
            if is_kept(&envelope) {
                kept.push_back(envelope);
            } else {
                let _ = self.deliver(envelope);
            }
        }
        self.queue = kept;
        let heard = std::mem::take(&mut self.heard).into_iter().map(|envelope| envelope.signal);
        heard.filter(|signal| !matches!(signal, Signal::ProbeSession(_))).collect()
    }

    /// The same for so many signals at most, when some come again and again.
    pub(crate) fn run_for(&mut self, count: usize, is_kept: impl Fn(&Envelope) -> bool) {
        let mut kept = VecDeque::new();
        for _ in 0..count {
            let Some(envelope) = self.take_next() else { break };
            if is_kept(&envelope) {
                kept.push_back(envelope);
            } else {
                let _ = self.deliver(envelope);
            }
        }
        self.queue.extend(kept);
    }

    /// Everything is delivered. Each round takes so long.
    pub(crate) fn run_in_rounds(&mut self, round: Duration) {
        while let Some(envelope) = self.take_next_in_rounds(round) {
            let _ = self.deliver(envelope);
        }
    }

    /// These are lost with a connection; how many there were.
    pub(crate) fn lose(&mut self, is_lost: impl Fn(&Envelope) -> bool) -> usize {
        let before = self.queue.len();
        self.queue.retain(|envelope| !is_lost(envelope));
        before - self.queue.len()
    }

    pub(crate) fn deliver(&mut self, envelope: Envelope) -> Delivered {
        let is_heard = |kind| matches!(kind, ModuleKind::Sql | ModuleKind::Main | ModuleKind::Membership);
        if is_heard(envelope.to.kind) {
            if !matches!(envelope.signal, Signal::EpochStamped { .. }) {
                self.heard.push(envelope);
            }
            return Delivered::Handled;
        }
        let node = envelope.to.node.0;
        if self.ended.contains_key(&node) {
            return Delivered::ToNobody;
        }
        let this = &mut self.nodes[usize::from(node) - 1];
        let installed = this.map.view.number;
        let view = &this.map.view;
        match envelope.verdict(envelope.to, installed, |node| view.left_out().any(|left| left == node)) {
            Verdict::Handle => {}
            Verdict::Early => {
                this.early.push(envelope);
                return Delivered::Early;
            }
            Verdict::OldView | Verdict::LeftOut => return Delivered::Void,
            Verdict::WrongKind => panic!("not for {}: {:?}", envelope.to, envelope.signal),
        }
        let mut outputs: Outputs<Shared> = Outputs::default();
        this.ldm.adopt(envelope.epoch);
        if envelope.to.kind == ModuleKind::Ldm {
            this.ldm.on_signal(self.now, envelope, &mut Budget::of(BUDGET), &mut outputs);
        } else {
            this.tc.on_signal(self.now, envelope, &mut outputs);
        }
        self.emit(node, outputs);
        Delivered::Handled
    }

    /// Asks as a session of node 4, and delivers everything.
    pub(crate) fn ask(&mut self, node: u16, signal: Signal) -> Vec<Signal> {
        self.send(SESSION, ldm(node), signal);
        self.run()
    }

    // ---- what sessions ask ------------------------------------------------------------------------------------------

    pub(crate) fn key(&self, id: i64) -> Box<[u8]> {
        let mut key = Vec::new();
        let info = self.nodes[0].map.table(TABLE).expect("the table");
        info.primary_key.encode_values(&[ValueRef::Int(id)], &mut key);
        key.into()
    }

    /// A row with a blob of so many bytes.
    pub(crate) fn row(&self, id: i64, blob: usize) -> Box<[u8]> {
        let (mut row, blob) = (Vec::new(), vec![7; blob]);
        let info = self.nodes[0].map.table(TABLE).expect("the table");
        info.layout.encode(&[ValueRef::Int(id), ValueRef::Int(1), ValueRef::Bytes(&blob)], &mut row);
        row.into()
    }

    pub(crate) fn put(&self, id: i64, blob: usize) -> WriteOperation {
        WriteOperation::Put { key: self.key(id), row: self.row(id, blob) }
    }

    /// Writes these rows, without waiting and without a commit. The request has the transaction's number.
    pub(crate) fn write(&self, transaction: u64, ids: &[i64]) -> WriteRequest {
        WriteRequest {
            request: RequestId(transaction),
            transaction: TransactionId(transaction),
            slot: self.slot,
            table: TableRef { id: TABLE, version: 1 },
            operations: ids.iter().map(|id| self.put(*id, 10)).collect(),
            wait: LockWait::NoWait,
            commit: None,
            known: 0,
            under: None,
        }
    }

    pub(crate) fn lock(&self, transaction: u64, id: i64, lock: (LockMode, LockWait)) -> ReadRequest {
        ReadRequest {
            request: RequestId(transaction),
            transaction: Some(TransactionId(transaction)),
            lock: Some(lock),
            slot: self.slot,
            program: Arc::new(ReadProgram {
                table: TableRef { id: TABLE, version: 1 },
                filter: None,
                output: ReadOutput::Columns(vec![ColumnIndex(1)]),
                with_primary_key: false,
                with_index_key: false,
                context: StatementContext::default(),
            }),
            access: Access::Keys(vec![self.key(id)]),
            known: 0,
            under: None,
            grant_only: false,
        }
    }

    /// Begins or goes on with a transaction at node 1 in the first view: it writes rows.
    pub(crate) fn stage(&mut self, transaction: u64, ids: &[i64]) {
        let write = self.write(transaction, ids);
        let answers = self.ask(1, Signal::Write(Box::new(write)));
        assert!(is_written(&answers, transaction), "{answers:?}");
    }

    /// The same: it locks a key.
    pub(crate) fn stage_lock(&mut self, transaction: u64, id: i64, mode: LockMode) {
        let read = self.lock(transaction, id, (mode, LockWait::NoWait));
        let answers = self.ask(1, Signal::Read(Box::new(read)));
        assert!(is_read(&answers, transaction), "{answers:?}");
    }

    /// The same: it asks for a row that another one has, and waits; committing if it gets it.
    pub(crate) fn stage_wait(&mut self, transaction: u64, id: i64) {
        let write = WriteRequest { wait: WAIT, commit: Some(Epoch(0)), ..self.write(transaction, &[id]) };
        assert_eq!(self.ask(1, Signal::Write(Box::new(write))), Vec::new());
    }

    pub(crate) fn participant(&self, operations: u32) -> Participant {
        Participant { slot: self.slot, operations, view: ViewNumber(1), has_writes: true }
    }

    pub(crate) fn commit(&self, transaction: u64, operations: u32) -> Signal {
        let participant = self.participant(operations);
        let (request, transaction) = (RequestId(transaction), TransactionId(transaction));
        Signal::CommitOne(Box::new(CommitOneRequest {
            request,
            transaction,
            participant,
            epoch_seen: Epoch(0),
        }))
    }

    pub(crate) fn abort(&self, transaction: u64) -> Signal {
        Signal::Abort { transaction: TransactionId(transaction), slot: self.slot }
    }

    pub(crate) fn ask_outcome(&self, transaction: u64) -> Signal {
        let (request, slot) = (RequestId(transaction), self.slot);
        let transaction = TransactionId(transaction);
        Signal::OutcomeAsk { request, transaction, slot, is_write: false }
    }

    // ---- what is there ----------------------------------------------------------------------------------------------

    /// How many rows of the slot a node finds by the index.
    pub(crate) fn found_by_index(&mut self, node: u16) -> u32 {
        let (ranges, (descending, limit)) = (Arc::new(vec![KeyRange::all()]), (false, None));
        let access = Access::Scan { index: INDEX, ranges, descending, limit };
        let read = self.lock(0, 0, (LockMode::Shared, LockWait::NoWait));
        let read = ReadRequest { transaction: None, lock: None, access, ..read };
        let answers = self.ask(node, Signal::Read(Box::new(read)));
        let [Signal::ReadDone(done)] = &answers[..] else { panic!("{answers:?}") };
        done.result.as_ref().expect("rows").rows.count
    }

    /// Outcomes that members keep for somebody.
    pub(crate) fn marker_counts(&self) -> Vec<usize> {
        let members = (1..).zip(&self.nodes).filter(|(id, _)| self.view.is_in_sync(NodeId(*id)));
        members.map(|(_, node)| node.ldm.marker_count()).collect()
    }

    /// Data nodes at which something is open, waits or is undecided.
    pub(crate) fn busy(&self) -> Vec<u16> {
        let nodes = (1..).zip(&self.nodes).filter(|(id, _)| !self.ended.contains_key(id));
        nodes.filter(|(_, node)| !node.ldm.is_idle()).map(|(id, _)| id).collect()
    }

    /// Whether a row is committed at a node.
    pub(crate) fn has_committed(&self, node: u16, id: i64, slot: SlotId) -> bool {
        let rows = self.nodes[usize::from(node) - 1].ldm.committed_epochs(TABLE, slot);
        rows.iter().any(|(key, _)| *key == self.key(id))
    }

    /// Which of these rows are committed at a node.
    pub(crate) fn committed(&self, node: u16, ids: &[i64]) -> Vec<i64> {
        let rows = self.nodes[usize::from(node) - 1].ldm.committed_epochs(TABLE, self.slot);
        let is_there = |id: &i64| rows.iter().any(|(key, _)| *key == self.key(*id));
        ids.iter().copied().filter(is_there).collect()
    }

    /// All members have these rows, and of `ids` no others.
    pub(crate) fn assert_committed(&self, ids: &[i64], expected: &[i64]) {
        for node in
            (1..=u16::try_from(self.nodes.len()).expect("few")).filter(|id| self.view.is_in_sync(NodeId(*id)))
        {
            assert_eq!(self.committed(node, ids), expected, "at node {node}");
        }
    }

    /// DataMemory of a node is full but for a few pages: for statements, or for what backups apply, too.
    pub(crate) fn fill_memory(&mut self, node: u16, urgency: Urgency) {
        self.fill_memory_but(node, urgency, 4);
    }

    /// The same but for so many pages.
    pub(crate) fn fill_memory_but(&mut self, node: u16, urgency: Urgency, pages: u64) {
        let memory = &self.node(node).memory;
        while memory.try_charge_with(Region::DataMemory, PAGE_BYTES as u64, urgency).is_ok() {}
        memory.release(Region::DataMemory, pages * PAGE_BYTES as u64);
    }
}

// ---- what sessions hear ---------------------------------------------------------------------------------------------

pub(crate) fn write_done(answers: &[Signal], transaction: u64) -> Option<&WriteDone> {
    answers.iter().find_map(|signal| match signal {
        Signal::WriteDone(done) if done.request == RequestId(transaction) => Some(&**done),
        _ => None,
    })
}

pub(crate) fn is_written(answers: &[Signal], transaction: u64) -> bool {
    write_done(answers, transaction).is_some_and(|done| done.result.is_ok())
}

pub(crate) fn is_refused(answers: &[Signal], transaction: u64) -> bool {
    let is_its = |signal: &Signal| match signal {
        Signal::WriteDone(done) => done.request == RequestId(transaction) && done.result.is_err(),
        Signal::ReadDone(done) => done.request == RequestId(transaction) && done.result.is_err(),
        _ => false,
    };
    answers.iter().any(is_its)
}

pub(crate) fn is_read(answers: &[Signal], transaction: u64) -> bool {
    answers.iter().any(|signal| {
        matches!(signal, Signal::ReadDone(done) if done.request == RequestId(transaction) && done.result.is_ok())
    })
}

pub(crate) fn is_committed(answers: &[Signal], transaction: u64) -> bool {
    let is_its = |outcome: &CommitDone| {
        outcome.request == RequestId(transaction) && matches!(outcome.outcome, CommitOutcome::Committed(_))
    };
    answers.iter().any(|signal| matches!(signal, Signal::CommitDone(done) if is_its(done)))
}

pub(crate) fn is_aborted(answers: &[Signal], transaction: u64) -> bool {
    let is_its = |outcome: &CommitDone| {
        outcome.request == RequestId(transaction) && matches!(outcome.outcome, CommitOutcome::Aborted(_))
    };
    answers.iter().any(|signal| matches!(signal, Signal::CommitDone(done) if is_its(done)))
}

/// The session hears that its request waits at another module now.
pub(crate) fn is_moved(answers: &[Signal], transaction: u64, to: Option<Address>) -> bool {
    answers.contains(&Signal::WaitMoved { request: RequestId(transaction), to })
}
