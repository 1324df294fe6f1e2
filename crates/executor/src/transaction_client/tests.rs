use super::{CommitPlan, SAVEPOINTS_MAX, TransactionClient};
use types::{SlotId, TransactionId, ViewNumber};

const VIEW: ViewNumber = ViewNumber(1);

fn with_id() -> TransactionClient {
    let mut transaction = TransactionClient::default();
    transaction.id_or_new(|| TransactionId(9));
    transaction
}

#[test]
fn participants_without_operations_take_no_part_in_the_commit() {
    let mut transaction = with_id();
    transaction.touch(SlotId(1), VIEW, true);
    assert_eq!(transaction.commit_plan(), CommitPlan::Nothing);
    transaction.holds(SlotId(1), 3);
    transaction.holds(SlotId(1), 2);
    transaction.touch(SlotId(2), VIEW, false);
    let CommitPlan::One(id, participant) = transaction.commit_plan() else {
        panic!("one participant holds operations")
    };
    assert_eq!((id, participant.slot, participant.operations), (TransactionId(9), SlotId(1), 3));
    transaction.holds(SlotId(2), 1);
    assert!(
        matches!(transaction.commit_plan(), CommitPlan::Several(_, participants) if participants.len() == 2)
    );
    assert!(transaction.has_written(SlotId(1)) && !transaction.has_written(SlotId(2)));
}

#[test]
fn statements_and_savepoints_are_undone_to_their_marks() {
    let mut transaction = with_id();
    transaction.begin(false);
    transaction.start_statement();
    assert!(transaction.began_with_statement());
    transaction.touch(SlotId(1), VIEW, true);
    transaction.holds(SlotId(1), 2);
    transaction.set_savepoint("a");
    transaction.start_statement();
    assert!(!transaction.began_with_statement());
    transaction.touch(SlotId(1), VIEW, true);
    transaction.holds(SlotId(1), 5);
    transaction.touch(SlotId(2), VIEW, true);
    assert_eq!(transaction.undo_statement(), vec![(SlotId(1), 2), (SlotId(2), 0)]);
    transaction.set_savepoint("b");
    assert_eq!(transaction.rollback_to_savepoint("A"), Some(vec![(SlotId(1), 2), (SlotId(2), 0)]));
    assert_eq!(transaction.rollback_to_savepoint("b"), None);
    assert!(transaction.release_savepoint("a") && !transaction.release_savepoint("a"));
    transaction.rolled_back(SlotId(2), 0);
    transaction.rolled_back(SlotId(1), 2);
    assert!(
        matches!(transaction.commit_plan(), CommitPlan::One(_, participant) if participant.operations == 2)
    );
    transaction.end();
    assert!(!transaction.is_open() && !transaction.has_participants());
}

#[test]
fn savepoints_are_limited() {
    let mut transaction = TransactionClient::default();
    transaction.begin(false);
    let mut set = |number: usize| transaction.set_savepoint(&format!("s{number}"));
    assert!((0..SAVEPOINTS_MAX).all(&mut set));
    assert!(!set(SAVEPOINTS_MAX));
    assert!(set(7), "one of the same name takes its place");
    assert!(transaction.release_savepoint("s0"));
    assert!(transaction.set_savepoint("again"));
}
