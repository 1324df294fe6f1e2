use super::check;
use crate::workload::registers::{Event, Operation};

fn event(from: u64, until: u64, operation: Operation) -> Event {
    Event { key: 0, from, until: (until > 0).then_some(until), operation }
}

#[test]
fn accepts_what_is_linearizable() {
    let history = [
        event(0, 10, Operation::Write(1)),
        event(5, 20, Operation::Read(None)),
        event(6, 30, Operation::Write(2)),
        event(31, 40, Operation::Read(Some(2))),
        event(41, 0, Operation::Delete(false)),
        event(50, 60, Operation::Read(None)),
    ];
    assert_eq!(check(&history), None);
}

#[test]
fn refuses_a_stale_read() {
    let history = [
        event(0, 10, Operation::Write(1)),
        event(11, 20, Operation::Write(2)),
        event(21, 30, Operation::Read(Some(1))),
    ];
    assert!(check(&history).is_some());
}

#[test]
fn refuses_reads_that_go_back() {
    let history = [
        event(0, 10, Operation::Write(1)),
        event(11, 100, Operation::Write(2)),
        event(20, 30, Operation::Read(Some(2))),
        event(31, 40, Operation::Read(Some(1))),
    ];
    assert!(check(&history).is_some());
}

#[test]
fn an_unknown_write_may_be_seen_late_but_not_undone() {
    let seen = [
        event(0, 0, Operation::Write(1)),
        event(5, 10, Operation::Read(None)),
        event(20, 30, Operation::Read(Some(1))),
    ];
    assert_eq!(check(&seen), None);
    let undone = [
        event(0, 0, Operation::Write(1)),
        event(5, 10, Operation::Read(Some(1))),
        event(20, 30, Operation::Read(None)),
    ];
    assert!(check(&undone).is_some());
}
