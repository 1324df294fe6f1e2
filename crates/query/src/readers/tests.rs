use super::*;
use crate::read::tests::{filled, table};
use storage::Fragment;

fn fragment(id: i64) -> Fragment {
    filled(&table(), std::iter::once(id)).1
}

#[test]
fn a_reader_is_found_by_table_and_slot() {
    let mut readers = Readers::default();
    let fragment = fragment(1);
    let mut put = |table: u32, slot: u32| {
        let (table, slot, reader) = (TableId(table), SlotId(slot), fragment.reader());
        readers.insert(PublishedReader { table, slot, reader });
    };
    // (In any order: the slots of a table are put in by several ldms.)
    for (table, slot) in [(1, 0), (100, 9), (100, 7), (100, 12), (300, 7)] {
        put(table, slot);
    }
    let slots = |readers: &Readers, table: u32| -> Vec<u32> {
        (0..20).filter(|slot| readers.get(TableId(table), SlotId(*slot)).is_some()).collect()
    };
    let found = [1, 100, 300, 2].map(|table| slots(&readers, table));
    assert_eq!(found, [vec![0], vec![7, 9, 12], vec![7], vec![]]);
    let few = readers.only(|slot| slot != SlotId(7));
    assert_eq!([1, 100, 300].map(|table| slots(&few, table)), [vec![0], vec![9, 12], vec![]]);
    let all = readers.only(|_| true);
    assert!(readers.tables.differences(&all.tables).is_empty(), "nothing is copied");
    readers.remove_table(TableId(100));
    assert_eq!([1, 100, 300].map(|table| slots(&readers, table)), [vec![0], vec![], vec![7]]);
    assert_eq!(slots(&all, 100), [7, 9, 12], "a copy is a copy");
}
