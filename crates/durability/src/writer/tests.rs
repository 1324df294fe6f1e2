use super::{EARLY_WRITE_SIZE, LogEnd, LogFailure, LogIdentity, LogLevel, LogSize, Writer};
use crate::block::{Block, Content, Mark, OpenBlock, Position, SealedBlock};
use crate::record::Entry;
use crate::simulated_disk::Disk;
use protocol::RestartPoint;
use protocol::control::GroupId;
use protocol::disk::{DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use types::{Epoch, Incarnation, NodeId, SlotId, TableId};

const PAGE: u64 = 4_096;

fn identity() -> LogIdentity {
    LogIdentity {
        cluster: "shop".to_owned(),
        founding: GroupId(7),
        node: NodeId(1),
        lineage: Incarnation(3),
        restart: RestartPoint::default(),
    }
}

/// Files of four pages, a header among them.
fn writer() -> Writer {
    let end = LogEnd { next_file: 1, ..LogEnd::default() };
    Writer::new(identity(), LogSize { file: 4 * PAGE, space: 10 * 4 * PAGE }, end)
}

fn block(size: usize) -> SealedBlock {
    let mut open = OpenBlock::new(0);
    let row = vec![5; size];
    let entry = Entry { slot: SlotId(1), table: TableId(2), epoch: Epoch(3), key: b"key", row: Some(&row) };
    assert_eq!(open.append(&entry), None);
    open.seal().expect("it has an entry")
}

fn polled(writer: &mut Writer) -> Vec<DiskRequest> {
    std::iter::from_fn(|| writer.poll()).collect()
}

/// Does everything that is asked for; the operations that were done, as text.
fn run(writer: &mut Writer, disk: &mut Disk) -> Vec<String> {
    let mut done = Vec::new();
    while let Some(request) = writer.poll() {
        done.push(text(&request));
        let result = disk.perform(request.operation);
        writer.on_done(request.ticket, result).expect("the disk does not fail");
    }
    done
}

fn text(request: &DiskRequest) -> String {
    match &request.operation {
        DiskOperation::Write { file, offset, bytes, sync } => {
            let sync = if *sync { ", sync" } else { "" };
            format!("write {file} at {} {} pages{sync}", offset / PAGE, bytes.len() as u64 / PAGE)
        }
        DiskOperation::Sync { file } => format!("sync {file}"),
        DiskOperation::Prepare { file, size } => format!("prepare {file} {}", size / PAGE),
        DiskOperation::Rename { from, to } => format!("rename {from} {to}"),
        DiskOperation::Remove { file } => format!("remove {file}"),
        other @ (DiskOperation::Create { .. }
        | DiskOperation::Replace { .. }
        | DiskOperation::Read { .. }
        | DiskOperation::List
        | DiskOperation::Space) => panic!("{other:?} is none of a writer's"),
    }
}

#[test]
fn the_first_flush_begins_a_file_that_was_made_ahead() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    assert_eq!(run(&mut writer, &mut disk), ["prepare redo/1.spare 4"]);
    assert_eq!(writer.push(block(10)), Position(1));
    assert_eq!(writer.mark(Mark::Whole { epoch: Epoch(3), closed_at_us: 9 }), Position(2));
    assert_eq!(run(&mut writer, &mut disk), Vec::<String>::new(), "nobody asked for a flush");
    writer.flush();
    let expected =
        ["rename redo/1.spare redo/1.redo", "write redo/1.redo at 0 3 pages, sync", "prepare redo/2.spare 4"];
    assert_eq!(run(&mut writer, &mut disk), expected);
    assert_eq!((writer.flushed(), writer.flushed_epoch()), (Position(3), Epoch(3)));
    assert_eq!(writer.buffered_bytes(), 0);
    writer.flush();
    assert_eq!(run(&mut writer, &mut disk), Vec::<String>::new(), "all of it is on disk");
}

#[test]
fn blocks_wait_while_there_is_no_file() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    let prepare = polled(&mut writer).remove(0);
    assert_eq!(prepare.lane, DiskLane::Bulk);
    writer.push(block(10));
    writer.flush();
    assert_eq!(polled(&mut writer), []);
    assert!(writer.on_done(prepare.ticket, disk.perform(prepare.operation)).is_ok());
    run(&mut writer, &mut disk);
    assert_eq!(writer.flushed(), Position(2));
}

/// One write-and-sync is under way; everything that comes meanwhile is the next one.
#[test]
fn one_flush_at_a_time() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    writer.push(block(10));
    writer.flush();
    let mut first = polled(&mut writer);
    let _making = first.pop().expect("the next file is made");
    for epoch in 4..6 {
        writer.mark(Mark::Whole { epoch: Epoch(epoch), closed_at_us: 9 });
        writer.flush();
    }
    assert_eq!(polled(&mut writer), []);
    assert!(first.iter().all(|request| request.lane == DiskLane::Redo));
    for request in first {
        assert_eq!(writer.flushed(), Position(1));
        writer.on_done(request.ticket, disk.perform(request.operation)).expect("no failure");
    }
    assert_eq!((writer.flushed(), writer.flushed_epoch()), (Position(2), Epoch(0)));
    assert_eq!(run(&mut writer, &mut disk), ["write redo/1.redo at 2 2 pages, sync"]);
    assert_eq!((writer.flushed(), writer.flushed_epoch()), (Position(4), Epoch(5)));
}

#[test]
fn a_block_says_what_was_flushed_and_durable_when_it_was_written() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    writer.push(block(10));
    writer.flush();
    run(&mut writer, &mut disk);
    writer.set_durable(Epoch(77));
    writer.set_durable(Epoch(70));
    writer.mark(Mark::Joined);
    writer.flush();
    run(&mut writer, &mut disk);
    let bytes = disk.bytes(FileName::Redo(1)).clone();
    let first = Block::decode(&bytes[4_096..]).expect("the first block");
    let second = Block::decode(&bytes[8_192..]).expect("the second block");
    assert_eq!(second.content, Content::Mark(Mark::Joined));
    assert_eq!((first.heading.flushed, first.heading.durable), (Position(1), Epoch(0)));
    assert_eq!((second.heading.flushed, second.heading.durable), (Position(2), Epoch(77)));
    assert_eq!((first.heading.position, first.heading.previous), (Position(1), 0));
    assert_eq!((second.heading.position, second.heading.previous), (Position(2), first.checksum));
}

#[test]
fn much_is_written_before_a_flush_is_asked_for() {
    let mut writer = Writer::new(
        identity(),
        LogSize { file: 4 << 20, space: 64 << 20 },
        LogEnd { next_file: 1, ..LogEnd::default() },
    );
    let mut disk = Disk::default();
    run(&mut writer, &mut disk);
    while writer.buffered_bytes() < EARLY_WRITE_SIZE - 100_000 {
        writer.push(block(60_000));
    }
    assert_eq!(polled(&mut writer), []);
    writer.push(block(60_000));
    writer.push(block(60_000));
    let done = run(&mut writer, &mut disk);
    assert!(done.len() > 10 && done.iter().all(|operation| !operation.contains("sync")), "{done:?}");
    assert_eq!((writer.flushed(), writer.buffered_bytes()), (Position(1), 0));
    writer.flush();
    assert_eq!(run(&mut writer, &mut disk), ["sync redo/1.redo"]);
    assert_eq!(writer.flushed(), writer.next());
}

/// A file with unsynced blocks is synced before the next one is begun: the last sync speaks for all of them.
#[test]
fn a_full_file_is_synced_before_the_next() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    for _ in 0..5 {
        writer.push(block(10));
    }
    writer.flush();
    let expected = [
        "rename redo/1.spare redo/1.redo",
        "prepare redo/2.spare 4",
        "write redo/1.redo at 0 4 pages",
        "sync redo/1.redo",
        "rename redo/2.spare redo/2.redo",
        "write redo/2.redo at 0 3 pages, sync",
        "prepare redo/3.spare 4",
    ];
    assert_eq!(run(&mut writer, &mut disk), expected);
    assert_eq!(writer.flushed(), Position(6));
}

#[test]
fn a_long_row_makes_its_file_grow_and_that_file_is_not_used_again() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    writer.push(block(10));
    writer.push(block(20_000));
    writer.push(block(10));
    writer.flush();
    run(&mut writer, &mut disk);
    let sizes: Vec<u64> = disk.list().iter().map(|(_, size)| size / PAGE).collect();
    assert_eq!(sizes, [4, 6, 4, 4]);
    writer.release(Position(3));
    assert_eq!(run(&mut writer, &mut disk), Vec::<String>::new(), "a spare is there");
    writer.push(block(10));
    writer.push(block(10));
    writer.push(block(10));
    writer.flush();
    let done = run(&mut writer, &mut disk);
    assert!(done.contains(&"rename redo/4.spare redo/4.redo".to_owned()), "{done:?}");
    for _ in 0..4 {
        writer.push(block(10));
    }
    writer.flush();
    let done = run(&mut writer, &mut disk);
    assert!(done.contains(&"rename redo/1.redo redo/5.redo".to_owned()), "{done:?}");
    assert!(done.contains(&"remove redo/2.redo".to_owned()), "{done:?}");
}

/// Files are used again when nothing in them is needed, the oldest first, and never before.
pub(crate) fn files_are_used_again_when_they_are_released() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    for _ in 0..9 {
        writer.push(block(10));
        writer.flush();
        run(&mut writer, &mut disk);
    }
    let names = |disk: &Disk| disk.list().iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&disk), ["redo/1.redo", "redo/2.redo", "redo/3.redo", "redo/4.spare"]);
    assert_eq!(writer.next_release(), Some(Position(4)));
    // Block 3 is in the first file.
    writer.release(Position(3));
    writer.push(block(10));
    writer.flush();
    run(&mut writer, &mut disk);
    assert_eq!(names(&disk), ["redo/1.redo", "redo/2.redo", "redo/3.redo", "redo/4.redo", "redo/5.spare"]);
    writer.release(Position(4));
    assert_eq!(writer.next_release(), Some(Position(7)));
    for _ in 0..6 {
        writer.push(block(10));
    }
    writer.flush();
    run(&mut writer, &mut disk);
    let expected =
        ["redo/2.redo", "redo/3.redo", "redo/4.redo", "redo/5.redo", "redo/6.redo", "redo/7.spare"];
    assert_eq!(names(&disk), expected);
}

/// Nothing that was not synced survives here, and what was said to be flushed is there.
pub(crate) fn a_flush_survives_a_loss_of_power() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    writer.push(block(10));
    writer.flush();
    run(&mut writer, &mut disk);
    assert_eq!(writer.flushed(), Position(2));
    disk.keep_sectors(|_, _| false);
    let block = Block::decode(&disk.bytes(FileName::Redo(1))[4_096..]).expect("it is there").heading;
    assert_eq!(block.position, Position(1));
}

#[test]
fn released_files_are_recycled_and_flushed_ones_survive() {
    files_are_used_again_when_they_are_released();
    a_flush_survives_a_loss_of_power();
}

#[test]
fn the_level_rises_with_the_space_that_is_held() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    let mut levels = Vec::new();
    for _ in 0..30 {
        writer.push(block(10));
        writer.flush();
        run(&mut writer, &mut disk);
        if levels.last().is_none_or(|(level, _)| *level != writer.level()) {
            levels.push((writer.level(), writer.held_bytes() / PAGE));
        }
    }
    // Of 40 pages.
    let expected =
        [(LogLevel::Normal, 2), (LogLevel::High, 30), (LogLevel::Full, 36), (LogLevel::Exhausted, 39)];
    assert_eq!(levels, expected);
    // Entries that have a stamp are written all the same.
    for _ in 0..9 {
        writer.push(block(10));
    }
    writer.flush();
    run(&mut writer, &mut disk);
    assert_eq!(writer.flushed(), Position(40));
    writer.release(Position(37));
    assert_eq!((writer.level(), writer.held_bytes() / PAGE), (LogLevel::Normal, 4));
}

/// Entries with a stamp, and every start of the node, make files beyond the space. They do not stay.
#[test]
fn files_beyond_the_space_are_removed_when_they_are_released() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    for _ in 0..39 {
        writer.push(block(10));
    }
    writer.flush();
    run(&mut writer, &mut disk);
    assert_eq!(writer.file_bytes(), 14 * 4 * PAGE);
    // The first file is needed.
    writer.release(Position(3));
    run(&mut writer, &mut disk);
    assert_eq!(writer.file_bytes(), 14 * 4 * PAGE);
    writer.release(Position(37));
    let removed: Vec<String> = (1..=4).map(|file| format!("remove redo/{file}.redo")).collect();
    assert_eq!(run(&mut writer, &mut disk), removed);
    let bytes: u64 = disk.list().iter().map(|(_, size)| size).sum();
    assert_eq!((bytes, writer.file_bytes()), (10 * 4 * PAGE, 10 * 4 * PAGE));
}

#[test]
fn a_full_disk_is_no_failure_while_a_file_is_ready() {
    let (mut writer, mut disk) = (writer(), Disk::default());
    run(&mut writer, &mut disk);
    disk.is_full = true;
    for _ in 0..3 {
        writer.push(block(10));
    }
    writer.flush();
    run(&mut writer, &mut disk);
    assert_eq!((writer.flushed(), writer.level()), (Position(4), LogLevel::Exhausted));
    writer.push(block(10));
    writer.flush();
    assert_eq!(run(&mut writer, &mut disk), Vec::<String>::new());
    // Nobody is let in while it is tried.
    writer.retry();
    assert_eq!((writer.level(), writer.is_refused()), (LogLevel::Exhausted, true));
    assert_eq!(run(&mut writer, &mut disk), ["prepare redo/2.spare 4"]);
    assert_eq!(writer.level(), LogLevel::Exhausted);
    disk.is_full = false;
    writer.retry();
    run(&mut writer, &mut disk);
    assert_eq!((writer.flushed(), writer.level()), (Position(5), LogLevel::Normal));
}

/// The machine may have forgotten what it could not write: a second sync that succeeds proves nothing.
pub(crate) fn a_failed_write_or_sync_ends_the_writer() {
    for answers in [0, 1] {
        let (mut writer, mut disk) = (writer(), Disk::default());
        run(&mut writer, &mut disk);
        writer.push(block(10));
        writer.flush();
        run(&mut writer, &mut disk);
        if answers == 1 {
            // Written early: the flush is a sync alone.
            for _ in 0..20 {
                writer.push(block(60_000));
            }
        } else {
            writer.push(block(10));
        }
        writer.flush();
        let flushed = writer.flushed();
        let failed = DiskError::Failed("redo/1.redo: input/output error".to_owned());
        let (mut ended, mut has_failed) = (None, false);
        while let Some(request) = writer.poll() {
            let is_synced = matches!(
                request.operation,
                DiskOperation::Sync { .. } | DiskOperation::Write { sync: true, .. }
            );
            // The second one succeeds, if there is one.
            let fails = is_synced && !has_failed;
            has_failed |= is_synced;
            let result = if fails { Err(failed.clone()) } else { disk.perform(request.operation) };
            if let Err(failure) = writer.on_done(request.ticket, result) {
                ended = Some(failure);
                break;
            }
        }
        assert_eq!(ended, Some(LogFailure("redo/1.redo: input/output error".to_owned())));
        assert_eq!(writer.flushed(), flushed);
    }
}

#[test]
fn a_failure_is_not_tried_again() {
    a_failed_write_or_sync_ends_the_writer();
}
