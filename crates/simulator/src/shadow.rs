//! Copies of disks that are restored aside, at any moment, and held against the memory of their nodes.
//!
//! A copy is a disk whose process was just killed, or whose machine has lost power. It is read as a starting node
//! reads it: manifests, log, checkpoints, replay. The node goes on and knows nothing of it.
//!
//! With `e` the newest epoch that the copy can be brought to:
//! - it is at least what the node has said to be flushed, nothing is damaged, and no checkpoint is above it;
//! - each row whose newest committed version in memory is not above `e` is there, with that version and no other;
//! - each row that is there is also in memory, in that version or a newer one, unless it was deleted since. When
//!   nobody works any more, nothing was deleted since: both are equal;
//! - behind a mark whole(e) no entry has an epoch up to e (I9).
//!
//! Invariants: the world is not changed, and its draws are not touched: what is drawn here comes from its clock.
//!
//! Deliberately not here: disks with faults. They have lost what they said they have.

use crate::check::cluster::Contents;
use crate::disk::Disk;
use crate::world::{World, small_memory};
use durability::block::PAGE_SIZE;
use durability::{
    Block, CheckpointReader, Content, FileHeader, Found, LogReader, ManifestScan, Manifests, Mark, Scan,
};
use memory::Guard;
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, FileName};
use query::{Loader, Shares};
use std::collections::{BTreeMap, BTreeSet};
use stdx::{Prng, hash64};
use types::{Epoch, Incarnation, NodeId, SlotId, TableId};

/// The name of every simulated cluster.
const CLUSTER: &str = "simulated";
/// Virtual milliseconds between two looks, at most.
const PAUSE_MS: u64 = 1_500;
/// All slots but that of the system tables are loaded by one loader.
const SHARES: Shares = Shares { ldms: 1, replicas: 1 };

/// Whether clients still work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Rows are changed and deleted.
    Busy,
    /// All that was done is flushed.
    Quiet,
}

/// Versions of rows: their epochs and hashes.
type Rows = BTreeMap<Box<[u8]>, (Epoch, u64)>;

/// Lets the world go on for so many virtual milliseconds, and looks at its disks now and then.
pub fn run_watched(
    world: &mut World,
    milliseconds: u64,
    spared: &BTreeSet<NodeId>,
    mut is_done: impl FnMut(&mut World) -> bool,
) -> Result<(), String> {
    let pause = |world: &World| draw(world).below(PAUSE_MS * 1_000_000);
    let mut next = world.now() + pause(world);
    let mut checked = Ok(());
    world.run_until(milliseconds, |world| {
        if world.now() >= next {
            checked = check(world, Moment::Busy, spared);
            next = world.now() + pause(world);
        }
        checked.is_err() || is_done(world)
    });
    checked
}

/// Restores copies of the disks of all data nodes that run, but for some.
pub fn check(world: &mut World, moment: Moment, spared: &BTreeSet<NodeId>) -> Result<(), String> {
    let Some(file_size) = world.redo_file_size() else { return Ok(()) };
    let mut prng = draw(world);
    let mut count = 0;
    for (node, flushed) in world.flushed() {
        let Some(disk) = world.disk(node).filter(|_| flushed > Epoch(0) && !spared.contains(&node)) else {
            continue;
        };
        let mut copy = disk.clone();
        copy.end_process(&mut prng);
        if prng.chance(1, 2) {
            copy.lose_power(&mut prng);
        }
        let shadow = Shadow { disk: copy, node, file_size };
        shadow.check(world, flushed, moment).map_err(|why| format!("the disk of node {node}: {why}"))?;
        count += 1;
    }
    *world.injected.entry("disks restored aside").or_insert(0) += count;
    Ok(())
}

/// Draws that no other draw depends on.
fn draw(world: &World) -> Prng {
    Prng::new(world.now() ^ world.steps().rotate_left(32))
}

/// A copy of a disk.
struct Shadow {
    disk: Disk,
    node: NodeId,
    file_size: u64,
}

impl Shadow {
    fn run(&mut self, operation: DiskOperation) -> Result<DiskAnswer, DiskError> {
        self.disk.run(DiskLane::Bulk, operation)
    }

    fn check(mut self, world: &World, told: Epoch, moment: Moment) -> Result<(), String> {
        self.check_marks()?;
        let files = match self.run(DiskOperation::List) {
            Ok(DiskAnswer::Files(files)) => files,
            other => return Err(format!("its files cannot be listed: {other:?}")),
        };
        let manifests = self.manifests(&files)?;
        let found = self.log(&manifests, &files)?;
        let point = found.points().next().copied().ok_or("it holds nothing that counts")?;
        let whole = point.claim.flushed;
        if found.is_damaged {
            return Err(format!("its log lacks something that was flushed, from block {} on", found.end.0));
        }
        // Some slots have no manifest while the first ones are written: the log is whole then.
        if !manifests.are_of(&found) {
            return Err("its checkpoints are not of its log".to_owned());
        }
        if whole < told {
            return Err(format!("epoch {told} was said to be flushed, and {whole} is the newest there"));
        }
        if manifests.low() > whole {
            return Err(format!("a checkpoint has epoch {}, and {whole} is the newest", manifests.low()));
        }
        let mut loaders = [None, Some(0)].map(|ldm| Loader::new(small_memory(), SHARES, ldm));
        for (slot, fragment) in manifests.fragments() {
            let from = durability::Position(fragment.position);
            loaders.iter_mut().for_each(|loader| loader.expect((fragment.table, slot), from));
        }
        for reader in manifests.readers() {
            self.load_checkpoint(reader, &mut loaders)?;
        }
        let mut replay = found.replay(&point, whole, manifests.required());
        while let Some(operation) = replay.poll() {
            let slice = replay.on_done(self.run(operation)).map_err(|error| error.0)?;
            for loader in &mut loaders {
                loader.load_log(&slice).map_err(|full| format!("{} is full", full.name()))?;
            }
        }
        let contents = Contents::of_ldms(world.ldms_of(self.node));
        for (place, in_memory) in rows_of(contents) {
            compare(&in_memory, &loaded(&loaders, place), whole, moment)
                .map_err(|why| format!("table {} slot {}, epoch {whole}: {why}", place.0, place.1))?;
        }
        Ok(())
    }

    fn manifests(&mut self, files: &[(FileName, u64)]) -> Result<Manifests, String> {
        let mut scan = ManifestScan::new(CLUSTER, self.node, files);
        while let Some(operation) = scan.poll() {
            scan.on_done(self.run(operation)).map_err(|error| format!("{error:?}"))?;
        }
        Ok(scan.finish())
    }

    fn log(&mut self, manifests: &Manifests, files: &[(FileName, u64)]) -> Result<Found, String> {
        let (cluster, node, file_size) = (CLUSTER.to_owned(), self.node, self.file_size);
        let reader = LogReader { cluster, node, file_size, required: manifests.required() };
        let mut scan = Scan::new(reader, files);
        while let Some(operation) = scan.poll() {
            scan.on_done(self.run(operation)).map_err(|error| format!("{error:?}"))?;
        }
        Ok(scan.finish())
    }

    fn load_checkpoint(
        &mut self,
        mut reader: CheckpointReader,
        loaders: &mut [Loader; 2],
    ) -> Result<(), String> {
        let index = usize::from(SHARES.ldm_of(reader.fragment().0).is_some());
        while let Some(operation) = reader.poll() {
            let mut loaded = Ok(());
            reader
                .on_done(self.run(operation), |piece| {
                    if loaded.is_ok() {
                        loaded = loaders[index].load_piece(piece);
                    }
                })
                .map_err(|error| error.0)?;
            loaded.map_err(|full| format!("{} is full", full.name()))?;
        }
        Ok(())
    }

    /// No entry stands behind a mark that speaks for its epoch (I9). A member that joins gets older rows, and has no
    /// such mark.
    fn check_marks(&self) -> Result<(), String> {
        let mut logs: Vec<u64> = self.disk.files().filter_map(number_of_log).collect();
        logs.sort_unstable();
        let (mut whole, mut life, mut next) = (Epoch(0), Incarnation(0), 0);
        for number in logs {
            let bytes = self.disk.bytes(FileName::Redo(number));
            let page = bytes.get(..PAGE_SIZE).unwrap_or_default();
            let Ok(header) = FileHeader::decode(page, number, CLUSTER, self.node) else { continue };
            if (header.lineage, header.first) != (life, next) {
                (whole, life, next) = (Epoch(0), header.lineage, header.first);
            }
            let mut rest = bytes.get(PAGE_SIZE..).unwrap_or_default();
            while let Ok(block) = Block::decode(rest) {
                if block.heading.file != number || block.heading.position.0 != next {
                    break;
                }
                match block.content {
                    Content::Mark(Mark::Whole { epoch, .. } | Mark::Restored { cut: epoch, .. }) => {
                        whole = epoch;
                    }
                    Content::Mark(Mark::Joining { .. }) => whole = Epoch(0),
                    Content::Mark(Mark::Joined) => {}
                    Content::Entries { .. } => {
                        let late = block.entries().flatten().find(|entry| entry.epoch <= whole);
                        if let Some(entry) = late {
                            let (table, epoch) = (entry.table, entry.epoch);
                            return Err(format!("epoch {epoch} of table {table} is behind whole({whole})"));
                        }
                    }
                }
                next += 1;
                rest = rest.get(block.size()..).unwrap_or_default();
            }
        }
        Ok(())
    }
}

fn number_of_log(file: FileName) -> Option<u64> {
    match file {
        FileName::Redo(number) => Some(number),
        FileName::ControlLog
        | FileName::RedoSpare(_)
        | FileName::Manifest(_)
        | FileName::Piece(_)
        | FileName::Claim
        | FileName::Scratch(_) => None,
    }
}

/// The rows of each fragment in memory: the newest committed versions. The hash of one below an undecided version is 0.
fn rows_of(contents: Contents) -> BTreeMap<(TableId, SlotId), Rows> {
    let Contents { replicas, mut epochs, .. } = contents;
    let mut all = BTreeMap::new();
    for (place, digests) in replicas {
        let hashes: BTreeMap<Box<[u8]>, u64> = digests.into_iter().flatten().collect();
        let stamps = epochs.remove(&place).into_iter().flatten().flatten();
        let versions = stamps.map(|(key, epoch)| {
            let hash = hashes.get(&key).copied().unwrap_or(0);
            (key, (epoch, hash))
        });
        all.insert(place, versions.collect());
    }
    all
}

fn loaded(loaders: &[Loader], place: (TableId, SlotId)) -> Rows {
    let guard = Guard::enter();
    let of_loader = |loader: &Loader| {
        let reader = loader.fragment(place).map(storage::Fragment::reader)?;
        let rows = reader.committed_rows(&guard, None);
        Some(rows.map(|row| (row.key.into(), (row.epoch, hash64(row.row)))).collect::<Rows>())
    };
    loaders.iter().filter_map(of_loader).flatten().collect()
}

/// Holds the rows that are restored to the end of an epoch against those in memory.
fn compare(memory: &Rows, restored: &Rows, whole: Epoch, moment: Moment) -> Result<(), String> {
    let is_same = |(epoch, hash): (Epoch, u64), (other, found): (Epoch, u64)| {
        epoch == other && (hash == found || hash == 0)
    };
    for (key, version) in memory.iter().filter(|(_, (epoch, _))| *epoch <= whole) {
        let there = restored.get(key).copied();
        if !there.is_some_and(|there| is_same(*version, there)) {
            return Err(format!("row {key:?} is {version:?} in memory, and {there:?} there"));
        }
    }
    for (key, there) in restored {
        let now = memory.get(key).copied();
        let is_older = match now {
            Some(now) => is_same(now, *there) || now.0 > there.0 && now.0 > whole,
            None => moment == Moment::Busy,
        };
        if there.0 > whole || !is_older {
            return Err(format!("row {key:?} is {there:?} there, and {now:?} in memory"));
        }
    }
    Ok(())
}
