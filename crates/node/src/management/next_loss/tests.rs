use super::warnings;
use fixtures::{data_node, node};
use membership::succession;
use protocol::control::VoterPlace;
use protocol::{NodeInfo, NodeRole, View};
use types::{Incarnation, NodeId};

/// Four data nodes in two groups, and a management node.
fn view() -> View {
    fixtures::view((1..=4).map(data_node).chain([node(65, NodeRole::Management)]).collect(), 2)
}

fn voters(nodes: &[u16]) -> Vec<VoterPlace> {
    nodes.iter().map(|node| VoterPlace { node: NodeId(*node), votes: true }).collect()
}

fn warned(view: &View, voting: &[u16], down: &[u16]) -> Vec<String> {
    warnings(view, &voters(voting), |node| !down.contains(&node.0))
}

#[test]
fn a_whole_cluster_gets_no_warning() {
    assert_eq!(warned(&view(), &[65, 1, 2], &[]), Vec::<String>::new());
    assert_eq!(warned(&View::none(), &[], &[]), Vec::<String>::new());
}

#[test]
fn the_last_replica_of_a_group_is_named() {
    let lost = succession::without(&view(), &[NodeId(3)]).unwrap();
    let expected = ["the loss of node 4 stops the cluster: no other node has all rows of node group 1"];
    assert_eq!(warned(&lost, &[65, 1, 2], &[3]), expected);
    // It is back, and gets its rows.
    let info = view().nodes[2].clone();
    let joining = succession::with_joining(&lost, &NodeInfo { incarnation: Incarnation(9), ..info }).unwrap();
    assert_eq!(warned(&joining, &[65, 1, 2], &[]), expected);
    let back = succession::with_in_sync(&joining, NodeId(3)).unwrap();
    assert_eq!(warned(&back, &[65, 1, 2], &[]), Vec::<String>::new());
    // No view without it came yet.
    assert_eq!(warned(&view(), &[65, 1, 2], &[3]), expected);
    assert_eq!(
        warned(&view(), &[65, 1, 2], &[3, 4]),
        ["no node of node group 1 is connected: its rows cannot be reached"]
    );
}

#[test]
fn the_last_majority_of_voters_is_named() {
    let view = view();
    assert_eq!(
        warned(&view, &[65, 1, 2], &[65]),
        [
            "2 of 3 voters are connected, not node 65: after the loss of one more (node 1, 2) no failure can be dealt with"
        ]
    );
    assert_eq!(warned(&view, &[65, 1, 2, 3, 4], &[65]), Vec::<String>::new());
    let minority = warned(&view, &[65, 1, 2], &[65, 1]);
    assert_eq!(
        minority.last().unwrap(),
        "1 of 3 voters are connected, not node 65, 1: no failure can be dealt with until one of them is back"
    );
    // A copy that catches up is no voter yet.
    let mut places = voters(&[1, 2]);
    places.push(VoterPlace { node: NodeId(65), votes: false });
    let catching_up = warnings(&view, &places, |_| true);
    assert_eq!(
        catching_up,
        ["2 of 2 voters are connected: after the loss of one more (node 1, 2) no failure can be dealt with"]
    );
}
