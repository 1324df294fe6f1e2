//! Two voters with their disks, and what strangers say to them.

use super::*;
use protocol::control::{LogPlace, LogWrite};
use protocol::heartbeat::LinkRow;
use stdx::WallTime;

const MANAGEMENT: NodeId = NodeId(65);
const DATA: NodeId = NodeId(1);

/// A node with its disk.
struct Node {
    block: Membership,
    disk: Vec<u8>,
    events: Vec<String>,
    exit: Option<u8>,
}

fn config(node: NodeId, start: u64, disk: &[u8]) -> MembershipConfig {
    let role = if node == MANAGEMENT { NodeRole::Management } else { NodeRole::Data };
    MembershipConfig {
        node,
        cluster: "test".to_owned(),
        join: JoinRequest {
            role,
            start,
            host: "here".to_owned(),
            ldm_count: 1,
            tc_count: 1,
            query_count: 0,
            sql_count: 1,
        },
        members: vec![(DATA, NodeRole::Data), (MANAGEMENT, NodeRole::Management)],
        replica_count: 1,
        partitions_per_node: 1,
        detector: DetectorConfig::DEFAULT,
        log_file: disk.to_vec(),
    }
}

/// A management node and a data node, linked.
struct World {
    nodes: Vec<(NodeId, Node)>,
    now: u64,
}

impl World {
    /// Both start with these disks; `seed` decides what a founding is called.
    fn start(seed: u8, disks: [&[u8]; 2]) -> Self {
        let node = |node, disk: &[u8]| {
            let block = Membership::new(
                config(node, u64::from(seed) * 100 + u64::from(node.0), disk),
                Arc::default(),
            );
            (node, Node { block, disk: disk.to_vec(), events: Vec::new(), exit: None })
        };
        let mut world =
            Self { nodes: vec![node(MANAGEMENT, disks[0]), node(DATA, disks[1])], now: 1_000_000_000 };
        for id in [MANAGEMENT, DATA] {
            world.input(id, |block, now, outputs| block.on_start(now, &[seed; 32], outputs));
        }
        for (id, other) in [(MANAGEMENT, DATA), (DATA, MANAGEMENT)] {
            world.input(id, |block, now, outputs| block.on_link_up(now, other, outputs));
        }
        world
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        let found = self.nodes.iter_mut().find(|(node, _)| *node == id);
        &mut found.expect("a node of this world").1
    }

    /// Gives a node an input, and does at once what it wants.
    fn input(&mut self, id: NodeId, input: impl FnOnce(&mut Membership, Now, &mut Outputs<()>)) {
        let now = Now { monotonic: Instant(self.now), wall: WallTime(0) };
        let mut outputs = Outputs::default();
        let node = self.node(id);
        if node.exit.is_some() {
            return;
        }
        input(&mut node.block, now, &mut outputs);
        node.events.extend(outputs.events.into_iter().map(|event| event.message));
        for request in outputs.requests {
            if let RequestToRuntime::Exit(code) = request {
                node.exit = Some(code);
            }
        }
        let mut tickets = Vec::new();
        for LogWrite { ticket, place, bytes } in outputs.log_writes {
            match place {
                LogPlace::NewFile => node.disk = bytes,
                LogPlace::At(offset) => {
                    let offset = usize::try_from(offset).unwrap();
                    node.disk.resize(node.disk.len().max(offset + bytes.len()), 0);
                    node.disk[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
            }
            tickets.push(ticket);
        }
        for ticket in tickets {
            self.input(id, |block, now, outputs| block.on_log_written(now, ticket, outputs));
        }
        for envelope in outputs.signals {
            if envelope.to.kind == protocol::ModuleKind::Membership && envelope.to.node != id {
                self.now += 1_000;
                self.input(envelope.to.node, |block, now, outputs| block.on_signal(now, envelope, outputs));
            }
        }
    }

    /// Time goes on.
    fn run(&mut self, milliseconds: u64) {
        let end = self.now + milliseconds * 1_000_000;
        while self.now < end {
            self.now += 1_000_000;
            for id in [MANAGEMENT, DATA] {
                let now = Instant(self.now);
                if self.node(id).block.deadline().is_some_and(|at| at <= now) {
                    self.input(id, |block, now, outputs| block.on_deadline(now, outputs));
                }
            }
        }
    }

    fn count(&mut self, name: &str) -> u64 {
        let counts = self.node(DATA).block.counts();
        counts.into_iter().find(|(known, _)| *known == name).unwrap().1
    }
}

/// Founds a cluster; the disks of its nodes.
fn founded(seed: u8) -> World {
    let mut world = World::start(seed, [&[], &[]]);
    world.run(2_000);
    let view = world.node(DATA).block.view.number;
    assert_eq!(view, ViewNumber(1), "{:?}", world.node(DATA).events);
    world
}

#[test]
fn a_disk_of_another_founding_is_said_so() {
    let foreign = founded(1).node(DATA).disk.clone();
    let mut world = founded(2);
    // The data node is started with the wrong disk.
    let wrong = Membership::new(config(DATA, 999, &foreign), Arc::default());
    *world.node(DATA) = Node { block: wrong, disk: foreign, events: Vec::new(), exit: None };
    world.input(DATA, |block, now, outputs| block.on_start(now, &[3; 32], outputs));
    world.run(200);
    assert_eq!(world.node(DATA).exit, None, "nobody is there to say it");
    world.input(DATA, |block, now, outputs| block.on_link_up(now, MANAGEMENT, outputs));
    world.input(MANAGEMENT, |block, now, outputs| block.on_link_up(now, DATA, outputs));
    world.run(200);
    assert_eq!(world.node(DATA).exit, Some(EXIT_REFUSED));
    let text = world.node(DATA).events.last().unwrap().clone();
    assert!(text.contains("not of the cluster 'test' that runs"), "{text}");
    assert_eq!(world.node(MANAGEMENT).exit, None, "whoever runs goes on");
}

#[test]
fn views_of_another_founding_and_malformed_ones_are_counted() {
    let mut world = founded(1);
    let view = (*world.node(DATA).block.view).clone();
    let other = View { number: ViewNumber(9), founding: GroupId(77), ..view.clone() };
    let mut malformed = View { number: ViewNumber(9), ..view };
    malformed.groups[0].in_sync.push(NodeId(200));
    for (count, bad) in [(1, other), (2, malformed)] {
        let from = Address::membership(MANAGEMENT);
        let signal = Signal::ViewInstall(Arc::new(bad));
        let envelope = Envelope::unstamped(from, Address::membership(DATA), signal);
        world.input(DATA, |block, now, outputs| block.on_signal(now, envelope, outputs));
        assert_eq!(world.count("VIEWS_REFUSED"), count);
        assert_eq!(world.node(DATA).block.view.number, ViewNumber(1));
        assert_eq!(world.node(DATA).exit, None);
    }
}

#[test]
fn heartbeats_of_unknown_lives_are_counted() {
    let mut world = founded(1);
    let before = world.count("HEARTBEATS_REFUSED");
    let row = LinkRow { node: MANAGEMENT, incarnation: Incarnation(7_777), number: 1, hears: Vec::new() };
    for (count, rows) in [(1, vec![row]), (2, Vec::new())] {
        let heartbeat = Heartbeat { view: ViewNumber(1), sequence: 1, granted: 0, rows };
        let signal = Signal::Heartbeat(Box::new(heartbeat));
        let envelope =
            Envelope::unstamped(Address::membership(MANAGEMENT), Address::membership(DATA), signal);
        world.input(DATA, |block, now, outputs| block.on_signal(now, envelope, outputs));
        assert_eq!(world.count("HEARTBEATS_REFUSED"), before + count);
    }
}

#[test]
fn nodes_without_a_copy_of_the_log_hear_who_votes() {
    let mut world = founded(1);
    let at = |world: &mut World, node| world.node(node).block.voters.clone();
    let (applied, voters) = at(&mut world, MANAGEMENT);
    // Of two candidates one votes: an even number is no better.
    assert_eq!(voters, [VoterPlace { node: MANAGEMENT, votes: true }]);
    assert_eq!(at(&mut world, DATA), (applied, voters));
}
