use super::{Found, LogReader, Point, ReplayError, Scan, ScanError};
use crate::block::{Mark, OpenBlock, Position};
use crate::record::Entry;
use crate::simulated_disk::Disk;
use crate::writer::{LogEnd, LogIdentity, LogSize, Writer};
use protocol::control::GroupId;
use protocol::disk::{DiskOperation, FileName};
use protocol::{ClaimPoint, RestartPoint};
use stdx::Prng;
use types::{Epoch, Incarnation, NodeId, RestartNumber, SlotId, TableId};

const PAGE: u64 = 4_096;
/// Six blocks of a page.
const FILE_SIZE: u64 = 7 * PAGE;
pub(super) const NODE: NodeId = NodeId(4);

/// An entry as the tests compare it: epoch, key, row.
type Row = (u64, Vec<u8>, Option<Vec<u8>>);

fn reader() -> LogReader {
    LogReader { cluster: "shop".to_owned(), node: NODE, file_size: FILE_SIZE, required: Position(1) }
}

fn scan_as(disk: &mut Disk, reader: LogReader) -> Result<Found, ScanError> {
    let mut scan = Scan::new(reader, &disk.list());
    while let Some(operation) = scan.poll() {
        assert!(scan.poll().is_none(), "one read at a time");
        scan.on_done(disk.perform(operation))?;
    }
    assert!(scan.is_done());
    Ok(scan.finish())
}

/// Reads the log, and writes its tail again as every start does.
pub(super) fn scan(disk: &mut Disk) -> Found {
    let found = scan_as(disk, reader()).expect("the log is ours");
    let mut rewrite = found.rewrite();
    while let Some(operation) = rewrite.poll() {
        rewrite.on_done(disk.perform(operation)).expect("the disk does not fail");
    }
    assert!(rewrite.is_done());
    found
}

fn newest(found: &Found) -> Point {
    *found.points().next().expect("there is a point")
}

fn replayed(found: &Found, point: &Point, cut: u64, disk: &mut Disk) -> Result<Vec<Row>, ReplayError> {
    let mut replay = found.replay(point, Epoch(cut), Position(1));
    let mut rows = Vec::new();
    while let Some(operation) = replay.poll() {
        let slice = replay.on_done(disk.perform(operation))?;
        let row =
            |(_, entry): (_, Entry<'_>)| (entry.epoch.0, entry.key.to_vec(), entry.row.map(<[u8]>::to_vec));
        rows.extend(slice.entries().map(row));
    }
    assert!(replay.is_done());
    Ok(rows)
}

/// A life of a node, and what it has logged.
pub(super) struct Life {
    writer: Writer,
    pub(super) disk: Disk,
    /// All that the chain has, and what the node would give for each epoch: blocks, caps.
    logged: Vec<(Position, Vec<Row>)>,
    caps: Vec<(Position, u64)>,
}

fn identity(life: u32, restart: RestartPoint) -> LogIdentity {
    let (cluster, founding) = ("shop".to_owned(), GroupId(7));
    LogIdentity { cluster, founding, node: NODE, lineage: Incarnation(life), restart }
}

impl Life {
    fn first() -> Self {
        let end = LogEnd { next_file: 1, ..LogEnd::default() };
        Self::begin(1, Disk::default(), RestartPoint::default(), end)
    }

    pub(super) fn begin(life: u32, disk: Disk, restart: RestartPoint, end: LogEnd) -> Self {
        let size = LogSize { file: FILE_SIZE, space: 100 * FILE_SIZE };
        let writer = Writer::new(identity(life, restart), size, end);
        Self { writer, disk, logged: Vec::new(), caps: Vec::new() }
    }

    /// Goes on behind a point in another life.
    pub(super) fn again(self, life: u32, found: &Found, point: &Point, restart: RestartPoint) -> Self {
        let Self { disk, logged, caps, .. } = self;
        let mut next = Self::begin(life, disk, restart, found.end_at(Some(point)));
        next.logged = logged.into_iter().filter(|(position, _)| *position < point.end).collect();
        next.caps = caps.into_iter().filter(|(position, _)| *position < point.end).collect();
        next
    }

    fn put(&mut self, rows: &[Row]) {
        let mut open = OpenBlock::new(0);
        for (epoch, key, row) in rows {
            let (slot, table) = (SlotId(1), TableId(2));
            let entry = Entry { slot, table, epoch: Epoch(*epoch), key, row: row.as_deref() };
            assert_eq!(open.append(&entry), None, "the rows of a test fit a block");
        }
        let position = self.writer.push(open.seal().expect("it has rows"));
        self.logged.push((position, rows.to_vec()));
    }

    /// A row of one page.
    pub(super) fn put_one(&mut self, epoch: u64) {
        self.put(&[(epoch, epoch.to_be_bytes().to_vec(), Some(b"row".to_vec()))]);
    }

    pub(super) fn whole(&mut self, epoch: u64) {
        self.writer.mark(Mark::Whole { epoch: Epoch(epoch), closed_at_us: epoch * 10 });
    }

    pub(super) fn restored(&mut self, cut: u64) {
        let position = self.writer.mark(Mark::Restored { cut: Epoch(cut), closed_at_us: cut * 10 });
        self.caps.push((position, cut));
    }

    fn joining(&mut self, base: u64) {
        let position = self.writer.mark(Mark::Joining { base: Epoch(base) });
        self.caps.push((position, base));
    }

    /// Does at most so many requests.
    fn run(&mut self, limit: usize) {
        for _ in 0..limit {
            let Some(request) = self.writer.poll() else { return };
            let result = self.disk.perform(request.operation);
            self.writer.on_done(request.ticket, result).expect("the disk does not fail");
        }
    }

    pub(super) fn flush(&mut self) {
        self.writer.flush();
        self.run(usize::MAX);
        assert_eq!(self.writer.flushed(), self.writer.next());
    }

    /// The entries that a point and a cut leave, by the plain definition.
    fn expected(&self, point: &Point, cut: u64) -> Vec<Row> {
        let mut rows = Vec::new();
        for (position, logged) in self.logged.iter().filter(|(position, _)| *position < point.end) {
            let caps = self.caps.iter().filter(|(at, _)| at > position && *at < point.end);
            let cap = caps.map(|(_, epoch)| *epoch).min().unwrap_or(u64::MAX).min(cut);
            rows.extend(logged.iter().filter(|(epoch, ..)| *epoch <= cap).cloned());
        }
        rows
    }

    fn check(&mut self, found: &Found) {
        let point = newest(found);
        let flushed = point.claim.flushed.0;
        let rows = replayed(found, &point, flushed, &mut self.disk).expect("the log can be read");
        assert_eq!(rows, self.expected(&point, flushed));
    }
}

fn restart(number: u32, cut: u64) -> RestartPoint {
    RestartPoint { number: RestartNumber(number), cut: Epoch(cut), first: Epoch(cut + 1_000) }
}

fn claimed(restart: u32, life: u32, flushed: u64) -> ClaimPoint {
    ClaimPoint {
        restart: RestartNumber(restart),
        lineage: Incarnation(life),
        flushed: Epoch(flushed),
        closed_at_us: flushed * 10,
        low: Epoch(0),
    }
}

/// Blocks 1 to 9 in two files, all flushed: entries 11, 12, whole(12), 13, 14, whole(14), 15, whole(15), 16.
pub(super) fn nine_blocks() -> Life {
    let mut life = Life::first();
    life.run(1);
    for epoch in [11, 12, 0, 13, 14, 0, 15, 0, 16] {
        if epoch == 0 {
            let (_, rows) = life.logged.last().expect("rows came before");
            let epoch = rows[0].0;
            life.whole(epoch);
        } else {
            life.put_one(epoch);
        }
        life.flush();
    }
    life
}

#[test]
fn an_empty_disk_has_no_points() {
    let found = scan(&mut Disk::default());
    let claim = found.claim(Epoch(0));
    assert_eq!((claim.points, claim.is_damaged, claim.founding), (Vec::new(), false, GroupId(0)));
    assert_eq!(found.end_at(None), LogEnd { next: Position(1), next_file: 1, ..LogEnd::default() });
}

/// The process may have died when one spare was to be renamed and the next one was there already.
#[test]
fn only_the_spare_of_the_next_file_is_used() {
    let mut life = nine_blocks();
    let spare = |number| DiskOperation::Prepare { file: FileName::RedoSpare(number), size: FILE_SIZE };
    life.disk.perform(spare(4)).expect("there is room");
    assert_eq!(scan(&mut life.disk).end_at(None).spare, Some(FileName::RedoSpare(3)));
    life.disk.perform(DiskOperation::Remove { file: FileName::RedoSpare(3) }).expect("it is there");
    assert_eq!(scan(&mut life.disk).end_at(None).spare, None);
}

#[test]
fn the_last_whole_epoch_is_the_point_and_what_is_behind_it_goes() {
    let mut life = nine_blocks();
    let found = scan(&mut life.disk);
    let claim = found.claim(Epoch(0));
    assert_eq!(claim.points, [claimed(0, 1, 15)]);
    assert_eq!((claim.is_damaged, claim.founding), (false, GroupId(7)));
    let point = newest(&found);
    assert_eq!((point.end, found.end), (Position(9), Position(10)));
    assert_eq!(found.chosen(&claimed(0, 1, 13)), Some(point), "a cut may have lowered it");
    assert_eq!(found.chosen(&claimed(1, 1, 15)), None);
    let epochs = |rows: Vec<Row>| rows.iter().map(|(epoch, ..)| *epoch).collect::<Vec<_>>();
    assert_eq!(epochs(replayed(&found, &point, 99, &mut life.disk).unwrap()), [11, 12, 13, 14, 15]);
    assert_eq!(epochs(replayed(&found, &point, 13, &mut life.disk).unwrap()), [11, 12, 13]);
}

#[test]
fn replay_begins_where_the_checkpoints_end() {
    let mut life = nine_blocks();
    // The first file, with blocks 1 to 6, is not there any more: the checkpoints do not need it.
    life.disk.perform(DiskOperation::Remove { file: FileName::Redo(1) }).expect("it is there");
    let required = |position| LogReader { required: Position(position), ..reader() };
    let found = scan_as(&mut life.disk, required(8)).expect("the log is ours");
    assert_eq!((found.claim(Epoch(0)).points, found.is_damaged), (vec![claimed(0, 1, 15)], false));
    let mut replay = found.replay(&newest(&found), Epoch(99), Position(8));
    let mut count = 0;
    while let Some(operation) = replay.poll() {
        count += replay.on_done(life.disk.perform(operation)).expect("it can be read").entries().count();
    }
    assert_eq!(count, 0, "block 8 is a mark");
    // Something is missing for checkpoints that need block 6, and for a disk without any.
    for position in [1, 6] {
        let found = scan_as(&mut life.disk, required(position)).expect("the log is ours");
        assert_eq!((found.claim(Epoch(0)).points, found.is_damaged), (vec![], true));
    }
    // The log ends before what the checkpoints need.
    let found = scan_as(&mut nine_blocks().disk, required(11)).expect("the log is ours");
    assert_eq!((found.claim(Epoch(0)).points, found.is_damaged), (vec![], true));
}

/// Two blocks were being written, and only the second one reached the disk.
pub(crate) fn a_torn_end_is_cut_off() {
    let mut life = nine_blocks();
    life.put_one(17);
    life.whole(17);
    life.writer.flush();
    let requests: Vec<_> = std::iter::from_fn(|| life.writer.poll()).collect();
    for request in requests {
        if let DiskOperation::Write { file, offset, bytes, .. } = request.operation {
            let unsynced = DiskOperation::Write { file, offset, bytes, sync: false };
            life.disk.perform(unsynced).expect("the file is there");
        }
    }
    // The first sector of a block has its header: of the two pages only the second one stays.
    let mut sectors = Vec::new();
    life.disk.clone().keep_sectors(|_, sector| {
        sectors.push(sector);
        true
    });
    let first = sectors[0];
    life.disk.keep_sectors(|_, sector| sector >= first + 8);
    let found = scan(&mut life.disk);
    assert_eq!((found.end, found.is_damaged), (Position(10), false));
    assert_eq!(newest(&found).claim, claimed(0, 1, 15));
    life.check(&found);
}

/// A block that had been flushed is bad, and a later one says so.
pub(crate) fn a_bad_block_before_the_flushed_position_is_damage() {
    let mut life = nine_blocks();
    // Block 4 with the row of epoch 13, in the fifth page of the first file.
    life.disk.bytes(FileName::Redo(1))[4 * 4_096 + 100] ^= 4;
    let found = scan(&mut life.disk);
    assert_eq!((found.end, found.is_damaged), (Position(4), true));
    assert_eq!(found.claim(Epoch(0)).points, [claimed(0, 1, 12)]);
    life.check(&found);
}

/// The process died between a write and its sync, and the power goes later.
pub(crate) fn a_tail_that_was_found_survives_a_loss_of_power() {
    let mut life = nine_blocks();
    life.put_one(17);
    life.whole(17);
    life.writer.flush();
    let request = life.writer.poll().expect("a write");
    let DiskOperation::Write { file, offset, bytes, .. } = request.operation else { panic!("a write") };
    let unsynced = DiskOperation::Write { file, offset, bytes, sync: false };
    life.disk.perform(unsynced).expect("the file is there");
    let found = scan(&mut life.disk);
    assert_eq!(newest(&found).claim, claimed(0, 1, 17));
    life.disk.keep_sectors(|_, _| false);
    let again = scan(&mut life.disk);
    assert_eq!(newest(&again).claim, claimed(0, 1, 17), "it was counted, so it has to be there");
    life.check(&again);
}

/// A life goes on behind whole(15); the entry of epoch 16 behind it stays away for ever.
pub(crate) fn the_tail_that_a_life_left_behind_does_not_come_back() {
    let life = nine_blocks();
    let mut disk = life.disk.clone();
    let found = scan(&mut disk);
    let point = newest(&found);
    let mut life = Life { disk, ..life }.again(2, &found, &point, restart(1, 14));
    life.restored(14);
    life.flush();
    let found = scan(&mut life.disk);
    let claim = found.claim(Epoch(0));
    assert_eq!(claim.points, [claimed(1, 2, 14), claimed(0, 1, 15)], "the restart may not be recorded");
    life.check(&found);
    life.put_one(1_014);
    life.whole(1_014);
    life.flush();
    let found = scan(&mut life.disk);
    assert_eq!(found.claim(Epoch(0)).points, [claimed(1, 2, 1_014)]);
    let point = newest(&found);
    let rows = replayed(&found, &point, 2_000, &mut life.disk).expect("the log can be read");
    let epochs: Vec<u64> = rows.iter().map(|(epoch, ..)| *epoch).collect();
    assert_eq!(epochs, [11, 12, 13, 14, 1_014]);
}

#[test]
fn directed_cases_of_the_end_of_a_log() {
    a_torn_end_is_cut_off();
    a_bad_block_before_the_flushed_position_is_damage();
    a_tail_that_was_found_survives_a_loss_of_power();
    the_tail_that_a_life_left_behind_does_not_come_back();
    what_was_held_before_joining_counts_until_more_is_durable();
}

#[test]
fn a_restart_that_was_not_recorded_leaves_the_point_before_it() {
    let life = nine_blocks();
    let mut disk = life.disk.clone();
    let found = scan(&mut disk);
    let point = newest(&found);
    let mut life = Life { disk, ..life }.again(2, &found, &point, restart(1, 12));
    life.restored(12);
    life.flush();
    let found = scan(&mut life.disk);
    // Another plan was recorded: the older point counts, and the mark of the void plan goes.
    let point = found.chosen(&claimed(0, 1, 14)).expect("the older point is there");
    let mut life = life.again(3, &found, &point, restart(1, 14));
    life.restored(14);
    life.flush();
    let found = scan(&mut life.disk);
    assert_eq!(found.claim(Epoch(0)).points, [claimed(1, 3, 14), claimed(0, 1, 15)]);
    let rows = replayed(&found, &newest(&found), 99, &mut life.disk).expect("the log can be read");
    let epochs: Vec<u64> = rows.iter().map(|(epoch, ..)| *epoch).collect();
    assert_eq!(epochs, [11, 12, 13, 14]);
}

#[test]
fn nothing_counts_between_joining_and_the_first_whole_epoch_in_sync() {
    let life = nine_blocks();
    let mut disk = life.disk.clone();
    let found = scan(&mut disk);
    let point = newest(&found);
    let mut life = Life { disk, ..life }.again(2, &found, &point, RestartPoint::default());
    life.joining(13);
    life.put_one(14);
    life.whole(20);
    life.put_one(21);
    life.flush();
    let found = scan(&mut life.disk);
    assert_eq!(found.claim(Epoch(0)).points, [claimed(0, 1, 15)], "still the state of the life before");
    life.check(&found);
    life.writer.mark(Mark::Joined);
    life.flush();
    let found = scan(&mut life.disk);
    assert_eq!(found.claim(Epoch(0)).points, [claimed(0, 1, 15)]);
    life.whole(22);
    life.flush();
    let found = scan(&mut life.disk);
    let joined = ClaimPoint { low: Epoch(22), ..claimed(0, 2, 22) };
    assert_eq!(found.claim(Epoch(0)).points[0], joined, "older versions of what was copied are missing");
    let rows = replayed(&found, &newest(&found), 99, &mut life.disk).expect("the log can be read");
    let epochs: Vec<u64> = rows.iter().map(|(epoch, ..)| *epoch).collect();
    assert_eq!(epochs, [11, 12, 13, 14, 21], "what was above the base before it is void");
}

/// A node joins without using what it holds, and is in sync. It is restorable a moment later only.
pub(crate) fn what_was_held_before_joining_counts_until_more_is_durable() {
    let life = nine_blocks();
    let mut disk = life.disk.clone();
    let found = scan(&mut disk);
    let point = newest(&found);
    let mut life = Life { disk, ..life }.again(2, &found, &point, RestartPoint::default());
    life.joining(0);
    life.put_one(21);
    life.writer.mark(Mark::Joined);
    life.whole(22);
    life.put_one(23);
    life.whole(23);
    life.flush();
    let joined = |flushed| ClaimPoint { low: Epoch(22), ..claimed(0, 2, flushed) };
    let found = scan(&mut life.disk);
    assert_eq!(found.claim(Epoch(0)).points, [joined(23), claimed(0, 1, 15)]);
    let before = *found.points().nth(1).expect("the point of the life before");
    let epochs = |rows: Vec<Row>| rows.iter().map(|(epoch, ..)| *epoch).collect::<Vec<_>>();
    assert_eq!(epochs(replayed(&found, &before, 99, &mut life.disk).unwrap()), [11, 12, 13, 14, 15]);
    assert_eq!(epochs(replayed(&found, &newest(&found), 99, &mut life.disk).unwrap()), [21, 23]);
    // The older point was chosen: what the node wrote since is gone for good.
    let mut other = Life { disk: life.disk.clone(), ..Life::first() };
    other = other.again(3, &found, &before, restart(1, 15));
    other.restored(15);
    other.flush();
    assert_eq!(scan(&mut other.disk).claim(Epoch(0)).points, [claimed(1, 3, 15), claimed(0, 1, 15)]);
    // More is durable than it held.
    life.writer.set_durable(Epoch(22));
    life.put_one(24);
    life.whole(24);
    life.flush();
    assert_eq!(scan(&mut life.disk).claim(Epoch(0)).points, [joined(24)]);
}

#[test]
fn the_epoch_known_to_be_durable_is_claimed_even_from_behind_damage() {
    let mut life = nine_blocks();
    life.writer.set_durable(Epoch(14));
    life.put_one(18);
    life.flush();
    life.disk.bytes(FileName::Redo(1))[4_096 + 100] ^= 1;
    let claim = scan(&mut life.disk).claim(Epoch(5));
    assert_eq!((claim.points, claim.durable, claim.low), (vec![], Epoch(14), Epoch(5)));
    assert!(claim.is_damaged);
}

#[test]
fn files_of_somebody_else_are_refused() {
    let mut life = nine_blocks();
    for (reader, text) in [
        (LogReader { cluster: "bank".to_owned(), ..reader() }, "cluster \"shop\", not to \"bank\""),
        (LogReader { node: NodeId(5), ..reader() }, "belongs to node 4, not to node 5"),
    ] {
        match scan_as(&mut life.disk, reader) {
            Err(ScanError::Foreign(refusal)) => assert!(refusal.contains(text), "{refusal}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_block_that_rots_after_the_scan_ends_the_replay() {
    let mut life = nine_blocks();
    let found = scan(&mut life.disk);
    life.disk.bytes(FileName::Redo(1))[2 * 4_096] ^= 1;
    let replayed = replayed(&found, &newest(&found), 99, &mut life.disk);
    assert_eq!(replayed, Err(ReplayError("block 2 of the redo log cannot be read any more".to_owned())));
}

/// One step of a life: blocks of some epochs, marks, flushes, requests of the disk.
fn step(life: &mut Life, random: &mut Prng, epoch: &mut u64) {
    match random.below(10) {
        0..5 => {
            let count = 1 + random.below(6);
            let rows = (0..count).map(|_| {
                let row = (random.below(4) > 0).then(|| vec![7; random.index(2_500)]);
                (*epoch + 1 + random.below(3), random.below(9).to_be_bytes().to_vec(), row)
            });
            let rows: Vec<Row> = rows.collect();
            life.put(&rows);
        }
        5 => {
            *epoch += 3;
            life.whole(*epoch);
        }
        6 => life.writer.set_durable(life.writer.flushed_epoch()),
        7 => life.writer.flush(),
        _ => life.run(random.index(6)),
    }
}

/// Any prefix of the requests was done. The process died or the power went, and then any sectors that were not synced
/// got lost. The log is whole up to an epoch that is at least the one that was said to be flushed.
#[test]
fn whatever_is_lost_the_log_comes_back_to_a_whole_epoch() {
    for seed in 0..300 {
        let mut random = Prng::new(seed);
        let mut life = Life::first();
        let mut epoch = 10;
        let mut promised = 0;
        for number in 1..5 {
            for _ in 0..random.below(60) {
                step(&mut life, &mut random, &mut epoch);
            }
            promised = life.writer.flushed_epoch().0.max(promised);
            if random.chance(2, 3) {
                life.disk.lose_power(&mut random);
            }
            let found = scan(&mut life.disk);
            assert!(!found.is_damaged, "seed {seed}: {found:?}");
            let Some(point) = found.points().next().copied() else {
                assert_eq!(promised, 0, "seed {seed}");
                let end = found.end_at(None);
                life = Life::begin(number + 1, life.disk, RestartPoint::default(), end);
                continue;
            };
            let flushed = point.claim.flushed.0;
            assert!(flushed >= promised, "seed {seed}: {flushed} and not {promised}");
            life.check(&found);
            // A start that comes to nothing, and a loss of power: the same log.
            if random.chance(1, 2) {
                life.disk.lose_power(&mut random);
            }
            let again = scan(&mut life.disk);
            assert_eq!((again.points().next(), again.is_damaged), (Some(&point), false), "seed {seed}");
            let cut = flushed - random.below(2).min(flushed);
            let restart = restart(number, cut);
            life = life.again(number + 1, &again, &point, restart);
            life.restored(cut);
            epoch = restart.first.0;
            promised = cut;
            if random.chance(1, 2) {
                life.run(usize::MAX);
                life.flush();
            }
        }
    }
}

/// A bit flips in a log that had been flushed. The log comes back to a whole epoch, with the entries that belong to it.
/// A point that is missing is known to be missing, unless it may have been the torn end.
#[test]
fn a_flipped_bit_is_never_a_wrong_entry() {
    for seed in 0..40 {
        let mut random = Prng::new(seed);
        let mut life = Life::first();
        let mut epoch = 10;
        for _ in 0..60 {
            step(&mut life, &mut random, &mut epoch);
        }
        let flushed = life.writer.flushed();
        life.whole(epoch + 3);
        life.flush();
        let good = scan(&mut life.disk);
        let names: Vec<FileName> = life.disk.list().iter().map(|(name, _)| *name).collect();
        for _ in 0..60 {
            let name = names[random.index(names.len())];
            let bytes = life.disk.bytes(name);
            let (at, bit) = (random.index(bytes.len()), 1 << random.below(8));
            bytes[at] ^= bit;
            let found = scan_as(&mut life.disk, reader()).expect("the log is ours");
            if found.points().next() == good.points().next() {
                life.check(&found);
            } else {
                // Nobody said of the blocks of the last flush that they were on disk.
                assert!(found.is_damaged || found.end >= flushed, "seed {seed}, {name} at {at}");
                if found.points().next().is_some() {
                    life.check(&found);
                }
            }
            life.disk.bytes(name)[at] ^= bit;
        }
    }
}

#[test]
fn any_files_give_a_log_or_a_refusal() {
    for seed in 0..200 {
        let mut random = Prng::new(seed);
        let mut disk = nine_blocks().disk;
        let names: Vec<FileName> = disk.list().iter().map(|(name, _)| *name).collect();
        for _ in 0..random.below(20) {
            let bytes = disk.bytes(names[random.index(names.len())]);
            match random.below(3) {
                0 => bytes.truncate(random.index(bytes.len().max(1))),
                1 if bytes.len() > 4_096 => {
                    // A page of another place.
                    let (from, to) = (random.index(bytes.len() / 4_096), random.index(bytes.len() / 4_096));
                    bytes.copy_within(from * 4_096..(from + 1) * 4_096, to * 4_096);
                }
                _ => {
                    let at = random.index(bytes.len().max(1));
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = random.next_u64().to_le_bytes()[0];
                    }
                }
            }
        }
        let found = scan(&mut disk);
        for point in found.points() {
            assert!(replayed(&found, point, 99, &mut disk).is_ok(), "seed {seed}");
        }
    }
}
