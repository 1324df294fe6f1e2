use super::*;

fn at(ms: u64) -> Instant {
    Instant(0) + Duration::from_millis(ms)
}

/// Time in rounds, CPU time, and inputs handled.
fn worked(busy_ms: u64, cpu_ms: u64, inputs: u64) -> (u64, Duration, u64) {
    (busy_ms * 1_000_000, Duration::from_millis(cpu_ms), inputs)
}

#[test]
fn busy_is_of_the_last_two_samples() {
    let (mut meter, line) = (LoadMeter::default(), PublishedLoad::default());
    meter.publish_busy(at(100), worked(0, 0, 0), &line);
    // 80 and 88 percent: alike.
    meter.publish_busy(at(150), worked(40, 50, 1), &line);
    assert_eq!(line.busy(at(150), Instant(0)), 80, "the one before was quite another");
    meter.publish_busy(at(160), worked(50, 60, 1), &line);
    meter.publish_busy(at(200), worked(84, 94, 1), &line);
    assert_eq!(line.busy(at(200), Instant(0)), 84);
    // In rounds all the time, without a CPU for most of it.
    meter.publish_busy(at(250), worked(134, 104, 1), &line);
    assert_eq!(line.busy(at(250), Instant(0)), 20);
}

#[test]
fn a_thread_without_samples_sleeps_or_is_in_one_round() {
    let (mut meter, line) = (LoadMeter::default(), PublishedLoad::default());
    meter.publish_busy(at(100), worked(50, 50, 0), &line);
    assert_eq!(line.busy(at(199), Instant(0)), 50);
    assert_eq!(line.busy(at(200), Instant(0)), 0);
    assert_eq!(line.busy(at(200), at(180)), 0);
    assert_eq!(line.busy(at(200), at(150)), 100);
}

#[test]
fn a_backlog_is_what_waits_by_what_it_cost() {
    let (mut meter, line) = (LoadMeter::default(), PublishedLoad::default());
    assert_eq!(line.backlog(), None);
    assert_eq!(meter.publish_backlog(1, 2, &line), Duration::from_micros(60));
    // 20 ms for 200 slices; 10 ms for 1 000 others.
    (0..200).for_each(|_| meter.count_slice(Duration::from_micros(100)));
    meter.publish_busy(at(10), worked(30, 30, 1_200), &line);
    assert_eq!(meter.publish_backlog(1, 2, &line), Duration::from_micros(120));
    // Nothing of either kind: costs stay.
    meter.publish_busy(at(20), worked(30, 30, 1_200), &line);
    assert_eq!(meter.publish_backlog(2, 0, &line), Duration::from_micros(200));
    assert_eq!(line.backlog(), Some(Duration::from_micros(200)));
}

#[test]
fn small_changes_of_a_backlog_are_not_published() {
    let (mut meter, line) = (LoadMeter::default(), PublishedLoad::default());
    meter.publish_backlog(0, 10, &line);
    meter.publish_backlog(0, 13, &line);
    assert_eq!(line.backlog(), Some(Duration::from_micros(50)));
    meter.publish_backlog(0, 14, &line);
    assert_eq!(line.backlog(), Some(Duration::from_micros(70)));
    meter.publish_wait(&line);
    assert_eq!(line.backlog(), None);
    meter.publish_backlog(0, 0, &line);
    assert_eq!(line.backlog(), Some(Duration::from_nanos(1)), "it works on something");
}
