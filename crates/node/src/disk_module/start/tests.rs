//! A node with checkpoints and a log on its disk starts. The files are written by the crate that reads them.

use super::super::restore::tests::{SHOP, row, with_table};
use super::super::*;
use super::*;
use durability::{
    Codec, Entry, FragmentCheckpoint, Manifest, OpenBlock, PieceBuilder, PiecePlace, PieceRow, SealedPiece,
};
use memory::{Guard, MemoryConfig, MemoryManager};
use protocol::{Claim, RestartPoint};
use query::{Loader, Shares};
use std::collections::BTreeSet;
use types::{COLLATION_VERSION, SlotId, TableDefinition, TableId};

const NODE: NodeId = NodeId(1);
const CLUSTER: &str = "shop";
const FOUNDING: GroupId = GroupId(7);
const SYSTEM: SlotId = SlotId(0);
const SLOT: SlotId = SlotId(3);
/// Fifteen blocks of a page.
const FILE_SIZE: u64 = 16 * 4_096;
const LIFE: Incarnation = Incarnation(1);

type Place = (TableId, SlotId, Vec<u8>);
type Rows = BTreeMap<Place, (u64, Vec<u8>)>;

/// Files without faults.
#[derive(Clone, Default)]
struct Files(BTreeMap<FileName, Vec<u8>>);

impl Files {
    fn perform(&mut self, operation: DiskOperation) -> Result<DiskAnswer, DiskError> {
        let place = |number: u64| usize::try_from(number).expect("files of tests are small");
        match operation {
            DiskOperation::Write { file, offset, bytes, .. } => {
                let found = self.0.get_mut(&file).ok_or(DiskError::Absent)?;
                let range = place(offset)..place(offset) + bytes.len();
                found.resize(found.len().max(range.end), 0);
                found[range].copy_from_slice(&bytes);
            }
            DiskOperation::Sync { .. } => {}
            DiskOperation::Replace { file, bytes } => {
                self.0.insert(file, bytes);
            }
            DiskOperation::Prepare { file, size } => {
                self.0.insert(file, vec![0; place(size)]);
            }
            DiskOperation::Create { file } => {
                self.0.insert(file, Vec::new());
            }
            DiskOperation::Rename { from, to } => {
                let found = self.0.remove(&from).ok_or(DiskError::Absent)?;
                self.0.insert(to, found);
            }
            DiskOperation::Remove { file } => {
                self.0.remove(&file).ok_or(DiskError::Absent)?;
            }
            DiskOperation::Read { file, offset, length } => {
                let found = self.0.get(&file).ok_or(DiskError::Absent)?;
                let end = found.len().min(place(offset + length));
                return Ok(DiskAnswer::Bytes(found.get(place(offset)..end).unwrap_or_default().to_vec()));
            }
            DiskOperation::List => {
                let files = self.0.iter().map(|(name, bytes)| (*name, bytes.len() as u64));
                return Ok(DiskAnswer::Files(files.collect()));
            }
            DiskOperation::Space => return Ok(DiskAnswer::Space { free: 0, total: 0 }),
        }
        Ok(DiskAnswer::Done)
    }

    /// A bit flips near the beginning of the file.
    fn flip(&mut self, file: FileName) {
        let bytes = self.0.get_mut(&file).expect("the file is there");
        bytes[100] ^= 1;
    }
}

/// The first life of the node: what it had, and what it wrote.
struct Life {
    files: Files,
    writer: Writer,
    rows: Rows,
    shop: TableDefinition,
    manifests: BTreeMap<SlotId, Manifest>,
    next_piece: u64,
}

impl Life {
    /// A new cluster with a table.
    fn begin() -> Self {
        let identity = LogIdentity {
            cluster: CLUSTER.to_owned(),
            founding: FOUNDING,
            node: NODE,
            lineage: LIFE,
            restart: RestartPoint::FOUNDING,
        };
        let size = LogSize { file: FILE_SIZE, space: 100 * FILE_SIZE };
        let mut bootstrap = Vec::new();
        let shop = with_table(|table, epoch, key, row| {
            bootstrap.push((table, epoch, key.to_vec(), row.map(<[u8]>::to_vec)));
        });
        let mut life = Self {
            files: Files::default(),
            writer: Writer::new(identity, size, LogEnd { next_file: 1, ..LogEnd::default() }),
            rows: Rows::new(),
            shop,
            manifests: BTreeMap::new(),
            next_piece: 1,
        };
        for (table, epoch, key, row) in bootstrap {
            life.publish((table, SYSTEM, key), epoch, row);
        }
        life
    }

    fn publish(&mut self, (table, slot, key): Place, epoch: u64, row: Option<Vec<u8>>) {
        let mut open = OpenBlock::new(0);
        let entry = Entry { slot, table, epoch: Epoch(epoch), key: &key, row: row.as_deref() };
        assert_eq!(open.append(&entry), None);
        self.writer.push(open.seal().expect("it has an entry"));
        match row {
            Some(row) => self.rows.insert((table, slot, key), (epoch, row)),
            None => self.rows.remove(&(table, slot, key)),
        };
    }

    /// A row of the table gets another value, or goes.
    fn put(&mut self, id: i64, k: Option<i64>, epoch: u64) {
        let (key, bytes) = row(&self.shop, id, k.unwrap_or(0));
        self.publish((SHOP, SLOT, key), epoch, k.map(|_| bytes));
    }

    /// Everything up to an epoch is there, and on disk.
    fn whole(&mut self, epoch: u64) {
        self.writer.mark(Mark::Whole { epoch: Epoch(epoch), closed_at_us: epoch });
        self.writer.flush();
        self.run();
    }

    fn run(&mut self) {
        while let Some(request) = self.writer.poll() {
            let result = self.files.perform(request.operation);
            self.writer.on_done(request.ticket, result).expect("the disk does not fail");
        }
    }

    /// A checkpoint of all fragments of a slot, made now. The log that no checkpoint needs is used again.
    fn checkpoint(&mut self, slot: SlotId, epoch: u64) {
        let (position, file) = (self.writer.next().0, self.next_piece);
        self.next_piece += 1;
        let of_slot = self.rows.keys().filter(|(_, of, _)| *of == slot);
        let tables: BTreeSet<TableId> = of_slot.map(|(table, ..)| *table).collect();
        let (mut bytes, mut fragments) = (Vec::new(), Vec::new());
        for table in tables {
            let mut builder = PieceBuilder::new(slot, table, Codec::Plain);
            let of_table = |place: &Place| (place.0, place.1) == (table, slot);
            let rows: Vec<_> = self.rows.iter().filter(|(place, _)| of_table(place)).collect();
            let mut pieces: Vec<SealedPiece> = Vec::new();
            for ((.., key), (epoch, row)) in &rows {
                pieces.extend(builder.add(&PieceRow { key, epoch: Epoch(*epoch), row }));
            }
            pieces.extend(builder.seal());
            let offset = bytes.len() as u64;
            for piece in pieces {
                let offset = bytes.len() as u64;
                bytes.extend(piece.finish(&PiecePlace { founding: FOUNDING, node: NODE, file, offset }));
            }
            let (length, pieces) = (bytes.len() as u64 - offset, builder.pieces());
            let (epoch, rows) = (Epoch(epoch), rows.len() as u64);
            fragments.push(FragmentCheckpoint { table, epoch, position, file, offset, length, pieces, rows });
        }
        let manifest = Manifest {
            cluster: CLUSTER.to_owned(),
            collations: COLLATION_VERSION.to_owned(),
            founding: FOUNDING,
            node: NODE,
            lineage: LIFE,
            slot,
            slots: vec![SYSTEM, SLOT],
            position,
            epoch: Epoch(epoch),
            fragments,
        };
        self.files.0.insert(FileName::Piece(file), bytes);
        self.files.0.insert(FileName::Manifest(slot), manifest.encode());
        self.manifests.insert(slot, manifest);
        if self.manifests.len() == 2 {
            let least = self.manifests.values().map(Manifest::required).min().expect("fragments");
            self.writer.release(least);
            self.run();
        }
    }
}

/// A life of some hundred blocks with checkpoints of both slots, and deletes, updates and inserts around them. The
/// first file of the log is gone. It is whole up to epoch 30.
fn written() -> Life {
    let mut life = Life::begin();
    for id in 0..60 {
        life.put(id, Some(id), 6);
    }
    life.whole(9);
    life.checkpoint(SYSTEM, 10);
    for id in 0..20 {
        life.put(id, (id % 3 > 0).then_some(id + 100), 11);
    }
    life.whole(15);
    life.checkpoint(SLOT, 16);
    for id in 0..10 {
        life.put(id, Some(id + 200), 21);
    }
    life.put(40, None, 22);
    for id in 100..140 {
        life.put(id, Some(1), 22);
    }
    life.put(99, Some(9), 22);
    life.whole(25);
    life.put(98, Some(8), 27);
    life.put(99, None, 28);
    life.whole(30);
    // The process died behind this.
    life.put(97, Some(7), 31);
    life.run();
    assert!(!life.files.0.contains_key(&FileName::Redo(1)), "it was used again");
    life
}

/// A start, and what the module has sent so far.
struct Start {
    module: DiskModule,
    files: Files,
    loaders: BTreeMap<Address, Loader>,
    signals: Vec<Signal>,
    events: Vec<String>,
    exit: Option<u8>,
}

impl Start {
    fn of(files: &Files) -> Self {
        Self::with(files, 2, 32 << 20)
    }

    /// With so many ldms, and so many bytes of DataMemory.
    fn with(files: &Files, count: u8, memory: u64) -> Self {
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(memory));
        let ldm = |instance| Address::new(NODE, protocol::ModuleKind::Ldm, instance);
        let loader = |instance| {
            let shares = Shares { ldms: 1, replicas: 1 };
            (ldm(instance), Loader::new(Arc::clone(&memory), shares, Some(instance)))
        };
        let loaders: BTreeMap<Address, Loader> = (0..count).map(loader).collect();
        let config = DiskConfig {
            node: NODE,
            cluster: CLUSTER.to_owned(),
            ldms: loaders.keys().copied().collect(),
            replicas: 2,
            memory,
            queries: Vec::new(),
            node_epoch: Arc::default(),
            redo: RedoSettings {
                write_speed_max: u64::MAX,
                codec: Codec::Plain,
                wait_max: Duration::from_secs(2),
                file_size: FILE_SIZE,
                file_count: 100,
                flush_interval: Duration::from_millis(50),
                buffer: 1 << 20,
                is_initial: false,
            },
            room: Arc::new(RedoRoom::new(1 << 20, 1)),
        };
        let mut start = Self {
            module: DiskModule::new(config),
            files: files.clone(),
            loaders,
            signals: Vec::new(),
            events: Vec::new(),
            exit: None,
        };
        let mut outputs = Outputs::default();
        start.module.handle(Now::default(), Input::Start { seed: [0; 32] }, &mut outputs);
        start.run(outputs);
        start
    }

    /// Does all that the module asks for.
    fn run(&mut self, mut outputs: Outputs<Shared>) {
        loop {
            self.events.extend(outputs.events.drain(..).map(|event| event.message));
            let shared: Vec<_> = outputs.shared.drain(..).collect();
            let is_quiet = shared.is_empty();
            for (from, to, shared) in shared {
                if let (Some(loader), Shared::Load(step)) = (self.loaders.get_mut(&to), shared) {
                    let loaded = Shared::Loaded(loader.step(step));
                    self.module.on_shared(Now::default(), to, loaded, &mut outputs);
                    assert_eq!(from, Address::disk(NODE));
                }
            }
            for request in outputs.requests.drain(..) {
                if let RequestToRuntime::Exit(code) = request {
                    self.exit = Some(code);
                }
            }
            let signals: Vec<Envelope> = outputs.signals.drain(..).collect();
            let requests: Vec<_> = outputs.disk_requests.drain(..).collect();
            if is_quiet && signals.is_empty() && requests.is_empty() {
                return;
            }
            self.signals.extend(signals.into_iter().map(|envelope| envelope.signal));
            for request in requests {
                let result = self.files.perform(request.operation);
                let done = Input::DiskDone { ticket: request.ticket, result };
                self.module.handle(Now::default(), done, &mut outputs);
            }
        }
    }

    /// The time of the next flush comes.
    fn flush(&mut self, outputs: &mut Outputs<Shared>) {
        let at = self.module.flush_at.expect("something is to be flushed");
        let now = Now { monotonic: at, ..Now::default() };
        self.module.handle(now, Input::Deadline, outputs);
    }

    fn claim(&self) -> &Claim {
        match self.signals.first() {
            Some(Signal::DiskRead(claim)) => claim,
            other => panic!("{other:?}, {:?}", self.events),
        }
    }

    /// The newest epoch that it could be brought to.
    fn flushed(&self) -> Option<u64> {
        self.claim().points.first().map(|point| point.flushed.0)
    }

    /// It is to be restored to an epoch.
    fn restore(&mut self, cut: u64) {
        let order = RestoreOrder { restart: RestartPoint::FOUNDING.next(Epoch(cut)), source: LIFE };
        let mut outputs = Outputs::default();
        let signal = Signal::Restore(order);
        let (from, to) = (Address::membership(NODE), Address::disk(NODE));
        let envelope = Envelope { from, to, view: Default::default(), epoch: Epoch(0), signal };
        self.module.on_signal(Now::default(), envelope, &mut outputs);
        self.run(outputs);
    }

    fn rows(&self) -> Rows {
        let is_restored = self.signals.iter().any(|signal| matches!(signal, Signal::Restored(_)));
        assert!(is_restored, "{:?}", self.events);
        let guard = Guard::enter();
        let mut rows = Rows::new();
        for restored in self.module.fragments.as_ref().expect("rows") {
            let reader = restored.fragment.reader();
            rows.extend(reader.committed_rows(&guard, None).map(|row| {
                ((restored.table, restored.slot, row.key.to_vec()), (row.epoch.0, row.row.to_vec()))
            }));
        }
        rows
    }

    fn says(&self, text: &str) -> bool {
        self.events.iter().any(|event| event.contains(text))
    }
}

#[test]
fn checkpoints_and_the_log_behind_them_are_restored_exactly() {
    let mut life = written();
    life.files.0.insert(FileName::Piece(77), b"nobody names it".to_vec());
    let mut start = Start::of(&life.files);
    assert_eq!((start.flushed(), start.claim().low, start.claim().is_damaged), (Some(30), Epoch(16), false));
    start.restore(30);
    life.rows.retain(|_, (epoch, _)| *epoch <= 30);
    assert_eq!(start.rows(), life.rows);
    let pieces = start.files.0.keys().filter(|name| matches!(name, FileName::Piece(_)));
    assert_eq!(pieces.copied().collect::<Vec<_>>(), [1, 2].map(FileName::Piece));
}

#[test]
fn any_number_of_threads_restores_the_same_rows() {
    let mut life = written();
    life.rows.retain(|_, (epoch, _)| *epoch <= 30);
    for ldms in [1, 3, 8] {
        let mut start = Start::with(&life.files, ldms, 32 << 20);
        start.restore(30);
        assert_eq!(start.rows(), life.rows, "{ldms}");
    }
}

/// Its memory was made smaller, and then larger than it was.
#[test]
fn rows_that_do_not_fit_end_the_start_and_more_memory_holds_them() {
    let mut life = Life::begin();
    for id in 0..60_000 {
        let (key, bytes) = row(&life.shop, id, id);
        life.rows.insert((SHOP, SLOT, key), (6, bytes));
    }
    life.whole(9);
    life.checkpoint(SLOT, 9);
    let mut start = Start::with(&life.files, 2, 4 << 20);
    start.restore(9);
    assert_eq!((start.exit, start.module.fragments.is_none()), (Some(EXIT_CANNOT_JOIN), true));
    assert!(start.says("its DataMemory is full before all its rows are restored"), "{:?}", start.events);
    let mut start = Start::with(&life.files, 2, 64 << 20);
    start.restore(9);
    assert_eq!(start.rows(), life.rows);
}

/// The log has more rows of tables that were dropped than memory would hold, as after many TRUNCATEs.
#[test]
fn rows_of_dropped_tables_in_the_log_take_no_memory() {
    let mut life = Life::begin();
    life.put(1, Some(10), 6);
    for table in 500..516 {
        for number in 0..8_u32 {
            let place = (TableId(table), SLOT, number.to_be_bytes().to_vec());
            life.publish(place, 6, Some(vec![7; 50_000]));
        }
    }
    life.whole(9);
    life.rows.retain(|(table, ..), _| table.0 < 500);
    let mut start = Start::with(&life.files, 2, 4 << 20);
    start.restore(9);
    assert_eq!(start.rows(), life.rows);
}

#[test]
fn what_is_above_the_cut_is_not_restored() {
    let mut start = Start::of(&written().files);
    start.restore(25);
    let shop = row(&written().shop, 99, 9);
    let rows = start.rows();
    assert_eq!(rows.get(&(SHOP, SLOT, shop.0)), Some(&(22, shop.1)), "its delete is above the cut");
    assert_eq!(rows.values().map(|(epoch, _)| *epoch).max(), Some(22));
    // Below the checkpoints it cannot go.
    let mut start = Start::of(&written().files);
    start.restore(12);
    assert_eq!((start.exit, start.module.fragments.is_none()), (Some(EXIT_LEFT_OUT), true));
}

#[test]
fn a_bad_piece_is_said_and_the_next_life_does_not_claim_it() {
    for lose in [false, true] {
        let mut life = written();
        if lose {
            life.files.0.remove(&FileName::Piece(2));
        } else {
            life.files.flip(FileName::Piece(2));
        }
        let mut start = Start::of(&life.files);
        start.restore(30);
        assert_eq!((start.exit, start.module.fragments.is_none()), (Some(EXIT_LEFT_OUT), true));
        let text =
            if lose { "lcp/2.piece: there is no such file" } else { "cannot be read from lcp/2.piece" };
        assert!(start.says(text), "{:?}", start.events);
        let again = Start::of(&start.files);
        assert_eq!((again.flushed(), again.claim().is_damaged), (None, true));
    }
}

#[test]
fn a_bad_piece_does_no_harm_while_the_log_has_everything() {
    let mut life = Life::begin();
    for id in 0..20 {
        life.put(id, Some(id), 6);
    }
    life.whole(9);
    life.checkpoint(SLOT, 10);
    life.put(3, None, 11);
    life.whole(12);
    life.files.flip(FileName::Piece(1));
    let mut start = Start::of(&life.files);
    start.restore(12);
    assert_eq!(start.exit, Some(EXIT_LEFT_OUT));
    let mut again = Start::of(&start.files);
    assert_eq!(again.flushed(), Some(12));
    again.restore(12);
    assert_eq!(again.rows(), life.rows);
}

#[test]
fn a_bad_or_missing_manifest_is_said_and_nothing_is_claimed() {
    for lose in [false, true] {
        let mut life = written();
        if lose {
            life.files.0.remove(&FileName::Manifest(SLOT));
        } else {
            life.files.flip(FileName::Manifest(SLOT));
        }
        let start = Start::of(&life.files);
        assert_eq!((start.flushed(), start.claim().is_damaged), (None, true));
        assert!(start.says("lcp/3.manifest is missing or damaged"), "{:?}", start.events);
    }
}

#[test]
fn a_bad_block_behind_the_checkpoints_is_said_and_what_is_whole_before_it_is_claimed() {
    let mut life = written();
    // Its block knows that the earlier ones are on disk.
    life.whole(33);
    let (key, bytes) = row(&life.shop, 98, 8);
    let entry = [key.clone(), bytes].concat();
    let log = life.files.0.iter_mut().filter(|(name, _)| matches!(name, FileName::Redo(_)));
    let mut found = log.filter_map(|(_, bytes)| {
        let at = bytes.windows(entry.len()).position(|window| window == entry)?;
        bytes.get_mut(at)
    });
    *found.next().expect("the entry of the row") ^= 1;
    drop(found);
    let mut start = Start::of(&life.files);
    assert_eq!((start.flushed(), start.claim().is_damaged), (Some(25), true));
    assert!(start.says("something that had been on disk"), "{:?}", start.events);
    start.restore(25);
    assert!(start.rows().keys().all(|(.., there)| *there != key));
}

#[test]
fn files_of_another_cluster_are_refused_by_name_and_not_touched() {
    let mut life = written();
    let manifest = life.manifests.remove(&SLOT).expect("it has one");
    let other = Manifest { cluster: "bank".to_owned(), ..manifest };
    life.files.0.insert(FileName::Manifest(SLOT), other.encode());
    let start = Start::of(&life.files);
    assert_eq!((start.exit, start.files.0 == life.files.0), (Some(EXIT_CANNOT_START), true));
    assert!(start.says("the manifest of slot 3 belongs to the cluster \"bank\", not to \"shop\""));
}

#[test]
fn marks_of_a_member_that_came_in_sync_before_its_disk_was_cleared_are_flushed() {
    let mut start = Start::of(&written().files);
    let map = |is_joining: bool| {
        let mut view = fixtures::replicas(2);
        for group in view.groups.iter_mut().filter(|_| is_joining) {
            group.in_sync.retain(|node| *node != NODE);
            group.joining.push(NODE);
        }
        let schema = Arc::new(types::Schema::empty(types::SchemaVersion(0)));
        let empty = NodeMap::empty(NODE, Arc::clone(&schema));
        Arc::new(empty.with(Incarnation(2), Arc::new(view), schema, &[]))
    };
    let (main, mut outputs, mut clearing) = (Address::main(NODE), Outputs::default(), Vec::new());
    // The disk answers all but what clears it.
    let mut written = |start: &mut Start, outputs: &mut Outputs<Shared>| {
        while !outputs.disk_requests.is_empty() {
            let request = outputs.disk_requests.remove(0);
            if request.ticket >= checkpoint::FIRST_TICKET {
                clearing.push(request);
                continue;
            }
            let result = start.files.perform(request.operation);
            let done = Input::DiskDone { ticket: request.ticket, result };
            start.module.handle(Now::default(), done, outputs);
        }
        std::mem::take(&mut clearing)
    };
    start.module.on_shared(Now::default(), main, Shared::Tables(map(true)), &mut outputs);
    for ldm in start.module.config.ldms.clone() {
        let whole = Shared::Redo { blocks: Vec::new(), whole: Some(Epoch(5)) };
        start.module.on_shared(Now::default(), ldm, whole, &mut outputs);
    }
    let held = written(&mut start, &mut outputs);
    while start.module.flush_at.is_some() {
        start.flush(&mut outputs);
        written(&mut start, &mut outputs);
    }
    start.module.on_shared(Now::default(), main, Shared::Map(map(false)), &mut outputs);
    assert!(!start.module.checkpoints.is_clear());

    outputs.disk_requests.extend(held);
    start.run(std::mem::take(&mut outputs));
    assert!(start.module.checkpoints.is_clear());
    start.flush(&mut outputs);
    start.run(outputs);
    let is_told = |signal: &Signal| matches!(signal, Signal::Flushed { epoch: Epoch(5) });
    assert!(start.signals.iter().any(is_told), "nothing else is logged that would flush them");
}
