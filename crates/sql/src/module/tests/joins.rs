//! Joins: what they ask of slots, and that they stop between any two pairs.

use super::harness::Harness;
use super::{errno, read_in, texts};
use protocol::program::Access;
use protocol::signal::ReadRequest;
use types::Value;

fn pairs(pairs: &[(i64, i64)]) -> Vec<Vec<Value>> {
    pairs.iter().map(|(id, v)| vec![Value::Int(*id), Value::Int(*v)]).collect()
}

fn keys_of(read: &ReadRequest) -> usize {
    match &read.access {
        Access::Keys(keys) => keys.len(),
        Access::Scan { .. } => panic!("keys were expected: {:?}", read.access),
    }
}

#[test]
fn rows_are_looked_up_once_for_all_left_rows() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness
        .query(client, "SELECT a.id, COALESCE(b.v, 'none') FROM test.t a LEFT JOIN test.t b ON b.id = a.v");
    let left = read_in(harness.only_signal());
    assert!(matches!(left.access, Access::Scan { .. }));
    harness.read_done(&left, &pairs(&[(1, 7), (2, 8), (3, 7), (4, 9)]));
    let right = read_in(harness.only_signal());
    assert_eq!(keys_of(&right), 3);
    harness.read_done(&right, &pairs(&[(9, 90), (7, 70)]));
    let found = texts(harness.response(client));
    assert_eq!(found, [["1", "70"], ["2", "none"], ["3", "70"], ["4", "90"]]);
}

#[test]
fn a_join_without_left_rows_asks_for_no_right_ones() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT COUNT(*) FROM test.t a JOIN test.t b ON b.v = a.v");
    let left = read_in(harness.only_signal());
    harness.read_done(&left, &[]);
    assert_eq!(texts(harness.response(client)), [["0"]]);
    assert!(harness.signals().is_empty());
}

#[test]
fn a_join_of_many_pairs_goes_on_slice_by_slice() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT COUNT(*), MAX(a.v + b.v) FROM test.t a, test.t b WHERE a.v <= b.v");
    let left = read_in(harness.only_signal());
    let values: Vec<Vec<Value>> = (0..100).map(|v| vec![Value::Int(v)]).collect();
    harness.read_done(&left, &values);
    let right = read_in(harness.only_signal());
    harness.read_done(&right, &values);
    assert_eq!(texts(harness.response(client)), [["5050", "198"]]);
}

#[test]
fn rows_of_a_wrong_shape_end_the_statement_only() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT a.id FROM test.t a JOIN test.t b ON b.id = a.v");
    let left = read_in(harness.only_signal());
    harness.read_done(&left, &[vec![Value::Int(1)]]);
    assert_eq!(errno(harness.response(client)), 1815);
    assert_eq!(texts(harness.ask(client, "SELECT 1")), [["1"]]);
}
