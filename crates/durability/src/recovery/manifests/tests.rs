use super::super::tests::{Life, NODE, nine_blocks, scan};
use super::*;
use crate::simulated_disk::Disk;
use crate::writer::LogEnd;
use protocol::RestartPoint;
use protocol::control::GroupId;
use types::{COLLATION_VERSION, Incarnation};

/// A checkpoint with one piece, in the file with the number of its table.
fn fragment(table: u32, epoch: u64, position: u64) -> FragmentCheckpoint {
    FragmentCheckpoint {
        table: TableId(table),
        epoch: Epoch(epoch),
        position,
        file: table.into(),
        offset: 0,
        length: 4_096,
        pieces: 1,
        rows: 1,
    }
}

/// The manifest of a node with the slots 0 and 3.
fn manifest(slot: u32, fragments: &[FragmentCheckpoint]) -> Manifest {
    Manifest {
        cluster: "shop".to_owned(),
        collations: COLLATION_VERSION.to_owned(),
        founding: GroupId(7),
        node: NODE,
        lineage: Incarnation(1),
        slot: SlotId(slot),
        slots: vec![SlotId(0), SlotId(3)],
        position: 9,
        epoch: Epoch(12),
        fragments: fragments.to_vec(),
    }
}

fn put(disk: &mut Disk, manifest: &Manifest) {
    let (file, bytes) = (FileName::Manifest(manifest.slot), manifest.encode());
    disk.perform(DiskOperation::Replace { file, bytes }).expect("there is room");
}

fn perform(disk: &mut Disk, operations: VecDeque<DiskOperation>) {
    for operation in operations {
        disk.perform(operation).expect("the disk does not fail");
    }
}

fn read_as(disk: &mut Disk, cluster: &str) -> Result<Manifests, ScanError> {
    let mut scan = ManifestScan::new(cluster, NODE, &disk.list());
    while let Some(operation) = scan.poll() {
        assert!(scan.poll().is_none(), "one read at a time");
        scan.on_done(disk.perform(operation))?;
    }
    Ok(scan.finish())
}

fn read(disk: &mut Disk) -> Manifests {
    read_as(disk, "shop").expect("the manifests are ours")
}

/// A log up to epoch 15, whose blocks from 6 on complete two checkpoints. Their pieces are in the files 1 and 2, and
/// file 9 belongs to nobody.
fn two_slots() -> Disk {
    let mut disk = nine_blocks().disk;
    put(&mut disk, &manifest(0, &[fragment(1, 13, 6)]));
    put(&mut disk, &manifest(3, &[fragment(2, 14, 7)]));
    for file in [1, 2, 9].map(FileName::Piece) {
        disk.perform(DiskOperation::Prepare { file, size: 4_096 }).expect("there is room");
    }
    disk
}

fn pieces(disk: &Disk) -> Vec<u64> {
    let number =
        |(name, _): (FileName, u64)| if let FileName::Piece(number) = name { Some(number) } else { None };
    disk.list().into_iter().filter_map(number).collect()
}

#[test]
fn manifests_say_what_is_needed_and_what_is_not() {
    let mut disk = two_slots();
    let checkpoints = read(&mut disk);
    assert_eq!((checkpoints.low(), checkpoints.required()), (Epoch(14), Position(6)));
    assert!(checkpoints.missing().is_empty() && checkpoints.are_of(&scan(&mut disk)));
    assert_eq!(checkpoints.readers().len(), 2);
    perform(&mut disk, checkpoints.tidying());
    assert_eq!(pieces(&disk), [1, 2]);
    // An empty disk needs whatever log there is.
    let nothing = read(&mut Disk::default());
    assert_eq!((nothing.low(), nothing.required()), (Epoch(0), Position(1)));
    assert!(nothing.missing().is_empty() && nothing.tidying().is_empty());
}

#[test]
fn a_manifest_that_is_damaged_or_gone_is_missed() {
    let mut disk = two_slots();
    for lose in [true, false] {
        let file = FileName::Manifest(SlotId(3));
        let before = disk.clone();
        if lose {
            disk.perform(DiskOperation::Remove { file }).expect("it is there");
        } else {
            disk.bytes(file)[20] ^= 1;
        }
        let checkpoints = read(&mut disk);
        assert_eq!(checkpoints.missing(), BTreeSet::from([SlotId(3)]));
        assert_eq!((checkpoints.low(), checkpoints.required()), (Epoch(13), Position(1)));
        perform(&mut disk, checkpoints.tidying());
        assert_eq!(pieces(&disk), [1, 2, 9], "nobody knows which of them it named");
        disk = before;
    }
}

#[test]
fn a_manifest_of_somebody_else_is_refused() {
    let refused = read_as(&mut two_slots(), "bank");
    let expected = "the manifest of slot 0 belongs to the cluster \"shop\", not to \"bank\"".to_owned();
    assert_eq!(refused, Err(ScanError::Foreign(expected)));
}

#[test]
fn without_a_bad_checkpoint_the_whole_log_is_needed() {
    let mut disk = two_slots();
    let operation = read(&mut disk).give_up(SlotId(3), TableId(2)).expect("there is a manifest");
    disk.perform(operation).expect("there is room");
    let checkpoints = read(&mut disk);
    assert_eq!((checkpoints.low(), checkpoints.required()), (Epoch(14), Position(1)));
    assert_eq!(checkpoints.readers().len(), 1);
    assert_eq!(checkpoints.give_up(SlotId(5), TableId(2)), None);
}

#[test]
fn an_emptied_manifest_is_missed_only_if_another_one_names_it() {
    let mut disk = two_slots();
    let empty = |slot| DiskOperation::Replace { file: FileName::Manifest(SlotId(slot)), bytes: Vec::new() };
    disk.perform(empty(3)).expect("there is room");
    assert_eq!(read(&mut disk).missing(), BTreeSet::from([SlotId(3)]));
    disk.perform(empty(0)).expect("there is room");
    let checkpoints = read(&mut disk);
    assert_eq!((checkpoints.missing().len(), checkpoints.required()), (0, Position(1)));
    perform(&mut disk, checkpoints.tidying());
    assert_eq!(pieces(&disk), [], "nobody names any of them");
}

/// The node began anew in its second life, and the disk lost the writes that made its checkpoints void.
#[test]
fn checkpoints_of_an_earlier_log_are_not_of_this_one() {
    let mut disk = two_slots();
    let end = scan(&mut disk).end_at(None);
    let mut life = Life::begin(2, disk, RestartPoint::default(), LogEnd { files: Vec::new(), ..end });
    for epoch in 20..30 {
        life.put_one(epoch);
    }
    life.whole(30);
    life.flush();
    let checkpoints = read(&mut life.disk);
    assert!(!checkpoints.are_of(&scan(&mut life.disk)));
    // Nor are those of another founding.
    let mut disk = nine_blocks().disk;
    put(&mut disk, &Manifest { founding: GroupId(8), ..manifest(0, &[fragment(1, 13, 6)]) });
    assert!(!read(&mut disk).are_of(&scan(&mut disk)));
}

/// Nothing was logged behind the position before the node came back in another life.
#[test]
fn a_checkpoint_at_the_end_of_the_log_is_of_it() {
    let mut life = nine_blocks();
    life.whole(16);
    life.flush();
    put(&mut life.disk, &manifest(0, &[fragment(1, 16, 11)]));
    let found = scan(&mut life.disk);
    let point = *found.points().next().expect("there is a point");
    let mut life = life.again(2, &found, &point, RestartPoint::FOUNDING.next(Epoch(16)));
    life.restored(16);
    life.flush();
    assert!(read(&mut life.disk).are_of(&scan(&mut life.disk)));
}
