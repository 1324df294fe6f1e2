use super::*;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn answers_are_waited_for_as_long_as_members_enter_a_view_apart() {
    assert_eq!(answer_limit(ms(3_000), ms(50)), ms(3_000));
    // NDB's default of HeartbeatIntervalDbDb.
    assert_eq!(answer_limit(ms(3_000), ms(5_000)), ms(20_000));
    assert_eq!(answer_limit(ms(0), ms(5_000)), ms(0), "nobody leaves for late answers");
}

#[test]
fn links_close_after_late_answers_were_judged() {
    for answer_timeout in [0, 100, 3_000, 20_000] {
        for interval in [10, 50, 1_500, 5_000] {
            let (timeout, interval) = (ms(answer_timeout), ms(interval));
            let silence = link_silence(timeout, interval);
            assert!(silence >= answer_limit(timeout, interval) + ms(5_000) && silence >= ms(8_000));
        }
    }
    assert_eq!(link_silence(ms(3_000), ms(50)), ms(8_000));
}
