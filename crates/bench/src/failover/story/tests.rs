use super::*;

const LOG: &str = "\
2026-11-21T16:05:54.000000Z  INFO node 4: the process of node 3 has ended (incarnation 11)
2026-11-21T16:05:55.773056Z  INFO node 4: the process of node 3 has ended (incarnation 14)
2026-11-21T16:05:55.774000Z  INFO node 4: node 3 is lost
2026-11-21T16:05:55.781200Z  INFO node 4: view 17, 8144 us after it was wanted; the longest write of control.log meanwhile: 4210 us
2026-11-21T16:05:55.781300Z  INFO node 1: view 17, 8000 us after it was wanted; the longest write of control.log meanwhile: 5000 us
2026-11-21T16:05:55.782900Z  INFO node 4: view 17: all slots of 4.ldm0 take writes
2026-11-21T16:05:56.000000Z  INFO node 4: view 18
2026-11-21T16:05:56.100000Z  INFO node 4: view 18: all slots of 4.ldm0 take writes
";

fn at(time: &str) -> u64 {
    nanoseconds(time).unwrap()
}

#[test]
fn times_are_those_of_the_calendar() {
    assert_eq!(at("1970-01-01T00:00:00.000001Z"), 1_000);
    assert_eq!(at("2000-02-29T12:00:00.5Z"), 951_825_600_500_000_000);
    assert_eq!(at("2026-11-21T16:05:55.773056Z"), 1_795_277_155_773_056_000);
    for text in ["", "2026-11-21", "2026-11T16:05:55.773056Z", "2026-11-21T16:05Z", "ready: now"] {
        assert_eq!(nanoseconds(text), None, "{text}");
    }
}

#[test]
fn a_failover_is_told_from_its_first_view() {
    let since = at("2026-11-21T16:05:55.770000Z");
    let events = LOG.lines().filter_map(|line| event(line, 0)).filter(|(at, _)| *at >= since);
    let expected = Story {
        detected: Some(at("2026-11-21T16:05:55.773056Z")),
        view: Some(at("2026-11-21T16:05:55.781300Z")),
        disk: Some(Duration::from_micros(5000)),
        open: Some(at("2026-11-21T16:05:55.782900Z")),
    };
    assert_eq!(tell(events), expected);
}

#[test]
fn nothing_is_told_of_nothing() {
    let later = at("2026-11-21T16:05:55.999999Z");
    let events = LOG.lines().filter_map(|line| event(line, 0)).filter(|(at, _)| *at >= later);
    assert_eq!(tell(events), Story::default());
}
