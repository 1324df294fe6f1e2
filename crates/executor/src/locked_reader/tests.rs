use super::LockBatch;

use crate::outcome::Failure;
use crate::table_reader::KeyedRow;
use crate::{Client, Cx, Environment, Joining, Options, Site, Statement};
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
use storage::{Fragment, FragmentDefinition};
use types::*;

/// The client's node, and one with replicas of the same rows.
const NODE: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const TABLE: TableId = TableId(200);
const LOCK: (LockMode, LockWait) = (LockMode::Exclusive, LockWait::NoWait);
/// The version before the client's transaction, and those of others.
const BEFORE: TransactionId = TransactionId(7);

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
        ids.iter().for_each(|id| world.stage(BEFORE, *id, &id.to_string(), true));
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

    fn stage(&mut self, transaction: TransactionId, id: i64, text: &str, commits: bool) {
        let mut row = Vec::new();
        self.info.layout.encode(&[ValueRef::Int(id), ValueRef::Bytes(text.as_bytes())], &mut row);
        let handle = self.fragment.stage(&self.key(id), transaction, Some(&row)).unwrap();
        if commits {
            self.fragment.commit(handle, transaction, Epoch(1));
        }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Cx<'_>, &TableAccessInfo) -> T) -> T {
        let now = Now { monotonic: Instant(1_000), wall: WallTime(0) };
        let mut budget = Budget::of(1_000);
        let env = Environment { now, budget: &mut budget, outputs: &mut self.outputs, site: &mut self.site };
        act(&mut Cx { env, client: &mut self.client, statement: &self.statement }, &self.info)
    }

    /// Locks rows that lie in one slot.
    fn lock(&mut self, ids: &[i64]) -> LockBatch {
        let program = Arc::new(ReadProgram {
            table: TableRef { id: TABLE, version: 1 },
            filter: None,
            output: ReadOutput::Columns(vec![ColumnIndex(1)]),
            with_primary_key: true,
            with_index_key: false,
            context: StatementContext::default(),
        });
        let keys = ids.iter().map(|id| self.key(*id)).collect();
        self.with(|cx, info| LockBatch::start(info, &program, keys, LOCK, cx))
            .unwrap_or_else(|_| panic!("in reach"))
    }

    /// The request that was sent, and where.
    fn asked(&mut self) -> (Address, ReadRequest) {
        let [envelope] = <[_; 1]>::try_from(std::mem::take(&mut self.outputs.signals)).expect("one request");
        let Signal::Read(read) = envelope.signal else { panic!("{:?}", envelope.signal) };
        (envelope.to, *read)
    }

    fn answer(&mut self, read: &ReadRequest, rows: RowBatch, granted: Option<Granted>) {
        let progress = ReadProgress::End;
        let batch = ReadBatch { rows, progress, operations: 1, raised: None, granted };
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
        let Access::Keys(keys) = &read.access else { panic!("keys are locked") };
        let mut writer = RowBatchWriter::new(BatchShape::of(&read.program));
        keys.iter().for_each(|key| writer.push(key, &[], &[ValueRef::Bytes(text.as_bytes())]));
        self.answer(read, writer.finish(), None);
    }

    fn poll(&mut self, batch: &mut LockBatch) -> Option<Vec<String>> {
        let text = |row: KeyedRow| match &row.values[..] {
            [Value::Bytes(bytes)] => String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        };
        let polled = self.with(|cx, _| batch.poll(cx)).unwrap_or_else(|_: Failure| panic!("no failure"));
        polled.map(|rows| rows.into_iter().map(text).collect())
    }

    /// Ids of rows in one slot.
    fn ids_of_a_slot(&self, count: usize) -> Vec<i64> {
        let slot = self.info.slot_of_key(&self.key(0));
        (0..).filter(|id| self.info.slot_of_key(&self.key(*id)) == slot).take(count).collect()
    }
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
    assert_eq!(world.poll(&mut batch), None);
    // A version that the transaction itself has staged is newer than what is committed.
    world.stage(read.transaction.unwrap(), ids[0], "own", false);
    world.grant(&read, 1, &[2]);
    assert_eq!(world.poll(&mut batch).unwrap(), [ids[3].to_string(), "own".to_owned(), ids[1].to_string()]);
    assert_eq!(world.outputs.signals, []);
}

#[test]
pub(crate) fn rows_that_another_node_leads_by_then_are_asked_for() {
    let (mut world, ids) = world(2);
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    world.grant(&read, 1, &[]);
    world.follow(OTHER, 2);
    assert_eq!(world.poll(&mut batch), None, "the other node may have what this transaction has staged");
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
    assert_eq!(world.poll(&mut batch), None);
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
fn a_row_that_is_not_as_it_was_granted_is_asked_for_with_those_behind_it() {
    let (mut world, ids) = world(3);
    let mut batch = world.lock(&ids);
    let (_, read) = world.asked();
    world.stage(TransactionId(99), ids[1], "of another", false);
    world.grant(&read, 1, &[]);
    assert_eq!(world.poll(&mut batch), None);
    let (_, again) = world.asked();
    assert_eq!(again.access, Access::Keys(vec![world.key(ids[1]), world.key(ids[2])]));
    world.send_rows(&again, "sent");
    assert_eq!(world.poll(&mut batch).unwrap(), [ids[0].to_string(), "sent".to_owned(), "sent".to_owned()]);
}

#[test]
fn large_rows_are_read_in_several_calls() {
    let (mut world, ids) = world(3);
    let large = "x".repeat(BATCH_BYTES_MAX);
    ids.iter().for_each(|id| world.stage(BEFORE, *id, &large, true));
    let mut batch = world.lock(&ids);
    for left in [3, 2, 1] {
        let (_, read) = world.asked();
        assert_eq!(read.access, Access::Keys(ids[3 - left..].iter().map(|id| world.key(*id)).collect()));
        world.grant(&read, 1, &[]);
        let rows = world.poll(&mut batch);
        assert_eq!(rows.map(|rows| rows.len()), (left == 1).then_some(3));
    }
}
