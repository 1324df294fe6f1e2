//! The parts together: a fragment that is written and logged, checkpoints of it while it is written, losses of power,
//! and restarts. After each restart the fragment is what it was at the epoch that the log says, row by row.

use crate::block::{Mark, OpenBlock, Position};
use crate::manifest::{FragmentCheckpoint, Manifest};
use crate::piece::{Codec, Piece, PieceBuilder, PiecePlace, PieceRow, SealedPiece};
use crate::record::Entry;
use crate::recovery::{Found, LogReader, ManifestScan, Manifests, Scan};
use crate::simulated_disk::Disk;
use crate::writer::{LogEnd, LogIdentity, LogSize, Writer};
use memory::{Guard, MemoryConfig, MemoryManager};
use protocol::RestartPoint;
use protocol::control::GroupId;
use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::Prng;
use storage::{Fragment, FragmentDefinition};
use types::{COLLATION_VERSION, Epoch, Incarnation, NodeId, RestartNumber, SlotId, TableId, TransactionId};

const FILE_SIZE: u64 = 8 * 4_096;
const CLUSTER: &str = "shop";
const FOUNDING: GroupId = GroupId(7);
const NODE: NodeId = NodeId(4);
const SLOT: SlotId = SlotId(2);
const TABLE: TableId = TableId(3);
const KEYS: u64 = 60;
const WRITER: TransactionId = TransactionId(1);

/// All that was published of a key, oldest first: epochs, and rows or deletes.
type Versions = Vec<(u64, Option<Vec<u8>>)>;
type History = BTreeMap<Vec<u8>, Versions>;

/// A checkpoint that is being written.
struct Checkpoint {
    position: Position,
    builder: PieceBuilder,
    file: u64,
    offset: u64,
    rows: u64,
    last_key: Option<Vec<u8>>,
    /// Set when all rows are read.
    epoch: Option<u64>,
}

struct Node {
    memory: Arc<MemoryManager>,
    disk: Disk,
    fragment: Fragment,
    open: OpenBlock,
    writer: Writer,
    history: History,
    life: u32,
    /// The highest epoch of a commit, and the last one that is marked whole.
    newest: u64,
    whole: u64,
    checkpoint: Option<Checkpoint>,
    next_piece: u64,
    manifest: Option<Manifest>,
    /// Manifests and files that were used again, so that the test is known to meet them.
    manifests: u32,
}

fn bare(memory: &Arc<MemoryManager>) -> Fragment {
    Fragment::new(Arc::new(FragmentDefinition::bare(TABLE)), Arc::clone(memory))
}

fn writer(life: u32, restart: RestartPoint, end: LogEnd) -> Writer {
    let (cluster, lineage) = (CLUSTER.to_owned(), Incarnation(life));
    let identity = LogIdentity { cluster, founding: FOUNDING, node: NODE, lineage, restart };
    Writer::new(identity, LogSize { file: FILE_SIZE, space: 50 * FILE_SIZE }, end)
}

fn done(result: Result<DiskAnswer, DiskError>) {
    assert_eq!(result, Ok(DiskAnswer::Done));
}

impl Node {
    fn new() -> Self {
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
        Self {
            disk: Disk::default(),
            fragment: bare(&memory),
            memory,
            open: OpenBlock::new(0),
            writer: writer(1, RestartPoint::default(), LogEnd { next_file: 1, ..LogEnd::default() }),
            history: History::new(),
            life: 1,
            newest: 10,
            whole: 10,
            checkpoint: None,
            next_piece: 1,
            manifest: None,
            manifests: 0,
        }
    }

    fn run(&mut self, limit: usize) {
        for _ in 0..limit {
            let Some(request) = self.writer.poll() else { return };
            let result = self.disk.perform(request.operation);
            self.writer.on_done(request.ticket, result).expect("the disk does not fail");
        }
    }

    /// A commit of one row, in an epoch above the last whole one.
    fn publish(&mut self, random: &mut Prng) {
        let key = random.below(KEYS).to_be_bytes().to_vec();
        let history = self.history.entry(key.clone()).or_default();
        let least = history.last().map_or(0, |(epoch, _)| *epoch).max(self.whole + 1);
        let epoch = least + random.below(2);
        let row = random.chance(3, 4).then(|| vec![b'x'; random.index(900)]);
        if row.is_none() && self.fragment.committed(&key).is_none() {
            return;
        }
        let handle = self.fragment.stage(&key, WRITER, row.as_deref()).expect("there is memory");
        self.fragment.commit(handle, WRITER, Epoch(epoch));
        let entry = Entry { slot: SLOT, table: TABLE, epoch: Epoch(epoch), key: &key, row: row.as_deref() };
        if let Some(block) = self.open.append(&entry) {
            self.writer.push(block);
        }
        history.push((epoch, row));
        self.newest = self.newest.max(epoch);
    }

    fn seal(&mut self) {
        if let Some(block) = self.open.seal() {
            self.writer.push(block);
        }
    }

    fn mark_whole(&mut self) {
        self.seal();
        self.whole = self.newest;
        self.writer.mark(Mark::Whole { epoch: Epoch(self.whole), closed_at_us: 0 });
    }

    fn write_piece(&mut self, piece: Option<SealedPiece>) {
        let (Some(piece), Some(checkpoint)) = (piece, &mut self.checkpoint) else { return };
        let (file, offset) = (checkpoint.file, checkpoint.offset);
        let bytes = piece.finish(&PiecePlace { founding: FOUNDING, node: NODE, file, offset });
        checkpoint.offset += bytes.len() as u64;
        let file = FileName::Piece(file);
        done(self.disk.perform(DiskOperation::Write { file, offset, bytes, sync: false }));
    }

    /// Goes on with a checkpoint: first the position, then rows in slices, at the end the manifest.
    fn checkpoint(&mut self, random: &mut Prng) {
        let Some(checkpoint) = &mut self.checkpoint else {
            self.seal();
            let file = self.next_piece;
            self.next_piece += 1;
            done(self.disk.perform(DiskOperation::Prepare { file: FileName::Piece(file), size: 0 }));
            self.checkpoint = Some(Checkpoint {
                position: self.writer.next(),
                builder: PieceBuilder::new(SLOT, TABLE, Codec::Plain),
                file,
                offset: 0,
                rows: 0,
                last_key: None,
                epoch: None,
            });
            return;
        };
        if checkpoint.epoch.is_some() {
            return self.finish_checkpoint();
        }
        let count = 1 + random.index(30);
        let reader = self.fragment.reader();
        let guard = Guard::enter();
        let after = checkpoint.last_key.take();
        let mut taken = 0;
        for row in reader.committed_rows(&guard, after.as_deref()).take(count) {
            let piece = PieceRow { key: row.key, epoch: row.epoch, row: row.row };
            assert_eq!(checkpoint.builder.add(&piece), None, "the rows of a test fit one piece");
            checkpoint.last_key = Some(row.key.to_vec());
            checkpoint.rows += 1;
            taken += 1;
        }
        if taken < count {
            checkpoint.epoch = Some(self.newest);
            let piece = checkpoint.builder.seal();
            self.write_piece(piece);
        }
    }

    /// The manifest names only what is synced, and an epoch that the log cannot come back below.
    fn finish_checkpoint(&mut self) {
        let Some(checkpoint) = self.checkpoint.take() else { return };
        let epoch = Epoch(checkpoint.epoch.unwrap_or(0));
        if self.writer.flushed_epoch() < epoch {
            self.checkpoint = Some(checkpoint);
            return;
        }
        let file = FileName::Piece(checkpoint.file);
        done(self.disk.perform(DiskOperation::Sync { file }));
        let fragment = FragmentCheckpoint {
            table: TABLE,
            epoch,
            position: checkpoint.position.0,
            file: checkpoint.file,
            offset: 0,
            length: checkpoint.offset,
            pieces: checkpoint.builder.pieces(),
            rows: checkpoint.rows,
        };
        let manifest = Manifest {
            cluster: CLUSTER.to_owned(),
            collations: COLLATION_VERSION.to_owned(),
            founding: FOUNDING,
            node: NODE,
            lineage: Incarnation(self.life),
            slot: SLOT,
            slots: vec![SLOT],
            position: checkpoint.position.0,
            epoch,
            fragments: vec![fragment],
        };
        let file = FileName::Manifest(SLOT);
        done(self.disk.perform(DiskOperation::Replace { file, bytes: manifest.encode() }));
        if let Some(old) = self.manifest.replace(manifest) {
            done(self.disk.perform(DiskOperation::Remove { file: FileName::Piece(old.fragments[0].file) }));
        }
        self.writer.release(checkpoint.position);
        self.manifests += 1;
    }

    fn read_checkpoints(&mut self) -> Manifests {
        let mut scan = ManifestScan::new(CLUSTER, NODE, &self.disk.list());
        while let Some(operation) = scan.poll() {
            scan.on_done(self.disk.perform(operation)).expect("manifests are ours");
        }
        scan.finish()
    }

    fn scan(&mut self, required: Position) -> Found {
        let reader = LogReader { cluster: CLUSTER.to_owned(), node: NODE, file_size: FILE_SIZE, required };
        let mut scan = Scan::new(reader, &self.disk.list());
        while let Some(operation) = scan.poll() {
            scan.on_done(self.disk.perform(operation)).expect("the log is ours");
        }
        let found = scan.finish();
        let mut rewrite = found.rewrite();
        while let Some(operation) = rewrite.poll() {
            rewrite.on_done(self.disk.perform(operation)).expect("the disk does not fail");
        }
        found
    }

    /// Comes back from the disk as another life; the epoch that it came back to.
    fn restart(&mut self, life: u32, promised: u64) -> u64 {
        let checkpoints = self.read_checkpoints();
        let required = checkpoints.required();
        let found = self.scan(required);
        assert!(!found.is_damaged && checkpoints.are_of(&found));
        checkpoints.tidying().into_iter().for_each(|operation| done(self.disk.perform(operation)));
        self.manifest = checkpoints.manifests().next().cloned();
        let point = found.points().next().copied();
        let flushed = point.map_or(0, |point| point.claim.flushed.0);
        let low = checkpoints.low().0;
        assert!(flushed >= promised && flushed >= low, "{flushed}, {promised} was promised, low {low}");

        let mut fragment = bare(&self.memory);
        for mut reader in checkpoints.readers() {
            while let Some(operation) = reader.poll() {
                let load = |piece: &Piece<'_>| {
                    for row in piece.rows().map(|row| row.expect("it was checked")) {
                        fragment.load(row.key, row.epoch, Some(row.row)).expect("there is memory");
                    }
                };
                reader.on_done(self.disk.perform(operation), load).expect("the checkpoint is whole");
            }
        }
        if let Some(point) = &point {
            let mut replay = found.replay(point, Epoch(flushed), required);
            while let Some(operation) = replay.poll() {
                let slice = replay.on_done(self.disk.perform(operation)).expect("the log is whole");
                for (_, entry) in slice.entries() {
                    fragment.load(entry.key, entry.epoch, entry.row).expect("there is memory");
                }
            }
        }
        self.fragment = fragment;
        self.history.values_mut().for_each(|history| history.retain(|(epoch, _)| *epoch <= flushed));
        self.check();

        let first = self.newest.max(flushed) + 1_000;
        let restart = RestartPoint { number: RestartNumber(life), cut: Epoch(flushed), first: Epoch(first) };
        self.writer = writer(life, restart, found.end_at(point.as_ref()));
        self.writer.mark(Mark::Restored { cut: Epoch(flushed), closed_at_us: 0 });
        self.open = OpenBlock::new(0);
        self.checkpoint = None;
        (self.life, self.newest, self.whole) = (life, first, first);
        flushed
    }

    /// The fragment has the last of what is left of each key.
    fn check(&self) {
        let reader = self.fragment.reader();
        let guard = Guard::enter();
        let rows: Vec<(Vec<u8>, u64, Vec<u8>)> = reader
            .committed_rows(&guard, None)
            .map(|row| (row.key.to_vec(), row.epoch.0, row.row.to_vec()))
            .collect();
        let last = |(key, history): (&Vec<u8>, &Versions)| {
            let (epoch, row) = history.last()?;
            Some((key.clone(), *epoch, row.clone()?))
        };
        let expected: Vec<(Vec<u8>, u64, Vec<u8>)> = self.history.iter().filter_map(last).collect();
        assert_eq!(rows, expected);
    }
}

#[test]
fn a_fragment_comes_back_from_its_checkpoint_and_the_log() {
    let (mut manifests, mut recycled) = (0, 0);
    for seed in 0..60 {
        let mut random = Prng::new(seed);
        let mut node = Node::new();
        let mut promised = 0;
        for life in 2..7 {
            for _ in 0..random.below(600) {
                match random.below(20) {
                    0..9 => node.publish(&mut random),
                    9..11 => node.seal(),
                    11 => node.mark_whole(),
                    12 => node.writer.flush(),
                    13..15 => node.checkpoint(&mut random),
                    _ => node.run(random.index(5)),
                }
            }
            promised = node.writer.flushed_epoch().0.max(promised);
            if random.chance(2, 3) {
                node.disk.lose_power(&mut random);
            }
            promised = node.restart(life, promised);
            recycled += u32::from(!node.disk.list().iter().any(|(name, _)| *name == FileName::Redo(1)));
        }
        manifests += node.manifests;
    }
    assert!(manifests > 500 && recycled > 100, "{manifests} {recycled}");
}
