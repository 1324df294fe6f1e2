use super::*;
use types::NodeId;

const REDO: FileName = FileName::Redo(1);
const ME: Address = Address::membership(NodeId(1));

fn write(offset: u64, byte: u8, size: usize, sync: bool) -> DiskOperation {
    DiskOperation::Write { file: REDO, offset, bytes: vec![byte; size], sync }
}

/// A disk with a file of four sectors, synced, of the byte 1.
fn disk() -> Disk {
    let mut disk = Disk::default();
    done(&mut disk, DiskOperation::Replace { file: REDO, bytes: vec![1; 4 * SECTOR_SIZE] });
    disk
}

fn done(disk: &mut Disk, operation: DiskOperation) {
    assert_eq!(disk.run(DiskLane::Redo, operation), Ok(DiskAnswer::Done));
}

fn request(ticket: u64, operation: DiskOperation) -> DiskRequest {
    DiskRequest { ticket, lane: DiskLane::Redo, operation }
}

#[test]
fn what_was_written_is_read_and_listed() {
    let mut disk = disk();
    done(&mut disk, write(510, 2, 4, false));
    let read = |disk: &mut Disk, offset, length| match disk
        .run(DiskLane::Redo, DiskOperation::Read { file: REDO, offset, length })
    {
        Ok(DiskAnswer::Bytes(bytes)) => bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(read(&mut disk, 509, 6), [1, 2, 2, 2, 2, 1]);
    assert_eq!(read(&mut disk, 2_047, 9), [1]);
    assert!(read(&mut disk, 9_999, 9).is_empty());
    done(&mut disk, write(5_000, 3, 1, true));
    assert_eq!(read(&mut disk, 4_999, 2), [0, 3]);
    done(&mut disk, DiskOperation::Prepare { file: FileName::RedoSpare(2), size: 1 << 30 });
    let files = vec![(REDO, 5_001), (FileName::RedoSpare(2), 1 << 30)];
    assert_eq!(disk.run(DiskLane::Bulk, DiskOperation::List), Ok(DiskAnswer::Files(files)));
    done(&mut disk, DiskOperation::Rename { from: FileName::RedoSpare(2), to: REDO });
    assert_eq!(read(&mut disk, 0, 3), [0, 0, 0]);
    done(&mut disk, DiskOperation::Remove { file: REDO });
    for operation in
        [write(0, 1, 1, true), DiskOperation::Sync { file: REDO }, DiskOperation::Remove { file: REDO }]
    {
        assert_eq!(disk.run(DiskLane::Redo, operation), Err(DiskError::Absent));
    }
}

#[test]
fn lanes_are_in_order_and_answer_whoever_asked() {
    let mut disk = disk();
    assert!(disk.ask(ME, request(7, write(0, 2, 1, true))));
    assert!(!disk.ask(Address::disk(NodeId(1)), request(7, write(0, 3, 1, true))));
    assert!(disk.ask(ME, DiskRequest { lane: DiskLane::Bulk, ..request(9, DiskOperation::List) }));
    assert_eq!(disk.under_way(DiskLane::Redo).unwrap().operation, write(0, 2, 1, true));
    assert_eq!(disk.finish(DiskLane::Redo), Some((ME, 7, Ok(DiskAnswer::Done))));
    assert_eq!(disk.bytes(REDO)[0], 2);
    assert_eq!(disk.finish(DiskLane::Redo), Some((Address::disk(NodeId(1)), 7, Ok(DiskAnswer::Done))));
    assert_eq!(disk.bytes(REDO)[0], 3);
    assert_eq!(disk.finish(DiskLane::Redo), None);
}

#[test]
fn a_process_that_ends_keeps_what_it_has_written() {
    let mut results = BTreeSet::new();
    for seed in 0..20 {
        let mut disk = disk();
        done(&mut disk, write(0, 2, 512, false));
        disk.ask(ME, request(1, write(512, 3, 512, true)));
        disk.ask(ME, request(2, write(1_024, 4, 512, true)));
        disk.end_process(&mut Prng::new(seed));
        assert!(disk.under_way(DiskLane::Redo).is_none());
        let bytes = disk.bytes(REDO);
        results.insert((bytes[0], bytes[512], bytes[1_024]));
    }
    assert_eq!(results, BTreeSet::from([(2, 1, 1), (2, 3, 1)]), "only the first request was under way");
}

#[test]
fn power_takes_any_of_the_unsynced_sectors_and_no_others() {
    let mut results = BTreeSet::new();
    for seed in 0..2_000 {
        let mut disk = disk();
        done(&mut disk, write(0, 2, 512, true));
        done(&mut disk, write(512, 3, 512, false));
        // This sync is of another file.
        done(&mut disk, DiskOperation::Replace { file: FileName::Claim, bytes: vec![9] });
        done(&mut disk, write(1_024, 4, 1_536, false));
        disk.lose_power(&mut Prng::new(seed));
        let bytes = disk.bytes(REDO);
        results.insert(bytes.chunks(512).map(|sector| sector[0]).collect::<Vec<u8>>());
        assert!(
            bytes.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])),
            "sectors are whole"
        );
        assert_eq!(disk.bytes(FileName::Claim), [9]);
        // It is on disk now, whatever it is.
        let before = disk.bytes(REDO);
        disk.lose_power(&mut Prng::new(seed + 1));
        assert!(disk.bytes(REDO) == before);
    }
    for third in [1, 3] {
        for fourth in [1, 4] {
            for fifth in [1, 4] {
                for longer in [vec![], vec![0], vec![4]] {
                    let expected: Vec<u8> = [2, third, fourth, fifth].into_iter().chain(longer).collect();
                    assert!(results.contains(&expected), "{expected:?}");
                }
            }
        }
    }
    assert_eq!(results.len(), 24, "{results:?}");
}

#[test]
fn a_control_log_that_a_process_has_read_is_on_disk() {
    for seed in 0..50 {
        let mut disk = Disk::default();
        assert!(disk.begin_process().is_empty());
        let log = FileName::ControlLog;
        done(&mut disk, DiskOperation::Replace { file: log, bytes: vec![1; 1_024] });
        done(&mut disk, DiskOperation::Write { file: log, offset: 512, bytes: vec![2; 512], sync: false });
        let read = disk.begin_process();
        disk.lose_power(&mut Prng::new(seed));
        assert!(disk.bytes(log) == read && read[512] == 2);
    }
}

#[test]
fn without_power_a_file_that_was_removed_may_come_back() {
    let mut results = BTreeSet::new();
    for seed in 0..20 {
        let mut disk = disk();
        done(&mut disk, DiskOperation::Replace { file: FileName::Claim, bytes: vec![9] });
        done(&mut disk, DiskOperation::Remove { file: FileName::Claim });
        // A file of another folder is replaced; then the removal of one of that folder is for good.
        done(&mut disk, DiskOperation::Remove { file: REDO });
        done(&mut disk, DiskOperation::Prepare { file: FileName::Redo(2), size: 1 });
        disk.lose_power(&mut Prng::new(seed));
        results.insert(disk.files().collect::<Vec<_>>());
    }
    let expected = [vec![FileName::Redo(2)], vec![FileName::Redo(2), FileName::Claim]];
    assert_eq!(results, BTreeSet::from(expected));
}

#[test]
fn a_quota_is_a_full_disk() {
    let mut disk = disk();
    disk.set_quota(Some(2_100));
    let space = DiskAnswer::Space { free: 52, total: 2_100 };
    assert_eq!(disk.run(DiskLane::Redo, DiskOperation::Space), Ok(space));
    done(&mut disk, write(2_000, 2, 100, true));
    let claim = DiskOperation::Replace { file: FileName::Claim, bytes: vec![0] };
    assert_eq!(disk.run(DiskLane::Bulk, claim.clone()), Err(DiskError::Full));
    assert_eq!(disk.run(DiskLane::Redo, write(2_100, 2, 1, true)), Err(DiskError::Full));
    assert_eq!(disk.size(), 2_100);
    disk.set_quota(None);
    done(&mut disk, claim);
    assert!(disk.run(DiskLane::Redo, write(0, 2, 1, true)).is_err(), "that write has failed");
    disk.end_process(&mut Prng::new(1));
    done(&mut disk, write(0, 2, 1, true));
}

#[test]
fn each_trouble_happens_once_and_in_its_lane() {
    let mut disk = disk();
    let failed = DiskError::Failed("redo/1.redo: it is broken".to_owned());
    disk.trouble_next(DiskLane::Bulk, Trouble::Lost);
    disk.trouble_next(DiskLane::Redo, Trouble::Misdirected(2));
    disk.trouble_next(DiskLane::Redo, Trouble::Error(failed.clone()));
    done(&mut disk, write(0, 2, 512, true));
    let sectors: Vec<u8> = disk.bytes(REDO).chunks(512).map(|sector| sector[0]).collect();
    assert_eq!(sectors, [1, 1, 2, 1]);
    assert_eq!(disk.run(DiskLane::Redo, write(0, 3, 1, true)), Err(failed));
    assert!(disk.run(DiskLane::Redo, write(0, 3, 1, true)).is_err(), "it is not tried again");
    assert_eq!(disk.run(DiskLane::Bulk, DiskOperation::Remove { file: REDO }), Ok(DiskAnswer::Done));
    assert_eq!(disk.files().count(), 1, "the removal was lost");
    disk.lose_all();
    assert_eq!(disk.files().count(), 0);
}

#[test]
fn rot_changes_what_is_on_disk() {
    let mut disk = disk();
    let mut prng = Prng::new(1);
    let clean = disk.bytes(REDO);
    let differing = |disk: &Disk| {
        let bytes = disk.bytes(REDO);
        let pairs = bytes.iter().zip(&clean).enumerate().filter(|(_, (one, other))| one != other);
        pairs.map(|(at, (one, other))| (at, (one ^ other).count_ones())).collect::<Vec<_>>()
    };
    assert!(disk.rot_bit(REDO, &mut prng));
    assert!(matches!(differing(&disk)[..], [(_, 1)]));
    assert!(disk.rot_sector(REDO, &mut prng));
    let places: BTreeSet<usize> = differing(&disk).into_iter().map(|(at, _)| at / 512).collect();
    assert!((1..=2).contains(&places.len()) && differing(&disk).len() > 400);
    assert!(disk.cut_file(REDO, 700));
    done(&mut disk, write(1_000, 7, 1, true));
    assert_eq!(disk.bytes(REDO)[700..], [&[0; 300][..], &[7]].concat());
    assert!(disk.lose_file(REDO));
    assert!(!disk.rot_bit(REDO, &mut prng) && !disk.rot_sector(REDO, &mut prng) && !disk.lose_file(REDO));
    assert!(!disk.cut_file(REDO, 0) && !disk.flip(REDO, 0, 1));
}
