use super::{FragmentCheckpoint, Manifest, ManifestError};
use crate::block::Position;
use protocol::control::GroupId;
use types::{COLLATION_VERSION, Epoch, Incarnation, NodeId, SlotId, TableId};

fn fragment(table: u32, epoch: u64, position: u64) -> FragmentCheckpoint {
    FragmentCheckpoint {
        table: TableId(table),
        epoch: Epoch(epoch),
        position,
        file: 0x31,
        offset: 0x4000,
        length: 0x2000,
        pieces: 2,
        rows: 9,
    }
}

fn manifest() -> Manifest {
    Manifest {
        cluster: "shop".to_owned(),
        collations: COLLATION_VERSION.to_owned(),
        founding: GroupId(0x1112_1314_1516_1718),
        node: NodeId(0x21),
        lineage: Incarnation(0x41),
        slot: SlotId(3),
        slots: vec![SlotId(0), SlotId(3)],
        position: 0x82,
        epoch: Epoch(0x6f),
        fragments: vec![fragment(5, 0x71, 0x81), fragment(6, 0x70, 0x80)],
    }
}

fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    Manifest::decode(bytes, SlotId(3), "shop", NodeId(0x21))
}

/// The bytes of docs/formats/checkpoint.md. If they change, the format has another number.
#[test]
fn a_manifest_has_these_bytes() {
    let bytes = manifest().encode();
    let fragment = |table: u8, epoch: u8, position: u8| {
        let mut bytes = vec![table, 0, 0, 0, epoch, 0, 0, 0, 0, 0, 0, 0, position, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(&[0x31, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&[0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&[2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    };
    let expected = [
        &b"LRMF"[..],
        &stdx::crc32c(&bytes[8..]).to_le_bytes(),
        &[195, 0, 0, 0, 1, 0, 0, 0],
        b"\x04\0\0\0shop",
        b"\x15\0\0\0icu4x-2.4.0 weights-1",
        &[0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11],
        &[0x21, 0],
        &[0x41, 0, 0, 0],
        &[3, 0, 0, 0],
        &[2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0],
        &[0x82, 0, 0, 0, 0, 0, 0, 0],
        &[0x6f, 0, 0, 0, 0, 0, 0, 0],
        &[2, 0, 0, 0],
        &fragment(5, 0x71, 0x81),
        &fragment(6, 0x70, 0x80),
    ]
    .concat();
    assert_eq!(bytes, expected);
}

#[test]
fn a_manifest_says_how_old_a_restart_may_be_and_what_it_needs() {
    let manifest = manifest();
    assert_eq!(decode(&manifest.encode()), Ok(manifest.clone()));
    assert_eq!((manifest.low(), manifest.required()), (Epoch(0x71), Position(0x80)));
    let without = manifest.clone().without(TableId(6));
    assert_eq!((without.low(), without.required()), (Epoch(0x71), Position(1)));
    assert_eq!((without.fragments[0], without.fragments[1].pieces), (manifest.fragments[0], 0));
    let empty = Manifest { fragments: Vec::new(), ..manifest };
    assert_eq!((empty.low(), empty.required()), (Epoch(0x6f), Position(0x82)));
}

#[test]
fn a_manifest_of_somebody_else_is_refused_by_name() {
    let refusal = |manifest: Manifest| match decode(&manifest.encode()) {
        Err(ManifestError::Foreign(text)) => text,
        other => panic!("{other:?}"),
    };
    let other = Manifest { cluster: "bank".to_owned(), ..manifest() };
    assert_eq!(refusal(other), "the manifest of slot 3 belongs to the cluster \"bank\", not to \"shop\"");
    let other = Manifest { node: NodeId(9), ..manifest() };
    assert_eq!(refusal(other), "the manifest of slot 3 belongs to node 9, not to node 33");
    let other = Manifest { collations: "old".to_owned(), ..manifest() };
    let expected =
        format!("the manifest of slot 3 has keys of collations \"old\", not of {COLLATION_VERSION:?}");
    assert_eq!(refusal(other), expected);
    let mut newer = manifest().encode();
    newer[12] = 2;
    let checksum = stdx::crc32c(&newer[8..]);
    newer[4..8].copy_from_slice(&checksum.to_le_bytes());
    let expected = "the manifest of slot 3 has format 2, and this program reads format 1".to_owned();
    assert_eq!(decode(&newer), Err(ManifestError::Foreign(expected)));
}

#[test]
fn a_damaged_or_misplaced_manifest_is_none() {
    let bytes = manifest().encode();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(decode(&flipped), Err(ManifestError::Bad), "bit {bit}");
    }
    for size in 0..bytes.len() {
        assert_eq!(decode(&bytes[..size]), Err(ManifestError::Bad), "{size} bytes");
    }
    let other = Manifest { slot: SlotId(4), ..manifest() };
    assert_eq!(decode(&other.encode()), Err(ManifestError::Bad));
    let twice = Manifest { fragments: vec![fragment(5, 1, 1), fragment(5, 1, 1)], ..manifest() };
    assert_eq!(decode(&twice.encode()), Err(ManifestError::Bad));
}
