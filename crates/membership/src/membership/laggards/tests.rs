use super::Blame::{Mutual, OneSided};
use super::*;
use crate::succession;
use fixtures::{data_node, replicas};
use protocol::NodeInfo;
use types::Incarnation;

const LATE: NodeId = NodeId(2);

fn at(milliseconds: u64) -> Instant {
    Instant(milliseconds * 1_000_000)
}

/// Reports each 250 ms in this time; when the first of them has a consequence.
fn report(laggards: &mut Laggards, view: &View, node: NodeId, times: std::ops::Range<u64>) -> Option<u64> {
    times.step_by(250).find(|now| laggards.on_report(at(*now), view, node, OneSided))
}

#[test]
fn only_who_is_late_for_long_has_to_leave() {
    let (mut laggards, view) = (Laggards::default(), replicas(3));
    assert_eq!(report(&mut laggards, &view, LATE, 0..1_000), None);
    // A second later it is another time, and so it is behind a doubt.
    assert_eq!(report(&mut laggards, &view, LATE, 2_000..3_000), None);
    laggards.on_doubt(LATE);
    assert_eq!(report(&mut laggards, &view, LATE, 3_000..4_000), None);
    assert_eq!(report(&mut laggards, &view, LATE, 4_000..9_000), Some(4_000));
    assert!(laggards.on_asked(at(4_000), LATE));
    // Not at each report.
    assert!(!laggards.on_report(at(4_100), &view, LATE, OneSided));
    assert!(laggards.on_report(at(4_250), &view, LATE, OneSided));
    assert!(!laggards.on_asked(at(4_250), LATE));
}

#[test]
fn after_a_change_of_members_those_in_sync_are_spared() {
    let (mut laggards, first) = (Laggards::default(), replicas(3));
    let second = succession::without(&first, &[NodeId(3)]).unwrap();
    laggards.on_view(at(5_000), &first, &second);
    assert_eq!(report(&mut laggards, &second, LATE, 5_000..30_000), Some(15_000));
    // The same members once more are no change; one that joins is, but is not spared itself.
    let third = succession::renewed(&second);
    laggards.on_view(at(30_100), &second, &third);
    assert_eq!(report(&mut laggards, &third, LATE, 30_100..40_000), Some(31_100));
    let fourth =
        succession::with_joining(&third, &NodeInfo { incarnation: Incarnation(9), ..data_node(3) }).unwrap();
    laggards.on_view(at(40_000), &third, &fourth);
    assert_eq!(report(&mut laggards, &fourth, NodeId(3), 40_000..60_000), Some(44_000));
    // The joining one leaves again: those in sync are spared no longer for that.
    laggards.on_view(at(45_000), &fourth, &succession::without(&fourth, &[NodeId(3)]).unwrap());
    assert_eq!(report(&mut laggards, &fourth, LATE, 45_000..60_000), Some(50_000));
}

#[test]
fn one_that_joins_may_wait_for_another_that_is_late() {
    let (mut laggards, first) = (Laggards::default(), replicas(3));
    let second = succession::without(&first, &[NodeId(3)]).unwrap();
    let joining =
        succession::with_joining(&second, &NodeInfo { incarnation: Incarnation(9), ..data_node(3) }).unwrap();
    laggards.on_view(at(0), &second, &joining);
    for now in (0..10_000).step_by(250) {
        assert!(!laggards.on_report(at(now), &joining, NodeId(3), OneSided));
        assert!(!laggards.on_report(at(now), &joining, LATE, OneSided));
    }
    assert!(laggards.on_report(at(10_000), &joining, LATE, OneSided));
    laggards.on_doubt(LATE);
    assert!(laggards.on_report(at(10_100), &joining, NodeId(3), OneSided));
}

#[test]
fn two_that_join_do_not_spare_each_other() {
    let (mut laggards, first) = (Laggards::default(), replicas(3));
    let alone = succession::without(&first, &[NodeId(2), NodeId(3)]).unwrap();
    let again = |node| NodeInfo { incarnation: Incarnation(9), ..data_node(node) };
    let joining = succession::with_joining(&alone, &again(2)).unwrap();
    let joining = succession::with_joining(&joining, &again(3)).unwrap();
    laggards.on_view(at(0), &alone, &joining);
    for now in (0..4_000).step_by(250) {
        assert!(!laggards.on_report(at(now), &joining, NodeId(2), OneSided));
        assert!(!laggards.on_report(at(now), &joining, NodeId(3), OneSided));
    }
    assert!(laggards.on_report(at(4_000), &joining, NodeId(2), OneSided));
}

#[test]
fn one_that_joins_is_not_spared_for_ever_by_one_that_may_not_leave() {
    let (mut laggards, first) = (Laggards::default(), replicas(3));
    let second = succession::without(&first, &[NodeId(3)]).unwrap();
    let joining =
        succession::with_joining(&second, &NodeInfo { incarnation: Incarnation(9), ..data_node(3) }).unwrap();
    laggards.on_view(at(0), &second, &joining);
    let mut times = (0..60_000).step_by(250);
    let asked = times.find(|now| {
        // Nothing comes of this: it is the last in sync, say.
        laggards.on_report(at(*now), &joining, LATE, OneSided);
        laggards.on_report(at(*now), &joining, NodeId(3), OneSided)
    });
    assert_eq!(asked, Some(15_000));
}

#[test]
fn two_that_blame_each_other_are_given_time_for_a_watchdog() {
    let (mut laggards, view) = (Laggards::default(), replicas(3));
    let asked = (0..10_000).step_by(250).find(|now| laggards.on_report(at(*now), &view, LATE, Mutual));
    assert_eq!(asked, Some(4_000));
}

#[test]
fn one_that_comes_and_goes_protects_nobody_for_ever() {
    // Node 3 starts again every four seconds, and is in sync for a moment each time.
    let (mut laggards, all) = (Laggards::default(), replicas(3));
    let alone = succession::without(&all, &[NodeId(3)]).unwrap();
    let mut asked = (0_u64..60_000).step_by(250).filter(|now| {
        match now % 4_000 {
            0 => laggards.on_view(at(*now), &alone, &all),
            2_000 => laggards.on_view(at(*now), &all, &alone),
            _ => {}
        }
        laggards.on_report(at(*now), &alone, LATE, OneSided)
    });
    assert_eq!(asked.next(), Some(10_000));
    assert!(asked.next().is_some_and(|now| now < 20_000));
}

#[test]
fn a_laggard_that_left_spares_the_others_again() {
    let (mut laggards, first) = (Laggards::default(), replicas(3));
    let second = succession::without(&first, &[NodeId(3)]).unwrap();
    laggards.on_view(at(0), &View::none(), &first);
    laggards.on_asked(at(12_000), NodeId(3));
    laggards.on_view(at(12_000), &first, &second);
    assert_eq!(report(&mut laggards, &second, LATE, 12_000..40_000), Some(22_000));
}

#[test]
fn the_word_that_a_member_was_late_may_come_behind_the_view() {
    let first = replicas(3);
    let second = succession::without(&first, &[NodeId(3)]).unwrap();
    let left = || {
        let mut laggards = Laggards::default();
        laggards.on_view(at(0), &View::none(), &first);
        laggards.on_view(at(9_990), &first, &second);
        laggards
    };
    let mut laggards = left();
    laggards.on_late_word(at(10_000), NodeId(3));
    assert!(laggards.is_on_probation(at(10_000), NodeId(3)));
    assert_eq!(report(&mut laggards, &second, LATE, 10_000..40_000), Some(20_000));
    // Nobody has to wait for a word that belongs to another time.
    let mut laggards = left();
    laggards.on_late_word(at(15_000), NodeId(3));
    assert!(!laggards.is_on_probation(at(15_000), NodeId(3)));
    assert_eq!(report(&mut laggards, &second, LATE, 15_000..40_000), Some(16_000));
}

#[test]
fn the_heir_of_one_that_is_about_to_stop_does_not_leave() {
    let both = succession::without(&replicas(3), &[NodeId(3)]).unwrap();
    assert!(without_laggard(&both, LATE).is_some());
    let leaving = succession::with_leaving(&both, NodeId(1)).unwrap();
    assert_eq!(without_laggard(&leaving, LATE), None);
    assert!(without_laggard(&leaving, NodeId(1)).is_some(), "who is about to stop is no loss");
    let leaving = succession::with_leaving(&replicas(3), NodeId(1)).unwrap();
    assert!(without_laggard(&leaving, LATE).is_some(), "another one stays");
}

#[test]
fn who_had_to_leave_waits_and_longer_each_time() {
    let (mut laggards, mut now) = (Laggards::default(), 0);
    let with = replicas(3);
    let without = succession::without(&with, &[LATE]).unwrap();
    let leave = |laggards: &mut Laggards, now: u64| {
        laggards.on_asked(at(now), LATE);
        laggards.on_view(at(now + 10), &with, &without);
        let mut ends = (now..).step_by(1_000).skip(1);
        ends.find(|now| !laggards.is_on_probation(at(*now), LATE)).unwrap() - now
    };
    for seconds in [11, 21, 41, 81, 161, 321, 641, 641] {
        assert_eq!(leave(&mut laggards, now), seconds * 1_000);
        now += seconds * 1_000;
    }
    now += 1_900_000;
    assert_eq!(leave(&mut laggards, now), 11_000);
}

#[test]
fn who_left_for_other_reasons_does_not_wait() {
    let (mut laggards, with) = (Laggards::default(), replicas(3));
    let without = succession::without(&with, &[LATE]).unwrap();
    laggards.on_view(at(100), &with, &without);
    assert!(!laggards.is_on_probation(at(200), LATE));
    laggards.on_asked(at(1_000), LATE);
    laggards.on_view(at(10_000), &with, &without);
    assert!(!laggards.is_on_probation(at(10_000), LATE));
}
