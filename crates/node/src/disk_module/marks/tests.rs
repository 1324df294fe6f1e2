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
fn what_stands_behind_the_durable_mark_is_exposed() {
    let mut marks = Marks::default();
    marks.mark(Epoch(3), 110);
    marks.mark(Epoch(5), 320);
    for (durable, exposed) in [(2, 370), (4, 260), (5, 50), (9, 50)] {
        marks.end(Epoch(durable));
        assert_eq!(marks.exposed(370), exposed, "D is {durable}");
    }
}

#[test]
fn more_marks_than_are_remembered_leave_too_much_exposed() {
    let mut marks = Marks::default();
    let count = REMEMBERED_MAX as u64 + 5;
    (1..=count).for_each(|epoch| marks.close(Epoch(epoch), epoch));
    assert_eq!(marks.closed_at_us(Epoch(5)), None);
    assert_eq!(marks.closed_at_us(Epoch(count)), Some(count));
    (1..=count).for_each(|epoch| marks.mark(Epoch(epoch), epoch));
    marks.end(Epoch(count));
    assert_eq!(marks.exposed(count), 5);
    marks.mark(Epoch(count + 1), count + 1);
    marks.end(Epoch(count + 1));
    assert_eq!(marks.exposed(count + 1), 0);
}
