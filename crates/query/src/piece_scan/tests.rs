use super::{PieceScan, PieceStep};
use durability::Codec;
use durability::{Piece, PiecePlace, SealedPiece};
use memory::{MemoryConfig, MemoryManager};
use protocol::Budget;
use protocol::control::GroupId;
use std::sync::Arc;
use storage::{Fragment, FragmentDefinition};
use types::{Epoch, NodeId, SlotId, TableId, TransactionId};

const TABLE: TableId = TableId(7);
const SLOT: SlotId = SlotId(3);
const WRITER: TransactionId = TransactionId(1);

fn put(fragment: &mut Fragment, id: u32, epoch: u64, row: Option<&[u8]>) {
    let handle = fragment.stage(&id.to_be_bytes(), WRITER, row).expect("memory");
    fragment.commit(handle, WRITER, Epoch(epoch));
}

fn rows_of(piece: SealedPiece, number: u32) -> Vec<(u32, u64, usize)> {
    let place = PiecePlace { founding: GroupId(1), node: NodeId(1), file: 1, offset: 0 };
    let bytes = piece.finish(&place);
    let piece = Piece::decode(&bytes).expect("a piece");
    assert_eq!((piece.table, piece.slot, piece.number), (TABLE, SLOT, number));
    let row = |row: durability::PieceRow<'_>| {
        (u32::from_be_bytes(row.key.try_into().expect("a key")), row.epoch.0, row.row.len())
    };
    piece.rows().map(|read| row(read.expect("a row"))).collect()
}

/// Rows change while they are read: each is given once, in the order of keys, as it was or as it is.
#[test]
fn a_fragment_is_read_in_slices_and_pieces() {
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let mut fragment = Fragment::new(Arc::new(FragmentDefinition::bare(TABLE)), memory);
    (0..3_000).for_each(|id| put(&mut fragment, id, 10, Some(&[1; 1_000])));
    let mut scan = PieceScan::new(TABLE, SLOT, fragment.reader(), Codec::Plain);
    let (mut rows, mut slices) = (Vec::new(), 0);
    while !scan.is_done() {
        let piece = match scan.step(&mut Budget::of(100)) {
            PieceStep::Spent => None,
            PieceStep::Sealed(piece) => Some(piece),
            PieceStep::End(piece) => piece,
        };
        if let Some(piece) = piece {
            rows.extend(rows_of(piece, scan.pieces() - 1));
        }
        slices += 1;
        if slices == 5 {
            put(&mut fragment, 3, 11, Some(&[2; 10]));
            put(&mut fragment, 4, 11, None);
            put(&mut fragment, 2_000, 11, Some(&[2; 10]));
            put(&mut fragment, 2_001, 11, None);
        }
    }
    assert!(slices > 30 && scan.pieces() == 3, "{slices} slices, {} pieces", scan.pieces());
    assert_eq!(scan.rows(), rows.len() as u64);
    let expected = (0..3_000).filter(|id| *id != 2_001);
    let expected = expected.map(|id| if id == 2_000 { (id, 11, 10) } else { (id, 10, 1_000) });
    assert_eq!(rows, expected.collect::<Vec<_>>());
}

#[test]
fn a_fragment_without_rows_has_no_pieces() {
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(16 << 20));
    let fragment = Fragment::new(Arc::new(FragmentDefinition::bare(TABLE)), memory);
    let mut scan = PieceScan::new(TABLE, SLOT, fragment.reader(), Codec::Plain);
    assert!(matches!(scan.step(&mut Budget::of(1)), PieceStep::End(None)));
    assert_eq!((scan.is_done(), scan.rows(), scan.pieces()), (true, 0, 0));
}
