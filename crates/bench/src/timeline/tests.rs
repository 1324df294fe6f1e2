use super::*;

const MS: u64 = 1_000_000;

/// Successes at these milliseconds, each wanted half a millisecond before.
fn events(at: &[u64]) -> Vec<Event> {
    at.iter().map(|ms| Event { from: ms * MS - MS / 2, until: ms * MS }).collect()
}

fn gap(at: &[u64], from: u64, until: u64) -> (u64, u128, bool) {
    let gap = longest_gap(&events(at), from * MS, until * MS);
    (gap.from / MS, gap.length.as_millis(), gap.is_open)
}

#[test]
fn the_longest_gap_is_between_two_successes() {
    assert_eq!(gap(&[10, 11, 12, 40, 41], 11, 50), (12, 28, false));
}

#[test]
fn what_began_before_the_window_counts_if_it_ends_in_it() {
    assert_eq!(gap(&[10, 40, 41, 42], 12, 43), (10, 30, false));
}

#[test]
fn gaps_that_end_before_the_window_do_not_count() {
    assert_eq!(gap(&[10, 100, 101, 102, 103], 100, 103), (10, 90, false));
    assert_eq!(gap(&[10, 100, 101, 102, 103], 101, 103), (100, 1, false));
}

#[test]
fn gaps_that_begin_behind_the_window_do_not_count() {
    assert_eq!(gap(&[10, 11, 12, 500], 10, 12), (10, 1, false));
}

#[test]
fn a_client_that_never_succeeds_again_has_an_open_gap() {
    assert_eq!(gap(&[10, 11, 12], 11, 60), (12, 48, true));
    assert_eq!(gap(&[], 10, 60), (10, 50, true));
}

#[test]
fn pace_counts_what_ended_in_the_window() {
    let (count, p99) = pace(&events(&[10, 11, 12, 13, 14]), 11 * MS, 14 * MS);
    assert_eq!((count, p99.as_micros()), (3, 500));
    assert_eq!(pace(&[], 0, 10).0, 0);
}

#[test]
fn percentiles_are_of_nearest_rank() {
    let values: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
    let ms = |percent| percentile(&values, percent).as_millis();
    assert_eq!((ms(50), ms(99), ms(100)), (100, 198, 200));
    assert_eq!(percentile(&values[..1], 1).as_millis(), 1);
    assert_eq!(percentile(&[], 50), Duration::ZERO);
}

#[test]
fn a_timeline_forgets_the_oldest() {
    let timeline = Timeline::default();
    for at in 1..=EVENTS_MAX as u64 + 5 {
        timeline.push(Event { from: at, until: at });
    }
    let events = timeline.events();
    assert_eq!((events.len(), events[0].until), (EVENTS_MAX, 6));
    assert_eq!(timeline.last(), Some(EVENTS_MAX as u64 + 5));
}
