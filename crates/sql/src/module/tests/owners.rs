//! Reads go to the threads that own the slots.

use super::chains::Stored;
use super::harness::{Harness, column_table};
use super::{read_in, texts};
use protocol::program::{ReadProgress, Refusal};
use protocol::{Address, ModuleKind};
use std::sync::Arc;
use types::{NodeId, TableDefinition, TableId, TableSlots, Value};

/// A table of so many slots, whose first column and key is 1 to 9 in each of them.
fn with_rows(harness: &mut Harness, ranks: u16) {
    let slots = TableSlots { ranks, ..TableSlots::ONE_RANK };
    harness.change_schema(|schema| schema.put_table(Arc::new(TableDefinition { slots, ..column_table() })));
    let mut table = Stored::new(harness, TableId(100));
    (1..10).for_each(|id| table.put(&[id, 1], true));
    harness.publish(table.published());
}

fn own(kind: ModuleKind, instance: u8) -> Address {
    Address::new(NodeId(4), kind, instance)
}

#[test]
fn each_slot_is_read_by_the_query_of_its_ldm() {
    let mut harness = Harness::with_owners(4, 2);
    with_rows(&mut harness, 4);
    let client = harness.connect();
    harness.query(client, "SELECT id FROM test.t");
    // Four slots in turn on two ldm.
    let mut asked = harness.addressees();
    asked.sort_unstable();
    let query = |instance| own(ModuleKind::Query, instance);
    assert_eq!(asked, [query(0), query(0), query(1), query(1)]);
    for signal in harness.signals() {
        let read = read_in(signal);
        harness.read_part_by(query(0), &read, &[vec![Value::Int(7)]], ReadProgress::End);
    }
    assert_eq!(texts(harness.response(client)), [["7"]; 4]);
}

#[test]
fn a_point_select_is_asked_of_the_ldm_where_there_is_no_query() {
    let mut harness = Harness::with_owners(1, 0);
    with_rows(&mut harness, 1);
    let client = harness.connect();
    harness.query(client, "SELECT id FROM test.t WHERE id = 3");
    let [owner] = harness.addressees()[..] else { panic!("one owner") };
    assert_eq!((owner.node, owner.kind), (NodeId(4), ModuleKind::Ldm));
    let read = read_in(harness.only_signal());
    harness.read_part_by(owner, &read, &[vec![Value::Int(3)]], ReadProgress::End);
    assert_eq!(texts(harness.response(client)), [["3"]]);
    assert_eq!(harness.answered_at_once(), 0);
}

/// The owner's map is of another view, or has the table in another version: its rows are here all the same.
#[test]
fn what_an_owner_refuses_is_read_here() {
    for refusal in [Refusal::WrongView, Refusal::WrongSchema] {
        let mut harness = Harness::with_owners(1, 1);
        with_rows(&mut harness, 1);
        let client = harness.connect();
        harness.query(client, "SELECT COUNT(*) FROM test.t WHERE v = 1");
        let read = read_in(harness.only_signal());
        harness.read_refused_by(own(ModuleKind::Query, 0), &read, refusal);
        assert!(harness.signals().is_empty());
        assert_eq!(texts(harness.response(client)), [["9"]]);
    }
}
