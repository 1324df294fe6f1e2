//! A node that died while DataMemory was full comes back. A copy takes no more memory than the rows did, whatever the
//! table is like and whatever was done to it before.
//!
//! Node 1 has all rows and lets statements fill its DataMemory; then node 2, which has as much, joins.
#![expect(clippy::wildcard_enum_match_arm, reason = "tests look at what they expect")]

use fixtures::{index, integer, replicas};
use memory::{MemoryConfig, MemoryManager, PAGE_BYTES, Region, Urgency};
use protocol::program::{LockWait, Refusal, TableRef, WriteOperation};
use protocol::signal::{ChecksumRequest, RequestId, Verdict, WriteRequest};
use protocol::{Address, Budget, Envelope, ModuleKind, Outputs, RequestToRuntime, Signal, View};
use query::{NodeMap, Shared};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Now, Prng};
use transaction::{Ldm, MARKER_TIME};
use types::{
    BlobSize, Collation, Epoch, Incarnation, IndexKind, NodeId, Schema, SlotId, SqlType, TableDefinition,
    TableId, TransactionId, Value, ViewNumber,
};

const SESSION: Address = Address::new(NodeId(1), ModuleKind::Sql, 0);
const PARTITION: SlotId = SlotId(1);
/// Statements fill 95 % of it.
const DATA_MEMORY: u64 = 16 << 20;
/// Pages that are hardly used: the last one of some sizes of pieces, and one that a heap keeps. At a primary whose
/// memory is full, small pieces lie in slots of larger ones there.
const LAST_PAGES: u64 = 8;
/// Of a statement.
const ROWS: usize = 200;

// ---- tables ---------------------------------------------------------------------------------------------------------

fn text(length: u32) -> SqlType {
    SqlType::VarChar { length, collation: Collation::Utf8mb40900AiCi }
}

/// A table whose primary key is its first columns; `indexes` are columns of others.
fn table(id: u32, columns: &[SqlType], primary: u16, indexes: &[&[u16]]) -> TableDefinition {
    let column = |(position, sql_type): (usize, &SqlType)| {
        let make = if position < usize::from(primary) { fixtures::column } else { fixtures::nullable };
        make(&format!("c{position}"), sql_type.clone())
    };
    let key: Vec<u16> = (0..primary).collect();
    let others = (1..).zip(indexes).map(|(id, columns)| index(id, IndexKind::Ordered, columns));
    TableDefinition {
        name: format!("t{id}"),
        indexes: std::iter::once(index(0, IndexKind::Primary, &key)).chain(others).collect(),
        ..fixtures::table(TableId(id), columns.iter().enumerate().map(column).collect())
    }
}

/// Some different keys of four bytes, in no order.
fn scattered(number: u32) -> i64 {
    i64::from(number.wrapping_mul(2_654_435_761).cast_signed())
}

fn words(prng: &mut Prng, length: usize) -> String {
    (0..length).map(|_| char::from(b"abcdefghijklmnopqrstuvwxyz"[prng.index(26)])).collect()
}

/// The rows of the number-th insert, each with its table.
type Rows = fn(u32, &mut Prng) -> Vec<(u32, Vec<Value>)>;

/// Tables and what comes into them.
struct Shape {
    name: &'static str,
    tables: Vec<TableDefinition>,
    rows: Rows,
    /// Before it is filled to the end, rows are updated and deleted in random order.
    is_churned: bool,
}

fn shape(name: &'static str, tables: Vec<TableDefinition>, rows: Rows) -> Shape {
    Shape { name, tables, rows, is_churned: false }
}

const FIRST: u32 = 200;
/// As many tables as make pages that are hardly used.
const MANY: u32 = 150;

fn shapes() -> Vec<Shape> {
    let blob = SqlType::Blob { size: BlobSize::Long };
    let two = |indexes| vec![table(FIRST, &[integer(), integer()], 1, indexes)];
    let wide = [integer(), integer(), integer(), integer(), integer(), integer()];
    vec![
        shape("no other index", two(&[]), |n, _| vec![(FIRST, vec![Value::Int(n.into()), Value::Int(7)])]),
        shape("an index in another order", two(&[&[1]]), |n, _| {
            vec![(FIRST, vec![Value::Int(n.into()), Value::Int(i64::from(n) * 7919 % 1_000_003)])]
        }),
        shape("random keys, an index that ascends in time", two(&[&[1]]), |n, _| {
            vec![(FIRST, vec![Value::Int(scattered(n)), Value::Int(n.into())])]
        }),
        shape(
            "five indexes",
            vec![table(FIRST, &wide, 1, &[&[1], &[2], &[3], &[4, 1], &[5, 2]])],
            |n, prng| {
                let random =
                    |prng: &mut Prng, below| Value::Int(i64::try_from(prng.below(below)).expect("few"));
                let few = random(prng, 10);
                let many = random(prng, 1 << 30);
                let time = Value::Int(n.into());
                vec![(FIRST, vec![Value::Int(scattered(n)), time.clone(), few.clone(), many, few, time])]
            },
        ),
        shape("long strings", vec![table(FIRST, &[integer(), text(2000)], 1, &[&[1]])], |n, prng| {
            let length = 200 + prng.index(1500);
            vec![(FIRST, vec![Value::Int(scattered(n)), Value::text(&words(prng, length))])]
        }),
        shape("blobs", vec![table(FIRST, &[integer(), blob, integer()], 1, &[&[2]])], |n, prng| {
            let size = [100, 5_000, 11_000, 32_768, 70_000][prng.index(5)] + prng.index(100);
            let bytes = Value::Bytes(vec![7; size]);
            vec![(FIRST, vec![Value::Int(scattered(n)), bytes, Value::Int(n.into())])]
        }),
        shape("many NULLs", vec![table(FIRST, &wide, 1, &[&[1], &[2], &[3]])], |n, prng| {
            let some = |prng: &mut Prng| if prng.chance(1, 8) { Value::Int(n.into()) } else { Value::Null };
            let rest = (0..5).map(|_| some(prng));
            vec![(FIRST, std::iter::once(Value::Int(scattered(n))).chain(rest).collect())]
        }),
        shape("tiny rows", vec![table(FIRST, &[integer()], 1, &[])], |n, _| {
            vec![(FIRST, vec![Value::Int(scattered(n))])]
        }),
        shape(
            "a unique key",
            vec![
                table(FIRST, &[integer(), text(40)], 1, &[&[1]]),
                table(FIRST + 1, &[text(40), integer()], 1, &[]),
            ],
            |n, _| {
                let (id, name) = (Value::Int(scattered(n)), Value::text(&format!("customer-{n:09}")));
                vec![(FIRST, vec![id.clone(), name.clone()]), (FIRST + 1, vec![name, id])]
            },
        ),
        shape(
            "keys of several strings",
            vec![table(FIRST, &[text(40), text(40), integer()], 2, &[&[2], &[1]])],
            |n, prng| {
                let country = Value::text(&format!("country-{}", prng.below(50)));
                let length = 5 + prng.index(30);
                let city = Value::text(&format!("{}{n}", words(prng, length)));
                vec![(FIRST, vec![country, city, Value::Int(n.into())])]
            },
        ),
        shape(
            "many tables",
            (0..MANY).map(|id| table(FIRST + id, &[integer(), integer()], 1, &[&[1]])).collect(),
            |n, _| vec![(FIRST + n % MANY, vec![Value::Int(scattered(n)), Value::Int(n.into())])],
        ),
        Shape {
            is_churned: true,
            ..shape("updated and deleted before", two(&[&[1]]), |n, prng| {
                let k = i64::try_from(prng.below(1 << 20)).expect("few");
                vec![(FIRST, vec![Value::Int(scattered(n)), Value::Int(k)])]
            })
        },
    ]
}

// ---- two nodes ------------------------------------------------------------------------------------------------------

struct Node {
    ldm: Ldm,
    map: Arc<NodeMap>,
    memory: Arc<MemoryManager>,
}

struct Pair {
    schema: Arc<Schema>,
    nodes: Vec<Node>,
    view: View,
    queue: VecDeque<Envelope>,
    heard: Vec<Signal>,
    exits: Vec<u8>,
    now: Now,
    transaction: u64,
}

fn ldm(node: u16) -> Address {
    Address::new(NodeId(node), ModuleKind::Ldm, 0)
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("few")
}

impl Pair {
    /// Node 1 alone.
    fn new(tables: &[TableDefinition]) -> Self {
        let mut schema: Schema = catalogue::bootstrap();
        tables.iter().for_each(|table| schema.put_table(Arc::new(table.clone())));
        let mut view = replicas(2);
        view.groups.iter_mut().for_each(|group| group.in_sync = vec![NodeId(1)]);
        view.slots.iter_mut().for_each(|place| place.primary = NodeId(1));
        let mut pair = Self {
            schema: Arc::new(schema),
            nodes: Vec::new(),
            view,
            queue: VecDeque::new(),
            heard: Vec::new(),
            exits: Vec::new(),
            now: Now::default(),
            transaction: 0,
        };
        pair.start(1);
        pair.install(1);
        pair
    }

    fn start(&mut self, node: u16) {
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(DATA_MEMORY));
        let map = Arc::new(NodeMap::empty(NodeId(node), Arc::clone(&self.schema)));
        let ldm = Ldm::new(ldm(node), Arc::clone(&map), Arc::clone(&memory), MARKER_TIME);
        self.nodes.push(Node { ldm, map, memory });
    }

    fn install(&mut self, node: u16) {
        let this = &mut self.nodes[usize::from(node) - 1];
        let is_first = this.map.view.number == ViewNumber(0);
        let view = Arc::new(self.view.clone());
        let life = Incarnation(u32::from(node));
        this.map = Arc::new(this.map.with(life, view, Arc::clone(&self.schema), &[]));
        let mut outputs: Outputs<Shared> = Outputs::default();
        if is_first {
            this.ldm.on_shared(self.now, Shared::Tables(Arc::clone(&this.map)), &mut outputs);
        }
        this.ldm.on_shared(self.now, Shared::Map(Arc::clone(&this.map)), &mut outputs);
        self.emit(node, outputs);
    }

    /// Node 2 joins, and both hear that both are in the view.
    fn let_join(&mut self) {
        self.view.number = ViewNumber(2);
        self.view.groups.iter_mut().for_each(|group| group.joining = vec![NodeId(2)]);
        self.start(2);
        self.install(1);
        self.install(2);
        for node in [1, 2] {
            self.send(ldm(node), Signal::ViewSettled { view: ViewNumber(2) });
        }
    }

    fn send(&mut self, to: Address, signal: Signal) {
        let view = self.view.number;
        self.queue.push_back(Envelope { from: SESSION, to, view, epoch: Epoch(1), signal });
    }

    fn emit(&mut self, node: u16, outputs: Outputs<Shared>) {
        let this = &self.nodes[usize::from(node) - 1];
        let view = this.map.view.number;
        self.queue.extend(outputs.signals.into_iter().map(|envelope| Envelope { view, ..envelope }));
        self.exits.extend(outputs.requests.into_iter().filter_map(|request| match request {
            RequestToRuntime::Exit(code) => Some(code),
            _ => None,
        }));
    }

    /// Delivers everything, and what is due in the next moments.
    fn run(&mut self) {
        let end = self.now.monotonic + Duration::from_secs(3);
        loop {
            while let Some(envelope) = self.queue.pop_front() {
                if envelope.to.kind != ModuleKind::Ldm {
                    self.heard.push(envelope.signal);
                    continue;
                }
                let node = envelope.to.node.0;
                let this = &mut self.nodes[usize::from(node) - 1];
                let installed = this.map.view.number;
                match envelope
                    .verdict(envelope.to, installed, |node| this.map.view.left_out().any(|left| left == node))
                {
                    Verdict::Handle => {}
                    Verdict::OldView | Verdict::LeftOut => continue,
                    Verdict::Early | Verdict::WrongKind => panic!("{envelope:?}"),
                }
                let mut outputs: Outputs<Shared> = Outputs::default();
                this.ldm.adopt(envelope.epoch);
                this.ldm.on_signal(self.now, envelope, &mut Budget::of(1_000), &mut outputs);
                self.emit(node, outputs);
            }
            let due = self.nodes.iter().filter_map(|node| node.ldm.deadline()).min();
            let Some(due) = due.filter(|due| *due <= end) else { return };
            self.now.monotonic = due.max(self.now.monotonic);
            for node in 1..=u16::try_from(self.nodes.len()).expect("few") {
                let mut outputs: Outputs<Shared> = Outputs::default();
                self.nodes[usize::from(node) - 1].ldm.on_deadline(self.now, &mut outputs);
                self.emit(node, outputs);
            }
        }
    }

    fn write(&mut self, table: u32, operations: Vec<WriteOperation>) -> Result<(), Refusal> {
        self.transaction += 1;
        let operations = operations.into();
        let request = WriteRequest {
            request: RequestId(self.transaction),
            transaction: TransactionId(self.transaction),
            slot: PARTITION,
            table: TableRef { id: TableId(table), version: 1 },
            operations,
            wait: LockWait::NoWait,
            commit: Some(Epoch(0)),
            known: 0,
            under: None,
        };
        self.send(ldm(1), Signal::Write(Box::new(request)));
        self.run();
        match std::mem::take(&mut self.heard)
            .into_iter()
            .find(|signal| matches!(signal, Signal::WriteDone(_)))
        {
            Some(Signal::WriteDone(done)) => done.result.map(drop).map_err(|failure| failure.refusal),
            other => panic!("no answer to a write: {other:?}"),
        }
    }

    fn key_and_row(&self, table: u32, values: &[Value]) -> (Box<[u8]>, Box<[u8]>) {
        let info = self.nodes[0].map.table(TableId(table)).expect("a table");
        let values: Vec<_> = values.iter().map(Value::as_ref).collect();
        let (mut key, mut row) = (Vec::new(), Vec::new());
        info.layout.encode(&values, &mut row);
        info.primary_key.encode_row(&info.layout, &row, &mut key);
        (key.into(), row.into())
    }

    fn put(&self, table: u32, values: &[Value]) -> WriteOperation {
        let (key, row) = self.key_and_row(table, values);
        WriteOperation::Put { key, row }
    }

    fn delete(&self, table: u32, values: &[Value]) -> WriteOperation {
        WriteOperation::Delete { key: self.key_and_row(table, values).0, filter: None }
    }

    /// Statements of many rows, until so many pages are in use, or until one of one row is refused, too; what is there
    /// then.
    fn fill(
        &mut self,
        shape: &Shape,
        prng: &mut Prng,
        first: u32,
        pages: u64,
    ) -> BTreeMap<(u32, u32), Vec<Value>> {
        let (mut there, mut next, mut at_once) = (BTreeMap::new(), first, ROWS);
        while self.pages(1) < pages {
            let mut statements: BTreeMap<u32, Vec<(u32, Vec<Value>)>> = BTreeMap::new();
            for number in next..next + number(at_once) {
                for (table, values) in (shape.rows)(number, prng) {
                    statements.entry(table).or_default().push((number, values));
                }
            }
            next += number(at_once);
            for (table, rows) in statements {
                let operations = rows.iter().map(|(_, values)| self.put(table, values)).collect();
                match self.write(table, operations) {
                    Ok(()) => there.extend(rows.into_iter().map(|(number, row)| ((table, number), row))),
                    Err(Refusal::RegionFull { .. }) if at_once == 1 => return there,
                    Err(Refusal::RegionFull { .. }) => at_once = 1,
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
        there
    }

    /// Updates and deletes rows in no order.
    fn churn(&mut self, shape: &Shape, prng: &mut Prng, there: &BTreeMap<(u32, u32), Vec<Value>>) {
        let mut victims: Vec<_> = there.iter().collect();
        for position in (1..victims.len()).rev() {
            victims.swap(position, prng.index(position + 1));
        }
        let (deleted, updated) = victims.split_at(victims.len() / 2);
        let deletes: Vec<_> =
            deleted.iter().map(|((table, _), row)| (*table, self.delete(*table, row))).collect();
        let mut operations = deletes;
        for ((_, number), _) in updated {
            let rows = (shape.rows)(*number, prng);
            operations.extend(rows.into_iter().map(|(table, row)| (table, self.put(table, &row))));
        }
        for (table, operation) in operations {
            self.write(table, vec![operation]).expect("there is room");
        }
    }

    /// Pages of DataMemory.
    fn pages(&self, node: u16) -> u64 {
        self.nodes[usize::from(node) - 1].memory.used(Region::DataMemory).div_ceil(PAGE_BYTES as u64)
    }

    /// Rows of a node, checked: each with its entries in all indexes.
    fn rows(&self, node: u16, table: TableId) -> Vec<(Box<[u8]>, u64)> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let request = RequestId(0);
            let request = ChecksumRequest { request, slot: PARTITION, table, after, limit: 1_000 };
            let done = self.nodes[usize::from(node) - 1].ldm.checksum(&request);
            assert_eq!(done.index_errors, Vec::<String>::new(), "at node {node}");
            rows.extend(done.rows);
            if done.end {
                return rows;
            }
            after = rows.last().map(|(key, _): &(Box<[u8]>, u64)| key.clone());
        }
    }
}

/// The shape's pages at the primary and at the member that joined.
fn copy_of_full_memory(shape: &Shape) -> [u64; 2] {
    let mut pair = Pair::new(&shape.tables);
    let mut prng = Prng::new(1);
    if shape.is_churned {
        let there = pair.fill(shape, &mut prng, 0, 300);
        pair.churn(shape, &mut prng, &there);
    }
    pair.fill(shape, &mut prng, 10_000_000, u64::MAX);
    pair.let_join();
    pair.run();
    assert_eq!(pair.exits, Vec::<u8>::new(), "{}: it gave up joining", shape.name);
    let is_copied = |signal: &Signal| matches!(signal, Signal::SlotCopied { slot } if *slot == PARTITION);
    assert!(pair.heard.iter().any(is_copied), "{}: the copy does not end", shape.name);
    for table in &shape.tables {
        let rows = pair.rows(1, table.id);
        assert_eq!(rows, pair.rows(2, table.id), "{}: the replicas differ", shape.name);
    }
    [pair.pages(1), pair.pages(2)]
}

/// One test, because the quiescent states of threads belong to the process: a test beside this one could keep memory
/// from coming back.
#[test]
fn members_join_while_memory_is_full() {
    a_copy_takes_no_more_memory_than_the_rows_did();
    a_member_that_joins_may_use_what_statements_may_not();
}

fn a_copy_takes_no_more_memory_than_the_rows_did() {
    let copies = shapes().iter().map(|shape| (shape.name, copy_of_full_memory(shape))).collect::<Vec<_>>();
    for (name, [primary, joined]) in copies {
        assert!(joined <= primary + LAST_PAGES, "{name}: {joined} pages for what took {primary}");
    }
}

fn a_member_that_joins_may_use_what_statements_may_not() {
    let shape = &shapes()[1];
    let mut pair = Pair::new(&shape.tables);
    pair.fill(shape, &mut Prng::new(1), 0, u64::MAX);
    pair.let_join();
    // As if the rows took more here, as much as the reserve allows.
    let memory = Arc::clone(&pair.nodes[1].memory);
    let spare = DATA_MEMORY / 100 * 4;
    memory.try_charge_with(Region::DataMemory, spare, Urgency::Restart).expect("there is room");
    pair.run();
    assert_eq!(pair.exits, Vec::<u8>::new(), "it gave up joining");
    assert!(pair.heard.iter().any(|signal| matches!(signal, Signal::SlotCopied { .. })));
}
