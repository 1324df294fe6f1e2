use super::{FileError, FileHeader};
use crate::block::PAGE_SIZE;
use protocol::RestartPoint;
use protocol::control::GroupId;
use types::{COLLATION_VERSION, Epoch, Incarnation, NodeId, RestartNumber};

fn header() -> FileHeader {
    FileHeader {
        cluster: "shop".to_owned(),
        collations: COLLATION_VERSION.to_owned(),
        founding: GroupId(0x1112_1314_1516_1718),
        node: NodeId(0x21),
        lineage: Incarnation(0x31),
        restart: RestartPoint { number: RestartNumber(2), cut: Epoch(80), first: Epoch(0x1_0000_0050) },
        file: 0x41,
        first: 0x51,
        previous: 0x6162_6364,
    }
}

fn refusal(header: &FileHeader) -> String {
    match FileHeader::decode(&header.encode(), 0x41, "shop", NodeId(0x21)) {
        Err(FileError::Foreign(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// The bytes of docs/formats/redo.md. If they change, the format has another number.
#[test]
fn a_header_has_these_bytes() {
    let page = header().encode();
    assert_eq!(page.len(), PAGE_SIZE);
    let expected = [
        &b"LRDF"[..],
        &stdx::crc32c(&page[8..103]).to_le_bytes(),
        &[87, 0, 0, 0, 1, 0, 0, 0],
        b"\x04\0\0\0shop",
        b"\x15\0\0\0icu4x-2.4.0 weights-1",
        &[0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11],
        &[0x21, 0],
        &[0x31, 0, 0, 0],
        &[2, 0, 0, 0],
        &[80, 0, 0, 0, 0, 0, 0, 0],
        &[0x50, 0, 0, 0, 1, 0, 0, 0],
        &[0x41, 0, 0, 0, 0, 0, 0, 0],
        &[0x51, 0, 0, 0, 0, 0, 0, 0],
        &[0x64, 0x63, 0x62, 0x61],
    ]
    .concat();
    assert_eq!(page[..expected.len()], expected);
    assert!(page[expected.len()..].iter().all(|byte| *byte == 0));
}

#[test]
fn a_header_comes_back_and_one_of_somebody_else_is_refused_by_name() {
    let good = header();
    assert_eq!(FileHeader::decode(&good.encode(), 0x41, "shop", NodeId(0x21)), Ok(good.clone()));

    let other = FileHeader { cluster: "bank".to_owned(), ..header() };
    assert_eq!(refusal(&other), "redo file 65 belongs to the cluster \"bank\", not to \"shop\"");
    let other = FileHeader { node: NodeId(9), ..header() };
    assert_eq!(refusal(&other), "redo file 65 belongs to node 9, not to node 33");
    let other = FileHeader { collations: "old".to_owned(), ..header() };
    let expected = format!("redo file 65 has keys of collations \"old\", not of {COLLATION_VERSION:?}");
    assert_eq!(refusal(&other), expected);
    // A file that was put in another's place is as good as none.
    let moved = FileHeader::decode(&good.encode(), 0x42, "shop", NodeId(0x21));
    assert_eq!(moved, Err(FileError::Bad));
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let mut page = header().encode();
    page[12] = 2;
    let length = usize::from(page[8]);
    let checksum = stdx::crc32c(&page[8..16 + length]);
    page[4..8].copy_from_slice(&checksum.to_le_bytes());
    let decoded = FileHeader::decode(&page, 0x41, "shop", NodeId(0x21));
    let expected = "redo file 65 has format 2, and this program reads format 1".to_owned();
    assert_eq!(decoded, Err(FileError::Foreign(expected)));
}

#[test]
fn a_damaged_header_is_none() {
    let page = header().encode();
    let end = 16 + usize::from(page[8]);
    for bit in 0..end * 8 {
        let mut flipped = page.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let decoded = FileHeader::decode(&flipped, 0x41, "shop", NodeId(0x21));
        assert_eq!(decoded, Err(FileError::Bad), "bit {bit}");
    }
    for size in 0..end {
        let decoded = FileHeader::decode(&page[..size], 0x41, "shop", NodeId(0x21));
        assert_eq!(decoded, Err(FileError::Bad), "{size} bytes");
    }
    assert_eq!(FileHeader::decode(&[0; 4_096], 0x41, "shop", NodeId(0x21)), Err(FileError::Bad));
}
