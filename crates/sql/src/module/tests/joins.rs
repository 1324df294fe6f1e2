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

/// The reads that have been asked for.
fn reads(harness: &mut Harness) -> Vec<ReadRequest> {
    harness.signals().into_iter().map(read_in).collect()
}

#[test]
fn subqueries_of_several_rows_ask_at_the_same_time() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut memory = Vec::new();
    for _ in 0..2 {
        harness.query(
            client,
            "SELECT a.id, (SELECT b.v FROM test.t b WHERE b.id > a.v ORDER BY b.id LIMIT 1) FROM test.t a",
        );
        let left = read_in(harness.only_signal());
        harness.read_done(&left, &pairs(&[(1, 7), (2, 8), (3, 7), (4, 9)]));
        // Two rows have the same value: only the first one asks.
        let asked = reads(&mut harness);
        assert_eq!(asked.len(), 3);
        for (read, v) in asked.iter().zip([70, 80, 90]).rev() {
            harness.read_done(read, &[vec![Value::Int(v)]]);
        }
        assert!(harness.signals().is_empty());
        let found = texts(harness.response(client));
        assert_eq!(found, [["1", "70"], ["2", "80"], ["3", "70"], ["4", "90"]]);
        memory.push(harness.query_memory());
    }
    assert_eq!(memory[0], memory[1], "all is given back");
}

#[test]
fn not_all_subqueries_ask_at_the_same_time() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(
        client,
        "SELECT SUM((SELECT b.v FROM test.t b WHERE b.id > a.v ORDER BY b.id LIMIT 1)) FROM test.t a",
    );
    let left = read_in(harness.only_signal());
    harness.read_done(&left, &(0..40).map(|v| vec![Value::Int(v)]).collect::<Vec<_>>());
    let mut asked = std::collections::VecDeque::from(reads(&mut harness));
    assert_eq!(asked.len(), 8);
    let mut answered = 0;
    while let Some(read) = asked.pop_front() {
        harness.read_done(&read, &[vec![Value::Int(1)]]);
        answered += 1;
        asked.extend(reads(&mut harness));
        assert!(asked.len() <= 8);
    }
    assert_eq!((answered, texts(harness.response(client))), (40, vec![vec!["40".to_owned()]]));
}

#[test]
fn a_subquery_that_runs_ahead_fails_when_its_row_has_its_turn() {
    for (limit, expected) in [(1, 0), (2, 1690)] {
        let mut harness = Harness::new();
        let client = harness.connect();
        harness.query(
            client,
            &format!(
                "SELECT (SELECT MAX(b.v) * 9223372036854775807 FROM test.t b WHERE b.id > a.v) FROM test.t a LIMIT {limit}"
            ),
        );
        let left = read_in(harness.only_signal());
        harness.read_done(&left, &[vec![Value::Int(7)], vec![Value::Int(8)]]);
        let asked = reads(&mut harness);
        assert_eq!(asked.len(), 2);
        let answer = |harness: &mut Harness, read: &ReadRequest, v: i64| {
            let state = stdx::wire::to_bytes(&expression::aggregate::AggregateState::Extreme(Value::Int(v)));
            harness.read_done(read, &[vec![Value::Bytes(state)]]);
        };
        answer(&mut harness, &asked[1], 2);
        answer(&mut harness, &asked[0], 1);
        for again in reads(&mut harness) {
            answer(&mut harness, &again, 2);
        }
        let response = harness.response(client);
        if expected == 0 {
            assert_eq!(texts(response), [["9223372036854775807"]]);
        } else {
            assert_eq!(errno(response), expected);
        }
    }
}
