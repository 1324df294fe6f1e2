use super::*;

#[test]
fn a_node_that_dies_again_and_again_waits_longer() {
    let mut backoff = Backoff::default();
    let pauses: Vec<u128> =
        (0..10).map(|_| backoff.pause_after(Duration::from_secs(1)).as_millis()).collect();
    assert_eq!(pauses, [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
}

#[test]
fn a_node_that_has_lived_for_a_while_is_started_soon() {
    let mut backoff = Backoff::default();
    for _ in 0..9 {
        backoff.pause_after(Duration::from_secs(1));
    }
    assert_eq!(backoff.pause_after(CALM), FIRST);
    assert_eq!(backoff.pause_after(Duration::from_secs(1)), 2 * FIRST);
}

#[test]
fn what_an_exit_code_means() {
    use std::os::unix::process::ExitStatusExt as _;
    let exited = |code: i32| Ending::of(ExitStatus::from_raw(code << 8));
    assert_eq!([0, 1, 3].map(exited), [Ending::Stopped, Ending::Refused, Ending::Again]);
    // Its command line is wrong, or it panicked.
    assert_eq!([2, 101, 255].map(exited), [Ending::Error; 3]);
    assert_eq!(Ending::of(ExitStatus::from_raw(9)), Ending::Error);
}
