use super::{Marks, REMEMBERED_MAX};
use types::Epoch;

#[test]
fn a_mark_has_the_time_at_which_its_epoch_was_closed() {
    let mut marks = Marks::default();
    assert_eq!(marks.closed_at_us(Epoch(1)), None, "nobody has said when");
    for (epoch, at_us) in [(2, 20), (4, 40), (4, 41), (9, 90)] {
        marks.close(Epoch(epoch), at_us);
    }
    assert_eq!(marks.closed_at_us(Epoch(4)), Some(40));
    assert_eq!(marks.closed_at_us(Epoch(8)), None);
    assert_eq!(marks.closed_at_us(Epoch(9)), Some(90));
}

#[test]
fn blocks_with_a_newer_epoch_than_the_durable_one_are_exposed() {
    let mut marks = Marks::default();
    // The second block came before the mark of epoch 3. The last one has older rows than that before it.
    for (highest, bytes) in [(3, 100), (4, 20), (6, 3), (5, 4_000)] {
        marks.push(Epoch(highest), bytes);
    }
    for (durable, exposed) in [(2, 4_123), (3, 4_023), (4, 4_003), (5, 4_003), (6, 0)] {
        marks.end(Epoch(durable));
        assert_eq!(marks.exposed(), exposed, "D is {durable}");
    }
    marks.push(Epoch(6), 7);
    assert_eq!(marks.exposed(), 0, "all of it is durable already");
}

#[test]
fn more_epochs_than_are_remembered_stay_exposed_too_long() {
    let mut marks = Marks::default();
    let count = REMEMBERED_MAX as u64 + 5;
    (1..=count).for_each(|epoch| marks.close(Epoch(epoch), epoch));
    assert_eq!(marks.closed_at_us(Epoch(5)), None);
    assert_eq!(marks.closed_at_us(Epoch(count)), Some(count));
    (1..=count).for_each(|epoch| marks.push(Epoch(epoch), 1));
    marks.end(Epoch(count - 1));
    assert_eq!(marks.exposed(), 6);
    marks.end(Epoch(count));
    assert_eq!(marks.exposed(), 0);
}
