//! One `sql` module of a node without partitions; the test answers for node 2, which holds them all.

use crate::{SqlConfig, SqlModule};
use fixtures::{data_node, integer, node};
use memory::{MemoryConfig, MemoryManager, Region};
use mysql_protocol::client::Response;
use mysql_protocol::{Capabilities, ClientConnection, ClientOptions, Transport};
use protocol::control::GroupId;
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use protocol::module::{CloseReason, ConnectionAction};
use protocol::placement::ReadPlacement;
use protocol::program::{OperationResult, ReadProgress, Refusal};
use protocol::signal::{
    CommitDone, CommitOutcome, ReadBatch, ReadDone, ReadRequest, RequestId, WriteDone, WriteFailure,
    WriteRequest, WriteSummary,
};
use protocol::{
    Address, Budget, ConnectionId, ConnectionKind, Envelope, Input, ModuleKind, NodeInfo, NodeRole, Outputs,
    ReceiveBuffer, RestartPoint, Signal, SlotSizes, View,
};
use query::{BatchShape, NodeMap, PublishedReader, Readers, RowBatchWriter, Shared};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant, Now, WallTime};
use types::{
    Collation, Database, Epoch, Incarnation, NodeId, Schema, SchemaVersion, TableDefinition, TableId, Value,
    ValueRef, ViewNumber,
};

/// The ldm that holds the slot.
pub(super) const LDM: Address = Address::new(NodeId(2), ModuleKind::Ldm, 0);
/// The ldm that has a replica (`Harness::with_backup`).
pub(super) const BACKUP: Address = Address::new(NodeId(3), ModuleKind::Ldm, 0);
/// The module under test.
const SQL: Address = Address::new(NodeId(4), ModuleKind::Sql, 0);

struct Client {
    id: ConnectionId,
    protocol: ClientConnection,
    received: ReceiveBuffer,
}

/// The module and its world.
pub(super) struct Harness {
    module: SqlModule,
    outputs: Outputs<Shared>,
    clients: Vec<Client>,
    closed: BTreeSet<u32>,
    now: Now,
    map: Arc<NodeMap>,
    sent: Vec<(Address, Signal)>,
    memory: Arc<MemoryManager>,
    slice_ms: u64,
    slices: u64,
    /// Slices that wait for the test (`Harness::slice`), if they do.
    waiting: Option<Vec<Envelope>>,
    /// The disk of the node.
    pub(super) disk: Disk,
}

/// How many requests a disk does.
#[derive(Default)]
enum Pace {
    #[default]
    All,
    Only(u32),
}

impl Pace {
    fn take_one(&mut self) -> bool {
        match self {
            Pace::All => true,
            Pace::Only(0) => false,
            Pace::Only(count) => {
                *count -= 1;
                true
            }
        }
    }
}

/// A disk with the files of statements.
#[derive(Default)]
pub(super) struct Disk {
    files: BTreeMap<FileName, Vec<u8>>,
    asked: VecDeque<DiskRequest>,
    pace: Pace,
    /// The next write is answered so, and not done.
    pub(super) next_write: Option<Result<DiskAnswer, DiskError>>,
    /// The next read gives other bytes than there are.
    pub(super) next_read_is_wrong: bool,
    /// How many writes there were.
    pub(super) writes: u64,
}

impl Disk {
    /// The names of all files.
    pub(super) fn files(&self) -> Vec<FileName> {
        self.files.keys().copied().collect()
    }

    /// Bytes of all files.
    pub(super) fn size(&self) -> usize {
        self.files.values().map(Vec::len).sum()
    }

    fn perform(&mut self, operation: DiskOperation) -> Result<DiskAnswer, DiskError> {
        match operation {
            DiskOperation::Create { file } => {
                self.files.insert(file, Vec::new());
            }
            DiskOperation::Write { file, offset, bytes, sync: false } => {
                self.writes += 1;
                let known = self.files.get_mut(&file).ok_or(DiskError::Absent)?;
                if let Some(answer) = self.next_write.take() {
                    return answer;
                }
                let start = usize::try_from(offset).unwrap();
                known.resize(known.len().max(start + bytes.len()), 0);
                known[start..start + bytes.len()].copy_from_slice(&bytes);
            }
            DiskOperation::Read { file, offset, length } => {
                let known = self.files.get(&file).ok_or(DiskError::Absent)?;
                let start = usize::try_from(offset).unwrap().min(known.len());
                let end = known.len().min(start + usize::try_from(length).unwrap());
                let mut bytes = known[start..end].to_vec();
                if let Some(byte) = bytes.last_mut().filter(|_| std::mem::take(&mut self.next_read_is_wrong))
                {
                    *byte ^= 1;
                }
                return Ok(DiskAnswer::Bytes(bytes));
            }
            DiskOperation::Remove { file } => {
                self.files.remove(&file).ok_or(DiskError::Absent)?;
            }
            other => panic!("a statement asks for {other:?}"),
        }
        Ok(DiskAnswer::Done)
    }
}

/// `test.t (id INT PRIMARY KEY, v INT NOT NULL)`.
pub(super) fn column_table() -> TableDefinition {
    let columns = vec![fixtures::column("id", integer()), fixtures::column("v", integer())];
    TableDefinition { database: "test".to_owned(), ..fixtures::table(TableId(100), columns) }
}

fn schema() -> Schema {
    let mut schema = catalogue::bootstrap();
    schema.version = SchemaVersion(2);
    let database = Database { name: "test".to_owned(), collation: Collation::Utf8mb40900AiCi };
    schema.put_database(database);
    schema.put_table(Arc::new(column_table()));
    schema
}

fn view(data_nodes: &[u16]) -> View {
    let nodes = data_nodes.iter().map(|id| data_node(*id)).chain([node(4, NodeRole::Sql)]);
    let nodes = nodes.map(|info| NodeInfo { incarnation: Incarnation(1), ..info });
    fixtures::view(nodes.collect(), data_nodes.len())
}

/// The next view: one node is the primary of everything.
fn led_by(view: &View, node: NodeId) -> View {
    let mut view = view.clone();
    view.number = ViewNumber(view.number.0 + 1);
    view.slots.iter_mut().for_each(|place| place.primary = node);
    view
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with_config(|_| {})
    }

    pub(super) fn with_config(change: impl FnOnce(&mut SqlConfig)) -> Self {
        Self::with_view(change, view(&[2]))
    }

    /// The module's own node holds all rows.
    pub(super) fn with_own_rows() -> Self {
        Self::with_own_slots(1)
    }

    /// The module's own node holds all rows of tables of so many slots.
    pub(super) fn with_own_slots(count: u16) -> Self {
        let own = NodeInfo { incarnation: Incarnation(1), ..data_node(4) };
        Self::with_view(|_| {}, View::first(GroupId(1), vec![own], 1, SlotSizes::least(count)))
    }

    /// The same with so many modules `query`, where reads go to the threads that own the slots.
    pub(super) fn with_owners(count: u16, query_count: u8) -> Self {
        let own = NodeInfo { incarnation: Incarnation(1), ldm_count: 2, query_count, ..data_node(4) };
        let view = View::first(GroupId(1), vec![own], 1, SlotSizes::least(count));
        Self::with_view(|config| config.read_placement = ReadPlacement::Owner, view)
    }

    /// The module's own node holds all rows, and its cluster has begun again from disks.
    pub(super) fn after_restart() -> Self {
        let own = NodeInfo { incarnation: Incarnation(1), ..data_node(4) };
        let view = View::first(GroupId(1), vec![own], 1, SlotSizes::least(1));
        Self::with_view(|_| {}, View { restart: RestartPoint::FOUNDING.next(Epoch(7)), ..view })
    }

    /// Node 3 has a replica of everything, too, and leads nothing.
    pub(super) fn with_backup() -> Self {
        Self::with_view(|_| {}, led_by(&view(&[2, 3]), LDM.node))
    }

    fn with_view(change: impl FnOnce(&mut SqlConfig), view: View) -> Self {
        let mut config = SqlConfig::new(NodeId(4), 0);
        change(&mut config);
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
        let module = SqlModule::new(config, Arc::clone(&memory));
        let map = NodeMap::empty(NodeId(4), Arc::new(Schema::empty(SchemaVersion(0))));
        let map = Arc::new(map.with(Incarnation(1), Arc::new(view), Arc::new(schema()), &[]));
        let mut harness = Self {
            module,
            outputs: Outputs::default(),
            clients: Vec::new(),
            closed: BTreeSet::new(),
            now: Now { monotonic: Instant(1_000_000_000), wall: WallTime(1_700_000_000_000_000) },
            map: Arc::clone(&map),
            sent: Vec::new(),
            slice_ms: 0,
            slices: 0,
            waiting: None,
            memory,
            disk: Disk::default(),
        };
        harness.handle(Input::Start { seed: [7; 32] });
        harness.handle(Input::Shared { from: Address::main(NodeId(4)), shared: Shared::Map(map) });
        harness
    }

    /// One input, with what the module sends to itself.
    fn handle(&mut self, input: Input<'_, Shared>) {
        self.handle_with(Budget::of(64), input);
    }

    fn handle_with(&mut self, mut budget: Budget, input: Input<'_, Shared>) {
        self.module.handle(self.now, input, &mut budget, &mut self.outputs);
        loop {
            let signals = std::mem::take(&mut self.outputs.signals);
            for (connection, action) in std::mem::take(&mut self.outputs.actions) {
                if matches!(action, ConnectionAction::Close | ConnectionAction::Reject) {
                    self.closed.insert(connection.slot);
                }
            }
            self.disk.asked.extend(std::mem::take(&mut self.outputs.disk_requests));
            let done = self.disk.asked.pop_front_if(|_| self.disk.pace.take_one());
            if signals.is_empty() && done.is_none() {
                break;
            }
            if let Some(DiskRequest { ticket, lane, operation }) = done {
                assert_eq!(lane, DiskLane::Scratch);
                let input = Input::DiskDone { ticket, result: self.disk.perform(operation) };
                self.module.handle(self.now, input, &mut Budget::of(64), &mut self.outputs);
            }
            for envelope in signals {
                assert_eq!(envelope.from, SQL);
                if envelope.to != SQL {
                    self.sent.push((envelope.to, envelope.signal));
                } else if let Some(waiting) = &mut self.waiting {
                    waiting.push(envelope);
                } else {
                    self.now.monotonic = self.now.monotonic + Duration::from_millis(self.slice_ms);
                    self.slices += 1;
                    let mut budget = Budget::of(64);
                    self.module.handle(self.now, Input::Signal(envelope), &mut budget, &mut self.outputs);
                }
            }
        }
    }

    // ---- clients ----------------------------------------------------------------------------------------------------

    /// A connection whose client has said nothing yet.
    pub(super) fn open(&mut self, loopback: bool, options: ClientOptions) -> usize {
        let number = self.add_client(options);
        let id = self.clients[number].id;
        let peer = if loopback { "127.0.0.1:9".to_owned() } else { "10.0.0.1:9".to_owned() };
        self.handle(Input::Opened { connection: id, kind: ConnectionKind::MySqlTcp { loopback }, peer });
        number
    }

    /// A connection by the Unix socket that goes through its handshake.
    pub(super) fn connect_by_socket(&mut self, is_owner: bool, mut options: ClientOptions) -> usize {
        options.transport = Transport::UnixSocket;
        let number = self.add_client(options);
        let (connection, peer) = (self.clients[number].id, "localhost".to_owned());
        self.handle(Input::Opened { connection, kind: ConnectionKind::MySqlUnix { is_owner }, peer });
        self.pump(number);
        number
    }

    fn add_client(&mut self, options: ClientOptions) -> usize {
        let number = self.clients.len();
        let slot = u32::try_from(number).expect("few clients");
        let id = ConnectionId { slot, generation: 1 };
        let protocol = ClientConnection::new(options);
        self.clients.push(Client { id, protocol, received: ReceiveBuffer::default() });
        number
    }

    /// A connection that goes through its handshake.
    pub(super) fn connect_from(&mut self, loopback: bool, options: ClientOptions) -> usize {
        let number = self.open(loopback, options);
        self.pump(number);
        number
    }

    /// root from this machine.
    pub(super) fn connect(&mut self) -> usize {
        self.connect_with(ClientOptions::new("root", ""))
    }

    /// The same, with several statements in one packet.
    pub(super) fn connect_multi(&mut self) -> usize {
        let mut options = ClientOptions::new("root", "");
        options.capabilities = options.capabilities | Capabilities::MULTI_STATEMENTS;
        self.connect_with(options)
    }

    fn connect_with(&mut self, options: ClientOptions) -> usize {
        let number = self.connect_from(true, options);
        assert_eq!(self.response(number), Response::Connected);
        number
    }

    pub(super) fn client(&mut self, number: usize) -> &mut ClientConnection {
        &mut self.clients[number].protocol
    }

    /// Moves bytes both ways until nothing moves.
    pub(super) fn pump(&mut self, number: usize) {
        loop {
            self.receive(number);
            let output = self.clients[number].protocol.take_output();
            if output.is_empty() {
                return;
            }
            let id = self.clients[number].id;
            let mut received = std::mem::take(&mut self.clients[number].received);
            received.tail().extend_from_slice(&output);
            self.handle(Input::Bytes { connection: id, buffer: &mut received });
            self.clients[number].received = received;
        }
    }

    /// The module's bytes go to the client.
    fn receive(&mut self, number: usize) {
        let client = &mut self.clients[number];
        loop {
            let Some(unsent) = self.outputs.unsent(client.id) else { return };
            let bytes = std::mem::take(unsent);
            client.protocol.receive(&bytes);
            // Answering the greeting makes output, so the client reads before it is asked for an answer.
            if bytes.is_empty() {
                return;
            }
        }
    }

    /// Bytes from a client, as they are.
    pub(super) fn feed(&mut self, number: usize, bytes: &[u8]) {
        let id = self.clients[number].id;
        let mut received = std::mem::take(&mut self.clients[number].received);
        received.tail().extend_from_slice(bytes);
        self.handle(Input::Bytes { connection: id, buffer: &mut received });
        self.clients[number].received = received;
    }

    /// The bytes that the module has written to a client.
    pub(super) fn answer(&mut self, number: usize) -> Vec<u8> {
        self.outputs.unsent(self.clients[number].id).map(std::mem::take).unwrap_or_default()
    }

    /// The client takes nothing any more.
    pub(super) fn block(&mut self, number: usize) {
        let connection = self.clients[number].id;
        self.outputs.set_congested(connection, true);
        self.handle(Input::Blocked { connection });
    }

    /// The client takes some of what waits for it.
    pub(super) fn take(&mut self, number: usize, count: usize) {
        self.outputs.add_taken(self.clients[number].id, count);
    }

    /// The client has taken all.
    pub(super) fn unblock(&mut self, number: usize) {
        let connection = self.clients[number].id;
        self.outputs.set_congested(connection, false);
        self.handle(Input::Writable { connection });
    }

    /// The driver has no room for the client's bytes.
    pub(super) fn memory_full(&mut self, number: usize) {
        let connection = self.clients[number].id;
        self.handle(Input::MemoryFull { connection });
    }

    /// Lines for the log since they were last asked for.
    pub(super) fn events(&mut self) -> Vec<protocol::Event> {
        std::mem::take(&mut self.outputs.events)
    }

    pub(super) fn client_memory(&self) -> u64 {
        self.memory.used(Region::ClientMemory)
    }

    pub(super) fn query_memory(&self) -> u64 {
        self.memory.used(Region::QueryMemory)
    }

    /// COM_RESET_CONNECTION.
    pub(super) fn reset(&mut self, number: usize) {
        self.client(number).reset_connection();
        self.pump(number);
    }

    pub(super) fn client_memory_max(&self) -> u64 {
        self.memory.config().region(Region::ClientMemory).maximum
    }

    pub(super) fn client_memory_high(&self) -> u64 {
        let rows = self.memory.resources();
        rows[Region::ClientMemory.index()].high_water * memory::PAGE_BYTES as u64
    }

    pub(super) fn query(&mut self, number: usize, text: &str) {
        self.query_bytes(number, text.as_bytes());
    }

    /// A query that need not be UTF-8.
    pub(super) fn query_bytes(&mut self, number: usize, text: &[u8]) {
        self.clients[number].protocol.query(text);
        self.pump(number);
    }

    /// The next answer, which must be there.
    pub(super) fn response(&mut self, number: usize) -> Response {
        self.try_response(number).expect("an answer is there")
    }

    pub(super) fn no_response(&mut self, number: usize) -> bool {
        self.try_response(number).is_none()
    }

    fn try_response(&mut self, number: usize) -> Option<Response> {
        for _ in 0..8 {
            self.pump(number);
            let response =
                self.clients[number].protocol.next_response().expect("the server speaks the protocol");
            if response.is_some() {
                return response;
            }
        }
        None
    }

    /// A statement that is answered at once.
    pub(super) fn ask(&mut self, number: usize, text: &str) -> Response {
        self.query(number, text);
        self.response(number)
    }

    /// The same with an answer that the client takes in many parts.
    pub(super) fn ask_much(&mut self, number: usize, text: &str) -> Response {
        self.query(number, text);
        for _ in 0..100 {
            if let Some(response) = self.try_response(number) {
                return response;
            }
            self.unblock(number);
        }
        panic!("an answer is there")
    }

    pub(super) fn is_closed(&self, number: usize) -> bool {
        self.closed.contains(&self.clients[number].id.slot)
    }

    pub(super) fn disconnect(&mut self, number: usize) {
        let connection = self.clients[number].id;
        self.outputs.forget(connection);
        self.handle(Input::Closed { connection, reason: CloseReason::Peer });
    }

    // ---- the others -------------------------------------------------------------------------------------------------

    /// The signals to others since they were last asked for.
    pub(super) fn signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.sent).into_iter().map(|(_, signal)| signal).collect()
    }

    /// Where the signals go that `signals` will give.
    pub(super) fn addressees(&self) -> Vec<Address> {
        self.sent.iter().map(|(to, _)| *to).collect()
    }

    pub(super) fn only_signal(&mut self) -> Signal {
        let mut signals = self.signals();
        assert_eq!(signals.len(), 1, "one signal was expected: {signals:?}");
        signals.remove(0)
    }

    pub(super) fn signal(&mut self, from: Address, signal: Signal) {
        self.handle(Input::Signal(Envelope::unstamped(from, SQL, signal)));
    }

    /// The same, said in a view.
    pub(super) fn signal_in(&mut self, view: u64, from: Address, signal: Signal) {
        let envelope = Envelope { view: ViewNumber(view), ..Envelope::unstamped(from, SQL, signal) };
        self.handle(Input::Signal(envelope));
    }

    /// A write that carried its commit is done.
    pub(super) fn written(
        &mut self,
        write: &WriteRequest,
        results: Vec<OperationResult>,
        committed: Option<Epoch>,
    ) {
        self.written_with(write, results, committed, None);
    }

    /// The same, with warnings.
    pub(super) fn written_with(
        &mut self,
        write: &WriteRequest,
        results: Vec<OperationResult>,
        committed: Option<Epoch>,
        raised: Option<Box<expression::context::Raised>>,
    ) {
        let result = Ok(WriteSummary { results: results.into(), operations: 0, committed, raised });
        self.signal(LDM, Signal::WriteDone(Box::new(WriteDone::new(write.request, result))));
    }

    /// A write within a transaction is done.
    pub(super) fn written_in(
        &mut self,
        write: &WriteRequest,
        results: Vec<OperationResult>,
        operations: u32,
    ) {
        let result = Ok(WriteSummary { results: results.into(), operations, committed: None, raised: None });
        self.signal(LDM, Signal::WriteDone(Box::new(WriteDone::new(write.request, result))));
    }

    pub(super) fn refused(&mut self, write: &WriteRequest, operation: u32, refusal: Refusal) {
        let result = Err(WriteFailure { operation, refusal });
        self.signal(LDM, Signal::WriteDone(Box::new(WriteDone::new(write.request, result))));
    }

    pub(super) fn committed(&mut self, request: RequestId, outcome: CommitOutcome) {
        self.signal(LDM, Signal::CommitDone(CommitDone { request, outcome }));
    }

    pub(super) fn read_done(&mut self, read: &ReadRequest, rows: &[Vec<Value>]) {
        self.read_part(read, rows, ReadProgress::End);
    }

    /// Rows under the key `key`, and what is left.
    pub(super) fn read_part(&mut self, read: &ReadRequest, rows: &[Vec<Value>], progress: ReadProgress) {
        self.read_part_by(LDM, read, rows, progress);
    }

    /// The same from another module.
    pub(super) fn read_part_by(
        &mut self,
        reader: Address,
        read: &ReadRequest,
        rows: &[Vec<Value>],
        progress: ReadProgress,
    ) {
        let mut writer = RowBatchWriter::new(BatchShape::of(&read.program));
        for row in rows {
            let values: Vec<ValueRef<'_>> = row.iter().map(Value::as_ref).collect();
            writer.push(b"key", b"key", &values);
        }
        let batch = ReadBatch { rows: writer.finish(), progress, operations: 0, raised: None, granted: None };
        let done = ReadDone { request: read.request, result: Ok(batch) };
        self.signal(reader, Signal::ReadDone(Box::new(done)));
    }

    /// A part of a locking read is done: rows by key, and how many operations the transaction has there.
    pub(super) fn locked(
        &mut self,
        read: &ReadRequest,
        rows: &[(&[u8], i64)],
        progress: ReadProgress,
        operations: u32,
    ) {
        let mut writer = RowBatchWriter::new(BatchShape::of(&read.program));
        for (key, value) in rows {
            writer.push(key, b"", &[ValueRef::Int(*value)]);
        }
        let batch = ReadBatch { rows: writer.finish(), progress, operations, raised: None, granted: None };
        self.signal(LDM, Signal::ReadDone(Box::new(ReadDone { request: read.request, result: Ok(batch) })));
    }

    pub(super) fn read_refused(&mut self, read: &ReadRequest, refusal: Refusal) {
        self.read_refused_by(LDM, read, refusal);
    }

    pub(super) fn read_refused_by(&mut self, reader: Address, read: &ReadRequest, refusal: Refusal) {
        let done = ReadDone { request: read.request, result: Err(refusal) };
        self.signal(reader, Signal::ReadDone(Box::new(done)));
    }

    /// A node is lost: the news first, then the map.
    pub(super) fn lose(&mut self, node: NodeId) {
        self.tell_lost(node);
        self.install(&[node], &[]);
    }

    /// The news of it, ahead of the map.
    pub(super) fn tell_lost(&mut self, node: NodeId) {
        self.signal(Address::main(NodeId(4)), Signal::PeerLost { node, incarnation: Incarnation(1) });
    }

    /// No view without a lost node is awaited any more.
    pub(super) fn give_up(&mut self, node: NodeId) {
        self.install(&[node], &[node]);
    }

    /// A map with these nodes lost and given up.
    pub(super) fn install(&mut self, lost: &[NodeId], given_up: &[NodeId]) {
        let map = &self.map;
        let mut map = map.with(Incarnation(1), Arc::clone(&map.view), Arc::clone(&map.schema), lost);
        map.given_up = given_up.to_vec();
        self.map = Arc::new(map);
        let shared = Shared::Map(Arc::clone(&self.map));
        self.handle(Input::Shared { from: Address::main(NodeId(4)), shared });
    }

    /// Whether DDL statements may have ended that the node does not know of.
    pub(super) fn fall_behind(&mut self, is_behind: bool) {
        let map = &self.map;
        let mut map = map.with(Incarnation(1), Arc::clone(&map.view), Arc::clone(&map.schema), &map.lost);
        map.is_behind = is_behind;
        self.map = Arc::new(map);
        let shared = Shared::Map(Arc::clone(&self.map));
        self.handle(Input::Shared { from: Address::main(NodeId(4)), shared });
    }

    /// The schema with these accounts.
    pub(super) fn put_users(&mut self, users: &[types::User]) {
        self.change_schema(|schema| users.iter().for_each(|user| schema.put_user(user.clone())));
    }

    /// Somewhere in the cluster variables were set.
    pub(super) fn set_globals(&mut self, variables: &[(&str, &str)]) {
        self.change_schema(|schema| {
            for (name, value) in variables {
                let variable = types::GlobalVariable { value: Some((*value).to_owned()), persisted: None };
                Arc::make_mut(&mut schema.variables).insert((*name).to_owned(), variable);
            }
        });
    }

    /// The newest map.
    pub(super) fn map(&self) -> &NodeMap {
        &self.map
    }

    /// Fragments are here.
    pub(super) fn publish(&mut self, readers: impl IntoIterator<Item = PublishedReader>) {
        let mut all = Readers::default();
        readers.into_iter().for_each(|reader| all.insert(reader));
        self.map = Arc::new((*self.map).clone().with_readers(&all));
        let shared = Shared::Map(Arc::clone(&self.map));
        self.handle(Input::Shared { from: Address::main(NodeId(4)), shared });
    }

    /// SELECTs that were answered in the call that decoded them.
    pub(super) fn answered_at_once(&self) -> u64 {
        self.module.state.counters.point_selects
    }

    /// Some DDL was done.
    pub(super) fn change_schema(&mut self, change: impl FnOnce(&mut types::Schema)) {
        let map = &self.map;
        let mut schema = (*map.schema).clone();
        schema.version = SchemaVersion(schema.version.0 + 1);
        change(&mut schema);
        let map = map.with(Incarnation(1), Arc::clone(&map.view), Arc::new(schema), &map.lost);
        self.map = Arc::new(map);
        let shared = Shared::Map(Arc::clone(&self.map));
        self.handle(Input::Shared { from: Address::main(NodeId(4)), shared });
    }

    /// The rows of the module in SHOW PROCESSLIST.
    pub(super) fn processes(&self) -> Vec<Vec<Value>> {
        self.module.process_rows(self.now)
    }

    /// The lines for the log.
    pub(super) fn log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.outputs.events).into_iter().map(|event| event.message).collect()
    }

    /// How many alarms are set.
    pub(super) fn alarms(&self) -> usize {
        self.module.alarms()
    }

    /// The next view: another node is the primary of everything, and has what was open.
    pub(super) fn hand_over_to(&mut self, node: NodeId) {
        let map = &self.map;
        let view = Arc::new(led_by(&map.view, node));
        self.map = Arc::new(map.with(Incarnation(1), view, Arc::clone(&map.schema), &map.lost));
        let shared = Shared::Map(Arc::clone(&self.map));
        self.handle(Input::Shared { from: Address::main(NodeId(4)), shared });
    }

    /// Nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.module.is_idle()
    }

    /// Each slice of a statement behind its first one takes so long from now on.
    pub(super) fn let_slices_take_ms(&mut self, milliseconds: u64) {
        self.slice_ms = milliseconds;
    }

    /// From now on a statement's slices behind the first one are run by `slice`.
    pub(super) fn let_slices_wait(&mut self) {
        self.waiting = Some(Vec::new());
    }

    /// The next slice, while this module `query` of the node has nothing to do.
    pub(super) fn slice(&mut self, relief: Option<u8>) {
        let waiting = self.waiting.as_mut().expect("slices wait");
        let next = waiting.remove(0);
        self.handle_with(Budget { relief, ..Budget::of(64) }, Input::Signal(next));
    }

    pub(super) fn waits_for_a_slice(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.is_empty())
    }

    /// Slices so far.
    pub(super) fn slices(&self) -> u64 {
        self.slices
    }

    /// The disk does so many requests, and stands still then.
    pub(super) fn let_disk_do(&mut self, count: u32) {
        self.disk.pace = Pace::Only(count);
        self.handle(Input::Deadline);
    }

    /// The disk goes on.
    pub(super) fn let_disk_work(&mut self) {
        self.disk.pace = Pace::All;
        self.handle(Input::Deadline);
    }

    /// Time passes; the module is called when it asked for that.
    pub(super) fn advance_ms(&mut self, milliseconds: u64) {
        self.now.monotonic = self.now.monotonic + Duration::from_millis(milliseconds);
        if self.module.deadline().is_some_and(|deadline| deadline <= self.now.monotonic) {
            self.handle(Input::Deadline);
        }
    }
}
