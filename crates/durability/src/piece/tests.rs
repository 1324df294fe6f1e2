use super::{
    HEADER_SIZE, PIECE_SIZE_MAX, Piece, PieceBuilder, PieceError, PiecePlace, PieceRow, SealedPiece,
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
    let mut builder = PieceBuilder::new(SlotId(0x51), TableId(0x61));
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
    let mut builder = PieceBuilder::new(SlotId(1), TableId(2));
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
