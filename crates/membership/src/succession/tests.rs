use super::*;
use fixtures::data_node;
use protocol::SlotSizes;
use protocol::control::GroupId;

fn info(node: u16, life: u32) -> NodeInfo {
    NodeInfo { incarnation: Incarnation(life), ..data_node(node) }
}

/// Four nodes in two groups, two slots per node.
fn first() -> View {
    View::first(GroupId(1), (1..=4).map(data_node).collect(), 2, SlotSizes::least(2))
}

fn lives() -> BTreeMap<NodeId, Incarnation> {
    (1..=4).map(|node| (NodeId(node), Incarnation(u32::from(node)))).collect()
}

#[test]
fn a_lost_node_leaves_and_its_primaries_go_to_who_is_left() {
    let view = first();
    let next = without(&view, &[NodeId(1)]).unwrap();
    assert_eq!(check(&view, &next, &lives()), Ok(()));
    assert!(next.slots.iter().all(|place| place.primary != NodeId(1)));
    assert!(next.slots.iter().zip(&view.slots).all(|(after, before)| after.rank == before.rank));
    assert_eq!(next.epoch_master(), Some(NodeId(2)));
    assert_eq!(without(&next, &[NodeId(2)]), None);
    assert!(without(&next, &[NodeId(3)]).is_some());
}

#[test]
fn a_node_comes_back_in_a_new_life_through_joining() {
    let view = first();
    let away = without(&view, &[NodeId(2)]).unwrap();
    let mut lives = lives();
    lives.insert(NodeId(2), Incarnation(9));
    let joining = with_joining(&away, &info(2, 9)).unwrap();
    assert_eq!(check(&away, &joining, &lives), Ok(()));
    let back = with_in_sync(&joining, NodeId(2)).unwrap();
    assert_eq!(check(&joining, &back, &lives), Ok(()));
    assert_eq!(back.groups[1].in_sync, [NodeId(1), NodeId(2)]);
    let spread = with_spread_primaries(&back).unwrap();
    assert_eq!(check(&back, &spread, &lives), Ok(()));
    let led = |node| spread.user_slots().filter(|id| spread.place(*id).unwrap().primary == node).count();
    assert_eq!(led(NodeId(1)), led(NodeId(2)));
    assert_eq!(with_spread_primaries(&spread), None);
}

#[test]
fn illegal_steps_are_refused() {
    let view = first();
    let away = without(&view, &[NodeId(2)]).unwrap();
    let change = |change: fn(&mut View)| {
        let mut next = View { number: ViewNumber(3), ..away.clone() };
        change(&mut next);
        check(&away, &next, &lives())
    };
    assert_eq!(change(|_| {}), Ok(()));
    assert_eq!(change(|next| next.number = ViewNumber(2)), Err(Illegal::Overtaken));
    assert_eq!(change(|next| next.number = ViewNumber(4)), Err(Illegal::Overtaken));
    // In sync without having joined.
    assert_eq!(change(|next| next.groups[1].in_sync.push(NodeId(2))), Err(Illegal::NotJoined));
    assert_eq!(change(|next| next.groups[1].in_sync.clear()), Err(Illegal::NotViable));
    // A member that changes its life, or has one that nobody was given.
    assert_eq!(change(|next| next.nodes[0].incarnation = Incarnation(0)), Err(Illegal::WrongLife));
    assert_eq!(change(|next| next.nodes[1].incarnation = Incarnation(7)), Err(Illegal::WrongLife));
    // A primary that is not in sync, a slot that moves, a stranger, a member twice.
    assert_eq!(change(|next| next.slots[1].primary = NodeId(2)), Err(Illegal::Malformed));
    assert_eq!(change(|next| next.slots[1].rank += 1), Err(Illegal::Malformed));
    assert_eq!(change(|next| next.slots[1].group = 77), Err(Illegal::Malformed));
    assert_eq!(change(|next| next.groups[1].joining.push(NodeId(3))), Err(Illegal::Malformed));
    assert_eq!(change(|next| next.groups[1].in_sync.push(NodeId(1))), Err(Illegal::Malformed));
    assert_eq!(change(|next| next.groups[1].joining.push(NodeId(1))), Err(Illegal::Malformed));
    assert_eq!(
        change(|next| next.groups[1].restorable.push((NodeId(2), Incarnation(2)))),
        Err(Illegal::NotJoined)
    );
    assert_eq!(change(|next| drop(next.groups.pop())), Err(Illegal::Malformed));
    assert_eq!(change(|next| next.nodes.reverse()), Err(Illegal::Malformed));
}

#[test]
fn who_is_in_sync_cannot_join() {
    assert_eq!(with_joining(&first(), &info(1, 9)), None);
    assert_eq!(with_in_sync(&first(), NodeId(1)), None);
}

#[test]
fn primaries_are_handed_over_before_a_node_stops_and_come_back_if_it_stays() {
    let view = first();
    let leaving = with_leaving(&view, NodeId(1)).unwrap();
    assert_eq!(check(&view, &leaving, &lives()), Ok(()));
    assert!(leaving.slots.iter().all(|place| place.primary != NodeId(1)));
    assert!(leaving.slots.iter().all(|place| place.since == ViewNumber(1)), "the lines go on");
    // Nobody gives it anything, and its group's other node must not leave, too.
    assert_eq!(with_spread_primaries(&leaving), None);
    assert_eq!(with_leaving(&leaving, NodeId(1)), None);
    assert_eq!(with_leaving(&leaving, NodeId(2)), None);
    let away = without(&leaving, &[NodeId(1)]).unwrap();
    assert_eq!(check(&leaving, &away, &lives()), Ok(()));
    assert!(away.leaving.is_empty());
    assert!(away.slots.iter().all(|place| place.since == ViewNumber(1)), "nothing was lost");
    let stays = with_staying(&leaving, NodeId(1)).unwrap();
    assert_eq!(check(&leaving, &stays, &lives()), Ok(()));
    assert_eq!(with_spread_primaries(&stays), None);
    assert!(stays.slots.iter().any(|place| place.primary == NodeId(1)));
    assert_eq!(with_staying(&stays, NodeId(1)), None);
}

#[test]
fn a_line_ends_with_a_primary_that_is_lost_and_only_then() {
    let view = first();
    let away = without(&view, &[NodeId(1)]).unwrap();
    for (before, after) in view.slots.iter().zip(&away.slots) {
        assert_eq!(after.since == away.number, before.primary == NodeId(1));
    }
    // A lost primary's line can't go on, and one that stays has no new line.
    let mut wrong = away.clone();
    for place in &mut wrong.slots {
        place.since = ViewNumber(1);
    }
    assert_eq!(check(&view, &wrong, &lives()), Err(Illegal::Malformed));
    let mut wrong = away;
    for place in &mut wrong.slots {
        place.since = wrong.number;
    }
    assert_eq!(check(&view, &wrong, &lives()), Err(Illegal::Malformed));
}

/// A cluster of so many nodes, with four ranks per group.
fn larger(nodes: u16, replicas: usize) -> View {
    let sizes = SlotSizes { slots_per_node: 4, partitions_per_node: 2 };
    View::first(GroupId(1), (1..=nodes).map(|node| info(node, u32::from(node))).collect(), replicas, sizes)
}

/// The view after a node has left and come back.
fn after_restart(view: &View, node: u16) -> View {
    let away = without(view, &[NodeId(node)]).unwrap();
    let joining = with_joining(&away, &info(node, 9)).unwrap();
    let back = with_in_sync(&joining, NodeId(node)).unwrap();
    with_spread_primaries(&back).unwrap()
}

/// All slots of users are led from home.
fn is_at_home(view: &View) -> bool {
    view.user_slots().all(|slot| view.home(slot) == view.place(slot).map(|place| place.primary))
}

#[test]
pub(crate) fn primaries_go_home() {
    for (nodes, replicas) in [(2, 2), (4, 2), (3, 3), (8, 4)] {
        let mut view = larger(nodes, replicas);
        assert!(is_at_home(&view));
        // In any order of restarts each rank of a table is led by all nodes of its group, as in the beginning.
        for node in (1..=nodes).rev().chain(1..=nodes) {
            view = after_restart(&view, node);
            assert!(is_at_home(&view), "{nodes} nodes, {replicas} replicas, node {node}");
            assert_eq!(with_spread_primaries(&view), None);
        }
    }
}

#[test]
fn slots_without_a_home_are_spread_rank_by_rank() {
    let view = larger(4, 4);
    let away = without(&view, &[NodeId(1)]).unwrap();
    let led = |view: &View, rank: u16, node: u16| {
        let of_rank = view.slots[1..].iter().filter(|place| place.rank == rank);
        of_rank.filter(|place| place.primary == NodeId(node)).count()
    };
    // One node leads two slots of each rank. Over all ranks each node does so about as often.
    for rank in 0..4 {
        assert_eq!((2..=4).map(|node| led(&away, rank, node)).sum::<usize>(), 4);
        assert!((2..=4).all(|node| (1..=2).contains(&led(&away, rank, node))));
    }
    let in_all = |node| (0..4).map(|rank| led(&away, rank, node)).sum::<usize>();
    assert_eq!((2..=4).map(in_all).max(), Some(6));
    assert_eq!(with_spread_primaries(&away), None);
    // One member was left for all of a rank: those that come back take of it.
    let alone = without(&away, &[NodeId(2), NodeId(3)]).unwrap();
    assert!(alone.slots.iter().all(|place| place.primary == NodeId(4)));
    let joining = with_joining(&alone, &info(3, 9)).unwrap();
    let two = with_spread_primaries(&with_in_sync(&joining, NodeId(3)).unwrap()).unwrap();
    for rank in 0..4 {
        assert_eq!((led(&two, rank, 3), led(&two, rank, 4)), (2, 2));
    }
}

#[test]
fn what_a_node_founded_the_cluster_with_stays() {
    let view = first();
    let mut next = renewed(&view);
    assert_eq!(check(&view, &next, &lives()), Ok(()));
    next.partitions_per_node += 1;
    assert_eq!(check(&view, &next, &lives()), Err(Illegal::Malformed));
}
