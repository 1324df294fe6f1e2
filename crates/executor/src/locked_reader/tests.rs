use super::LockBatch;

use crate::outcome::{Failure, Pending};
use crate::table_reader::KeyedRow;
use crate::{Client, Cx, Environment, Joining, Options, Site, Statement};
use expression::context::Raised;
use expression::{ColumnSlot, Expression, TypingContext};
use fixtures::data_node;
use memory::{MemoryConfig, MemoryManager};
use protocol::placement::ReadPlacement;
use protocol::program::{
    Access, BATCH_BYTES_MAX, LockMode, LockWait, ReadOutput, ReadProgram, ReadProgress, RowBatch,
    StatementContext, TableRef,
};
use protocol::signal::{Granted, ReadBatch, ReadRequest};
use protocol::{Address, Budget, ModuleKind, Outputs, Signal, View};
use query::{BatchShape, NodeMap, PublishedReader, Readers, RowBatchWriter, Shared, TableAccessInfo};
use std::sync::Arc;
use stdx::{Duration, Instant, Now, WallTime};
use storage::{Fragment, FragmentDefinition, RowHandle};
use types::*;

/// The client's node, and one with replicas of the same rows.
const NODE: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const TABLE: TableId = TableId(200);
const LOCK: (LockMode, LockWait) = (LockMode::Exclusive, LockWait::NoWait);
/// The version before the client's transaction, and those of others.
const BEFORE: TransactionId = TransactionId(7);
/// Rows of a slice that is not spent here.
const PLENTY: u32 = 1_000;

/// A client of a node that has replicas of a table, all in one slot.
struct World {
    site: Site,
    client: Client,
    fragment: Fragment,
    info: Arc<TableAccessInfo>,
    outputs: Outputs<Shared>,
    statement: Statement,
}

fn statement() -> Statement {
    let options = Options {
        lock_wait_timeout_s: 50,
        select_limit: u64::MAX,
        recursion_depth_max: 1_000,
        reads_stale: false,
        joining: Joining::Chosen,
        batch_rows_max: 256,
        zero_draws: true,
        counts_found: false,
    };
    Statement {
        parameters: Vec::new(),
        settings: expression::Settings::default(),
        is_strict: true,
        connection_id: 1,
        last_insert_id: 0,
        database: None,
        user: "".into(),
        volatile: None,
        table: None,
        is_for_a_row: false,
        options,
    }
}

/// A view in which one of the two nodes leads everything.
fn led_by(node: NodeId, number: u64) -> Arc<View> {
    let mut view = fixtures::view(vec![data_node(NODE.0), data_node(OTHER.0)], 2);
    view.number = ViewNumber(number);
    view.slots.iter_mut().for_each(|place| place.primary = node);
    Arc::new(view)
}

impl World {
    /// Rows `id, text of id` are committed.
    fn new(ids: &[i64]) -> Self {
        let text = fixtures::column("c", SqlType::Blob { size: BlobSize::Long });
        let definition = TableDefinition {
            version: 1,
            ..fixtures::table(TABLE, vec![fixtures::column("id", fixtures::integer()), text])
        };
        let definition = Arc::new(definition);
        let mut schema = Schema::empty(SchemaVersion(1));
        schema.put_table(Arc::clone(&definition));
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
        let fragment = Fragment::new(Arc::new(FragmentDefinition::new(&definition)), Arc::clone(&memory));
        let map = NodeMap::empty(NODE, Arc::new(Schema::empty(SchemaVersion(0))));
        let map = map.with(Incarnation(1), led_by(NODE, 1), Arc::new(schema), &[]);
        let info = Arc::clone(map.table(TABLE).unwrap());
        let address = Address::new(NODE, ModuleKind::Sql, 0);
        let site = Site::new(address, Arc::new(map), None, Duration::from_secs(1));
        let client = Client::new(1, Incarnation(1), &memory);
        let mut world =
            Self { site, client, fragment, info, outputs: Outputs::default(), statement: statement() };
        world.publish();
        for id in ids {
            world.stage(BEFORE, *id, &id.to_string(), true);
        }
        world
    }

    /// All slots of the table are read from the one fragment.
    fn publish(&mut self) {
        let mut readers = Readers::default();
        for slot in self.info.slots() {
            readers.insert(PublishedReader { table: TABLE, slot: *slot, reader: self.fragment.reader() });
        }
        self.site.map = Arc::new((*self.site.map).clone().with_readers(&readers));
    }

    /// A newer view, in which a node leads everything.
    fn follow(&mut self, primary: NodeId, number: u64) {
        let mut map = (*self.site.map).clone();
        map.view = led_by(primary, number);
        self.site.map = Arc::new(map);
    }

    fn key(&self, id: i64) -> Box<[u8]> {
        let mut key = Vec::new();
        self.info.primary_key.encode_values(&[ValueRef::Int(id)], &mut key);
        key.into()
    }

    fn stage(&mut self, transaction: TransactionId, id: i64, text: &str, commits: bool) -> RowHandle {
        let mut row = Vec::new();
        self.info.layout.encode(&[ValueRef::Int(id), ValueRef::Bytes(text.as_bytes())], &mut row);
        let handle = self.fragment.stage(&self.key(id), transaction, Some(&row)).unwrap();
        if commits {
            self.fragment.commit(handle, transaction, Epoch(1));
        }
        handle
    }

    /// The client's transaction writes a row, and it is staged at this node's primary.
    fn write(&mut self, id: i64, text: &str) -> (RowHandle, TransactionId) {
        let (slot, view) = (self.info.slot_of_key(&self.key(id)), self.site.map.view.number);
        let transaction = self.with(PLENTY, |cx, _| cx.transaction_id());
        self.client.transaction.touch(slot, view, true);
        (self.stage(transaction, id, text, false), transaction)
    }

    fn with<T>(&mut self, rows: u32, act: impl FnOnce(&mut Cx<'_>, &TableAccessInfo) -> T) -> T {
        let now = Now { monotonic: Instant(1_000), wall: WallTime(0) };
        let mut budget = Budget::of(rows);
        let env = Environment { now, budget: &mut budget, outputs: &mut self.outputs, site: &mut self.site };
        act(&mut Cx { env, client: &mut self.client, statement: &self.statement }, &self.info)
    }

    /// Locks rows that lie in one slot.
    fn lock(&mut self, ids: &[i64]) -> LockBatch {
        self.lock_for(ids, ReadOutput::Columns(vec![ColumnIndex(1)]))
    }

    /// The same for such values of them.
    fn lock_for(&mut self, ids: &[i64], output: ReadOutput) -> LockBatch {
        let program = Arc::new(ReadProgram {
            table: TableRef { id: TABLE, version: 1 },
            filter: None,
            output,
            with_primary_key: true,
            with_index_key: false,
            context: StatementContext::default(),
        });
        let keys = ids.iter().map(|id| self.key(*id)).collect();
        self.with(PLENTY, |cx, info| LockBatch::start(info, &program, keys, LOCK, cx))
            .unwrap_or_else(|_| panic!("in reach"))
    }

    /// The request that was sent, and where.
    fn asked(&mut self) -> (Address, ReadRequest) {
        let [envelope] = <[_; 1]>::try_from(std::mem::take(&mut self.outputs.signals)).expect("one request");
        let Signal::Read(read) = envelope.signal else { panic!("{:?}", envelope.signal) };
        (envelope.to, *read)
    }

    /// Each key raises a warning where its row is looked at.
    fn answer(&mut self, read: &ReadRequest, rows: RowBatch, granted: Option<Granted>) {
        let raised = Raised { count: keys(read).len() as u64, warnings: Vec::new() };
        let (progress, raised) = (ReadProgress::End, Some(Box::new(raised)));
        let batch = ReadBatch { rows, progress, operations: 1, raised, granted };
        self.deliver(read, batch);
    }

    fn deliver(&mut self, read: &ReadRequest, batch: ReadBatch) {
        assert!(self.client.inbox.deliver(read.request, crate::inbox::Reply::Read(Ok(batch))));
    }

    fn grant(&mut self, read: &ReadRequest, view: u64, omitted: &[u32]) {
        assert!(read.grant_only);
        let granted = Granted { view: ViewNumber(view), omitted: omitted.to_vec() };
        self.answer(read, RowBatch::default(), Some(granted));
    }

    /// The primary sends rows.
    fn send_rows(&mut self, read: &ReadRequest, text: &str) {
        assert!(!read.grant_only);
        self.answer(read, rows(read, keys(read).len(), text), None);
    }

    fn poll(&mut self, batch: &mut LockBatch) -> Result<Vec<String>, Pending> {
        self.poll_within(batch, PLENTY)
    }

    /// In a slice of so many rows.
    fn poll_within(&mut self, batch: &mut LockBatch, rows: u32) -> Result<Vec<String>, Pending> {
        let text = |row: KeyedRow| match &row.values[..] {
            [Value::Bytes(bytes)] => String::from_utf8(bytes.to_vec()).unwrap(),
            [Value::Int(number)] => number.to_string(),
            other => panic!("{other:?}"),
        };
        let polled =
            self.with(rows, |cx, _| batch.poll(cx)).unwrap_or_else(|_: Failure| panic!("no failure"));
        polled.map(|rows| rows.into_iter().map(text).collect())
    }

    /// Ids of rows in one slot.
    fn ids_of_a_slot(&self, count: usize) -> Vec<i64> {
        let slot = self.info.slot_of_key(&self.key(0));
        (0..).filter(|id| self.info.slot_of_key(&self.key(*id)) == slot).take(count).collect()
    }
}

/// The keys that a request locks.
fn keys(read: &ReadRequest) -> &[Box<[u8]>] {
    let Access::Keys(keys) = &read.access else { panic!("keys are locked") };
    keys
}

/// The first so many rows that a request locks.
fn rows(read: &ReadRequest, count: usize, text: &str) -> RowBatch {
    let mut writer = RowBatchWriter::new(BatchShape::of(&read.program));
    keys(read)[..count].iter().for_each(|key| writer.push(key, &[], &[ValueRef::Bytes(text.as_bytes())]));
    writer.finish()
}

/// A world with so many rows of one slot, and their ids.
fn world(count: usize) -> (World, Vec<i64>) {
    let ids = World::new(&[]).ids_of_a_slot(count);
    (World::new(&ids), ids)
}

#[test]
fn granted_rows_are_read_here_in_their_order() {
    let (mut world, ids) = world(4);
    let wanted = [ids[3], ids[0], ids[2], ids[1]];
    let mut batch = world.lock(&wanted);
    let (to, read) = world.asked();
    assert_eq!(
        (to.node, read.lock, read.access.clone()),
        (NODE, Some(LOCK), Access::Keys(wanted.map(|id| world.key(id)).into()))
    );
    assert_eq!(world.poll(&mut batch), Err(Pending::Wait));
    world.grant(&read, 1, &[2]);
    assert_eq!(world.poll(&mut batch).unwrap(), [ids[3], ids[0], ids[1]].map(|id| id.to_string()));
    assert_eq!(world.outputs.signals, []);
}

#[test]
pub(crate) fn rows_that_another_node_leads_by_then_are_asked_for() {
    let (mut world, ids) = world(2);
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    world.grant(&read, 1, &[]);
    world.follow(OTHER, 2);
    assert_eq!(
        world.poll(&mut batch),
        Err(Pending::Wait),
        "the other node may have what this transaction has staged"
    );
    let (to, again) = world.asked();
    assert_eq!((to.node, &again.access), (OTHER, &read.access));
    world.send_rows(&again, "sent");
    assert_eq!(world.poll(&mut batch).unwrap(), ["sent", "sent"]);
}

#[test]
fn rows_are_asked_for_without_a_lease_and_from_primaries_elsewhere() {
    let (mut world, ids) = world(2);
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    world.site.map.lease.set(Instant(1_000));
    world.grant(&read, 1, &[]);
    assert_eq!(world.poll(&mut batch), Err(Pending::Wait));
    let (to, again) = world.asked();
    assert_eq!((to.node, again.grant_only), (NODE, false));
    world.send_rows(&again, "sent");
    assert_eq!(world.poll(&mut batch).unwrap().len(), 2);
    world.follow(OTHER, 2);
    world.lock(&ids);
    assert!(!world.asked().1.grant_only);
    world.follow(NODE, 3);
    world.site.read_placement = ReadPlacement::Owner;
    world.lock(&ids);
    assert!(!world.asked().1.grant_only, "reads go to the threads that own the slots");
}

#[test]
fn a_row_that_is_not_as_it_was_granted_is_asked_for_with_all_of_its_slot() {
    let (mut world, ids) = world(3);
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    world.stage(TransactionId(99), ids[1], "of another", false);
    world.grant(&read, 1, &[]);
    assert_eq!(world.poll(&mut batch), Err(Pending::Wait));
    let (_, again) = world.asked();
    assert_eq!(again.access, read.access);
    world.send_rows(&again, "sent");
    assert_eq!(world.poll(&mut batch).unwrap(), ["sent"; 3]);
    assert_eq!(batch.warnings.count(), 3, "those of the answer with rows");
}

/// The `ldm` has handed its slot over and dropped what was staged there, and the session has not heard of it.
#[test]
pub(crate) fn rows_of_a_slot_that_it_has_written_are_sent() {
    let (mut world, ids) = world(1);
    let (staged, transaction) = world.write(ids[0], "own");
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    if read.grant_only {
        world.grant(&read, 1, &[]);
    } else {
        world.send_rows(&read, "own");
    }
    world.fragment.abort(staged, transaction);
    assert_eq!(world.poll(&mut batch).unwrap(), ["own"]);
}

/// The same where it has written since it asked.
#[test]
fn a_grant_does_not_hold_for_a_slot_that_it_has_written() {
    let (mut world, ids) = world(1);
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    let (staged, transaction) = world.write(ids[0], "own");
    world.grant(&read, 1, &[]);
    world.fragment.abort(staged, transaction);
    assert_eq!(world.poll(&mut batch), Err(Pending::Wait));
    let (_, again) = world.asked();
    world.send_rows(&again, "own");
    assert_eq!(world.poll(&mut batch).unwrap(), ["own"]);
}

#[test]
fn text_of_granted_rows_uses_up_the_slice() {
    let (mut world, ids) = world(3);
    let text = Expression::column(ColumnSlot(1), SqlType::Blob { size: BlobSize::Long }, false);
    let call = |name, arguments| Expression::call(name, arguments, &TypingContext::default()).unwrap();
    let repeated = call("REPEAT", vec![text, Expression::integer(16 << 20)]);
    let output = ReadOutput::Expressions(vec![call("LENGTH", vec![repeated])]);
    let mut batch = world.lock_for(&ids, output);
    let (_, read) = world.asked();
    world.grant(&read, 1, &[]);
    assert_eq!(world.poll(&mut batch), Err(Pending::Spent));
    assert_eq!(world.poll(&mut batch), Err(Pending::Spent));
    let lengths = world.poll(&mut batch).unwrap();
    let expected: Vec<String> =
        ids.iter().map(|id| ((16 << 20) * id.to_string().len()).to_string()).collect();
    assert_eq!(lengths, expected);
    assert_eq!(world.outputs.signals, []);
}

#[test]
fn large_rows_use_up_the_slice_and_their_warnings_count_once() {
    let (mut world, ids) = world(3);
    let large = "x".repeat(BATCH_BYTES_MAX);
    for id in &ids {
        world.stage(BEFORE, *id, &large, true);
    }
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    world.grant(&read, 1, &[]);
    // A row is worth 64 rows of the slice.
    assert_eq!(world.poll_within(&mut batch, 100), Err(Pending::Spent));
    assert_eq!(world.poll_within(&mut batch, 100).unwrap().len(), 3);
    assert_eq!(batch.warnings.count(), 3);
    assert_eq!(world.outputs.signals, [], "its locks are granted already");
}

/// Rows that come in parts all come as the first ones.
#[test]
fn no_part_is_read_here_where_owners_read() {
    let (mut world, ids) = world(2);
    world.site.read_placement = ReadPlacement::Owner;
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    let progress = ReadProgress::More { after: None, position: 1 };
    let part =
        ReadBatch { rows: rows(&read, 1, "sent"), progress, operations: 1, raised: None, granted: None };
    world.deliver(&read, part);
    assert_eq!(world.poll(&mut batch), Err(Pending::Wait));
    let (_, rest) = world.asked();
    assert_eq!((rest.grant_only, keys(&rest)), (false, &keys(&read)[1..]));
    world.send_rows(&rest, "sent");
    assert_eq!(world.poll(&mut batch).unwrap(), ["sent", "sent"]);
}
