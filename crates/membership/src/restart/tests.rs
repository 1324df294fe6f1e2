//! Claims in, plans out. Four nodes in two groups, each in the life of its number times ten.

use super::*;
use crate::control_state::{ClusterSettings, RecoveryRecord, Verdict};
use protocol::control::{Command, GroupId};
use std::sync::Arc;

const ALL: [NodeId; 4] = [NodeId(1), NodeId(2), NodeId(3), NodeId(4)];
const FOUNDING: GroupId = GroupId(5);

fn join(state: &mut ControlState, node: NodeId, claim: Option<Claim>) -> Incarnation {
    let replaces = state.incarnation(node);
    let start = u64::from(node.0) * 1_000 + u64::from(replaces.0);
    let join = fixtures::join_request(NodeRole::Data, start, claim);
    assert_eq!(state.apply(&Command::Join { node, join: Box::new(join), replaces }), Verdict::Done);
    state.incarnation(node)
}

/// A running cluster whose nodes keep rows on disk.
pub(crate) fn running() -> ControlState {
    let settings = ClusterSettings {
        members: ALL.map(|node| (node, NodeRole::Data)).to_vec(),
        replica_count: 2,
        partitions_per_node: 1,
        slots_per_node: 1,
        voter_count: 1,
    };
    let mut state = ControlState::founded(FOUNDING, settings, NodeId(1), 1);
    for node in ALL {
        join(&mut state, node, Some(Claim::default()));
    }
    assert_eq!(state.view.number.0, 1);
    state
}

fn change(state: &mut ControlState, next: impl FnOnce(&ControlState) -> Option<View>) {
    let next = Arc::new(next(state).expect("a view"));
    assert_eq!(state.apply(&Command::ChangeView { next }), Verdict::Done);
}

fn make_restorable(state: &mut ControlState, nodes: &[NodeId]) {
    for node in nodes {
        change(state, |state| succession::with_restorable(&state.view, *node));
    }
}

/// The newest life of a node has left everything up to `flushed`.
fn point(state: &ControlState, node: NodeId, flushed: u64) -> ClaimPoint {
    let (restart, lineage) = (state.view.restart.number, state.incarnation(node));
    ClaimPoint { restart, lineage, flushed: Epoch(flushed), closed_at_us: flushed * 10_000, low: Epoch(0) }
}

/// A disk with these points that knows what was durable.
fn claim(durable: u64, points: &[ClaimPoint]) -> Claim {
    let claim = Claim { founding: FOUNDING, durable: Epoch(durable), ..Claim::default() };
    Claim { points: points.to_vec(), ..claim }
}

/// All nodes start again, each with a disk that holds what its last life wrote.
fn lose_all(state: &mut ControlState, disks: [(u64, u64); 4]) {
    for (node, (flushed, durable)) in ALL.into_iter().zip(disks) {
        let left = claim(durable, &[point(state, node, flushed)]);
        join(state, node, Some(left));
    }
}

fn restart(state: &mut ControlState, plan: &Plan) {
    let view = Arc::new(plan.view(&state.view).expect("a view"));
    assert_eq!(state.apply(&Command::Restart { view }), Verdict::Done);
}

fn nodes(plan: &Plan) -> Vec<NodeId> {
    plan.nodes.iter().map(|(info, _)| info.node).collect()
}

#[test]
pub(crate) fn the_cut_is_what_a_disk_of_each_group_holds() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    // Marks are 10 ms apart: 100 ms are ten epochs.
    lose_all(&mut state, [(90, 50), (50, 50), (70, 50), (71, 50)]);
    assert_eq!(standing(&state, |_| true), Standing::Lost);
    assert_eq!(runs_still(&state, |_| true), []);
    let planned = plan(&state, &ALL).unwrap();
    // 71 is the highest; one epoch less, and node 3 counts, too. Node 2 would cost 200 ms.
    assert_eq!(planned.restart, RestartPoint::FOUNDING.next(Epoch(70)));
    assert_eq!(nodes(&planned), [NodeId(1), NodeId(3), NodeId(4)]);
    // Without node 1, node 2 decides.
    let planned = plan(&state, &ALL[1..]).unwrap();
    assert_eq!((planned.restart.cut, nodes(&planned)), (Epoch(50), ALL[1..].to_vec()));
    restart(&mut state, &planned);
    let view = &state.view;
    assert!(view.is_first() && view.keeps_durable() && !view.is_member(NodeId(1)));
    assert!(view.slots.iter().all(|place| place.since == view.number && place.primary != NodeId(1)));
    assert_eq!(standing(&state, |_| true), Standing::Runs);
}

/// Node 3 has lost the end of its log, in which there was something durable that its own claim does not know any more.
#[test]
fn a_damaged_disk_does_not_lower_the_cut() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    for (node, flushed) in ALL.into_iter().zip([71, 71, 70, 71]) {
        let left = claim(50, &[point(&state, node, flushed)]);
        join(&mut state, node, Some(Claim { is_damaged: flushed == 70, ..left }));
    }
    let planned = plan(&state, &ALL).unwrap();
    assert_eq!((planned.restart.cut, nodes(&planned)), (Epoch(71), [1, 2, 4].map(NodeId).to_vec()));
}

/// Node 1 was copied to, and has nothing of epochs below 60 by themselves.
#[test]
fn a_disk_that_was_copied_to_is_not_brought_below_that() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    let copied = ClaimPoint { low: Epoch(60), ..point(&state, NodeId(1), 90) };
    let left =
        [copied, point(&state, NodeId(2), 50), point(&state, NodeId(3), 50), point(&state, NodeId(4), 50)];
    for (node, point) in ALL.into_iter().zip(left) {
        join(&mut state, node, Some(claim(50, &[point])));
    }
    let planned = plan(&state, &ALL).unwrap();
    assert_eq!((planned.restart.cut, nodes(&planned)), (Epoch(50), ALL[1..].to_vec()));
}

#[test]
pub(crate) fn a_disk_that_ends_before_what_is_durable_is_no_source() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    lose_all(&mut state, [(40, 30), (90, 60), (95, 60), (95, 60)]);
    // Node 1 has lost synced writes. Node 2 is away, and somebody else knows better.
    let there = [NodeId(1), NodeId(3), NodeId(4)];
    let lack = Lack::TooOld { flushed: Epoch(40), durable: Epoch(60) };
    let missing = Missing { group: 1, nodes: vec![(NodeId(1), lack), (NodeId(2), Lack::Away)] };
    assert_eq!(plan(&state, &there), Err(vec![missing]));
    assert_eq!(plan(&state, &ALL).unwrap().restart.cut, Epoch(90));
}

#[test]
pub(crate) fn only_the_disk_of_a_life_that_the_view_names_counts() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    // Node 1 leaves, and comes back. It dies while it is copied to, and the others go on, and all die.
    let first = point(&state, NodeId(1), 40);
    change(&mut state, |state| succession::without(&state.view, &[NodeId(1)]));
    assert_eq!(state.view.groups[1].restorable, [(NodeId(2), Incarnation(2))]);
    join(&mut state, NodeId(1), Some(claim(30, &[first])));
    let second = point(&state, NodeId(1), 80);
    for node in &ALL[1..] {
        let left = claim(30, &[point(&state, *node, 80)]);
        join(&mut state, *node, Some(left));
    }
    join(&mut state, NodeId(1), Some(claim(30, &[second, first])));
    let there = [NodeId(1), NodeId(3), NodeId(4)];
    let missing = Missing { group: 1, nodes: vec![(NodeId(2), Lack::Away)] };
    assert_eq!(plan(&state, &there), Err(vec![missing]));
    assert_eq!(nodes(&plan(&state, &ALL).unwrap()), ALL[1..]);
}

#[test]
pub(crate) fn the_last_restorable_life_is_waited_for_while_another_one_joins() {
    let mut state = running();
    make_restorable(&mut state, &ALL[1..]);
    // Node 1 is in sync and not restorable; node 2, which is, leaves.
    change(&mut state, |state| succession::without(&state.view, &[NodeId(2)]));
    let named = (NodeId(2), Incarnation(2));
    assert_eq!(state.view.groups[1].restorable, [named]);
    assert!(!state.view.keeps_durable());
    let old = point(&state, NodeId(2), 40);
    let life = join(&mut state, NodeId(2), Some(claim(30, &[old])));
    change(&mut state, |state| succession::with_joining(&state.view, &state.info(NodeId(2), NodeRole::Data)));
    assert_eq!(succession::with_restorable(&state.view, NodeId(2)), None, "it is being copied to");
    change(&mut state, |state| succession::with_in_sync(&state.view, NodeId(2)));
    change(&mut state, |state| succession::with_restorable(&state.view, NodeId(2)));
    assert_eq!(state.view.groups[1].restorable, [named, (NodeId(2), life)], "either disk counts");
    change(&mut state, |state| succession::with_durable(&state.view, NodeId(2)));
    assert_eq!(state.view.groups[1].restorable, [(NodeId(2), life)]);
    assert_eq!(succession::with_durable(&state.view, NodeId(2)), None);
}

#[test]
pub(crate) fn what_was_above_a_cut_never_comes_back() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    // Node 1 has 90, and is away when the others start from 50.
    let first = point(&state, NodeId(1), 90);
    lose_all(&mut state, [(90, 50), (50, 50), (50, 50), (50, 50)]);
    let planned = plan(&state, &ALL[1..]).unwrap();
    restart(&mut state, &planned);
    let begun = state.view.restart;
    assert_eq!(begun.cut, Epoch(50));
    // All are lost at once. Node 1 still has what was above the cut.
    let header = |state: &ControlState, node| {
        let point = ClaimPoint { restart: begun.number, ..point(state, node, 50) };
        claim(50, &[point])
    };
    let disk = claim(60, &[first]);
    assert_eq!(disk.confirmed(state.restarts(), |_| true).map(|point| point.flushed), Some(Epoch(50)));
    for node in &ALL[1..] {
        let left = header(&state, *node);
        join(&mut state, *node, Some(left));
    }
    join(&mut state, NodeId(1), Some(disk));
    // The epoch that it knows to have been durable was cut off by that restart. So the cut is the same again, and new
    // epochs are such that nobody has stamped.
    let planned = plan(&state, &ALL).unwrap();
    assert_eq!((planned.restart.cut, nodes(&planned)), (Epoch(50), ALL[1..].to_vec()));
    assert!(planned.restart.first > begun.first);
    assert!(plan(&state, &[NodeId(1), NodeId(3), NodeId(4)]).is_err(), "it is no source");
}

#[test]
pub(crate) fn the_header_of_a_restart_that_was_never_recorded_is_void() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    let old = ALL.map(|node| point(&state, node, 90));
    lose_all(&mut state, [(90, 50); 4]);
    let planned = plan(&state, &ALL).unwrap();
    // Node 1 writes its header, and all die again before the restart is recorded; then it is away.
    let header = ClaimPoint {
        restart: planned.restart.number,
        lineage: state.incarnation(NodeId(1)),
        flushed: planned.restart.cut,
        closed_at_us: 1,
        low: Epoch(0),
    };
    for (node, old) in ALL.into_iter().zip(old).skip(1) {
        let left = claim(50, &[ClaimPoint { flushed: Epoch(80), ..old }]);
        join(&mut state, node, Some(left));
    }
    let disk = claim(50, &[header, old[0]]);
    join(&mut state, NodeId(1), Some(disk.clone()));
    let order = plan(&state, &ALL).unwrap().nodes[0].1;
    assert_eq!(order.source, old[0].lineage, "what was there before counts");
    let second = plan(&state, &ALL[1..]).unwrap();
    assert_eq!(second.restart, state.view.restart.next(Epoch(80)));
    assert_eq!(second.restart.number, planned.restart.number);
    restart(&mut state, &second);
    let left = disk.confirmed(state.restarts(), |_| true);
    assert_eq!(left, Some(ClaimPoint { flushed: Epoch(80), ..old[0] }), "another restart took its number");
}

#[test]
fn checkpoints_that_are_too_new_are_said_so() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    let newer = |state: &ControlState, node| Claim { low: Epoch(80), ..claim(20, &[point(state, node, 90)]) };
    for node in [NodeId(1), NodeId(2)] {
        let left = newer(&state, node);
        join(&mut state, node, Some(left));
    }
    for node in [NodeId(3), NodeId(4)] {
        let left = claim(20, &[point(&state, node, 70)]);
        join(&mut state, node, Some(left));
    }
    let missing = plan(&state, &ALL).unwrap_err();
    assert_eq!(missing.len(), 2);
    assert!(missing.iter().all(|missing| missing.nodes.iter().all(|(_, lack)| *lack == Lack::TooNew)));
}

#[test]
fn a_cluster_that_never_was_durable_begins_empty() {
    let mut state = running();
    make_restorable(&mut state, &ALL[..2]);
    lose_all(&mut state, [(9, 0), (9, 0), (9, 0), (9, 0)]);
    let planned = plan(&state, &ALL).unwrap();
    assert_eq!((planned.restart.cut, planned.nodes.len()), (Epoch(0), 4));
    assert!(planned.nodes.iter().all(|(_, order)| order.source == Incarnation(0)));
    restart(&mut state, &planned);
    assert!(state.view.began_empty() && state.view.keeps_durable());
    let missing = plan(&running(), &ALL).unwrap_err();
    assert_eq!(missing.len(), 2, "nobody has started again");
}

#[test]
fn a_disk_of_another_founding_or_of_long_ago_holds_nothing() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    let left = Claim { founding: GroupId(6), ..claim(90, &[point(&state, NodeId(1), 90)]) };
    lose_all(&mut state, [(90, 50), (50, 50), (70, 50), (71, 50)]);
    join(&mut state, NodeId(1), Some(left));
    assert_eq!(plan(&state, &ALL).unwrap().restart.cut, Epoch(50));
    let ancient = claim(90, &[point(&state, NodeId(1), 90)]);
    for _ in 0..protocol::restart::RESTARTS_MAX + 1 {
        let members: Vec<NodeInfo> = ALL.map(|node| state.info(node, NodeRole::Data)).to_vec();
        let view = succession::restarted(&state.view, Epoch(100), &members, &[]).map(Arc::new).unwrap();
        assert_eq!(state.apply(&Command::Restart { view }), Verdict::Done);
    }
    assert_eq!(ancient.confirmed(state.restarts(), |_| true), None);
}

#[test]
fn a_group_is_lost_when_nobody_of_it_can_go_on() {
    let mut state = running();
    assert_eq!(standing(&state, |_| true), Standing::Runs);
    assert_eq!(standing(&state, |_| false), Standing::Runs, "this node may be cut off itself");
    join(&mut state, NodeId(1), Some(Claim::default()));
    assert_eq!(standing(&state, |_| true), Standing::Runs);
    assert_eq!(standing(&state, |node| node != NodeId(2)), Standing::Lost);
    // The other group lives, and ends: even out of earshot nobody may take its place yet.
    assert_eq!(runs_still(&state, |node| node.0 > 2), [NodeId(3), NodeId(4)]);
    assert_eq!(runs_still(&state, |_| false), [NodeId(3), NodeId(4)]);
    join(&mut state, NodeId(3), Some(Claim::default()));
    assert_eq!(runs_still(&state, |_| true), [NodeId(2), NodeId(4)]);
    assert_eq!(runs_still(&state, |_| false), []);
}

#[test]
pub(crate) fn no_view_but_a_restarts_follows_a_stop() {
    let mut state = running();
    make_restorable(&mut state, &[NodeId(1), NodeId(3)]);
    let view = state.view.number;
    assert_eq!(state.apply(&Command::Stop { view }), Verdict::Done);
    assert!(state.view.is_stopped && state.view.number.0 == view.0 + 1);
    assert_eq!(state.apply(&Command::Stop { view }), Verdict::Repeated);
    let void = Verdict::Void(succession::Illegal::Overtaken);
    assert_eq!(state.apply(&Command::Stop { view: state.view.number }), void);
    // The first process has ended, and the others see that.
    let next = Arc::new(succession::without(&state.view, &[NodeId(1)]).expect("a view"));
    let stopped = Verdict::Void(succession::Illegal::Stopped);
    assert_eq!(state.apply(&Command::ChangeView { next }), stopped);
    assert_eq!(state.view.groups[1].restorable.len(), 2);
    assert_eq!(standing(&state, |_| true), Standing::Lost);
    lose_all(&mut state, [(90, 90); 4]);
    let planned = plan(&state, &ALL).unwrap();
    assert_eq!((planned.restart.cut, nodes(&planned)), (Epoch(90), ALL.to_vec()));
    restart(&mut state, &planned);
    assert!(!state.view.is_stopped && state.view.is_first());
    assert_eq!(standing(&state, |_| true), Standing::Runs);
    // Nodes that keep no rows on disk are not restorable.
    let mut state = running();
    join(&mut state, NodeId(2), None);
    change(&mut state, |state| succession::without(&state.view, &[NodeId(2)]));
    change(&mut state, |state| succession::with_joining(&state.view, &state.info(NodeId(2), NodeRole::Data)));
    change(&mut state, |state| succession::with_in_sync(&state.view, NodeId(2)));
    assert_eq!(state.apply(&Command::Stop { view: state.view.number }), Verdict::Done);
    assert_eq!(state.view.groups[1].restorable, [(NodeId(1), state.incarnation(NodeId(1)))]);
}

/// An operator gives rows up.
fn give_up(state: &mut ControlState, without: &[NodeId]) {
    let (view, without) = (state.view.number, without.to_vec());
    let command = Command::LoseData { view, without, operator: "me".to_owned() };
    assert_eq!(state.apply(&command), Verdict::Done);
}

#[test]
fn with_data_loss_the_best_disk_of_a_group_counts() {
    let mut state = running();
    make_restorable(&mut state, &[NodeId(2), NodeId(3), NodeId(4)]);
    // Node 1 is not restorable, and ends before what was durable. Node 2, which has it, is gone.
    lose_all(&mut state, [(40, 30), (90, 60), (95, 60), (95, 60)]);
    let there = [NodeId(1), NodeId(3), NodeId(4)];
    assert!(plan(&state, &there).is_err());
    give_up(&mut state, &[NodeId(2)]);
    let planned = plan(&state, &there).unwrap();
    // The others go back with it: what comes back is the cluster as it was at one epoch.
    assert_eq!((planned.restart.cut, nodes(&planned), planned.empty.len()), (Epoch(40), there.to_vec(), 0));
    // A node that is given up counts for nothing when it comes.
    assert_eq!(nodes(&plan(&state, &ALL).unwrap()), there);
    restart(&mut state, &planned);
    assert_eq!(state.concession(), None, "it was about that restart");
}

#[test]
fn with_data_loss_a_group_without_a_disk_begins_empty() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    lose_all(&mut state, [(70, 60), (70, 60), (95, 60), (95, 60)]);
    // The disks of the second group are gone; node 3 comes with an empty one.
    join(&mut state, NodeId(3), Some(Claim::default()));
    let there = [NodeId(1), NodeId(2), NodeId(3)];
    assert!(plan(&state, &there).is_err());
    give_up(&mut state, &[NodeId(4)]);
    let missing = plan(&state, &there[..2]).unwrap_err();
    assert_eq!(missing.len(), 1, "a group needs a node to begin at all");
    let planned = plan(&state, &there).unwrap();
    assert_eq!((planned.restart.cut, planned.empty.as_slice()), (Epoch(70), [NodeId(3)].as_slice()));
    restart(&mut state, &planned);
    let view = &state.view;
    assert!(!view.began_empty(), "the first group has its rows");
    assert_eq!(view.groups[2].in_sync, [NodeId(3)]);
    assert_eq!(
        (view.groups[0].joining.as_slice(), view.is_in_sync(NodeId(3))),
        ([NodeId(3)].as_slice(), false)
    );
    change(&mut state, |state| succession::with_in_sync(&state.view, NodeId(3)));
    assert!(state.view.is_in_sync(NodeId(3)));
}

#[test]
fn with_data_loss_and_no_disk_at_all_the_cluster_begins_empty() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    for node in ALL {
        join(&mut state, node, Some(Claim::default()));
    }
    assert!(plan(&state, &ALL).is_err());
    give_up(&mut state, &[]);
    let planned = plan(&state, &ALL).unwrap();
    assert_eq!((planned.restart.cut, planned.nodes.len()), (Epoch(0), 4));
}

#[test]
fn an_order_about_another_view_is_void() {
    let mut state = running();
    let (view, without) = (state.view.number, vec![NodeId(2)]);
    change(&mut state, |state| succession::without(&state.view, &[NodeId(2)]));
    let command = Command::LoseData { view, without, operator: "me".to_owned() };
    assert_eq!(state.apply(&command), Verdict::Void(succession::Illegal::Overtaken));
    assert_eq!(state.concession(), None);
}

#[test]
fn behind_a_recovery_of_lost_voters_any_life_counts_that_holds_what_is_durable() {
    let mut state = running();
    make_restorable(&mut state, &ALL);
    lose_all(&mut state, [(40, 30), (90, 60), (95, 60), (95, 60)]);
    // The copy of the control log that is left is an old one: it knows of other lives.
    let old = ALL.map(|node| ClaimPoint { lineage: Incarnation(77), ..point(&state, node, 90) });
    for (node, old) in ALL.into_iter().zip(old) {
        let flushed = if node == NodeId(1) { Epoch(50) } else { old.flushed };
        join(&mut state, node, Some(claim(60, &[ClaimPoint { flushed, ..old }])));
    }
    assert!(plan(&state, &ALL).is_err());
    let view = succession::refounded_stopped(&state.view, GroupId(9), 1 << 20);
    let record = RecoveryRecord { replaced: FOUNDING, without: vec![NodeId(1)], operator: "me".to_owned() };
    let mut state = state.refounded(GroupId(9), view, record.clone(), (NodeId(2), 1));
    assert_eq!(standing(&state, |_| true), Standing::Lost);
    let planned = plan(&state, &ALL).unwrap();
    assert_eq!((planned.restart.cut, nodes(&planned)), (Epoch(90), ALL[1..].to_vec()));
    // Node 1 ends before what is durable: alone it does not suffice, before rows are given up.
    let record = RecoveryRecord { without: vec![NodeId(2)], ..record };
    state = state.refounded(GroupId(10), (*state.view).clone(), record, (NodeId(1), 1));
    let there = [NodeId(1), NodeId(3), NodeId(4)];
    assert!(plan(&state, &there).is_err());
    give_up(&mut state, &[NodeId(2)]);
    assert_eq!(plan(&state, &there).unwrap().restart.cut, Epoch(50));
}
