use super::{AFTER, KnownOutcomes};
use stdx::{Duration, Instant, Now, WallTime};
use types::{SlotId, TransactionId};

fn at(milliseconds: u64) -> Now {
    Now { monotonic: Instant(0) + Duration::from_millis(milliseconds), wall: WallTime(0) }
}

#[test]
fn a_full_list_is_told_at_once_and_the_rest_in_time() {
    let mut known = KnownOutcomes::by(3);
    let (busy, quiet) = (SlotId(7), SlotId(3));
    assert_eq!(known.note(busy, TransactionId(1)), None);
    known.watch(at(1));
    assert_eq!(known.note(quiet, TransactionId(2)), None);
    known.watch(at(2));
    assert_eq!(known.note(busy, TransactionId(3)), None);
    assert_eq!(known.note(busy, TransactionId(4)), Some([1, 3, 4].map(TransactionId).to_vec()));
    // From the first that was not told when it came.
    assert_eq!(known.deadline(), Some(at(1).monotonic + AFTER));
    let after = u64::try_from(AFTER.as_millis()).unwrap();
    assert!(known.take_due(at(after)).is_empty());
    assert_eq!(known.take_due(at(1 + after)), [(quiet, vec![TransactionId(2)])]);
    known.watch(at(500));
    assert_eq!(known.deadline(), None);
}

#[test]
fn nobody_waits_for_a_list_that_was_told() {
    let mut known = KnownOutcomes::by(1);
    assert!(known.note(SlotId(1), TransactionId(1)).is_some());
    known.watch(at(1));
    assert_eq!(known.deadline(), None);
    // The next one has its whole time.
    let mut known = KnownOutcomes::by(2);
    assert_eq!(known.note(SlotId(1), TransactionId(1)), None);
    known.watch(at(1));
    assert!(known.note(SlotId(1), TransactionId(2)).is_some());
    assert_eq!(known.note(SlotId(1), TransactionId(3)), None);
    known.watch(at(50));
    assert_eq!(known.deadline(), Some(at(50).monotonic + AFTER));
}
