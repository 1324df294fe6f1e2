use super::{ENTERING_LOOKS, LOOK_EVERY, Lag};
use protocol::{Address, ModuleKind};
use std::collections::BTreeMap;
use stdx::{Duration, Instant, Now, WallTime};
use types::{Incarnation, NodeId, PartitionId, Sequence, ViewNumber};

const LIMIT: Duration = Duration::from_secs(2);
const PEER: Address = Address::new(NodeId(2), ModuleKind::Ldm, 0);
const OTHER: Address = Address::new(NodeId(3), ModuleKind::Ldm, 0);
const PARTITION: PartitionId = PartitionId(1);

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
    // However often views come, if each may take the time to be everywhere.
    for view in 2..20 {
        looking.begin_view(view, 2);
        for _ in 0..ENTERING_LOOKS {
            assert_eq!(looking.look(Duration::ZERO), []);
        }
        let looks = u32::try_from(looking.lag.look).unwrap();
        assert_eq!(age(looking.look(Duration::ZERO), NodeId(2)), Some(LOOK_EVERY * looks));
    }
    assert!(age(looking.look(Duration::ZERO), NodeId(2)).is_some_and(|age| age > LIMIT));
    // Who answers the next probe owes nothing.
    looking.lag.note_answer(PEER, looking.lag.look);
    assert_eq!(age(looking.look(Duration::ZERO), NodeId(2)), None);
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
