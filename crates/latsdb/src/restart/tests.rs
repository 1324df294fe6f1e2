use super::*;

const SOON: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_secs(100);

fn exited(code: i32) -> Ending {
    Ending::of(ExitStatus::from_raw(code << 8))
}

/// The pauses, in milliseconds, of a node that has run and ends like this ten times.
fn pauses(ending: Ending, life: Duration) -> Vec<u128> {
    let mut lives = Lives::new(true);
    lives.has_run = true;
    (0..12).map(|_| lives.after(ending, life, None).unwrap().as_millis()).collect()
}

#[test]
fn a_node_that_dies_again_and_again_waits_longer() {
    let growing = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000, 10_000];
    assert_eq!(pauses(Ending::Error, SOON), growing);
    assert_eq!(pauses(Ending::Again, SOON), growing);
}

#[test]
fn a_node_that_has_lived_for_a_while_is_started_soon() {
    let mut lives = Lives::new(true);
    for _ in 0..9 {
        lives.after(Ending::Error, SOON, None);
    }
    assert_eq!(lives.after(Ending::Again, CALM, None), Some(FIRST));
    assert_eq!(lives.after(Ending::Again, SOON, None), Some(2 * FIRST));
}

#[test]
fn what_is_in_vain_is_tried_more_and_more_seldom_however_long_it_takes() {
    let growing = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000];
    assert_eq!(pauses(Ending::CannotJoin, LATE), growing);
    assert_eq!(pauses(Ending::CannotStart, SOON), growing);
    assert_eq!(pauses(Ending::Refused, LATE), growing);
}

#[test]
fn who_never_ran_is_not_started_again_and_who_has_run_is() {
    for ending in [Ending::CannotStart, Ending::Refused] {
        let mut lives = Lives::new(false);
        assert_eq!(lives.after(ending, LATE, Some(false)), None);
        assert_eq!(lives.after(ending, LATE, None), None, "it has not run");
        assert_eq!(lives.after(Ending::Again, LATE, Some(false)), Some(FIRST));
        assert!(lives.after(ending, SOON, None).is_some(), "config.ini may be mended");
    }
}

#[test]
fn after_an_error_its_configuration_decides() {
    let mut lives = Lives::new(false);
    assert_eq!(lives.after(Ending::Error, LATE, None), None);
    assert!(lives.after(Ending::Error, LATE, Some(true)).is_some());
    assert!(lives.after(Ending::Error, LATE, None).is_some(), "as its last life wanted it");
    assert_eq!(lives.after(Ending::Error, LATE, Some(false)), None);
    assert_eq!(lives.after(Ending::Stopped, LATE, Some(true)), None);
}

#[test]
fn what_an_exit_code_means() {
    assert_eq!([0, 1, 3].map(exited), [Ending::Stopped, Ending::Refused, Ending::Again]);
    assert_eq!([2, 5, 6].map(exited), [Ending::CannotStart, Ending::CannotJoin, Ending::CannotStart]);
    // The disk of the control log failed, or it panicked.
    assert_eq!([4, 101, 255].map(exited), [Ending::Error; 3]);
    assert_eq!([1, 2, 15].map(|signal| Ending::of(ExitStatus::from_raw(signal))), [Ending::Stopped; 3]);
    assert_eq!([6, 9, 11].map(|signal| Ending::of(ExitStatus::from_raw(signal))), [Ending::Error; 3]);
}

#[test]
fn who_is_not_started_again_is_told_why() {
    assert!(exited(101).why_not_again().unwrap().contains("StopOnError is 1"));
    assert!(exited(1).why_not_again().unwrap().contains("the cluster refuses it"));
    assert_eq!(exited(0).why_not_again(), None);
    assert_eq!(exited(3).why_not_again(), None);
}
