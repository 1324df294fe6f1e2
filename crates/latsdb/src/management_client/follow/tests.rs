use super::super::status::tests::status;
use super::*;

/// A cluster in which node 2 is like this, and everything else is well.
fn cluster(node: &str, is_even: bool) -> Status {
    let even = u8::from(is_even);
    status(&format!(
        "cluster view=7 node=1 incarnation=9 even={even} name=shop\nnode id=2 role=data {node} partitions=5\n\
         node id=3 role=sql state=started losses=4"
    ))
}

const BEFORE: &str = "state=started incarnation=12 losses=3 leads=2";

fn begin(wanted: Wanted) -> Follow {
    let status = cluster(BEFORE, true);
    Follow::begin(wanted, status.find(2).unwrap().clone(), &status)
}

/// Looks at one second after the other; what is told.
#[track_caller]
fn tell(follow: &mut Follow, looks: &[(&str, bool)]) -> Vec<String> {
    let mut news = Vec::new();
    for (second, (node, is_even)) in (1..).zip(looks) {
        let seen = follow.look(Duration::from_secs(second), Some(&cluster(node, *is_even))).unwrap();
        news.extend(seen.news);
        assert_eq!(seen.is_done, usize::try_from(second).unwrap() == looks.len(), "at {second}: {news:?}");
    }
    news
}

#[test]
fn a_restart_from_stage_to_stage() {
    let looks = [
        (BEFORE, true),
        ("state=started incarnation=12 losses=3 leads=1 leaving=1", true),
        ("state=started incarnation=12 losses=3 leads=0 leaving=1", true),
        ("state=waiting incarnation=12 losses=3", true),
        ("state=away incarnation=12 losses=4", true),
        ("state=waiting incarnation=12 losses=4", true),
        ("state=copying incarnation=15 losses=4 copied=1", true),
        ("state=copying incarnation=15 losses=4 copied=4", true),
        ("state=started incarnation=15 losses=4", false),
        ("state=started incarnation=15 losses=4 leads=2", true),
    ];
    assert_eq!(
        tell(&mut begin(Wanted::Restart), &looks),
        [
            "node 2 (data), 2.0 s: hands its primaries over",
            "node 2 (data), 3.0 s: leads nothing any more; its sessions end",
            "node 2 (data), 5.0 s: has stopped; its angel starts it again",
            "node 2 (data), 6.0 s: is started again",
            "node 2 (data), 7.0 s: gets its rows: 1 of 5 slots",
            "node 2 (data), 8.0 s: gets its rows: 4 of 5 slots",
            "node 2 (data), 9.0 s: is in sync",
            "node 2 (data), 10.0 s: is in sync and leads 2 slots",
        ]
    );
}

#[test]
fn a_restart_of_which_little_was_seen() {
    let looks = [(BEFORE, true), ("state=started incarnation=15 losses=4 leads=2", true)];
    let news = tell(&mut begin(Wanted::Restart), &looks);
    assert_eq!(news, ["node 2 (data), 2.0 s: is in sync and leads 2 slots"]);
}

#[test]
fn a_lost_link_is_no_restart() {
    let mut follow = begin(Wanted::Restart);
    for (second, losses) in [(1, 4), (2, 5)] {
        let node = format!("state=started incarnation=12 losses={losses} leads=2");
        let seen = follow.look(Duration::from_secs(second), Some(&cluster(&node, true))).unwrap();
        assert_eq!(seen, Seen::default());
    }
}

#[test]
fn a_stop_is_over_when_the_node_is_away() {
    let looks = [
        ("state=started incarnation=12 losses=3 leads=0 leaving=1", true),
        ("state=away incarnation=12 losses=4", true),
    ];
    assert_eq!(
        tell(&mut begin(Wanted::Stop), &looks),
        [
            "node 2 (data), 1.0 s: leads nothing any more; its sessions end",
            "node 2 (data), 2.0 s: has stopped"
        ]
    );
}

#[test]
fn a_node_that_stays_says_so() {
    let mut follow = begin(Wanted::Restart);
    let leaving = cluster("state=started incarnation=12 losses=3 leads=1 leaving=1", true);
    follow.look(Duration::from_secs(1), Some(&leaving)).unwrap();
    let why = follow.look(Duration::from_secs(2), Some(&cluster(BEFORE, true))).unwrap_err();
    assert!(why.starts_with("node 2 (data) stays"), "{why}");
}

/// Looks once a second until the command fails: after how long, and why.
fn give_up(follow: &mut Follow, from: u64, status: impl Fn(u64) -> Option<Status>) -> (u64, String) {
    for second in from..10_000 {
        if let Err(why) = follow.look(Duration::from_secs(second), status(second).as_ref()) {
            return (second, why);
        }
    }
    panic!("it is followed for ever");
}

#[test]
fn who_does_nothing_is_given_up() {
    let (second, why) = give_up(&mut begin(Wanted::Restart), 1, |_| Some(cluster(BEFORE, true)));
    let expected = "node 2 (data) for 6 s: it has not begun to stop, its log says why";
    assert_eq!((second, why.as_str()), (6, expected));
    let away = |_| Some(cluster("state=away incarnation=12 losses=4", true));
    let (second, why) = give_up(&mut begin(Wanted::Restart), 1, away);
    assert_eq!(second, 62);
    assert!(why.contains("has not come back"), "{why}");
    // Nobody to ask.
    let (second, _) = give_up(&mut begin(Wanted::Restart), 1, |_| None);
    assert_eq!(second, 6);
}

#[test]
fn who_dies_again_and_again_is_given_up() {
    let (second, why) = give_up(&mut begin(Wanted::Restart), 1, |second| {
        let node = match second % 3 {
            1 => "state=away incarnation=12 losses=4",
            2 => "state=waiting incarnation=12 losses=4",
            _ => "state=copying incarnation=15 losses=5 copied=1",
        };
        Some(cluster(node, true))
    });
    assert_eq!((second, why.as_str()), (10, "node 2 (data) has ended 3 times before it was in sync"));
}

#[test]
fn a_management_node_that_starts_again_counts_losses_anew() {
    let before = cluster(BEFORE, true);
    let mut sql = Follow::begin(Wanted::Restart, before.find(3).unwrap().clone(), &before);
    let look = |follow: &mut Follow, second, incarnation, losses| {
        let text = format!(
            "cluster view=7 node=1 incarnation={incarnation} even=1 name=shop\nnode id=3 role=sql state=started losses={losses}"
        );
        follow.look(Duration::from_secs(second), Some(&status(&text))).unwrap().is_done
    };
    assert!(!look(&mut sql, 1, 9, 4));
    assert!(!look(&mut sql, 2, 14, 0), "it has not gone");
    assert!(look(&mut sql, 3, 14, 1));
}

#[test]
fn other_roles() {
    let before = cluster(BEFORE, true);
    let mut sql = Follow::begin(Wanted::Restart, before.find(3).unwrap().clone(), &before);
    let look = |follow: &mut Follow, second, node: &str, incarnation| {
        let text =
            format!("cluster view=7 node=1 incarnation={incarnation} even=1 name=shop\nnode id=3 {node}");
        follow.look(Duration::from_secs(second), Some(&status(&text))).unwrap()
    };
    assert!(!look(&mut sql, 1, "role=sql state=started losses=4", 9).is_done);
    let seen = look(&mut sql, 2, "role=sql state=away losses=5", 9);
    assert_eq!(seen.news.as_deref(), Some("node 3 (sql), 2.0 s: has stopped; its angel starts it again"));
    assert!(look(&mut sql, 3, "role=sql state=started losses=5", 9).is_done);
    // A management node is asked itself, and is not there for a while.
    let text =
        "cluster view=7 node=3 incarnation=9 even=1 name=shop\nnode id=3 role=management state=started";
    let before = status(text);
    let mut manager = Follow::begin(Wanted::Restart, before.find(3).unwrap().clone(), &before);
    assert!(!look(&mut manager, 1, "role=management state=started", 9).is_done);
    assert!(!manager.look(Duration::from_secs(2), None).unwrap().is_done);
    // It has not joined yet.
    assert!(!look(&mut manager, 3, "role=management state=started", 0).is_done);
    assert!(look(&mut manager, 4, "role=management state=started", 14).is_done);
}
