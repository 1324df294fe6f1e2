//! Replicas of a few rows, and one session on a node without rows: an ldm and a tc per data node, in the wrappers that fence them.
//!
//! What `main` and the control plane do is played by the world: a crash makes the next view at once, nodes install the newest view when that is
//! chosen (the tc behind the ldm), each ldm hears that all have installed it, and a joining node that has everything is in sync in the next view.
//! The session commits what it has staged, asks what became of it if the one who should answer is left out, and confirms what it hears.
//!
//! Signals between two modules arrive in order; what a dead node had sent arrives, or is dropped by the fence, as the installing is chosen.
//! No time passes and no epoch is opened.

use super::SmallWorld;
use membership::succession;
use memory::{Guard, MemoryConfig, MemoryManager};
use node::NodeModule;
use protocol::control::GroupId;
use protocol::program::{LockWait, OnDuplicate, TableRef, WriteOperation};
use protocol::signal::{
    CommitDone, CommitOneRequest, CommitOutcome, CoordinateRequest, Participant, RequestId, WriteRequest,
};
use protocol::{
    Address, Budget, Envelope, Input, Module, ModuleKind, NodeInfo, NodeRole, Outputs, Signal, View,
};
use query::{NodeMap, PublishedReader, Shared};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Now, hash64};
use storage::{Lookup, Visibility};
use transaction::{Ldm, Tc};
use types::{
    ColumnDefinition, ColumnFlags, ColumnIndex, DefaultValue, Epoch, Incarnation, IndexDefinition, IndexId,
    IndexKind, IndexState, IntegerWidth, KeyPart, NodeId, PartitionId, Schema, SqlType, TableDefinition,
    TableId, TableKind, TransactionId, ValueRef, ViewNumber,
};

const TABLE: TableId = TableId(200);
const SESSION: Address = Address::new(NodeId(67), ModuleKind::Sql, 0);
const REQUEST: RequestId = RequestId(77);
/// The transaction that everything is about; what comes before it has lower ids.
const TRANSACTION: TransactionId = TransactionId((67 << 54) | 1_000);
/// How long markers stay: no time passes.
const MARKER_TIME: Duration = Duration::from_secs(600);
/// Rows that a slice works on: a copied piece has one row.
const SLICE: u32 = 1;

/// What a world begins with, and what may happen to it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Data nodes, all replicas of each other.
    pub nodes: u16,
    /// The primaries' nodes of the partitions that the transaction changes a row in; a second row of a partition is deleted.
    pub writes: &'static [Write],
    /// Nodes that may die, any, at any moment, as long as one in sync stays.
    pub crashes: u8,
    /// This node has died and started again before, and joins now.
    pub joins: Option<NodeId>,
}

/// What the transaction does to a row of the partition that a node is primary of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// A new value.
    Change(NodeId),
    /// It is deleted.
    Delete(NodeId),
}

/// One participant.
pub const COMMIT_ONE: Plan = Plan { nodes: 3, writes: &[Write::Change(NodeId(1))], crashes: 1, joins: None };
/// Two.
pub const COMMIT_TWO: Plan =
    Plan { nodes: 3, writes: &[Write::Change(NodeId(1)), Write::Change(NodeId(2))], crashes: 1, joins: None };
/// Two, and two crashes.
pub const DOUBLE_TAKEOVER: Plan =
    Plan { nodes: 3, writes: &[Write::Change(NodeId(1)), Write::Change(NodeId(2))], crashes: 2, joins: None };
/// A row is changed and one deleted while they are copied.
pub const REJOIN: Plan = Plan {
    nodes: 2,
    writes: &[Write::Change(NodeId(1)), Write::Delete(NodeId(1))],
    crashes: 0,
    joins: Some(NodeId(2)),
};
/// The same with a node that may die.
pub const REJOIN_CUT: Plan = Plan {
    nodes: 3,
    writes: &[Write::Change(NodeId(1)), Write::Delete(NodeId(1))],
    crashes: 1,
    joins: Some(NodeId(3)),
};

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The oldest signal from one module to another arrives.
    Deliver(Address, Address),
    /// A node's ldm enters the newest view.
    Install(NodeId),
    /// So does its tc.
    InstallTc(NodeId),
    /// A node's ldm hears that all nodes have installed the newest view.
    Settle(NodeId),
    /// A joining node that has everything is in sync in the next view.
    Join(NodeId),
    /// The session, which has heard of the newest view, asks again.
    Ask,
    /// A node dies.
    Crash(NodeId),
}

struct Member {
    module: NodeModule,
    view: ViewNumber,
    settled: ViewNumber,
    readers: Vec<PublishedReader>,
}

/// A row that the transaction changes.
#[derive(Clone, Debug)]
struct Row {
    partition: PartitionId,
    key: Box<[u8]>,
    before: Box<[u8]>,
    after: Option<Box<[u8]>>,
}

impl Row {
    /// Its bytes after the end of the transaction.
    fn expected(&self, is_committed: bool) -> Option<Box<[u8]>> {
        if is_committed { self.after.clone() } else { Some(self.before.clone()) }
    }
}

/// What a read finds.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    /// No fragment.
    Nothing,
    /// A version that nobody has decided.
    Undecided,
    /// A row, or that there is none.
    Row(Option<Box<[u8]>>),
}

/// The world.
pub struct ReplicaWorld {
    plan: Plan,
    schema: Arc<Schema>,
    memory: Arc<MemoryManager>,
    members: BTreeMap<Address, Member>,
    channels: BTreeMap<(Address, Address), VecDeque<Envelope>>,
    view: Arc<View>,
    crashes_left: u8,
    /// Partitions that a joining node has whole, in which view.
    copied: BTreeSet<(ViewNumber, NodeId, PartitionId)>,
    rows: Vec<Row>,
    /// The session: the view in which it asked last, whom, and what it heard.
    asked: (ViewNumber, Address),
    told: Option<bool>,
    /// Answers of the time before the transaction.
    answers: usize,
    failure: Option<String>,
}

fn table() -> TableDefinition {
    let column = |name: &str| ColumnDefinition {
        name: name.to_owned(),
        sql_type: SqlType::Integer { width: IntegerWidth::Normal, unsigned: false },
        default: DefaultValue::Missing,
        flags: ColumnFlags::default(),
        comment: String::new(),
    };
    TableDefinition {
        id: TABLE,
        version: 1,
        database: "d".to_owned(),
        name: "t".to_owned(),
        kind: TableKind::User,
        columns: vec![column("id"), column("v")],
        indexes: vec![IndexDefinition {
            id: IndexId(0),
            name: "PRIMARY".to_owned(),
            kind: IndexKind::Primary,
            parts: vec![KeyPart { column: ColumnIndex(0), prefix_length: None, descending: false }],
            state: IndexState::Public,
        }],
        auto_increment: None,
        comment: String::new(),
        collation: types::Collation::Binary,
    }
}

fn info(node: u16, role: NodeRole, life: u32) -> NodeInfo {
    let count = u8::from(role == NodeRole::Data);
    NodeInfo {
        node: NodeId(node),
        incarnation: Incarnation(life),
        role,
        host: String::new(),
        ldm_count: count,
        tc_count: count,
        query_count: 0,
        sql_count: 1,
    }
}

impl ReplicaWorld {
    /// The world at the moment when the session asks for its commit.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut nodes: Vec<NodeInfo> =
            (1..=plan.nodes).map(|node| info(node, NodeRole::Data, u32::from(node))).collect();
        nodes.push(info(67, NodeRole::Sql, 67));
        let mut schema = catalogue::bootstrap();
        schema.tables.insert(TABLE, Arc::new(table()));
        let mut world = Self {
            plan: *plan,
            schema: Arc::new(schema),
            memory: MemoryManager::new(MemoryConfig::with_data_memory(16 << 20)),
            members: BTreeMap::new(),
            channels: BTreeMap::new(),
            view: Arc::new(View::first(GroupId(1), nodes, usize::from(plan.nodes), 1)),
            crashes_left: plan.crashes,
            copied: BTreeSet::new(),
            rows: Vec::new(),
            asked: (ViewNumber(0), Address::NOBODY),
            told: None,
            answers: 0,
            failure: None,
        };
        for node in (1..=plan.nodes).map(NodeId) {
            world.start(node);
        }
        world.settle_down();
        world.load();
        if let Some(node) = plan.joins {
            world.restart(node);
        }
        world.begin();
        world
    }

    // ---- before the transaction ---------------------------------------------------------------------------------------------------

    fn start(&mut self, node: NodeId) {
        let (ldm, tc) = (Address::new(node, ModuleKind::Ldm, 0), Address::new(node, ModuleKind::Tc, 0));
        let empty = Arc::new(NodeMap::empty(node, Arc::clone(&self.schema)));
        let block = Ldm::new(ldm, Arc::clone(&empty), Arc::clone(&self.memory), MARKER_TIME);
        let modules = [NodeModule::ldm(ldm, block), NodeModule::tc(tc, Tc::new(tc, empty, MARKER_TIME))];
        for module in modules {
            let (view, settled) = (ViewNumber(0), ViewNumber(0));
            self.members.insert(module.address(), Member { module, view, settled, readers: Vec::new() });
        }
    }

    /// Everything that can happen happens, in one order, without faults.
    fn settle_down(&mut self) {
        loop {
            let choices = self.choices();
            let next = choices.iter().find(|choice| !matches!(choice, Choice::Crash(_) | Choice::Join(_)));
            let Some(next) = next.copied() else { return };
            let applied = self.apply(next);
            stdx::require!(applied.is_ok(), "before the transaction: {applied:?}");
        }
    }

    /// Rows, of which the transaction changes some.
    fn load(&mut self) {
        let mut ids = 0..1_000;
        for (number, write) in (0_u64..).zip(self.plan.writes) {
            let (Write::Change(node) | Write::Delete(node)) = *write;
            let is_there = |id: &i64| {
                self.view.place(self.partition(&self.key(*id))).is_some_and(|place| place.primary == node)
            };
            let Some(id) = ids.find(is_there) else { continue };
            let (key, before) = (self.key(id), self.row(id, 1));
            let after = matches!(write, Write::Change(_)).then(|| self.row(id, 2));
            let operation = WriteOperation::Insert {
                key: key.clone(),
                row: before.clone(),
                on_duplicate: OnDuplicate::Fail,
            };
            let partition = self.partition(&key);
            self.write(TransactionId((67 << 54) | (1 + number)), partition, operation, Some(Epoch(0)));
            self.rows.push(Row { partition, key, before, after });
        }
    }

    fn map(&self) -> NodeMap {
        NodeMap::empty(NodeId(67), Arc::clone(&self.schema)).with(
            Incarnation(67),
            Arc::clone(&self.view),
            Arc::clone(&self.schema),
            &[],
            &[],
        )
    }

    fn key(&self, id: i64) -> Box<[u8]> {
        let mut key = Vec::new();
        if let Some(info) = self.map().table(TABLE) {
            info.primary_key.encode_values(&[ValueRef::Int(id)], &mut key);
        }
        key.into()
    }

    fn row(&self, id: i64, value: i64) -> Box<[u8]> {
        let mut row = Vec::new();
        if let Some(info) = self.map().table(TABLE) {
            info.layout.encode(&[ValueRef::Int(id), ValueRef::Int(value)], &mut row);
        }
        row.into()
    }

    fn partition(&self, key: &[u8]) -> PartitionId {
        self.view.partition_of_hash(hash64(key))
    }

    /// A node dies, and starts again with nothing; the view has it joining.
    fn restart(&mut self, node: NodeId) {
        self.crash(node);
        self.settle_down();
        let life = info(node.0, NodeRole::Data, 100);
        let next = succession::with_joining(&self.view, &life);
        self.start(node);
        self.follow(next);
    }

    fn write(
        &mut self,
        transaction: TransactionId,
        partition: PartitionId,
        operation: WriteOperation,
        commit: Option<Epoch>,
    ) {
        let request = WriteRequest {
            request: RequestId(1),
            transaction,
            partition,
            table: TableRef { id: TABLE, version: 1 },
            operations: vec![operation],
            wait: LockWait::NoWait,
            commit,
        };
        let before = self.answers;
        self.say(self.view.primary(partition), Signal::Write(Box::new(request)));
        self.settle_down();
        stdx::require!(self.answers == before + 1, "a write before the transaction was not answered");
    }

    /// The session's writes are staged; it asks for the commit.
    fn begin(&mut self) {
        // The rows are staged in the view before, if a node joins: joining changes no primary.
        let newest = Arc::clone(&self.view);
        let rows = self.rows.clone();
        let session_view = self.members.values().map(|member| member.view).filter(|view| view.0 > 0).min();
        for row in &rows {
            let operation = match &row.after {
                Some(after) => WriteOperation::Put { key: row.key.clone(), row: after.clone() },
                None => WriteOperation::Delete { key: row.key.clone(), filter: None },
            };
            let request = WriteRequest {
                request: RequestId(1),
                transaction: TRANSACTION,
                partition: row.partition,
                table: TableRef { id: TABLE, version: 1 },
                operations: vec![operation],
                wait: LockWait::NoWait,
                commit: None,
            };
            let to = newest.primary(row.partition);
            self.say_in(session_view.unwrap_or_default(), to, Signal::Write(Box::new(request)));
            if let Some(to) = to {
                let delivered = self.deliver(SESSION, to);
                stdx::require!(delivered.is_ok(), "{delivered:?}");
            }
        }
        let answers = std::mem::take(&mut self.answers);
        stdx::require!(answers == 2 * rows.len(), "the rows are not staged");
        self.asked = (newest.number, Address::NOBODY);
        let view = session_view.unwrap_or_default();
        let participants = self.participants(view);
        let (to, signal) = match participants[..] {
            [participant] => {
                let request = CommitOneRequest {
                    request: REQUEST,
                    transaction: TRANSACTION,
                    participant,
                    epoch_seen: Epoch(0),
                };
                (newest.primary(participant.partition), Signal::CommitOne(Box::new(request)))
            }
            _ => {
                let first = newest.place(participants[0].partition).map(|place| place.primary);
                let request = CoordinateRequest {
                    request: REQUEST,
                    transaction: TRANSACTION,
                    participants,
                    epoch_seen: Epoch(0),
                };
                let tc = first.map(|node| Address::new(node, ModuleKind::Tc, 0));
                (tc, Signal::Coordinate(Box::new(request)))
            }
        };
        self.asked.1 = to.unwrap_or(Address::NOBODY);
        self.say_in(view, to, signal);
    }

    fn participants(&self, view: ViewNumber) -> Vec<Participant> {
        let mut operations: BTreeMap<PartitionId, u32> = BTreeMap::new();
        for row in &self.rows {
            *operations.entry(row.partition).or_default() += 1;
        }
        let participant =
            |(partition, operations)| Participant { partition, operations, view, has_writes: true };
        operations.into_iter().map(participant).collect()
    }

    // ---- what happens -------------------------------------------------------------------------------------------------------------

    fn say(&mut self, to: Option<Address>, signal: Signal) {
        self.say_in(self.view.number, to, signal);
    }

    fn say_in(&mut self, view: ViewNumber, to: Option<Address>, signal: Signal) {
        let Some(to) = to else { return };
        self.post(Envelope { from: SESSION, to, view, epoch: Epoch(1), signal });
    }

    fn post(&mut self, envelope: Envelope) {
        match envelope.to.kind {
            ModuleKind::Sql => self.hear(&envelope),
            ModuleKind::Main => self.note(&envelope),
            ModuleKind::Tc | ModuleKind::Ldm if self.members.contains_key(&envelope.to) => {
                self.channels.entry((envelope.from, envelope.to)).or_default().push_back(envelope);
            }
            ModuleKind::Tc | ModuleKind::Ldm | ModuleKind::Query | ModuleKind::Membership => {}
        }
    }

    /// `main` hears something: only that a partition is copied matters here.
    fn note(&mut self, envelope: &Envelope) {
        if let Signal::PartitionCopied { partition } = envelope.signal {
            self.copied.insert((envelope.view, envelope.from.node, partition));
        }
    }

    /// The session hears something.
    fn hear(&mut self, envelope: &Envelope) {
        let Signal::CommitDone(CommitDone { request: REQUEST, outcome }) = &envelope.signal else {
            self.answers += 1;
            return;
        };
        let is_committed = match outcome {
            CommitOutcome::Committed(_) => true,
            CommitOutcome::Aborted(_) => false,
            CommitOutcome::Unknown => {
                self.failure = Some("the session hears \"unknown\"".to_owned());
                return;
            }
        };
        if self.told.is_some_and(|told| told != is_committed) {
            self.failure = Some("the session hears two outcomes".to_owned());
        }
        self.told = Some(is_committed);
        let from = envelope.from;
        let partition = self.rows[0].partition;
        let confirm = if from.kind == ModuleKind::Tc {
            Signal::Confirm { transaction: TRANSACTION }
        } else {
            Signal::Forget { transaction: TRANSACTION, partition }
        };
        self.say(Some(from), confirm);
    }

    fn deliver(&mut self, from: Address, to: Address) -> Result<(), String> {
        let Some(channel) = self.channels.get_mut(&(from, to)) else { return Ok(()) };
        let Some(envelope) = channel.pop_front() else { return Ok(()) };
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        self.handle(to, |_| Input::Signal(envelope))
    }

    fn handle<'a>(
        &mut self,
        to: Address,
        input: impl FnOnce(&Member) -> Input<'a, Shared>,
    ) -> Result<(), String> {
        let Some(member) = self.members.get_mut(&to) else { return Ok(()) };
        let mut outputs = Outputs::default();
        let input = input(member);
        member.module.handle(Now::default(), input, &mut Budget { rows: SLICE }, &mut outputs);
        for (_, _, shared) in outputs.shared {
            if let Shared::Readers { readers, .. } = shared {
                member.readers = readers;
            }
        }
        if !outputs.requests.is_empty() {
            return Err(format!("{to} gives up: {:?}", outputs.events.last().map(|event| &event.message)));
        }
        for envelope in outputs.signals {
            self.post(envelope);
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    fn install(&mut self, node: NodeId, kind: ModuleKind) -> Result<(), String> {
        let at = Address::new(node, kind, 0);
        let life = self.view.node(node).map_or(Incarnation(0), |info| info.incarnation);
        let empty = NodeMap::empty(node, Arc::clone(&self.schema));
        let (view, schema) = (Arc::clone(&self.view), Arc::clone(&self.schema));
        let map = Arc::new(empty.with(life, view, schema, &[], &[]));
        if let Some(member) = self.members.get_mut(&at) {
            member.view = map.view.number;
        }
        let main = Address::main(node);
        if kind == ModuleKind::Ldm {
            let tables = Shared::Tables(Arc::clone(&map));
            self.handle(at, |_| Input::Shared { from: main, shared: tables })?;
        }
        self.handle(at, |_| Input::Shared { from: main, shared: Shared::Map(map) })
    }

    fn follow(&mut self, next: Option<View>) {
        if let Some(next) = next {
            self.view = Arc::new(next);
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.members.retain(|address, _| address.node != node);
        self.channels.retain(|(_, to), _| to.node != node);
        self.follow(succession::without(&self.view, &[node]));
    }

    fn ask(&mut self) {
        let partition = self.rows[0].partition;
        let primary = self.view.primary(partition);
        self.asked = (self.view.number, primary.unwrap_or(Address::NOBODY));
        let ask =
            Signal::OutcomeAsk { request: REQUEST, transaction: TRANSACTION, partition, is_write: false };
        self.say(primary, ask);
    }

    /// Nodes whose modules all use the newest view.
    fn is_installed_everywhere(&self) -> bool {
        let newest = self.view.number;
        let needed = |address: &Address| self.view.is_member(address.node);
        self.members.iter().all(|(address, member)| !needed(address) || member.view == newest)
    }

    fn is_whole(&self, node: NodeId) -> bool {
        let partitions = (0..u32::try_from(self.view.partitions.len()).unwrap_or(0)).map(PartitionId);
        let mut mine =
            partitions.filter(|partition| self.view.joining(*partition).contains(&node)).peekable();
        mine.peek().is_some()
            && mine.all(|partition| self.copied.contains(&(self.view.number, node, partition)))
    }

    /// What a committed read of a row would find at a replica.
    fn seen(&self, member: &Member, row: &Row) -> Seen {
        let is_its =
            |published: &&PublishedReader| published.table == TABLE && published.partition == row.partition;
        let Some(published) = member.readers.iter().find(is_its) else { return Seen::Nothing };
        match published.reader.get(&Guard::enter(), &row.key, Visibility::Committed) {
            Lookup::Absent => Seen::Row(None),
            Lookup::Found(bytes) => Seen::Row(Some(bytes.into())),
            Lookup::Undecided => Seen::Undecided,
        }
    }

    /// Ldms that answer reads: those in sync in the newest view. (Who was left out has no lease: that is the other world's.)
    fn readers(&self) -> impl Iterator<Item = (&Address, &Member)> {
        let reads = |address: &Address| address.kind == ModuleKind::Ldm && self.view.is_member(address.node);
        self.members.iter().filter(move |(address, _)| reads(address))
    }

    /// What was told is never contradicted by a replica, whichever is read.
    fn check_reads(&self) -> Result<(), String> {
        let Some(is_committed) = self.told else { return Ok(()) };
        for (address, member) in self.readers() {
            for row in &self.rows {
                let seen = self.seen(member, row);
                if seen != Seen::Undecided && seen != Seen::Row(row.expected(is_committed)) {
                    return Err(format!("{address} shows {seen:?}, told was committed: {is_committed}"));
                }
            }
        }
        Ok(())
    }
}

impl SmallWorld for ReplicaWorld {
    type Choice = Choice;

    fn choices(&self) -> Vec<Choice> {
        let mut choices: Vec<Choice> =
            self.channels.keys().map(|(from, to)| Choice::Deliver(*from, *to)).collect();
        let newest = self.view.number;
        let is_installed = self.is_installed_everywhere();
        for (address, member) in &self.members {
            let node = address.node;
            if !self.view.is_counted(node) {
                continue;
            }
            match address.kind {
                ModuleKind::Ldm if member.view < newest => choices.push(Choice::Install(node)),
                ModuleKind::Ldm if is_installed && member.settled < newest => {
                    choices.push(Choice::Settle(node))
                }
                ModuleKind::Tc if member.view < newest => {
                    let ldm = self.members.get(&Address::new(node, ModuleKind::Ldm, 0));
                    if ldm.is_some_and(|ldm| ldm.view == newest) {
                        choices.push(Choice::InstallTc(node));
                    }
                }
                ModuleKind::Ldm
                | ModuleKind::Tc
                | ModuleKind::Sql
                | ModuleKind::Query
                | ModuleKind::Main
                | ModuleKind::Membership => {}
            }
            if address.kind == ModuleKind::Ldm && self.is_whole(node) {
                choices.push(Choice::Join(node));
            }
        }
        let (asked, whom) = self.asked;
        if self.told.is_none() && asked < newest && asked.0 > 0 && !self.members.contains_key(&whom) {
            choices.push(Choice::Ask);
        }
        if self.crashes_left > 0 {
            let counted = self.members.keys().filter(|address| address.kind == ModuleKind::Ldm);
            let counted = counted.map(|address| address.node).filter(|node| self.view.is_counted(*node));
            let spared = counted.filter(|node| succession::without(&self.view, &[*node]).is_some());
            choices.extend(spared.map(Choice::Crash));
        }
        choices
    }

    fn is_quiet(&self, choices: &[Choice]) -> bool {
        choices.iter().all(|choice| matches!(choice, Choice::Crash(_)))
    }

    fn apply(&mut self, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::Deliver(from, to) => self.deliver(from, to)?,
            Choice::Install(node) => self.install(node, ModuleKind::Ldm)?,
            Choice::InstallTc(node) => self.install(node, ModuleKind::Tc)?,
            Choice::Settle(node) => {
                let (at, view) = (Address::new(node, ModuleKind::Ldm, 0), self.view.number);
                if let Some(member) = self.members.get_mut(&at) {
                    member.settled = view;
                }
                let (from, signal) = (Address::main(node), Signal::ViewSettled { view });
                let envelope = Envelope { from, to: at, view, epoch: Epoch(1), signal };
                self.handle(at, |_| Input::Signal(envelope))?;
            }
            Choice::Join(node) => self.follow(succession::with_in_sync(&self.view, node)),
            Choice::Ask => self.ask(),
            Choice::Crash(node) => {
                self.crashes_left -= 1;
                self.crash(node);
            }
        }
        self.check_reads()
    }

    fn check_end(&self) -> Result<(), String> {
        let Some(is_committed) = self.told else { return Err("the session hears nothing".to_owned()) };
        if self.plan.joins.is_some_and(|node| {
            self.members.keys().any(|address| address.node == node) && !self.view.is_member(node)
        }) {
            return Err("the joining node is not in sync in the end".to_owned());
        }
        for (address, member) in self.readers() {
            for row in &self.rows {
                let seen = self.seen(member, row);
                if seen != Seen::Row(row.expected(is_committed)) {
                    let told = format!("told was committed: {is_committed}");
                    return Err(format!("{address} has {seen:?} in the end, {told}"));
                }
            }
        }
        for member in self.members.values() {
            let open = member.module.as_tc().map_or(0, Tc::open_count);
            let unfinished = member.module.as_ldm().map_or_else(Vec::new, Ldm::unfinished);
            if open > 0 || !unfinished.is_empty() {
                let at = member.module.address();
                return Err(format!("{at} has {open} open commits in the end: {unfinished:?}"));
            }
        }
        Ok(())
    }

    fn digest(&self) -> u64 {
        let mut text = format!(
            "{:?} {} {:?} {:?} {:?}",
            self.view, self.crashes_left, self.copied, self.asked, self.told
        );
        let members = self.members.iter();
        let modules = members.map(|(at, member)| (at, member.view, member.settled, member.module.digest()));
        let modules: Vec<_> = modules.collect();
        text.push_str(&format!("{modules:?} {:?}", self.channels));
        hash64(text.as_bytes())
    }
}
