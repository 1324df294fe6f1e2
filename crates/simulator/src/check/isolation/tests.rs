use super::{by_adya, own};
use crate::workload::lists::{End, Step, Transaction};
use std::collections::BTreeMap;

fn transaction(from: u64, steps: Vec<Step>) -> Transaction {
    Transaction { from, until: from + 5, steps, end: End::Committed }
}

fn lists(lists: &[(u64, &[u64])]) -> BTreeMap<u64, Vec<u64>> {
    lists.iter().map(|(key, list)| (*key, list.to_vec())).collect()
}

#[test]
fn a_serial_history_passes_both_judges() {
    let history = [
        transaction(0, vec![Step::Append(1, 10), Step::Append(2, 11)]),
        transaction(10, vec![Step::Read(1, Some(vec![10])), Step::Append(1, 12)]),
    ];
    assert_eq!(own(&history, &lists(&[(1, &[10, 12]), (2, &[11])])), None);
    assert_eq!(by_adya(&history), None);
}

#[test]
fn both_judges_refuse_an_aborted_read() {
    let mut aborted = transaction(0, vec![Step::Append(1, 10)]);
    aborted.end = End::Aborted;
    let history = [aborted, transaction(1, vec![Step::Read(1, Some(vec![10]))])];
    assert!(own(&history, &lists(&[(1, &[])])).is_some());
    assert!(by_adya(&history).is_some());
}

#[test]
fn both_judges_refuse_circular_information_flow() {
    let history = [
        transaction(0, vec![Step::Append(1, 10), Step::Read(2, Some(vec![20]))]),
        transaction(1, vec![Step::Append(2, 20), Step::Read(1, Some(vec![10]))]),
    ];
    assert!(own(&history, &lists(&[(1, &[10]), (2, &[20])])).is_some());
    assert!(by_adya(&history).is_some());
}

#[test]
fn a_lost_append_is_refused() {
    let history = [transaction(0, vec![Step::Append(1, 10)])];
    assert!(own(&history, &lists(&[(1, &[])])).is_some());
}
