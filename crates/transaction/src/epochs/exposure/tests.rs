use super::{Exposure, REMEMBERED_MAX};
use stdx::Instant;
use types::Epoch;

#[test]
fn it_is_exposed_since_the_first_stamp_that_is_not_durable() {
    let mut exposure = Exposure::default();
    assert_eq!(exposure.since(), None);
    exposure.note(Epoch(3), Instant(10));
    exposure.note(Epoch(5), Instant(20));
    exposure.end(Epoch(2));
    assert_eq!(exposure.since(), Some(Instant(10)));
    exposure.end(Epoch(4));
    assert_eq!(exposure.since(), Some(Instant(20)));
    exposure.end(Epoch(5));
    assert_eq!(exposure.since(), None);
}

#[test]
fn with_too_many_epochs_an_older_moment_is_told() {
    let mut exposure = Exposure::default();
    let count = REMEMBERED_MAX as u64;
    (1..=count + 9).for_each(|epoch| exposure.note(Epoch(epoch), Instant(epoch)));
    exposure.end(Epoch(count + 4));
    assert_eq!(exposure.since(), Some(Instant(count + 1)), "later ones stand behind it");
    exposure.end(Epoch(count + 9));
    assert_eq!(exposure.since(), None);
    exposure.note(Epoch(count + 10), Instant(99));
    assert_eq!(exposure.since(), Some(Instant(99)));
}

#[test]
fn an_older_stamp_of_another_node_takes_the_place_of_an_own_one() {
    let mut exposure = Exposure::default();
    exposure.note(Epoch(5), Instant(30));
    exposure.note(Epoch(4), Instant(12));
    exposure.note(Epoch(4), Instant(10));
    exposure.note(Epoch(4), Instant(20));
    assert_eq!(exposure.since(), Some(Instant(10)));
    assert_eq!(exposure.first_of(Epoch(4), Epoch(9)), Some(Instant(30)));
    assert_eq!(exposure.first_of(Epoch(3), Epoch(4)), Some(Instant(10)));
    assert_eq!(exposure.first_of(Epoch(5), Epoch(9)), None);
    exposure.end(Epoch(4));
    assert_eq!(exposure.since(), Some(Instant(30)));
}
