//! The rules of passing, and of turns.

use super::*;
use protocol::program::LockMode::{Exclusive, Shared};

const OTHER: TransactionId = TransactionId(99);

fn key() -> LockKey {
    LockKey { slot: SlotId(1), table: TableId(7), key: [1, 2].into() }
}

fn id(number: u64) -> TransactionId {
    TransactionId(number)
}

fn turn(locks: &Locks) -> Option<WaitId> {
    locks.first_grantable(&key(), || None)
}

#[test]
fn newcomers_stand_behind_those_who_wait() {
    let mut locks = Locks::default();
    assert!(!locks.is_blocked(&key(), id(1), Exclusive, None, Place::Last));
    assert!(locks.is_blocked(&key(), id(1), Shared, Some(OTHER), Place::Last));
    locks.hold(&key(), id(1), Shared);
    assert!(!locks.is_blocked(&key(), id(2), Shared, None, Place::Last));
    assert!(locks.is_blocked(&key(), id(2), Exclusive, None, Place::Last));
    locks.wait(&key(), WaitId(1), id(2), Exclusive);
    assert!(locks.is_blocked(&key(), id(3), Shared, None, Place::Last), "behind the exclusive waiter");
    assert!(!locks.is_blocked(&key(), id(3), Shared, None, Place::First), "its turn has come");
    assert!(!locks.is_blocked(&key(), id(1), Exclusive, None, Place::Last), "who has it is not held up");
}

#[test]
fn turns_come_in_the_order_of_arrival() {
    let mut locks = Locks::default();
    locks.hold(&key(), id(1), Exclusive);
    for (number, mode) in [(2, Exclusive), (3, Shared), (4, Shared), (5, Exclusive)] {
        locks.wait(&key(), WaitId(number), id(number), mode);
    }
    assert_eq!(turn(&locks), None);
    locks.release(&key(), id(1));
    assert_eq!(turn(&locks), Some(WaitId(2)));
    assert_eq!(locks.first_grantable(&key(), || Some(OTHER)), None, "the row is written");
    locks.stop_waiting(WaitId(2));
    assert_eq!(turn(&locks), Some(WaitId(3)));
    locks.hold(&key(), id(3), Shared);
    locks.stop_waiting(WaitId(3));
    assert_eq!(turn(&locks), Some(WaitId(4)));
    locks.hold(&key(), id(4), Shared);
    locks.stop_waiting(WaitId(4));
    assert_eq!(turn(&locks), None);
    locks.release(&key(), id(3));
    locks.release(&key(), id(4));
    assert_eq!(turn(&locks), Some(WaitId(5)));
    locks.stop_waiting(WaitId(5));
    assert!(locks.is_empty());
}

#[test]
fn whoever_has_the_row_passes_those_who_wait_for_it() {
    let mut locks = Locks::default();
    locks.hold(&key(), id(1), Shared);
    locks.hold(&key(), id(2), Shared);
    locks.wait(&key(), WaitId(1), id(3), Exclusive);
    locks.wait(&key(), WaitId(2), id(1), Exclusive);
    assert_eq!(turn(&locks), None);
    locks.release(&key(), id(2));
    assert_eq!(turn(&locks), Some(WaitId(2)), "an upgrade");
    // Two requests of one transaction may wait for one row: the first one wrote it.
    locks.release(&key(), id(1));
    assert_eq!(locks.first_grantable(&key(), || Some(id(1))), Some(WaitId(2)));
    assert_eq!(locks.first_grantable(&key(), || Some(id(3))), Some(WaitId(1)));
}
