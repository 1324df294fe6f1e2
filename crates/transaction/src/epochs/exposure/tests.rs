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
