mod every_cpu;

use super::*;
use types::{Epoch, ViewNumber};

fn settings() -> ClusterSettings {
    ClusterSettings {
        members: vec![
            (NodeId(65), NodeRole::Management),
            (NodeId(1), NodeRole::Data),
            (NodeId(2), NodeRole::Data),
        ],
        replica_count: 2,
        partitions_per_node: 2,
        slots_per_node: 2,
        voter_count: 1,
    }
}

fn join(node: u16, start: u64) -> Command {
    join_after(node, start, 0)
}

fn join_after(node: u16, start: u64, replaces: u32) -> Command {
    let role = if node == 65 { NodeRole::Management } else { NodeRole::Data };
    let join = JoinRequest {
        role,
        start,
        host: "host".to_owned(),
        ldm_count: 1,
        tc_count: 1,
        query_count: 0,
        sql_count: 1,
        claim: None,
    };
    Command::Join { node: NodeId(node), join: Box::new(join), replaces: Incarnation(replaces) }
}

fn running() -> ControlState {
    let mut state = ControlState::founded(GroupId(5), settings(), NodeId(65), 1);
    assert_eq!(state.apply(&join(1, 10)), Verdict::Done);
    assert_eq!(state.view.number, ViewNumber(0));
    assert_eq!(state.apply(&join(2, 20)), Verdict::Done);
    assert_eq!(state.view.number, ViewNumber(1));
    state
}

fn change(voter: u64, node: u16, step: VoterStep) -> VoterChange {
    VoterChange { voter: VoterId(voter), node: NodeId(node), start: 1, step }
}

#[test]
pub(crate) fn a_process_start_has_one_incarnation() {
    let mut state = running();
    let first = state.life(NodeId(1)).unwrap().incarnation;
    assert_eq!(state.apply(&join(1, 10)), Verdict::Repeated);
    assert_eq!(state.life(NodeId(1)).unwrap().incarnation, first);
    assert_eq!(state.apply(&join(1, 11)), Verdict::Void(Illegal::Overtaken));
    assert_eq!(state.apply(&join_after(1, 11, first.0)), Verdict::Done);
    // The request of a process that is gone comes late.
    assert_eq!(state.apply(&join(1, 9)), Verdict::Void(Illegal::Overtaken));
    assert_eq!(state.apply(&join_after(1, 10, first.0)), Verdict::Void(Illegal::Overtaken));
    assert!(state.life(NodeId(1)).unwrap().incarnation > first);
    // The view keeps the old life: rows of the new one are not there.
    assert_eq!(state.view.node(NodeId(1)).unwrap().incarnation, first);
    assert_eq!(state.apply(&join(7, 1)), Verdict::Void(Illegal::Malformed));
}

#[test]
fn of_two_views_made_from_the_same_one_the_first_wins() {
    let mut state = running();
    let left = succession::without(&state.view, &[NodeId(1)]).unwrap();
    let right = succession::without(&state.view, &[NodeId(2)]).unwrap();
    let propose = |view: &View| Command::ChangeView { next: Arc::new(view.clone()) };
    assert_eq!(state.apply(&propose(&left)), Verdict::Done);
    assert_eq!(state.apply(&propose(&right)), Verdict::Void(Illegal::Overtaken));
    assert_eq!(state.apply(&propose(&left)), Verdict::Repeated);
    assert_eq!(state.view.groups[1].in_sync, [NodeId(2)]);
}

#[test]
pub(crate) fn restarts_are_counted_one_by_one() {
    let mut state = running();
    let restart = |state: &ControlState, cut| {
        let members: Vec<NodeInfo> =
            [NodeId(1), NodeId(2)].iter().map(|node| state.info(*node, NodeRole::Data)).collect();
        succession::restarted(&state.view, Epoch(cut), &members, &[]).unwrap()
    };
    let apply = |state: &mut ControlState, view: &View| {
        state.apply(&Command::Restart { view: Arc::new(view.clone()) })
    };
    let (first, rival) = (restart(&state, 5), restart(&state, 6));
    let mut skipped = first.clone();
    skipped.restart = skipped.restart.next(Epoch(7));
    assert_eq!(apply(&mut state, &skipped), Verdict::Void(Illegal::Overtaken));
    assert_eq!(apply(&mut state, &first), Verdict::Done);
    assert_eq!(apply(&mut state, &first), Verdict::Repeated);
    assert_eq!(apply(&mut state, &rival), Verdict::Void(Illegal::Overtaken));
    let second = restart(&state, 9);
    // One of its nodes has started again meanwhile: what it had restored is gone.
    let life = state.incarnation(NodeId(2));
    assert_eq!(state.apply(&join_after(2, 21, life.0)), Verdict::Done);
    assert_eq!(apply(&mut state, &second), Verdict::Void(Illegal::WrongLife));
    let second = restart(&state, 9);
    assert_eq!(apply(&mut state, &second), Verdict::Done);
    assert_eq!(state.restarts(), [first.restart, second.restart]);
    assert_eq!(second.restart, first.restart.next(Epoch(9)));
    for cut in 10..80 {
        let next = restart(&state, cut);
        assert_eq!(apply(&mut state, &next), Verdict::Done);
    }
    assert_eq!(state.restarts().len(), RESTARTS_MAX);
    assert_eq!(state.restarts().last().map(|last| (last.number.0, last.cut)), Some((72, Epoch(79))));
}

#[test]
fn voter_ids_are_never_given_twice() {
    let mut state = running();
    assert!(!state.apply_voter_change(&change(1, 65, VoterStep::Remove)), "the last voter stays");
    assert!(state.apply_voter_change(&change(2, 1, VoterStep::AddLearner)));
    assert!(!state.apply_voter_change(&change(3, 1, VoterStep::AddLearner)), "one per node");
    assert!(!state.apply_voter_change(&change(2, 2, VoterStep::AddLearner)));
    assert!(state.apply_voter_change(&change(2, 1, VoterStep::Promote)));
    assert!(!state.apply_voter_change(&change(2, 1, VoterStep::Promote)));
    assert!(state.apply_voter_change(&change(2, 1, VoterStep::Remove)));
    assert!(state.is_removed(VoterId(2)) && !state.is_removed(VoterId(3)));
    assert!(!state.apply_voter_change(&change(2, 1, VoterStep::AddLearner)));
    assert_eq!(state.next_voter(), VoterId(3));
}

#[test]
fn a_snapshot_is_the_state() {
    let state = running();
    assert_eq!(ControlState::decode(&state.encode()).unwrap(), state);
    let bytes = state.encode();
    for length in 0..bytes.len() {
        assert!(ControlState::decode(&bytes[..length]).is_err());
    }
}

#[test]
pub(crate) fn the_first_view_waits_for_all_voters() {
    let settings = ClusterSettings { voter_count: 3, ..settings() };
    let mut state = ControlState::founded(GroupId(5), settings, NodeId(65), 1);
    for (node, start) in [(1, 10), (2, 20)] {
        assert_eq!(state.apply(&join(node, start)), Verdict::Done);
    }
    for (voter, node) in [(2, 1), (3, 2)] {
        assert_eq!(state.view.number, ViewNumber(0), "the loss of one node could be that of the majority");
        assert!(state.apply_voter_change(&change(voter, node, VoterStep::AddLearner)));
        assert!(state.apply_voter_change(&change(voter, node, VoterStep::Promote)));
    }
    assert_eq!(state.view.number, ViewNumber(1));
}

#[test]
fn a_cluster_has_slots_for_all_ldm_of_its_nodes() {
    assert_eq!([1, 2, 15, 16, 64, 65, 128].map(slots_for), [16, 16, 16, 64, 64, 128, 128]);
    assert!((1..=128).all(|ldm_count| slots_for(ldm_count) >= u16::from(ldm_count)));
}
