use super::{Finding, Watchdog};
use stdx::{Duration, Instant};

const LIMIT: Duration = Duration::from_millis(2_000);

fn at(milliseconds: u64) -> Instant {
    Instant(milliseconds * 1_000_000)
}

/// Looks each 10 ms from `from` to `to`; thread 0 is in the round that began at `round`. When it was found so, and how.
fn watch(watchdog: &mut Watchdog, from: u64, to: u64, round: u64) -> Vec<(u64, Finding)> {
    let mut findings = Vec::new();
    for now in (from..to).step_by(10) {
        assert!(watchdog.is_due(at(now)));
        watchdog.look(at(now), |_| round, |_, finding| findings.push((now, finding)));
    }
    findings
}

#[test]
fn a_thread_that_hangs_is_slow_then_stuck() {
    let mut watchdog = Watchdog::new(1, LIMIT, at(0));
    let findings = watch(&mut watchdog, 10, 2_100, 1);
    // It was first seen in its round at 10 ms.
    assert_eq!(findings.first(), Some(&(60, Finding::Slow)));
    assert_eq!(findings.get(1), Some(&(2_010, Finding::Stuck)));
    assert_eq!(watch(&mut Watchdog::new(1, Duration::ZERO, at(0)), 10, 9_000, 1), [(60, Finding::Slow)]);
}

#[test]
fn rounds_that_end_and_sleep_are_well() {
    let mut watchdog = Watchdog::new(1, LIMIT, at(0));
    for round in 0..1_000 {
        let from = 10 + round * 40;
        assert_eq!(watch(&mut watchdog, from, from + 40, 1 + round), []);
    }
    assert_eq!(watch(&mut watchdog, 40_010, 50_000, 0), []);
}

#[test]
fn who_did_not_watch_finds_nobody_stuck() {
    let mut watchdog = Watchdog::new(1, LIMIT, at(0));
    watchdog.look(at(10), |_| 1, |_, _| unreachable!());
    // The process was stopped for an hour. The thread has not run yet, either.
    let mut findings = Vec::new();
    watchdog.look(at(3_600_000), |_| 1, |_, finding| findings.push(finding));
    assert_eq!(findings, [Finding::Slow]);
    assert_eq!(watch(&mut watchdog, 3_600_010, 3_601_000, 1), []);
}
