use super::CommittedRow;
use crate::fragment::tests::{commit_row, definition, key, memory, row};
use crate::*;
use memory::Guard;
use types::*;

const OPEN: TransactionId = TransactionId(7);

fn rows_of(fragment: &Fragment, slice: usize) -> Vec<(Vec<u8>, u64, Vec<u8>)> {
    let reader = fragment.reader();
    let mut rows: Vec<(Vec<u8>, u64, Vec<u8>)> = Vec::new();
    loop {
        let guard = Guard::enter();
        let after = rows.last().map(|(key, ..)| key.clone());
        let taken: Vec<CommittedRow<'_>> =
            reader.committed_rows(&guard, after.as_deref()).take(slice).collect();
        if taken.is_empty() {
            return rows;
        }
        rows.extend(taken.iter().map(|row| (row.key.to_vec(), row.epoch.0, row.row.to_vec())));
    }
}

#[test]
fn the_newest_committed_version_is_given_with_its_epoch() {
    let mut fragment = Fragment::new(definition(true), memory(64));
    for id in 0..50 {
        commit_row(&mut fragment, id, Some(&row(id, id, b"old")), 10);
    }
    commit_row(&mut fragment, 3, Some(&row(3, 9, b"new")), 12);
    commit_row(&mut fragment, 4, None, 12);
    // Open transactions hide nothing: staged, prepared, of a new row, and a delete.
    fragment.stage(&key(5), OPEN, Some(&row(5, 9, b"staged"))).unwrap();
    let prepared = fragment.stage(&key(6), OPEN, Some(&row(6, 9, b"prepared"))).unwrap();
    fragment.prepare(prepared, OPEN);
    fragment.stage(&key(100), OPEN, Some(&row(100, 9, b"staged"))).unwrap();
    let deleted = fragment.stage(&key(8), OPEN, None).unwrap();
    fragment.prepare(deleted, OPEN);

    let expected: Vec<(Vec<u8>, u64, Vec<u8>)> = (0..50)
        .filter(|id| *id != 4)
        .map(|id| match id {
            3 => (key(3), 12, row(3, 9, b"new")),
            id => (key(id), 10, row(id, id, b"old")),
        })
        .collect();
    for slice in [1, 7, 1_000] {
        assert_eq!(rows_of(&fragment, slice), expected, "{slice} rows at a time");
    }
    for (key, epoch, bytes) in &expected {
        assert_eq!(fragment.committed(key), Some((Epoch(*epoch), Some(&bytes[..]))));
    }
    fragment.commit(prepared, OPEN, Epoch(13));
    fragment.commit(deleted, OPEN, Epoch(13));
    let rows = rows_of(&fragment, 1_000);
    assert_eq!(rows.len(), expected.len() - 1);
    assert!(rows.contains(&(key(6), 13, row(6, 9, b"prepared"))));
}

#[test]
fn an_empty_fragment_has_no_rows() {
    let fragment = Fragment::new(definition(false), memory(64));
    assert_eq!(rows_of(&fragment, 5), []);
}
