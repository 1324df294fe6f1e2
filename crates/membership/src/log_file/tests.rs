use super::*;
use protocol::control::EntryKind;

const CLUSTER: &str = "test";

fn entry(index: u64, term: u64, size: usize) -> LogEntry {
    LogEntry { term, index, kind: EntryKind::Command, data: vec![7; size].into() }
}

fn base() -> Durable {
    Durable { voter: VoterId(3), ..Durable::default() }
}

/// Does the write of a control log to the bytes of its file.
pub(crate) fn put(file: &mut Vec<u8>, operation: DiskOperation) {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a control log only writes")]
    match operation {
        DiskOperation::Replace { file: FileName::ControlLog, bytes } => *file = bytes,
        DiskOperation::Write { file: FileName::ControlLog, offset, bytes, sync: true } => {
            let offset = usize::try_from(offset).unwrap();
            file.resize(file.len().max(offset + bytes.len()), 0);
            file[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
        other => panic!("{other:?}"),
    }
}

/// Where a record goes, and its bytes.
fn appended(request: DiskRequest) -> (usize, Vec<u8>) {
    let DiskOperation::Write { offset, bytes, .. } = request.operation else { panic!("not appended") };
    (usize::try_from(offset).unwrap(), bytes)
}

/// The first record of a new file, and that zeros follow.
fn begun(request: DiskRequest) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, request.operation);
    let zeros = bytes.split_off(bytes.len() - ROOM_SIZE);
    assert!(zeros.iter().all(|byte| *byte == 0));
    bytes
}

/// A file with entries 1 to `count`, a record each, without the zeros behind them.
fn file_of(count: u64) -> Vec<u8> {
    let mut writer = LogWriter::new(CLUSTER);
    let mut file = begun(writer.begin(1, &base()));
    for index in 1..=count {
        let hard = HardState { term: index, vote: 1, commit: index - 1 };
        put(&mut file, writer.append(index, Some(hard), vec![entry(index, index, 100)]).operation);
    }
    file
}

fn recovered(file: &[u8]) -> (Durable, LogWriter) {
    match recover(file, CLUSTER) {
        Recovery::Recovered(durable, writer) => (*durable, writer),
        other @ (Recovery::Empty | Recovery::Damaged(_) | Recovery::Foreign(_) | Recovery::Newer(_)) => {
            panic!("not recovered: {other:?}")
        }
    }
}

#[test]
fn what_was_written_is_recovered() {
    let (durable, mut writer) = recovered(&file_of(5));
    assert_eq!(durable.entries.len(), 5);
    assert_eq!(durable.hard, HardState { term: 5, vote: 1, commit: 4 });
    // And it goes on behind that.
    let mut file = file_of(5);
    put(&mut file, writer.append(9, None, vec![entry(4, 6, 9_000)]).operation);
    let (durable, _) = recovered(&file);
    assert_eq!(durable.last_index(), 4);
    assert_eq!(durable.entries[3].term, 6);
}

#[test]
fn zeros_behind_the_end_mean_nothing() {
    let mut file = file_of(2);
    file.resize(file.len() + 10 * BLOCK_SIZE, 0);
    assert_eq!(recovered(&file).0.last_index(), 2);
}

#[test]
fn a_torn_end_is_cut_off_wherever_it_is_torn() {
    let whole = file_of(3);
    let mut writer = recovered(&whole).1;
    let (offset, bytes) = appended(writer.append(4, None, vec![entry(4, 4, 10_000)]));
    let sectors = bytes.len() / 512;
    for survivors in 0..1_u64 << sectors.min(10) {
        let mut file = whole.clone();
        file.resize(offset + bytes.len(), 0);
        for sector in (0..sectors).filter(|sector| survivors >> (sector % 10) & 1 == 1) {
            let range = sector * 512..(sector + 1) * 512;
            file[offset + range.start..offset + range.end].copy_from_slice(&bytes[range]);
        }
        let last = recovered(&file).0.last_index();
        // The record's own bytes end before its last block does.
        let is_whole = file[offset..offset + HEADER_SIZE + 10_000] == bytes[..HEADER_SIZE + 10_000];
        assert!(last == 3 || (last == 4 && is_whole), "survivors {survivors:b}: {last}");
    }
}

#[test]
fn a_file_cut_anywhere_is_recovered_or_damaged_and_nothing_else() {
    let whole = file_of(3);
    let first = record_at(&whole, 0).unwrap().size;
    for length in (0..whole.len()).step_by(97) {
        match recover(&whole[..length], CLUSTER) {
            Recovery::Empty => assert_eq!(length, 0),
            Recovery::Damaged(_) => assert!(length < first),
            Recovery::Recovered(durable, _) => assert!(durable.last_index() <= 3),
            Recovery::Foreign(name) => panic!("foreign: {name}"),
            Recovery::Newer(format) => panic!("format {format}"),
        }
    }
}

#[test]
fn a_hole_is_damage() {
    let whole = file_of(4);
    let starts: Vec<usize> =
        (0..whole.len()).step_by(BLOCK_SIZE).filter(|offset| record_at(&whole, *offset).is_some()).collect();
    for (number, start) in starts.iter().enumerate() {
        for byte in [0, 5, 9, 17, 25, 40] {
            let mut file = whole.clone();
            file[start + byte] ^= 1;
            let is_last = number + 1 == starts.len();
            match recover(&file, CLUSTER) {
                Recovery::Damaged(_) => assert!(!is_last),
                Recovery::Recovered(durable, _) => assert!(is_last && durable.last_index() == 3),
                other @ (Recovery::Empty | Recovery::Foreign(_) | Recovery::Newer(_)) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn bytes_of_an_earlier_file_are_not_read() {
    // A new file over an old one: its generation is another.
    let old = file_of(6);
    let (durable, mut writer) = recovered(&old);
    let mut file = old.clone();
    let record = begun(writer.begin(7, &Durable { entries: Vec::new(), ..durable }));
    file[..record.len()].copy_from_slice(&record);
    assert_eq!(recovered(&file).0.last_index(), 0);
}

#[test]
fn another_clusters_file_is_named() {
    assert!(matches!(recover(&file_of(1), "other"), Recovery::Foreign(name) if name == CLUSTER));
    assert!(matches!(recover(&[], CLUSTER), Recovery::Empty));
    assert!(matches!(recover(&[1; 100], CLUSTER), Recovery::Damaged(_)));
}

/// Whatever a newer format has behind its number.
#[test]
fn a_newer_format_is_no_damage() {
    let mut file = file_of(1);
    file[HEADER_SIZE..HEADER_SIZE + 2].copy_from_slice(&2_u16.to_le_bytes());
    let size = usize::try_from(u32::from_le_bytes(*file[8..].first_chunk().unwrap())).unwrap();
    file[HEADER_SIZE + 2..HEADER_SIZE + size].fill(9);
    let checksum = stdx::crc32c(&file[8..HEADER_SIZE + size]);
    file[4..8].copy_from_slice(&checksum.to_le_bytes());
    assert!(matches!(recover(&file, CLUSTER), Recovery::Newer(2)));
}

#[test]
fn the_form_on_disk_is_pinned() {
    let mut writer = LogWriter::new(CLUSTER);
    let file = begun(writer.begin(1, &base()));
    assert_eq!(file.len(), BLOCK_SIZE);
    assert_eq!(&file[..4], b"LCTL");
    let hard = HardState { term: 1, vote: 3, commit: 0 };
    let (offset, second) = appended(writer.append(2, Some(hard), vec![entry(1, 1, 2)]));
    assert_eq!(offset, 4_096);
    // hard state: 1 + 24; entries: 4 + (8 + 8 + 1 + 4 + 2)
    assert_eq!(second[8..12], 52_u32.to_le_bytes());
}
