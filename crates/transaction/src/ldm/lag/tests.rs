use super::{ENTERING_LOOKS, LOOK_EVERY, Lag, SPARED_LOOKS_MAX};
use protocol::{Address, ModuleKind};
use std::collections::BTreeMap;
use stdx::{Duration, Instant, Now, WallTime};
use types::{Incarnation, NodeId, Sequence, SlotId, ViewNumber};

const LIMIT: Duration = Duration::from_secs(2);
const PEER: Address = Address::new(NodeId(2), ModuleKind::Ldm, 0);
const OTHER: Address = Address::new(NodeId(3), ModuleKind::Ldm, 0);
const PARTITION: SlotId = SlotId(1);

/// A module that looks, with its clock.
struct Looking {
    lag: Lag,
    now: Instant,
}

impl Looking {
    fn new() -> Self {
        let mut looking = Self { lag: Lag { limit: LIMIT, ..Lag::default() }, now: Instant(0) };
        looking.begin_view(1, 1);
        looking
    }

    /// A view with both, the second one in this life.
    fn begin_view(&mut self, view: u64, life: u32) {
        let now = Now { monotonic: self.now, wall: WallTime(0) };
        let peers = BTreeMap::from([(PEER, Incarnation(1)), (OTHER, Incarnation(life))]);
        self.lag.begin_view(now, ViewNumber(view), peers);
    }

    /// The next look, so late; the ages of what probes are owed.
    fn look(&mut self, late: Duration) -> Vec<(NodeId, Duration)> {
        let due = self.lag.look_at.take().expect("somebody to look at");
        self.now = due + late;
        self.lag.begin_look(Now { monotonic: self.now, wall: WallTime(0) }, due);
        self.lag.probes_owed().map(|(node, since)| (node, self.lag.age(since))).collect()
    }
}

#[test]
fn an_unanswered_probe_grows_old() {
    let mut looking = Looking::new();
    assert_eq!(looking.look(Duration::ZERO), []);
    for looks in 1..20 {
        looking.lag.note_answer(OTHER, looks);
        let owed = vec![(NodeId(2), LOOK_EVERY * u32::try_from(looks).unwrap())];
        let expected = if looks < ENTERING_LOOKS { Vec::new() } else { owed };
        assert_eq!(looking.look(Duration::ZERO), expected);
    }
    // Answers are in order: the last is that to all.
    looking.lag.note_answer(OTHER, 20);
    looking.lag.note_answer(PEER, 19);
    assert_eq!(looking.look(Duration::ZERO), [(NodeId(2), LOOK_EVERY)]);
    looking.lag.note_answer(PEER, 1_000_000);
    looking.lag.note_answer(OTHER, 21);
    assert_eq!(looking.look(Duration::ZERO), []);
    // (An answer to what was not asked yet answers nothing of it.)
    looking.lag.note_answer(OTHER, 22);
    assert_eq!(looking.look(Duration::ZERO), [(NodeId(2), LOOK_EVERY)]);
}

#[test]
fn who_looks_late_blames_nobody_for_what_was_before() {
    let mut looking = Looking::new();
    for _ in 0..30 {
        looking.look(Duration::ZERO);
    }
    for late in [LIMIT / 8, Duration::from_secs(3_600)] {
        assert!(looking.look(late).iter().all(|(_, age)| *age == Duration::ZERO));
        assert!(looking.look(Duration::ZERO).iter().all(|(_, age)| *age == LOOK_EVERY));
    }
    // A little late is nothing.
    assert!(looking.look(LIMIT / 9).iter().all(|(_, age)| *age == LOOK_EVERY * 2));
}

#[test]
fn a_newer_view_begins_anew_but_not_for_a_life_that_owes_answers() {
    let mut looking = Looking::new();
    for _ in 0..3 {
        looking.look(Duration::ZERO);
    }
    let age =
        |owed: Vec<(NodeId, Duration)>, node| owed.iter().find(|owed| owed.0 == node).map(|owed| owed.1);
    // Each may take the time to be everywhere.
    for view in 2..4 {
        looking.begin_view(view, 2);
        for _ in 0..ENTERING_LOOKS {
            assert_eq!(looking.look(Duration::ZERO), []);
        }
        let looks = u32::try_from(looking.lag.look).unwrap();
        assert_eq!(age(looking.look(Duration::ZERO), NodeId(2)), Some(LOOK_EVERY * looks));
    }
    assert!(age(looking.look(Duration::ZERO), NodeId(2)).is_some_and(|age| age > LIMIT));
    // A node that answers the next probe owes nothing.
    looking.lag.note_answer(PEER, looking.lag.look);
    assert_eq!(age(looking.look(Duration::ZERO), NodeId(2)), None);
}

/// For how long one of two members answers nothing, and the other one at once, until reports of it have come for so
/// long without a gap. There is a view every so many looks.
fn time_to_blame(sustained: Duration, looks_per_view: u64) -> Duration {
    // `REPORT_GAP` of `membership::laggards`.
    const GAP: Duration = Duration::from_millis(700);
    let mut looking = Looking::new();
    let mut late: Option<(Instant, Instant)> = None;
    for look in 1..400 {
        let owed = looking.look(Duration::ZERO);
        looking.lag.note_answer(OTHER, look);
        assert!(owed.iter().all(|(node, age)| *node == NodeId(2) || *age < LIMIT), "{owed:?}");
        if owed.iter().any(|(_, age)| *age >= LIMIT) {
            let begun = late.filter(|(_, last)| looking.now.since(*last) <= GAP);
            let since = begun.map_or(looking.now, |(since, _)| since);
            late = Some((since, looking.now));
            if looking.now.since(since) >= sustained {
                return looking.now.since(Instant(0));
            }
        }
        if look % looks_per_view == 0 {
            looking.begin_view(1 + look / looks_per_view, 1);
        }
    }
    panic!("never, with a view every {looks_per_view} looks");
}

#[test]
fn views_that_come_fast_protect_nobody_who_answers_nothing() {
    // `SUSTAINED` and `SUSTAINED_IN_DOUBT` of `membership::laggards`.
    for sustained in [Duration::from_secs(1), Duration::from_secs(4)] {
        let calm = time_to_blame(sustained, 1_000);
        for looks in 1..=40 {
            let time = time_to_blame(sustained, looks);
            // Until the views are over in which it is spared.
            let spared = SPARED_LOOKS_MAX / ENTERING_LOOKS * looks.max(ENTERING_LOOKS);
            let most = calm + LOOK_EVERY * u32::try_from(spared).unwrap();
            assert!(time <= most, "{time:?} with a view every {looks} looks, else {calm:?}");
        }
    }
}

#[test]
fn who_enters_each_view_late_is_spared_in_each() {
    let mut looking = Looking::new();
    for view in 2..100 {
        for look in 0..=ENTERING_LOOKS {
            assert!(!looking.look(Duration::ZERO).iter().any(|(_, age)| *age >= LIMIT), "{view} {look}");
        }
        looking.lag.note_answer(PEER, looking.lag.look);
        looking.lag.note_answer(OTHER, looking.lag.look);
        looking.look(Duration::ZERO);
        looking.begin_view(view, 1);
    }
}

#[test]
fn who_was_out_of_reach_for_long_is_spared_in_the_next_view() {
    let mut looking = Looking::new();
    // Nobody decides on a view in which its connection is whole again.
    for _ in 0..100 {
        looking.look(Duration::ZERO);
    }
    looking.begin_view(2, 1);
    for _ in 0..ENTERING_LOOKS {
        assert_eq!(looking.look(Duration::ZERO), []);
    }
    assert_eq!(looking.look(Duration::ZERO).len(), 2);
    // And once more behind a late look, which says that nothing is known of what was before.
    for view in 3..100 {
        looking.begin_view(view, 1);
        looking.look(LIMIT);
        for _ in 1..ENTERING_LOOKS {
            assert_eq!(looking.look(Duration::ZERO), []);
        }
    }
}

#[test]
fn the_oldest_place_counts_and_not_how_many() {
    let mut looking = Looking::new();
    // Forty places per look, and each is applied three looks after it was given out: slow, and never older than that.
    for look in 1..50 {
        looking.look(Duration::ZERO);
        let oldest = if look > 3 { Sequence((look - 3) * 40 + 1) } else { Sequence(1) };
        looking.lag.note_places(PARTITION, Some(oldest), Sequence(look * 40));
        let age = looking.lag.age(looking.lag.place_since(PARTITION, oldest));
        assert!(age <= LOOK_EVERY * 3, "{age:?} at look {look}");
        let last = looking.lag.place_since(PARTITION, Sequence(look * 40 + 1));
        assert_eq!(looking.lag.age(last), Duration::ZERO);
    }
    // Then nothing is applied any more.
    let oldest = Sequence(48 * 40);
    for look in 50..200 {
        looking.look(Duration::ZERO);
        looking.lag.note_places(PARTITION, Some(oldest), Sequence(look * 40));
    }
    assert!(looking.lag.age(looking.lag.place_since(PARTITION, oldest)) > LIMIT);
    assert!(looking.lag.places[&PARTITION].len() < 30, "what is remembered is bounded");
    looking.lag.note_places(PARTITION, None, Sequence(200 * 40));
    assert!(looking.lag.places.is_empty());
}
