use super::{
    COMPRESSED_SIZE_MAX, Codec, HEADER_SIZE, PIECE_SIZE_MAX, Piece, PieceBuilder, PieceError, PiecePlace,
    PieceRow, SealedPiece, word,
};
use crate::block::PAGE_SIZE;
use crate::damage::damaged;
use crate::record::RecordError;
use protocol::control::GroupId;
use stdx::Prng;
use types::{Epoch, NodeId, SlotId, TableId};

const PLACE: PiecePlace =
    PiecePlace { founding: GroupId(0x1112_1314_1516_1718), node: NodeId(0x21), file: 0x31, offset: 0x41_000 };
/// Bytes of the two rows of `sealed`.
const PAYLOAD_SIZE: usize = 15;

fn row<'a>(key: &'a [u8], epoch: u64, row: &'a [u8]) -> PieceRow<'a> {
    PieceRow { key, epoch: Epoch(epoch), row }
}

fn sealed() -> SealedPiece {
    let mut builder = PieceBuilder::new(SlotId(0x51), TableId(0x61), Codec::Plain);
    assert_eq!(builder.add(&row(b"a", 1_001, b"row!")), None);
    assert_eq!(builder.add(&row(b"b", 1_003, b"row")), None);
    let sealed = builder.seal().expect("it has rows");
    assert_eq!((builder.seal(), builder.pieces()), (None, 1));
    sealed
}

/// The bytes of docs/formats/checkpoint.md. If they change, the format has another number.
#[test]
fn a_piece_has_these_bytes() {
    let bytes = sealed().finish(&PLACE);
    assert_eq!(bytes.len(), PAGE_SIZE);
    let expected = [
        &b"LRCP"[..],
        &stdx::crc32c(&[&bytes[72..87], &bytes[8..72]].concat()).to_le_bytes(),
        &[15, 0, 0, 0, 0, 0, 0x21, 0],
        &[0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11],
        &[0x31, 0, 0, 0, 0, 0, 0, 0],
        &[0xe9, 3, 0, 0, 0, 0, 0, 0],
        &[0xeb, 3, 0, 0, 0, 0, 0, 0],
        &[0, 0x10, 4, 0, 0, 0, 0, 0],
        &[0x51, 0, 0, 0, 0x61, 0, 0, 0],
        &[0, 0, 0, 0, 2, 0, 0, 0],
        b"\x00\x01\x04arow!",
        b"\x04\x01\x03brow",
    ]
    .concat();
    assert_eq!(bytes[..expected.len()], expected);
    assert!(bytes[expected.len()..].iter().all(|byte| *byte == 0));
}

#[test]
fn a_piece_comes_back_as_it_was_written() {
    let mut bytes = sealed().finish(&PLACE);
    bytes.push(1);
    let piece = Piece::decode(&bytes).expect("it is a piece");
    assert_eq!((piece.place, piece.size()), (PLACE, PAGE_SIZE));
    assert_eq!((piece.slot, piece.table, piece.number, piece.rows), (SlotId(0x51), TableId(0x61), 0, 2));
    assert_eq!(piece.highest, Epoch(1_003));
    let rows: Vec<_> = piece.rows().collect();
    assert_eq!(rows, [Ok(row(b"a", 1_001, b"row!")), Ok(row(b"b", 1_003, b"row"))]);
}

#[test]
fn a_full_piece_is_sealed_and_a_long_row_has_one_of_its_own() {
    let mut builder = PieceBuilder::new(SlotId(1), TableId(2), Codec::Plain);
    let bytes = vec![7; 300_000];
    let long = vec![8; PIECE_SIZE_MAX];
    let mut pieces: Vec<SealedPiece> = Vec::new();
    for number in 0..7_u64 {
        pieces.extend(builder.add(&row(&number.to_be_bytes(), number, &bytes)));
    }
    pieces.extend(builder.add(&row(b"long", 5, &long)));
    pieces.extend(builder.add(&row(b"short", 4, b"")));
    pieces.extend(builder.seal());
    let counts: Vec<(u32, u32, bool)> = pieces
        .into_iter()
        .map(|piece| {
            let is_long = piece.size() > PIECE_SIZE_MAX;
            let bytes = piece.finish(&PLACE);
            let piece = Piece::decode(&bytes).expect("it is a piece");
            assert_eq!(piece.rows().filter(Result::is_ok).count(), piece.rows as usize);
            (piece.number, piece.rows, is_long)
        })
        .collect();
    assert_eq!(counts, [(0, 3, false), (1, 3, false), (2, 1, false), (3, 1, true), (4, 1, false)]);
}

fn noise(random: &mut Prng, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    random.fill(&mut bytes);
    bytes
}

#[test]
fn compressed_pieces_have_the_same_rows_and_are_shorter() {
    let mut random = Prng::new(7);
    let mut builder = PieceBuilder::new(SlotId(1), TableId(2), Codec::Lz4);
    let text = b"the same words again and again, ".repeat(20);
    let rows: Vec<Vec<u8>> = (0..2_000)
        .map(|number| if number % 4 == 0 { noise(&mut random, 640) } else { text.clone() })
        .collect();
    let mut pieces: Vec<SealedPiece> = Vec::new();
    for (number, bytes) in (0_u64..).zip(&rows) {
        pieces.extend(builder.add(&row(&number.to_be_bytes(), number, bytes)));
    }
    pieces.extend(builder.seal());
    let (mut found, mut size) = (Vec::new(), 0);
    for piece in pieces {
        size += piece.size();
        let bytes = piece.finish(&PLACE);
        let piece = Piece::decode(&bytes).expect("it is a piece");
        assert!(piece.payload.len() <= COMPRESSED_SIZE_MAX);
        found.extend(piece.rows().map(|row| row.expect("a row").row.to_vec()));
    }
    assert_eq!(found, rows);
    assert!(size < rows.iter().map(Vec::len).sum::<usize>() / 2, "{size}");
    // Rows that do not become shorter stay as they are.
    let mut builder = PieceBuilder::new(SlotId(1), TableId(2), Codec::Lz4);
    assert_eq!(builder.add(&row(b"a", 1, &noise(&mut random, 5_000))), None);
    assert_eq!(builder.seal().expect("a piece").finish(&PLACE)[12], Codec::Plain as u8);
}

/// A length that lies about what was compressed makes it bad, and takes no memory.
#[test]
fn a_block_that_was_not_compressed_is_bad() {
    let mut builder = PieceBuilder::new(SlotId(1), TableId(2), Codec::Lz4);
    assert_eq!(builder.add(&row(b"a", 1, &[7; 5_000])), None);
    let good = builder.seal().expect("a piece").finish(&PLACE);
    assert_eq!(good[12], Codec::Lz4 as u8);
    let end = HEADER_SIZE + word(good.first_chunk().expect("a header"), 8) as usize;
    for length in [u32::MAX, 1 << 30, 5_000, 0] {
        let mut bytes = good.clone();
        bytes[HEADER_SIZE..HEADER_SIZE + 4].copy_from_slice(&length.to_le_bytes());
        let checksum = stdx::crc32c_append(stdx::crc32c(&bytes[HEADER_SIZE..end]), &bytes[8..HEADER_SIZE]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(Piece::decode(&bytes), Err(PieceError::Bad), "{length}");
    }
}

#[test]
fn any_flipped_bit_makes_it_bad() {
    let bytes = sealed().finish(&PLACE);
    for bit in 0..(HEADER_SIZE + PAYLOAD_SIZE) * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match Piece::decode(&flipped) {
            Err(PieceError::Bad) => {}
            Err(PieceError::Short(needed)) => assert!(needed > bytes.len(), "bit {bit}"),
            Ok(piece) => panic!("bit {bit} went unnoticed: {piece:?}"),
        }
    }
}

#[test]
fn any_bytes_give_a_piece_or_an_error() {
    let mut random = Prng::new(1);
    let good = sealed().finish(&PLACE);
    assert_eq!(Piece::decode(&good[..71]), Err(PieceError::Short(72)));
    assert_eq!(Piece::decode(&good[..86]), Err(PieceError::Short(87)));
    let mut refused = 0;
    for _ in 0..5_000 {
        let bytes = damaged(&good, HEADER_SIZE, PAYLOAD_SIZE, &mut random);
        if let Ok(piece) = Piece::decode(&bytes) {
            assert!(piece.rows().count() <= PAYLOAD_SIZE);
            refused += usize::from(piece.rows().any(|row| row == Err(RecordError::Truncated)));
        }
    }
    assert!(refused > 0, "sizes that lie were among them");
}
