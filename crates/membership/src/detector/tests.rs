use super::*;
use fixtures::data_node;
use protocol::{NodeInfo, NodeRole};

const CONFIG: DetectorConfig = DetectorConfig::DEFAULT;
const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);

fn info(node: NodeId, life: u32) -> NodeInfo {
    NodeInfo { incarnation: Incarnation(life), ..data_node(node.0) }
}

/// A alone; B, in its second life, joins; both are in sync; B alone.
fn views() -> [Arc<View>; 4] {
    let first = fixtures::view(vec![info(A, 1), info(B, 1)], 2);
    let alone = succession::without(&first, &[B]).unwrap();
    let joining = succession::with_joining(&alone, &info(B, 2)).unwrap();
    let both = succession::with_in_sync(&joining, B).unwrap();
    let other = succession::without(&both, &[A]).unwrap();
    [alone, joining, both, other].map(Arc::new)
}

fn only(node: NodeId) -> NodeSet {
    NodeSet::from_iter([node])
}

fn at(milliseconds: u64) -> Instant {
    Instant(1_000_000_000) + Duration::from_millis(milliseconds)
}

fn heartbeat(outputs: &mut DetectorOutputs, to: NodeId) -> Heartbeat {
    let heartbeats = std::mem::take(&mut outputs.heartbeats);
    heartbeats.into_iter().find(|(node, _)| *node == to).expect("a heartbeat").1
}

#[test]
pub(crate) fn who_was_alone_needs_the_grants_of_who_joins() {
    let [alone, joining, ..] = views();
    let mut a = Detector::new(A, Incarnation(1), CONFIG, alone, at(0));
    assert_eq!(a.read_until(), Instant::FAR_FUTURE);
    a.install(at(10), joining);
    assert!(a.may_read(at(100)));
    assert!(!a.may_read(at(10) + CONFIG.lease()));
}

/// B's words as a member overtake the view that makes it one.
#[test]
fn who_was_heard_before_its_view_lets_read_from_that_view_on() {
    let [alone, joining, ..] = views();
    let first = fixtures::view(vec![info(A, 1), info(B, 1)], 2);
    let mut a = Detector::new(A, Incarnation(1), CONFIG, Arc::new(first), at(0));
    a.install(at(10), alone);
    let mut b = Detector::new(B, Incarnation(2), CONFIG, Arc::clone(&joining), at(500));
    let (mut from_b, mut outputs) = (DetectorOutputs::default(), DetectorOutputs::default());
    b.on_deadline(at(500), &mut from_b);
    a.on_heartbeat(at(500), B, Incarnation(2), heartbeat(&mut from_b, A), &mut outputs);
    assert_eq!(outputs.behind, Some(B));
    a.install(at(501), joining);
    assert!(a.may_read(at(600)));
}

#[test]
fn who_comes_in_sync_waits_for_no_witness() {
    let witness = NodeInfo { role: NodeRole::Management, ..info(NodeId(65), 1) };
    let first = fixtures::view(vec![info(A, 1), info(B, 1), witness], 2);
    let alone = succession::without(&first, &[B]).unwrap();
    let joining = succession::with_joining(&alone, &info(B, 2)).unwrap();
    let both = succession::with_in_sync(&joining, B).unwrap();
    let mut b = Detector::new(B, Incarnation(2), CONFIG, Arc::new(joining), at(0));
    b.install(at(500), Arc::new(both));
    assert!(b.writable_at() <= at(500));
}

#[test]
pub(crate) fn what_a_dead_life_was_granted_is_over_in_its_next_life() {
    let [.., both, _] = views();
    for is_proved in [false, true] {
        // A lets B's second life read; it ends; the view without it; then its third life joins.
        let mut a = Detector::new(A, Incarnation(1), CONFIG, Arc::clone(&both), at(0));
        let mut outputs = DetectorOutputs::default();
        let row =
            LinkRow { node: B, incarnation: Incarnation(2), number: 1, hears: only(A), late: NodeSet::EMPTY };
        let beat = Heartbeat { view: both.number, sequence: 1, granted: 0, rows: vec![row] };
        assert!(a.on_heartbeat(at(10), B, Incarnation(2), beat, &mut outputs));
        a.on_deadline(at(50), &mut outputs);
        let end = at(50) + CONFIG.lease();
        assert_eq!(a.granted_until(B), end);
        if is_proved {
            a.on_proved_dead(at(60), B, Incarnation(2), &mut outputs);
        }
        let alone = succession::without(&both, &[B]).unwrap();
        let again = succession::with_joining(&alone, &info(B, 3)).unwrap();
        a.install(at(70), Arc::new(alone));
        a.install(at(80), Arc::new(again));
        assert_eq!(a.writable_at() > at(80), !is_proved);
    }
}

#[test]
pub(crate) fn who_comes_in_sync_honours_what_the_others_take_as_given() {
    let [_, joining, both, other] = views();
    for learned in [[Some(both), Some(Arc::clone(&other))], [None, Some(other)]] {
        let mut b = Detector::new(B, Incarnation(2), CONFIG, Arc::clone(&joining), at(0));
        for view in learned.into_iter().flatten() {
            b.install(at(500), view);
        }
        assert_eq!(b.writable_at(), at(500) + CONFIG.lease());
    }
}

#[test]
pub(crate) fn who_does_not_know_the_view_is_not_let_read() {
    let [_, joining, both, _] = views();
    let mut a = Detector::new(A, Incarnation(1), CONFIG, Arc::clone(&joining), at(0));
    let mut b = Detector::new(B, Incarnation(2), CONFIG, Arc::clone(&both), at(0));
    let (mut from_a, mut from_b) = (DetectorOutputs::default(), DetectorOutputs::default());

    a.on_deadline(at(0), &mut from_a);
    assert!(b.on_heartbeat(at(1), A, Incarnation(1), heartbeat(&mut from_a, B), &mut from_b));
    b.on_deadline(at(50), &mut from_b);
    assert_eq!(heartbeat(&mut from_b, A).granted, 0);

    a.install(at(60), both);
    a.on_deadline(at(60), &mut from_a);
    assert!(b.on_heartbeat(at(61), A, Incarnation(1), heartbeat(&mut from_a, B), &mut from_b));
    b.on_deadline(at(100), &mut from_b);
    assert_eq!(heartbeat(&mut from_b, A).granted, 2);
}

/// B says that it does not hear C, which it did not know yet, and is silent from then on.
#[test]
fn nobody_leaves_for_the_last_words_of_the_dead() {
    const C: NodeId = NodeId(3);
    let view = fixtures::view(vec![info(A, 1), info(B, 1), info(C, 1)], 3);
    let mut a = Detector::new(A, Incarnation(1), CONFIG, Arc::new(view), at(0));
    let mut outputs = DetectorOutputs::default();
    let says = |node, number, hears: &[NodeId]| {
        let row = LinkRow {
            node,
            incarnation: Incarnation(1),
            number,
            hears: hears.iter().copied().collect(),
            late: NodeSet::EMPTY,
        };
        Heartbeat { view: ViewNumber(1), sequence: number, granted: 0, rows: vec![row] }
    };
    for (milliseconds, number) in [(1, 1), (25, 2)] {
        let heartbeat = says(B, number, &[A]);
        assert!(a.on_heartbeat(at(milliseconds), B, Incarnation(1), heartbeat, &mut outputs));
    }
    let mut leavers = None;
    for milliseconds in (30..600).step_by(10) {
        if milliseconds % 50 == 0 {
            let hears: &[NodeId] = if milliseconds < 200 { &[A, B] } else { &[A] };
            let heartbeat = says(C, milliseconds / 50, hears);
            assert!(a.on_heartbeat(at(milliseconds), C, Incarnation(1), heartbeat, &mut outputs));
        }
        a.on_deadline(at(milliseconds), &mut outputs);
        leavers = leavers.or(outputs.leavers.take());
    }
    assert_eq!(leavers, Some(vec![B]));
}

#[test]
pub(crate) fn a_dead_witness_hides_nobody_elses_death() {
    let witness = NodeInfo { role: NodeRole::Management, ..info(NodeId(65), 1) };
    let view = fixtures::view(vec![info(A, 1), info(B, 1), witness], 2);
    let mut a = Detector::new(A, Incarnation(1), CONFIG, Arc::new(view), at(0));
    let mut outputs = DetectorOutputs::default();
    a.on_proved_dead(at(10), NodeId(65), Incarnation(1), &mut outputs);
    a.on_deadline(at(50), &mut outputs);
    assert_eq!(outputs.leavers, None, "it holds nothing, and leaves no view");
    a.on_proved_dead(at(60), B, Incarnation(1), &mut outputs);
    a.on_deadline(at(100), &mut outputs);
    assert_eq!(outputs.leavers, Some(vec![B]));
}

/// The view without it would have to wait for what it was granted last.
#[test]
pub(crate) fn who_is_out_of_reach_is_granted_nothing() {
    let [.., both, _] = views();
    let mut a = Detector::new(A, Incarnation(1), CONFIG, Arc::clone(&both), at(0));
    let mut outputs = DetectorOutputs::default();
    let beat = |sequence| {
        let row = LinkRow {
            node: B,
            incarnation: Incarnation(2),
            number: sequence,
            hears: only(A),
            late: NodeSet::EMPTY,
        };
        Heartbeat { view: both.number, sequence, granted: 0, rows: vec![row] }
    };
    assert!(a.on_heartbeat(at(10), B, Incarnation(2), beat(1), &mut outputs));
    a.on_deadline(at(50), &mut outputs);
    assert!(a.on_heartbeat(at(60), B, Incarnation(2), beat(2), &mut outputs));
    a.on_link_down(at(70), B, &mut outputs);
    assert_eq!(a.granted_until(B), at(50) + CONFIG.lease());
    assert_eq!(heartbeat_last(&mut outputs, B).granted, 0);
}

fn heartbeat_last(outputs: &mut DetectorOutputs, to: NodeId) -> Heartbeat {
    let heartbeats = std::mem::take(&mut outputs.heartbeats);
    heartbeats.into_iter().rfind(|(node, _)| *node == to).expect("a heartbeat").1
}
