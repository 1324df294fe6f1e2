//! All processes are gone, and the nodes come back with what their disks hold.

use super::*;
use protocol::control::{RecoveryGoal, RecoveryOrder};
use types::{Epoch, RestartNumber};

const DATA_NODES: [NodeId; 2] = [DATA, OTHER];

impl World {
    /// The main of a node says something to its membership.
    fn tell(&mut self, id: NodeId, signal: Signal) {
        let envelope = Envelope::unstamped(Address::main(id), Address::membership(id), signal);
        self.input(id, |block, now, outputs| block.on_signal(now, envelope, outputs));
    }

    /// The processes of these nodes end, all at once; the others see it.
    fn end(&mut self, ids: &[NodeId]) {
        for id in ids {
            self.node(*id).exit = Some(9);
        }
        for (node, _) in MEMBERS {
            for id in ids {
                self.input(node, |block, now, outputs| block.on_link_down(now, *id, outputs));
            }
        }
    }

    /// A node starts again, with its control log and a disk that holds this.
    fn come_back(&mut self, id: NodeId, claim: Claim) {
        let disk = self.node(id).disk.clone();
        let start = 1_000 + self.now / 1_000;
        let config = MembershipConfig { awaits_claim: true, ..config(id, start, &disk) };
        self.begin(id, config, disk);
        self.tell(id, Signal::DiskRead(Box::new(claim)));
        self.run(50);
    }

    fn life(&mut self, id: NodeId) -> Incarnation {
        self.node(id).block.incarnation.expect("a life")
    }

    /// The disk that the newest life of a node has left.
    fn left(&mut self, id: NodeId, flushed: u64) -> Claim {
        let (life, view) = (self.life(id), Arc::clone(&self.node(id).block.view));
        let restart = view.restart.number;
        let (flushed, closed_at_us) = (Epoch(flushed), flushed * 1_000);
        let point = ClaimPoint { restart, lineage: life, flushed, closed_at_us, low: Epoch(0) };
        let claim = Claim { founding: view.founding, durable: Epoch(1), ..Claim::default() };
        Claim { points: vec![point], ..claim }
    }

    /// An epoch was said that counts this node's disk.
    fn count_disk(&mut self, id: NodeId, is_durable: bool) {
        let view = self.node(id).block.view.number;
        self.tell(id, Signal::DiskCounted { view, is_durable });
        self.run(10);
    }

    /// Its main has restored what it was told.
    fn restore(&mut self, id: NodeId) -> RestoreOrder {
        let order = self.node(id).restore.expect("an order");
        self.tell(id, Signal::Restored(order));
        order
    }
}

/// A cluster whose data nodes keep rows on disk, and are restorable.
fn durable() -> World {
    let mut world = World::start_with(1, Some(Claim::default()));
    world.run(2_000);
    for node in DATA_NODES {
        world.count_disk(node, false);
    }
    let view = Arc::clone(&world.node(DATA).block.view);
    assert!(view.keeps_durable(), "{view:?}");
    world
}

impl World {
    /// The disks of these nodes stand still for as long as a node is believed; those that have ended.
    fn stall(&mut self, nodes: &[NodeId]) -> Vec<NodeId> {
        for _ in 0..8 {
            for id in nodes.iter().filter(|id| self.node(**id).exit.is_none()).copied().collect::<Vec<_>>() {
                let from = Address::disk(id);
                let signal = Signal::ReplicaLags { node: id, milliseconds: 2_000 };
                let envelope = Envelope::unstamped(from, Address::membership(id), signal);
                self.input(id, |block, now, outputs| block.on_signal(now, envelope, outputs));
            }
            self.run(250);
        }
        let ended = self.nodes.iter().filter(|(_, node)| node.exit.is_some());
        ended.map(|(id, _)| *id).collect()
    }
}

#[test]
fn a_node_whose_disk_stands_still_leaves_to_others_that_keep_its_rows() {
    let mut world = durable();
    assert_eq!(world.stall(&[DATA]), [], "nobody has to leave so soon after the start");
    world.run(12_000);
    // Both have the same disk: one of them goes, and the other one is the last.
    assert_eq!(world.stall(&DATA_NODES).len(), 1);
    world.run(12_000);
    assert_eq!(world.stall(&DATA_NODES).len(), 1);
}

#[test]
fn a_node_whose_disk_stands_still_stays_without_another_disk_that_counts() {
    let mut world = World::start_with(1, Some(Claim::default()));
    world.run(2_000);
    world.count_disk(DATA, false);
    world.run(12_000);
    assert_eq!(world.stall(&[DATA]), []);
    world.count_disk(OTHER, false);
    world.run(12_000);
    assert_eq!(world.stall(&[DATA]), [DATA]);
}

#[test]
fn a_node_joins_when_it_knows_what_its_disk_holds() {
    let mut world = founded(1);
    let disk = world.node(OTHER).disk.clone();
    let config = MembershipConfig { awaits_claim: true, ..config(OTHER, 888, &disk) };
    world.begin(OTHER, config, disk);
    world.run(1_000);
    assert_eq!(world.node(OTHER).block.incarnation, None);
    world.tell(OTHER, Signal::DiskRead(Box::default()));
    world.run(1_000);
    let life = world.node(OTHER).block.incarnation;
    assert!(life.is_some());
    assert_eq!(world.node(DATA).block.view.node(OTHER).map(|info| info.incarnation), life);
}

#[test]
fn a_disk_that_was_counted_makes_its_node_restorable() {
    let mut world = durable();
    let view = world.node(DATA).block.view.number;
    world.count_disk(DATA, true);
    assert_eq!(world.node(DATA).block.view.number, view, "nothing is new");
    world.tell(DATA, Signal::DiskCounted { view: ViewNumber(1), is_durable: false });
    assert_eq!(world.node(DATA).block.view.number, view, "an older view");
}

#[test]
fn after_a_loss_of_all_the_cluster_starts_from_disks() {
    let mut world = durable();
    let before = Arc::clone(&world.node(DATA).block.view);
    let disks = [world.left(DATA, 30), world.left(OTHER, 20)];
    world.end(&DATA_NODES);
    for (node, disk) in DATA_NODES.into_iter().zip(disks) {
        world.come_back(node, disk);
    }
    world.run(1_000);
    for node in DATA_NODES {
        let order = world.restore(node);
        // Ten milliseconds less, and both disks count.
        assert_eq!((order.restart.number, order.restart.cut), (RestartNumber(1), Epoch(20)));
        let source = before.node(node).map(|info| info.incarnation);
        assert_eq!(Some(order.source), source);
    }
    world.run(1_000);
    for node in DATA_NODES {
        let view = Arc::clone(&world.node(node).block.view);
        assert_eq!((view.begun, view.restart.number.0), (ViewNumber(before.number.0 + 1), 1));
        assert!(view.is_in_sync(node) && view.keeps_durable());
        assert_eq!(world.node(node).exit, None);
    }
    // An SQL node may know of epochs that were cut off.
    assert_eq!(world.node(SQL).exit, Some(EXIT_LEFT_OUT));
}

#[test]
pub(crate) fn after_a_loss_of_all_who_comes_first_is_not_left_out() {
    let mut world = durable();
    let disk = world.left(OTHER, 30);
    world.end(&DATA_NODES);
    world.come_back(OTHER, disk);
    world.run(5_000);
    let (view, named) = {
        let view = Arc::clone(&world.node(OTHER).block.view);
        let named = view.groups[1].restorable.clone();
        (view, named)
    };
    assert!(view.is_in_sync(OTHER), "nobody lives who could go on without it");
    assert_eq!(named.len(), 2);
    assert_eq!(world.node(OTHER).restore, None, "the other one may come yet");
    world.run(u64::try_from(START_PARTIAL_TIMEOUT.as_millis()).unwrap());
    assert_eq!(world.restore(OTHER).restart.cut, Epoch(30));
    world.run(1_000);
    let view = Arc::clone(&world.node(OTHER).block.view);
    assert_eq!((view.restart.number.0, view.groups[1].in_sync.as_slice()), (1, [OTHER].as_slice()));
}

#[test]
fn a_group_that_is_lost_is_waited_for_by_name() {
    let mut world = durable();
    world.end(&DATA_NODES);
    for node in DATA_NODES {
        world.come_back(node, Claim::default());
    }
    world.run(40_000);
    let events = world.node(MANAGEMENT).events.join("\n");
    let text =
        "node group 0 has no disk to start from: the disk of node 1 does not hold what its last life wrote";
    assert!(events.contains(text), "{events}");
    assert!(DATA_NODES.iter().all(|node| world.node(*node).restore.is_none()));
}

#[test]
fn a_planned_node_that_ends_is_planned_anew() {
    let mut world = durable();
    let disks = [world.left(DATA, 30), world.left(OTHER, 30)];
    world.end(&DATA_NODES);
    for (node, disk) in DATA_NODES.into_iter().zip(disks.clone()) {
        world.come_back(node, disk);
    }
    world.run(1_000);
    world.restore(DATA);
    world.end(&[OTHER]);
    let [_, disk] = disks;
    world.come_back(OTHER, disk);
    world.run(1_000);
    assert_eq!(world.node(DATA).block.view.restart.number.0, 0, "nothing is recorded without it");
    world.restore(OTHER);
    world.run(1_000);
    let view = Arc::clone(&world.node(DATA).block.view);
    assert!(view.restart.number.0 == 1 && view.is_in_sync(DATA) && view.is_in_sync(OTHER));
}

#[test]
fn a_node_that_the_restart_passed_over_ends() {
    let mut world = durable();
    let disks = [world.left(DATA, 30), world.left(OTHER, 30)];
    world.end(&DATA_NODES);
    for (node, disk) in DATA_NODES.into_iter().zip(disks) {
        world.come_back(node, disk);
    }
    world.run(1_000);
    world.restore(DATA);
    for node in [DATA, MANAGEMENT, SQL] {
        world.input(node, |block, now, outputs| block.on_link_down(now, OTHER, outputs));
    }
    world.run(40_000);
    world.restore(DATA);
    world.run(1_000);
    assert_eq!(world.node(DATA).block.view.groups[1].in_sync, [DATA]);
    for node in [DATA, MANAGEMENT] {
        world.input(node, |block, now, outputs| block.on_link_up(now, OTHER, outputs));
    }
    world.run(1_000);
    assert_eq!(world.node(OTHER).exit, Some(EXIT_LEFT_OUT), "what it has restored is void");
}

/// Its copy of the control log is from before the restart; it hears of that by the view.
#[test]
fn a_node_that_comes_back_has_only_what_the_last_restart_has_left() {
    let mut world = durable();
    let claim = world.left(OTHER, 60);
    let block = &mut world.node(OTHER).block;
    assert!(block.log_state().is_some_and(|state| state.restarts().is_empty()));
    block.config.join.claim = Some(Box::new(claim));
    let flushed = |block: &Membership| block.point_to_join_with().map(|point| point.flushed.0);
    assert_eq!(flushed(block), Some(60));
    let mut view = (*block.view).clone();
    view.restart = view.restart.next(Epoch(30));
    block.view = Arc::new(view.clone());
    assert_eq!(flushed(block), Some(30));
    view.restart = view.restart.next(Epoch(40));
    block.view = Arc::new(view);
    assert_eq!(flushed(block), None, "the cut of the first restart is not known here");
}

#[test]
pub(crate) fn the_last_disk_of_a_group_is_not_begun_anew() {
    let mut world = World::start_with(1, Some(Claim::default()));
    world.run(2_000);
    world.count_disk(OTHER, false);
    let mut claim = world.left(OTHER, 30);
    // A restart that nobody has recorded.
    claim.points[0].restart = RestartNumber(3);
    world.end(&[OTHER]);
    world.run(2_000);
    world.come_back(OTHER, claim);
    world.run(5_000);
    assert!(!world.node(DATA).block.view.is_member(OTHER));
    world.count_disk(DATA, false);
    world.count_disk(DATA, true);
    world.run(5_000);
    assert!(world.node(DATA).block.view.is_member(OTHER), "another disk is there");
    assert_eq!(world.node(OTHER).joins_with, None);
}

#[test]
fn a_node_joins_with_the_rows_of_its_disk() {
    let mut world = durable();
    let claim = world.left(OTHER, 30);
    world.end(&[OTHER]);
    world.run(2_000);
    world.come_back(OTHER, claim.clone());
    world.run(1_000);
    assert_eq!(world.node(OTHER).joins_with.as_ref(), claim.points.first());
    assert!(world.node(DATA).block.view.is_member(OTHER));
}

#[test]
pub(crate) fn who_was_left_out_joins_nobody_who_has_started_anew() {
    let mut world = durable();
    let older = world.left(OTHER, 30);
    world.end(&[OTHER]);
    world.run(2_000);
    assert!(!world.node(DATA).block.view.is_member(OTHER));
    let newer = world.left(DATA, 40);
    world.end(&[DATA]);
    world.come_back(DATA, newer);
    world.come_back(OTHER, older.clone());
    world.run(2_000);
    assert_eq!(world.node(OTHER).joins_with, None, "the view names a life that has ended");
    assert_eq!(world.restore(DATA).restart.cut, Epoch(40));
    world.run(2_000);
    assert_eq!(world.node(OTHER).joins_with.as_ref(), older.points.first());
    assert!(world.node(DATA).block.view.is_member(OTHER));
}

#[test]
fn after_the_end_of_every_process_the_cluster_starts_from_disks() {
    let mut world = durable();
    let disks = [world.left(DATA, 30), world.left(OTHER, 30)];
    world.end(&[DATA, OTHER, MANAGEMENT, SQL]);
    for id in [MANAGEMENT, SQL] {
        let disk = world.node(id).disk.clone();
        world.begin(id, config(id, 777, &disk), disk);
    }
    for (node, disk) in DATA_NODES.into_iter().zip(disks) {
        world.come_back(node, disk);
    }
    world.run(5_000);
    for node in DATA_NODES {
        assert_eq!(world.restore(node).restart.cut, Epoch(30));
    }
    world.run(2_000);
    for node in [DATA, OTHER, MANAGEMENT] {
        let (exit, events) = (world.node(node).exit, world.node(node).events.clone());
        assert_eq!(exit, None, "{events:?}");
        let view = Arc::clone(&world.node(node).block.view);
        assert!(view.restart.number.0 == 1 && view.keeps_durable(), "node {node}: {view:?}");
    }
    // A node that has restored leaves as any other, with the code that it was told.
    world.step(OTHER, LeaveStep::Leave { exit_code: 7 });
    world.run(1_000);
    assert_eq!(world.node(OTHER).exit, Some(7));
}

/// The mains of all nodes have done what a stop of the cluster asks them for.
fn stop(world: &mut World, exit_code: impl Fn(NodeId) -> Option<u8>) {
    for (node, _) in MEMBERS {
        world.step(node, LeaveStep::Stop { exit_code: exit_code(node), flushed_in: None });
    }
    let view = world.node(OTHER).block.view.number;
    world.step(OTHER, LeaveStep::Stop { exit_code: exit_code(OTHER), flushed_in: Some(view) });
}

#[test]
fn when_a_stop_is_recorded_all_end_and_the_leader_last() {
    let mut world = durable();
    stop(&mut world, |_| Some(0));
    for node in [DATA, OTHER, SQL] {
        let (exit, events) = (world.node(node).exit, world.node(node).events.clone());
        assert_eq!(exit, Some(0), "node {node}: {events:?}");
    }
    assert_eq!(world.node(MANAGEMENT).exit, None, "the others may not have heard of it yet");
    for node in [DATA, OTHER, SQL] {
        world.input(MANAGEMENT, |block, now, outputs| block.on_link_down(now, node, outputs));
    }
    world.run(300);
    assert_eq!(world.node(MANAGEMENT).exit, Some(0));
}

#[test]
fn after_a_stop_the_disks_of_all_that_were_in_sync_count() {
    let mut world = World::start_with(1, Some(Claim::default()));
    world.run(2_000);
    let disks = [world.left(DATA, 30), world.left(OTHER, 30)];
    // Management goes on, and one node was never said to be restorable.
    world.count_disk(DATA, false);
    stop(&mut world, |node| (node != MANAGEMENT).then_some(EXIT_LEFT_OUT));
    assert_eq!(world.node(DATA).exit, Some(EXIT_LEFT_OUT));
    world.end(&[DATA, OTHER, SQL]);
    world.run(20_000);
    let view = Arc::clone(&world.node(MANAGEMENT).block.view);
    assert!(view.is_stopped && view.keeps_durable(), "nobody is left out: {view:?}");
    for (node, disk) in DATA_NODES.into_iter().zip(disks) {
        world.come_back(node, disk);
    }
    world.run(1_000);
    for node in DATA_NODES {
        assert_eq!(world.restore(node).restart.cut, Epoch(30));
    }
    world.run(1_000);
    let view = Arc::clone(&world.node(MANAGEMENT).block.view);
    assert!(!view.is_stopped && DATA_NODES.iter().all(|node| view.is_in_sync(*node)), "{view:?}");
    assert_eq!(world.node(MANAGEMENT).exit, None);
}

#[test]
fn a_stop_of_an_older_view_is_void() {
    let mut world = durable();
    let view = world.node(DATA).block.view.number;
    world.count_disk(OTHER, true);
    world.tell(OTHER, Signal::Leaving { step: LeaveStep::HandOver });
    world.run(100);
    assert!(world.node(DATA).block.view.number > view);
    let stop = LeaveStep::Stop { exit_code: Some(0), flushed_in: Some(view) };
    world.step(DATA, stop);
    assert!(!world.node(DATA).block.view.is_stopped);
    assert_eq!(world.node(DATA).exit, None);
}

/// An operator of the management node gives rows up; the answer.
fn lose_data(world: &mut World, without: &[NodeId]) -> String {
    let order = RecoveryOrder {
        number: 7,
        cluster: "Test".to_owned(),
        without: without.to_vec(),
        operator: "an operator".to_owned(),
        goal: RecoveryGoal::Rows,
    };
    world.node(MANAGEMENT).answers.clear();
    world.tell(MANAGEMENT, Signal::RecoverVoters(Box::new(order)));
    world.run(6_000);
    world.node(MANAGEMENT).answers.pop().unwrap_or_default()
}

#[test]
fn rows_are_given_up_by_an_order_only() {
    let mut world = durable();
    assert!(lose_data(&mut world, &[OTHER]).contains("node 2 answers"));
    assert!(lose_data(&mut world, &[]).contains("no node group has lost all its rows"));
    let stale = world.left(DATA, 20);
    world.end(&DATA_NODES);
    // The disk of node 1 ends before what was durable at the end.
    world.come_back(DATA, Claim { durable: Epoch(30), ..stale });
    world.run(41_000);
    let awaited = world.node(DATA).awaited.clone();
    assert!(awaited.contains("the disk of node 1 ends at epoch 20, and 30 was durable"), "{awaited}");
    assert!(awaited.contains("latsdb mgm -e 'start test with data loss without 2'"), "{awaited}");
    assert!(lose_data(&mut world, &[]).contains("node 2 may have the rows of node group 0"));
    assert!(lose_data(&mut world, &[DATA]).contains("node 1 answers"));
    assert!(lose_data(&mut world, &[SQL]).contains("there is no data node 67"));
    assert!(world.node(DATA).restore.is_none());
    let answer = lose_data(&mut world, &[OTHER]);
    assert_eq!(answer, "the cluster starts with what is left, without node 2");
    world.run(1_000);
    assert_eq!(world.restore(DATA).restart.cut, Epoch(20));
    world.run(1_000);
    let view = Arc::clone(&world.node(DATA).block.view);
    assert!(view.restart.number.0 == 1 && view.is_in_sync(DATA), "{view:?}");
    assert_eq!(world.node(DATA).awaited, "");
}

#[test]
fn a_restart_says_for_which_node_it_waits() {
    let mut world = durable();
    let disk = world.left(OTHER, 30);
    world.end(&DATA_NODES);
    world.come_back(OTHER, disk);
    world.run(12_000);
    for node in [OTHER, MANAGEMENT] {
        let awaited = world.node(node).awaited.clone();
        let text = "node 1 is not there; after 30 s (StartPartialTimeout) it begins without";
        assert_eq!(awaited, text, "at node {node}");
    }
    world.run(30_000);
    assert_eq!(world.restore(OTHER).restart.cut, Epoch(30));
    assert_eq!(world.node(OTHER).awaited, "", "the restart is under way");
}

#[test]
fn after_a_full_stop_lost_voters_are_recovered_from_and_the_disk_that_is_left_counts() {
    let mut world = durable();
    let disk = world.left(OTHER, 30);
    world.end(&[DATA, OTHER, MANAGEMENT, SQL]);
    // The management node and one data node have lost their disks: the other one has a copy of the log, and its rows.
    world.begin(MANAGEMENT, config(MANAGEMENT, 777, &[]), Vec::new());
    world.come_back(OTHER, disk);
    world.run(2_000);
    assert_eq!(world.node(OTHER).block.incarnation, None, "nobody lets it in");
    let order = RecoveryOrder {
        number: 8,
        cluster: "test".to_owned(),
        without: vec![DATA, MANAGEMENT],
        operator: "an operator".to_owned(),
        goal: RecoveryGoal::Voters,
    };
    world.tell(MANAGEMENT, Signal::RecoverVoters(Box::new(order)));
    world.run(5_000);
    let answer = world.node(MANAGEMENT).answers.pop().unwrap_or_default();
    assert!(answer.starts_with("the control log goes on at node 2"), "{answer}");
    world.run(5_000);
    assert_eq!(world.restore(OTHER).restart.cut, Epoch(30));
    world.run(1_000);
    let view = Arc::clone(&world.node(OTHER).block.view);
    assert!(view.restart.number.0 == 1 && view.is_in_sync(OTHER) && !view.is_stopped, "{view:?}");
    assert_eq!(world.node(OTHER).exit, None);
}
