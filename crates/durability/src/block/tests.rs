use super::{
    BLOCK_SIZE_MAX, Block, BlockError, Content, HEADER_SIZE, Heading, Mark, OpenBlock, PAGE_SIZE, Position,
    SealedBlock,
};
use crate::damage::damaged;
use crate::record::{Entry, RecordError};
use protocol::control::GroupId;
use stdx::Prng;
use types::{Epoch, NodeId, RestartNumber, SlotId, TableId};

const HEADING: Heading = Heading {
    founding: GroupId(0x1112_1314_1516_1718),
    node: NodeId(0x21),
    restart: RestartNumber(0x3132_3334),
    file: 0x41,
    position: Position(0x51),
    previous: 0x6162_6364,
    flushed: Position(0x4f),
    durable: Epoch(0x71),
};

/// Bytes of the two entries of `sealed`.
const PAYLOAD_SIZE: usize = 23;

fn entry<'a>(epoch: u64, key: &'a [u8], row: Option<&'a [u8]>) -> Entry<'a> {
    Entry { slot: SlotId(3), table: TableId(300), epoch: Epoch(epoch), key, row }
}

fn sealed() -> SealedBlock {
    let mut open = OpenBlock::new(0x81);
    assert_eq!(open.append(&entry(1_001, b"key", Some(b"row!"))), None);
    assert_eq!(open.append(&entry(1_000, b"key", None)), None);
    open.seal().expect("it has entries")
}

fn hex(bytes: &[u8]) -> String {
    let lines = bytes.chunks(8).map(|chunk| {
        let bytes: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The bytes of docs/formats/redo.md. If they change, the format has another number.
#[test]
fn a_block_has_these_bytes() {
    let (bytes, checksum) = sealed().finish(&HEADING);
    assert_eq!(bytes.len(), PAGE_SIZE);
    let expected = "\
4c 52 44 4f CHECKSUM
17 00 00 00 00 00 81 00
18 17 16 15 14 13 12 11
41 00 00 00 00 00 00 00
51 00 00 00 00 00 00 00
4f 00 00 00 00 00 00 00
71 00 00 00 00 00 00 00
e9 03 00 00 00 00 00 00
e9 03 00 00 00 00 00 00
00 00 00 00 00 00 00 00
34 33 32 31 64 63 62 61
21 00 00 00 00 00 00 00
01 03 ac 02 00 03 04 6b
65 79 72 6f 77 21 02 03
ac 02 01 03 6b 65 79 00";
    let expected = expected.replace("CHECKSUM", &hex(&checksum.to_le_bytes()));
    assert_eq!(hex(&bytes[..15 * 8]), expected);
    assert_eq!(checksum, stdx::crc32c(&[&bytes[96..119], &bytes[8..96]].concat()));
    assert!(bytes[120..].iter().all(|byte| *byte == 0));
}

#[test]
fn a_block_comes_back_as_it_was_written() {
    let (mut bytes, checksum) = sealed().finish(&HEADING);
    bytes.push(1);
    let block = Block::decode(&bytes).expect("it is a block");
    assert_eq!((block.heading, block.checksum, block.ldm), (HEADING, checksum, 0x81));
    assert_eq!(block.content, Content::Entries { highest: Epoch(1_001) });
    assert_eq!(block.size(), PAGE_SIZE);
    let entries: Vec<_> = block.entries().collect();
    assert_eq!(entries, [Ok(entry(1_001, b"key", Some(b"row!"))), Ok(entry(1_000, b"key", None))]);
}

#[test]
fn marks_come_back_as_they_were_written() {
    let marks = [
        Mark::Whole { epoch: Epoch(9), closed_at_us: 77 },
        Mark::Joining { base: Epoch(8) },
        Mark::Joined,
        Mark::Restored { cut: Epoch(7), closed_at_us: 66 },
    ];
    for mark in marks {
        let (bytes, _) = SealedBlock::of_mark(mark).finish(&HEADING);
        let block = Block::decode(&bytes).expect("it is a block");
        assert_eq!((bytes.len(), block.size()), (PAGE_SIZE, PAGE_SIZE));
        assert_eq!(block.content, Content::Mark(mark));
        assert_eq!(block.entries().count(), 0);
    }
}

#[test]
fn a_full_block_is_sealed_and_a_long_row_has_one_of_its_own() {
    let mut open = OpenBlock::new(0);
    let row = [5; 1_000];
    let mut blocks: Vec<SealedBlock> = Vec::new();
    for number in 0..200_u64 {
        blocks.extend(open.append(&entry(number, &number.to_be_bytes(), Some(&row))));
    }
    let long = vec![6; BLOCK_SIZE_MAX];
    blocks.extend(open.append(&entry(500, b"long", Some(&long))));
    blocks.extend(open.append(&entry(501, b"short", Some(&row))));
    assert!(open.size() > HEADER_SIZE && open.size() < 2_000);
    blocks.extend(open.seal());
    assert!(open.is_empty() && open.seal().is_none());

    let sizes: Vec<usize> = blocks.iter().map(SealedBlock::size).collect();
    assert_eq!(
        sizes,
        [BLOCK_SIZE_MAX, BLOCK_SIZE_MAX, BLOCK_SIZE_MAX, 12_288, BLOCK_SIZE_MAX + 4_096, PAGE_SIZE]
    );
    let mut keys = Vec::new();
    for block in blocks {
        let (bytes, _) = block.finish(&HEADING);
        let block = Block::decode(&bytes).expect("it is a block");
        let entries = block.entries().map(|entry| entry.expect("it is an entry"));
        keys.extend(entries.map(|entry| (entry.epoch.0, entry.key.to_vec())));
    }
    assert_eq!(keys.len(), 202);
    assert!(keys[..200].iter().all(|(epoch, key)| key == &epoch.to_be_bytes()));
    assert_eq!(keys[200..], [(500, b"long".to_vec()), (501, b"short".to_vec())]);
}

#[test]
fn any_flipped_bit_makes_it_bad() {
    let (bytes, _) = sealed().finish(&HEADING);
    let end = HEADER_SIZE + PAYLOAD_SIZE;
    for bit in 0..end * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match Block::decode(&flipped) {
            Err(BlockError::Bad) => {}
            Err(BlockError::Short(needed)) => assert!(needed > bytes.len(), "bit {bit}"),
            Ok(block) => panic!("bit {bit} went unnoticed: {block:?}"),
        }
    }
}

#[test]
fn a_part_of_a_block_says_how_much_is_needed() {
    let (bytes, _) = sealed().finish(&HEADING);
    assert_eq!(Block::decode(&bytes[..95]), Err(BlockError::Short(HEADER_SIZE)));
    let end = HEADER_SIZE + PAYLOAD_SIZE;
    assert_eq!(Block::decode(&bytes[..end - 1]), Err(BlockError::Short(end)));
    assert!(Block::decode(&bytes[..end]).is_ok());
    assert_eq!(Block::decode(&[0; 200]), Err(BlockError::Bad));
}

#[test]
fn entries_end_with_the_first_that_cannot_be_read() {
    let mut open = OpenBlock::new(0);
    open.append(&entry(5, b"key", None));
    open.bytes.extend_from_slice(&[9, 9]);
    let (bytes, _) = open.seal().expect("it has entries").finish(&HEADING);
    let block = Block::decode(&bytes).expect("its checksum is right");
    let entries: Vec<_> = block.entries().collect();
    assert_eq!(entries, [Ok(entry(5, b"key", None)), Err(RecordError::UnknownKind(9))]);
}

#[test]
fn any_bytes_give_a_block_or_an_error() {
    let mut random = Prng::new(1);
    let (good, _) = sealed().finish(&HEADING);
    let (mut decoded, mut refused) = (0, 0);
    for _ in 0..5_000 {
        let bytes = damaged(&good, HEADER_SIZE, PAYLOAD_SIZE, &mut random);
        match Block::decode(&bytes) {
            Ok(block) => {
                assert!(block.heading.durable.0 < Epoch::LIMIT);
                assert!(block.entries().count() <= PAYLOAD_SIZE);
                decoded += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(decoded > 0 && refused > 0, "{decoded} were blocks, {refused} were not");
}
