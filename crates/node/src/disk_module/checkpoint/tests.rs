//! The checkpoints of a node with two fragments, whose log goes round. At any moment the files on disk have everything
//! that was committed.
#![expect(clippy::wildcard_enum_match_arm, reason = "objects, operations and files of others")]

use super::{CheckpointConfig, Checkpoints};
use durability::{
    CheckpointReader, Codec, Entry, FragmentCheckpoint, Manifest, ManifestScan, Manifests, OpenBlock,
    Position, Writer,
};
use durability::{LogEnd, LogFile, LogIdentity, LogLevel, LogSize};
use memory::{Guard, MemoryConfig, MemoryManager};
use protocol::control::GroupId;
use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use protocol::epoch::NodeEpoch;
use protocol::{Address, Budget, ModuleKind, Outputs, RestartPoint, Signal, View};
use query::{ListedFragment, NodeMap, PieceScan, PieceStep, PublishedReader, Readers, Shared};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stdx::{Duration, Now};
use storage::{Fragment, FragmentDefinition};
use types::{
    Epoch, Incarnation, NodeId, Schema, SchemaVersion, SlotId, TableDefinition, TableId, TransactionId,
};

const NODE: NodeId = NodeId(1);
const LDM: Address = Address::new(NODE, ModuleKind::Ldm, 0);
const SLOT: SlotId = SlotId(1);
const HOT: TableId = TableId(100);
const COLD: TableId = TableId(101);
const PAGE: u64 = 4_096;
const FILE_SIZE: u64 = 8 * PAGE;
const SIZE: LogSize = LogSize { file: FILE_SIZE, space: 8 * FILE_SIZE };

type Rows = BTreeMap<Vec<u8>, (Epoch, Vec<u8>)>;
/// An entry of the log: its block, table, key, epoch and row.
type Logged = (Option<Position>, TableId, Vec<u8>, Epoch, Option<Vec<u8>>);

struct Node {
    checkpoints: Checkpoints,
    writer: Writer,
    open: OpenBlock,
    fragments: BTreeMap<TableId, Fragment>,
    epoch: Arc<NodeEpoch>,
    /// Everything that was logged, with the block that it is in; entries of the open block have none yet.
    logged: Vec<Logged>,
    files: BTreeMap<FileName, Vec<u8>>,
    /// Those that were replaced by nothing.
    emptied: BTreeSet<FileName>,
    /// The disk has no room for pieces.
    is_full: bool,
    now: Now,
    outputs: Outputs<Shared>,
    /// Scans wait for the test.
    is_slow: bool,
    scans: Vec<PieceScan>,
    wanted: Option<Epoch>,
    is_joining: bool,
}

fn table(id: TableId) -> Arc<TableDefinition> {
    Arc::new(fixtures::table(id, vec![fixtures::column("id", fixtures::integer())]))
}

/// A view in which this node's group has a restorable member, or has none.
fn view(is_restorable: bool) -> View {
    let mut view = fixtures::replicas(2);
    for group in view.groups.iter_mut().filter(|_| is_restorable) {
        group.restorable = vec![(NODE, Incarnation(1))];
    }
    view
}

fn identity() -> LogIdentity {
    LogIdentity {
        cluster: "shop".to_owned(),
        founding: GroupId(3),
        node: NODE,
        lineage: Incarnation(1),
        restart: RestartPoint::default(),
    }
}

fn config(epoch: &Arc<NodeEpoch>) -> CheckpointConfig {
    CheckpointConfig {
        node: NODE,
        cluster: "shop".to_owned(),
        ldms: vec![LDM],
        queries: vec![Address::new(NODE, ModuleKind::Query, 0)],
        node_epoch: Arc::clone(epoch),
        space: 8 * FILE_SIZE,
        speed_max: u64::MAX,
        codec: Codec::Lz4,
    }
}

impl Node {
    fn new(view: View) -> Self {
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
        let epoch = Arc::new(NodeEpoch::default());
        epoch.raise(Epoch(10));
        let config = config(&epoch);
        let fragment = |id| (id, Fragment::new(Arc::new(FragmentDefinition::bare(id)), Arc::clone(&memory)));
        let mut node = Self {
            checkpoints: Checkpoints::new(config),
            writer: Writer::new(identity(), SIZE, LogEnd { next_file: 1, ..LogEnd::default() }),
            open: OpenBlock::new(0),
            fragments: [fragment(HOT), fragment(COLD)].into(),
            epoch,
            logged: Vec::new(),
            files: BTreeMap::new(),
            emptied: BTreeSet::new(),
            is_full: false,
            now: Now::default(),
            outputs: Outputs::default(),
            is_slow: false,
            scans: Vec::new(),
            wanted: None,
            is_joining: false,
        };
        node.checkpoints.begin(GroupId(3), Incarnation(1));
        node.install(view, &[HOT, COLD]);
        node
    }

    fn install(&mut self, view: View, tables: &[TableId]) {
        let mut schema = Schema::empty(SchemaVersion(1));
        let mut readers = Readers::default();
        for id in tables {
            schema.put_table(table(*id));
            let reader = self.fragments[id].reader();
            readers.insert(PublishedReader { table: *id, slot: SLOT, reader });
        }
        let empty = NodeMap::empty(NODE, Arc::new(Schema::empty(SchemaVersion(0))));
        let map = empty.with(Incarnation(1), Arc::new(view), Arc::new(schema), &[]);
        self.checkpoints.install(&Arc::new(map.with_readers(&readers)));
    }

    /// Publishes a row or a delete in the node's epoch.
    fn publish(&mut self, id: TableId, key: u32, row: Option<&[u8]>) {
        let (key, epoch, transaction) = (key.to_be_bytes(), self.epoch.current(), TransactionId(1));
        let full = self.open.append(&Entry { slot: SLOT, table: id, epoch, key: &key, row });
        if let Some(block) = full {
            self.hand_over(block);
        }
        self.logged.push((None, id, key.to_vec(), epoch, row.map(<[u8]>::to_vec)));
        let fragment = self.fragments.get_mut(&id).expect("a table");
        let handle = fragment.stage(&key, transaction, row).expect("memory");
        fragment.commit(handle, transaction, epoch);
    }

    fn hand_over(&mut self, block: durability::SealedBlock) {
        let bytes = block.size() as u64;
        let position = self.writer.push(block);
        self.logged.iter_mut().filter(|entry| entry.0.is_none()).for_each(|entry| entry.0 = Some(position));
        self.flush();
        self.checkpoints.note_logged(self.now, bytes);
    }

    /// The log is brought to disk.
    fn flush(&mut self) {
        self.writer.flush();
        while let Some(request) = self.writer.poll() {
            self.writer.on_done(request.ticket, Ok(DiskAnswer::Done)).expect("no failure");
        }
    }

    fn seal(&mut self) {
        if let Some(block) = self.open.seal() {
            self.hand_over(block);
        }
    }

    /// Fills the log by so many files with changes of one table.
    fn fill(&mut self, files: u64) {
        for index in 0..files * FILE_SIZE / PAGE {
            let key = u32::try_from(index % 7).expect("small");
            self.publish(HOT, key, (index % 11 != 5).then_some(&[u8::try_from(index % 200).unwrap(); 3_000]));
            self.seal();
        }
    }

    fn listed(&self) -> Vec<ListedFragment> {
        let state = |(table, fragment): (&TableId, &Fragment)| {
            let statistics = fragment.statistics();
            let (commits, rows, bytes) = (fragment.tally.commits, statistics.rows, statistics.data_bytes);
            ListedFragment { table: *table, slot: SLOT, commits, rows, bytes }
        };
        self.fragments.iter().map(state).collect()
    }

    /// Runs until nobody has anything to do now.
    fn run(&mut self) {
        for _ in 0..10_000 {
            self.checkpoints.go_on(self.now, self.is_joining, &mut self.writer, &mut self.outputs);
            let outputs = std::mem::take(&mut self.outputs);
            let mut is_idle = outputs.shared.is_empty() && outputs.disk_requests.is_empty();
            for envelope in outputs.signals {
                let Signal::DurableWanted { epoch } = envelope.signal else { panic!("{envelope:?}") };
                self.wanted = Some(epoch);
            }
            for (_, _, shared) in outputs.shared {
                match shared {
                    Shared::ListFragments => {
                        self.seal();
                        let listed = self.listed();
                        self.checkpoints.on_listed(LDM, listed, self.writer.next());
                    }
                    Shared::Scan(scan) => self.scans.push(*scan),
                    _ => panic!("an object for nobody"),
                }
            }
            if !self.is_slow {
                is_idle &= !self.scan();
            }
            for request in outputs.disk_requests {
                let result = self.perform(request.operation);
                let done = self.checkpoints.on_done(self.now, request.ticket, result);
                assert!(done.is_ok(), "the disk fails nowhere");
            }
            if is_idle {
                return;
            }
        }
        panic!("it never ends");
    }

    /// Reads the next piece.
    fn scan(&mut self) -> bool {
        let Some(mut scan) = self.scans.pop() else { return false };
        let piece = loop {
            match scan.step(&mut Budget::of(3)) {
                PieceStep::Spent => {}
                PieceStep::Sealed(piece) => break Some(piece),
                PieceStep::End(piece) => break piece,
            }
        };
        self.checkpoints.on_scanned(self.now, Box::new(scan), piece, &self.writer);
        true
    }

    fn perform(&mut self, operation: DiskOperation) -> Result<DiskAnswer, DiskError> {
        let is_piece = |file: &FileName| matches!(file, FileName::Piece(_));
        match operation {
            DiskOperation::Write { file, .. } if self.is_full && is_piece(&file) => {
                return Err(DiskError::Full);
            }
            DiskOperation::Write { file, offset, bytes, .. } => {
                let found = self.files.get_mut(&file).ok_or(DiskError::Absent)?;
                assert_eq!(found.len() as u64, offset, "pieces stand behind each other");
                found.extend_from_slice(&bytes);
            }
            DiskOperation::Sync { file } => drop(self.files.get(&file).ok_or(DiskError::Absent)?),
            DiskOperation::Replace { file, bytes } => {
                if bytes.is_empty() {
                    self.emptied.insert(file);
                }
                self.files.insert(file, bytes);
            }
            DiskOperation::Prepare { file, size: 0 } => drop(self.files.insert(file, Vec::new())),
            DiskOperation::Remove { file } => drop(self.files.remove(&file).ok_or(DiskError::Absent)?),
            other => panic!("{other:?}"),
        }
        Ok(DiskAnswer::Done)
    }

    /// Time goes on.
    fn wait(&mut self, milliseconds: u64) {
        self.now.monotonic = self.now.monotonic + Duration::from_millis(milliseconds);
        self.run();
    }

    /// A job as far as it comes: the log is filled, and it has all the time that it wants.
    fn job(&mut self) {
        self.fill(7);
        (0..5).for_each(|_| self.wait(2_000));
    }

    fn manifests(&self) -> Vec<Manifest> {
        let manifest = |(name, bytes): (&FileName, &Vec<u8>)| match name {
            FileName::Manifest(slot) => Some(Manifest::decode(bytes, *slot, "shop", NODE).expect("whole")),
            _ => None,
        };
        self.files.iter().filter_map(manifest).collect()
    }

    fn pieces(&self) -> BTreeSet<u64> {
        let piece = |name: &FileName| match name {
            FileName::Piece(number) => Some(*number),
            _ => None,
        };
        self.files.keys().filter_map(piece).collect()
    }

    /// The rows of a table that a restart has: its checkpoint, and the log from its position on.
    fn restored(&mut self, id: TableId) -> Rows {
        self.seal();
        let manifests = self.manifests();
        let of_slot = manifests.iter().find(|manifest| manifest.slot == SLOT);
        let checkpoint = |manifest: &Manifest| {
            manifest.fragments.iter().find(|checkpoint| checkpoint.table == id).copied()
        };
        let found = of_slot.and_then(|manifest| Some((manifest, checkpoint(manifest)?)));
        let mut rows = Rows::new();
        if let Some((manifest, checkpoint)) = &found {
            let mut reader = CheckpointReader::new(manifest, checkpoint);
            while let Some(DiskOperation::Read { file, offset, length }) = reader.poll() {
                let bytes = &self.files[&file];
                let start = usize::try_from(offset).unwrap();
                let end = bytes.len().min(start + usize::try_from(length).unwrap());
                let answer = Ok(DiskAnswer::Bytes(bytes[start..end].to_vec()));
                let take = |piece: &durability::Piece<'_>| {
                    let of_piece = piece.rows().map(|row| row.expect("it was checked"));
                    rows.extend(of_piece.map(|row| (row.key.to_vec(), (row.epoch, row.row.to_vec()))));
                };
                reader.on_done(answer, take).expect("the checkpoint is whole");
            }
        }
        // The least position of all manifests is not above it.
        let from = found.map_or(of_slot.map_or(1, |manifest| manifest.position), |(_, found)| found.position);
        assert!(manifests.iter().map(Manifest::required).min().is_none_or(|least| least.0 <= from));
        for (position, table, key, epoch, row) in &self.logged {
            let is_older = rows.get(key).is_some_and(|(there, _)| there > epoch);
            match row {
                _ if *table != id || is_older || position.is_none_or(|position| position.0 < from) => {}
                Some(row) => drop(rows.insert(key.clone(), (*epoch, row.clone()))),
                None => drop(rows.remove(key)),
            }
        }
        rows
    }

    fn in_memory(&self, id: TableId) -> Rows {
        let (reader, guard) = (self.fragments[&id].reader(), Guard::enter());
        let rows = reader.committed_rows(&guard, None);
        rows.map(|row| (row.key.to_vec(), (row.epoch, row.row.to_vec()))).collect()
    }

    fn check(&mut self) {
        for id in [HOT, COLD] {
            assert_eq!(self.restored(id), self.in_memory(id), "table {id}");
        }
    }
}

/// A node whose rows are all durable as soon as they are there.
fn durable() -> Node {
    let mut node = Node::new(view(true));
    node.checkpoints.on_durable(Epoch(1 << 40), Epoch(1 << 40));
    for key in 0..900 {
        node.publish(COLD, key, Some(&[3; 3_000]));
    }
    node
}

#[test]
pub(crate) fn a_checkpoint_and_the_log_behind_its_position_are_all_rows() {
    let mut node = durable();
    node.is_slow = true;
    node.fill(7);
    let mut scans = 0;
    for round in 0..60 {
        node.epoch.raise(Epoch(20 + round));
        node.wait(300);
        // Rows change before and behind what is read of them.
        let round = u32::try_from(round).expect("small");
        for key in [round, 300 + round, 700 - round, 899 - round] {
            node.publish(COLD, key, (round % 3 != 0).then_some(&[9; 3_000]));
        }
        node.seal();
        scans += u32::from(node.scan());
        node.publish(COLD, 200 + round, Some(&[4; 3_000]));
        node.fill(1);
        node.check();
    }
    assert!(scans > 20 && node.manifests().len() > 1, "{scans} pieces, {} manifests", node.manifests().len());
    let needed = node.manifests().iter().map(Manifest::required).min();
    assert!(needed > Some(Position(100)), "{needed:?}");
}

#[test]
pub(crate) fn a_manifest_waits_until_its_epoch_is_durable() {
    for is_restorable in [true, false] {
        let mut node = Node::new(view(is_restorable));
        node.job();
        assert_eq!((node.wanted, node.manifests().len()), (Some(Epoch(10)), 0));
        node.checkpoints.on_durable(Epoch(10), Epoch(9));
        node.wait(1);
        // An epoch that all have flushed is enough if nobody of the group is restorable: the manifest is lacking.
        assert_eq!(node.manifests().is_empty(), is_restorable);
        node.checkpoints.on_durable(Epoch(10), Epoch(10));
        node.wait(1);
        assert!(node.manifests().iter().all(|manifest| manifest.low() <= Epoch(10)));
        assert!(node.manifests().iter().any(|manifest| manifest.epoch == Epoch(10)));
        node.check();
    }
}

#[test]
pub(crate) fn old_files_go_when_the_manifests_name_others() {
    let mut node = durable();
    node.job();
    let first = node.pieces();
    assert!(!first.is_empty());
    node.epoch.raise(Epoch(1 << 41));
    node.job();
    // The new file is there, and its epoch is awaited.
    let both = node.pieces();
    assert!(both.is_superset(&first) && both.len() > first.len(), "{first:?}, {both:?}");
    node.check();
    node.checkpoints.on_durable(Epoch(1 << 41), Epoch(1 << 41));
    node.wait(1);
    let kept = node.pieces();
    assert!(kept.len() < both.len() && kept.iter().any(|file| !first.contains(file)), "{both:?}, {kept:?}");
    node.check();
}

/// Whether all blocks that a restart needs are in files that are not used again.
fn keeps_what_is_needed(node: &Node) -> bool {
    let needed = node.manifests().iter().map(Manifest::required).min().unwrap_or(Position(1));
    node.writer.held_from(needed) <= node.writer.held_bytes()
}

#[test]
pub(crate) fn the_log_is_released_when_the_manifests_are_there() {
    let mut node = durable();
    for round in 1..20 {
        node.epoch.raise(Epoch((1 << 41) + round));
        node.fill(5);
        (0..4).for_each(|_| node.wait(2_000));
        assert!(keeps_what_is_needed(&node), "round {round}");
        let held = node.writer.held_bytes();
        node.checkpoints.on_durable(Epoch(1 << 42), Epoch((1 << 41) + round));
        (0..8).for_each(|_| node.wait(2_000));
        assert!(keeps_what_is_needed(&node), "round {round}");
        assert!(node.writer.held_bytes() < held, "round {round}: {held}");
        // In the first round it had all rows.
        assert!(round == 1 || held < 16 * FILE_SIZE, "round {round}: {held}");
        node.check();
    }
    assert!(node.writer.next() > Position(19 * 5 * FILE_SIZE / PAGE), "it went round often");
}

impl Node {
    /// The node comes back from its manifests, and asks for nothing but the start of its checkpoints.
    fn restart(&mut self) -> Manifests {
        let files: Vec<(FileName, u64)> =
            self.files.iter().map(|(name, bytes)| (*name, bytes.len() as u64)).collect();
        let mut scan = ManifestScan::new("shop", NODE, &files);
        while let Some(DiskOperation::Read { file, .. }) = scan.poll() {
            assert!(scan.on_done(Ok(DiskAnswer::Bytes(self.files[&file].clone()))).is_ok());
        }
        let manifests = scan.finish();
        self.checkpoints = Checkpoints::new(config(&self.epoch));
        self.checkpoints.find(&files);
        self.checkpoints.restore(&manifests);
        self.checkpoints.begin(GroupId(3), Incarnation(2));
        manifests
    }
}

/// A node that comes back holds what its manifests need of the log.
#[test]
fn a_node_that_was_restored_goes_on_with_its_manifests() {
    let mut node = durable();
    (0..4).for_each(|_| node.job());
    let before = node.pieces();
    let required = node.restart().required();
    node.install(view(true), &[HOT, COLD]);
    node.checkpoints.on_durable(Epoch(1 << 40), Epoch(1 << 40));
    node.check();
    for _ in 0..4 {
        node.job();
        assert!(keeps_what_is_needed(&node));
        node.check();
    }
    assert!(node.manifests().iter().all(|manifest| manifest.required() > required));
    assert!(node.pieces().is_disjoint(&before));
}

/// A log that is full takes no writes, so a node that comes back with one is never told that something was logged.
#[test]
fn a_node_that_comes_back_with_a_full_log_makes_room_in_it() {
    let mut node = durable();
    (0..4).for_each(|_| node.job());
    node.fill(16);
    let full = node.writer.held_bytes();
    assert!(node.writer.level() >= LogLevel::Full);
    node.restart();
    // A view that has it in sync comes later than its first one.
    let mut joining = view(true);
    joining.groups.iter_mut().for_each(|group| group.in_sync.retain(|member| *member != NODE));
    node.install(joining, &[HOT, COLD]);
    (0..5).for_each(|_| node.wait(2_000));
    node.install(view(true), &[HOT, COLD]);
    node.checkpoints.on_durable(Epoch(1 << 40), Epoch(1 << 40));
    (0..9).for_each(|_| node.wait(2_000));
    assert!(node.writer.held_bytes() < full / 2, "{} of {full}", node.writer.held_bytes());
    assert_eq!(node.writer.level(), LogLevel::Normal);
    node.check();
}

/// An earlier process had replaced its manifests, and died before it gave up the log that they made superfluous.
#[test]
fn a_node_that_comes_back_gives_up_what_its_manifests_do_not_need() {
    gives_up_what_is_not_needed(8);
}

/// They need some of it, and there is no pace for new checkpoints: a log that is full takes no writes.
#[test]
fn a_node_that_comes_back_gives_that_up_before_it_writes_checkpoints() {
    gives_up_what_is_not_needed(5);
}

/// The log has eight files, of which the manifests do not need the first ones.
fn gives_up_what_is_not_needed(files: u64) {
    let mut node = durable();
    node.fill(4);
    let end = LogEnd { next: node.writer.next(), next_file: 100, ..LogEnd::default() };
    let file = |number| LogFile { number, first: Position(1 + number * end.next.0 / 8), size: FILE_SIZE };
    let end = LogEnd { files: (0..8).map(file).collect(), ..end };
    let position = end.next.0 / 8 * files;
    let fragment = |table| {
        let (epoch, file, offset, length, pieces, rows) = (Epoch(1), 0, 0, 0, 0, 0);
        FragmentCheckpoint { table, epoch, position, file, offset, length, pieces, rows }
    };
    let manifest = Manifest {
        cluster: "shop".to_owned(),
        collations: types::COLLATION_VERSION.to_owned(),
        founding: GroupId(3),
        node: NODE,
        lineage: Incarnation(1),
        slot: SLOT,
        slots: vec![SLOT],
        position,
        epoch: Epoch(1),
        fragments: vec![fragment(HOT), fragment(COLD)],
    };
    node.files.insert(FileName::Manifest(SLOT), manifest.encode());
    node.writer = Writer::new(identity(), SIZE, end);
    assert!(node.writer.level() >= LogLevel::Full);
    node.restart();
    node.install(view(true), &[HOT, COLD]);
    node.checkpoints.on_durable(Epoch(1 << 40), Epoch(1 << 40));
    (0..9).for_each(|_| node.wait(2_000));
    assert_eq!(node.writer.level(), LogLevel::Normal);
}

#[test]
pub(crate) fn a_node_that_joins_makes_no_checkpoint() {
    let mut node = durable();
    node.is_joining = true;
    node.job();
    assert!(node.files.is_empty(), "{:?}", node.files.keys());
    node.is_joining = false;
    node.job();
    assert!(!node.manifests().is_empty());
}

#[test]
fn a_fragment_that_did_not_change_only_gets_a_position() {
    let mut node = durable();
    (0..4).for_each(|_| node.job());
    let of = |node: &Node, id: TableId| {
        let manifests = node.manifests();
        let mut fragments = manifests.iter().flat_map(|manifest| manifest.fragments.clone());
        fragments.find(|checkpoint| checkpoint.table == id).expect("a checkpoint")
    };
    let (hot, cold) = (of(&node, HOT), of(&node, COLD));
    assert_eq!(cold.rows, 900);
    (0..3).for_each(|_| node.job());
    let (later, same) = (of(&node, HOT), of(&node, COLD));
    assert!(later.file > hot.file && same.position > cold.position, "{later:?}, {same:?}");
    assert_eq!((same.file, same.offset, same.epoch), (cold.file, cold.offset, cold.epoch));
    node.check();
}

#[test]
pub(crate) fn a_dropped_table_leaves_the_manifest_when_that_is_durable() {
    let mut node = durable();
    (0..4).for_each(|_| node.job());
    let has_cold = |node: &Node| {
        let manifests = node.manifests();
        manifests.iter().any(|manifest| manifest.fragments.iter().any(|fragment| fragment.table == COLD))
    };
    assert!(has_cold(&node));
    node.epoch.raise(Epoch(1 << 41));
    // Nothing has changed but what is dropped: no row that is read for this job is as new as the drop.
    for key in 0..60 {
        node.publish(COLD, key, Some(&[6; 3_000]));
        node.seal();
    }
    node.fragments.remove(&COLD);
    node.install(view(true), &[HOT]);
    (0..5).for_each(|_| node.wait(2_000));
    assert!(has_cold(&node));
    node.checkpoints.on_durable(Epoch(1 << 41), Epoch(1 << 41));
    node.wait(1);
    assert!(!has_cold(&node));
    assert!(node.manifests().iter().any(|manifest| manifest.low() == Epoch(1 << 41)));
}

#[test]
fn a_full_disk_ends_the_job_and_leaves_what_is_there() {
    let mut node = durable();
    (0..4).for_each(|_| node.job());
    let (pieces, manifests) = (node.pieces(), node.manifests());
    node.is_full = true;
    node.job();
    assert_eq!((node.pieces(), node.manifests()), (pieces.clone(), manifests));
    node.check();
    node.is_full = false;
    node.job();
    node.wait(11_000);
    node.job();
    assert_ne!(node.pieces(), pieces);
    node.check();
}

/// A node that is idle writes nothing, and does not wake up.
#[test]
fn without_changes_nothing_is_written() {
    let mut node = durable();
    (0..6).for_each(|_| node.job());
    (0..20).for_each(|_| node.wait(2_000));
    assert_eq!(node.checkpoints.deadline(), None);
    let (pieces, manifests) = (node.pieces(), node.manifests());
    (0..20).for_each(|_| node.wait(2_000));
    assert_eq!((node.pieces(), node.manifests()), (pieces, manifests));
}

#[test]
fn a_log_that_begins_anew_waits_until_the_old_manifests_are_gone() {
    let mut node = durable();
    node.job();
    let found: Vec<(FileName, u64)> = node.files.keys().map(|name| (*name, 1)).collect();
    let mut next = Node::new(view(true));
    next.files = std::mem::take(&mut node.files);
    next.checkpoints.find(&found);
    next.checkpoints.clear();
    assert!(!next.checkpoints.is_clear());
    next.emptied.clear();
    next.run();
    assert!(next.checkpoints.is_clear() && next.files.is_empty(), "{:?}", next.files.keys());
    // The loss of power would bring them back without anything in them.
    let manifests: BTreeSet<FileName> =
        found.iter().map(|(name, _)| *name).filter(|name| matches!(name, FileName::Manifest(_))).collect();
    assert_eq!(next.emptied, manifests);
    // A file that comes back is not taken for a new one.
    let last = node.checkpoints.next_file;
    next.job();
    assert!(next.pieces().iter().all(|number| *number >= last - 1), "{:?}", next.pieces());
}

#[test]
fn a_log_without_manifests_is_clear() {
    let mut node = Node::new(view(true));
    node.checkpoints.clear();
    assert!(node.checkpoints.is_clear());
}
