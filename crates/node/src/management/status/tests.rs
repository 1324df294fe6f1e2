use super::*;
use protocol::control::{GroupId, VoterPlace};
use protocol::{NodeInfo, SlotSizes, View};
use std::collections::BTreeMap;
use stdx::Instant;
use types::Incarnation;

const MANAGER: NodeId = NodeId(1);

/// A management node and four data nodes in two groups, all of them connected, and voters on the first five.
struct World {
    management: Management,
    view: View,
    voters: Vec<VoterPlace>,
    losses: BTreeMap<NodeId, u64>,
}

fn world() -> World {
    let role = |id: u16| if id == 1 { NodeRole::Management } else { NodeRole::Data };
    let nodes: Vec<ConfiguredNode> = (1..=5)
        .map(|id| ConfiguredNode { node: NodeId(id), role: role(id), host: "here".to_owned() })
        .collect();
    let info =
        |id: u16| NodeInfo { incarnation: Incarnation(10 + u32::from(id)), ..fixtures::node(id, role(id)) };
    let text = String::new();
    let mut management = Management::new(MANAGER, "a shop".to_owned(), "1".to_owned(), text, nodes);
    (2..=5).for_each(|id| management.set_up(NodeId(id), true));
    World {
        management,
        view: View::first(GroupId(1), (1..=5).map(info).collect(), 2, SlotSizes::least(2)),
        voters: (1..=5).map(|id| VoterPlace { node: NodeId(id), votes: true }).collect(),
        losses: BTreeMap::new(),
    }
}

impl World {
    fn cluster(&self) -> ClusterState<'_> {
        let incarnation = Incarnation(7);
        ClusterState {
            view: &self.view,
            voters: &self.voters,
            losses: &self.losses,
            incarnation,
            awaited: "",
            now: Instant(0),
        }
    }

    fn refusal(&self, id: u16) -> Option<String> {
        let node = self.management.nodes.iter().find(|node| node.node == NodeId(id)).unwrap();
        self.management.refusal(node, &self.cluster())
    }

    fn goes(&mut self, id: u16) {
        self.management.set_up(NodeId(id), false);
        if let Some(next) = succession::without(&self.view, &[NodeId(id)]) {
            self.view = next;
        }
    }
}

#[test]
fn a_whole_cluster_lets_everybody_go() {
    let world = world();
    assert_eq!((1..=5).filter_map(|id| world.refusal(id)).count(), 0);
}

#[test]
fn the_last_one_in_sync_stays() {
    let mut world = world();
    world.goes(2);
    // 2 and 3 are one group, 4 and 5 the other one.
    assert!(world.refusal(3).unwrap().starts_with("no other node in sync has its rows"));
    assert_eq!(world.refusal(4), None);
    assert_eq!(world.refusal(2).unwrap(), "it is not connected");
    // Nor does one whose heir is about to stop.
    let mut world = self::world();
    world.view = succession::with_leaving(&world.view, NodeId(2)).unwrap();
    assert!(world.refusal(3).unwrap().starts_with("no other node in sync has its rows"));
    assert_eq!(world.refusal(2).unwrap(), "it is about to stop already");
}

#[test]
fn the_last_majority_stays() {
    let mut world = world();
    world.goes(2);
    world.goes(4);
    // Three of five are left.
    let why = world.refusal(1).unwrap();
    assert!(why.starts_with("it is one of the last voters"), "{why}");
    assert!(why.ends_with("start node 2, 4 first"), "{why}");
}

#[test]
fn what_a_program_reads() {
    let mut world = world();
    world.losses.insert(NodeId(3), 2);
    world.view = succession::with_leaving(&world.view, NodeId(2)).unwrap();
    world.management.set_up(NodeId(5), false);
    let text = world.management.machine_status(&world.cluster());
    let expected = "\
cluster view=2 node=1 incarnation=7 even=1 name=a shop
voter node=1 votes=1 up=1
voter node=2 votes=1 up=1
voter node=3 votes=1 up=1
voter node=4 votes=1 up=1
voter node=5 votes=1 up=0
node id=1 role=management state=started incarnation=11 losses=0 leads=0 leaving=0 copied=0 partitions=0
node id=2 role=data state=started incarnation=12 losses=0 leads=0 leaving=1 copied=0 partitions=0 refusal=it is about to stop already
node id=3 role=data state=started incarnation=13 losses=2 leads=5 leaving=0 copied=0 partitions=0 refusal=no other node in sync has its rows, so the cluster would stop; use 'shutdown' for that
node id=4 role=data state=started incarnation=14 losses=0 leads=2 leaving=0 copied=0 partitions=0
node id=5 role=data state=away incarnation=15 losses=0 leads=2 leaving=0 copied=0 partitions=0 refusal=it is not connected
";
    assert_eq!(text, expected);
}
