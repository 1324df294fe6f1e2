//! Memory that loading leaves behind. It is a process of its own, because others of its tests would read meanwhile.

use durability::{Codec, Entry, PieceBuilder, PiecePlace, PieceRow, Position};
use memory::{MemoryConfig, MemoryManager};
use protocol::control::GroupId;
use query::{LoadStep, Loaded, Loader, Shares};
use types::{Epoch, NodeId, SlotId, TableId};

/// Tables grow one after the other: each leaves arrays behind that were too small. A node whose memory is nearly full
/// of rows has no room for those of all its tables.
#[test]
fn what_growing_fragments_leave_behind_is_free_for_the_next() {
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let mut loader = Loader::new(memory, Shares { ldms: 1, replicas: 1 }, Some(0));
    for table in 1..=30 {
        let mut builder = PieceBuilder::new(SlotId(1), TableId(table), Codec::Plain);
        for number in 0..5_000_u32 {
            let row = PieceRow { key: &number.to_be_bytes(), epoch: Epoch(1), row: &[7; 20] };
            assert!(builder.add(&row).is_none(), "one piece has them all");
        }
        let place = PiecePlace { founding: GroupId(1), node: NodeId(2), file: 1, offset: 0 };
        let piece = builder.seal().expect("rows").finish(&place);
        assert!(matches!(loader.step(LoadStep::Piece(piece)), Loaded::Step));
        let fragments = (1..=table).filter_map(|table| loader.fragment((TableId(table), SlotId(1))));
        let left: u64 = fragments.map(|fragment| fragment.statistics().retired_bytes).sum();
        assert_eq!(left, 0, "after table {table}");
    }
}

/// A transaction's rows are logged the last one first. A node whose memory was full of rows that came in the order of
/// their keys has no room for leaves that are half empty.
#[test]
fn rows_of_the_log_lie_as_densely_as_those_of_a_checkpoint() {
    const ROWS: u32 = 20_000;
    const OF_A_TRANSACTION: usize = 500;
    let index_bytes = |of_transaction: fn(&mut [u32])| {
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
        let mut loader = Loader::new(memory, Shares { ldms: 1, replicas: 1 }, Some(0));
        let mut numbers: Vec<u32> = (0..ROWS).collect();
        for transaction in numbers.chunks_mut(OF_A_TRANSACTION) {
            of_transaction(transaction);
            let keys: Vec<[u8; 4]> = transaction.iter().map(|number| number.to_be_bytes()).collect();
            let entry = |key| {
                let place = (SlotId(1), TableId(1), Epoch(1));
                Entry { slot: place.0, table: place.1, epoch: place.2, key, row: Some(&[7; 20][..]) }
            };
            let entries = keys.iter().map(|key| (Position(1), entry(&key[..]))).collect();
            loader.take(entries).expect("there is room");
        }
        let fragment = loader.fragment((TableId(1), SlotId(1))).expect("it has rows");
        fragment.statistics().index_bytes
    };
    assert_eq!(index_bytes(<[u32]>::reverse), index_bytes(|_| {}));
}
