//! A thread that has nothing to do reads slots of a long scan.

use super::chains::Stored;
use super::harness::{Harness, column_table};
use super::{read_in, texts};
use protocol::program::ReadProgress;
use protocol::signal::ReadRequest;
use protocol::{Address, ModuleKind};
use std::sync::Arc;
use types::{NodeId, SlotId, TableDefinition, TableId, TableSlots, Value};

/// The module that helps.
const HELPER: Address = Address::new(NodeId(4), ModuleKind::Query, 3);
/// Rows that each slot holds: some slices of 64, and with all slots too many to be merged in the order of keys.
const ROWS: i64 = 300;

/// The reads that were asked of the helper since the last call.
fn asked<const COUNT: usize>(harness: &mut Harness) -> [ReadRequest; COUNT] {
    assert_eq!(harness.addressees(), [HELPER; COUNT]);
    let reads: Vec<ReadRequest> = harness.signals().into_iter().map(read_in).collect();
    reads.try_into().expect("as many as addressees")
}

#[test]
fn slots_are_read_by_who_has_nothing_to_do() {
    let mut harness = Harness::with_own_slots(4);
    let slots = TableSlots { ranks: 4, ..TableSlots::ONE_RANK };
    harness.change_schema(|schema| schema.put_table(Arc::new(TableDefinition { slots, ..column_table() })));
    let client = harness.connect();
    let mut table = Stored::new(&harness, TableId(100));
    (0..ROWS).for_each(|id| table.put(&[id, 1], true));
    harness.publish(table.published());
    let slots: Vec<SlotId> = table.published().iter().map(|published| published.slot).collect();
    let [first, second, third, last] = slots[..] else { panic!("four slots: {slots:?}") };
    harness.let_slices_wait();

    harness.query(client, "SELECT id FROM test.t WHERE v = 1");
    harness.slice(None);
    assert!(harness.signals().is_empty(), "nobody is there to help");
    harness.slice(Some(HELPER.instance));
    let [read, next] = asked(&mut harness);
    assert_eq!((read.slot, next.slot), (last, third));
    harness.slice(Some(HELPER.instance));
    assert!(harness.signals().is_empty(), "it has not answered");

    // A part of an answer: the rest is asked for while the first slot is still under way.
    let more = ReadProgress::More { after: Some((*b"key").into()), position: 0 };
    harness.read_part_by(HELPER, &read, &[vec![Value::Int(-1)]], more);
    harness.slice(None);
    let [read] = asked(&mut harness);
    assert_eq!(read.slot, last);
    harness.read_part_by(HELPER, &read, &[vec![Value::Int(-2)]], ReadProgress::End);

    // It has one more, and this thread no more than two: they are its own.
    harness.slice(None);
    assert!(harness.signals().is_empty());
    harness.read_part_by(HELPER, &next, &[], ReadProgress::End);
    while harness.waits_for_a_slice() {
        harness.slice(None);
    }
    let rows = texts(harness.response(client));
    let own = [first, second].len() * usize::try_from(ROWS).expect("few");
    assert_eq!(rows.len(), own + 2);
}
